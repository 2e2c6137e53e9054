//! The contract of every engine, over Flight SQL.

mod common;

use boundary_bench_engine::engine_contract;

engine_contract!(flight, crate::common::open());
engine_contract!(
    flight_statements,
    crate::common::open(),
    a_statement_is_run_with_one_set_of_parameters_after_the_other,
    parameters_of_every_type_arrive,
    a_parameter_keeps_the_type_that_it_is_given,
    parameters_missing_or_too_many_are_named,
    a_statement_without_parameters_is_run_again,
    a_statement_that_is_cancelled_says_so,
);
