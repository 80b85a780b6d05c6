//! The ways in which machines can meet that miss the same entry of a shared store: `./dev loom`.
//!
//! Each machine is a thread. The store answers one call after another, as a [`Store`] promises: of those that create
//! something, it tells one alone that nothing was there.

use std::collections::BTreeMap;

use loom::model::Builder;
use offkit_sync::{Arc, AtomicUsize, Condvar, Mutex, thread};

use super::*;
use crate::key::{Key, Kind};

/// Goes through the ways in which machines meet, with up to two of them stopped at a bad moment in each.
fn check(model: impl Fn() + Send + Sync + 'static) {
    let mut builder = Builder::new();
    builder.preemption_bound = Some(2);
    builder.check(model);
}

/// What all machines see.
#[derive(Clone, Debug, Default)]
struct Memory {
    files: Arc<Mutex<BTreeMap<String, Vec<u8>>>>,
    /// Something was removed.
    removed: Arc<Condvar>,
}

impl Memory {
    /// In the place of a pause: what changes nothing would be tried for ever.
    fn wait_until_gone(&self, name: &str) {
        let mut files = self.files.lock().unwrap();
        while files.contains_key(name) {
            files = self.removed.wait(files).unwrap();
        }
    }
}

impl Store for Memory {
    fn read(&self, name: &str) -> io::Result<Vec<u8>> {
        let found = self.files.lock().unwrap().get(name).cloned();
        found.ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    fn write(&self, name: &str, bytes: &[u8]) -> io::Result<()> {
        self.files.lock().unwrap().insert(name.to_owned(), bytes.to_vec());
        Ok(())
    }

    fn create(&self, name: &str, bytes: &[u8]) -> io::Result<bool> {
        let mut files = self.files.lock().unwrap();
        let is_new = !files.contains_key(name);
        files.entry(name.to_owned()).or_insert_with(|| bytes.to_vec());
        Ok(is_new)
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        self.files.lock().unwrap().remove(name);
        self.removed.notify_all();
        Ok(())
    }
}

/// Machines that share a store, and how often the entry was made.
#[derive(Clone, Default)]
struct World {
    store: Memory,
    made: Arc<AtomicUsize>,
}

impl World {
    fn entry() -> Entry {
        Entry::new(
            &Key::new(Kind::Program, "program"),
            Vec::new(),
            Vec::new(),
            b"built",
        )
    }

    fn name() -> Digest {
        Self::entry().name()
    }

    /// What a machine does that needs the entry, and can make it or not. It loses patience with the first `dead` claims, and
    /// with no other.
    fn machine(&self, can_make: bool, dead: u32) {
        let shared = Shared::new(Box::new(self.store.clone()), None, None);
        let name = Self::name();
        if shared.fetch(name).is_some() {
            return;
        }
        let mut waiting = Waiting::default();
        loop {
            match shared.turn(name, &mut waiting) {
                Turn::Take(entry) => return assert_eq!(&*entry, b"built"),
                Turn::Make(claim) => {
                    self.made.fetch_add(1, Ordering::Relaxed);
                    if can_make {
                        shared.give(Self::entry());
                    }
                    return drop(claim);
                }
                Turn::Wait(_) if waiting.turn < dead => {
                    let long_ago = Instant::now().checked_sub(PATIENCE.saturating_mul(2));
                    waiting.since = long_ago.map(|since| (since, FIRST_PAUSE));
                }
                Turn::Wait(_) => self.store.wait_until_gone(&place(name, waiting.turn)),
            }
        }
    }

    /// Has this many machines need it at once, of which the first may be unable to make it.
    fn run(&self, machines: usize, can_first: bool, dead: u32) {
        let others: Vec<_> = (1..machines)
            .map(|_| {
                let world = self.clone();
                thread::spawn(move || world.machine(true, dead))
            })
            .collect();
        self.machine(can_first, dead);
        for other in others {
            other.join().unwrap();
        }
    }

    fn made(&self) -> usize {
        self.made.load(Ordering::Relaxed)
    }

    /// The entry is there, and no claim is.
    fn has_the_entry_alone(&self) {
        let files = self.store.files.lock().unwrap();
        let names: Vec<_> = files.keys().cloned().collect();
        assert_eq!(names, [Self::name().to_string()]);
    }
}

#[test]
fn of_machines_that_miss_it_at_once_one_makes_it() {
    check(|| {
        let world = World::default();
        world.run(3, true, 0);
        assert_eq!(world.made(), 1);
        world.has_the_entry_alone();
    });
}

#[test]
fn one_takes_over_from_a_machine_that_died() {
    check(|| {
        let world = World::default();
        let claim = place(World::name(), 0);
        assert!(world.store.create(&claim, b"a machine that died").unwrap());
        world.run(2, true, 1);
        assert_eq!(world.made(), 1);
        world.has_the_entry_alone();
    });
}

#[test]
fn where_one_cannot_make_it_nobody_waits_for_ever() {
    check(|| {
        let world = World::default();
        world.run(2, false, 0);
        // Whoever came first has made it, or the other one after it.
        assert!((1..=2).contains(&world.made()));
        let files = world.store.files.lock().unwrap();
        assert!(files.keys().all(|name| !name.contains("claim")), "{files:?}");
    });
}

#[test]
fn a_machine_that_was_thought_dead_harms_nobody() {
    check(|| {
        let world = World::default();
        // The patience of both is over at once.
        world.run(2, true, u32::MAX);
        assert!((1..=2).contains(&world.made()));
        assert!(world.store.read(&World::name().to_string()).is_ok());
    });
}
