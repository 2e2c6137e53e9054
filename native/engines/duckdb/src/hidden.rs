//! Views and macros over functions that describe a table. A plan of a statement that reads one holds pointers into the catalog, though the
//! statement's text does not tell it. So if there is one in a database, every query is planned in the transaction in which it runs.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use super::catalog;
use super::ffi::Connection;

/// The number of statements of this process that may have made such a view or macro known to a database.
static CHANGES: AtomicU64 = AtomicU64::new(1);

/// Whether a session of this process may have a temporary view or macro. Only that session sees it.
static TEMPORARY: AtomicBool = AtomicBool::new(false);

/// Notes that a statement has run which may have made one. `is_temporary` says that it may be a temporary one.
pub(super) fn note(is_temporary: bool) {
    TEMPORARY.fetch_or(is_temporary, Ordering::AcqRel);
    CHANGES.fetch_add(1, Ordering::AcqRel);
}

/// The known facts about one database.
#[derive(Default)]
pub(super) struct Hidden {
    /// The number of changes when the catalog was last searched.
    searched: AtomicU64,
    found: AtomicBool,
}

impl Hidden {
    /// The known facts about a new database.
    pub(super) fn none() -> Self {
        Self { searched: AtomicU64::new(CHANGES.load(Ordering::Acquire)), found: AtomicBool::new(false) }
    }

    /// Whether the database may have such a view or macro. Its catalog is searched once, and after statements that may have made one.
    pub(super) fn exists(&self, connection: &Connection) -> bool {
        let changes = CHANGES.load(Ordering::Acquire);
        if self.searched.load(Ordering::Acquire) != changes {
            // In doubt there is one.
            let found = catalog::hides_catalog_functions(connection).unwrap_or(true);
            self.found.store(found, Ordering::Release);
            self.searched.store(changes, Ordering::Release);
        }
        self.found.load(Ordering::Acquire) || TEMPORARY.load(Ordering::Acquire)
    }
}
