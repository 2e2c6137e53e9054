//! Cancelling a query from another thread.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use crate::{Error, Result};

type Hook = Box<dyn Fn() + Send>;

/// Shared between the thread that runs a query and those that may cancel it.
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
    /// Asks for the end of the query; does nothing the second time.
    pub fn cancel(&self) {
        let hook = self.0.hook.lock().unwrap_or_else(PoisonError::into_inner);
        // Set under the lock, so that a hook that is being installed is either called here or sees the flag.
        if !self.0.cancelled.swap(true, Ordering::AcqRel)
            && let Some(hook) = hook.as_ref()
        {
            hook();
        }
    }

    /// Whether [`CancelToken::cancel`] was called.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.0.cancelled.load(Ordering::Acquire)
    }

    /// An error once cancelled.
    ///
    /// # Errors
    /// [`Error::Cancelled`].
    pub fn check(&self) -> Result<()> {
        if self.is_cancelled() { Err(Error::Cancelled) } else { Ok(()) }
    }

    /// Installs what interrupts the engine, for as long as the returned guard lives. Called at once if the token is
    /// cancelled already.
    #[must_use]
    pub fn on_cancel(&self, hook: impl Fn() + Send + 'static) -> CancelGuard {
        let mut slot = self.0.hook.lock().unwrap_or_else(PoisonError::into_inner);
        if self.is_cancelled() {
            hook();
        }
        *slot = Some(Box::new(hook));
        CancelGuard(self.clone())
    }
}

/// Keeps a hook of [`CancelToken::on_cancel`] installed; dropping it waits for a hook under way.
#[derive(Debug)]
pub struct CancelGuard(CancelToken);

impl Drop for CancelGuard {
    fn drop(&mut self) {
        *self.0.0.hook.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }
}

/// Cancels work when it is dropped, as the future is that nobody waits for any more.
#[derive(Debug)]
pub struct CancelOnDrop(pub CancelToken);

impl CancelOnDrop {
    /// The work has ended: there is nothing to cancel.
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
        // Installed after the cancellation: called at once.
        let _guard = token.on_cancel(count(&calls));
        token.cancel();
        assert_eq!(calls.load(Ordering::Relaxed), 1);
        assert_eq!(token.check().unwrap_err().code(), "BB_ABORTED");
    }
}
