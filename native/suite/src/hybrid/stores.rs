//! The shards of a cell that are in this process.

use std::path::PathBuf;
use std::sync::Arc;

use boundary_bench_kernel::{Error, Result};
use boundary_bench_shards::{LocalStore, MadeRows, MemoryStore, PersistentStore, Population, Store, check_rows};
use serde::Deserialize;

use crate::requests::RequestSpec;

/// A shard in this process, as the option `stores` of a cell has it.
#[derive(Deserialize)]
struct StoreOption {
    shard: u32,
    shards: u32,
    /// The folder of its rows, which are there. `None`: the rows are made, in memory.
    folder: Option<PathBuf>,
}

/// Opens the shards of a cell that are in this process. Returns them, and the URL that names them beside the addresses of the others.
pub(super) fn open_stores(spec: &RequestSpec, total_rows: u64) -> Result<(Vec<LocalStore>, String)> {
    let mut places: Vec<String> = spec.url.split(',').map(str::to_owned).collect();
    let mut stores = Vec::new();
    for option in spec.option::<Vec<StoreOption>>("stores")?.unwrap_or_default() {
        let count = places.len();
        let place = places.get_mut(option.shard as usize);
        let place = place.filter(|_| option.shards as usize == count).ok_or_else(|| {
            Error::InvalidArgument(format!("there is no shard {} of {} in {count} places", option.shard, option.shards))
        })?;
        let store = LocalStore::new(option.open(total_rows)?);
        *place = store.place();
        stores.push(store);
    }
    Ok((stores, places.join(",")))
}

impl StoreOption {
    fn open(&self, total_rows: u64) -> Result<Arc<dyn Store>> {
        if let Some(folder) = &self.folder {
            return Ok(Arc::new(PersistentStore::open(folder, self.shard, self.shards)?));
        }
        check_rows(total_rows)?;
        let mut made = MadeRows::new(self.shard, self.shards, total_rows);
        let population = Population { rows: made.clone().count_rows(), total_rows, replace: false };
        let store = MemoryStore::new();
        store.populate(&population, &mut || made.next().map(|block| Arc::new(block).to_batch()).transpose())?;
        Ok(Arc::new(store))
    }
}
