//! Errors as statuses of gRPC, and back.

use std::time::Duration;

use boundary_bench_kernel::Error;
use tonic::metadata::MetadataValue;
use tonic::{Code, Status};

/// The metadata with the stable code of an error.
const CODE: &str = "bb-code";

/// The metadata with the number of the shard.
const SHARD: &str = "bb-shard";

/// The metadata with the time that a caller waits.
pub(crate) const TIMEOUT: &str = "grpc-timeout";

/// The name of the engine in errors.
pub(crate) const NAME: &str = "shards";

/// The status of an error of a shard.
pub(crate) fn status_of(error: &Error, shard: u32) -> Status {
    let code = match error {
        Error::InvalidArgument(_) | Error::InvalidValue { .. } | Error::SchemaMismatch(_) | Error::InvalidIpc(_) => {
            Code::InvalidArgument
        }
        Error::Unsupported(_) => Code::Unimplemented,
        Error::NotEnoughMemory(_) => Code::ResourceExhausted,
        Error::Timeout(_) => Code::DeadlineExceeded,
        Error::Cancelled => Code::Cancelled,
        Error::Connection(_) | Error::Closed(_) => Code::Unavailable,
        _ => Code::Internal,
    };
    let mut status = Status::new(code, error.to_string());
    status.metadata_mut().insert(CODE, MetadataValue::from_static(error.code()));
    status.metadata_mut().insert(SHARD, shard.into());
    status
}

/// What a status says, with the name of the shard before it.
pub(crate) fn error_of(status: &Status, place: &dyn std::fmt::Display) -> Error {
    let message = format!("{place}: {}", status.message());
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
        // An expired deadline is told so by tonic's own timer, on either side.
        Code::Cancelled if status.message().contains("Timeout") => Error::Timeout(timed_out(place)),
        Code::DeadlineExceeded => Error::Timeout(timed_out(place)),
        Code::Unauthenticated => Error::Connection(format!(
            "{message}; give its key by the option apiKey, or in its address: http://:key@host:4410"
        )),
        Code::Unavailable => Error::Connection(format!("{message}; check that it runs")),
        // A connection that ends under a call.
        Code::Unknown | Code::Cancelled | Code::Internal if is_of_transport(status) => Error::Connection(message),
        code => Error::Engine { engine: NAME, message: format!("{message} ({code:?})") },
    }
}

/// The text of an expired deadline.
pub(crate) fn timed_out(place: &dyn std::fmt::Display) -> String {
    format!("{place}: it did not answer in the time given")
}

/// Whether a status was made on this side, of an error of the connection.
fn is_of_transport(status: &Status) -> bool {
    std::error::Error::source(status).is_some()
        || status.message().contains("h2 protocol error")
        || status.message().contains("transport error")
}

/// How long a caller waits, by its own words (`grpc-timeout`): eight digits and a unit at most.
pub(crate) fn deadline(metadata: &tonic::metadata::MetadataMap) -> Option<Duration> {
    metadata.get(TIMEOUT)?.to_str().ok().and_then(time_of)
}

/// The time that those words say.
pub(crate) fn time_of(text: &str) -> Option<Duration> {
    let (digits, unit) = text.split_at_checked(text.len().checked_sub(1)?)?;
    let count: u64 = digits.parse().ok().filter(|_| digits.len() <= 8)?;
    Some(match unit {
        "H" => Duration::from_secs(count * 3600),
        "M" => Duration::from_secs(count * 60),
        "S" => Duration::from_secs(count),
        "m" => Duration::from_millis(count),
        "u" => Duration::from_micros(count),
        "n" => Duration::from_nanos(count),
        _ => return None,
    })
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
