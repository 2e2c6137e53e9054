//! Engines: connections, inserters, readers and statements.

pub(crate) mod inserter;
pub(crate) mod naive;
pub(crate) mod opened;
pub(crate) mod reader;
pub(crate) mod statement;
pub(crate) mod table;
