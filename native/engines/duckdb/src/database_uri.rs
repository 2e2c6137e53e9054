//! The places of databases: files, and names in memory.

use std::path::Path;

use super::engine_error;
use boundary_bench_engine::canonical_file;
use boundary_bench_kernel::resources::physical_memory;
use boundary_bench_kernel::url::UrlParts;
use boundary_bench_kernel::{Error, Result};

/// The place of a database in memory. A name may follow.
const IN_MEMORY: &str = ":memory:";

/// A database and the settings that it is opened with.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct DatabaseUri {
    /// An absolute path, or `:memory:` with the name of a database that is shared in this process, or "" for a new one in memory.
    pub(super) path: String,
    pub(super) settings: Vec<(String, String)>,
}

impl DatabaseUri {
    /// The place that a URI names: `embedded:`, `embedded::memory:`, `embedded::memory:name` or `embedded:/path/to/file.duckdb`, each
    /// with DuckDB's settings as options, such as `?access_mode=read_only&threads=2`.
    pub(super) fn of_uri(uri: &str) -> Result<Self> {
        let invalid = |problem: &str| {
            Error::InvalidArgument(format!(
                "unusable URI \"{uri}\": {problem}; use \"embedded:\", \"embedded::memory:name\" or \
                 \"embedded:/path/to/file.duckdb\", with ?setting=value if needed"
            ))
        };
        let UrlParts { authority, path, options, .. } = UrlParts::parse(uri).map_err(invalid)?;
        let has_host = authority.is_some_and(|authority| {
            authority.user.is_some() || !authority.host.is_empty() || authority.port.is_some()
        });
        if has_host {
            return Err(invalid("a database in this process has no host; one slash begins an absolute path"));
        }
        let settings = options.take_all();
        settings
            .iter()
            .try_for_each(|(name, value)| check_setting(name, value).map_err(|problem| invalid(&problem)))?;
        Ok(Self { settings, ..Self::of_path(path)? })
    }

    /// The place at a path.
    pub(super) fn of_path(path: &str) -> Result<Self> {
        let path = match path {
            "" | IN_MEMORY => String::new(),
            _ if path.starts_with(IN_MEMORY) => path.to_owned(),
            _ => absolute(path)?,
        };
        Ok(Self { path, settings: Vec::new() })
    }
}

/// The setting whose unusable values end the process within `DuckDB`, instead of failing.
const BLOCK_ALLOCATOR: &str = "block_allocator_memory";

/// Refuses values of settings for which `DuckDB` ends the process.
fn check_setting(name: &str, value: &str) -> std::result::Result<(), String> {
    if !name.eq_ignore_ascii_case(BLOCK_ALLOCATOR) {
        return Ok(());
    }
    let bytes = bytes_of(value).ok_or_else(|| format!("{BLOCK_ALLOCATOR} is a size such as 4GB, not \"{value}\""))?;
    match physical_memory() {
        Some(most) if bytes > most as f64 => Err(format!("{BLOCK_ALLOCATOR} is more than the memory of this machine")),
        _ => Ok(()),
    }
}

/// The bytes of a size as `DuckDB` reads it: `4GB`, `512 MiB` or `1000`.
fn bytes_of(text: &str) -> Option<f64> {
    let text = text.trim();
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let number: f64 = text[..end].parse().ok()?;
    let unit = text[end..].trim().to_ascii_lowercase();
    let power = match unit.as_bytes().first() {
        Some(b'k') => 1,
        Some(b'm') => 2,
        Some(b'g') => 3,
        Some(b't') => 4,
        _ => 0,
    };
    let base: f64 = match unit.trim_start_matches(['k', 'm', 'g', 't']) {
        "" | "b" => 1000.0,
        "ib" => 1024.0,
        _ => return None,
    };
    Some(number * base.powi(power))
}

/// The canonical path of a database's file as a text. A path that looks like a place of another kind is refused, since it would name
/// a new file.
fn absolute(path: &str) -> Result<String> {
    let other = path.split_once(':').map(|(scheme, _)| scheme).filter(|scheme| {
        // A single letter is a drive.
        scheme.len() != 1 && scheme.bytes().all(|c| c.is_ascii_alphanumeric() || c == b'_')
    });
    if let Some(other) = other {
        let advice = if other.is_empty() {
            "a database in memory is \":memory:\"".to_owned()
        } else {
            format!("attach a database of \"{other}:\" by SQL, or write ./ before the name of a file")
        };
        return Err(Error::InvalidArgument(format!("\"{path}\" is no path of a file; {advice}")));
    }
    let canonical = canonical_file(Path::new(path))
        .and_then(|canonical| canonical.into_os_string().into_string().map_err(|_| "the path is not UTF-8".to_owned()));
    canonical.map_err(|problem| engine_error(format!("can't open \"{path}\": {problem}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(uri: &str) -> (String, Vec<(String, String)>) {
        let DatabaseUri { path, settings } = DatabaseUri::of_uri(uri).unwrap();
        (path, settings)
    }

    #[test]
    fn uris_name_databases_in_memory_and_files() {
        for uri in ["embedded:", "embedded:?", "embedded::memory:", "embedded://", "embedded::memory:?"] {
            assert_eq!(place(uri), (String::new(), Vec::new()), "{uri}");
        }
        assert_eq!(place("embedded::memory:shared").0, ":memory:shared");
        for uri in ["embedded:/tmp/x.duckdb", "embedded:///tmp/x.duckdb"] {
            assert!(place(uri).0.ends_with("/x.duckdb"), "{uri}");
        }
        assert_eq!(place("embedded:?block_allocator_memory=64MiB").1.len(), 1);
        let settings = vec![("threads".to_owned(), "2".to_owned()), ("access_mode".to_owned(), "read_only".to_owned())];
        assert_eq!(place("embedded:?threads=2&access_mode=read_only"), (String::new(), settings));
        assert!(place("embedded:./a:b").0.ends_with("/a:b"));
    }

    #[test]
    fn a_uri_that_would_name_a_file_by_mistake_is_refused() {
        for uri in [
            "embedded::memory",
            "embedded::MEMORY:",
            "embedded:md:mine",
            "embedded:sqlite:x.db",
            "embedded:s3://bucket/x.duckdb",
            "embedded://host/x.duckdb",
            "embedded:x.duckdb?threads",
            "embedded:?block_allocator_memory=50%25",
            "embedded:?BLOCK_ALLOCATOR_MEMORY=400000GB",
            "embedded:?block_allocator_memory=much",
        ] {
            assert_eq!(DatabaseUri::of_uri(uri).unwrap_err().code(), "BB_INVALID_ARGUMENT", "{uri}");
        }
    }
}
