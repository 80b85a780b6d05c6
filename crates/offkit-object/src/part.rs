//! What the readers of containers hand over: parts, and what the container says about each.
//!
//! A reader knows nothing of what is inside of its parts: [`walk`](crate::walk) opens these.

use offkit_image::{
    CodeVersion, Compression, ContainerKind, ImageFormat, PartName as Name, Producer, PropertySets, Strings,
    Target,
};

use crate::reading::Reading;
use crate::source::Source;

/// A part of a container: an image, or a container itself.
#[derive(Debug)]
pub(crate) struct Part<'data> {
    /// How the reader finds the part again, to replace it; of no meaning to others.
    pub(crate) id: usize,
    /// The way from the container to the part.
    pub(crate) name: Name,
    /// The bytes in the file; for a compressed part exactly the compressed stream, but for an offload binary all
    /// of it, as its header is not compressed.
    pub(crate) stored: Source<'data>,
    /// How the bytes in the file become the part.
    pub(crate) coding: Option<Coding>,
    /// What the part is.
    pub(crate) content: Content,
    /// What the container says about the part, should it be an image.
    pub(crate) facts: Facts<'data>,
    /// Whether the container has all images in it as parts of its own, too, of which it says more.
    pub(crate) is_redundant: bool,
}

impl<'data> Part<'data> {
    /// A part that is stored as it is, and about which the container says nothing.
    pub(crate) fn new(id: usize, name: Name, stored: Source<'data>, content: Content) -> Self {
        Self::with_facts(id, name, stored, content, Facts::default())
    }

    /// A part that is stored as it is.
    pub(crate) fn with_facts(
        id: usize,
        name: Name,
        stored: Source<'data>,
        content: Content,
        facts: Facts<'data>,
    ) -> Self {
        Self {
            id,
            name,
            stored,
            coding: None,
            content,
            facts,
            is_redundant: false,
        }
    }
}

/// A compression, and the size that the container promises.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Coding {
    pub(crate) compression: Compression,
    /// The size after decompression; `None` where the container does not say it.
    pub(crate) size: Option<u64>,
}

/// What the walk is to make of a part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Content {
    /// A file of any kind, as in an archive: host code is looked into; bytes of no known kind are passed over.
    File,
    /// An entry for a device: an image, or a container of device code; never host code to be looked into.
    Entry,
    /// An image that is not looked into.
    Image,
    /// A container of this kind, whatever the first bytes are.
    Container(ContainerKind),
}

/// What a container says about an image.
#[derive(Debug, Default)]
pub(crate) struct Facts<'data> {
    /// The kind of container the image is in, where that is not the one which hands it over: hosts hand over
    /// the images of wrapped descriptors.
    pub(crate) container: Option<ContainerKind>,
    /// The version of the container's format, where it has one.
    pub(crate) version: Option<u32>,
    /// The format that a header claims.
    pub(crate) claim: Option<ImageFormat>,
    /// The version of the code's format.
    pub(crate) code_version: Option<CodeVersion>,
    pub(crate) target: Target,
    pub(crate) producer: Producer,
    /// Apart, for of nearly all of very many images nothing more is said.
    pub(crate) more: Option<Box<MoreFacts<'data>>>,
}

/// What only some containers say about an image.
#[derive(Debug, Default)]
pub(crate) struct MoreFacts<'data> {
    pub(crate) properties: PropertySets,
    pub(crate) kernels: Vec<String>,
    /// The names in the container's entry table, as stored; `None` where the format has no such table.
    pub(crate) entries: Option<Vec<String>>,
    pub(crate) imports: Vec<String>,
    pub(crate) exports: Vec<String>,
    pub(crate) strings: Strings<'data>,
}

impl<'data> Facts<'data> {
    /// To add to what is said.
    pub(crate) fn more(&mut self) -> &mut MoreFacts<'data> {
        self.more.get_or_insert_default()
    }
}

/// Receives the parts of a container.
pub(crate) type Visit<'v, 'data> = &'v mut dyn FnMut(&mut Reading, Part<'data>);
