//! The link for one target: from what takes part to its images.

use std::collections::{BTreeMap, HashSet};
use std::path::PathBuf;

use offkit_image::target::Misfit;
use offkit_llvm::{ModuleId, OpenedModule, Worker};
use offkit_object::property_set::{PropertySets, names};
use offkit_object::{BundleState, ContainerKind, DeviceImage, ImageFormat, Inspect, Limits, Symbols, Target};
use offkit_spirv::{Module as SpirvModule, reflect};

use super::error::LinkError;
use super::join::{Part, join};
use super::libraries::check_abi;
use super::select::select;
use super::signatures::mismatches;
use super::{
    DeviceLink, Llvm, PORTABLE_VERSION, Steps, Taken, TemporaryFolder, close_after, generate, undefined,
};
use crate::properties::image_properties;
use offkit_devlib::code::Module;

/// The link for one target.
pub(super) struct TargetLink<'a, 'steps> {
    pub(super) options: &'a DeviceLink<'a>,
    /// What is linked for, which may become narrower by what is linked.
    pub(super) target: Target,
    /// What it was when libraries were looked for.
    pub(super) asked: Target,
    pub(super) modules: &'a [Module<'a>],
    /// The libraries that were looked at, for people.
    pub(super) looked_at: Vec<String>,
    /// For temporary files.
    pub(super) temporary: &'a TemporaryFolder,
    pub(super) keep: Option<PathBuf>,
    pub(super) steps: &'a mut Steps<'steps>,
}

/// What takes part, libraries of which single functions are linked, and what bitcode was linked into.
type Selected<'a> = (Vec<&'a Module<'a>>, Vec<&'a Module<'a>>, Option<OpenedModule>);

impl<'a> TargetLink<'a, '_> {
    /// Selects what takes part, device libraries aside, and links the bitcode of it, with what is needed of libraries.
    ///
    /// What a library's functions need is known when they are linked: members of archives may be needed for that alone,
    /// and then all is linked again.
    fn select(&mut self, llvm: &mut Llvm<'_>, notes: &mut Vec<String>) -> Result<Selected<'a>, LinkError> {
        let modules = self.modules;
        let mut wanted: Vec<String> = Vec::new();
        // Each round links what is chosen so far. First what was named and what archives supply to it; then device libraries,
        // of which only the functions that are called come along, so that only the linked module tells what these call in turn;
        // then, where a member of an archive could supply that, all again with the member. `wanted` grows in every round, so
        // this ends.
        loop {
            let numbers = select(modules, &self.target, self.options.archive_kernels, &wanted);
            let chosen = numbers.iter().map(|&number| &modules[number]);
            let (libraries, chosen): (Vec<_>, Vec<_>) = chosen.partition(|module| module.is_library);
            let is_bitcode = |module: &&&Module<'_>| module.image.format == ImageFormat::Bitcode;
            let bitcode: Vec<_> = chosen.iter().filter(is_bitcode).copied().collect();
            if bitcode.is_empty() {
                return Ok((chosen, libraries, None));
            }
            // For its error alone: that two files demand the opposite is told before LLVM takes its time. What the
            // target becomes is known when everything is chosen.
            self.narrowed(&chosen)?;
            let is_spirv = self.target.family().is_spirv();
            check_abi(
                &bitcode,
                &libraries,
                is_spirv.then(|| self.options.spirv_version.unwrap_or(PORTABLE_VERSION)),
            )?;
            for mismatch in mismatches(&bitcode, &libraries) {
                // As NVIDIA's own linker does, for PTX says what a function takes.
                if self.target.family().is_nvptx() {
                    return Err(LinkError::Signature(Box::new(mismatch)));
                }
                notes.push(mismatch.to_string());
            }
            let objects: Vec<_> = (chosen.iter().copied())
                .filter(|module| generate::is_object(module, &self.target))
                .collect();
            // Asked for now, and not when the module is split, so that it is read once.
            let bodies = generate::is_split(self.options, &bitcode, &objects);
            let linked = self.link_bitcode(&bitcode, &libraries, bodies, llvm)?;
            if libraries.is_empty() {
                return Ok((chosen, libraries, Some(linked)));
            }
            let (functions, variables) = (&linked.summary.functions, &linked.summary.variables);
            let open: HashSet<&str> = (functions.iter())
                .filter(|function| function.is_declaration)
                .map(|function| function.name.as_str())
                .chain(
                    (variables.iter())
                        .filter(|variable| variable.is_declaration)
                        .map(|variable| &*variable.name),
                )
                .collect();
            let before = wanted.len();
            for (number, module) in modules.iter().enumerate() {
                let could_supply = module.on_demand && !module.is_library && module.is_for(&self.target);
                // `select` gives numbers in order.
                if could_supply && numbers.binary_search(&number).is_err() {
                    let needed = module.exports().filter(|name| open.contains(name));
                    wanted.extend(needed.map(str::to_owned));
                }
            }
            if wanted.len() == before {
                return Ok((chosen, libraries, Some(linked)));
            }
            // Memory is for one module of a link.
            llvm.worker()?.close(linked.id)?;
        }
    }
}

impl TargetLink<'_, '_> {
    /// Links what takes part, and says what of it comes from libraries and archives; `notes` get what is worth to be
    /// said to people.
    pub(super) fn run(
        &mut self,
        llvm: &mut Llvm<'_>,
        notes: &mut Vec<String>,
    ) -> Result<(Vec<Part>, Vec<Taken>), LinkError> {
        let selected = self.select(llvm, notes)?;
        let module = selected.2.as_ref().map(|linked| linked.id);
        let done = self.link(selected, llvm, notes);
        match module {
            None => done,
            // Others ask the worker, too: what it keeps open takes memory until it ends.
            Some(module) => close_after(llvm.worker()?, module, done),
        }
    }

    /// Links what was selected. The module of the bitcode stays open.
    fn link(
        &mut self,
        (chosen, libraries, linked): Selected<'_>,
        llvm: &mut Llvm<'_>,
        notes: &mut Vec<String>,
    ) -> Result<(Vec<Part>, Vec<Taken>), LinkError> {
        let is_supply = |module: &&&Module<'_>| module.on_demand || module.found_for.is_some();
        let taken = chosen
            .iter()
            .chain(&libraries)
            .filter(is_supply)
            .map(|module| Taken {
                target: self.target.clone(),
                label: module.label.clone(),
            });
        let taken = taken.collect();
        self.target = self.narrowed(&chosen)?;
        let module = linked.as_ref().map(|linked| linked.id);
        let is_bitcode = |module: &&&Module<'_>| module.image.format == ImageFormat::Bitcode;
        let bitcode: Vec<_> = chosen.iter().filter(is_bitcode).copied().collect();
        let is_object = |module: &&Module<'_>| generate::is_object(module, &self.target);
        let objects: Vec<_> = chosen.iter().copied().filter(is_object).collect();

        let mut parts: Vec<Part> = Vec::new();
        if !bitcode.is_empty() || !objects.is_empty() {
            parts = self.generate(&bitcode, &objects, linked, llvm, notes)?;
        }
        // Other code that comes finished is linked with nothing more.
        if self.target.family().is_spirv() {
            parts.extend(self.supply(&chosen, &libraries, llvm, notes)?);
        }
        for module in chosen {
            if module.image.format != ImageFormat::Bitcode && !generate::is_object(module, &self.target) {
                parts.push(finished(module)?);
            }
        }
        // An executable that may not import is complete: nothing else will ever ask for its symbols.
        let is_closed = self.options.state == BundleState::Executable && !self.options.allow_imports;
        let parts = self.steps.time("link images", || join(parts, is_closed, notes))?;

        if !self.options.allow_imports && !self.target.family().is_host() {
            let missing = undefined::undefined(&parts);
            if !missing.is_empty() {
                // The module is still open: call chains to an undefined symbol are read from it.
                let worker = match module {
                    None => None,
                    Some(module) => Some((llvm.worker()?, module)),
                };
                return Err(self.undefined(missing, &parts, worker));
            }
        }
        for (number, part) in parts.iter().enumerate() {
            tracing::debug!(
                number,
                target = %part.image.target,
                kernels = ?part.symbols.kernels,
                exports = ?part.symbols.exports,
                imports = ?part.symbols.imports,
                bytes = part.image.size(),
                "linked a device image"
            );
        }
        Ok((parts, taken))
    }

    /// The target as narrow as what is linked for it: code that demands `xnack-` makes an image that does.
    fn narrowed(&self, chosen: &[&Module<'_>]) -> Result<Target, LinkError> {
        let mut narrowed = self.target.clone();
        for module in chosen {
            // Processors may differ: libraries for older ones are part of code for newer ones.
            let target = &module.image.target;
            if let Some(feature) = narrowed.conflicting_feature(target) {
                let misfit = Misfit::Feature(feature.to_owned());
                let demands = |other: &&&Module<'_>| other.image.target.conflicting_feature(target).is_some();
                let other = chosen.iter().find(demands).unwrap_or(module);
                return Err(LinkError::conflict(other, module, misfit));
            }
            narrowed.complete(target);
        }
        Ok(narrowed)
    }

    /// The error that tells of undefined symbols; see [`undefined::explain`].
    pub(super) fn undefined(
        &self,
        missing: BTreeMap<String, Vec<String>>,
        parts: &[Part],
        worker: Option<(&mut Worker, ModuleId)>,
    ) -> LinkError {
        undefined::explain(missing, parts, self.modules, &self.asked, &self.looked_at, worker)
    }
}

/// An image that is code already.
fn finished(module: &Module<'_>) -> Result<Part, LinkError> {
    // Native code in a SYCLBIN is whatever a vendor's compiler wrote, also nothing at all.
    let mut place = module.image.location.parts();
    let is_native = module.image.container == ContainerKind::SyclBin && place.any(|part| part == "native");
    let is_code = !matches!(
        module.image.format,
        ImageFormat::Archive | ImageFormat::Compressed | ImageFormat::Unknown
    );
    if !is_code && !is_native {
        return Err(LinkError::Format {
            label: module.label.clone(),
            what: module.image.format.name(),
        });
    }
    let mut part = Part::new(module.label.clone(), passed_on(&module.image));
    if module.image.format == ImageFormat::Spirv {
        let spirv = SpirvModule::from_bytes(module.bytes()).map_err(|error| LinkError::Module {
            label: module.label.clone(),
            error,
        })?;
        part.set_reflection(reflect(&spirv));
    } else {
        part.symbols = module.image.symbols(&Limits::default());
    }
    part.image.properties = match (module.properties(), &part.reflection) {
        (Some(told), _) => told.clone(),
        (None, Some(reflection)) => image_properties(reflection),
        (None, None) => native_properties(&part.symbols),
    };
    part.is_told = module.properties().is_some();
    part.natives = module.natives.iter().map(passed_on).collect();
    Ok(part)
}

/// The code of an image for the result, without what belongs to the container that it came in.
fn passed_on(image: &DeviceImage<'_>) -> DeviceImage<'static> {
    let mut passed = DeviceImage::of_format(Vec::new(), image.format);
    passed.code = image.code.clone().into_owned();
    passed.target = image.target.clone();
    passed.producer = image.producer;
    passed
}

/// The property sets of an image that is no SPIR-V.
pub(super) fn native_properties(symbols: &Symbols) -> PropertySets {
    let mut sets = PropertySets::new();
    let none: &[u32] = &[];
    sets.insert(names::DEVICE_REQUIREMENTS, "aspects", none);
    for (set, symbols) in [
        (names::KERNEL_NAMES, &symbols.kernels),
        (names::EXPORTED_SYMBOLS, &symbols.exports),
        (names::IMPORTED_SYMBOLS, &symbols.imports),
    ] {
        let mut symbols = symbols
            .iter()
            .filter(|name| set != names::EXPORTED_SYMBOLS || !crate::symbols::is_reserved(name))
            .peekable();
        if symbols.peek().is_some() {
            sets.insert_symbols(set, symbols.cloned());
        }
    }
    sets
}
