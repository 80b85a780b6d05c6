//! Image collection: which images a kernel needs.
//!
//! A kernel's image may call functions that other images supply. Starting from it, every imported symbol is looked for
//! among the exports of other images, the images found bring their own imports, and so on until nothing is missing.
//! Virtual functions are called through tables, so no symbol leads to them: of these, an image names sets, and needs all
//! images of a set. What is found is linked together by the device's own linker.

use std::collections::{BTreeMap, HashSet, VecDeque};
use std::sync::Arc;

use offkit_object::{DeviceImage, ImageFormat, Location};
use offkit_pi::host::Device;
use offkit_sync::OnceLock;

use crate::build::BuildError;
use crate::exporter::{CollectError, Needed, Search};
use crate::find::KernelId;
use crate::index::NameId;
use crate::library::{Library, VirtualFunctions};
use crate::registry::{ImageId, ImageRegistry, LibraryId, State, Wanted};
use crate::relink::Relinking;
use crate::rule::{ExporterRule, fits, without_clashes};
use crate::scope::Scopes;
use crate::signatures::Signatures;

/// What a collection is for.
#[derive(Clone, Copy, Debug, Default)]
pub struct CollectOptions<'a> {
    /// The device that is to take all images; without one, nobody is asked whether it takes those that others need.
    pub device: Option<&'a Device>,
    /// Libraries that supply symbols before all others do, in this order, also if they are
    /// [local](crate::Visibility::Local).
    pub libraries: &'a [LibraryId],
}

/// The images that a kernel needs.
#[derive(Clone, Debug)]
pub struct Collection {
    /// The kernel that was asked for.
    pub kernel: KernelId,
    /// The kernel's own image first, then the others in the order in which they were needed.
    pub images: Vec<ImageId>,
    /// Which image supplies which symbol to which.
    pub resolutions: Vec<Resolution>,
    /// The kernel's own image.
    pub(crate) code: Arc<DeviceImage<'static>>,
    /// What linking needs to be told apart, by the image that it is changed in.
    pub(crate) relinked: BTreeMap<ImageId, Relinking>,
    signatures: OnceLock<Signatures>,
}

impl Collection {
    /// The kernel with its arguments, where its image tells them, which is read for this.
    pub fn signature(&self) -> Option<&offkit_spirv::Kernel> {
        let signatures = self.signatures.get_or_init(|| Signatures::of(&self.code));
        signatures.kernel(&self.kernel.name)
    }

    /// The code of the images, as it can be linked together.
    pub(crate) fn relink(
        &self,
        code: Vec<Arc<DeviceImage<'static>>>,
    ) -> Result<Vec<Arc<DeviceImage<'static>>>, BuildError> {
        let relinked = |(image, code): (&ImageId, Arc<DeviceImage<'static>>)| match self.relinked.get(image) {
            Some(relinking) => Ok(Arc::new(relinking.apply(&code)?)),
            None => Ok(code),
        };
        self.images.iter().zip(code).map(relinked).collect()
    }
}

/// A symbol and who supplies it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Resolution<Image = ImageId> {
    /// The symbol as it stands in the images; for virtual functions the name of their set.
    pub symbol: String,
    /// The image that needs it.
    pub importer: Image,
    /// The image that supplies it.
    pub exporter: Image,
}

/// A collection in the making.
struct Closure<'a> {
    registry: &'a ImageRegistry,
    kernel: &'a KernelId,
    options: &'a CollectOptions<'a>,
    images: Vec<ImageId>,
    collected: HashSet<ImageId>,
    open: VecDeque<ImageId>,
    resolutions: Vec<Resolution>,
    scopes: Scopes,
}

impl Closure<'_> {
    fn add(&mut self, symbol: String, importer: ImageId, exporter: ImageId) {
        tracing::debug!(
            symbol,
            importer = %self.registry.place(importer),
            exporter = %self.registry.place(exporter),
            "resolved a device symbol"
        );
        self.resolutions.push(Resolution {
            symbol,
            importer,
            exporter,
        });
        // Each image once, however many need it: images that need each other would go on for ever.
        if self.collected.insert(exporter) {
            self.images.push(exporter);
            self.open.push_back(exporter);
        }
    }

    fn complete(&mut self) -> Result<(), CollectError> {
        let registry = self.registry;
        while let Some(importer) = self.open.pop_front() {
            registry.read_names_of(&[importer]);
            for symbol in registry.names_of(importer, |library, position| library.imports(position)) {
                let exporter = registry.exporter(&symbol, &self.search(importer))?;
                self.add(symbol, importer, exporter);
            }
            for set in registry.virtual_functions_of(importer) {
                for exporter in self.virtual_functions(&set, importer)? {
                    self.add(set.clone(), importer, exporter);
                }
            }
        }
        Ok(())
    }

    fn search(&self, importer: ImageId) -> Search<'_> {
        Search {
            importer,
            kernel: &self.kernel.name,
            options: self.options,
            chain: self,
            scopes: &self.scopes,
        }
    }

    /// The images of a set of virtual functions, but for the importer: each that the device takes, and for those that it
    /// does not take the one that stands in.
    fn virtual_functions(&self, set: &str, importer: ImageId) -> Result<Vec<ImageId>, CollectError> {
        let registry = self.registry;
        let members = registry.read().members(set, importer);
        let ids: Vec<_> = members.iter().map(|(image, _)| *image).collect();
        let ranks = registry.ranks(&ids, importer, self.options.libraries, &self.scopes);
        let (mut images, mut refusals) = (Vec::new(), Vec::new());
        // A dummy comes directly behind the image that it stands in for, and counts only if the device refused that one.
        let mut is_refused = false;
        for ((image, is_dummy), rank) in members.into_iter().zip(ranks) {
            if rank.is_none() {
                continue;
            }
            if is_dummy && !is_refused {
                continue;
            }
            let taken = registry.taken(vec![image], &self.search(importer), &mut refusals)?;
            is_refused = taken.is_empty() && !is_dummy;
            images.extend(taken.into_iter().filter(|taken| *taken != importer));
        }
        Ok(images)
    }
}

/// Why an image is needed.
impl crate::exporter::Chain for Closure<'_> {
    fn of(&self, image: ImageId) -> Vec<Needed> {
        let mut chain = Vec::new();
        let mut image = image;
        // Who brought an image was there before it, so this ends.
        while image != self.kernel.image {
            let first = self.resolutions.iter().find(|first| first.exporter == image);
            let Some(first) = first else { break };
            chain.push(Needed {
                symbol: first.symbol.clone(),
                importer: self.registry.place(first.importer),
            });
            image = first.importer;
        }
        chain.reverse();
        chain
    }
}

impl State {
    /// Whether an image can be linked with another: of the same format and for the same target.
    pub(crate) fn fits(&self, image: ImageId, with: ImageId) -> bool {
        let (Some((library, position)), Some((other, place))) = (self.line(image), self.line(with)) else {
            return false;
        };
        fits(
            (library.format(position), library.target(position)),
            (other.format(place), other.target(place)),
        )
    }

    /// The images of a set of virtual functions that fit an image, and whether each is a dummy; in the order in which
    /// they became known, a dummy behind what it stands in for.
    fn members(&self, set: &str, with: ImageId) -> Vec<(ImageId, bool)> {
        let members = self.virtual_functions.get(set).into_iter().flatten();
        let members = members.filter(|image| self.fits(**image, with));
        let is_dummy = |image| {
            let (library, position) = self.line(image)?;
            Some(library.virtual_functions_of(position)?.is_dummy)
        };
        members
            .map(|&image| (image, is_dummy(image) == Some(true)))
            .collect()
    }
}

impl ImageRegistry {
    /// Collects the images that a kernel needs, whatever device it is for.
    ///
    /// # Errors
    ///
    /// Those of [`collect_with`](Self::collect_with).
    pub fn collect(&self, kernel: &KernelId) -> Result<Collection, CollectError> {
        self.collect_with(kernel, &CollectOptions::default())
    }

    /// Collects the images that a kernel needs.
    ///
    /// Who supplies a symbol: images of the importer's format, for its target, of a library that the importer sees, that
    /// the device takes. If several do, the [rule](ExporterRule) says which, and in a library the device. An image that
    /// is needed is linked as it is, but for what would clash: where two that are needed export the same symbol, and the
    /// rule allows it, each importer gets the one that it was resolved to. Only SPIR-V can be linked like that.
    ///
    /// Where libraries come and go at the same time, the answer is one for what is there at a time.
    ///
    /// # Errors
    ///
    /// [`CollectError`] says which symbol is missing, who needs it, and who has it nevertheless.
    pub fn collect_with(
        &self,
        kernel: &KernelId,
        options: &CollectOptions<'_>,
    ) -> Result<Collection, CollectError> {
        loop {
            let withdrawals = self.read().withdrawals;
            let collected = self.collected(kernel, options);
            // A library that goes meanwhile tells nothing any more of what it needs, or goes from under an error.
            if self.read().withdrawals == withdrawals {
                return collected;
            }
        }
    }

    fn collected(&self, kernel: &KernelId, options: &CollectOptions<'_>) -> Result<Collection, CollectError> {
        let code = self.code(kernel.image)?;
        let mut closure = Closure {
            registry: self,
            kernel,
            options,
            images: vec![kernel.image],
            collected: HashSet::from([kernel.image]),
            open: VecDeque::from([kernel.image]),
            resolutions: Vec::new(),
            scopes: Scopes::default(),
        };
        closure.complete()?;
        let Closure {
            images, resolutions, ..
        } = closure;
        Ok(Collection {
            kernel: kernel.clone(),
            relinked: self.without_clashes(&images, &resolutions, &kernel.name)?,
            images,
            resolutions,
            code,
            signatures: OnceLock::new(),
        })
    }

    /// What an image imports, and for each symbol the image that supplies it, or why none does.
    pub fn dependencies(&self, image: ImageId) -> Vec<(String, Result<ImageId, CollectError>)> {
        self.read_names_of(&[image]);
        let imports = self.names_of(image, |library, position| library.imports(position));
        let importer = self.place(image).to_string();
        let search = Search {
            importer: image,
            kernel: &importer,
            options: &CollectOptions::default(),
            chain: &(),
            scopes: &Scopes::default(),
        };
        let resolve = |symbol: String| {
            let exporter = self.exporter(&symbol, &search);
            (symbol, exporter)
        };
        imports.into_iter().map(resolve).collect()
    }

    /// All images that export a symbol, whatever they are for.
    pub fn exporters(&self, symbol: &str) -> Vec<ImageId> {
        self.read_names(Wanted::Links);
        let state = self.read();
        let exporting = state.index.find(symbol);
        let exporting = exporting
            .into_iter()
            .flat_map(|symbol| state.index.with_export(symbol));
        exporting.filter(|image| state.is_there(image)).collect()
    }

    /// Sees to it that no symbol is exported twice, which a device's linker would refuse, or take either: what has to
    /// be changed in which image.
    fn without_clashes(
        &self,
        images: &[ImageId],
        resolutions: &[Resolution],
        kernel: &str,
    ) -> Result<BTreeMap<ImageId, Relinking>, CollectError> {
        let exports = images.iter().map(|&image| {
            let symbols = self.names_of(image, |library, position| library.exports(position));
            (image, symbols)
        });
        let exports: Vec<(ImageId, Vec<String>)> = exports.collect();
        let exports = exports.iter().flat_map(|(image, symbols)| {
            let symbols = symbols.iter();
            symbols.map(|symbol| (*image, symbol.as_str()))
        });
        let is_spirv = |&image: &ImageId| self.format(image) == Some(ImageFormat::Spirv);
        let can_be_changed = self.exporter_rule() != ExporterRule::Unique && images.iter().all(is_spirv);
        without_clashes(exports, resolutions, can_be_changed).map_err(|clash| CollectError::Clash {
            symbol: clash.symbol,
            kernel: kernel.to_owned(),
            exporters: clash.exporters.iter().map(|&id| self.place(id)).collect(),
        })
    }

    /// The sets of virtual functions that an image uses or defines.
    fn virtual_functions_of(&self, image: ImageId) -> Vec<String> {
        let state = self.read();
        let line = state.line(image);
        let functions = line.and_then(|(library, position)| library.virtual_functions_of(position));
        functions.map_or_else(Vec::new, |VirtualFunctions { defines, uses, .. }| {
            let mut sets = uses.clone();
            sets.extend(defines.iter().filter(|set| !uses.contains(set)).cloned());
            sets
        })
    }

    /// Some names of an image; none of one that was withdrawn.
    fn names_of(
        &self,
        image: ImageId,
        part: impl for<'a> Fn(&'a Library, usize) -> &'a [NameId],
    ) -> Vec<String> {
        let state = self.read();
        let line = state.line(image);
        // Copies, for whoever goes through them takes the lock again to find exporters.
        line.map_or_else(Vec::new, |(library, position)| {
            state.texts(part(library, position)).map(str::to_owned).collect()
        })
    }

    /// Where an image is, for messages.
    pub(crate) fn place(&self, image: ImageId) -> Location {
        self.read().location(image)
    }
}

#[cfg(test)]
mod tests {
    use offkit_object::DeviceImage;

    use super::*;

    const SPIRV: &[u8] = b"\x03\x02\x23\x07";
    const BITCODE: &[u8] = b"BC\xc0\xde";

    /// Registers `name: kernels / imports / exports`.
    fn add(registry: &ImageRegistry, magic: &[u8], name: &str, symbols: [&str; 3]) -> ImageId {
        let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        let [kernels, imports, exports] = symbols.map(words);
        // The name makes the bytes of each image differ.
        let bytes = [magic, name.as_bytes()].concat();
        let mut image = DeviceImage::new(bytes);
        image.location = Location::of_file(name);
        (image.kernels, image.imports, image.exports) = (kernels, imports, exports);
        registry.add(image)
    }

    fn collect(registry: &ImageRegistry, image: ImageId) -> Result<Vec<String>, CollectError> {
        let kernel = KernelId {
            image,
            name: registry.names_of(image, |library, position| library.kernels(position))[0].clone(),
        };
        let collection = registry.collect(&kernel)?;
        let places = collection.images.iter().map(|&id| registry.place(id).to_string());
        Ok(places.collect())
    }

    #[test]
    fn a_chain_of_libraries_is_followed() {
        let registry = ImageRegistry::new();
        let app = add(&registry, SPIRV, "app", ["saxpy", "scale", ""]);
        add(&registry, SPIRV, "unused", ["", "", "other"]);
        add(&registry, SPIRV, "deep", ["", "", "sinus"]);
        add(&registry, SPIRV, "lib", ["", "sinus", "scale"]);
        assert_eq!(collect(&registry, app).unwrap(), ["app", "lib", "deep"]);
    }

    #[test]
    fn images_that_need_each_other_are_both_collected_once() {
        let registry = ImageRegistry::new();
        let a = add(&registry, SPIRV, "a", ["k", "g", "f"]);
        add(&registry, SPIRV, "b", ["", "f", "g"]);
        assert_eq!(collect(&registry, a).unwrap(), ["a", "b"]);
    }

    #[test]
    fn a_missing_symbol_names_kernel_importer_and_what_was_searched() {
        let registry = ImageRegistry::new();
        let app = add(&registry, SPIRV, "app", ["saxpy", "_Z5scalef", ""]);
        add(&registry, SPIRV, "lib", ["", "", "_Z5scaled"]);
        let error = collect(&registry, app).unwrap_err().to_string();
        for part in [
            "`scale(float)`",
            "`_Z5scalef`",
            "kernel `saxpy`",
            "`app`",
            "`lib`",
        ] {
            assert!(error.contains(part), "{part} in {error}");
        }
    }

    #[test]
    fn only_images_of_the_same_format_count() {
        let registry = ImageRegistry::new();
        let app = add(&registry, SPIRV, "app", ["saxpy", "scale", ""]);
        add(&registry, BITCODE, "lib.bc", ["", "", "scale"]);
        let error = collect(&registry, app).unwrap_err();
        assert!(matches!(error, CollectError::OtherFormat { .. }), "{error}");
        assert!(error.to_string().contains("`lib.bc` (LLVM bitcode)"), "{error}");
        add(&registry, SPIRV, "lib.spv", ["", "", "scale"]);
        assert_eq!(collect(&registry, app).unwrap(), ["app", "lib.spv"]);
    }

    #[test]
    fn two_exporters_are_both_named_unless_they_are_the_same() {
        let registry = ImageRegistry::new();
        let app = add(&registry, SPIRV, "app", ["saxpy", "scale", ""]);
        add(&registry, SPIRV, "lib", ["", "", "scale"]);
        add(&registry, SPIRV, "lib", ["", "", "scale"]);
        assert_eq!(collect(&registry, app).unwrap(), ["app", "lib"]);
        add(&registry, SPIRV, "lib2", ["", "", "scale"]);
        let error = collect(&registry, app).unwrap_err().to_string();
        assert!(error.contains("`lib`, `lib2`"), "{error}");
    }

    #[test]
    fn images_that_export_the_same_cannot_be_linked_together() {
        let registry = ImageRegistry::new();
        let app = add(&registry, SPIRV, "app", ["saxpy", "f g", ""]);
        add(&registry, SPIRV, "a", ["", "", "f h"]);
        add(&registry, SPIRV, "b", ["", "", "g h"]);
        let error = collect(&registry, app).unwrap_err();
        assert!(matches!(error, CollectError::Clash { .. }), "{error}");
        for part in ["`h`", "`a`, `b`"] {
            assert!(error.to_string().contains(part), "{error}");
        }
    }
}
