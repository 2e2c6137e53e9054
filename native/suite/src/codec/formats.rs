//! Formats: JSON, `MessagePack` and Arrow IPC, by the crates that a program in Rust uses for them.
//!
//! The documents are made here. The other sides get them from the addon, so that all sides read the same bytes. Of each result, all sides
//! read the same. They read each field of each record, and each number of each row with the length and the last byte of its text.
//! `src/families/codec/formats.ts` has the sums of it.

mod arrow;
mod inputs;
mod records;

use std::hint::black_box;

use boundary_bench_kernel::Result;

pub use self::arrow::{ArrowColumns, read_arrow};
use self::inputs::{Inputs, RECORDS, inputs};
pub use self::inputs::{arrow_document, json_document, message_pack_document};
use self::records::NUMBERS_OF_RECORD;
pub use self::records::{RecordMemory, records_of_json, records_of_message_pack};
use crate::boundary::{Record, TURNS};
use crate::calls::{InProcessSpec, timed};
use crate::sample::CellSample;

/// Executes a cell once.
pub(crate) fn run(spec: &InProcessSpec) -> Result<CellSample> {
    let Inputs { json, message_pack, arrow } = inputs()?;
    let (times, turn) = (spec.times(), |call: u32| call as usize % TURNS);
    let read = |sum: Result<f64>| sum.unwrap_or(f64::NAN);
    let sum_of =
        |records: Result<Vec<Record>>| records.map_or(f64::NAN, |records| records.iter().map(Record::sum).sum());
    let (mut numbers, mut names) = (vec![0.0; 1 + NUMBERS_OF_RECORD * usize::from(RECORDS)], vec![0; 1024]);
    let mut memory = RecordMemory { numbers: &mut numbers, texts: &mut names };
    Ok(match (spec.workload.as_str(), spec.lane.as_str()) {
        ("json_parse", "call") => timed(times, |call| sum_of(records_of_json(black_box(&json[turn(call)])))),
        ("json_parse", "frame") => timed(times, |call| {
            let count = memory.read_json(black_box(json[turn(call)].as_bytes()));
            count.ok().and_then(|count| black_box(&memory).sum(count)).unwrap_or(f64::NAN)
        }),
        ("msgpack_decode", "call") => {
            timed(times, |call| sum_of(records_of_message_pack(black_box(&message_pack[turn(call)]))))
        }
        ("msgpack_decode", "frame") => timed(times, |call| {
            let count = memory.read_message_pack(black_box(&message_pack[turn(call)]));
            count.ok().and_then(|count| black_box(&memory).sum(count)).unwrap_or(f64::NAN)
        }),
        ("arrow_decode", "columns") => {
            timed(times, |call| read(read_arrow(black_box(&arrow[turn(call)]), |columns| Ok(columns.sum()))))
        }
        _ => return Err(spec.unknown()),
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn bytes_that_were_changed_are_read_or_refused(changes in prop::collection::vec((any::<u16>(), any::<u8>()), 1..8)) {
            let changed = |bytes: &[u8]| {
                let mut bytes = bytes.to_vec();
                for (at, byte) in &changes {
                    let place = usize::from(*at) % bytes.len();
                    bytes[place] = *byte;
                }
                bytes
            };
            let (mut numbers, mut texts) = ([0.0; 200], [0; 2000]);
            let mut memory = RecordMemory { numbers: &mut numbers, texts: &mut texts };
            if let Ok(count) = memory.read_message_pack(&changed(message_pack_document(0).unwrap())) {
                prop_assert!(memory.sum(count).is_some());
            }
            if let Ok(count) = memory.read_json(&changed(json_document(0).unwrap().as_bytes())) {
                prop_assert!(memory.sum(count).is_some());
            }
            let _ = read_arrow(&changed(arrow_document(0).unwrap()), |columns| Ok(columns.sum()));
        }
    }
}
