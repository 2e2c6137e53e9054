//! The family `boundary`: the values that cross, and the floor of each lane. The floor is the same function called within Rust.
//!
//! Each function returns a number that depends on what it was passed, so that the sum of the numbers has a closed form and no
//! call can be left out. `src/families/boundary/functions.ts` describes the functions for the other sides.
//!
//! A floor in Rust and one in JavaScript do the same. Numbers are floats (in JavaScript, numbers with a fraction, held as doubles). They
//! come out of memory that no compiler knows. Each result is in the sum. A compiler may inline a function.

pub mod rows;

use std::collections::HashMap;
use std::hint::black_box;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, Ordering};

use boundary_bench_kernel::{Error, Result};
use serde::{Deserialize, Serialize};

use crate::calls::{InProcessSpec, Times, checksum, opaque, timed, timed_work};
use crate::matrix::FamilyPart;
use crate::sample::CellSample;

/// The family `boundary` of the matrix.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Family {
    short_characters: usize,
    long_characters: usize,
    most_bytes: usize,
    most_characters: usize,
    array_length: usize,
    row_shapes: HashMap<String, rows::RowShape>,
}

fn family() -> Result<&'static Family> {
    static FAMILY: FamilyPart<Family> = FamilyPart::new("boundary");
    FAMILY.get()
}

/// The texts that cross: of one byte a character, and of Cyrillic letters, for which JavaScript needs two.
pub struct Texts {
    /// One byte a character.
    pub short: [String; TURNS],
    /// One byte a character.
    pub long: [String; TURNS],
    /// Two bytes a character.
    pub short_wide: [String; TURNS],
    /// Two bytes a character.
    pub long_wide: [String; TURNS],
}

/// The number of different values of a kind that cross in, in turn.
pub const TURNS: usize = 4;

/// The number of different numbers that cross in, in turn.
const NUMBERS: usize = 1024;

/// The number that is added to each of those.
const ADDEND: f64 = 0.25;

/// Numbers that cross in, in turn: with a fraction, so that JavaScript holds them as doubles.
#[expect(clippy::cast_precision_loss, reason = "there are few numbers")]
fn number_at(place: usize) -> f64 {
    place as f64 + 0.5
}

/// The texts of a length: 26 letters over and over, from each of the first few on.
fn texts_of(first: char, length: usize) -> [String; TURNS] {
    let letters = (0..26).filter_map(|place| char::from_u32(u32::from(first) + place));
    std::array::from_fn(|turn| letters.clone().cycle().skip(turn).take(length).collect())
}

/// The texts, made once.
pub fn texts() -> &'static Texts {
    static TEXTS: LazyLock<Texts> = LazyLock::new(|| {
        let (short, long) = family().map_or((0, 0), |family| (family.short_characters, family.long_characters));
        Texts {
            short: texts_of('a', short),
            long: texts_of('a', long),
            short_wide: texts_of('а', short),
            long_wide: texts_of('а', long),
        }
    });
    &TEXTS
}

/// A text of `characters` characters of one byte each, at most as long as the longest text.
pub fn text(characters: usize) -> &'static str {
    static LONGEST: LazyLock<String> = LazyLock::new(|| {
        let [longest, ..] = texts_of('a', family().map_or(0, |family| family.most_characters));
        longest
    });
    LONGEST.get(..characters).unwrap_or(&LONGEST)
}

/// The code of the last character of a text, or 0 for an empty text.
pub fn last_code(text: &str) -> u32 {
    text.chars().next_back().map_or(0, u32::from)
}

/// The bytes that cross out, made once: the byte `i` is `31 i + 7`, cut to eight bits.
pub fn bytes() -> &'static [u8] {
    static BYTES: LazyLock<Vec<u8>> = LazyLock::new(|| {
        let most = family().map_or(0, |family| family.most_bytes + TURNS);
        #[expect(clippy::cast_possible_truncation, reason = "cut to eight bits, as the closed form says")]
        (0..most).map(|place| (place * 31 + 7) as u8).collect()
    });
    &BYTES
}

/// The sum of the first and the last byte, or 0 if there are none.
pub fn ends(bytes: &[u8]) -> u32 {
    bytes.first().zip(bytes.last()).map_or(0, |(first, last)| u32::from(*first) + u32::from(*last))
}

/// The sum of numbers.
pub fn sum(values: &[f64]) -> f64 {
    values.iter().sum()
}

/// The size of the head of a record in a frame: six numbers, two truth values, and the lengths of the two texts, all little-endian.
const FRAME_HEAD: usize = 6 * 8 + 4;

/// The most bytes of each text of a record in a frame.
const MOST_TEXT: usize = 255;

/// An object of ten fields.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the fields stand for any object's fields")]
pub struct Record {
    pub id: f64,
    pub sensor: f64,
    pub value: f64,
    pub timestamp: f64,
    pub score: f64,
    pub count: f64,
    pub active: bool,
    pub flagged: bool,
    pub name: String,
    pub city: String,
}

impl Record {
    /// The records that cross in, in turn. The first one crosses out.
    pub fn example(turn: u8) -> Self {
        Self {
            id: 1.0 + f64::from(turn),
            sensor: 2.0,
            value: 0.5,
            timestamp: 1_700_000_000_000.0,
            score: 0.25,
            count: 3.0,
            active: true,
            flagged: false,
            name: "sensor seven".to_owned(),
            city: "Uppsala".to_owned(),
        }
    }

    /// A sum that each of the fields is in.
    pub fn sum(&self) -> f64 {
        let numbers = self.id + self.sensor + self.value + self.timestamp + self.score + self.count;
        let truths = f64::from(u8::from(self.active)) + 2.0 * f64::from(u8::from(self.flagged));
        numbers + truths + f64::from(last_code(&self.name)) + f64::from(last_code(&self.city))
    }

    /// Reads JSON.
    pub fn of_json(text: &str) -> Result<Self> {
        serde_json::from_str(text).map_err(|error| Error::InvalidArgument(format!("the record is unreadable: {error}")))
    }

    /// The record as JSON.
    pub fn to_json(&self) -> Result<String> {
        serde_json::to_string(self).map_err(|error| Error::Internal(error.to_string()))
    }

    /// Reads a frame.
    pub fn of_frame(frame: &[u8]) -> Result<Self> {
        let wrong = || {
            Error::InvalidArgument("the frame of a record ends too early, or has a text that is no UTF-8".to_owned())
        };
        let (head, texts) = frame.split_at_checked(FRAME_HEAD).ok_or_else(wrong)?;
        let number =
            |place: usize| head[place * 8..].first_chunk().map_or(f64::NAN, |bytes| f64::from_le_bytes(*bytes));
        let [active, flagged, name, city] = [48, 49, 50, 51].map(|place| usize::from(head[place]));
        let text = |from: usize, length: usize| {
            let bytes = texts.get(from..from + length)?;
            std::str::from_utf8(bytes).ok().map(str::to_owned)
        };
        Ok(Self {
            id: number(0),
            sensor: number(1),
            value: number(2),
            timestamp: number(3),
            score: number(4),
            count: number(5),
            active: active != 0,
            flagged: flagged != 0,
            name: text(0, name).ok_or_else(wrong)?,
            city: text(name, city).ok_or_else(wrong)?,
        })
    }

    /// Writes a frame over the beginning of `into`, and returns its size.
    pub fn write_frame(&self, into: &mut [u8]) -> Result<usize> {
        let (name, city) = (self.name.as_bytes(), self.city.as_bytes());
        let size = FRAME_HEAD + name.len() + city.len();
        if into.len() < size || name.len() > MOST_TEXT || city.len() > MOST_TEXT {
            return Err(Error::InvalidArgument(format!("the frame of a record needs {size} bytes")));
        }
        for (place, number) in
            [self.id, self.sensor, self.value, self.timestamp, self.score, self.count].into_iter().enumerate()
        {
            into[place * 8..place * 8 + 8].copy_from_slice(&number.to_le_bytes());
        }
        #[expect(clippy::cast_possible_truncation, reason = "checked: at most 255 bytes")]
        into[48..FRAME_HEAD].copy_from_slice(&[
            u8::from(self.active),
            u8::from(self.flagged),
            name.len() as u8,
            city.len() as u8,
        ]);
        into[FRAME_HEAD..FRAME_HEAD + name.len()].copy_from_slice(name);
        into[FRAME_HEAD + name.len()..size].copy_from_slice(city);
        Ok(size)
    }
}

/// The calls of [`nothing`] so far.
static CALLS: AtomicU64 = AtomicU64::new(0);

/// A call that passes nothing. It is counted.
#[inline]
pub fn nothing() {
    // The one thread that calls needs no order.
    CALLS.store(CALLS.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
}

/// The calls of [`nothing`] so far.
pub fn calls() -> u64 {
    CALLS.load(Ordering::Relaxed)
}

/// The sum of two numbers.
#[inline]
pub fn add(left: f64, right: f64) -> f64 {
    left + right
}

/// The next integer, after the largest one the smallest.
#[inline]
pub fn increment(value: i64) -> i64 {
    value.wrapping_add(1)
}

/// The wrapped object whose functions are called.
#[derive(Debug, Default)]
pub struct Counter {
    /// The sum so far.
    pub value: f64,
}

/// Calls a function with a number.
#[inline]
fn call_back(function: impl FnOnce(f64) -> f64, value: f64) -> f64 {
    function(value)
}

impl Counter {
    /// Adds a number, and returns the sum so far.
    #[inline]
    pub fn add(&mut self, number: f64) -> f64 {
        self.value += number;
        self.value
    }
}

/// Executes `calls` calls of a workload within Rust, one after the other, and returns their time and the sum of their results.
pub(crate) fn run_floor(spec: &InProcessSpec) -> Result<CellSample> {
    let (workload, lane, times) = (spec.workload.as_str(), spec.lane.as_str(), spec.times());
    let turn = |call: u32| call as usize % TURNS;
    let numbers: [f64; NUMBERS] = std::array::from_fn(number_at);
    let (numbers, addend) = (black_box(&numbers), black_box(&ADDEND));
    let number = |call: u32| numbers[call as usize % NUMBERS];
    let read = |record: Result<Record>| record.map_or(f64::NAN, |record| record.sum());
    let records = [0, 1, 2, 3].map(Record::example);
    let records = black_box(&records);
    let mut frame = [0; 256];
    let mut through_frame = |record: &Record| {
        let written = black_box(record).write_frame(&mut frame);
        read(written.and_then(|size| Record::of_frame(&black_box(&frame)[..size])))
    };
    let through_json =
        |record: &Record| read(black_box(record).to_json().and_then(|json| Record::of_json(&black_box(json))));
    Ok(match (workload, lane) {
        ("nothing", _) => {
            let before = self::calls();
            let mut sample = timed(times, |_| {
                nothing();
                0.0
            });
            #[expect(clippy::cast_precision_loss, reason = "there are fewer than 2^53 calls")]
            let called = (self::calls() - before) as f64 / f64::from(times.repeats);
            sample.checksum = checksum(times.calls, called);
            sample
        }
        ("numbers", _) => timed(times, |call| add(number(call), *addend)),
        #[expect(clippy::cast_precision_loss, reason = "there are fewer than 2^32 calls")]
        ("bigint", _) => {
            // Each call gets the result of the call before. No compiler may foretell it.
            timed_work(times, || (0..times.calls).fold(0, |value, _| increment(opaque(value))) as f64)
        }
        ("record_in", "json") => timed(times, |call| through_json(&records[turn(call)])),
        ("record_in", "frame") => timed(times, |call| through_frame(&records[turn(call)])),
        ("record_in", _) => timed(times, |call| records[turn(call)].sum()),
        ("record_out", "json") => timed(times, |_| through_json(&records[0])),
        ("record_out", "frame") => timed(times, |_| through_frame(&records[0])),
        ("record_out", _) => timed(times, |_| black_box(records[0].clone()).sum()),
        ("array_in", _) => {
            let array: Vec<f64> = (0..family()?.array_length).map(number_at).collect();
            timed(times, |_| sum(black_box(&array)))
        }
        ("method", _) => timed_work(times, || {
            let mut counter = black_box(Counter::default());
            (0..times.calls).fold(0.0, |_, call| counter.add(number(call)))
        }),
        // The object is made, and not only what is read of it.
        ("wrap", _) => timed(times, |call| black_box(Box::new(Counter::default())).add(number(call))),
        ("callback", _) => timed(times, |call| call_back(|value| value + 1.0, number(call))),
        #[expect(clippy::cast_precision_loss, reason = "the message is short")]
        ("error", _) => timed(times, |_| fail().map_or_else(|message| message.len() as f64, |()| f64::NAN)),
        _ => run_memory(workload, lane, times).ok_or_else(|| spec.unknown())?,
    })
}

/// Executes the calls of a workload that passes rows, texts or bytes.
fn run_memory(workload: &str, lane: &str, times: Times) -> Option<CellSample> {
    let (direction, kind) = workload.split_once('.')?;
    if direction.starts_with("rows_") {
        return rows::run(direction, kind, lane, times);
    }
    if let Ok(size) = kind.parse::<usize>() {
        return match direction {
            "text_in" | "text_out" => run_texts(direction, &texts_of('a', size), times),
            _ => run_bytes(direction, size, lane, times),
        };
    }
    let Texts { short, long, short_wide, long_wide } = texts();
    let texts = match kind {
        "short" => short,
        "long" => long,
        "short_wide" => short_wide,
        "long_wide" => long_wide,
        _ => return None,
    };
    run_texts(direction, texts, times)
}

fn run_texts(direction: &str, texts: &[String; TURNS], times: Times) -> Option<CellSample> {
    let texts = black_box(texts);
    match direction {
        "text_in" => Some(timed(times, |call| f64::from(last_code(&texts[call as usize % TURNS])))),
        // The text is not copied, as it is not in JavaScript, whose strings never change. No compiler knows which one it is.
        "text_out" => Some(timed(times, |_| f64::from(last_code(&texts[usize::from(opaque(0) != 0)])))),
        _ => None,
    }
}

fn run_bytes(direction: &str, size: usize, lane: &str, times: Times) -> Option<CellSample> {
    let turn = |call: u32| call as usize % TURNS;
    let all: Vec<&[u8]> = (0..TURNS).map(|turn| bytes().get(turn..turn + size)).collect::<Option<_>>()?;
    let all = black_box(all);
    let mut into = vec![0; size];
    match (direction, lane) {
        ("bytes_in", "view") => Some(timed(times, |call| f64::from(ends(all[turn(call)])))),
        ("bytes_in", _) => Some(timed(times, |call| f64::from(ends(&black_box(all[turn(call)].to_vec()))))),
        ("bytes_out", "pooled") => Some(timed(times, |_| {
            into.copy_from_slice(black_box(all[0]));
            f64::from(ends(black_box(&into)))
        })),
        ("bytes_out", _) => Some(timed(times, |_| f64::from(ends(&black_box(all[0].to_vec()))))),
        _ => None,
    }
}

/// The error of the function that always fails.
#[inline(never)]
pub fn fail() -> std::result::Result<(), String> {
    Err("as wanted".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_is_the_same_after_each_way_of_crossing() {
        let record = Record::example(3);
        let mut frame = [0; 256];
        let size = record.write_frame(&mut frame).unwrap();
        assert_eq!(Record::of_frame(&frame[..size]).unwrap(), record);
        assert_eq!(Record::of_json(&record.to_json().unwrap()).unwrap(), record);
        for end in 0..size {
            assert_eq!(Record::of_frame(&frame[..end]).unwrap_err().code(), "BB_INVALID_ARGUMENT", "{end} bytes");
        }
        assert!(record.write_frame(&mut frame[..size - 1]).is_err());
        let long = Record { name: "x".repeat(MOST_TEXT + 1), ..record };
        assert!(long.write_frame(&mut [0; 1024]).is_err());
    }

    fn spec(workload: &str, lane: &str, calls: u32) -> InProcessSpec {
        InProcessSpec::of(["boundary", workload, lane], 1, calls)
    }

    #[test]
    fn an_execution_that_is_repeated_has_the_same_sum() {
        let workloads = [
            ("nothing", "call"),
            ("numbers", "call"),
            ("bigint", "call"),
            ("text_in.short", "call"),
            ("record_in", "frame"),
            ("array_in", "call"),
            ("method", "call"),
            ("wrap", "call"),
            ("callback", "call"),
            ("error", "call"),
        ];
        for (workload, lane) in workloads {
            let once = spec(workload, lane, 1027);
            let often = InProcessSpec { repeats: 3, ..once.clone() };
            assert_eq!(run_floor(&often).unwrap().checksum, run_floor(&once).unwrap().checksum, "{workload}");
        }
    }

    #[test]
    fn a_call_that_is_left_out_changes_the_checksum() {
        let of = |calls: u32, sample: CellSample| {
            assert_eq!(sample.checksum.rows, u64::from(calls));
            sample.checksum
        };
        for (workload, lane) in [("nothing", "call"), ("numbers", "call"), ("bytes_in.16", "view"), ("error", "call")] {
            let (all, fewer) = [10, 9].map(|calls| of(calls, run_floor(&spec(workload, lane, calls)).unwrap())).into();
            assert_ne!(all, fewer, "{workload}");
        }
        assert!(run_floor(&spec("other", "call", 1)).is_err());
        assert!(run_floor(&spec("bytes_in.x", "view", 1)).is_err());
    }
}
