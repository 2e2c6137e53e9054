//! The addresses that servers of ours may listen on.

use std::net::SocketAddr;

use crate::{Error, Result};

/// The option of every server that allows what [`check_bind`] refuses.
pub const ALLOW_INSECURE_BIND: &str = "--allow-insecure-bind";

/// The protections that a server lacks against access and eavesdropping.
#[derive(Debug, Clone, Copy)]
pub struct Protection {
    /// The options that make the server require a key or a login, or `None` if it requires one.
    pub without_login: Option<&'static str>,
    /// The options that make the server use TLS, or `None` if it does.
    pub without_tls: Option<&'static str>,
}

/// Checks that a server listens on the loopback only, or requires a key and uses TLS.
///
/// # Errors
/// [`Error::InvalidArgument`] naming the missing protections, unless `allows_insecure`.
pub fn check_bind(listen: SocketAddr, protection: Protection, allows_insecure: bool) -> Result<()> {
    if allows_insecure || listen.ip().to_canonical().is_loopback() {
        return Ok(());
    }
    let login = protection.without_login.map(|options| format!("without asking for a key or a login ({options})"));
    let tls = protection.without_tls.map(|options| format!("without TLS ({options})"));
    let missing: Vec<String> = login.into_iter().chain(tls).collect();
    if missing.is_empty() {
        return Ok(());
    }
    Err(Error::InvalidArgument(format!(
        "other machines could reach {listen} {}: give the options, listen on the loopback, or allow it by {ALLOW_INSECURE_BIND}",
        missing.join(" and ")
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_loopback_needs_no_protection() {
        let bare = Protection { without_login: Some("--api-key"), without_tls: Some("--tls-cert") };
        let check = |listen: &str, protection, allowed| check_bind(listen.parse().unwrap(), protection, allowed);
        for loopback in ["127.0.0.1:0", "127.9.9.9:80", "[::1]:0", "[::ffff:127.0.0.1]:0"] {
            assert!(check(loopback, bare, false).is_ok(), "{loopback}");
        }
        for reachable in ["0.0.0.0:0", "[::]:0", "10.0.0.1:1", "[::ffff:10.0.0.1]:1", "[fe80::1]:1"] {
            let error = check(reachable, bare, false).unwrap_err();
            assert_eq!(error.code(), "BB_INVALID_ARGUMENT");
            let text = error.to_string();
            for said in ["(--api-key)", "(--tls-cert)", "--allow-insecure-bind", reachable] {
                assert!(text.contains(said), "{said}: {text}");
            }
            assert!(check(reachable, bare, true).is_ok());
            let half = check(reachable, Protection { without_login: None, ..bare }, false).unwrap_err().to_string();
            assert!(half.contains("TLS") && !half.contains("--api-key"), "{half}");
            assert!(check(reachable, Protection { without_login: None, without_tls: None }, false).is_ok());
        }
    }
}
