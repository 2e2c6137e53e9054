//! The engine in bare memory keeps the contract of engines.

use std::sync::Arc;

use boundary_bench_engine::{Engine, MemoryEngine, engine_contract};

fn memory_engine() -> Arc<dyn Engine> {
    Arc::new(MemoryEngine::new())
}

engine_contract!(memory, super::memory_engine());
