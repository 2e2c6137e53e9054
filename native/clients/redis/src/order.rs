//! The commands of one round trip to a server of a cluster: which of them are answered, and which are sent again.
//!
//! A command that was not executed is sent again only if that keeps the order of the pipeline's commands on each key. If a later command
//! on one of its keys was executed, it would undo that command: the server's refusal is its answer then. If a later command on one of its
//! keys was refused as well, it goes the same way, behind it.

use std::collections::{HashMap, HashSet};

use crate::plan::Plan;
use crate::resp::{Commands, Reply, arguments_of};
use crate::routing::{Target, keys_of};
use crate::state::{Hinge, TransactionPart};
use crate::trip::Return;

/// A server's direction for a command that it did not execute.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Direction {
    /// Send it to this node, perhaps behind an ASKING.
    To { node: u16, asking: bool },
    /// Send it again a moment later.
    Later,
    /// Send it to its node by a new map of slots, a moment later.
    Anew,
}

/// A command, or the commands of a transaction, which are executed together or not at all.
pub(crate) struct Unit {
    transaction: Option<u32>,
    /// The positions of its errands in the round trip.
    pub(crate) errands: Vec<usize>,
    /// The route by which the command is sent again. `None` if it was answered.
    pub(crate) direction: Option<Direction>,
}

/// The units of a round trip. `direct` gives the direction in the reply to an errand. It is told whether the command was in the queue of a
/// transaction, where nothing is executed.
pub(crate) fn units(
    came: &Return,
    (commands, plan): (&Commands, &Plan),
    mut direct: impl FnMut(usize, bool) -> Option<Direction>,
) -> Vec<Unit> {
    let mut units: Vec<Unit> = Vec::new();
    for (at, errand) in came.errands.iter().enumerate() {
        let transaction = plan.steps[errand.command].transaction;
        // An open transaction is among the last ones.
        match units.iter_mut().rev().find(|unit| transaction.is_some() && unit.transaction == transaction) {
            Some(unit) => unit.errands.push(at),
            None => units.push(Unit { transaction, errands: vec![at], direction: None }),
        }
    }
    let answered = came.answers.len();
    for unit in &mut units {
        let last = unit.errands[unit.errands.len() - 1];
        if last >= answered {
            continue;
        }
        if unit.transaction.is_none() {
            unit.direction = direct(last, false);
            continue;
        }
        // A transaction is executed in no part, unless its end says otherwise.
        if matches!(Reply::read_whole(came.answers.reply(last)), Some(Reply::Array(_) | Reply::Nil)) {
            continue;
        }
        let command = |at: usize| commands.command(came.errands[at].command);
        let is_multi = |at: usize| arguments_of(command(at)).next().and_then(Hinge::of) == Some(Hinge::Multi);
        let is_inner = |at: usize| plan.steps[came.errands[at].command].place == TransactionPart::Inner;
        // Behind a refused MULTI, the commands are executed one by one.
        let is_queued = unit.errands.iter().all(|at| !is_multi(*at) || came.answers.reply(*at).starts_with(b"+"));
        let directions = unit.errands.iter().map(|at| (*at, direct(*at, is_queued))).collect::<Vec<_>>();
        if is_queued || directions.iter().all(|(at, direction)| direction.is_some() || !is_inner(*at)) {
            unit.direction = directions.into_iter().find_map(|(_, direction)| direction);
        }
    }
    units
}

/// Takes back directions that would change the order of the commands on a key.
pub(crate) fn keep_order(units: &mut [Unit], came: &Return, (commands, plan): (&Commands, &Plan)) {
    let keys = |unit: &Unit| {
        let commands = unit.errands.iter().map(|at| commands.command(came.errands[*at].command));
        commands.flat_map(keys_of).collect::<Vec<_>>()
    };
    // From the last to the first: the keys of the commands that were executed, or perhaps.
    let (mut executed, mut all_keys) = (HashSet::new(), false);
    for unit in units.iter_mut().rev() {
        let own = keys(unit);
        if unit.direction.is_none() {
            all_keys |= matches!(plan.steps[came.errands[unit.errands[0]].command].target, Target::All(_));
            executed.extend(own);
        } else if all_keys || own.iter().any(|key| executed.contains(key)) {
            unit.direction = None;
        }
    }
    // From the first to the last: the ways of the commands that are sent again, by their keys.
    let mut ways: HashMap<&[u8], Direction> = HashMap::new();
    for unit in units.iter_mut().filter(|unit| unit.direction.is_some()) {
        let own = keys(unit);
        let mut known = own.iter().filter_map(|key| ways.get(key).copied());
        if let Some(way) = known.next() {
            unit.direction = known.all(|other| other == way).then_some(way);
        }
        if let Some(way) = unit.direction {
            ways.extend(own.into_iter().map(|key| (key, way)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lane::Answers;
    use crate::trip::Errand;

    const TO: Direction = Direction::To { node: 7, asking: true };

    /// The directions of a pipeline's units. A reply of `later`, `to` or `anew` is a refusal.
    fn directions(lines: &[(&str, &str)]) -> Vec<Option<Direction>> {
        let (mut commands, mut plan) = (Commands::new(), Plan::default());
        for (line, _) in lines {
            commands.push(line.split(' ').map(str::as_bytes).collect::<Vec<_>>().into_iter());
        }
        plan.add(&commands).unwrap();
        let errands = (0..lines.len()).map(|command| Errand { command, node: 1, asking: false }).collect();
        let refusal = |text: &str| match text {
            "later" => Some(Direction::Later),
            "to" => Some(TO),
            "anew" => Some(Direction::Anew),
            _ => None,
        };
        let wire = |text: &str| refusal(text).map_or_else(|| text.to_owned() + "\r\n", |_| format!("-{text}\r\n"));
        let replies = lines.iter().map(|(_, reply)| wire(reply)).collect::<Vec<_>>();
        let answered = replies.iter().take_while(|reply| *reply != "lost\r\n").map(String::as_str).collect::<Vec<_>>();
        let came = Return { node: 1, errands, answers: Answers::of(&answered) };
        let mut units = units(&came, (&commands, &plan), |at, _| refusal(lines[at].1));
        keep_order(&mut units, &came, (&commands, &plan));
        units.into_iter().map(|unit| unit.direction).collect()
    }

    #[test]
    fn what_was_not_executed_is_sent_again_if_no_later_command_with_its_keys_was() {
        let (later, anew) = (Some(Direction::Later), Some(Direction::Anew));
        assert_eq!(directions(&[("SET {a}1 x", "later"), ("SET {a}2 x", "+OK")]), [later, None]);
        assert_eq!(directions(&[("SET {a}1 x", "+OK"), ("SET {a}1 y", "later")]), [None, later]);
        assert_eq!(directions(&[("MSET {a}1 x {a}2 x", "later"), ("SET {a}1 y", "+OK")]), [None, None]);
        assert_eq!(directions(&[("GET {a}1", "to"), ("GET {a}1", "lost")]), [None, None]);
        assert_eq!(directions(&[("SET {a}1 x", "anew"), ("FLUSHALL", "+OK")]), [None, None]);
        assert_eq!(directions(&[("FLUSHALL", "anew"), ("PING", "+PONG")]), [anew, None]);
    }

    #[test]
    fn refused_commands_with_a_common_key_go_the_same_way() {
        let (to, later) = (Some(TO), Some(Direction::Later));
        let (both, one, two) = ("MSET {a}1 x {a}2 x", "SET {a}1 y", "GET {a}2");
        assert_eq!(directions(&[(both, "later"), (one, "to"), ("SET {a}3 z", "to")]), [later, later, to]);
        assert_eq!(directions(&[(one, "to"), (both, "later"), (two, "later")]), [to, to, to]);
        // Two commands before it go different ways.
        assert_eq!(directions(&[(one, "to"), (two, "later"), (both, "later")]), [to, later, None]);
    }

    #[test]
    fn a_transaction_is_sent_again_as_a_whole_or_not_at_all() {
        let transaction = |multi, set, exec| {
            directions(&[("MULTI", multi), ("SET {a}1 x", set), ("EXEC", exec), ("GET {b}1", "$-1")])
        };
        assert_eq!(transaction("+OK", "to", "-EXECABORT"), [Some(TO), None]);
        assert_eq!(transaction("+OK", "+QUEUED", "anew"), [Some(Direction::Anew), None]);
        assert_eq!(transaction("+OK", "+QUEUED", "*0"), [None, None]);
        // Behind a refused MULTI, the command was executed.
        assert_eq!(transaction("anew", "+OK", "-ERR EXEC without MULTI"), [None, None]);
        assert_eq!(transaction("anew", "anew", "-ERR EXEC without MULTI"), [Some(Direction::Anew), None]);
        assert_eq!(transaction("+OK", "to", "lost")[0], None);
    }
}
