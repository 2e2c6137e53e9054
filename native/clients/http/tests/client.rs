//! Tests of the client against servers that behave as badly as real ones can.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::time::{Duration, Instant};

use boundary_bench_http::{HttpClient, HttpOptions, Origin, Request};
use boundary_bench_kernel::socket::KEEP_ALIVE_IDLE;
use boundary_bench_kernel::{Error, Result};
use socket2::SockRef;
use tokio::sync::Notify;

/// A server that gives each connection, with its number, to `talk` on a thread of its own. It lives as long as the
/// test.
fn serve(talk: impl Fn(TcpStream, usize) + Send + Sync + 'static) -> (String, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let (talk, connections) = (Arc::new(talk), Arc::new(AtomicUsize::new(0)));
    let counted = Arc::clone(&connections);
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let number = counted.fetch_add(1, Ordering::SeqCst);
            let talk = Arc::clone(&talk);
            // Without this, the responses to pipelined requests would wait for each other's acknowledgement.
            stream.set_nodelay(true).unwrap();
            std::thread::spawn(move || talk(stream, number));
        }
    });
    (url, connections)
}

/// Reads one request without a body. Returns `None` at the end.
fn read_head(stream: &mut TcpStream) -> Option<String> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        if stream.read(&mut byte).ok()? == 0 {
            return None;
        }
        head.push(byte[0]);
    }
    String::from_utf8(head).ok()
}

fn answer(stream: &mut TcpStream, body: &str) {
    let _ = write!(stream, "HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n{body}", body.len());
}

/// Answers every request with its path.
fn echo(mut stream: TcpStream) {
    while let Some(head) = read_head(&mut stream) {
        answer(&mut stream, head.split(' ').nth(1).unwrap_or_default());
    }
}

fn client(url: &str, options: HttpOptions) -> HttpClient {
    HttpClient::new(Arc::new(Origin::new(url.parse().unwrap(), options).unwrap()))
}

fn run<T>(work: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(work)
}

async fn get(client: &mut HttpClient, path: &str) -> Result<(u16, String)> {
    let read = |response: boundary_bench_http::Response<'_>| {
        Ok((response.status, String::from_utf8_lossy(response.body).into_owned()))
    };
    client.call(&Request::get(path), read).await
}

/// The responses to requests for these paths, in their order.
async fn batch(client: &mut HttpClient, paths: &[&str]) -> Vec<std::result::Result<String, Error>> {
    let requests = paths.iter().map(|path| Request::get(path)).collect::<Vec<_>>();
    let mut answers = vec![None; paths.len()];
    client
        .batch(&requests, |index, answer| {
            assert!(answers[index].is_none(), "answered twice");
            let text = answer.map(|response| String::from_utf8_lossy(response.body).into_owned());
            answers[index] = Some(text.map_err(Clone::clone));
        })
        .await;
    answers.into_iter().map(Option::unwrap).collect()
}

#[test]
fn connections_are_kept_and_shared_by_a_batch() {
    for (connections, pipelining) in [(1, 1), (4, 1), (1, 8), (3, 5)] {
        let (url, opened) = serve(|stream, _| echo(stream));
        let mut client = client(&url, HttpOptions { connections, pipelining, ..HttpOptions::default() });
        let paths = (0..50).map(|index| format!("/{index}")).collect::<Vec<_>>();
        let paths = paths.iter().map(String::as_str).collect::<Vec<_>>();
        run(async {
            for _ in 0..3 {
                assert_eq!(get(&mut client, "/one").await.unwrap(), (200, "/one".to_owned()));
                let answers = batch(&mut client, &paths).await;
                assert_eq!(answers.into_iter().map(Result::unwrap).collect::<Vec<_>>(), paths);
            }
        });
        assert_eq!(opened.load(Ordering::SeqCst), connections, "{connections} x {pipelining}");
    }
}

#[test]
fn an_idle_connection_that_the_server_closed_is_opened_anew() {
    let (url, opened) = serve(|mut stream, _| {
        read_head(&mut stream);
        answer(&mut stream, "x");
        // A response to no request. Servers send it before they close an idle connection.
        let _ = stream.write_all(b"HTTP/1.1 408 Request Timeout\r\nconnection: close\r\n\r\n");
    });
    let mut client = client(&url, HttpOptions::default());
    run(async {
        for _ in 0..5 {
            assert_eq!(get(&mut client, "/").await.unwrap().0, 200);
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    });
    assert_eq!(opened.load(Ordering::SeqCst), 5);
}

#[test]
fn a_connection_that_is_cut_is_an_error_and_nothing_is_sent_twice() {
    for said in [
        "",
        "HTTP/1.1 200 OK\r\ncontent-le",
        "HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nabc",
        "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\nab",
    ] {
        let requests = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&requests);
        let (url, _) = serve(move |mut stream, number| {
            if number > 0 {
                return echo(stream);
            }
            read_head(&mut stream);
            counted.fetch_add(1, Ordering::SeqCst);
            let _ = stream.write_all(said.as_bytes());
        });
        let mut client = client(&url, HttpOptions::default());
        run(async {
            let error = get(&mut client, "/").await.unwrap_err();
            assert_eq!(error.code(), "BB_CONNECTION", "{said:?}: {error}");
            assert_eq!(get(&mut client, "/next").await.unwrap().1, "/next");
        });
        assert_eq!(requests.load(Ordering::SeqCst), 1);
    }
}

#[test]
fn of_a_batch_only_what_was_under_way_on_a_lost_connection_fails() {
    let (url, _) = serve(|mut stream, number| {
        if number == 0 {
            read_head(&mut stream);
            return;
        }
        echo(stream);
    });
    let mut client = client(&url, HttpOptions { connections: 2, ..HttpOptions::default() });
    let answers = run(batch(&mut client, &["/a", "/b", "/c", "/d", "/e"]));
    let failed = answers.iter().filter(|answer| answer.is_err()).count();
    assert_eq!(failed, 1, "{answers:?}");
}

#[test]
fn a_server_that_closes_after_each_answer_answers_all() {
    let (url, opened) = serve(|mut stream, _| {
        if let Some(head) = read_head(&mut stream) {
            let path = head.split(' ').nth(1).unwrap().to_owned();
            let _ = write!(stream, "HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n{path}");
        }
    });
    let mut client = client(&url, HttpOptions { connections: 3, ..HttpOptions::default() });
    let answers = run(batch(&mut client, &["/a", "/b", "/c", "/d", "/e", "/f", "/g"]));
    assert_eq!(answers.into_iter().map(Result::unwrap).collect::<String>(), "/a/b/c/d/e/f/g");
    assert_eq!(opened.load(Ordering::SeqCst), 7);
}

#[test]
fn a_slow_server_is_a_timeout_and_its_late_answer_is_nobodys() {
    const TIMEOUT: Duration = Duration::from_secs(1);
    let (given_up, until_given_up) = mpsc::channel();
    let until_given_up = Mutex::new(until_given_up);
    let (url, opened) = serve(move |mut stream, number| {
        read_head(&mut stream);
        if number == 0 {
            until_given_up.lock().unwrap().recv().unwrap();
            answer(&mut stream, "late");
        } else {
            answer(&mut stream, "in time");
            echo(stream);
        }
    });
    let mut client = client(&url, HttpOptions { timeout: Some(TIMEOUT), ..HttpOptions::default() });
    run(async {
        let began = Instant::now();
        assert_eq!(get(&mut client, "/").await.unwrap_err().code(), "BB_TIMEOUT");
        assert!(began.elapsed() >= TIMEOUT);
        given_up.send(()).unwrap();
        tokio::time::sleep(Duration::from_millis(50)).await;
        assert_eq!(get(&mut client, "/").await.unwrap().1, "in time");
    });
    assert_eq!(opened.load(Ordering::SeqCst), 2);
}

#[test]
fn a_server_that_takes_no_more_may_still_answer() {
    let (url, _) = serve(|mut stream, _| {
        read_head(&mut stream);
        answer(&mut stream, "enough");
        let _ = stream.shutdown(Shutdown::Write);
        // The rest of the body is left unread for a while: closing at once would reset the connection and discard the
        // response.
        std::thread::sleep(Duration::from_millis(300));
    });
    let mut client = client(&url, HttpOptions::default());
    let body = vec![b'x'; 32 << 20];
    let answered = run(client.call(&Request::post("/", &body), |response| Ok(response.body.to_vec())));
    assert_eq!(answered.unwrap(), b"enough");
}

#[test]
fn malformed_and_huge_answers_are_errors() {
    for (said, code) in [
        ("nonsense\r\n\r\n", "BB_ENGINE"),
        ("HTTP/1.1 200 OK\r\ncontent-length: x\r\n\r\n", "BB_ENGINE"),
        ("HTTP/1.1 200 OK\r\ncontent-length: 2000\r\n\r\n", "BB_TOO_LARGE"),
    ] {
        let (url, _) = serve(move |mut stream, _| {
            read_head(&mut stream);
            let _ = stream.write_all(said.as_bytes());
            let _ = stream.read(&mut [0]);
        });
        let mut client = client(&url, HttpOptions { most_bytes: 1000, ..HttpOptions::default() });
        assert_eq!(run(get(&mut client, "/")).unwrap_err().code(), code, "{said}");
    }
}

#[test]
fn a_body_without_end_is_refused_and_its_connection_closed() {
    for first in ["HTTP/1.1 200 OK\r\n\r\n", "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n"] {
        let (url, opened) = serve(move |mut stream, number| {
            if number > 0 {
                return echo(stream);
            }
            read_head(&mut stream);
            let _ = stream.write_all(first.as_bytes());
            while stream.write_all(b"4\r\nabcd\r\n").is_ok() {}
        });
        let mut client = client(&url, HttpOptions { most_bytes: 100_000, ..HttpOptions::default() });
        run(async {
            let error = get(&mut client, "/").await.unwrap_err();
            assert_eq!(error.code(), "BB_TOO_LARGE", "{error}");
            assert!(error.to_string().contains("maxResponseBytes"), "{error}");
            assert_eq!(get(&mut client, "/next").await.unwrap().1, "/next");
        });
        assert_eq!(opened.load(Ordering::SeqCst), 2);
    }
}

#[test]
fn a_server_that_accepts_and_says_nothing_is_given_up_within_the_handshake() {
    let (url, _) = serve(|mut stream, _| while stream.read(&mut [0; 4096]).is_ok_and(|bytes| bytes > 0) {});
    let mut client = client(&url.replace("http:", "https:"), HttpOptions::default());
    assert_eq!(run(get(&mut client, "/")).unwrap_err().code(), "BB_TIMEOUT");
}

#[test]
fn every_connection_is_asked_whether_its_server_is_there() {
    let (url, _) = serve(|stream, _| echo(stream));
    let place = Origin::new(url.parse().unwrap(), HttpOptions::default()).unwrap();
    let socket = run(place.open_driven()).unwrap();
    let socket = socket.system_socket();
    assert!(socket.keepalive().unwrap());
    assert_eq!(socket.tcp_keepalive_time().unwrap(), KEEP_ALIVE_IDLE);
}

#[test]
fn no_server_is_an_error_that_says_so() {
    let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let mut client = client(&format!("http://{free}"), HttpOptions::default());
    let error = run(get(&mut client, "/")).unwrap_err();
    assert_eq!(error.code(), "BB_CONNECTION");
    assert!(error.to_string().contains("does the server run"), "{error}");
    let answers = run(batch(&mut client, &["/a", "no", "/b"]));
    assert_eq!(answers[1].as_ref().unwrap_err().code(), "BB_INVALID_ARGUMENT");
    assert_eq!(answers[2].as_ref().unwrap_err().code(), "BB_CONNECTION");
}

#[test]
fn a_call_that_is_dropped_leaves_nothing_behind() {
    let arrival = Arc::new(Notify::new());
    let (dropped, until_dropped) = mpsc::channel();
    let (arrived, until_dropped) = (Arc::clone(&arrival), Mutex::new(until_dropped));
    let (url, opened) = serve(move |mut stream, number| {
        if number == 0 {
            read_head(&mut stream);
            arrived.notify_one();
            until_dropped.lock().unwrap().recv().unwrap();
            return answer(&mut stream, "to nobody");
        }
        echo(stream);
    });
    let mut client = client(&url, HttpOptions::default());
    run(async {
        tokio::select! {
            () = arrival.notified() => {}
            answered = get(&mut client, "/first") => panic!("it is not answered yet: {answered:?}"),
        }
        dropped.send(()).unwrap();
        tokio::time::sleep(Duration::from_millis(50)).await;
        assert_eq!(get(&mut client, "/second").await.unwrap().1, "/second");
    });
    assert_eq!(opened.load(Ordering::SeqCst), 2);
}

/// Answers a request whose body it leaves unread, and resets the connection.
fn answer_early(mut stream: TcpStream, response: &[u8]) {
    read_head(&mut stream);
    let _ = stream.write_all(response);
    SockRef::from(&stream).set_linger(Some(Duration::ZERO)).unwrap();
}

#[test]
fn a_body_that_ends_with_a_reset_is_not_taken_for_a_whole_one() {
    let body = vec![0; 64 << 20];
    for request in [Request::get("/"), Request::post("/", &body)] {
        let (url, _) = serve(|stream, _| answer_early(stream, b"HTTP/1.1 200 OK\r\n\r\nabc"));
        let mut client = client(&url, HttpOptions::default());
        let result = run(client.call(&request, |response| Ok(response.body.to_vec())));
        assert_eq!(result.unwrap_err().code(), "BB_CONNECTION");
    }
}

#[test]
fn a_whole_response_before_a_reset_is_taken() {
    let body = vec![0; 64 << 20];
    let (url, _) = serve(|stream, _| answer_early(stream, b"HTTP/1.1 413 no\r\ncontent-length: 3\r\n\r\nabc"));
    let mut client = client(&url, HttpOptions::default());
    let result = run(client.call(&Request::post("/", &body), |response| Ok((response.status, response.body.to_vec()))));
    assert_eq!(result.unwrap(), (413, b"abc".to_vec()));
}
