//! Modules that are kept between requests.

use std::sync::Arc;

use offkit_llvm::{Diagnostic, ModuleSummary};

use crate::Error;
use crate::buffer::Buffer;
use crate::context::Context;
use crate::describe::describe;
use crate::diagnostics::AssemblyPlaces;
use crate::link::{Input, link};
use crate::lists::leave_lists_of;
use crate::mark::mark;
use crate::module::Module;
use crate::sanitizers;

/// A module that is kept: as bitcode, in memory, or both.
///
/// Parts are taken out of bitcode, which is read as far as they need it, and by several at a time; the processes that
/// generate code are copies of this one, and are made the faster the less memory it has. What all of a module is wanted
/// for works on the module in memory.
#[derive(Debug)]
pub struct Kept {
    name: String,
    // One of them is there.
    module: Option<Module>,
    bitcode: Option<Arc<Buffer>>,
}

/// What is told of a module when it is opened.
#[derive(Clone, Debug)]
pub struct Told {
    /// What was in each input.
    pub inputs: Vec<ModuleSummary>,
    /// What is in the whole.
    pub summary: ModuleSummary,
    /// What LLVM had to say.
    pub diagnostics: Vec<Diagnostic>,
}

impl Kept {
    /// Reads a module, or links several, or one with what it needs of libraries. With `bodies`, the summary of the
    /// whole looks into them, the module is checked, and what sanitizers left in it is made ready to be split.
    ///
    /// # Errors
    ///
    /// Those of [`link`], and what the verifier finds.
    pub fn open(inputs: &[Input], libraries: &[Input], bodies: bool) -> Result<(Self, Told), Error> {
        let context = Context::new();
        let (name, module, inputs, mut bitcode) = match (inputs, libraries) {
            ([input], []) => {
                let module = match bodies {
                    // A body that isn't read yet can neither be checked nor described.
                    true => Module::parse(&context, &input.buffer, &input.name)?,
                    false => input.open(&context)?,
                };
                let summaries = vec![module.summary()];
                // It stays where it is, and is read again where it is needed.
                let bitcode = input.buffer.is_bitcode().then(|| Arc::clone(&input.buffer));
                (input.name.clone(), module, summaries, bitcode)
            }
            _ => {
                let (module, summaries) = link(&context, inputs, libraries)?;
                ("linked".to_owned(), module, summaries, None)
            }
        };
        let summary = match bodies {
            true => {
                // What was read is not what the module is any more.
                if sanitizers::prepare(&module) {
                    bitcode = None;
                }
                module.verify().map_err(|error| error.of(&name))?;
                let mut summary = describe(&module);
                // Of the summary alone: the module keeps its lists for whoever wants it as a whole.
                leave_lists_of(&mut summary);
                summary
            }
            false => module.summary(),
        };
        let diagnostics = AssemblyPlaces::default().diagnostics(&module, false)?;
        let kept = Self {
            name,
            module: bitcode.is_none().then_some(module),
            bitcode,
        };
        let told = Told {
            inputs,
            summary,
            diagnostics,
        };
        Ok((kept, told))
    }

    /// What messages call it.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The module, all of it. One that was read from one input comes out as if it was linked: without inline functions
    /// that nothing in it uses.
    ///
    /// # Errors
    ///
    /// A function body that cannot be read.
    pub fn whole(&mut self) -> Result<&Module, Error> {
        let module = match (self.module.take(), &self.bitcode) {
            (Some(module), _) => module,
            (None, Some(bitcode)) => {
                let source = Module::open(&Context::new(), bitcode, &self.name)?;
                let mut whole = Module::like(&source, "linked");
                whole.link(source).map_err(|error| error.of(&self.name))?;
                whole
            }
            (None, None) => return Err(Error::new("the module was taken")),
        };
        Ok(self.module.insert(module))
    }

    /// The same for a process that does nothing else with it.
    ///
    /// # Errors
    ///
    /// Those of [`whole`](Self::whole).
    pub fn take_whole(&mut self) -> Result<Module, Error> {
        self.whole()?;
        (self.module.take()).ok_or_else(|| Error::new("the module was taken"))
    }

    /// The module as bitcode, to take parts out of.
    pub fn bitcode(&mut self) -> Result<Arc<Buffer>, Error> {
        match (&self.bitcode, &self.module) {
            (Some(bitcode), _) => Ok(Arc::clone(bitcode)),
            (None, Some(module)) => Ok(Arc::clone(self.bitcode.insert(module.to_bitcode()))),
            (None, None) => Err(Error::new("the module was taken")),
        }
    }

    /// Keeps the bitcode only, where there is any.
    pub fn give_memory_back(&mut self) {
        if self.bitcode.is_some() {
            self.module = None;
        }
    }

    /// Marks what the module offers to others; see [`mark`].
    ///
    /// # Errors
    ///
    /// The module cannot be read.
    pub fn mark(&mut self, source: &str, only_annotated: bool) -> Result<(), Error> {
        let mut module = match (self.module.take(), &self.bitcode) {
            (Some(module), _) => module,
            // As it is, not as if it was linked: nothing that is in it is to go.
            (None, Some(bitcode)) => Module::parse(&Context::new(), bitcode, &self.name)?,
            (None, None) => return Err(Error::new("the module was taken")),
        };
        mark(&mut module, source, only_annotated);
        self.module = Some(module);
        self.bitcode = None;
        Ok(())
    }
}
