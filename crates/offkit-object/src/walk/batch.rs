//! Compressed parts that are decompressed together, on all cores, in memory or outside of it.

use std::ops::Deref;

use offkit_image::{Compression, Error, Location};

use crate::compression::inflate_into;
use crate::container;
use crate::memory::{Kept, Memory};
use crate::part::{Coding, Content, Part};

/// Compressed parts that are decompressed together.
#[derive(Default)]
pub(super) struct Batch<'data> {
    pub(super) members: Vec<Compressed<'data>>,
    /// How much comes out into memory, as far as it is known.
    size: u64,
    /// How much comes out in all.
    all: u64,
}

pub(super) struct Compressed<'data> {
    pub(super) part: Part<'data>,
    pub(super) coding: Coding,
    pub(super) location: Location,
}

/// What came out of a member.
pub(super) enum Inflated {
    Bytes(Vec<u8>),
    Kept(Box<dyn Kept>),
}

impl Deref for Inflated {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            Self::Bytes(bytes) => bytes,
            Self::Kept(kept) => kept.bytes(),
        }
    }
}

impl Inflated {
    pub(super) fn into_bytes(self) -> Vec<u8> {
        match self {
            Self::Bytes(bytes) => bytes,
            // For an image, which may be kept when the place outside is gone. Containers, which
            // nearly all large members are, are read where they are.
            Self::Kept(kept) => kept.bytes().to_vec(),
        }
    }
}

impl Compressed<'_> {
    /// Whether what comes out is too much for memory where there is another place for it.
    fn is_large(part: &Part<'_>, coding: Coding) -> bool {
        part.content == Content::File
            && matches!(coding.compression, Compression::Deflate | Compression::Zstd)
            && coding.size.is_some_and(|size| size >= Batch::LARGE)
    }

    /// What comes out of it, no more than `most` bytes.
    pub(super) fn inflated(
        &self,
        most: u64,
        memory: &dyn Memory,
        passed: &dyn Fn(&[u8]),
    ) -> Result<Inflated, Error> {
        let in_memory = || {
            let bytes = container::inflated(&self.part, self.coding, most, passed);
            bytes.map(Inflated::Bytes)
        };
        if !Self::is_large(&self.part, self.coding) {
            return in_memory();
        }
        let Some(mut outside) = memory.outside() else {
            return in_memory();
        };
        let stored = self.part.stored;
        let written = inflate_into(
            &mut *outside,
            self.coding.compression,
            stored.bytes(),
            self.coding.size,
            most,
            passed,
        );
        match written.map_err(|error| error.at(stored.at(0)))? {
            // Where the disk is full, memory may do.
            Err(_) => {
                drop(outside);
                in_memory()
            }
            Ok(()) => outside
                .finish()
                .map_or_else(|_| in_memory(), |kept| Ok(Inflated::Kept(kept))),
        }
    }
}

impl<'data> Batch<'data> {
    /// Enough for all cores to be busy.
    const MEMBERS: usize = 32;
    /// What is put outside of memory where there is a place for it. Many small ones would cost more time than memory.
    const LARGE: u64 = 1 << 23;
    /// What comes out of members that are decompressed together, in memory. A larger one is decompressed with one other, or
    /// alone, so that a file costs no more memory than this, or [`PAIR`](Self::PAIR), or its largest member (or what was to
    /// be outside, on a disk that becomes full).
    const SIZE: u64 = 1 << 26;
    /// The same for two: with HIP's bundles of 64 MiB one by one, a second core has nothing to do.
    const PAIR: u64 = 1 << 28;
    /// The same with what is put outside of memory.
    const ALL: u64 = 1 << 30;

    pub(super) fn has_room_for(&self, part: &Part<'_>, coding: Coding, memory: &dyn Memory) -> bool {
        // One that does not say its size may take all that is left of the limit, and is counted only afterwards: it is
        // alone.
        let waiting = self.members.first().map(|member| member.coding);
        if waiting.is_some_and(|waiting| waiting.size.is_none() || coding.size.is_none()) {
            return false;
        }
        let (all, in_memory) = Self::sizes_of(part, coding, memory);
        let most = match self.members.len() {
            0 => return true,
            1 => Self::PAIR,
            2..Self::MEMBERS => Self::SIZE,
            _ => return false,
        };
        self.size.saturating_add(in_memory) <= most && self.all.saturating_add(all) <= Self::ALL
    }

    /// How much comes out, as far as it is known, and how much of that into memory.
    fn sizes_of(part: &Part<'_>, coding: Coding, memory: &dyn Memory) -> (u64, u64) {
        let all = coding.size.unwrap_or_default();
        match Compressed::is_large(part, coding) && memory.has_outside() {
            true => (all, 0),
            false => (all, all),
        }
    }

    pub(super) fn add(&mut self, part: Part<'data>, coding: Coding, location: Location, memory: &dyn Memory) {
        let (all, in_memory) = Self::sizes_of(&part, coding, memory);
        self.size = self.size.saturating_add(in_memory);
        self.all = self.all.saturating_add(all);
        self.members.push(Compressed {
            part,
            coding,
            location,
        });
    }

    pub(super) fn take(&mut self) -> Vec<Compressed<'data>> {
        std::mem::take(self).members
    }
}
