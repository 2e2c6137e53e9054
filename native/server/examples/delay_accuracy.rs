//! Measures the delay that the proxy of a simulated network really adds to a round trip, after a build of the server:
//! `cargo run --release -p boundary-bench-server --example delay_accuracy`
#![expect(clippy::print_stdout, reason = "it is a program for a terminal")]

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::time::{Duration, Instant};

use boundary_bench_core::engine::CancelToken;
use boundary_bench_core::{Error, Result};
use boundary_bench_server::{DelayProcess, NetworkOptions};

const DELAYS_US: [u64; 5] = [0, 50, 100, 500, 2000];
const TRIPS: usize = 1000;

/// Round trips before the measured ones, which are slower.
const WARM_UP: usize = 50;

/// Bytes of a message, about as many as an exchange of one row has.
const MESSAGE_BYTES: usize = 256;

fn main() -> Result<()> {
    let echo = echo().map_err(io_error)?;
    println!("| Each way (µs) | Asked (µs) | Added, median | p99 | Off by |");
    println!("| ---: | ---: | ---: | ---: | ---: |");
    for delay in DELAYS_US {
        let network = NetworkOptions { delay: Duration::from_micros(delay), megabits: None };
        let proxy = DelayProcess::start(None, &[], &echo.to_string(), &network, &CancelToken::default())?;
        let address = proxy.url().trim_start_matches("http://").to_owned();
        // Both are measured at nearly the same time, under the same load of the machine.
        let plain = round_trips(&echo.to_string()).map_err(io_error)?;
        let delayed = round_trips(&address).map_err(io_error)?;
        let asked = 2 * delay;
        let (median, p99) = (at(&delayed, 50) - at(&plain, 50), at(&delayed, 99) - at(&plain, 50));
        let off = if asked == 0 {
            "—".to_owned()
        } else {
            format!("{:+.1} %", (median - asked as f64) / asked as f64 * 100.0)
        };
        println!("| {delay} | {asked} | {median:.0} | {p99:.0} | {off} |");
    }
    Ok(())
}

/// A server that sends back the bytes it receives.
fn echo() -> std::io::Result<SocketAddr> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let address = listener.local_addr()?;
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            std::thread::spawn(move || {
                let mut stream = stream;
                let mut buffer = [0; MESSAGE_BYTES];
                stream.set_nodelay(true)?;
                while let Ok(count @ 1..) = stream.read(&mut buffer) {
                    stream.write_all(&buffer[..count])?;
                }
                std::io::Result::Ok(())
            });
        }
    });
    Ok(address)
}

/// The times of round trips in microseconds, in ascending order.
fn round_trips(address: &str) -> std::io::Result<Vec<f64>> {
    let mut stream = TcpStream::connect(address)?;
    stream.set_nodelay(true)?;
    let mut message = [7; MESSAGE_BYTES];
    let mut times = Vec::with_capacity(TRIPS);
    for trip in 0..WARM_UP + TRIPS {
        let started = Instant::now();
        stream.write_all(&message)?;
        stream.read_exact(&mut message)?;
        if trip >= WARM_UP {
            times.push(started.elapsed().as_secs_f64() * 1e6);
        }
    }
    times.sort_by(f64::total_cmp);
    Ok(times)
}

fn at(sorted: &[f64], percent: usize) -> f64 {
    sorted[(sorted.len() - 1) * percent / 100]
}

fn io_error(source: std::io::Error) -> Error {
    Error::Io { path: "the echo".to_owned(), source: Arc::new(source) }
}
