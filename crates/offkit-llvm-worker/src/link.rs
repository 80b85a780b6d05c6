//! Linking modules into one.

use std::collections::HashSet;
use std::ffi::CStr;
use std::sync::Arc;

use offkit_image::Family;
use offkit_llvm::{Linkage, Metadata, ModuleSummary};

use crate::Error;
use crate::beyond_c::{Linker, remove_named_metadata};
use crate::buffer::Buffer;
use crate::context::Context;
use crate::metadata;
use crate::module::{Global, Module};
use crate::processor::Processor;

/// A module to link.
#[derive(Clone, Debug)]
pub struct Input {
    /// What messages call it.
    pub name: String,
    /// Where it is read from.
    pub buffer: Arc<Buffer>,
}

impl Input {
    /// Opens it lazily.
    pub(crate) fn open(&self, context: &Context) -> Result<Module, Error> {
        Module::open(context, &self.buffer, &self.name)
    }
}

/// Links all of the inputs, and of the libraries what these need. Also what was in each input.
///
/// # Errors
///
/// What [`Module::open`] reports, and for what cannot be linked LLVM's message with the names of the modules
/// that are in each other's way.
pub fn link(
    context: &Context,
    inputs: &[Input],
    libraries: &[Input],
) -> Result<(Module, Vec<ModuleSummary>), Error> {
    let [first, ..] = inputs else {
        return Err(Error::new("nothing to link"));
    };
    // Into an empty module, so that every input is read lazily, the first one too.
    let mut linker = Linker::new(Module::like(&first.open(context)?, "linked"));
    let mut summaries = Vec::new();
    for (number, file) in inputs.iter().enumerate() {
        let mut input = file.open(context)?;
        summaries.push(input.summary());
        // Two spellings of one target; LLVM would warn of each.
        if Family::of(&input.triple()) == Family::of(&linker.module().triple()) {
            input.set_triple(&linker.module().triple());
        }
        linker.link(input).map_err(|error| {
            let earlier = inputs.get(..number).unwrap_or_default();
            in_each_others_way(earlier, file).unwrap_or_else(|| named(file, &error))
        })?;
    }
    // Read before the libraries add theirs to the list.
    let language = language(linker.module());
    link_libraries(context, &mut linker, libraries)?;
    let module = linker.finish();
    if !libraries.is_empty() {
        set_language(&module, &language);
    }
    Ok((module, summaries))
}

/// Where a module says which version of OpenCL C it is.
const LANGUAGE: &CStr = c"opencl.ocl.version";

fn language(module: &Module) -> Vec<Metadata> {
    let mut lists = metadata::named(module, &mut metadata::Reader::new());
    lists.remove(&*LANGUAGE.to_string_lossy()).unwrap_or_default()
}

/// Libraries come in a language of their own, which is not the program's: drivers read C++ in another way than OpenCL C.
fn set_language(module: &Module, language: &[Metadata]) {
    remove_named_metadata(module, LANGUAGE);
    metadata::add_named(module, &LANGUAGE.to_string_lossy(), language);
}

fn named(file: &Input, error: &Error) -> Error {
    error.of(&file.name)
}

/// Which of the earlier modules the new one cannot be linked with: LLVM names one at most, so each is tried alone.
fn in_each_others_way(earlier: &[Input], new: &Input) -> Option<Error> {
    earlier.iter().find_map(|old| {
        let context = Context::new();
        let mut module = old.open(&context).ok()?;
        let error = module.link(new.open(&context).ok()?).err()?;
        Some(Error::new(format!("{error} ({} and {})", old.name, new.name)))
    })
}

/// Links what is needed of each library, again until nothing more is needed: libraries may need each other. The first
/// library that defines a symbol supplies it.
fn link_libraries(context: &Context, linker: &mut Linker, libraries: &[Input]) -> Result<(), Error> {
    if libraries.is_empty() {
        return Ok(());
    }
    let processor = Processor::of(linker.module());
    let needed_by = |linker: &Linker| -> HashSet<String> {
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
            let mut library = file.open(context)?;
            let is_needed = needed
                .iter()
                .any(|name| library.global(name).is_some_and(may_be_needed));
            // With one library there is no second round that would ask.
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
            // Libraries are written for many targets, and name one like it, or an older layout of the same.
            library.set_target_like(linker.module());
            let before: HashSet<_> = defined_functions(linker.module())
                .map(|function| function.as_raw())
                .collect();
            linker.link(library).map_err(|error| named(file, &error))?;
            // Of thousands of functions a handful has come along.
            let module = linker.module();
            let new = defined_functions(module).filter(|function| !before.contains(&function.as_raw()));
            processor.adopt(module, new);
            // One library cannot need what it has itself.
            if libraries.len() == 1 {
                return Ok(());
            }
            needed = needed_by(linker);
            has_added = true;
        }
        if !has_added {
            return Ok(());
        }
    }
}

fn defined_functions(module: &Module) -> impl Iterator<Item = Global<'_>> {
    let functions = module.globals().filter(Global::is_function);
    functions.filter(|function| !function.is_declaration())
}

/// Whether another module can need what a library has there.
fn may_be_needed(global: Global<'_>) -> bool {
    !global.is_declaration()
        && !matches!(
            global.linkage(),
            Linkage::Internal | Linkage::Appending | Linkage::AvailableExternally
        )
}
