//! Statements that a session must not run: those that set character sets.

use boundary_bench_kernel::{Error, Result};

use crate::effect::{Effect, Kind, significant};

/// The character set of all texts between client and server.
const CHARSET: &str = "utf8mb4";

/// Checks a statement of the caller's before it is sent, and tells what it does.
pub(crate) fn admit(sql: &str) -> Result<Effect> {
    let effect = Effect::of(sql);
    check_charset(sql, effect)?;
    Ok(effect)
}

/// Checks that a statement leaves the character sets of the session as they are. Client and results in another character set would be read
/// and stored as other texts, without an error.
fn check_charset(sql: &str, effect: Effect) -> Result<()> {
    if effect.kind != Kind::Session {
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
            assert_eq!(
                check_charset(sql, Effect::of(sql)).map_err(|error| error.code()),
                Err("BB_UNSUPPORTED"),
                "{sql}"
            );
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
            assert_eq!(admit(sql).map(drop).map_err(|error| error.code()), Ok(()), "{sql}");
        }
    }
}
