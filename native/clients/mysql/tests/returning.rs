//! Statements that return the rows they change, and commands that change nothing but a session.

use boundary_bench_engine::{BatchStream, QueryOptions, Value};
use boundary_bench_kernel::cancel::CancelToken;
use boundary_bench_kernel::needs;
use boundary_bench_mysql::server::executable;

fn rows(stream: &mut dyn BatchStream) -> usize {
    std::iter::from_fn(|| stream.next_batch().unwrap()).map(|batch| batch.num_rows()).sum()
}

#[test]
fn changed_rows_that_are_returned_are_counted_and_read() {
    needs!("mysql", executable(None));
    let engine = boundary_bench_mysql::open("mysql:").unwrap();
    if !engine.version().contains("MariaDB") {
        return;
    }
    let execute =
        |sql: &str| engine.execute(sql, &CancelToken::default()).unwrap_or_else(|error| panic!("{sql}: {error}"));
    execute("CREATE TABLE t (a INT)");
    assert_eq!(execute("INSERT INTO t VALUES (1), (2) RETURNING a"), 2);
    assert_eq!(execute("INSERT INTO t VALUES (3); DELETE FROM t WHERE a > 1 RETURNING a; SELECT * FROM t"), 3);
    let mut stream = engine.query("INSERT INTO t VALUES (4), (5) RETURNING a", &QueryOptions::default()).unwrap();
    assert_eq!(rows(stream.as_mut()), 2);
    drop(stream);
    let mut insert = engine.prepare("INSERT INTO t VALUES ($1) RETURNING a", &CancelToken::default()).unwrap();
    assert_eq!(insert.execute(&[Value::Int(6)], &CancelToken::default()).unwrap(), 1);
    assert_eq!(rows(insert.query(&[Value::Int(7)], &QueryOptions::default()).unwrap().as_mut()), 1);
    drop(insert);
    assert_eq!(
        engine.query("INSERT INTO t VALUES (9)", &QueryOptions::default()).err().unwrap().code(),
        "BB_UNSUPPORTED"
    );
    assert_eq!(rows(engine.query("SELECT * FROM t", &QueryOptions::default()).unwrap().as_mut()), 5);
}

#[test]
fn commands_whose_effect_would_be_gone_are_refused() {
    needs!("mysql", executable(None));
    let engine = boundary_bench_mysql::open("mysql:").unwrap();
    let execute = |sql: &str| engine.execute(sql, &CancelToken::default());
    execute("CREATE TABLE t (a INT)").unwrap();
    for sql in [
        "SET @x = 1",
        "SET SESSION sql_mode = ''",
        "CREATE TEMPORARY TABLE u (a INT)",
        "USE mysql",
        "SET @x = 1; SET @y = 2",
    ] {
        let error = execute(sql).unwrap_err();
        assert_eq!(error.code(), "BB_UNSUPPORTED", "{sql}: {error}");
        assert!(error.to_string().contains("session"), "{error}");
    }
    assert_eq!(execute("SET @x = 5; INSERT INTO t SELECT @x").unwrap(), 1);
    execute("SET @@GLOBAL.max_connections = 200").unwrap();
}
