//! The reference server inside this process, for `boundary-bench serve`.

use std::sync::Arc;

use boundary_bench_kernel::Error;
use boundary_bench_server::{HELP, Parsed, Running, parse};
use napi::Env;
use napi::bindgen_prelude::AsyncBlock;
use napi_derive::napi;

use crate::errors::{blocking, promise};

/// The reference server. It serves on threads of its own until it is stopped or this process ends.
#[napi]
pub struct ReferenceServer {
    server: Arc<Running>,
}

#[napi]
impl ReferenceServer {
    /// The help text of the server's arguments.
    #[napi(catch_unwind)]
    pub fn help() -> &'static str {
        HELP
    }

    /// Starts a server with the arguments that `help` explains; null if they ask for the help text.
    #[napi(catch_unwind)]
    pub fn start(env: Env, arguments: Vec<String>) -> napi::Result<AsyncBlock<Option<ReferenceServer>>> {
        promise(
            env,
            blocking(move || match parse(arguments) {
                Ok(Parsed::Help) => Ok(None),
                Ok(Parsed::Serve(options)) => Ok(Some(Self { server: Arc::new(Running::reference(&options)?) })),
                Ok(Parsed::Shard(options)) => Ok(Some(Self { server: Arc::new(Running::shard(&options)?) })),
                Ok(Parsed::Delay(options)) => Ok(Some(Self { server: Arc::new(Running::delay(&options)?) })),
                Err(message) => Err(Error::InvalidArgument(message)),
            }),
        )
    }

    /// The beginning of the server's URLs.
    #[napi(getter)]
    pub fn url(&self) -> String {
        self.server.url()
    }

    /// Stops the server: it takes no more connections, answers the requests in flight, and ends. Does nothing the second time.
    #[napi(catch_unwind, ts_return_type = "Promise<void>")]
    pub fn stop(&self, env: Env) -> napi::Result<AsyncBlock<()>> {
        let server = Arc::clone(&self.server);
        promise(
            env,
            blocking(move || {
                server.stop();
                Ok(())
            }),
        )
    }
}
