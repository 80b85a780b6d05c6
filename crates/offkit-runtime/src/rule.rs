//! Which image supplies a symbol that several images export.
//!
//! Collection for a kernel and the linking of kernel bundles have this in common.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::hash::Hash;
use std::str::FromStr;

use offkit_object::{ImageFormat, Target};

use crate::collect::Resolution;
use crate::relink::Relinking;

/// Which image supplies a symbol that several images export.
///
/// All of them can be used: they are of the importer's format, for its target, of a library that the importer
/// [sees](crate::Visibility), and the device takes them. Images that are the same byte for byte count as one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ExporterRule {
    /// None: the error names them all, as a linker of object files does.
    #[default]
    Unique,
    /// One of the library that comes first: as the [`Loader`](crate::Loader) orders them, or in the order in which they
    /// became known.
    First,
    /// One of the importer's own library if it exports the symbol, otherwise as [`First`](Self::First).
    OwnFirst,
}

impl ExporterRule {
    /// All rules.
    pub const ALL: [Self; 3] = [Self::Unique, Self::First, Self::OwnFirst];

    /// The image that supplies a symbol, of those that can, each with where it stands: a library's stand at one place.
    /// None if the device takes none of them, several if the rule chooses none.
    ///
    /// `taken` tells which of a library's images the device takes, the one that it likes best first; `different` leaves
    /// copies out.
    pub(crate) fn choose<P: Copy + Ord, I: Copy, E>(
        self,
        mut able: Vec<(P, I)>,
        mut taken: impl FnMut(Vec<I>) -> Result<Vec<I>, E>,
        different: impl FnOnce(Vec<I>) -> Vec<I>,
    ) -> Result<Vec<I>, E> {
        // Sorting keeps the order within a library.
        able.sort_by_key(|(place, _)| *place);
        let mut all = Vec::new();
        for library in able.chunk_by(|(one, _), (other, _)| one == other) {
            all.extend(taken(library.iter().map(|(_, image)| *image).collect())?);
            if self != Self::Unique && !all.is_empty() {
                all.truncate(1);
                return Ok(all);
            }
        }
        // The same library named twice is one library.
        Ok(different(all))
    }

    /// The rule as it is written: `unique`, `first`, `own-first`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Unique => "unique",
            Self::First => "first",
            Self::OwnFirst => "own-first",
        }
    }
}

impl fmt::Display for ExporterRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for ExporterRule {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let rule = Self::ALL.into_iter().find(|rule| rule.name() == text);
        rule.ok_or_else(|| "expected `unique`, `first` or `own-first`".to_owned())
    }
}

/// Whether images can be linked with each other: of one format, and for one target.
pub(crate) fn fits(one: (ImageFormat, &Target), other: (ImageFormat, &Target)) -> bool {
    // Bare code says no target, and is linked with whatever is of its format.
    let is_told = !one.1.triple.is_empty() && !other.1.triple.is_empty();
    one.0 == other.0 && (!is_told || one.1 == other.1 || one.1.fits(other.1))
}

/// A symbol that images export which are linked together. A device's linker would refuse it, or take either.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Clash<I> {
    pub(crate) symbol: String,
    pub(crate) exporters: Vec<I>,
}

/// Sees to it that no symbol is exported twice by images that are linked together: what has to be changed in which of
/// them. Only SPIR-V can be, and [`ExporterRule::Unique`] does not want it.
pub(crate) fn without_clashes<'a, I: Copy + Ord + Hash>(
    exports: impl IntoIterator<Item = (I, &'a str)>,
    resolutions: &[Resolution<I>],
    can_be_changed: bool,
) -> Result<BTreeMap<I, Relinking>, Clash<I>> {
    let mut first: HashMap<&str, I> = HashMap::new();
    let mut clashes: BTreeMap<&str, Vec<I>> = BTreeMap::new();
    for (image, symbol) in exports {
        if let Some(&other) = first.get(symbol) {
            clashes.entry(symbol).or_insert_with(|| vec![other]).push(image);
        } else {
            first.insert(symbol, image);
        }
    }
    // In an order, so that the same images get the same names each time: the cache knows a program
    // by the code that it is built from, names included.
    let mut changes: BTreeMap<I, Relinking> = BTreeMap::new();
    for (symbol, exporters) in clashes {
        if !can_be_changed {
            return Err(Clash {
                symbol: symbol.to_owned(),
                exporters,
            });
        }
        let uses = resolutions.iter().filter(|used| used.symbol == symbol);
        let uses: Vec<_> = uses.collect();
        // The first that somebody uses keeps the name.
        let is_used = |exporter: &&I| uses.iter().any(|used| used.exporter == **exporter);
        let keeper = exporters.iter().find(is_used).unwrap_or(&exporters[0]);
        for (number, exporter) in exporters.iter().enumerate() {
            if exporter == keeper {
                continue;
            }
            // No name in a source has a dot, so nobody else has this one.
            let name = is_used(&exporter).then(|| format!("{symbol}.offkit{number}"));
            let change = changes.entry(*exporter).or_default();
            change.exports.insert(symbol.to_owned(), name.clone());
            let Some(name) = name else { continue };
            for used in uses.iter().filter(|used| used.exporter == *exporter) {
                let change = changes.entry(used.importer).or_default();
                change.imports.insert(symbol.to_owned(), name.clone());
            }
        }
    }
    Ok(changes)
}
