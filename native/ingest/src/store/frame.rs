//! The layout of a log file.
//!
//! A file begins with a magic number and two copies of a salt. Each entry has a head: its length, a checksum of the length, and
//! a checksum of length and entry. The length has its own checksum so that a damaged entry is skipped exactly, and so that the
//! entry after a damaged head is found without checksumming an entry at every byte. All checksums begin with the salt, which no
//! client knows, so bytes of a value can't pose as an entry.

use std::hash::{BuildHasher, Hasher};
use std::ops::Range;

use crate::{Error, Result};

/// The magic number of a log file: its kind, and the version of its layout.
const MAGIC: &[u8; 8] = b"BBWAL\0\0\x02";

/// The magic number of layout 1, whose heads have no checksum of the length, and which has no salt.
const MAGIC_WITHOUT_SALT: &[u8; 8] = b"BBWAL\0\0\x01";

/// Bytes of a file before the first entry.
pub(super) const START: usize = 16;

/// Bytes of an entry's head.
pub(super) const HEAD: usize = 12;

const HEAD_WITHOUT_SALT: usize = 8;

/// The initial state of a file's checksums.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Salt(u32);

impl Salt {
    /// A random salt, which clients can't guess.
    pub fn random() -> Self {
        let number = std::hash::RandomState::new().build_hasher().finish();
        Self(u32::try_from(number & u64::from(u32::MAX)).unwrap_or_default())
    }

    /// The first bytes of a file with this salt.
    pub fn start(self) -> [u8; START] {
        let mut start = [0; START];
        start[..8].copy_from_slice(MAGIC);
        start[8..12].copy_from_slice(&self.0.to_le_bytes());
        start[12..].copy_from_slice(&self.0.to_le_bytes());
        start
    }

    fn of_length(self, length: u32) -> u32 {
        checksum(self.0, length, &[])
    }

    /// Fills in the head of an entry, for which `framed` begins with room.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] for an entry of 4 GiB or more.
    pub fn fill(self, framed: &mut [u8]) -> Result<()> {
        let (head, entry) = framed.split_at_mut(HEAD);
        let Ok(length) = u32::try_from(entry.len()) else {
            return Err(Error::InvalidArgument("a write of four gibibytes or more can't be logged".to_owned()));
        };
        head[..4].copy_from_slice(&length.to_le_bytes());
        head[4..8].copy_from_slice(&self.of_length(length).to_le_bytes());
        head[8..].copy_from_slice(&checksum(self.0, length, entry).to_le_bytes());
        Ok(())
    }
}

fn checksum(salt: u32, length: u32, entry: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new_with_initial(salt);
    // The length is part of the checksum, so that zeros are not a valid entry.
    hasher.update(&length.to_le_bytes());
    hasher.update(entry);
    hasher.finalize()
}

/// A part of a log file, as a range of its bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Piece {
    /// The bytes of a valid entry, without its head.
    Entry(Range<usize>),
    /// Bytes that are no valid entry.
    Damage(Range<usize>),
    /// The end of the file after a crash during a write: an incomplete entry, or zeros.
    Torn(Range<usize>),
}

/// The parts of a log file, in order.
pub(super) fn pieces(bytes: &[u8]) -> Vec<Piece> {
    let salt = |at: usize| number(bytes, at).map(Salt);
    if bytes.starts_with(MAGIC_WITHOUT_SALT) {
        return Reader { bytes, salt: None }.pieces(MAGIC_WITHOUT_SALT.len());
    }
    let has_magic = bytes.starts_with(MAGIC);
    let salts = [salt(8), salt(12)];
    if let [Some(first), Some(second)] = salts {
        let read = |salt| Reader { bytes, salt: Some(salt) }.pieces(START);
        let found = |pieces: &[Piece]| pieces.iter().any(|piece| matches!(piece, Piece::Entry(_)));
        let mut pieces = read(first);
        if first != second && !found(&pieces) {
            pieces = read(second);
        }
        // Valid entries prove the salt, even if the start of the file is damaged.
        if (has_magic && first == second) || found(&pieces) {
            return pieces;
        }
    }
    match bytes.len() {
        0 => Vec::new(),
        // A file that was just created may not even have a whole start.
        length if length <= START && (MAGIC.starts_with(&bytes[..length.min(8)]) || is_zeros(bytes)) => {
            vec![Piece::Torn(0..length)]
        }
        length => vec![Piece::Damage(0..length)],
    }
}

fn number(bytes: &[u8], at: usize) -> Option<u32> {
    bytes.get(at..at + 4)?.try_into().ok().map(u32::from_le_bytes)
}

fn is_zeros(bytes: &[u8]) -> bool {
    bytes.iter().all(|byte| *byte == 0)
}

struct Reader<'a> {
    bytes: &'a [u8],
    /// The file's salt; `None` in layout 1.
    salt: Option<Salt>,
}

impl Reader<'_> {
    fn head(&self) -> usize {
        if self.salt.is_some() { HEAD } else { HEAD_WITHOUT_SALT }
    }

    /// The length in the head at this byte. In layout 1, any number passes.
    fn length(&self, at: usize) -> Option<usize> {
        let length = number(self.bytes, at)?;
        if let Some(salt) = self.salt
            && number(self.bytes, at + 4) != Some(salt.of_length(length))
        {
            return None;
        }
        usize::try_from(length).ok()
    }

    /// The end of the entry whose head is at this byte, and whether the entry is valid.
    fn entry(&self, at: usize) -> Option<(usize, bool)> {
        let length = self.length(at)?;
        let end = at.checked_add(self.head())?.checked_add(length)?;
        let entry = self.bytes.get(at + self.head()..end)?;
        let stored = number(self.bytes, at + self.head() - 4)?;
        let salt = self.salt.map_or(0, |salt| salt.0);
        Some((end, stored == checksum(salt, u32::try_from(length).unwrap_or(u32::MAX), entry)))
    }

    /// The first byte from `from` on where an entry may begin. In layout 1, only a valid entry counts.
    fn next_entry(&self, from: usize) -> Option<usize> {
        (from..self.bytes.len()).find(|at| {
            let found = self.entry(*at);
            found.is_some_and(|(_, whole)| whole || self.salt.is_some())
        })
    }

    fn pieces(&self, start: usize) -> Vec<Piece> {
        let mut pieces = Vec::new();
        let mut at = start;
        while at < self.bytes.len() {
            let piece = match self.entry(at) {
                Some((end, true)) => Piece::Entry(at + self.head()..end),
                Some((end, false)) if self.salt.is_some() => Piece::Damage(at..end),
                _ => match self.next_entry(at + 1) {
                    Some(next) => Piece::Damage(at..next),
                    None => self.rest(at),
                },
            };
            at = match &piece {
                Piece::Entry(range) | Piece::Damage(range) | Piece::Torn(range) => range.end,
            };
            pieces.push(piece);
        }
        pieces
    }

    /// The part behind the last entry found.
    fn rest(&self, at: usize) -> Piece {
        let rest = &self.bytes[at..];
        // In layout 1 a length has no checksum, so any length passes for that of an incomplete entry.
        let is_cut = rest.len() < self.head() || self.length(at).is_some() || is_zeros(rest);
        if is_cut { Piece::Torn(at..self.bytes.len()) } else { Piece::Damage(at..self.bytes.len()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(salt: Salt, entries: &[&[u8]]) -> Vec<u8> {
        let mut bytes = salt.start().to_vec();
        for entry in entries {
            let at = bytes.len();
            bytes.resize(at + HEAD, 0);
            bytes.extend_from_slice(entry);
            salt.fill(&mut bytes[at..]).unwrap();
        }
        bytes
    }

    fn shown(bytes: &[u8]) -> Vec<String> {
        let show = |piece: Piece| match piece {
            Piece::Entry(range) => String::from_utf8_lossy(&bytes[range]).into_owned(),
            Piece::Damage(range) => format!("damage {range:?}"),
            Piece::Torn(range) => format!("torn {range:?}"),
        };
        pieces(bytes).into_iter().map(show).collect()
    }

    #[test]
    fn a_damaged_byte_takes_its_entry_alone() {
        let whole = file(Salt::random(), &[b"first", b"second", b"third"]);
        assert_eq!(shown(&whole), ["first", "second", "third"]);
        let entries = [(START, START + 17), (START + 17, START + 35), (START + 35, START + 52)];
        for at in START..whole.len() {
            let mut bytes = whole.clone();
            bytes[at] ^= 0x40;
            let damaged = entries.iter().position(|(start, end)| (*start..*end).contains(&at)).unwrap();
            let mut expected: Vec<_> = ["first", "second", "third"].map(str::to_owned).to_vec();
            expected[damaged] = format!("damage {}..{}", entries[damaged].0, entries[damaged].1);
            assert_eq!(shown(&bytes), expected, "byte {at}");
        }
        // A damaged start is recovered from the entries behind it.
        for at in 0..START {
            let mut bytes = whole.clone();
            bytes[at] ^= 0x40;
            assert_eq!(shown(&bytes), ["first", "second", "third"], "byte {at}");
        }
    }

    #[test]
    fn what_a_crash_cut_off_is_told_from_damage() {
        let whole = file(Salt(7), &[b"first", b"second"]);
        let second = START + 17;
        for length in second + 1..whole.len() {
            let torn = format!("torn {second}..{length}");
            assert_eq!(shown(&whole[..length]), ["first", &torn]);
        }
        let mut zeros = whole[..second].to_vec();
        zeros.resize(second + 100, 0);
        assert_eq!(shown(&zeros), ["first", "torn 33..133"]);
        for length in 1..START {
            assert_eq!(shown(&whole[..length]), [format!("torn 0..{length}")], "{length}");
        }
        assert_eq!(shown(&whole[..START]), Vec::<String>::new());
        assert_eq!(shown(b"nothing of the log"), ["damage 0..18"]);
        let garbage = [&whole[..second], &[0xa5; 40]].concat();
        assert_eq!(shown(&garbage), ["first", "damage 33..73"]);
    }

    #[test]
    fn an_entry_inside_of_a_value_is_none() {
        let inner = file(Salt(1), &[b"forged"]);
        let mut bytes = file(Salt(2), &[&inner[START..], b"true"]);
        // The inner entry is rejected even where the head of the entry around it is damaged.
        bytes[START] ^= 1;
        assert_eq!(shown(&bytes), ["damage 16..46", "true"]);
    }

    #[test]
    fn the_layout_before_is_read() {
        let mut bytes = MAGIC_WITHOUT_SALT.to_vec();
        for entry in [&b"first"[..], b"second", b"third"] {
            let length = u32::try_from(entry.len()).unwrap();
            bytes.extend(length.to_le_bytes());
            bytes.extend(checksum(0, length, entry).to_le_bytes());
            bytes.extend(entry);
        }
        assert_eq!(shown(&bytes), ["first", "second", "third"]);
        assert_eq!(shown(&bytes[..bytes.len() - 1]), ["first", "second", "torn 35..47"]);
        bytes[22] ^= 1;
        assert_eq!(shown(&bytes), ["first", "damage 21..35", "third"]);
    }
}
