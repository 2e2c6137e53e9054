//! The error type, with stable codes. Its texts say what happened, to what, and what to do.

use std::any::Any;
use std::cell::{Cell, RefCell};
use std::error::Error as StdError;
use std::future::poll_fn;
use std::panic::AssertUnwindSafe;
use std::pin::pin;
use std::sync::Once;
use std::task::Poll;

use thiserror::Error;

/// The result of every fallible function of this crate.
pub type Result<T> = std::result::Result<T, Error>;

/// The errors of this library. [`Error::code`] is stable across releases. The text is for people.
#[derive(Debug, Clone, Error)]
pub enum Error {
    /// A value that the caller gave is not usable.
    #[error("{0}")]
    InvalidArgument(String),
    /// A value of a row does not fit its column.
    #[error("row {row}, column \"{column}\": {problem}")]
    InvalidValue {
        /// The index of the row among all rows given to the inserter, from 0.
        row: u64,
        /// The name of the column.
        column: String,
        /// The problem of the value.
        problem: String,
    },
    /// The given batches do not have the table's columns.
    #[error("{0}")]
    SchemaMismatch(String),
    /// The bytes are not a readable Arrow IPC stream.
    #[error("not a readable Arrow IPC stream: {0}")]
    InvalidIpc(String),
    /// Rows that were read or stored are not those that they should be.
    #[error("{0}")]
    WrongRows(String),
    /// The engine has no such table.
    #[error("table \"{0}\" does not exist; create it first")]
    TableNotFound(String),
    /// The engine already has that table.
    #[error("table \"{0}\" exists already; drop it first, or create it in the mode that replaces")]
    TableExists(String),
    /// The engine does not support the operation.
    #[error("{0}")]
    Unsupported(String),
    /// The engine refused the operation or failed.
    #[error("{engine}: {message}")]
    Engine {
        /// The name of the engine.
        engine: &'static str,
        /// The message of the engine.
        message: String,
    },
    /// There is no connection to a server: it was lost, or its login was refused.
    #[error("{0}")]
    Connection(String),
    /// A connection to a server can't be opened, so the work was surely not done.
    #[error("{0}")]
    Unreachable(String),
    /// A program or library that is needed is not installed.
    #[error("{0}")]
    NotInstalled(String),
    /// The memory that is left of the machine, or of the limit of this process, is not enough.
    #[error("{0}")]
    NotEnoughMemory(String),
    /// A response of a server is longer than the client's limit.
    #[error("{0}")]
    TooLarge(String),
    /// The work would reveal a secret to a server that is not authenticated.
    #[error("{0}")]
    Insecure(String),
    /// The work exceeded its time-out.
    #[error("{0}")]
    Timeout(String),
    /// The caller cancelled the work. It has changed nothing.
    #[error("the query was cancelled")]
    Cancelled,
    /// The caller cancelled a command that a server ran, and the server did not answer how the command ended.
    #[error("the command was cancelled while the server ran it; it may have been executed or not")]
    CancelledInDoubt,
    /// The inserter, stream or connection was closed before.
    #[error("{0} is closed")]
    Closed(&'static str),
    /// Reading or writing a file failed.
    #[error("{path}: {source}")]
    Io {
        /// The path of the file.
        path: String,
        /// The error of the system.
        source: std::sync::Arc<std::io::Error>,
    },
    /// A defect of this library. Nothing was written.
    #[error("internal error: {0}; please report it")]
    Internal(String),
}

impl Error {
    /// The error of a command that failed after its cancellation, by whether the server answered how the command ended.
    pub fn cancelled(is_answered: bool) -> Self {
        if is_answered { Self::Cancelled } else { Self::CancelledInDoubt }
    }

    /// The error for what an engine's server has refused, by its SQLSTATE. The classes of connections (08), of logins (28) and of a server
    /// that stops (57P) are about no statement.
    pub fn refused(engine: &'static str, sqlstate: &str, message: String) -> Self {
        if ["08", "28", "57P"].iter().any(|class| sqlstate.starts_with(class)) {
            return Self::Connection(format!("{engine}: {message}"));
        }
        Self::Engine { engine, message }
    }

    /// The stable code of this kind of error.
    pub fn code(&self) -> &'static str {
        match self {
            Self::InvalidArgument(_) => "BB_INVALID_ARGUMENT",
            Self::InvalidValue { .. } => "BB_INVALID_VALUE",
            Self::SchemaMismatch(_) => "BB_SCHEMA_MISMATCH",
            Self::InvalidIpc(_) => "BB_INVALID_IPC",
            Self::WrongRows(_) => "BB_CHECKSUM_MISMATCH",
            Self::TableNotFound(_) => "BB_TABLE_NOT_FOUND",
            Self::TableExists(_) => "BB_TABLE_EXISTS",
            Self::Unsupported(_) => "BB_UNSUPPORTED",
            Self::Engine { .. } => "BB_ENGINE",
            Self::Connection(_) | Self::Unreachable(_) => "BB_CONNECTION",
            Self::NotInstalled(_) => "BB_NOT_INSTALLED",
            Self::NotEnoughMemory(_) => "BB_NOT_ENOUGH_MEMORY",
            Self::TooLarge(_) => "BB_TOO_LARGE",
            Self::Insecure(_) => "BB_INSECURE",
            Self::Timeout(_) => "BB_TIMEOUT",
            Self::Cancelled | Self::CancelledInDoubt => "BB_ABORTED",
            Self::Closed(_) => "BB_CLOSED",
            Self::Io { .. } => "BB_IO",
            Self::Internal(_) => "BB_INTERNAL",
        }
    }

    /// The text that crosses into JavaScript, as `[CODE] text`, as `[CODE?] text` if nobody knows whether the work was done, or as
    /// `[CODE!] text` if the work was surely not done. There the library separates the code again.
    pub fn coded(&self) -> String {
        let mark = match self {
            Self::CancelledInDoubt => "?",
            Self::Unreachable(_) => "!",
            _ => "",
        };
        format!("[{}{mark}] {self}", self.code())
    }
}

/// The text of an error with the texts of its sources: many errors leave out of their own text what their source says.
pub fn chain(error: &dyn StdError) -> String {
    with_sources(error.to_string(), error.source())
}

/// A text of an error with the texts of the sources that the error has, except those that it tells already.
pub fn with_sources(mut text: String, mut source: Option<&dyn StdError>) -> String {
    while let Some(error) = source {
        let told = error.to_string();
        if !text.contains(&told) {
            if !text.is_empty() {
                text.push_str(": ");
            }
            text.push_str(&told);
        }
        source = error.source();
    }
    text
}

thread_local! {
    /// Whether this thread is inside [`catch_panic`], and the place of the last panic there.
    static CATCHING: Cell<bool> = const { Cell::new(false) };
    static PANICKED_AT: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// Replaces the report on stderr of exactly those panics that [`catch_panic`] turns into errors.
fn install_quiet_hook() {
    static INSTALLED: Once = Once::new();
    INSTALLED.call_once(|| {
        let report = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            if CATCHING.get() {
                PANICKED_AT.set(panic.location().map(ToString::to_string));
            } else {
                report(panic);
            }
        }));
    });
}

/// The error for a panic caught by [`catch_panic`].
fn from_panic(payload: &(dyn Any + Send)) -> Error {
    let message = payload
        .downcast_ref::<&str>()
        .map(ToString::to_string)
        .or_else(|| payload.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "panic".to_owned());
    let place = PANICKED_AT.take().map(|place| format!(" (at {place})")).unwrap_or_default();
    Error::Internal(message + &place)
}

/// Runs `work`, turning a panic into [`Error::Internal`], so that no panic reaches a foreign caller.
pub fn catch_panic<T>(work: impl FnOnce() -> Result<T>) -> Result<T> {
    install_quiet_hook();
    let outer = CATCHING.replace(true);
    let result = std::panic::catch_unwind(AssertUnwindSafe(work));
    CATCHING.set(outer);
    result.unwrap_or_else(|payload| Err(from_panic(payload.as_ref())))
}

/// Runs a future as [`catch_panic`] runs a function.
pub async fn catch_panic_in<T>(work: impl Future<Output = Result<T>>) -> Result<T> {
    let mut work = pin!(work);
    poll_fn(|context| match catch_panic(|| Ok(work.as_mut().poll(context))) {
        Ok(polled) => polled,
        Err(error) => Poll::Ready(Err(error)),
    })
    .await
}

/// Runs the body of a callback from C: a panic must not unwind into C, because that would end the process. Returns the panic as an error.
///
/// Every callback from libuv and Node-API that napi-rs does not make runs in it.
pub fn contained(work: impl FnOnce()) -> Option<Error> {
    catch_panic(|| {
        work();
        Ok(())
    })
    .err()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_of_the_login_is_not_one_of_the_statement() {
        let code = |sqlstate| Error::refused("hyper", sqlstate, "no".to_owned()).code();
        assert_eq!(["28P01", "08004", "57P01"].map(code), ["BB_CONNECTION"; 3]);
        assert_eq!(["42601", "57014", ""].map(code), ["BB_ENGINE"; 3]);
    }

    #[test]
    fn the_sources_of_an_error_are_told_once_each() {
        #[derive(Debug, Error)]
        #[error("{0}")]
        struct Layer(&'static str, #[source] Option<Box<Self>>);

        let layers = |texts: [&'static str; 4]| {
            texts.into_iter().rev().fold(None, |inner, text| Some(Box::new(Layer(text, inner))))
        };
        let told = |texts| chain(&*layers(texts).unwrap());
        assert_eq!(told(["transport error", "http2 error", "", "refused"]), "transport error: http2 error: refused");
        assert_eq!(told(["no way: refused", "refused", "refused", "by whom"]), "no way: refused: by whom");
        assert_eq!(with_sources(String::new(), Some(&*layers(["a", "b", "b", "c"]).unwrap())), "a: b: c");
    }

    #[test]
    fn a_panic_becomes_an_internal_error() {
        let error = catch_panic::<()>(|| panic!("index {} out of range", 7)).unwrap_err();
        assert_eq!(error.code(), "BB_INTERNAL");
        let text = error.to_string();
        assert!(text.contains("index 7 out of range") && text.contains("error.rs:"), "{text}");
        // Only caught panics are kept off stderr.
        assert_eq!(catch_panic(|| catch_panic(|| Ok(CATCHING.get()))).ok(), Some(true));
        assert!(!CATCHING.get());
    }
}
