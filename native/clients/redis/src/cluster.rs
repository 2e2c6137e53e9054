//! A Redis Cluster: every key has a slot, every slot a server.

use std::time::Duration;

use boundary_bench_kernel::driver::{Driver, Tokio};
use boundary_bench_kernel::socket::CONNECT_TIMEOUT;
use boundary_bench_kernel::timeout::within;
use boundary_bench_kernel::{Error, Result};
use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;

use crate::connection::Connection;
use crate::gather::ReplyGatherer;
use crate::plan::{Plan, Step};
use crate::resp::{CommandOutcome, Commands, Reply};
use crate::round::{Direction, Next};
use crate::routing::Target;
use crate::slots::SLOTS;
use crate::state::{TransactionPart, is_misdirected};
use crate::trip::{Errand, Return, trip};
use crate::url::{Endpoint, Url};
use crate::{engine_error, no_answer, server_error};

/// The most rounds in which a command is sent. A redirection or failure in the last one is an error.
const MOST_ROUNDS: u32 = 8;

/// The wait before a retry of a command that a server can't execute now, as while a slot moves. It is multiplied by the round.
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
    /// Whether the slots must be read again: a server said that they have changed, or could not be reached.
    is_stale: bool,
}

#[derive(Debug)]
struct Node {
    place: Endpoint,
    connection: Option<Connection>,
}

/// The node of a slot that no server has.
const NOWHERE: u16 = u16::MAX;

impl Cluster {
    /// The cluster that a server belongs to. `None` if it belongs to none, or does not say so, unless the URL says it.
    pub(crate) async fn ask(connection: &mut Connection, url: &Url) -> Result<Option<Self>> {
        let slots = vec![NOWHERE; SLOTS.into()];
        let mut cluster = Self { url: url.clone(), driver: &Tokio, nodes: Vec::new(), slots, is_stale: false };
        let problem = match cluster.read_slots(connection).await {
            Ok(true) => return Ok(Some(cluster)),
            Ok(false) => "it knows of no slots".to_owned(),
            // An error reply, and not an error of the connection.
            Err(refusal) if connection.is_usable() => refusal.to_string(),
            Err(error) => return Err(error),
        };
        if url.cluster == Some(true) {
            let place = &url.place;
            return Err(engine_error(format!(
                "{place} is not a server of a cluster ({problem}); leave out ?cluster=true"
            )));
        }
        Ok(None)
    }

    /// Asks a server for the map of slots. Returns `false` if it knows of no cluster.
    async fn read_slots(&mut self, connection: &mut Connection) -> Result<bool> {
        let mut commands = Commands::new();
        commands.push([b"CLUSTER".as_slice(), b"SLOTS"].into_iter());
        let mut ranges = Vec::new();
        let mut refusal = None;
        let from = connection.place().clone();
        let take = |_, reply: Reply<'_>| match reply {
            Reply::Array(entries) => ranges.extend(entries.filter_map(|entry| range_of(&entry, &from))),
            Reply::Error(text) => refusal = Some(server_error(text)),
            _ => {}
        };
        connection.round_trip(commands.bytes(), 1, take).await?;
        if let Some(refusal) = refusal {
            return Err(refusal);
        }
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

    /// The index of the node at a place. The node is added if it is new.
    fn node_at(&mut self, place: Endpoint) -> u16 {
        let known = self.nodes.iter().position(|node| node.place == place).unwrap_or_else(|| {
            self.nodes.push(Node { place, connection: None });
            self.nodes.len() - 1
        });
        u16::try_from(known).unwrap_or(NOWHERE)
    }

    /// Asks one server after the other for the map of slots, until one answers.
    async fn refresh(&mut self) {
        for at in 0..=self.nodes.len() {
            let place = self.nodes.get(at).map_or(&self.url.place, |node| &node.place).clone();
            let kept = self.nodes.get_mut(at).and_then(|node| node.connection.take()).filter(Connection::is_usable);
            let mut connection = match kept {
                Some(connection) => connection,
                None => match Connection::open_at(&place, &self.url, self.driver).await {
                    Ok(connection) => connection,
                    Err(_) => continue,
                },
            };
            let is_known = within(Some(CONNECT_TIMEOUT), self.read_slots(&mut connection), no_answer).await;
            if let Some(node) = self.nodes.get_mut(at).filter(|node| node.place == place && connection.is_usable()) {
                node.connection = Some(connection);
            }
            if matches!(is_known, Ok(true)) {
                return;
            }
        }
    }

    /// The master that a command goes to. For a command of any master, it is not the lost one.
    fn node_of(&self, step: &Step, lost: Option<u16>) -> u16 {
        match step.target {
            Target::Slot(slot) => self.slots[usize::from(slot)],
            Target::One | Target::All(_) | Target::Refused => {
                let usable = |node: &u16| *node != NOWHERE && Some(*node) != lost;
                self.slots.iter().copied().find(usable).unwrap_or(NOWHERE)
            }
        }
    }

    /// The masters, each once.
    fn masters(&self) -> Vec<u16> {
        let mut masters = self.slots.clone();
        masters.sort_unstable();
        masters.dedup();
        masters.retain(|node| *node != NOWHERE);
        masters
    }

    /// The node for a command of all masters that a node did not execute: a new master instead of a node that is no master any more, else
    /// the same node again.
    fn successor(&self, errand: Errand, asked: &mut Vec<(usize, u16)>) -> u16 {
        let masters = self.masters();
        let new = masters.iter().copied().find(|node| !asked.contains(&(errand.command, *node)));
        match new {
            Some(new) if !masters.contains(&errand.node) => {
                asked.push((errand.command, new));
                new
            }
            _ => errand.node,
        }
    }

    /// Runs commands by their plan for [`crate::KvClient::execute`].
    pub(crate) async fn execute(
        &mut self,
        commands: &Commands,
        plan: &Plan,
        each: impl FnMut(usize, CommandOutcome<'_, '_>),
    ) {
        let needs_all = plan.needs_all();
        // A master that this client has not met yet is one of all as well.
        if self.is_stale || needs_all {
            self.refresh().await;
        }
        let masters = if needs_all { self.masters() } else { Vec::new() };
        // The masters that a command of all masters was sent to.
        let mut asked: Vec<(usize, u16)> = Vec::new();
        let mut answers = ReplyGatherer::new(each);
        let mut errands = Vec::with_capacity(plan.steps.len());
        for (command, step) in plan.steps.iter().enumerate() {
            match step.target {
                Target::All(combine) if !masters.is_empty() => {
                    answers.expect(command, combine, masters.len());
                    errands.extend(masters.iter().map(|node| Errand { command, node: *node, asking: false }));
                    asked.extend(masters.iter().map(|node| (command, *node)));
                }
                _ => errands.push(Errand { command, node: self.node_of(step, None), asking: false }),
            }
        }
        for round in 1.. {
            let mut next = Next::default();
            for came in self.send(commands, plan, &mut errands, &mut answers).await {
                self.take_replies(&came, plan, round, &mut next, &mut answers);
                if let Some((error, was_sent)) = &came.failure {
                    self.take_failure(&came, (error, *was_sent), plan, round, &mut next, &mut answers).await;
                }
            }
            if next.must_wait {
                tokio::time::sleep(TRY_AGAIN * round).await;
            }
            if !next.anew.is_empty() {
                self.refresh().await;
                for errand in next.anew {
                    let node = match plan.steps[errand.command].target {
                        Target::All(_) => self.successor(errand, &mut asked),
                        _ => self.node_of(&plan.steps[errand.command], None),
                    };
                    next.errands.push(Errand { node, asking: false, ..errand });
                }
            }
            if next.errands.is_empty() {
                return;
            }
            // The replies of one server come in the order of the commands.
            errands = in_order(next.errands);
        }
    }

    /// Gives the replies of one server to the caller, except those that say to send the command elsewhere or again.
    fn take_replies(
        &mut self,
        came: &Return,
        plan: &Plan,
        round: u32,
        next: &mut Next,
        answers: &mut ReplyGatherer<impl FnMut(usize, CommandOutcome<'_, '_>)>,
    ) {
        let mut start = 0;
        // The transaction whose end has not come yet.
        let mut transaction: Vec<(Errand, &[u8])> = Vec::new();
        for (errand, end) in came.errands.iter().zip(&came.ends) {
            let bytes = &came.bytes[start..*end];
            start = *end;
            let step = &plan.steps[errand.command];
            if step.transaction.is_some() {
                transaction.push((*errand, bytes));
                if step.place != TransactionPart::Last {
                    continue;
                }
                let whole = std::mem::take(&mut transaction);
                // A transaction with a command that was not executed is executed in no part, unless its end says otherwise.
                let was_executed = matches!(Reply::read_whole(bytes), Some(Reply::Array(_) | Reply::Nil));
                let direction = whole.iter().find_map(|(errand, bytes)| self.directed(bytes, *errand));
                match direction.filter(|_| round < MOST_ROUNDS && !was_executed) {
                    Some(direction) => whole.iter().for_each(|(errand, _)| next.add(*errand, direction)),
                    None => whole.iter().for_each(|(errand, bytes)| answers.reply(errand.command, bytes)),
                }
                continue;
            }
            match self.directed(bytes, *errand).filter(|_| round < MOST_ROUNDS) {
                Some(direction) => next.add(*errand, direction),
                None => answers.reply(errand.command, bytes),
            }
        }
        transaction.iter().for_each(|(errand, bytes)| answers.reply(errand.command, bytes));
    }

    /// Sends the commands that a lost server surely did not execute to another one if it has their slots by now. The other
    /// commands have failed.
    async fn take_failure(
        &mut self,
        came: &Return,
        (error, was_sent): (&Error, bool),
        plan: &Plan,
        round: u32,
        next: &mut Next,
        answers: &mut ReplyGatherer<impl FnMut(usize, CommandOutcome<'_, '_>)>,
    ) {
        self.is_stale = true;
        let unanswered = &came.errands[came.ends.len()..];
        if was_sent || round == MOST_ROUNDS {
            unanswered.iter().for_each(|errand| answers.error(errand.command, error));
            return;
        }
        self.refresh().await;
        tokio::time::sleep(TRY_AGAIN * round).await;
        let place = self.nodes[usize::from(came.node)].place.clone();
        for errand in unanswered {
            let step = &plan.steps[errand.command];
            let node = self.node_of(step, Some(came.node));
            let is_lost = self.nodes.get(usize::from(node)).is_none_or(|node| node.place == place);
            if is_lost || matches!(step.target, Target::All(_)) {
                answers.error(errand.command, error);
            } else {
                next.errands.push(Errand { node, asking: false, ..*errand });
            }
        }
    }

    /// The direction in a reply in wire format, or `None` for any other reply.
    fn directed(&mut self, reply: &[u8], errand: Errand) -> Option<Direction> {
        let Reply::Error(text) = Reply::read_whole(reply)? else { return None };
        if is_misdirected(text) {
            self.is_stale = true;
            return Some(Direction::Anew);
        }
        let text = std::str::from_utf8(text).ok()?;
        let mut words = text.split(' ');
        let kind = words.next()?;
        match kind {
            "TRYAGAIN" => Some(Direction::Later),
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
                Some(Direction::To { node, asking: kind == "ASK" })
            }
            _ => None,
        }
    }

    /// Sends every command to its server, to all servers at once.
    async fn send(
        &mut self,
        commands: &Commands,
        plan: &Plan,
        errands: &mut Vec<Errand>,
        answers: &mut ReplyGatherer<impl FnMut(usize, CommandOutcome<'_, '_>)>,
    ) -> Vec<Return> {
        let mut by_node: Vec<Vec<Errand>> = vec![Vec::new(); self.nodes.len()];
        for errand in errands.drain(..) {
            if let Some(list) = by_node.get_mut(usize::from(errand.node)) {
                list.push(errand);
            } else {
                self.is_stale = true;
                let error = engine_error("no server of the cluster has the slot of the key".to_owned());
                answers.error(errand.command, &error);
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
            trips.push(trip(position, &node.place, connection, errands, url, driver, (commands, plan)));
        }
        let mut returns: Vec<Return> = trips.collect().await;
        for came in &mut returns {
            self.nodes[usize::from(came.node)].connection = came.connection.take();
        }
        returns
    }
}

/// A range of slots and the place of its first server, from an entry of `CLUSTER SLOTS`.
fn range_of(entry: &Reply<'_>, from: &Endpoint) -> Option<(usize, usize, Endpoint)> {
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

/// The place of a server that the server at `from` names. An empty or unknown host means the host of `from`.
fn place_of(host: &str, port: u16, from: &Endpoint) -> Endpoint {
    match from {
        Endpoint::Tcp { host: known, tls, .. } => {
            let host = if host.is_empty() || host == "?" { known } else { host };
            Endpoint::Tcp { host: host.to_owned(), port, tls: *tls }
        }
        Endpoint::Unix(_) => Endpoint::Tcp { host: host.to_owned(), port, tls: false },
    }
}

/// The errands in the order of their commands. It is no part of a generic function: each instance would have a copy of the sort.
fn in_order(mut errands: Vec<Errand>) -> Vec<Errand> {
    errands.sort_unstable_by_key(|errand| errand.command);
    errands
}
