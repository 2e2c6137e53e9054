//! Facts of the build, and panics for tests.

pub(crate) mod callback_panics;
pub(crate) mod info;
