//! The server's counters, in the text format of Prometheus.

use std::fmt::Write;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use boundary_bench_core::resources::cpu_of_process;
use boundary_bench_core::workers::Workers;
use boundary_bench_ingest::store::StoreStatus;
use hyper::StatusCode;

/// The endpoint that a request is counted under.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    PkRead,
    Batch,
    BatchWrite,
    BatchDelete,
    Scan,
    RonSql,
    Write,
    Query,
    Other,
}

const KINDS: [(Kind, &str); 9] = [
    (Kind::PkRead, "pk-read"),
    (Kind::Batch, "batch"),
    (Kind::BatchWrite, "batchwrite"),
    (Kind::BatchDelete, "batchdelete"),
    (Kind::Scan, "scan"),
    (Kind::RonSql, "ronsql"),
    (Kind::Write, "write"),
    (Kind::Query, "query"),
    (Kind::Other, "other"),
];

/// The prefix of all metrics' names.
const PREFIX: &str = "boundary_bench_";

/// The classes of status: 2xx, 3xx, 4xx, 5xx.
const CLASSES: usize = 4;

/// The counters of a server.
#[derive(Debug)]
pub(crate) struct Metrics {
    started: Instant,
    requests: [[AtomicU64; CLASSES]; KINDS.len()],
    points: AtomicU64,
}

impl Metrics {
    pub(crate) fn new() -> Self {
        Self { started: Instant::now(), requests: Default::default(), points: AtomicU64::new(0) }
    }

    /// Counts a response.
    pub(crate) fn count(&self, kind: Kind, status: StatusCode) {
        let class = usize::from(status.as_u16() / 100).saturating_sub(2).min(CLASSES - 1);
        self.requests[kind as usize][class].fetch_add(1, Ordering::Relaxed);
    }

    /// Counts points that were acknowledged.
    pub(crate) fn count_points(&self, points: u64) {
        self.points.fetch_add(points, Ordering::Relaxed);
    }

    /// All metrics in the text format.
    pub(crate) fn text(&self, connections: usize, scans: &Workers, points: &StoreStatus) -> String {
        let mut text = String::new();
        begin(&mut text, "requests_total", "counter", "Requests answered, by endpoint and class of status.");
        for ((_, endpoint), classes) in KINDS.iter().zip(&self.requests) {
            for (count, status) in classes.iter().zip(["2xx", "3xx", "4xx", "5xx"]) {
                let count = count.load(Ordering::Relaxed);
                if count > 0 {
                    let labels = format!("{{endpoint=\"{endpoint}\",status=\"{status}\"}}");
                    let _ = writeln!(text, "{PREFIX}requests_total{labels} {count}");
                }
            }
        }
        let mut single = |name, kind, help, value: &dyn std::fmt::Display| {
            begin(&mut text, name, kind, help);
            let _ = writeln!(text, "{PREFIX}{name} {value}");
        };
        single("points_total", "counter", "Points acknowledged.", &self.points.load(Ordering::Relaxed));
        single("unflushed_bytes", "gauge", "Bytes of points that are in no file yet.", &points.unflushed_bytes);
        single("failed_flushes_total", "counter", "Flushes of points that failed.", &points.failed_flushes);
        let help = "Points that could not be stored and were set aside.";
        single("set_aside_points_total", "counter", help, &points.set_aside_points);
        let help = "Files of what was set aside; somebody has to look at them.";
        single("set_aside_files", "gauge", help, &points.set_aside.len());
        let help = "Bytes of the log that were damaged at the start.";
        single("damaged_log_bytes", "gauge", help, &points.damaged_bytes);
        single("connections", "gauge", "Open connections.", &connections);
        single("open_scans", "gauge", "Scans that are open.", &scans.taken());
        let help = "Scans that were cut since their clients read nothing.";
        single("stalled_scans_total", "counter", help, &scans.stalled());
        single("uptime_seconds", "gauge", "Seconds since the start.", &self.started.elapsed().as_secs_f64());
        if let Some(cpu) = cpu_of_process(std::process::id()) {
            single("cpu_seconds_total", "counter", "CPU time of the process.", &(cpu.user + cpu.system));
        }
        text
    }
}

fn begin(text: &mut String, name: &str, kind: &str, help: &str) {
    let _ = writeln!(text, "# HELP {PREFIX}{name} {help}\n# TYPE {PREFIX}{name} {kind}");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_stand_at_their_index() {
        for (index, (kind, _)) in KINDS.iter().enumerate() {
            assert_eq!(*kind as usize, index);
        }
    }

    #[test]
    fn counts_are_told_by_endpoint_and_class() {
        let metrics = Metrics::new();
        metrics.count(Kind::PkRead, StatusCode::OK);
        metrics.count(Kind::PkRead, StatusCode::NOT_FOUND);
        metrics.count(Kind::PkRead, StatusCode::BAD_REQUEST);
        metrics.count_points(1000);
        let points = StoreStatus { set_aside: vec!["x.aside".into()], set_aside_points: 7, ..StoreStatus::default() };
        let text = metrics.text(3, &Workers::new("scans", 1, 1), &points);
        for line in [
            "boundary_bench_requests_total{endpoint=\"pk-read\",status=\"2xx\"} 1",
            "boundary_bench_requests_total{endpoint=\"pk-read\",status=\"4xx\"} 2",
            "boundary_bench_points_total 1000",
            "boundary_bench_set_aside_points_total 7",
            "boundary_bench_set_aside_files 1",
            "boundary_bench_failed_flushes_total 0",
            "boundary_bench_connections 3",
            "# TYPE boundary_bench_requests_total counter",
        ] {
            assert!(text.lines().any(|found| found == line), "{line} is not in:\n{text}");
        }
    }
}
