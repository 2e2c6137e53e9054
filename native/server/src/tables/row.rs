//! A stored row: an index, then the JSON of each value outside the key. A read copies the JSON into its response and need not
//! know the types.

/// Bytes of one index entry: the end of a value, counted from the first value.
const ENTRY: usize = 4;

/// Encodes a row.
#[derive(Debug)]
pub(crate) struct RowWriter {
    ends: Vec<u8>,
    values: Vec<u8>,
}

impl RowWriter {
    pub(crate) fn new(columns: usize) -> Self {
        Self { ends: Vec::with_capacity(columns * ENTRY), values: Vec::new() }
    }

    /// The buffer to append the JSON of the next value to; call [`RowWriter::end_value`] after each.
    pub(crate) fn value(&mut self) -> &mut Vec<u8> {
        &mut self.values
    }

    pub(crate) fn end_value(&mut self) {
        let end = u32::try_from(self.values.len()).unwrap_or(u32::MAX);
        self.ends.extend_from_slice(&end.to_le_bytes());
    }

    pub(crate) fn finish(mut self) -> Vec<u8> {
        self.ends.append(&mut self.values);
        self.ends
    }
}

/// An encoded row of a known number of values.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Row<'row> {
    ends: &'row [u8],
    values: &'row [u8],
}

impl<'row> Row<'row> {
    /// Splits an encoded row; `None` for bytes shorter than the index.
    pub(crate) fn new(bytes: &'row [u8], columns: usize) -> Option<Self> {
        let (ends, values) = bytes.split_at_checked(columns * ENTRY)?;
        Some(Self { ends, values })
    }

    /// The JSON of the value `index`; `None` for broken bytes.
    pub(crate) fn value(&self, index: usize) -> Option<&'row [u8]> {
        let start = if index == 0 { 0 } else { self.end(index - 1)? };
        self.values.get(start..self.end(index)?)
    }

    fn end(&self, index: usize) -> Option<usize> {
        let entry = self.ends.get(index * ENTRY..)?.first_chunk()?;
        usize::try_from(u32::from_le_bytes(*entry)).ok()
    }
}

/// Appends a text as a JSON string, with its quotes.
pub(crate) fn escaped(text: &str, json: &mut Vec<u8>) {
    json.push(b'"');
    if text.bytes().all(|byte| byte >= 0x20 && byte != b'"' && byte != b'\\') {
        json.extend_from_slice(text.as_bytes());
    } else {
        for character in text.chars() {
            escape(character, json);
        }
    }
    json.push(b'"');
}

fn escape(character: char, json: &mut Vec<u8>) {
    let escape = match character {
        '"' => b'"',
        '\\' => b'\\',
        '\n' => b'n',
        '\r' => b'r',
        '\t' => b't',
        '\0'..='\x1f' => {
            json.extend_from_slice(format!("\\u{:04x}", u32::from(character)).as_bytes());
            return;
        }
        _ => {
            json.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
            return;
        }
    };
    json.extend_from_slice(&[b'\\', escape]);
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn values_come_back(values: Vec<Vec<u8>>) {
            let mut writer = RowWriter::new(values.len());
            for value in &values {
                writer.value().extend_from_slice(value);
                writer.end_value();
            }
            let bytes = writer.finish();
            let row = Row::new(&bytes, values.len()).unwrap();
            for (index, value) in values.iter().enumerate() {
                prop_assert_eq!(row.value(index).unwrap(), &value[..]);
            }
            prop_assert!(row.value(values.len()).is_none());
        }

        #[test]
        fn no_bytes_make_it_panic(bytes: Vec<u8>, columns in 0_usize..20) {
            if let Some(row) = Row::new(&bytes, columns) {
                for index in 0..=columns {
                    let _ = row.value(index);
                }
            }
        }

        #[test]
        fn escaped_text_is_json(text in any::<String>()) {
            let mut json = Vec::new();
            escaped(&text, &mut json);
            prop_assert_eq!(serde_json::from_slice::<String>(&json).unwrap(), text);
        }
    }
}
