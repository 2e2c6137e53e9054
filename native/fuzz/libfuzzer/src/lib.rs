//! An empty crate: the build of its dependency `libfuzzer-sys` makes `libfuzzer.a`, and the harnesses' program is
//! linked with it.
