//! Device link: files with device code in, linked device images out.
//!
//! For each target: what takes part is selected, bitcode is linked, split and made into code, and what was code
//! already is linked with that.

mod check;
mod compile;
mod constants;
mod device_globals;
mod error;
mod generate;
mod hints;
mod host_program;
mod join;
mod libraries;
mod lld;
mod properties;
mod select;
mod signatures;
mod supply;
mod target_link;
mod undefined;

use std::cell::OnceCell;
use std::collections::HashSet;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};
use std::{env, fs, io};

use offkit_image::target::Misfit;
use offkit_llvm::{Form, ModuleId, Worker, WorkerError};
use offkit_object::{BundleState, DeviceImage, ImageFormat, Location, Target, backquoted};
use tempfile::TempDir;

use crate::post_link::{ExportArrangement, SplitMode};
use offkit_devlib::Search;

pub use check::{Checked, Provider, SymbolCheck};
use compile::Route;
pub use error::{Crash, LinkError, SignatureMismatch, UndefinedSymbol};
use join::Part;
use libraries::Libraries;
pub use lld::FOLDER_VARIABLE as LLVM_FOLDER_VARIABLE;
pub use offkit_devlib::code::Input;
use offkit_devlib::code::{self, Module, sources};
use select::select;
use select::targets as targets_of;
use target_link::TargetLink;

/// What to link, and how.
#[derive(Clone, Debug)]
pub struct DeviceLink<'data> {
    /// Files with device code, in link order: bitcode, SPIR-V, objects and archives with offload binaries or
    /// bundles, offload binaries, SYCLBIN files; and libraries.
    pub inputs: Vec<Input<'data>>,
    /// Where libraries are looked for.
    pub search: Search,
    /// What to link for; where empty, all that the inputs have code for.
    pub targets: Vec<Target>,
    /// Files of bitcode of which only what is needed is linked.
    pub device_libraries: Vec<Input<'data>>,
    /// Whether what nothing else supplies comes from the libraries of offkit,
    /// [`DEFAULT_LIBRARIES`](offkit_devlib::DEFAULT_LIBRARIES), as an executable wants it.
    pub default_libraries: bool,
    /// Whether a member of an archive is also linked for the kernels that it has, and not only for a symbol that
    /// is needed: a host program may launch them.
    pub archive_kernels: bool,
    /// All that the host's program is linked of, where that is known. Members of archives that are no part of it may
    /// need what is undefined: then they are linked only for what is needed of them.
    pub host_program: Option<Vec<Input<'data>>>,
    /// How the linked module is split into images.
    pub split: SplitMode,
    /// Whether it stays whole instead, with all that it defines for others, whatever the name: programs of OpenCL C
    /// even call the kernels of other programs.
    pub whole: bool,
    /// Whether functions that are declared `inline` may be in several modules that are linked later, and go where they have
    /// no use. Otherwise they are as others.
    pub inline_once: bool,
    /// Where exported functions go; where that is open, in images of their own where kernels have images of their own,
    /// and beside the kernels of their source file otherwise.
    pub exports: Option<ExportArrangement>,
    /// Whether a SPIR-V image may need functions and variables of another one at run time, instead of having
    /// copies. What loads code of other kinds finds no symbols in other images: there each has copies in any case.
    pub dependencies: bool,
    /// How far the result is to be on its way. An executable that needs nothing
    /// from other files supplies nothing to them: SPIR-V has no exports but those that its own images need.
    pub state: BundleState,
    /// The newest version of SPIR-V that the target takes; without one, any. A module gets the oldest that it needs.
    pub spirv_version: Option<(u8, u8)>,
    /// The SPIR-V extensions that the target takes; without a list, any. A module uses what it needs beyond
    /// [`PORTABLE_EXTENSIONS`], or of the list what LLVM has a use for.
    pub spirv_extensions: Option<Vec<String>>,
    /// The level of optimisation, 0 to 3. SPIR-V stays portable at every level: loops are neither
    /// unrolled nor vectorised before the device is known.
    pub optimization: u8,
    /// More options of LLVM's back ends, as `llc` takes them.
    pub backend_options: Vec<String>,
    /// More arguments of the linker for objects (LLVM's, `ld.lld`), behind the objects: options, libraries.
    pub linker_arguments: Vec<OsString>,
    /// Whether symbols may be left for other files to supply when the kernel is loaded. Code for a host's
    /// processor may need what the process has that loads it in any case; an AMDGPU code object may never.
    pub allow_imports: bool,
    /// Whether code for a host's processor becomes an object to be linked again, and not a shared object.
    pub relocatable: bool,
    /// The folder to keep intermediate files in, if that is wanted.
    pub keep: Option<PathBuf>,
    /// The folder for the bitcode of an image that LLVM crashes at.
    pub reproducers: PathBuf,
}

impl Default for DeviceLink<'_> {
    fn default() -> Self {
        Self {
            inputs: Vec::new(),
            search: Search::default(),
            targets: Vec::new(),
            device_libraries: Vec::new(),
            default_libraries: false,
            archive_kernels: false,
            host_program: None,
            split: SplitMode::default(),
            whole: false,
            inline_once: false,
            exports: None,
            dependencies: true,
            state: BundleState::Object,
            spirv_version: None,
            spirv_extensions: None,
            optimization: 2,
            backend_options: Vec::new(),
            linker_arguments: Vec::new(),
            allow_imports: true,
            relocatable: false,
            keep: None,
            reproducers: env::temp_dir(),
        }
    }
}

/// The version of SPIR-V that a module gets which needs no newer one: that of OpenCL 2.2, which devices take.
pub const PORTABLE_VERSION: (u8, u8) = (1, 2);

/// The newest version that there is.
const NEWEST_VERSION: (u8, u8) = (1, 6);

/// Reads a version of SPIR-V as people write it: `1.4`.
///
/// # Errors
///
/// What was expected.
pub fn spirv_version(text: &str) -> Result<(u8, u8), String> {
    let parsed = text
        .split_once('.')
        .and_then(|(major, minor)| Some((major.parse().ok()?, minor.parse().ok()?)));
    match parsed {
        Some(version @ (1, 0..=6)) => Ok(version),
        _ => Err("expected 1.0 to 1.6".into()),
    }
}

/// The SPIR-V extensions that may be used unless others are asked for: ratified ones without which
/// OpenCL C's own functions cannot be expressed.
pub const PORTABLE_EXTENSIONS: [&str; 9] = [
    "SPV_EXT_relaxed_printf_string_address_space",
    "SPV_EXT_shader_atomic_float_add",
    "SPV_EXT_shader_atomic_float_min_max",
    "SPV_KHR_bit_instructions",
    "SPV_KHR_expect_assume",
    "SPV_KHR_integer_dot_product",
    "SPV_KHR_no_integer_wrap_decoration",
    "SPV_KHR_subgroup_rotate",
    "SPV_KHR_uniform_group_instructions",
];

/// The device images that came out, and how long each step took.
#[derive(Clone, Debug, Default)]
pub struct Linked {
    /// The images, numbered as they stand here, with the symbols that are recorded of them. Their locations are what
    /// messages call them.
    pub images: Vec<DeviceImage<'static>>,
    /// What was taken of libraries and archives, target by target.
    pub taken: Vec<Taken>,
    /// What was lost on the way, for people.
    pub notes: Vec<String>,
    /// The steps, in order; those that are done for each target once, with the time of all.
    pub steps: Vec<Step>,
}

/// Code of a library or an archive that takes part in a link because something needs it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Taken {
    /// The target whose link it takes part in.
    pub target: Target,
    /// What messages call it: a file, or a place in one.
    pub label: String,
}

/// One step of a link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// What was done.
    pub name: &'static str,
    /// How long it took.
    pub time: Duration,
}

/// What a link would do, as [`DeviceLink::plan`] tells.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TargetPlan {
    /// The target.
    pub target: Target,
    /// The images that are linked, by what messages call them.
    pub inputs: Vec<String>,
    /// The libraries that are looked in for what is needed, for people.
    pub libraries: Vec<String>,
    /// The command lines of other programs, with names of files that stand for what is made on the way.
    pub commands: Vec<String>,
}

/// A worker that is started when it is known to be needed, for one link or for several.
#[derive(Debug, Default)]
pub struct Llvm<'a> {
    given: Option<&'a mut Worker>,
    starting: Option<JoinHandle<Result<Worker, WorkerError>>>,
    started: Option<Worker>,
}

impl Llvm<'_> {
    /// Starts a worker while something else is done.
    pub fn start(&mut self) {
        if self.given.is_none() && self.started.is_none() && self.starting.is_none() {
            self.starting = Some(thread::spawn(Worker::start));
        }
    }

    /// The worker; waits until it is there.
    ///
    /// # Errors
    ///
    /// Those of [`Worker::start`].
    pub fn worker(&mut self) -> Result<&mut Worker, WorkerError> {
        if let Some(worker) = &mut self.given {
            return Ok(worker);
        }
        match &mut self.started {
            Some(worker) => Ok(worker),
            started => {
                let starting = self.starting.take();
                let worker = match starting.map(JoinHandle::join) {
                    Some(Ok(worker)) => worker?,
                    // The thread's panic would be one here too.
                    Some(Err(_)) | None => Worker::start()?,
                };
                Ok(started.insert(worker))
            }
        }
    }
}

/// The files of a link.
struct Sources<'a> {
    inputs: Vec<code::Source<'a>>,
    device_libraries: Vec<code::Source<'a>>,
}

/// What is linked, and for what.
struct Prepared<'a> {
    /// All code that may take part, in order.
    modules: Vec<Module<'a>>,
    /// What is linked for, and what is made of that, for each target.
    targets: Vec<Target>,
    compiled_for: Vec<Option<Target>>,
    libraries: Libraries,
}

impl DeviceLink<'_> {
    /// Links the inputs.
    ///
    /// `progress` is told the name of each step as it begins.
    ///
    /// # Errors
    ///
    /// See [`LinkError`].
    pub fn run(
        &self,
        worker: &mut Worker,
        progress: &mut dyn FnMut(&'static str),
    ) -> Result<Linked, LinkError> {
        let mut llvm = Llvm {
            given: Some(worker),
            ..Llvm::default()
        };
        self.run_with(&mut llvm, progress)
    }

    /// Links the inputs as [`run`](Self::run) does, and starts a worker if there is bitcode among them.
    ///
    /// # Errors
    ///
    /// See [`LinkError`].
    pub fn run_alone(&self, progress: &mut dyn FnMut(&'static str)) -> Result<Linked, LinkError> {
        self.run_with(&mut Llvm::default(), progress)
    }

    /// Links the inputs as [`run`](Self::run) does, and starts the worker if there is bitcode among them and it does
    /// not run yet.
    ///
    /// # Errors
    ///
    /// See [`LinkError`].
    pub fn run_with(
        &self,
        llvm: &mut Llvm<'_>,
        progress: &mut dyn FnMut(&'static str),
    ) -> Result<Linked, LinkError> {
        let mut steps = Steps {
            done: Vec::new(),
            progress,
        };
        let mut sources = steps.time("read", || self.read())?;
        let mut prepared = self.prepare(&mut sources, llvm, &mut steps)?;
        let mut linked = Linked {
            notes: std::mem::take(&mut prepared.libraries.notes),
            ..Linked::default()
        };
        for number in 0..prepared.targets.len() {
            let notes = &mut linked.notes;
            let (parts, taken) = match &prepared.compiled_for[number] {
                None => self.link_for(number, &prepared, llvm, &mut steps, notes)?,
                Some(target) => {
                    // No driver that takes other code than SPIR-V links it with that of other images.
                    let options = DeviceLink {
                        dependencies: false,
                        ..self.clone()
                    };
                    let (parts, taken) = options.link_for(number, &prepared, llvm, &mut steps, notes)?;
                    (steps.progress)("generate code");
                    let keep = self.keep_for(number, &prepared)?;
                    let parts = compile::compile(self, parts, target, keep, (llvm, notes))?;
                    (parts, taken)
                }
            };
            linked.taken.extend(taken);
            for part in parts {
                linked.add(part);
            }
        }
        if linked.images.is_empty() {
            return Err(LinkError::NothingToLink { inputs: self.names() });
        }
        // Several targets often have the same to say.
        let mut told = HashSet::new();
        linked.notes.retain(|note| told.insert(note.clone()));
        linked.steps = steps.done;
        Ok(linked)
    }

    /// Finds what the inputs are linked for, and the libraries for that.
    fn prepare<'a>(
        &self,
        sources: &'a mut Sources<'_>,
        llvm: &mut Llvm<'_>,
        steps: &mut Steps<'_>,
    ) -> Result<Prepared<'a>, LinkError> {
        for source in &mut sources.inputs {
            let Some((name, text)) = source.text_module() else {
                continue;
            };
            // Only LLVM reads its own text. As bitcode the module tells its target and its symbols.
            let text = offkit_llvm::Source::bytes(name, text);
            let worker = llvm.worker()?;
            let module = worker.open(&[text], &[], false)?;
            let bitcode = worker.emit_whole(module.id, &Form::Bitcode);
            let bitcode = close_after(worker, module.id, bitcode.map_err(LinkError::from))?;
            source.set_bitcode(bitcode.content);
        }
        // The worker starts while the inputs are read.
        if sources.inputs.iter().any(code::Source::is_bitcode) {
            llvm.start();
        }
        // Before the other libraries, which are found by target: what is linked whole has a say in
        // what the targets are.
        let whole = Libraries::whole(self);
        let mut modules = steps.time("read", || self.modules(&sources.inputs))?;
        modules.extend(whole.modules());
        // Libraries that are linked whole stand among the inputs, where the command line has them: archives before and
        // behind them choose by that order.
        modules.sort_by_key(|module| module.input);
        let (targets, compiled_for): (Vec<_>, Vec<_>) = (self.routes(&modules)?.into_iter())
            .map(|route| (route.target, route.compiled_for))
            .unzip();
        let library_modules = code::modules(&sources.device_libraries)?;
        self.check_libraries(&library_modules, &targets)?;

        let mut libraries = Libraries::named(&whole);
        steps.time("find libraries", || libraries.find(self, &targets, &modules))?;
        modules.extend(libraries.modules());
        // Those of `--device-lib` come after everything else.
        modules.extend(library_modules.into_iter().map(|module| Module {
            input: self.inputs.len().saturating_add(module.input),
            is_library: module.image.format == ImageFormat::Bitcode,
            on_demand: true,
            is_file: false,
            ..module
        }));
        // The sort is stable: code of one input stays in its order.
        modules.sort_by_key(|module| module.input);
        // Last of all: what the user names goes before.
        let added = steps.time("find libraries", || {
            libraries.find_default(self, &targets, &modules)
        })?;
        modules.extend(added);
        Ok(Prepared {
            modules,
            targets,
            compiled_for,
            libraries,
        })
    }

    /// The folder for what is kept of the link for the target of this number.
    fn keep_for(&self, number: usize, prepared: &Prepared<'_>) -> Result<Option<PathBuf>, LinkError> {
        let Some(keep) = &self.keep else { return Ok(None) };
        let target = &prepared.targets[number];
        let target = prepared.compiled_for[number].as_ref().unwrap_or(target);
        let keep = match prepared.targets.len() {
            1 => keep.clone(),
            _ => keep.join(folder_name(number, target)),
        };
        match fs::create_dir_all(&keep) {
            Ok(()) => Ok(Some(keep)),
            Err(source) => Err(LinkError::Kept { path: keep, source }),
        }
    }

    /// Links for the target of this number, and says what of libraries and archives took part.
    fn link_for(
        &self,
        number: usize,
        prepared: &Prepared<'_>,
        llvm: &mut Llvm<'_>,
        steps: &mut Steps<'_>,
        notes: &mut Vec<String>,
    ) -> Result<(Vec<Part>, Vec<Taken>), LinkError> {
        let target = &prepared.targets[number];
        let temporary = TemporaryFolder::default();
        let keep = self.keep_for(number, prepared)?;
        let mut link = |modules: &[Module<'_>], notes: &mut Vec<String>| {
            let mut link = TargetLink {
                options: self,
                target: target.clone(),
                asked: target.clone(),
                modules,
                looked_at: prepared.libraries.looked_at(target),
                temporary: &temporary,
                keep: keep.clone(),
                steps,
            };
            link.run(llvm, notes)
        };
        let mut own_notes = Vec::new();
        let mut result = link(&prepared.modules, &mut own_notes);
        // Only once a link has failed: to know what the host's linker leaves out, every file of the program and its
        // libraries have to be read, and nearly every program links without.
        if let (Err(LinkError::Undefined { .. }), Some(program)) = (&result, &self.host_program) {
            let places = host_program::left_out(program, &self.search);
            let mut modules = prepared.modules.clone();
            // A member that is left out takes with it what it alone supplied, so that others may now miss that. Each
            // round leaves out at least one more, so this ends.
            while let Err(LinkError::Undefined { symbols, .. }) = &result {
                let left_out = host_program::leave_out(&mut modules, &places, symbols);
                if left_out.is_empty() {
                    break;
                }
                // Nobody else has their kernels launched by name.
                if self.archive_kernels {
                    notes.extend(left_out.iter().map(ToString::to_string));
                }
                // The next attempt says again what still holds.
                own_notes.clear();
                result = link(&modules, &mut own_notes);
            }
        }
        notes.append(&mut own_notes);
        result
    }

    /// The device code in the inputs.
    fn modules<'s>(&self, inputs: &'s [code::Source<'s>]) -> Result<Vec<Module<'s>>, code::ReadError> {
        let mut modules = code::modules(inputs)?;
        if self.archive_kernels {
            // Among a program's objects, bitcode for the host is the program's own code: `clang -flto` makes such objects.
            modules.retain(|module| !module.is_host_object());
        }
        Ok(modules)
    }

    /// What [`run`](Self::run) would do, found out without LLVM.
    ///
    /// # Errors
    ///
    /// Those of reading inputs and of targets that do not fit, as [`run`](Self::run) has them.
    pub fn plan(&self) -> Result<Vec<TargetPlan>, LinkError> {
        let sources = self.read()?;
        let modules = self.modules(&sources.inputs)?;
        let routes = self.routes(&modules)?;
        let targets: Vec<_> = routes.iter().map(|route| route.target.clone()).collect();
        let mut libraries = Libraries::default();
        libraries.find(self, &targets, &modules)?;
        libraries.find_default(self, &targets, &modules)?;
        let plan = routes.into_iter().map(|route| {
            let target = route.target.clone();
            let chosen = select(&modules, &target, self.archive_kernels, &[]);
            let inputs = chosen.iter().map(|&number| modules[number].label.clone());
            let commands = match generate::linker_kind(self, route.asked()) {
                None => Vec::new(),
                Some(kind) => {
                    let more = &self.linker_arguments;
                    let arguments = lld::arguments(&["0.o".into()], "0.out".as_ref(), kind, more);
                    // Nothing is run: the command is shown also where there is no linker.
                    let program = lld::find().unwrap_or_else(|| "ld.lld".into());
                    vec![lld::shown(&program, &arguments)]
                }
            };
            TargetPlan {
                inputs: inputs.collect(),
                libraries: libraries.looked_at(&target),
                commands,
                target: route.asked().clone(),
            }
        });
        Ok(plan.collect())
    }

    fn read(&self) -> Result<Sources<'_>, LinkError> {
        if self.inputs.is_empty() {
            return Err(LinkError::NoInput);
        }
        Ok(Sources {
            inputs: sources(&self.inputs)?,
            device_libraries: sources(&self.device_libraries)?,
        })
    }

    fn names(&self) -> Vec<String> {
        self.inputs.iter().map(|input| input.name().to_owned()).collect()
    }

    /// The targets, those that were asked for or those of the inputs, and how the inputs become code for them.
    fn routes(&self, modules: &[Module<'_>]) -> Result<Vec<Route>, LinkError> {
        if modules.is_empty() {
            return Err(LinkError::NoDeviceCode { inputs: self.names() });
        }
        if self.targets.is_empty() {
            let targets = targets_of(modules)?;
            return Ok(targets.into_iter().map(Route::from).collect());
        }
        // A module by itself that was named is for one of the targets, or was named by mistake; objects and the
        // like may have code for others.
        for module in modules.iter().filter(|module| module.is_file) {
            let code = &module.image.target;
            let may_lead = self.targets.iter().any(|target| Route::may_lead(code, target));
            if let Some(misfit) = misfit(&self.targets, code).filter(|_| !may_lead) {
                return Err(LinkError::Target {
                    input: module.label.clone(),
                    found: module.image.target.to_string(),
                    expected: backquoted(&self.targets),
                    misfit,
                });
            }
        }
        let route = |target: &Target| {
            let route = Route::to(target, modules);
            route.ok_or_else(|| LinkError::NoCode {
                target: target.to_string(),
            })
        };
        self.targets.iter().map(route).collect()
    }

    /// Checks that each device library is bitcode for one of the targets.
    fn check_libraries(&self, libraries: &[Module<'_>], targets: &[Target]) -> Result<(), LinkError> {
        for (number, library) in self.device_libraries.iter().enumerate() {
            let mut own = libraries
                .iter()
                .filter(|module| module.input == number)
                .peekable();
            let Some(first) = own.peek() else {
                return Err(LinkError::NoDeviceCode {
                    inputs: vec![library.name().to_owned()],
                });
            };
            let (label, found, what) = (
                first.label.clone(),
                first.image.target.to_string(),
                first.image.format.name(),
            );
            let first_misfit = misfit(targets, &first.image.target);
            let mut fitting = own
                .filter(|module| misfit(targets, &module.image.target).is_none())
                .peekable();
            if let (None, Some(misfit)) = (fitting.peek(), first_misfit) {
                return Err(LinkError::Target {
                    input: label,
                    found,
                    expected: backquoted(targets),
                    misfit,
                });
            }
            if !fitting.any(|module| module.image.format == ImageFormat::Bitcode) {
                return Err(LinkError::Format { label, what });
            }
        }
        Ok(())
    }
}

/// Why code fits none of the targets, told of the last; `None` if it fits one.
fn misfit(targets: &[Target], code: &Target) -> Option<Misfit> {
    let mut last = None;
    for target in targets {
        // Without a misfit `?` ends it here: one target that fits is enough.
        last = Some(target.links_with(code).err()?);
    }
    last
}

/// A folder's name for what belongs to a target. Containers name targets: what they say must not lead elsewhere,
/// and two that differ have two folders.
fn folder_name(number: usize, target: &Target) -> String {
    let name = target.to_string();
    let is_safe = |c: char| c.is_ascii_alphanumeric() || "-_+:".contains(c);
    let safe = name.replace(|c| !is_safe(c), "_");
    if safe == name {
        safe
    } else {
        format!("{number}-{safe}")
    }
}

/// Writes a file that is to be kept.
fn write_kept(path: PathBuf, bytes: &[u8]) -> Result<(), LinkError> {
    fs::write(&path, bytes).map_err(|source| LinkError::Kept { path, source })
}

/// Closes a module after what was done with it, however that went. Why it went wrong says more than that the module
/// cannot be closed.
fn close_after<T>(worker: &mut Worker, module: ModuleId, done: Result<T, LinkError>) -> Result<T, LinkError> {
    let closed = worker.close(module);
    let done = done?;
    closed?;
    Ok(done)
}

/// A folder for temporary files, made when there is one to write: bitcode and the code of most targets need none.
#[derive(Default)]
struct TemporaryFolder(OnceCell<TempDir>);

impl TemporaryFolder {
    fn path(&self) -> io::Result<&Path> {
        if let Some(folder) = self.0.get() {
            return Ok(folder.path());
        }
        let folder = tempfile::Builder::new().prefix("offkit-link-").tempdir()?;
        Ok(self.0.get_or_init(|| folder).path())
    }
}

impl Linked {
    /// Adds an image and its native forms.
    fn add(&mut self, part: Part) {
        let last = self.images.last().and_then(|image| image.form_of);
        // The native forms have the number of their IR: a SYCLBIN keeps what has one number in one module.
        let form_of = Some(last.map_or(0, |last| last + 1));
        let (location, producer) = (Location::of_file(part.label), part.image.producer);
        let properties = part.image.properties.clone();
        for image in std::iter::once(part.image).chain(part.natives) {
            let mut image = image.with_properties(properties.clone());
            image.location = location.clone();
            image.producer = producer;
            image.form_of = form_of;
            self.images.push(image);
        }
    }
}

/// The steps done so far, and who wants to know about the next.
struct Steps<'a> {
    done: Vec<Step>,
    progress: &'a mut dyn FnMut(&'static str),
}

impl Steps<'_> {
    fn time<T>(&mut self, name: &'static str, work: impl FnOnce() -> T) -> T {
        (self.progress)(name);
        let start = Instant::now();
        let result = work();
        let time = start.elapsed();
        match self.done.iter_mut().find(|step| step.name == name) {
            // Targets are linked one after the other with the same steps, and people want to know what a step costs
            // in all.
            Some(step) => step.time += time,
            None => self.done.push(Step { name, time }),
        }
        result
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_of_targets_stay_where_they_are() {
        let named = |triple: &str| folder_name(3, &Target::new(triple, ""));
        assert_eq!(named("nvptx64-nvidia-cuda"), "nvptx64-nvidia-cuda");
        assert_eq!(named("../../etc"), "3-______etc");
        assert_eq!(named("/x"), "3-_x");
        assert_eq!(named(".."), "3-__");
    }
}
