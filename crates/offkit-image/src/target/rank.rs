//! Which of several images a device takes: the one rule for what runs, what may go and what is redundant.

use super::device::Device;
use super::fit::Run;
use super::verdict::Verdict;
use super::{Family, amd, intel, nvidia};
use crate::{ContainerKind, DeviceImage, Location};

/// How an image ranks among those that a device could take: it takes the highest, and of equal ones the first.
///
/// Of NVIDIA's the highest number that fits comes first, whether machine code or PTX; at one number machine code; then
/// code for that processor alone, and code for its family (tried with nvJitLink 13.5; how drivers choose is not
/// documented). Of all others machine code comes first, and what was made for just this device before what runs on
/// several: HIP looks for the processor, then for its generic target, then for SPIR-V; Intel's runtime for the GPU's own
/// version, then for older ones that it takes. What demands a feature that the device leaves open comes last.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Rank {
    number: u32,
    is_native: bool,
    closeness: u32,
}

impl Rank {
    /// Of what runs nowhere.
    pub(super) const NONE: Self = Self {
        number: 0,
        is_native: false,
        closeness: 0,
    };

    /// Of an image that a device runs.
    pub(super) fn of(image: &DeviceImage<'_>, run: Run, device: &Device) -> Self {
        let (code, device) = (&image.target, &device.target);
        let of_nvidia = nvidia::Processor::of(code).filter(|_| code.family().is_nvptx());
        let closeness = match (of_nvidia, code.family()) {
            // The order of the variants is meant: code for one processor is the closest, then that
            // for its family.
            (Some(processor), _) => processor.scope as u32,
            (None, Family::Amdgcn) => {
                let met = code.features.len() as u32;
                match code.unmet_demand(device) {
                    Some(_) => 0,
                    None if amd::generic_of(device.processor()) == Some(code.processor()) => 1 + met,
                    // Two features at most.
                    None => 8 + met,
                }
            }
            (None, Family::IntelGpu) => match code.processor() {
                // Code that names no GPU may turn out to be for another one: whatever names one
                // goes before it.
                "" => 0,
                own if intel::is_same(own, device.processor()) => 2,
                _ => 1,
            },
            _ => 0,
        };
        Self {
            number: of_nvidia.map_or(0, nvidia::Processor::chip),
            is_native: run == Run::Native,
            closeness,
        }
    }
}

impl DeviceImage<'_> {
    /// Where the images are among which a device chooses when it is asked for this one's kernels: one fatbin, one
    /// bundle, one section, or all SYCL images of a program.
    #[must_use]
    pub fn choice(&self) -> Location {
        // Programs have a descriptor for code that is compiled ahead of time and another for the same as SPIR-V.
        let levels = match self.container {
            ContainerKind::SyclWrapped => 2,
            _ => 1,
        };
        // What is left of the location is what all images of one choice have in common: their last
        // parts tell them apart.
        self.location.without_last(levels)
    }
}

impl Device {
    /// The image that it takes of some that stand for each other, as those of one fatbin do, and how it runs; `None`
    /// where it runs none.
    ///
    /// ```
    /// use offkit_image::target::{Device, Run};
    /// use offkit_image::{DeviceImage, ImageFormat, Target};
    ///
    /// let image = |target: &str, format| {
    ///     let mut image = DeviceImage::of_format(b"".as_slice(), format);
    ///     image.target = Target::named(target);
    ///     image
    /// };
    /// let images = [image("sm_80", ImageFormat::Cubin), image("sm_86", ImageFormat::Ptx)];
    /// let (taken, verdict) = Device::named("a10").unwrap().takes(&images).unwrap();
    /// assert_eq!((taken.target.arch.as_str(), verdict.runs), ("sm_86", Ok(Run::Compiled)));
    /// ```
    pub fn takes<'i, 'data: 'i>(
        &self,
        images: impl IntoIterator<Item = &'i DeviceImage<'data>>,
    ) -> Option<(&'i DeviceImage<'data>, Verdict)> {
        let judged = images.into_iter().map(|image| (image, image.runs_on(self)));
        judged
            .filter(|(_, verdict)| verdict.runs.is_ok())
            // Not `max_by_key`, which gives the last of equal ones.
            .reduce(|best, other| match other.1.rank > best.1.rank {
                true => other,
                false => best,
            })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ImageFormat, Target};

    fn image(name: &str) -> DeviceImage<'static> {
        let (format, target) = name.split_once(' ').unwrap();
        let format = match format {
            "cubin" => ImageFormat::Cubin,
            "ptx" => ImageFormat::Ptx,
            "hsaco" => ImageFormat::Amdgpu,
            "zebin" => ImageFormat::Zebin,
            _ => ImageFormat::Spirv,
        };
        let mut image = DeviceImage::of_format(b"".as_slice(), format);
        image.target = match format {
            ImageFormat::Zebin => Target::new("spir64_gen", target),
            _ => Target::named(target),
        };
        image
    }

    #[track_caller]
    fn taken(images: &[&str], device: &str, expected: Option<&str>) {
        let device = Device::named(device).unwrap();
        // The order in which they are makes no difference.
        for turn in 0..images.len() {
            let names: Vec<_> = (0..images.len())
                .map(|place| images[(place + turn) % images.len()])
                .collect();
            let images: Vec<_> = names.iter().map(|name| image(name)).collect();
            let found = device.takes(&images).map(|(taken, _)| {
                let place = images.iter().position(|image| std::ptr::eq(image, taken));
                names[place.unwrap()]
            });
            assert_eq!(found, expected, "{names:?} on {device}");
        }
    }

    #[test]
    fn nvidia_takes_the_highest_number_and_machine_code_at_one_number() {
        // What nvJitLink 13.5 takes.
        let all = ["cubin sm_80", "cubin sm_86", "ptx sm_80"];
        taken(&all, "sm_80", Some("cubin sm_80"));
        taken(&all, "sm_86", Some("cubin sm_86"));
        taken(&all, "sm_90", Some("ptx sm_80"));
        taken(&["cubin sm_80", "ptx sm_86"], "sm_80", Some("cubin sm_80"));
        taken(&["cubin sm_80", "ptx sm_86"], "sm_86", Some("ptx sm_86"));
        taken(&["cubin sm_80", "ptx sm_80"], "sm_86", Some("cubin sm_80"));
        taken(&["ptx sm_75", "ptx sm_80"], "sm_80", Some("ptx sm_80"));
        taken(&["cubin sm_90", "cubin sm_90a"], "sm_90", Some("cubin sm_90a"));
        taken(
            &["cubin sm_100", "cubin sm_100f"],
            "sm_100",
            Some("cubin sm_100f"),
        );
        taken(&["cubin sm_80"], "sm_75", None);
    }

    #[test]
    fn others_take_machine_code_and_what_was_made_for_them_before_all() {
        let amd = ["spirv amdgcnspirv", "hsaco gfx9-4-generic", "hsaco gfx942"];
        taken(&amd, "gfx942", Some("hsaco gfx942"));
        taken(&amd, "gfx950", Some("hsaco gfx9-4-generic"));
        taken(&amd, "gfx1100", Some("spirv amdgcnspirv"));
        let features = ["hsaco gfx90a", "hsaco gfx90a:xnack+"];
        taken(&features, "gfx90a:xnack+", Some("hsaco gfx90a:xnack+"));
        taken(&features, "gfx90a", Some("hsaco gfx90a"));
        let intel = ["spirv spir64", "zebin acm_g10", "zebin 12.56.5"];
        taken(&intel, "intel_gpu_acm_g11", Some("zebin 12.56.5"));
        taken(&intel, "intel_gpu_acm_g12", Some("zebin acm_g10"));
        taken(&intel, "intel_gpu_pvc", Some("spirv spir64"));
    }
}
