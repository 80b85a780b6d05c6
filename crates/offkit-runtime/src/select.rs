//! Which image of a kernel a device takes: the device chooses, and says why it takes no other.

use std::fmt;
use std::sync::Arc;

use offkit_image::property_set::names;
use offkit_image::target::{ASPECTS, DriverVersion, Misfit, SpirvSupport, triples};
use offkit_object::{DeviceImage, ImageFormat, Location, Target, header_version};
use offkit_pi::driver::text;
use offkit_pi::ffi::{PI_DEVICE_INFO_VERSION, PI_EXT_PLATFORM_BACKEND_CUDA};
use offkit_pi::host::{Device, DeviceType, PiError};

use crate::find::{FoundKernel, KernelId, fitting};
use crate::registry::{ImageId, ImageRegistry};
use crate::rule::ExporterRule;
use crate::source::ImageError;

/// No image can be chosen for a device.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SelectError {
    /// The device takes none of the images.
    #[error("device `{device}` takes no image of kernel `{kernel}`: {}", list(.refusals))]
    NoneFits {
        /// The kernel.
        kernel: String,
        /// The device.
        device: String,
        /// Why it does not take each of them.
        refusals: Vec<Refusal>,
    },
    /// The kernel is there as LLVM bitcode only, which the device does not take.
    #[error(
        "kernel `{kernel}` is there as LLVM bitcode only, which device `{device}` does not run until it is linked"
    )]
    NotLinked {
        /// The kernel.
        kernel: String,
        /// The device.
        device: String,
        /// The first of its images.
        image: Location,
    },
    /// Several images are for the same kind of device, and their code differs.
    #[error("the name `{kernel}` fits several kernels: {}", fitting(.candidates))]
    Ambiguous {
        /// The kernel.
        kernel: String,
        /// Its name and where it is, in each of the images.
        candidates: Vec<(String, Location)>,
    },
    /// An image cannot be had.
    #[error(transparent)]
    Image(#[from] ImageError),
    /// The device does not answer.
    #[error("device `{device}` cannot choose an image")]
    Device {
        /// The device.
        device: String,
        /// What it says.
        source: PiError,
    },
}

/// An image that a device does not take.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Refusal {
    /// The image.
    pub image: Location,
    /// What it is.
    pub format: ImageFormat,
    /// What it was compiled for.
    pub target: Target,
    /// Why the device does not take it.
    pub reason: Reason,
}

/// Why a device does not take an image.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Reason {
    /// It is for other devices.
    Misfit(Misfit),
    /// It demands an ability that the device lacks, by the name that SYCL has for it.
    Lacks(&'static str),
    /// It is SPIR-V, and the device takes none.
    NoSpirv,
    /// The plugin does not say why.
    Refused,
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Misfit(misfit) => misfit.fmt(f),
            Self::Lacks(aspect) => write!(f, "it demands `{aspect}`, which the device lacks"),
            Self::NoSpirv => f.write_str("the device takes no SPIR-V"),
            Self::Refused => f.write_str("refused by the plugin"),
        }
    }
}

/// `app.bin!0` (PTX for sm_80): it is for another architecture.
impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` ({}): {}", self.image, self.code(), self.reason)
    }
}

impl Refusal {
    /// What the image is, for messages: `PTX for sm_80`.
    pub fn code(&self) -> String {
        code(self.format, &self.target)
    }
}

/// What an image is, for messages.
pub(crate) fn code(format: ImageFormat, target: &Target) -> String {
    let target = match target.arch_with_features() {
        arch if !arch.is_empty() => arch,
        _ => target.triple.to_string(),
    };
    match target.as_str() {
        "" => format.to_string(),
        target => format!("{format} for {target}"),
    }
}

fn list(refusals: &[Refusal]) -> String {
    let each: Vec<_> = refusals.iter().map(Refusal::to_string).collect();
    each.join("; ")
}

/// What a device makes of the images that have a kernel.
#[derive(Debug)]
#[non_exhaustive]
pub struct Selection {
    /// What it says of each image: why it does not take it, or nothing if it does.
    pub verdicts: Vec<(ImageId, Option<Refusal>)>,
    /// What [`ImageRegistry::select`] returns.
    pub chosen: Result<KernelId, SelectError>,
}

/// An image that may be chosen, and what a device is told about it.
pub(crate) struct Candidate {
    pub(crate) image: ImageId,
    pub(crate) code: Arc<DeviceImage<'static>>,
    /// The numbers of what it demands.
    aspects: Vec<u32>,
}

impl ImageRegistry {
    /// Lets a device choose among the images that have a kernel.
    ///
    /// The device is asked about one image after the other, and which it likes best of those that it takes.
    ///
    /// # Errors
    ///
    /// [`SelectError::NoneFits`] with the reason for each image, [`SelectError::NotLinked`] where all are bitcode,
    /// [`SelectError::Ambiguous`] where several images are for
    /// the same target and differ.
    pub fn select(&self, kernel: &FoundKernel, device: &Device) -> Result<KernelId, SelectError> {
        self.best(kernel, device, self.judged(&kernel.images, device)?)
    }

    /// As [`select`](Self::select), with what the device says of each image.
    ///
    /// # Errors
    ///
    /// Images that cannot be had, and devices that do not answer.
    pub fn selection(&self, kernel: &FoundKernel, device: &Device) -> Result<Selection, SelectError> {
        let judged = self.judged(&kernel.images, device)?;
        let verdicts = judged.iter();
        let verdicts = verdicts.map(|(candidate, refusal)| (candidate.image, refusal.clone()));
        Ok(Selection {
            verdicts: verdicts.collect(),
            chosen: self.best(kernel, device, judged),
        })
    }

    /// The image that a device likes best of those that it takes.
    fn best(
        &self,
        kernel: &FoundKernel,
        device: &Device,
        judged: Vec<(Candidate, Option<Refusal>)>,
    ) -> Result<KernelId, SelectError> {
        let mut refusals = Vec::new();
        let mut taken = Vec::new();
        for (candidate, refusal) in judged {
            match refusal {
                None => taken.push(candidate),
                Some(refusal) => refusals.push(refusal),
            }
        }
        // By the other rules libraries do not compete: the first with an image that the device takes supplies the
        // kernel.
        if self.exporter_rule() != ExporterRule::Unique && taken.len() > 1 {
            let images: Vec<_> = taken.iter().map(|candidate| candidate.image).collect();
            let first = self.of_first_library(&images);
            taken.retain(|candidate| first.contains(&candidate.image));
        }
        let best = match taken.as_slice() {
            [] => {
                let is_bitcode = |refusal: &Refusal| refusal.format == ImageFormat::Bitcode;
                if let [first, ..] = refusals.as_slice()
                    && refusals.iter().all(is_bitcode)
                {
                    return Err(SelectError::NotLinked {
                        kernel: kernel.name.clone(),
                        device: name(device),
                        image: first.image.clone(),
                    });
                }
                return Err(SelectError::NoneFits {
                    kernel: kernel.name.clone(),
                    device: name(device),
                    refusals,
                });
            }
            [only] => only,
            several => {
                let best = liked_best(several, |candidate| &candidate.code, device)?;
                // There is one at least: what the device likes best is among its own rivals.
                let rivals = best.iter();
                let rivals = rivals.map(|rival| (kernel.name.clone(), rival.code.location.clone()));
                let candidates: Vec<_> = rivals.collect();
                if candidates.len() > 1 {
                    return Err(SelectError::Ambiguous {
                        kernel: kernel.name.clone(),
                        candidates,
                    });
                }
                best[0]
            }
        };
        tracing::debug!(device = name(device), image = %best.code.location, "a device takes an image");
        Ok(KernelId {
            image: best.image,
            name: kernel.name.clone(),
        })
    }

    /// What a device says of images.
    pub(crate) fn judged(
        &self,
        images: &[ImageId],
        device: &Device,
    ) -> Result<Vec<(Candidate, Option<Refusal>)>, SelectError> {
        let judged = images.iter().map(|&image| {
            let candidate = self.candidate(image)?;
            let reason = refusal(&candidate.code, &candidate.aspects, device)?;
            let refusal = reason.map(|reason| Refusal {
                image: candidate.code.location.clone(),
                format: candidate.code.format,
                target: candidate.code.target.clone(),
                reason,
            });
            if let Some(refusal) = &refusal {
                tracing::debug!(device = name(device), %refusal, "a device does not take an image");
            }
            Ok((candidate, refusal))
        });
        judged.collect()
    }

    fn candidate(&self, image: ImageId) -> Result<Candidate, ImageError> {
        // Before the lock: this may read a file, and takes the lock itself.
        let code = self.code(image)?;
        let state = self.read();
        let (library, position) = state.line(image).ok_or(ImageError::Withdrawn)?;
        Ok(Candidate {
            image,
            aspects: library.aspects(position).to_vec(),
            code,
        })
    }
}

/// The image that a device likes best, and those that are of the same format for the same target.
pub(crate) fn liked_best<'a, C>(
    candidates: &'a [C],
    code: impl Fn(&'a C) -> &'a DeviceImage<'static>,
    device: &Device,
) -> Result<Vec<&'a C>, SelectError> {
    let images: Vec<_> = candidates.iter().map(code).collect();
    let best = match device.select_binary(&images) {
        // It cannot be asked.
        Err(PiError::NotProvided { .. }) => None,
        best => best.map_err(|source| unanswered(device, source))?,
    };
    // Where the device has no preference, the first counts.
    let best = images[best.unwrap_or_default()];
    let is_rival = |other: &&DeviceImage<'_>| (other.format, &other.target) == (best.format, &best.target);
    let rivals = candidates.iter().zip(images).filter(|(_, image)| is_rival(image));
    Ok(rivals.map(|(candidate, _)| candidate).collect())
}

/// The bytes of an image.
pub(crate) fn bytes<'a>(image: &'a DeviceImage<'_>) -> Result<&'a [u8], ImageError> {
    image.bytes().map_err(|source| ImageError::Damaged {
        image: image.location.clone(),
        source,
    })
}

/// The numbers of the abilities that an image demands of a device.
pub(crate) fn requirements(image: &DeviceImage<'_>) -> Vec<u32> {
    let aspects = image.properties.get(names::DEVICE_REQUIREMENTS, "aspects");
    aspects.and_then(|aspects| aspects.as_u32s()).unwrap_or_default()
}

/// Why a device does not take an image that demands these abilities; `None` if it does.
pub(crate) fn refusal(
    image: &DeviceImage<'_>,
    aspects: &[u32],
    device: &Device,
) -> Result<Option<Reason>, SelectError> {
    // A plugin would find no bytes in an image that cannot be unpacked, and refuse it for that.
    bytes(image)?;
    Ok(refusal_of_target(image, device)?.or_else(|| refusal_of_demands(aspects, device)))
}

/// Why a device takes no image of this format for this target: plugins go by nothing else.
pub(crate) fn refusal_of_target(
    image: &DeviceImage<'_>,
    device: &Device,
) -> Result<Option<Reason>, SelectError> {
    let is_taken = match device.select_binary(&[image]) {
        Ok(selected) => selected.is_some(),
        // It cannot be asked: the rules for targets decide.
        Err(PiError::NotProvided { .. }) => misfit(image, device).is_none(),
        Err(source) => return Err(unanswered(device, source)),
    };
    let reason = || match image.format {
        ImageFormat::Spirv if !takes_spirv(device) => Reason::NoSpirv,
        _ => misfit(image, device).map_or(Reason::Refused, Reason::Misfit),
    };
    Ok((!is_taken).then(reason))
}

/// Why a device takes no image that demands these abilities.
pub(crate) fn refusal_of_demands(aspects: &[u32], device: &Device) -> Option<Reason> {
    let mut lacking = aspects.iter().filter_map(|&aspect| lacking(aspect, device));
    lacking.next().map(Reason::Lacks)
}

fn unanswered(device: &Device, source: PiError) -> SelectError {
    SelectError::Device {
        device: name(device),
        source,
    }
}

fn takes_spirv(device: &Device) -> bool {
    device
        .il_version()
        .is_ok_and(|version| version.contains("SPIR-V"))
}

/// What the rules for targets have against an image on a device.
fn misfit(image: &DeviceImage<'_>, device: &Device) -> Option<Misfit> {
    let device = described(device)?;
    if image.code_version.is_some() {
        return image.runs_on(&device).runs.err();
    }
    // What a file of code does not say around it, its first bytes say.
    let mut told = image.without_code();
    told.code_version = header_version(image.bytes().unwrap_or_default(), image.format);
    told.runs_on(&device).runs.err()
}

/// What a device says of itself that decides which code it takes: its compute capability, or that it takes SPIR-V.
/// `None` where it says neither.
pub fn described(device: &Device) -> Option<offkit_image::target::Device> {
    let of_cuda = device.platform().backend().ok() == Some(PI_EXT_PLATFORM_BACKEND_CUDA);
    if !of_cuda {
        let spirv = || offkit_image::target::Device::new(Target::new(triples::SPIRV64, ""));
        return takes_spirv(device).then(spirv);
    }
    let capability = text(device.info(PI_DEVICE_INFO_VERSION).ok()?);
    let mut known = offkit_image::target::Device::named(&capability)?;
    known.driver = driver(&device.driver_version().ok()?);
    known.spirv = device
        .il_version()
        .ok()
        .map(|version| SpirvSupport::new(&version, device.extensions().unwrap_or_default()))
        .filter(|spirv| spirv.newest.is_some());
    Some(known)
}

/// The driver that a device of CUDA names: by its own version, or by CUDA's as Unified Runtime's adapter does, which writes
/// `CUDA 13.0`.
fn driver(said: &str) -> Option<DriverVersion> {
    let Some(cuda) = said.strip_prefix("CUDA ") else {
        return said.parse().ok();
    };
    let (major, minor) = cuda.split_whitespace().next()?.split_once('.')?;
    // Which release of its branch it is remains open.
    Some(DriverVersion {
        release: None,
        ..DriverVersion::of_cuda(major.parse().ok()?, minor.parse().ok()?)
    })
}

/// What messages call a device.
pub(crate) fn name(device: &Device) -> String {
    device
        .name()
        .unwrap_or_else(|_| "a device without a name".to_owned())
}

/// The name of an ability, by its number in SYCL's list of aspects, if the device is known to lack it. Abilities that
/// the plugin interface has no word for are left to the device.
fn lacking(aspect: u32, device: &Device) -> Option<&'static str> {
    let is_kind = |kind| device.device_type().is_ok_and(|own| own == kind);
    let (name, is_there) = match aspect {
        1 => ("cpu", is_kind(DeviceType::Cpu)),
        2 => ("gpu", is_kind(DeviceType::Gpu)),
        3 => ("accelerator", is_kind(DeviceType::Accelerator)),
        number => {
            // One that a newer compiler has a number for, and this list has not, is for the device.
            let aspect = ASPECTS.iter().find(|aspect| aspect.number == number)?;
            let extensions = device.extensions().unwrap_or_default();
            (aspect.name, SpirvSupport::new("", extensions).has(aspect))
        }
    };
    (!is_there).then_some(name)
}
