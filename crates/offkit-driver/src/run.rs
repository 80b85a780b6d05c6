//! Carrying out a plan: independent steps at the same time, their messages one after the other.

mod clang;
mod own;

use std::ffi::{OsStr, OsString};
use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitStatus;
use std::sync::{Condvar, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use offkit_host::files::{FileError, ReplacedInput};
use offkit_link::device_link::{LinkError, Llvm};
use offkit_link::wrap::WrapError;

use crate::Report;
use crate::messages::Messages;
use crate::plan::{Action, Plan, Step};

/// How a plan is carried out.
#[derive(Clone, Debug)]
pub struct RunOptions {
    /// How many steps may run at a time; at least one does.
    pub jobs: usize,
    /// Whether to report each command before its messages.
    pub verbose: bool,
    /// A folder for the arguments of commands that are too long for the system.
    pub folder: PathBuf,
}

/// A plan was not carried out to its end.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RunError {
    /// clang could not be started.
    #[error("cannot start `{program}`")]
    Start {
        /// The program.
        program: String,
        /// The system's reason.
        source: io::Error,
    },
    /// The arguments are too long for the system, and cannot be written to a file either.
    #[error("cannot write the arguments of `{program}` to `{}`", .path.display())]
    Arguments {
        /// The program.
        program: String,
        /// The file.
        path: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
    /// clang failed, and has said why.
    #[error("`{program}` failed ({status})")]
    Failed {
        /// The program.
        program: String,
        /// How it ended.
        status: ExitStatus,
    },
    /// Device code cannot be linked, or marked before that.
    #[error("{error}")]
    Link {
        /// Why.
        #[source]
        error: Box<LinkError>,
        /// Whether the code is for a program, as opposed to a file by itself.
        is_program: bool,
    },
    /// The images cannot be registered.
    #[error(transparent)]
    Wrap(#[from] WrapError),
    /// A container cannot be written.
    #[error(transparent)]
    Object(#[from] offkit_object::Error),
    /// A file cannot be read or written.
    #[error(transparent)]
    File(#[from] FileError),
    /// A file would be read and written.
    #[error(transparent)]
    Replaced(#[from] ReplacedInput),
}

/// What there is to say of a step.
#[derive(Debug, Default)]
struct Said {
    /// clang's messages.
    messages: Vec<u8>,
    /// What the user should know of a link.
    warnings: Vec<String>,
}

struct Progress<'a> {
    /// What became of each step; `None` while it has not ended.
    ended: Vec<Option<Result<(), RunError>>>,
    started: Vec<bool>,
    failed: bool,
    /// How long each step took.
    times: Vec<Duration>,
    messages: Messages,
    report: &'a mut dyn Report,
}

/// Stops the other threads where its own panics: they would wait for ever for the step that it was at.
struct StopOnPanic<'a, 'r> {
    progress: &'a Mutex<Progress<'r>>,
    changed: &'a Condvar,
}

impl Drop for StopOnPanic<'_, '_> {
    fn drop(&mut self) {
        if thread::panicking() {
            self.progress
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .failed = true;
            self.changed.notify_all();
        }
    }
}

impl Plan {
    /// Does the steps, each after those it needs. Once one has failed no other is started.
    ///
    /// clang runs as a process of its own; all else is done here, with one worker for all steps.
    ///
    /// # Errors
    ///
    /// The failure of the first step, in the plan's order, that failed.
    pub fn run(&self, options: &RunOptions, report: &mut dyn Report) -> Result<Vec<StepTime>, RunError> {
        let progress = Mutex::new(Progress {
            ended: self.steps.iter().map(|_| None).collect(),
            started: vec![false; self.steps.len()],
            failed: false,
            times: vec![Duration::ZERO; self.steps.len()],
            messages: Messages::default(),
            report,
        });
        let changed = Condvar::new();
        let mut llvm = Llvm::default();
        // What is to be marked is compiled first: the worker starts meanwhile. Whether a link needs it is seen when its
        // inputs are read.
        if self
            .steps
            .iter()
            .any(|step| matches!(step.action, Action::Mark(_)))
        {
            llvm.start();
        }
        let llvm = Mutex::new(llvm);
        let work = || {
            let _stop = StopOnPanic {
                progress: &progress,
                changed: &changed,
            };
            let mut state = progress.lock().unwrap_or_else(PoisonError::into_inner);
            loop {
                let all_started = state.started.iter().all(|&started| started);
                if state.failed || all_started {
                    return;
                }
                let ready = self.steps.iter().enumerate().position(|(number, step)| {
                    let is_done = |&needed: &usize| matches!(state.ended.get(needed), Some(Some(Ok(()))));
                    !state.started[number] && step.needs.iter().all(is_done)
                });
                let Some(number) = ready else {
                    // Steps need earlier ones alone, so that as long as some are left one is ready or running:
                    // somebody will wake this.
                    state = changed.wait(state).unwrap_or_else(PoisonError::into_inner);
                    continue;
                };
                state.started[number] = true;
                drop(state);
                let start = Instant::now();
                let mut said = Said::default();
                let result = self.steps[number].run(number, options, &llvm, &mut said);
                let time = start.elapsed();
                // What there is to say is said under the lock, so that messages of steps don't mix.
                let mut guard = progress.lock().unwrap_or_else(PoisonError::into_inner);
                let progress = &mut *guard;
                progress.times[number] = time;
                if options.verbose {
                    progress.report.command(&self.line(&self.steps[number]));
                }
                let news = progress.messages.news(said.messages);
                if !news.is_empty() {
                    progress.report.messages(&news);
                }
                for warning in &said.warnings {
                    progress.report.warning(warning);
                }
                progress.failed |= result.is_err();
                progress.ended[number] = Some(result);
                state = guard;
                changed.notify_all();
            }
        };
        thread::scope(|scope| {
            // `clamp` panics where its upper bound is below the lower one, as it would be without
            // steps.
            for _ in 1..options.jobs.clamp(1, self.steps.len().max(1)) {
                scope.spawn(work);
            }
            work();
        });
        let progress = progress.into_inner().unwrap_or_else(PoisonError::into_inner);
        progress.ended.into_iter().flatten().collect::<Result<(), _>>()?;
        let times = self.steps.iter().zip(progress.times);
        Ok(times
            .map(|(step, time)| StepTime {
                name: self.name(step),
                time,
            })
            .collect())
    }

    /// What people call a step.
    fn name(&self, step: &Step) -> String {
        let words = step.action.words(&self.offkit);
        let word = |number: usize| words.get(number).map(OsString::as_os_str);
        let value = |option: &str| {
            let at = words.iter().position(|word| word == option)?;
            word(at + 1)
        };
        let program = word(0).map(Path::new).and_then(Path::file_name);
        let detail = match (&step.action, value("-c")) {
            (Action::Clang(_), Some(source)) => Some(source),
            (Action::Clang(_), None) => Some("link".as_ref()),
            _ => word(1),
        };
        let output = value("-o").map(Path::new).and_then(Path::file_name);
        let arrow = output.map(|_| OsStr::new("→"));
        let words = [program, detail, arrow, output].into_iter().flatten();
        let words: Vec<_> = words.map(|word| word.to_string_lossy()).collect();
        words.join(" ")
    }
}

/// How long a step took.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StepTime {
    /// What people call the step: the program, its verb or the source that it compiles, and what it makes.
    pub name: String,
    /// From its start to its end.
    pub time: Duration,
}

impl Step {
    /// Does it, and puts down what there is to say.
    fn run(
        &self,
        number: usize,
        options: &RunOptions,
        llvm: &Mutex<Llvm<'_>>,
        said: &mut Said,
    ) -> Result<(), RunError> {
        match &self.action {
            Action::Clang(clang) => clang.run(
                &options.folder.join(format!("arguments-{number}")),
                &mut said.messages,
            ),
            Action::Mark(mark) => mark.run(llvm),
            Action::Pack(pack) => pack.run(),
            Action::Link(link) => link.run(llvm, &mut said.warnings),
        }
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use crate::plan::Clang;

    struct Silence;

    impl Report for Silence {
        fn warning(&mut self, _: &dyn std::fmt::Display) {}
        fn command(&mut self, _: &str) {}
        fn messages(&mut self, _: &[u8]) {}
        fn time(&mut self, _: &StepTime) {}
    }

    fn words(words: &[&str], needs: &[usize]) -> Step {
        Step {
            action: Action::Clang(Clang {
                words: words.iter().map(OsString::from).collect(),
                is_clang: false,
                before_response_file: 0,
            }),
            needs: needs.to_vec(),
        }
    }

    fn step(script: &str, needs: &[usize]) -> Step {
        words(&["sh", "-c", script], needs)
    }

    fn run(steps: Vec<Step>, jobs: usize) -> Result<(), RunError> {
        let options = RunOptions {
            jobs,
            verbose: false,
            folder: std::env::temp_dir(),
        };
        let plan = Plan {
            steps,
            ..Plan::default()
        };
        plan.run(&options, &mut Silence).map(drop)
    }

    #[test]
    fn steps_wait_for_those_they_need() {
        for jobs in [1, 4] {
            let folder = tempfile::tempdir().expect("a folder");
            let file = |name: &str| folder.path().join(name).display().to_string();
            let steps = vec![
                step(&format!("sleep 0.05; echo 1 > {}", file("a")), &[]),
                step(&format!("echo 2 > {}", file("b")), &[]),
                step(
                    &format!("cat {} {} > {}", file("a"), file("b"), file("c")),
                    &[0, 1],
                ),
            ];
            run(steps, jobs).expect("all succeed");
            assert_eq!(
                std::fs::read_to_string(file("c")).expect("the last ran"),
                "1\n2\n"
            );
        }
    }

    #[test]
    fn the_first_failure_is_told_and_stops_the_rest() {
        let folder = tempfile::tempdir().expect("a folder");
        let never = folder.path().join("never").display().to_string();
        let steps = vec![step("exit 3", &[]), step(&format!("echo > {never}"), &[0])];
        let error = run(steps, 2).expect_err("the first step fails");
        assert!(
            matches!(error, RunError::Failed { status, .. } if status.code() == Some(3)),
            "{error}"
        );
        assert!(!folder.path().join("never").exists());
        let error =
            run(vec![words(&["/nonexistent/program"], &[])], 1).expect_err("there is no such program");
        assert!(error.to_string().contains("/nonexistent/program"), "{error}");
    }

    /// Nobody can be told anything.
    struct Broken;

    impl Report for Broken {
        fn warning(&mut self, _: &dyn std::fmt::Display) {}
        fn command(&mut self, _: &str) {}
        fn messages(&mut self, _: &[u8]) {
            panic!("a broken report");
        }
        fn time(&mut self, _: &StepTime) {}
    }

    #[test]
    fn a_panic_is_not_waited_for() {
        let plan = Plan {
            steps: vec![step("echo said >&2", &[]), step("true", &[0])],
            ..Plan::default()
        };
        let options = RunOptions {
            jobs: 2,
            verbose: false,
            folder: std::env::temp_dir(),
        };
        let run = || plan.run(&options, &mut Broken).map(drop);
        std::panic::catch_unwind(run).expect_err("the panic comes through");
    }
}
