//! The peer of a connection. It sends the bytes of an input.

use std::io::Write;
use std::os::unix::net::UnixStream as Socket;

use tokio::io::AsyncWriteExt;
use tokio::net::UnixStream;
use tokio::runtime::{Builder, Runtime};

thread_local! {
    static RUNTIME: Runtime = Builder::new_current_thread().enable_all().build().expect("a runtime");
}

/// Runs `talk` with a socket whose peer sends these pieces and then ends its sending.
pub(crate) fn hear<T, F: Future<Output = T>>(pieces: &[&[u8]], talk: impl FnOnce(Socket) -> F) -> T {
    RUNTIME.with(|runtime| {
        runtime.block_on(async {
            let (ours, theirs) = Socket::pair().expect("two sockets");
            theirs.set_nonblocking(true).expect("a socket that does not block");
            let mut theirs = UnixStream::from_std(theirs).expect("a socket of the runtime");
            let say = async {
                for piece in pieces {
                    // Fails once the reader has closed its socket.
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

/// A socket whose peer has sent these bytes and closed. The bytes must fit the system's buffer of a socket.
pub(crate) fn saying(bytes: &[u8]) -> Socket {
    let (ours, mut theirs) = Socket::pair().expect("two sockets");
    theirs.write_all(bytes).expect("room for the bytes");
    ours
}
