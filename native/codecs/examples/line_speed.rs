//! Measures how fast line protocol is read, compared with the crate `influxdb-line-protocol`. Prints lines per second of both and
//! the ratio, as the median of rounds that take turns. Our side makes points and looks up their series and fields. The other side
//! only iterates, and sums the values.
//!
//! `cargo run --release -p boundary-bench-codecs --features peers --example line_speed [ROUNDS]`

use std::fmt::Write as _;
use std::hint::black_box;
use std::io::Write as _;
use std::time::Instant;

use boundary_bench_codecs::line::parse_lines_into;
use boundary_bench_codecs::{Points, Precision, ReadOptions};
use influxdb_line_protocol::FieldValue;

/// The lines of a batch, and the number of different batches.
const LINES: u64 = 1000;
const BATCHES: u64 = 64;

/// Appends the line of an index.
type Line = fn(u64, &mut String);

/// How often a round reads each batch.
const TIMES: u32 = 20;

/// The benchmark's own input: one series, one field.
fn plain(index: u64, body: &mut String) {
    let _ = writeln!(body, "bench,host=bench v={} {}", index as f64 / 1000.0, 1_700_000_000_000 + index);
}

/// Several measurements of several hosts in turn, as collectors send them: tags, escapes, text, integers, booleans.
fn mixed(index: u64, body: &mut String) {
    let (host, time) = (index / 4 % 10, 1_700_000_000_000_000_000 + index * 1_000_003);
    let (a, b) = ((index * 7919 % 10_000) as f64 / 100.0, (index * 104_729 % 100_000) as f64 / 1000.0);
    let _ = match index % 4 {
        0 => writeln!(
            body,
            "cpu,cpu=cpu-total,host=server0{host},region=eu\\ west usage_user={a},usage_system={b},usage_idle={} {time}",
            100.0 - a
        ),
        1 => writeln!(body, "mem,host=server0{host} used={}i,free={}i,ok=true {time}", index * 4096, index * 1024 + 7),
        2 => writeln!(
            body,
            "disk,device=sda1,host=server0{host},path=/var/lib used_percent={b},mode=\"rw \\\"{host}\\\"\",inodes={index}u {time}"
        ),
        _ => writeln!(
            body,
            "net,host=server0{host},interface=eth0 bytes_recv={}i,drop={} {time}",
            index * 1500,
            index.is_multiple_of(2)
        ),
    };
}

/// A hundred hosts in turn, with one measurement each.
fn hosts(index: u64, body: &mut String) {
    let _ = writeln!(body, "cpu,host=h{} usage={index}.5,idle={index}i {}", index % 100, 1_700_000_000_000 + index);
}

fn bodies(line: Line) -> Vec<String> {
    let body = |batch: u64| {
        let mut body = String::new();
        (batch * LINES..(batch + 1) * LINES).for_each(|index| line(index, &mut body));
        body
    };
    (0..BATCHES).map(body).collect()
}

/// Reads all bodies, and sums the values and times.
fn ours(bodies: &[String], options: &ReadOptions) -> (f64, i64) {
    let (mut values, mut times) = (0.0, 0_i64);
    let mut memory = Points::default();
    for body in bodies {
        let points = parse_lines_into(body.as_bytes(), options, memory).unwrap_or_default();
        values += points.values.iter().map(|bits| f64::from_bits(*bits)).filter(|value| value.is_finite()).sum::<f64>();
        times = points.times.iter().fold(times, |sum, time| sum.wrapping_add(*time));
        memory = points.without_names();
    }
    (values, times)
}

fn theirs(bodies: &[String]) -> (f64, i64) {
    let (mut values, mut times) = (0.0, 0_i64);
    for body in bodies {
        for line in influxdb_line_protocol::parse_lines(body).flatten() {
            for (name, value) in &line.field_set {
                match value {
                    FieldValue::F64(value) => values += value,
                    other => {
                        black_box((name, other));
                    }
                }
            }
            times = times.wrapping_add(line.timestamp.unwrap_or_default());
        }
    }
    (values, times)
}

fn rate(work: impl Fn() -> (f64, i64)) -> f64 {
    let started = Instant::now();
    for _ in 0..TIMES {
        black_box(work());
    }
    (u64::from(TIMES) * BATCHES * LINES) as f64 / started.elapsed().as_secs_f64()
}

fn median(mut rates: Vec<f64>) -> f64 {
    rates.sort_by(f64::total_cmp);
    rates[rates.len() / 2]
}

fn main() -> std::io::Result<()> {
    let rounds = std::env::args().nth(1).and_then(|rounds| rounds.parse().ok()).unwrap_or(7);
    let inputs: [(&str, Line, Precision); 3] = [
        ("plain", plain, Precision::Milliseconds),
        ("mixed", mixed, Precision::Nanoseconds),
        ("hosts", hosts, Precision::Milliseconds),
    ];
    for (name, line, precision) in inputs {
        let bodies = bodies(line);
        let options = ReadOptions { precision, ..ReadOptions::default() };
        let (mut own, mut other) = (Vec::new(), Vec::new());
        for _ in 0..rounds {
            own.push(rate(|| ours(&bodies, &options)));
            other.push(rate(|| theirs(&bodies)));
        }
        let (own, other) = (median(own) / 1e6, median(other) / 1e6);
        writeln!(
            std::io::stdout(),
            "{name}: ours {own:.1} M lines/s, influxdb-line-protocol {other:.1} M lines/s, {:.1}x",
            own / other
        )?;
    }
    Ok(())
}
