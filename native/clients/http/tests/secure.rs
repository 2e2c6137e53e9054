//! Tests of HTTP/2, and of both versions over TLS, against hyper's server.

use std::convert::Infallible;
use std::path::PathBuf;
use std::sync::Arc;

use boundary_bench_http::{HttpClient, HttpOptions, Origin, Request, SharedClient, Version};
use boundary_bench_kernel::driver::Tokio;
use boundary_bench_kernel::testing::certificate;
use boundary_bench_kernel::tls::{TlsFiles, Trust};
use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;

/// The server's side of TLS with a self-signed certificate.
fn acceptor(files: &TlsFiles) -> TlsAcceptor {
    files.acceptor(&[b"h2", b"http/1.1"]).unwrap()
}

/// Answers a request with its version, its path, a header and the length of its body.
async fn answer(request: hyper::Request<Incoming>) -> Result<hyper::Response<Full<Bytes>>, Infallible> {
    let (parts, body) = request.into_parts();
    let length = body.collect().await.map(|body| body.to_bytes().len()).unwrap_or_default();
    let key = parts.headers.get("x-key").map(|value| value.to_str().unwrap().to_owned()).unwrap_or_default();
    let text = format!("{:?} {} {key} {length}", parts.version, parts.uri.path());
    Ok(hyper::Response::builder().header("x-a", "b").body(Full::new(Bytes::from(text))).unwrap())
}

/// Starts a server of either version, and returns its port.
async fn serve(tls: Option<TlsAcceptor>, version: Version) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        loop {
            let (stream, _) = listener.accept().await.unwrap();
            let tls = tls.clone();
            tokio::spawn(async move {
                let service = service_fn(answer);
                match (tls, version) {
                    (None, _) => {
                        let server = hyper::server::conn::http2::Builder::new(TokioExecutor::new());
                        let _ = server.serve_connection(TokioIo::new(stream), service).await;
                    }
                    (Some(tls), Version::Http2) => {
                        let Ok(stream) = tls.accept(stream).await else { return };
                        let server = hyper::server::conn::http2::Builder::new(TokioExecutor::new());
                        let _ = server.serve_connection(TokioIo::new(stream), service).await;
                    }
                    (Some(tls), Version::Http1) => {
                        let Ok(stream) = tls.accept(stream).await else { return };
                        let server = hyper::server::conn::http1::Builder::new();
                        let _ = server.serve_connection(TokioIo::new(stream), service).await;
                    }
                }
            });
        }
    });
    port
}

fn place(url: &str, version: Version, file: Option<PathBuf>) -> Arc<Origin> {
    let headers = "x-key: k\r\n".to_owned();
    let trust = file.map_or(Trust::System, Trust::Authorities);
    let options = HttpOptions { version, trust, headers, connections: 3, ..HttpOptions::default() };
    Arc::new(Origin::new(url.parse().unwrap(), options).unwrap())
}

/// Sends some requests, one by one and together, and checks the responses.
async fn check(place: Arc<Origin>, version: &str) {
    assert_eq!(place.is_drivable(), version == "HTTP/1.1");
    let mut client = HttpClient::new(Arc::clone(&place));
    let body = vec![0; 200_000];
    let requests = [Request::get("/a"), Request::post("/b", &body), Request::get("no"), Request::get("/c")];
    for _ in 0..2 {
        let mut answers = vec![String::new(); requests.len()];
        client
            .batch(&requests, |index, answer| {
                answers[index] = match answer {
                    Ok(response) => {
                        assert_eq!(response.header("X-A"), Some(b"b".as_slice()));
                        String::from_utf8_lossy(response.body).into_owned()
                    }
                    Err(error) => error.code().to_owned(),
                };
            })
            .await;
        let expected =
            [format!("{version} /a k 0"), format!("{version} /b k 200000"), "BB_INVALID_ARGUMENT".to_owned()];
        assert_eq!(answers[..3], expected);
        assert_eq!(answers[3], format!("{version} /c k 0"));
    }
    if place.is_drivable() {
        return;
    }
    // A submission as the addon sends it: `pool, id, count`, then a GET of `/abc` without headers and a body.
    let shared = Arc::new(SharedClient::new(place, &Tokio));
    let words = [0, 7, 1, 0, 4, 0, boundary_bench_http::NO_BODY];
    let submission: Vec<u8> = words.iter().flat_map(|word: &u32| word.to_ne_bytes()).chain(*b"/abc").collect();
    let calls = (0..10).map(|_| {
        let (shared, submission) = (Arc::clone(&shared), submission.clone());
        tokio::spawn(async move { shared.run(&submission).await })
    });
    for call in calls.collect::<Vec<_>>() {
        let frame = call.await.unwrap().unwrap();
        assert_eq!((frame[0], frame[20]), (7, 200));
        assert!(String::from_utf8_lossy(&frame).contains("/abc k 0"));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_path_that_http2_refuses_is_an_error_of_its_own_request() {
    let port = serve(None, Version::Http2).await;
    let mut client = HttpClient::new(place(&format!("http://localhost:{port}"), Version::Http2, None));
    let requests = [Request::get("/a"), Request::get("no"), Request::get("/b#c"), Request::get("/d")];
    let mut answers = vec![String::new(); requests.len()];
    client
        .batch(&requests, |index, answer| {
            answers[index] = answer.map_or_else(
                |error| error.code().to_owned(),
                |response| String::from_utf8_lossy(response.body).into_owned(),
            );
        })
        .await;
    assert_eq!(answers, ["HTTP/2.0 /a k 0", "BB_INVALID_ARGUMENT", "BB_INVALID_ARGUMENT", "HTTP/2.0 /d k 0"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn http2_is_spoken_by_those_who_know_it_beforehand() {
    let port = serve(None, Version::Http2).await;
    check(place(&format!("http://localhost:{port}"), Version::Http2, None), "HTTP/2.0").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn both_versions_are_spoken_over_tls() {
    let (own, other) = (certificate("localhost"), certificate("loopback"));
    for (own, version, name) in [
        (own.clone(), Version::Http1, "HTTP/1.1"),
        (own.clone(), Version::Http2, "HTTP/2.0"),
        (certificate("authority"), Version::Http1, "HTTP/1.1"),
        (certificate("authority"), Version::Http2, "HTTP/2.0"),
    ] {
        let port = serve(Some(acceptor(&own)), version).await;
        let url = format!("https://localhost:{port}");
        check(place(&url, version, Some(own.certificate.clone())), name).await;
        for file in [None, Some(other.certificate.clone())] {
            let mut client = HttpClient::new(place(&url, version, file));
            let error = client.call(&Request::get("/"), |_| Ok(())).await.unwrap_err();
            assert!(error.to_string().contains("certificate"), "{error}");
        }
    }
    let missing = Origin::new(
        "https://h".parse().unwrap(),
        HttpOptions { trust: Trust::Authorities(own.certificate.with_extension("no")), ..HttpOptions::default() },
    );
    assert_eq!(missing.err().unwrap().code(), "BB_INVALID_ARGUMENT");
}
