//! Cancelling a query from another thread.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use crate::{Error, Result, lock};

type Hook = Box<dyn Fn() + Send>;

/// A token shared between the thread that runs a query and the threads that may cancel it.
#[derive(Clone, Default)]
pub struct CancelToken(Arc<Inner>);

#[derive(Default)]
struct Inner {
    cancelled: AtomicBool,
    hook: Mutex<Option<Hook>>,
}

impl std::fmt::Debug for CancelToken {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_tuple("CancelToken").field(&self.is_cancelled()).finish()
    }
}

impl CancelToken {
    /// Cancels the query. A second call does nothing.
    pub fn cancel(&self) {
        let hook = lock(&self.0.hook);
        // The flag is set under the lock, so that a hook that is being installed is either called here or sees the
        // flag.
        if !self.0.cancelled.swap(true, Ordering::AcqRel)
            && let Some(hook) = hook.as_ref()
        {
            hook();
        }
    }

    /// Whether [`CancelToken::cancel`] was called.
    pub fn is_cancelled(&self) -> bool {
        self.0.cancelled.load(Ordering::Acquire)
    }

    /// Fails if the token is cancelled.
    pub fn check(&self) -> Result<()> {
        if self.is_cancelled() { Err(Error::Cancelled) } else { Ok(()) }
    }

    /// Installs the hook that interrupts the engine, for as long as the returned guard lives. It is called at once if
    /// the token is already cancelled.
    #[must_use]
    pub fn on_cancel(&self, hook: impl Fn() + Send + 'static) -> CancelGuard {
        let mut slot = lock(&self.0.hook);
        if self.is_cancelled() {
            hook();
        }
        *slot = Some(Box::new(hook));
        CancelGuard(self.clone())
    }
}

/// Keeps a hook of [`CancelToken::on_cancel`] installed. Dropping the guard waits for a hook that runs.
#[derive(Debug)]
pub struct CancelGuard(CancelToken);

impl Drop for CancelGuard {
    fn drop(&mut self) {
        *lock(&self.0.0.hook) = None;
    }
}

/// Cancels its token on drop, as when a future is dropped before its end.
#[derive(Debug)]
pub struct CancelOnDrop(pub CancelToken);

impl CancelOnDrop {
    /// Drops the guard without cancelling, since the work has ended.
    pub fn forget(self) {
        std::mem::forget(self);
    }
}

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        self.0.cancel();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicUsize;

    use super::*;

    #[test]
    fn the_hook_is_called_once_and_not_after_its_guard() {
        let calls = Arc::new(AtomicUsize::new(0));
        let count = |calls: &Arc<AtomicUsize>| {
            let calls = Arc::clone(calls);
            move || {
                calls.fetch_add(1, Ordering::Relaxed);
            }
        };
        let token = CancelToken::default();
        drop(token.on_cancel(count(&calls)));
        token.cancel();
        assert_eq!(calls.load(Ordering::Relaxed), 0);
        // A hook that is installed after the cancellation is called at once.
        let _guard = token.on_cancel(count(&calls));
        token.cancel();
        assert_eq!(calls.load(Ordering::Relaxed), 1);
        assert_eq!(token.check().unwrap_err().code(), "BB_ABORTED");
    }
}
