//! Servers behind TLS.

mod common;

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use boundary_bench_core::engine::CancelToken;
use boundary_bench_core::private_server::free_port;
use boundary_bench_redis::{KvClient, KvOptions, Server, run_submission};

/// A folder of its own for one test, removed at its end.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Self {
        let path = std::env::temp_dir().join(format!("bb-redis-tls-{}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    fn file(&self, name: &str) -> String {
        self.0.join(name).display().to_string()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        std::fs::remove_dir_all(&self.0).unwrap();
    }
}

/// A certificate that vouches for itself, and its key.
fn make_certificate(folder: &Folder, name: &str) {
    let status = Command::new("openssl")
        .args(["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2"])
        .args(["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"])
        .args(["-addext", "basicConstraints=critical,CA:FALSE"])
        .args(["-keyout", &folder.file(&format!("{name}.key")), "-out", &folder.file(&format!("{name}.pem"))])
        .stderr(Stdio::null())
        .status()
        .expect("the test needs openssl");
    assert!(status.success());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_is_reached_over_tls_with_the_certificates_named() {
    let folder = Folder::new();
    make_certificate(&folder, "server");
    make_certificate(&folder, "other");
    let port = free_port().unwrap().to_string();
    let (certificate, key) = (folder.file("server.pem"), folder.file("server.key"));
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
    assert!(!client.is_drivable());
    // As JavaScript runs it: GET a.
    let words = [0, 7, 0, 0, 1, 1].into_iter().flat_map(u32::to_ne_bytes);
    let submission = words.chain(*b"a\0\0\0").collect::<Vec<_>>();
    let frame = run_submission(&mut client, &submission).await.unwrap();
    assert_eq!((frame[0], frame[4], frame[8]), (7, 0, 1));

    for url in [url(Path::new(&folder.file("other.pem"))), format!("rediss://:geheim@127.0.0.1:{port}")] {
        let error = KvClient::connect(url.parse().unwrap(), KvOptions::default()).await.unwrap_err();
        let text = error.to_string();
        assert!(text.contains("can't connect") && text.contains("certificate") && !text.contains("geheim"), "{text}");
    }
    drop(server);
}
