//! The foundations of the library's exports: facts of the build, queries under way, and panics for tests.

pub(crate) mod callback_panics;
pub(crate) mod in_flight;
pub(crate) mod info;
