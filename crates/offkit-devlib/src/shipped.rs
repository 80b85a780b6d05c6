//! The device libraries that come with offkit: installed beside the program, or built the first time they are needed.
//!
//! Their sources are in the program. What is built goes into the user's cache, a folder for each library and target, by
//! all that it is made of: the sources, the compiler, the vendor's bitcode.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

use offkit_cache::{Cache, File, Key, Kind};
use offkit_host::clang::{self, ClangError};
use offkit_image::Family;
use offkit_image::target::triples;
use offkit_object::Target;

use crate::build::{Build, BuildError};
use crate::compiler::{compiler_variables, with_compiler};
use crate::library_path;
use crate::manifest::{MANIFEST_FILE, Manifest, ManifestError};

/// The libraries, as `-l` names them, that a link takes by itself: the functions of `<math.h>` and `<complex.h>`, and
/// what compilers and the standard headers call.
pub const DEFAULT_LIBRARIES: [&str; 2] = ["m", "devicert"];

/// The library that a link of OpenMP's regions takes besides: their device runtime.
pub const OPENMP_LIBRARY: &str = "ompdevice";

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
    /// There is no place for temporary files.
    #[error("cannot write temporary files: {0}")]
    Temporary(#[from] io::Error),
    /// It cannot be built.
    #[error("{}", offkit_host::chain(.0))]
    Build(#[from] BuildError),
    /// Its manifest cannot be read.
    #[error(transparent)]
    Manifest(#[from] ManifestError),
}

fn sources(library: &str, family: Family) -> Option<Sources> {
    match library {
        "m" => Some(LIBM),
        "devicert" => Some(RT),
        // For other devices it is LLVM's.
        OPENMP_LIBRARY if family == Family::Spirv64 => Some(OPENMP),
        _ => None,
    }
}

/// The folder for these libraries beside the program: what `offkit devlib build -o PREFIX/lib/offkit` has made is
/// taken by `PREFIX/bin/offkit`.
pub(crate) fn installed() -> PathBuf {
    installed_with(&env::current_exe().unwrap_or_default())
}

/// The same beside that program. Where that is in no folder of a folder it is the system's: never one that counts from
/// the current folder, which may be anybody's.
fn installed_with(program: &Path) -> PathBuf {
    let root = program.parent().and_then(Path::parent);
    let root = root.filter(|root| root.is_absolute());
    root.unwrap_or(Path::new("/")).join("lib/offkit")
}

/// The folder, as `-L` names one, where a library is for a target; `None` if none comes with offkit. Built if it is not
/// there yet; the vendors' bitcode is looked for in `folders` before the usual ones.
pub(crate) fn folder(
    library: &str,
    target: &Target,
    folders: &[PathBuf],
) -> Result<Option<PathBuf>, ShippedError> {
    let (Some(sources), Some((own, variant))) = (sources(library, target.family()), own_target(target))
    else {
        return Ok(None);
    };
    let installed = installed();
    let installed = match &variant {
        Some(variant) => installed.join(variant),
        None => installed,
    };
    // Before a compiler is looked for: where everything is installed none is needed.
    if installed.join(library_path(library, &own)).is_file() {
        return Ok(Some(installed));
    }
    let clang = clang::find()?;
    let made = MadeOf {
        library,
        manifest: &manifest(sources)?,
        sources,
        target: &own,
        variant: variant.as_deref(),
        clang: &clang,
        variables: &compiler_variables(),
        folders,
    };
    let key = made.key();
    let folder = Cache::user().folder(&key, || build(sources, &own, variant.clone(), clang, folders))?;
    Ok(Some(match &variant {
        Some(variant) => folder.join(variant),
        None => folder,
    }))
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
        // The processor decides which of the vendors' bitcode is taken, and what clang makes of it.
        Family::Nvptx64 | Family::Amdgcn if !target.arch.is_empty() => Some((target.clone(), None)),
        _ => None,
    }
}

/// The manifest, as if it were in the folder where the sources are put to be built.
fn manifest(sources: Sources) -> Result<Manifest, ManifestError> {
    let text = sources.iter().find(|(name, _)| *name == MANIFEST_FILE);
    Manifest::parse(Path::new(MANIFEST_FILE), text.map_or("", |(_, text)| text))
}

/// All that a library is made of.
#[derive(Clone)]
struct MadeOf<'a> {
    /// Its name, for people: all of it is in the sources.
    library: &'a str,
    /// The manifest, which is among the sources: it says which files of vendors are looked for.
    manifest: &'a Manifest,
    sources: &'a [(&'a str, &'a str)],
    target: &'a Target,
    variant: Option<&'a str>,
    clang: &'a Path,
    /// Variables that change what clang does, with their values.
    variables: &'a [(&'a str, OsString)],
    /// Folders where vendors' files may be.
    folders: &'a [PathBuf],
}

impl MadeOf<'_> {
    /// The key. Of programs and of vendors' files it has where they are, their size and time: to ask a compiler for its version
    /// takes as long as a link. A field that is not looked at here is an error of the compiler's.
    fn key(&self) -> Key {
        let Self {
            library,
            manifest,
            sources,
            target,
            variant,
            clang,
            variables,
            folders,
        } = *self;
        let key = Key::new(Kind::DeviceLibrary, format!("{library} for {target}"))
            .text("offkit", env!("CARGO_PKG_VERSION"))
            .text("target", target)
            .text("variant", variant.unwrap_or_default());
        let mut key = with_compiler(key, "clang", clang);
        for (name, value) in variables.iter().filter(|(_, value)| !value.is_empty()) {
            key = key.text(*name, value.display());
        }
        for (name, text) in sources {
            key = key.bytes(format!("source {name}"), text.as_bytes());
        }
        let settings = manifest.settings(target);
        let vendors = settings.providers.iter().flat_map(|provider| {
            let folders = folders.iter().chain(&provider.folders);
            folders.filter_map(|folder| Some(folder.join(provider.file.as_ref()?)))
        });
        // All that are there, though a build takes the first: which one that is changes when
        // another comes.
        for path in vendors.filter(|path| path.is_file()) {
            key = key.file(format!("vendor's library {}", path.display()), &path);
        }
        key
    }
}

/// Builds a library: its files, by their paths in a folder that `-L` names.
fn build(
    sources: Sources,
    target: &Target,
    variant: Option<String>,
    clang: PathBuf,
    folders: &[PathBuf],
) -> Result<Vec<(PathBuf, File)>, ShippedError> {
    let work = tempfile::Builder::new().prefix("offkit-devlib-").tempdir()?;
    let (source, made) = (work.path().join("source"), work.path().join("made"));
    for (name, text) in sources {
        let path = source.join(name);
        fs::create_dir_all(path.parent().unwrap_or(&source))?;
        fs::write(&path, text)?;
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
    // The cache has the library by all that it is made of: its parts would never be looked at again.
    let intermediate = made.join(variant.unwrap_or_default()).join("libdevice/.build");
    fs::remove_dir_all(intermediate)?;
    let mut files = Vec::new();
    collect(&made, Path::new(""), &mut files)?;
    Ok(files)
}

/// The files of a folder within another, and of the folders in it.
fn collect(root: &Path, within: &Path, files: &mut Vec<(PathBuf, File)>) -> io::Result<()> {
    for file in fs::read_dir(root.join(within))? {
        let file = file?;
        let path = within.join(file.file_name());
        match file.file_type()?.is_dir() {
            true => collect(root, &path, files)?,
            false => files.push((path, File::Content(fs::read(file.path())?))),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn libraries_are_never_taken_from_the_current_folder() {
        assert_eq!(
            installed_with(Path::new("/opt/bin/offkit")),
            Path::new("/opt/lib/offkit")
        );
        for program in ["/offkit", "/bin/offkit", "bin/offkit", ""] {
            assert_eq!(
                installed_with(Path::new(program)),
                Path::new("/lib/offkit"),
                "{program}"
            );
        }
    }

    #[test]
    fn whatever_a_library_is_made_of_makes_another_key() {
        let folder = tempfile::tempdir().unwrap();
        let file = |name: &str, text: &str| {
            let path = folder.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, text).unwrap();
            path
        };
        let (clang, other_clang) = (file("clang", "one"), file("clang-22", "other"));
        let manifest_text = "name = \"m\"\ntargets = [\"sm_90\"]\nsources = [\"m.c\"]\n\
             [[target.nvptx.providers]]\nname = \"libdevice\"\nfile = \"libdevice.10.bc\"\nflags = []\n";
        let manifest = Manifest::parse(Path::new(MANIFEST_FILE), manifest_text).unwrap();
        let sources = [(MANIFEST_FILE, manifest_text), ("m.c", "double sin(double);")];
        let (one, two) = (folder.path().join("one"), folder.path().join("two"));
        for name in ["one", "two"] {
            file(&format!("{name}/libdevice.10.bc"), name);
        }
        file("one/other.bc", "other");
        let folders = [one, folder.path().join("none")];
        let target = Target::new(triples::NVPTX64, "sm_90");
        let base = MadeOf {
            library: "m",
            manifest: &manifest,
            sources: &sources,
            target: &target,
            variant: None,
            clang: &clang,
            variables: &[("CPATH", OsString::new())],
            folders: &folders,
        };
        let other_text = manifest_text.replace("libdevice.10.bc", "other.bc");
        let without = Manifest::parse(Path::new(MANIFEST_FILE), &other_text).unwrap();
        let others = [
            MadeOf {
                manifest: &without,
                ..base.clone()
            },
            MadeOf {
                sources: &[sources[0], ("m.c", "double cos(double);")],
                ..base.clone()
            },
            MadeOf {
                sources: &[sources[0], ("n.c", "double sin(double);")],
                ..base.clone()
            },
            MadeOf {
                sources: &sources[..1],
                ..base.clone()
            },
            MadeOf {
                target: &Target::new(triples::NVPTX64, "sm_80"),
                ..base.clone()
            },
            MadeOf {
                variant: Some("dpcpp"),
                ..base.clone()
            },
            MadeOf {
                clang: &other_clang,
                ..base.clone()
            },
            MadeOf {
                variables: &[("CPATH", "/one".into())],
                ..base.clone()
            },
            MadeOf {
                variables: &[("CPLUS_INCLUDE_PATH", "/one".into())],
                ..base.clone()
            },
            MadeOf {
                folders: &[two],
                ..base.clone()
            },
            MadeOf {
                folders: &[],
                ..base.clone()
            },
        ];
        let mut seen = BTreeSet::from([base.key().digest()]);
        for (number, other) in others.iter().enumerate() {
            assert!(
                seen.insert(other.key().digest()),
                "change {number} makes no key of its own"
            );
        }
        // It is the sources that count, and vendors' files that are there.
        let named = MadeOf {
            library: "other",
            ..base.clone()
        };
        assert_eq!(named.key().digest(), base.key().digest());
        let searched = MadeOf {
            folders: &folders[..1],
            ..base.clone()
        };
        assert_eq!(searched.key().digest(), base.key().digest());
        file("one/libdevice.10.bc", "a new release");
        assert!(seen.insert(base.key().digest()));
    }
}
