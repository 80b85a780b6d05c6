//! Requests in, replies out.

use std::collections::BTreeMap;
use std::io::{self, BufRead, Write};

use llvm_sys::core::LLVMGetVersion;
use offkit_llvm::frame::{FrameError, Message, read_message, write_message};
use offkit_llvm::{
    CompileRequest, DeviceRequest, ModuleId, ModuleSource, OpenedModule, PROTOCOL_VERSION, Reply, Request,
};

use crate::Error;
use crate::beyond_c::wrapper_module;
use crate::buffer::Buffer;
use crate::compile::{compile, device, forms};
use crate::emit::emit;
use crate::kept::Kept;
use crate::link::Input;
use crate::needs::needs;

/// Answers the requests of `input` until it ends.
///
/// # Errors
///
/// Reading or writing failed: the other end is gone.
pub fn serve(input: impl BufRead, output: impl Write) -> io::Result<()> {
    let mut server = Server::default();
    answer_all(input, output, |request, blocks| server.answer(request, blocks))
}

/// Answers requests for kernels of the CPU device until `input` ends, and refuses others.
///
/// # Errors
///
/// Those of [`serve`].
pub fn serve_kernels(input: impl BufRead, output: impl Write) -> io::Result<()> {
    answer_all(input, output, |request, blocks| match request {
        Request::Hello { .. } => Ok(hello()),
        Request::Compile(request) => compiled(&blocks, request),
        Request::Forms(request) => formed(&blocks, request),
        _ => Err(Error::new(
            "this worker does nothing but compile kernels for this machine",
        )),
    })
}

/// Answers requests for kernels of GPUs until `input` ends, and refuses others.
///
/// # Errors
///
/// Those of [`serve`].
pub fn serve_devices(input: impl BufRead, output: impl Write) -> io::Result<()> {
    answer_all(input, output, |request, blocks| match request {
        Request::Hello { .. } => Ok(hello()),
        Request::Device(request) => for_device(&blocks, request),
        _ => Err(Error::new(
            "this worker does nothing but compile kernels for GPUs",
        )),
    })
}

fn answer_all(
    mut input: impl BufRead,
    mut output: impl Write,
    mut answer: impl FnMut(&Request, Vec<Vec<u8>>) -> Result<Answer, Error>,
) -> io::Result<()> {
    loop {
        let answer = match read_message(&mut input) {
            Ok(None) => return Ok(()),
            Ok(Some(Message { body, blocks })) => answer(&body, blocks),
            Err(FrameError::Io(error)) => return Err(error),
            // The other end waits for an answer to whatever it has sent. Its next line may be good.
            Err(error) => Err(Error::new(format!("not a request: {error}"))),
        };
        let (reply, contents) = answer.unwrap_or_else(|error| {
            let message = error.to_string();
            (Reply::Failed { message }, Vec::new())
        });
        let contents: Vec<&[u8]> = contents.iter().map(Vec::as_slice).collect();
        write_message(&mut output, &reply, &contents)?;
    }
}

/// A reply, and the blocks behind it.
type Answer = (Reply, Vec<Vec<u8>>);

fn hello() -> Answer {
    let hello = Reply::Hello {
        protocol: PROTOCOL_VERSION,
        llvm: llvm_version(),
    };
    (hello, Vec::new())
}

fn compiled(blocks: &[Vec<u8>], request: &CompileRequest) -> Result<Answer, Error> {
    // Only now, and not when the process starts: a device link starts its worker in a thread that
    // is gone once the worker has answered, and the signal would end it then.
    end_with_user();
    let mut compiled = compile(module_to_compile(blocks)?, request)?;
    let object = std::mem::take(&mut compiled.object);
    Ok((Reply::Compiled(compiled), vec![object]))
}

fn formed(blocks: &[Vec<u8>], request: &CompileRequest) -> Result<Answer, Error> {
    let mut forms = forms(module_to_compile(blocks)?, request)?;
    let texts = [&mut forms.emitted, &mut forms.optimized, &mut forms.assembly];
    let texts = texts.map(std::mem::take).to_vec();
    Ok((Reply::Forms(forms), texts))
}

fn for_device(blocks: &[Vec<u8>], request: &DeviceRequest) -> Result<Answer, Error> {
    let mut device = device::compile(module_to_compile(blocks)?, request)?;
    let blocks = [&mut device.code, &mut device.text].map(std::mem::take).to_vec();
    Ok((Reply::Device(device), blocks))
}

#[derive(Default)]
struct Server {
    modules: BTreeMap<ModuleId, Kept>,
    /// The number of the next module: none is given twice.
    next: u32,
}

impl Server {
    fn answer(&mut self, request: &Request, blocks: Vec<Vec<u8>>) -> Result<Answer, Error> {
        let reply = match request {
            Request::Hello { .. } => return Ok(hello()),
            Request::Open {
                inputs,
                libraries,
                bodies,
            } => {
                let mut blocks = blocks.into_iter();
                let inputs = read(inputs, &mut blocks)?;
                let libraries = read(libraries, &mut blocks)?;
                let (kept, told) = Kept::open(&inputs, &libraries, *bodies)?;
                let id = ModuleId(self.next);
                self.next += 1;
                self.modules.insert(id, kept);
                Reply::Opened(OpenedModule {
                    id,
                    inputs: told.inputs,
                    summary: told.summary,
                    diagnostics: told.diagnostics,
                })
            }
            Request::Mark {
                module,
                source,
                only_annotated,
            } => {
                self.kept(*module)?.mark(source, *only_annotated)?;
                Reply::Done
            }
            Request::Emit {
                module,
                parts,
                form,
                jobs,
            } => return emit(self.kept(*module)?, parts, form, *jobs),
            Request::Needs { module, symbols } => Reply::Needs(needs(self.kept(*module)?.whole()?, symbols)),
            Request::Wrap {
                language,
                host,
                relocatable,
            } => Reply::Wrapper(wrapper_module(language, host, *relocatable, &blocks)?),
            Request::Close { module } => {
                // An error where there is none: to remove what isn't there is none for the map.
                self.kept(*module)?;
                self.modules.remove(module);
                Reply::Done
            }
            Request::Compile(request) => return compiled(&blocks, request),
            Request::Forms(request) => return formed(&blocks, request),
            Request::Device(request) => return for_device(&blocks, request),
        };
        Ok((reply, Vec::new()))
    }

    fn kept(&mut self, id: ModuleId) -> Result<&mut Kept, Error> {
        (self.modules.get_mut(&id)).ok_or_else(|| Error::new(format!("no module {} is open", id.0)))
    }
}

fn module_to_compile(blocks: &[Vec<u8>]) -> Result<&[u8], Error> {
    let module = blocks.first().map(Vec::as_slice);
    module.ok_or_else(|| Error::new("there is no module to compile"))
}

/// The modules that a request names, or that come behind it.
fn read(sources: &[ModuleSource], blocks: &mut impl Iterator<Item = Vec<u8>>) -> Result<Vec<Input>, Error> {
    let inputs = sources.iter().map(|source| {
        let buffer = match &source.path {
            Some(path) => Buffer::file(path).map_err(|error| error.of(&source.name))?,
            None => {
                let block = blocks.next();
                Buffer::copy(&block.ok_or_else(|| {
                    Error::new(format!("{}: there is neither a path nor a block", source.name))
                })?)
            }
        };
        Ok(Input {
            name: source.name.clone(),
            buffer,
        })
    });
    inputs.collect()
}

/// From here on this process ends with the thread that has started it, also in the middle of a kernel that LLVM is never done
/// with: nobody is left to end it.
#[cfg(target_os = "linux")]
fn end_with_user() {
    // SAFETY: asks the system for a signal, and touches no memory.
    unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) };
}

#[cfg(not(target_os = "linux"))]
fn end_with_user() {}

fn llvm_version() -> String {
    let (mut major, mut minor, mut patch) = (0, 0, 0);
    // SAFETY: three valid places to write to.
    unsafe { LLVMGetVersion(&raw mut major, &raw mut minor, &raw mut patch) };
    format!("{major}.{minor}.{patch}")
}

/// What the main function of a worker does: answers requests with `serve` until its user is gone.
pub fn run(serve: impl FnOnce() -> io::Result<()>) -> ! {
    take_signals();
    let status = match serve() {
        Ok(()) => 0,
        // A user that is gone needs no answer.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => 0,
        Err(_) => 1,
    };
    // SAFETY: ends the process without taking LLVM down piece by piece, which takes milliseconds that the user would wait
    // for: everything is written, and the system takes the memory back. Nor is it known to come to an end: a worker whose
    // user was gone was found in an endless loop of the allocator's, which was taking itself down.
    unsafe { libc::_exit(status) }
}

/// The thread that has started this process may take none, and that is inherited: then `kill` would not end it.
#[cfg(unix)]
fn take_signals() {
    let mut none = std::mem::MaybeUninit::<libc::sigset_t>::uninit();
    // SAFETY: the set is written before it is read, and only this process's signals change.
    unsafe {
        libc::sigemptyset(none.as_mut_ptr());
        libc::pthread_sigmask(libc::SIG_SETMASK, none.as_ptr(), std::ptr::null_mut());
    }
}

#[cfg(not(unix))]
fn take_signals() {}
