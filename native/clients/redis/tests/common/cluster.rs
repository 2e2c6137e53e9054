//! A private cluster for tests, with a client of each master alone.

use boundary_bench_kernel::Error;
use boundary_bench_kernel::cancel::CancelToken;
use boundary_bench_redis::{Commands, KvClient, PrivateCluster, Reply};

use crate::common;

/// The number of slots of a cluster.
const SLOTS: usize = 16_384;

/// A private cluster, with a client of each master alone.
pub struct Cluster {
    pub servers: PrivateCluster,
    pub admins: Vec<KvClient>,
    ids: Vec<String>,
}

impl Cluster {
    pub async fn start() -> Self {
        let servers = PrivateCluster::start(None, &[], &CancelToken::default()).await.unwrap();
        let (mut admins, mut ids) = (Vec::new(), Vec::new());
        for master in servers.masters() {
            let mut admin = common::client(&format!("{}?cluster=false", master.url())).await;
            ids.push(run(&mut admin, &["CLUSTER", "MYID"]).await);
            admins.push(admin);
        }
        Self { servers, admins, ids }
    }

    pub async fn client(&self) -> KvClient {
        common::client(&self.servers.url()).await
    }

    /// The slot of a key, its master, and the next master.
    pub async fn place_of(&mut self, key: &str) -> (String, usize, usize) {
        let slot = run(&mut self.admins[0], &["CLUSTER", "KEYSLOT", key]).await;
        let from = slot.parse::<usize>().unwrap() * self.admins.len() / SLOTS;
        (slot, from, (from + 1) % self.admins.len())
    }

    /// Begins to move a slot between two masters: from now on, keys that the old one does not have are asked for at the new one.
    pub async fn begin_move(&mut self, slot: &str, from: usize, to: usize) {
        run(&mut self.admins[to], &["CLUSTER", "SETSLOT", slot, "IMPORTING", &self.ids[from]]).await;
        run(&mut self.admins[from], &["CLUSTER", "SETSLOT", slot, "MIGRATING", &self.ids[to]]).await;
    }

    /// Gives a slot to a master, without a word to the third one.
    pub async fn end_move(&mut self, slot: &str, from: usize, to: usize) {
        for master in [to, from] {
            run(&mut self.admins[master], &["CLUSTER", "SETSLOT", slot, "NODE", &self.ids[to]]).await;
        }
    }

    /// How often the masters have answered with an error of this kind.
    pub async fn errors(&mut self, kind: &str) -> u64 {
        let mut sum = 0;
        for admin in &mut self.admins {
            let stats = run(admin, &["INFO", "errorstats"]).await;
            let of_kind = stats.lines().find_map(|line| line.strip_prefix(&format!("errorstat_{kind}:count=")));
            sum += of_kind.map_or(0, |count| count.parse::<u64>().unwrap());
        }
        sum
    }
}

pub async fn run(client: &mut KvClient, command: &[&str]) -> String {
    let arguments = command.iter().map(|argument| argument.as_bytes()).collect::<Vec<_>>();
    let read = |reply: Reply<'_>| match reply {
        Reply::Bulk(text) | Reply::Status(text) => Ok(String::from_utf8_lossy(text).into_owned()),
        Reply::Int(number) => Ok(number.to_string()),
        other => Ok(format!("{other:?}")),
    };
    client.call(&arguments, read).await.unwrap()
}

pub fn keys() -> Vec<Vec<u8>> {
    (0..1000).map(|number| format!("key:{number}").into_bytes()).collect()
}

pub async fn mget(client: &mut KvClient, keys: &[Vec<u8>]) -> Vec<Result<Option<Vec<u8>>, Error>> {
    let mut values = vec![None; keys.len()];
    let take = |index: usize, value: Result<Option<&[u8]>, &Error>| {
        assert!(values[index].is_none(), "answered twice: {index}");
        values[index] = Some(value.map(|value| value.map(<[u8]>::to_vec)).map_err(Clone::clone));
    };
    client.mget(keys.iter().map(Vec::as_slice), take).await;
    values.into_iter().map(|value| value.expect("every key is answered")).collect()
}

/// Sets each key to itself.
pub async fn fill(client: &mut KvClient, keys: &[Vec<u8>]) {
    client.mset(keys.iter().map(|key| (key.as_slice(), key.as_slice()))).await.unwrap();
}

/// The outcomes of a pipeline's commands, as text. A whole refusal counts for each command.
pub async fn pipeline(client: &mut KvClient, lines: &[&str]) -> Vec<String> {
    let mut commands = Commands::new();
    for line in lines {
        let words = line.split(' ').map(str::as_bytes).collect::<Vec<_>>();
        commands.push(words.into_iter());
    }
    let mut answers = vec![None; lines.len()];
    client
        .execute(&commands, |index, answer| {
            let text = match answer {
                Ok(reply) => shown(reply),
                Err(error) => error.coded(),
            };
            assert!(answers[index].replace(text).is_none(), "answered twice: {index}");
        })
        .await;
    answers.into_iter().map(|answer| answer.expect("every command is answered")).collect()
}

pub fn shown(reply: Reply<'_>) -> String {
    match reply {
        Reply::Bulk(text) | Reply::Status(text) => String::from_utf8_lossy(text).into_owned(),
        Reply::Error(text) => format!("-{}", String::from_utf8_lossy(text)),
        Reply::Int(number) => number.to_string(),
        Reply::Nil => "nil".to_owned(),
        Reply::Array(items) => format!("[{}]", items.map(shown).collect::<Vec<_>>().join(" ")),
    }
}
