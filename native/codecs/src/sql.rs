//! A parser of SQL whose syntax tree is one flat buffer.
//!
//! [`Parser::parse`] reads one statement or several, and leaves the tree as nodes of four words each, children before their parent. So it
//! can be handed to another language as it is, and read there on demand. Nothing of the text is copied: nodes refer to it by place and
//! length.

mod expressions;
mod json;
mod lexer;
mod parser;
mod places;
mod run;
mod statements;
mod tree;

pub use parser::{LONGEST, Parser};
pub use places::Places;
pub use tree::{Kind, NODE_WORDS, Node, Tree};
