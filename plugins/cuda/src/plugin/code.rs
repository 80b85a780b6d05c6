//! Which code of what a host gives a device takes: PTX or machine code, alone or in a container.

use core::cmp::Reverse;
use offkit_image::{ContainerKind, DeviceImage, ImageFormat, InspectedKernel};
use offkit_llvm::WITH_OFFSET;
use offkit_object::{Inspect, Limits, header_version, read, target_of};
use offkit_pi::ffi::*;
use offkit_pi::plugin::{Error, Result};
use std::collections::HashMap;

use super::device::CudaDevice;
use crate::jit_link;

/// Code for one device.
pub(super) struct Code {
    /// PTX, a cubin, or LTO-IR.
    pub(super) format: ImageFormat,
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
    /// The only work-groups that it takes.
    pub(super) required: Option<[usize; 3]>,
    /// Whether it has a second entry, for launches whose ids begin elsewhere than at zero.
    pub(super) has_second_entry: bool,
}

impl Told {
    fn of(kernel: &InspectedKernel) -> Told {
        let required = kernel
            .details
            .iter()
            .find(|detail| detail.name == "required block size");
        let sizes = required.map(|detail| detail.value.to_string());
        let sizes = sizes.map(|text| {
            let mut sizes = text.split(" x ").map(|size| size.parse().unwrap_or(1));
            [(); 3].map(|()| sizes.next().unwrap_or(1))
        });
        Told {
            name: kernel.name.clone(),
            arguments: kernel.argument_count(),
            required: sizes,
            has_second_entry: false,
        }
    }
}

/// The kernels of an image. Second entries are no kernels of their own: they have one argument more.
fn kernels_of(image: &DeviceImage<'_>) -> Vec<Told> {
    let all: Vec<Told> = image
        .inspect(&Limits::default())
        .kernels
        .iter()
        .map(Told::of)
        .collect();
    let arguments: HashMap<&str, Option<usize>> = all
        .iter()
        .map(|kernel| (kernel.name.as_str(), kernel.arguments))
        .collect();
    let is_second_of = |name: &str, second: &str| match (arguments.get(name), arguments.get(second)) {
        (Some(Some(own)), Some(Some(more))) => own + 1 == *more,
        _ => false,
    };
    let kernels = all.iter().filter(|kernel| {
        let first = kernel.name.strip_suffix(WITH_OFFSET);
        first.is_none_or(|first| !is_second_of(first, &kernel.name))
    });
    let told = kernels.map(|kernel| Told {
        has_second_entry: is_second_of(&kernel.name, &format!("{}{WITH_OFFSET}", kernel.name)),
        ..kernel.clone()
    });
    told.collect()
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
        // What is SPIR-V is no binary.
        let Some(best) = best(&images, device, |image| image.format != ImageFormat::Spirv) else {
            return Err(Error::new(PI_INVALID_BINARY, refusals(&images, device)));
        };
        let image = &images[best];
        let unreadable = |error| Error::new(PI_INVALID_BINARY, error);
        Ok(Code::new(image.format, image.bytes().map_err(unreadable)?))
    }

    /// The code of an image, or what the driver has linked.
    pub(super) fn new(format: ImageFormat, bytes: &[u8]) -> Code {
        let kernels = kernels_of(&DeviceImage::of_format(bytes, format));
        let mut bytes = bytes.to_vec();
        if format == ImageFormat::Ptx && bytes.last() != Some(&0) {
            bytes.push(0);
        }
        Code {
            format,
            bytes,
            kernels,
        }
    }
}

/// The number of the image that suits a device best. What has to be linked first comes last.
pub(super) fn best(
    images: &[DeviceImage<'_>],
    device: &CudaDevice,
    is_taken: impl Fn(&DeviceImage<'_>) -> bool,
) -> Option<usize> {
    let taken = images.iter().enumerate().filter(|(_, image)| is_taken(image));
    let fitting = taken.filter_map(|(index, image)| {
        let verdict = image.runs_on(&device.target);
        let is_linked = is_to_be_linked(image, device) && jit_link::find().is_ok();
        (verdict.runs.is_ok() || is_linked).then_some((!is_linked, verdict.rank, Reverse(index)))
    });
    fitting.max().map(|(_, _, Reverse(index))| index)
}

/// Whether this is LTO-IR that can be linked to code for a device: as PTX, it is for a processor and later ones. Bare LTO-IR
/// does not say which; then the linker does.
fn is_to_be_linked(image: &DeviceImage<'_>, device: &CudaDevice) -> bool {
    let target = &image.target;
    image.format == ImageFormat::LtoIr
        && (target.processor().is_empty() || target.runs_on(ImageFormat::Ptx, &device.target.target).is_ok())
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
        if is_to_be_linked(image, device)
            && let Err(missing) = jit_link::find()
        {
            return format!("{format}{of}: {missing}");
        }
        match device.misfit(image) {
            Some(misfit) => format!("{format}{version}{of}: {misfit}"),
            None => format!("{format}{version}{of}: NVIDIA's driver does not load it"),
        }
    };
    images.iter().map(refusal).collect::<Vec<_>>().join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_entry_is_no_kernel() {
        let ptx = ".version 7.0\n.target sm_80\n.address_size 64\n
            .visible .entry one(.param .u64 one_param_0) { ret; }
            .visible .entry one_with_offset(.param .u64 p0, .param .align 4 .b8 p1[12]) .reqntid 8, 4 { ret; }
            .visible .entry other(.param .u64 q0) .reqntid 8, 4 { ret; }
            .visible .entry other_with_offset(.param .u64 q0) { ret; }";
        let code = Code::new(ImageFormat::Ptx, ptx.as_bytes());
        let told = |kernel: &Told| (kernel.name.clone(), kernel.required, kernel.has_second_entry);
        let told: Vec<_> = code.kernels.iter().map(told).collect();
        let expected = [
            ("one".to_owned(), None, true),
            ("other".to_owned(), Some([8, 4, 1]), false),
            // It takes as much as the one that its name begins with: its name is the program's own.
            ("other_with_offset".to_owned(), None, false),
        ];
        assert_eq!(told, expected);
    }
}
