//! Image collection: which images a kernel needs.
//!
//! A kernel's image may call functions that other images supply. Starting from it, every imported
//! symbol is looked for among the exports of the images that are in the same format, the images
//! found bring their own imports, and so on until nothing is missing. What is found is linked
//! together by the device's own linker.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use offkit_object::{ImageFormat, Location, backquoted, describe_symbol};

use crate::registry::{ImageId, ImageRegistry, KernelId};

/// The images that a kernel needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Collection {
    /// The kernel that was asked for.
    pub kernel: KernelId,
    /// The kernel's own image first, then the others in the order in which they were needed.
    pub images: Vec<ImageId>,
    /// Which image supplies which symbol to which.
    pub resolutions: Vec<Resolution>,
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
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CollectError {
    /// No image supplies a symbol.
    #[error(
        "kernel `{kernel}` needs {}, which `{importer}` imports and no image exports (searched {})",
        describe_symbol(.symbol), backquoted(.searched)
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
    /// The symbol is there, but in images of another format only.
    #[error(
        "kernel `{kernel}` needs {}, which only {} exports, in another format: `{importer}` is {format}",
        describe_symbol(.symbol), formats(.exporters)
    )]
    OtherFormat {
        /// The symbol as it stands in the images.
        symbol: String,
        /// The kernel that was asked for.
        kernel: String,
        /// The image that needs the symbol.
        importer: Location,
        /// The format of that image.
        format: ImageFormat,
        /// The images that export it, with their formats.
        exporters: Vec<(Location, ImageFormat)>,
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

fn formats(exporters: &[(Location, ImageFormat)]) -> String {
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
        let mut images = vec![kernel.image];
        let mut resolutions = Vec::new();
        let mut handled: BTreeSet<&str> = BTreeSet::new();
        let mut open: VecDeque<ImageId> = images.clone().into();
        while let Some(importer) = open.pop_front() {
            for symbol in &self.symbols(importer).imports {
                if !handled.insert(symbol) {
                    continue;
                }
                let exporter = self.exporter(symbol, importer, &kernel.name)?;
                tracing::debug!(
                    symbol,
                    importer = %self.image(importer).location,
                    exporter = %self.image(exporter).location,
                    "resolved a device symbol"
                );
                resolutions.push(Resolution {
                    symbol: symbol.clone(),
                    importer,
                    exporter,
                });
                if !images.contains(&exporter) {
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
        })
    }

    /// Checks that no symbol is exported twice: a device's linker would refuse it, or take either.
    fn check_clashes(&self, images: &[ImageId], kernel: &str) -> Result<(), CollectError> {
        let mut exporters: BTreeMap<&str, ImageId> = BTreeMap::new();
        for &image in images {
            for symbol in &self.symbols(image).exports {
                if let Some(other) = exporters.insert(symbol, image) {
                    return Err(CollectError::Clash {
                        symbol: symbol.clone(),
                        kernel: kernel.to_owned(),
                        exporters: [other, image].map(|id| self.image(id).location.clone()).to_vec(),
                    });
                }
            }
        }
        Ok(())
    }

    fn exporter(&self, symbol: &String, importer: ImageId, kernel: &str) -> Result<ImageId, CollectError> {
        let importing = self.image(importer);
        let exporting: Vec<_> = self
            .images()
            .filter(|(id, _)| self.symbols(*id).exports.contains(symbol))
            .collect();
        let mut fitting: Vec<_> = exporting
            .iter()
            .filter(|(_, image)| image.format == importing.format)
            .collect();
        // The same library named twice is one library.
        fitting.dedup_by(|(_, a), (_, b)| a.bytes() == b.bytes());
        match fitting.as_slice() {
            [(id, _)] => Ok(*id),
            [] if exporting.is_empty() => Err(CollectError::NotExported {
                symbol: symbol.clone(),
                kernel: kernel.to_owned(),
                importer: importing.location.clone(),
                searched: self.images().map(|(_, image)| image.location.clone()).collect(),
            }),
            [] => Err(CollectError::OtherFormat {
                symbol: symbol.clone(),
                kernel: kernel.to_owned(),
                importer: importing.location.clone(),
                format: importing.format,
                exporters: exporting
                    .iter()
                    .map(|(_, image)| (image.location.clone(), image.format))
                    .collect(),
            }),
            several => Err(CollectError::SeveralExporters {
                symbol: symbol.clone(),
                kernel: kernel.to_owned(),
                exporters: several.iter().map(|(_, image)| image.location.clone()).collect(),
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use offkit_object::DeviceImage;

    use super::*;

    const SPIRV: &[u8] = b"\x03\x02\x23\x07";
    const BITCODE: &[u8] = b"BC\xc0\xde";

    /// Registers `name: kernels / imports / exports`.
    fn add(registry: &mut ImageRegistry, magic: &[u8], name: &str, symbols: [&str; 3]) -> ImageId {
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
            name: registry.symbols(image).kernels[0].clone(),
        };
        let collection = registry.collect(&kernel)?;
        Ok(collection
            .images
            .iter()
            .map(|&id| registry.image(id).location.to_string())
            .collect())
    }

    #[test]
    fn a_chain_of_libraries_is_followed() {
        let mut registry = ImageRegistry::new();
        let app = add(&mut registry, SPIRV, "app", ["saxpy", "scale", ""]);
        add(&mut registry, SPIRV, "unused", ["", "", "other"]);
        add(&mut registry, SPIRV, "deep", ["", "", "sinus"]);
        add(&mut registry, SPIRV, "lib", ["", "sinus", "scale"]);
        assert_eq!(collect(&registry, app).unwrap(), ["app", "lib", "deep"]);
    }

    #[test]
    fn images_that_need_each_other_are_both_collected_once() {
        let mut registry = ImageRegistry::new();
        let a = add(&mut registry, SPIRV, "a", ["k", "g", "f"]);
        add(&mut registry, SPIRV, "b", ["", "f", "g"]);
        assert_eq!(collect(&registry, a).unwrap(), ["a", "b"]);
    }

    #[test]
    fn a_missing_symbol_names_kernel_importer_and_what_was_searched() {
        let mut registry = ImageRegistry::new();
        let app = add(&mut registry, SPIRV, "app", ["saxpy", "_Z5scalef", ""]);
        add(&mut registry, SPIRV, "lib", ["", "", "_Z5scaled"]);
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
        let mut registry = ImageRegistry::new();
        let app = add(&mut registry, SPIRV, "app", ["saxpy", "scale", ""]);
        add(&mut registry, BITCODE, "lib.bc", ["", "", "scale"]);
        let error = collect(&registry, app).unwrap_err();
        assert!(matches!(error, CollectError::OtherFormat { .. }), "{error}");
        assert!(error.to_string().contains("`lib.bc` (LLVM bitcode)"), "{error}");
        add(&mut registry, SPIRV, "lib.spv", ["", "", "scale"]);
        assert_eq!(collect(&registry, app).unwrap(), ["app", "lib.spv"]);
    }

    #[test]
    fn two_exporters_are_both_named_unless_they_are_the_same() {
        let mut registry = ImageRegistry::new();
        let app = add(&mut registry, SPIRV, "app", ["saxpy", "scale", ""]);
        add(&mut registry, SPIRV, "lib", ["", "", "scale"]);
        add(&mut registry, SPIRV, "lib", ["", "", "scale"]);
        assert_eq!(collect(&registry, app).unwrap(), ["app", "lib"]);
        add(&mut registry, SPIRV, "lib2", ["", "", "scale"]);
        let error = collect(&registry, app).unwrap_err().to_string();
        assert!(error.contains("`lib`, `lib2`"), "{error}");
    }

    #[test]
    fn images_that_export_the_same_cannot_be_linked_together() {
        let mut registry = ImageRegistry::new();
        let app = add(&mut registry, SPIRV, "app", ["saxpy", "f g", ""]);
        add(&mut registry, SPIRV, "a", ["", "", "f h"]);
        add(&mut registry, SPIRV, "b", ["", "", "g h"]);
        let error = collect(&registry, app).unwrap_err();
        assert!(matches!(error, CollectError::Clash { .. }), "{error}");
        for part in ["`h`", "`a`, `b`"] {
            assert!(error.to_string().contains(part), "{error}");
        }
    }

    #[test]
    fn kernels_are_found_by_the_closest_name() {
        use crate::registry::KernelNameError;
        let mut registry = ImageRegistry::new();
        let a = add(&mut registry, SPIRV, "a", ["_Z5saxpyf saxpy", "", ""]);
        let b = add(&mut registry, SPIRV, "b", ["_Z5daxpyf _Z5daxpyd", "", ""]);
        assert_eq!(registry.find_kernel("saxpy", &[a]).unwrap().name, "saxpy");
        assert_eq!(
            registry.find_kernel("daxpy(double)", &[a, b]).unwrap().name,
            "_Z5daxpyd"
        );
        let error = registry.find_kernel("daxpy", &[a, b]).unwrap_err();
        assert!(
            error
                .to_string()
                .contains("`daxpy(float)` (symbol `_Z5daxpyf`) in `b`"),
            "{error}"
        );
        let Err(KernelNameError::NotFound { similar, .. }) = registry.find_kernel("saxpi", &[a, b]) else {
            panic!("found");
        };
        assert_eq!(similar[0], "saxpy");
        assert!(
            registry.find_kernel("saxpy", &[b]).is_err(),
            "only among the images named"
        );
    }
}
