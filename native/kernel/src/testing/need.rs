//! Needs of tests that a machine may lack: a server, a program, a feature of the kernel.
//!
//! `__test__/needs.json` has a word for each such need and the command that installs it. `__test__/needs.ts` is this rule
//! for tests in TypeScript. A test whose need is missing ends at once. That is reported on the standard error stream and in
//! the file that `BOUNDARY_BENCH_SKIPPED` names. It fails instead if `BOUNDARY_BENCH_REQUIRE` has the word.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::fs::OpenOptions;
use std::io::Write;

use serde::Deserialize;
use serde_json::json;

/// The environment variable with the words of the needs that are required, separated by commas.
const REQUIRE: &str = "BOUNDARY_BENCH_REQUIRE";

/// The environment variable with the path of the file to which each skipped test appends a line of JSON.
const SKIPPED: &str = "BOUNDARY_BENCH_SKIPPED";

/// The known needs.
const NEEDS: &str = include_str!("../../../../__test__/needs.json");

/// The description of a need, and the command that installs it.
#[derive(Deserialize)]
struct Need {
    what: String,
    get: String,
}

/// The decision about a test.
#[derive(Debug, PartialEq)]
enum Decision<T> {
    /// The test runs, with what it needs.
    Run(T),
    /// The test is skipped, for this reason.
    Skip(String),
    /// The test fails, with this message.
    Fail(String),
}

/// Gives a test its need, or ends the test by `return`: `needs!("redis", executable(None))`. The first argument is a word
/// of `__test__/needs.json`, the second a `Result` whose error says why the need is missing. The macro stands in the test
/// itself, whose result is `()`.
#[macro_export]
macro_rules! needs {
    ($word:literal, $found:expr) => {
        match $crate::testing::ask($word, $found) {
            Some(found) => found,
            None => return,
        }
    };
}

/// The need of a test, or `None` if the test must be skipped. That was reported then. See [`needs!`](crate::needs).
///
/// # Panics
/// Panics if the need is required but missing, or if a word is unknown.
pub fn ask<T, E: Display>(word: &str, found: Result<T, E>) -> Option<T> {
    let required = std::env::var(REQUIRE).unwrap_or_default();
    match decide(word, &required, found) {
        Decision::Run(found) => Some(found),
        Decision::Skip(why) => {
            tell(word, &why);
            None
        }
        Decision::Fail(message) => panic!("{message}"),
    }
}

fn decide<T, E: Display>(word: &str, required: &str, found: Result<T, E>) -> Decision<T> {
    let needs: BTreeMap<String, Need> = serde_json::from_str(NEEDS).expect("needs.json is valid");
    let required: Vec<&str> = required.split(',').map(str::trim).filter(|word| !word.is_empty()).collect();
    if let Some(unknown) = required.iter().find(|word| !needs.contains_key(**word)) {
        let known = needs.keys().map(String::as_str).collect::<Vec<_>>().join(", ");
        return Decision::Fail(format!("{REQUIRE} names {unknown}, which is none of {known}"));
    }
    let Some(Need { what, get }) = needs.get(word) else {
        return Decision::Fail(format!("{word} is no word of __test__/needs.json"));
    };
    match found {
        Ok(found) => Decision::Run(found),
        Err(why) if required.contains(&word) => {
            Decision::Fail(format!("{REQUIRE} names {word} ({what}), which is not there: {why}\nget it by: {get}"))
        }
        Err(why) => Decision::Skip(why.to_string()),
    }
}

/// Reports that the test that runs on this thread is skipped.
fn tell(word: &str, why: &str) {
    let test = std::thread::current().name().unwrap_or_default().to_owned();
    // The output of a macro would be captured by the test harness.
    let _ = std::io::stderr().write_all(format!("SKIPPED: {test} ({word}): {why}\n").as_bytes());
    let Some(path) = std::env::var_os(SKIPPED) else { return };
    let crate_name = std::env::var("CARGO_PKG_NAME").unwrap_or_default();
    // The line is written at once, since tests of other threads and processes append theirs.
    let line = format!("{}\n", json!({ "need": word, "why": why, "crate": crate_name, "rust": test }));
    let added =
        OpenOptions::new().append(true).create(true).open(&path).and_then(|mut file| file.write_all(line.as_bytes()));
    added.unwrap_or_else(|error| panic!("{SKIPPED} names {}: {error}", path.display()));
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Output};

    use super::*;

    const MISSING: Result<(), &str> = Err("nobody installed it");

    #[test]
    fn what_is_there_is_given() {
        for required in ["", "redis", "mysql, redis,"] {
            assert_eq!(decide("redis", required, Ok::<_, String>(7)), Decision::Run(7));
        }
    }

    #[test]
    fn what_is_missing_is_skipped_or_fails_where_it_is_required() {
        for required in ["", "mysql", "mysql,hyperd"] {
            assert_eq!(decide("redis", required, MISSING), Decision::Skip("nobody installed it".to_owned()));
        }
        for required in ["redis", "mysql, redis"] {
            let Decision::Fail(message) = decide("redis", required, MISSING) else { panic!("{required}") };
            assert!(message.contains("nobody installed it"), "{message}");
            assert!(message.ends_with("get it by: apt-get install redis-server"), "{message}");
        }
    }

    #[test]
    fn unknown_words_fail() {
        let Decision::Fail(message) = decide("redis", "mysql,rediss", Ok::<_, String>(())) else { panic!() };
        assert!(
            message.contains("names rediss, which is none of bun, chromium, deno, git, hyperd, mysql"),
            "{message}"
        );
        assert!(matches!(decide("rediss", "", MISSING), Decision::Fail(_)));
    }

    /// Runs [`asks_for_what_is_not_there`] in a process of its own.
    fn run_asking(required: &str, skipped: &std::path::Path) -> Output {
        Command::new(std::env::current_exe().unwrap())
            .args(["testing::need::tests::asks_for_what_is_not_there", "--exact", "--ignored", "--nocapture"])
            .env(REQUIRE, required)
            .env(SKIPPED, skipped)
            .output()
            .unwrap()
    }

    #[test]
    fn a_test_ends_or_fails_and_is_written_down() {
        let skipped = std::env::temp_dir().join(format!("boundary-bench-skipped-{}", std::process::id()));
        let told = run_asking("mysql", &skipped);
        let said = String::from_utf8_lossy(&told.stderr).into_owned();
        assert!(told.status.success(), "{said}");
        assert!(said.contains("SKIPPED: testing::need::tests::asks_for_what_is_not_there (redis): nobody"), "{said}");
        let line: serde_json::Value = serde_json::from_str(&std::fs::read_to_string(&skipped).unwrap()).unwrap();
        assert_eq!(line["rust"], "testing::need::tests::asks_for_what_is_not_there");
        assert_eq!((&line["need"], &line["why"]), (&json!("redis"), &json!("nobody installed it")));
        for required in ["redis", "rediss"] {
            assert!(!run_asking(required, &skipped).status.success(), "{required}");
        }
        std::fs::remove_file(skipped).unwrap();
    }

    #[test]
    #[ignore = "asks for what is not there; another test runs it in a process of its own"]
    fn asks_for_what_is_not_there() {
        needs!("redis", MISSING);
        unreachable!("the test goes on");
    }
}
