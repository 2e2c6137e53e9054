//! The reasons why arrays are not converted, and their errors.

use arrow_array::{Array, ArrayRef};
use arrow_cast::display::array_value_to_string;
use arrow_schema::{DataType, Field};
use boundary_bench_kernel::Error;

use super::types::sql_type_of;
use crate::table::SqlType;

/// An array of the wanted type, or why there is none.
pub(super) type Converted<T = ArrayRef> = std::result::Result<T, Misfit>;

/// The reason why an array is not converted.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Misfit {
    /// The wanted type has no counterpart of the values.
    Type,
    /// The wanted type has no counterpart of the value in this row.
    Value(usize),
    /// The values have more bytes than an array of the wanted type can have.
    Size,
}

impl Misfit {
    /// The error for an array that was to be converted to the type of a column.
    pub(super) fn report(&self, array: &ArrayRef, column: &Field, first_row: u64) -> Error {
        let (given, wanted) = (array.data_type(), column.data_type());
        let sql_name = |data_type: &DataType| sql_type_of(data_type).map(SqlType::to_sql);
        let name = sql_name(wanted).unwrap_or_else(|| wanted.to_string());
        // The column that would hold the values, if it is another.
        let other = sql_name(given).filter(|other| *other != name);
        match self {
            Self::Type => {
                let other = other.map(|other| format!(", or make the column {other}")).unwrap_or_default();
                Error::SchemaMismatch(format!(
                    "column \"{}\": Arrow values of type {given} can't be stored as {name}; cast them to {wanted} before \
                     they are sent{other}",
                    column.name()
                ))
            }
            // Arrow's texts of such values leave digits out.
            Self::Value(row) if given == wanted => Error::InvalidValue {
                row: first_row + *row as u64,
                column: column.name().clone(),
                problem: format!("has more digits than {name}"),
            },
            Self::Value(row) => {
                let value = array_value_to_string(array, *row).unwrap_or_else(|_| "the value".to_owned());
                let remedy = match other {
                    Some(other) => format!("make the column {other}, or change the value"),
                    None => format!("round it to {wanted}, or change the value"),
                };
                Error::InvalidValue {
                    row: first_row + *row as u64,
                    column: column.name().clone(),
                    problem: format!("{value} of Arrow's type {given} is no value of {name}; {remedy}"),
                }
            }
            Self::Size => Error::TooLarge(format!(
                "column \"{}\": a batch has more than 2 GiB of its values; send batches of fewer rows",
                column.name()
            )),
        }
    }
}
