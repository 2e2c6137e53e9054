//! An empty crate: the build of its dependency `libfuzzer-sys` makes `libfuzzer.a`, which the harnesses' program is linked with.
