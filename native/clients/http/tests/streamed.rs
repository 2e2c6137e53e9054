//! Tests of responses that are read as streams.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::time::Duration;

use boundary_bench_http::{HttpOptions, Origin, Request, StreamedResponse, Version};
use boundary_bench_kernel::{Error, Result};

/// A server of one connection: it reads a request's head, and sends these pieces.
fn serve(pieces: Vec<Vec<u8>>) -> String {
    serve_with(move |stream| {
        for piece in &pieces {
            // The client may have closed the connection.
            let _ = stream.write_all(piece);
            std::thread::sleep(Duration::from_millis(2));
        }
    })
}

fn serve_with(talk: impl FnOnce(&mut TcpStream) + Send + 'static) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        stream.set_nodelay(true).unwrap();
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            let mut byte = [0];
            stream.read_exact(&mut byte).unwrap();
            head.push(byte[0]);
        }
        talk(&mut stream);
    });
    url
}

fn run<T>(work: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(work)
}

fn place(url: &str, options: HttpOptions) -> Origin {
    Origin::new(url.parse().unwrap(), options).unwrap()
}

/// Reads a response: the status, a header, and the body.
async fn read(url: &str, options: HttpOptions) -> Result<(u16, String, Vec<u8>)> {
    let mut response = StreamedResponse::open(&place(url, options), &Request::get("/")).await?;
    let mut body = Vec::new();
    while let Some(piece) = response.next_piece().await? {
        assert!(!piece.is_empty());
        body.extend_from_slice(piece);
    }
    assert!(response.next_piece().await?.is_none());
    Ok((response.status(), String::from_utf8_lossy(response.head()).into_owned(), body))
}

#[test]
fn a_thousand_interim_responses_may_come_before_the_head() {
    let answer = |count| [b"HTTP/1.1 102 Processing\r\n\r\n".repeat(count), b"HTTP/1.1 204 No\r\n\r\n".to_vec()];
    assert_eq!(run(read(&serve(answer(1000).into()), HttpOptions::default())).unwrap().0, 204);
    let error = run(read(&serve(answer(1001).into()), HttpOptions::default())).unwrap_err();
    assert!(error.to_string().contains("more than 1000 interim responses"), "{error}");
}

#[test]
fn bodies_come_whole_however_they_are_framed_and_cut() {
    let large = vec![b'x'; 1_000_000];
    let chunk = [format!("{:x}\r\n", large.len()).as_bytes(), &large, b"\r\n0\r\n\r\n"].concat();
    for (said, status, body) in [
        (
            vec![b"HTTP/1.1 200 OK\r\na: b\r\ncontent-le".to_vec(), b"ngth: 5\r\n\r\nab".to_vec(), b"cde".to_vec()],
            200,
            b"abcde".to_vec(),
        ),
        (
            vec![b"HTTP/1.1 103 Early\r\n\r\nHTTP/1.1 404 No\r\na: b\r\n\r\nuntil ".to_vec(), b"the end".to_vec()],
            404,
            b"until the end".to_vec(),
        ),
        (
            vec![
                b"HTTP/1.1 200 OK\r\na: b\r\ntransfer-encoding: chunked\r\n\r\n3\r\nab".to_vec(),
                b"c\r\n1".to_vec(),
                b"\r\nd\r\n0\r\nt: v\r\n\r\n".to_vec(),
            ],
            200,
            b"abcd".to_vec(),
        ),
        (vec![b"HTTP/1.1 200 OK\r\na: b\r\ntransfer-encoding: chunked\r\n\r\n".to_vec(), chunk], 200, large),
        (vec![b"HTTP/1.1 204 Nothing\r\na: b\r\n\r\n".to_vec()], 204, Vec::new()),
    ] {
        let (found, head, read) = run(read(&serve(said), HttpOptions::default())).unwrap();
        assert_eq!((found, head.contains("a: b"), read.len()), (status, true, body.len()));
        assert!(read == body);
    }
}

#[test]
fn a_piece_comes_before_the_server_sends_the_next_one() {
    for (head, parts) in [
        ("content-length: 6", ["abc", "def"]),
        ("transfer-encoding: chunked", ["3\r\nabc\r\n", "3\r\ndef\r\n0\r\n\r\n"]),
        ("a: b", ["abc", "def"]),
    ] {
        let (go, goes) = std::sync::mpsc::channel();
        let url = serve_with(move |stream| {
            let [first, second] = parts;
            stream.write_all(format!("HTTP/1.1 200 OK\r\n{head}\r\n\r\n{first}").as_bytes()).unwrap();
            goes.recv().unwrap();
            stream.write_all(second.as_bytes()).unwrap();
        });
        run(async {
            let options = HttpOptions { timeout: Some(Duration::from_secs(5)), ..HttpOptions::default() };
            let mut response = StreamedResponse::open(&place(&url, options), &Request::get("/")).await.unwrap();
            let mut read = Vec::new();
            while read.len() < 3 {
                read.extend_from_slice(response.next_piece().await.unwrap().unwrap());
            }
            assert_eq!(read, b"abc");
            go.send(()).unwrap();
            while let Some(piece) = response.next_piece().await.unwrap() {
                read.extend_from_slice(piece);
            }
            assert_eq!(read, b"abcdef");
        });
    }
}

#[test]
fn a_body_may_be_larger_than_a_whole_one_may() {
    let body = vec![b'x'; 300_000];
    let said = [format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n", body.len()).as_bytes(), &body].concat();
    let options = HttpOptions { most_bytes: 1000, ..HttpOptions::default() };
    assert_eq!(run(read(&serve(vec![said]), options)).unwrap().2.len(), body.len());
}

#[test]
fn what_ends_early_or_is_no_answer_is_an_error() {
    for (said, code) in [
        ("HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nabc", "BB_CONNECTION"),
        ("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\nabc", "BB_CONNECTION"),
        ("HTTP/1.1 200", "BB_CONNECTION"),
        ("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nx\r\n", "BB_ENGINE"),
        ("SSH-2.0\r\n\r\n", "BB_ENGINE"),
        ("HTTP/1.1 101 x\r\n\r\n", "BB_ENGINE"),
    ] {
        let error = run(read(&serve(vec![said.into()]), HttpOptions::default())).unwrap_err();
        assert_eq!(error.code(), code, "{said:?}: {error}");
    }
    let refused = run(read("http://127.0.0.1:1", HttpOptions::default())).unwrap_err();
    assert!(refused.to_string().contains("can't connect"), "{refused}");
    let http2 = HttpOptions { version: Version::Http2, ..HttpOptions::default() };
    assert!(matches!(run(read("http://127.0.0.1:1", http2)), Err(Error::Unsupported(_))));
}

#[test]
fn a_server_that_stops_talking_is_a_timeout() {
    let url = serve_with(|stream| {
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nab");
        // The connection stays open until the client closes it.
        let _ = stream.read(&mut [0; 1]);
    });
    let options = HttpOptions { timeout: Some(Duration::from_millis(100)), ..HttpOptions::default() };
    assert_eq!(run(read(&url, options)).unwrap_err().code(), "BB_TIMEOUT");
}

#[test]
fn a_response_is_read_while_the_request_is_sent() {
    const BYTES: usize = 16 << 20;
    // The server sends more than the buffers of the sockets hold before it reads the body, as one does that answers while it reads.
    let url = serve_with(|stream| {
        write!(stream, "HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n", BYTES + 1).unwrap();
        stream.write_all(&vec![b'x'; BYTES]).unwrap();
        stream.read_exact(&mut vec![0; BYTES]).unwrap();
        stream.write_all(b"y").unwrap();
    });
    let read = run(async {
        let body = vec![b'z'; BYTES];
        let options = HttpOptions { timeout: Some(Duration::from_secs(20)), ..HttpOptions::default() };
        let mut response = StreamedResponse::open(&place(&url, options), &Request::post("/", &body)).await?;
        let (mut bytes, mut last) = (0, 0);
        while let Some(piece) = response.next_piece().await? {
            bytes += piece.len();
            last = piece[piece.len() - 1];
        }
        Result::Ok((bytes, last))
    });
    assert_eq!(read.unwrap(), (BYTES + 1, b'y'));
}

#[test]
fn an_answer_before_the_end_of_the_request_is_read() {
    let url = serve_with(|stream| {
        stream.write_all(b"HTTP/1.1 413 Too Large\r\ncontent-length: 2\r\nconnection: close\r\n\r\nno").unwrap();
        stream.shutdown(std::net::Shutdown::Write).unwrap();
        // The rest is read, so that the system does not reset the connection with the answer on its way.
        let _ = stream.read_to_end(&mut Vec::new());
    });
    let status = run(async {
        let body = vec![b'z'; 8 << 20];
        let mut response =
            StreamedResponse::open(&place(&url, HttpOptions::default()), &Request::post("/", &body)).await?;
        assert_eq!(response.next_piece().await?, Some(&b"no"[..]));
        Result::Ok(response.status())
    });
    assert_eq!(status.unwrap(), 413);
}
