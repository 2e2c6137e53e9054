//! Lanes: the ways in which rows go in and come out, each written once over the engine trait.

pub mod columns;
pub mod inserter;
pub mod ipc;
pub mod reader;
pub mod row_writer;
pub mod statement;
