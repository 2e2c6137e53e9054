//! The start of a connection: the server's greeting, TLS, the password.

use std::collections::BTreeSet;
use std::sync::Mutex;

use boundary_bench_kernel::error::catch_panic;
use boundary_bench_kernel::{Error, Result, lock};
use mysql_common::crypto;
use mysql_common::scramble::{scramble_native, scramble_sha256};

use crate::codec::{Bytes, CommandResult, ServerError, capability, garbled, put_text};
use crate::transport::{Transport, too_large};
use crate::url::Url;
use crate::{NAME, engine_error};

/// The largest packet that the client announces: the limit of the protocol.
const MAX_PACKET: u32 = 1 << 30;

const NATIVE: &str = "mysql_native_password";

/// The name of the plugin by which a server may ask for the password itself.
const CACHING_SHA2: &str = "caching_sha2_password";

/// The users whose password a server had in its cache, or got, each with the server.
static CACHED: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());

/// The entry of a user in [`CACHED`].
fn cached(url: &Url) -> String {
    format!("{}@{}", url.user, Url { database: None, ..url.clone() })
}

/// The facts that the login tells about the server.
#[derive(Debug, Clone, Default)]
pub(crate) struct Server {
    pub(crate) version: String,
    /// The number of the connection. `KILL` takes it.
    pub(crate) connection: u32,
    /// The capabilities that both sides have.
    pub(crate) capabilities: u64,
}

struct Greeting {
    version: String,
    connection: u32,
    capabilities: u64,
    nonce: Vec<u8>,
    plugin: String,
}

impl Greeting {
    fn parse(packet: &[u8]) -> Option<Self> {
        let mut bytes = Bytes(packet);
        if bytes.u8()? != 10 {
            return None;
        }
        let version = String::from_utf8_lossy(bytes.until_nul()?).into_owned();
        let connection = bytes.u32()?;
        let mut nonce = bytes.take(8)?.to_vec();
        bytes.u8()?;
        let mut capabilities = u64::from(bytes.u16()?);
        bytes.u8()?;
        bytes.u16()?;
        capabilities |= u64::from(bytes.u16()?) << 16;
        let nonce_length = usize::from(bytes.u8()?);
        bytes.take(6)?;
        let extended = u64::from(bytes.u32()?);
        // MariaDB clears the first bit to tell itself apart, and uses bytes that MySQL reserves.
        if capabilities & capability::LONG_PASSWORD == 0 {
            capabilities |= extended << 32;
        }
        nonce.extend_from_slice(bytes.take(nonce_length.saturating_sub(8).max(13))?);
        nonce.truncate(20);
        let plugin = bytes.until_nul().unwrap_or(bytes.0);
        Some(Self { version, connection, capabilities, nonce, plugin: String::from_utf8_lossy(plugin).into_owned() })
    }
}

/// Logs in over a transport that was just opened.
pub(crate) async fn log_in(transport: &mut Transport, url: &Url) -> CommandResult<Server> {
    let packet = next(transport, url).await?;
    let greeting = Greeting::parse(&packet).ok_or_else(|| garbled("greeting"))?;
    let mut wanted = capability::FOUND_ROWS
        | capability::LONG_FLAG
        | capability::LOCAL_FILES
        | capability::PROTOCOL_41
        | capability::TRANSACTIONS
        | capability::SECURE_CONNECTION
        | capability::MULTI_RESULTS
        | capability::PS_MULTI_RESULTS
        | capability::PLUGIN_AUTH
        | capability::PLUGIN_AUTH_LENENC_DATA
        | capability::LONG_PASSWORD;
    if url.extensions {
        wanted |= capability::DEPRECATE_EOF | capability::BULK_OPERATIONS | capability::CACHE_METADATA;
    }
    if url.database.is_some() {
        wanted |= capability::CONNECT_WITH_DB;
    }
    if url.tls.is_some() {
        if greeting.capabilities & capability::SSL == 0 {
            return Err(engine_error(format!("{url} offers no TLS; leave tls out of the URL")).into());
        }
        wanted |= capability::SSL;
    }
    let capabilities = wanted & greeting.capabilities;
    let head = |target: &mut Vec<u8>| {
        let [a, b, c, d, upper @ ..] = capabilities.to_le_bytes();
        target.extend_from_slice(&[a, b, c, d]);
        target.extend_from_slice(&MAX_PACKET.to_le_bytes());
        target.push(url.collation.number());
        target.extend_from_slice(&[0; 19]);
        target.extend_from_slice(&upper);
    };
    if let Some(trust) = &url.tls {
        transport.send(head);
        transport.encrypt(url, trust).await?;
    }
    let password = url.password.as_deref().unwrap_or_default();
    // The greeting names the plugin that most users have, and the server then asks by the plugin of this user. So an answer ahead of that
    // only proves the password.
    let mut plugin = if greeting.plugin == CACHING_SHA2 { CACHING_SHA2 } else { NATIVE }.to_owned();
    let mut nonce = greeting.nonce;
    let answer = response(&plugin, &nonce, password, transport)?;
    transport.send(|target| {
        head(target);
        target.extend_from_slice(url.user.as_bytes());
        target.push(0);
        if capabilities & capability::PLUGIN_AUTH_LENENC_DATA != 0 {
            put_text(target, &answer);
        } else {
            #[expect(clippy::cast_possible_truncation, reason = "answers have 0, 20 or 32 bytes")]
            target.push(answer.len() as u8);
            target.extend_from_slice(&answer);
        }
        if let Some(database) = &url.database {
            target.extend_from_slice(database.as_bytes());
            target.push(0);
        }
        if capabilities & capability::PLUGIN_AUTH != 0 {
            target.extend_from_slice(plugin.as_bytes());
            target.push(0);
        }
    });
    loop {
        let packet = next(transport, url).await?;
        match packet.first() {
            Some(0x00) => {
                if plugin == CACHING_SHA2 && !password.is_empty() {
                    lock(&CACHED).insert(cached(url));
                }
                break;
            }
            Some(0xfe) => {
                let mut bytes = Bytes(&packet[1..]);
                let name = bytes.until_nul().ok_or_else(|| garbled("request of a password"))?;
                plugin = String::from_utf8_lossy(name).into_owned();
                nonce = bytes.0.strip_suffix(&[0]).unwrap_or(bytes.0).to_vec();
                let answer = response(&plugin, &nonce, password, transport)?;
                transport.send(|target| target.extend_from_slice(&answer));
            }
            // The server has the password's hash in its cache. Its OK follows.
            Some(0x01) if plugin == CACHING_SHA2 && packet.get(1) == Some(&3) => {}
            Some(0x01) if plugin == CACHING_SHA2 && packet.get(1) == Some(&4) => {
                let secret = whole_password(transport, url, password, &nonce).await?;
                transport.send(|target| target.extend_from_slice(&secret));
            }
            _ => return Err(garbled("answer to the login").into()),
        }
    }
    Ok(Server { version: greeting.version, connection: greeting.connection, capabilities })
}

/// Reads the next packet. An error packet becomes an error.
async fn next(transport: &mut Transport, url: &Url) -> CommandResult<Vec<u8>> {
    let packet = transport.packet(1).await.map_err(|error| {
        too_large(&error).unwrap_or_else(|| Error::Connection(format!("{url} broke off the login: {error}")))
    })?;
    let packet = transport.bytes(packet);
    if packet.first() == Some(&0xff) {
        let mut error = ServerError::parse(packet);
        // The server's message names the user and says whether a password was given, never the password.
        error.message = format!("{url} refuses the login: {}", error.message);
        return Err(Error::Connection(format!("{NAME}: {error}")).into());
    }
    Ok(packet.to_vec())
}

/// The response of a plugin that proves the password.
fn response(plugin: &str, nonce: &[u8], password: &str, transport: &Transport) -> Result<Vec<u8>> {
    let password = password.as_bytes();
    match plugin {
        NATIVE => Ok(scramble_native(nonce, password).map(Vec::from).unwrap_or_default()),
        CACHING_SHA2 => Ok(scramble_sha256(nonce, password).map(Vec::from).unwrap_or_default()),
        "mysql_clear_password" if transport.is_private() => Ok([password, &[0]].concat()),
        "mysql_clear_password" => Err(Error::Insecure(
            "the server wants the password as it is, which is sent over verified TLS (tls=verify in the URL) or a Unix socket only"
                .to_owned(),
        )),
        other => Err(Error::Unsupported(format!(
            "the server wants the password by the plugin {other}, which is not known here; use \
             caching_sha2_password or mysql_native_password for this user"
        ))),
    }
}

/// The password itself: over TLS or a Unix socket as it is, else encrypted with the server's key. In TLS a server takes an encrypted password
/// or a request for its key for the password
/// ([the protocol](https://dev.mysql.com/doc/dev/mysql-server/latest/page_caching_sha2_authentication_exchanges.html)). A server whose
/// certificate was not verified gets the password only if the user allows any server to learn it.
async fn whole_password(transport: &mut Transport, url: &Url, password: &str, nonce: &[u8]) -> CommandResult<Vec<u8>> {
    let mut secret = [password.as_bytes(), &[0]].concat();
    if transport.is_private() || (url.tls.is_some() && url.allow_public_key_retrieval) {
        return Ok(secret);
    }
    let may_have_key = url.server_public_key.is_some() || url.allow_public_key_retrieval;
    if (url.tls.is_some() || !may_have_key) && lock(&CACHED).contains(&cached(url)) {
        // A server asks for the password also if the proof of it is wrong, and does not tell why it asks.
        return Err(Error::Connection(format!(
            "{NAME}: {url} refuses the login: the password is not the one that the server has let in before, or the server has forgotten \
             that one since; only a server that proves who it is gets the password itself (tls=verify)"
        ))
        .into());
    }
    if url.tls.is_some() {
        return Err(Error::Insecure(format!(
            "{url} wants the password itself, and shows a certificate that was not verified; use tls=verify (with tls-ca=/file.pem for a \
             certificate of your own), or let any server learn the password (allow-public-key-retrieval=on)"
        ))
        .into());
    }
    let key = public_key(transport, url).await?;
    for (index, byte) in secret.iter_mut().enumerate() {
        *byte ^= nonce.get(index % nonce.len().max(1)).copied().unwrap_or_default();
    }
    // The crate panics on bytes that are no key.
    catch_panic(|| Ok(crypto::encrypt(&secret, &key))).map_err(|_| match &url.server_public_key {
        Some(file) => Error::InvalidArgument(format!("{} holds no RSA key in PEM", file.display())).into(),
        None => garbled("public key").into(),
    })
}

/// The key that the password is encrypted with. A key that the server sends may belong to anybody who answers in its place.
/// So the server is asked for it only if the user allows that.
async fn public_key(transport: &mut Transport, url: &Url) -> CommandResult<Vec<u8>> {
    if let Some(file) = &url.server_public_key {
        let unreadable = |error| Error::Io { path: file.display().to_string(), source: std::sync::Arc::new(error) };
        return Ok(std::fs::read(file).map_err(unreadable)?);
    }
    if !url.allow_public_key_retrieval {
        return Err(Error::Insecure(format!(
            "{url} wants the password over a connection on which nothing shows who it is; use tls=verify, or give the server's key \
             (server-public-key=/file.pem in the URL), or let any server give its own (allow-public-key-retrieval=on)"
        ))
        .into());
    }
    transport.send(|target| target.push(2));
    let packet = next(transport, url).await?;
    Ok(packet.strip_prefix(&[1]).ok_or_else(|| garbled("public key"))?.to_vec())
}
