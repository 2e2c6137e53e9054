//! The watchdog of a private server on Linux and macOS: a small shell script. It waits for the end of a pipe that only this process
//! (and a program about to start) holds open. When the pipe ends, because this process closed it or has ended, the watchdog kills
//! the program's process group and removes the folder.

use std::io::{self, Write};
use std::os::fd::AsFd;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};

/// The script reads ids of process groups. The last one counts. At the end of the input it kills that group and removes the folder.
/// The removal is retried, since a process that is being killed may still finish creating a file.
const SCRIPT: &str = r#"
trap '' HUP INT QUIT TERM
group=
while read -r line; do group=$line; done
[ -z "$group" ] || kill -s KILL -- "-$group" 2>/dev/null
rm -rf -- "$1" && exit
sleep 1
rm -rf -- "$1"
"#;

/// The launcher: tells the watchdog its group before it becomes the program, so that the program is never without a
/// watchdog.
const LAUNCHER: &str = r#"echo "$$" >&0; exec "$@" </dev/null"#;

/// The watchdog of a folder.
#[derive(Debug)]
pub(super) struct Watchdog {
    process: Child,
    /// The pipe whose end the watchdog waits for, or `None` once it was closed.
    pipe: Option<ChildStdin>,
}

impl Watchdog {
    pub(super) fn start(folder: &Path) -> io::Result<Self> {
        let mut process = Command::new("/bin/sh")
            .arg("-c")
            .arg(SCRIPT)
            .arg("boundary-bench-watchdog")
            .arg(folder)
            .current_dir("/")
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            // Ctrl-C must reach only this process. It then ends in order.
            .process_group(0)
            .spawn()?;
        let pipe = process.stdin.take();
        Ok(Self { process, pipe })
    }

    /// The command that starts a program in a process group of its own. It still needs its environment, folder and output.
    pub(super) fn launcher(&self, command: &Command) -> io::Result<Command> {
        let pipe = self.pipe.as_ref().ok_or(io::ErrorKind::NotConnected)?.as_fd().try_clone_to_owned()?;
        let mut launcher = Command::new("/bin/sh");
        launcher.arg("-c").arg(LAUNCHER).arg("boundary-bench-launcher").arg(command.get_program());
        launcher.args(command.get_args()).stdin(Stdio::from(pipe)).process_group(0);
        Ok(launcher)
    }

    /// Does nothing: the launcher has told the watchdog its group.
    #[expect(
        clippy::unused_self,
        clippy::unnecessary_wraps,
        reason = "a job of Windows takes the program now, and may fail"
    )]
    pub(super) fn adopt(&self, _: &mut Child) -> io::Result<()> {
        Ok(())
    }

    /// Notes that all programs have ended: the id of their group may be reused by another process.
    pub(super) fn forget(&mut self) {
        if let Some(pipe) = &mut self.pipe {
            // Without a watchdog there is nobody to tell.
            let _ = pipe.write_all(b"\n");
        }
    }

    /// Kills a program with all processes that it started, and waits for its end.
    pub(super) fn kill(&mut self, program: &mut Child) {
        // Once the end was seen, the id may be reused by another process.
        if matches!(program.try_wait(), Ok(None))
            && let Ok(id) = i32::try_from(program.id())
        {
            // SAFETY: it sends a signal to the group of a child whose end nobody has waited for yet, so the id is still its.
            unsafe { libc::kill(-id, libc::SIGKILL) };
            let _ = program.wait();
        }
        self.forget();
    }

    /// Lets the watchdog remove the folder, and waits until it has.
    pub(super) fn end(&mut self) {
        self.pipe = None;
        let _ = self.process.wait();
    }
}
