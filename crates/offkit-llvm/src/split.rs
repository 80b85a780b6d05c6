//! Taking some symbols and all that they need out of a module.
//!
//! LLVM's linker imports a definition with `linkonce` linkage only if the destination refers to it.
//! So a part is made by opening the module lazily, giving every definition but the wanted ones that
//! linkage, and linking the result into an empty module: only the wanted bodies and what they reach
//! are ever read. Afterwards the wanted symbols are external again and everything else is internal.
//! Compared with cloning the module for every part and deleting the rest, 64 parts of a module of
//! 3,809 functions take a tenth of the time.

use std::collections::HashSet;
use std::path::Path;

use offkit_worker::Linkage;

use crate::Error;
use crate::context::Context;
use crate::module::Module;

/// Takes `roots`, and what they need except `left_out`, out of the module in `path`.
///
/// In the result the roots are external, other definitions internal, and what is left out is a
/// copy for the optimiser (`available_externally`) until [`crate::codegen`] turns it into a
/// declaration.
///
/// # Errors
///
/// A root that the module does not define; what [`Module::open`] and [`Module::link`] report.
pub fn take_part<'context>(
    context: &'context Context,
    path: &Path,
    roots: &[String],
    left_out: &[String],
) -> Result<Module<'context>, Error> {
    let source = Module::open(context, path)?;
    take_part_of(source, roots, left_out).map_err(|error| Error::new(format!("{}: {error}", path.display())))
}

/// The same out of a module that was read already, or partly.
///
/// # Errors
///
/// A root that the module does not define; what [`Module::link`] reports.
pub fn take_part_of<'context>(
    source: Module<'context>,
    roots: &[String],
    left_out: &[String],
) -> Result<Module<'context>, Error> {
    let roots: HashSet<&str> = roots.iter().map(String::as_str).collect();
    let left_out: HashSet<&str> = left_out.iter().map(String::as_str).collect();

    let mut missing = roots.clone();
    for global in source.globals().filter(|global| !global.is_declaration()) {
        let name = global.name();
        if roots.contains(name.as_str()) {
            missing.remove(name.as_str());
            // Also for a root that was `linkonce`: it is wanted whether or not it is used.
            global.set_linkage(Linkage::External);
        } else if left_out.contains(name.as_str()) {
            global.set_linkage(Linkage::AvailableExternally);
        } else if !matches!(global.linkage(), Linkage::Internal | Linkage::Appending) {
            global.set_linkage(Linkage::LinkOnce);
        }
    }
    if let Some(name) = missing.into_iter().min() {
        return Err(Error::new(format!("no definition of `{name}`")));
    }

    let mut part = Module::like(&source, "part");
    part.link(source)?;
    for global in part.globals().filter(|global| !global.is_declaration()) {
        if global.linkage() == Linkage::LinkOnce {
            global.set_linkage(Linkage::Internal);
        }
    }
    Ok(part)
}
