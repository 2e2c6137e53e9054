//! Private servers: started, stopped, failing, and what they leave behind when their process is killed.

use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use boundary_bench_core::engine::CancelToken;
use boundary_bench_core::private_server::{PrivateServer, ServerFolder, find_program, free_port};

/// Set for a process that a test runs to see what it leaves behind.
const LEAVING: &str = "BOUNDARY_BENCH_TEST_LEAVES";

const LONG: Duration = Duration::from_secs(60);

/// A shell that runs a script.
fn shell(script: &str) -> Command {
    let mut command = Command::new("/bin/sh");
    command.arg("-c").arg(script);
    command
}

/// Whether a process runs; one that has ended but was not waited for does not.
fn runs(process_id: u32) -> bool {
    let output = Command::new("ps").args(["-o", "stat=", "-p", &process_id.to_string()]).output().unwrap();
    let state = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    !state.is_empty() && !state.starts_with('Z')
}

/// Waits for what must come.
fn until(what: impl Fn() -> bool) {
    while !what() {
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// A server that does nothing, with a child that does nothing: the id of the child is in its folder.
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
    // What is inside is for this user alone.
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
    let error = start("for i in $(seq 90); do echo line $i; done; echo wrong option >&2; exit 3", LONG);
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
    // The folder is good for another try.
    folder.run(&shell("true"), LONG, &cancel).unwrap();
}

#[test]
fn a_killed_server_is_noticed() {
    let server = idle_server();
    assert!(Command::new("kill").args(["-9", &server.process_id().to_string()]).status().unwrap().success());
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
    assert_eq!(find_program(&["ls"], &["/bin"]).unwrap().file_name().unwrap(), "ls");
    assert_eq!(find_program(&["no-such-program"], &["/bin"]), None);
}

/// `redis-server`, or `None` with a word about it where it is missing and nobody said that it must be there.
fn redis_program() -> Option<PathBuf> {
    let program =
        find_program(&["redis-server", "valkey-server"], &["/usr/sbin", "/usr/local/bin", "/opt/homebrew/bin"]);
    if program.is_none() {
        let required = std::env::var("BOUNDARY_BENCH_REQUIRE").unwrap_or_default();
        assert!(
            !required.split(',').any(|name| name == "redis"),
            "redis-server is not installed: apt install redis-server"
        );
        let _ = writeln!(std::io::stderr(), "SKIPPED: a private redis-server: it is not installed");
    }
    program
}

fn answers(socket: &Path) -> bool {
    let ask = || {
        let mut stream = UnixStream::connect(socket)?;
        stream.write_all(b"PING\r\n")?;
        let mut answer = [0; 7];
        stream.read_exact(&mut answer)?;
        std::io::Result::Ok(answer == *b"+PONG\r\n")
    };
    ask().unwrap_or(false)
}

fn redis(program: &Path) -> PrivateServer {
    let folder = ServerFolder::new("redis").unwrap();
    let mut command = Command::new(program);
    command.args(["--port", "0", "--unixsocket", "socket", "--save", ""]);
    folder.serve(&command, LONG, &CancelToken::default(), |path| answers(&path.join("socket"))).unwrap()
}

#[test]
fn a_real_server_answers_until_it_is_stopped() {
    let Some(program) = redis_program() else { return };
    let server = redis(&program);
    let socket = server.folder().unwrap().join("socket");
    assert!(answers(&socket));
    server.stop();
    assert!(!answers(&socket) && !runs(server.process_id()));
}

#[test]
fn a_process_that_ends_without_stopping_leaves_no_server_and_no_folder() {
    let Some(program) = redis_program() else { return };
    for way in ["exit", "abort", "panic", "killed"] {
        let mut process = Command::new(std::env::current_exe().unwrap())
            .args(["leaves_a_server", "--exact", "--ignored", "--nocapture"])
            .env(LEAVING, way)
            .env("BOUNDARY_BENCH_TEST_PROGRAM", &program)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(process.stdout.take().unwrap()).lines().map(Result::unwrap);
        let line = lines.find_map(|line| Some(line.rsplit_once("server ")?.1.to_owned())).unwrap();
        let (server, folder) = line.split_once(' ').unwrap();
        if way == "killed" {
            assert!(Path::new(folder).exists());
            process.kill().unwrap();
        }
        process.wait().unwrap();
        until(|| !Path::new(folder).exists());
        until(|| !runs(server.parse().unwrap()));
    }
}

#[test]
#[ignore = "ends its process; another test runs it in one of its own"]
fn leaves_a_server() {
    let server = redis(Path::new(&std::env::var_os("BOUNDARY_BENCH_TEST_PROGRAM").unwrap()));
    let line = format!("server {} {}\n", server.process_id(), server.folder().unwrap().display());
    std::io::stdout().write_all(line.as_bytes()).unwrap();
    match std::env::var(LEAVING).as_deref() {
        Ok("exit") => std::process::exit(0),
        Ok("abort") => std::process::abort(),
        Ok("panic") => {
            std::mem::forget(server);
            panic!("as asked for")
        }
        // Killed meanwhile.
        _ => std::thread::sleep(LONG),
    }
}
