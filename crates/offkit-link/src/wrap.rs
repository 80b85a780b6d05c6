//! Wrapping: device images in a host object that registers them when the program starts.

use offkit_image::string_keys;
use offkit_llvm::{Worker, WorkerError};
use offkit_object::property_set::names;
use offkit_object::registration::{HostTarget, Registration};
use offkit_object::{DeviceImage, Error, ImageFormat, Producer, bundle, fatbin};
use offkit_spirv::{Module, reflect};

use crate::properties::{VIRTUAL_FUNCTIONS_SET, image_properties};

pub use offkit_object::registration::RegistrationKind as WrapKind;

/// What is wrapped, and for which host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wrap {
    /// What registers the images.
    pub kind: WrapKind,
    /// The triple of the host, such as `x86_64-unknown-linux-gnu`.
    pub host_triple: String,
    /// Whether the object is to be linked into another object first.
    pub relocatable: bool,
    /// Whether there are a constructor and a destructor.
    pub functions: bool,
    /// Whether there may be no images; the object then registers nothing.
    pub allow_empty: bool,
    /// The name of the descriptor, if others are to see it.
    pub descriptor_name: Option<String>,
    /// Whether the loader is to know the images ([`Registration::is_marked`]).
    pub is_marked: bool,
    /// Options that the device's compiler is given when the program runs, instead of those that images have.
    pub compile_options: Option<String>,
    /// Options that the device's linker is given when the program runs, instead of those that images have.
    pub link_options: Option<String>,
}

/// Why images cannot be wrapped.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WrapError {
    /// There is no code for the host.
    #[error("cannot write objects for `{triple}`: expected x86_64 or aarch64 with ELF, or x86_64 with COFF")]
    Host {
        /// Its triple.
        triple: String,
    },
    /// An image for another language's runtime.
    #[error("{location}: the image is for {found}, which `{}` does not register", .kind.name())]
    Producer {
        /// Where the image was found.
        location: String,
        /// The language that it was made for.
        found: &'static str,
        /// What was to register it.
        kind: WrapKind,
    },
    /// A file that the runtime would not take.
    #[error("{name}: offset 0: what {} registers starts with the magic number of {expected}", .kind.name())]
    Container {
        /// The file.
        name: String,
        /// What was to register it.
        kind: WrapKind,
        /// What the runtime takes.
        expected: &'static str,
    },
    /// What the structures cannot hold.
    #[error(transparent)]
    Object(#[from] Error),
    /// A form of registration that LLVM 22 does not have.
    #[error("LLVM makes no module that registers images as `{}`", .0.name())]
    NoModule(WrapKind),
    /// LLVM did not make the module.
    #[error(transparent)]
    Worker(#[from] WorkerError),
}

impl Wrap {
    /// For the machine that this runs on.
    #[must_use]
    pub fn new(kind: WrapKind) -> Self {
        Self {
            kind,
            host_triple: host_triple(),
            relocatable: false,
            functions: true,
            allow_empty: false,
            descriptor_name: None,
            is_marked: false,
            compile_options: None,
            link_options: None,
        }
    }

    /// Writes the object with these images.
    ///
    /// What no container told about a SPIR-V image is taken from its own bytes: kernels, imports, exports.
    ///
    /// # Errors
    ///
    /// See [`WrapError`].
    pub fn run(&self, mut images: Vec<DeviceImage<'_>>) -> Result<Vec<u8>, WrapError> {
        let host = HostTarget::for_triple(&self.host_triple).ok_or_else(|| WrapError::Host {
            triple: self.host_triple.clone(),
        })?;
        self.prepare(&mut images)?;
        let mut registration = Registration::new(self.kind, host);
        registration.relocatable = self.relocatable;
        registration.functions = self.functions;
        registration.descriptor_name.clone_from(&self.descriptor_name);
        registration.is_marked = self.is_marked;
        Ok(if images.is_empty() && self.allow_empty {
            registration.write_nothing()?
        } else {
            registration.write(&images)?
        })
    }

    /// The module that LLVM's tools would compile to such an object, in LLVM's text form.
    ///
    /// # Errors
    ///
    /// See [`WrapError`].
    pub fn module(&self, mut images: Vec<DeviceImage<'_>>, worker: &mut Worker) -> Result<String, WrapError> {
        if let WrapKind::SyclV2 | WrapKind::SyclV3 | WrapKind::Offload = self.kind {
            return Err(WrapError::NoModule(self.kind));
        }
        self.prepare(&mut images)?;
        let embedded = self.kind.embedded(&images)?;
        let embedded: Vec<_> = embedded.iter().map(Vec::as_slice).collect();
        let language = producer(self.kind).name();
        Ok(worker.wrap(language, &self.host_triple, self.relocatable, &embedded)?)
    }

    /// Completes images, which must be for the language that registers them.
    fn prepare(&self, images: &mut [DeviceImage<'_>]) -> Result<(), WrapError> {
        let producer = producer(self.kind);
        for image in images {
            // Code by itself names no language: any runtime may be meant.
            if image.producer != Producer::None && image.producer != producer {
                return Err(WrapError::Producer {
                    location: image.location.to_string(),
                    found: image.producer.name(),
                    kind: self.kind,
                });
            }
            if producer == Producer::Sycl {
                describe(image);
            }
            for (key, options) in [
                (string_keys::COMPILE_OPTIONS, &self.compile_options),
                (string_keys::LINK_OPTIONS, &self.link_options),
            ] {
                if let Some(options) = options {
                    image.strings.set(key, options.clone());
                }
            }
        }
        Ok(())
    }
}

/// Whether the runtime takes containers as they are, and not the images in them: CUDA's and HIP's do, and tell them by
/// their first bytes.
///
/// # Errors
///
/// [`WrapError::Container`] for the content of a file that is none of these.
pub fn takes_container(kind: WrapKind, name: &str, content: &[u8]) -> Result<bool, WrapError> {
    let (magics, expected): (&[&[u8]], _) = match kind {
        WrapKind::Cuda => (&[&fatbin::MAGIC], "a fatbin, as fatbinary writes it"),
        WrapKind::Hip => (
            &[&bundle::MAGIC, &bundle::COMPRESSED_MAGIC],
            "a bundle, as clang-offload-bundler writes it",
        ),
        _ => return Ok(false),
    };
    match magics.iter().any(|magic| content.starts_with(magic)) {
        true => Ok(true),
        false => Err(WrapError::Container {
            name: name.to_owned(),
            kind,
            expected,
        }),
    }
}

/// The language whose runtime takes images of this kind.
fn producer(kind: WrapKind) -> Producer {
    match kind {
        WrapKind::OpenMp => Producer::OpenMp,
        WrapKind::Cuda => Producer::Cuda,
        WrapKind::Hip => Producer::Hip,
        _ => Producer::Sycl,
    }
}

/// The triple of the machine that this was built for.
#[must_use]
pub fn host_triple() -> String {
    let arch = std::env::consts::ARCH;
    let system = match std::env::consts::OS {
        "windows" => "pc-windows-msvc",
        "macos" => "apple-darwin",
        _ => "unknown-linux-gnu",
    };
    format!("{arch}-{system}")
}

/// Adds what a SPIR-V module says about itself, where nothing was said about it: kernels, and what the images of one
/// program need from each other.
fn describe(image: &mut DeviceImage<'_>) {
    // What a tool chain has said of an image counts, also where its code shows more.
    let is_described = image.entries.is_some() || !image.properties.is_empty();
    if !is_described
        && image.format == ImageFormat::Spirv
        && let Ok(module) = Module::from_bytes(image.bytes().unwrap_or_default())
    {
        // Properties bring lists of symbols along, but kernels that a container has named stay.
        let kernels = std::mem::take(&mut image.kernels);
        *image = image.clone().with_properties(image_properties(&reflect(&module)));
        if !kernels.is_empty() {
            image.kernels = kernels;
        }
    }
    // SYCL's runtime passes over an image without entries: one for its virtual functions alone has these.
    let has_virtual_functions = (image.properties)
        .get(names::VIRTUAL_FUNCTIONS, VIRTUAL_FUNCTIONS_SET)
        .is_some();
    if has_virtual_functions
        && image.kernels.is_empty()
        && let Ok(module) = Module::from_bytes(image.bytes().unwrap_or_default())
    {
        let exports = reflect(&module).exports.into_iter();
        image.kernels = exports.map(|symbol| symbol.name).collect();
    }
    // The table of entries says the same.
    image.properties.remove(names::KERNEL_NAMES);
}
