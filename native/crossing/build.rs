//! The build script: sets the linker flags of Node addons.

fn main() {
    napi_build::setup();
}
