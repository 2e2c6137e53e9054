//! Tests of TLS that its owner drives, against rustls's server.

use std::io::{ErrorKind, Read, Write};
use std::mem::MaybeUninit;
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use boundary_bench_kernel::driven_stream::DrivenStream;
use boundary_bench_kernel::driver::Tokio;
use boundary_bench_kernel::stream::Stream;
use boundary_bench_kernel::testing::certificate;
use boundary_bench_kernel::tls::{Trust, server_name};
use tokio_rustls::rustls::crypto::ring::default_provider;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::rustls::{ServerConfig, ServerConnection, StreamOwned};

type Served = StreamOwned<ServerConnection, TcpStream>;

/// A stream to a server that does as `talk` says, after the handshake.
fn connected(talk: impl FnOnce(Served) + Send + 'static) -> DrivenStream {
    connected_with(2, talk)
}

/// Does as [`connected`], with a server that sends this many session tickets.
fn connected_with(tickets: usize, talk: impl FnOnce(Served) + Send + 'static) -> DrivenStream {
    let files = certificate("localhost");
    let mut config = ServerConfig::builder_with_provider(Arc::new(default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(
            vec![CertificateDer::from_pem_file(&files.certificate).unwrap()],
            PrivateKeyDer::from_pem_file(&files.key).unwrap(),
        )
        .unwrap();
    config.send_tls13_tickets = tickets;
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    thread::spawn(move || {
        let mut socket = listener.accept().unwrap().0;
        let mut connection = ServerConnection::new(Arc::new(config)).unwrap();
        connection.complete_io(&mut socket).unwrap();
        talk(StreamOwned::new(connection, socket));
    });
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build().unwrap();
    runtime.block_on(async {
        let connector = Trust::Authorities(files.certificate).connector(None).unwrap();
        let stream = Stream::connect(&Tokio, "127.0.0.1", port).await.unwrap();
        let stream = stream.encrypt(&connector, server_name("localhost").unwrap()).await.unwrap();
        stream.into_driven().unwrap()
    })
}

/// Does what does not block, again until it succeeds or fails.
fn wait<T>(mut step: impl FnMut() -> std::io::Result<T>) -> std::io::Result<T> {
    loop {
        match step() {
            Err(error) if error.kind() == ErrorKind::WouldBlock => thread::sleep(Duration::from_millis(1)),
            done => return done,
        }
    }
}

/// Reads this many bytes into room for `room` of them at a time.
fn read(stream: &mut DrivenStream, bytes: usize, room: usize) -> Vec<u8> {
    let mut all = Vec::new();
    let mut part = vec![0; room];
    while all.len() < bytes {
        let read = wait(|| stream.read(&mut part)).unwrap();
        assert!(read > 0);
        all.extend_from_slice(&part[..read]);
    }
    all
}

#[test]
fn bytes_go_both_ways_in_pieces_of_any_size() {
    let mut stream = connected(|mut served| {
        let mut bytes = vec![0; 3_000_000];
        served.read_exact(&mut bytes).unwrap();
        served.write_all(&bytes).unwrap();
        served.write_all(b"end").unwrap();
        served.flush().unwrap();
        let _ = served.read(&mut [0]);
    });
    let message: Vec<u8> = (0..3_000_000_u32).map(|at| at.to_le_bytes()[1]).collect();
    let mut sent = 0;
    while sent < message.len() || stream.has_unsent() {
        sent += wait(|| if sent < message.len() { stream.write(&message[sent..]) } else { stream.flush().map(|()| 0) })
            .unwrap();
    }
    let first = read(&mut stream, 1_000_000, 999);
    let rest = read(&mut stream, 3_000_003 - first.len(), 1 << 20);
    assert!([first, rest].concat() == [&message[..], b"end"].concat());
    assert!(stream.is_quiet() && !stream.has_input());
}

#[test]
fn an_end_within_tls_is_no_end() {
    let mut stream = connected(|mut served| {
        served.write_all(b"half").unwrap();
        served.flush().unwrap();
    });
    assert_eq!(read(&mut stream, 4, 10), b"half");
    assert_eq!(wait(|| stream.read(&mut [0; 9])).unwrap_err().kind(), ErrorKind::ConnectionAborted);
    assert!(!stream.is_quiet());

    let mut stream = connected(|mut served| {
        served.write_all(b"whole").unwrap();
        served.conn.send_close_notify();
        served.flush().unwrap();
        // The client says that it ends as well.
        assert_eq!(served.read(&mut [0]).unwrap(), 0);
    });
    assert_eq!(read(&mut stream, 5, 10), b"whole");
    assert_eq!(wait(|| stream.read(&mut [0; 9])).unwrap(), 0);
    assert!(!stream.is_quiet());
}

#[test]
fn what_follows_the_handshake_at_once_is_not_lost() {
    let mut stream = connected(|mut served| {
        served.write_all(b"first").unwrap();
        served.flush().unwrap();
        let _ = served.read(&mut [0]);
    });
    thread::sleep(Duration::from_millis(50));
    assert!(!stream.is_quiet());
    assert_eq!(read(&mut stream, 5, 2), b"first");
    assert!(stream.is_quiet());
    assert_eq!(stream.write(&[]).unwrap(), 0);
}

#[test]
fn a_read_ends_in_a_flood_of_records_without_data() {
    // rustls takes tickets of 64 KiB at a time at most, and reads 4 KiB of them at once.
    let mut stream = connected_with(700, |mut served| {
        served.write_all(b"data").unwrap();
        served.flush().unwrap();
        let _ = served.read(&mut [0]);
    });
    let mut arrived = vec![MaybeUninit::uninit(); 1 << 20];
    while stream.system_socket().peek(&mut arrived).unwrap_or(0) < 40_000 {
        thread::sleep(Duration::from_millis(1));
    }
    let mut room = [0; 10];
    assert_eq!(stream.read(&mut room).unwrap_err().kind(), ErrorKind::WouldBlock);
    let bytes = wait(|| stream.read(&mut room)).unwrap();
    assert_eq!(&room[..bytes], b"data");
}

#[test]
fn bytes_that_are_no_tls_are_an_error() {
    let mut stream = connected(|mut served| {
        served.sock.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n").unwrap();
        let _ = served.read(&mut [0]);
    });
    for _ in 0..2 {
        assert_eq!(wait(|| stream.read(&mut [0; 9])).unwrap_err().kind(), ErrorKind::InvalidData);
    }
    assert!(!stream.is_quiet());
}
