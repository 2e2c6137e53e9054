//! Checks that there is memory for rows: before the first row, and while rows are added.

use boundary_bench_kernel::resources::available_memory;
use boundary_bench_kernel::{Error, Result};

use super::index;
use crate::row::ROW_BYTES;

/// Bytes of a row in memory, including its part of the index.
const BYTES_PER_ROW: u64 = ROW_BYTES as u64 + index::BYTES_PER_ROW;

/// Bytes that are left free for everything else.
const RESERVE: u64 = 64 << 20;

/// The bytes that this many rows take in memory, including their index.
pub fn memory_of(rows: u64) -> u64 {
    rows.saturating_mul(BYTES_PER_ROW)
}

/// Checks that rows fit into the available memory of the machine and of the control group.
pub fn check_rows(rows: u64) -> Result<()> {
    check(memory_of(rows), available(), &format_args!("{rows} rows"))
}

/// Checks that this many more bytes fit.
pub(super) fn check_bytes(bytes: u64) -> Result<()> {
    check(bytes, available(), &"further rows")
}

fn check(bytes: u64, available: Option<u64>, what: &dyn std::fmt::Display) -> Result<()> {
    let Some(available) = available else { return Ok(()) };
    if bytes.saturating_add(RESERVE) <= available {
        return Ok(());
    }
    let mebibytes = |bytes: u64| bytes.div_ceil(1 << 20);
    Err(Error::NotEnoughMemory(format!(
        "{what} take {} MiB of memory, and {} MiB are available of which {} MiB are kept free; use a smaller scale, a \
         machine or container with more memory, or keep the rows on disk (--data-dir)",
        mebibytes(bytes),
        available >> 20,
        RESERVE >> 20
    )))
}

/// The bytes that this process can still allocate, or `None` if the platform does not tell.
pub fn available() -> Option<u64> {
    [available_memory(), of_group()].into_iter().flatten().min()
}

/// The bytes that the limits of the control group and its parents leave, or `None` without limits.
fn of_group() -> Option<u64> {
    let groups = std::fs::read_to_string("/proc/self/cgroup").ok()?;
    let path = groups.lines().find_map(|line| line.strip_prefix("0::"))?;
    let root = std::path::Path::new("/sys/fs/cgroup");
    let group = root.join(path.trim_start_matches('/'));
    group.ancestors().take_while(|folder| folder.starts_with(root)).filter_map(of_folder).min()
}

/// The bytes that the limit of one control group leaves. Inactive page cache counts as free, since the kernel can drop it.
fn of_folder(folder: &std::path::Path) -> Option<u64> {
    let read = |name: &str| std::fs::read_to_string(folder.join(name)).ok();
    let limit: u64 = read("memory.max")?.trim().parse().ok()?;
    let used: u64 = read("memory.current")?.trim().parse().ok()?;
    let files = field(&read("memory.stat")?, "inactive_file").unwrap_or(0);
    Some(limit.saturating_sub(used.saturating_sub(files)))
}

/// The number after a name, in lines of names and numbers.
fn field(text: &str, name: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    line.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_fit_is_refused() {
        assert!(check(1 << 30, Some(2 << 30), &"rows").is_ok());
        assert!(check(1 << 30, None, &"rows").is_ok());
        let error = check(1 << 30, Some(1 << 30), &"75 rows").unwrap_err();
        assert_eq!(error.code(), "BB_NOT_ENOUGH_MEMORY");
        assert!(error.to_string().contains("75 rows take 1024 MiB"), "{error}");
        assert!(check_rows(u64::MAX).is_err() || available().is_none());
    }

    #[test]
    fn fields_are_found() {
        assert_eq!(field("MemTotal: 5 kB\nMemAvailable:   17 kB\n", "MemAvailable:"), Some(17));
        assert_eq!(field("", "MemAvailable:"), None);
    }
}
