//! The engine's URIs.

use std::num::NonZeroU32;
use std::str::FromStr;
use std::thread::available_parallelism;

use boundary_bench_kernel::url::UrlParts;
use boundary_bench_kernel::{Error, Result};

use super::SAIL;
use crate::{Dialect, FlightUrl};

/// Maximum number of workers of a private server.
const MAX_WORKERS: u32 = 256;

/// Minimum number of workers of a private server whose URI names none: with fewer, nothing is exchanged among workers.
const LEAST_WORKERS: u32 = 2;

/// A server, by its URI. `sail:` is a private server with one worker per core, at least two. `sail:?workers=N` is one with N workers.
/// `sail://host:port` and `sail+tls://...` are a running server, with the login and the options of a [`FlightUrl`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SailUri {
    /// A private server, and the number of its workers.
    Private {
        /// The number of workers.
        workers: NonZeroU32,
    },
    /// A running server.
    Server(Box<FlightUrl>),
}

impl FromStr for SailUri {
    type Err = Error;

    /// The error repeats nothing of the text, since the text may hold a password.
    fn from_str(text: &str) -> Result<Self> {
        let invalid = |problem: &str| {
            Error::InvalidArgument(format!(
                "unusable URI of Sail: {problem}; use sail:, sail:?workers=N, sail://host:port or sail+tls://host:port"
            ))
        };
        let UrlParts { scheme, authority, path, mut options } = UrlParts::parse(text).map_err(invalid)?;
        if !SAIL.schemes.contains(&scheme) {
            return Err(invalid("it does not begin with \"sail:\""));
        }
        if authority.is_some() {
            let rest = text.strip_prefix(SAIL.name).unwrap_or_default();
            let mut url: FlightUrl = format!("flight{rest}").parse()?;
            url.dialect.get_or_insert(Dialect::Spark);
            return Ok(Self::Server(Box::new(url)));
        }
        if scheme != SAIL.name || !path.is_empty() {
            return Err(invalid("a private server has neither TLS nor a path"));
        }
        let workers = options.take("workers").map(|value| {
            let number = value.parse().ok().filter(|workers: &NonZeroU32| workers.get() <= MAX_WORKERS);
            number.ok_or_else(|| invalid(&format!("workers is no number from 1 to {MAX_WORKERS}")))
        });
        options.end().map_err(invalid)?;
        let workers = workers.transpose()?.unwrap_or_else(usual_workers);
        Ok(Self::Private { workers })
    }
}

fn usual_workers() -> NonZeroU32 {
    let cores = available_parallelism().ok().and_then(|cores| u32::try_from(cores.get()).ok()).unwrap_or(1);
    NonZeroU32::new(cores.clamp(LEAST_WORKERS, MAX_WORKERS)).unwrap_or(NonZeroU32::MIN)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(text: &str) -> SailUri {
        text.parse().unwrap()
    }

    #[test]
    fn uris_name_a_number_of_workers_or_a_server() {
        assert_eq!(place("sail:?workers=5"), SailUri::Private { workers: NonZeroU32::new(5).unwrap() });
        let SailUri::Private { workers } = place("sail:") else { panic!() };
        assert!(workers.get() >= LEAST_WORKERS);
        let SailUri::Server(url) = place("sail://me:a%2Fb@[::1]:32010?timeout=5") else { panic!() };
        assert_eq!((url.place.host.as_str(), url.place.tls, url.dialect), ("::1", false, Some(Dialect::Spark)));
        let SailUri::Server(url) = place("sail+tls://host:1?dialect=duckdb") else { panic!() };
        assert_eq!((url.place.tls, url.dialect), (true, Some(Dialect::DuckDb)));
    }

    #[test]
    fn unusable_uris_are_refused_and_passwords_not_shown() {
        for text in [
            "sail",
            "sail:x",
            "sail:/x",
            "sail+tls:",
            "sail:?workers=0",
            "sail:?workers=257",
            "sail:?x=1",
            "sail://u:secret@host",
            "sail://u:secret@host:1?workers=2",
            "sails:",
        ] {
            let error = text.parse::<SailUri>().unwrap_err();
            assert_eq!(error.code(), "BB_INVALID_ARGUMENT", "{text}");
            assert!(!error.to_string().contains("secret"), "{error}");
        }
    }
}
