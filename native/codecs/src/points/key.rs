//! The key of a series: its measurement and tags as one text, in a canonical form.
//!
//! The form is `measurement,tag=value,...`, sorted by tag, with a backslash before each comma, space, equals sign and backslash
//! of a name. A key in line protocol without backslashes and with sorted tags is already canonical.

use std::borrow::Cow;

/// The key of a series: its measurement and tags.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct SeriesKey<'a> {
    /// The whole key, in canonical form.
    pub text: Cow<'a, str>,
    /// Where the measurement ends in the key, in bytes.
    pub measurement_end: usize,
}

impl SeriesKey<'_> {
    /// The key of a measurement and tags; of a tag that is given twice, the last one counts.
    #[must_use]
    pub fn of(measurement: &str, tags: &mut Vec<(Cow<'_, str>, Cow<'_, str>)>) -> SeriesKey<'static> {
        // The sort is stable, so that the last of equal names is the one given last.
        tags.sort_by(|(left, _), (right, _)| left.cmp(right));
        let mut text = String::new();
        push_measurement(&mut text, measurement);
        let measurement_end = text.len();
        for (index, (name, value)) in tags.iter().enumerate() {
            if tags.get(index + 1).is_none_or(|(next, _)| next != name) {
                push_tag(&mut text, name, value);
            }
        }
        SeriesKey { text: Cow::Owned(text), measurement_end }
    }

    /// The name of the measurement.
    #[must_use]
    pub fn measurement(&self) -> Cow<'_, str> {
        unescape(&self.text[..self.measurement_end])
    }

    /// The tags, sorted by name.
    #[must_use]
    pub fn tags(&self) -> Vec<(Cow<'_, str>, Cow<'_, str>)> {
        parse_tags(&self.text[self.measurement_end..])
    }
}

/// Parses a key in canonical form.
#[must_use]
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
            let key = SeriesKey::of(&measurement, &mut given);
            prop_assert_eq!(key.measurement(), measurement.as_str());
            let read: Vec<_> = key.tags().into_iter().map(|(name, value)| (name.into_owned(), value.into_owned())).collect();
            prop_assert_eq!(read, tags.into_iter().collect::<Vec<_>>());
            prop_assert_eq!(&parse_key(&key.text), &key);
        }
    }

    #[test]
    fn the_last_of_a_tag_given_twice_counts() {
        let key = SeriesKey::of("m", &mut vec![("a".into(), "1".into()), ("a".into(), "2".into())]);
        assert_eq!(key.text, "m,a=2");
    }
}
