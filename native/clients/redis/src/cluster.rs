//! A Redis Cluster: every key has a slot, every slot a server.
//!
//! A server that does not answer holds up only the commands that it was sent: each call waits for the servers of its own commands, and each
//! server has a [`crate::lane::Lane`] of its own.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use boundary_bench_kernel::driver::{Driver, Tokio};
use boundary_bench_kernel::socket::CONNECT_TIMEOUT;
use boundary_bench_kernel::{Error, Result, lock};
use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use tokio::time::timeout;

use crate::connection::Connection;
use crate::engine_error;
use crate::gather::ReplyGatherer;
use crate::lane::{Parcel, Ticket};
use crate::map::{Map, NOWHERE, Range, ranges_of};
use crate::order::{Direction, keep_order, units};
use crate::plan::Plan;
use crate::redirect::{Author, Refusal};
use crate::resp::{CommandOutcome, Commands, Reply};
use crate::routing::Target;
use crate::state::is_misdirected;
use crate::trip::{Errand, Return, parcel_of};
use crate::url::{Endpoint, Url};

/// The most rounds in which a command is sent. A redirection or failure in the last one is an error.
const MOST_ROUNDS: u32 = 8;

/// The wait before a retry of a command that a server can't execute now, as while a slot moves. It is multiplied by the round.
const TRY_AGAIN: Duration = Duration::from_millis(10);

/// The time that a server has to tell the slots before another one is asked as well.
const PATIENCE: Duration = Duration::from_millis(250);

/// The question for the map of slots.
const SLOTS_QUESTION: &[u8] = b"*2\r\n$7\r\nCLUSTER\r\n$5\r\nSLOTS\r\n";

/// The servers of a cluster, for many calls at once.
#[derive(Debug)]
pub(crate) struct Cluster {
    url: Arc<Url>,
    /// The driver of the connections that are opened from now on.
    pub(crate) driver: &'static dyn Driver,
    map: Mutex<Map>,
    /// Held while the map is read again.
    reading: tokio::sync::Mutex<()>,
    /// Whether calls that begin at the same time are sent together.
    collects: AtomicBool,
}

/// The commands of a call, with their plan.
type Call<'a> = (&'a Commands, &'a Plan);

/// A part of a call that takes time.
enum Leg {
    /// Errands to one node.
    Trip(u16, Vec<Errand>),
    /// The wait before errands that were not executed are sent again.
    Rest(Rest),
}

/// Errands that were not executed.
#[derive(Default)]
struct Rest {
    errands: Vec<(Errand, Direction)>,
    /// The error of errands that could not be sent. They fail with it if no other node has their slots.
    failure: Option<Error>,
}

/// The end of a leg.
enum Arrival {
    Came(Return),
    Rested(Rest),
}

/// The first errands of a call.
struct Departure {
    errands: Vec<Errand>,
    /// The masters, if some command goes to all of them.
    masters: Vec<u16>,
    /// The edition of the map, if it may be wrong.
    doubted: Option<u32>,
}

impl Cluster {
    /// Connects to one of the servers that a URL names, and asks it for its cluster. Each further server is asked as well if those before
    /// it fail or keep silent.
    pub(crate) async fn find(url: &Arc<Url>) -> Result<(Connection, Option<Self>)> {
        let ask = |place: &Endpoint| {
            let place = place.clone();
            async move {
                let mut connection = Connection::open_untimed(&place, url, &Tokio).await?;
                let cluster = if url.cluster == Some(false) { None } else { Self::ask(&mut connection, url).await? };
                Ok((connection, cluster))
            }
        };
        // The caller has a time-out.
        first_answer(url.places().collect(), Duration::MAX, ask).await
    }

    /// The cluster that a server belongs to. `None` if it belongs to none, or does not say so, unless the URL says it.
    pub(crate) async fn ask(connection: &mut Connection, url: &Arc<Url>) -> Result<Option<Self>> {
        let mut ranges = Ok(Vec::new());
        let place = connection.place().clone();
        connection.round_trip(SLOTS_QUESTION, 1, |_, reply| ranges = ranges_of(reply, &place)).await?;
        let problem = match ranges {
            Ok(ranges) if !ranges.is_empty() => {
                let mut map = Map::new(url.places());
                map.install(ranges);
                let url = Arc::clone(url);
                let reading = tokio::sync::Mutex::default();
                let collects = AtomicBool::new(false);
                return Ok(Some(Self { url, driver: &Tokio, map: Mutex::new(map), reading, collects }));
            }
            Ok(_) => "it knows of no slots".to_owned(),
            Err(refusal) => refusal.to_string(),
        };
        if url.cluster == Some(true) {
            return Err(engine_error(format!(
                "{place} is not a server of a cluster ({problem}); leave out ?cluster=true, and name one host"
            )));
        }
        Ok(None)
    }

    fn map(&self) -> MutexGuard<'_, Map> {
        lock(&self.map)
    }

    /// The places of all servers of which the client has heard.
    pub(crate) fn places(&self) -> Vec<Endpoint> {
        self.map().places().cloned().collect()
    }

    /// The node that commands with a target go to.
    pub(crate) fn node_of(&self, target: Target) -> u16 {
        self.map().node_of(target, None)
    }

    /// Sends one command to a node. `None` if the map of slots may be wrong: then nothing is sent.
    pub(crate) fn send_to(&self, node: u16, commands: Vec<u8>) -> Option<Ticket> {
        let lane = {
            let mut map = self.map();
            if node == NOWHERE || map.is_stale || map.is_doubtful(node) {
                return None;
            }
            map.lane(node, &self.url, self.driver)
        };
        Some(lane.send(Parcel { commands, replies: 1, ..Parcel::default() }, false))
    }

    /// Has calls that begin at the same time be sent together. It costs a call that is alone one more turn of its task.
    pub(crate) fn collect(&self) {
        self.collects.store(true, Ordering::Relaxed);
    }

    /// Has later calls to a node take another connection, since the node does not answer.
    pub(crate) fn give_up(&self, node: u16) {
        self.map().retire(node);
    }

    /// Has later calls to all nodes take other connections.
    pub(crate) fn give_up_all(&self) {
        let map = self.map();
        (0..).zip(map.places()).for_each(|(node, _)| map.retire(node));
    }

    /// Reads the map of slots again, unless another call has tried to since `edition`. It asks all servers of which the client has heard,
    /// until one answers.
    async fn refresh(&self, edition: u32) {
        let _reading = self.reading.lock().await;
        let seeds = {
            let mut map = self.map();
            if map.edition != edition {
                return;
            }
            map.edition += 1;
            map.seeds()
        };
        let ask = |seed| async move { self.ask_slots(seed).await.ok_or(Error::Closed("the connection")) };
        if let Ok(ranges) = first_answer(seeds, CONNECT_TIMEOUT, ask).await {
            self.map().install(ranges);
        }
    }

    /// Asks a node for the map of slots.
    async fn ask_slots(&self, node: u16) -> Option<Vec<Range>> {
        let (lane, from) = {
            let mut map = self.map();
            (map.lane(node, &self.url, self.driver), map.place(node)?.clone())
        };
        let parcel = Parcel { commands: SLOTS_QUESTION.to_vec(), replies: 1, ..Parcel::default() };
        let answers = lane.send(parcel, false).await;
        let reply = Reply::read_whole((answers.len() == 1).then(|| answers.reply(0))?)?;
        ranges_of(reply, &from).ok().filter(|ranges| !ranges.is_empty())
    }

    /// Runs commands by their plan for [`crate::KvClient::execute`].
    pub(crate) async fn execute(&self, call: Call<'_>, each: impl FnMut(usize, CommandOutcome<'_, '_>)) {
        let plan = call.1;
        let mut departure = self.departure(plan);
        if let Some(edition) = departure.doubted {
            self.refresh(edition).await;
            departure = self.departure(plan);
        }
        let Departure { errands, masters, .. } = departure;
        let mut answers = ReplyGatherer::new(each);
        // The masters that a command of all masters was sent to.
        let mut asked: Vec<(usize, u16)> = Vec::new();
        for (command, step) in plan.steps.iter().enumerate().filter(|_| !masters.is_empty()) {
            if let Target::All(combine) = step.target {
                answers.expect(command, combine, masters.len());
                asked.extend(masters.iter().map(|node| (command, *node)));
            }
        }
        let mut legs = FuturesUnordered::new();
        legs.extend(self.trips(errands, &mut answers).map(|leg| self.travel(leg, 1, call)));
        while let Some((arrival, round)) = legs.next().await {
            match arrival {
                Arrival::Came(came) => {
                    let rest = self.settle(&came, round, call, &mut answers);
                    legs.extend(rest.map(|rest| self.travel(Leg::Rest(rest), round, call)));
                }
                Arrival::Rested(rest) => {
                    let errands = self.resumed(rest, plan, &mut asked, &mut answers);
                    legs.extend(self.trips(errands, &mut answers).map(|leg| self.travel(leg, round + 1, call)));
                }
            }
        }
    }

    /// The first errands of a plan, by the map as it is now.
    fn departure(&self, plan: &Plan) -> Departure {
        let map = self.map();
        let needs_all = plan.needs_all();
        let masters = if needs_all { map.masters() } else { Vec::new() };
        let mut errands = Vec::with_capacity(plan.steps.len());
        for (command, step) in plan.steps.iter().enumerate() {
            match step.target {
                Target::All(_) if !masters.is_empty() => {
                    errands.extend(masters.iter().map(|node| Errand { command, node: *node, asking: false }));
                }
                target => errands.push(Errand { command, node: map.node_of(target, None), asking: false }),
            }
        }
        let doubtful = map.doubtful();
        let is_doubtful = |errand: &Errand| errand.node == NOWHERE || doubtful.contains(&errand.node);
        // A master that this client has not met yet is one of all as well.
        let is_doubted = needs_all || map.is_stale || errands.iter().any(is_doubtful);
        Departure { errands, masters, doubted: is_doubted.then_some(map.edition) }
    }

    /// The trips of errands. Those that no server can execute fail.
    fn trips(
        &self,
        errands: Vec<Errand>,
        answers: &mut ReplyGatherer<impl FnMut(usize, CommandOutcome<'_, '_>)>,
    ) -> impl Iterator<Item = Leg> {
        let mut trips = by_node(errands);
        if let Some(lost) = trips.iter().position(|(node, _)| *node == NOWHERE) {
            self.map().is_stale = true;
            let error = engine_error("no server of the cluster has the slot of the key".to_owned());
            trips.swap_remove(lost).1.iter().for_each(|errand| answers.error(errand.command, &error));
        }
        trips.into_iter().map(|(node, errands)| Leg::Trip(node, errands))
    }

    async fn travel(&self, leg: Leg, round: u32, (commands, plan): Call<'_>) -> (Arrival, u32) {
        let arrival = match leg {
            Leg::Trip(node, errands) => {
                let lane = self.map().lane(node, &self.url, self.driver);
                let answers =
                    lane.send(parcel_of(&errands, commands, plan), self.collects.load(Ordering::Relaxed)).await;
                Arrival::Came(Return { node, errands, answers })
            }
            Leg::Rest(rest) => {
                let edition = self.map().edition;
                let has = |wanted: &[Direction]| rest.errands.iter().any(|(_, direction)| wanted.contains(direction));
                if has(&[Direction::Later, Direction::Anew]) {
                    tokio::time::sleep(TRY_AGAIN * round).await;
                }
                if has(&[Direction::Anew]) {
                    self.refresh(edition).await;
                }
                Arrival::Rested(rest)
            }
        };
        (arrival, round)
    }

    /// Gives the replies of one server to the caller, except those that say to send the command elsewhere or again. Commands that were
    /// surely not executed are sent again.
    fn settle(
        &self,
        came: &Return,
        round: u32,
        call: Call<'_>,
        answers: &mut ReplyGatherer<impl FnMut(usize, CommandOutcome<'_, '_>)>,
    ) -> Option<Rest> {
        let Return { errands, answers: replies, .. } = came;
        let is_last = round == MOST_ROUNDS;
        if let (Some((error, false)), false) = (&replies.failure, is_last) {
            let errands = errands.iter().map(|errand| (*errand, Direction::Anew)).collect();
            return Some(Rest { errands, failure: Some(error.clone()) });
        }
        let mut answer = |at: usize| match (&replies.failure, at < replies.len()) {
            (_, true) => answers.reply(errands[at].command, replies.reply(at)),
            (Some((error, _)), false) => answers.error(errands[at].command, error),
            (None, false) => answers.error(errands[at].command, &Error::Closed("the connection")),
        };
        let is_refused = |at: usize| at >= replies.len() || replies.reply(at).starts_with(b"-");
        if is_last || !(0..errands.len()).any(is_refused) {
            (0..errands.len()).for_each(answer);
            return None;
        }
        let mut units = units(came, call, |at, is_queued| self.directed(came, at, is_queued, call));
        keep_order(&mut units, came, call);
        let mut rest = Rest::default();
        for unit in units {
            match unit.direction {
                Some(direction) => rest.errands.extend(unit.errands.iter().map(|at| (errands[*at], direction))),
                None => unit.errands.into_iter().for_each(&mut answer),
            }
        }
        (!rest.errands.is_empty()).then_some(rest)
    }

    /// The direction in the reply to an errand, or `None` for any other reply.
    fn directed(&self, came: &Return, at: usize, is_queued: bool, (commands, plan): Call<'_>) -> Option<Direction> {
        let Reply::Error(text) = Reply::read_whole(came.answers.reply(at))? else { return None };
        let command = came.errands[at].command;
        let slot = if let Target::Slot(slot) = plan.steps[command].target { Some(slot) } else { None };
        let author = if is_queued { Author::Server } else { Author::of(commands.command(command)) };
        match author.refusal(text, slot) {
            Some(Refusal::Elsewhere { place, is_moved }) => {
                let node = self.map().redirected(came.node, place, slot.filter(|_| is_moved))?;
                Some(Direction::To { node, asking: !is_moved })
            }
            Some(Refusal::Later) => Some(Direction::Later),
            Some(Refusal::Anew) => Some(Direction::Anew),
            None => {
                // The caller gets the error, which may be the server's. Later calls must not get it again.
                self.map().is_stale |= text.starts_with(b"MOVED ") || is_misdirected(text);
                None
            }
        }
    }

    /// The errands of the next round.
    fn resumed(
        &self,
        rest: Rest,
        plan: &Plan,
        asked: &mut Vec<(usize, u16)>,
        answers: &mut ReplyGatherer<impl FnMut(usize, CommandOutcome<'_, '_>)>,
    ) -> Vec<Errand> {
        let map = self.map();
        let mut errands = Vec::with_capacity(rest.errands.len());
        for (errand, direction) in rest.errands {
            let target = plan.steps[errand.command].target;
            let is_for_all = matches!(target, Target::All(_));
            let next = match (direction, &rest.failure) {
                (Direction::To { node, asking }, _) => Errand { node, asking, ..errand },
                (Direction::Later, _) => errand,
                (Direction::Anew, None) if is_for_all => {
                    Errand { node: successor(&map.masters(), errand, asked), asking: false, ..errand }
                }
                (Direction::Anew, None) => Errand { node: map.node_of(target, None), asking: false, ..errand },
                (Direction::Anew, Some(error)) => {
                    let node = map.node_of(target, Some(errand.node));
                    if is_for_all || node == errand.node || node == NOWHERE {
                        answers.error(errand.command, error);
                        continue;
                    }
                    Errand { node, asking: false, ..errand }
                }
            };
            errands.push(next);
        }
        errands
    }
}

/// Asks each seed, if those before it have failed or kept silent for [`PATIENCE`]. Waits for `last` behind the last one. Returns the first
/// answer.
async fn first_answer<S, T, F>(seeds: Vec<S>, last: Duration, ask: impl Fn(S) -> F) -> Result<T>
where
    F: Future<Output = Result<T>>,
{
    let (count, mut asked, mut failure) = (seeds.len(), FuturesUnordered::new(), Error::Closed("the connection"));
    for (at, seed) in seeds.into_iter().enumerate() {
        asked.push(ask(seed));
        let answer = async {
            while let Some(answer) = asked.next().await {
                match answer {
                    Ok(answer) => return Some(answer),
                    Err(error) => failure = error,
                }
            }
            None
        };
        if let Ok(Some(answer)) = timeout(if at + 1 == count { last } else { PATIENCE }, answer).await {
            return Ok(answer);
        }
    }
    Err(failure)
}

/// The node for a command of all masters that a node did not execute: a new master instead of a node that is no master any more, else the
/// same node again.
fn successor(masters: &[u16], errand: Errand, asked: &mut Vec<(usize, u16)>) -> u16 {
    let new = masters.iter().copied().find(|node| !asked.contains(&(errand.command, *node)));
    match new {
        Some(new) if !masters.contains(&errand.node) => {
            asked.push((errand.command, new));
            new
        }
        _ => errand.node,
    }
}

/// The errands of each node, in the order of their commands: the replies of one server come in that order.
fn by_node(mut errands: Vec<Errand>) -> Vec<(u16, Vec<Errand>)> {
    errands.sort_unstable_by_key(|errand| errand.command);
    let mut nodes: Vec<(u16, Vec<Errand>)> = Vec::new();
    for errand in errands {
        match nodes.iter_mut().find(|(node, _)| *node == errand.node) {
            Some((_, list)) => list.push(errand),
            None => nodes.push((errand.node, vec![errand])),
        }
    }
    nodes
}
