//! Looking into device images: what their own bytes say, whatever a container says about them.
//!
//! One reader for each format, all of them light: they read headers, symbols and notes, run over the bytes at
//! most a few times, and leave code alone.

mod amdgpu;
mod archive;
mod bitcode;
mod cubin;
mod elf;
mod findings;
mod ptx;
mod spirv;
mod yaml;
mod zebin;

use std::borrow::Cow;
use std::fmt;

use offkit_image::{Error, ImageFormat, Limits, Target};

use crate::source::Source;
use findings::Findings;

pub use bitcode::embedded_in_bitcode;

/// What an image's own bytes say.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Inspection {
    /// What the code was compiled for, as far as the bytes tell.
    pub target: Target,
    /// The version of the format, such as `1.4` of SPIR-V or `8.4` of PTX.
    pub version: Option<String>,
    /// The tool that wrote the image, as it calls itself.
    pub producer: Option<String>,
    /// What can be launched, in the order of the image.
    pub kernels: Vec<InspectedKernel>,
    /// Symbols that another image must define. Left out is what the device or its driver supplies by rule: names
    /// that start with `__spirv_` or `llvm.`, functions of OpenCL C that SPIR-V has no instructions for, and what is
    /// open in an image that is linked already.
    pub imports: Vec<String>,
    /// Symbols that another image may define, and that are null otherwise.
    pub weak_imports: Vec<String>,
    /// Symbols that other images may use; no kernels, and not the copies that clang makes of these
    /// (`__clang_ocl_kern_imp_…`).
    pub exports: Vec<String>,
    /// What else there is to say, in an order made for reading.
    pub details: Vec<Detail>,
    /// What is wrong with the image.
    pub problems: Vec<Error>,
}

impl Inspection {
    /// The names of the kernels, in order.
    pub fn kernel_names(&self) -> impl Iterator<Item = &str> {
        self.kernels.iter().map(|kernel| kernel.name.as_str())
    }
}

/// A kernel, and what the image says about it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct InspectedKernel {
    /// The name it is launched by.
    pub name: String,
    /// Facts such as the number of registers, in an order made for reading.
    pub details: Vec<Detail>,
}

impl InspectedKernel {
    fn new(name: String) -> Self {
        Self {
            name,
            details: Vec::new(),
        }
    }

    fn add(&mut self, name: impl Into<Cow<'static, str>>, value: impl Into<DetailValue>) {
        self.details.push(Detail {
            name: name.into(),
            value: value.into(),
        });
    }
}

/// A fact with its name, such as `registers` and 32.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Detail {
    /// What the fact is about, in lower case.
    pub name: Cow<'static, str>,
    /// The fact.
    pub value: DetailValue,
}

/// The value of a [`Detail`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DetailValue {
    /// A count, or a size in bytes.
    Number(u64),
    /// Anything else.
    Text(String),
}

impl From<u64> for DetailValue {
    fn from(number: u64) -> Self {
        Self::Number(number)
    }
}

impl From<u32> for DetailValue {
    fn from(number: u32) -> Self {
        Self::Number(number.into())
    }
}

impl From<String> for DetailValue {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl From<&str> for DetailValue {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl fmt::Display for DetailValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(number) => number.fmt(f),
            Self::Text(text) => text.fmt(f),
        }
    }
}

/// Looks into an image.
///
/// Never fails as a whole: what could be read is returned, with the problems. Offsets in these count from the
/// start of `bytes`. Time and memory are linear in the size of the image, whatever is in it.
///
/// ```
/// use offkit_object::{ImageFormat, Limits, inspect};
///
/// let ptx = b".version 8.4\n.target sm_90a\n.address_size 64\n.visible .entry saxpy(.param .u64 x) { ret; }\n";
/// let inspection = inspect(ptx, ImageFormat::detect(ptx), &Limits::default());
/// assert_eq!(inspection.target.to_string(), "nvptx64-nvidia-cuda-sm_90a");
/// assert!(inspection.kernel_names().eq(["saxpy"]));
/// ```
#[must_use]
pub fn inspect(bytes: &[u8], format: ImageFormat, limits: &Limits) -> Inspection {
    let mut findings = Findings::new(bytes, limits);
    inspect_part(Source::new(bytes), format, &mut findings, true);
    findings.finish()
}

/// Looks into an image or a member of one; archives are opened only where `archives` says so.
fn inspect_part(source: Source<'_>, format: ImageFormat, findings: &mut Findings, archives: bool) {
    let result = match format {
        ImageFormat::Spirv => spirv::inspect(source, findings),
        ImageFormat::Bitcode => bitcode::inspect(source, findings),
        ImageFormat::Ptx => ptx::inspect(source, findings),
        ImageFormat::Cubin => cubin::inspect(source, findings),
        ImageFormat::Amdgpu => amdgpu::inspect(source, findings),
        ImageFormat::Zebin => zebin::inspect(source, findings),
        ImageFormat::Elf => elf::inspect(source, findings),
        ImageFormat::Archive if archives => archive::inspect(source, findings),
        // An archive in an archive, and what no reader here knows.
        _ => Ok(()),
    };
    if let Err(error) = result {
        findings.problem(error);
    }
}

/// The target that the first bytes of an image show: an ELF header, the first lines of PTX, the memory model of SPIR-V.
///
/// Cheap enough to be asked for each of many images. Empty for bitcode, whose beginning does not tell, and for
/// whatever cannot be read.
///
/// ```
/// use offkit_object::{ImageFormat, header_target};
///
/// let ptx = b".version 8.4\n.target sm_90a, debug\n.address_size 64\n";
/// assert_eq!(header_target(ptx, ImageFormat::Ptx).arch, "sm_90a");
/// ```
#[must_use]
pub fn header_target(bytes: &[u8], format: ImageFormat) -> Target {
    match format {
        ImageFormat::Spirv => spirv::header_target(bytes),
        ImageFormat::Ptx => ptx::header_target(bytes),
        ImageFormat::Cubin => elf::Header::read(Source::new(bytes)).map(|header| cubin::target(&header)),
        ImageFormat::Amdgpu => elf::Header::read(Source::new(bytes)).map(|header| amdgpu::target(&header)),
        _ => None,
    }
    .unwrap_or_default()
}
