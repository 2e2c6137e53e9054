//! Tests of a cluster of three servers: batches divided among them, slots that move, servers that are lost.

mod common;

use std::time::Duration;

use boundary_bench_kernel::cancel::CancelToken;
use boundary_bench_kernel::private_server::free_port;
use boundary_bench_kernel::{Error, needs};
use boundary_bench_redis::{Commands, KvClient, Reply, Server, executable};

const SERVERS: usize = 3;

const SLOTS: usize = 16_384;

/// A server of a cluster, with a client of this server alone.
struct Node {
    server: Server,
    admin: KvClient,
    id: String,
}

async fn run(client: &mut KvClient, command: &[&str]) -> String {
    let arguments = command.iter().map(|argument| argument.as_bytes()).collect::<Vec<_>>();
    let read = |reply: Reply<'_>| match reply {
        Reply::Bulk(text) | Reply::Status(text) => Ok(String::from_utf8_lossy(text).into_owned()),
        other => Ok(format!("{other:?}")),
    };
    client.call(&arguments, read).await.unwrap()
}

/// Starts the servers and gives each its third of the slots.
async fn start() -> Vec<Node> {
    let mut nodes = Vec::new();
    let mut first_ports: Option<(String, String)> = None;
    for number in 0..SERVERS {
        // The default port of the cluster's bus, 10000 above the server's, may exceed the highest port.
        let bus = free_port().unwrap().to_string();
        let settings = ["--cluster-enabled", "yes", "--cluster-port", &bus, "--cluster-require-full-coverage", "no"];
        let server = Server::start_with(None, &settings, &CancelToken::default()).unwrap();
        let mut admin = common::client(&format!("{}?cluster=false", server.url())).await;
        let (first, last) = ((SLOTS * number).div_ceil(SERVERS), (SLOTS * (number + 1)).div_ceil(SERVERS) - 1);
        run(&mut admin, &["CLUSTER", "ADDSLOTSRANGE", &first.to_string(), &last.to_string()]).await;
        run(&mut admin, &["CLUSTER", "SET-CONFIG-EPOCH", &(number + 1).to_string()]).await;
        let id = run(&mut admin, &["CLUSTER", "MYID"]).await;
        if let Some((port, bus)) = &first_ports {
            run(&mut admin, &["CLUSTER", "MEET", "127.0.0.1", port, bus]).await;
        } else {
            first_ports = Some((server.port().to_string(), bus.clone()));
        }
        nodes.push(Node { server, admin, id });
    }
    for node in &mut nodes {
        while !is_whole(&run(&mut node.admin, &["CLUSTER", "INFO"]).await) {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
    nodes
}

/// Whether a server knows servers for all slots.
fn is_whole(info: &str) -> bool {
    info.contains("cluster_state:ok") && info.contains("cluster_slots_ok:16384")
}

fn keys() -> Vec<Vec<u8>> {
    (0..1000).map(|number| format!("key:{number}").into_bytes()).collect()
}

async fn mget(client: &mut KvClient, keys: &[Vec<u8>]) -> Vec<Result<Option<Vec<u8>>, Error>> {
    let mut values = vec![None; keys.len()];
    let take = |index: usize, value: Result<Option<&[u8]>, &Error>| {
        assert!(values[index].is_none(), "answered twice: {index}");
        values[index] = Some(value.map(|value| value.map(<[u8]>::to_vec)).map_err(Clone::clone));
    };
    client.mget(keys.iter().map(Vec::as_slice), take).await;
    values.into_iter().map(|value| value.expect("every key is answered")).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn batches_are_divided_among_the_servers_and_moved_slots_are_followed() {
    needs!("redis", executable(None));
    let mut nodes = start().await;
    // The client detects the cluster without an option in the URL.
    let mut client = common::client(&nodes[0].server.url()).await;
    assert!(client.is_cluster() && !client.is_drivable());
    let keys = keys();
    client.mset(keys.iter().map(|key| (key.as_slice(), key.as_slice()))).await.unwrap();
    for node in &mut nodes {
        let count = run(&mut node.admin, &["DBSIZE"]).await;
        assert!(!count.contains("Int(0)"), "a server has no keys");
    }
    let all_there = async |client: &mut KvClient| {
        for (key, value) in keys.iter().zip(mget(client, &keys).await) {
            assert_eq!(value.unwrap().as_ref(), Some(key));
        }
        let mut commands = Commands::new();
        for key in &keys {
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
    };
    all_there(&mut client).await;

    // While a slot moves, keys missing at the old server are asked for at the new one.
    let slot = run(&mut nodes[0].admin, &["CLUSTER", "KEYSLOT", "{moved}"]).await;
    let slot = slot.trim_start_matches("Int(").trim_end_matches(')').to_owned();
    let from = slot.parse::<usize>().unwrap() * SERVERS / SLOTS;
    let to = (from + 1) % SERVERS;
    let (from_id, to_id) = (nodes[from].id.clone(), nodes[to].id.clone());
    run(&mut nodes[to].admin, &["CLUSTER", "SETSLOT", &slot, "IMPORTING", &from_id]).await;
    run(&mut nodes[from].admin, &["CLUSTER", "SETSLOT", &slot, "MIGRATING", &to_id]).await;
    client.set(b"{moved}1", b"asked").await.unwrap();
    let keyslot = run(&mut nodes[to].admin, &["CLUSTER", "COUNTKEYSINSLOT", &slot]).await;
    assert_eq!(keyslot, "Int(1)");
    // The slot is assigned to the new server.
    for node in [to, from] {
        run(&mut nodes[node].admin, &["CLUSTER", "SETSLOT", &slot, "NODE", &to_id]).await;
    }
    assert_eq!(client.get(b"{moved}1", |value| value.map(<[u8]>::to_vec)).await.unwrap(), Some(b"asked".to_vec()));
    all_there(&mut client).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_goes_away_is_an_error_for_its_keys_alone() {
    needs!("redis", executable(None));
    let nodes = start().await;
    let mut client = common::client(&format!("{}?cluster=true", nodes[0].server.url())).await;
    let keys = keys();
    client.mset(keys.iter().map(|key| (key.as_slice(), key.as_slice()))).await.unwrap();
    nodes[2].server.stop();
    let values = mget(&mut client, &keys).await;
    let (there, gone): (Vec<_>, Vec<_>) = values.iter().partition(|value| value.is_ok());
    assert!(!there.is_empty() && !gone.is_empty());
    for (key, value) in keys.iter().zip(&values) {
        match value {
            Ok(value) => assert_eq!(value.as_ref(), Some(key)),
            Err(error) => assert!(["BB_CONNECTION", "BB_ENGINE"].contains(&error.code()), "{error}"),
        }
    }
}
