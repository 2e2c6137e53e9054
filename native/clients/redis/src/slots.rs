//! The slots of the keys of a cluster.

use std::sync::LazyLock;

/// The number of slots of a cluster.
pub(crate) const SLOTS: u16 = 16_384;

/// The remainders of CRC-16/XMODEM of every byte.
static CRC: LazyLock<[u16; 256]> = LazyLock::new(|| {
    std::array::from_fn(|byte| {
        let start = u16::try_from(byte).unwrap_or_default() << 8;
        (0..8).fold(start, |crc, _| if crc & 0x8000 == 0 { crc << 1 } else { (crc << 1) ^ 0x1021 })
    })
});

/// The slot of a key: of its hash tag, the text in its first braces, if that is not empty.
pub(crate) fn slot_of(key: &[u8]) -> u16 {
    let tag = key.iter().position(|byte| *byte == b'{').and_then(|open| {
        let rest = &key[open + 1..];
        rest.iter().position(|byte| *byte == b'}').filter(|close| *close > 0).map(|close| &rest[..close])
    });
    let table = &*CRC;
    let crc =
        tag.unwrap_or(key).iter().fold(0_u16, |crc, byte| (crc << 8) ^ table[usize::from((crc >> 8) as u8 ^ byte)]);
    crc % SLOTS
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_are_those_of_the_servers() {
        // The slots that CLUSTER KEYSLOT gives.
        assert_eq!([slot_of(b"123456789"), slot_of(b"foo"), slot_of(b"")], [12_739, 12_182, 0]);
        assert_eq!(slot_of(b"{user1000}.following"), slot_of(b"user1000"));
        assert_eq!(slot_of(b"foo{{bar}}zap"), slot_of(b"{bar"));
        assert_ne!(slot_of(b"foo{}{bar}"), slot_of(b"bar"));
    }
}
