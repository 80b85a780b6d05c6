//! Processors as clang's options take them.

use offkit_image::Target;
use offkit_image::target::nvidia;

/// The options by which clang takes a target's processor. It asks for the oldest version of PTX unless told
/// otherwise, and its back end then refuses newer processors.
pub fn processor_options(target: &Target) -> impl Iterator<Item = String> {
    let arch = target.arch_with_features();
    let option = target.family().clang_processor_option();
    let processor = (!arch.is_empty()).then(|| format!("{option}={arch}"));
    let ptx = nvidia::Processor::of(target).and_then(nvidia::Processor::ptx_version);
    let version = ptx.map(|version| format!("--cuda-feature=+ptx{version}"));
    processor.into_iter().chain(version)
}
