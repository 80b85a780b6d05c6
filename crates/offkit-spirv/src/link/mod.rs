//! Linking: several modules become one, and what one imports is what another exports.

mod adapt;
mod annotate;
mod check;
mod error;
mod finish;
mod functions;
mod merge;
mod resolve;

use crate::dr;

pub use error::{LinkError, UnresolvedSymbol};

use crate::index::Index;
use crate::module::Module;
use merge::Merger;

/// One module to link, with the name that messages call it by.
#[derive(Clone, Copy, Debug)]
pub struct LinkInput<'a> {
    /// What to call the module in messages; a file name or a location.
    pub label: &'a str,
    /// The module.
    pub module: &'a Module,
}

/// How to link.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct LinkOptions {
    /// Let imports that no module exports stay imports, instead of failing.
    pub allow_unresolved: bool,
    /// Keep exports visible to modules linked later: makes a library instead of an executable.
    pub keep_exports: bool,
}

impl LinkOptions {
    /// The same, with [`allow_unresolved`](Self::allow_unresolved) as given.
    #[must_use]
    pub fn with_allow_unresolved(self, allow_unresolved: bool) -> Self {
        Self {
            allow_unresolved,
            ..self
        }
    }

    /// The same, with [`keep_exports`](Self::keep_exports) as given.
    #[must_use]
    pub fn with_keep_exports(self, keep_exports: bool) -> Self {
        Self { keep_exports, ..self }
    }
}

/// A module being linked.
struct Input<'a> {
    label: &'a str,
    module: &'a dr::Module,
    index: Index<'a>,
}

/// Links modules into one.
///
/// Imports get the export of the same name, wherever it is; modules may need each other. Of definitions that may
/// occur several times (`LinkOnceODR`) the first is kept, unless there is an export. Types, constants, strings and
/// instruction sets that several modules have in common are merged, as are their built-in variables. The copies that
/// clang makes of kernels (`__clang_ocl_kern_imp_…`) are never visible to other modules.
///
/// The type of an import has to be that of the export, with two differences allowed, since compilers write them into
/// modules that belong together: LLVM guesses from its uses what a pointer points to, so pointers to the same kind of
/// memory agree whatever they point to; and it forgets the type of an array declared without length. Both are bridged
/// by casts in the importing module.
///
/// Specialization constants of the same number become settable together; [`specialize`](crate::specialize) the modules
/// first to keep them apart.
///
/// The result is written in the newest SPIR-V version of the inputs and carries the generator of the first. Symbols
/// that remain imports, and with [`LinkOptions::keep_exports`] the exports, keep their linkage. Names that begin with
/// `__spirv_`, and the functions of OpenCL C that LLVM leaves to the device
/// ([`is_opencl_builtin`](crate::is_opencl_builtin)), may always stay imports.
///
/// # Errors
///
/// [`LinkError`], which names the symbols and the modules.
pub fn link(inputs: &[LinkInput<'_>], options: LinkOptions) -> Result<Module, LinkError> {
    let inputs: Vec<Input<'_>> = inputs
        .iter()
        .map(|input| Input {
            label: input.label,
            module: input.module.dr(),
            index: Index::new(input.module.dr()),
        })
        .collect();
    check::check(&inputs)?;
    let resolution = resolve::resolve(&inputs)?;
    let mut merger = Merger::new(&inputs, &resolution);
    merger.merge_preamble();
    // Types before anything that has one: only when those that modules have in common are one can an import's type be
    // compared with its export's. Imports get the ids of their exports then, before values and bodies mention them.
    merger.merge_types();
    let adapters = adapt::adapt(&mut merger, &resolution)?;
    merger.merge_values();
    functions::merge_functions(&mut merger, &adapters);
    merger.merge_entry_points();
    annotate::merge_annotations(&mut merger, options)?;
    let module = finish::finish(merger)?;
    // Last: the ways from kernels to what is missing go through several modules, and are in the
    // whole one.
    if !options.allow_unresolved {
        finish::check_unresolved(&inputs, &resolution, &module)?;
    }
    Ok(Module::from_dr(module))
}
