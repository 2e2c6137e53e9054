//! Reads `MessagePack`, one value after another. Errors tell the byte.

use crate::{Error, Result};

/// The deepest nesting of a skipped value.
const MOST_DEPTH: u32 = 64;

/// Bytes of the widest numbers, including their tag.
pub(super) const WIDE: usize = 9;

/// The error for a problem at a byte.
pub(super) fn fail<T>(at: usize, problem: impl Into<String>) -> Result<T> {
    Err(Error::Parse { format: "MessagePack", place: format!("byte {at}"), problem: problem.into() })
}

/// The error for a key that a map has twice. Which of the two values counts would be a guess.
#[cold]
pub(super) fn twice<T>(at: usize, key: &str) -> Result<T> {
    fail(at, format!("the key {key} is there twice"))
}

#[derive(Debug, Clone)]
pub(super) struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
}

/// An integer of a timestamp or a field.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Integer {
    Signed(i64),
    /// An unsigned integer above the signed range.
    Large(u64),
}

impl<'a> Reader<'a> {
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0 }
    }

    pub fn position(&self) -> usize {
        self.at
    }

    /// The bytes from `start` to the current position.
    pub fn since(&self, start: usize) -> &'a [u8] {
        &self.bytes[start..self.at]
    }

    pub fn rest(&self) -> &'a [u8] {
        &self.bytes[self.at..]
    }

    /// Skips bytes that the caller has read from [`Self::rest`].
    pub fn advance(&mut self, bytes: usize) {
        self.at += bytes;
    }

    /// Checks that nothing is behind the value that was read, such as a second batch.
    pub fn end(&self) -> Result<()> {
        match self.rest().len() {
            0 => Ok(()),
            left => fail(self.at, format!("there are {left} more bytes behind the value; send each body by itself")),
        }
    }

    fn take(&mut self, count: usize) -> Result<&'a [u8]> {
        let Some(taken) = self.rest().get(..count) else {
            return fail(self.bytes.len(), "the bytes end within a value");
        };
        self.at += count;
        Ok(taken)
    }

    fn take_array<const N: usize>(&mut self) -> Result<[u8; N]> {
        // `take` returned exactly N bytes.
        Ok(self.take(N)?.try_into().unwrap_or([0; N]))
    }

    fn tag(&mut self) -> Result<u8> {
        Ok(self.take_array::<1>()?[0])
    }

    fn length(&mut self, bytes: usize) -> Result<usize> {
        Ok(match bytes {
            1 => self.tag()? as usize,
            2 => u16::from_be_bytes(self.take_array()?) as usize,
            _ => u32::from_be_bytes(self.take_array()?) as usize,
        })
    }

    /// Consumes the next value if it is nil, and returns whether it was.
    pub fn nil(&mut self) -> bool {
        let is_nil = self.rest().first() == Some(&0xc0);
        self.at += usize::from(is_nil);
        is_nil
    }

    /// The number of entries of the next map. It is checked against the bytes left: an entry takes at least two.
    pub fn map(&mut self, what: &str) -> Result<usize> {
        let at = self.at;
        let entries = match self.tag()? {
            tag @ 0x80..=0x8f => (tag & 0x0f) as usize,
            0xde => self.length(2)?,
            0xdf => self.length(4)?,
            tag => return fail(at, format!("{what} must be a map, not {}", kind_of(tag))),
        };
        self.plausible(at, entries, 2)
    }

    /// The number of elements of the next array. It is checked against the bytes left.
    pub fn array(&mut self, what: &str) -> Result<usize> {
        let at = self.at;
        let elements = match self.tag()? {
            tag @ 0x90..=0x9f => (tag & 0x0f) as usize,
            0xdc => self.length(2)?,
            0xdd => self.length(4)?,
            tag => return fail(at, format!("{what} must be an array, not {}", kind_of(tag))),
        };
        self.plausible(at, elements, 1)
    }

    fn plausible(&self, at: usize, count: usize, least_bytes: usize) -> Result<usize> {
        if count > self.rest().len() / least_bytes {
            return fail(at, format!("there are {count} elements to come, and the bytes end before"));
        }
        Ok(count)
    }

    pub fn text(&mut self, what: &str) -> Result<&'a str> {
        let at = self.at;
        let length = match self.tag()? {
            tag @ 0xa0..=0xbf => (tag & 0x1f) as usize,
            0xd9 => self.length(1)?,
            0xda => self.length(2)?,
            0xdb => self.length(4)?,
            tag => return fail(at, format!("{what} must be text, not {}", kind_of(tag))),
        };
        let bytes = self.take(length)?;
        match std::str::from_utf8(bytes) {
            Ok(text) => Ok(text),
            Err(_) => fail(at, format!("{what} is not UTF-8")),
        }
    }

    pub fn integer(&mut self, what: &str) -> Result<Integer> {
        let at = self.at;
        Ok(Integer::Signed(match self.tag()? {
            tag @ (0x00..=0x7f | 0xe0..=0xff) => i64::from(tag.cast_signed()),
            0xcc => i64::from(self.tag()?),
            0xcd => i64::from(u16::from_be_bytes(self.take_array()?)),
            0xce => i64::from(u32::from_be_bytes(self.take_array()?)),
            0xcf => {
                let value = u64::from_be_bytes(self.take_array()?);
                match i64::try_from(value) {
                    Ok(value) => value,
                    Err(_) => return Ok(Integer::Large(value)),
                }
            }
            0xd0 => i64::from(self.tag()?.cast_signed()),
            0xd1 => i64::from(i16::from_be_bytes(self.take_array()?)),
            0xd2 => i64::from(i32::from_be_bytes(self.take_array()?)),
            0xd3 => i64::from_be_bytes(self.take_array()?),
            tag => return fail(at, format!("{what} must be an integer, not {}", kind_of(tag))),
        }))
    }

    pub fn signed(&mut self, what: &str) -> Result<i64> {
        let at = self.at;
        match self.integer(what)? {
            Integer::Signed(value) => Ok(value),
            Integer::Large(value) => fail(at, format!("{what}: {value} is no signed integer of 64 bits")),
        }
    }

    /// The next number of any type, as a float. An integer that no float is equal to is refused. `what` names it in an error.
    pub fn float(&mut self, what: impl FnOnce() -> String) -> Result<f64> {
        let at = self.at;
        Ok(match self.tag()? {
            0xcb => f64::from_be_bytes(self.take_array()?),
            0xca => f64::from(f32::from_be_bytes(self.take_array()?)),
            0x00..=0x7f | 0xcc..=0xd3 | 0xe0..=0xff => {
                self.at = at;
                let value = match self.integer("an integer")? {
                    Integer::Signed(value) => i128::from(value),
                    Integer::Large(value) => i128::from(value),
                };
                #[expect(clippy::cast_possible_truncation, reason = "a float that was an integer is one")]
                let kept = value as f64 as i128;
                if kept != value {
                    return fail(at, format!("{}: a float of 64 bits can't hold the integer {value}", what()));
                }
                value as f64
            }
            tag => return fail(at, format!("{} must be a number, not {}", what(), kind_of(tag))),
        })
    }

    pub fn boolean(&mut self, what: &str) -> Result<bool> {
        let at = self.at;
        match self.tag()? {
            0xc2 => Ok(false),
            0xc3 => Ok(true),
            tag => fail(at, format!("{what} must be true or false, not {}", kind_of(tag))),
        }
    }

    /// Skips the next value, of any type.
    pub fn skip(&mut self) -> Result<()> {
        self.skip_within(MOST_DEPTH)
    }

    fn skip_within(&mut self, depth: u32) -> Result<()> {
        let at = self.at;
        let Some(inner) = depth.checked_sub(1) else { return fail(at, "the values are nested too deep") };
        let bytes = match self.tag()? {
            tag @ (0x80..=0x9f | 0xdc..=0xdf) => {
                self.at = at;
                let is_array = matches!(tag, 0x90..=0x9f | 0xdc | 0xdd);
                let values = if is_array { self.array("a value")? } else { 2 * self.map("a value")? };
                return (0..values).try_for_each(|_| self.skip_within(inner));
            }
            tag @ 0xa0..=0xbf => (tag & 0x1f) as usize,
            0xc4 | 0xd9 => self.length(1)?,
            0xc5 | 0xda => self.length(2)?,
            0xc6 | 0xdb => self.length(4)?,
            0xc7 => self.length(1)? + 1,
            0xc8 => self.length(2)? + 1,
            0xc9 => self.length(4)?.saturating_add(1),
            0xcc | 0xd0 => 1,
            0xcd | 0xd1 | 0xd4 => 2,
            0xd5 => 3,
            0xca | 0xce | 0xd2 => 4,
            0xd6 => 5,
            0xcb | 0xcf | 0xd3 => 8,
            0xd7 => 9,
            0xd8 => 17,
            0xc1 => return fail(at, "there is no value of the type 0xc1"),
            0x00..=0x7f | 0xe0..=0xff | 0xc0 | 0xc2 | 0xc3 => 0,
        };
        self.take(bytes).map(|_| ())
    }
}

fn kind_of(tag: u8) -> &'static str {
    match tag {
        0x00..=0x7f | 0xe0..=0xff | 0xcc..=0xd3 => "an integer",
        0x80..=0x8f | 0xde | 0xdf => "a map",
        0x90..=0x9f | 0xdc | 0xdd => "an array",
        0xa0..=0xbf | 0xd9..=0xdb => "text",
        0xc0 => "nil",
        0xc1 => "an unknown type",
        0xc2 | 0xc3 => "a boolean",
        0xc4..=0xc6 => "bytes",
        0xc7..=0xc9 | 0xd4..=0xd8 => "an extension",
        0xca => "a float of 32 bits",
        0xcb => "a float of 64 bits",
    }
}

/// Appends the header of a map.
pub(super) fn push_map(out: &mut Vec<u8>, entries: usize) {
    push_header(out, entries, 0x80, 0x0f, [0xde, 0xdf]);
}

/// Appends the header of an array.
pub(super) fn push_array(out: &mut Vec<u8>, elements: usize) {
    push_header(out, elements, 0x90, 0x0f, [0xdc, 0xdd]);
}

/// Appends text.
pub(super) fn push_text(out: &mut Vec<u8>, text: &str) {
    match (u8::try_from(text.len()), text.len()) {
        (Ok(length), 32..) => out.extend_from_slice(&[0xd9, length]),
        _ => push_header(out, text.len(), 0xa0, 0x1f, [0xda, 0xdb]),
    }
    out.extend_from_slice(text.as_bytes());
}

fn push_header(out: &mut Vec<u8>, count: usize, fixed: u8, most: usize, tags: [u8; 2]) {
    if count <= most {
        out.push(fixed | u8::try_from(count).unwrap_or_default());
    } else if let Ok(count) = u16::try_from(count) {
        out.push(tags[0]);
        out.extend_from_slice(&count.to_be_bytes());
    } else {
        out.push(tags[1]);
        // No collection written here has four billion elements.
        out.extend_from_slice(&u32::try_from(count).unwrap_or(u32::MAX).to_be_bytes());
    }
}
