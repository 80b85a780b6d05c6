//! Device images as one side describes them to the other.

use crate::ffi::*;
use core::ffi::{CStr, c_char};
use std::ffi::CString;

/// A device image: what a host asks a plugin to choose among, and a plugin looks at to choose.
///
/// Borrowed from wherever the image lies. Made by hosts with the fields they know and handed to
/// [`host::Device::select_binary`](crate::host::Device::select_binary); given to
/// [`plugin::Device::select_binary`](crate::plugin::Device::select_binary).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DeviceBinary<'a> {
    /// Format: a `PI_DEVICE_BINARY_TYPE_*` value; [`PI_DEVICE_BINARY_TYPE_NONE`] leaves it to whoever looks
    /// at the bytes.
    pub format: u8,
    /// Target as compilers name it: `spir64`, `spir64_x86_64`, `nvptx64`, …
    pub target: &'a str,
    /// Options to compile with on the device.
    pub compile_options: &'a str,
    /// Options to link with on the device.
    pub link_options: &'a str,
    /// The device code.
    pub data: &'a [u8],
    /// Names of the kernels in it.
    pub entries: Vec<&'a str>,
    /// Property sets, in order.
    pub property_sets: Vec<PropertySet<'a>>,
}

/// A named list of properties.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PropertySet<'a> {
    /// Name, such as `SYCL/specialization constants`.
    pub name: &'a str,
    /// Names and values, in order.
    pub properties: Vec<(&'a str, PropertyValue<'a>)>,
}

/// The value of a property.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PropertyValue<'a> {
    /// A 32-bit integer.
    U32(u32),
    /// Bytes, an 8-byte little-endian count of bits first.
    Bytes(&'a [u8]),
}

impl DeviceBinary<'_> {
    /// The format, found out from the first bytes where the image does not say it.
    pub fn detected_format(&self) -> u8 {
        match (self.format, self.data) {
            (PI_DEVICE_BINARY_TYPE_NONE, [0x03, 0x02, 0x23, 0x07, ..]) => PI_DEVICE_BINARY_TYPE_SPIRV,
            (PI_DEVICE_BINARY_TYPE_NONE, [b'B', b'C', 0xc0, 0xde, ..]) => {
                PI_DEVICE_BINARY_TYPE_LLVMIR_BITCODE
            }
            (PI_DEVICE_BINARY_TYPE_NONE, [0x7f, b'E', b'L', b'F', ..]) => PI_DEVICE_BINARY_TYPE_NATIVE,
            (format, _) => format,
        }
    }
}

impl<'a> DeviceBinary<'a> {
    /// Views an image in memory. Text that is not UTF-8 reads as empty; entries and properties without a name
    /// are left out.
    ///
    /// # Safety
    ///
    /// The pointers of `raw`, and those they lead to, must be null or valid for `'a`, strings NUL-terminated,
    /// and each pair of begin and end pointers from one array.
    pub unsafe fn from_raw(raw: &pi_device_binary_struct) -> DeviceBinary<'a> {
        // SAFETY: all pointers come from `raw`, for which the caller vouches.
        unsafe {
            let entries = range(raw.EntriesBegin, raw.EntriesEnd);
            let property_sets = range(raw.PropertySetsBegin, raw.PropertySetsEnd);
            DeviceBinary {
                format: raw.Format,
                target: text(raw.DeviceTargetSpec).unwrap_or_default(),
                compile_options: text(raw.CompileOptions).unwrap_or_default(),
                link_options: text(raw.LinkOptions).unwrap_or_default(),
                data: range(raw.BinaryStart, raw.BinaryEnd),
                entries: entries.iter().filter_map(|entry| text(entry.name)).collect(),
                property_sets: property_sets.iter().filter_map(|set| property_set(set)).collect(),
            }
        }
    }
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
/// As for [`DeviceBinary::from_raw`].
unsafe fn property_set<'a>(raw: &pi_device_binary_property_set_struct) -> Option<PropertySet<'a>> {
    // SAFETY: the caller vouches for the pointers of the set and of its properties.
    unsafe {
        let mut properties = Vec::new();
        for property in range(raw.PropertiesBegin, raw.PropertiesEnd) {
            let Some(name) = text(property.Name) else { continue };
            let value = match property.Type {
                PI_PROPERTY_TYPE_UINT32 => PropertyValue::U32(property.ValSize as u32),
                _ => {
                    let begin = property.ValAddr.cast::<u8>().cast_const();
                    PropertyValue::Bytes(range(begin, begin.wrapping_add(property.ValSize as usize)))
                }
            };
            properties.push((name, value));
        }
        Some(PropertySet {
            name: text(raw.Name)?,
            properties,
        })
    }
}

/// The C structs for some images, with everything they point to.
///
/// The images themselves are not copied, so this borrows from them.
pub(crate) struct RawBinaries<'a> {
    images: Vec<pi_device_binary_struct>,
    /// What `images` points into. Boxed slices and C strings do not move when the vectors that hold them
    /// grow.
    _strings: Vec<CString>,
    _entries: Vec<Box<[pi_offload_entry_struct]>>,
    _properties: Vec<Box<[pi_device_binary_property_struct]>>,
    _property_sets: Vec<Box<[pi_device_binary_property_set_struct]>>,
    _borrowed: core::marker::PhantomData<&'a [u8]>,
}

impl<'a> RawBinaries<'a> {
    pub(crate) fn new(images: &'a [DeviceBinary<'a>]) -> Self {
        let mut strings = Vec::new();
        let mut all_entries = Vec::new();
        let mut all_properties = Vec::new();
        let mut all_sets = Vec::new();
        let mut string = |text: &str| {
            // A NUL inside would end the text for the plugin as well.
            let text = text.split('\0').next().unwrap_or_default();
            strings.push(CString::new(text).unwrap_or_default());
            strings
                .last()
                .map_or(core::ptr::null(), |text: &CString| text.as_ptr())
        };
        let mut raw = Vec::new();
        for image in images {
            let entries: Box<[_]> = image
                .entries
                .iter()
                .map(|name| pi_offload_entry_struct {
                    addr: core::ptr::null_mut(),
                    name: string(name).cast_mut(),
                    size: 0,
                    flags: 0,
                    reserved: 0,
                })
                .collect();
            let mut sets = Vec::new();
            for set in &image.property_sets {
                let properties: Box<[_]> = set
                    .properties
                    .iter()
                    .map(|(name, value)| {
                        let (kind, address, size) = match value {
                            PropertyValue::U32(value) => {
                                (PI_PROPERTY_TYPE_UINT32, core::ptr::null(), u64::from(*value))
                            }
                            PropertyValue::Bytes(value) => {
                                (PI_PROPERTY_TYPE_BYTE_ARRAY, value.as_ptr(), value.len() as u64)
                            }
                        };
                        pi_device_binary_property_struct {
                            Name: string(name).cast_mut(),
                            ValAddr: address.cast_mut().cast(),
                            Type: kind,
                            ValSize: size,
                        }
                    })
                    .collect();
                let ends = properties.as_ptr_range();
                sets.push(pi_device_binary_property_set_struct {
                    Name: string(set.name).cast_mut(),
                    PropertiesBegin: ends.start.cast_mut(),
                    PropertiesEnd: ends.end.cast_mut(),
                });
                all_properties.push(properties);
            }
            let sets = sets.into_boxed_slice();
            let (code, entry_ends, set_ends) = (
                image.data.as_ptr_range(),
                entries.as_ptr_range(),
                sets.as_ptr_range(),
            );
            raw.push(pi_device_binary_struct {
                Version: 2,
                Kind: PI_DEVICE_BINARY_OFFLOAD_KIND_SYCL,
                Format: image.format,
                DeviceTargetSpec: string(image.target),
                CompileOptions: string(image.compile_options),
                LinkOptions: string(image.link_options),
                ManifestStart: core::ptr::null(),
                ManifestEnd: core::ptr::null(),
                BinaryStart: code.start,
                BinaryEnd: code.end,
                EntriesBegin: entry_ends.start.cast_mut(),
                EntriesEnd: entry_ends.end.cast_mut(),
                PropertySetsBegin: set_ends.start.cast_mut(),
                PropertySetsEnd: set_ends.end.cast_mut(),
            });
            all_entries.push(entries);
            all_sets.push(sets);
        }
        RawBinaries {
            images: raw,
            _strings: strings,
            _entries: all_entries,
            _properties: all_properties,
            _property_sets: all_sets,
            _borrowed: core::marker::PhantomData,
        }
    }

    /// Pointers to the images, as `piextDeviceSelectBinary` wants them. Valid while `self` is.
    pub(crate) fn pointers(&mut self) -> Vec<pi_device_binary> {
        self.images.iter_mut().map(core::ptr::from_mut).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_image_survives_the_way_through_c() {
        let images = [
            DeviceBinary {
                format: PI_DEVICE_BINARY_TYPE_SPIRV,
                target: "spir64",
                compile_options: "-g",
                link_options: "-create-library",
                data: &[3, 2, 0x23, 7],
                entries: vec!["first", "second"],
                property_sets: vec![
                    PropertySet {
                        name: "SYCL/imported symbols",
                        properties: vec![("triple", PropertyValue::U32(1))],
                    },
                    PropertySet {
                        name: "bytes",
                        properties: vec![("value", PropertyValue::Bytes(&[8, 0, 0, 0, 0, 0, 0, 0, 255]))],
                    },
                ],
            },
            DeviceBinary::default(),
        ];
        let raw = RawBinaries::new(&images);
        for (image, raw) in images.iter().zip(&raw.images) {
            // SAFETY: `raw` holds everything its images point to.
            assert_eq!(unsafe { DeviceBinary::from_raw(raw) }, *image);
        }
    }

    #[test]
    fn the_format_is_taken_from_the_bytes_where_the_image_does_not_say_it() {
        let spirv = DeviceBinary {
            data: &[3, 2, 0x23, 7, 0],
            ..DeviceBinary::default()
        };
        assert_eq!(spirv.detected_format(), PI_DEVICE_BINARY_TYPE_SPIRV);
        let native = DeviceBinary {
            format: PI_DEVICE_BINARY_TYPE_NATIVE,
            ..spirv
        };
        assert_eq!(native.detected_format(), PI_DEVICE_BINARY_TYPE_NATIVE);
    }
}
