//! Tests of the client against real servers: values of any bytes, batches, logins, and lost servers and connections.

mod common;

use std::io::{Read, Write};
use std::net::TcpListener;
use std::time::Duration;

use boundary_bench_kernel::cancel::CancelToken;
use boundary_bench_kernel::{Error, needs};
use boundary_bench_redis::{Commands, KvClient, KvOptions, Reply, Server, executable};
use common::client;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use tokio::runtime::Runtime;

/// A private server for one test.
fn server() -> Server {
    Server::start(None, &CancelToken::default()).unwrap()
}

fn runtime() -> Runtime {
    tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap()
}

/// The values of keys, copied.
async fn mget(client: &mut KvClient, keys: &[&[u8]]) -> Vec<Result<Option<Vec<u8>>, Error>> {
    let mut values = vec![None; keys.len()];
    client
        .mget(keys.iter().copied(), |index, value| {
            assert!(values[index].is_none(), "answered twice: {index}");
            values[index] = Some(value.map(|value| value.map(<[u8]>::to_vec)).map_err(Clone::clone));
        })
        .await;
    values.into_iter().map(|value| value.expect("every key is answered")).collect()
}

/// The replies to a pipeline's commands, as text.
async fn pipeline(client: &mut KvClient, commands: &[&[&str]]) -> Vec<Result<String, Error>> {
    let mut batch = Commands::new();
    for command in commands {
        batch.push(command.iter().map(|argument| argument.as_bytes()));
    }
    let mut answers = Vec::new();
    client
        .execute(&batch, |index, answer| {
            assert_eq!(index, answers.len());
            let text = |reply: Reply<'_>| match reply {
                Reply::Bulk(text) | Reply::Status(text) => Ok(String::from_utf8_lossy(text).into_owned()),
                Reply::Int(number) => Ok(number.to_string()),
                other => other.checked().map(|reply| format!("{reply:?}")),
            };
            answers.push(answer.map_err(Clone::clone).and_then(text));
        })
        .await;
    answers
}

async fn run(client: &mut KvClient, command: &[&str]) -> Result<String, Error> {
    pipeline(client, &[command]).await.remove(0)
}

#[test]
fn keys_and_values_of_any_bytes_come_back() {
    needs!("redis", executable(None));
    let server = server();
    let runtime = runtime();
    for url in [server.url(), server.unix_url()] {
        let client = std::cell::RefCell::new(runtime.block_on(client(&url)));
        let bytes = proptest::collection::vec(any::<u8>(), 0..300);
        let entries = proptest::collection::btree_map(bytes.clone(), bytes, 1..30);
        TestRunner::new(Config { cases: 60, failure_persistence: None, ..Config::default() })
            .run(&entries, |entries| {
                let mut client = client.borrow_mut();
                runtime.block_on(async {
                    let pairs = entries.iter().map(|(key, value)| (key.as_slice(), value.as_slice()));
                    client.mset(pairs).await.unwrap();
                    let keys = entries.keys().map(Vec::as_slice).collect::<Vec<_>>();
                    for (read, value) in mget(&mut client, &keys).await.into_iter().zip(entries.values()) {
                        assert_eq!(read.unwrap().as_ref(), Some(value));
                    }
                    let (key, value) = entries.first_key_value().unwrap();
                    client.set(key, b"other").await.unwrap();
                    let read = client.get(key, |value| value.map(<[u8]>::to_vec)).await.unwrap();
                    assert_eq!(read.as_deref(), Some(b"other".as_slice()));
                    client.set(key, value).await.unwrap();
                    let read = client.get(key, |value| value.map(<[u8]>::to_vec)).await.unwrap();
                    assert_eq!(read.as_ref(), Some(value));
                });
                Ok(())
            })
            .unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn batches_beyond_the_limits_are_divided_and_keep_their_order() {
    needs!("redis", executable(None));
    let server = server();
    let mut client = client(&server.url()).await;
    let keys = (0..10_000).map(|number| format!("k{number}").into_bytes()).collect::<Vec<_>>();
    client.mset(keys.iter().map(|key| (key.as_slice(), key.as_slice()))).await.unwrap();
    let mut asked = keys.iter().rev().map(Vec::as_slice).collect::<Vec<_>>();
    asked.insert(5000, b"missing");
    let values = mget(&mut client, &asked).await;
    for (key, value) in asked.iter().zip(values) {
        let value = value.unwrap();
        assert_eq!(value.as_deref(), (*key != b"missing").then_some(*key));
    }
    // The values are larger than the limit of one command, with a small one between them.
    let big = vec![b'x'; 5 << 20];
    client.mset([(b"a".as_slice(), big.as_slice()), (b"b", b"1"), (b"c", &big)].into_iter()).await.unwrap();
    let values = mget(&mut client, &[b"c", b"b", b"a"]).await;
    let lengths = values.into_iter().map(|value| value.unwrap().unwrap().len()).collect::<Vec<_>>();
    assert_eq!(lengths, [5 << 20, 1, 5 << 20]);
    // The data exceeds what the sockets buffer in both directions.
    let mut commands = Commands::new();
    (0..20).for_each(|_| commands.push([b"ECHO".as_slice(), &big].into_iter()));
    let mut bytes = 0;
    client.execute(&commands, |_, answer| bytes += answer.unwrap().value().unwrap().map_or(0, <[u8]>::len)).await;
    assert_eq!(bytes, 100 << 20);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_error_in_a_pipeline_is_that_of_its_command_alone() {
    needs!("redis", executable(None));
    let server = server();
    let mut client = client(&server.url()).await;
    let answers = pipeline(
        &mut client,
        &[
            &["SET", "text", "1"],
            &["LPUSH", "list", "a"],
            &["GET", "list"],
            &["INCR", "text"],
            &["NOSUCHCOMMAND"],
            &["GET", "text"],
        ],
    )
    .await;
    assert_eq!(
        [&answers[0], &answers[1], &answers[3], &answers[5]].map(|answer| answer.as_deref().unwrap()),
        ["OK", "1", "2", "2"]
    );
    assert!(answers[2].as_ref().unwrap_err().to_string().contains("WRONGTYPE"));
    assert!(answers[4].as_ref().unwrap_err().to_string().contains("unknown command"));
    // MGET treats a list as a missing value, without an error.
    let values = mget(&mut client, &[b"text", b"list"]).await;
    assert_eq!((values[0].as_ref().unwrap().as_deref(), values[1].as_ref().unwrap()), (Some(b"2".as_slice()), &None));
}

#[tokio::test(flavor = "multi_thread")]
async fn logins_work_and_refused_ones_say_so_without_the_password() {
    needs!("redis", executable(None));
    let server = Server::start_with(None, &["--requirepass", "geheim"], &CancelToken::default()).unwrap();
    let address = server.url().replace("redis://", "");
    let connect = |url: String| KvClient::connect(url.parse().unwrap(), KvOptions::default());
    for url in
        [format!("redis://{address}"), format!("redis://:falsch@{address}"), format!("redis://me:geheim@{address}")]
    {
        let error = connect(url).await.unwrap_err();
        assert_eq!(error.code(), "BB_CONNECTION", "{error}");
        let text = error.to_string();
        assert!(
            text.contains("refuses the connection") && !text.contains("falsch") && !text.contains("geheim"),
            "{text}"
        );
    }
    let mut admin = connect(format!("redis://:geheim@{address}")).await.unwrap();
    run(&mut admin, &["ACL", "SETUSER", "me", "on", ">p@ss:wort", "~mine:*", "+@all"]).await.unwrap();
    let mut me = connect(format!("redis://me:p%40ss%3Awort@{address}/3")).await.unwrap();
    me.set(b"mine:1", b"x").await.unwrap();
    assert!(me.set(b"other", b"x").await.unwrap_err().to_string().contains("NOPERM"));
    run(&mut admin, &["SELECT", "3"]).await.unwrap();
    assert_eq!(run(&mut admin, &["GET", "mine:1"]).await.unwrap(), "x");
    let socket = server.unix_url();
    let mut local = connect(format!("{socket}?password=geheim&db=3")).await.unwrap();
    assert_eq!(run(&mut local, &["GET", "mine:1"]).await.unwrap(), "x");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cut_connection_is_an_error_for_what_was_in_flight_and_the_next_call_connects_anew() {
    needs!("redis", executable(None));
    let server = server();
    let mut admin = client(&server.url()).await;
    let mut client = client(&server.url()).await;
    let waiting = tokio::spawn(async move {
        let answers = pipeline(&mut client, &[&["SET", "a", "1"], &["BLPOP", "none", "0"], &["INCR", "a"]]).await;
        (client, answers)
    });
    while !run(&mut admin, &["CLIENT", "LIST"]).await.unwrap().contains("cmd=blpop") {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    run(&mut admin, &["CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes"]).await.unwrap();
    let (mut client, answers) = waiting.await.unwrap();
    assert_eq!(answers[0].as_deref().unwrap(), "OK");
    for answer in &answers[1..] {
        assert_eq!(answer.as_ref().unwrap_err().code(), "BB_CONNECTION");
    }
    // The command was not sent again.
    assert_eq!(run(&mut client, &["GET", "a"]).await.unwrap(), "1");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_killed_in_a_batch_is_an_error_and_no_hang() {
    needs!("redis", executable(None));
    let server = server();
    let mut client = client(&server.url()).await;
    let waiting = tokio::spawn(async move {
        let answers = pipeline(&mut client, &[&["PING"], &["BLPOP", "none", "0"]]).await;
        (client, answers)
    });
    let mut admin = common::client(&server.url()).await;
    while !run(&mut admin, &["CLIENT", "LIST"]).await.unwrap().contains("cmd=blpop") {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    server.stop();
    let (mut client, answers) = waiting.await.unwrap();
    assert_eq!(answers[0].as_deref().unwrap(), "PONG");
    assert_eq!(answers[1].as_ref().unwrap_err().code(), "BB_CONNECTION");
    let again = client.set(b"a", b"b").await;
    assert!(again.unwrap_err().to_string().contains("can't connect"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_full_server_refuses_writes_and_says_which() {
    needs!("redis", executable(None));
    let settings = ["--maxmemory", "3mb", "--maxmemory-policy", "noeviction"];
    let server = Server::start_with(None, &settings, &CancelToken::default()).unwrap();
    let mut client = client(&server.url()).await;
    let value = vec![b'x'; 300_000];
    let keys = (0..40).map(|number| format!("k{number}").into_bytes()).collect::<Vec<_>>();
    let error = client.mset(keys.iter().map(|key| (key.as_slice(), value.as_slice()))).await.unwrap_err();
    let text = error.to_string();
    assert!(error.code() == "BB_ENGINE" && text.contains("OOM") && text.contains("entry "), "{text}");
    assert_eq!(mget(&mut client, &[b"k0"]).await[0].as_ref().unwrap().as_ref().map(Vec::len), Some(300_000));
}

#[tokio::test(flavor = "multi_thread")]
async fn calls_end_in_time_and_can_be_dropped() {
    needs!("redis", executable(None));
    let server = server();
    let mut admin = client(&server.url()).await;
    let options = KvOptions { timeout: Some(Duration::from_secs(1)) };
    let mut hasty = KvClient::connect(server.url().parse().unwrap(), options).await.unwrap();
    run(&mut admin, &["CLIENT", "PAUSE", "60000", "WRITE"]).await.unwrap();
    assert_eq!(hasty.set(b"a", b"1").await.unwrap_err().code(), "BB_TIMEOUT");
    run(&mut admin, &["CLIENT", "UNPAUSE"]).await.unwrap();
    hasty.set(b"b", b"1").await.unwrap();

    let mut client = client(&server.url()).await;
    let dropped = tokio::time::timeout(Duration::from_millis(50), run(&mut client, &["BLPOP", "none", "0"])).await;
    assert!(dropped.is_err());
    // The command goes over a new connection, since the old one's reply is still outstanding.
    assert_eq!(run(&mut client, &["GET", "b"]).await.unwrap(), "1");
}

#[tokio::test]
async fn what_is_no_redis_server_is_told_so() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        assert!(stream.read(&mut [0; 100]).unwrap() > 0);
        stream.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n").unwrap();
    });
    let url = format!("redis://{address}").parse().unwrap();
    let error = KvClient::connect(url, KvOptions::default()).await.unwrap_err();
    assert!(error.to_string().contains("does not speak the Redis protocol"), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_master_that_became_a_replica_is_left_for_a_new_connection() {
    needs!("redis", executable(None));
    let (old, new) = (server(), server());
    let mut admin = common::client(&old.url()).await;
    let mut client = common::client(&old.url()).await;
    let before = run(&mut client, &["CLIENT", "ID"]).await.unwrap();
    run(&mut client, &["SET", "a", "1"]).await.unwrap();
    assert_eq!(run(&mut client, &["CLIENT", "ID"]).await.unwrap(), before);
    run(&mut admin, &["REPLICAOF", "127.0.0.1", &new.port().to_string()]).await.unwrap();
    let error = client.set(b"a", b"2").await.unwrap_err();
    assert!(error.to_string().contains("READONLY"), "{error}");
    run(&mut admin, &["REPLICAOF", "NO", "ONE"]).await.unwrap();
    assert_ne!(run(&mut client, &["CLIENT", "ID"]).await.unwrap(), before);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refused_end_of_a_transaction_ends_its_connection() {
    needs!("redis", executable(None));
    let server = server();
    let mut admin = client(&server.url()).await;
    run(&mut admin, &["ACL", "SETUSER", "me", "on", ">pw", "~*", "+@all", "-discard", "-unwatch", "-ping"])
        .await
        .unwrap();
    let url = server.url().replace("redis://", "redis://me:pw@");
    let mut client = client(&url).await;
    let replies = pipeline(&mut client, &[&["MULTI"], &["SET", "a", "8"], &["DISCARD"], &["GET", "a"]]).await;
    assert!(replies[2].as_ref().unwrap_err().to_string().contains("NOPERM"), "{replies:?}");
    assert_eq!(replies[3].as_ref().unwrap_err().code(), "BB_CONNECTION");
    assert_eq!(run(&mut client, &["SET", "b", "1"]).await.unwrap(), "OK");
    assert!(pipeline(&mut client, &[&["WATCH", "a"], &["UNWATCH"]]).await[1].is_err());
    run(&mut admin, &["SET", "a", "2"]).await.unwrap();
    let replies = pipeline(&mut client, &[&["MULTI"], &["SET", "b", "2"], &["EXEC"]]).await;
    assert!(replies.iter().all(Result::is_ok), "{replies:?}");
    assert_eq!(run(&mut admin, &["GET", "b"]).await.unwrap(), "2");
}
