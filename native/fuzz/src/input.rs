//! Inputs taken apart: into pieces as a network cuts bytes, and into further values that a harness needs.

/// Cuts bytes into pieces, always into the same ones for the same bytes: so an input needs only the bytes for the
/// reader.
pub(crate) fn cut(bytes: &[u8]) -> Vec<&[u8]> {
    let mut state = bytes
        .iter()
        .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3));
    let mut random = |below: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        usize::try_from(state >> 32).unwrap_or_default() % below
    };
    let longest = [1, 3, 16, 300][random(4)];
    let (mut pieces, mut rest) = (Vec::new(), bytes);
    while !rest.is_empty() {
        let (piece, after) = rest.split_at(rest.len().min(1 + random(longest)));
        pieces.push(piece);
        rest = after;
    }
    pieces
}

/// Takes values from the front of an input, and zeros once it has ended.
pub(crate) struct Input<'a>(pub(crate) &'a [u8]);

impl<'a> Input<'a> {
    pub(crate) fn array<const N: usize>(&mut self) -> [u8; N] {
        let mut array = [0; N];
        let taken = self.take(N);
        array[..taken.len()].copy_from_slice(taken);
        array
    }

    pub(crate) fn byte(&mut self) -> u8 {
        self.array::<1>()[0]
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Takes `count` bytes, or all that are left.
    pub(crate) fn take(&mut self, count: usize) -> &'a [u8] {
        let (taken, rest) = self.0.split_at(count.min(self.0.len()));
        self.0 = rest;
        taken
    }

    /// Takes bytes after their length. The length takes two bytes.
    pub(crate) fn sized(&mut self) -> &'a [u8] {
        let length = u16::from_le_bytes(self.array());
        self.take(length.into())
    }
}
