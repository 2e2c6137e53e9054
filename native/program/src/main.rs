//! `boundary-bench-native`: a cell of the side `rust`, in a process without JavaScript. It speaks the protocol of `docs/protocol.md`. The
//! input says which cell: see [`cell::CellInput`]. The result is the checksum of the last sample, once each value was checked.

mod cell;

use std::process::ExitCode;

use boundary_bench::{Given, Program};
use boundary_bench_engine::checksum::Checksum;
use boundary_bench_kernel::{Error, Result};
use serde_json::Value;

use cell::{Cell, CellInput};

fn main() -> ExitCode {
    boundary_bench::serve_program(&mut Native::default())
}

/// The program, with its cell once that is open.
#[derive(Default)]
struct Native {
    cell: Option<Box<dyn Cell>>,
    /// The checksum of the last sample.
    checksum: Option<Checksum>,
}

impl Native {
    fn opened(&mut self) -> Result<&mut dyn Cell> {
        match &mut self.cell {
            Some(cell) => Ok(&mut **cell),
            None => Err(Error::InvalidArgument("no cell is open".to_owned())),
        }
    }

    fn take(&mut self, input: Given) -> Result<()> {
        let Given::Json(input) = input else {
            return Err(Error::InvalidArgument("a cell is JSON".to_owned()));
        };
        let input: CellInput =
            serde_json::from_value(input).map_err(|error| Error::InvalidArgument(format!("not a cell: {error}")))?;
        self.cell = Some(input.open()?);
        Ok(())
    }

    fn take_sample(&mut self, repeats: u64) -> Result<Value> {
        let repeats = u32::try_from(repeats).map_err(|_| Error::InvalidArgument(format!("{repeats} repeats")))?;
        let sample = self.opened()?.sample(repeats)?;
        let value = json(&sample)?;
        self.checksum = Some(sample.checksum);
        Ok(value)
    }

    fn verified(&mut self) -> Result<Value> {
        self.opened()?.verify()?;
        json(&self.checksum)
    }
}

fn json(value: &impl serde::Serialize) -> Result<Value> {
    serde_json::to_value(value).map_err(|error| Error::Internal(error.to_string()))
}

impl Program for Native {
    fn open(&mut self, input: Given) -> std::result::Result<(), String> {
        self.take(input).map_err(|error| error.coded())
    }

    fn sample(&mut self, repeats: u64) -> std::result::Result<Value, String> {
        self.take_sample(repeats).map_err(|error| error.coded())
    }

    fn result(&mut self) -> std::result::Result<Value, String> {
        self.verified().map_err(|error| error.coded())
    }

    fn close(&mut self) -> std::result::Result<(), String> {
        self.cell.take().map_or(Ok(()), |mut cell| cell.close()).map_err(|error| error.coded())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// The answers to the orders.
    fn answers_to(orders: &[Value]) -> Vec<Value> {
        let lines: Vec<_> = orders.iter().map(Value::to_string).collect();
        let mut answers = Vec::new();
        // An order that fails is the last answer.
        let _ = boundary_bench::answer(&mut Native::default(), lines.join("\n").as_bytes(), &mut answers);
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
