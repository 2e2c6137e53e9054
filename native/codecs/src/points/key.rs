//! The key of a series: its measurement and tags as one text, in a canonical form.
//!
//! The form is `measurement,tag=value,...`, sorted by tag, with a backslash before each comma, space, equals sign and backslash
//! of a name. A key in line protocol without backslashes and with sorted tags is already canonical.

use std::borrow::Cow;

use thiserror::Error;

use crate::Error;

/// A tag that a series has twice. Which of the two values counts would be a guess.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("the tag {0:?} is there twice")]
pub struct DuplicateTag(pub String);

impl From<DuplicateTag> for Error {
    fn from(duplicate: DuplicateTag) -> Self {
        Self::InvalidArgument(duplicate.to_string())
    }
}

/// The number of tags up to which comparing each with each is faster than sorting.
const FEW: usize = 16;

/// Checks that no tag is there twice.
pub(crate) fn check_tags(tags: &[(&str, &str)]) -> Result<(), DuplicateTag> {
    let twice = if tags.len() <= FEW {
        let is_second = |place: &usize| tags[..*place].iter().any(|(name, _)| *name == tags[*place].0);
        (1..tags.len()).find(is_second).map(|place| tags[place].0)
    } else {
        let mut names: Vec<&str> = tags.iter().map(|(name, _)| *name).collect();
        names.sort_unstable();
        names.windows(2).find(|pair| pair[0] == pair[1]).map(|pair| pair[0])
    };
    twice.map_or(Ok(()), |name| Err(DuplicateTag(name.to_owned())))
}

/// The key of a series: its measurement and tags.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct SeriesKey<'a> {
    /// The whole key, in canonical form.
    pub text: Cow<'a, str>,
    /// The place where the measurement ends in the key, in bytes.
    pub measurement_end: usize,
}

impl SeriesKey<'_> {
    /// The key of a measurement and tags. The tags may be in any order.
    pub fn of(
        measurement: &str,
        tags: &mut [(Cow<'_, str>, Cow<'_, str>)],
    ) -> Result<SeriesKey<'static>, DuplicateTag> {
        tags.sort_unstable_by(|(left, _), (right, _)| left.cmp(right));
        if let Some(pair) = tags.windows(2).find(|pair| pair[0].0 == pair[1].0) {
            return Err(DuplicateTag(pair[0].0.to_string()));
        }
        let mut text = String::new();
        push_measurement(&mut text, measurement);
        let measurement_end = text.len();
        tags.iter().for_each(|(name, value)| push_tag(&mut text, name, value));
        Ok(SeriesKey { text: Cow::Owned(text), measurement_end })
    }

    /// The name of the measurement.
    pub fn measurement(&self) -> Cow<'_, str> {
        unescape(&self.text[..self.measurement_end])
    }

    /// The tags, sorted by name.
    pub fn tags(&self) -> Vec<(Cow<'_, str>, Cow<'_, str>)> {
        parse_tags(&self.text[self.measurement_end..])
    }
}

/// Parses a key in canonical form.
pub fn parse_key(text: &str) -> SeriesKey<'_> {
    let measurement_end = find_unescaped(text, b',').unwrap_or(text.len());
    SeriesKey { text: Cow::Borrowed(text), measurement_end }
}

/// Appends the measurement, with which a key begins.
pub fn push_measurement(text: &mut String, measurement: &str) {
    push_escaped(text, measurement);
}

/// Appends a tag to a key.
pub fn push_tag(text: &mut String, name: &str, value: &str) {
    text.push(',');
    push_escaped(text, name);
    text.push('=');
    push_escaped(text, value);
}

fn push_escaped(text: &mut String, name: &str) {
    for character in name.chars() {
        if matches!(character, ',' | ' ' | '=' | '\\') {
            text.push('\\');
        }
        text.push(character);
    }
}

fn unescape(text: &str) -> Cow<'_, str> {
    if !text.contains('\\') {
        return Cow::Borrowed(text);
    }
    let mut plain = String::with_capacity(text.len());
    let mut characters = text.chars();
    while let Some(character) = characters.next() {
        plain.push(if character == '\\' { characters.next().unwrap_or('\\') } else { character });
    }
    Cow::Owned(plain)
}

fn parse_tags(mut rest: &str) -> Vec<(Cow<'_, str>, Cow<'_, str>)> {
    let mut tags = Vec::new();
    while let Some(tag) = rest.strip_prefix(',') {
        let end = find_unescaped(tag, b',').unwrap_or(tag.len());
        let (tag, after) = tag.split_at(end);
        let middle = find_unescaped(tag, b'=').unwrap_or(tag.len());
        tags.push((unescape(&tag[..middle]), unescape(tag.get(middle + 1..).unwrap_or_default())));
        rest = after;
    }
    tags
}

fn find_unescaped(text: &str, wanted: u8) -> Option<usize> {
    let mut escaped = false;
    text.bytes().position(|byte| {
        let found = !escaped && byte == wanted;
        escaped = !escaped && byte == b'\\';
        found
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_key_holds_its_parts(measurement in ".{1,8}", tags in prop::collection::btree_map(".{1,6}", ".{0,6}", 0..5)) {
            let mut given: Vec<_> = tags.iter().rev().map(|(name, value)| (name.into(), value.into())).collect();
            let key = SeriesKey::of(&measurement, &mut given).unwrap();
            prop_assert_eq!(key.measurement(), measurement.as_str());
            let read: Vec<_> = key.tags().into_iter().map(|(name, value)| (name.into_owned(), value.into_owned())).collect();
            prop_assert_eq!(read, tags.into_iter().collect::<Vec<_>>());
            prop_assert_eq!(&parse_key(&key.text), &key);
        }
    }

    #[test]
    fn a_tag_given_twice_is_refused_among_few_and_many() {
        for many in [0, FEW - 2, FEW - 1, 100] {
            let others: Vec<String> = (0..many).map(|number| format!("t{number}")).collect();
            let mut tags: Vec<_> = others.iter().map(|name| (name.as_str(), "x")).collect();
            tags.push(("a", "1"));
            let cows = |tags: &[(&'static str, &'static str)]| -> Vec<_> {
                tags.iter().map(|(name, value)| (Cow::Borrowed(*name), Cow::Borrowed(*value))).collect()
            };
            assert_eq!(check_tags(&tags), Ok(()));
            for value in ["1", "2"] {
                let mut twice = tags.clone();
                twice.push(("a", value));
                assert_eq!(check_tags(&twice), Err(DuplicateTag("a".to_owned())), "{many}");
                let mut twice = cows(&[("a", "1"), ("b", "x"), ("a", "2")]);
                assert_eq!(SeriesKey::of("m", &mut twice), Err(DuplicateTag("a".to_owned())));
            }
        }
    }
}
