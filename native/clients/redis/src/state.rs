//! The commands that change the state of a connection which many callers share, and the transactions of a pipeline.

use boundary_bench_kernel::{Error, Result};

/// The names of the commands that [`refusal`] or [`Transactions`] look at. All other commands need neither.
pub const STATEFUL: &[&str] = &[
    "SUBSCRIBE",
    "UNSUBSCRIBE",
    "PSUBSCRIBE",
    "PUNSUBSCRIBE",
    "SSUBSCRIBE",
    "SUNSUBSCRIBE",
    "MONITOR",
    "SYNC",
    "PSYNC",
    "REPLCONF",
    "HELLO",
    "AUTH",
    "SELECT",
    "RESET",
    "QUIT",
    "ASKING",
    "READONLY",
    "READWRITE",
    "CLIENT",
    "SCRIPT",
    "MULTI",
    "EXEC",
    "DISCARD",
    "WATCH",
    "UNWATCH",
];

/// The error of a command that a shared connection never takes. Both words in capitals.
pub fn refusal(name: &str, first_argument: &str) -> Option<Error> {
    let (what, remedy) = match (name, first_argument) {
        (
            "SUBSCRIBE" | "UNSUBSCRIBE" | "PSUBSCRIBE" | "PUNSUBSCRIBE" | "SSUBSCRIBE" | "SUNSUBSCRIBE" | "MONITOR"
            | "SYNC" | "PSYNC" | "REPLCONF",
            _,
        )
        | ("CLIENT", "REPLY") => ("is not answered by one reply, as a pipeline needs it", ""),
        ("HELLO", _) => ("changes the protocol of a connection that many callers share", ""),
        ("AUTH", _) => ("changes the user of a connection that many callers share", "; put the login into the URL"),
        ("SELECT", _) => {
            ("changes the database of a connection that many callers share", "; put the database into the URL")
        }
        ("QUIT", _) => ("ends a connection that many callers share", "; use close()"),
        ("RESET" | "ASKING" | "READONLY" | "READWRITE", _)
        | ("CLIENT", "TRACKING" | "CACHING" | "NO-EVICT" | "NO-TOUCH" | "CAPA" | "IMPORT-SOURCE")
        | ("SCRIPT", "DEBUG") => ("changes the state of a connection that many callers share", ""),
        _ => return None,
    };
    let command =
        if matches!(name, "CLIENT" | "SCRIPT") { format!("{name} {first_argument}") } else { name.to_owned() };
    Some(Error::Unsupported(format!("{command} {what}{remedy}; nothing was sent")))
}

/// The place of a command in the transactions of its pipeline.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TransactionPart {
    /// Outside of transactions.
    Outside,
    /// A WATCH or MULTI. It begins or continues a transaction.
    Edge,
    /// Between MULTI and its end.
    Inner,
    /// The end of a transaction: EXEC, DISCARD, or UNWATCH without a MULTI.
    Last,
}

/// The transactions of a pipeline, followed command by command. A pipeline ends each transaction that it begins: the
/// connection is shared, and what follows on it would become a part of the transaction.
#[derive(Debug, Default)]
pub(crate) struct Transactions {
    in_multi: bool,
    watches: bool,
}

impl Transactions {
    /// The place of the next command, whose name is in capitals.
    pub(crate) fn next(&mut self, name: &[u8], has_arguments: impl FnOnce() -> bool) -> Result<TransactionPart> {
        if matches!(name, b"MULTI" | b"EXEC" | b"DISCARD" | b"UNWATCH") && has_arguments() {
            let name = String::from_utf8_lossy(name);
            return Err(Error::InvalidArgument(format!("{name} takes no arguments; nothing was sent")));
        }
        Ok(match name {
            b"MULTI" if self.in_multi => return Err(unbalanced("a MULTI stands between MULTI and EXEC")),
            b"MULTI" => {
                self.in_multi = true;
                TransactionPart::Edge
            }
            b"EXEC" | b"DISCARD" if !self.in_multi => {
                return Err(unbalanced("an EXEC or DISCARD has no MULTI before it"));
            }
            b"EXEC" | b"DISCARD" => {
                *self = Self::default();
                TransactionPart::Last
            }
            b"WATCH" if !self.in_multi => {
                self.watches = true;
                TransactionPart::Edge
            }
            b"UNWATCH" if self.watches && !self.in_multi => {
                *self = Self::default();
                TransactionPart::Last
            }
            _ if self.in_multi => TransactionPart::Inner,
            _ => TransactionPart::Outside,
        })
    }

    /// Checks that no transaction is open behind the last command.
    pub(crate) fn end(&self) -> Result<()> {
        match self {
            Self { in_multi: true, .. } => Err(unbalanced("a MULTI has no EXEC or DISCARD behind it")),
            Self { watches: true, .. } => Err(unbalanced("a WATCH has no EXEC, DISCARD or UNWATCH behind it")),
            _ => Ok(()),
        }
    }
}

fn unbalanced(problem: &str) -> Error {
    Error::Unsupported(format!("{problem} in the same pipeline, whose connection many callers share; nothing was sent"))
}

/// A command whose refusal may leave its connection in a transaction, or with keys that are watched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Hinge {
    /// MULTI: the commands behind it are executed one by one, and its end ends no WATCH.
    Multi,
    /// DISCARD: the transaction stays open.
    Discard,
    /// UNWATCH: the keys stay watched.
    Unwatch,
}

impl Hinge {
    /// The hinge that a command is. Its name may have letters of any case.
    pub(crate) fn of(name: &[u8]) -> Option<Self> {
        // Most commands are told apart by the length of their names.
        match name.len() {
            5 if name.eq_ignore_ascii_case(b"MULTI") => Some(Self::Multi),
            7 if name.eq_ignore_ascii_case(b"DISCARD") => Some(Self::Discard),
            7 if name.eq_ignore_ascii_case(b"UNWATCH") => Some(Self::Unwatch),
            _ => None,
        }
    }

    /// Whether the server does not execute the next commands, but adds them to the transaction. It has refused the command by this error.
    pub(crate) fn keeps_open(self, error: &[u8]) -> bool {
        self == Self::Discard && !error.starts_with(b"ERR DISCARD without MULTI")
    }
}

/// The error of commands behind a DISCARD that the server refused.
pub(crate) fn still_open() -> Error {
    Error::Connection(
        "the server refused a DISCARD before this command, and took the command into the open transaction, which is dropped with the \
         connection"
            .to_owned(),
    )
}

/// Whether an error reply says that this server is not, or not now, the one to ask. It is a master that has become a replica, a
/// server that loads its data, or in a cluster that is down. The command was not executed.
pub(crate) fn is_misdirected(error: &[u8]) -> bool {
    // An EXEC is refused by these words, followed by the words of the refusal.
    let reason = error.strip_prefix(b"EXECABORT Transaction discarded because of: ").unwrap_or(error);
    let kind = reason.split(|byte| *byte == b' ').next().unwrap_or_default();
    matches!(kind, b"READONLY" | b"MASTERDOWN" | b"LOADING" | b"CLUSTERDOWN")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(commands: &str) -> Result<()> {
        let mut transactions = Transactions::default();
        for name in commands.split(' ') {
            let (name, rest) = name.split_once('=').unwrap_or((name, ""));
            transactions.next(name.as_bytes(), || !rest.is_empty())?;
        }
        transactions.end()
    }

    #[test]
    fn transactions_end_in_the_pipeline_in_which_they_begin() {
        for balanced in [
            "GET",
            "MULTI EXEC",
            "MULTI SET DISCARD GET",
            "WATCH UNWATCH",
            "WATCH GET MULTI SET EXEC MULTI EXEC",
            "UNWATCH",
            "WATCH MULTI UNWATCH EXEC",
            "MULTI WATCH EXEC",
        ] {
            check(balanced).unwrap();
        }
        for unbalanced in [
            "MULTI",
            "WATCH",
            "EXEC",
            "DISCARD",
            "MULTI MULTI EXEC",
            "MULTI EXEC MULTI",
            "MULTI EXEC EXEC",
            "WATCH MULTI UNWATCH",
            "WATCH UNWATCH WATCH GET",
        ] {
            let error = check(unbalanced).unwrap_err();
            assert_eq!(error.code(), "BB_UNSUPPORTED", "{unbalanced}");
            assert!(error.to_string().contains("nothing was sent"), "{error}");
        }
    }

    #[test]
    fn ends_of_transactions_with_arguments_are_refused() {
        for wrong in ["MULTI=x EXEC", "MULTI EXEC=x", "MULTI SET DISCARD=x", "WATCH UNWATCH=x", "UNWATCH=x"] {
            let error = check(wrong).unwrap_err();
            assert_eq!(error.code(), "BB_INVALID_ARGUMENT", "{wrong}");
            assert!(error.to_string().contains("nothing was sent"), "{error}");
        }
        check("WATCH=a MULTI SET=a EXEC").unwrap();
    }

    #[test]
    fn what_is_refused_is_looked_at() {
        for name in ["SELECT", "QUIT", "HELLO", "SUBSCRIBE", "RESET", "READONLY"] {
            assert!(STATEFUL.contains(&name) && refusal(name, "").is_some(), "{name}");
        }
        assert!(refusal("CLIENT", "REPLY").is_some() && refusal("SCRIPT", "DEBUG").is_some());
        assert!(
            refusal("CLIENT", "ID").is_none() && refusal("SCRIPT", "LOAD").is_none() && refusal("GET", "").is_none()
        );
    }

    #[test]
    fn a_server_that_is_not_the_one_to_ask_is_known_by_its_words() {
        assert!(is_misdirected(b"READONLY You can't write against a read only replica."));
        assert!(is_misdirected(b"LOADING Redis is loading the dataset in memory") && is_misdirected(b"CLUSTERDOWN"));
        assert!(is_misdirected(b"EXECABORT Transaction discarded because of: READONLY You can't write"));
        assert!(!is_misdirected(b"EXECABORT Transaction discarded because of previous errors."));
        assert!(!is_misdirected(b"ERR READONLY") && !is_misdirected(b"READONLYX") && !is_misdirected(b""));
    }
}
