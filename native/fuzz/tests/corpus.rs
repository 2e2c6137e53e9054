//! The kept inputs of every harness, and inputs close to them, through the same functions that `npm run fuzz` calls.

use boundary_bench_fuzz::{HARNESSES, kept};

/// The number of an input's first bytes in which inputs are cut and changed.
const CHANGED: usize = 100;

/// Runs a harness, and reports the input with which it panics.
fn run(harness: &boundary_bench_fuzz::Harness, from: &std::path::Path, input: &[u8]) {
    let outcome = std::panic::catch_unwind(|| (harness.run)(input));
    assert!(outcome.is_ok(), "{} of {}: {}", harness.name, from.display(), input.escape_ascii());
}

#[test]
fn every_kept_input_passes_its_harness() {
    let mut ran = Vec::new();
    for harness in &HARNESSES {
        let inputs = kept(harness).unwrap_or_else(|error| panic!("no corpus of {}: {error}", harness.name));
        assert!(!inputs.is_empty(), "the corpus of {} is empty", harness.name);
        for (path, input) in &inputs {
            assert!(input.len() <= harness.most_bytes, "{} is too long", path.display());
            run(harness, path, input);
        }
        ran.push(inputs.len());
    }
    assert!(ran.iter().sum::<usize>() > HARNESSES.len() * 10, "{ran:?}");
}

#[test]
fn what_is_close_to_a_kept_input_passes_too() {
    for harness in &HARNESSES {
        run(harness, std::path::Path::new("nothing"), &[]);
        for (path, input) in kept(harness).unwrap() {
            // All places of all inputs would take minutes: each input is tried at some places. They depend on its length.
            let places = input.len().min(CHANGED);
            for place in (input.len() % 17..places).step_by(17) {
                run(harness, &path, &input[..place]);
                let mut changed = input.clone();
                changed.remove(place);
                run(harness, &path, &changed);
                changed.insert(place, 0xff);
                run(harness, &path, &changed);
                changed[place] = input[place] ^ 1;
                run(harness, &path, &changed);
            }
        }
    }
}
