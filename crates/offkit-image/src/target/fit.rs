//! What fits what: which code can be linked together, which code a device runs, and why not.

use std::fmt;

use super::driver::DriverVersion;
use super::family::Family;
use super::nvidia::Processor;
use super::triple::same_system;
use super::{Sign, Target, amd, intel};
use crate::{CodeVersion, ImageFormat};

/// Why code does not fit.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Misfit {
    /// The architectures differ.
    Architecture,
    /// The operating systems differ.
    System,
    /// The processors differ.
    Processor,
    /// The processor is older than the code.
    Older,
    /// It is machine code for processors of another major number.
    OtherMajor,
    /// It is code for another family of processors.
    OtherFamily,
    /// It is code for one other processor only.
    OnlyOne,
    /// One side demands a feature to be on that the other demands to be off: its name.
    Feature(String),
    /// The device is not known to have a feature that the code demands, which is as it is written: `xnack+`.
    Demand(String),
    /// No device runs this format of code.
    Format,
    /// It is no code yet: it becomes code when it is linked at run time, as LTO-IR does.
    Link,
    /// The device is known to lack an ability that the code was recorded to need, by SYCL's name of it.
    Aspect(&'static str),
    /// The device takes no SPIR-V, or none of that version.
    SpirvVersion {
        /// The module's version, where that is known.
        needs: Option<CodeVersion>,
        /// The newest that the device takes; `None` where it takes none.
        has: Option<CodeVersion>,
    },
    /// The device takes another image of the same container, and this one not.
    PassedOver,
    /// The device's driver is too old for the code, or for how it is compressed.
    Driver {
        /// The oldest that takes it.
        needs: DriverVersion,
        /// The one that is there.
        has: DriverVersion,
    },
}

impl fmt::Display for Misfit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Architecture => f.write_str("it is for another architecture"),
            Self::System => f.write_str("it is for another operating system"),
            Self::Processor => f.write_str("it is for another processor"),
            Self::Older => f.write_str("it is for newer processors"),
            Self::OtherMajor => f.write_str("it is machine code for another generation of processors"),
            Self::OtherFamily => f.write_str("it is for another family of processors"),
            Self::OnlyOne => f.write_str("it is for one other processor only"),
            Self::Feature(name) => {
                write!(f, "`{name}` is demanded to be on in one and off in the other")
            }
            Self::Demand(feature) => write!(f, "it demands `{feature}`"),
            Self::Format => f.write_str("no device runs this format"),
            Self::Link => f.write_str("it is to be linked before any device runs it"),
            Self::Aspect(name @ ("cpu" | "accelerator")) => {
                write!(f, "it demands that the device is of the kind `{name}`")
            }
            Self::Aspect(name) => write!(f, "the device has no {name}"),
            Self::SpirvVersion { has: None, .. } => f.write_str("the device takes no SPIR-V"),
            Self::SpirvVersion {
                needs: Some(needs),
                has: Some(has),
            } => write!(f, "it is SPIR-V {needs}, and the device takes none after {has}"),
            Self::SpirvVersion { has: Some(has), .. } => {
                write!(f, "the device takes no SPIR-V after {has}")
            }
            Self::PassedOver => {
                f.write_str("the device takes another image of the same container, which does not have it")
            }
            Self::Driver { needs, has } => {
                write!(f, "its driver is {has}, and it needs {needs} or later")
            }
        }
    }
}

/// How a device runs code that fits it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Run {
    /// As it is.
    Native,
    /// After the device's driver compiled it.
    Compiled,
}

impl Target {
    /// Whether code for one target can be part of a link for the other. What one of them leaves open fits.
    #[must_use]
    pub fn fits(&self, other: &Self) -> bool {
        self.links_with(other).is_ok()
    }

    /// The same, with the reason.
    ///
    /// # Errors
    ///
    /// Why they do not go together.
    pub fn links_with(&self, other: &Self) -> Result<(), Misfit> {
        self.is_same_device_kind(other)?;
        // Code for Intel's GPUs may leave the processor open, so that its family needs none; where
        // two name one, they still have to be the same.
        let is_for_one = self.family().needs_processor() || self.family() == Family::IntelGpu;
        let (one, two) = (self.processor(), other.processor());
        if is_for_one && !one.is_empty() && !two.is_empty() && one != two {
            return Err(Misfit::Processor);
        }
        match self.conflicting_feature(other) {
            Some(name) => Err(Misfit::Feature(name.to_owned())),
            None => Ok(()),
        }
    }

    /// Whether both are for the same instruction set and the same operating system, as far as these matter.
    fn is_same_device_kind(&self, other: &Self) -> Result<(), Misfit> {
        let family = self.family();
        let (one, two) = (self.parts(), other.parts());
        let is_same =
            family == other.family() && (family != Family::Other || one.architecture() == two.architecture());
        if !is_same {
            return Err(Misfit::Architecture);
        }
        // SPIR-V and PTX know no operating system.
        if (family.is_host() || family == Family::Amdgcn) && !same_system(one, two) {
            return Err(Misfit::System);
        }
        Ok(())
    }

    /// The first feature that one demands to be on and the other to be off.
    #[must_use]
    pub fn conflicting_feature(&self, other: &Self) -> Option<&str> {
        self.features.iter().find_map(|feature| {
            let (name, Some(sign)) = Sign::split(feature) else {
                return None;
            };
            let is_opposite = |other: &String| match Sign::split(other) {
                (other_name, Some(other_sign)) => other_name == name && other_sign != sign,
                _ => false,
            };
            other.features.iter().any(is_opposite).then_some(name)
        })
    }

    /// The first feature that this code demands and a device is not known to have.
    #[must_use]
    pub fn unmet_demand(&self, device: &Self) -> Option<&str> {
        // Letter by letter: a device that leaves `xnack` open meets neither `xnack+` nor `xnack-`.
        let unmet = |feature: &&String| !device.features.contains(feature);
        self.features.iter().find(unmet).map(String::as_str)
    }

    /// Whether code of this target, in that format, runs on a device, and how. An image knows more:
    /// [`DeviceImage::runs_on`](crate::DeviceImage::runs_on).
    ///
    /// # Errors
    ///
    /// Why it does not.
    pub fn runs_on(&self, format: ImageFormat, device: &Self) -> Result<Run, Misfit> {
        let family = self.family();
        match (family, device.family()) {
            // ROCm compiles its own kind of SPIR-V.
            (Family::Spirv64, Family::Amdgcn)
                if self.processor() == amd::SPIRV_PROCESSOR && format == ImageFormat::Spirv =>
            {
                return Ok(Run::Compiled);
            }
            // Intel's GPUs are named by the code that is compiled for them when it is loaded.
            (Family::IntelGpu, Family::Spirv64) if !device.processor().is_empty() => {
                let (code, device) = (self.processor(), device.processor());
                return match code.is_empty() || intel::runs_on(code, device) {
                    true => Ok(Run::Native),
                    false => Err(Misfit::Processor),
                };
            }
            _ => self.is_same_device_kind(device)?,
        }
        match (family, format) {
            (_, ImageFormat::Spirv) if family.is_spirv() => Ok(Run::Compiled),
            (Family::Nvptx64 | Family::Nvptx32, ImageFormat::Ptx | ImageFormat::Cubin) => {
                let (Some(code), Some(device)) = (Processor::of(self), Processor::of(device)) else {
                    return Err(Misfit::Processor);
                };
                match format {
                    ImageFormat::Ptx => code.compiles_for(device).map(|()| Run::Compiled),
                    _ => code.runs_on(device).map(|()| Run::Native),
                }
            }
            // Not `Format`: linked by nvJitLink it becomes code that devices do run.
            (_, ImageFormat::LtoIr) => Err(Misfit::Link),
            (Family::Amdgcn, ImageFormat::Amdgpu) => {
                let (code, processor) = (self.processor(), device.processor());
                if code != processor && amd::generic_of(processor) != Some(code) {
                    return Err(Misfit::Processor);
                }
                // What the device leaves open is a doubt: see `DeviceImage::runs_on`.
                match self.conflicting_feature(device) {
                    Some(feature) => Err(Misfit::Feature(feature.to_owned())),
                    None => Ok(Run::Native),
                }
            }
            // Toolchains keep machine code for these in files of several formats: what is surely none is told apart.
            (Family::IntelGpu | Family::IntelCpu | Family::IntelFpga | Family::Host(_), _)
                if !format.is_portable() && format != ImageFormat::Bitcode =>
            {
                let (code, processor) = (self.processor(), device.processor());
                match code.is_empty() || code == processor {
                    true => Ok(Run::Native),
                    false => Err(Misfit::Processor),
                }
            }
            _ => Err(Misfit::Format),
        }
    }

    /// The processors, with features, whose code can be part of code for this target before it is machine code:
    /// its own first, then the others by how close they are. Empty for a target without a processor.
    ///
    /// For `amdgcn`, features are left out one after the other, and then the generic target takes the place of
    /// the processor. For `nvptx`, older processors follow: their code is part of every newer one's; code of the
    /// kinds `a` and `f`, for one processor or one family, is not.
    #[must_use]
    pub fn fitting_processors(&self) -> Vec<Self> {
        let arch = self.processor();
        if arch.is_empty() {
            return Vec::new();
        }
        let with = |arch: &str, features: &[String]| Self {
            triple: self.triple.clone(),
            arch: arch.into(),
            features: features.to_vec(),
        };
        match (self.family(), Processor::parse(arch)) {
            (Family::Amdgcn, _) => {
                let archs = [Some(arch), amd::generic_of(arch)];
                let mut features: Vec<String> = self.features.clone();
                // In one order, as names of files have them.
                features.sort();
                let subsets = subsets(&features);
                archs
                    .into_iter()
                    .flatten()
                    .flat_map(|arch| subsets.iter().map(move |features| with(arch, features)))
                    .collect()
            }
            // Without features: those of NVPTX are versions of PTX such as `+ptx80`, by which no
            // library is told from another.
            (Family::Nvptx64 | Family::Nvptx32, Some(processor)) => processor
                .fitting()
                .iter()
                .map(|processor| with(&processor.to_string(), &[]))
                .collect(),
            (Family::Nvptx64 | Family::Nvptx32, None) => vec![with(arch, &[])],
            _ => vec![with(arch, &self.features)],
        }
    }

    /// Whether LLVM 22 can compile for it: its architecture, its processor and its features are known by these names.
    #[must_use]
    pub fn is_known(&self) -> bool {
        let family = self.family();
        if family.is_nvptx() {
            return Processor::of(self).is_some_and(Processor::is_known);
        }
        if family == Family::Amdgcn {
            return amd::is_processor(&self.arch)
                && self.features.iter().all(|feature| amd::is_demand(feature));
        }
        family != Family::Other
    }

    /// How far code of a library is from this target, 0 the closest.
    ///
    /// A library that leaves a feature open is part of code for either; one that demands a feature which the target
    /// leaves open would make the code as narrow as itself.
    ///
    /// # Errors
    ///
    /// Why it cannot be part of code for this target.
    pub fn distance_to(&self, library: &Self) -> Result<usize, Misfit> {
        library.is_same_device_kind(self)?;
        // Of a processor without features, which comes next, every demand would be met.
        if let Some(name) = library.conflicting_feature(self) {
            return Err(Misfit::Feature(name.to_owned()));
        }
        let is_demand =
            |feature: &&String| Sign::split(feature).1.is_some() && !self.features.contains(feature);
        if let Some(feature) = library.features.iter().find(is_demand) {
            return Err(Misfit::Demand(feature.clone()));
        }
        let misfit = match library.links_with(self) {
            Ok(()) => return Ok(0),
            Err(misfit) => misfit,
        };
        if !self.family().needs_processor() {
            return Err(misfit);
        }
        // Features that a module leaves open fit all.
        self.fitting_processors()
            .iter()
            .position(|other| library.fits(other) && library.processor() == other.arch)
            .ok_or(misfit)
    }
}

/// All selections of some, the largest first.
fn subsets(of: &[String]) -> Vec<Vec<String>> {
    // Real targets have two features at most.
    // Each further one doubles the selections, and a container may claim any number of them.
    const MOST: usize = 4;
    let of = of.get(..MOST).unwrap_or(of);
    let mut subsets: Vec<Vec<String>> = vec![Vec::new()];
    for feature in of.iter().rev() {
        let with_it = subsets.iter().map(|rest| {
            let mut subset = vec![feature.clone()];
            subset.extend(rest.iter().cloned());
            subset
        });
        let with_it: Vec<_> = with_it.collect();
        // In front, so that of equally many features those lead that come first in the list: the
        // sort below leaves equal ones in place.
        subsets.splice(..0, with_it);
    }
    subsets.sort_by_key(|subset| std::cmp::Reverse(subset.len()));
    subsets
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(target: &str) -> Vec<String> {
        let fitting = Target::named(target).fitting_processors();
        fitting.iter().map(Target::arch_with_features).collect()
    }

    #[test]
    fn the_closest_comes_first() {
        assert_eq!(
            names("gfx906:xnack+:sramecc-"),
            [
                "gfx906:sramecc-:xnack+",
                "gfx906:sramecc-",
                "gfx906:xnack+",
                "gfx906",
                "gfx9-generic:sramecc-:xnack+",
                "gfx9-generic:sramecc-",
                "gfx9-generic:xnack+",
                "gfx9-generic",
            ]
        );
        assert_eq!(names("gfx90a"), ["gfx90a"]);
        assert_eq!(names("gfx9-generic"), ["gfx9-generic"]);
        assert_eq!(names("sm_61"), ["sm_61", "sm_60", "sm_53", "sm_52", "sm_50"]);
        assert_eq!(names("sm_90a")[..3], ["sm_90a", "sm_90", "sm_89"]);
        // 101 is of another family, that of 110.
        assert_eq!(names("sm_103a")[..4], ["sm_103a", "sm_103f", "sm_100f", "sm_103"]);
        assert!(names("spirv64").is_empty());
        assert_eq!(names("spirv64,bmg_g21"), ["bmg_g21"]);
    }

    #[test]
    fn what_is_left_open_fits() {
        let amd = |arch: &str| Target::new("amdgcn-amd-amdhsa", arch);
        let plain = |triple: &str| Target::new(triple, "");
        for (one, other, misfit) in [
            (
                plain("spirv64"),
                Target::new("spir64-unknown-unknown", "generic"),
                None,
            ),
            (plain("spirv64"), plain("spirv32"), Some(Misfit::Architecture)),
            (amd("gfx90a"), amd(""), None),
            (amd("gfx90a"), amd("gfx942"), Some(Misfit::Processor)),
            (amd("gfx90a:xnack+"), amd("gfx90a"), None),
            (
                amd("gfx90a:xnack+"),
                amd("gfx90a:xnack-"),
                Some(Misfit::Feature("xnack".into())),
            ),
            (
                amd("gfx90a"),
                Target::new("amdgcn-mesa-mesa3d", "gfx90a"),
                Some(Misfit::System),
            ),
            (
                plain("x86_64-pc-linux-gnu"),
                Target::new("x86_64-unknown-linux-gnu", "x86-64"),
                None,
            ),
            (plain("x86_64-linux-gnu"), plain("x86_64-unknown-linux-gnu"), None),
            (
                plain("x86_64-unknown-linux-gnu"),
                plain("aarch64-unknown-linux-gnu"),
                Some(Misfit::Architecture),
            ),
            (
                plain("x86_64-unknown-linux-gnu"),
                plain("x86_64-pc-windows-msvc"),
                Some(Misfit::System),
            ),
            (
                Target::new("nvptx64-nvidia-cuda", "sm_80"),
                Target::new("nvptx64-nvidia-cuda", "sm_90"),
                Some(Misfit::Processor),
            ),
            (plain("vax"), plain("vax-dec-ultrix"), None),
            (plain("vax"), plain("pdp11"), Some(Misfit::Architecture)),
        ] {
            assert_eq!(one.links_with(&other).err(), misfit, "{one} {other}");
            assert_eq!(other.links_with(&one).err(), misfit, "{other} {one}");
        }
    }

    #[test]
    fn libraries_of_older_and_generic_processors_are_farther_away() {
        let distance = |target, library| Target::named(target).distance_to(&Target::named(library));
        assert_eq!(distance("sm_61", "sm_61"), Ok(0));
        assert_eq!(distance("sm_61", "nvptx"), Ok(0));
        assert_eq!(distance("sm_61", "sm_53"), Ok(2));
        assert_eq!(distance("sm_61", "sm_70"), Err(Misfit::Processor));
        assert_eq!(distance("gfx906:xnack+", "gfx906"), Ok(0));
        assert_eq!(distance("gfx906:xnack+", "gfx9-generic"), Ok(2));
        assert_eq!(
            distance("gfx906:xnack+", "gfx906:xnack-"),
            Err(Misfit::Feature("xnack".into()))
        );
        assert_eq!(
            distance("gfx906", "gfx906:xnack-"),
            Err(Misfit::Demand("xnack-".into()))
        );
        assert_eq!(distance("spirv64", "spirv32"), Err(Misfit::Architecture));
    }

    #[test]
    fn misspelt_processors_are_not_known() {
        for known in [
            "sm_60",
            "sm_90a",
            "sm_100f",
            "gfx90a:xnack-:sramecc+",
            "gfx9-4-generic",
            "spirv64",
            "x86_64",
        ] {
            assert!(Target::named(known).is_known(), "{known}");
        }
        for unknown in [
            "sm_6",
            "sm_60a",
            "sm_9O",
            "gfx9a0",
            "gfx90a:xnak-",
            "gfx90a:xnack",
            "spriv64-unknown-unknown",
        ] {
            assert!(!Target::named(unknown).is_known(), "{unknown}");
        }
    }

    #[test]
    fn devices_run_what_was_made_for_them() {
        let run = |code, format, device| Target::named(code).runs_on(format, &Target::named(device));
        use ImageFormat::{Amdgpu, Bitcode, Cubin, Elf, LtoIr, Ptx, Spirv};
        for (code, format, device, expected) in [
            ("sm_80", Cubin, "sm_86", Ok(Run::Native)),
            ("sm_80", Cubin, "sm_90", Err(Misfit::OtherMajor)),
            ("sm_80", Ptx, "sm_90", Ok(Run::Compiled)),
            ("sm_90a", Ptx, "sm_100", Err(Misfit::OnlyOne)),
            ("gfx90a", Amdgpu, "gfx90a:sramecc+:xnack-", Ok(Run::Native)),
            (
                "gfx90a:xnack+",
                Amdgpu,
                "gfx90a:sramecc+:xnack-",
                Err(Misfit::Feature("xnack".into())),
            ),
            ("gfx90a:xnack+", Amdgpu, "gfx90a", Ok(Run::Native)),
            ("gfx9-generic", Amdgpu, "gfx906", Ok(Run::Native)),
            ("gfx9-generic", Amdgpu, "gfx90a", Err(Misfit::Processor)),
            ("spir64", Spirv, "spirv64v1.4", Ok(Run::Compiled)),
            ("spir", Spirv, "spirv64", Err(Misfit::Architecture)),
            ("spir64", Bitcode, "spirv64", Err(Misfit::Format)),
            ("x86_64", Elf, "x86_64-pc-linux-gnu", Ok(Run::Native)),
            ("x86_64", Elf, "x86_64-pc-windows-msvc", Err(Misfit::System)),
            ("x86_64", Bitcode, "x86_64-pc-linux-gnu", Err(Misfit::Format)),
            ("spir64_x86_64", Bitcode, "spir64_x86_64", Err(Misfit::Format)),
            ("gfx90a", Amdgpu, "sm_80", Err(Misfit::Architecture)),
            ("sm_80", LtoIr, "sm_90", Err(Misfit::Link)),
        ] {
            assert_eq!(run(code, format, device), expected, "{code} on {device}");
        }
    }
}
