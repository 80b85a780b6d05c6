//! NVIDIA's processors: their names, and whose code runs on whom.

use std::fmt;

use super::Target;
use super::fit::Misfit;

/// What stands before the number of a real processor.
const REAL: &str = "sm_";

/// What stands before the number of the processor that PTX is for.
const VIRTUAL: &str = "compute_";

/// The numbers of the processors that LLVM 22 generates code for, from the oldest on that CUDA 12 knows
/// (`llc -march=nvptx64 -mcpu=help`).
const NUMBERS: [u32; 21] = [
    50, 52, 53, 60, 61, 62, 70, 72, 75, 80, 86, 87, 88, 89, 90, 100, 101, 103, 110, 120, 121,
];

/// Those before them, for which LLVM 22 generates code still.
const OLD_NUMBERS: [u32; 6] = [20, 21, 30, 32, 35, 37];

/// A device's that is newer than LLVM 22.
const NEWEST: u32 = 107;

/// From these numbers on there are processors of the kinds `a` and `f`.
const FIRST_ONLY: u32 = 90;
const FIRST_FAMILY: u32 = 100;

/// The families whose members run each other's code of the kind `f`, from the older on to the newer, as CUDA
/// 13's ptxas accepts `.target sm_NNNf`. 101 is what CUDA called 110 before version 13.
const FAMILIES: [&[u32]; 3] = [&[100, 103, 107], &[101, 110], &[120, 121]];

/// The processors of Tegra, whose compatibility NVIDIA promises with the very same number only (CUDA's guide, "Binary
/// Compatibility"). 101 became 110.
const TEGRA: [u32; 6] = [53, 62, 72, 87, 101, 110];

/// Versions of PTX, times ten, up to a processor's number: the first row that reaches it counts. Each is the oldest
/// that LLVM 22 accepts for all processors of the row (`clang -march=… --cuda-feature=+ptx…`), but for 6x and 70,
/// whose instructions for synchronising a warp are newer.
const PTX_VERSIONS: [(u32, u32); 10] = [
    (69, 60),
    (72, 61),
    (75, 63),
    (80, 70),
    (86, 71),
    (87, 74),
    (90, 78),
    (109, 88),
    (110, 90),
    (u32::MAX, 88),
];

/// For which devices of those that can run a processor's code it really is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Scope {
    /// For that processor and newer ones.
    Plain,
    /// `f`: for its family.
    Family,
    /// `a`: for that processor only.
    Only,
}

/// A processor of NVIDIA's, as `sm_90a` and `compute_90a` name it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Processor {
    /// Its compute capability, times ten: 90 for 9.0.
    pub number: u32,
    /// What the letter behind it says.
    pub scope: Scope,
}

/// What stands behind `sm_` or `compute_`.
pub(super) fn number_of(arch: &str) -> Option<&str> {
    arch.strip_prefix(REAL).or_else(|| arch.strip_prefix(VIRTUAL))
}

/// The processors of devices that are known. No device has 88, and 101 is 110; 107 is newer than LLVM 22.
pub(super) fn devices() -> Vec<String> {
    let known = NUMBERS.iter().filter(|number| !matches!(number, 88 | 101));
    let mut numbers: Vec<u32> = known.copied().chain([NEWEST]).collect();
    numbers.sort_unstable();
    numbers
        .into_iter()
        .map(|number| format!("{REAL}{number}"))
        .collect()
}

impl Processor {
    /// The processor of a name, if it is one.
    #[must_use]
    pub fn parse(arch: &str) -> Option<Self> {
        let number = number_of(arch)?;
        let (number, scope) = if let Some(number) = number.strip_suffix('a') {
            (number, Scope::Only)
        } else if let Some(number) = number.strip_suffix('f') {
            (number, Scope::Family)
        } else {
            (number, Scope::Plain)
        };
        // `parse` alone would take a sign, too.
        let is_number = !number.is_empty() && number.bytes().all(|digit| digit.is_ascii_digit());
        Some(Self {
            number: number.parse().ok().filter(|_| is_number)?,
            scope,
        })
    }

    /// The processor of a target.
    #[must_use]
    pub fn of(target: &Target) -> Option<Self> {
        Self::parse(&target.arch)
    }

    /// Whether LLVM 22 generates code for it.
    #[must_use]
    pub fn is_known(self) -> bool {
        let first = match self.scope {
            Scope::Plain => 0,
            Scope::Only => FIRST_ONLY,
            Scope::Family => FIRST_FAMILY,
        };
        self.number >= first && (NUMBERS.contains(&self.number) || OLD_NUMBERS.contains(&self.number))
    }

    /// Whether it is a device's, or one that LLVM 22 generates code for.
    pub(super) fn is_device(self) -> bool {
        self.is_known() || self.number == NEWEST
    }

    /// Whether it is one of Tegra's.
    #[must_use]
    pub fn is_tegra(self) -> bool {
        TEGRA.contains(&self.number)
    }

    /// The number by which processors compare: 101 was given a new one.
    pub(super) fn chip(self) -> u32 {
        match self.number {
            101 => 110,
            number => number,
        }
    }

    /// The first part of the compute capability.
    fn major(self) -> u32 {
        self.chip() / 10
    }

    /// The version of PTX, times ten, that clang must be asked for with this processor; it begins with the
    /// oldest, and its back end then refuses newer processors. `None` where the oldest does.
    #[must_use]
    pub fn ptx_version(self) -> Option<u32> {
        match (self.number, self.scope) {
            (0..=59, _) => None,
            // Both are newer than the numbers around them: 8.8 came with CUDA 13, and the kind `a`
            // of 9.0 one release of PTX after 9.0 itself.
            (88, _) => Some(90),
            (90, Scope::Only) => Some(80),
            (number, _) => {
                let row = PTX_VERSIONS.iter().find(|(last, _)| number <= *last);
                row.map(|(_, version)| *version)
            }
        }
    }

    /// Whether machine code for this processor runs on a device.
    ///
    /// By CUDA's rule for binary compatibility it does on every device of the same major number that is not
    /// older. NVIDIA promises that for Tegra only with the very same number; its linkers make no difference, and neither
    /// does this: see [`is_tegra`](Self::is_tegra).
    ///
    /// # Errors
    ///
    /// Why not.
    pub fn runs_on(self, device: Self) -> Result<(), Misfit> {
        // Families and single processors lie within one major number anyway.
        if self.scope == Scope::Plain && self.major() != device.major() {
            return Err(Misfit::OtherMajor);
        }
        self.compiles_for(device)
    }

    /// Whether a driver can compile PTX for this processor for a device: it can for every newer one, unless the
    /// code is for one processor or one family.
    ///
    /// # Errors
    ///
    /// Why not.
    pub fn compiles_for(self, device: Self) -> Result<(), Misfit> {
        match self.scope {
            Scope::Only if self.chip() != device.chip() => Err(Misfit::OnlyOne),
            Scope::Family if !same_family(self.number, device.number) => Err(Misfit::OtherFamily),
            // Of a family's members only the newer ones run the code of the older.
            _ if self.chip() > device.chip() => Err(Misfit::Older),
            _ => Ok(()),
        }
    }

    /// The processors whose code, before it is machine code, can be part of this one's, from the closest on: its
    /// own, that for its family, and that of older processors, which is part of every newer one's.
    pub(super) fn fitting(self) -> Vec<Self> {
        let of = |scope| {
            move |number: &u32| Self {
                number: *number,
                scope,
            }
        };
        let known = || NUMBERS.iter().rev();
        let family = known().filter(|known| **known <= self.number && same_family(**known, self.number));
        let older = known().filter(|known| **known < self.number);
        let all = std::iter::once(self)
            .chain(family.map(of(Scope::Family)))
            // Apart from the known ones, among which a newer processor is not.
            .chain(std::iter::once(of(Scope::Plain)(&self.number)))
            .chain(older.map(of(Scope::Plain)));
        let mut fitting = Vec::new();
        // The processor itself comes again: as a member of its family, or where it has no letter.
        for processor in all {
            if !fitting.contains(&processor) {
                fitting.push(processor);
            }
        }
        fitting
    }
}

/// Whether two processors run each other's code of the kind `f`.
fn same_family(one: u32, other: u32) -> bool {
    FAMILIES
        .iter()
        .any(|family| family.contains(&one) && family.contains(&other))
}

impl fmt::Display for Processor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let letter = match self.scope {
            Scope::Plain => "",
            Scope::Family => "f",
            Scope::Only => "a",
        };
        write!(f, "{REAL}{}{letter}", self.number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn processor(name: &str) -> Processor {
        Processor::parse(name).unwrap()
    }

    #[test]
    fn names_are_read_and_written() {
        for name in ["sm_52", "sm_90a", "sm_100f", "sm_121"] {
            assert_eq!(processor(name).to_string(), name);
        }
        assert_eq!(processor("compute_90"), processor("sm_90"));
        for name in ["sm_", "sm_a", "sm_90b", "sm_+9", "90", "gfx90a"] {
            assert_eq!(Processor::parse(name), None, "{name}");
        }
    }

    #[test]
    fn machine_code_runs_within_its_major_number() {
        // What nvlink and nvJitLink 13.5 take.
        let devices = ["80", "86", "87", "89", "90", "100", "103", "110", "120", "121"];
        for (code, expected) in [
            ("80", &["80", "86", "87", "89"][..]),
            ("86", &["86", "87", "89"]),
            ("90", &["90"]),
            ("90a", &["90"]),
            ("100", &["100", "103"]),
            ("100f", &["100", "103"]),
            ("100a", &["100"]),
            ("103f", &["103"]),
            ("101", &["110"]),
            ("110f", &["110"]),
            ("120f", &["120", "121"]),
        ] {
            let code = processor(&format!("sm_{code}"));
            let runs: Vec<&str> = devices
                .into_iter()
                .filter(|device| code.runs_on(processor(&format!("sm_{device}"))).is_ok())
                .collect();
            assert_eq!(runs, expected, "{code}");
        }
    }

    #[test]
    fn ptx_is_compiled_for_newer_devices() {
        let compiles = |code, device| processor(code).compiles_for(processor(device));
        assert_eq!(compiles("sm_80", "sm_121"), Ok(()));
        assert_eq!(compiles("sm_80", "sm_75"), Err(Misfit::Older));
        assert_eq!(compiles("sm_90a", "sm_100"), Err(Misfit::OnlyOne));
        assert_eq!(compiles("sm_90a", "sm_90"), Ok(()));
        assert_eq!(compiles("sm_100f", "sm_103"), Ok(()));
        assert_eq!(compiles("sm_103f", "sm_100"), Err(Misfit::Older));
        assert_eq!(compiles("sm_100f", "sm_120"), Err(Misfit::OtherFamily));
        assert_eq!(
            processor("sm_80").runs_on(processor("sm_90")),
            Err(Misfit::OtherMajor)
        );
        assert_eq!(processor("sm_89").runs_on(processor("sm_86")), Err(Misfit::Older));
    }

    #[test]
    fn clang_is_asked_for_a_version_of_ptx_that_knows_the_processor() {
        for (name, version) in [
            ("sm_52", None),
            ("sm_60", Some(60)),
            ("sm_70", Some(61)),
            ("sm_80", Some(70)),
            ("sm_86", Some(71)),
            ("sm_87", Some(74)),
            ("sm_88", Some(90)),
            ("sm_90", Some(78)),
            ("sm_90a", Some(80)),
            ("sm_100a", Some(88)),
            ("sm_110", Some(90)),
            ("sm_121", Some(88)),
        ] {
            assert_eq!(processor(name).ptx_version(), version, "{name}");
        }
    }
}
