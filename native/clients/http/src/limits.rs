//! The limits on the size of a response.

/// The most bytes of a response's head, and of its trailers.
pub(crate) const MOST_HEAD: usize = 64 << 10;

/// The most headers of a response.
pub(crate) const MOST_HEADERS: usize = 1000;

/// The most interim responses (100 to 199) before a response.
pub(crate) const MOST_INTERIM: u32 = 1000;

/// The number of headers for which there is room without an allocation.
pub(crate) const USUAL_HEADERS: usize = 100;

/// The most bytes of a response's body, if no limit is given.
pub const MOST_BYTES: usize = 256 << 20;
