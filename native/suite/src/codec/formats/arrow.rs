//! Columns out of Arrow IPC streams.

use std::ptr::NonNull;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int32Type};
use arrow_array::{Array, RecordBatch};
use arrow_buffer::Buffer;
use arrow_ipc::reader::StreamDecoder;
use arrow_schema::ArrowError;
use boundary_bench_kernel::error::catch_panic;
use boundary_bench_kernel::{Error, Result};

/// The columns of an Arrow stream, read in place.
#[derive(Clone, Copy)]
pub struct ArrowColumns<'a> {
    /// A number of each row.
    pub ids: &'a [i32],
    /// Another number of each row.
    pub scores: &'a [f64],
    /// The place in `texts` at which the text of each row begins, and the end of the last one.
    pub offsets: &'a [i32],
    /// The texts of all rows in UTF-8, up to the end of the last one.
    pub texts: &'a [u8],
}

impl ArrowColumns<'_> {
    /// The sum of the numbers, and of the length and last byte of each text.
    pub fn sum(&self) -> f64 {
        let ids: i64 = self.ids.iter().copied().map(i64::from).sum();
        let scores: f64 = self.scores.iter().sum();
        let texts: i64 = self
            .offsets
            .windows(2)
            .filter_map(|ends| {
                let [from, to] = [ends[0], ends[1]].map(|offset| usize::try_from(offset).unwrap_or_default());
                let text = self.texts.get(from..to)?;
                Some(i64::from(ends[1] - ends[0]) + text.last().copied().map_or(0, i64::from))
            })
            .sum();
        (ids + texts) as f64 + scores
    }
}

/// Lets `read` have the columns of an Arrow IPC stream of one batch without nulls: `id`, `score` and `name`. Nothing is copied if the
/// stream is aligned as its writer has made it.
///
/// The decoder is not arrow-ipc's `StreamReader`. That copies the body of each message, and takes as much memory as a message says that its
/// body has.
pub fn read_arrow<T>(stream: &[u8], read: impl FnOnce(ArrowColumns<'_>) -> Result<T>) -> Result<T> {
    // SAFETY: the memory is not written, and the arrays over it are dropped before this function returns. `read` gets slices that can't
    // outlive it, and arrow-ipc keeps nothing of a batch.
    let buffer = unsafe { Buffer::from_custom_allocation(NonNull::from(stream).cast(), stream.len(), Arc::new(())) };
    // The decoder has checks of its own, but a panic on hostile bytes must not leave this function.
    let batch = catch_panic(|| only_batch(buffer)).map_err(|error| match error {
        Error::Internal(message) => Error::InvalidIpc(message),
        other => other,
    })?;
    let wrong =
        || Error::SchemaMismatch("the stream must have the columns id, score and name, without nulls".to_owned());
    let [ids, scores, names] = batch.columns() else { return Err(wrong()) };
    if batch.columns().iter().any(|column| column.null_count() > 0) {
        return Err(wrong());
    }
    let ids = ids.as_primitive_opt::<Int32Type>().ok_or_else(wrong)?.values();
    let scores = scores.as_primitive_opt::<Float64Type>().ok_or_else(wrong)?.values();
    let names = names.as_string_opt::<i32>().ok_or_else(wrong)?;
    let offsets = names.value_offsets();
    let end = offsets.last().and_then(|end| usize::try_from(*end).ok()).ok_or_else(wrong)?;
    let texts = names.value_data().get(..end).ok_or_else(wrong)?;
    read(ArrowColumns { ids, scores, offsets, texts })
}

fn only_batch(mut buffer: Buffer) -> Result<RecordBatch> {
    let invalid = |error: ArrowError| Error::InvalidIpc(error.to_string());
    let mut decoder = StreamDecoder::new();
    let mut found = None;
    while !buffer.is_empty() {
        let batch = decoder.decode(&mut buffer).map_err(invalid)?;
        if batch.is_some() && std::mem::replace(&mut found, batch).is_some() {
            return Err(Error::InvalidIpc("there is more than one batch".to_owned()));
        }
    }
    decoder.finish().map_err(invalid)?;
    found.ok_or_else(|| Error::InvalidIpc("there is no batch".to_owned()))
}

#[cfg(test)]
mod tests {
    use arrow_array::{Float64Array, Int32Array, StringArray};
    use arrow_ipc::writer::StreamWriter;

    use super::super::inputs::arrow_document;
    use super::*;

    #[test]
    fn columns_are_read_where_they_lie() {
        for turn in 0..4_u32 {
            let stream = arrow_document(turn).unwrap();
            read_arrow(stream, |columns| {
                let first = i32::try_from(turn).unwrap();
                assert_eq!(columns.ids, (first..first + 1000).collect::<Vec<_>>());
                assert!(
                    columns
                        .scores
                        .iter()
                        .zip(columns.ids)
                        .all(|(score, id)| (score - f64::from(*id) * 0.5).abs() < 1e-9)
                );
                assert_eq!(columns.offsets.len(), 1001);
                assert!(columns.texts.ends_with(format!("reading_{}", turn + 999).as_bytes()));
                assert!(stream.as_ptr_range().contains(&columns.texts.as_ptr()));
                Ok(())
            })
            .unwrap();
        }
        // Of memory that is not aligned, columns are copied.
        let stream = arrow_document(1).unwrap();
        let shifted: Vec<u8> = std::iter::once(0).chain(stream.iter().copied()).collect();
        let sums = [stream, &shifted[1..]].map(|stream| read_arrow(stream, |columns| Ok(columns.sum())).unwrap());
        assert!((sums[0] - sums[1]).abs() < 1e-9);
    }

    #[test]
    fn what_is_no_stream_of_the_columns_is_refused() {
        let stream = arrow_document(0).unwrap();
        let sum = |bytes: &[u8]| read_arrow(bytes, |columns| Ok(columns.sum())).map_err(|error| error.code());
        for end in [0, 1, 4, 8, 100, stream.len() / 2, stream.len() - 1] {
            assert_eq!(sum(&stream[..end]), Err("BB_INVALID_IPC"), "{end} bytes");
        }
        assert_eq!(sum(&[stream, stream].concat()), Err("BB_INVALID_IPC"));
        let written = |columns: Vec<(&str, Arc<dyn Array>)>, batches: usize| {
            let batch = RecordBatch::try_from_iter(columns).unwrap();
            let mut writer = StreamWriter::try_new(Vec::new(), batch.schema_ref()).unwrap();
            (0..batches).for_each(|_| writer.write(&batch).unwrap());
            writer.into_inner().unwrap()
        };
        let ids = || ("id", Arc::new(Int32Array::from(vec![1])) as Arc<dyn Array>);
        let scores = || ("score", Arc::new(Float64Array::from(vec![0.5])) as Arc<dyn Array>);
        let names = |name: Option<&str>| ("name", Arc::new(StringArray::from(vec![name])) as Arc<dyn Array>);
        let good = || vec![ids(), scores(), names(Some("xy"))];
        assert_eq!(sum(&written(good(), 1)), Ok(1.0 + 0.5 + 2.0 + f64::from(b'y')));
        assert_eq!(sum(&written(good(), 0)), Err("BB_INVALID_IPC"));
        assert_eq!(sum(&written(good(), 2)), Err("BB_INVALID_IPC"));
        for columns in [
            vec![ids()],
            vec![ids(), scores(), names(None)],
            vec![scores(), ids(), names(Some(""))],
            vec![ids(), scores(), ids()],
        ] {
            let columns = columns.into_iter().enumerate().map(|(place, (_, array))| (["a", "b", "c"][place], array));
            assert_eq!(sum(&written(columns.collect(), 1)), Err("BB_SCHEMA_MISMATCH"));
        }
    }
}
