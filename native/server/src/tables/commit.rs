//! The commit thread: writes run one after another, and those that queue up while the disk works are made durable together.

use std::sync::mpsc;
use std::thread::JoinHandle;

use boundary_bench_core::{Error, Result};
use fjall::{Database, PersistMode};
use tokio::sync::oneshot;

use super::store::{Change, ChangeOutcome, Tables};

/// A queued write.
pub(super) struct Write {
    pub(super) changes: Vec<Change>,
    pub(super) done: oneshot::Sender<Result<Vec<ChangeOutcome>>>,
}

/// Writes that one sync makes durable, at most.
const MAX_GROUP: usize = 256;

/// Starts the commit thread; it ends when the sender of the writes is dropped.
pub(super) fn start(
    tables: std::sync::Weak<Tables>,
    database: Database,
    durable: bool,
    writes: mpsc::Receiver<Write>,
) -> Result<JoinHandle<()>> {
    let started = std::thread::Builder::new().name("bb-commit".to_owned()).spawn(move || {
        while let Ok(first) = writes.recv() {
            let Some(tables) = tables.upgrade() else { return };
            let group = std::iter::once(first).chain(writes.try_iter().take(MAX_GROUP - 1));
            let written: Vec<_> = group.map(|write| (tables.apply(&write.changes), write.done)).collect();
            let synced =
                if durable { database.persist(PersistMode::SyncData).map_err(|error| failed(&error)) } else { Ok(()) };
            for (outcome, done) in written {
                // Sending fails where the client has disconnected.
                let _ = done.send(synced.clone().and(outcome));
            }
        }
    });
    started.map_err(|error| Error::Internal(format!("the thread that writes does not start: {error}")))
}

/// A fjall error as an engine error.
pub(super) fn failed(error: &fjall::Error) -> Error {
    let message = match error {
        fjall::Error::Poisoned => {
            "the disk has failed under an earlier write, and no more are taken; see to the disk and start the server again".to_owned()
        }
        other => other.to_string(),
    };
    Error::Engine { engine: "tables", message }
}
