//! Parts of a module, taken out and emitted, several at a time.

use std::collections::HashSet;
use std::sync::Arc;

use offkit_image::Family;
use offkit_llvm::{EmittedPart, Form, Linkage, Part, Reply, SpecializationConstantMode};

use crate::Error;
use crate::buffer::Buffer;
use crate::context::Context;
use crate::generate::generate;
use crate::groups::{in_parallel, sources};
use crate::kept::Kept;
use crate::metadata::{add_named, add_named_number};
use crate::module::{Global, Module};
use crate::passes::clean_up;
use crate::specialization::{intrinsics, lower};
use crate::split::take;

/// Named metadata that says whether an image holds ESIMD functions.
const ESIMD_SPLIT_STATUS: &str = "sycl-esimd-split-status";

/// What is emitted of a part: what is told of it, and its content.
pub(crate) type Emitted = (EmittedPart, Vec<u8>);

/// Takes the parts out of a module and emits each.
///
/// Every part with contents of its own is made in a context of its own, from bitcode: what comes out does not depend
/// on how many are made at a time.
///
/// # Errors
///
/// Of the first part that cannot be made. That a process ended is not one: [`Reply::Crashed`] tells.
pub fn emit(
    kept: &mut Kept,
    parts: &[Part],
    form: &Form,
    jobs: usize,
) -> Result<(Reply, Vec<Vec<u8>>), Error> {
    let origins = Origins::of(kept, parts, jobs)?;
    let emitted = match form {
        Form::Code(options) => match generate(kept, parts, &origins, options, jobs)? {
            Ok(generated) => generated,
            Err(crashed) => return Ok((crashed, Vec::new())),
        },
        Form::Bitcode | Form::Text => {
            let made = in_parallel(parts.len(), jobs, |number| {
                // Parts that are all of the module are made of the one that is in memory, which
                // threads can't share: they come below, one after the other.
                let source = origins.sources[number].as_ref()?;
                Some(
                    origins
                        .make_out_of(source, &parts[number])
                        .map(|made| made.write(form)),
                )
            });
            let mut emitted = Vec::new();
            for (made, part) in made.into_iter().zip(parts) {
                emitted.push(match made {
                    Some(made) => made?,
                    None => emit_whole(kept, part, form)?,
                });
            }
            emitted
        }
    };
    let (told, contents) = emitted.into_iter().unzip();
    Ok((Reply::Emitted(told), contents))
}

/// Emits a part that is all of a module.
fn emit_whole(kept: &mut Kept, part: &Part, form: &Form) -> Result<Emitted, Error> {
    let (name, module) = (kept.name().to_owned(), kept.whole()?);
    let unchanged = Part {
        roots: part.roots.clone(),
        ..Part::default()
    };
    // Nothing of it changes, so that the module itself is written and not a copy.
    if *part == unchanged {
        let mut told = EmittedPart::default();
        tell_symbols(module, &mut told);
        tell_ends(module, &mut told);
        return Ok((told, written(module, form)));
    }
    Ok(Made::whole(module.duplicate(), part, &name)?.write(form))
}

/// What parts are taken out of.
pub(crate) struct Origins {
    /// What the module is called.
    name: String,
    /// For each part with contents of its own, bitcode that has them.
    pub(crate) sources: Vec<Option<Arc<Buffer>>>,
    /// The functions that get values of specialization constants in the order of the whole module, which numbers the
    /// constants.
    intrinsics: Vec<String>,
}

impl Origins {
    fn of(kept: &mut Kept, parts: &[Part], jobs: usize) -> Result<Self, Error> {
        let mut origins = Self {
            name: kept.name().to_owned(),
            sources: vec![None; parts.len()],
            intrinsics: Vec::new(),
        };
        let named: Vec<&Part> = parts.iter().filter(|part| part.contents.is_some()).collect();
        if named.is_empty() {
            return Ok(origins);
        }
        let bitcode = kept.bitcode()?;
        // Parts are read from the bitcode: with the module gone, the processes that generate code
        // are copies of a smaller one.
        kept.give_memory_back();
        let symbols = {
            let module = Module::open(&Context::new(), &bitcode, &origins.name)?;
            origins.intrinsics = intrinsics(&module);
            let defined: HashSet<String> = (module.globals())
                .filter(|global| !global.is_declaration())
                .map(|global| global.name())
                .collect();
            // `take` goes by what the module has: it would pass over a name that isn't there.
            named.iter().try_for_each(|part| check_names(part, &defined))?;
            module.globals().count()
        };
        let mut sources = sources(&bitcode, symbols, &named, jobs)?.into_iter();
        for (part, source) in parts.iter().zip(&mut origins.sources) {
            if part.contents.is_some() {
                *source = sources.next();
            }
        }
        Ok(origins)
    }

    /// The same for one of the parts, as the first.
    pub(crate) fn alone(&self, number: usize) -> Self {
        Self {
            name: self.name.clone(),
            sources: vec![self.sources.get(number).cloned().flatten()],
            intrinsics: self.intrinsics.clone(),
        }
    }

    /// Takes a part out of bitcode that has its contents.
    pub(crate) fn make_out_of(&self, source: &Arc<Buffer>, part: &Part) -> Result<Made, Error> {
        // Opened once: the types of a second module would get other names in the same context.
        let source = Module::open(&Context::new(), source, &self.name)?;
        let taken = take(source, part).map_err(|error| error.of(&self.name))?;
        Made::new(taken, part, &self.name, &self.intrinsics)
    }

    /// Makes a part in a process that does nothing else with the module.
    pub(crate) fn make(&self, number: usize, part: &Part, kept: &mut Kept) -> Result<Made, Error> {
        match self.sources.get(number).and_then(Option::as_ref) {
            Some(source) => self.make_out_of(source, part),
            None => Made::whole(kept.take_whole()?, part, &self.name),
        }
    }
}

/// Checks that the module defines all that a part is to have, or to leave to others.
fn check_names(part: &Part, defined: &HashSet<String>) -> Result<(), Error> {
    let contents = part.contents.iter().chain(&part.visible).flatten();
    let others = part
        .entry_points
        .iter()
        .chain(&part.externalized)
        .chain(&part.emptied)
        .chain(&part.left_out);
    match contents.chain(others).find(|name| !defined.contains(*name)) {
        Some(missing) => Err(Error::new(format!("no definition of `{missing}`"))),
        None => Ok(()),
    }
}

/// A part as it was taken out of its module.
pub(crate) struct Made {
    pub(crate) module: Module,
    pub(crate) told: EmittedPart,
}

impl Made {
    /// All of a module.
    fn whole(module: Module, part: &Part, name: &str) -> Result<Self, Error> {
        let intrinsics = intrinsics(&module);
        Self::new(take(module, part)?, part, name, &intrinsics)
    }

    fn new(mut module: Module, part: &Part, name: &str, intrinsics: &[String]) -> Result<Self, Error> {
        for (name, nodes) in &part.named_metadata {
            add_named(&module, name, nodes);
        }
        if let Some(status) = part.esimd_split_status {
            add_named_number(&module, ESIMD_SPLIT_STATUS, status);
        }
        let source_file = module.source_file();
        module.set_names(name, &source_file);

        let mut told = EmittedPart::default();
        // What nothing needs is to number no constants.
        if part.contents.is_some() || !part.left_out.is_empty() {
            clean_up(&mut module)?;
        }
        if let Some(mode) = part.specialization_constants
            && let Some(lowered) = lower(&module, intrinsics, mode)?
        {
            // With default values in their place, the runtime has nothing to set.
            if mode != SpecializationConstantMode::Defaults {
                told.specialization_constants = lowered.constants;
                told.specialization_defaults = lowered.defaults;
            }
            clean_up(&mut module)?;
            // Of what was made anew; what was only taken over was checked before.
            module.verify().map_err(|error| error.of(name))?;
        }
        tell_symbols(&module, &mut told);
        Ok(Self { module, told })
    }

    fn write(mut self, form: &Form) -> Emitted {
        tell_ends(&self.module, &mut self.told);
        (self.told, written(&self.module, form))
    }
}

fn written(module: &Module, form: &Form) -> Vec<u8> {
    match form {
        Form::Text => module.to_text(),
        Form::Bitcode | Form::Code(_) => module.to_bitcode().bytes().to_vec(),
    }
}

/// Tells what a part has, and what it declares.
fn tell_symbols(module: &Module, told: &mut EmittedPart) {
    for global in module
        .globals()
        .filter(|global| !global.is_function() || !global.is_intrinsic())
    {
        let names = match (global.is_function(), global.is_declaration()) {
            (true, false) => &mut told.definitions,
            (true, true) => &mut told.declarations,
            (false, false) => &mut told.variables,
            (false, true) => &mut told.variable_declarations,
        };
        names.push(global.name());
    }
}

/// Tells what a module needs and offers.
pub(crate) fn tell_ends(module: &Module, told: &mut EmittedPart) {
    let family = Family::of(&module.triple());
    let is_told = |global: &Global<'_>| !global.is_llvms() && !global.is_memory_of_launch(family);
    for global in module.globals().filter(is_told) {
        if global.is_declaration() {
            told.imports.push(global.name());
        } else if global.linkage() != Linkage::Internal {
            told.exports.push(global.name());
        }
    }
}
