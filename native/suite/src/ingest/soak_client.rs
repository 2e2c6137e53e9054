//! The client of the soak in Rust. It makes and sends the bodies.

use std::sync::Arc;
use std::time::Duration;

use boundary_bench_codecs::line::{LineHead, put_columns};
use boundary_bench_codecs::msgpack::{COLUMNS_CONTENT_TYPE, ColumnsWriter, ROWS_CONTENT_TYPE, RowsWriter};
use boundary_bench_http::{Address, HttpClient, HttpOptions, Origin, Request, Response};
use boundary_bench_kernel::{Error, Result};
use serde::{Deserialize, Serialize};

use super::{family, room};

/// The time-out of a request.
const TIMEOUT: Duration = Duration::from_secs(30);

/// The status of the response of a server that has kept the points.
const KEPT: u16 = 204;

/// The most characters of a response that an error repeats.
const MOST_TEXT: usize = 300;

/// The name of the server in the errors that its responses tell of.
pub(super) const INGEST: &str = "ingest";

pub(super) fn ingest_error(message: String) -> Error {
    Error::Engine { engine: INGEST, message }
}

/// An encoding of `/write`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SoakEncoding {
    /// Columns of `MessagePack`.
    Columnar,
    /// Rows of `MessagePack`.
    Rows,
    /// Line protocol.
    Lines,
}

impl SoakEncoding {
    fn content_type(self) -> &'static str {
        match self {
            Self::Columnar => COLUMNS_CONTENT_TYPE,
            Self::Rows => ROWS_CONTENT_TYPE,
            Self::Lines => "text/plain; charset=utf-8",
        }
    }
}

/// The authorization header with the key of an address, empty without a key. `HyperbyteDB` takes the key as `user:password`.
pub(super) fn key_header(address: &Address) -> String {
    address.secret.as_ref().map_or_else(String::new, |key| format!("authorization: Token {key}\r\n"))
}

/// An encoder of the batches of one series.
enum Encoder {
    Columnar(ColumnsWriter),
    Rows(RowsWriter),
    Lines(LineHead),
}

impl Encoder {
    fn new(encoding: SoakEncoding, measurement: &str, worker: u32) -> Result<Self> {
        let field = &family()?.field;
        let worker = worker.to_string();
        let tags = [("worker", worker.as_str())];
        Ok(match encoding {
            SoakEncoding::Columnar => Self::Columnar(ColumnsWriter::new(measurement, &tags, field)?),
            SoakEncoding::Rows => Self::Rows(RowsWriter::new(measurement, &tags, field)?),
            SoakEncoding::Lines => Self::Lines(LineHead::new(measurement, &tags, field)?),
        })
    }

    /// Encodes a batch into `body`, and returns the number of bytes written. `body` grows if it is too small.
    fn encode(&self, values: &[f64], times: &[i64], body: &mut Vec<u8>) -> Result<usize> {
        let needed = match self {
            Self::Columnar(writer) => writer.most_bytes(values.len(), true),
            Self::Rows(writer) => writer.most_bytes(values.len(), true),
            Self::Lines(head) => head.most_bytes(values.len()),
        };
        let body = room(body, needed);
        Ok(match self {
            Self::Columnar(writer) => writer.encode(values, Some(times), body)?,
            Self::Rows(writer) => writer.encode(values, Some(times), body)?,
            Self::Lines(head) => put_columns(body, head, values, Some(times))?,
        })
    }
}

/// A response of the server.
pub(super) struct SoakResponse {
    pub status: u16,
    pub text: String,
}

impl SoakResponse {
    pub fn of(response: &Response<'_>) -> Self {
        Self { status: response.status, text: String::from_utf8_lossy(response.body).into_owned() }
    }

    /// Fails unless the server has kept the points.
    pub fn check(&self) -> Result<()> {
        if self.status == KEPT { Ok(()) } else { Err(ingest_error(self.kind())) }
    }

    /// The kind of a failure: the response's status and error text, with digits replaced, so that equal failures of different
    /// requests are equal.
    pub fn kind(&self) -> String {
        let said = serde_json::from_str::<serde_json::Value>(&self.text).ok();
        let said = said.as_ref().and_then(|said| said.get("error")?.as_str()).unwrap_or(&self.text);
        let mut kind = format!("HTTP {}: ", self.status);
        for character in said.chars().take(MOST_TEXT) {
            if !character.is_ascii_digit() {
                kind.push(character);
            } else if !kind.ends_with('N') {
                kind.push('N');
            }
        }
        kind
    }
}

/// One connection, and the buffers of its batches.
pub(super) struct SoakClient {
    client: HttpClient,
    encoding: SoakEncoding,
    encoder: Option<Encoder>,
    values: Vec<f64>,
    times: Vec<i64>,
    body: Vec<u8>,
    length: usize,
}

impl SoakClient {
    pub fn new(url: &str, encoding: SoakEncoding) -> Result<Self> {
        let address: Address = url.trim_end_matches('/').parse()?;
        let options = HttpOptions {
            headers: format!("content-type: {}\r\n{}", encoding.content_type(), key_header(&address)),
            timeout: Some(TIMEOUT),
            ..address.options()
        };
        let client = HttpClient::new(Arc::new(Origin::new(address.url, options)?));
        let (values, times, body) = (Vec::new(), Vec::new(), Vec::new());
        Ok(Self { client, encoding, encoder: None, values, times, body, length: 0 })
    }

    pub async fn connect(&mut self) -> Result<()> {
        self.client.connect().await
    }

    /// Sets the series of the batches that follow.
    pub fn begin(&mut self, measurement: &str, worker: u32) -> Result<()> {
        self.encoder = Some(Encoder::new(self.encoding, measurement, worker)?);
        Ok(())
    }

    /// Encodes a range of points: point `i` has the value `i` thousandths, and its time is `i` milliseconds after `first_time`.
    pub fn fill(&mut self, points: std::ops::Range<u64>, first_time: i64) -> Result<()> {
        let encoder = self.encoder.as_ref().ok_or_else(|| Error::Internal("there is no series".to_owned()))?;
        let divisor = f64::from(family()?.value_divisor);
        self.values.clear();
        self.values.extend(points.clone().map(|point| point as f64 / divisor));
        self.times.clear();
        self.times.extend(points.map(|point| first_time.saturating_add_unsigned(point)));
        self.length = encoder.encode(&self.values, &self.times, &mut self.body)?;
        Ok(())
    }

    /// Sends the batch that was encoded last.
    pub async fn post(&mut self, path: &str) -> Result<SoakResponse> {
        let request = Request::post(path, &self.body[..self.length]);
        self.client.call(&request, |response| Ok(SoakResponse::of(&response))).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failures_of_one_kind_are_told_alike() {
        let text = r#"{"error":"line 17, column 3: no"}"#.to_owned();
        assert_eq!(SoakResponse { status: 400, text }.kind(), "HTTP 400: line N, column N: no");
        assert_eq!(SoakResponse { status: 401, text: "go away".to_owned() }.kind(), "HTTP 401: go away");
    }
}
