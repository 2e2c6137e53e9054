//! The requirements on a client to be measured.

use boundary_bench_kernel::{Error, Result};
use boundary_bench_redis::Url;

use super::reader::Reader;

/// A connection of a client, of one caller. Functions that read hand every value to the reader, with the position of its key.
pub(crate) trait Connection: Send + Sized + 'static {
    /// Connects to a server.
    fn connect(url: &Url) -> impl Future<Output = Result<Self>> + Send;

    /// Another caller of the same connection.
    fn share(&self) -> Result<Self> {
        Err(Error::Unsupported("the client has a caller for each connection".to_owned()))
    }

    fn get(&mut self, key: &[u8], reader: &mut impl Reader) -> impl Future<Output = Result<()>> + Send;

    fn set(&mut self, key: &[u8], value: &[u8]) -> impl Future<Output = Result<()>> + Send;

    /// A pipeline of GET.
    fn get_many(&mut self, keys: &[Box<[u8]>], reader: &mut impl Reader) -> impl Future<Output = Result<()>> + Send;

    /// A pipeline of SET.
    fn set_many(&mut self, keys: &[Box<[u8]>], values: &[Box<[u8]>]) -> impl Future<Output = Result<()>> + Send;

    fn mget(&mut self, keys: &[Box<[u8]>], reader: &mut impl Reader) -> impl Future<Output = Result<()>> + Send;

    fn mset(&mut self, keys: &[Box<[u8]>], values: &[Box<[u8]>]) -> impl Future<Output = Result<()>> + Send;
}
