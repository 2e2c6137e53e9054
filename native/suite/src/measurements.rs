//! The family `measurements` as `bench/matrix.json` defines it.

use std::collections::BTreeMap;

use boundary_bench_engine::sql_text::name;
use boundary_bench_kernel::{Error, Result};
use serde::Deserialize;
use serde::de::{Deserializer, Error as _};
use serde_json::Value;

use crate::dimensions::{Client, Flavor, Lane, Workload};
use crate::matrix::FamilyPart;

/// A group of workloads over one schema.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Family {
    /// The number of rows in one piece of a writer's input. Pieces are made while the clock is paused.
    pub(crate) input_rows: u32,
    /// The workloads by name.
    workloads: BTreeMap<String, WorkloadEntry>,
    /// The lanes of the `rust` side.
    #[serde(deserialize_with = "lanes_of_rust")]
    lanes: Vec<LaneEntry>,
}

/// A workload of the matrix.
#[derive(Deserialize)]
struct WorkloadEntry {
    /// The query, with `{table}` for the table's name, or `None` for workloads that insert rows.
    sql: Option<String>,
}

/// A lane of the `rust` side. On some engines it has fewer flavours and workers.
#[derive(Deserialize)]
pub(crate) struct LaneEntry {
    lane: Lane,
    workloads: Vec<Workload>,
    flavors: Vec<Flavor>,
    workers: Vec<WorkerCount>,
    client: Option<Client>,
}

impl LaneEntry {
    /// Whether the lane runs in this flavour with this number of workers.
    pub(crate) fn runs(&self, flavor: Flavor, workers: u32) -> bool {
        let count = if workers == 1 { WorkerCount::One } else { WorkerCount::Many };
        self.flavors.contains(&flavor) && self.workers.contains(&count)
    }
}

/// A class of numbers of workers.
#[derive(PartialEq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum WorkerCount {
    /// One worker.
    One,
    /// Several workers. The user sets the number.
    Many,
}

/// Reads the lanes of the `rust` side. The other sides use names that this side does not know.
fn lanes_of_rust<'de, D: Deserializer<'de>>(lanes: D) -> std::result::Result<Vec<LaneEntry>, D::Error> {
    let lanes = Vec::<Value>::deserialize(lanes)?.into_iter().filter(|lane| lane["side"] == "rust");
    lanes.map(|lane| LaneEntry::deserialize(lane).map_err(D::Error::custom)).collect()
}

impl Family {
    /// The query of a workload.
    pub(crate) fn query(&self, workload: Workload, table: &str) -> Result<String> {
        let entry = self.workloads.get(workload.name());
        let sql = entry.and_then(|entry| entry.sql.as_deref());
        let sql = sql.ok_or_else(|| Error::InvalidArgument(format!("{} has no query", workload.name())))?;
        Ok(sql.replace("{table}", &name(table)))
    }

    /// The entries of a lane for a workload: the engines' entries, or with `client` the entries of that client library.
    pub(crate) fn lanes_of(
        &self,
        workload: Workload,
        lane: Lane,
        client: Option<Client>,
    ) -> impl Iterator<Item = &LaneEntry> {
        let fits = move |entry: &&LaneEntry| {
            entry.lane == lane && entry.client == client && entry.workloads.contains(&workload)
        };
        self.lanes.iter().filter(fits)
    }
}

/// The family `measurements` of the matrix.
pub(crate) fn matrix() -> Result<&'static Family> {
    static FAMILY: FamilyPart<Family> = FamilyPart::new("measurements");
    FAMILY.get()
}

#[cfg(test)]
mod tests {
    use boundary_bench_engine::{checksum, measurements};
    use boundary_bench_engines::ENGINES;
    use serde_json::json;

    use super::*;

    /// The whole part of the matrix.
    fn part() -> &'static Value {
        static PART: FamilyPart<Value> = FamilyPart::new("measurements");
        PART.get().unwrap()
    }

    #[test]
    fn the_core_and_the_matrix_define_the_same_rows() {
        let part = part();
        for (name, value) in [
            ("sensors", json!(measurements::SENSORS)),
            ("valueStep", json!(measurements::VALUE_STEP)),
            ("timestampStart", json!(measurements::TIMESTAMP_START)),
            ("timestampStep", json!(measurements::TIMESTAMP_STEP)),
            ("bytesPerRow", json!(measurements::BYTES_PER_ROW)),
            ("batchRows", json!(boundary_bench_engine::DEFAULT_BATCH_ROWS)),
            ("floatTolerance", json!(checksum::FLOAT_TOLERANCE)),
        ] {
            assert_eq!(part[name], value, "{name}");
        }
        let workloads = &part["workloads"];
        assert_eq!(workloads["query.filtered"]["filteredSensor"], json!(measurements::FILTERED_SENSOR));
        let columns: Vec<String> = measurements::table("").columns.into_iter().map(|column| column.name).collect();
        for workload in [Workload::InsertBulk, Workload::QueryFullScan, Workload::QueryFiltered] {
            assert_eq!(workloads[workload.name()]["columns"], json!(columns), "{}", workload.name());
        }
    }

    #[test]
    fn the_engines_and_the_matrix_say_the_same() {
        let engines = part()["engines"].as_object().unwrap();
        assert_eq!(engines.len(), ENGINES.len());
        for engine in ENGINES {
            let entry = &engines[engine.name];
            assert_eq!(entry["can"].as_array().unwrap().contains(&json!("sql")), engine.sql, "{}", engine.name);
            let known = entry["transports"].as_object().into_iter().flatten().map(|(name, _)| name.as_str());
            let (mut known, mut transports) = (known.collect::<Vec<_>>(), engine.transports.to_vec());
            known.sort_unstable();
            transports.sort_unstable();
            assert_eq!(known, transports, "{}", engine.name);
        }
    }

    #[test]
    fn every_workload_of_the_matrix_is_known() {
        let family = matrix().unwrap();
        // Texts are read in Node alone.
        for name in family.workloads.keys().filter(|name| *name != "query.texts") {
            let workload: Workload = serde_json::from_value(name.as_str().into()).unwrap();
            assert!(family.lanes.iter().any(|lane| lane.workloads.contains(&workload)), "{name}");
        }
        assert_eq!(
            family.query(Workload::QueryFiltered, "a \"b").unwrap(),
            "SELECT id, sensor_id, value, timestamp FROM \"a \"\"b\" WHERE sensor_id = 5"
        );
    }
}
