//! What every engine must do, on hyperd, over every transport.

use boundary_bench_core::engine_contract;

engine_contract!(tcp, boundary_bench_hyper::open("hyper:").unwrap());
engine_contract!(ipc, boundary_bench_hyper::open("hyper:?transport=ipc").unwrap());
engine_contract!(grpc_sync, boundary_bench_hyper::open("hyper:?transport=grpc-sync").unwrap());
engine_contract!(grpc_adaptive, boundary_bench_hyper::open("hyper:?transport=grpc-adaptive").unwrap());
engine_contract!(grpc_async, boundary_bench_hyper::open("hyper:?transport=grpc-async").unwrap());
