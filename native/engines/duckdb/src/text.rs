//! The texts of values that cross as texts, written as DuckDB's own casts to `VARCHAR` write them. DuckDB reads each back as the same
//! value.

use std::io::Write;

/// DuckDB's `INTERVAL`.
#[derive(Clone, Copy)]
#[repr(C)]
pub(super) struct IntervalValue {
    months: i32,
    days: i32,
    micros: i64,
}

const MICROS_PER_SECOND: u64 = 1_000_000;

/// The largest offset of a `TIME WITH TIME ZONE` in seconds, from which DuckDB subtracts offsets to keep them.
const LARGEST_OFFSET: i64 = 16 * 3600 - 1;

/// Bits of an offset in a `TIME WITH TIME ZONE`.
const OFFSET_BITS: u32 = 24;

/// Writes formatted text to memory. This never fails.
macro_rules! put {
    ($out:expr, $($text:tt)*) => {{
        let _ = write!($out, $($text)*);
    }};
}

/// The text of a `UUID`, whose highest bit DuckDB flips.
pub(super) fn uuid(out: &mut Vec<u8>, value: i128) {
    let bits = value.cast_unsigned() ^ (1 << 127);
    put!(
        out,
        "{:08x}-{:04x}-{:04x}-{:04x}-{:012x}",
        bits >> 96,
        (bits >> 80) & 0xFFFF,
        (bits >> 64) & 0xFFFF,
        (bits >> 48) & 0xFFFF,
        bits & 0xFFFF_FFFF_FFFF
    );
}

/// The text of a time of day, in units of which a second has `per_second`.
fn time_of_day(out: &mut Vec<u8>, value: u64, per_second: u64) {
    let (seconds, fraction) = (value / per_second, value % per_second);
    put!(out, "{:02}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60);
    if fraction > 0 {
        let digits = per_second.ilog10() as usize;
        put!(out, ".{fraction:0digits$}");
        while out.last() == Some(&b'0') {
            out.pop();
        }
    }
}

/// The text of a `TIME` in microseconds.
pub(super) fn time(out: &mut Vec<u8>, micros: i64) {
    time_of_day(out, micros.unsigned_abs(), MICROS_PER_SECOND);
}

/// The text of a `TIME_NS`.
pub(super) fn time_nanos(out: &mut Vec<u8>, nanos: i64) {
    time_of_day(out, nanos.unsigned_abs(), 1000 * MICROS_PER_SECOND);
}

/// The text of a `TIME WITH TIME ZONE`.
pub(super) fn time_zoned(out: &mut Vec<u8>, bits: u64) {
    time_of_day(out, bits >> OFFSET_BITS, MICROS_PER_SECOND);
    #[expect(clippy::cast_possible_wrap, reason = "24 bits")]
    let offset = LARGEST_OFFSET - (bits & ((1 << OFFSET_BITS) - 1)) as i64;
    let seconds = offset.unsigned_abs();
    put!(out, "{}{:02}", if offset < 0 { '-' } else { '+' }, seconds / 3600);
    if !seconds.is_multiple_of(3600) {
        put!(out, ":{:02}", seconds / 60 % 60);
    }
    if !seconds.is_multiple_of(60) {
        put!(out, ":{:02}", seconds % 60);
    }
}

/// The text of an `INTERVAL`.
pub(super) fn interval(out: &mut Vec<u8>, IntervalValue { months, days, micros }: IntervalValue) {
    let start = out.len();
    for (count, unit) in [(months / 12, "year"), (months % 12, "month"), (days, "day")] {
        if count != 0 {
            let space = if out.len() == start { "" } else { " " };
            let plural = if count.unsigned_abs() == 1 { "" } else { "s" };
            put!(out, "{space}{count} {unit}{plural}");
        }
    }
    if micros != 0 || out.len() == start {
        let space = if out.len() == start { "" } else { " " };
        put!(out, "{space}{}", if micros < 0 { "-" } else { "" });
        time_of_day(out, micros.unsigned_abs(), MICROS_PER_SECOND);
    }
}
