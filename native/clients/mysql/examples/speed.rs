//! Measures the speed of the client: `cargo run --release -p boundary-bench-mysql --example speed -- [URL]`. Without a URL
//! it starts a private server.
#![expect(clippy::print_stdout, reason = "it is a program for a terminal")]

use std::sync::Arc;
use std::time::{Duration, Instant};

use boundary_bench_engine::measurements::{self, RowRange};
use boundary_bench_engine::{CreateMode, Engine, QueryOptions, Value};
use boundary_bench_kernel::Result;
use boundary_bench_kernel::cancel::CancelToken;
use boundary_bench_kernel::load::{Load, Requester, run_load};
use boundary_bench_mysql::{
    Batch, Cell, CellLists, ClientOptions, MysqlEngine, Prepared, RowView, SqlClient, SqlSession, Url, server,
};
use mysql_async::prelude::Queryable;

const ROWS: u64 = 1_000_000;
const USERS: u64 = 10_000;
const REQUESTS: u64 = 100_000;
const POINT: &str = "SELECT id, name, age, active, score, email FROM users WHERE id = ?";

/// Reads users by their key with [`SqlClient`], `batch` of them in a request.
struct Point {
    client: SqlClient,
    batch: u64,
}

impl Requester for Point {
    async fn request(&mut self, index: u64) -> Result<()> {
        let ids: Vec<[Value; 1]> = (0..self.batch).map(|n| [id_of(index * self.batch + n)]).collect();
        let lists = CellLists::of_values(ids.iter().map(<[Value; 1]>::as_slice))?;
        let results = self.client.run(&Batch::of(POINT, lists), None).await?;
        assert_eq!(results.rows[0].as_ref().unwrap().batch.num_rows() as u64, self.batch);
        Ok(())
    }
}

/// Reads users by their key with [`SqlSession`], which adds least to the protocol.
struct BarePoint {
    session: SqlSession,
    statement: Prepared,
    batch: u64,
}

impl Requester for BarePoint {
    async fn request(&mut self, index: u64) -> Result<()> {
        for n in 0..self.batch {
            let Value::Int(id) = id_of(index * self.batch + n) else { continue };
            self.session.queue(&self.statement, std::iter::once(Cell::Int(id)))?;
        }
        let mut bytes = 0;
        for _ in 0..self.batch {
            let row = |row: RowView<'_>| {
                let add = |_, cell: Cell<'_>| bytes += if let Cell::Text(text) = cell { text.len() } else { 8 };
                row.visit(add).expect("a row");
            };
            self.session.answer(Some(&self.statement), row).await?;
        }
        assert!(bytes > 0);
        Ok(())
    }
}

/// Reads users by their key with `mysql_async`.
struct AsyncPoint {
    connection: mysql_async::Conn,
    statement: mysql_async::Statement,
}

type User = (i32, String, i32, bool, f64, String);

impl Requester for AsyncPoint {
    async fn request(&mut self, index: u64) -> Result<()> {
        let id = 1 + index * 7919 % USERS;
        let user: Option<User> = self.connection.exec_first(&self.statement, (id,)).await.unwrap();
        assert_eq!(u64::from(user.unwrap().0.unsigned_abs()), id);
        Ok(())
    }
}

fn id_of(index: u64) -> Value {
    Value::Int((1 + index * 7919 % USERS).cast_signed())
}

fn seconds(work: impl FnOnce()) -> f64 {
    let start = Instant::now();
    work();
    start.elapsed().as_secs_f64()
}

async fn users(url: &Url) -> Result<()> {
    let client = SqlClient::connect(url, ClientOptions { connections: 1, timeout: None }, None).await?;
    for sql in [
        "DROP TABLE IF EXISTS users",
        "CREATE TABLE users (id INT NOT NULL PRIMARY KEY, name TEXT NOT NULL, age INT NOT NULL, active BOOL NOT NULL, \
         score REAL NOT NULL, email TEXT NOT NULL)",
    ] {
        client.run(&Batch::text(sql)?, None).await?;
    }
    let rows: Vec<_> = (1..=100_000_i64)
        .map(|id| {
            [
                Value::Int(id),
                Value::Text(format!("user_{id:06}")),
                Value::Int(18 + id % 62),
                Value::Bool(id % 2 == 0),
                Value::Double(100.0 + (id % 1000) as f64 * 0.1),
                Value::Text(format!("u{id}@b.local")),
            ]
        })
        .collect();
    let rows = CellLists::of_values(rows.iter().map(<[Value; 6]>::as_slice))?;
    let columns = ["id", "name", "age", "active", "score", "email"].map(str::to_owned);
    let start = Instant::now();
    client.insert_rows("users", &columns, &rows, None).await?;
    println!("insertRows: {:.0} rows/s", 100_000.0 / start.elapsed().as_secs_f64());
    Ok(())
}

async fn points(url: &Url, threads: usize, batch: u64) -> Result<f64> {
    let mut requesters = Vec::new();
    for _ in 0..threads {
        let client =
            SqlClient::connect(url, ClientOptions { connections: 1, timeout: Some(Duration::from_secs(60)) }, None);
        requesters.push(Point { client: client.await?, batch });
    }
    let load = Load { requests: REQUESTS / batch, ..Load::default() };
    let (requesters, _) =
        run_load(requesters, &Load { requests: 100, ..load.clone() }, &CancelToken::default()).await?;
    let (_, outcome) = run_load(requesters, &load, &CancelToken::default()).await?;
    Ok(REQUESTS as f64 / outcome.seconds)
}

async fn bare_points(url: &Url, threads: usize, batch: u64) -> Result<f64> {
    let mut requesters = Vec::new();
    for _ in 0..threads {
        let mut session = SqlSession::open(url).await?;
        let statement = session.prepare(POINT).await?;
        requesters.push(BarePoint { session, statement, batch });
    }
    let load = Load { requests: REQUESTS / batch, ..Load::default() };
    let (requesters, _) =
        run_load(requesters, &Load { requests: 100, ..load.clone() }, &CancelToken::default()).await?;
    let (_, outcome) = run_load(requesters, &load, &CancelToken::default()).await?;
    Ok(REQUESTS as f64 / outcome.seconds)
}

async fn async_points(url: &Url, threads: usize) -> Result<f64> {
    let mut requesters = Vec::new();
    for _ in 0..threads {
        let opts = mysql_async::OptsBuilder::default()
            .ip_or_hostname(url.host.clone())
            .tcp_port(url.port)
            .user(Some(url.user.clone()))
            .pass(url.password.clone())
            .prefer_socket(false)
            .db_name(url.database.clone());
        let mut connection = mysql_async::Conn::new(opts).await.unwrap();
        let statement = connection.prep(POINT).await.unwrap();
        requesters.push(AsyncPoint { connection, statement });
    }
    let load = Load { requests: REQUESTS, ..Load::default() };
    let (requesters, _) =
        run_load(requesters, &Load { requests: 100, ..load.clone() }, &CancelToken::default()).await?;
    let (_, outcome) = run_load(requesters, &load, &CancelToken::default()).await?;
    Ok(REQUESTS as f64 / outcome.seconds)
}

fn main() -> Result<()> {
    let server = if std::env::args().nth(1).is_none() { Some(server::start(None)?) } else { None };
    let url: Url = match (std::env::args().nth(1), &server) {
        (Some(text), _) => text.parse()?,
        (None, Some(server)) => server.url().clone(),
        (None, None) => return Ok(()),
    };
    let engine = Arc::new(MysqlEngine::open(&url.secret_text())?);
    let url = engine.url().clone();
    let table = measurements::table("m");
    engine.create_table(&table, CreateMode::Replace)?;
    let batches: Vec<_> =
        RowRange::new(0, ROWS)?.chunks(65_536).map(|range| range.columns().into_batch()).collect::<Result<_>>()?;
    for _ in 0..2 {
        engine.create_table(&table, CreateMode::Replace)?;
        let time = seconds(|| {
            let mut ingest = engine.ingest(&table).unwrap();
            for batch in &batches {
                ingest.write(batch).unwrap();
            }
            ingest.commit().unwrap();
        });
        println!("ingest: {:.0} rows/s", ROWS as f64 / time);
    }
    for _ in 0..3 {
        let time = seconds(|| {
            let mut stream =
                engine.query("SELECT id, sensor_id, value, timestamp FROM m", &QueryOptions::default()).unwrap();
            while stream.next_batch().unwrap().is_some() {}
        });
        println!("scan: {:.0} rows/s", ROWS as f64 / time);
    }
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    runtime.expect("a runtime").block_on(async {
        users(&url).await?;
        for threads in [1, 8, 32] {
            let (own, bare) = (points(&url, threads, 1).await?, bare_points(&url, threads, 1).await?);
            let theirs = async_points(&url, threads).await?;
            println!("point select, {threads} threads: SqlClient {own:.0}/s, SqlSession {bare:.0}/s, mysql_async {theirs:.0}/s");
        }
        for batch in [16, 64, 256] {
            for threads in [1, 8] {
                let (own, bare) = (points(&url, threads, batch).await?, bare_points(&url, threads, batch).await?);
                println!("{batch} point selects ahead, {threads} threads: SqlClient {own:.0}/s, SqlSession {bare:.0}/s");
            }
        }
        Ok(())
    })
}
