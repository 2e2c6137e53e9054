//! Entry points of this crate's readers for the harnesses of `native/fuzz`, for any bytes. No part of the interface.

use std::os::unix::net::UnixStream;

use boundary_bench_kernel::stream::Stream;
use boundary_bench_kernel::{Error, Result};

use crate::origin::{HttpOptions, Origin};
use crate::request::{Method, Request};
use crate::response::{ResponseReader, Whole};
use crate::streamed::StreamedResponse;

/// A response that was read to its end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// Status code of the response.
    pub status: u16,
    /// Header lines of the response.
    pub head: Vec<u8>,
    /// Body of the response, without the framing.
    pub body: Vec<u8>,
    /// Whether the connection may be used for another request.
    pub is_reusable: bool,
}

/// The responses read from bytes that arrive in pieces, after which the connection ends, and the outcome of the
/// reading.
pub fn responses(pieces: &[&[u8]], is_head: bool, most_bytes: usize) -> (Vec<Found>, Result<()>) {
    let mut reader = ResponseReader::new(most_bytes);
    let mut found = Vec::new();
    let outcome = read(&mut reader, pieces, is_head, &mut found);
    (found, outcome)
}

fn read(reader: &mut ResponseReader, pieces: &[&[u8]], is_head: bool, found: &mut Vec<Found>) -> Result<()> {
    let mut take = |reader: &ResponseReader, whole: &Whole| {
        let response = reader.response(whole);
        let (head, body) = (response.head.to_vec(), response.body.to_vec());
        found.push(Found { status: response.status, head, body, is_reusable: whole.is_reusable });
    };
    for piece in pieces {
        let mut piece = *piece;
        while !piece.is_empty() {
            let room = reader.room();
            let bytes = room.len().min(piece.len());
            room[..bytes].copy_from_slice(&piece[..bytes]);
            reader.received(bytes);
            piece = &piece[bytes..];
            while let Some(whole) = reader.next_whole(is_head)? {
                take(reader, &whole);
            }
        }
    }
    if let Some(whole) = reader.at_end() {
        take(reader, &whole);
    }
    Ok(())
}

/// The status, the header lines and the body of the response that a socket gives, read as a stream.
pub async fn streamed(socket: UnixStream, is_head: bool) -> Result<(u16, Vec<u8>, Vec<u8>)> {
    let place = Origin::new("http://127.0.0.1:1".parse()?, HttpOptions::default())?;
    let failed = |error: std::io::Error| Error::Internal(error.to_string());
    socket.set_nonblocking(true).map_err(failed)?;
    let stream = Stream::Plain(Box::new(tokio::net::UnixStream::from_std(socket).map_err(failed)?));
    let method = if is_head { Method::Head } else { Method::Get };
    let mut response = StreamedResponse::over(stream, &place, &Request { method, ..Request::get("/") }).await?;
    let mut body = Vec::new();
    while let Some(piece) = response.next_piece().await? {
        body.extend_from_slice(piece);
    }
    Ok((response.status(), response.head().to_vec(), body))
}
