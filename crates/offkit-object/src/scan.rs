//! Device code in bytes that nothing says to be device code: in a program's constants, say.
//!
//! What begins like device code must have a header that holds together, and it says where the code ends. So no ordinary
//! data is taken for code, and what is inside of something that was found is not found again.

use std::ops::Range;

use memchr::memmem::Finder;
use offkit_image::target::nvidia::Processor;
use offkit_image::{ContainerKind, Error, ErrorKind, ImageFormat, PartName as Name};

use crate::part::{Content, Part, Visit};
use crate::reading::Reading;
use crate::source::Source;
use crate::{bundle, elf, fatbin, offload_binary};

/// The first part of every location.
const SCAN: &str = "scan";

/// The identifier of every part.
pub(crate) const FOUND: usize = usize::MAX;

/// So many bytes are looked at for everything before the next ones are.
const WINDOW: u64 = 1 << 20;

/// Something that device code may begin with; LTO-IR is only ever in fatbins.
struct Kind {
    magic: &'static [u8],
    content: Content,
    /// The bytes that it takes, if this is one.
    extent: fn(Source<'_>, &mut Budget) -> Option<u64>,
}

/// How many bytes may still be looked at to find where device code ends. What is device code is passed over as a whole;
/// what only begins like it could otherwise be made to be looked at again from each of many beginnings.
struct Budget(u64);

impl Budget {
    /// As much as the whole source a few times, for what is found, and for what is not.
    fn of(source: Source<'_>) -> Self {
        const FREE: u64 = 1 << 20;
        const TIMES: u64 = 4;
        Self(source.len().saturating_mul(TIMES).saturating_add(FREE))
    }

    /// Counts bytes that are to be looked at; `None` when they are too many.
    fn spend(&mut self, bytes: u64) -> Option<()> {
        let left = self.0.checked_sub(bytes);
        self.0 = left.unwrap_or_default();
        left.map(|_| ())
    }

    fn is_spent(&self) -> bool {
        self.0 == 0
    }
}

static KINDS: [Kind; 7] = [
    Kind {
        magic: &fatbin::MAGIC,
        content: Content::Container(ContainerKind::Fatbin),
        extent: |rest, _| fatbin::extent(rest),
    },
    Kind {
        magic: &offload_binary::MAGIC,
        content: Content::Entry,
        extent: |rest, _| offload_binary::extent(rest),
    },
    Kind {
        magic: &bundle::MAGIC,
        content: Content::Container(ContainerKind::Bundle),
        extent: bundled,
    },
    Kind {
        magic: b"CCOB",
        content: Content::Container(ContainerKind::Bundle),
        extent: bundled,
    },
    Kind {
        magic: b"\x7fELF",
        content: Content::Image,
        extent: device_elf,
    },
    Kind {
        magic: &[0x03, 0x02, 0x23, 0x07],
        content: Content::Image,
        extent: spirv,
    },
    Kind {
        magic: b".version ",
        content: Content::Image,
        extent: ptx,
    },
];

/// Hands over the device code that is outside of all `known` ranges of the source: `scan/0x1f40` is at that offset of it.
pub(crate) fn parts<'data>(
    source: Source<'data>,
    mut known: Vec<Range<u64>>,
    reading: &mut Reading,
    visit: Visit<'_, 'data>,
) -> Result<(), Error> {
    known.sort_by_key(|range| range.start);
    // The gap behind the last known range ends where the source does.
    known.push(source.len()..u64::MAX);
    let finders = KINDS.each_ref().map(|kind| Finder::new(kind.magic));
    let mut budget = Budget::of(source);
    let mut position = 0;
    for range in known {
        let gap = position..range.start.min(source.len());
        let result = scan_gap(source, gap, &finders, &mut budget, reading, visit);
        position = position.max(range.end);
        if reading.accept(result)?.is_none() || reading.is_exhausted() {
            break;
        }
    }
    Ok(())
}

fn scan_gap<'data>(
    source: Source<'data>,
    gap: Range<u64>,
    finders: &[Finder<'_>; 7],
    budget: &mut Budget,
    reading: &mut Reading,
    visit: Visit<'_, 'data>,
) -> Result<(), Error> {
    /// A magic that goes over the end of a window is found in it.
    // The longest, that of bundles, has 24 bytes.
    const OVERLAP: u64 = 32;
    let mut position = gap.start;
    while position < gap.end {
        let end = gap.end.min(position.saturating_add(WINDOW));
        let size = gap.end.min(end.saturating_add(OVERLAP)).saturating_sub(position);
        let Some(window) = source.get(position, size) else {
            return Ok(());
        };
        let mut found: Vec<(u64, &Kind)> = Vec::new();
        for (finder, kind) in finders.iter().zip(&KINDS) {
            // A window for all kinds before the next: what one of them covers behind the window is not searched at all.
            let places = finder.find_iter(window.bytes());
            let places = places.map(|at| position.saturating_add(at as u64));
            found.extend(places.filter(|at| *at < end).map(|at| (at, kind)));
        }
        found.sort_by_key(|(at, _)| *at);
        let mut behind = position;
        for (at, kind) in found {
            // Inside of what was found; that container's own reader goes into it.
            if at < behind {
                continue;
            }
            let rest = source.get(at, gap.end.saturating_sub(at));
            let whole = rest.and_then(|rest| rest.get(0, (kind.extent)(rest, budget)?));
            // An error, not the end: silence would say that there is no more device code.
            if budget.is_spent() {
                return Err(Error::new(
                    ErrorKind::LimitExceeded,
                    "too much begins like device code: what follows was not searched for it",
                )
                .at(source.at(at)));
            }
            let Some(whole) = whole else {
                continue;
            };
            reading.count_image().map_err(|error| error.at(source.at(at)))?;
            let name = Name::Path(vec![SCAN.to_owned(), format!("{at:#x}")]);
            visit(reading, Part::new(FOUND, name, whole, kind.content));
            if reading.is_exhausted() {
                return Ok(());
            }
            behind = at.saturating_add(whole.len());
        }
        position = end.max(behind);
    }
    Ok(())
}

/// A bundle of many entries is a long table, and so is one of long IDs.
fn bundled(rest: Source<'_>, budget: &mut Budget) -> Option<u64> {
    const COUNT: u64 = 24;
    const LEAST_ENTRY: u64 = 24;
    const ID_SIZE: u64 = 16;
    let number = |at: u64| Some(u64::from_le_bytes(*rest.get(at, 8)?.bytes().first_chunk()?));
    if rest.bytes().starts_with(&bundle::MAGIC) {
        let count = number(COUNT)?;
        if count.saturating_mul(LEAST_ENTRY) > rest.len() {
            return None;
        }
        let mut entry = COUNT.saturating_add(8);
        for _ in 0..count {
            let id_size = number(entry.saturating_add(ID_SIZE))?;
            let size = LEAST_ENTRY.saturating_add(id_size);
            // One that is said to be longer than the file costs nothing.
            rest.get(entry, size)?;
            budget.spend(size)?;
            entry = entry.saturating_add(size);
        }
    }
    bundle::extent(rest)
}

/// An ELF file for a device.
fn device_elf(rest: Source<'_>, budget: &mut Budget) -> Option<u64> {
    match ImageFormat::detect(rest.bytes()) {
        ImageFormat::Cubin | ImageFormat::Amdgpu | ImageFormat::Zebin => {}
        _ => return None,
    }
    // The version of the format: whatever else begins with these bytes has no 1 there.
    (rest.bytes().get(6) == Some(&1)).then_some(())?;
    budget.spend(elf::size_of_tables(rest)?)?;
    elf::extent(rest)
}

/// A SPIR-V module with at least one function; it ends behind the last.
fn spirv(rest: Source<'_>, budget: &mut Budget) -> Option<u64> {
    const HEADER_WORDS: usize = 5;
    // The limit of IDs that SPIR-V itself sets.
    const MOST_IDS: u32 = 0x3f_ffff;
    const LAST_OPCODE: u16 = 7000;
    const CAPABILITY: u16 = 17;
    const MEMORY_MODEL: u16 = 14;
    const FUNCTION: u16 = 54;
    const FUNCTION_END: u16 = 56;
    /// Lines may stand between functions.
    const LINES: [u16; 2] = [8, 317];
    let (words, _) = rest.bytes().as_chunks::<4>();
    let word = |at: usize| words.get(at).map(|word| u32::from_le_bytes(*word));
    // All versions so far are 1.x. The word behind the number of IDs is reserved and 0.
    let [0, minor, 1, 0] = word(1)?.to_le_bytes() else {
        return None;
    };
    let is_header = minor <= 9 && (1..=MOST_IDS).contains(&word(3)?) && word(4)? == 0;
    if !is_header {
        return None;
    }
    let mut position = HEADER_WORDS;
    let mut has_memory_model = false;
    let mut end = None;
    while let Some([low, high, length_low, length_high]) = words.get(position) {
        let opcode = u16::from_le_bytes([*low, *high]);
        let length = usize::from(u16::from_le_bytes([*length_low, *length_high]));
        let is_first = position == HEADER_WORDS;
        let is_between_functions = end == Some(position);
        let fits = match opcode {
            _ if is_first => opcode == CAPABILITY,
            _ if is_between_functions => opcode == FUNCTION || LINES.contains(&opcode),
            _ => opcode <= LAST_OPCODE,
        };
        if length == 0 || !fits {
            break;
        }
        budget.spend(4)?;
        has_memory_model |= opcode == MEMORY_MODEL;
        position = position.checked_add(length)?;
        if opcode == FUNCTION_END {
            end = Some(position);
        }
    }
    // A module does not say its size, but functions come last in it.
    let size = (end?.checked_mul(4)?) as u64;
    (has_memory_model && size <= rest.len()).then_some(size)
}

/// PTX, which names its version and its target first, up to the zero byte that ends every constant text.
fn ptx(rest: Source<'_>, budget: &mut Budget) -> Option<u64> {
    const LONGEST_HEAD: usize = 256;
    let bytes = rest.bytes();
    let head = bytes.get(..LONGEST_HEAD).unwrap_or(bytes);
    if ImageFormat::detect(head) != ImageFormat::Ptx {
        return None;
    }
    let line = head.get(..memchr::memchr(b'\n', head)?)?;
    let version = std::str::from_utf8(line.get(8..)?).ok()?.trim();
    let (major, minor) = version.split_once('.')?;
    let is_version = [major, minor].iter().all(|part| part.parse::<u8>().is_ok());
    let target = memchr::memmem::find(head, b".target")?;
    let arch = head.get(target..)?.get(7..)?.trim_ascii_start();
    let arch = arch
        .split(|byte| !(byte.is_ascii_alphanumeric() || *byte == b'_'))
        .next()?;
    if !is_version || Processor::parse(std::str::from_utf8(arch).ok()?).is_none() {
        return None;
    }
    // Counted where there is no zero byte, too: then all of the rest was looked at.
    let length = memchr::memchr(0, bytes);
    budget.spend(length.unwrap_or(bytes.len()) as u64)?;
    length.map(|length| length as u64)
}
