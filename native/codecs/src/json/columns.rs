//! The values picked for each path, as columns.

use super::problem::{Problem, Scanned};

/// The type of a path's values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Text. Numbers and booleans are taken as JSON writes them.
    Text,
    /// Numbers. Any other value is an error.
    Number,
}

/// The values of one path, in their order in the JSON.
#[derive(Debug, Clone, PartialEq)]
pub enum Picked {
    /// Texts, without their quotes and escapes.
    Texts {
        /// The end of each value in `bytes`.
        ends: Vec<u32>,
        /// 1 for each value that is null, else 0. A null has no bytes.
        nulls: Vec<u8>,
        /// The bytes of all values.
        bytes: Vec<u8>,
    },
    /// Numbers as `f64`.
    Numbers {
        /// The values, or NaN for null.
        values: Vec<f64>,
        /// 1 for each value that is null, else 0.
        nulls: Vec<u8>,
    },
}

impl Picked {
    pub(super) fn new(kind: Kind) -> Self {
        match kind {
            Kind::Text => Self::Texts { ends: Vec::new(), nulls: Vec::new(), bytes: Vec::new() },
            Kind::Number => Self::Numbers { values: Vec::new(), nulls: Vec::new() },
        }
    }

    /// The number of values.
    pub fn len(&self) -> usize {
        match self {
            Self::Texts { nulls, .. } | Self::Numbers { nulls, .. } => nulls.len(),
        }
    }

    /// Whether there are no values.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The values as texts, `None` for null. Numbers are as Rust displays them.
    pub fn texts(&self) -> impl Iterator<Item = Option<String>> {
        (0..self.len()).map(|index| match self {
            Self::Texts { ends, nulls, bytes } => {
                let start = if index == 0 { 0 } else { ends[index - 1] as usize };
                (nulls[index] == 0).then(|| String::from_utf8_lossy(&bytes[start..ends[index] as usize]).into_owned())
            }
            Self::Numbers { values, nulls } => (nulls[index] == 0).then(|| values[index].to_string()),
        })
    }

    /// The most bytes that [`Picked::write`] appends.
    pub fn frame_bytes(&self) -> usize {
        // The four header words, and the padding of each part.
        const AROUND: usize = 16 + 3 * size_of::<f64>();
        AROUND
            + match self {
                Self::Texts { ends, nulls, bytes } => size_of_val(&ends[..]) + nulls.len() + bytes.len(),
                Self::Numbers { values, nulls } => size_of_val(&values[..]) + nulls.len(),
            }
    }

    /// Appends the values as they cross between languages, each part padded to a multiple of eight bytes. First come four words
    /// of 32 bits: the number of values, the length of their bytes, the type (0: texts of UTF-8, 1: texts of ASCII, 2:
    /// numbers), and an unused one. Then come, for texts, the end of each, a null flag of one byte for each, and their bytes.
    /// For numbers, the numbers and a null flag of one byte for each.
    pub fn write(&self, out: &mut Vec<u8>) {
        let word = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
        let (bytes, kind) = match self {
            Self::Texts { bytes, .. } => (bytes.len(), u32::from(bytes.is_ascii())),
            Self::Numbers { .. } => (0, 2),
        };
        for word in [word(self.len()), word(bytes), kind, 0] {
            out.extend_from_slice(&word.to_ne_bytes());
        }
        let fill = |out: &mut Vec<u8>| out.resize(out.len().next_multiple_of(size_of::<f64>()), 0);
        match self {
            Self::Texts { ends, nulls, bytes } => {
                ends.iter().for_each(|end| out.extend_from_slice(&end.to_ne_bytes()));
                fill(out);
                out.extend_from_slice(nulls);
                fill(out);
                out.extend_from_slice(bytes);
            }
            Self::Numbers { values, nulls } => {
                values.iter().for_each(|value| out.extend_from_slice(&value.to_ne_bytes()));
                out.extend_from_slice(nulls);
            }
        }
        fill(out);
    }

    /// Removes the values behind the first `length`.
    pub(super) fn truncate(&mut self, length: usize) {
        match self {
            Self::Texts { ends, nulls, bytes } => {
                ends.truncate(length);
                nulls.truncate(length);
                bytes.truncate(ends.last().map_or(0, |end| *end as usize));
            }
            Self::Numbers { values, nulls } => {
                values.truncate(length);
                nulls.truncate(length);
            }
        }
    }

    pub(super) fn push_text(&mut self, text: &[u8]) -> Scanned<()> {
        let Self::Texts { ends, nulls, bytes } = self else {
            return Err(Problem::Wrong("a path of numbers leads to something else"));
        };
        bytes.extend_from_slice(text);
        ends.push(u32::try_from(bytes.len()).map_err(|_| Problem::Wrong("the values of a path have more than 4 GiB"))?);
        nulls.push(0);
        Ok(())
    }

    pub(super) fn push_number(&mut self, number: &[u8]) -> Scanned<()> {
        let Self::Numbers { values, nulls } = self else { return self.push_text(number) };
        let parsed = std::str::from_utf8(number).ok().and_then(|number| number.parse().ok());
        values.push(parsed.ok_or(Problem::Wrong("a number is none"))?);
        nulls.push(0);
        Ok(())
    }

    pub(super) fn push_null(&mut self) {
        match self {
            Self::Texts { ends, nulls, bytes } => {
                ends.push(u32::try_from(bytes.len()).unwrap_or(u32::MAX));
                nulls.push(1);
            }
            Self::Numbers { values, nulls } => {
                values.push(f64::NAN);
                nulls.push(1);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn frames_are_no_larger_than_they_say(texts in proptest::collection::vec(proptest::option::of(any::<String>()), 0..10)) {
            for kind in [Kind::Text, Kind::Number] {
                let mut column = Picked::new(kind);
                for text in &texts {
                    match (text, kind) {
                        (None, _) => column.push_null(),
                        (Some(text), Kind::Text) => prop_assert!(column.push_text(text.as_bytes()).is_ok()),
                        (Some(_), Kind::Number) => prop_assert!(column.push_number(b"1.5").is_ok()),
                    }
                }
                let mut frame = Vec::new();
                column.write(&mut frame);
                prop_assert!(frame.len() <= column.frame_bytes() && frame.len().is_multiple_of(size_of::<f64>()));
                prop_assert_eq!(frame[..4].as_ref(), u32::try_from(texts.len()).unwrap().to_ne_bytes());
            }
        }
    }
}
