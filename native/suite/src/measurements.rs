//! The family `measurements` as `bench/matrix.json` defines it, and its lanes on the engines.

use std::collections::BTreeMap;

use boundary_bench_engine::Engine;
use boundary_bench_engine::sql_text::name;
use boundary_bench_kernel::{Error, Result};
use serde::Deserialize;
use serde_json::Value;

use crate::dimensions::{Client, Flavor, Lane, Workload};
use crate::matrix::FamilyPart;

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
    /// The lanes of the `rust` side, each on each engine that can do what it needs.
    #[serde(skip)]
    pub lanes: Vec<EngineLane>,
}

/// A capability of an engine, which a lane or a workload may need.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Capability {
    /// The engine runs SQL; see [`boundary_bench_engine::Capabilities::sql`].
    Sql,
    /// Results arrive in batches of rows.
    Batches,
    /// The engine is quick enough to show what single values cost that cross one by one.
    Detail,
}

/// An engine of the matrix.
#[derive(Debug, Deserialize)]
pub struct EngineEntry {
    /// The capabilities of the engine.
    pub can: Vec<Capability>,
    /// The transports to the engine's server; empty if it has no choice of them.
    #[serde(default)]
    pub transports: BTreeMap<String, Transport>,
    /// The flavours with which the engine is measured; `None` for those of each lane.
    flavors: Option<Vec<Flavor>>,
    /// The numbers of workers with which the engine is measured; `None` for those of each lane.
    workers: Option<Vec<WorkerCount>>,
}

/// A transport of the matrix.
#[derive(Debug, Deserialize)]
pub struct Transport {
    /// Says that no rows go in over the transport; `None` if it does all.
    pub limit: Option<String>,
}

/// A workload of the matrix.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct WorkloadEntry {
    /// The capabilities that an engine needs for the workload.
    #[serde(default)]
    pub needs: Vec<Capability>,
    /// The query, with `{table}` for the table's name; `None` for workloads that insert rows.
    pub sql: Option<String>,
    /// The columns of the rows that cross.
    pub columns: Vec<String>,
    /// The sensor that the query selects; see [`boundary_bench_engine::measurements::FILTERED_SENSOR`].
    pub filtered_sensor: Option<u32>,
}

/// A lane of the `rust` side as the matrix states it.
#[derive(Debug, Clone, Deserialize)]
struct LaneEntry {
    lane: Lane,
    variant: String,
    workloads: Vec<Workload>,
    /// The engine of a lane with a client of its own; `None` for every engine that can do what the lane needs.
    engine: Option<String>,
    #[serde(default)]
    needs: Vec<Capability>,
    transports: Option<Transports>,
    flavors: Vec<Flavor>,
    workers: Vec<WorkerCount>,
    client: Option<Client>,
}

/// A class of transports.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Transports {
    /// Transports without a limit.
    Full,
    /// Transports with a limit.
    Limited,
}

/// A lane of the `rust` side on one engine, within the limits of both.
#[derive(Debug)]
pub struct EngineLane {
    /// The name of the lane.
    pub lane: Lane,
    /// The text of the Variant column of the tables.
    pub variant: String,
    /// The workloads that the lane applies to.
    pub workloads: Vec<Workload>,
    /// The name of the engine.
    pub engine: String,
    /// The lane's transports to the engine's server; empty if the engine has no choice of them.
    pub transports: Vec<String>,
    /// The flavours of the lane.
    pub flavors: Vec<Flavor>,
    /// The numbers of workers that the lane runs with.
    pub workers: Vec<WorkerCount>,
    /// The client library that the lane uses in place of the engine.
    pub client: Option<Client>,
}

impl EngineLane {
    /// Whether the lane runs with this number of workers.
    #[must_use]
    pub fn runs_with(&self, workers: u32) -> bool {
        self.workers.contains(if workers == 1 { &WorkerCount::One } else { &WorkerCount::Many })
    }

    /// Whether the lane runs on an engine over its transport.
    #[must_use]
    pub fn runs_on(&self, engine: &dyn Engine) -> bool {
        let over = |transport: &str| self.transports.iter().any(|name| name == transport);
        self.engine == engine.name() && engine.transport().is_none_or(over)
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

/// The lanes of the `rust` side on the engines. The other sides use names that this side does not know.
fn lanes_on_engines(lanes: &Value, engines: &BTreeMap<String, EngineEntry>) -> serde_json::Result<Vec<EngineLane>> {
    let mut product = Vec::new();
    for lane in lanes.as_array().into_iter().flatten().filter(|lane| lane["side"] == "rust") {
        let lane = LaneEntry::deserialize(lane)?;
        let fits = |(name, entry): &(&String, &EngineEntry)| match &lane.engine {
            Some(engine) => engine == *name,
            None => lane.needs.iter().all(|need| entry.can.contains(need)),
        };
        product.extend(engines.iter().filter(fits).map(|(name, entry)| lane.on_engine(name, entry)));
    }
    Ok(product)
}

impl LaneEntry {
    fn on_engine(&self, name: &str, engine: &EngineEntry) -> EngineLane {
        let over = |transport: &Transport| match self.transports {
            None => true,
            Some(Transports::Full) => transport.limit.is_none(),
            Some(Transports::Limited) => transport.limit.is_some(),
        };
        let transports = engine.transports.iter().filter(|(_, transport)| over(transport));
        let Self { lane, variant, workloads, flavors, workers, client, .. } = self.clone();
        EngineLane {
            lane,
            variant,
            workloads,
            engine: name.to_owned(),
            transports: transports.map(|(name, _)| name.clone()).collect(),
            flavors: common(flavors, engine.flavors.as_deref()),
            workers: common(workers, engine.workers.as_deref()),
            client,
        }
    }
}

/// The values of a lane that its engine allows.
fn common<T: PartialEq>(of_lane: Vec<T>, of_engine: Option<&[T]>) -> Vec<T> {
    of_lane.into_iter().filter(|value| of_engine.is_none_or(|allowed| allowed.contains(value))).collect()
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
        Ok(sql.replace("{table}", &name(table)))
    }

    /// The entries of a lane for a workload: those on the engines, or with `client` those of that client library.
    pub fn lanes_of(
        &self,
        workload: Workload,
        lane: Lane,
        client: Option<Client>,
    ) -> impl Iterator<Item = &EngineLane> {
        let fits = move |entry: &&EngineLane| {
            entry.lane == lane && entry.client == client && entry.workloads.contains(&workload)
        };
        self.lanes.iter().filter(fits)
    }

    /// Whether an engine can do a workload.
    #[must_use]
    pub fn can_do(&self, engine: &str, workload: Workload) -> bool {
        let needs = self.workloads.get(workload.name()).map_or(&[][..], |entry| &entry.needs);
        self.engines.get(engine).is_some_and(|entry| needs.iter().all(|need| entry.can.contains(need)))
    }
}

/// The family `measurements` of the matrix.
///
/// # Errors
/// [`Error::Internal`] if the compiled-in file can't be parsed.
pub fn matrix() -> Result<&'static Family> {
    static FAMILY: FamilyPart<Family> = FamilyPart::new("measurements", |part| {
        let mut family = Family::deserialize(part)?;
        family.lanes = lanes_on_engines(&part["lanes"], &family.engines)?;
        Ok(family)
    });
    FAMILY.get()
}

#[cfg(test)]
mod tests {
    use boundary_bench_engine::{MemoryEngine, checksum, measurements};
    use boundary_bench_engines::ENGINES;

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
    fn the_engines_and_the_matrix_say_the_same() {
        let family = matrix().unwrap();
        assert_eq!(family.engines.len(), ENGINES.len());
        for engine in ENGINES {
            let entry = &family.engines[engine.name];
            assert_eq!(entry.can.contains(&Capability::Sql), engine.sql, "{}", engine.name);
            let mut transports = engine.transports.to_vec();
            transports.sort_unstable();
            assert!(entry.transports.keys().eq(transports), "{}", engine.name);
        }
    }

    #[test]
    fn an_engine_has_the_lanes_that_it_can_do_within_its_limits() {
        let family = matrix().unwrap();
        let insert = |name: &str| {
            let mut lanes = family.lanes_of(Workload::InsertBulk, Lane::Row, None);
            lanes.find(|lane| lane.engine == name).unwrap()
        };
        assert_eq!(insert("hyper").transports, ["ipc", "tcp"]);
        assert!(insert("memory").transports.is_empty() && insert("memory").runs_with(2));
        assert_eq!(insert("mysql").flavors, [Flavor::Async]);
        assert!(insert("mysql").runs_with(1) && !insert("mysql").runs_with(2));
        assert!(insert("memory").runs_on(&MemoryEngine::new()) && !insert("hyper").runs_on(&MemoryEngine::new()));
        let direct = family.lanes_of(Workload::InsertBulk, Lane::Row, Some(Client::HyperdbApi));
        assert!(direct.into_iter().all(|lane| lane.engine == "hyper"));
        assert!(family.can_do("embedded", Workload::QueryFiltered));
        assert!(!family.can_do("memory", Workload::QueryFiltered));
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
