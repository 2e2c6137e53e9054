//! Compares the closed forms with sums made row by row. The TypeScript side checks the same fixture.

use boundary_bench_engine::checksum::{Checksum, FLOAT_TOLERANCE};
use boundary_bench_engine::measurements::{expected_aggregation, expected_all, expected_filtered};
use boundary_bench_suite::{CellSpec, Flavor, Lane, Workload, expected, worker_ranges};
use serde::Deserialize;

#[derive(Deserialize)]
struct Fixture {
    cases: Vec<Case>,
}

#[derive(Deserialize)]
struct Case {
    workload: Workload,
    rows: u64,
    #[serde(default)]
    start: u64,
    workers: u32,
    checksum: Checksum,
}

/// The checksum of a case. Its rows need not begin at 0 as a cell's rows do.
fn closed_form(case: &Case) -> Checksum {
    let of_range = match case.workload {
        Workload::InsertBulk | Workload::QueryFullScan => expected_all,
        Workload::QueryFiltered => expected_filtered,
        Workload::QueryAggregation => expected_aggregation,
    };
    let mut parts = worker_ranges(case.start, case.rows, case.workers).unwrap().into_iter().map(of_range);
    let first = parts.next().unwrap();
    parts.fold(first, |mut sum, part| {
        sum.merge(&part).unwrap();
        sum
    })
}

#[test]
fn closed_forms_are_those_of_the_fixture() {
    let text = include_str!("../../../__test__/fixtures/closed-forms.json");
    let fixture: Fixture = serde_json::from_str(text).unwrap();
    assert!(fixture.cases.len() > 50);
    for case in &fixture.cases {
        let context = format!("{:?}, {} rows from {}, {} workers", case.workload, case.rows, case.start, case.workers);
        let found = closed_form(case);
        assert_eq!(found.difference(&case.checksum, FLOAT_TOLERANCE), None, "{context}");
        if case.start == 0 {
            let spec = CellSpec {
                workload: case.workload,
                lane: Lane::Columnar,
                flavor: Flavor::Sync,
                workers: case.workers,
                rows: case.rows,
                table: "t".to_owned(),
                client: None,
                batch_rows: None,
            };
            assert_eq!(expected(&spec).unwrap(), found, "{context}");
        }
    }
}
