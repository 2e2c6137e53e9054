//! Conversions of arrays to the types of a table's columns.

use std::sync::Arc;

use arrow_array::builder::{FixedSizeBinaryBuilder, StringRunBuilder};
use arrow_array::types::{Int32Type, UInt8Type};
use arrow_array::{
    Array, ArrayRef, BinaryViewArray, Date32Array, Date64Array, Decimal128Array, Decimal256Array, Float32Array,
    Float64Array, Int8Array, Int16Array, Int64Array, LargeBinaryArray, LargeStringArray, NullArray, StringArray,
    StringViewArray, Time64MicrosecondArray, TimestampMicrosecondArray, TimestampNanosecondArray, TimestampSecondArray,
    UInt16Array, UInt32Array, UInt64Array,
};
use arrow_buffer::i256;
use arrow_cast::display::array_value_to_string;
use arrow_schema::{DataType, Field, TimeUnit};
use boundary_bench_engine::arrow_in::{convert, sql_type_of};
use boundary_bench_engine::table::SqlType;

const DAY: i64 = 86_400_000_000;

fn column(sql_type: SqlType) -> Field {
    Field::new("c", sql_type.to_arrow(), true)
}

fn decimal(precision: u8, scale: u8) -> SqlType {
    SqlType::Decimal { precision, scale }
}

/// The values of a converted array as texts, or the error's text if the conversion fails.
fn stored(array: impl Array + 'static, sql_type: SqlType) -> std::result::Result<Vec<String>, String> {
    let array: ArrayRef = Arc::new(array);
    let converted = convert(&array, &column(sql_type), 10).map_err(|error| format!("[{}] {error}", error.code()))?;
    assert_eq!((converted.len(), converted.data_type()), (array.len(), &sql_type.to_arrow()));
    converted.to_data().validate_full().unwrap();
    let text = |row: usize| {
        if converted.is_null(row) { "-".to_owned() } else { array_value_to_string(&converted, row).unwrap() }
    };
    Ok((0..converted.len()).map(text).collect())
}

fn check(array: impl Array + 'static, sql_type: SqlType, expected: &[&str]) {
    assert_eq!(stored(array, sql_type).unwrap(), expected);
}

fn refused(array: impl Array + 'static, sql_type: SqlType, expected: &str) {
    assert_eq!(stored(array, sql_type).unwrap_err(), expected);
}

#[test]
fn an_array_of_the_columns_type_is_not_copied() {
    let array: ArrayRef = Arc::new(Int64Array::from(vec![1, 2]));
    assert!(Arc::ptr_eq(&array, &convert(&array, &column(SqlType::BigInt), 0).unwrap()));
}

#[test]
fn numbers_are_stored_if_the_column_holds_them_exactly() {
    check(Int8Array::from(vec![Some(-128), None]), SqlType::SmallInt, &["-128", "-"]);
    check(UInt16Array::from(vec![65_535]), SqlType::Int, &["65535"]);
    check(UInt32Array::from(vec![u32::MAX]), SqlType::BigInt, &["4294967295"]);
    check(UInt64Array::from(vec![1, u64::MAX]), decimal(20, 0), &["1", "18446744073709551615"]);
    check(UInt64Array::from(vec![7]), SqlType::SmallInt, &["7"]);
    check(Int64Array::from(vec![-7]), decimal(5, 2), &["-7.00"]);
    check(Int64Array::from(vec![1 << 53, -5]), SqlType::Double, &["9007199254740992.0", "-5.0"]);
    check(Float64Array::from(vec![Some(1.0), None, Some(-0.0)]), SqlType::Int, &["1", "-", "0"]);
    check(Float32Array::from(vec![0.1]), SqlType::Double, &["0.10000000149011612"]);
    check(Float64Array::from(vec![0.5, f64::NAN, f64::INFINITY]), SqlType::Real, &["0.5", "NaN", "inf"]);
    check(
        Decimal256Array::from(vec![i256::from_i128(1_250)]).with_data_type(DataType::Decimal256(50, 3)),
        decimal(5, 2),
        &["1.25"],
    );
    check(
        Decimal128Array::from(vec![300, -500]).with_data_type(DataType::Decimal128(5, 2)),
        SqlType::SmallInt,
        &["3", "-5"],
    );
    check(Decimal128Array::from(vec![3]).with_data_type(DataType::Decimal128(5, -2)), SqlType::Int, &["300"]);
    let long = i256::from_string(&format!("123{}", "0".repeat(60))).unwrap();
    check(Decimal256Array::from(vec![long]).with_data_type(DataType::Decimal256(76, 60)), decimal(3, 0), &["123"]);
}

#[test]
fn a_number_that_the_column_does_not_hold_is_named_with_a_remedy() {
    refused(
        UInt16Array::from(vec![1, 40_000]),
        SqlType::SmallInt,
        "[BB_INVALID_VALUE] row 11, column \"c\": 40000 of Arrow's type UInt16 is no value of SMALLINT; make the column \
         INTEGER, or change the value",
    );
    for (array, sql_type, value) in [
        (Arc::new(UInt64Array::from(vec![u64::MAX])) as ArrayRef, SqlType::BigInt, "18446744073709551615"),
        (Arc::new(UInt64Array::from(vec![u64::MAX])), SqlType::Double, "18446744073709551615"),
        (Arc::new(Int64Array::from(vec![i64::MAX])), SqlType::Double, "9223372036854775807"),
        (Arc::new(Int64Array::from(vec![i64::from(i32::MIN) - 1])), SqlType::Int, "-2147483649"),
        (Arc::new(Int64Array::from(vec![1000])), decimal(4, 1), "1000"),
        (Arc::new(Float64Array::from(vec![1.5])), SqlType::Int, "1.5"),
        (Arc::new(Float64Array::from(vec![f64::NAN])), SqlType::BigInt, "NaN"),
        (Arc::new(Float64Array::from(vec![9_223_372_036_854_775_808.0])), SqlType::BigInt, "9.223372036854776e18"),
        (Arc::new(Float64Array::from(vec![0.1])), SqlType::Real, "0.1"),
        (Arc::new(Float64Array::from(vec![1e300])), SqlType::Real, "1e300"),
        (Arc::new(Decimal128Array::from(vec![125]).with_data_type(DataType::Decimal128(5, 2))), decimal(5, 1), "1.25"),
        (Arc::new(Decimal128Array::from(vec![125]).with_data_type(DataType::Decimal128(5, 2))), SqlType::Int, "1.25"),
    ] {
        let error = convert(&array, &column(sql_type), 0).unwrap_err();
        assert_eq!(error.code(), "BB_INVALID_VALUE", "{error}");
        assert!(error.to_string().starts_with(&format!("row 0, column \"c\": {value} of Arrow's type")), "{error}");
    }
}

#[test]
fn a_decimal_of_more_digits_than_its_type_says_is_refused() {
    refused(
        Decimal128Array::from(vec![1, 12_345]).with_data_type(DataType::Decimal128(4, 2)),
        decimal(4, 2),
        "[BB_INVALID_VALUE] row 11, column \"c\": has more digits than DECIMAL(4, 2)",
    );
}

#[test]
fn values_behind_nulls_are_not_looked_at() {
    let nulls = arrow_buffer::NullBuffer::from(vec![true, false]);
    let hidden = UInt64Array::new(vec![1, u64::MAX].into(), Some(nulls.clone()));
    check(hidden, SqlType::SmallInt, &["1", "-"]);
    let hidden = Decimal128Array::new(vec![1, i128::MAX].into(), Some(nulls));
    check(hidden.with_data_type(DataType::Decimal128(4, 2)), decimal(4, 2), &["0.01", "-"]);
}

#[test]
fn dates_and_times_keep_their_instant() {
    check(Date64Array::from(vec![Some(-86_400_000), None]), SqlType::Date, &["1969-12-31", "-"]);
    check(Date32Array::from(vec![1]), SqlType::Timestamp, &["1970-01-02T00:00:00"]);
    check(TimestampSecondArray::from(vec![-1]), SqlType::Timestamp, &["1969-12-31T23:59:59"]);
    check(TimestampNanosecondArray::from(vec![-1_000]), SqlType::Timestamp, &["1969-12-31T23:59:59.999999"]);
    // A zone says how a reader shows the instant. The value is in UTC.
    let zoned = TimestampMicrosecondArray::from(vec![0]).with_timezone("Europe/Berlin");
    check(zoned, SqlType::Timestamp, &["1970-01-01T00:00:00"]);
    check(TimestampNanosecondArray::from(vec![DAY * 1000]), SqlType::Date, &["1970-01-02"]);
    for (array, sql_type) in [
        (Arc::new(TimestampNanosecondArray::from(vec![1])) as ArrayRef, SqlType::Timestamp),
        (Arc::new(TimestampSecondArray::from(vec![i64::MAX])), SqlType::Timestamp),
        (Arc::new(TimestampMicrosecondArray::from(vec![DAY + 1])), SqlType::Date),
        (Arc::new(Date64Array::from(vec![1])), SqlType::Date),
        (Arc::new(Date64Array::from(vec![i64::MAX - i64::MAX % 86_400_000])), SqlType::Date),
        (Arc::new(Date32Array::from(vec![i32::MAX])), SqlType::Timestamp),
    ] {
        let error = convert(&array, &column(sql_type), 0).unwrap_err();
        assert_eq!(error.code(), "BB_INVALID_VALUE", "{array:?}: {error}");
        assert!(!error.to_string().contains("ERROR"), "{error}");
    }
    refused(
        Date32Array::from(vec![i32::MAX]),
        SqlType::Timestamp,
        "[BB_INVALID_VALUE] row 10, column \"c\": 2147483647 of Arrow's type Date32 is no value of TIMESTAMP; make the column \
         DATE, or change the value",
    );
    refused(
        TimestampNanosecondArray::from(vec![1]),
        SqlType::Timestamp,
        "[BB_INVALID_VALUE] row 10, column \"c\": 1970-01-01T00:00:00.000000001 of Arrow's type Timestamp(ns) is no value of \
         TIMESTAMP; round it to Timestamp(µs), or change the value",
    );
}

#[test]
fn texts_and_bytes_of_all_layouts_are_stored() {
    let long = "a text that is longer than twelve bytes";
    check(LargeStringArray::from(vec![Some("ü"), None]), SqlType::Text, &["ü", "-"]);
    check(StringViewArray::from(vec![Some("a"), None, Some(long)]), SqlType::Text, &["a", "-", long]);
    check(LargeBinaryArray::from(vec![b"ab".as_slice()]), SqlType::Bytes, &["6162"]);
    check(BinaryViewArray::from(vec![b"ab".as_slice()]), SqlType::Bytes, &["6162"]);
    let mut fixed = FixedSizeBinaryBuilder::new(2);
    fixed.append_value(b"ab").unwrap();
    fixed.append_null();
    check(fixed.finish(), SqlType::Bytes, &["6162", "-"]);
}

#[test]
fn values_that_are_stored_once_are_repeated_for_their_rows() {
    let words: arrow_array::DictionaryArray<Int32Type> = [Some("x"), None, Some("x")].into_iter().collect();
    check(words, SqlType::Text, &["x", "-", "x"]);
    let numbers = arrow_array::DictionaryArray::<UInt8Type>::new(
        vec![1, 0, 1].into(),
        Arc::new(Int64Array::from(vec![1 << 40, 3])),
    );
    refused(
        numbers.clone(),
        SqlType::Int,
        "[BB_INVALID_VALUE] row 11, column \"c\": 1099511627776 of Arrow's type Dictionary(UInt8, Int64) is no value of \
         INTEGER; make the column BIGINT, or change the value",
    );
    // No row has the value that does not fit.
    let keys = vec![1, 1].into();
    let fits = arrow_array::DictionaryArray::<UInt8Type>::new(keys, Arc::clone(numbers.values()));
    check(fits, SqlType::Int, &["3", "3"]);
    let none: arrow_array::DictionaryArray<Int32Type> = [None::<&str>, None].into_iter().collect();
    check(none, SqlType::BigInt, &["-", "-"]);
    let mut runs = StringRunBuilder::<Int32Type>::new();
    runs.extend([Some("a"), Some("a"), None, Some("b")]);
    let runs = runs.finish();
    check(runs.slice(1, 3), SqlType::Text, &["a", "-", "b"]);
    check(runs, SqlType::Text, &["a", "a", "-", "b"]);
    check(NullArray::new(2), SqlType::Timestamp, &["-", "-"]);
}

#[test]
fn a_few_values_for_many_rows_take_no_more_memory_than_an_array_can_have() {
    let long = Arc::new(LargeStringArray::from(vec!["x".repeat(1 << 20)]));
    let keys = arrow_array::PrimitiveArray::<UInt8Type>::from(vec![0; 3000]);
    let array: ArrayRef = Arc::new(arrow_array::DictionaryArray::<UInt8Type>::new(keys, long));
    let error = convert(&array, &column(SqlType::Text), 0).unwrap_err();
    assert_eq!(error.code(), "BB_TOO_LARGE");
    assert_eq!(
        error.to_string(),
        "column \"c\": a batch has more than 2 GiB of its values; send batches of fewer rows"
    );
}

#[test]
fn a_type_without_a_counterpart_is_named_with_a_remedy() {
    refused(
        StringArray::from(vec!["1"]),
        SqlType::Int,
        "[BB_SCHEMA_MISMATCH] column \"c\": Arrow values of type Utf8 can't be stored as INTEGER; cast them to Int32 before \
         they are sent, or make the column VARCHAR",
    );
    refused(
        Time64MicrosecondArray::from(vec![1]),
        SqlType::Timestamp,
        "[BB_SCHEMA_MISMATCH] column \"c\": Arrow values of type Time64(µs) can't be stored as TIMESTAMP; cast them to \
         Timestamp(µs) before they are sent",
    );
    for (array, sql_type) in [
        (Arc::new(Float64Array::from(vec![1.0])) as ArrayRef, decimal(5, 2)),
        (Arc::new(Decimal128Array::from(vec![1])), SqlType::Double),
        (Arc::new(Int16Array::from(vec![1])), SqlType::Bool),
        (Arc::new(Int64Array::from(vec![1])), SqlType::Timestamp),
        (Arc::new(StringArray::from(vec!["a"])), SqlType::Bytes),
        (Arc::new(LargeStringArray::from(vec!["a"])), SqlType::Int),
        (Arc::new(TimestampSecondArray::from(vec![0]).with_timezone("UTC")), SqlType::Date),
    ] {
        assert_eq!(convert(&array, &column(sql_type), 0).unwrap_err().code(), "BB_SCHEMA_MISMATCH", "{array:?}");
    }
}

#[test]
fn every_convertible_type_has_a_column_that_holds_it() {
    let decimals = [
        (DataType::Decimal64(16, 3), (16, 3)),
        (DataType::Decimal128(5, -2), (7, 0)),
        (DataType::Decimal32(2, 4), (4, 4)),
        (DataType::Decimal256(60, 4), (38, 4)),
    ];
    for (data_type, (precision, scale)) in decimals {
        assert_eq!(sql_type_of(&data_type), Some(decimal(precision, scale)));
    }
    assert_eq!(sql_type_of(&DataType::Decimal256(76, 39)), None);
    assert_eq!(sql_type_of(&DataType::Time64(TimeUnit::Microsecond)), None);
    let words = DataType::Dictionary(Box::new(DataType::Int8), Box::new(DataType::LargeUtf8));
    assert_eq!(sql_type_of(&words), Some(SqlType::Text));
}
