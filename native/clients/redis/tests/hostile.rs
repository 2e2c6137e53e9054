//! Servers that send without end, announce bytes that never come, send nothing at all, or are slow.

mod common;

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::time::Duration;

use boundary_bench_kernel::Error;
use boundary_bench_kernel::resources::{peak_rss, reset_peak_rss};
use boundary_bench_kernel::socket::{KEEP_ALIVE_IDLE, UNACKNOWLEDGED_TIMEOUT};
use boundary_bench_redis::{Commands, Connection, KvClient, KvOptions, Url};

/// The memory that a server may make this process use, in bytes, including the memory of the tests themselves.
const LITTLE: u64 = 300 << 20;

/// A server that gives each connection to `talk` on a thread of its own. It lives as long as the test.
fn serve(talk: impl Fn(TcpStream) + Send + Sync + Clone + 'static) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("redis://{}?cluster=false", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let talk = talk.clone();
            stream.set_nodelay(true).unwrap();
            std::thread::spawn(move || talk(stream));
        }
    });
    url
}

/// Reads the commands received so far. Returns false at the end.
fn hear(stream: &mut TcpStream) -> bool {
    stream.read(&mut vec![0; 1 << 16]).is_ok_and(|bytes| bytes > 0)
}

/// A server that accepts the login, and then answers a command with the first bytes, and endlessly with the others.
fn answering(first: &[u8], others: &[u8]) -> String {
    let (first, others) = (first.to_vec(), others.to_vec());
    serve(move |mut stream| {
        if !hear(&mut stream) || stream.write_all(b"+PONG\r\n").is_err() || !hear(&mut stream) {
            return;
        }
        let _ = stream.write_all(&first);
        while !others.is_empty() && stream.write_all(&others).is_ok() {}
        while hear(&mut stream) {}
    })
}

async fn ask(url: &str, timeout: Option<Duration>) -> Result<usize, Error> {
    let mut client = KvClient::connect(url.parse::<Url>().unwrap(), KvOptions { timeout }).await.unwrap();
    client.call(&[b"KEYS", b"*"], |reply| Ok(format!("{reply:?}").len())).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reply_beyond_the_limit_is_refused_and_its_connection_closed() {
    let cases: [(&[u8], &[u8], &str); 4] = [
        // Replies larger than the default limit and than the one given, endless elements, and endless empty elements.
        (b"$4294967296\r\nabc", b"", ""),
        (b"$1000001\r\nabc", b"", "&max-response-bytes=1000000"),
        (b"*200000000\r\n", b"$10\r\n0123456789\r\n", "&max-response-bytes=1000000"),
        (b"*200000000\r\n", b"*0\r\n", "&max-response-bytes=1000000"),
    ];
    for (first, others, option) in cases {
        let url = answering(first, others) + option;
        let mut client = common::client(&url).await;
        let error = client.call(&[b"KEYS", b"*"], |_| Ok(())).await.unwrap_err();
        assert_eq!(error.code(), "BB_TOO_LARGE", "{error}");
        assert!(error.to_string().contains("max-response-bytes"), "{error}");
        // The command takes another connection: on the same one, the rest of the first reply would be taken for its
        // own.
        let error = client.call(&[b"PING"], |_| Ok(())).await.unwrap_err();
        assert_eq!(error.code(), "BB_TOO_LARGE", "{error}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reply_of_a_type_that_the_command_does_not_have_is_an_error_and_the_next_call_connects_again() {
    // Each connection answers one command. On the same one, the next command would wait in vain.
    let client = async |said: &[u8]| common::client(&answering(said, b"")).await;
    for said in [&b":1\r\n"[..], b"*1\r\n:1\r\n", b"+OK\r\n+OK\r\n"] {
        let mut client = client(said).await;
        for _ in 0..2 {
            let error = client.get(b"a", |_| ()).await.unwrap_err();
            assert!(error.to_string().contains("no reply to that command"), "{error}");
            let mut codes = Vec::new();
            let take = |_, value: Result<Option<&[u8]>, &Error>| codes.push(value.map(drop).map_err(Error::code));
            client.mget([b"a".as_slice(), b"b"].into_iter(), take).await;
            assert_eq!(codes, [Err("BB_ENGINE"); 2]);
        }
    }
    for said in [&b"$-1\r\n"[..], b"*0\r\n", b":1\r\n"] {
        let mut client = client(said).await;
        for _ in 0..2 {
            assert_eq!(client.set(b"a", b"b").await.unwrap_err().code(), "BB_ENGINE");
            let entries = std::iter::once((b"a".as_slice(), b"b".as_slice()));
            assert_eq!(client.mset(entries).await.unwrap_err().code(), "BB_ENGINE");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn kinds_of_replies_that_were_not_asked_for_are_refused_and_not_kept() {
    // Pushes, attributes, maps, sets and the other kinds of RESP3, each without end.
    for said in
        [">1\r\n+a\r\n", "|1\r\n+a\r\n+b\r\n", "%1\r\n+a\r\n+b\r\n", "~0\r\n", "_\r\n", "#t\r\n", ",1.5\r\n", "(1\r\n"]
    {
        assert!(reset_peak_rss());
        let before = peak_rss().unwrap();
        let error = ask(&answering(said.as_bytes(), said.as_bytes()), None).await.unwrap_err();
        assert_eq!(error.code(), "BB_ENGINE", "{error}");
        assert!(peak_rss().unwrap() < before + LITTLE);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_announced_takes_no_memory_before_it_comes() {
    let announced: [&[u8]; 2] = [b"$4294967296\r\nabc", b"*200000000\r\n$400000000\r\nabc"];
    for said in announced {
        let url = answering(said, b"") + "&max-response-bytes=8589934592";
        assert!(reset_peak_rss());
        let before = peak_rss().unwrap();
        let error = ask(&url, Some(Duration::from_millis(500))).await.unwrap_err();
        assert_eq!(error.code(), "BB_TIMEOUT", "{error}");
        assert!(peak_rss().unwrap() < before + LITTLE);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_accepts_and_says_nothing_is_given_up() {
    let url = serve(|mut stream| while hear(&mut stream) {});
    let silent = tokio::join!(
        async { KvClient::connect(url.parse().unwrap(), KvOptions::default()).await.err() },
        async { Connection::open(&url.parse().unwrap()).await.err() },
        // This server is silent during the TLS handshake.
        async { Connection::open(&url.replace("redis:", "rediss:").parse().unwrap()).await.err() },
    );
    for error in [silent.0, silent.1, silent.2] {
        assert_eq!(error.unwrap().code(), "BB_TIMEOUT");
    }
}

/// The address of a server that refuses each connection by these words, before it is asked for anything.
fn refusing(said: &'static str) -> String {
    let url = serve(move |mut stream| {
        let _ = write!(stream, "-{said}\r\n");
        let _ = stream.shutdown(Shutdown::Write);
        while hear(&mut stream) {}
    });
    url.replace("redis://", "").replace("?cluster=false", "")
}

async fn refusal(url: &str) -> String {
    let error = KvClient::connect(url.parse().unwrap(), KvOptions::default()).await.unwrap_err();
    assert_eq!(error.code(), "BB_CONNECTION", "{error}");
    error.to_string()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_words_with_which_a_server_refuses_a_connection_are_shown_whatever_the_url_has() {
    for said in [
        "ERR max number of clients reached",
        "DENIED Redis is running in protected mode because protected mode is enabled",
        "LOADING Redis is loading the dataset in memory",
        "NOAUTH Authentication required.",
        "MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'.",
    ] {
        let address = refusing(said);
        for url in [
            format!("redis://{address}"),
            format!("redis://{address}/3"),
            format!("redis://:geheim@{address}"),
            format!("redis://me:geheim@{address}"),
            format!("redis://:geheim@{address}/3"),
        ] {
            let text = refusal(&url).await;
            assert!(text.contains(said) && !text.contains("geheim"), "{text}");
        }
    }
    // Nor is a password that the server repeats.
    for (said, shown) in [
        ("ERR unknown command 'AUTH', with args beginning with: 'me' 'geheim'", "unknown command 'AUTH'"),
        ("ERR what is AUTH me geheim?", "ERR what is AUTH me ***?"),
    ] {
        let text = refusal(&format!("redis://me:ge%68eim@{}", refusing(said))).await;
        assert!(text.contains(shown) && !text.contains("geheim"), "{text}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_script_that_runs_or_a_user_who_may_not_ping_keeps_no_client_from_connecting() {
    for said in ["NOPERM this user has no permissions", "BUSY Redis is busy running a script.", "MISCONF x"] {
        let url = serve(move |mut stream| while hear(&mut stream) && write!(stream, "-{said}\r\n").is_ok() {});
        drop(common::client(&url.replace("?cluster=false", "")).await);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_connection_is_asked_whether_its_server_is_there() {
    let url = answering(b"", b"");
    let connection = Connection::open(&url.parse().unwrap()).await.unwrap();
    let socket = connection.into_driven().unwrap().unwrap();
    let socket = socket.system_socket();
    assert!(socket.keepalive().unwrap());
    assert_eq!(socket.tcp_keepalive_time().unwrap(), KEEP_ALIVE_IDLE);
    #[cfg(target_os = "linux")]
    assert_eq!(socket.tcp_user_timeout().unwrap(), Some(UNACKNOWLEDGED_TIMEOUT));
    #[cfg(not(target_os = "linux"))]
    let _ = UNACKNOWLEDGED_TIMEOUT;
}

#[tokio::test(flavor = "multi_thread")]
async fn servers_that_read_or_write_slowly_are_waited_for() {
    let url = serve(|mut stream| {
        assert!(hear(&mut stream));
        for byte in b"+PONG\r\n" {
            stream.write_all(&[*byte]).unwrap();
            std::thread::sleep(Duration::from_millis(5));
        }
        // Nothing is read while the client sends more than all buffers hold.
        std::thread::sleep(Duration::from_millis(500));
        let mut heard = Vec::new();
        while !heard.ends_with(b"last\r\n") {
            let mut part = vec![0; 1 << 16];
            let bytes = stream.read(&mut part).unwrap();
            heard.extend_from_slice(&part[..bytes]);
        }
        for byte in [b"+OK\r\n".repeat(50), b"+last\r\n".to_vec()].concat() {
            stream.write_all(&[byte]).unwrap();
        }
        hear(&mut stream);
    });
    let mut client = common::client(&url).await;
    let value = vec![b'x'; 1 << 20];
    let mut commands = Commands::new();
    (0..50).for_each(|_| commands.set(b"k", &value));
    commands.push([b"ECHO".as_slice(), b"last"].into_iter());
    let mut answers = Vec::new();
    client.execute(&commands, |_, answer| answers.push(format!("{:?}", answer.unwrap()))).await;
    assert_eq!((answers.len(), answers[50].as_str()), (51, "Status([108, 97, 115, 116])"));
}
