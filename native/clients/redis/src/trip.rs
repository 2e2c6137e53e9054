//! One round trip to one server of a cluster: the commands that go there, and their replies.

use boundary_bench_kernel::Error;
use boundary_bench_kernel::driver::Driver;

use crate::connection::Connection;
use crate::plan::Plan;
use crate::resp::{Commands, Reply, arguments_of};
use crate::state::{Hinge, TransactionPart, still_open};
use crate::url::{Endpoint, Url};

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
    pub(crate) connection: Option<Connection>,
    pub(crate) errands: Vec<Errand>,
    /// The replies in wire format, one after the other. `ends` has the end of each.
    pub(crate) bytes: Vec<u8>,
    pub(crate) ends: Vec<usize>,
    /// The error of the commands without a reply, and whether they were sent.
    pub(crate) failure: Option<(Error, bool)>,
}

/// Sends the commands of one server and receives their replies.
pub(crate) async fn trip(
    node: u16,
    place: &Endpoint,
    connection: Option<Connection>,
    errands: Vec<Errand>,
    url: &Url,
    driver: &dyn Driver,
    (commands, plan): (&Commands, &Plan),
) -> Return {
    let mut came = Return { node, connection: None, errands, bytes: Vec::new(), ends: Vec::new(), failure: None };
    // A server may close an idle connection at any time.
    let kept = match connection.filter(Connection::is_usable) {
        Some(mut connection) => connection.is_quiet().await.then_some(connection),
        None => None,
    };
    let mut connection = match kept {
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
        // Within a transaction, the ASKING before its MULTI still holds.
        if errand.asking && matches!(plan.steps[errand.command].place, TransactionPart::Outside | TransactionPart::Edge)
        {
            bytes.extend_from_slice(b"*1\r\n$6\r\nASKING\r\n");
            is_command.push(false);
        }
        bytes.extend_from_slice(commands.command(errand.command));
        is_command.push(true);
    }
    let (mut is_spoiled, mut open) = (false, None);
    let take = |index: usize, reply: &[u8]| {
        if !is_command[index] || open.is_some() {
            return;
        }
        let command = came.errands[came.ends.len()].command;
        came.bytes.extend_from_slice(reply);
        came.ends.push(came.bytes.len());
        if plan.steps[command].transaction.is_some()
            && let Some(Reply::Error(text)) = Reply::read_whole(reply)
            && let Some(hinge) = arguments_of(commands.command(command)).next().and_then(Hinge::of)
        {
            is_spoiled = true;
            open = hinge.keeps_open(text).then(still_open);
        }
    };
    match connection.round_trip_bytes(&bytes, is_command.len(), take).await {
        Ok(()) => {
            came.connection = (!is_spoiled).then_some(connection);
            came.failure = open.filter(|_| came.ends.len() < came.errands.len()).map(|error| (error, true));
        }
        Err(error) => came.failure = Some((error, true)),
    }
    came
}
