//! Plain reads of many callers over one session: each is sent at once, and the answers come in the same order.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex};

use boundary_bench_kernel::{Error, Result, lock};

use super::Work;
use crate::batch::{Batch, answer, run_batch};
use crate::cells::put_parameters;
use crate::codec::{command, type_id};
use crate::connection::put_execute;
use crate::pool::{Session, kind_of};
use crate::submission::Performed;
use crate::transport::Buffers;

/// The reads of a session that were sent, and their results.
#[derive(Default)]
pub(super) struct Ahead {
    shared: Arc<Mutex<Shared>>,
    /// The reads without a result, by their numbers.
    unanswered: VecDeque<u32>,
    /// The statements that are prepared, while a future has the session.
    ready: HashMap<String, Ready>,
}

/// The state that the future of the answers shares with the session's owner.
#[derive(Default)]
struct Shared {
    sent: VecDeque<Sent>,
    answered: Vec<(u32, Result<Performed>)>,
    /// Whether the server has forgotten a statement. Nothing more is sent before the future ends, which prepares it again.
    has_forgotten: bool,
    max_packet: usize,
}

/// A read that was sent.
struct Sent {
    id: u32,
    batch: Batch,
    /// The number of its prepared statement.
    prepared: Option<u32>,
}

/// A statement that is prepared.
struct Ready {
    id: u32,
    parameters: usize,
    /// The kinds of the values that the server keeps for the statement.
    kinds: Option<Vec<u8>>,
}

impl Ahead {
    /// The number of reads without a result.
    pub(super) fn len(&self) -> usize {
        self.unanswered.len()
    }

    /// Appends a read to the bytes to send. `session` is given if no future has it. Returns false, and appends nothing, if the read can't be
    /// sent now.
    pub(super) fn send(
        &mut self,
        id: u32,
        batch: Batch,
        session: Option<&mut Session>,
        buffers: &mut Buffers,
        max_packet: usize,
    ) -> bool {
        let [statement] = batch.statements.as_slice() else { return false };
        if statement.lists.len() != 1 {
            return false;
        }
        if lock(&self.shared).has_forgotten {
            if session.is_none() {
                return false;
            }
            lock(&self.shared).has_forgotten = false;
            self.forget();
        }
        let width = statement.lists.width();
        let prepared = if statement.is_text {
            None
        } else {
            let cells = statement.lists.cells(0);
            if let Some(session) = session {
                let Some((prepared, kinds)) = session.ready_for(&statement.sql, cells.clone()) else { return false };
                let ready = Ready { id: prepared.id, parameters: prepared.parameters.into(), kinds };
                self.ready.insert(statement.sql.clone(), ready);
            }
            let Some(ready) = self.ready.get(&statement.sql) else { return false };
            let takes = |kinds: &Vec<u8>| {
                kinds.iter().zip(cells.map(kind_of)).all(|(known, kind)| *known == kind || kind == type_id::NULL)
            };
            if ready.parameters != width || !ready.kinds.as_ref().is_none_or(takes) {
                return false;
            }
            Some(ready.id)
        };
        let is_sent = buffers.send(max_packet, |target| match prepared {
            None => {
                target.push(command::QUERY);
                target.extend_from_slice(statement.sql.as_bytes());
                Ok(())
            }
            Some(prepared) => {
                target.push(command::STMT_EXECUTE);
                put_execute(target, prepared);
                put_parameters(target, width, statement.lists.cells(0))
            }
        });
        if is_sent {
            self.unanswered.push_back(id);
            let mut shared = lock(&self.shared);
            shared.max_packet = max_packet;
            shared.sent.push_back(Sent { id, batch, prepared });
        }
        is_sent
    }

    /// Forgets which statements are prepared: another submission may close them.
    pub(super) fn forget(&mut self) {
        self.ready.clear();
    }

    /// Reads the answers until there are no more reads, and gives the session back.
    pub(super) fn answers(&self, session: Box<Session>) -> Work<()> {
        Box::pin(answers(session, Arc::clone(&self.shared)))
    }

    /// Takes the results that are there.
    pub(super) fn take_answered(&mut self) -> impl Iterator<Item = (u32, Result<Performed>)> {
        let answered = std::mem::take(&mut lock(&self.shared).answered);
        for (id, _) in &answered {
            // Nearly always the first: only reads that were run again come later.
            self.unanswered.iter().position(|other| other == id).map(|place| self.unanswered.remove(place));
        }
        answered.into_iter()
    }

    /// Takes the numbers of all reads without a result.
    pub(super) fn take_all(&mut self) -> impl Iterator<Item = u32> {
        std::mem::take(&mut self.unanswered).into_iter()
    }
}

async fn answers(mut session: Box<Session>, shared: Arc<Mutex<Shared>>) -> (Box<Session>, ()) {
    session.connection.swap_buffers();
    let (mut waiting, mut forgotten) = (VecDeque::new(), Vec::new());
    let mut lost: Option<Error> = None;
    loop {
        take_sent(&mut session, &shared, &mut waiting);
        let Some(Sent { id, batch, prepared }) = waiting.pop_front() else { break };
        let answer = match &lost {
            Some(error) => Err(error.clone()),
            None => answer(&mut session, &batch, prepared).await,
        };
        // Further commands can be under way by now: the session must not take their answers for bytes that nobody asked for.
        take_sent(&mut session, &shared, &mut waiting);
        match answer {
            Ok(Some(results)) => lock(&shared).answered.push((id, Ok(Performed::Results(results)))),
            Ok(None) => {
                lock(&shared).has_forgotten = true;
                session.forget(&batch.statements[0].sql);
                forgotten.push((id, batch));
            }
            Err(error) => {
                lost.get_or_insert_with(|| error.clone());
                lock(&shared).answered.push((id, Err(error)));
            }
        }
    }
    // A read can be run again, and now nothing else is under way.
    let max_packet = lock(&shared).max_packet;
    for (id, batch) in forgotten {
        let performed = match &lost {
            Some(error) => Err(error.clone()),
            None => run_batch(&mut session, &batch, max_packet).await.map(Performed::Results),
        };
        lock(&shared).answered.push((id, performed));
    }
    session.connection.swap_buffers();
    session.held().note_transaction(session.connection.in_transaction());
    (session, ())
}

/// Takes over the reads that were sent.
fn take_sent(session: &mut Session, shared: &Mutex<Shared>, waiting: &mut VecDeque<Sent>) {
    let mut shared = lock(shared);
    session.connection.note_sent(shared.sent.len());
    waiting.append(&mut shared.sent);
}
