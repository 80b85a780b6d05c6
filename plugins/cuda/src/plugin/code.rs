//! Which code of what a host gives a device takes: PTX or machine code, alone or in a container.

use offkit_image::{ContainerKind, DeviceImage, ImageFormat};
use offkit_object::{Inspect, Limits, header_version, read, target_of};
use offkit_pi::ffi::*;
use offkit_pi::plugin::{Error, Result};

use super::device::CudaDevice;

/// Code for one device.
pub(super) struct Code {
    pub(super) is_ptx: bool,
    /// With a NUL behind PTX, as the driver wants it.
    pub(super) bytes: Vec<u8>,
    /// The kernels that the image tells.
    pub(super) kernels: Vec<Told>,
}

/// What an image tells of a kernel.
#[derive(Clone)]
pub(super) struct Told {
    pub(super) name: String,
    /// How many arguments it takes, where the image says it.
    pub(super) arguments: Option<usize>,
}

impl Code {
    /// The code that suits a device best.
    ///
    /// # Errors
    ///
    /// Why none does, image by image, in the words of `offkit check`.
    pub(super) fn for_device(bytes: &[u8], device: &CudaDevice) -> Result<Code> {
        let contents = read("", bytes, &Limits::default());
        let images: Vec<_> = contents.images.iter().map(told_by_itself).collect();
        let fitting = images.iter().enumerate().filter_map(|(index, image)| {
            let verdict = image.runs_on(&device.target);
            let is_loaded = matches!(image.format, ImageFormat::Ptx | ImageFormat::Cubin);
            (verdict.runs.is_ok() && is_loaded).then_some((verdict.rank, core::cmp::Reverse(index)))
        });
        let Some((_, core::cmp::Reverse(best))) = fitting.max() else {
            return Err(Error::new(PI_INVALID_BINARY, refusals(&images, device)));
        };
        let image = &images[best];
        let unreadable = |error| Error::new(PI_INVALID_BINARY, error);
        Ok(Code::new(image.format, image.bytes().map_err(unreadable)?))
    }

    /// The code of an image, or what the driver has linked.
    pub(super) fn new(format: ImageFormat, bytes: &[u8]) -> Code {
        let image = DeviceImage::of_format(bytes, format);
        let kernels = image.inspect(&Limits::default()).kernels.iter();
        let told = kernels.map(|kernel| Told {
            name: kernel.name.clone(),
            arguments: kernel.argument_count(),
        });
        let kernels = told.collect();
        let (is_ptx, mut bytes) = (format == ImageFormat::Ptx, bytes.to_vec());
        if is_ptx && bytes.last() != Some(&0) {
            bytes.push(0);
        }
        Code {
            is_ptx,
            bytes,
            kernels,
        }
    }
}

/// An image with what its own bytes say of target and version. How it was stored does not matter any more.
pub(super) fn told_by_itself<'image>(image: &'image DeviceImage<'_>) -> DeviceImage<'image> {
    let bytes = image.bytes().unwrap_or_default();
    let mut own = DeviceImage::of_format(bytes, image.format);
    own.container = ContainerKind::Image;
    own.code_version = image.code_version.or_else(|| header_version(bytes, image.format));
    own.target = target_of(image).into_owned();
    own.properties = image.properties.clone();
    own
}

/// Why a device takes none of some images.
fn refusals(images: &[DeviceImage<'_>], device: &CudaDevice) -> String {
    if images.is_empty() {
        return "neither PTX, a cubin, a fatbin nor an offload binary".to_owned();
    }
    let refusal = |image: &DeviceImage<'_>| {
        let (format, arch) = (image.format, image.target.arch_with_features());
        let version = image
            .code_version
            .map(|version| format!(" {version}"))
            .unwrap_or_default();
        let of = if arch.is_empty() {
            String::new()
        } else {
            format!(" for {arch}")
        };
        match device.misfit(image) {
            Some(misfit) => format!("{format}{version}{of}: {misfit}"),
            None => format!("{format}{version}{of}: NVIDIA's driver does not load it"),
        }
    };
    images.iter().map(refusal).collect::<Vec<_>>().join("; ")
}
