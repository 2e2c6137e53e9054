//! Tests of the client against servers that want secrets, send without end, or send nothing at all.

mod answers;
mod passwords;
mod scripted;
