//! One step of a plan: what is done, and the command that does the same.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use offkit_link::post_link::SplitMode;
use offkit_object::BundleState;

use offkit_image::Target;

use crate::offload::target_option;

/// One step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// What is done.
    pub action: Action,
    /// The steps, by number, that must have succeeded before.
    pub needs: Vec<usize>,
}

/// What a step does. All but clang runs in this process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// A front end of clang, or the host's linker by it.
    Clang(Clang),
    /// Marks kernels and exported functions with the source file they come from.
    Mark(Mark),
    /// Packs the device code of a source into an offload binary.
    Pack(Pack),
    /// Links device code.
    Link(Box<Link>),
}

/// A call of clang, or of a program that it would run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Clang {
    /// The program and its arguments.
    pub words: Vec<OsString>,
    /// Whether the program takes clang's options: clang does, and its front end.
    pub is_clang: bool,
    /// How many arguments must stay outside of a file of arguments: those that choose how the rest is read.
    pub before_response_file: usize,
}

/// Bitcode to be marked.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Mark {
    /// The module.
    pub input: PathBuf,
    /// The source file's name.
    pub module_id: PathBuf,
    /// Whether a module without an annotation of `offkit/device.h` is to be left as it is.
    pub only_annotated: bool,
    /// The bitcode file to write.
    pub output: PathBuf,
}

/// Modules to be packed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pack {
    /// The modules, and what they are for.
    pub images: Vec<(PathBuf, Target)>,
    /// The offload binary to write.
    pub output: PathBuf,
}

/// A device link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Link {
    /// What is linked, in order.
    pub inputs: Vec<LinkInput>,
    /// Where libraries are looked for before they are elsewhere.
    pub library_folders: Vec<PathBuf>,
    /// Whether an archive is left alone where the host's linker takes a shared library beside it.
    pub prefer_shared_libraries: bool,
    /// Whether an executable takes what it needs from the libraries that come with offkit.
    pub default_libraries: bool,
    /// What to link for; where empty, all that the inputs have code for.
    pub targets: Vec<Target>,
    /// How far the result is to be on its way.
    pub state: BundleState,
    /// How the code is split into images, if that was said.
    pub split: Option<SplitMode>,
    /// The newest version of SPIR-V that devices take, if that was said.
    pub spirv_version: Option<(u8, u8)>,
    /// The SPIR-V extensions that devices take, if that was said.
    pub spirv_extensions: Option<Vec<String>>,
    /// Options of LLVM's back ends.
    pub backend_options: Vec<String>,
    /// What the images are for.
    pub result: LinkResult,
    /// The file to write.
    pub output: PathBuf,
}

/// What a device link makes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LinkResult {
    /// A SYCLBIN file.
    SyclBin,
    /// An object that registers the images when the program starts. Which kernels the host's code launches is not
    /// known, and it may launch none: members of archives are linked for their kernels, and there may be no images.
    Registration(Registration),
}

/// An object that registers images.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Registration {
    /// Whether images may need symbols of others when they are loaded.
    pub allow_dependencies: bool,
    /// The triple of the host, if that was said.
    pub host_triple: Option<String>,
    /// Options for the device's compiler when the program runs.
    pub compile_options: Option<String>,
    /// Options for the device's linker when the program runs.
    pub link_options: Option<String>,
    /// Whether the inputs are all that the host's program is linked of, and there are archives among them.
    pub knows_program: bool,
}

/// An input of a device link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LinkInput {
    /// What it is.
    pub what: LinkInputKind,
    /// Whether all members count if it is an archive.
    pub whole_archive: bool,
}

/// What an input of a device link is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LinkInputKind {
    /// A file that the user named.
    File(PathBuf),
    /// A file that an earlier step makes of a source. Messages speak of the source.
    Made {
        /// The file.
        path: PathBuf,
        /// The source.
        source: PathBuf,
    },
    /// A library, as `-l` has it.
    Library(String),
}

impl Action {
    /// The command that does the same: the program and its arguments. `offkit` is this program.
    pub fn words(&self, offkit: &Path) -> Vec<OsString> {
        let verb = |verb: &str| vec![offkit.as_os_str().to_owned(), verb.into()];
        match self {
            Self::Clang(clang) => clang.words.clone(),
            Self::Mark(mark) => mark.words(verb("mark")),
            Self::Pack(pack) => pack.words(verb("pack")),
            Self::Link(link) => link.words(verb("link")),
        }
    }

    /// The file that an action of this program writes.
    pub fn output(&self) -> Option<&Path> {
        match self {
            Self::Clang(_) => None,
            Self::Mark(mark) => Some(&mark.output),
            Self::Pack(pack) => Some(&pack.output),
            Self::Link(link) => Some(&link.output),
        }
    }
}

impl Mark {
    fn words(&self, mut words: Vec<OsString>) -> Vec<OsString> {
        words.push(joined("--module-id=", &self.module_id));
        if self.only_annotated {
            words.push("--only-annotated".into());
        }
        words.extend([self.input.clone().into(), "-o".into(), self.output.clone().into()]);
        words
    }
}

impl Pack {
    fn words(&self, mut words: Vec<OsString>) -> Vec<OsString> {
        words.extend(["-o".into(), self.output.clone().into()]);
        words.extend(self.images.iter().map(|(path, target)| {
            let mut image = joined("--image=file=", path);
            image.push(format!(
                ",triple={},arch={},kind=sycl",
                target.triple,
                target.arch_or_generic()
            ));
            image
        }));
        words
    }
}

impl Link {
    /// Whether images may need symbols of others when they are loaded, although the link is the last.
    pub(crate) fn allows_dependencies(&self) -> bool {
        matches!(&self.result, LinkResult::Registration(registration) if registration.allow_dependencies)
    }

    fn words(&self, mut words: Vec<OsString>) -> Vec<OsString> {
        words.push("-q".into());
        words.push(format!("--state={}", self.state).into());
        let targets = self.targets.iter().map(target_option);
        words.extend(targets.map(OsString::from));
        words.extend(self.split.map(|split| format!("--split={}", split.name()).into()));
        if let LinkResult::Registration(registration) = &self.result {
            let fixed = ["--format=object,sycl-v3", "--archive-kernels", "--allow-empty"];
            words.extend(fixed.map(OsString::from));
            if registration.knows_program {
                words.push("--host-program".into());
            }
            if registration.allow_dependencies {
                let open = ["--allow-undefined", "--allow-device-image-dependencies"];
                words.extend(open.map(OsString::from));
            }
            for (option, value) in [
                ("--host-triple=", &registration.host_triple),
                ("--compile-options=", &registration.compile_options),
                ("--link-options=", &registration.link_options),
            ] {
                words.extend(value.iter().map(|value| format!("{option}{value}").into()));
            }
        }
        if self.prefer_shared_libraries {
            words.push("--prefer-shared-libraries".into());
        }
        if !self.default_libraries {
            words.push("--no-default-device-libs".into());
        }
        let version = self.spirv_version;
        words.extend(version.map(|(major, minor)| format!("--spirv-version={major}.{minor}").into()));
        let extensions = self.spirv_extensions.as_ref();
        words.extend(extensions.map(|names| format!("--spirv-ext={}", names.join(",")).into()));
        let backend = self.backend_options.iter();
        words.extend(backend.map(|option| format!("--backend-option={option}").into()));
        words.extend(["-o".into(), self.output.clone().into()]);
        words.extend(self.library_folders.iter().map(|folder| joined("-L", folder)));
        // As with linkers the option is for all that follow, and order decides who supplies a
        // symbol.
        let mut is_whole = false;
        for input in &self.inputs {
            if input.whole_archive != is_whole {
                is_whole = input.whole_archive;
                words.push(
                    if is_whole {
                        "--whole-archive"
                    } else {
                        "--no-whole-archive"
                    }
                    .into(),
                );
            }
            words.push(match &input.what {
                LinkInputKind::File(path) | LinkInputKind::Made { path, .. } => path.clone().into(),
                LinkInputKind::Library(name) => format!("-l{name}").into(),
            });
        }
        words
    }
}

/// An option with its value behind it.
fn joined(option: &str, value: &Path) -> OsString {
    let mut word = OsString::from(option);
    word.push(value);
    word
}
