//! Tests of the client in a private cluster: batches divided among its masters, slots that move, keys that move under load, a
//! master that is lost.

mod common;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use boundary_bench_kernel::cancel::CancelToken;
use boundary_bench_kernel::{Error, needs};
use boundary_bench_redis::{Commands, KvClient, PrivateCluster, Reply, executable};

/// The number of slots of a cluster.
const SLOTS: usize = 16_384;

/// A private cluster, with a client of each master alone.
struct Cluster {
    servers: PrivateCluster,
    admins: Vec<KvClient>,
    ids: Vec<String>,
}

impl Cluster {
    async fn start() -> Self {
        let servers = PrivateCluster::start(None, &[], &CancelToken::default()).await.unwrap();
        let (mut admins, mut ids) = (Vec::new(), Vec::new());
        for master in servers.masters() {
            let mut admin = common::client(&format!("{}?cluster=false", master.url())).await;
            ids.push(run(&mut admin, &["CLUSTER", "MYID"]).await);
            admins.push(admin);
        }
        Self { servers, admins, ids }
    }

    async fn client(&self) -> KvClient {
        common::client(&self.servers.url()).await
    }

    /// The slot of a key, its master, and the next master.
    async fn place_of(&mut self, key: &str) -> (String, usize, usize) {
        let slot = run(&mut self.admins[0], &["CLUSTER", "KEYSLOT", key]).await;
        let from = slot.parse::<usize>().unwrap() * self.admins.len() / SLOTS;
        (slot, from, (from + 1) % self.admins.len())
    }

    /// Begins to move a slot between two masters: from now on, keys that the old one does not have are asked for at the new one.
    async fn begin_move(&mut self, slot: &str, from: usize, to: usize) {
        run(&mut self.admins[to], &["CLUSTER", "SETSLOT", slot, "IMPORTING", &self.ids[from]]).await;
        run(&mut self.admins[from], &["CLUSTER", "SETSLOT", slot, "MIGRATING", &self.ids[to]]).await;
    }

    /// Gives a slot to a master, without a word to the third one.
    async fn end_move(&mut self, slot: &str, from: usize, to: usize) {
        for master in [to, from] {
            run(&mut self.admins[master], &["CLUSTER", "SETSLOT", slot, "NODE", &self.ids[to]]).await;
        }
    }

    /// How often the masters have answered with an error of this kind.
    async fn errors(&mut self, kind: &str) -> u64 {
        let mut sum = 0;
        for admin in &mut self.admins {
            let stats = run(admin, &["INFO", "errorstats"]).await;
            let of_kind = stats.lines().find_map(|line| line.strip_prefix(&format!("errorstat_{kind}:count=")));
            sum += of_kind.map_or(0, |count| count.parse::<u64>().unwrap());
        }
        sum
    }
}

async fn run(client: &mut KvClient, command: &[&str]) -> String {
    let arguments = command.iter().map(|argument| argument.as_bytes()).collect::<Vec<_>>();
    let read = |reply: Reply<'_>| match reply {
        Reply::Bulk(text) | Reply::Status(text) => Ok(String::from_utf8_lossy(text).into_owned()),
        Reply::Int(number) => Ok(number.to_string()),
        other => Ok(format!("{other:?}")),
    };
    client.call(&arguments, read).await.unwrap()
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

/// Sets each key to itself.
async fn fill(client: &mut KvClient, keys: &[Vec<u8>]) {
    client.mset(keys.iter().map(|key| (key.as_slice(), key.as_slice()))).await.unwrap();
}

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
    // The client has read the slots anew, and is redirected no more.
    assert_filled(&mut client, &keys).await;
    client.set(b"{moved}2", b"known").await.unwrap();
    assert_eq!(cluster.errors("MOVED").await, 1);
}

/// Reads and writes the keys until told to end: by GET and SET of each, which must always succeed, and by MGET, which may be
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
    // The connection is lost first; then none can be made.
    for (code, text) in [("BB_CONNECTION", "was lost"), ("BB_ENGINE", "can't connect")] {
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
async fn a_single_server_is_no_cluster() {
    needs!("redis", executable(None));
    let server = boundary_bench_redis::Server::start(None, &CancelToken::default()).unwrap();
    let url = format!("{}?cluster=true", server.url()).parse().unwrap();
    let error = KvClient::connect(url, boundary_bench_redis::KvOptions::default()).await.unwrap_err();
    assert!(error.to_string().contains("is not a server of a cluster"), "{error}");
}
