//! The text of SQL, as far as an engine must read it itself: the statements of a script, and the parameters of a statement.
//! What a token is differs from server to server; each engine brings a function for it.

use std::ops::Range;

/// What a token is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TokenKind {
    /// White space or a comment.
    Space,
    /// A keyword, a name that is not quoted, or a number.
    Word,
    /// A semicolon.
    Separator,
    /// What is quoted, and signs.
    Other,
}

/// The first token of a text.
#[derive(Debug, Clone, Copy)]
pub struct Token {
    /// What it is.
    pub kind: TokenKind,
    /// Its bytes, at least one.
    pub length: usize,
}

impl Token {
    /// A token of so many bytes.
    #[must_use]
    pub fn new(kind: TokenKind, length: usize) -> Self {
        Self { kind, length }
    }
}

/// The token that a text, which is not empty, begins with.
pub type FirstToken = fn(&str) -> Token;

/// `name` as standard SQL writes an identifier.
#[must_use]
pub fn identifier(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// Whether a word may begin with the character.
#[must_use]
pub fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// The length of the word that `text` begins with.
#[must_use]
pub fn word(text: &str) -> usize {
    text.find(|c| !is_word(c) && c != '$').unwrap_or(text.len())
}

/// The length of the line that `text` begins with, with its end.
#[must_use]
pub fn line(text: &str) -> usize {
    text.find('\n').map_or(text.len(), |end| end + 1)
}

/// The length of the quoted text that `text` begins with, to the end if it is not closed. A doubled quote stands for one.
#[must_use]
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

/// One statement of a script.
#[derive(Debug, PartialEq, Eq)]
pub struct Statement<'a> {
    /// Its text, without the semicolon.
    pub text: &'a str,
    /// Its first word, in capitals.
    pub keyword: String,
    /// Its second word, in capitals; "" if it has none.
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
    /// Where it is, with its dollar.
    pub place: Range<usize>,
    /// What follows the dollar.
    pub name: &'a str,
}

/// The tokens of a text, each with its place.
fn tokens(text: &str, first_token: FirstToken) -> impl Iterator<Item = (TokenKind, Range<usize>)> {
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
#[must_use]
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

/// The statements of a script; those of nothing but comments are left out.
#[must_use]
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
            TokenKind::Word => words.push(script[place].to_uppercase()),
            // Parentheses around a query say nothing about it.
            TokenKind::Other if &script[place.clone()] == "(" => {}
            TokenKind::Other => words.push(String::new()),
            TokenKind::Space => {}
        }
    }
    statements.extend(Statement::of(&script[start..], words));
    statements
}
