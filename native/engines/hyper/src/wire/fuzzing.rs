//! Entry points for the harnesses of `native/fuzz`: this crate's readers over arbitrary bytes. Not a part of the
//! interface.

use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_buffer::Buffer;
use boundary_bench_kernel::{Error, Result};

use super::{Address, Canceller, Connection, Message, Rows, Socket};
use crate::arrow_stream::{ArrowStream, Pieces};
use crate::rows::RowBuilder;

impl Connection {
    /// A session on a socket, as it is after the handshake.
    fn past_handshake(socket: UnixStream) -> Result<Self> {
        let socket = Socket::of_unix(OwnedFd::from(socket).into());
        let ended = socket.try_clone().map_err(|error| Error::Internal(error.to_string()))?;
        Ok(Self {
            canceller: Arc::new(Canceller::new(Address::Unix(PathBuf::new()), (0, 0), ended)),
            version: String::new(),
            socket,
            read: Vec::new(),
            position: 0,
            unsent: Vec::new(),
            status: None,
            most_bytes: 1 << 30,
        })
    }
}

/// Reads messages from a socket until the session is lost, and the rows after a description of columns into Arrow arrays. Returns
/// a text for each message.
pub fn messages(socket: UnixStream) -> Result<Vec<String>> {
    let mut connection = Connection::past_handshake(socket)?;
    let mut heard = Vec::new();
    let mut next = None;
    loop {
        let message = match next.take().map_or_else(|| connection.receive(), Ok) {
            Ok(message) => message,
            Err(error) => {
                heard.push(error.to_string());
                return Ok(heard);
            }
        };
        heard.push(match message {
            Message::CopyData(data) => format!("data {:?}", data.as_slice()),
            Message::Row(row) => format!("row {row:?}"),
            Message::RowDescription(fields) => {
                let mut said = format!("columns {fields:?}");
                if let Ok(mut builder) = RowBuilder::new(&fields) {
                    let behind = connection.receive_rows(|row| builder.push(row).map(|()| Rows::More));
                    said = format!("{said} {:?}", builder.finish_if_whole(behind.is_ok()));
                    match behind {
                        Ok(message) => next = message,
                        Err(error) => {
                            heard.push(error.to_string());
                            return Ok(heard);
                        }
                    }
                }
                said
            }
            Message::CopyIn => "copy in".to_owned(),
            Message::Complete(tag) => format!("complete {tag}: {}", super::rows_changed(&tag)),
            Message::Failed(error) => format!("failed {error:?} {}", error.is_unloading()),
            Message::Ready => format!("ready {:?}", connection.status()),
            Message::Other => "other".to_owned(),
        });
    }
}

impl RowBuilder {
    /// The rows as a batch. `None` if a row could not be read, since the columns then have different lengths.
    fn finish_if_whole(&mut self, is_whole: bool) -> Option<Result<RecordBatch>> {
        is_whole.then(|| self.finish())
    }
}

struct Given(std::vec::IntoIter<Vec<u8>>);

impl Pieces for Given {
    fn next_piece(&mut self) -> Result<Option<Buffer>> {
        Ok(self.0.next().map(Buffer::from))
    }
}

/// The batches of an Arrow stream that arrives in pieces, and the outcome of the reading.
pub fn batches(pieces: Vec<Vec<u8>>) -> (Vec<RecordBatch>, Result<()>) {
    let mut batches = Vec::new();
    let read = || {
        let mut stream = ArrowStream::start(Given(pieces.into_iter()))?;
        while let Some(batch) = stream.next_batch()? {
            batches.push(batch);
        }
        Ok(())
    };
    let outcome = read();
    (batches, outcome)
}
