use proptest::collection::vec;
use proptest::prelude::*;
use serde_json::Value;

use super::*;

type Row = TenTypesRow<String, Vec<u8>>;
type Borrowed<'bytes> = TenTypesRow<&'bytes str, &'bytes [u8]>;

fn any_row() -> impl Strategy<Value = Row> {
    let numbers = (any::<Option<bool>>(), any::<Option<i8>>(), any::<Option<i16>>(), any::<Option<i32>>());
    let float = || any::<Option<u64>>().prop_map(|bits| bits.map(f64::from_bits));
    let float32 = any::<Option<u32>>().prop_map(|bits| bits.map(f32::from_bits));
    let wide = (any::<Option<i64>>(), float32, float(), float());
    let text = proptest::option::of("[a-zé日\u{1f600}]{0,20}");
    (numbers, wide, text, proptest::option::of(vec(any::<u8>(), 0..40))).prop_map(|(numbers, wide, text, bytes)| {
        let (truth, int8, int16, int32) = numbers;
        let (int64, float32, float64, timestamp) = wide;
        Row { truth, int8, int16, int32, int64, float32, float64, text, bytes, timestamp }
    })
}

fn row(text: &str) -> Row {
    Row {
        truth: Some(true),
        int8: Some(-1),
        int16: None,
        int32: Some(i32::MIN),
        int64: Some(-2),
        float32: None,
        float64: Some(0.5),
        text: Some(text.to_owned()),
        bytes: Some(vec![1, 2, 3]),
        timestamp: None,
    }
}

fn encoded<R: WriteRow>(rows: &[R]) -> Vec<u8> {
    let mut out = Vec::new();
    encode_rows(rows, &mut out).unwrap();
    out
}

fn decoded(bytes: &[u8]) -> Result<Vec<Borrowed<'_>>> {
    decode_rows(bytes)
}

/// Decodes into columns with room for just what is asked for, and encodes the columns again into just as much room.
fn through_columns(bytes: &[u8], rows: u32, texts: u32) -> Result<Vec<u8>> {
    let layout = Layout::new(&Kind::ALL, rows, texts)?;
    let mut block = vec![0xff; layout.size()];
    let rows = layout.decode(bytes, &mut block)?;
    let mut out = vec![0; bytes.len()];
    let size = layout.encode(&block, rows, &mut out)?;
    assert_eq!(size, bytes.len());
    Ok(out)
}

fn problem<T: std::fmt::Debug>(result: Result<T>) -> String {
    result.unwrap_err().to_string()
}

proptest! {
    #[test]
    fn rows_come_back(rows in vec(any_row(), 0..20)) {
        let bytes = encoded(&rows);
        prop_assert_eq!(&encoded(&decoded(&bytes).unwrap()), &bytes);
        prop_assert_eq!(through_columns(&bytes, 20, 20 * 80).unwrap(), bytes);
    }

    #[test]
    fn both_decoders_take_and_refuse_the_same_bytes(
        rows in vec(any_row(), 1..5), at in any::<prop::sample::Index>(), byte in any::<u8>(), end in any::<prop::sample::Index>(),
    ) {
        let mut bytes = encoded(&rows);
        let at = at.index(bytes.len());
        bytes[at] = byte;
        for bytes in [&bytes[..], &bytes[..end.index(bytes.len())]] {
            let by_rows = decoded(bytes);
            let by_columns = through_columns(bytes, 9, 4000);
            prop_assert_eq!(by_rows.is_ok(), by_columns.is_ok(), "{:?} {:?}", by_rows, by_columns);
            if let Ok(again) = by_columns {
                prop_assert_eq!(&again[..], bytes);
            }
        }
    }
}

#[test]
fn a_row_has_the_bytes_that_are_documented() {
    let bytes = encoded(&[row("é")]);
    let nulls = [0b0010_0100, 0b10];
    let values = [&[1, 0xff][..], &[0, 0, 0, 0x80], &[0xfe], &[0xff; 7], &[0, 0, 0, 0, 0, 0, 0xe0, 0x3f]].concat();
    let texts = [2, 0, 0, 0, 0xc3, 0xa9, 3, 0, 0, 0, 1, 2, 3];
    assert_eq!(bytes, [&[37, 0, 0, 0][..], &nulls, &values, &texts].concat());
}

#[test]
fn values_lie_in_their_columns() {
    let rows = [row("one"), Row { int32: None, text: None, ..row("") }, row("three")];
    let layout = Layout::new(&Kind::ALL, 3, 9).unwrap();
    let mut block = vec![0xff; layout.size()];
    assert_eq!(layout.decode(&encoded(&rows), &mut block).unwrap(), 3);
    assert_eq!(layout.bitmaps(&block, 3).unwrap(), [0b0010_0100, 0b10, 0b1010_1100, 0b10, 0b0010_0100, 0b10]);
    let Values::Four(numbers) = layout.values(&block, 3, 3).unwrap() else { panic!("four bytes") };
    assert_eq!(numbers.iter().map(|value| i32::from_le_bytes(*value)).collect::<Vec<_>>(), [i32::MIN, 0, i32::MIN]);
    let Values::Texts(Texts { offsets, bytes }) = layout.values(&block, 7, 3).unwrap() else { panic!("texts") };
    assert_eq!(offsets.iter().map(|offset| u32::from_le_bytes(*offset)).collect::<Vec<_>>(), [0, 3, 3, 8]);
    assert_eq!(bytes[..8], *b"onethree");
    assert!(matches!(layout.values(&block, 0, 3).unwrap(), Values::One([1, 1, 1])));
    assert!(matches!(layout.values(&block, 2, 3).unwrap(), Values::Two([[0, 0], [0, 0], [0, 0]])));
    assert!(layout.values(&block, 10, 3).is_err());
    assert!(layout.values(&block, 0, 4).is_err());
}

#[test]
fn there_may_be_just_enough_room() {
    let bytes = encoded(&[row("sixteen letters!"), row("more than sixteen letters")]);
    assert!(through_columns(&bytes, 2, 41).is_ok());
    for (rows, texts) in [(1, 41), (2, 40), (0, 0)] {
        assert!(problem(through_columns(&bytes, rows, texts)).contains("the columns have no more room"));
    }
    let layout = Layout::new(&Kind::ALL, 2, 41).unwrap();
    let mut block = vec![0; layout.size()];
    assert!(layout.decode(&bytes, &mut block[1..]).is_err());
    layout.decode(&bytes, &mut block).unwrap();
    for room in 0..bytes.len() {
        assert!(problem(layout.encode(&block, 2, &mut vec![0; room])).contains("has no room"), "{room} bytes");
    }
    assert!(problem(layout.encode(&block, 3, &mut [0; 200])).contains("room for 2 rows"));
    assert!(problem(layout.encode(&block[1..], 2, &mut [0; 200])).contains("the block of the columns"));
}

#[test]
fn offsets_that_lead_elsewhere_are_refused() {
    let layout = Layout::new(&[Kind::Text], 2, 8).unwrap();
    // Bitmaps, then three offsets from the place 8 on, then the text from the place 24 on.
    for offsets in [[0, 9, 9], [5, 4, 4], [0, u32::MAX, 0], [9, 9, 9]] {
        let mut block = vec![0; layout.size()];
        for (place, offset) in offsets.iter().enumerate() {
            block[8 + place * 4..12 + place * 4].copy_from_slice(&u32::to_le_bytes(*offset));
        }
        assert!(problem(layout.encode(&block, 2, &mut [0; 100])).contains("not among the column's bytes"));
    }
}

#[test]
fn each_problem_is_named() {
    let good = encoded(&[row("text")]);
    let with = |place: usize, byte: u8| {
        let mut bytes = good.clone();
        bytes[place] = byte;
        bytes
    };
    let cases = [
        (good[..3].to_vec(), "ends too early"),
        (good[..good.len() - 1].to_vec(), "ends too early"),
        (vec![1, 0, 0, 0, 0], "ends too early"),
        (with(0, good[0] - 1), "ends too early"),
        (with(28, 200), "ends too early"),
        ([&with(0, good[0] + 1)[..], &[0]].concat(), "goes on"),
        (with(5, 0b110), "the bitmap"),
        (with(6, 2), "neither 0 nor 1"),
        (with(32, 0xff), "not UTF-8"),
    ];
    for (bytes, named) in cases {
        let bytes = [&good[..], &bytes].concat();
        for problem in [problem(decoded(&bytes)), problem(through_columns(&bytes, 9, 99))] {
            assert!(problem.starts_with("rows, row 1: ") && problem.contains(named), "{named}: {problem}");
        }
    }
}

#[test]
fn a_text_that_is_cut_within_a_character_is_refused() {
    let cut = |first: &[u8], second: &[u8]| {
        let row =
            |text: &[u8]| [&[u8::try_from(text.len()).unwrap() + 5, 0, 0, 0, 0][..], &[2, 0, 0, 0], text].concat();
        [row(first), row(second)].concat()
    };
    let layout = Layout::new(&[Kind::Text], 2, 8).unwrap();
    let mut block = vec![0; layout.size()];
    assert!(problem(layout.decode(&cut(b"a\xc3", b"\xa9b"), &mut block)).contains("row 0: a text is not UTF-8"));
    assert!(layout.decode(&cut(b"ab", b"\xc3\xa9"), &mut block).is_ok());
}

#[test]
fn a_null_is_refused_where_there_must_be_none() {
    #[derive(Debug)]
    struct Number;
    impl ReadRow<'_> for Number {
        const COLUMNS: usize = 1;

        fn read(row: &mut RowReader<'_>) -> std::result::Result<Self, RowProblem> {
            row.int8().map(|_| Self)
        }
    }
    assert_eq!(decode_rows::<Number>(&[2, 0, 0, 0, 0, 7]).unwrap().len(), 1);
    assert!(problem(decode_rows::<Number>(&[1, 0, 0, 0, 1])).contains("a value is null"));
}

#[test]
fn a_layout_has_1_to_64_columns() {
    assert!(Layout::new(&[], 1, 1).is_err());
    assert!(Layout::new(&[Kind::Truth; 65], 1, 1).is_err());
    let layout = Layout::new(&[Kind::Truth; 64], 1, 1).unwrap();
    let all_null = [&[8, 0, 0, 0][..], &[0xff; 8]].concat();
    let mut block = vec![7; layout.size()];
    assert_eq!(layout.decode(&all_null, &mut block).unwrap(), 1);
    assert!((0..64).all(|column| matches!(layout.values(&block, column, 1), Ok(Values::One([0])))));
    let mut out = [0; 12];
    assert_eq!(layout.encode(&block, 1, &mut out).unwrap(), 12);
    assert_eq!(out[..], all_null);
}

/// The tests of TypeScript read the fixture as well.
#[test]
fn the_rows_of_the_fixture_are_written_and_read() {
    fn check<R: WriteRow>(rows: &[R], hex: &Value, again: impl Fn(&[u8]) -> Vec<u8>) {
        let byte = |pair: &[u8; 2]| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap();
        let bytes: Vec<u8> = hex.as_str().unwrap().as_bytes().as_chunks().0.iter().map(byte).collect();
        assert_eq!([encoded(rows), again(&bytes)], [&bytes[..]; 2]);
    }
    let fixture = include_str!("../../../../../__test__/fixtures/codec-rows.json");
    let fixture: Value = serde_json::from_str(fixture).unwrap();
    let users = [1, 2, 123_456].map(user);
    check(&users, &fixture["user"], |bytes| encoded(&decode_rows::<UserRow<&str>>(bytes).unwrap()));
    for (name, nulls) in [("ten_types", false), ("half_nulls", true)] {
        let rows = [1, 2, 1023].map(|number| ten_types(number, nulls));
        check(&rows, &fixture[name], |bytes| encoded(&decoded(bytes).unwrap()));
    }
}
