//! Program binaries: an offload binary with the SPIR-V modules that a program is made of.
//!
//! A device below builds them again, so that a binary is good for every device, and for versions of offkit to come.

use crate::failure::{Failure, Result, require};
use cl::*;
use offkit_image::Limits;
use offkit_object::{ImageKind, OffloadBinary, OffloadBinaryVersion, OffloadEntry, OffloadKind};
use offkit_sync::Arc;

/// The SPIR-V modules of a program.
pub(crate) type Modules = Vec<Arc<[u8]>>;

/// What options leave in a program, whatever it becomes a part of.
#[derive(Clone, Default)]
pub(crate) struct Traces {
    /// Those that the device compiles its kernels by.
    pub(crate) for_device: String,
    /// Whether work-groups have to divide its ranges evenly.
    pub(crate) is_uniform: bool,
}

/// A binary.
pub(crate) struct Binary {
    pub(crate) modules: Modules,
    pub(crate) binary_type: cl_program_binary_type,
    /// Those that the program was built with.
    pub(crate) options: String,
    pub(crate) traces: Traces,
}

/// What the entries of a binary say about the program.
const TYPE: &str = "opencl-binary-type";
const OPTIONS: &str = "opencl-build-options";
const FOR_DEVICE: &str = "opencl-device-options";
const UNIFORM: &str = "opencl-uniform-work-group-size";

/// Writes the binary of a program.
pub(crate) fn write(
    modules: &Modules,
    binary_type: cl_program_binary_type,
    options: &str,
    traces: &Traces,
) -> Vec<u8> {
    let entries = modules.iter().map(|module| {
        let mut entry = OffloadEntry::new(ImageKind::SPIRV, OffloadKind::NONE, &module[..]);
        entry.strings.set(TYPE, binary_type.to_string());
        entry.strings.set(OPTIONS, options);
        entry.strings.set(FOR_DEVICE, &*traces.for_device);
        entry
            .strings
            .set(UNIFORM, u32::from(traces.is_uniform).to_string());
        entry
    });
    let binary = OffloadBinary {
        entries: entries.collect(),
    };
    // OpenCL has a size of 0 for a binary that is not to be had.
    binary.write(OffloadBinaryVersion::V2).unwrap_or_default()
}

/// Reads one. SPIR-V by itself is taken too, as a program that is yet to be compiled.
pub(crate) fn read(bytes: &[u8]) -> Result<Binary> {
    if is_spirv(bytes) {
        return Ok(Binary {
            modules: vec![bytes.into()],
            binary_type: CL_PROGRAM_BINARY_TYPE_NONE,
            options: String::new(),
            traces: Traces::default(),
        });
    }
    let invalid = |_| Failure(CL_INVALID_BINARY);
    let binary = OffloadBinary::parse(bytes, &Limits::default()).map_err(invalid)?;
    // `write` gives every entry the same type and options, so that one speaks for all.
    let first = binary.entries.first().ok_or(Failure(CL_INVALID_BINARY))?;
    let binary_type = first.strings.get(TYPE).and_then(|text| text.parse().ok());
    let known = [
        CL_PROGRAM_BINARY_TYPE_NONE,
        CL_PROGRAM_BINARY_TYPE_COMPILED_OBJECT,
        CL_PROGRAM_BINARY_TYPE_LIBRARY,
        CL_PROGRAM_BINARY_TYPE_EXECUTABLE,
    ];
    let binary_type = binary_type.filter(|found| known.contains(found));
    let text = |name| first.strings.get(name).unwrap_or_default().to_owned();
    let traces = Traces {
        for_device: text(FOR_DEVICE),
        is_uniform: text(UNIFORM) == "1",
    };
    let mut modules = Modules::new();
    for entry in &binary.entries {
        require(is_spirv(&entry.image), CL_INVALID_BINARY)?;
        modules.push(entry.image[..].into());
    }
    Ok(Binary {
        modules,
        binary_type: binary_type.ok_or(Failure(CL_INVALID_BINARY))?,
        options: text(OPTIONS),
        traces,
    })
}

/// Whether bytes begin as SPIR-V does, in either order of bytes.
pub(crate) fn is_spirv(bytes: &[u8]) -> bool {
    matches!(bytes, [3, 2, 0x23, 7, ..] | [7, 0x23, 2, 3, ..])
}
