//! The steps that link device code and programs.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use offkit_object::BundleState;

use super::{
    Action, Link, LinkInput, LinkInputKind, LinkResult, Made, Planner, Registration, is_about_the_driver,
    stem,
};
use crate::UsageError;
use crate::arguments::{Argument, Role};
use crate::inputs::InputKind;
use crate::offload::is_portable;
use offkit_image::Target;

/// What links read, in order.
#[derive(Debug, Default)]
struct Linked {
    /// For the device's linker.
    device: DeviceInputs,
    /// The steps that make what it reads.
    device_needs: Vec<usize>,
    /// For each input, what the host's linker reads in its place.
    host: Vec<Option<OsString>>,
    /// The steps that make it.
    host_needs: Vec<usize>,
}

/// The inputs of the device's linker.
#[derive(Debug, Default)]
struct DeviceInputs {
    inputs: Vec<LinkInput>,
    folders: Vec<PathBuf>,
    /// Whether archives that follow are linked as a whole.
    whole_archive: bool,
}

impl DeviceInputs {
    fn add(&mut self, what: LinkInputKind) {
        self.inputs.push(LinkInput {
            what,
            whole_archive: self.whole_archive,
        });
    }

    /// Takes what `-Wl,--whole-archive` and its end, alone or with archives between, say to the device's linker, and
    /// archives in a group.
    fn add_for_linker(&mut self, argument: &Argument) {
        let name = argument.name();
        let words: Vec<_> = match name.strip_prefix("-Wl,") {
            Some(words) => words.split(',').collect(),
            None => return,
        };
        let switch = |word: &str| match word.trim_start_matches('-') {
            "whole-archive" => Some(true),
            "no-whole-archive" => Some(false),
            _ => None,
        };
        let is_group = |word: &str| word.trim_start_matches('-') == "start-group";
        if !words.iter().any(|word| switch(word).is_some() || is_group(word)) {
            return;
        }
        for word in words {
            match switch(word) {
                Some(whole) => self.whole_archive = whole,
                None if word.ends_with(".a") => self.add(LinkInputKind::File(word.into())),
                None => {}
            }
        }
    }
}

impl Planner<'_> {
    /// A link, of the device code and then, unless that is all that is asked for, of the program.
    pub(super) fn link(&mut self) -> Result<(), UsageError> {
        let offload = &self.command_line.offload;
        let only_device_code = offload.syclbin.is_some() || offload.link;
        if self.command_line.has("-r") && !only_device_code {
            if self.inputs.iter().any(|input| input.kind.is_compiled()) {
                return Err(UsageError::new(
                    "`-r` joins objects: compile the sources with `-c` first",
                ));
            }
            // Objects that are joined keep their device code for the link proper.
            let linked = self.linked(only_device_code)?;
            self.host_link(linked, None);
            return Ok(());
        }
        let mut linked = self.linked(only_device_code)?;
        if !only_device_code {
            let object = self.temporary(&self.program_stem(), "-device", "o");
            let registered = self.registration(&mut linked, object);
            self.host_link(linked, Some(registered));
            return Ok(());
        }
        let output = self.command_line.output();
        let output = output.unwrap_or_else(|| self.default_device_output());
        match offload.syclbin {
            Some(state) => {
                self.device_link(&mut linked, state, LinkResult::SyclBin, output);
            }
            // Files that are linked become one that is complete.
            None if self.links_syclbins() => {
                self.device_link(&mut linked, BundleState::Executable, LinkResult::SyclBin, output);
            }
            None => {
                self.registration(&mut linked, output);
            }
        }
        Ok(())
    }

    /// Compiles what is to be compiled, and says what is linked.
    fn linked(&mut self, only_device_code: bool) -> Result<Linked, UsageError> {
        let mut linked = Linked::default();
        let links_archives = self.links_archives();
        let mut inputs = self.inputs.clone().into_iter();
        // Inputs, libraries and options between them stay in their order: it decides which library
        // supplies a symbol, and which archives are whole.
        for argument in &self.command_line.arguments {
            match argument.role {
                Role::Linker => linked.device.add_for_linker(argument),
                Role::Library => {
                    let name = argument.value("-l").to_string_lossy().into_owned();
                    linked.device.add(LinkInputKind::Library(name));
                }
                Role::LibraryFolder => linked.device.folders.push(argument.value("-L").into()),
                _ => {}
            }
            let Role::Input(_) = argument.role else { continue };
            let Some(input) = inputs.next() else { continue };
            let host = match input.kind {
                InputKind::Linkable | InputKind::SharedLibrary => Some(input.path.clone().into()),
                InputKind::Shared | InputKind::Host if !only_device_code => {
                    let object = self.host_object(&input, None, None);
                    linked.host_needs.push(object.step);
                    // It tells which members of archives are part of the program.
                    if links_archives {
                        linked.device_needs.push(object.step);
                        linked.device.add(self.made(object.path.clone(), &input.path));
                    }
                    Some(object.path.into())
                }
                _ => None,
            };
            linked.host.push(host);
            match input.kind {
                InputKind::Linkable | InputKind::DeviceImages => {
                    linked.device.add(LinkInputKind::File(input.path));
                }
                InputKind::Host | InputKind::SharedLibrary => {}
                InputKind::Shared | InputKind::Device(_) | InputKind::DeviceBitcode => {
                    for (module, _) in self.device_modules(&input)? {
                        linked.device_needs.push(module.step);
                        linked.device.add(self.made(module.path, &input.path));
                    }
                }
            }
        }
        Ok(linked)
    }

    /// A module as an input of the device link. Files that are kept are known by their own names.
    fn made(&self, path: PathBuf, source: &Path) -> LinkInputKind {
        match self.command_line.kept_temporaries() {
            Some(_) => LinkInputKind::File(path),
            None => LinkInputKind::Made {
                path,
                source: source.to_owned(),
            },
        }
    }

    /// The device link into an object that registers the images, for a program.
    fn registration(&mut self, linked: &mut Linked, output: PathBuf) -> Made {
        let arguments = self.command_line.arguments.iter().rev();
        let host_triple = arguments
            .filter_map(|argument| {
                let name = argument.name();
                let joined = name.strip_prefix("--target=").map(str::to_owned);
                joined.or_else(|| (name == "-target").then(|| text(argument.value("-target"))))
            })
            .next();
        let offload = &self.command_line.offload;
        let joined = |options: Vec<String>| (!options.is_empty()).then(|| options.join(" "));
        let registration = Registration {
            allow_dependencies: offload.allow_dependencies,
            host_triple,
            // Portable code is compiled when the program runs: its options go with it.
            compile_options: joined(self.backend_options(is_portable).collect()),
            link_options: joined(offload_options(&offload.linker_options, |_| true).collect()),
            // That of a link of device code alone is another command's.
            knows_program: !offload.link && self.links_archives(),
        };
        let result = LinkResult::Registration(registration);
        self.device_link(linked, BundleState::Executable, result, output)
    }

    /// The device link.
    fn device_link(
        &mut self,
        linked: &mut Linked,
        state: BundleState,
        result: LinkResult,
        output: PathBuf,
    ) -> Made {
        let offload = &self.command_line.offload;
        let device = std::mem::take(&mut linked.device);
        let is_program = matches!(result, LinkResult::Registration(_));
        let link = Link {
            inputs: device.inputs,
            library_folders: device.folders,
            // A shared library keeps its device code for itself.
            prefer_shared_libraries: is_program && self.has_libraries() && !self.command_line.has("-static"),
            default_libraries: !offload.no_default_libraries,
            targets: match offload.targets_given {
                true => offload.targets.clone(),
                false => Vec::new(),
            },
            state,
            split: offload.split,
            spirv_version: offload.spirv_version,
            spirv_extensions: offload.spirv_extensions.clone(),
            backend_options: self.backend_options(|target| !is_portable(target)).collect(),
            result,
            output: output.clone(),
        };
        Made {
            step: self.step(Action::Link(Box::new(link)), linked.device_needs.iter().copied()),
            path: output,
        }
    }

    /// The options for the compilers of those targets.
    fn backend_options(&self, wanted: impl Fn(&Target) -> bool) -> impl Iterator<Item = String> {
        let offload = &self.command_line.offload;
        let targets: Vec<_> = offload.targets.iter().filter(|target| wanted(target)).collect();
        offload_options(&offload.backend_options, move |triple| match triple {
            Some(triple) => targets.iter().any(|target| target.triple == triple),
            None => !targets.is_empty(),
        })
    }

    /// The host's link, with objects in the place of what was compiled.
    fn host_link(&mut self, linked: Linked, mut registered: Option<Made>) {
        let mut words = self.environment.clang.clone();
        if self.inputs.iter().any(|input| input.kind.is_compiled()) {
            // Options for compilers go along, and have nothing to do in a link.
            words.push("-Qunused-arguments".into());
        }
        let mut needs = linked.host_needs;
        let runtime = match registered {
            Some(_) => self.runtime(),
            None => Vec::new(),
        };
        let mut inputs = linked.host.into_iter();
        for argument in &self.command_line.arguments {
            match argument.role {
                Role::Input(_) => words.extend(inputs.next().flatten()),
                Role::Other if !is_about_the_driver(argument) => words.extend(argument.words.iter().cloned()),
                Role::Linker | Role::LibraryFolder | Role::Library => {
                    // What the registration of device code needs is in libraries: it comes before them.
                    if argument.role == Role::Library
                        && let Some(made) = registered.take()
                    {
                        words.push(made.path.into());
                        needs.push(made.step);
                    }
                    words.extend(argument.words.iter().cloned());
                }
                Role::Output => words.extend(argument.words.iter().cloned()),
                _ => {}
            }
        }
        if let Some(made) = registered {
            words.push(made.path.into());
            needs.push(made.step);
        }
        words.extend(runtime);
        self.clang(words, needs);
    }

    /// The linker's options for offkit's own runtime. A program that names no runtime gets it, if anything of it is needed
    /// that nothing else in the link defines.
    fn runtime(&self) -> Vec<OsString> {
        let Some(folder) = &self.environment.runtime else {
            return Vec::new();
        };
        let names = |library: &str| {
            let mut arguments = self.command_line.arguments.iter();
            arguments.any(|argument| argument.role == Role::Library && argument.value("-l") == library)
        };
        // It is for this host, and for programs that are linked as usual.
        const OTHERS: [&str; 6] = [
            "-shared",
            "-static",
            "-nostdlib",
            "-nodefaultlibs",
            "-target",
            "-m32",
        ];
        let is_other = |argument: &Argument| {
            let name = argument.name();
            OTHERS.contains(&&*name) || name.starts_with("--target=")
        };
        let is_named = names("offkit");
        if !is_named && (names("sycl") || self.command_line.arguments.iter().any(is_other)) {
            return Vec::new();
        }
        let joined = |option: &str| {
            let mut word = OsString::from(option);
            word.push(folder);
            word
        };
        let mut words = vec![joined("-L"), joined("-Wl,-rpath,")];
        if !is_named {
            words.push("-Wl,--push-state,--as-needed,-loffkit,--pop-state".into());
        }
        words
    }

    /// Whether there are archives, of which the program gets what the symbols of its objects need, among the inputs and
    /// named libraries.
    fn links_archives(&self) -> bool {
        let is_archive = |name: &str| name.ends_with(".a") || name.ends_with(".lib");
        let arguments = &self.command_line.arguments;
        // Bitcode for the host gets its symbols when it is linked.
        let is_lto = |argument: &Argument| argument.name().starts_with("-flto");
        if arguments.iter().any(is_lto) {
            return false;
        }
        let folders = arguments
            .iter()
            .filter(|argument| argument.role == Role::LibraryFolder);
        let folders: Vec<PathBuf> = folders.map(|argument| argument.value("-L").into()).collect();
        let is_in_folder = |file: &str| {
            let mut paths = folders.iter().map(|folder| folder.join(file));
            paths.any(|path| self.environment.files.is_file(&path))
        };
        arguments.iter().any(|argument| match argument.role {
            Role::Input(_) | Role::Linker => argument.name().split(',').any(is_archive),
            Role::Library => {
                let name = text(argument.value("-l"));
                match name.strip_prefix(':') {
                    Some(file) => is_archive(file) && is_in_folder(file),
                    None => is_in_folder(&format!("lib{name}.a")),
                }
            }
            _ => false,
        })
    }

    fn has_libraries(&self) -> bool {
        let mut arguments = self.command_line.arguments.iter();
        arguments.any(|argument| argument.role == Role::Library)
    }

    /// Whether SYCLBIN files are linked into one.
    fn links_syclbins(&self) -> bool {
        let is_syclbin = |path: &Path| path.extension() == Some(OsStr::new("syclbin"));
        self.command_line.offload.link && self.inputs.iter().all(|input| is_syclbin(&input.path))
    }

    /// The name that a program's own temporary files begin with.
    fn program_stem(&self) -> String {
        self.command_line
            .output()
            .map_or_else(|| "a".to_owned(), |output| stem(&output))
    }

    fn default_device_output(&self) -> PathBuf {
        let name = match self.inputs.as_slice() {
            [only] if only.kind.is_compiled() => stem(&only.path),
            _ => "a".to_owned(),
        };
        let is_file = self.command_line.offload.syclbin.is_some() || self.links_syclbins();
        format!("{name}.{}", if is_file { "syclbin" } else { "o" }).into()
    }
}

/// The options, word by word, that are for wanted triples.
fn offload_options(
    options: &[(Option<String>, OsString)],
    wanted: impl Fn(Option<&str>) -> bool,
) -> impl Iterator<Item = String> {
    let options = options
        .iter()
        .filter(move |(triple, _)| wanted(triple.as_deref()));
    options.flat_map(|(_, text)| {
        let text = text.to_string_lossy();
        text.split_whitespace().map(str::to_owned).collect::<Vec<_>>()
    })
}

fn text(word: OsString) -> String {
    word.to_string_lossy().into_owned()
}
