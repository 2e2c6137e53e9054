//! The event loop of one of a runtime's threads as the driver of sockets and futures. Requests are sent and replies received on that
//! thread itself. Going through another thread would cost two wake-ups per request, and they take longer than all the rest.
//!
//! In Node the loop is libuv's. A runtime that does not share its loop gets one of ours next to it. Our loop pays one wake-up per turn.
//!
//! Only this crate knows libuv. It knows nothing of JavaScript: who owns sockets or tasks delivers their results.

mod handle;
mod handles;
mod loop_driver;
mod polled;
mod poller;
mod socket_number;
mod sockets;
mod task_socket;
mod tasks;
mod uv;
mod watcher;

pub use handle::{EventLoop, Handle};
pub use handles::Handles;
pub use loop_driver::LoopDriver;
pub use polled::PolledLoop;
pub use sockets::{Protocol, Socket, SocketOwner, Sockets, add};
pub use task_socket::TaskSocket;
pub use tasks::{TaskOwner, Tasks, watch};
pub use uv::{LibuvLoop, exports_libuv};
pub use watcher::{Phase, READABLE, WRITABLE, Watcher, panic_in_next};
