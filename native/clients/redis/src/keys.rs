//! The positions of keys among the arguments of commands.

/// The positions of a command's keys among its arguments. Its name is argument 0.
#[derive(Clone, Copy)]
pub(crate) enum Keys {
    /// From the first to the last position, every `step`th argument. A negative last position counts from the end.
    Range { first: usize, last: isize, step: usize },
    /// As many keys as argument `count` says, behind it, every `step`th argument. Argument 1 as well if there is a target.
    Counted { count: usize, step: usize, has_target: bool },
    /// The first half of the arguments behind the word STREAMS. It stands at `from` or later.
    Streams { from: usize },
    /// Argument 3, or the arguments behind the word KEYS if argument 3 is empty.
    Migrated,
    /// Argument 1, and the arguments behind the words STORE and STOREDIST. They stand at `from` or later.
    Stored { from: usize },
}

/// The key of a command that has one, as its first argument. Most commands are of this kind, unknown ones are taken for it.
pub(crate) const FIRST: Keys = Keys::Range { first: 1, last: 1, step: 1 };
pub(crate) const ALL: Keys = Keys::Range { first: 1, last: -1, step: 1 };
pub(crate) const ALL_BUT_LAST: Keys = Keys::Range { first: 1, last: -2, step: 1 };
pub(crate) const TWO: Keys = Keys::Range { first: 1, last: 2, step: 1 };
pub(crate) const PAIRS: Keys = Keys::Range { first: 1, last: -1, step: 2 };
pub(crate) const SECOND: Keys = Keys::Range { first: 2, last: 2, step: 1 };

impl Keys {
    /// The keys among a command's arguments, its name included.
    pub(crate) fn among<'a>(self, arguments: &[&'a [u8]]) -> Vec<&'a [u8]> {
        let from = |start: usize| arguments.get(start..).unwrap_or_default();
        let is = |argument: &[u8], word: &str| argument.eq_ignore_ascii_case(word.as_bytes());
        match self {
            Self::Range { first, last, step } => {
                let end =
                    if last < 0 { arguments.len().saturating_add_signed(last + 1) } else { last.unsigned_abs() + 1 };
                arguments
                    .get(first..end.min(arguments.len()))
                    .unwrap_or_default()
                    .iter()
                    .step_by(step)
                    .copied()
                    .collect()
            }
            Self::Counted { count, step, has_target } => {
                let keys: usize = arguments.get(count).and_then(|text| number(text)).unwrap_or_default();
                let target = from(1).first().filter(|_| has_target);
                target.into_iter().chain(from(count + 1).iter().step_by(step).take(keys)).copied().collect()
            }
            Self::Streams { from: start } => {
                let behind = from(start).iter().position(|argument| is(argument, "STREAMS"));
                let streams = behind.map_or(Default::default(), |at| from(start + at + 1));
                streams[..streams.len().div_ceil(2)].to_vec()
            }
            Self::Migrated => match arguments.get(3) {
                Some(key) if !key.is_empty() => vec![key],
                _ => {
                    let behind = from(4).iter().position(|argument| is(argument, "KEYS"));
                    behind.map_or(Default::default(), |at| from(4 + at + 1)).to_vec()
                }
            },
            Self::Stored { from: start } => {
                let words = from(start).windows(2).filter(|pair| is(pair[0], "STORE") || is(pair[0], "STOREDIST"));
                from(1).first().copied().into_iter().chain(words.map(|pair| pair[1])).collect()
            }
        }
    }
}

pub(crate) fn number<T: std::str::FromStr>(digits: &[u8]) -> Option<T> {
    std::str::from_utf8(digits).ok()?.parse().ok()
}
