//! Memory that any command may use, freed when none can.
//!
//! A kernel that is given a plain address, or finds addresses in memory, may use every allocation of its context. All that
//! is noted of such a command is that it is under way, in the epoch in which it was submitted; what is freed meanwhile
//! waits for the commands of its epoch and of all before. So neither a launch nor freeing costs more where there are more
//! allocations. Two counts will do, as an epoch begins only when the one before the last is over.

use offkit_sync::{AtomicUsize, Mutex, MutexGuard, Ordering, PoisonError};

/// Commands under way, and what is freed when they are done.
#[derive(Debug)]
pub(crate) struct Epochs<T> {
    /// Of the epochs with even numbers and of those with odd ones: the commands under way, in steps of [`ONE`], and whether
    /// something [waits](WAITED) for them.
    commands: [AtomicUsize; 2],
    /// Which of the two begins, 0 or 1.
    current: AtomicUsize,
    freed: Mutex<Freed<T>>,
}

const WAITED: usize = 1;
const ONE: usize = 2;

#[derive(Debug)]
struct Freed<T> {
    /// Waits for the epoch before the current one.
    before: Vec<T>,
    /// In the current epoch.
    current: Vec<T>,
}

/// The epoch of a command, which [ends](Epochs::end) once.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Epoch(usize);

impl<T> Epochs<T> {
    pub(crate) fn new() -> Epochs<T> {
        let freed = Freed {
            before: Vec::new(),
            current: Vec::new(),
        };
        Epochs {
            commands: [AtomicUsize::new(0), AtomicUsize::new(0)],
            current: AtomicUsize::new(0),
            freed: Mutex::new(freed),
        }
    }

    /// Begins a command: what is freed from now on waits for it. Never waits itself.
    pub(crate) fn begin(&self) -> Epoch {
        // If the epoch ends just now, the command counts for the one after the next: until it is done, that does not begin,
        // and what is freed in the next one stays.
        let epoch = self.current.load(Ordering::Relaxed);
        self.commands[epoch].fetch_add(ONE, Ordering::Relaxed);
        Epoch(epoch)
    }

    /// Ends a command, and frees what waited for it alone.
    pub(crate) fn end(&self, Epoch(epoch): Epoch, free: impl FnMut(T)) {
        if self.commands[epoch].fetch_sub(ONE, Ordering::AcqRel) == ONE | WAITED {
            self.free_done(self.lock(), free);
        }
    }

    /// Frees something as soon as no command is under way that began before; `false` if some are.
    pub(crate) fn free(&self, what: T, mut free: impl FnMut(T)) -> bool {
        // A command counts in the same place from its beginning to its end, so that none is overlooked.
        let count = |commands: &AtomicUsize| commands.load(Ordering::Acquire) & !WAITED;
        if self.commands.iter().all(|commands| count(commands) == 0) {
            free(what);
            return true;
        }
        let mut freed = self.lock();
        freed.current.push(what);
        self.free_done(freed, free);
        false
    }

    /// Frees what no command can use any more. Whatever is left waits for one that is marked to be waited for.
    fn free_done(&self, mut freed: MutexGuard<'_, Freed<T>>, free: impl FnMut(T)) {
        let mut done = Vec::new();
        loop {
            // Only who has the lock changes it.
            let current = self.current.load(Ordering::Relaxed);
            let before = &self.commands[1 - current];
            // The last one to end sees the mark, or is seen here to have ended.
            if before.fetch_or(WAITED, Ordering::AcqRel) & !WAITED != 0 {
                break;
            }
            before.fetch_and(!WAITED, Ordering::Relaxed);
            done.append(&mut freed.before);
            if freed.current.is_empty() {
                break;
            }
            freed.before = core::mem::take(&mut freed.current);
            self.current.store(1 - current, Ordering::Relaxed);
        }
        drop(freed);
        done.into_iter().for_each(free);
    }

    fn lock(&self) -> MutexGuard<'_, Freed<T>> {
        self.freed.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    /// What is freed waits for the commands that began before, and for no others.
    #[test]
    fn what_is_freed_waits_for_commands_that_began_before() {
        let epochs = Epochs::new();
        let mut freed = Vec::new();
        epochs.free("nothing is under way", |what| freed.push(what));
        assert_eq!(freed.len(), 1);
        let first = epochs.begin();
        epochs.free("during the first", |what| freed.push(what));
        let second = epochs.begin();
        epochs.end(second, |what| freed.push(what));
        assert_eq!(freed.len(), 1);
        let third = epochs.begin();
        epochs.end(first, |what| freed.push(what));
        assert_eq!(freed[1..], ["during the first"]);
        epochs.free("during the third", |what| freed.push(what));
        let fourth = epochs.begin();
        epochs.free("during the third and the fourth", |what| freed.push(what));
        assert_eq!(freed.len(), 2);
        epochs.end(third, |what| freed.push(what));
        assert_eq!(freed[2..], ["during the third"]);
        epochs.end(fourth, |what| freed.push(what));
        assert_eq!(freed[3..], ["during the third and the fourth"]);
    }

    /// However long one command takes and however many come meanwhile, all is freed when they are done.
    #[test]
    fn commands_that_overlap_for_ever_keep_nothing_for_ever() {
        let epochs = Epochs::new();
        let (mut last, mut freed) = (epochs.begin(), 0);
        for _ in 0..1000 {
            epochs.free((), |()| freed += 1);
            let next = epochs.begin();
            epochs.end(core::mem::replace(&mut last, next), |()| freed += 1);
        }
        assert!(freed >= 998, "{freed}");
        epochs.end(last, |()| freed += 1);
        assert_eq!(freed, 1000);
    }
}

#[cfg(all(test, loom))]
mod models {
    use super::*;
    use loom::thread::spawn;
    use offkit_sync::{Arc, Cell};

    type Memory = Arc<Cell<u32>>;

    fn free(memory: Memory) {
        // SAFETY: the checker sees to it that nobody else has the cell meanwhile.
        memory.with_mut(|freed| unsafe { *freed += 1 });
    }

    /// Submits a command that uses memory, and frees that right after.
    fn host(memory: Memory, epochs: &Arc<Epochs<Memory>>) {
        let epoch = epochs.begin();
        let (used, device) = (Arc::clone(&memory), Arc::clone(epochs));
        let command = spawn(move || {
            // SAFETY: as above.
            used.with(|freed| assert_eq!(unsafe { *freed }, 0));
            device.end(epoch, free);
        });
        epochs.free(memory, free);
        command.join().unwrap();
    }

    /// No command finds gone what was there when it was submitted, and all is freed once.
    #[test]
    fn nothing_is_freed_under_a_command() {
        let mut model = loom::model::Builder::new();
        model.preemption_bound = Some(3);
        model.check(|| {
            let epochs = Arc::new(Epochs::new());
            let memory: [Memory; 2] = [(); 2].map(|()| Arc::new(Cell::new(0)));
            let (other, its_epochs) = (Arc::clone(&memory[1]), Arc::clone(&epochs));
            let other = spawn(move || host(other, &its_epochs));
            host(Arc::clone(&memory[0]), &epochs);
            other.join().unwrap();
            for memory in memory {
                // SAFETY: as above.
                memory.with(|freed| assert_eq!(unsafe { *freed }, 1));
            }
        });
    }
}
