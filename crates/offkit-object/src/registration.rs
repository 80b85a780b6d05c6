//! Host objects that embed device images and register them: what a linker needs to make a program with device
//! code, written without a compiler.
//!
//! A constructor hands the images to the runtime when the program or library is loaded, and a destructor takes
//! them back. Each offloading language has its own structures and functions for that:
//!
//! | kind | structures | functions | as written by |
//! |---|---|---|---|
//! | [SYCL, v2](RegistrationKind::SyclV2) | images of 96 bytes, entries of 32 | `__sycl_register_lib(descriptor)` | DPC++ up to 2025 |
//! | [SYCL, v3](RegistrationKind::SyclV3) | images of 80 bytes, entries of 32 | the same | DPC++ 2026 |
//! | [SYCL, LLVM](RegistrationKind::SyclLlvm) | images of 80 bytes, entries of 56 | the same | LLVM 22's `clang-linker-wrapper` |
//! | [offload binary](RegistrationKind::Offload) | an offload binary | `__sycl_register_lib(start, size)` | LLVM after 22 |
//! | [OpenMP](RegistrationKind::OpenMp) | `__tgt_bin_desc` | `__tgt_register_lib(descriptor)` | LLVM since 20 |
//! | [CUDA](RegistrationKind::Cuda), [HIP](RegistrationKind::Hip) | a fatbin or bundle, and a wrapper | `__cudaRegisterFatBinary(wrapper)` and others | the same |
//!
//! Whatever the kind, images of SYCL and OpenMP are embedded as offload binaries in a section
//! `.llvm.offloading`, with the structures pointing into them, so that every tool that lists offload binaries
//! can list what is in the object, and in the program that is linked with it.
//!
//! ```
//! use offkit_object::registration::{HostTarget, Registration, RegistrationKind};
//! use offkit_object::{DeviceImage, Limits, Target, read};
//!
//! let mut image = DeviceImage::new(b"BC\xc0\xde and so on".as_slice());
//! image.target = Target::new("spir64-unknown-unknown", "");
//! image.kernels.push("saxpy".into());
//!
//! let host = HostTarget::for_triple("x86_64-unknown-linux-gnu").unwrap();
//! let object = Registration::new(RegistrationKind::SyclV3, host).write(&[image])?;
//!
//! let contents = read("wrapped.o", &object, &Limits::default());
//! assert_eq!(contents.images[0].kernels, ["saxpy"]);
//! # Ok::<(), offkit_object::Error>(())
//! ```

mod code;
mod entry_array;
mod fatbin;
mod globals;
mod host_object;
mod offload;
mod openmp;
mod sycl;

use offkit_image::target::Triple;
use offkit_image::{DeviceImage, Error};

use crate::host::ObjectFormat;
use host_object::HostObject;

offkit_image::named! {
    /// What registers the images, and how.
    #[non_exhaustive]
    pub enum RegistrationKind, "The name on command lines." {
        /// DPC++'s images of version 2, for its runtimes up to 2025.
        SyclV2 => "sycl-v2",
        /// DPC++'s images of version 3, for its runtimes since 2026.
        SyclV3 => "sycl-v3",
        /// Images of version 3 as LLVM 22 writes them: with larger entries and another number for SYCL.
        SyclLlvm => "sycl-llvm",
        /// One offload binary with all images, as LLVM registers SYCL's after 22.
        Offload => "offload",
        /// OpenMP's binary descriptor.
        OpenMp => "openmp",
        /// CUDA: one image, which is a fatbin.
        Cuda => "cuda",
        /// HIP: one image, which is a bundle.
        Hip => "hip",
    }
}

impl RegistrationKind {
    /// What an object embeds: OpenMP's images as an offload binary each, SYCL's as binaries one after the other,
    /// those of CUDA and HIP as they are.
    ///
    /// # Errors
    ///
    /// An image that cannot be read, or a name that no offload binary holds.
    pub fn embedded(self, images: &[DeviceImage<'_>]) -> Result<Vec<Vec<u8>>, Error> {
        match self {
            Self::SyclV2 | Self::SyclV3 | Self::SyclLlvm => Ok(vec![sycl::embedded(images)?.bytes]),
            Self::Offload => Ok(vec![offload::binary(images)?]),
            Self::OpenMp => images.iter().map(openmp::binary).collect(),
            Self::Cuda | Self::Hip => {
                let bytes = images.iter().map(|image| Ok(image.bytes()?.to_vec()));
                bytes.collect()
            }
        }
    }
}

impl std::str::FromStr for RegistrationKind {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::from_name(text).ok_or_else(|| format!("expected {}", Self::ALL.map(Self::name).join(", ")))
    }
}

/// The hosts that objects can be written for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum HostTarget {
    /// ELF for x86-64.
    ElfX86_64,
    /// ELF for little-endian AArch64.
    ElfAarch64,
    /// COFF for x86-64, with Microsoft's C runtime.
    CoffX86_64,
    /// COFF for x86-64, with MinGW's C runtime.
    MingwX86_64,
}

impl HostTarget {
    /// The host of a triple; `None` where there is no code for it yet.
    #[must_use]
    pub fn for_triple(triple: &str) -> Option<Self> {
        const X86_64: u16 = object::elf::EM_X86_64.0;
        const AARCH64: u16 = object::elf::EM_AARCH64.0;
        const COFF_X86_64: u16 = object::pe::IMAGE_FILE_MACHINE_AMD64.0;
        match ObjectFormat::for_triple(triple)? {
            ObjectFormat::Elf {
                is_64: true,
                is_big_endian: false,
                machine,
                ..
            } => match machine {
                X86_64 => Some(Self::ElfX86_64),
                AARCH64 => Some(Self::ElfAarch64),
                _ => None,
            },
            // The same format and the same code. The runtimes differ in the section from which they
            // call constructors.
            ObjectFormat::Coff { machine: COFF_X86_64 } if Triple::new(triple).is_mingw() => {
                Some(Self::MingwX86_64)
            }
            ObjectFormat::Coff { machine: COFF_X86_64 } => Some(Self::CoffX86_64),
            _ => None,
        }
    }

    fn is_coff(self) -> bool {
        matches!(self, Self::CoffX86_64 | Self::MingwX86_64)
    }
}

/// An object that embeds images and registers them.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Registration {
    /// What registers the images.
    pub kind: RegistrationKind,
    /// What the object is for.
    pub host: HostTarget,
    /// Whether the object is to be linked into another object first: then images are in a section
    /// `.llvm.offloading.relocatable`, in which no later link looks for code to be linked.
    pub relocatable: bool,
    /// Whether there are a constructor and a destructor. Without them something else must register the
    /// descriptor, by its name.
    pub functions: bool,
    /// The name of the descriptor, which other objects can see then; one of many gets a number after it.
    pub descriptor_name: Option<String>,
    /// Whether the images have a symbol of their own, `offkit_images_` and a digest, that the loader knows. By that
    /// offkit tells a library without other symbols that was loaded with `RTLD_GLOBAL` from one with `RTLD_LOCAL`. For
    /// images of SYCL and OpenMP in ELF.
    pub is_marked: bool,
}

impl Registration {
    /// An object that registers images by itself.
    #[must_use]
    pub fn new(kind: RegistrationKind, host: HostTarget) -> Self {
        Self {
            kind,
            host,
            relocatable: false,
            functions: true,
            descriptor_name: None,
            is_marked: false,
        }
    }

    /// Writes the object; a pure function of what is given. Compressed images are written as they are without
    /// compression.
    ///
    /// # Errors
    ///
    /// No images, or more than one for CUDA and HIP; a name, an option or a property that the structures cannot
    /// hold.
    pub fn write(&self, images: &[DeviceImage<'_>]) -> Result<Vec<u8>, Error> {
        if images.is_empty() {
            return Err(Error::unrepresentable("there is no image to register"));
        }
        let mut object = HostObject::new(self.host);
        match self.kind {
            RegistrationKind::SyclV2 => sycl::add(&mut object, self, sycl::V2, images)?,
            RegistrationKind::SyclV3 => sycl::add(&mut object, self, sycl::V3, images)?,
            RegistrationKind::SyclLlvm => sycl::add(&mut object, self, sycl::LLVM, images)?,
            RegistrationKind::Offload => offload::add(&mut object, self, images)?,
            RegistrationKind::OpenMp => openmp::add(&mut object, self, images)?,
            RegistrationKind::Cuda => fatbin::add(&mut object, self, fatbin::CUDA, images)?,
            RegistrationKind::Hip => fatbin::add(&mut object, self, fatbin::HIP, images)?,
        }
        object.write()
    }

    /// Writes an object that registers nothing, for a link that expects one.
    ///
    /// # Errors
    ///
    /// None that is known; what writes objects may have its own.
    pub fn write_nothing(&self) -> Result<Vec<u8>, Error> {
        HostObject::new(self.host).write()
    }

    fn images_section(&self) -> &'static str {
        if self.relocatable {
            ".llvm.offloading.relocatable"
        } else {
            ".llvm.offloading"
        }
    }
}
