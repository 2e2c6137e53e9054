//! Tests of private servers: started, stopped, failing. The cleanup after their process is killed is tested with a real
//! server, in the crate of the Redis client.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use boundary_bench_kernel::cancel::CancelToken;
use boundary_bench_kernel::private_server::{PrivateServer, ServerFolder, find_program, free_port};
use boundary_bench_kernel::testing::{runs, signal};

const LONG: Duration = Duration::from_secs(60);

/// A command that runs a script in a shell.
fn shell(script: &str) -> Command {
    let mut command = Command::new("/bin/sh");
    command.arg("-c").arg(script);
    command
}

/// Waits until a condition holds.
fn until(what: impl Fn() -> bool) {
    while !what() {
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// A server that does nothing, with a child that does nothing. The id of the child is in its folder.
fn idle_server() -> PrivateServer {
    let folder = ServerFolder::new("idle").unwrap();
    let script = "sleep 1000 & echo $! >child.tmp; mv child.tmp child; wait";
    folder.serve(&shell(script), LONG, &CancelToken::default(), |path| path.join("child").exists()).unwrap()
}

fn child_of(folder: &Path) -> u32 {
    std::fs::read_to_string(folder.join("child")).unwrap().trim().parse().unwrap()
}

#[test]
fn a_stopped_server_leaves_no_process_and_no_folder() {
    let server = idle_server();
    let folder = server.folder().unwrap();
    let child = child_of(&folder);
    assert!(server.is_running() && runs(server.process_id()) && runs(child));
    // Only this user may read the folder.
    let mode = std::os::unix::fs::PermissionsExt::mode(&std::fs::metadata(&folder).unwrap().permissions());
    assert_eq!(mode & 0o777, 0o700);
    server.stop();
    assert!(!server.is_running() && !runs(server.process_id()));
    assert!(!folder.exists() && server.folder().is_none());
    until(|| !runs(child));
    server.stop();
}

#[test]
fn a_dropped_folder_is_removed() {
    let folder = ServerFolder::new("folder").unwrap();
    let path = folder.path().to_owned();
    std::fs::create_dir(path.join("data")).unwrap();
    std::fs::write(path.join("data/file"), "x").unwrap();
    drop(folder);
    assert!(!path.exists());
}

#[test]
fn a_server_that_ends_or_is_never_ready_is_an_error_with_its_last_words() {
    let start = |script: &str, timeout| {
        let folder = ServerFolder::new("broken").unwrap();
        let path = folder.path().to_owned();
        let error = folder.serve(&shell(script), timeout, &CancelToken::default(), |_| false).unwrap_err();
        assert!(!path.exists());
        error
    };
    let error = start("i=0; while [ $((i += 1)) -le 90 ]; do echo line $i; done; echo wrong option >&2; exit 3", LONG);
    let text = error.to_string();
    assert_eq!(error.code(), "BB_ENGINE");
    assert!(text.contains("exit status: 3") && text.ends_with("line 90\nwrong option"), "{text}");
    assert!(text.contains("line 40\n") && !text.contains("line 20\n"), "{text}");

    let error = start("echo waiting; exec sleep 1000", Duration::from_millis(50));
    assert_eq!(error.code(), "BB_TIMEOUT");
    assert!(error.to_string().contains("broken is not ready after 0 s"), "{error}");

    let folder = ServerFolder::new("broken").unwrap();
    let error = folder.serve(&Command::new("/no/such/program"), LONG, &CancelToken::default(), |_| false).unwrap_err();
    assert!(error.code() == "BB_ENGINE" && error.to_string().contains("/no/such/program"), "{error}");
}

#[test]
fn a_start_can_be_cancelled() {
    let cancel = CancelToken::default();
    let folder = ServerFolder::new("cancelled").unwrap();
    let path = folder.path().to_owned();
    let error = folder
        .serve(&shell("exec sleep 1000"), LONG, &cancel, |_| {
            cancel.cancel();
            false
        })
        .unwrap_err();
    assert_eq!(error.code(), "BB_ABORTED");
    assert!(!path.exists());
}

#[test]
fn programs_prepare_the_folder() {
    let mut folder = ServerFolder::new("prepared").unwrap();
    let cancel = CancelToken::default();
    folder.run(shell("echo \"$GREETING\" >greeting").env("GREETING", "hello there"), LONG, &cancel).unwrap();
    assert_eq!(std::fs::read_to_string(folder.path().join("greeting")).unwrap(), "hello there\n");
    let error = folder.run(shell("echo no room; exit 1").arg("secret"), LONG, &cancel).unwrap_err();
    assert!(error.code() == "BB_ENGINE" && error.to_string().ends_with("no room"), "{error}");
    assert!(!error.to_string().contains("secret"), "{error}");
    let error = folder.run(&shell("exec sleep 1000"), Duration::from_millis(50), &cancel).unwrap_err();
    assert_eq!(error.code(), "BB_TIMEOUT");
    // The folder can be used again.
    folder.run(&shell("true"), LONG, &cancel).unwrap();
}

#[test]
fn a_killed_server_is_noticed() {
    let server = idle_server();
    signal("KILL", server.process_id());
    until(|| !server.is_running());
    let ending = server.ending().unwrap();
    assert!(ending.contains("server idle has ended") && ending.contains("signal: 9"), "{ending}");
    let folder = server.folder().unwrap();
    server.stop();
    assert_eq!(server.ending(), None);
    drop(server);
    assert!(!folder.exists());
}

#[test]
fn ports_are_free_and_programs_are_found() {
    assert!(free_port().unwrap() > 0);
    assert_eq!(find_program(&["no-such-program", "sh"], &[]).unwrap().file_name().unwrap(), "sh");
    assert_eq!(find_program(&["no-such-program"], &["/bin"]), None);
}

#[test]
fn programs_outside_of_path_are_not_looked_for_where_that_is_said() {
    let find = |path_only: &str| {
        Command::new(std::env::current_exe().unwrap())
            .args(["finds_a_shell_outside_of_path", "--exact", "--ignored"])
            .env("PATH", "/no/such/folder")
            .env("BOUNDARY_BENCH_PATH_ONLY", path_only)
            .output()
            .unwrap()
            .status
            .success()
    };
    assert!(find(""));
    assert!(!find("1"));
}

#[test]
#[ignore = "depends on variables; another test runs it in a process of its own"]
fn finds_a_shell_outside_of_path() {
    assert!(find_program(&["sh"], &["/bin"]).is_some());
}
