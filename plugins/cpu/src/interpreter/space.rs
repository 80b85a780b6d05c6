//! The address space of a work-item: global memory at host addresses, and three spaces of its own that
//! are told apart by the upper two bits, which no host address has set.
//!
//! Private, local and input memory are made of segments, one for each variable. An address names its
//! segment and an offset from a point in the middle of the 32-bit range, so that pointers before and
//! after a variable still name it, and running over its ends is seen even where another follows.

use crate::memory::{AccessKind, Hint, Reason, Snapshot, Violation};

const TAG_SHIFT: u32 = 62;
const SEGMENT_SHIFT: u32 = 32;
const SEGMENT_MASK: u64 = (1 << (TAG_SHIFT - SEGMENT_SHIFT)) - 1;
// A multiple of every alignment, so that an address is aligned where its offset in the segment is.
/// The offset of a segment's first byte.
const ORIGIN: u32 = 1 << 30;

/// The largest segment, in bytes.
pub(super) const LARGEST_SEGMENT: u64 = 1 << 30;

/// A kind of memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Space {
    Global,
    Private,
    Local,
    /// Built-in variables.
    Input,
}

impl Space {
    /// The space that an address points into.
    pub(super) fn of(address: u64) -> Space {
        match address >> TAG_SHIFT {
            0 => Space::Global,
            1 => Space::Private,
            2 => Space::Local,
            _ => Space::Input,
        }
    }
}

/// The address of the first byte of a segment.
pub(super) fn segment_address(space: Space, segment: usize) -> u64 {
    let tag = match space {
        Space::Global => 0,
        Space::Private => 1,
        Space::Local => 2,
        Space::Input => 3,
    };
    tag << TAG_SHIFT | (segment as u64 & SEGMENT_MASK) << SEGMENT_SHIFT | u64::from(ORIGIN)
}

/// The segment that an address names, and the distance from its first byte.
pub(super) fn segment_of(address: u64) -> (usize, i64) {
    let segment = (address >> SEGMENT_SHIFT & SEGMENT_MASK) as usize;
    (segment, i64::from(address as u32) - i64::from(ORIGIN))
}

/// A number of which the upper bits are not there, as one of 64 bits.
#[inline]
pub(super) fn sign_extended(word: u64, unused: u32) -> u64 {
    ((word << unused) as i64 >> unused) as u64
}

/// Private or local memory.
#[derive(Debug, Default)]
pub(super) struct Segments {
    bytes: Vec<u8>,
    /// Start and size of each.
    segments: Vec<(usize, u32)>,
    /// What each byte is before it is written.
    unwritten: u8,
}

impl Segments {
    /// Nothing, and what each byte will be before it is written.
    pub(super) fn new(unwritten: u8) -> Segments {
        Segments {
            unwritten,
            ..Segments::default()
        }
    }

    /// Bytes in use.
    pub(super) fn size(&self) -> usize {
        self.bytes.len()
    }

    /// Bytes that there is room for.
    pub(super) fn room(&self) -> usize {
        self.bytes.capacity()
    }

    /// How many there are, which is the number of the next one.
    pub(super) fn count(&self) -> usize {
        self.segments.len()
    }

    /// The size of a segment, if it is there.
    pub(super) fn size_of(&self, segment: usize) -> Option<u32> {
        self.segments.get(segment).map(|(_, size)| *size)
    }

    /// Sets what each byte is before it is written, in segments that are added from now on.
    pub(super) fn set_unwritten(&mut self, byte: u8) {
        self.unwritten = byte;
    }

    /// Adds a segment. Its size must be at most [`LARGEST_SEGMENT`].
    pub(super) fn push(&mut self, size: u32) -> usize {
        let start = self.bytes.len();
        // The bytes may move, as addresses tell segments and offsets.
        self.bytes.resize(start + size as usize, self.unwritten);
        self.segments.push((start, size));
        self.segments.len() - 1
    }

    /// Removes all segments from a number on.
    pub(super) fn truncate(&mut self, count: usize) {
        if let Some((start, _)) = self.segments.get(count) {
            self.bytes.truncate(*start);
            self.segments.truncate(count);
        }
    }

    /// Makes every byte what it was before it was written.
    pub(super) fn clear(&mut self) {
        self.bytes.fill(self.unwritten);
    }

    /// The bytes of an access, if they lie inside the segment that the address names.
    #[inline]
    pub(super) fn get(&mut self, address: u64, size: usize) -> Option<&mut [u8]> {
        let segment = (address >> SEGMENT_SHIFT & SEGMENT_MASK) as usize;
        // In front of the segment this wraps, and is more than any length.
        let offset = (address as u32).wrapping_sub(ORIGIN) as usize;
        let (start, length) = *self.segments.get(segment)?;
        if offset.checked_add(size)? > length as usize {
            return None;
        }
        self.bytes.get_mut(start + offset..start + offset + size)
    }
}

/// All memory that a work-item sees.
pub(super) struct View<'a> {
    pub(super) global: &'a Snapshot,
    /// The allocation last accessed by each site.
    pub(super) hints: &'a mut [Hint],
    pub(super) private: &'a mut Segments,
    pub(super) local: &'a mut Segments,
    /// Gives the bytes of a built-in variable.
    pub(super) input: &'a dyn Fn(usize) -> Vec<u8>,
}

impl View<'_> {
    /// Reads a value of up to eight bytes.
    #[inline]
    pub(super) fn load(&mut self, address: u64, size: usize, site: u32) -> Result<u64, Violation> {
        if address >> TAG_SHIFT == 0 {
            return self.global.load(address, size, &mut self.hints[site as usize]);
        }
        let mut word = [0; 8];
        match self.bytes(address, size) {
            Some(bytes) => match size {
                // Spelled out because a copy of constant size is a single move.
                4 => word[..4].copy_from_slice(&bytes[..4]),
                8 => word.copy_from_slice(&bytes[..8]),
                _ => word[..size].copy_from_slice(bytes),
            },
            None => self.read_input(AccessKind::Load, address, &mut word[..size])?,
        }
        Ok(u64::from_le_bytes(word))
    }

    /// Writes the low bytes of a value.
    #[inline]
    pub(super) fn store(
        &mut self,
        address: u64,
        size: usize,
        value: u64,
        site: u32,
    ) -> Result<(), Violation> {
        if address >> TAG_SHIFT == 0 {
            return self
                .global
                .store(address, size, value, &mut self.hints[site as usize]);
        }
        let violation = out_of_bounds(AccessKind::Store, address, size);
        let bytes = self.bytes(address, size).ok_or(violation)?;
        let value = value.to_le_bytes();
        match size {
            4 => bytes.copy_from_slice(&value[..4]),
            8 => bytes.copy_from_slice(&value),
            _ => bytes.copy_from_slice(&value[..size]),
        }
        Ok(())
    }

    /// Reads any number of bytes.
    pub(super) fn read(&mut self, address: u64, out: &mut [u8]) -> Result<(), Violation> {
        if address >> TAG_SHIFT == 0 {
            return self.global.read(address, out, &mut Hint::default());
        }
        match self.bytes(address, out.len()) {
            Some(bytes) => out.copy_from_slice(bytes),
            None => self.read_input(AccessKind::Load, address, out)?,
        }
        Ok(())
    }

    /// Writes any number of bytes.
    pub(super) fn write(&mut self, address: u64, data: &[u8]) -> Result<(), Violation> {
        if address >> TAG_SHIFT == 0 {
            return self.global.write(address, data, &mut Hint::default());
        }
        let violation = out_of_bounds(AccessKind::Store, address, data.len());
        let bytes = self.bytes(address, data.len()).ok_or(violation)?;
        bytes.copy_from_slice(data);
        Ok(())
    }

    /// Checks an access without making it.
    pub(super) fn check(&mut self, kind: AccessKind, address: u64, size: u64) -> Result<(), Violation> {
        // A copy of no bytes may have any addresses, null among them.
        if size == 0 {
            return Ok(());
        }
        if address >> TAG_SHIFT == 0 {
            return self.global.check(kind, address, size, &mut Hint::default());
        }
        let violation = Violation {
            kind,
            address,
            size,
            reason: Reason::OutOfBounds,
        };
        let length = usize::try_from(size).map_err(|_| violation)?;
        self.bytes(address, length).map(drop).ok_or(violation)
    }

    /// Replaces a value indivisibly and returns the old one. A work-group runs on one thread, so that
    /// its own memory needs no care.
    pub(super) fn atomic(
        &mut self,
        address: u64,
        size: usize,
        site: u32,
        update: &mut dyn FnMut(u64) -> Option<u64>,
    ) -> Result<u64, Violation> {
        if address >> TAG_SHIFT == 0 {
            return self
                .global
                .atomic(address, size, &mut self.hints[site as usize], update);
        }
        let kind = AccessKind::Atomic;
        if !address.is_multiple_of(size as u64) {
            return Err(Violation {
                kind,
                address,
                size: size as u64,
                reason: Reason::Misaligned,
            });
        }
        let violation = out_of_bounds(kind, address, size);
        let bytes = self.bytes(address, size).ok_or(violation)?;
        let mut word = [0; 8];
        word[..size].copy_from_slice(bytes);
        let old = u64::from_le_bytes(word);
        if let Some(new) = update(old) {
            bytes.copy_from_slice(&new.to_le_bytes()[..size]);
        }
        Ok(old)
    }

    /// Adds a private variable and returns its address.
    pub(super) fn push_private(&mut self, size: u32) -> u64 {
        segment_address(Space::Private, self.private.push(size))
    }

    /// Bytes of private or local memory.
    #[inline]
    fn bytes(&mut self, address: u64, size: usize) -> Option<&mut [u8]> {
        match Space::of(address) {
            Space::Private => self.private.get(address, size),
            Space::Local => self.local.get(address, size),
            // Input is computed when it is read, and can't be written.
            Space::Global | Space::Input => None,
        }
    }

    #[cold]
    fn read_input(&self, kind: AccessKind, address: u64, out: &mut [u8]) -> Result<(), Violation> {
        let violation = out_of_bounds(kind, address, out.len());
        if Space::of(address) != Space::Input {
            return Err(violation);
        }
        let (segment, offset) = segment_of(address);
        let bytes = (self.input)(segment);
        let start = usize::try_from(offset).map_err(|_| violation)?;
        let bytes = bytes
            .get(start..)
            .and_then(|rest| rest.get(..out.len()))
            .ok_or(violation)?;
        out.copy_from_slice(bytes);
        Ok(())
    }
}

fn out_of_bounds(kind: AccessKind, address: u64, size: usize) -> Violation {
    Violation {
        kind,
        address,
        size: size as u64,
        reason: Reason::OutOfBounds,
    }
}
