//! The cancellation of the start of a private server, exported to JavaScript.

use boundary_bench_kernel::cancel::CancelToken;
use napi_derive::napi;

/// A token that cancels the query or the command that it was given to. Each needs a token of its own: a query that ends cancels
/// its own.
#[napi]
pub struct Cancel {
    pub(crate) token: CancelToken,
}

#[napi]
impl Cancel {
    #[napi(constructor)]
    /// Makes a token that no work has been given yet.
    pub fn new() -> Self {
        Self { token: CancelToken::default() }
    }

    /// Cancels the work. Its promises are rejected with `BB_ABORTED`.
    #[napi(catch_unwind)]
    pub fn cancel(&self) {
        self.token.cancel();
    }
}

impl Cancel {
    /// The token of an optional argument. Without one, a token that nobody cancels.
    pub fn token_of(cancel: Option<&Self>) -> CancelToken {
        cancel.map(|cancel| cancel.token.clone()).unwrap_or_default()
    }
}
