//! What becomes of the parts of a container, when some of them go.

use std::collections::BTreeMap;

use crate::chunks::Chunks;

/// Whether what follows a part may come closer when the part becomes smaller.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Room {
    /// The container takes the room that it needs.
    Free,
    /// What others point to stays where it is, and the container as long as it was: the rest is zeros.
    Fixed,
}

/// What becomes of one part.
#[derive(Debug)]
pub(crate) enum Change<'data> {
    /// It goes.
    Remove,
    /// It becomes this, without compression.
    Replace(Edited<'data>),
}

/// A changed container.
#[derive(Debug, Default)]
pub(crate) struct Edited<'data> {
    pub(crate) bytes: Chunks<'data>,
    /// Where the containers of a sequence were, and where they are: programs point to these.
    pub(crate) moves: Vec<(u64, u64)>,
}

impl<'data> Edited<'data> {
    /// Of a container whose inside nobody points to.
    pub(crate) fn whole(bytes: impl Into<Chunks<'data>>) -> Self {
        Self {
            bytes: bytes.into(),
            moves: Vec::new(),
        }
    }

    /// Where the container is that was at `offset`, if one was.
    pub(crate) fn moved(&self, offset: u64) -> Option<u64> {
        // Sorted, as containers of a sequence come in the order of the file.
        let index = self.moves.binary_search_by_key(&offset, |(old, _)| *old).ok()?;
        self.moves.get(index).map(|(_, new)| *new)
    }

    /// Whether everything that others may point to is where it was.
    pub(crate) fn stays(&self) -> bool {
        self.moves.iter().all(|(old, new)| old == new)
    }
}

/// The parts that change, by the identifiers that the reader gives them.
pub(crate) struct Edits<'e, 'data> {
    pub(crate) parts: BTreeMap<usize, Change<'data>>,
    pub(crate) room: Room,
    /// Whether images are compressed anew, as small as it goes; it is told of the bytes that are done.
    pub(crate) recompress: Option<&'e (dyn Fn(u64) + Sync)>,
    /// What compressed parts had in them whose own bytes are not in place.
    pub(crate) originals: BTreeMap<usize, &'e [u8]>,
}

impl<'data> Edits<'_, 'data> {
    /// Whether a part goes.
    pub(crate) fn removes(&self, id: usize) -> bool {
        matches!(self.parts.get(&id), Some(Change::Remove))
    }

    /// What a part becomes, if it becomes something else.
    pub(crate) fn replacement(&self, id: usize) -> Option<&Edited<'data>> {
        match self.parts.get(&id) {
            Some(Change::Replace(edited)) => Some(edited),
            _ => None,
        }
    }
}
