//! Tests of how much of a password a server learns that does not prove its identity.

use std::path::Path;
use std::process::Command;

use boundary_bench_kernel::testing::{Folder, certificate};
use boundary_bench_kernel::tls::Trust;
use boundary_bench_kernel::{Error, needs};
use boundary_bench_mysql::{Connection, Url};
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt};
use tokio::task::JoinHandle;

use crate::scripted::{NONCE, OK, PASSWORD, PLAIN, WITH_TLS, greeting, hear, listen, packet};

const NATIVE: &str = "mysql_native_password";
const CACHING: &str = "caching_sha2_password";

/// The packet by which the server asks for the password itself.
const WHOLE: &[u8] = &[1, 4];

/// The packet by which the server asks for the password by another plugin.
fn switch_to(plugin: &str) -> Vec<u8> {
    [b"\xfe", plugin.as_bytes(), b"\0", NONCE, b"\0"].concat()
}

/// Sends these packets, each after the client's answer to the previous one. Returns the client's answers.
async fn say(stream: &mut (impl AsyncRead + AsyncWrite + Unpin), said: Vec<Vec<u8>>) -> Vec<Vec<u8>> {
    let mut heard = Vec::new();
    for body in said {
        let _ = stream.write_all(&packet(2, &body)).await;
        match hear(stream).await {
            Some(packet) => heard.push(packet),
            None => break,
        }
    }
    heard
}

/// A server that asks for the password by `plugin` and then sends these packets. Its task returns the client's packets
/// after the login.
async fn server(plugin: &'static str, said: Vec<Vec<u8>>) -> (Url, JoinHandle<Vec<Vec<u8>>>) {
    let (listener, url) = listen().await;
    let hearing = tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        stream.write_all(&greeting(1, PLAIN, plugin)).await.unwrap();
        hear(&mut stream).await.unwrap();
        say(&mut stream, said).await
    });
    (url, hearing)
}

async fn refusal(url: &Url) -> Error {
    Connection::open(url).await.map(drop).expect_err("it let us in").into()
}

#[tokio::test]
async fn a_server_that_proves_nothing_gets_nothing_of_the_password() {
    let cases: [(&str, Vec<Vec<u8>>, &str, usize); 6] = [
        // Only one plugin may ask for the password itself.
        (NATIVE, vec![WHOLE.to_vec()], "BB_ENGINE", 0),
        ("", vec![WHOLE.to_vec()], "BB_ENGINE", 0),
        (CACHING, vec![WHOLE.to_vec()], "BB_INSECURE", 0),
        // The client's answer to the first packet is a scramble.
        (NATIVE, vec![switch_to(CACHING), WHOLE.to_vec()], "BB_INSECURE", 1),
        (CACHING, vec![switch_to("mysql_clear_password")], "BB_INSECURE", 0),
        (NATIVE, vec![switch_to("sha256_password")], "BB_UNSUPPORTED", 0),
    ];
    for (plugin, said, code, answers) in cases {
        let (url, hearing) = server(plugin, said.clone()).await;
        let error = refusal(&url).await;
        assert_eq!(error.code(), code, "{plugin} {said:?}: {error}");
        if code == "BB_INSECURE" {
            assert!(error.to_string().contains("tls=verify"), "{error}");
        }
        let heard = hearing.await.unwrap();
        assert_eq!(heard.len(), answers, "{heard:?}");
        assert!(heard.iter().all(|packet| packet.len() == 32), "{heard:?}");
    }
    let (url, _hearing) = server(CACHING, vec![WHOLE.to_vec()]).await;
    let told = refusal(&url).await.to_string();
    for option in ["tls=verify", "server-public-key=", "allow-public-key-retrieval=on"] {
        assert!(told.contains(option) && !told.contains(PASSWORD), "{told}");
    }
}

#[tokio::test]
async fn a_wrong_password_is_no_connection_also_if_the_server_has_the_right_one_in_its_cache() {
    let (listener, url) = listen().await;
    tokio::spawn(async move {
        let mut right = Vec::new();
        loop {
            let (mut stream, _) = listener.accept().await.unwrap();
            stream.write_all(&greeting(1, PLAIN, CACHING)).await.unwrap();
            let login = hear(&mut stream).await.unwrap();
            if right.is_empty() {
                right.clone_from(&login);
            }
            let answer = if login == right { [packet(2, &[1, 3]), packet(3, OK)].concat() } else { packet(2, WHOLE) };
            stream.write_all(&answer).await.unwrap();
            hear(&mut stream).await;
        }
    });
    Connection::open(&url).await.unwrap();
    let wrong = Url { password: Some("other".to_owned()), ..url.clone() };
    let error = refusal(&wrong).await;
    assert!(error.code() == "BB_CONNECTION" && error.to_string().contains("refuses the login"), "{error}");
    // Of another user nothing is known.
    assert_eq!(refusal(&Url { user: "you".to_owned(), ..wrong }).await.code(), "BB_INSECURE");
    Connection::open(&url).await.unwrap();
}

fn openssl(arguments: &[&str], files: &[(&str, &Path)]) {
    let mut command = Command::new("openssl");
    command.args(arguments);
    for (option, file) in files {
        command.arg(option).arg(file);
    }
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

#[tokio::test]
async fn the_password_is_encrypted_with_a_key_that_was_given_or_may_be_asked_for() {
    needs!("openssl", Command::new("openssl").arg("version").output());
    let folder = Folder::new("key");
    let (key, public) = (folder.file("key.pem"), folder.file("public.pem"));
    openssl(&["genpkey", "-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:2048"], &[("-out", &key)]);
    openssl(&["pkey", "-pubout"], &[("-in", &key), ("-out", &public)]);
    let pem = std::fs::read(&public).unwrap();
    let given = vec![WHOLE.to_vec(), OK.to_vec()];
    let asked = vec![WHOLE.to_vec(), [&[1], &pem[..]].concat(), OK.to_vec()];
    for (said, may_ask, file) in [(given, false, Some(public)), (asked, true, None)] {
        let (url, hearing) = server(CACHING, said).await;
        let url = Url { allow_public_key_retrieval: may_ask, server_public_key: file, ..url };
        drop(Connection::open(&url).await.unwrap());
        let heard = hearing.await.unwrap();
        assert_eq!((heard.len(), heard[0] == [2]), (1 + usize::from(may_ask), may_ask));
        let (secret, plain) = (folder.file("secret"), folder.file("plain"));
        std::fs::write(&secret, heard.last().unwrap()).unwrap();
        let files = [("-inkey", key.as_path()), ("-in", &secret), ("-out", &plain)];
        openssl(&["pkeyutl", "-decrypt", "-pkeyopt", "rsa_padding_mode:oaep"], &files);
        let mut plain = std::fs::read(plain).unwrap();
        plain.iter_mut().zip(NONCE).for_each(|(byte, nonce)| *byte ^= nonce);
        assert_eq!(plain, format!("{PASSWORD}\0").as_bytes());
    }
    // A file that holds no key, and a file that does not exist.
    for (file, code) in [(folder.file("secret"), "BB_INVALID_ARGUMENT"), (folder.file("none"), "BB_IO")] {
        let (url, hearing) = server(CACHING, vec![WHOLE.to_vec()]).await;
        let error = refusal(&Url { server_public_key: Some(file), ..url }).await;
        assert_eq!(error.code(), code, "{error}");
        assert!(hearing.await.unwrap().is_empty());
    }
}

/// A server whose certificate is the one of the file `loopback`. It asks for the password by `plugin` and then sends these packets. Its task
/// returns the client's packets after the login.
async fn server_with_tls(plugin: &'static str, said: Vec<Vec<u8>>) -> (Url, JoinHandle<Vec<Vec<u8>>>) {
    let (listener, url) = listen().await;
    let acceptor = certificate("loopback").acceptor(&[]).unwrap();
    let hearing = tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        stream.write_all(&greeting(1, WITH_TLS, plugin)).await.unwrap();
        hear(&mut stream).await.unwrap();
        let mut stream = acceptor.accept(stream).await.unwrap();
        hear(&mut stream).await.unwrap();
        say(&mut stream, said).await
    });
    (url, hearing)
}

#[tokio::test]
async fn encryption_alone_does_not_make_a_server_the_one_that_was_meant() {
    let files = certificate("loopback");
    let clear = || vec![switch_to("mysql_clear_password"), OK.to_vec()];
    for (trust, said, expected) in [
        (Trust::Anyone, vec![WHOLE.to_vec()], Err("BB_INSECURE")),
        (Trust::Anyone, clear(), Err("BB_INSECURE")),
        (Trust::Authorities(files.certificate.clone()), vec![WHOLE.to_vec(), OK.to_vec()], Ok(())),
        (Trust::Authorities(files.certificate.clone()), clear(), Ok(())),
    ] {
        let (url, hearing) = server_with_tls(CACHING, said).await;
        let opened = Connection::open(&Url { tls: Some(trust), ..url }).await.map(drop).map_err(Error::from);
        assert_eq!(opened.as_ref().map_err(Error::code), expected.as_ref().map_err(|code| *code), "{opened:?}");
        let secret = format!("{PASSWORD}\0").into_bytes();
        let heard = hearing.await.unwrap();
        assert_eq!(heard, if expected.is_ok() { vec![secret] } else { Vec::new() });
    }
}

#[tokio::test]
async fn in_tls_the_password_is_sent_as_it_is_and_never_encrypted_by_a_key() {
    let secret = || format!("{PASSWORD}\0").into_bytes();
    let switched = || vec![switch_to(CACHING), WHOLE.to_vec(), OK.to_vec()];
    // The servers that ask at once, and those that greet with another plugin.
    for (plugin, said, answers) in [
        (CACHING, vec![WHOLE.to_vec(), OK.to_vec()], 1),
        (NATIVE, switched(), 2),
        ("sha256_password", switched(), 2),
        ("client_ed25519", switched(), 2),
    ] {
        let (url, hearing) = server_with_tls(plugin, said).await;
        let url = Url { tls: Some(Trust::Anyone), allow_public_key_retrieval: true, ..url };
        // The server does not take this key in TLS.
        let url = Url { server_public_key: Some("/none.pem".into()), ..url };
        drop(Connection::open(&url).await.unwrap());
        let heard = hearing.await.unwrap();
        assert_eq!((heard.len(), heard.last()), (answers, Some(&secret())), "{plugin}");
    }
    // The advice of the error names only what helps in TLS, even to those who have given a key.
    let (url, hearing) = server_with_tls(CACHING, vec![WHOLE.to_vec()]).await;
    let url = Url { tls: Some(Trust::Anyone), server_public_key: Some("/none.pem".into()), ..url };
    let error = refusal(&url).await;
    assert_eq!((error.code(), hearing.await.unwrap().len()), ("BB_INSECURE", 0));
    let told = error.to_string();
    assert!(told.contains("tls=verify") && told.contains("allow-public-key-retrieval=on"), "{told}");
    assert!(!told.contains("server-public-key") && !told.contains(PASSWORD), "{told}");
}

#[tokio::test]
async fn a_plugin_that_wants_the_password_itself_gets_nothing_before_the_server_asks_by_it() {
    // A greeting, unlike a certificate, can come from anybody, and names no plugin of this user.
    for plugin in ["mysql_clear_password", "sha256_password", "client_ed25519", "dialog", "x"] {
        let (listener, url) = listen().await;
        let hearing = tokio::spawn(async move {
            let (mut stream, _) = listener.accept().await.unwrap();
            stream.write_all(&greeting(1, PLAIN, plugin)).await.unwrap();
            let answer = hear(&mut stream).await.unwrap();
            say(&mut stream, vec![switch_to(plugin)]).await;
            answer
        });
        assert_ne!(refusal(&url).await.code(), "BB_ENGINE");
        let answer = hearing.await.unwrap();
        assert!(answer.ends_with(b"mysql_native_password\0"), "{}", answer.escape_ascii());
        assert!(!answer.windows(PASSWORD.len()).any(|part| part == PASSWORD.as_bytes()));
    }
}
