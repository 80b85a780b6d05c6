//! Requests in, replies out.

use std::collections::BTreeMap;
use std::env;
use std::io::{self, BufRead, Write};
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;

use llvm_sys::core::LLVMGetVersion;
use offkit_worker::{EmitOptions, PROTOCOL_VERSION, Part, Reply, Request, Worker};

use crate::Error;
use crate::codegen::{TargetMachine, set_spirv_extensions};
use crate::context::Context;
use crate::conversions;
use crate::module::Module;
use crate::prepare::prepare;
use crate::split::take_part;
use crate::write_parts::write_parts;

/// Answers the requests of `input`, one a line, until it ends.
///
/// # Errors
///
/// Reading or writing failed: the other end is gone.
pub fn serve(input: impl BufRead, mut output: impl Write) -> io::Result<()> {
    let mut server = Server::default();
    for line in input.lines() {
        let reply = match serde_json::from_str(&line?) {
            Ok(request) => server.answer(&request).unwrap_or_else(|error| Reply::Failed {
                message: error.to_string(),
            }),
            Err(error) => Reply::Failed {
                message: format!("not a request: {error}"),
            },
        };
        serde_json::to_writer(&mut output, &reply)?;
        output.write_all(b"\n")?;
        output.flush()?;
    }
    Ok(())
}

#[derive(Default)]
struct Server {
    /// Whether this process has generated code: its code generator is no longer as it was.
    has_generated: bool,
}

impl Server {
    fn answer(&mut self, request: &Request) -> Result<Reply, Error> {
        // A context of its own for each request: nothing piles up in a long conversation.
        let context = Context::new();
        match request {
            Request::Hello { .. } => Ok(Reply::Hello {
                protocol: PROTOCOL_VERSION,
                llvm: llvm_version(),
            }),
            Request::Summarize { input } => Ok(Reply::Summary {
                module: Module::open(&context, input)?.summary(),
            }),
            Request::Merge { inputs, output } => {
                let [first, ..] = inputs.as_slice() else {
                    return Err(Error::new("nothing to link"));
                };
                // Into an empty module, so that every input is read lazily, the first one too.
                let mut merged = Module::like(&Module::open(&context, first)?, "merged");
                for input in inputs {
                    let module = Module::open(&context, input)?;
                    merged
                        .link(module)
                        .map_err(|error| Error::new(format!("{}: {error}", input.display())))?;
                }
                merged.write(output)?;
                Ok(Reply::Done)
            }
            Request::Prepare { input, output } => Ok(Reply::Summary {
                module: prepare(&context, input, output)?,
            }),
            Request::Split {
                input,
                parts,
                options,
            } => Ok(Reply::Parts {
                parts: write_parts(input, parts, options)?,
            }),
            Request::Emit {
                input,
                parts,
                options,
            } => {
                match parts.as_slice() {
                    [part] if !self.has_generated => {
                        self.has_generated = true;
                        emit(&context, input, part, options)?;
                    }
                    parts => emit_each_in_a_process(input, parts, options)?,
                }
                Ok(Reply::Done)
            }
        }
    }
}

/// Takes a part out of a module and generates its code, in this process.
fn emit(context: &Context, input: &Path, part: &Part, options: &EmitOptions) -> Result<(), Error> {
    set_spirv_extensions(&options.spirv_extensions)?;
    let mut module = take_part(context, input, &part.roots, &part.left_out)?;
    module
        .verify()
        .map_err(|error| Error::new(format!("{}: {error}", input.display())))?;
    conversions::define(context, &mut module)?;
    module.set_triple(&options.triple);
    let machine = TargetMachine::new(&options.triple, options.optimization)?;
    machine.optimize(&mut module, options.optimization)?;
    machine.emit(&module, &part.output)
}

/// Generates the code of each part in a process of its own, as many at a time as there are cores.
///
/// LLVM 22's SPIR-V back end keeps state for as long as its process lives: the second module that a
/// process generates code for may come out different from the same module generated first, and may
/// even be malformed (ids defined twice).
fn emit_each_in_a_process(input: &Path, parts: &[Part], options: &EmitOptions) -> Result<(), Error> {
    let program =
        env::current_exe().map_err(|error| Error::new(format!("the worker cannot find itself: {error}")))?;
    let next = AtomicUsize::new(0);
    let failures = Mutex::new(BTreeMap::new());
    let work = || {
        while let Some((number, part)) = {
            let number = next.fetch_add(1, Ordering::Relaxed);
            parts.get(number).map(|part| (number, part))
        } {
            let emitted = Worker::start_program(&program)
                .and_then(|mut worker| worker.emit(input, std::slice::from_ref(part), options));
            if let Err(error) = emitted {
                failures
                    .lock()
                    .unwrap_or_else(PoisonError::into_inner)
                    .insert(number, error.to_string());
            }
        }
    };
    thread::scope(|scope| {
        let count = thread::available_parallelism()
            .map_or(1, usize::from)
            .min(parts.len());
        for _ in 1..count {
            scope.spawn(work);
        }
        work();
    });
    // The first part's failure, whichever process was first to fail.
    match failures
        .into_inner()
        .unwrap_or_else(PoisonError::into_inner)
        .into_values()
        .next()
    {
        None => Ok(()),
        Some(message) => Err(Error::new(message)),
    }
}

fn llvm_version() -> String {
    let (mut major, mut minor, mut patch) = (0, 0, 0);
    // SAFETY: three valid places to write to.
    unsafe { LLVMGetVersion(&raw mut major, &raw mut minor, &raw mut patch) };
    format!("{major}.{minor}.{patch}")
}
