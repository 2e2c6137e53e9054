//! Writes: the format of a body, from its headers, and the way into the store.

use std::borrow::Cow;
use std::io::Read;
use std::time::SystemTime;

use boundary_bench_ingest::line::{LineOptions, parse_lines};
use boundary_bench_ingest::msgpack::{ColumnBuffers, RowOptions, decode_columns, decode_rows};
use boundary_bench_ingest::{IngestStore, Points, Precision};
use flate2::read::MultiGzDecoder;
use hyper::StatusCode;
use hyper::header::{CONTENT_ENCODING, CONTENT_TYPE, HeaderName};
use hyper::http::request::Parts;

use super::{IngestError, parameter};

/// The format of a body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Format {
    Lines,
    Rows,
    Columns,
}

impl Format {
    /// The format of a content type, whose parameters are ignored.
    fn of(content_type: &str) -> Self {
        let kind = content_type.split(';').next().unwrap_or_default().trim();
        if kind.eq_ignore_ascii_case("application/msgpack") {
            Self::Rows
        } else if kind.eq_ignore_ascii_case("application/vnd.hyperbytedb.columnar-msgpack.v1") {
            Self::Columns
        } else {
            Self::Lines
        }
    }
}

/// Writes the points of a body into the database that the request names; returns the number of points.
pub(super) fn write(
    store: &IngestStore,
    request: &Parts,
    body: &[u8],
    max_points: usize,
    max_body: usize,
) -> Result<usize, IngestError> {
    let query = request.uri.query().unwrap_or_default();
    let database = parameter(query, "db").unwrap_or_default();
    let precision = Precision::of(&parameter(query, "precision").unwrap_or_default());
    let body = decompressed(header(request, &CONTENT_ENCODING), body, max_body)?;
    let now = SystemTime::UNIX_EPOCH.elapsed().unwrap_or_default().as_nanos();
    let now = i64::try_from(now).unwrap_or(i64::MAX);
    let points = match Format::of(header(request, &CONTENT_TYPE)) {
        Format::Lines => parse_lines(&body, &LineOptions { precision, now, most_points: max_points })?,
        Format::Rows => decode_rows(&body, &RowOptions { precision, now, most_points: max_points }, Points::default())?,
        Format::Columns => {
            let batch = decode_columns(&body, ColumnBuffers::default(), max_points)?;
            return Ok(store.write_columns(&database, batch, precision, now)?);
        }
    };
    Ok(store.write_fitting_points(&database, points)?)
}

fn header<'request>(request: &'request Parts, name: &HeaderName) -> &'request str {
    request.headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default()
}

/// The body without its compression. `limit` holds for the decompressed bytes: a few bytes of gzip can stand for any number.
fn decompressed<'body>(encoding: &str, body: &'body [u8], limit: usize) -> Result<Cow<'body, [u8]>, IngestError> {
    match encoding.trim() {
        "" => return Ok(Cow::Borrowed(body)),
        identity if identity.eq_ignore_ascii_case("identity") => return Ok(Cow::Borrowed(body)),
        gzip if gzip.eq_ignore_ascii_case("gzip") => {}
        other => {
            let message = format!("the content encoding {other:?} is not supported: use gzip, or none");
            return Err(IngestError::new(StatusCode::BAD_REQUEST, message));
        }
    }
    let mut bytes = Vec::new();
    let read = MultiGzDecoder::new(body).take(limit as u64 + 1).read_to_end(&mut bytes);
    read.map_err(|error| IngestError::new(StatusCode::BAD_REQUEST, format!("the body is not readable gzip: {error}")))?;
    if bytes.len() > limit {
        let message = format!("the body has more than {limit} bytes after gunzip");
        return Err(IngestError::new(StatusCode::PAYLOAD_TOO_LARGE, message));
    }
    Ok(Cow::Owned(bytes))
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use flate2::Compression;
    use flate2::write::GzEncoder;

    use super::*;

    #[test]
    fn a_format_is_known_by_its_content_type() {
        for (content_type, format) in [
            ("application/msgpack", Format::Rows),
            ("Application/MsgPack; charset=binary", Format::Rows),
            ("application/vnd.HyperbyteDB.columnar-msgpack.v1", Format::Columns),
            ("text/plain", Format::Lines),
            ("", Format::Lines),
        ] {
            assert_eq!(Format::of(content_type), format, "{content_type}");
        }
    }

    #[test]
    fn what_gzip_stands_for_is_bounded() {
        let gzip = |bytes: &[u8]| {
            let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
            encoder.write_all(bytes).unwrap();
            encoder.finish().unwrap()
        };
        let small = gzip(b"bench v=1");
        assert_eq!(&*decompressed("GZIP", &small, 9).unwrap(), b"bench v=1");
        assert_eq!(decompressed("gzip", &small, 8).unwrap_err().status, StatusCode::PAYLOAD_TOO_LARGE);
        let bomb = gzip(&vec![0; 50 << 20]);
        assert!(bomb.len() < 100 << 10);
        assert_eq!(decompressed("gzip", &bomb, 1 << 20).unwrap_err().status, StatusCode::PAYLOAD_TOO_LARGE);
        assert_eq!(decompressed("gzip", b"no gzip", 100).unwrap_err().status, StatusCode::BAD_REQUEST);
        assert_eq!(decompressed("gzip", &small[..10], 100).unwrap_err().status, StatusCode::BAD_REQUEST);
        assert_eq!(decompressed("br", &small, 100).unwrap_err().status, StatusCode::BAD_REQUEST);
        assert_eq!(&*decompressed("identity", b"x", 1).unwrap(), b"x");
    }
}
