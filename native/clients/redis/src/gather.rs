//! The answers of all masters of a cluster to one command, combined into one.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};

use boundary_bench_kernel::Error;

use crate::resp::{CommandOutcome, Reply};

/// The way in which the answers of several masters become one. An error of any master is the answer, unless one success is
/// enough.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Combine {
    /// All masters give the same answer.
    Same,
    /// Integers are added up.
    Sum,
    /// The least of the integers, and of each integer of arrays.
    Least,
    /// Arrays are concatenated.
    Joined,
    /// The answer of one of the masters that have one, each master in turn.
    Any,
    /// The first answer that is no error.
    OneSucceeded,
}

/// The receiver of answers. If several masters execute a command, it holds back their answers until all are there.
pub(crate) struct ReplyGatherer<F> {
    each: F,
    /// The answers so far, by the positions of their commands.
    open: HashMap<usize, Gathering>,
}

struct Gathering {
    combine: Combine,
    /// The number of masters that have not answered yet.
    missing: usize,
    /// The replies in wire format.
    replies: Vec<Vec<u8>>,
    failure: Option<Error>,
}

impl<F: FnMut(usize, CommandOutcome<'_, '_>)> ReplyGatherer<F> {
    pub(crate) fn new(each: F) -> Self {
        Self { each, open: HashMap::new() }
    }

    /// Expects the answers of this many masters to a command.
    pub(crate) fn expect(&mut self, command: usize, combine: Combine, masters: usize) {
        self.open.insert(command, Gathering { combine, missing: masters, replies: Vec::new(), failure: None });
    }

    /// Takes a reply in wire format.
    pub(crate) fn reply(&mut self, command: usize, bytes: &[u8]) {
        let Some(gathering) = self.open.get_mut(&command) else {
            if let Some(reply) = Reply::read_whole(bytes) {
                (self.each)(command, Ok(reply));
            }
            return;
        };
        gathering.replies.push(bytes.to_vec());
        self.close(command);
    }

    /// Takes an error instead of a reply.
    pub(crate) fn error(&mut self, command: usize, error: &Error) {
        let Some(gathering) = self.open.get_mut(&command) else { return (self.each)(command, Err(error)) };
        gathering.failure.get_or_insert_with(|| error.clone());
        self.close(command);
    }

    /// Counts an answer, and gives all of them to the caller if it is the last.
    fn close(&mut self, command: usize) {
        let Some(gathering) = self.open.get_mut(&command) else { return };
        gathering.missing -= 1;
        if gathering.missing > 0 {
            return;
        }
        let Some(Gathering { combine, replies, failure, .. }) = self.open.remove(&command) else { return };
        if let Some(error) = failure {
            (self.each)(command, Err(&error));
        } else if let Some(reply) = Reply::read_whole(&combined(combine, &replies)) {
            (self.each)(command, Ok(reply));
        }
    }
}

/// One reply in wire format for the replies of all masters.
fn combined(combine: Combine, wire: &[Vec<u8>]) -> Vec<u8> {
    /// The number of the next answer of which one is chosen.
    static TURN: AtomicUsize = AtomicUsize::new(0);
    let replies = wire.iter().filter_map(|bytes| Reply::read_whole(bytes)).collect::<Vec<_>>();
    let first = |is: &dyn Fn(&Reply<'_>) -> bool| replies.iter().position(is);
    let error = first(&|reply| matches!(reply, Reply::Error(_)));
    let is_array = matches!(replies.first(), Some(Reply::Array(_)));
    let is_numeric = is_array || matches!(replies.first(), Some(Reply::Int(_)));
    let chosen = match (combine, error) {
        (Combine::OneSucceeded, _) => first(&|reply| !matches!(reply, Reply::Error(_))),
        (_, Some(error)) => Some(error),
        (Combine::Any, None) => {
            let turn = TURN.fetch_add(1, Ordering::Relaxed) % wire.len();
            (turn..wire.len()).chain(0..turn).find(|at| !matches!(replies.get(*at), Some(Reply::Nil)))
        }
        (Combine::Joined, None) if is_array => return joined(&replies),
        (Combine::Sum, None) if is_numeric => return folded(&replies, i64::saturating_add),
        (Combine::Least, None) if is_numeric => return folded(&replies, i64::min),
        // Also for replies of another kind than the command's: a server of a kind of its own.
        (_, None) => None,
    };
    wire[chosen.unwrap_or_default()].clone()
}

/// The concatenation of arrays.
fn joined(replies: &[Reply<'_>]) -> Vec<u8> {
    let arrays = || replies.iter().filter_map(|reply| if let Reply::Array(items) = reply { Some(items) } else { None });
    let mut bytes = format!("*{}\r\n", arrays().map(crate::Items::count_left).sum::<usize>()).into_bytes();
    arrays().for_each(|items| bytes.extend_from_slice(items.bytes_left()));
    bytes
}

/// The integers of replies as one integer, or the integers of arrays as one array.
fn folded(replies: &[Reply<'_>], fold: fn(i64, i64) -> i64) -> Vec<u8> {
    let integers = |reply: &Reply<'_>| match reply {
        Reply::Int(number) => vec![*number],
        Reply::Array(items) => {
            items.clone().filter_map(|item| if let Reply::Int(number) = item { Some(number) } else { None }).collect()
        }
        _ => Vec::new(),
    };
    let columns = replies
        .iter()
        .map(integers)
        .reduce(|so_far, next| so_far.into_iter().zip(next).map(|(left, right)| fold(left, right)).collect());
    let columns = columns.unwrap_or_default();
    let mut bytes = Vec::new();
    if matches!(replies.first(), Some(Reply::Array(_))) {
        bytes.extend_from_slice(format!("*{}\r\n", columns.len()).as_bytes());
    }
    columns.iter().for_each(|number| bytes.extend_from_slice(format!(":{number}\r\n").as_bytes()));
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    fn combine(combine: Combine, replies: &[&str]) -> String {
        let wire = replies.iter().map(|reply| reply.as_bytes().to_vec()).collect::<Vec<_>>();
        String::from_utf8(combined(combine, &wire)).unwrap()
    }

    #[test]
    fn answers_of_several_masters_become_one() {
        assert_eq!(combine(Combine::Same, &["+OK\r\n", "+OK\r\n"]), "+OK\r\n");
        assert_eq!(combine(Combine::Same, &["+OK\r\n", "-ERR no\r\n"]), "-ERR no\r\n");
        assert_eq!(combine(Combine::Sum, &[":1\r\n", ":2\r\n", ":40\r\n"]), ":43\r\n");
        assert_eq!(combine(Combine::Least, &[":1\r\n", ":0\r\n"]), ":0\r\n");
        assert_eq!(combine(Combine::Least, &["*2\r\n:1\r\n:1\r\n", "*2\r\n:0\r\n:1\r\n"]), "*2\r\n:0\r\n:1\r\n");
        assert_eq!(
            combine(Combine::Joined, &["*1\r\n$1\r\na\r\n", "*0\r\n", "*1\r\n$1\r\nb\r\n"]),
            "*2\r\n$1\r\na\r\n$1\r\nb\r\n"
        );
        assert_eq!(combine(Combine::Any, &["$-1\r\n", "$1\r\na\r\n", "$-1\r\n"]), "$1\r\na\r\n");
        assert_eq!(combine(Combine::Any, &["$-1\r\n", "$-1\r\n"]), "$-1\r\n");
        assert_eq!(combine(Combine::OneSucceeded, &["-NOTBUSY\r\n", "+OK\r\n"]), "+OK\r\n");
        assert_eq!(combine(Combine::OneSucceeded, &["-NOTBUSY\r\n", "-NOTBUSY\r\n"]), "-NOTBUSY\r\n");
    }

    #[test]
    fn an_answer_is_given_once_and_when_all_are_there() {
        let mut given = Vec::new();
        let mut answers =
            ReplyGatherer::new(|command, answer: CommandOutcome<'_, '_>| given.push((command, format!("{answer:?}"))));
        answers.expect(1, Combine::Sum, 2);
        answers.expect(2, Combine::Sum, 2);
        answers.reply(1, b":1\r\n");
        answers.reply(0, b":7\r\n");
        answers.error(2, &Error::Cancelled);
        answers.reply(1, b":2\r\n");
        answers.reply(2, b":1\r\n");
        let given = given.into_iter().map(|(command, text)| format!("{command} {text}")).collect::<Vec<_>>();
        assert_eq!(given, ["0 Ok(Int(7))", "1 Ok(Int(3))", "2 Err(Cancelled)"]);
    }
}
