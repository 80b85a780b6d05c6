//! CUDA and HIP: a container with the images of all architectures, and a wrapper that says where it is.
//!
//! The constructor registers the container, then every kernel and variable that the host's table of entries has
//! for the language.

use object::{SectionKind, SymbolKind};
use offkit_image::{DeviceImage, Error};

use super::Registration;
use super::code::Instruction::{Address, Call, Enter, Jump, Leave, Load, Store};
use super::entry_array::entry_array;
use super::globals;
use super::host_object::HostObject;
use crate::offload_binary::OffloadKind;

/// After the runtimes' own constructors, before those of programs.
const PRIORITY: u16 = 101;

/// What differs between the languages.
pub(super) struct Language {
    /// The prefix of the runtime's functions, and that of local names.
    pub(super) name: &'static str,
    magic: u32,
    container_section: &'static str,
    container_alignment: u64,
    wrapper_section: &'static str,
    has_end: bool,
    pub(super) has_textures: bool,
    pub(super) kind: OffloadKind,
}

pub(super) const CUDA: Language = Language {
    name: "cuda",
    magic: 0x4662_43b1,
    container_section: ".nv_fatbin",
    container_alignment: 8,
    wrapper_section: ".nvFatBinSegment",
    has_end: true,
    has_textures: false,
    kind: OffloadKind::CUDA,
};

pub(super) const HIP: Language = Language {
    name: "hip",
    magic: 0x4849_5046,
    container_section: ".hip_fatbin",
    // The loader maps code objects from there by pages.
    container_alignment: 4096,
    wrapper_section: ".hipFatBinSegment",
    has_end: false,
    has_textures: true,
    kind: OffloadKind::HIP,
};

/// Adds the only image, which is a container for all architectures, and what registers it.
pub(super) fn add(
    object: &mut HostObject,
    registration: &Registration,
    language: Language,
    images: &[DeviceImage<'_>],
) -> Result<(), Error> {
    let [image] = images else {
        return Err(Error::unrepresentable(
            "images for several architectures must be put into one container before",
        )
        .expecting("one image")
        .finding(images.len()));
    };
    let name = language.name;
    let container = object.section(
        language.container_section,
        SectionKind::ReadOnlyData,
        image.bytes()?.to_vec(),
        language.container_alignment,
    );
    let mut table = object.table_section(language.wrapper_section);
    let wrapper = table.end();
    table.u32(language.magic);
    table.u32(1);
    table.pointer(container);
    // Unused in version 1 of CUDA's wrapper, whose form HIP has taken over.
    table.u64(0);
    let size = table.end().offset;
    object.finish_table(table);
    object.name_descriptor(registration, ".fatbin_wrapper.", wrapper, size);
    if !registration.functions {
        return Ok(());
    }

    let entries = entry_array(object);
    let handle = object.variable(&format!(".{name}.binary_handle"));
    let mut function = |end: &str| {
        object
            .extern_symbol(&format!("__{name}{end}"), SymbolKind::Text)
            .into()
    };
    let register = function("RegisterFatBinary");
    let unregister = function("UnregisterFatBinary");
    let end = language.has_end.then(|| function("RegisterFatBinaryEnd"));
    let at_exit = object.extern_symbol("atexit", SymbolKind::Text).into();
    let register_globals = globals::add(object, &language, entries);
    let destructor = object.function(
        &format!(".{name}.fatbin_unreg"),
        &[Load(handle), Jump(unregister)],
    );
    // The handle goes through its variable between the calls: on x86 a function returns in another
    // register than the first argument's.
    let mut instructions = vec![
        Enter,
        Address(wrapper),
        Call(register),
        Store(handle),
        Load(handle),
        Call(register_globals),
    ];
    // Since 10.1 CUDA's runtime wants to hear that all kernels are registered.
    if let Some(end) = end {
        instructions.extend([Load(handle), Call(end)]);
    }
    // Only by `atexit`: at the end of the program the runtime may be gone before destructors run.
    instructions.extend([Address(destructor), Leave, Jump(at_exit)]);
    let constructor = object.function(&format!(".{name}.fatbin_reg"), &instructions);
    object.constructor(constructor, PRIORITY);
    Ok(())
}
