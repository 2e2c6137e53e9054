//! The families of request work. Each depends on [`crate::requests`], and none depends on this module.

use boundary_bench_kernel::Result;
use boundary_bench_kernel::cancel::CancelToken;
use serde::{Deserialize, Serialize};

use crate::requests::{RequestCell, RequestSpec};

/// The family of a request cell, which determines the client and the server's wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RequestFamily {
    /// SQL over the MySQL wire.
    Sql,
    /// Keys and values over the Redis wire.
    Kv,
    /// Reads by primary key over HTTP.
    Rest,
    /// Points written over HTTP.
    Ingest,
    /// A sharded store, in this process, behind gRPC, or some of each.
    Hybrid,
}

/// One cell of request work, and its family.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FamilySpec {
    /// The group of workloads.
    pub family: RequestFamily,
    /// The other fields of the cell, which its family reads.
    #[serde(flatten)]
    pub requests: RequestSpec,
}

/// Connects a cell to its server and loads the data that it reads.
///
/// # Errors
/// [`boundary_bench_kernel::Error::InvalidArgument`] for a cell that the matrix does not have,
/// [`boundary_bench_kernel::Error::Unsupported`] for one that the server can't serve, and other errors of the server.
pub fn open_request_cell(spec: &FamilySpec, cancel: &CancelToken) -> Result<Box<dyn RequestCell>> {
    let FamilySpec { family, requests } = spec;
    requests.validate()?;
    match family {
        RequestFamily::Sql => crate::sql::open(requests, cancel),
        RequestFamily::Kv => crate::kv::open(requests, cancel),
        RequestFamily::Rest => crate::rest::open(requests, cancel),
        RequestFamily::Ingest => crate::ingest::open(requests, cancel),
        RequestFamily::Hybrid => crate::hybrid::open(requests, cancel),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_family_is_read_beside_its_requests_as_the_other_side_writes_it() {
        let text = r#"{"family":"kv","workload":"get","lane":"batch","url":"redis://:geheim@localhost","threads":4,"batch":16,"operations":100,"rate":10.5,"prefix":"bb"}"#;
        let parsed: FamilySpec = serde_json::from_str(text).unwrap();
        assert_eq!((parsed.family, parsed.requests.operations), (RequestFamily::Kv, 100));
        assert_eq!(serde_json::to_string(&parsed).unwrap(), text);
        assert!(!format!("{parsed:?}").contains("geheim"));
        let unknown = text.replace("\"kv\"", "\"kw\"");
        assert!(serde_json::from_str::<FamilySpec>(&unknown).unwrap_err().to_string().contains("`kw`"));
    }
}
