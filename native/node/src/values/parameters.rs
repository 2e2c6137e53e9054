//! Conversion of the parameters of statements from JavaScript.

use boundary_bench_engine::decimal;
use boundary_bench_engine::table::{MAX_DECIMAL_PRECISION, SqlType};
use boundary_bench_engine::{Value, unusable_parameter};
use napi::bindgen_prelude::{FromNapiValue, JsObjectValue, Object, Unknown};
use napi::{Env, JsValue, ValueType, sys};

use crate::host::errors::js;
use crate::memory::typed_memory::view_of;
use crate::values::arrays::length_of;
use crate::values::numbers::{digits, integer, narrow, read};

/// The most parameters of a statement: a server's protocol counts them with 16 bits.
const MOST_PARAMETERS: u32 = u16::MAX as u32;

/// The parameters of a statement, from an array of values: null, booleans, numbers (doubles), bigints (64-bit integers),
/// strings, `Uint8Array`s, and `{kind: "date", value: days}`, `{kind: "timestamp", value: microseconds}`, `{kind:
/// "decimal", value: text, precision, scale}`, `{kind: "smallint" | "int" | "real", value: number}`. With the value null,
/// an object of any kind of column is a null of that type.
pub struct Parameters(pub Vec<Value>);

impl FromNapiValue for Parameters {
    unsafe fn from_napi_value(env: sys::napi_env, value: sys::napi_value) -> napi::Result<Self> {
        // SAFETY: both handles belong to the call under way.
        let values = unsafe { Object::from_napi_value(env, value) }?;
        let length = length_of(&values, "a statement", "parameters", MOST_PARAMETERS)?;
        let env = Env::from_raw(env);
        let read = |index| {
            parameter(env, values.get_element(index)?)
                .map_err(|problem| js(unusable_parameter(index as usize + 1, problem)))
        };
        (0..length).map(read).collect::<napi::Result<_>>().map(Self)
    }
}

/// Converts one value. The error says why it is refused.
fn parameter(env: Env, value: Unknown<'_>) -> Result<Value, String> {
    let kind = value.get_type().map_err(|error| error.to_string())?;
    Ok(match kind {
        ValueType::Null => Value::Null,
        ValueType::Boolean => Value::Bool(read(&value, kind, ValueType::Boolean)?),
        ValueType::Number => Value::Double(read(&value, kind, ValueType::Number)?),
        ValueType::BigInt => Value::Int(integer(&value, kind)?),
        ValueType::String => Value::Text(read(&value, kind, ValueType::String)?),
        ValueType::Object => {
            if value.is_typedarray().map_err(|error| error.to_string())? {
                // SAFETY: the bytes are copied before any JavaScript runs.
                Value::Bytes(unsafe { view_of(env, value.raw()) }?.to_vec())
            } else {
                let object = read(&value, kind, ValueType::Object)?;
                typed(&object)?
            }
        }
        _ => return Err(format!("expected a value, got {kind}")),
    })
}

/// Converts an object that describes a value of a type that JavaScript lacks, or a null of a type.
fn typed(object: &Object<'_>) -> Result<Value, String> {
    let of_object = |name: &str| object.get_named_property::<Unknown<'_>>(name).map_err(|error| error.to_string());
    let kind = of_object("kind")?;
    let kind_type = kind.get_type().map_err(|error| error.to_string())?;
    let kind: String =
        read(&kind, kind_type, ValueType::String).map_err(|_| "an object needs the kind of its value")?;
    let value = of_object("value")?;
    let value_type = value.get_type().map_err(|error| error.to_string())?;
    let sql_type = match &*kind {
        "bool" => SqlType::Bool,
        "smallint" => SqlType::SmallInt,
        "int" => SqlType::Int,
        "bigint" => SqlType::BigInt,
        "real" => SqlType::Real,
        "double" => SqlType::Double,
        "text" => SqlType::Text,
        "bytes" => SqlType::Bytes,
        "date" => SqlType::Date,
        "timestamp" => SqlType::Timestamp,
        "decimal" => {
            let digits_of = |name: &str| {
                let value = of_object(name)?;
                let kind = value.get_type().map_err(|error| error.to_string())?;
                digits(read(&value, kind, ValueType::Number)?, name).map_err(|error| error.reason.clone())
            };
            let (precision, scale) = (digits_of("precision")?, digits_of("scale")?);
            if precision == 0 || precision > MAX_DECIMAL_PRECISION || scale > precision {
                return Err(format!("there is no DECIMAL({precision}, {scale})"));
            }
            SqlType::Decimal { precision, scale }
        }
        _ => return Err("an object has no such kind of value".to_owned()),
    };
    if value_type == ValueType::Null {
        return Ok(Value::NullOf(sql_type));
    }
    match sql_type {
        SqlType::SmallInt => integer(&value, value_type).and_then(narrow).map(Value::SmallInt),
        SqlType::Int => integer(&value, value_type).and_then(narrow).map(Value::Int32),
        #[expect(clippy::cast_possible_truncation, reason = "REAL rounds to binary32, as SQL does")]
        SqlType::Real => read::<f64>(&value, value_type, ValueType::Number).map(|number| Value::Real(number as f32)),
        SqlType::Date => integer(&value, value_type).and_then(narrow).map(Value::Date),
        SqlType::Timestamp => integer(&value, value_type).map(Value::Timestamp),
        SqlType::Decimal { precision, scale } => {
            let text: String = read(&value, value_type, ValueType::String)?;
            let value = decimal::parse(&text, precision, scale)
                .ok_or_else(|| format!("\"{text}\" is no DECIMAL({precision}, {scale})"))?;
            Ok(Value::Decimal { value, precision, scale })
        }
        _ => Err(format!("a value of the kind {kind} is not given as an object")),
    }
}
