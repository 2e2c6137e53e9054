//! Facts that the engine must know about a statement before DuckDB has planned it. DuckDB's C API does not tell them, so they are read from
//! the statement's words.

use boundary_bench_engine::sql_text::{self, Statement, TokenKind, postgres_token, quoted_name, tokens};

/// The statements of a text, as it is written: DuckDB makes several of some, such as of a `PIVOT`.
pub(super) fn statements(sql: &str) -> Vec<Statement<'_>> {
    sql_text::statements(sql, postgres_token)
}

/// The words of a statement, without what is quoted.
fn words(text: &str) -> impl Iterator<Item = &str> {
    tokens(text, postgres_token).filter(|(kind, _)| *kind == TokenKind::Word).map(|(_, place)| &text[place])
}

fn has_word(text: &str, wanted: &str) -> bool {
    words(text).any(|word| word.eq_ignore_ascii_case(wanted))
}

/// Whether the statement begins or ends a transaction.
pub(super) fn is_transaction(statement: &Statement<'_>) -> bool {
    matches!(statement.keyword.as_str(), "BEGIN" | "START" | "COMMIT" | "END" | "ROLLBACK" | "ABORT")
}

/// Whether the statement may return the rows that it changes.
pub(super) fn returns_changed_rows(statement: &Statement<'_>) -> bool {
    statement.keyword != "SELECT" && has_word(statement.text, "RETURNING")
}

/// The name of the statement that an `EXECUTE` runs.
pub(super) fn executed_name(sql: &str) -> Option<String> {
    let mut tokens =
        tokens(sql, postgres_token).filter(|(kind, _)| *kind != TokenKind::Space).map(|(_, place)| &sql[place]);
    tokens.next().filter(|word| word.eq_ignore_ascii_case("EXECUTE"))?;
    tokens.next().map(|name| quoted_name(name).map_or_else(|| name.to_owned(), |(name, _)| name))
}

/// Whether the statement makes an object that ends with its session. A secret belongs to the database.
fn creates_temporary(statement: &Statement<'_>) -> bool {
    let mut words = words(statement.text)
        .skip(1)
        .map(str::to_ascii_uppercase)
        .skip_while(|word| matches!(word.as_str(), "OR" | "REPLACE"));
    statement.keyword == "CREATE"
        && words.next().is_some_and(|word| matches!(word.as_str(), "TEMP" | "TEMPORARY"))
        && words.next().is_none_or(|word| word != "SECRET")
}

/// The setting that the statement changes for its session, in small letters, unless it says that it changes it for all. "" for a name
/// that is no setting of DuckDB, such as a variable.
fn setting_of(statement: &Statement<'_>) -> Option<String> {
    let mut words = words(statement.text).skip(1).map(str::to_ascii_lowercase);
    let first = words.next().unwrap_or_default();
    match (statement.keyword.as_str(), first.as_str()) {
        ("SET" | "RESET", "global") => None,
        ("SET" | "RESET", "session" | "local" | "variable") | ("USE", _) => Some(String::new()),
        ("SET" | "RESET", _) => Some(first),
        _ => None,
    }
}

/// Whether the statement changes nothing but the state of its session. `is_global` tells which settings are the same in all sessions.
pub(super) fn is_session_only(statement: &Statement<'_>, is_global: impl FnOnce(&str) -> bool) -> bool {
    match setting_of(statement) {
        Some(setting) => setting.is_empty() || !is_global(&setting),
        None => creates_temporary(statement) || matches!(statement.keyword.as_str(), "PREPARE" | "DEALLOCATE"),
    }
}

/// Whether the statement may change the state of its session, such as a setting, a temporary table, or the seed of `random()`. It may also
/// be true for statements that do not, and tells nothing about a `PRAGMA`. `is_global` is as for [`is_session_only`].
pub(super) fn may_change_session(statement: &Statement<'_>, is_global: &dyn Fn(&str) -> bool) -> bool {
    if let Some(analyzed) = sql_text::analyzed(statement, postgres_token) {
        return statements(analyzed).iter().any(|statement| may_change_session(statement, is_global));
    }
    is_session_only(statement, is_global)
        || (statement.keyword == "CREATE"
            && (has_word(statement.text, "TEMP") || has_word(statement.text, "TEMPORARY")))
        || (contains_ignore_case(statement.text, "setseed") && has_word(statement.text, "SETSEED"))
}

/// Whether the statement may change what plans depend on for all sessions.
pub(super) fn may_change_plans(statement: &Statement<'_>) -> bool {
    matches!(statement.keyword.as_str(), "SET" | "RESET" | "CREATE" | "DROP" | "ALTER" | "ATTACH" | "DETACH" | "LOAD")
}

/// Whether a plan of the statement may hold pointers into the catalog that DuckDB does not check before it runs the plan. Functions that
/// describe a table, or use a sequence or a database, have such pointers. It may also be true for statements whose plans hold none. A
/// view or a macro hides them from this function.
pub(super) fn holds_catalog_entries(statement: &Statement<'_>) -> bool {
    matches!(statement.keyword.as_str(), "DESCRIBE" | "DESC" | "SHOW" | "SUMMARIZE")
        || (statement.keyword == "PRAGMA" && contains_ignore_case(statement.text, "_info"))
        || ["pragma_", "describe", "summarize", "currval", "nextval", "checkpoint"]
            .iter()
            .any(|name| contains_ignore_case(statement.text, name))
}

/// Whether the statement keeps a plan that [`holds_catalog_entries`], or runs one. If `are_hidden`, views and macros hide such statements.
pub(super) fn keeps_catalog_entries(statement: &Statement<'_>, are_hidden: impl FnOnce() -> bool) -> bool {
    match statement.keyword.as_str() {
        "PREPARE" => holds_catalog_entries(statement) || are_hidden(),
        "EXECUTE" => are_hidden(),
        _ => false,
    }
}

/// Whether the statement keeps a plan that depends on the rows which its tables have now. DuckDB 1.5.6 plans a kept statement again for its
/// parameters, but runs one without parameters by the old statistics of its tables (duckdb/duckdb#23704).
pub(super) fn keeps_statistics(statement: &Statement<'_>) -> bool {
    let has_parameter = || {
        tokens(statement.text, postgres_token)
            .any(|(kind, place)| kind == TokenKind::Other && matches!(&statement.text[place], "$" | "?"))
    };
    statement.keyword == "PREPARE"
        && ["FROM", "UPDATE", "TABLE", "MERGE"].iter().any(|word| has_word(statement.text, word))
        && !has_parameter()
}

/// Whether the statement may make a view or a macro that hides such a function, and whether that may be a temporary one.
pub(super) fn hides_catalog_entries(statement: &Statement<'_>) -> Option<bool> {
    match statement.keyword.as_str() {
        // The default of a column is no view.
        "CREATE" | "ALTER"
            if ["VIEW", "MACRO", "FUNCTION"].iter().any(|word| has_word(statement.text, word))
                && holds_catalog_entries(statement) =>
        {
            Some(has_word(statement.text, "TEMP") || has_word(statement.text, "TEMPORARY"))
        }
        "ATTACH" | "IMPORT" => Some(false),
        "COPY" if statement.second == "FROM" => Some(false),
        _ => None,
    }
}

fn contains_ignore_case(text: &str, wanted: &str) -> bool {
    text.as_bytes().windows(wanted.len()).any(|part| part.eq_ignore_ascii_case(wanted.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn first(sql: &str) -> Statement<'_> {
        statements(sql).remove(0)
    }

    #[test]
    fn what_changes_a_session_is_told_by_its_words() {
        let is_global = |setting: &str| setting == "threads";
        for sql in [
            "SET VARIABLE x = 1",
            "set schema = 's'",
            "USE s",
            "RESET search_path",
            "SET SESSION threads = 1",
            "/* x */ create or replace temp table t (x int)",
            "CREATE TEMPORARY VIEW v AS SELECT 1",
            "PREPARE p AS SELECT 1",
        ] {
            assert!(is_session_only(&first(sql), is_global), "{sql}");
            assert!(may_change_session(&first(sql), &is_global), "{sql}");
        }
        for sql in [
            "SET threads = 1",
            "SET GLOBAL x = 1",
            "CREATE TABLE temp (x int)",
            "CREATE TEMPORARY SECRET s (TYPE s3)",
            "ATTACH 'x' AS temp",
        ] {
            assert!(!is_session_only(&first(sql), is_global), "{sql}");
        }
        for sql in [
            "CREATE TABLE temp.t (x int)",
            "SELECT setseed(0.5)",
            "EXPLAIN ANALYZE CREATE TEMP TABLE t (x int)",
            "EXPLAIN (ANALYZE, FORMAT json) CREATE TEMP TABLE t AS SELECT 1",
        ] {
            assert!(may_change_session(&first(sql), &is_global), "{sql}");
        }
        for sql in [
            "SELECT 'SET x = 1'",
            "INSERT INTO t VALUES ('setseed')",
            "CREATE TABLE t (x int)",
            "SET threads = 1",
            "EXPLAIN CREATE TEMP TABLE t (x int)",
        ] {
            assert!(!may_change_session(&first(sql), &is_global), "{sql}");
        }
    }

    #[test]
    fn statements_that_hold_catalog_entries_are_told() {
        for sql in [
            "SELECT * FROM Pragma_Table_Info('t')",
            "SELECT * FROM \"pragma_storage_info\"('t')",
            "PRAGMA table_info('t')",
        ] {
            assert!(holds_catalog_entries(&first(sql)), "{sql}");
        }
        assert!(!holds_catalog_entries(&first("SELECT * FROM t")));
    }
}
