//! The watchdog of a private server on Windows: a job object, whose processes the system kills when its last handle is closed, also
//! where this process ends without its destructors. The folder is then left behind.

use std::fs::File;
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

    /// Starts a program in the job. `prepare` gives the command its environment and its folder.
    pub(super) fn launch(
        &self,
        command: &Command,
        prepare: impl FnOnce(&mut Command),
        [output, errors]: [File; 2],
    ) -> io::Result<Child> {
        let mut launched = Command::new(command.get_program());
        launched.args(command.get_args()).stdin(Stdio::null()).stdout(output).stderr(errors);
        // Ctrl-C must reach only this process, which then ends in order.
        launched.creation_flags(CREATE_NEW_PROCESS_GROUP);
        prepare(&mut launched);
        let mut program = launched.spawn()?;
        // SAFETY: both handles are open.
        let assigned = unsafe { AssignProcessToJobObject(self.job.as_raw_handle(), program.as_raw_handle()) };
        checked(assigned).inspect_err(|_| {
            let _ = program.kill();
        })?;
        Ok(program)
    }

    /// Notes that all programs have ended, which the system knows.
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
