//! Trust in the certificates of a file: in those that an authority among them has signed, and in a server's own.
//!
//! A server whose certificate vouches for itself is trusted by naming that certificate. Such a certificate often says that it is one of
//! an authority: `openssl req -x509` makes it so. rustls never takes the certificate of an authority from a server. Node does, if it is
//! exactly one of the named certificates, and so does this verifier.

use std::sync::Arc;

use tokio_rustls::rustls::client::WebPkiServerVerifier;
use tokio_rustls::rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use tokio_rustls::rustls::client::verify_server_name;
use tokio_rustls::rustls::crypto::CryptoProvider;
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use tokio_rustls::rustls::server::ParsedCertificate;
use tokio_rustls::rustls::{CertificateError, DigitallySignedStruct, Error, RootCertStore, SignatureScheme};

/// The verifier of servers by the certificates of a file.
#[derive(Debug)]
pub(super) struct Named {
    /// The verifier by the same certificates, taken as authorities.
    authorities: Arc<WebPkiServerVerifier>,
    /// The certificates that authorities have given themselves.
    own: Vec<CertificateDer<'static>>,
}

impl Named {
    /// A verifier by these certificates, or `None` if there are none.
    pub(super) fn new(
        certificates: Vec<CertificateDer<'static>>,
        roots: RootCertStore,
        provider: Arc<CryptoProvider>,
    ) -> Option<Self> {
        let authorities = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider).build().ok()?;
        let is_own = |certificate: &CertificateDer<'_>| vouches_for_itself(certificate) == Some(true);
        Some(Self { authorities, own: certificates.into_iter().filter(is_own).collect() })
    }
}

impl ServerCertVerifier for Named {
    fn verify_server_cert(
        &self,
        certificate: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        ocsp: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        match self.authorities.verify_server_cert(certificate, intermediates, name, ocsp, now) {
            // The dates have been checked before: they have errors of their own. That an authority is no server is an error without
            // a name in rustls, and the first that a certificate of `own` meets behind its dates.
            Err(Error::InvalidCertificate(CertificateError::Other(_))) if self.own.contains(certificate) => {
                verify_server_name(&ParsedCertificate::try_from(certificate)?, name)?;
                Ok(ServerCertVerified::assertion())
            }
            verified => verified,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.authorities.verify_tls12_signature(message, certificate, signature)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.authorities.verify_tls13_signature(message, certificate, signature)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.authorities.supported_verify_schemes()
    }
}

/// Tags of DER.
const BOOLEAN: u8 = 0x01;
const BIT_STRING: u8 = 0x03;
const OCTET_STRING: u8 = 0x04;
const OBJECT_ID: u8 = 0x06;
const SEQUENCE: u8 = 0x30;
const VERSION: u8 = 0xa0;
const EXTENSIONS: u8 = 0xa3;

/// Object identifiers of extensions, and of the purpose of servers.
const BASIC_CONSTRAINTS: &[u8] = &[0x55, 0x1d, 0x13];
const KEY_USAGE: &[u8] = &[0x55, 0x1d, 0x0f];
const PURPOSES: &[u8] = &[0x55, 0x1d, 0x25];
const SERVER: &[u8] = &[0x2b, 0x06, 0x01, 0x05, 0x05, 0x07, 0x03, 0x01];

/// The uses of a key of which a server needs one: signing, encrypting keys, and agreeing on keys.
const SERVER_USES: u8 = 0x80 | 0x20 | 0x08;

/// Whether an authority gave the certificate to itself, for a use that TLS servers have. `None` for bytes that are no certificate.
fn vouches_for_itself(certificate: &[u8]) -> Option<bool> {
    let mut fields = Der(Der(Der(certificate).value(SEQUENCE)?).value(SEQUENCE)?);
    if fields.0.first() == Some(&VERSION) {
        fields.next();
    }
    // The serial number and the algorithm come first, and the dates are between the two names.
    let issuer = fields.nth(2)?;
    let subject = fields.nth(1)?;
    let extensions = fields.find(|(tag, _)| *tag == EXTENSIONS)?.1;
    let (mut is_authority, mut serves) = (false, true);
    for (tag, extension) in Der(Der(extensions).value(SEQUENCE)?) {
        let mut parts = Der((tag == SEQUENCE).then_some(extension)?);
        let id = parts.value(OBJECT_ID)?;
        let contents = parts.find(|(tag, _)| *tag == OCTET_STRING)?.1;
        if id == BASIC_CONSTRAINTS {
            is_authority = Der(Der(contents).value(SEQUENCE)?).value(BOOLEAN).is_some_and(|value| value != [0]);
        } else if id == KEY_USAGE {
            // The first byte tells the number of unused bits.
            serves &= Der(contents).value(BIT_STRING)?.get(1).is_some_and(|uses| uses & SERVER_USES != 0);
        } else if id == PURPOSES {
            serves &= Der(Der(contents).value(SEQUENCE)?).any(|(_, purpose)| purpose == SERVER);
        }
    }
    Some(issuer == subject && is_authority && serves)
}

/// The values of DER, one after another: each has a tag and contents.
struct Der<'a>(&'a [u8]);

impl<'a> Der<'a> {
    /// The contents of the next value, if it has this tag.
    fn value(&mut self, wanted: u8) -> Option<&'a [u8]> {
        self.next().and_then(|(tag, contents)| (tag == wanted).then_some(contents))
    }
}

impl<'a> Iterator for Der<'a> {
    type Item = (u8, &'a [u8]);

    fn next(&mut self) -> Option<Self::Item> {
        let (head, rest) = self.0.split_first_chunk::<2>()?;
        let (length, rest) = match head[1] {
            short @ ..0x80 => (usize::from(short), rest),
            // A long length follows in the number of bytes that the lower bits tell.
            long => {
                let (length, rest) = rest.split_at_checked(usize::from(long & 0x7f))?;
                let add = |sum: usize, byte: &u8| sum.checked_mul(256).map(|sum| sum + usize::from(*byte));
                (length.iter().try_fold(0, add)?, rest)
            }
        };
        let (contents, rest) = rest.split_at_checked(length)?;
        self.0 = rest;
        Some((head[0], contents))
    }
}

#[cfg(test)]
mod tests {
    use tokio_rustls::rustls::pki_types::pem::PemObject;

    use super::*;
    use crate::testing::certificate;

    #[test]
    fn an_authority_that_vouches_for_itself_is_known() {
        for (name, expected) in [
            ("authority", true),
            ("authority-expired", true),
            ("authority-issued", false),
            ("authority-of-clients", false),
            ("authority-of-signatures", false),
            ("localhost", false),
        ] {
            let bytes = CertificateDer::from_pem_file(certificate(name).certificate).unwrap();
            assert_eq!(vouches_for_itself(&bytes), Some(expected), "{name}");
            // Nothing panics, no matter what is missing at the end.
            for length in 0..bytes.len() {
                assert_eq!(vouches_for_itself(&bytes[..length]), None, "{name}, {length} bytes");
            }
        }
    }
}
