//! The parts of SQL that an engine must parse itself: the statements of a script, and the parameters of a statement. Tokens
//! differ from server to server. Each engine brings a function that finds them.

use std::ops::Range;

use boundary_bench_kernel::{Error, Result};

/// The kind of a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TokenKind {
    /// White space or a comment.
    Space,
    /// A keyword, an unquoted name, or a number.
    Word,
    /// A semicolon.
    Separator,
    /// A quoted text, or a sign.
    Other,
}

/// The first token of a text.
#[derive(Debug, Clone, Copy)]
pub struct Token {
    /// The kind of the token.
    pub kind: TokenKind,
    /// The length of the token in bytes, at least one.
    pub length: usize,
}

impl Token {
    /// A token of `length` bytes.
    pub fn new(kind: TokenKind, length: usize) -> Self {
        Self { kind, length }
    }
}

/// A function that finds the first token of a textthat is not empty.
pub type FirstToken = fn(&str) -> Token;

/// Quotes a name as a standard SQL identifier.
pub fn identifier(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// A name in a statement for any server: unquoted if every server reads it so, else quoted as [`identifier`] does. Servers differ in
/// how they quote names.
pub fn name(name: &str) -> String {
    let is_plain = name.starts_with(|c: char| c.is_ascii_lowercase())
        && name.bytes().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == b'_');
    if is_plain { name.to_owned() } else { identifier(name) }
}

/// Quotes a text as a standard SQL string.
pub fn literal(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

/// Whether a word may begin with the character.
pub fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// The length in bytes of the word that `text` begins with.
pub fn word(text: &str) -> usize {
    text.find(|c| !is_word(c) && c != '$').unwrap_or(text.len())
}

/// The length in bytes of the line that `text` begins with, with its end.
pub fn line(text: &str) -> usize {
    text.find('\n').map_or(text.len(), |end| end + 1)
}

/// The length in bytes of the quoted text that `text` begins with, to the end if it is not closed. A doubled quote stands
/// for one.
pub fn quoted(text: &str, quote: char, backslashes: bool) -> usize {
    let mut chars = text.char_indices().skip(1).peekable();
    while let Some((position, c)) = chars.next() {
        if backslashes && c == '\\' {
            chars.next();
        } else if c == quote && chars.next_if(|(_, next)| *next == quote).is_none() {
            return position + 1;
        }
    }
    text.len()
}

/// The first token of a text in the SQL of Postgres and its relatives, such as DuckDB and hyperd.
pub fn postgres_token(text: &str) -> Token {
    let first = text.chars().next().unwrap_or_default();
    match first {
        ';' => Token::new(TokenKind::Separator, 1),
        '\'' => Token::new(TokenKind::Other, quoted(text, '\'', false)),
        '"' => Token::new(TokenKind::Other, quoted(text, '"', false)),
        'e' | 'E' if text[1..].starts_with('\'') => Token::new(TokenKind::Other, 1 + quoted(&text[1..], '\'', true)),
        '-' if text.starts_with("--") => Token::new(TokenKind::Space, line(text)),
        '/' if text.starts_with("/*") => Token::new(TokenKind::Space, nested_comment(text)),
        '$' => Token::new(TokenKind::Other, dollar_quoted(text)),
        _ if first.is_whitespace() => Token::new(TokenKind::Space, first.len_utf8()),
        _ if is_word(first) => Token::new(TokenKind::Word, word(text)),
        _ => Token::new(TokenKind::Other, first.len_utf8().max(1)),
    }
}

/// The length of a comment, in which other comments may nest.
fn nested_comment(text: &str) -> usize {
    let (mut depth, mut position) = (0, 0);
    while position < text.len() {
        let rest = &text[position..];
        if rest.starts_with("/*") {
            depth += 1;
            position += 2;
        } else if rest.starts_with("*/") {
            depth -= 1;
            position += 2;
            if depth == 0 {
                return position;
            }
        } else {
            position += rest.chars().next().map_or(1, char::len_utf8);
        }
    }
    text.len()
}

/// The length of `$tag$ ... $tag$`, or of a lone dollar, as in `$1`.
fn dollar_quoted(text: &str) -> usize {
    let Some(tag_end) = text[1..].find(|c| !is_word(c)).map(|end| end + 1) else { return 1 };
    if !text[tag_end..].starts_with('$') || text[1..].starts_with(|c: char| c.is_ascii_digit()) {
        return 1;
    }
    let tag = &text[..=tag_end];
    text[tag.len()..].find(tag).map_or(text.len(), |end| end + 2 * tag.len())
}

/// The name in the double quotes that `text` begins with, and the rest of the text. `None` if it is not closed.
pub fn quoted_name(text: &str) -> Option<(String, &str)> {
    let mut name = String::new();
    let mut rest = text.strip_prefix('"')?;
    loop {
        let (part, after) = rest.split_once('"')?;
        name.push_str(part);
        // Two quotes stand for one in the name.
        let Some(more) = after.strip_prefix('"') else { return Some((name, after)) };
        name.push('"');
        rest = more;
    }
}

/// The parts of a name between its dots, without their quotes, or `None` for a text that SQL could not read.
pub fn name_parts(name: &str) -> Option<Vec<String>> {
    let mut parts = Vec::new();
    let mut rest = name;
    loop {
        let (part, after) = match quoted_name(rest) {
            Some((part, after)) => (part, after),
            None if rest.starts_with('"') => return None,
            None => {
                let (part, after) = rest.split_at(rest.find('.').unwrap_or(rest.len()));
                (part.to_owned(), after)
            }
        };
        if part.is_empty() {
            return None;
        }
        parts.push(part);
        match after.strip_prefix('.') {
            Some(more) => rest = more,
            None if after.is_empty() => return Some(parts),
            None => return None,
        }
    }
}

/// One statement of a script.
#[derive(Debug, PartialEq, Eq)]
pub struct Statement<'a> {
    /// The text of the statement, without the semicolon.
    pub text: &'a str,
    /// The first word of the statement, in capitals.
    pub keyword: String,
    /// The second word of the statement, in capitals, or "" if it has none.
    pub second: String,
}

impl<'a> Statement<'a> {
    fn of(text: &'a str, words: Vec<String>) -> Option<Self> {
        let mut words = words.into_iter();
        let keyword = words.next()?;
        Some(Self { text: text.trim(), keyword, second: words.next().unwrap_or_default() })
    }
}

/// A parameter in a statement's text: `$1`, `$2`, ...
#[derive(Debug, PartialEq, Eq)]
pub struct Placeholder<'a> {
    /// The range of the parameter in the text, with its dollar.
    pub place: Range<usize>,
    /// The text behind the dollar.
    pub name: &'a str,
}

/// The tokens of a text, each with its range.
pub fn tokens(text: &str, first_token: FirstToken) -> impl Iterator<Item = (TokenKind, Range<usize>)> {
    let mut position = 0;
    std::iter::from_fn(move || {
        let rest = text.get(position..).filter(|rest| !rest.is_empty())?;
        let token = first_token(rest);
        let start = position;
        position += token.length;
        Some((token.kind, start..position))
    })
}

/// The parameters in the text of a statement.
pub fn placeholders(statement: &str, first_token: FirstToken) -> Vec<Placeholder<'_>> {
    let mut found = Vec::new();
    let mut dollar = None;
    for (kind, place) in tokens(statement, first_token) {
        if let (TokenKind::Word, Some(start)) = (kind, dollar) {
            found.push(Placeholder { place: start..place.end, name: &statement[place.clone()] });
        }
        dollar = (&statement[place.clone()] == "$").then_some(place.start);
    }
    found
}

/// The statements of a script, without those that consist of comments only.
pub fn statements(script: &str, first_token: FirstToken) -> Vec<Statement<'_>> {
    let mut statements = Vec::new();
    let mut start = 0;
    let mut words = Vec::new();
    for (kind, place) in tokens(script, first_token) {
        match kind {
            TokenKind::Separator => {
                statements.extend(Statement::of(&script[start..place.start], std::mem::take(&mut words)));
                start = place.end;
            }
            // Nobody asks for further words, of which a statement may have very many.
            TokenKind::Word | TokenKind::Other if words.len() >= 2 => {}
            TokenKind::Word => words.push(script[place].to_uppercase()),
            // Parentheses around a query are skipped.
            TokenKind::Other if &script[place.clone()] == "(" => {}
            TokenKind::Other => words.push(String::new()),
            TokenKind::Space => {}
        }
    }
    statements.extend(Statement::of(&script[start..], words));
    statements
}

/// Checks that a text has a statement, and not only comments. Servers answer to such a text in different ways.
///
/// # Errors
/// [`Error::InvalidArgument`].
pub fn check_not_empty(sql: &str, first_token: FirstToken) -> Result<()> {
    if tokens(sql, first_token).any(|(kind, _)| matches!(kind, TokenKind::Word | TokenKind::Other)) {
        return Ok(());
    }
    Err(Error::InvalidArgument("a query is exactly one statement, here are 0".to_owned()))
}

/// The statement that an `EXPLAIN ANALYZE` runs, or `None` for every other statement.
pub fn analyzed<'sql>(statement: &Statement<'sql>, first_token: FirstToken) -> Option<&'sql str> {
    if statement.keyword != "EXPLAIN" {
        return None;
    }
    let mut analyzes = false;
    let mut in_options = false;
    // The first word is EXPLAIN itself.
    let parts = tokens(statement.text, first_token).filter(|(kind, _)| *kind != TokenKind::Space).skip(1);
    for (_, place) in parts {
        let part = &statement.text[place.clone()];
        match part {
            "(" if !in_options => in_options = true,
            ")" if in_options => return analyzes.then(|| &statement.text[place.end..]),
            _ if part.eq_ignore_ascii_case("ANALYZE") => {
                analyzes = true;
                if !in_options {
                    return Some(&statement.text[place.end..]);
                }
            }
            _ if !in_options => return None,
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parts_of_a_name_lie_between_its_dots() {
        let found = |name| name_parts(name).map(|parts| parts.join("|"));
        assert_eq!(found("t").as_deref(), Some("t"));
        assert_eq!(found("a.b.c").as_deref(), Some("a|b|c"));
        assert_eq!(found("\"a.b\".\"c\"\"d\"").as_deref(), Some("a.b|c\"d"));
        for name in ["", ".", "a.", ".a", "a..b", "\"a", "\"a\"b", "\"a.b"] {
            assert_eq!(found(name), None, "{name}");
        }
    }

    #[test]
    fn the_statement_that_is_analyzed_is_found() {
        for (sql, expected) in [
            ("EXPLAIN ANALYZE INSERT INTO t VALUES (1)", Some("INSERT INTO t VALUES (1)")),
            ("explain (analyze, format json) SELECT 1", Some("SELECT 1")),
            ("EXPLAIN (FORMAT json) SELECT 1", None),
            ("EXPLAIN SELECT 1 AS analyze", None),
            ("EXPLAIN /* x */ ANALYZE/**/SELECT 1", Some("/**/SELECT 1")),
            ("SELECT 1", None),
        ] {
            let first = statements(sql, postgres_token).remove(0);
            assert_eq!(analyzed(&first, postgres_token).map(str::trim), expected, "{sql}");
        }
    }
}
