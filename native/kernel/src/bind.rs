//! The addresses that servers of ours may listen on.

use std::net::SocketAddr;

use crate::{Error, Result};

/// Checks that a server listens on the loopback alone.
pub fn check_loopback(listen: SocketAddr) -> Result<()> {
    if listen.ip().to_canonical().is_loopback() {
        return Ok(());
    }
    Err(Error::InvalidArgument(format!(
        "other machines could reach {listen}: listen on the loopback, such as 127.0.0.1:0"
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_loopback_is_allowed() {
        let check = |listen: &str| check_loopback(listen.parse().unwrap());
        for loopback in ["127.0.0.1:0", "127.9.9.9:80", "[::1]:0", "[::ffff:127.0.0.1]:0"] {
            assert!(check(loopback).is_ok(), "{loopback}");
        }
        for reachable in ["0.0.0.0:0", "[::]:0", "10.0.0.1:1", "[::ffff:10.0.0.1]:1", "[fe80::1]:1"] {
            let error = check(reachable).unwrap_err();
            assert_eq!(error.code(), "BB_INVALID_ARGUMENT");
            assert!(error.to_string().contains(reachable), "{error}");
        }
    }
}
