//! A Redis Cluster: every key has a slot, every slot a server.

use std::time::Duration;

use boundary_bench_kernel::driver::{Driver, Tokio};
use boundary_bench_kernel::{Error, Result};
use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;

use crate::connection::Connection;
use crate::engine_error;
use crate::resp::{Answer, Commands, Reply};
use crate::slots::{SLOTS, key_of, slot_of};
use crate::url::{Place, Url};

/// The most rounds in which a command is sent; a redirection or failure in the last one is an error.
const MOST_ROUNDS: u32 = 8;

/// The wait before a retry of a command that a server can't execute while a slot moves; multiplied by the round.
const TRY_AGAIN: Duration = Duration::from_millis(10);

/// The servers of a cluster, each with a connection that is opened when it is needed.
#[derive(Debug)]
pub(crate) struct Cluster {
    url: Url,
    /// The driver of the connections that are opened from now on.
    pub(crate) driver: &'static dyn Driver,
    nodes: Vec<Node>,
    /// The index in `nodes` of every slot's server.
    slots: Vec<u16>,
    /// Whether the slots must be read anew: a server said that they have changed, or could not be reached.
    is_stale: bool,
}

#[derive(Debug)]
struct Node {
    place: Place,
    connection: Option<Connection>,
}

/// The node of a slot that no server has.
const NOWHERE: u16 = u16::MAX;

/// A command with the node that it is sent to next.
#[derive(Debug, Clone, Copy)]
struct Errand {
    command: usize,
    node: u16,
    /// Whether an ASKING goes before the command, since the slot is still moving to this node.
    asking: bool,
}

/// The outcome of a round trip to one node.
struct Return {
    node: u16,
    connection: Option<Connection>,
    errands: Vec<Errand>,
    /// The replies in wire format, one after the other; `ends` has the end of each.
    bytes: Vec<u8>,
    ends: Vec<usize>,
    /// The error of the commands without a reply, and whether they were sent.
    failure: Option<(Error, bool)>,
}

impl Cluster {
    /// The cluster that a server belongs to; `None` where it belongs to none.
    pub(crate) async fn ask(connection: &mut Connection, url: &Url) -> Result<Option<Self>> {
        let (url, slots) = (url.clone(), vec![NOWHERE; SLOTS.into()]);
        let mut cluster = Self { url, driver: &Tokio, nodes: Vec::new(), slots, is_stale: false };
        Ok(cluster.read_slots(connection).await?.then_some(cluster))
    }

    /// Asks a server for the map of slots; `false` where it knows of no cluster.
    async fn read_slots(&mut self, connection: &mut Connection) -> Result<bool> {
        let mut commands = Commands::new();
        commands.push([b"CLUSTER".as_slice(), b"SLOTS"].into_iter());
        let mut ranges = Vec::new();
        let from = connection.place().clone();
        let take = |_, reply: Reply<'_>| {
            let Reply::Array(entries) = reply else { return };
            ranges.extend(entries.filter_map(|entry| range_of(&entry, &from)));
        };
        connection.round_trip(commands.bytes(), 1, take).await?;
        if ranges.is_empty() {
            return Ok(false);
        }
        self.slots.fill(NOWHERE);
        for (start, end, place) in ranges {
            let node = self.node_at(place);
            self.slots[start..=end].fill(node);
        }
        self.is_stale = false;
        Ok(true)
    }

    /// The index of the node at a place, which is added if it is new.
    fn node_at(&mut self, place: Place) -> u16 {
        let known = self.nodes.iter().position(|node| node.place == place).unwrap_or_else(|| {
            self.nodes.push(Node { place, connection: None });
            self.nodes.len() - 1
        });
        u16::try_from(known).unwrap_or(NOWHERE)
    }

    /// Asks one server after the other for the map of slots, until one answers.
    async fn refresh(&mut self) {
        let mut places = self.nodes.iter().map(|node| node.place.clone()).collect::<Vec<_>>();
        places.push(self.url.place.clone());
        for place in places {
            if let Ok(mut connection) = Connection::open_at(&place, &self.url, self.driver).await
                && matches!(self.read_slots(&mut connection).await, Ok(true))
            {
                return;
            }
        }
    }

    fn node_of(&self, command: &[u8]) -> u16 {
        match key_of(command) {
            Some(key) => self.slots[usize::from(slot_of(key))],
            None => self.slots.iter().copied().find(|node| *node != NOWHERE).unwrap_or(NOWHERE),
        }
    }

    /// Runs commands for [`crate::KvClient::execute`].
    pub(crate) async fn execute(&mut self, commands: &Commands, mut each: impl FnMut(usize, Answer<'_, '_>)) {
        if self.is_stale {
            self.refresh().await;
        }
        let errand = |command| Errand { command, node: NOWHERE, asking: false };
        let mut errands = (0..commands.len()).map(errand).collect::<Vec<_>>();
        for errand in &mut errands {
            errand.node = self.node_of(commands.command(errand.command));
        }
        for round in 1.. {
            let mut again = Vec::new();
            for came in self.send(commands, &mut errands, &mut each).await {
                let mut wait = false;
                let mut start = 0;
                for (errand, end) in came.errands.iter().zip(&came.ends) {
                    let bytes = &came.bytes[start..*end];
                    start = *end;
                    let Some(reply) = Reply::read_whole(bytes) else { continue };
                    match self.directed(&reply, *errand) {
                        Some((next, later)) if round < MOST_ROUNDS => {
                            wait |= later;
                            again.push(next);
                        }
                        _ => each(errand.command, Ok(reply)),
                    }
                }
                if wait {
                    tokio::time::sleep(TRY_AGAIN * round).await;
                }
                let Some((error, was_sent)) = came.failure else { continue };
                self.is_stale = true;
                let unanswered = &came.errands[came.ends.len()..];
                if was_sent || round == MOST_ROUNDS {
                    for errand in unanswered {
                        each(errand.command, Err(&error));
                    }
                    continue;
                }
                // None of these commands was executed: another server may have the slots by now.
                self.refresh().await;
                tokio::time::sleep(TRY_AGAIN * round).await;
                let place = self.nodes[usize::from(came.node)].place.clone();
                for errand in unanswered {
                    let node = self.node_of(commands.command(errand.command));
                    if self.nodes.get(usize::from(node)).is_none_or(|node| node.place == place) {
                        each(errand.command, Err(&error));
                    } else {
                        again.push(Errand { node, asking: false, ..*errand });
                    }
                }
            }
            if again.is_empty() {
                return;
            }
            // The replies of one server come in the order of the commands.
            again.sort_unstable_by_key(|errand| errand.command);
            errands = again;
        }
    }

    /// The errand of a command that a server redirects, and whether it must wait; `None` for any other reply.
    fn directed(&mut self, reply: &Reply<'_>, errand: Errand) -> Option<(Errand, bool)> {
        let Reply::Error(text) = reply else { return None };
        let text = std::str::from_utf8(text).ok()?;
        let mut words = text.split(' ');
        let kind = words.next()?;
        match kind {
            "TRYAGAIN" => Some((errand, true)),
            "MOVED" | "ASK" => {
                let slot: usize = words.next()?.parse().ok()?;
                let (host, port) = words.next()?.rsplit_once(':')?;
                let place =
                    place_of(host, port.parse().ok()?, &self.nodes.get(usize::from(errand.node))?.place.clone());
                let node = self.node_at(place);
                if kind == "MOVED" {
                    *self.slots.get_mut(slot)? = node;
                    self.is_stale = true;
                }
                Some((Errand { node, asking: kind == "ASK", ..errand }, false))
            }
            _ => None,
        }
    }

    /// Sends every command to its server, to all servers at once.
    async fn send(
        &mut self,
        commands: &Commands,
        errands: &mut Vec<Errand>,
        each: &mut impl FnMut(usize, Answer<'_, '_>),
    ) -> Vec<Return> {
        let mut by_node: Vec<Vec<Errand>> = vec![Vec::new(); self.nodes.len()];
        for errand in errands.drain(..) {
            if let Some(list) = by_node.get_mut(usize::from(errand.node)) {
                list.push(errand);
            } else {
                self.is_stale = true;
                each(errand.command, Err(&engine_error("no server of the cluster has the slot of the key".to_owned())));
            }
        }
        let (url, driver) = (&self.url, self.driver);
        let trips = FuturesUnordered::new();
        for ((position, node), errands) in self.nodes.iter_mut().enumerate().zip(by_node) {
            if errands.is_empty() {
                continue;
            }
            let position = u16::try_from(position).unwrap_or(NOWHERE);
            // The connection moves into the trip: if this call is dropped, connections with outstanding replies are
            // dropped, too.
            let connection = node.connection.take();
            trips.push(trip(position, &node.place, connection, errands, url, driver, commands));
        }
        let mut returns: Vec<Return> = trips.collect().await;
        for came in &mut returns {
            self.nodes[usize::from(came.node)].connection = came.connection.take();
        }
        returns
    }
}

/// Sends the commands of one server and receives their replies.
async fn trip(
    node: u16,
    place: &Place,
    connection: Option<Connection>,
    errands: Vec<Errand>,
    url: &Url,
    driver: &dyn Driver,
    commands: &Commands,
) -> Return {
    let mut came = Return { node, connection: None, errands, bytes: Vec::new(), ends: Vec::new(), failure: None };
    let mut connection = match connection.filter(Connection::is_usable) {
        Some(connection) => connection,
        None => match Connection::open_at(place, url, driver).await {
            Ok(connection) => connection,
            Err(error) => {
                came.failure = Some((error, false));
                return came;
            }
        },
    };
    let mut bytes = Vec::new();
    // For each reply, whether it answers a command and not an ASKING.
    let mut is_command = Vec::with_capacity(came.errands.len());
    for errand in &came.errands {
        if errand.asking {
            bytes.extend_from_slice(b"*1\r\n$6\r\nASKING\r\n");
            is_command.push(false);
        }
        bytes.extend_from_slice(commands.command(errand.command));
        is_command.push(true);
    }
    let take = |index: usize, reply: &[u8]| {
        if is_command[index] {
            came.bytes.extend_from_slice(reply);
            came.ends.push(came.bytes.len());
        }
    };
    match connection.round_trip_bytes(&bytes, is_command.len(), take).await {
        Ok(()) => came.connection = Some(connection),
        Err(error) => came.failure = Some((error, true)),
    }
    came
}

/// A range of slots and the place of its first server, from an entry of `CLUSTER SLOTS`.
fn range_of(entry: &Reply<'_>, from: &Place) -> Option<(usize, usize, Place)> {
    let Reply::Array(entry) = entry else { return None };
    let mut entry = entry.clone();
    let (Reply::Int(start), Reply::Int(end)) = (entry.next()?, entry.next()?) else { return None };
    let Reply::Array(mut server) = entry.next()? else { return None };
    let host = match server.next()? {
        Reply::Bulk(host) => std::str::from_utf8(host).ok()?.to_owned(),
        _ => String::new(),
    };
    let Reply::Int(port) = server.next()? else { return None };
    let (start, end) = (usize::try_from(start).ok()?, usize::try_from(end).ok()?);
    let place = place_of(&host, u16::try_from(port).ok()?, from);
    (start <= end && end < usize::from(SLOTS)).then_some((start, end, place))
}

/// The place of a server that the server at `from` names; an empty or unknown host means that of `from`.
fn place_of(host: &str, port: u16, from: &Place) -> Place {
    match from {
        Place::Tcp { host: known, tls, .. } => {
            let host = if host.is_empty() || host == "?" { known } else { host };
            Place::Tcp { host: host.to_owned(), port, tls: *tls }
        }
        Place::Unix(_) => Place::Tcp { host: host.to_owned(), port, tls: false },
    }
}
