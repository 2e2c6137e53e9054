//! The command line of `boundary-bench-native`.

use boundary_bench_suite::{Flavor, Lane, Workload};
use serde::de::DeserializeOwned;

/// The text that `--help` prints.
pub(crate) const HELP: &str = "\
Runs the workloads of Boundary Bench in pure Rust and prints one JSON line a sample.

Usage: boundary-bench-native [options]

  --engine URI       memory:, embedded:, embedded:/path/to/file.duckdb, or hyper: with ?transport= (default embedded:)
  --rows N           rows of all workers together (default 1000000)
  --workers N        threads or tasks, each with a table of its own (default 1)
  --samples N        samples a cell (default 5)
  --warmup N         executions before them that are not printed (default 1)
  --workload NAME    only this one, e.g. query.full_scan
  --lane NAME        only this one, e.g. columnar
  --flavor NAME      only this one: sync or async
  -h, --help         this text

Exits with 0 when every checksum was right, 1 when one was not or the engine failed, 2 for a wrong option.
";

/// The options of a run.
#[derive(Debug, PartialEq)]
pub(crate) struct Arguments {
    pub(crate) engine: String,
    pub(crate) rows: u64,
    pub(crate) workers: u32,
    pub(crate) samples: u32,
    pub(crate) warmup: u32,
    workload: Option<Workload>,
    lane: Option<Lane>,
    flavor: Option<Flavor>,
}

/// The user's request: the help text, or a run.
#[derive(Debug, PartialEq)]
pub(crate) enum Parsed {
    Help,
    Run(Arguments),
}

impl Arguments {
    /// Whether a cell passes the filters.
    pub(crate) fn selects(&self, workload: Workload, lane: Lane, flavor: Flavor) -> bool {
        self.workload.is_none_or(|wanted| wanted == workload)
            && self.lane.is_none_or(|wanted| wanted == lane)
            && self.flavor.is_none_or(|wanted| wanted == flavor)
    }
}

/// Parses the arguments after the program's name; the error says what is wrong with them.
pub(crate) fn parse(arguments: impl IntoIterator<Item = String>) -> Result<Parsed, String> {
    let mut parsed = Arguments {
        engine: "embedded:".to_owned(),
        rows: 1_000_000,
        workers: 1,
        samples: 5,
        warmup: 1,
        workload: None,
        lane: None,
        flavor: None,
    };
    let mut arguments = arguments.into_iter();
    while let Some(argument) = arguments.next() {
        if argument == "-h" || argument == "--help" {
            return Ok(Parsed::Help);
        }
        let (option, given) = match argument.split_once('=') {
            Some((option, value)) => (option.to_owned(), Some(value.to_owned())),
            None => (argument, None),
        };
        let mut value = || given.clone().or_else(|| arguments.next()).ok_or_else(|| format!("{option} needs a value"));
        match option.as_str() {
            "--engine" => parsed.engine = value()?,
            "--rows" => parsed.rows = number(&option, &value()?)?,
            "--workers" => parsed.workers = number(&option, &value()?)?,
            "--samples" => parsed.samples = number(&option, &value()?)?,
            "--warmup" => parsed.warmup = number(&option, &value()?)?,
            "--workload" => parsed.workload = Some(name(&option, &value()?)?),
            "--lane" => parsed.lane = Some(name(&option, &value()?)?),
            "--flavor" => parsed.flavor = Some(name(&option, &value()?)?),
            _ => return Err(format!("unknown option {option}")),
        }
    }
    Ok(Parsed::Run(parsed))
}

fn number<T: std::str::FromStr>(option: &str, value: &str) -> Result<T, String> {
    let digits = value.replace('_', "");
    digits.parse().map_err(|_| format!("{option}: \"{value}\" is no number that fits"))
}

/// Parses a name of the matrix.
fn name<T: DeserializeOwned>(option: &str, value: &str) -> Result<T, String> {
    serde_json::from_value(value.into()).map_err(|error| format!("{option}: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(line: &str) -> Result<Parsed, String> {
        parse(line.split_whitespace().map(str::to_owned))
    }

    #[test]
    fn options_are_read_in_both_spellings() {
        let Ok(Parsed::Run(run)) = parsed("--rows 10_000 --engine=memory: --lane arrow-ipc --workload=insert.bulk")
        else {
            panic!("not parsed");
        };
        assert_eq!((run.rows, run.engine.as_str(), run.samples), (10_000, "memory:", 5));
        assert!(run.selects(Workload::InsertBulk, Lane::ArrowIpc, Flavor::Async));
        assert!(!run.selects(Workload::InsertBulk, Lane::Row, Flavor::Async));
        assert_eq!(parsed("--rows 5 --help"), Ok(Parsed::Help));
    }

    #[test]
    fn mistakes_are_named() {
        for (line, message) in [
            ("--row 5", "unknown option --row"),
            ("--rows", "--rows needs a value"),
            ("--rows -5", "--rows: \"-5\" is no number that fits"),
            ("5", "unknown option 5"),
        ] {
            assert_eq!(parsed(line).unwrap_err(), message);
        }
        assert!(
            parsed("--lane fast").unwrap_err().starts_with("--lane: unknown variant `fast`, expected one of `row`")
        );
    }
}
