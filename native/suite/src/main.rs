//! `boundary-bench-native`: runs the native suite alone, without Node, and prints one JSON line a sample.

mod arguments;

use std::io::Write;
use std::process::ExitCode;
use std::sync::Arc;

use arguments::{Arguments, HELP, Parsed, parse};
use boundary_bench_engine::Engine;
use boundary_bench_engine::checksum::FLOAT_TOLERANCE;
use boundary_bench_engines::open;
use boundary_bench_kernel::resources::{peak_rss, reset_peak_rss};
use boundary_bench_kernel::{Error, Result};
use boundary_bench_suite::{CellSample, CellSpec, EngineLane, Workload, expected, load, matrix, run_cell, unload};
use serde::Serialize;

/// One line of the output: a sample of a cell.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Line<'a> {
    engine: &'a str,
    #[serde(flatten)]
    spec: &'a CellSpec,
    variant: &'a str,
    rows_per_second: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    peak_rss_bytes: Option<u64>,
    #[serde(flatten)]
    sample: CellSample,
}

fn main() -> ExitCode {
    let outcome = match parse(std::env::args().skip(1)) {
        Ok(Parsed::Help) => print(HELP),
        Ok(Parsed::Run(arguments)) => run(&arguments),
        Err(message) => Err(Error::InvalidArgument(format!("{message}; see --help"))),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let _ = writeln!(std::io::stderr(), "boundary-bench-native: {error}");
            let is_usage = matches!(error, Error::InvalidArgument(_));
            ExitCode::from(if is_usage { 2 } else { 1 })
        }
    }
}

fn run(arguments: &Arguments) -> Result<()> {
    let engine = open(&arguments.engine)?;
    let cells = cells(arguments, &engine)?;
    if cells.is_empty() {
        return Err(Error::InvalidArgument("no cell of this engine has that workload, lane and flavor".to_owned()));
    }
    let (table, workers) = (&matrix()?.table, arguments.workers);
    let queried = cells.iter().any(|(spec, _)| spec.workload != Workload::InsertBulk);
    // Inserts replace and drop their tables, so queries read tables of other names.
    let loaded = format!("{table}_loaded");
    if queried {
        load(&engine, &loaded, arguments.rows, workers)?;
    }
    let outcome = cells.into_iter().try_for_each(|(mut spec, variant)| {
        if spec.workload != Workload::InsertBulk {
            spec.table.clone_from(&loaded);
        }
        run_samples(&engine, &spec, variant, arguments)
    });
    if queried {
        unload(&engine, &loaded, workers)?;
    }
    outcome
}

fn run_samples(engine: &Arc<dyn Engine>, spec: &CellSpec, variant: &str, arguments: &Arguments) -> Result<()> {
    let expected = expected(spec)?;
    for sample in 0..arguments.warmup + arguments.samples {
        let resettable = reset_peak_rss();
        let measured = run_cell(engine, spec)?;
        if let Some(difference) = measured.checksum.difference(&expected, FLOAT_TOLERANCE) {
            return Err(Error::Internal(format!("{} {:?}: {difference}", spec.workload.name(), spec.lane)));
        }
        if sample < arguments.warmup {
            continue;
        }
        let line = Line {
            engine: engine.name(),
            spec,
            variant,
            rows_per_second: spec.rows as f64 / measured.seconds,
            peak_rss_bytes: resettable.then(peak_rss).flatten(),
            sample: measured,
        };
        let text = serde_json::to_string(&line).map_err(|error| Error::Internal(error.to_string()))?;
        print(&format!("{text}\n"))?;
    }
    Ok(())
}

/// The cells of the matrix that the arguments select and the engine has, with their variants.
fn cells(arguments: &Arguments, engine: &Arc<dyn Engine>) -> Result<Vec<(CellSpec, &'static str)>> {
    let family = matrix()?;
    let mut cells = Vec::new();
    let runs = |entry: &&EngineLane| entry.runs_on(&**engine) && entry.runs_with(arguments.workers);
    for entry in family.lanes.iter().filter(runs) {
        for workload in &entry.workloads {
            if !family.can_do(engine.name(), *workload) {
                continue;
            }
            for flavor in &entry.flavors {
                if arguments.selects(*workload, entry.lane, *flavor) {
                    let spec = CellSpec {
                        workload: *workload,
                        lane: entry.lane,
                        flavor: *flavor,
                        workers: arguments.workers,
                        rows: arguments.rows,
                        table: family.table.clone(),
                        client: entry.client,
                        batch_rows: None,
                    };
                    spec.validate()?;
                    cells.push((spec, entry.variant.as_str()));
                }
            }
        }
    }
    Ok(cells)
}

fn print(text: &str) -> Result<()> {
    let written = std::io::stdout().write_all(text.as_bytes());
    written.map_err(|source| Error::Io { path: "standard output".to_owned(), source: source.into() })
}
