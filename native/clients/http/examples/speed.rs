//! Measures the requests per second of the client, to compare with other programs: `bench/lab/rest-ceiling.mjs` runs it.
//!
//!     speed URL CONNECTIONS SECONDS [PATH [BODY]]

use std::io::Write;
use std::sync::Arc;
use std::time::{Duration, Instant};

use boundary_bench_http::{HttpClient, HttpOptions, Place, Request};
use boundary_bench_kernel::{Error, Result};

fn main() -> Result<()> {
    let arguments = std::env::args().skip(1).collect::<Vec<_>>();
    let argument = |index: usize| arguments.get(index).map(String::as_str);
    let usage = || Error::InvalidArgument("speed URL CONNECTIONS SECONDS [PATH [BODY]]".to_owned());
    let url = argument(0).ok_or_else(usage)?.parse()?;
    let number = |index: usize| argument(index).and_then(|text| text.parse::<u32>().ok()).ok_or_else(usage);
    let (connections, seconds) = (number(1)?, number(2)?);
    let headers = "content-type: application/json\r\n".to_owned();
    let place = Arc::new(Place::new(url, HttpOptions { headers, ..HttpOptions::default() })?);
    let (path, body) = (argument(3).unwrap_or("/").to_owned(), argument(4).map(str::to_owned));
    // One thread serves the client as in the suite; the others of a small machine are left to the server.
    let mut builder = tokio::runtime::Builder::new_multi_thread();
    let runtime = builder.worker_threads(1).enable_all().build();
    let runtime = runtime.map_err(|error| Error::Internal(error.to_string()))?;
    let rate = runtime.block_on(async {
        let started = Instant::now();
        let deadline = started + Duration::from_secs(seconds.into());
        let mut tasks = tokio::task::JoinSet::new();
        for _ in 0..connections {
            let (mut client, path, body) = (HttpClient::new(Arc::clone(&place)), path.clone(), body.clone());
            tasks.spawn(async move {
                let mut requests = 0_u64;
                let request = match &body {
                    Some(body) => Request::post(&path, body.as_bytes()),
                    None => Request::get(&path),
                };
                while Instant::now() < deadline {
                    client
                        .call(&request, |response| match response.status {
                            200 => Ok(()),
                            status => Err(Error::InvalidArgument(format!("the server answered {status}"))),
                        })
                        .await?;
                    requests += 1;
                }
                Ok::<_, Error>(requests)
            });
        }
        let mut requests = 0;
        while let Some(ended) = tasks.join_next().await {
            requests += ended.map_err(|error| Error::Internal(error.to_string()))??;
        }
        Ok::<_, Error>(requests as f64 / started.elapsed().as_secs_f64())
    })?;
    writeln!(std::io::stdout(), "{rate:.0}").map_err(|error| Error::Internal(error.to_string()))
}
