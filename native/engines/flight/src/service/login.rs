//! Authentication: none, or by user and password, once for a token or with each call.

use arrow_flight::{BasicAuth, HandshakeRequest, HandshakeResponse};
use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, STANDARD_PAD_INDIFFERENT};
use boundary_bench_kernel::{Result, random};
use bytes::Bytes;
use hyper::Response;
use hyper::header::{AUTHORIZATION, HeaderMap, HeaderValue};
use hyper::http::request;
use prost::Message;
use tonic::Status;

use super::{Login, one};
use crate::grpc::{self, Frames, MessageBody, Messages};

/// The check of logins.
pub(super) struct LoginCheck {
    login: Option<Login>,
    /// The `Bearer ...` token of this service, valid for as long as the service lives.
    token: String,
}

impl LoginCheck {
    pub(super) fn new(login: Option<Login>) -> Result<Self> {
        Ok(Self { login, token: format!("Bearer {}", STANDARD.encode(random::secret::<32>()?)) })
    }

    /// Checks the login in the headers of a call.
    pub(super) fn check(&self, head: &request::Parts) -> std::result::Result<(), Status> {
        if self.login.is_none() || self.knows(&head.headers) { Ok(()) } else { Err(unknown()) }
    }

    fn knows(&self, headers: &HeaderMap) -> bool {
        let Some(given) = headers.get(AUTHORIZATION).and_then(|value| value.to_str().ok()) else { return false };
        if same(given.as_bytes(), self.token.as_bytes()) {
            return true;
        }
        // With or without padding: clients written in Go leave it out.
        let decoded = given.strip_prefix("Basic ").and_then(|text| STANDARD_PAD_INDIFFERENT.decode(text).ok());
        decoded.is_some_and(|text| self.is_login(&text))
    }

    /// Whether `given` is the login's `user:password`.
    fn is_login(&self, given: &[u8]) -> bool {
        let login = self.login.as_ref().map(|login| format!("{}:{}", login.user, login.password));
        login.is_some_and(|login| same(given, login.as_bytes()))
    }

    /// Answers a handshake: returns the token for a login in the headers or in the first message.
    pub(super) async fn shake_hands<B: Frames>(
        &self,
        head: &request::Parts,
        mut messages: Messages<B>,
    ) -> Response<MessageBody> {
        let mut known = self.login.is_none() || self.knows(&head.headers);
        if !known {
            let request: std::result::Result<Option<HandshakeRequest>, Status> = messages.next().await;
            let payload = request.ok().flatten().map(|request| request.payload).unwrap_or_default();
            known = BasicAuth::decode(payload)
                .is_ok_and(|auth| self.is_login(format!("{}:{}", auth.username, auth.password).as_bytes()));
        }
        if !known {
            return grpc::refusal(&unknown());
        }
        let payload = Bytes::copy_from_slice(self.token.as_bytes());
        let mut response = grpc::answer(one(&HandshakeResponse { protocol_version: 0, payload }));
        if let Ok(token) = HeaderValue::from_str(&self.token) {
            response.headers_mut().insert(AUTHORIZATION, token);
        }
        response
    }
}

fn unknown() -> Status {
    Status::unauthenticated("the user or the password is wrong, or missing")
}

/// Compares in a time that does not depend on where the texts differ.
fn same(left: &[u8], right: &[u8]) -> bool {
    left.len() == right.len() && left.iter().zip(right).fold(0, |all, (left, right)| all | (left ^ right)) == 0
}
