//! Values picked out of JSON, compared with the values that `serde_json` reads.

use std::fmt;

use boundary_bench_codecs::json::{Kind, Paths, Picked, Rows};
use serde::Deserialize;
use serde::de::{Deserializer, IgnoredAny, MapAccess, Visitor};

use crate::input::cut;
use crate::memory::Bound;

const PICKED: Bound = Bound { times: 64, for_any: 16 << 10 };

/// The number of opening brackets above which JSON is not compared: we refuse deep values, and `serde_json` refuses
/// them somewhat earlier.
const DEEP: usize = 120;

/// JSON as it is written.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Tree {
    Null,
    Bool(bool),
    Number(f64),
    Text(String),
    List(Vec<Tree>),
    Map(Entries),
}

/// The entries of an object: a name that occurs twice is kept twice.
#[derive(Debug)]
struct Entries(Vec<(String, Tree)>);

impl<'de> Deserialize<'de> for Entries {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Making;

        impl<'de> Visitor<'de> for Making {
            type Value = Entries;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Entries, A::Error> {
                std::iter::from_fn(|| map.next_entry().transpose()).collect::<Result<_, _>>().map(Entries)
            }
        }

        deserializer.deserialize_map(Making)
    }
}

impl Tree {
    /// The value at the path `*.a` of each element.
    fn each_a(&self) -> Vec<Option<&Self>> {
        let values: Box<dyn Iterator<Item = &Self>> = match self {
            Self::List(values) => Box::new(values.iter()),
            Self::Map(Entries(entries)) => Box::new(entries.iter().map(|(_, value)| value)),
            _ => Box::new(std::iter::empty()),
        };
        values.map(Self::a).collect()
    }

    /// The value at the path `a`.
    fn a(&self) -> Option<&Self> {
        let Self::Map(Entries(entries)) = self else { return None };
        entries.iter().find(|(name, _)| name == "a").map(|(_, value)| value)
    }

    fn is(&self, picked: Option<&str>) -> bool {
        match (self, picked) {
            (Self::Null, None) => true,
            (Self::Bool(value), Some(picked)) => picked == if *value { "true" } else { "false" },
            (Self::Text(text), Some(picked)) => text == picked,
            // `serde_json` may be wrong in the last bit.
            (Self::Number(number), Some(picked)) => {
                picked.parse::<f64>().is_ok_and(|picked| (picked - number).abs() <= number.abs() * 1e-15)
            }
            _ => false,
        }
    }
}

fn paths_of(paths: &[(&str, Kind)]) -> Paths {
    Paths::new(paths.iter().copied()).expect("paths")
}

/// Whether the text is UTF-8 and no escape is one half of a surrogate pair.
fn is_unicode(json: &[u8]) -> bool {
    let has_half = |pair: &[u8]| pair.eq_ignore_ascii_case(b"ud");
    std::str::from_utf8(json).is_ok() && !json.windows(2).any(has_half)
}

fn is_deep(json: &[u8]) -> bool {
    json.iter().filter(|byte| matches!(byte, b'[' | b'{')).count() > DEEP
}

pub(crate) fn paths(bytes: &[u8]) {
    // The path picks nothing, so that the outcome tells only whether the bytes are JSON.
    let is_json = paths_of(&[("none.of.it", Kind::Text)]).pick(bytes).is_ok();
    assert!(!is_json || std::str::from_utf8(bytes).is_ok());
    // We decode names with escapes. `serde_json` only skips them here.
    if !is_deep(bytes) && is_unicode(bytes) {
        assert_eq!(is_json, serde_json::from_slice::<IgnoredAny>(bytes).is_ok());
    }
    let paths = paths_of(&[("*.a", Kind::Text), ("*.b.*", Kind::Number), ("c.*.*", Kind::Text), ("c.d", Kind::Text)]);
    let picked = PICKED.check(bytes.len(), || paths.pick(bytes));
    if let (Ok(picked), Ok(tree)) = (&picked, serde_json::from_slice::<Tree>(bytes)) {
        // `c` has paths of its own, none of which picks its `a`.
        if !matches!(&tree, Tree::Map(Entries(entries)) if entries.iter().any(|(name, _)| name == "c")) {
            let (found, expected) = (texts(&picked[0]), tree.each_a());
            let agree = found.len() == expected.len()
                && expected
                    .iter()
                    .zip(&found)
                    .all(|(expected, found)| expected.unwrap_or(&Tree::Null).is(found.as_deref()));
            assert!(agree, "{found:?} instead of {expected:?}");
        }
    }
    for column in picked.iter().flatten() {
        let mut frame = Vec::new();
        column.write(&mut frame);
        assert!(frame.len() <= column.frame_bytes() && frame.len().is_multiple_of(8));
    }
}

fn texts(column: &Picked) -> Vec<Option<String>> {
    column.texts().collect()
}

type Read = (Vec<Vec<Option<String>>>, bool);

fn read(pieces: &[&[u8]]) -> Read {
    let mut rows = Rows::new("data", paths_of(&[("n", Kind::Number), ("t", Kind::Text), ("x.*", Kind::Text)]));
    let mut found = vec![Vec::new(); 3];
    for piece in pieces {
        let Ok(columns) = rows.feed(piece) else { return (found, false) };
        for (found, column) in found.iter_mut().zip(columns) {
            found.extend(column.texts());
        }
    }
    (found, rows.finish().is_ok())
}

pub(crate) fn rows(bytes: &[u8]) {
    let (whole, is_whole) = PICKED.check(bytes.len(), || read(&[bytes]));
    let (pieces, in_pieces) = read(&cut(bytes));
    assert_eq!(in_pieces, is_whole);
    // If the input is refused, the rows before the error depend on the pieces.
    if is_whole {
        assert_eq!(pieces, whole);
    }
    let is_once = bytes.windows(6).filter(|name| name == b"\"data\"").count() == 1 && !bytes.contains(&b'\\');
    if is_whole && is_once {
        let same = paths_of(&[("data.*.n", Kind::Number), ("data.*.t", Kind::Text), ("data.*.x.*", Kind::Text)]);
        let picked = same.pick(bytes).expect("rows that were read are JSON");
        // The name may also occur deeper down, where the paths don't pick it.
        if picked.iter().any(|column| !column.is_empty()) {
            assert_eq!(picked.iter().map(texts).collect::<Vec<_>>(), whole);
        }
    }
}
