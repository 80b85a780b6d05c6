//! Linking modules into one.

use std::collections::HashSet;
use std::ptr;
use std::rc::Rc;

use offkit_llvm::{Linkage, ModuleFile, ModuleSummary};

use crate::Error;
use crate::beyond_c::Linker;
use crate::context::Context;
use crate::module::{Global, Module};
use crate::processor::Processor;

/// The linked module, and what was in each input.
#[derive(Debug)]
pub struct Linked<'context> {
    /// Everything of the inputs and what is needed of the libraries.
    pub module: Module<'context>,
    /// In the order of the inputs.
    pub inputs: Vec<ModuleSummary>,
    /// Whether function bodies are still in the file: so they stay of a single input.
    pub is_lazy: bool,
}

impl Linked<'_> {
    /// Reads what is still in the file.
    ///
    /// # Errors
    ///
    /// A function body that cannot be read.
    pub fn complete(&mut self) -> Result<(), Error> {
        if self.is_lazy {
            let whole = Module::like(&self.module, "linked");
            let lazy = std::mem::replace(&mut self.module, whole);
            self.module.link(lazy)?;
            self.is_lazy = false;
        }
        Ok(())
    }
}

/// A linked module with the context that it lives in.
#[derive(Debug)]
pub struct Kept {
    // Dropped before the context, which comes after it.
    linked: Linked<'static>,
    _context: Rc<Context>,
}

impl Kept {
    /// Links as [`link`] does.
    ///
    /// # Errors
    ///
    /// Those of [`link`].
    pub fn link(inputs: &[ModuleFile], libraries: &[ModuleFile]) -> Result<Self, Error> {
        let context = Rc::new(Context::new());
        // SAFETY: the context is in the heap, kept there by the reference count that is kept beside the module
        // and given up after it; the longer lifetime does not leave this type.
        let borrowed: &'static Context = unsafe { &*ptr::from_ref(&*context) };
        Ok(Self {
            linked: link(borrowed, inputs, libraries)?,
            _context: context,
        })
    }

    /// The module; its function bodies may still be in the file.
    pub fn module(&self) -> &Module<'_> {
        &self.linked.module
    }

    /// The module, all of it.
    ///
    /// # Errors
    ///
    /// Those of [`Linked::complete`].
    pub fn whole_module(&mut self) -> Result<&Module<'_>, Error> {
        self.linked.complete()?;
        Ok(&self.linked.module)
    }

    /// What was in each input.
    pub fn inputs(&self) -> &[ModuleSummary] {
        &self.linked.inputs
    }

    /// Hands the module over.
    pub fn with<T>(self, act: impl for<'context> FnOnce(Module<'context>) -> T) -> T {
        act(self.linked.module)
    }
}

/// Links all of the inputs, and of the libraries what these need.
///
/// # Errors
///
/// What [`Module::open`] reports, and for what cannot be linked LLVM's message with the names of the modules
/// that are in each other's way.
pub fn link<'context>(
    context: &'context Context,
    inputs: &[ModuleFile],
    libraries: &[ModuleFile],
) -> Result<Linked<'context>, Error> {
    let [first, ..] = inputs else {
        return Err(Error::new("nothing to link"));
    };
    // Into an empty module, so that every input is read lazily, the first one too.
    let first = open(context, first)?;
    let empty = Module::like(&first, "linked");
    if let ([_], []) = (inputs, libraries) {
        return Ok(Linked {
            inputs: vec![first.summary()],
            module: first,
            is_lazy: true,
        });
    }
    drop(first);
    let mut linker = Linker::new(empty);
    let mut summaries = Vec::new();
    for (number, file) in inputs.iter().enumerate() {
        let input = open(context, file)?;
        summaries.push(input.summary());
        linker.link(input).map_err(|error| {
            let earlier = inputs.get(..number).unwrap_or_default();
            in_each_others_way(earlier, file).unwrap_or_else(|| named(file, &error))
        })?;
    }
    link_libraries(context, &mut linker, libraries)?;
    Ok(Linked {
        module: linker.finish(),
        inputs: summaries,
        is_lazy: false,
    })
}

fn open<'context>(context: &'context Context, file: &ModuleFile) -> Result<Module<'context>, Error> {
    Module::open_named(context, &file.path, &file.name)
}

fn named(file: &ModuleFile, error: &Error) -> Error {
    Error::new(format!("{}: {error}", file.name))
}

/// Which of the earlier modules the new one cannot be linked with: LLVM names one at most, so each is tried alone.
fn in_each_others_way(earlier: &[ModuleFile], new: &ModuleFile) -> Option<Error> {
    earlier.iter().find_map(|old| {
        let context = Context::new();
        let mut module = open(&context, old).ok()?;
        let error = module.link(open(&context, new).ok()?).err()?;
        Some(Error::new(format!("{error} ({} and {})", old.name, new.name)))
    })
}

/// Links what is needed of each library, again until nothing more is needed: libraries may need each other. The first
/// library that defines a symbol supplies it.
fn link_libraries<'context>(
    context: &'context Context,
    linker: &mut Linker<'context>,
    libraries: &[ModuleFile],
) -> Result<(), Error> {
    if libraries.is_empty() {
        return Ok(());
    }
    let processor = Processor::of(linker.module());
    let needed_by = |linker: &Linker<'_>| -> HashSet<String> {
        let declarations = linker.module().globals().filter(|global| global.is_declaration());
        declarations.map(|global| global.name()).collect()
    };
    // What each defines, once that is known: it is opened again only where it is needed.
    let mut definitions: Vec<Option<HashSet<String>>> = vec![None; libraries.len()];
    let mut needed = needed_by(linker);
    loop {
        let mut has_added = false;
        for (file, known) in libraries.iter().zip(&mut definitions) {
            if known.as_ref().is_some_and(|known| known.is_disjoint(&needed)) {
                continue;
            }
            let library = open(context, file)?;
            let is_needed = needed
                .iter()
                .any(|name| library.global(name).is_some_and(may_be_needed));
            if libraries.len() > 1 {
                let defined = library.globals().filter(|global| may_be_needed(*global));
                let mut defined: HashSet<String> = defined.map(|global| global.name()).collect();
                // What stays open although it is defined is not looked for again.
                defined.retain(|name| !needed.contains(name));
                *known = Some(defined);
            }
            if !is_needed {
                continue;
            }
            // A definition with this linkage comes along where it is used, and only there.
            for global in library.globals().filter(|global| may_be_needed(*global)) {
                if global.linkage() != Linkage::LinkOnce {
                    global.set_linkage(Linkage::LinkOnce);
                }
            }
            processor.adopt(&library);
            linker.link(library).map_err(|error| named(file, &error))?;
            needed = needed_by(linker);
            has_added = true;
        }
        // One library cannot need what it has itself.
        if !has_added || libraries.len() == 1 {
            return Ok(());
        }
    }
}

/// Whether another module can need what a library has there.
fn may_be_needed(global: Global<'_>) -> bool {
    !global.is_declaration()
        && !matches!(
            global.linkage(),
            Linkage::Internal | Linkage::Appending | Linkage::AvailableExternally
        )
}
