//! The worker as seen from the program that uses it.

use std::env;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::thread::JoinHandle;

use crate::protocol::{
    EmitOptions, GeneratedPart, ModuleFile, PROTOCOL_VERSION, Part, Reply, Request, SplitOptions, SplitPart,
    SymbolNeed, WrittenPart,
};
use crate::summary::ModuleSummary;

/// The worker's file name.
pub const WORKER_PROGRAM: &str = "offkit-llvm-worker";

/// The environment variable that names the worker program, instead of the usual search.
pub const WORKER_VARIABLE: &str = "OFFKIT_LLVM_WORKER";

/// How much of what the worker printed to standard error is kept, from the end.
const KEPT_STDERR_BYTES: usize = 16 * 1024;

/// Why the worker could not do what was asked.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WorkerError {
    /// No worker program was found: offkit was installed without its LLVM part.
    #[error("this step needs LLVM, and the program `{WORKER_PROGRAM}` was not found (looked at {})", list(.searched))]
    NotFound {
        /// Where it was looked for.
        searched: Vec<PathBuf>,
    },
    /// The program is there, but the LLVM library it needs is not.
    #[error("this step needs LLVM 22, which is not installed: {message}")]
    LlvmMissing {
        /// What the system's loader said.
        message: String,
    },
    /// The program could not be started.
    #[error("cannot start `{}`", .program.display())]
    Start {
        /// The program.
        program: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
    /// The worker ended in the middle of a request: a fatal error or a crash inside LLVM.
    #[error("LLVM stopped while {activity} ({status}){}", indented(.stderr))]
    Died {
        /// What it was doing.
        activity: String,
        /// How the process ended.
        status: ExitStatus,
        /// The end of what it printed.
        stderr: String,
    },
    /// The worker is another build than this program.
    #[error("`{}` answers in another protocol: expected version {PROTOCOL_VERSION}, found {found}", .program.display())]
    Protocol {
        /// The program.
        program: PathBuf,
        /// What it answered.
        found: String,
    },
    /// The process that generated code for one part ended: a fatal error or a crash inside LLVM.
    #[error("LLVM stopped while generating code for {} ({status}){}", .roots.join(", "), indented(.stderr))]
    Crashed {
        /// The kernels and exported functions of the part.
        roots: Vec<String>,
        /// How the process ended.
        status: String,
        /// The end of what it printed.
        stderr: String,
        /// The part as bitcode, if it could be written.
        reproducer: Option<PathBuf>,
    },
    /// LLVM refused the request, with its reason.
    #[error("{message}")]
    Failed {
        /// LLVM's words.
        message: String,
    },
}

impl WorkerError {
    /// Whether the machine lacks something, as opposed to the input being wrong.
    pub fn is_missing_tool(&self) -> bool {
        matches!(
            self,
            Self::NotFound { .. } | Self::LlvmMissing { .. } | Self::Start { .. }
        )
    }
}

fn list(paths: &[PathBuf]) -> String {
    paths
        .iter()
        .map(|path| format!("`{}`", path.display()))
        .collect::<Vec<_>>()
        .join(", ")
}

fn indented(text: &str) -> String {
    text.lines().map(|line| format!("\n    {line}")).collect()
}

/// A running worker process.
///
/// Dropping it closes the worker's standard input and waits for its end.
#[derive(Debug)]
pub struct Worker {
    program: PathBuf,
    llvm_version: String,
    child: Child,
    // An `Option` so that `drop` can close the pipe before waiting.
    requests: Option<ChildStdin>,
    replies: BufReader<ChildStdout>,
    stderr: Option<JoinHandle<String>>,
}

impl Worker {
    /// Finds the worker program and starts it.
    ///
    /// It is the one that [`WORKER_VARIABLE`] names, else the one beside the running program, else
    /// the first on `PATH`.
    ///
    /// # Errors
    ///
    /// [`WorkerError::NotFound`], and the errors of [`Worker::start_program`].
    pub fn start() -> Result<Self, WorkerError> {
        Self::start_program(&locate()?)
    }

    /// Starts that program as the worker.
    ///
    /// # Errors
    ///
    /// [`WorkerError::Start`], [`WorkerError::LlvmMissing`], [`WorkerError::Protocol`], and
    /// [`WorkerError::Died`] if it ends at once.
    pub fn start_program(program: &Path) -> Result<Self, WorkerError> {
        tracing::debug!(program = %program.display(), "starting the LLVM worker");
        let start_error = |source| WorkerError::Start {
            program: program.to_owned(),
            source,
        };
        let mut child = Command::new(program)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(start_error)?;
        let missing_pipe = || start_error(io::Error::other("a pipe is missing"));
        let requests = child.stdin.take().ok_or_else(missing_pipe)?;
        let replies = BufReader::new(child.stdout.take().ok_or_else(missing_pipe)?);
        let stderr = child.stderr.take().ok_or_else(missing_pipe)?;
        let mut worker = Self {
            program: program.to_owned(),
            llvm_version: String::new(),
            child,
            requests: Some(requests),
            replies,
            stderr: Some(std::thread::spawn(move || keep_end(stderr))),
        };
        match worker.call(
            &Request::Hello {
                protocol: PROTOCOL_VERSION,
            },
            "starting",
        ) {
            Ok(Reply::Hello {
                protocol: PROTOCOL_VERSION,
                llvm,
            }) => {
                worker.llvm_version = llvm;
                Ok(worker)
            }
            Ok(other) => Err(worker.unexpected(&other)),
            // The loader's exit code for a missing shared library, and its words.
            Err(WorkerError::Died { status, stderr, .. })
                if status.code() == Some(127) || stderr.contains("error while loading shared libraries") =>
            {
                Err(WorkerError::LlvmMissing {
                    message: stderr.trim().to_owned(),
                })
            }
            // Whatever it is, it is no worker.
            Err(WorkerError::Died { status, stderr, .. }) => Err(start_error(io::Error::other(format!(
                "it ended at once ({status}) {}",
                stderr.trim()
            )))),
            Err(error) => Err(error),
        }
    }

    /// The version of LLVM behind the worker, `22.1.8`.
    pub fn llvm_version(&self) -> &str {
        &self.llvm_version
    }

    /// Marks the kernels and exported functions of a module, bitcode or text, with the source file they
    /// come from, and writes it as bitcode; see [`Request::Mark`].
    ///
    /// # Errors
    ///
    /// [`WorkerError::Failed`] with LLVM's words.
    pub fn mark(
        &mut self,
        input: &Path,
        output: &Path,
        module_id: &str,
        only_annotated: bool,
    ) -> Result<(), WorkerError> {
        let request = Request::Mark {
            input: input.to_owned(),
            output: output.to_owned(),
            module_id: module_id.to_owned(),
            only_annotated,
        };
        match self.call(&request, &format!("marking `{}`", input.display()))? {
            Reply::Done => Ok(()),
            other => Err(self.unexpected(&other)),
        }
    }

    /// Links modules, and of libraries what is needed, into one that the worker keeps. Returns what is in
    /// each input and in the linked module.
    ///
    /// # Errors
    ///
    /// [`WorkerError::Failed`] with LLVM's words and the names of the modules that are in each other's way.
    pub fn link(
        &mut self,
        inputs: &[ModuleFile],
        libraries: &[ModuleFile],
    ) -> Result<(Vec<ModuleSummary>, ModuleSummary), WorkerError> {
        let request = Request::Link {
            inputs: inputs.to_vec(),
            libraries: libraries.to_vec(),
        };
        let names = inputs.iter().chain(libraries).map(|file| file.name.as_str());
        let activity = format!("linking {}", names.collect::<Vec<_>>().join(", "));
        match self.call(&request, &activity)? {
            Reply::Linked { inputs, module } => Ok((inputs, module)),
            other => Err(self.unexpected(&other)),
        }
    }

    /// Writes the module that [`link`](Self::link) made as bitcode.
    ///
    /// # Errors
    ///
    /// [`WorkerError::Failed`] if the file cannot be written.
    pub fn save(&mut self, output: &Path) -> Result<(), WorkerError> {
        let request = Request::Save {
            output: output.to_owned(),
        };
        match self.call(&request, "writing bitcode")? {
            Reply::Done => Ok(()),
            other => Err(self.unexpected(&other)),
        }
    }

    /// The module that [`link`](Self::link) made in LLVM's text form.
    ///
    /// # Errors
    ///
    /// [`WorkerError::Failed`] if a function body cannot be read.
    pub fn print(&mut self) -> Result<String, WorkerError> {
        match self.call(&Request::Print, "printing a module")? {
            Reply::Text { text } => Ok(text),
            other => Err(self.unexpected(&other)),
        }
    }

    /// Takes parts out of the module that [`link`](Self::link) made and generates code for each.
    ///
    /// # Errors
    ///
    /// [`WorkerError::Failed`] and [`WorkerError::Crashed`] with LLVM's words.
    pub fn generate(
        &mut self,
        parts: &[Part],
        options: &EmitOptions,
        reproducers: &Path,
        keep: Option<&Path>,
    ) -> Result<Vec<GeneratedPart>, WorkerError> {
        let request = Request::Generate {
            parts: parts.to_vec(),
            options: options.clone(),
            reproducers: reproducers.to_owned(),
            keep: keep.map(Path::to_owned),
        };
        match self.call(&request, "generating code")? {
            Reply::Generated { parts } => Ok(parts),
            reply => Err(self.crash(reply, parts)),
        }
    }

    /// Who needs these symbols in the module that [`link`](Self::link) made.
    ///
    /// # Errors
    ///
    /// The worker is gone.
    pub fn needs(&mut self, symbols: &[String]) -> Result<Vec<SymbolNeed>, WorkerError> {
        let request = Request::Needs {
            symbols: symbols.to_vec(),
        };
        match self.call(&request, "looking for the users of symbols")? {
            Reply::Needs { needs } => Ok(needs),
            other => Err(self.unexpected(&other)),
        }
    }

    /// Reads a module as a whole, bitcode or text, writes it to `output` fit for [`Worker::split`], and
    /// describes it with bodies.
    ///
    /// # Errors
    ///
    /// [`WorkerError::Failed`] if it is neither bitcode nor text that LLVM 22 reads.
    pub fn prepare(&mut self, input: &Path, output: &Path) -> Result<ModuleSummary, WorkerError> {
        let activity = format!("reading `{}`", input.display());
        let request = Request::Prepare {
            input: input.to_owned(),
            output: output.to_owned(),
        };
        match self.call(&request, &activity)? {
            Reply::Summary { module } => Ok(module),
            other => Err(self.unexpected(&other)),
        }
    }

    /// Takes parts out of a module that [`Worker::prepare`] wrote, and writes each to a file.
    ///
    /// # Errors
    ///
    /// [`WorkerError::Failed`] and [`WorkerError::Died`] with LLVM's words.
    pub fn split(
        &mut self,
        input: &Path,
        parts: &[SplitPart],
        options: &SplitOptions,
    ) -> Result<Vec<WrittenPart>, WorkerError> {
        let request = Request::Split {
            input: input.to_owned(),
            parts: parts.to_vec(),
            options: options.clone(),
        };
        let activity = format!("splitting `{}`", options.name);
        match self.call(&request, &activity)? {
            Reply::Parts { parts } => Ok(parts),
            other => Err(self.unexpected(&other)),
        }
    }

    fn call(&mut self, request: &Request, activity: &str) -> Result<Reply, WorkerError> {
        let line = serde_json::to_string(request).map_err(|error| WorkerError::Failed {
            message: format!("cannot encode the request: {error}"),
        })?;
        let sent = match &mut self.requests {
            Some(pipe) => writeln!(pipe, "{line}").and_then(|()| pipe.flush()),
            None => Err(io::ErrorKind::BrokenPipe.into()),
        };
        let mut answer = String::new();
        // A worker that died leaves a broken pipe or an empty answer: either way its last words tell.
        if sent.is_err() || self.replies.read_line(&mut answer).unwrap_or(0) == 0 {
            return Err(self.death(activity));
        }
        match serde_json::from_str(&answer) {
            Ok(Reply::Failed { message }) => Err(WorkerError::Failed { message }),
            Ok(reply) => Ok(reply),
            Err(_) => Err(WorkerError::Protocol {
                program: self.program.clone(),
                found: answer.trim_end().chars().take(80).collect(),
            }),
        }
    }

    /// The error that tells of a part whose process ended.
    fn crash(&self, reply: Reply, parts: &[Part]) -> WorkerError {
        match reply {
            Reply::Crashed {
                part,
                status,
                stderr,
                reproducer,
            } => WorkerError::Crashed {
                roots: parts.get(part).map(|part| part.roots.clone()).unwrap_or_default(),
                status,
                stderr,
                reproducer,
            },
            other => self.unexpected(&other),
        }
    }

    fn unexpected(&self, reply: &Reply) -> WorkerError {
        WorkerError::Protocol {
            program: self.program.clone(),
            found: format!("{reply:?}").chars().take(80).collect(),
        }
    }

    fn death(&mut self, activity: &str) -> WorkerError {
        self.requests = None;
        let status = match self.child.wait() {
            Ok(status) => status,
            Err(source) => {
                return WorkerError::Start {
                    program: self.program.clone(),
                    source,
                };
            }
        };
        let stderr = self
            .stderr
            .take()
            .and_then(|thread| thread.join().ok())
            .unwrap_or_default();
        WorkerError::Died {
            activity: activity.to_owned(),
            status,
            stderr,
        }
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        self.requests = None;
        let _ = self.child.wait();
    }
}

fn locate() -> Result<PathBuf, WorkerError> {
    if let Some(named) = env::var_os(WORKER_VARIABLE) {
        return Ok(named.into());
    }
    let mut searched = Vec::new();
    let beside = env::current_exe()
        .ok()
        .and_then(|exe| Some(exe.parent()?.to_owned()));
    let path = env::var_os("PATH").unwrap_or_default();
    for folder in beside.into_iter().chain(env::split_paths(&path)) {
        let candidate = folder.join(WORKER_PROGRAM);
        if candidate.is_file() {
            return Ok(candidate);
        }
        searched.push(candidate);
    }
    Err(WorkerError::NotFound { searched })
}

/// Reads to the end and returns the last part, so that a flood of messages cannot fill the memory.
fn keep_end(mut pipe: impl Read) -> String {
    let mut kept = Vec::new();
    let mut chunk = [0; 4096];
    while let Ok(count @ 1..) = pipe.read(&mut chunk) {
        kept.extend_from_slice(&chunk[..count]);
        let surplus = kept.len().saturating_sub(KEPT_STDERR_BYTES);
        kept.drain(..surplus);
    }
    String::from_utf8_lossy(&kept).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A program made of a shell script.
    ///
    /// Another process writes it: while this one has a file open for writing, a test beside this one may
    /// fork, and a file that any process has open for writing cannot be executed.
    #[cfg(unix)]
    fn script(body: &str) -> (tempfile::TempDir, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("worker");
        let write = r#"printf '#!/bin/sh\n%s\n' "$1" > "$0" && chmod 755 "$0""#;
        let written = Command::new("sh")
            .arg("-c")
            .arg(write)
            .arg(&path)
            .arg(body)
            .status()
            .unwrap();
        assert!(written.success());
        (folder, path)
    }

    const HELLO: &str = r#"read line; echo '{"reply":"hello","protocol":3,"llvm":"22.1.8"}'"#;

    #[test]
    #[cfg(unix)]
    fn a_fatal_error_in_llvm_becomes_an_error_with_its_words() {
        let (_folder, program) = script(&format!(
            "{HELLO}\nread line\necho 'LLVM ERROR: no such type' >&2\nexit 1"
        ));
        let mut worker = Worker::start_program(&program).unwrap();
        assert_eq!(worker.llvm_version(), "22.1.8");
        let error = worker
            .prepare("kernel.bc".as_ref(), "out.bc".as_ref())
            .unwrap_err();
        let text = error.to_string();
        assert!(text.contains("LLVM ERROR: no such type"), "{text}");
        assert!(text.contains("reading `kernel.bc`"), "{text}");
        // Asking again after its death is an error too, not a hang.
        assert!(matches!(
            worker.prepare("kernel.bc".as_ref(), "out.bc".as_ref()),
            Err(WorkerError::Died { .. })
        ));
    }

    #[test]
    #[cfg(unix)]
    fn a_missing_library_is_told_from_a_crash() {
        let (_folder, program) = script(
            "echo 'worker: error while loading shared libraries: libLLVM.so.22.1: cannot open' >&2\nexit 127",
        );
        let error = Worker::start_program(&program).unwrap_err();
        assert!(error.is_missing_tool(), "{error}");
        assert!(error.to_string().contains("libLLVM.so.22.1"), "{error}");
    }

    #[test]
    #[cfg(unix)]
    fn a_program_that_ends_at_once_is_no_worker() {
        let error = Worker::start_program("/bin/true".as_ref()).unwrap_err();
        assert!(error.is_missing_tool(), "{error}");
    }

    #[test]
    #[cfg(unix)]
    fn another_build_is_refused() {
        let (_folder, program) = script(r#"read line; echo '{"reply":"hello","protocol":7,"llvm":"30"}'"#);
        assert!(matches!(
            Worker::start_program(&program),
            Err(WorkerError::Protocol { .. })
        ));
        let (_folder, program) = script("read line; echo hello");
        assert!(matches!(
            Worker::start_program(&program),
            Err(WorkerError::Protocol { .. })
        ));
    }

    #[test]
    #[cfg(unix)]
    fn a_refusal_keeps_the_worker_alive() {
        let (_folder, program) = script(&format!(
            "{HELLO}\nread line; echo '{{\"reply\":\"failed\",\"message\":\"not bitcode\"}}'\nread line; echo '{{\"reply\":\"done\"}}'"
        ));
        let mut worker = Worker::start_program(&program).unwrap();
        assert_eq!(
            worker
                .prepare("a.bc".as_ref(), "out.bc".as_ref())
                .unwrap_err()
                .to_string(),
            "not bitcode"
        );
        worker.save("b.bc".as_ref()).unwrap();
    }

    #[test]
    fn only_the_end_of_a_long_complaint_is_kept() {
        let long = vec![b'x'; KEPT_STDERR_BYTES * 3];
        let mut text = keep_end(&long[..]);
        assert_eq!(text.len(), KEPT_STDERR_BYTES);
        text = keep_end(&b"LLVM ERROR: short"[..]);
        assert_eq!(text, "LLVM ERROR: short");
    }
}
