//! Servers whose disk is full: acknowledged writes stay, writes that can't be stored are refused, and reads go on. A full disk
//! is simulated by the kernel's limit on the size of files, which can be set while a server runs.
#![cfg(target_os = "linux")]

mod common;

use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use boundary_bench_core::engine::{CancelToken, CreateMode, Engine};
use boundary_bench_shards::{ClientOptions, Place, Row, ShardClient};
use common::flight::{connect, number, rows, table};
use common::{Answer, ask_at};

/// A server whose disk a test can fill.
struct Server {
    child: Child,
    url: String,
}

impl Server {
    fn start(arguments: &[&str]) -> Self {
        // The limit's signal would end a process that does not ignore it.
        let mut child = Command::new("/bin/sh")
            .args(["-c", "trap '' XFSZ; exec \"$@\"", "sh", env!("CARGO_BIN_EXE_boundary-bench-server")])
            .args(arguments)
            .args(["--listen", "127.0.0.1:0"])
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let url = line.trim().strip_prefix("listening on ").unwrap().to_owned();
        Self { child, url }
    }

    /// Sets whether files may grow from now on.
    fn set_room(&self, is_there: bool) {
        let soft = if is_there { libc::RLIM_INFINITY } else { 0 };
        let limit = libc::rlimit { rlim_cur: soft, rlim_max: libc::RLIM_INFINITY };
        let id = libc::pid_t::try_from(self.child.id()).unwrap();
        // SAFETY: it reads that one structure, and concerns a process that this test started and has not waited for.
        let set = unsafe { libc::prlimit(id, libc::RLIMIT_FSIZE, &raw const limit, std::ptr::null_mut()) };
        assert_eq!(set, 0, "{}", std::io::Error::last_os_error());
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A temporary folder, removed when dropped.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("bb-full-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    fn path(&self) -> &str {
        self.0.to_str().unwrap()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn write_row(url: &str, key: u64) -> Answer {
    let body = format!(
        r#"{{"operations":[{{"method":"POST","relative-url":"rdrs_bench/table_1/pk-write","body":{{"filters":[{{"column":"id0","value":{key}}}],"writeColumns":[{{"column":"col0","value":"row {key}"}}]}}}}]}}"#
    );
    ask_at(url, "POST", "/0.1.0/batchwrite", &body)
}

fn read_row(url: &str, key: u64) -> Answer {
    let body = format!(r#"{{"filters":[{{"column":"id0","value":{key}}}]}}"#);
    ask_at(url, "POST", "/0.1.0/rdrs_bench/table_1/pk-read", &body)
}

#[test]
fn rows_of_tables_stay_when_the_disk_is_full() {
    let folder = Folder::new("tables");
    let arguments = ["--durable", "--dir", folder.path()];
    let server = Server::start(&arguments);
    let acknowledged: Vec<u64> = (10_000..10_050).collect();
    for key in &acknowledged {
        assert_eq!(write_row(&server.url, *key).status, 200);
    }
    server.set_room(false);
    let refused = write_row(&server.url, 20_000);
    assert_eq!(refused.status, 500, "{}", refused.text());
    assert!(refused.text().contains("tables"), "{}", refused.text());
    let read = read_row(&server.url, acknowledged[7]);
    assert_eq!((read.status, read.json()["data"]["col0"].as_str().unwrap()), (200, "row 10007"));
    // With room again the server accepts writes, or reports that it must be restarted; acknowledged writes stay.
    server.set_room(true);
    let later = write_row(&server.url, 30_000);
    assert!(later.status == 200 || later.text().contains("start"), "{}", later.text());
    drop(server);
    let server = Server::start(&arguments);
    let stays = acknowledged.iter().chain((later.status == 200).then_some(&30_000));
    for key in stays {
        let read = read_row(&server.url, *key);
        assert_eq!(read.status, 200, "the row {key} is lost");
    }
    assert_eq!(write_row(&server.url, 40_000).status, 200);
}

#[test]
fn rows_of_flight_sql_stay_when_the_disk_is_full() {
    let folder = Folder::new("flight");
    let path = folder.0.join("full.duckdb");
    let arguments = ["flight", "--database", path.to_str().unwrap()];
    let server = Server::start(&arguments);
    let engine = connect(&server.url);
    engine.create_table(&table(), CreateMode::Create).unwrap();
    let insert = |engine: &dyn Engine| {
        let mut ingest = engine.ingest(&table())?;
        ingest.write(&rows(100))?;
        ingest.commit()
    };
    assert_eq!(insert(&engine).unwrap(), 100);
    server.set_room(false);
    let refused = insert(&engine).unwrap_err();
    assert_eq!(refused.code(), "BB_ENGINE", "{refused}");
    server.set_room(true);
    drop((engine, server));
    let server = Server::start(&arguments);
    let engine = connect(&server.url);
    assert_eq!(number(&engine, "SELECT count(*) FROM t"), 100);
    assert_eq!(insert(&engine).unwrap(), 100);
    engine.execute("INSERT INTO t VALUES (1, 'a')", &CancelToken::default()).unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rows_of_a_shard_stay_when_the_disk_is_full() {
    const ROWS: u64 = 5000;
    let folder = Folder::new("shard");
    let arguments = ["shard", "--shards", "1", "--data-dir", folder.path()];
    let connect = async |server: &Server| {
        let places = vec![Place::Remote(server.url.clone())];
        let options = ClientOptions { deadline: Some(Duration::from_secs(60)), ..ClientOptions::default() };
        ShardClient::connect(places, &options).await.unwrap()
    };
    let server = Server::start(&arguments);
    let client = connect(&server).await;
    client.populate(ROWS, false).await.unwrap();
    client.put(&Row::made(-1)).await.unwrap();
    server.set_room(false);
    let refused = client.put(&Row::made(-2)).await.unwrap_err();
    assert_eq!(refused.code(), "BB_ENGINE", "{refused}");
    let refused = client.populate(2 * ROWS, true).await.unwrap_err();
    assert!(refused.to_string().contains("shard 0 of 1"), "{refused}");
    let check = async |client: &ShardClient| {
        let (rows, populated) = client.describe().await.unwrap()[0];
        assert!(rows > ROWS && populated == Some(ROWS), "{rows} rows, populated {populated:?}");
        for key in [-1, 0, 4999] {
            assert_eq!(client.get(key).await.unwrap(), Some(Row::made(key)));
        }
    };
    check(&client).await;
    server.set_room(true);
    drop((client, server));
    let server = Server::start(&arguments);
    let client = connect(&server).await;
    check(&client).await;
    client.put(&Row::made(-3)).await.unwrap();
    client.populate(2 * ROWS, true).await.unwrap();
    assert_eq!(client.describe().await.unwrap(), [(2 * ROWS, Some(2 * ROWS))]);
}
