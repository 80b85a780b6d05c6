//! SYCLBIN: a SYCL program, or a part of one, as a file.
//!
//! A SYCLBIN is a list of abstract modules, each of which is available as IR, as native code for some
//! devices, or both.
//!
//! | form | written by |
//! |---|---|
//! | version 1, bare | nothing known; the inside of the next |
//! | version 1 in an offload binary | DPC++ up to 2025 (`clang-linker-wrapper --syclbin`), its runtime up to now |
//! | version 2: an offload binary with an entry for each part | DPC++ since 2026 |

mod check;
mod format;
mod images;
mod metadata;
mod parts;
mod raw;
mod replace;
pub(crate) mod v1;
mod v2;

use offkit_image::{BundleState, Bytes, Error, Limits, PropertySets, Strings};

use crate::chunks::Chunks;
use crate::offload_binary::{
    self, ImageKind, OffloadBinaryVersion, OffloadKind, Pending, read_one, write_pending,
};
use crate::reading::Reading;
use crate::source::Source;

pub(crate) use crate::offload_binary::begins_syclbin as has_magic;
pub(crate) use format::FORMAT;
pub(crate) use parts::{count_copies, outline};
pub(crate) use v2::OWN_STRINGS;

/// The content of a SYCLBIN file, of any version.
///
/// ```
/// use offkit_object::syclbin::{AbstractModule, IrModule, IrType, SyclBin, SyclBinVersion};
/// use offkit_object::{BundleState, Limits};
///
/// let mut module = AbstractModule::default();
/// module.properties.insert_symbols("SYCL/kernel names", ["saxpy"]);
/// module.ir_modules.push(IrModule::new(IrType::SPIRV, "spir64-unknown-unknown", b"\x03\x02\x23\x07"));
/// let mut program = SyclBin::new(BundleState::Object);
/// program.modules.push(module);
///
/// for version in [SyclBinVersion::V1, SyclBinVersion::V1Enveloped, SyclBinVersion::V2] {
///     let bytes = program.write(version)?;
///     assert_eq!(SyclBin::parse(&bytes, &Limits::default())?, program);
/// }
/// # Ok::<(), offkit_object::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SyclBin<'data> {
    /// How far the program is on its way to being executable.
    pub state: BundleState,
    /// Global properties other than the state.
    pub properties: PropertySets,
    /// The parts of the program, in the order of the file.
    pub modules: Vec<AbstractModule<'data>>,
}

/// A part of a program, in all the forms it is available in.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct AbstractModule<'data> {
    /// What the toolchain knows of the part: its symbols, kernels and requirements.
    pub properties: PropertySets,
    /// The part as IR, to be compiled when a device is known.
    pub ir_modules: Vec<IrModule<'data>>,
    /// The part as code for one device each.
    pub native_images: Vec<NativeImage<'data>>,
}

/// IR of an abstract module.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IrModule<'data> {
    /// Which IR it is. Runtimes write LLVM bitcode as [`IrType::SPIRV`] too.
    pub ir_type: IrType,
    /// The target triple in full, such as `spir64-unknown-unknown`; empty when the file has none.
    pub target: String,
    /// Metadata of the module other than type and target; so far nobody writes any.
    pub properties: PropertySets,
    /// The IR itself.
    pub bytes: Bytes<'data>,
}

/// Native code of an abstract module.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NativeImage<'data> {
    /// The architecture, such as `intel_cpu_spr`; empty when the file has none.
    pub arch: String,
    /// The target triple in full, such as `spir64_gen-unknown-unknown`; empty when the file has none.
    pub target: String,
    /// Metadata of the image other than architecture and target; so far nobody writes any.
    pub properties: PropertySets,
    /// The code itself.
    pub bytes: Bytes<'data>,
}

/// The kind of IR in an [`IrModule`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct IrType(
    /// The number in the file.
    pub u32,
);

impl IrType {
    /// SPIR-V, or LLVM bitcode: runtimes store both under it.
    pub const SPIRV: Self = Self(0);
    /// NVIDIA's virtual assembly.
    pub const PTX: Self = Self(1);
    /// LLVM bitcode for AMD's GPUs.
    pub const AMDGCN: Self = Self(2);
}

/// The forms of a SYCLBIN file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum SyclBinVersion {
    /// Version 1 by itself. LLVM's reader takes it, DPC++'s runtime does not.
    V1,
    /// Version 1 inside of an offload binary of version 2, as DPC++'s runtime writes it.
    V1Enveloped,
    /// Version 1 inside of an offload binary of version 1, which tools of LLVM 22 can read too.
    V1EnvelopedV1,
    /// Version 2.
    V2,
}

impl SyclBinVersion {
    /// The number of the format: 1 or 2.
    #[must_use]
    pub fn number(self) -> u32 {
        match self {
            Self::V1 | Self::V1Enveloped | Self::V1EnvelopedV1 => 1,
            Self::V2 => 2,
        }
    }
}

impl<'data> IrModule<'data> {
    /// IR for a target triple.
    pub fn new(ir_type: IrType, target: impl Into<String>, bytes: impl Into<Bytes<'data>>) -> Self {
        Self {
            ir_type,
            target: target.into(),
            properties: PropertySets::new(),
            bytes: bytes.into(),
        }
    }
}

impl<'data> NativeImage<'data> {
    /// Code for an architecture of a target triple.
    pub fn new(arch: impl Into<String>, target: impl Into<String>, bytes: impl Into<Bytes<'data>>) -> Self {
        Self {
            arch: arch.into(),
            target: target.into(),
            properties: PropertySets::new(),
            bytes: bytes.into(),
        }
    }
}

impl<'data> SyclBin<'data> {
    /// A program without parts.
    #[must_use]
    pub fn new(state: BundleState) -> Self {
        Self {
            state,
            properties: PropertySets::new(),
            modules: Vec::new(),
        }
    }

    /// Reads any form.
    ///
    /// # Errors
    ///
    /// The first thing that is wrong, with the text that LLVM's or DPC++'s own reader has for it where there
    /// is one; or a limit.
    pub fn parse(bytes: &'data [u8], limits: &Limits) -> Result<Self, Error> {
        read(Source::new(bytes), &mut Reading::strict(limits)).map(|(program, _)| program)
    }

    /// The form that `bytes` begin with.
    ///
    /// # Errors
    ///
    /// As [`parse`](Self::parse).
    pub fn version_of(bytes: &[u8], limits: &Limits) -> Result<SyclBinVersion, Error> {
        read(Source::new(bytes), &mut Reading::strict(limits)).map(|(_, version)| version)
    }
}

#[cfg(feature = "write")]
impl<'data> SyclBin<'data> {
    /// Writes one form; a pure function of the content and the form.
    ///
    /// # Errors
    ///
    /// Properties that cannot be written as text, SYCLBIN's own property sets among those of an abstract
    /// module, and strings with zero bytes.
    pub fn write(&self, version: SyclBinVersion) -> Result<Vec<u8>, Error> {
        self.write_chunks(version).map(Chunks::into_bytes)
    }

    /// As [`write`](Self::write), without copying large images.
    ///
    /// # Errors
    ///
    /// As [`write`](Self::write).
    pub fn write_chunks(&self, version: SyclBinVersion) -> Result<Chunks<'data>, Error> {
        match version {
            SyclBinVersion::V1 => v1::write(self),
            SyclBinVersion::V1Enveloped => envelope(v1::write(self)?, OffloadBinaryVersion::V2),
            SyclBinVersion::V1EnvelopedV1 => envelope(v1::write(self)?, OffloadBinaryVersion::V1),
            SyclBinVersion::V2 => v2::write(self),
        }
    }
}

/// Puts a bare SYCLBIN into an offload binary.
fn envelope(bare: Chunks<'_>, version: OffloadBinaryVersion) -> Result<Chunks<'_>, Error> {
    let entry = Pending {
        image_kind: ImageKind::SYCLBIN,
        // DPC++ has written 4 and 5 here as well; 8 is what SYCL has been since LLVM 21.
        offload_kind: OffloadKind::SYCL,
        flags: 0,
        strings: &Strings::new(),
        image: bare,
    };
    write_pending(vec![entry], version)
}

/// Reads any form; a tolerant reading leaves out the parts that are wrong.
pub(crate) fn read<'data>(
    source: Source<'data>,
    reading: &mut Reading,
) -> Result<(SyclBin<'data>, SyclBinVersion), Error> {
    if has_magic(source.bytes()) {
        return Ok((v1::read(source, reading)?, SyclBinVersion::V1));
    }
    let found = read_one(source, reading)?;
    read_found(&found, reading)
}

/// Finds the SYCLBIN of version 1 in an offload binary; `None` where the binary has one of version 2.
fn find_enveloped<'data>(
    found: &offload_binary::Found<'data>,
    reading: &mut Reading,
) -> Result<Option<(Source<'data>, SyclBinVersion)>, Error> {
    let Some(first) = found.binary.entries.first() else {
        return Err(Error::malformed("OffloadBinary contains no entries").at(found.source.at(0)));
    };
    // Both versions have entries of the kind SYCLBIN: only the magic of version 1 in front of the first image tells
    // them apart. Version 2 is never in an offload binary of version 1, which holds one entry.
    let is_v1 = has_magic(&first.image);
    if !is_v1 && found.version >= 2 {
        return Ok(None);
    }
    let image = found.source.locate(&first.image);
    if first.image_kind != ImageKind::SYCLBIN {
        let error = Error::malformed("Unexpected image type")
            .at(image.at(0))
            .expecting(format!("image kind {}", ImageKind::SYCLBIN.0))
            .finding(first.image_kind.0);
        if !is_v1 {
            return Err(error);
        }
        // A wrong kind before the right magic is a fault, but hides nothing from a tolerant reading.
        reading.fault(error)?;
    }
    let version = if found.version == 1 {
        SyclBinVersion::V1EnvelopedV1
    } else {
        SyclBinVersion::V1Enveloped
    };
    Ok(Some((image, version)))
}

/// Reads what an offload binary holds as a SYCLBIN.
pub(crate) fn read_found<'data>(
    found: &offload_binary::Found<'data>,
    reading: &mut Reading,
) -> Result<(SyclBin<'data>, SyclBinVersion), Error> {
    match find_enveloped(found, reading)? {
        Some((image, version)) => Ok((v1::read(image, reading)?, version)),
        None => Ok((v2::read(found, reading)?, SyclBinVersion::V2)),
    }
}
