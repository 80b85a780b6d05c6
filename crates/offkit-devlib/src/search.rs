//! The search: folders, rules, and what came of each path.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::{env, fmt, fs};

use offkit_host::files;
use offkit_image::target::Misfit;
use offkit_object::{ImageFormat, SharedBytes, Target};

use crate::abi::Abi;
use crate::code::{Input, Module, modules, sources};
use crate::layouts;
use crate::manifest::{Manifest, ManifestError};
use crate::naming::{library_path, processor_names};
use crate::shipped;

/// The environment variable that names folders for libraries, as for clang.
pub const LIBRARY_PATH_VARIABLE: &str = "LIBRARY_PATH";

offkit_image::named! {
    /// Who named a folder of the search path.
    pub enum Origin, "As messages call it." {
        /// `-L`.
        Option => "-L",
        /// `LIBRARY_PATH`.
        Variable => "LIBRARY_PATH",
        /// `lib` beside the compiler.
        Compiler => "compiler",
        /// What comes with offkit: beside the program, or in the user's cache.
        Offkit => "offkit",
        /// Where a vendor's libraries are installed: only their own layouts are looked for.
        Vendor => "vendor",
    }
}

/// A folder in which libraries are looked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SearchFolder {
    /// The folder.
    pub path: PathBuf,
    /// Who named it.
    pub origin: Origin,
}

offkit_image::named! {
    /// The rule by which a library was found, in the order in which they are tried in each folder.
    pub enum Rule, "The name in listings." {
        /// `libdevice/<gpu>/libX-<arch>-<gpu>.bc`.
        ProcessorFolder => "libdevice/<gpu>/libX-<arch>-<gpu>.bc",
        /// `libX-<arch>-<gpu>.bc`.
        Processor => "libX-<arch>-<gpu>.bc",
        /// `libdevice/<arch>/libX-<arch>.bc`.
        ArchitectureFolder => "libdevice/<arch>/libX-<arch>.bc",
        /// `libX-<arch>.bc`.
        Architecture => "libX-<arch>.bc",
        /// `libX.bc`.
        Any => "libX.bc",
        /// `<triple>/libX.a` and `<triple>/libX.bc`.
        TripleFolder => "<triple>/libX.a",
        /// ROCm's `amdgcn/bitcode/*.bc`.
        Rocm => "ROCm",
        /// CUDA's `nvvm/libdevice/libdevice.10.bc`.
        Cuda => "CUDA",
        /// LLVM's `clc/*.bc`.
        Libclc => "libclc",
        /// `libX.a` with device code in it.
        Archive => "libX.a",
        /// `:FILE`.
        File => ":FILE",
    }
}

/// What became of a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// There is no such file.
    Missing,
    /// It is there, and is not what is looked for.
    Skipped(Skip),
    /// It is taken.
    Taken,
}

/// Why a file that is there is not taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Skip {
    /// The linker of the host takes this shared library, which keeps its device code for itself.
    Shared(PathBuf),
    /// It cannot be read, or is cut off or damaged: how.
    Damaged(String),
    /// There is no device code in it.
    NoDeviceCode,
    /// Its code is for other targets.
    Misfit {
        /// The targets.
        targets: Vec<Target>,
        /// Why the first of them does not fit.
        misfit: Misfit,
    },
    /// It comes with offkit, and could not be built: why.
    Unbuilt(String),
}

impl fmt::Display for Skip {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Shared(path) => write!(f, "the host's linker takes `{}`", path.display()),
            Self::Damaged(how) => f.write_str(how),
            Self::NoDeviceCode => f.write_str("there is no device code in it"),
            Self::Unbuilt(why) => write!(f, "it comes with offkit and could not be built: {why}"),
            Self::Misfit { targets, misfit } => {
                write!(f, "{misfit}: {}", offkit_object::backquoted(targets))
            }
        }
    }
}

/// A path that was looked at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tried {
    /// The path.
    pub path: PathBuf,
    /// By which rule.
    pub rule: Rule,
    /// Who named the folder.
    pub origin: Origin,
    /// What became of it.
    pub outcome: Outcome,
}

/// A library that was found.
#[derive(Clone, Debug)]
pub struct Found {
    /// The file of the library, and behind it those that have to go with it.
    pub files: Vec<Arc<LibraryFile>>,
    /// By which rule.
    pub rule: Rule,
    /// Who named the folder.
    pub origin: Origin,
    /// Files that should go with it and are not there, and libraries, such as `-lX`.
    pub missing: Vec<PathBuf>,
    /// What its manifest says about its binary interface.
    pub abi: Abi,
}

/// What a search came to.
#[derive(Clone, Debug)]
pub struct Answer {
    /// The library, as `-l` has it.
    pub library: String,
    /// The target.
    pub target: Target,
    /// What was found.
    pub found: Option<Found>,
    /// The paths that were looked at, in order.
    pub tried: Vec<Tried>,
    /// A manifest that cannot be used.
    pub problem: Option<Arc<ManifestError>>,
}

impl Answer {
    /// The files that are there and were not taken, with the reasons.
    pub fn skipped(&self) -> impl Iterator<Item = (&Path, &Skip)> {
        self.tried.iter().filter_map(|tried| match &tried.outcome {
            Outcome::Skipped(skip) => Some((&*tried.path, skip)),
            Outcome::Missing | Outcome::Taken => None,
        })
    }
}

/// A file with device code.
pub struct LibraryFile {
    /// Where it is.
    pub path: PathBuf,
    /// Whether it is bitcode itself, of which functions are linked one by one, and not a container or archive.
    pub is_bitcode: bool,
    /// What there is code for.
    pub targets: Vec<Target>,
    /// The device code in it, which shares the file's bytes.
    pub modules: Vec<Module<'static>>,
}

impl fmt::Debug for LibraryFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LibraryFile")
            .field("path", &self.path)
            .field("targets", &self.targets)
            .finish_non_exhaustive()
    }
}

impl LibraryFile {
    /// The binary interface of its code for a target.
    pub fn abi(&self, target: &Target) -> Abi {
        let fitting = self.fitting(target);
        let modules = self.modules.iter();
        let abis = modules
            .filter(|module| fitting.contains(&module.image.target))
            .map(|module| &module.abi);
        abis.fold(Abi::default(), Abi::or)
    }

    /// Which of the targets inside are taken for a target: those that fit best.
    pub fn fitting(&self, target: &Target) -> Vec<Target> {
        let distance = |own: &Target| target.distance_to(own).ok();
        let best = self.targets.iter().filter_map(distance).min();
        let fitting = self
            .targets
            .iter()
            .filter(|own| best.is_some() && distance(own) == best);
        fitting.cloned().collect()
    }
}

/// Where device libraries are looked for.
#[derive(Clone, Debug, Default)]
pub struct Search {
    /// The folders, in order.
    pub folders: Vec<SearchFolder>,
    /// Whether `libX.a` is left alone where the linker of a host would take `libX.so`, which keeps its device code for
    /// itself.
    pub shared_libraries: bool,
    /// Whether only bitcode is looked for, and `libX.a` is left to whoever reads it anyway.
    pub only_bitcode: bool,
    /// The version of AMDGPU code objects, times 100, where it is known.
    pub code_object_version: Option<u32>,
    read: Cache,
}

/// Files are read once, however many targets they are looked at for.
type Cache = Arc<Mutex<HashMap<PathBuf, Result<Arc<LibraryFile>, Skip>>>>;

impl Search {
    /// The search on this machine: in the folders of `-L`, in those of `LIBRARY_PATH`, beside the compiler, and for what
    /// comes with offkit.
    pub fn on_this_machine(named: &[PathBuf]) -> Self {
        let variable = env::var_os(LIBRARY_PATH_VARIABLE);
        // Without a compiler there is nothing beside it.
        let compiler = offkit_host::clang::find().ok();
        let mut search = Self::new(named, variable.as_deref(), compiler.as_deref());
        // Before the vendors' folders, where `-lm` is found too: their functions have names of
        // their own, such as `__nv_sin`, and not those of `<math.h>`.
        let is_of_vendor = |folder: &SearchFolder| folder.origin == Origin::Vendor;
        let vendors = search.folders.iter().position(is_of_vendor);
        let own = SearchFolder {
            path: shipped::installed(),
            origin: Origin::Offkit,
        };
        search
            .folders
            .insert(vendors.unwrap_or(search.folders.len()), own);
        search
    }

    /// Looks in the folders of `-L`, those of `LIBRARY_PATH`, and those of the compiler, in this order, and at last in
    /// the vendors'.
    pub fn new(named: &[PathBuf], variable: Option<&OsStr>, compiler: Option<&Path>) -> Self {
        let in_variable: Vec<PathBuf> = variable.map(env::split_paths).into_iter().flatten().collect();
        let of_compiler = compiler.map(compiler_folders).unwrap_or_default();
        let all = [
            (named.to_vec(), Origin::Option),
            (in_variable, Origin::Variable),
            (of_compiler, Origin::Compiler),
            (vendor_folders(), Origin::Vendor),
        ];
        let folders = all.into_iter().flat_map(|(paths, origin)| {
            // Nothing between two separators, or in the whole variable, is not the current folder.
            let paths = paths.into_iter().filter(|path| !path.as_os_str().is_empty());
            paths.map(move |path| SearchFolder { path, origin })
        });
        Self {
            folders: folders.collect(),
            ..Self::default()
        }
    }

    /// Looks for a library, as `-l` names it, for a target, and for the libraries that it depends on.
    pub fn find(&self, library: &str, target: &Target) -> Answer {
        let mut answer = Answer {
            library: library.to_owned(),
            target: target.clone(),
            found: None,
            tried: Vec::new(),
            problem: None,
        };
        self.add(library, &mut vec![library.to_owned()], &mut answer);
        answer
    }

    /// Adds a library to what was found; `seen` are those that were looked for already.
    fn add(&self, library: &str, seen: &mut Vec<String>, answer: &mut Answer) -> bool {
        let target = answer.target.clone();
        for folder in &self.folders {
            let built;
            let folder = match folder.origin {
                // Only when no folder before it has the library, as it may have to be built.
                Origin::Offkit => match self.shipped(library, &target, answer) {
                    Some(folder) => {
                        built = folder;
                        &built
                    }
                    None => continue,
                },
                _ => folder,
            };
            let mut candidates = Vec::new();
            self.candidates(library, &target, folder, &mut candidates);
            let mut found = None;
            for (rule, candidate) in candidates {
                found = self.look(rule, candidate, folder.origin, &target, &mut answer.tried);
                if found.is_some() {
                    break;
                }
            }
            let Some(mut found) = found else { continue };
            // Vendors write none, and a file that is named is taken for what it is.
            let has_manifest = !matches!(found.rule, Rule::Rocm | Rule::Cuda | Rule::Libclc | Rule::File);
            let manifest = match Manifest::beside(&folder.path, library) {
                _ if !has_manifest => None,
                Ok(manifest) => manifest,
                Err(error) => {
                    answer.problem.get_or_insert(Arc::new(error));
                    None
                }
            };
            let mut dependencies = Vec::new();
            if let Some(manifest) = manifest {
                let settings = manifest.settings(&target);
                found.abi = Abi::of_manifest(&settings.abi);
                dependencies = settings.dependencies;
            }
            // A library that another needs only adds files: the rule, the folder and the interface
            // that are told are those of the one that was asked for.
            match &mut answer.found {
                None => answer.found = Some(found),
                Some(first) => {
                    first.files.extend(found.files);
                    first.missing.extend(found.missing);
                }
            }
            for dependency in dependencies {
                if seen.contains(&dependency) {
                    continue;
                }
                // Before it is looked for: libraries may depend on each other.
                seen.push(dependency.clone());
                if !self.add(&dependency, seen, answer)
                    && let Some(found) = &mut answer.found
                {
                    found.missing.push(format!("-l{dependency}").into());
                }
            }
            return true;
        }
        false
    }

    /// The folder where the library is that comes with offkit, if there is one of that name.
    fn shipped(&self, library: &str, target: &Target, answer: &mut Answer) -> Option<SearchFolder> {
        let named = self
            .folders
            .iter()
            .filter(|folder| folder.origin != Origin::Offkit);
        let folders = named
            // Where CUDA and ROCm have their bitcode, below what `CUDA_PATH` and `ROCM_PATH` name.
            .flat_map(|folder| ["", "nvvm/libdevice", "amdgcn/bitcode"].map(|place| folder.path.join(place)));
        match shipped::folder(library, target, &folders.collect::<Vec<_>>()) {
            Ok(path) => path.map(|path| SearchFolder {
                path,
                origin: Origin::Offkit,
            }),
            Err(error) => {
                answer.tried.push(Tried {
                    path: library_path(library, target),
                    rule: Rule::Architecture,
                    origin: Origin::Offkit,
                    outcome: Outcome::Skipped(Skip::Unbuilt(error.to_string())),
                });
                None
            }
        }
    }

    /// The first archive of that name in the folders that has device code, for whatever target.
    pub fn archive(&self, library: &str) -> Option<Arc<LibraryFile>> {
        let folders = self
            .folders
            .iter()
            .filter(|folder| folder.origin != Origin::Vendor);
        let mut paths = folders.map(|folder| folder.path.join(format!("lib{library}.a")));
        paths.find_map(|path| {
            let file = path.is_file().then(|| self.file(&path).ok()).flatten()?;
            (!file.targets.is_empty()).then_some(file)
        })
    }

    /// The file that the linker of a host would take for a library, with device code or not.
    pub fn host_library(&self, library: &str) -> Option<PathBuf> {
        let exact = library.strip_prefix(':');
        (self.folders.iter())
            .filter(|folder| ![Origin::Vendor, Origin::Offkit].contains(&folder.origin))
            .find_map(|folder| {
                let file = |name: String| Some(folder.path.join(name)).filter(|path| path.is_file());
                let shared = || file(format!("lib{library}.so")).filter(|_| self.shared_libraries);
                match exact {
                    Some(name) => file(name.to_owned()),
                    None => shared().or_else(|| file(format!("lib{library}.a"))),
                }
            })
    }

    /// The files that a library may be in a folder, best first.
    fn candidates(
        &self,
        library: &str,
        target: &Target,
        folder: &SearchFolder,
        candidates: &mut Vec<(Rule, layouts::Candidate)>,
    ) {
        let path = &folder.path;
        let file = |file: PathBuf| layouts::Candidate {
            file,
            ..layouts::Candidate::default()
        };
        if let Some(name) = library.strip_prefix(':') {
            if folder.origin != Origin::Vendor && !self.only_bitcode {
                candidates.push((Rule::File, file(path.join(name))));
            }
            return;
        }
        if folder.origin != Origin::Vendor {
            let architectures = target.library_architectures();
            let processors = target.fitting_processors();
            let libdevice = path.join("libdevice");
            // The closest processor first, wherever its library lies: in a folder of its own or not, and however it is
            // spelt.
            for processor in &processors {
                let names = processor_names(processor);
                let in_folder =
                    (names.iter()).map(|name| (Rule::ProcessorFolder, libdevice.join(name), name));
                let flat = (names.iter()).map(|name| (Rule::Processor, path.clone(), name));
                for (rule, place, name) in in_folder.chain(flat) {
                    for architecture in &architectures {
                        let name = format!("lib{library}-{architecture}-{name}.bc");
                        candidates.push((rule, file(place.join(name))));
                    }
                }
            }
            for (rule, in_folder) in [(Rule::ArchitectureFolder, true), (Rule::Architecture, false)] {
                for architecture in &architectures {
                    let place = if in_folder {
                        libdevice.join(architecture)
                    } else {
                        path.clone()
                    };
                    candidates.push((rule, file(place.join(format!("lib{library}-{architecture}.bc")))));
                }
            }
            candidates.push((Rule::Any, file(path.join(format!("lib{library}.bc")))));
            for triple in target.library_folders() {
                for extension in ["a", "bc"] {
                    let name = format!("lib{library}.{extension}");
                    candidates.push((Rule::TripleFolder, file(path.join(triple).join(name))));
                }
            }
        }
        let rocm = layouts::rocm(path, library, target, self.code_object_version);
        candidates.extend(rocm.into_iter().map(|candidate| (Rule::Rocm, candidate)));
        let cuda = layouts::cuda(path, library, target);
        candidates.extend(cuda.into_iter().map(|candidate| (Rule::Cuda, candidate)));
        let libclc = layouts::libclc(path, library, target);
        candidates.extend(libclc.into_iter().map(|candidate| (Rule::Libclc, candidate)));
        if folder.origin != Origin::Vendor && !self.only_bitcode {
            candidates.push((Rule::Archive, file(path.join(format!("lib{library}.a")))));
        }
    }

    /// Looks at a file.
    fn look(
        &self,
        rule: Rule,
        candidate: layouts::Candidate,
        origin: Origin,
        target: &Target,
        tried: &mut Vec<Tried>,
    ) -> Option<Found> {
        let path = candidate.file;
        let shared = path.with_extension("so");
        // As hosts' linkers do, which take `libX.so` of a folder before `libX.a` of the same one.
        let is_hidden = self.shared_libraries && rule == Rule::Archive && shared.is_file();
        let looked = if !path.is_file() {
            Err(Outcome::Missing)
        } else if is_hidden {
            Err(Outcome::Skipped(Skip::Shared(shared)))
        } else {
            self.suitable(&path, target).map_err(Outcome::Skipped)
        };
        let (file, outcome) = match looked {
            Ok(file) => (Some(file), Outcome::Taken),
            Err(outcome) => (None, outcome),
        };
        tried.push(Tried {
            path,
            rule,
            origin,
            outcome,
        });
        // What goes with a library that isn't taken is neither read nor told as tried.
        let mut files = vec![file?];
        for path in candidate.with {
            let (file, outcome) = match self.suitable(&path, target) {
                Ok(file) => (Some(file), Outcome::Taken),
                Err(reason) => (None, Outcome::Skipped(reason)),
            };
            files.extend(file);
            tried.push(Tried {
                path,
                rule,
                origin,
                outcome,
            });
        }
        tried.extend(candidate.missing.iter().map(|path| Tried {
            path: path.clone(),
            rule,
            origin,
            outcome: Outcome::Missing,
        }));
        Some(Found {
            files,
            rule,
            origin,
            missing: candidate.missing,
            abi: Abi::default(),
        })
    }

    /// The file, if it has code for the target.
    fn suitable(&self, path: &Path, target: &Target) -> Result<Arc<LibraryFile>, Skip> {
        let file = self.file(path)?;
        let Some(first) = file.targets.first() else {
            return Err(Skip::NoDeviceCode);
        };
        // One reason is told, the first target's, and only where none of the others fits either:
        // most files have one target.
        match target.distance_to(first) {
            Err(misfit) if file.fitting(target).is_empty() => Err(Skip::Misfit {
                targets: file.targets.clone(),
                misfit,
            }),
            _ => Ok(file),
        }
    }

    /// A file, read if it was not before.
    fn file(&self, path: &Path) -> Result<Arc<LibraryFile>, Skip> {
        // Locked while the file is read, so that a thread that wants the same one waits instead of reading it again.
        let mut cache = self.read.lock().unwrap_or_else(PoisonError::into_inner);
        let read = cache
            .entry(path.to_owned())
            .or_insert_with(|| read(path).map(Arc::new));
        read.clone()
    }
}

/// Reads a file as far as its headers and tables of symbols: it is mapped, and code in it is passed over.
fn read(path: &Path) -> Result<LibraryFile, Skip> {
    let content = files::open_regular(path)
        .map_err(|error| Skip::Damaged(format!("it cannot be read: {}", error.reason())))?;
    let damaged = |reason: String| {
        // The path is told beside the reason.
        let told = format!("{}: ", path.display());
        Skip::Damaged(reason.strip_prefix(&told).unwrap_or(&reason).to_owned())
    };
    let file: SharedBytes = Arc::new(content);
    let inputs = [Input::read_file(path, (*file).as_ref())];
    let mut targets: Vec<Target> = Vec::new();
    let sources = sources(&inputs).map_err(|error| damaged(error.to_string()))?;
    // By its content: a file of any name may be bitcode, and one that ends in `.bc` a container.
    let is_bitcode = ImageFormat::detect((*file).as_ref()) == ImageFormat::Bitcode;
    let modules = match modules(&sources) {
        // Host systems have scripts of their linker under the names of archives.
        Err(error) if error.is_not_recognized() && path.extension() == Some("a".as_ref()) => Vec::new(),
        modules => modules.map_err(|error| damaged(error.to_string()))?,
    };
    for module in &modules {
        let image = &module.image;
        if let Some(problem) = module.problem().filter(|_| image.format == ImageFormat::Bitcode) {
            return Err(damaged(format!("{}: {problem}", module.label)));
        }
        let is_device_code = !matches!(
            image.format,
            ImageFormat::Archive | ImageFormat::Compressed | ImageFormat::Unknown
        );
        if is_device_code && !targets.contains(&image.target) {
            targets.push(image.target.clone());
        }
    }
    Ok(LibraryFile {
        path: path.to_owned(),
        targets,
        is_bitcode,
        modules: modules.into_iter().map(|module| module.share(&file)).collect(),
    })
}

/// `lib` beside the compiler, links followed, and the folder there where it keeps what is its own.
fn compiler_folders(compiler: &Path) -> Vec<PathBuf> {
    let real = fs::canonicalize(compiler).unwrap_or_else(|_| compiler.to_owned());
    let root = |program: &Path| Some(program.parent()?.parent()?.to_owned());
    // Beside a link in `/usr/bin` are the libraries of the whole system, and not the compiler's.
    let linked = root(compiler).filter(|root| !["/", "/usr"].map(Path::new).contains(&root.as_path()));
    let mut roots: Vec<PathBuf> = [linked, root(&real)].into_iter().flatten().collect();
    roots.dedup();
    roots
        .into_iter()
        .flat_map(|root| {
            let lib = root.join("lib");
            let versions = fs::read_dir(lib.join("clang")).into_iter().flatten().flatten();
            let mut own: Vec<PathBuf> = versions.map(|version| version.path().join("lib")).collect();
            // Folders are listed in any order, and the first that has a library prevails.
            own.sort();
            std::iter::once(lib).chain(own)
        })
        .collect()
}

/// Where vendors' packages put their libraries, and where variables of theirs say they are.
fn vendor_folders() -> Vec<PathBuf> {
    let named = ["ROCM_PATH", "CUDA_PATH", "CUDA_HOME"].map(env::var_os);
    let named = named.into_iter().flatten().map(PathBuf::from);
    let usual = [
        "/opt/rocm",
        "/usr/local/cuda",
        "/usr/lib/x86_64-linux-gnu",
        "/usr/lib/aarch64-linux-gnu",
        "/usr/lib",
        "/usr/share",
    ];
    named.chain(usual.map(PathBuf::from)).collect()
}
