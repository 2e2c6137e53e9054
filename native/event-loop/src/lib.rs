//! The event loop of one of Node's threads as the driver of sockets and futures: requests are sent and replies received on that
//! thread itself, since going through another thread costs two wake-ups a request, which take longer than all the rest.
//!
//! Only this crate knows libuv. It knows nothing of JavaScript: who owns sockets or tasks delivers their results.

mod handles;
mod sockets;
mod task_socket;
mod tasks;
mod uv;

pub use handles::Handles;
pub use sockets::{Protocol, Socket, SocketOwner, Sockets, add};
pub use task_socket::TaskSocket;
pub use tasks::{TaskOwner, Tasks, sent, watch};
pub use uv::{CHECK, Handle, POLL, PREPARE, Watcher, is_available, panic_in_next};
