//! Places in a text as JavaScript counts them.

use super::tree::{NODE_WORDS, Node, Tree};

/// The places of a text in units of UTF-16, by those in bytes. For text of ASCII they are the same, and nothing is kept.
#[derive(Debug, Default)]
pub struct Places {
    /// The place of each byte of a text with other characters, and of its end.
    of_bytes: Option<Vec<u32>>,
}

impl Places {
    /// The places of a text of less than 4 GiB.
    pub fn of(sql: &str) -> Self {
        Self { of_bytes: (!sql.is_ascii()).then(|| places_of_bytes(sql)) }
    }

    /// The place and the length of a node's text, in units of UTF-16.
    pub fn of_node(&self, node: &Node) -> (u32, u32) {
        self.convert(node.start, node.length)
    }

    /// Writes the words of all nodes over the beginning of `into`, with places and lengths in units of UTF-16, and returns their number.
    pub fn write(&self, tree: &Tree, into: &mut [u32]) -> Result<usize, usize> {
        let words = tree.words();
        let into = into.get_mut(..words.len()).ok_or(words.len())?;
        into.copy_from_slice(words);
        if self.of_bytes.is_some() {
            for node in into.chunks_exact_mut(NODE_WORDS) {
                (node[1], node[2]) = self.convert(node[1], node[2]);
            }
        }
        Ok(words.len())
    }

    fn convert(&self, start: u32, length: u32) -> (u32, u32) {
        let Some(of_bytes) = &self.of_bytes else { return (start, length) };
        let place = of_bytes[start as usize];
        (place, of_bytes[(start + length) as usize] - place)
    }
}

fn places_of_bytes(sql: &str) -> Vec<u32> {
    let mut places = Vec::with_capacity(sql.len() + 1);
    let mut place = 0;
    for character in sql.chars() {
        places.resize(places.len() + character.len_utf8(), place);
        place += if character.len_utf16() == 1 { 1 } else { 2 };
    }
    places.push(place);
    places
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_character_has_as_many_units_as_in_javascript() {
        assert_eq!(places_of_bytes("aä\u{20ac}\u{1f600}b"), [0, 1, 1, 2, 2, 2, 3, 3, 3, 3, 5, 6]);
        assert!(Places::of("'a'").of_bytes.is_none());
    }
}
