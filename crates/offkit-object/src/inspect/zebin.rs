//! zebin: Intel's GPU code; and the ELF file that holds the SPIR-V beside it.

use std::collections::HashMap;

use offkit_image::{Error, ImageFormat, Resources, Spills, Stack};

use super::elf::Elf;
use super::findings::Findings;
use super::{InspectedKernel, inspect_part, yaml};
use crate::source::Source;

const NOTE_PRODUCT_FAMILY: u32 = 1;
const NOTE_CORE_FAMILY: u32 = 2;
const NOTE_VERSION: u32 = 4;
const NOTE_PRODUCT_CONFIGURATION: u32 = 6;

/// The name of the section with the description of all kernels, as YAML.
const DESCRIPTION: &str = ".ze_info";

/// What the names of sections with code begin with; the kernel's name follows.
const CODE: &str = ".text.";

pub(super) fn inspect(source: Source<'_>, findings: &mut Findings) -> Result<(), Error> {
    let elf = Elf::read(source, findings)?;
    for note in elf.notes(findings) {
        if note.owner != b"IntelGT" {
            continue;
        }
        // All but the version, which is a text of any length, are numbers of 32 bits.
        let number = elf.fields(note.data).word(0);
        match (note.kind, number) {
            (NOTE_PRODUCT_FAMILY, Some(number)) => findings.detail("product family", number),
            (NOTE_CORE_FAMILY, Some(number)) => findings.detail("core family", number),
            (NOTE_PRODUCT_CONFIGURATION, Some(number)) => {
                findings.inspection.target.arch = ip_version(number).into();
            }
            (NOTE_VERSION, _) => {
                let text = note.data.bytes();
                let version = findings.text(text.strip_suffix(b"\0").unwrap_or(text))?;
                findings.inspection.version = Some(version);
            }
            _ => {}
        }
    }
    if let Some(section) = elf.named(".misc.buildOptions") {
        let options = findings.text(section.data.bytes())?;
        findings.detail("options", options.trim_end_matches('\0').trim());
    }
    let described = match elf.named(DESCRIPTION) {
        Some(section) => read_description(section.data, findings)?,
        None => false,
    };
    if !described {
        // Code without its description still shows what it is.
        for section in &elf.sections {
            if let Some(name) = section.name.strip_prefix(CODE)
                && name != FUNCTIONS
            {
                findings.kernel(name.to_owned());
            }
        }
    }
    let sizes = elf.sections.iter().filter_map(|section| {
        let name = section.name.strip_prefix(CODE)?;
        Some((name, section.stored_size()))
    });
    let sizes: HashMap<&str, u64> = sizes.collect();
    for kernel in &mut findings.inspection.kernels {
        if let Some(size) = sizes.get(kernel.name.as_str()) {
            kernel.resources.code_size = Some(*size);
            kernel.add("code size", *size);
            if described {
                // What is 0 is left out of the description.
                let resources = &mut kernel.resources;
                resources.spills.get_or_insert(Spills::BytesOfThread(0));
                resources.shared_memory.get_or_insert(0);
            }
        }
    }
    // Intel's files have the full table only: the driver links by it.
    for symbol in elf.symbols(false, findings) {
        if !symbol.is_shared() {
        } else if symbol.is_defined() && symbol.is_function() {
            findings.export(symbol.name.into_owned());
        } else if !symbol.is_defined() && !symbol.name.starts_with(PATCHED_BY_DRIVER) {
            findings.import(symbol.name.into_owned());
        }
    }
    Ok(())
}

/// The section `.text.Intel_Symbol_Table_Void_Program` holds the functions of programs without kernels.
const FUNCTIONS: &str = "Intel_Symbol_Table_Void_Program";

/// What symbols start with that the driver puts its own numbers in for.
const PATCHED_BY_DRIVER: &str = "__INTEL_PATCH_";

/// `12.60.7` for 0x030f0007: 10 bits, 8 bits, 8 bits of no meaning and 6 bits.
fn ip_version(number: u32) -> String {
    format!("{}.{}.{}", number >> 22, (number >> 14) & 0xff, number & 0x3f)
}

/// Reads the kernels; whether there are any.
fn read_description(source: Source<'_>, findings: &mut Findings) -> Result<bool, Error> {
    const FACTS: &[(&str, &str)] = &[
        ("SIMD width", "simd_size"),
        ("registers", "grf_count"),
        ("local memory", "slm_size"),
        ("private memory", "private_size"),
        ("spilled", "spill_size"),
        ("barriers", "barrier_count"),
        ("required work-group size", "required_work_group_size"),
        ("required sub-group size", "required_sub_group_size"),
    ];
    findings.count(source.len())?;
    let mut kernel: Option<Described> = None;
    let mut any = false;
    for line in yaml::section(source.bytes(), "kernels") {
        if line.starts_item(1) && line.key == "name" {
            any = true;
            let next = Described {
                kernel: InspectedKernel::new(findings.text(line.value.as_bytes())?),
                arguments: Vec::new(),
                kind: "",
            };
            if let Some(done) = kernel.replace(next) {
                done.finish(findings);
            }
        }
        let Some(kernel) = &mut kernel else { continue };
        // Other things than arguments have sizes, too.
        if line.begins() {
            kernel.kind = "";
        }
        match (line.key, line.value.parse::<u64>()) {
            ("arg_type", _) => kernel.kind = line.value,
            ("size", Ok(size)) => kernel.add_argument(size),
            ("arg_index", Ok(index)) => kernel.set_index(index),
            (key, number) => {
                if let Some((name, _)) = FACTS.iter().find(|(_, known)| *known == key) {
                    match number {
                        Ok(number) => {
                            kernel.kernel.add(*name, number);
                            add_resource(&mut kernel.kernel.resources, key, number);
                        }
                        Err(_) => kernel.kernel.add(*name, findings.text(line.value.as_bytes())?),
                    }
                }
            }
        }
    }
    if let Some(done) = kernel {
        done.finish(findings);
    }
    Ok(any)
}

fn add_resource(resources: &mut Resources, key: &str, number: u64) {
    match key {
        "grf_count" => resources.registers = Some(number),
        "slm_size" => resources.shared_memory = Some(number),
        "private_size" => resources.stack = Some(Stack::Bytes(number)),
        "spill_size" => resources.spills = Some(Spills::BytesOfThread(number)),
        _ => {}
    }
}

/// A kernel in the making.
struct Described<'data> {
    kernel: InspectedKernel,
    /// Number, kind and size of each piece of an argument; a struct may be passed in several.
    arguments: Vec<(Option<u64>, &'data str, u64)>,
    /// The kind of the argument that is being read.
    kind: &'data str,
}

impl Described<'_> {
    fn add_argument(&mut self, size: u64) {
        // Others are the runtime's, such as the sizes of the launch.
        if matches!(self.kind, "arg_bypointer" | "arg_byvalue") {
            self.arguments.push((None, self.kind, size));
        }
    }

    fn set_index(&mut self, index: u64) {
        // In an item `arg_index` comes behind `size`, by which the piece was added.
        if let Some((number @ None, ..)) = self.arguments.last_mut() {
            *number = Some(index);
        }
    }

    fn finish(mut self, findings: &mut Findings) {
        // Stable, so that the pieces of one argument stay in the order in which they are passed.
        self.arguments.sort_by_key(|(number, ..)| *number);
        let mut shown: Vec<(Option<u64>, &str, u64)> = Vec::new();
        for (number, kind, size) in self.arguments {
            match shown.last_mut() {
                Some((last, _, whole)) if *last == number => *whole = whole.saturating_add(size),
                _ => shown.push((number, kind, size)),
            }
        }
        if !shown.is_empty() {
            let texts = shown.iter().map(|(_, kind, size)| {
                let kind = if *kind == "arg_bypointer" {
                    "pointer"
                } else {
                    "value"
                };
                format!("{kind} {size}")
            });
            let texts: Vec<_> = texts.collect();
            self.kernel.add("arguments", texts.join(", "));
        }
        findings.inspection.kernels.push(self.kernel);
    }
}

/// Looks into the ELF file that holds SPIR-V, as `generic_ir` of Intel's archives; whether it is one.
pub(super) fn inspect_generic(elf: &Elf<'_>, findings: &mut Findings) -> bool {
    /// `ET_OPENCL_OBJECT` and its relatives: source, object, library, executable.
    const OPENCL_TYPES: std::ops::RangeInclusive<u16> = 0xff01..=0xff05;
    const SECTION_SPIRV: u32 = 0xff00_0009;
    if !OPENCL_TYPES.contains(&elf.header.kind) {
        return false;
    }
    let module = elf.sections.iter().find(|section| section.kind == SECTION_SPIRV);
    if let Some(module) = module {
        findings.detail("holds", "SPIR-V");
        inspect_part(module.data, ImageFormat::Spirv, findings, false);
    }
    module.is_some()
}
