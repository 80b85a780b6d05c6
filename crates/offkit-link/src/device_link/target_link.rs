//! The link for one target: from what takes part to its images.

use std::collections::{BTreeMap, HashSet};
use std::path::PathBuf;

use offkit_llvm::{ModuleId, OpenedModule, Worker};
use offkit_object::property_set::{PropertySets, names};
use offkit_object::{BundleState, ImageFormat, Target};
use offkit_spirv::{Module as SpirvModule, reflect};

use super::error::LinkError;
use super::join::{Part, join};
use super::libraries::check_abi;
use super::select::select;
use super::{DeviceLink, LinkedImage, Llvm, Steps, TemporaryFolder, generate, undefined};
use crate::properties::image_properties;
use offkit_devlib::code::Module;

/// The link for one target.
pub(super) struct TargetLink<'a, 'steps> {
    pub(super) options: &'a DeviceLink<'a>,
    pub(super) target: Target,
    pub(super) modules: &'a [Module<'a>],
    /// The libraries that were looked at, for people.
    pub(super) looked_at: Vec<String>,
    /// For temporary files.
    pub(super) temporary: &'a TemporaryFolder,
    pub(super) keep: Option<PathBuf>,
    pub(super) steps: &'a mut Steps<'steps>,
}

impl<'a> TargetLink<'a, '_> {
    /// Selects what takes part, device libraries aside, and links the bitcode of it, with what is needed of libraries.
    ///
    /// What a library's functions need is known when they are linked: members of archives may be needed for that alone,
    /// and then all is linked again.
    fn select(
        &mut self,
        llvm: &mut Llvm<'_>,
    ) -> Result<(Vec<&'a Module<'a>>, Option<OpenedModule>), LinkError> {
        let modules = self.modules;
        let mut wanted: Vec<String> = Vec::new();
        loop {
            let numbers = select(modules, &self.target, self.options.archive_kernels, &wanted);
            let chosen = numbers.iter().map(|&number| &modules[number]);
            let (libraries, chosen): (Vec<_>, Vec<_>) = chosen.partition(|module| module.is_library);
            let is_bitcode = |module: &&&Module<'_>| module.format == ImageFormat::Bitcode;
            let bitcode: Vec<_> = chosen.iter().filter(is_bitcode).copied().collect();
            if bitcode.is_empty() {
                return Ok((chosen, None));
            }
            let is_spirv = self.target.family().is_spirv();
            check_abi(
                &bitcode,
                &libraries,
                is_spirv.then_some(self.options.spirv_version),
            )?;
            let objects: Vec<_> = (chosen.iter().copied())
                .filter(|module| generate::is_object(module, &self.target))
                .collect();
            // Asked for now, and not when the module is split, so that it is read once.
            let bodies = generate::is_split(&bitcode, &objects);
            let linked = self.link_bitcode(&bitcode, &libraries, bodies, llvm)?;
            if libraries.is_empty() {
                return Ok((chosen, Some(linked)));
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
                if could_supply && numbers.binary_search(&number).is_err() {
                    let needed = module.exports.iter().filter(|name| open.contains(name.as_str()));
                    wanted.extend(needed.cloned());
                }
            }
            if wanted.len() == before {
                return Ok((chosen, Some(linked)));
            }
            // Memory is for one module of a link.
            llvm.worker()?.close(linked.id)?;
        }
    }
}

impl TargetLink<'_, '_> {
    /// Links what takes part; `notes` get what is worth to be said to people.
    pub(super) fn run(
        &mut self,
        llvm: &mut Llvm<'_>,
        notes: &mut Vec<String>,
    ) -> Result<Vec<Part>, LinkError> {
        let (chosen, linked) = self.select(llvm)?;
        let module = linked.as_ref().map(|linked| linked.id);
        let is_bitcode = |module: &&&Module<'_>| module.format == ImageFormat::Bitcode;
        let bitcode: Vec<_> = chosen.iter().filter(is_bitcode).copied().collect();
        let is_object = |module: &&Module<'_>| generate::is_object(module, &self.target);
        let objects: Vec<_> = chosen.iter().copied().filter(is_object).collect();

        let mut parts = Vec::new();
        if !bitcode.is_empty() || !objects.is_empty() {
            let images = self.generate(&bitcode, &objects, linked, llvm, notes)?;
            parts.extend(images.into_iter().map(|image| Part {
                image,
                is_generated: true,
                is_told: false,
                native: Vec::new(),
            }));
        }
        for module in chosen {
            if module.format != ImageFormat::Bitcode && !generate::is_object(module, &self.target) {
                parts.push(finished(module)?);
            }
        }
        let is_closed = self.options.state == BundleState::Executable && !self.options.allow_imports;
        let parts = self.steps.time("link images", || join(parts, is_closed, notes))?;

        let images = || parts.iter().map(|part| &part.image);
        if !self.options.allow_imports && !self.target.family().is_host() {
            let missing = undefined::undefined(images());
            if !missing.is_empty() {
                let worker = match module {
                    None => None,
                    Some(module) => Some((llvm.worker()?, module)),
                };
                let images: Vec<_> = images().collect();
                return Err(self.undefined(missing, &images, worker));
            }
        }
        if let Some(module) = module {
            llvm.worker()?.close(module)?;
        }
        for (number, image) in images().enumerate() {
            tracing::debug!(
                number,
                target = %image.target,
                kernels = ?image.kernels,
                exports = ?image.exports,
                imports = ?image.imports,
                bytes = image.bytes.len(),
                "linked a device image"
            );
        }
        Ok(parts)
    }

    /// The error that tells of undefined symbols; see [`undefined::explain`].
    pub(super) fn undefined(
        &self,
        missing: BTreeMap<String, Vec<String>>,
        images: &[&LinkedImage],
        worker: Option<(&mut Worker, ModuleId)>,
    ) -> LinkError {
        undefined::explain(
            missing,
            images,
            self.modules,
            &self.target,
            &self.looked_at,
            worker,
        )
    }
}

/// An image that is code already.
fn finished(module: &Module<'_>) -> Result<Part, LinkError> {
    if matches!(
        module.format,
        ImageFormat::Archive | ImageFormat::Compressed | ImageFormat::Unknown
    ) {
        return Err(LinkError::Format {
            label: module.label.clone(),
            what: module.format.name(),
        });
    }
    let mut image = LinkedImage {
        label: module.label.clone(),
        bytes: module.bytes.to_vec(),
        format: module.format,
        target: module.target.clone(),
        producer: module.producer,
        kernels: module.kernels.clone(),
        exports: module.exports.clone(),
        imports: module.imports.clone(),
        reflection: None,
        properties: PropertySets::new(),
        group: 0,
    };
    if module.format == ImageFormat::Spirv {
        let spirv = SpirvModule::from_bytes(&module.bytes).map_err(|error| LinkError::Module {
            label: module.label.clone(),
            error,
        })?;
        image.set_reflection(reflect(&spirv));
    }
    image.properties = match (&module.properties, &image.reflection) {
        (Some(told), _) => told.clone(),
        (None, Some(reflection)) => image_properties(reflection),
        (None, None) => native_properties(&image.kernels, &image.exports, &image.imports),
    };
    Ok(Part {
        image,
        is_generated: false,
        is_told: module.properties.is_some(),
        native: module.native.clone(),
    })
}

/// The property sets of an image that is no SPIR-V.
pub(super) fn native_properties(kernels: &[String], exports: &[String], imports: &[String]) -> PropertySets {
    let mut sets = PropertySets::new();
    let none: &[u32] = &[];
    sets.insert(names::DEVICE_REQUIREMENTS, "aspects", none);
    for (set, symbols) in [
        (names::KERNEL_NAMES, kernels),
        (names::EXPORTED_SYMBOLS, exports),
        (names::IMPORTED_SYMBOLS, imports),
    ] {
        let mut symbols = symbols
            .iter()
            .filter(|name| set == names::KERNEL_NAMES || !crate::symbols::is_reserved(name))
            .peekable();
        if symbols.peek().is_some() {
            sets.insert_symbols(set, symbols.cloned());
        }
    }
    sets
}
