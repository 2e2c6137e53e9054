//! Ending what a session runs.

use std::io::{Read, Write};
use std::sync::{Mutex, PoisonError};

use super::SETTLE_TIMEOUT;
use super::socket::{Address, Socket};

/// Cancels the statements of one session, over sockets of its own.
#[derive(Debug)]
pub(crate) struct Canceller {
    pub(super) address: Address,
    pub(super) process_id: i32,
    pub(super) secret_key: i32,
    /// Requests of which the server has not said yet that it has them.
    pub(super) requests: Mutex<Vec<Socket>>,
}

impl Canceller {
    /// Asks for the end of what runs. It does not wait for it.
    pub(crate) fn cancel(&self) {
        let mut request = [0; 16];
        let words = [16, 80_877_102, self.process_id, self.secret_key];
        for (bytes, word) in request.chunks_exact_mut(4).zip(words) {
            bytes.copy_from_slice(&word.to_be_bytes());
        }
        // A server that can't be reached runs nothing to be cancelled.
        if let Ok(mut socket) = Socket::connect(&self.address)
            && socket.write_all(&request).is_ok()
        {
            self.requests.lock().unwrap_or_else(PoisonError::into_inner).push(socket);
        }
    }

    /// Waits until no request is under way that could hit the next statement; `false` if that is not sure.
    pub(crate) fn settle(&self) -> bool {
        let requests = std::mem::take(&mut *self.requests.lock().unwrap_or_else(PoisonError::into_inner));
        requests.into_iter().all(|mut socket| {
            // The server closes the socket once it has acted on it.
            socket.set_read_timeout(Some(SETTLE_TIMEOUT)).is_ok() && matches!(socket.read(&mut [0]), Ok(0))
        })
    }
}
