//! Request work: many small requests to a real server, over several connections.
//!
//! A cell is opened once ([`crate::registry::open_request_cell`]): that connects, loads the data that it reads and prepares
//! statements, untimed. Each [`RequestCell::sample`] then runs the load once, over the same connections. The timed part is
//! [`boundary_bench_kernel::load::run_load`]'s: from the common start to the last answer consumed.

use std::collections::BTreeMap;
use std::ops::Range;
use std::pin::Pin;
use std::sync::OnceLock;

use boundary_bench_engine::checksum::Checksum;
use boundary_bench_kernel::cancel::CancelToken;
use boundary_bench_kernel::latency::LatencyHistogram;
use boundary_bench_kernel::load::{Load, LoadOutcome};
use boundary_bench_kernel::{Error, Result};
use serde::{Deserialize, Serialize};
use tokio::runtime::{Builder, Runtime};

use crate::sample::CellSample;

/// The most connections of a cell. A larger number is taken for a mistake.
const MAX_CONNECTIONS: u32 = 10_000;

/// How operations are passed to the client.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RequestLane {
    /// One operation a call.
    Call,
    /// A batch of operations per call.
    Batch,
}

/// One cell of request work. Its family is in [`crate::registry::FamilySpec`].
#[derive(Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RequestSpec {
    /// The workload's name in the matrix.
    pub workload: String,
    /// How operations are passed to the client.
    pub lane: RequestLane,
    /// The way of using the client, for lanes that have several, such as `pipelined`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub setting: Option<String>,
    /// The driver of the connections. `None`: threads for half of the cores.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub driver: Option<Driver>,
    /// The client library, if it is not our own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client: Option<String>,
    /// The URL of the server. It may hold a password, so no message contains it.
    pub url: String,
    /// The number of connections, each with one request in flight.
    pub connections: u32,
    /// The number of operations of one request. The last request may have fewer.
    pub batch: u32,
    /// The number of operations of one sample, all connections together.
    pub operations: u64,
    /// The rate of an open loop, in requests per second of all connections together, or `None` for a closed loop.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<f64>,
    /// The prefix of the names of the cell's tables or keys: the cell touches no others.
    pub prefix: String,
    /// The process ids of the servers, if they are known and run on this machine, to measure their CPU time.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub server_processes: Vec<u32>,
    /// Further options of a family's cells, such as the size of a value.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub options: BTreeMap<String, serde_json::Value>,
}

impl std::fmt::Debug for RequestSpec {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { workload, lane, setting, driver, client, connections, batch, operations, rate, prefix, .. } = self;
        formatter
            .debug_struct("RequestSpec")
            .field("workload", workload)
            .field("lane", lane)
            .field("setting", setting)
            .field("driver", driver)
            .field("client", client)
            .field("connections", connections)
            .field("batch", batch)
            .field("operations", operations)
            .field("rate", rate)
            .field("prefix", prefix)
            .field("options", &self.options)
            .finish_non_exhaustive()
    }
}

impl RequestSpec {
    /// Checks the numbers and the prefix. The family checks the names.
    pub fn validate(&self) -> Result<()> {
        let Self { connections, batch, operations, prefix, .. } = self;
        let problem = if !(1..=MAX_CONNECTIONS).contains(connections) {
            format!("{connections} connections: there must be 1 to {MAX_CONNECTIONS}")
        } else if *batch == 0 {
            "a request must have an operation".to_owned()
        } else if *operations == 0 {
            "a sample must have an operation".to_owned()
        } else if prefix.is_empty() {
            "a cell needs a prefix for the names of what is its".to_owned()
        } else {
            return Ok(());
        };
        Err(Error::InvalidArgument(problem))
    }

    /// The number of requests of one sample.
    pub fn requests(&self) -> u64 {
        self.operations.div_ceil(u64::from(self.batch.max(1)))
    }

    /// The operations of the request `index`, from 0.
    pub fn operations_of(&self, index: u64) -> Range<u64> {
        let start = index.saturating_mul(u64::from(self.batch)).min(self.operations);
        start..start.saturating_add(u64::from(self.batch)).min(self.operations)
    }

    /// The places of the operations of the request `index` in what was made for all operations.
    pub(crate) fn places_of(&self, index: u64) -> Range<usize> {
        let Range { start, end } = self.operations_of(index);
        let place = |operation| usize::try_from(operation).unwrap_or(usize::MAX);
        place(start)..place(end)
    }

    /// The error for a cell that the family lacks.
    pub(crate) fn unknown(&self, family: &str) -> Error {
        let Self { workload, lane, batch, .. } = self;
        Error::InvalidArgument(format!(
            "the family {family} has no workload {workload} on the lane {lane:?} with batches of {batch}"
        ))
    }

    /// The load of one sample.
    pub fn load(&self) -> Load {
        let (requests, server_processes) = (self.requests(), self.server_processes.clone());
        Load { requests, rate: self.rate, server_processes, ..Load::default() }
    }

    /// The async runtime on which the cell's connections live, by its driver.
    pub(crate) fn runtime(&self) -> Result<&'static Runtime> {
        self.driver.unwrap_or_default().runtime()
    }

    /// The value of an option of the family, or `None` if it is not set.
    pub fn option<T: serde::de::DeserializeOwned>(&self, name: &str) -> Result<Option<T>> {
        let Some(value) = self.options.get(name) else { return Ok(None) };
        let parsed = serde_json::from_value(value.clone());
        parsed.map(Some).map_err(|error| Error::InvalidArgument(format!("the option {name} of a cell: {error}")))
    }
}

/// A cell of request work, connected and loaded.
pub trait RequestCell: Send + Sync {
    /// Does ahead what the next sample would do before its load, such as emptying the places that it writes to: loads of several
    /// processes begin together then. A sample without it does that itself. Blocks.
    fn prepare(&self, cancel: &CancelToken) -> Result<()> {
        cancel.check()
    }

    /// Runs the load once and returns its times, its latencies, and the checksum of the values read, or for writes of the
    /// values that are read back untimed. Blocks: call it from a thread that may block, and not twice at the same time.
    /// After an error the next sample connects again.
    fn sample(&self, cancel: &CancelToken) -> Result<CellSample>;

    /// The checksum that every sample must return.
    fn expected(&self) -> &Checksum;

    /// Executes the cell's work once more, untimed, and compares each answer with the expected answer. Sums do not show that two
    /// answers were exchanged. Does nothing if a sample compares each answer already.
    fn verify(&self, cancel: &CancelToken) -> Result<()> {
        cancel.check()
    }

    /// Removes the cell's tables or keys and closes its connections. Dropping the cell only closes them.
    fn close(&self) -> Result<()>;
}

impl CellSample {
    /// The sample of a load.
    pub fn of_load(outcome: &LoadOutcome, checksum: Checksum) -> Result<Self> {
        let mut sample = Self::new(outcome.seconds, outcome.used, checksum);
        sample.server_cpu_user_seconds = outcome.server_cpu.map(|cpu| cpu.user);
        sample.server_cpu_system_seconds = outcome.server_cpu.map(|cpu| cpu.system);
        sample.latency = Some(outcome.latency.to_base64()?);
        sample.behind = outcome.behind.as_ref().map(LatencyHistogram::to_base64).transpose()?;
        Ok(sample)
    }
}

/// The driver of a cell's connections: the threads of its async runtime.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Driver {
    /// Threads for half of the cores. The other cores are left to a server on this machine. On two cores, one thread sends a third
    /// more single requests over eight connections than two threads: two threads wake each other and take the server's core.
    #[default]
    HalfCores,
    /// The thread that runs the load also drives the sockets, as Node's loop does.
    OneThread,
    /// A thread for each core.
    AllCores,
}

impl Driver {
    fn start(self) -> std::io::Result<Runtime> {
        let cores = std::thread::available_parallelism().map_or(1, std::num::NonZeroUsize::get);
        let threads = match self {
            Self::OneThread => return Builder::new_current_thread().enable_all().build(),
            Self::HalfCores => cores.div_ceil(2),
            Self::AllCores => cores,
        };
        Builder::new_multi_thread().worker_threads(threads).thread_name("bb-requests").enable_all().build()
    }

    /// The runtime, started once and kept warm: the connections of cells live on it.
    fn runtime(self) -> Result<&'static Runtime> {
        static RUNTIMES: [OnceLock<std::result::Result<Runtime, String>>; 3] = [const { OnceLock::new() }; 3];
        let runtime = RUNTIMES[self as usize].get_or_init(|| self.start().map_err(|error| error.to_string()));
        runtime.as_ref().map_err(|error| Error::Internal(format!("no async runtime: {error}")))
    }
}

/// Runs a future to its end. It is boxed, so that all futures with the same output share one copy of the runtime's loop.
pub(crate) fn block_on<T>(runtime: &Runtime, future: impl Future<Output = T>) -> T {
    let future: Pin<Box<dyn Future<Output = T> + '_>> = Box::pin(future);
    runtime.block_on(future)
}

/// The async runtime of cells without a driver of their own.
pub(crate) fn runtime() -> Result<&'static Runtime> {
    Driver::HalfCores.runtime()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn spec(operations: u64, batch: u32) -> RequestSpec {
        RequestSpec {
            workload: "get".to_owned(),
            lane: RequestLane::Batch,
            setting: None,
            driver: None,
            client: None,
            url: "redis://:geheim@localhost".to_owned(),
            connections: 4,
            batch,
            operations,
            rate: None,
            prefix: "bb".to_owned(),
            server_processes: Vec::new(),
            options: BTreeMap::new(),
        }
    }

    #[test]
    fn a_spec_is_read_as_the_other_side_writes_it_and_keeps_its_secret() {
        let text = r#"{"workload":"get","lane":"batch","url":"redis://:geheim@localhost","connections":4,"batch":16,"operations":100,"prefix":"bb"}"#;
        let parsed: RequestSpec = serde_json::from_str(text).unwrap();
        assert_eq!(parsed, spec(100, 16));
        assert_eq!(serde_json::to_string(&parsed).unwrap(), text);
        assert!(!format!("{parsed:?}").contains("geheim"));
        let more = text.replace(
            r#""prefix""#,
            r#""rate":10.5,"setting":"prepared","driver":"all-cores","client":"redis","serverProcesses":[7,8],"options":{"valueBytes":64},"prefix""#,
        );
        let parsed: RequestSpec = serde_json::from_str(&more).unwrap();
        assert_eq!((parsed.rate, parsed.server_processes.as_slice()), (Some(10.5), [7, 8].as_slice()));
        assert_eq!((parsed.setting.as_deref(), parsed.driver), (Some("prepared"), Some(Driver::AllCores)));
        assert_eq!(parsed.option::<u32>("valueBytes").unwrap(), Some(64));
        assert_eq!(parsed.option::<u32>("other").unwrap(), None);
        assert_eq!(parsed.option::<String>("valueBytes").unwrap_err().code(), "BB_INVALID_ARGUMENT");
    }

    #[test]
    fn the_threads_of_a_cell_are_those_of_its_driver() {
        let cores = std::thread::available_parallelism().unwrap().get();
        for (driver, workers, is_here) in [
            (None, cores.div_ceil(2), false),
            (Some(Driver::OneThread), 1, true),
            (Some(Driver::AllCores), cores, false),
        ] {
            let runtime = RequestSpec { driver, ..spec(1, 1) }.runtime().unwrap();
            assert_eq!(runtime.metrics().num_workers(), workers, "{driver:?}");
            let ran_on = runtime.block_on(async { tokio::spawn(async { std::thread::current().id() }).await.unwrap() });
            assert_eq!(ran_on == std::thread::current().id(), is_here, "{driver:?}");
        }
    }

    #[test]
    fn numbers_that_make_no_sense_are_refused() {
        assert!(spec(1, 1).validate().is_ok());
        for wrong in [
            spec(0, 1),
            spec(1, 0),
            RequestSpec { connections: 0, ..spec(1, 1) },
            RequestSpec { connections: MAX_CONNECTIONS + 1, ..spec(1, 1) },
            RequestSpec { prefix: String::new(), ..spec(1, 1) },
        ] {
            assert_eq!(wrong.validate().unwrap_err().code(), "BB_INVALID_ARGUMENT", "{wrong:?}");
        }
    }

    proptest! {
        #[test]
        fn the_requests_cover_every_operation_once(operations in 1_u64..5000, batch in 1_u32..300) {
            let spec = spec(operations, batch);
            let covered: Vec<u64> = (0..spec.requests()).flat_map(|index| spec.operations_of(index)).collect();
            prop_assert_eq!(covered, (0..operations).collect::<Vec<_>>());
            prop_assert!((0..spec.requests()).all(|index| !spec.operations_of(index).is_empty()));
            prop_assert!(spec.operations_of(spec.requests()).is_empty());
        }
    }
}
