//! Which images a command is about: the options that narrow it down.

use clap::Args;
use clap::builder::PossibleValuesParser;
use offkit_object::{DeviceImage, ImageFormat, Inspect, KernelName, Limits, Producer, Target, target_of};

/// The names of languages, as [`producer_name`] gives them.
const KINDS: [&str; 5] = ["openmp", "cuda", "hip", "sycl", "host"];
/// The names of formats, as [`format_name`] gives them.
const FORMATS: [&str; 9] = [
    "spirv", "bitcode", "ptx", "cubin", "amdgpu", "zebin", "elf", "archive", "unknown",
];

// Options that every command takes which looks at images.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Which images")]
pub(crate) struct Filter {
    /// Only images for these target triples; the start of a triple, up to a dash, is enough
    #[arg(long, value_name = "TRIPLE[,TRIPLE…]", value_delimiter = ',')]
    triple: Vec<String>,
    /// Only images for these architectures (compute capabilities): `sm_80`, `gfx90a`, `gfx90a:xnack+`
    #[arg(long, value_name = "ARCH[,ARCH…]", value_delimiter = ',')]
    arch: Vec<String>,
    /// Only images made from this offloading language
    #[arg(long, value_name = "KIND", value_parser = PossibleValuesParser::new(KINDS))]
    kind: Option<String>,
    /// Only images of this format
    #[arg(long = "format", value_name = "FORMAT", value_parser = PossibleValuesParser::new(FORMATS))]
    format: Option<String>,
    /// Only images with this kernel: its exact, unprefixed or demangled name
    #[arg(long, value_name = "NAME")]
    kernel: Option<String>,
}

impl Filter {
    /// Whether an image is meant.
    pub(crate) fn accepts(&self, image: &DeviceImage<'_>) -> bool {
        let matches = |wanted: &Option<String>, is: &dyn Fn(&str) -> bool| wanted.as_deref().is_none_or(is);
        let is_one = |wanted: &[String], is: &dyn Fn(&str) -> bool| {
            wanted.is_empty() || wanted.iter().any(|wanted| is(wanted))
        };
        let has_target = || {
            if self.triple.is_empty() && self.arch.is_empty() {
                return true;
            }
            let target = target_of(image);
            is_one(&self.triple, &|triple| has_triple(&target, triple))
                && is_one(&self.arch, &|arch| {
                    target.arch == arch || target.arch_with_features() == arch
                })
        };
        has_target()
            && matches(&self.kind, &|kind| producer_name(image.producer) == Some(kind))
            && matches(&self.format, &|format| format_name(image.format) == format)
            && matches(&self.kernel, &|kernel| {
                let names = image.symbols(&Limits::default());
                names.kernels.iter().any(|name| KernelName::new(name).is(kernel))
            })
    }

    /// Whether every image is.
    pub(crate) fn accepts_all(&self) -> bool {
        let Self {
            triple,
            arch,
            kind,
            format,
            kernel,
        } = self;
        triple.is_empty() && arch.is_empty() && [kind, format, kernel].iter().all(|wanted| wanted.is_none())
    }
}

fn has_triple(target: &Target, wanted: &str) -> bool {
    target
        .triple
        .strip_prefix(wanted)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with('-'))
}

/// The name of a format in JSON and in options.
pub(crate) fn format_name(format: ImageFormat) -> &'static str {
    match format {
        ImageFormat::Spirv => "spirv",
        ImageFormat::Bitcode => "bitcode",
        ImageFormat::Ptx => "ptx",
        ImageFormat::Cubin => "cubin",
        ImageFormat::Amdgpu => "amdgpu",
        ImageFormat::Zebin => "zebin",
        ImageFormat::Elf => "elf",
        ImageFormat::Archive => "archive",
        _ => "unknown",
    }
}

/// The name of a language in JSON and in options.
pub(crate) fn producer_name(producer: Producer) -> Option<&'static str> {
    match producer {
        Producer::None | Producer::Unknown => None,
        known => Some(known.name()),
    }
}
