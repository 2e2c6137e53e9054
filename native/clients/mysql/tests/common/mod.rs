//! Helpers that the tests share.

use boundary_bench_kernel::Result;
use boundary_bench_mysql::{Batch, CellLists, Results, SqlSession, StatementLists, Url, testing};
use tokio::sync::Mutex;

/// A client with one connection.
pub struct Client(pub Mutex<SqlSession>);

impl Client {
    pub async fn connect(url: &Url) -> Result<Self> {
        Ok(Self(Mutex::new(SqlSession::open(url).await?)))
    }

    pub async fn run(&self, batch: &Batch) -> Result<Results> {
        testing::run(&mut *self.0.lock().await, batch).await
    }

    /// Runs a statement sent as text.
    pub async fn text(&self, sql: &str) -> Result<Results> {
        let results = self.run(&text(sql)).await?;
        match results.requests[0].error.clone() {
            Some(error) => Err(error),
            None => Ok(results),
        }
    }
}

/// A batch of one statement without parameters, sent as text and run once.
pub fn text(sql: &str) -> Batch {
    let lists = CellLists::new(Vec::new(), 1, 0).unwrap();
    Batch { statements: vec![StatementLists { sql: sql.to_owned(), lists, is_text: true }], order: vec![0] }
}
