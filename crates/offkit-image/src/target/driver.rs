//! Versions of drivers, and which version first takes which code.

use std::fmt;
use std::str::FromStr;

use crate::CodeVersion;

/// The version of a device's driver, such as 550.54.14 of NVIDIA's, or of ROCm, such as 6.3, for AMD's devices.
///
/// What is left open, as in `550`, stands for any release of that branch. NVIDIA's drivers have three digits before the
/// first point, and ROCm has one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct DriverVersion {
    /// The branch: 550.
    pub branch: u32,
    /// The release in the branch, 54 and 14 of 550.54.14, if it is said.
    pub release: Option<[u32; 2]>,
}

impl DriverVersion {
    const fn new(branch: u32, release: [u32; 2]) -> Self {
        Self {
            branch,
            release: Some(release),
        }
    }

    /// The first driver of NVIDIA's with a version of CUDA, as far as that decides which PTX it compiles: what drivers
    /// say of themselves where their own version cannot be had.
    ///
    /// ```
    /// use offkit_image::target::DriverVersion;
    /// assert_eq!(DriverVersion::of_cuda(12, 8).to_string(), "570.26");
    /// assert_eq!(DriverVersion::of_cuda(12, 6), DriverVersion::of_cuda(12, 5));
    /// ```
    #[must_use]
    pub fn of_cuda(major: u32, minor: u32) -> Self {
        // CUDA 4.0's branch, which is before all that the table has.
        const OLD: DriverVersion = DriverVersion {
            branch: 270,
            release: None,
        };
        // CUDA 12.0 to 12.5 write PTX 8.0 to 8.5, as 12.6 does; 12.7 to 12.9 write 8.6 to 8.8.
        let (ptx_major, ptx_minor) = match (major, minor) {
            (..=3, _) | (4, 0) => (0, 0),
            (4, _) => (3, 0),
            (5, ..=4) => (3, 1),
            (5, _) => (3, 2),
            (6, ..=4) => (4, 0),
            (6, _) => (4, 1),
            (7, ..=4) => (4, 2),
            (7, _) => (4, 3),
            (8, _) => (5, 0),
            (9, minor) => (6, minor),
            (10, minor) => (6, minor.saturating_add(3)),
            (11, minor) => (7, minor),
            (12, minor @ ..=5) => (8, minor),
            (12, minor) => (8, minor.saturating_sub(1)),
            (13, minor) => (9, minor),
            // A release that nobody here knows is taken to be as new as the table ends.
            _ => (u32::MAX, 0),
        };
        let is_reached =
            |row: &&(u16, u16, Self, bool)| (u32::from(row.0), u32::from(row.1)) <= (ptx_major, ptx_minor);
        PTX.iter().rfind(is_reached).map_or(OLD, |row| row.2)
    }

    /// The newest PTX that it is known to compile, which is all that a driver of its release does; `None` for ROCm and for
    /// drivers before CUDA 4.1.
    ///
    /// ```
    /// use offkit_image::target::DriverVersion;
    /// let driver: DriverVersion = "570.26".parse()?;
    /// assert_eq!(driver.newest_ptx().unwrap().to_string(), "8.7");
    /// # Ok::<_, String>(())
    /// ```
    #[must_use]
    pub fn newest_ptx(self) -> Option<CodeVersion> {
        let row = PTX.iter().rfind(|row| self.reaches(row.2))?;
        Some(ptx_of(row))
    }

    /// The first PTX that it is too old for, and the driver that first compiles it; `None` for ROCm and for drivers as new
    /// as any that is known.
    #[must_use]
    pub fn first_ptx_beyond(self) -> Option<(CodeVersion, Self)> {
        let row = PTX.iter().find(|row| !self.reaches(row.2));
        // ROCm's small numbers are below every row, so that all of its versions would seem too old
        // for the first one.
        row.filter(|_| !self.is_rocm()).map(|row| (ptx_of(row), row.2))
    }

    /// Whether it is one of ROCm, and not one of NVIDIA's driver.
    #[must_use]
    pub fn is_rocm(self) -> bool {
        self.branch < 100
    }

    /// Whether it is no older than `least`.
    #[must_use]
    pub fn reaches(self, least: Self) -> bool {
        if self.branch != least.branch {
            return self.branch > least.branch;
        }
        match (self.release, least.release) {
            (Some(own), Some(least)) => own >= least,
            _ => true,
        }
    }
}

impl FromStr for DriverVersion {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let wrong =
            || format!("`{text}` is no version of a driver: expected numbers such as `550` or `550.54.14`");
        let mut numbers = text
            .split('.')
            .map(|number| number.parse::<u32>().map_err(|_| wrong()));
        let branch = numbers.next().ok_or_else(wrong)??;
        let release = match (numbers.next(), numbers.next(), numbers.next()) {
            (None, ..) => None,
            (Some(minor), patch, None) => Some([minor?, patch.transpose()?.unwrap_or(0)]),
            (.., Some(_)) => return Err(wrong()),
        };
        Ok(Self { branch, release })
    }
}

impl fmt::Display for DriverVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.release {
            None | Some([0, 0]) if self.is_rocm() => return write!(f, "ROCm {}", self.branch),
            Some([minor, 0]) if self.is_rocm() => return write!(f, "ROCm {}.{minor}", self.branch),
            Some([minor, patch]) if self.is_rocm() => {
                return write!(f, "ROCm {}.{minor}.{patch}", self.branch);
            }
            _ => {}
        }
        // NVIDIA writes 545.23.06 with two digits.
        match self.release {
            None | Some([0, 0]) => write!(f, "{}", self.branch),
            Some([minor, 0]) => write!(f, "{}.{minor:02}", self.branch),
            Some([minor, patch]) => write!(f, "{}.{minor:02}.{patch:02}", self.branch),
        }
    }
}

/// NVIDIA's drivers that first compile a version of PTX, on Linux; the version; and whether the row was checked.
///
/// From NVIDIA's release notes of CUDA (table "CUDA Toolkit and Corresponding Driver Versions") and of the PTX ISA
/// (table "PTX release history"), read in November 2026; up to 6.2 the branch alone. Which toolkit writes which version
/// was tried with ptxas 11.8 to 13.5. A driver takes no PTX that is newer than itself: CUDA's compatibility of minor
/// versions is for machine code alone.
const PTX: &[(u16, u16, DriverVersion, bool)] = &[
    (3, 0, DriverVersion::new(285, [0, 0]), true),
    (3, 1, DriverVersion::new(302, [0, 0]), true),
    (3, 2, DriverVersion::new(319, [0, 0]), true),
    (4, 0, DriverVersion::new(331, [0, 0]), true),
    (4, 1, DriverVersion::new(340, [0, 0]), true),
    (4, 2, DriverVersion::new(346, [0, 0]), true),
    (4, 3, DriverVersion::new(352, [0, 0]), true),
    (5, 0, DriverVersion::new(361, [0, 0]), true),
    (6, 0, DriverVersion::new(384, [0, 0]), true),
    (6, 1, DriverVersion::new(387, [0, 0]), true),
    (6, 2, DriverVersion::new(396, [0, 0]), true),
    (6, 3, DriverVersion::new(410, [48, 0]), true),
    (6, 4, DriverVersion::new(418, [39, 0]), true),
    (6, 5, DriverVersion::new(440, [33, 0]), true),
    (7, 0, DriverVersion::new(450, [36, 0]), true),
    (7, 1, DriverVersion::new(455, [23, 0]), true),
    (7, 2, DriverVersion::new(460, [27, 0]), true),
    (7, 3, DriverVersion::new(465, [19, 0]), true),
    (7, 4, DriverVersion::new(470, [42, 0]), true),
    (7, 5, DriverVersion::new(495, [29, 0]), true),
    (7, 6, DriverVersion::new(510, [39, 0]), true),
    (7, 7, DriverVersion::new(515, [43, 0]), true),
    (7, 8, DriverVersion::new(520, [61, 5]), true),
    (8, 0, DriverVersion::new(525, [60, 13]), true),
    (8, 1, DriverVersion::new(530, [30, 0]), true),
    (8, 2, DriverVersion::new(535, [54, 0]), true),
    (8, 3, DriverVersion::new(545, [23, 0]), true),
    (8, 4, DriverVersion::new(550, [54, 14]), true),
    (8, 5, DriverVersion::new(555, [42, 0]), true),
    (8, 6, DriverVersion::new(565, [0, 0]), true),
    (8, 7, DriverVersion::new(570, [26, 0]), true),
    (8, 8, DriverVersion::new(575, [51, 3]), true),
    (9, 0, DriverVersion::new(580, [65, 6]), true),
    (9, 1, DriverVersion::new(590, [44, 1]), true),
    (9, 2, DriverVersion::new(595, [45, 4]), true),
    (9, 3, DriverVersion::new(610, [43, 2]), true),
    (9, 4, DriverVersion::new(616, [0, 0]), false),
];

/// The version of PTX that a row of the table is about.
const fn ptx_of(row: &(u16, u16, DriverVersion, bool)) -> CodeVersion {
    CodeVersion {
        major: row.0,
        minor: row.1,
    }
}

/// The version of ROCm that first loads a version of AMD's code objects; the version; and whether the row was checked.
///
/// 6: maintainers of LLVM's AMDGPU back end (llvm-project#130963, March 2025) and ROCR-Runtime#321 (August 2025), read
/// in November 2026. Those before are from memory. ROCm refuses what is newer than itself, and takes all that is older.
const CODE_OBJECTS: &[(u16, DriverVersion, bool)] = &[
    (3, DriverVersion::new(3, [0, 0]), false),
    (4, DriverVersion::new(4, [1, 0]), false),
    (5, DriverVersion::new(5, [0, 0]), false),
    (6, DriverVersion::new(6, [3, 0]), true),
];

/// The version of ROCm whose HIP first loads code for generic targets (rocSOLVER#937, April 2025).
pub(super) const GENERIC: DriverVersion = DriverVersion::new(6, [4, 0]);

/// The version of ROCm that first loads code objects of that version, and whether that was checked; `None` for versions
/// that are newer than the table.
pub(super) fn for_code_object(version: u16) -> Option<(DriverVersion, bool)> {
    // The table is sorted, and ROCm loads all that is older than a row: the first one that reaches
    // the version counts.
    let row = CODE_OBJECTS.iter().find(|(known, ..)| *known >= version)?;
    Some((row.1, row.2))
}

/// That of the newest version in the table: whatever loads a newer one is at least as new.
pub(super) fn of_newest_code_object() -> Option<DriverVersion> {
    CODE_OBJECTS.last().map(|row| row.1)
}

/// NVIDIA's first driver that reads entries of fatbins which are compressed by zstd (release notes of CUDA 12.4).
pub(super) const ZSTD: DriverVersion = DriverVersion::new(550, [54, 14]);

/// The driver that first compiles PTX of that version, and whether that was checked; `None` for versions that are
/// newer than the table.
pub(super) fn for_ptx(version: CodeVersion) -> Option<(DriverVersion, bool)> {
    let key = (version.major, version.minor);
    // Every driver of today compiles what is older than the table.
    let row = PTX.iter().find(|(major, minor, ..)| (*major, *minor) >= key)?;
    Some((row.2, row.3))
}

/// The driver of the newest version in the table: whatever compiles a newer one is at least as new.
pub(super) fn of_newest_ptx() -> Option<DriverVersion> {
    PTX.last().map(|row| row.2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_compare_as_far_as_they_are_said() {
        let version = |text: &str| text.parse::<DriverVersion>().unwrap();
        for (has, least, reaches) in [
            ("550.54.14", "550.54.14", true),
            ("550.54", "550.54.14", false),
            ("550", "550.54.14", true),
            ("535.183.01", "545.23", false),
            ("580", "550.54.14", true),
            ("525.147.5", "525.60.13", true),
        ] {
            assert_eq!(version(has).reaches(version(least)), reaches, "{has} {least}");
        }
        for text in ["550", "550.54.14", "545.23", "575.51.03"] {
            assert_eq!(version(text).to_string(), text);
        }
        for (text, shown) in [("6.3", "ROCm 6.3"), ("6", "ROCm 6"), ("6.2.4", "ROCm 6.2.4")] {
            assert_eq!(version(text).to_string(), shown);
        }
        for text in ["", "new", "550.", "550.54.14.1", "-1"] {
            assert!(text.parse::<DriverVersion>().is_err(), "{text}");
        }
    }

    #[test]
    fn a_driver_takes_ptx_up_to_a_version() {
        let taken = |text: &str| {
            let driver: DriverVersion = text.parse().unwrap();
            let beyond = driver.first_ptx_beyond();
            [
                driver.newest_ptx().map(|version| version.to_string()),
                beyond.map(|(version, needs)| format!("{version} by {needs}")),
            ]
        };
        for (driver, newest, beyond) in [
            ("570.26", Some("8.7"), Some("8.8 by 575.51.03")),
            ("570", Some("8.7"), Some("8.8 by 575.51.03")),
            ("575.10", Some("8.7"), Some("8.8 by 575.51.03")),
            ("384.81", Some("6.0"), Some("6.1 by 387")),
            ("375", Some("5.0"), Some("6.0 by 384")),
            ("270", None, Some("3.0 by 285")),
            ("700", Some("9.4"), None),
            ("6.3", None, None),
        ] {
            assert_eq!(
                taken(driver),
                [newest, beyond].map(|text| text.map(str::to_owned)),
                "{driver}"
            );
        }
    }

    #[test]
    fn a_driver_is_told_by_its_cuda() {
        for (major, minor, newest) in [
            (4, 0, None),
            (4, 2, Some("3.0")),
            (5, 5, Some("3.2")),
            (7, 5, Some("4.3")),
            (8, 0, Some("5.0")),
            (9, 0, Some("6.0")),
            (10, 1, Some("6.4")),
            (12, 8, Some("8.7")),
        ] {
            let newest_ptx = DriverVersion::of_cuda(major, minor).newest_ptx();
            let newest_ptx = newest_ptx.map(|version| version.to_string());
            assert_eq!(newest_ptx.as_deref(), newest, "{major}.{minor}");
        }
    }

    #[test]
    fn newer_ptx_needs_a_newer_driver() {
        let least = |major, minor| for_ptx(CodeVersion { major, minor }).map(|(least, _)| least.to_string());
        assert_eq!(least(8, 3).as_deref(), Some("545.23"));
        assert_eq!(least(3, 2).as_deref(), Some("319"));
        assert_eq!(least(9, 5), None);
        assert!(PTX.is_sorted_by_key(|(major, minor, driver, _)| (*major, *minor, *driver)));
    }
}
