//! The ways in which two or three threads can meet in a slab, all of them. Slabs are small here: a chunk of two slots, and
//! one of four.

use super::*;
use loom::model::Builder;
use loom::sync::Arc;
use loom::sync::atomic::AtomicUsize;
use loom::thread;

/// Goes through the ways in which threads meet, with up to three of them stopped at a bad moment in each.
fn check(model: impl Fn() + Send + Sync + 'static) {
    let mut builder = Builder::new();
    builder.preemption_bound = Some(3);
    builder.check(model);
}

/// An object that says when it is dropped, and must not be twice.
struct Once(Arc<AtomicUsize>);

impl Drop for Once {
    fn drop(&mut self) {
        assert_eq!(self.0.fetch_add(1, Relaxed), 0, "dropped twice");
    }
}

impl Once {
    fn new() -> (Once, Arc<AtomicUsize>) {
        let dropped = Arc::new(AtomicUsize::new(0));
        (Once(dropped.clone()), dropped)
    }
}

fn slab<T: Send + Sync>() -> &'static Slab<T, ()> {
    Box::leak(Box::new(Slab::new(Kind::Event)))
}

#[test]
fn a_handle_is_used_while_the_host_releases_it() {
    check(|| {
        let slab = slab();
        let (object, dropped) = Once::new();
        let handle = slab.insert(|| object, ()).unwrap().hand_out();
        let user = thread::spawn(move || {
            if let Ok(record) = slab.get(handle) {
                assert_eq!(
                    record.object().0.load(Relaxed),
                    0,
                    "it is there while it is referred to"
                );
            }
        });
        assert_eq!(slab.release(handle), Ok(()));
        user.join().unwrap();
        assert_eq!(dropped.load(Relaxed), 1);
        assert_eq!(slab.get(handle).err(), Some(Refusal::Released));
    });
}

#[test]
fn of_several_releases_as_many_succeed_as_there_are_references() {
    check(|| {
        let slab = slab();
        let (object, dropped) = Once::new();
        let handle = slab.insert(|| object, ()).unwrap().hand_out();
        let threads = [(); 2].map(|()| thread::spawn(move || slab.release(handle).is_ok()));
        let retained = slab.retain(handle).is_ok();
        let released = threads.map(|thread| thread.join().unwrap());
        let released = released.into_iter().filter(|released| *released).count();
        // A retain that comes after the last release is refused.
        assert!(released == 1 || retained);
        if retained && released == 1 {
            assert_eq!(slab.release(handle), Ok(()));
        }
        assert_eq!(dropped.load(Relaxed), 1);
    });
}

#[test]
fn a_slot_that_is_used_again_has_one_object_or_the_other() {
    check(|| {
        let slab = slab::<(u32, Once)>();
        let (object, dropped) = Once::new();
        let handle = slab.insert(|| (1, object), ()).unwrap().hand_out();
        let stale = thread::spawn(move || match slab.get(handle) {
            Ok(record) => {
                assert!([1, 2].contains(&record.object().0));
                assert_eq!(record.object().1.0.load(Relaxed), 0);
            }
            Err(refusal) => assert_eq!(refusal, Refusal::Released),
        });
        slab.release(handle).unwrap();
        let (object, between) = Once::new();
        drop(slab.insert(|| (0, object), ()));
        // This one has the slot of the first, unless that is still referred to.
        let (object, again) = Once::new();
        drop(slab.insert(|| (2, object), ()));
        stale.join().unwrap();
        assert_eq!(
            [dropped, between, again].map(|dropped| dropped.load(Relaxed)),
            [1; 3]
        );
    });
}

#[test]
fn threads_that_make_and_drop_objects_get_slots_of_their_own() {
    check(|| {
        let slab = slab::<AtomicUsize>();
        let work = move || {
            for _ in 0..2 {
                let record = slab.insert(|| AtomicUsize::new(0), ()).unwrap();
                assert_eq!(
                    record.object().fetch_add(1, Relaxed),
                    0,
                    "a slot with two objects"
                );
            }
        };
        let other = thread::spawn(work);
        work();
        other.join().unwrap();
    });
}

#[test]
fn freed_slots_are_queued_by_several_threads_while_another_takes_them() {
    check(|| {
        let slab = slab::<u32>();
        let [a, b] = [1, 2].map(|value| slab.insert(|| value, ()).unwrap());
        let others = [a, b].map(|record| thread::spawn(move || drop(record)));
        let records = [3, 4].map(|value| slab.insert(|| value, ()).unwrap());
        assert!(!Ref::ptr_eq(records[0].object(), records[1].object()));
        assert_eq!(records.each_ref().map(|record| **record.object()), [3, 4]);
        others.into_iter().for_each(|other| other.join().unwrap());
    });
}
