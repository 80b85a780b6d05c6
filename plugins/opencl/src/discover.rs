//! The drivers that are used, and why others are not.

use crate::cl;
use offkit_opencl::icd::{Names, candidates};
use offkit_opencl::{CL_DRIVER_VERSION, CL_PLATFORM_ICD_SUFFIX_KHR, CL_PLATFORM_NAME, CL_PLATFORM_VERSION};
use offkit_pi::below::{self, Below, LeftOut};
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
    /// The platforms of it that are used.
    used: Vec<&'static cl::Driver>,
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

/// The drivers that the host has this plugin leave out.
pub(crate) static LEFT_OUT: LazyLock<LeftOut> = LazyLock::new(LeftOut::default);

/// What became of each driver, for the host.
pub(crate) fn below() -> Vec<Below> {
    let below = |driver: &Driver| Below {
        library: driver
            .library
            .as_ref()
            .map_or_else(String::new, |library| library.display().to_string()),
        named_by: driver.named_by.to_string(),
        outcome: match &driver.outcome {
            Outcome::Used(_) => {
                let told: Vec<(String, usize)> = driver.used.iter().map(|platform| told(platform)).collect();
                below::Outcome::Used {
                    devices: told.iter().map(|(_, devices)| devices).sum(),
                    what: told
                        .into_iter()
                        .map(|(what, _)| what)
                        .collect::<Vec<_>>()
                        .join("; "),
                }
            }
            Outcome::LeftOut(reason) => below::Outcome::LeftOut((*reason).to_owned()),
            Outcome::Unusable(reason) => below::Outcome::Unusable(reason.clone()),
        },
    };
    drivers().iter().map(below).collect()
}

/// What a platform says it is, with its versions, and how many devices it has.
fn told(platform: &'static cl::Driver) -> (String, usize) {
    let (name, version) = (
        platform.text(CL_PLATFORM_NAME),
        platform.text(CL_PLATFORM_VERSION),
    );
    let devices = platform.devices().unwrap_or_default();
    let driver = devices
        .first()
        .and_then(|device| device.info(CL_DRIVER_VERSION).ok());
    let driver = driver.map_or_else(String::new, |text| format!(", driver {}", cl::text(text)));
    (format!("{name}, {version}{driver}"), devices.len())
}

static FOUND: LazyLock<(Vec<Driver>, Vec<&'static cl::Driver>)> = LazyLock::new(|| {
    let (mut drivers, mut used) = (Vec::new(), Vec::new());
    let mut known = HashSet::new();
    for (named_by, library) in candidates() {
        let before = used.len();
        let outcome = match &library {
            Err(reason) => Outcome::Unusable(reason.clone()),
            // Asked before it is opened, which may be what does the harm.
            Ok(library) if LEFT_OUT.has(library) => Outcome::LeftOut(below::REASON),
            Ok(library) => match cl::open(library) {
                Ok(platforms) => take(&platforms, &mut known, &mut used),
                Err(reason) => Outcome::Unusable(reason),
            },
        };
        let driver = Driver {
            library: library.ok(),
            named_by,
            outcome,
            used: used.get(before..).unwrap_or_default().to_vec(),
        };
        tracing::debug!(%driver, "a driver");
        drivers.push(driver);
    }
    (drivers, used)
});

/// Takes the platforms of a driver that are new, and not this project's own, and list their devices: one that does not
/// must not hide the others.
fn take(
    platforms: &[&'static cl::Driver],
    known: &mut HashSet<usize>,
    used: &mut Vec<&'static cl::Driver>,
) -> Outcome {
    let is_own = |platform: &cl::Driver| platform.text(CL_PLATFORM_ICD_SUFFIX_KHR) == OWN_SUFFIX;
    let (mut names, mut refused) = (Vec::new(), None);
    for platform in platforms {
        if is_own(platform) {
            refused = Some(Outcome::LeftOut(
                "it is offkit's own, and its devices are there already",
            ));
        // Two names may lead to one library, whose platforms have the same handles then.
        } else if !known.insert(platform.native()) {
            refused = Some(Outcome::LeftOut("it is named twice"));
        } else if let Err(error) = platform.devices() {
            refused = Some(Outcome::Unusable(error.to_string()));
        } else {
            names.push(platform.text(CL_PLATFORM_NAME));
            used.push(*platform);
        }
    }
    // A platform that is refused does not matter where another one of the driver is used.
    match refused {
        Some(refused) if names.is_empty() => refused,
        _ => Outcome::Used(names),
    }
}
