//! Random bytes for secrets.

use tokio_rustls::rustls::crypto::ring::default_provider;

use crate::{Error, Result};

/// Random bytes from the system that nobody can guess.
pub fn secret<const BYTES: usize>() -> Result<[u8; BYTES]> {
    let mut bytes = [0; BYTES];
    let filled = default_provider().secure_random.fill(&mut bytes);
    filled.map(|()| bytes).map_err(|_| Error::Internal("the system gives no random bytes".to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_secrets_are_alike() {
        assert_ne!(secret::<16>().unwrap(), secret::<16>().unwrap());
    }
}
