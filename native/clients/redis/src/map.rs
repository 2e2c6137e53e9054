//! The map of a cluster: its servers, and the server of each slot.

use std::sync::Arc;

use boundary_bench_kernel::Result;
use boundary_bench_kernel::driver::Driver;

use crate::lane::Lane;
use crate::resp::Reply;
use crate::routing::Target;
use crate::server_error;
use crate::slots::SLOTS;
use crate::url::{Endpoint, Url};

/// The node of a slot that no server has.
pub(crate) const NOWHERE: u16 = u16::MAX;

#[derive(Debug)]
pub(crate) struct Map {
    nodes: Vec<Node>,
    /// The index in `nodes` of every slot's server.
    slots: Vec<u16>,
    /// Whether the slots must be read again: a server said that they have changed, or could not be reached.
    pub(crate) is_stale: bool,
    /// The number of times that the slots were read, or could not be.
    pub(crate) edition: u32,
    /// The node that said last that a slot has moved.
    informed: u16,
}

#[derive(Debug)]
struct Node {
    place: Endpoint,
    lane: Option<Arc<Lane>>,
}

/// A range of slots and the places of its servers, its master first.
pub(crate) struct Range {
    start: usize,
    end: usize,
    places: Vec<Endpoint>,
}

impl Map {
    /// A map that knows no slots yet, and these servers to ask for them.
    pub(crate) fn new<'a>(seeds: impl Iterator<Item = &'a Endpoint>) -> Self {
        let nodes = seeds.map(|seed| Node { place: seed.clone(), lane: None }).collect();
        Self { nodes, slots: vec![NOWHERE; SLOTS.into()], is_stale: true, edition: 0, informed: NOWHERE }
    }

    /// Takes the ranges that a server told.
    pub(crate) fn install(&mut self, ranges: Vec<Range>) {
        self.slots.fill(NOWHERE);
        for Range { start, end, places } in ranges {
            for (at, place) in places.into_iter().enumerate() {
                // Replicas can be asked for the slots as well.
                let node = self.node_at(place);
                if at == 0 {
                    self.slots[start..=end].fill(node);
                }
            }
        }
        self.is_stale = false;
        let masters = self.masters();
        for (at, node) in self.nodes.iter_mut().enumerate() {
            node.lane.take_if(|_| !masters.contains(&index(at)));
        }
    }

    /// The index of the node at a place. The node is added if it is new.
    fn node_at(&mut self, place: Endpoint) -> u16 {
        let known = self.nodes.iter().position(|node| node.place == place).unwrap_or_else(|| {
            self.nodes.push(Node { place, lane: None });
            self.nodes.len() - 1
        });
        index(known)
    }

    /// The node that a server at `from` sends a client to. A slot that has moved there is noted.
    pub(crate) fn redirected(&mut self, from: u16, (host, port): (&str, u16), moved: Option<u16>) -> Option<u16> {
        let place = place_of(host, port, self.place(from)?);
        let node = self.node_at(place);
        if let Some(slot) = moved {
            self.slots[usize::from(slot)] = node;
            (self.is_stale, self.informed) = (true, from);
        }
        Some(node)
    }

    pub(crate) fn place(&self, node: u16) -> Option<&Endpoint> {
        self.nodes.get(usize::from(node)).map(|node| &node.place)
    }

    /// The places of all nodes.
    pub(crate) fn places(&self) -> impl Iterator<Item = &Endpoint> {
        self.nodes.iter().map(|node| &node.place)
    }

    /// The master that a command goes to. For a command of any master, it is not the lost one.
    pub(crate) fn node_of(&self, target: Target, lost: Option<u16>) -> u16 {
        match target {
            Target::Slot(slot) => self.slots[usize::from(slot)],
            Target::One | Target::All(_) | Target::Refused => {
                let usable = |node: &u16| *node != NOWHERE && Some(*node) != lost;
                let first = self.slots.iter().copied().find(usable).unwrap_or(NOWHERE);
                if !self.is_doubtful(first) {
                    return first;
                }
                // A master that does not answer is the last choice.
                let mut others = self.masters().into_iter().filter(usable);
                others.find(|node| !self.is_doubtful(*node)).unwrap_or(first)
            }
        }
    }

    /// The masters, each once.
    pub(crate) fn masters(&self) -> Vec<u16> {
        let mut masters = self.slots.clone();
        masters.sort_unstable();
        masters.dedup();
        masters.retain(|node| *node != NOWHERE);
        masters
    }

    /// The nodes in the order in which to ask them for the slots: first the one that knows of a change, last those that did not answer.
    pub(crate) fn seeds(&self) -> Vec<u16> {
        let masters = self.masters();
        let mut seeds = (0..self.nodes.len()).map(index).collect::<Vec<_>>();
        seeds.sort_by_key(|node| {
            let has_lane = self.nodes[usize::from(*node)].lane.is_some();
            (self.is_doubtful(*node), *node != self.informed, !has_lane, !masters.contains(node))
        });
        seeds
    }

    /// The nodes to which the last connection was lost, or given up since they did not answer.
    pub(crate) fn doubtful(&self) -> Vec<u16> {
        (0..self.nodes.len()).map(index).filter(|node| self.is_doubtful(*node)).collect()
    }

    pub(crate) fn is_doubtful(&self, node: u16) -> bool {
        let lane = self.nodes.get(usize::from(node)).and_then(|node| node.lane.as_ref());
        lane.is_some_and(|lane| !lane.is_usable())
    }

    /// The lane to a node, a new one if it has none that takes calls.
    pub(crate) fn lane(&mut self, node: u16, url: &Arc<Url>, driver: &'static dyn Driver) -> Arc<Lane> {
        let node = &mut self.nodes[usize::from(node)];
        node.lane.take_if(|lane| !lane.is_usable());
        let open = || Arc::new(Lane::new(node.place.clone(), Arc::clone(url), driver));
        Arc::clone(node.lane.get_or_insert_with(open))
    }

    /// Has later calls to a node take another connection.
    pub(crate) fn retire(&self, node: u16) {
        if let Some(lane) = self.nodes.get(usize::from(node)).and_then(|node| node.lane.as_ref()) {
            lane.retire();
        }
    }
}

fn index(position: usize) -> u16 {
    u16::try_from(position).unwrap_or(NOWHERE)
}

/// The ranges in a reply to CLUSTER SLOTS of the server at `from`. They are empty if it knows of no cluster.
pub(crate) fn ranges_of(reply: Reply<'_>, from: &Endpoint) -> Result<Vec<Range>> {
    match reply {
        Reply::Array(entries) => Ok(entries.filter_map(|entry| range_of(&entry, from)).collect()),
        Reply::Error(text) => Err(server_error(text)),
        _ => Ok(Vec::new()),
    }
}

fn range_of(entry: &Reply<'_>, from: &Endpoint) -> Option<Range> {
    let Reply::Array(entry) = entry else { return None };
    let mut entry = entry.clone();
    let (Reply::Int(start), Reply::Int(end)) = (entry.next()?, entry.next()?) else { return None };
    let (start, end) = (usize::try_from(start).ok()?, usize::try_from(end).ok()?);
    let master = server_of(entry.next()?, from)?;
    let places = std::iter::once(master).chain(entry.filter_map(|replica| server_of(replica, from))).collect();
    (start <= end && end < usize::from(SLOTS)).then_some(Range { start, end, places })
}

fn server_of(server: Reply<'_>, from: &Endpoint) -> Option<Endpoint> {
    let Reply::Array(mut server) = server else { return None };
    let host = match server.next()? {
        Reply::Bulk(host) => std::str::from_utf8(host).ok()?.to_owned(),
        _ => String::new(),
    };
    let Reply::Int(port) = server.next()? else { return None };
    Some(place_of(&host, u16::try_from(port).ok()?, from))
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
