//! Settings of the other clients in Rust. The tests of the families in TypeScript open every lane.

use boundary_bench_engine::checksum::FLOAT_TOLERANCE;
use boundary_bench_kernel::cancel::CancelToken;
use boundary_bench_kernel::needs;
use boundary_bench_mysql::{Cell, SqlSession};
use boundary_bench_redis::Server as RedisServer;
use boundary_bench_server::{Options, Server as RestServer};
use boundary_bench_shards::{ClientOptions, ShardClient, ShardLocation, ShardOptions, ShardServer};
use boundary_bench_suite::registry::{FamilySpec, open_request_cell};
use boundary_bench_suite::requests::RequestCell;
use redis::{Client, cmd};
use serde_json::{Value, json};

const CONNECTIONS: u32 = 3;
const OPERATIONS: u64 = 600;
const SHARD_ROWS: u64 = 10_000;

fn open(family: &str, url: &str, workload: &str, more: &Value) -> boundary_bench_kernel::Result<Box<dyn RequestCell>> {
    let mut spec = json!({
        "family": family, "workload": workload, "url": url, "connections": CONNECTIONS, "batch": 1, "operations": OPERATIONS,
        "prefix": "bb_test"
    });
    for (name, value) in more.as_object().unwrap() {
        spec[name] = value.clone();
    }
    open_request_cell(&serde_json::from_value::<FamilySpec>(spec).unwrap(), &CancelToken::default())
}

fn sample(cell: &dyn RequestCell) {
    let sample = cell.sample(&CancelToken::default()).unwrap();
    assert_eq!(sample.checksum.difference(cell.expected(), FLOAT_TOLERANCE), None);
}

/// A figure of the server's INFO.
fn info(server: &mut redis::Connection, name: &str) -> u64 {
    let text: String = cmd("INFO").arg("all").query(server).unwrap();
    let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':')).unwrap_or("calls=0,");
    let digits = line.strip_prefix("calls=").map_or(line, |rest| rest.split(',').next().unwrap());
    digits.parse().unwrap()
}

#[test]
fn one_connection_serves_all_requesters_if_the_cell_says_so() {
    needs!("redis", boundary_bench_redis::executable(None));
    let server = RedisServer::start(None, &CancelToken::default()).unwrap();
    let mut admin = Client::open(server.url()).unwrap().get_connection().unwrap();
    for client in [Value::Null, json!("redis")] {
        for (setting, connections) in [(Value::Null, u64::from(CONNECTIONS)), (json!("shared"), 1)] {
            let before = info(&mut admin, "total_connections_received");
            let more = json!({ "lane": "call", "client": client, "setting": setting });
            let cell = open("kv", &server.url(), "get", &more).unwrap();
            sample(&*cell);
            // One more connection is for untimed work.
            assert_eq!(info(&mut admin, "total_connections_received") - before, connections + 1, "{more}");
            cell.close().unwrap();
        }
    }
    let more = json!({ "lane": "batch", "batch": 2, "setting": "shared" });
    let refused = open("kv", &server.url(), "get", &more).err().unwrap();
    assert_eq!(refused.code(), "BB_INVALID_ARGUMENT");
}

#[test]
fn a_unix_socket_serves_both_clients() {
    needs!("redis", boundary_bench_redis::executable(None));
    let server = RedisServer::start(None, &CancelToken::default()).unwrap();
    for client in [Value::Null, json!("redis")] {
        for (lane, batch) in [("call", 1), ("batch", 7)] {
            let more = json!({ "lane": lane, "batch": batch, "client": client });
            let cell = open("kv", &server.unix_url(), "get", &more).unwrap();
            sample(&*cell);
            cell.verify(&CancelToken::default()).unwrap();
            cell.close().unwrap();
        }
    }
}

#[test]
fn the_crate_redis_sends_a_pipeline_at_once() {
    needs!("redis", boundary_bench_redis::executable(None));
    let server = RedisServer::start(None, &CancelToken::default()).unwrap();
    let mut admin = Client::open(server.url()).unwrap().get_connection().unwrap();
    for (workload, command) in [("get", "cmdstat_get"), ("set", "cmdstat_set")] {
        let more = json!({ "lane": "batch", "batch": 60, "client": "redis", "connections": 1 });
        let cell = open("kv", &server.url(), workload, &more).unwrap();
        sample(&*cell);
        let before = [info(&mut admin, command), info(&mut admin, "total_reads_processed")];
        sample(&*cell);
        let after = [info(&mut admin, command), info(&mut admin, "total_reads_processed")];
        // A writer's keys are also written before the sample, by as many commands of our own client at once.
        let own = u64::from(workload == "set");
        assert_eq!(after[0] - before[0], OPERATIONS * (1 + own));
        // Each of the ten pipelines is read at once, or in two parts if one comes while it is sent. It is not read command by command.
        let reads = after[1] - before[1];
        assert!((10..=30).contains(&reads), "{reads} reads");
        cell.close().unwrap();
    }
}

#[test]
fn mysql_async_sends_no_batches_of_statements() {
    needs!("mysql", boundary_bench_mysql::server::executable(None));
    let server = boundary_bench_mysql::server::start(None).unwrap();
    let url = &server.url().secret_text();
    let ahead = json!({ "lane": "batch", "batch": 4, "client": "mysql_async" });
    assert_eq!(open("sql", url, "select_pk", &ahead).err().unwrap().code(), "BB_INVALID_ARGUMENT");
    let by_rows = open("sql", url, "insert_multi_values", &ahead).unwrap();
    assert_eq!(by_rows.sample(&CancelToken::default()).unwrap_err().code(), "BB_INVALID_ARGUMENT");
    by_rows.close().unwrap();
}

#[test]
fn mysql_async_prepares_once_and_stays_on_tcp() {
    needs!("mysql", boundary_bench_mysql::server::executable(None));
    let server = boundary_bench_mysql::server::start(None).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let mut admin = runtime.block_on(SqlSession::open(server.url())).ok().unwrap();
    let mut number = |sql: &str| {
        let mut found = 0;
        admin.queue_text(sql);
        let read = |row: boundary_bench_mysql::RowView<'_>| {
            row.visit(|_, cell| match cell {
                Cell::Int(value) => found = value,
                Cell::Text(text) => found = text.parse().unwrap_or_default(),
                _ => {}
            })
            .unwrap();
        };
        runtime.block_on(admin.answer(None, read)).ok().unwrap();
        found
    };
    let prepared = "SHOW GLOBAL STATUS LIKE 'Com_stmt_prepare'";
    let executed = "SHOW GLOBAL STATUS LIKE 'Com_stmt_execute'";
    for (workload, runs) in [("select_pk", OPERATIONS.cast_signed()), ("select_pk_literal", 0)] {
        let more = json!({ "lane": "call", "client": "mysql_async", "options": { "rows": 1200 } });
        let cell = open("sql", &server.url().secret_text(), workload, &more).unwrap();
        let before = [number(prepared), number(executed)];
        sample(&*cell);
        assert_eq!([number(prepared) - before[0], number(executed) - before[1]], [0, runs], "{workload}");
        let over_sockets = number(
            "SELECT COUNT(*) FROM information_schema.processlist WHERE user = 'boundary_bench' AND host NOT LIKE '%:%'",
        );
        assert_eq!(over_sockets, 0);
        cell.close().unwrap();
    }
}

fn api_key() -> String {
    format!("{}.{}", "k".repeat(16), "s".repeat(64))
}

/// A server, the key that it asks for, and its URL with that.
fn rest_server() -> (RestServer, String, String) {
    let listen = "127.0.0.1:0".parse().unwrap();
    let key = api_key();
    let api_key = Some(key.clone());
    let server = RestServer::start(&Options { listen, api_key, scale_factor: 0.001, ..Options::default() }).unwrap();
    let url = server.url().replace("://", &format!("://:{key}@"));
    (server, key, url)
}

/// The number of established connections of a port of this machine.
#[cfg(target_os = "linux")]
fn connections_of(port: u16) -> u32 {
    let table = std::fs::read_to_string("/proc/net/tcp").unwrap();
    let own = format!(":{port:04X}");
    let is_own = |line: &str| {
        let mut fields = line.split_whitespace().skip(1);
        fields.next().is_some_and(|local| local.ends_with(&own)) && fields.nth(1) == Some("01")
    };
    u32::try_from(table.lines().filter(|line| is_own(line)).count()).unwrap()
}

#[cfg(target_os = "linux")]
#[test]
fn reqwest_keeps_its_connections_and_has_as_many_as_requests_under_way() {
    let (server, _, url) = rest_server();
    let open_connections = || connections_of(server.address().port());
    let call = open("rest", &url, "pkread", &json!({ "lane": "call", "client": "reqwest" })).unwrap();
    sample(&*call);
    sample(&*call);
    assert_eq!(open_connections(), CONNECTIONS);
    call.close().unwrap();
    let more = json!({ "lane": "batch", "batch": 60, "client": "reqwest", "connections": 1 });
    let batch = open("rest", &url, "pkread", &more).unwrap();
    sample(&*batch);
    sample(&*batch);
    let open = open_connections();
    // Each of the twenty rounds would open as many again if none were kept.
    assert!((20..=64).contains(&open), "{open} connections");
    batch.close().unwrap();
}

#[test]
fn tonic_tells_the_key() {
    let key = api_key();
    let options = |shard| ShardOptions { shard, shards: 3, api_key: Some(key.clone()), ..ShardOptions::default() };
    let servers: Vec<_> = (0..3).map(|shard| ShardServer::start(&options(shard)).unwrap()).collect();
    let url = servers.iter().map(|server| server.url().replace("://", &format!("://:{key}@")));
    let url = url.collect::<Vec<_>>().join(",");
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        let places = url.split(',').map(|url| ShardLocation::Remote(url.to_owned())).collect();
        let client = ShardClient::connect(places, &ClientOptions::default()).await.unwrap();
        client.populate(SHARD_ROWS, false).await.unwrap();
    });
    let more = json!({ "lane": "call", "client": "tonic", "options": { "totalRows": SHARD_ROWS } });
    let cell = open("hybrid", &url, "point_lookup", &more).unwrap();
    sample(&*cell);
    cell.close().unwrap();
}
