//! Statements that change a session in ways that the client must know of: character sets, and locks of tables.

use boundary_bench_engine::dialect::Dialect;
use boundary_bench_engine::sql_text::{self, TokenKind};
use boundary_bench_kernel::{Error, Result};

use crate::sql::Mysql;

/// The character set of all texts between client and server.
const CHARSET: &str = "utf8mb4";

/// The parts of a session that a statement may change, by the statement's first word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum First {
    /// Variables of the session.
    Set,
    /// Locks of tables.
    Locks,
    /// A comment, or a comment that the server runs, is in front of the first word.
    Comment,
    Other,
}

impl First {
    fn of(sql: &str) -> Self {
        let text = sql.trim_start().as_bytes();
        let is_word = |word: &str| {
            text.get(..word.len()).is_some_and(|start| start.eq_ignore_ascii_case(word.as_bytes()))
                && text.get(word.len()).is_none_or(|next| !next.is_ascii_alphanumeric() && *next != b'_')
        };
        match text.first() {
            Some(b's' | b'S') if is_word("SET") => Self::Set,
            Some(b'l' | b'L') if is_word("LOCK") => Self::Locks,
            Some(b'f' | b'F') if is_word("FLUSH") => Self::Locks,
            // The text of a prepared statement is not known here.
            Some(b'e' | b'E') if is_word("EXECUTE") => Self::Locks,
            Some(b'/' | b'#' | b'-') => Self::Comment,
            _ => Self::Other,
        }
    }
}

/// Whether the session may have locks of tables after the statement.
pub(crate) fn may_lock(sql: &str) -> bool {
    match First::of(sql) {
        First::Locks => true,
        First::Comment => First::of(&significant(sql).join(" ")) == First::Locks,
        First::Set | First::Other => false,
    }
}

/// Checks that a statement leaves the character sets of the session as they are. Client and results in another character set would be read
/// and stored as other texts, without an error.
///
/// # Errors
/// [`Error::Unsupported`] if it may set another character set than utf8mb4.
pub(crate) fn check_charset(sql: &str) -> Result<()> {
    if matches!(First::of(sql), First::Locks | First::Other) || sql.eq_ignore_ascii_case("SET NAMES utf8mb4") {
        return Ok(());
    }
    let tokens = significant(sql);
    if !tokens.first().is_some_and(|first| first.eq_ignore_ascii_case("SET")) {
        return Ok(());
    }
    let mut depth = 0_usize;
    let assignments = tokens[1..].split(|token| {
        match *token {
            "(" => depth += 1,
            ")" => depth = depth.saturating_sub(1),
            _ => {}
        }
        depth == 0 && *token == ","
    });
    if assignments.into_iter().all(keeps_charset) {
        return Ok(());
    }
    Err(Error::Unsupported(
        "the statement may set another character set than utf8mb4, in which the client sends and reads all texts; use SET NAMES \
         utf8mb4, or CONVERT(... USING ...) for a single value"
            .to_owned(),
    ))
}

/// Whether an assignment of `SET` leaves the session's character sets at utf8mb4.
fn keeps_charset(assignment: &[&str]) -> bool {
    let mut rest = assignment;
    while let [first, after @ ..] = rest {
        match first.to_ascii_uppercase().as_str() {
            // Of the signs of `@@name` and `@name`, the second is a variable of the user's.
            "@" if after.first() == Some(&"@") => rest = &after[1..],
            // Other sessions are not this client's, or set their own at their login.
            "GLOBAL" | "PERSIST" | "PERSIST_ONLY" | "@" => return true,
            "SESSION" | "LOCAL" | "STATEMENT" | "." => rest = after,
            _ => break,
        }
    }
    let Some((name, rest)) = rest.split_first() else { return true };
    let value = |rest: &[&str]| rest.iter().find(|token| !matches!(**token, "=" | ":")).map(|token| unquoted(token));
    match unquoted(name).as_str() {
        "names" => match rest {
            [charset] => unquoted(charset) == CHARSET,
            [charset, collate, _] => unquoted(charset) == CHARSET && collate.eq_ignore_ascii_case("COLLATE"),
            _ => false,
        },
        // The server then sets `character_set_connection` to the character set of the database, no matter what this statement names.
        "charset" | "character" => false,
        "character_set_client" | "character_set_connection" | "character_set_results" => {
            rest.len() <= 3 && value(rest).is_some_and(|value| value == CHARSET)
        }
        "collation_connection" => value(rest).is_some_and(|value| value.starts_with("utf8mb4_")),
        _ => true,
    }
}

fn unquoted(token: &str) -> String {
    token.trim_matches(['\'', '"', '`']).to_ascii_lowercase()
}

/// The tokens of a statement to its first semicolon, without space and comments. Comments that the server runs are read as SQL.
fn significant(sql: &str) -> Vec<&str> {
    let mut found: Vec<&str> = Vec::new();
    for (kind, place) in sql_text::tokens(sql, Mysql::first_token) {
        match kind {
            TokenKind::Space => {}
            TokenKind::Separator => break,
            TokenKind::Word | TokenKind::Other => found.push(&sql[place]),
        }
    }
    let mut tokens = Vec::with_capacity(found.len());
    let mut index = 0;
    while index < found.len() {
        match (found[index], found.get(index + 1).copied()) {
            ("/*", _) => {
                index += 1 + found[index + 1..].iter().take_while(|token| matches!(**token, "M" | "!")).count();
                // The version from which on the server runs it. A word may follow at once.
                if let Some(word) = found.get(index) {
                    let word = word.trim_start_matches(|c: char| c.is_ascii_digit());
                    if !word.is_empty() {
                        tokens.push(word);
                    }
                    index += 1;
                }
            }
            ("*", Some("/")) => index += 2,
            (token, _) => {
                tokens.push(token);
                index += 1;
            }
        }
    }
    tokens
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_of_another_character_set_is_refused_however_it_is_written() {
        for sql in [
            "SET NAMES latin1",
            "set names 'latin1'",
            "  SET\n NAMES utf8",
            "SET NAMES utf8mb3",
            "SET NAMES DEFAULT",
            "SET NAMES latin1 COLLATE latin1_bin",
            "SET CHARACTER SET latin1",
            "SET CHARSET latin1",
            "SET character_set_client=latin1",
            "SET @@character_set_client = 'latin1'",
            "SET @@session.character_set_results = NULL",
            "SET SESSION character_set_connection := latin1",
            "SET LOCAL `character_set_client` = binary",
            "SET collation_connection = latin1_swedish_ci",
            "SET sql_mode = CONCAT(@@sql_mode, ',ANSI'), NAMES latin1",
            "/* a */ SET NAMES latin1",
            "-- a\nSET NAMES latin1",
            "# a\nSET NAMES latin1",
            "SET /* a */ NAMES /* b */ latin1",
            "/*!40101 SET NAMES latin1 */",
            "/*!40101SET NAMES latin1*/",
            "/*M!100100 SET NAMES latin1 */;",
            "SET /*!40101 NAMES latin1 */",
            "SET character_set_client = @old",
            "SET character_set_client = 8",
        ] {
            assert_eq!(check_charset(sql).map_err(|error| error.code()), Err("BB_UNSUPPORTED"), "{sql}");
        }
    }

    #[test]
    fn other_statements_are_none_of_its_business() {
        for sql in [
            "SET NAMES utf8mb4",
            "set names 'UTF8MB4' collate utf8mb4_bin;",
            "/*!40101 SET NAMES utf8mb4 */",
            "SET character_set_client = utf8mb4, @@session.character_set_results = 'utf8mb4'",
            "SET collation_connection = 'utf8mb4_unicode_ci'",
            "SET @names = 'latin1', @character_set_client = 1",
            "/*!40101 SET @OLD_CHARACTER_SET_CLIENT=@@CHARACTER_SET_CLIENT */",
            "SET GLOBAL character_set_client = latin1",
            "SET @@global.character_set_client = latin1",
            "SET autocommit = 0",
            "SET STATEMENT max_statement_time = 1 FOR SELECT 1",
            "SELECT 'SET NAMES latin1'",
            "UPDATE t SET names = 'latin1'",
            "SET",
            "",
            "/*",
            "/*!",
        ] {
            assert_eq!(check_charset(sql).map_err(|error| error.code()), Ok(()), "{sql}");
        }
    }

    #[test]
    fn statements_that_may_lock_tables_are_known() {
        for sql in
            ["LOCK TABLES t WRITE", " lock table t read", "/* a */ LOCK TABLES t WRITE", "FLUSH TABLES WITH READ LOCK"]
        {
            assert!(may_lock(sql), "{sql}");
        }
        for sql in ["LOCKED", "SELECT 1", "/* LOCK TABLES t WRITE */ SELECT 1", ""] {
            assert!(!may_lock(sql), "{sql}");
        }
    }
}
