//! The device libraries that come with offkit: installed beside the program, or built the first time they are needed.
//!
//! Their sources are in the program. What is built goes into the user's cache, into a folder for each library and
//! target, by a name that follows from all that it is made of: the sources, the compiler, the vendor's bitcode.

use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;
use std::{env, fs, io};

use offkit_host::cache::{self, CacheError};
use offkit_host::clang::{self, ClangError};
use offkit_host::temporary;
use offkit_image::Family;
use offkit_image::target::triples;
use offkit_object::Target;
use sha2::{Digest, Sha256};

use crate::build::{Build, BuildError};
use crate::library_path;
use crate::manifest::{MANIFEST_FILE, Manifest, ManifestError};

/// The libraries, as `-l` names them, that a link takes by itself: the functions of `<math.h>` and `<complex.h>`, what
/// compilers and the standard headers call, and what OpenMP's regions do.
pub const DEFAULT_LIBRARIES: [&str; 3] = ["m", "devicert", "ompdevice"];

/// The files of a library, from the folder of its manifest.
type Sources = &'static [(&'static str, &'static str)];

macro_rules! sources {
    ($folder:literal: $($file:literal)*) => {
        &[$(($file, include_str!(concat!("../../../device-libs/", $folder, "/", $file)))),*]
    };
}

const LIBM: Sources = sources!("libm":
    "libdevice.toml" "libm.c" "complex.c" "libm.cpp" "functions.inc" "overloads.inc" "real.inc" "complex.inc"
    "providers/libclc.h" "providers/libdevice.h" "providers/libdevice_fast.h" "providers/native_fast.h"
    "providers/ocml.h" "providers/opencl.h");

const RT: Sources = sources!("rt": "libdevice.toml" "assert.c" "bfloat16.c" "memory.c" "print.c");

const OPENMP: Sources = sources!("openmp":
    "libdevice.toml" "openmp.h" "team.c" "parallel.c" "loops.c" "reduction.c" "memory.c" "queries.c");

/// Why a library that comes with offkit is not there.
#[derive(Debug, thiserror::Error)]
pub enum ShippedError {
    /// It has to be built, and there is no compiler.
    #[error("{}: {}", .0, .0.hint())]
    Clang(#[from] ClangError),
    /// There is no place for it.
    #[error("{}: {}", .0, .0.hint())]
    Cache(#[from] CacheError),
    /// It cannot be built.
    #[error("{}", offkit_host::chain(.0))]
    Build(#[from] BuildError),
    /// Its manifest cannot be read.
    #[error(transparent)]
    Manifest(#[from] ManifestError),
}

fn sources(library: &str) -> Option<Sources> {
    match library {
        "m" => Some(LIBM),
        "devicert" => Some(RT),
        "ompdevice" => Some(OPENMP),
        _ => None,
    }
}

/// The folder for these libraries beside the program: what `offkit devlib build -o PREFIX/lib/offkit` has made is
/// taken by `PREFIX/bin/offkit`.
pub(crate) fn installed() -> PathBuf {
    let program = env::current_exe().unwrap_or_default();
    let root = program.parent().and_then(Path::parent);
    root.unwrap_or(Path::new("")).join("lib/offkit")
}

/// The folder, as `-L` names one, where a library is for a target; `None` if none comes with offkit. Built if it is not
/// there yet; the vendors' bitcode is looked for in `folders` before the usual ones.
pub(crate) fn folder(
    library: &str,
    target: &Target,
    folders: &[PathBuf],
) -> Result<Option<PathBuf>, ShippedError> {
    let (Some(sources), Some((own, variant))) = (sources(library), own_target(target)) else {
        return Ok(None);
    };
    let installed = installed();
    let installed = match &variant {
        Some(variant) => installed.join(variant),
        None => installed,
    };
    if installed.join(library_path(library, &own)).is_file() {
        return Ok(Some(installed));
    }
    let clang = clang::find()?;
    let manifest = manifest(sources)?;
    let key = key(&manifest, sources, &own, variant.as_deref(), &clang, folders);
    let folder = cache::folder(concat!("devlib-", env!("CARGO_PKG_VERSION")))?.join(key);
    let found = match &variant {
        Some(variant) => folder.join(variant),
        None => folder.clone(),
    };
    if !found.join(library_path(library, &own)).is_file() {
        build(sources, &own, variant, clang, folders, &folder)?;
    }
    Ok(Some(found))
}

/// What is built for a target, and as which variant: without what makes no difference to the code.
fn own_target(target: &Target) -> Option<(Target, Option<String>)> {
    match target.family() {
        // DPC++ writes `spir64`, and passes pointers in its own way.
        Family::Spirv64 => {
            let is_of_dpcpp = target.is_spelt_by_dpcpp();
            Some((
                Target::new(triples::SPIRV64, ""),
                is_of_dpcpp.then(|| "dpcpp".to_owned()),
            ))
        }
        Family::Nvptx64 | Family::Amdgcn if !target.arch.is_empty() => Some((target.clone(), None)),
        _ => None,
    }
}

/// The manifest, as if it were in the folder where the sources are put to be built.
fn manifest(sources: Sources) -> Result<Manifest, ManifestError> {
    let text = sources.iter().find(|(name, _)| *name == MANIFEST_FILE);
    Manifest::parse(Path::new(MANIFEST_FILE), text.map_or("", |(_, text)| text))
}

/// A name for all that a library is made of. Of programs and of vendors' files it is where they are, their size and
/// time: to ask a compiler for its version takes as long as a link.
fn key(
    manifest: &Manifest,
    sources: Sources,
    target: &Target,
    variant: Option<&str>,
    clang: &Path,
    folders: &[PathBuf],
) -> String {
    let mut hasher = Sha256::new();
    let mut add = |bytes: &[u8]| {
        hasher.update(bytes.len().to_le_bytes());
        hasher.update(bytes);
    };
    for (name, text) in sources {
        add(name.as_bytes());
        add(text.as_bytes());
    }
    add(target.to_string().as_bytes());
    add(variant.unwrap_or_default().as_bytes());
    let settings = manifest.settings(target);
    let vendors = settings.providers.iter().flat_map(|provider| {
        let folders = folders.iter().chain(&provider.folders);
        folders.filter_map(|folder| Some(folder.join(provider.file.as_ref()?)))
    });
    for path in std::iter::once(clang.to_owned()).chain(vendors) {
        let Ok(path) = fs::canonicalize(path) else {
            continue;
        };
        let Ok(file) = fs::metadata(&path) else { continue };
        let modified = file
            .modified()
            .ok()
            .and_then(|time| time.duration_since(UNIX_EPOCH).ok());
        add(path.as_os_str().as_encoded_bytes());
        add(&file.len().to_le_bytes());
        add(&modified.unwrap_or_default().as_nanos().to_le_bytes());
    }
    let hash = hasher.finalize();
    hash.iter().take(8).map(|byte| format!("{byte:02x}")).collect()
}

/// Builds a library beside its place, and puts it there as a whole.
fn build(
    sources: Sources,
    target: &Target,
    variant: Option<String>,
    clang: PathBuf,
    folders: &[PathBuf],
    place: &Path,
) -> Result<(), ShippedError> {
    let cannot = |error: io::Error| CacheError::new(place, error);
    let parent = place.parent().unwrap_or(Path::new("."));
    fs::create_dir_all(parent).map_err(cannot)?;
    let work = tempfile::Builder::new()
        .prefix(".devlib-")
        .tempdir_in(parent)
        .map_err(cannot)?;
    temporary::remove_when_stopped(work.path());
    let (source, made) = (work.path().join("source"), work.path().join("made"));
    for (name, text) in sources {
        let path = source.join(name);
        fs::create_dir_all(path.parent().unwrap_or(&source)).map_err(cannot)?;
        fs::write(&path, text).map_err(cannot)?;
    }
    let build = Build {
        manifest: &Manifest::read(&source.join(MANIFEST_FILE))?,
        clang,
        output: made.clone(),
        targets: vec![target.clone()],
        variants: vec![variant.clone()],
        folders: folders.to_vec(),
        providers: Vec::new(),
        jobs: 4,
    };
    build.run(&|_, _, _| ())?;
    let intermediate = made.join(variant.unwrap_or_default()).join("libdevice/.build");
    fs::remove_dir_all(intermediate).map_err(cannot)?;
    match fs::rename(&made, place) {
        // Another process was faster.
        Err(_) if place.is_dir() => Ok(()),
        moved => Ok(moved.map_err(cannot)?),
    }
}
