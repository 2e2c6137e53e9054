//! The wire protocol against servers that announce bytes they never send, send too much, or send nothing at all.

use std::net::{TcpListener, TcpStream};

use boundary_bench_kernel::resources::{peak_rss, reset_peak_rss};
use boundary_bench_kernel::socket::KEEP_ALIVE_IDLE;
use socket2::SockRef;

use super::*;

/// Maximum growth of this process's memory during a test, in bytes: room for the tests, not for what a server
/// announces.
const LITTLE: u64 = 300 << 20;

/// A message of the server.
fn message(kind: u8, body: &[u8]) -> Vec<u8> {
    let length = u32::try_from(body.len() + 4).unwrap();
    [&[kind], &length.to_be_bytes()[..], body].concat()
}

/// A server that accepts every login and answers the first statement with `answer`.
fn serve(answer: Vec<u8>) -> Address {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let answer = answer.clone();
            std::thread::spawn(move || {
                hear(&mut stream);
                let parts = [message(b'R', &[0; 4]), message(b'K', &[0; 8]), message(b'Z', b"I")];
                stream.write_all(&parts.concat()).unwrap();
                if hear(&mut stream) {
                    let _ = stream.write_all(&answer);
                }
                // The rest of an announced message is never sent.
                let _ = stream.shutdown(std::net::Shutdown::Write);
                while hear(&mut stream) {}
            });
        }
    });
    Address::Tcp("127.0.0.1".to_owned(), port)
}

fn hear(stream: &mut TcpStream) -> bool {
    stream.read(&mut [0; 4096]).is_ok_and(|bytes| bytes > 0)
}

fn login(most_bytes: usize) -> Login {
    Login { user: DEFAULT_USER.to_owned(), password: None, most_bytes, socket_buffer: None }
}

/// The beginning of a message whose header announces the maximum length.
fn announced(kind: u8) -> Vec<u8> {
    [&[kind], &u32::MAX.to_be_bytes()[..], b"abc"].concat()
}

#[test]
fn what_is_announced_takes_no_memory_before_it_comes() {
    for kind in [b'D', b'd', b'T'] {
        let mut connection = Connection::open(&serve(announced(kind)), &login(usize::MAX), None).unwrap();
        assert!(reset_peak_rss());
        let before = peak_rss().unwrap();
        let error = Error::from(connection.rows("SELECT 1").unwrap_err());
        assert!(error.to_string().contains("the connection is lost"), "{error}");
        assert!(peak_rss().unwrap() < before + LITTLE);
    }
}

#[test]
fn a_message_beyond_the_limit_is_refused_and_its_connection_closed() {
    for kind in [b'D', b'd', b'T'] {
        let mut connection = Connection::open(&serve(announced(kind)), &login(1 << 20), None).unwrap();
        let error = Error::from(connection.rows("SELECT 1").unwrap_err());
        assert_eq!(error.code(), "BB_TOO_LARGE", "{error}");
        assert!(connection.status().is_none() && !connection.is_reusable());
    }
    let mut connection = Connection::open(&serve(announced(b'D')), &login(1 << 20), None).unwrap();
    connection.send_query("SELECT 1").unwrap();
    assert_eq!(connection.receive_rows(|_| Ok(Rows::More)).err().unwrap().code(), "BB_TOO_LARGE");
    assert!(connection.status().is_none());
}

#[test]
fn a_long_message_arrives_whole() {
    let data: Vec<u8> = (0..40_u32 << 20).map(|index| index.to_le_bytes()[0]).collect();
    let answer = [message(b'd', &data), message(b'C', b"COPY\0"), message(b'Z', b"I")].concat();
    let mut connection = Connection::open(&serve(answer), &login(64 << 20), None).unwrap();
    connection.send_query("COPY").unwrap();
    let Message::CopyData(came) = connection.receive().unwrap() else { panic!() };
    assert!(came.as_slice() == data);
    connection.finish().unwrap();
    assert_eq!(connection.status(), Some(Status::Idle));
}

#[test]
fn a_server_that_accepts_and_says_nothing_is_given_up() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = Address::Tcp("127.0.0.1".to_owned(), listener.local_addr().unwrap().port());
    assert!(Connection::open(&address, &login(1 << 20), None).is_err());
}

#[test]
fn every_connection_is_asked_whether_its_server_is_there() {
    let connected = Socket::connect(&serve(Vec::new())).unwrap();
    let socket = SockRef::from(&connected.stream);
    assert!(socket.keepalive().unwrap());
    assert_eq!(socket.tcp_keepalive_time().unwrap(), KEEP_ALIVE_IDLE);
}
