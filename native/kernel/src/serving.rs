//! A server in this process: the thread that serves, and its end.

use std::net::SocketAddr;
use std::num::NonZeroUsize;
use std::sync::Mutex;
use std::thread::JoinHandle;

use tokio::runtime::{Builder, Runtime};
use tokio::sync::watch;

use crate::{Error, Result, lock};

/// The runtime of a server with this name. It has one thread per two cores, since the client has the others.
pub fn runtime(name: &'static str) -> Result<Runtime> {
    let cores = std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
    let built = Builder::new_multi_thread().worker_threads(cores.div_ceil(2)).thread_name(name).enable_all().build();
    built.map_err(|error| Error::Internal(format!("no async runtime: {error}")))
}

/// Tells a server that it is to stop.
#[derive(Debug, Clone)]
pub struct Stopped(watch::Receiver<bool>);

impl Stopped {
    /// Waits until the server is to stop.
    pub async fn wait(mut self) {
        // The wait fails if the sender was dropped. That also means stop.
        let _ = self.0.wait_for(|stopped| *stopped).await;
    }
}

/// A running server. Dropping it calls [`Serving::stop`].
#[derive(Debug)]
pub struct Serving {
    address: SocketAddr,
    scheme: &'static str,
    stop: watch::Sender<bool>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

impl Serving {
    /// Runs `serve` on a thread of this name. It must return once it is stopped and the requests in flight are answered.
    pub fn start(
        name: &str,
        scheme: &'static str,
        address: SocketAddr,
        serve: impl FnOnce(Stopped) + Send + 'static,
    ) -> Result<Self> {
        let (stop, stopped) = watch::channel(false);
        let thread = std::thread::Builder::new().name(name.to_owned()).spawn(move || serve(Stopped(stopped)));
        let thread = thread.map_err(|error| Error::Internal(format!("the server's thread does not start: {error}")))?;
        Ok(Self { address, scheme, stop, thread: Mutex::new(Some(thread)) })
    }

    /// The address that the server listens on.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The base of the server's URLs.
    pub fn url(&self) -> String {
        format!("{}://{}", self.scheme, self.address)
    }

    /// Stops accepting requests and returns once the requests in flight are answered. A second call does nothing.
    pub fn stop(&self) {
        self.stop.send_replace(true);
        let thread = lock(&self.thread).take();
        if let Some(thread) = thread {
            let _ = thread.join();
        }
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        self.stop();
    }
}
