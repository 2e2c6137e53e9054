//! The contract of every engine, on hyperd, over every transport.

use boundary_bench_engine::engine_contract;

/// The engine of a URI. Without hyperd the test ends here.
macro_rules! hyper {
    ($uri:literal) => {{
        boundary_bench_kernel::needs!("hyperd", boundary_bench_hyper::executable());
        boundary_bench_hyper::open($uri).unwrap()
    }};
}

engine_contract!(tcp, hyper!("hyper:"));
engine_contract!(ipc, hyper!("hyper:?transport=ipc"));
engine_contract!(grpc_sync, hyper!("hyper:?transport=grpc-sync"));
engine_contract!(grpc_adaptive, hyper!("hyper:?transport=grpc-adaptive"));
engine_contract!(grpc_async, hyper!("hyper:?transport=grpc-async"));
engine_contract!(
    tcp_statements,
    hyper!("hyper:"),
    a_statement_is_run_with_one_set_of_parameters_after_the_other,
    parameters_of_every_type_arrive,
    a_parameter_keeps_the_type_that_it_is_given,
    parameters_missing_or_too_many_are_named,
    a_statement_without_parameters_is_run_again,
    a_statement_that_is_cancelled_says_so,
);
engine_contract!(
    ipc_statements,
    hyper!("hyper:?transport=ipc"),
    a_statement_is_run_with_one_set_of_parameters_after_the_other,
    parameters_of_every_type_arrive,
    a_parameter_keeps_the_type_that_it_is_given,
    parameters_missing_or_too_many_are_named,
    a_statement_without_parameters_is_run_again,
    a_statement_that_is_cancelled_says_so,
);
