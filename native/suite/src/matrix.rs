//! `bench/matrix.json`, the one definition of the workloads, of which each family types its own part.

use std::sync::OnceLock;

use boundary_bench_kernel::{Error, Result};
use serde::de::DeserializeOwned;
use serde_json::Value;

/// A result whose error can be given to every caller.
type Parsed<T> = std::result::Result<T, String>;

/// The part of the matrix that defines a family, as far as `T` has it.
pub(crate) struct FamilyPart<T> {
    name: &'static str,
    parsed: OnceLock<Parsed<T>>,
}

impl<T: DeserializeOwned> FamilyPart<T> {
    /// The part of the family `name`. It is parsed at the first use.
    pub(crate) const fn new(name: &'static str) -> Self {
        Self { name, parsed: OnceLock::new() }
    }

    /// The definition of the family.
    pub(crate) fn get(&self) -> Result<&T> {
        let parse = || T::deserialize(&families()?[self.name]).map_err(|error| error.to_string());
        self.parsed.get_or_init(parse).as_ref().map_err(|error| Error::Internal(format!("bench/matrix.json: {error}")))
    }
}

/// The families of the matrix, parsed once.
fn families() -> Parsed<&'static Value> {
    static MATRIX: OnceLock<Parsed<Value>> = OnceLock::new();
    let parse = || serde_json::from_str(include_str!("../../../bench/matrix.json")).map_err(|error| error.to_string());
    MATRIX.get_or_init(parse).as_ref().map(|matrix: &Value| &matrix["families"]).map_err(Clone::clone)
}
