//! A private server leaves nothing behind when its process ends, however it ends.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use boundary_bench_kernel::cancel::CancelToken;
use boundary_bench_kernel::needs;
use boundary_bench_kernel::testing::runs;
use boundary_bench_redis::{Server, executable};

/// The environment variable that marks a process started by a test. The test checks what it leaves behind.
const LEAVING: &str = "BOUNDARY_BENCH_TEST_LEAVES";

fn start() -> Server {
    Server::start(None, &CancelToken::default()).unwrap()
}

/// The path of the server's socket.
fn socket_of(server: &Server) -> String {
    server.unix_url().strip_prefix("redis+unix://").unwrap().to_owned()
}

/// Waits until a condition holds.
fn until(what: impl Fn() -> bool) {
    while !what() {
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn a_real_server_answers_until_it_is_stopped() {
    needs!("redis", executable(None));
    let server = start();
    let socket = socket_of(&server);
    assert!(UnixStream::connect(&socket).is_ok());
    server.stop();
    assert!(UnixStream::connect(&socket).is_err() && !runs(server.process_id()));
}

#[test]
fn a_process_that_ends_without_stopping_leaves_no_server_and_no_folder() {
    needs!("redis", executable(None));
    for way in ["exit", "abort", "panic", "killed"] {
        let mut process = Command::new(std::env::current_exe().unwrap())
            .args(["leaves_a_server", "--exact", "--ignored", "--nocapture"])
            .env(LEAVING, way)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(process.stdout.take().unwrap()).lines().map(Result::unwrap);
        let line = lines.find_map(|line| Some(line.rsplit_once("server ")?.1.to_owned())).unwrap();
        let (server, socket) = line.split_once(' ').unwrap();
        let folder = Path::new(socket).parent().unwrap();
        if way == "killed" {
            assert!(folder.exists());
            process.kill().unwrap();
        }
        process.wait().unwrap();
        until(|| !folder.exists());
        until(|| !runs(server.parse().unwrap()));
    }
}

#[test]
#[ignore = "ends its process; another test runs it in one of its own"]
fn leaves_a_server() {
    let server = start();
    let line = format!("server {} {}\n", server.process_id(), socket_of(&server));
    std::io::stdout().write_all(line.as_bytes()).unwrap();
    match std::env::var(LEAVING).as_deref() {
        Ok("exit") => std::process::exit(0),
        Ok("abort") => std::process::abort(),
        Ok("panic") => {
            std::mem::forget(server);
            panic!("as asked for")
        }
        // The test kills this process meanwhile.
        _ => std::thread::sleep(Duration::from_secs(60)),
    }
}
