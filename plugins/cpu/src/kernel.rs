//! Kernels, however they are run, and how the work-groups of a launch are shared among threads.
//!
//! [`KernelCode`] is the one face of what runs: the interpreter, which checks every access,
//! [compiled kernels](crate::compiled), and [native functions](crate::native) as a compiler makes them.

use std::any::Any;
use std::num::NonZero;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use offkit_pi::NdRange;

use crate::launch::{Arguments, Geometry};
use crate::pool::{self, FloatMode, Job};
use crate::sync::{Mutex, MutexGuard, PoisonError};
use crate::{KernelInfo, LaunchError, LaunchOptions};

/// What runs a kernel.
pub(crate) trait KernelCode: Send + Sync {
    /// What the kernel is, from outside.
    fn info(&self) -> &KernelInfo;

    /// Runs all work-groups and returns when they are done. The arguments are all there, and have their places
    /// in local memory.
    ///
    /// # Errors
    /// [`LaunchError`], with the work-item where it was one that failed and the code knows.
    fn run(
        &self,
        geometry: &Geometry,
        arguments: &Arguments,
        options: &LaunchOptions<'_>,
    ) -> Result<(), LaunchError>;

    /// Whether it is plain to see that all of it takes a few microseconds on one thread.
    fn is_small(&self, geometry: &Geometry) -> bool;

    /// How a range of work-items is cut into groups.
    ///
    /// # Errors
    /// [`LaunchError::Range`].
    fn geometry(&self, range: &NdRange) -> Result<Geometry, LaunchError> {
        self.info().geometry(range)
    }

    /// What is to be known of how it runs, if anything.
    fn note(&self) -> Option<String> {
        None
    }
}

/// How long the caller works alone, as far as nobody knows: several times what it takes to wake a thread.
const ALONE: Duration = Duration::from_micros(20);

/// How long the work-groups of a kernel take: nanoseconds for each as they were last seen, 0 if they never were.
#[derive(Debug, Default)]
pub(crate) struct Pace(AtomicU64);

impl Pace {
    pub(crate) fn note(&self, groups: u64, time: Duration) {
        // A thread that came too late has had no groups, and knows nothing of how long they take.
        if let Some(each) = (time.as_nanos() as u64).checked_div(groups) {
            self.0.store(each, Ordering::Relaxed);
        }
    }

    /// Whether so many groups are known to take a time in which no other thread would wake.
    pub(crate) fn is_short(&self, groups: u64) -> bool {
        self.0.load(Ordering::Relaxed) != 0 && !self.is_long(groups)
    }

    /// Whether so many groups are known to take longer than a thread takes to wake.
    fn is_long(&self, groups: u64) -> bool {
        let time = self.0.load(Ordering::Relaxed).saturating_mul(groups);
        time > ALONE.as_nanos() as u64
    }
}

/// The work-groups of a launch.
struct Groups<'g> {
    /// How many are taken at a time.
    chunk: u64,
    /// Those that nobody has taken.
    parts: [Part; MOST_PARTS],
    /// How many of the parts there are.
    used: usize,
    /// Something failed.
    stop: &'g AtomicBool,
    cancel: Option<&'g AtomicBool>,
    outcome: Mutex<Outcome>,
    cancelled: &'g (dyn Fn(u64, Duration) -> LaunchError + Sync),
    /// How many threads may still come, where not all may.
    places: Option<AtomicUsize>,
    /// When, unless there is one chunk.
    started: Option<Instant>,
    pace: &'g Pace,
    work: &'g (dyn Fn(&mut Claims<'_>) + Sync),
}

/// Parts at most, so that a launch allocates nothing. Where there are more threads, several begin with the same part.
const MOST_PARTS: usize = 16;

/// Work-groups that are taken from the first to the last. Threads write to it, each to its own first.
#[repr(align(64))]
struct Part {
    /// The first that nobody has taken.
    next: AtomicU64,
    end: u64,
}

/// In which order work-groups are taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TakenBy {
    /// From the first to the last, whoever comes: all before one that fails are run.
    Order,
    /// Each thread has its own part, and helps others when it is done. What is launched again finds its memory in the
    /// caches of the same processors.
    Thread,
}

#[derive(Default)]
struct Outcome {
    /// The failure of the lowest group, whichever thread comes first.
    failure: Option<(u64, LaunchError)>,
    panic: Option<Box<dyn Any + Send>>,
}

/// A thread's share of the work-groups: those it claims, one chunk after the other.
pub(crate) struct Claims<'g> {
    groups: &'g Groups<'g>,
    until: Option<Instant>,
    /// How many it has had.
    taken: u64,
    /// The part that it takes them from.
    part: usize,
}

/// Runs work-groups: `work` is called on each thread that takes part, and claims groups until there are none. Other threads
/// are called when the caller has worked alone for some time, or at once if the kernel's pace is known to be slow.
/// `cancelled` is the error for when `cancel` is seen before a group, so long after the start.
pub(crate) fn share_groups(
    count: u64,
    (chunk, taken_by, max_threads): (u64, TakenBy, Option<NonZero<usize>>),
    pace: &Pace,
    stop: &AtomicBool,
    cancel: Option<&AtomicBool>,
    cancelled: &(dyn Fn(u64, Duration) -> LaunchError + Sync),
    work: &(dyn Fn(&mut Claims<'_>) + Sync),
) -> Result<(), LaunchError> {
    let threads = max_threads.map_or(usize::MAX, NonZero::get).min(pool::threads());
    let used = match taken_by {
        TakenBy::Thread if count > chunk => threads.min(MOST_PARTS),
        _ => 1,
    };
    let groups = Groups {
        chunk,
        parts: parts(count, used),
        used,
        stop,
        cancel,
        outcome: Mutex::default(),
        cancelled,
        places: (threads < pool::threads()).then(|| AtomicUsize::new(threads)),
        // With one chunk there is nothing to share, and so nobody to look at the clock for.
        started: (count > chunk).then(Instant::now),
        pace,
        work,
    };
    let _mode = FloatMode::standard();
    match groups.started {
        Some(started) if threads > 1 => {
            if !pace.is_long(count) {
                groups.claim_until(Some(started + ALONE));
            }
            if groups.has_more() {
                pool::share(&groups);
            }
        }
        _ => groups.claim_until(None),
    }
    let outcome = groups
        .outcome
        .into_inner()
        .unwrap_or_else(PoisonError::into_inner);
    if let Some(payload) = outcome.panic {
        resume_unwind(payload);
    }
    match outcome.failure {
        Some((_, error)) => Err(error),
        None => Ok(()),
    }
}

/// So many groups in parts of about the same size, of which so many have any.
fn parts(count: u64, used: usize) -> [Part; MOST_PARTS] {
    let used = used as u64;
    let (each, rest) = (count / used, count % used);
    let start = |part: u64| match part < used {
        // The first parts have one more, as long as there is a rest.
        true => part * each + part.min(rest),
        false => count,
    };
    std::array::from_fn(|part| Part {
        next: AtomicU64::new(start(part as u64)),
        end: start(part as u64 + 1),
    })
}

impl Groups<'_> {
    fn claim_until(&self, until: Option<Instant>) {
        let mut claims = Claims {
            groups: self,
            until,
            taken: 0,
            part: pool::number() % self.used,
        };
        let started = self.started.map(|_| Instant::now());
        (self.work)(&mut claims);
        if let Some(started) = started {
            self.pace.note(claims.taken, started.elapsed());
        }
    }

    /// Whether one more thread may work. It keeps its place: who leaves has found nothing left to do.
    fn take_place(&self) -> bool {
        let Some(places) = &self.places else { return true };
        let one_less = |left: usize| left.checked_sub(1);
        places
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, one_less)
            .is_ok()
    }

    fn outcome(&self) -> MutexGuard<'_, Outcome> {
        self.outcome.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Job for Groups<'_> {
    fn work(&self) {
        if !self.take_place() {
            return;
        }
        // Threads of the host's come here too, while they wait for the launch: see `take_part`.
        let _mode = FloatMode::standard();
        // The pool takes no panics: the thread that launched raises it again when all have left.
        if let Err(payload) = catch_unwind(AssertUnwindSafe(|| self.claim_until(None))) {
            self.stop.store(true, Ordering::Relaxed);
            self.outcome().panic = Some(payload);
        }
    }

    fn has_more(&self) -> bool {
        let is_left = |part: &Part| part.next.load(Ordering::Relaxed) < part.end;
        let is_full = |places: &AtomicUsize| places.load(Ordering::Relaxed) == 0;
        !self.stop.load(Ordering::Relaxed)
            && !self.places.as_ref().is_some_and(is_full)
            && self.parts[..self.used].iter().any(is_left)
    }
}

impl Claims<'_> {
    /// The groups to run next; none if there are no more for this thread.
    pub(crate) fn next(&mut self) -> Option<Range<u64>> {
        let groups = self.groups;
        if groups.stop.load(Ordering::Relaxed) || self.until.is_some_and(|until| Instant::now() >= until) {
            return None;
        }
        let (first, end) = self.take()?;
        // Only with groups in hand: a launch whose groups are all taken is as good as done.
        if groups.cancel.is_some_and(|cancel| cancel.load(Ordering::Relaxed)) {
            let after = groups.started.map(|started| started.elapsed());
            self.fail(first, Some((groups.cancelled)(first, after.unwrap_or_default())));
            return None;
        }
        self.taken += end - first;
        Some(first..end)
    }

    /// The next groups of this thread's part, or of another's.
    fn take(&mut self) -> Option<(u64, u64)> {
        let parts = &self.groups.parts[..self.groups.used];
        for _ in 0..parts.len() {
            let part = &parts[self.part];
            // Looked at first: who only finds that all are taken doesn't write, and so leaves the line to others.
            if part.next.load(Ordering::Relaxed) < part.end {
                let first = part.next.fetch_add(self.groups.chunk, Ordering::Relaxed);
                // It goes beyond the end where several come for the last chunk.
                if first < part.end {
                    return Some((first, part.end.min(first + self.groups.chunk)));
                }
            }
            self.part = (self.part + 1) % parts.len();
        }
        None
    }

    /// Has all threads stop, since a group has failed. The error is empty where only another's failure ended it.
    pub(crate) fn fail(&self, number: u64, error: Option<LaunchError>) {
        self.groups.stop.store(true, Ordering::Relaxed);
        let failure = &mut self.groups.outcome().failure;
        if let Some(error) = error
            && failure.as_ref().is_none_or(|(other, _)| number < *other)
        {
            *failure = Some((number, error));
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    /// Of a launch that may have two threads, the third and the fourth that come find no place, whatever there is to do.
    #[test]
    fn no_more_threads_work_than_may() {
        let workers = AtomicU64::new(0);
        let work = |_: &mut Claims<'_>| {
            workers.fetch_add(1, Ordering::Relaxed);
        };
        let (stop, pace) = (AtomicBool::new(false), Pace::default());
        let groups = Groups {
            chunk: 1,
            parts: parts(1000, 2),
            used: 2,
            stop: &stop,
            cancel: None,
            outcome: Mutex::default(),
            cancelled: &|_, _| unreachable!("nobody cancels it"),
            places: Some(AtomicUsize::new(2)),
            started: None,
            pace: &pace,
            work: &work,
        };
        for come in 1..=4 {
            assert_eq!(groups.has_more(), come <= 2);
            groups.work();
        }
        assert_eq!(workers.into_inner(), 2);
    }
}
