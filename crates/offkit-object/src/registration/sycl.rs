//! SYCL: descriptors of images with entries and properties, in the forms that runtimes take.

use object::SymbolKind;
use offkit_image::{DeviceImage, Error, ImageFormat};

use super::Registration;
use super::code::Instruction::{Address, Call, Enter, Jump, Leave, Return};
use super::host_object::{Embedded, Growing, HostObject, Place};
use super::openmp::entry;
use crate::code_target::target_of;
use crate::offload_binary::{ImageKind, OffloadBinary, OffloadBinaryVersion, OffloadKind};
use crate::property_set::{PropertySet, PropertySets, PropertyValue, names};
use crate::sycl_wrapped::raw::{
    FORMAT_BITCODE, FORMAT_NATIVE, FORMAT_NONE, FORMAT_SPIRV, KIND_DPCPP, KIND_LLVM, NEW_ENTRY_SIZE,
    OLD_ENTRY_SIZE, PROPERTY_SET_SIZE, PROPERTY_SIZE, TYPE_BYTES, TYPE_U32,
};

/// Before all other constructors.
const PRIORITY: u16 = 1;

/// The forms of the structures.
pub(super) struct Form {
    version: u16,
    kind: u8,
    /// Whether there are two pointers to a manifest, which nobody uses.
    has_manifest: bool,
    is_llvm: bool,
}

pub(super) const V2: Form = Form {
    version: 2,
    kind: KIND_DPCPP,
    has_manifest: true,
    is_llvm: false,
};
pub(super) const V3: Form = Form {
    version: 3,
    kind: KIND_DPCPP,
    has_manifest: false,
    is_llvm: false,
};
pub(super) const LLVM: Form = Form {
    version: 3,
    kind: KIND_LLVM,
    has_manifest: false,
    is_llvm: true,
};

/// What a descriptor can count; more images need more descriptors.
const MOST_IMAGES: usize = u16::MAX as usize;

/// The images as offload binaries that follow each other, with the names of their kernels.
pub(super) fn embedded(images: &[DeviceImage<'_>]) -> Result<Embedded, Error> {
    let mut embedded = Embedded::for_images(images);
    for image in images {
        let mut entry = entry(image, OffloadKind::SYCL)?;
        if !image.kernels.is_empty() {
            entry.strings.set("symbols", image.kernels.join("\n"));
        }
        embedded.push(&OffloadBinary::from(entry).write(OffloadBinaryVersion::V1)?)?;
    }
    Ok(embedded)
}

/// Adds the images and their descriptors, and functions that register these.
pub(super) fn add(
    object: &mut HostObject,
    registration: &Registration,
    form: Form,
    images: &[DeviceImage<'_>],
) -> Result<(), Error> {
    // Taken apart: the section swallows the bytes, and only then there is a place to point to.
    let mut embedded = embedded(images)?;
    let ranges = std::mem::take(&mut embedded.images);
    let code = object.offload_section(registration, embedded.bytes);

    let mut structures = Vec::new();
    for (image, (begin, end)) in images.iter().zip(ranges) {
        structures.push(Structure {
            header: [form.kind, form.format_of(image)],
            target: object.text(&form.target_of(image))?,
            compile_options: object.text(image.compile_options())?,
            link_options: object.text(image.link_options())?,
            code: (code.after(begin), code.after(end)),
            entries: form.entries(object, image)?,
            properties: properties(object, &image.properties)?,
        });
    }
    let mut groups = Vec::new();
    // A descriptor points to an array, so all structures of a group stand one behind the other; what they lead to is
    // written before.
    for group in structures.chunks(MOST_IMAGES) {
        groups.push((object.tables.end(), group.len()));
        for structure in group {
            structure.write(&form, &mut object.tables);
        }
    }
    let mut descriptors = Vec::new();
    for (first, count) in groups {
        let tables = &mut object.tables;
        let descriptor = tables.end();
        tables.u16(1);
        tables.u16(u16::try_from(count).unwrap_or(u16::MAX));
        tables.u32(0);
        tables.pointer(first);
        // The host has no entries.
        tables.u64(0);
        tables.u64(0);
        let size = tables.end().offset.saturating_sub(descriptor.offset);
        let number = descriptors.len();
        object.name_numbered_descriptor(registration, ".sycl_offloading.", number, descriptor, size);
        descriptors.push(descriptor);
    }

    if registration.functions {
        let mut function = |name: &str, callee: &str, order: &mut dyn Iterator<Item = &Place>| {
            let callee = object.extern_symbol(callee, SymbolKind::Text).into();
            let instructions: Vec<_> = match (order.next(), order.next()) {
                // The runtime's function returns to the loader itself: nothing is left to do behind the only call.
                (Some(only), None) => vec![Address(*only), Jump(callee)],
                (first, second) => {
                    let all = first.into_iter().chain(second).chain(order);
                    let calls = all.flat_map(|descriptor| [Address(*descriptor), Call(callee)]);
                    [Enter].into_iter().chain(calls).chain([Leave, Return]).collect()
                }
            };
            object.function(name, &instructions)
        };
        let constructor = function(
            "sycl.descriptor_reg",
            "__sycl_register_lib",
            &mut descriptors.iter(),
        );
        let destructor = function(
            "sycl.descriptor_unreg",
            "__sycl_unregister_lib",
            &mut descriptors.iter().rev(),
        );
        Destructor {
            constructor,
            destructor,
        }
        .install(object, PRIORITY);
    }
    Ok(())
}

/// Functions for the beginning and the end.
pub(super) struct Destructor {
    pub(super) constructor: Place,
    pub(super) destructor: Place,
}

impl Destructor {
    /// Has the loader run both. COFF has no destructors of its own: there `atexit` does it.
    pub(super) fn install(self, object: &mut HostObject, priority: u16) {
        let Self {
            constructor,
            destructor,
        } = self;
        if !object.is_coff() {
            object.constructor(constructor, priority);
            object.destructor(destructor, priority);
            return;
        }
        let at_exit = object.extern_symbol("atexit", SymbolKind::Text).into();
        let both = object.function(
            "sycl.descriptor_reg_and_atexit",
            &[
                Enter,
                Call(constructor),
                Address(destructor),
                Leave,
                Jump(at_exit),
            ],
        );
        object.constructor(both, priority);
    }
}

/// An image's structure, before it is written.
struct Structure {
    header: [u8; 2],
    target: Place,
    compile_options: Place,
    link_options: Place,
    code: (Place, Place),
    entries: Option<(Place, Place)>,
    properties: Option<(Place, Place)>,
}

impl Structure {
    fn write(&self, form: &Form, tables: &mut Growing) {
        tables.u16(form.version);
        self.header.iter().for_each(|byte| tables.byte(*byte));
        tables.u32(0);
        tables.pointer(self.target);
        tables.pointer(self.compile_options);
        tables.pointer(self.link_options);
        if form.has_manifest {
            tables.u64(0);
            tables.u64(0);
        }
        for (begin, end) in [
            Some(self.code).unzip(),
            self.entries.unzip(),
            self.properties.unzip(),
        ] {
            tables.pointer_or_null(begin);
            tables.pointer_or_null(end);
        }
    }
}

impl Form {
    fn format_of(&self, image: &DeviceImage<'_>) -> u8 {
        if self.is_llvm {
            // LLVM has there what the offload binary says.
            return u8::try_from(ImageKind::of_format(image.format).0).unwrap_or_default();
        }
        match image.format {
            ImageFormat::Spirv => FORMAT_SPIRV,
            ImageFormat::Bitcode => FORMAT_BITCODE,
            ImageFormat::Elf | ImageFormat::Zebin | ImageFormat::Amdgpu | ImageFormat::Cubin => FORMAT_NATIVE,
            // Runtimes look at the first bytes then, as they do for nearly all images of compilers.
            _ => FORMAT_NONE,
        }
    }

    /// DPC++'s runtimes know targets by short names.
    fn target_of(&self, image: &DeviceImage<'_>) -> String {
        if self.is_llvm {
            return image.target.triple.to_string();
        }
        target_of(image).sycl_name().to_owned()
    }

    /// The table of entries: beginning and end, none if there is no entry.
    fn entries(
        &self,
        object: &mut HostObject,
        image: &DeviceImage<'_>,
    ) -> Result<Option<(Place, Place)>, Error> {
        let names = entry_names(image);
        if names.is_empty() {
            return Ok(None);
        }
        let begin = object.tables.end();
        for name in names {
            let name = object.text(name)?;
            let tables = &mut object.tables;
            if self.is_llvm {
                tables.u64(0);
                tables.u16(1);
                tables.u16(OffloadKind::SYCL.0);
                tables.u32(0);
            }
            // The address, which only the host's entries have.
            tables.u64(0);
            tables.pointer(name);
            // Size, flags and what is reserved; LLVM has the flags before, and here data and another address.
            tables.u64(0);
            tables.u64(0);
            if self.is_llvm {
                tables.u64(0);
            }
        }
        let end = object.tables.end();
        let size = if self.is_llvm {
            NEW_ENTRY_SIZE
        } else {
            OLD_ENTRY_SIZE
        };
        debug_assert!(end.offset.saturating_sub(begin.offset).is_multiple_of(size));
        Ok(Some((begin, end)))
    }
}

/// The names in an image's table of entries: those it had, or its kernels and exported functions.
pub(super) fn entry_names<'image>(image: &'image DeviceImage<'_>) -> Vec<&'image str> {
    match &image.entries {
        Some(entries) => entries.iter().map(String::as_str).collect(),
        None => image
            .kernels
            .iter()
            .chain(&image.exports)
            .map(String::as_str)
            .collect(),
    }
}

/// What describes a SYCLBIN file instead of an image has no place in a program.
const OF_SYCLBIN: [&str; 4] = [
    names::SYCLBIN_GLOBAL_METADATA,
    names::SYCLBIN_IR_MODULE_METADATA,
    names::SYCLBIN_NATIVE_IMAGE_METADATA,
    names::SYCLBIN_NATIVE_IMAGE_MODULE_METADATA,
];

/// The property sets: beginning and end, none if there is no set.
fn properties(object: &mut HostObject, sets: &PropertySets) -> Result<Option<(Place, Place)>, Error> {
    // The properties of all sets first: the table of the sets is an array, too.
    let mut written = Vec::new();
    for (name, set) in sets.iter().filter(|(name, _)| !OF_SYCLBIN.contains(name)) {
        written.push((object.text(name)?, property_set(object, set)?));
    }
    if written.is_empty() {
        return Ok(None);
    }
    let tables = &mut object.tables;
    let begin = tables.end();
    for (name, (first, last)) in written {
        tables.pointer(name);
        tables.pointer(first);
        tables.pointer(last);
    }
    let end = tables.end();
    debug_assert!(
        end.offset
            .saturating_sub(begin.offset)
            .is_multiple_of(PROPERTY_SET_SIZE)
    );
    Ok(Some((begin, end)))
}

fn property_set(object: &mut HostObject, set: &PropertySet) -> Result<(Place, Place), Error> {
    let begin = object.tables.end();
    for (name, value) in set.iter() {
        let name = object.text(name)?;
        let (value, value_type, size) = match value {
            // A number has no bytes to point to: it stands where other values have their size.
            PropertyValue::U32(number) => (None, TYPE_U32, u64::from(*number)),
            // The value is that of the text form. Runtimes take its first 8 bytes for the length in
            // bits, whatever they are.
            PropertyValue::Bytes(array) => {
                let bytes = [&array.bits().to_le_bytes(), array.bytes()].concat();
                let place = object.constants.aligned(&bytes);
                (Some(place), TYPE_BYTES, bytes.len() as u64)
            }
        };
        let tables = &mut object.tables;
        tables.pointer(name);
        tables.pointer_or_null(value);
        tables.u32(value_type);
        tables.u32(0);
        tables.u64(size);
    }
    let end = object.tables.end();
    debug_assert!(
        end.offset
            .saturating_sub(begin.offset)
            .is_multiple_of(PROPERTY_SIZE)
    );
    Ok((begin, end))
}
