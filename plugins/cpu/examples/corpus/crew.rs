//! Processes that examine modules, so that what crashes or never ends costs one kernel.

use std::io::{self, BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::examine::examine;
use crate::modules::Module;
use crate::record::{Code, Record, Run, Verdict};

/// The argument that makes this program one of the crew.
pub(crate) const MEMBER: &str = "--member";

/// How long a step may take.
const LIMIT: Duration = Duration::from_secs(150);

/// A module to examine.
#[derive(Debug, Serialize, Deserialize)]
struct Task {
    digest: String,
    path: std::path::PathBuf,
    seed: Option<u64>,
}

/// What a member says.
#[derive(Debug, Serialize, Deserialize)]
enum Said {
    /// It is at a kernel, and does something.
    At(String, String),
    /// It is done with a module.
    Done(Vec<Record>),
}

/// Examines the modules that standard input names.
pub(crate) fn member(compiler: &Path) -> io::Result<()> {
    offkit_plugin_cpu::compile_with(compiler.to_owned());
    let say = |said: &Said| {
        let mut out = io::stdout().lock();
        writeln!(out, "{}", serde_json::to_string(said)?)?;
        out.flush()
    };
    for line in io::stdin().lock().lines() {
        let task: Task = serde_json::from_str(&line?)?;
        let spirv = std::fs::read(&task.path)?;
        let tell = |kernel: &str, what: &str| {
            _ = say(&Said::At(kernel.to_owned(), what.to_owned()));
        };
        say(&Said::Done(examine(&task.digest, &spirv, task.seed, &tell)))?;
    }
    Ok(())
}

/// A process of the crew, as the one that leads it has it.
pub(crate) struct Member<'c> {
    compiler: &'c Path,
    process: Option<Process>,
}

struct Process {
    child: Child,
    tasks: ChildStdin,
    lines: Receiver<String>,
}

impl Member<'_> {
    /// One that is started when there is something to do.
    pub(crate) fn new(compiler: &Path) -> Member<'_> {
        Member {
            compiler,
            process: None,
        }
    }

    /// Has a module examined.
    pub(crate) fn examine(&mut self, module: &Module, seed: Option<u64>) -> io::Result<Vec<Record>> {
        let mut process = match self.process.take() {
            Some(process) => process,
            None => Process::start(self.compiler)?,
        };
        let task = Task {
            digest: module.digest.clone(),
            path: module.path.clone(),
            seed,
        };
        writeln!(process.tasks, "{}", serde_json::to_string(&task)?)?;
        let (mut kernel, mut doing) = (String::new(), "starting".to_owned());
        let end = loop {
            match process.lines.recv_timeout(LIMIT) {
                Ok(line) => match serde_json::from_str(&line)? {
                    Said::At(at, what) => (kernel, doing) = (at, what),
                    Said::Done(records) => {
                        self.process = Some(process);
                        return Ok(records);
                    }
                },
                Err(RecvTimeoutError::Timeout) => {
                    process.child.kill()?;
                    process.child.wait()?;
                    break format!("did not end within {} s", LIMIT.as_secs());
                }
                Err(RecvTimeoutError::Disconnected) => break process.child.wait()?.to_string(),
            }
        };
        let what = format!("while {doing}: {end}");
        Ok(vec![Record {
            module: module.digest.clone(),
            kernel,
            code: if doing.starts_with("running") {
                Code::Vector
            } else {
                Code::None
            },
            why: what.clone(),
            milliseconds: 0,
            run: Some(Run {
                verdict: Verdict::Crashed,
                what,
                wrote: false,
                draw: 0,
            }),
        }])
    }
}

impl Process {
    fn start(compiler: &Path) -> io::Result<Process> {
        let mut child = Command::new(std::env::current_exe()?)
            .arg(MEMBER)
            .arg(compiler)
            // One thread each, so that what meets in memory does so in the same order; nothing kept from other runs.
            .env(offkit_plugin_cpu::THREADS_VARIABLE, "1")
            .env(offkit_cache::SWITCH_VARIABLE, "0")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let missing = || io::Error::other("a pipe is missing");
        let tasks = child.stdin.take().ok_or_else(missing)?;
        let out = child.stdout.take().ok_or_else(missing)?;
        let (send, lines) = channel();
        std::thread::spawn(move || {
            for line in BufReader::new(out).lines().map_while(Result::ok) {
                if send.send(line).is_err() {
                    return;
                }
            }
        });
        Ok(Process { child, tasks, lines })
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        _ = self.child.kill();
        _ = self.child.wait();
    }
}
