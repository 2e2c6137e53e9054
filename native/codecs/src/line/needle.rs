//! Prefixes that are compared with the start of bytes again and again.

/// Bytes of a chunk.
const CHUNK: usize = 8;

/// A prefix to compare with. Most prefixes are short, and a call of `memcmp` takes longer than the whole comparison here.
#[derive(Debug, Clone, Copy)]
pub(super) struct Needle<'a> {
    text: &'a str,
    /// The first chunk of the prefix, zero-padded, and the mask of its bytes.
    first: u64,
    mask: u64,
}

impl<'a> Needle<'a> {
    pub fn new(text: &'a str) -> Self {
        let mut first = [0; CHUNK];
        let mut mask = [0; CHUNK];
        for ((first, mask), byte) in first.iter_mut().zip(&mut mask).zip(text.bytes()) {
            (*first, *mask) = (byte, u8::MAX);
        }
        Self { text, first: u64::from_le_bytes(first), mask: u64::from_le_bytes(mask) }
    }

    pub fn text(&self) -> &'a str {
        self.text
    }

    pub fn len(&self) -> usize {
        self.text.len()
    }

    /// Whether the bytes begin with the prefix.
    #[inline]
    pub fn begins(&self, bytes: &[u8]) -> bool {
        let Some(chunk) = bytes.first_chunk() else { return bytes.starts_with(self.text.as_bytes()) };
        (u64::from_le_bytes(*chunk) ^ self.first) & self.mask == 0 && (self.len() <= CHUNK || self.continues(bytes))
    }

    /// Whether the bytes behind the first chunk match, too.
    #[inline]
    fn continues(&self, bytes: &[u8]) -> bool {
        let text = self.text.as_bytes();
        let Some(bytes) = bytes.get(..text.len()) else { return false };
        let (whole, _) = text.as_chunks::<CHUNK>();
        let same = whole.iter().zip(bytes.as_chunks::<CHUNK>().0).skip(1).all(|(ours, theirs)| ours == theirs);
        // The last chunk overlaps the chunk before it.
        same && text.last_chunk::<CHUNK>() == bytes.last_chunk::<CHUNK>()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn bytes_begin_with_a_needle_as_the_standard_library_says(
            text in "[ab]{0,30}",
            bytes in "[ab]{0,30}",
            rest in "[a-z]{0,10}",
        ) {
            let needle = Needle::new(&text);
            for bytes in [bytes.clone(), format!("{text}{rest}"), format!("{}{rest}", &text[..text.len() / 2])] {
                prop_assert_eq!(needle.begins(bytes.as_bytes()), bytes.starts_with(&text));
            }
        }
    }
}
