//! Carrying out a plan: independent commands at the same time, their messages one after the other.

use std::ffi::{OsStr, OsString};
use std::io::{self, IsTerminal, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::{Condvar, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use crate::messages::Messages;
use crate::plan::{Plan, Step};
use offkit_host::command_line;

/// How a plan is carried out.
#[derive(Clone, Debug)]
pub struct RunOptions {
    /// How many commands may run at a time; at least one does.
    pub jobs: usize,
    /// Whether to print each command to standard error before it runs.
    pub verbose: bool,
    /// A folder for the arguments of commands that are too long for the system.
    pub folder: PathBuf,
}

/// A plan was not carried out to its end.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// A command could not be started.
    #[error("cannot start `{program}`")]
    Start {
        /// The program.
        program: String,
        /// The system's reason.
        source: io::Error,
    },
    /// A command failed, and has said why.
    #[error("`{program}` failed ({status})")]
    Failed {
        /// The program.
        program: String,
        /// How it ended.
        status: ExitStatus,
    },
}

/// What registers device code, in a library of whoever's runtime it is.
const REGISTER: &str = "__sycl_register_lib";

/// What to do where it is missing.
const RUNTIME_HINT: &str =
    "hint: a SYCL runtime registers the program's device code: link one, with `-lsycl` for example\n";

#[derive(Default)]
struct Progress {
    /// What became of each step; `None` while it has not ended.
    ended: Vec<Option<Result<(), RunError>>>,
    started: Vec<bool>,
    failed: bool,
    /// How long each step took.
    times: Vec<Duration>,
    /// What the steps have said: host and device say the same of a source.
    messages: Messages,
}

impl Plan {
    /// Runs the commands, each after those it needs. Once one has failed no other is started.
    ///
    /// # Errors
    ///
    /// The failure of the first command, in the plan's order, that failed.
    pub fn run(&self, options: &RunOptions) -> Result<Vec<StepTime>, RunError> {
        let progress = Mutex::new(Progress {
            ended: self.steps.iter().map(|_| None).collect(),
            started: vec![false; self.steps.len()],
            times: vec![Duration::ZERO; self.steps.len()],
            ..Progress::default()
        });
        let changed = Condvar::new();
        let work = || {
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
                    state = changed.wait(state).unwrap_or_else(PoisonError::into_inner);
                    continue;
                };
                state.started[number] = true;
                drop(state);
                let start = Instant::now();
                let (message, result) = self.steps[number].run(number, &self.origins, options);
                let time = start.elapsed();
                state = progress.lock().unwrap_or_else(PoisonError::into_inner);
                state.times[number] = time;
                // Nobody may be listening.
                let _ = io::stderr().lock().write_all(&state.messages.news(message));
                state.failed |= result.is_err();
                state.ended[number] = Some(result);
                changed.notify_all();
            }
        };
        thread::scope(|scope| {
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
                name: step.name(),
                time,
            })
            .collect())
    }
}

/// How long a command took.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StepTime {
    /// What people call the command: the program, its verb or the source that it compiles, and what it makes.
    pub name: String,
    /// From its start to its end.
    pub time: Duration,
}

impl Step {
    /// Runs the command; what there is to say, and whether it succeeded.
    fn run(
        &self,
        number: usize,
        origins: &[(PathBuf, PathBuf)],
        options: &RunOptions,
    ) -> (Vec<u8>, Result<(), RunError>) {
        let mut message = Vec::new();
        let result = self.run_saying(number, origins, options, &mut message);
        (message, result)
    }

    fn run_saying(
        &self,
        number: usize,
        origins: &[(PathBuf, PathBuf)],
        options: &RunOptions,
        message: &mut Vec<u8>,
    ) -> Result<(), RunError> {
        let [program, arguments @ ..] = self.words.as_slice() else {
            return Ok(());
        };
        let failed_to_start = |source| RunError::Start {
            program: program.to_string_lossy().into_owned(),
            source,
        };
        if options.verbose {
            message.extend_from_slice(self.line().as_bytes());
            message.push(b'\n');
        }
        let mut command = Command::new(program);
        let length: usize = arguments.iter().map(|argument| argument.len() + 1).sum();
        if let Some(before) = self.before_response_file
            && length > command_line::LONGEST_COMMAND
        {
            let path = options.folder.join(format!("arguments-{number}"));
            // What chooses how the rest is read comes first and stays outside.
            let (first, rest) = arguments.split_at(before.min(arguments.len()));
            std::fs::write(&path, command_line::response_file(rest)).map_err(failed_to_start)?;
            let mut word = OsString::from("@");
            word.push(&path);
            command.args(first).arg(word);
        } else {
            command.args(arguments);
        }
        // clang looks for a terminal itself, but what it writes goes through a pipe.
        if self.is_clang
            && io::stderr().is_terminal()
            && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
            && !arguments.iter().any(|word| is_about_colors(word))
        {
            command.arg("-fcolor-diagnostics");
        }
        let mut child = command.stderr(Stdio::piped()).spawn().map_err(failed_to_start)?;
        if let Some(mut stderr) = child.stderr.take() {
            let mut said = Vec::new();
            // What cannot be read was not said.
            let _ = stderr.read_to_end(&mut said);
            // What a step writes is known by its own name.
            let read = origins
                .iter()
                .filter(|(made, _)| Some(made.as_os_str()) != self.output());
            message.extend(with_origins(said, read));
        }
        let status = child.wait().map_err(failed_to_start)?;
        let needs_runtime = |said: &[u8]| {
            let said = String::from_utf8_lossy(said);
            said.contains("undefined") && said.contains(REGISTER)
        };
        if !status.success() && needs_runtime(message) {
            message.extend_from_slice(RUNTIME_HINT.as_bytes());
        }
        if status.success() {
            Ok(())
        } else {
            Err(RunError::Failed {
                program: program.to_string_lossy().into_owned(),
                status,
            })
        }
    }
}

impl Step {
    /// The word behind an option.
    fn value(&self, option: &str) -> Option<&OsStr> {
        let at = self.words.iter().position(|word| word == option)?;
        self.words.get(at + 1).map(OsString::as_os_str)
    }

    /// The file that it writes.
    fn output(&self) -> Option<&OsStr> {
        self.value("-o")
    }

    fn name(&self) -> String {
        let word = |number: usize| self.words.get(number).map(OsString::as_os_str);
        let program = word(0).map(Path::new).and_then(Path::file_name);
        let detail = match (self.is_clang, self.value("-c")) {
            (false, _) => word(1),
            (true, Some(source)) => Some(source),
            (true, None) => Some("link".as_ref()),
        };
        let output = self.output().map(Path::new).and_then(Path::file_name);
        let arrow = output.map(|_| OsStr::new("→"));
        let words = [program, detail, arrow, output].into_iter().flatten();
        let words: Vec<_> = words.map(|word| word.to_string_lossy()).collect();
        words.join(" ")
    }
}

/// Whether an option says already whether clang's messages are to have colours.
fn is_about_colors(word: &OsStr) -> bool {
    let name = word.to_str().and_then(|word| word.strip_prefix("-f"));
    name.is_some_and(|name| {
        let (name, _) = name.split_once('=').unwrap_or((name, ""));
        matches!(
            name.strip_prefix("no-").unwrap_or(name),
            "color-diagnostics" | "diagnostics-color"
        )
    })
}

/// Messages that name what the user has instead of temporary files.
fn with_origins<'a>(said: Vec<u8>, origins: impl Iterator<Item = &'a (PathBuf, PathBuf)>) -> Vec<u8> {
    if said.is_empty() {
        return said;
    }
    let mut text = match String::from_utf8(said) {
        Ok(text) => text,
        Err(error) => return error.into_bytes(),
    };
    for (made, origin) in origins {
        if let Some(made) = made.to_str()
            && text.contains(made)
        {
            text = text.replace(made, &origin.to_string_lossy());
        }
    }
    text.into_bytes()
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    fn step(script: &str, needs: &[usize]) -> Step {
        Step {
            needs: needs.to_vec(),
            ..Step::new(["sh", "-c", script])
        }
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
        plan.run(&options).map(drop)
    }

    #[test]
    fn only_options_choose_colors() {
        for word in [
            "-fcolor-diagnostics",
            "-fno-color-diagnostics",
            "-fdiagnostics-color",
            "-fno-diagnostics-color",
            "-fdiagnostics-color=never",
        ] {
            assert!(is_about_colors(word.as_ref()), "{word}");
        }
        for word in ["colors.cpp", "-Icolor", "-fcolors", "-o", "color-diagnostics"] {
            assert!(!is_about_colors(word.as_ref()), "{word}");
        }
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
        let error = run(vec![Step::new(["/nonexistent/program"])], 1).expect_err("there is no such program");
        assert!(error.to_string().contains("/nonexistent/program"), "{error}");
    }
}
