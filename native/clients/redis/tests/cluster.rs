//! Tests of the client in a private cluster: batches divided among its masters, slots that move, keys that move under load, a
//! master that is lost.

mod common;
#[path = "common/cluster.rs"]
mod servers;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use boundary_bench_kernel::cancel::CancelToken;
use boundary_bench_kernel::needs;
use boundary_bench_redis::{Commands, KvClient, KvOptions, Reply, Server, executable};
use servers::{Cluster, fill, keys, mget, pipeline, run, shown};

/// Checks that each key has itself as its value, by MGET and by a pipeline of GET.
async fn assert_filled(client: &mut KvClient, keys: &[Vec<u8>]) {
    for (key, value) in keys.iter().zip(mget(client, keys).await) {
        assert_eq!(value.unwrap().as_ref(), Some(key));
    }
    let mut commands = Commands::new();
    for key in keys {
        commands.get(key);
    }
    let mut seen = vec![false; keys.len()];
    client
        .execute(&commands, |index, answer| {
            assert_eq!(answer.unwrap(), Reply::Bulk(&keys[index]));
            seen[index] = true;
        })
        .await;
    assert!(seen.into_iter().all(|seen| seen));
}

#[tokio::test(flavor = "multi_thread")]
async fn batches_are_divided_among_the_masters() {
    needs!("redis", executable(None));
    let mut cluster = Cluster::start().await;
    // The client detects the cluster without an option in the URL.
    let mut client = common::client(&cluster.servers.masters()[1].url()).await;
    assert!(client.is_cluster() && !client.is_drivable());
    let keys = keys();
    fill(&mut client, &keys).await;
    for admin in &mut cluster.admins {
        assert_ne!(run(admin, &["DBSIZE"]).await, "0", "a master has no keys");
    }
    assert_filled(&mut client, &keys).await;
    assert_eq!(cluster.errors("MOVED").await, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_moved_slot_is_followed_to_its_new_master() {
    needs!("redis", executable(None));
    let mut cluster = Cluster::start().await;
    let mut client = cluster.client().await;
    let keys = keys();
    fill(&mut client, &keys).await;
    let (slot, from, to) = cluster.place_of("{moved}").await;
    cluster.begin_move(&slot, from, to).await;
    client.set(b"{moved}1", b"asked").await.unwrap();
    assert_eq!(run(&mut cluster.admins[to], &["CLUSTER", "COUNTKEYSINSLOT", &slot]).await, "1");
    assert_eq!((cluster.errors("ASK").await, cluster.errors("MOVED").await), (1, 0));
    cluster.end_move(&slot, from, to).await;
    let moved = client.get(b"{moved}1", |value| value.map(<[u8]>::to_vec)).await.unwrap();
    assert_eq!((moved.as_deref(), cluster.errors("MOVED").await), (Some(b"asked".as_slice()), 1));
    // The client has read the slots again, and is redirected no more.
    assert_filled(&mut client, &keys).await;
    client.set(b"{moved}2", b"known").await.unwrap();
    assert_eq!(cluster.errors("MOVED").await, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cluster_is_found_by_any_server_of_the_url_that_answers() {
    needs!("redis", executable(None));
    let cluster = Cluster::start().await;
    let port_of = |listener: &std::net::TcpListener| listener.local_addr().unwrap().port();
    let listen = || std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    // It takes connections, and says nothing.
    let silent = listen();
    let (silent_port, refusing_port) = (port_of(&silent), port_of(&listen()));
    let port = cluster.servers.masters()[1].port();
    let url = format!("redis://127.0.0.1:{refusing_port},127.0.0.1:{silent_port},127.0.0.1:{port}");
    let mut client = common::client(&url).await;
    client.set(b"a", b"b").await.unwrap();
    let known = client.places().iter().map(ToString::to_string).collect::<Vec<_>>();
    for port in [silent_port, refusing_port].into_iter().chain(cluster.servers.masters().iter().map(Server::port)) {
        assert!(known.contains(&format!("127.0.0.1:{port}")), "{known:?}");
    }
    let url = format!("redis://127.0.0.1:{refusing_port},127.0.0.1:{refusing_port}");
    let error = KvClient::connect(url.parse().unwrap(), KvOptions::default()).await.unwrap_err();
    assert!(error.to_string().contains("can't connect"), "{error}");
}

/// Reads and writes the keys until told to end, by GET and SET of each, and by MGET. GET and SET must always succeed. MGET may be
/// refused while some of its keys are here and some there. Returns the number of rounds and of refusals.
async fn load(mut client: KvClient, keys: Vec<Vec<u8>>, is_over: Arc<AtomicBool>) -> (usize, usize) {
    let (mut rounds, mut refusals) = (0, 0);
    while !is_over.load(Ordering::Relaxed) || rounds == 0 {
        for key in &keys {
            client.set(key, key).await.unwrap();
            assert_eq!(client.get(key, |value| value.map(<[u8]>::to_vec)).await.unwrap().as_ref(), Some(key));
        }
        for (key, value) in keys.iter().zip(mget(&mut client, &keys).await) {
            match value {
                Ok(value) => assert_eq!(value.as_ref(), Some(key)),
                Err(error) => {
                    assert_eq!(error.code(), "BB_ENGINE");
                    assert!(error.to_string().contains("TRYAGAIN"), "{error}");
                    refusals += 1;
                }
            }
        }
        rounds += 1;
    }
    (rounds, refusals)
}

#[tokio::test(flavor = "multi_thread")]
async fn keys_that_move_under_load_are_read_and_written_where_they_are() {
    needs!("redis", executable(None));
    let mut cluster = Cluster::start().await;
    let mut client = cluster.client().await;
    let keys = (0..40).map(|number| format!("{{moved}}{number}").into_bytes()).collect::<Vec<_>>();
    fill(&mut client, &keys).await;
    let is_over = Arc::new(AtomicBool::new(false));
    let running = tokio::spawn(load(cluster.client().await, keys.clone(), Arc::clone(&is_over)));
    let (slot, from, to) = cluster.place_of("{moved}").await;
    cluster.begin_move(&slot, from, to).await;
    let port = cluster.servers.masters()[to].port().to_string();
    for (number, key) in keys.iter().enumerate() {
        let key = std::str::from_utf8(key).unwrap();
        run(&mut cluster.admins[from], &["MIGRATE", "127.0.0.1", &port, key, "0", "10000", "REPLACE"]).await;
        // Half of the keys here, half of them there: the load meets both kinds of redirections.
        while number == keys.len() / 2 && (cluster.errors("ASK").await == 0 || cluster.errors("TRYAGAIN").await == 0) {
            tokio::task::yield_now().await;
        }
    }
    cluster.end_move(&slot, from, to).await;
    while cluster.errors("MOVED").await == 0 {
        tokio::task::yield_now().await;
    }
    is_over.store(true, Ordering::Relaxed);
    let (rounds, refusals) = running.await.unwrap();
    assert!(rounds > refusals / keys.len(), "{refusals} keys were refused in {rounds} rounds");
    assert_filled(&mut client, &keys).await;
    assert_eq!(run(&mut cluster.admins[from], &["CLUSTER", "COUNTKEYSINSLOT", &slot]).await, "0");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lost_master_is_an_error_for_its_keys_alone() {
    needs!("redis", executable(None));
    let cluster = Cluster::start().await;
    let mut client = cluster.client().await;
    let keys = keys();
    fill(&mut client, &keys).await;
    let lost = &cluster.servers.masters()[2];
    lost.stop();
    // That the idle connection is gone is seen before anything is sent.
    for (code, text) in [("BB_CONNECTION", "can't connect"); 2] {
        let values = mget(&mut client, &keys).await;
        let mut gone = 0;
        for (key, value) in keys.iter().zip(values) {
            match value {
                Ok(value) => assert_eq!(value.as_ref(), Some(key)),
                Err(error) => {
                    gone += 1;
                    assert_eq!(error.code(), code, "{error}");
                    let message = error.to_string();
                    assert!(message.contains(text) && message.contains(&lost.port().to_string()), "{message}");
                }
            }
        }
        assert!(gone > keys.len() / 5 && gone < keys.len() / 2, "{gone}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_of_any_master_does_not_need_the_first_one() {
    needs!("redis", executable(None));
    let cluster = Cluster::start().await;
    let mut client = cluster.client().await;
    assert_eq!(pipeline(&mut client, &["PING"]).await, ["PONG"]);
    cluster.servers.masters()[0].stop();
    for _ in 0..2 {
        let answers = pipeline(&mut client, &["PING", "MULTI", "PING", "EXEC", "EVAL return(1) 0"]).await;
        assert_eq!(answers, ["PONG", "OK", "QUEUED", "[PONG]", "1"]);
    }
    assert!(pipeline(&mut client, &["DBSIZE"]).await[0].starts_with("[BB_CONNECTION!]"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_single_server_is_no_cluster() {
    needs!("redis", executable(None));
    let server = boundary_bench_redis::Server::start(None, &CancelToken::default()).unwrap();
    let url = format!("{}?cluster=true", server.url()).parse().unwrap();
    let error = KvClient::connect(url, boundary_bench_redis::KvOptions::default()).await.unwrap_err();
    assert!(error.to_string().contains("is not a server of a cluster"), "{error}");
    assert!(error.to_string().contains("cluster support disabled"), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_transaction_is_executed_by_the_master_of_its_keys() {
    needs!("redis", executable(None));
    let cluster = Cluster::start().await;
    let mut client = cluster.client().await;
    // Tags of slots of all masters.
    for tag in ["a", "b", "c", "d", "e", "f"] {
        let line = |text: &str| text.replace('?', &format!("{{{tag}}}"));
        assert_eq!(pipeline(&mut client, &[&line("SET ?bal 100")]).await, ["OK"]);
        let kept = ["MULTI", &line("SET ?bal 0"), "DISCARD", &line("GET ?bal")];
        assert_eq!(pipeline(&mut client, &kept).await, ["OK", "QUEUED", "OK", "100"]);
        let aborted = ["MULTI", &line("DECRBY ?bal 30"), &line("NOSUCHCMD ?bal"), "EXEC", &line("GET ?bal")];
        let answers = pipeline(&mut client, &aborted).await;
        assert!(answers[3].starts_with("-EXECABORT"), "{answers:?}");
        assert_eq!(answers[4], "100");
        let done = [
            &line("WATCH ?bal"),
            &line("GET ?bal"),
            "GET other",
            "multi",
            &line("DECRBY ?bal 30"),
            "PING",
            &line("INCR ?n"),
            "exec",
        ];
        let answers = pipeline(&mut client, &done).await;
        assert_eq!(answers, ["OK", "100", "nil", "OK", "QUEUED", "QUEUED", "QUEUED", "[70 PONG 1]"]);
        assert_eq!(
            pipeline(&mut client, &[&line("WATCH ?bal"), "UNWATCH", &line("GET ?bal")]).await,
            ["OK", "OK", "70"]
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_transaction_that_a_cluster_can_not_execute_is_refused_before_anything_is_sent() {
    needs!("redis", executable(None));
    let cluster = Cluster::start().await;
    let mut client = cluster.client().await;
    for lines in [
        ["SET sent 1", "MULTI", "SET a 1", "SET b 1", "EXEC"],
        ["SET sent 1", "WATCH a", "MULTI", "SET b 1", "EXEC"],
        ["SET sent 1", "MULTI", "MSET a 1 b 1", "SET a 1", "EXEC"],
        ["SET sent 1", "MULTI", "SET a 1", "FLUSHALL", "EXEC"],
        ["SET sent 1", "GET sent", "GET sent", "MULTI", "SET a 1"],
        ["SET sent 1", "GET sent", "GET sent", "GET sent", "SCAN 0"],
    ] {
        for answer in pipeline(&mut client, &lines).await {
            assert!(answer.starts_with("[BB_UNSUPPORTED] ") && answer.contains("nothing was sent"), "{answer}");
        }
    }
    assert_eq!(pipeline(&mut client, &["GET sent", "GET a", "GET b"]).await, ["nil", "nil", "nil"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_transaction_follows_its_slot_as_a_whole() {
    needs!("redis", executable(None));
    let mut cluster = Cluster::start().await;
    let mut client = cluster.client().await;
    let lines = ["WATCH {moved}a", "MULTI", "SET {moved}a 1", "INCR {moved}a", "EXEC"];
    let (slot, from, to) = cluster.place_of("{moved}").await;
    cluster.begin_move(&slot, from, to).await;
    // The old master sends the client on with an ASK: the key is not there.
    let answers = pipeline(&mut client, &lines).await;
    assert_eq!(answers, ["OK", "OK", "QUEUED", "QUEUED", "[OK 2]"]);
    assert!(cluster.errors("ASK").await > 0);
    assert_eq!(run(&mut cluster.admins[to], &["CLUSTER", "COUNTKEYSINSLOT", &slot]).await, "1");
    cluster.end_move(&slot, from, to).await;
    let answers = pipeline(&mut client, &lines).await;
    assert_eq!(answers, ["OK", "OK", "QUEUED", "QUEUED", "[OK 2]"]);
    assert!(cluster.errors("MOVED").await > 0);
    let answers = pipeline(&mut client, &["MULTI", "SET {moved}a 0", "DISCARD", "GET {moved}a"]).await;
    assert_eq!(answers, ["OK", "QUEUED", "OK", "2"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn commands_that_mean_all_keys_or_servers_go_to_all_masters() {
    needs!("redis", executable(None));
    let mut cluster = Cluster::start().await;
    let mut client = cluster.client().await;
    let keys = keys();
    fill(&mut client, &keys).await;
    let answers = pipeline(&mut client, &["DBSIZE", "KEYS key:1*", "RANDOMKEY", "DEL key:1", "DBSIZE"]).await;
    assert_eq!([&answers[0], &answers[3], &answers[4]], ["1000", "1", "999"]);
    assert_eq!(answers[1].split(' ').count(), 111);
    assert!(answers[2].starts_with("key:"), "{}", answers[2]);
    let mut load = Commands::new();
    load.push([b"SCRIPT".as_slice(), b"LOAD", b"return redis.call('GET', KEYS[1])"].into_iter());
    let mut sha = String::new();
    client.execute(&load, |_, answer| sha = shown(answer.unwrap())).await;
    for key in ["key:2", "key:3", "key:4", "key:5", "key:6"] {
        assert_eq!(pipeline(&mut client, &[&format!("EVALSHA {sha} 1 {key}")]).await, [key]);
    }
    assert_eq!(pipeline(&mut client, &[&format!("SCRIPT EXISTS {sha}")]).await, ["[1]"]);
    run(&mut cluster.admins[1], &["SCRIPT", "FLUSH"]).await;
    assert_eq!(pipeline(&mut client, &[&format!("SCRIPT EXISTS {sha}")]).await, ["[0]"]);
    assert_eq!(pipeline(&mut client, &["CONFIG SET maxmemory-samples 7"]).await, ["OK"]);
    for admin in &mut cluster.admins {
        assert_eq!(pipeline(admin, &["CONFIG GET maxmemory-samples"]).await, ["[maxmemory-samples 7]"]);
    }
    assert_eq!(
        pipeline(&mut client, &["SET a 1", "FLUSHALL", "DBSIZE", "RANDOMKEY", "WAIT 0 1"]).await[1..],
        ["OK", "0", "nil", "0"]
    );
    for admin in &mut cluster.admins {
        assert_eq!(run(admin, &["DBSIZE"]).await, "0");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn keys_that_are_not_the_first_argument_decide_the_master() {
    needs!("redis", executable(None));
    let mut cluster = Cluster::start().await;
    let mut client = cluster.client().await;
    for tag in ["a", "b", "c", "d", "e", "f"] {
        for (line, expected) in [
            ("ZADD ?1 1 x", "1"),
            ("ZUNIONSTORE ?2 1 ?1", "1"),
            ("ZUNION 1 ?1", "[x]"),
            ("ZINTERCARD 2 ?1 ?2", "1"),
            ("BZMPOP 1 1 ?2 MIN", "[?2 [[x 1]]]"),
            ("SET ?s 1", "OK"),
            ("BITOP NOT ?t ?s", "1"),
            ("OBJECT ENCODING ?s", "int"),
            ("XADD ?x 1-1 f v", "1-1"),
            ("XREAD COUNT 1 STREAMS ?x 0", "[[?x [[1-1 [f v]]]]]"),
            ("XINFO GROUPS ?x", "[]"),
            ("EVAL return{KEYS[1]} 1 ?s", "[?s]"),
            ("LMPOP 1 ?l LEFT", "nil"),
            ("SORT ?l STORE ?m", "0"),
            ("MSETNX ?y 1 ?z 2", "1"),
        ] {
            let tagged = |text: &str| text.replace('?', &format!("{{{tag}}}"));
            assert_eq!(pipeline(&mut client, &[&tagged(line)]).await, [tagged(expected)], "{line}");
        }
        let slot = run(&mut cluster.admins[0], &["CLUSTER", "KEYSLOT", tag]).await;
        assert_eq!(pipeline(&mut client, &[&format!("CLUSTER COUNTKEYSINSLOT {slot}")]).await, ["6"]);
    }
    assert_eq!(cluster.errors("MOVED").await, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refused_end_of_a_transaction_ends_its_connection() {
    needs!("redis", executable(None));
    let mut cluster = Cluster::start().await;
    let rule = ["ACL", "SETUSER", "me", "on", ">pw", "~*", "+@all", "-discard"];
    for admin in &mut cluster.admins {
        run(admin, &rule).await;
    }
    let mut client = common::client(&cluster.servers.url().replace("redis://", "redis://me:pw@")).await;
    let mut commands = Commands::new();
    for command in [["MULTI", "", ""], ["SET", "a", "8"], ["DISCARD", "", ""], ["GET", "a", ""]] {
        commands.push(
            command.iter().filter(|word| !word.is_empty()).map(|word| word.as_bytes()).collect::<Vec<_>>().into_iter(),
        );
    }
    let mut errors = vec![String::new(); commands.len()];
    client
        .execute(&commands, |index, answer| {
            let reply = answer.map_err(Clone::clone).and_then(Reply::checked);
            errors[index] = reply.err().map(|error| error.to_string()).unwrap_or_default();
        })
        .await;
    assert!(errors[0].is_empty() && errors[1].is_empty(), "{errors:?}");
    assert!(errors[2].contains("NOPERM") && errors[3].contains("DISCARD"), "{errors:?}");
    assert_eq!(run(&mut client, &["GET", "a"]).await, "Nil");
}

#[tokio::test(flavor = "multi_thread")]
async fn connections_that_were_closed_while_idle_are_opened_anew() {
    needs!("redis", executable(None));
    let mut cluster = Cluster::start().await;
    let mut client = cluster.client().await;
    let keys = keys();
    fill(&mut client, &keys).await;
    for _ in 0..3 {
        for admin in &mut cluster.admins {
            run(admin, &["CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes"]).await;
        }
        assert_filled(&mut client, &keys).await;
    }
}
