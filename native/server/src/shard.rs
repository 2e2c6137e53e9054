//! The server of one shard of a sharded store: its arguments, and shards as processes.

use std::path::Path;
use std::time::Duration;

use boundary_bench_core::bind::ALLOW_INSECURE_BIND;
use boundary_bench_core::engine::CancelToken;
use boundary_bench_core::private_server::ServerFolder;
use boundary_bench_core::{Error, Result};
use boundary_bench_shards::{Place, ShardOptions};

use crate::arguments::{Parsed, api_key_of_environment, number, seconds, tls_files};
use crate::namespace::in_namespace;
use crate::private::{LISTEN, PrivateServer, command};

/// The first argument that selects the server of a shard.
pub(crate) const KIND: &str = "shard";

/// The port of shard 0; shard n takes the n-th port above it.
const DEFAULT_PORT: u16 = 4410;

/// The time-out of a shard's start: a persistent shard counts its rows first.
const START_TIMEOUT: Duration = Duration::from_secs(600);

/// Reads the arguments after `shard`.
///
/// # Errors
/// The text of the first argument that is unknown, lacks its value or has an unusable one.
pub(crate) fn parse(arguments: impl IntoIterator<Item = String>) -> std::result::Result<Parsed, String> {
    let mut options = ShardOptions { shards: 3, ..ShardOptions::default() };
    options.api_key = api_key_of_environment();
    let (mut listen, mut certificate, mut key) = (None, None, None);
    let mut arguments = arguments.into_iter();
    while let Some(argument) = arguments.next() {
        let (name, inline) = match argument.split_once('=') {
            Some((name, value)) => (name.to_owned(), Some(value.to_owned())),
            None => (argument, None),
        };
        match name.as_str() {
            "--help" | "-h" => return Ok(Parsed::Help),
            ALLOW_INSECURE_BIND => {
                options.allow_insecure_bind = true;
                continue;
            }
            _ => {}
        }
        let mut value = || inline.clone().or_else(|| arguments.next()).ok_or_else(|| format!("{name} needs a value"));
        match name.as_str() {
            "--shard" => options.shard = number(&name, &value()?)?,
            "--shards" => options.shards = number(&name, &value()?)?,
            "--listen" => listen = Some(number(&name, &value()?)?),
            "--data-dir" => options.data_dir = Some(value()?.into()),
            "--api-key" => options.api_key = Some(value()?),
            "--tls-cert" => certificate = Some(value()?.into()),
            "--tls-key" => key = Some(value()?.into()),
            "--threads" => options.threads = Some(number(&name, &value()?)?),
            "--max-message" => options.limits.message_bytes = number(&name, &value()?)?,
            "--max-streams" => options.limits.streams = number(&name, &value()?)?,
            "--max-open" => options.limits.open = number(&name, &value()?)?,
            "--stall-timeout" => options.limits.stall_time = seconds(&name, &value()?)?,
            "--keep-alive" => options.limits.keep_alive = seconds(&name, &value()?)?,
            _ => return Err(format!("there is no {name} for a shard")),
        }
    }
    options.tls = tls_files(certificate, key)?;
    let port = u16::try_from(options.shard).ok().and_then(|shard| DEFAULT_PORT.checked_add(shard));
    match (listen, port) {
        (Some(listen), _) => options.listen = listen,
        (None, Some(port)) => options.listen.set_port(port),
        (None, None) => return Err(format!("shard {} has no port of its own; give --listen", options.shard)),
    }
    options.validate().map_err(|error| error.to_string())?;
    Ok(Parsed::Shard(Box::new(options)))
}

/// A shard in its own process: a [`PrivateServer`] started with other arguments.
pub type ShardProcess = PrivateServer;

/// The network in which the processes of shards listen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ShardNetwork {
    /// The loopback.
    Loopback,
    /// A network namespace for each shard, which the kernel can slow down ([`crate::why_no_kernel_delay`]).
    OwnNamespace,
}

/// Starts a shard: `program`, or [`crate::executable`] where there is none, with `arguments` before the shard's own. Without
/// `data_dir` its rows are in memory.
fn start(
    network: ShardNetwork,
    program: Option<&Path>,
    arguments: &[&str],
    (shard, shards): (u32, u32),
    data_dir: Option<&Path>,
    cancel: &CancelToken,
) -> Result<ShardProcess> {
    let folder = ServerFolder::new(KIND)?;
    let mut command = command(program, arguments)?;
    command.arg(KIND).args(["--shard", &shard.to_string(), "--shards", &shards.to_string()]);
    if let Some(data_dir) = data_dir {
        command.arg("--data-dir").arg(data_dir);
    }
    match network {
        ShardNetwork::Loopback => PrivateServer::announced(folder, command.args(LISTEN), START_TIMEOUT, cancel),
        ShardNetwork::OwnNamespace => {
            PrivateServer::announced(folder, &in_namespace(&command), START_TIMEOUT, cancel)?.with_card()
        }
    }
}

/// All shards of a store, each in its own process.
#[derive(Debug)]
pub struct ShardProcesses(Vec<ShardProcess>);

impl ShardProcesses {
    /// Starts `shards` processes at the same time: `program`, or [`crate::executable`] where there is none, with `arguments`
    /// before the shards' own. Without `data_dir` their rows are in memory.
    ///
    /// # Errors
    /// The errors of [`PrivateServer::start`].
    pub fn start(
        program: Option<&Path>,
        arguments: &[&str],
        shards: u32,
        data_dir: Option<&Path>,
        cancel: &CancelToken,
    ) -> Result<Self> {
        Self::start_in(ShardNetwork::Loopback, program, arguments, shards, data_dir, cancel)
    }

    /// Starts the shards as [`Self::start`] does, in a given network.
    ///
    /// # Errors
    /// The errors of [`PrivateServer::start`]; where the network can't be made, the message of `ip` or another tool is in them.
    pub fn start_in(
        network: ShardNetwork,
        program: Option<&Path>,
        arguments: &[&str],
        shards: u32,
        data_dir: Option<&Path>,
        cancel: &CancelToken,
    ) -> Result<Self> {
        let start = |shard| start(network, program, arguments, (shard, shards), data_dir, cancel);
        let started: Result<Vec<_>> = std::thread::scope(|scope| {
            let starting: Vec<_> = (0..shards).map(|shard| scope.spawn(move || start(shard))).collect();
            let joined = starting.into_iter().map(|starting| {
                let panicked = |_| Error::Internal("the start of a shard panicked".to_owned());
                starting.join().map_err(panicked).flatten()
            });
            joined.collect()
        });
        started.map(Self)
    }

    /// The processes in the order of their shards' numbers.
    #[must_use]
    pub fn processes(&self) -> &[ShardProcess] {
        &self.0
    }

    /// The shards as places of a client.
    #[must_use]
    pub fn places(&self) -> Vec<Place> {
        self.0.iter().map(|process| Place::Remote(process.url())).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> std::result::Result<ShardOptions, String> {
        match crate::parse(text.split_whitespace().map(str::to_owned))? {
            Parsed::Shard(options) => Ok(*options),
            _ => Err("it is no shard".to_owned()),
        }
    }

    #[test]
    fn arguments_become_options() {
        let options = parsed("shard --shard 1 --shards=4 --data-dir /var/tmp/x --threads 2").unwrap();
        assert_eq!((options.shard, options.shards, options.listen.port()), (1, 4, 4411));
        assert_eq!(options.data_dir.as_deref(), Some(Path::new("/var/tmp/x")));
        assert!(matches!(crate::parse(["shard".to_owned(), "-h".to_owned()]), Ok(Parsed::Help)));
        assert!(parsed("shard --listen 0.0.0.0:0 --allow-insecure-bind").is_ok());
        for (given, said) in [
            ("shard --shard 3", "no shard 3 of 3"),
            ("shard --durable", "there is no --durable for a shard"),
            ("shard --threads 0", "needs a thread"),
            ("shard --shard 70000 --shards 70001", "give --listen"),
            ("shard --max-message 1000", "1 MiB"),
            ("shard --max-open 0", "refuse everything"),
            ("shard --stall-timeout 0", "more than 0"),
            ("shard --tls-cert c.pem", "TLS needs both"),
            ("shard --api-key short", "an API key is"),
            ("shard --listen 0.0.0.0:0", "other machines could reach 0.0.0.0:0 without asking for a key"),
            ("delay --to 127.0.0.1:1 --listen 0.0.0.0:0", "--allow-insecure-bind"),
        ] {
            let error = parsed(given).unwrap_err();
            assert!(error.contains(said), "{given}: {error}");
        }
    }
}
