//! The Redis client: single commands, and batches of commands as pipelines.

use std::ops::Range;
use std::time::Duration;

use boundary_bench_kernel::socket::CONNECT_TIMEOUT;
use boundary_bench_kernel::{Error, Result};

use crate::cluster::{Cluster, slot_of};
use crate::connection::Connection;
use crate::resp::{Commands, Reply, write_argument};
use crate::url::Url;
use crate::{engine_error, server_error};

/// The most keys of one MGET or MSET. A server executes a command as a whole while all other clients wait, and refuses
/// commands of more than a million arguments.
pub(crate) const MOST_KEYS: usize = 4096;

/// The most bytes of one MGET or MSET, where it has more than one key.
pub(crate) const MOST_BYTES: usize = 1 << 20;

/// The options of a client beside the URL.
#[derive(Debug, Clone, Copy, Default)]
pub struct KvOptions {
    /// The time-out of a call, connecting included. Without one, a call waits for as long as the connection lives.
    pub timeout: Option<Duration>,
}

/// A client of one server, by one connection, or of a cluster, by one connection to each of its servers. It makes one call
/// at a time.
///
/// A call that is dropped before its end leaves replies outstanding on its connection, which is then closed; the next call
/// connects anew. Nothing is ever sent twice, except commands that a server of a cluster said it did not execute.
#[derive(Debug)]
pub struct KvClient {
    url: Url,
    options: KvOptions,
    route: Route,
    scratch: Commands,
}

#[derive(Debug)]
enum Route {
    Single(Option<Connection>),
    Cluster(Box<Cluster>),
}

/// The outcome of one command of a batch.
pub(crate) type Answer<'reply, 'error> = std::result::Result<Reply<'reply>, &'error Error>;

impl KvClient {
    /// Connects, logs in, and, unless the URL says it, asks the server whether it belongs to a cluster.
    ///
    /// # Errors
    /// [`Error::Engine`] where the server can't be reached or refuses the login, [`Error::Timeout`].
    pub async fn connect(url: Url, options: KvOptions) -> Result<Self> {
        let route = within(Some(options.timeout.unwrap_or(CONNECT_TIMEOUT)), async {
            let mut connection = Connection::open_untimed(&url.place, &url).await?;
            if url.cluster == Some(false) {
                return Ok(Route::Single(Some(connection)));
            }
            match Cluster::ask(&mut connection, &url).await? {
                Some(cluster) => Ok(Route::Cluster(Box::new(cluster))),
                None if url.cluster == Some(true) => {
                    Err(engine_error(format!("{} is not a server of a cluster; leave out ?cluster=true", url.place)))
                }
                None => Ok(Route::Single(Some(connection))),
            }
        });
        let route = route.await?;
        Ok(Self { url, options, route, scratch: Commands::new() })
    }

    /// Whether this is a client of a cluster.
    #[must_use]
    pub fn is_cluster(&self) -> bool {
        matches!(self.route, Route::Cluster(_))
    }

    /// Whether an event loop can drive its connection by the socket alone.
    #[must_use]
    pub fn is_drivable(&self) -> bool {
        matches!(&self.route, Route::Single(Some(connection)) if connection.has_plain_socket())
    }

    /// The connection, for a caller who drives it himself; `None` for a cluster.
    #[must_use]
    pub fn into_connection(self) -> Option<Connection> {
        match self.route {
            Route::Single(connection) => connection,
            Route::Cluster(_) => None,
        }
    }

    /// Runs commands as one pipeline, and calls `each` once for every command, with its position and its reply or its
    /// error. The order of these calls is that of the commands, except for a cluster.
    pub async fn execute(&mut self, commands: &Commands, mut each: impl FnMut(usize, Answer<'_, '_>)) {
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
                    let take = |index, reply: Reply<'_>| {
                        answered = index + 1;
                        each(index, Ok(reply));
                    };
                    connection.round_trip(commands.bytes(), commands.len(), take).await
                };
                within(timeout, work).await
            }
            Route::Cluster(cluster) => {
                let take = |index: usize, answer: Answer<'_, '_>| {
                    is_answered[index] = true;
                    each(index, answer);
                };
                within(timeout, async {
                    cluster.execute(commands, take).await;
                    Ok(())
                })
                .await
            }
        };
        if let Err(error) = result {
            for index in answered..commands.len() {
                if !is_answered.get(index).is_some_and(|answered| *answered) {
                    each(index, Err(&error));
                }
            }
        }
    }

    /// Runs one command.
    ///
    /// # Errors
    /// [`Error::Engine`] with the server's message, [`Error::Connection`], [`Error::Timeout`].
    pub async fn call<T>(&mut self, arguments: &[&[u8]], read: impl FnOnce(Reply<'_>) -> Result<T>) -> Result<T> {
        self.scratched(|commands| commands.push(arguments.iter().copied()), read).await
    }

    /// Reads the value of a key, which `read` gets in place.
    ///
    /// # Errors
    /// The errors of [`KvClient::call`].
    pub async fn get<T>(&mut self, key: &[u8], read: impl FnOnce(Option<&[u8]>) -> T) -> Result<T> {
        self.scratched(|commands| commands.get(key), |reply| reply.value().map(read)).await
    }

    /// Sets a key to a value.
    ///
    /// # Errors
    /// The errors of [`KvClient::call`].
    pub async fn set(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        self.scratched(|commands| commands.set(key, value), |_| Ok(())).await
    }

    async fn scratched<T>(
        &mut self,
        write: impl FnOnce(&mut Commands),
        read: impl FnOnce(Reply<'_>) -> Result<T>,
    ) -> Result<T> {
        let mut commands = std::mem::take(&mut self.scratch);
        commands.clear();
        write(&mut commands);
        let mut read = Some(read);
        let mut result = Err(Error::Internal("a command without a reply".to_owned()));
        self.execute(&commands, |_, answer| {
            if let Some(read) = read.take() {
                result = answer.map_err(Clone::clone).and_then(Reply::checked).and_then(read);
            }
        })
        .await;
        self.scratch = commands;
        result
    }

    /// Reads the values of keys: `each` gets the position of every key and its value. Many keys become several MGETs in
    /// one pipeline; in a cluster, one or more per slot.
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
        let mut commands = std::mem::take(&mut self.scratch);
        commands.clear();
        groups.write_mget(&mut commands, keys);
        self.execute(&commands, |command, answer| {
            let mut positions = groups.positions(command);
            match answer.map_err(Clone::clone).and_then(Reply::checked) {
                Ok(Reply::Array(items)) => {
                    for item in items {
                        let Some(position) = positions.next() else { break };
                        match item.value() {
                            Ok(value) => each(position, Ok(value)),
                            Err(error) => each(position, Err(&error)),
                        }
                    }
                    let missing = engine_error("MGET answered with fewer values than keys".to_owned());
                    positions.for_each(|position| each(position, Err(&missing)));
                }
                Ok(other) => {
                    let error = unexpected(&other);
                    positions.for_each(|position| each(position, Err(&error)));
                }
                Err(error) => positions.for_each(|position| each(position, Err(&error))),
            }
        })
        .await;
        self.scratch = commands;
    }

    /// Sets keys to values. Each MSET is atomic; many entries become several, as for [`KvClient::mget`]. The error is
    /// that of the refused MSET whose first entry comes first, with that entry's position.
    ///
    /// # Errors
    /// The errors of [`KvClient::call`].
    pub async fn mset<'a>(&mut self, entries: impl Iterator<Item = (&'a [u8], &'a [u8])> + Clone) -> Result<()> {
        let groups = if self.is_cluster() {
            Groups::of_slots(entries.clone().map(|(key, value)| (key, key.len() + value.len())))
        } else {
            Groups::of_entries(entries.clone())
        };
        let mut commands = std::mem::take(&mut self.scratch);
        commands.clear();
        groups.write_mset(&mut commands, entries);
        let mut failure: Option<(usize, Error)> = None;
        self.execute(&commands, |command, answer| {
            let first = groups.positions(command).next().unwrap_or_default();
            if let Err(error) = answer.map_err(Clone::clone).and_then(Reply::checked)
                && failure.as_ref().is_none_or(|(known, _)| first < *known)
            {
                failure = Some((first, error));
            }
        })
        .await;
        self.scratch = commands;
        match failure {
            None => Ok(()),
            Some((first, error)) => Err(groups.at_entry(first, error)),
        }
    }
}

/// The division of keys among commands: a range of `order` for each command.
#[derive(Debug, Default)]
pub(crate) struct Groups {
    /// The end of each command's range in `order`.
    ends: Vec<usize>,
    total: usize,
    /// The positions of the keys, grouped; `None` where they keep their own order.
    order: Option<Vec<usize>>,
}

impl Groups {
    /// Divides keys in their own order.
    pub(crate) fn of_keys<'a>(keys: impl Iterator<Item = &'a [u8]>) -> Self {
        Self::of_sizes(keys.map(<[u8]>::len))
    }

    /// Divides entries in their own order.
    pub(crate) fn of_entries<'a>(entries: impl Iterator<Item = (&'a [u8], &'a [u8])>) -> Self {
        Self::of_sizes(entries.map(|(key, value)| key.len() + value.len()))
    }

    fn of_sizes(sizes: impl Iterator<Item = usize>) -> Self {
        let mut groups = Self::default();
        let mut filled = Filled::default();
        for size in sizes {
            if !filled.takes(size) {
                groups.ends.push(groups.total);
                filled = Filled::default();
            }
            filled.add(size);
            groups.total += 1;
        }
        groups.close()
    }

    /// Divides items so that each command has keys of one slot of a cluster.
    fn of_slots<'a>(items: impl Iterator<Item = (&'a [u8], usize)>) -> Self {
        let mut by_slot =
            items.enumerate().map(|(position, (key, size))| (slot_of(key), position, size)).collect::<Vec<_>>();
        by_slot.sort_unstable();
        let mut groups = Self::default();
        let (mut filled, mut last) = (Filled::default(), None);
        for (slot, _, size) in &by_slot {
            if groups.total > 0 && (last != Some(slot) || !filled.takes(*size)) {
                groups.ends.push(groups.total);
                filled = Filled::default();
            }
            filled.add(*size);
            groups.total += 1;
            last = Some(slot);
        }
        groups.order = Some(by_slot.into_iter().map(|(_, position, _)| position).collect());
        groups.close()
    }

    fn close(mut self) -> Self {
        if self.total > 0 {
            self.ends.push(self.total);
        }
        self
    }

    /// The number of commands.
    pub(crate) fn len(&self) -> usize {
        self.ends.len()
    }

    /// The range of a command's keys in `order`.
    pub(crate) fn range(&self, command: usize) -> Range<usize> {
        let start = if command == 0 { 0 } else { self.ends[command - 1] };
        start..self.ends[command]
    }

    /// The positions of a command's keys.
    fn positions(&self, command: usize) -> impl Iterator<Item = usize> {
        self.range(command).map(|at| self.order.as_ref().map_or(at, |order| order[at]))
    }

    /// Appends the MGETs of the keys.
    pub(crate) fn write_mget<'a>(&self, commands: &mut Commands, keys: impl Iterator<Item = &'a [u8]>) {
        self.write(commands, b"MGET", 1, keys, write_argument);
    }

    /// Appends the MSETs of the entries.
    pub(crate) fn write_mset<'a>(&self, commands: &mut Commands, entries: impl Iterator<Item = (&'a [u8], &'a [u8])>) {
        self.write(commands, b"MSET", 2, entries, |out, (key, value)| {
            write_argument(out, key);
            write_argument(out, value);
        });
    }

    fn write<T: Copy>(
        &self,
        commands: &mut Commands,
        name: &[u8],
        arguments: usize,
        mut items: impl Iterator<Item = T>,
        write: impl Fn(&mut Vec<u8>, T),
    ) {
        let by_position: Vec<T> = if self.order.is_some() { items.by_ref().collect() } else { Vec::new() };
        for command in 0..self.len() {
            let range = self.range(command);
            commands.push_with(name, range.len() * arguments, |out| match &self.order {
                None => items.by_ref().take(range.len()).for_each(|item| write(out, item)),
                Some(order) => order[range].iter().for_each(|position| write(out, by_position[*position])),
            });
        }
    }

    /// Adds the position of a command's first entry to its error, where there are several commands.
    pub(crate) fn at_entry(&self, position: usize, error: Error) -> Error {
        match error {
            error if self.len() == 1 => error,
            Error::Engine { engine, message } => {
                Error::Engine { engine, message: format!("entry {position}: {message}") }
            }
            Error::Connection(message) => Error::Connection(format!("entry {position}: {message}")),
            other => other,
        }
    }
}

/// The keys and bytes that a command has so far.
#[derive(Default)]
struct Filled {
    keys: usize,
    bytes: usize,
}

impl Filled {
    fn takes(&self, size: usize) -> bool {
        self.keys == 0 || (self.keys < MOST_KEYS && self.bytes + size <= MOST_BYTES)
    }

    fn add(&mut self, size: usize) {
        self.keys += 1;
        self.bytes += size;
    }
}

impl<'a> Reply<'a> {
    /// The reply, unless it is an error.
    ///
    /// # Errors
    /// [`Error::Engine`] with the server's message.
    pub fn checked(self) -> Result<Self> {
        match self {
            Self::Error(text) => Err(server_error(text)),
            reply => Ok(reply),
        }
    }

    /// The value of the reply, `None` for nil. A status counts as a value.
    ///
    /// # Errors
    /// [`Error::Engine`] with the server's message, and for integers and arrays.
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

/// Runs `work` with a time-out, if there is one.
pub(crate) async fn within<T>(timeout: Option<Duration>, work: impl Future<Output = Result<T>>) -> Result<T> {
    match timeout {
        None => work.await,
        Some(timeout) => match tokio::time::timeout(timeout, work).await {
            Ok(result) => result,
            Err(_) => Err(Error::Timeout(format!(
                "the Redis server did not answer within {} ms; what was sent may have been executed or not",
                timeout.as_millis()
            ))),
        },
    }
}
