//! Libraries of `-l`: found for each target, and what of them takes part.

use std::borrow::Cow;
use std::sync::Arc;

use offkit_object::Target;

use super::DeviceLink;
use super::error::LinkError;
use offkit_devlib::code::{Input, Module, Source};
use offkit_devlib::{Abi, AbiClash, LibraryFile};

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
            if let Some(name) = input.library.as_deref().filter(|_| input.is_whole_archive())
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
        let mut search = link.search.clone();
        if search.code_object_version.is_none() {
            search.code_object_version = modules.iter().find_map(|module| module.abi.code_object_version);
        }
        for (number, input) in link.inputs.iter().enumerate() {
            let Some(name) = &input.library else { continue };
            if self.done.contains(&number) {
                continue;
            }
            for target in targets {
                let answer = search.find(name, target);
                if let Some(problem) = answer.problem {
                    return Err(LinkError::Manifest(problem));
                }
                let Some(found) = answer.found else {
                    tracing::debug!(library = name, %target, "no device library");
                    let none = format!("-l{name}, of which there is no device library for `{target}`");
                    self.looked_at.push((target.clone(), none));
                    continue;
                };
                let rule = found.rule.name();
                for (place, file) in found.files.into_iter().enumerate() {
                    tracing::debug!(library = name, %target, path = %file.path.display(), rule, "found a device library");
                    let path = file.path.display();
                    self.looked_at
                        .push((target.clone(), format!("`{path}` (-l{name})")));
                    let known = self.files.iter_mut().find(|known| {
                        known.input == number && known.file.path == file.path && known.targets.is_some()
                    });
                    match known.and_then(|known| known.targets.as_mut()) {
                        Some(targets) => targets.push(target.clone()),
                        None => self.files.push(FoundFile {
                            file,
                            input: number,
                            targets: Some(vec![target.clone()]),
                            whole_archive: input.is_whole_archive() && place == 0,
                            abi: found.abi.clone(),
                        }),
                    }
                }
                let missing = found.missing.iter().map(|path| {
                    let missing = format!("`{}`, which is not there (-l{name})", path.display());
                    (target.clone(), missing)
                });
                self.looked_at.extend(missing);
            }
        }
        Ok(())
    }

    /// What was looked at for a target, for people.
    pub(super) fn looked_at(&self, target: &Target) -> Vec<String> {
        let looked_at = self.looked_at.iter().filter(|(of, _)| of == target);
        looked_at.map(|(_, what)| what.clone()).collect()
    }

    /// The files that are not bitcode as inputs, numbered as the files are.
    pub(super) fn inputs(&self) -> Vec<Input<'_>> {
        let inputs = self.files.iter().map(|found| {
            // What was read of bitcode already is not read again.
            let bytes = if found.file.module.is_some() {
                &[]
            } else {
                &*found.file.bytes
            };
            Input::read_file(&found.file.path, bytes).with_whole_archive(found.whole_archive)
        });
        inputs.collect()
    }

    /// The code in the files, from the sources made of the inputs.
    pub(super) fn modules<'a>(&'a self, sources: &'a [Source<'_>]) -> Result<Vec<Module<'a>>, LinkError> {
        let sources = sources.iter().filter(|source| {
            let found = self.files.get(source.input());
            found.is_some_and(|found| found.file.module.is_none())
        });
        let mut modules = offkit_devlib::code::modules(sources)?;
        modules.extend(self.files.iter().enumerate().filter_map(|(number, found)| {
            let mut module: Module<'_> = found.file.module.clone()?;
            module.bytes = Cow::Borrowed(&found.file.bytes);
            module.input = number;
            Some(module)
        }));
        modules.sort_by_key(|module| module.input);
        modules.retain_mut(|module| {
            let Some(found) = self.files.get(module.input) else {
                return false;
            };
            module.input = found.input;
            module.is_file = false;
            module.found_for = found.targets.as_ref().map(|targets| {
                let is_for = |target: &&Target| found.file.fitting(target).contains(&module.target);
                targets.iter().filter(is_for).cloned().collect()
            });
            module.abi = std::mem::take(&mut module.abi).or(&found.abi);
            if found.file.is_bitcode && !found.whole_archive {
                module.is_library = true;
                module.on_demand = true;
            }
            module
                .found_for
                .as_ref()
                .is_none_or(|targets| !targets.is_empty())
        });
        Ok(modules)
    }
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
