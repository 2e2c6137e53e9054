//! SQL text: names and values in it, and the statements of a script. `hyperd` takes one statement at a time.

use std::ops::Range;

use boundary_bench_core::table::{Column, SqlType};

/// `name` as SQL writes an identifier.
pub(crate) fn identifier(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// `text` as SQL writes a value.
pub(crate) fn literal(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

/// A type under hyperd's name.
pub(crate) fn type_name(sql_type: SqlType) -> String {
    match sql_type {
        SqlType::Double => "DOUBLE PRECISION".to_owned(),
        SqlType::Decimal { precision, scale } => format!("NUMERIC({precision}, {scale})"),
        SqlType::Text => "TEXT".to_owned(),
        SqlType::Bytes => "BYTEA".to_owned(),
        other => other.to_sql(),
    }
}

/// A column as `CREATE TABLE` writes it.
pub(crate) fn column(column: &Column) -> String {
    let constraint = if column.nullable { "" } else { " NOT NULL" };
    format!("{} {}{constraint}", identifier(&column.name), type_name(column.sql_type))
}

/// One statement of a script.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Statement<'a> {
    /// Its text, without the semicolon.
    pub(crate) text: &'a str,
    /// Its first word, in capitals.
    pub(crate) keyword: String,
    /// Its second word, in capitals; "" if it has none.
    pub(crate) second: String,
}

impl Statement<'_> {
    /// Whether it is a query whose result can be had as Arrow.
    pub(crate) fn is_query(&self) -> bool {
        matches!(self.keyword.as_str(), "SELECT" | "WITH" | "VALUES" | "TABLE")
    }

    /// Whether it only shows something, as text.
    pub(crate) fn is_display(&self) -> bool {
        matches!(self.keyword.as_str(), "EXPLAIN" | "SHOW")
    }

    /// Whether it begins or ends a transaction.
    pub(crate) fn is_transaction(&self) -> bool {
        matches!(
            self.keyword.as_str(),
            "BEGIN" | "START" | "COMMIT" | "END" | "ROLLBACK" | "ABORT" | "SAVEPOINT" | "RELEASE"
        )
    }

    /// Whether a transaction can undo it; what changes tables themselves can't be undone.
    pub(crate) fn is_undoable(&self) -> bool {
        self.is_query() || matches!(self.keyword.as_str(), "INSERT" | "UPDATE" | "DELETE" | "COPY")
    }

    /// Whether the session is as before it: without another setting or a temporary table.
    pub(crate) fn keeps_session(&self) -> bool {
        let temporary = matches!(self.second.as_str(), "TEMP" | "TEMPORARY" | "LOCAL" | "GLOBAL");
        self.is_undoable()
            || self.is_display()
            || (matches!(self.keyword.as_str(), "CREATE" | "DROP" | "ALTER" | "TRUNCATE") && !temporary)
    }
}

/// A parameter in a statement's text.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Placeholder<'a> {
    /// Where it is, with its dollar.
    pub(crate) place: Range<usize>,
    /// What follows the dollar.
    pub(crate) name: &'a str,
}

/// The parameters in the text of a statement: `$1`, `$2`, ...
pub(crate) fn placeholders(statement: &str) -> Vec<Placeholder<'_>> {
    let mut found = Vec::new();
    let (mut position, mut dollar) = (0, None);
    while position < statement.len() {
        let rest = &statement[position..];
        let token = token(rest);
        let text = &rest[..token.length];
        let end = position + token.length;
        if token.kind == Kind::Word
            && let Some(start) = dollar
        {
            found.push(Placeholder { place: start..end, name: text });
        }
        dollar = (text == "$").then_some(position);
        position = end;
    }
    found
}

/// The statements of a script; those of nothing but comments are left out.
pub(crate) fn statements(script: &str) -> Vec<Statement<'_>> {
    let mut statements = Vec::new();
    let (mut start, mut position) = (0, 0);
    let mut words = Vec::new();
    while position < script.len() {
        let rest = &script[position..];
        let token = token(rest);
        let text = &rest[..token.length];
        match token.kind {
            Kind::Separator => {
                statements.extend(statement(&script[start..position], std::mem::take(&mut words)));
                start = position + token.length;
            }
            Kind::Word => words.push(text.to_uppercase()),
            // Parentheses around a query say nothing about it.
            Kind::Other if text == "(" => {}
            Kind::Other => words.push(String::new()),
            Kind::Space => {}
        }
        position += token.length;
    }
    statements.extend(statement(&script[start..], words));
    statements
}

fn statement(text: &str, words: Vec<String>) -> Option<Statement<'_>> {
    let mut words = words.into_iter();
    let keyword = words.next()?;
    Some(Statement { text: text.trim(), keyword, second: words.next().unwrap_or_default() })
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// White space or a comment.
    Space,
    Word,
    Separator,
    Other,
}

struct Token {
    kind: Kind,
    length: usize,
}

/// The token that `text`, which is not empty, begins with.
fn token(text: &str) -> Token {
    let of = |kind, length| Token { kind, length };
    let mut chars = text.chars();
    let first = chars.next().unwrap_or_default();
    match first {
        ';' => of(Kind::Separator, 1),
        '\'' => of(Kind::Other, quoted(text, '\'', false)),
        '"' => of(Kind::Other, quoted(text, '"', false)),
        'e' | 'E' if text[1..].starts_with('\'') => of(Kind::Other, 1 + quoted(&text[1..], '\'', true)),
        '-' if text.starts_with("--") => of(Kind::Space, text.find('\n').map_or(text.len(), |end| end + 1)),
        '/' if text.starts_with("/*") => of(Kind::Space, comment(text)),
        '$' => of(Kind::Other, dollar_quoted(text)),
        _ if first.is_whitespace() => of(Kind::Space, first.len_utf8()),
        _ if is_word(first) => of(Kind::Word, text.find(|c| !is_word(c) && c != '$').unwrap_or(text.len())),
        _ => of(Kind::Other, first.len_utf8()),
    }
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// The length of a quoted text, to the end if it is not closed. A doubled quote stands for one.
fn quoted(text: &str, quote: char, backslashes: bool) -> usize {
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

/// The length of a comment, in which others may nest.
fn comment(text: &str) -> usize {
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

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(script: &str) -> Vec<&str> {
        statements(script).into_iter().map(|statement| statement.text).collect()
    }

    #[test]
    fn a_script_is_split_at_the_semicolons_that_separate() {
        assert_eq!(texts("a; b ;;  ; c"), ["a", "b", "c"]);
        for script in [
            "SELECT ';'",
            "SELECT 'it''s;'",
            "SELECT E'\\';'",
            "SELECT E'a''\\';'",
            "SELECT \"a;\"\"b;\"",
            "SELECT 1 -- ;",
            "SELECT /* ; /* ; */ ; */ 1",
            "SELECT $$;$$, $a$ ; $$ ; $a$",
            "SELECT 'not closed;",
            "SELECT '漢;字' || ä;",
        ] {
            let expected = script.strip_suffix("ä;").map_or(script, |_| &script[..script.len() - 1]);
            assert_eq!(texts(script), [expected], "{script}");
        }
        assert_eq!(texts("SELECT $1; SELECT $2"), ["SELECT $1", "SELECT $2"]);
        assert_eq!(texts("SELECT 'a\\'; SELECT 2"), ["SELECT 'a\\'", "SELECT 2"]);
        assert!(texts(" -- nothing\n/* at all */ ;").is_empty());
        assert!(texts("").is_empty());
        // No deeper for being longer.
        let long = format!("SELECT '{}'", "''".repeat(1_000_000));
        assert_eq!(texts(&format!("{long}; b")), [long.as_str(), "b"]);
    }

    #[test]
    fn parameters_are_found_outside_of_what_is_quoted() {
        let found =
            |sql| placeholders(sql).into_iter().map(|found| (found.place.start, found.name)).collect::<Vec<_>>();
        assert_eq!(found("SELECT $1+$12, '$3', \"$4\", $$ $5 $$ -- $6"), [(7, "1"), (10, "12")]);
        assert_eq!(found("SELECT a$1, $x, $ 2, $a$ $7 $a$"), [(12, "x")]);
    }

    #[test]
    fn statements_are_told_by_their_first_words() {
        let first = |script| statements(script).remove(0);
        assert!(first("/* x */ ( (select 1))").is_query());
        assert!(first("explain select 1").is_display());
        assert!(first("start transaction").is_transaction());
        assert!(!first("\"begin\"").is_transaction());
        assert!(first("insert into t values (1)").is_undoable());
        assert!(!first("create table t (x int)").is_undoable());
        assert!(first("create table t (x int)").keeps_session());
        assert!(!first("create temp table t (x int)").keeps_session());
        assert!(!first("SET x = 1").keeps_session());
    }
}
