//! The shard of a key, in 32-bit arithmetic, so that a client in any language computes the same. The proto describes it.

/// Spreads the bits of an integer with the 32-bit finaliser of `MurmurHash3`.
pub(crate) const fn mix(mut bits: u32) -> u32 {
    bits ^= bits >> 16;
    bits = bits.wrapping_mul(0x85eb_ca6b);
    bits ^= bits >> 13;
    bits = bits.wrapping_mul(0xc2b2_ae35);
    bits ^ (bits >> 16)
}

/// The hash that places a key.
#[expect(clippy::cast_possible_truncation, reason = "the halves are taken on purpose")]
pub const fn key_hash(key: i64) -> u32 {
    let key = key.cast_unsigned();
    mix(key as u32 ^ mix((key >> 32) as u32 ^ 0x9e37_79b9))
}

/// The shard of a key, out of `shards`.
pub const fn shard_of(key: i64, shards: u32) -> u32 {
    shard_of_hash(key_hash(key), shards)
}

/// The shard of a key's hash, out of `shards`.
pub(crate) const fn shard_of_hash(hash: u32, shards: u32) -> u32 {
    ((hash as u64 * shards as u64) >> 32) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_have_the_shards_that_other_languages_compute() {
        assert_eq!([0, 1, 2, 3, -1, i64::MAX, 1 << 32].map(key_hash), EXPECTED);
        assert!((0..1000).all(|key| shard_of(key, 1) == 0));
        assert!((0..1000).all(|key| shard_of(key, 7) < 7));
    }

    /// Hashes computed by the formula of the proto in JavaScript, with `Math.imul`.
    const EXPECTED: [u32; 7] =
        [2_856_213_345, 1_863_002_342, 577_680_360, 3_888_307_089, 478_346_618, 3_842_498_966, 2_571_226_413];

    #[test]
    fn shards_get_equal_parts() {
        let mut counts = [0_u32; 3];
        (0..30_000).for_each(|key| counts[shard_of(key, 3) as usize] += 1);
        assert!(counts.iter().all(|count| (9_500..10_500).contains(count)), "{counts:?}");
    }
}
