//! Tests of HTTP/2 against servers that refuse requests, end connections, or speak something else.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use boundary_bench_http::{HttpClient, HttpOptions, Origin, Request, Version};
use boundary_bench_kernel::testing::certificate;
use boundary_bench_kernel::tls::Trust;
use boundary_bench_kernel::{Error, Result};
use bytes::Bytes;
use h2::Reason;

/// Types of frames.
const HEADERS: u8 = 1;
const RST_STREAM: u8 = 3;
const SETTINGS: u8 = 4;
const GOAWAY: u8 = 7;

fn client(url: &str, options: HttpOptions) -> HttpClient {
    let options = HttpOptions { version: Version::Http2, timeout: Some(Duration::from_secs(20)), ..options };
    HttpClient::new(Arc::new(Origin::new(url.parse().unwrap(), options).unwrap()))
}

/// The bodies of the responses to `count` requests, in their order.
async fn burst(client: &mut HttpClient, count: usize) -> Vec<std::result::Result<String, Error>> {
    let paths = (0..count).map(|index| format!("/{index}")).collect::<Vec<_>>();
    let requests = paths.iter().map(|path| Request::get(path)).collect::<Vec<_>>();
    let mut answers = vec![None; count];
    client
        .batch(&requests, |index, answer| {
            assert!(answers[index].is_none(), "answered twice");
            let text = answer.map(|response| String::from_utf8_lossy(response.body).into_owned());
            answers[index] = Some(text.map_err(Clone::clone));
        })
        .await;
    answers.into_iter().map(Option::unwrap).collect()
}

async fn get(client: &mut HttpClient) -> Result<u16> {
    client.call(&Request::get("/"), |response| Ok(response.status)).await
}

/// The record of a server of h2: the requests that it executed and reset.
#[derive(Default)]
struct Done {
    executed: Mutex<Vec<String>>,
    /// The requests that were refused, or whose stream was reset.
    reset: AtomicUsize,
}

/// A server that takes `most` streams at a time, and answers each after a while with its path, unless `reset` gives a reason for the
/// n-th request.
async fn serve(most: u32, reset: impl Fn(usize) -> Option<Reason> + Send + Sync + 'static) -> (String, Arc<Done>) {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let (done, reset) = (Arc::<Done>::default(), Arc::new(reset));
    let known = Arc::clone(&done);
    tokio::spawn(async move {
        let count = Arc::new(AtomicUsize::new(0));
        loop {
            let (stream, _) = listener.accept().await.unwrap();
            let (done, reset, count) = (Arc::clone(&known), Arc::clone(&reset), Arc::clone(&count));
            tokio::spawn(async move {
                let mut builder = h2::server::Builder::new();
                builder.max_concurrent_streams(most);
                let mut connection = builder.handshake::<_, Bytes>(stream).await.unwrap();
                while let Some(Ok((request, mut respond))) = connection.accept().await {
                    if let Some(reason) = reset(count.fetch_add(1, Ordering::SeqCst)) {
                        done.reset.fetch_add(1, Ordering::SeqCst);
                        respond.send_reset(reason);
                        continue;
                    }
                    let done = Arc::clone(&done);
                    tokio::spawn(async move {
                        tokio::time::sleep(Duration::from_millis(2)).await;
                        let path = request.uri().path().to_owned();
                        let mut body = respond.send_response(hyper::Response::new(()), false).unwrap();
                        done.executed.lock().unwrap().push(path.clone());
                        let _ = body.send_data(path.into(), true);
                    });
                }
            });
        }
    });
    (url, done)
}

fn all_of(answers: Vec<std::result::Result<String, Error>>) {
    let expected = (0..answers.len()).map(|index| format!("/{index}")).collect::<Vec<_>>();
    assert_eq!(answers.into_iter().map(std::result::Result::unwrap).collect::<Vec<_>>(), expected);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_burst_keeps_to_the_streams_that_the_server_takes() {
    for most in [1, 10, 50, 100, 128] {
        for how in ["at once", "connected", "after a request"] {
            let (url, done) = serve(most, |_| None).await;
            let mut client = client(&url, HttpOptions::default());
            match how {
                "connected" => client.connect().await.unwrap(),
                "after a request" => assert_eq!(get(&mut client).await.unwrap(), 200),
                _ => {}
            }
            done.executed.lock().unwrap().clear();
            all_of(burst(&mut client, 300).await);
            let mut executed = done.executed.lock().unwrap().clone();
            executed.sort_unstable();
            executed.dedup();
            assert_eq!((executed.len(), done.reset.load(Ordering::SeqCst)), (300, 0), "{most} {how}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refused_stream_is_sent_again_and_no_other() {
    let (url, done) = serve(1000, |index| (index % 3 == 1).then_some(Reason::REFUSED_STREAM)).await;
    all_of(burst(&mut client(&url, HttpOptions::default()), 60).await);
    assert_eq!(done.executed.lock().unwrap().len(), 60);
    assert!(done.reset.load(Ordering::SeqCst) >= 20);

    for reason in [Reason::INTERNAL_ERROR, Reason::CANCEL, Reason::ENHANCE_YOUR_CALM] {
        let (url, done) = serve(1000, move |index| (index == 0).then_some(reason)).await;
        let error = get(&mut client(&url, HttpOptions::default())).await.unwrap_err();
        assert_eq!(error.code(), "BB_CONNECTION");
        let text = error.to_string();
        assert!(text.contains(&format!("{reason:?}")) && text.contains("may have been executed or not"), "{text}");
        assert_eq!((done.executed.lock().unwrap().len(), done.reset.load(Ordering::SeqCst)), (0, 1));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_refuses_everything_is_given_up() {
    let (url, done) = serve(1000, |_| Some(Reason::REFUSED_STREAM)).await;
    let error = get(&mut client(&url, HttpOptions::default())).await.unwrap_err();
    assert_eq!((error.code(), done.reset.load(Ordering::SeqCst)), ("BB_CONNECTION", 12));
    let text = error.to_string();
    assert!(text.contains("did not execute the request") && text.contains("REFUSED_STREAM"), "{text}");
}

fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).unwrap().to_be_bytes();
    [&length[1..], &[kind, flags], &stream.to_be_bytes(), payload].concat()
}

/// A response of the status 200 without a body.
fn ok(stream: u32) -> Vec<u8> {
    frame(HEADERS, 5, stream, &[0x88])
}

fn goaway(last: u32, reason: u32) -> Vec<u8> {
    frame(GOAWAY, 0, 0, &[last.to_be_bytes(), reason.to_be_bytes()].concat())
}

/// Reads frames until a request comes, and returns its stream, or `None` at the end.
fn next_request(stream: &mut TcpStream) -> Option<u32> {
    loop {
        let mut head = [0; 9];
        stream.read_exact(&mut head).ok()?;
        let number = |at: usize| u32::from_be_bytes(*head[at..].first_chunk().unwrap());
        let mut payload = vec![0; (number(0) >> 8) as usize];
        stream.read_exact(&mut payload).ok()?;
        if head[3] == HEADERS {
            return Some(number(5));
        }
    }
}

/// A server of plain frames that sends its settings, and gives each connection, with its number, to `talk`.
fn raw(most: u32, talk: impl Fn(TcpStream, usize) + Send + Sync + 'static) -> (String, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let connections = Arc::new(AtomicUsize::new(0));
    let (counted, talk) = (Arc::clone(&connections), Arc::new(talk));
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let (number, talk) = (counted.fetch_add(1, Ordering::SeqCst), Arc::clone(&talk));
            std::thread::spawn(move || {
                stream.read_exact(&mut [0; 24]).unwrap();
                let settings = [&3_u16.to_be_bytes()[..], &most.to_be_bytes()].concat();
                stream.write_all(&frame(SETTINGS, 0, 0, &settings)).unwrap();
                talk(stream, number);
            });
        }
    });
    (url, connections)
}

fn answer_all(mut stream: TcpStream) {
    while let Some(number) = next_request(&mut stream) {
        if stream.write_all(&ok(number)).is_err() {
            return;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn of_a_connection_that_the_server_ends_only_what_it_did_not_process_is_sent_again() {
    for (reason, said) in [(0, "NO_ERROR"), (11, "ENHANCE_YOUR_CALM")] {
        for (closes, pause) in [(true, 0), (true, 30), (false, 0)] {
            let resent = Arc::new(AtomicUsize::new(0));
            let counted = Arc::clone(&resent);
            let (url, connections) = raw(100, move |mut stream, connection| {
                if connection > 0 {
                    while let Some(number) = next_request(&mut stream) {
                        counted.fetch_add(1, Ordering::SeqCst);
                        stream.write_all(&ok(number)).unwrap();
                    }
                    return;
                }
                let streams = (0..5).map(|_| next_request(&mut stream).unwrap()).collect::<Vec<_>>();
                assert_eq!(streams, [1, 3, 5, 7, 9]);
                // The third may be processed, and gets no answer.
                let last = [ok(1), goaway(5, reason)].concat();
                stream.write_all(&last).unwrap();
                std::thread::sleep(Duration::from_millis(pause));
                stream.write_all(&ok(3)).unwrap();
                if !closes {
                    std::thread::sleep(Duration::from_millis(50));
                    let _ = stream.write_all(&frame(RST_STREAM, 0, 5, &2_u32.to_be_bytes()));
                    let _ = stream.read(&mut [0; 100]);
                }
            });
            let mut client = client(&url, HttpOptions::default());
            let answers = burst(&mut client, 5).await;
            let failed = answers.iter().map(std::result::Result::is_err).collect::<Vec<_>>();
            assert_eq!(failed, [false, false, true, false, false], "{said} {closes} {pause}: {answers:?}");
            let error = answers[2].as_ref().unwrap_err();
            assert_eq!(error.code(), "BB_CONNECTION");
            assert!(error.to_string().contains("may have been executed or not"), "{error}");
            if closes {
                assert!(error.to_string().contains("GOAWAY") && error.to_string().contains(said), "{error}");
            }
            assert_eq!((connections.load(Ordering::SeqCst), resent.load(Ordering::SeqCst)), (2, 2));
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn requests_that_never_left_are_sent_over_another_connection() {
    let (url, connections) = raw(1, |mut stream, connection| {
        if connection == 0 {
            next_request(&mut stream).unwrap();
        } else {
            answer_all(stream);
        }
    });
    let mut client = client(&url, HttpOptions::default());
    client.connect().await.unwrap();
    let answers = burst(&mut client, 5).await;
    assert_eq!(answers.iter().filter(|answer| answer.is_err()).count(), 1, "{answers:?}");
    assert_eq!(answers.iter().find_map(|answer| answer.as_ref().err()).unwrap().code(), "BB_CONNECTION");
    assert_eq!(connections.load(Ordering::SeqCst), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_queue_goes_on_when_its_head_is_given_up() {
    let (url, _) = raw(1, |mut stream, _| {
        // The first request gets no answer, and is given up.
        next_request(&mut stream).unwrap();
        answer_all(stream);
    });
    let place = Arc::new(
        Origin::new(url.parse().unwrap(), HttpOptions { version: Version::Http2, ..HttpOptions::default() }).unwrap(),
    );
    let shared = Arc::new(boundary_bench_http::SharedClient::new(place, &boundary_bench_kernel::driver::Tokio));
    shared.connect().await.unwrap();
    // A submission as the addon sends it: `pool, id, count`, then a GET of `/` without headers and a body.
    let words = [0, 7, 1, 0, 1, 0, boundary_bench_http::NO_BODY];
    let submission: Vec<u8> = words.iter().flat_map(|word: &u32| word.to_ne_bytes()).chain(*b"/\0\0\0").collect();
    let call = || {
        let (shared, submission) = (Arc::clone(&shared), submission.clone());
        async move { shared.run(&submission).await.unwrap() }
    };
    let head = tokio::spawn(call());
    tokio::time::sleep(Duration::from_millis(20)).await;
    let others = (0..5).map(|_| tokio::spawn(call())).collect::<Vec<_>>();
    tokio::time::sleep(Duration::from_millis(20)).await;
    others[1].abort();
    head.abort();
    for (index, other) in others.into_iter().enumerate().filter(|(index, _)| *index != 1) {
        let frame = tokio::time::timeout(Duration::from_secs(5), other).await.unwrap().unwrap();
        assert_eq!(frame[20], 200, "{index}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_of_http1_is_named() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let _ = stream.write_all(b"HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\n\r\n");
            // Unread bytes would reset the connection, and discard the answer.
            let _ = stream.shutdown(std::net::Shutdown::Write);
            let _ = stream.read_to_end(&mut Vec::new());
        }
    });
    let mut client = client(&url, HttpOptions::default());
    for error in [client.connect().await.unwrap_err(), get(&mut client).await.unwrap_err()] {
        assert_eq!(error.code(), "BB_UNSUPPORTED");
        assert!(error.to_string().contains("answered \"HTTP/1.1 400 Bad Request\""), "{error}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_ends_the_connection_without_a_word_fails_all_that_wait() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let _ = stream.read(&mut [0; 100]);
        }
    });
    let mut client = client(&url, HttpOptions::default());
    let mut errors = vec![client.connect().await.unwrap_err()];
    errors.extend(burst(&mut client, 20).await.into_iter().map(std::result::Result::unwrap_err));
    for error in errors {
        assert_eq!(error.code(), "BB_CONNECTION");
        assert!(error.to_string().contains("before it spoke HTTP/2"), "{error}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_of_tls_without_http2_is_named() {
    let files = certificate("localhost");
    for protocols in [[b"http/1.1".as_slice()].as_slice(), &[]] {
        let acceptor = files.acceptor(protocols).unwrap();
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let _ = acceptor.accept(stream).await;
            }
        });
        let options = HttpOptions { trust: Trust::Authorities(files.certificate.clone()), ..HttpOptions::default() };
        let mut client = client(&format!("https://localhost:{port}"), options);
        let error = client.connect().await.unwrap_err();
        assert_eq!(error.code(), "BB_UNSUPPORTED", "{error}");
        assert!(error.to_string().contains("does not offer"), "{error}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_breaks_the_protocol_is_named() {
    let (url, _) = raw(100, |mut stream, _| {
        let number = next_request(&mut stream).unwrap();
        // A frame of data before any head.
        stream.write_all(&frame(0, 1, number, b"abc")).unwrap();
        let _ = stream.read(&mut [0; 100]);
    });
    let error = get(&mut client(&url, HttpOptions::default())).await.unwrap_err();
    assert_eq!(error.code(), "BB_CONNECTION");
    assert!(error.to_string().contains("broke the protocol: PROTOCOL_ERROR"), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_flood_of_frames_that_end_nothing_ends_the_connection() {
    // `:status: 100`, as a literal without an index.
    let interim = [&[8, 3], b"100".as_slice()].concat();
    for (kind, flags, of_request, payload) in [
        (HEADERS, 4, true, interim),
        (2, 0, true, vec![0; 5]),
        (SETTINGS, 0, false, vec![0, 3, 0, 0, 0, 100]),
        (6, 0, false, vec![0; 8]),
        (99, 0, true, vec![0; 5]),
    ] {
        let (url, _) = raw(100, move |mut stream, connection| {
            if connection > 0 {
                return answer_all(stream);
            }
            let number = next_request(&mut stream).unwrap();
            let flood = frame(kind, flags, if of_request { number } else { 0 }, &payload).repeat(1000);
            let mut acknowledged = stream.try_clone().unwrap();
            std::thread::spawn(move || std::io::copy(&mut acknowledged, &mut std::io::sink()));
            while stream.write_all(&flood).is_ok() {}
        });
        let mut client = client(&url, HttpOptions::default());
        let error = get(&mut client).await.unwrap_err();
        assert!(error.to_string().contains("10000 frames that carry nothing and end nothing"), "{kind}: {error}");
        assert_eq!(get(&mut client).await.unwrap(), 200);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn calls_that_wait_for_a_connection_share_the_outcome_of_the_attempt() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    drop(listener);
    let answers = burst(&mut client(&url, HttpOptions::default()), 50).await;
    for answer in answers {
        let error = answer.unwrap_err();
        assert!(error.code() == "BB_CONNECTION" && error.to_string().contains("does the server run"), "{error}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_before_the_end_of_the_request_is_whole_and_a_cut_one_is_not() {
    // `content-length: 6`, as a literal without an index.
    let told = [&[0x88, 0x0f, 0x0d, 1], b"6".as_slice()].concat();
    // The flag 1 marks the end of the response.
    for (head, body, flags, reason, expected) in [
        (vec![0x88], "enough", 1, 0_u32, Ok("enough")),
        (told.clone(), "enough", 0, 0, Ok("enough")),
        (told, "enou", 0, 0, Err("NO_ERROR")),
        (vec![0x88], "enou", 0, 0, Err("NO_ERROR")),
        (vec![0x88], "enou", 0, 8, Err("CANCEL")),
    ] {
        let (url, _) = raw(100, move |mut stream, _| {
            let number = next_request(&mut stream).unwrap();
            let answer = [
                frame(HEADERS, 4, number, &head),
                frame(0, flags, number, body.as_bytes()),
                frame(RST_STREAM, 0, number, &reason.to_be_bytes()),
            ];
            stream.write_all(&answer.concat()).unwrap();
            let _ = stream.read_to_end(&mut Vec::new());
        });
        let mut client = client(&url, HttpOptions::default());
        let posted = vec![b'x'; 1 << 20];
        let answered = client.call(&Request::post("/", &posted), |response| Ok(response.body.to_vec())).await;
        match expected {
            Ok(text) => assert_eq!(answered.unwrap(), text.as_bytes()),
            Err(reason) => assert!(answered.unwrap_err().to_string().contains(reason), "{reason}"),
        }
    }
}
