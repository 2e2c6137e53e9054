//! The tables of `RonDB`'s benchmarks as `bench/matrix.json` describes them, the requests that read them, and the sums of their
//! contents.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use boundary_bench_engine::checksum::{Checksum, ChecksumSum};
use boundary_bench_kernel::{Error, Result};
use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

use crate::matrix::FamilyPart;

/// The family `rest` of the matrix.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Family {
    pub(super) database: String,
    pub(super) rows: u64,
    /// The factor that spreads the operations over the rows. It is coprime to the number of rows.
    stride: u64,
    /// The size of a binary key in bytes: zeros, then the row's number, little-endian.
    binary_key_bytes: usize,
    /// The most connections of one requester for a batch of single reads.
    pub(super) most_connections: usize,
    /// The most operations of a batch on older servers. Newer servers take any number.
    pub(super) old_batch: u32,
    /// The number of digits with which each text begins: the number of its column, counted through the columns of all rows before it.
    digits: u32,
    /// The base of the digits.
    radix: u32,
    /// The character that fills a text up behind the digits.
    filler: String,
    pub(super) aggregation: AggregationEntry,
    tables: BTreeMap<String, TableEntry>,
    workloads: BTreeMap<String, WorkloadEntry>,
}

/// A table in which each column outside the key holds a text of its own.
#[derive(Deserialize)]
struct TableEntry {
    key: KeyKind,
    columns: usize,
    /// The size of a text in bytes.
    bytes: usize,
}

#[derive(Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum KeyKind {
    Int,
    Binary,
}

/// TPC-H's first query over `lineitem`.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct AggregationEntry {
    pub(super) database: String,
    pub(super) last_shipdate: String,
    pub(super) columns: Vec<String>,
    pub(super) query: String,
}

#[derive(Deserialize)]
struct WorkloadEntry {
    /// The table, of workloads that read by primary key.
    table: Option<String>,
}

impl Family {
    /// The last digits of the number of a column.
    fn digits_of(&self, number: u64) -> String {
        let radix = u64::from(self.radix);
        let digits = (0..self.digits).rev().map(|place| number / radix.pow(place) % radix);
        digits.filter_map(|digit| char::from_digit(u32::try_from(digit).ok()?, self.radix)).collect()
    }
}

/// The family `rest` of the matrix.
pub(super) fn family() -> Result<&'static Family> {
    static FAMILY: FamilyPart<Family> = FamilyPart::new("rest");
    FAMILY.get()
}

/// The common parts of the requests of a workload. Making them is not measured. Writing the requests is.
pub(super) struct Input {
    /// The path of single reads.
    pub(super) path: String,
    relative_url: String,
    stride: u64,
    /// The keys of all rows, as JSON.
    keys: Vec<String>,
    /// The text of a request's body between the key and the operation's id.
    middle: String,
    /// The names of the columns outside the key.
    names: Vec<String>,
    /// The values of each row's columns outside the key, as JSON text.
    values: Vec<Vec<String>>,
}

impl Input {
    pub(super) fn of(family: &Family, workload: &str) -> Result<Self> {
        let unknown = || Error::InvalidArgument(format!("the family rest has no workload {workload}"));
        let name = family.workloads.get(workload).and_then(|entry| entry.table.as_ref()).ok_or_else(unknown)?;
        let table = family.tables.get(name).ok_or_else(unknown)?;
        let key = |row: u64| match table.key {
            KeyKind::Int => row.to_string(),
            KeyKind::Binary => {
                let mut key = vec![0; family.binary_key_bytes - size_of::<u64>()];
                key.extend_from_slice(&row.to_le_bytes());
                format!("\"{}\"", BASE64.encode(key))
            }
        };
        let names = (0..table.columns).map(|column| format!("col{column}")).collect::<Vec<_>>();
        let read = names.iter().map(|name| format!(r#"{{"column":"{name}","dataReturnType":"default"}}"#));
        let read = read.collect::<Vec<_>>().join(",");
        let filler = family.filler.repeat(table.bytes.saturating_sub(family.digits as usize));
        let value = |number: u64| {
            let text = family.digits_of(number) + &filler;
            if table.key == KeyKind::Binary { BASE64.encode(text) } else { text }
        };
        let columns = table.columns as u64;
        let values_of = |row: u64| (row * columns..(row + 1) * columns).map(&value).collect::<Vec<_>>();
        let relative_url = format!("{}/{name}/pk-read", family.database);
        Ok(Self {
            path: format!("/0.1.0/{relative_url}"),
            relative_url,
            stride: family.stride,
            keys: (0..family.rows).map(key).collect(),
            middle: format!(r#"}}],"readColumns":[{read}],"operationId":""#),
            names,
            values: (0..family.rows).map(values_of).collect(),
        })
    }

    /// The number of the row that an operation reads.
    fn row_of(&self, operation: u64) -> usize {
        usize::try_from(operation.wrapping_mul(self.stride) % self.keys.len() as u64).unwrap_or_default()
    }

    /// The name of each column of an operation's row, and the value that it must have, as JSON text.
    fn columns_of(&self, operation: u64) -> impl Iterator<Item = (&str, &str)> {
        let values = &self.values[self.row_of(operation)];
        self.names.iter().zip(values).map(|(name, value)| (name.as_str(), value.as_str()))
    }

    /// Appends the body of a read: the request of one operation.
    pub(super) fn write_read(&self, operation: u64, out: &mut String) {
        use fmt::Write;
        out.push_str(r#"{"filters":[{"column":"id0","value":"#);
        out.push_str(&self.keys[self.row_of(operation)]);
        out.push_str(&self.middle);
        // Writing to a string does not fail.
        let _ = write!(out, "{operation}\"}}");
    }

    /// Appends the body of a batch of reads.
    pub(super) fn write_batch(&self, operations: std::ops::Range<u64>, out: &mut String) {
        out.push_str(r#"{"operations":["#);
        let first = operations.start;
        for operation in operations {
            if operation > first {
                out.push(',');
            }
            out.push_str(r#"{"method":"POST","relative-url":""#);
            out.push_str(&self.relative_url);
            out.push_str(r#"","body":"#);
            self.write_read(operation, out);
            out.push('}');
        }
        out.push_str("]}");
    }

    /// Checks the sums of the operations below `operations`. They were sent to find out what the server can do.
    pub(super) fn check(&self, operations: u64, sums: Sums) -> Result<()> {
        let difference = sums.checksum().difference(&self.expected(operations), 0.0);
        difference.map_or(Ok(()), |difference| {
            let path = &self.path;
            Err(Error::WrongRows(format!(
                "{path} does not answer with the rows that docs/rest.md describes: {difference}"
            )))
        })
    }

    /// The checksum that all operations below `operations` must return.
    pub(super) fn expected(&self, operations: u64) -> Checksum {
        let count = i128::from(operations);
        let values = count * self.names.len() as i128;
        let bytes = values * self.values[0][0].len() as i128;
        Sums { rows: operations, operations: count * (count - 1) / 2, values, bytes }.checksum()
    }
}

/// The sums of the rows that were read.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Sums {
    rows: u64,
    /// The sum of the ids of the operations that were answered with their own id: exchanged answers are noticed.
    operations: i128,
    /// The number of columns that had their name, and the value of this column of their row.
    values: i128,
    bytes: i128,
}

impl Sums {
    pub(super) fn merge(&mut self, other: Self) {
        self.rows += other.rows;
        self.operations += other.operations;
        self.values += other.values;
        self.bytes += other.bytes;
    }

    pub(super) fn checksum(self) -> Checksum {
        let sums = [("operation", self.operations), ("value", self.values), ("bytes", self.bytes)];
        Checksum::from_sums(self.rows, sums.map(|(name, sum)| (name, ChecksumSum::Int(sum))))
    }

    /// Adds the answer to a single read, the read of one operation.
    pub(super) fn add_read(&mut self, input: &Input, operation: u64, json: &[u8]) -> Result<()> {
        read_json(json, RowOf { input, sums: self, operation })
    }

    /// Adds the answer to a batch that begins with the operation `first`. Its answers are in the order of the operations.
    pub(super) fn add_batch(&mut self, input: &Input, first: u64, json: &[u8]) -> Result<()> {
        read_json(json, BatchOf(RowOf { input, sums: self, operation: first }))
    }
}

fn read_json<'de>(json: &'de [u8], seed: impl DeserializeSeed<'de, Value = ()>) -> Result<()> {
    let mut deserializer = serde_json::Deserializer::from_slice(json);
    let read = seed.deserialize(&mut deserializer).and_then(|()| deserializer.end());
    read.map_err(|error| super::rest_error(format!("the server's answer is not as RonDB's: {error}")))
}

/// A text that is borrowed if it has no escapes.
struct Text<'de>(Cow<'de, str>);

impl<'de> Deserialize<'de> for Text<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        struct TextVisitor;
        impl<'de> Visitor<'de> for TextVisitor {
            type Value = Text<'de>;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("text")
            }

            fn visit_borrowed_str<E>(self, text: &'de str) -> std::result::Result<Text<'de>, E> {
                Ok(Text(Cow::Borrowed(text)))
            }

            fn visit_str<E>(self, text: &str) -> std::result::Result<Text<'de>, E> {
                Ok(Text(Cow::Owned(text.to_owned())))
            }
        }
        deserializer.deserialize_str(TextVisitor)
    }
}

/// A row: `{"code": 200, "operationId": "...", "data": {...}}`. Older servers leave out the code.
struct RowOf<'a> {
    input: &'a Input,
    sums: &'a mut Sums,
    /// The operation that is answered, or the first operation of a batch.
    operation: u64,
}

/// The columns of a row.
struct DataOf<'a>(RowOf<'a>);

/// The results of a batch.
struct BatchOf<'a>(RowOf<'a>);

/// One result of a batch.
struct ResultOf<'a>(RowOf<'a>);

/// Makes a type a seed and visitor that reads an object key by key, or an array element by element.
macro_rules! seed {
    ($seed:ident, $method:ident, $what:literal, |$this:ident, $access:ident: $kind:ident| $visit:block) => {
        impl<'de> DeserializeSeed<'de> for $seed<'_> {
            type Value = ();

            fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> std::result::Result<(), D::Error> {
                deserializer.$method(self)
            }
        }

        impl<'de> Visitor<'de> for $seed<'_> {
            type Value = ();

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str($what)
            }

            seed!(@visit $kind, $this, $access, $visit);
        }
    };
    (@visit MapAccess, $this:ident, $access:ident, $visit:block) => {
        fn visit_map<A: MapAccess<'de>>(self, mut $access: A) -> std::result::Result<(), A::Error> {
            let $this = self;
            $visit
        }
    };
    (@visit SeqAccess, $this:ident, $access:ident, $visit:block) => {
        fn visit_seq<A: SeqAccess<'de>>(self, mut $access: A) -> std::result::Result<(), A::Error> {
            let $this = self;
            $visit
        }
    };
}

seed!(RowOf, deserialize_map, "a row", |this, access: MapAccess| {
    let RowOf { input, sums, operation } = this;
    while let Some(Text(name)) = access.next_key()? {
        match &*name {
            "operationId" => {
                let Text(id) = access.next_value()?;
                if id.parse() == Ok(operation) {
                    sums.operations += i128::from(operation);
                }
            }
            "data" => access.next_value_seed(DataOf(RowOf { input, sums: &mut *sums, operation }))?,
            _ => {
                access.next_value::<IgnoredAny>()?;
            }
        }
    }
    sums.rows += 1;
    Ok(())
});

seed!(DataOf, deserialize_map, "the columns of a row", |this, access: MapAccess| {
    let RowOf { input, sums, operation } = this.0;
    // In the order in which they were asked for.
    let mut expected = input.columns_of(operation);
    while let Some(Text(name)) = access.next_key()? {
        let Text(value) = access.next_value()?;
        sums.values += i128::from(expected.next() == Some((&*name, &*value)));
        sums.bytes += value.len() as i128;
    }
    Ok(())
});

seed!(BatchOf, deserialize_map, "the answer to a batch", |this, access: MapAccess| {
    let RowOf { input, sums, operation } = this.0;
    while let Some(Text(name)) = access.next_key()? {
        if name == "result" {
            access.next_value_seed(ResultsOf(RowOf { input, sums: &mut *sums, operation }))?;
        } else {
            access.next_value::<IgnoredAny>()?;
        }
    }
    Ok(())
});

/// All results of a batch.
struct ResultsOf<'a>(RowOf<'a>);

seed!(ResultsOf, deserialize_seq, "the results of a batch", |this, access: SeqAccess| {
    let RowOf { input, sums, mut operation } = this.0;
    while access.next_element_seed(ResultOf(RowOf { input, sums: &mut *sums, operation }))?.is_some() {
        operation += 1;
    }
    Ok(())
});

seed!(ResultOf, deserialize_map, "a result of a batch", |this, access: MapAccess| {
    let RowOf { input, sums, operation } = this.0;
    while let Some(Text(name)) = access.next_key()? {
        if name == "body" {
            access.next_value_seed(RowOf { input, sums: &mut *sums, operation })?;
        } else {
            access.next_value::<IgnoredAny>()?;
        }
    }
    Ok(())
});

#[cfg(test)]
mod tests {
    use super::*;

    /// The names and values of a row.
    type Columns = Vec<(String, String)>;

    fn columns(input: &Input, operation: u64) -> Columns {
        input.columns_of(operation).map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
    }

    fn answer(operation: u64, columns: &[(String, String)]) -> String {
        let columns = columns.iter().map(|(name, value)| format!("\n\"{name}\": \"{value}\"")).collect::<Vec<_>>();
        format!(r#"{{"operationId":"{operation}","data":{{{}}}}}"#, columns.join(","))
    }

    #[test]
    fn every_row_is_asked_for_and_the_sums_have_a_closed_form() {
        let family = family().unwrap();
        for (workload, _) in family.workloads.iter().filter(|(_, entry)| entry.table.is_some()) {
            let input = Input::of(family, workload).unwrap();
            let (mut rows, mut sums) = (std::collections::BTreeSet::new(), Sums::default());
            let mut batch = String::new();
            for operation in 0..family.rows {
                let mut body = String::new();
                input.write_read(operation, &mut body);
                let body: serde_json::Value = serde_json::from_str(&body).unwrap();
                assert_eq!(body["readColumns"].as_array().unwrap().len(), input.names.len());
                rows.insert(body["filters"][0]["value"].to_string());
                let body = answer(operation, &columns(&input, operation));
                sums.add_read(&input, operation, body.as_bytes()).unwrap();
                batch.extend([r#",{"code":200,"body":"#, &body, "}"]);
            }
            assert_eq!(rows.len() as u64, family.rows);
            assert_eq!(sums.checksum(), input.expected(family.rows));
            let mut of_batch = Sums::default();
            of_batch.add_batch(&input, 0, format!(r#"{{"result":[{}]}}"#, &batch[1..]).as_bytes()).unwrap();
            assert_eq!(of_batch.checksum(), sums.checksum());
            // The answers to two operations, each as the id and the columns that it carries.
            let (first, second) = (&columns(&input, 0), &columns(&input, 1));
            let mut cut = first.clone();
            cut[0].1.remove(0);
            let mut wrong = vec![
                ("two answers are exchanged", [(1, second), (0, first)]),
                ("two rows have exchanged their values", [(0, second), (1, first)]),
                ("a row came instead of another", [(0, first), (1, first)]),
                ("a value is cut", [(0, &cut), (1, second)]),
                ("an answer came twice", [(0, first), (0, first)]),
            ];
            let (mut values, mut names) = (first.clone(), first.clone());
            if let [(one, other), .., (last, text)] = &mut values[..] {
                std::mem::swap(other, text);
                assert_ne!(one, last);
            }
            names.reverse();
            if first.len() > 1 {
                names.iter_mut().zip(first).for_each(|((_, value), (_, place))| value.clone_from(place));
                wrong.push(("two columns of a row have exchanged their values", [(0, &values), (1, second)]));
                wrong.push(("the columns of a row have exchanged their names", [(0, &names), (1, second)]));
            }
            for (what, answers) in wrong {
                let (mut sums, mut of_batch, mut batch) = (Sums::default(), Sums::default(), Vec::new());
                for (operation, (id, columns)) in (0..).zip(answers) {
                    let json = answer(id, columns);
                    sums.add_read(&input, operation, json.as_bytes()).unwrap();
                    batch.push(format!(r#"{{"code":200,"body":{json}}}"#));
                }
                assert_ne!(sums.checksum(), input.expected(2), "{what}");
                of_batch.add_batch(&input, 0, format!(r#"{{"result":[{}]}}"#, batch.join(",")).as_bytes()).unwrap();
                assert_eq!(of_batch.checksum(), sums.checksum(), "{what}");
            }
            let mut body = String::new();
            input.write_batch(3..5, &mut body);
            let body: serde_json::Value = serde_json::from_str(&body).unwrap();
            assert_eq!(body["operations"][1]["body"]["operationId"], "4");
        }
    }

    #[test]
    fn what_is_no_answer_is_refused() {
        let family = family().unwrap();
        let input = Input::of(family, "pkread").unwrap();
        for json in ["", "[]", r#"{"data":{"col0":1}}"#, "{}x", r#"{"data":"#] {
            assert!(Sums::default().add_read(&input, 0, json.as_bytes()).is_err(), "{json}");
        }
        assert!(Input::of(family, "other").is_err());
    }
}
