//! What `size`, `check` and `diff` share: files become an inventory.

use std::collections::HashSet;
use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::available_parallelism;

use offkit_inventory::{Depth, Inventory};
use offkit_object::{ErrorKind, Item, Location, Problem};

use super::Source;
use super::folder::{files_in, may_have_code};
use super::limits::LimitOptions;
use super::mapped::Mapped;
use super::needed::{Libraries, canonical, file_name, libraries_of};
use super::triton;
use crate::failure::Failure;
use crate::terminal::{Progress, Terminal};

/// A file that is to be looked into.
struct Input {
    path: PathBuf,
    size: u64,
    /// Nobody named it: it may well be of another kind.
    is_found: bool,
}

impl Input {
    fn of(path: PathBuf, is_found: bool) -> Self {
        Self {
            size: std::fs::metadata(&path).map_or(0, |data| data.len()),
            path,
            is_found,
        }
    }
}

/// Collects what is in some files, of several at a time.
///
/// What could not be read is in the inventory's problems; a file without any device code is an error if it must have
/// some, unless all that is there was asked for, `recursive`.
pub(super) fn collect(
    files: &[PathBuf],
    recursive: bool,
    must_have_code: bool,
    depth: Depth,
    limits: &LimitOptions,
    terminal: Terminal,
) -> Result<Inventory, Failure> {
    let inputs = inputs(files, recursive)?;
    collect_all(&inputs, must_have_code && !recursive, depth, limits, terminal)
}

/// What came of following the libraries that files need.
#[derive(Default)]
pub(super) struct Followed {
    /// The names of those that were looked into, with device code or without.
    pub(super) names: HashSet<String>,
    /// Those that are nowhere, and who needs each.
    pub(super) missing: Vec<(String, String)>,
}

/// Adds the libraries that files need, and what these need, as far as the system's loader finds them.
pub(super) fn add_needed(
    inventory: &mut Inventory,
    files: &[PathBuf],
    recursive: bool,
    depth: Depth,
    limits: &LimitOptions,
    terminal: Terminal,
) -> Result<Followed, Failure> {
    let given = inputs(files, recursive)?;
    let given: Vec<&Path> = given.iter().map(|input| input.path.as_path()).collect();
    let mut names: HashSet<String> = given.iter().map(|file| file_name(&canonical(file))).collect();
    let mut needed = Vec::new();
    let Libraries { found, missing } = libraries_of(&given, inventory);
    // By name, as loaders do it: what has the name of a file that was given is taken to be that.
    for library in found {
        if names.insert(file_name(&library)) {
            needed.push(Input::of(library, true));
        }
    }
    inventory.append(collect_all(&needed, false, depth, limits, terminal)?);
    Ok(Followed { names, missing })
}

fn collect_all(
    inputs: &[Input],
    must_have_code: bool,
    depth: Depth,
    limits: &LimitOptions,
    terminal: Terminal,
) -> Result<Inventory, Failure> {
    let progress = match inputs.len() {
        1 => terminal.progress(),
        _ => terminal.progress_of(inputs.iter().map(|input| input.size).sum()),
    };
    let next = AtomicUsize::new(0);
    // Threads of their own: one that waits for the images of a file must not begin another file meanwhile.
    let work = || {
        let mut done = Vec::new();
        while let Some((number, input)) = {
            let number = next.fetch_add(1, Ordering::Relaxed);
            inputs.get(number).map(|input| (number, input))
        } {
            progress.step(format!(
                "{} of {}: {}",
                number + 1,
                inputs.len(),
                input.path.display()
            ));
            let found = look_into(input, must_have_code, depth, limits, &progress);
            progress.advance(input.size);
            let failed = found.is_err();
            done.push((number, found));
            if failed {
                // The others end with the file that they are at.
                next.store(inputs.len(), Ordering::Relaxed);
            }
        }
        done
    };
    let threads = available_parallelism().map_or(1, NonZero::get).min(inputs.len());
    let mut parts = std::thread::scope(|scope| {
        let others: Vec<_> = (1..threads).map(|_| scope.spawn(work)).collect();
        let mut parts = work();
        for other in others {
            match other.join() {
                Ok(done) => parts.extend(done),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        parts
    });
    // Threads end in any order, and output has the order of the command line. Of several errors the
    // one of the first file is told.
    parts.sort_by_key(|(number, _)| *number);
    let mut inventory = Inventory::default();
    for (_, part) in parts {
        inventory.append(part?);
    }
    Ok(inventory)
}

/// The files that are meant, in order.
fn inputs(files: &[PathBuf], recursive: bool) -> Result<Vec<Input>, Failure> {
    let mut inputs = Vec::new();
    for path in files {
        if !path.is_dir() {
            inputs.push(Input::of(path.clone(), false));
        } else if recursive || triton::is_cache(path) {
            // Nobody would name the files of Triton's cache: their folders have hashes for names.
            let (found, failures) = files_in(path);
            if let Some(failure) = failures.into_iter().next() {
                return Err(failure);
            }
            inputs.extend(found.into_iter().map(|file| Input::of(file, true)));
        } else {
            return Err(Failure::input(format!("{} is a folder", path.display()))
                .hint("`--recursive` looks into all files below it"));
        }
    }
    Ok(inputs)
}

/// What is in one file.
fn look_into(
    input: &Input,
    must_have_code: bool,
    depth: Depth,
    limits: &LimitOptions,
    progress: &Progress,
) -> Result<Inventory, Failure> {
    let mut inventory = Inventory::default();
    if input.is_found {
        match may_have_code(&input.path) {
            Ok(true) => {}
            Ok(false) => return Ok(inventory),
            // What cannot be read may have code: that is not the same as none.
            Err(error) => {
                let place = Location::of_file(input.path.display().to_string());
                inventory.problems.push(Problem::of_member(place, &error));
                return Ok(inventory);
            }
        }
    }
    let source = Source::open(&input.path)?;
    if source.place.is_file()
        && let Some(form) = triton::text_form(&source.path, &source.content)
    {
        let message = format!("{} is {form}: no device code inside", input.path.display());
        let failure = Failure::input(message);
        return Err(match triton::code_beside(&source.path) {
            Some(files) => failure.hint(format!("that is in {files}")),
            None => failure,
        });
    }
    let memory = Mapped(&source.content);
    let mut collector = inventory.collect(source.place.file(), &source.content, depth, &memory);
    source.walk(limits, &mut |item: &mut Item<'_>| {
        collector.add(item);
        progress.images(&input.path, collector.images());
    });
    let images = collector.images();
    collector.finish();
    if images == 0 && must_have_code && !input.is_found {
        return Err(super::nothing_in(&source.place, &inventory.problems));
    }
    if images == 0 && input.is_found {
        // A file that nobody has named, and without device code, is not mentioned.
        inventory.files.clear();
        inventory.libraries.clear();
        inventory
            .problems
            .retain(|problem| problem.error.kind() != ErrorKind::NotRecognized);
    }
    Ok(inventory)
}

/// Warns of what could not be read; whether there was anything.
pub(super) fn warn(inventory: &Inventory, terminal: Terminal) -> bool {
    const SHOWN: usize = 5;
    for problem in inventory.problems.iter().take(SHOWN) {
        terminal.warning(problem);
    }
    let more = inventory.problems.len().saturating_sub(SHOWN);
    if more > 0 {
        terminal.warning(format_args!(
            "and {more} more problems: `offkit verify` lists them"
        ));
    }
    !inventory.problems.is_empty()
}
