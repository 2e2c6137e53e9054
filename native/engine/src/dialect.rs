//! The SQL of a server, for an engine that must read it itself. It tells which statements run together, what a transaction can undo,
//! and where the parameters are.

use boundary_bench_kernel::{Error, Result};

use crate::catalog::TablePath;
use crate::engine::CreateMode;
use crate::sql_text::{Placeholder, Statement, Token, placeholders, statements};
use crate::table::{Column, SqlType, TableDefinition};
use crate::value::{check_parameter_count, unusable_parameter};

/// The error for a statement that begins or ends a transaction.
pub fn no_transaction() -> Error {
    Error::Unsupported(
        "a transaction can't span calls; give all its statements in one call, which runs them as one".to_owned(),
    )
}

/// The error for commands that change nothing but the state of a session, for engines whose calls have a session each.
pub fn no_session(keyword: &str) -> Error {
    let what = if keyword == "CREATE" { "a temporary table or the like" } else { keyword };
    Error::Unsupported(format!(
        "{what} lasts for its session, and each call has one of its own here: it would be gone after this call; give it \
         in one call with the statements that need it"
    ))
}

/// The statements that create a table, by its name and columns as the server writes them. One drops the table to be replaced, and
/// one creates the new table.
pub fn create_table(
    name: &str,
    table: &TableDefinition,
    mode: CreateMode,
    column: impl Fn(&Column) -> String,
) -> (Option<String>, String) {
    let columns = table.columns.iter().map(column).collect::<Vec<_>>().join(", ");
    let condition = if mode == CreateMode::IfNotExists { "IF NOT EXISTS " } else { "" };
    let drop = (mode == CreateMode::Replace).then(|| format!("DROP TABLE IF EXISTS {name}"));
    (drop, format!("CREATE TABLE {condition}{name} ({columns})"))
}

/// The numbered parameters of a statement.
#[derive(Debug)]
pub struct Parameters<'sql> {
    /// The places of the parameters in the text, each with the parameter's index. It is 0 for `$1`.
    pub places: Vec<(Placeholder<'sql>, usize)>,
    /// The number of different parameters.
    pub count: usize,
}

/// The SQL of a server.
pub trait Dialect {
    /// The name of the server in errors.
    const SERVER: &'static str;

    /// Quotes a name.
    fn identifier(name: &str) -> String;

    /// The name of a type.
    fn type_name(sql_type: SqlType) -> String;

    /// The first token of a text that is not empty.
    fn first_token(text: &str) -> Token;

    /// Whether the statement may return rows and changes nothing.
    fn is_query(statement: &Statement<'_>) -> bool;

    /// Whether the statement begins or ends a transaction.
    fn is_transaction(statement: &Statement<'_>) -> bool;

    /// Whether a transaction can undo the statement. Changes of the tables themselves can't be undone.
    fn is_undoable(statement: &Statement<'_>) -> bool;

    /// Whether the statement changes nothing but the state of its session, such as a setting, or a temporary table, and ends no
    /// transaction.
    fn is_session_only(statement: &Statement<'_>) -> bool;

    /// Whether the statement leaves no changed setting, no lock and no temporary table in the session.
    fn keeps_session(statement: &Statement<'_>) -> bool;

    /// The definition of a column in `CREATE TABLE`.
    fn column(column: &Column) -> String {
        column.definition(&Self::identifier(&column.name), &Self::type_name(column.sql_type))
    }

    /// The statements of [`create_table`].
    fn create_table(path: &TablePath, table: &TableDefinition, mode: CreateMode) -> (Option<String>, String) {
        create_table(&path.to_sql(Self::identifier), table, mode, Self::column)
    }

    /// The statements of a script, without those that consist of comments only.
    fn statements(script: &str) -> Vec<Statement<'_>> {
        statements(script, Self::first_token)
    }

    /// The statement of a text that must have exactly one.
    fn the_only_statement(sql: &str) -> Result<Statement<'_>> {
        let mut statements = Self::statements(sql);
        match (statements.len(), statements.pop()) {
            (1, Some(statement)) => Ok(statement),
            (count, _) => Err(Error::InvalidArgument(format!("a query is exactly one statement, here are {count}"))),
        }
    }

    /// The parameters of a statement, whose numbers must be `$1`, `$2`, ... without a gap.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] for a parameter with a name, and for a number that is left out.
    fn parameters(statement: &str) -> Result<Parameters<'_>> {
        let numbered = placeholders(statement, Self::first_token).into_iter().map(|placeholder| {
            let number = placeholder.name.parse::<usize>().ok().and_then(|number| number.checked_sub(1));
            let index = number.ok_or_else(|| {
                Error::InvalidArgument(format!(
                    "the parameter ${} has a name; parameters are matched by position: $1, $2, ...",
                    placeholder.name
                ))
            })?;
            Ok((placeholder, index))
        });
        let places = numbered.collect::<Result<Vec<_>>>()?;
        let mut indexes: Vec<_> = places.iter().map(|(_, index)| *index).collect();
        indexes.sort_unstable();
        indexes.dedup();
        match indexes.iter().enumerate().find(|(index, used)| index != *used) {
            None => Ok(Parameters { places, count: indexes.len() }),
            Some((index, _)) => Err(unusable_parameter(index + 1, "the statement leaves out this number")),
        }
    }

    /// The statement of a query without parameters.
    fn query(sql: &str) -> Result<Statement<'_>> {
        let statement = Self::the_only_statement(sql)?;
        check_parameter_count(0, Self::parameters(statement.text)?.count)?;
        Ok(statement)
    }

    /// The statements of a command. Several are one transaction.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] for parameters. [`Error::Unsupported`] for statements that begin or end a transaction, for one of
    /// several that can't be undone, and if all of them change nothing but the state of the session.
    fn command(script: &str) -> Result<Vec<Statement<'_>>> {
        let statements = Self::statements(script);
        for statement in &statements {
            check_parameter_count(0, Self::parameters(statement.text)?.count)?;
        }
        if statements.iter().any(Self::is_transaction) {
            return Err(no_transaction());
        }
        if let Some(first) = statements.first()
            && statements.iter().all(Self::is_session_only)
        {
            return Err(no_session(&first.keyword));
        }
        // The state of the session ends with the call, so a transaction need not undo it.
        match statements.iter().find(|statement| !Self::is_undoable(statement) && !Self::is_session_only(statement)) {
            Some(statement) if statements.len() > 1 => Err(Error::Unsupported(format!(
                "{} can't undo {}, so it can't be one of several statements; run it alone",
                Self::SERVER,
                statement.keyword
            ))),
            _ => Ok(statements),
        }
    }

    /// Checks that a statement may be prepared.
    fn check_prepared(statement: &Statement<'_>) -> Result<()> {
        // A COPY would wait for data that nobody sends.
        if Self::keeps_session(statement) && !Self::is_transaction(statement) && statement.keyword != "COPY" {
            return Ok(());
        }
        Err(Error::Unsupported(format!(
            "{} can't be prepared; run it by execute, without parameters",
            statement.keyword
        )))
    }
}
