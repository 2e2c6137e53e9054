use boundary_bench_engine::{Value, decimal};

use super::CellLists;

/// Lists of values, all of one length, in the form that [`CellLists`] reads.
pub fn lists_of<L: AsRef<[Value]>>(lists: &[L]) -> CellLists {
    let mut bytes = Vec::new();
    lists.iter().flat_map(AsRef::as_ref).for_each(|value| put(&mut bytes, value));
    CellLists::new(bytes, lists.len(), lists.first().map_or(0, |list| list.as_ref().len())).unwrap()
}

fn put(target: &mut Vec<u8>, value: &Value) {
    let sized = |kind, bytes: &[u8]| {
        let length = u32::try_from(bytes.len()).unwrap().to_le_bytes();
        [&[kind], &length[..], bytes].concat()
    };
    target.extend(match value {
        Value::Null | Value::NullOf(_) => vec![0],
        Value::Bool(value) => vec![1 + u8::from(*value)],
        Value::SmallInt(value) => [&[3], &i64::from(*value).to_le_bytes()[..]].concat(),
        Value::Int32(value) => [&[3], &i64::from(*value).to_le_bytes()[..]].concat(),
        Value::Int(value) => [&[3], &value.to_le_bytes()[..]].concat(),
        Value::Real(value) => [&[4], &f64::from(*value).to_le_bytes()[..]].concat(),
        Value::Double(value) => [&[4], &value.to_le_bytes()[..]].concat(),
        Value::Text(text) => sized(5, text.as_bytes()),
        Value::Bytes(bytes) => sized(6, bytes),
        Value::Decimal { value, scale, .. } => sized(7, decimal::format(*value, *scale).as_bytes()),
        Value::Date(days) => [&[8], &days.to_le_bytes()[..]].concat(),
        Value::Timestamp(microseconds) => [&[9], &microseconds.to_le_bytes()[..]].concat(),
    });
}
