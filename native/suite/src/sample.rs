//! The result of one execution of a cell.

use boundary_bench_engine::checksum::Checksum;
use boundary_bench_kernel::used::Used;
use boundary_bench_kernel::{Error, Result};
use serde::{Deserialize, Serialize};

/// One timed execution of a cell. Figures that do not apply, or that the platform does not report, are absent.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CellSample {
    /// The time of the lane's work, in seconds.
    pub seconds: f64,
    /// The CPU time of the whole process in the timed part, in seconds, spent in the program itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu_user_seconds: Option<f64>,
    /// The CPU time of the whole process in the timed part, in seconds, spent in the kernel.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu_system_seconds: Option<f64>,
    /// The minor page faults of the whole process in the timed part: the first touches of memory, most of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub minor_faults: Option<u64>,
    /// The number of threads that worked in the timed part: those that ran for a share of it
    /// ([`boundary_bench_kernel::used::WORKING_SHARE`]).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub threads: Option<u32>,
    /// The time to encode the input on the lane `arrow-ipc` in, in seconds, all workers together. Not in `seconds`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub encode_seconds: Option<f64>,
    /// The time to decode the bytes on the lane `arrow-ipc` out, in seconds, all workers together. Not in `seconds`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decode_seconds: Option<f64>,
    /// The CPU time of the server's processes in request work, in seconds, spent in the program itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server_cpu_user_seconds: Option<f64>,
    /// The CPU time of the server's processes in request work, in seconds, spent in the kernel.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server_cpu_system_seconds: Option<f64>,
    /// The HDR histogram of the requests' latencies in request work, in nanoseconds, compressed (V2) and in base64.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub latency: Option<String>,
    /// The HDR histogram of the delays with which an open loop itself sent its requests, in the format of `latency`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub behind: Option<String>,
    /// The checksum of the rows that were read, or that the engine holds after an insert.
    pub checksum: Checksum,
}

impl CellSample {
    pub(crate) fn new(seconds: f64, Used { cpu, minor_faults, threads }: Used, checksum: Checksum) -> Self {
        Self {
            seconds,
            cpu_user_seconds: cpu.map(|cpu| cpu.user),
            cpu_system_seconds: cpu.map(|cpu| cpu.system),
            minor_faults,
            threads,
            checksum,
            ..Self::default()
        }
    }
}

/// The sum of the workers' checksums.
pub(crate) fn merge(checksums: impl IntoIterator<Item = Checksum>) -> Result<Checksum> {
    let mut checksums = checksums.into_iter();
    let first = checksums.next().ok_or_else(|| Error::InvalidArgument("there must be a worker".to_owned()))?;
    checksums.try_fold(first, |mut sum, checksum| sum.merge(&checksum).map(|()| sum))
}

#[cfg(test)]
mod tests {
    use boundary_bench_engine::checksum::ChecksumSum;
    use boundary_bench_kernel::resources::CpuTime;
    use serde_json::Value;

    use super::*;

    #[test]
    fn a_sample_has_no_field_that_result_files_lack() {
        let schema: Value = serde_json::from_str(include_str!("../../../schema/run.schema.json")).unwrap();
        let known = |part: &str, field: &str| schema["$defs"][part]["properties"].get(field).is_some();
        let mut sample = CellSample::new(
            1.0,
            Used { cpu: Some(CpuTime { user: 1.0, system: 1.0 }), minor_faults: Some(1), threads: Some(1) },
            Checksum::from_sums(1, [("value", ChecksumSum::Int(1))]),
        );
        (sample.encode_seconds, sample.decode_seconds) = (Some(1.0), Some(1.0));
        (sample.server_cpu_user_seconds, sample.server_cpu_system_seconds) = (Some(1.0), Some(1.0));
        (sample.latency, sample.behind) = (Some(String::new()), Some(String::new()));
        let Value::Object(written) = serde_json::to_value(&sample).unwrap() else { panic!("no object") };
        for field in written.keys().filter(|field| *field != "checksum") {
            assert!(known("sample", field), "{field}");
        }
        let Value::Object(checksum) = &written["checksum"] else { panic!("no object") };
        assert!(checksum.keys().all(|field| known("checksum", field)), "{checksum:?}");
        assert_eq!(written.len(), 12);
    }
}
