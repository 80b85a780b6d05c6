//! Requests in, replies out.

use std::io::{self, BufRead, Write};
use std::path::Path;

use llvm_sys::core::LLVMGetVersion;
use offkit_worker::{EmitOptions, PROTOCOL_VERSION, Part, Reply, Request};

use crate::Error;
use crate::codegen::{TargetMachine, set_spirv_extensions};
use crate::context::Context;
use crate::conversions;
use crate::module::Module;
use crate::split::take_part;

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
    /// The extensions that this process was last told to use.
    spirv_extensions: Vec<String>,
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
            Request::Emit {
                input,
                parts,
                options,
            } => {
                for part in parts {
                    self.emit(&context, input, part, options)?;
                }
                Ok(Reply::Done)
            }
        }
    }

    fn emit(
        &mut self,
        context: &Context,
        input: &Path,
        part: &Part,
        options: &EmitOptions,
    ) -> Result<(), Error> {
        if options.spirv_extensions != self.spirv_extensions {
            set_spirv_extensions(&options.spirv_extensions);
            self.spirv_extensions.clone_from(&options.spirv_extensions);
        }
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
}

fn llvm_version() -> String {
    let (mut major, mut minor, mut patch) = (0, 0, 0);
    // SAFETY: three valid places to write to.
    unsafe { LLVMGetVersion(&raw mut major, &raw mut minor, &raw mut patch) };
    format!("{major}.{minor}.{patch}")
}
