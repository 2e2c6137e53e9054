//! The server of the engine: started, stopped, killed, misused. Only one test at a time uses the server of this
//! process.

mod common;

use std::collections::BTreeSet;

use boundary_bench_kernel::lock;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use boundary_bench_engine::{CreateMode, Engine, QueryOptions, Value};
use boundary_bench_hyper::{Server, executable, open};
use boundary_bench_kernel::cancel::CancelToken;
use boundary_bench_kernel::needs;
use boundary_bench_kernel::testing::Folder;
use boundary_bench_kernel::testing::{Process, processes, signal, stop};
use common::{batch, file_uri, insert, number, table};

/// The environment variable of a child process that a test runs to see what the child leaves behind.
const LEAVING: &str = "BOUNDARY_BENCH_TEST_LEAVES";

/// The environment variable of the URI of the database that such a child process opens.
const FILE: &str = "BOUNDARY_BENCH_TEST_FILE";

/// Only one test at a time may start and stop the server.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    lock(&ALONE)
}

/// The process ids of the servers that a process has started.
fn servers_of(process_id: u32) -> BTreeSet<u32> {
    let is_server = |process: &Process| process.parent == process_id && process.command.contains("hyperd run");
    processes().into_iter().filter(is_server).map(|process| process.id).collect()
}

/// The folders of a process's servers.
fn folders_of(process_id: u32) -> Vec<PathBuf> {
    let prefix = format!("bb-hyper-{process_id}-");
    let entries = std::fs::read_dir(std::env::temp_dir()).unwrap();
    let paths = entries.map(|entry| entry.unwrap().path());
    paths.filter(|path| path.file_name().unwrap().to_string_lossy().starts_with(&prefix)).collect()
}

/// The number of open files and sockets of this process.
fn open_files() -> usize {
    let folder = if cfg!(target_os = "linux") { "/proc/self/fd" } else { "/dev/fd" };
    std::fs::read_dir(folder).unwrap().count()
}

fn kill(process_id: u32) {
    signal("KILL", process_id);
}

/// Waits until a process has ended with all its threads: they may hold its socket after its first thread has ended.
fn await_end(process_id: u32) {
    let id = i32::try_from(process_id).unwrap();
    // SAFETY: signal 0 is not sent, only whether it could be is checked.
    while unsafe { libc::kill(id, 0) } == 0 {
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Waits until the engine of a killed server works again. Until then its calls say that there is no connection.
fn await_new_server(engine: &Arc<dyn Engine>) {
    while let Err(error) = engine.check() {
        assert_eq!(error.code(), "BB_CONNECTION", "{error}");
    }
}

#[test]
fn opening_and_closing_leaves_no_process_socket_or_file() {
    needs!("hyperd", executable());
    let _alone = alone();
    let cycle = |uri: &str| {
        let engine = open(uri).unwrap();
        engine.create_table(&table(), CreateMode::Create).unwrap();
        insert(&engine, 0..10);
        assert_eq!(number(&engine, "SELECT count(*) FROM t"), 10);
        // The stream is half read, and closed after its engine.
        let mut stream =
            engine.query("SELECT x FROM generate_series(1, 300000) g(x)", &QueryOptions::default()).unwrap();
        stream.next_batch().unwrap();
        drop(engine);
    };
    let uris = ["hyper:", "hyper:?transport=ipc", "hyper:?transport=grpc-sync"];
    // The runtime of gRPC stays. The first cycles start it.
    uris.iter().for_each(|uri| cycle(uri));
    let before = open_files();
    for _ in 0..34 {
        uris.iter().for_each(|uri| cycle(uri));
    }
    assert!(servers_of(std::process::id()).is_empty());
    assert!(folders_of(std::process::id()).is_empty());
    // The connections of gRPC end a moment after their engine.
    while open_files() > before {
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn two_hundred_databases_of_one_server_leave_nothing() {
    needs!("hyperd", executable());
    let _alone = alone();
    let keeper = open("hyper:").unwrap();
    let folder = Server::shared().unwrap().folder().to_owned();
    let databases = || std::fs::read_dir(&folder).unwrap().filter(is_database).count();
    let before = open_files();
    for _ in 0..200 {
        let engine = open("hyper:?transport=ipc").unwrap();
        engine.create_table(&table(), CreateMode::Create).unwrap();
        insert(&engine, 0..10);
    }
    assert_eq!((open_files(), databases()), (before, 1));
    assert!(keeper.list_tables().unwrap().is_empty());
}

fn is_database(entry: &std::io::Result<std::fs::DirEntry>) -> bool {
    entry.as_ref().unwrap().path().extension().is_some_and(|extension| extension == "hyper")
}

#[test]
fn a_server_killed_in_an_insert_is_an_error_and_the_table_is_as_before() {
    needs!("hyperd", executable());
    let _alone = alone();
    let folder = Folder::new("hyper-killed-insert");
    let uri = file_uri(&folder, "rows.hyper");
    for transport in ["tcp", "ipc"] {
        let uri = format!("{uri}?transport={transport}");
        let engine = open(&uri).unwrap();
        engine.create_table(&table(), CreateMode::Replace).unwrap();
        insert(&engine, 0..1000);
        // Closing the engine writes the file: until then the server keeps committed rows in memory.
        drop(engine);

        let engine = open(&uri).unwrap();
        let mut ingest = engine.ingest(&table()).unwrap();
        for _ in 0..5 {
            ingest.write(&batch(0..1_000_000)).unwrap();
        }
        kill(Server::shared().unwrap().process_id());
        let mut write = || {
            for _ in 0..10 {
                ingest.write(&batch(0..1_000_000))?;
            }
            Ok(())
        };
        let error: boundary_bench_kernel::Error = write().unwrap_err();
        assert_eq!(error.code(), "BB_CONNECTION");
        assert!(error.to_string().contains("connection is lost"), "{error}");
        assert_eq!(ingest.commit().unwrap_err().code(), "BB_CLOSED");
        await_new_server(&engine);
        assert_eq!(number(&engine, "SELECT count(*) FROM t"), 1000);
    }
}

#[test]
fn a_server_killed_before_a_commit_is_an_error_of_the_commit() {
    needs!("hyperd", executable());
    let _alone = alone();
    let engine = open("hyper:").unwrap();
    engine.create_table(&table(), CreateMode::Create).unwrap();
    let mut ingest = engine.ingest(&table()).unwrap();
    ingest.write(&batch(0..10)).unwrap();
    kill(Server::shared().unwrap().process_id());
    assert_eq!(ingest.commit().unwrap_err().code(), "BB_CONNECTION");
}

#[test]
fn a_server_killed_in_a_scan_is_an_error_over_every_transport() {
    needs!("hyperd", executable());
    let _alone = alone();
    for transport in ["tcp", "ipc", "grpc-sync", "grpc-adaptive", "grpc-async"] {
        let engine = open(&format!("hyper:?transport={transport}")).unwrap();
        let sql = "SELECT x FROM generate_series(1, 100000000) g(x)";
        let mut stream = engine.query(sql, &QueryOptions::default()).unwrap();
        assert!(stream.next_batch().unwrap().is_some());
        kill(Server::shared().unwrap().process_id());
        let error = loop {
            match stream.next_batch() {
                Ok(Some(_)) => {}
                Ok(None) => panic!("{transport}: the end of the server was taken for the end of the result"),
                Err(error) => break error,
            }
        };
        assert_eq!(error.code(), "BB_CONNECTION", "{transport}: {error}");
        assert!(stream.next_batch().unwrap().is_none());
        await_new_server(&engine);
        assert_eq!(number(&engine, "SELECT CAST(5 AS BIGINT)"), 5);
        engine.create_table(&table(), CreateMode::Create).unwrap();
    }
}

#[test]
fn a_server_killed_in_a_statement_is_an_error() {
    needs!("hyperd", executable());
    let _alone = alone();
    let engine = open("hyper:").unwrap();
    let cancel = CancelToken::default();
    let mut select = engine.prepare("SELECT x FROM generate_series(1, 100000000) g(x) WHERE x > $1", &cancel).unwrap();
    let mut stream = select.query(&[Value::Int(1)], &QueryOptions::default()).unwrap();
    assert!(stream.next_batch().unwrap().is_some());
    kill(Server::shared().unwrap().process_id());
    let error = loop {
        match stream.next_batch() {
            Ok(Some(_)) => {}
            Ok(None) => panic!("the end of the server was taken for the end of the result"),
            Err(error) => break error,
        }
    };
    assert_eq!(error.code(), "BB_CONNECTION");
    drop(stream);
    assert!(select.query(&[Value::Int(1)], &QueryOptions::default()).is_err());
    await_new_server(&engine);
    engine.prepare("SELECT $1", &cancel).unwrap();
}

#[test]
fn a_server_that_does_not_answer_holds_no_cancelled_caller_up() {
    needs!("hyperd", executable());
    let _alone = alone();
    let engine = open("hyper:").unwrap();
    let mut select = engine.prepare("SELECT $1", &CancelToken::default()).unwrap();
    assert_eq!(number(&engine, "SELECT CAST(5 AS BIGINT)"), 5);
    let server = Server::shared().unwrap().process_id();
    stop(server);
    let (cancel, options) = (CancelToken::default(), QueryOptions::default());
    let theirs = (cancel.clone(), options.cancel.clone());
    let canceller = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(100));
        theirs.0.cancel();
        theirs.1.cancel();
    });
    let answers = [
        engine.query("SELECT CAST(5 AS BIGINT)", &options).map(drop),
        select.execute(&[Value::Int(1)], &cancel).map(drop),
    ];
    signal("CONT", server);
    canceller.join().unwrap();
    for answer in answers {
        assert_eq!(answer.unwrap_err().code(), "BB_ABORTED");
    }
    assert_eq!(number(&engine, "SELECT CAST(6 AS BIGINT)"), 6);
}

#[test]
fn an_idle_session_that_the_server_ended_is_not_used_again() {
    needs!("hyperd", executable());
    let _alone = alone();
    let folder = Folder::new("hyper-idle");
    let server = Server::start(&executable().unwrap(), &[]).unwrap();
    let path = folder.0.join("rows.hyper");
    drop(open(&file_uri(&folder, "rows.hyper")).unwrap());
    let engine = open(&format!("hyper://127.0.0.1:{}/{}", server.tcp_port(), path.display())).unwrap();
    assert_eq!(number(&engine, "SELECT CAST(5 AS BIGINT)"), 5);
    drop(server);
    assert!(engine.list_tables().unwrap_err().to_string().contains("can't connect"));
}

#[test]
fn a_server_that_runs_is_attached_to_and_left_alone() {
    needs!("hyperd", executable());
    let _alone = alone();
    let folder = Folder::new("hyper-attached");
    let server = Server::start(&executable().unwrap(), &[]).unwrap();
    let path = folder.0.join("rows.hyper");
    let uri = format!("hyper://127.0.0.1:{}/{}", server.tcp_port(), path.display());
    let missing = open(&uri).err().unwrap();
    assert!(missing.code() == "BB_ENGINE" && missing.to_string().contains("does not exist"), "{missing}");

    let owner = open(&file_uri(&folder, "rows.hyper")).unwrap();
    owner.create_table(&table(), CreateMode::Create).unwrap();
    insert(&owner, 0..10);
    let held = open(&uri).err().unwrap();
    assert!(held.code() == "BB_ENGINE" && held.to_string().contains("locked"), "{held}");
    drop(owner);

    let engine = open(&uri).unwrap();
    assert!(engine.version().contains('.'), "{}", engine.version());
    insert(&engine, 10..20);
    let held = open(&file_uri(&folder, "rows.hyper")).err().unwrap();
    assert!(held.code() == "BB_ENGINE" && held.to_string().contains("locked"), "{held}");
    for mode in ["sync", "adaptive", "async"] {
        let address = format!("127.0.0.1:{}", server.grpc_port());
        let queried = open(&format!("hyper://{address}/{}?transport=grpc-{mode}", path.display())).unwrap();
        assert_eq!(number(&queried, "SELECT count(*) FROM t"), 20);
        assert_eq!(queried.list_tables().unwrap(), ["t"]);
        assert_eq!(queried.describe_table("t").unwrap(), table());
        assert_eq!(queried.ingest(&table()).err().unwrap().code(), "BB_UNSUPPORTED");
        assert_eq!(queried.drop_table("t").unwrap_err().code(), "BB_UNSUPPORTED");
        assert_eq!(
            queried.execute("DELETE FROM t", &QueryOptions::default().cancel).unwrap_err().code(),
            "BB_UNSUPPORTED"
        );
    }
    drop(engine);
    // The rows are still there.
    assert_eq!(number(&open(&uri).unwrap(), "SELECT count(*) FROM t"), 20);
}

#[test]
fn a_file_that_is_no_database_is_refused() {
    needs!("hyperd", executable());
    let _alone = alone();
    let folder = Folder::new("hyper-damaged");
    for (name, content) in [("empty.hyper", &b""[..]), ("text.hyper", &b"no database, but long enough to be read"[..])]
    {
        std::fs::write(folder.0.join(name), content).unwrap();
        let error = open(&file_uri(&folder, name)).err().unwrap();
        assert!(error.code() == "BB_ENGINE" && error.to_string().contains("database"), "{error}");
        assert_eq!(std::fs::read(folder.0.join(name)).unwrap(), content);
    }
    for uri in [file_uri(&folder, "nowhere/x.hyper"), format!("hyper:{}", folder.0.display())] {
        assert_eq!(open(&uri).err().unwrap().code(), "BB_ENGINE", "{uri}");
    }

    let engine = open(&file_uri(&folder, "cut.hyper")).unwrap();
    engine.create_table(&table(), CreateMode::Create).unwrap();
    insert(&engine, 0..100_000);
    drop(engine);
    let path = folder.0.join("cut.hyper");
    // The server has ended, so the file may be changed.
    let bytes = std::fs::read(&path).unwrap();
    std::fs::write(&path, &bytes[..bytes.len() / 2]).unwrap();
    let result = open(&file_uri(&folder, "cut.hyper")).and_then(|engine| {
        let mut stream = engine.query("SELECT x FROM t", &QueryOptions::default())?;
        while stream.next_batch()?.is_some() {}
        Ok(())
    });
    assert_eq!(result.unwrap_err().code(), "BB_ENGINE");
}

/// Makes a file read-only for everybody, root included, or writable again. `false` if the system can't do that.
fn protect(path: &Path, on: bool) -> bool {
    let mut permissions = std::fs::metadata(path).unwrap().permissions();
    permissions.set_mode(if on { 0o400 } else { 0o600 });
    // SAFETY: has no preconditions.
    if unsafe { libc::geteuid() } != 0 {
        std::fs::set_permissions(path, permissions).unwrap();
        return true;
    }
    // Root ignores permissions, but not the file system's immutable attribute.
    let status = Command::new("chattr").arg(if on { "+i" } else { "-i" }).arg(path).status();
    status.is_ok_and(|status| status.success())
}

#[test]
fn a_database_that_can_not_be_written_is_refused() {
    needs!("hyperd", executable());
    let _alone = alone();
    let folder = Folder::new("hyper-read-only");
    let engine = open(&file_uri(&folder, "rows.hyper")).unwrap();
    engine.create_table(&table(), CreateMode::Create).unwrap();
    insert(&engine, 0..10);
    drop(engine);
    let path = folder.0.join("rows.hyper");
    let why = "root can't make a file immutable here (chattr +i), and heeds no permissions";
    needs!("read-only-files", protect(&path, true).then_some(()).ok_or(why));
    let refused = open(&file_uri(&folder, "rows.hyper")).err();
    assert!(protect(&path, false));
    let refused = refused.expect("it can't be written");
    assert!(refused.code() == "BB_ENGINE" && refused.to_string().contains("rows.hyper"), "{refused}");
    assert_eq!(number(&open(&file_uri(&folder, "rows.hyper")).unwrap(), "SELECT count(*) FROM t"), 10);
}

#[test]
fn wrong_credentials_are_refused() {
    needs!("hyperd", executable());
    let _alone = alone();
    let folder = Folder::new("hyper-password");
    drop(open(&file_uri(&folder, "rows.hyper")).unwrap());
    // Without --no-password the server asks for a new password, twice.
    let mut server = Command::new(executable().unwrap())
        .args([
            "run",
            "--listen-connection=tab.tcp://127.0.0.1:0",
            "--init-user=tableau_internal_user",
            "--skip-license",
        ])
        .arg(format!("--log-dir={}", folder.0.display()))
        .args(["--language=en_US", "--default-database-version=4"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    server.stdin.take().unwrap().write_all(b"geheim\ngeheim\n").unwrap();
    let port = BufReader::new(server.stdout.take().unwrap()).lines().map(Result::unwrap).find_map(|line| {
        let address = line.split_once("listening to 127.0.0.1:")?.1;
        address.split(' ').next()?.parse::<u16>().ok()
    });
    let open_as = |credentials: &str| {
        let path = folder.0.join("rows.hyper");
        open(&format!("hyper://{credentials}127.0.0.1:{}/{}", port.unwrap(), path.display()))
    };
    let answers = ["tableau_internal_user:falsch@", "tableau_internal_user@", "", "bob:geheim@"].map(|credentials| {
        let error = open_as(credentials).err().map(|error| (error.code(), error.to_string()));
        (credentials, error)
    });
    let accepted = open_as("tableau_internal_user:geheim@").map(|engine| engine.list_tables().unwrap());
    server.kill().unwrap();
    server.wait().unwrap();
    for (credentials, error) in answers {
        let (code, text) = error.expect(credentials);
        assert_eq!(code, "BB_CONNECTION", "{credentials}: {text}");
        assert!(!text.contains("falsch") && !text.contains("geheim"), "{text}");
    }
    assert!(accepted.unwrap().is_empty());
}

#[test]
fn a_process_that_ends_without_closing_leaves_no_server_and_no_row_is_lost() {
    needs!("hyperd", executable());
    let _alone = alone();
    for way in ["exit", "abort", "panic"] {
        let folder = Folder::new("hyper-left");
        let uri = file_uri(&folder, "rows.hyper");
        let mut process = Command::new(std::env::current_exe().unwrap())
            .args(["leaves_a_server", "--exact", "--ignored", "--nocapture"])
            .env(LEAVING, way)
            .env(FILE, &uri)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(process.stdout.take().unwrap()).lines().map(Result::unwrap);
        let server = lines.find_map(|line| line.rsplit_once("server ")?.1.parse().ok()).unwrap();
        process.wait().unwrap();
        await_end(server);
        // The watchdog of the server removes the folder.
        while !folders_of(process.id()).is_empty() {
            std::thread::sleep(Duration::from_millis(10));
        }
        // The server has written what was committed.
        assert_eq!(number(&open(&uri).unwrap(), "SELECT count(*) FROM t"), 10, "{way}");
    }
}

#[test]
#[ignore = "ends its process; another test runs it in one of its own"]
fn leaves_a_server() {
    needs!("hyperd", executable());
    let engine = open(&std::env::var(FILE).unwrap()).unwrap();
    engine.create_table(&table(), CreateMode::Create).unwrap();
    insert(&engine, 0..10);
    std::io::stdout().write_all(format!("server {}\n", Server::shared().unwrap().process_id()).as_bytes()).unwrap();
    match std::env::var(LEAVING).as_deref() {
        Ok("exit") => std::process::exit(0),
        Ok("abort") => std::process::abort(),
        Ok("panic") => {
            std::mem::forget(engine);
            panic!("as asked for")
        }
        _ => {}
    }
}
