//! The SQL of hyperd, which takes one statement at a time.

use boundary_bench_engine::dialect::Dialect;
use boundary_bench_engine::sql_text::{self, Statement, Token, TokenKind, is_word, line, quoted, word};
use boundary_bench_engine::table::SqlType;

/// The SQL of hyperd.
pub(crate) struct Hyperd;

impl Dialect for Hyperd {
    const SERVER: &'static str = "hyperd";

    fn identifier(name: &str) -> String {
        sql_text::identifier(name)
    }

    fn type_name(sql_type: SqlType) -> String {
        match sql_type {
            SqlType::Double => "DOUBLE PRECISION".to_owned(),
            SqlType::Decimal { precision, scale } => format!("NUMERIC({precision}, {scale})"),
            SqlType::Text => "TEXT".to_owned(),
            SqlType::Bytes => "BYTEA".to_owned(),
            other => other.to_sql(),
        }
    }

    /// Whether the result of the statement can be sent as Arrow.
    fn is_query(statement: &Statement<'_>) -> bool {
        matches!(statement.keyword.as_str(), "SELECT" | "WITH" | "VALUES" | "TABLE")
    }

    fn is_transaction(statement: &Statement<'_>) -> bool {
        matches!(
            statement.keyword.as_str(),
            "BEGIN" | "START" | "COMMIT" | "END" | "ROLLBACK" | "ABORT" | "SAVEPOINT" | "RELEASE"
        )
    }

    fn is_undoable(statement: &Statement<'_>) -> bool {
        Self::is_query(statement) || matches!(statement.keyword.as_str(), "INSERT" | "UPDATE" | "DELETE" | "COPY")
    }

    fn keeps_session(statement: &Statement<'_>) -> bool {
        let temporary = matches!(statement.second.as_str(), "TEMP" | "TEMPORARY" | "LOCAL" | "GLOBAL");
        Self::is_undoable(statement)
            || is_display(statement)
            || (matches!(statement.keyword.as_str(), "CREATE" | "DROP" | "ALTER" | "TRUNCATE") && !temporary)
    }

    fn first_token(text: &str) -> Token {
        let mut chars = text.chars();
        let first = chars.next().unwrap_or_default();
        match first {
            ';' => Token::new(TokenKind::Separator, 1),
            '\'' => Token::new(TokenKind::Other, quoted(text, '\'', false)),
            '"' => Token::new(TokenKind::Other, quoted(text, '"', false)),
            'e' | 'E' if text[1..].starts_with('\'') => {
                Token::new(TokenKind::Other, 1 + quoted(&text[1..], '\'', true))
            }
            '-' if text.starts_with("--") => Token::new(TokenKind::Space, line(text)),
            '/' if text.starts_with("/*") => Token::new(TokenKind::Space, comment(text)),
            '$' => Token::new(TokenKind::Other, dollar_quoted(text)),
            _ if first.is_whitespace() => Token::new(TokenKind::Space, first.len_utf8()),
            _ if is_word(first) => Token::new(TokenKind::Word, word(text)),
            _ => Token::new(TokenKind::Other, first.len_utf8()),
        }
    }
}

/// Whether the statement only displays something, as text.
pub(crate) fn is_display(statement: &Statement<'_>) -> bool {
    matches!(statement.keyword.as_str(), "EXPLAIN" | "SHOW")
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
        Hyperd::statements(script).into_iter().map(|statement| statement.text).collect()
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
        let found = |sql| {
            let found = sql_text::placeholders(sql, Hyperd::first_token).into_iter();
            found.map(|found| (found.place.start, found.name)).collect::<Vec<_>>()
        };
        assert_eq!(found("SELECT $1+$12, '$3', \"$4\", $$ $5 $$ -- $6"), [(7, "1"), (10, "12")]);
        assert_eq!(found("SELECT a$1, $x, $ 2, $a$ $7 $a$"), [(12, "x")]);
    }

    #[test]
    fn statements_are_told_by_their_first_words() {
        let first = |script| Hyperd::statements(script).remove(0);
        assert!(Hyperd::is_query(&first("/* x */ ( (select 1))")));
        assert!(is_display(&first("explain select 1")));
        assert!(Hyperd::is_transaction(&first("start transaction")));
        assert!(!Hyperd::is_transaction(&first("\"begin\"")));
        assert!(Hyperd::is_undoable(&first("insert into t values (1)")));
        assert!(!Hyperd::is_undoable(&first("create table t (x int)")));
        assert!(Hyperd::keeps_session(&first("create table t (x int)")));
        assert!(!Hyperd::keeps_session(&first("create temp table t (x int)")));
        assert!(!Hyperd::keeps_session(&first("SET x = 1")));
    }
}
