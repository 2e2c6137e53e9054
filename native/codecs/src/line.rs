//! Line protocol: `measurement,tag=value field=1.5,other=2i 1700000000000`, one point a line.

mod keys;
mod names;
mod needle;
mod number;
mod parser;
mod plain;
mod scan;
mod values;
mod writer;

pub use number::{push_float, push_integer};
pub use parser::{parse_lines, parse_lines_into};
pub(crate) use writer::check_columns;
pub use writer::{LineHead, push_point, put_columns, write_columns};
