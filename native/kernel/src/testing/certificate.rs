//! Certificates for the servers of tests. They are files of the repository, so that no test needs a program that makes
//! some.

use std::path::{Path, PathBuf};

/// A self-signed certificate and its private key, as PEM files.
#[derive(Debug, Clone)]
pub struct Certificate {
    /// The path of the certificate, which is its own authority.
    pub certificate: PathBuf,
    /// The path of its private key.
    pub key: PathBuf,
}

/// The certificate of that name in `__test__/fixtures/tls`: `localhost` is valid for that name only, `loopback` for
/// `localhost` and for `127.0.0.1`. Neither is an authority of the other.
#[must_use]
pub fn certificate(name: &str) -> Certificate {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../__test__/fixtures/tls");
    Certificate { certificate: folder.join(format!("{name}.pem")), key: folder.join(format!("{name}.key")) }
}
