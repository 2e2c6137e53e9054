//! Requests and results as they cross into JavaScript: one piece of memory each way. All numbers are little-endian.
//!
//! A submission is 32-bit words, then bytes. The words: the number of statements, the number of requests; for each
//! statement its flags (bit 0: sent as text), the values of each list, the number of lists, the bytes of its SQL, the bytes
//! of its lists; then, of more than one statement, the statement of each request. Then for each statement the bytes of its
//! SQL and of its lists ([`CellLists`]).
//!
//! Results are words, then sections that begin at multiples of 64. The words: the number of statements and of requests;
//! for each statement the number of its shape, 0 where it returned no rows, and where its frame begins
//! ([`boundary_bench_core::frame`]); for each request its first row and the number of its rows, the rows that it changed and
//! the first key made for it, both of 64 bits, and where its error begins, 0 without one, and ends. The last sections are
//! the errors: `[BB_CODE] text`.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use boundary_bench_core::{Error, Result, frame};

use crate::cells::CellLists;
use crate::client::{Batch, Results, StatementLists};
use crate::codec::Bytes;
use crate::rows::RowShape;

/// Words for each statement of the results, and for each request.
const STATEMENT_WORDS: usize = 2;
const REQUEST_WORDS: usize = 8;

/// Results end below this many bytes: offsets are 32-bit words, and JavaScript's are signed in places.
const MOST_BYTES: usize = 1 << 31;

/// Reads a submission.
///
/// # Errors
/// [`Error::InvalidArgument`] for bytes that are none.
pub fn read_submission(bytes: &[u8]) -> Result<Batch> {
    parse(bytes)
        .unwrap_or_else(|| Err(Error::InvalidArgument("the requests are not encoded as they must be".to_owned())))
}

fn parse(bytes: &[u8]) -> Option<Result<Batch>> {
    struct Head {
        flags: u32,
        width: usize,
        lists: usize,
        sql: usize,
        cells: usize,
    }
    let mut words = Bytes(bytes);
    let mut word = || words.u32().and_then(|word| usize::try_from(word).ok());
    let (statements, requests) = (word()?, word()?);
    // Each takes a word at least; none may make us reserve memory for what is not there.
    if statements.checked_add(requests)? > bytes.len() && statements != 1 {
        return None;
    }
    let mut heads = Vec::new();
    for _ in 0..statements {
        let flags = u32::try_from(word()?).ok()?;
        heads.push(Head { flags, width: word()?, lists: word()?, sql: word()?, cells: word()? });
    }
    let order = if statements == 1 {
        // One list for each request.
        if heads.first()?.lists != requests {
            return None;
        }
        Vec::new()
    } else {
        (0..requests).map(|_| words.u32()).collect::<Option<Vec<_>>>()?
    };
    let mut batch = Batch { statements: Vec::with_capacity(heads.len()), order };
    for head in heads {
        let sql = std::str::from_utf8(words.take(head.sql)?).ok()?.to_owned();
        let lists = match CellLists::new(words.take(head.cells)?.to_vec(), head.lists, head.width) {
            Ok(lists) => lists,
            Err(error) => return Some(Err(error)),
        };
        batch.statements.push(StatementLists { sql, lists, is_text: head.flags & 1 != 0 });
    }
    if statements == 1 {
        batch.order = vec![0; requests];
    }
    words.0.is_empty().then_some(Ok(batch))
}

/// The shapes of results that JavaScript was told of, by number, from 1.
#[derive(Default)]
pub struct Shapes(Mutex<Known>);

#[derive(Default)]
struct Known {
    /// Kept, so that no other shape gets its address.
    shapes: Vec<Arc<RowShape>>,
    numbers: HashMap<usize, u32>,
}

/// Shapes that are kept, at most: then they are numbered anew.
const MOST_SHAPES: usize = 4096;

impl Shapes {
    /// The shape of a number.
    #[must_use]
    pub fn get(&self, number: u32) -> Option<Arc<RowShape>> {
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.shapes.get(usize::try_from(number).ok()?.checked_sub(1)?).cloned()
    }

    fn number(&self, shape: &Arc<RowShape>) -> u32 {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let address = Arc::as_ptr(shape).addr();
        if let Some(number) = known.numbers.get(&address) {
            return *number;
        }
        // One connection's shape of a statement is another's.
        let same = known.shapes.iter().position(|known| known.columns() == shape.columns());
        let place = same.unwrap_or_else(|| {
            if known.shapes.len() >= MOST_SHAPES {
                *known = Known::default();
            }
            known.shapes.push(Arc::clone(shape));
            known.shapes.len() - 1
        });
        let number = u32::try_from(place + 1).unwrap_or(u32::MAX);
        if same.is_none() {
            known.numbers.insert(address, number);
        }
        number
    }
}

/// Writes results.
///
/// # Errors
/// [`Error::Unsupported`] where they would take 2 GiB: ask for less in one call then.
pub fn write_results(results: &Results, shapes: &Shapes) -> Result<Vec<u8>> {
    let words = 2 + STATEMENT_WORDS * results.rows.len() + REQUEST_WORDS * results.requests.len();
    let mut bytes = vec![0; words * 4];
    put(&mut bytes, 0, &[results.rows.len(), results.requests.len()])?;
    for (index, rows) in results.rows.iter().enumerate() {
        if let Some(rows) = rows {
            let start = frame::encode_into(&rows.batch, &mut bytes)?;
            let number = usize::try_from(shapes.number(&rows.shape)).unwrap_or(usize::MAX);
            put(&mut bytes, 2 + STATEMENT_WORDS * index, &[number, start])?;
        }
    }
    for (index, request) in results.requests.iter().enumerate() {
        let word = 2 + STATEMENT_WORDS * results.rows.len() + REQUEST_WORDS * index;
        put(&mut bytes, word, &[request.first_row, request.rows])?;
        bytes[(word + 2) * 4..][..8].copy_from_slice(&request.affected_rows.to_le_bytes());
        bytes[(word + 4) * 4..][..8].copy_from_slice(&request.last_insert_id.to_le_bytes());
        if let Some(error) = &request.error {
            let start = bytes.len();
            bytes.extend_from_slice(format!("[{}] {error}", error.code()).as_bytes());
            let end = bytes.len();
            put(&mut bytes, word + 6, &[start, end])?;
        }
    }
    if bytes.len() >= MOST_BYTES {
        return Err(Error::Unsupported(format!(
            "the results take {} bytes, more than one call can return (2 GiB); ask for less at a time",
            bytes.len()
        )));
    }
    Ok(bytes)
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

    #[test]
    fn a_submission_is_read() {
        let words = |words: &[u32]| words.iter().flat_map(|word| word.to_le_bytes()).collect::<Vec<u8>>();
        let mut bytes = words(&[2, 3, 0, 1, 2, 3, 3, 1, 0, 1, 5, 0, 0, 1, 0]);
        bytes.extend_from_slice(b"A ?");
        bytes.extend_from_slice(&[0, 2, 1]);
        assert!(read_submission(&bytes).is_err());
        bytes.truncate(15 * 4);
        bytes.extend_from_slice(b"A ?\x00\x02BEGIN");
        bytes[6 * 4..7 * 4].copy_from_slice(&2_u32.to_le_bytes());
        let batch = read_submission(&bytes).unwrap();
        assert_eq!(batch.order, [0, 1, 0]);
        assert_eq!((batch.statements[0].sql.as_str(), batch.statements[0].lists.len()), ("A ?", 2));
        assert!(batch.statements[1].is_text && !batch.statements[0].is_text);
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_panic(words in prop::collection::vec(0_u32..6, 0..30), tail in prop::collection::vec(0_u8..100, 0..30)) {
            let mut bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
            bytes.extend_from_slice(&tail);
            let _ = read_submission(&bytes);
        }
    }
}
