//! Version 2: an offload binary whose entries are the parts, told apart by their string `role`.

use std::collections::BTreeMap;

use offkit_image::property_set::PropertySets;
use offkit_image::{BundleState, Bytes, Error, Strings};

use super::{AbstractModule, IrModule, NativeImage, SyclBin, metadata};
use crate::chunks::Chunks;
use crate::offload_binary::{
    Found, ImageKind, OffloadBinaryVersion, OffloadEntry, OffloadKind, Pending, write_pending,
};
use crate::reading::Reading;
use crate::source::Source;

const ROLE: &str = "role";
const GLOBAL: &str = "global_metadata";
const MODULE: &str = "am_metadata";
const IR: &str = "ir";
const NATIVE: &str = "native";

const MODULE_INDEX: &str = "am_index";
const IR_TYPE: &str = "ir_type";
const TRIPLE: &str = "triple";
const ARCH: &str = "arch";

const FORMAT_VERSION: &str = "sycl_format_version";
const VERSION: &str = "2";

/// All strings that the format gives a meaning.
pub(crate) const OWN_STRINGS: [&str; 6] = [ROLE, MODULE_INDEX, IR_TYPE, TRIPLE, ARCH, FORMAT_VERSION];

/// What was found so far of an abstract module, whose entries may come in any order.
#[derive(Default)]
struct Partial<'data> {
    properties: Option<PropertySets>,
    ir_modules: Vec<IrModule<'data>>,
    native_images: Vec<NativeImage<'data>>,
}

/// What was found so far of the file.
#[derive(Default)]
struct Parts<'data> {
    global: Option<(BundleState, PropertySets)>,
    modules: BTreeMap<usize, Partial<'data>>,
}

pub(super) fn read<'data>(found: &Found<'data>, reading: &mut Reading) -> Result<SyclBin<'data>, Error> {
    let entries = &found.binary.entries;
    let mut parts = Parts::default();
    for (index, entry) in entries.iter().enumerate() {
        let image = found.source.locate(&entry.image);
        let result = parts.add(entry, image, entries.len(), reading);
        reading.accept(result.map_err(|error| error.or_at(image.at(0)).within(format!("entry {index}"))))?;
    }
    let global = parts
        .global
        .ok_or_else(|| Error::malformed("SYCLBIN v2 missing global_metadata entry").at(found.source.at(0)));
    let (state, properties) = reading
        .accept(global)?
        .unwrap_or((BundleState::Input, PropertySets::new()));
    let mut program = SyclBin {
        state,
        properties,
        modules: Vec::new(),
    };
    for (index, partial) in parts.modules {
        let position = program.modules.len();
        // By index, so that the first module which is not at its place shows what is missing.
        let missing = if index != position {
            Some(position)
        } else {
            partial.properties.is_none().then_some(index)
        };
        if let Some(missing) = missing {
            reading.fault(
                Error::malformed(format!("SYCLBIN v2 missing am_metadata for am_index {missing}"))
                    .at(found.source.at(0))
                    .expecting("an entry for every index from 0 on"),
            )?;
        }
        program.modules.push(AbstractModule {
            properties: partial.properties.unwrap_or_default(),
            ir_modules: partial.ir_modules,
            native_images: partial.native_images,
        });
    }
    Ok(program)
}

impl<'data> Parts<'data> {
    fn add(
        &mut self,
        entry: &OffloadEntry<'data>,
        image: Source<'data>,
        entry_count: usize,
        reading: &mut Reading,
    ) -> Result<(), Error> {
        if entry.image_kind != ImageKind::SYCLBIN {
            return Err(Error::malformed("SYCLBIN v2 entry has unexpected ImageKind")
                .expecting(ImageKind::SYCLBIN.0.to_string())
                .finding(entry.image_kind.0));
        }
        match entry.strings.get(ROLE).unwrap_or_default() {
            GLOBAL => self.add_global(entry, image, reading),
            MODULE => {
                let index = module_index(entry, entry_count)?;
                let partial = self.modules.entry(index).or_default();
                if partial.properties.is_some() {
                    return Err(Error::malformed(format!(
                        "SYCLBIN v2 has duplicate am_metadata for am_index {index}"
                    )));
                }
                partial.properties = Some(metadata::read_module(image, reading)?);
                Ok(())
            }
            IR => {
                let index = module_index(entry, entry_count)?;
                let (text, bytes) = split(image)?;
                let module = metadata::read_ir(text, reading)?;
                let module = IrModule {
                    bytes: bytes.into(),
                    ..module
                };
                self.modules.entry(index).or_default().ir_modules.push(module);
                Ok(())
            }
            NATIVE => {
                let index = module_index(entry, entry_count)?;
                let (text, bytes) = split(image)?;
                let native = metadata::read_native(text, reading)?;
                let native = NativeImage {
                    bytes: bytes.into(),
                    ..native
                };
                self.modules.entry(index).or_default().native_images.push(native);
                Ok(())
            }
            other => Err(Error::malformed(format!(
                "SYCLBIN v2 entry has unknown role '{}'",
                other.escape_debug()
            ))
            .expecting(format!("{GLOBAL}, {MODULE}, {IR} or {NATIVE}"))),
        }
    }

    fn add_global(
        &mut self,
        entry: &OffloadEntry<'_>,
        text: Source<'_>,
        reading: &mut Reading,
    ) -> Result<(), Error> {
        if self.global.is_some() {
            return Err(Error::malformed(
                "SYCLBIN v2 has multiple global_metadata entries",
            ));
        }
        let version = entry.strings.get(FORMAT_VERSION).unwrap_or_default();
        // A fault, but no reason to stop: the parts of a later version may be read as far as they
        // are known. Files without this string are of version 2.
        if !version.is_empty() && version != VERSION {
            let version = version.escape_debug();
            reading.fault(
                Error::unsupported(format!(
                    "Unsupported sycl_format_version '{version}' (this reader supports v2)"
                ))
                .at(text.at(0)),
            )?;
        }
        self.global = Some(metadata::read_global(text, reading)?);
        Ok(())
    }
}

/// The abstract module that an entry belongs to.
fn module_index(entry: &OffloadEntry<'_>, entry_count: usize) -> Result<usize, Error> {
    let text = entry.strings.get(MODULE_INDEX).unwrap_or_default();
    // `parse` would take a sign as well.
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let index = text.parse::<usize>().ok().filter(|_| digits).ok_or_else(|| {
        Error::malformed(format!("SYCLBIN v2 invalid am_index '{}'", text.escape_debug()))
            .expecting("a decimal number")
    })?;
    // Every index needs an entry, so that this bounds the number of modules.
    if index >= entry_count {
        return Err(Error::malformed(format!(
            "SYCLBIN v2 am_index {index} is out of range (entries={entry_count})"
        )));
    }
    Ok(index)
}

/// The numbers of the entries that have images: by module, IR first, else in the order of the file.
pub(super) fn image_entries(found: &Found<'_>) -> Result<Vec<usize>, Error> {
    let entries = &found.binary.entries;
    let mut images = Vec::new();
    for (number, entry) in entries.iter().enumerate() {
        let role = entry.strings.get(ROLE).unwrap_or_default();
        if role == IR || role == NATIVE {
            images.push((module_index(entry, entries.len())?, role == NATIVE, number));
        }
    }
    // IR first, as `false` comes before `true`; then in the order of the file.
    images.sort_unstable();
    Ok(images.into_iter().map(|(_, _, number)| number).collect())
}

/// The metadata text and the bytes of an IR or native entry.
pub(super) fn split(image: Source<'_>) -> Result<(Source<'_>, &[u8]), Error> {
    let Some((size, rest)) = image.bytes().split_first_chunk::<8>() else {
        return Err(Error::malformed("SYCLBIN v2 entry image too small")
            .expecting("at least 0x8 bytes")
            .finding(format_args!("{:#x}", image.len())));
    };
    let size = u64::from_le_bytes(*size);
    let rest = image.locate(rest);
    let text = rest.need(0, size, "SYCLBIN v2 entry metadata size out of range", "metadata")?;
    Ok((text, rest.from(size).bytes()))
}

/// The bytes of an entry with metadata and an image.
fn join<'data>(text: &str, bytes: &Bytes<'data>) -> Chunks<'data> {
    let mut joined = Chunks::new();
    joined.copy(&(text.len() as u64).to_le_bytes());
    joined.copy(text.as_bytes());
    joined.push(bytes.clone());
    joined
}

/// The strings of an entry.
fn strings<const COUNT: usize>(
    role: &'static str,
    others: [(&'static str, String); COUNT],
) -> Strings<'static> {
    let mut strings = Strings::new();
    strings.set(FORMAT_VERSION, VERSION);
    strings.set(ROLE, role);
    for (key, value) in others {
        strings.set(key, value);
    }
    strings
}

pub(super) fn write<'data>(program: &SyclBin<'data>) -> Result<Chunks<'data>, Error> {
    let mut entries = Vec::new();
    let mut add = |strings, image| entries.push((strings, image));
    let global = metadata::write_global(program)?.into_bytes();
    add(strings(GLOBAL, []), Chunks::from(Bytes::from(global)));
    for (index, module) in program.modules.iter().enumerate() {
        let within = |error: Error| error.within(format!("abstract module {index}"));
        let index = || (MODULE_INDEX, index.to_string());
        let text = metadata::write_module(module).map_err(within)?.into_bytes();
        add(strings(MODULE, [index()]), Chunks::from(Bytes::from(text)));
        for ir in &module.ir_modules {
            let text = metadata::write_ir(ir).map_err(within)?;
            let ir_type = (IR_TYPE, ir.ir_type.0.to_string());
            let triple = (TRIPLE, ir.target.clone());
            add(strings(IR, [index(), ir_type, triple]), join(&text, &ir.bytes));
        }
        for native in &module.native_images {
            let text = metadata::write_native(native).map_err(within)?;
            let arch = (ARCH, native.arch.clone());
            let triple = (TRIPLE, native.target.clone());
            add(
                strings(NATIVE, [index(), arch, triple]),
                join(&text, &native.bytes),
            );
        }
    }
    // `Pending` borrows the strings: they need a place of their own before the first one is made.
    let (strings, images): (Vec<_>, Vec<_>) = entries.into_iter().unzip();
    let entries = strings.iter().zip(images).map(|(strings, image)| Pending {
        image_kind: ImageKind::SYCLBIN,
        offload_kind: OffloadKind::SYCL,
        flags: 0,
        strings,
        image,
    });
    write_pending(entries.collect(), OffloadBinaryVersion::V2)
}
