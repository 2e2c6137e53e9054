//! The cost of the load loop alone: requests that do nothing, on one thread and on several.
//!
//! `cargo run --release -p boundary-bench-core --example load_speed`

use boundary_bench_kernel::Result;
use boundary_bench_kernel::cancel::CancelToken;
use boundary_bench_kernel::load::{Load, Requester, run_load};

struct Empty;

impl Requester for Empty {
    async fn request(&mut self, _index: u64) -> Result<()> {
        Ok(())
    }
}

fn main() -> std::result::Result<(), Box<dyn std::error::Error>> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let mut lines = Vec::new();
    for (threads, requests, rate) in
        [(1, 10_000_000, None), (32, 10_000_000, None), (1, 20_000, Some(10_000.0)), (32, 200_000, Some(100_000.0))]
    {
        let load = Load { requests, rate, ..Load::default() };
        let requesters = (0..threads).map(|_| Empty).collect();
        let (_, outcome) = runtime.block_on(run_load(requesters, &load, &CancelToken::default()))?;
        let cpu = outcome.cpu.map_or(0.0, |cpu| cpu.user + cpu.system);
        let behind = outcome.behind.map(|late| (late.quantile(0.5), late.quantile(0.99), late.max()));
        lines.push(format!(
            "{threads} threads, rate {rate:?}: {:.1} ns of CPU and {:.1} ns a request; behind (p50, p99, max) {behind:?} ns",
            cpu * 1e9 / requests as f64,
            outcome.seconds * 1e9 / requests as f64,
        ));
    }
    std::io::Write::write_all(&mut std::io::stdout(), (lines.join("\n") + "\n").as_bytes())?;
    Ok(())
}
