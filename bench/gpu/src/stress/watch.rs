//! Ends a run in which a thread hangs, as nothing else would.

use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::sync::{Mutex, MutexGuard};
use std::time::{Duration, Instant};

/// What the threads of a run are at.
pub(super) struct Watch {
    /// Of each thread the seed of its scene, and since when.
    scenes: Mutex<Vec<Option<(u64, Instant)>>>,
    /// The longest that a scene may take.
    patience: Duration,
}

impl Watch {
    pub(super) fn new(threads: usize, patience: Duration) -> Self {
        Self {
            scenes: Mutex::new(vec![None; threads]),
            patience,
        }
    }

    fn scenes(&self) -> MutexGuard<'_, Vec<Option<(u64, Instant)>>> {
        self.scenes.lock().expect("no thread panics")
    }

    /// A thread begins a scene.
    pub(super) fn begins(&self, thread: usize, seed: u64) {
        self.scenes()[thread] = Some((seed, Instant::now()));
    }

    /// A thread is done with its scene.
    pub(super) fn ends(&self, thread: usize) {
        self.scenes()[thread] = None;
    }

    /// What every thread is at, if one of them hangs.
    fn hanging(&self) -> Option<String> {
        let scenes = self.scenes();
        let scenes: Vec<_> = (0..).zip(scenes.iter()).collect();
        let hangs = |since: &Instant| since.elapsed() > self.patience;
        let any = scenes
            .iter()
            .any(|(_, scene)| scene.as_ref().is_some_and(|(_, since)| hangs(since)));
        any.then(|| {
            let lines = scenes.iter().map(|(thread, scene)| match scene {
                Some((seed, since)) => format!(
                    "thread {thread}: seed {seed}, for {} s",
                    since.elapsed().as_secs()
                ),
                None => format!("thread {thread}: between two scenes"),
            });
            lines.collect::<Vec<_>>().join("\n")
        })
    }

    /// Looks until the sender of `over` is gone, and ends the process where a thread hangs.
    #[expect(clippy::print_stderr, reason = "the last that is heard of this process")]
    pub(super) fn until(&self, over: &Receiver<()>) {
        while over.recv_timeout(Duration::from_millis(500)) == Err(RecvTimeoutError::Timeout) {
            if let Some(what) = self.hanging() {
                eprintln!(
                    "nothing has come of a scene for {} s:\n{what}",
                    self.patience.as_secs()
                );
                // What is called at a process's end may wait for the driver, as the thread does.
                std::process::abort();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_hangs_is_named_and_so_is_what_the_others_do() {
        let watch = Watch::new(3, Duration::ZERO);
        watch.begins(0, 7);
        watch.begins(2, 9);
        watch.ends(2);
        std::thread::sleep(Duration::from_millis(1));
        let what = watch.hanging().expect("one hangs");
        assert!(
            what.starts_with("thread 0: seed 7, for 0 s\nthread 1: between"),
            "{what}"
        );
        watch.ends(0);
        assert_eq!(watch.hanging(), None);
        let patient = Watch::new(1, Duration::from_secs(1000));
        patient.begins(0, 7);
        assert_eq!(patient.hanging(), None);
    }
}
