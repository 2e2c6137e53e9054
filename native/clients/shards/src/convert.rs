//! Conversions between our types and the messages of the proto.

use boundary_bench_kernel::{Error, Result};
use bytes::Bytes;

use crate::aggregate::{Aggregate, Aggregation, Column, Comparison, Filter, Number, Sum};
use crate::proto;
use crate::row::{PAYLOAD_BYTES, Row};

impl From<&Row> for proto::Row {
    fn from(row: &Row) -> Self {
        Self {
            key: row.key,
            quantity: row.quantity,
            price: Some(row.price),
            updated_at: row.updated_at,
            payload: Bytes::copy_from_slice(&row.payload),
        }
    }
}

/// Converts a received row.
pub fn row(row: Option<&proto::Row>) -> Result<Row> {
    let row = row.ok_or_else(|| Error::InvalidArgument("there is no row in the request".to_owned()))?;
    let payload = <[u8; PAYLOAD_BYTES]>::try_from(row.payload.as_ref()).map_err(|_| {
        Error::InvalidArgument(format!("a payload of {} bytes: it must have {PAYLOAD_BYTES}", row.payload.len()))
    })?;
    Ok(Row { key: row.key, quantity: row.quantity, price: row.price(), updated_at: row.updated_at, payload })
}

impl From<Column> for proto::Column {
    fn from(column: Column) -> Self {
        match column {
            Column::Key => Self::Key,
            Column::Quantity => Self::Quantity,
            Column::Price => Self::Price,
            Column::UpdatedAt => Self::UpdatedAt,
        }
    }
}

fn column(number: i32) -> Result<Column> {
    let column = Column::ALL.into_iter().find(|column| i32::from(proto::Column::from(*column)) == number);
    column.ok_or_else(|| Error::InvalidArgument(format!("there is no column {number}")))
}

impl From<Comparison> for proto::Comparison {
    fn from(comparison: Comparison) -> Self {
        match comparison {
            Comparison::Equal => Self::Equal,
            Comparison::NotEqual => Self::NotEqual,
            Comparison::Less => Self::Less,
            Comparison::LessOrEqual => Self::LessOrEqual,
            Comparison::Greater => Self::Greater,
            Comparison::GreaterOrEqual => Self::GreaterOrEqual,
        }
    }
}

fn comparison(number: i32) -> Result<Comparison> {
    let mut all = Comparison::ALL.into_iter();
    let comparison = all.find(|comparison| i32::from(proto::Comparison::from(*comparison)) == number);
    comparison.ok_or_else(|| Error::InvalidArgument(format!("there is no comparison {number}")))
}

impl From<Number> for proto::Number {
    fn from(number: Number) -> Self {
        let kind = match number {
            Number::Integer(value) => proto::number::Kind::Integer(value),
            Number::Real(value) => proto::number::Kind::Real(value),
        };
        Self { kind: Some(kind) }
    }
}

fn number(number: Option<&proto::Number>) -> Option<Number> {
    Some(match number?.kind? {
        proto::number::Kind::Integer(value) => Number::Integer(value),
        proto::number::Kind::Real(value) => Number::Real(value),
    })
}

impl From<&Aggregation> for proto::AggregateRequest {
    fn from(aggregation: &Aggregation) -> Self {
        let filter = aggregation.filter.map(|filter| proto::Filter {
            column: proto::Column::from(filter.column).into(),
            comparison: proto::Comparison::from(filter.comparison).into(),
            value: Some(filter.value.into()),
        });
        Self { column: proto::Column::from(aggregation.column).into(), filter }
    }
}

/// Converts a received aggregation, and validates it.
pub(crate) fn aggregation(request: &proto::AggregateRequest) -> Result<Aggregation> {
    let filter = request.filter.as_ref().map(|filter| {
        let value = number(filter.value.as_ref());
        Ok(Filter {
            column: column(filter.column)?,
            comparison: comparison(filter.comparison)?,
            value: value.ok_or_else(|| Error::InvalidArgument("the filter has no value".to_owned()))?,
        })
    });
    let aggregation = Aggregation { column: column(request.column)?, filter: filter.transpose()? };
    aggregation.validate()?;
    Ok(aggregation)
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the halves are taken on purpose")]
impl From<&Aggregate> for proto::AggregateResponse {
    fn from(aggregate: &Aggregate) -> Self {
        let (integer, real_sum) = match aggregate.sum {
            Sum::Integer(sum) => (sum, 0.0),
            Sum::Real(sum) => (0, sum),
        };
        Self {
            count: aggregate.count,
            integer_sum_high: (integer >> 64) as i64,
            integer_sum_low: integer as u64,
            real_sum,
            min: aggregate.min.map(Into::into),
            max: aggregate.max.map(Into::into),
        }
    }
}

/// Converts the received sums over a column.
pub fn aggregate(column: Column, response: &proto::AggregateResponse) -> Aggregate {
    let sum = if column == Column::Price {
        Sum::Real(response.real_sum)
    } else {
        Sum::Integer((i128::from(response.integer_sum_high) << 64) | i128::from(response.integer_sum_low))
    };
    let (min, max) = (number(response.min.as_ref()), number(response.max.as_ref()));
    Aggregate { count: response.count, sum, min, max }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn sums_come_back(count: u64, sum: i128, min: i64, max: i64, real: f64) {
            prop_assume!(!real.is_nan());
            let integers = Aggregate {
                count,
                sum: Sum::Integer(sum),
                min: Some(Number::Integer(min)),
                max: Some(Number::Integer(max)),
            };
            prop_assert_eq!(aggregate(Column::Key, &(&integers).into()), integers);
            let reals = Aggregate { count, sum: Sum::Real(real), min: None, max: Some(Number::Real(real)) };
            prop_assert_eq!(aggregate(Column::Price, &(&reals).into()), reals);
        }
    }

    #[test]
    fn an_aggregation_comes_back_or_is_refused() {
        for column in Column::ALL {
            for comparison in Comparison::ALL {
                let value = if column == Column::Price { Number::Real(1.5) } else { Number::Integer(-3) };
                let asked = Aggregation { column, filter: Some(Filter { column, comparison, value }) };
                assert_eq!(aggregation(&(&asked).into()).unwrap(), asked);
            }
        }
        let none = proto::AggregateRequest::default();
        assert_eq!(aggregation(&none).unwrap_err().code(), "BB_INVALID_ARGUMENT");
        let filter = Some(proto::Filter { column: 1, comparison: 7, value: None });
        let wrong = proto::AggregateRequest { column: 1, filter };
        assert!(aggregation(&wrong).is_err());
    }
}
