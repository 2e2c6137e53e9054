//! Tests of the stand-alone program, run as a user runs it.

use std::process::{Command, Output};

use serde_json::Value;

fn run(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_boundary-bench-native")).args(arguments).output().unwrap()
}

fn lines(output: &Output) -> Vec<Value> {
    let text = std::str::from_utf8(&output.stdout).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn it_prints_a_line_for_every_sample() {
    let output = run(&["--engine", "memory:", "--rows=1000", "--workers", "2", "--samples", "3", "--lane", "columnar"]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let lines = lines(&output);
    // Both flavours, three samples each.
    assert_eq!(lines.len(), 6);
    for line in lines {
        assert_eq!(line["workload"], "query.full_scan");
        assert_eq!(line["checksum"]["rows"], 1000);
        assert_eq!(line["checksum"]["sums"]["id"], "499500");
        assert!(line["seconds"].as_f64().unwrap() > 0.0);
    }
}

#[test]
fn wrong_options_are_refused_with_the_way_out() {
    for arguments in
        [&["--rows", "many"][..], &["--engine", "paper:"], &["--lane", "row", "--workload", "query.full_scan"]]
    {
        let output = run(arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert!(output.stdout.is_empty());
        assert!(String::from_utf8_lossy(&output.stderr).starts_with("boundary-bench-native: "));
    }
    assert!(String::from_utf8_lossy(&run(&["--help"]).stdout).contains("--workload NAME"));
}
