//! The answers of a batch: a response or an error for each request.

use boundary_bench_kernel::Error;

use crate::response::Response;

/// The outcome of one request of a batch.
pub type RequestOutcome<'response, 'error> = std::result::Result<Response<'response>, &'error Error>;

/// The answers that a batch has got so far.
pub(crate) struct BatchOutcomes<F> {
    each: F,
    is_answered: Vec<bool>,
    left: usize,
}

impl<F: FnMut(usize, RequestOutcome<'_, '_>)> BatchOutcomes<F> {
    /// No answers yet, for a batch of this many requests. `each` is called with each request's position and answer.
    pub(crate) fn new(requests: usize, each: F) -> Self {
        Self { each, is_answered: vec![false; requests], left: requests }
    }

    pub(crate) fn give(&mut self, index: usize, answer: RequestOutcome<'_, '_>) {
        if !std::mem::replace(&mut self.is_answered[index], true) {
            self.left -= 1;
            (self.each)(index, answer);
        }
    }

    pub(crate) fn is_answered(&self, index: usize) -> bool {
        self.is_answered[index]
    }

    /// The number of requests without an answer.
    pub(crate) fn left(&self) -> usize {
        self.left
    }

    pub(crate) fn fail_rest(&mut self, error: &Error) {
        (0..self.is_answered.len()).for_each(|index| self.give(index, Err(error)));
    }
}
