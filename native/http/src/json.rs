//! Values picked out of JSON by their paths, in one pass and without a tree: many texts cross in one piece of memory then, and
//! nothing is made of what nobody reads.

use std::borrow::Cow;
use std::fmt;

use boundary_bench_core::{Error, Result};
use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

/// The step of a path that stands for every element of an array, and every value of an object.
const EACH: &str = "*";

/// How deep paths may be.
const MOST_STEPS: usize = 64;

/// Paths such as `result.*.body.data.*`, as a tree.
#[derive(Debug, Default)]
pub struct Paths {
    root: Node,
    count: usize,
}

#[derive(Debug, Default)]
struct Node {
    steps: Vec<(String, Node)>,
    each: Option<Box<Node>>,
    /// The path that ends here.
    column: Option<usize>,
}

impl Paths {
    /// The paths of texts, whose steps have dots between them.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] for a path that is there already, has no step, or has too many.
    pub fn new<'a>(paths: impl IntoIterator<Item = &'a str>) -> Result<Self> {
        let mut tree = Self::default();
        for path in paths {
            let refused = |problem: &str| Err(Error::InvalidArgument(format!("the path {path:?} {problem}")));
            if path.is_empty() || path.split('.').count() > MOST_STEPS {
                return refused("must have 1 to 64 steps");
            }
            let mut node = &mut tree.root;
            for step in path.split('.') {
                node = node.step(step);
            }
            if node.column.replace(tree.count).is_some() {
                return refused("is there twice");
            }
            tree.count += 1;
        }
        Ok(tree)
    }

    /// Picks the values out of a text.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] where it is no JSON.
    pub fn pick(&self, json: &[u8]) -> Result<Vec<Picked>> {
        let mut columns = Vec::new();
        columns.resize_with(self.count, Picked::default);
        let mut deserializer = serde_json::Deserializer::from_slice(json);
        let picked = Seed { node: &self.root, columns: &mut columns }.deserialize(&mut deserializer);
        let picked = picked.and_then(|()| deserializer.end());
        picked.map_err(|error| Error::InvalidArgument(format!("the body is no JSON: {error}")))?;
        Ok(columns)
    }
}

impl Node {
    fn step(&mut self, step: &str) -> &mut Self {
        if step == EACH {
            return self.each.get_or_insert_default();
        }
        let place = self.steps.iter().position(|(name, _)| name == step).unwrap_or_else(|| {
            self.steps.push((step.to_owned(), Self::default()));
            self.steps.len() - 1
        });
        &mut self.steps[place].1
    }

    /// Where a name leads; a step by name comes first.
    fn child(&self, name: &str) -> Option<&Self> {
        let named = self.steps.iter().find(|(step, _)| step == name).map(|(_, node)| node);
        named.or(self.each.as_deref())
    }
}

/// The values of one path, in the order in which they stand in the text.
#[derive(Debug, Default)]
pub struct Picked {
    /// Where the bytes of each value end.
    pub ends: Vec<u32>,
    /// Of each value, whether it is null: its bytes are none then.
    pub nulls: Vec<u8>,
    /// Texts without their quotes and escapes, numbers and truth values as JSON writes them.
    pub bytes: Vec<u8>,
}

impl Picked {
    fn push<E: serde::de::Error>(&mut self, value: Option<&[u8]>) -> std::result::Result<(), E> {
        self.bytes.extend_from_slice(value.unwrap_or_default());
        let end = u32::try_from(self.bytes.len()).map_err(|_| E::custom("it holds more than 4 GiB"))?;
        self.ends.push(end);
        self.nulls.push(u8::from(value.is_none()));
        Ok(())
    }
}

struct Seed<'a> {
    node: &'a Node,
    columns: &'a mut [Picked],
}

impl Seed<'_> {
    fn push<E: serde::de::Error>(self, value: Option<&[u8]>) -> std::result::Result<(), E> {
        match self.node.column {
            Some(column) => self.columns[column].push(value),
            None => Ok(()),
        }
    }

    fn structure<E: serde::de::Error>(&self) -> std::result::Result<(), E> {
        if self.node.column.is_some() { Err(E::custom("a path ends at an array or an object")) } else { Ok(()) }
    }
}

impl<'de> DeserializeSeed<'de> for Seed<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> std::result::Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Seed<'_> {
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a value")
    }

    fn visit_unit<E: serde::de::Error>(self) -> std::result::Result<(), E> {
        self.push(None)
    }

    fn visit_bool<E: serde::de::Error>(self, value: bool) -> std::result::Result<(), E> {
        self.push(Some(if value { b"true" } else { b"false" }))
    }

    fn visit_u64<E: serde::de::Error>(self, value: u64) -> std::result::Result<(), E> {
        self.push(Some(value.to_string().as_bytes()))
    }

    fn visit_i64<E: serde::de::Error>(self, value: i64) -> std::result::Result<(), E> {
        self.push(Some(value.to_string().as_bytes()))
    }

    fn visit_f64<E: serde::de::Error>(self, value: f64) -> std::result::Result<(), E> {
        self.push(Some(value.to_string().as_bytes()))
    }

    fn visit_str<E: serde::de::Error>(self, text: &str) -> std::result::Result<(), E> {
        self.push(Some(text.as_bytes()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> std::result::Result<(), A::Error> {
        self.structure()?;
        match &self.node.each {
            Some(node) => while elements.next_element_seed(Seed { node, columns: &mut *self.columns })?.is_some() {},
            None => while elements.next_element::<IgnoredAny>()?.is_some() {},
        }
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> std::result::Result<(), A::Error> {
        self.structure()?;
        let only_each = self.node.steps.is_empty().then_some(self.node.each.as_deref()).flatten();
        if let Some(node) = only_each {
            while entries.next_key::<IgnoredAny>()?.is_some() {
                entries.next_value_seed(Seed { node, columns: &mut *self.columns })?;
            }
            return Ok(());
        }
        while let Some(name) = entries.next_key_seed(Name)? {
            match self.node.child(&name) {
                Some(node) => entries.next_value_seed(Seed { node, columns: &mut *self.columns })?,
                None => {
                    entries.next_value::<IgnoredAny>()?;
                }
            }
        }
        Ok(())
    }
}

/// A name, borrowed where it has no escapes.
struct Name;

impl<'de> DeserializeSeed<'de> for Name {
    type Value = Cow<'de, str>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> std::result::Result<Cow<'de, str>, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl<'de> Visitor<'de> for Name {
    type Value = Cow<'de, str>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a name")
    }

    fn visit_borrowed_str<E>(self, text: &'de str) -> std::result::Result<Cow<'de, str>, E> {
        Ok(Cow::Borrowed(text))
    }

    fn visit_str<E>(self, text: &str) -> std::result::Result<Cow<'de, str>, E> {
        Ok(Cow::Owned(text.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn pick(json: &str, paths: &[&str]) -> Vec<Vec<Option<String>>> {
        let picked = Paths::new(paths.iter().copied()).unwrap().pick(json.as_bytes()).unwrap();
        let texts = |column: &Picked| {
            let mut start = 0;
            let ends = column.ends.iter().zip(&column.nulls).map(|(end, null)| {
                let text = String::from_utf8(column.bytes[start..*end as usize].to_vec()).unwrap();
                start = *end as usize;
                (*null == 0).then_some(text)
            });
            ends.collect()
        };
        picked.iter().map(texts).collect()
    }

    fn some(texts: &[&str]) -> Vec<Option<String>> {
        texts.iter().map(|text| Some((*text).to_owned())).collect()
    }

    #[test]
    fn values_are_picked_by_their_paths() {
        let json = r#"{"result":[{"code":200,"body":{"operationId":"1","data":{"a":"x\n\u00e9","b":null}}},
                      {"code":404,"body":{"operationId":"2","data":{}},"more":[[]]},
                      {"body":{"data":{"b":-1.5,"a":true}}}], "x":{"y":1}}"#;
        let found = pick(
            json,
            &["result.*.body.operationId", "result.*.body.data.*", "x.y", "none.such", "result.*.body.data.b"],
        );
        assert_eq!(found[0], some(&["1", "2"]));
        // A path of a name comes before one of every name.
        assert_eq!(found[1], some(&["x\n\u{e9}", "true"]));
        assert_eq!(found[4], [None, Some("-1.5".to_owned())]);
        assert_eq!((&found[2], found[3].len()), (&some(&["1"]), 0));
        assert_eq!(pick("[1,[2,3],4]", &["*.*"]), [some(&["2", "3"])]);
    }

    #[test]
    fn what_can_not_be_picked_is_refused() {
        assert!(Paths::new(["a", "a"]).is_err() && Paths::new([""]).is_err());
        let paths = Paths::new(["a"]).unwrap();
        for json in ["", "{", r#"{"a":[1]}"#, r#"{"a":{}}"#, "{} x", r#"{"a":"\ud800"}"#] {
            assert_eq!(paths.pick(json.as_bytes()).unwrap_err().code(), "BB_INVALID_ARGUMENT", "{json}");
        }
        // Deeper than anyone writes it.
        assert!(paths.pick("[".repeat(100_000).as_bytes()).is_err());
    }

    proptest! {
        #[test]
        fn texts_come_as_they_were(texts in proptest::collection::vec(any::<String>(), 0..20)) {
            let json = serde_json::to_string(&texts).unwrap();
            let expected = texts.into_iter().map(Some).collect::<Vec<_>>();
            prop_assert_eq!(pick(&json, &["*"]), [expected]);
        }

        #[test]
        fn no_bytes_make_it_panic(bytes in proptest::collection::vec(any::<u8>(), 0..60)) {
            let _ = Paths::new(["a.*", "*.b"]).unwrap().pick(&bytes);
        }
    }
}
