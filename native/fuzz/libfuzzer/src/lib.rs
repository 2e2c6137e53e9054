//! Nothing of its own: the build of `libfuzzer-sys` leaves `libfuzzer.a`, which the program of the harnesses is linked with.
