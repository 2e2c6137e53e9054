//! The parser and its memory.

use boundary_bench_kernel::{Error, Result};

use super::run::Run;
use super::tree::Tree;

/// The longest SQL in bytes. A tree may have half as many nodes again as its text has bytes, and a node has 16 bytes.
pub const LONGEST: usize = 16 << 20;

/// A parser whose memory is reused for each text.
#[derive(Debug, Default)]
pub struct Parser {
    tree: Tree,
}

impl Parser {
    /// A parser without memory yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Parses one statement, or several with semicolons between. The root is a [`super::Kind::Statements`].
    pub fn parse(&mut self, sql: &str) -> Result<&Tree> {
        if sql.len() > LONGEST {
            return Err(Error::TooLarge(format!("the SQL has {} bytes; it may have {LONGEST} at most", sql.len())));
        }
        self.tree.clear();
        let mut run = Run::new(sql, &mut self.tree);
        if let Err(problem) = run.statements() {
            return Err(wrong(sql, run.start(), problem));
        }
        Ok(&self.tree)
    }
}

#[cold]
fn wrong(sql: &str, start: usize, problem: &str) -> Error {
    let found: String = sql.get(start..).unwrap_or_default().chars().take(20).collect();
    let found = if found.is_empty() { "the end".to_owned() } else { format!("`{found}`") };
    Error::InvalidArgument(format!("SQL at byte {start}: {problem}, at {found}"))
}
