//! The other side of a connection that says what an input holds.

use std::io::Write;
use std::os::unix::net::UnixStream as Socket;

use tokio::io::AsyncWriteExt;
use tokio::net::UnixStream;
use tokio::runtime::{Builder, Runtime};

thread_local! {
    static RUNTIME: Runtime = Builder::new_current_thread().enable_all().build().expect("a runtime");
}

/// Runs what talks to the other side of a socket, which says these pieces and ends then.
pub(crate) fn hear<T, F: Future<Output = T>>(pieces: &[&[u8]], talk: impl FnOnce(Socket) -> F) -> T {
    RUNTIME.with(|runtime| {
        runtime.block_on(async {
            let (ours, theirs) = Socket::pair().expect("two sockets");
            theirs.set_nonblocking(true).expect("a socket that does not block");
            let mut theirs = UnixStream::from_std(theirs).expect("a socket of the runtime");
            let say = async {
                for piece in pieces {
                    // One that has heard enough is gone.
                    if theirs.write_all(piece).await.is_err() {
                        break;
                    }
                    tokio::task::yield_now().await;
                }
                let _ = theirs.shutdown().await;
                std::future::pending::<()>().await;
            };
            let heard = talk(ours);
            tokio::pin!(say, heard);
            std::future::poll_fn(|context| {
                let _: std::task::Poll<()> = say.as_mut().poll(context);
                heard.as_mut().poll(context)
            })
            .await
        })
    })
}

/// A socket whose other side has said these bytes and is gone. They must fit what the system keeps for a socket.
pub(crate) fn saying(bytes: &[u8]) -> Socket {
    let (ours, mut theirs) = Socket::pair().expect("two sockets");
    theirs.write_all(bytes).expect("room for the bytes");
    ours
}
