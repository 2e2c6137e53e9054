//! The MySQL protocol, and the parameter values that cross from JavaScript.

use std::sync::Arc;

use boundary_bench_mysql::{CellLists, Field, Form, RowBuilder, RowShape, Url, ValueForms, fuzzing};

use crate::arrow::check_arrays;
use crate::input::{Input, cut};
use crate::memory::Bound;
use crate::sockets::hear;

/// The bound of the builder of rows: the values, and the initial capacity of the builders of many columns.
const ROWS: Bound = Bound { times: 64, for_any: 256 << 10 };

/// The bound of lists of values: the position of each value is kept.
const CELLS: Bound = Bound { times: 32, for_any: 4 << 10 };

/// The server's capabilities in a greeting that a harness makes: all that the client knows, except TLS and those that the input
/// chooses.
const CAPABILITIES: u64 = 0x002f_f7fe & !(1 << 11);

/// The first packets of a `MariaDB` server with further capabilities `more`: its greeting, and its OK to the login.
fn handshake(more: u64) -> Vec<u8> {
    let [a, b, c, d, extended @ ..] = (CAPABILITIES | more).to_le_bytes();
    let mut greeting = b"\x0a11.8.2-MariaDB\0\x01\0\0\0nonce--8\0".to_vec();
    greeting.extend_from_slice(&[a, b, 45, 2, 0, c, d, 21, 0, 0, 0, 0, 0, 0]);
    greeting.extend_from_slice(&extended);
    greeting.extend_from_slice(b"nonce-of--12\0mysql_native_password\0");
    let length = u8::try_from(greeting.len()).expect("a short greeting");
    let mut packets = vec![length, 0, 0, 0];
    packets.extend_from_slice(&greeting);
    packets.extend_from_slice(b"\x07\0\0\x02\0\0\0\x02\0\0\0");
    packets
}

/// The first byte chooses the server's beginning: whether the input holds its greeting, and else the server's capabilities.
pub(crate) fn connection(bytes: &[u8]) {
    let Some((kind, said)) = bytes.split_first() else { return };
    let bit = |bit: u8, capability: u64| u64::from(kind >> bit & 1) << capability;
    // The capabilities: no EOF packets, many rows of values at once, and column definitions that are not sent again.
    let begins = if kind & 1 == 0 { Vec::new() } else { handshake(bit(1, 24) | bit(2, 34) | bit(3, 36)) };
    let all = [&begins, said].concat();
    let url: Url = "mysql://user:password@localhost/database".parse().expect("a URL");
    let mut pieces = vec![begins.as_slice()];
    pieces.extend(cut(said));
    pieces.retain(|piece| !piece.is_empty());
    let talk = |pieces: &[&[u8]]| {
        hear(pieces, async |socket| {
            socket.set_nonblocking(true).expect("a socket that does not block");
            fuzzing::talk(tokio::net::UnixStream::from_std(socket).expect("a socket of the runtime"), &url).await
        })
    };
    let whole = talk(&[&all]);
    if kind & 1 == 1 {
        assert!(whole[0].starts_with("Ok((\"11.8.2-MariaDB\", 1,"), "the login: {}", whole[0]);
    }
    assert_eq!(talk(&pieces), whole);
}

/// The input: the form, then the columns, eight bytes each, then rows, each after its length.
pub(crate) fn rows(bytes: &[u8]) {
    let mut input = Input(bytes);
    let head = input.byte();
    let form = if head & 1 == 0 { Form::Binary } else { Form::Text };
    let fields: Arc<[Field]> = (0..=head / 2 % 16)
        .map(|_| {
            let [type_id, charset, flags, decimals, length @ ..] = input.array::<8>();
            let (charset, flags) = (if charset % 2 == 0 { 63 } else { 45 }, u16::from(flags));
            Field {
                name: "c".to_owned(),
                type_id,
                charset,
                length: u32::from_le_bytes(length),
                flags,
                decimals,
                of_table: head & 2 == 0,
            }
        })
        .collect();
    let Ok(shape) = RowShape::new(&fields, form, ValueForms::default()) else { return };
    let mut rows = Vec::new();
    while !input.is_empty() {
        rows.push(input.sized());
    }
    for make in [RowBuilder::new, RowBuilder::flexible] {
        let batch = ROWS.check(bytes.len(), || {
            let mut builder = make(&shape, 0);
            for (pushed, row) in rows.iter().enumerate() {
                // A row that is refused still counts as a row, with unspecified values.
                let _ = builder.push(row);
                assert_eq!(builder.rows(), pushed + 1);
            }
            let batch = builder.finish().expect("columns of one length");
            assert_eq!(batch.num_rows(), rows.len());
            batch
        });
        check_arrays(&batch);
    }
}

/// The first two bytes are the number of lists and the number of values in each.
pub(crate) fn cells(bytes: &[u8]) {
    let mut input = Input(bytes);
    let (lists, width) = (usize::from(input.byte()), usize::from(input.byte()));
    let values = input.0.to_vec();
    let Ok(read) = CELLS.check(bytes.len(), || CellLists::new(values, lists, width)) else { return };
    assert_eq!((read.len(), read.width()), (lists, width));
}
