//! LLVM bitcode, without LLVM: what a module says about itself and its functions.

mod annotations;
mod bitstream;
mod embedded;
mod function_types;

use std::collections::HashMap;

use offkit_image::target::amd;
use offkit_image::{Error, Family, Target};

use super::findings::Findings;
use crate::source::Source;
use annotations::Annotations;
use bitstream::{Bitstream, Item};

pub use embedded::embedded_in_bitcode;
pub use function_types::{FunctionType, function_types};

/// The wrapper header, which some systems put before bitcode: u32 magic, version, offset, size, CPU type.
const WRAPPER_MAGIC: &[u8] = &[0xde, 0xc0, 0x17, 0x0b];
const WRAPPER_SIZE: u64 = 20;
/// The size of the magic number `BC` 0xC0DE.
const MAGIC_SIZE: u64 = 4;

const BLOCK_MODULE: u64 = 8;
const BLOCK_ATTRIBUTE_GROUPS: u64 = 10;
const BLOCK_CONSTANTS: u64 = 11;
const BLOCK_IDENTIFICATION: u64 = 13;
const BLOCK_SYMBOL_TABLE: u64 = 14;
const BLOCK_METADATA: u64 = 15;
const BLOCK_STRING_TABLE: u64 = 23;

const IDENTIFICATION_PRODUCER: u64 = 1;
const IDENTIFICATION_EPOCH: u64 = 2;

const MODULE_VERSION: u64 = 1;
const MODULE_TRIPLE: u64 = 2;
const MODULE_DATA_LAYOUT: u64 = 3;
const MODULE_VARIABLE: u64 = 7;
const MODULE_FUNCTION: u64 = 8;
const MODULE_OLD_ALIAS: u64 = 9;
const MODULE_ALIAS: u64 = 14;
const MODULE_SOURCE_FILE: u64 = 16;
const MODULE_INDIRECT_FUNCTION: u64 = 18;

const STRING_TABLE_BLOB: u64 = 1;

/// From this version of modules on, names are in a table of strings behind the module.
const VERSION_WITH_STRING_TABLE: u64 = 2;

/// The linkage of a declaration that needs no definition.
const EXTERN_WEAK: u64 = 7;

const CALL_PTX_KERNEL: u64 = 71;
const CALL_SPIR_KERNEL: u64 = 76;
const CALL_AMDGPU_KERNEL: u64 = 91;

pub(super) fn inspect(source: Source<'_>, findings: &mut Findings) -> Result<(), Error> {
    let (source, wrapper) = unwrapped(source)?;
    if let Some(cpu) = wrapper {
        findings.detail("wrapper", format!("CPU type {cpu:#x}"));
    }
    let mut file = File {
        stream: Bitstream::new(source, MAGIC_SIZE),
        unnamed: Vec::new(),
        has_module: false,
    };
    let result = file.read(findings);
    // Without its table of strings a module still has all but names.
    if !file.unnamed.is_empty() && result.is_ok() {
        findings.problem(
            Error::malformed("bitcode has no table of strings for its symbols").at(source.at(source.len())),
        );
    }
    result
}

/// The triple of the first module. All blocks before it are passed over, and it is near the module's beginning.
pub(super) fn header_target(source: Source<'_>) -> Option<Target> {
    let (source, _) = unwrapped(source).ok()?;
    let mut stream = Bitstream::new(source, MAGIC_SIZE).for_beginning();
    loop {
        match stream.next().ok()? {
            Item::End => return None,
            Item::Block(BLOCK_MODULE) => break,
            _ => {}
        }
    }
    stream.enter();
    loop {
        match stream.next().ok()? {
            Item::End => return None,
            Item::Record(MODULE_TRIPLE) => {
                let triple = bytes_of(&stream.operands);
                return Some(Target::new(std::str::from_utf8(&triple).ok()?, ""));
            }
            _ => {}
        }
    }
}

/// The bitcode behind a wrapper header, and the CPU type in that, if there is one.
fn unwrapped(source: Source<'_>) -> Result<(Source<'_>, Option<u64>), Error> {
    if !source.bytes().starts_with(WRAPPER_MAGIC) {
        return Ok((source, None));
    }
    let header = source.need(0, WRAPPER_SIZE, "bitcode wrapper is cut off", "header")?;
    let field = |at| {
        let bytes = header.from(at).bytes().first_chunk::<4>();
        u64::from(bytes.map_or(0, |bytes| u32::from_le_bytes(*bytes)))
    };
    let inside = source.need(
        field(8),
        field(12),
        "bitcode lies outside of its wrapper",
        "offset and size",
    )?;
    Ok((inside, Some(field(16))))
}

/// A function or variable.
struct Global {
    /// Where its name is in the table of strings.
    name: (u64, u64),
    is_function: bool,
    is_declaration: bool,
    calling_convention: u64,
    linkage: u64,
    /// Of a variable, the memory that it is in.
    address_space: u64,
}

/// The address space of a work-group's memory on GPUs.
const GROUP_MEMORY: u64 = 3;

impl Global {
    /// The address space in the flags of a variable, where older versions wrote it into the type.
    fn address_space(flags: u64) -> u64 {
        const IS_EXPLICIT: u64 = 2;
        match flags & IS_EXPLICIT {
            0 => 0,
            _ => flags >> 2,
        }
    }

    fn is_kernel(&self) -> bool {
        matches!(
            self.calling_convention,
            CALL_PTX_KERNEL | CALL_SPIR_KERNEL | CALL_AMDGPU_KERNEL
        )
    }

    /// Whether it is visible in other modules; numbers that older versions wrote count as well.
    fn is_shared(&self) -> bool {
        const APPENDING: u64 = 2;
        const INTERNAL: u64 = 3;
        const PRIVATE: &[u64] = &[9, 13, 14];
        const AVAILABLE_EXTERNALLY: u64 = 12;
        !matches!(self.linkage, APPENDING | INTERNAL | AVAILABLE_EXTERNALLY)
            && !PRIVATE.contains(&self.linkage)
    }
}

/// The global values of a module, by number, aliases as what they stand for; `None` for those that are cut off.
#[derive(Default)]
struct Module {
    version: u64,
    globals: Vec<Option<Global>>,
    /// Whether one of them is a kernel by its calling convention.
    has_kernels: bool,
    /// Names from the symbol table, in modules older than the table of strings.
    names: HashMap<u64, String>,
    annotations: Annotations,
    /// The integers among the constants, by number: they go on behind the global values.
    integers: HashMap<u64, u64>,
    /// How many constants there were.
    constants: u64,
}

/// All of a file: several modules may follow each other and share what comes behind.
struct File<'data> {
    stream: Bitstream<'data>,
    /// Modules whose names are still to come.
    unnamed: Vec<Module>,
    has_module: bool,
}

impl<'data> File<'data> {
    fn read(&mut self, findings: &mut Findings) -> Result<(), Error> {
        loop {
            let item = self.stream.next()?;
            let result = match item {
                Item::End => return Ok(()),
                Item::Block(BLOCK_IDENTIFICATION) => self.identification(findings),
                Item::Block(BLOCK_MODULE) => {
                    let mut module = Module::default();
                    let result = self.module(&mut module, findings);
                    // The table comes behind the module; older modules have their names inside.
                    if module.version >= VERSION_WITH_STRING_TABLE {
                        self.unnamed.push(module);
                        result
                    } else {
                        let names = std::mem::take(&mut module.names);
                        let name = |index: u64, _: &Global, _: &mut Findings| Ok(names.get(&index).cloned());
                        result.and(add_symbols(&module, name, findings))
                    }
                }
                Item::Block(BLOCK_STRING_TABLE) => self.string_table(findings),
                _ => Ok(()),
            };
            // What follows a faulty block can still be read.
            if let Err(error) = result {
                findings.problem(error);
            }
            self.stream.leave(0);
        }
    }

    fn identification(&mut self, findings: &mut Findings) -> Result<(), Error> {
        self.stream.enter();
        loop {
            match self.stream.next()? {
                Item::Record(IDENTIFICATION_PRODUCER) => {
                    let producer = self.text(findings)?;
                    findings.inspection.producer.get_or_insert(producer);
                }
                Item::Record(IDENTIFICATION_EPOCH) => {
                    if let Some(epoch) = self.stream.operands.first().filter(|epoch| **epoch != 0) {
                        findings.detail("epoch", *epoch);
                    }
                }
                Item::End => return Ok(()),
                _ => {}
            }
        }
    }

    /// The operands of the last record as text.
    fn text(&mut self, findings: &mut Findings) -> Result<String, Error> {
        findings.text(&bytes_of(&self.stream.operands))
    }

    fn module(&mut self, module: &mut Module, findings: &mut Findings) -> Result<(), Error> {
        let first = !std::mem::replace(&mut self.has_module, true);
        self.stream.enter();
        let depth = self.stream.depth();
        loop {
            let item = self.stream.next()?;
            let result = match item {
                Item::End => {
                    // Only here, where both the constants and the metadata that names one are read.
                    let version = module.annotations.code_object_version();
                    if let Some(version) = version
                        .and_then(|value| module.integers.get(&value))
                        .filter(|_| first)
                    {
                        findings.detail("code object version", *version);
                    }
                    return Ok(());
                }
                Item::Block(BLOCK_CONSTANTS) if is_amdgpu(findings) => self.constants(module),
                // Newer modules have such a block, too, with the offsets of functions' bodies and no names.
                Item::Block(BLOCK_SYMBOL_TABLE) if module.version < VERSION_WITH_STRING_TABLE => {
                    self.symbol_table(module, findings)
                }
                Item::Block(BLOCK_METADATA) if needs_annotations(module, findings) => {
                    self.stream.enter();
                    module.annotations.read(&mut self.stream)
                }
                Item::Block(BLOCK_ATTRIBUTE_GROUPS) if first => self.attribute_groups(findings),
                Item::Block(_) => Ok(()),
                Item::Record(record) => self.module_record(record, module, first, findings),
            };
            if let Err(error) = result {
                findings.problem(error);
            }
            // A reader that met an error stopped somewhere within its block.
            self.stream.leave(depth);
        }
    }

    /// The constants of the module, of which the integers are kept.
    fn constants(&mut self, module: &mut Module) -> Result<(), Error> {
        const SET_TYPE: u64 = 1;
        const INTEGER: u64 = 4;
        // All values have one numbering. Global values come first, as LLVM writes them before any
        // constants.
        let mut number = (module.globals.len() as u64).saturating_add(module.constants);
        self.stream.enter();
        loop {
            match self.stream.next()? {
                Item::End => return Ok(()),
                // Neither is a constant, so that neither takes a number.
                Item::Block(_) | Item::Record(SET_TYPE) => continue,
                Item::Record(record) => {
                    // The lowest bit is the sign.
                    if let (INTEGER, [value, ..]) = (record, self.stream.operands.as_slice()) {
                        module.integers.insert(number, *value >> 1);
                    }
                }
            }
            module.constants = module.constants.saturating_add(1);
            number = number.saturating_add(1);
        }
    }

    fn module_record(
        &mut self,
        record: u64,
        module: &mut Module,
        first: bool,
        findings: &mut Findings,
    ) -> Result<(), Error> {
        let operands = self.stream.operands.as_slice();
        match record {
            MODULE_VERSION => {
                module.version = operands.first().copied().unwrap_or_default();
                if first {
                    findings.inspection.version = Some(module.version.to_string());
                }
            }
            MODULE_TRIPLE if first => findings.inspection.target.triple = self.text(findings)?.into(),
            MODULE_DATA_LAYOUT if first => {
                let text = self.text(findings)?;
                findings.detail("data layout", text);
            }
            MODULE_SOURCE_FILE if first => {
                let text = self.text(findings)?;
                findings.detail("source file", text);
            }
            MODULE_FUNCTION | MODULE_VARIABLE => {
                let (name, rest) = named(operands, module.version);
                let is_function = record == MODULE_FUNCTION;
                let global = match (is_function, rest) {
                    // Type, calling convention, whether it is a declaration, linkage.
                    (true, [_, calling_convention, prototype, linkage, ..]) => Some(Global {
                        name,
                        is_function,
                        is_declaration: *prototype != 0,
                        calling_convention: *calling_convention,
                        linkage: *linkage,
                        address_space: 0,
                    }),
                    // Type, flags, 1 more than the number of the initial value, linkage.
                    (false, [_, flags, initial, linkage, ..]) => Some(Global {
                        name,
                        is_function,
                        is_declaration: *initial == 0,
                        calling_convention: 0,
                        linkage: *linkage,
                        address_space: Global::address_space(*flags),
                    }),
                    _ => None,
                };
                module.has_kernels |= global.as_ref().is_some_and(Global::is_kernel);
                // One that is cut off keeps its number, or all behind it would be taken for others.
                module.globals.push(global);
            }
            MODULE_OLD_ALIAS | MODULE_ALIAS | MODULE_INDIRECT_FUNCTION => {
                let (name, rest) = named(operands, module.version);
                let linkage = match (record, rest) {
                    // Type, what it stands for, linkage.
                    (MODULE_OLD_ALIAS, [_, _, linkage, ..]) => Some(*linkage),
                    // Type, address space, what it stands for or what finds that, linkage.
                    (MODULE_ALIAS | MODULE_INDIRECT_FUNCTION, [_, _, _, linkage, ..]) => Some(*linkage),
                    _ => None,
                };
                module.globals.push(linkage.map(|linkage| Global {
                    name,
                    is_function: false,
                    is_declaration: false,
                    calling_convention: 0,
                    linkage,
                    address_space: 0,
                }));
            }
            _ => {}
        }
        Ok(())
    }

    /// Names of values, with the number of the value first.
    fn symbol_table(&mut self, module: &mut Module, findings: &mut Findings) -> Result<(), Error> {
        const ENTRY: u64 = 1;
        const FUNCTION_ENTRY: u64 = 3;
        self.stream.enter();
        loop {
            let item = self.stream.next()?;
            let (value, name) = match (item, self.stream.operands.as_slice()) {
                (Item::End, _) => return Ok(()),
                (Item::Record(ENTRY), [value, name @ ..]) => (*value, name),
                // The offset of its body comes first.
                (Item::Record(FUNCTION_ENTRY), [value, _, name @ ..]) => (*value, name),
                _ => continue,
            };
            let name = findings.text(&bytes_of(name))?;
            module.names.insert(value, name);
        }
    }

    /// The processor that functions are compiled for, and its features, are attributes of theirs: the number 4, then
    /// key and value, each a letter an operand and with a zero behind. The first that says one counts.
    fn attribute_groups(&mut self, findings: &mut Findings) -> Result<(), Error> {
        let mut has_features = false;
        self.stream.enter();
        loop {
            match self.stream.next()? {
                Item::End => return Ok(()),
                Item::Record(_) if findings.inspection.target.arch.is_empty() || !has_features => {
                    let bytes = bytes_of(&self.stream.operands);
                    if let Some(features) = attribute(&bytes, b"target-features\0").filter(|_| !has_features)
                    {
                        has_features = true;
                        // The triple comes later: no other target has features of these names.
                        amdgpu_features(features, findings)?;
                    }
                    if let Some(processor) = attribute(&bytes, b"target-cpu\0")
                        .filter(|_| findings.inspection.target.arch.is_empty())
                    {
                        findings.inspection.target.arch = findings.text(processor)?.into();
                    }
                }
                _ => {}
            }
        }
    }

    fn string_table(&mut self, findings: &mut Findings) -> Result<(), Error> {
        self.stream.enter();
        loop {
            match self.stream.next()? {
                Item::End => return Ok(()),
                Item::Record(STRING_TABLE_BLOB) => {
                    let blob = self.stream.blob;
                    let name = |_: u64, global: &Global, findings: &mut Findings| {
                        let (at, size) = global.name;
                        let name = blob.need(
                            at,
                            size,
                            "bitcode symbol's name lies outside of the table",
                            "name",
                        )?;
                        findings.text(name.bytes()).map(Some)
                    };
                    // Modules that `llvm-cat -b` puts one behind the other have one table for all.
                    for module in std::mem::take(&mut self.unnamed) {
                        add_symbols(&module, name, findings)?;
                    }
                }
                _ => {}
            }
        }
    }
}

/// The value behind a key, to its zero.
fn attribute<'a>(bytes: &'a [u8], key: &[u8]) -> Option<&'a [u8]> {
    // Looked for, not stepped to: attributes of other kinds stand before it, of sizes that are not
    // known here.
    let at = memchr::memmem::find(bytes, key)?;
    let value = bytes.get(at.saturating_add(key.len())..)?;
    value.split(|byte| *byte == 0).next()
}

/// What LLVM's list of features says of an AMD processor: those that its name may demand, and how many work-items a
/// wavefront has.
fn amdgpu_features(features: &[u8], findings: &mut Findings) -> Result<(), Error> {
    let features = findings.text(features)?;
    let mut features: Vec<&str> = features.split(',').collect();
    // Target ids have their features in alphabetical order, and LLVM's list has not.
    features.sort_unstable_by_key(|feature| feature.trim_start_matches(['+', '-']));
    for feature in features {
        match feature {
            "+wavefrontsize32" => findings.detail("wavefront size", 32_u64),
            "+wavefrontsize64" => findings.detail("wavefront size", 64_u64),
            _ => findings.inspection.target.features.extend(amd::demanded(feature)),
        }
    }
    Ok(())
}

/// Where the name of a global value is in the table of strings, and what its record says besides.
fn named(operands: &[u64], version: u64) -> ((u64, u64), &[u64]) {
    match operands {
        [at, size, rest @ ..] if version >= VERSION_WITH_STRING_TABLE => ((*at, *size), rest),
        rest => ((0, 0), rest),
    }
}

/// Adds the symbols of a module, in its order. What `name` has no answer for is left out.
fn add_symbols(
    module: &Module,
    name: impl Fn(u64, &Global, &mut Findings) -> Result<Option<String>, Error>,
    findings: &mut Findings,
) -> Result<(), Error> {
    let annotated = module.annotations.kernels();
    let is_gpu = findings.inspection.target.family().is_nvptx() || is_amdgpu(findings);
    for (number, global) in (0..).zip(&module.globals) {
        let Some(global) = global.as_ref().filter(|global| global.is_shared()) else {
            continue;
        };
        // Memory that the launch brings is nobody's to define.
        if is_gpu && global.is_declaration && global.address_space == GROUP_MEMORY {
            continue;
        }
        let Some(name) = name(number, global, findings)? else {
            continue;
        };
        if global.is_declaration && global.linkage == EXTERN_WEAK {
            findings.weak_import(name);
        } else if global.is_declaration {
            findings.import(name);
        } else if global.is_kernel() || (global.is_function && annotated.contains(&number)) {
            findings.kernel(name);
        } else {
            findings.export(name);
        }
    }
    Ok(())
}

/// Whether the metadata of a module is to be read: its kernels may be named there only.
fn needs_annotations(module: &Module, findings: &Findings) -> bool {
    (findings.inspection.target.family().is_nvptx() && !module.has_kernels) || is_amdgpu(findings)
}

/// Whether the module is for AMDGPU, whose versions of code objects are among the metadata.
fn is_amdgpu(findings: &Findings) -> bool {
    findings.inspection.target.family() == Family::Amdgcn
}

/// Operands that are letters.
fn bytes_of(operands: &[u64]) -> Vec<u8> {
    let letters = operands.iter();
    letters
        .map(|letter| u8::try_from(*letter).unwrap_or(b'?'))
        .collect()
}
