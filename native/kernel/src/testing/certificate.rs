//! Certificates for the servers of tests. They are files of the repository, so that no test needs a program that makes
//! some.

use std::path::Path;

use crate::tls::TlsFiles;

/// The self-signed certificate of that name, which is its own authority, and its key, in `__test__/fixtures/tls`: `localhost` is
/// valid for that name only, `loopback` for `localhost` and for `127.0.0.1`. Neither is an authority of the other.
#[must_use]
pub fn certificate(name: &str) -> TlsFiles {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../__test__/fixtures/tls");
    TlsFiles { certificate: folder.join(format!("{name}.pem")), key: folder.join(format!("{name}.key")) }
}
