//! `boundary-bench-native`: a cell of the side `rust`, in a process without JavaScript. It speaks the protocol of `docs/protocol.md`: an
//! order per line on its standard input, and an answer per line on its standard output. It ends when it is told to close, or when its
//! standard input ends.

mod cell;
mod orders;

use std::io::{self, BufRead, Write};
use std::process::ExitCode;

use orders::{Answer, Order, Program};

fn main() -> ExitCode {
    match serve(io::stdin().lock(), io::stdout().lock()) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) | Err(_) => ExitCode::FAILURE,
    }
}

/// Answers orders until the last one. Returns whether none failed.
fn serve(orders: impl BufRead, mut answers: impl Write) -> io::Result<bool> {
    let mut program = Program::default();
    for line in orders.lines() {
        let answer = match serde_json::from_str::<Order>(&line?) {
            Ok(order) => program.obey(order),
            Err(error) => Some(Answer::not_understood(&error)),
        };
        let Some(answer) = answer else { break };
        serde_json::to_writer(&mut answers, &answer)?;
        answers.write_all(b"\n")?;
        answers.flush()?;
        if matches!(answer, Answer::Failed { .. }) {
            return Ok(false);
        }
    }
    program.close().map(|()| true).map_err(|error| io::Error::other(error.to_string()))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn answers_to(orders: &[Value]) -> Vec<Value> {
        let lines: Vec<_> = orders.iter().map(Value::to_string).collect();
        let mut answers = Vec::new();
        serve(lines.join("\n").as_bytes(), &mut answers).unwrap();
        String::from_utf8(answers).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    fn query(workload: &str) -> Value {
        let spec = json!({ "workload": workload, "lane": "columnar", "flavor": "sync", "workers": 1, "rows": 1000, "table": "t" });
        json!({ "type": "open", "protocol": 1, "cell": { "kind": "engine", "uri": "memory:", "spec": spec } })
    }

    #[test]
    fn a_query_is_loaded_sampled_and_verified() {
        let sample = json!({ "type": "sample" });
        let orders =
            [query("query.full_scan"), sample.clone(), sample, json!({ "type": "verify" }), json!({ "type": "close" })];
        let answers = answers_to(&orders);
        let types: Vec<_> = answers.iter().map(|answer| answer["type"].as_str().unwrap()).collect();
        assert_eq!(types, ["ready", "sample", "sample", "verified"]);
        assert!(answers[1]["seconds"].as_f64().unwrap() > 0.0);
        assert_eq!(answers[1]["checksum"]["rows"], 1000);
        assert_eq!(answers[1]["checksum"], answers[2]["checksum"]);
    }

    #[test]
    fn an_insert_needs_no_tables() {
        let mut order = query("insert.bulk");
        order["cell"]["spec"]["lane"] = json!("columns");
        let answers = answers_to(&[order, json!({ "type": "sample" }), json!({ "type": "verify" })]);
        assert_eq!(answers[1]["checksum"]["rows"], 1000);
        assert_eq!(answers[2]["type"], "verified");
    }

    #[test]
    fn work_in_process_is_repeated() {
        let spec = json!({ "family": "boundary", "workload": "numbers", "lane": "call", "batch": 1, "calls": 1000 });
        let open = json!({ "type": "open", "protocol": 1, "cell": { "kind": "inProcess", "spec": spec } });
        let answers = answers_to(&[open, json!({ "type": "sample", "repeats": 3 })]);
        assert_eq!(answers[1]["checksum"]["rows"], 1000);
    }

    #[test]
    fn the_last_answer_says_what_is_wrong() {
        let other = json!({ "type": "open", "protocol": 2, "cell": query("query.full_scan")["cell"] });
        for (orders, code, message) in [
            (vec![json!({ "type": "dance" })], "BB_INVALID_ARGUMENT", "dance"),
            (vec![json!({ "type": "sample" })], "BB_INVALID_ARGUMENT", "no cell is open"),
            (vec![other], "BB_INVALID_ARGUMENT", "version 1"),
            (vec![query("query.nothing")], "BB_INVALID_ARGUMENT", "query.nothing"),
            (vec![query("query.filtered"), query("query.filtered")], "BB_INVALID_ARGUMENT", "is open already"),
        ] {
            let answers = answers_to(&orders);
            let last = answers.last().unwrap();
            assert_eq!((last["type"].as_str(), last["code"].as_str()), (Some("failed"), Some(code)), "{last}");
            assert!(last["message"].as_str().unwrap().contains(message), "{last}");
        }
    }
}
