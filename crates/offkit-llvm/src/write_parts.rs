//! Parts of a module, taken out and written, several at a time.

use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;

use offkit_worker::{SpecializationConstantMode, SplitOptions, SplitPart, WrittenPart};

use crate::Error;
use crate::context::Context;
use crate::metadata::{add_named, add_named_number};
use crate::module::Module;
use crate::passes::clean_up;
use crate::specialization::{Lowering, intrinsics, lower};
use crate::split::take_contents;

/// Named metadata that says whether an image holds ESIMD functions.
const ESIMD_SPLIT_STATUS: &str = "sycl-esimd-split-status";

/// Takes the parts out of a prepared module and writes each.
///
/// Every part is made in a context of its own, from the file: what comes out does not depend on how many
/// are made at a time.
///
/// # Errors
///
/// Of the first part that cannot be made or written.
pub fn write_parts(
    input: &Path,
    parts: &[SplitPart],
    options: &SplitOptions,
) -> Result<Vec<WrittenPart>, Error> {
    let cores = || thread::available_parallelism().map_or(1, usize::from);
    let jobs = if options.jobs == 0 { cores() } else { options.jobs };
    let next = AtomicUsize::new(0);
    let written = Mutex::new(Vec::with_capacity(parts.len()));
    let work = || {
        while let Some((number, part)) = {
            let number = next.fetch_add(1, Ordering::Relaxed);
            parts.get(number).map(|part| (number, part))
        } {
            let result = write_part(input, part, options);
            let mut written = written.lock().unwrap_or_else(PoisonError::into_inner);
            written.push((number, result));
        }
    };
    thread::scope(|scope| {
        for _ in 1..jobs.min(parts.len()) {
            scope.spawn(work);
        }
        work();
    });
    let mut written = written.into_inner().unwrap_or_else(PoisonError::into_inner);
    written.sort_by_key(|(number, _)| *number);
    written.into_iter().map(|(_, result)| result).collect()
}

fn write_part(input: &Path, part: &SplitPart, options: &SplitOptions) -> Result<WrittenPart, Error> {
    let context = Context::new();
    // Opened once: the types of a second module would get other names in the same context.
    let source = Module::open(&context, input)?;
    // In the order of the whole module, which numbers the constants.
    let intrinsics = intrinsics(&source);
    let mut module = take_contents(source, part)?;
    for (name, nodes) in &part.named_metadata {
        // SAFETY: the module is alive, in its context.
        unsafe { add_named(module.context_raw(), module.as_raw(), name, nodes) };
    }
    if let Some(status) = part.esimd_split_status {
        // SAFETY: as above.
        unsafe { add_named_number(module.context_raw(), module.as_raw(), ESIMD_SPLIT_STATUS, status) };
    }
    let source_file = module.source_file();
    module.set_names(&options.name, &source_file);

    let mut written = WrittenPart::default();
    // What nothing needs is to number no constants.
    clean_up(&mut module)?;
    if let Some(output) = &part.default_constants_output {
        let mut copy = module.duplicate();
        if lower(&copy, &intrinsics, Lowering::Defaults)?.is_some() {
            clean_up(&mut copy)?;
            check(&copy, output)?;
            write(&copy, output, options)?;
            written.has_default_constants = true;
        }
    }
    if let Some(mode) = options.specialization_constants {
        let lowering = match mode {
            SpecializationConstantMode::Native => Lowering::Native,
            SpecializationConstantMode::Emulation => Lowering::Emulation,
        };
        if let Some(lowered) = lower(&module, &intrinsics, lowering)? {
            written.specialization_constants = lowered.constants;
            written.specialization_defaults = lowered.defaults;
            clean_up(&mut module)?;
            check(&module, &part.output)?;
        }
    }
    write(&module, &part.output, options)?;

    for global in module
        .globals()
        .filter(|global| !global.is_function() || !global.is_intrinsic())
    {
        let names = match (global.is_function(), global.is_declaration()) {
            (true, false) => &mut written.definitions,
            (true, true) => &mut written.declarations,
            (false, false) => &mut written.variables,
            (false, true) => &mut written.variable_declarations,
        };
        names.push(global.name());
    }
    Ok(written)
}

/// Checks what was made anew in a module; what was only taken over was checked before.
fn check(module: &Module<'_>, output: &Path) -> Result<(), Error> {
    module
        .verify()
        .map_err(|error| Error::new(format!("{}: {error}", output.display())))
}

fn write(module: &Module<'_>, output: &Path, options: &SplitOptions) -> Result<(), Error> {
    if options.text {
        module.write_text(output)
    } else {
        module.write(output)
    }
}
