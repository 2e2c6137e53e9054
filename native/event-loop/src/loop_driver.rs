//! The event loop of the calling thread as a client's driver.

use std::io;

use boundary_bench_kernel::driver::{Driver, Socket, Task};
use tokio::task::spawn_local;

use crate::tasks::{sent, watch};

/// The driver of futures that are tasks of this thread's event loop, for sockets that no other thread uses.
#[derive(Debug)]
pub struct LoopDriver;

impl Driver for LoopDriver {
    fn drive(&self, socket: Box<dyn Socket>) -> io::Result<Box<dyn Socket>> {
        Ok(Box::new(watch(socket.into_std()?)?))
    }

    fn spawn(&self, task: Task) {
        drop(spawn_local(task));
    }

    fn sent(&self) -> Task {
        Box::pin(sent())
    }
}
