//! Cancellation of a session's statements.

use std::io::{Read, Write};

use boundary_bench_kernel::lock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use super::SETTLE_TIMEOUT;
use super::socket::{Address, Socket};

/// How long the server may take to end a cancelled statement. After that the session is closed, so that its caller does
/// not wait for a server that does not answer.
const GRACE: Duration = Duration::from_secs(5);

/// Interval between two checks whether a cancelled statement has ended.
const POLL: Duration = Duration::from_millis(20);

/// Cancels the statements of one session, over sockets of its own.
#[derive(Debug)]
pub(crate) struct Canceller {
    address: Address,
    process_id: i32,
    secret_key: i32,
    /// The session's own socket.
    session: Socket,
    /// The number of the session's statements that have ended.
    ended: AtomicU64,
    /// Cancel requests under way. Each receives whether the server has acted on it.
    requests: Mutex<Vec<Receiver<bool>>>,
}

impl Canceller {
    pub(super) fn new(address: Address, (process_id, secret_key): (i32, i32), session: Socket) -> Self {
        Self { address, process_id, secret_key, session, ended: AtomicU64::new(0), requests: Mutex::default() }
    }

    /// Records that the running statement has ended.
    pub(super) fn statement_ended(&self) {
        self.ended.fetch_add(1, Ordering::AcqRel);
    }

    /// Cancels the running statement on a thread of its own. It does not wait: an unreachable server would block the
    /// caller, and that may be an event loop.
    pub(crate) fn cancel(self: &Arc<Self>) {
        let (acted, request) = channel();
        lock(&self.requests).push(request);
        let canceller = Arc::clone(self);
        let ended = self.ended.load(Ordering::Acquire);
        let thread = std::thread::Builder::new().name("hyperd cancel".to_owned());
        // If no thread can be spawned, `acted` is dropped without an answer, and the session is not reused.
        let _ = thread.spawn(move || {
            let _ = acted.send(canceller.request().unwrap_or(false));
            canceller.close_after_grace(ended);
        });
    }

    /// Sends a cancel request, and returns whether the server has acted on it.
    fn request(&self) -> std::io::Result<bool> {
        let mut request = [0; 16];
        let words = [16, 80_877_102, self.process_id, self.secret_key];
        for (bytes, word) in request.chunks_exact_mut(4).zip(words) {
            bytes.copy_from_slice(&word.to_be_bytes());
        }
        let mut socket = Socket::connect(&self.address)?;
        socket.write_all(&request)?;
        // The server closes the socket once it has acted.
        socket.stream.set_read_timeout(Some(GRACE))?;
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

    /// Waits until no cancel request can hit the next statement any more. Returns `false` if that is not certain.
    pub(crate) fn settle(&self) -> bool {
        let requests = std::mem::take(&mut *lock(&self.requests));
        requests.into_iter().all(|request| request.recv_timeout(SETTLE_TIMEOUT).unwrap_or(false))
    }
}
