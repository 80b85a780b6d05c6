//! Requests in, replies out.

use std::collections::BTreeMap;
use std::io::{self, BufRead, Write};

use llvm_sys::core::LLVMGetVersion;
use offkit_llvm::frame::{FrameError, Message, read_message, write_message};
use offkit_llvm::{ModuleId, ModuleSource, OpenedModule, PROTOCOL_VERSION, Reply, Request};

use crate::Error;
use crate::beyond_c::wrapper_module;
use crate::buffer::Buffer;
use crate::compile::{compile, forms};
use crate::emit::emit;
use crate::kept::Kept;
use crate::link::Input;
use crate::needs::needs;

/// Answers the requests of `input` until it ends.
///
/// # Errors
///
/// Reading or writing failed: the other end is gone.
pub fn serve(mut input: impl BufRead, mut output: impl Write) -> io::Result<()> {
    let mut server = Server::default();
    loop {
        let answer = match read_message(&mut input) {
            Ok(None) => return Ok(()),
            Ok(Some(Message { body, blocks })) => server.answer(&body, blocks),
            Err(FrameError::Io(error)) => return Err(error),
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

#[derive(Default)]
struct Server {
    modules: BTreeMap<ModuleId, Kept>,
    /// The number of the next module: none is given twice.
    next: u32,
}

impl Server {
    fn answer(&mut self, request: &Request, blocks: Vec<Vec<u8>>) -> Result<Answer, Error> {
        let reply = match request {
            Request::Hello { .. } => Reply::Hello {
                protocol: PROTOCOL_VERSION,
                llvm: llvm_version(),
            },
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
            Request::Compile(request) => {
                end_with_user();
                let mut compiled = compile(module_to_compile(&blocks)?, request)?;
                let object = std::mem::take(&mut compiled.object);
                return Ok((Reply::Compiled(compiled), vec![object]));
            }
            Request::Forms(request) => {
                let mut forms = forms(module_to_compile(&blocks)?, request)?;
                let texts = [&mut forms.emitted, &mut forms.optimized, &mut forms.assembly];
                let texts = texts.map(std::mem::take).to_vec();
                return Ok((Reply::Forms(forms), texts));
            }
            Request::Close { module } => {
                self.kept(*module)?;
                self.modules.remove(module);
                Reply::Done
            }
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
