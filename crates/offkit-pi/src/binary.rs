//! Device images as they cross the interface: [`DeviceImage`] on both sides, C structs between them.

use crate::ffi::*;
use core::ffi::{CStr, c_char};
use core::marker::PhantomData;
use offkit_image::property_set::names;
use offkit_image::{
    ByteArray, ContainerKind, DeviceImage, Error, ImageFormat, Producer, PropertySet, PropertyValue, Target,
};
use std::ffi::CString;

/// Strings of an image that the C struct has fields for.
const COMPILE_OPTIONS: &str = "compile-opts";
const LINK_OPTIONS: &str = "link-opts";

/// Views an image in memory. Text that is not UTF-8 reads as empty; entries and properties without a name are left
/// out.
///
/// # Safety
///
/// The pointers of `raw`, and those they lead to, must be null or valid for `'a`, strings NUL-terminated, and each pair
/// of begin and end pointers from one array.
pub(crate) unsafe fn image<'a>(raw: &pi_device_binary_struct) -> DeviceImage<'a> {
    // SAFETY: all pointers come from `raw`, for which the caller vouches.
    let (code, target, options, entries, property_sets) = unsafe {
        (
            range(raw.BinaryStart, raw.BinaryEnd),
            text(raw.DeviceTargetSpec).unwrap_or_default(),
            [
                (COMPILE_OPTIONS, text(raw.CompileOptions)),
                (LINK_OPTIONS, text(raw.LinkOptions)),
            ],
            range(raw.EntriesBegin, raw.EntriesEnd),
            range(raw.PropertySetsBegin, raw.PropertySetsEnd),
        )
    };
    let mut image = DeviceImage::new(code);
    // Whoever has wrapped the image may have left the format out (`NONE`), so the bytes come first.
    if image.format == ImageFormat::Unknown {
        image.format = match raw.Format {
            PI_DEVICE_BINARY_TYPE_SPIRV => ImageFormat::Spirv,
            PI_DEVICE_BINARY_TYPE_LLVMIR_BITCODE => ImageFormat::Bitcode,
            _ => ImageFormat::Unknown,
        };
    }
    image.container = ContainerKind::SyclWrapped;
    image.container_version = Some(raw.Version.into());
    image.producer = Producer::Sycl;
    image.target = Target::of_sycl_name(target);
    for (key, value) in options {
        if let Some(value) = value.filter(|value| !value.is_empty()) {
            image.strings.set(key, value);
        }
    }
    for set in property_sets {
        // SAFETY: the caller vouches for the pointers of the sets.
        if let Some(name) = unsafe { text(set.Name) } {
            // SAFETY: and for those of their properties.
            unsafe { read_properties(set, image.properties.set_mut(name)) };
        }
    }
    let symbols = |set| {
        image
            .properties
            .symbols(set)
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    let (imports, exports) = (symbols(names::IMPORTED_SYMBOLS), symbols(names::EXPORTED_SYMBOLS));
    // SAFETY: the caller vouches for the names of entries.
    let names = entries.iter().filter_map(|entry| unsafe { text(entry.name) });
    let entries: Vec<String> = names.map(str::to_owned).collect();
    // Functions that an image exports have entries as kernels have.
    let kernels = entries.iter().filter(|name| !exports.contains(name));
    image.kernels = kernels.cloned().collect();
    image.entries = Some(entries);
    image.imports = imports;
    image.exports = exports;
    image
}

/// # Safety
///
/// `pointer` must be null or a NUL-terminated string valid for `'a`.
unsafe fn text<'a>(pointer: *const c_char) -> Option<&'a str> {
    if pointer.is_null() {
        return None;
    }
    // SAFETY: not null, so NUL-terminated and valid by the caller's promise.
    unsafe { CStr::from_ptr(pointer) }.to_str().ok()
}

/// # Safety
///
/// The pointers must be null, or the begin and the end of one array that is valid for `'a`.
unsafe fn range<'a, T>(begin: *const T, end: *const T) -> &'a [T] {
    let bytes = (end as usize).saturating_sub(begin as usize);
    if begin.is_null() || bytes < size_of::<T>() {
        return &[];
    }
    // SAFETY: not null, and `bytes / size` elements lie before `end`.
    unsafe { core::slice::from_raw_parts(begin, bytes / size_of::<T>()) }
}

/// # Safety
///
/// As for [`image`].
unsafe fn read_properties(raw: &pi_device_binary_property_set_struct, set: &mut PropertySet) {
    // SAFETY: by the caller's promise.
    for property in unsafe { range(raw.PropertiesBegin, raw.PropertiesEnd) } {
        // SAFETY: as above.
        let Some(name) = (unsafe { text(property.Name) }) else {
            continue;
        };
        let value = match property.Type {
            PI_PROPERTY_TYPE_UINT32 => PropertyValue::U32(property.ValSize as u32),
            _ => {
                let begin = property.ValAddr.cast::<u8>().cast_const();
                // SAFETY: as above.
                let bytes = unsafe { range(begin, begin.wrapping_add(property.ValSize as usize)) };
                PropertyValue::Bytes(byte_array(bytes))
            }
        };
        set.insert(name, value);
    }
}

/// Bytes that begin with their number of bits.
fn byte_array(bytes: &[u8]) -> ByteArray {
    let counted = bytes
        .split_first_chunk::<8>()
        .and_then(|(bits, bytes)| ByteArray::with_bits(u64::from_le_bytes(*bits), bytes));
    counted.unwrap_or_else(|| ByteArray::new(bytes))
}

/// The C structs for some images, with everything they point to.
///
/// The code is not copied, so this borrows from the images.
pub(crate) struct RawBinaries<'a> {
    images: Vec<pi_device_binary_struct>,
    /// What `images` points into. None of it moves when the vectors that hold it grow.
    parts: Parts,
    _borrowed: PhantomData<&'a [u8]>,
}

#[derive(Default)]
struct Parts {
    strings: Vec<CString>,
    values: Vec<Vec<u8>>,
    entries: Vec<Box<[pi_offload_entry_struct]>>,
    properties: Vec<Box<[pi_device_binary_property_struct]>>,
    property_sets: Vec<Box<[pi_device_binary_property_set_struct]>>,
}

impl<'a> RawBinaries<'a> {
    /// # Errors
    ///
    /// That of an image whose bytes cannot be unpacked.
    pub(crate) fn new(images: &[&'a DeviceImage<'_>]) -> Result<Self, Error> {
        let mut parts = Parts::default();
        let images = images
            .iter()
            .map(|image| parts.add(image))
            .collect::<Result<_, _>>()?;
        Ok(RawBinaries {
            images,
            parts,
            _borrowed: PhantomData,
        })
    }

    /// Pointers to the images, as `piextDeviceSelectBinary` wants them. Valid while `self` is.
    pub(crate) fn pointers(&mut self) -> Vec<pi_device_binary> {
        // Nobody reads the parts here: pointers lead to them.
        let _ = &self.parts;
        self.images.iter_mut().map(core::ptr::from_mut).collect()
    }
}

impl Parts {
    fn add(&mut self, image: &DeviceImage<'_>) -> Result<pi_device_binary_struct, Error> {
        let names = image.entries.as_ref().unwrap_or(&image.kernels);
        let entries: Box<[_]> = names
            .iter()
            .map(|name| pi_offload_entry_struct {
                addr: core::ptr::null_mut(),
                name: self.string(name).cast_mut(),
                size: 0,
                flags: 0,
                reserved: 0,
            })
            .collect();
        let sets: Box<[_]> = image
            .properties
            .iter()
            .map(|(name, set)| {
                let properties: Box<[_]> = set.iter().map(|(key, value)| self.property(key, value)).collect();
                let ends = properties.as_ptr_range();
                self.properties.push(properties);
                pi_device_binary_property_set_struct {
                    Name: self.string(name).cast_mut(),
                    PropertiesBegin: ends.start.cast_mut(),
                    PropertiesEnd: ends.end.cast_mut(),
                }
            })
            .collect();
        let code = image.bytes()?.as_ptr_range();
        let (entry_ends, set_ends) = (entries.as_ptr_range(), sets.as_ptr_range());
        self.entries.push(entries);
        self.property_sets.push(sets);
        let mut option = |key| self.string(image.strings.get(key).unwrap_or_default());
        Ok(pi_device_binary_struct {
            Version: 2,
            Kind: PI_DEVICE_BINARY_OFFLOAD_KIND_SYCL,
            Format: match image.format {
                ImageFormat::Spirv => PI_DEVICE_BINARY_TYPE_SPIRV,
                ImageFormat::Bitcode => PI_DEVICE_BINARY_TYPE_LLVMIR_BITCODE,
                ImageFormat::Elf | ImageFormat::Zebin | ImageFormat::Amdgpu | ImageFormat::Cubin => {
                    PI_DEVICE_BINARY_TYPE_NATIVE
                }
                _ => PI_DEVICE_BINARY_TYPE_NONE,
            },
            CompileOptions: option(COMPILE_OPTIONS),
            LinkOptions: option(LINK_OPTIONS),
            DeviceTargetSpec: self.string(image.target.sycl_name()),
            ManifestStart: core::ptr::null(),
            ManifestEnd: core::ptr::null(),
            BinaryStart: code.start,
            BinaryEnd: code.end,
            EntriesBegin: entry_ends.start.cast_mut(),
            EntriesEnd: entry_ends.end.cast_mut(),
            PropertySetsBegin: set_ends.start.cast_mut(),
            PropertySetsEnd: set_ends.end.cast_mut(),
        })
    }

    fn string(&mut self, text: &str) -> *const c_char {
        // A NUL inside would end the text for the plugin as well.
        let text = text.split('\0').next().unwrap_or_default();
        let string = CString::new(text).unwrap_or_default();
        let start = string.as_ptr();
        self.strings.push(string);
        start
    }

    fn property(&mut self, key: &str, value: &PropertyValue) -> pi_device_binary_property_struct {
        let (kind, address, size) = match value {
            PropertyValue::U32(value) => (PI_PROPERTY_TYPE_UINT32, core::ptr::null(), u64::from(*value)),
            PropertyValue::Bytes(array) => {
                let bytes = [&array.bits().to_le_bytes(), array.bytes()].concat();
                let (start, size) = (bytes.as_ptr(), bytes.len());
                self.values.push(bytes);
                (PI_PROPERTY_TYPE_BYTE_ARRAY, start, size as u64)
            }
        };
        pi_device_binary_property_struct {
            Name: self.string(key).cast_mut(),
            ValAddr: address.cast_mut().cast(),
            Type: kind,
            ValSize: size,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_image_survives_the_way_through_c() {
        let mut first = DeviceImage::new(&[3, 2, 0x23, 7][..]);
        first.target = Target::of_sycl_name("spir64");
        first.strings.set(COMPILE_OPTIONS, "-g");
        first.strings.set(LINK_OPTIONS, "-create-library");
        first.kernels = vec!["first".into()];
        first.exports = vec!["second".into()];
        first.imports = vec!["triple".into()];
        first.entries = Some(vec!["first".into(), "second".into()]);
        first.properties.insert(names::IMPORTED_SYMBOLS, "triple", 1);
        first.properties.insert(names::EXPORTED_SYMBOLS, "second", 1);
        let bits = ByteArray::with_bits(7, [0x7f]).unwrap();
        first.properties.insert("bytes", "value", bits);
        let mut second = DeviceImage::new(&b"what is this"[..]);
        second.entries = Some(Vec::new());
        let mut images = [first, second];
        for image in &mut images {
            image.container = ContainerKind::SyclWrapped;
            image.container_version = Some(2);
            image.producer = Producer::Sycl;
        }
        let raw = RawBinaries::new(&images.each_ref()).unwrap();
        for (expected, raw) in images.iter().zip(&raw.images) {
            // SAFETY: `raw` holds everything its images point to.
            assert_eq!(unsafe { image(raw) }, *expected);
        }
    }

    #[test]
    fn the_format_is_what_the_bytes_show_and_else_what_the_image_says() {
        let claimed = |code: &'static [u8], claim: u8| {
            let plain = DeviceImage::new(code);
            let mut raw = RawBinaries::new(&[&plain]).unwrap();
            raw.images[0].Format = claim;
            // SAFETY: `raw` holds everything its images point to.
            unsafe { image(&raw.images[0]) }.format
        };
        let spirv = &[3, 2, 0x23, 7, 0];
        assert_eq!(claimed(spirv, PI_DEVICE_BINARY_TYPE_NONE), ImageFormat::Spirv);
        assert_eq!(claimed(spirv, PI_DEVICE_BINARY_TYPE_NATIVE), ImageFormat::Spirv);
        assert_eq!(claimed(b"short", PI_DEVICE_BINARY_TYPE_SPIRV), ImageFormat::Spirv);
        assert_eq!(
            claimed(b"short", PI_DEVICE_BINARY_TYPE_NATIVE),
            ImageFormat::Unknown
        );
    }
}
