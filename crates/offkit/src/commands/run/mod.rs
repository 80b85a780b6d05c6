//! `offkit run`: launch one kernel.

pub(crate) mod arguments;
mod array_file;
mod buffers;
mod timeout;

use arguments::ArraySource;
use clap::Args;
use std::collections::BTreeMap;
use std::error::Error;
use std::path::Path;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use offkit_object::ImageFormat;
use offkit_pi::NdRange;
use offkit_pi::host::{Context, QueueProperties};
use offkit_runtime::{
    ChoiceError, CollectError, FoundKernel, ImageId, ImageRegistry, KernelNameError, Registered, Runtime,
    SelectError,
};

use super::Source;
use crate::array::npy;
use crate::failure::{ExitStatus, Failure};
use crate::terminal::{FAINT, NAME, Progress, Terminal, duration};
use array_file::read_array;
use offkit_host::causes;
use offkit_host::files;

use arguments::{ArrayFile, Sizes};
use buffers::Arguments;

const EXAMPLES: &str = "\
Examples:
  offkit run app.syclbin saxpy --global 1024 \\
      --arg f32:2.5 --arg x.npy --arg y.npy --out z.npy
  offkit run app.syclbin saxpy --global 1024 --time \\
      --link library.syclbin --arg f32:2.5 \\
      --arg f32[1024] --arg f32[1024]";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Run {
    /// The file with the kernel, or the location of an image as `offkit ls` prints it; `-` is standard input
    file: PathBuf,
    /// The kernel: its exact name, its name without the compiler's prefix, or its demangled name
    kernel: String,
    /// A file or location that may supply functions the kernel imports; may be repeated
    #[arg(long, value_name = "FILE")]
    link: Vec<PathBuf>,
    /// The number of work-items in each dimension
    #[arg(long, value_name = "X[,Y[,Z]]", allow_hyphen_values = true)]
    global: Sizes,
    /// The number of work-items in a work-group; without it, the device chooses
    #[arg(long, value_name = "X[,Y[,Z]]", allow_hyphen_values = true)]
    local: Option<Sizes>,
    /// The index of the first work-item
    #[arg(long, value_name = "X[,Y[,Z]]", allow_hyphen_values = true)]
    offset: Option<Sizes>,
    /// The arguments, in order
    #[arg(
        long = "arg",
        value_name = "ARGUMENT",
        allow_hyphen_values = true,
        value_parser = arguments::argument,
        long_help = "The arguments, in order:\n  \
            i32:7, f32:2.5, f32:1,2,3,4  a number, a vector (i8 to i64, u8 to u64, f16, f32, f64)\n  \
            bytes:0100000000002040       a struct by its bytes, in hexadecimal\n  \
            in.npy                       a buffer holding the array\n  \
            f32[1024], f32[64,64]        a buffer of zeros\n  \
            local:256                    256 bytes of local memory"
    )]
    arguments: Vec<offkit_runtime::Argument<ArraySource>>,
    /// Write argument N to a file afterwards, or the only buffer that the kernel may write
    #[arg(long = "out", value_name = "[N=]F.npy")]
    outputs: Vec<ArrayFile>,
    /// Compare argument N, or the one of --out, with an array; exit code 1 if they differ
    #[arg(long = "check", value_name = "[N=]F.npy")]
    checks: Vec<ArrayFile>,
    /// The largest relative difference that --check allows
    #[arg(long, value_name = "PART", default_value = "0", value_parser = tolerance)]
    tolerance: f64,
    /// The device: its number, kind (`cpu`) or a part of its name; without it, the first that takes the code
    #[arg(long)]
    device: Option<String>,
    /// Launch this many times; the last result counts
    #[arg(long, value_name = "TIMES", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    repeat: u32,
    /// Print how long each step took
    #[arg(long)]
    time: bool,
    /// Stop a launch that takes longer, such as `2s` or `500ms`; exit code 1
    #[arg(long, value_name = "TIME", value_parser = timeout::parse)]
    timeout: Option<Duration>,
}

fn tolerance(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(tolerance) if tolerance.is_finite() && tolerance >= 0.0 => Ok(tolerance),
        _ => Err("expected a number from 0, such as 1e-6".into()),
    }
}

/// Warns of plugins that cannot be used, and of variables that do not count.
pub(crate) fn tell_left_out(runtime: &Runtime, terminal: Terminal) {
    for left_out in runtime.failures() {
        let reasons = [left_out.to_string()].into_iter().chain(causes(left_out));
        let reasons: Vec<_> = reasons.collect();
        terminal.warning(format_args!("a plugin is left out: {}", reasons.join(": ")));
    }
    for ignored in &runtime.environment().ignored {
        terminal.warning(ignored);
    }
    for problem in &runtime.search().problems {
        terminal.warning(problem);
    }
}

pub(crate) fn run(options: &Run, terminal: Terminal) -> Result<(), Failure> {
    let range = nd_range(options)?;
    let mut steps = Steps::new(terminal.progress());

    // Whatever can be wrong with the input is found before the device is asked for anything but which images it takes.
    let arguments = steps.time("read arguments", || Arguments::read(&options.arguments))?;
    let (registry, kernel) = steps.time("read images", || {
        read_images(&options.file, &options.kernel, &options.link, terminal)
    })?;
    let mut runtime = Runtime::discover(&[&offkit_plugin_cpu::plugin::BUILT_IN]);
    let selector = options.device.as_deref();
    let chosen = steps.time("choose a device", || runtime.choose(selector, &registry, &kernel));
    tell_left_out(&runtime, terminal);
    let (device, kernel) = chosen.map_err(choice_failure)?;
    let collection = steps.time("collect images", || {
        registry.collect(&kernel).map_err(collect_failure)
    })?;
    let description = collection.signature();
    if let Some(kernel) = description {
        arguments.check(kernel)?;
    }
    let outputs = select(&options.outputs, None, &arguments, description)?;
    let written = match outputs.as_slice() {
        [(only, _)] => Some(*only),
        _ => None,
    };
    let checks = select(&options.checks, written, &arguments, description)?;
    let expected = steps.time("read expected", || {
        checks
            .iter()
            .map(|(_, path)| read_array(path))
            .collect::<Result<Vec<_>, _>>()
            .map_err(Failure::input)
    })?;

    check_outputs(options, &outputs)?;

    let context = Context::new(&[&device]).map_err(machine_failure)?;
    let queue = context
        .queue(&device, QueueProperties::default())
        .map_err(machine_failure)?;
    let mut kernel = steps
        .time("build", || registry.build(&collection, &context, &device))
        .map_err(Failure::input)?;

    let given = steps
        .time("copy in", || arguments.upload(&context))
        .map_err(Failure::input)?;
    let launched = given.arguments();
    for repetition in 0..options.repeat {
        if repetition > 0 {
            // Every launch starts from the same input, or repeating would change the result.
            arguments.reset(&queue, &given).map_err(Failure::input)?;
        }
        steps.time("launch", || {
            let event = kernel
                .launch(&queue, &range, &launched, &[])
                .map_err(Failure::input)?;
            timeout::wait(&kernel, &event, options.timeout)
        })?;
    }
    let mut results = BTreeMap::new();
    for (index, _) in outputs.iter().chain(&checks) {
        if !results.contains_key(index) {
            let array = steps.time("copy out", || arguments.download(&queue, &given, *index));
            results.insert(*index, array.map_err(Failure::input)?);
        }
    }
    let times = steps.finish();
    terminal.flush()?;

    for (index, path) in &outputs {
        let array = &results[index];
        // It may be in the place of an array that went in.
        files::replace(path, &[&npy::header(array), &array.data]).map_err(Failure::input)?;
        terminal.note(format_args!(
            "{NAME}{}{NAME:#}: {} elements of {}",
            path.display(),
            array.len(),
            array.element
        ));
    }
    if options.time {
        for (name, time) in times {
            terminal.note(format_args!("{FAINT}{:>10}{FAINT:#}  {name}", duration(time)));
        }
    }
    for ((index, path), expected) in checks.iter().zip(&expected) {
        results[index]
            .compare(expected, options.tolerance)
            .map_err(|difference| {
                Failure::new(
                    ExitStatus::No,
                    format!("{}: argument {index}: {difference}", path.display()),
                )
            })?;
        terminal.note(format_args!(
            "{NAME}{}{NAME:#}: all {} elements agree",
            path.display(),
            expected.len()
        ));
    }
    Ok(())
}

/// Registers the images of all files and finds the kernel in what is meant of the first.
pub(super) fn read_images(
    file: &Path,
    kernel: &str,
    link: &[PathBuf],
    terminal: Terminal,
) -> Result<(ImageRegistry, FoundKernel), Failure> {
    let registry = ImageRegistry::new();
    let source = Source::open(file)?;
    let place = source.place.clone();
    // Images of the file that are not meant themselves may supply what the kernel needs.
    let own = register(&registry, source.whole(), terminal)?;
    let is_own = |image| {
        registry
            .location(image)
            .is_some_and(|location| location.is_within(&place))
    };
    if !own.iter().copied().any(is_own) {
        return Err(super::nothing_in(&place, &[]));
    }
    let kernel = registry
        .find_kernel(kernel, is_own)
        .map_err(kernel_name_failure)?;
    check_linked(file, &registry, &kernel)?;
    for library in link {
        register(&registry, Source::open(library)?, terminal)?;
    }
    Ok((registry, kernel))
}

pub(super) fn register(
    registry: &ImageRegistry,
    source: Source,
    terminal: Terminal,
) -> Result<Vec<ImageId>, Failure> {
    let Source { content, place, .. } = source;
    let Registered { images, problems, .. } =
        registry.add_within(&place, Arc::new(content), &super::limits());
    let problems = super::concerning(&place, &problems);
    if images.is_empty() {
        return Err(super::nothing_in(&place, &problems));
    }
    for problem in problems {
        terminal.warning(problem);
    }
    Ok(images)
}

/// Checks what would spoil the results only after all the work: outputs that cannot be written, or
/// that replace each other or the code that is launched.
fn check_outputs(options: &Run, outputs: &[(usize, &Path)]) -> Result<(), Failure> {
    for (number, (_, path)) in outputs.iter().enumerate() {
        files::check_output(path).map_err(Failure::input)?;
        if outputs[..number]
            .iter()
            .any(|(_, other)| files::is_same(path, other))
        {
            return Err(Failure::input(format!(
                "`{}` would be written twice",
                path.display()
            )));
        }
        let mut code = [&options.file].into_iter().chain(&options.link);
        if !files::is_standard_stream(path) && code.any(|name| files::is_same(path, &super::locate(name).0)) {
            return Err(Failure::input(format!(
                "the output would replace the device code in `{}`",
                path.display()
            )));
        }
    }
    Ok(())
}

/// Which argument each file belongs to. A file without a number belongs to `usual`, else to the only
/// buffer that the kernel may write.
fn select<'a>(
    files: &'a [ArrayFile],
    usual: Option<usize>,
    arguments: &Arguments,
    kernel: Option<&offkit_spirv::Kernel>,
) -> Result<Vec<(usize, &'a Path)>, Failure> {
    let writable = arguments.writable(kernel);
    files
        .iter()
        .map(|file| {
            let index = match (file.argument.or(usual), writable.as_slice()) {
                (Some(index), _) if arguments.array(index).is_some() => index,
                (Some(index), _) => {
                    return Err(Failure::input(format!(
                        "`{}`: argument {index} is not a buffer",
                        file.path.display()
                    )));
                }
                (None, [only]) => *only,
                (None, []) => {
                    return Err(Failure::input(format!(
                        "`{}`: the kernel writes no buffer",
                        file.path.display()
                    )));
                }
                (None, several) => {
                    let list: Vec<_> = several.iter().map(usize::to_string).collect();
                    return Err(Failure::input(format!(
                        "`{}`: the kernel may write several arguments: {}",
                        file.path.display(),
                        list.join(", ")
                    ))
                    .hint(format!(
                        "say which one, `{}={}`",
                        several[0],
                        file.path.display()
                    )));
                }
            };
            Ok((index, file.path.as_path()))
        })
        .collect()
}

fn nd_range(options: &Run) -> Result<NdRange, Failure> {
    for (name, sizes) in [("--local", options.local), ("--offset", options.offset)] {
        let count = sizes.map_or(0, |sizes| sizes.dimensions);
        if count > options.global.dimensions {
            return Err(Failure::input(format!(
                "{name} has {count} sizes, --global only {}",
                options.global.dimensions
            )));
        }
    }
    Ok(NdRange {
        dimensions: options.global.dimensions,
        offset: options.offset.map_or([0; 3], |offset| offset.padded(0)),
        global: options.global.padded(1),
        local: options.local.map(|local: Sizes| local.padded(1)),
    })
}

/// The steps done so far; steps of one name are added up.
struct Steps {
    done: Vec<(&'static str, Duration)>,
    progress: Progress,
}

impl Steps {
    fn new(progress: Progress) -> Self {
        Self {
            done: Vec::new(),
            progress,
        }
    }

    fn time<T>(&mut self, name: &'static str, work: impl FnOnce() -> T) -> T {
        self.progress.step(name);
        let start = Instant::now();
        let result = work();
        let time = start.elapsed();
        match self.done.iter_mut().find(|(other, _)| *other == name) {
            Some((_, total)) => *total += time,
            None => self.done.push((name, time)),
        }
        result
    }

    /// Takes the sign of life off the terminal and returns the steps.
    fn finish(self) -> Vec<(&'static str, Duration)> {
        self.done
    }
}

/// Bitcode has kernels, but none that can be launched.
fn check_linked(file: &Path, registry: &ImageRegistry, kernel: &FoundKernel) -> Result<(), Failure> {
    let is_bitcode = |&image: &ImageId| registry.format(image) == Some(ImageFormat::Bitcode);
    if !kernel.images.iter().all(is_bitcode) {
        return Ok(());
    }
    let linked = file.with_extension("syclbin");
    let file = file.display();
    Err(Failure::input(format!(
        "kernel `{}` is there as LLVM bitcode only, which no device runs",
        kernel.name
    ))
    .hint(format!(
        "link it first, `offkit link {file} -o {}`",
        linked.display()
    )))
}

fn kernel_name_failure(error: KernelNameError) -> Failure {
    let hint = match &error {
        KernelNameError::NotFound { similar, .. } if similar.is_empty() => {
            "none of the images has any kernel: `offkit ls` shows what is inside".to_owned()
        }
        KernelNameError::NotFound { similar, .. } => {
            let names: Vec<_> = similar.iter().map(|name| format!("`{name}`")).collect();
            format!("kernels that are there: {}", names.join(", "))
        }
        KernelNameError::Ambiguous { .. } => "use the exact name".to_owned(),
        _ => "`offkit ls` shows what is inside".to_owned(),
    };
    Failure::input(error).hint(hint)
}

pub(super) fn choice_failure(error: ChoiceError) -> Failure {
    match &error {
        ChoiceError::Select(SelectError::Ambiguous { candidates, .. }) => {
            let hint = candidates.first().map(|(name, place)| {
                format!("name its location instead of the file: `offkit run {place} {name}`")
            });
            Failure::input(error).hint(hint.unwrap_or_default())
        }
        ChoiceError::Select(SelectError::Image(_)) => Failure::input(error),
        ChoiceError::NoneTakes { reasons, .. } => {
            let reasons: Vec<_> = reasons.iter().map(ToString::to_string).collect();
            machine_failure(error).hint(reasons.join("; "))
        }
        _ => machine_failure(error),
    }
}

pub(super) fn collect_failure(error: CollectError) -> Failure {
    let hint = match &error {
        CollectError::NotExported { .. } => "name a file that exports the symbol with `--link FILE`",
        CollectError::OtherFormat { .. } => "link a library that was built for the same kind of device",
        _ => "leave out all but one of them",
    };
    Failure::input(error).hint(hint)
}

pub(super) fn machine_failure(error: impl Error + Send + Sync + 'static) -> Failure {
    Failure::new(ExitStatus::Machine, error)
}
