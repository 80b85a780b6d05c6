//! Threads that wait for work without using a processor, and join in where there is some.
//!
//! A job stands in one of a few *stands* while it is open. A thread joins by counting itself in, works, and counts
//! itself out. Its owner works too, closes the stand, and waits for those inside; nobody inside is asleep. So
//! the owner never waits for a thread that has yet to wake, and what is on its stack lives for as long as needed.

#![expect(
    unsafe_code,
    reason = "jobs are on the stacks of threads that wait for all who have joined"
)]

use std::collections::VecDeque;
use std::sync::PoisonError;

use super::FloatMode;
use crate::sync::{AtomicU64, AtomicUsize, Cell, Condvar, Mutex, MutexGuard, Ordering, spin_loop, thread};

/// Work that several threads take pieces of.
pub(crate) trait Job: Sync {
    /// Takes pieces until there are none left. Must not panic.
    fn work(&self);

    /// Whether there are pieces left that nobody has taken.
    fn has_more(&self) -> bool;
}

/// What a job is part of, in numbers that those who wait for it know; zero where nobody waits.
#[derive(Clone, Copy, Default)]
pub(crate) struct Purpose {
    /// The queue of its command.
    pub(crate) queue: usize,
    /// The command itself; where commands run one after the other, one number for all of them.
    pub(crate) command: usize,
}

/// What a thread waits for, and takes part in meanwhile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Awaited {
    /// All commands of a queue.
    Queue(usize),
    /// One command, and nothing that its queue is at beside it.
    Command(usize),
}

/// Work for one thread, once. What it works on lies where all threads find it.
pub(crate) type Task = fn();

/// Jobs that can be open at a time. Those that find no stand are done by their owners alone.
const STANDS: usize = if cfg!(loom) { 1 } else { 32 };

/// How often a thread looks around before it lies down, and an owner before it waits: some microseconds.
const SPINS: usize = if cfg!(loom) { 0 } else { 500 };

/// Threads that one wakes that has just found work: all wake in a time that grows with the logarithm of their
/// number.
const WAKES: u64 = 2;

/// A stand is being set up or taken down.
const TAKEN: usize = 1 << (usize::BITS - 1);
/// Threads may join.
const OPEN: usize = 1 << (usize::BITS - 2);
/// The owner sleeps until the last thread inside tells it.
const AWAITED: usize = 1 << (usize::BITS - 3);
/// How many threads are inside.
const INSIDE: usize = AWAITED - 1;

// Sixteen bits are left below for those who sleep, of whom there are fewer than `MOST_THREADS`.
/// One piece of news.
const NEWS: u64 = 1 << 16;
/// How many threads sleep.
const SLEEPING: u64 = NEWS - 1;

struct Stand {
    state: AtomicUsize,
    job: Cell<Option<*const dyn Job>>,
    /// The [`Purpose`] of the job, while the stand is open. It orders nothing.
    queue: AtomicUsize,
    command: AtomicUsize,
}

impl Stand {
    fn is_for(&self, awaited: Awaited) -> bool {
        match awaited {
            Awaited::Queue(queue) => self.queue.load(Ordering::Relaxed) == queue,
            Awaited::Command(command) => self.command.load(Ordering::Relaxed) == command,
        }
    }
}

/// The threads.
pub(super) struct Team {
    /// How many there may be.
    size: usize,
    stands: [Stand; STANDS],
    /// How often there was something new to do, and below that how many threads sleep, or are about to. In one
    /// word, so that of a thread that lies down and one that has news either sees the other.
    news: AtomicU64,
    /// Threads that were started.
    started: AtomicUsize,
    shared: Mutex<VecDeque<Task>>,
    /// Where threads sleep.
    wake: Condvar,
    /// Where owners sleep.
    left: Condvar,
}

// SAFETY: the pointers to jobs, which are `Sync`, are read by threads that their owners wait for.
unsafe impl Send for Team {}
// SAFETY: as above; a stand's pointer is written by its owner before others may join.
unsafe impl Sync for Team {}

impl Team {
    /// A team that starts up to `size` threads, as there is work for them.
    pub(super) fn new(size: usize) -> Team {
        Team {
            size,
            stands: std::array::from_fn(|_| Stand {
                state: AtomicUsize::new(0),
                job: Cell::new(None),
                queue: AtomicUsize::new(0),
                command: AtomicUsize::new(0),
            }),
            news: AtomicU64::new(0),
            started: AtomicUsize::new(0),
            shared: Mutex::new(VecDeque::new()),
            wake: Condvar::new(),
            left: Condvar::new(),
        }
    }

    fn tasks(&self) -> MutexGuard<'_, VecDeque<Task>> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Does a job on this thread and those that join: threads of the team, and those that wait for this purpose.
    pub(super) fn share(&'static self, job: &dyn Job, purpose: Purpose) {
        let free = |stand: &&Stand| {
            let taken = stand
                .state
                .compare_exchange(0, TAKEN, Ordering::Acquire, Ordering::Relaxed);
            taken.is_ok()
        };
        let Some(stand) = self.stands.iter().find(free) else {
            return job.work();
        };
        // SAFETY: only the lifetime changes. The pointer is followed by threads that have joined, and this
        // function returns after they have all left.
        let job_for_all: *const (dyn Job + 'static) = unsafe { std::mem::transmute(&raw const *job) };
        // SAFETY: the stand is ours: nobody else writes, and nobody reads before it is open.
        stand.job.with_mut(|place| unsafe { *place = Some(job_for_all) });
        stand.queue.store(purpose.queue, Ordering::Relaxed);
        stand.command.store(purpose.command, Ordering::Relaxed);
        stand.state.store(TAKEN | OPEN, Ordering::Release);
        // Also if the work panics: the threads inside must leave before this frame does.
        let closing = Closing { team: self, stand };
        self.announce(1);
        job.work();
        drop(closing);
    }

    /// Has one of the threads run a task.
    pub(super) fn spawn(&'static self, task: Task) {
        self.tasks().push_back(task);
        self.announce(1);
        if self.started.load(Ordering::Relaxed) == 0
            && let Some(task) = self.take_task()
        {
            // The system gives no thread.
            task();
        }
    }

    fn take_task(&self) -> Option<Task> {
        self.tasks().pop_front()
    }

    /// Makes it known that there is something to do: to those awake, and to some who sleep or are not there yet.
    fn announce(&'static self, count: u64) {
        let sleeping = self.news.fetch_add(NEWS, Ordering::AcqRel) & SLEEPING;
        if sleeping > 0 {
            // Who was about to sleep does so now, and can be woken.
            drop(self.tasks());
            for _ in 0..sleeping.min(count) {
                self.wake.notify_one();
            }
        } else {
            self.start();
        }
    }

    /// Starts a thread, unless there are all.
    fn start(&'static self) {
        let more = |started: usize| (started < self.size).then_some(started + 1);
        let number = self
            .started
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, more);
        if let Ok(number) = number {
            let thread = thread::Builder::new().name(format!("offkit cpu {number}"));
            // Given back where there is none, so that a later launch tries again: what keeps the
            // system from giving one may pass.
            if let Err(error) = thread.spawn(move || self.serve(number + 1)) {
                self.started.fetch_sub(1, Ordering::Relaxed);
                tracing::warn!(%error, "no thread for kernels");
            }
        }
    }

    /// What a thread does, for as long as the process lives.
    fn serve(&'static self, number: usize) {
        super::NUMBER.set(number);
        // Threads begin with the mode of those that start them.
        let _mode = FloatMode::standard();
        loop {
            // Read before looking around: what comes behind the look makes these old, and `sleep`
            // returns at once.
            let news = self.news();
            if !self.work_once() {
                self.sleep(news);
            }
        }
    }

    /// Runs a task or joins a job, if there is one.
    fn work_once(&'static self) -> bool {
        if let Some(task) = self.take_task() {
            task();
            return true;
        }
        self.join(|_| true)
    }

    /// Works on jobs for what is awaited, as they come, until that is over or there has been none for some microseconds.
    pub(super) fn take_part(&'static self, awaited: Awaited, is_over: &dyn Fn() -> bool) {
        let mut idle = 0;
        while idle < SPINS && !is_over() {
            // What is open and comes after it in a queue has begun after its end: so look again.
            let worked = self.join(|stand| stand.is_for(awaited) && !is_over());
            idle = if worked { 0 } else { idle + 1 };
            spin_loop();
        }
    }

    /// Joins those jobs that are open.
    fn join(&'static self, is_wanted: impl Fn(&Stand) -> bool) -> bool {
        let mut worked = false;
        for stand in &self.stands {
            let join = |state: usize| (state & OPEN != 0).then_some(state + 1);
            let joined = stand
                .state
                .fetch_update(Ordering::Acquire, Ordering::Relaxed, join);
            if joined.is_err() {
                continue;
            }
            let inside = Inside { team: self, stand };
            // Asked from inside only: until then, the stand may become another job's.
            if !is_wanted(stand) {
                continue;
            }
            // SAFETY: written before the stand was opened, and not again before this thread has left.
            let job = stand.job.with_mut(|place| unsafe { *place });
            // SAFETY: its owner does not return before this thread has left.
            if let Some(job) = job.map(|job| unsafe { &*job })
                && job.has_more()
            {
                // Before the work, which lasts as long as there are pieces.
                self.announce(WAKES);
                job.work();
                worked = true;
            }
            drop(inside);
        }
        worked
    }

    /// Sleeps until there are other news than these.
    fn sleep(&self, news: u64) {
        for _ in 0..SPINS {
            if self.news() != news {
                return;
            }
            spin_loop();
        }
        let mut tasks = self.tasks();
        // In one step it counts as asleep and sees whether there are news: who has some later sees it asleep, and
        // takes the lock before waking anybody.
        let before = self.news.fetch_add(1, Ordering::AcqRel);
        if before & !SLEEPING == news {
            while self.news() == news {
                tasks = self.wake.wait(tasks).unwrap_or_else(PoisonError::into_inner);
            }
        }
        self.news.fetch_sub(1, Ordering::AcqRel);
    }

    /// The news of this moment, without who sleeps.
    fn news(&self) -> u64 {
        self.news.load(Ordering::Acquire) & !SLEEPING
    }
}

/// Counts a thread out on drop.
struct Inside<'t> {
    team: &'t Team,
    stand: &'t Stand,
}

impl Drop for Inside<'_> {
    fn drop(&mut self) {
        let before = self.stand.state.fetch_sub(1, Ordering::AcqRel);
        if before & AWAITED != 0 && before & INSIDE == 1 {
            // The owner has looked and sleeps, or has the lock and will look.
            drop(self.team.tasks());
            self.team.left.notify_all();
        }
    }
}

/// Closes a stand and waits for those inside on drop.
struct Closing<'t> {
    team: &'t Team,
    stand: &'t Stand,
}

impl Drop for Closing<'_> {
    fn drop(&mut self) {
        let state = &self.stand.state;
        let mut inside = state.fetch_and(!OPEN, Ordering::AcqRel) & INSIDE;
        for _ in 0..SPINS {
            if inside == 0 {
                break;
            }
            spin_loop();
            inside = state.load(Ordering::Acquire) & INSIDE;
        }
        if inside > 0 {
            // Asked for with the lock held: who leaves behind that takes it before it tells, and so
            // finds this thread asleep.
            let mut tasks = self.team.tasks();
            let mut now = state.fetch_or(AWAITED, Ordering::AcqRel);
            while now & INSIDE > 0 {
                let wait = self.team.left.wait(tasks);
                tasks = wait.unwrap_or_else(PoisonError::into_inner);
                now = state.load(Ordering::Acquire);
            }
        }
        state.store(0, Ordering::Release);
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicU64;
    use std::time::{Duration, Instant};

    struct Sum {
        next: AtomicU64,
        count: u64,
        sum: AtomicU64,
    }

    impl Job for Sum {
        fn work(&self) {
            loop {
                let number = self.next.fetch_add(1, Ordering::Relaxed);
                if number >= self.count {
                    return;
                }
                self.sum.fetch_add(number, Ordering::Relaxed);
            }
        }

        fn has_more(&self) -> bool {
            self.next.load(Ordering::Relaxed) < self.count
        }
    }

    fn team(size: usize) -> &'static Team {
        Box::leak(Box::new(Team::new(size)))
    }

    #[test]
    fn every_piece_is_done_once_whoever_shares() {
        let team = team(3);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for count in 0..2000 {
                        let job = Sum {
                            next: AtomicU64::new(0),
                            count,
                            sum: AtomicU64::new(0),
                        };
                        team.share(&job, Purpose::default());
                        assert_eq!(job.sum.into_inner(), (0..count).sum::<u64>());
                    }
                });
            }
        });
    }

    /// Two pieces, of which one thread cannot do one before another does the other.
    struct Meeting(AtomicU64);

    impl Job for Meeting {
        fn work(&self) {
            self.0.fetch_add(1, Ordering::SeqCst);
            let start = Instant::now();
            while self.0.load(Ordering::SeqCst) < 2 && start.elapsed() < Duration::from_secs(60) {
                std::thread::yield_now();
            }
        }

        fn has_more(&self) -> bool {
            self.0.load(Ordering::SeqCst) < 2
        }
    }

    #[test]
    fn threads_join() {
        let team = team(1);
        for _ in 0..100 {
            let job = Meeting(AtomicU64::new(0));
            team.share(&job, Purpose::default());
            assert_eq!(job.0.into_inner(), 2);
        }
    }

    /// A team without threads: who waits for a job is who joins it, and joins no other.
    #[test]
    fn who_waits_takes_part_in_that_alone() {
        const PURPOSE: Purpose = Purpose { queue: 3, command: 7 };
        let team = team(0);
        for awaited in [Awaited::Queue(3), Awaited::Command(7)] {
            let (job, other) = (Meeting(AtomicU64::new(0)), Meeting(AtomicU64::new(1)));
            let (is_done, is_left) = (AtomicUsize::new(0), AtomicUsize::new(0));
            std::thread::scope(|scope| {
                scope.spawn(|| {
                    team.share(&job, PURPOSE);
                    is_done.store(1, Ordering::SeqCst);
                });
                let done = || is_done.load(Ordering::SeqCst) == 1;
                while !done() {
                    team.take_part(awaited, &done);
                }
                scope.spawn(|| {
                    team.share(
                        &other,
                        Purpose {
                            command: 8,
                            ..PURPOSE
                        },
                    );
                    is_left.store(1, Ordering::SeqCst);
                });
                while is_left.load(Ordering::SeqCst) == 0 {
                    team.take_part(Awaited::Command(7), &|| false);
                }
            });
            assert_eq!((job.0.into_inner(), other.0.into_inner()), (2, 2));
        }
    }

    #[test]
    fn who_waited_for_what_is_over_takes_part_in_nothing() {
        struct Next {
            team: &'static Team,
            looks: AtomicUsize,
            worked: AtomicUsize,
        }
        impl Job for Next {
            fn work(&self) {
                self.worked.fetch_add(1, Ordering::SeqCst);
                // What is awaited ends behind the first look, and this job is open then.
                let is_over = || self.looks.fetch_add(1, Ordering::SeqCst) > 0;
                self.team.take_part(Awaited::Command(7), &is_over);
            }
            fn has_more(&self) -> bool {
                true
            }
        }
        let next = Next {
            team: team(0),
            looks: AtomicUsize::new(0),
            worked: AtomicUsize::new(0),
        };
        next.team.share(&next, Purpose { queue: 7, command: 7 });
        assert_eq!(next.worked.into_inner(), 1);
    }

    #[test]
    fn tasks_are_run_by_threads_of_the_team() {
        static RAN_BY: Mutex<Vec<std::thread::ThreadId>> = Mutex::new(Vec::new());
        let team = team(1);
        for _ in 0..100 {
            team.spawn(|| RAN_BY.lock().unwrap().push(std::thread::current().id()));
        }
        let start = Instant::now();
        while RAN_BY.lock().unwrap().len() < 100 && start.elapsed() < Duration::from_secs(60) {
            std::thread::yield_now();
        }
        let ran_by = RAN_BY.lock().unwrap();
        assert_eq!(ran_by.len(), 100);
        assert_ne!(ran_by[0], std::thread::current().id());
        assert!(ran_by.iter().all(|thread| *thread == ran_by[0]));
    }
}

#[cfg(all(test, loom))]
mod models {
    use super::*;
    use crate::sync::AtomicBool;

    loom::lazy_static! {
        static ref ENDED: AtomicBool = AtomicBool::new(false);
    }

    /// A team of one thread, which serves until it has run the task that ends it.
    fn with_one(owner: impl FnOnce(&'static Team)) {
        let team: &'static Team = Box::leak(Box::new(Team::new(1)));
        team.started.store(1, Ordering::Relaxed);
        let thread = loom::thread::spawn(move || {
            while !ENDED.load(Ordering::Relaxed) {
                let news = team.news();
                if !team.work_once() {
                    team.sleep(news);
                }
            }
        });
        owner(team);
        team.spawn(|| ENDED.store(true, Ordering::Relaxed));
        thread.join().unwrap();
    }

    /// All pieces are done when `share` returns, and nobody touches the job any more.
    #[test]
    fn a_job_is_its_owners_again() {
        struct Pieces {
            next: AtomicUsize,
            result: Cell<usize>,
            done: AtomicUsize,
        }
        // SAFETY: the cell is checked by the model.
        unsafe impl Sync for Pieces {}
        impl Job for Pieces {
            fn work(&self) {
                while self.next.fetch_add(1, Ordering::Relaxed) < 2 {
                    self.result.with(|_| {});
                    self.done.fetch_add(1, Ordering::Relaxed);
                }
            }
            fn has_more(&self) -> bool {
                self.next.load(Ordering::Relaxed) < 2
            }
        }
        let mut model = loom::model::Builder::new();
        model.preemption_bound = Some(2);
        model.check(|| {
            with_one(|team| {
                let job = Pieces {
                    next: AtomicUsize::new(0),
                    result: Cell::new(0),
                    done: AtomicUsize::new(0),
                };
                team.share(&job, Purpose::default());
                job.result.with_mut(|_| {});
                assert_eq!(job.done.load(Ordering::Relaxed), 2);
            });
        });
    }

    /// A thread that lies down just when there is something to do does it: or the model would find a deadlock.
    #[test]
    fn no_task_is_slept_over() {
        loom::model(|| with_one(|_| {}));
    }
}
