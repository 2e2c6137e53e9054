//! The requirements on a client to be measured.

use boundary_bench_kernel::{Error, Result};
use boundary_bench_mysql::{Cell, Url};

use super::data::User;
use super::reader::Reader;

/// A connection of a client, with one caller: requests are queued, and their answers read in the same order.
pub(crate) trait Session: Send + Sized + 'static {
    /// Whether several requests may be queued before the first answer is read.
    const SENDS_AHEAD: bool;

    type Prepared: Send + Sync;

    fn open(url: &Url) -> impl Future<Output = Result<Self>> + Send;

    /// Prepares a statement. The error is [`Error::Unsupported`] if the server refuses it.
    fn prepare(&mut self, sql: &str) -> impl Future<Output = Result<Self::Prepared>> + Send;

    fn queue_text(&mut self, sql: &str);

    fn queue_ping(&mut self);

    fn queue<'a>(&mut self, prepared: &Self::Prepared, cells: impl Iterator<Item = Cell<'a>>) -> Result<()>;

    /// Reads the answer to the oldest queued request, whose prepared statement is given if it has one. Hands every value of its rows
    /// to the reader, and returns the number of affected rows.
    fn answer(
        &mut self,
        prepared: Option<&Self::Prepared>,
        reader: &mut impl Reader,
    ) -> impl Future<Output = Result<u64>> + Send;

    /// Inserts users in the fastest way that the client has, and returns their number as the server reports it.
    fn insert_users(
        &mut self,
        _table: &str,
        _columns: &[String],
        _users: &[User],
    ) -> impl Future<Output = Result<u64>> + Send {
        let message = "the client inserts many rows by the setting values".to_owned();
        std::future::ready(Err(Error::InvalidArgument(message)))
    }
}
