//! A server that offers nothing but queries, as Sail does: its refusals are those that Sail gives.

mod common;

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use boundary_bench_engine::table::{Column, SqlType, TableDefinition};
use boundary_bench_engine::{CreateMode, Engine, QueryOptions};
use boundary_bench_flight::{FlightEngine, Quirks};
use boundary_bench_kernel::cancel::CancelToken;
use boundary_bench_server::FlightOptions;
use common::{number, options, serve};

fn open(suffix: &str) -> FlightEngine {
    let quirks = Quirks { only_queries: true, ..Quirks::default() };
    let server = serve(options(FlightOptions { quirks, ..FlightOptions::default() }));
    FlightEngine::open(format!("{}{suffix}", server.url()).parse().unwrap(), Some(server)).unwrap()
}

fn table() -> TableDefinition {
    let column = |name: &str, sql_type, nullable| Column { name: name.to_owned(), sql_type, nullable };
    let columns = vec![column("id", SqlType::Int, true), column("a \"name\"", SqlType::Text, true)];
    TableDefinition { name: "a table".to_owned(), columns }
}

#[test]
fn tables_are_made_described_listed_and_dropped_by_queries() {
    let engine = open("");
    assert!(engine.version().starts_with('v'), "{}", engine.version());
    engine.create_table(&table(), CreateMode::Create).unwrap();
    assert_eq!(engine.create_table(&table(), CreateMode::Create).unwrap_err().code(), "BB_TABLE_EXISTS");
    engine.create_table(&table(), CreateMode::Replace).unwrap();
    assert_eq!(engine.list_tables().unwrap(), ["a table"]);
    assert_eq!(engine.describe_table("a table").unwrap(), table());
    assert_eq!(engine.describe_table("other").unwrap_err().code(), "BB_TABLE_NOT_FOUND");
    assert!(engine.drop_table("a table").unwrap());
    assert!(!engine.drop_table("a table").unwrap());
}

#[test]
fn commands_run_once_and_their_errors_are_the_servers() {
    let engine = open("");
    let run = |sql: &str| engine.execute(sql, &CancelToken::default());
    run("CREATE TABLE t (n INTEGER)").unwrap();
    run("INSERT INTO t VALUES (1), (2), (3)").unwrap();
    assert_eq!(number(&engine, "SELECT count(*) FROM t"), 3);
    assert_eq!(run("SELEKT 1").unwrap_err().code(), "BB_ENGINE");
}

#[test]
fn what_is_refused_is_refused_in_the_words_of_the_server() {
    let engine = open("");
    let mut table = table();
    // Which columns may hold NULL is not told by the results of this server.
    table.columns[0].nullable = false;
    engine.create_table(&table, CreateMode::Create).unwrap();
    let refused = engine.ingest(&table).unwrap().commit().unwrap_err();
    assert_eq!(refused.code(), "BB_UNSUPPORTED");
    assert!(refused.to_string().ends_with("do_put_statement_ingest has no default implementation"), "{refused}");
    let Err(refused) = engine.prepare("SELECT 1", &CancelToken::default()) else { panic!("nothing is prepared") };
    assert!(refused.to_string().contains("do_action_create_prepared_statement"), "{refused}");
}

#[test]
fn every_dialect_of_this_server_counts_the_same() {
    // DuckDB takes two of the three dialects.
    for dialect in ["duckdb", "plain"] {
        let engine = open(&format!("?dialect={dialect}"));
        for range in [0..0, 0..1, 7..8, 0..10, 5..1016] {
            let sql = format!("SELECT i FROM {} ORDER BY i", engine.numbers(range.clone()).unwrap());
            let mut found = Vec::new();
            let mut stream = engine.query(&sql, &QueryOptions::default()).unwrap();
            while let Some(batch) = stream.next_batch().unwrap() {
                found.extend_from_slice(batch.column(0).as_primitive::<Int64Type>().values());
            }
            assert!(found.iter().map(|i| u64::try_from(*i).unwrap()).eq(range.clone()), "{dialect} {range:?}");
        }
    }
    let found = open("").numbers(0..2).unwrap();
    assert_eq!(found, open("?dialect=duckdb").numbers(0..2).unwrap());
}
