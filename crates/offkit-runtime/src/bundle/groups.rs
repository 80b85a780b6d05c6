//! Which images of bundles are linked together.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use offkit_object::{ImageFormat, Inspect, Limits};
use offkit_pi::host::Device;

use super::BundleError;
use super::unit::Image;
use crate::collect::Resolution;
use crate::rule::{Clash, ExporterRule, fits, without_clashes};
use crate::select::{SelectError, liked_best};

/// Images on their way into a program.
pub(super) struct Linking<'a> {
    pub(super) device: &'a Device,
    pub(super) rule: ExporterRule,
    /// Whether everything that an image needs must be there.
    pub(super) is_complete: bool,
    /// Each with the number of its bundle. What a bundle has of one file is a library of its own.
    pub(super) images: &'a [(usize, &'a Image)],
}

impl Linking<'_> {
    /// Groups of images that need each other, directly or through others: their places in the list, and the images as they
    /// can be linked together.
    pub(super) fn groups(&self) -> Result<Vec<Vec<(usize, Image)>>, BundleError> {
        let links = self
            .images
            .iter()
            .map(|(_, image)| image.links(&Limits::default()));
        let links: Vec<_> = links.collect();
        let resolutions = self.resolutions(&links)?;
        let mut groups = Groups::new(self.images.len());
        for resolution in &resolutions {
            groups.unite(resolution.importer, resolution.exporter);
        }
        let groups = groups.members().into_iter();
        let linkable = |group: Vec<usize>| {
            let exports = group.iter().flat_map(|&number| {
                let [_, exports] = &links[number];
                exports.iter().map(move |&symbol| (number, symbol))
            });
            let is_spirv = |&number: &usize| self.image(number).format == ImageFormat::Spirv;
            let can_be_changed = self.rule != ExporterRule::Unique && group.iter().all(is_spirv);
            let relinked = match without_clashes(exports, &resolutions, can_be_changed) {
                Err(clash) if self.is_complete => return Err(self.several_exporters(clash)),
                // Programs that are running may get along without.
                relinked => relinked.unwrap_or_default(),
            };
            let linkable = group.into_iter().map(|number| {
                let image = self.image(number);
                let image = match relinked.get(&number) {
                    None => Arc::clone(image),
                    Some(relinking) => Arc::new(relinking.apply(image)?),
                };
                Ok((number, image))
            });
            linkable.collect()
        };
        groups.map(linkable).collect()
    }

    fn image(&self, number: usize) -> &Image {
        self.images[number].1
    }

    /// Which image supplies which symbol to which.
    fn resolutions(&self, links: &[[Vec<&str>; 2]]) -> Result<Vec<Resolution<usize>>, BundleError> {
        let mut exporters: HashMap<&str, Vec<usize>> = HashMap::new();
        for (number, [_, exports]) in links.iter().enumerate() {
            for export in exports {
                exporters.entry(export).or_default().push(number);
            }
        }
        let libraries = self.libraries();
        let mut resolutions = Vec::new();
        for (importer, [imports, _]) in links.iter().enumerate() {
            let kind = |number: usize| (self.image(number).format, &self.image(number).target);
            for &symbol in imports {
                let exporting = exporters.get(symbol).map(Vec::as_slice).unwrap_or_default();
                let able = exporting
                    .iter()
                    .filter(|&&other| fits(kind(other), kind(importer)));
                let place = |&number: &usize| {
                    let is_own = libraries[number] == libraries[importer];
                    let comes_first = is_own && self.rule == ExporterRule::OwnFirst;
                    // `false` sorts before `true`, so what comes first does; then libraries in their order.
                    ((!comes_first, libraries[number]), number)
                };
                let chosen = self.rule.choose(
                    able.map(place).collect(),
                    |library| self.liked_best(library),
                    |images| self.different(images),
                )?;
                match chosen.as_slice() {
                    &[exporter] => resolutions.push(Resolution {
                        symbol: symbol.to_owned(),
                        importer,
                        exporter,
                    }),
                    [] if self.is_complete => {
                        return Err(BundleError::NotExported {
                            symbol: symbol.to_owned(),
                            importer: self.image(importer).location.clone(),
                            elsewhere: exporting
                                .iter()
                                .map(|&number| self.image(number).location.clone())
                                .collect(),
                        });
                    }
                    [] => {}
                    _ => {
                        return Err(self.several_exporters(Clash {
                            symbol: symbol.to_owned(),
                            exporters: chosen,
                        }));
                    }
                }
            }
        }
        Ok(resolutions)
    }

    fn several_exporters(&self, clash: Clash<usize>) -> BundleError {
        let exporters = clash.exporters.into_iter();
        BundleError::SeveralExporters {
            symbol: clash.symbol,
            exporters: exporters
                .map(|number| self.image(number).location.clone())
                .collect(),
        }
    }

    /// The number of each image's library, in their order.
    fn libraries(&self) -> Vec<usize> {
        let mut known = HashMap::new();
        let numbers = self.images.iter().map(|(bundle, image)| {
            let next = known.len();
            *known.entry((bundle, image.location.file())).or_insert(next)
        });
        numbers.collect()
    }

    /// What the device likes best of a library's images, which it takes all.
    fn liked_best(&self, images: Vec<usize>) -> Result<Vec<usize>, SelectError> {
        match images.as_slice() {
            [] | [_] => Ok(images),
            several => {
                let best = liked_best(several, |&number| self.image(number), self.device)?;
                Ok(best.into_iter().copied().collect())
            }
        }
    }

    /// The images without copies of others: one that is there twice, or that another bundle has too, is one.
    fn different(&self, images: Vec<usize>) -> Vec<usize> {
        let mut different: Vec<usize> = Vec::new();
        for image in images {
            if !different
                .iter()
                .any(|&other| is_copy(self.image(other), self.image(image)))
            {
                different.push(image);
            }
        }
        different
    }
}

fn is_copy(one: &Image, other: &Image) -> bool {
    Arc::ptr_eq(one, other)
        || one
            .bytes()
            .is_ok_and(|bytes| other.bytes().is_ok_and(|other| bytes == other))
}

/// Sets that grow together.
struct Groups(Vec<usize>);

impl Groups {
    fn new(count: usize) -> Self {
        Self((0..count).collect())
    }

    /// The number of the group that something is in: that of its first member.
    fn find(&mut self, member: usize) -> usize {
        let mut root = member;
        while self.0[root] != root {
            // Each step shortens the way for those who come after.
            self.0[root] = self.0[self.0[root]];
            root = self.0[root];
        }
        root
    }

    fn unite(&mut self, one: usize, other: usize) {
        let (one, other) = (self.find(one), self.find(other));
        // The smaller number stays, so that groups come in the order of their first images.
        let (first, second) = (one.min(other), one.max(other));
        self.0[second] = first;
    }

    /// The members of each group, in their order.
    fn members(mut self) -> Vec<Vec<usize>> {
        let mut groups: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        for member in 0..self.0.len() {
            groups.entry(self.find(member)).or_default().push(member);
        }
        groups.into_values().collect()
    }
}
