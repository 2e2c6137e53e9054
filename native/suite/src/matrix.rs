//! `bench/matrix.json`, the one definition of the workloads: the parts of it that the Rust side needs.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use boundary_bench_engine::sql_text::identifier;
use boundary_bench_kernel::{Error, Result};
use serde::Deserialize;

use crate::dimensions::{Flavor, Lane, Target, Workload};

#[derive(Deserialize)]
struct Matrix {
    families: Families,
}

/// The families of the matrix that this module reads; the others have modules of their own.
#[derive(Deserialize)]
struct Families {
    measurements: Family,
}

/// A group of workloads over one schema.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Family {
    /// The name of the family's table.
    pub table: String,
    /// The default number of rows.
    pub default_rows: u64,
    /// The size of a row in bytes: the sum of the widths of its columns.
    pub bytes_per_row: u64,
    /// The number of sensors; see [`boundary_bench_engine::measurements::SENSORS`].
    pub sensors: u32,
    /// The step between values; see [`boundary_bench_engine::measurements::VALUE_STEP`].
    pub value_step: f64,
    /// The timestamp of the first row; see [`boundary_bench_engine::measurements::TIMESTAMP_START`].
    pub timestamp_start: i64,
    /// The step between timestamps; see [`boundary_bench_engine::measurements::TIMESTAMP_STEP`].
    pub timestamp_step: i64,
    /// The number of rows of a batch.
    pub batch_rows: usize,
    /// The number of rows in one piece of a writer's input; pieces are made while the clock is paused.
    pub input_rows: u32,
    /// The relative tolerance of floating sums.
    pub float_tolerance: f64,
    /// The addon's engines by name.
    pub engines: BTreeMap<String, EngineEntry>,
    /// The workloads by name.
    pub workloads: BTreeMap<String, WorkloadEntry>,
    /// The lanes of the `rust` side.
    #[serde(deserialize_with = "rust_lanes")]
    pub lanes: Vec<LaneEntry>,
}

/// An engine of the matrix.
#[derive(Debug, Deserialize)]
pub struct EngineEntry {
    /// Whether the engine runs SQL; see [`boundary_bench_engine::Capabilities::sql`].
    pub sql: bool,
    /// The transports to the engine's server; `None` if it has no choice of them.
    pub transports: Option<Vec<String>>,
}

/// A workload of the matrix.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct WorkloadEntry {
    /// The query, with `{table}` for the table's name; `None` for workloads that insert rows.
    pub sql: Option<String>,
    /// The columns of the rows that cross.
    pub columns: Vec<String>,
    /// The sensor that the query selects; see [`boundary_bench_engine::measurements::FILTERED_SENSOR`].
    pub filtered_sensor: Option<u32>,
}

/// A lane of the `rust` side.
#[derive(Debug, Deserialize)]
pub struct LaneEntry {
    /// The name of the lane.
    pub lane: Lane,
    /// The text of the Variant column of the tables.
    pub variant: String,
    /// The workloads that the lane applies to.
    pub workloads: Vec<Workload>,
    /// The names of the engines that the lane applies to.
    pub engines: Vec<String>,
    /// The lane's transports on engines that have transports; `None` for all of the engine's.
    pub transports: Option<Vec<String>>,
    /// The flavours of the lane.
    pub flavors: Vec<Flavor>,
    /// The numbers of workers that the lane runs with.
    pub workers: Vec<WorkerCount>,
    /// The client library that the lane uses in place of the engine.
    pub target: Option<Target>,
}

impl LaneEntry {
    /// Whether the lane runs with this number of workers.
    #[must_use]
    pub fn runs_with(&self, workers: u32) -> bool {
        self.workers.contains(if workers == 1 { &WorkerCount::One } else { &WorkerCount::Many })
    }

    /// Whether the lane runs on an engine, over a transport where the engine has some.
    #[must_use]
    pub fn runs_on(&self, engine: &str, transport: Option<&str>) -> bool {
        let over =
            |transport: &str| self.transports.as_ref().is_none_or(|names| names.iter().any(|name| name == transport));
        self.engines.iter().any(|name| name == engine) && transport.is_none_or(over)
    }
}

/// A class of numbers of workers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum WorkerCount {
    /// One worker.
    One,
    /// Several workers; the user sets the number.
    Many,
}

/// Deserialises the lanes of the `rust` side; the other sides use names that this side does not know.
fn rust_lanes<'de, D: serde::Deserializer<'de>>(deserializer: D) -> std::result::Result<Vec<LaneEntry>, D::Error> {
    let lanes = Vec::<serde_json::Value>::deserialize(deserializer)?;
    let of_rust = lanes.into_iter().filter(|lane| lane["side"] == "rust");
    of_rust.map(|lane| serde_json::from_value(lane).map_err(serde::de::Error::custom)).collect()
}

impl Family {
    /// The query of a workload.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] if the workload does not read.
    pub fn query(&self, workload: Workload, table: &str) -> Result<String> {
        let entry = self.workloads.get(workload.name());
        let sql = entry.and_then(|entry| entry.sql.as_deref());
        let sql = sql.ok_or_else(|| Error::InvalidArgument(format!("{} has no query", workload.name())))?;
        Ok(sql.replace("{table}", &identifier(table)))
    }

    /// The entries of a lane for a workload: those on the engines, or with `target` those of that client library.
    pub fn lanes_of(&self, workload: Workload, lane: Lane, target: Option<Target>) -> impl Iterator<Item = &LaneEntry> {
        let fits = move |entry: &&LaneEntry| {
            entry.lane == lane && entry.target == target && entry.workloads.contains(&workload)
        };
        self.lanes.iter().filter(fits)
    }
}

/// The family `measurements` of the matrix, parsed once.
///
/// # Errors
/// [`Error::Internal`] if the compiled-in file can't be parsed.
pub fn matrix() -> Result<&'static Family> {
    static FAMILY: OnceLock<std::result::Result<Family, String>> = OnceLock::new();
    let parse = || {
        let text = include_str!("../../../bench/matrix.json");
        serde_json::from_str::<Matrix>(text)
            .map(|matrix| matrix.families.measurements)
            .map_err(|error| error.to_string())
    };
    FAMILY.get_or_init(parse).as_ref().map_err(|error| Error::Internal(format!("bench/matrix.json: {error}")))
}

#[cfg(test)]
mod tests {
    use boundary_bench_engine::{self, checksum, measurements};

    use super::*;

    #[test]
    fn the_core_and_the_matrix_define_the_same_rows() {
        let family = matrix().unwrap();
        assert_eq!(family.sensors, measurements::SENSORS);
        assert_eq!(family.value_step.to_bits(), measurements::VALUE_STEP.to_bits());
        assert_eq!(family.timestamp_start, measurements::TIMESTAMP_START);
        assert_eq!(family.timestamp_step, measurements::TIMESTAMP_STEP);
        assert_eq!(family.bytes_per_row, measurements::BYTES_PER_ROW);
        assert_eq!(family.batch_rows, boundary_bench_engine::DEFAULT_BATCH_ROWS);
        assert_eq!(family.float_tolerance.to_bits(), checksum::FLOAT_TOLERANCE.to_bits());
        assert_eq!(family.workloads["query.filtered"].filtered_sensor, Some(measurements::FILTERED_SENSOR));
        let columns = measurements::table("").columns;
        for workload in [Workload::InsertBulk, Workload::QueryFullScan, Workload::QueryFiltered] {
            let names = &family.workloads[workload.name()].columns;
            assert!(names.iter().eq(columns.iter().map(|column| &column.name)), "{}", workload.name());
        }
    }

    #[test]
    fn lanes_name_engines_and_transports_that_there_are() {
        let family = matrix().unwrap();
        for entry in &family.lanes {
            for engine in &entry.engines {
                assert!(family.engines.contains_key(engine), "{entry:?}");
            }
            for transport in entry.transports.iter().flatten() {
                let known = family.engines.values().filter_map(|engine| engine.transports.as_ref()).flatten();
                assert!(known.into_iter().any(|name| name == transport), "{entry:?}");
            }
        }
        let insert = family.lanes_of(Workload::InsertBulk, Lane::Row, None).next().unwrap();
        assert!(insert.runs_on("memory", None) && insert.runs_on("hyper", Some("ipc")));
        assert!(!insert.runs_on("hyper", Some("grpc-sync")));
    }

    #[test]
    fn every_workload_of_the_matrix_is_known() {
        let family = matrix().unwrap();
        for name in family.workloads.keys() {
            let workload: Workload = serde_json::from_value(name.as_str().into()).unwrap();
            assert!(family.lanes.iter().any(|lane| lane.workloads.contains(&workload)), "{name}");
        }
        assert_eq!(
            family.query(Workload::QueryFiltered, "a \"b").unwrap(),
            "SELECT id, sensor_id, value, timestamp FROM \"a \"\"b\" WHERE sensor_id = 5"
        );
    }
}
