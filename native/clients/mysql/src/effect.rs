//! The effects of statements on their session: on what the server forgets with the connection, on what plans of prepared statements depend
//! on, and on locks of tables.

use std::sync::atomic::{AtomicU8, Ordering};

use boundary_bench_engine::dialect::Dialect;
use boundary_bench_engine::sql_text::{self, TokenKind};
use boundary_bench_kernel::Error;

use crate::sql::Mysql;

/// The statement that sets what a session has from its login, but for a collation that is not the server's default.
const SET_NAMES: &str = "SET NAMES utf8mb4";

/// The longest first word that is known here.
const LONGEST_WORD: usize = 10;

/// The kind of a statement, as far as its text tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Returns rows.
    Read,
    /// Changes rows.
    Rows,
    /// Begins a transaction.
    Begin,
    /// Ends a transaction, or sets a point in it.
    Control,
    /// Changes what there is on the server, such as tables, or holds something that no plan depends on, such as locks.
    Definition,
    /// [`SET_NAMES`].
    Names,
    /// Changes what plans depend on: the database, variables. Or it may do anything, as a procedure.
    Session,
}

/// The parts of a session that a server forgets with the connection, as bits.
pub(crate) const TRANSACTION: u8 = 1;
const DATABASE: u8 = 2;
const VARIABLES: u8 = 4;
const TEMPORARY: u8 = 8;
const LOCKS: u8 = 16;
const PREPARED: u8 = 32;

const NAMES: [(u8, &str); 6] = [
    (TRANSACTION, "the open transaction"),
    (DATABASE, "the database that USE has chosen"),
    (VARIABLES, "variables"),
    (TEMPORARY, "temporary tables"),
    (LOCKS, "locks"),
    (PREPARED, "statements of PREPARE"),
];

/// The effect of a statement on its session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Effect {
    pub(crate) kind: Kind,
    /// The parts of the session that it leaves behind.
    holds: u8,
    /// The parts of the session that it ends.
    ends: u8,
}

/// The parts of a session that its caller has changed. Shared between the session and those who must tell of its end.
#[derive(Debug, Default)]
pub(crate) struct Held(AtomicU8);

impl Held {
    /// Takes note of a statement before it is sent.
    pub(crate) fn note(&self, effect: Effect) {
        if effect.holds | effect.ends != 0 {
            self.0.store(self.bits() & !effect.ends | effect.holds, Ordering::Relaxed);
        }
    }

    /// Takes note of whether a transaction is open.
    pub(crate) fn note_transaction(&self, is_open: bool) {
        let bits = self.bits();
        if (bits & TRANSACTION != 0) != is_open {
            self.0.store(bits ^ TRANSACTION, Ordering::Relaxed);
        }
    }

    /// The parts, as bits.
    pub(crate) fn bits(&self) -> u8 {
        self.0.load(Ordering::Relaxed)
    }

    /// Whether the session may have locks of tables.
    pub(crate) fn has_locks(&self) -> bool {
        self.bits() & LOCKS != 0
    }

    /// The error for a caller who relies on the session after its end. `None` if the session was as the login has left it.
    pub(crate) fn loss(&self) -> Option<Error> {
        let bits = self.bits();
        let parts: Vec<_> = NAMES.iter().filter(|(bit, _)| bits & bit != 0).map(|(_, name)| *name).collect();
        (bits != 0).then(|| {
            Error::Connection(format!(
                "mysql: the session has ended with its connection, and with it {}; this call was not sent, and the next one gets a new \
                 session",
                parts.join(", ")
            ))
        })
    }
}

impl Effect {
    const fn new(kind: Kind, holds: u8) -> Self {
        Self { kind, holds, ends: 0 }
    }

    /// The effect of a statement.
    pub(crate) fn of(sql: &str) -> Self {
        let text = sql.trim_start();
        let length = text.bytes().take_while(|byte| byte.is_ascii_alphanumeric() || *byte == b'_').count();
        let mut word = [0; LONGEST_WORD];
        let Some(word) = word.get_mut(..length) else { return Self::new(Kind::Session, 0) };
        word.copy_from_slice(&text.as_bytes()[..length]);
        word.make_ascii_uppercase();
        let rest = &text[length..];
        match &*word {
            b"SELECT" | b"VALUES" | b"TABLE" => Self::new(Kind::Read, set_within(rest)),
            b"SHOW" | b"EXPLAIN" | b"DESCRIBE" | b"DESC" => Self::new(Kind::Read, 0),
            b"INSERT" | b"UPDATE" | b"DELETE" | b"REPLACE" | b"WITH" | b"DO" => Self::new(Kind::Rows, set_within(rest)),
            // Others are programs of MariaDB (`BEGIN NOT ATOMIC`).
            b"BEGIN" if ["", "WORK"].iter().any(|rest_of| only(rest).eq_ignore_ascii_case(rest_of)) => {
                Self::new(Kind::Begin, TRANSACTION)
            }
            b"START" => Self::new(Kind::Begin, TRANSACTION),
            b"COMMIT" | b"ROLLBACK" | b"SAVEPOINT" | b"RELEASE" | b"XA" => Self::new(Kind::Control, 0),
            b"SET" if only(text).eq_ignore_ascii_case(SET_NAMES) => Self::new(Kind::Names, 0),
            b"SET" => {
                let statements = Mysql::statements(text);
                let lasts = |statement| Mysql::is_session_only(statement) && statement.second != "STATEMENT";
                Self::new(Kind::Session, if statements.first().is_some_and(lasts) { VARIABLES } else { 0 })
            }
            b"USE" => Self::new(Kind::Session, DATABASE),
            b"CREATE" => {
                let is_temporary = significant(rest).iter().take(3).any(|word| word.eq_ignore_ascii_case("TEMPORARY"));
                Self::new(Kind::Definition, if is_temporary { TEMPORARY } else { 0 })
            }
            b"DROP" | b"ALTER" | b"RENAME" | b"TRUNCATE" | b"GRANT" | b"REVOKE" | b"ANALYZE" | b"OPTIMIZE"
            | b"KILL" | b"DEALLOCATE" => Self::new(Kind::Definition, 0),
            b"LOCK" | b"FLUSH" => Self::new(Kind::Definition, LOCKS),
            b"UNLOCK" => Self { ends: LOCKS, ..Self::new(Kind::Definition, 0) },
            b"PREPARE" => Self::new(Kind::Definition, PREPARED),
            // The text of the prepared statement is not known here.
            b"EXECUTE" => Self::new(Kind::Session, LOCKS),
            b"" if text.starts_with('(') => Self::new(Kind::Read, set_within(rest)),
            b"" if text.starts_with(['/', '#', '-']) => {
                let tokens = significant(text);
                let is_word = tokens.first().is_some_and(|first| first.starts_with(|c: char| c.is_ascii_alphabetic()));
                if is_word { Self::of(&tokens.join(" ")) } else { Self::new(Kind::Session, 0) }
            }
            _ => Self::new(Kind::Session, 0),
        }
    }
}

/// The rest of a text without space around it and a semicolon behind it.
fn only(text: &str) -> &str {
    text.trim_end_matches(|c: char| c == ';' || c.is_whitespace()).trim_start()
}

/// The parts of a session that a statement on rows may leave behind: variables of the user, and locks by name.
fn set_within(text: &str) -> u8 {
    // Most statements have neither sign.
    let sets = text.contains('@') && (text.contains(":=") || significant(text).windows(2).any(is_into_variable));
    let locks = text.contains("GET_LOCK") || text.contains("get_lock");
    (if sets { VARIABLES } else { 0 }) | (if locks { LOCKS } else { 0 })
}

fn is_into_variable(tokens: &[&str]) -> bool {
    matches!(tokens, [into, variable] if into.eq_ignore_ascii_case("INTO") && variable.starts_with('@'))
}

/// The words in front of a parenthesis that are no functions of the user's.
const BEFORE_PARENTHESIS: [&str; 31] = [
    "ALL", "AND", "ANY", "AS", "AVG", "BY", "CAST", "COALESCE", "CONCAT", "CONVERT", "COUNT", "DISTINCT", "EXISTS",
    "FROM", "HAVING", "IF", "IFNULL", "IN", "JOIN", "LENGTH", "LOWER", "MAX", "MIN", "NOT", "ON", "OR", "SELECT",
    "SUM", "UNION", "UPPER", "WHERE",
];

/// Whether a statement of [`Kind::Read`] calls no function that may change rows.
pub(crate) fn only_reads(sql: &str) -> bool {
    let tokens = significant(sql);
    let is_harmless = |place: usize| {
        let Some(word) = place.checked_sub(1).map(|before| tokens[before]) else { return true };
        let is_name = word.starts_with(|c: char| c == '`' || c == '"' || sql_text::is_word(c));
        let is_qualified = place.checked_sub(2).is_some_and(|before| tokens[before] == ".");
        !is_name || (!is_qualified && BEFORE_PARENTHESIS.contains(&word.to_ascii_uppercase().as_str()))
    };
    tokens.iter().enumerate().all(|(place, token)| *token != "(" || is_harmless(place))
}

/// Whether a statement reads rows and does nothing else: it takes no locks, changes no session, and calls no function that may. It then may
/// share its connection with other such statements.
pub fn is_plain_read(sql: &str) -> bool {
    let Effect { kind: Kind::Read, holds: 0, .. } = Effect::of(sql) else { return false };
    // FOR UPDATE, FOR SHARE, LOCK IN SHARE MODE, INTO OUTFILE, variables.
    let has_more = |token: &&str| {
        ["FOR", "LOCK", "INTO", "PROCEDURE", "@"].iter().any(|word| token.eq_ignore_ascii_case(word))
            || token.starts_with('@')
    };
    only_reads(sql) && !significant(sql).iter().any(has_more)
}

/// The tokens of a statement to its first semicolon, without space and comments. Comments that the server runs are read as SQL.
pub(crate) fn significant(sql: &str) -> Vec<&str> {
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
    fn statements_are_told_by_what_they_leave_behind() {
        for (sql, kind, holds) in [
            ("SELECT 1", Kind::Read, 0),
            (" (select 1)", Kind::Read, 0),
            ("SELECT GET_LOCK('a', 1)", Kind::Read, LOCKS),
            ("SELECT @a := 1", Kind::Read, VARIABLES),
            ("SELECT x FROM t INTO @a", Kind::Read, VARIABLES),
            ("SELECT @a, 'a@b'", Kind::Read, 0),
            ("insert into t values ('@', 1)", Kind::Rows, 0),
            ("WITH a AS (SELECT 1) DELETE FROM t", Kind::Rows, 0),
            ("BEGIN", Kind::Begin, TRANSACTION),
            ("begin work ;", Kind::Begin, TRANSACTION),
            ("START TRANSACTION READ ONLY", Kind::Begin, TRANSACTION),
            ("BEGIN NOT ATOMIC SET @a = 1; END", Kind::Session, 0),
            ("COMMIT AND CHAIN", Kind::Control, 0),
            ("SET NAMES utf8mb4;", Kind::Names, 0),
            ("/*!40101 SET NAMES utf8mb4 */", Kind::Names, 0),
            ("SET sql_mode = ''", Kind::Session, VARIABLES),
            ("SET STATEMENT max_statement_time = 1 FOR SELECT 1", Kind::Session, 0),
            ("SET GLOBAL wait_timeout = 1", Kind::Session, 0),
            ("-- a\nUSE b", Kind::Session, DATABASE),
            ("CREATE OR REPLACE TEMPORARY TABLE t (x INT)", Kind::Definition, TEMPORARY),
            ("CREATE TABLE temporary_t (x INT)", Kind::Definition, 0),
            ("/* a */ LOCK TABLES t WRITE", Kind::Definition, LOCKS),
            ("FLUSH TABLES WITH READ LOCK", Kind::Definition, LOCKS),
            ("PREPARE p FROM 'SELECT 1'", Kind::Definition, PREPARED),
            ("EXECUTE IMMEDIATE 'USE b'", Kind::Session, LOCKS),
            ("CALL p()", Kind::Session, 0),
            ("LOCKED", Kind::Session, 0),
            ("/* LOCK TABLES t WRITE */ SELECT 1", Kind::Read, 0),
            ("INSTALL_AND_MORE x", Kind::Session, 0),
            ("/*", Kind::Session, 0),
            ("漢", Kind::Session, 0),
            ("", Kind::Session, 0),
        ] {
            assert_eq!(Effect::of(sql), Effect::new(kind, holds), "{sql}");
        }
        let held = Held::default();
        for (sql, has_locks) in [("EXECUTE p", true), ("SELECT 1", true), ("UNLOCK TABLES", false)] {
            held.note(Effect::of(sql));
            assert_eq!(held.has_locks(), has_locks, "{sql}");
        }
        assert!(held.loss().is_none());
        held.note_transaction(true);
        assert!(held.loss().unwrap().to_string().contains("with it the open transaction;"));
    }

    #[test]
    fn a_statement_that_may_call_a_function_of_the_user_does_not_only_read() {
        for sql in [
            "SELECT SUM(k), (1 + (2)) FROM t WHERE id IN (1, 2)",
            "select c from t where exists (select 1)",
            "(SELECT 1)",
        ] {
            assert!(only_reads(sql), "{sql}");
        }
        for sql in [
            "SELECT f(1)",
            "SELECT f (1)",
            "SELECT `f`(1)",
            "SELECT b.count(1)",
            "SELECT /*! f(1) */ 1",
            "SELECT 漢(1)",
        ] {
            assert!(!only_reads(sql), "{sql}");
        }
    }

    #[test]
    fn a_plain_read_takes_no_locks_and_leaves_the_session() {
        for sql in ["SELECT a FROM t WHERE id = ?", "select count(*) from t where a in (1, 2)", "TABLE t", "(SELECT 1)"]
        {
            assert!(is_plain_read(sql), "{sql}");
        }
        for sql in [
            "SELECT a FROM t FOR UPDATE",
            "SELECT a FROM t lock in share mode",
            "SELECT a INTO OUTFILE '/tmp/a' FROM t",
            "SELECT a FROM t INTO @a",
            "SELECT @a",
            "SELECT @@autocommit",
            "SELECT SLEEP(1)",
            "SELECT GET_LOCK('a', 1)",
            "SELECT LAST_INSERT_ID()",
            "INSERT INTO t VALUES (1)",
            "SET @a = 1",
            "CALL p()",
            "WITH a AS (SELECT 1) DELETE FROM t",
        ] {
            assert!(!is_plain_read(sql), "{sql}");
        }
    }
}
