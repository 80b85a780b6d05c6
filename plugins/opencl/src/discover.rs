//! The drivers that are used, and why others are not.

use crate::cl;
use offkit_opencl::icd::{Names, candidates};
use offkit_opencl::{CL_PLATFORM_ICD_SUFFIX_KHR, CL_PLATFORM_NAME};
use offkit_sync::LazyLock;
use std::collections::HashSet;
use std::fmt;
use std::path::PathBuf;

/// The suffix of offkit's own driver, by which its devices are there for programs of OpenCL.
const OWN_SUFFIX: &str = "OFFKIT";

/// A driver that is named somewhere, and what became of it.
#[derive(Debug)]
pub struct Driver {
    /// Its library, as it is named; none where a file has no name in it.
    pub library: Option<PathBuf>,
    /// What names it.
    pub named_by: Names,
    /// What became of it.
    pub outcome: Outcome,
}

/// What became of a driver.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// It is used, and has platforms of these names.
    Used(Vec<String>),
    /// It is left out on purpose.
    LeftOut(&'static str),
    /// It cannot be used.
    Unusable(String),
}

impl fmt::Display for Driver {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let named_by = &self.named_by;
        match &self.library {
            Some(library) => write!(
                formatter,
                "OpenCL driver `{}` (named by `{named_by}`): ",
                library.display()
            ),
            None => write!(formatter, "OpenCL driver of `{named_by}`: "),
        }?;
        match &self.outcome {
            Outcome::Used(platforms) if platforms.is_empty() => formatter.write_str("no platform"),
            Outcome::Used(platforms) => formatter.write_str(&platforms.join(", ")),
            Outcome::LeftOut(reason) => write!(formatter, "left out: {reason}"),
            Outcome::Unusable(reason) => formatter.write_str(reason),
        }
    }
}

/// The drivers of this machine, which are opened at the first call.
pub fn drivers() -> &'static [Driver] {
    &FOUND.0
}

/// The platforms of the drivers that are used.
pub(crate) fn platforms() -> &'static [&'static cl::Driver] {
    &FOUND.1
}

static FOUND: LazyLock<(Vec<Driver>, Vec<&'static cl::Driver>)> = LazyLock::new(|| {
    let (mut drivers, mut used) = (Vec::new(), Vec::new());
    let mut known = HashSet::new();
    for (named_by, library) in candidates() {
        let opened = library.clone().and_then(|library| cl::open(&library));
        let driver = Driver {
            library: library.ok(),
            named_by,
            outcome: match opened {
                Ok(platforms) => take(&platforms, &mut known, &mut used),
                Err(reason) => Outcome::Unusable(reason),
            },
        };
        tracing::debug!(%driver, "a driver");
        drivers.push(driver);
    }
    (drivers, used)
});

/// Takes the platforms of a driver that are new, and not this project's own.
fn take(
    platforms: &[&'static cl::Driver],
    known: &mut HashSet<usize>,
    used: &mut Vec<&'static cl::Driver>,
) -> Outcome {
    let is_own = |platform: &cl::Driver| platform.text(CL_PLATFORM_ICD_SUFFIX_KHR) == OWN_SUFFIX;
    let (mut names, mut refused) = (Vec::new(), None);
    for platform in platforms {
        if is_own(platform) {
            refused = Some("it is offkit's own, and its devices are there already");
        } else if known.insert(platform.native()) {
            names.push(platform.text(CL_PLATFORM_NAME));
            used.push(*platform);
        } else {
            refused = Some("it is named twice");
        }
    }
    match refused {
        Some(reason) if names.is_empty() => Outcome::LeftOut(reason),
        _ => Outcome::Used(names),
    }
}
