//! The routes of commands in a cluster: the places of a command's keys, and the servers that execute a command without keys.

use crate::gather::Combine;
use crate::keys::{ALL, ALL_BUT_LAST, FIRST, Keys, PAIRS, SECOND, TWO, number};
use crate::resp::arguments_of;
use crate::slots::{SLOTS, slot_of};

/// The servers that execute a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Target {
    /// The master of a slot.
    Slot(u16),
    /// Any one master.
    One,
    /// All masters, whose answers are combined.
    All(Combine),
    /// No server: the command concerns one server or one connection, and the client can't choose it.
    Refused,
}

/// The way to a command's target.
#[derive(Clone, Copy)]
enum Rule {
    Keys(Keys),
    /// The slot is itself an argument, the one at this position.
    SlotNumber(usize),
    Fixed(Target),
}

/// The most bytes of a name that the rules know.
const LONGEST_NAME: usize = 24;

/// A word in capitals, in `room`, empty if it is longer than all words that the rules know.
pub(crate) fn capitals<'a>(word: &[u8], room: &'a mut [u8; LONGEST_NAME]) -> &'a [u8] {
    let Some(room) = room.get_mut(..word.len()) else { return &[] };
    room.copy_from_slice(word);
    room.make_ascii_uppercase();
    room
}

/// The room that [`capitals`] needs.
pub(crate) const fn room() -> [u8; LONGEST_NAME] {
    [0; LONGEST_NAME]
}

/// The rule of a command by its name and its first argument, both in capitals.
#[expect(clippy::too_many_lines, reason = "a table of all commands that are not of the most common kind")]
fn rule_of(name: &[u8], sub: &[u8]) -> Rule {
    use Combine::{Any, Joined, Least, OneSucceeded, Same, Sum};
    let counted = |count, has_target| Rule::Keys(Keys::Counted { count, step: 1, has_target });
    let all = |combine| Rule::Fixed(Target::All(combine));
    let one = Rule::Fixed(Target::One);
    let refused = Rule::Fixed(Target::Refused);
    match name {
        b"DEL" | b"UNLINK" | b"EXISTS" | b"TOUCH" | b"MGET" | b"WATCH" | b"PFCOUNT" | b"PFMERGE" | b"SDIFF"
        | b"SINTER" | b"SUNION" | b"SDIFFSTORE" | b"SINTERSTORE" | b"SUNIONSTORE" => Rule::Keys(ALL),
        b"MSET" | b"MSETNX" => Rule::Keys(PAIRS),
        b"BLPOP" | b"BRPOP" | b"BZPOPMIN" | b"BZPOPMAX" | b"JSON.MGET" => Rule::Keys(ALL_BUT_LAST),
        b"RENAME" | b"RENAMENX" | b"COPY" | b"SMOVE" | b"LMOVE" | b"BLMOVE" | b"RPOPLPUSH" | b"BRPOPLPUSH" | b"LCS"
        | b"ZRANGESTORE" | b"GEOSEARCHSTORE" => Rule::Keys(TWO),
        b"BITOP" => Rule::Keys(Keys::Range { first: 2, last: -1, step: 1 }),
        b"EVAL" | b"EVALSHA" | b"EVAL_RO" | b"EVALSHA_RO" | b"FCALL" | b"FCALL_RO" | b"BLMPOP" | b"BZMPOP" => {
            counted(2, false)
        }
        b"LMPOP" | b"ZMPOP" | b"SINTERCARD" | b"ZINTERCARD" | b"ZDIFF" | b"ZINTER" | b"ZUNION" => counted(1, false),
        b"ZDIFFSTORE" | b"ZINTERSTORE" | b"ZUNIONSTORE" => counted(2, true),
        b"MSETEX" => Rule::Keys(Keys::Counted { count: 1, step: 2, has_target: false }),
        b"XREAD" => Rule::Keys(Keys::Streams { from: 1 }),
        b"XREADGROUP" => Rule::Keys(Keys::Streams { from: 4 }),
        b"MIGRATE" => Rule::Keys(Keys::Migrated),
        b"SORT" | b"SORT_RO" => Rule::Keys(Keys::Stored { from: 2 }),
        b"GEORADIUS" => Rule::Keys(Keys::Stored { from: 6 }),
        b"GEORADIUSBYMEMBER" => Rule::Keys(Keys::Stored { from: 5 }),

        b"PING" | b"ECHO" | b"TIME" | b"LOLWUT" | b"COMMAND" | b"INFO" | b"PUBLISH" | b"ROLE" | b"PFSELFTEST"
        | b"MULTI" | b"EXEC" | b"DISCARD" | b"UNWATCH" => one,
        b"ACL" | b"CLIENT" | b"CLUSTER" | b"CONFIG" | b"DEBUG" | b"FUNCTION" | b"LATENCY" | b"MEMORY" | b"MODULE"
        | b"OBJECT" | b"PUBSUB" | b"SCRIPT" | b"SLOWLOG" | b"XGROUP" | b"XINFO"
            if sub == b"HELP" =>
        {
            one
        }
        b"OBJECT" | b"PFDEBUG" | b"XGROUP" | b"XINFO" => Rule::Keys(SECOND),

        b"FLUSHALL" | b"FLUSHDB" | b"SAVE" | b"BGSAVE" | b"BGREWRITEAOF" => all(Same),
        b"DBSIZE" => all(Sum),
        b"KEYS" => all(Joined),
        b"RANDOMKEY" => all(Any),
        b"WAIT" | b"WAITAOF" => all(Least),
        b"SCRIPT" => match sub {
            b"LOAD" | b"FLUSH" => all(Same),
            b"EXISTS" => all(Least),
            b"KILL" => all(OneSucceeded),
            b"DEBUG" => refused,
            _ => one,
        },
        b"FUNCTION" => match sub {
            b"LOAD" | b"DELETE" | b"FLUSH" | b"RESTORE" => all(Same),
            b"KILL" => all(OneSucceeded),
            b"STATS" => refused,
            _ => one,
        },
        b"CONFIG" => match sub {
            b"SET" | b"RESETSTAT" | b"REWRITE" => all(Same),
            _ => one,
        },
        b"ACL" => match sub {
            b"SETUSER" | b"DELUSER" | b"LOAD" | b"SAVE" => all(Same),
            b"LOG" => refused,
            _ => one,
        },
        b"CLIENT" => match sub {
            b"PAUSE" | b"UNPAUSE" => all(Same),
            b"ID" | b"INFO" | b"GETNAME" | b"SETNAME" | b"SETINFO" => one,
            _ => refused,
        },
        b"MEMORY" => match sub {
            b"USAGE" => Rule::Keys(SECOND),
            b"PURGE" => all(Same),
            _ => refused,
        },
        b"MODULE" => match sub {
            b"LIST" => one,
            _ => all(Same),
        },
        b"SLOWLOG" => match sub {
            b"RESET" => all(Same),
            b"LEN" => all(Sum),
            _ => refused,
        },
        b"LATENCY" => match sub {
            b"RESET" => all(Sum),
            _ => refused,
        },
        b"DEBUG" => match sub {
            b"OBJECT" => Rule::Keys(SECOND),
            _ => refused,
        },
        b"CLUSTER" => match sub {
            b"COUNTKEYSINSLOT" | b"GETKEYSINSLOT" => Rule::SlotNumber(2),
            b"INFO"
            | b"KEYSLOT"
            | b"LINKS"
            | b"MYID"
            | b"MYSHARDID"
            | b"NODES"
            | b"REPLICAS"
            | b"SHARDS"
            | b"SLAVES"
            | b"SLOTS"
            | b"COUNT-FAILURE-REPORTS" => one,
            _ => refused,
        },
        b"SCAN" | b"PUBSUB" | b"LASTSAVE" | b"SHUTDOWN" | b"REPLICAOF" | b"SLAVEOF" | b"FAILOVER" | b"SWAPDB"
        | b"SELECT" | b"AUTH" | b"HELLO" | b"RESET" | b"QUIT" | b"ASKING" | b"READONLY" | b"READWRITE"
        | b"SUBSCRIBE" | b"UNSUBSCRIBE" | b"PSUBSCRIBE" | b"PUNSUBSCRIBE" | b"SSUBSCRIBE" | b"SUNSUBSCRIBE"
        | b"MONITOR" | b"SYNC" | b"PSYNC" | b"REPLCONF" => refused,
        _ => Rule::Keys(FIRST),
    }
}

fn rule_of_command(command: &[u8]) -> Rule {
    let mut arguments = arguments_of(command);
    let (mut name, mut sub) = (room(), room());
    rule_of(
        capitals(arguments.next().unwrap_or_default(), &mut name),
        capitals(arguments.next().unwrap_or_default(), &mut sub),
    )
}

/// The servers that execute a command. A command with keys goes to the master of its first key's slot.
pub(crate) fn target_of(command: &[u8]) -> Target {
    match rule_of_command(command) {
        Rule::Fixed(target) => target,
        // Most keys are the first argument. It is found without a list of all.
        Rule::Keys(Keys::Range { first, .. }) => {
            arguments_of(command).nth(first).map_or(Target::One, |key| Target::Slot(slot_of(key)))
        }
        Rule::Keys(_) | Rule::SlotNumber(_) => {
            slots_of(command).first().map_or(Target::One, |slot| Target::Slot(*slot))
        }
    }
}

/// The slots of all keys of a command.
pub(crate) fn slots_of(command: &[u8]) -> Vec<u16> {
    match rule_of_command(command) {
        Rule::SlotNumber(at) => {
            let slot = arguments_of(command).nth(at).and_then(number);
            slot.filter(|slot| *slot < SLOTS).into_iter().collect()
        }
        _ => keys_of(command).into_iter().map(slot_of).collect(),
    }
}

/// The keys of a command.
pub(crate) fn keys_of(command: &[u8]) -> Vec<&[u8]> {
    let Rule::Keys(keys) = rule_of_command(command) else { return Vec::new() };
    keys.among(&arguments_of(command).collect::<Vec<_>>())
}

/// The name of a command in capitals, for an error.
pub(crate) fn shown_name(command: &[u8]) -> String {
    let mut arguments = arguments_of(command);
    let name = arguments.next().unwrap_or_default().to_ascii_uppercase();
    let is_container = matches!(
        name.as_slice(),
        b"ACL"
            | b"CLIENT"
            | b"CLUSTER"
            | b"DEBUG"
            | b"FUNCTION"
            | b"LATENCY"
            | b"MEMORY"
            | b"PUBSUB"
            | b"SCRIPT"
            | b"SLOWLOG"
    );
    let sub = arguments.next().filter(|_| is_container).map(|sub| [b" ", sub.to_ascii_uppercase().as_slice()].concat());
    String::from_utf8_lossy(&[name, sub.unwrap_or_default()].concat()).into_owned()
}

#[cfg(test)]
mod tests {
    use boundary_bench_kernel::cancel::CancelToken;
    use boundary_bench_kernel::needs;

    use super::*;
    use crate::resp::{Commands, Items, Reply};
    use crate::{KvClient, KvOptions, Server, executable};

    /// Commands with their keys. `''` is an empty argument.
    const LINES: &[(&str, &str)] = &[
        ("get a", "a"),
        ("NOSUCHCOMMAND a b", "a"),
        ("DEL a b c", "a b c"),
        ("mset a 1 b 2", "a b"),
        ("MSETEX 2 a 1 b 2 EX 10", "a b"),
        ("BLPOP a b 0", "a b"),
        ("RENAME a b", "a b"),
        ("BITOP AND a b c", "a b c"),
        ("OBJECT ENCODING a", "a"),
        ("MEMORY USAGE a SAMPLES 5", "a"),
        ("XGROUP CREATE a g $", "a"),
        ("XINFO STREAM a FULL", "a"),
        ("DEBUG OBJECT a", "a"),
        ("EVAL script 2 a b c", "a b"),
        ("EVALSHA sha 0 c", ""),
        ("FCALL f 1 a", "a"),
        ("FCALL f many a", ""),
        ("ZUNIONSTORE a 2 b c WEIGHTS 1 2", "a b c"),
        ("ZINTER 2 a b WITHSCORES", "a b"),
        ("SINTERCARD 2 a b LIMIT 1", "a b"),
        ("LMPOP 1 a LEFT", "a"),
        ("BZMPOP 0 2 a b MIN", "a b"),
        ("XREAD COUNT 2 streams a b 0 0", "a b"),
        ("XREADGROUP GROUP streams me STREAMS a >", "a"),
        ("MIGRATE h 1 a 0 10", "a"),
        ("MIGRATE h 1 '' 0 10 COPY KEYS a b", "a b"),
        ("SORT a LIMIT 0 1 STORE b", "a b"),
        ("GEORADIUS a 1 2 3 km STOREDIST b", "a b"),
        ("GEORADIUSBYMEMBER a m 3 km STORE b", "a b"),
        ("SPUBLISH a m", "a"),
    ];

    fn command(words: &str) -> Commands {
        let mut commands = Commands::new();
        let words = words.split(' ').map(|word| if word == "''" { "" } else { word }.as_bytes()).collect::<Vec<_>>();
        commands.push(words.into_iter());
        commands
    }

    fn keys(words: &str) -> String {
        String::from_utf8(keys_of(command(words).command(0)).join(b" ".as_slice())).unwrap()
    }

    #[test]
    fn the_keys_of_a_command_are_where_the_command_has_them() {
        for (words, expected) in LINES {
            assert_eq!(keys(words), *expected, "{words}");
        }
    }

    #[test]
    fn commands_without_keys_go_to_one_master_to_all_or_nowhere() {
        let target = |words: &str| target_of(command(words).command(0));
        for words in [
            "PING a",
            "publish a b",
            "EVAL script 0",
            "CONFIG GET x",
            "XINFO HELP",
            "FUNCTION LIST",
            "CLUSTER SLOTS",
            "GET",
        ] {
            assert_eq!(target(words), Target::One, "{words}");
        }
        for words in ["FLUSHALL ASYNC", "flushdb", "SCRIPT LOAD x", "config set a b", "FUNCTION load x"] {
            assert_eq!(target(words), Target::All(Combine::Same), "{words}");
        }
        assert_eq!(target("dbsize"), Target::All(Combine::Sum));
        assert_eq!(target("keys *"), Target::All(Combine::Joined));
        for words in ["SCAN 0", "CLIENT LIST", "CLUSTER RESET", "SHUTDOWN", "SLOWLOG GET", "SELECT 1", "subscribe a"] {
            assert_eq!(target(words), Target::Refused, "{words}");
        }
        assert_eq!(target("CLUSTER countkeysinslot 77"), Target::Slot(77));
        assert_eq!(target("CLUSTER COUNTKEYSINSLOT 77777"), Target::One);
        assert_eq!(target("MGET {a}1 b"), Target::Slot(slot_of(b"a")));
        assert_eq!(shown_name(command("client list").command(0)), "CLIENT LIST");
    }

    fn items(reply: Reply<'_>) -> Items<'_> {
        let Reply::Array(items) = reply else { panic!("no array: {reply:?}") };
        items
    }

    fn text(reply: &Reply<'_>) -> String {
        let (Reply::Bulk(text) | Reply::Status(text)) = reply else { panic!("no text: {reply:?}") };
        String::from_utf8(text.to_vec()).unwrap()
    }

    /// Compares the rule of a command with an entry of the server's COMMAND, and the rules of its subcommands with their entries. Adds the
    /// differences to `wrong`, and returns the number of rules.
    fn compare(entry: Reply<'_>, wrong: &mut Vec<String>) -> usize {
        let entry = items(entry).collect::<Vec<_>>();
        let name = text(&entry[0]).to_ascii_uppercase();
        let subcommands = entry.get(9).cloned().map(items).into_iter().flatten().collect::<Vec<_>>();
        if !subcommands.is_empty() {
            return subcommands.into_iter().map(|entry| compare(entry, wrong)).sum();
        }
        let place = |at: usize| if let Reply::Int(place) = entry[at] { place } else { panic!("{name}") };
        let said = (place(3), place(4), place(5));
        let is_movable = items(entry[2].clone()).any(|flag| text(&flag) == "movablekeys");
        let (command, sub) = name.split_once('|').unwrap_or((&name, ""));
        let known = match rule_of(command.as_bytes(), sub.as_bytes()) {
            Rule::Keys(Keys::Range { first, last, step }) => {
                !is_movable
                    && (i64::try_from(first).unwrap(), i64::try_from(last).unwrap(), i64::try_from(step).unwrap())
                        == said
            }
            Rule::Keys(_) => is_movable,
            // Subscriptions have channels instead of keys.
            Rule::Fixed(_) | Rule::SlotNumber(_) => said == (0, 0, 0) && !is_movable || name.ends_with("SUBSCRIBE"),
        };
        if !known {
            wrong.push(format!("{name} {said:?} {is_movable}"));
        }
        1
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn the_rules_are_those_of_a_real_server() {
        needs!("redis", executable(None));
        let server = Server::start(None, &CancelToken::default()).unwrap();
        let mut client = KvClient::connect(server.url().parse().unwrap(), KvOptions::default()).await.unwrap();
        let mut wrong = Vec::new();
        let compare_all = |reply: Reply<'_>| Ok(items(reply).map(|entry| compare(entry, &mut wrong)).sum::<usize>());
        let compared = client.call(&[b"COMMAND"], compare_all).await.unwrap();
        assert_eq!(wrong, Vec::<String>::new());
        assert!(compared > 200, "{compared}");
        let mut compared = 0;
        for (words, expected) in LINES {
            let words = words.split(' ').map(|word| if word == "''" { "" } else { word }.as_bytes());
            let command = [b"COMMAND".as_slice(), b"GETKEYS"].into_iter().chain(words).collect::<Vec<_>>();
            // The server does not know all of the commands, and has an error for commands without keys.
            if let Ok(keys) =
                client.call(&command, |reply| Ok(items(reply).map(|key| text(&key)).collect::<Vec<_>>())).await
            {
                assert_eq!(keys.join(" "), *expected, "{command:?}");
                compared += 1;
            }
        }
        assert!(compared > 20, "{compared}");
    }
}
