//! Arrow's stream format as the server sends it, in pieces that may be cut anywhere.

use arrow_array::RecordBatch;
use arrow_buffer::Buffer;
use arrow_ipc::reader::StreamDecoder;
use arrow_schema::{ArrowError, SchemaRef};
use boundary_bench_kernel::error::catch_panic;
use boundary_bench_kernel::{Error, Result};

use crate::engine_error;

/// The end marker of a stream in Arrow's format.
const END_OF_STREAM: [u8; 8] = [0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0];

/// A source of the pieces of a stream. Dropping it ends the query.
pub(crate) trait Pieces: Send {
    /// The next piece; `None` at the end.
    fn next_piece(&mut self) -> Result<Option<Buffer>>;
}

/// A stream, decoded on demand.
pub(crate) struct ArrowStream<P> {
    /// The source of pieces; `None` once the stream has ended.
    pieces: Option<P>,
    decoder: StreamDecoder,
    /// Bytes that are not decoded yet.
    data: Buffer,
    /// A batch that was decoded together with the schema.
    first: Option<RecordBatch>,
    schema: SchemaRef,
}

impl<P: Pieces> ArrowStream<P> {
    /// Reads as far as the schema; the errors of a query arrive before it.
    pub(crate) fn start(pieces: P) -> Result<Self> {
        let mut stream = Self {
            pieces: Some(pieces),
            decoder: StreamDecoder::new(),
            data: Buffer::default(),
            first: None,
            schema: SchemaRef::new(arrow_schema::Schema::empty()),
        };
        loop {
            if let Some(schema) = stream.decoder.schema() {
                stream.schema = schema;
                return Ok(stream);
            }
            if stream.pieces.is_none() {
                return Err(engine_error("the server sent a result without a schema"));
            }
            stream.first = stream.step()?;
        }
    }

    /// The stream's own schema.
    pub(crate) fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// The next batch, possibly empty; `None` at the end.
    pub(crate) fn next_batch(&mut self) -> Result<Option<RecordBatch>> {
        if let Some(batch) = self.first.take() {
            return Ok(Some(batch));
        }
        while self.pieces.is_some() || !self.data.is_empty() {
            if let Some(batch) = self.step()? {
                return Ok(Some(batch));
            }
        }
        Ok(None)
    }

    fn step(&mut self) -> Result<Option<RecordBatch>> {
        if self.data.is_empty()
            && let Some(pieces) = &mut self.pieces
        {
            if let Some(data) = pieces.next_piece()? {
                self.data = data;
            } else {
                self.pieces = None;
                // The server leaves out the end marker. The decoder requires it after a schema that no batch follows.
                decoded(|| {
                    self.decoder.decode(&mut Buffer::from(END_OF_STREAM))?;
                    self.decoder.finish()
                })?;
            }
        }
        decoded(|| self.decoder.decode(&mut self.data))
    }
}

/// Runs the decoder. It checks its input, but a panic on bytes that are no Arrow stream must not get further than this.
fn decoded<T>(decode: impl FnOnce() -> std::result::Result<T, ArrowError>) -> Result<T> {
    catch_panic(|| decode().map_err(engine_error)).map_err(|error| match error {
        Error::Internal(problem) => engine_error(problem),
        other => other,
    })
}
