//! Arrays of JavaScript: their checked lengths, and arrays of objects.

use napi::bindgen_prelude::{Array as JsArray, JsObjectValue, Object, ToNapiValue};
use napi::{Env, JsValue, sys};

use crate::host::errors::invalid;

/// The length of an array of `elements` that `owner` has, at most `most`. Both are named in the errors. Check the length before
/// memory is allocated, since the array may be an empty one of four billion elements.
pub fn length_of(array: &Object<'_>, owner: &str, elements: &str, most: u32) -> napi::Result<u32> {
    if !array.is_array()? {
        return Err(invalid(format!("{owner}'s {elements} must be an array")));
    }
    let length = array.get_array_length()?;
    if length > most {
        return Err(invalid(format!("{owner} has at most {most} {elements}, not {length}")));
    }
    Ok(length)
}

/// An array of `count` objects. `fill` gets each object with its index, and sets its properties.
///
/// # Safety
/// `env` is the environment of this thread, and a scope of handles is open.
pub unsafe fn array_of_objects(
    env: sys::napi_env,
    count: usize,
    mut fill: impl FnMut(usize, &mut Object<'_>) -> napi::Result<()>,
) -> napi::Result<sys::napi_value> {
    let handle = Env::from_raw(env);
    #[expect(clippy::cast_possible_truncation, reason = "more objects than that do not fit in memory")]
    let mut array: JsArray<'_> = handle.create_array(count as u32)?;
    for (number, index) in (0..count).zip(0..) {
        let mut object = Object::new(&handle)?;
        fill(number, &mut object)?;
        array.set(index, object)?;
    }
    // SAFETY: the environment is the one the array was made in.
    unsafe { JsArray::to_napi_value(env, array) }
}
