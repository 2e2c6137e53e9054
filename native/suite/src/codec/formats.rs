//! Formats: JSON, `MessagePack`, Arrow IPC, UTF-8 and base64, by the crates that a program in Rust uses for them.
//!
//! The documents are made here. The other sides get them from the addon, so that all sides read the same bytes. Of each result, all sides
//! read the same: each field of each record, each number of each row with the length and the last byte of its text, whether a text is
//! valid, and the length, first and last character or byte of what base64 makes. `src/families/codec/formats.ts` has the sums of it.

use std::borrow::Cow;
use std::fmt::{self, Display};
use std::hint::black_box;
use std::ptr::NonNull;
use std::sync::{Arc, LazyLock};

use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int32Type};
use arrow_array::{Array, Float64Array, Int32Array, RecordBatch, StringArray};
use arrow_buffer::Buffer;
use arrow_ipc::reader::StreamDecoder;
use arrow_ipc::writer::StreamWriter;
use arrow_schema::ArrowError;
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use boundary_bench_kernel::error::catch_panic;
use boundary_bench_kernel::{Error, Result};
use serde::de::{DeserializeSeed, Deserializer, Error as _, SeqAccess, Visitor};
use serde::{Deserialize, Serialize};

use crate::boundary::{Record, TURNS, bytes, ends, last_code};
use crate::calls::{InProcessSpec, timed};
use crate::sample::CellSample;

/// The records of a document.
const RECORDS: u8 = 10;

/// The rows of an Arrow stream.
const ROWS: i32 = 1000;

/// The bytes of a text that is checked, and of what becomes base64.
const BYTES: usize = 4096;

/// The inputs, in turn.
struct Inputs {
    json: [String; TURNS],
    message_pack: [Vec<u8>; TURNS],
    arrow: [Vec<u8>; TURNS],
    texts: [String; TURNS],
    base64: [String; TURNS],
}

/// The inputs, made once.
fn inputs() -> Result<&'static Inputs> {
    static INPUTS: LazyLock<std::result::Result<Inputs, String>> = LazyLock::new(|| {
        Ok(Inputs {
            json: each_turn(|turn| serde_json::to_string(&documents(turn)))?,
            message_pack: each_turn(|turn| rmp_serde::to_vec_named(&documents(turn)))?,
            arrow: each_turn(arrow_stream)?,
            texts: std::array::from_fn(text),
            base64: std::array::from_fn(|turn| encode_base64(plain_bytes(turn))),
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

/// The input of a turn, out of those of a format.
fn input_of<T>(inputs: &'static [T; TURNS], turn: u32) -> Result<&'static T> {
    inputs
        .get(turn as usize)
        .ok_or_else(|| Error::InvalidArgument(format!("there is no turn {turn}; there are {TURNS}, from 0")))
}

/// The JSON of the records of a turn, as `JSON.stringify` writes it.
///
/// # Errors
/// [`Error::InvalidArgument`] if there is no such turn.
pub fn json_document(turn: u32) -> Result<&'static str> {
    input_of(&inputs()?.json, turn).map(String::as_str)
}

/// The `MessagePack` of the records of a turn, an array of maps.
///
/// # Errors
/// [`Error::InvalidArgument`] if there is no such turn.
pub fn message_pack_document(turn: u32) -> Result<&'static [u8]> {
    input_of(&inputs()?.message_pack, turn).map(Vec::as_slice)
}

/// The Arrow IPC stream of the rows of a turn.
///
/// # Errors
/// [`Error::InvalidArgument`] if there is no such turn.
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

/// Reads records out of JSON.
///
/// # Errors
/// [`Error::InvalidArgument`] for a text that is no array of records.
pub fn records_of_json(json: &str) -> Result<Vec<Record>> {
    serde_json::from_str(json).map_err(unreadable)
}

/// Reads records out of `MessagePack`.
///
/// # Errors
/// [`Error::InvalidArgument`] for bytes that are no array of records.
pub fn records_of_message_pack(bytes: &[u8]) -> Result<Vec<Record>> {
    rmp_serde::from_slice(bytes).map_err(unreadable)
}

fn unreadable(error: impl Display) -> Error {
    Error::InvalidArgument(format!("the records are unreadable: {error}"))
}

/// A record whose texts lie where they were read, unless they have escapes.
#[derive(Deserialize)]
struct BorrowedRecord<'a> {
    id: f64,
    sensor: f64,
    value: f64,
    timestamp: f64,
    score: f64,
    count: f64,
    active: bool,
    flagged: bool,
    #[serde(borrow)]
    name: Cow<'a, str>,
    #[serde(borrow)]
    city: Cow<'a, str>,
}

/// The numbers of a record among the columns: six numbers, two truth values, the sizes of the two texts in bytes, and their lengths in
/// units of UTF-16, by which JavaScript cuts them.
const NUMBERS_OF_RECORD: usize = 12;

/// Memory that records are read into: in place of objects, numbers and texts that lie one after the other.
pub struct RecordMemory<'a> {
    /// The size of all texts in bytes, then twelve numbers a record: six numbers, two truth values, the sizes of the two texts in bytes,
    /// and their lengths in units of UTF-16.
    pub numbers: &'a mut [f64],
    /// The name and the city of each record, in UTF-8.
    pub texts: &'a mut [u8],
}

impl RecordMemory<'_> {
    /// Reads records out of JSON, and returns their number.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] for bytes that are no JSON array of records, [`Error::TooLarge`] for more than there is memory for.
    pub fn read_json(&mut self, json: &[u8]) -> Result<usize> {
        // JSON that was checked as a whole needs no check of each text.
        let json = simdutf8::basic::from_utf8(json).map_err(unreadable)?;
        let mut deserializer = serde_json::Deserializer::from_str(json);
        let count = self.read(&mut deserializer)?;
        deserializer.end().map_err(unreadable)?;
        Ok(count)
    }

    /// Reads records out of `MessagePack`, and returns their number.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] for bytes that are no array of records, [`Error::TooLarge`] for more than there is memory for.
    pub fn read_message_pack(&mut self, bytes: &[u8]) -> Result<usize> {
        self.read(&mut rmp_serde::Deserializer::from_read_ref(bytes))
    }

    fn read<'de, D: Deserializer<'de>>(&mut self, deserializer: D) -> Result<usize> {
        let RecordMemory { numbers, texts } = self;
        let mut filling =
            Filling { numbers: numbers.get_mut(1..).unwrap_or_default(), texts, count: 0, size: 0, is_full: false };
        let read = (&mut filling).deserialize(deserializer);
        let (count, size, is_full) = (filling.count, filling.size, filling.is_full);
        match (read, self.numbers.first_mut()) {
            (Ok(()), Some(first)) => {
                *first = size as f64;
                Ok(count)
            }
            (Err(error), Some(_)) if !is_full => Err(unreadable(error)),
            _ => Err(Error::TooLarge("the records need more memory than the arrays have".to_owned())),
        }
    }

    /// The sum of the fields of the first `count` records, as [`Record::sum`] has it; `None` if there are not so many.
    #[must_use]
    pub fn sum(&self, count: usize) -> Option<f64> {
        let (size, numbers) = self.numbers.split_first()?;
        let all = std::str::from_utf8(self.texts.get(..index(*size))?).ok()?;
        let mut at = 0;
        let mut sum = 0.0;
        for record in numbers.get(..count * NUMBERS_OF_RECORD)?.as_chunks::<NUMBERS_OF_RECORD>().0 {
            let [id, sensor, value, timestamp, score, places, active, flagged, name, city, _, _] = *record;
            let city_at = at + index(name);
            let end = city_at + index(city);
            let codes = f64::from(last_code(all.get(at..city_at)?)) + f64::from(last_code(all.get(city_at..end)?));
            sum += id + sensor + value + timestamp + score + places + active + 2.0 * flagged + codes;
            at = end;
        }
        Some(sum)
    }
}

/// A size that was written as a number.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a size of memory that was filled here")]
fn index(size: f64) -> usize {
    size as usize
}

/// The memory of records as far as it is filled.
struct Filling<'a> {
    numbers: &'a mut [f64],
    texts: &'a mut [u8],
    /// The records so far.
    count: usize,
    /// The bytes of texts so far.
    size: usize,
    /// Whether a record had no room.
    is_full: bool,
}

impl Filling<'_> {
    /// Puts a record behind the ones before; `None` if there is no room.
    fn put(&mut self, record: &BorrowedRecord<'_>) -> Option<()> {
        let at = self.count * NUMBERS_OF_RECORD;
        let numbers = self.numbers.get_mut(at..at + NUMBERS_OF_RECORD)?;
        let (name, city) = (record.name.as_bytes(), record.city.as_bytes());
        let (into, into_city) =
            self.texts.get_mut(self.size..self.size + name.len() + city.len())?.split_at_mut(name.len());
        into.copy_from_slice(name);
        into_city.copy_from_slice(city);
        numbers.copy_from_slice(&[
            record.id,
            record.sensor,
            record.value,
            record.timestamp,
            record.score,
            record.count,
            f64::from(u8::from(record.active)),
            f64::from(u8::from(record.flagged)),
            name.len() as f64,
            city.len() as f64,
            units(&record.name) as f64,
            units(&record.city) as f64,
        ]);
        self.size += name.len() + city.len();
        self.count += 1;
        Some(())
    }
}

/// The length of a text in units of UTF-16.
fn units(text: &str) -> usize {
    if text.is_ascii() { text.len() } else { text.encode_utf16().count() }
}

impl<'de> DeserializeSeed<'de> for &mut Filling<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> std::result::Result<(), D::Error> {
        deserializer.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for &mut Filling<'_> {
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an array of records")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut records: A) -> std::result::Result<(), A::Error> {
        while let Some(record) = records.next_element::<BorrowedRecord<'de>>()? {
            if self.put(&record).is_none() {
                self.is_full = true;
                return Err(A::Error::custom("there is no room"));
            }
        }
        Ok(())
    }
}

/// The columns of an Arrow stream, where they lie.
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
    #[must_use]
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

/// Lets `read` have the columns of an Arrow IPC stream of one batch without nulls: `id`, `score` and `name`. Nothing is copied where the
/// stream is aligned as its writer has made it.
///
/// The decoder is not arrow-ipc's `StreamReader`, which copies the body of each message, and which takes as much memory as a message says
/// that its body has.
///
/// # Errors
/// [`Error::InvalidIpc`] for bytes that are no whole stream of one batch, [`Error::SchemaMismatch`] for other columns, and the errors of
/// `read`.
pub fn read_arrow<T>(stream: &[u8], read: impl FnOnce(ArrowColumns<'_>) -> Result<T>) -> Result<T> {
    // SAFETY: the memory is not written, and the arrays over it are dropped before this function returns: `read` gets slices that can't
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

/// The text of a turn, of which each third character is a Cyrillic letter of two bytes.
fn text(turn: usize) -> String {
    let letter = |first: char, place: usize| {
        u32::try_from(place).ok().and_then(|place| char::from_u32(u32::from(first) + place)).unwrap_or(first)
    };
    let group = |place: usize| [letter('a', place % 26), letter('a', (place + 1) % 26), letter('а', place % 32)];
    // A group of three letters has four bytes.
    (turn..turn + BYTES / 4).flat_map(group).collect()
}

/// Whether bytes are UTF-8.
#[must_use]
pub fn is_utf8(bytes: &[u8]) -> bool {
    simdutf8::basic::from_utf8(bytes).is_ok()
}

/// The bytes that become base64 in a turn.
fn plain_bytes(turn: usize) -> &'static [u8] {
    bytes().get(turn..turn + BYTES).unwrap_or_default()
}

/// Bytes as base64.
#[must_use]
pub fn encode_base64(bytes: &[u8]) -> String {
    BASE64_STANDARD.encode(bytes)
}

/// Writes bytes as base64 over the beginning of `into`, and returns the number of characters.
///
/// # Errors
/// [`Error::TooLarge`] if there is too little room.
pub fn encode_base64_into(bytes: &[u8], into: &mut [u8]) -> Result<usize> {
    BASE64_STANDARD
        .encode_slice(bytes, into)
        .map_err(|_| Error::TooLarge("the base64 needs more memory than the array has".to_owned()))
}

/// The bytes of a text in base64.
///
/// # Errors
/// [`Error::InvalidArgument`] for a text that is no base64.
pub fn decode_base64(text: &str) -> Result<Vec<u8>> {
    BASE64_STANDARD.decode(text).map_err(no_base64)
}

/// Writes the bytes of a text in base64 over the beginning of `into`, and returns their number.
///
/// # Errors
/// [`Error::InvalidArgument`] for a text that is no base64, [`Error::TooLarge`] if there is too little room.
pub fn decode_base64_into(text: &[u8], into: &mut [u8]) -> Result<usize> {
    BASE64_STANDARD.decode_slice(text, into).map_err(|error| match error {
        base64::DecodeSliceError::DecodeError(error) => no_base64(error),
        base64::DecodeSliceError::OutputSliceTooSmall => {
            Error::TooLarge("the bytes need more memory than the array has".to_owned())
        }
    })
}

#[expect(clippy::needless_pass_by_value, reason = "map_err hands over the error")]
fn no_base64(error: base64::DecodeError) -> Error {
    Error::InvalidArgument(format!("the text is no base64: {error}"))
}

/// The sum of a length with the first and the last character or byte.
fn extent(bytes: &[u8]) -> f64 {
    bytes.len() as f64 + f64::from(ends(bytes))
}

/// Executes a cell once.
pub(crate) fn run(spec: &InProcessSpec) -> Result<CellSample> {
    let Inputs { json, message_pack, arrow, texts, base64 } = inputs()?;
    let (calls, turn) = (spec.calls, |call: u32| call as usize % TURNS);
    let read = |sum: Result<f64>| sum.unwrap_or(f64::NAN);
    let sum_of =
        |records: Result<Vec<Record>>| records.map_or(f64::NAN, |records| records.iter().map(Record::sum).sum());
    let (mut numbers, mut names) = (vec![0.0; 1 + NUMBERS_OF_RECORD * usize::from(RECORDS)], vec![0; 1024]);
    let mut memory = RecordMemory { numbers: &mut numbers, texts: &mut names };
    Ok(match (spec.workload.as_str(), spec.lane.as_str()) {
        ("json_parse", "call") => timed(calls, |call| sum_of(records_of_json(black_box(&json[turn(call)])))),
        ("json_parse", "frame") => timed(calls, |call| {
            let count = memory.read_json(black_box(json[turn(call)].as_bytes()));
            count.ok().and_then(|count| black_box(&memory).sum(count)).unwrap_or(f64::NAN)
        }),
        ("msgpack_decode", "call") => {
            timed(calls, |call| sum_of(records_of_message_pack(black_box(&message_pack[turn(call)]))))
        }
        ("msgpack_decode", "frame") => timed(calls, |call| {
            let count = memory.read_message_pack(black_box(&message_pack[turn(call)]));
            count.ok().and_then(|count| black_box(&memory).sum(count)).unwrap_or(f64::NAN)
        }),
        ("arrow_decode", "columns") => {
            timed(calls, |call| read(read_arrow(black_box(&arrow[turn(call)]), |columns| Ok(columns.sum()))))
        }
        ("utf8_check", "call") => {
            timed(calls, |call| f64::from(u8::from(is_utf8(black_box(texts[turn(call)].as_bytes())))))
        }
        ("base64_encode", "call") => {
            timed(calls, |call| extent(black_box(&encode_base64(black_box(plain_bytes(turn(call))))).as_bytes()))
        }
        ("base64_decode", "call") => timed(calls, |call| {
            read(decode_base64(black_box(&base64[turn(call)])).map(|bytes| extent(black_box(&bytes))))
        }),
        _ => return Err(spec.unknown()),
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The records of a document as they are read.
    fn records(turn: usize) -> Vec<Record> {
        let first = u8::try_from(turn).unwrap() * RECORDS;
        (first..first + RECORDS).map(Record::example).collect()
    }

    /// The sum of the fields of records that were read into memory of this size.
    fn sum_in(
        numbers: usize,
        texts: usize,
        read: impl FnOnce(&mut RecordMemory<'_>) -> Result<usize>,
    ) -> Result<(usize, f64)> {
        let (mut numbers, mut texts) = (vec![0.0; numbers], vec![0; texts]);
        let mut memory = RecordMemory { numbers: &mut numbers, texts: &mut texts };
        let count = read(&mut memory)?;
        Ok((count, memory.sum(count).unwrap()))
    }

    #[test]
    fn a_document_has_its_records_in_each_format() {
        for turn in 0..TURNS {
            let (json, bytes) = (&inputs().unwrap().json[turn], &inputs().unwrap().message_pack[turn]);
            assert_eq!(records_of_json(json).unwrap(), records(turn));
            assert_eq!(records_of_message_pack(bytes).unwrap(), records(turn));
            let sum: f64 = records(turn).iter().map(Record::sum).sum();
            let numbers = 1 + NUMBERS_OF_RECORD * 10;
            assert_eq!(sum_in(numbers, 190, |memory| memory.read_json(json.as_bytes())).unwrap(), (10, sum));
            assert_eq!(sum_in(numbers, 190, |memory| memory.read_message_pack(bytes)).unwrap(), (10, sum));
        }
        assert!(json_document(0).unwrap().starts_with(r#"[{"id":1,"sensor":2,"value":0.5,"timestamp":1700000000000,"#));
        for turn in [4, u32::MAX] {
            assert_eq!(json_document(turn).unwrap_err().code(), "BB_INVALID_ARGUMENT");
            assert!(message_pack_document(turn).is_err() && arrow_document(turn).is_err());
        }
    }

    #[test]
    fn memory_that_is_too_small_for_the_records_is_an_error() {
        let json = json_document(0).unwrap().as_bytes();
        let numbers = 1 + NUMBERS_OF_RECORD * 10;
        for (numbers, texts) in [(numbers - 1, 190), (numbers, 189), (1, 190), (0, 190), (numbers, 0)] {
            let read = sum_in(numbers, texts, |memory| memory.read_json(json));
            assert_eq!(read.unwrap_err().code(), "BB_TOO_LARGE", "{numbers} numbers, {texts} bytes");
        }
        // No records need one number, the size of no texts.
        assert_eq!(sum_in(1, 0, |memory| memory.read_json(b" [] ")).unwrap(), (0, 0.0));
        assert_eq!(sum_in(0, 0, |memory| memory.read_json(b"[]")).unwrap_err().code(), "BB_TOO_LARGE");
    }

    #[test]
    fn what_is_no_array_of_records_is_refused() {
        let whole = json_document(0).unwrap();
        let nested = "[".repeat(100_000);
        for json in ["", "{}", "[1]", "[{}]", &whole[..whole.len() - 1], &format!("{whole}]"), &nested] {
            assert_eq!(records_of_json(json).unwrap_err().code(), "BB_INVALID_ARGUMENT");
            let read = sum_in(200, 2000, |memory| memory.read_json(json.as_bytes()));
            assert_eq!(read.unwrap_err().code(), "BB_INVALID_ARGUMENT");
        }
        assert!(sum_in(200, 2000, |memory| memory.read_json(b"[\xff]")).is_err());
        let whole = message_pack_document(0).unwrap();
        // The last two: an array and a text that say that they are long.
        for bytes in [
            &[][..],
            &[0xc0],
            &[0x91, 1],
            &whole[..whole.len() - 1],
            &[0xdd, 255, 255, 255, 255],
            &[0x91, 0xdb, 255, 255, 255, 255],
        ] {
            assert_eq!(records_of_message_pack(bytes).unwrap_err().code(), "BB_INVALID_ARGUMENT");
            let read = sum_in(200, 2000, |memory| memory.read_message_pack(bytes));
            assert_eq!(read.unwrap_err().code(), "BB_INVALID_ARGUMENT");
        }
    }

    proptest! {
        #[test]
        fn records_with_any_texts_and_numbers_are_read_in_place(
            fields in prop::collection::vec((any::<u32>(), -1e9..1e9_f64, any::<bool>(), any::<String>(), any::<String>()), 0..8),
        ) {
            let records: Vec<Record> = fields
                .into_iter()
                .map(|(id, value, active, name, city)| Record { id: f64::from(id), value, active, name, city, ..Record::example(0) })
                .collect();
            let texts: usize = records.iter().map(|record| record.name.len() + record.city.len()).sum();
            let sum: f64 = records.iter().map(Record::sum).sum();
            let close = |(count, found): (usize, f64)| count == records.len() && (found - sum).abs() <= 1e-9 * sum.abs();
            let json = serde_json::to_string(&records).unwrap();
            let bytes = rmp_serde::to_vec_named(&records).unwrap();
            prop_assert!(close(sum_in(200, texts, |memory| memory.read_json(json.as_bytes())).unwrap()));
            prop_assert!(close(sum_in(200, texts, |memory| memory.read_message_pack(&bytes)).unwrap()));
            if texts > 0 {
                prop_assert!(sum_in(200, texts - 1, |memory| memory.read_json(json.as_bytes())).is_err());
            }
        }

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
            let _ = sum_in(200, 2000, |memory| memory.read_message_pack(&changed(message_pack_document(0).unwrap())));
            let _ = sum_in(200, 2000, |memory| memory.read_json(&changed(json_document(0).unwrap().as_bytes())));
            let _ = read_arrow(&changed(arrow_document(0).unwrap()), |columns| Ok(columns.sum()));
        }

        #[test]
        fn base64_is_decoded_to_what_was_encoded(bytes: Vec<u8>) {
            let text = encode_base64(&bytes);
            let mut into = vec![0; text.len()];
            prop_assert_eq!(encode_base64_into(&bytes, &mut into).unwrap(), text.len());
            prop_assert_eq!(&into, text.as_bytes());
            prop_assert_eq!(decode_base64(&text).unwrap(), bytes.clone());
            let mut into = vec![0; bytes.len()];
            prop_assert_eq!(decode_base64_into(text.as_bytes(), &mut into).unwrap(), bytes.len());
            prop_assert_eq!(&into, &bytes);
            if !bytes.is_empty() {
                let less = into.len() - 1;
                prop_assert_eq!(decode_base64_into(text.as_bytes(), &mut into[..less]).unwrap_err().code(), "BB_TOO_LARGE");
                prop_assert_eq!(encode_base64_into(&bytes, &mut vec![0; text.len() - 1]).unwrap_err().code(), "BB_TOO_LARGE");
            }
        }
    }

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

    #[test]
    fn a_third_of_each_text_is_not_ascii_and_a_broken_one_is_noticed() {
        for text in &inputs().unwrap().texts {
            assert_eq!(text.len(), BYTES);
            assert_eq!(text.chars().filter(|letter| !letter.is_ascii()).count() * 3, text.chars().count());
            assert!(is_utf8(text.as_bytes()));
            for place in [0, 2, 3, BYTES - 1] {
                let mut broken = text.as_bytes().to_vec();
                broken[place] = 0xff;
                assert!(!is_utf8(&broken), "{place}");
            }
            assert!(!is_utf8(&text.as_bytes()[..BYTES - 1]));
        }
        assert_eq!(decode_base64("AA=A").unwrap_err().code(), "BB_INVALID_ARGUMENT");
        assert_eq!(decode_base64_into(b"\xff", &mut [0; 8]).unwrap_err().code(), "BB_INVALID_ARGUMENT");
    }

    #[test]
    fn a_call_that_is_left_out_changes_the_checksum() {
        let spec = |workload: &str, lane: &str, calls| {
            let [family, workload, lane] = ["codec", workload, lane].map(str::to_owned);
            InProcessSpec { family, workload, lane, client: None, batch: 1, calls }
        };
        for (workload, lane) in [
            ("json_parse", "call"),
            ("json_parse", "frame"),
            ("msgpack_decode", "call"),
            ("msgpack_decode", "frame"),
            ("arrow_decode", "columns"),
            ("utf8_check", "call"),
            ("base64_encode", "call"),
            ("base64_decode", "call"),
        ] {
            let [all, fewer] = [7, 6].map(|calls| run(&spec(workload, lane, calls)).unwrap().checksum);
            assert!(all != fewer && !format!("{all:?}").contains("NaN"), "{workload}: {all:?}");
        }
        assert!(run(&spec("json_parse", "other", 1)).is_err());
        assert!(run(&spec("other", "call", 1)).is_err());
    }
}
