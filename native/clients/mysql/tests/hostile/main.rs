//! Tests of the client against servers that want secrets, send without end, or send nothing at all.

mod answers;
#[path = "../common/mod.rs"]
mod common;
mod kinds;
mod passwords;
mod scripted;
