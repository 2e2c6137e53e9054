//! The plan of a pipeline in a cluster: the node of each command, and the commands that are a transaction. It is made before anything is
//! sent.

use boundary_bench_kernel::{Error, Result};

use crate::resp::{Commands, arguments_of};
use crate::routing::{Target, capitals, room, shown_name, slots_of, target_of};
use crate::state::{TransactionPart, Transactions};

/// The steps of commands, each at the position of its command.
#[derive(Debug, Default)]
pub(crate) struct Plan {
    pub(crate) steps: Vec<Step>,
    /// The number of transactions so far.
    transactions: u32,
}

/// A command's part of a plan.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Step {
    pub(crate) target: Target,
    pub(crate) place: TransactionPart,
    /// The number of the transaction that the command belongs to. A transaction goes to one server as a whole.
    pub(crate) transaction: Option<u32>,
}

/// The transaction that the next command may belong to.
#[derive(Default)]
struct Open {
    commands: Vec<usize>,
    slot: Option<u16>,
}

impl Plan {
    /// Adds the commands of one pipeline to the plan, behind its own.
    pub(crate) fn add(&mut self, commands: &Commands) -> Result<()> {
        let start = self.steps.len();
        self.steps.reserve(commands.len() - start);
        let (mut transactions, mut open) = (Transactions::default(), Open::default());
        let added = (start..commands.len())
            .try_for_each(|at| self.add_command(commands.command(at), &mut transactions, &mut open))
            .and_then(|()| transactions.end());
        if added.is_err() {
            self.steps.truncate(start);
        }
        added
    }

    fn add_command(&mut self, command: &[u8], transactions: &mut Transactions, open: &mut Open) -> Result<()> {
        let mut name = room();
        let mut arguments = arguments_of(command);
        let name = capitals(arguments.next().unwrap_or_default(), &mut name);
        let place = transactions.next(name, || arguments.next().is_some())?;
        if place == TransactionPart::Outside {
            let target = target_of(command);
            if target == Target::Refused {
                return Err(refused(command));
            }
            self.steps.push(Step { target, place, transaction: None });
            return Ok(());
        }
        if place == TransactionPart::Inner && matches!(target_of(command), Target::All(_) | Target::Refused) {
            return Err(Error::Unsupported(format!(
                "{} is no command of one slot, as a transaction in a cluster needs it; nothing was sent",
                shown_name(command)
            )));
        }
        if matches!(place, TransactionPart::Inner | TransactionPart::Edge) && name != b"MULTI" {
            for slot in slots_of(command) {
                if *open.slot.get_or_insert(slot) != slot {
                    return Err(several_slots());
                }
            }
        }
        open.commands.push(self.steps.len());
        self.steps.push(Step { target: Target::One, place, transaction: Some(self.transactions) });
        if place == TransactionPart::Last {
            if let Some(slot) = open.slot {
                open.commands.iter().for_each(|at| self.steps[*at].target = Target::Slot(slot));
            }
            *open = Open::default();
            self.transactions += 1;
        }
        Ok(())
    }

    /// Whether all masters execute one of the commands.
    pub(crate) fn needs_all(&self) -> bool {
        self.steps.iter().any(|step| matches!(step.target, Target::All(_)))
    }
}

fn several_slots() -> Error {
    Error::Unsupported(
        "the keys of a transaction in a cluster must lie in one slot: give them a common {hash tag}; nothing was sent"
            .to_owned(),
    )
}

fn refused(command: &[u8]) -> Error {
    Error::Unsupported(format!(
        "{} concerns one server or one connection of a cluster, which this client can't choose: connect to that server alone, with \
         ?cluster=false; nothing was sent",
        shown_name(command)
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::slots::slot_of;

    /// The targets of a pipeline's commands, each with the number of its transaction.
    type Planned = Vec<(Target, Option<u32>)>;

    fn plan(pipelines: &[&[&str]]) -> Vec<Result<Planned>> {
        let (mut plan, mut commands) = (Plan::default(), Commands::new());
        let mut planned = Vec::new();
        for pipeline in pipelines {
            let start = commands.len();
            for command in *pipeline {
                let words = command.split(' ').map(str::as_bytes).collect::<Vec<_>>();
                commands.push(words.into_iter());
            }
            planned.push(
                plan.add(&commands)
                    .map(|()| plan.steps[start..].iter().map(|step| (step.target, step.transaction)).collect()),
            );
            commands.truncate(plan.steps.len());
        }
        planned
    }

    #[test]
    fn a_transaction_goes_to_the_slot_of_its_keys() {
        let (a, b) = (Target::Slot(slot_of(b"a")), Target::Slot(slot_of(b"b")));
        let planned = plan(&[
            &["WATCH {a}1", "GET b", "multi", "SET {a}2 x", "PING", "exec", "GET b"],
            &["MULTI", "SET b x", "DISCARD"],
            &["MULTI", "PUBLISH c m", "EXEC"],
        ]);
        let first = [(a, Some(0)), (b, None), (a, Some(0)), (a, Some(0)), (a, Some(0)), (a, Some(0)), (b, None)];
        assert_eq!(planned[0].as_ref().unwrap(), &first);
        assert_eq!(planned[1].as_ref().unwrap(), &[(b, Some(1)); 3]);
        assert_eq!(planned[2].as_ref().unwrap(), &[(Target::One, Some(2)); 3]);
    }

    #[test]
    fn what_a_cluster_can_not_execute_as_it_is_meant_is_refused_as_a_whole() {
        let refused: [&[&str]; 8] = [
            &["MULTI", "SET a 1", "SET b 2", "EXEC"],
            &["MULTI", "MSET a 1 b 2", "EXEC"],
            &["WATCH a", "MULTI", "SET b 2", "EXEC"],
            &["MULTI", "FLUSHALL", "EXEC"],
            &["MULTI", "SCAN 0", "EXEC"],
            &["SET a 1", "MULTI", "SET a 1"],
            &["SET a 1", "EXEC"],
            &["SET a 1", "SCAN 0"],
        ];
        for pipeline in refused {
            let planned = plan(&[&["GET a"], pipeline, &["GET a"]]);
            let error = planned[1].as_ref().unwrap_err();
            assert_eq!(error.code(), "BB_UNSUPPORTED", "{pipeline:?}");
            assert!(error.to_string().contains("nothing was sent"), "{error}");
            assert_eq!((planned[0].as_ref().unwrap().len(), planned[2].as_ref().unwrap().len()), (1, 1));
        }
    }
}
