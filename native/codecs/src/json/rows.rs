//! Rows read from a stream: `{..., "data": [row, row, ...]}` is parsed as it arrives, however it is cut.

use boundary_bench_kernel::{Error, Result};

use super::problem::{Problem, Scanned};
use super::scanner::Scanner;
use super::{Paths, Picked, malformed};

/// The most bytes of one row.
const MOST_ROW: usize = 64 << 20;

/// A streaming reader of an array's elements. The array is an entry of the outermost object.
#[derive(Debug)]
pub struct Rows {
    array: String,
    /// The paths to pick, relative to an element of the array.
    paths: Paths,
    place: Position,
    /// The last bytes received. They end in the middle of a row.
    pending: Vec<u8>,
    /// The number of lines before `pending`, for error messages.
    lines: usize,
}

/// The place in the JSON of the next bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Position {
    Before,
    /// Inside the array, at its first element or behind a comma.
    In {
        is_first: bool,
    },
    After,
    Over,
}

impl Rows {
    /// A reader of the rows in the entry `array`, with the paths to pick out of each.
    pub fn new(array: &str, paths: Paths) -> Self {
        Self { array: array.to_owned(), paths, place: Position::Before, pending: Vec::new(), lines: 0 }
    }

    /// Takes the next bytes, and returns the values of the rows that they complete.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] if the bytes are no JSON of this form. The reader is unusable then.
    pub fn feed(&mut self, bytes: &[u8]) -> Result<Vec<Picked>> {
        let before = std::mem::take(&mut self.pending);
        let joined = (!before.is_empty()).then(|| [&before, bytes].concat());
        let bytes = joined.as_deref().unwrap_or(bytes);
        let mut columns = self.paths.columns();
        let mut scanner = Scanner::new(bytes, self.paths.names);
        let mut done = 0;
        match self.read(&mut scanner, &mut columns, &mut done) {
            Ok(()) => {}
            Err(Problem::Ends) if bytes.len() - done <= MOST_ROW => {}
            Err(Problem::Ends) => return Err(Error::InvalidArgument(format!("a row has more than {MOST_ROW} bytes"))),
            Err(problem) => return Err(malformed(problem, &bytes[..scanner.at.min(bytes.len())], self.lines)),
        }
        self.lines += memchr::memchr_iter(b'\n', &bytes[..done]).count();
        self.pending.extend_from_slice(&bytes[done..]);
        Ok(columns)
    }

    /// Ends the input.
    pub fn finish(&self) -> Result<()> {
        if self.place == Position::Over { Ok(()) } else { Err(malformed(Problem::Ends, &self.pending, self.lines)) }
    }

    /// Reads as many whole parts as there are. `done` is the end of the last one.
    fn read(&mut self, scanner: &mut Scanner<'_>, columns: &mut [Picked], done: &mut usize) -> Scanned<()> {
        let mut lengths = vec![0; columns.len()];
        loop {
            lengths.iter_mut().zip(&*columns).for_each(|(length, column)| *length = column.len());
            let next = match self.place {
                Position::Before => self.head(scanner),
                Position::In { is_first } => self.row(scanner, is_first, columns),
                Position::After => self.tail(scanner),
                Position::Over if scanner.is_at_end() => return Ok(()),
                Position::Over => Err(Problem::Wrong("there is more behind its end")),
            };
            match next {
                Ok(place) => (self.place, *done) = (place, scanner.at),
                Err(problem) => {
                    columns.iter_mut().zip(lengths).for_each(|(column, length)| column.truncate(length));
                    return Err(problem);
                }
            }
        }
    }

    /// Reads up to the array's opening bracket.
    fn head(&self, scanner: &mut Scanner<'_>) -> Scanned<Position> {
        scanner.expect(b'{', "it is no object")?;
        loop {
            scanner.expect(b'"', "the array is not there")?;
            if *scanner.name()? == *self.array.as_bytes() {
                scanner.expect(b'[', "what should be an array is none")?;
                return Ok(Position::In { is_first: true });
            }
            scanner.value(None, &mut [])?;
            scanner.expect(b',', "the array is not there")?;
        }
    }

    /// Reads a row and the comma or bracket behind it, or the end of an array without rows.
    fn row(&self, scanner: &mut Scanner<'_>, is_first: bool, columns: &mut [Picked]) -> Scanned<Position> {
        if is_first {
            if scanner.next()? == b']' {
                return Ok(Position::After);
            }
            scanner.at -= 1;
        }
        scanner.value(Some(&self.paths.root), columns)?;
        match scanner.next()? {
            b',' => Ok(Position::In { is_first: false }),
            b']' => Ok(Position::After),
            _ => Err(Problem::Wrong("there is no comma between two elements")),
        }
    }

    /// Reads the entries behind the array.
    fn tail(&self, scanner: &mut Scanner<'_>) -> Scanned<Position> {
        loop {
            match scanner.next()? {
                b'}' => return Ok(Position::Over),
                b',' => {
                    scanner.expect(b'"', "an entry has no name")?;
                    if *scanner.name()? == *self.array.as_bytes() {
                        return Err(Problem::Wrong("the array is there twice"));
                    }
                    scanner.value(None, &mut [])?;
                }
                _ => return Err(Problem::Wrong("there is no comma between two entries")),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::Kind;
    use super::*;

    fn rows() -> Rows {
        Rows::new("data", Paths::new([("n", Kind::Number), ("t", Kind::Text)]).unwrap())
    }

    /// The values picked from bytes that arrive in these pieces.
    fn read(pieces: &[&[u8]]) -> Result<[Vec<Option<String>>; 2]> {
        let mut rows = rows();
        let mut found = [Vec::new(), Vec::new()];
        for piece in pieces {
            for (column, picked) in found.iter_mut().zip(rows.feed(piece)?) {
                column.extend(picked.texts());
            }
        }
        rows.finish().map(|()| found)
    }

    #[test]
    fn rows_are_read_wherever_the_array_is() {
        for (json, count) in [
            (r#"{"data":[]}"#, 0),
            (r#"{"data":[{"n":1,"t":"a"}]}"#, 1),
            (
                "{\"code\":200,\"operationId\":\"a]b\",\"data\":\n[{\"t\":\"}],[{\",\"n\":2}\n,{\"n\":null,\"t\":null}\n]\n,\"rows\":2}\n",
                2,
            ),
        ] {
            assert_eq!(read(&[json.as_bytes()]).unwrap()[0].len(), count, "{json}");
        }
    }

    #[test]
    fn each_row_has_one_value_of_each_path() {
        let json = r#"{"data":[{"t":"a"},{"n":2},{"n":3,"t":"c"},7,null,{"t":"f","n":6}]}"#.as_bytes();
        let expected = ["- 2 3 - - 6", "a - c - - f"];
        for cut in 0..json.len() {
            let (first, second) = json.split_at(cut);
            let found = read(&[first, second]).unwrap();
            let shown =
                found.map(|column| column.into_iter().map(|text| text.unwrap_or("-".into())).collect::<Vec<_>>());
            assert_eq!(shown.map(|column| column.join(" ")), expected, "cut at {cut}");
        }
    }

    #[test]
    fn what_is_no_such_json_is_refused() {
        for (json, said) in [
            ("", "ends early"),
            ("[]", "no object"),
            ("\u{feff}{\"data\":[]}", "a byte order mark"),
            ("{}", "not there"),
            (r#"{"data":{}}"#, "none"),
            (r#"{"data":[{"n":1},]}"#, "no value"),
            (r#"{"data":[{"n":1} {}]}"#, "no comma"),
            (r#"{"data":[{"n":1}"#, "ends early"),
            (r#"{"data":[]} x"#, "more behind"),
            (r#"{"data":[{"n":1}],"x":1,"data":[{"n":2}]}"#, "the array is there twice"),
            (r#"{"data":[{"n":1,"n":2}]}"#, "a name of a path twice"),
            ("{\"data\":[\n{\"n\":1},\n{\"n\":\"x\"}]}", "line 3"),
        ] {
            let error = read(&[json.as_bytes()]).unwrap_err();
            assert_eq!(error.code(), "BB_INVALID_ARGUMENT");
            assert!(error.to_string().contains(said), "{json}: {error}");
        }
    }

    proptest! {
        #[test]
        fn rows_are_the_same_however_they_are_cut(
            texts in proptest::collection::vec(any::<String>(), 0..20), cuts in proptest::collection::vec(1_usize..30, 0..60),
        ) {
            let rows = texts.iter().enumerate().map(|(index, text)| serde_json::json!({"t": text, "n": index, "x": [text]}));
            let json = serde_json::json!({"code": 200, "data": rows.collect::<Vec<_>>()}).to_string();
            let (mut pieces, mut rest) = (Vec::new(), json.as_bytes());
            for cut in cuts {
                let (piece, after) = rest.split_at(cut.min(rest.len()));
                pieces.push(piece);
                rest = after;
            }
            pieces.push(rest);
            let [numbers, found] = read(&pieces).unwrap();
            prop_assert_eq!(found, texts.iter().cloned().map(Some).collect::<Vec<_>>());
            prop_assert_eq!(numbers, (0..texts.len()).map(|index| Some(index.to_string())).collect::<Vec<_>>());
        }

        #[test]
        fn no_bytes_make_it_panic(bytes in proptest::collection::vec(any::<u8>(), 0..60), cut in 0_usize..60) {
            let start = b"{\"data\":[{\"n\":".as_slice();
            let bytes = [start, &bytes].concat();
            let (first, second) = bytes.split_at(cut.min(bytes.len()));
            let _ = read(&[first, second]);
        }
    }
}
