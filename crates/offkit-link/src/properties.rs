//! The property sets of an image: here from what code generation left in it, in [`module_properties`] from the
//! LLVM module that it is made of.
//!
//! Imports and exports are read from the finished SPIR-V module and not from LLVM's: a declaration
//! such as `get_global_id` becomes an instruction on the way and is nobody's to supply.

mod module;

use offkit_object::property_set::{PropertySets, PropertyValue, names};
use offkit_spirv::Reflection;
use offkit_spirv::grammar::Capability;

use crate::symbols::is_reserved;

pub(crate) use module::registered;

/// The set of virtual functions that an image defines.
pub(crate) const VIRTUAL_FUNCTIONS_SET: &str = "virtual-functions-set";

/// Whether an image stands in for one of the same set on devices without a feature that this one needs.
pub(crate) const DUMMY_IMAGE: &str = "dummy-image";

pub use module::{IndexedModule, ModuleImage, PropertyChoice, REQUIRED_WORK_GROUP_SIZE, module_properties};

/// SYCL's numbers of device aspects, as its runtimes have them.
pub mod aspects {
    /// Arithmetic with 16-bit floating-point numbers.
    pub const FP16: u32 = 5;
    /// Arithmetic with 64-bit floating-point numbers.
    pub const FP64: u32 = 6;
    /// Atomic operations on 64-bit numbers.
    pub const ATOMIC64: u32 = 27;
    /// Intel's explicit SIMD code.
    pub const EXT_INTEL_ESIMD: u32 = 49;
}

/// The symbols that an image expects other images to supply, in module order: all that the device does not, whatever
/// their names. A compiler's own function (`__mulsc3`) has to come from somewhere, too.
pub fn imported_symbols(image: &Reflection) -> impl Iterator<Item = &str> {
    image.imports.iter().map(|symbol| symbol.name.as_str())
}

/// The symbols that an image supplies to other images, in module order.
pub fn exported_symbols(image: &Reflection) -> impl Iterator<Item = &str> {
    image
        .exports
        .iter()
        .map(|symbol| symbol.name.as_str())
        .filter(|name| !is_reserved(name))
}

/// The property sets of a SPIR-V image, in the order in which the SYCL tool chain writes them.
///
/// The device requirements are always there, even without any aspect, as `sycl-post-link` writes
/// them; the other sets only with something in them.
pub fn image_properties(image: &Reflection) -> PropertySets {
    let mut sets = PropertySets::new();
    let capabilities = [
        (Capability::Float16, aspects::FP16),
        (Capability::Float64, aspects::FP64),
        (Capability::Int64Atomics, aspects::ATOMIC64),
    ];
    let aspects: Vec<u32> = capabilities
        .into_iter()
        .filter(|(capability, _)| image.capabilities.contains(capability))
        .map(|(_, aspect)| aspect)
        .collect();
    sets.insert(
        names::DEVICE_REQUIREMENTS,
        "aspects",
        PropertyValue::from(aspects.as_slice()),
    );
    for kernel in &image.kernels {
        if let Some(size) = kernel.required_work_group_size {
            let key = format!("{}@reqd_work_group_size", kernel.name);
            sets.insert(names::PROGRAM_METADATA, key, PropertyValue::from(size.as_slice()));
        }
        if let Some(size) = kernel.required_sub_group_size {
            let key = format!("{}@reqd_sub_group_size", kernel.name);
            sets.insert(names::PROGRAM_METADATA, key, PropertyValue::from(size));
        }
    }
    let mut symbols = |set, symbols: Vec<&str>| {
        if !symbols.is_empty() {
            sets.insert_symbols(set, symbols);
        }
    };
    symbols(
        names::KERNEL_NAMES,
        image.kernels.iter().map(|kernel| kernel.name.as_str()).collect(),
    );
    symbols(names::EXPORTED_SYMBOLS, exported_symbols(image).collect());
    symbols(names::IMPORTED_SYMBOLS, imported_symbols(image).collect());
    sets
}
