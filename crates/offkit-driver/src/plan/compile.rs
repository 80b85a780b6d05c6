//! The steps that make objects and bitcode of sources.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use offkit_image::target::{Target, triples};

use super::early::{NO_WARNINGS, linking};
use super::{Action, Made, Mark, Pack, Planner, stem, stop};
use crate::UsageError;
use crate::arguments::{Argument, Role};
use crate::inputs::{Input, InputKind};
use crate::offload::{is_portable, portable, target_named};
use offkit_devlib::processor_options;

/// How code for an unknown device is compiled: it is best left with its loops, for the device's own compiler puts work-items
/// side by side; and LLVM 22 cannot write as SPIR-V all that its vectorizers make.
const PORTABLE: [&str; 3] = ["-fno-unroll-loops", "-fno-vectorize", "-fno-slp-vectorize"];

impl Planner<'_> {
    /// The device code of a source for every target, as bitcode.
    pub(super) fn device_modules(&mut self, input: &Input) -> Result<Vec<(Made, Target)>, UsageError> {
        let targets = &self.command_line.offload.targets;
        let targets = match (input.kind, &input.triple) {
            // It is for one target, which it says itself.
            (InputKind::DeviceBitcode, Some(triple)) => vec![
                (targets.iter().find(|target| has_triple(target, triple)).cloned())
                    .unwrap_or_else(|| target_named(triple)),
            ],
            // It was compiled for one target, too, but does not say for which.
            (InputKind::DeviceBitcode, None) => targets.iter().take(1).cloned().collect(),
            _ => targets.clone(),
        };
        let modules = targets.into_iter();
        modules
            .map(|target| Ok((self.device_code(input, &target, None)?, target)))
            .collect()
    }

    /// The device code of a source for a target, marked with where it comes from.
    pub(super) fn device_code(
        &mut self,
        input: &Input,
        target: &Target,
        output: Option<PathBuf>,
    ) -> Result<Made, UsageError> {
        let name = stem(&input.path);
        let kind = format!("-sycl-{}", target.file_name());
        let compiled = if input.kind == InputKind::DeviceBitcode {
            None
        } else {
            let path = self.temporary(&name, &kind, "bc");
            let mut words = self.device_compiler(input, Some(target));
            let offload = &self.command_line.offload;
            let is_compiled_for_host =
                input.kind == InputKind::Shared && offload.syclbin.is_none() && !offload.device_only;
            // Where the host's compiler reads the source, too, it writes the file of dependencies,
            // which is about the object that it makes; else the compiler for the first target, as there is one such file.
            let is_first = offload.targets.first() == Some(target);
            if !is_compiled_for_host && is_first {
                words.extend(self.dependencies(input));
            }
            words.extend(self.device_libraries(input, target, &words)?);
            words.extend([
                "-c".into(),
                input.path.clone().into(),
                "-o".into(),
                path.clone().into(),
            ]);
            Some(Made {
                step: self.clang(words, []),
                path,
            })
        };
        let output = output.unwrap_or_else(|| self.temporary(&name, &format!("{kind}.marked"), "bc"));
        let needs = compiled.as_ref().map(|made| made.step);
        let mark = Mark {
            only_annotated: compiled.is_none(),
            input: compiled.map_or_else(|| input.path.clone(), |made| made.path),
            module_id: input.path.clone(),
            output: output.clone(),
        };
        Ok(Made {
            step: self.step(Action::Mark(mark), needs),
            path: output,
        })
    }

    /// The options that have the front end link the device libraries of `-l`, where no link follows that does so;
    /// `compiler` are its other options.
    fn device_libraries(
        &self,
        input: &Input,
        target: &Target,
        compiler: &[OsString],
    ) -> Result<Vec<OsString>, UsageError> {
        if stop(&self.command_line.arguments).is_none() && !self.command_line.offload.device_only {
            return Ok(Vec::new());
        }
        let libraries = self.bitcode_of_libraries(&input.path, target, compiler)?;
        if libraries.is_empty() {
            return Ok(Vec::new());
        }
        let options = libraries.into_iter().flat_map(linking);
        let options = options.flat_map(|option| ["-Xclang".into(), option]);
        Ok(options.chain([NO_WARNINGS.into()]).collect())
    }

    /// The call of the front end that makes device code, without its input and output.
    pub(super) fn device_compiler(&self, input: &Input, target: Option<&Target>) -> Vec<OsString> {
        let mut words = self.environment.clang.clone();
        // Options for the host's compiler come along, and clang would call them unused once for
        // each device.
        words.push("-Qunused-arguments".into());
        let portable = portable();
        let target = target.unwrap_or(&portable);
        let is_clangs_own = target.triple == triples::SPIRV64;
        if let InputKind::Device(standard) = input.kind {
            words.push(format!("--target={}", target.triple).into());
            if !is_clangs_own {
                words.extend(processor_options(target).map(OsString::from));
            }
            let has = |prefix: &str| self.others().any(|argument| argument.name().starts_with(prefix));
            if !has("-cl-std=") && !has("-std=cl") && !has("-std=CL") {
                words.push(format!("-cl-std={standard}").into());
            }
            // Before the options of the user, who may say otherwise: clang takes the last.
            words.push("-O2".into());
            if is_portable(target) {
                words.extend(PORTABLE.map(OsString::from));
            }
            words.extend(["-nogpulib", "-emit-llvm"].map(OsString::from));
            words.extend(
                self.others()
                    .filter(|argument| is_for_opencl(argument))
                    .flat_map(device_words),
            );
        } else {
            words.extend(["-fsycl", "-fsycl-device-only"].map(OsString::from));
            if is_portable(target) {
                words.extend(PORTABLE.map(OsString::from));
            }
            if !is_clangs_own {
                // clang 22's driver knows few targets for SYCL; its front end knows all.
                let mut front_end = vec!["-triple".to_owned(), target.triple.to_string()];
                if !target.arch.is_empty() {
                    front_end.extend(["-target-cpu".to_owned(), target.arch.to_string()]);
                }
                for feature in target.llvm_features() {
                    front_end.extend(["-target-feature".to_owned(), feature]);
                }
                words.extend(
                    front_end
                        .into_iter()
                        .flat_map(|word| [OsString::from("-Xclang"), word.into()]),
                );
            }
            let others = self
                .others()
                .filter(|argument| !is_for_the_host(&argument.name()));
            words.extend(others.flat_map(|argument| argument.words.iter().cloned()));
            // NVIDIA's assembler debugs no optimised code: for that, clang's own driver keeps lines alone.
            if target.family().is_nvptx() && self.is_optimized_with_debug_information() {
                words.push("-gline-directives-only".into());
            }
            if self.command_line.kept_temporaries().is_some() {
                words.extend(self.words_of_save_temps());
            }
        }
        words.extend(self.include());
        words.extend(language(input));
        words
    }

    /// Whether the last options about it ask for debug information, and the last for optimised code.
    fn is_optimized_with_debug_information(&self) -> bool {
        let last = |is_about_it: &dyn Fn(&str) -> bool| {
            let names = self.others().map(Argument::name);
            names.filter(|name| is_about_it(name)).last()
        };
        last(&|name| name.starts_with("-O")).is_some_and(|level| level != "-O0")
            && last(&is_debug_level).is_some_and(|level| level != "-g0")
    }

    /// The options about files of dependencies for a compiler whose output is a temporary file, of which the
    /// usual names must not be made.
    fn dependencies(&self, input: &Input) -> Vec<OsString> {
        let mut words = self.words_of(|role| *role == Role::Dependencies);
        if words.is_empty() {
            return words;
        }
        let output = self.command_line.output();
        let output = output.unwrap_or_else(|| self.object_name(input));
        let has = |option: &str| {
            let mut arguments = self.command_line.arguments.iter();
            arguments.any(|argument| argument.name().starts_with(option))
        };
        if !has("-MF") {
            words.extend(["-MF".into(), output.with_extension("d").into()]);
        }
        if !has("-MT") && !has("-MQ") {
            words.extend(["-MT".into(), output.into()]);
        }
        words
    }

    /// An offload binary of a source's modules, for an object to hold.
    pub(super) fn pack(&mut self, input: &Input, modules: &[(Made, Target)]) -> Made {
        let output = self.temporary(&stem(&input.path), "-sycl", "out");
        let images = modules.iter();
        let pack = Pack {
            images: images
                .map(|(module, target)| (module.path.clone(), target.clone()))
                .collect(),
            output: output.clone(),
        };
        Made {
            step: self.step(Action::Pack(pack), modules.iter().map(|(module, _)| module.step)),
            path: output,
        }
    }

    /// A source compiled for the host: by itself an output, with `output`, else a temporary file.
    pub(super) fn host_object(
        &mut self,
        input: &Input,
        output: Option<PathBuf>,
        embedded: Option<&Made>,
    ) -> Made {
        let mut words = self.environment.clang.clone();
        if input.kind == InputKind::Shared {
            words.extend(["-fsycl", "-fsycl-host-only"].map(OsString::from));
        }
        if output.is_none() {
            words.push("-Qunused-arguments".into());
        }
        let is_output = output.is_some();
        words.extend(self.words_of(|role| match role {
            Role::Other => true,
            // clang says that it has no use for what is for the linker.
            Role::Dependencies | Role::Linker => is_output,
            // Those of devices have had their use.
            Role::Library | Role::LibraryFolder => is_output && input.kind == InputKind::Host,
            _ => false,
        }));
        if !is_output {
            words.extend(self.dependencies(input));
        }
        if self.command_line.kept_temporaries().is_some() {
            words.extend(self.words_of_save_temps());
        }
        if input.kind == InputKind::Shared {
            words.extend(self.include());
        }
        words.extend(language(input));
        let path = output.unwrap_or_else(|| self.temporary(&stem(&input.path), "-host", "o"));
        words.extend([
            "-c".into(),
            input.path.clone().into(),
            "-o".into(),
            path.clone().into(),
        ]);
        words.extend(embedded.into_iter().flat_map(embed));
        let step = self.clang(words, embedded.map(|made| made.step));
        Made { path, step }
    }

    /// An object that has device code only.
    pub(super) fn object_without_code(&mut self, output: &Path, packed: &Made) {
        let mut words = self.environment.clang.clone();
        // The object is linked with others, and has to be for the same machine.
        let for_target = |argument: &&Argument| {
            let name = argument.name();
            ["--target=", "-target", "-m", "-emit-llvm"]
                .iter()
                .any(|prefix| name.starts_with(prefix))
                && name != "-mllvm"
        };
        words.push("-Qunused-arguments".into());
        words.extend(
            self.others()
                .filter(for_target)
                .flat_map(|argument| argument.words.iter().cloned()),
        );
        // clang embeds device code only into what it compiles, so that it is given something to
        // compile.
        let nothing = if cfg!(windows) { "NUL" } else { "/dev/null" };
        words.extend(["-x", "c", "-c", nothing, "-o"].map(OsString::from));
        words.push(output.into());
        words.extend(embed(packed));
        self.clang(words, [packed.step]);
    }
}

/// The option that says what language a source is in, where its name does not.
fn language(input: &Input) -> impl Iterator<Item = OsString> {
    let language = input.language.iter();
    language.flat_map(|language| [OsString::from("-x"), language.into()])
}

fn embed(packed: &Made) -> [OsString; 2] {
    let mut option = OsString::from("-fembed-offload-object=");
    option.push(&packed.path);
    ["-Xclang".into(), option]
}

/// Whether that triple means a target, however it is spelt.
fn has_triple(target: &Target, triple: &str) -> bool {
    target.triple == triple || target.triple == target_named(triple).triple
}

/// Options that change how code runs on the host: devices have no use for them, and clang's front ends
/// for devices refuse some.
fn is_for_the_host(name: &str) -> bool {
    const PREFIXES: &[&str] = &[
        "-fsanitize",
        "-fno-sanitize",
        "-fprofile",
        "-fno-profile",
        "-fcs-profile",
        "-fcoverage",
        "--coverage",
        "-coverage",
        "-fcf-protection",
        "-fstack-protector",
        "-fstack-clash-protection",
        "-fxray",
        "-flto",
        "-fno-lto",
        "-ffat-lto",
        "-fsplit-lto",
        "-fsplit-stack",
        "-fpatchable-function-entry",
        "-fopenmp",
        "-fno-plt",
        "-fwhole-program-vtables",
        "-finstrument-functions",
        "-ftest-coverage",
        "-emit-llvm",
    ];
    name == "-pg" || PREFIXES.iter().any(|prefix| name.starts_with(prefix))
}

/// Whether an option that starts with `-g` says how much debug information there is, and not only what it is like.
fn is_debug_level(name: &str) -> bool {
    const PREFIXES: &[&str] = &["-ggdb", "-glldb", "-gdwarf", "-gline-"];
    matches!(name, "-g" | "-g0" | "-g1" | "-g2" | "-g3" | "-gmlt")
        || PREFIXES.iter().any(|prefix| name.starts_with(prefix))
}

/// Options that OpenCL C has, too. Processors and language standards are the host's.
fn is_for_opencl(argument: &Argument) -> bool {
    let name = argument.name();
    let is_standard = name
        .strip_prefix("-std=")
        .is_some_and(|standard| !standard.to_ascii_lowercase().starts_with("cl"));
    let is_processor = name.starts_with("-m") && name != "-mllvm" && !name.starts_with("-mllvm=");
    let is_target = name.starts_with("--target=") || name == "-target" || name == "-Xarch_host";
    !(is_standard || is_processor || is_target || is_for_the_host(&name) || name.starts_with("-stdlib="))
}

/// What a compiler for one device is given of an option that may be for devices only.
fn device_words(argument: &Argument) -> Vec<OsString> {
    match argument.words.as_slice() {
        [option, value] if option == "-Xarch_device" => vec![value.clone()],
        words => words.to_vec(),
    }
}
