//! Ending what a session runs.

use std::io::{Read, Write};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::SETTLE_TIMEOUT;
use super::socket::{Address, Socket};

/// How long the server may take to end a statement that was cancelled; the session is closed then, so that its caller
/// waits no longer for a server that does not answer.
const GRACE: Duration = Duration::from_secs(5);

/// How often that is looked at.
const POLL: Duration = Duration::from_millis(20);

/// Cancels the statements of one session, over sockets of its own.
#[derive(Debug)]
pub(crate) struct Canceller {
    address: Address,
    process_id: i32,
    secret_key: i32,
    /// The session's own socket.
    session: Socket,
    /// The statements of the session that have ended.
    ended: AtomicU64,
    /// Requests of which it is not known yet whether the server has acted on them.
    requests: Mutex<Vec<Receiver<bool>>>,
}

impl Canceller {
    pub(super) fn new(address: Address, (process_id, secret_key): (i32, i32), session: Socket) -> Self {
        Self { address, process_id, secret_key, session, ended: AtomicU64::new(0), requests: Mutex::default() }
    }

    /// Tells that the statement under way has ended.
    pub(super) fn statement_ended(&self) {
        self.ended.fetch_add(1, Ordering::AcqRel);
    }

    /// Asks for the end of what runs. It waits for nothing: an unreachable server would hold its caller up, who may be
    /// an event loop.
    pub(crate) fn cancel(self: &Arc<Self>) {
        let (acted, request) = channel();
        self.requests.lock().unwrap_or_else(PoisonError::into_inner).push(request);
        let canceller = Arc::clone(self);
        let ended = self.ended.load(Ordering::Acquire);
        let thread = std::thread::Builder::new().name("hyperd cancel".to_owned());
        // Without a thread the request was dropped unanswered, and the session is not used again.
        let _ = thread.spawn(move || {
            let _ = acted.send(canceller.request().unwrap_or(false));
            canceller.close_after_grace(ended);
        });
    }

    /// Sends a request; whether the server has acted on it.
    fn request(&self) -> std::io::Result<bool> {
        let mut request = [0; 16];
        let words = [16, 80_877_102, self.process_id, self.secret_key];
        for (bytes, word) in request.chunks_exact_mut(4).zip(words) {
            bytes.copy_from_slice(&word.to_be_bytes());
        }
        let mut socket = Socket::connect(&self.address)?;
        socket.write_all(&request)?;
        // The server closes the socket once it has acted.
        socket.set_read_timeout(Some(GRACE))?;
        Ok(socket.read(&mut [0])? == 0)
    }

    fn close_after_grace(&self, ended: u64) {
        let deadline = Instant::now() + GRACE;
        while self.ended.load(Ordering::Acquire) == ended {
            if Instant::now() > deadline {
                self.session.shutdown();
                return;
            }
            std::thread::sleep(POLL);
        }
    }

    /// Waits until no request is under way that could hit the next statement; `false` if that is not sure.
    pub(crate) fn settle(&self) -> bool {
        let requests = std::mem::take(&mut *self.requests.lock().unwrap_or_else(PoisonError::into_inner));
        requests.into_iter().all(|request| request.recv_timeout(SETTLE_TIMEOUT).unwrap_or(false))
    }
}
