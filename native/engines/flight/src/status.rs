//! Errors as statuses of gRPC: with the codes that any client knows, and our own codes beside them.

use boundary_bench_kernel::Error;
use tonic::metadata::MetadataValue;
use tonic::{Code, Status};

use crate::engine_error;

/// The key of our code of an error in the metadata of its status.
const OWN_CODE: &str = "boundary-bench-code";

/// The status that reports an error.
pub(crate) fn of_error(error: &Error) -> Status {
    let code = match error {
        Error::InvalidArgument(_) | Error::InvalidValue { .. } | Error::InvalidIpc(_) | Error::Engine { .. } => {
            Code::InvalidArgument
        }
        Error::SchemaMismatch(_) => Code::FailedPrecondition,
        Error::TableNotFound(_) => Code::NotFound,
        Error::TableExists(_) => Code::AlreadyExists,
        Error::Unsupported(_) => Code::Unimplemented,
        Error::Timeout(_) => Code::DeadlineExceeded,
        Error::Cancelled | Error::CancelledInDoubt => Code::Cancelled,
        Error::NotEnoughMemory(_) | Error::TooLarge(_) => Code::ResourceExhausted,
        Error::Closed(_) | Error::Connection(_) | Error::Unreachable(_) => Code::Unavailable,
        Error::Insecure(_) => Code::PermissionDenied,
        Error::NotInstalled(_) | Error::Io { .. } | Error::WrongRows(_) | Error::Internal(_) => Code::Internal,
    };
    let message = match error {
        // The name of the engine on this side is of no use to a client.
        Error::Engine { message, .. } => message.clone(),
        other => other.to_string(),
    };
    let mut status = Status::new(code, message);
    status.metadata_mut().insert(OWN_CODE, MetadataValue::from_static(error.code()));
    status
}

/// The error that a status reports.
pub(crate) fn to_error(status: &Status) -> Error {
    let message = status.message().to_owned();
    let own = status.metadata().get(OWN_CODE).and_then(|code| code.to_str().ok());
    match (own, status.code()) {
        (Some("BB_INVALID_ARGUMENT"), _) => Error::InvalidArgument(message),
        (Some("BB_SCHEMA_MISMATCH"), _) => Error::SchemaMismatch(message),
        (Some("BB_TOO_LARGE"), _) => Error::TooLarge(message),
        (_, Code::Unimplemented) => {
            Error::Unsupported(if message.is_empty() { "the server does not offer this".to_owned() } else { message })
        }
        (_, Code::DeadlineExceeded) => Error::Timeout(message),
        (_, Code::Unavailable) => Error::Connection(message),
        (_, Code::Unauthenticated) => {
            Error::Connection(format!("{message}; does the URL have the right user and password?"))
        }
        (_, Code::PermissionDenied) => engine_error(format!("{message}; does the URL have the right user?")),
        (_, code) if message.is_empty() => engine_error(format!("the server says: {code}")),
        _ => engine_error(message),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_keep_their_codes_through_a_status() {
        for error in [
            Error::InvalidArgument("parameter 1: x".to_owned()),
            Error::SchemaMismatch("two columns".to_owned()),
            Error::Unsupported("no".to_owned()),
            Error::Timeout("late".to_owned()),
            Error::TooLarge("much".to_owned()),
            Error::Engine { engine: "embedded", message: "Parser Error: at line 1\nSELECT ä".to_owned() },
        ] {
            let mut headers = hyper::HeaderMap::new();
            of_error(&error).add_header(&mut headers).unwrap();
            let back = to_error(&Status::from_header_map(&headers).unwrap());
            assert_eq!(back.code(), error.code());
            assert!(error.to_string().ends_with(back.to_string().trim_start_matches("flight: ")), "{back}");
        }
    }

    #[test]
    fn other_servers_are_understood() {
        assert_eq!(to_error(&Status::unimplemented("")).code(), "BB_UNSUPPORTED");
        assert_eq!(to_error(&Status::unavailable("gone")).code(), "BB_CONNECTION");
        assert_eq!(to_error(&Status::invalid_argument("syntax")).to_string(), "flight: syntax");
        assert_eq!(to_error(&Status::unauthenticated("who?")).code(), "BB_CONNECTION");
    }
}
