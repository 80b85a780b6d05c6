//! Devices, as far as they decide which code runs on them, and the products that people name them by.

use std::fmt;

use super::{DriverVersion, Family, SpirvSupport, Target, amd, intel, nvidia, triples};

/// A device that code is to run on.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Device {
    /// What code is compiled for it as.
    pub target: Target,
    /// The version of its driver, of AMD's devices that of ROCm, if that is known. Without it every driver is taken to be
    /// new enough.
    pub driver: Option<DriverVersion>,
    /// What its driver says of SPIR-V, if it was asked. Without that it is taken to compile all.
    pub spirv: Option<SpirvSupport>,
    /// What it is called, where that is not its target.
    pub name: Option<String>,
}

impl Device {
    /// A device of which nothing is known but its target.
    #[must_use]
    pub fn new(target: Target) -> Self {
        Self {
            target,
            driver: None,
            spirv: None,
            name: None,
        }
    }

    /// The device of NVIDIA's with a compute capability, as its driver tells it: 9 and 0.
    ///
    /// ```
    /// use offkit_image::target::Device;
    ///
    /// assert_eq!(Device::of_capability(9, 0), Device::named("h100").unwrap());
    /// assert_eq!(Device::of_capability(12, 1).target.arch, "sm_121");
    /// ```
    #[must_use]
    pub fn of_capability(major: u32, minor: u32) -> Self {
        Self::new(Target::named(&format!("sm_{major}{minor}")))
    }

    /// The device that a word means: a product (`h100`, `mi300x`, `b580`), a compute capability (`9.0`), or a target as
    /// [`Target::named`] takes it. `None` for a word that is none of these.
    ///
    /// ```
    /// use offkit_image::target::Device;
    ///
    /// let device = |name| Device::named(name).map(|device| device.target.arch.to_string());
    /// assert_eq!(device("H100").as_deref(), Some("sm_90"));
    /// assert_eq!(device("8.6").as_deref(), Some("sm_86"));
    /// assert_eq!(device("gfx90a:xnack+").as_deref(), Some("gfx90a"));
    /// assert_eq!(device("a1000000"), None);
    /// ```
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        let lower: String = name.to_ascii_lowercase().replace([' ', '-'], "");
        let product = PRODUCTS
            .iter()
            .find(|(_, products)| products.contains(&lower.as_str()));
        if let Some((target, _)) = product {
            return Some(Self::new(Target::named(target)));
        }
        let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        if let Some((major, minor)) = name.split_once('.')
            && is_number(major)
            && is_number(minor.strip_suffix(['a', 'f']).unwrap_or(minor))
        {
            let arch = format!("sm_{major}{minor}");
            let processor = nvidia::Processor::parse(&arch)?;
            // The second part has one digit, and nothing begins with 0.
            let is_usual = minor.trim_end_matches(['a', 'f']).len() == 1 && processor.to_string() == arch;
            return (is_usual && processor.is_device()).then(|| Self::new(Target::named(&arch)));
        }
        // Before `Target::named`, which takes every word that it does not know for a triple.
        if let Some(gpu) = intel::gpu_of_processor(name) {
            return Some(Self::new(Target::named(&format!(
                "{}{}",
                intel::PREFIX,
                gpu.name
            ))));
        }
        let target = Target::named(name);
        let is_intel = intel::gpu_of_target(name).is_some();
        let is_device = nvidia::Processor::of(&target).is_some_and(nvidia::Processor::is_device);
        // With Intel's prefix any word becomes a target of SPIR-V, which is known: there only the
        // table of GPUs finds what is misspelt.
        (is_intel || (is_device || target.is_known()) && !name.starts_with(intel::PREFIX))
            .then(|| Self::new(target))
    }
}

impl Device {
    /// The devices of a family that are known, by their processors.
    #[must_use]
    pub fn known(family: Family) -> Vec<Self> {
        let of = |names: Vec<String>, triple: &str| {
            let devices = names
                .into_iter()
                .map(|name| Self::new(Target::new(triple, &name)));
            devices.collect()
        };
        match family {
            Family::Nvptx64 | Family::Nvptx32 => of(nvidia::devices(), triples::NVPTX64),
            Family::Amdgcn => of(amd::devices(), triples::AMDHSA),
            // By the code that their drivers compile: `Target::runs_on` expects them under SPIR-V.
            Family::IntelGpu => {
                let names = intel::GPUS.iter().map(|gpu| gpu.name.to_owned());
                of(names.collect(), triples::SPIRV64)
            }
            _ => Vec::new(),
        }
    }
}

impl fmt::Display for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(name) = &self.name {
            return f.pad(name);
        }
        let arch = self.target.arch_with_features();
        let is_intel = self.target.family() == Family::Spirv64 && intel::gpu_of_processor(&arch).is_some();
        f.pad(&match arch.is_empty() {
            true => self.target.triple.to_string(),
            // As it is asked for.
            false if is_intel => format!("{}{arch}", intel::PREFIX),
            false => arch,
        })
    }
}

/// What products are, in lower case without spaces and hyphens.
///
/// NVIDIA's from its list of compute capabilities and AMD's from ROCm's list of GPUs, both from memory; Intel's from
/// its compute runtime of August 2026.
const PRODUCTS: &[(&str, &[&str])] = &[
    ("sm_52", &["m40", "m60"]),
    ("sm_60", &["p100"]),
    ("sm_61", &["p4", "p40", "gtx1080", "gtx1080ti"]),
    ("sm_70", &["v100", "titanv"]),
    ("sm_72", &["xavier"]),
    ("sm_75", &["t4", "rtx2080", "rtx2080ti"]),
    ("sm_80", &["a100", "a30", "a800"]),
    (
        "sm_86",
        &[
            "a10", "a10g", "a2", "a16", "a40", "rtx3090", "rtx3080", "rtxa6000",
        ],
    ),
    ("sm_87", &["orin"]),
    (
        "sm_89",
        &["l4", "l40", "l40s", "rtx4090", "rtx4080", "rtx6000ada"],
    ),
    ("sm_90", &["h100", "h200", "h800", "h20", "gh200"]),
    ("sm_100", &["b100", "b200", "gb200"]),
    ("sm_103", &["b300", "gb300"]),
    ("sm_110", &["thor"]),
    ("sm_120", &["rtx5090", "rtx5080", "rtxpro6000"]),
    ("sm_121", &["gb10", "dgxspark"]),
    ("gfx900", &["mi25"]),
    ("gfx906", &["mi50", "mi60", "radeonvii"]),
    ("gfx908", &["mi100"]),
    ("gfx90a", &["mi200", "mi210", "mi250", "mi250x"]),
    ("gfx942", &["mi300a", "mi300x", "mi325x"]),
    ("gfx950", &["mi350x", "mi355x"]),
    ("gfx1030", &["rx6800", "rx6900xt"]),
    ("gfx1100", &["rx7900xt", "rx7900xtx"]),
    ("gfx1151", &["strixhalo"]),
    ("gfx1201", &["rx9070", "rx9070xt"]),
    ("intel_gpu_acm_g10", &["a770", "a750", "flex170"]),
    ("intel_gpu_acm_g11", &["a380", "a310", "flex140"]),
    ("intel_gpu_pvc", &["max1100", "max1350", "max1550"]),
    ("intel_gpu_bmg_g21", &["b580", "b570", "probb50", "probb60"]),
    ("intel_gpu_lnl_m", &["lunarlake"]),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn products_are_devices_that_are_known() {
        for (target, products) in PRODUCTS {
            for product in *products {
                let device = Device::named(product).unwrap();
                assert_eq!(device.target, Target::named(target), "{product}");
            }
            assert!(Device::named(target).is_some(), "{target}");
        }
        for family in [Family::Nvptx64, Family::Amdgcn, Family::IntelGpu] {
            for device in Device::known(family) {
                // Both what it is shown as and its processor's own name.
                let named = Device::named(&device.to_string()).unwrap();
                assert_eq!(named.to_string(), device.to_string());
                let arch = &device.target.arch;
                assert_eq!(Device::named(arch).unwrap().to_string(), device.to_string());
            }
        }
        for (name, arch) in [
            ("9.0", "sm_90"),
            ("9.0a", "sm_90a"),
            ("10.7", "sm_107"),
            ("12.1", "sm_121"),
        ] {
            assert_eq!(Device::named(name).unwrap().target.arch, arch);
        }
        for name in ["9.7", "8.60", "9.0aaf", "09.0", "9.", "9.a", "8.6a", "sm_97"] {
            assert_eq!(Device::named(name), None, "{name}");
        }
        for wrong in ["sm_9O", "gfx9a0", "intel_gpu_none", "", "9.", "h1000"] {
            assert_eq!(Device::named(wrong), None, "{wrong}");
        }
        assert_eq!(Device::named("RTX 4090").unwrap().to_string(), "sm_89");
        for name in ["bdw", "intel_gpu_bdw", "8.0.0"] {
            assert_eq!(Device::named(name).unwrap().to_string(), "intel_gpu_bdw");
        }
    }
}
