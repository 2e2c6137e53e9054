//! The protocols of hyperd.

use std::io::Write;

use boundary_bench_hyper::fuzzing::{batches, messages};

use crate::arrow::{STREAM, check_arrays};
use crate::input::cut;
use crate::sockets::saying;

pub(crate) fn wire(bytes: &[u8]) {
    let whole = messages(saying(bytes)).expect("a socket");
    // The reader blocks, so another thread must send the bytes.
    let (ours, mut theirs) = std::os::unix::net::UnixStream::pair().expect("two sockets");
    let pieces = std::thread::scope(|scope| {
        scope.spawn(move || cut(bytes).into_iter().try_for_each(|piece| theirs.write_all(piece)));
        messages(ours).expect("a socket")
    });
    assert_eq!(pieces, whole);
}

pub(crate) fn arrow(bytes: &[u8]) {
    let (whole, ended) = STREAM.check(bytes.len(), || batches(vec![bytes.to_vec()]));
    whole.iter().for_each(check_arrays);
    let (pieces, in_pieces) = batches(cut(bytes).into_iter().map(<[u8]>::to_vec).collect());
    assert_eq!(in_pieces.is_ok(), ended.is_ok(), "{in_pieces:?} {ended:?}");
    assert_eq!(format!("{pieces:?}"), format!("{whole:?}"));
}
