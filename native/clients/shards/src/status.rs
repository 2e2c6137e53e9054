//! Conversions between errors and gRPC statuses.

use std::time::Duration;

use boundary_bench_kernel::Error;
use boundary_bench_kernel::error::with_sources;
use boundary_bench_kernel::timeout::grpc_time;
use tonic::metadata::MetadataValue;
use tonic::{Code, Status};

/// The metadata key of an error's stable code.
const CODE: &str = "bb-code";

/// The metadata key of the shard's number.
const SHARD: &str = "bb-shard";

/// The metadata key of the caller's time-out.
pub(crate) const TIMEOUT: &str = "grpc-timeout";

/// The name of the engine in errors.
pub(crate) const NAME: &str = "shards";

/// The gRPC status of a shard's error.
pub(crate) fn status_of(error: &Error, shard: u32) -> Status {
    let code = match error {
        Error::InvalidArgument(_) | Error::InvalidValue { .. } | Error::SchemaMismatch(_) | Error::InvalidIpc(_) => {
            Code::InvalidArgument
        }
        Error::Unsupported(_) => Code::Unimplemented,
        Error::NotEnoughMemory(_) => Code::ResourceExhausted,
        Error::Timeout(_) => Code::DeadlineExceeded,
        Error::Cancelled | Error::CancelledInDoubt => Code::Cancelled,
        Error::Connection(_) | Error::Unreachable(_) | Error::Closed(_) => Code::Unavailable,
        _ => Code::Internal,
    };
    let mut status = Status::new(code, error.to_string());
    status.metadata_mut().insert(CODE, MetadataValue::from_static(error.code()));
    status.metadata_mut().insert(SHARD, shard.into());
    status
}

/// The error of a gRPC status, with the shard's name before its message.
pub(crate) fn error_of(status: &Status, place: &dyn std::fmt::Display) -> Error {
    let told = with_sources(status.message().to_owned(), std::error::Error::source(status));
    let message = format!("{place}: {told}");
    match status.metadata().get(CODE).and_then(|code| code.to_str().ok()) {
        Some("BB_NOT_ENOUGH_MEMORY") => return Error::NotEnoughMemory(message),
        Some("BB_SCHEMA_MISMATCH") => return Error::SchemaMismatch(message),
        Some("BB_ABORTED") => return Error::Cancelled,
        _ => {}
    }
    match status.code() {
        Code::InvalidArgument => Error::InvalidArgument(message),
        Code::OutOfRange => Error::InvalidArgument(format!("{message}; send or ask for less in one message")),
        Code::Unimplemented => Error::Unsupported(message),
        // tonic's own timer, on either side, reports an expired deadline as cancelled.
        Code::Cancelled if status.message().contains("Timeout") => Error::Timeout(timed_out(place)),
        Code::DeadlineExceeded => Error::Timeout(timed_out(place)),
        Code::Unauthenticated => Error::Connection(format!(
            "{message}; give its key by the option apiKey, or in its address: http://:key@host:4410"
        )),
        Code::Unavailable => Error::Connection(format!("{message}; check that it runs")),
        // The connection ended during the call.
        Code::Unknown | Code::Cancelled | Code::Internal if is_of_transport(status) => Error::Connection(message),
        code => Error::Engine { engine: NAME, message: format!("{message} ({code:?})") },
    }
}

/// The text of an expired deadline.
pub(crate) fn timed_out(place: &dyn std::fmt::Display) -> String {
    format!("{place}: it did not answer in the time given")
}

/// Whether the status was made on this side, from an error of the connection.
fn is_of_transport(status: &Status) -> bool {
    std::error::Error::source(status).is_some()
        || status.message().contains("h2 protocol error")
        || status.message().contains("transport error")
}

/// The caller's time-out in the metadata (`grpc-timeout`).
pub(crate) fn deadline(metadata: &tonic::metadata::MetadataMap) -> Option<Duration> {
    metadata.get(TIMEOUT)?.to_str().ok().and_then(grpc_time)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_survive_the_way() {
        let place = "shard 1 at 127.0.0.1:1";
        for error in [
            Error::InvalidArgument("no".to_owned()),
            Error::SchemaMismatch("no".to_owned()),
            Error::NotEnoughMemory("no".to_owned()),
            Error::Unsupported("no".to_owned()),
            Error::Cancelled,
        ] {
            let status = status_of(&error, 1);
            assert_eq!(status.metadata().get(CODE).unwrap(), error.code());
            assert_eq!(status.metadata().get(SHARD).unwrap(), "1");
            let back = error_of(&status, &place);
            assert_eq!(back.code(), error.code());
            assert!(back.to_string().contains(place) || matches!(back, Error::Cancelled), "{back}");
        }
        let internal = error_of(&status_of(&Error::Internal("no".to_owned()), 1), &place);
        assert_eq!(internal.code(), "BB_ENGINE");
    }

    #[test]
    fn deadlines_are_read() {
        let read = |text: &'static str| {
            let mut metadata = tonic::metadata::MetadataMap::new();
            metadata.insert("grpc-timeout", MetadataValue::from_static(text));
            deadline(&metadata)
        };
        assert_eq!(read("250m"), Some(std::time::Duration::from_millis(250)));
        assert_eq!(read("3S"), Some(std::time::Duration::from_secs(3)));
        for wrong in ["", "m", "3x", "123456789S"] {
            assert_eq!(read(wrong), None, "{wrong}");
        }
    }
}
