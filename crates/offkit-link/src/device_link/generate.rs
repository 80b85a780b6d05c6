//! Bitcode and objects of one target to images.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use offkit_image::Family;
use offkit_llvm::{
    EmitOptions, GeneratedPart, Linkage, ModuleFile, ModuleSummary, Part, SpecializationConstantMode, Worker,
    WorkerError,
};
use offkit_object::property_set::{PropertySet, names};
use offkit_object::{ImageFormat, Producer, PropertySets, Target};
use offkit_spirv::{Module as SpirvModule, reflect};
use rayon::prelude::*;

use super::error::{Crash, LinkError};
use super::target_link::{LinkedBitcode, TargetLink, native_properties};
use super::{DeviceLink, LinkedImage, Llvm, lld};
use crate::post_link::{CopiedVariables, PlanOptions, PostLink, PostLinked};
use crate::properties::image_properties;
use offkit_devlib::code::Module;
use offkit_host::command_line::typed;

/// The names of the functions that OpenMP's regions become, which a host launches.
const OPENMP_REGION: &str = "__omp_offloading_";

/// What a driver of NVIDIA's supplies to every program.
const CUDA_SUPPLIED: [&str; 4] = ["vprintf", "malloc", "free", "__assertfail"];

/// Whether a driver supplies a symbol to every program.
pub(crate) fn is_supplied(family: Family, name: &str) -> bool {
    family.is_nvptx() && CUDA_SUPPLIED.contains(&name)
}

/// ELF's type of an object to be linked.
const ELF_RELOCATABLE: u8 = 1;

/// Whether a module is an object that the linker for objects takes.
pub(super) fn is_object(module: &Module<'_>, target: &Target) -> bool {
    let is_elf = match target.family() {
        Family::Host(_) => module.format == ImageFormat::Elf,
        Family::Amdgcn => module.format == ImageFormat::Amdgpu,
        _ => false,
    };
    // The type is a little-endian number of two bytes in ELF of all of these processors.
    is_elf && module.bytes.get(16..18) == Some(&[ELF_RELOCATABLE, 0])
}

/// What objects become, for a target whose images are made of such.
pub(super) fn linker_kind(options: &DeviceLink<'_>, target: &Target) -> Option<lld::Kind> {
    match target.family() {
        Family::Amdgcn => Some(lld::Kind::Shared { allow_imports: false }),
        Family::Host(_) if options.relocatable => Some(lld::Kind::Relocatable),
        // What is open is supplied by the process that loads the image.
        Family::Host(_) => Some(lld::Kind::Shared { allow_imports: true }),
        _ => None,
    }
}

impl TargetLink<'_, '_> {
    /// Links bitcode and objects into images.
    pub(super) fn generate(
        &mut self,
        bitcode: &[&Module<'_>],
        objects: &[&Module<'_>],
        linked: Option<LinkedBitcode>,
        llvm: &mut Llvm<'_>,
        notes: &mut Vec<String>,
    ) -> Result<Vec<LinkedImage>, LinkError> {
        let family = self.target.family();
        let object_files = self.object_files(objects)?;
        let producer = (bitcode.iter().chain(objects))
            .map(|module| module.producer)
            .find(|producer| *producer != Producer::None)
            .unwrap_or_default();
        let mut planned = vec![Planned::default()];
        let mut parts = vec![Part::default()];
        let mut generated = vec![GeneratedPart::default()];
        if let Some((summaries, module)) = linked {
            let worker = llvm.worker()?;
            let linked = self.keep.as_deref().unwrap_or(&self.folder).join("linked.bc");
            let mut copied = CopiedVariables::new();
            planned = if is_whole(producer) || !object_files.is_empty() {
                if self.keep.is_some() {
                    worker.save(&linked)?;
                }
                whole(&module)
            } else {
                worker.save(&linked)?;
                let (planned, variables) = self.post_link(worker, linked, sources(&summaries))?;
                copied = variables;
                planned
            };
            let labels = Labels::new(bitcode, objects, planned.len());
            notes.extend(copied.iter().map(|(variable, images)| {
                let some: Vec<String> = images.iter().take(2).map(|image| labels.of(*image)).collect();
                format!(
                    "`{variable}` is in {} images, {}: each has a copy of its own, and what the kernels of one write \
                     there those of another do not see (--split none makes one image)",
                    images.len(),
                    some.join(" and "),
                )
            }));
            if planned.is_empty() {
                return Err(LinkError::NothingToLink {
                    inputs: bitcode.iter().map(|module| module.label.clone()).collect(),
                });
            }
            let extension = match family {
                Family::Nvptx64 => "ptx",
                Family::Amdgcn | Family::Host(_) => "o",
                _ => "spv",
            };
            let numbered = planned.iter().enumerate().map(|(number, image)| Part {
                input: image.bitcode.clone(),
                roots: image.kernels.iter().chain(&image.exports).cloned().collect(),
                left_out: Vec::new(),
                output: self.folder.join(format!("{number}.{extension}")),
            });
            parts = numbered.collect();
            let options = self.emit_options();
            let (reproducers, keep) = (&self.options.reproducers, self.keep.as_deref());
            generated = self
                .steps
                .time("generate code", || {
                    worker.generate(&parts, &options, reproducers, keep)
                })
                .map_err(|error| self.crashed(error))?;
            if family == Family::Amdgcn && objects.is_empty() {
                let mut missing: BTreeMap<String, Vec<String>> = BTreeMap::new();
                let labels = Labels::new(bitcode, objects, parts.len());
                for (number, part) in generated.iter().enumerate() {
                    for import in &part.imports {
                        missing.entry(import.clone()).or_default().push(labels.of(number));
                    }
                }
                if !missing.is_empty() {
                    return Err(self.undefined(missing, &[], Some(worker)));
                }
            }
        } else {
            parts[0].output = self.folder.join("0.o");
        }
        if let Some(kind) = linker_kind(self.options, &self.target) {
            let triple = self.target.triple.clone();
            let has_code = !bitcode.is_empty();
            let more = &self.options.linker_arguments;
            self.steps.time("link objects", || {
                parts.par_iter_mut().try_for_each(|part| {
                    let mut objects: Vec<PathBuf> = Vec::new();
                    objects.extend(has_code.then(|| part.output.clone()));
                    objects.extend(object_files.iter().cloned());
                    if kind == lld::Kind::Relocatable && objects.len() == 1 && more.is_empty() {
                        part.output = objects.swap_remove(0);
                        return Ok::<_, LinkError>(());
                    }
                    let output = part.output.with_extension("out");
                    lld::link(&objects, &output, kind, more, &triple)?;
                    part.output = output;
                    Ok(())
                })
            })?;
        }
        if let Some(keep) = &self.keep {
            for part in &parts {
                if let Some(name) = part.output.file_name() {
                    fs::copy(&part.output, keep.join(name))?;
                }
            }
        }
        let target = &self.target;
        let labels = Labels::new(bitcode, objects, parts.len());
        self.steps.time("describe", || {
            let numbered = parts.par_iter().enumerate();
            numbered
                .map(|(number, part)| {
                    let (planned, generated) = (&planned[number], &generated[number]);
                    describe(
                        labels.of(number),
                        &part.output,
                        planned,
                        generated,
                        target,
                        producer,
                    )
                })
                .collect()
        })
    }

    /// Links bitcode, with what is needed of libraries.
    pub(super) fn link_bitcode(
        &mut self,
        bitcode: &[&Module<'_>],
        libraries: &[&Module<'_>],
        llvm: &mut Llvm<'_>,
    ) -> Result<LinkedBitcode, LinkError> {
        let inputs = self.files(bitcode, "input")?;
        let libraries = self.files(libraries, "library")?;
        let worker = self.steps.time("start LLVM", || llvm.worker())?;
        let linked = self
            .steps
            .time("link bitcode", || worker.link(&inputs, &libraries))
            .map_err(|error| unreadable(error, bitcode, worker))?;
        self.check(bitcode, &linked.0)?;
        Ok(linked)
    }

    /// Splits the linked module, a file of bitcode, into images; also tells of which variables these have copies.
    fn post_link(
        &mut self,
        worker: &mut Worker,
        linked: PathBuf,
        sources: BTreeMap<String, String>,
    ) -> Result<(Vec<Planned>, CopiedVariables), LinkError> {
        let is_spirv = self.target.family().is_spirv();
        let usual = PlanOptions::from(self.options.split);
        let post_link = PostLink {
            name: "linked.bc".to_owned(),
            input: linked,
            sources,
            plan: PlanOptions {
                // Loaders of other code resolve no symbols between images: what an image needs is in it.
                dependencies: self.options.dependencies && is_spirv,
                exports: self.options.exports.unwrap_or(usual.exports),
                ..usual
            },
            // Only SPIR-V is compiled once the values are known.
            specialization_constants: Some(match is_spirv {
                true => SpecializationConstantMode::Native,
                false => SpecializationConstantMode::Emulation,
            }),
            ..PostLink::default()
        };
        let folder = self.folder.join("images");
        fs::create_dir(&folder)?;
        let run = || post_link.run(worker, &folder, &mut |_| {});
        let PostLinked {
            images,
            virtual_functions,
            copied_variables,
            ..
        } = self.steps.time("post-link", run)?;
        let virtual_functions = Arc::new(virtual_functions);
        let images = images.into_iter().map(|image| Planned {
            bitcode: Some(image.path),
            kernels: image.kernels,
            exports: image.exports,
            properties: image.properties,
            virtual_functions: Arc::clone(&virtual_functions),
        });
        Ok((images.collect(), copied_variables))
    }

    fn emit_options(&self) -> EmitOptions {
        let family = self.target.family();
        EmitOptions {
            triple: self.target.code_generation_triple(self.options.spirv_version),
            optimization: self.options.optimization,
            spirv_extensions: match family.is_spirv() {
                true => self.options.spirv_extensions.clone(),
                false => Vec::new(),
            },
            cpu: self.target.processor().to_owned(),
            features: self.target.llvm_features().collect::<Vec<_>>().join(","),
            allow_imports: self.options.allow_imports || family.is_host(),
            as_it_is: false,
            backend_options: self.options.backend_options.clone(),
        }
    }

    /// Modules as files that the worker can open.
    fn files(&self, modules: &[&Module<'_>], prefix: &str) -> Result<Vec<ModuleFile>, LinkError> {
        let files = modules.iter().enumerate().map(|(number, module)| {
            // Names travel as UTF-8.
            let path = match module.path.clone().filter(|path| path.to_str().is_some()) {
                Some(path) => path,
                None => {
                    let path = self.folder.join(format!("{prefix}-{number}.bc"));
                    fs::write(&path, &module.bytes)?;
                    path
                }
            };
            Ok(ModuleFile {
                path,
                name: module.label.clone(),
            })
        });
        files.collect()
    }

    fn object_files(&self, objects: &[&Module<'_>]) -> Result<Vec<PathBuf>, LinkError> {
        let files = objects
            .iter()
            .enumerate()
            .map(|(number, module)| match &module.path {
                Some(path) => Ok(path.clone()),
                None => {
                    let path = self.folder.join(format!("object-{number}.o"));
                    fs::write(&path, &module.bytes)?;
                    Ok(path)
                }
            });
        files.collect()
    }

    /// Checks what the modules say themselves, and takes the processor from them if nothing else told it.
    fn check(&mut self, modules: &[&Module<'_>], summaries: &[ModuleSummary]) -> Result<(), LinkError> {
        let family = self.target.family();
        for (module, summary) in modules.iter().zip(summaries) {
            if Family::of(&summary.triple) != family {
                return Err(LinkError::Target {
                    input: module.label.clone(),
                    found: summary.triple.clone(),
                    expected: format!("`{}`", self.target),
                });
            }
        }
        // Asked after LLVM has read the bitcode: what is damaged often says nothing of a target.
        if !family.is_generated() {
            return Err(LinkError::NoGenerator {
                triple: self.target.triple.to_string(),
            });
        }
        if family.needs_processor() && self.target.processor().is_empty() {
            return Err(LinkError::NoProcessor {
                triple: self.target.triple.to_string(),
                example: family.example(),
            });
        }
        Ok(())
    }

    /// What is told of a crash: also how to see it again.
    fn crashed(&self, error: WorkerError) -> LinkError {
        let WorkerError::Crashed { reproducer, .. } = &error else {
            return error.into();
        };
        let reproducer = reproducer.clone();
        let mut words = vec!["link".to_owned()];
        if let Some(path) = &reproducer {
            words.push(typed(path.as_os_str()));
        }
        let family = self.target.family();
        let mut target = self.target.triple.clone();
        if !family.is_spirv() && !self.target.processor().is_empty() {
            target.push_str(&format!(",arch={}", self.target.arch_with_features()));
        }
        let (major, minor) = self.options.spirv_version;
        words.push(format!("--target {target} -O{}", self.options.optimization));
        if family.is_spirv() {
            let extensions = self.options.spirv_extensions.join(",");
            words.push(format!(
                "--spirv-version {major}.{minor} --spirv-ext '{extensions}'"
            ));
        }
        let backend = self.options.backend_options.iter();
        words.extend(backend.map(|option| format!("--backend-option={}", typed(option.as_ref()))));
        words.push("--split none --allow-undefined -o crash.out".to_owned());
        LinkError::Crashed(Box::new(Crash {
            error,
            reproducer,
            command: words.join(" "),
        }))
    }
}

/// What an image is made of.
#[derive(Clone, Debug, Default)]
struct Planned {
    /// Its bitcode; without, it is taken out of the linked module.
    bitcode: Option<PathBuf>,
    kernels: Vec<String>,
    exports: Vec<String>,
    /// What the bitcode says about it.
    properties: PropertySets,
    /// The virtual functions of all images.
    virtual_functions: Arc<HashSet<String>>,
}

impl Planned {
    /// The property sets of the image: what its bitcode says, and what its code says; what is left of symbols only
    /// the code does. Virtual functions are none of these, they are found by the names of their sets.
    fn properties_with(&self, code: &PropertySets) -> PropertySets {
        const SYMBOLS: [&str; 3] = [
            names::EXPORTED_SYMBOLS,
            names::KERNEL_NAMES,
            names::IMPORTED_SYMBOLS,
        ];
        let mut sets = self.properties.clone();
        for name in SYMBOLS
            .into_iter()
            .filter(|name| self.properties.set(name).is_some())
        {
            // Emptied, so that it stays in its place.
            *sets.set_mut(name) = PropertySet::new();
        }
        for (name, set) in code.iter() {
            for (key, value) in set.iter() {
                if SYMBOLS.contains(&name) && self.virtual_functions.contains(key) {
                    continue;
                }
                let value = match sets.get(name, key) {
                    None => value.clone(),
                    Some(told) if (name, key) == (names::DEVICE_REQUIREMENTS, "aspects") => {
                        let aspects: BTreeSet<u32> = (told.as_u32s().into_iter())
                            .chain(value.as_u32s())
                            .flatten()
                            .collect();
                        Vec::from_iter(aspects).as_slice().into()
                    }
                    Some(_) => continue,
                };
                sets.insert(name, key, value);
            }
        }
        for name in SYMBOLS {
            if sets.set(name).is_some_and(PropertySet::is_empty) {
                sets.remove(name);
            }
        }
        sets
    }
}

/// Whether the code of a language is not split, and all that is external stays so: runtimes look symbols up that
/// no kernel refers to.
fn is_whole(producer: Producer) -> bool {
    matches!(producer, Producer::OpenMp | Producer::Cuda | Producer::Hip)
}

/// One image with everything that is external.
fn whole(module: &ModuleSummary) -> Vec<Planned> {
    let stays = |linkage| matches!(linkage, Linkage::External | Linkage::Weak);
    let functions = module
        .functions
        .iter()
        .filter(|function| !function.is_declaration && stays(function.linkage));
    let (kernels, others): (Vec<_>, Vec<_>) =
        functions.partition(|function| function.is_kernel() || function.name.starts_with(OPENMP_REGION));
    let variables = module.variables.iter().filter(|variable| {
        !variable.is_declaration && stays(variable.linkage) && !variable.name.starts_with("llvm.")
    });
    let others = others.into_iter().map(|function| function.name.clone());
    let image = Planned {
        kernels: kernels.iter().map(|function| function.name.clone()).collect(),
        exports: others
            .chain(variables.map(|variable| variable.name.clone()))
            .collect(),
        ..Planned::default()
    };
    match image.kernels.is_empty() && image.exports.is_empty() {
        true => Vec::new(),
        false => vec![image],
    }
}

/// Which source file defines each symbol, by name.
fn sources(summaries: &[ModuleSummary]) -> BTreeMap<String, String> {
    let mut sources = BTreeMap::new();
    for summary in summaries {
        let functions = summary
            .functions
            .iter()
            .filter(|function| !function.is_declaration);
        let variables = summary
            .variables
            .iter()
            .filter(|variable| !variable.is_declaration);
        for function in functions {
            let module_id = function.attributes.get(crate::symbols::MODULE_ID);
            sources.insert(
                function.name.clone(),
                module_id.unwrap_or(&summary.source_file).clone(),
            );
        }
        sources.extend(variables.map(|variable| (variable.name.clone(), summary.source_file.clone())));
    }
    sources
}

/// Says of bitcode that LLVM refuses which compiler made it.
fn unreadable(error: WorkerError, modules: &[&Module<'_>], worker: &Worker) -> LinkError {
    let WorkerError::Failed { message } = &error else {
        return error.into();
    };
    let refused = modules
        .iter()
        .find(|module| message.starts_with(&format!("{}: ", module.label)));
    match refused {
        Some(module) => LinkError::Bitcode {
            message: message.clone(),
            producer: module.tool.clone(),
            llvm: worker.llvm_version().to_owned(),
        },
        None => error.into(),
    }
}

/// What messages call the images of a link: by what they were made of, and their numbers if there are several.
struct Labels {
    inputs: String,
    count: usize,
}

impl Labels {
    fn new(bitcode: &[&Module<'_>], objects: &[&Module<'_>], count: usize) -> Self {
        const MOST: usize = 4;
        let all = bitcode.iter().chain(objects).map(|module| module.label.as_str());
        let mut inputs = all.take(MOST).collect::<Vec<_>>().join(" + ");
        if bitcode.len() + objects.len() > MOST {
            inputs.push_str(" + …");
        }
        Self { inputs, count }
    }

    fn of(&self, number: usize) -> String {
        match self.count {
            ..=1 => self.inputs.clone(),
            _ => format!("{} (image {number})", self.inputs),
        }
    }
}

fn describe(
    label: String,
    path: &Path,
    planned: &Planned,
    generated: &GeneratedPart,
    target: &Target,
    producer: Producer,
) -> Result<LinkedImage, LinkError> {
    let bytes = fs::read(path)?;
    let family = target.family();
    let mut image = LinkedImage {
        label,
        format: ImageFormat::detect(&bytes),
        bytes,
        target: target.clone(),
        producer,
        kernels: planned.kernels.clone(),
        exports: planned.exports.clone(),
        imports: Vec::new(),
        reflection: None,
        properties: PropertySets::new(),
        group: 0,
    };
    if family.is_spirv() {
        let module = SpirvModule::from_bytes(&image.bytes).map_err(LinkError::Generated)?;
        let reflection = reflect(&module);
        image.properties = planned.properties_with(&image_properties(&reflection));
        image.set_reflection(reflection);
        image.target = target.as_generated_spirv();
    } else {
        let imports = generated.imports.iter().filter(|name| !is_supplied(family, name));
        image.imports = imports.cloned().collect();
        image.properties =
            planned.properties_with(&native_properties(&image.kernels, &image.exports, &image.imports));
    }
    Ok(image)
}
