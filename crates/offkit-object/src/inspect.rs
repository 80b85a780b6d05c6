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

use std::collections::HashSet;

use offkit_image::{
    CodeVersion, DeviceImage, ImageFormat, InspectedKernel, Inspection, Limits, Symbols, Target,
};

use crate::elf::Header;
use crate::source::Source;
use findings::Findings;

pub use bitcode::{FunctionType, embedded_in_bitcode, function_types};
#[cfg(feature = "write")]
pub(crate) use cubin::section_names::SectionNames;

/// What the bytes of an image say, found out once for each.
///
/// ```
/// use offkit_object::{DeviceImage, Inspect, Limits};
///
/// let ptx = b".version 8.4\n.target sm_90a\n.address_size 64\n.visible .entry saxpy(.param .u64 x) { ret; }\n";
/// let image = DeviceImage::new(ptx);
/// assert!(image.inspect(&Limits::default()).kernel_names().eq(["saxpy"]));
/// assert_eq!(image.symbols(&Limits::default()).kernels, ["saxpy"]);
/// ```
pub trait Inspect {
    /// What the bytes say, whatever a container says. Bytes that cannot be decompressed are a problem in it.
    fn inspect(&self, limits: &Limits) -> &Inspection;

    /// The same as [`inspect_for_resources`] looks: of an image that was not looked into before there are no details from
    /// then on either.
    fn inspect_for_resources(&self, limits: &Limits) -> &Inspection;

    /// What the image offers and what it needs, from its container and from itself.
    ///
    /// Kernels are those of a SPIR-V module itself, for containers also list other names as kernels: aliases and
    /// exported functions. What a container says about imports and exports counts before what the image says, since a
    /// toolchain may link more than it means to export; but what the device or its driver supplies is no import,
    /// whoever lists it.
    fn symbols(&self, limits: &Limits) -> Symbols;

    /// The kernels among the [`symbols`](Self::symbols) alone.
    fn kernels(&self, limits: &Limits) -> Vec<String>;

    /// The imports and the exports among the [`symbols`](Self::symbols): the code is not read for these where the
    /// container tells them.
    fn links(&self, limits: &Limits) -> [Vec<&str>; 2];
}

impl Inspect for DeviceImage<'_> {
    fn inspect(&self, limits: &Limits) -> &Inspection {
        inspected(self, |bytes| inspect(bytes, self.format, limits))
    }

    fn inspect_for_resources(&self, limits: &Limits) -> &Inspection {
        inspected(self, |bytes| inspect_for_resources(bytes, self.format, limits))
    }

    fn kernels(&self, limits: &Limits) -> Vec<String> {
        let names = |inspection: &Inspection| inspection.kernel_names().map(str::to_owned).collect();
        // A look inside is not needed where the container says all that counts.
        // A damaged module does not tell all of its kernels.
        let is_module = self.format == ImageFormat::Spirv && self.inspect(limits).problems.is_empty();
        match is_module || self.kernels.is_empty() {
            true => names(self.inspect(limits)),
            false => self.kernels.clone(),
        }
    }

    fn symbols(&self, limits: &Limits) -> Symbols {
        let [imports, exports] = self
            .links(limits)
            .map(|names| names.into_iter().map(str::to_owned).collect());
        Symbols {
            kernels: self.kernels(limits),
            imports,
            exports,
        }
    }

    fn links(&self, limits: &Limits) -> [Vec<&str>; 2] {
        // With properties, an empty list says that there are none.
        let is_told = !self.properties.is_empty() || !self.imports.is_empty() || !self.exports.is_empty();
        let (imports, exports) = match is_told {
            true => (&self.imports, &self.exports),
            false => {
                let inspection = self.inspect(limits);
                (&inspection.imports, &inspection.exports)
            }
        };
        // The readers of images have left out what is built in; containers list it.
        let is_import = |name: &&str| !is_told || !offkit_spirv::names::is_built_in(name);
        // In code for a host's processor, kernels are symbols as others are: only the container knows them. Of other code
        // containers also list exported functions as kernels, so that their word takes nothing away.
        let kernels: HashSet<&str> = match !is_told && self.format == ImageFormat::Elf {
            true => self.kernels.iter().map(String::as_str).collect(),
            false => HashSet::new(),
        };
        let is_export = |name: &&str| !kernels.contains(name);
        [
            imports.iter().map(String::as_str).filter(is_import).collect(),
            exports.iter().map(String::as_str).filter(is_export).collect(),
        ]
    }
}

/// What is in an image: what `look` finds in its bytes, if it was not looked into before.
fn inspected<'i>(image: &'i DeviceImage<'_>, look: impl FnOnce(&[u8]) -> Inspection) -> &'i Inspection {
    image.inspected_by(|| match image.bytes() {
        Ok(bytes) => look(bytes),
        Err(error) => {
            let mut inspection = Inspection::default();
            inspection.problems.push(error);
            inspection
        }
    })
}

/// Looks into the bytes of an image, as [`Inspect`] does once for each.
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

/// What [`inspect`] says of an image but for details, which are there to be read by people: what kernels take is among
/// their resources. Kernels may have details all the same where these cost little.
///
/// ```
/// use offkit_object::{ImageFormat, Limits, inspect_for_resources};
///
/// let ptx = b".version 8.4\n.target sm_90a\n.address_size 64\n.visible .entry saxpy(.param .u64 x) { ret; }\n";
/// let inspection = inspect_for_resources(ptx, ImageFormat::detect(ptx), &Limits::default());
/// assert!(inspection.kernel_names().eq(["saxpy"]));
/// assert!(inspection.details.is_empty());
/// ```
#[must_use]
pub fn inspect_for_resources(bytes: &[u8], format: ImageFormat, limits: &Limits) -> Inspection {
    let mut findings = Findings::new(bytes, limits).without_details();
    inspect_part(Source::new(bytes), format, &mut findings, true);
    findings.finish()
}

/// What is wrong with an image.
pub(crate) fn problems_of(bytes: &[u8], format: ImageFormat, limits: &Limits) -> Vec<offkit_image::Error> {
    inspect_for_resources(bytes, format, limits).problems
}

/// The content of a note in an ELF file of any kind, by the note's owner and kind: of the first of several. Headers are
/// read, and the sections of notes.
///
/// ```
/// assert_eq!(offkit_object::elf_note(b"\x7fELF", "GNU", 3), None);
/// ```
#[must_use]
pub fn elf_note<'data>(file: &'data [u8], owner: &str, kind: u32) -> Option<&'data [u8]> {
    let mut findings = Findings::new(file, &Limits::default());
    let elf = elf::Elf::read(Source::new(file), &mut findings).ok()?;
    let mut notes = elf.notes(&mut findings).into_iter();
    let note = notes.find(|note| note.owner == owner.as_bytes() && note.kind == kind)?;
    Some(note.data.bytes())
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

/// The target that an image shows without being read: an ELF header, the first lines of PTX, the memory model of
/// SPIR-V, a module's triple.
///
/// Cheap enough to be asked for each of many images. Empty for
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
        ImageFormat::Bitcode => bitcode::header_target(Source::new(bytes)),
        ImageFormat::Cubin => cubin::header_target(Source::new(bytes)),
        ImageFormat::Amdgpu => Header::read(Source::new(bytes)).map(|header| amdgpu::target(&header)),
        // Of zebin notes tell it, for which sections would have to be read.
        _ => None,
    }
    .unwrap_or_default()
}

/// What [`header_target`] and [`header_version`] say, with the header read once; no target where it adds nothing to what
/// the container `told`, as of nearly all of very many images.
pub(crate) fn header_facts(
    bytes: &[u8],
    format: ImageFormat,
    told: &Target,
) -> (Option<Target>, Option<CodeVersion>) {
    match format {
        ImageFormat::Amdgpu => match Header::read(Source::new(bytes)) {
            Some(header) => (
                (!amdgpu::is_told(&header, told)).then(|| amdgpu::target(&header)),
                amdgpu::header_version(&header),
            ),
            None => (None, None),
        },
        _ => (Some(header_target(bytes, format)), header_version(bytes, format)),
    }
}

/// The version of the format of an image's code, as its first bytes say it: PTX, SPIR-V and AMD's code objects have
/// one.
///
/// As cheap as [`header_target`].
///
/// ```
/// use offkit_object::{ImageFormat, header_version};
///
/// let ptx = b".version 8.4\n.target sm_90a\n";
/// assert_eq!(header_version(ptx, ImageFormat::Ptx).unwrap().to_string(), "8.4");
/// ```
#[must_use]
pub fn header_version(bytes: &[u8], format: ImageFormat) -> Option<CodeVersion> {
    match format {
        ImageFormat::Spirv => spirv::header_version(bytes),
        ImageFormat::Ptx => ptx::header_version(bytes),
        ImageFormat::Amdgpu => amdgpu::header_version(&Header::read(Source::new(bytes))?),
        _ => None,
    }
}
