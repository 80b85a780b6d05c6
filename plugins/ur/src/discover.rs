//! The adapters that are used, and why others are not.

use crate::adapter::{self, PlatformId};
use offkit_sync::LazyLock;
use offkit_ur::{Adapter, UR_PLATFORM_INFO_BACKEND, UR_PLATFORM_INFO_NAME, adapters as candidates};
use std::collections::HashSet;
use std::fmt;

/// The name of the platform of offkit's own OpenCL driver.
const OWN_PLATFORM: &str = "offkit";

/// An adapter that is named somewhere or lies in a folder, and what became of it.
#[derive(Debug)]
pub struct Found {
    /// Its library, and what names it.
    pub adapter: Adapter,
    /// What became of it.
    pub outcome: Outcome,
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

static FOUND: LazyLock<(Vec<Found>, Vec<PlatformId>)> = LazyLock::new(|| {
    let (mut adapters, mut used, mut known) = (Vec::new(), Vec::new(), HashSet::new());
    for candidate in candidates() {
        let opened = adapter::open(&candidate).and_then(|opened| match opened {
            Some(adapter) => adapter.platforms().map_err(|error| error.to_string()),
            None => Ok(Vec::new()),
        });
        let found = Found {
            adapter: candidate,
            outcome: match opened {
                Ok(platforms) => take(&platforms, &mut known, &mut used),
                Err(reason) => Outcome::Unusable(reason),
            },
        };
        tracing::debug!(adapter = %found, "an adapter");
        adapters.push(found);
    }
    (adapters, used)
});

/// Takes the platforms of an adapter that are new, and not this project's own: Level Zero has two adapters over one
/// driver.
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
        if name == OWN_PLATFORM {
            refused = Some("its devices are offkit's own, and are there already");
        } else if native.is_none_or(|native| known.insert((backend, native))) {
            names.push(name);
            used.push(*platform);
        } else {
            refused = Some("another adapter has its platforms already");
        }
    }
    match refused {
        Some(reason) if names.is_empty() => Outcome::LeftOut(reason),
        _ => Outcome::Used(names),
    }
}
