//! Tests of the client that many callers share, against a real server.

mod common;

use boundary_bench_kernel::cancel::CancelToken;
use boundary_bench_kernel::needs;
use boundary_bench_redis::{KvClient, KvOptions, Reply, Server, SharedKvClient, executable};
use common::client;

const CALLERS: u32 = 32;

async fn shared(url: &str) -> SharedKvClient {
    SharedKvClient::connect(url.parse().unwrap(), KvOptions::default()).await.unwrap()
}

async fn get(client: &mut SharedKvClient, key: &str) -> Result<Option<String>, String> {
    let value = client.get(key.as_bytes(), |value| value.map(|value| String::from_utf8(value.to_vec()).unwrap())).await;
    value.map_err(|error| error.code().to_owned())
}

/// A figure of the server's INFO.
async fn figure(admin: &mut KvClient, name: &str) -> u64 {
    let read = |reply: Reply<'_>| Ok(String::from_utf8(reply.value()?.unwrap_or_default().to_vec()).unwrap());
    let text = admin.call(&[b"INFO", b"all"], read).await.unwrap();
    let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':')).unwrap();
    line.parse().unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_caller_gets_its_own_answers_and_commands_go_together() {
    needs!("redis", executable(None));
    let server = Server::start(None, &CancelToken::default()).unwrap();
    let (mut admin, first) = (client(&server.url()).await, shared(&server.url()).await);
    let before =
        [figure(&mut admin, "total_commands_processed").await, figure(&mut admin, "total_reads_processed").await];
    let callers = (0..CALLERS).map(|caller| {
        let mut client = first.clone();
        tokio::spawn(async move {
            for round in 0..200 {
                let key = format!("{caller}:{round}");
                assert_eq!(get(&mut client, &key).await, Ok(None));
                let value = key.repeat(1 + round % 7);
                client.set(key.as_bytes(), value.as_bytes()).await.unwrap();
                assert_eq!(get(&mut client, &key).await, Ok(Some(value)));
            }
        })
    });
    for caller in callers.collect::<Vec<_>>() {
        caller.await.unwrap();
    }
    let after =
        [figure(&mut admin, "total_commands_processed").await, figure(&mut admin, "total_reads_processed").await];
    let [commands, reads] = [after[0] - before[0], after[1] - before[1]];
    assert!(commands >= u64::from(CALLERS) * 600, "{commands} commands");
    assert!(reads < commands / 2, "{reads} reads of {commands} commands");
}

#[tokio::test]
async fn an_error_of_one_command_is_its_callers_alone() {
    needs!("redis", executable(None));
    let server = Server::start(None, &CancelToken::default()).unwrap();
    let mut admin = client(&server.url()).await;
    admin.call(&[b"LPUSH", b"list", b"x"], |_| Ok(())).await.unwrap();
    let mut wrong = shared(&server.url()).await;
    let mut right = wrong.clone();
    let (refused, set) = tokio::join!(get(&mut wrong, "list"), right.set(b"a", b"b"));
    assert_eq!(refused, Err("BB_ENGINE".to_owned()));
    set.unwrap();
    assert_eq!(get(&mut wrong, "a").await, Ok(Some("b".to_owned())));
}

#[tokio::test]
async fn an_answer_that_nobody_waits_for_is_not_the_next_calls() {
    needs!("redis", executable(None));
    let server = Server::start(None, &CancelToken::default()).unwrap();
    let mut client = shared(&server.url()).await;
    client.set(b"first", b"1").await.unwrap();
    client.set(b"second", b"2").await.unwrap();
    tokio::select! {
        biased;
        answer = get(&mut client, "first") => panic!("it was not dropped: {answer:?}"),
        () = std::future::ready(()) => {}
    }
    assert_eq!(get(&mut client, "second").await, Ok(Some("2".to_owned())));
}

#[tokio::test]
async fn a_lost_server_fails_the_calls_and_a_new_one_is_reached() {
    needs!("redis", executable(None));
    let server = Server::start(None, &CancelToken::default()).unwrap();
    let mut client = shared(&server.url()).await;
    server.stop();
    // It connects again for each pipeline.
    for _ in 0..2 {
        assert_eq!(get(&mut client, "a").await, Err("BB_CONNECTION".to_owned()));
    }
}
