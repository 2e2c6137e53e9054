//! A Redis Cluster of three masters that this process starts for itself.

use std::path::Path;
use std::time::{Duration, Instant};

use boundary_bench_kernel::cancel::CancelToken;
use boundary_bench_kernel::private_server::free_port;
use boundary_bench_kernel::{Error, Result};

use crate::client::{KvClient, KvOptions};
use crate::engine_error;
use crate::resp::Reply;
use crate::server::{START_TIMEOUT, Server};
use crate::slots::SLOTS;

/// The number of masters: the fewest of which a majority is left when one is lost.
const MASTERS: u16 = 3;

/// The interval at which a master of a new cluster is asked whether it knows all others.
const POLL: Duration = Duration::from_millis(20);

/// The settings of every master. Without replicas nobody could take over, so no master declares another one lost, even if a busy
/// or halted machine keeps it from answering for long. Only the keys of a master that has ended can't be read.
const SETTINGS: [&str; 8] = [
    "--cluster-enabled",
    "yes",
    "--cluster-announce-ip",
    "127.0.0.1",
    "--cluster-node-timeout",
    "3600000",
    "--cluster-require-full-coverage",
    "no",
];

/// A running cluster of three masters, each with a third of the slots and no replicas, as [`Server`]s on the loopback.
/// Dropping it stops them and removes their folders.
#[derive(Debug)]
pub struct PrivateCluster {
    masters: Vec<Server>,
}

impl PrivateCluster {
    /// Starts the masters with further settings (`--name value`), gives each its slots, and waits until all know each other.
    /// Blocks while a process starts, so it needs a thread that may.
    pub async fn start(program: Option<&Path>, settings: &[&str], cancel: &CancelToken) -> Result<Self> {
        let mut masters = Vec::new();
        let mut bus_ports = Vec::new();
        for _ in 0..MASTERS {
            // The default port of the bus, 10000 above the server's, may exceed the highest port.
            let bus_port = free_port()?.to_string();
            let settings = [SETTINGS.as_slice(), &["--cluster-port", &bus_port], settings].concat();
            masters.push(Server::start_with(program, &settings, cancel)?);
            bus_ports.push(bus_port);
        }
        let mut clients = Vec::new();
        for (number, master) in (0..MASTERS).zip(&masters) {
            // Without the question whether the server is one of a cluster, since its map of slots is still empty.
            let url = format!("{}?cluster=false", master.url()).parse()?;
            let mut client = KvClient::connect(url, KvOptions::default()).await?;
            let slots = slots_of(number);
            command(&mut client, &["CLUSTER", "ADDSLOTSRANGE", &slots.0.to_string(), &slots.1.to_string()]).await?;
            command(&mut client, &["CLUSTER", "SET-CONFIG-EPOCH", &(number + 1).to_string()]).await?;
            for (other, bus_port) in masters.iter().zip(&bus_ports).take(number.into()) {
                command(&mut client, &["CLUSTER", "MEET", "127.0.0.1", &other.port().to_string(), bus_port]).await?;
            }
            clients.push(client);
        }
        let deadline = Instant::now() + START_TIMEOUT;
        for client in &mut clients {
            while !is_whole(&command(client, &["CLUSTER", "INFO"]).await?) {
                cancel.check()?;
                if Instant::now() > deadline {
                    let seconds = START_TIMEOUT.as_secs();
                    return Err(Error::Timeout(format!(
                        "the masters of a private cluster did not meet in {seconds} s"
                    )));
                }
                tokio::time::sleep(POLL).await;
            }
        }
        Ok(Self { masters })
    }

    /// The URL of the first master. It says that the master is one of a cluster.
    pub fn url(&self) -> String {
        format!("{}?cluster=true", self.masters[0].url())
    }

    /// The masters, in the order of their slots.
    pub fn masters(&self) -> &[Server] {
        &self.masters
    }

    /// The way in which the first master ended by itself, or `None` while all run and once they were stopped.
    pub fn ending(&self) -> Option<String> {
        self.masters.iter().find_map(|master| master.ending())
    }

    /// Kills the masters and removes their folders. A second call does nothing.
    pub fn stop(&self) {
        self.masters.iter().for_each(|master| master.stop());
    }
}

/// The first and the last slot of a master.
fn slots_of(number: u16) -> (u16, u16) {
    let first = |number: u16| u32::from(SLOTS) * u32::from(number) / u32::from(MASTERS);
    let slot = |number: u32| u16::try_from(number).unwrap_or(SLOTS);
    (slot(first(number)), slot(first(number + 1) - 1))
}

/// Runs a command on a server, and returns its reply as text.
async fn command(client: &mut KvClient, words: &[&str]) -> Result<String> {
    let arguments = words.iter().map(|word| word.as_bytes()).collect::<Vec<_>>();
    client
        .call(&arguments, |reply| match reply {
            Reply::Bulk(text) | Reply::Status(text) => Ok(String::from_utf8_lossy(text).into_owned()),
            other => Err(engine_error(format!("an answer to {} that is no text: {other:?}", words.join(" ")))),
        })
        .await
}

/// Whether a server knows all masters and the slots of each.
fn is_whole(info: &str) -> bool {
    let says = |line: &str| info.lines().any(|said| said == line);
    says("cluster_state:ok") && says(&format!("cluster_slots_ok:{SLOTS}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_masters_share_all_slots() {
        let slots = (0..MASTERS).map(slots_of).collect::<Vec<_>>();
        assert_eq!(slots, [(0, 5460), (5461, 10_921), (10_922, 16_383)]);
    }
}
