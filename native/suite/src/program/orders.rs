//! The orders of the standard input, read ahead, so that an abort arrives while work is under way.

use std::io::{self, BufRead, Read};
use std::sync::mpsc::{Receiver, channel};
use std::thread;

use boundary_bench_kernel::cancel::CancelToken;
use serde::Deserialize;

/// The lines of the orders, but for those that abort.
pub(crate) struct Lines {
    lines: Receiver<Vec<u8>>,
    /// The rest of the line that is being read.
    rest: io::Cursor<Vec<u8>>,
}

/// The tokens of the orders, in their order.
pub(crate) type Tokens = Receiver<CancelToken>;

#[derive(Deserialize)]
struct Order<'a> {
    r#type: &'a str,
}

/// Reads orders on a thread of its own. The order `{"type": "abort"}` cancels the token of the order before it, and so does the end
/// of the input: whoever wanted an answer is gone.
pub(crate) fn read_ahead(mut input: impl BufRead + Send + 'static) -> (Lines, Tokens) {
    let (send_line, lines) = channel();
    let (send_token, tokens) = channel();
    thread::spawn(move || {
        let mut current = CancelToken::default();
        let mut line = Vec::new();
        while input.read_until(b'\n', &mut line).is_ok_and(|length| length > 0) {
            if is_abort(&line) {
                current.cancel();
            } else {
                current = CancelToken::default();
                // The token first: the order that its line gives takes it.
                if send_token.send(current.clone()).and(Ok(())).is_err() || send_line.send(line.clone()).is_err() {
                    return;
                }
            }
            line.clear();
        }
        current.cancel();
    });
    (Lines { lines, rest: io::Cursor::default() }, tokens)
}

fn is_abort(line: &[u8]) -> bool {
    serde_json::from_slice(line).is_ok_and(|order: Order<'_>| order.r#type == "abort")
}

impl Read for Lines {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        loop {
            let length = self.rest.read(into)?;
            if length > 0 || into.is_empty() {
                return Ok(length);
            }
            // Without a sender, the input has ended.
            let Ok(line) = self.lines.recv() else { return Ok(0) };
            self.rest = io::Cursor::new(line);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_abort_cancels_the_order_before_it() {
        let orders = b"{\"type\":\"sample\",\"repeats\":1}\n{\"type\":\"abort\"}\n{\"type\":\"result\"}\n";
        let (mut lines, tokens) = read_ahead(&orders[..]);
        let mut read = String::new();
        lines.read_to_string(&mut read).unwrap();
        assert_eq!(read, "{\"type\":\"sample\",\"repeats\":1}\n{\"type\":\"result\"}\n");
        let [first, second] = [tokens.recv().unwrap(), tokens.recv().unwrap()];
        assert!(first.is_cancelled());
        // By the end of the input.
        while !second.is_cancelled() {
            thread::yield_now();
        }
        assert!(tokens.recv().is_err());
    }

    #[test]
    fn a_line_is_read_in_pieces_of_any_length() {
        let (mut lines, _tokens) = read_ahead(&b"abc\nd"[..]);
        let mut piece = [0; 3];
        assert_eq!(lines.read(&mut []).unwrap(), 0);
        assert_eq!(lines.read(&mut piece).unwrap(), 3);
        assert_eq!(lines.read(&mut piece).unwrap(), 1);
        assert_eq!(lines.read(&mut piece).unwrap(), 1);
        assert_eq!(lines.read(&mut piece).unwrap(), 0);
    }
}
