//! Which image supplies a symbol to another, or why none does.

use std::sync::Arc;

use offkit_object::{Location, backquoted, describe_symbol};

use crate::collect::CollectOptions;
use crate::find::places;
use crate::registry::{ImageId, ImageRegistry, Wanted};
use crate::rule::ExporterRule;
use crate::scope::{Rank, Scopes};
use crate::select::{Refusal, SelectError, code, liked_best, name};
use crate::source::ImageError;

/// A symbol on the way from a kernel to what is missing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Needed {
    /// The symbol as it stands in the images; for virtual functions the name of their set.
    pub symbol: String,
    /// The image that needs it.
    pub importer: Location,
}

/// The images that a kernel needs cannot be collected.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CollectError {
    /// The kernel's image cannot be had.
    #[error(transparent)]
    Image(#[from] ImageError),
    /// A device cannot choose among images.
    #[error(transparent)]
    Select(Arc<SelectError>),
    /// No image supplies a symbol.
    #[error(
        "kernel `{kernel}` needs {}, which `{importer}` imports and no image exports (searched {}){}",
        describe_symbol(.symbol), places(.searched), because(.chain)
    )]
    NotExported {
        /// The symbol as it stands in the images.
        symbol: String,
        /// The kernel that was asked for.
        kernel: String,
        /// The image that needs the symbol.
        importer: Box<Location>,
        /// The images that were searched.
        searched: Vec<Location>,
        /// Why that image is needed: from the kernel's own on.
        chain: Box<[Needed]>,
    },
    /// The symbol is there, but in images of another format, or for another target, only.
    #[error(
        "kernel `{kernel}` needs {}, which only {} exports, in another format or for another target: \
         `{importer}` is {format}{}",
        describe_symbol(.symbol), formats(.exporters), because(.chain)
    )]
    OtherFormat {
        /// The symbol as it stands in the images.
        symbol: String,
        /// The kernel that was asked for.
        kernel: String,
        /// The image that needs the symbol.
        importer: Box<Location>,
        /// What that image is: `SPIR-V for spirv64`.
        format: Box<str>,
        /// The images that export it, and what they are.
        exporters: Vec<(Location, String)>,
        /// Why that image is needed: from the kernel's own on.
        chain: Box<[Needed]>,
    },
    /// The symbol is there, but in libraries that serve themselves only.
    #[error(
        "kernel `{kernel}` needs {}, which `{importer}` imports and only {} exports, which serves itself alone: load it \
         for all (`RTLD_GLOBAL`), or ask for it{}",
        describe_symbol(.symbol), backquoted(.exporters), because(.chain)
    )]
    Local {
        /// The symbol as it stands in the images.
        symbol: String,
        /// The kernel that was asked for.
        kernel: String,
        /// The image that needs the symbol.
        importer: Box<Location>,
        /// The images that export it.
        exporters: Vec<Location>,
        /// Why that image is needed: from the kernel's own on.
        chain: Box<[Needed]>,
    },
    /// The symbol is there, but in images that the device does not take.
    #[error(
        "kernel `{kernel}` needs {}, which `{importer}` imports and device `{device}` takes from no image that exports \
         it: {}{}",
        describe_symbol(.symbol), reasons(.refusals), because(.chain)
    )]
    Refused {
        /// The symbol as it stands in the images; for virtual functions the name of their set.
        symbol: String,
        /// The kernel that was asked for.
        kernel: String,
        /// The image that needs the symbol.
        importer: Box<Location>,
        /// The device.
        device: Box<str>,
        /// Why it takes none of those that export it.
        refusals: Vec<Refusal>,
        /// Why that image is needed: from the kernel's own on.
        chain: Box<[Needed]>,
    },
    /// Several images supply a symbol, and the rule is [`ExporterRule::Unique`].
    #[error(
        "kernel `{kernel}` needs {}, which several images export: {}",
        describe_symbol(.symbol), backquoted(.exporters)
    )]
    SeveralExporters {
        /// The symbol as it stands in the images.
        symbol: String,
        /// The kernel that was asked for.
        kernel: String,
        /// The images that export it.
        exporters: Vec<Location>,
    },
    /// Images that a kernel needs, for one symbol or another, export the same symbol, needed or not: a device's linker
    /// would refuse both or take either.
    #[error(
        "kernel `{kernel}` needs images that cannot be linked together: {} is exported by {}",
        describe_symbol(.symbol), backquoted(.exporters)
    )]
    Clash {
        /// The symbol as it stands in the images.
        symbol: String,
        /// The kernel that was asked for.
        kernel: String,
        /// The images that export it.
        exporters: Vec<Location>,
    },
}

impl From<SelectError> for CollectError {
    fn from(error: SelectError) -> Self {
        match error {
            SelectError::Image(error) => error.into(),
            error => Self::Select(Arc::new(error)),
        }
    }
}

fn formats(exporters: &[(Location, String)]) -> String {
    let each = exporters
        .iter()
        .map(|(place, format)| format!("`{place}` ({format})"));
    each.collect::<Vec<_>>().join(", ")
}

fn reasons(refusals: &[Refusal]) -> String {
    let each: Vec<_> = refusals.iter().map(Refusal::to_string).collect();
    each.join("; ")
}

/// `; it is needed for `scale`, which `app.syclbin!0` imports`, and so on, back to the kernel's own image.
fn because(chain: &[Needed]) -> String {
    let each = chain.iter().rev().map(|Needed { symbol, importer }| {
        format!(
            "; that is needed for {}, by `{importer}`",
            describe_symbol(symbol)
        )
    });
    each.collect()
}

/// Who needs a symbol, and for which kernel.
pub(crate) struct Search<'a> {
    pub(crate) importer: ImageId,
    pub(crate) kernel: &'a str,
    pub(crate) options: &'a CollectOptions<'a>,
    pub(crate) chain: &'a dyn Chain,
    pub(crate) scopes: &'a Scopes,
}

/// Tells why an image is needed.
pub(crate) trait Chain {
    /// From the kernel's own image on.
    fn of(&self, image: ImageId) -> Vec<Needed>;
}

/// It was asked for.
impl Chain for () {
    fn of(&self, _: ImageId) -> Vec<Needed> {
        Vec::new()
    }
}

impl ImageRegistry {
    /// The image that supplies a symbol.
    pub(crate) fn exporter(&self, symbol: &str, search: &Search<'_>) -> Result<ImageId, CollectError> {
        // Containers that tell no symbols leave them to the code. An exporter may be among those, so all are read before the
        // first answer: else it would depend on who asked earlier.
        self.read_names(Wanted::Links);
        let fitting = self.fitting_exporters(symbol, search)?;
        let ranks = self.ranks(&fitting, search.importer, search.options.libraries, search.scopes);
        let ranked = fitting.iter().zip(ranks);
        let mut visible: Vec<(Rank, ImageId)> =
            ranked.filter_map(|(&image, rank)| Some((rank?, image))).collect();
        if visible.is_empty() {
            return Err(CollectError::Local {
                symbol: symbol.to_owned(),
                kernel: search.kernel.to_owned(),
                importer: Box::new(self.place(search.importer)),
                exporters: fitting.iter().map(|&image| self.place(image)).collect(),
                chain: search.chain.of(search.importer).into(),
            });
        }
        let rule = self.exporter_rule();
        // To name a library is a choice: beside it, others that export the symbol make nothing ambiguous.
        let is_asked_for = visible.iter().any(|(rank, _)| rank.is_asked_for());
        if rule == ExporterRule::Unique && is_asked_for {
            visible.retain(|(rank, _)| rank.is_asked_for());
        }
        let mut refusals = Vec::new();
        let taken = |images| self.taken(images, search, &mut refusals);
        let chosen = rule.choose(visible, taken, |images| self.without_copies(images).0)?;
        match chosen.as_slice() {
            [only] => Ok(*only),
            [] => Err(CollectError::Refused {
                symbol: symbol.to_owned(),
                kernel: search.kernel.to_owned(),
                importer: Box::new(self.place(search.importer)),
                device: search.options.device.map(name).unwrap_or_default().into(),
                refusals,
                chain: search.chain.of(search.importer).into(),
            }),
            several => Err(CollectError::SeveralExporters {
                symbol: symbol.to_owned(),
                kernel: search.kernel.to_owned(),
                exporters: several.iter().map(|&image| self.place(image)).collect(),
            }),
        }
    }

    /// The images of the importer's format and for its target that export a symbol; at least one.
    fn fitting_exporters(&self, symbol: &str, search: &Search<'_>) -> Result<Vec<ImageId>, CollectError> {
        let state = self.read();
        let (importing, position) = state.line(search.importer).ok_or(ImageError::Withdrawn)?;
        let format = importing.format(position);
        let mut exporting = state
            .index
            .find(symbol)
            .map_or_else(Vec::new, |symbol| state.index.with_export(symbol));
        // The index has what was withdrawn until it is made anew.
        exporting.retain(|image| state.is_there(image));
        if exporting.is_empty() {
            return Err(CollectError::NotExported {
                symbol: symbol.to_owned(),
                kernel: search.kernel.to_owned(),
                importer: Box::new(state.location(search.importer)),
                searched: state.images().map(|image| state.location(image)).collect(),
                chain: {
                    // The chain asks the registry for places, and must not wait for this lock.
                    drop(state);
                    search.chain.of(search.importer).into()
                },
            });
        }
        let fitting = exporting.iter().copied();
        let fitting: Vec<_> = fitting
            .filter(|&image| state.fits(image, search.importer))
            .collect();
        if !fitting.is_empty() {
            return Ok(fitting);
        }
        let what = |image: ImageId| {
            let line = state.line(image);
            line.map_or_else(String::new, |(library, position)| {
                code(library.format(position), library.target(position))
            })
        };
        let exporters = exporting
            .iter()
            .map(|&image| (state.location(image), what(image)));
        Err(CollectError::OtherFormat {
            symbol: symbol.to_owned(),
            kernel: search.kernel.to_owned(),
            importer: Box::new(state.location(search.importer)),
            format: code(format, importing.target(position)).into(),
            exporters: exporters.collect(),
            chain: {
                drop(state);
                search.chain.of(search.importer).into()
            },
        })
    }

    /// The images of one library that the device takes: the one that it likes best, and those for the same target.
    pub(crate) fn taken(
        &self,
        images: Vec<ImageId>,
        search: &Search<'_>,
        refusals: &mut Vec<Refusal>,
    ) -> Result<Vec<ImageId>, CollectError> {
        let Some(device) = search.options.device else {
            return Ok(images);
        };
        let mut taken = Vec::new();
        for (candidate, refusal) in self.judged(&images, device)? {
            match refusal {
                Some(refusal) => refusals.push(refusal),
                None => taken.push(candidate),
            }
        }
        Ok(match taken.as_slice() {
            [] => Vec::new(),
            [only] => vec![only.image],
            several => liked_best(several, |candidate| &candidate.code, device)?
                .into_iter()
                .map(|best| best.image)
                .collect(),
        })
    }
}
