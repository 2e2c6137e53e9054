//! Entry points for the harnesses of `native/fuzz`: this crate's readers over arbitrary bytes. Not a part of the
//! interface.

use std::convert::Infallible;
use std::pin::{Pin, pin};
use std::task::{Context, Poll, Waker};

use arrow_array::RecordBatch;
use arrow_flight::FlightDescriptor;
use boundary_bench_engine::Value;
use boundary_bench_engine::arrow_in::Decoded;
use boundary_bench_engine::table::arrow_schema_of;
use boundary_bench_kernel::{Error, Result};
use bytes::Bytes;
use hyper::body::{Body, Frame};
use tonic::Status;

use crate::data::{BatchReader, BatchWriter, Data, schema_message};
use crate::grpc::Messages;
use crate::values::{self, adapted, columns_of};

/// A body of these frames, all of which are ready.
#[derive(Debug)]
pub struct Frames(pub std::vec::IntoIter<Bytes>);

impl Body for Frames {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<std::result::Result<Frame<Bytes>, Infallible>>> {
        Poll::Ready(self.0.next().map(|bytes| Ok(Frame::data(bytes))))
    }
}

/// The batches of a stream of these frames, whose messages have at most `limit` bytes, and the outcome of the reading.
pub fn batches(frames: Vec<Bytes>, limit: usize) -> (Vec<RecordBatch>, Result<()>) {
    let mut messages = Messages::new(Frames(frames.into_iter()), limit);
    let mut reader = BatchReader::default();
    let mut batches = Vec::new();
    loop {
        let data = match next(&mut messages) {
            Ok(Some(data)) => data,
            Ok(None) => return (batches, Ok(())),
            Err(status) => return (batches, Err(crate::engine_error(status))),
        };
        match reader.read(&data) {
            Ok(Decoded::Batch(batch)) => batches.push(batch),
            Ok(_) => {}
            Err(error) => return (batches, Err(error)),
        }
    }
}

fn next(messages: &mut Messages<Frames>) -> std::result::Result<Option<Data>, Status> {
    // All frames are ready, so the future never waits.
    match pin!(Data::next(messages)).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(data) => data,
        Poll::Pending => Err(Status::internal("it waits for nothing")),
    }
}

/// A batch in our types, as the engine returns it.
pub fn in_our_types(batch: &RecordBatch) -> Result<RecordBatch> {
    adapted(batch, &arrow_schema_of(&columns_of(&batch.schema())?), 0)
}

/// A batch as sets of parameters, as the service reads it.
pub fn parameters(batch: &RecordBatch) -> Result<Vec<Vec<Value>>> {
    values::rows(batch)
}

/// The stream of these batches.
pub fn stream_of(batches: &[RecordBatch]) -> Result<Vec<u8>> {
    let schema = batches.first().map(RecordBatch::schema).ok_or_else(|| Error::InvalidArgument(String::new()))?;
    let mut bytes =
        schema_message(&schema, Some(&FlightDescriptor::new_cmd("a command"))).into_iter().collect::<Vec<_>>();
    let mut writer = BatchWriter::new(&schema)?;
    for batch in batches {
        bytes.extend(writer.write(batch)?);
    }
    Ok(bytes.concat())
}
