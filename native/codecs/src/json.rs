//! Values picked out of JSON by their paths, in one pass and without a tree. This way, many values cross in one buffer, and no object
//! is built for a value that nobody reads.
//!
//! The scanner is our own. On responses of batches and of scans it is faster than `serde_json` with the same paths, and than
//! `sonic-rs`, `simd-json` and `JSON.parse`. It needs no unsafe code and no dependency.

mod columns;
mod problem;
mod rows;
mod scanner;

use boundary_bench_kernel::{Error, Result};

pub use columns::{Kind, Picked};
pub use rows::Rows;

use problem::Problem;
use scanner::Scanner;

/// The step of a path that stands for every element of an array, and every value of an object.
const EACH: &str = "*";

/// The most steps of a path.
const MOST_STEPS: usize = 64;

/// Paths such as `result.*.body.data.*`, as a tree.
///
/// A path without `*` has one value: null if the JSON has none. A `*` stands for every value that is there, and each of them has
/// one value for the steps behind it. So paths that are the same up to their last `*` have as many values, and the values at one
/// index belong together. An object that has a name of a path twice is refused, since which value counts would be a guess.
#[derive(Debug, Default)]
pub struct Paths {
    root: Node,
    kinds: Vec<Kind>,
    /// The number of steps that are names.
    names: usize,
}

#[derive(Debug, Default)]
struct Node {
    steps: Vec<(String, Node)>,
    each: Option<Box<Node>>,
    /// The index of the column whose path ends at this node.
    column: Option<usize>,
    /// The number of this step among those that are names.
    number: usize,
    /// The columns of the paths that lead on from here by names alone. They have a null where the JSON does not lead on.
    below: Vec<usize>,
}

impl Paths {
    /// The tree of these paths, each with its steps separated by dots and with the type of its values.
    pub fn new<'a>(paths: impl IntoIterator<Item = (&'a str, Kind)>) -> Result<Self> {
        let mut tree = Self::default();
        for (path, kind) in paths {
            let refused = |problem: &str| Err(Error::InvalidArgument(format!("the path {path:?} {problem}")));
            if path.is_empty() || path.split('.').count() > MOST_STEPS {
                return refused("must have 1 to 64 steps");
            }
            let mut node = &mut tree.root;
            for step in path.split('.') {
                node = node.step(step, &mut tree.names);
            }
            if node.column.replace(tree.kinds.len()).is_some() {
                return refused("is there twice");
            }
            tree.kinds.push(kind);
        }
        tree.root.find_below();
        Ok(tree)
    }

    /// Picks the values of the paths out of a JSON text.
    pub fn pick(&self, json: &[u8]) -> Result<Vec<Picked>> {
        let mut columns = self.columns();
        let mut scanner = Scanner::new(json, self.names);
        let mut read = scanner.value(Some(&self.root), &mut columns);
        if read.is_ok() && !scanner.is_at_end() {
            read = Err(Problem::Wrong("there is more behind its end"));
        }
        read.map_err(|problem| malformed(problem, &json[..scanner.at.min(json.len())], 0))?;
        Ok(columns)
    }

    fn columns(&self) -> Vec<Picked> {
        self.kinds.iter().map(|kind| Picked::new(*kind)).collect()
    }
}

/// The error for malformed JSON, with the line and the column of the problem. `before` is the text up to it. `lines`
/// counts the lines of earlier pieces.
fn malformed(problem: Problem, before: &[u8], lines: usize) -> Error {
    let problem = match problem {
        Problem::Ends => "it ends early",
        Problem::Wrong(problem) => problem,
    };
    let line = lines + 1 + memchr::memchr_iter(b'\n', before).count();
    let column = before.len() - memchr::memrchr(b'\n', before).map_or(0, |end| end + 1);
    Error::InvalidArgument(format!(
        "the body is no JSON, or not as it was asked for: {problem}, at line {line}, column {column}"
    ))
}

impl Node {
    fn step(&mut self, step: &str, names: &mut usize) -> &mut Self {
        if step == EACH {
            return self.each.get_or_insert_default();
        }
        let place = self.steps.iter().position(|(name, _)| name == step).unwrap_or_else(|| {
            self.steps.push((step.to_owned(), Self { number: *names, ..Self::default() }));
            *names += 1;
            self.steps.len() - 1
        });
        &mut self.steps[place].1
    }

    fn find_below(&mut self) {
        self.each.iter_mut().for_each(|each| each.find_below());
        for (_, step) in &mut self.steps {
            step.find_below();
            self.below.extend(step.column.iter().chain(&step.below));
        }
    }

    /// The step for an entry's name, which comes before `*`. `expected` is the step that is tried first, and becomes the step after
    /// the match.
    fn named(&self, name: &[u8], expected: &mut usize) -> Option<&Self> {
        let is_it = |(step, _): &(String, Self)| step.as_bytes() == name;
        let found = match self.steps.get(*expected) {
            Some(step) if is_it(step) => *expected,
            _ => self.steps.iter().position(is_it)?,
        };
        *expected = found + 1;
        Some(&self.steps[found].1)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn texts(paths: &[&str]) -> Paths {
        Paths::new(paths.iter().map(|path| (*path, Kind::Text))).unwrap()
    }

    fn pick(json: &str, paths: &[&str]) -> Vec<Vec<Option<String>>> {
        texts(paths).pick(json.as_bytes()).unwrap().iter().map(|column| column.texts().collect()).collect()
    }

    fn some(texts: &[&str]) -> Vec<Option<String>> {
        texts.iter().map(|text| Some((*text).to_owned())).collect()
    }

    #[test]
    fn values_are_picked_by_their_paths() {
        let json = r#"{"result":[{"code":200,"body":{"operationId":"1","data":{"a":"x\n\u00e9","b":null}}},
                      {"code":404,"body":{"operationId":"2","data":{}},"more":[[]]},
                      {"body":{"data":{"b":-1.5,"a":true}}}], "\u0078":{"y":1}}"#;
        let found = pick(
            json,
            &["result.*.body.operationId", "result.*.body.data.*", "x.y", "none.such", "result.*.body.data.b"],
        );
        // The third one has none.
        assert_eq!(found[0], [some(&["1", "2"]), vec![None]].concat());
        // A step with a name comes before `*`.
        assert_eq!(found[1], some(&["x\n\u{e9}", "true"]));
        assert_eq!(found[4], [None, None, Some("-1.5".to_owned())]);
        assert_eq!((&found[2], &found[3][..]), (&some(&["1"]), &[None][..]));
        assert_eq!(pick("[1,[2,3],4]", &["*.*"]), [some(&["2", "3"])]);
        // Numbers keep all their digits.
        let long = "-123456789012345678901234567890.10e+05";
        assert_eq!(pick(&format!("[{long}]"), &["*"]), [some(&[long])]);
    }

    #[test]
    fn values_at_one_index_belong_to_one_element() {
        let paths = &["rows.*.a", "rows.*.b.c", "rows.*.b.*", "d", "d.e"];
        for (json, expected) in [
            (
                r#"{"rows":[{"b":{"c":1}},{"a":2},{"a":null,"b":null},{},3,[4],{"b":{"c":5},"a":6}]}"#,
                ["-2----6", "1-----5", "", "-", "-"],
            ),
            (r#"{"rows":{"x":{"b":{"x":1}},"y":{"a":7,"x":{}},"z":"t"}}"#, ["-7-", "---", "1", "-", "-"]),
            (r#"{"rows":null,"d":4}"#, ["", "", "", "4", "-"]),
            ("null", ["", "", "", "-", "-"]),
        ] {
            let columns = pick(json, paths).into_iter();
            let shown = columns.map(|column| column.into_iter().map(|text| text.unwrap_or("-".into())).collect());
            assert_eq!(shown.collect::<Vec<String>>(), expected, "{json}");
        }
        // A name that is there twice is no guess, unless no path has it.
        for json in [r#"{"d":1,"d":2}"#, r#"{"rows":[{"b":{"c":1,"\u0063":1}}]}"#, r#"{"rows":[],"rows":[{}]}"#] {
            let error = texts(paths).pick(json.as_bytes()).unwrap_err().to_string();
            assert!(error.contains("an object has a name of a path twice, at line 1"), "{json}: {error}");
        }
        assert_eq!(pick(r#"{"x":{"d":1,"d":2},"x":{},"d":3}"#, &["d"]), [some(&["3"])]);
    }

    #[test]
    fn texts_that_are_no_utf_8_are_refused_also_where_they_are_skipped() {
        for text in
            [&b"\xff"[..], b"12345678\xff", b"\xff2345678", b"1234567\xff1234567", b"\\n\xc3\\n", b"\xed\xa0\x80"]
        {
            for (before, behind) in [("{\"x\":\"", "\"}"), ("{\"x\":{\"", "\":1}}"), ("{\"a\":\"", "\"}")] {
                let json = [before.as_bytes(), text, behind.as_bytes()].concat();
                let error = texts(&["a"]).pick(&json).unwrap_err().to_string();
                assert!(error.contains("a text is not UTF-8, at line 1"), "{text:?}: {error}");
            }
        }
    }

    #[test]
    fn numbers_are_numbers() {
        let paths = Paths::new([("*.n", Kind::Number), ("*.t", Kind::Text)]).unwrap();
        let picked = paths.pick(br#"[{"t":"a","n":1},{"n":-0.25e1,"t":"b"},{"n":null}]"#).unwrap();
        let Picked::Numbers { values, nulls } = &picked[0] else { panic!("these are numbers") };
        assert_eq!((&values[..2], values[2].is_nan(), &nulls[..]), (&[1.0, -2.5][..], true, &[0, 0, 1][..]));
        for json in [r#"[{"n":"1"}]"#, r#"[{"n":true}]"#, r#"[{"n":[]}]"#] {
            assert!(paths.pick(json.as_bytes()).is_err(), "{json}");
        }
    }

    #[test]
    fn what_can_not_be_picked_is_refused() {
        assert!(
            Paths::new([("a", Kind::Text), ("a", Kind::Number)]).is_err() && Paths::new([("", Kind::Text)]).is_err()
        );
        let paths = texts(&["a"]);
        for (json, place) in [
            ("", "line 1, column 0"),
            ("{", "column 1"),
            ("{\n\"a\":[1]}", "line 2, column 5"),
            (r#"{"a":{}}"#, "column 6"),
            ("{} x", "column 3"),
            ("\u{feff}{}", "a byte order mark (EF BB BF) is no part of JSON, at line 1"),
            (r#"{"a":"\ud800"}"#, "a text is not readable"),
            (r#"{"a" "b"}"#, "no colon"),
            (r#"{"a":01}"#, "a number begins with 0"),
            ("{\"a\":\"\u{1}\"}", "control character"),
        ] {
            let error = paths.pick(json.as_bytes()).unwrap_err();
            assert_eq!(error.code(), "BB_INVALID_ARGUMENT", "{json}");
            assert!(error.to_string().contains(place), "{json}: {error}");
        }
        assert!(paths.pick(b"{\"a\":\"\xff\"}").unwrap_err().to_string().contains("UTF-8"));
        // Nesting deeper than the limit.
        assert!(paths.pick("[".repeat(100_000).as_bytes()).is_err());
    }

    proptest! {
        #[test]
        fn texts_come_as_they_were(texts in proptest::collection::vec(any::<String>(), 0..20)) {
            let json = serde_json::to_string(&texts).unwrap();
            let expected = texts.into_iter().map(Some).collect::<Vec<_>>();
            prop_assert_eq!(pick(&json, &["*"]), [expected]);
        }

        #[test]
        fn numbers_come_as_they_were(values in proptest::collection::vec(any::<f64>().prop_filter("JSON has no others", |value| value.is_finite()), 0..20)) {
            let picked = Paths::new([("*", Kind::Number)]).unwrap().pick(serde_json::to_string(&values).unwrap().as_bytes()).unwrap();
            let Picked::Numbers { values: found, .. } = &picked[0] else { panic!("these are numbers") };
            prop_assert_eq!(found, &values);
        }

        #[test]
        fn no_bytes_make_it_panic(bytes in proptest::collection::vec(any::<u8>(), 0..60)) {
            let _ = texts(&["a.*", "*.b"]).pick(&bytes);
        }
    }
}
