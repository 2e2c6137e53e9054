//! Acknowledged points can be stored: whatever a body holds, if it is acknowledged, it is flushed and read back equal.

mod common;

use std::collections::BTreeMap;

use boundary_bench_ingest::line::{LineOptions, parse_lines, push_point};
use boundary_bench_ingest::msgpack::{
    ColumnBuffers, ColumnsWriter, RowOptions, decode_columns, decode_rows, encode_rows,
};
use boundary_bench_ingest::points::{FieldKind, FieldValue};
use boundary_bench_ingest::store::{Limits, Select, StoreStatus, Value};
use boundary_bench_ingest::{Error, IngestStore, Points, Precision, StoreOptions};
use common::Folder;
use proptest::prelude::*;

/// A point: its measurement, tags, fields and time.
#[derive(Debug, Clone)]
struct Given {
    measurement: String,
    tags: Vec<(String, String)>,
    fields: Vec<(String, Kept)>,
    time: i64,
}

#[derive(Debug, Clone)]
enum Kept {
    Float(f64),
    Integer(i64),
    UInteger(u64),
    Text(String),
    Boolean(bool),
}

/// Names as a careless or hostile client chooses them; few, so that several points share one.
fn name() -> impl Strategy<Value = String> {
    let hostile = [
        "",
        "v",
        "V",
        "v_1",
        "time",
        "Time",
        "rowid",
        "a\0b",
        "\0",
        "\"",
        "'",
        "a,b=c d\\",
        "\\",
        "ü",
        "\u{212a}",
        "k",
        "K",
        "x\ny",
        " ",
        "select",
        "t",
        "c0",
        "filename",
        "hive=x",
    ];
    prop_oneof![
        8 => prop::sample::select(hostile.to_vec()).prop_map(str::to_owned),
        2 => "\\PC{1,6}",
        1 => (1020_usize..1030).prop_map(|length| "n".repeat(length)),
    ]
}

fn kept() -> impl Strategy<Value = Kept> {
    prop_oneof![
        any::<f64>().prop_map(Kept::Float),
        prop::sample::select(vec![0.0, -0.0, f64::NAN, f64::INFINITY, f64::NEG_INFINITY, f64::MIN_POSITIVE, f64::MAX])
            .prop_map(Kept::Float),
        prop_oneof![any::<i64>(), Just(i64::MIN), Just(i64::MAX)].prop_map(Kept::Integer),
        prop_oneof![any::<u64>(), Just(u64::MAX)].prop_map(Kept::UInteger),
        prop_oneof![".{0,8}", Just("\0".to_owned()), Just("x".repeat(70_000))].prop_map(Kept::Text),
        any::<bool>().prop_map(Kept::Boolean),
    ]
}

fn time() -> impl Strategy<Value = i64> {
    let edges = [i64::MIN, i64::MIN + 1, i64::MIN + 2, -1, 0, 1, i64::MAX - 1, i64::MAX];
    // 1700-01-01 to 2262 in seconds, and both ends of the range that seconds and microseconds can express.
    prop_oneof![
        4 => -8_520_336_000_000_000_000_i64..9_214_646_400_000_000_000,
        2 => prop::sample::select(edges.to_vec()),
        1 => prop::sample::select(vec![9_223_372_036, 9_223_372_037, -9_223_372_036, -9_223_372_037]),
    ]
}

prop_compose! {
    fn given()(
        measurement in name(),
        tags in prop::collection::vec((name(), prop_oneof![".{0,6}", Just("\0".to_owned()), name()]), 0..3),
        fields in prop::collection::vec((name(), kept()), 1..5),
        time in time(),
    ) -> Given {
        Given { measurement, tags, fields, time }
    }
}

fn escaped(name: &str, special: &[char]) -> String {
    name.chars()
        .flat_map(|character| special.contains(&character).then_some('\\').into_iter().chain([character]))
        .collect()
}

/// A body of line protocol. Points that the format can't express make it refused, which is also correct.
fn lines_of(points: &[Given]) -> Vec<u8> {
    let all = [',', ' ', '='];
    let mut body = String::new();
    for Given { measurement, tags, fields, time } in points {
        body += &escaped(measurement, &[',', ' ']);
        for (name, value) in tags {
            body += &[",", &escaped(name, &all), "=", &escaped(value, &all)].concat();
        }
        let field = |(name, value): &(String, Kept)| {
            let value = match value {
                Kept::Float(value) => format!("{value}"),
                Kept::Integer(value) => format!("{value}i"),
                Kept::UInteger(value) => format!("{value}u"),
                Kept::Text(text) => format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\"")),
                Kept::Boolean(value) => value.to_string(),
            };
            format!("{}={value}", escaped(name, &all))
        };
        let fields: Vec<_> = fields.iter().map(field).collect();
        body = format!("{body} {} {time}\n", fields.join(","));
    }
    body.into_bytes()
}

fn push_text(out: &mut Vec<u8>, text: &str) {
    out.push(0xdb);
    out.extend(u32::try_from(text.len()).unwrap().to_be_bytes());
    out.extend(text.as_bytes());
}

/// A body of rows in `MessagePack`, encoded here, since our encoder takes only decoded points.
fn rows_of(points: &[Given]) -> Vec<u8> {
    let mut out = vec![0xdc];
    out.extend(u16::try_from(points.len()).unwrap().to_be_bytes());
    for Given { measurement, tags, fields, time } in points {
        out.push(0x84);
        push_text(&mut out, "measurement");
        push_text(&mut out, measurement);
        push_text(&mut out, "tags");
        out.push(0x80 | u8::try_from(tags.len()).unwrap());
        for (name, value) in tags {
            push_text(&mut out, name);
            push_text(&mut out, value);
        }
        push_text(&mut out, "fields");
        out.push(0x80 | u8::try_from(fields.len()).unwrap());
        for (name, value) in fields {
            push_text(&mut out, name);
            out.push(0x81);
            let (kind, bytes) = match value {
                Kept::Float(value) => ("Float", [&[0xcb][..], &value.to_be_bytes()].concat()),
                Kept::Integer(value) => ("Integer", [&[0xd3][..], &value.to_be_bytes()].concat()),
                Kept::UInteger(value) => ("UInteger", [&[0xcf][..], &value.to_be_bytes()].concat()),
                Kept::Boolean(value) => ("Boolean", vec![0xc2 | u8::from(*value)]),
                Kept::Text(text) => {
                    let mut bytes = Vec::new();
                    push_text(&mut bytes, text);
                    ("String", bytes)
                }
            };
            push_text(&mut out, kind);
            out.extend(bytes);
        }
        push_text(&mut out, "timestamp");
        out.push(0xd3);
        out.extend(time.to_be_bytes());
    }
    out
}

/// The points of all measurements as text, `measurement,tags fields time`, with their counts.
type Stored = BTreeMap<String, usize>;

fn shown(value: &FieldValue<'_>) -> String {
    match value {
        // All NaNs are equal here.
        FieldValue::Float(value) if value.is_nan() => "NaN".to_owned(),
        FieldValue::Float(value) => format!("{:016x}", value.to_bits()),
        other => format!("{other:?}"),
    }
}

fn add(stored: &mut Stored, measurement: &str, mut columns: Vec<(bool, String, String)>, time: i64) {
    columns.sort();
    *stored.entry(format!("{measurement:?} {columns:?} {time}")).or_default() += 1;
}

/// The acknowledged points: measurement, tags (`true`) and fields with their names and values, and the time.
type Written = Vec<(String, Vec<(bool, String, Kept)>, i64)>;

fn add_points(written: &mut Written, points: &Points<'_>) {
    for point in points.iter() {
        let tags = point.series().tags();
        let tags = tags.into_iter().map(|(name, value)| (true, name.into_owned(), Kept::Text(value.into_owned())));
        let fields = point.fields().map(|(name, value)| (false, name.to_owned(), owned(&value)));
        written.push((point.series().measurement().into_owned(), tags.chain(fields).collect(), point.time()));
    }
}

fn owned(value: &FieldValue<'_>) -> Kept {
    match value {
        FieldValue::Float(value) => Kept::Float(*value),
        FieldValue::Integer(value) => Kept::Integer(*value),
        FieldValue::UInteger(value) => Kept::UInteger(*value),
        FieldValue::String(text) => Kept::Text((*text).to_owned()),
        FieldValue::Boolean(value) => Kept::Boolean(*value),
    }
}

/// A value as it is read from a field whose type later writes widened; negative integers are absent from an unsigned field.
#[expect(clippy::cast_precision_loss, reason = "integers become floats where the field did, as HyperbyteDB has it")]
fn widened(value: &Kept, kind: FieldKind) -> Option<Kept> {
    Some(match (value, kind) {
        (Kept::Integer(value), FieldKind::Float) => Kept::Float(*value as f64),
        (Kept::UInteger(value), FieldKind::Float) => Kept::Float(*value as f64),
        (Kept::Integer(value), FieldKind::UInteger) => Kept::UInteger(u64::try_from(*value).ok()?),
        _ => value.clone(),
    })
}

/// The points that a store must have after these writes.
fn expected(store: &IngestStore, written: &Written) -> Stored {
    let mut stored = Stored::new();
    let database = store.database("db").unwrap();
    for (measurement, columns, time) in written {
        let kinds: BTreeMap<_, _> = database.fields(measurement).into_iter().collect();
        let read_back = |(is_tag, name, value): &(bool, String, Kept)| {
            let value = if *is_tag { value.clone() } else { widened(value, kinds[name])? };
            let value = match &value {
                Kept::Float(value) => FieldValue::Float(*value),
                Kept::Integer(value) => FieldValue::Integer(*value),
                Kept::UInteger(value) => FieldValue::UInteger(*value),
                Kept::Text(text) => FieldValue::String(text),
                Kept::Boolean(value) => FieldValue::Boolean(*value),
            };
            Some((*is_tag, name.clone(), shown(&value)))
        };
        add(&mut stored, measurement, columns.iter().filter_map(read_back).collect(), *time);
    }
    stored
}

/// All points of a store. The columns of a select are the tags, then the fields, each sorted by name.
fn select_all(store: &IngestStore) -> Stored {
    let mut stored = Stored::new();
    let database = store.database("db").unwrap();
    for measurement in database.measurements() {
        let select = Select { measurement: measurement.clone(), ..Select::default() };
        let rows = store.select("db", &select).unwrap();
        let tags = database.tags(&measurement).len();
        for row in rows.rows {
            let Value::Integer(time) = row[0] else { panic!("{row:?}") };
            let values = rows.columns.iter().zip(row).enumerate().skip(1);
            let columns = values.filter_map(|(index, (name, value))| {
                let value = match &value {
                    Value::Null => return None,
                    Value::Float(value) => FieldValue::Float(*value),
                    Value::Integer(value) => FieldValue::Integer(*value),
                    Value::UInteger(value) => FieldValue::UInteger(*value),
                    Value::Text(text) => FieldValue::String(text),
                    Value::Boolean(value) => FieldValue::Boolean(*value),
                };
                Some((index <= tags, name.clone(), shown(&value)))
            });
            add(&mut stored, &measurement, columns.collect(), time);
        }
    }
    stored
}

/// Writes decoded points; acknowledged ones are added to `written`.
fn write(store: &IngestStore, points: Points<'_>, written: &mut Written) -> bool {
    let mut all = Written::new();
    add_points(&mut all, &points);
    match store.write_points("db", points) {
        Ok(_) => {
            written.append(&mut all);
            true
        }
        Err(Error::InvalidArgument(_) | Error::TypeConflict { .. } | Error::Cardinality { .. }) => false,
        Err(other) => panic!("{other}"),
    }
}

fn units() -> impl Strategy<Value = Precision> {
    use Precision::{Microseconds, Milliseconds, Nanoseconds, Seconds};
    prop::sample::select(vec![Nanoseconds, Nanoseconds, Microseconds, Milliseconds, Seconds])
}

fn cases() -> ProptestConfig {
    // Each case opens a store twice; `PROPTEST_CASES` sets their number.
    let cases = std::env::var("PROPTEST_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(60);
    ProptestConfig { cases, max_shrink_iters: 200, ..ProptestConfig::default() }
}

proptest! {
    #![proptest_config(cases())]

    #[test]
    fn every_body_that_is_acknowledged_is_flushed_reopened_and_selected_equal(
        bodies in prop::collection::vec(prop::collection::vec(given(), 1..4), 1..8),
        precision in units(),
    ) {
        let folder = Folder::new();
        let store = folder.open();
        store.create_database("db").unwrap();
        let mut written = Written::new();
        for (index, body) in bodies.iter().enumerate() {
            let lines = lines_of(body);
            if let Ok(points) = parse_lines(&lines, &LineOptions { precision, ..LineOptions::default() }) {
                write(&store, points, &mut written);
            }
            let rows = rows_of(body);
            if let Ok(points) = decode_rows(&rows, &RowOptions { precision, ..RowOptions::default() }, Points::default()) {
                // Points that both formats can express are decoded alike.
                let mut again = Vec::new();
                let said = points.iter().try_for_each(|point| push_point(&mut again, &point));
                if said.is_ok() && let Ok(read) = parse_lines(&again, &LineOptions::default()) {
                    let _ = encode_rows(&read);
                }
                write(&store, points, &mut written);
            }
            let first = &body[0];
            let tags: Vec<_> = first.tags.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
            let Ok(writer) = ColumnsWriter::new(&first.measurement, &tags, &first.fields[0].0) else { continue };
            let value = |point: &Given| if let Kept::Float(value) = point.fields[0].1 { value } else { 1.0 };
            let values: Vec<f64> = body.iter().map(value).collect();
            let times: Vec<i64> = body.iter().map(|point| point.time).collect();
            let mut bytes = Vec::new();
            writer.encode_vec(&values, Some(&times), &mut bytes).unwrap();
            let batch = decode_columns(&bytes, ColumnBuffers::default(), 100).unwrap();
            let points = boundary_bench_ingest::msgpack::columns_to_points(&batch, precision, 0, Points::default());
            let outcome = store.write_columns("db", batch, precision, 0);
            match (outcome, points) {
                (Ok(_), Ok(points)) => add_points(&mut written, &points),
                (Err(Error::InvalidArgument(_) | Error::TypeConflict { .. }), _) => {}
                (outcome, points) => panic!("{outcome:?} {points:?}"),
            }
            if index == bodies.len() / 2 {
                store.flush().unwrap();
            }
        }
        let expected = expected(&store, &written);
        prop_assert_eq!(&select_all(&store), &expected);
        store.flush().unwrap();
        prop_assert_eq!(&select_all(&store), &expected);
        let status = store.status();
        prop_assert!(status.set_aside.is_empty() && status.set_aside_points == 0, "{:?}", status);
        drop(store);
        prop_assert_eq!(&select_all(&folder.open()), &expected);
    }
}

fn refused(store: &IngestStore, lines: &str) -> String {
    let points = parse_lines(lines.as_bytes(), &LineOptions::default()).unwrap();
    store.write_points("db", points).unwrap_err().to_string()
}

#[test]
fn what_can_t_be_stored_is_refused_and_later_writes_are_flushed() {
    let folder = Folder::new();
    let store = folder.open();
    store.create_database("db").unwrap();
    for (lines, said) in [
        ("m,h\0=a v=1 1", "the tag \"h\\0\": a name must have no NUL character"),
        ("m,h=a v\0=1 1", "the field \"v\\0\""),
        ("m\0,h=a v=1 1", "the measurement \"m\\0\""),
        ("m,time=a v=1 1", "the tag \"time\" of \"m\""),
        ("m time=1 1", "the field \"time\" of \"m\""),
        ("m v=1 9223372036854775807", "timestamps[0]: 9223372036854775807 ns can't be stored"),
        ("m v=1 1\nm v=1 -9223372036854775808", "timestamps[1]: -9223372036854775808 ns"),
    ] {
        let error = refused(&store, lines);
        assert!(error.contains(said), "{lines:?}: {error}");
    }
    let long = format!("m {}=1 1", "f".repeat(1025));
    assert!(refused(&store, &long).contains("1025 bytes; it may have 1024"));
    let long = format!("m,t={} v=1 1", "x".repeat(33_000));
    assert!(refused(&store, &long).contains("32768"));
    assert!(store.create_database("a\0b").is_err() && store.create_database("").is_err());
    common::write(&store, "m,h=a v=1 1\nm,H=b V=2,h=3 9223372036854775806\nm v=4 -9223372036854775806").unwrap();
    let logs = folder.logs();
    store.flush().unwrap();
    store.flush().unwrap();
    assert_eq!(folder.logs().len(), logs.len(), "a flush of nothing begins no log file");
    assert_eq!(store.count("db", "m", None).unwrap(), 3);
    assert_eq!(select_all(&store).len(), 3);
    assert_eq!(store.status(), StoreStatus::default());
}

#[test]
fn too_many_names_are_refused_before_they_are_logged() {
    let folder = Folder::new();
    let limits = Limits { measurements: 20, columns: 10, series: 1000 };
    let store = IngestStore::open(&StoreOptions { limits, ..folder.options() }).unwrap();
    store.create_database("db").unwrap();
    let lines = |count: usize, line: &dyn Fn(usize) -> String| (0..count).map(line).collect::<Vec<_>>().concat();
    let fields = |count| lines(count, &|index| format!("wide f{index}=1 {index}\n"));
    let many = |count| lines(count, &|index| format!("m{index} v=1 1\n"));
    let check = |lines: &str, said: &str| {
        let points = parse_lines(lines.as_bytes(), &LineOptions::default()).unwrap();
        let error = store.write_points("db", points).unwrap_err();
        assert!(matches!(error, Error::Cardinality { .. }) && error.to_string().contains(said), "{error}");
    };
    check(&fields(11), "the measurement \"wide\" would have more than 10 tags and fields");
    check(&lines(6, &|index| format!("wide,t{index}=a f{index}=1 1\n")), "more than 10 tags and fields");
    check(&many(21), "the database \"db\" would have more than 20 measurements");
    check(&lines(1001, &|index| format!("m,t={index} v=1 1\n")), "more than 1000 series");
    assert!(store.database("db").unwrap().measurements().is_empty(), "nothing of a refused write is kept");
    common::write(&store, &fields(10)).unwrap();
    common::write(&store, &many(19)).unwrap();
    check("wide f10=1 1", "10 tags and fields");
    check("m19 v=1 1", "20 measurements");
    // Known names are still accepted, also in other combinations.
    common::write(&store, "wide f0=1,f9=2 1\nm0 v=3 3").unwrap();
    store.flush().unwrap();
    assert_eq!(store.count("db", "wide", None).unwrap(), 11);
}

#[test]
fn points_whose_fields_differ_are_stored_in_several_tables() {
    let folder = Folder::new();
    let limits = Limits { columns: 100_000, ..Limits::default() };
    let store = IngestStore::open(&StoreOptions { limits, ..folder.options() }).unwrap();
    store.create_database("db").unwrap();
    // As one table this would be five million cells for five thousand values.
    let lines: Vec<_> = (0..2500).map(|index| format!("wide,t{}=x f{index}=1 {index}\n", index % 7)).collect();
    common::write(&store, &lines.concat()).unwrap();
    let select = Select {
        measurement: "wide".to_owned(),
        columns: vec!["f7".to_owned(), "f2400".to_owned(), "t0".to_owned()],
        ..Select::default()
    };
    let before = store.select("db", &select).unwrap();
    store.flush().unwrap();
    assert!(folder.files("data").len() > 2, "{:?}", folder.files("data"));
    assert_eq!(store.count("db", "wide", None).unwrap(), 2500);
    assert_eq!(store.count("db", "wide", Some("f2400")).unwrap(), 1);
    let after = store.select("db", &select).unwrap();
    assert_eq!(after, before);
    let values = |column: usize| after.rows.iter().filter(|row| row[column] != Value::Null).count();
    assert_eq!((after.rows.len(), values(1), values(2), values(3)), (2500, 358, 1, 1));
}
