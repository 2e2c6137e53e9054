//! Tests of the trust in servers' certificates, by the certificates that a file names. The answers are the same as Node's.

use boundary_bench_kernel::driver::Tokio;
use boundary_bench_kernel::stream::Stream;
use boundary_bench_kernel::testing::{Folder, certificate};
use boundary_bench_kernel::tls::{Trust, server_name};
use tokio::net::TcpListener;

/// Shakes hands with a server that has the certificate `served`, as `name`. Returns the error of the client.
fn shake(served: &str, trust: &Trust, name: &str) -> Result<(), String> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(shake_hands(served, trust, name))
}

async fn shake_hands(served: &str, trust: &Trust, name: &str) -> Result<(), String> {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let acceptor = certificate(served).acceptor(&[]).unwrap();
    let accepting = tokio::spawn(async move {
        let socket = listener.accept().await.unwrap().0;
        acceptor.accept(socket).await.is_ok()
    });
    let stream = Stream::connect(&Tokio, "127.0.0.1", port).await.unwrap();
    let shaken = stream.encrypt(&trust.connector(None).unwrap(), server_name(name).unwrap()).await;
    let shaken = shaken.map(drop).map_err(|error| error.to_string());
    accepting.await.unwrap();
    shaken
}

fn named(name: &str) -> Trust {
    Trust::Authorities(certificate(name).certificate)
}

#[test]
fn a_certificate_that_vouches_for_itself_is_trusted_by_its_name() {
    for own in ["authority", "loopback"] {
        for name in ["localhost", "127.0.0.1"] {
            assert_eq!(shake(own, &named(own), name), Ok(()), "{own} {name}");
        }
        // The name is still checked.
        for name in ["example.com", "127.0.0.2"] {
            let error = shake(own, &named(own), name).unwrap_err();
            assert!(error.contains("not valid for name"), "{own} {name}: {error}");
        }
    }
    // It may be one of several in the file.
    let folder = Folder::new("trust");
    let file = folder.file("several.pem");
    let both = ["localhost", "authority"].map(|name| std::fs::read_to_string(certificate(name).certificate).unwrap());
    std::fs::write(&file, both.concat()).unwrap();
    assert_eq!(shake("authority", &Trust::Authorities(file), "localhost"), Ok(()));
}

#[test]
fn other_certificates_are_refused_all_the_same() {
    for (served, trusted, problem) in [
        ("authority-expired", "authority-expired", "expired"),
        ("authority", "loopback", "CaUsedAsEndEntity"),
        ("loopback", "authority", "certificate"),
        ("localhost", "authority", "certificate"),
        // Node trusts no certificate whose issuer it does not know, and none that is for no server.
        ("authority-issued", "authority-issued", "CaUsedAsEndEntity"),
        ("authority-of-clients", "authority-of-clients", "CaUsedAsEndEntity"),
        ("authority-of-signatures", "authority-of-signatures", "CaUsedAsEndEntity"),
    ] {
        let error = shake(served, &named(trusted), "localhost").unwrap_err();
        assert!(error.contains("invalid peer certificate") && error.contains(problem), "{served} {trusted}: {error}");
    }
    let error = shake("authority", &Trust::System, "localhost").unwrap_err();
    assert!(error.contains("invalid peer certificate: it is self-signed") && error.contains("tlsCa"), "{error}");
}
