//! The division of many keys among several MGETs or MSETs.

use std::ops::Range;

use boundary_bench_kernel::Error;

use crate::resp::{Commands, write_argument};
use crate::slots::slot_of;

/// The most keys of one MGET or MSET. A server executes a command as a whole while all other clients wait, and refuses
/// commands of more than a million arguments.
const MOST_KEYS: usize = 4096;

/// The most bytes of one MGET or MSET, if it has more than one key.
const MOST_BYTES: usize = 1 << 20;

/// The division of keys among commands: a range of `order` for each command.
#[derive(Debug, Default)]
pub(crate) struct Groups {
    /// The end of each command's range in `order`.
    ends: Vec<usize>,
    total: usize,
    /// The positions of the keys, grouped, or `None` if they keep their own order.
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
    pub(crate) fn of_slots<'a>(items: impl Iterator<Item = (&'a [u8], usize)>) -> Self {
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
    pub(crate) fn positions(&self, command: usize) -> impl Iterator<Item = usize> {
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

    /// Adds the position of a command's first entry to its error, if there are several commands.
    pub(crate) fn at_entry(&self, position: usize, error: Error) -> Error {
        match error {
            error if self.len() == 1 => error,
            Error::Engine { engine, message } => {
                Error::Engine { engine, message: format!("entry {position}: {message}") }
            }
            Error::Connection(message) => Error::Connection(format!("entry {position}: {message}")),
            Error::Unreachable(message) => Error::Unreachable(format!("entry {position}: {message}")),
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
