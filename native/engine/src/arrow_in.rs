//! Arrow data of other programs: its messages are decoded and checked here, and its values are converted to the types of a
//! table.

mod messages;
mod pieces;
mod values;

pub use messages::{Decoded, MessageReader, logical_schema, schema_of};
pub use pieces::PieceReader;
pub use values::{convert, sql_type_of, value_text};
