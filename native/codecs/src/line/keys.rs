//! Reads the keys of lines: the measurement and tags.

use std::borrow::Cow;

use super::names::{find_unescaped, split_unescaped, unescape, unescape_as};
use super::needle::Needle;
use super::parser::{Known, LONE_RETURN, Parser};
use crate::Result;
use crate::points::{SeriesKey, place_of};

/// The problem of a byte order mark.
const BYTE_ORDER_MARK: &str = "a byte order mark (EF BB BF) is no part of line protocol; send the lines without it";

impl<'a> Parser<'a> {
    /// Finds or adds the key of a line that is not an expected one, and returns its index.
    pub(super) fn find_key(&mut self) -> Result<usize> {
        let start = self.at;
        if self.text[start..].starts_with('\u{feff}') {
            return self.fail(start, BYTE_ORDER_MARK);
        }
        let end = find_unescaped(&self.bytes[start..], b' ', b'\n').map_or(self.bytes.len(), |length| start + length);
        let is_whole = self.bytes.get(end) == Some(&b' ');
        let mut key = &self.text[start..end];
        if !is_whole {
            key = key.strip_suffix('\r').unwrap_or(key);
        } else if let Some(known) = self.key_indexes.get(key) {
            return Ok(*known);
        }
        if let Some(place) = key.find('\r') {
            return self.fail(start + place, LONE_RETURN);
        }
        if !is_whole {
            return self.fail(start + key.len(), "a space and the fields are missing after the measurement and tags");
        }
        let parsed = self.parse_key(key, start)?;
        let (place, series) = (self.known.len(), self.intern_series(parsed));
        self.known.push(Known { key: Needle::new(&self.text[start..=end]), series, next: place, shape: None });
        self.key_indexes.insert(key, place);
        Ok(place)
    }

    /// Finds or adds a series, and returns its index among the series of the points.
    fn intern_series(&mut self, key: SeriesKey<'a>) -> u32 {
        let next = place_of(self.points.series.len());
        // Keys that are written in canonical form differ if their series do.
        let is_written_so = matches!(key.text, Cow::Borrowed(_));
        if !(is_written_so && self.canonical.is_empty()) {
            if self.canonical.is_empty() {
                let known = self.points.series.iter().zip(0..);
                self.canonical.extend(known.map(|(key, series)| (key.text.clone(), series)));
            }
            let series = *self.canonical.entry(key.text.clone()).or_insert(next);
            if series != next {
                return series;
            }
        }
        self.points.series.push(key);
        next
    }

    fn parse_key(&self, key: &'a str, start: usize) -> Result<SeriesKey<'a>> {
        let mut rest = key;
        let measurement = split_unescaped(&mut rest, b',');
        if measurement.is_empty() {
            return self.fail(start, "the measurement is missing");
        }
        let mut tags: Vec<(Cow<'a, str>, Cow<'a, str>)> = Vec::new();
        let mut is_canonical = !key.contains('\\') && !measurement.contains('=');
        let mut at = start + measurement.len();
        while at < start + key.len() {
            let tag = split_unescaped(&mut rest, b',');
            let mut value = tag;
            let name = split_unescaped(&mut value, b'=');
            if name.is_empty() || value.is_empty() || name.len() == tag.len() {
                return self.fail(at + 1, "a tag must be name=value, neither of them empty");
            }
            let mut other = value;
            if split_unescaped(&mut other, b'=').len() < value.len() {
                return self.fail(at + 1, "a tag has one equals sign; write \\= for one in a name or value");
            }
            is_canonical &= tags.last().is_none_or(|(last, _)| **last < *name);
            tags.push((unescape(name), unescape(value)));
            at += 1 + tag.len();
        }
        if is_canonical {
            return Ok(SeriesKey { text: Cow::Borrowed(key), measurement_end: measurement.len() });
        }
        let series = SeriesKey::of(&unescape_as(measurement, &[',', ' ']), &mut tags);
        series.or_else(|twice| self.fail(start + second_place(key, &twice.0), twice.to_string()))
    }
}

/// The place in a key of the second tag of this name.
#[cold]
fn second_place(key: &str, wanted: &str) -> usize {
    let mut rest = key;
    let mut at = split_unescaped(&mut rest, b',').len();
    let mut found = 0;
    while at < key.len() {
        let tag = split_unescaped(&mut rest, b',');
        let mut value = tag;
        found += usize::from(unescape(split_unescaped(&mut value, b'=')) == wanted);
        if found == 2 {
            break;
        }
        at += 1 + tag.len();
    }
    at + 1
}
