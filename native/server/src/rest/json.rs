//! The bodies of the REST requests, as objects of known keys. Text without an escape is borrowed from the body. `null` counts
//! as absent.

use std::borrow::Cow;
use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, Visitor};
use serde_json::value::RawValue;

/// A JSON string, borrowed from the body where it has no escape.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Text<'body>(pub(crate) Cow<'body, str>);

impl<'de> Deserialize<'de> for Text<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Texts;
        impl<'de> Visitor<'de> for Texts {
            type Value = Text<'de>;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("a string")
            }

            fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Text<'de>, E> {
                Ok(Text(Cow::Borrowed(text)))
            }

            fn visit_str<E>(self, text: &str) -> Result<Text<'de>, E> {
                Ok(Text(Cow::Owned(text.to_owned())))
            }
        }
        deserializer.deserialize_str(Texts)
    }
}

/// Defines an object. serde's derive would also accept an array of the fields, which the contract does not.
macro_rules! object {
    ($(#[$doc:meta])* $name:ident, $unknown:ident { $($(#[$field_doc:meta])* $field:ident: $type:ty = $key:literal,)* }) => {
        $(#[$doc])*
        #[derive(Debug, Default)]
        pub(crate) struct $name<'body> {
            $($(#[$field_doc])* pub(crate) $field: Option<$type>,)*
            _body: std::marker::PhantomData<&'body ()>,
        }

        impl<'body> Deserialize<'body> for $name<'body> {
            fn deserialize<D: Deserializer<'body>>(deserializer: D) -> Result<Self, D::Error> {
                struct Fields;
                impl<'body> Visitor<'body> for Fields {
                    type Value = $name<'body>;

                    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                        formatter.write_str("an object")
                    }

                    fn visit_map<A: serde::de::MapAccess<'body>>(self, mut map: A) -> Result<$name<'body>, A::Error> {
                        let mut object = $name::default();
                        while let Some(Text(key)) = map.next_key()? {
                            match &*key {
                                $($key => object.$field = map.next_value()?,)*
                                other => object!(@$unknown map, other),
                            }
                        }
                        Ok(object)
                    }
                }
                deserializer.deserialize_map(Fields)
            }
        }
    };
    (@ignored $map:ident, $other:ident) => {{
        let _ = $other;
        $map.next_value::<serde::de::IgnoredAny>()?;
    }};
    // Keys that begin with "#" are comments.
    (@refused $map:ident, $other:ident) => {{
        if !$other.starts_with('#') {
            return Err(serde::de::Error::custom(format_args!("Unexpected key {:?}", $other)));
        }
        $map.next_value::<serde::de::IgnoredAny>()?;
    }};
}

object! {
    /// A column of the key and its value.
    Filter, ignored {
        column: Text<'body> = "column",
        value: &'body RawValue = "value",
    }
}

object! {
    /// A column to read.
    ReadColumn, ignored {
        column: Text<'body> = "column",
        return_type: Text<'body> = "dataReturnType",
    }
}

object! {
    /// The key and columns of one row: the body of `pk-read` and of each operation of a batch.
    RowRequest, ignored {
        filters: Vec<Filter<'body>> = "filters",
        read_columns: Vec<ReadColumn<'body>> = "readColumns",
        write_columns: Vec<Filter<'body>> = "writeColumns",
        operation_id: Text<'body> = "operationId",
    }
}

object! {
    /// An operation of a batch.
    Operation, ignored {
        method: Text<'body> = "method",
        relative_url: Text<'body> = "relative-url",
        body: RowRequest<'body> = "body",
    }
}

object! {
    /// The body of a batch.
    Batch, ignored {
        operations: Vec<Operation<'body>> = "operations",
    }
}

object! {
    /// One end of a range of keys.
    KeyBound, ignored {
        values: Vec<&'body RawValue> = "values",
        inclusive: bool = "inclusive",
    }
}

object! {
    /// A range of keys.
    KeyRange, ignored {
        lower: KeyBound<'body> = "lower",
        upper: KeyBound<'body> = "upper",
    }
}

object! {
    /// The index of a scan, and the ranges of keys to read.
    Index, ignored {
        name: Text<'body> = "name",
        key_columns: Vec<Text<'body>> = "key_columns",
        ranges: Vec<KeyRange<'body>> = "ranges",
        order: Text<'body> = "order",
    }
}

object! {
    /// The body of a scan.
    Scan, ignored {
        read_columns: Vec<ReadColumn<'body>> = "readColumns",
        limit: u64 = "limit",
        index: Index<'body> = "index",
        filters: &'body RawValue = "filters",
        operation_id: Text<'body> = "operationId",
    }
}

object! {
    /// The body of a `RonSQL` query.
    Query, refused {
        sql: Text<'body> = "query",
        database: Text<'body> = "database",
        explain_mode: Text<'body> = "explainMode",
        output_format: Text<'body> = "outputFormat",
        operation_id: Text<'body> = "operationId",
    }
}

/// The text, empty where it is absent.
pub(crate) fn text<'text>(text: Option<&'text Text<'_>>) -> &'text str {
    text.map_or("", |Text(text)| text)
}
