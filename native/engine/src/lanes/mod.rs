//! Lanes: the ways for rows to go in and to come out, each written once over the engine trait.

pub mod columns;
pub mod inserter;
pub mod ipc;
pub mod reader;
pub mod row_writer;
pub mod statement;
