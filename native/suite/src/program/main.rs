//! `boundary-bench-native`: a cell of the side `rust`, in a process without JavaScript. It speaks the protocol of `docs/protocol.md`. The
//! input says which cell: see [`cell::CellInput`]. The result is the checksum of the last sample, once each value was checked.

mod cell;
mod orders;

use std::io::{self, BufReader, Write};
use std::process::ExitCode;

use boundary_bench::{Given, Program};
use boundary_bench_kernel::cancel::CancelToken;
use boundary_bench_kernel::error::catch_panic;
use boundary_bench_kernel::{Error, Result};
use serde_json::{Value, json};

use cell::{Cell, CellInput};
use orders::{Tokens, read_ahead};

/// The argument that asks whether the parts are in this build that bring large trees of crates.
const FEATURES: &str = "--features";

fn main() -> ExitCode {
    if std::env::args().nth(1).as_deref() == Some(FEATURES) {
        let written = writeln!(io::stdout(), "{}", features());
        return if written.is_ok() { ExitCode::SUCCESS } else { ExitCode::FAILURE };
    }
    let (lines, tokens) = read_ahead(BufReader::new(io::stdin()));
    let answered = boundary_bench::answer(&mut Native::new(tokens), BufReader::new(lines), io::stdout().lock());
    if answered.is_ok() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Whether this build has those parts.
fn features() -> Value {
    json!({ "all": cfg!(feature = "all") })
}

/// The program, with its cell once that is open.
struct Native {
    cell: Option<Box<dyn Cell>>,
    /// The checksum of the last sample.
    checksum: Value,
    /// The token of each order that comes.
    tokens: Tokens,
}

impl Native {
    fn new(tokens: Tokens) -> Self {
        Self { cell: None, checksum: Value::Null, tokens }
    }

    /// Obeys an order. A panic is an error, after which the cell can still be closed.
    fn obey<T>(&mut self, order: impl FnOnce(&mut Self, &CancelToken) -> Result<T>) -> std::result::Result<T, String> {
        let token = self.tokens.recv().unwrap_or_default();
        catch_panic(|| order(self, &token)).map_err(|error| error.coded())
    }

    fn opened(&mut self) -> Result<&mut dyn Cell> {
        match &mut self.cell {
            Some(cell) => Ok(&mut **cell),
            None => Err(Error::InvalidArgument("no cell is open".to_owned())),
        }
    }
}

impl Program for Native {
    fn open(&mut self, input: Given) -> std::result::Result<(), String> {
        self.obey(|native, token| {
            let Given::Json(input) = input else {
                return Err(Error::InvalidArgument("a cell is JSON".to_owned()));
            };
            let input: CellInput = serde_json::from_value(input)
                .map_err(|error| Error::InvalidArgument(format!("not a cell: {error}")))?;
            native.cell = Some(input.open(token)?);
            Ok(())
        })
    }

    fn prepare(&mut self) -> std::result::Result<(), String> {
        self.obey(|native, token| native.opened()?.prepare(token))
    }

    fn sample(&mut self, repeats: u64) -> std::result::Result<Value, String> {
        self.obey(|native, token| {
            let repeats = u32::try_from(repeats).map_err(|_| Error::InvalidArgument(format!("{repeats} repeats")))?;
            let sample = native.opened()?.sample(repeats, token)?;
            native.checksum = sample["checksum"].clone();
            Ok(sample)
        })
    }

    fn result(&mut self) -> std::result::Result<Value, String> {
        self.obey(|native, token| {
            native.opened()?.verify(token)?;
            Ok(native.checksum.clone())
        })
    }

    fn close(&mut self) -> std::result::Result<(), String> {
        let Some(mut cell) = self.cell.take() else { return Ok(()) };
        catch_panic(|| cell.close()).map_err(|error| error.coded())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// The answers to the orders.
    fn answers_to(orders: &[Value]) -> Vec<Value> {
        let lines: Vec<_> = orders.iter().map(Value::to_string).collect();
        let (lines, tokens) = read_ahead(io::Cursor::new(lines.join("\n")));
        let mut answers = Vec::new();
        // An order that fails is the last answer.
        let _ = boundary_bench::answer(&mut Native::new(tokens), BufReader::new(lines), &mut answers);
        let answers = String::from_utf8(answers).unwrap();
        answers.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    fn open(input: &Value) -> Value {
        json!({ "type": "open", "protocol": 1, "input": input })
    }

    fn on_memory(workload: &str, lane: &str) -> Value {
        let spec =
            json!({ "workload": workload, "lane": lane, "flavor": "sync", "workers": 1, "rows": 1000, "table": "t" });
        open(&json!({ "kind": "engine", "uri": "memory:", "spec": spec }))
    }

    #[test]
    fn a_query_is_loaded_sampled_and_verified() {
        let sample = json!({ "type": "sample", "repeats": 1 });
        let orders = [
            on_memory("query.full_scan", "columnar"),
            sample.clone(),
            sample,
            json!({ "type": "result" }),
            json!({ "type": "close" }),
        ];
        let answers = answers_to(&orders);
        let types: Vec<_> = answers.iter().map(|answer| answer["type"].as_str().unwrap()).collect();
        assert_eq!(types, ["ready", "sample", "sample", "result"]);
        assert!(answers[1]["seconds"].as_f64().unwrap() > 0.0);
        assert_eq!(answers[1]["checksum"]["rows"], 1000);
        assert_eq!(answers[1]["checksum"], answers[2]["checksum"]);
        assert_eq!(answers[3]["result"], answers[2]["checksum"]);
    }

    #[test]
    fn an_insert_needs_no_tables() {
        let orders = [
            on_memory("insert.bulk", "columns"),
            json!({ "type": "sample", "repeats": 1 }),
            json!({ "type": "result" }),
        ];
        let answers = answers_to(&orders);
        assert_eq!(answers[1]["checksum"]["rows"], 1000);
        assert_eq!(answers[2]["result"]["rows"], 1000);
    }

    #[test]
    fn work_in_process_is_repeated() {
        let spec = json!({ "family": "boundary", "workload": "numbers", "lane": "call", "batch": 1, "calls": 1000 });
        let input = json!({ "kind": "inProcess", "spec": spec });
        let answers = answers_to(&[open(&input), json!({ "type": "sample", "repeats": 3 })]);
        assert_eq!(answers[1]["checksum"]["rows"], 1000);
    }

    #[test]
    fn the_last_answer_says_what_is_wrong() {
        let repeated = [on_memory("query.filtered", "columnar"), json!({ "type": "sample", "repeats": 1_u64 << 40 })];
        for (orders, message) in [
            (vec![json!({ "type": "sample", "repeats": 1 })], "no cell is open"),
            (vec![json!({ "type": "result" })], "no cell is open"),
            (vec![on_memory("query.nothing", "columnar")], "query.nothing"),
            (vec![open(&json!([1]))], "not a cell"),
            (repeated.to_vec(), "repeats"),
        ] {
            let answers = answers_to(&orders);
            let last = answers.last().unwrap();
            assert_eq!(last["type"], "failed", "{last}");
            let said = last["message"].as_str().unwrap();
            assert!(said.starts_with("[BB_INVALID_ARGUMENT]") && said.contains(message), "{last}");
        }
    }
}
