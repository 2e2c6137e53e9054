//! Tests of the client in a private cluster with faults: masters that hang, calls that are given up, pipelines while a slot moves, scripts
//! whose errors look like a server's.

mod common;
#[path = "common/cluster.rs"]
mod servers;

use std::future::poll_fn;
use std::process::Command;
use std::time::Duration;

use boundary_bench_kernel::{Error, needs};
use boundary_bench_redis::{ClusterCalls, KvClient, KvOptions, Reply, Server, SharedKvClient, executable};
use servers::{Cluster, fill, keys, mget, pipeline, run};

/// A time in which a server that does not hang answers.
const AMPLE: Duration = Duration::from_secs(3);

/// Halts a server's process, or lets it go on.
fn signal(server: &Server, name: &str) {
    assert!(Command::new("kill").args([name, &server.process_id().to_string()]).status().unwrap().success());
}

/// A key of each master, in the order of the masters.
async fn key_of_each(cluster: &mut Cluster) -> Vec<String> {
    let mut found = vec![String::new(); 3];
    for number in 0.. {
        let key = format!("key:{number}");
        let (_, master, _) = cluster.place_of(&key).await;
        found[master] = key;
        if found.iter().all(|key| !key.is_empty()) {
            break;
        }
    }
    found
}

/// A request of a submission. Without `counts` it reads one key.
fn request(id: u32, counts: &[usize], arguments: &[&str]) -> Vec<u8> {
    let word = |number: usize| u32::try_from(number).unwrap();
    let kind = if counts.is_empty() { 0 } else { 4 };
    let mut words = vec![0, id, kind, word(counts.len()), word(arguments.len())];
    words.extend(counts.iter().map(|count| word(*count)));
    words.extend(arguments.iter().map(|argument| word(argument.len())));
    let mut bytes = words.iter().flat_map(|word| word.to_ne_bytes()).collect::<Vec<_>>();
    bytes.extend(arguments.concat().into_bytes());
    bytes.resize(bytes.len().next_multiple_of(4), 0);
    bytes
}

/// The next results: the id of each, and its texts.
async fn results(calls: &ClusterCalls, number: usize) -> Vec<(u32, String)> {
    let mut found = Vec::new();
    while found.len() < number {
        tokio::time::timeout(10 * AMPLE, poll_fn(|context| calls.poll_results(context))).await.unwrap();
        let frame = calls.take_results();
        let mut rest = frame.as_slice();
        while !rest.is_empty() {
            let word = |at: usize| u32::from_ne_bytes(rest[at * 4..][..4].try_into().unwrap()) as usize;
            let start = 20 + word(2) * 4 + word(2).next_multiple_of(4);
            found.push((
                u32::try_from(word(0)).unwrap(),
                String::from_utf8_lossy(&rest[start..][..word(3)]).into_owned(),
            ));
            rest = &rest[start + word(3).next_multiple_of(4)..];
        }
    }
    found
}

fn ids(results: &[(u32, String)]) -> Vec<u32> {
    results.iter().map(|(id, _)| *id).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_master_that_hangs_holds_up_the_calls_to_itself_alone() {
    needs!("redis", executable(None));
    let mut cluster = Cluster::start().await;
    let mut client = cluster.client().await;
    let keys = key_of_each(&mut cluster).await;
    let [hung, second, third] = [0, 1, 2].map(|master| keys[master].as_str());
    fill(&mut client, &keys.iter().map(|key| key.clone().into_bytes()).collect::<Vec<_>>()).await;
    let calls = ClusterCalls::new(&client).unwrap();
    signal(&cluster.servers.masters()[0], "-STOP");
    let both = ["GET", second, "GET", third];
    let all = ["GET", hung, "GET", second, "GET", third];
    let first = [
        request(1, &[], &[hung]),
        request(2, &[], &[second]),
        request(3, &[2, 2], &both),
        request(4, &[2, 2, 2], &all),
        request(5, &[], &[third]),
    ];
    calls.submit(&first.concat()).unwrap();
    let mut answered = results(&calls, 3).await;
    answered.sort();
    let expected = [(2, second.to_owned()), (3, format!("{second}{third}")), (5, third.to_owned())];
    assert_eq!(answered, expected);
    for id in 10..30 {
        calls.submit(&request(id, &[], &[second])).unwrap();
        assert_eq!(results(&calls, 1).await, [(id, second.to_owned())]);
    }
    for id in [1, 4] {
        calls.give_up(id);
        let given_up = results(&calls, 1).await;
        assert!(given_up[0].0 == id && given_up[0].1.starts_with("[BB_ABORTED]"), "{given_up:?}");
    }
    // Nothing is known of the master that hangs, but the others still answer.
    calls.submit(&[request(6, &[], &[hung]), request(7, &[], &[third])].concat()).unwrap();
    assert_eq!(results(&calls, 1).await, [(7, third.to_owned())]);
    calls.give_up(6);
    assert_eq!(ids(&results(&calls, 1).await), [6]);
    signal(&cluster.servers.masters()[0], "-CONT");
    calls.submit(&request(8, &[2, 2, 2], &all)).unwrap();
    assert_eq!(results(&calls, 1).await, [(8, keys.concat())]);
    calls.submit(&request(9, &[3], &["BLPOP", "none", "0"])).unwrap();
    calls.close();
    let closed = results(&calls, 1).await;
    assert!(closed[0].0 == 9 && closed[0].1.starts_with("[BB_CLOSED]"), "{closed:?}");
    assert_eq!(calls.submit(&request(10, &[], &[third])).unwrap_err().code(), "BB_CLOSED");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_that_is_given_up_leaves_the_others_on_its_connection() {
    needs!("redis", executable(None));
    let mut cluster = Cluster::start().await;
    let mut client = cluster.client().await;
    client.set(b"{a}key", b"value").await.unwrap();
    let calls = ClusterCalls::new(&client).unwrap();
    // The server executes the second call once the first one has ended.
    calls.submit(&request(1, &[3], &["BLPOP", "{a}list", "0"])).unwrap();
    calls.submit(&request(2, &[], &["{a}key"])).unwrap();
    let (_, master, _) = cluster.place_of("{a}").await;
    let blocked = || async {
        let _ = tokio::time::timeout(Duration::from_millis(1), poll_fn(|context| calls.poll_results(context))).await;
    };
    blocked().await;
    while !run(&mut cluster.admins[master], &["INFO", "clients"]).await.contains("blocked_clients:1") {
        blocked().await;
    }
    calls.give_up(1);
    calls.submit(&request(3, &[], &["{a}key"])).unwrap();
    assert_eq!(ids(&results(&calls, 2).await), [1, 3]);
    run(&mut cluster.admins[master], &["LPUSH", "{a}list", "x"]).await;
    assert_eq!(results(&calls, 1).await, [(2, "value".to_owned())]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_time_out_keeps_the_answers_of_the_masters_that_do_not_hang() {
    needs!("redis", executable(None));
    let mut cluster = Cluster::start().await;
    let options = KvOptions { timeout: Some(AMPLE) };
    let mut client = KvClient::connect(cluster.servers.url().parse().unwrap(), options).await.unwrap();
    let keys = keys();
    fill(&mut client, &keys).await;
    let of_each = key_of_each(&mut cluster).await;
    // A slot that moves between the two masters that do not hang.
    let mut tag = String::from("moved");
    let slot = loop {
        match cluster.place_of(&tag).await {
            (slot, 1, 2) => break slot,
            _ => tag.push('x'),
        }
    };
    signal(&cluster.servers.masters()[0], "-STOP");
    let values = mget(&mut client, &keys).await;
    let missing = values.iter().filter_map(|value| value.as_ref().err()).map(Error::code).collect::<Vec<_>>();
    assert!(missing.len() > keys.len() / 5 && missing.len() < keys.len() / 2, "{}", missing.len());
    assert!(missing.iter().all(|code| *code == "BB_TIMEOUT"), "{missing:?}");
    // The map must be read again, and the first server that the client has heard of is the one that hangs.
    cluster.begin_move(&slot, 1, 2).await;
    cluster.end_move(&slot, 1, 2).await;
    client.set(tag.as_bytes(), b"there").await.unwrap();
    for key in &of_each[1..] {
        assert_eq!(run(&mut client, &["GET", key]).await, *key);
    }
    signal(&cluster.servers.masters()[0], "-CONT");
    for (key, value) in keys.iter().zip(mget(&mut client, &keys).await) {
        assert_eq!(value.unwrap().as_ref(), Some(key));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn callers_of_one_client_wait_for_the_masters_of_their_own_keys() {
    needs!("redis", executable(None));
    let mut cluster = Cluster::start().await;
    let keys = key_of_each(&mut cluster).await;
    let mut shared =
        SharedKvClient::connect(cluster.servers.url().parse().unwrap(), KvOptions::default()).await.unwrap();
    for key in &keys {
        shared.set(key.as_bytes(), b"x").await.unwrap();
    }
    signal(&cluster.servers.masters()[0], "-STOP");
    let (mut other, key) = (shared.clone(), keys[0].clone());
    let stuck = tokio::spawn(async move { other.get(key.as_bytes(), |value| value.is_some()).await });
    for _ in 0..20 {
        for key in &keys[1..] {
            let found = tokio::time::timeout(10 * AMPLE, shared.get(key.as_bytes(), |value| value.is_some())).await;
            assert!(found.unwrap().unwrap());
        }
    }
    signal(&cluster.servers.masters()[0], "-CONT");
    assert!(stuck.await.unwrap().unwrap());
}

/// Moves a key between masters.
async fn migrate(cluster: &mut Cluster, key: &str, from: usize, to: usize) {
    let port = cluster.servers.masters()[to].port().to_string();
    run(&mut cluster.admins[from], &["MIGRATE", "127.0.0.1", &port, key, "0", "10000"]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_is_not_sent_again_behind_a_later_one_with_its_key() {
    needs!("redis", executable(None));
    let mut cluster = Cluster::start().await;
    let mut client = cluster.client().await;
    assert_eq!(pipeline(&mut client, &["MSET {t}a 0 {t}b 0"]).await, ["OK"]);
    let (slot, from, to) = cluster.place_of("{t}").await;
    cluster.begin_move(&slot, from, to).await;
    migrate(&mut cluster, "{t}b", from, to).await;
    // The first command is refused, since {t}b is elsewhere. The second one is executed.
    let lines = ["MSET {t}a first {t}b first", "SET {t}a LAST", "GET {t}a"];
    let answers = pipeline(&mut client, &lines).await;
    assert!(answers[0].starts_with("-TRYAGAIN"), "{answers:?}");
    assert_eq!(answers[1..], ["OK", "LAST"]);
    // Commands with the other key are sent to where it is.
    let answers = pipeline(&mut client, &["MGET {t}a {t}b", "SET {t}b LAST", "GET {t}b", "GET {t}a"]).await;
    assert!(answers[0].starts_with("-TRYAGAIN"), "{answers:?}");
    assert_eq!(answers[1..], ["OK", "LAST", "LAST"]);
    // The later commands are refused by another error than the first one. They wait for it.
    let refused = cluster.errors("TRYAGAIN").await;
    let waiting = tokio::spawn(async move {
        (pipeline(&mut client, &["MSET {t}b 1 {t}a 1", "APPEND {t}b 2", "GET {t}b"]).await, client)
    });
    while cluster.errors("TRYAGAIN").await == refused {
        tokio::task::yield_now().await;
    }
    migrate(&mut cluster, "{t}a", from, to).await;
    cluster.end_move(&slot, from, to).await;
    let (answers, mut client) = waiting.await.unwrap();
    assert_eq!(answers, ["OK", "2", "12"]);
    assert_eq!(pipeline(&mut client, &["GET {t}a", "GET {t}b"]).await, ["1", "12"]);
}

async fn outcome(client: &mut KvClient, words: &[&str]) -> String {
    let words = words.iter().map(|word| word.as_bytes()).collect::<Vec<_>>();
    let read = |reply: Reply<'_>| Ok(format!("{reply:?}"));
    client.call(&words, read).await.unwrap_or_else(|error| error.to_string())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_script_that_may_have_written_is_executed_once_whatever_it_answers() {
    needs!("redis", executable(None));
    let mut cluster = Cluster::start().await;
    let mut client = cluster.client().await;
    let script = "redis.call('INCR', KEYS[1]) return redis.error_reply(ARGV[1])";
    let library = format!(
        "#!lua name=lib\nredis.register_function('f', function(KEYS, ARGV) {script} end)\n\
         redis.register_function{{function_name = 'r', callback = function(KEYS, ARGV) return redis.error_reply(ARGV[1]) end, \
         flags = {{'no-writes'}}}}"
    );
    let sha = {
        let mut sha = String::new();
        let read = |reply: Reply<'_>| {
            sha = String::from_utf8(reply.value()?.unwrap_or_default().to_vec()).unwrap();
            Ok(())
        };
        client.call(&[b"SCRIPT", b"LOAD", script.as_bytes()], read).await.unwrap();
        sha
    };
    assert!(outcome(&mut client, &["FUNCTION", "LOAD", &library]).await.starts_with("Bulk"));
    let (slot, from, to) = cluster.place_of("{s}").await;
    let port = cluster.servers.masters()[to].port();
    let errors = [
        "READONLY You can't write against a read only replica.".to_owned(),
        "LOADING Redis is loading the dataset in memory".to_owned(),
        "MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'.".to_owned(),
        "TRYAGAIN Multiple keys request during rehashing of slot".to_owned(),
        "CLUSTERDOWN Hash slot not served".to_owned(),
        format!("MOVED {slot} 127.0.0.1:{port}"),
        format!("ASK {slot} 127.0.0.1:{port}"),
        "NOSCRIPT No matching script.".to_owned(),
    ];
    for (number, error) in errors.iter().enumerate() {
        for (kind, command) in [["EVAL", script], ["evalsha", &sha], ["FCALL", "f"]].into_iter().enumerate() {
            let key = format!("{{s}}{number}:{kind}");
            let answer = outcome(&mut client, &[command[0], command[1], "1", &key, error]).await;
            assert!(answer.contains(error.as_str()), "{command:?}: {answer}");
            assert_eq!(run(&mut client, &["GET", &key]).await, "1", "{command:?} {error}");
        }
    }
    // The script's word that the slot has moved changes nothing for others.
    assert_eq!(cluster.errors("MOVED").await + cluster.errors("ASK").await, 6);
    cluster.begin_move(&slot, from, to).await;
    for number in 0..errors.len() {
        for kind in 0..3 {
            migrate(&mut cluster, &format!("{{s}}{number}:{kind}"), from, to).await;
        }
    }
    cluster.end_move(&slot, from, to).await;
    // Of a script alone, the caller gets even the server's own redirection. The next call goes to the right server.
    let key = "{s}0:0";
    let moved = outcome(&mut client, &["EVAL", script, "1", key, "ERR x"]).await;
    assert!(moved.contains("MOVED"), "{moved}");
    assert!(outcome(&mut client, &["EVAL", script, "1", key, "ERR x"]).await.contains("ERR x"));
    assert_eq!(run(&mut client, &["GET", key]).await, "2");
    // In a transaction, and for scripts that can't write, a redirection is followed.
    let (mut in_transaction, mut reading) =
        (common::client(&cluster.servers.masters()[from].url()).await, cluster.client().await);
    cluster.begin_move(&slot, to, from).await;
    let lines = ["MULTI", "EVAL return(redis.call('INCR',KEYS[1])) 1 {s}new", "EXEC"];
    assert_eq!(pipeline(&mut in_transaction, &lines).await, ["OK", "QUEUED", "[1]"]);
    let lines = ["EVAL_RO return(redis.call('GET',KEYS[1])) 1 {s}new", "FCALL_RO r 1 {s}new ERR"];
    let answers = pipeline(&mut reading, &lines).await;
    assert!(answers[0] == "1" && answers[1].starts_with("-ERR"), "{answers:?}");
    assert!(outcome(&mut reading, &["EVAL", script, "1", "{s}new", "x"]).await.contains("ASK"));
    assert_eq!(run(&mut reading, &["GET", "{s}new"]).await, "1");
}
