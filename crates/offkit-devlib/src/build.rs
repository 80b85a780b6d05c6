//! Builds device libraries: every source compiled for every target, and what belongs together made one module.
//!
//! A library of the manifest `libdevice.toml` with the targets `sm_60` and `spirv64` and the variant `debug` becomes
//!
//! ```text
//! DIR/libdevice/sm_60/libX-nvptx-sm_60.bc
//! DIR/libdevice/spirv64/libX-spirv64.bc
//! DIR/libdevice/libX.toml
//! DIR/debug/libdevice/sm_60/libX-nvptx-sm_60.bc
//! …
//! ```
//!
//! so that `-L DIR` finds the usual build, and `-L DIR/debug` the variant. What is compiled is kept in
//! `libdevice/.build`, and made again only when the content of what it is made of has changed: sources, headers (also
//! one that is new and found before another), the options, the compiler.

mod compile;
mod record;

use std::collections::{BTreeMap, HashSet};
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::{env, fs};

use offkit_host::files::{self, FileError};
use offkit_host::temporary::remove_when_stopped;
use offkit_image::Family;
use offkit_object::{ImageFormat, Limits, Target, describe_symbol, inspect};
use rayon::prelude::*;

use crate::manifest::{Manifest, Provider, Source, TargetSettings};
use crate::naming::library_path;
use compile::Headers;
use record::{Hashes, Record};

/// What is to be built of a library.
#[derive(Clone, Debug)]
pub struct Build<'a> {
    /// The library.
    pub manifest: &'a Manifest,
    /// clang 22.
    pub clang: PathBuf,
    /// The folder of the search path that the library is built into.
    pub output: PathBuf,
    /// The targets to build for.
    pub targets: Vec<Target>,
    /// The variants to build, by name; `None` is the usual build.
    pub variants: Vec<Option<String>>,
    /// Where providers' bitcode is looked for before the folders that the manifest names.
    pub folders: Vec<PathBuf>,
    /// If there are any, the only providers that may be taken, by name.
    pub providers: Vec<String>,
    /// How many compilers may run at a time; at least one does.
    pub jobs: usize,
}

/// A library that is there for one target.
#[derive(Clone, Debug)]
pub struct BuiltLibrary {
    /// The target.
    pub target: Target,
    /// The variant; `None` is the usual build.
    pub variant: Option<String>,
    /// The file.
    pub path: PathBuf,
    /// Its size in bytes.
    pub size: u64,
    /// Whose code became a part of it.
    pub provider: Option<String>,
    /// Whether it was built now, instead of having been there.
    pub is_new: bool,
}

/// What the compiler had to say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// The source, or the library that its parts were to become.
    pub source: String,
    /// The target, with the variant if there is one: `sm_60`, `sm_60, debug`.
    pub target: String,
    /// The compiler's words.
    pub text: String,
}

/// Everything that was built.
#[derive(Clone, Debug, Default)]
pub struct Built {
    /// The libraries, in the order of the targets, variant by variant.
    pub libraries: Vec<BuiltLibrary>,
    /// The compiler's warnings, of what was compiled now.
    pub messages: Vec<Message>,
}

/// Why a library cannot be built.
#[derive(Debug, thiserror::Error)]
pub enum BuildError {
    /// The manifest names nothing to compile for a target.
    #[error("{}: no sources for {target}", manifest.display())]
    NoSources {
        /// The manifest.
        manifest: PathBuf,
        /// The target.
        target: String,
    },
    /// The manifest has no such variant.
    #[error("{}: there is no variant `{name}`", manifest.display())]
    NoVariant {
        /// The manifest.
        manifest: PathBuf,
        /// What was asked for.
        name: String,
    },
    /// clang knows no such target.
    #[error("there is no target `{name}`{}", in_manifest(manifest.as_deref()))]
    UnknownTarget {
        /// The name.
        name: String,
        /// The manifest that has a section for it.
        manifest: Option<PathBuf>,
    },
    /// None of the files is there of which one is to become a part of the library.
    #[error("nothing provides the code for {target}: {} not found", list(files))]
    NoProvider {
        /// The target.
        target: String,
        /// The files, or what was asked for instead.
        files: Vec<String>,
    },
    /// The compiler refused something; all of what was compiling then.
    #[error("{} failed", list(&messages.iter().map(|message| format!("{} for {}", message.source, message.target)).collect::<Vec<_>>()))]
    Refused {
        /// What the compiler said.
        messages: Vec<Message>,
    },
    /// The compiler does not start.
    #[error("cannot start `{}`", program.display())]
    Start {
        /// The compiler.
        program: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A file cannot be written.
    #[error(transparent)]
    Write(#[from] FileError),
    /// What was built cannot be read again, or there is no place for temporary files.
    #[error("cannot read `{}`", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
}

fn in_manifest(manifest: Option<&Path>) -> String {
    manifest.map_or_else(String::new, |path| {
        format!(": a section of `{}` is for it", path.display())
    })
}

fn list(names: &[String]) -> String {
    names.join(", ")
}

impl BuildError {
    fn read(path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::Read { path, source }
    }
}

/// One library for one target.
struct Unit<'a> {
    target: &'a Target,
    variant: Option<&'a str>,
    /// Options of the variant.
    variant_flags: &'a [String],
    settings: TargetSettings<'a>,
    provider: Option<(&'a Provider, Option<PathBuf>)>,
    /// The library.
    path: PathBuf,
    /// The folder for what it is made of.
    parts: PathBuf,
}

impl Unit<'_> {
    fn label(&self) -> String {
        let name = self.target.short_name();
        match self.variant {
            Some(variant) => format!("{name}, {variant}"),
            None => name,
        }
    }
}

/// What all compilations share.
struct Shared<'a> {
    build: &'a Build<'a>,
    /// What the compiler says about itself.
    version: String,
    /// The host's headers.
    headers: Headers,
    hashes: Hashes,
    /// Set when something failed: nothing else is started.
    failed: AtomicBool,
    done: AtomicUsize,
    total: usize,
    progress: &'a (dyn Fn(usize, usize, &str) + Sync),
}

/// A step of the build has not come to its end.
enum Stopped {
    /// Because of this.
    Failed(BuildError),
    /// Because another one failed.
    Idle,
}

impl From<BuildError> for Stopped {
    fn from(error: BuildError) -> Self {
        Self::Failed(error)
    }
}

impl Build<'_> {
    /// Builds everything. `progress` is told how many of how many steps are done, and what begins; it is called on
    /// several threads.
    ///
    /// # Errors
    ///
    /// What the compiler refuses; once it has refused something nothing else is started. What cannot be read or
    /// written, and what is asked for and is not in the manifest.
    pub fn run(&self, progress: &(dyn Fn(usize, usize, &str) + Sync)) -> Result<Built, BuildError> {
        self.check_names()?;
        let units = self.units()?;
        // One more for each library, which its parts are linked into.
        let steps = units.iter().map(|unit| unit.settings.sources.len() + 1).sum();
        let shared = Shared {
            build: self,
            version: self.version()?,
            headers: Headers::of(&self.clang),
            hashes: Hashes::default(),
            failed: AtomicBool::new(false),
            done: AtomicUsize::new(0),
            total: steps,
            progress,
        };
        // The same threads go through the libraries and through the sources of each, so that no more compilers run than
        // were asked for.
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(self.jobs.max(1))
            .build();
        let pool = pool.map_err(|error| BuildError::Start {
            program: self.clang.clone(),
            source: io::Error::other(error),
        })?;
        let results: Vec<_> = pool.install(|| units.par_iter().map(|unit| shared.unit(unit)).collect());
        let mut built = Built::default();
        let mut refused = Vec::new();
        for result in results {
            match result {
                Ok((library, messages)) => {
                    built.libraries.push(library);
                    built.messages.extend(messages);
                }
                // What the compiler refuses is gathered, as several sources may be wrong; anything else ends the build.
                Err(Stopped::Failed(BuildError::Refused { messages })) => refused.extend(messages),
                Err(Stopped::Failed(error)) => return Err(error),
                Err(Stopped::Idle) => {}
            }
        }
        if !refused.is_empty() {
            return Err(BuildError::Refused { messages: refused });
        }
        self.write_manifests()?;
        Ok(built)
    }

    /// Checks that clang knows all targets, and those that the manifest has sections for.
    fn check_names(&self) -> Result<(), BuildError> {
        if let Some(unknown) = self.targets.iter().find(|target| !target.is_known()) {
            return Err(BuildError::UnknownTarget {
                name: unknown.short_name(),
                manifest: None,
            });
        }
        let is_known = |name: &str| {
            let target = Target::named(name);
            // A section may be for an architecture as well. Without the family, any word would be
            // the architecture of a triple that nobody knows.
            target.is_known()
                || target.library_architectures().iter().any(|known| known == name)
                    && target.family() != Family::Other
        };
        match self.manifest.target.keys().find(|name| !is_known(name)) {
            None => Ok(()),
            Some(name) => Err(BuildError::UnknownTarget {
                name: name.clone(),
                manifest: Some(self.manifest.path.clone()),
            }),
        }
    }

    /// What is to be made.
    fn units(&self) -> Result<Vec<Unit<'_>>, BuildError> {
        let mut units = Vec::new();
        // A target that is named twice, in two spellings perhaps, is one library.
        let mut paths = HashSet::new();
        for variant in &self.variants {
            let variant_flags = match variant {
                None => [].as_slice(),
                Some(name) => self
                    .manifest
                    .variants
                    .get(name)
                    .ok_or_else(|| BuildError::NoVariant {
                        manifest: self.manifest.path.clone(),
                        name: name.clone(),
                    })?,
            };
            let folder = self.folder(variant.as_deref());
            for target in &self.targets {
                let path = folder.join(library_path(&self.manifest.name, target));
                if !paths.insert(path.clone()) {
                    continue;
                }
                let settings = self.manifest.settings(target);
                if settings.sources.is_empty() {
                    return Err(BuildError::NoSources {
                        manifest: self.manifest.path.clone(),
                        target: target.short_name(),
                    });
                }
                let build = folder
                    .join("libdevice/.build")
                    .join(format!("lib{}", self.manifest.name));
                units.push(Unit {
                    target,
                    variant: variant.as_deref(),
                    variant_flags,
                    provider: self.provider(target, &settings)?,
                    settings,
                    path,
                    // A colon of `gfx90a:xnack+` is no part of a file's name on Windows.
                    parts: build.join(target.short_name().replace(':', "-")),
                });
            }
        }
        Ok(units)
    }

    /// The folder of the search path that a variant is built into.
    fn folder(&self, variant: Option<&str>) -> PathBuf {
        variant.map_or_else(|| self.output.clone(), |variant| self.output.join(variant))
    }

    /// The first provider that is there, and its file.
    fn provider<'a>(
        &self,
        target: &Target,
        settings: &TargetSettings<'a>,
    ) -> Result<Option<(&'a Provider, Option<PathBuf>)>, BuildError> {
        let mut missing = Vec::new();
        for provider in settings.providers {
            if !self.providers.is_empty() && !self.providers.contains(&provider.name) {
                continue;
            }
            // One without a file is always there: nothing behind it in the list is ever taken.
            let Some(file) = &provider.file else {
                return Ok(Some((provider, None)));
            };
            let folders = self.folders.iter().chain(&provider.folders);
            match folders
                .map(|folder| folder.join(file))
                .find(|path| path.is_file())
            {
                Some(path) => return Ok(Some((provider, Some(path)))),
                None => missing.push(file.clone()),
            }
        }
        if settings.providers.is_empty() {
            return Ok(None);
        }
        // No file was looked for, as none of the providers has a name that was asked for.
        if missing.is_empty() {
            missing.clone_from(&self.providers);
        }
        Err(BuildError::NoProvider {
            target: target.short_name(),
            files: missing,
        })
    }

    /// What the compiler says about itself: another one makes other code.
    fn version(&self) -> Result<String, BuildError> {
        let output = Command::new(&self.clang).arg("--version").output();
        let output = output.map_err(|source| BuildError::Start {
            program: self.clang.clone(),
            source,
        })?;
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }

    /// Writes what users of the library must know beside it, for all targets that it is there for.
    fn write_manifests(&self) -> Result<(), BuildError> {
        for variant in &self.variants {
            let folder = self.folder(variant.as_deref());
            let file = |target: &Target| library_path(&self.manifest.name, target);
            let is_there = |target: &&Target| folder.join(file(target)).is_file();
            // In the manifest's order, whichever were built this time, so that the text changes only with what is
            // there.
            let mut targets: Vec<_> = self.manifest.targets.iter().filter(is_there).cloned().collect();
            for target in &self.targets {
                if !targets.iter().any(|known| file(known) == file(target)) {
                    targets.push(target.clone());
                }
            }
            let path = folder.join(Manifest::installed_path(&self.manifest.name));
            let text = self.manifest.installed(&targets);
            if fs::read(&path).is_ok_and(|bytes| bytes == text.as_bytes()) {
                continue;
            }
            write(&path, text.as_bytes())?;
        }
        Ok(())
    }
}

impl Shared<'_> {
    /// Makes a library.
    fn unit(&self, unit: &Unit<'_>) -> Result<(BuiltLibrary, Vec<Message>), Stopped> {
        let parts: Vec<_> = (unit.settings.sources)
            .par_iter()
            .map(|source| self.part(unit, source))
            .collect();
        let mut objects = Vec::new();
        let mut messages = Vec::new();
        let mut refused = Vec::new();
        let mut stopped = false;
        for part in parts {
            match part {
                Ok((object, message)) => {
                    objects.push(object);
                    messages.extend(message);
                }
                Err(Stopped::Failed(BuildError::Refused { messages })) => refused.extend(messages),
                Err(Stopped::Failed(error)) => return Err(error.into()),
                Err(Stopped::Idle) => stopped = true,
            }
        }
        if !refused.is_empty() {
            return Err(BuildError::Refused { messages: refused }.into());
        }
        if stopped {
            return Err(Stopped::Idle);
        }
        let name = unit
            .path
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        let words = compile::link_words(unit, &objects);
        let linked = self.step(unit, &name, &words, &objects, &unit.path);
        let (is_new, message) = linked.map_err(|error| with_names(error, unit, &objects))?;
        let metadata = fs::metadata(&unit.path).map_err(BuildError::read(&unit.path))?;
        let library = BuiltLibrary {
            target: unit.target.clone(),
            variant: unit.variant.map(str::to_owned),
            path: unit.path.clone(),
            size: metadata.len(),
            provider: unit.provider.as_ref().map(|(provider, _)| provider.name.clone()),
            is_new,
        };
        Ok((library, messages.into_iter().chain(message).collect()))
    }

    /// Compiles a source.
    fn part(&self, unit: &Unit<'_>, source: &Source) -> Result<(PathBuf, Option<Message>), Stopped> {
        let object = unit.parts.join(compile::object_name(source));
        let words = compile::words(self.build.manifest, unit, source, &self.headers);
        let mut inputs = vec![source.path.clone()];
        inputs.extend(unit.provider.iter().filter_map(|(_, file)| file.clone()));
        let (_, message) = self.step(unit, &source.path.display().to_string(), &words, &inputs, &object)?;
        Ok((object, message))
    }

    /// Runs the compiler, unless its output is already what it would be. Tells whether it did, and what the compiler
    /// said.
    fn step(
        &self,
        unit: &Unit<'_>,
        source: &str,
        words: &[OsString],
        inputs: &[PathBuf],
        output: &Path,
    ) -> Result<(bool, Option<Message>), Stopped> {
        // Relaxed: it only spares work that nobody needs any more. Errors themselves come back with the results.
        if self.failed.load(Ordering::Relaxed) {
            return Err(Stopped::Idle);
        }
        let result = self.try_step(unit, source, words, inputs, output);
        if result.is_err() {
            self.failed.store(true, Ordering::Relaxed);
        }
        self.done.fetch_add(1, Ordering::Relaxed);
        Ok(result?)
    }

    fn try_step(
        &self,
        unit: &Unit<'_>,
        source: &str,
        words: &[OsString],
        inputs: &[PathBuf],
        output: &Path,
    ) -> Result<(bool, Option<Message>), BuildError> {
        let name = output.file_name().unwrap_or_default();
        // For the library, too, the record is among the parts: its own folder has nothing but what users need.
        let record_path = unit.parts.join(name).with_extension("json");
        let command = record::hash_command(&self.version, words);
        let folders = compile::header_folders(words, inputs);
        if Record::read(&record_path)
            .is_some_and(|record| record.holds(&command, output, &folders, &self.hashes))
        {
            return Ok((false, None));
        }
        (self.progress)(
            self.done.load(Ordering::Relaxed),
            self.total,
            &format!("{source} for {}", unit.label()),
        );
        // It is not known any more what the output is made of.
        let _ = fs::remove_file(&record_path);
        // Not at once to its place: a compiler that fails or is stopped would leave half a file there.
        let temporary = tempfile::tempdir().map_err(BuildError::read(&env::temp_dir()))?;
        remove_when_stopped(temporary.path());
        let made = temporary.path().join(name);
        let list = temporary.path().join("headers.d");
        let mut compiler = Command::new(&self.build.clang);
        compiler.args(words).arg("-o").arg(&made);
        // Behind the words that are hashed: where the list goes is another temporary folder every time.
        compiler.arg("-MD").arg("-MF").arg(&list);
        let ran = compiler.output().map_err(|source| BuildError::Start {
            program: self.build.clang.clone(),
            source,
        })?;
        let said = Message {
            source: source.to_owned(),
            target: unit.label(),
            text: String::from_utf8_lossy(&ran.stderr).trim_end().to_owned(),
        };
        if !ran.status.success() {
            return Err(BuildError::Refused { messages: vec![said] });
        }
        // Read and written anew: the temporary folder is often on another file system, where a file
        // can't be moved from.
        write(output, &fs::read(&made).map_err(BuildError::read(&made))?)?;
        let headers = fs::read_to_string(&list).unwrap_or_default();
        let all = inputs.iter().cloned().chain(record::dependencies(&headers));
        let message = Some(said).filter(|said| !said.text.is_empty());
        // What warns is compiled again the next time, so that the warning is not lost.
        if message.is_none()
            && let Some(record) = Record::of(command, all, output, &folders, &self.hashes)
        {
            write(&record_path, &record.to_bytes())?;
        }
        Ok((true, message))
    }
}

/// Writes a file, and makes its folder.
fn write(path: &Path, bytes: &[u8]) -> Result<(), FileError> {
    if let Some(folder) = path.parent() {
        files::create_folder(folder)?;
    }
    files::write(path, &[bytes])
}

/// Says of symbols that several sources define which these are: LLVM's linker tells neither.
fn with_names(error: Stopped, unit: &Unit<'_>, objects: &[PathBuf]) -> Stopped {
    let Stopped::Failed(BuildError::Refused { mut messages }) = error else {
        return error;
    };
    let mut definitions: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (object, source) in objects.iter().zip(unit.settings.sources) {
        let exports =
            fs::read(object).map(|bytes| inspect(&bytes, ImageFormat::Bitcode, &Limits::default()).exports);
        for symbol in exports.unwrap_or_default() {
            let sources = definitions.entry(symbol).or_default();
            sources.push(source.path.display().to_string());
        }
    }
    for message in &mut messages {
        let named = definitions
            .iter()
            .filter(|(symbol, sources)| sources.len() > 1 && message.text.contains(&format!("'{symbol}'")));
        let lines = named.map(|(symbol, sources)| {
            format!(
                "\n{} is defined in {}",
                describe_symbol(symbol),
                sources.join(" and in ")
            )
        });
        let lines: String = lines.collect();
        message.text += &lines;
    }
    BuildError::Refused { messages }.into()
}
