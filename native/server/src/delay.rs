//! A proxy that makes the loopback as slow as a network: bytes sent through it arrive after a delay, and no faster than a
//! bandwidth allows. Each connection has two threads for each direction, so that the times of many connections do not add up.
//!
//! A delay counts from when the kernel received the bytes. The sending thread sets its timer earlier by its average lateness,
//! and spins for the rest: the proxy's own time is part of the delay, not added to it, as long as the delay is longer.

use std::io::Write;
use std::net::{IpAddr, Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use boundary_bench_core::bind::{ALLOW_INSECURE_BIND, Protection, check_bind};
use boundary_bench_core::engine::CancelToken;
use boundary_bench_core::private_server::{PrivateServer, ServerFolder, free_port};
use boundary_bench_core::resources::sleep_precisely;
use boundary_bench_core::{Error, Result};

use crate::arguments::{Parsed, number};
use crate::arrival::{self, Arrival};
use crate::namespace::NetworkOptions;
use crate::private::command;

/// The first argument that selects the proxy.
pub(crate) const KIND: &str = "delay";

/// Bytes of the buffer of one read.
const PIECE_BYTES: usize = 64 << 10;

/// Pieces queued in one direction, at most; the sender's TCP window holds back the rest.
const MOST_PIECES: usize = 1024;

const START_TIMEOUT: Duration = Duration::from_secs(30);

/// The options of a proxy.
#[derive(Debug, Clone)]
pub struct DelayOptions {
    /// The address that the proxy listens on; port 0 takes a free one.
    pub listen: SocketAddr,
    /// The address of the server behind the proxy.
    pub to: SocketAddr,
    /// How much later each byte arrives, in each direction.
    pub delay: Duration,
    /// The bandwidth of each direction of a connection, in bytes a second; `None`: unlimited.
    pub bytes_per_second: Option<f64>,
}

/// Reads the arguments after `delay`.
///
/// # Errors
/// The text of the first argument that is unknown, lacks its value or has an unusable one.
pub(crate) fn parse(arguments: impl IntoIterator<Item = String>) -> std::result::Result<Parsed, String> {
    let loopback = |port| SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), port);
    let (mut listen, mut to, mut allows_insecure) = (loopback(0), None, false);
    let (mut delay, mut bytes_per_second) = (Duration::ZERO, None);
    let mut arguments = arguments.into_iter();
    while let Some(argument) = arguments.next() {
        let (name, inline) = match argument.split_once('=') {
            Some((name, value)) => (name.to_owned(), Some(value.to_owned())),
            None => (argument, None),
        };
        match name.as_str() {
            "--help" | "-h" => return Ok(Parsed::Help),
            ALLOW_INSECURE_BIND => {
                allows_insecure = true;
                continue;
            }
            _ => {}
        }
        let value = inline.or_else(|| arguments.next()).ok_or_else(|| format!("{name} needs a value"))?;
        match name.as_str() {
            "--listen" => listen = number(&name, &value)?,
            "--to" => to = Some(number(&name, &value)?),
            "--delay-us" => delay = Duration::from_micros(number(&name, &value)?),
            "--bandwidth-mbps" => {
                let megabits: f64 = number(&name, &value)?;
                if !(megabits.is_finite() && megabits > 0.0) {
                    return Err(format!("{name}: it must be more than 0"));
                }
                bytes_per_second = Some(megabits * 1e6 / 8.0);
            }
            _ => return Err(format!("there is no {name} for a delay")),
        }
    }
    let to = to.ok_or("a delay needs --to, the address of the server behind it")?;
    // A client of the proxy reaches the server behind it as if from this machine.
    let open = Protection { without_login: Some("it has none"), without_tls: Some("it has none") };
    check_bind(listen, open, allows_insecure).map_err(|error| error.to_string())?;
    Ok(Parsed::Delay(Box::new(DelayOptions { listen, to, delay, bytes_per_second })))
}

/// A running proxy. Dropping it stops it.
#[derive(Debug)]
pub struct Delay {
    address: SocketAddr,
    is_stopped: Arc<AtomicBool>,
    accepting: Mutex<Option<JoinHandle<()>>>,
}

impl Delay {
    /// Starts a proxy.
    ///
    /// # Errors
    /// [`Error::Io`] where the address can't be bound.
    pub fn start(options: &DelayOptions) -> Result<Self> {
        let io_error = |source| Error::Io { path: options.listen.to_string(), source: Arc::new(source) };
        let listener = TcpListener::bind(options.listen).map_err(io_error)?;
        let address = listener.local_addr().map_err(io_error)?;
        let is_stopped = Arc::new(AtomicBool::new(false));
        let (options, stopped) = (options.clone(), Arc::clone(&is_stopped));
        let accept = move || {
            for client in listener.incoming() {
                if stopped.load(Ordering::Relaxed) {
                    return;
                }
                // A connection that can't be passed on is closed.
                let _ = client.and_then(|client| connect(client, &options));
            }
        };
        let thread = spawn(accept).map_err(|error| Error::Internal(format!("no thread for the proxy: {error}")))?;
        Ok(Self { address, is_stopped, accepting: Mutex::new(Some(thread)) })
    }

    /// The URL of the proxy's address.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Stops accepting connections; open ones go on until either end closes them. A second call does nothing.
    pub fn stop(&self) {
        self.is_stopped.store(true, Ordering::Relaxed);
        let accepting = self.accepting.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(thread) = accepting {
            // A connection wakes the thread that accepts.
            drop(TcpStream::connect(self.address));
            let _ = thread.join();
        }
    }
}

impl Drop for Delay {
    fn drop(&mut self) {
        self.stop();
    }
}

fn spawn(work: impl FnOnce() + Send + 'static) -> std::io::Result<JoinHandle<()>> {
    std::thread::Builder::new().name("bb-delay".to_owned()).spawn(work)
}

/// Connects a client to the server, in both directions.
fn connect(client: TcpStream, options: &DelayOptions) -> std::io::Result<()> {
    let server = TcpStream::connect(options.to)?;
    client.set_nodelay(true)?;
    server.set_nodelay(true)?;
    for (from, into) in [(client.try_clone()?, server.try_clone()?), (server, client)] {
        let (sender, receiver) = sync_channel(MOST_PIECES);
        let (delay, bytes_per_second) = (options.delay, options.bytes_per_second);
        spawn(move || receive(&from, &sender, delay, bytes_per_second))?;
        spawn(move || send_on(into, &receiver))?;
    }
    Ok(())
}

/// The bytes of one read, and when they are due at the other end.
type Piece = (Instant, Vec<u8>);

fn receive(from: &TcpStream, sender: &SyncSender<Piece>, delay: Duration, bytes_per_second: Option<f64>) {
    arrival::remember_arrivals(from);
    // When the last byte before leaves the link.
    let mut free = Instant::now();
    let mut buffer = vec![0; PIECE_BYTES];
    while let Ok(Arrival { count: count @ 1.., at }) = arrival::read(from, &mut buffer) {
        let takes = bytes_per_second.map_or(0.0, |rate| count as f64 / rate);
        free = free.max(at) + Duration::from_secs_f64(takes);
        if sender.send((free + delay, buffer[..count].to_vec())).is_err() {
            // The sending thread has ended: the other end reads no more.
            let _ = from.shutdown(Shutdown::Read);
            return;
        }
    }
}

fn send_on(mut into: TcpStream, receiver: &Receiver<Piece>) {
    let mut alarm = Alarm::new();
    while let Ok((due, bytes)) = receiver.recv() {
        alarm.wait_until(due);
        if into.write_all(&bytes).is_err() {
            return;
        }
    }
    // The other end may have closed the connection already.
    let _ = into.shutdown(Shutdown::Write);
}

/// A sleep that ends on time: a thread wakes some ten microseconds after its timer ends.
struct Alarm {
    /// How late this thread wakes after its timer: a moving average.
    late: Duration,
}

impl Alarm {
    /// The number of wake-ups that the average is over.
    const TIMES: u32 = 16;

    /// A longer lateness is capped: the processor was busy with others, which says nothing of the next wake-up.
    const MOST_LATE: Duration = Duration::from_micros(100);

    fn new() -> Self {
        sleep_precisely();
        Self { late: Duration::ZERO }
    }

    /// Returns when `due` is reached, never before.
    fn wait_until(&mut self, due: Instant) {
        let aim = due.checked_sub(self.late).unwrap_or(due);
        let left = aim.saturating_duration_since(Instant::now());
        if !left.is_zero() {
            std::thread::sleep(left);
            let late = Instant::now().saturating_duration_since(aim).min(Self::MOST_LATE);
            self.late = (self.late * (Self::TIMES - 1) + late) / Self::TIMES;
        }
        while Instant::now() < due {
            std::hint::spin_loop();
        }
    }
}

/// A proxy in its own process, so that its CPU time is not counted as the client's. Dropping it kills the process.
#[derive(Debug)]
pub struct DelayProcess {
    process: PrivateServer,
    port: u16,
}

impl DelayProcess {
    /// Starts a proxy in front of the server at `to`; `program` and `arguments` are as for [`crate::PrivateServer::start`].
    ///
    /// # Errors
    /// The errors of [`crate::PrivateServer::start`].
    pub fn start(
        program: Option<&Path>,
        arguments: &[&str],
        to: &str,
        network: &NetworkOptions,
        cancel: &CancelToken,
    ) -> Result<Self> {
        let port = free_port()?;
        let mut command = command(program, arguments)?;
        command.arg(KIND).args(["--to", to]).arg("--listen").arg(format!("127.0.0.1:{port}"));
        command.args(["--delay-us", &network.delay.as_micros().to_string()]);
        if let Some(megabits) = network.megabits {
            command.args(["--bandwidth-mbps", &megabits.to_string()]);
        }
        let is_ready = |_: &Path| TcpStream::connect(("127.0.0.1", port)).is_ok();
        let process = ServerFolder::new(KIND)?.serve(&command, START_TIMEOUT, cancel, is_ready)?;
        Ok(Self { process, port })
    }

    /// The base of the URLs of the server through the proxy.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// Kills the process; a second call does nothing.
    pub fn stop(&self) {
        self.process.stop();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    use std::io::Read;

    #[test]
    fn an_alarm_is_never_early_and_learns_no_more_than_it_may() {
        let mut alarm = Alarm::new();
        for micros in (0..400).step_by(9).chain([0, 3000]) {
            let due = Instant::now() + Duration::from_micros(micros);
            alarm.wait_until(due);
            assert!(Instant::now() >= due);
            assert!(alarm.late <= Alarm::MOST_LATE);
        }
        // A time that has passed already is not waited for, and leaves the average unchanged.
        let late = alarm.late;
        alarm.wait_until(Instant::now().checked_sub(Duration::from_secs(1)).unwrap());
        assert_eq!(alarm.late, late);
    }

    /// A server that sends back the bytes it receives.
    fn echo() -> SocketAddr {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let mut stream = stream.unwrap();
                std::thread::spawn(move || {
                    let mut reader = stream.try_clone().unwrap();
                    std::io::copy(&mut reader, &mut stream).unwrap();
                    stream.shutdown(Shutdown::Write).unwrap();
                });
            }
        });
        address
    }

    fn delayed(delay: Duration, bytes_per_second: Option<f64>) -> (Delay, TcpStream) {
        let listen = "127.0.0.1:0".parse().unwrap();
        let proxy = Delay::start(&DelayOptions { listen, to: echo(), delay, bytes_per_second }).unwrap();
        let stream = TcpStream::connect(proxy.address).unwrap();
        (proxy, stream)
    }

    #[test]
    fn what_is_sent_arrives_whole_and_later() {
        let (proxy, mut stream) = delayed(Duration::from_millis(20), None);
        let sent: Vec<u8> = (0..1_000_000_u32).map(|byte| (byte % 251) as u8).collect();
        let started = Instant::now();
        let mut writer = stream.try_clone().unwrap();
        let bytes = sent.clone();
        let writing = std::thread::spawn(move || {
            writer.write_all(&bytes).unwrap();
            writer.shutdown(Shutdown::Write).unwrap();
        });
        let mut received = Vec::new();
        stream.read_to_end(&mut received).unwrap();
        // 20 ms in each direction; how much longer it takes depends on the machine.
        assert!(started.elapsed() >= Duration::from_millis(40));
        assert!(received == sent);
        writing.join().unwrap();
        proxy.stop();
        proxy.stop();
    }

    #[test]
    fn no_more_arrives_than_the_bandwidth_allows() {
        let (_proxy, mut stream) = delayed(Duration::ZERO, Some(1e6));
        let started = Instant::now();
        stream.write_all(&vec![7; 50_000]).unwrap();
        stream.shutdown(Shutdown::Write).unwrap();
        let mut received = Vec::new();
        stream.read_to_end(&mut received).unwrap();
        assert!(started.elapsed() >= Duration::from_millis(50));
        assert_eq!(received.len(), 50_000);
    }

    #[test]
    fn arguments_become_options() {
        let parsed = |text: &str| crate::parse(text.split_whitespace().map(str::to_owned));
        let Ok(Parsed::Delay(options)) = parsed("delay --to 127.0.0.1:4410 --delay-us 500 --bandwidth-mbps=8") else {
            panic!("these are usable")
        };
        assert_eq!((options.to.port(), options.delay), (4410, Duration::from_micros(500)));
        assert!(options.bytes_per_second.is_some_and(|rate| (rate - 1e6).abs() < 1.0));
        for (given, said) in [
            ("delay", "needs --to"),
            ("delay --to there", "not usable"),
            ("delay --to 127.0.0.1:1 --bandwidth-mbps 0", "more than 0"),
            ("delay --shard 1", "there is no --shard"),
            ("delay --to", "needs a value"),
        ] {
            let error = parsed(given).unwrap_err();
            assert!(error.contains(said), "{given}: {error}");
        }
    }
}
