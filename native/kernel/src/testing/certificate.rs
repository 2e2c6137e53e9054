//! Certificates for the servers of tests. They are files of the repository, so that no test needs a program that makes
//! some.

use std::path::Path;

use crate::tls::TlsFiles;

/// The certificate of that name and its key, in `__test__/fixtures/tls`, whose `README.md` describes each. `localhost`, `loopback` and
/// `authority` vouch for themselves, and for no other.
pub fn certificate(name: &str) -> TlsFiles {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../__test__/fixtures/tls");
    TlsFiles { certificate: folder.join(format!("{name}.pem")), key: folder.join(format!("{name}.key")) }
}
