//! The process that compiles: one for all programs, started when there is one, ended when it has had nothing to do for
//! some time, and started anew when it is needed again.
//!
//! A thread of its own asks it, so that nobody else waits for more than an answer. After a fork the child has neither: what
//! it inherits of the parent's is closed, and its first launch starts its own.

use std::collections::VecDeque;
use std::path::Path;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU64, Ordering};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use offkit_cache::FileId;
use offkit_host::{chain, signals};
use offkit_llvm::{CompileRequest, Compiled, Effort, LLVM_LIBRARY, Worker, WorkerError};

use super::Started;
use super::code::Slot;
use super::kept::Source;
use crate::pool;
use crate::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// How long the process is kept with nothing to do.
const IDLE: Duration = Duration::from_secs(10);

/// How long the process may take to start, on a machine that has much else to do. It takes milliseconds.
const START_LIMIT: Duration = Duration::from_secs(10);

/// How long it may take for a kernel. Light passes take milliseconds; nobody waits for better code.
fn limit(effort: Effort) -> Duration {
    match effort {
        Effort::Light => Duration::from_secs(20),
        Effort::Full => Duration::from_secs(60),
    }
}

/// How long a launch waits for code, before the kernel is interpreted until there is some.
const PATIENCE: Duration = Duration::from_secs(5);

/// Takes what became of a job, with the libraries that the worker has LLVM in, or why nothing did. It returns what can be
/// done when nobody waits for the job any more.
pub(super) type Done =
    Box<dyn FnOnce(Result<(Compiled, Option<&[FileId]>), NotMade>) -> Option<Later> + Send>;

/// Something that may take long, and has no locks that a fork would take over.
pub(super) type Later = Box<dyn FnOnce()>;

/// Why there is no code.
pub(super) struct NotMade {
    pub(super) reason: String,
    /// Whether the process was lost over it: that may have had reasons of its own, such as a machine short of memory.
    pub(super) is_lost: bool,
}

impl From<String> for NotMade {
    fn from(reason: String) -> NotMade {
        NotMade {
            reason,
            is_lost: false,
        }
    }
}

/// A kernel to compile.
pub(super) struct Job {
    pub(super) source: Arc<Source>,
    pub(super) request: CompileRequest,
    /// Where the code goes; it is not needed when they are gone.
    pub(super) slots: Weak<[Slot]>,
    /// When it is soon enough: nobody waits for it before.
    pub(super) due: Instant,
    /// Takes what became of it and the libraries that it was made with, or why nothing did.
    pub(super) done: Done,
}

#[derive(Default)]
struct Service {
    state: Mutex<State>,
    /// There is something to do, or something is done.
    changed: Condvar,
}

#[derive(Default)]
struct State {
    jobs: VecDeque<Job>,
    /// Whether there will be one soon.
    is_expected: bool,
    /// Whether a thread is there that sees to them.
    is_served: bool,
    /// Whether a launch has waited in vain since the last answer: then no other does.
    is_late: bool,
}

/// Starts a program as the process.
pub(super) fn start_program(program: &Path) -> Result<Worker, WorkerError> {
    Worker::start_apart(program, START_LIMIT)
}

/// Has the process started if it isn't there: a kernel will be compiled soon.
pub(super) fn start() {
    service().serve(None);
}

/// Has a kernel compiled.
pub(super) fn submit(job: Job) {
    service().serve(Some(job));
}

/// Nanoseconds that launches have waited for code.
static WAITED: AtomicU64 = AtomicU64::new(0);

/// How long the launches of this process have waited for code, all together.
pub fn time_waited() -> Duration {
    Duration::from_nanos(WAITED.load(Ordering::Relaxed))
}

/// Waits until what a job has been submitted for is done, or for so long that it is better to go on without.
pub(super) fn wait(is_done: impl Fn() -> bool) {
    let started = Instant::now();
    service().wait(started + PATIENCE, is_done);
    let waited = started.elapsed().as_nanos() as u64;
    WAITED.fetch_add(waited, Ordering::Relaxed);
}

/// Whether launches do not wait for code, which is late.
pub(super) fn is_late() -> bool {
    service().state().is_late
}

/// Which process this is, counted by forks: jobs of another are done by nobody.
pub(super) fn generation() -> u64 {
    GENERATION.load(Ordering::Relaxed)
}

impl Service {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Leaves a job to the thread, or has it start the process only.
    fn serve(&'static self, job: Option<Job>) {
        let mut state = self.state();
        state.is_expected |= job.is_none();
        state.jobs.extend(job);
        // With the lock held, or two launches at once would start a thread, and a process, each.
        if !state.is_served {
            let thread = std::thread::Builder::new().name("offkit-compiler".to_owned());
            match thread.spawn(move || self.work()) {
                Ok(_) => state.is_served = true,
                Err(error) => {
                    let jobs = std::mem::take(&mut state.jobs);
                    drop(state);
                    for job in jobs {
                        _ = (job.done)(Err(format!("no thread can be started: {error}").into()));
                    }
                    return;
                }
            }
        }
        drop(state);
        self.changed.notify_all();
    }

    fn wait(&self, until: Instant, is_done: impl Fn() -> bool) {
        let mut state = self.state();
        while !is_done() && state.is_served && !state.is_late {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                tracing::warn!(
                    "LLVM has not answered for {PATIENCE:?}: kernels are interpreted until it does"
                );
                state.is_late = true;
                self.changed.notify_all();
                return;
            }
            let waited = self.changed.wait_timeout(state, left);
            (state, _) = waited.unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Sees to jobs until there have been none for some time.
    fn work(&self) {
        let _served = Served(self);
        // The host's handlers are made to run on the host's threads.
        signals::leave_to_others();
        let mut worker = Process::Absent;
        while let Some(next) = self.next() {
            let Next::Job(job) = next else {
                worker.start();
                continue;
            };
            // Its program is gone: a host that builds and drops many has none compiled in vain.
            if job.slots.strong_count() == 0 {
                continue;
            }
            // Without a lock: others submit jobs meanwhile, and launches may stop waiting.
            let compiled = worker.compile(&job.source.spirv, job.request);
            let later = (job.done)(compiled);
            // An answer, also one that refuses, shows that it is worth waiting for again.
            // Locked, so that nobody looks before it is done and waits after.
            self.state().is_late &= !worker.is_there();
            self.changed.notify_all();
            if let Some(later) = later {
                later();
            }
        }
        worker.end();
    }

    fn next(&self) -> Option<Next> {
        let mut state = self.state();
        loop {
            let now = Instant::now();
            // Launches wait for what takes little.
            let urgent = state
                .jobs
                .iter()
                .position(|job| job.request.level == Effort::Light);
            let due = state.jobs.iter().position(|job| job.due <= now);
            if let Some(job) = urgent.or(due).and_then(|index| state.jobs.remove(index)) {
                return Some(Next::Job(job));
            }
            if std::mem::take(&mut state.is_expected) {
                return Some(Next::Start);
            }
            let first = state.jobs.iter().map(|job| job.due).min();
            let time = first.map_or(IDLE, |first| first.saturating_duration_since(now));
            let waited = self.changed.wait_timeout(state, time);
            let (again, time) = waited.unwrap_or_else(PoisonError::into_inner);
            state = again;
            if time.timed_out() && state.jobs.is_empty() {
                // With the lock held, so that a job that comes now has another thread started.
                state.is_served = false;
                return None;
            }
        }
    }
}

/// What the thread does next.
enum Next {
    /// Has the process started.
    Start,
    Job(Job),
}

/// As long as the thread is there. One that panics leaves nobody waiting.
struct Served<'s>(&'s Service);

impl Drop for Served<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.state().is_served = false;
            self.0.changed.notify_all();
        }
    }
}

/// The process, as its thread has it.
enum Process {
    Absent,
    Running {
        worker: Worker,
        /// LLVM as it has it.
        libraries: Option<Vec<FileId>>,
    },
    /// It does not start, for this reason. It is tried again when the thread has ended.
    Missing(String),
}

impl Process {
    fn start(&mut self) {
        match self {
            Process::Missing(_) => return,
            Process::Running { worker, .. } => {
                if worker.is_running() {
                    return;
                }
                // Somebody has ended it.
                self.end();
            }
            Process::Absent => {}
        }
        *self = match super::start() {
            Ok(Started {
                worker,
                program,
                instead,
            }) => {
                let busy = Busy::begin();
                let mut libraries = offkit_cache::mapped_named(worker.process(), LLVM_LIBRARY);
                if instead.is_some() {
                    // Keys have the program that was found first.
                    libraries = libraries.zip(FileId::of(&program)).map(|(mut files, program)| {
                        files.push(program);
                        files
                    });
                }
                drop(busy);
                Process::Running { worker, libraries }
            }
            Err(error) => {
                tracing::warn!(error = chain(&error), "kernels are interpreted");
                Process::Missing(chain(&error))
            }
        };
    }

    fn compile(
        &mut self,
        spirv: &[u8],
        request: CompileRequest,
    ) -> Result<(Compiled, Option<&[FileId]>), NotMade> {
        self.start();
        let limit = limit(request.level);
        let worker = match self {
            Process::Running { worker, .. } => worker,
            Process::Missing(reason) => return Err(reason.clone().into()),
            Process::Absent => return Err("LLVM is not there".to_owned().into()),
        };
        match worker.compile(spirv, request, limit) {
            Ok(compiled) => match self {
                Process::Running { libraries, .. } => Ok((compiled, libraries.as_deref())),
                _ => Ok((compiled, None)),
            },
            Err(error) => {
                // A process that has said no can be asked again, and no other.
                if !matches!(error, WorkerError::Failed { .. }) {
                    self.end();
                }
                Err(NotMade {
                    reason: chain(&error),
                    is_lost: matches!(error, WorkerError::Died { .. } | WorkerError::TimedOut { .. }),
                })
            }
        }
    }

    /// Whether it is there, and has answered.
    fn is_there(&self) -> bool {
        matches!(self, Process::Running { .. })
    }

    fn end(&mut self) {
        if let Process::Running { worker, .. } = std::mem::replace(self, Process::Absent) {
            worker.end();
        }
    }
}

static SERVICE: AtomicPtr<Service> = AtomicPtr::new(null_mut());
static GENERATION: AtomicU64 = AtomicU64::new(1);

/// Whether the thread has, or may have, locks that other threads use; the process isn't forked meanwhile, since nobody would
/// open them in the child.
static BUSY: AtomicBool = AtomicBool::new(false);

/// As long as the thread is busy, or a fork is under way.
pub(super) struct Busy;

impl Busy {
    pub(super) fn begin() -> Busy {
        while BUSY.swap(true, Ordering::Acquire) {
            // Loading code takes microseconds.
            std::thread::sleep(Duration::from_micros(50));
        }
        Busy
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        BUSY.store(false, Ordering::Release);
    }
}

extern "C" fn before_fork() {
    std::mem::forget(Busy::begin());
}

extern "C" fn behind_fork() {
    drop(Busy);
}

/// In a process that was forked off: the jobs and the thread are the parent's, and so is the worker, which ends when
/// nobody holds its pipes.
#[cfg_attr(not(unix), expect(dead_code, reason = "there is no fork"))]
extern "C" fn forget() {
    SERVICE.store(null_mut(), Ordering::Relaxed);
    GENERATION.fetch_add(1, Ordering::Relaxed);
    behind_fork();
}

#[expect(unsafe_code, reason = "the service is made once and never goes")]
fn service() -> &'static Service {
    let found = SERVICE.load(Ordering::Acquire);
    if !found.is_null() {
        // SAFETY: it is one that was leaked below.
        return unsafe { &*found };
    }
    static WATCHED: AtomicBool = AtomicBool::new(false);
    if !WATCHED.swap(true, Ordering::Relaxed) {
        pool::around_fork(Some(before_fork), Some(behind_fork), forget);
    }
    let new = Box::into_raw(Box::<Service>::default());
    match SERVICE.compare_exchange(null_mut(), new, Ordering::AcqRel, Ordering::Acquire) {
        // SAFETY: it is never freed from here on.
        Ok(_) => unsafe { &*new },
        Err(other) => {
            // SAFETY: just made, and nobody has seen it; the other one is never freed.
            unsafe {
                drop(Box::from_raw(new));
                &*other
            }
        }
    }
}
