//! Servers that speak the `MySQL` wire, as targets of small requests and as an engine of Boundary Bench.
