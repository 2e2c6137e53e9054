//! The data of an insert on its way to the server.

use std::io::{ErrorKind, Write};

use boundary_bench_kernel::{Error, Result};

use super::Connection;
use super::socket::lost;

/// Writes of fewer bytes are gathered into messages of at most this size.
const GATHER_BYTES: usize = 64 * 1024;

/// Writes the data of a `COPY ... FROM STDIN`, in messages that the server takes.
pub(crate) struct CopyWriter<'a> {
    connection: &'a mut Connection,
    gathered: Vec<u8>,
    /// The error of a failed send. [`Write`] can only report it as a broken pipe.
    failure: Option<Error>,
}

impl<'a> CopyWriter<'a> {
    pub(crate) fn new(connection: &'a mut Connection) -> Self {
        Self { connection, gathered: Vec::with_capacity(GATHER_BYTES), failure: None }
    }

    /// Sends the gathered rest, and returns the error of a failed send.
    pub(crate) fn finish(mut self) -> Result<()> {
        let flushed = self.flush();
        match self.failure.take() {
            Some(error) => Err(error),
            None => flushed.map_err(|error| lost(&error)),
        }
    }

    fn send(&mut self, data: Option<&[u8]>) -> std::io::Result<()> {
        let sent = match data {
            Some(data) => self.connection.send_data(data),
            None => self.connection.send_data(&self.gathered),
        };
        sent.map_err(|error| {
            self.failure.get_or_insert(error);
            ErrorKind::BrokenPipe.into()
        })
    }
}

impl Write for CopyWriter<'_> {
    fn write(&mut self, data: &[u8]) -> std::io::Result<usize> {
        if self.gathered.len() + data.len() > GATHER_BYTES {
            self.flush()?;
        }
        if data.len() >= GATHER_BYTES {
            self.send(Some(data))?;
        } else {
            self.gathered.extend_from_slice(data);
        }
        Ok(data.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        if !self.gathered.is_empty() {
            self.send(None)?;
            self.gathered.clear();
        }
        Ok(())
    }
}
