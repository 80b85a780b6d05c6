//! The formats of containers, and which of them bytes are.

use std::borrow::Cow;

use offkit_image::{Compression, ContainerKind, Error, ImageFormat};

use crate::compression::inflate_passing;
use crate::format::{ContainerFormat, Standing};
use crate::part::{Coding, Content, Part};
use crate::source::Source;
use crate::{
    archive, bundle, deb, fatbin, hcf, host, kpack, offload_binary, rpm, sycl_wrapped, syclbin, tar,
    unpacking, zip,
};

/// Every format. The first that says yes counts: a SYCLBIN may be in an offload binary, and any text may have the
/// markers of a bundle in it, and a Debian package is a Unix archive.
static FORMATS: [&ContainerFormat; 17] = [
    &syclbin::FORMAT,
    &offload_binary::FORMAT,
    &bundle::FORMAT,
    &fatbin::FORMAT,
    &deb::FORMAT,
    &archive::FORMAT,
    &zip::FORMAT,
    &hcf::FORMAT,
    &kpack::FORMAT,
    &rpm::FORMAT,
    &tar::FORMAT,
    &unpacking::FORMAT,
    &host::FORMAT,
    &host::bitcode::FORMAT,
    &bundle::TEXT_FORMAT,
    &bundle::SINGLE_FORMAT,
    &sycl_wrapped::FORMAT,
];

/// The container that a part with these bytes is; `None` for an image and for what is not known.
pub(crate) fn format_of(content: Content, bytes: &[u8]) -> Option<&'static ContainerFormat> {
    let most = match content {
        Content::Image => return None,
        Content::Container(kind) => return of_kind(kind),
        Content::Entry => Standing::Anywhere,
        Content::File => Standing::File,
    };
    let mut formats = FORMATS.iter().copied();
    // `Standing` is in this order: a file may be all that an entry may be, and what is only named
    // is never found by its bytes.
    formats.find(|format| format.standing <= most && (format.is)(bytes))
}

fn of_kind(kind: ContainerKind) -> Option<&'static ContainerFormat> {
    FORMATS.iter().copied().find(|format| format.kind == kind)
}

/// The bytes of a part that is stored by `coding`; no more than `most`. Tells of stored bytes that were unpacked.
pub(crate) fn inflated(
    part: &Part<'_>,
    coding: Coding,
    most: u64,
    passed: &dyn Fn(&[u8]),
) -> Result<Vec<u8>, Error> {
    let format = match part.content {
        // What a module holds is no stream, whatever the part is that comes out: only the reader of
        // modules finds it.
        _ if coding.compression == Compression::Bitcode => Some(&host::bitcode::FORMAT),
        Content::Container(kind) => of_kind(kind),
        _ => None,
    };
    match format {
        Some(format) => (format.inflate)(part.stored, coding, most),
        None => {
            let stored = part.stored.bytes();
            inflate_passing(coding.compression, stored, coding.size, most, passed)
        }
    }
    .map_err(|error| error.at(part.stored.at(0)))
}

/// What is compressed of a part: an offload binary has its header in front of that.
pub(crate) fn stream<'data>(part: &Part<'data>) -> Result<Source<'data>, Error> {
    match part.content {
        Content::Container(ContainerKind::OffloadBinary) => offload_binary::stream(part.stored),
        _ => Ok(part.stored),
    }
}

/// What [`inflated`] gives, from what comes out of a part's [`stream`].
pub(crate) fn of_stream<'b>(part: &Part<'_>, bytes: &'b [u8]) -> Result<Cow<'b, [u8]>, Error> {
    match part.content {
        Content::Container(ContainerKind::OffloadBinary) => {
            offload_binary::of_stream(part.stored, bytes).map(Cow::Owned)
        }
        _ => Ok(Cow::Borrowed(bytes)),
    }
}

/// Whether a file of this format is a device image by itself. One that is compressed is opened if that is worth it.
pub(crate) fn is_device_image(format: ImageFormat) -> bool {
    !matches!(format, ImageFormat::Unknown | ImageFormat::Compressed)
}

/// Whether the beginning of a file may be that of a container or of a device image, so that it is worth to
/// look at all of it.
#[must_use]
pub fn looks_like_device_code(head: &[u8]) -> bool {
    format_of(Content::File, head).is_some() || is_device_image(ImageFormat::detect(head))
}
