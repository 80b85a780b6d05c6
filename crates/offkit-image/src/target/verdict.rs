//! Whether an image runs on a device: the answer that every command and the runtime go by.

use std::fmt;

use super::device::Device;
use super::driver::{self, DriverVersion};
use super::family::Family;
use super::fit::{Misfit, Run};
use super::nvidia::{Processor, Scope};
use super::rank::Rank;
use super::{ASPECTS, Target, amd, intel};
use crate::property_set::names::DEVICE_REQUIREMENTS;
use crate::{CodeVersion, Compression, ContainerKind, DeviceImage, ImageFormat, Storage};

/// Whether an image runs on a device, and how.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Verdict {
    /// How it runs, or why it does not.
    pub runs: Result<Run, Misfit>,
    /// The oldest driver that takes it, where that is more than the device itself needs.
    pub least_driver: Option<DriverVersion>,
    /// Why this is probable rather than certain; `None` for what rests on rules that were checked.
    pub doubt: Option<&'static str>,
    /// Where several run, the device takes the one of the highest rank.
    pub rank: Rank,
}

impl Verdict {
    fn no(reason: Misfit) -> Self {
        Self {
            runs: Err(reason),
            least_driver: None,
            doubt: None,
            rank: Rank::NONE,
        }
    }

    /// The same for code whose bytes say that it needs abilities, as [`Inspection::aspects`](crate::Inspection::aspects) has
    /// them: some images are nowhere recorded to need anything.
    #[must_use]
    pub fn with_needs(self, aspects: &[u32], device: &Device) -> Self {
        // What does not run anyway keeps its own reason.
        match device.lacking_aspect(aspects).filter(|_| self.runs.is_ok()) {
            Some(lacking) => Self::no(Misfit::Aspect(lacking)),
            None => self,
        }
    }

    /// The same for SPIR-V that nobody has looked into: where the device is known to lack an ability, it may be one that the
    /// code needs.
    #[must_use]
    pub fn with_unknown_needs(self, device: &Device) -> Self {
        // Of a device that has all of them it does not matter what the code needs.
        let all = ASPECTS.map(|aspect| aspect.number);
        match device.lacking_aspect(&all).filter(|_| self.runs.is_ok()) {
            Some(_) => Self {
                doubt: self.doubt.or(Some(UNREAD)),
                ..self
            },
            None => self,
        }
    }

    /// Whether it runs as it is.
    #[must_use]
    pub fn is_native(&self) -> bool {
        self.runs == Ok(Run::Native)
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.doubt.is_some() {
            f.write_str("probably ")?;
        }
        match &self.runs {
            Ok(Run::Native) => f.write_str("native")?,
            Ok(Run::Compiled) => f.write_str("JIT")?,
            Err(reason) => write!(f, "no: {reason}")?,
        }
        match self.least_driver {
            Some(least) if self.runs.is_ok() => write!(f, " (driver {least} or later)"),
            _ => Ok(()),
        }
    }
}

const TEGRA: &str = "NVIDIA promises that code of other processors runs on desktop GPUs, not on Tegra";
const OPEN_FEATURE: &str = "the code demands a feature of which the device does not say whether it is on";
const UNDECIDED: &str = "NVIDIA's own tools disagree on code of 10.0 and 10.3 for 10.7";
const NO_DEVICE_KNOWN: &str = "no device with this processor is known";
const UNSAID: &str = "the image does not say which GPUs it is for";
const UNCHECKED_PTX: &str = "which driver first compiles this version of PTX was not checked here";
const NEW_PTX: &str = "this version of PTX is newer than the table of drivers";
const OLD_ROCM: &str = "which ROCm first loads this version of code objects was not checked here";
const NEW_CODE_OBJECT: &str = "this version of code objects is newer than the table of ROCm's versions";
const UNREAD: &str = "the code was not looked into, and the device lacks abilities that it may need";
const NEW_SPIRV: &str = "older drivers of Intel's take no SPIR-V after 1.5";
const JIT_BY_ROCM: &str = "it depends on which processors the compiler of ROCm knows";

impl DeviceImage<'_> {
    /// Whether the code runs on a device: by target, format, version of the format, compression, and what the
    /// toolchain recorded that it needs. The code's bytes are not looked into.
    ///
    /// ```
    /// use offkit_image::target::{Device, Run};
    /// use offkit_image::{DeviceImage, Target};
    ///
    /// let mut image = DeviceImage::new(b".version 8.3\n.target sm_80\n".as_slice());
    /// image.target = Target::named("sm_80");
    /// let verdict = image.runs_on(&Device::named("h100").unwrap());
    /// assert_eq!(verdict.runs, Ok(Run::Compiled));
    /// ```
    #[must_use]
    pub fn runs_on(&self, device: &Device) -> Verdict {
        let runs = match self.target.runs_on(self.format, &device.target) {
            Ok(run) => run,
            // Before the device's driver gets it, offkit's plugin compiles it.
            Err(_) if self.is_compiled_by_plugin(device) => Run::Compiled,
            Err(reason) => return Verdict::no(reason),
        };
        // Before what the code demands: a driver that cannot read the module never gets so far, and
        // this is then the reason that helps.
        if let Some(misfit) = self.spirv_misfit(device) {
            return Verdict::no(misfit);
        }
        let demanded = self.properties.get(DEVICE_REQUIREMENTS, "aspects");
        let demanded = demanded.and_then(|aspects| aspects.as_u32s()).unwrap_or_default();
        if let Some(aspect) = device.lacking_aspect(&demanded) {
            return Verdict::no(Misfit::Aspect(aspect));
        }
        let (least_driver, doubt_of_driver) = self.least_driver(runs, device.driver);
        if let (Some(has), Some(needs)) = (device.driver, least_driver)
            // A version of NVIDIA's driver and one of ROCm do not compare.
            && has.is_rocm() == needs.is_rocm()
            && !has.reaches(needs)
        {
            // What refuses it may be a guess of the table, and then the refusal is one too.
            return Verdict {
                doubt: doubt_of_driver,
                ..Verdict::no(Misfit::Driver { needs, has })
            };
        }
        Verdict {
            runs: Ok(runs),
            least_driver,
            doubt: self
                .target
                .doubt(runs, &device.target)
                .or_else(|| self.doubt_of_spirv(device))
                .or(doubt_of_driver),
            rank: Rank::of(self, runs, device),
        }
    }

    /// Whether this is SPIR-V for a device whose driver takes none, and which says that it takes some all the same.
    fn is_compiled_by_plugin(&self, device: &Device) -> bool {
        self.format == ImageFormat::Spirv
            && self.target.family() == Family::Spirv64
            && device.target.family().is_compiled_from_spirv()
            && device.spirv.is_some()
    }

    /// Why it is not certain that a device compiles this SPIR-V.
    fn doubt_of_spirv(&self, device: &Device) -> Option<&'static str> {
        /// What Intel's drivers for GPUs took for years; newer ones list 1.6 (its compute runtime, August 2026).
        const OLD: CodeVersion = CodeVersion { major: 1, minor: 5 };
        let is_new =
            self.format == ImageFormat::Spirv && self.code_version.is_some_and(|version| version > OLD);
        let is_intel = intel::gpu_of_processor(&device.target.arch).is_some();
        (is_new && is_intel && device.spirv.is_none()).then_some(NEW_SPIRV)
    }

    /// Why a device does not take this SPIR-V; `None` for other formats, and for devices that were not asked.
    fn spirv_misfit(&self, device: &Device) -> Option<Misfit> {
        let spirv = device
            .spirv
            .as_ref()
            .filter(|_| self.format == ImageFormat::Spirv)?;
        let is_taken = match (self.code_version, spirv.newest) {
            (_, None) => false,
            (None, Some(_)) => true,
            (Some(needs), Some(has)) => needs <= has,
        };
        (!is_taken).then_some(Misfit::SpirvVersion {
            needs: self.code_version,
            has: spirv.newest,
        })
    }

    /// The oldest driver, and why that is not certain.
    fn least_driver(
        &self,
        runs: Run,
        has: Option<DriverVersion>,
    ) -> (Option<DriverVersion>, Option<&'static str>) {
        if runs == Run::Native && self.format == ImageFormat::Amdgpu {
            return self.least_rocm(has);
        }
        if !self.target.family().is_nvptx() {
            return (None, None);
        }
        // Alone: what a package is compressed by is gone before a driver gets the fatbin.
        let is_zstd = self.container == ContainerKind::Fatbin
            && self.storage() == Storage::Compressed(Compression::Zstd);
        let of_container = is_zstd.then_some(driver::ZSTD);
        let (of_code, doubt) = match (runs, self.code_version) {
            (Run::Compiled, Some(version)) => match driver::for_ptx(version) {
                Some((least, is_checked)) => (Some(least), (!is_checked).then_some(UNCHECKED_PTX)),
                None => (driver::of_newest_ptx(), Some(NEW_PTX)),
            },
            // A driver that knows the device at all loads machine code for it.
            _ => (None, None),
        };
        match (of_container, of_code) {
            // What the container needs is certain, and where that is more the doubt about the code does not matter.
            (Some(one), Some(other)) if one >= other => (Some(one), None),
            (one, other) => (other.or(one), doubt),
        }
    }

    /// The oldest ROCm that loads a code object, and why that is not certain.
    fn least_rocm(&self, has: Option<DriverVersion>) -> (Option<DriverVersion>, Option<&'static str>) {
        let of_target = amd::is_generic(self.target.processor()).then_some(driver::GENERIC);
        let newest = driver::of_newest_code_object();
        let (of_version, doubt) = match self.code_version.map(|version| version.major) {
            None => (None, None),
            Some(version) => match driver::for_code_object(version) {
                Some((least, is_checked)) => {
                    // What loads the newest loads all before it.
                    let is_new = has.is_none_or(|has| newest.is_some_and(|newest| has.reaches(newest)));
                    (Some(least), (!is_checked && !is_new).then_some(OLD_ROCM))
                }
                None => (newest, Some(NEW_CODE_OBJECT)),
            },
        };
        (of_version.max(of_target), doubt)
    }
}

impl Device {
    /// Which of these abilities it is known to lack, by SYCL's name of it.
    fn lacking_aspect(&self, aspects: &[u32]) -> Option<&'static str> {
        /// SYCL's numbers of aspects that tell devices apart by their target.
        const CPU: u32 = 1;
        const ACCELERATOR: u32 = 3;
        const FP64: u32 = 6;
        let demands = |aspect| aspects.contains(&aspect);
        let gpu = intel::gpu_of_processor(&self.target.arch);
        let is_gpu = gpu.is_some() || self.target.family().needs_processor();
        if let Some(spirv) = &self.spirv
            && let Some(lacking) = ASPECTS
                .iter()
                .find(|aspect| demands(aspect.number) && !spirv.has(aspect))
        {
            return Some(lacking.name);
        }
        match () {
            () if is_gpu && demands(CPU) => Some("cpu"),
            () if is_gpu && demands(ACCELERATOR) => Some("accelerator"),
            () if gpu.is_some_and(|gpu| !gpu.has_fp64) && demands(FP64) => Some("fp64"),
            () => None,
        }
    }
}

impl Target {
    /// Why it is not certain that code which fits a device runs there.
    fn doubt(&self, runs: Run, device: &Self) -> Option<&'static str> {
        match self.family() {
            Family::Nvptx64 | Family::Nvptx32 if runs == Run::Native => {
                let (code, device) = (Processor::of(self)?, Processor::of(device)?);
                match () {
                    // Code for the very processor is certain, on Tegra and elsewhere.
                    () if code.chip() == device.chip() => None,
                    () if code.is_tegra() || device.is_tegra() => Some(TEGRA),
                    () if device.number == 107 => Some(UNDECIDED),
                    () if device.number == 88 || code.number == 88 => Some(NO_DEVICE_KNOWN),
                    () => None,
                }
            }
            Family::Amdgcn if self.unmet_demand(device).is_some() => Some(OPEN_FEATURE),
            Family::IntelGpu if self.processor().is_empty() => Some(UNSAID),
            Family::Spirv64 if device.family() == Family::Amdgcn => Some(JIT_BY_ROCM),
            _ => None,
        }
    }
}

impl DeviceImage<'_> {
    /// Whether devices to come have code by it: a driver compiles it, and it is not for one processor or one family
    /// alone, as PTX for `sm_90a` and `sm_100f` is.
    #[must_use]
    pub fn is_for_devices_to_come(&self) -> bool {
        let processor = Processor::of(&self.target).filter(|_| self.format == ImageFormat::Ptx);
        self.format.is_portable() && processor.is_none_or(|processor| processor.scope == Scope::Plain)
    }
}

impl ImageFormat {
    /// Whether a driver compiles it when it is loaded.
    #[must_use]
    pub fn is_portable(self) -> bool {
        matches!(self, Self::Spirv | Self::Ptx)
    }
}

#[cfg(test)]
mod tests {
    use super::super::SpirvSupport;
    use super::*;
    use crate::{Code, PropertySets};

    fn image(target: &str, format: ImageFormat) -> DeviceImage<'static> {
        let mut image = DeviceImage::of_format(Code::from(b"".as_slice()), format);
        image.target = Target::named(target);
        image
    }

    fn said(image: &DeviceImage<'_>, device: &str, driver: Option<&str>) -> String {
        let mut device = Device::named(device).unwrap();
        device.driver = driver.map(|driver| driver.parse().unwrap());
        image.runs_on(&device).to_string()
    }

    #[test]
    fn ptx_needs_a_driver_that_knows_its_version() {
        let mut ptx = image("sm_80", ImageFormat::Ptx);
        ptx.code_version = Some(CodeVersion { major: 8, minor: 3 });
        assert_eq!(said(&ptx, "h100", None), "JIT (driver 545.23 or later)");
        assert_eq!(
            said(&ptx, "h100", Some("535.54.03")),
            "no: its driver is 535.54.03, and it needs 545.23 or later"
        );
        assert_eq!(said(&ptx, "h100", Some("550")), "JIT (driver 545.23 or later)");
        ptx.code_version = Some(CodeVersion { major: 7, minor: 0 });
        assert_eq!(said(&ptx, "8.0", None), "JIT (driver 450.36 or later)");
        assert_eq!(said(&ptx, "8.0", Some("535")), "JIT (driver 450.36 or later)");
        assert_eq!(said(&ptx, "8.0", Some("470")), "JIT (driver 450.36 or later)");
        // Which driver first takes the newest was not checked.
        ptx.code_version = Some(CodeVersion { major: 9, minor: 4 });
        assert_eq!(
            said(&ptx, "8.0", Some("700")),
            "probably JIT (driver 616 or later)"
        );
        assert_eq!(said(&ptx, "t4", None), "no: it is for newer processors");
        // Of what is newer than the table only this is known: no driver of the table takes it.
        ptx.code_version = Some(CodeVersion { major: 99, minor: 0 });
        assert_eq!(
            said(&ptx, "h100", Some("550")),
            "probably no: its driver is 550, and it needs 616 or later"
        );
        assert_eq!(
            said(&ptx, "h100", Some("700")),
            "probably JIT (driver 616 or later)"
        );
    }

    #[test]
    fn ptx_for_one_processor_or_one_family_is_nothing_for_devices_to_come() {
        for (target, format, is_for_all) in [
            ("sm_80", ImageFormat::Ptx, true),
            ("sm_90a", ImageFormat::Ptx, false),
            ("sm_100f", ImageFormat::Ptx, false),
            ("sm_80", ImageFormat::Cubin, false),
            ("spir64", ImageFormat::Spirv, true),
        ] {
            assert_eq!(
                image(target, format).is_for_devices_to_come(),
                is_for_all,
                "{target} {format}"
            );
        }
    }

    #[test]
    fn a_feature_that_a_device_leaves_open_is_a_doubt() {
        let code = image("gfx90a:xnack-", ImageFormat::Amdgpu);
        assert_eq!(said(&code, "mi250x", None), "probably native");
        assert_eq!(said(&code, "gfx90a:xnack-", None), "native");
        assert!(said(&code, "gfx90a:xnack+", None).starts_with("no: `xnack`"));
    }

    #[test]
    fn code_objects_need_a_rocm_that_knows_their_version() {
        let object = |target, major| {
            let mut code = image(target, ImageFormat::Amdgpu);
            code.code_version = Some(CodeVersion { major, minor: 0 });
            code
        };
        let new = object("gfx90a", 6);
        assert_eq!(said(&new, "gfx90a", None), "native (driver ROCm 6.3 or later)");
        assert_eq!(
            said(&new, "gfx90a", Some("6.2.4")),
            "no: its driver is ROCm 6.2.4, and it needs ROCm 6.3 or later"
        );
        // NVIDIA's driver says nothing of ROCm.
        assert!(said(&new, "gfx90a", Some("535")).starts_with("native"));
        let old = object("gfx90a", 4);
        assert_eq!(
            said(&old, "gfx90a", Some("6.3")),
            "native (driver ROCm 4.1 or later)"
        );
        assert_eq!(
            said(&old, "gfx90a", Some("5.7")),
            "probably native (driver ROCm 4.1 or later)"
        );
        let generic = object("gfx9-4-generic", 6);
        assert_eq!(
            said(&generic, "mi300x", None),
            "native (driver ROCm 6.4 or later)"
        );
        assert_eq!(
            said(&object("gfx90a", 9), "gfx90a", None),
            "probably native (driver ROCm 6.3 or later)"
        );
    }

    #[test]
    fn entries_compressed_by_zstd_need_a_driver_that_reads_them() {
        let code = Code::compressed(b"", Compression::Zstd, 1, |_, _, _| Ok(vec![0]));
        let mut cubin = DeviceImage::of_format(code, ImageFormat::Cubin);
        cubin.target = Target::named("sm_80");
        cubin.container = ContainerKind::Fatbin;
        assert_eq!(said(&cubin, "a10", None), "native (driver 550.54.14 or later)");
        assert!(said(&cubin, "a10", Some("535")).starts_with("no: its driver is 535"));
        // A package that is compressed as a whole is unpacked before a driver sees the fatbin.
        cubin.code = Code::within(b"", Compression::Zstd);
        assert_eq!(said(&cubin, "a10", Some("535")), "native");
    }

    #[test]
    fn what_is_not_promised_is_probable() {
        let cubin = |arch| image(arch, ImageFormat::Cubin);
        assert_eq!(said(&cubin("sm_80"), "sm_86", None), "native");
        assert_eq!(said(&cubin("sm_80"), "orin", None), "probably native");
        assert_eq!(said(&cubin("sm_87"), "orin", None), "native");
        // What CUDA 12 called 10.1.
        assert_eq!(said(&cubin("sm_101"), "thor", None), "native");
        assert_eq!(said(&cubin("sm_100"), "sm_103", None), "native");
    }

    #[test]
    fn intel_gpus_run_what_was_made_for_them_and_spirv() {
        let native = |arch: &str| {
            let mut image = image("spir64_gen", ImageFormat::Zebin);
            image.target.arch = arch.into();
            image
        };
        assert_eq!(said(&native("12.60.7"), "intel_gpu_pvc", None), "native");
        assert_eq!(said(&native("pvc"), "max1550", None), "native");
        assert_eq!(said(&native("acm_g10"), "intel_gpu_acm_g11", None), "native");
        assert_eq!(
            said(&native("acm_g11"), "intel_gpu_acm_g10", None),
            "no: it is for another processor"
        );
        assert_eq!(said(&native(""), "intel_gpu_pvc", None), "probably native");
        let mut spirv = image("spir64", ImageFormat::Spirv);
        assert_eq!(said(&spirv, "b580", None), "JIT");
        let mut properties = PropertySets::new();
        properties.insert(DEVICE_REQUIREMENTS, "aspects", [6_u32].as_slice());
        spirv.properties = properties;
        assert_eq!(said(&spirv, "a770", None), "no: the device has no fp64");
        assert_eq!(said(&spirv, "max1100", None), "JIT");
        let mut properties = PropertySets::new();
        properties.insert(DEVICE_REQUIREMENTS, "aspects", [1_u32].as_slice());
        spirv.properties = properties;
        assert_eq!(
            said(&spirv, "max1100", None),
            "no: it demands that the device is of the kind `cpu`"
        );
    }

    #[test]
    fn a_device_takes_spirv_as_far_as_its_driver_says() {
        let mut spirv = image("spir64", ImageFormat::Spirv);
        spirv.code_version = Some(CodeVersion { major: 1, minor: 6 });
        assert_eq!(said(&spirv, "b580", None), "probably JIT");
        let mut device = Device::new(Target::named("spirv64"));
        let mut says = |il_version: &str, extensions: &[&str], spirv: &DeviceImage<'_>| {
            let extensions = extensions.iter().map(|&name| name.to_owned()).collect();
            device.spirv = Some(SpirvSupport::new(il_version, extensions));
            spirv.runs_on(&device).to_string()
        };
        assert_eq!(says("SPIR-V_1.6 SPIR-V_1.0", &[], &spirv), "JIT");
        assert_eq!(
            says("SPIR-V_1.4", &[], &spirv),
            "no: it is SPIR-V 1.6, and the device takes none after 1.4"
        );
        assert_eq!(says("", &[], &spirv), "no: the device takes no SPIR-V");
        let mut properties = PropertySets::new();
        properties.insert(DEVICE_REQUIREMENTS, "aspects", [5_u32, 27].as_slice());
        spirv.properties = properties;
        let atomics = ["cl_khr_int64_base_atomics", "cl_khr_int64_extended_atomics"];
        assert_eq!(says("SPIR-V_1.6", &atomics, &spirv), "no: the device has no fp16");
        let all = [atomics[0], atomics[1], "cl_khr_fp16"];
        assert_eq!(
            says("SPIR-V_1.6", &all[1..], &spirv),
            "no: the device has no atomic64"
        );
        assert_eq!(says("SPIR-V_1.6", &all, &spirv), "JIT");
    }

    #[test]
    fn code_may_say_itself_what_it_needs() {
        let spirv = image("spir64", ImageFormat::Spirv);
        let said =
            |aspects: &[u32], device: &Device| spirv.runs_on(device).with_needs(aspects, device).to_string();
        let [with, without] = ["max1100", "a770"].map(|name| Device::named(name).unwrap());
        assert_eq!(said(&[6], &with), "JIT");
        assert_eq!(said(&[6], &without), "no: the device has no fp64");
        assert_eq!(said(&[], &without), "JIT");
        let unread = |device: &Device| spirv.runs_on(device).with_unknown_needs(device).to_string();
        assert_eq!(unread(&without), "probably JIT");
        assert_eq!(unread(&with), "JIT");
        let mut asked = Device::new(Target::named("spirv64"));
        // Nobody has asked it.
        assert_eq!(said(&[5], &asked), "JIT");
        asked.spirv = Some(SpirvSupport::new("SPIR-V_1.4", vec!["cl_khr_fp64".to_owned()]));
        assert_eq!(said(&[5], &asked), "no: the device has no fp16");
        assert_eq!(said(&[6], &asked), "JIT");
        // What it does not run anyway, it does not run for that reason.
        let cubin = image("sm_80", ImageFormat::Cubin);
        let verdict = cubin.runs_on(&asked);
        assert_eq!(verdict.clone().with_needs(&[5], &asked), verdict);
    }

    #[test]
    fn rocm_compiles_spirv_for_its_devices() {
        let spirv = image("amdgcnspirv", ImageFormat::Spirv);
        assert_eq!(said(&spirv, "mi300x", None), "probably JIT");
        assert_eq!(
            said(&image("spir64", ImageFormat::Spirv), "mi300x", None),
            "no: it is for another architecture"
        );
    }
}
