//! Intel's GPUs: the names of the targets `intel_gpu_…`, and what is known of each.

/// What stands before a GPU's name where it is a target of SYCL's compilers.
pub const PREFIX: &str = "intel_gpu_";

/// A GPU that SYCL's compilers can compile for ahead of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gpu {
    /// Its name, behind `intel_gpu_`.
    pub name: &'static str,
    /// Its other names: older ones, those of GPUs of the same kind, and the versions that drivers report, first the one
    /// that clang compiles for.
    pub others: &'static [&'static str],
    /// Whether it computes with 64-bit floating-point numbers.
    pub has_fp64: bool,
    /// The sizes of sub-groups that it runs.
    pub sub_group_sizes: &'static [u32],
}

const UP_TO_XE: &[u32] = &[8, 16, 32];
const FROM_XE_HPC: &[u32] = &[16, 32];

const fn gpu(
    name: &'static str,
    others: &'static [&'static str],
    has_fp64: bool,
    sub_group_sizes: &'static [u32],
) -> Gpu {
    Gpu {
        name,
        others,
        has_fp64,
        sub_group_sizes,
    }
}

/// The GPUs, oldest first, by DPC++'s extension `sycl_ext_oneapi_device_architecture` and its device configuration; what
/// Intel's compute runtime of August 2026 has otherwise or besides, from its `platforms.h`.
pub const GPUS: &[Gpu] = &[
    gpu("bdw", &["8_0_0"], true, UP_TO_XE),
    gpu("skl", &["9_0_9"], true, UP_TO_XE),
    gpu("kbl", &["9_1_9"], true, UP_TO_XE),
    gpu("cfl", &["9_2_9"], true, UP_TO_XE),
    gpu("apl", &["bxt", "9_3_0"], true, UP_TO_XE),
    gpu("glk", &["9_4_0"], true, UP_TO_XE),
    gpu("whl", &["9_5_0"], true, UP_TO_XE),
    gpu("aml", &["9_6_0"], true, UP_TO_XE),
    gpu("cml", &["9_7_0"], true, UP_TO_XE),
    gpu("icllp", &["icl", "11_0_0"], false, UP_TO_XE),
    gpu("ehl", &["jsl", "11_2_0"], false, UP_TO_XE),
    gpu("tgllp", &["tgl", "12_0_0"], false, UP_TO_XE),
    gpu("rkl", &["12_1_0"], false, UP_TO_XE),
    gpu("adl_s", &["rpl_s", "12_2_0"], false, UP_TO_XE),
    gpu("adl_p", &["rpl_p", "12_3_0"], false, UP_TO_XE),
    gpu("adl_n", &["12_4_0"], false, UP_TO_XE),
    gpu("dg1", &["12_10_0"], false, UP_TO_XE),
    gpu("acm_g10", &["dg2_g10", "12_55_8"], false, UP_TO_XE),
    gpu("acm_g11", &["dg2_g11", "12_56_5"], false, UP_TO_XE),
    gpu("acm_g12", &["dg2_g12", "12_57_0"], false, UP_TO_XE),
    gpu("pvc", &["12_60_7"], true, FROM_XE_HPC),
    gpu("pvc_vg", &["12_61_7"], true, FROM_XE_HPC),
    gpu("mtl_u", &["mtl_s", "arl_u", "arl_s", "12_70_4"], true, UP_TO_XE),
    gpu("mtl_h", &["12_71_4"], true, UP_TO_XE),
    gpu("arl_h", &["12_74_4"], true, UP_TO_XE),
    // Battlemage and Lunar Lake.
    gpu("bmg_g21", &["20_1_4", "20_1_0"], true, FROM_XE_HPC),
    gpu("bmg_g31", &["20_2_0"], true, FROM_XE_HPC),
    gpu("lnl_m", &["20_4_4"], true, FROM_XE_HPC),
    // Panther Lake, Wildcat Lake, Nova Lake, Crescent Island. Of nvl_p only 35.10 is known, and no revision.
    gpu("ptl_h", &["30_0_4"], true, FROM_XE_HPC),
    gpu("ptl_u", &["30_1_1", "30_1_0"], true, FROM_XE_HPC),
    gpu("wcl", &["30_3_0", "30_3_1"], true, FROM_XE_HPC),
    gpu("nvl_s", &["nvl_hx", "nvl_ul", "30_4_4"], true, FROM_XE_HPC),
    gpu("nvl_u", &["nvl_h", "30_5_4"], true, FROM_XE_HPC),
    gpu("nvl_p", &[], true, FROM_XE_HPC),
    gpu("cri", &["35_11_0"], true, FROM_XE_HPC),
];

/// Pairs of versions: the code's, and those of other GPUs that run it. Nothing else does, not even another revision
/// (Intel's compute runtime, `compatible devices` of each product, read in August 2026).
const COMPATIBLE: &[(Version, &[Version])] = &[
    ((12, 55, 8), &[(12, 56, 5), (12, 57, 0)]),
    ((12, 70, 4), &[(12, 71, 4)]),
    ((20, 1, 0), &[(20, 1, 4), (20, 2, 0), (20, 4, 4)]),
    ((20, 1, 1), &[(20, 1, 0), (20, 1, 4), (20, 2, 0), (20, 4, 4)]),
    ((20, 1, 4), &[(20, 1, 0), (20, 2, 0), (20, 4, 4)]),
    (
        (30, 0, 4),
        &[(30, 1, 0), (30, 1, 1), (30, 3, 1), (30, 4, 4), (30, 5, 4)],
    ),
];

/// What a GPU's driver reports as the version of its hardware: architecture, release, revision.
type Version = (u32, u32, u32);

/// The GPU that a target's name means: `intel_gpu_bmg_g21`, `intel_gpu_20_1_4`.
#[must_use]
pub fn gpu_of_target(target: &str) -> Option<&'static Gpu> {
    gpu_of_processor(target.strip_prefix(PREFIX)?)
}

/// The GPU that a processor's name means, in any spelling: `bmg_g21`, `bmg-g21`, `20.1.4`.
#[must_use]
pub fn gpu_of_processor(name: &str) -> Option<&'static Gpu> {
    // SYCL's compilers write `bmg_g21` and `20_1_4`, Intel's `ocloc` has `bmg-g21` and `20.1.4`.
    let name = name.replace(['-', '.'], "_");
    GPUS.iter()
        .find(|gpu| gpu.name == name || gpu.others.contains(&name.as_str()))
}

/// The versions that a processor's name may mean.
fn versions_of(name: &str) -> Vec<Version> {
    let parse = |text: &str| {
        let mut numbers = text.split(['.', '_']).map(|number| number.parse::<u32>().ok());
        match (numbers.next()?, numbers.next()?, numbers.next()?, numbers.next()) {
            (Some(architecture), Some(release), Some(revision), None) => {
                Some((architecture, release, revision))
            }
            _ => None,
        }
    };
    // A version counts as it is, for the table need not have it: drivers report revisions that no
    // compiler names.
    match parse(name) {
        Some(version) => vec![version],
        None => {
            let others = gpu_of_processor(name).map_or(&[][..], |gpu| gpu.others);
            others.iter().copied().filter_map(parse).collect()
        }
    }
}

/// Whether two names mean one processor.
pub(super) fn is_same(one: &str, other: &str) -> bool {
    let versions = versions_of(other);
    one == other || versions_of(one).iter().any(|version| versions.contains(version))
}

/// Whether machine code for one of these processors runs on the other.
pub(super) fn runs_on(code: &str, device: &str) -> bool {
    if code == device {
        return true;
    }
    let (codes, devices) = (versions_of(code), versions_of(device));
    // Where one side has no version, only the names are left.
    if codes.is_empty() || devices.is_empty() {
        let gpu = gpu_of_processor(code);
        return gpu.is_some() && gpu == gpu_of_processor(device);
    }
    let takes = |device: &Version| {
        let mut compatible = COMPATIBLE.iter().filter(|(own, _)| codes.contains(own));
        codes.contains(device) || compatible.any(|(_, others)| others.contains(device))
    };
    // A name may stand for several revisions, and nobody says which of them is there: one that
    // takes the code will do.
    devices.iter().any(takes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_of_drivers_and_of_compilers_mean_one_gpu() {
        for (code, device, runs) in [
            ("30_1_0", "ptl_u", true),
            ("30.1.1", "ptl_u", true),
            ("ptl_h", "ptl_u", true),
            ("ptl_h", "wcl", true),
            ("ptl_h", "nvl_s", true),
            ("ptl_h", "cri", false),
            ("35.11.0", "cri", true),
            ("bmg_g21", "lnl_m", true),
            ("20.1.0", "bmg_g21", true),
            ("lnl_m", "bmg_g21", false),
            ("nvl_p", "nvl_p", true),
            ("wcl", "nvl_p", false),
        ] {
            assert_eq!(runs_on(code, device), runs, "{code} on {device}");
        }
    }
}
