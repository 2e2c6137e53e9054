//! The form in which requests and results cross from and to JavaScript: one buffer each way. All numbers are
//! little-endian.
//!
//! A submission is 32-bit words, then bytes. The first word is the operation:
//!
//! - 0, requests. More words: the number of statements, and the number of requests. For each statement its flags (bit 0:
//!   sent as text), the number of values in each list, the number of lists, the bytes of its SQL, and the bytes of its
//!   lists. Then, if there is more than one statement, the index of each request's statement. Then for each statement the
//!   bytes of its SQL and of its lists ([`CellLists`]). Results follow.
//! - 1, a ping. It has no results.
//! - 2, preparing the statement in the rest of the bytes. The result is the number of its parameters, a word.
//! - 3, inserting rows. More words: the number of columns, the number of rows, the bytes of the table's name, the bytes of each
//!   column's name, and the bytes of the lists. Then all of these. The result is the number of rows, a word.
//!
//! Results cross in a frame ([`boundary_bench_kernel::frame`]). Its ids are the numbers of connections. JavaScript reads it from a
//! multiple of 8 bytes: words, then sections that begin at multiples of 8. The words:
//!
//! - the numbers of statements, of parts, of requests and of results.
//! - for each part (the first parts are the statements'), the number of its shape, 0 if it has no rows, and the start of its frame
//!   ([`boundary_bench_engine::frame`]). For the statements' parts, also the first request that failed, from 1, and 1 if the statement has
//!   further parts. Results with other columns than the earlier results are in parts of their own.
//! - for each result (the first results are the requests'), its part, from 1, 0 if it has no rows, its first row and the number of its
//!   rows, and the request's next result, 0 for none. Then the rows that it changed and the first generated key, both of 64 bits. Then
//!   the start of its error, 0 without an error, and the error's end.
//!
//! The last sections are the errors: `[BB_CODE] text`.
//!
//! The result that reports a lost connection has such a text if the session was changed: the error of the calls that rely on it. Its flags say
//! whether a transaction was open (1), and whether no call was told of the loss (2).

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex};

use boundary_bench_engine::frame;
use boundary_bench_kernel::frame::word;
use boundary_bench_kernel::{Error, Result, lock};

use crate::batch::{Batch, StatementLists, run_batch};
use crate::cells::CellLists;
use crate::codec::Bytes;
use crate::insert::insert_lists;
use crate::outcome::Results;
use crate::pool::Session;
use crate::rows::RowShape;
use crate::session_state::admit;

/// Kinds of submissions, in their first word.
const RUN: u32 = 0;
const PING: u32 = 1;
const PREPARE: u32 = 2;
const INSERT: u32 = 3;

/// The flag of a statement that is sent as text.
const AS_TEXT: u32 = 1;

/// Flags of the end of a connection whose session was changed: it was in a transaction, and no call was under way, to be told of the end.
pub(crate) const LOST_TRANSACTION: u32 = 1;
pub(crate) const LOST_UNTOLD: u32 = 2;

/// The number of words before the first part's words in the results, for each part, and for each result.
const HEAD_WORDS: usize = 4;
const PART_WORDS: usize = 4;
const RESULT_WORDS: usize = 10;

/// The limit of the results in bytes: offsets are 32-bit words, and JavaScript takes them as signed in places.
const MOST_BYTES: usize = 1 << 31;

/// The numbers by which JavaScript knows the layouts of submissions and results, with their names.
pub fn layout() -> Vec<(&'static str, u32)> {
    vec![
        ("RUN", RUN),
        ("PING", PING),
        ("PREPARE", PREPARE),
        ("INSERT", INSERT),
        ("AS_TEXT", AS_TEXT),
        ("LOST_TRANSACTION", LOST_TRANSACTION),
        ("LOST_UNTOLD", LOST_UNTOLD),
        ("HEAD_WORDS", word(HEAD_WORDS)),
        ("PART_WORDS", word(PART_WORDS)),
        ("RESULT_WORDS", word(RESULT_WORDS)),
    ]
}

/// A submission from JavaScript.
#[derive(Debug, Clone, PartialEq)]
pub enum Submission {
    /// Requests to run.
    Run(Batch),
    /// A ping.
    Ping,
    /// A statement to prepare.
    Prepare(String),
    /// Rows to insert.
    Insert {
        /// The name of the table: `table` or `database.table`.
        table: String,
        /// The names of the columns.
        columns: Vec<String>,
        /// The values of each row.
        rows: CellLists,
    },
}

impl Submission {
    /// Reads a submission.
    pub fn read(bytes: &[u8]) -> Result<Self> {
        let mut rest = Bytes(bytes);
        let parsed = match rest.u32() {
            Some(RUN) => parse_batch(rest).map(|batch| batch.map(Self::Run)),
            Some(PING) if rest.0.is_empty() => Some(Ok(Self::Ping)),
            Some(PREPARE) => std::str::from_utf8(rest.0).ok().map(|sql| Ok(Self::Prepare(sql.to_owned()))),
            Some(INSERT) => parse_insert(rest),
            _ => None,
        };
        parsed.unwrap_or_else(|| Err(Error::InvalidArgument("the requests are not encoded as they must be".to_owned())))
    }

    /// Runs the submission on a session.
    pub(crate) async fn perform(&self, session: &mut Session, max_packet: usize) -> Result<Performed> {
        match self {
            Self::Run(batch) => run_batch(session, batch, max_packet).await.map(Performed::Results),
            Self::Ping => {
                session.connection.ping().await?;
                Ok(Performed::Nothing)
            }
            Self::Prepare(sql) => {
                admit(sql)?;
                Ok(Performed::Number(session.prepared(sql).await?.parameters.into()))
            }
            Self::Insert { table, columns, rows } => {
                insert_lists(session, table, columns, rows, max_packet).await.map(Performed::Number)
            }
        }
    }
}

/// The outcome of a submission.
pub(crate) enum Performed {
    Results(Results),
    /// The number of rows inserted, or of a statement's parameters.
    Number(u64),
    Nothing,
}

impl Performed {
    /// Appends the bytes for JavaScript at the end of `target`, a multiple of 8.
    pub(crate) fn write(&self, target: &mut Vec<u8>, shapes: &Shapes) -> Result<()> {
        match self {
            Self::Results(results) => write_results(results, shapes, target)?,
            Self::Number(number) => {
                target.extend_from_slice(&u32::try_from(*number).unwrap_or(u32::MAX).to_le_bytes());
            }
            Self::Nothing => {}
        }
        Ok(())
    }
}

fn size(bytes: &mut Bytes<'_>) -> Option<usize> {
    usize::try_from(bytes.u32()?).ok()
}

fn text(bytes: &mut Bytes<'_>, length: usize) -> Option<String> {
    std::str::from_utf8(bytes.take(length)?).ok().map(str::to_owned)
}

fn parse_batch(mut rest: Bytes<'_>) -> Option<Result<Batch>> {
    struct Head {
        flags: u32,
        width: usize,
        lists: usize,
        sql: usize,
        cells: usize,
    }
    let (statements, requests) = (size(&mut rest)?, size(&mut rest)?);
    // No count may make us reserve more memory than the bytes could fill.
    if statements > rest.0.len() || (statements != 1 && requests > rest.0.len()) {
        return None;
    }
    let mut heads = Vec::with_capacity(statements);
    for _ in 0..statements {
        heads.push(Head {
            flags: rest.u32()?,
            width: size(&mut rest)?,
            lists: size(&mut rest)?,
            sql: size(&mut rest)?,
            cells: size(&mut rest)?,
        });
    }
    let order = if statements == 1 { None } else { Some((0..requests).map(|_| rest.u32()).collect::<Option<_>>()?) };
    let mut statements = Vec::with_capacity(heads.len());
    for head in heads {
        let sql = text(&mut rest, head.sql)?;
        let lists = match CellLists::new(rest.take(head.cells)?.to_vec(), head.lists, head.width) {
            Ok(lists) => lists,
            Err(error) => return Some(Err(error)),
        };
        statements.push(StatementLists { sql, lists, is_text: head.flags & AS_TEXT != 0 });
    }
    // With one statement, each of its lists is a request.
    let is_whole = rest.0.is_empty() && (order.is_some() || statements.first()?.lists.len() == requests);
    is_whole.then(|| Ok(Batch { order: order.unwrap_or_else(|| vec![0; requests]), statements }))
}

fn parse_insert(mut rest: Bytes<'_>) -> Option<Result<Submission>> {
    let (columns, rows) = (size(&mut rest)?, size(&mut rest)?);
    let table = size(&mut rest)?;
    if columns > rest.0.len() {
        return None;
    }
    let names: Vec<usize> = (0..columns).map(|_| size(&mut rest)).collect::<Option<_>>()?;
    let cells = size(&mut rest)?;
    let table = text(&mut rest, table)?;
    let names: Vec<String> = names.into_iter().map(|length| text(&mut rest, length)).collect::<Option<_>>()?;
    let lists = CellLists::new(rest.take(cells)?.to_vec(), rows, columns);
    rest.0.is_empty().then(|| lists.map(|rows| Submission::Insert { table, columns: names, rows }))
}

/// The shapes of results that were sent to JavaScript, by their numbers, from 1.
#[derive(Default)]
pub struct Shapes(Mutex<Known>);

#[derive(Default)]
struct Known {
    /// The shapes that are kept, whose numbers begin at `forgotten` + 1.
    shapes: VecDeque<Arc<RowShape>>,
    /// The number of each shape and of equal shapes, by the shape's address. The shapes are kept, so that no other shape
    /// can get the same address.
    numbers: HashMap<usize, (Arc<RowShape>, u32)>,
    /// The number of shapes that were dropped before these.
    forgotten: u32,
}

/// The most shapes that are kept: beyond it the oldest is dropped. Its number is not reused, since JavaScript may still know it.
const MOST_SHAPES: usize = 4096;

/// The most addresses that are kept: each connection has its own shape of a statement.
const MOST_ADDRESSES: usize = 4 * MOST_SHAPES;

impl Shapes {
    /// The shape with a number, if it is kept.
    pub fn get(&self, number: u32) -> Option<Arc<RowShape>> {
        let known = lock(&self.0);
        let place = number.checked_sub(known.forgotten)?.checked_sub(1)?;
        known.shapes.get(usize::try_from(place).ok()?).cloned()
    }

    fn number(&self, shape: &Arc<RowShape>) -> u32 {
        let mut known = lock(&self.0);
        let address = Arc::as_ptr(shape).addr();
        if let Some((_, number)) = known.numbers.get(&address) {
            return *number;
        }
        // Equal shapes of several connections share a number.
        let same = known.shapes.iter().position(|known| known.columns() == shape.columns());
        let place = same.unwrap_or_else(|| {
            if known.shapes.len() >= MOST_SHAPES {
                known.shapes.pop_front();
                known.forgotten = known.forgotten.wrapping_add(1);
                let forgotten = known.forgotten;
                known.numbers.retain(|_, (_, number)| *number != forgotten);
            }
            known.shapes.push_back(Arc::clone(shape));
            known.shapes.len() - 1
        });
        let number = known.forgotten.wrapping_add(u32::try_from(place + 1).unwrap_or(u32::MAX));
        if known.numbers.len() >= MOST_ADDRESSES {
            known.numbers.clear();
        }
        known.numbers.insert(address, (Arc::clone(shape), number));
        number
    }
}

/// Appends results for JavaScript at the end of `target`, a multiple of 8. All their offsets count from there.
fn write_results(results: &Results, shapes: &Shapes, target: &mut Vec<u8>) -> Result<()> {
    let first = target.len();
    let Results { rows, more, split, requests, further, failed } = results;
    let (parts, count) = (rows.len() + more.len(), requests.len() + further.len());
    target.resize(first + (HEAD_WORDS + PART_WORDS * parts + RESULT_WORDS * count) * 4, 0);
    put(&mut target[first..], 0, &[rows.len(), parts, requests.len(), count])?;
    for (index, rows) in rows.iter().map(Option::as_ref).chain(more.iter().map(Some)).enumerate() {
        let (mut shape, mut start) = (0, 0);
        if let Some(rows) = rows {
            start = frame::encode_into(&rows.batch, target)? - first;
            shape = usize::try_from(shapes.number(&rows.shape)).unwrap_or(usize::MAX);
        }
        let failed = failed.get(index).copied().flatten().map_or(0, |request| request + 1);
        let is_split = split.get(index).is_some_and(|is_split| *is_split);
        put(&mut target[first..], HEAD_WORDS + PART_WORDS * index, &[shape, start, failed, usize::from(is_split)])?;
    }
    for (index, result) in requests.iter().chain(further).enumerate() {
        let word = HEAD_WORDS + PART_WORDS * parts + RESULT_WORDS * index;
        let error = result.error.as_ref().map(|error| {
            let start = target.len();
            target.extend_from_slice(error.coded().as_bytes());
            [start - first, target.len() - first]
        });
        let bytes = &mut target[first..];
        let part = result.part.map_or(0, |part| part + 1);
        let next = result.next.map_or(0, |next| requests.len() + next);
        put(bytes, word, &[part, result.first_row, result.rows, next])?;
        bytes[(word + 4) * 4..][..8].copy_from_slice(&result.affected_rows.to_le_bytes());
        bytes[(word + 6) * 4..][..8].copy_from_slice(&result.last_insert_id.to_le_bytes());
        put(bytes, word + 8, &error.unwrap_or_default())?;
    }
    let length = target.len() - first;
    if length >= MOST_BYTES {
        return Err(Error::Unsupported(format!(
            "the results take {length} bytes, more than one call can return (2 GiB); ask for less at a time"
        )));
    }
    Ok(())
}

fn put(bytes: &mut [u8], first_word: usize, words: &[usize]) -> Result<()> {
    for (index, word) in words.iter().enumerate() {
        let word =
            u32::try_from(*word).map_err(|_| Error::Unsupported("the results take more than 4 GiB".to_owned()))?;
        bytes[(first_word + index) * 4..][..4].copy_from_slice(&word.to_le_bytes());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::codec::{BINARY_CHARSET, Field, type_id};
    use crate::rows::Form;
    use crate::url::ValueForms;

    fn words(words: &[u32]) -> Vec<u8> {
        words.iter().flat_map(|word| word.to_le_bytes()).collect()
    }

    #[test]
    fn submissions_are_read() {
        let mut bytes = words(&[0, 2, 3, 0, 1, 2, 3, 2, 1, 0, 1, 5, 0, 0, 1, 0]);
        bytes.extend_from_slice(b"A ?\x00\x02BEGIN");
        let Submission::Run(batch) = Submission::read(&bytes).unwrap() else { panic!() };
        assert_eq!(batch.order, [0, 1, 0]);
        assert_eq!((batch.statements[0].sql.as_str(), batch.statements[0].lists.len()), ("A ?", 2));
        assert!(batch.statements[1].is_text && !batch.statements[0].is_text);
        bytes.push(0);
        assert_eq!(Submission::read(&bytes).unwrap_err().code(), "BB_INVALID_ARGUMENT");
        let mut bytes = words(&[3, 1, 2, 1, 2, 2]);
        bytes.extend_from_slice(b"tid\x00\x01");
        let Submission::Insert { table, columns, rows } = Submission::read(&bytes).unwrap() else { panic!() };
        assert_eq!((table.as_str(), columns.as_slice(), rows.len()), ("t", &["id".to_owned()][..], 2));
        assert_eq!(Submission::read(&words(&[1])).unwrap(), Submission::Ping);
    }

    #[test]
    fn a_shape_that_was_forgotten_leaves_its_number_to_no_other() {
        let shapes = Shapes::default();
        let shape = |name: usize| {
            let field = Field {
                name: name.to_string(),
                type_id: type_id::LONG,
                charset: BINARY_CHARSET,
                length: 11,
                flags: 0,
                decimals: 0,
                of_table: false,
            };
            RowShape::new(&[field].into(), Form::Text, ValueForms::default()).unwrap()
        };
        let name_of = |number: u32| shapes.get(number).map(|shape| shape.columns()[0].name.clone());
        let numbers: Vec<_> = (0..MOST_SHAPES + 3).map(|name| shapes.number(&shape(name))).collect();
        assert_eq!((numbers[0], name_of(numbers[2]), shapes.get(0).is_none()), (1, None, true));
        for (name, number) in numbers.iter().enumerate().skip(3) {
            assert_eq!(name_of(*number), Some(name.to_string()));
        }
        assert_eq!(shapes.number(&shape(5)), numbers[5]);
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_panic(
            numbers in prop::collection::vec(prop_oneof![0_u32..6, Just(u32::MAX), Just(1 << 23)], 0..30),
            tail in prop::collection::vec(0_u8..100, 0..30),
        ) {
            let mut bytes = words(&numbers);
            bytes.extend_from_slice(&tail);
            let _ = Submission::read(&bytes);
        }
    }
}
