//! The SQL of hyperd. It takes one statement at a time.

use std::ops::Range;

use boundary_bench_engine::dialect::Dialect;
use boundary_bench_engine::sql_text::{self, Statement, Token, TokenKind};
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

    fn is_session_only(statement: &Statement<'_>) -> bool {
        matches!(statement.keyword.as_str(), "SET" | "RESET" | "ATTACH" | "DETACH")
            || (statement.keyword == "CREATE" && matches!(statement.second.as_str(), "TEMP" | "TEMPORARY" | "LOCAL"))
    }

    fn keeps_session(statement: &Statement<'_>) -> bool {
        let temporary = matches!(statement.second.as_str(), "TEMP" | "TEMPORARY" | "LOCAL" | "GLOBAL");
        Self::is_undoable(statement)
            || is_display(statement)
            || (matches!(statement.keyword.as_str(), "CREATE" | "DROP" | "ALTER" | "TRUNCATE") && !temporary)
    }

    fn first_token(text: &str) -> Token {
        sql_text::postgres_token(text)
    }
}

/// Whether the statement only displays something, as text. An `EXPLAIN` that runs its statement must run one that only reads.
pub(crate) fn is_display(statement: &Statement<'_>) -> bool {
    let only_reads = |analyzed| Hyperd::statements(analyzed).first().is_none_or(Hyperd::is_query);
    matches!(statement.keyword.as_str(), "EXPLAIN" | "SHOW")
        && sql_text::analyzed(statement, sql_text::postgres_token).is_none_or(only_reads)
}

/// The name in a `CREATE TABLE ... AS`, as the statement writes it. If such a statement fails, hyperd leaves an empty table.
pub(crate) fn made_by_query<'sql>(statement: &Statement<'sql>) -> Option<&'sql str> {
    if statement.keyword != "CREATE" || statement.second != "TABLE" {
        return None;
    }
    let tokens = sql_text::tokens(statement.text, sql_text::postgres_token);
    let mut tokens = tokens.filter(|(kind, _)| *kind != TokenKind::Space).skip(2).map(|(_, place)| place);
    let is = |place: &Range<usize>, word: &str| statement.text[place.clone()].eq_ignore_ascii_case(word);
    let mut first = tokens.next()?;
    if is(&first, "IF") {
        first = tokens.nth(2)?;
    }
    let (mut end, mut next) = (first.end, tokens.next()?);
    while is(&next, ".") {
        end = tokens.next()?.end;
        next = tokens.next()?;
    }
    let is_made = is(&next, "AS") || tokens.any(|place| is(&place, "AS"));
    is_made.then(|| &statement.text[first.start..end])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_that_a_query_makes_is_named() {
        let named = |sql| made_by_query(&Hyperd::statements(sql).remove(0)).map(str::to_owned);
        assert_eq!(named("create table t as select 1").as_deref(), Some("t"));
        assert_eq!(
            named("CREATE TABLE IF NOT EXISTS \"a.b\" . \"c\"(x) AS (SELECT 1)").as_deref(),
            Some("\"a.b\" . \"c\"")
        );
        for other in
            ["CREATE TABLE t (x INT)", "CREATE TABLE", "CREATE TEMP TABLE t AS SELECT 1", "INSERT INTO t SELECT 1 AS x"]
        {
            assert_eq!(named(other), None, "{other}");
        }
    }

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
        assert!(is_display(&first("explain (verbose, analyze) select 1")));
        assert!(!is_display(&first("explain analyze insert into t values (1)")));
        assert!(Hyperd::is_transaction(&first("start transaction")));
        assert!(!Hyperd::is_transaction(&first("\"begin\"")));
        assert!(Hyperd::is_undoable(&first("insert into t values (1)")));
        assert!(!Hyperd::is_undoable(&first("create table t (x int)")));
        assert!(Hyperd::keeps_session(&first("create table t (x int)")));
        assert!(!Hyperd::keeps_session(&first("create temp table t (x int)")));
        assert!(!Hyperd::keeps_session(&first("SET x = 1")));
    }
}
