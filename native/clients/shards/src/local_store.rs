//! The stores of this process by number, so that a client's URL can name them like servers: `local:7`.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock, Mutex};

use boundary_bench_kernel::{Error, Result, lock};

use crate::client::ShardLocation;
use crate::store::Store;

/// The prefix of the number of a store of this process.
const LOCAL: &str = "local:";

static STORES: LazyLock<Mutex<Stores>> = LazyLock::new(Mutex::default);

#[derive(Default)]
struct Stores {
    last: u32,
    by_number: HashMap<u32, Arc<dyn Store>>,
}

/// A store that the clients of this process can find by [`LocalStore::place`], until this is dropped. Clients that are connected
/// to the store then keep it.
pub struct LocalStore {
    number: u32,
    store: Arc<dyn Store>,
}

impl LocalStore {
    /// Registers a store under a new number.
    pub fn new(store: Arc<dyn Store>) -> Self {
        let mut stores = lock(&STORES);
        stores.last = stores.last.wrapping_add(1);
        let number = stores.last;
        stores.by_number.insert(number, Arc::clone(&store));
        Self { number, store }
    }

    /// The text that names the store in a client's URL, such as `local:7`.
    pub fn place(&self) -> String {
        format!("{LOCAL}{}", self.number)
    }

    /// The store.
    pub fn store(&self) -> &Arc<dyn Store> {
        &self.store
    }
}

impl Drop for LocalStore {
    fn drop(&mut self) {
        let removed = lock(&STORES).by_number.remove(&self.number);
        // Dropped outside the lock: it may be the last reference to a large store.
        drop(removed);
    }
}

/// Parses the place of a shard: `local:7` is a store of this process, anything else the address of a server.
pub fn place_of(text: &str) -> Result<ShardLocation> {
    let Some(number) = text.strip_prefix(LOCAL) else { return Ok(ShardLocation::Remote(text.to_owned())) };
    let stores = lock(&STORES);
    let store = number.parse().ok().and_then(|number: u32| stores.by_number.get(&number));
    let store = store.ok_or_else(|| Error::InvalidArgument(format!("{text}: this process has no such store open")))?;
    Ok(ShardLocation::Direct(Arc::clone(store)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::MemoryStore;

    #[test]
    fn a_store_is_found_by_its_place_while_it_is_open() {
        let local = LocalStore::new(Arc::new(MemoryStore::new()));
        let place = local.place();
        assert!(matches!(place_of(&place), Ok(ShardLocation::Direct(store)) if Arc::ptr_eq(&store, local.store())));
        assert!(matches!(place_of("http://h:1"), Ok(ShardLocation::Remote(url)) if url == "http://h:1"));
        drop(local);
        for wrong in [place.as_str(), "local:", "local:-1", "local:x"] {
            assert_eq!(place_of(wrong).err().map(|error| error.code()), Some("BB_INVALID_ARGUMENT"), "{wrong}");
        }
    }
}
