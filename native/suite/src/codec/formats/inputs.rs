//! The documents that are read, one of each for each turn.

use std::fmt::Display;
use std::sync::{Arc, LazyLock};

use arrow_array::{Array, Float64Array, Int32Array, RecordBatch, StringArray};
use arrow_ipc::writer::StreamWriter;
use arrow_schema::ArrowError;
use boundary_bench_kernel::{Error, Result};
use serde::Serialize;

use crate::boundary::{Record, TURNS};

/// The records of a document.
pub(super) const RECORDS: u8 = 10;

/// The rows of an Arrow stream.
const ROWS: i32 = 1000;

/// The inputs, in turn.
pub(super) struct Inputs {
    pub(super) json: [String; TURNS],
    pub(super) message_pack: [Vec<u8>; TURNS],
    pub(super) arrow: [Vec<u8>; TURNS],
}

/// The inputs, made once.
pub(super) fn inputs() -> Result<&'static Inputs> {
    static INPUTS: LazyLock<std::result::Result<Inputs, String>> = LazyLock::new(|| {
        Ok(Inputs {
            json: each_turn(|turn| serde_json::to_string(&documents(turn)))?,
            message_pack: each_turn(|turn| rmp_serde::to_vec_named(&documents(turn)))?,
            arrow: each_turn(arrow_stream)?,
        })
    });
    INPUTS.as_ref().map_err(|error| Error::Internal(error.clone()))
}

fn each_turn<T, E: Display>(
    make: impl Fn(usize) -> std::result::Result<T, E>,
) -> std::result::Result<[T; TURNS], String> {
    let inputs = (0..TURNS).map(|turn| make(turn).map_err(|error| error.to_string()));
    let inputs = inputs.collect::<std::result::Result<Vec<_>, _>>()?;
    inputs.try_into().map_err(|_| "a turn has no input".to_owned())
}

/// The input of a turn, out of the inputs of a format.
fn input_of<T>(inputs: &'static [T; TURNS], turn: u32) -> Result<&'static T> {
    inputs
        .get(turn as usize)
        .ok_or_else(|| Error::InvalidArgument(format!("there is no turn {turn}; there are {TURNS}, from 0")))
}

/// The JSON of the records of a turn, as `JSON.stringify` writes it.
pub fn json_document(turn: u32) -> Result<&'static str> {
    input_of(&inputs()?.json, turn).map(String::as_str)
}

/// The `MessagePack` of the records of a turn, an array of maps.
pub fn message_pack_document(turn: u32) -> Result<&'static [u8]> {
    input_of(&inputs()?.message_pack, turn).map(Vec::as_slice)
}

/// The Arrow IPC stream of the rows of a turn.
pub fn arrow_document(turn: u32) -> Result<&'static [u8]> {
    input_of(&inputs()?.arrow, turn).map(Vec::as_slice)
}

/// A record in a document: whole numbers are integers, as most programs write them.
#[derive(Serialize)]
struct Written {
    id: u32,
    sensor: u32,
    value: f64,
    timestamp: u64,
    score: f64,
    count: u32,
    active: bool,
    flagged: bool,
    name: String,
    city: String,
}

impl From<Record> for Written {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the numbers are whole and small")]
    fn from(record: Record) -> Self {
        let Record { id, sensor, value, timestamp, score, count, active, flagged, name, city } = record;
        let [id, sensor, count] = [id, sensor, count].map(|number| number as u32);
        Self { id, sensor, value, timestamp: timestamp as u64, score, count, active, flagged, name, city }
    }
}

fn documents(turn: usize) -> Vec<Written> {
    let first = u8::try_from(turn).unwrap_or_default() * RECORDS;
    (first..first + RECORDS).map(|id| Record::example(id).into()).collect()
}

fn arrow_stream(turn: usize) -> std::result::Result<Vec<u8>, ArrowError> {
    let first = i32::try_from(turn).unwrap_or_default();
    let ids = first..first + ROWS;
    let scores = ids.clone().map(|id| f64::from(id) * 0.5);
    let names = ids.clone().map(|id| format!("reading_{id}"));
    let batch = RecordBatch::try_from_iter([
        ("id", Arc::new(Int32Array::from_iter_values(ids)) as Arc<dyn Array>),
        ("score", Arc::new(Float64Array::from_iter_values(scores))),
        ("name", Arc::new(StringArray::from_iter_values(names))),
    ])?;
    let mut writer = StreamWriter::try_new(Vec::new(), batch.schema_ref())?;
    writer.write(&batch)?;
    writer.into_inner()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_turn_that_there_is_not_is_an_error() {
        for turn in [4, u32::MAX] {
            assert_eq!(json_document(turn).unwrap_err().code(), "BB_INVALID_ARGUMENT");
            assert!(message_pack_document(turn).is_err() && arrow_document(turn).is_err());
        }
    }
}
