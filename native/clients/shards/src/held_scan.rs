//! The rest of a scan in memory. It keeps the rows as they were when it began. gRPC requests a block only after sending the last
//! one, so a client that stops reading is never noticed here. A second task watches for that.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use boundary_bench_kernel::workers::{WorkPermit, stalled_reader};
use boundary_bench_kernel::{Result, lock};
use tokio::task::JoinHandle;

use crate::block::Block;
use crate::store::Blocks;

/// The blocks of a scan, released when the client takes none for `patience`.
pub(crate) struct HeldScan {
    rest: Arc<Mutex<Rest>>,
    patience: Duration,
    looking: JoinHandle<()>,
}

struct Rest {
    /// The blocks and the scan's place among the open scans, or `None` once released.
    blocks: Option<(Blocks, WorkPermit)>,
    /// The number of calls that took a block.
    taken: u64,
}

impl HeldScan {
    pub(crate) fn new(blocks: Blocks, place: WorkPermit, patience: Duration) -> Self {
        let rest = Arc::new(Mutex::new(Rest { blocks: Some((blocks, place)), taken: 0 }));
        let looking = tokio::spawn(look(Arc::clone(&rest), patience));
        Self { rest, patience, looking }
    }

    /// The next block, or `None` at the end.
    pub(crate) fn next(&mut self) -> Option<Result<Arc<Block>>> {
        let mut rest = lock(&self.rest);
        rest.taken += 1;
        match &mut rest.blocks {
            Some((blocks, _)) => blocks.next(),
            None => Some(Err(stalled_reader(self.patience))),
        }
    }
}

impl Drop for HeldScan {
    fn drop(&mut self) {
        self.looking.abort();
    }
}

/// Releases the blocks when none was taken for `patience`.
async fn look(rest: Arc<Mutex<Rest>>, patience: Duration) {
    let mut before = 0;
    loop {
        tokio::time::sleep(patience).await;
        let let_go = {
            let mut rest = lock(&rest);
            let is_read = std::mem::replace(&mut before, rest.taken) != rest.taken;
            if is_read { None } else { rest.blocks.take() }
        };
        if let Some((blocks, place)) = let_go {
            place.note_stalled();
            drop(blocks);
            return;
        }
    }
}
