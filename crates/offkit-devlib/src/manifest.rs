//! `libdevice.toml`: what a device library is made of, and what those who link it must know.
//!
//! The same format serves twice. The author of a library writes a manifest, from which the library is built; the
//! build leaves a copy beside the libraries, [`Manifest::installed_path`], with only what concerns their users: the
//! targets, the ABI, the other libraries that are needed. The keys:
//!
//! | key | value |
//! |---|---|
//! | `name` | the `X` of `-lX` |
//! | `sources` | files, relative to the manifest; `{ file = "…", language = "…" }` where the name does not tell |
//! | `include` | folders for headers, relative to the manifest |
//! | `flags` | options of the compiler |
//! | `languages` | options by language: `c`, `c++`, `opencl` |
//! | `targets` | `gfx90a`, `gfx90a:xnack+`, `sm_60`, `spirv64`, or a triple |
//! | `dependencies` | names of other device libraries |
//! | `abi` | `code-object-version`, `wavefront-size`, `spirv-version` |
//! | `target.NAME` | for an architecture (`amdgcn`, `nvptx`, `spirv64`) or a processor: `sources` instead of the others, `flags` and `dependencies` besides them, `abi`, `providers` |
//! | `target.NAME.providers` | bitcode that becomes a part of the library, the first that is there: `name`, `file`, `folders`, `flags` |
//! | `variants.NAME` | another build beside the usual one, such as `debug`: `flags` |

mod text;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use offkit_object::Target;
use serde::Deserialize;

use text::{File, Place};

/// The manifest's usual file name.
pub const MANIFEST_FILE: &str = "libdevice.toml";

/// A device library as its manifest describes it; see the [module](self) for the format.
#[derive(Clone, Debug, PartialEq)]
pub struct Manifest {
    /// Where it was read from.
    pub path: PathBuf,
    /// The `X` of `-lX`.
    pub name: String,
    /// What is compiled where a target does not say otherwise.
    pub sources: Vec<Source>,
    /// Folders for headers.
    pub include: Vec<PathBuf>,
    /// Options of the compiler for every source.
    pub flags: Vec<String>,
    /// Options of the compiler by language.
    pub languages: BTreeMap<Language, Vec<String>>,
    /// The targets to build for, or that it was built for.
    pub targets: Vec<Target>,
    /// The device libraries that this one needs, as `-l` takes them.
    pub dependencies: Vec<String>,
    /// What holds for every target.
    pub abi: Abi,
    /// What is different for an architecture or a processor, by its name.
    pub target: BTreeMap<String, TargetSection>,
    /// The builds besides the usual one: the options they add, by name.
    pub variants: BTreeMap<String, Vec<String>>,
}

/// A file to compile.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    /// Its path.
    pub path: PathBuf,
    /// What it is compiled as.
    pub language: Language,
}

offkit_image::named! {
    /// A language that device libraries are written in.
    pub enum Language, "Its name in manifests." {
        /// C.
        C => "c",
        /// C++.
        Cxx => "c++",
        /// OpenCL C.
        OpenCl => "opencl",
    }
}

impl Language {
    /// Its name for clang's option `-x`.
    pub fn clang_name(self) -> &'static str {
        match self {
            Self::OpenCl => "cl",
            other => other.name(),
        }
    }

    fn of_file(path: &Path) -> Option<Self> {
        match path.extension()?.to_str()? {
            "c" => Some(Self::C),
            "cpp" | "cc" | "cxx" | "C" | "c++" => Some(Self::Cxx),
            "cl" => Some(Self::OpenCl),
            _ => None,
        }
    }
}

/// What two modules must agree on to be linked; `None` where it does not matter.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Abi {
    /// The version of AMDGPU's code objects, such as 5.
    pub code_object_version: Option<u32>,
    /// The number of work-items that AMDGPU's processor runs in step: 32 or 64.
    pub wavefront_size: Option<u32>,
    /// The lowest version of SPIR-V, such as `1.2`.
    pub spirv_version: Option<String>,
}

impl Abi {
    /// What this says, and where it says nothing what the other does.
    #[must_use]
    fn or(&self, other: &Self) -> Self {
        Self {
            code_object_version: self.code_object_version.or(other.code_object_version),
            wavefront_size: self.wavefront_size.or(other.wavefront_size),
            spirv_version: self.spirv_version.clone().or_else(|| other.spirv_version.clone()),
        }
    }

    /// The options of clang that compile for it.
    pub fn flags(&self) -> Vec<String> {
        let version = self
            .code_object_version
            .map(|version| format!("-mcode-object-version={version}"));
        let size = self.wavefront_size.map(|size| {
            let no = if size == 32 { "no-" } else { "" };
            format!("-m{no}wavefrontsize64")
        });
        // For the version of SPIR-V there is no option: it is part of the triple.
        version.into_iter().chain(size).collect()
    }

    /// As lines of a manifest.
    fn toml(&self) -> String {
        let number = |key: &str, value: Option<u32>| value.map(|value| format!("{key} = {value}\n"));
        let version = self
            .spirv_version
            .as_ref()
            .map(|version| format!("spirv-version = \"{version}\"\n"));
        [
            number("code-object-version", self.code_object_version),
            number("wavefront-size", self.wavefront_size),
            version,
        ]
        .into_iter()
        .flatten()
        .collect()
    }
}

/// What is different for an architecture or a processor.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TargetSection {
    /// What is compiled instead of what is compiled elsewhere.
    pub sources: Option<Vec<Source>>,
    /// Options of the compiler, after those for every target.
    pub flags: Vec<String>,
    /// Device libraries that are needed there besides the others.
    pub dependencies: Vec<String>,
    /// What differs of the ABI.
    pub abi: Abi,
    /// Bitcode that becomes a part of the library: of those that are there the first.
    pub providers: Vec<Provider>,
}

/// Bitcode of somebody else that becomes a part of a library.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Provider {
    /// What it is called on command lines.
    pub name: String,
    /// The file's name; nothing for code that needs no file.
    pub file: Option<String>,
    /// Where the file is looked for after the folders of `-L`.
    pub folders: Vec<PathBuf>,
    /// Options of the compiler with it.
    pub flags: Vec<String>,
}

/// All that is said of one target.
#[derive(Clone, Debug, PartialEq)]
pub struct TargetSettings<'a> {
    /// What is compiled.
    pub sources: &'a [Source],
    /// Options of the compiler, the most general first.
    pub flags: Vec<String>,
    /// The device libraries that this one needs.
    pub dependencies: Vec<String>,
    /// What other modules must agree on.
    pub abi: Abi,
    /// Bitcode of which the first that is there is to be used.
    pub providers: &'a [Provider],
}

/// Why a manifest cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ManifestError {
    /// The file cannot be read.
    #[error("cannot read `{}`", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// It does not say what it should.
    #[error("{}:{line}: {message}", path.display())]
    Content {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// What was expected, and what is there.
        message: String,
    },
}

impl Manifest {
    /// Reads a manifest.
    ///
    /// # Errors
    ///
    /// If it cannot be read, or is not as the [module](self) describes.
    pub fn read(path: &Path) -> Result<Self, ManifestError> {
        let text = fs::read_to_string(path).map_err(|source| ManifestError::Unreadable {
            path: path.to_owned(),
            source,
        })?;
        Self::parse(path, &text)
    }

    /// The manifest of a library beside its files: below a folder of the search path
    /// [`installed_path`](Self::installed_path), else [`MANIFEST_FILE`] there if it is about this library.
    ///
    /// # Errors
    ///
    /// If there is one that cannot be used.
    pub fn beside(folder: &Path, name: &str) -> Result<Option<Self>, ManifestError> {
        // What a build has left comes first: it is for those who use the library, the author's for those who build it.
        let installed = folder.join(Self::installed_path(name));
        if installed.is_file() {
            return Self::read(&installed).map(Some);
        }
        let general = folder.join(MANIFEST_FILE);
        if !general.is_file() {
            return Ok(None);
        }
        let manifest = Self::read(&general)?;
        Ok((manifest.name == name).then_some(manifest))
    }

    /// Where the manifest of a library is, below a folder of the search path: `libdevice/libX.toml`.
    pub fn installed_path(name: &str) -> PathBuf {
        Path::new("libdevice").join(format!("lib{name}.toml"))
    }

    /// Reads the text of a manifest; relative paths in it are from the folder of `path`.
    ///
    /// # Errors
    ///
    /// If it is not as the [module](self) describes.
    pub fn parse(path: &Path, text: &str) -> Result<Self, ManifestError> {
        let place = Place { path, text };
        let file: File =
            toml::from_str(text).map_err(|error| place.error(error.span(), error.message().to_owned()))?;
        file.check(&place)
    }

    /// All that it says of a target: the section of the processor counts before that of the architecture.
    pub fn settings(&self, target: &Target) -> TargetSettings<'_> {
        // From the general to the special: lists add up in this order, and of single values the most special counts.
        let architectures = target.library_architectures();
        let mut names: Vec<&str> = architectures.iter().map(String::as_str).collect();
        names.push(&target.arch);
        let with_features = target.arch_with_features();
        // Without features it is the same name again, and the section's flags would count twice.
        if with_features != *target.arch {
            names.push(&with_features);
        }
        let sections: Vec<&TargetSection> = names.iter().filter_map(|name| self.target.get(*name)).collect();
        let most_special = || sections.iter().rev();
        TargetSettings {
            sources: most_special()
                .find_map(|section| section.sources.as_deref())
                .unwrap_or(&self.sources),
            flags: (self.flags.iter())
                .chain(sections.iter().flat_map(|section| &section.flags))
                .cloned()
                .collect(),
            dependencies: (self.dependencies.iter())
                .chain(sections.iter().flat_map(|section| &section.dependencies))
                .cloned()
                .collect(),
            abi: most_special()
                .fold(Abi::default(), |abi, section| abi.or(&section.abi))
                .or(&self.abi),
            providers: most_special()
                .map(|section| &*section.providers)
                .find(|providers| !providers.is_empty())
                .unwrap_or_default(),
        }
    }

    /// The manifest for those who link the library, built for these targets.
    #[must_use]
    pub fn installed(&self, targets: &[Target]) -> String {
        let list = |names: Vec<String>| {
            // Rust's quotes are TOML's, as names have nothing in them that is escaped.
            let names: Vec<_> = names.iter().map(|name| format!("{name:?}")).collect();
            names.join(", ")
        };
        let mut text = format!(
            "# Written by `offkit devlib build`.\nname = {:?}\ntargets = [{}]\ndependencies = [{}]\n",
            self.name,
            list(targets.iter().map(Target::short_name).collect()),
            list(self.dependencies.clone()),
        );
        let mut section = |heading: &str, facts: &str| {
            if !facts.is_empty() {
                text += &format!("\n[{heading}]\n{facts}");
            }
        };
        section("abi", &self.abi.toml());
        for (name, target) in &self.target {
            // Quoted, as a name with features has a colon, which a bare key of TOML can't have.
            if !target.dependencies.is_empty() {
                let dependencies = list(target.dependencies.clone());
                section(
                    &format!("target.{name:?}"),
                    &format!("dependencies = [{dependencies}]\n"),
                );
            }
            section(&format!("target.{name:?}.abi"), &target.abi.toml());
        }
        text
    }
}

/// A target that can be compiled for, by one of the names in use: a processor's (`gfx90a:xnack+`, `sm_60`), an
/// architecture's (`spirv64`), or a triple.
pub fn target_named(name: &str) -> Option<Target> {
    let target = Target::named(name);
    let needs_processor = target.family().needs_processor();
    // Any word becomes a triple; one that stands for something has become one with dashes.
    let is_known = target.triple.contains('-') && (!needs_processor || !target.arch.is_empty());
    is_known.then_some(target)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = r#"
name = "m"
sources = ["libm.c", { file = "more.inc", language = "opencl" }]
flags = ["-O2"]
targets = ["gfx90a:xnack+", "sm_60", "spirv64"]
dependencies = ["base"]
languages = { "c++" = ["-std=c++17"] }

[target.amdgcn]
flags = ["-DAMD"]
dependencies = ["ocml"]
abi = { code-object-version = 5, wavefront-size = 64 }
[[target.amdgcn.providers]]
name = "ocml"
file = "ocml.bc"
folders = ["bitcode"]

[target.gfx1100]
sources = ["other.cpp"]
abi = { wavefront-size = 32 }

[variants.debug]
flags = ["-g"]
"#;

    fn parse(text: &str) -> Result<Manifest, String> {
        Manifest::parse(Path::new("lib/libdevice.toml"), text).map_err(|error| error.to_string())
    }

    #[test]
    fn the_processor_counts_before_the_architecture() {
        let manifest = parse(TEXT).unwrap();
        let common = manifest.settings(&target_named("gfx90a").unwrap());
        assert_eq!(common.sources[0].path, Path::new("lib/libm.c"));
        assert_eq!(common.sources[1].language, Language::OpenCl);
        assert_eq!(common.flags, ["-O2", "-DAMD"]);
        assert_eq!(
            common.abi.flags(),
            ["-mcode-object-version=5", "-mwavefrontsize64"]
        );
        assert_eq!(common.providers[0].folders, [Path::new("lib/bitcode")]);
        let special = manifest.settings(&target_named("gfx1100").unwrap());
        assert_eq!(special.sources.len(), 1);
        assert_eq!(
            special.abi.flags(),
            ["-mcode-object-version=5", "-mno-wavefrontsize64"]
        );
        assert_eq!(special.providers.len(), 1);
        let other = manifest.settings(&target_named("sm_60").unwrap());
        assert_eq!(
            (other.flags.len(), other.abi, other.providers.len()),
            (1, Abi::default(), 0)
        );
    }

    #[test]
    fn what_is_installed_says_what_users_must_know() {
        let manifest = parse(TEXT).unwrap();
        let installed = parse(&manifest.installed(&manifest.targets)).unwrap();
        assert_eq!(installed.targets, manifest.targets);
        let amd = installed.settings(&target_named("gfx1100").unwrap());
        assert_eq!(amd.dependencies, ["base", "ocml"]);
        let other = installed.settings(&target_named("sm_60").unwrap());
        assert_eq!(other.dependencies, ["base"]);
        for target in ["gfx90a", "gfx1100", "sm_60", "spirv64"].map(|name| target_named(name).unwrap()) {
            assert_eq!(
                installed.settings(&target).abi,
                manifest.settings(&target).abi,
                "{target}"
            );
        }
        assert!(installed.sources.is_empty() && installed.variants.is_empty());
    }

    #[test]
    fn errors_name_the_line_and_what_was_expected() {
        for (text, expected) in [
            ("sources = []", "libdevice.toml:1: missing field `name`"),
            (
                "name = \"m\"\nsource = []",
                "libdevice.toml:2: unknown field `source`, expected one of `name`",
            ),
            ("name = \"a/b\"", "libdevice.toml:1: expected a name of letters"),
            (
                "name = \"m\"\nsources = [\n\"a.c\",\n\"b.f90\"]",
                "libdevice.toml:4: expected a source with the ending",
            ),
            (
                "name = \"m\"\nsources = [3]",
                "libdevice.toml:2: expected a file name, or {",
            ),
            (
                "name = \"m\"\ntargets = [\"nvptx\"]",
                "libdevice.toml:2: expected a processor such as gfx90a",
            ),
            (
                "name = \"m\"\ntargets = [\"sm_60\", \"sm_60\"]",
                "libdevice.toml:2: the target \"sm_60\" is there twice",
            ),
            // Features in another order are the same target, and the same file.
            (
                "name = \"m\"\ntargets = [\"gfx90a:xnack+:sramecc-\", \"gfx90a:sramecc-:xnack+\"]",
                "libdevice.toml:2: the target \"gfx90a:sramecc-:xnack+\" is there twice",
            ),
            (
                "name = \"m\"\n[languages]\nada = []",
                "libdevice.toml:3: expected the language c, c++ or opencl",
            ),
            (
                "name = \"m\"\n[target.amdgcn]\nabi = { wavefront-size = 48 }",
                "libdevice.toml:3: expected the wavefront-size 32 or 64",
            ),
            (
                "name = \"m\"\nabi = { spirv-version = \"2\" }",
                "libdevice.toml:2: expected a spirv-version",
            ),
            ("name = m", "libdevice.toml:1: "),
        ] {
            let error = parse(text).unwrap_err();
            assert!(error.contains(expected), "{text}: {error}");
        }
    }

    #[test]
    fn whatever_is_cut_off_is_an_error_with_a_line_or_a_manifest() {
        for end in 0..TEXT.len() {
            if let Err(error) = parse(&TEXT[..end]) {
                let line = error
                    .strip_prefix("lib/libdevice.toml:")
                    .and_then(|rest| rest.split(':').next());
                let line: usize = line.unwrap().parse().unwrap();
                assert!((1..=TEXT.lines().count() + 1).contains(&line), "{end}: {error}");
            }
        }
    }
}
