//! Servers that send without end, announce bytes that never come, send nothing at all, or ignore a request to end a
//! statement.

use std::io::{Read, Write};
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::Duration;

use boundary_bench_engine::table::{Column, SqlType, TableDefinition};
use boundary_bench_engine::{CreateMode, Engine};
use boundary_bench_kernel::Error;
use boundary_bench_kernel::cancel::CancelToken;
use boundary_bench_kernel::driven_stream::Driven;
use boundary_bench_kernel::frame::Frame;
use boundary_bench_kernel::resources::{peak_rss, reset_peak_rss};
use boundary_bench_kernel::testing::certificate;
use boundary_bench_kernel::tls::Trust;
use boundary_bench_mysql::{Connection, DrivenSession, MysqlEngine, Shapes, SqlSession, Submission, Url};
use tokio::io::AsyncWriteExt;

use crate::common::{Client, text};
use crate::scripted::{OK, PLAIN, Say, Scripted, WITH_TLS, greeting, hear, listen, number, one_column, packet};

/// The memory that a server may make this process use, in bytes, including the memory of the tests themselves.
const LITTLE: u64 = 300 << 20;

const LIMIT: usize = 1 << 20;

/// A row of one text of this many bytes, at most 64 KiB.
fn row(bytes: u16) -> Vec<u8> {
    let text = vec![b'x'; bytes.into()];
    packet(3, &[&[0xfc], &bytes.to_le_bytes()[..], &text].concat())
}

/// The header of a packet of the largest length, and this many bytes of its payload.
fn part(bytes: usize) -> Vec<u8> {
    [&[0xff, 0xff, 0xff, 3][..], &vec![b'x'; bytes]].concat()
}

#[tokio::test(flavor = "multi_thread")]
async fn only_a_table_with_texts_names_a_character_set() {
    let syntax = packet(1, &[b"\xff\x28\x04#42000", b"no such clause".as_slice()].concat());
    let server =
        Scripted::start(move |sql| if sql.contains("CHARACTER SET") { Say::Bytes(syntax.clone()) } else { Say::Ok });
    let uri = Url { database: None, ..server.await.url.clone() }.secret_text();
    let created = tokio::task::spawn_blocking(move || {
        // The database is created without the clause, too.
        let engine = MysqlEngine::open(&uri).unwrap();
        [SqlType::Double, SqlType::Text].map(|sql_type| {
            let columns = vec![Column { name: "x".to_owned(), sql_type, nullable: true }];
            let table = TableDefinition { name: "t".to_owned(), columns };
            engine.create_table(&table, CreateMode::Create).map_err(|error| error.to_string())
        })
    });
    let [numbers, texts] = created.await.unwrap();
    assert_eq!(numbers, Ok(()));
    assert!(texts.unwrap_err().contains("no such clause"));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_beyond_the_limit_is_refused_and_its_connection_closed() {
    for (first, others) in [
        // Endless rows, with bytes and with a null.
        (one_column(), row(60_000)),
        (one_column(), packet(3, &[0xfb])),
        // One packet of endlessly many parts.
        (one_column(), part(0xff_ffff)),
        // Endless columns.
        (packet(1, &[0xfe, 0, 0, 0, 0, 0, 0, 0, 1]), one_column()[5..].to_vec()),
    ] {
        let server = Scripted::start(move |sql| match sql {
            "ENDLESS" => Say::Endless(first.clone(), others.clone()),
            _ => Say::Ok,
        });
        let server = server.await;
        let url = Url { most_bytes: LIMIT, ..server.url.clone() };
        let client = Client::connect(&url).await.unwrap();
        let error = client.text("ENDLESS").await.unwrap_err();
        assert_eq!(error.code(), "BB_TOO_LARGE", "{error}");
        assert!(error.to_string().contains("max-response-bytes"), "{error}");
        // That connection still receives data. Another one gets its answer.
        Client::connect(&url).await.unwrap().text("SHORT").await.unwrap();
    }
}

/// A packet with a status of 10: the server commits each statement, and another result follows. It ends rows, or is the outcome of a statement.
fn more(first: u8) -> Vec<u8> {
    packet(3, &[first, 0, 0, 10, 0, 0, 0])
}

/// The packets of a result without rows that has one column of this name, and another result behind it.
fn empty_result(name: &str) -> Vec<u8> {
    let name = [&[u8::try_from(name.len()).unwrap()], name.as_bytes()].concat();
    let column = [b"\x03def\x00\x00\x00", &name[..], b"\x00\x0c\x2d\x00\xff\xff\x00\x00\xfd\x00\x00\x00\x00\x00"];
    [packet(1, &[1]), packet(2, &column.concat()), more(0xfe)].concat()
}

#[tokio::test(flavor = "multi_thread")]
async fn results_without_rows_count_towards_the_limit() {
    let others = (0..1000).map(|index| empty_result(&format!("c{index}"))).collect::<Vec<_>>().concat();
    let informed = packet(3, &[&more(0)[4..], &[b'i'; 1000]].concat());
    for others in [empty_result("x"), others, more(0), informed] {
        let server = Scripted::start(move |sql| match sql {
            "ENDLESS" => Say::Endless(Vec::new(), others.clone()),
            _ => Say::Ok,
        });
        let url = Url { most_bytes: LIMIT, ..server.await.url.clone() };
        let client = Client::connect(&url).await.unwrap();
        let answer = tokio::time::timeout(Duration::from_secs(60), client.text("ENDLESS")).await;
        let error = answer.expect("the results are read without end").unwrap_err();
        assert_eq!(error.code(), "BB_TOO_LARGE", "{error}");
        assert!(error.to_string().contains("max-response-bytes"), "{error}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_first_result_of_a_statement_counts_by_its_rows_alone() {
    let said = [empty_result("x"), more(0), packet(4, OK)].concat();
    let server = Scripted::start(move |sql| if sql == "CALL p()" { Say::Bytes(said.clone()) } else { Say::Ok }).await;
    let client = Client::connect(&Url { most_bytes: 1000, ..server.url.clone() }).await.unwrap();
    let results = client.text("CALL p()").await.unwrap();
    assert_eq!((results.requests[0].part, results.further.len()), (Some(0), 0));
}

#[tokio::test(flavor = "multi_thread")]
async fn columns_and_messages_are_kept_up_to_a_limit() {
    // A prepared statement whose columns have long names, a result of many columns, and a long error.
    let column = |length: u16| [b"\x03def\0\0\0\xfc", &length.to_le_bytes()[..], &vec![b'x'; length.into()]].concat();
    let column = move |length| packet(2, &[&column(length)[..], b"\0\x0c\x2d\0\xff\xff\0\0\xfd\0\0\0\0\0"].concat());
    let names = column(60_000).repeat(200);
    let server = Scripted::start(move |sql| match sql {
        _ if sql.starts_with("TABLE") => {
            let id = sql.len().to_le_bytes();
            let prepared = packet(1, &[&[0][..], &id[..4], &[200, 0, 0, 0, 0, 0, 0]].concat());
            Say::Bytes([&prepared[..], &names].concat())
        }
        "WIDE" => Say::Endless(packet(1, &[0xfd, 0, 0, 10]), column(1)),
        "LONG" => Say::Bytes(packet(1, &[b"\xff\x10\x04#HY000", &b"x".repeat(1 << 20)[..]].concat())),
        _ => Say::Ok,
    });
    let server = server.await;
    let mut session = SqlSession::open(&server.url).await.unwrap();
    let mut prepared = Vec::new();
    while prepared.len() < 100 {
        match session.prepare(&format!("TABLE{}", " ".repeat(prepared.len()))).await.map_err(Error::from) {
            Ok(statement) => prepared.push(statement.fields.len()),
            Err(error) => {
                assert_eq!(error.code(), "BB_TOO_LARGE", "{error}");
                break;
            }
        }
    }
    assert_eq!(prepared, [200; 5], "12 MB each, 64 MiB in all");
    let client = Client::connect(&Url { most_bytes: 64 << 20, ..server.url.clone() }).await.unwrap();
    assert!(client.text("LONG").await.unwrap_err().to_string().len() < 5000);
    assert_eq!(client.text("WIDE").await.unwrap_err().code(), "BB_TOO_LARGE");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_announced_takes_no_memory_before_it_comes() {
    for said in [
        // An announcement of 2^62 columns, then one of a packet of 16 MiB.
        packet(1, &[0xfe, 0, 0, 0, 0, 0, 0, 0, 0x40]),
        [one_column(), part(1000)].concat(),
    ] {
        let server = Scripted::start(move |sql| if sql == "HALF" { Say::Bytes(said.clone()) } else { Say::Ok }).await;
        let client = Client::connect(&server.url).await.unwrap();
        assert!(reset_peak_rss());
        let before = peak_rss().unwrap();
        let answer = tokio::time::timeout(Duration::from_millis(500), client.text("HALF"));
        assert!(answer.await.is_err());
        assert!(peak_rss().unwrap() < before + LITTLE);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_accepts_and_says_nothing_is_given_up() {
    let (listener, url) = listen().await;
    let silent = tokio::spawn(async move {
        let mut streams = Vec::new();
        loop {
            streams.push(listener.accept().await.unwrap());
        }
    });
    let opened = Connection::open(&url).await.map(drop).map_err(Error::from);
    assert_eq!(opened.unwrap_err().code(), "BB_TIMEOUT");
    silent.abort();
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_that_comes_byte_by_byte_is_read() {
    let (listener, url) = listen().await;
    tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        stream.set_nodelay(true).unwrap();
        let mut said = vec![greeting(1, PLAIN, "mysql_native_password"), packet(2, OK)];
        said.push([one_column(), row(300), packet(4, &[0xfe, 0, 0, 2, 0, 0, 0])].concat());
        for (turn, mut bytes) in said.into_iter().enumerate() {
            if turn == 2 {
                number(&mut bytes, &mut 1);
            }
            if turn > 0 {
                hear(&mut stream).await.unwrap();
            }
            for byte in bytes {
                stream.write_all(&[byte]).await.unwrap();
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        }
    });
    let mut connection = Connection::open(&url).await.unwrap();
    connection.run("SLOW").await.unwrap();
    assert!(connection.is_idle());
}

/// An OK packet that tells of this many changed rows.
fn changed(rows: u8) -> Vec<u8> {
    packet(1, &[0, rows, 0, 2, 0, 0, 0])
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_that_nobody_asked_for_is_given_to_no_later_call() {
    let count = AtomicU8::new(0);
    let server = Scripted::start(move |sql| match sql {
        "DO 1" => {
            let run = count.fetch_add(1, Ordering::SeqCst) + 1;
            Say::Exact(if run % 3 == 1 { [changed(run), changed(99)].concat() } else { changed(run) })
        }
        _ => Say::Ok,
    });
    let server = server.await;
    let uri = server.url.secret_text();
    let ran = tokio::task::spawn_blocking(move || {
        let engine = MysqlEngine::open(&uri).unwrap();
        (0..6).map(|_| engine.execute("DO 1", &CancelToken::default()).unwrap()).collect::<Vec<_>>()
    });
    assert_eq!(ran.await.unwrap(), [1, 2, 3, 4, 5, 6]);
    let client = Client::connect(&server.url).await.unwrap();
    assert_eq!(client.text("DO 1").await.unwrap().requests[0].affected_rows, 7);
    let error = client.text("DO 1").await.unwrap_err();
    assert!(error.code() == "BB_CONNECTION" && error.to_string().contains("answer nothing"), "{error}");
    for _ in 0..2 {
        Client::connect(&server.url).await.unwrap().text("DO 1").await.unwrap();
    }
    let (mut stream, mut driven) = DrivenSession::open(&server.url).await.unwrap();
    let (mut frame, shapes) = (Frame::default(), Shapes::default());
    driven.submit(7, Submission::Run(text("DO 1")), &mut frame, &shapes).unwrap();
    let sent = stream.write(driven.unsent()).unwrap();
    driven.sent(sent, &mut frame, &shapes);
    let received = loop {
        match stream.read(driven.room()) {
            Ok(bytes) => break driven.received(bytes, &mut frame, &shapes),
            Err(_) => tokio::time::sleep(Duration::from_millis(1)).await,
        }
    };
    // The call has its own answer, and the connection ends.
    assert_eq!((received.unwrap_err().code(), frame.bytes()[0], frame.bytes()[4]), ("BB_CONNECTION", 7, 0));
}

#[tokio::test(flavor = "multi_thread")]
async fn packets_out_of_their_order_are_no_answer() {
    let end = |number| packet(number, &[0xfe, 0, 0, 2, 0, 0, 0]);
    let numbered = |number| [one_column(), row(9), packet(number, b"\x01x")].concat();
    for (said, expected) in [
        (packet(2, OK), "out of order"),
        (packet(0, b"\xff\x10\x04#HY000gone"), "gone"),
        ([one_column(), packet(4, b"\x01x"), end(5)].concat(), "out of order"),
        ([numbered(3), end(5)].concat(), "out of order"),
        ([numbered(4), end(6)].concat(), "out of order"),
        ([one_column(), packet(3, &vec![b'x'; 0xff_ffff]), packet(5, b"x"), end(6)].concat(), "out of order"),
    ] {
        let server = Scripted::start(move |sql| if sql == "DO 1" { Say::Exact(said.clone()) } else { Say::Ok }).await;
        let client = Client::connect(&server.url).await.unwrap();
        let error = client.text("DO 1").await.unwrap_err();
        assert!(error.code() == "BB_CONNECTION" && error.to_string().contains(expected), "{expected}: {error}");
        assert_eq!(client.text("DO 2").await.map(drop).unwrap_err().code(), "BB_CONNECTION");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_row_of_more_values_than_columns_is_refused() {
    let end = packet(4, &[0xfe, 0, 0, 2, 0, 0, 0]);
    for (values, expected) in [(&b"\x01a\x01b"[..], Err("BB_ENGINE")), (b"\x01a", Ok(1)), (b"\x02a", Err("BB_ENGINE"))]
    {
        let said = [one_column(), packet(3, values), end.clone()].concat();
        let server = Scripted::start(move |sql| if sql == "DO 1" { Say::Bytes(said.clone()) } else { Say::Ok }).await;
        let client = Client::connect(&server.url).await.unwrap();
        let rows = client.text("DO 1").await.map(|results| results.requests[0].rows).map_err(|error| error.code());
        assert_eq!(rows, expected);
        let mut visited = Vec::new();
        let mut session = SqlSession::open(&server.url).await.unwrap();
        session.queue_text("DO 1");
        session.answer(None, |row| visited.push(row.visit(|_, _| {}).is_ok())).await.unwrap();
        assert_eq!(visited, [expected.is_ok()]);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_long_statement_is_sent_whole_over_tls_to_a_server_that_reads_late() {
    let (listener, url) = listen().await;
    let acceptor = certificate("loopback").acceptor(&[]).unwrap();
    tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        stream.write_all(&greeting(1, WITH_TLS, "mysql_native_password")).await.unwrap();
        hear(&mut stream).await.unwrap();
        let mut stream = acceptor.accept(stream).await.unwrap();
        hear(&mut stream).await.unwrap();
        stream.write_all(&packet(3, OK)).await.unwrap();
        // The client fills the buffers of both sockets, and TLS's own.
        tokio::time::sleep(Duration::from_millis(500)).await;
        hear(&mut stream).await.unwrap();
        stream.write_all(&packet(1, OK)).await.unwrap();
        // The stream stays open until the client is done.
        hear(&mut stream).await
    });
    let mut connection = Connection::open(&Url { tls: Some(Trust::Anyone), ..url }).await.unwrap();
    let long = "x".repeat(15 << 20);
    tokio::time::timeout(Duration::from_secs(20), connection.run(&long)).await.expect("no answer").unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_given_up_is_ended_by_one_request() {
    let server = Scripted::start(|sql| if sql == "SLOW" { Say::UntilKilled } else { Say::Ok }).await;
    let (mut stream, mut driven) = DrivenSession::open(&server.url).await.unwrap();
    let (mut frame, shapes) = (Frame::default(), Shapes::default());
    let submission = Submission::Run(text("SLOW"));
    driven.submit(7, submission, &mut frame, &shapes).unwrap();
    let sent = stream.write(driven.unsent()).unwrap();
    driven.sent(sent, &mut frame, &shapes);
    assert_eq!((driven.unsent().len(), driven.in_flight(), frame.is_empty()), (0, 1, true));
    driven.ended(7, &Error::Cancelled, &mut frame, &shapes);
    assert_eq!((frame.bytes()[0], frame.bytes()[4], driven.in_flight()), (7, 1, 0));
    assert_eq!(server.settled_kills().await, ["KILL 1"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_cancelled_is_ended_by_one_request_and_its_connection_by_another_if_that_has_no_effect() {
    for (stubborn, expected) in [(false, &["KILL QUERY 1"][..]), (true, &["KILL QUERY 1", "KILL 1"])] {
        let server = Scripted::start(move |sql| match sql {
            "DO SLEEP(99)" if stubborn => Say::UntilKilled,
            "DO SLEEP(99)" => Say::UntilInterrupted,
            _ => Say::Ok,
        });
        let server = server.await;
        let uri = server.url.secret_text();
        let cancel = CancelToken::default();
        let theirs = cancel.clone();
        let ran = tokio::task::spawn_blocking(move || {
            let engine = MysqlEngine::open(&uri).unwrap();
            engine.execute("DO SLEEP(99)", &theirs)
        });
        tokio::time::sleep(Duration::from_millis(500)).await;
        cancel.cancel();
        assert_eq!(ran.await.unwrap().unwrap_err().code(), "BB_ABORTED");
        assert_eq!(server.settled_kills().await, expected);
    }
}
