//! Device code in the inputs of a link, put together by target.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use offkit_image::target::{Family, GENERIC};
use offkit_link::device_link::Input;
use offkit_object::archive::{self, ThinMembers};
use offkit_object::{DeviceImage, FoundEntry, ImageFormat, Limits, Location, Target, offload_entries};

use super::error::{Error, Result};
use super::options::{Meaning, Options};
use crate::failure::File;
use offkit_host::files::{self, Content};

/// The file or archive member that device code is from.
pub(super) struct Origin {
    /// Its name without folder and ending.
    pub(super) stem: String,
    /// What messages call it.
    pub(super) label: String,
}

/// Device code to be linked.
#[derive(Clone)]
pub(super) struct DeviceFile<'data> {
    pub(super) origin: Arc<Origin>,
    pub(super) image: DeviceImage<'data>,
}

/// The inputs of one device link.
pub(super) struct TargetInput<'data> {
    pub(super) target: Target,
    pub(super) files: Vec<DeviceFile<'data>>,
    /// All inputs of the host's link.
    pub(super) of_host: &'data [InputFile],
}

/// An input of the host's link that was opened.
pub(super) struct InputFile {
    path: PathBuf,
    content: Content,
    /// Whether its code counts only where it is needed: it is an archive, or a file that a thin one names.
    is_on_demand: bool,
}

/// Opens the files among the linker's arguments: objects, archives and offload binaries, in order.
///
/// A library that is not found is an error; a file that is not there is the linker's business.
pub(super) fn open(options: &Options) -> Result<Vec<InputFile>> {
    let mut folders = Vec::new();
    for argument in &options.linker {
        if let Meaning::LibraryPath(folder) = &argument.meaning {
            folders.push(in_sysroot(folder, &options.sysroot));
        }
    }
    let mut is_whole = options.whole_archive;
    let mut found = Vec::new();
    for argument in &options.linker {
        let path = match &argument.meaning {
            Meaning::WholeArchive(whole) => {
                is_whole = *whole;
                continue;
            }
            Meaning::Input(path) => path.clone(),
            Meaning::Library(name) => {
                in_folders(name, &folders).ok_or_else(|| Error::NoLibrary(name.clone()))?
            }
            _ => continue,
        };
        if !path.is_file() {
            continue;
        }
        let content = files::open(&path).map_err(File)?;
        if is_interesting(&content) {
            add_with_thin_members(path, content, is_whole, &mut found)?;
        }
    }
    Ok(found)
}

/// Adds a file, and those that it names if it is a thin archive.
fn add_with_thin_members(
    path: PathBuf,
    content: Content,
    is_whole: bool,
    found: &mut Vec<InputFile>,
) -> Result<()> {
    let limits = Limits::default();
    let location = Location::of_file(path.display().to_string());
    let mut members = ThinMembers::of(&path, &content, location, None, &limits);
    let is_on_demand = !is_whole && ImageFormat::detect(&content) == ImageFormat::Archive;
    found.push(InputFile {
        path,
        content,
        is_on_demand,
    });
    while let Some(member) = members.next() {
        // The archive chose the name, and could mean a device or a pipe.
        let content = files::open_regular(&member.path).map_err(File)?;
        members.enter(&member, &content);
        found.push(InputFile {
            path: member.path,
            content,
            is_on_demand,
        });
    }
    Ok(())
}

/// Whether device code to be linked may be in a file: in shared libraries there is none.
fn is_interesting(content: &[u8]) -> bool {
    const TYPE_SHARED: [u8; 2] = [3, 0];
    const TYPE_AT: std::ops::Range<usize> = 16..18;
    if content.starts_with(b"\x7fELF") {
        return content.get(TYPE_AT) != Some(&TYPE_SHARED);
    }
    true
}

/// `=folder` is one in the folder of the target system.
pub(super) fn in_sysroot(folder: &Path, sysroot: &Path) -> PathBuf {
    match folder.to_str().and_then(|folder| folder.strip_prefix('=')) {
        Some(folder) => sysroot.join(folder.trim_start_matches('/')),
        None => folder.to_owned(),
    }
}

/// The library that `-l` with this name means: in the first of the folders that has it, shared before static.
pub(super) fn in_folders(name: &str, folders: &[PathBuf]) -> Option<PathBuf> {
    let names = match name.strip_prefix(':') {
        Some(exact) => vec![exact.to_owned()],
        None if name.ends_with(".lib") => vec![name.to_owned()],
        None => vec![format!("lib{name}.so"), format!("lib{name}.a")],
    };
    folders.iter().find_map(|folder| {
        let mut paths = names.iter().map(|name| folder.join(name));
        paths.find(|path| path.exists())
    })
}

/// The device code of all files, by target, in the order in which targets are met.
///
/// A file's code also goes to every target met before that is compatible with its own. What is in archives counts
/// only for targets that other files have, or whose architecture is asked for.
pub(super) fn by_target<'data>(
    inputs: &'data [InputFile],
    should_extract: &[String],
) -> Result<Vec<TargetInput<'data>>> {
    let mut targets = Targets::default();
    let mut from_archives = Vec::new();
    for input in inputs {
        let path = input.path.to_string_lossy();
        let result = offload_entries(&input.content, &Limits::default(), &mut |found| {
            // What is loaded is linked and registered already.
            if found.is_loaded {
                return;
            }
            let file = device_file(&path, found);
            if input.is_on_demand {
                from_archives.push(file);
            } else {
                targets.add(file, true);
            }
        });
        result.map_err(|error| error.with_file(path))?;
    }
    // Last: by now all targets are known that other files have.
    let should_extract: HashSet<_> = should_extract.iter().map(String::as_str).collect();
    for file in from_archives {
        let is_wanted = should_extract.contains(file.image.target.arch_with_features().as_str());
        targets.add(file, is_wanted);
    }
    for target in &mut targets.found {
        target.of_host = inputs;
    }
    Ok(targets.found)
}

/// All that the host's program is linked of.
pub(super) fn program(inputs: &[InputFile]) -> Vec<Input<'_>> {
    // What thin archives name follows them.
    let files = inputs.iter().filter(|input| !archive::is_thin(&input.content));
    let files = files.map(|input| {
        let read = Input::read_file(&input.path, &*input.content);
        (read.with_whole_archive(!input.is_on_demand)).with_on_demand(input.is_on_demand)
    });
    files.collect()
}

/// What messages call a file, or a member of it.
fn label_of(path: &str, member: Option<&str>) -> String {
    let file = Location::of_file(path);
    member
        .map_or_else(|| file.clone(), |member| file.join_member(member))
        .to_string()
}

/// The image of an entry, for the target that its strings have.
fn device_file<'data>(path: &str, found: FoundEntry<'_, 'data>) -> DeviceFile<'data> {
    let entry = found.entry;
    let text = |key| entry.strings.get(key).unwrap_or_default();
    let target = Target::new(text("triple"), text("arch"));
    let mut image = DeviceImage::new(entry.image);
    image.target = target;
    image.producer = entry.offload_kind.producer(entry.image_kind);
    let origin = Arc::new(Origin {
        stem: stem(found.member.unwrap_or(path)),
        label: label_of(path, found.member),
    });
    DeviceFile { origin, image }
}

fn stem(name: &str) -> String {
    let stem = Path::new(name).file_stem().unwrap_or_default();
    stem.to_string_lossy().into_owned()
}

/// The targets met so far.
#[derive(Default)]
struct Targets<'data> {
    found: Vec<TargetInput<'data>>,
    by_id: HashMap<Target, usize>,
    /// The targets of a triple, by processor: those that may be compatible with each other.
    by_processor: HashMap<Target, Vec<usize>>,
    by_triple: HashMap<String, Vec<usize>>,
}

impl<'data> Targets<'data> {
    /// Adds code to its own target, which is made if `is_wanted`, and to all that are compatible with it.
    fn add(&mut self, file: DeviceFile<'data>, is_wanted: bool) {
        let target = &file.image.target;
        let mut takers = self.compatible_with(target);
        match self.by_id.get(target) {
            Some(own) => takers.push(*own),
            None if is_wanted => takers.push(self.insert(target.clone())),
            None => {}
        }
        // The last one takes it over, and only the others get copies.
        let Some(last) = takers.pop() else { return };
        for taker in takers {
            if let Some(input) = self.found.get_mut(taker) {
                input.files.push(file.clone());
            }
        }
        if let Some(input) = self.found.get_mut(last) {
            input.files.push(file);
        }
    }

    fn insert(&mut self, target: Target) -> usize {
        let index = self.found.len();
        // Without features: targets that differ in these alone are the ones that have to be
        // compared.
        let processor = Target::new(target.triple.clone(), &target.arch);
        self.by_processor.entry(processor).or_default().push(index);
        self.by_triple
            .entry(target.triple.to_string())
            .or_default()
            .push(index);
        self.by_id.insert(target.clone(), index);
        self.found.push(TargetInput {
            target,
            files: Vec::new(),
            of_host: &[],
        });
        index
    }

    /// Other targets that can use the code: generic code fits every processor of its triple, and code for AMD's
    /// processors fits where no feature says otherwise.
    fn compatible_with(&self, target: &Target) -> Vec<usize> {
        if target.arch == GENERIC {
            let same = self.by_triple.get(target.triple.as_str());
            return self.others(same, target).collect();
        }
        let of_processor = |processor: &str| {
            self.by_processor
                .get(&Target::new(target.triple.clone(), processor))
        };
        let generic = self.others(of_processor(GENERIC), target);
        if target.family() != Family::Amdgcn {
            return generic.collect();
        }
        let same = self.others(of_processor(&target.arch), target);
        let fits = |index: &usize| {
            self.found
                .get(*index)
                .is_some_and(|other| target.conflicting_feature(&other.target).is_none())
        };
        generic.chain(same.filter(fits)).collect()
    }

    fn others<'a>(
        &'a self,
        indices: Option<&'a Vec<usize>>,
        target: &'a Target,
    ) -> impl Iterator<Item = usize> + 'a {
        let is_other = |index: &usize| {
            self.found
                .get(*index)
                .is_some_and(|other| other.target != *target)
        };
        indices.into_iter().flatten().copied().filter(is_other)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn targets(list: &[(&str, &str, bool)]) -> Vec<(String, usize)> {
        let mut targets = Targets::default();
        let origin = Arc::new(Origin {
            stem: String::new(),
            label: String::new(),
        });
        for (triple, arch, is_wanted) in list {
            let mut image = DeviceImage::new(b"");
            image.target = Target::new(*triple, arch);
            let origin = Arc::clone(&origin);
            targets.add(DeviceFile { origin, image }, *is_wanted);
        }
        let found = targets.found.into_iter();
        found
            .map(|input| (input.target.arch_with_features(), input.files.len()))
            .collect()
    }

    #[test]
    fn code_goes_where_it_fits() {
        const AMD: &str = "amdgcn-amd-amdhsa";
        const NVIDIA: &str = "nvptx64-nvidia-cuda";
        let found = |list: &[(&str, &str, bool)]| {
            let found = targets(list);
            let texts: Vec<_> = found
                .iter()
                .map(|(arch, count)| format!("{arch} {count}"))
                .collect();
            texts.join(", ")
        };
        assert_eq!(
            found(&[
                (AMD, "gfx90a:xnack+", true),
                (AMD, "gfx90a:xnack-", true),
                (AMD, "gfx90a", false),
                (AMD, "gfx908", false)
            ]),
            "gfx90a:xnack+ 2, gfx90a:xnack- 2"
        );
        assert_eq!(
            found(&[
                (AMD, "gfx90a", true),
                (NVIDIA, "sm_70", true),
                (AMD, "gfx908", true),
                (AMD, "generic", false)
            ]),
            "gfx90a 2, sm_70 1, gfx908 2"
        );
        assert_eq!(
            found(&[
                (NVIDIA, "sm_70", true),
                (NVIDIA, "sm_70", false),
                (NVIDIA, "sm_52", false)
            ]),
            "sm_70 2"
        );
    }
}
