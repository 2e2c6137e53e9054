//! The Redis client: single commands, and batches of commands as pipelines.

use std::sync::Arc;
use std::time::Duration;

use boundary_bench_kernel::driver::Driver;
use boundary_bench_kernel::socket::CONNECT_TIMEOUT;
use boundary_bench_kernel::timeout::within;
use boundary_bench_kernel::{Error, Result};

use crate::cluster::Cluster;
use crate::connection::Connection;
use crate::groups::Groups;
use crate::plan::Plan;
use crate::resp::{CommandOutcome, Commands, Reply, arguments_of};
use crate::state::{Hinge, is_misdirected, still_open};
use crate::submission::RequestKind;
use crate::url::{Endpoint, Url};
use crate::{engine_error, no_answer, server_error};

/// The options of a client beside the URL.
#[derive(Debug, Clone, Copy, Default)]
pub struct KvOptions {
    /// The time-out of a call, connecting included. Without one, a call waits for as long as the connection lives.
    pub timeout: Option<Duration>,
}

/// A client of one server, by one connection, or of a cluster, by one connection to each of its servers. It makes one call
/// at a time.
///
/// A call that is dropped before its end leaves replies outstanding on its connection. The connection is then closed. The next
/// call connects again, without the state that commands gave the old connection (SELECT, WATCH). It also connects again after a
/// server said that it is a replica or loads its data. Nothing is ever sent twice, except commands that a server of a cluster said
/// it did not execute. A script may have written before it says so: it is never sent twice, and the caller gets the error.
#[derive(Debug)]
pub struct KvClient {
    url: Arc<Url>,
    options: KvOptions,
    route: Route,
    scratch: Commands,
}

#[derive(Debug)]
enum Route {
    Single(Option<Connection>),
    Cluster(Arc<Cluster>),
}

impl KvClient {
    /// Connects, logs in, and, unless the URL says it, asks the server whether it belongs to a cluster.
    pub async fn connect(url: Url, options: KvOptions) -> Result<Self> {
        let timeout = options.timeout.unwrap_or(CONNECT_TIMEOUT);
        let url = Arc::new(url);
        let route = async {
            Ok(match Cluster::find(&url).await? {
                (_, Some(cluster)) => Route::Cluster(Arc::new(cluster)),
                (connection, None) => Route::Single(Some(connection)),
            })
        };
        let route = within(Some(timeout), route, no_answer).await?;
        Ok(Self { url, options, route, scratch: Commands::new() })
    }

    /// The same client, with connections to a cluster that `driver` drives. They are opened when they are needed.
    pub fn driven_by(mut self, driver: &'static dyn Driver) -> Self {
        if let Route::Cluster(cluster) = &mut self.route
            && let Some(cluster) = Arc::get_mut(cluster)
        {
            cluster.driver = driver;
        }
        self
    }

    /// Another client over the connections of this one, or `None` for a client of a single server.
    pub(crate) fn share(&self) -> Option<Self> {
        let Route::Cluster(cluster) = &self.route else { return None };
        let route = Route::Cluster(Arc::clone(cluster));
        Some(Self { url: Arc::clone(&self.url), options: self.options, route, scratch: Commands::new() })
    }

    /// The places of all servers of the cluster of which the client has heard. Empty for a client of a single server.
    pub fn places(&self) -> Vec<Endpoint> {
        self.cluster().map(Cluster::places).unwrap_or_default()
    }

    pub(crate) fn cluster(&self) -> Option<&Cluster> {
        match &self.route {
            Route::Cluster(cluster) => Some(cluster),
            Route::Single(_) => None,
        }
    }

    /// Whether calls have a time-out.
    pub(crate) fn has_timeout(&self) -> bool {
        self.options.timeout.is_some()
    }

    /// Whether this is a client of a cluster.
    pub fn is_cluster(&self) -> bool {
        matches!(self.route, Route::Cluster(_))
    }

    /// Whether an event loop can drive its connection without tasks.
    pub fn is_drivable(&self) -> bool {
        matches!(&self.route, Route::Single(Some(_)))
    }

    /// The connection, for a caller who drives it himself, or `None` for a cluster.
    pub fn into_connection(self) -> Option<Connection> {
        match self.route {
            Route::Single(connection) => connection,
            Route::Cluster(_) => None,
        }
    }

    /// Runs commands as one pipeline, and calls `each` once for every command, with its position and its reply or its
    /// error. The calls come in the order of the commands, except for a cluster.
    ///
    /// In a cluster, a transaction (MULTI to EXEC, with WATCH before it) goes to the master of its keys' slot. Commands that mean
    /// all keys or all servers go to all masters. The masters' answers are combined. A pipeline with a transaction over several
    /// slots, without its end, or with a command that concerns one server is [`Error::Unsupported`]. Nothing of it is sent.
    pub async fn execute(&mut self, commands: &Commands, each: impl FnMut(usize, CommandOutcome<'_, '_>)) {
        self.execute_as(commands, |_| (RequestKind::Pipeline, 0), each).await;
    }

    /// Runs commands as [`KvClient::execute`] does. `expected` is the operation of each command and the number of its keys. A reply that the
    /// operation can't have is an error, and the next call connects again.
    pub(crate) async fn execute_as(
        &mut self,
        commands: &Commands,
        expected: impl Fn(usize) -> (RequestKind, usize),
        mut each: impl FnMut(usize, CommandOutcome<'_, '_>),
    ) {
        let mut plan = Plan::default();
        match self.plan(commands, &mut plan) {
            Ok(()) => self.execute_planned(commands, &plan, expected, each).await,
            Err(error) => (0..commands.len()).for_each(|index| each(index, Err(&error))),
        }
    }

    /// Adds the commands to the plan, behind its own, as one pipeline. A single server needs no plan.
    pub(crate) fn plan(&self, commands: &Commands, plan: &mut Plan) -> Result<()> {
        if self.is_cluster() { plan.add(commands) } else { Ok(()) }
    }

    /// Runs commands that were planned, as [`KvClient::execute_as`] does.
    pub(crate) async fn execute_planned(
        &mut self,
        commands: &Commands,
        plan: &Plan,
        expected: impl Fn(usize) -> (RequestKind, usize),
        mut each: impl FnMut(usize, CommandOutcome<'_, '_>),
    ) {
        let mut is_misfit = false;
        let mut each = |index, answer: CommandOutcome<'_, '_>| match (answer, expected(index)) {
            (Ok(reply), (kind, keys)) if !kind.takes(&reply, keys) => {
                is_misfit = true;
                each(index, Err(&kind.misfit(&reply)));
            }
            (answer, _) => each(index, answer),
        };
        let mut is_answered = vec![false; if self.is_cluster() { commands.len() } else { 0 }];
        let mut answered = 0;
        let timeout = self.options.timeout;
        let result = match &mut self.route {
            Route::Single(slot) => {
                let work = async {
                    if !slot.as_ref().is_some_and(Connection::is_usable) {
                        *slot = None;
                        *slot = Some(Connection::open(&self.url).await?);
                    }
                    let Some(connection) = slot else { return Err(Error::Closed("the connection")) };
                    let (mut is_outdated, mut open) = (false, None);
                    let take = |index, reply: Reply<'_>| {
                        answered = index + 1;
                        if let Some(error) = &open {
                            return each(index, Err(error));
                        }
                        if let Reply::Error(text) = reply {
                            let hinge = arguments_of(commands.command(index)).next().and_then(Hinge::of);
                            is_outdated |= hinge.is_some() || is_misdirected(text);
                            open = hinge.is_some_and(|hinge| hinge.keeps_open(text)).then(still_open);
                        }
                        each(index, Ok(reply));
                    };
                    connection.round_trip(commands.bytes(), commands.len(), take).await?;
                    // The name in the URL may stand for another server by now, or the connection is left in a transaction.
                    if is_outdated {
                        *slot = None;
                    }
                    Ok(())
                };
                within(timeout, work, no_answer).await
            }
            Route::Cluster(cluster) => {
                let take = |index: usize, answer: CommandOutcome<'_, '_>| {
                    is_answered[index] = true;
                    each(index, answer);
                };
                let work = async {
                    cluster.execute((commands, plan), take).await;
                    Ok(())
                };
                within(timeout, work, no_answer).await
            }
        };
        if let Err(error) = result {
            for index in answered..commands.len() {
                if !is_answered.get(index).is_some_and(|answered| *answered) {
                    each(index, Err(&error));
                }
            }
        }
        if is_misfit {
            match &mut self.route {
                Route::Single(slot) => *slot = None,
                Route::Cluster(cluster) => cluster.give_up_all(),
            }
        }
    }

    /// Runs one command.
    pub async fn call<T>(&mut self, arguments: &[&[u8]], read: impl FnOnce(Reply<'_>) -> Result<T>) -> Result<T> {
        self.scratched(RequestKind::Pipeline, |commands| commands.push(arguments.iter().copied()), read).await
    }

    /// Reads the value of a key. `read` gets it in place.
    pub async fn get<T>(&mut self, key: &[u8], read: impl FnOnce(Option<&[u8]>) -> T) -> Result<T> {
        self.scratched(RequestKind::Get, |commands| commands.get(key), |reply| reply.value().map(read)).await
    }

    /// Sets a key to a value.
    pub async fn set(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        self.scratched(RequestKind::Set, |commands| commands.set(key, value), |_| Ok(())).await
    }

    async fn scratched<T>(
        &mut self,
        kind: RequestKind,
        write: impl FnOnce(&mut Commands),
        read: impl FnOnce(Reply<'_>) -> Result<T>,
    ) -> Result<T> {
        let mut read = Some(read);
        let mut result = Err(Error::Internal("a command without a reply".to_owned()));
        self.execute_written(
            |_| (kind, 1),
            write,
            |_, answer| {
                if let Some(read) = read.take() {
                    result = answer.map_err(Clone::clone).and_then(Reply::checked).and_then(read);
                }
            },
        )
        .await;
        result
    }

    /// Runs the commands that `write` writes, in memory that is kept for the next ones.
    async fn execute_written(
        &mut self,
        expected: impl Fn(usize) -> (RequestKind, usize),
        write: impl FnOnce(&mut Commands),
        each: impl FnMut(usize, CommandOutcome<'_, '_>),
    ) {
        let mut commands = std::mem::take(&mut self.scratch);
        commands.clear();
        write(&mut commands);
        self.execute_as(&commands, expected, each).await;
        self.scratch = commands;
    }

    /// Reads the values of keys: `each` gets the position of every key and its value. Many keys become several MGETs in
    /// one pipeline. In a cluster, they become one or more per slot.
    pub async fn mget<'a>(
        &mut self,
        keys: impl Iterator<Item = &'a [u8]> + Clone,
        mut each: impl FnMut(usize, std::result::Result<Option<&[u8]>, &Error>),
    ) {
        let groups = if self.is_cluster() {
            Groups::of_slots(keys.clone().map(|key| (key, key.len())))
        } else {
            Groups::of_keys(keys.clone())
        };
        let write = |commands: &mut Commands| groups.write_mget(commands, keys);
        let expected = |command| (RequestKind::Mget, groups.positions(command).count());
        self.execute_written(expected, write, |command, answer| {
            let positions = groups.positions(command);
            match answer.map_err(Clone::clone).and_then(Reply::checked) {
                Ok(Reply::Array(items)) => positions.zip(items).for_each(|(position, item)| match item.value() {
                    Ok(value) => each(position, Ok(value)),
                    Err(error) => each(position, Err(&error)),
                }),
                Ok(other) => positions.for_each(|position| each(position, Err(&unexpected(&other)))),
                Err(error) => positions.for_each(|position| each(position, Err(&error))),
            }
        })
        .await;
    }

    /// Sets keys to values. Each MSET is atomic. Many entries become several MSETs, as for [`KvClient::mget`]. Of the
    /// refused MSETs, the one whose first entry comes first gives the error, with that entry's position.
    pub async fn mset<'a>(&mut self, entries: impl Iterator<Item = (&'a [u8], &'a [u8])> + Clone) -> Result<()> {
        let groups = if self.is_cluster() {
            Groups::of_slots(entries.clone().map(|(key, value)| (key, key.len() + value.len())))
        } else {
            Groups::of_entries(entries.clone())
        };
        let write = |commands: &mut Commands| groups.write_mset(commands, entries);
        let mut failure: Option<(usize, Error)> = None;
        self.execute_written(
            |_| (RequestKind::Mset, 0),
            write,
            |command, answer| {
                let first = groups.positions(command).next().unwrap_or_default();
                if let Err(error) = answer.map_err(Clone::clone).and_then(Reply::checked)
                    && failure.as_ref().is_none_or(|(known, _)| first < *known)
                {
                    failure = Some((first, error));
                }
            },
        )
        .await;
        match failure {
            None => Ok(()),
            Some((first, error)) => Err(groups.at_entry(first, error)),
        }
    }
}

impl<'a> Reply<'a> {
    /// The reply, unless it is an error.
    pub fn checked(self) -> Result<Self> {
        match self {
            Self::Error(text) => Err(server_error(text)),
            reply => Ok(reply),
        }
    }

    /// The value of the reply, `None` for nil. A status counts as a value.
    pub fn value(self) -> Result<Option<&'a [u8]>> {
        match self.checked()? {
            Self::Bulk(value) | Self::Status(value) => Ok(Some(value)),
            Self::Nil => Ok(None),
            other => Err(unexpected(&other)),
        }
    }
}

fn unexpected(reply: &Reply<'_>) -> Error {
    let kind = match reply {
        Reply::Int(_) => "an integer",
        Reply::Array(_) => "an array",
        _ => "a value",
    };
    engine_error(format!("the server answered with {kind} where none was expected"))
}
