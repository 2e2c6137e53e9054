//! Rows of results decoded into Arrow columns, from the binary form of prepared statements and from text.

use std::sync::Arc;

use arrow_array::{RecordBatch, RecordBatchOptions};
use arrow_schema::SchemaRef;
use boundary_bench_engine::table::{Column, SqlType, arrow_schema_of, unique_names};
use boundary_bench_kernel::{Error, Result};

use crate::codec::{Bytes, Field, garbled};
use crate::decoder::Decoder;
use crate::engine_error;
use crate::kind::Kind;
use crate::unfit::Problem;
use crate::url::ValueForms;

/// The most bytes of rows in a batch: the offsets of texts have 31 bits, and a time is longer as text than on the wire.
const MOST_BYTES: usize = 1 << 30;

/// The encoding of rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// The binary form, of a prepared statement.
    Binary,
    /// The text form, of a statement sent as text.
    Text,
}

/// The columns of a result as engine types. Made once for all results of a statement.
#[derive(Debug, Clone)]
pub struct RowShape {
    fields: Arc<[Field]>,
    form: Form,
    forms: ValueForms,
    kinds: Vec<Kind>,
    columns: Vec<Column>,
    schema: SchemaRef,
}

impl RowShape {
    /// The shape of a result with these columns, whose values are returned in these forms.
    pub fn new(fields: &Arc<[Field]>, form: Form, forms: ValueForms) -> Result<Arc<Self>> {
        let names = unique_names(fields.iter().map(|field| field.name.as_str()));
        let kinds = fields.iter().zip(&names).map(|(field, name)| {
            Kind::of(field, forms).ok_or_else(|| {
                Error::Unsupported(format!(
                    "column \"{name}\" has a type (number {} of the wire) with no counterpart here; CAST it to CHAR in \
                     the query",
                    field.type_id
                ))
            })
        });
        let kinds = kinds.collect::<Result<Vec<_>>>()?;
        let columns = names.into_iter().zip(&kinds);
        let columns = columns.map(|(name, kind)| Column { name, sql_type: kind.sql_type(), nullable: true });
        let columns: Vec<_> = columns.collect();
        Ok(Arc::new(Self {
            fields: Arc::clone(fields),
            form,
            forms,
            schema: arrow_schema_of(&columns),
            columns,
            kinds,
        }))
    }

    /// Whether results with these columns are decoded alike.
    pub(crate) fn fits(&self, fields: &Arc<[Field]>, form: Form) -> bool {
        self.form == form
            && (Arc::ptr_eq(&self.fields, fields)
                || (self.has_names(fields)
                    && self.kinds.iter().zip(fields.iter()).all(|(kind, field)| self.kind(field) == Some(*kind))))
    }

    fn has_names(&self, fields: &[Field]) -> bool {
        self.fields.len() == fields.len()
            && self.fields.iter().zip(fields).all(|(known, field)| known.name == field.name)
    }

    fn kind(&self, field: &Field) -> Option<Kind> {
        Kind::of(field, self.forms)
    }

    /// This shape with other types of its columns.
    fn with_types(&self, types: impl Iterator<Item = SqlType>) -> Self {
        let columns = self.columns.iter().zip(types);
        let columns: Vec<_> = columns.map(|(column, sql_type)| Column { sql_type, ..column.clone() }).collect();
        Self { schema: arrow_schema_of(&columns), columns, ..self.clone() }
    }

    /// The columns of the result.
    pub fn columns(&self) -> &[Column] {
        &self.columns
    }
}

/// The outcome of a row's decoding: the column that failed, and its problem.
type Decoded = std::result::Result<(), (usize, Problem)>;

/// The rows that are gathered for a batch.
pub struct RowBuilder {
    shape: Arc<RowShape>,
    decoders: Vec<Decoder>,
    rows: usize,
    bytes: usize,
    /// The number of rows in earlier batches.
    earlier: u64,
    /// Whether a column changes its type for a value that the type does not have.
    is_flexible: bool,
}

impl RowBuilder {
    /// A builder for rows of this shape, with room for `capacity` rows.
    pub fn new(shape: &Arc<RowShape>, capacity: usize) -> Self {
        let decoders = shape.kinds.iter().map(|kind| Decoder::new(*kind, capacity)).collect();
        Self { decoders, shape: Arc::clone(shape), rows: 0, bytes: 0, earlier: 0, is_flexible: false }
    }

    /// A builder of one batch. A column is text if the server sends values that its type does not have, such as `0000-00-00`, or a decimal
    /// of more digits than the server said. The shape is final once the batch is finished.
    pub fn flexible(shape: &Arc<RowShape>, capacity: usize) -> Self {
        Self { is_flexible: true, ..Self::new(shape, capacity) }
    }

    /// Whether the builder takes rows of a result with these columns, without a change of its types.
    pub(crate) fn takes(&self, fields: &Arc<[Field]>, form: Form) -> bool {
        !self.is_flexible && self.shape.fits(fields, form)
    }

    /// Adds a row of the result whose rows begin at `first`. If it has a value that its column's type does not have, all rows of the result
    /// go to a flexible builder, so that the types of other results stay. Returns that builder, unless it takes the place of this one.
    pub(crate) fn push_of(&mut self, first: usize, row: &[u8]) -> Result<Option<Self>> {
        match self.decode(row) {
            Err((_, Problem::Unfit(_))) if !self.is_flexible => {
                let mut own = self.split_off(first);
                own.push(row)?;
                if first > 0 {
                    return Ok(Some(own));
                }
                *self = own;
                Ok(None)
            }
            decoded => self.pushed(row, decoded).map(|()| None),
        }
    }

    /// Moves the rows from `first` on to a flexible builder. The beginning of a further row is dropped.
    fn split_off(&mut self, first: usize) -> Self {
        let mut own = Self::flexible(&self.shape, self.rows - first + 1);
        for (decoder, own) in self.decoders.iter_mut().zip(&mut own.decoders) {
            decoder.split_into(own, first, self.rows);
        }
        (own.rows, own.bytes, self.rows) = (self.rows - first, self.bytes, first);
        own
    }

    /// The shape of the rows.
    pub fn shape(&self) -> &Arc<RowShape> {
        &self.shape
    }

    /// The columns of the result.
    pub fn columns(&self) -> &[Column] {
        &self.shape.columns
    }

    /// The Arrow schema of the batches.
    pub fn schema(&self) -> &SchemaRef {
        &self.shape.schema
    }

    /// The number of rows gathered.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// The bytes of these rows on the wire.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Adds a row. A row that can't be decoded leaves an unusable one in its place.
    pub fn push(&mut self, row: &[u8]) -> Result<()> {
        if self.bytes + row.len() > MOST_BYTES {
            return Err(Error::Unsupported("rows of more than 1 GiB at once; ask for fewer at a time".to_owned()));
        }
        let decoded = self.decode(row);
        self.pushed(row, decoded)
    }

    fn decode(&mut self, row: &[u8]) -> Decoded {
        if self.shape.form == Form::Binary { self.push_binary(row) } else { self.push_text(row) }
    }

    /// Counts a row that was decoded, or else fills the columns behind the one that failed.
    fn pushed(&mut self, row: &[u8], decoded: Decoded) -> Result<()> {
        if let Err((index, problem)) = decoded {
            let error = self.refused(index, &problem);
            // All columns must keep the same length.
            for decoder in &mut self.decoders[index..] {
                decoder.push_null();
            }
            self.rows += 1;
            return Err(error);
        }
        self.rows += 1;
        self.bytes += row.len();
        Ok(())
    }

    fn push_binary(&mut self, row: &[u8]) -> Decoded {
        let bitmap = (self.decoders.len() + 9) / 8;
        let (Some(0), Some((nulls, values))) = (row.first(), row.get(1..).and_then(|row| row.split_at_checked(bitmap)))
        else {
            return Err((0, Problem::Garbled));
        };
        let mut bytes = Bytes(values);
        for (index, decoder) in self.decoders.iter_mut().enumerate() {
            let bit = index + 2;
            if nulls[bit / 8] >> (bit % 8) & 1 == 1 {
                decoder.push_null();
            } else if let Err(problem) = decoder.push_binary(&mut bytes) {
                place_unfit(self.is_flexible, decoder, problem).map_err(|problem| (index, problem))?;
            }
        }
        bytes.end().ok_or((self.decoders.len(), Problem::Garbled))
    }

    fn push_text(&mut self, row: &[u8]) -> Decoded {
        let mut bytes = Bytes(row);
        for (index, decoder) in self.decoders.iter_mut().enumerate() {
            match bytes.nullable_text() {
                Some(None) => decoder.push_null(),
                Some(Some(text)) => {
                    if let Err(problem) = decoder.push_text(text) {
                        place_unfit(self.is_flexible, decoder, problem).map_err(|problem| (index, problem))?;
                    }
                }
                None => return Err((index, Problem::Garbled)),
            }
        }
        bytes.end().ok_or((self.decoders.len(), Problem::Garbled))
    }

    fn refused(&self, index: usize, problem: &Problem) -> Error {
        let problem = match problem {
            Problem::Value(problem) => *problem,
            Problem::Unfit(unfit) => unfit.problem,
            Problem::Garbled => return garbled("row"),
        };
        self.shape.columns.get(index).map_or_else(
            || garbled("row"),
            |column| Error::InvalidValue {
                row: self.earlier + self.rows as u64,
                column: column.name.clone(),
                problem: problem.to_owned(),
            },
        )
    }

    /// Returns the rows gathered as a batch, and starts a new one.
    pub fn finish(&mut self) -> Result<RecordBatch> {
        self.earlier += self.rows as u64;
        let options = RecordBatchOptions::new().with_row_count(Some(self.rows));
        (self.rows, self.bytes) = (0, 0);
        let has_changed = self
            .decoders
            .iter()
            .zip(&self.shape.columns)
            .any(|(decoder, column)| decoder.sql_type() != column.sql_type);
        if self.is_flexible && has_changed {
            self.shape = Arc::new(self.shape.with_types(self.decoders.iter().map(Decoder::sql_type)));
        }
        let arrays = self.decoders.iter_mut().map(Decoder::finish).collect();
        RecordBatch::try_new_with_options(Arc::clone(&self.shape.schema), arrays, &options).map_err(engine_error)
    }
}

/// Handles a value that a decoder could not take: a flexible column takes it as another type.
#[cold]
fn place_unfit(is_flexible: bool, decoder: &mut Decoder, problem: Problem) -> std::result::Result<(), Problem> {
    if is_flexible { decoder.push_unfit(problem) } else { Err(problem) }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use arrow_array::cast::AsArray;

    use super::*;
    use crate::codec::{BINARY_CHARSET, type_id};

    fn field(type_id: u8, length: u32, flags: u16, decimals: u8) -> Field {
        Field { name: "c".to_owned(), type_id, charset: BINARY_CHARSET, length, flags, decimals, of_table: false }
    }

    fn shape_of(fields: &[Field], form: Form) -> Result<Arc<RowShape>> {
        RowShape::new(&fields.into(), form, ValueForms::default())
    }

    fn rows_of(fields: &[Field], form: Form) -> Result<RowBuilder> {
        shape_of(fields, form).map(|shape| RowBuilder::new(&shape, 1))
    }

    #[test]
    fn a_row_of_other_values_than_its_columns_is_refused() {
        for row in [&[][..], &[1, 0], &[0], &[0, 0], &[0, 0, 1, 2], &[0, 0, 1, 2, 3, 4, 5]] {
            let mut rows = rows_of(&[field(type_id::LONG, 11, 0, 0)], Form::Binary).unwrap();
            assert_eq!(rows.push(row).unwrap_err().code(), "BB_ENGINE");
        }
    }

    #[test]
    fn a_date_of_zeros_is_named_by_row_and_column() {
        let mut rows = rows_of(&[field(type_id::DATE, 10, 0, 0)], Form::Binary).unwrap();
        rows.push(&[0, 0, 4, 0xe8, 0x07, 1, 2]).unwrap();
        let error = rows.push(&[0, 0, 0]).unwrap_err();
        assert!(error.to_string().starts_with("row 1, column \"c\": a date without"), "{error}");
    }

    /// A row of one text in the form of text.
    fn line(text: &str) -> Vec<u8> {
        [&[u8::try_from(text.len()).unwrap()], text.as_bytes()].concat()
    }

    #[test]
    fn a_value_that_its_type_does_not_have_makes_a_flexible_column_text() {
        for (field, values) in [
            (field(type_id::NEWDECIMAL, 10, 0, 0), ["7", "12.34", "-1"]),
            (field(type_id::DATE, 10, 0, 0), ["2024-02-29", "0000-00-00", "2024-00-15"]),
            (field(type_id::DATETIME, 22, 0, 2), ["2024-02-29 01:02:03.40", "0000-00-00 00:00:00.00", "x"]),
            (field(type_id::LONG, 11, 0, 0), ["7", "12.5", "99999999999"]),
        ] {
            let shape = shape_of(&[field], Form::Text).unwrap();
            let mut rows = RowBuilder::flexible(&shape, 1);
            rows.push(&[0xfb]).unwrap();
            values.iter().for_each(|value| rows.push(&line(value)).unwrap());
            let batch = rows.finish().unwrap();
            let texts: Vec<_> = batch.column(0).as_string::<i32>().iter().flatten().collect();
            assert_eq!((texts.as_slice(), batch.num_rows()), (values.as_slice(), 4));
            assert_eq!((rows.columns()[0].sql_type, rows.schema()), (SqlType::Text, &batch.schema()));
        }
        let shape = shape_of(&[field(type_id::TINY, 1, 0, 0)], Form::Binary).unwrap();
        let mut rows = RowBuilder::flexible(&shape, 1);
        [1, 2, 255].iter().for_each(|value| rows.push(&[0, 0, *value]).unwrap());
        assert_eq!(format!("{:?}", rows.finish().unwrap().column(0)), "PrimitiveArray<Int16>\n[\n  1,\n  2,\n  -1,\n]");
    }

    proptest! {
        #[test]
        fn no_row_makes_it_panic(
            fields in prop::collection::vec((any::<u8>(), 0_u32..80, any::<u16>(), any::<u8>()), 0..6),
            row in prop::collection::vec(any::<u8>(), 0..60),
        ) {
            let fields: Vec<_> = fields.into_iter().map(|(id, length, flags, decimals)| field(id, length, flags, decimals)).collect();
            for form in [Form::Binary, Form::Text] {
                let Ok(shape) = shape_of(&fields, form) else { continue };
                for mut rows in [RowBuilder::new(&shape, 1), RowBuilder::flexible(&shape, 1)] {
                    if rows.push(&row).is_ok() {
                        prop_assert_eq!(rows.finish().unwrap().num_rows(), 1);
                    }
                }
            }
        }
    }
}
