//! AdaptiveCpp's containers of device code, HCF: what it embeds in programs and writes to the folder that
//! `ACPP_HCF_DUMP_DIRECTORY` names.
//!
//! A text of nodes and values is followed by a marker and the bytes of all images. A node `{.name` … `}.name` has lines
//! `key=value` and nodes; where bytes belong to it, its node `__binary` has `start` and `size`.

use offkit_image::{ContainerKind, Error, ErrorKind};

use crate::format::{ContainerFormat, Standing};
use crate::part::{Content, Part, Visit};
use crate::part_names::PartNames;
use crate::reading::Reading;
use crate::source::Source;

/// What the bytes of all images follow.
const APPENDIX: &[u8] = b"__acpp_hcf_binary_appendix";
const BINARY: &str = "__binary";
/// Nodes within nodes; real ones have four.
const DEPTH: usize = 16;

pub(crate) static FORMAT: ContainerFormat = ContainerFormat {
    kind: ContainerKind::Hcf,
    standing: Standing::File,
    is,
    parts,
    replace: |_, _, _, _| {
        Err(Error::unsupported(
            "images in AdaptiveCpp's HCF cannot be replaced",
        ))
    },
    ..ContainerFormat::USUAL
};

/// Whether the bytes begin as AdaptiveCpp writes them: with the number of the object, and who made it.
fn is(bytes: &[u8]) -> bool {
    const HEAD: usize = 256;
    let head = bytes.get(..HEAD).unwrap_or(bytes);
    // A text may begin with the first word by chance. Both are known to stand in front.
    head.starts_with(b"object-id") && memchr::memmem::find(head, b"\ngenerator").is_some()
}

/// Hands over every image: `images/llvm-ir.global` is what that node has.
fn parts<'data>(source: Source<'data>, reading: &mut Reading, visit: Visit<'_, 'data>) -> Result<(), Error> {
    let damaged = |message: &'static str| Error::malformed(message).at(source.at(0));
    // The first one: only images follow it, and what they hold may look like it.
    let marker = memchr::memmem::find(source.bytes(), APPENDIX)
        .ok_or_else(|| damaged("HCF is cut off").expecting("__acpp_hcf_binary_appendix behind its text"))?;
    let text = source.bytes().get(..marker).unwrap_or_default();
    reading.count_metadata(text.len() as u64)?;
    let text = std::str::from_utf8(text).map_err(|_| damaged("text of HCF is not UTF-8"))?;
    let appendix = source.from(marker.saturating_add(APPENDIX.len()) as u64);
    let mut names = PartNames::default();
    let mut path: Vec<&str> = Vec::new();
    let mut place = [None; 2];
    let mut id = 0_usize;
    for line in text.lines().map(str::trim) {
        if let Some(node) = line.strip_prefix("{.") {
            if path.len() >= DEPTH {
                return Err(
                    Error::new(ErrorKind::LimitExceeded, "nodes of HCF are nested too deep").at(source.at(0)),
                );
            }
            path.push(node.trim());
            place = [None; 2];
        } else if line.starts_with("}.") {
            // Only at the end of the node, as `start` and `size` may come in any order. What is left of the path is the
            // node that the bytes belong to.
            if path.pop() == Some(BINARY) {
                reading.count_image()?;
                let [start, size] = place.map(Option::unwrap_or_default);
                let bytes = appendix.need(start, size, "image of HCF is outside of it", "start, size");
                if let Some(bytes) = reading.accept(bytes)? {
                    let name = match path.is_empty() {
                        true => vec![format!("#{id}")],
                        false => path.iter().map(|part| (*part).to_owned()).collect(),
                    };
                    visit(reading, Part::new(id, names.name(name), bytes, Content::Image));
                }
                id = id.saturating_add(1);
            }
        } else if path.last() == Some(&BINARY)
            && let Some((key, value)) = line.split_once('=')
        {
            let value = value.trim().parse::<u64>().ok();
            match key.trim() {
                "start" => place[0] = value,
                "size" => place[1] = value,
                _ => {}
            }
        }
        if reading.is_exhausted() {
            break;
        }
    }
    Ok(())
}
