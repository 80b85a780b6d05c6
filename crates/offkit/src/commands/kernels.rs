//! What commands about kernels share: files become images that the runtime knows, and its errors failures.

use std::error::Error;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use offkit_host::causes;
use offkit_runtime::{
    ChoiceError, CollectError, FoundKernel, ImageId, ImageRegistry, KernelNameError, Registered, Runtime,
    SelectError,
};

use super::Source;
use crate::failure::{ExitStatus, Failure};
use crate::terminal::Terminal;

/// Warns of plugins that cannot be used, and of variables that do not count.
pub(super) fn tell_left_out(runtime: &Runtime, terminal: Terminal) {
    for left_out in runtime.failures() {
        let reasons = [left_out.to_string()].into_iter().chain(causes(left_out));
        let reasons: Vec<_> = reasons.collect();
        terminal.warning(format_args!("a plugin is left out: {}", reasons.join(": ")));
    }
    for left_out in runtime.left_out() {
        terminal.warning(format_args!("left out: {left_out}"));
    }
    for ignored in &runtime.environment().ignored {
        terminal.warning(ignored);
    }
    for problem in &runtime.search().problems {
        terminal.warning(problem);
    }
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

fn kernel_name_failure(error: KernelNameError) -> Failure {
    let hint = match &error {
        // The kernels of LTO-IR are not known before it is linked: the one that is wanted may be
        // among them.
        KernelNameError::NotFound { unknown, .. } if !unknown.is_empty() => {
            "link it to machine code first: `nvcc -dlto -dlink -cubin`, or nvJitLink".to_owned()
        }
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
        ChoiceError::Select(SelectError::NotLinked { image, .. }) => {
            let file = image.file();
            let linked = Path::new(file).with_extension("syclbin");
            let hint = format!("link it first, `offkit link {file} -o {}`", linked.display());
            Failure::input(error).hint(hint)
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
        CollectError::Refused { .. } => "link a library that was built for this device",
        CollectError::SeveralExporters { .. } => {
            "leave out all but one of them, or choose with `--exporter first`"
        }
        CollectError::Clash { .. } => "leave out all but one of them",
        _ => return Failure::input(error),
    };
    Failure::input(error).hint(hint)
}

pub(super) fn machine_failure(error: impl Error + Send + Sync + 'static) -> Failure {
    Failure::new(ExitStatus::Machine, error)
}
