//! The checks of a request before its table is looked up, in the contract's order and with its error numbers.

use super::error::RestError;
use super::json::{Filter, ReadColumn, RowRequest, text};

/// Bytes of the name of a database, a table or a column, at most.
const MAX_IDENTIFIER: usize = 64;

/// Bytes of an operation's id, at most.
const MAX_OPERATION_ID: usize = 256;

/// Why a name is refused.
enum NameProblem {
    Empty,
    TooLong,
    /// The name holds this code point.
    Character(u32),
}

/// The problem of a name, which must hold 1 to [`MAX_IDENTIFIER`] bytes of U+0001 to U+FFFF; `None` for a valid one.
fn name_problem(name: &str) -> Option<NameProblem> {
    if name.is_empty() {
        return Some(NameProblem::Empty);
    }
    if name.len() > MAX_IDENTIFIER {
        return Some(NameProblem::TooLong);
    }
    let wrong = name.chars().map(u32::from).find(|character| *character == 0 || *character > 0xFFFF);
    wrong.map(NameProblem::Character)
}

/// Checks the names in the path of a request.
pub(super) fn path(database: &str, table: &str) -> Result<(), RestError> {
    match name_problem(database) {
        None => {}
        Some(NameProblem::Empty) => {
            return Err(RestError::coded(38, "Field validation for 'DB' failed on the 'min' tag: "));
        }
        Some(NameProblem::TooLong) => {
            let message = format!("Field validation for 'DB' failed on the 'max' tag: {database}");
            return Err(RestError::coded(50, message));
        }
        Some(NameProblem::Character(_)) => {
            return Err(RestError::coded(40, format!("db name: {database} contains invalid characters")));
        }
    }
    match name_problem(table) {
        None => Ok(()),
        Some(NameProblem::Empty) => Err(RestError::coded(52, "Field validation for 'Table' failed on the 'min' tag: ")),
        Some(NameProblem::TooLong) => {
            let message = format!("Field validation for 'Table' failed on the 'max' tag: {table}");
            Err(RestError::coded(53, message))
        }
        Some(NameProblem::Character(_)) => {
            Err(RestError::coded(40, format!("table name: {table} contains invalid characters")))
        }
    }
}

/// Checks the id that the client gave an operation.
pub(super) fn operation_id(id: &str) -> Result<(), RestError> {
    if id.len() <= MAX_OPERATION_ID {
        return Ok(());
    }
    let message = format!("operationId is invalid; error: max allowed length is {MAX_OPERATION_ID}");
    Err(RestError::coded(55, message))
}

/// Checks a request of one row: its key's columns, and the columns to read or write.
pub(super) fn row(request: &RowRequest<'_>) -> Result<(), RestError> {
    operation_id(text(request.operation_id.as_ref()))?;
    let filters = request.filters.as_deref().unwrap_or_default();
    if filters.is_empty() {
        return Err(RestError::coded(56, "Field validation for 'Filters' failed"));
    }
    filters.iter().try_for_each(valued)?;
    if let Some(twice) = repeated(filters.iter().map(|filter| text(filter.column.as_ref()))) {
        let message = format!("field validation for filter failed on the 'unique' tag: {twice}");
        return Err(RestError::coded(57, message));
    }
    let read = request.read_columns.as_deref().unwrap_or_default();
    read_columns(read)?;
    let written = request.write_columns.as_deref().unwrap_or_default();
    written.iter().try_for_each(|column| named(text(column.column.as_ref()), "column"))?;
    let named = || {
        let read = read.iter().map(|column| text(column.column.as_ref()));
        read.chain(written.iter().map(|column| text(column.column.as_ref())))
    };
    let filtered = |name: &str| filters.iter().any(|filter| text(filter.column.as_ref()) == name);
    if let Some(both) = named().find(|name| filtered(name)) {
        let message = format!("field validation for read columns failed. '{both}' already included in filter");
        return Err(RestError::coded(60, message));
    }
    unique(named())
}

/// Checks the columns to read: their names and return types.
pub(super) fn read_columns(columns: &[ReadColumn<'_>]) -> Result<(), RestError> {
    columns.iter().try_for_each(|column| {
        named(text(column.column.as_ref()), "read column")?;
        match text(column.return_type.as_ref()) {
            "" | "default" => Ok(()),
            other => Err(RestError::coded(25, format!("Data return type is not supported. Data return type: {other}"))),
        }
    })
}

/// Checks that no column is named twice.
pub(super) fn unique<'name>(columns: impl Iterator<Item = &'name str>) -> Result<(), RestError> {
    let twice = repeated(columns);
    twice.map_or(Ok(()), |twice| {
        let message = format!("field validation for 'ReadColumns' failed on the 'unique' tag: {twice}");
        Err(RestError::coded(61, message))
    })
}

/// Checks a column of the key: its name, and that it has a value.
fn valued(filter: &Filter<'_>) -> Result<(), RestError> {
    let column = text(filter.column.as_ref());
    match name_problem(column) {
        None => {}
        Some(NameProblem::Empty) => {
            return Err(RestError::coded(43, "Field validation for 'Column' failed on the 'required' tag"));
        }
        Some(NameProblem::TooLong) => {
            let message = format!("Field validation for 'Column' failed on the 'max' tag: {column}");
            return Err(RestError::coded(45, message));
        }
        Some(NameProblem::Character(character)) => {
            return Err(RestError::coded(40, format!("identifier carries an invalid character: {character}")));
        }
    }
    match filter.value {
        Some(_) => Ok(()),
        None => Err(RestError::coded(48, "Field validation for 'Value' failed on the 'required' tag")),
    }
}

fn named(column: &str, what: &str) -> Result<(), RestError> {
    match name_problem(column) {
        None => Ok(()),
        Some(NameProblem::Empty) => Err(RestError::coded(38, "identifier is empty: ")),
        Some(NameProblem::TooLong) => Err(RestError::coded(39, format!("identifier is too large: {column}"))),
        Some(NameProblem::Character(_)) => {
            let message = format!("{what} name: {column} contains invalid characters");
            Err(RestError::coded(40, message))
        }
    }
}

/// A name that occurs twice. A few names are compared with each other, many are sorted.
fn repeated<'name>(names: impl Iterator<Item = &'name str>) -> Option<&'name str> {
    const FEW: usize = 8;
    let mut names: Vec<&str> = names.collect();
    if names.len() <= FEW {
        let twice = (1..names.len()).find(|index| names[..*index].contains(&names[*index]));
        return twice.map(|index| names[index]);
    }
    names.sort_unstable();
    names.windows(2).find(|pair| pair[0] == pair[1]).map(|pair| pair[0])
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_repeated_name_is_found(names in proptest::collection::vec("[a-f]{1,2}", 0..40)) {
            let distinct: std::collections::HashSet<_> = names.iter().collect();
            let found = repeated(names.iter().map(String::as_str));
            prop_assert_eq!(found.is_some(), distinct.len() < names.len());
            if let Some(found) = found {
                prop_assert!(names.iter().filter(|name| *name == found).count() > 1);
            }
        }
    }
}
