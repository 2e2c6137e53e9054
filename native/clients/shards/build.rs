//! Generates the messages and the service from the proto.

use std::path::Path;

fn main() -> std::io::Result<()> {
    let out = std::env::var_os("OUT_DIR").ok_or_else(|| std::io::Error::other("cargo sets OUT_DIR"))?;
    tonic_prost_build::configure()
        .bytes(".")
        .file_descriptor_set_path(Path::new(&out).join("shards.bin"))
        .compile_protos(&["../../../proto/boundary_bench/shards/v1/shards.proto"], &["../../../proto"])
}
