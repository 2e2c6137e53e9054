//! Tests of servers over TLS.

mod common;

use std::path::Path;

use boundary_bench_kernel::cancel::CancelToken;
use boundary_bench_kernel::needs;
use boundary_bench_kernel::private_server::free_port;
use boundary_bench_kernel::testing::certificate;
use boundary_bench_redis::{KvClient, KvOptions, Server, executable};

#[tokio::test(flavor = "multi_thread")]
async fn a_server_is_reached_over_tls_with_the_certificates_named() {
    needs!("redis", executable(None));
    for own in ["loopback", "authority"] {
        check(own).await;
    }
}

async fn check(own: &str) {
    let (own, other) = (certificate(own), certificate("localhost"));
    let port = free_port().unwrap().to_string();
    let (certificate, key) = (own.certificate.display().to_string(), own.key.display().to_string());
    let settings = [
        "--tls-port",
        &port,
        "--tls-cert-file",
        &certificate,
        "--tls-key-file",
        &key,
        "--tls-ca-cert-file",
        &certificate,
        "--tls-auth-clients",
        "no",
        "--requirepass",
        "geheim",
    ];
    let server = Server::start_with(None, &settings, &CancelToken::default()).unwrap();
    let url = |file: &Path| format!("rediss://:geheim@127.0.0.1:{port}?tls-ca={}", file.display());

    let mut client = common::client(&url(Path::new(&certificate))).await;
    client.set(b"a", &vec![b'x'; 300_000]).await.unwrap();
    assert_eq!(client.get(b"a", |value| value.map(<[u8]>::len)).await.unwrap(), Some(300_000));
    assert!(client.is_drivable());

    for url in [url(&other.certificate), format!("rediss://:geheim@127.0.0.1:{port}")] {
        let error = KvClient::connect(url.parse().unwrap(), KvOptions::default()).await.unwrap_err();
        let text = error.to_string();
        assert!(text.contains("can't connect") && text.contains("certificate") && !text.contains("geheim"), "{text}");
    }
    drop(server);
}
