//! The adapters that are used, and why others are not.

use crate::adapter::{self, PlatformId};
use offkit_pi::below::{self, Below, LeftOut};
use offkit_sync::LazyLock;
use offkit_ur::{Adapter, UR_PLATFORM_INFO_BACKEND, UR_PLATFORM_INFO_NAME, adapters as candidates};
use std::collections::HashSet;
use std::fmt;

/// The names of the platforms of offkit's own OpenCL driver.
const OWN_PLATFORMS: [&str; 2] = ["offkit CPU", "offkit CPU (checked)"];

/// An adapter that is named somewhere or lies in a folder, and what became of it.
#[derive(Debug)]
pub struct Found {
    /// Its library, and what names it.
    pub adapter: Adapter,
    /// What became of it.
    pub outcome: Outcome,
    /// The platforms of it that are used.
    used: Vec<PlatformId>,
}

/// What became of an adapter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// It is used, and has platforms of these names.
    Used(Vec<String>),
    /// It is left out on purpose.
    LeftOut(&'static str),
    /// It cannot be used.
    Unusable(String),
}

impl fmt::Display for Found {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Adapter { library, named_by } = &self.adapter;
        write!(
            formatter,
            "adapter `{}` (named by {named_by}): ",
            library.display()
        )?;
        match &self.outcome {
            Outcome::Used(platforms) if platforms.is_empty() => formatter.write_str("no platform"),
            Outcome::Used(platforms) => formatter.write_str(&platforms.join(", ")),
            Outcome::LeftOut(reason) => write!(formatter, "left out: {reason}"),
            Outcome::Unusable(reason) => formatter.write_str(reason),
        }
    }
}

/// The adapters of this machine, which are opened at the first call.
pub fn adapters() -> &'static [Found] {
    &FOUND.0
}

/// The platforms of the adapters that are used.
pub(crate) fn platforms() -> &'static [PlatformId] {
    &FOUND.1
}

/// The adapters that the host has this plugin leave out.
pub(crate) static LEFT_OUT: LazyLock<LeftOut> = LazyLock::new(LeftOut::default);

/// What became of each adapter, for the host.
pub(crate) fn below() -> Vec<Below> {
    let below = |found: &Found| Below {
        library: found.adapter.library.display().to_string(),
        named_by: found.adapter.named_by.to_string(),
        outcome: match &found.outcome {
            Outcome::Used(platforms) => {
                let devices = found
                    .used
                    .iter()
                    .map(|platform| platform.devices().map_or(0, |list| list.len()));
                let version = found.used.first().map(|platform| platform.adapter().name.clone());
                let version = version.unwrap_or_else(|| found.adapter.file_name());
                below::Outcome::Used {
                    devices: devices.sum(),
                    what: [&[version], &**platforms].concat().join(", "),
                }
            }
            Outcome::LeftOut(reason) => below::Outcome::LeftOut((*reason).to_owned()),
            Outcome::Unusable(reason) => below::Outcome::Unusable(reason.clone()),
        },
    };
    adapters().iter().map(below).collect()
}

static FOUND: LazyLock<(Vec<Found>, Vec<PlatformId>)> = LazyLock::new(|| {
    let (mut adapters, mut used, mut known) = (Vec::new(), Vec::new(), HashSet::new());
    for candidate in candidates() {
        let before = used.len();
        // Asked before it is opened, which may be what does the harm.
        let outcome = match LEFT_OUT.has(&candidate.library) {
            true => Outcome::LeftOut(below::REASON),
            false => open(&candidate).map_or_else(Outcome::Unusable, |platforms| {
                take(&platforms, &mut known, &mut used)
            }),
        };
        let found = Found {
            adapter: candidate,
            outcome,
            used: used.get(before..).unwrap_or_default().to_vec(),
        };
        tracing::debug!(adapter = %found, "an adapter");
        adapters.push(found);
    }
    (adapters, used)
});

/// The platforms of an adapter that is opened; none where it has nothing to offer here.
fn open(candidate: &Adapter) -> Result<Vec<PlatformId>, String> {
    match adapter::open(candidate)? {
        Some(adapter) => adapter.platforms().map_err(|error| error.to_string()),
        None => Ok(Vec::new()),
    }
}

/// Takes the platforms of an adapter that are new, and not this project's own, and list their devices: Level Zero has two
/// adapters over one driver.
fn take(
    platforms: &[PlatformId],
    known: &mut HashSet<(Vec<u8>, usize)>,
    used: &mut Vec<PlatformId>,
) -> Outcome {
    let (mut names, mut refused) = (Vec::new(), None);
    for platform in platforms {
        let name = platform.text(UR_PLATFORM_INFO_NAME);
        let backend = platform.info(UR_PLATFORM_INFO_BACKEND).unwrap_or_default();
        // Adapters that tell no native handle, or 0, have platforms of their own.
        let native = platform.native().ok().filter(|native| *native != 0);
        if OWN_PLATFORMS.contains(&name.as_str()) {
            refused = Some(Outcome::LeftOut(
                "its devices are offkit's own, and are there already",
            ));
        // With the backend: the handles of different drivers have nothing to do with each other.
        } else if !native.is_none_or(|native| known.insert((backend, native))) {
            refused = Some(Outcome::LeftOut("another adapter has its platforms already"));
        } else if let Err(error) = platform.devices() {
            refused = Some(Outcome::Unusable(error.to_string()));
        } else {
            names.push(name);
            used.push(*platform);
        }
    }
    match refused {
        // A platform that is refused does not matter where another one of the adapter is used.
        Some(refused) if names.is_empty() => refused,
        _ => Outcome::Used(names),
    }
}
