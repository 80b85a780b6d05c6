//! Parts of a module, taken out and written, several at a time.
//!
//! Opening a module, however lazily, reads all of its symbols. So that many parts do not each read those of all
//! others, parts of a module with many are taken out in steps: first files that each have what some of the parts
//! need, of these smaller ones, and the parts themselves of the last.

use std::collections::HashSet;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;

use offkit_llvm::{SpecializationConstantMode, SplitOptions, SplitPart, WrittenPart};

use crate::Error;
use crate::context::Context;
use crate::metadata::{add_named, add_named_number};
use crate::module::Module;
use crate::passes::clean_up;
use crate::specialization::{Lowering, intrinsics, lower};
use crate::split::take_contents;

/// Named metadata that says whether an image holds ESIMD functions.
const ESIMD_SPLIT_STATUS: &str = "sycl-esimd-split-status";

/// The greatest number of parts that are taken out of one file.
const MOST_PARTS: usize = 64;

/// Into how many smaller files one with too many parts is divided.
const DIVISIONS: usize = 32;

/// Takes the parts out of a prepared module and writes each.
///
/// Every part is made in a context of its own, from a file: what comes out does not depend on how many
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
    let (intrinsics, symbols) = {
        let context = Context::new();
        let module = Module::open(&context, input)?;
        // In the order of the whole module, which numbers the constants.
        (intrinsics(&module), module.globals().count())
    };
    let folder = tempfile::tempdir_in(input.parent().unwrap_or(input))
        .map_err(|error| Error::new(format!("cannot make a temporary folder: {error}")))?;
    let mut groups = vec![Group {
        input: input.to_owned(),
        parts: 0..parts.len(),
        symbols,
    }];
    let mut files = 0;
    while groups.iter().any(|group| group.parts.len() > MOST_PARTS) {
        let mut divided = Vec::new();
        for group in groups {
            let size = match group.parts.len() {
                ..=MOST_PARTS => group.parts.len(),
                count => count.div_ceil(DIVISIONS),
            };
            for start in group.parts.clone().step_by(size.max(1)) {
                files += 1;
                let name = folder.path().join(format!("{files}.bc"));
                divided.push((
                    group.input.clone(),
                    group.symbols,
                    start..(start + size).min(group.parts.end),
                    name,
                ));
            }
        }
        let made = in_parallel(divided.len(), options.jobs, |number| {
            let (input, symbols, range, output) = &divided[number];
            let parts = parts.get(range.clone()).unwrap_or_default();
            write_group(input, *symbols, parts, output).map(|(input, symbols)| Group {
                input,
                parts: range.clone(),
                symbols,
            })
        });
        groups = made.into_iter().collect::<Result<_, _>>()?;
    }
    let inputs: Vec<&Path> = (groups.iter())
        .flat_map(|group| group.parts.clone().map(|_| group.input.as_path()))
        .collect();
    let written = in_parallel(parts.len(), options.jobs, |number| {
        write_part(inputs[number], &parts[number], &intrinsics, options)
    });
    written.into_iter().collect()
}

/// A file, and the parts that are taken out of it.
struct Group {
    input: PathBuf,
    parts: Range<usize>,
    /// How many symbols it has, about.
    symbols: usize,
}

/// Does `work` for each number below `count`, some at a time, and returns what it returned, in order.
fn in_parallel<T: Send>(count: usize, jobs: usize, work: impl Fn(usize) -> T + Sync) -> Vec<T> {
    let cores = || thread::available_parallelism().map_or(1, usize::from);
    let jobs = if jobs == 0 { cores() } else { jobs };
    let next = AtomicUsize::new(0);
    let done = Mutex::new(Vec::with_capacity(count));
    let take = || {
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            if number >= count {
                return;
            }
            let result = work(number);
            done.lock()
                .unwrap_or_else(PoisonError::into_inner)
                .push((number, result));
        }
    };
    thread::scope(|scope| {
        for _ in 1..jobs.min(count) {
            scope.spawn(take);
        }
        take();
    });
    let mut done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
    done.sort_by_key(|(number, _)| *number);
    done.into_iter().map(|(_, result)| result).collect()
}

/// Writes a file with all that these parts need, and returns it with the number of its symbols. Where that would be
/// much the same as the input, which has so many symbols, it is the input.
fn write_group(
    input: &Path,
    symbols: usize,
    parts: &[SplitPart],
    output: &Path,
) -> Result<(PathBuf, usize), Error> {
    let mut seen = HashSet::new();
    let contents = parts.iter().flat_map(|part| &part.contents);
    let contents: Vec<String> = contents.filter(|name| seen.insert(*name)).cloned().collect();
    let left_out = parts.iter().flat_map(|part| &part.left_out);
    let left_out = left_out.filter(|name| seen.insert(*name)).cloned().collect();
    if contents.len() > symbols / 2 {
        return Ok((input.to_owned(), symbols));
    }
    let count = contents.len();
    let group = SplitPart {
        visible: contents.clone(),
        contents,
        left_out,
        ..SplitPart::default()
    };
    let context = Context::new();
    take_contents(Module::open(&context, input)?, &group)?.write(output)?;
    Ok((output.to_owned(), count))
}

fn write_part(
    input: &Path,
    part: &SplitPart,
    intrinsics: &[String],
    options: &SplitOptions,
) -> Result<WrittenPart, Error> {
    let context = Context::new();
    // Opened once: the types of a second module would get other names in the same context.
    let source = Module::open(&context, input)?;
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
        if lower(&copy, intrinsics, Lowering::Defaults)?.is_some() {
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
        if let Some(lowered) = lower(&module, intrinsics, lowering)? {
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
