//! What every engine must do, on hyperd, over every transport.

use boundary_bench_core::engine_contract;

engine_contract!(tcp, boundary_bench_hyper::open("hyper:").unwrap());
engine_contract!(ipc, boundary_bench_hyper::open("hyper:?transport=ipc").unwrap());
engine_contract!(grpc_sync, boundary_bench_hyper::open("hyper:?transport=grpc-sync").unwrap());
engine_contract!(grpc_adaptive, boundary_bench_hyper::open("hyper:?transport=grpc-adaptive").unwrap());
engine_contract!(grpc_async, boundary_bench_hyper::open("hyper:?transport=grpc-async").unwrap());
engine_contract!(
    tcp_statements,
    boundary_bench_hyper::open("hyper:").unwrap(),
    a_statement_is_run_with_one_set_of_parameters_after_the_other,
    parameters_of_every_type_arrive,
    parameters_missing_or_too_many_are_named,
    a_statement_that_is_cancelled_says_so,
);
engine_contract!(
    ipc_statements,
    boundary_bench_hyper::open("hyper:?transport=ipc").unwrap(),
    a_statement_is_run_with_one_set_of_parameters_after_the_other,
    parameters_of_every_type_arrive,
    parameters_missing_or_too_many_are_named,
    a_statement_that_is_cancelled_says_so,
);
