//! From collected images to a kernel that can be launched.

use std::env;
use std::sync::Arc;

use offkit_cache::Key;
use offkit_object::{DeviceImage, ImageFormat, Location, backquoted};
use offkit_pi::host::{Context, Device, PiError, Program};
use offkit_sync::OnceLock;

use crate::built::{NO_CONSTANTS, Recipe, is_compiled_at_run_time};
use crate::collect::Collection;
use crate::kernel::Kernel;
use crate::registry::ImageRegistry;
use crate::select::bytes;
use crate::source::ImageError;

/// The environment variable with what devices' compilers are told instead of what images say, as for SYCL programs. It is
/// read once.
pub const COMPILE_OPTIONS_VARIABLE: &str = "SYCL_PROGRAM_COMPILE_OPTIONS";
/// The environment variable with what devices' linkers are told instead of what images say, as for SYCL programs.
pub const LINK_OPTIONS_VARIABLE: &str = "SYCL_PROGRAM_LINK_OPTIONS";

/// A device refuses the images of a kernel.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BuildError {
    /// One of the images cannot be had.
    #[error(transparent)]
    Missing(#[from] ImageError),
    /// One of the images.
    #[error("cannot {action} `{image}`")]
    Image {
        /// What was tried: create a program from it, compile it.
        action: &'static str,
        /// The image.
        image: Location,
        /// What the device says.
        source: PiError,
    },
    /// One of the images exports what another does, and it cannot be told apart.
    #[error("cannot read the module `{image}`, to tell its symbols from others' of the same name")]
    Relink {
        /// The image.
        image: Location,
        /// What is wrong with it.
        source: offkit_spirv::ReadError,
    },
    /// All of them together.
    #[error("cannot {action} {}", backquoted(.images))]
    Images {
        /// What was tried: build them, link them.
        action: &'static str,
        /// The images.
        images: Vec<Location>,
        /// What the device says.
        source: PiError,
    },
    /// Machine code of several images, which only a driver that links as it loads can link.
    #[error(
        "the device cannot link machine code at run time: {}; link it ahead of time, or ship it as SPIR-V",
        backquoted(.images)
    )]
    Native {
        /// The images.
        images: Vec<Location>,
        /// What the device says.
        source: PiError,
    },
    /// The program was built but does not give the kernel.
    #[error("cannot create kernel `{kernel}`")]
    Kernel {
        /// The kernel.
        kernel: String,
        /// What the device says.
        source: PiError,
    },
}

impl BuildError {
    pub(crate) fn of_image(action: &'static str, image: &DeviceImage<'_>, source: PiError) -> Self {
        Self::Image {
            action,
            image: image.location.clone(),
            source,
        }
    }
}

impl ImageRegistry {
    /// Builds the images of a collection for a device and returns the kernel.
    ///
    /// One image is built by itself. Several are compiled one by one, unless they are machine code, and linked by the
    /// device's own linker, the kernel's image first. Compiler and linker are told what the containers of the images say,
    /// or what [`COMPILE_OPTIONS_VARIABLE`] and [`LINK_OPTIONS_VARIABLE`] say instead. What the driver has built before,
    /// with all of this the same, comes from the user's cache.
    ///
    /// # Errors
    ///
    /// [`BuildError`] with what the device says.
    pub fn build(
        &self,
        collection: &Collection,
        context: &Context,
        device: &Device,
    ) -> Result<Kernel, BuildError> {
        self.build_with(collection, context, device, "")
    }

    /// The same with further options, for the device's compiler where there is one image and for its linker where there are
    /// several.
    ///
    /// # Errors
    ///
    /// As [`build`](Self::build).
    pub fn build_with(
        &self,
        collection: &Collection,
        context: &Context,
        device: &Device,
        options: &str,
    ) -> Result<Kernel, BuildError> {
        let images = self.linkable_images(collection)?;
        let mut recipe = recipe(&images);
        if !options.is_empty() {
            let all = [&recipe.link_options, options].join(" ");
            recipe.link_options = all.trim_start().to_owned();
        }
        let make = || make(&images, &recipe.link_options, context, device);
        let program = recipe.build(context, device, make)?;
        let name = &collection.kernel.name;
        let kernel = program.kernel(name).map_err(|source| BuildError::Kernel {
            kernel: name.clone(),
            source,
        })?;
        Ok(Kernel::new(kernel, name.clone(), collection.signature().cloned()))
    }

    /// What [`build`](Self::build) looks for in the user's cache; `None` if it does not: the device compiles nothing, or
    /// the images are native code.
    ///
    /// # Errors
    ///
    /// [`BuildError`] if one of the images cannot be had.
    pub fn cache_key(&self, collection: &Collection, device: &Device) -> Result<Option<Key>, BuildError> {
        Ok(recipe(&self.linkable_images(collection)?).key(device))
    }

    /// The images of a collection as they can be linked together, the kernel's own first.
    fn linkable_images(&self, collection: &Collection) -> Result<Vec<Arc<DeviceImage<'static>>>, BuildError> {
        // The first is the kernel's own, which was read when the collection was made.
        let others = collection.images.iter().skip(1).map(|&image| self.code(image));
        let images = std::iter::once(Ok(Arc::clone(&collection.code))).chain(others);
        collection.relink(images.collect::<Result<_, _>>()?)
    }
}

/// What images are built from without further words.
fn recipe<'a>(images: &'a [Arc<DeviceImage<'static>>]) -> Recipe<'a> {
    Recipe {
        images: images.iter().map(|image| (&**image, &NO_CONSTANTS)).collect(),
        link_options: link_options(images),
    }
}

/// Builds one image, or compiles several one by one and links them.
fn make(
    images: &[Arc<DeviceImage<'static>>],
    link_options: &str,
    context: &Context,
    device: &Device,
) -> Result<Program, BuildError> {
    let together = |action| {
        let images = images.iter().map(|image| image.location.clone()).collect();
        move |source| BuildError::Images {
            action,
            images,
            source,
        }
    };
    let programs = images
        .iter()
        .map(|image| create(image, context, device))
        .collect::<Result<Vec<_>, _>>()?;
    match (programs.as_slice(), images) {
        ([program], [image]) => {
            let options = [&compile_options(image), link_options];
            program
                .build_for(&[device], options.join(" ").trim())
                .map_err(together("build"))?;
            Ok(program.clone())
        }
        (several, _) => {
            // All are of the first one's format: only such an image supplies a symbol to another.
            // Drivers refuse to compile a program of machine code.
            let is_native = !is_compiled_at_run_time(&images[0]);
            for (program, image) in several.iter().zip(images).filter(|_| !is_native) {
                program
                    .compile_for(&[device], &compile_options(image))
                    .map_err(|source| BuildError::of_image("compile", image, source))?;
            }
            let references: Vec<&Program> = several.iter().collect();
            let linked = context.link_for(&[device], &references, link_options);
            linked.map_err(|source| match is_native {
                true => BuildError::Native {
                    images: images.iter().map(|image| image.location.clone()).collect(),
                    source,
                },
                false => together("link")(source),
            })
        }
    }
}

/// What DPC++ notes among an image's options for the runtime, which is to translate it for certain devices: it makes
/// code compile or run faster there. Compilers of devices do not know it, and refuse it.
const FOR_THE_RUNTIME: [&str; 2] = ["-ftarget-register-alloc-mode=", "-ftarget-compile-fast"];

/// What the device's compiler is told of an image.
pub(crate) fn compile_options(image: &DeviceImage<'_>) -> String {
    static INSTEAD: OnceLock<Option<String>> = OnceLock::new();
    // What was compiled before is linked, and kept, under these options: they stay what they are.
    let instead = INSTEAD.get_or_init(|| env::var(COMPILE_OPTIONS_VARIABLE).ok());
    instead.clone().unwrap_or_else(|| {
        let is_ours = |word: &str| FOR_THE_RUNTIME.iter().any(|prefix| word.starts_with(prefix));
        let words = image.compile_options().split(' ');
        words.filter(|word| !is_ours(word)).collect::<Vec<_>>().join(" ")
    })
}

/// What the device's linker is told of all images: what they say, each thing once.
pub(crate) fn link_options(images: &[Arc<DeviceImage<'static>>]) -> String {
    env::var(LINK_OPTIONS_VARIABLE).unwrap_or_else(|_| {
        let mut all: Vec<&str> = Vec::new();
        for options in images.iter().map(|image| image.link_options()) {
            if !options.is_empty() && !all.contains(&options) {
                all.push(options);
            }
        }
        all.join(" ")
    })
}

/// A program of an image, for a device.
pub(crate) fn create(
    image: &DeviceImage<'_>,
    context: &Context,
    device: &Device,
) -> Result<Program, BuildError> {
    let bytes = bytes(image)?;
    let program = match image.format {
        ImageFormat::Spirv => context.program_with_il(bytes),
        _ => context.program_with_binary(device, bytes),
    };
    program.map_err(|source| BuildError::of_image("create a program from", image, source))
}

#[cfg(test)]
mod tests {
    use offkit_image::string_keys;

    use super::*;

    #[test]
    fn what_is_meant_for_the_runtime_is_not_told_to_the_device() {
        for (options, told) in [
            ("", ""),
            ("-O2  -DA=\"b  c\"", "-O2  -DA=\"b  c\""),
            (
                "-ftarget-register-alloc-mode=pvc:-ze-intel-enable-auto-large-GRF-mode",
                "",
            ),
            ("-O2 -ftarget-compile-fast -g", "-O2 -g"),
        ] {
            let mut image = DeviceImage::new(b"");
            image.strings.set(string_keys::COMPILE_OPTIONS, options);
            assert_eq!(compile_options(&image), told);
        }
    }
}
