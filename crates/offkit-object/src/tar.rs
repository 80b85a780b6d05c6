//! Tar files: those of packages and of container images.
//!
//! A tar file is a sequence of records of 512 bytes: a header, then the content, padded. Numbers are octal text, or
//! binary with the first bit set. Names that do not fit come before the header that they belong to: as a file of
//! type `L` (GNU), or as a list of values (`x`, POSIX). Two records of zeros end the file.

use offkit_image::{ContainerKind, Error, ErrorKind};

use crate::format::{ContainerFormat, Standing};
use crate::part::{Content, Part, Visit};
use crate::part_names::PartNames;
use crate::reading::Reading;
use crate::source::Source;

/// The size of a record.
pub(crate) const RECORD: usize = 512;

/// Names and lists of values are no longer than this in any real file.
pub(crate) const LONGEST_EXTENSION: u64 = 1 << 20;

/// A tar file that is not compressed.
pub(crate) static FORMAT: ContainerFormat = ContainerFormat {
    kind: ContainerKind::Tar,
    standing: Standing::File,
    is: is_tar,
    parts,
    replace: |_, _, _, _| {
        Err(Error::unsupported(
            "members of tar files cannot be replaced: packages and images list their hashes",
        )
        .expecting("the member, unpacked and packed again by the package's own tools"))
    },
    ..ContainerFormat::USUAL
};

/// Whether the bytes begin like a tar file: with a header whose sum is right.
pub(crate) fn is_tar(bytes: &[u8]) -> bool {
    let Some(record) = bytes.first_chunk::<RECORD>() else {
        return false;
    };
    // Behind the five letters POSIX and GNU differ. The sum is what text with these letters in that
    // place does not have.
    record.get(257..262) == Some(b"ustar") && has_right_sum(record)
}

fn has_right_sum(record: &[u8; RECORD]) -> bool {
    number(record.get(148..156).unwrap_or_default()) == Some(sum_of(record))
}

/// The sum of all bytes, with blanks for those of the sum itself.
fn sum_of(record: &[u8; RECORD]) -> u64 {
    record.iter().enumerate().fold(0, |sum, (at, byte)| {
        let byte = if (148..156).contains(&at) { b' ' } else { *byte };
        sum.saturating_add(byte.into())
    })
}

/// A number of a header.
fn number(field: &[u8]) -> Option<u64> {
    // GNU's form for what eleven octal digits cannot say. A first byte of 0xff begins negative
    // numbers, which no size is.
    if let Some((0x80, rest)) = field.split_first() {
        return rest.iter().try_fold(0_u64, |value, byte| {
            value.checked_mul(256)?.checked_add((*byte).into())
        });
    }
    let text = until_zero(field).trim_ascii();
    let text = std::str::from_utf8(text).ok()?;
    // Some writers leave fields blank that do not matter for a member.
    if text.is_empty() {
        return Some(0);
    }
    u64::from_str_radix(text, 8).ok()
}

fn until_zero(field: &[u8]) -> &[u8] {
    let length = memchr::memchr(0, field).unwrap_or(field.len());
    field.get(..length).unwrap_or(field)
}

/// What a header announces; its content follows, in whole records.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Announced {
    /// A file.
    File {
        path: Vec<u8>,
        size: u64,
    },
    /// Something about the next header, to be given to [`Headers::extend`].
    Extension {
        kind: u8,
        size: u64,
    },
    /// A folder, a link and the like.
    Other {
        size: u64,
    },
    End,
}

/// The headers of a tar file, one after the other.
#[derive(Debug, Default)]
pub(crate) struct Headers {
    path: Option<Vec<u8>>,
    size: Option<u64>,
    is_sparse: bool,
}

impl Headers {
    /// Reads a header; `position` is where it is.
    pub(crate) fn read(&mut self, record: &[u8; RECORD], position: u64) -> Result<Announced, Error> {
        if record.iter().all(|byte| *byte == 0) {
            return Ok(Announced::End);
        }
        let wrong = |message: &'static str| Error::malformed(message).at(position);
        if !has_right_sum(record) {
            return Err(wrong("tar header is damaged").expecting("the sum of its bytes in it"));
        }
        let size = number(record.get(124..136).unwrap_or_default());
        let size = size.ok_or_else(|| wrong("tar header is damaged").field("size"))?;
        let kind = record.get(156).copied().unwrap_or_default();
        match kind {
            b'L' | b'x' => return Ok(Announced::Extension { kind, size }),
            b'g' | b'K' => return Ok(Announced::Other { size }),
            _ => {}
        }
        // What came before a header is about that one alone.
        let before = std::mem::take(self);
        let size = before.size.unwrap_or(size);
        let path = before.path.unwrap_or_else(|| path_in(record));
        match kind {
            b'S' => Err(Error::unsupported("sparse file in a tar file is not read")
                .at(position)
                .field(String::from_utf8_lossy(&path).into_owned())),
            b'0' | b'7' | 0 if before.is_sparse => {
                Err(Error::unsupported("sparse file in a tar file is not read")
                    .at(position)
                    .field(String::from_utf8_lossy(&path).into_owned()))
            }
            // Old programs mark folders by a slash at the end.
            b'0' | b'7' | 0 if !path.ends_with(b"/") => Ok(Announced::File { path, size }),
            _ => Ok(Announced::Other {
                // Of a link the size is that of the file that it is a link to.
                size: if matches!(kind, b'1'..=b'6') { 0 } else { size },
            }),
        }
    }

    /// Takes what a header announced as being about the next one.
    pub(crate) fn extend(&mut self, kind: u8, content: &[u8]) {
        if kind == b'L' {
            self.path = Some(until_zero(content).to_vec());
            return;
        }
        let mut rest = content;
        // `LENGTH KEY=VALUE` and a line feed, with the length of all of it.
        while let Some(space) = memchr::memchr(b' ', rest) {
            let length = rest
                .get(..space)
                .and_then(|digits| std::str::from_utf8(digits).ok());
            let length = length.and_then(|digits| digits.parse::<usize>().ok());
            let record = length.and_then(|length| rest.split_at_checked(length));
            let Some((record, behind)) = record.filter(|(record, _)| record.len() > space) else {
                return;
            };
            let pair = record.get(space.saturating_add(1)..).unwrap_or_default();
            let pair = pair.strip_suffix(b"\n").unwrap_or(pair);
            if let Some(path) = pair.strip_prefix(b"path=") {
                self.path = Some(path.to_vec());
            } else if let Some(size) = pair.strip_prefix(b"size=") {
                self.size = std::str::from_utf8(size).ok().and_then(|size| size.parse().ok());
            } else if pair.starts_with(b"GNU.sparse.") {
                self.is_sparse = true;
            }
            rest = behind;
        }
    }
}

/// The path in a header: POSIX has its first folders in a field of their own.
fn path_in(record: &[u8; RECORD]) -> Vec<u8> {
    let name = until_zero(record.get(..100).unwrap_or_default());
    let is_posix = record.get(257..263) == Some(b"ustar\0");
    let prefix = until_zero(record.get(345..500).unwrap_or_default());
    if is_posix && !prefix.is_empty() {
        [prefix, b"/", name].concat()
    } else {
        name.to_vec()
    }
}

/// How many bytes a content takes in the file.
pub(crate) fn padded(size: u64) -> u64 {
    size.checked_next_multiple_of(RECORD as u64).unwrap_or(u64::MAX)
}

/// The error for a file that ends in a member.
pub(crate) fn cut_off(position: u64) -> Error {
    Error::new(ErrorKind::OutOfBounds, "tar file is cut off").at(position)
}

/// Adds a file to a tar file, as anybody's who may read it. Its date is that of nothing, so that the same content gives
/// the same bytes.
#[cfg(feature = "write")]
pub(crate) fn append(out: &mut Vec<u8>, name: &[u8], content: &[u8]) -> Result<(), Error> {
    const LONGEST: usize = 100;
    if name.len() > LONGEST {
        // GNU's way: the name is the content of a file of its own.
        append_record(out, b"././@LongLink", b'L', name.len().saturating_add(1))?;
        out.extend_from_slice(name);
        out.push(0);
        pad(out);
    }
    append_record(out, name.get(..LONGEST).unwrap_or(name), b'0', content.len())?;
    out.extend_from_slice(content);
    pad(out);
    Ok(())
}

/// Ends a tar file.
#[cfg(feature = "write")]
pub(crate) fn finish(out: &mut Vec<u8>) {
    out.extend_from_slice(&[0; 2 * RECORD]);
}

#[cfg(feature = "write")]
fn pad(out: &mut Vec<u8>) {
    let end = padded(out.len() as u64);
    out.resize(usize::try_from(end).unwrap_or(out.len()), 0);
}

#[cfg(feature = "write")]
fn append_record(out: &mut Vec<u8>, name: &[u8], kind: u8, size: usize) -> Result<(), Error> {
    let mut record = [0; RECORD];
    let mut put = |at: usize, bytes: &[u8]| {
        let place = record.get_mut(at..at.saturating_add(bytes.len()));
        if let Some(place) = place {
            place.copy_from_slice(bytes);
        }
    };
    put(0, name);
    // Mode, owner and group.
    put(100, b"0000644\x000000000\x000000000\0");
    put(136, b"00000000000\0");
    put(156, &[kind]);
    put(257, b"ustar\x0000");
    set_size(&mut record, size as u64)?;
    out.extend_from_slice(&record);
    Ok(())
}

/// Writes the size of a file into its header, and the sum that follows from it.
#[cfg(feature = "write")]
pub(crate) fn set_size(record: &mut [u8; RECORD], size: u64) -> Result<(), Error> {
    // Eleven octal digits have room for less.
    const OCTAL: u64 = 1 << 33;
    let too_large = || Error::unrepresentable("a file is too large for a tar file");
    let field = match size < OCTAL {
        true => format!("{size:011o}\0").into_bytes(),
        // Binary, with the first bit set.
        false => [&[0x80, 0, 0, 0], size.to_be_bytes().as_slice()].concat(),
    };
    record
        .get_mut(124..136)
        .ok_or_else(too_large)?
        .copy_from_slice(&field);
    let sum = sum_of(record);
    let sum = format!("{sum:06o}\0 ");
    record
        .get_mut(148..156)
        .filter(|place| place.len() == sum.len())
        .ok_or_else(too_large)?
        .copy_from_slice(sum.as_bytes());
    Ok(())
}

/// Hands over the name and content of every file of a whole tar file.
#[cfg(feature = "write")]
pub(crate) fn each_file<'tar>(
    bytes: &'tar [u8],
    visit: &mut dyn FnMut(&[u8], &'tar [u8]),
) -> Result<(), Error> {
    each_record(bytes, &mut |_, file, _| {
        if let Some((path, content)) = file {
            visit(path, content);
        }
        Ok(())
    })
}

/// What a file becomes: its name and its content are given; `None` lets it be.
#[cfg(feature = "write")]
pub(crate) type Change<'c> = &'c mut dyn FnMut(&[u8], &[u8]) -> Result<Option<Vec<u8>>, Error>;

/// The tar file with other contents of some files. All else stays as it is, to the byte.
#[cfg(feature = "write")]
pub(crate) fn rewrite(bytes: &[u8], change: Change<'_>) -> Result<Vec<u8>, Error> {
    let mut out = Vec::with_capacity(bytes.len());
    let mut end = 0_usize;
    each_record(bytes, &mut |whole, file, has_size_elsewhere| {
        end = end.saturating_add(whole.len());
        let Some((path, content)) = file else {
            out.extend_from_slice(whole);
            return Ok(());
        };
        let (Some(new), Some(header)) = (change(path, content)?, whole.first_chunk::<RECORD>()) else {
            out.extend_from_slice(whole);
            return Ok(());
        };
        if has_size_elsewhere {
            return Err(
                Error::unsupported("a tar file that has sizes beside its headers is not changed")
                    .finding(String::from_utf8_lossy(path)),
            );
        }
        let mut header = *header;
        set_size(&mut header, new.len() as u64)?;
        out.extend_from_slice(&header);
        out.extend_from_slice(&new);
        pad(&mut out);
        Ok(())
    })?;
    out.extend_from_slice(bytes.get(end..).unwrap_or_default());
    Ok(out)
}

/// Is given a member as it stands in the file, the path and the content if it is a file, and whether its size is elsewhere
/// than in its header.
#[cfg(feature = "write")]
type VisitRecord<'a, 'tar> =
    &'a mut dyn FnMut(&'tar [u8], Option<(&[u8], &'tar [u8])>, bool) -> Result<(), Error>;

/// Hands over every member.
#[cfg(feature = "write")]
fn each_record<'tar>(bytes: &'tar [u8], visit: VisitRecord<'_, 'tar>) -> Result<(), Error> {
    let source = Source::new(bytes);
    let mut headers = Headers::default();
    let mut position = 0;
    loop {
        let record = source.get(position, RECORD as u64);
        let record = record.and_then(|record| record.bytes().first_chunk::<RECORD>());
        let record = record.ok_or_else(|| cut_off(position))?;
        // Before `read`, which takes what was said in front of the header and forgets it.
        let has_size_elsewhere = headers.size.is_some();
        let announced = headers.read(record, position)?;
        let size = match &announced {
            Announced::End => return Ok(()),
            Announced::File { size, .. } | Announced::Extension { size, .. } | Announced::Other { size } => {
                *size
            }
        };
        let start = position.saturating_add(RECORD as u64);
        let content = source.get(start, size).ok_or_else(|| cut_off(start))?.bytes();
        let end = start.saturating_add(padded(size));
        let whole = source.get(position, end.saturating_sub(position));
        let whole = whole.unwrap_or_else(|| source.from(position)).bytes();
        match announced {
            Announced::File { path, .. } => visit(whole, Some((&path, content)), has_size_elsewhere)?,
            Announced::Extension { kind, .. } => {
                headers.extend(kind, content);
                visit(whole, None, false)?;
            }
            _ => visit(whole, None, false)?,
        }
        position = end;
    }
}

/// Hands over every file.
fn parts<'data>(source: Source<'data>, reading: &mut Reading, visit: Visit<'_, 'data>) -> Result<(), Error> {
    let mut names = PartNames::default();
    let mut headers = Headers::default();
    let mut position = 0;
    let mut number = 0_usize;
    while !reading.is_exhausted() {
        let record = source.get(position, RECORD as u64);
        let Some(record) = record.and_then(|record| record.bytes().first_chunk::<RECORD>()) else {
            // A file without the records that end it is read by everybody.
            let is_end = position > 0 && position >= source.len();
            return if is_end {
                Ok(())
            } else {
                Err(cut_off(source.at(position)))
            };
        };
        let announced = headers.read(record, source.at(position));
        let start = position.saturating_add(RECORD as u64);
        let size = match announced {
            Ok(Announced::End) => return Ok(()),
            Ok(Announced::Extension { kind, size }) => {
                // No real one is longer; of one that is, the beginning has to do.
                let content = source.get(start, size.min(LONGEST_EXTENSION));
                headers.extend(kind, content.map_or(&[], Source::bytes));
                size
            }
            Ok(Announced::Other { size }) => size,
            Ok(Announced::File { path, size }) => {
                reading.count_strings(1)?;
                reading.count_metadata(path.len() as u64)?;
                let whole = source.need(start, size, "tar file is cut off", "size");
                let content = reading.accept(whole)?.unwrap_or_else(|| source.from(start));
                if !content.bytes().is_empty() {
                    let name = names.file(path.strip_prefix(b"./").unwrap_or(&path), number);
                    visit(reading, Part::new(number, name, content, Content::File));
                }
                number = number.saturating_add(1);
                size
            }
            Err(error) if error.kind() == ErrorKind::Unsupported => {
                reading.fault(error)?;
                number_in(record)
            }
            Err(error) => return Err(error),
        };
        position = start.saturating_add(padded(size));
    }
    Ok(())
}

/// The size that a header has, whatever it is the header of.
pub(crate) fn number_in(record: &[u8; RECORD]) -> u64 {
    number(record.get(124..136).unwrap_or_default()).unwrap_or_default()
}
