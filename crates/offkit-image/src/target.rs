//! What code is compiled for: the one place that knows how targets are written, and what fits what.
//!
//! A [`Target`] is a triple, an architecture and features, as a container or a command line has them. Its
//! [`Family`] says which rules apply; [`names`] reads and writes all spellings in use, and [`fit`] answers
//! whether code can be linked with other code ([`Target::links_with`]) or runs on a device
//! ([`Target::runs_on`]), and if not, why. An image knows more about itself than its target, and a [`Device`] more
//! than its own: [`DeviceImage::runs_on`](crate::DeviceImage::runs_on) is the answer for these, a [`Verdict`]. Which of several
//! images a device takes, [`Device::takes`] says.

pub mod amd;
mod decide;
mod device;
mod driver;
pub mod family;
pub mod fit;
pub mod host;
pub mod intel;
pub mod names;
pub mod nvidia;
mod rank;
mod spirv;
pub mod triple;
mod verdict;

use std::fmt;

use compact_str::CompactString;

pub use decide::{Decision, decide};
pub use device::Device;
pub use driver::DriverVersion;
pub use family::Family;
pub use fit::{Misfit, Run};
pub use host::HostCpu;
pub use names::triples;
pub use rank::Rank;
pub use spirv::{ASPECTS, Aspect, SpirvSupport};
pub use triple::{System, Triple};
pub use verdict::Verdict;

/// The architecture of code that is for none in particular: it says as much as an empty one.
pub const GENERIC: &str = "generic";

/// What a device image was compiled for.
#[derive(Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct Target {
    /// The target triple as the container has it, such as `spir64-unknown-unknown`; empty when it has none.
    pub triple: CompactString,
    /// The architecture, such as `sm_80` or `gfx90a`; empty for code that is compiled further on the device's
    /// machine.
    pub arch: CompactString,
    /// Features that are demanded to be on or off, such as `xnack+`.
    pub features: Vec<String>,
}

impl Clone for Target {
    #[inline]
    fn clone(&self) -> Self {
        let mut target = Self::default();
        target.clone_from(self);
        target
    }

    /// Copies part by part to where the target stays. A copy that is made elsewhere and moved at once is waited for, as
    /// the processor stores its words one by one and loads them two by two: 6 % of listing 100,000 images.
    #[inline]
    fn clone_from(&mut self, source: &Self) {
        let Self {
            triple,
            arch,
            features,
        } = source;
        self.triple.clone_from(triple);
        self.arch.clone_from(arch);
        // Few targets have any: to copy nothing onto nothing is left out for the others.
        if !(self.features.is_empty() && features.is_empty()) {
            self.features.clone_from(features);
        }
    }
}

impl Target {
    /// A target from a triple and an architecture that may have features after it, as in
    /// `gfx90a:sramecc+:xnack-`.
    pub fn new(triple: impl Into<CompactString>, arch_with_features: &str) -> Self {
        let colon = memchr::memchr(b':', arch_with_features.as_bytes());
        let (arch, features) = arch_with_features.split_at(colon.unwrap_or(arch_with_features.len()));
        Self {
            triple: triple.into(),
            arch: arch.into(),
            features: match features.strip_prefix(':') {
                Some(features) => features.split(':').map(str::to_owned).collect(),
                None => Vec::new(),
            },
        }
    }

    /// The architecture with its features, as containers have it in one string.
    #[must_use]
    pub fn arch_with_features(&self) -> String {
        let mut text = self.arch.to_string();
        for feature in &self.features {
            text.push(':');
            text.push_str(feature);
        }
        text
    }

    /// The same, and [`GENERIC`] where there is none: as `clang` packs code that is for no processor.
    #[must_use]
    pub fn arch_or_generic(&self) -> String {
        match self.arch_with_features() {
            none if none.is_empty() => GENERIC.to_owned(),
            arch => arch,
        }
    }

    /// Which rules apply.
    #[must_use]
    pub fn family(&self) -> Family {
        Family::of(&self.triple)
    }

    /// The parts of the triple.
    #[must_use]
    pub fn parts(&self) -> Triple<'_> {
        Triple::new(&self.triple)
    }

    /// The architecture, if it is one: [`GENERIC`] says nothing.
    #[must_use]
    #[inline]
    pub fn processor(&self) -> &str {
        match self.arch.as_str() {
            GENERIC => "",
            arch => arch,
        }
    }

    /// What stands behind the prefix of its vendor in a processor's name: `90a` of `sm_90a` and of `gfx90a`.
    /// A name without such a prefix stays as it is.
    #[must_use]
    pub fn processor_number(&self) -> &str {
        let arch = self.arch.as_str();
        nvidia::number_of(arch)
            .or_else(|| amd::number_of(arch))
            .unwrap_or(arch)
    }

    /// Fills in what it leaves open with what a fitting one says.
    pub fn complete(&mut self, with: &Self) {
        // Code that is for no single processor gets none.
        if self.processor().is_empty() && self.family().needs_processor() {
            with.arch.clone_into(&mut self.arch);
        }
        for feature in &with.features {
            if !self.features.contains(feature) {
                self.features.push(feature.clone());
            }
        }
    }

    /// The features as LLVM takes them: `xnack+` of a target is `+xnack` there.
    pub fn llvm_features(&self) -> impl Iterator<Item = String> {
        self.features.iter().map(|feature| match Sign::split(feature) {
            (name, Some(sign)) => format!("{}{name}", sign.letter()),
            // Options take features as LLVM spells them: `features=+ptx80`.
            (name, None) if name.starts_with(['+', '-']) => name.to_owned(),
            (name, None) => format!("+{name}"),
        })
    }
}

/// Whether a feature is demanded to be on or off.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sign {
    On,
    Off,
}

impl Sign {
    /// A feature's name, and the sign behind it.
    fn split(feature: &str) -> (&str, Option<Self>) {
        match (feature.strip_suffix('+'), feature.strip_suffix('-')) {
            (Some(name), _) => (name, Some(Self::On)),
            (_, Some(name)) => (name, Some(Self::Off)),
            _ => (feature, None),
        }
    }

    fn letter(self) -> char {
        match self {
            Self::On => '+',
            Self::Off => '-',
        }
    }
}

impl Target {
    /// Writes what [`Display`](fmt::Display) shows straight to a text: a third of the instructions, which counts in a
    /// list of 100,000 images.
    ///
    /// # Errors
    ///
    /// That of `out`.
    pub fn write(&self, out: &mut impl fmt::Write) -> fmt::Result {
        let has_arch = !self.arch.is_empty() || !self.features.is_empty();
        out.write_str(match (self.triple.is_empty(), has_arch) {
            (true, false) => "unknown",
            _ => &self.triple,
        })?;
        if has_arch && !self.triple.is_empty() {
            out.write_str("-")?;
        }
        out.write_str(&self.arch)?;
        self.features
            .iter()
            .try_for_each(|feature| write!(out, ":{feature}"))
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if f.width().is_none() {
            return self.write(f);
        }
        let mut text = String::new();
        self.write(&mut text)?;
        f.pad(&text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn features_are_written_as_llvm_takes_them() {
        let mut target = Target::new("amdgcn-amd-amdhsa", "gfx90a:sramecc+:xnack-");
        target.features.push("ptx80".into());
        let features: Vec<_> = target.llvm_features().collect();
        assert_eq!(features, ["+sramecc", "-xnack", "+ptx80"]);
    }

    #[test]
    fn generic_is_no_processor() {
        let of = |arch| Target::new("nvptx64-nvidia-cuda", arch);
        assert_eq!(of("generic").processor(), "");
        assert_eq!(of("sm_90a").processor(), "sm_90a");
        assert_eq!(of("sm_90a").processor_number(), "90a");
        assert_eq!(of("gfx9-4-generic").processor_number(), "9-4-generic");
        assert_eq!(of("pvc").processor_number(), "pvc");
    }

    #[test]
    fn what_is_open_is_filled_in() {
        let completed = |triple: &str, arch, with| {
            let mut target = Target::new(triple, arch);
            target.complete(&Target::new(triple, with));
            target.arch_with_features()
        };
        assert_eq!(
            completed("amdgcn-amd-amdhsa", "", "gfx90a:xnack+"),
            "gfx90a:xnack+"
        );
        assert_eq!(
            completed("amdgcn-amd-amdhsa", "gfx90a", "gfx90a:xnack+"),
            "gfx90a:xnack+"
        );
        assert_eq!(completed("spirv64-unknown-unknown", "", "pvc"), "");
    }
}
