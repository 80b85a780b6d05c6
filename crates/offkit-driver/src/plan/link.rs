//! The steps that link device code, wrap it, and link programs.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use offkit_image::Target;

use super::{Made, Planner, is_about_the_driver, stem};
use crate::UsageError;
use crate::arguments::{Argument, Role};
use crate::inputs::InputKind;
use crate::offload::{SyclBinState, is_portable, target_option};

/// What links read, in order.
#[derive(Debug, Default)]
struct Linked {
    /// The words for the device's linker.
    device: Vec<OsString>,
    /// The steps that make what it reads.
    device_needs: Vec<usize>,
    /// For each input, what the host's linker reads in its place.
    host: Vec<Option<OsString>>,
    /// The steps that make it.
    host_needs: Vec<usize>,
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
        let linked = self.linked(only_device_code)?;
        let name = self.program_stem();
        if !only_device_code {
            let images = self.temporary(&name, "-device", "syclbin");
            let object = self.temporary(&name, "-device", "o");
            let images = self.device_link(&linked, SyclBinState::Executable, images);
            let wrapped = self.wrap(&images, object);
            self.host_link(linked, Some(wrapped));
            return Ok(());
        }
        let output = self.command_line.output();
        let output = output.unwrap_or_else(|| self.default_device_output());
        match offload.syclbin {
            Some(state) => {
                self.device_link(&linked, state, output);
            }
            // Files that are linked become one that is complete.
            None if self.links_syclbins() => {
                self.device_link(&linked, SyclBinState::Executable, output);
            }
            None => {
                let images = self.temporary(&name, "-device", "syclbin");
                let images = self.device_link(&linked, SyclBinState::Executable, images);
                self.wrap(&images, output);
            }
        }
        Ok(())
    }

    /// Compiles what is to be compiled, and says what is linked.
    fn linked(&mut self, only_device_code: bool) -> Result<Linked, UsageError> {
        let mut linked = Linked::default();
        let mut inputs = self.inputs.clone().into_iter();
        for argument in &self.command_line.arguments {
            match argument.role {
                Role::Linker => linked.device.extend(whole_archive(argument)),
                Role::Library | Role::LibraryFolder => linked.device.extend(argument.words.iter().cloned()),
                _ => {}
            }
            let Role::Input(_) = argument.role else { continue };
            let Some(input) = inputs.next() else { continue };
            let host = match input.kind {
                InputKind::Linkable | InputKind::SharedLibrary => Some(input.path.clone().into()),
                InputKind::Shared | InputKind::Host if !only_device_code => {
                    let object = self.host_object(&input, None, None);
                    linked.host_needs.push(object.step);
                    Some(object.path.into())
                }
                _ => None,
            };
            linked.host.push(host);
            match input.kind {
                InputKind::Linkable | InputKind::DeviceImages => linked.device.push(input.path.into()),
                InputKind::Host | InputKind::SharedLibrary => {}
                InputKind::Shared | InputKind::Device(_) | InputKind::DeviceBitcode => {
                    for (module, _) in self.device_modules(&input)? {
                        linked.device_needs.push(module.step);
                        linked.device.push(module.path.into());
                    }
                }
            }
        }
        Ok(linked)
    }

    /// The device link, into a SYCLBIN file.
    fn device_link(&mut self, linked: &Linked, state: SyclBinState, output: PathBuf) -> Made {
        let offload = &self.command_line.offload;
        let mut words: Vec<OsString> =
            vec![self.environment.offkit.clone().into(), "link".into(), "-q".into()];
        words.push(format!("--state={}", state.name()).into());
        // What its messages suggest is to be typed here.
        let is_program = offload.syclbin.is_none() && !self.links_syclbins();
        words.push(format!("--driver={}", if is_program { "program" } else { "syclbin" }).into());
        if offload.targets_given {
            let targets = offload.targets.iter().map(target_option);
            words.extend(targets.map(OsString::from));
        }
        words.extend(offload.split.map(|split| format!("--split={split}").into()));
        if is_program {
            // Which kernels the host's code launches is not known here, and it may launch none.
            words.extend(["--archive-kernels", "--allow-empty"].map(OsString::from));
            // A shared library keeps its device code for itself.
            if self.has_libraries() && !self.command_line.has("-static") {
                words.push("--prefer-shared-libraries".into());
            }
            if offload.allow_dependencies {
                let open = ["--allow-undefined", "--allow-device-image-dependencies"];
                words.extend(open.map(OsString::from));
            }
        }
        words.extend(self.backend_options(|target| !is_portable(target)).map(|option| {
            let mut word = OsString::from("--backend-option=");
            word.push(option);
            word
        }));
        words.extend(["-o".into(), output.clone().into()]);
        words.extend_from_slice(&linked.device);
        self.offkit(words, linked.device_needs.iter().copied(), &output)
    }

    /// The host object that registers images.
    fn wrap(&mut self, images: &Made, output: PathBuf) -> Made {
        let mut words: Vec<OsString> =
            vec![self.environment.offkit.clone().into(), "wrap".into(), "-q".into()];
        words.extend(["--kind=sycl-v3", "--allow-empty"].map(OsString::from));
        let arguments = self.command_line.arguments.iter().rev();
        let host = arguments
            .filter_map(|argument| {
                let name = argument.name();
                let joined = name.strip_prefix("--target=").map(OsString::from);
                joined.or_else(|| (name == "-target").then(|| argument.value("-target")))
            })
            .next();
        words.extend(host.map(|host| {
            let mut word = OsString::from("--host-triple=");
            word.push(host);
            word
        }));
        // Portable code is compiled when the program runs: its options go with it.
        let compile: Vec<_> = self.backend_options(is_portable).collect();
        let link: Vec<_> = offload_options(&self.command_line.offload.linker_options, |_| true).collect();
        for (name, options) in [("--compile-options=", compile), ("--link-options=", link)] {
            if !options.is_empty() {
                let mut word = OsString::from(name);
                word.push(options.join(OsStr::new(" ")));
                words.push(word);
            }
        }
        words.extend(["-o".into(), output.clone().into(), images.path.clone().into()]);
        self.offkit(words, [images.step], &output)
    }

    /// The options for the compilers of those targets.
    fn backend_options(&self, wanted: impl Fn(&Target) -> bool) -> impl Iterator<Item = OsString> {
        let offload = &self.command_line.offload;
        let targets: Vec<_> = offload.targets.iter().filter(|target| wanted(target)).collect();
        offload_options(&offload.backend_options, move |triple| match triple {
            Some(triple) => targets.iter().any(|target| target.triple == triple),
            None => !targets.is_empty(),
        })
    }

    /// The host's link, with objects in the place of what was compiled.
    fn host_link(&mut self, linked: Linked, mut wrapped: Option<Made>) {
        let mut words = self.environment.clang.clone();
        if self.inputs.iter().any(|input| input.kind.is_compiled()) {
            words.push("-Qunused-arguments".into());
        }
        let mut needs = linked.host_needs;
        let mut inputs = linked.host.into_iter();
        for argument in &self.command_line.arguments {
            match argument.role {
                Role::Input(_) => words.extend(inputs.next().flatten()),
                Role::Other if !is_about_the_driver(argument) => words.extend(argument.words.iter().cloned()),
                Role::Linker | Role::LibraryFolder | Role::Library => {
                    // What the registration of device code needs is in libraries: it comes before them.
                    if argument.role == Role::Library
                        && let Some(made) = wrapped.take()
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
        if let Some(made) = wrapped {
            words.push(made.path.into());
            needs.push(made.step);
        }
        self.clang(words, needs);
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
) -> impl Iterator<Item = OsString> {
    let options = options
        .iter()
        .filter(move |(triple, _)| wanted(triple.as_deref()));
    options.flat_map(|(_, text)| {
        let text = text.to_string_lossy();
        text.split_whitespace().map(OsString::from).collect::<Vec<_>>()
    })
}

/// What `-Wl,--whole-archive` and its end, alone or with archives between, say to the device's linker.
fn whole_archive(argument: &Argument) -> Vec<OsString> {
    let name = argument.name();
    let Some(words) = name.strip_prefix("-Wl,") else {
        return Vec::new();
    };
    let words: Vec<_> = words.split(',').collect();
    let is_switch = |word: &str| matches!(word.trim_start_matches('-'), "whole-archive" | "no-whole-archive");
    if !words.iter().any(|word| is_switch(word)) {
        return Vec::new();
    }
    let named = words
        .into_iter()
        .filter(|word| is_switch(word) || word.ends_with(".a"));
    named
        .map(|word| match is_switch(word) {
            true => format!("--{}", word.trim_start_matches('-')).into(),
            false => word.into(),
        })
        .collect()
}
