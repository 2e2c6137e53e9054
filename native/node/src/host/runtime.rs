//! The JavaScript runtime of the process, and how its Node-API differs from Node's.

use std::sync::OnceLock;

use napi::Env;
use napi::bindgen_prelude::{JsObjectValue, Object};

/// Whether the runtime is Bun. Bun exports libuv's functions, but ends the process when one is called.
pub fn is_bun(env: Env) -> napi::Result<bool> {
    has_version(env, "bun")
}

/// Whether the finalizer of an external buffer is called on the thread of its environment. Deno calls it on the thread of V8 that has
/// freed the buffer. No function of Node-API may be called there. A runtime that can't tell its name counts as Node.
pub fn finalizes_on_own_thread(env: Env) -> bool {
    static OWN: OnceLock<bool> = OnceLock::new();
    *OWN.get_or_init(|| !has_version(env, "deno").unwrap_or(false))
}

/// Whether `process.versions` names a runtime.
fn has_version(env: Env, name: &str) -> napi::Result<bool> {
    let process: Object<'_> = env.get_global()?.get_named_property("process")?;
    let versions: Object<'_> = process.get_named_property("versions")?;
    versions.has_named_property(name)
}
