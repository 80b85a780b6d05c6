//! Libraries of `-l`: found for each target, and what of them takes part.

use std::collections::HashSet;
use std::sync::Arc;

use offkit_devlib::code::Module;
use offkit_devlib::{Abi, AbiClash, DEFAULT_LIBRARIES, LibraryFile, OPENMP_LIBRARY, Origin, Search, Skip};
use offkit_object::{ImageFormat, Target};
use offkit_spirv::names::kernel_of_copy;

use super::DeviceLink;
use super::error::LinkError;
use super::select::select;
use crate::symbols::is_supplied;

/// What stands for the number of the input where none names a library: behind all others.
const DEFAULT: usize = usize::MAX;

/// A file of a library.
#[derive(Debug)]
pub(super) struct FoundFile {
    pub(super) file: Arc<LibraryFile>,
    /// The number of the input that named the library.
    input: usize,
    /// The targets that it was found for; `None` for all that it has code for.
    targets: Option<Vec<Target>>,
    pub(super) whole_archive: bool,
    /// What the library's manifest says.
    abi: Abi,
}

/// What the libraries of a link come to.
#[derive(Debug, Default)]
pub(super) struct Libraries {
    pub(super) files: Vec<FoundFile>,
    /// The inputs that name what was found before.
    done: Vec<usize>,
    /// For each target, what was looked at, for people.
    looked_at: Vec<(Target, String)>,
    /// Libraries that were skipped though they were meant, for people.
    pub(super) notes: Vec<String>,
}

impl Libraries {
    /// Nothing found yet, with the inputs known that name what was found before.
    pub(super) fn named(before: &Self) -> Self {
        Self {
            done: before.files.iter().map(|found| found.input).collect(),
            ..Self::default()
        }
    }

    /// The archives of which all members are linked: what they have code for is linked for.
    pub(super) fn whole(link: &DeviceLink<'_>) -> Self {
        let mut libraries = Self::default();
        for (number, input) in link.inputs.iter().enumerate() {
            if let Some(name) = input.library_name().filter(|_| input.is_whole_archive())
                && let Some(file) = link.search.archive(name)
            {
                libraries.files.push(FoundFile {
                    file,
                    input: number,
                    targets: None,
                    whole_archive: true,
                    abi: Abi::default(),
                });
            }
        }
        libraries
    }

    /// Looks for the others, for each target.
    pub(super) fn find(
        &mut self,
        link: &DeviceLink<'_>,
        targets: &[Target],
        modules: &[Module<'_>],
    ) -> Result<(), LinkError> {
        let search = self.search(link, modules);
        for (number, input) in link.inputs.iter().enumerate() {
            let Some(name) = input.library_name() else {
                continue;
            };
            if self.done.contains(&number) {
                continue;
            }
            let mut misfits: Vec<String> = Vec::new();
            let mut is_found = false;
            for target in targets {
                let whole = input.is_whole_archive();
                is_found |= self.find_one(&search, name, (number, whole), target, &mut misfits)?;
            }
            // For another target of the link it may be the right one.
            if !is_found {
                self.notes.append(&mut misfits);
            }
        }
        Ok(())
    }

    /// Looks in the libraries that come with offkit for what nothing else supplies. They stand behind everything else.
    pub(super) fn find_default(
        &mut self,
        link: &DeviceLink<'_>,
        targets: &[Target],
        modules: &[Module<'_>],
    ) -> Result<Vec<Module<'static>>, LinkError> {
        let before = self.files.len();
        if !link.default_libraries {
            return Ok(Vec::new());
        }
        let mut search = self.search(link, modules);
        // Those of the same name elsewhere are the user's to name. What ours depend on may be anywhere.
        search
            .folders
            // A stable sort: offkit's folders first, the others as they were.
            .sort_by_key(|folder| folder.origin != Origin::Offkit);
        for target in targets {
            // To find one may mean to build it, which most links have no need of.
            if !has_open_symbols(modules, target, link.archive_kernels) {
                continue;
            }
            // Regions begin with a call of their runtime.
            let is_openmps = |symbol: &str| symbol.starts_with("__kmpc_");
            let has_regions = modules.iter().any(|module| module.imports().any(is_openmps));
            for name in (DEFAULT_LIBRARIES.into_iter()).chain(has_regions.then_some(OPENMP_LIBRARY)) {
                self.find_one(&search, name, (DEFAULT, false), target, &mut Vec::new())?;
            }
        }
        let (known, added) = self.files.split_at(before);
        // Whoever names one of them with `-l` has it already.
        let is_new = |found: &&FoundFile| !known.iter().any(|known| known.supplies_all_of(found));
        let added: Vec<Module<'static>> = added.iter().filter(is_new).flat_map(FoundFile::modules).collect();
        Ok(added)
    }

    /// The search for one link.
    fn search(&self, link: &DeviceLink<'_>, modules: &[Module<'_>]) -> Search {
        let mut search = link.search.clone();
        // ROCm has a file for each version of code objects, and the code's own has to be taken.
        if search.code_object_version.is_none() {
            search.code_object_version = modules.iter().find_map(|module| module.abi.code_object_version);
        }
        search
    }

    /// Looks for a library for a target, and says whether there is one. It is named by the input of this number, which
    /// may mean all members of the archive. `misfits` are told of those for other targets.
    fn find_one(
        &mut self,
        search: &Search,
        name: &str,
        (input, whole_archive): (usize, bool),
        target: &Target,
        misfits: &mut Vec<String>,
    ) -> Result<bool, LinkError> {
        let answer = search.find(name, target);
        if let Some(problem) = answer.problem {
            return Err(LinkError::Manifest(problem));
        }
        let mut is_unbuilt = false;
        for (path, skip) in answer.skipped() {
            let path = path.display();
            match skip {
                Skip::NoDeviceCode | Skip::Shared(_) => continue,
                Skip::Damaged(_) => self.notes.push(format!("skipped {path}: {skip}")),
                Skip::Misfit { .. } => misfits.push(format!("skipped {path}: {skip}")),
                Skip::Unbuilt(_) => is_unbuilt = true,
            }
            let told = match skip {
                Skip::Unbuilt(why) => {
                    format!("-l{name}, which comes with offkit and could not be built: {why}")
                }
                _ => format!("`{path}` (-l{name}), which is skipped: {skip}"),
            };
            self.looked_at.push((target.clone(), told));
        }
        let Some(found) = answer.found else {
            tracing::debug!(library = name, %target, "no device library");
            if !is_unbuilt {
                let none = format!("-l{name}, of which there is no device library for `{target}`");
                self.looked_at.push((target.clone(), none));
            }
            return Ok(false);
        };
        let rule = found.rule.name();
        for (place, file) in found.files.into_iter().enumerate() {
            tracing::debug!(library = name, %target, path = %file.path.display(), rule, "found a device library");
            // Nobody has named these.
            if input != DEFAULT {
                let path = file.path.display();
                self.looked_at
                    .push((target.clone(), format!("`{path}` (-l{name})")));
            }
            let known = self.files.iter_mut().find(|known| {
                known.input == input && known.file.path == file.path && known.targets.is_some()
            });
            match known.and_then(|known| known.targets.as_mut()) {
                Some(targets) => targets.push(target.clone()),
                None => self.files.push(FoundFile {
                    file,
                    input,
                    targets: Some(vec![target.clone()]),
                    // The others are files that go with it; the option was said of the one that was named.
                    whole_archive: whole_archive && place == 0,
                    abi: found.abi.clone(),
                }),
            }
        }
        let missing = found.missing.iter().filter(|_| input != DEFAULT).map(|path| {
            let missing = format!("`{}`, which is not there (-l{name})", path.display());
            (target.clone(), missing)
        });
        self.looked_at.extend(missing);
        Ok(true)
    }

    /// What was looked at for a target, for people.
    pub(super) fn looked_at(&self, target: &Target) -> Vec<String> {
        let looked_at = self.looked_at.iter().filter(|(of, _)| of == target);
        looked_at.map(|(_, what)| what.clone()).collect()
    }

    /// The code in the files.
    pub(super) fn modules(&self) -> Vec<Module<'static>> {
        self.files.iter().flat_map(FoundFile::modules).collect()
    }
}

impl FoundFile {
    /// The code in it that takes part.
    fn modules(&self) -> impl Iterator<Item = Module<'static>> {
        let modules = self.file.modules.iter().cloned();
        modules.filter_map(|module| self.module(module))
    }

    /// Whether another one, found for the same targets at least, is the same file.
    fn supplies_all_of(&self, other: &Self) -> bool {
        let targets = other.targets.iter().flatten();
        self.file.path == other.file.path
            && (self.targets.as_ref())
                .is_none_or(|own| targets.into_iter().all(|target| own.contains(target)))
    }

    /// A module of the file with its part in the link; `None` if it is for none of the targets.
    fn module(&self, module: Module<'static>) -> Option<Module<'static>> {
        let found_for: Option<Vec<Target>> = self.targets.as_ref().map(|targets| {
            let is_for = |target: &&Target| self.file.fitting(target).contains(&module.image.target);
            targets.iter().filter(is_for).cloned().collect()
        });
        if found_for.as_ref().is_some_and(Vec::is_empty) {
            return None;
        }
        let is_library = self.file.is_bitcode && !self.whole_archive;
        Some(Module {
            input: self.input,
            is_file: false,
            on_demand: is_library || module.on_demand && !self.whole_archive,
            is_library,
            found_for,
            abi: module.abi.or(&self.abi),
            ..module
        })
    }
}

/// Whether what takes part in a link for a target needs something that neither the link supplies nor the device.
fn has_open_symbols(modules: &[Module<'_>], target: &Target, kernels: bool) -> bool {
    let family = target.family();
    let chosen = select(modules, target, kernels, &[]);
    let chosen = || chosen.iter().map(|&number| &modules[number]);
    let defined: HashSet<&str> = chosen().flat_map(Module::exports).collect();
    let is_open = |name: &&str| {
        !(defined.contains(name)
            || name.starts_with("llvm.")
            || kernel_of_copy(name).is_some()
            || is_supplied(family, family.is_spirv(), name))
    };
    // Libraries are linked with these.
    let mut linked =
        chosen().filter(|module| matches!(module.image.format, ImageFormat::Bitcode | ImageFormat::Spirv));
    linked.any(|module| module.imports().any(|name| is_open(&name)))
}

/// Checks that bitcode agrees about its binary interface: with whatever of it says something first. `spirv_version`
/// is that of the code that is generated, if it is SPIR-V.
pub(super) fn check_abi(
    code: &[&Module<'_>],
    libraries: &[&Module<'_>],
    spirv_version: Option<(u8, u8)>,
) -> Result<(), LinkError> {
    let mut known: Vec<(&str, Abi)> = Vec::new();
    let mut all = Abi::default();
    for (number, module) in code.iter().chain(libraries).enumerate() {
        let mut abi = module.abi.clone();
        if number < code.len() {
            abi.spirv_version = spirv_version;
        }
        for (label, earlier) in &known {
            if let Some(difference) = earlier.clash(&abi) {
                return Err(LinkError::Abi(AbiClash {
                    code: (*label).to_owned(),
                    library: module.label.clone(),
                    difference,
                }));
            }
        }
        // Only those are kept that say something new: a handful at most.
        let with = all.clone().or(&abi);
        if with != all {
            all = with;
            known.push((&module.label, abi));
        }
    }
    Ok(())
}
