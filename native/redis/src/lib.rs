//! Servers that speak the Redis wire, as targets of small requests of Boundary Bench.
