//! RPM packages: three headers, and a compressed `cpio` archive.

use offkit_image::{ContainerKind, Error};

use crate::format::{ContainerFormat, Standing};
use crate::reading::Reading;
use crate::source::Source;
use crate::unpacked::VisitUnpacked;
use crate::unpacking;

const MAGIC: &[u8] = &[0xed, 0xab, 0xee, 0xdb];
/// The first header, which has been of no meaning since 1997.
const LEAD: u64 = 96;
/// What the other two begin with.
const HEADER_MAGIC: &[u8] = &[0x8e, 0xad, 0xe8, 0x01];
/// Magic, four bytes of zeros, the number of entries and the size of the data.
const HEADER: u64 = 16;
const ENTRY: u64 = 16;

/// An RPM package.
pub(crate) static FORMAT: ContainerFormat = ContainerFormat {
    kind: ContainerKind::Rpm,
    standing: Standing::File,
    is: |bytes| bytes.starts_with(MAGIC),
    unpack: Some(unpack),
    ..ContainerFormat::USUAL
};

fn unpack(source: Source<'_>, reading: &mut Reading, visit: VisitUnpacked<'_>) -> Result<(), Error> {
    let signature = header_end(source, LEAD)?;
    // Only the signature is padded: the payload begins where the second header ends.
    let signature = signature.checked_next_multiple_of(8).unwrap_or(signature);
    let payload = header_end(source, signature)?;
    unpacking::unpack(source.from(payload), reading, visit)
}

/// Where a header ends.
fn header_end(source: Source<'_>, start: u64) -> Result<u64, Error> {
    let header = source.need(start, HEADER, "RPM package is cut off", "header")?;
    let bytes = header.bytes();
    let field = |at: usize| {
        let field = bytes.get(at..)?.first_chunk::<4>()?;
        Some(u64::from(u32::from_be_bytes(*field)))
    };
    let (Some(entries), Some(size), true) = (field(8), field(12), bytes.starts_with(HEADER_MAGIC)) else {
        return Err(Error::malformed("RPM package has a damaged header").at(header.at(0)));
    };
    let rest = entries.saturating_mul(ENTRY).saturating_add(size);
    let behind = start.saturating_add(HEADER);
    source.need(behind, rest, "RPM package is cut off", "header")?;
    Ok(behind.saturating_add(rest))
}
