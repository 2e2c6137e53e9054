//! The client against servers that want what they must not get, send without end, or say nothing at all.

mod answers;
mod passwords;
mod scripted;
