//! From a command line to steps.

mod compile;
mod early;
mod link;
mod step;

use std::collections::HashSet;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use crate::arguments::{Argument, Role, Stop};
use crate::inputs::{Input, InputKind, inputs};
use crate::offload::{Mode, target_named};
use crate::{CommandLine, Environment, UsageError, Work};
use offkit_host::command_line;
use offkit_image::Family;

pub use step::{Action, Clang, Link, LinkInput, LinkInputKind, LinkResult, Mark, Pack, Registration, Step};

/// Steps, in an order in which they can be done.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Plan {
    /// The steps.
    pub steps: Vec<Step>,
    /// This program, as commands name it.
    pub offkit: PathBuf,
}

impl Plan {
    /// The steps as commands that can be typed one after the other.
    pub fn lines(&self) -> impl Iterator<Item = String> {
        self.steps.iter().map(|step| self.line(step))
    }

    pub(super) fn line(&self, step: &Step) -> String {
        command_line::line(step.action.words(&self.offkit))
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
        inputs: inputs(arguments, environment.files),
        plan: Plan {
            offkit: environment.offkit.clone(),
            ..Plan::default()
        },
        names: HashSet::new(),
    };
    let informs = arguments
        .iter()
        .any(|argument| argument.role == Role::Information);
    if informs || planner.inputs.is_empty() || command_line.mode != Mode::Driver {
        return Ok(match !informs && planner.link_early()? {
            true => Work::Plan(planner.plan),
            false => Work::Clang(planner.for_clang()),
        });
    }
    if command_line.offload.host_only {
        return Ok(Work::Clang(planner.for_clang()));
    }
    if let Some(output) = command_line.output()
        && planner.inputs.iter().any(|input| input.path == output)
    {
        return Err(UsageError::new(format!(
            "`{}` is read and would be written: give `-o` another name",
            output.display()
        )));
    }
    match stop(arguments) {
        // Before `-fsycl-device-only`: what these stop at is text, which is neither marked nor
        // linked.
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
            // clang takes its linker wrapper from there before it looks beside itself.
            let mut option = OsString::from("-B");
            option.push(&self.environment.tools);
            words.push(option);
            if offload.no_default_libraries {
                words.push("-Wl,--no-default-device-libs".into());
            }
        }
        if self.links_openmp_late() {
            words.push("-foffload-lto".into());
            for target in self.openmp_targets(Family::is_written_as_spirv) {
                // clang mixes calling conventions in this code, and its optimiser drops such calls. The link makes one of
                // them, and optimises. It has offkit's device runtime, which clang looks for nonetheless.
                let passes = ["-Xclang=-disable-llvm-passes", "-nogpulib"].map(OsString::from);
                words.push(format!("-Xopenmp-target={target}").into());
                words.extend(passes);
            }
        }
        // Here it means no more than this much of `-fsycl`.
        if offload.device_only && !self.command_line.has("-fsycl") {
            words.push("-fsycl".into());
        }
        // Without a link they are for the front ends of devices, and clang would call them unused.
        let are_libraries_used =
            self.command_line.mode != Mode::Clang || stop(&self.command_line.arguments).is_none();
        for argument in &self.command_line.arguments {
            if matches!(argument.role, Role::Library | Role::LibraryFolder) && !are_libraries_used {
                continue;
            }
            if argument.role == Role::Offload("--offload-rdc") {
                words.push("-fgpu-rdc".into());
            } else if argument.is_known_to_clang() {
                words.extend(argument.words.iter().cloned());
            }
        }
        words
    }

    /// Whether OpenMP's device code is to stay bitcode until the program is linked, and has to be told so: that for AMD
    /// does by itself, that for CPUs is linked by the host's linker.
    fn links_openmp_late(&self) -> bool {
        let has = |prefix: &str| {
            let mut arguments = self.command_line.arguments.iter();
            arguments.any(|argument| argument.spelling().starts_with(prefix))
        };
        let is_late = |family: Family| {
            matches!(family, Family::Nvptx32 | Family::Nvptx64) || family.is_written_as_spirv()
        };
        // CUDA and HIP use OpenMP on the host.
        let is_of_openmp = |input: &Input| input.kind != InputKind::Host && !is_cuda_or_hip(&input.path);
        self.command_line.mode == Mode::Clang
            && self.command_line.has("-fopenmp")
            && self.inputs.iter().all(is_of_openmp)
            && !self.openmp_targets(is_late).is_empty()
            && !has("-foffload-lto")
            && !has("-fno-offload-lto")
    }

    /// The targets of a kind that the command names in the way of OpenMP.
    fn openmp_targets(&self, is_one: fn(Family) -> bool) -> Vec<String> {
        const NAMED_BY: [&str; 3] = ["-fopenmp-targets=", "--offload-targets=", "--offload-arch="];
        let mut targets = Vec::new();
        for argument in &self.command_line.arguments {
            let text = argument.spelling();
            let values = NAMED_BY.iter().find_map(|option| text.strip_prefix(option));
            let names = values.into_iter().flat_map(|values| values.split(','));
            targets.extend(
                names
                    .filter(|name| is_one(target_named(name).family()))
                    .map(str::to_owned),
            );
        }
        targets
    }

    /// `-E` and the like: what clang makes of it, with nothing to link.
    fn stop_early(mut self) -> Result<Work, UsageError> {
        let is_opencl = |input: &Input| matches!(input.kind, InputKind::Device(_));
        if !self.inputs.iter().any(is_opencl) {
            let mut words = self.for_clang();
            // Such a file has device code alone, and clang does not know the option for it.
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
                self.device_code(input, target, Some(output))?;
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
            let output = output.unwrap_or_else(|| self.object_name(input));
            if input.kind == InputKind::Host {
                self.host_object(input, Some(output), None);
                continue;
            }
            let modules = self.device_modules(input)?;
            let packed = self.pack(input, &modules);
            if input.kind == InputKind::Shared && self.command_line.offload.syclbin.is_none() {
                self.host_object(input, Some(output), Some(&packed));
            } else {
                self.object_without_code(&output, &packed);
            }
        }
        Ok(())
    }

    /// What clang calls the object of a source.
    fn object_name(&self, input: &Input) -> PathBuf {
        let extension = if self.command_line.has("-emit-llvm") {
            "bc"
        } else {
            "o"
        };
        format!("{}.{extension}", stem(&input.path)).into()
    }

    fn clang(&mut self, words: Vec<OsString>, needs: impl IntoIterator<Item = usize>) -> usize {
        let before_response_file = self.environment.clang.len().saturating_sub(1);
        self.step(
            Action::Clang(Clang {
                words,
                is_clang: true,
                before_response_file,
            }),
            needs,
        )
    }

    fn step(&mut self, action: Action, needs: impl IntoIterator<Item = usize>) -> usize {
        self.plan.steps.push(Step {
            action,
            needs: needs.into_iter().collect(),
        });
        self.plan.steps.len() - 1
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

    fn include(&self) -> impl Iterator<Item = OsString> {
        let folder = self.environment.include.iter();
        folder.flat_map(|folder| ["-isystem".into(), folder.into()])
    }

    fn check_one_output(&self, outputs: usize) -> Result<(), UsageError> {
        if outputs > 1 && self.command_line.output().is_some() {
            return Err(UsageError::new(
                "cannot specify -o when generating multiple output files",
            ));
        }
        Ok(())
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

fn is_cuda_or_hip(path: &Path) -> bool {
    path.extension()
        .is_some_and(|extension| extension == "cu" || extension == "hip")
}

fn stem(path: &Path) -> String {
    path.file_stem()
        .map_or_else(|| "a".to_owned(), |stem| stem.to_string_lossy().into_owned())
}

fn is_save_temps(argument: &Argument) -> bool {
    let name = argument.name();
    name.starts_with("-save-temps") || name.starts_with("--save-temps")
}

/// Options that say how the driver works, and are not for each command that it runs.
fn is_about_the_driver(argument: &Argument) -> bool {
    ["-###", "-time"].contains(&&*argument.name()) || is_save_temps(argument)
}

#[cfg(test)]
mod tests;
