//! The processes of this machine, read from the kernel if it lists them, else from `ps`.

use std::process::Command;
use std::time::Duration;

/// A process that has not ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Process {
    /// The id of the process.
    pub id: u32,
    /// The id of its parent process.
    pub parent: u32,
    /// The program of the process and its arguments, separated by spaces.
    pub command: String,
}

/// Whether a process runs. A zombie does not.
pub fn runs(process_id: u32) -> bool {
    if cfg!(target_os = "linux") {
        of_kernel(process_id).is_some()
    } else {
        processes().iter().any(|process| process.id == process_id)
    }
}

/// Sends a process the signal of this name, such as `KILL`.
///
/// # Panics
/// Panics if there is no such process, or it is another user's.
pub fn signal(name: &str, process_id: u32) {
    // The shell's own command is used, since not every system has `kill` as a program.
    let mut shell = Command::new("/bin/sh");
    let status = shell.args(["-c", r#"kill -s "$0" "$1""#, name]).arg(process_id.to_string()).status();
    assert!(status.is_ok_and(|status| status.success()), "no signal {name} can be sent to {process_id}");
}

/// Stops a process, and returns when all its threads stand still. The signal reaches one thread, and the others run until that thread does.
///
/// # Panics
/// As [`signal`].
pub fn stop(process_id: u32) {
    signal("STOP", process_id);
    if cfg!(target_os = "linux") {
        while !stands_still(process_id) {
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}

/// Whether the kernel has stopped all threads of a process.
fn stands_still(id: u32) -> bool {
    let threads = std::fs::read_dir(format!("/proc/{id}/task")).into_iter().flatten().flatten();
    threads.map(|thread| std::fs::read_to_string(thread.path().join("stat"))).all(|stat| {
        // A thread that has ended meanwhile is none.
        stat.ok().is_none_or(|stat| stat.rsplit_once(')').is_some_and(|(_, fields)| fields.starts_with(" T")))
    })
}

/// All processes that run.
///
/// # Panics
/// Panics if the system lists none: without `/proc` on Linux, and without `ps` elsewhere.
pub fn processes() -> Vec<Process> {
    if cfg!(target_os = "linux") {
        let entries = std::fs::read_dir("/proc").expect("the kernel lists its processes").flatten();
        return entries.filter_map(|entry| of_kernel(entry.file_name().to_str()?.parse().ok()?)).collect();
    }
    let output =
        Command::new("ps").args(["-A", "-o", "pid=,ppid=,state=,args="]).output().expect("ps lists the processes");
    String::from_utf8_lossy(&output.stdout).lines().filter_map(of_line).collect()
}

fn of_kernel(id: u32) -> Option<Process> {
    let stat = std::fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
    // The name of the program, in parentheses, may hold spaces and parentheses of its own.
    let mut fields = stat.rsplit_once(')')?.1.split_whitespace();
    let (state, parent) = (fields.next()?, fields.next()?.parse().ok()?);
    if has_ended(state) {
        return None;
    }
    let words = std::fs::read(format!("/proc/{id}/cmdline")).unwrap_or_default();
    let words: Vec<_> = words.split(|byte| *byte == 0).map(String::from_utf8_lossy).collect();
    Some(Process { id, parent, command: words.join(" ").trim_end().to_owned() })
}

fn of_line(line: &str) -> Option<Process> {
    let mut words = line.split_whitespace();
    let (id, parent) = (words.next()?.parse().ok()?, words.next()?.parse().ok()?);
    let state = words.next()?;
    (!has_ended(state)).then(|| Process { id, parent, command: words.collect::<Vec<_>>().join(" ") })
}

/// Whether a process in this state has ended: a zombie, or one that is being removed.
fn has_ended(state: &str) -> bool {
    state.starts_with(['Z', 'X'])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processes_are_listed_until_they_end() {
        let mut child = Command::new("/bin/sh").args(["-c", "exec sleep 1000"]).spawn().unwrap();
        let own = || processes().into_iter().find(|process| process.id == child.id()).unwrap();
        // While it becomes another program, a process has no command line.
        let own = std::iter::repeat_with(own).find(|process| !process.command.is_empty()).unwrap();
        assert_eq!(own.parent, std::process::id());
        assert!(own.command.contains("sleep") || own.command.contains("sh"), "{own:?}");
        assert!(runs(child.id()) && runs(std::process::id()));
        signal("KILL", child.id());
        // The process has ended, though nobody has waited for it.
        while runs(child.id()) {
            std::thread::yield_now();
        }
        child.wait().unwrap();
        assert!(!processes().iter().any(|process| process.id == child.id()));
    }

    #[test]
    fn lines_of_ps_are_read() {
        let process = Process { id: 7, parent: 1, command: "/a b --c".to_owned() };
        assert_eq!(of_line("    7     1 S+   /a b --c"), Some(process));
        assert_eq!(of_line("    8     1 Z    (b)"), None);
        assert_eq!(of_line("no process"), None);
    }
}
