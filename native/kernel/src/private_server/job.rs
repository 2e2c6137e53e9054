//! The watchdog of a private server on Windows: a job object. The system kills its processes when its last handle is closed, also if
//! this process ends without its destructors. The folder is then left behind.

use std::io;
use std::os::windows::io::{AsRawHandle, FromRawHandle, OwnedHandle};
use std::os::windows::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use windows_sys::Win32::System::JobObjects::{
    AssignProcessToJobObject, CreateJobObjectW, JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE,
    JOBOBJECT_EXTENDED_LIMIT_INFORMATION, JobObjectExtendedLimitInformation, SetInformationJobObject,
    TerminateJobObject,
};
use windows_sys::Win32::System::Threading::CREATE_NEW_PROCESS_GROUP;

/// The watchdog of a folder.
#[derive(Debug)]
pub(super) struct Watchdog {
    job: OwnedHandle,
}

impl Watchdog {
    pub(super) fn start(_: &Path) -> io::Result<Self> {
        // SAFETY: a job needs neither attributes nor a name.
        let job = unsafe { CreateJobObjectW(std::ptr::null(), std::ptr::null()) };
        if job.is_null() {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the handle is new, and nobody else closes it.
        let job = unsafe { OwnedHandle::from_raw_handle(job) };
        let mut limits = JOBOBJECT_EXTENDED_LIMIT_INFORMATION::default();
        limits.BasicLimitInformation.LimitFlags = JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE;
        // SAFETY: the handle is open, and the limits are of the type and the size that are named.
        let set = unsafe {
            SetInformationJobObject(
                job.as_raw_handle(),
                JobObjectExtendedLimitInformation,
                (&raw const limits).cast(),
                u32::try_from(size_of_val(&limits)).unwrap_or_default(),
            )
        };
        checked(set).map(|()| Self { job })
    }

    /// The command that starts a program. It still needs its environment, folder and output.
    #[expect(clippy::unused_self, clippy::unnecessary_wraps, reason = "elsewhere it has a pipe of the watchdog")]
    pub(super) fn launcher(&self, command: &Command) -> io::Result<Command> {
        let mut launcher = Command::new(command.get_program());
        // Ctrl-C must reach only this process. It then ends in order.
        launcher.args(command.get_args()).stdin(Stdio::null()).creation_flags(CREATE_NEW_PROCESS_GROUP);
        Ok(launcher)
    }

    /// Takes a program that was just started into the job. Kills it if that fails.
    pub(super) fn adopt(&self, program: &mut Child) -> io::Result<()> {
        // SAFETY: both handles are open.
        let assigned = unsafe { AssignProcessToJobObject(self.job.as_raw_handle(), program.as_raw_handle()) };
        checked(assigned).inspect_err(|_| {
            let _ = program.kill();
        })
    }

    /// Notes that all programs have ended. The system knows it.
    pub(super) fn forget(&mut self) {}

    /// Kills a program with all processes that it started, and waits for its end.
    pub(super) fn kill(&mut self, program: &mut Child) {
        // SAFETY: the handle is open.
        unsafe { TerminateJobObject(self.job.as_raw_handle(), 1) };
        let _ = program.wait();
    }

    /// Does nothing: the programs were killed.
    pub(super) fn end(&mut self) {}
}

fn checked(answer: i32) -> io::Result<()> {
    if answer == 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}
