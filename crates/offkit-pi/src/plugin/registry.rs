//! Handles: which objects the host knows, and how often it refers to them.
//!
//! A handle is a number in the clothes of a pointer. It is looked up, never followed, and never given out
//! twice, so that a handle that is foreign, of another kind, or already released is refused.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::sync::{Arc, PoisonError, RwLock, RwLockWriteGuard, Weak};

/// An object the host knows, with what the interface keeps about it (`D`: what it was made from, for one).
pub(crate) struct Record<T: Send + Sync + 'static, D: Send + Sync + 'static> {
    pub(crate) object: Arc<T>,
    pub(crate) details: D,
    handle: usize,
    /// References the host holds.
    references: AtomicU32,
    table: &'static Table<T, D>,
}

/// The known objects of one kind, by handle.
pub(crate) struct Table<T: Send + Sync + 'static, D: Send + Sync + 'static> {
    entries: RwLock<HashMap<usize, Entry<T, D>>>,
}

struct Entry<T: Send + Sync + 'static, D: Send + Sync + 'static> {
    /// Leads to the record as long as the host or another object refers to it: a queue's context can be asked
    /// for, and used, after the host has released its own reference to it.
    known: Weak<Record<T, D>>,
    /// Keeps the record for as long as the host holds references.
    held: Option<Arc<Record<T, D>>>,
}

impl<T: Send + Sync + 'static, D: Send + Sync + 'static> Default for Table<T, D> {
    fn default() -> Self {
        Table {
            entries: RwLock::default(),
        }
    }
}

/// A handle no object has had yet.
fn new_handle() -> usize {
    // Looks like the address of something aligned.
    const STEP: usize = 16;
    static NEXT: AtomicUsize = AtomicUsize::new(1);
    NEXT.fetch_add(1, Ordering::Relaxed) * STEP
}

impl<T: Send + Sync + 'static, D: Send + Sync + 'static> Table<T, D> {
    fn entries(&self) -> RwLockWriteGuard<'_, HashMap<usize, Entry<T, D>>> {
        self.entries.write().unwrap_or_else(PoisonError::into_inner)
    }

    fn add(
        &'static self,
        entries: &mut HashMap<usize, Entry<T, D>>,
        object: Arc<T>,
        details: D,
    ) -> Arc<Record<T, D>> {
        let handle = new_handle();
        let record = Arc::new(Record {
            object,
            details,
            handle,
            references: AtomicU32::new(1),
            table: self,
        });
        entries.insert(
            handle,
            Entry {
                known: Arc::downgrade(&record),
                held: Some(Arc::clone(&record)),
            },
        );
        record
    }

    /// Makes a new object known to the host, which gets one reference.
    pub(crate) fn insert(&'static self, object: Arc<T>, details: D) -> Arc<Record<T, D>> {
        self.add(&mut self.entries(), object, details)
    }

    /// The record of an object that is there for good; made at the first call.
    pub(crate) fn intern(&'static self, object: Arc<T>, details: D) -> Arc<Record<T, D>> {
        let mut entries = self.entries();
        let mut records = entries.values().filter_map(|entry| entry.held.as_ref());
        match records.find(|record| Arc::ptr_eq(&record.object, &object)) {
            Some(record) => Arc::clone(record),
            None => self.add(&mut entries, object, details),
        }
    }

    /// The record of a handle, unless the handle is foreign or released.
    pub(crate) fn get(&self, handle: usize) -> Option<Arc<Record<T, D>>> {
        self.entries
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .get(&handle)?
            .known
            .upgrade()
    }

    /// Gives the host one more reference. `false` for a handle that is foreign or released.
    pub(crate) fn retain(&self, handle: usize) -> bool {
        let mut entries = self.entries();
        let Some(entry) = entries.get_mut(&handle) else {
            return false;
        };
        let Some(record) = entry.known.upgrade() else {
            return false;
        };
        record.references.fetch_add(1, Ordering::Relaxed);
        entry.held = Some(record);
        true
    }

    /// Takes one reference back from the host. `false` if it has none.
    pub(crate) fn release(&self, handle: usize) -> bool {
        let mut entries = self.entries();
        let Some(entry) = entries.get_mut(&handle) else {
            return false;
        };
        let Some(record) = &entry.held else { return false };
        if record.references.fetch_sub(1, Ordering::Relaxed) > 1 {
            return true;
        }
        let last = entry.held.take();
        // Dropping the record locks the table.
        drop(entries);
        drop(last);
        true
    }
}

impl<T: Send + Sync + 'static, D: Send + Sync + 'static> Record<T, D> {
    /// The handle the host knows the object by.
    pub(crate) fn handle(&self) -> usize {
        self.handle
    }

    /// References the host holds.
    pub(crate) fn references(&self) -> u32 {
        self.references.load(Ordering::Relaxed)
    }
}

impl<T: Send + Sync + 'static, D: Send + Sync + 'static> Drop for Record<T, D> {
    fn drop(&mut self) {
        self.table.entries().remove(&self.handle);
    }
}
