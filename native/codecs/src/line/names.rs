//! Names and their escapes, in line protocol.

use std::borrow::Cow;

/// The place of the first of these two bytes without a backslash before it.
pub(super) fn find_unescaped(bytes: &[u8], first: u8, second: u8) -> Option<usize> {
    let mut places = memchr::memchr2_iter(first, second, bytes);
    places.find(|place| place.checked_sub(1).is_none_or(|before| bytes[before] != b'\\'))
}

/// Splits off the text before the separator, and drops the separator.
pub(super) fn split_unescaped<'a>(rest: &mut &'a str, separator: u8) -> &'a str {
    let text = *rest;
    let end = find_unescaped(text.as_bytes(), separator, separator).unwrap_or(text.len());
    *rest = text.get(end + 1..).unwrap_or_default();
    &text[..end]
}

/// Removes the backslashes before commas, spaces and equals signs.
pub(super) fn unescape(text: &str) -> Cow<'_, str> {
    unescape_as(text, &[',', ' ', '='])
}

/// Removes the backslashes before these characters: in a measurement the equals sign is not escaped, and in a text only a quote and a
/// backslash are.
pub(super) fn unescape_as<'a>(text: &'a str, special: &[char]) -> Cow<'a, str> {
    if !text.contains('\\') {
        return Cow::Borrowed(text);
    }
    let mut plain = String::with_capacity(text.len());
    let mut characters = text.chars().peekable();
    while let Some(character) = characters.next() {
        let escaped = characters.next_if(|next| character == '\\' && special.contains(next));
        plain.push(escaped.unwrap_or(character));
    }
    Cow::Owned(plain)
}
