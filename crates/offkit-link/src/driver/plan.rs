//! From a command line to a list of commands.

use std::collections::HashSet;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use super::arguments::{Argument, Role, Stop};
use super::command_line;
use super::inputs::{Input, InputKind, inputs};
use super::offload::{Mode, PORTABLE_TRIPLE, SyclBinState, Target};
use super::{CommandLine, Environment, UsageError, Work};

/// Commands, in an order in which they can run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Plan {
    /// The commands.
    pub steps: Vec<Step>,
}

/// One command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// The program and its arguments.
    pub words: Vec<OsString>,
    /// The steps, by number, that must have succeeded before.
    pub needs: Vec<usize>,
    /// Whether the program is clang, which takes arguments in a file.
    pub(super) takes_response_file: bool,
    /// How many arguments must stay outside of such a file.
    pub(super) arguments_before_response_file: usize,
}

impl Step {
    /// The command as it can be typed.
    pub fn line(&self) -> String {
        command_line::line(&self.words)
    }

    pub(super) fn new(words: impl IntoIterator<Item = impl Into<OsString>>) -> Self {
        Self {
            words: words.into_iter().map(Into::into).collect(),
            needs: Vec::new(),
            takes_response_file: false,
            arguments_before_response_file: 0,
        }
    }
}

/// A file that a step makes, and the step.
#[derive(Clone, Debug)]
struct Made {
    path: PathBuf,
    step: usize,
}

pub(super) fn plan(command_line: &CommandLine, environment: &Environment<'_>) -> Result<Work, UsageError> {
    let arguments = &command_line.arguments;
    let mut planner = Planner {
        command_line,
        environment,
        inputs: inputs(arguments, environment.look),
        plan: Plan::default(),
        names: HashSet::new(),
    };
    let informs = arguments
        .iter()
        .any(|argument| argument.role == Role::Information);
    if informs || planner.inputs.is_empty() || command_line.mode != Mode::Driver {
        return Ok(Work::Clang(planner.for_clang()));
    }
    if command_line.offload.host_only {
        return Ok(Work::Clang(planner.for_clang()));
    }
    match stop(arguments) {
        Some(Stop::Earlier) => return planner.stop_early(),
        _ if command_line.offload.device_only => planner.device_only()?,
        Some(Stop::Object) => planner.compile_only()?,
        None => planner.link()?,
    }
    Ok(Work::Plan(planner.plan))
}

/// Where clang would stop: the earliest of what is asked for.
fn stop(arguments: &[Argument]) -> Option<Stop> {
    let stops = arguments.iter().filter_map(|argument| match argument.role {
        Role::Stop(stop) => Some(stop),
        _ => None,
    });
    stops.fold(None, |earliest, stop| match (earliest, stop) {
        (Some(Stop::Earlier), _) | (_, Stop::Earlier) => Some(Stop::Earlier),
        _ => Some(Stop::Object),
    })
}

struct Planner<'a> {
    command_line: &'a CommandLine,
    environment: &'a Environment<'a>,
    inputs: Vec<Input>,
    plan: Plan,
    /// The names of temporary files in use.
    names: HashSet<PathBuf>,
}

impl Planner<'_> {
    /// The command line for clang alone.
    fn for_clang(&self) -> Vec<OsString> {
        let offload = &self.command_line.offload;
        let mut words = Vec::new();
        let compiles = self.inputs.iter().any(|input| input.kind != InputKind::Linkable);
        if self.command_line.mode != Mode::None && compiles {
            words.extend(self.include());
        }
        let links = !self.inputs.is_empty() && stop(&self.command_line.arguments).is_none();
        if self.command_line.mode == Mode::Clang && links {
            let mut option = OsString::from("-B");
            option.push(&self.environment.tools);
            words.push(option);
        }
        // Here it means no more than this much of `-fsycl`.
        if offload.device_only && !self.command_line.has("-fsycl") {
            words.push("-fsycl".into());
        }
        for argument in &self.command_line.arguments {
            if argument.role == Role::Offload("--offload-rdc") {
                words.push("-fgpu-rdc".into());
            } else if argument.is_known_to_clang() {
                words.extend(argument.words.iter().cloned());
            }
        }
        words
    }

    /// `-E` and the like: what clang makes of it, with nothing to link.
    fn stop_early(mut self) -> Result<Work, UsageError> {
        let is_opencl = |input: &Input| matches!(input.kind, InputKind::Device(_));
        if !self.inputs.iter().any(is_opencl) {
            let mut words = self.for_clang();
            if self.command_line.offload.syclbin.is_some() {
                words.splice(..0, ["-fsycl".into(), "-fsycl-device-only".into()]);
            }
            return Ok(Work::Clang(words));
        }
        if let Some(other) = self.inputs.iter().find(|input| !is_opencl(input)) {
            return Err(UsageError::new(format!(
                "`{}` and OpenCL C in one command that does not make objects: give each a command of its own",
                other.path.display()
            )));
        }
        let target = self.command_line.offload.targets.first().cloned();
        for input in self.inputs.clone() {
            let mut words = self.device_compiler(&input, target.as_ref());
            words.extend(
                self.words_of(|role| matches!(role, Role::Stop(_) | Role::Dependencies | Role::Output)),
            );
            words.push(input.path.into());
            self.clang(words, []);
        }
        Ok(Work::Plan(self.plan))
    }

    /// `-fsycl-device-only`: marked bitcode for each source and target.
    fn device_only(&mut self) -> Result<(), UsageError> {
        let sources = self
            .inputs
            .iter()
            .filter(|input| input.kind.is_compiled() && input.kind != InputKind::Host);
        let sources: Vec<_> = sources.cloned().collect();
        let targets = &self.command_line.offload.targets;
        self.check_one_output(sources.len() * targets.len())?;
        for input in &sources {
            for target in targets {
                let output = self.command_line.output().unwrap_or_else(|| {
                    format!("{}-sycl-{}.bc", stem(&input.path), target.file_name()).into()
                });
                self.device_code(input, target, Some(output));
            }
        }
        Ok(())
    }

    /// `-c`: an object for each source, with the device code in it.
    fn compile_only(&mut self) -> Result<(), UsageError> {
        let sources: Vec<_> = self
            .inputs
            .iter()
            .filter(|input| input.kind.is_compiled())
            .cloned()
            .collect();
        self.check_one_output(sources.len())?;
        for input in &sources {
            let output = self.command_line.output();
            let output = output.unwrap_or_else(|| format!("{}.o", stem(&input.path)).into());
            if input.kind == InputKind::Host {
                self.host_object(input, Some(output), None);
                continue;
            }
            let modules = self.device_modules(input);
            let packed = self.pack(input, &modules);
            if input.kind == InputKind::Shared && self.command_line.offload.syclbin.is_none() {
                self.host_object(input, Some(output), Some(&packed));
            } else {
                self.object_without_code(&output, &packed);
            }
        }
        Ok(())
    }

    /// A link, of the device code and then, unless that is all that is asked for, of the program.
    fn link(&mut self) -> Result<(), UsageError> {
        let offload = &self.command_line.offload;
        let only_device_code = offload.syclbin.is_some() || offload.link;
        let partial = self.command_line.has("-r");
        if partial && !only_device_code && self.inputs.iter().any(|input| input.kind.is_compiled()) {
            return Err(UsageError::new(
                "`-r` joins objects: compile the sources with `-c` first",
            ));
        }
        // What the device link reads, and what the host's reads in the place of each input.
        let mut device_inputs = Vec::new();
        let mut host_inputs: Vec<Option<OsString>> = Vec::new();
        let mut needs = Vec::new();
        let mut host_needs = Vec::new();
        for input in self.inputs.clone() {
            let host = match input.kind {
                InputKind::Linkable | InputKind::SharedLibrary => Some(input.path.clone().into()),
                InputKind::Shared | InputKind::Host if !only_device_code => {
                    let object = self.host_object(&input, None, None);
                    host_needs.push(object.step);
                    Some(object.path.into())
                }
                _ => None,
            };
            host_inputs.push(host);
            match input.kind {
                InputKind::Linkable | InputKind::DeviceImages => device_inputs.push(input.path.into()),
                InputKind::Host | InputKind::SharedLibrary => {}
                InputKind::Shared | InputKind::Device(_) | InputKind::DeviceBitcode => {
                    for module in self.device_modules(&input) {
                        needs.push(module.step);
                        device_inputs.push(module.path.into());
                    }
                }
            }
        }
        if only_device_code {
            let output = self
                .command_line
                .output()
                .unwrap_or_else(|| self.default_device_output());
            self.device_link(&device_inputs, &needs, &output);
            return Ok(());
        }
        let wrapped = (!partial).then(|| {
            let path = self.temporary(&self.program_stem(), "-device", "o");
            self.device_link(&device_inputs, &needs, &path)
        });
        self.host_link(host_inputs, host_needs, wrapped);
        Ok(())
    }

    /// The device link, into what the output is to be.
    fn device_link(&mut self, inputs: &[OsString], needs: &[usize], output: &Path) -> Made {
        let offload = &self.command_line.offload;
        let mut words: Vec<OsString> =
            vec![self.environment.offkit.clone().into(), "link".into(), "-q".into()];
        let links_files = offload.link
            && !self.inputs.is_empty()
            && self
                .inputs
                .iter()
                .all(|input| input.path.extension() == Some(OsStr::new("syclbin")));
        match offload.syclbin {
            Some(state) => words.push(format!("--state={}", state.name()).into()),
            // Files that are linked become one that is complete.
            None if links_files => words.push(format!("--state={}", SyclBinState::Executable.name()).into()),
            None => words.push("--format=object,sycl-v3".into()),
        }
        if offload.targets_given {
            words.extend(
                offload
                    .targets
                    .iter()
                    .map(|target| OsString::from(target.option())),
            );
        }
        words.extend(offload.split.map(|split| format!("--split={split}").into()));
        // The state of a SYCLBIN says as much.
        if offload.allow_dependencies && offload.syclbin.is_none() {
            words.push("--allow-device-image-dependencies".into());
        }
        for (triple, option) in &offload.backend_options {
            let mut word = OsString::from("--backend-option=");
            if let Some(triple) = triple {
                word.push(format!("{triple}="));
            }
            word.push(option);
            words.push(word);
        }
        words.extend(["-o".into(), output.into()]);
        words.extend_from_slice(inputs);
        words.extend(self.words_of(|role| matches!(role, Role::LibraryFolder | Role::Library)));
        self.offkit(words, needs.iter().copied(), output)
    }

    /// The host's link, with objects in the place of what was compiled.
    fn host_link(&mut self, inputs: Vec<Option<OsString>>, mut needs: Vec<usize>, wrapped: Option<Made>) {
        let mut words = self.environment.clang.clone();
        if self.inputs.iter().any(|input| input.kind.is_compiled()) {
            words.push("-Qunused-arguments".into());
        }
        let mut inputs = inputs.into_iter();
        let mut wrapped = wrapped;
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

    /// The device code of a source for every target, as bitcode.
    fn device_modules(&mut self, input: &Input) -> Vec<Made> {
        if input.kind == InputKind::DeviceBitcode {
            // It is for one target, which it says itself.
            let target = self.command_line.offload.targets.first().cloned();
            return target
                .map(|target| self.device_code(input, &target, None))
                .into_iter()
                .collect();
        }
        let targets = self.command_line.offload.targets.iter();
        targets
            .map(|target| self.device_code(input, target, None))
            .collect()
    }

    /// The device code of a source for a target, marked with where it comes from.
    fn device_code(&mut self, input: &Input, target: &Target, output: Option<PathBuf>) -> Made {
        let name = stem(&input.path);
        let kind = format!("-sycl-{}", target.file_name());
        let compiled = if input.kind == InputKind::DeviceBitcode {
            None
        } else {
            let path = self.temporary(&name, &kind, "bc");
            let mut words = self.device_compiler(input, Some(target));
            words.extend(self.dependencies_of_device_code(input));
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
        let mut module_id = OsString::from("--module-id=");
        module_id.push(&input.path);
        let mut words: Vec<OsString> = vec![self.environment.offkit.clone().into(), "mark".into(), module_id];
        if compiled.is_none() {
            words.push("--only-annotated".into());
        }
        let read = compiled.as_ref().map_or(&input.path, |made| &made.path);
        words.extend([read.into(), "-o".into(), output.clone().into()]);
        self.offkit(words, compiled.as_ref().map(|made| made.step), &output)
    }

    /// The call of the front end that makes device code, without its input and output.
    fn device_compiler(&self, input: &Input, target: Option<&Target>) -> Vec<OsString> {
        let mut words = self.environment.clang.clone();
        words.push("-Qunused-arguments".into());
        let portable = Target {
            triple: PORTABLE_TRIPLE.to_owned(),
            arch: None,
        };
        let target = target.unwrap_or(&portable);
        let is_portable = target.triple == PORTABLE_TRIPLE;
        let arch = target.arch.as_deref().filter(|_| !is_portable);
        if let InputKind::Device(standard) = input.kind {
            words.push(format!("--target={}", target.triple).into());
            if let Some(arch) = arch {
                let option = if target.triple.starts_with("amdgcn") {
                    "-mcpu="
                } else {
                    "-march="
                };
                words.push(format!("{option}{arch}").into());
            }
            let has = |prefix: &str| self.others().any(|argument| argument.name().starts_with(prefix));
            if !has("-cl-std=") && !has("-std=cl") && !has("-std=CL") {
                words.push(format!("-cl-std={standard}").into());
            }
            // Code for an unknown device is best left with its loops.
            words.extend(["-O2", "-fno-unroll-loops"].map(OsString::from));
            words.extend(["-nogpulib", "-emit-llvm"].map(OsString::from));
            words.extend(
                self.others()
                    .filter(|argument| is_for_opencl(argument))
                    .flat_map(device_words),
            );
        } else {
            words.extend(["-fsycl", "-fsycl-device-only"].map(OsString::from));
            if is_portable {
                words.push("-fno-unroll-loops".into());
            } else {
                // clang 22's driver knows few targets for SYCL; its front end knows all.
                let mut front_end = vec!["-triple".to_owned(), target.triple.clone()];
                let mut features = arch.unwrap_or_default().split(':');
                if let Some(cpu) = features.next().filter(|cpu| !cpu.is_empty()) {
                    front_end.extend(["-target-cpu".to_owned(), cpu.to_owned()]);
                }
                for feature in features {
                    let (name, sign) = feature.split_at(feature.len().saturating_sub(1));
                    front_end.extend(["-target-feature".to_owned(), format!("{sign}{name}")]);
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
            if self.command_line.kept_temporaries().is_some() {
                words.extend(self.words_of_save_temps());
            }
        }
        words.extend(self.include());
        words.extend(
            input
                .language
                .iter()
                .flat_map(|language| [OsString::from("-x"), language.into()]),
        );
        words
    }

    /// What writes files of dependencies, where no compiler for the host does it.
    fn dependencies_of_device_code(&self, input: &Input) -> Vec<OsString> {
        let offload = &self.command_line.offload;
        let host_code = input.kind == InputKind::Shared && offload.syclbin.is_none() && !offload.device_only;
        let mut words = self.words_of(|role| *role == Role::Dependencies);
        if host_code || words.is_empty() {
            return Vec::new();
        }
        // The output's name, which the usual names are made of, is not the front end's.
        let output = self.command_line.output();
        let output = output.unwrap_or_else(|| format!("{}.o", stem(&input.path)).into());
        let has = |option: &str| {
            self.command_line
                .arguments
                .iter()
                .any(|argument| argument.name().starts_with(option))
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
    fn pack(&mut self, input: &Input, modules: &[Made]) -> Made {
        let output = self.temporary(&stem(&input.path), "-sycl", "out");
        let mut words: Vec<OsString> = vec![
            self.environment.offkit.clone().into(),
            "pack".into(),
            "-o".into(),
            output.clone().into(),
        ];
        for (module, target) in modules.iter().zip(&self.command_line.offload.targets) {
            let mut image = OsString::from("--image=file=");
            image.push(&module.path);
            let arch = target.arch.as_deref().unwrap_or("generic");
            image.push(format!(",triple={},arch={arch},kind=sycl", target.triple));
            words.push(image);
        }
        self.offkit(words, modules.iter().map(|module| module.step), &output)
    }

    /// A source compiled for the host: by itself an output, with `output`, else a temporary file.
    fn host_object(&mut self, input: &Input, output: Option<PathBuf>, embedded: Option<&Made>) -> Made {
        let mut words = self.environment.clang.clone();
        if input.kind == InputKind::Shared {
            words.extend(["-fsycl", "-fsycl-host-only"].map(OsString::from));
        }
        if output.is_none() {
            words.push("-Qunused-arguments".into());
        }
        let is_output = output.is_some();
        words.extend(self.words_of(|role| match role {
            Role::Other | Role::Dependencies => true,
            // clang says that it has no use for them.
            Role::Linker | Role::Library | Role::LibraryFolder => is_output,
            _ => false,
        }));
        if self.command_line.kept_temporaries().is_some() {
            words.extend(self.words_of_save_temps());
        }
        if input.kind == InputKind::Shared {
            words.extend(self.include());
        }
        words.extend(
            input
                .language
                .iter()
                .flat_map(|language| [OsString::from("-x"), language.into()]),
        );
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
    fn object_without_code(&mut self, output: &Path, packed: &Made) {
        let mut words = self.environment.clang.clone();
        let for_target = |argument: &&Argument| {
            let name = argument.name();
            ["--target=", "-target", "-m"]
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
        let nothing = if cfg!(windows) { "NUL" } else { "/dev/null" };
        words.extend(["-x", "c", "-c", nothing, "-o"].map(OsString::from));
        words.push(output.into());
        words.extend(embed(packed));
        self.clang(words, [packed.step]);
    }

    fn clang(&mut self, words: Vec<OsString>, needs: impl IntoIterator<Item = usize>) -> usize {
        self.plan.steps.push(Step {
            needs: needs.into_iter().collect(),
            takes_response_file: true,
            arguments_before_response_file: self.environment.clang.len().saturating_sub(1),
            ..Step::new(words)
        });
        self.plan.steps.len() - 1
    }

    fn offkit(
        &mut self,
        words: Vec<OsString>,
        needs: impl IntoIterator<Item = usize>,
        output: &Path,
    ) -> Made {
        self.plan.steps.push(Step {
            needs: needs.into_iter().collect(),
            ..Step::new(words)
        });
        Made {
            path: output.to_owned(),
            step: self.plan.steps.len() - 1,
        }
    }

    /// The words of the arguments with such roles, but not those about the driver itself.
    fn words_of(&self, wanted: impl Fn(&Role) -> bool) -> Vec<OsString> {
        let arguments = self.command_line.arguments.iter();
        arguments
            .filter(|argument| wanted(&argument.role) && !is_about_the_driver(argument))
            .flat_map(|argument| argument.words.iter().cloned())
            .collect()
    }

    /// The options that every compiler gets.
    fn others(&self) -> impl Iterator<Item = &Argument> {
        let arguments = self.command_line.arguments.iter();
        arguments.filter(|argument| argument.role == Role::Other && !is_about_the_driver(argument))
    }

    fn words_of_save_temps(&self) -> Vec<OsString> {
        let arguments = self.command_line.arguments.iter();
        arguments
            .filter(|argument| is_save_temps(argument))
            .flat_map(|argument| argument.words.clone())
            .collect()
    }

    fn include(&self) -> [OsString; 2] {
        ["-isystem".into(), self.environment.include.clone().into()]
    }

    fn check_one_output(&self, outputs: usize) -> Result<(), UsageError> {
        if outputs > 1 && self.command_line.output().is_some() {
            return Err(UsageError::new(
                "cannot specify -o when generating multiple output files",
            ));
        }
        Ok(())
    }

    /// The name that a program's own temporary files begin with.
    fn program_stem(&self) -> String {
        self.command_line
            .output()
            .map_or_else(|| "a".to_owned(), |output| stem(&output))
    }

    fn default_device_output(&self) -> PathBuf {
        let offload = &self.command_line.offload;
        let is_file = offload.syclbin.is_some()
            || self
                .inputs
                .iter()
                .all(|input| input.path.extension() == Some(OsStr::new("syclbin")));
        let name = match self.inputs.as_slice() {
            [only] if only.kind.is_compiled() => stem(&only.path),
            _ => "a".to_owned(),
        };
        format!("{name}.{}", if is_file { "syclbin" } else { "o" }).into()
    }

    /// A name for a temporary file that is not used yet.
    fn temporary(&mut self, name: &str, kind: &str, extension: &str) -> PathBuf {
        // Commas would end the name where it is part of an option.
        let name = name.replace(',', "_");
        let suffix = &self.environment.suffix;
        let folder = &self.environment.temporary;
        let mut path = folder.join(format!("{name}{kind}{suffix}.{extension}"));
        let mut number = 2;
        while !self.names.insert(path.clone()) {
            path = folder.join(format!("{name}-{number}{kind}{suffix}.{extension}"));
            number += 1;
        }
        path
    }
}

fn stem(path: &Path) -> String {
    path.file_stem()
        .map_or_else(|| "a".to_owned(), |stem| stem.to_string_lossy().into_owned())
}

fn embed(packed: &Made) -> [OsString; 2] {
    let mut option = OsString::from("-fembed-offload-object=");
    option.push(&packed.path);
    ["-Xclang".into(), option]
}

fn is_save_temps(argument: &Argument) -> bool {
    let name = argument.name();
    name.starts_with("-save-temps") || name.starts_with("--save-temps")
}

/// Options that say how the driver works, and are not for each command that it runs.
fn is_about_the_driver(argument: &Argument) -> bool {
    argument.name() == "-###" || is_save_temps(argument)
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

#[cfg(test)]
mod tests {
    use super::super::inputs::Content;
    use super::*;

    /// The commands of a line, with short names for clang and the header's folder.
    fn commands(line: &str) -> Result<Vec<String>, UsageError> {
        let words = line.split_whitespace().map(OsString::from).collect();
        let command_line = CommandLine::read(words, &|_| None)?;
        let environment = Environment {
            clang: vec!["clang++".into()],
            offkit: "offkit".into(),
            include: "inc".into(),
            tools: "tools".into(),
            temporary: "tmp".into(),
            suffix: String::new(),
            look: &|_| Content::Unknown,
        };
        let joined = |words: &[OsString]| {
            let words: Vec<_> = words.iter().map(|word| word.to_string_lossy()).collect();
            words.join(" ").replace("-isystem inc ", "")
        };
        Ok(match command_line.plan(&environment)? {
            Work::Clang(words) => vec![joined(&words)],
            Work::Plan(plan) => {
                let steps = plan.steps.iter();
                steps
                    .map(|step| format!("{} {:?}", joined(&step.words), step.needs))
                    .collect()
            }
        })
    }

    #[track_caller]
    fn check(line: &str, expected: &[&str]) {
        assert_eq!(commands(line).expect("a good command line"), expected, "{line}");
    }

    const CXX: &str = "clang++ -Qunused-arguments -fsycl -fsycl-device-only -fno-unroll-loops";
    const OPENCL: &str = "clang++ -Qunused-arguments --target=spirv64-unknown-unknown -cl-std=CL3.0 -O2 -fno-unroll-loops \
                          -nogpulib -emit-llvm";
    const MODULE: &str = "tmp/a-sycl-spirv64-unknown-unknown.bc";
    const MARKED: &str = "tmp/a-sycl-spirv64-unknown-unknown.marked.bc";

    #[test]
    fn what_is_not_for_offloading_is_as_it_was() {
        check(
            "-c a.cpp -o a.o -MD -DX='y z'",
            &["-c a.cpp -o a.o -MD -DX='y z'"],
        );
        check("-c a.cpp --offload-rdc", &["-c a.cpp -fgpu-rdc"]);
        check("-fsycl --version", &["-fsycl --version"]);
        check("-fsycl -E -- a.cpp", &["-fsycl -E -- a.cpp"]);
        check("-fsyclbin -print-prog-name=ld", &["-print-prog-name=ld"]);
    }

    #[test]
    fn an_object_holds_the_device_code() {
        check(
            "-fsycl -O1 -MD -Iinc -c src/a.cpp -o out/a.o",
            &[
                &format!("{CXX} -O1 -Iinc -c src/a.cpp -o {MODULE} []"),
                &format!("offkit mark --module-id=src/a.cpp {MODULE} -o {MARKED} [0]"),
                &format!(
                    "offkit pack -o tmp/a-sycl.out --image=file={MARKED},\
                     triple=spirv64-unknown-unknown,arch=generic,kind=sycl [1]"
                ),
                "clang++ -fsycl -fsycl-host-only -O1 -MD -Iinc -c src/a.cpp -o out/a.o \
                 -Xclang -fembed-offload-object=tmp/a-sycl.out [2]",
            ],
        );
    }

    #[test]
    fn sources_for_devices_alone_make_objects_without_host_code() {
        let made =
            commands("-fsycl -fPIC -std=c++20 -march=native -DX -MD -c a.cl").expect("a good command line");
        assert_eq!(
            made[0],
            format!("{OPENCL} -fPIC -DX -MD -MF a.d -MT a.o -c a.cl -o {MODULE} []")
        );
        assert_eq!(
            made[3],
            "clang++ -Qunused-arguments -march=native -x c -c /dev/null -o a.o \
             -Xclang -fembed-offload-object=tmp/a-sycl.out [2]"
        );
        let made = commands("-fsyclbin -c a.cpp").expect("a good command line");
        assert!(made[3].contains("-x c -c /dev/null -o a.o"), "{made:#?}");
        // An assembler knows no device code.
        check("-fsycl -c a.S", &["clang++ -c a.S -o a.o []"]);
    }

    #[test]
    fn a_syclbin_needs_no_host() {
        check(
            "-fsycl -fsyclbin a.cpp",
            &[
                &format!("{CXX} -c a.cpp -o {MODULE} []"),
                &format!("offkit mark --module-id=a.cpp {MODULE} -o {MARKED} [0]"),
                &format!("offkit link -q --state=executable -o a.syclbin {MARKED} [1]"),
            ],
        );
        check(
            "-fsyclbin=input a.o b.bc libc.a -Ldir -ldevice -o x.syclbin -fsycl-device-code-split=per_kernel \
             -fsycl-targets=spir64 -Xsycl-target-backend -g",
            &[
                "offkit mark --module-id=b.bc --only-annotated b.bc \
                 -o tmp/b-sycl-spirv64-unknown-unknown.marked.bc []",
                "offkit link -q --state=input --target=spirv64-unknown-unknown --split=kernel --backend-option=-g \
                 -o x.syclbin a.o tmp/b-sycl-spirv64-unknown-unknown.marked.bc libc.a -Ldir -ldevice [0]",
            ],
        );
    }

    #[test]
    fn a_program_is_linked_with_its_images() {
        let made = commands(
            "-fsycl -fsycl-allow-device-image-dependencies a.cpp main.S b.o k.syclbin libs.so -lm -shared -o app",
        );
        let made = made.expect("a good command line");
        let programs: Vec<_> = made
            .iter()
            .map(|line| line.split(' ').take(2).collect::<Vec<_>>().join(" "))
            .collect();
        assert_eq!(
            programs,
            [
                "clang++ -fsycl",
                "clang++ -Qunused-arguments",
                "offkit mark",
                "clang++ -Qunused-arguments",
                "offkit link",
                "clang++ -Qunused-arguments"
            ]
        );
        assert_eq!(
            made[4],
            format!(
                "offkit link -q --format=object,sycl-v3 --allow-device-image-dependencies -o tmp/app-device.o \
                 {MARKED} b.o k.syclbin -lm [2]"
            )
        );
        assert_eq!(
            made[5],
            "clang++ -Qunused-arguments tmp/a-host.o tmp/main-host.o b.o libs.so tmp/app-device.o -lm -shared -o app \
             [0, 3, 4]"
        );
    }

    #[test]
    fn a_link_of_objects_keeps_clangs_own_warnings() {
        check(
            "-fsycl a.o -o app",
            &[
                "offkit link -q --format=object,sycl-v3 -o tmp/app-device.o a.o []",
                "clang++ a.o -o app tmp/app-device.o [0]",
            ],
        );
        // Objects that are joined keep their device code for the link proper.
        check("-fsycl -r a.o b.o -o ab.o", &["clang++ -r a.o b.o -o ab.o []"]);
        assert!(commands("-fsycl -r a.cpp").is_err());
    }

    #[test]
    fn device_code_is_linked_alone() {
        check(
            "-fsycl -fsycl-link a.o",
            &["offkit link -q --format=object,sycl-v3 -o a.o a.o []"],
        );
        check(
            "-fsycl-link a.syclbin b.syclbin -o c.syclbin",
            &["offkit link -q --state=executable -o c.syclbin a.syclbin b.syclbin []"],
        );
        check(
            "-fsycl-link -fsyclbin=object a.syclbin b.syclbin",
            &["offkit link -q --state=object -o a.syclbin a.syclbin b.syclbin []"],
        );
    }

    #[test]
    fn every_target_is_compiled_for() {
        let made = commands(
            "-fsycl -fsycl-targets=spir64 --offload-arch=gfx90a:xnack+ -fsycl-targets=amdgcn -c a.cpp",
        );
        let made = made.expect("a good command line");
        assert_eq!(
            made[2],
            "clang++ -Qunused-arguments -fsycl -fsycl-device-only -Xclang -triple -Xclang amdgcn-amd-amdhsa \
             -Xclang -target-cpu -Xclang gfx90a -Xclang -target-feature -Xclang +xnack \
             -c a.cpp -o tmp/a-sycl-amdgcn-amd-amdhsa-gfx90a-xnack+.bc []"
        );
        assert!(
            made[4].contains("triple=amdgcn-amd-amdhsa,arch=gfx90a:xnack+,kind=sycl"),
            "{made:#?}"
        );
        let made = commands("-fsycl --offload-arch=gfx90a -c a.cl").expect("a good command line");
        assert!(
            made[0].contains("--target=amdgcn-amd-amdhsa -mcpu=gfx90a"),
            "{made:#?}"
        );
        let made = commands("-fsycl --offload-arch=sm_70 -c a.cl").expect("a good command line");
        assert!(
            made[0].contains("--target=nvptx64-nvidia-cuda -march=sm_70"),
            "{made:#?}"
        );
    }

    #[test]
    fn device_only_leaves_marked_bitcode() {
        check(
            "-fsycl -fsycl-device-only -c a.cpp -o a.bc",
            &[
                &format!("{CXX} -c a.cpp -o {MODULE} []"),
                &format!("offkit mark --module-id=a.cpp {MODULE} -o a.bc [0]"),
            ],
        );
        check(
            "-fsycl -fsycl-host-only -c a.cpp",
            &["-fsycl -fsycl-host-only -c a.cpp"],
        );
        check(
            "-fsycl-device-only -S a.cpp",
            &["-fsycl -fsycl-device-only -S a.cpp"],
        );
        check("-fsycl -E a.cpp", &["-fsycl -E a.cpp"]);
        let made = commands("-fsycl -E a.cl").expect("a good command line");
        assert_eq!(made, [format!("{OPENCL} -E a.cl []")]);
    }

    #[test]
    fn clangs_own_offloading_is_linked_by_our_tool() {
        check(
            "-fopenmp -fopenmp-targets=x86_64-pc-linux-gnu a.c -o app",
            &["-Btools -fopenmp -fopenmp-targets=x86_64-pc-linux-gnu a.c -o app"],
        );
        check(
            "-fopenmp --offload-arch=gfx90a -c a.c",
            &["-fopenmp --offload-arch=gfx90a -c a.c"],
        );
        check("--offload-rdc a.hip", &["-Btools -fgpu-rdc a.hip"]);
    }

    #[test]
    fn names_of_temporary_files_differ() {
        let made = commands("-fsyclbin x/a.cl y/a.cl").expect("a good command line");
        assert!(
            made[4].ends_with(&format!(
                "{MARKED} tmp/a-2-sycl-spirv64-unknown-unknown.marked.bc [1, 3]"
            )),
            "{made:#?}"
        );
    }

    #[test]
    fn one_output_is_not_for_two() {
        for line in [
            "-fsycl -c a.cpp b.cpp -o x.o",
            "-fsycl -fsycl-device-only a.cpp -fsycl-targets=spirv64,nvptx64 -o x",
        ] {
            let error = commands(line).expect_err(line).to_string();
            assert_eq!(error, "cannot specify -o when generating multiple output files");
        }
    }

    #[test]
    fn instrumentation_of_the_host_is_not_for_devices() {
        let made = commands("-fsycl -fsanitize=address -fcf-protection -flto -Xarch_host -O0 -c a.cpp");
        let made = made.expect("a good command line");
        assert!(
            made[0].starts_with(&format!("{CXX} -Xarch_host -O0 -c a.cpp")),
            "{made:#?}"
        );
        assert!(
            made[3].contains("-fsanitize=address -fcf-protection -flto -Xarch_host -O0"),
            "{made:#?}"
        );
    }
}
