//! A server of the MySQL protocol that sends what a test wants.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use boundary_bench_mysql::Url;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// Capability flags: all of the first 28 bits without TLS, and with it.
pub const PLAIN: u32 = 0x0fff_f7ff;
pub const WITH_TLS: u32 = 0x0fff_ffff;

/// The nonce that passwords are scrambled with.
pub const NONCE: &[u8; 20] = b"12345678abcdefghijkl";

pub const PASSWORD: &str = "geheim";

/// The body of an OK packet: the answer to a login, or to a statement without rows.
pub const OK: &[u8] = &[0, 0, 0, 2, 0, 0, 0];

/// A packet with its header.
pub fn packet(sequence: u8, body: &[u8]) -> Vec<u8> {
    let [a, b, c, _] = u32::try_from(body.len()).unwrap().to_le_bytes();
    [&[a, b, c, sequence], body].concat()
}

/// The packet of a server's greeting.
pub fn greeting(id: u32, capabilities: u32, plugin: &str) -> Vec<u8> {
    let [a, b, c, d] = capabilities.to_le_bytes();
    let parts: [&[u8]; 13] = [
        b"\x0a8.0.22\0",
        &id.to_le_bytes(),
        &NONCE[..8],
        &[0],
        &[a, b],
        &[45, 2, 0],
        &[c, d],
        &[21],
        &[0; 10],
        &NONCE[8..],
        &[0],
        plugin.as_bytes(),
        &[0],
    ];
    packet(0, &parts.concat())
}

/// The packets that begin a result of one column of text.
pub fn one_column() -> Vec<u8> {
    let column = b"\x03def\x00\x00\x00\x01x\x00\x0c\x2d\x00\xff\xff\x00\x00\xfd\x00\x00\x00\x00\x00";
    [packet(1, &[1]), packet(2, column)].concat()
}

/// Reads the body of the next packet. Returns `None` at the end.
pub async fn hear(stream: &mut (impl AsyncRead + Unpin)) -> Option<Vec<u8>> {
    let mut head = [0; 4];
    stream.read_exact(&mut head).await.ok()?;
    let mut body = vec![0; u32::from_le_bytes([head[0], head[1], head[2], 0]) as usize];
    stream.read_exact(&mut body).await.ok()?;
    Some(body)
}

/// Numbers packets from `next` on.
pub fn number(packets: &mut [u8], next: &mut u8) {
    let mut at = 0;
    while let Some([a, b, c, number]) = packets.get_mut(at..).and_then(|rest| rest.first_chunk_mut()) {
        *number = *next;
        *next = next.wrapping_add(1);
        at += 4 + u32::from_le_bytes([*a, *b, *c, 0]) as usize;
    }
}

/// A listening socket for a server, and the URL to reach it.
pub async fn listen() -> (TcpListener, Url) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    (listener, format!("mysql://me:{PASSWORD}@127.0.0.1:{port}/db").parse().unwrap())
}

/// The answer of a server to a statement.
pub enum Say {
    /// An OK packet.
    Ok,
    /// These packets, numbered in their order, and nothing more.
    Bytes(Vec<u8>),
    /// These bytes, as they are.
    Exact(Vec<u8>),
    /// The first bytes, and then the others for ever.
    Endless(Vec<u8>, Vec<u8>),
    /// Nothing until the server is asked to end the statement, then an error that it was interrupted.
    UntilInterrupted,
    /// Nothing until the server is asked to end the connection.
    UntilKilled,
}

/// A server that accepts every login, and answers statements by a script.
pub struct Scripted {
    pub url: Url,
    asked: Arc<Mutex<Vec<String>>>,
}

impl Scripted {
    pub async fn start(say: impl Fn(&str) -> Say + Send + Sync + 'static) -> Self {
        let (listener, url) = listen().await;
        let asked: Arc<Mutex<Vec<String>>> = Arc::default();
        let (theirs, say) = (Arc::clone(&asked), Arc::new(say));
        tokio::spawn(async move {
            for id in 1.. {
                let (stream, _) = listener.accept().await.unwrap();
                tokio::spawn(talk(stream, id, Arc::clone(&say), Arc::clone(&theirs)));
            }
        });
        Self { url, asked }
    }

    /// The requests so far to end a statement or connection.
    pub fn kills(&self) -> Vec<String> {
        self.asked.lock().unwrap().iter().filter(|sql| sql.starts_with("KILL")).cloned().collect()
    }

    /// The requests to end a statement or connection, after a wait in which further ones would arrive.
    pub async fn settled_kills(&self) -> Vec<String> {
        while self.kills().is_empty() {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        tokio::time::sleep(Duration::from_millis(1500)).await;
        self.kills()
    }
}

async fn talk(
    mut stream: TcpStream,
    id: u32,
    say: Arc<impl Fn(&str) -> Say + Send + Sync + 'static>,
    asked: Arc<Mutex<Vec<String>>>,
) -> Option<()> {
    stream.write_all(&greeting(id, PLAIN, "mysql_native_password")).await.ok()?;
    hear(&mut stream).await?;
    stream.write_all(&packet(2, OK)).await.ok()?;
    let was_asked = async |what: String| {
        while !asked.lock().unwrap().contains(&what) {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    loop {
        let command = hear(&mut stream).await?;
        let sql = String::from_utf8_lossy(&command[1..]).into_owned();
        asked.lock().unwrap().push(sql.clone());
        let said = if sql.starts_with("KILL") { Say::Ok } else { say(&sql) };
        match said {
            Say::Ok => stream.write_all(&packet(1, OK)).await.ok()?,
            Say::Bytes(mut bytes) => {
                number(&mut bytes, &mut 1);
                stream.write_all(&bytes).await.ok()?;
            }
            Say::Exact(bytes) => stream.write_all(&bytes).await.ok()?,
            Say::Endless(mut first, mut others) => {
                let mut next = 1;
                number(&mut first, &mut next);
                stream.write_all(&first).await.ok()?;
                number(&mut others, &mut next);
                while stream.write_all(&others).await.is_ok() {
                    number(&mut others, &mut next);
                }
                return None;
            }
            Say::UntilInterrupted => {
                was_asked(format!("KILL QUERY {id}")).await;
                stream.write_all(&packet(1, b"\xff\x25\x05#70100interrupted")).await.ok()?;
            }
            Say::UntilKilled => {
                was_asked(format!("KILL {id}")).await;
                return None;
            }
        }
    }
}
