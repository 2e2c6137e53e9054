//! What one execution of a cell returns.

use boundary_bench_engine::checksum::Checksum;
use boundary_bench_kernel::resources::CpuTime;
use boundary_bench_kernel::{Error, Result};
use serde::{Deserialize, Serialize};

/// One timed execution of a cell. What the platform does not tell is absent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CellSample {
    /// The time of the lane's work, in seconds.
    pub seconds: f64,
    /// The CPU time of the whole process in that time, in seconds, in the program itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu_user_seconds: Option<f64>,
    /// The same, in the kernel.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu_system_seconds: Option<f64>,
    /// Of the lane `arrow-ipc` in: the time to encode its input, in seconds, all workers together. Not in `seconds`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub encode_seconds: Option<f64>,
    /// Of the lane `arrow-ipc` out: the time to decode its bytes, in seconds, all workers together. Not in `seconds`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decode_seconds: Option<f64>,
    /// Of request work: the CPU time of the server's process, in seconds, in the program itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server_cpu_user_seconds: Option<f64>,
    /// The same, in the kernel.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server_cpu_system_seconds: Option<f64>,
    /// Of request work: the HDR histogram of the requests' latencies in microseconds, compressed (V2) and in base64.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub latency: Option<String>,
    /// Of an open loop: the same of how late this program itself sent its requests.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub behind: Option<String>,
    /// What was read, or what the engine holds after an insert.
    pub checksum: Checksum,
}

impl CellSample {
    pub(crate) fn new(seconds: f64, cpu: Option<CpuTime>, checksum: Checksum) -> Self {
        Self {
            seconds,
            cpu_user_seconds: cpu.map(|cpu| cpu.user),
            cpu_system_seconds: cpu.map(|cpu| cpu.system),
            encode_seconds: None,
            decode_seconds: None,
            server_cpu_user_seconds: None,
            server_cpu_system_seconds: None,
            latency: None,
            behind: None,
            checksum,
        }
    }
}

/// The sum of the workers' checksums.
pub(crate) fn merge(checksums: impl IntoIterator<Item = Checksum>) -> Result<Checksum> {
    let mut checksums = checksums.into_iter();
    let first = checksums.next().ok_or_else(|| Error::InvalidArgument("there must be a worker".to_owned()))?;
    checksums.try_fold(first, |mut sum, checksum| sum.merge(&checksum).map(|()| sum))
}
