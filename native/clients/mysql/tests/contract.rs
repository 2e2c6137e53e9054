//! The contract of engines, on a private server of MySQL or MariaDB.

use boundary_bench_engine::engine_contract;

/// An engine, for a test that is skipped without a server.
macro_rules! mysql {
    ($open:expr) => {{
        boundary_bench_kernel::needs!("mysql", boundary_bench_mysql::server::executable(None));
        $open
    }};
}

engine_contract!(mysql, mysql!(boundary_bench_mysql::open("mysql:").unwrap()));
engine_contract!(
    statements,
    mysql!(boundary_bench_mysql::open("mysql:").unwrap()),
    a_statement_is_run_with_one_set_of_parameters_after_the_other,
    parameters_of_every_type_arrive,
    parameters_missing_or_too_many_are_named,
    a_statement_without_parameters_is_run_again,
    a_statement_that_is_cancelled_says_so,
);

/// The contract on a server with fewer features: without `LOAD DATA LOCAL`, and without the extensions of `MariaDB`.
mod plain {
    use std::sync::atomic::{AtomicU64, Ordering};
    use std::sync::{Arc, LazyLock};

    use boundary_bench_engine::Engine;
    use boundary_bench_engine::engine_contract;
    use boundary_bench_kernel::cancel::CancelToken;
    use boundary_bench_mysql::server::{Server, start_with};
    use boundary_bench_mysql::{MysqlEngine, Url};

    static SERVER: LazyLock<Server> = LazyLock::new(|| {
        start_with(None, &["--local-infile=0", "--max-allowed-packet=1M"], &CancelToken::default()).unwrap()
    });

    fn open() -> Arc<dyn Engine> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let admin = MysqlEngine::open(&SERVER.socket_url().secret_text()).unwrap();
        let name = format!("plain_{}", NEXT.fetch_add(1, Ordering::Relaxed));
        admin.execute(&format!("CREATE DATABASE {name}"), &CancelToken::default()).unwrap();
        let url = Url { database: Some(name), extensions: false, ..SERVER.url().clone() };
        Arc::new(MysqlEngine::open(&url.secret_text()).unwrap())
    }

    engine_contract!(
        engine,
        mysql!(super::open()),
        an_insert_aborted_or_dropped_leaves_nothing,
        rows_are_published_at_once_by_commit,
        nothing_is_left_of_an_insert_that_failed,
        slices_of_batches_are_inserted_as_they_are_seen,
        batches_have_at_most_the_rows_asked_for,
        every_type_comes_back_with_its_nulls,
        a_number_that_the_engine_has_not_is_named_by_row_and_column,
        a_cancelled_query_says_so,
        a_query_left_in_the_middle_holds_nothing,
        parameters_of_every_type_arrive,
    );
}
