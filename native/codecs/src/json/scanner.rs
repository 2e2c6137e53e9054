//! A single-pass JSON scanner that builds nothing: values that no path leads to are only skipped.
//!
//! Numbers stay as they are written, so none loses digits. Strings are scanned eight bytes at a time, on every
//! processor.

use std::borrow::Cow;

use super::problem::{Problem, Scanned};
use super::{Node, Picked};

/// The deepest nesting of arrays and objects.
const MOST_DEPTH: u32 = 128;

/// A JSON string among the bytes.
struct Text<'json> {
    /// The bytes of the string with its quotes.
    quoted: &'json [u8],
    is_escaped: bool,
}

impl<'json> Text<'json> {
    fn raw(&self) -> &'json [u8] {
        &self.quoted[1..self.quoted.len() - 1]
    }

    /// The bytes of the string without its escapes, in UTF-8.
    fn decoded(&self) -> Scanned<Cow<'json, [u8]>> {
        if !self.is_escaped {
            return Ok(Cow::Borrowed(self.raw()));
        }
        let decoded: String =
            serde_json::from_slice(self.quoted).map_err(|_| Problem::Wrong("a text is not readable"))?;
        Ok(Cow::Owned(decoded.into_bytes()))
    }
}

/// The bytes of a JSON text, and the position of the next one to read.
pub(super) struct Scanner<'json> {
    bytes: &'json [u8],
    pub(super) at: usize,
    depth: u32,
    /// The number of objects whose entries were looked for in paths.
    objects: usize,
    /// For each step that is a name, the number of the last object that had an entry for it. A step is looked for in one object at
    /// a time.
    seen: Vec<usize>,
}

impl<'json> Scanner<'json> {
    /// A scanner for paths with `names` steps that are names.
    pub(super) fn new(bytes: &'json [u8], names: usize) -> Self {
        Self { bytes, at: 0, depth: 0, objects: 0, seen: vec![0; names] }
    }

    pub(super) fn space(&mut self) {
        while let Some(b' ' | b'\n' | b'\r' | b'\t') = self.bytes.get(self.at) {
            self.at += 1;
        }
    }

    /// Reads the next byte that is no white space.
    pub(super) fn next(&mut self) -> Scanned<u8> {
        self.space();
        let byte = *self.bytes.get(self.at).ok_or(Problem::Ends)?;
        self.at += 1;
        Ok(byte)
    }

    /// The problem of the last part that was read: it is none of the expected parts.
    #[cold]
    fn wrong(&self, problem: &'static str) -> Problem {
        let is_mark =
            self.bytes.get(self.at.saturating_sub(1)..).is_some_and(|bytes| bytes.starts_with(b"\xef\xbb\xbf"));
        Problem::Wrong(if is_mark { "a byte order mark (EF BB BF) is no part of JSON" } else { problem })
    }

    /// Whether only white space is left.
    pub(super) fn is_at_end(&mut self) -> bool {
        self.space();
        self.at == self.bytes.len()
    }

    /// Reads the next byte and checks that it is the expected one.
    pub(super) fn expect(&mut self, expected: u8, problem: &'static str) -> Scanned<()> {
        if self.next()? == expected { Ok(()) } else { Err(self.wrong(problem)) }
    }

    /// Reads an entry's name, whose opening quote was read, and the colon behind it.
    pub(super) fn name(&mut self) -> Scanned<Cow<'json, [u8]>> {
        let text = self.text()?;
        self.expect(b':', "an entry has no colon")?;
        text.decoded()
    }

    /// Reads a value, and adds those that the node's paths lead to to the columns.
    pub(super) fn value(&mut self, node: Option<&Node>, columns: &mut [Picked]) -> Scanned<()> {
        let column = node.and_then(|node| node.column);
        let byte = self.next()?;
        if byte != b'{' {
            node.iter().flat_map(|node| &node.below).for_each(|below| columns[*below].push_null());
        }
        match byte {
            b'"' => {
                let text = self.text()?;
                match column {
                    Some(column) => columns[column].push_text(&text.decoded()?),
                    None => Ok(()),
                }
            }
            b'-' | b'0'..=b'9' => {
                let number = self.number()?;
                column.map_or(Ok(()), |column| columns[column].push_number(number))
            }
            b'{' => self.nested(column, |scanner| scanner.object(node, columns)),
            b'[' => self.nested(column, |scanner| scanner.array(node, columns)),
            b't' => {
                self.word(b"rue")?;
                column.map_or(Ok(()), |column| columns[column].push_text(b"true"))
            }
            b'f' => {
                self.word(b"alse")?;
                column.map_or(Ok(()), |column| columns[column].push_text(b"false"))
            }
            b'n' => {
                self.word(b"ull")?;
                column.into_iter().for_each(|column| columns[column].push_null());
                Ok(())
            }
            _ => Err(self.wrong("no value begins so")),
        }
    }

    fn nested(&mut self, column: Option<usize>, read: impl FnOnce(&mut Self) -> Scanned<()>) -> Scanned<()> {
        if column.is_some() {
            return Err(Problem::Wrong("a path ends at an array or an object"));
        }
        self.depth += 1;
        if self.depth > MOST_DEPTH {
            return Err(Problem::Wrong("it is nested too deeply"));
        }
        read(self)?;
        self.depth -= 1;
        Ok(())
    }

    fn object(&mut self, node: Option<&Node>, columns: &mut [Picked]) -> Scanned<()> {
        self.objects += 1;
        let object = self.objects;
        let mut missing = node.map_or(0, |node| node.steps.len());
        let mut byte = self.next()?;
        // Objects of one kind mostly have their entries in one order. The paths mostly have the same order.
        let mut expected = 0;
        let mut is_first = true;
        while byte != b'}' || !is_first {
            if byte != b'"' {
                return Err(Problem::Wrong("an entry has no name"));
            }
            is_first = false;
            let name = self.name()?;
            let named = node.and_then(|node| node.named(&name, &mut expected));
            if let Some(step) = named {
                if std::mem::replace(&mut self.seen[step.number], object) == object {
                    return Err(Problem::Wrong("an object has a name of a path twice"));
                }
                missing -= 1;
            }
            self.value(named.or_else(|| node?.each.as_deref()), columns)?;
            match self.next()? {
                b',' => byte = self.next()?,
                b'}' => break,
                _ => return Err(Problem::Wrong("there is no comma between two entries")),
            }
        }
        if missing > 0 {
            let steps = node.iter().flat_map(|node| &node.steps).map(|(_, step)| step);
            let absent = steps.filter(|step| self.seen[step.number] != object);
            let below = absent.flat_map(|step| step.column.iter().chain(&step.below));
            below.for_each(|column| columns[*column].push_null());
        }
        Ok(())
    }

    fn array(&mut self, node: Option<&Node>, columns: &mut [Picked]) -> Scanned<()> {
        let each = node.and_then(|node| node.each.as_deref());
        if self.next()? == b']' {
            return Ok(());
        }
        self.at -= 1;
        loop {
            self.value(each, columns)?;
            match self.next()? {
                b',' => {}
                b']' => return Ok(()),
                _ => return Err(Problem::Wrong("there is no comma between two elements")),
            }
        }
    }

    /// Reads a string whose opening quote was read.
    fn text(&mut self) -> Scanned<Text<'json>> {
        let start = self.at - 1;
        let (mut is_escaped, mut is_ascii) = (false, true);
        loop {
            let (length, ascii) = plain(&self.bytes[self.at..]);
            self.at += length;
            is_ascii &= ascii;
            match self.bytes.get(self.at) {
                Some(b'"') => {
                    self.at += 1;
                    let quoted = &self.bytes[start..self.at];
                    if !is_ascii && std::str::from_utf8(quoted).is_err() {
                        return Err(Problem::Wrong("a text is not UTF-8"));
                    }
                    return Ok(Text { quoted, is_escaped });
                }
                Some(b'\\') => {
                    is_escaped = true;
                    self.at += match self.bytes.get(self.at + 1).ok_or(Problem::Ends)? {
                        b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't' => 2,
                        b'u' => {
                            let digits = self.bytes.get(self.at + 2..self.at + 6).ok_or(Problem::Ends)?;
                            if !digits.iter().all(u8::is_ascii_hexdigit) {
                                return Err(Problem::Wrong("an escape has no four digits"));
                            }
                            6
                        }
                        _ => return Err(Problem::Wrong("there is no such escape")),
                    };
                }
                Some(_) => return Err(Problem::Wrong("a text holds a control character")),
                None => return Err(Problem::Ends),
            }
        }
    }

    /// Reads a number whose first byte was read.
    fn number(&mut self) -> Scanned<&'json [u8]> {
        let start = self.at - 1;
        self.at = start + usize::from(self.bytes[start] == b'-');
        let first = self.bytes.get(self.at).copied();
        let digits = self.digits()?;
        if first == Some(b'0') && digits > 1 {
            return Err(Problem::Wrong("a number begins with 0"));
        }
        if self.bytes.get(self.at) == Some(&b'.') {
            self.at += 1;
            self.digits()?;
        }
        if let Some(b'e' | b'E') = self.bytes.get(self.at) {
            self.at += 1;
            if let Some(b'+' | b'-') = self.bytes.get(self.at) {
                self.at += 1;
            }
            self.digits()?;
        }
        Ok(&self.bytes[start..self.at])
    }

    /// Skips digits, at least one, and returns their number.
    fn digits(&mut self) -> Scanned<usize> {
        let rest = &self.bytes[self.at..];
        let digits = rest.iter().position(|byte| !byte.is_ascii_digit()).unwrap_or(rest.len());
        self.at += digits;
        match digits {
            0 if rest.is_empty() => Err(Problem::Ends),
            0 => Err(Problem::Wrong("a number lacks a digit")),
            _ => Ok(digits),
        }
    }

    fn word(&mut self, rest: &[u8]) -> Scanned<()> {
        let found = &self.bytes[self.at..self.bytes.len().min(self.at + rest.len())];
        if !rest.starts_with(found) {
            return Err(Problem::Wrong("no value begins so"));
        }
        self.at += found.len();
        if found.len() == rest.len() { Ok(()) } else { Err(Problem::Ends) }
    }
}

/// The number of bytes before the first quote, backslash or control character, and whether they are ASCII.
fn plain(bytes: &[u8]) -> (usize, bool) {
    const ONES: u64 = u64::MAX / 0xFF;
    const HIGHS: u64 = ONES * 0x80;
    // Sets the high bit of each byte below `limit`, and of some bytes above the first such byte. Those do not matter.
    let below = |word: u64, limit: u64| word.wrapping_sub(ONES * limit) & !word;
    let is = |word: u64, byte: u8| below(word ^ (ONES * u64::from(byte)), 1);
    let (words, rest) = bytes.as_chunks();
    let mut all = 0;
    for (index, word) in words.iter().enumerate() {
        let word = u64::from_le_bytes(*word);
        let found = (below(word, 0x20) | is(word, b'"') | is(word, b'\\')) & HIGHS;
        if found != 0 {
            let bits = found.trailing_zeros();
            all |= word & ((1 << bits) - 1);
            return (index * size_of::<u64>() + (bits / u8::BITS) as usize, all & HIGHS == 0);
        }
        all |= word;
    }
    let is_special = |byte: &u8| *byte < 0x20 || *byte == b'"' || *byte == b'\\';
    let rest = &rest[..rest.iter().position(is_special).unwrap_or(rest.len())];
    (size_of_val(words) + rest.len(), all & HIGHS == 0 && rest.is_ascii())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn plain_bytes_end_at_the_first_special_one(bytes in proptest::collection::vec(any::<u8>(), 0..40)) {
            let expected = bytes.iter().position(|byte| *byte < 0x20 || *byte == b'"' || *byte == b'\\');
            let expected = &bytes[..expected.unwrap_or(bytes.len())];
            prop_assert_eq!(plain(&bytes), (expected.len(), expected.is_ascii()));
        }

        #[test]
        fn what_serde_reads_is_read_and_nothing_else(json in r#"[\[\]{},:0-9eE.+\-tfnrualse"\\ ]{0,12}"#) {
            let mut scanner = Scanner::new(json.as_bytes(), 0);
            let is_read = scanner.value(None, &mut []).is_ok() && scanner.is_at_end();
            prop_assert_eq!(is_read, serde_json::from_str::<serde::de::IgnoredAny>(&json).is_ok(), "{}", json);
        }
    }
}
