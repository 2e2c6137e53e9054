//! The SQL of the server in the mode `ANSI_QUOTES`, as the engine takes it.

use boundary_bench_engine::dialect::{Dialect, Parameters};
use boundary_bench_engine::sql_text::{self, Statement, Token, TokenKind, is_word, line, quoted, word};
use boundary_bench_engine::table::SqlType;
use boundary_bench_kernel::Result;

/// Quotes a name as an SQL identifier, for any mode of the server.
pub(crate) fn identifier(name: &str) -> String {
    format!("`{}`", name.replace('`', "``"))
}

/// Quotes a text as an SQL string, for the mode of an engine's sessions.
pub(crate) fn literal(text: &str) -> String {
    sql_text::literal(&text.replace('\\', "\\\\"))
}

/// Whether a statement may be run again after the server has refused it: a procedure may have done a part of its work.
pub(crate) fn may_run_again(sql: &str) -> bool {
    Mysql::statements(sql).first().is_some_and(Mysql::is_undoable)
}

/// The SQL of the server.
pub(crate) struct Mysql;

impl Dialect for Mysql {
    const SERVER: &'static str = "the server";

    fn identifier(name: &str) -> String {
        identifier(name)
    }

    fn type_name(sql_type: SqlType) -> String {
        match sql_type {
            SqlType::Real => "FLOAT".to_owned(),
            SqlType::Text => "LONGTEXT".to_owned(),
            SqlType::Bytes => "LONGBLOB".to_owned(),
            // TIMESTAMP ends in 2038 on many servers.
            SqlType::Timestamp => "DATETIME(6)".to_owned(),
            other => other.to_sql(),
        }
    }

    /// For a `WITH`, the server decides whether it is a query.
    fn is_query(statement: &Statement<'_>) -> bool {
        matches!(
            statement.keyword.as_str(),
            "SELECT" | "WITH" | "VALUES" | "TABLE" | "SHOW" | "EXPLAIN" | "DESCRIBE" | "DESC"
        )
    }

    fn is_transaction(statement: &Statement<'_>) -> bool {
        matches!(statement.keyword.as_str(), "BEGIN" | "COMMIT" | "ROLLBACK" | "SAVEPOINT" | "RELEASE" | "XA")
            || matches!(
                (statement.keyword.as_str(), statement.second.as_str()),
                ("START", "TRANSACTION") | ("SET", "AUTOCOMMIT")
            )
    }

    fn is_undoable(statement: &Statement<'_>) -> bool {
        Self::is_query(statement)
            || matches!(statement.keyword.as_str(), "INSERT" | "UPDATE" | "DELETE" | "REPLACE" | "DO")
    }

    /// A `SET` of a global variable lasts, and so does the change of a password.
    fn is_session_only(statement: &Statement<'_>) -> bool {
        let sets = || {
            let target = statement.text[statement.keyword.len()..].trim_start();
            let lasts = ["@@global", "@@persist"]
                .iter()
                .any(|prefix| target.get(..prefix.len()).is_some_and(|start| start.eq_ignore_ascii_case(prefix)));
            !lasts
                && !matches!(statement.second.as_str(), "GLOBAL" | "PERSIST" | "PERSIST_ONLY" | "PASSWORD" | "DEFAULT")
        };
        match statement.keyword.as_str() {
            "SET" => sets(),
            "USE" | "PREPARE" | "DEALLOCATE" => true,
            "CREATE" => statement.second == "TEMPORARY",
            _ => false,
        }
    }

    fn keeps_session(statement: &Statement<'_>) -> bool {
        Self::is_undoable(statement)
            || (matches!(statement.keyword.as_str(), "CREATE" | "DROP" | "ALTER" | "TRUNCATE" | "RENAME" | "ANALYZE")
                && statement.second != "TEMPORARY")
    }

    fn first_token(text: &str) -> Token {
        let first = text.chars().next().unwrap_or_default();
        match first {
            ';' => Token::new(TokenKind::Separator, 1),
            '\'' => Token::new(TokenKind::Other, quoted(text, '\'', true)),
            '"' => Token::new(TokenKind::Other, quoted(text, '"', false)),
            '`' => Token::new(TokenKind::Other, quoted(text, '`', false)),
            '#' => Token::new(TokenKind::Space, line(text)),
            // Two minuses begin a comment only before a space or control character.
            '-' if text.starts_with("--")
                && text[2..].chars().next().is_none_or(|c| c.is_whitespace() || c.is_control()) =>
            {
                Token::new(TokenKind::Space, line(text))
            }
            // The server runs the contents of these comments, so they are read as SQL.
            '/' if text.starts_with("/*!") || text.starts_with("/*M!") => Token::new(TokenKind::Other, 2),
            '/' if text.starts_with("/*") => {
                Token::new(TokenKind::Space, text[2..].find("*/").map_or(text.len(), |end| end + 4))
            }
            _ if first.is_whitespace() => Token::new(TokenKind::Space, first.len_utf8()),
            _ if is_word(first) => Token::new(TokenKind::Word, word(text)),
            _ => Token::new(TokenKind::Other, first.len_utf8()),
        }
    }
}

/// Whether the statement changes rows and returns them. `MariaDB` has such statements.
pub(crate) fn returns_changed_rows(statement: &Statement<'_>) -> bool {
    let has_returning = || {
        sql_text::tokens(statement.text, Mysql::first_token)
            .any(|(kind, place)| kind == TokenKind::Word && statement.text[place].eq_ignore_ascii_case("RETURNING"))
    };
    matches!(statement.keyword.as_str(), "INSERT" | "REPLACE" | "DELETE") && has_returning()
}

/// A statement with its parameters rewritten to `?`. `order` has the number of each in the original, `$1` being 0.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Numbered {
    pub(crate) text: String,
    pub(crate) order: Vec<usize>,
    pub(crate) count: usize,
}

impl Numbered {
    /// Rewrites the parameters of a statement, whose numbers must be `$1`, `$2`, ... without gaps.
    pub(crate) fn parse(statement: &str) -> Result<Self> {
        let Parameters { places, count } = Mysql::parameters(statement)?;
        let (mut text, mut order, mut copied) = (String::with_capacity(statement.len()), Vec::new(), 0);
        for (placeholder, index) in places {
            text.push_str(&statement[copied..placeholder.place.start]);
            text.push('?');
            copied = placeholder.place.end;
            order.push(index);
        }
        text.push_str(&statement[copied..]);
        Ok(Self { text, order, count })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn texts(script: &str) -> Vec<&str> {
        Mysql::statements(script).into_iter().map(|statement| statement.text).collect()
    }

    #[test]
    fn a_script_is_split_at_the_semicolons_that_separate() {
        assert_eq!(texts("a; b ;;  ; c"), ["a", "b", "c"]);
        for script in [
            "SELECT ';'",
            "SELECT 'it''s;'",
            "SELECT 'it\\';'",
            "SELECT \"a;\"\"b;\"",
            "SELECT `a;``b;`",
            "SELECT 1 -- ;",
            "SELECT 1 # ;",
            "SELECT /* ; */ 1",
            "SELECT 'not closed;",
        ] {
            assert_eq!(texts(script), [script]);
        }
        assert_eq!(texts("SELECT 1--1; SELECT 2"), ["SELECT 1--1", "SELECT 2"]);
        assert_eq!(texts("SELECT \"a\\\"; SELECT 2"), ["SELECT \"a\\\"", "SELECT 2"]);
        assert!(texts(" -- nothing\n/* at all */ # ;").is_empty());
    }

    #[test]
    fn parameters_are_found_outside_of_what_is_quoted() {
        let parsed = Numbered::parse("SELECT $2+$1, '$3', \"$4\", `$5`, a$1 -- $6\n, $2").unwrap();
        assert_eq!(parsed.text, "SELECT ?+?, '$3', \"$4\", `$5`, a$1 -- $6\n, ?");
        assert_eq!((parsed.order, parsed.count), (vec![1, 0, 1], 2));
        assert!(Numbered::parse("SELECT $1, $3").unwrap_err().to_string().starts_with("parameter 2"));
        assert!(Numbered::parse("SELECT $0").is_err());
        assert!(Numbered::parse("SELECT $x").unwrap_err().to_string().contains("$x has a name"));
    }

    #[test]
    fn statements_are_told_by_their_first_words() {
        let first = |script| Mysql::statements(script).remove(0);
        assert!(Mysql::is_query(&first("/* x */ ( (select 1))")));
        assert!(Mysql::is_transaction(&first("start transaction")));
        assert!(!Mysql::is_transaction(&first("start slave")));
        assert!(!Mysql::is_query(&first("/*! insert into t values (1) */")));
        assert!(Mysql::is_undoable(&first("insert into t values (1)")));
        assert!(!Mysql::is_undoable(&first("create table t (x int)")));
        assert!(Mysql::keeps_session(&first("create table t (x int)")));
        assert!(!Mysql::keeps_session(&first("create temporary table t (x int)")));
        assert!(!Mysql::keeps_session(&first("SET x = 1")));
    }

    proptest! {
        #[test]
        fn no_text_makes_it_panic(text in "[-;'\"`$#/*! a1\\\\\n漢]*") {
            let _ = (Mysql::statements(&text), Numbered::parse(&text));
        }
    }
}
