//! Targets that entries repeat: a file with very many images is for a few devices all the same, and so are the
//! objects in an archive.

use offkit_image::Target;

/// What the last entries said about their targets, by the bytes they said it with.
#[derive(Debug, Default)]
pub(crate) struct Repeated {
    kept: Vec<Kept>,
    /// The one that is tried first: entries for several devices take turns.
    next: usize,
}

/// The strings of an entry, with all that decides what they are.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Said<'data> {
    pub(crate) version: u32,
    pub(crate) strings_offset: u64,
    pub(crate) string_count: u64,
    /// All from the table of strings to the image: everything that was read, and the offsets in it.
    pub(crate) bytes: &'data [u8],
}

impl Said<'_> {
    /// The most bytes that are kept.
    const LARGEST: usize = 256;

    pub(crate) fn is_short(&self) -> bool {
        self.bytes.len() <= Self::LARGEST
    }
}

/// What such strings came to.
#[derive(Debug)]
pub(crate) struct Known {
    /// How much metadata was read.
    pub(crate) metadata: u64,
    pub(crate) target: Target,
}

#[derive(Debug)]
struct Kept {
    version: u32,
    strings_offset: u64,
    string_count: u64,
    bytes: Vec<u8>,
    known: Known,
}

impl Kept {
    #[inline]
    fn is_of(&self, said: &Said<'_>) -> bool {
        self.bytes == said.bytes
            && self.strings_offset == said.strings_offset
            && self.string_count == said.string_count
            && self.version == said.version
    }
}

impl Repeated {
    /// As many as are kept.
    const KEPT: usize = 16;

    /// What the same strings came to before.
    #[inline]
    pub(crate) fn recall(&mut self, said: Said<'_>) -> Option<&Known> {
        let expected = if self.next < self.kept.len() { self.next } else { 0 };
        let place = match self.kept.get(expected) {
            Some(kept) if kept.is_of(&said) => expected,
            _ => self.kept.iter().position(|kept| kept.is_of(&said))?,
        };
        self.next = place.saturating_add(1);
        self.kept.get(place).map(|kept| &kept.known)
    }

    /// Keeps what strings came to; where there is no room, in place of what would be tried next.
    pub(crate) fn keep(&mut self, said: Said<'_>, known: Known) {
        let new = Kept {
            version: said.version,
            strings_offset: said.strings_offset,
            string_count: said.string_count,
            // A copy: the entry may be of something unpacked, which is gone when the next comes.
            bytes: said.bytes.to_vec(),
            known,
        };
        if self.kept.len() < Self::KEPT {
            self.kept.push(new);
            self.next = self.kept.len();
            return;
        }
        let place = self.next.checked_rem(Self::KEPT).unwrap_or_default();
        if let Some(kept) = self.kept.get_mut(place) {
            *kept = new;
        }
        self.next = place.saturating_add(1);
    }
}
