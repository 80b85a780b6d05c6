//! What `size`, `check` and `diff` share: files become an inventory.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use offkit_inventory::{Depth, Inventory};
use offkit_object::{ErrorKind, Item, Location, Problem};

use super::Source;
use super::limits::LimitOptions;
use super::needed::libraries_of;
use crate::failure::Failure;
use crate::terminal::{Progress, Terminal};

/// Collects what is in some files.
///
/// What could not be read is in the inventory's problems; a file without any device code is an error if it must have
/// some, unless it was found in a folder.
pub(super) fn collect(
    files: &[PathBuf],
    recursive: bool,
    must_have_code: bool,
    depth: Depth,
    limits: &LimitOptions,
    terminal: Terminal,
) -> Result<Inventory, Failure> {
    let mut inventory = Inventory::default();
    let progress = terminal.progress();
    for path in files {
        if recursive && path.is_dir() {
            let mut found = Vec::new();
            files_below(path, &mut found)?;
            for (number, file) in found.iter().enumerate() {
                progress.step(format!("{} of {}: {}", number + 1, found.len(), file.display()));
                add(&mut inventory, file, depth, limits, &progress, false)?;
            }
            continue;
        }
        if path.is_dir() {
            return Err(Failure::input(format!("{} is a folder", path.display()))
                .hint("`--recursive` looks into all files below it"));
        }
        progress.step(format!("reading {}", path.display()));
        add(&mut inventory, path, depth, limits, &progress, must_have_code)?;
    }
    Ok(inventory)
}

/// Adds the libraries that files need, and what these need, as far as the system's loader finds them. Returns the names
/// of those that were looked into, with device code or without.
pub(super) fn add_needed(
    inventory: &mut Inventory,
    files: &[PathBuf],
    depth: Depth,
    limits: &LimitOptions,
    terminal: Terminal,
) -> Result<HashSet<String>, Failure> {
    let mut followed = HashSet::new();
    let progress = terminal.progress();
    for library in files.iter().flat_map(|file| libraries_of(file).found) {
        let name = library
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        let is_given = files.contains(&library);
        if !is_given && followed.insert(name) {
            progress.step(format!("reading {}", library.display()));
            add(inventory, &library, depth, limits, &progress, false)?;
        }
    }
    Ok(followed)
}

/// Adds one file.
fn add(
    inventory: &mut Inventory,
    path: &Path,
    depth: Depth,
    limits: &LimitOptions,
    progress: &Progress,
    must_have_code: bool,
) -> Result<(), Failure> {
    if !must_have_code {
        match may_have_code(path) {
            Ok(true) => {}
            Ok(false) => return Ok(()),
            // What cannot be read may have code: that is not the same as none.
            Err(error) => {
                let place = Location::of_file(path.display().to_string());
                inventory.problems.push(Problem::of_member(place, &error));
                return Ok(());
            }
        }
    }
    let source = Source::open(path)?;
    let [libraries, problems] = [inventory.libraries.len(), inventory.problems.len()];
    let mut collector = inventory.collect(source.place.file(), &source.content, depth);
    source.walk(limits, &mut |item: &mut Item<'_>| {
        collector.add(item);
        progress.images(path, collector.images());
    });
    let images = collector.images();
    collector.finish();
    if images > 0 {
        return Ok(());
    }
    if must_have_code {
        return Err(super::nothing_in(&source.place, &inventory.problems[problems..]));
    }
    // A folder has many files of other kinds.
    inventory.files.pop();
    inventory.libraries.truncate(libraries);
    let mut place = 0;
    inventory.problems.retain(|problem| {
        place += 1;
        place <= problems || problem.error.kind() != ErrorKind::NotRecognized
    });
    Ok(())
}

/// Whether the first bytes of a file may be those of device code or of what it is in.
fn may_have_code(path: &Path) -> std::io::Result<bool> {
    use std::io::Read;
    let mut head = Vec::new();
    let file = std::fs::File::open(path)?;
    file.take(1 << 12).read_to_end(&mut head)?;
    Ok(offkit_object::looks_like_device_code(&head))
}

/// All files below a folder, in order; links are not followed, so that nothing is counted twice.
fn files_below(folder: &Path, found: &mut Vec<PathBuf>) -> Result<(), Failure> {
    let failure = |error| Failure::input(format!("{}: {error}", folder.display()));
    let entries = std::fs::read_dir(folder).map_err(failure)?;
    let mut entries: Vec<_> = entries.collect::<Result<_, _>>().map_err(failure)?;
    entries.sort_by_key(std::fs::DirEntry::file_name);
    for entry in entries {
        let kind = entry.file_type().map_err(failure)?;
        if kind.is_dir() {
            files_below(&entry.path(), found)?;
        } else if kind.is_file() {
            found.push(entry.path());
        }
    }
    Ok(())
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
