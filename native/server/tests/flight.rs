//! Flight SQL as clients see it: which requests are refused, when calls end, and what is kept when the server dies.

mod common;

use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use boundary_bench_core::engine::{CancelToken, CreateMode, Engine, QueryOptions, Value};
use boundary_bench_core::testing::{Certificate, certificate};
use boundary_bench_flight::{FlightEngine, Login};
use boundary_bench_server::{FlightOptions, Limits, Options, Server, TlsFiles};
use common::flight::{ENDLESS, Process, connect, number, rows, serve, table};

/// A statement that computes for hours before its only row.
const SLOW: &str = "SELECT count(*) FROM range(100000000) a, range(100000) b WHERE hash(a.range + b.range) = 1";

#[test]
fn a_server_that_is_killed_ends_what_runs_with_an_error() {
    let mut server = Process::start(&[]);
    let engine = connect(&server.url);
    engine.create_table(&table(), CreateMode::Create).unwrap();
    let mut ingest = engine.ingest(&table()).unwrap();
    ingest.write(&rows(1000)).unwrap();
    let mut stream = engine.query(ENDLESS, &QueryOptions::default()).unwrap();
    assert!(stream.next_batch().unwrap().is_some());
    server.kill();
    let error = loop {
        // The batches that had arrived are still read.
        match stream.next_batch() {
            Ok(Some(_)) => {}
            Ok(None) => panic!("a result cut short is no result"),
            Err(error) => break error,
        }
    };
    assert_eq!(error.code(), "BB_CONNECTION", "{error}");
    assert!(stream.next_batch().is_ok_and(|batch| batch.is_none()));
    assert_eq!(ingest.commit().unwrap_err().code(), "BB_CONNECTION");
    assert!(engine.check().is_err());
    assert!(FlightEngine::open(server.url.parse().unwrap(), None).is_err());
}

#[test]
fn kills_lose_no_insert_that_was_acknowledged_and_leave_no_half_of_one() {
    const OF_AN_INSERT: i64 = 50;
    let folder = std::env::temp_dir().join(format!("bb-flight-kill-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).unwrap();
    let path = folder.join("killed.duckdb");
    let arguments = ["--database", path.to_str().unwrap()];
    let acknowledged = AtomicI64::new(0);
    for kill in 0..5 {
        let mut server = Process::start(&arguments);
        let engine = connect(&server.url);
        engine.create_table(&table(), CreateMode::IfNotExists).unwrap();
        std::thread::scope(|scope| {
            let before = acknowledged.load(Ordering::Relaxed);
            scope.spawn(|| {
                let insert = || {
                    let mut ingest = engine.ingest(&table())?;
                    ingest.write(&rows(OF_AN_INSERT))?;
                    ingest.commit()
                };
                while insert().is_ok() {
                    acknowledged.fetch_add(1, Ordering::Relaxed);
                }
            });
            while acknowledged.load(Ordering::Relaxed) < before + 2 {
                std::thread::sleep(Duration::from_millis(1));
            }
            // Each round kills at another moment.
            std::thread::sleep(Duration::from_millis(kill * 7));
            server.kill();
        });
    }
    let acknowledged = acknowledged.into_inner();
    let server = Process::start(&arguments);
    let held = number(&connect(&server.url), "SELECT count(*) FROM t");
    assert_eq!(held % OF_AN_INSERT, 0, "half of an insert");
    // In each round, one insert may have been committed without being acknowledged.
    let whole = held / OF_AN_INSERT;
    assert!((acknowledged..=acknowledged + 5).contains(&whole), "{whole} inserts of {acknowledged}");
    drop(server);
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn a_result_that_is_not_read_is_not_made() {
    let server = Process::start(&[]);
    let engine = connect(&server.url);
    let mut stream = engine.query(ENDLESS, &QueryOptions::default()).unwrap();
    assert!(stream.next_batch().unwrap().is_some());
    std::thread::sleep(Duration::from_millis(500));
    let resident = |id: u32| -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{id}/status")).unwrap_or_default();
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        line.and_then(|line| line.trim().strip_suffix(" kB")?.parse().ok()).unwrap_or(0)
    };
    let held = resident(server.id());
    assert!(held < 700_000, "the server holds {held} kB");
    drop(stream);
    // Nothing of the dropped stream delays the next query.
    assert_eq!(number(&engine, "SELECT 1::BIGINT"), 1);
}

#[test]
fn a_cancelled_statement_ends_on_the_server() {
    let server = serve(FlightOptions::default(), Options::default());
    let engine = Arc::new(connect(&server.url()));
    for is_query in [true, false] {
        let cancel = CancelToken::default();
        let (theirs, running) = (cancel.clone(), Arc::clone(&engine));
        let waiting = std::thread::spawn(move || {
            if is_query {
                running.query(SLOW, &QueryOptions { cancel: theirs, ..QueryOptions::default() }).map(drop)
            } else {
                running.execute(&format!("CREATE TABLE never AS {SLOW}"), &theirs).map(drop)
            }
        });
        std::thread::sleep(Duration::from_millis(300));
        cancel.cancel();
        assert_eq!(waiting.join().unwrap().unwrap_err().code(), "BB_ABORTED");
    }
    assert_eq!(engine.list_tables().unwrap(), Vec::<String>::new());
    drop(engine);
    // The server waits for calls in flight; a query of hours would keep it.
    server.stop();
}

#[test]
fn calls_end_at_the_time_that_they_have() {
    let limits = Limits { query_time: Duration::from_millis(300), ..Limits::default() };
    let strict = serve(FlightOptions::default(), Options { limits, ..Options::default() });
    let error = connect(&strict.url()).query(SLOW, &QueryOptions::default()).err().unwrap();
    assert_eq!(error.code(), "BB_TIMEOUT", "{error}");
    let lenient = serve(FlightOptions::default(), Options::default());
    let engine = connect(&format!("{}?timeout=0.3", lenient.url()));
    let error = engine.execute(&format!("CREATE TABLE x AS {SLOW}"), &CancelToken::default()).unwrap_err();
    assert_eq!(error.code(), "BB_TIMEOUT", "{error}");
    assert!(error.to_string().contains(&lenient.url()), "{error}");
}

#[test]
fn messages_beyond_the_limit_are_refused() {
    let limits = Limits { message: 100_000, ..Limits::default() };
    let server = serve(FlightOptions::default(), Options { limits, ..Options::default() });
    let engine = connect(&server.url());
    engine.create_table(&table(), CreateMode::Create).unwrap();
    let mut ingest = engine.ingest(&table()).unwrap();
    ingest.write(&rows(500)).unwrap();
    let refused = ingest.write(&rows(5000)).and_then(|()| ingest.commit().map(drop)).unwrap_err();
    assert!(refused.to_string().contains("send smaller batches"), "{refused}");
    assert_eq!(number(&engine, "SELECT count(*) FROM t"), 0);
    let long = format!("SELECT '{}'", "x".repeat(200_000));
    assert!(engine.query(&long, &QueryOptions::default()).is_err());
}

#[test]
fn who_has_no_password_is_refused() {
    let login = Login { user: "me".to_owned(), password: "s3cret".to_owned() };
    let server = serve(FlightOptions { login: Some(login), database: None }, Options::default());
    let place = server.url().replace("flight://", "");
    for login in ["", "me@", "me:wrong@", "you:s3cret@"] {
        let error = FlightEngine::open(format!("flight://{login}{place}").parse().unwrap(), None).err().unwrap();
        assert!(error.to_string().contains("password"), "{error}");
        assert!(!error.to_string().contains("s3cret"), "{error}");
    }
    assert_eq!(number(&connect(&format!("flight://me:s3cret@{place}")), "SELECT 7::BIGINT"), 7);
}

#[test]
fn a_query_only_reads_and_commands_are_one_transaction() {
    let server = serve(FlightOptions::default(), Options::default());
    let engine = connect(&server.url());
    engine.create_table(&table(), CreateMode::Create).unwrap();
    let insert = "INSERT INTO t VALUES (1, 'a')";
    let refused = engine.query(insert, &QueryOptions::default()).err().unwrap();
    assert_eq!(refused.code(), "BB_UNSUPPORTED");
    let mut prepared = engine.prepare("INSERT INTO t VALUES ($1, 'x')", &CancelToken::default()).unwrap();
    assert_eq!(prepared.columns(), Some(&[][..]));
    assert_eq!(prepared.query(&[Value::Int(1)], &QueryOptions::default()).err().unwrap().code(), "BB_UNSUPPORTED");
    let together = format!("{insert}; INSERT INTO t VALUES ('no number', 'b')");
    assert_eq!(engine.execute(&together, &CancelToken::default()).unwrap_err().code(), "BB_ENGINE");
    assert_eq!(number(&engine, "SELECT count(*) FROM t"), 0);
    assert_eq!(engine.execute(&format!("{insert}; {insert}"), &CancelToken::default()).unwrap(), 2);
    let read = engine.query("SELECT * FROM read_text('/etc/hostname')", &QueryOptions::default()).err().unwrap();
    assert!(read.to_string().contains("disabled"), "{read}");
    let columns = engine.prepare("SELECT n, text FROM t", &CancelToken::default()).unwrap();
    assert_eq!(columns.columns().unwrap().len(), 2);
}

#[test]
fn what_is_no_call_of_flight_is_refused() {
    let server = serve(FlightOptions::default(), Options::default());
    let mut stream = TcpStream::connect(server.url().trim_start_matches("flight://")).unwrap();
    stream.write_all(b"GET /ping HTTP/1.1\r\nhost: here\r\nconnection: close\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    // A gRPC status comes with the HTTP status 200.
    let server_name = format!("server: boundary-bench/{}", env!("CARGO_PKG_VERSION"));
    assert!(answer.starts_with("HTTP/1.1 200") && answer.contains(&server_name), "{answer}");
    let rest = Server::start(&Options { listen: "127.0.0.1:0".parse().unwrap(), ..Options::default() }).unwrap();
    let url = rest.url().replace("http", "flight").parse().unwrap();
    let error = FlightEngine::open(url, None).err().unwrap();
    assert!(error.to_string().contains("not as gRPC does"), "{error}");
}

#[test]
fn tls_protects_and_is_checked() {
    let Certificate { certificate, key } = certificate("localhost");
    let tls = TlsFiles { certificate, key };
    let authority = tls.certificate.display().to_string();
    let server = serve(FlightOptions::default(), Options { tls: Some(tls), ..Options::default() });
    let url = server.url().replace("127.0.0.1", "localhost");
    assert!(url.starts_with("flight+tls://"), "{url}");
    let engine = connect(&format!("{url}?tls-ca={authority}"));
    assert_eq!(number(&engine, "SELECT sum(range)::BIGINT FROM range(1000000)"), 499_999_500_000);
    // Connections are refused with an untrusted authority, and without TLS.
    assert!(FlightEngine::open(url.parse().unwrap(), None).is_err());
    assert!(FlightEngine::open(url.replace("+tls", "").parse().unwrap(), None).is_err());
}
