//! One image of a descriptor: its structure, and all that this points to.

use std::collections::HashSet;

use offkit_image::string_keys as keys;
use offkit_image::{Compression, ContainerKind, Error, ErrorKind, ImageFormat, Producer, Target};

use super::entry_points::entry_points;
use super::memory::Memory;
use super::raw::{self, ImageVersion};
use crate::compression::zstd;
use crate::offload_binary::ImageKind;
use crate::part::{Coding, Facts, MoreFacts};
use crate::property_set::{ByteArray, PropertySets, PropertyValue, excerpt, names};
use crate::reading::Reading;
use crate::source::Source;

/// Names of kernels are long, those of templates very long.
const LONGEST_TEXT: u64 = 1 << 20;

/// What mangled names of types begin with. Kernels are called so; no function is.
const TYPE_NAME: &str = "_ZTS";

/// The sets of properties that are read for those who only look for images.
const SETS_WITH_NAMES: [&str; 3] = [
    names::IMPORTED_SYMBOLS,
    names::EXPORTED_SYMBOLS,
    names::DEVICE_REQUIREMENTS,
];

/// The property with the abilities that a device must have.
const ASPECTS: &str = "aspects";

/// Reads images of one program.
pub(super) struct ImageReader<'r, 'data> {
    pub(super) memory: &'r Memory<'data>,
    pub(super) reading: &'r mut Reading,
    pub(super) repeated: &'r mut Repeated<'data>,
}

/// What many images have in common: names of targets and of sets of properties, and all their properties, above all where
/// only those are read by which images are chosen.
#[derive(Default)]
pub(super) struct Repeated<'data> {
    /// Where texts are, and what they are.
    texts: [Option<(u64, &'data str)>; 8],
    next: usize,
    /// The properties of the last image, and what they came to.
    properties: Vec<Property<'data>>,
    sets: PropertySets,
    /// Room for those of the next one.
    room: Vec<Property<'data>>,
}

/// A property as it is in the file, or a set by itself.
#[derive(PartialEq)]
struct Property<'data> {
    set: &'data str,
    name_and_value: Option<(&'data str, Value<'data>)>,
}

#[derive(PartialEq)]
enum Value<'data> {
    U32(u32),
    Bytes { bits: u64, bytes: &'data [u8] },
}

impl From<&Value<'_>> for PropertyValue {
    fn from(value: &Value<'_>) -> Self {
        match *value {
            Value::U32(number) => number.into(),
            // There are as many bytes as the bits need, or it would not have been read.
            Value::Bytes { bits, bytes } => ByteArray::with_bits(bits, bytes)
                .unwrap_or_else(|| ByteArray::new(bytes))
                .into(),
        }
    }
}

impl<'data> Repeated<'data> {
    fn get(&self, address: u64) -> Option<&'data str> {
        let mut texts = self.texts.iter().flatten();
        texts.find(|(at, _)| *at == address).map(|(_, text)| *text)
    }

    fn add(&mut self, address: u64, text: &'data str) {
        let place = self.next.checked_rem(self.texts.len()).unwrap_or_default();
        if let Some(place) = self.texts.get_mut(place) {
            *place = Some((address, text));
        }
        self.next = self.next.wrapping_add(1);
    }
}

/// The code of an image, as it is in the file.
#[derive(Clone, Copy)]
pub(super) struct Code<'data> {
    pub(super) address: u64,
    pub(super) bytes: Source<'data>,
    pub(super) coding: Option<Coding>,
}

impl Code<'_> {
    /// The size after decompression, as far as it is known.
    pub(super) fn size(&self) -> u64 {
        let inflated = self.coding.and_then(|coding| coding.size);
        inflated.unwrap_or(self.bytes.len())
    }
}

impl<'data> ImageReader<'_, 'data> {
    /// The code of the image whose structure is at `address`.
    pub(super) fn code(&self, address: u64, version: ImageVersion) -> Result<Code<'data>, Error> {
        let header = self.header(address)?;
        if header.version != version.number() {
            return Err(
                Error::malformed("SYCL image is not of the version of the first one")
                    .at(self.memory.offset(address))
                    .field("version")
                    .expecting(version.number().to_string())
                    .finding(header.version),
            );
        }
        let (begin, size) = self.range(address, version.code(), 1, "code")?;
        let bytes = self.memory.get(begin, size);
        let bytes = bytes.ok_or_else(|| self.outside(address, "code", begin, size))?;
        Ok(Code {
            address: begin,
            bytes,
            coding: (format_of(header) == raw::FORMAT_ZSTD).then(|| zstd_coding(bytes.bytes())),
        })
    }

    /// What the structure at `address` says about its image.
    pub(super) fn facts(
        &mut self,
        address: u64,
        version: ImageVersion,
        code: Code<'data>,
    ) -> Result<Facts<'data>, Error> {
        let header = self.header(address)?;
        let mut facts = Facts {
            container: Some(ContainerKind::SyclWrapped),
            version: Some(version.number().into()),
            producer: Producer::Sycl,
            ..Facts::default()
        };
        match format_of(header) {
            // Native code is whatever the device takes.
            raw::FORMAT_NONE | raw::FORMAT_NATIVE | raw::FORMAT_ZSTD => {}
            raw::FORMAT_SPIRV => facts.claim = Some(ImageFormat::Spirv),
            raw::FORMAT_BITCODE => facts.claim = Some(ImageFormat::Bitcode),
            other => self.reading.fault(
                Error::malformed("unknown format of a SYCL image")
                    .at(self.memory.offset(address))
                    .field("format")
                    .expecting("0 to 4")
                    .finding(other),
            )?,
        }
        if !raw::KIND_SYCL.contains(&header.offload_kind) {
            self.reading.fault(
                Error::malformed("image of another language among SYCL images")
                    .at(self.memory.offset(address))
                    .field("offload kind")
                    .expecting("4 or 8")
                    .finding(header.offload_kind),
            )?;
        }
        let target = self.text_of(address, ImageVersion::TARGET, "target");
        let target = self.reading.accept(target)?.unwrap_or_default();
        facts.target = Target::new(target, "");
        let is_told = !matches!(format_of(header), raw::FORMAT_NONE | raw::FORMAT_ZSTD);
        // Runtimes look at the first bytes. For names the target's word is enough, and the code stays on the disk.
        if self.reading.names_only() && !is_told && facts.target.family().is_spirv() {
            facts.claim = Some(ImageFormat::Spirv);
        }
        let more = facts.more();
        let compile = Some(ImageVersion::COMPILE_OPTIONS);
        for (key, at) in [
            (keys::COMPILE_OPTIONS, compile),
            (keys::LINK_OPTIONS, version.link_options()),
        ] {
            let Some(at) = at else { continue };
            let options = self.text_of(address, at, key);
            if let Some(options) = self
                .reading
                .accept(options)?
                .filter(|options| !options.is_empty())
            {
                more.strings.set(key, options);
            }
        }
        if let Some(at) = version.property_sets() {
            more.properties = self.property_sets(address, at)?;
        }
        let entries = self.entries(address, version)?;
        let symbols = |set| more.properties.symbols(set).map(str::to_owned).collect();
        more.imports = symbols(names::IMPORTED_SYMBOLS);
        more.exports = symbols(names::EXPORTED_SYMBOLS);
        self.tell_kernels(more, &entries, code.bytes)?;
        let entries = entries.into_iter().filter(|_| !self.reading.names_only());
        more.entries = Some(entries.map(str::to_owned).collect());
        Ok(facts)
    }

    /// The entries are kernels and, before properties told them, exported functions: both are in one table.
    ///
    /// Exports that no property names were written until 2021; SPIR-V says which entries are no kernels, where their
    /// names do not say it.
    fn tell_kernels(
        &mut self,
        more: &mut MoreFacts<'data>,
        entries: &[&str],
        code: Source<'data>,
    ) -> Result<(), Error> {
        // Nearly always, and it costs no look at the code, which stays on the disk.
        if more.exports.is_empty() && entries.iter().all(|name| name.starts_with(TYPE_NAME)) {
            more.kernels = entries.iter().copied().map(str::to_owned).collect();
            return Ok(());
        }
        let exported: HashSet<&str> = more.properties.symbols(names::EXPORTED_SYMBOLS).collect();
        let others: Vec<_> = entries
            .iter()
            .copied()
            .filter(|name| !exported.contains(name))
            .collect();
        let mut kernels = None;
        if !others.iter().all(|name| name.starts_with(TYPE_NAME)) {
            let (found, looked_at) = entry_points(code.bytes());
            // Many images may share their code.
            let counted = self.reading.count_metadata(looked_at).map(|()| found);
            let counted = counted.map_err(|error| error.at(code.at(0)));
            // Of code that is no SPIR-V, or is compressed, there is no telling: all stay kernels.
            kernels = self.reading.accept(counted)?.flatten();
        }
        let (kernels, functions): (Vec<_>, Vec<_>) = others.into_iter().partition(|name| {
            kernels
                .as_ref()
                .is_none_or(|kernels| kernels.contains(name.as_bytes()))
        });
        more.kernels = kernels.into_iter().map(str::to_owned).collect();
        more.exports.extend(functions.into_iter().map(str::to_owned));
        Ok(())
    }

    /// The names in the table of entries.
    fn entries(&mut self, address: u64, version: ImageVersion) -> Result<Vec<&'data str>, Error> {
        let mut names = Vec::new();
        let at = version.entries();
        let range = self.range(address, at, 1, "entries");
        let Some((begin, size)) = self.reading.accept(range)? else {
            return Ok(names);
        };
        if size == 0 {
            return Ok(names);
        }
        let Some(table) = self.memory.get(begin, size) else {
            self.reading
                .fault(self.outside(address, "entries", begin, size))?;
            return Ok(names);
        };
        // Seven old entries are as long as four new ones, so that the size alone does not tell; see `is_new_entry`.
        let (stride, name) = match size {
            _ if size.is_multiple_of(raw::NEW_ENTRY_SIZE) && is_new_entry(table) => {
                (raw::NEW_ENTRY_SIZE, raw::NEW_ENTRY_NAME)
            }
            _ if size.is_multiple_of(raw::OLD_ENTRY_SIZE) => (raw::OLD_ENTRY_SIZE, raw::OLD_ENTRY_NAME),
            _ => {
                self.reading.fault(
                    Error::malformed("table of entries has no whole number of entries")
                        .at(table.at(0))
                        .field("entries")
                        .expecting("a multiple of 32 or 56 bytes")
                        .finding(size),
                )?;
                return Ok(names);
            }
        };
        for entry in elements(begin, size, stride) {
            let text = self
                .reading
                .count_strings(1)
                .and_then(|()| self.pointer(entry, name, "name of an entry"))
                .and_then(|pointer| self.text_at(entry, pointer, "name of an entry"));
            let text = self.reading.accept(text)?;
            names.extend(text.filter(|text| !text.is_empty()));
            if self.reading.is_exhausted() {
                break;
            }
        }
        Ok(names)
    }

    fn property_sets(&mut self, address: u64, at: u64) -> Result<PropertySets, Error> {
        // Read flat and compared with the last image's, as nearly all say the same: then the sets are shared and not
        // made anew.
        let mut properties = std::mem::take(&mut self.repeated.room);
        self.properties(address, at, &mut properties)?;
        if properties != self.repeated.properties {
            self.repeated.sets = in_sets(&properties);
            std::mem::swap(&mut self.repeated.properties, &mut properties);
        }
        properties.clear();
        self.repeated.room = properties;
        Ok(self.repeated.sets.clone())
    }

    /// Reads the properties of all sets.
    fn properties(&mut self, address: u64, at: u64, read: &mut Vec<Property<'data>>) -> Result<(), Error> {
        let range = self.range(address, at, raw::PROPERTY_SET_SIZE, "property sets");
        let Some((begin, size)) = self.reading.accept(range)? else {
            return Ok(());
        };
        let itself = |set| Property {
            set,
            name_and_value: None,
        };
        let mut any = None;
        for address in elements(begin, size, raw::PROPERTY_SET_SIZE) {
            let name = self
                .reading
                .count_properties(1)
                .and_then(|()| self.text_of(address, 0, "name of a property set"));
            if let Some(name) = self.reading.accept(name)? {
                if !self.reading.names_only() {
                    read.push(itself(name));
                    self.properties_of(address, name, read)?;
                } else if SETS_WITH_NAMES.contains(&name) {
                    self.properties_of(address, name, read)?;
                }
                any = Some(name);
            }
            // A pointer that is wrong makes a table of any size. Where it has left the file, none
            // of its elements can be read, and each would be a fault of its own.
            if self.reading.is_exhausted() || self.memory.get(address, 1).is_none() {
                break;
            }
        }
        if read.is_empty() {
            // That there are sets tells that nothing is imported and nothing exported.
            read.extend(any.map(itself));
        }
        Ok(())
    }

    /// Reads the properties of a set, whose structure is at `address`.
    fn properties_of(
        &mut self,
        address: u64,
        set: &'data str,
        read: &mut Vec<Property<'data>>,
    ) -> Result<(), Error> {
        let range = self.range(address, raw::POINTER, raw::PROPERTY_SIZE, "properties");
        let Some((begin, size)) = self.reading.accept(range)? else {
            return Ok(());
        };
        for address in elements(begin, size, raw::PROPERTY_SIZE) {
            let property = self.property(address, set);
            if let Some(name_and_value @ Some(_)) = self.reading.accept(property)? {
                read.push(Property { set, name_and_value });
            }
            if self.reading.is_exhausted() || self.memory.get(address, 1).is_none() {
                break;
            }
        }
        Ok(())
    }

    /// Whether a property is one of those by which an image is found and chosen.
    fn is_wanted(&self, set: &str, name: &str) -> bool {
        !self.reading.names_only() || set != names::DEVICE_REQUIREMENTS || name == ASPECTS
    }

    /// The property at an address; `None` for one that is not wanted.
    fn property(&mut self, address: u64, set: &str) -> Result<Option<(&'data str, Value<'data>)>, Error> {
        self.reading.count_properties(1)?;
        let name = self.text_of(address, 0, "name of a property")?;
        if !self.is_wanted(set, name) {
            return Ok(None);
        }
        let tail_address = address.saturating_add(raw::PROPERTY_TAIL);
        let tail = self
            .memory
            .get(tail_address, size_of::<raw::PropertyTail>() as u64)
            .and_then(|tail| tail.record::<raw::PropertyTail>(0))
            .ok_or_else(|| self.outside(address, "property", address, raw::PROPERTY_SIZE))?;
        let at = self.memory.offset(address);
        let size = tail.size.get();
        let value = match tail.value_type.get() {
            raw::TYPE_U32 => {
                let number = u32::try_from(size).map_err(|_| {
                    Error::malformed("property value does not fit")
                        .at(at)
                        .field("value")
                        .expecting("a number of 32 bits")
                        .finding(size)
                })?;
                Value::U32(number)
            }
            raw::TYPE_BYTES => {
                let value = self.pointer(address, raw::PROPERTY_VALUE, "value")?;
                let bytes = self
                    .memory
                    .get(value, size)
                    .ok_or_else(|| self.outside(address, "property", value, size))?;
                // Only now that it is known to be there: a size that is wrong is a fault of this property alone.
                self.reading.count_metadata(size)?;
                let array = bytes
                    .bytes()
                    .split_first_chunk::<8>()
                    .map(|(bits, bytes)| (u64::from_le_bytes(*bits), bytes))
                    .filter(|(bits, bytes)| bits.div_ceil(8) == bytes.len() as u64);
                let (bits, bytes) = array.ok_or_else(|| {
                    Error::malformed("property value has a wrong size")
                        .at(bytes.at(0))
                        .field("value")
                        .expecting("a 64-bit count of bits, then as many bytes as these need")
                })?;
                Value::Bytes { bits, bytes }
            }
            other => {
                return Err(Error::malformed(format!("bad property type {other}"))
                    .at(at)
                    .field("type")
                    .expecting("1 or 2"));
            }
        };
        Ok(Some((name, value)))
    }

    fn header(&self, address: u64) -> Result<&'data raw::Image, Error> {
        let size = size_of::<raw::Image>() as u64;
        self.memory
            .get(address, size)
            .and_then(|bytes| bytes.record(0))
            .ok_or_else(|| self.outside(address, "image", address, size))
    }

    /// Two pointers, to the beginning and behind the end of elements; where they begin and their size.
    fn range(&self, address: u64, at: u64, element: u64, field: &'static str) -> Result<(u64, u64), Error> {
        let begin = self.pointer(address, at, field)?;
        let end = self.pointer(address, at.saturating_add(raw::POINTER), field)?;
        match end.checked_sub(begin) {
            Some(size) if size.is_multiple_of(element) => Ok((begin, size)),
            _ => Err(
                Error::malformed("SYCL image has a pointer behind the end that is wrong")
                    .at(self.memory.offset(address.saturating_add(at)))
                    .field(field)
                    .expecting(format!("a multiple of {element} bytes from {begin:#x}"))
                    .finding(format_args!("{end:#x}")),
            ),
        }
    }

    fn pointer(&self, address: u64, at: u64, field: &'static str) -> Result<u64, Error> {
        self.memory
            .pointer(address.saturating_add(at))
            .ok_or_else(|| self.outside(address, field, address.saturating_add(at), raw::POINTER))
    }

    /// The text that a pointer points to; none for a null pointer.
    fn text_of(&mut self, address: u64, at: u64, field: &'static str) -> Result<&'data str, Error> {
        let pointer = self.pointer(address, at, field)?;
        if let Some(text) = self.repeated.get(pointer) {
            // It counts as if it were read: what is made of it costs as much again.
            self.reading.count_metadata(text.len() as u64)?;
            return Ok(text);
        }
        let text = self.text_at(address, pointer, field)?;
        self.repeated.add(pointer, text);
        Ok(text)
    }

    /// The text at an address that the structure at `address` has.
    fn text_at(&mut self, address: u64, pointer: u64, field: &'static str) -> Result<&'data str, Error> {
        if pointer == 0 {
            return Ok("");
        }
        let bytes = self
            .memory
            .up_to(pointer, LONGEST_TEXT)
            .ok_or_else(|| self.outside(address, field, pointer, 1))?;
        let length = memchr::memchr(0, bytes.bytes());
        self.reading
            .count_metadata(length.map_or(bytes.len(), |length| length as u64))?;
        let text = length.and_then(|length| bytes.bytes().get(..length));
        let text = text.ok_or_else(|| {
            Error::malformed("text has no end")
                .at(bytes.at(0))
                .field(field)
                .expecting("a zero byte")
        })?;
        std::str::from_utf8(text).map_err(|_| {
            Error::malformed("text is not UTF-8")
                .at(bytes.at(0))
                .field(field)
                .finding(format_args!("'{}'", excerpt(&String::from_utf8_lossy(text))))
        })
    }

    fn outside(&self, address: u64, field: &'static str, target: u64, size: u64) -> Error {
        Error::new(ErrorKind::OutOfBounds, "SYCL image points outside of the file")
            .at(self.memory.offset(address))
            .field(field)
            .finding(format_args!("{size:#x} bytes at address {target:#x}"))
    }
}

/// The sets of properties; of a repeated name the last value counts.
fn in_sets(properties: &[Property<'_>]) -> PropertySets {
    let mut sets = PropertySets::new();
    // A set is looked up once for all its properties, which come one behind the other.
    for properties in properties.chunk_by(|one, next| one.set == next.set) {
        let Some(Property { set, .. }) = properties.first() else {
            continue;
        };
        let set = sets.set_mut(*set);
        for (name, value) in properties
            .iter()
            .filter_map(|property| property.name_and_value.as_ref())
        {
            set.insert(*name, value);
        }
    }
    sets
}

/// The addresses of elements that follow each other.
fn elements(begin: u64, size: u64, stride: u64) -> impl Iterator<Item = u64> {
    let count = size.checked_div(stride).unwrap_or_default();
    (0..count).map(move |number| begin.saturating_add(number.saturating_mul(stride)))
}

/// Whether a table begins with an entry as LLVM has them since 20; an older one has a pointer to its name where
/// these have version and kind.
fn is_new_entry(table: Source<'_>) -> bool {
    table.record::<raw::NewEntry>(0).is_some_and(|entry| {
        entry.reserved == 0
            && entry.version == 1
            && raw::KIND_SYCL.iter().any(|kind| entry.kind == u16::from(*kind))
    })
}

/// The format as DPC++ counts; LLVM, which has another number for SYCL too, counts as offload binaries do.
fn format_of(header: &raw::Image) -> u8 {
    if header.offload_kind == raw::KIND_DPCPP {
        return header.format;
    }
    match ImageKind(header.format.into()) {
        ImageKind::SPIRV => raw::FORMAT_SPIRV,
        ImageKind::BITCODE => raw::FORMAT_BITCODE,
        ImageKind::OBJECT => raw::FORMAT_NATIVE,
        // No kind of LLVM's: it stays as it is, and is reported with the image's facts.
        ImageKind(8..) => header.format,
        _ => raw::FORMAT_NONE,
    }
}

fn zstd_coding(bytes: &[u8]) -> Coding {
    Coding {
        compression: Compression::Zstd,
        size: zstd::content_size(bytes),
    }
}
