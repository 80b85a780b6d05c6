//! Requests in, replies out.

use std::io::{self, BufRead, Write};
use std::path::{Path, PathBuf};

use llvm_sys::core::LLVMGetVersion;
use offkit_llvm::{ModuleFile, PROTOCOL_VERSION, Reply, Request};

use crate::Error;
use crate::context::Context;
use crate::generate::generate;
use crate::link::Kept;
use crate::module::Module;
use crate::needs::needs;
use crate::prepare::prepare;
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
    /// What was linked last.
    kept: Option<Kept>,
    /// The file it was saved to. Then it is read again where it is needed: the processes that generate code are
    /// copies of this one, and are made the faster the less memory it has.
    saved: Option<PathBuf>,
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
            Request::Mark {
                input,
                output,
                module_id,
                only_annotated,
            } => {
                let mut module = Module::read(&context, input)?;
                crate::mark::mark(&mut module, module_id, *only_annotated);
                module.write(output)?;
                Ok(Reply::Done)
            }
            Request::Link { inputs, libraries } => {
                // What was kept before goes first: memory is for one module.
                self.forget();
                let kept = self.kept.insert(Kept::link(inputs, libraries)?);
                Ok(Reply::Linked {
                    inputs: kept.inputs().to_vec(),
                    module: kept.module().summary(),
                })
            }
            Request::Save { output } => {
                self.linked()?.write(output)?;
                self.forget();
                self.saved = Some(output.clone());
                Ok(Reply::Done)
            }
            Request::Print => Ok(Reply::Text {
                text: self.linked()?.to_text(),
            }),
            Request::Generate {
                parts,
                options,
                reproducers,
                keep,
            } => {
                if parts.iter().any(|part| part.input.is_none()) {
                    self.kept()?;
                }
                generate(&mut self.kept, parts, options, Some(reproducers), keep.as_deref())
            }
            Request::Needs { symbols } => Ok(Reply::Needs {
                needs: needs(self.linked()?, symbols),
            }),
        }
    }

    /// All of what was linked last.
    fn linked(&mut self) -> Result<&Module<'_>, Error> {
        self.kept()?.whole_module()
    }

    /// What was linked last; its function bodies may still be in the file.
    fn kept(&mut self) -> Result<&mut Kept, Error> {
        let kept = match (self.kept.take(), &self.saved) {
            (Some(kept), _) => kept,
            (None, Some(saved)) => Kept::link(&[named(saved)], &[])?,
            (None, None) => return Err(Error::new("nothing was linked")),
        };
        Ok(self.kept.insert(kept))
    }

    fn forget(&mut self) {
        self.kept = None;
        self.saved = None;
    }
}

/// A file that messages call by its path.
fn named(path: &Path) -> ModuleFile {
    ModuleFile {
        path: path.to_owned(),
        name: path.display().to_string(),
    }
}

fn llvm_version() -> String {
    let (mut major, mut minor, mut patch) = (0, 0, 0);
    // SAFETY: three valid places to write to.
    unsafe { LLVMGetVersion(&raw mut major, &raw mut minor, &raw mut patch) };
    format!("{major}.{minor}.{patch}")
}
