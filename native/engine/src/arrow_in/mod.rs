//! Arrow data of other programs: its messages are decoded and checked here, and its values are converted to the types of a
//! table.

mod messages;
mod misfit;
mod numbers;
mod pieces;
mod texts;
mod types;
mod values;

pub use messages::{Decoded, MessageReader, schema_of};
pub use pieces::PieceReader;
pub use types::sql_type_of;
pub use values::convert;
