//! TLS. For clients, the trust in servers, its options in URLs, and the setup of connections. For servers, their certificates.

mod named;

use std::fmt::Display;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tokio_rustls::rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use tokio_rustls::rustls::crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature};
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use tokio_rustls::rustls::{self, ClientConfig, DigitallySignedStruct, RootCertStore, ServerConfig, SignatureScheme};
use tokio_rustls::{TlsAcceptor, TlsConnector};

use crate::{Error, Result};
use named::Named;

/// The servers that a connection over TLS trusts.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Trust {
    /// A server whose certificate is valid for its host name and signed by an authority that this machine trusts.
    #[default]
    System,
    /// A server as for [`Trust::System`], with the authorities in this PEM file instead of the machine's. Also a server that shows
    /// exactly a certificate of this file that vouches for itself. Its name and its dates must be right all the same.
    Authorities(PathBuf),
    /// Any server: this protects against eavesdroppers, but not against an attacker who takes the server's place.
    Anyone,
}

impl Trust {
    /// Whether the identity of the server is verified.
    pub fn verifies(&self) -> bool {
        *self != Self::Anyone
    }

    /// The trust that options state, in a URL's query or elsewhere, or `None` for no TLS. `tls` is `verify`, `required` (encrypted,
    /// without verifying the server) or `off`. `authorities`, in URLs `tls-ca=/file.pem`, is a file with the authorities to trust
    /// instead of the machine's. `scheme` says whether the URL's scheme means TLS, `None` that it says nothing about it.
    pub fn of_words(
        tls: Option<&str>,
        authorities: Option<&str>,
        scheme: Option<bool>,
    ) -> std::result::Result<Option<Self>, &'static str> {
        let trust = match (tls, scheme) {
            (Some("off"), Some(true)) => return Err("its scheme means TLS, but tls=off refuses it"),
            (Some("required" | "verify"), Some(false)) => return Err("tls needs the scheme that means TLS"),
            (Some("off"), _) | (None, None | Some(false)) => None,
            (Some("required"), _) => Some(Self::Anyone),
            (Some("verify"), _) | (None, Some(true)) => Some(Self::System),
            (Some(_), _) => return Err("tls is off, required or verify"),
        };
        match (trust, authorities) {
            (_, Some("")) => Err("tls-ca names no file"),
            (Some(Self::System), Some(file)) => Ok(Some(Self::Authorities(file.into()))),
            (_, Some(_)) => Err("tls-ca needs TLS that verifies (tls=verify)"),
            (trust, None) => Ok(trust),
        }
    }

    /// The connector of connections. `protocol` is the application's protocol, if it is negotiated in TLS (ALPN). Certificates
    /// are read again each time, since they may change during the run.
    pub fn connector(&self, protocol: Option<&[u8]>) -> Result<TlsConnector> {
        let provider = Arc::new(ring::default_provider());
        let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
            .with_safe_default_protocol_versions()
            .map_err(|error| Error::Internal(error.to_string()))?;
        let builder = match self {
            Self::System => {
                let mut roots = RootCertStore::empty();
                // Some of a system's certificates may be unreadable. Without any, the handshake fails with an error.
                roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
                builder.with_root_certificates(roots)
            }
            Self::Authorities(file) => {
                builder.dangerous().with_custom_certificate_verifier(Arc::new(named(file, provider)?))
            }
            Self::Anyone => builder.dangerous().with_custom_certificate_verifier(Arc::new(Anyone(provider))),
        };
        let mut config = builder.with_no_client_auth();
        config.alpn_protocols = protocol.map(<[u8]>::to_vec).into_iter().collect();
        Ok(TlsConnector::from(Arc::new(config)))
    }
}

/// The verifier by the certificates in a file.
fn named(file: &Path, provider: Arc<CryptoProvider>) -> Result<Named> {
    let unusable =
        |problem: &dyn Display| Error::InvalidArgument(format!("the certificates in {}: {problem}", file.display()));
    let certificates: std::result::Result<Vec<_>, _> = CertificateDer::pem_file_iter(file).and_then(Iterator::collect);
    let certificates = certificates.map_err(|error| unusable(&error))?;
    let mut roots = RootCertStore::empty();
    for certificate in &certificates {
        roots.add(certificate.clone()).map_err(|error| unusable(&error))?;
    }
    Named::new(certificates, roots, provider).ok_or_else(|| unusable(&"there are none in it"))
}

/// The certificate and key files of a server, in PEM.
#[derive(Debug, Clone)]
pub struct TlsFiles {
    /// The file of the certificate and its chain.
    pub certificate: PathBuf,
    /// The file of the certificate's private key.
    pub key: PathBuf,
}

impl TlsFiles {
    /// The acceptor of connections of these protocols, if one is negotiated in TLS (ALPN).
    pub fn acceptor(&self, protocols: &[&[u8]]) -> Result<TlsAcceptor> {
        let unusable = |path: &Path, problem: &dyn Display| {
            Error::InvalidArgument(format!("{}: not usable for TLS: {problem}", path.display()))
        };
        let certificates: std::result::Result<Vec<_>, _> =
            CertificateDer::pem_file_iter(&self.certificate).and_then(Iterator::collect);
        let certificates = certificates.map_err(|error| unusable(&self.certificate, &error))?;
        let key = PrivateKeyDer::from_pem_file(&self.key).map_err(|error| unusable(&self.key, &error))?;
        let mut config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .map_err(|error| Error::Internal(error.to_string()))?
            .with_no_client_auth()
            .with_single_cert(certificates, key)
            .map_err(|error| unusable(&self.certificate, &error))?;
        config.alpn_protocols = protocols.iter().map(|protocol| protocol.to_vec()).collect();
        Ok(TlsAcceptor::from(Arc::new(config)))
    }
}

/// The name that a server's certificate must be valid for.
pub fn server_name(host: &str) -> Result<ServerName<'static>> {
    let name = ServerName::try_from(host.to_owned());
    name.map_err(|_| Error::InvalidArgument(format!("\"{host}\" is no name that TLS can check")))
}

/// The error of a handshake, with what to do about a certificate whose problem rustls names by a word of its own.
pub(crate) fn explained(error: io::Error) -> io::Error {
    let said = error.to_string();
    let problem = if said.contains("CaUsedAsEndEntity") {
        "it is self-signed or an authority's own, and not one of those that are trusted (CaUsedAsEndEntity); tlsCa (tls-ca in URLs) trusts \
         a server's self-signed certificate by its file"
    } else if said.contains("UnsupportedCertVersion") {
        "certificates of X.509 version 1 are not supported (UnsupportedCertVersion); make one of version 3, as openssl does with an \
         extension such as subjectAltName"
    } else {
        return error;
    };
    io::Error::new(error.kind(), format!("invalid peer certificate: {problem}"))
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

    #[test]
    fn words_say_whom_to_trust() {
        let file = || Some(Trust::Authorities("/a.pem".into()));
        for (tls, authorities, scheme, expected) in [
            (None, None, None, None),
            (None, None, Some(false), None),
            (None, None, Some(true), Some(Trust::System)),
            (Some("off"), None, None, None),
            (Some("off"), None, Some(false), None),
            (Some("required"), None, None, Some(Trust::Anyone)),
            (Some("required"), None, Some(true), Some(Trust::Anyone)),
            (Some("verify"), None, None, Some(Trust::System)),
            (Some("verify"), Some("/a.pem"), None, file()),
            (None, Some("/a.pem"), Some(true), file()),
        ] {
            assert_eq!(Trust::of_words(tls, authorities, scheme), Ok(expected), "{tls:?} {authorities:?} {scheme:?}");
        }
        assert!(!Trust::Anyone.verifies() && Trust::default().verifies());
    }

    #[test]
    fn words_that_contradict_each_other_are_refused() {
        for (tls, authorities, scheme) in [
            (Some("maybe"), None, None),
            (None, Some(""), Some(true)),
            (None, Some("/a"), None),
            (None, Some("/a"), Some(false)),
            (Some("required"), Some("/a"), None),
            (Some("off"), None, Some(true)),
            (Some("verify"), None, Some(false)),
        ] {
            assert!(Trust::of_words(tls, authorities, scheme).is_err(), "{tls:?} {authorities:?} {scheme:?}");
        }
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
