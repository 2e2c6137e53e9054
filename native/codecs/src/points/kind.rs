//! The types of fields, and how they are widened.

/// The type of a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum FieldKind {
    /// A 64-bit float.
    Float = 0,
    /// A signed 64-bit integer.
    Integer = 1,
    /// An unsigned 64-bit integer.
    UInteger = 2,
    /// Text.
    String = 3,
    /// True or false.
    Boolean = 4,
}

impl FieldKind {
    /// All types, in the order of their numbers.
    pub const ALL: [Self; 5] = [Self::Float, Self::Integer, Self::UInteger, Self::String, Self::Boolean];

    /// The name of the type, in messages.
    pub fn name(self) -> &'static str {
        match self {
            Self::Float => "float",
            Self::Integer => "integer",
            Self::UInteger => "unsigned",
            Self::String => "string",
            Self::Boolean => "boolean",
        }
    }

    /// The type of a field that has values of both types, as `HyperbyteDB` widens them: integers become floats, or unsigned
    /// integers. `None` if no type holds both.
    pub fn widened(self, other: Self) -> Option<Self> {
        match (self, other) {
            _ if self == other => Some(self),
            (Self::Integer, wider @ (Self::Float | Self::UInteger))
            | (wider @ (Self::Float | Self::UInteger), Self::Integer) => Some(wider),
            _ => None,
        }
    }
}
