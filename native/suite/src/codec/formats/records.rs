//! Records out of JSON and `MessagePack`: as structs, or in memory of the caller.

use std::borrow::Cow;
use std::fmt::{self, Display};

use boundary_bench_kernel::{Error, Result};
use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, Error as _, SeqAccess, Visitor};

use crate::boundary::{Record, last_code};

/// Reads records out of JSON.
pub fn records_of_json(json: &str) -> Result<Vec<Record>> {
    serde_json::from_str(json).map_err(unreadable)
}

/// Reads records out of `MessagePack`.
pub fn records_of_message_pack(bytes: &[u8]) -> Result<Vec<Record>> {
    rmp_serde::from_slice(bytes).map_err(unreadable)
}

fn unreadable(error: impl Display) -> Error {
    Error::InvalidArgument(format!("the records are unreadable: {error}"))
}

/// A record whose texts are borrowed from the input, unless they have escapes.
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
/// units of UTF-16. JavaScript cuts the texts by these lengths.
pub(super) const NUMBERS_OF_RECORD: usize = 12;

/// Memory that records are read into. Instead of objects, it holds numbers and texts that lie one after the other.
pub struct RecordMemory<'a> {
    /// The size of all texts in bytes, then twelve numbers per record: six numbers, two truth values, the sizes of the two texts in bytes,
    /// and their lengths in units of UTF-16.
    pub numbers: &'a mut [f64],
    /// The name and the city of each record, in UTF-8.
    pub texts: &'a mut [u8],
}

impl RecordMemory<'_> {
    /// Reads records out of JSON, and returns their number.
    pub fn read_json(&mut self, json: &[u8]) -> Result<usize> {
        // JSON that was checked as a whole needs no check of each text.
        let json = simdutf8::basic::from_utf8(json).map_err(unreadable)?;
        let mut deserializer = serde_json::Deserializer::from_str(json);
        let count = self.read(&mut deserializer)?;
        deserializer.end().map_err(unreadable)?;
        Ok(count)
    }

    /// Reads records out of `MessagePack`, and returns their number.
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

    /// The sum of the fields of the first `count` records, as [`Record::sum`] has it, or `None` if there are fewer.
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
    /// Puts a record behind the earlier records. Returns `None` if there is no room.
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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::inputs::{RECORDS, inputs, json_document, message_pack_document};
    use super::*;
    use crate::boundary::TURNS;

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
    }
}
