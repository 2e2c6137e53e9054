//! One round trip to one server of a cluster: the commands that go there, and their replies.

use crate::lane::{Answers, Parcel};
use crate::plan::Plan;
use crate::resp::{Commands, arguments_of};
use crate::state::{Hinge, TransactionPart};

/// A command with the node that it is sent to next.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Errand {
    pub(crate) command: usize,
    pub(crate) node: u16,
    /// Whether an ASKING precedes the command, since the slot is still moving to this node.
    pub(crate) asking: bool,
}

/// The outcome of a round trip to one node.
pub(crate) struct Return {
    pub(crate) node: u16,
    pub(crate) errands: Vec<Errand>,
    pub(crate) answers: Answers,
}

/// The commands of errands to one node, as the node gets them.
pub(crate) fn parcel_of(errands: &[Errand], commands: &Commands, plan: &Plan) -> Parcel {
    let mut parcel = Parcel::default();
    parcel.commands.reserve(errands.iter().map(|errand| commands.command(errand.command).len()).sum());
    for errand in errands {
        let (step, command) = (&plan.steps[errand.command], commands.command(errand.command));
        // Within a transaction, the ASKING before its MULTI still holds.
        if errand.asking && matches!(step.place, TransactionPart::Outside | TransactionPart::Edge) {
            parcel.commands.extend_from_slice(b"*1\r\n$6\r\nASKING\r\n");
            parcel.asking.push(parcel.replies);
            parcel.replies += 1;
        }
        if step.transaction.is_some()
            && let Some(hinge) = arguments_of(command).next().and_then(Hinge::of)
        {
            parcel.hinges.push((parcel.replies, hinge));
        }
        parcel.commands.extend_from_slice(command);
        parcel.replies += 1;
    }
    parcel
}
