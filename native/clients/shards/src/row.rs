//! A row: its values, its 200 packed bytes, and the values that benchmarks give it. The proto describes all of them.

use crate::placing::{key_hash, mix};

/// Bytes of a packed row.
pub const ROW_BYTES: usize = 200;

/// Bytes of a payload.
pub const PAYLOAD_BYTES: usize = 172;

/// 32-bit words of a payload.
pub(crate) const PAYLOAD_WORDS: usize = PAYLOAD_BYTES / 4;

/// 32-bit words of a packed row before its payload.
pub(crate) const HEAD_WORDS: u32 = 7;

/// The seed of the benchmarks' rows.
pub const SEED: u32 = 0x5eed_5eed;

/// The difference between successive words of a made payload.
const WORD_STEP: u32 = 0x9e37_79b1;

/// `updated_at` of the row with the key 0: 14 November 2023, in microseconds.
const EPOCH: i64 = 1_700_000_000_000_000;

/// A row.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Row {
    /// The key. It identifies the row.
    pub key: i64,
    /// The quantity: any integer.
    pub quantity: i32,
    /// The price: any number.
    pub price: f64,
    /// The time of the last update, in microseconds since 1970 began, UTC.
    pub updated_at: i64,
    /// The payload: any bytes.
    pub payload: [u8; PAYLOAD_BYTES],
}

/// The values of a made row outside its key and payload, and the first word of its payload.
#[derive(Debug, Clone, Copy)]
pub(crate) struct MadeValues {
    pub(crate) base: u32,
    pub(crate) quantity: i32,
    pub(crate) price: f64,
    pub(crate) updated_at: i64,
}

impl MadeValues {
    pub(crate) fn of(key: i64, key_hash: u32) -> Self {
        let base = mix(key_hash.wrapping_add(SEED));
        Self {
            base,
            quantity: (base % 100).cast_signed(),
            price: f64::from((base >> 8) % 40_000) * 0.25,
            updated_at: EPOCH.wrapping_add(key.wrapping_mul(1000)),
        }
    }

    /// Writes the payload as 32-bit little-endian words.
    pub(crate) fn write_payload(&self, payload: &mut [u32]) {
        let mut word = self.base;
        for place in payload {
            *place = word.to_le();
            word = word.wrapping_add(WORD_STEP);
        }
    }
}

impl Row {
    /// The benchmarks' row of a key.
    pub fn made(key: i64) -> Self {
        let made = MadeValues::of(key, key_hash(key));
        let mut words = [0; PAYLOAD_WORDS];
        made.write_payload(&mut words);
        let mut payload = [0; PAYLOAD_BYTES];
        for (bytes, word) in payload.as_chunks_mut::<4>().0.iter_mut().zip(words) {
            *bytes = word.to_ne_bytes();
        }
        Self { key, quantity: made.quantity, price: made.price, updated_at: made.updated_at, payload }
    }

    /// The row as packed bytes.
    pub fn to_bytes(&self) -> [u8; ROW_BYTES] {
        let mut bytes = [0; ROW_BYTES];
        bytes[..8].copy_from_slice(&self.key.to_le_bytes());
        bytes[8..12].copy_from_slice(&self.quantity.to_le_bytes());
        bytes[12..20].copy_from_slice(&self.price.to_le_bytes());
        bytes[20..28].copy_from_slice(&self.updated_at.to_le_bytes());
        bytes[28..].copy_from_slice(&self.payload);
        bytes
    }

    /// Decodes a packed row.
    pub fn from_bytes(bytes: &[u8; ROW_BYTES]) -> Self {
        let (key, rest) = take(bytes);
        let (quantity, rest) = take(rest);
        let (price, rest) = take(rest);
        let (updated_at, rest) = take(rest);
        let (payload, _) = take(rest);
        Self {
            key: i64::from_le_bytes(key),
            quantity: i32::from_le_bytes(quantity),
            price: f64::from_le_bytes(price),
            updated_at: i64::from_le_bytes(updated_at),
            payload,
        }
    }

    /// The hash of the row, a summand of checksums.
    pub fn hash(&self) -> u32 {
        let bytes = self.to_bytes();
        let words = bytes.as_chunks::<4>().0.iter().map(|word| u32::from_le_bytes(*word));
        mix(words.zip((1_u32..).step_by(2)).fold(0, |sum, (word, weight)| sum.wrapping_add(word.wrapping_mul(weight))))
    }
}

/// Splits off the first bytes of a packed row, or zeros if it does not hold enough.
pub(crate) fn take<const N: usize>(bytes: &[u8]) -> ([u8; N], &[u8]) {
    bytes.split_first_chunk().map_or(([0; N], &[]), |(first, rest)| (*first, rest))
}

/// The hash of the benchmarks' row of a key, computed without making the row.
pub fn made_hash(key: i64) -> u32 {
    // The sum of the weights 15, 17, ... 99 of the payload's words, and the sum of each weight times its word's number.
    const WEIGHTS: u32 = weights().0;
    const STEPS: u32 = weights().1;
    let made = MadeValues::of(key, key_hash(key));
    let head = head_sum(key, made.quantity, made.price, made.updated_at);
    mix(head.wrapping_add(made.base.wrapping_mul(WEIGHTS)).wrapping_add(WORD_STEP.wrapping_mul(STEPS)))
}

const fn weights() -> (u32, u32) {
    let (mut sum, mut steps, mut word) = (0_u32, 0_u32, 0_u32);
    while word < 43 {
        let weight = 2 * (word + HEAD_WORDS) + 1;
        sum += weight;
        steps += weight * word;
        word += 1;
    }
    (sum, steps)
}

/// The weighted sum of the words before the payload.
#[expect(clippy::cast_possible_truncation, reason = "the halves are taken on purpose")]
pub(crate) fn head_sum(key: i64, quantity: i32, price: f64, updated_at: i64) -> u32 {
    let halves = |word: u64, weight: u32| {
        let low = (word as u32).wrapping_mul(weight);
        low.wrapping_add(((word >> 32) as u32).wrapping_mul(weight + 2))
    };
    halves(key.cast_unsigned(), 1)
        .wrapping_add(quantity.cast_unsigned().wrapping_mul(5))
        .wrapping_add(halves(price.to_bits(), 7))
        .wrapping_add(halves(updated_at.cast_unsigned(), 11))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_made_row_is_as_the_proto_says() {
        // The values are computed by the formulas of the proto in JavaScript, with `Math.imul`.
        let row = Row::made(12_345);
        let base = u32::from_le_bytes(*row.payload.first_chunk().unwrap());
        assert_eq!(base, 2_852_882_247);
        assert_eq!((row.quantity, row.updated_at), (47, 1_700_000_012_345_000));
        assert!((row.price - 6017.75).abs() < f64::EPSILON);
        let last = u32::from_le_bytes(*row.payload.last_chunk().unwrap());
        assert_eq!(last, base.wrapping_add(WORD_STEP.wrapping_mul(42)));
        assert_eq!(row.hash(), 2_933_292_185);
    }

    proptest! {
        #[test]
        fn packed_rows_come_back(key: i64, quantity: i32, price: f64, updated_at: i64, byte: u8) {
            let row = Row { key, quantity, price, updated_at, payload: [byte; PAYLOAD_BYTES] };
            let back = Row::from_bytes(&row.to_bytes());
            prop_assert_eq!(back.to_bytes(), row.to_bytes());
        }

        #[test]
        fn the_hash_of_a_made_row_has_a_closed_form(key: i64) {
            prop_assert_eq!(made_hash(key), Row::made(key).hash());
        }
    }
}
