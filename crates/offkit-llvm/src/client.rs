//! The worker as seen from the program that uses it.

use std::borrow::Cow;
use std::env;
use std::ffi::OsStr;
use std::io::{self, BufReader, Read};
#[cfg(unix)]
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::time::Duration;

#[cfg(unix)]
use offkit_host::pipes::NotInForks;
use offkit_host::program;

use crate::diagnostic::Place;
use crate::frame::{FrameError, Message, read_message, write_message};
use crate::protocol::{
    CompileRequest, Compiled, DeviceCode, DeviceRequest, EmittedPart, Form, Forms, ModuleId, ModuleSource,
    OpenedModule, PROTOCOL_VERSION, Part, Reply, Request, SpirvNeed, SymbolNeed,
};
use crate::source::{Content, Source};

/// The worker's file name.
pub const WORKER_PROGRAM: &str = "offkit-llvm-worker";

/// The file name of the worker that has LLVM's code for its own machine alone, and compiles kernels. It starts in two
/// thirds of the time.
pub const KERNEL_WORKER_PROGRAM: &str = "offkit-cpu-worker";

/// The environment variable that names the worker program, instead of the usual search.
pub const WORKER_VARIABLE: &str = "OFFKIT_LLVM_WORKER";

/// How much of what the worker printed to standard error is kept, from the end.
const KEPT_STDERR_BYTES: usize = 16 * 1024;

/// How long a worker may take to start, on a machine that has much else to do.
const START_LIMIT: Duration = Duration::from_secs(60);

/// How long the last words of a worker that has ended may take: where it had started other programs, these may keep its
/// standard error open for as long as they like.
const LAST_WORDS_LIMIT: Duration = Duration::from_secs(1);

/// What a worker takes part in of the process that starts it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Belonging {
    /// What a terminal sends to the one, the other gets as well.
    Together,
    /// Nothing of the kind.
    Apart,
}

/// Why the worker could not do what was asked.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WorkerError {
    /// No worker program was found: offkit was installed without its LLVM part.
    #[error("this step needs LLVM, and the program `{WORKER_PROGRAM}` was not found (looked in {})", folders(.searched))]
    NotFound {
        /// The folders that it was looked for in, each once. None in a process with rights that who started it has not,
        /// which starts no program that others may have put there.
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
    #[error("LLVM stopped while {activity} ({}){}", ended(.status.as_ref()), indented(.stderr))]
    Died {
        /// What it was doing.
        activity: String,
        /// How the process ended; `None` where its user has waited for it first, and got to know that instead.
        status: Option<ExitStatus>,
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
    /// Code needs more of SPIR-V than its target takes.
    #[error("{}", unmet(.0))]
    Unmet(Box<SpirvNeed>),
    /// The worker took too long, and was ended.
    #[error("LLVM was not done {activity} after {} s", .limit.as_secs())]
    TimedOut {
        /// What it was doing.
        activity: String,
        /// How long it may take.
        limit: Duration,
    },
    /// LLVM refused the request, with its reason.
    #[error("{message}")]
    Failed {
        /// LLVM's words.
        message: String,
    },
}

/// What names of LLVM's library begin with, where the worker has it in a file of its own: what the worker makes depends on it.
pub const LLVM_LIBRARY: &str = "libLLVM";

impl WorkerError {
    /// Whether the machine lacks something, as opposed to the input being wrong.
    pub fn is_missing_tool(&self) -> bool {
        matches!(
            self,
            Self::NotFound { .. } | Self::LlvmMissing { .. } | Self::Start { .. }
        )
    }
}

fn unmet(need: &SpirvNeed) -> String {
    let mut needed: Vec<String> = need.extensions.clone();
    needed.extend(
        need.version
            .map(|(major, minor)| format!("SPIR-V {major}.{minor}")),
    );
    let names: Vec<_> = need.roots.iter().map(|root| format!("`{root}`")).collect();
    let verb = if names.len() == 1 { "needs" } else { "need" };
    let mut text = format!("{} {verb} {}", names.join(", "), needed.join(" and "));
    if !need.called.is_empty() {
        text.push_str(&format!(" for `{}`", need.called));
    }
    let Place { file, line, .. } = &need.place;
    if !file.is_empty() {
        text.push_str(&format!(" ({file}:{line})"));
    }
    text.push_str(", which the target is not said to take");
    text
}

fn ended(status: Option<&ExitStatus>) -> String {
    status.map_or_else(|| "how is not known".to_owned(), ExitStatus::to_string)
}

fn folders(paths: &[PathBuf]) -> String {
    if paths.is_empty() {
        return "no folder".to_owned();
    }
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
    /// Where the end of what it prints to standard error comes once that is closed.
    stderr: Receiver<String>,
    /// A process that is forked off has not its ends of the pipes, or the worker would not see its user go.
    #[cfg(unix)]
    _pipes: NotInForks,
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
        Self::start_near(None)
    }

    /// Finds the worker program as [`start`](Self::start) does, but first in a folder, and starts it: for a library that
    /// the worker is installed beside, in whatever program uses it.
    ///
    /// # Errors
    ///
    /// Those of [`start`](Self::start).
    pub fn start_near(folder: Option<&Path>) -> Result<Self, WorkerError> {
        Self::start_program(&Self::find_near(folder)?)
    }

    /// The program that [`start_near`](Self::start_near) starts.
    ///
    /// # Errors
    ///
    /// [`WorkerError::NotFound`].
    pub fn find_near(folder: Option<&Path>) -> Result<PathBuf, WorkerError> {
        Self::find(&[WORKER_PROGRAM], folder)
    }

    /// The program for who does nothing but compile kernels for this machine: in each folder [`KERNEL_WORKER_PROGRAM`], or
    /// else the other.
    ///
    /// # Errors
    ///
    /// [`WorkerError::NotFound`].
    pub fn find_for_kernels(folder: Option<&Path>) -> Result<PathBuf, WorkerError> {
        Self::find(&[KERNEL_WORKER_PROGRAM, WORKER_PROGRAM], folder)
    }

    fn find(names: &[&str], folder: Option<&Path>) -> Result<PathBuf, WorkerError> {
        if program::is_privileged() {
            return Err(WorkerError::NotFound { searched: Vec::new() });
        }
        // Taken without a look: where nothing is there, the start fails and names the path. To
        // search on would run another program than the one that was asked for.
        if let Some(named) = env::var_os(WORKER_VARIABLE) {
            return Ok(named.into());
        }
        let mut searched: Vec<PathBuf> = Vec::new();
        let beside = env::current_exe()
            .ok()
            .and_then(|exe| Some(exe.parent()?.to_owned()));
        let path = env::var_os("PATH").unwrap_or_default();
        let first = folder.map(Path::to_owned).into_iter();
        for folder in first.chain(beside).chain(folders_of(&path)) {
            // `PATH` may name a folder several times, and the program's own.
            if searched.contains(&folder) {
                continue;
            }
            let mut candidates = names.iter().map(|name| folder.join(name));
            if let Some(found) = candidates.find(|candidate| candidate.is_file()) {
                return Ok(found);
            }
            searched.push(folder);
        }
        Err(WorkerError::NotFound { searched })
    }

    /// Starts that program as the worker.
    ///
    /// # Errors
    ///
    /// [`WorkerError::Start`], also if it ends without an answer, [`WorkerError::LlvmMissing`],
    /// [`WorkerError::Protocol`], and [`WorkerError::TimedOut`].
    pub fn start_program(program: &Path) -> Result<Self, WorkerError> {
        Self::spawn(program, Belonging::Together, START_LIMIT)
    }

    /// Starts that program as the worker of a library, in whatever process uses it: what a terminal sends to that process,
    /// such as Ctrl-C, doesn't reach the worker, which is no command of the user's. It has so long to start.
    ///
    /// # Errors
    ///
    /// Those of [`start_program`](Self::start_program).
    pub fn start_apart(program: &Path, limit: Duration) -> Result<Self, WorkerError> {
        Self::spawn(program, Belonging::Apart, limit)
    }

    fn spawn(program: &Path, belonging: Belonging, limit: Duration) -> Result<Self, WorkerError> {
        tracing::debug!(program = %program.display(), "starting the LLVM worker");
        let start_error = |source| WorkerError::Start {
            program: program.to_owned(),
            source,
        };
        let mut command = Command::new(program);
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        #[cfg(unix)]
        if belonging == Belonging::Apart {
            std::os::unix::process::CommandExt::process_group(&mut command, 0);
            // In pages of 2 MiB its memory would be twice as large, and not faster.
            command.env("MIMALLOC_ALLOW_THP", "0");
        }
        let mut child = command.spawn().map_err(start_error)?;
        let missing_pipe = || start_error(io::Error::other("a pipe is missing"));
        let requests = child.stdin.take().ok_or_else(missing_pipe)?;
        let replies = BufReader::new(child.stdout.take().ok_or_else(missing_pipe)?);
        let stderr = child.stderr.take().ok_or_else(missing_pipe)?;
        #[cfg(unix)]
        let pipes = NotInForks::new(&[
            requests.as_raw_fd(),
            replies.get_ref().as_raw_fd(),
            stderr.as_raw_fd(),
        ]);
        // Read all the time: a worker that complains of more than a pipe holds would wait for a
        // reader, while this end waits for its reply.
        let (said, last_words) = mpsc::channel();
        let reader = std::thread::Builder::new().spawn(move || {
            // Nobody hears it where the worker has ended as it should.
            let _ = said.send(keep_end(stderr));
        });
        let mut worker = Self {
            program: program.to_owned(),
            llvm_version: String::new(),
            child,
            requests: Some(requests),
            replies,
            stderr: last_words,
            #[cfg(unix)]
            _pipes: pipes,
        };
        if let Err(error) = reader {
            worker.end();
            return Err(start_error(error));
        }
        let hello = Request::Hello {
            protocol: PROTOCOL_VERSION,
        };
        match worker.call_within(&hello, &[], "starting", limit) {
            Ok((
                Reply::Hello {
                    protocol: PROTOCOL_VERSION,
                    llvm,
                },
                _,
            )) => {
                worker.llvm_version = llvm;
                Ok(worker)
            }
            Ok((other, _)) => {
                let error = worker.unexpected(&other);
                // Another program may go on writing for ever, and is not waited for.
                worker.end();
                Err(error)
            }
            // The loader's exit code for a missing shared library, and its words.
            Err(WorkerError::Died { status, stderr, .. })
                if status.and_then(|status| status.code()) == Some(127)
                    || stderr.contains("error while loading shared libraries") =>
            {
                Err(WorkerError::LlvmMissing {
                    message: stderr.trim().to_owned(),
                })
            }
            // Whatever it is, it is no worker.
            Err(WorkerError::Died { status, stderr, .. }) => Err(start_error(io::Error::other(format!(
                "it ended without an answer ({}) {}",
                ended(status.as_ref()),
                stderr.trim()
            )))),
            // What answers like this need not end with its input, which dropping it would wait for.
            Err(error) => {
                worker.end();
                Err(error)
            }
        }
    }

    /// The program that was started.
    pub fn program(&self) -> &Path {
        &self.program
    }

    /// The worker's process, as the system counts them.
    pub fn process(&self) -> u32 {
        self.child.id()
    }

    /// Whether it is there to be asked: somebody may have ended it.
    pub fn is_running(&mut self) -> bool {
        matches!(self.child.try_wait(), Ok(None))
    }

    /// Ends the worker at once.
    pub fn end(mut self) {
        kill(&mut self.child);
    }

    /// The version of LLVM behind the worker, `22.1.8`.
    pub fn llvm_version(&self) -> &str {
        &self.llvm_version
    }

    /// Reads modules, links several into one with what is needed of libraries, and keeps the result in the worker.
    /// With `bodies`, the summary tells what is in function bodies too.
    ///
    /// # Errors
    ///
    /// [`WorkerError::Failed`] with LLVM's words and the names of the modules that are damaged or in each other's
    /// way.
    pub fn open(
        &mut self,
        inputs: &[Source<'_>],
        libraries: &[Source<'_>],
        bodies: bool,
    ) -> Result<OpenedModule, WorkerError> {
        let mut contents = Vec::new();
        let request = Request::Open {
            inputs: sources(inputs, &mut contents)?,
            libraries: sources(libraries, &mut contents)?,
            bodies,
        };
        let blocks: Vec<&[u8]> = contents.iter().map(AsRef::as_ref).collect();
        let names: Vec<_> = (inputs.iter().chain(libraries))
            .map(|source| source.name.as_str())
            .collect();
        let activity = match names.as_slice() {
            [name] => format!("reading `{name}`"),
            names => format!("linking {}", names.join(", ")),
        };
        match self.call(&request, &blocks, &activity)? {
            (Reply::Opened(opened), _) => Ok(opened),
            (other, _) => Err(self.unexpected(&other)),
        }
    }

    /// Marks the kernels and exported functions of a module with the source file they come from; see
    /// [`Request::Mark`].
    ///
    /// # Errors
    ///
    /// [`WorkerError::Failed`] with LLVM's words.
    pub fn mark(&mut self, module: ModuleId, source: &str, only_annotated: bool) -> Result<(), WorkerError> {
        let request = Request::Mark {
            module,
            source: source.to_owned(),
            only_annotated,
        };
        self.done(&request, "marking a module")
    }

    /// A module with marks, as bitcode; see [`mark`](Self::mark).
    ///
    /// # Errors
    ///
    /// As [`open`](Self::open), [`mark`](Self::mark) and [`emit_whole`](Self::emit_whole).
    pub fn marked(
        &mut self,
        module: Source<'_>,
        source: &str,
        only_annotated: bool,
    ) -> Result<Vec<u8>, WorkerError> {
        let id = self.open(&[module], &[], false)?.id;
        self.mark(id, source, only_annotated)?;
        let whole = self.emit_whole(id, &Form::Bitcode)?;
        self.close(id)?;
        Ok(whole.content)
    }

    /// Takes parts out of a module and emits each, working on at most `jobs` at a time; 0 stands for one on each core.
    ///
    /// # Errors
    ///
    /// [`WorkerError::Failed`] and [`WorkerError::Crashed`] with LLVM's words.
    pub fn emit(
        &mut self,
        module: ModuleId,
        parts: &[Part],
        form: &Form,
        jobs: usize,
    ) -> Result<Vec<EmittedPart>, WorkerError> {
        let request = Request::Emit {
            module,
            parts: parts.to_vec(),
            form: form.clone(),
            jobs,
        };
        let activity = match form {
            Form::Bitcode | Form::Text => "splitting a module",
            Form::Code(_) => "generating code",
        };
        match self.call(&request, &[], activity)? {
            // `zip` would drop what is too many, and leave parts without content as empty ones.
            (Reply::Emitted(mut emitted), contents) if emitted.len() == contents.len() => {
                for (part, content) in emitted.iter_mut().zip(contents) {
                    part.content = content;
                }
                Ok(emitted)
            }
            (
                Reply::Crashed {
                    part,
                    status,
                    stderr,
                    reproducer,
                },
                _,
            ) => Err(WorkerError::Crashed {
                roots: parts.get(part).map(|part| part.roots.clone()).unwrap_or_default(),
                status,
                stderr,
                reproducer,
            }),
            (Reply::Unmet(need), _) => Err(WorkerError::Unmet(Box::new(need))),
            (other, _) => Err(self.unexpected(&other)),
        }
    }

    /// Emits all of a module.
    ///
    /// # Errors
    ///
    /// Those of [`emit`](Self::emit).
    pub fn emit_whole(&mut self, module: ModuleId, form: &Form) -> Result<EmittedPart, WorkerError> {
        let mut emitted = self.emit(module, &[Part::default()], form, 1)?;
        Ok(emitted.pop().unwrap_or_default())
    }

    /// Who needs these symbols in a module.
    ///
    /// # Errors
    ///
    /// [`WorkerError::Failed`] with LLVM's words.
    pub fn needs(&mut self, module: ModuleId, symbols: &[String]) -> Result<Vec<SymbolNeed>, WorkerError> {
        let request = Request::Needs {
            module,
            symbols: symbols.to_vec(),
        };
        match self.call(&request, &[], "looking for the users of symbols")? {
            (Reply::Needs(needs), _) => Ok(needs),
            (other, _) => Err(self.unexpected(&other)),
        }
    }

    /// The module that registers images, in LLVM's text form; see [`Request::Wrap`].
    ///
    /// # Errors
    ///
    /// [`WorkerError::Failed`] for a language that LLVM has no such module for, or if it embeds nothing, or a damaged
    /// offload binary.
    pub fn wrap(
        &mut self,
        language: &str,
        host: &str,
        relocatable: bool,
        embedded: &[&[u8]],
    ) -> Result<String, WorkerError> {
        let request = Request::Wrap {
            language: language.to_owned(),
            host: host.to_owned(),
            relocatable,
        };
        match self.call(&request, embedded, "wrapping images")? {
            (Reply::Wrapper(text), _) => Ok(text),
            (other, _) => Err(self.unexpected(&other)),
        }
    }

    /// Compiles a kernel of a module, SPIR-V or the text of `offkit-kernel`, for a processor. A worker that takes longer than
    /// `limit` is ended.
    ///
    /// # Errors
    ///
    /// [`WorkerError::Failed`] with the reason why it isn't compiled, and [`WorkerError::TimedOut`].
    pub fn compile(
        &mut self,
        module: &[u8],
        request: CompileRequest,
        limit: Duration,
    ) -> Result<Compiled, WorkerError> {
        let activity = format!("compiling kernel `{}`", request.kernel);
        let request = Request::Compile(request);
        match self.call_within(&request, &[module], &activity, limit)? {
            (Reply::Compiled(mut compiled), blocks) if blocks.len() == 1 => {
                compiled.object = blocks.into_iter().next().unwrap_or_default();
                Ok(compiled)
            }
            (other, _) => Err(self.unexpected(&other)),
        }
    }

    /// What a kernel of a module is on its way to machine code; see [`compile`](Self::compile).
    ///
    /// # Errors
    ///
    /// Those of [`compile`](Self::compile).
    pub fn forms(
        &mut self,
        module: &[u8],
        request: CompileRequest,
        limit: Duration,
    ) -> Result<Forms, WorkerError> {
        let activity = format!("compiling kernel `{}`", request.kernel);
        match self.call_within(&Request::Forms(request), &[module], &activity, limit)? {
            (Reply::Forms(forms), blocks) => match <[Vec<u8>; 3]>::try_from(blocks) {
                Ok([emitted, optimized, assembly]) => Ok(Forms {
                    emitted,
                    optimized,
                    assembly,
                    ..forms
                }),
                Err(_) => Err(self.unexpected(&Reply::Forms(forms))),
            },
            (other, _) => Err(self.unexpected(&other)),
        }
    }

    /// Compiles kernels of a module, SPIR-V or the text of `offkit-kernel`, for a GPU. A worker that takes longer than
    /// `limit`, where there is one, is ended.
    ///
    /// # Errors
    ///
    /// [`WorkerError::Failed`] with the kernel that isn't compiled and the reason why, and [`WorkerError::TimedOut`].
    pub fn compile_for_device(
        &mut self,
        module: &[u8],
        request: DeviceRequest,
        limit: Option<Duration>,
    ) -> Result<DeviceCode, WorkerError> {
        let activity = match request.kernels.as_slice() {
            [] => "compiling kernels".to_owned(),
            kernels => format!("compiling kernel `{}`", kernels.join("`, `")),
        };
        let request = Request::Device(request);
        let reply = match limit {
            Some(limit) => self.call_within(&request, &[module], &activity, limit),
            None => self.call(&request, &[module], &activity),
        };
        match reply? {
            (Reply::Device(device), blocks) => match <[Vec<u8>; 2]>::try_from(blocks) {
                Ok([code, text]) => Ok(DeviceCode { code, text, ..device }),
                Err(_) => Err(self.unexpected(&Reply::Device(device))),
            },
            (other, _) => Err(self.unexpected(&other)),
        }
    }

    /// Has the worker forget a module.
    ///
    /// # Errors
    ///
    /// [`WorkerError::Failed`] if it has no such module.
    pub fn close(&mut self, module: ModuleId) -> Result<(), WorkerError> {
        self.done(&Request::Close { module }, "closing a module")
    }

    fn done(&mut self, request: &Request, activity: &str) -> Result<(), WorkerError> {
        match self.call(request, &[], activity)? {
            (Reply::Done, _) => Ok(()),
            (other, _) => Err(self.unexpected(&other)),
        }
    }

    /// Sends a request with its blocks, and returns the reply with its own.
    fn call(
        &mut self,
        request: &Request,
        blocks: &[&[u8]],
        activity: &str,
    ) -> Result<(Reply, Vec<Vec<u8>>), WorkerError> {
        tracing::debug!(request = request.name(), activity, "asking the LLVM worker");
        let answer = exchange(&mut self.requests, &mut self.replies, request, blocks);
        self.reply(answer, activity)
    }

    /// As [`call`](Self::call); a worker that has not answered in time is ended.
    fn call_within(
        &mut self,
        request: &Request,
        blocks: &[&[u8]],
        activity: &str,
        limit: Duration,
    ) -> Result<(Reply, Vec<Vec<u8>>), WorkerError> {
        tracing::debug!(request = request.name(), activity, "asking the LLVM worker");
        let Self {
            child,
            requests,
            replies,
            ..
        } = self;
        // The pipes have no time limits of their own, but end with the worker.
        let (answer, late) = std::thread::scope(|scope| {
            let (answered, waiting) = mpsc::channel::<()>();
            let watch = std::thread::Builder::new().spawn_scoped(scope, move || {
                let late = waiting.recv_timeout(limit) == Err(RecvTimeoutError::Timeout);
                if late {
                    kill(child);
                }
                late
            });
            let answer = exchange(requests, replies, request, blocks);
            // Nothing is ever sent: that this end is gone wakes the watch. Where no thread could be
            // started, there is no limit, and still an answer.
            drop(answered);
            (answer, watch.is_ok_and(|watch| watch.join().unwrap_or_default()))
        });
        match self.reply(answer, activity) {
            // An answer that came in the last moment counts, though the worker is gone by now.
            Err(WorkerError::Died { activity, .. }) if late => Err(WorkerError::TimedOut { activity, limit }),
            reply => reply,
        }
    }

    /// What came back for a request.
    fn reply(
        &mut self,
        answer: Result<Message<Reply>, FrameError>,
        activity: &str,
    ) -> Result<(Reply, Vec<Vec<u8>>), WorkerError> {
        match answer {
            Ok(Message {
                body: Reply::Failed { message },
                ..
            }) => Err(WorkerError::Failed { message }),
            Ok(Message { body, blocks }) => Ok((body, blocks)),
            // The path of a folder, which is no text.
            // All of the line is made before any of it is written, so the worker knows of nothing
            // and can be asked again.
            Err(FrameError::Io(error)) if error.kind() == io::ErrorKind::InvalidData => {
                Err(WorkerError::Failed {
                    message: format!("cannot encode the request: {error}"),
                })
            }
            // A worker that died leaves a broken pipe or an empty answer: either way its last words tell.
            Err(FrameError::Io(_)) => Err(self.death(activity)),
            Err(FrameError::Line { line, .. }) => Err(WorkerError::Protocol {
                program: self.program.clone(),
                found: line,
            }),
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
        // One that has closed a pipe may yet run on, and nobody waits for that. Of one that is ending, this changes nothing.
        kill(&mut self.child);
        WorkerError::Died {
            activity: activity.to_owned(),
            // There is none where the host has waited for any child of its own, and got this one.
            status: self.child.wait().ok(),
            stderr: self.stderr.recv_timeout(LAST_WORDS_LIMIT).unwrap_or_default(),
        }
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        self.requests = None;
        let _ = self.child.wait();
    }
}

/// Ends the process if it is there. Where the host has waited for any child of its own, it may have got this one, and the
/// number may be another process's by now.
fn kill(child: &mut Child) {
    if let Ok(None) = child.try_wait() {
        let _ = child.kill();
    }
}

/// Sends a request with its blocks, and waits for the answer.
fn exchange(
    requests: &mut Option<ChildStdin>,
    replies: &mut BufReader<ChildStdout>,
    request: &Request,
    blocks: &[&[u8]],
) -> Result<Message<Reply>, FrameError> {
    let pipe = requests
        .as_mut()
        .ok_or(io::Error::from(io::ErrorKind::BrokenPipe))?;
    write_message(pipe, request, blocks)?;
    read_message(replies)?.ok_or_else(|| io::Error::from(io::ErrorKind::UnexpectedEof).into())
}

/// What the worker is told of each source; `contents` gets the bytes of those that it cannot read itself.
fn sources<'s>(
    sources: &'s [Source<'_>],
    contents: &mut Vec<Cow<'s, [u8]>>,
) -> Result<Vec<ModuleSource>, WorkerError> {
    let sources = sources.iter().map(|source| {
        let content = source.for_worker().map_err(|error| WorkerError::Failed {
            message: format!("{}: {error}", source.name),
        })?;
        let path = match content {
            Content::File(path) => Some(path),
            Content::Bytes(bytes) => {
                // In the order of the sources: each without a path is given the next block.
                contents.push(bytes);
                None
            }
        };
        Ok(ModuleSource {
            name: source.name.clone(),
            path,
        })
    });
    sources.collect()
}

/// The folders of a `PATH`. Nothing between two separators is not the current folder, which may be anybody's.
fn folders_of(path: &OsStr) -> impl Iterator<Item = PathBuf> {
    env::split_paths(path).filter(|folder| !folder.as_os_str().is_empty())
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

    /// A program made of a shell script, with the version of the protocol for `PROTOCOL`.
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
            .arg(body.replace("PROTOCOL", &PROTOCOL_VERSION.to_string()))
            .status()
            .unwrap();
        assert!(written.success());
        (folder, path)
    }

    const HELLO: &str = r#"read line; echo '{"body":{"hello":{"protocol":PROTOCOL,"llvm":"22.1.8"}}}'"#;

    fn open(worker: &mut Worker, name: &str) -> Result<OpenedModule, WorkerError> {
        worker.open(&[Source::bytes(name, b"")], &[], false)
    }

    #[test]
    #[cfg(unix)]
    fn a_fatal_error_in_llvm_becomes_an_error_with_its_words() {
        let (_folder, program) = script(&format!(
            "{HELLO}\nread line\necho 'LLVM ERROR: no such type' >&2\nexit 1"
        ));
        let mut worker = Worker::start_program(&program).unwrap();
        assert_eq!(worker.llvm_version(), "22.1.8");
        let error = open(&mut worker, "kernel.bc").unwrap_err();
        let text = error.to_string();
        assert!(text.contains("LLVM ERROR: no such type"), "{text}");
        assert!(text.contains("reading `kernel.bc`"), "{text}");
        // Asking again after its death is an error too, not a hang.
        assert!(matches!(
            open(&mut worker, "kernel.bc"),
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
    fn a_program_that_runs_on_without_its_output_is_no_worker() {
        let (_folder, program) = script("exec sleep 1000 >&-");
        let error = Worker::start_program(&program).unwrap_err();
        assert!(error.is_missing_tool(), "{error}");
        // Nor one that has started another, which has its standard error.
        let (_folder, program) = script("exec >&-; sleep 20");
        let start = std::time::Instant::now();
        let error = Worker::start_program(&program).unwrap_err();
        assert!(error.is_missing_tool(), "{error}");
        assert!(start.elapsed() < Duration::from_secs(15), "{:?}", start.elapsed());
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn a_worker_that_its_user_has_waited_for_has_died() {
        const PROGRAM: &str = "WAITED_FOR_IN_A_TEST";
        let Some(program) = env::var_os(PROGRAM) else {
            let (_folder, program) = script(&format!("{HELLO}\nread line\necho 'no more' >&2\nexit 1"));
            // The system waits for the children of a process that ignores their signal.
            let mut inside = Command::new("env");
            inside
                .arg("--ignore-signal=CHLD")
                .arg(env::current_exe().unwrap());
            inside.args([
                "--exact",
                "client::tests::a_worker_that_its_user_has_waited_for_has_died",
            ]);
            let output = inside.env(PROGRAM, program).output().unwrap();
            let said = String::from_utf8_lossy(&output.stdout);
            assert!(output.status.success() && said.contains("1 passed"), "{said}");
            return;
        };
        let mut worker = Worker::start_program(program.as_ref()).unwrap();
        let error = open(&mut worker, "kernel.bc").unwrap_err();
        assert!(
            matches!(error, WorkerError::Died { status: None, .. }),
            "{error:?}"
        );
        assert!(
            !error.is_missing_tool() && error.to_string().contains("no more"),
            "{error}"
        );
    }

    #[test]
    #[cfg(unix)]
    fn nothing_in_a_path_is_not_the_current_folder() {
        let folders = |path: &str| folders_of(path.as_ref()).collect::<Vec<_>>();
        assert_eq!(
            folders("/usr/bin::/bin:"),
            ["/usr/bin", "/bin"].map(PathBuf::from)
        );
        assert!(folders("").is_empty());
    }

    #[test]
    #[cfg(unix)]
    fn a_program_that_writes_for_ever_is_no_worker() {
        let (_folder, program) = script("exec yes");
        let error = Worker::start_program(&program).unwrap_err();
        assert!(matches!(error, WorkerError::Protocol { .. }), "{error}");
    }

    #[test]
    #[cfg(unix)]
    fn another_build_is_refused() {
        let other = PROTOCOL_VERSION + 1;
        let hello = format!(r#"{{"body":{{"hello":{{"protocol":{other},"llvm":"30"}}}}}}"#);
        let (_folder, program) = script(&format!("read line; echo '{hello}'"));
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
            "{HELLO}\nread line; echo '{{\"body\":{{\"failed\":{{\"message\":\"not bitcode\"}}}}}}'\n\
             read line; echo '{{\"body\":\"done\"}}'"
        ));
        let mut worker = Worker::start_program(&program).unwrap();
        assert_eq!(open(&mut worker, "a.bc").unwrap_err().to_string(), "not bitcode");
        worker.close(ModuleId(1)).unwrap();
    }

    #[test]
    #[cfg(unix)]
    fn compiled_code_comes_behind_its_reply() {
        let (_folder, program) = script(&format!(
            "{HELLO}\nread line; echo '{{\"blocks\":[4],\"body\":{{\"compiled\":{{\"symbol\":\"add\",\"scratch\":64,\"shared\":0,\"externals\":[\"builtin\"]}}}}}}'\n\
             printf '\\177ELF'\nread line"
        ));
        let mut worker = Worker::start_program(&program).unwrap();
        let compiled = worker.compile(b"", add(), Duration::from_secs(60)).unwrap();
        assert_eq!((compiled.symbol.as_str(), compiled.scratch), ("add", 64));
        assert_eq!(compiled.externals, ["builtin"]);
        assert_eq!(compiled.object, b"\x7fELF");
    }

    #[test]
    #[cfg(unix)]
    fn a_worker_that_hangs_is_ended() {
        let (_folder, program) = script(&format!("{HELLO}\nexec sleep 1000"));
        let mut worker = Worker::start_program(&program).unwrap();
        let error = worker.compile(b"", add(), Duration::from_millis(20)).unwrap_err();
        assert!(matches!(error, WorkerError::TimedOut { .. }), "{error}");
        assert!(error.to_string().contains("compiling kernel `add`"), "{error}");
    }

    #[test]
    #[cfg(unix)]
    fn forms_are_texts_behind_their_reply() {
        let (_folder, program) = script(&format!(
            "{HELLO}\nread line; echo '{{\"blocks\":[4,2,3],\"body\":{{\"forms\":{{}}}}}}'; printf 'callocret'\n\
             read line; echo '{{\"blocks\":[1],\"body\":{{\"forms\":{{}}}}}}'; printf c"
        ));
        let mut worker = Worker::start_program(&program).unwrap();
        let forms = worker.forms(b"", add(), Duration::from_secs(60)).unwrap();
        let texts = [forms.emitted, forms.optimized, forms.assembly];
        assert_eq!(texts, [&b"call"[..], b"oc", b"ret"]);
        let error = worker.forms(b"", add(), Duration::from_secs(60)).unwrap_err();
        assert!(matches!(error, WorkerError::Protocol { .. }), "{error:?}");
    }

    fn add() -> CompileRequest {
        CompileRequest {
            kernel: "add".into(),
            variant: offkit_compile::Variant {
                width: 8,
                rows: true,
                full: true,
                narrow_ids: true,
                contract: true,
                check_bounds: false,
                cut: offkit_compile::Cut::AsSeen,
                arithmetic: offkit_compile::Arithmetic::default(),
            },
            triple: String::new(),
            processor: String::new(),
            features: String::new(),
            vector_functions: Vec::new(),
            level: crate::Effort::Light,
            lines: false,
        }
    }

    #[test]
    #[cfg(unix)]
    fn a_reply_that_is_no_answer_to_the_request_is_refused() {
        // Contents for more parts than are told of.
        let (_folder, program) = script(&format!(
            "{HELLO}\nread line; echo '{{\"blocks\":[1],\"body\":{{\"emitted\":[]}}}}'; printf x\n\
             read line; echo '{{\"body\":\"done\"}}'"
        ));
        let mut worker = Worker::start_program(&program).unwrap();
        for _ in 0..2 {
            let refused = worker.emit(ModuleId(1), &[], &Form::Text, 0);
            assert!(
                matches!(refused, Err(WorkerError::Protocol { .. })),
                "{refused:?}"
            );
        }
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
