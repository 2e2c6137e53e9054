//! The families of request work. Each depends on [`crate::requests`], and none depends on this module.

use boundary_bench_kernel::cancel::CancelToken;
use boundary_bench_kernel::{Error, Result};
use serde::{Deserialize, Serialize};

#[cfg(feature = "all")]
use crate::hybrid;
use crate::requests::{RequestCell, RequestSpec};
use crate::{ingest, kv, rest, sql};

/// Connects a cell of a family to its server and loads the data that it reads.
type Open = fn(&RequestSpec, &CancelToken) -> Result<Box<dyn RequestCell>>;

/// Every family by its name in the matrix, with each of its clients: our own client without a name, and the clients to compare it with.
const FAMILIES: &[(&str, Option<&str>, Open)] = &[
    ("sql", None, sql::open::<sql::Ours>),
    #[cfg(feature = "all")]
    ("sql", Some("mysql_async"), sql::open::<sql::MysqlAsync>),
    ("kv", None, kv::open_ours),
    #[cfg(feature = "all")]
    ("kv", Some("redis"), kv::open::<kv::RedisCrate>),
    ("rest", None, rest::open::<rest::Ours>),
    #[cfg(feature = "all")]
    ("rest", Some("reqwest"), rest::open::<rest::Reqwest>),
    ("ingest", None, ingest::open),
    #[cfg(feature = "all")]
    ("hybrid", None, hybrid::open::<hybrid::Ours>),
    #[cfg(feature = "all")]
    ("hybrid", Some("tonic"), hybrid::open::<hybrid::Tonic>),
];

/// One cell of request work, and its family.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FamilySpec {
    /// The name of the family. It determines the client and the server's wire.
    pub family: String,
    /// The other fields of the cell. Its family reads them.
    #[serde(flatten)]
    pub requests: RequestSpec,
}

/// Connects a cell to its server and loads the data that it reads.
pub fn open_request_cell(spec: &FamilySpec, cancel: &CancelToken) -> Result<Box<dyn RequestCell>> {
    let FamilySpec { family, requests } = spec;
    requests.validate()?;
    let client = requests.client.as_deref();
    let known = FAMILIES.iter().find(|(name, of, _)| name == family && *of == client);
    let (_, _, open) = known.ok_or_else(|| {
        if cfg!(not(feature = "all")) && client.is_some() {
            return crate::without_references();
        }
        let client = client.map(|name| format!(" with the client {name}")).unwrap_or_default();
        Error::InvalidArgument(format!("there is no family of requests {family}{client}"))
    })?;
    open(requests, cancel)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_family_is_read_beside_its_requests_as_the_other_side_writes_it() {
        let text = r#"{"family":"kv","workload":"get","lane":"batch","url":"redis://:geheim@localhost","connections":4,"batch":16,"operations":100,"rate":10.5,"prefix":"bb"}"#;
        let parsed: FamilySpec = serde_json::from_str(text).unwrap();
        assert_eq!((parsed.family.as_str(), parsed.requests.operations), ("kv", 100));
        assert_eq!(serde_json::to_string(&parsed).unwrap(), text);
        assert!(!format!("{parsed:?}").contains("geheim"));
        let unknown = FamilySpec { family: "kw".to_owned(), ..parsed };
        let refused = open_request_cell(&unknown, &CancelToken::default()).err().unwrap();
        assert_eq!((refused.code(), refused.to_string().contains(" kw")), ("BB_INVALID_ARGUMENT", true));
        let requests = RequestSpec { client: Some("redis".to_owned()), ..unknown.requests };
        let other = FamilySpec { family: "hybrid".to_owned(), requests };
        let refused = open_request_cell(&other, &CancelToken::default()).err().unwrap();
        assert_eq!((refused.code(), refused.to_string().contains("redis")), ("BB_INVALID_ARGUMENT", true));
    }
}
