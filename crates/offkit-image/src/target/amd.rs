//! AMD's processors: their names, and what is common to several of them.

use super::Target;

/// What stands before the number of a processor.
const PREFIX: &str = "gfx";

/// The processor of SPIR-V that ROCm compiles when it loads it, for any of AMD's: `spirv64-amd-amdhsa`.
pub const SPIRV_PROCESSOR: &str = "amdgcnspirv";

/// AMD's generic targets and the processors whose code they can stand for, as LLVM 22 has them (`AMDGPUUsage`,
/// "Generic processors"). 908 and 90a are in none.
const GENERIC: [(&str, &[&str]); 6] = [
    (
        "gfx9-generic",
        &["gfx900", "gfx902", "gfx904", "gfx906", "gfx909", "gfx90c"],
    ),
    ("gfx9-4-generic", &["gfx940", "gfx941", "gfx942", "gfx950"]),
    ("gfx10-1-generic", &["gfx1010", "gfx1011", "gfx1012", "gfx1013"]),
    (
        "gfx10-3-generic",
        &[
            "gfx1030", "gfx1031", "gfx1032", "gfx1033", "gfx1034", "gfx1035", "gfx1036",
        ],
    ),
    (
        "gfx11-generic",
        &[
            "gfx1100", "gfx1101", "gfx1102", "gfx1103", "gfx1150", "gfx1151", "gfx1152", "gfx1153",
        ],
    ),
    ("gfx12-generic", &["gfx1200", "gfx1201"]),
];

/// `EF_AMDGPU_MACH`, the lowest byte of `e_flags`, as LLVM 22 has it (`BinaryFormat/ELF.h`).
const MACHINES: &[(u8, &str)] = &[
    (0x20, "gfx600"),
    (0x21, "gfx601"),
    (0x22, "gfx700"),
    (0x23, "gfx701"),
    (0x24, "gfx702"),
    (0x25, "gfx703"),
    (0x26, "gfx704"),
    (0x28, "gfx801"),
    (0x29, "gfx802"),
    (0x2a, "gfx803"),
    (0x2b, "gfx810"),
    (0x2c, "gfx900"),
    (0x2d, "gfx902"),
    (0x2e, "gfx904"),
    (0x2f, "gfx906"),
    (0x30, "gfx908"),
    (0x31, "gfx909"),
    (0x32, "gfx90c"),
    (0x33, "gfx1010"),
    (0x34, "gfx1011"),
    (0x35, "gfx1012"),
    (0x36, "gfx1030"),
    (0x37, "gfx1031"),
    (0x38, "gfx1032"),
    (0x39, "gfx1033"),
    (0x3a, "gfx602"),
    (0x3b, "gfx705"),
    (0x3c, "gfx805"),
    (0x3d, "gfx1035"),
    (0x3e, "gfx1034"),
    (0x3f, "gfx90a"),
    (0x41, "gfx1100"),
    (0x42, "gfx1013"),
    (0x43, "gfx1150"),
    (0x44, "gfx1103"),
    (0x45, "gfx1036"),
    (0x46, "gfx1101"),
    (0x47, "gfx1102"),
    (0x48, "gfx1200"),
    (0x49, "gfx1250"),
    (0x4a, "gfx1151"),
    (0x4c, "gfx942"),
    (0x4e, "gfx1201"),
    (0x4f, "gfx950"),
    (0x51, "gfx9-generic"),
    (0x52, "gfx10-1-generic"),
    (0x53, "gfx10-3-generic"),
    (0x54, "gfx11-generic"),
    (0x55, "gfx1152"),
    (0x58, "gfx1153"),
    (0x59, "gfx12-generic"),
    (0x5a, "gfx1251"),
    (0x5f, "gfx9-4-generic"),
];

/// The processors of devices, from `gfx900` on, as ROCm has them.
pub(super) fn devices() -> Vec<String> {
    let names = MACHINES.iter().map(|(_, name)| *name);
    let mut names: Vec<_> = names
        // Names with three digits compare as numbers do; those with four are all newer.
        .filter(|name| !(name.ends_with("generic") || name.len() == 6 && *name < "gfx900"))
        .collect();
    names.sort_by_key(|name| (name.len(), *name));
    names.into_iter().map(str::to_owned).collect()
}

/// What stands behind `gfx`.
pub(super) fn number_of(arch: &str) -> Option<&str> {
    arch.strip_prefix(PREFIX)
}

/// The processor in the flags of a code object's ELF header.
#[must_use]
pub fn processor_of_machine(machine: u8) -> Option<&'static str> {
    /// By number. A search takes a turn at each step that no processor can predict: 3 % of listing 100,000 images for
    /// several devices.
    const NAMES: [Option<&str>; 256] = {
        let mut names = [None; 256];
        let mut rest = MACHINES;
        while let [(number, name), more @ ..] = rest {
            names[*number as usize] = Some(*name);
            rest = more;
        }
        names
    };
    NAMES.get(usize::from(machine)).copied().flatten()
}

/// Whether LLVM 22 has a processor of that name.
#[must_use]
pub fn is_processor(name: &str) -> bool {
    MACHINES.iter().any(|(_, known)| *known == name)
}

/// Whether a processor's name may demand a feature, written as there: `xnack-`.
pub(super) fn is_demand(feature: &str) -> bool {
    let name = feature.strip_suffix(['+', '-']);
    name.is_some_and(|name| FEATURES.contains(&name))
}

/// The processor of a version of the instruction set: `gfx90a` for 9, 0, 10.
#[must_use]
pub fn processor_of_version(major: u32, minor: u32, stepping: u32) -> String {
    format!("{PREFIX}{major}{minor:x}{stepping:x}")
}

/// The generic target whose code runs on a processor.
#[must_use]
pub fn generic_of(processor: &str) -> Option<&'static str> {
    let generic = GENERIC
        .iter()
        .find(|(_, processors)| processors.contains(&processor));
    generic.map(|(name, _)| *name)
}

/// Whether a processor's name is that of a generic target.
#[must_use]
pub fn is_generic(processor: &str) -> bool {
    GENERIC.iter().any(|(name, _)| *name == processor)
}

/// The major version of a processor's instruction set: 9 of `gfx90a` and of `gfx9-generic`.
#[must_use]
pub fn generation(processor: &str) -> Option<u32> {
    let number = number_of(processor)?;
    let major = match number.split_once('-') {
        Some((major, _)) => major,
        // Minor version and stepping are one digit each, hexadecimal as in `gfx90a`.
        None => number.get(..number.len().checked_sub(2)?)?,
    };
    major.parse().ok()
}

/// The features that a processor's name may demand to be on or off.
const FEATURES: [&str; 2] = ["sramecc", "xnack"];

/// A feature as a processor's name demands it, `xnack-`, from how LLVM writes it, `-xnack`; none for those that are no
/// part of such names.
#[must_use]
pub fn demanded(llvm_feature: &str) -> Option<String> {
    let name = llvm_feature.strip_prefix(['+', '-'])?;
    let sign = llvm_feature.get(..1)?;
    FEATURES.contains(&name).then(|| format!("{name}{sign}"))
}

/// The number of work-items in a wavefront, unless code says otherwise: 64 up to `gfx9`, 32 later.
#[must_use]
pub fn wavefront_size(target: &Target) -> u32 {
    let says = |name: &str| {
        let mut features = target.features.iter();
        // LLVM writes the sign in front, targets have it behind.
        features.any(|feature| feature.trim_matches('+') == name)
    };
    let number = number_of(&target.arch).unwrap_or_default();
    // Up to gfx9 the numbers have three digits, from gfx10 on four.
    let is_old = number.len() <= 3 || number.starts_with("9-");
    if (is_old && !says("wavefrontsize32")) || says("wavefrontsize64") {
        64
    } else {
        32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_machine_is_found_by_its_number() {
        for (number, name) in MACHINES {
            assert_eq!(processor_of_machine(*number), Some(*name));
        }
        assert_eq!(processor_of_machine(0x40), None);
    }

    #[test]
    fn wavefronts_became_smaller() {
        let size = |arch: &str| wavefront_size(&Target::new("amdgcn-amd-amdhsa", arch));
        for arch in [
            "gfx90a",
            "gfx906:xnack+",
            "gfx9-4-generic",
            "gfx1030:wavefrontsize64+",
        ] {
            assert_eq!(size(arch), 64, "{arch}");
        }
        for arch in ["gfx1030", "gfx11-generic", "gfx900:wavefrontsize32+"] {
            assert_eq!(size(arch), 32, "{arch}");
        }
    }

    #[test]
    fn generations_are_what_is_before_the_last_two_digits() {
        for (processor, expected) in [
            ("gfx803", 8),
            ("gfx90a", 9),
            ("gfx9-4-generic", 9),
            ("gfx10-3-generic", 10),
            ("gfx1201", 12),
        ] {
            assert_eq!(generation(processor), Some(expected), "{processor}");
        }
        assert_eq!(generation("sm_90"), None);
    }

    #[test]
    fn every_member_of_a_generic_target_has_a_name_of_its_own() {
        for (generic, members) in GENERIC {
            assert!(Target::is_processor_name(generic), "{generic}");
            assert!(MACHINES.iter().any(|(_, name)| *name == generic), "{generic}");
            for member in members {
                assert_eq!(generic_of(member), Some(generic));
            }
        }
        assert_eq!(generic_of("gfx90a"), None);
    }

    #[test]
    fn versions_are_written_as_numbers_of_16() {
        assert_eq!(processor_of_version(9, 0, 10), "gfx90a");
        assert_eq!(processor_of_version(10, 3, 0), "gfx1030");
        assert_eq!(processor_of_machine(0x3f), Some("gfx90a"));
        assert_eq!(processor_of_machine(0), None);
    }
}
