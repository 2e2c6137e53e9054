//! The readers of the values that a cell's requests return: their sums, and the check of each of them.

use std::ops::Range;

use boundary_bench_engine::checksum::{Checksum, ChecksumSum};
use boundary_bench_kernel::{Error, Result};

/// The keys and values of a cell.
#[derive(Debug, Clone)]
pub(super) struct Keys {
    pub(super) prefix: String,
    pub(super) value_bytes: usize,
}

impl Keys {
    pub(super) fn write_key(&self, key: &mut Vec<u8>, number: u64) {
        use std::io::Write;
        key.clear();
        // Writing to a vector does not fail.
        let _ = write!(key, "{}:{number}", self.prefix);
    }

    pub(super) fn write_value(&self, value: &mut Vec<u8>, mut number: u64) {
        value.clear();
        value.resize(self.value_bytes, b'0');
        for place in value.iter_mut().rev() {
            if number == 0 {
                break;
            }
            *place = b'0' + (number % 10) as u8;
            number /= 10;
        }
    }
}

/// The number that a value's digits spell. A byte that is no digit yields another number than the key's.
fn number_of(value: &[u8]) -> i128 {
    let digit = |number: i128, byte: &u8| number.wrapping_mul(10).wrapping_add(i128::from(*byte) - i128::from(b'0'));
    // Up to 18 digits fit an `i64`: short values are read in the faster way.
    if value.len() <= 18 {
        let short = value.iter().fold(0_i64, |number, byte| number * 10 + i64::from(*byte) - i64::from(b'0'));
        return short.into();
    }
    value.iter().fold(0, digit)
}

/// A receiver of the values that requests read.
pub(crate) trait Reader: Send + 'static {
    /// Begins a request that reads the keys of these numbers.
    fn begin(&mut self, keys: Range<u64>);

    /// Takes the value of the key at a position in the request, or `None` for a key that has none. A cluster's servers answer in any order.
    fn add(&mut self, position: usize, value: Option<&[u8]>);
}

/// The sums of the values that were read.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Sums {
    values: i128,
    bytes: i128,
    count: u64,
}

impl Reader for Sums {
    fn begin(&mut self, _keys: Range<u64>) {}

    fn add(&mut self, _position: usize, value: Option<&[u8]>) {
        if let Some(value) = value {
            self.values = self.values.wrapping_add(number_of(value));
            self.bytes += value.len() as i128;
            self.count += 1;
        }
    }
}

impl Sums {
    pub(super) fn merge(&mut self, other: Self) {
        self.values = self.values.wrapping_add(other.values);
        self.bytes += other.bytes;
        self.count += other.count;
    }

    pub(super) fn checksum(self) -> Checksum {
        let sums = [("value", ChecksumSum::Int(self.values)), ("bytes", ChecksumSum::Int(self.bytes))];
        Checksum::from_sums(self.count, sums)
    }
}

/// The checksum of the values of the keys below `operations`.
pub(super) fn expected(operations: u64, value_bytes: usize) -> Checksum {
    let count = i128::from(operations);
    Sums { values: count * (count - 1) / 2, bytes: count * value_bytes as i128, count: operations }.checksum()
}

/// The most bytes of a wrong value that an error repeats.
const MOST_SHOWN: usize = 64;

/// The check that each key's value is its own.
pub(super) struct ValueCheck {
    keys: Keys,
    /// The keys of the request.
    asked: Range<u64>,
    /// Whether the key at each position in the request has been read.
    is_read: Vec<bool>,
    expected: Vec<u8>,
    read: u64,
    /// The first wrong value.
    wrong: Option<Error>,
}

impl ValueCheck {
    pub(super) fn new(keys: Keys) -> Self {
        Self { keys, asked: 0..0, is_read: Vec::new(), expected: Vec::new(), read: 0, wrong: None }
    }

    /// Ends the checks of all requesters. They read `keys` keys.
    pub(super) fn finish(checks: impl Iterator<Item = Self>, keys: u64) -> Result<()> {
        let mut read = 0;
        for check in checks {
            check.wrong.map_or(Ok(()), Err)?;
            read += check.read;
        }
        if read == keys { Ok(()) } else { Err(Error::WrongRows(format!("{read} of {keys} keys were read"))) }
    }
}

impl Reader for ValueCheck {
    fn begin(&mut self, keys: Range<u64>) {
        self.is_read.clear();
        self.is_read.resize(keys.clone().count(), false);
        self.asked = keys;
    }

    fn add(&mut self, position: usize, value: Option<&[u8]>) {
        let problem = if let Some(is_read @ false) = self.is_read.get_mut(position) {
            *is_read = true;
            self.read += 1;
            let key = self.asked.start + position as u64;
            self.keys.write_value(&mut self.expected, key);
            if value == Some(self.expected.as_slice()) {
                return;
            }
            format!("the key {key} has the value {}, and should have {}", shown(value), shown(Some(&self.expected)))
        } else {
            format!("the value {} came for no key", shown(value))
        };
        self.wrong.get_or_insert(Error::WrongRows(problem));
    }
}

fn shown(value: Option<&[u8]>) -> String {
    value.map_or_else(
        || "none".to_owned(),
        |value| {
            let text = String::from_utf8_lossy(&value[..value.len().min(MOST_SHOWN)]);
            if value.len() > MOST_SHOWN { format!("{text}... of {} bytes", value.len()) } else { text.into_owned() }
        },
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_the_numbers_of_their_keys_and_sums_have_a_closed_form() {
        for value_bytes in [16, 18, 19, 1000] {
            let keys = Keys { prefix: "bb:t".to_owned(), value_bytes };
            let mut sums = Sums::default();
            let mut value = Vec::new();
            for number in 0..1234 {
                keys.write_value(&mut value, number);
                assert_eq!((value.len(), number_of(&value)), (value_bytes, i128::from(number)));
                sums.add(0, Some(&value));
            }
            assert_eq!(sums.checksum(), expected(1234, value_bytes));
        }
        assert_ne!(number_of(b"0000000000000a12"), 12);
    }

    #[test]
    fn each_value_must_be_that_of_its_key() {
        const KEYS: u64 = 6;
        let keys = Keys { prefix: "bb:t".to_owned(), value_bytes: 16 };
        let own = |number: u64| {
            let mut value = Vec::new();
            keys.write_value(&mut value, number);
            value
        };
        // Two requests of three keys each, by two requesters.
        let checked = |values: &[Vec<u8>]| {
            let mut checks = [ValueCheck::new(keys.clone()), ValueCheck::new(keys.clone())];
            for (check, (first, values)) in checks.iter_mut().zip([(0, &values[..3]), (3, &values[3..])]) {
                check.begin(first..first + 3);
                values.iter().enumerate().for_each(|(position, value)| check.add(position, Some(value)));
            }
            ValueCheck::finish(checks.into_iter(), KEYS).map_err(|error| (error.code(), error.to_string()))
        };
        let right: Vec<Vec<u8>> = (0..KEYS).map(own).collect();
        assert_eq!(checked(&right), Ok(()));
        let spoiled = |spoil: &dyn Fn(&mut Vec<Vec<u8>>)| {
            let mut values = right.clone();
            spoil(&mut values);
            let (code, problem) = checked(&values).unwrap_err();
            assert_eq!(code, "BB_CHECKSUM_MISMATCH");
            problem
        };
        let two_keys_exchanged = spoiled(&|values| values.swap(1, 2));
        assert_eq!(two_keys_exchanged, "the key 1 has the value 0000000000000002, and should have 0000000000000001");
        let two_answers_exchanged = spoiled(&|values| values.rotate_left(3));
        assert!(two_answers_exchanged.starts_with("the key 0 has the value 0000000000000003"));
        let one_twice = spoiled(&|values| {
            values.insert(1, own(0));
            values.remove(4);
        });
        assert!(one_twice.starts_with("the key 1 has the value 0000000000000000"), "{one_twice}");
        assert!(spoiled(&|values| values[2].truncate(15)).contains("has the value 000000000000000,"));
        assert!(spoiled(&|values| values[4] = own(0)).starts_with("the key 4 has the value"));
        assert_eq!(spoiled(&|values| drop(values.pop())), "5 of 6 keys were read");
        assert_eq!(spoiled(&|values| values.push(own(6))), "the value 0000000000000006 came for no key");
        assert_eq!(shown(None), "none");
        assert!(shown(Some(&[b'0'; 100])).ends_with("0... of 100 bytes"));
    }
}
