//! Encoding and decoding of all formats, and that no bytes make a decoder panic.

use boundary_bench_codecs::line::{LineHead, parse_lines, push_point, write_columns};
use boundary_bench_codecs::msgpack::{
    ColumnBuffers, ColumnarBatch, ColumnsWriter, RowsWriter, columns_to_points, decode_columns, decode_rows,
    encode_rows,
};
use boundary_bench_codecs::points::FieldValue;
use boundary_bench_codecs::{MOST_POINTS, Points, Precision, ReadOptions, arrow};
use proptest::prelude::*;

const MS: ReadOptions = ReadOptions { precision: Precision::Milliseconds, now: 77, most_points: MOST_POINTS };

fn parsed(text: &str) -> Points<'_> {
    parse_lines(text.as_bytes(), &MS).unwrap()
}

/// Points as text, one a line, for a comparison that does not depend on their arrays.
fn shown(points: &Points<'_>) -> Vec<String> {
    let show = |point: boundary_bench_codecs::points::Point<'_, '_>| {
        let fields: Vec<_> = point.fields().map(|(name, value)| format!("{name}={value:?}")).collect();
        format!("{} {} {}", point.series().text, fields.join(","), point.time())
    };
    points.iter().map(show).collect()
}

fn line_error(text: &str) -> String {
    line_error_of(text.as_bytes())
}

fn line_error_of(body: &[u8]) -> String {
    parse_lines(body, &MS).unwrap_err().to_string()
}

#[test]
fn lines_are_read() {
    let text = "# comment\n\nbench,host=a v=0.5 1\nbench,host=a v=1.5,n=2i 2\nbench,host=b n=3i,v=-2e3,u=4u,ok=t,s=\"x, \\\"y\\\"\\nz\" 3\n\
                \tother v=1";
    assert_eq!(
        shown(&parsed(text)),
        [
            "bench,host=a v=Float(0.5) 1000000",
            "bench,host=a v=Float(1.5),n=Integer(2) 2000000",
            "bench,host=b n=Integer(3),v=Float(-2000.0),u=UInteger(4),ok=Boolean(true),s=String(\"x, \\\"y\\\"\\\\nz\") 3000000",
            "other v=Float(1.0) 77",
        ]
    );
}

#[test]
fn names_are_escaped_and_keys_are_canonical() {
    let text = "a\\ b\\,c,z=1,k\\=y=v\\ w f\\ g=1 1";
    let points = parsed(text);
    assert_eq!(points.series[0].measurement(), "a b,c");
    assert_eq!(points.series[0].tags(), [("k=y".into(), "v w".into()), ("z".into(), "1".into())]);
    let (name, value) = points.iter().next().unwrap().fields().next().unwrap();
    assert_eq!((name, value), ("f g", FieldValue::Float(1.0)));
}

#[test]
fn what_is_wrong_with_a_line_is_said_with_its_place() {
    for (text, expected) in [
        ("bench", "line 1, column 6: a space and the fields are missing after the measurement and tags"),
        ("m v=1\nbench,host v=1", "line 2, column 7: a tag must be name=value, neither of them empty"),
        ("m,a=1, v=1", "line 1, column 7: a tag must be name=value, neither of them empty"),
        (",a=1 v=1", "line 1, column 1: the measurement is missing"),
        ("m v", "line 1, column 4: a field must be name=value"),
        ("m v=", "line 1, column 5: a value is missing"),
        ("m v=1,", "line 1, column 7: a field is missing"),
        ("m v=1x", "line 1, column 6: a comma, a space or the end of the line must follow a value"),
        ("m v=1.5i", "line 1, column 5: 1.5 is no integer of 64 bits"),
        ("m v=9223372036854775808i", "is no integer of 64 bits"),
        ("m v=-1u", "-1 is no unsigned of 64 bits"),
        ("m v=1e999", "1e999 is too large for a float"),
        ("m v=yes", "a value is missing"),
        ("m v=tru", "neither true nor false"),
        ("m v=\"x", "line 1, column 5: the quote that ends this text is missing"),
        ("m v=1,v=2", "line 1, column 7: the field \"v\" is there twice"),
        ("m v=1,v=1", "line 1, column 7: the field \"v\" is there twice"),
        ("m,a=1 v=1,w=2,v=1", "line 1, column 15: the field \"v\" is there twice"),
        ("m,a=1,a=2 v=1", "line 1, column 7: the tag \"a\" is there twice"),
        ("m,a=1,a=1 v=1", "line 1, column 7: the tag \"a\" is there twice"),
        ("m,\\a=1,\\a=2 v=1", "is there twice"),
        ("m v=1\nm,a=1,b=2,a=1 v=1", "line 2, column 11: the tag \"a\" is there twice"),
        ("m,a\\ b=1,c=2,a\\ b=1 v=1", "line 1, column 14: the tag \"a b\" is there twice"),
        ("m v=1 12x", "line 1, column 9: the line must end after the timestamp"),
        ("m v=1 x", "line 1, column 7: this is no timestamp"),
        ("m v=1 9223372036854775807", "is no 64-bit number of nanoseconds"),
    ] {
        let error = line_error(text);
        assert!(error.contains(expected), "{text:?}: {error}");
    }
    assert!(
        line_error_of(b"\xff\xfem\0 \0")
            .contains("line 1, column 1: the body begins with the byte order mark of UTF-16")
    );
    assert!(
        parse_lines(b"m v=1\nm\xff v=1", &MS).unwrap_err().to_string().contains("line 2, column 2: this is not UTF-8")
    );
    let two = ReadOptions { most_points: 1, ..MS };
    assert!(parse_lines(b"m v=1\nm v=2", &two).unwrap_err().to_string().contains("1 points at most"));
}

#[test]
fn tags_in_any_order_are_one_series() {
    let text = "m,a=1,b=2 v=1 1\nm,b=2,a=1 v=2 2\nm,a=1,b=2 v=3,w=1 3\nm,b=2,a=1 w=4 4\nn=o,b=1 v=1 5\nn=o,b=1 v=1 6\n\
                m,b=2,a=1 w=5 7\nm,a=3 v=1 8\nm,a=\\3 v=1 9";
    let points = parsed(text);
    let series: Vec<_> = points.series.iter().map(|series| series.text.as_ref()).collect();
    assert_eq!(series, ["m,a=1,b=2", "n\\=o,b=1", "m,a=3", "m,a=\\\\3"]);
    assert_eq!(points.series_of, [0, 0, 0, 0, 1, 1, 0, 2, 3]);
    assert_eq!(points.shapes.len(), 4);
    // The other order first, and canonical keys known before it.
    let points = parsed("k v=1\nm,b=2,a=1 v=1\nm,a=1,b=2 v=2\nk v=2\nm,b=2,a=1 v=1");
    assert_eq!((points.series.len(), points.series_of), (2, vec![0, 1, 1, 0, 1]));

    let row = |tags: &[u8]| [b"\x83\xabmeasurement\xa1m\xa6fields\x81\xa1v\x81\xa5Float\x01\xa4tags", tags].concat();
    let rows =
        [b"\x93".to_vec(), row(b"\x82\xa1a\xa11\xa1b\xa12"), row(b"\x82\xa1b\xa12\xa1a\xa11"), row(b"\x80")].concat();
    let points = decode_rows(&rows, &MS, Points::default()).unwrap();
    assert_eq!((points.series.len(), &points.series_of[..]), (2, &[0, 0, 1][..]));
    assert_eq!(points.series[0].text, "m,a=1,b=2");
}

#[test]
fn what_is_there_twice_is_refused_in_each_format() {
    let row = b"\x91\x83\xabmeasurement\xa1m\xa6fields\x81\xa1v\x81\xa5Float\x01\xa4tags\x82\xa1a\xa11\xa1a\xa12";
    let twice: [(&[u8], &str); 5] = [
        (row, "byte 39: the tag \"a\" is there twice"),
        (b"\x91\x82\xabmeasurement\xa1m\xabmeasurement\xa1n", "byte 16: the key measurement is there twice"),
        (b"\x91\x82\xa4tags\x80\xa4tags\x80", "the key tags is there twice"),
        (b"\x91\x82\xa6fields\x80\xa6fields\x80", "the key fields is there twice"),
        (b"\x91\x82\xa9timestamp\xc0\xa9timestamp\x01", "the key timestamp is there twice"),
    ];
    for (bytes, expected) in twice {
        let error = decode_rows(bytes, &MS, Points::default()).unwrap_err().to_string();
        assert!(error.contains(expected), "{expected}: {error}");
    }
    let fields = b"\x91\x81\xa6fields\x82\xa1v\x81\xa5Float\x01\xa1v\x81\xa5Float\x01";
    assert!(decode_rows(fields, &MS, Points::default()).unwrap_err().to_string().contains("the field \"v\""));
    let twice: [(&[u8], &str); 6] = [
        (b"\x81\xa4tags\x82\xa1a\xa11\xa1a\xa11", "byte 6: the tag \"a\" is there twice"),
        (b"\x82\xa4tags\x80\xa4tags\xc0", "byte 7: the key tags is there twice"),
        (b"\x82\xabmeasurement\xa1m\xabmeasurement\xa1m", "the key measurement is there twice"),
        (b"\x82\xa5field\xa1m\xa5field\xa1m", "the key field is there twice"),
        (b"\x82\xa6values\x91\x01\xa6values\x91\x02", "the key values is there twice"),
        (b"\x82\xaatimestamps\xc0\xaatimestamps\x91\x02", "the key timestamps is there twice"),
    ];
    for (bytes, expected) in twice {
        let error = decode_columns(bytes, ColumnBuffers::default(), 10).unwrap_err().to_string();
        assert!(error.contains(expected), "{expected}: {error}");
    }
    let tags = [("a", "1"), ("b", "2"), ("a", "2")];
    let writers = [
        LineHead::new("m", &tags, "v").map(drop),
        ColumnsWriter::new("m", &tags, "v").map(drop),
        RowsWriter::new("m", &tags, "v").map(drop),
    ];
    for writer in writers {
        assert_eq!(writer.unwrap_err().to_string(), "the tag \"a\" is there twice");
    }
}

#[test]
fn carriage_returns_and_byte_order_marks_are_told() {
    const RETURN: &str = "a carriage return may stand only before the line feed that ends a line";
    const MARK: &str = "a byte order mark (EF BB BF) is no part of line protocol";
    for (text, place, problem) in [
        ("m v=1 5\rm v=2 6\r", "line 1, column 8", RETURN),
        ("m v=1\rm v=2", "line 1, column 6", RETURN),
        ("m v=1 \rm v=2", "line 1, column 7", RETURN),
        ("m v=t\r\r\n", "line 1, column 6", RETURN),
        ("m,a=b\r v=1", "line 1, column 6", RETURN),
        ("m\r,a=b v=1", "line 1, column 2", RETURN),
        ("m,a=b\rv=1\n", "line 1, column 6", RETURN),
        ("m v\r=1", "line 1, column 4", RETURN),
        ("m v=1,\\\rw=1", "line 1, column 8", RETURN),
        ("# comment\rm v=1\r", "line 1, column 10", RETURN),
        ("m v=1\n\rm v=1", "line 2, column 1", RETURN),
        ("m,a=b\r\nm v=1", "line 1, column 6", "a space and the fields are missing"),
        ("m \r\nm v=1", "line 1, column 3", "a field is missing"),
        ("m v\r\n", "line 1, column 4", "a field must be name=value"),
        ("m v=\r\n", "line 1, column 5", "a value is missing"),
        ("m v=1 x\r\n", "line 1, column 7", "this is no timestamp"),
        ("\u{feff}m v=1", "line 1, column 1", MARK),
        ("\u{feff}", "line 1, column 1", MARK),
        ("\u{feff}# comment\nm v=1", "line 1, column 1", MARK),
        ("m v=1\r\n\u{feff}m v=1", "line 2, column 1", MARK),
    ] {
        let error = line_error(text);
        assert!(error.contains(&format!("{place}: {problem}")), "{text:?}: {error}");
    }
    assert!(LineHead::new("\u{feff}m", &[], "v").unwrap_err().to_string().contains("byte order mark"));
    // Text in quotes has any line breaks.
    assert!(shown(&parsed("m s=\"a\r\nb\r\" 1\r\n"))[0].contains("String(\"a\\r\\nb\\r\")"));
}

#[test]
fn columns_go_both_ways() {
    let values: Vec<f64> = (0..1000).map(|index| f64::from(index) * 0.001).collect();
    let times: Vec<i64> = (0..1000).map(|index| 1_700_000_000_000 + index).collect();
    let writer = ColumnsWriter::new("bench", &[("host", "bench")], "v").unwrap();
    let mut bytes = Vec::new();
    writer.encode_vec(&values, Some(&times), &mut bytes).unwrap();
    let batch = decode_columns(&bytes, ColumnBuffers::default(), 1000).unwrap();
    assert_eq!((&batch.values, &batch.timestamps), (&values, &times));
    let points = columns_to_points(&batch, Precision::Milliseconds, 0, Points::default()).unwrap();

    let mut lines = Vec::new();
    write_columns(&mut lines, &LineHead::new("bench", &[("host", "bench")], "v").unwrap(), &values, Some(&times))
        .unwrap();
    assert!(lines.starts_with(b"bench,host=bench v=0 1700000000000\nbench,host=bench v=0.001 1700000000001\n"));
    assert_eq!(shown(&parse_lines(&lines, &MS).unwrap()), shown(&points));

    let batch = arrow::columns_to_arrow(batch, Precision::Milliseconds, 0).unwrap();
    assert_eq!((batch.num_rows(), batch.num_columns()), (1000, 3));
    assert!(matches!(
        decode_columns(&bytes, ColumnBuffers::default(), 999),
        Err(boundary_bench_codecs::Error::TooManyPoints { most: 999 })
    ));
}

/// Columns as other encoders may write them.
fn columns_of(parts: &[&[u8]]) -> Vec<u8> {
    parts.concat()
}

#[test]
fn columns_of_other_encoders_are_read() {
    let float = |value: f64| [&[0xcb][..], &value.to_be_bytes()].concat();
    let values = [&b"\xa6values\x92"[..], &float(1.0), &float(2.5)].concat();
    let head = b"\x85\xabmeasurement\xa1m\xa5field\xa1v\xa4tags\x80".as_slice();
    for times in [
        &b"\x92\x01\xff"[..],
        b"\x92\xd3\0\0\0\0\0\0\0\x01\xff",
        b"\x92\xcf\0\0\0\0\0\0\0\x01\xd3\xff\xff\xff\xff\xff\xff\xff\xff",
    ] {
        let bytes = columns_of(&[head, b"\xaatimestamps", times, &values]);
        let batch = decode_columns(&bytes, ColumnBuffers::default(), 10).unwrap();
        assert_eq!((batch.values, batch.timestamps), (vec![1.0, 2.5], vec![1, -1]), "{times:?}");
    }
    // The values are numbers of any type, with a byte behind them.
    let head = b"\x84\xabmeasurement\xa1m\xa5field\xa1v\xa4tags\x80\xa6values\x95".as_slice();
    let numbers = b"\x07\xff\xca\x3f\x00\x00\x00\xcf\xff\xff\xff\xff\xff\xff\xf8\x00\xd1\xff\x00\xc1".as_slice();
    let bytes = columns_of(&[head, numbers]);
    let batch = decode_columns(&bytes, ColumnBuffers::default(), 10).unwrap();
    assert_eq!(batch.values, [7.0, -1.0, 0.5, 18_446_744_073_709_549_568.0, -256.0]);
    // Without timestamps, and with an unknown key.
    let bytes =
        columns_of(&[b"\x85\xabmeasurement\xa1m\xa5field\xa1v\xa4tags\xc0\xa1x\x92\x80\xc7\x01\x05\x00", &values]);
    assert!(!decode_columns(&bytes, ColumnBuffers::default(), 10).unwrap().head.has_timestamps);
}

#[test]
fn what_is_wrong_with_columns_is_said_with_its_place() {
    let float = [0xcb, 0, 0, 0, 0, 0, 0, 0, 0];
    let head = b"\x84\xabmeasurement\xa1m\xa5field\xa1v\xa4tags\x80\xa6values".as_slice();
    for (values, expected) in [
        (columns_of(&[head, b"\x92", &float, b"\xc3"]), "values[1] must be a number, not a boolean"),
        (columns_of(&[head, b"\x92", &float]), "the bytes end"),
        (columns_of(&[head, b"\xdd\xff\xff\xff\xff", &float]), "elements to come"),
        (b"\x81\xa5field\xa1v".to_vec(), "the key measurement is missing"),
        (b"\x91\xc0".to_vec(), "byte 0: the batch must be a map, not an array"),
    ] {
        let error = decode_columns(&values, ColumnBuffers::default(), MOST_POINTS).unwrap_err().to_string();
        assert!(error.contains(expected), "{expected}: {error}");
    }
    // The number of timestamps may be known before the number of values, and memory is taken for neither of two numbers.
    let (values, times) = (b"\xa6values\x91\x01".as_slice(), b"\xaatimestamps\x92\x01\x01".as_slice());
    for parts in [[values, times], [times, values]] {
        let bytes = columns_of(&[b"\x84\xabmeasurement\xa1m\xa5field\xa1v", parts[0], parts[1]]);
        let error = decode_columns(&bytes, ColumnBuffers::default(), 10).unwrap_err().to_string();
        assert!(error.contains("there are 1 values and 2 timestamps"), "{error}");
    }
    let mut deep = b"\x81\xa1x".to_vec();
    deep.resize(1000, 0x91);
    assert!(decode_columns(&deep, ColumnBuffers::default(), 1).unwrap_err().to_string().contains("too deep"));
}

#[test]
fn rows_go_both_ways() {
    let text =
        "bench,host=a v=0.5 1\nbench,host=a v=1.5,n=2i 2\nbench,host=b u=18446744073709551615u,ok=t,s=\"text\" 3\n";
    let points = parsed(text);
    let bytes = encode_rows(&points);
    let read = decode_rows(&bytes, &ReadOptions::default(), Points::default()).unwrap();
    assert_eq!(shown(&read), shown(&points));
    for (bytes, expected) in [
        (&b"\x91\x81\xabmeasurement\xa1m"[..], "byte 1: a row must have a measurement and a field"),
        (b"\x91\x81\xa6fields\x81\xa1v\x81\xa5Float\xa1x", "a Float must be a number, not text"),
        (b"\x91\x81\xa6fields\x81\xa1v\x81\xa3Odd\x01", "not \"Odd\""),
    ] {
        let error = decode_rows(bytes, &ReadOptions::default(), Points::default()).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }
}

#[test]
fn integers_that_no_float_holds_are_refused() {
    let head = b"\x83\xabmeasurement\xa1m\xa5field\xa1v\xa6values\x91".as_slice();
    let row = b"\x91\x82\xabmeasurement\xa1m\xa6fields\x81\xa1v\x81\xa5Float".as_slice();
    let decoded = |head: &[u8], number: &[u8]| {
        let bytes = columns_of(&[head, number]);
        if head == row {
            let points = decode_rows(&bytes, &MS, Points::default()).map_err(|error| error.to_string())?;
            Ok(f64::from_bits(points.values[0]))
        } else {
            let batch = decode_columns(&bytes, ColumnBuffers::default(), 10).map_err(|error| error.to_string())?;
            Ok::<_, String>(batch.values[0])
        }
    };
    for head in [head, row] {
        for integer in [(1_u64 << 53) + 1, u64::MAX] {
            let error = decoded(head, &[&[0xcf][..], &integer.to_be_bytes()].concat()).unwrap_err();
            assert!(error.contains(&format!("can't hold the integer {integer}")), "{error}");
        }
        let error = decoded(head, &[&[0xd3][..], &(i64::MIN + 1).to_be_bytes()].concat()).unwrap_err();
        assert!(error.contains("can't hold the integer -9223372036854775807"), "{error}");
        assert_eq!(decoded(head, &[&[0xd3][..], &i64::MIN.to_be_bytes()].concat()), Ok(-(2_f64.powi(63))));
    }
}

fn name() -> impl Strategy<Value = String> {
    "[a-z ,=\\\\\"ü]{0,6}[a-z]"
}

fn value() -> impl Strategy<Value = String> {
    prop_oneof![
        any::<f64>().prop_filter("finite", |value| value.is_finite()).prop_map(|value| format!("{}", value + 0.0)),
        any::<i64>().prop_map(|value| format!("{value}i")),
        any::<u64>().prop_map(|value| format!("{value}u")),
        any::<bool>().prop_map(|value| value.to_string()),
        "[ -~\n]{0,8}".prop_map(|text| format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))),
    ]
}

fn escaped(name: &str, special: &[char]) -> String {
    name.chars()
        .flat_map(|character| special.contains(&character).then_some('\\').into_iter().chain([character]))
        .collect()
}

prop_compose! {
    fn line()(
        measurement in name(),
        tags in prop::collection::btree_map(name(), name(), 0..3),
        fields in prop::collection::btree_map(name(), value(), 1..4),
        time in -9_000_000_000_000_i64..9_000_000_000_000,
    ) -> String {
        let all = [',', ' ', '='];
        let tag = |(name, value): (&String, &String)| [",", &escaped(name, &all), "=", &escaped(value, &all)].concat();
        let tags: String = tags.iter().map(tag).collect();
        let fields: Vec<_> = fields.iter().map(|(name, value)| format!("{}={value}", escaped(name, &all))).collect();
        format!("{}{tags} {} {time}\n", escaped(&measurement, &[',', ' ']), fields.join(","))
    }
}

/// A decoder of quadratic time would take hours here.
#[test]
fn many_different_names_are_read_in_time() {
    let names = |separator: &str| (0..100_000).map(|name| format!("f{name}=1")).collect::<Vec<_>>().join(separator);
    let options = ReadOptions { most_points: usize::MAX, ..MS };
    let one_line = format!("m {}\n", names(","));
    assert_eq!(parse_lines(one_line.as_bytes(), &options).unwrap().values.len(), 100_000);
    let many_shapes = format!("m {}\n", names("\nm "));
    let points = parse_lines(many_shapes.as_bytes(), &options).unwrap();
    assert_eq!((points.len(), points.shapes.len()), (100_000, 100_000));
    let many_tags = format!("m,{} v=1\n", names(","));
    assert_eq!(parse_lines(many_tags.as_bytes(), &options).unwrap().series[0].tags().len(), 100_000);
    let many_series = format!("m,{} v=1\n", names(" v=1\nm,"));
    assert_eq!(parse_lines(many_series.as_bytes(), &options).unwrap().series.len(), 100_000);
    let rows = encode_rows(&parse_lines(one_line.as_bytes(), &options).unwrap());
    assert_eq!(decode_rows(&rows, &ReadOptions::default(), Points::default()).unwrap().values.len(), 100_000);
}

proptest! {
    #[test]
    fn lines_that_end_as_on_windows_say_the_same(lines in prop::collection::vec(line(), 0..20), spaces in "[ ]{0,2}") {
        // Each line is repeated, so that the fast paths for known series and shapes are taken.
        let repeated: Vec<&str> = lines.iter().flat_map(|line| [line.trim_end_matches('\n'); 2]).collect();
        let points = shown(&parsed(&lines.iter().map(|line| line.repeat(2)).collect::<String>()));
        for end in ["\r\n".to_owned(), format!("{spaces}\r\n\r\n# comment\r\n")] {
            let windows = repeated.join(&end);
            for behind in ["", "\r", "\r\n", "\n"] {
                prop_assert_eq!(shown(&parsed(&format!("{windows}{behind}"))), points.clone());
            }
        }
    }

    #[test]
    fn lines_that_are_written_again_say_the_same(lines in prop::collection::vec(line(), 0..20)) {
        // Each line is repeated, so that the fast paths for known series and shapes are taken.
        let body: String = lines.iter().map(|line| line.repeat(2)).collect();
        let points = parse_lines(body.as_bytes(), &MS).unwrap();
        prop_assert_eq!(points.len(), 2 * lines.len());
        let mut again = Vec::new();
        for point in points.iter() {
            push_point(&mut again, &point).unwrap();
        }
        let nanoseconds = ReadOptions { precision: Precision::Nanoseconds, ..MS };
        prop_assert_eq!(shown(&parse_lines(&again, &nanoseconds).unwrap()), shown(&points));
        let rows = encode_rows(&points);
        prop_assert_eq!(shown(&decode_rows(&rows, &ReadOptions::default(), Points::default()).unwrap()), shown(&points));
        // A line is decoded alone as it is among others.
        let alone: Vec<_> = lines.iter().flat_map(|line| shown(&parsed(line))).collect();
        let every_second: Vec<_> = shown(&points).into_iter().step_by(2).collect();
        prop_assert_eq!(alone, every_second);
    }

    #[test]
    fn no_bytes_make_a_reader_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let _ = parse_lines(&bytes, &MS);
        let _ = decode_rows(&bytes, &ReadOptions::default(), Points::default());
        let _ = decode_columns(&bytes, ColumnBuffers::default(), 100);
    }

    #[test]
    fn damaged_bytes_are_read_or_refused(
        lines in prop::collection::vec(line(), 1..4),
        place in any::<prop::sample::Index>(),
        byte in any::<u8>(),
        cut in any::<prop::sample::Index>(),
    ) {
        let body = lines.concat();
        let points = parse_lines(body.as_bytes(), &MS).unwrap();
        let mut columns = Vec::new();
        ColumnsWriter::new("m", &[("t", "x")], "v").unwrap().encode_vec(&[1.0, 2.0], Some(&[1, -1]), &mut columns).unwrap();
        for mut bytes in [body.clone().into_bytes(), encode_rows(&points), columns] {
            let index = place.index(bytes.len());
            bytes[index] = byte;
            bytes.truncate(cut.index(bytes.len()) + 1);
            let _ = parse_lines(&bytes, &MS);
            let _ = decode_rows(&bytes, &ReadOptions::default(), Points::default());
            let _ = decode_columns(&bytes, ColumnBuffers::default(), 100);
        }
    }

    #[test]
    fn columns_read_back(
        columns in prop::collection::vec((any::<f64>(), any::<i64>()), 0..40),
        has_timestamps in any::<bool>(),
        measurement in name(),
    ) {
        let (values, times): (Vec<_>, Vec<_>) = columns.into_iter().unzip();
        let writer = ColumnsWriter::new(&measurement, &[("a", ""), ("b", &measurement)], "v").unwrap();
        let mut bytes = Vec::new();
        writer.encode_vec(&values, has_timestamps.then_some(&times[..]), &mut bytes).unwrap();
        let ColumnarBatch { head, values: read, timestamps } = decode_columns(&bytes, ColumnBuffers::default(), 100).unwrap();
        prop_assert_eq!(head.measurement, &measurement);
        prop_assert_eq!(head.tags, [("a", ""), ("b", measurement.as_str())]);
        let bits = |values: &[f64]| values.iter().map(|value| value.to_bits()).collect::<Vec<_>>();
        prop_assert_eq!(bits(&read), bits(&values));
        prop_assert_eq!(timestamps, if has_timestamps { times.clone() } else { Vec::new() });

        let writer = RowsWriter::new(&measurement, &[("a", ""), ("b", &measurement)], "v").unwrap();
        let mut rows = vec![0; writer.most_bytes(values.len(), has_timestamps)];
        let length = writer.encode(&values, has_timestamps.then_some(&times[..]), &mut rows).unwrap();
        prop_assert!(writer.encode(&values, None, &mut vec![0; writer.most_bytes(values.len(), false) - 1]).is_err());
        let read = decode_rows(&rows[..length], &ReadOptions { now: 5, ..ReadOptions::default() }, Points::default()).unwrap();
        prop_assert_eq!(read.values, values.iter().map(|value| value.to_bits()).collect::<Vec<_>>());
        prop_assert_eq!(read.times, if has_timestamps { times } else { vec![5; values.len()] });
        if let Some(series) = read.series.first() {
            prop_assert_eq!(series.measurement(), measurement.as_str());
            prop_assert_eq!(series.tags(), [("a".into(), "".into()), ("b".into(), measurement.into())]);
        }
    }
}
