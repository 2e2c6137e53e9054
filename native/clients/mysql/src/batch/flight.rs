//! Requests that may be sent while answers are outstanding.
//!
//! A server runs what was sent behind a statement also if that fails. So a request is sent ahead only if that can do no harm. An error may end
//! a transaction, and a write behind it would be stored outside of it: in a transaction only reads are sent ahead. A statement that changes
//! the meaning of others, such as `USE`, is answered before they are prepared and sent.

use boundary_bench_kernel::{Error, Result};

use super::{Run, StatementState};
use crate::codec::Failure;
use crate::connection::Prepared;
use crate::effect::{Kind, only_reads};
use crate::engine_error;
use crate::outcome::Outcome;
use crate::pool::Session;
use crate::sql::may_run_again;

/// The requests that may be sent before those in front of them are answered.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Ahead {
    Nothing,
    Reads,
    All,
}

impl Ahead {
    pub(super) fn behind(kind: Kind) -> Self {
        match kind {
            // `SET NAMES` seldom changes something. `Session::note` tells.
            Kind::Read | Kind::Rows | Kind::Names => Self::All,
            // The statements behind it belong to the transaction, if there is one.
            Kind::Begin | Kind::Control => Self::Reads,
            Kind::Definition | Kind::Session => Self::Nothing,
        }
    }
}

impl Run<'_> {
    /// Prepares for requests to be sent from `next` on, while none is in flight. Returns the first one.
    pub(super) async fn begin(&mut self, session: &mut Session, mut next: usize) -> Result<usize> {
        if let Some(first) = self.again.first.take() {
            self.begin_again(session, first..next);
            (self.prepared_to, next) = (first, first);
        }
        if std::mem::take(&mut self.is_defined) {
            // A statement that could not be prepared before, such as one on a table that was missing, perhaps can be now.
            self.statements.iter_mut().for_each(|state| state.unprepared = None);
            self.prepared_to = next;
        }
        if std::mem::take(&mut self.is_changed) {
            session.close_statements(|_| true);
            self.statements.iter_mut().for_each(|state| state.prepared = None);
        }
        if let Some(failed) = self.failed.take()
            && session.connection.is_idle()
            && !session.connection.settled().await?
        {
            next = self.leave_transaction(failed, next);
        }
        if next < self.outcomes.len() {
            while next >= self.prepared_to || !self.is_ready(session, next) {
                self.prepare_from(session, next).await?;
            }
        }
        self.ahead = if session.connection.is_without_autocommit() {
            // A read would begin another transaction, so that nobody could tell that an error had ended the one before.
            Ahead::Nothing
        } else if session.connection.in_transaction() {
            Ahead::Reads
        } else {
            Ahead::All
        };
        Ok(next)
    }

    /// Gives an error to the requests of the transaction that the error of a request has ended: to those that were sent behind it, and to
    /// those up to the beginning of another transaction, which are not sent. Returns the first request to send.
    fn leave_transaction(&mut self, failed: usize, mut next: usize) -> usize {
        let error = || {
            engine_error(format!(
                "the error of request {failed} has ended the transaction, so this request has no effect and no result"
            ))
        };
        for outcome in &mut self.outcomes[failed + 1..next] {
            outcome.error.get_or_insert_with(error);
        }
        while next < self.outcomes.len() && self.state(next).effect.kind != Kind::Begin {
            self.outcomes[next].error = Some(error());
            next += 1;
        }
        next
    }

    fn state(&mut self, request: usize) -> &mut StatementState {
        &mut self.statements[self.batch.order[request] as usize]
    }

    /// Whether a request may be sent though those in front of it are not answered.
    pub(super) fn may_go_ahead(&mut self, session: &mut Session, request: usize) -> bool {
        let may = match self.ahead {
            Ahead::All => true,
            Ahead::Reads => {
                let sql = &self.batch.statements[self.batch.order[request] as usize].sql;
                let state = self.state(request);
                *state.only_reads.get_or_insert_with(|| state.effect.kind == Kind::Read && only_reads(sql))
            }
            Ahead::Nothing => false,
        };
        may && request < self.prepared_to && self.is_ready(session, request)
    }

    /// Whether the statement of a request is prepared for the values of the request, or can't be.
    fn is_ready(&mut self, session: &mut Session, request: usize) -> bool {
        let index = self.batch.order[request] as usize;
        let (state, statement) = (&mut self.statements[index], &self.batch.statements[index]);
        if statement.is_text || state.error().is_some() {
            return true;
        }
        if session.keeps_kinds() {
            let known = session.known_for(&statement.sql, statement.lists.cells(self.lists[request]));
            state.prepared = known.filter(|known| usize::from(known.parameters) == statement.lists.width());
        }
        state.prepared.is_some()
    }

    /// Prepares the statements of the requests from `next` on, up to one that changes what the others mean.
    async fn prepare_from(&mut self, session: &mut Session, next: usize) -> Result<()> {
        let mut request = next;
        while request < self.outcomes.len() {
            let state = self.state(request);
            let (is_known, behind) =
                (state.prepared.is_some() || state.error().is_some(), Ahead::behind(state.effect.kind));
            if (request == next && !self.is_ready(session, next)) || !is_known {
                self.prepare(session, request).await?;
            }
            request += 1;
            if behind == Ahead::Nothing {
                break;
            }
        }
        self.prepared_to = request;
        Ok(())
    }

    /// Prepares the statement of a request. If that is refused, the statement has the error.
    async fn prepare(&mut self, session: &mut Session, request: usize) -> Result<()> {
        let index = self.batch.order[request] as usize;
        let (state, statement) = (&mut self.statements[index], &self.batch.statements[index]);
        if statement.is_text {
            return Ok(());
        }
        let width = statement.lists.width();
        match session.prepared_for(&statement.sql, statement.lists.cells(self.lists[request])).await {
            Ok(prepared) if usize::from(prepared.parameters) == width => state.prepared = Some(prepared),
            Ok(Prepared { parameters, .. }) => {
                state.unprepared =
                    Some(Error::InvalidArgument(format!("the statement takes {parameters} parameters, not {width}")));
            }
            Err(Failure::Refused(error)) => state.unprepared = Some(Failure::Refused(error).into()),
            Err(Failure::Lost(error)) => return Err(error),
        }
        Ok(())
    }

    /// Notes that the server has forgotten the statement of a request. The request can be sent again if nothing behind it was run.
    pub(super) fn note_again(&mut self, session: &mut Session, request: usize) {
        let index = self.batch.order[request] as usize;
        let sql = &self.batch.statements[index].sql;
        session.forget(sql);
        if self.again.is_late || self.statements[index].is_again || !may_run_again(sql) {
            self.end_again();
        } else {
            self.again.first.get_or_insert(request);
        }
    }

    /// Notes that a request was run, or can't be sent again: those in front of it would come too late.
    pub(super) fn end_again(&mut self) {
        if self.again.first.take().is_some() {
            self.again.is_late = true;
        }
    }

    /// Forgets what these requests met, so that their statements are prepared again, and they are sent again.
    fn begin_again(&mut self, session: &Session, requests: std::ops::Range<usize>) {
        for request in requests {
            self.outcomes[request] = Outcome::default();
            let index = self.batch.order[request] as usize;
            let state = &mut self.statements[index];
            if state.prepared.is_some() && session.known(&self.batch.statements[index].sql).is_none() {
                (state.prepared, state.is_again) = (None, true);
            }
        }
    }
}
