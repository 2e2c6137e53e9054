//! The errors by which a server of a cluster refuses a command before it executes it.

use crate::resp::arguments_of;
use crate::routing::{capitals, room};
use crate::state::is_misdirected;

/// A server's request instead of executing a command.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Refusal<'a> {
    /// Send the command to this host and port: for good if the slot has moved, else behind an ASKING.
    Elsewhere { place: (&'a str, u16), is_moved: bool },
    /// Send the command again a moment later.
    Later,
    /// Send the command to its node by a new map of slots.
    Anew,
}

/// The author of a command's error replies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Author {
    /// The server alone: an error whose first word says so means that nothing was executed.
    Server,
    /// The server, a module, or a script that can't write: only a MOVED or ASK with the slot of the command's own keys is the server's.
    Module,
    /// A script or function that may have written. It can return any error, so that no error proves that it was not executed.
    Script,
}

impl Author {
    pub(crate) fn of(command: &[u8]) -> Self {
        let mut name = room();
        match capitals(arguments_of(command).next().unwrap_or_default(), &mut name) {
            b"EVAL" | b"EVALSHA" | b"FCALL" | b"TFCALL" | b"TFCALLASYNC" => Self::Script,
            name if name.starts_with(b"RG.") => Self::Script,
            // A name that is too long for the rules has no letters here.
            b"EVAL_RO" | b"EVALSHA_RO" | b"FCALL_RO" | b"" => Self::Module,
            name if name.contains(&b'.') => Self::Module,
            _ => Self::Server,
        }
    }

    /// The refusal in an error reply to a command whose keys lie in `slot`. `None` means that the command may have been executed.
    pub(crate) fn refusal(self, error: &[u8], slot: Option<u16>) -> Option<Refusal<'_>> {
        if self == Self::Script {
            return None;
        }
        if self == Self::Server && is_misdirected(error) {
            return Some(Refusal::Anew);
        }
        let mut words = std::str::from_utf8(error).ok()?.split(' ');
        match words.next()? {
            "TRYAGAIN" if self == Self::Server => Some(Refusal::Later),
            kind @ ("MOVED" | "ASK") => {
                let (named, place) = (words.next()?.parse().ok(), words.next()?);
                let (host, port) = place.rsplit_once(':')?;
                let refusal = Refusal::Elsewhere { place: (host, port.parse().ok()?), is_moved: kind == "MOVED" };
                (words.next().is_none() && named.is_some() && named == slot).then_some(refusal)
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::resp::Commands;

    fn author(name: &str) -> Author {
        let mut commands = Commands::new();
        commands.push([name.as_bytes(), b"a"].into_iter());
        Author::of(commands.command(0))
    }

    #[test]
    fn the_author_of_an_error_is_known_by_the_command() {
        for name in ["EVAL", "evalsha", "FCALL", "TFCALL", "tfcallasync", "RG.PYEXECUTE"] {
            assert_eq!(author(name), Author::Script, "{name}");
        }
        for name in ["EVAL_RO", "EVALSHA_RO", "fcall_ro", "JSON.SET", "a.name.that.is.longer.than.any.other"] {
            assert_eq!(author(name), Author::Module, "{name}");
        }
        for name in ["GET", "mset", "EXEC", "SCRIPT"] {
            assert_eq!(author(name), Author::Server, "{name}");
        }
    }

    #[test]
    fn an_error_is_a_refusal_only_in_the_words_of_its_author() {
        let to = |is_moved| Some(Refusal::Elsewhere { place: ("h", 1), is_moved });
        for (error, by_server, by_module) in [
            ("MOVED 7 h:1", to(true), to(true)),
            ("ASK 7 h:1", to(false), to(false)),
            ("MOVED 8 h:1", None, None),
            ("MOVED 7 h:1 or so", None, None),
            ("MOVED 7 h", None, None),
            ("MOVED 7 h:port", None, None),
            ("MOVED on", None, None),
            ("TRYAGAIN Multiple keys request during rehashing of slot", Some(Refusal::Later), None),
            ("READONLY You can't write against a read only replica.", Some(Refusal::Anew), None),
            ("LOADING Redis is loading the dataset in memory", Some(Refusal::Anew), None),
            ("CLUSTERDOWN Hash slot not served", Some(Refusal::Anew), None),
            ("ERR MOVED 7 h:1", None, None),
        ] {
            assert_eq!(Author::Server.refusal(error.as_bytes(), Some(7)), by_server, "{error}");
            assert_eq!(Author::Module.refusal(error.as_bytes(), Some(7)), by_module, "{error}");
            assert_eq!(Author::Script.refusal(error.as_bytes(), Some(7)), None, "{error}");
        }
        assert_eq!(Author::Server.refusal(b"MOVED x h:1", None), None);
    }
}
