//! TLS for all clients: the trust in servers, its options in URLs, and the setup of connections.

use std::fmt::Display;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use tokio_rustls::rustls::crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature};
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use tokio_rustls::rustls::{self, ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme};

use crate::{Error, Result};

/// The servers that a connection over TLS trusts.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Trust {
    /// A server whose certificate is valid for its host name and signed by an authority that this machine trusts.
    #[default]
    System,
    /// A server as for [`Trust::System`], with the authorities in this PEM file in place of the machine's.
    Authorities(PathBuf),
    /// Any server: this protects against eavesdroppers, but not against an attacker who takes the server's place.
    Anyone,
}

impl Trust {
    /// Whether the identity of the server is verified.
    #[must_use]
    pub fn verifies(&self) -> bool {
        *self != Self::Anyone
    }

    /// The connector of connections; `protocol` is the application's protocol, where it is negotiated in TLS (ALPN).
    /// Certificates are read anew each time, since they may change during the run.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] for a file without usable certificates.
    pub fn connector(&self, protocol: Option<&[u8]>) -> Result<TlsConnector> {
        let provider = Arc::new(ring::default_provider());
        let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
            .with_safe_default_protocol_versions()
            .map_err(|error| Error::Internal(error.to_string()))?;
        let builder = match self.roots()? {
            Some(roots) => builder.with_root_certificates(roots),
            None => builder.dangerous().with_custom_certificate_verifier(Arc::new(Anyone(provider))),
        };
        let mut config = builder.with_no_client_auth();
        config.alpn_protocols = protocol.map(<[u8]>::to_vec).into_iter().collect();
        Ok(TlsConnector::from(Arc::new(config)))
    }

    /// The trusted authorities; `None` where certificates are not verified.
    fn roots(&self) -> Result<Option<RootCertStore>> {
        let mut roots = RootCertStore::empty();
        match self {
            Self::Anyone => return Ok(None),
            Self::Authorities(file) => add_certificates(&mut roots, file)?,
            Self::System => {
                // Some of a system's certificates may be unreadable; without any, the handshake fails with an error.
                roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
            }
        }
        Ok(Some(roots))
    }
}

fn add_certificates(roots: &mut RootCertStore, file: &Path) -> Result<()> {
    let unusable =
        |problem: &dyn Display| Error::InvalidArgument(format!("the certificates in {}: {problem}", file.display()));
    for certificate in CertificateDer::pem_file_iter(file).map_err(|error| unusable(&error))? {
        let certificate = certificate.map_err(|error| unusable(&error))?;
        roots.add(certificate).map_err(|error| unusable(&error))?;
    }
    if roots.is_empty() { Err(unusable(&"there are none in it")) } else { Ok(()) }
}

/// The name that a server's certificate must be valid for.
///
/// # Errors
/// [`Error::InvalidArgument`] for a host that is no name and no address.
pub fn server_name(host: &str) -> Result<ServerName<'static>> {
    let name = ServerName::try_from(host.to_owned());
    name.map_err(|_| Error::InvalidArgument(format!("\"{host}\" is no name that TLS can check")))
}

/// The options of TLS in a URL's query, collected one by one: `tls=verify`, `tls=required` (encrypted, without verifying the
/// server), `tls=off`, and `tls-ca=/file.pem` with the authorities to trust in place of the machine's. `cacert` is an older
/// spelling of `tls-ca`.
#[derive(Debug, Default)]
pub struct TlsWords {
    mode: Option<Mode>,
    authorities: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mode {
    Off,
    Required,
    Verify,
}

impl TlsWords {
    /// Takes an option; `false` if it is no option of TLS.
    ///
    /// # Errors
    /// The problem of the option, without its value.
    pub fn take(&mut self, name: &str, value: &str) -> std::result::Result<bool, &'static str> {
        match (name, value) {
            ("tls", "off") => self.mode = Some(Mode::Off),
            ("tls", "required") => self.mode = Some(Mode::Required),
            ("tls", "verify") => self.mode = Some(Mode::Verify),
            ("tls", _) => return Err("tls is off, required or verify"),
            ("tls-ca" | "cacert", "") => return Err("tls-ca names no file"),
            ("tls-ca" | "cacert", file) => self.authorities = Some(file.into()),
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// The trust that the options state; `None` for no TLS. `scheme` says whether the URL's scheme means TLS, `None` that it says
    /// nothing about it.
    ///
    /// # Errors
    /// The contradiction between options.
    pub fn trust(self, scheme: Option<bool>) -> std::result::Result<Option<Trust>, &'static str> {
        let mode = match (self.mode, scheme) {
            (Some(Mode::Off), Some(true)) => return Err("its scheme is that of TLS, which tls=off refuses"),
            (Some(Mode::Required | Mode::Verify), Some(false)) => {
                return Err("tls needs the scheme that is that of TLS");
            }
            (None, Some(true)) => Mode::Verify,
            (None, _) => Mode::Off,
            (Some(mode), _) => mode,
        };
        match (mode, self.authorities) {
            (Mode::Verify, None) => Ok(Some(Trust::System)),
            (Mode::Verify, Some(file)) => Ok(Some(Trust::Authorities(file))),
            (Mode::Off | Mode::Required, Some(_)) => Err("tls-ca needs TLS that verifies (tls=verify)"),
            (Mode::Required, None) => Ok(Some(Trust::Anyone)),
            (Mode::Off, None) => Ok(None),
        }
    }
}

/// A verifier that accepts any certificate whose private key the server has.
#[derive(Debug)]
struct Anyone(Arc<CryptoProvider>);

impl ServerCertVerifier for Anyone {
    fn verify_server_cert(
        &self,
        _certificate: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _name: &ServerName<'_>,
        _ocsp: &[u8],
        _now: UnixTime,
    ) -> std::result::Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> std::result::Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls12_signature(message, certificate, signature, &self.0.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> std::result::Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls13_signature(message, certificate, signature, &self.0.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trust(words: &[(&str, &str)], scheme: Option<bool>) -> std::result::Result<Option<Trust>, &'static str> {
        let mut all = TlsWords::default();
        for (name, value) in words {
            assert!(all.take(name, value)?);
        }
        all.trust(scheme)
    }

    #[test]
    fn the_words_say_whom_to_trust() {
        let file = || Some(Trust::Authorities("/a.pem".into()));
        for (words, scheme, expected) in [
            (&[][..], None, None),
            (&[], Some(false), None),
            (&[], Some(true), Some(Trust::System)),
            (&[("tls", "off")], None, None),
            (&[("tls", "off")], Some(false), None),
            (&[("tls", "required")], None, Some(Trust::Anyone)),
            (&[("tls", "required")], Some(true), Some(Trust::Anyone)),
            (&[("tls", "verify")], None, Some(Trust::System)),
            (&[("tls-ca", "/a.pem"), ("tls", "verify")], None, file()),
            (&[("cacert", "/a.pem")], Some(true), file()),
        ] {
            assert_eq!(trust(words, scheme), Ok(expected), "{words:?}");
        }
        assert!(!Trust::Anyone.verifies() && Trust::default().verifies());
    }

    #[test]
    fn words_that_contradict_each_other_are_refused() {
        for (words, scheme) in [
            (&[("tls", "maybe")][..], None),
            (&[("tls-ca", "")], Some(true)),
            (&[("tls-ca", "/a")], None),
            (&[("tls-ca", "/a")], Some(false)),
            (&[("tls-ca", "/a"), ("tls", "required")], None),
            (&[("tls", "off")], Some(true)),
            (&[("tls", "verify")], Some(false)),
        ] {
            assert!(trust(words, scheme).is_err(), "{words:?} {scheme:?}");
        }
        assert_eq!(TlsWords::default().take("cluster", "true"), Ok(false));
    }

    #[test]
    fn a_file_without_certificates_is_told() {
        let file = std::env::temp_dir().join(format!("bb-tls-{}.pem", std::process::id()));
        std::fs::write(&file, "nothing").unwrap();
        for path in [file.clone(), file.with_extension("gone")] {
            let error = Trust::Authorities(path.clone()).connector(None).err().unwrap();
            assert_eq!(error.code(), "BB_INVALID_ARGUMENT");
            assert!(error.to_string().contains(&path.display().to_string()), "{error}");
        }
        std::fs::remove_file(file).unwrap();
        assert_eq!(server_name("a b").unwrap_err().code(), "BB_INVALID_ARGUMENT");
        assert!(Trust::Anyone.connector(Some(b"h2")).is_ok());
    }
}
