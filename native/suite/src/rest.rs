//! The family `rest`: reads by primary key over the REST requests of `RonDB`.
//!
//! Operation `i` reads the row `i * 617 mod 1000` and carries `i` as its id. The answer repeats the id. So the sum of the ids
//! identifies the answered operations. The name and text of every column are compared with the operation's row.

mod aggregation;
mod connection;
mod data;
mod ours;
#[cfg(feature = "all")]
mod reqwest_crate;

use std::sync::{Arc, Mutex};

use boundary_bench_engine::checksum::Checksum;
use boundary_bench_http::{Address, HttpClient, HttpOptions, Origin, Request, StreamedResponse, Version};
use boundary_bench_kernel::cancel::CancelToken;
use boundary_bench_kernel::load::{Requester, run_load};
use boundary_bench_kernel::{Error, Result, lock};

use crate::requests::{RequestCell, RequestLane, RequestSpec, block_on, runtime};
use crate::sample::CellSample;
use aggregation::{AggregationSums, Requests, Scan};
use connection::{Connection, RestResponse};
use data::{Family, Input, Sums, family};
pub(crate) use ours::Ours;
#[cfg(feature = "all")]
pub(crate) use reqwest_crate::Reqwest;

/// The name of the target in error messages.
const NAME: &str = "rest";

/// The setting in which all requests of a requester share one connection of HTTP/2.
const HTTP2: &str = "http2";

const BATCH_PATH: &str = "/0.1.0/batch";

/// The time-out of the requests that probe the server's abilities.
const PROBE_TIMEOUT: std::time::Duration = std::time::Duration::from_secs(10);

fn rest_error(message: String) -> Error {
    Error::Engine { engine: NAME, message }
}

/// The work of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum RequestKind {
    /// One read by primary key.
    Call,
    /// Many single reads under way at once.
    Many,
    /// A batch request of the server's, with at most this many operations.
    Batch(u32),
    /// An aggregation here, over rows pulled by a scan.
    Pull,
    /// An aggregation that the server computes.
    PushDown,
}

/// The place of a server, with the key of its address in the headers: `http://:key@host:4406`.
fn place_of(server: &Address, options: &HttpOptions) -> Result<Origin> {
    let key = server.secret.as_ref().map(|key| format!("x-api-key: {key}\r\n"));
    let headers = format!("content-type: application/json\r\n{}", key.unwrap_or_default());
    let options =
        HttpOptions { headers, trust: server.trust.clone(), most_bytes: server.most_bytes, ..options.clone() };
    Origin::new(server.url.clone(), options)
}

fn client_of(server: &Address, options: &HttpOptions) -> Result<HttpClient> {
    Ok(HttpClient::new(Arc::new(place_of(server, options)?)))
}

/// The body of a successful response, or an error for any other response.
fn body<'a>(answer: impl Into<RestResponse<'a>>) -> Result<&'a [u8]> {
    let answer = answer.into();
    check_status(answer.status, answer.body).map(|()| answer.body)
}

fn check_status(status: u16, body: &[u8]) -> Result<()> {
    let text = || String::from_utf8_lossy(&body[..body.len().min(300)]).into_owned();
    match status {
        200 => Ok(()),
        429 => Err(rest_error(format!("the server limits how often it is asked (429 {}); ask less by --rate", text()))),
        401 => Err(rest_error(format!("the server wants another key (401 {}); give it by --api-key", text()))),
        404 => Err(Error::Unsupported(format!("the server has no such table or row (404 {})", text()))),
        status => Err(rest_error(format!("the server answered {status} {}", text()))),
    }
}

/// The common parts of the requests of a cell.
struct Inputs {
    /// The input of reads by primary key. An aggregation has the input of `pkread`.
    reads: Input,
    aggregation: Requests,
}

/// A requester, with its connections.
struct RestRequester<C> {
    place: Arc<Origin>,
    client: C,
    spec: Arc<RequestSpec>,
    input: Arc<Inputs>,
    work: RequestKind,
    sums: Sums,
    aggregated: AggregationSums,
    /// The bodies of the requests, one after the other.
    text: String,
    /// The offset in `text` at which each body ends.
    ends: Vec<usize>,
}

impl<C: Connection> Requester for RestRequester<C> {
    async fn request(&mut self, index: u64) -> Result<()> {
        let operations = self.spec.operations_of(index);
        let Self { place, client, input, sums, aggregated, text, ends, .. } = self;
        let Inputs { reads: input, aggregation } = &**input;
        text.clear();
        match self.work {
            RequestKind::Pull => {
                let request = Request::post(&aggregation.scan_path, aggregation.scan.as_bytes());
                let mut response = StreamedResponse::open(place, &request).await?;
                let mut scan = Scan::new(aggregation)?;
                let status = response.status();
                while let Some(piece) = response.next_piece().await? {
                    check_status(status, piece)?;
                    scan.add(piece)?;
                }
                aggregated.add_scan(&scan)
            }
            RequestKind::PushDown => {
                let sql = aggregation.sql.as_bytes();
                client.call(aggregation::SQL_PATH, sql, |answer| aggregated.add_answer(body(answer)?)).await
            }
            RequestKind::Call => {
                input.write_read(operations.start, text);
                client
                    .call(&input.path, text.as_bytes(), |answer| sums.add_read(input, operations.start, body(answer)?))
                    .await
            }
            RequestKind::Batch(most) if operations.end - operations.start <= u64::from(most) => {
                input.write_batch(operations.clone(), text);
                client
                    .call(BATCH_PATH, text.as_bytes(), |answer| sums.add_batch(input, operations.start, body(answer)?))
                    .await
            }
            work => {
                ends.clear();
                let first = operations.start;
                let (path, step, is_batch) = if let RequestKind::Batch(most) = work {
                    let mut start = operations.start;
                    while start < operations.end {
                        let end = operations.end.min(start + u64::from(most));
                        input.write_batch(start..end, text);
                        ends.push(text.len());
                        start = end;
                    }
                    (BATCH_PATH, u64::from(most), true)
                } else {
                    for operation in operations {
                        input.write_read(operation, text);
                        ends.push(text.len());
                    }
                    (input.path.as_str(), 1, false)
                };
                let mut start = 0;
                let bodies = ends.iter().map(|end| {
                    let body = &text.as_bytes()[start..*end];
                    start = *end;
                    body
                });
                let bodies = bodies.collect::<Vec<_>>();
                let add = |index: usize, answer: RestResponse<'_>| {
                    let operation = first + index as u64 * step;
                    let json = body(answer)?;
                    if is_batch {
                        sums.add_batch(input, operation, json)
                    } else {
                        sums.add_read(input, operation, json)
                    }
                };
                client.batch(path, &bodies, add).await
            }
        }
    }
}

/// A cell of the family, connected.
struct RestCell<C> {
    spec: Arc<RequestSpec>,
    /// The servers. They are assigned to the requesters in turn.
    servers: Vec<Address>,
    input: Arc<Inputs>,
    work: RequestKind,
    expected: Checksum,
    /// The requesters. Empty while a sample runs.
    connections: Mutex<Vec<RestRequester<C>>>,
}

pub(crate) fn open<C: Connection>(spec: &RequestSpec, cancel: &CancelToken) -> Result<Box<dyn RequestCell>> {
    let family = family()?;
    let is_aggregation = spec.workload.starts_with("aggregation.");
    let reads = Input::of(family, if is_aggregation { "pkread" } else { &spec.workload })?;
    let input = Inputs { reads, aggregation: Requests::of(&family.aggregation) };
    let servers = spec.url.split(',').map(str::parse).collect::<Result<Vec<Address>>>()?;
    let first = servers.first().ok_or_else(|| Error::InvalidArgument("there is no URL".to_owned()))?;
    let work = match (spec.workload.starts_with("batchpkread"), spec.lane) {
        (_, RequestLane::Call) if is_aggregation && spec.batch == 1 => match spec.setting.as_deref() {
            Some("push_down") => RequestKind::PushDown,
            _ => RequestKind::Pull,
        },
        (true, RequestLane::Batch) => RequestKind::Batch(spec.batch),
        (false, RequestLane::Call) if spec.batch == 1 => RequestKind::Call,
        (false, RequestLane::Batch) if !is_aggregation => RequestKind::Many,
        _ => return Err(spec.unknown("rest")),
    };
    let (work, expected) = match work {
        RequestKind::Pull | RequestKind::PushDown => {
            (work, aggregation::expected(spec.operations, count_rows(first, &input.aggregation)?))
        }
        _ if spec.setting.as_deref() == Some(HTTP2) => {
            let work = probe(first, &input.reads, work, family, Version::Http2).map_err(|error| match error {
                Error::Connection(reason) => Error::Unsupported(format!("the server does not speak HTTP/2 ({reason})")),
                other => other,
            })?;
            (work, input.reads.expected(spec.operations))
        }
        _ => (probe(first, &input.reads, work, family, Version::Http1)?, input.reads.expected(spec.operations)),
    };
    cancel.check()?;
    let cell = RestCell::<C> {
        spec: Arc::new(spec.clone()),
        servers,
        input: Arc::new(input),
        work,
        expected,
        connections: Mutex::default(),
    };
    let connections = cell.connect()?;
    *lock(&cell.connections) = connections;
    Ok(Box::new(cell))
}

/// Sends the cell's request once, to find out whether the table exists, and the most operations that the server takes in a batch.
fn probe(server: &Address, input: &Input, work: RequestKind, family: &Family, version: Version) -> Result<RequestKind> {
    let mut client =
        client_of(server, &HttpOptions { timeout: Some(PROBE_TIMEOUT), version, ..HttpOptions::default() })?;
    let (mut text, mut sums) = (String::new(), Sums::default());
    block_on(runtime()?, async {
        let RequestKind::Batch(asked) = work else {
            input.write_read(0, &mut text);
            let request = Request::post(&input.path, text.as_bytes());
            client.call(&request, |response| sums.add_read(input, 0, body(&response)?)).await?;
            return input.check(1, sums).map(|()| work);
        };
        for most in [asked, family.old_batch] {
            text.clear();
            input.write_batch(0..u64::from(most), &mut text);
            let request = Request::post(BATCH_PATH, text.as_bytes());
            let is_refused = client
                .call(&request, |response| {
                    let is_refused = matches!(response.status, 400 | 413) && most > family.old_batch;
                    if is_refused { Ok(true) } else { sums.add_batch(input, 0, body(&response)?).map(|()| false) }
                })
                .await?;
            if !is_refused {
                return input.check(most.into(), sums).map(|()| RequestKind::Batch(most));
            }
        }
        Err(rest_error(format!("the server takes no batches of {} operations", family.old_batch)))
    })
}

/// The number of rows of `lineitem` on the server.
fn count_rows(server: &Address, requests: &Requests) -> Result<u64> {
    let mut client = client_of(server, &HttpOptions { timeout: Some(PROBE_TIMEOUT), ..HttpOptions::default() })?;
    let request = Request::post(aggregation::SQL_PATH, requests.count.as_bytes());
    block_on(runtime()?, client.call(&request, |response| aggregation::count_of(body(&response)?)))
}

impl<C: Connection> RestCell<C> {
    fn connect(&self) -> Result<Vec<RestRequester<C>>> {
        let batch = self.spec.batch as usize;
        let options = match (self.work, self.spec.setting.as_deref()) {
            (RequestKind::Many, Some("pipelined")) => HttpOptions { pipelining: batch, ..HttpOptions::default() },
            (RequestKind::Many, Some(HTTP2)) => HttpOptions { version: Version::Http2, ..HttpOptions::default() },
            (RequestKind::Many, _) => {
                HttpOptions { connections: batch.min(family()?.most_connections), ..HttpOptions::default() }
            }
            (RequestKind::Batch(most), _) => {
                HttpOptions { connections: batch.div_ceil(most as usize), ..HttpOptions::default() }
            }
            (RequestKind::Call | RequestKind::Pull | RequestKind::PushDown, _) => HttpOptions::default(),
        };
        block_on(self.spec.runtime()?, async {
            let mut connections = Vec::new();
            for (_, server) in (0..self.spec.connections).zip(self.servers.iter().cycle()) {
                let place = Arc::new(place_of(server, &options)?);
                let client = C::open(&place).await?;
                connections.push(RestRequester {
                    place,
                    client,
                    spec: Arc::clone(&self.spec),
                    input: Arc::clone(&self.input),
                    work: self.work,
                    sums: Sums::default(),
                    aggregated: AggregationSums::default(),
                    text: String::new(),
                    ends: Vec::new(),
                });
            }
            Ok(connections)
        })
    }
}

impl<C: Connection> RequestCell for RestCell<C> {
    fn sample(&self, cancel: &CancelToken) -> Result<CellSample> {
        let mut connections = std::mem::take(&mut *lock(&self.connections));
        if connections.is_empty() {
            connections = self.connect()?;
        }
        for connection in &mut connections {
            connection.sums = Sums::default();
            connection.aggregated = AggregationSums::default();
        }
        let (connections, outcome) = block_on(self.spec.runtime()?, run_load(connections, &self.spec.load(), cancel))?;
        let (mut sums, mut aggregated) = (Sums::default(), AggregationSums::default());
        for connection in &connections {
            sums.merge(connection.sums);
            aggregated.merge(&connection.aggregated);
        }
        *lock(&self.connections) = connections;
        let is_aggregation = matches!(self.work, RequestKind::Pull | RequestKind::PushDown);
        CellSample::of_load(&outcome, if is_aggregation { aggregated.checksum() } else { sums.checksum() })
    }

    fn expected(&self) -> &Checksum {
        &self.expected
    }

    fn close(&self) -> Result<()> {
        lock(&self.connections).clear();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_key_of_a_url_becomes_a_header() {
        let address: Address = "http://:a%2Fb.c@h:4406/x".parse().unwrap();
        let place = place_of(&address, &HttpOptions::default()).unwrap();
        assert_eq!(place.url().to_string(), "http://h:4406/x");
        assert_eq!(place.options().headers, "content-type: application/json\r\nx-api-key: a/b.c\r\n");
        assert_eq!("http://:%x@h".parse::<Address>().err().unwrap().code(), "BB_INVALID_ARGUMENT");
    }
}
