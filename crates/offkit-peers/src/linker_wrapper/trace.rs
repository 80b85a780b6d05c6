//! How long each step took, in a file for Chrome's trace viewers: the format of clang's `-ftime-trace`.

use std::path::PathBuf;
use std::sync::Mutex;
use std::time::{Duration, Instant, SystemTime};

use serde_json::{Value, json};

use offkit_host::files;

use crate::failure::File;

/// The default: write steps of half a millisecond and more.
const GRANULARITY: Duration = Duration::from_micros(500);

/// The steps so far.
pub(super) struct Trace {
    file: Option<PathBuf>,
    /// Steps that took less are left out.
    granularity: Duration,
    start: Instant,
    started: SystemTime,
    events: Mutex<Vec<Value>>,
}

impl Trace {
    /// For that file, if there is to be one.
    pub(super) fn new(file: Option<PathBuf>, granularity: Option<Duration>) -> Self {
        Self {
            file,
            granularity: granularity.unwrap_or(GRANULARITY),
            start: Instant::now(),
            started: SystemTime::now(),
            events: Mutex::new(Vec::new()),
        }
    }

    /// Does something, and notes when and for how long.
    pub(super) fn time<T>(&self, name: &str, detail: &str, work: impl FnOnce() -> T) -> T {
        let start = Instant::now();
        let result = work();
        self.note(name, detail, start, start.elapsed());
        result
    }

    /// Notes a step that was done.
    pub(super) fn note(&self, name: &str, detail: &str, start: Instant, took: Duration) {
        if self.file.is_none() || took < self.granularity {
            return;
        }
        // `X` is an event with its duration: one object, where a begin and an end would have to
        // find each other.
        let mut event = json!({
            "pid": std::process::id(),
            "tid": thread_number(),
            "ph": "X",
            "ts": micros(start.duration_since(self.start)),
            "dur": micros(took),
            "name": name,
        });
        if !detail.is_empty() {
            event["args"] = json!({ "detail": detail });
        }
        self.lock().push(event);
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<Value>> {
        self.events.lock().unwrap_or_else(|error| error.into_inner())
    }

    /// Writes the file, if there is to be one.
    pub(super) fn write(&self, program: &str) -> Result<(), File> {
        let Some(file) = &self.file else { return Ok(()) };
        let mut events = std::mem::take(&mut *self.lock());
        // What the viewers call the process.
        events.push(json!({
            "pid": std::process::id(),
            "tid": 0,
            "ph": "M",
            "ts": 0,
            "cat": "",
            "name": "process_name",
            "args": { "name": program },
        }));
        let began = self.started.duration_since(SystemTime::UNIX_EPOCH);
        let trace = json!({
            "traceEvents": events,
            "beginningOfTime": began.map(micros).unwrap_or_default(),
        });
        files::write(file, &[trace.to_string().as_bytes()]).map_err(File)
    }
}

fn micros(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
}

/// A number for the thread: viewers draw each in a row of its own.
fn thread_number() -> u64 {
    use std::sync::atomic::{AtomicU64, Ordering};
    static NEXT: AtomicU64 = AtomicU64::new(1);
    thread_local! {
        static NUMBER: u64 = NEXT.fetch_add(1, Ordering::Relaxed);
    }
    NUMBER.with(|number| *number)
}
