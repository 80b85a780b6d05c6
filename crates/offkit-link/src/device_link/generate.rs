//! Bitcode and objects of one target to images.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use offkit_image::Family;
use offkit_image::target::Misfit;
use offkit_llvm::{
    CodeOptions, Diagnostic, Form, Linkage, ModuleSummary, OpenedModule, Part as ModulePart, Source,
    SpecializationConstantMode, SpirvLimits, Worker, WorkerError,
};
use offkit_object::property_set::{PropertySet, names};
use offkit_object::{Code, DeviceImage, ImageFormat, Producer, PropertySets, Symbols, Target};
use offkit_spirv::{Module as SpirvModule, reflect};
use rayon::prelude::*;

use super::error::{Crash, LinkError};
use super::join::Part;
use super::target_link::{TargetLink, native_properties};
use super::{
    DeviceLink, Llvm, NEWEST_VERSION, PORTABLE_EXTENSIONS, PORTABLE_VERSION, close_after, lld, write_kept,
};
use crate::post_link::{PlanOptions, PostLink, PostLinked, PostLinkedImage};
use crate::properties::image_properties;
use crate::symbols::is_supplied_by_driver;
use offkit_devlib::code::Module;
use offkit_host::command_line::typed;

/// The names of the functions that OpenMP's regions become, which a host launches.
const OPENMP_REGION: &str = "__omp_offloading_";

/// The extension of SPIR-V for functions that are in several modules.
const LINK_ONCE: &str = "SPV_KHR_linkonce_odr";

/// ELF's type of an object to be linked.
const ELF_RELOCATABLE: u8 = 1;

/// Whether a module is an object that the linker for objects takes.
pub(super) fn is_object(module: &Module<'_>, target: &Target) -> bool {
    let is_elf = match target.family() {
        Family::Host(_) => module.image.format == ImageFormat::Elf,
        Family::Amdgcn => module.image.format == ImageFormat::Amdgpu,
        _ => false,
    };
    // The type is a little-endian number of two bytes in ELF of all of these processors.
    is_elf && module.bytes().get(16..18) == Some(&[ELF_RELOCATABLE, 0])
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

/// Whether what is linked is split into images: code of languages that is whole is not, nor is what is linked with
/// objects, which need all of it.
pub(super) fn is_split(options: &DeviceLink<'_>, bitcode: &[&Module<'_>], objects: &[&Module<'_>]) -> bool {
    !options.whole && !is_whole(producer(bitcode, objects)) && objects.is_empty()
}

/// The language that the code was made for, as far as containers told.
fn producer(bitcode: &[&Module<'_>], objects: &[&Module<'_>]) -> Producer {
    (bitcode.iter().chain(objects))
        .map(|module| module.image.producer)
        .find(|producer| *producer != Producer::None)
        .unwrap_or_default()
}

impl TargetLink<'_, '_> {
    /// Links bitcode and objects into images.
    pub(super) fn generate(
        &mut self,
        bitcode: &[&Module<'_>],
        objects: &[&Module<'_>],
        linked: Option<OpenedModule>,
        llvm: &mut Llvm<'_>,
        notes: &mut Vec<String>,
    ) -> Result<Vec<Part>, LinkError> {
        let producer = producer(bitcode, objects);
        let mut images = match linked {
            Some(linked) => {
                let split = is_split(self.options, bitcode, objects);
                self.generate_code(&linked, split, llvm.worker()?, bitcode, objects, notes)?
            }
            // Made of objects alone.
            None => vec![Generated {
                planned: Planned::default(),
                file_name: OsString::new(),
                code: Code::from(Vec::new()),
                imports: Vec::new(),
            }],
        };
        if let Some(kind) = linker_kind(self.options, &self.target) {
            let has_code = !bitcode.is_empty();
            self.link_objects(&mut images, has_code, objects, kind)?;
        }
        if let Some(keep) = &self.keep {
            for image in &images {
                write_kept(keep.join(&image.file_name), image.code.bytes()?)?;
            }
        }
        let target = &self.target;
        let labels = Labels::new(bitcode, objects, images.len());
        // On all cores: SPIR-V is parsed for it, and there may be an image for each kernel.
        self.steps.time("describe", || {
            let numbered = images.into_par_iter().enumerate();
            numbered
                .map(|(number, image)| describe(labels.of(number), image, target, producer))
                .collect()
        })
    }

    /// Generates the code of the images that linked bitcode becomes.
    fn generate_code(
        &mut self,
        linked: &OpenedModule,
        is_split: bool,
        worker: &mut Worker,
        bitcode: &[&Module<'_>],
        objects: &[&Module<'_>],
        notes: &mut Vec<String>,
    ) -> Result<Vec<Generated>, LinkError> {
        let family = Family::of(&self.target.triple);
        if let Some(keep) = &self.keep {
            let whole = worker.emit_whole(linked.id, &Form::Bitcode)?;
            write_kept(keep.join("linked.bc"), &whole.content)?;
        }
        // The module stays in the worker from here on. What is planned goes by names, on the summary that came when
        // it was opened; each image's part is cut out and compiled there, so that no bitcode travels to and fro.
        let post_link = self.post_link(&linked.inputs);
        let (split, whole) = match is_split {
            true => {
                let split = self
                    .steps
                    .time("post-link", || post_link.split(&linked.summary))?;
                (Some(split), Vec::new())
            }
            false => (None, whole(&linked.summary)),
        };
        let parts: Vec<ModulePart> = match &split {
            Some(split) => split.parts().to_vec(),
            None => whole.iter().map(Planned::part).collect(),
        };
        if parts.is_empty() {
            return Err(LinkError::NothingToLink {
                inputs: bitcode.iter().map(|module| module.label.clone()).collect(),
            });
        }
        let form = Form::Code(Box::new(self.code_options(objects.is_empty())));
        let emitted = self
            .steps
            // No number of jobs: one on each core.
            .time("generate code", || worker.emit(linked.id, &parts, &form, 0))
            .map_err(|error| self.crashed(error))?;
        notes.extend(told(&linked.diagnostics));
        notes.extend(emitted.iter().flat_map(|part| told(&part.diagnostics)));

        let labels = Labels::new(bitcode, objects, parts.len());
        let extension = match family {
            Family::Nvptx64 => "ptx",
            Family::Amdgcn | Family::Host(_) => "o",
            _ => "spv",
        };
        let generated =
            |(number, (planned, code, imports)): (usize, (Planned, Code<'static>, Vec<String>))| Generated {
                file_name: format!("{number}.{extension}").into(),
                planned,
                code,
                imports,
            };
        let images: Vec<Generated> = match split {
            Some(split) => {
                let linked = self
                    .steps
                    .time("post-link", || split.describe(emitted, Vec::new()));
                let PostLinked {
                    images,
                    virtual_functions,
                    copied_variables,
                    ..
                } = linked;
                notes.extend(copied_variables.iter().map(|(variable, images)| {
                    let some: Vec<String> = images.iter().take(2).map(|image| labels.of(*image)).collect();
                    format!(
                        "`{variable}` is in {} images, {}: each has a copy of its own, and what the kernels of one \
                         write there those of another do not see (--split none makes one image)",
                        images.len(),
                        some.join(" and "),
                    )
                }));
                let virtual_functions = Arc::new(virtual_functions);
                let images = images.into_iter().map(|PostLinkedImage { image, open, .. }| {
                    let planned = Planned {
                        kernels: image.kernels,
                        exports: image.exports,
                        properties: image.properties,
                        virtual_functions: Arc::clone(&virtual_functions),
                    };
                    (planned, image.code, open)
                });
                images.enumerate().map(generated).collect()
            }
            None => {
                let emitted = emitted
                    .into_iter()
                    .map(|part| (Code::from(part.content), part.imports));
                let images = whole.into_iter().zip(emitted);
                let images = images.map(|(planned, (code, imports))| (planned, code, imports));
                images.enumerate().map(generated).collect()
            }
        };
        // `ld.lld --no-undefined` would refuse these as well, with their names alone: while the module is open, the
        // error can tell which kernel needs them and by way of what. Objects among the inputs may supply them, so
        // there lld has the last word.
        if family == Family::Amdgcn && objects.is_empty() {
            let mut missing: BTreeMap<String, Vec<String>> = BTreeMap::new();
            for (number, image) in images.iter().enumerate() {
                for import in &image.imports {
                    missing.entry(import.clone()).or_default().push(labels.of(number));
                }
            }
            if !missing.is_empty() {
                return Err(self.undefined(missing, &[], Some((worker, linked.id))));
            }
        }
        Ok(images)
    }

    /// Links the code of each image, if it has any, with objects.
    fn link_objects(
        &mut self,
        images: &mut [Generated],
        has_code: bool,
        objects: &[&Module<'_>],
        kind: lld::Kind,
    ) -> Result<(), LinkError> {
        let more = &self.options.linker_arguments;
        if kind == lld::Kind::Relocatable && more.is_empty() && objects.len() + usize::from(has_code) == 1 {
            // Nothing to link it with.
            if let ([image], [object]) = (images, objects) {
                let file_name = object.path.as_ref().and_then(|path| path.file_name());
                image.file_name = file_name.unwrap_or("object-0.o".as_ref()).to_owned();
                image.code = object.image.code.clone().into_owned();
            }
            return Ok(());
        }
        let folder = self.temporary.path()?;
        let object_files = object_files(objects, folder)?;
        let triple = self.target.triple.clone();
        self.steps.time("link objects", || {
            // Where there are objects there is one image (see `is_split`); several have none, and each is linked by
            // itself.
            images.par_iter_mut().enumerate().try_for_each(|(number, image)| {
                let mut objects: Vec<PathBuf> = Vec::new();
                if has_code {
                    let object = folder.join(&image.file_name);
                    fs::write(&object, image.code.bytes()?)?;
                    objects.push(object);
                }
                objects.extend(object_files.iter().cloned());
                image.file_name = format!("{number}.out").into();
                let output = folder.join(&image.file_name);
                lld::link(&objects, &output, kind, more, &triple)?;
                image.code = fs::read(output)?.into();
                Ok(())
            })
        })
    }

    /// Links bitcode, with what is needed of libraries; what is to be split is looked into with `bodies`.
    pub(super) fn link_bitcode(
        &mut self,
        bitcode: &[&Module<'_>],
        libraries: &[&Module<'_>],
        bodies: bool,
        llvm: &mut Llvm<'_>,
    ) -> Result<OpenedModule, LinkError> {
        let inputs: Vec<_> = bitcode.iter().map(|module| source(module)).collect();
        let libraries: Vec<_> = libraries.iter().map(|module| source(module)).collect();
        let worker = self.steps.time("start LLVM", || llvm.worker())?;
        let linked = self
            .steps
            .time("link bitcode", || worker.open(&inputs, &libraries, bodies))
            .map_err(|error| unreadable(error, bitcode, worker))?;
        if let Err(error) = self.check(bitcode, &linked.inputs) {
            return close_after(worker, linked.id, Err(error));
        }
        Ok(linked)
    }

    /// How the linked module is split into images.
    fn post_link(&self, inputs: &[ModuleSummary]) -> PostLink {
        let is_spirv = self.target.family().is_spirv();
        let usual = PlanOptions::from(self.options.split);
        PostLink {
            sources: sources(inputs),
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
        }
    }

    /// `is_whole` says that no objects are linked with the code.
    pub(super) fn code_options(&self, is_whole: bool) -> CodeOptions {
        let family = self.target.family();
        // Nobody links a code object with another one.
        let is_closed = !self.options.allow_imports || family == Family::Amdgcn;
        let limits = SpirvLimits {
            version: self.options.spirv_version.unwrap_or(NEWEST_VERSION),
            extensions: self.options.spirv_extensions.clone(),
        };
        // Without it, what is in several modules would be exported by each.
        let link_once = (self.options.inline_once && limits.extensions.is_none()).then_some(LINK_ONCE);
        CodeOptions {
            // The portable version at most, to start from. What a part needs beyond is found out when LLVM refuses
            // it, and given as far as `spirv_limits` goes: a module gets the oldest version that it needs, and not
            // the newest that is allowed.
            triple: self
                .target
                .code_generation_triple(limits.version.min(PORTABLE_VERSION)),
            optimization: self.options.optimization,
            spirv_extensions: match (family.is_spirv(), &limits.extensions) {
                (true, Some(extensions)) => extensions.clone(),
                (true, None) => {
                    let extensions = PORTABLE_EXTENSIONS.into_iter().chain(link_once);
                    extensions.map(str::to_owned).collect()
                }
                (false, _) => Vec::new(),
            },
            spirv_limits: family.is_spirv().then_some(limits),
            cpu: self.target.processor().to_owned(),
            features: self.target.llvm_features().collect::<Vec<_>>().join(","),
            // The process that loads code of a host supplies what is open, and finds by name what is exported: it is
            // never closed.
            allow_imports: self.options.allow_imports || family.is_host(),
            is_closed: is_closed && is_whole && !family.is_host(),
            inline_once: self.options.inline_once,
            as_it_is: false,
            backend_options: self.options.backend_options.clone(),
            reproducers: Some(self.options.reproducers.clone()),
            keep: self.keep.clone(),
        }
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
                    misfit: Misfit::Architecture,
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
    pub(super) fn crashed(&self, error: WorkerError) -> LinkError {
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
        words.push(format!("--target {target} -O{}", self.options.optimization));
        if let Some((major, minor)) = self.options.spirv_version {
            words.push(format!("--spirv-version {major}.{minor}"));
        }
        if let Some(extensions) = &self.options.spirv_extensions {
            words.push(format!("--spirv-ext '{}'", extensions.join(",")));
        }
        let backend = self.options.backend_options.iter();
        words.extend(backend.map(|option| format!("--backend-option={}", typed(option.as_ref()))));
        // The reproducer is one image's part: it was split before, and what other images define it only declares.
        words.push("--split none --allow-undefined -o crash.out".to_owned());
        LinkError::Crashed(Box::new(Crash {
            error,
            reproducer,
            command: words.join(" "),
        }))
    }
}

/// What LLVM reported, for people.
pub(super) fn told(diagnostics: &[Diagnostic]) -> impl Iterator<Item = String> {
    diagnostics.iter().map(Diagnostic::to_string)
}

/// A module for the worker to read.
pub(super) fn source<'a>(module: &'a Module<'_>) -> Source<'a> {
    match &module.path {
        Some(path) => Source {
            name: module.label.clone(),
            ..Source::file(path)
        },
        None => Source::bytes(&module.label, module.bytes()),
    }
}

/// Objects as files that the linker can open.
fn object_files(objects: &[&Module<'_>], folder: &Path) -> Result<Vec<PathBuf>, LinkError> {
    let files = objects
        .iter()
        .enumerate()
        .map(|(number, module)| match &module.path {
            Some(path) => Ok(path.clone()),
            None => {
                let path = folder.join(format!("object-{number}.o"));
                fs::write(&path, module.bytes())?;
                Ok(path)
            }
        });
    files.collect()
}

/// An image whose code is there.
pub(super) struct Generated {
    pub(super) planned: Planned,
    /// What its code is called where it is kept.
    pub(super) file_name: OsString,
    pub(super) code: Code<'static>,
    /// Symbols that its code uses and does not define.
    pub(super) imports: Vec<String>,
}

/// What an image is made of.
#[derive(Clone, Debug, Default)]
pub(super) struct Planned {
    kernels: Vec<String>,
    exports: Vec<String>,
    /// What the bitcode says about it.
    properties: PropertySets,
    /// The virtual functions of all images.
    virtual_functions: Arc<HashSet<String>>,
}

impl Planned {
    /// All of the module, with this image's symbols to be seen.
    fn part(&self) -> ModulePart {
        let roots: Vec<String> = self.kernels.iter().chain(&self.exports).cloned().collect();
        ModulePart {
            visible: Some(roots.clone()),
            roots,
            ..ModulePart::default()
        }
    }

    /// The property sets of the image: what its bitcode says, and what its code says; what is left of symbols only
    /// the code does. Virtual functions are none of these, they are found by the names of their sets.
    fn properties_with(&self, code: &PropertySets) -> PropertySets {
        const SYMBOLS: [&str; 3] = [
            names::EXPORTED_SYMBOLS,
            names::KERNEL_NAMES,
            names::IMPORTED_SYMBOLS,
        ];
        // Bitcode and code know different things: aspects, names and sizes come from the front end's marks, which
        // code generation drops; which symbols are left, and what the instructions need after optimisation, only the
        // code knows.
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

/// One image with everything that is external, and with kernels not what is hidden: compilers hide functions of devices
/// where they take it that all code comes to one link.
fn whole(module: &ModuleSummary) -> Vec<Planned> {
    let stays = |linkage| matches!(linkage, Linkage::External | Linkage::Weak);
    let functions = module
        .functions
        .iter()
        .filter(|function| !function.is_declaration && stays(function.linkage));
    let (kernels, others): (Vec<_>, Vec<_>) =
        functions.partition(|function| function.is_kernel() || function.name.starts_with(OPENMP_REGION));
    let is_seen = |is_hidden: bool| !is_hidden || kernels.is_empty();
    let variables = module.variables.iter().filter(|variable| {
        !variable.is_declaration
            && stays(variable.linkage)
            && is_seen(variable.is_hidden)
            // `llvm.used` and the like are lists for LLVM, in the form of variables.
            && !variable.name.starts_with("llvm.")
    });
    let others = others.iter().filter(|function| is_seen(function.is_hidden));
    let others = others.map(|function| function.name.clone());
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
            // The mark goes before: a file of bitcode may have been linked of several sources, and
            // has the name of one.
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
        // The worker begins its message with the name that the source was sent under, which is the label.
        .find(|module| message.starts_with(&format!("{}: ", module.label)));
    match refused {
        Some(module) => LinkError::Bitcode {
            message: message.clone(),
            producer: module.tool().map(str::to_owned),
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
        // A program may have hundreds of objects: the first few tell which link it is.
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

pub(super) fn describe(
    label: String,
    generated: Generated,
    target: &Target,
    producer: Producer,
) -> Result<Part, LinkError> {
    let Generated {
        planned,
        code: bytes,
        imports,
        ..
    } = generated;
    let family = target.family();
    let mut image = DeviceImage::new(bytes);
    image.target = target.clone();
    image.producer = producer;
    let mut part = Part::new(label, image);
    part.is_generated = true;
    if family.is_spirv() {
        let module = SpirvModule::from_bytes(part.bytes()).map_err(LinkError::Generated)?;
        let reflection = reflect(&module);
        part.image.properties = planned.properties_with(&image_properties(&reflection));
        part.image.target = target.as_generated_spirv();
        part.set_reflection(reflection);
    } else {
        let is_open = |name: &String| !is_supplied_by_driver(family, name);
        part.symbols = Symbols {
            kernels: planned.kernels.clone(),
            exports: planned.exports.clone(),
            imports: imports.into_iter().filter(is_open).collect(),
        };
        part.image.properties = planned.properties_with(&native_properties(&part.symbols));
    }
    Ok(part)
}
