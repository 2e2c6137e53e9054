//! The next round of commands that servers of a cluster did not execute.

use crate::trip::Errand;

/// A server's direction for a command that it did not execute.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Direction {
    /// Send it to this node, perhaps behind an ASKING.
    To { node: u16, asking: bool },
    /// Send it again a moment later.
    Later,
    /// Send it to its node by a new map of slots, a moment later.
    Anew,
}

/// The errands of the next round.
#[derive(Default)]
pub(crate) struct Next {
    pub(crate) errands: Vec<Errand>,
    /// The errands that need a new map of slots first. Each has the node that did not execute it.
    pub(crate) anew: Vec<Errand>,
    pub(crate) must_wait: bool,
}

impl Next {
    /// Adds the errand of a command that was not executed.
    pub(crate) fn add(&mut self, errand: Errand, direction: Direction) {
        self.must_wait |= !matches!(direction, Direction::To { .. });
        match direction {
            Direction::To { node, asking } => self.errands.push(Errand { node, asking, ..errand }),
            Direction::Later => self.errands.push(errand),
            Direction::Anew => self.anew.push(errand),
        }
    }
}
