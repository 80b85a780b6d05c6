//! Image collection: which images a kernel needs.
//!
//! A kernel's image may call functions that other images supply. Starting from it, every imported
//! symbol is looked for among the exports of the images that are in the same format, the images
//! found bring their own imports, and so on until nothing is missing. What is found is linked
//! together by the device's own linker.

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::{Arc, OnceLock};

use offkit_object::{DeviceImage, Location, backquoted, describe_symbol};

use crate::find::{KernelId, places};
use crate::index::NameId;
use crate::library::Library;
use crate::registry::{ImageId, ImageRegistry, Wanted};
use crate::select::code;
use crate::signatures::Signatures;
use crate::source::ImageError;

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
    signatures: OnceLock<Signatures>,
}

impl Collection {
    /// The kernel with its arguments, where its image tells them, which is read for this.
    pub fn signature(&self) -> Option<&offkit_spirv::Kernel> {
        let signatures = self.signatures.get_or_init(|| Signatures::of(&self.code));
        signatures.kernel(&self.kernel.name)
    }
}

/// A symbol and who supplies it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Resolution {
    /// The symbol as it stands in the images.
    pub symbol: String,
    /// The image that needs it.
    pub importer: ImageId,
    /// The image that supplies it.
    pub exporter: ImageId,
}

/// The images that a kernel needs cannot be collected.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CollectError {
    /// The kernel's image cannot be had.
    #[error(transparent)]
    Image(#[from] ImageError),
    /// No image supplies a symbol.
    #[error(
        "kernel `{kernel}` needs {}, which `{importer}` imports and no image exports (searched {})",
        describe_symbol(.symbol), places(.searched)
    )]
    NotExported {
        /// The symbol as it stands in the images.
        symbol: String,
        /// The kernel that was asked for.
        kernel: String,
        /// The image that needs the symbol.
        importer: Location,
        /// The images that were searched.
        searched: Vec<Location>,
    },
    /// The symbol is there, but in images of another format, or for another target, only.
    #[error(
        "kernel `{kernel}` needs {}, which only {} exports, in another format or for another target: \
         `{importer}` is {format}",
        describe_symbol(.symbol), formats(.exporters)
    )]
    OtherFormat {
        /// The symbol as it stands in the images.
        symbol: String,
        /// The kernel that was asked for.
        kernel: String,
        /// The image that needs the symbol.
        importer: Box<Location>,
        /// What that image is: `SPIR-V for spirv64`.
        format: String,
        /// The images that export it, and what they are.
        exporters: Vec<(Location, String)>,
    },
    /// Several images supply a symbol. Which one is meant cannot be told, and a device's linker
    /// would refuse both or take either.
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
    /// Images that a kernel needs, for one symbol or another, export the same symbol, needed or not.
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

fn formats(exporters: &[(Location, String)]) -> String {
    exporters
        .iter()
        .map(|(place, format)| format!("`{place}` ({format})"))
        .collect::<Vec<_>>()
        .join(", ")
}

impl ImageRegistry {
    /// Collects the images that a kernel needs.
    ///
    /// # Errors
    ///
    /// A symbol that no image supplies, or only in another format, or several do; images that both
    /// export a symbol.
    pub fn collect(&self, kernel: &KernelId) -> Result<Collection, CollectError> {
        let code = self.code(kernel.image)?;
        let mut images = vec![kernel.image];
        let mut collected = HashSet::from([kernel.image]);
        let mut resolutions = Vec::new();
        let mut handled = HashSet::new();
        let mut open = VecDeque::from([kernel.image]);
        while let Some(importer) = open.pop_front() {
            self.read_names_of(&[importer]);
            for symbol in self.names_of(importer, |library, position| library.imports(position)) {
                if !handled.insert(symbol.clone()) {
                    continue;
                }
                let exporter = self.exporter(&symbol, importer, &kernel.name)?;
                tracing::debug!(
                    symbol,
                    importer = %self.place(importer),
                    exporter = %self.place(exporter),
                    "resolved a device symbol"
                );
                resolutions.push(Resolution {
                    symbol,
                    importer,
                    exporter,
                });
                if collected.insert(exporter) {
                    images.push(exporter);
                    open.push_back(exporter);
                }
            }
        }
        self.check_clashes(&images, &kernel.name)?;
        Ok(Collection {
            kernel: kernel.clone(),
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
        let resolve = |symbol: String| {
            let exporter = self.exporter(&symbol, image, &importer);
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

    /// Checks that no symbol is exported twice: a device's linker would refuse it, or take either.
    fn check_clashes(&self, images: &[ImageId], kernel: &str) -> Result<(), CollectError> {
        let mut exporters: HashMap<String, ImageId> = HashMap::new();
        for &image in images {
            for symbol in self.names_of(image, |library, position| library.exports(position)) {
                if let Some(other) = exporters.insert(symbol.clone(), image) {
                    return Err(CollectError::Clash {
                        symbol,
                        kernel: kernel.to_owned(),
                        exporters: [other, image].map(|id| self.place(id)).to_vec(),
                    });
                }
            }
        }
        Ok(())
    }

    fn exporter(&self, symbol: &str, importer: ImageId, kernel: &str) -> Result<ImageId, CollectError> {
        self.read_names(Wanted::Links);
        let state = self.read();
        let (importing, position) = state.line(importer).ok_or(ImageError::Withdrawn)?;
        let (format, target) = (importing.format(position), importing.target(position));
        let mut exporting = state
            .index
            .find(symbol)
            .map_or_else(Vec::new, |symbol| state.index.with_export(symbol));
        exporting.retain(|image| state.is_there(image));
        let is_fitting = |image: &ImageId| {
            let line = state.line(*image);
            line.is_some_and(|(library, position)| {
                let other = library.target(position);
                let is_told = !other.triple.is_empty() && !target.triple.is_empty();
                library.format(position) == format && (!is_told || other.fits(target))
            })
        };
        let fitting: Vec<_> = exporting.iter().copied().filter(is_fitting).collect();
        let what = |image: ImageId| {
            let line = state.line(image);
            line.map_or_else(String::new, |(library, position)| {
                code(library.format(position), library.target(position))
            })
        };
        match fitting.as_slice() {
            [only] => return Ok(*only),
            [] if exporting.is_empty() => {
                return Err(CollectError::NotExported {
                    symbol: symbol.to_owned(),
                    kernel: kernel.to_owned(),
                    importer: state.location(importer),
                    searched: state.images().map(|image| state.location(image)).collect(),
                });
            }
            [] => {
                return Err(CollectError::OtherFormat {
                    symbol: symbol.to_owned(),
                    kernel: kernel.to_owned(),
                    importer: Box::new(state.location(importer)),
                    format: what(importer),
                    exporters: exporting
                        .iter()
                        .map(|&image| (state.location(image), what(image)))
                        .collect(),
                });
            }
            _ => {}
        }
        drop(state);
        // The same library named twice is one library.
        let (different, _opened) = self.without_copies(fitting);
        match different.as_slice() {
            [only] => Ok(*only),
            several => Err(CollectError::SeveralExporters {
                symbol: symbol.to_owned(),
                kernel: kernel.to_owned(),
                exporters: several.iter().map(|&image| self.place(image)).collect(),
            }),
        }
    }

    /// Some names of an image; none of one that was withdrawn.
    fn names_of(
        &self,
        image: ImageId,
        part: impl for<'a> Fn(&'a Library, usize) -> &'a [NameId],
    ) -> Vec<String> {
        let state = self.read();
        let line = state.line(image);
        line.map_or_else(Vec::new, |(library, position)| {
            state.texts(part(library, position)).map(str::to_owned).collect()
        })
    }

    /// Where an image is, for messages.
    fn place(&self, image: ImageId) -> Location {
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
