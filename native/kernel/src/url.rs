//! The URLs of servers and databases in their parts: `scheme://user:password@host:port/path?option=value&option=value`.
//!
//! The crate `url` follows the rules of browsers. These rules refuse a login or a port without a host, as in a URL with the path
//! of a Unix socket. They also do not tell an empty password from none, and rewrite the paths of files.

use std::borrow::Cow;

use crate::tls::Trust;
use crate::{percent, response_limit};

/// The problem of a URL. It repeats nothing of the text, since the text may hold a password.
pub type Problem = &'static str;

/// The parts of a URL. Every client checks that they are right for its servers.
pub struct UrlParts<'text> {
    /// The text before the first colon.
    pub scheme: &'text str,
    /// The login and the address, or `None` if no `//` follows the scheme.
    pub authority: Option<Authority<'text>>,
    /// The path as it is written, with the slash that it begins with.
    pub path: &'text str,
    /// The options behind the question mark.
    pub options: UrlOptions<'text>,
}

/// A login and an address.
pub struct Authority<'text> {
    /// The user, percent-decoded, or `None` without a login.
    pub user: Option<String>,
    /// The password, percent-decoded.
    pub password: Option<String>,
    /// The host as it is written, without the brackets of an IPv6 address. It may be empty.
    pub host: &'text str,
    /// The port behind the host.
    pub port: Option<u16>,
}

/// The options of a URL, percent-decoded, that are not yet taken.
pub struct UrlOptions<'text>(Vec<(&'text str, String)>);

impl<'text> UrlParts<'text> {
    /// Splits a URL.
    pub fn parse(text: &'text str) -> Result<Self, Problem> {
        let (text, query) = text.split_once('?').unwrap_or((text, ""));
        let options = query.split('&').filter(|option| !option.is_empty()).map(|option| {
            let (name, value) = option.split_once('=').ok_or("an option has no value")?;
            Ok((name, percent::decoded(value)?))
        });
        let options = UrlOptions(options.collect::<Result<_, Problem>>()?);
        let (scheme, rest) = text.split_once(':').ok_or("there is no scheme")?;
        let Some(rest) = rest.strip_prefix("//") else {
            return Ok(Self { scheme, authority: None, path: rest, options });
        };
        let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
        let authority = Authority::parse(authority)?;
        // A password with a slash or a question mark would be taken for a host and a path or options. These are shown and looked up.
        let may_be_login =
            authority.user.is_some() || (!authority.host.is_empty() && !matches!(scheme, "http" | "https"));
        if (may_be_login && path.contains('@')) || options.has_login() {
            return Err(
                "an @ stands behind the host; write / ? # @ as %2F %3F %23 %40 in a user, a password and a path",
            );
        }
        Ok(Self { scheme, authority: Some(authority), path, options })
    }
}

impl<'text> Authority<'text> {
    fn parse(text: &'text str) -> Result<Self, Problem> {
        let (login, address) = text.rsplit_once('@').map_or((None, text), |(login, address)| (Some(login), address));
        let (user, password) = match login.map(|login| login.split_once(':').ok_or(login)) {
            None => (None, None),
            Some(Ok((user, password))) => (Some(user), Some(password)),
            Some(Err(user)) => (Some(user), None),
        };
        let (host, port) = match address.strip_prefix('[') {
            Some(rest) => rest.split_once(']').ok_or("the address has no ]")?,
            None => address.split_at(address.find(':').unwrap_or(address.len())),
        };
        let number = |port: &str| port.strip_prefix(':')?.parse().ok();
        let port = (!port.is_empty()).then(|| number(port).ok_or("the port is no port")).transpose()?;
        let decode = |text: Option<&str>| text.map(percent::decoded).transpose();
        Ok(Self { user: decode(user)?, password: decode(password)?, host, port })
    }
}

impl UrlOptions<'_> {
    /// Whether a name holds an `@`. No option has one: the name is the rest of a password with a question mark.
    fn has_login(&self) -> bool {
        self.0.iter().any(|(name, _)| name.contains('@'))
    }

    /// Takes the value of an option, the last one if it is given several times.
    pub fn take(&mut self, name: &str) -> Option<String> {
        self.0.extract_if(.., |(given, _)| *given == name).last().map(|(_, value)| value)
    }

    /// Takes the options of TLS. `cacert` is an older spelling of `tls-ca`. See [`Trust::of_words`].
    pub fn take_trust(&mut self, scheme: Option<bool>) -> Result<Option<Trust>, Problem> {
        let (tls, authorities, older) = (self.take("tls"), self.take("tls-ca"), self.take("cacert"));
        Trust::of_words(tls.as_deref(), authorities.or(older).as_deref(), scheme)
    }

    /// Takes the limit of a response, in bytes.
    pub fn take_response_limit(&mut self, default: usize) -> Result<usize, Problem> {
        self.take(response_limit::OPTION).map_or(Ok(default), |value| response_limit::parse(&value))
    }

    /// All options that are not yet taken, for a server that knows their names itself.
    pub fn take_all(self) -> Vec<(String, String)> {
        self.0.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
    }

    /// Checks that all options are taken.
    pub fn end(&self) -> Result<(), Problem> {
        if self.0.is_empty() { Ok(()) } else { Err("it has an unknown option") }
    }
}

/// A host as URLs write it: an IPv6 address in brackets.
pub fn bracketed(host: &str) -> Cow<'_, str> {
    if host.contains(':') { Cow::Owned(format!("[{host}]")) } else { Cow::Borrowed(host) }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn urls_have_their_parts() {
        let url =
            UrlParts::parse("a+b://me:s3c%3Ar%40t@[::1]:3307/d%20b?x=a%20b&x=%26&tls=verify&cacert=/c=&").unwrap();
        let Authority { user, password, host, port } = url.authority.unwrap();
        assert_eq!((url.scheme, url.path, host, port), ("a+b", "/d%20b", "::1", Some(3307)));
        assert_eq!((user.as_deref(), password.as_deref()), (Some("me"), Some("s3c:r@t")));
        let mut options = url.options;
        assert_eq!((options.take("x").as_deref(), options.take("x"), options.end().is_err()), (Some("&"), None, true));
        assert_eq!(options.take_trust(None), Ok(Some(Trust::Authorities("/c=".into()))));
        assert_eq!((options.take_response_limit(7), options.end()), (Ok(7), Ok(())));
    }

    #[test]
    fn a_login_an_address_and_a_path_may_each_be_missing() {
        for (text, expected) in [
            ("a://", (None, None, "", None, "")),
            ("a:///p", (None, None, "", None, "/p")),
            ("a://h", (None, None, "h", None, "")),
            ("a://:1/", (None, None, "", Some(1), "/")),
            ("a://u@/p", (Some("u"), None, "", None, "/p")),
            ("a://u:@h", (Some("u"), Some(""), "h", None, "")),
            ("http://h/@p", (None, None, "h", None, "/@p")),
            ("a:///p@q", (None, None, "", None, "/p@q")),
            ("a://:a@b@[::]//p%40q?x=@", (Some(""), Some("a@b"), "::", None, "//p%40q")),
        ] {
            let url = UrlParts::parse(text).unwrap();
            let Authority { user, password, host, port } = url.authority.unwrap();
            assert_eq!((user.as_deref(), password.as_deref(), host, port, url.path), expected, "{text}");
        }
        for (text, path) in [("a:", ""), ("a:/b c", "/b c"), ("a:/b@c", "/b@c")] {
            let url = UrlParts::parse(text).unwrap();
            assert_eq!((url.authority.is_none(), url.path), (true, path));
        }
        assert_eq!((bracketed("h"), bracketed("::1")), ("h".into(), "[::1]".into()));
    }

    #[test]
    fn what_is_no_url_is_refused() {
        for text in [
            "a",
            "a://h:x",
            "a://h:",
            "a://h:65536",
            "a://[::1",
            "a://[::1]1",
            "a:?x",
            "a:?x=%4",
            "a://%zz@h",
            "a://:%FF@h",
            "a://u:p@ss/geheim@h/d",
            "a://u:12/geheim@h/d",
            "a://u@h//@",
            "http://u@h/@",
            "a://u:12?x@h=1",
        ] {
            assert!(UrlParts::parse(text).is_err(), "{text}");
        }
    }

    proptest! {
        #[test]
        fn no_text_makes_it_panic(text in "\\PC*") {
            let _ = UrlParts::parse(&text);
            let _ = UrlParts::parse(&format!("a://{text}"));
        }
    }
}
