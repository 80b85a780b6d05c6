//! Compressed files, and the archives in them, unpacked from front to back: `.tar.xz`, layers of container images,
//! the contents of `.deb`, `.rpm` and `.conda` packages.
//!
//! Of what comes out, one file is in memory at a time, and only if it may be or hold device code.

use std::cell::Cell;
use std::io::{self, Read};

use offkit_image::{Compression, ContainerKind, Error, ErrorKind, PartName};

use crate::compression;
use crate::format::{ContainerFormat, Standing};
use crate::part_names::PartNames;
use crate::reading::Reading;
use crate::source::Source;
use crate::unpacked::{Unpacked, VisitUnpacked, failed};
use crate::{cpio, tar};

/// By so many bytes it is told what a file is.
const HEAD: usize = 1 << 10;

/// A compressed file: an archive, or what may be or hold device code.
pub(crate) static FORMAT: ContainerFormat = ContainerFormat {
    kind: ContainerKind::Compressed,
    standing: Standing::File,
    is: is_stream,
    unpack: Some(unpack),
    ..ContainerFormat::USUAL
};

/// The method that a stream is compressed by.
fn method_of(bytes: &[u8]) -> Option<Compression> {
    const MAGICS: [(&[u8], Compression); 4] = [
        // With the method, of which gzip has only this one: two bytes alone begin too much else.
        (&[0x1f, 0x8b, 8], Compression::Gzip),
        (&[0xfd, b'7', b'z', b'X', b'Z', 0], Compression::Xz),
        (&[0x28, 0xb5, 0x2f, 0xfd], Compression::Zstd),
        (b"BZh", Compression::Bzip2),
    ];
    let mut magics = MAGICS.into_iter();
    magics
        .find(|(magic, _)| bytes.starts_with(magic))
        .map(|(_, method)| method)
}

/// Whether the bytes begin like a compressed file: something comes out of them, or would if there were more.
fn is_stream(bytes: &[u8]) -> bool {
    // Text that only begins like this has no block behind it.
    const BZIP2_BLOCK: &[u8] = &[0x31, 0x41, 0x59, 0x26, 0x53, 0x59];
    let Some(method) = method_of(bytes) else {
        return false;
    };
    // Nothing here unpacks it. That it is said to be such a stream lets whoever opens it say so.
    if method == Compression::Bzip2 {
        return bytes.get(4..10) == Some(BZIP2_BLOCK);
    }
    let mut bytes = bytes;
    // A method that is not built in: whoever opens the file gets the error that says so.
    let Ok(mut stream) = compression::reader(method, &mut bytes) else {
        return true;
    };
    let (head, result) = head_of(&mut stream);
    let is_cut_off = |error: io::Error| error.kind() == io::ErrorKind::UnexpectedEof;
    !head.is_empty() || result.is_err_and(is_cut_off)
}

fn is_archive(head: &[u8]) -> bool {
    tar::is_tar(head) || cpio::is_cpio(head)
}

/// What a stream begins with, and whether it could be read.
fn head_of(stream: &mut dyn Read) -> (Vec<u8>, io::Result<()>) {
    let mut head = Vec::new();
    let result = stream.take(HEAD as u64).read_to_end(&mut head);
    (head, result.map(|_| ()))
}

/// Hands over the files that come out.
pub(crate) fn unpack(
    source: Source<'_>,
    reading: &mut Reading,
    visit: VisitUnpacked<'_>,
) -> Result<(), Error> {
    let Some(method) = method_of(source.bytes()) else {
        return Err(
            Error::unsupported("content is compressed in a way that is not read")
                .at(source.at(0))
                .expecting("gzip, xz or zstd"),
        );
    };
    let left = Cell::new(reading.inflation_left());
    let mut unpacking = Unpacking {
        left: &left,
        counted: left.get(),
        names: PartNames::default(),
        number: 0,
        method,
        visit,
    };
    let mut rest = source.bytes();
    let result = unpacking.stream(method, &mut rest, &[], 0, reading);
    unpacking.count(reading);
    result.map_err(|error| error.or_at(source.at(0)))
}

/// What a file becomes: its name as that of a part and its content are given; `None` lets it be.
#[cfg(feature = "write")]
pub(crate) type ChangeOfPart<'c> = &'c mut dyn FnMut(&PartName, &[u8]) -> Result<Option<Vec<u8>>, Error>;

/// A tar file that zstd compressed, with other contents of some files: the name of each is given as [`unpack`] gives it,
/// and its content. Compressed again as small as that goes, as conda's tools do.
#[cfg(feature = "write")]
pub(crate) fn rewrite(source: Source<'_>, most: u64, change: ChangeOfPart<'_>) -> Result<Vec<u8>, Error> {
    let mut names = Names::default();
    rewrite_by_path(source, most, &mut |path, content| match names.of(path, content) {
        Some(name) => change(&name, content),
        None => Ok(None),
    })
}

/// The same of a tar file that is decompressed already, and compressed even if nothing changes.
#[cfg(feature = "write")]
pub(crate) fn pack_changed(tar: &[u8], change: ChangeOfPart<'_>) -> Result<Vec<u8>, Error> {
    let mut names = Names::default();
    let new = tar::rewrite(tar, &mut |path, content| match names.of(path, content) {
        Some(name) => change(&name, content),
        None => Ok(None),
    });
    pack(&new?)
}

/// Hands over each file of a tar file, named as [`unpack`] names it.
#[cfg(feature = "write")]
pub(crate) fn each_part<'tar>(
    tar: &'tar [u8],
    visit: &mut dyn FnMut(PartName, &'tar [u8]) -> Result<(), Error>,
) -> Result<(), Error> {
    let mut names = Names::default();
    let mut result = Ok(());
    tar::each_file(tar, &mut |path, content| {
        if result.is_ok()
            && let Some(name) = names.of(path, content)
        {
            result = visit(name, content);
        }
    })?;
    result
}

/// What files of a tar file are called.
#[cfg(feature = "write")]
#[derive(Default)]
struct Names {
    names: PartNames,
    number: usize,
}

#[cfg(feature = "write")]
impl Names {
    /// `None` for what is an archive or compressed by itself.
    fn of(&mut self, path: &[u8], content: &[u8]) -> Option<PartName> {
        self.number = self.number.saturating_add(1);
        let head = content.get(..HEAD).unwrap_or(content);
        if is_archive(head) || is_stream(head) {
            return None;
        }
        let path = path.strip_prefix(b"./").unwrap_or(path);
        Some(self.names.file(path, self.number))
    }
}

/// The tar file that zstd compressed.
#[cfg(feature = "write")]
pub(crate) fn tar_in(source: Source<'_>, most: u64) -> Result<Vec<u8>, Error> {
    let unsupported = || {
        Error::unsupported("of compressed files, only tar files that zstd compressed are changed")
            .at(source.at(0))
    };
    if method_of(source.bytes()) != Some(Compression::Zstd) {
        return Err(unsupported());
    }
    let whole = compression::inflate(Compression::Zstd, source.bytes(), None, most)?;
    match tar::is_tar(&whole) {
        true => Ok(whole),
        false => Err(unsupported()),
    }
}

/// Compresses a tar file as conda's tools do.
#[cfg(feature = "write")]
fn pack(tar: &[u8]) -> Result<Vec<u8>, Error> {
    const LEVEL: i32 = 19;
    compression::zstd::compress(tar, Some(LEVEL), true)
}

/// The same by the paths in the archive.
#[cfg(feature = "write")]
pub(crate) fn rewrite_by_path(
    source: Source<'_>,
    most: u64,
    change: tar::Change<'_>,
) -> Result<Vec<u8>, Error> {
    let whole = tar_in(source, most)?;
    let new = tar::rewrite(&whole, change)?;
    match new == whole {
        // Compressed again, the same content would be other bytes.
        true => Ok(source.bytes().to_vec()),
        false => pack(&new),
    }
}

/// Counts what comes out of all streams together, and ends them where that is too much.
struct Metered<'l, R> {
    inner: R,
    left: &'l Cell<u64>,
}

impl<R: Read> Read for Metered<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(buffer)?;
        let left = self.left.get().checked_sub(count as u64);
        self.left.set(left.unwrap_or_default());
        match left {
            Some(_) => Ok(count),
            None => Err(io::ErrorKind::FileTooLarge.into()),
        }
    }
}

struct Unpacking<'l, 'v> {
    left: &'l Cell<u64>,
    /// What was left when it was counted last.
    counted: u64,
    names: PartNames,
    number: usize,
    method: Compression,
    visit: VisitUnpacked<'v>,
}

impl Unpacking<'_, '_> {
    fn count(&mut self, reading: &mut Reading) {
        // Two counts of one budget: the stream's goes on with every byte, also those that visitors read, while `reading`
        // counts what visitors unpack of these. Both are brought together where the visitor takes over, and again behind it.
        reading.count_inflated(self.counted.saturating_sub(self.left.get()));
        self.left.set(reading.inflation_left());
        self.counted = self.left.get();
    }

    /// Unpacks a stream; what comes out is at `path`.
    fn stream(
        &mut self,
        method: Compression,
        stream: &mut dyn Read,
        path: &[u8],
        depth: usize,
        reading: &mut Reading,
    ) -> Result<(), Error> {
        let inner = compression::reader(method, stream)?;
        let mut stream = Metered {
            inner,
            left: self.left,
        };
        let (head, result) = head_of(&mut stream);
        // Where something came out before the damage, the files in that are handed over first: the
        // error comes again when the stream is read on.
        if head.is_empty()
            && let Err(error) = &result
        {
            return Err(failed(error, || compression::damaged(method, error)));
        }
        let mut stream = Counted::new(head.as_slice().chain(stream));
        if is_archive(&head) {
            return self.archive(&head, &mut stream, path, depth, reading);
        }
        self.file(&mut stream, path, depth, reading)
    }

    /// Goes through an archive that begins with `head`.
    fn archive(
        &mut self,
        head: &[u8],
        stream: &mut Counted<impl Read>,
        path: &[u8],
        depth: usize,
        reading: &mut Reading,
    ) -> Result<(), Error> {
        if tar::is_tar(head) {
            self.tar(stream, path, depth, reading)
        } else {
            self.cpio(stream, path, depth, reading)
        }
    }

    fn tar(
        &mut self,
        stream: &mut Counted<impl Read>,
        path: &[u8],
        depth: usize,
        reading: &mut Reading,
    ) -> Result<(), Error> {
        let mut headers = tar::Headers::default();
        while !reading.is_exhausted() {
            let position = stream.position;
            let mut record = [0; tar::RECORD];
            if !stream.fill(&mut record)? {
                return Ok(());
            }
            let size = match headers.read(&record, position) {
                Ok(tar::Announced::End) => return Ok(()),
                Ok(tar::Announced::Extension { kind, size }) => {
                    let content = stream.bytes(size.min(tar::LONGEST_EXTENSION))?;
                    headers.extend(kind, &content);
                    stream.skip(size.saturating_sub(tar::LONGEST_EXTENSION))?;
                    size
                }
                Ok(tar::Announced::Other { size }) => stream.skip(size).map(|()| size)?,
                Ok(tar::Announced::File { path: name, size }) => {
                    self.member(stream, size, path, &name, depth, reading)?;
                    size
                }
                Err(error) if error.kind() == ErrorKind::Unsupported => {
                    reading.fault(error)?;
                    // Only this file is not read; its content is still there to be passed over.
                    let size = tar::number_in(&record);
                    stream.skip(size).map(|()| size)?
                }
                Err(error) => return Err(error),
            };
            stream.skip(tar::padded(size).saturating_sub(size))?;
        }
        Ok(())
    }

    fn cpio(
        &mut self,
        stream: &mut Counted<impl Read>,
        path: &[u8],
        depth: usize,
        reading: &mut Reading,
    ) -> Result<(), Error> {
        while !reading.is_exhausted() {
            let position = stream.position;
            let mut header = [0; cpio::HEADER];
            if !stream.fill(&mut header)? {
                return Ok(());
            }
            let header = cpio::Header::read(&header, position)?;
            let name = stream.bytes(header.name_size)?;
            let name = name.strip_suffix(b"\0").unwrap_or(&name);
            if name == cpio::LAST {
                return Ok(());
            }
            stream.skip(header.name_padding())?;
            if header.is_file {
                self.member(stream, header.size, path, name, depth, reading)?;
            } else {
                stream.skip(header.size)?;
            }
            stream.skip(header.padding())?;
        }
        Ok(())
    }

    /// Looks at a member of an archive, and leaves the stream behind it.
    fn member(
        &mut self,
        stream: &mut Counted<impl Read>,
        size: u64,
        path: &[u8],
        name: &[u8],
        depth: usize,
        reading: &mut Reading,
    ) -> Result<(), Error> {
        reading.count_strings(1)?;
        reading.count_metadata((path.len() as u64).saturating_add(name.len() as u64))?;
        let name = name.strip_prefix(b"./").unwrap_or(name);
        let path = match path {
            [] => name.to_vec(),
            folder => [folder, b"/", name].concat(),
        };
        self.number = self.number.saturating_add(1);
        // `take` keeps whoever reads the member from what follows it, and the place tells how much
        // of it was left.
        let end = stream.position.saturating_add(size);
        let mut content = Counted::new((&mut *stream).take(size));
        let result = self.file(&mut content, &path, depth, reading);
        // What is wrong with one file is no reason to leave out the others, as long as there is something to read.
        if let Err(error) = result {
            match self.left.get() {
                0 => return Err(error),
                _ => reading.fault(error)?,
            }
        }
        // Whoever looked at it has read as much as it wanted.
        stream.skip(end.saturating_sub(stream.position))
    }

    /// Hands over a file; archives and compressed files are gone through.
    fn file(
        &mut self,
        stream: &mut Counted<impl Read>,
        path: &[u8],
        depth: usize,
        reading: &mut Reading,
    ) -> Result<(), Error> {
        let head = stream.bytes_up_to(HEAD)?;
        let depth = depth.saturating_add(1);
        let is_compressed = method_of(&head).filter(|_| is_stream(&head));
        if depth > reading.limits().max_nesting {
            let limit = reading.limits().max_nesting;
            return Err(
                Error::new(ErrorKind::LimitExceeded, "containers are nested too deep")
                    .field(String::from_utf8_lossy(path).into_owned())
                    .expecting(format!("at most {limit}")),
            );
        }
        // What `Counted` and `chain` add for each level is a type of its own otherwise.
        let mut whole: Box<dyn Read + '_> = Box::new(head.as_slice().chain(stream));
        if let Some(method) = is_compressed {
            let place = |error: Error| error.within(String::from_utf8_lossy(path));
            return self
                .stream(method, &mut whole, path, depth, reading)
                .map_err(place);
        }
        if is_archive(&head) {
            return self.archive(&head, &mut Counted::new(whole), path, depth, reading);
        }
        let name = match path {
            // One file that is compressed alone is at the place of the stream.
            [] => PartName::Same,
            path => self.names.file(path, self.number),
        };
        self.count(reading);
        let file = Unpacked {
            name,
            method: self.method,
            head: &head,
            content: &mut whole,
        };
        (self.visit)(reading, file);
        self.count(reading);
        Ok(())
    }
}

/// A stream that knows its place.
struct Counted<R> {
    inner: R,
    position: u64,
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(buffer)?;
        self.position = self.position.saturating_add(count as u64);
        Ok(count)
    }
}

impl<R: Read> Counted<R> {
    fn new(inner: R) -> Self {
        Self { inner, position: 0 }
    }

    fn failed(&self, error: &io::Error) -> Error {
        failed(error, || {
            Error::malformed("compressed file cannot be unpacked to its end")
                .field(format!("{:#x} bytes were unpacked", self.position))
                .finding(error)
        })
    }

    fn cut_off(&self) -> Error {
        Error::new(ErrorKind::OutOfBounds, "archive in a compressed file is cut off")
            .field(format!("{:#x} bytes were unpacked", self.position))
    }

    /// Reads a header; `false` at the end.
    fn fill(&mut self, header: &mut [u8]) -> Result<bool, Error> {
        let found = self.bytes_up_to(header.len())?;
        if found.is_empty() {
            return Ok(false);
        }
        if found.len() != header.len() {
            return Err(self.cut_off());
        }
        header.copy_from_slice(&found);
        Ok(true)
    }

    fn bytes_up_to(&mut self, most: usize) -> Result<Vec<u8>, Error> {
        let mut bytes = Vec::new();
        let result = self.take(most as u64).read_to_end(&mut bytes);
        match result {
            Ok(_) => Ok(bytes),
            Err(error) => Err(self.failed(&error)),
        }
    }

    fn bytes(&mut self, size: u64) -> Result<Vec<u8>, Error> {
        let bytes = self.bytes_up_to(usize::try_from(size).unwrap_or(usize::MAX))?;
        match bytes.len() as u64 == size {
            true => Ok(bytes),
            false => Err(self.cut_off()),
        }
    }

    fn skip(&mut self, size: u64) -> Result<(), Error> {
        let skipped = io::copy(&mut self.take(size), &mut io::sink());
        match skipped {
            Ok(skipped) if skipped == size => Ok(()),
            Ok(_) => Err(self.cut_off()),
            Err(error) => Err(self.failed(&error)),
        }
    }
}
