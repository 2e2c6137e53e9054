//! The side of Rust of a workload that Boundary Bench measures: a program that does the work of a way, and times it.
//!
//! ```no_run
//! # // examples/sum.rs of your crate
//! boundary_bench::main!(|numbers: &Vec<f64>| numbers.iter().sum::<f64>());
//! ```
//!
//! In the file of the workload, `program('target/release/examples/sum')` is then a way. The program gets the input that JavaScript made,
//! as JSON or as bytes, before the first sample. It speaks the protocol of `docs/protocol.md` over its standard streams.
#![warn(missing_docs, clippy::pedantic)]

mod allocations;
mod from_bytes;

use std::hint::black_box;
use std::io::{self, BufRead, Read, Write};
use std::process::ExitCode;
use std::time::Instant;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

pub use allocations::CountingAllocator;
use allocations::allocated_bytes;
pub use from_bytes::FromBytes;

/// The version of the protocol.
const PROTOCOL: u64 = 1;

/// Makes the `main` of a program that does this work: a closure, or a function, of a reference to the input. It must return the same
/// each time. The types of input and result are any of `serde`.
///
/// With `bytes:`, the input is made of the bytes that the option `bytes` of `program` makes in JavaScript. Its type is any of
/// [`FromBytes`].
///
/// ```no_run
/// // program('target/release/examples/sum', [], { bytes: (numbers) => numbers })
/// boundary_bench::main!(bytes: |numbers: &Vec<f64>| numbers.iter().sum::<f64>());
/// ```
#[macro_export]
macro_rules! main {
    (bytes: $work:expr) => {
        fn main() -> ::std::process::ExitCode {
            $crate::serve_bytes($work)
        }
    };
    ($work:expr) => {
        fn main() -> ::std::process::ExitCode {
            $crate::serve($work)
        }
    };
}

/// Answers orders on the standard input by this work, until it is told to close, or the input ends. Exit code 1 means that the work failed.
pub fn serve<Input: DeserializeOwned, Output: Serialize>(work: impl FnMut(&Input) -> Output) -> ExitCode {
    serve_program(&mut Function::new(read_json, work))
}

/// Answers orders as [`serve`] does, for an input that comes as bytes.
pub fn serve_bytes<Input: FromBytes, Output: Serialize>(work: impl FnMut(&Input) -> Output) -> ExitCode {
    serve_program(&mut Function::new(read_bytes, work))
}

fn read_json<Input: DeserializeOwned>(given: Given) -> Result<Input, String> {
    match given {
        Given::Json(value) => serde_json::from_value(value)
            .map_err(|error| format!("the input is not of the type that the work takes: {error}")),
        Given::Bytes(bytes) => Err(format!(
            "the input came as {} bytes, and this program takes JSON: make it by main!(bytes: ...), or leave out the option bytes",
            bytes.len()
        )),
    }
}

fn read_bytes<Input: FromBytes>(given: Given) -> Result<Input, String> {
    match given {
        Given::Bytes(bytes) => Input::from_bytes(bytes),
        Given::Json(_) => {
            Err("the input came as JSON, and this program takes bytes: program(path, [], { bytes: ... })".to_owned())
        }
    }
}

/// The input as it was handed over.
#[derive(Clone, Debug, PartialEq)]
pub enum Given {
    /// As JSON.
    Json(Value),
    /// As bytes.
    Bytes(Vec<u8>),
}

/// Answers orders on the standard input by this program, as [`serve`] does.
pub fn serve_program(program: &mut impl Program) -> ExitCode {
    let (input, output) = (io::stdin().lock(), io::stdout().lock());
    match answer(program, input, output) {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}

/// The steps of the protocol, for work that is not one function, or that times itself. Each error is a sentence for the user.
pub trait Program {
    /// Takes the input, before the first sample.
    ///
    /// # Errors
    ///
    /// An input that is not of the type that the work takes.
    fn open(&mut self, input: Given) -> Result<(), String>;

    /// Does ahead what the next sample would do before its timed work, so that the work of several programs begins together.
    ///
    /// # Errors
    ///
    /// Work that fails, or that has no input yet.
    fn prepare(&mut self) -> Result<(), String> {
        Ok(())
    }

    /// Executes the work `repeats` times, one after the other. Returns an object with the `seconds` of all of them together.
    ///
    /// # Errors
    ///
    /// Work that fails, or that has no input yet.
    fn sample(&mut self, repeats: u64) -> Result<Value, String>;

    /// The result of the last execution.
    ///
    /// # Errors
    ///
    /// No execution before, and a result that is no JSON.
    fn result(&mut self) -> Result<Value, String>;

    /// Ends the work, also after an order that failed.
    ///
    /// # Errors
    ///
    /// Work that can't be ended.
    fn close(&mut self) -> Result<(), String> {
        Ok(())
    }
}

/// Answers the orders of `orders`, a line each, on `answers`. The bytes of an input follow the line of their order.
///
/// # Errors
///
/// An order that can't be read or understood, work that failed, and an answer that can't be written. `answers` has the reason before.
pub fn answer(program: &mut impl Program, mut orders: impl BufRead, mut answers: impl Write) -> io::Result<()> {
    let mut line = String::new();
    while orders.read_line(&mut line)? > 0 {
        let obeyed = obey(program, &line, &mut orders);
        line.clear();
        match obeyed {
            Ok(Some(answer)) => write_line(&mut answers, &answer)?,
            Ok(None) => break,
            Err(message) => {
                fail(&mut answers, &message)?;
                // The first error is the more useful one.
                let _ = program.close();
                return Err(io::Error::other(message));
            }
        }
    }
    program.close().or_else(|message| {
        fail(&mut answers, &message)?;
        Err(io::Error::other(message))
    })
}

/// Writes the last answer.
fn fail(answers: &mut impl Write, message: &str) -> io::Result<()> {
    write_line(answers, &json!({ "type": "failed", "message": message }))
}

fn write_line(answers: &mut impl Write, answer: &Value) -> io::Result<()> {
    serde_json::to_writer(&mut *answers, answer)?;
    answers.write_all(b"\n")?;
    answers.flush()
}

/// The answer to an order, or none to the last order. `rest` is what follows its line.
fn obey(program: &mut impl Program, line: &str, rest: &mut impl BufRead) -> Result<Option<Value>, String> {
    let mut order: Value = serde_json::from_str(line).map_err(|error| format!("an order is no JSON: {error}"))?;
    match order["type"].as_str() {
        Some("open") => {
            if order["protocol"].as_u64() != Some(PROTOCOL) {
                return Err(format!(
                    "this program speaks version {PROTOCOL} of the protocol, not version {}",
                    order["protocol"]
                ));
            }
            let given = match order["bytes"].as_u64() {
                Some(length) => Given::Bytes(read_exactly(rest, length)?),
                None => Given::Json(order["input"].take()),
            };
            program.open(given)?;
            Ok(Some(json!({ "type": "ready" })))
        }
        Some("prepare") => {
            program.prepare()?;
            Ok(Some(json!({ "type": "prepared" })))
        }
        Some("sample") => {
            let repeats =
                order["repeats"].as_u64().filter(|&repeats| repeats > 0).ok_or("a sample needs a number of repeats")?;
            let mut sample = program.sample(repeats)?;
            sample["type"] = json!("sample");
            Ok(Some(sample))
        }
        Some("result") => Ok(Some(json!({ "type": "result", "result": program.result()? }))),
        Some("close") => Ok(None),
        other => Err(format!("an order of the type {other:?} is not known")),
    }
}

/// Reads the bytes of an input. Their memory grows as they come: a wrong length allocates nothing.
fn read_exactly(from: &mut impl Read, length: u64) -> Result<Vec<u8>, String> {
    let mut bytes = Vec::new();
    from.take(length).read_to_end(&mut bytes).map_err(|error| format!("the input can't be read: {error}"))?;
    if bytes.len() as u64 == length {
        return Ok(bytes);
    }
    Err(format!("the input has {} bytes, not {length}", bytes.len()))
}

/// A program whose work is a function of the input.
struct Function<Work, Input, Output> {
    read: fn(Given) -> Result<Input, String>,
    work: Work,
    input: Option<Input>,
    result: Option<Output>,
}

impl<Work: FnMut(&Input) -> Output, Input, Output> Function<Work, Input, Output> {
    fn new(read: fn(Given) -> Result<Input, String>, work: Work) -> Self {
        Self { read, work, input: None, result: None }
    }
}

impl<Work, Input, Output> Program for Function<Work, Input, Output>
where
    Work: FnMut(&Input) -> Output,
    Output: Serialize,
{
    fn open(&mut self, input: Given) -> Result<(), String> {
        self.input = Some((self.read)(input)?);
        Ok(())
    }

    fn sample(&mut self, repeats: u64) -> Result<Value, String> {
        let input = self.input.as_ref().ok_or("a sample was asked for before the input was given")?;
        self.result = None;
        let cpu_before = cpu_seconds();
        let bytes_before = allocated_bytes();
        let start = Instant::now();
        for _ in 0..repeats {
            self.result = Some(black_box((self.work)(black_box(input))));
        }
        let seconds = start.elapsed().as_secs_f64();
        let bytes = bytes_before.zip(allocated_bytes()).map(|(before, after)| after - before);
        let cpu = cpu_before.zip(cpu_seconds()).map(|(before, after)| after - before);
        let mut sample = json!({ "seconds": seconds });
        if let Some(cpu) = cpu {
            sample["cpuUserSeconds"] = json!(cpu);
        }
        if let Some(bytes) = bytes {
            sample["allocatedBytes"] = json!(bytes);
        }
        Ok(sample)
    }

    fn result(&mut self) -> Result<Value, String> {
        let result = self.result.as_ref().ok_or("the result was asked for before any sample")?;
        serde_json::to_value(result).map_err(|error| format!("the result is no JSON: {error}"))
    }
}

/// The CPU time of all threads of this process, of the user and of the kernel, or none if the system does not tell it.
fn cpu_seconds() -> Option<f64> {
    let tasks = std::fs::read_dir("/proc/self/task").ok()?;
    let nanoseconds = tasks.flatten().filter_map(|task| {
        let times = std::fs::read_to_string(task.path().join("schedstat")).ok()?;
        times.split_whitespace().next()?.parse::<u64>().ok()
    });
    Some(std::time::Duration::from_nanos(nanoseconds.sum()).as_secs_f64())
}

#[cfg(test)]
mod tests {
    use super::*;

    crate::count_allocations!();

    fn answers_to(orders: &str) -> (Vec<Value>, io::Result<()>) {
        let mut answers = Vec::new();
        let mut program = Function::new(read_json, |numbers: &Vec<f64>| numbers.iter().sum::<f64>());
        let ended = answer(&mut program, orders.as_bytes(), &mut answers);
        let lines = String::from_utf8(answers).unwrap();
        (lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect(), ended)
    }

    type Sum = fn(&Vec<f64>) -> f64;

    /// A program that cannot close after the input `[7]`.
    struct Sums(Function<Sum, Vec<f64>, f64>);

    impl Program for Sums {
        fn open(&mut self, input: Given) -> Result<(), String> {
            self.0.read = if matches!(input, Given::Bytes(_)) { read_bytes } else { read_json };
            self.0.open(input)
        }

        fn sample(&mut self, repeats: u64) -> Result<Value, String> {
            self.0.sample(repeats)
        }

        fn result(&mut self) -> Result<Value, String> {
            self.0.result()
        }

        fn close(&mut self) -> Result<(), String> {
            match self.0.input.as_deref() {
                Some([7.0]) => Err("[BB_CONNECTION] the table is still there".to_owned()),
                _ => Ok(()),
            }
        }
    }

    /// The conversations by which the other end of the protocol is tested as well.
    #[test]
    fn answers_as_the_conversations_have_it() {
        let conversations: Value =
            serde_json::from_str(include_str!("../../../__test__/fixtures/protocol.json")).unwrap();
        for conversation in conversations.as_array().unwrap() {
            let exchanges = conversation["exchanges"].as_array().unwrap();
            let mut orders = Vec::new();
            for exchange in exchanges {
                writeln!(orders, "{}", exchange["order"]).unwrap();
                let bytes: Option<Vec<u8>> = serde_json::from_value(exchange["bytes"].clone()).unwrap();
                orders.extend(bytes.unwrap_or_default());
            }
            let expected: Vec<_> = exchanges.iter().filter_map(|exchange| exchange.get("answer").cloned()).collect();
            let mut answers = Vec::new();
            let sum: Sum = |numbers| numbers.iter().sum();
            let ended = answer(&mut Sums(Function::new(read_json, sum)), &orders[..], &mut answers);
            assert_eq!(ended.is_err(), expected.last().unwrap()["type"] == "failed");
            let answers = String::from_utf8(answers).unwrap();
            let answers = answers.lines().map(|line| serde_json::from_str(line).unwrap()).map(without_times);
            let expected = expected.into_iter().map(without_times);
            assert_eq!(answers.collect::<Vec<_>>(), expected.collect::<Vec<_>>(), "{}", conversation["name"]);
        }
    }

    /// An answer without the figures of its sample, of which the seconds must be there.
    fn without_times(answer: Value) -> Value {
        if answer["type"] != "sample" {
            return answer;
        }
        assert!(answer["seconds"].as_f64().unwrap() > 0.0, "{answer}");
        json!({ "type": "sample" })
    }

    #[test]
    fn ends_at_the_order_to_close() {
        let (answers, ended) = answers_to("{\"type\":\"close\"}\n{\"type\":\"dance\"}");
        ended.unwrap();
        assert_eq!(answers.len(), 0);
    }

    #[test]
    fn counts_the_bytes_that_the_work_allocates() {
        let orders = r#"{"type":"open","protocol":1,"input":3}
{"type":"sample","repeats":10}"#;
        let mut answers = Vec::new();
        let mut program = Function::new(read_json, |&length: &usize| vec![7_u64; length]);
        answer(&mut program, orders.as_bytes(), &mut answers).unwrap();
        let sample: Value = serde_json::from_str(String::from_utf8(answers).unwrap().lines().nth(1).unwrap()).unwrap();
        // Other tests of this process may allocate at the same time.
        assert!(sample["allocatedBytes"].as_u64().unwrap() >= 10 * 3 * 8);
    }

    /// The answers of a program that takes bytes.
    fn answers_to_bytes(orders: &[u8]) -> Vec<Value> {
        let mut answers = Vec::new();
        let mut program = Function::new(read_bytes, |numbers: &Vec<f64>| numbers.iter().sum::<f64>());
        // An order that fails is the last answer.
        let _ = answer(&mut program, orders, &mut answers);
        String::from_utf8(answers).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    #[test]
    fn takes_the_bytes_that_follow_the_order() {
        let mut orders = b"{\"type\":\"open\",\"protocol\":1,\"bytes\":16}\n".to_vec();
        orders.extend([1.0, 2.5].iter().flat_map(|number: &f64| number.to_le_bytes()));
        orders.extend(b"{\"type\":\"sample\",\"repeats\":2}\n{\"type\":\"result\"}\n");
        let answers = answers_to_bytes(&orders);
        assert_eq!(answers[0]["type"], "ready");
        assert_eq!(answers[2]["result"], 3.5);
    }

    #[test]
    fn says_what_is_wrong_with_bytes() {
        for (orders, message) in [
            (&b"{\"type\":\"open\",\"protocol\":1,\"bytes\":16}\n12345678"[..], "has 8 bytes, not 16"),
            (b"{\"type\":\"open\",\"protocol\":1,\"bytes\":7}\n1234567", "7 bytes are no values of 8 bytes"),
            (b"{\"type\":\"open\",\"protocol\":1,\"bytes\":18446744073709551615}\n1", "has 1 bytes"),
            (b"{\"type\":\"open\",\"protocol\":1,\"input\":[1]}\n", "takes bytes"),
        ] {
            let answers = answers_to_bytes(orders);
            assert_eq!(answers[0]["type"], "failed");
            assert!(answers[0]["message"].as_str().unwrap().contains(message), "{answers:?}");
        }
        let (answers, _) = answers_to("{\"type\":\"open\",\"protocol\":1,\"bytes\":1}\n1");
        assert!(answers[0]["message"].as_str().unwrap().contains("takes JSON"), "{answers:?}");
    }

    #[test]
    fn says_what_is_wrong_with_an_order() {
        for (order, message) in [
            ("{", "no JSON"),
            (r#"{"type":"sample","repeats":1}"#, "before the input"),
            (r#"{"type":"result"}"#, "before any sample"),
            (r#"{"type":"open","protocol":2}"#, "version 1"),
            (r#"{"type":"open","protocol":1,"input":["a"]}"#, "the type that the work takes"),
            (r#"{"type":"dance"}"#, "not known"),
        ] {
            let (answers, ended) = answers_to(order);
            assert!(ended.is_err());
            assert_eq!(answers[0]["type"], "failed");
            assert!(answers[0]["message"].as_str().unwrap().contains(message), "{order}: {answers:?}");
        }
        let opened = r#"{"type":"open","protocol":1,"input":[1]}"#;
        assert!(answers_to(&format!("{opened}\n{{\"type\":\"sample\",\"repeats\":0}}")).1.is_err());
    }
}
