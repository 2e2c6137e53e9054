//! SQL text: names and values in it, and the statements of a script. `hyperd` takes one statement at a time.

pub(crate) use boundary_bench_engine::sql_text::identifier;
use boundary_bench_engine::sql_text::{self, Placeholder, Statement, Token, TokenKind, is_word, line, quoted, word};
use boundary_bench_engine::table::{Column, SqlType};

/// `text` as a quoted SQL literal.
pub(crate) fn literal(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

/// The name of a type in hyperd.
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

/// Properties of a statement on this server.
pub(crate) trait Meaning {
    /// Whether the statement is a query whose result can be sent as Arrow.
    fn is_query(&self) -> bool;

    /// Whether the statement only displays something, as text.
    fn is_display(&self) -> bool;

    /// Whether the statement begins or ends a transaction.
    fn is_transaction(&self) -> bool;

    /// Whether a transaction can undo the statement; changes of the tables themselves can't be undone.
    fn is_undoable(&self) -> bool;

    /// Whether the statement leaves no changed setting and no temporary table in the session.
    fn keeps_session(&self) -> bool;
}

impl Meaning for Statement<'_> {
    fn is_query(&self) -> bool {
        matches!(self.keyword.as_str(), "SELECT" | "WITH" | "VALUES" | "TABLE")
    }

    fn is_display(&self) -> bool {
        matches!(self.keyword.as_str(), "EXPLAIN" | "SHOW")
    }

    fn is_transaction(&self) -> bool {
        matches!(
            self.keyword.as_str(),
            "BEGIN" | "START" | "COMMIT" | "END" | "ROLLBACK" | "ABORT" | "SAVEPOINT" | "RELEASE"
        )
    }

    fn is_undoable(&self) -> bool {
        self.is_query() || matches!(self.keyword.as_str(), "INSERT" | "UPDATE" | "DELETE" | "COPY")
    }

    fn keeps_session(&self) -> bool {
        let temporary = matches!(self.second.as_str(), "TEMP" | "TEMPORARY" | "LOCAL" | "GLOBAL");
        self.is_undoable()
            || self.is_display()
            || (matches!(self.keyword.as_str(), "CREATE" | "DROP" | "ALTER" | "TRUNCATE") && !temporary)
    }
}

/// The parameters in the text of a statement: `$1`, `$2`, ...
pub(crate) fn placeholders(statement: &str) -> Vec<Placeholder<'_>> {
    sql_text::placeholders(statement, token)
}

/// The statements of a script; statements of nothing but comments are left out.
pub(crate) fn statements(script: &str) -> Vec<Statement<'_>> {
    sql_text::statements(script, token)
}

/// The token that `text`, which is not empty, begins with.
fn token(text: &str) -> Token {
    let mut chars = text.chars();
    let first = chars.next().unwrap_or_default();
    match first {
        ';' => Token::new(TokenKind::Separator, 1),
        '\'' => Token::new(TokenKind::Other, quoted(text, '\'', false)),
        '"' => Token::new(TokenKind::Other, quoted(text, '"', false)),
        'e' | 'E' if text[1..].starts_with('\'') => Token::new(TokenKind::Other, 1 + quoted(&text[1..], '\'', true)),
        '-' if text.starts_with("--") => Token::new(TokenKind::Space, line(text)),
        '/' if text.starts_with("/*") => Token::new(TokenKind::Space, comment(text)),
        '$' => Token::new(TokenKind::Other, dollar_quoted(text)),
        _ if first.is_whitespace() => Token::new(TokenKind::Space, first.len_utf8()),
        _ if is_word(first) => Token::new(TokenKind::Word, word(text)),
        _ => Token::new(TokenKind::Other, first.len_utf8()),
    }
}

/// The length of a comment, in which other comments may nest.
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
        // A long statement needs no deeper recursion.
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
