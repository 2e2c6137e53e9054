//! Inputs that are handed over as bytes.

/// An input that is made of bytes, once, before the first sample. Implement it for types of your own, such as the batches of a stream of
/// Arrow IPC.
pub trait FromBytes: Sized {
    /// Makes the input. Numbers are little-endian, as the typed arrays of JavaScript are.
    ///
    /// # Errors
    ///
    /// Bytes that are no such input. The error is a sentence for the user.
    fn from_bytes(bytes: Vec<u8>) -> Result<Self, String>;
}

impl FromBytes for Vec<u8> {
    fn from_bytes(bytes: Vec<u8>) -> Result<Self, String> {
        Ok(bytes)
    }
}

impl FromBytes for String {
    fn from_bytes(bytes: Vec<u8>) -> Result<Self, String> {
        Self::from_utf8(bytes).map_err(|error| format!("the input is no UTF-8: {error}"))
    }
}

macro_rules! numbers {
    ($($number:ty),*) => {
        $(impl FromBytes for Vec<$number> {
            fn from_bytes(bytes: Vec<u8>) -> Result<Self, String> {
                let (values, rest) = bytes.as_chunks();
                if !rest.is_empty() {
                    return Err(format!("{} bytes are no values of {} bytes", bytes.len(), size_of::<$number>()));
                }
                Ok(values.iter().map(|value| <$number>::from_le_bytes(*value)).collect())
            }
        })*
    };
}

numbers!(i8, u16, i16, u32, i32, u64, i64, f32, f64);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_little_endian() {
        assert_eq!(Vec::<u8>::from_bytes(vec![1, 2]), Ok(vec![1, 2]));
        assert_eq!(Vec::<i16>::from_bytes(vec![1, 2, 255, 255]), Ok(vec![0x201, -1]));
        assert_eq!(Vec::<f64>::from_bytes(1.5_f64.to_le_bytes().to_vec()), Ok(vec![1.5]));
        assert_eq!(Vec::<f64>::from_bytes(Vec::new()), Ok(Vec::new()));
        assert_eq!(String::from_bytes("é".into()), Ok("é".to_owned()));
        assert!(String::from_bytes(vec![0xff]).is_err());
        assert!(Vec::<u32>::from_bytes(vec![0; 5]).is_err());
    }
}
