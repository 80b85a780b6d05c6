//! Which code of what a host gives a device takes: PTX or machine code, alone or in a container.

use core::cmp::Reverse;
use offkit_image::target::{Rank, Verdict};
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
    /// The processor that LTO-IR is for alone, with the letter that says so: it is linked for no other.
    pub(super) special: Option<String>,
    /// The kernels that the image tells.
    pub(super) kernels: Vec<Told>,
}

/// What an image tells of a kernel.
#[derive(Clone)]
pub(super) struct Told {
    pub(super) name: String,
    /// How many arguments it takes, where the image says it.
    pub(super) arguments: Option<usize>,
    /// The size of each in bytes, likewise.
    sizes: Option<Vec<usize>>,
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
            sizes: kernel.argument_sizes(),
            required: sizes,
            has_second_entry: false,
        }
    }
}

/// What a second entry takes behind the kernel's own arguments: where ids begin, and for some the number of dimensions.
const BEGINS: [usize; 2] = [3 * size_of::<u32>(), 4 * size_of::<u32>()];

/// Whether a kernel with arguments of these sizes is the second entry of one with those, and then whether it is told the
/// number of dimensions. A program may have a kernel of such a name itself.
pub(super) fn second_entry(first: &[usize], second: &[usize]) -> Option<bool> {
    let (last, own) = second.split_last()?;
    let [of_three, of_four] = BEGINS;
    (own == first && [of_three, of_four].contains(last)).then_some(*last == of_four)
}

/// The kernels of an image. Second entries are no kernels of their own.
fn kernels_of(image: &DeviceImage<'_>) -> Vec<Told> {
    let inspected = image.inspect(&Limits::default());
    let all: Vec<Told> = inspected.kernels.iter().map(Told::of).collect();
    // By name, as an image may have thousands of kernels, and each is looked for twice.
    let named: HashMap<&str, &Told> = all.iter().map(|kernel| (kernel.name.as_str(), kernel)).collect();
    // A kernel without arguments has no list of their sizes.
    let sizes = |kernel: &Told| kernel.sizes.clone().unwrap_or_default();
    let has_second = |first: &Told| {
        let second = named.get(format!("{}{WITH_OFFSET}", first.name).as_str());
        second.is_some_and(|second| second_entry(&sizes(first), &sizes(second)).is_some())
    };
    let is_second = |kernel: &Told| {
        let first = kernel
            .name
            .strip_suffix(WITH_OFFSET)
            .and_then(|first| named.get(first));
        first.is_some_and(|first| has_second(first))
    };
    let kernels = all.iter().filter(|kernel| !is_second(kernel));
    let told = |kernel: &Told| Told {
        has_second_entry: has_second(kernel),
        ..kernel.clone()
    };
    kernels.map(told).collect()
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
        let mut code = Code::new(image.format, image.bytes().map_err(unreadable)?);
        let processor = image.target.processor();
        // Code of such a processor uses what others do not have.
        let is_special = code.format == ImageFormat::LtoIr && processor.ends_with(['a', 'f']);
        code.special = is_special.then(|| processor.to_owned());
        Ok(code)
    }

    /// The code of an image, or what the driver has linked.
    pub(super) fn new(format: ImageFormat, bytes: &[u8]) -> Code {
        let kernels = kernels_of(&DeviceImage::of_format(bytes, format));
        let mut bytes = bytes.to_vec();
        // `cuModuleLoadDataEx` is told no length: it reads PTX as text, up to its NUL.
        if format == ImageFormat::Ptx && bytes.last() != Some(&0) {
            bytes.push(0);
        }
        Code {
            format,
            bytes,
            special: None,
            kernels,
        }
    }
}

/// The number of the image that suits a device best: what the driver takes, then what has to be linked, then what has to be
/// compiled.
pub(super) fn best(
    images: &[DeviceImage<'_>],
    device: &CudaDevice,
    is_taken: impl Fn(&DeviceImage<'_>) -> bool,
) -> Option<usize> {
    let highest = |rank: &dyn Fn(&DeviceImage<'_>) -> Option<Rank>| {
        let taken = images.iter().enumerate().filter(|(_, image)| is_taken(image));
        // `max` takes the last of equals, and with reversed numbers that is the first image.
        let ranked = taken.filter_map(|(index, image)| Some((rank(image)?, Reverse(index))));
        ranked.max().map(|(_, Reverse(index))| index)
    };
    let runs = |image: &DeviceImage<'_>| {
        let verdict = image.runs_on(&device.target);
        verdict.runs.is_ok().then_some(verdict.rank)
    };
    let is_spirv = |image: &DeviceImage<'_>| image.format == ImageFormat::Spirv;
    highest(&|image| runs(image).filter(|_| !is_spirv(image)))
        .or_else(|| {
            let best = highest(&|image| linked(image, device).map(|verdict| verdict.rank));
            // The linker is large: it is opened for what nothing else will do for.
            best.filter(|_| jit_link::find().is_ok())
        })
        .or_else(|| highest(&|image| runs(image).filter(|_| is_spirv(image))))
}

/// The verdict on LTO-IR that can be linked to code for a device: as PTX, it is for a processor and later ones. Bare LTO-IR
/// does not say which; then the linker does.
fn linked(image: &DeviceImage<'_>, device: &CudaDevice) -> Option<Verdict> {
    if image.format != ImageFormat::LtoIr {
        return None;
    }
    let mut as_ptx = DeviceImage::of_format(&[][..], ImageFormat::Ptx);
    as_ptx.target = match image.target.processor() {
        "" => device.target.target.clone(),
        _ => image.target.clone(),
    };
    Some(as_ptx.runs_on(&device.target)).filter(|verdict| verdict.runs.is_ok())
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
        return "neither PTX, a cubin, LTO-IR, a fatbin nor an offload binary".to_owned();
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
        if linked(image, device).is_some()
            && let Err(missing) = jit_link::find()
        {
            return format!("{format}{of}: {missing}");
        }
        match device.misfit(image) {
            Some(misfit) => format!("{format}{version}{of}: {misfit}"),
            None if image.format == ImageFormat::Spirv => {
                format!("{format}{version}: it is handed over as such, not as a binary")
            }
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
            .visible .entry other_with_offset(.param .u64 q0, .param .u32 q1) { ret; }
            .visible .entry none() { ret; }
            .visible .entry none_with_offset(.param .align 4 .b8 r[16]) { ret; }";
        let code = Code::new(ImageFormat::Ptx, ptx.as_bytes());
        let told = |kernel: &Told| (kernel.name.clone(), kernel.required, kernel.has_second_entry);
        let told: Vec<_> = code.kernels.iter().map(told).collect();
        let expected = [
            ("one".to_owned(), None, true),
            ("other".to_owned(), Some([8, 4, 1]), false),
            // Its name is the program's own: it is not told where ids begin.
            ("other_with_offset".to_owned(), None, false),
            ("none".to_owned(), None, true),
        ];
        assert_eq!(told, expected);
    }
}
