//! Arrow's stream format as the server sends it, in pieces that may be cut anywhere.

use arrow_array::RecordBatch;
use arrow_buffer::Buffer;
use arrow_schema::SchemaRef;
use boundary_bench_engine::arrow_in::{Decoded, PieceReader};
use boundary_bench_kernel::{Error, Result};

use crate::engine_error;

/// A source of the pieces of a stream. Dropping it ends the query.
pub(crate) trait Pieces: Send {
    /// The next piece, or `None` at the end.
    fn next_piece(&mut self) -> Result<Option<Buffer>>;
}

/// A stream, decoded on demand.
pub(crate) struct ArrowStream<P> {
    /// The source of pieces, or `None` once the stream has ended.
    pieces: Option<P>,
    reader: PieceReader,
    /// Bytes that are not decoded yet.
    data: Buffer,
    schema: SchemaRef,
}

impl<P: Pieces> ArrowStream<P> {
    /// Reads as far as the schema. The errors of a query arrive before it.
    pub(crate) fn start(pieces: P) -> Result<Self> {
        let mut stream = Self {
            pieces: Some(pieces),
            reader: PieceReader::default(),
            data: Buffer::default(),
            schema: SchemaRef::new(arrow_schema::Schema::empty()),
        };
        while let Some(decoded) = stream.next_decoded()? {
            if let Decoded::Schema(schema) = decoded {
                stream.schema = schema;
                return Ok(stream);
            }
        }
        Err(engine_error("the server sent a result without a schema"))
    }

    /// The stream's own schema.
    pub(crate) fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// The next batch, possibly empty, or `None` at the end.
    pub(crate) fn next_batch(&mut self) -> Result<Option<RecordBatch>> {
        while let Some(decoded) = self.next_decoded()? {
            match decoded {
                Decoded::Batch(batch) => return Ok(Some(batch)),
                Decoded::Nothing => {}
                Decoded::Schema(_) => return Err(engine_error("the server sent a second schema")),
            }
        }
        Ok(None)
    }

    fn next_decoded(&mut self) -> Result<Option<Decoded>> {
        loop {
            if let Some(decoded) = self.reader.next(&mut self.data).map_err(of_server)? {
                return Ok(Some(decoded));
            }
            let Some(pieces) = &mut self.pieces else { return Ok(None) };
            if let Some(data) = pieces.next_piece()? {
                self.data = data;
            } else {
                // The server leaves out the end marker.
                self.pieces = None;
                self.reader.finish().map_err(of_server)?;
            }
        }
    }
}

/// Names the server in an error about its bytes.
fn of_server(error: Error) -> Error {
    match error {
        Error::InvalidIpc(problem) => engine_error(problem),
        other => other,
    }
}
