//! Slabs in use: many objects, many threads, and handles that are none.

use super::*;
use std::collections::HashSet;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

fn slab<D: Send + Sync>() -> &'static Slab<Counted, D> {
    Box::leak(Box::new(Slab::new(Kind::Event)))
}

/// Counts how many there are.
struct Counted(&'static AtomicUsize);

impl Counted {
    fn new(live: &'static AtomicUsize) -> Counted {
        live.fetch_add(1, Ordering::Relaxed);
        Counted(live)
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

fn counter() -> &'static AtomicUsize {
    Box::leak(Box::default())
}

#[test]
fn an_object_stays_while_it_is_referred_to() {
    let (slab, live) = (slab(), counter());
    let record = slab.insert(|| Counted::new(live), Counted::new(live)).unwrap();
    let handle = record.clone().hand_out();
    assert_eq!(record.references(), 1);
    slab.retain(handle).unwrap();
    assert_eq!(record.references(), 2);
    drop(record);
    assert_eq!(slab.release(handle), Ok(()));
    let object = slab.get(handle).map_err(|_| ()).unwrap().into_object();
    assert_eq!(slab.release(handle), Ok(()));
    assert_eq!(
        slab.release(handle),
        Err(Refusal::Released),
        "the host has no more"
    );
    assert!(slab.get(handle).is_ok(), "somebody else has");
    assert_eq!(live.load(Ordering::Relaxed), 2);
    drop(object);
    assert_eq!(live.load(Ordering::Relaxed), 0);
    assert_eq!(slab.get(handle).err(), Some(Refusal::Released));
    assert_eq!(slab.retain(handle), Err(Refusal::Released));
    assert_eq!(slab.release(handle), Err(Refusal::Released));
}

#[test]
fn what_is_no_handle_is_foreign() {
    let (slab, other, live) = (slab(), slab::<()>(), counter());
    let record = slab.insert(|| Counted::new(live), ()).unwrap();
    let foreign = other.insert(|| Counted::new(live), ()).unwrap();
    let (handle, size) = (record.handle(), size_of::<slot::Slot<Counted, ()>>());
    let end = handle - size + FIRST as usize * size;
    // The first slot of a slab is not given out before others are.
    for number in [0, 1, 8, handle + 1, handle + 8, end, usize::MAX, foreign.handle()] {
        assert_eq!(slab.get(number).err(), Some(Refusal::Foreign), "{number:#x}");
    }
    assert_eq!(slab.get(end - size).err(), Some(Refusal::Released));
}

#[test]
fn slots_are_used_again_as_late_as_possible() {
    let (slab, live) = (slab(), counter());
    let record = || slab.insert(|| Counted::new(live), ()).unwrap();
    let handles: Vec<usize> = (1..FIRST).map(|_| record().handle()).collect();
    let distinct: HashSet<usize> = handles.iter().copied().collect();
    assert_eq!(distinct.len(), FIRST as usize - 1, "one after the other");
    let again: Vec<usize> = (0..FIRST).map(|_| record().handle()).collect();
    assert_eq!(again[1..], handles, "in the order in which they were freed");
}

#[test]
fn objects_that_come_and_go_take_no_more_room() {
    let (slab, live) = (slab(), counter());
    let mut handles = HashSet::new();
    for _ in 0..100_000 {
        let record = slab.insert(|| Counted::new(live), ()).unwrap();
        handles.insert(record.handle());
    }
    assert_eq!(handles.len(), FIRST as usize);
    let records: Vec<_> = (0..100_000)
        .map(|_| slab.insert(|| Counted::new(live), ()).unwrap())
        .collect();
    assert_eq!(live.load(Ordering::Relaxed), 100_000);
    let handles: HashSet<usize> = records.iter().map(Record::handle).collect();
    assert_eq!(handles.len(), 100_000);
    for record in &records {
        assert!(slab.get(record.handle()).is_ok());
    }
    drop(records);
    assert_eq!(live.load(Ordering::Relaxed), 0);
    assert!(slab.capacity.load(Relaxed) < 200_000);
}

#[test]
fn threads_make_share_and_release_objects() {
    let (slab, live) = (slab(), counter());
    // Whoever takes a handle from its place has the host's reference that goes with it.
    let places: Vec<AtomicUsize> = (0..8).map(|_| AtomicUsize::new(0)).collect();
    let give_back = |handle| {
        let record = slab.get(handle).map_err(|_| ()).unwrap();
        assert!(*record.details() < 8);
        assert_eq!(slab.retain(handle), Ok(()));
        assert_eq!(slab.release(handle), Ok(()));
        drop(record);
        assert_eq!(slab.release(handle), Ok(()));
        // From here on the handle is stale: refused, or that of another object.
        if let Ok(record) = slab.get(handle) {
            assert!(*record.details() < 8 && record.object().0.load(Ordering::Relaxed) > 0);
        }
    };
    thread::scope(|scope| {
        let places = &places;
        let threads = [0, 1, 2, 3, 4, 5, 6, 7].map(|number: usize| {
            scope.spawn(move || {
                for round in 0..20_000 {
                    let record = slab.insert(|| Counted::new(live), number).unwrap();
                    let place = &places[(number + round) % places.len()];
                    let taken = place.swap(record.hand_out(), Ordering::AcqRel);
                    if taken != 0 {
                        give_back(taken);
                    }
                }
            })
        });
        // The thread sanitizer sees this, and not how a scope ends.
        for thread in threads {
            thread.join().unwrap();
        }
    });
    places.into_iter().for_each(|place| give_back(place.into_inner()));
    assert_eq!(live.load(Ordering::Relaxed), 0);
}

#[test]
fn a_reference_of_ones_own_is_counted_and_goes_through_a_pointer() {
    let live = counter();
    let reference = Ref::new(Counted::new(live));
    let other = reference.clone();
    assert!(Ref::ptr_eq(&reference, &other));
    let pointer = reference.into_raw();
    drop(other);
    assert_eq!(live.load(Ordering::Relaxed), 1);
    // SAFETY: the pointer of a reference to a `Counted`, used once.
    drop(unsafe { Ref::<Counted>::from_raw(pointer) });
    assert_eq!(live.load(Ordering::Relaxed), 0);
}
