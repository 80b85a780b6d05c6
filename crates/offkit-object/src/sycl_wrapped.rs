//! SYCL device images that a linked program registers: DPC++'s descriptors.
//!
//! A program with SYCL code calls `__sycl_register_lib` before `main`, with a pointer to a descriptor for each
//! step in which device code was linked. The descriptor leads to images, these to code, names of kernels and
//! properties. No symbol and no section says where descriptors are, and every pointer is made by a relocation,
//! so that they are found as a loader would find them: by the words that relocations change. Written by DPC++'s
//! `clang-offload-wrapper` and `clang-linker-wrapper` (versions 1 to 3 of the images) and by LLVM's
//! `clang-linker-wrapper` since 22 (version 3).

mod entry_points;
mod image;
mod memory;
pub(crate) mod raw;
mod relocations;
#[cfg(feature = "write")]
mod remove;
pub(crate) mod tables;
mod windows;

use std::collections::{BTreeMap, HashSet};

use offkit_image::PartName as Name;
use offkit_image::{ContainerKind, Error, ErrorKind, Limits, offset_within};

use crate::chunks::Chunks;
use crate::format::{ContainerFormat, Standing};
use crate::offload_binary;
use crate::part::{Content, Part, Visit};
use crate::reading::Reading;
use crate::source::Source;
use image::{Code, ImageReader, Repeated};
pub use memory::AddressSpace;
use memory::Memory;
use raw::ImageVersion;
#[cfg(feature = "write")]
pub(crate) use remove::remove;

/// The first part of every location.
const SYCL: &str = "sycl";

/// SYCL images as a linked program registers them. The program is the container, and says that they are there.
pub(crate) static FORMAT: ContainerFormat = ContainerFormat {
    kind: ContainerKind::SyclWrapped,
    standing: Standing::Named,
    parts,
    replace: |source, id, new, limits| replace(source, id, &new.joined(), limits).map(Chunks::from),
    ..ContainerFormat::USUAL
};

/// Hands over the images of every descriptor of an ELF or PE file: `sycl/N/M` is image M of descriptor N, counted by
/// address.
///
/// Files without descriptors, and those of another kind, have none.
pub(crate) fn parts<'data>(
    source: Source<'data>,
    reading: &mut Reading,
    visit: Visit<'_, 'data>,
) -> Result<(), Error> {
    let Some(memory) = Memory::of(source, reading)? else {
        return Ok(());
    };
    let found = descriptors(&memory).into_iter().enumerate();
    let codes = images(&memory, found, reading, visit)?;
    match reading.names_only() || reading.is_exhausted() {
        true => Ok(()),
        false => compare_with_list(&memory, codes, reading),
    }
}

/// Hands over the images of a descriptor in a program that runs, which is the one with that number.
pub(crate) fn parts_of_descriptor<'data>(
    running: &'data dyn AddressSpace,
    address: u64,
    number: usize,
    reading: &mut Reading,
    visit: Visit<'_, 'data>,
) -> Result<(), Error> {
    let memory = Memory::of_program(Some(running));
    let header = memory.get(address, size_of::<raw::Descriptor>() as u64);
    let header = header.and_then(|header| header.record::<raw::Descriptor>(0));
    let header = header.filter(|header| header.version.get() == 1).ok_or_else(|| {
        Error::malformed("no descriptor of SYCL images")
            .at(address)
            .field("version")
            .expecting("1")
    })?;
    let image_count = header.image_count.get();
    let images_at = memory.pointer(address.saturating_add(raw::DESCRIPTOR_IMAGES));
    let images_at = images_at.unwrap_or_default();
    let Some(first) = memory.get(images_at, size_of::<raw::Image>() as u64) else {
        return Ok(());
    };
    let version = first.record::<raw::Image>(0).map(|image| image.version.get());
    let version = version.and_then(ImageVersion::from_number).ok_or_else(|| {
        Error::malformed("SYCL image of an unknown version")
            .at(images_at)
            .field("version")
            .expecting("1, 2 or 3")
            .finding(version.unwrap_or_default())
    })?;
    let descriptor = Descriptor {
        address,
        version,
        images: images_at,
        image_count,
    };
    images(&memory, [(number, descriptor)], reading, visit).map(|_| ())
}

/// Hands over the images of descriptors with their numbers; where their code is.
fn images<'data>(
    memory: &Memory<'data>,
    descriptors: impl IntoIterator<Item = (usize, Descriptor)>,
    reading: &mut Reading,
    visit: Visit<'_, 'data>,
) -> Result<Vec<Code<'data>>, Error> {
    let mut codes = Vec::new();
    let mut repeated = Repeated::default();
    let mut id = 0_usize;
    for (number, descriptor) in descriptors {
        for image in 0..descriptor.image_count {
            let address = descriptor.image_address(image.into());
            let mut reader = ImageReader {
                memory,
                reading,
                repeated: &mut repeated,
            };
            let read = reader.reading.count_image().and_then(|()| {
                let code = reader.code(address, descriptor.version)?;
                // Before the facts: where the code is holds even if the rest of the image is
                // damaged, and the list of images has it.
                codes.push(code);
                let facts = reader.facts(address, descriptor.version, code)?;
                let name = Name::Numbered(SYCL, [number, image.into()]);
                let part = Part::new(id, name, code.bytes, Content::Image);
                Ok(Part {
                    coding: code.coding,
                    facts,
                    ..part
                })
            });
            // Before anything can go wrong, so that a fault in one image changes the identifier of no other.
            id = id.saturating_add(1);
            let read = read.map_err(|error| error.or_at(memory.offset(address)));
            if let Some(part) = reading.accept(read)? {
                visit(reading, part);
            }
            if reading.is_exhausted() {
                return Ok(codes);
            }
            if memory.get(address, 1).is_none() {
                // So are all that follow.
                break;
            }
        }
    }
    Ok(codes)
}

/// Where the code is that the descriptors of a file lead to.
pub(crate) struct Registered {
    places: HashSet<(u64, u64)>,
}

impl Registered {
    pub(crate) fn of(source: Source<'_>, reading: &mut Reading) -> Self {
        // What is wrong is found when the parts are read: here it is of no interest.
        let mut quiet = reading.again();
        let places = places(source, &mut quiet);
        reading.spend(&quiet);
        Self { places }
    }

    /// Whether every image of the offload binaries in a section of the file is one of these.
    pub(crate) fn has_all_of(&self, section: Source<'_>, reading: &mut Reading) -> bool {
        // Most files have no descriptors: their sections need not be read for this.
        if self.places.is_empty() {
            return false;
        }
        let mut quiet = reading.again();
        let binaries = offload_binary::read_all(section, &mut quiet);
        reading.spend(&quiet);
        let Ok(binaries) = binaries else {
            return false;
        };
        // By place, not by content: images may be equal and registered only once.
        let mut images = binaries.iter().flat_map(|found| &found.binary.entries);
        images.all(|entry| {
            let offset = offset_within(section.bytes(), &entry.image);
            offset.is_some_and(|offset| {
                let place = (section.at(offset), entry.image.len() as u64);
                self.places.contains(&place)
            })
        })
    }
}

/// Offset and size of the code of every image.
fn places(source: Source<'_>, reading: &mut Reading) -> HashSet<(u64, u64)> {
    let Ok(Some(memory)) = Memory::of(source, reading) else {
        return HashSet::new();
    };
    let mut places = HashSet::new();
    for descriptor in descriptors(&memory) {
        for image in 0..u64::from(descriptor.image_count) {
            let reader = ImageReader {
                memory: &memory,
                reading,
                repeated: &mut Repeated::default(),
            };
            let Ok(code) = reader.code(descriptor.image_address(image), descriptor.version) else {
                break;
            };
            places.insert((code.bytes.at(0), code.bytes.len()));
        }
    }
    places
}

/// The file with the code of the image `id` replaced by `new`, which must be as large.
///
/// Addresses in a linked program cannot move, and whoever wrote it may have stored the size elsewhere, too.
pub(crate) fn replace(source: Source<'_>, id: usize, new: &[u8], limits: &Limits) -> Result<Vec<u8>, Error> {
    let mut wanted = None;
    let mut ranges = Vec::new();
    parts(source, &mut Reading::tolerant(limits), &mut |_, part| {
        let start = part.stored.at(0).saturating_sub(source.at(0));
        let range = start..start.saturating_add(part.stored.len());
        if part.id == id {
            wanted = Some((range, part.coding));
        } else {
            ranges.push(range);
        }
    })?;
    let (range, coding) = wanted.ok_or_else(|| Error::malformed("the program has no such image"))?;
    let refused = |message| Error::unrepresentable(message).at(source.at(range.start));
    let old = range.end.saturating_sub(range.start);
    if coding.is_some() {
        return Err(refused(
            "a compressed image in a linked program cannot be replaced",
        ));
    }
    if new.len() as u64 != old {
        let message = "an image in a linked program can only be replaced by one of the same size";
        return Err(refused(message)
            .expecting(format!("{old:#x} bytes"))
            .finding(format_args!("{:#x}", new.len())));
    }
    if ranges
        .iter()
        .any(|other| other.start < range.end && range.start < other.end)
    {
        return Err(refused("the image shares its bytes with another one"));
    }
    let end = source.from(range.end).bytes();
    let start = source.get(0, range.start).map(Source::bytes).unwrap_or_default();
    Ok([start, new, end].concat())
}

/// A descriptor that was found.
struct Descriptor {
    address: u64,
    version: ImageVersion,
    images: u64,
    image_count: u16,
}

impl Descriptor {
    /// Where the structure of an image is; the largest address when there is no such address.
    fn image_address(&self, number: u64) -> u64 {
        self.images
            .saturating_add(number.saturating_mul(self.version.size()))
    }
}

/// All descriptors, by address.
fn descriptors(memory: &Memory<'_>) -> Vec<Descriptor> {
    let mut found = Vec::new();
    // Images belong to one descriptor. Without this, small files could have huge numbers of them.
    let mut taken = BTreeMap::new();
    for address in memory.before_pointers(is_descriptor_header) {
        let Some(descriptor) = descriptor_at(memory, address) else {
            continue;
        };
        let begin = descriptor.images;
        let end = descriptor.image_address(descriptor.image_count.into());
        let before = taken.range(..end).next_back();
        if before.is_none_or(|(_, end)| *end <= begin) {
            taken.insert(begin, end);
            found.push(descriptor);
        }
    }
    found
}

/// Whether a word may be what a descriptor begins with: version 1, a number of images, zeros.
fn is_descriptor_header(word: u64) -> bool {
    let [version, images, ..] = word
        .to_le_bytes()
        .as_chunks::<2>()
        .0
        .try_into()
        .map_or([0; 4], |words: [[u8; 2]; 4]| words.map(u16::from_le_bytes));
    version == 1 && images != 0 && word >> 32 == 0
}

/// The descriptor at an address, if what is there can be nothing else.
///
/// Everything it points to is looked at, and the first image must be one.
fn descriptor_at(memory: &Memory<'_>, address: u64) -> Option<Descriptor> {
    let header = memory.get(address, size_of::<raw::Descriptor>() as u64)?;
    let header = header.record::<raw::Descriptor>(0)?;
    let images = memory.pointer(address.checked_add(raw::DESCRIPTOR_IMAGES)?)?;
    let host_entries = address.checked_add(raw::DESCRIPTOR_HOST_ENTRIES)?;
    let begin = memory.pointer(host_entries)?;
    let end = memory.pointer(host_entries.checked_add(raw::POINTER)?)?;
    // Null in all that is known; a table that lies in the program is no reason to doubt.
    let has_host_entries = || memory.get(begin, end.checked_sub(begin)?);
    if (begin, end) != (0, 0) && has_host_entries().is_none() {
        return None;
    }
    let first = memory.get(images, size_of::<raw::Image>() as u64)?;
    let first = first.record::<raw::Image>(0)?;
    let version = ImageVersion::from_number(first.version.get())?;
    // Ordinary data may be a 1, a small number and zeros. Each of these holds for all that
    // compilers write, and for other words only now and then.
    if !images.is_multiple_of(raw::POINTER)
        || !raw::KIND_SYCL.contains(&first.offload_kind)
        || first.padding != 0
    {
        return None;
    }
    let target = memory.pointer(images.checked_add(ImageVersion::TARGET)?)?;
    const LONGEST_TARGET: u64 = 256;
    let target = memory.up_to(target, LONGEST_TARGET)?.bytes();
    let target = target.get(..memchr::memchr(0, target)?)?;
    let is_name = !target.is_empty() && target.iter().all(u8::is_ascii_graphic);
    is_name.then_some(Descriptor {
        address,
        version,
        images,
        image_count: header.image_count.get(),
    })
}

/// Holds what was found against the section that lists address and size of every image.
fn compare_with_list(memory: &Memory<'_>, codes: Vec<Code<'_>>, reading: &mut Reading) -> Result<(), Error> {
    const ITEM_SIZE: u64 = 16;
    let Some(&(first, _)) = memory.image_lists().first() else {
        return Ok(());
    };
    let field = ".tgtimg";
    let mut listed = Vec::new();
    // Sections that share bytes would list more than the file has room for.
    let mut left = memory.file_size();
    for &(address, size) in memory.image_lists() {
        let is_inside = memory.get(address, size).is_some();
        let Some(rest) = left.checked_sub(size).filter(|_| is_inside) else {
            return reading.fault(
                Error::new(ErrorKind::OutOfBounds, "list of images is outside of the file")
                    .field(field)
                    .finding(format_args!("{size:#x} bytes at address {address:#x}")),
            );
        };
        left = rest;
        for number in 0..size / ITEM_SIZE {
            let item = address.saturating_add(number.saturating_mul(ITEM_SIZE));
            let size = memory.pointer(item.saturating_add(raw::POINTER));
            let row = (memory.pointer(item).unwrap_or_default(), size.unwrap_or_default());
            // Of images that were left out.
            if row != (0, 0) {
                listed.push(row);
            }
        }
    }
    // Of a compressed image it is the size before compression that is listed.
    let sizes = codes.iter().map(|code| (code.address, code.size()));
    let mut found: Vec<_> = sizes.collect();
    found.sort_unstable();
    listed.sort_unstable();
    if found == listed {
        return Ok(());
    }
    let missing = first_only_in(&listed, &found);
    let extra = first_only_in(&found, &listed);
    let describe = |image: Option<(u64, u64)>| match image {
        Some((address, size)) => format!("{size:#x} bytes at address {address:#x}"),
        None => "none".to_owned(),
    };
    reading.fault(
        Error::malformed("list of images is not what the descriptors have")
            .at(memory.offset(first))
            .field(field)
            .expecting(format!(
                "{} images; first that is not listed: {}",
                found.len(),
                describe(extra)
            ))
            .finding(format_args!(
                "{}; first without a descriptor: {}",
                listed.len(),
                describe(missing)
            )),
    )
}

/// The first of `these` that is not among `others`; both are sorted.
fn first_only_in(these: &[(u64, u64)], others: &[(u64, u64)]) -> Option<(u64, u64)> {
    let mut others = others.iter().peekable();
    these.iter().copied().find(|image| {
        while others.next_if(|other| *other < image).is_some() {}
        others.next_if(|other| *other == image).is_none()
    })
}
