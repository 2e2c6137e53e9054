//! The orders that the program takes, and its answers.

use boundary_bench_kernel::{Error, Result};
use boundary_bench_suite::CellSample;
use serde::{Deserialize, Serialize};

use crate::cell::{Cell, CellOrder};

/// The version of the protocol.
const PROTOCOL: u64 = 1;

/// An order: a line of the standard input.
#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "camelCase")]
pub(crate) enum Order {
    /// Open a cell: the first order.
    Open {
        /// The version of the protocol.
        protocol: u64,
        cell: CellOrder,
    },
    /// Take a sample.
    Sample {
        /// The number of executions within the timed part, for work in process.
        #[serde(default)]
        repeats: Option<u32>,
    },
    /// Execute the work once more, untimed, and check each value.
    Verify,
    /// End.
    Close,
}

/// An answer: a line of the standard output.
#[derive(Serialize)]
#[serde(tag = "type", rename_all = "camelCase")]
pub(crate) enum Answer {
    /// The cell is open.
    Ready,
    /// A sample.
    Sample(Box<CellSample>),
    /// All values were right.
    Verified,
    /// The order failed. The program ends.
    Failed { code: &'static str, message: String },
}

impl Answer {
    /// The answer to a line that is no order.
    pub(crate) fn not_understood(error: &serde_json::Error) -> Self {
        Self::failed(&Error::InvalidArgument(format!("not an order: {error}")))
    }

    fn failed(error: &Error) -> Self {
        Self::Failed { code: error.code(), message: error.to_string() }
    }
}

/// The program, with its cell once that is open.
#[derive(Default)]
pub(crate) struct Program {
    cell: Option<Box<dyn Cell>>,
}

impl Program {
    /// Does what an order says. The last order has no answer.
    pub(crate) fn obey(&mut self, order: Order) -> Option<Answer> {
        self.answer(order).unwrap_or_else(|error| Some(Answer::failed(&error)))
    }

    fn answer(&mut self, order: Order) -> Result<Option<Answer>> {
        Ok(match order {
            Order::Open { protocol, .. } if protocol != PROTOCOL => {
                let message = format!("this program speaks version {PROTOCOL} of the protocol, not {protocol}");
                return Err(Error::InvalidArgument(message));
            }
            Order::Open { .. } if self.cell.is_some() => {
                return Err(Error::InvalidArgument("a cell is open already".to_owned()));
            }
            Order::Open { cell, .. } => {
                self.cell = Some(cell.open()?);
                Some(Answer::Ready)
            }
            Order::Sample { repeats } => Some(Answer::Sample(Box::new(self.opened()?.sample(repeats.unwrap_or(1))?))),
            Order::Verify => {
                self.opened()?.verify()?;
                Some(Answer::Verified)
            }
            Order::Close => None,
        })
    }

    fn opened(&mut self) -> Result<&mut dyn Cell> {
        match &mut self.cell {
            Some(cell) => Ok(&mut **cell),
            None => Err(Error::InvalidArgument("no cell is open".to_owned())),
        }
    }

    /// Closes the cell, if one is open.
    pub(crate) fn close(&mut self) -> Result<()> {
        self.cell.take().map_or(Ok(()), |mut cell| cell.close())
    }
}
