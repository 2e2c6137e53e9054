//! HTTP/2 peers that are half gone, which do not answer and whose connection is not closed; and peers that are alive.

use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use boundary_bench_server::{FlightOptions, Limits, Options, Server};
use boundary_bench_shards::{ShardOptions, ShardServer};

/// The first bytes of a client: its preface, and settings that change nothing.
const BEGIN: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0";

/// A ping frame.
const PING: &[u8] = b"\0\0\x08\x06\0\0\0\0\0ping-pon";

/// Bytes of a frame's head, and the places of its type and its flags.
const HEAD: usize = 9;
const KIND: usize = 3;
const FLAGS: usize = 4;

/// The flag of the reply to a ping.
const ACKNOWLEDGED: u8 = 1;

/// The methods of requests, by their numbers in HPACK.
const GET: u8 = 0x82;
const POST: u8 = 0x83;

/// The flags of a HEADERS frame: the header is complete, and the request has no body.
const WHOLE: u8 = 4;
const NO_BODY: u8 = 1;

/// A HEADERS frame of a request on stream 1, in HPACK without compression.
fn request(method: u8, path: &str, flags: u8) -> Vec<u8> {
    let mut header = vec![method, 0x86];
    let mut literal = |name: &[u8], value: &str| {
        header.extend_from_slice(name);
        header.push(u8::try_from(value.len()).unwrap());
        header.extend_from_slice(value.as_bytes());
    };
    literal(&[0x04], path);
    literal(&[0x01], "test");
    // The name is entry 31 of HPACK's static table.
    literal(&[0x0f, 0x10], "application/grpc");
    literal(b"\0\x02te", "trailers");
    let length = u32::try_from(header.len()).unwrap().to_be_bytes();
    [&length[1..], &[1, flags, 0, 0, 0, 1], &header[..]].concat()
}

/// The header of a gRPC call, without a message.
fn call(path: &str) -> Vec<u8> {
    request(POST, path, WHOLE)
}

/// A Flight SQL server and a shard, which send pings often and have no other time-out.
fn servers(keep_alive: Duration) -> (Server, ShardServer) {
    let long = Duration::from_secs(3600);
    let limits = Limits { keep_alive, idle_time: long, stall_time: long, ..Limits::default() };
    let listen = "127.0.0.1:0".parse().unwrap();
    let options = Options { flight: Some(FlightOptions::default()), listen, limits, ..Options::default() };
    let mut shard = ShardOptions::default();
    shard.limits.keep_alive = keep_alive;
    shard.limits.stall_time = long;
    (Server::start(&options).unwrap(), ShardServer::start(&shard).unwrap())
}

fn connect(address: SocketAddr) -> TcpStream {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_nodelay(true).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    stream.write_all(BEGIN).unwrap();
    stream
}

/// Reads frames until a ping with these flags; returns the ping.
fn read_ping(stream: &mut TcpStream, flags: u8) -> std::io::Result<Vec<u8>> {
    loop {
        let mut frame = vec![0; HEAD];
        stream.read_exact(&mut frame)?;
        let length = u32::from_be_bytes([0, frame[0], frame[1], frame[2]]);
        stream.take(length.into()).read_to_end(&mut frame)?;
        if frame[KIND] == PING[KIND] && frame[FLAGS] == flags {
            return Ok(frame);
        }
    }
}

/// Whether the server ends the connection.
fn is_ended(stream: &mut TcpStream) -> bool {
    match std::io::copy(stream, &mut std::io::sink()) {
        Ok(_) => true,
        Err(error) => error.kind() == ErrorKind::ConnectionReset,
    }
}

#[test]
fn half_open_peers_are_let_go_with_their_calls() {
    let (flight, shard) = servers(Duration::from_millis(300));
    for (address, path) in [
        (flight.address(), "/arrow.flight.protocol.FlightService/DoPut"),
        (shard.address(), "/boundary_bench.shards.v1.ShardService/Populate"),
    ] {
        let mut stream = connect(address);
        stream.write_all(&call(path)).unwrap();
        // The client never replies to the server's ping.
        assert!(is_ended(&mut stream), "{path} is held for ever");
    }
}

#[test]
fn peers_that_answer_keep_their_calls() {
    let keep_alive = Duration::from_secs(1);
    let (flight, shard) = servers(keep_alive);
    for (address, path) in [
        (flight.address(), "/arrow.flight.protocol.FlightService/DoPut"),
        (shard.address(), "/boundary_bench.shards.v1.ShardService/Populate"),
    ] {
        let mut stream = connect(address);
        stream.write_all(&call(path)).unwrap();
        let began = Instant::now();
        // The connection lives longer than that of a client that does not reply.
        while began.elapsed() < keep_alive * 3 {
            let mut ping = read_ping(&mut stream, 0).unwrap();
            ping[FLAGS] = ACKNOWLEDGED;
            stream.write_all(&ping).unwrap();
        }
        stream.write_all(PING).unwrap();
        read_ping(&mut stream, ACKNOWLEDGED).unwrap();
    }
}

#[test]
fn pings_do_not_keep_a_connection_that_is_not_used() {
    let limits = Limits { idle_time: Duration::from_millis(500), ..Limits::default() };
    let listen = "127.0.0.1:0".parse().unwrap();
    let server = Server::start(&Options { listen, limits, ..Options::default() }).unwrap();
    let mut stream = connect(server.address());
    stream.write_all(&request(GET, "/0.1.0/ping", WHOLE | NO_BODY)).unwrap();
    let began = Instant::now();
    let mut is_ended = false;
    while !is_ended && began.elapsed() < Duration::from_secs(60) {
        std::thread::sleep(Duration::from_millis(50));
        is_ended = stream.write_all(PING).and_then(|()| read_ping(&mut stream, ACKNOWLEDGED)).is_err();
    }
    assert!(is_ended, "a connection that only pings is kept for ever");
}
