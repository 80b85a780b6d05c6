//! Which images a command is about: the options that narrow it down.

use std::collections::{BTreeSet, HashSet};

use clap::Args;
use clap::builder::PossibleValuesParser;
use offkit_object::{
    DeviceImage, ImageFormat, Inspect, KernelName, Limits, Problem, Producer, Target, target_of,
};

use crate::failure::{ExitStatus, Failure};
use crate::terminal::Terminal;

/// The names of languages, as [`producer_name`] gives them.
const KINDS: [&str; 5] = ["openmp", "cuda", "hip", "sycl", "host"];
/// The names of formats, as [`format_name`] gives them.
const FORMATS: [&str; 12] = [
    "spirv", "bitcode", "ptx", "lto-ir", "cubin", "amdgpu", "zebin", "elf", "metal", "poclbin", "archive",
    "unknown",
];

// Options that every command takes which looks at images.
#[derive(Clone, Debug, Default, PartialEq, Args)]
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
        self.accepts_kind(image) && self.accepts_kernels(image)
    }

    /// Whether an image is meant as far as that is told without its kernels.
    fn accepts_kind(&self, image: &DeviceImage<'_>) -> bool {
        let matches = |wanted: &Option<String>, is: &dyn Fn(&str) -> bool| wanted.as_deref().is_none_or(is);
        let is_one = |wanted: &[String], is: &dyn Fn(&str) -> bool| {
            wanted.is_empty() || wanted.iter().any(|wanted| is(wanted))
        };
        // The target may have to be read from the code: it is asked for only where an option is
        // about it.
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
    }

    /// Whether an image has the kernel that is meant.
    pub(crate) fn accepts_kernels(&self, image: &DeviceImage<'_>) -> bool {
        self.kernel.as_ref().is_none_or(|kernel| {
            let names = image.kernels(&Limits::default());
            names.iter().any(|name| KernelName::new(name).is(kernel))
        })
    }

    /// The kernel that images are to have.
    pub(crate) fn kernel(&self) -> Option<&str> {
        self.kernel.as_deref()
    }

    /// Whether every image is.
    pub(crate) fn accepts_all(&self) -> bool {
        *self == Self::default()
    }
}

/// The images that a filter takes of those that a command meets, in all of its files.
pub(crate) struct Selection<'a> {
    filter: &'a Filter,
    /// Whether the filter leaves nothing out, known ahead as each image asks.
    takes_all: bool,
    is_empty: bool,
    /// As long as it took none: what there is, once each. Images are many and their kinds few, so that looking here
    /// goes before making texts for a hint: of 100,000 images that do not match, listing takes a tenth of the time.
    there: HashSet<(Target, ImageFormat, Producer)>,
    /// How many files could not be read as a whole.
    damaged: usize,
}

impl<'a> Selection<'a> {
    pub(crate) fn new(filter: &'a Filter) -> Self {
        Self {
            filter,
            takes_all: filter.accepts_all(),
            is_empty: true,
            there: HashSet::new(),
            damaged: 0,
        }
    }

    /// Whether an image is meant.
    pub(crate) fn takes(&mut self, image: &DeviceImage<'_>) -> bool {
        let takes = self.takes_all || self.filter.accepts(image);
        self.note(image, takes);
        takes
    }

    /// Whether an image is meant if its kernels are; that is to be [noted](Self::note).
    pub(crate) fn may_take(&mut self, image: &DeviceImage<'_>) -> bool {
        let takes = self.takes_all || self.filter.accepts_kind(image);
        if !takes {
            self.note(image, false);
        }
        takes
    }

    /// Notes whether an image is meant.
    pub(crate) fn note(&mut self, image: &DeviceImage<'_>, takes: bool) {
        self.is_empty &= !takes;
        if self.is_empty {
            let target = target_of(image).into_owned();
            self.there.insert((target, image.format, image.producer));
        }
    }

    /// Whether every image is.
    pub(crate) fn takes_all(&self) -> bool {
        self.takes_all
    }

    /// Shows the problems of a file; the others are worked on all the same.
    pub(crate) fn warn(&mut self, problems: &[Problem], terminal: Terminal) {
        for problem in problems {
            terminal.warning(problem);
        }
        self.damaged += usize::from(!problems.is_empty());
    }

    /// Shows why a file could not be read at all, where there are others.
    pub(crate) fn fail(&mut self, failure: &Failure, terminal: Terminal) {
        terminal.failure(failure);
        self.damaged += 1;
    }

    /// How many files could not be read as a whole so far.
    pub(crate) fn damaged(&self) -> usize {
        self.damaged
    }

    /// Fails after the last file where one had problems, or where the filter took none of the images.
    pub(crate) fn check(&self) -> Result<(), Failure> {
        // First: what could not be read may have an image that matches.
        match self.damaged {
            0 => {}
            1 => return Err(Failure::input("a file could not be read as a whole")),
            several => {
                let message = format!("{several} files could not be read as a whole");
                return Err(Failure::input(message));
            }
        }
        if !self.is_empty || self.there.is_empty() {
            return Ok(());
        }
        let Filter {
            triple,
            arch,
            kind,
            format,
            kernel,
        } = self.filter;
        let mut failure = Failure::new(ExitStatus::No, "no image matches the options");
        for (option, wanted) in [
            ("--arch", arch.as_slice()),
            ("--triple", triple),
            ("--kind", kind.as_slice()),
            ("--format", format.as_slice()),
        ] {
            if !wanted.is_empty() {
                failure = self.hint(failure, option, wanted);
            }
        }
        Err(match kernel {
            Some(_) => failure.hint("`offkit ls --kernels` shows the names of all kernels"),
            None => failure,
        })
    }

    fn hint(&self, failure: Failure, option: &'static str, wanted: &[String]) -> Failure {
        const SHOWN: usize = 16;
        let value = |(target, format, producer): &(Target, ImageFormat, Producer)| match option {
            "--arch" => target.arch_with_features(),
            "--triple" => target.triple.to_string(),
            "--kind" => producer_name(*producer).unwrap_or_default().to_owned(),
            _ => format_name(*format).to_owned(),
        };
        let there: BTreeSet<String> = self.there.iter().map(value).collect();
        let there: Vec<&str> = (there.iter().map(String::as_str))
            .filter(|value| !value.is_empty())
            .collect();
        if there
            .iter()
            .any(|value| wanted.iter().any(|wanted| wanted == value))
        {
            return failure;
        }
        // `sm_90` for `sm_90a`, or `gfx90a:xnack+` for `gfx90a`.
        let is_near = |value: &&&str| {
            wanted
                .iter()
                .any(|wanted| value.starts_with(wanted) || wanted.starts_with(**value))
        };
        if let Some(near) = there.iter().find(is_near) {
            return failure.hint(format!("{near} is there; {option} takes the whole name"));
        }
        let more = if there.len() > SHOWN { ", …" } else { "" };
        failure.hint(match there.as_slice() {
            [] => format!("no image says what {option} asks for"),
            _ => format!(
                "{option} could be {}{more}",
                there[..there.len().min(SHOWN)].join(", ")
            ),
        })
    }
}

/// Whether a target's triple is the wanted one, or has it as its first parts.
pub(crate) fn has_triple(target: &Target, wanted: &str) -> bool {
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
        ImageFormat::LtoIr => "lto-ir",
        ImageFormat::Cubin => "cubin",
        ImageFormat::Amdgpu => "amdgpu",
        ImageFormat::Zebin => "zebin",
        ImageFormat::Elf => "elf",
        ImageFormat::Metal => "metal",
        ImageFormat::Poclbin => "poclbin",
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn very_many_targets_that_do_not_match_are_kept_apart_in_no_time() {
        const MANY: usize = 1 << 17;
        let filter = Filter {
            arch: vec!["sm_80".to_owned()],
            ..Filter::default()
        };
        let mut selection = Selection::new(&filter);
        let mut image = DeviceImage::default();
        for number in (0..MANY).chain([0]) {
            image.target.arch = format!("arch{number}").into();
            assert!(!selection.takes(&image));
        }
        assert_eq!(selection.there.len(), MANY);
    }
}
