//! The entries of offload binaries one by one, without looking into their images.

use offkit_image::{Error, ImageFormat, Limits};

use crate::archive;
use crate::host;
use crate::inspect::embedded_in_bitcode;
use crate::offload_binary::{Binary, MAGIC, OffloadEntry, Sequence, inflated, read_all};
use crate::reading::Reading;
use crate::source::Source;

/// An entry of an offload binary in a file.
#[derive(Debug)]
#[non_exhaustive]
pub struct FoundEntry<'a, 'data> {
    /// The name of the archive's member that it comes from; `None` for a file that is no archive.
    pub member: Option<&'a str>,
    /// Whether it is in a section that is in memory when the program runs. Code that is still to be linked is in
    /// sections that are not.
    pub is_loaded: bool,
    /// The entry, as it is: its image may be a container itself.
    pub entry: OffloadEntry<'data>,
}

/// Hands over every entry of offload binaries in a file: of a sequence of offload binaries, in the sections of objects
/// and programs, in bitcode for a host, and in such files in archives.
///
/// Entries that come out of something compressed, or of bitcode, own their images. [`walk`](crate::walk) is for what is
/// inside of images. A file of another kind has no entries.
///
/// # Errors
///
/// The first fault, after all entries that could be read were handed over.
pub fn offload_entries<'data>(
    bytes: &'data [u8],
    limits: &Limits,
    visit: &mut dyn FnMut(FoundEntry<'_, 'data>),
) -> Result<(), Error> {
    let mut file = File {
        reading: Reading::tolerant(limits).for_file_of(bytes.len() as u64),
        fault: None,
        visit,
    };
    let result = file.open(None, Source::new(bytes), 0);
    file.keep_fault(None, result);
    file.fault.map_or(Ok(()), Err)
}

/// A file that is gone through.
struct File<'v, 'data> {
    reading: Reading,
    /// The first fault.
    fault: Option<Error>,
    visit: &'v mut dyn FnMut(FoundEntry<'_, 'data>),
}

impl<'data> File<'_, 'data> {
    /// Goes through the file, or a member of an archive.
    fn open(&mut self, member: Option<&str>, source: Source<'data>, depth: usize) -> Result<(), Error> {
        let bytes = source.bytes();
        // Before the depth is looked at: entries are not opened, so that this leads no deeper.
        if bytes.starts_with(&MAGIC) {
            return self.sequence(member, false, source);
        }
        if depth > self.reading.limits().max_nesting {
            return Ok(());
        }
        match ImageFormat::detect(bytes) {
            ImageFormat::Archive => self.archive(source, depth),
            ImageFormat::Bitcode => {
                for binaries in embedded_in_bitcode(bytes)? {
                    self.owned(member, false, &binaries)?;
                }
                Ok(())
            }
            _ if host::is_host(bytes) => self.sections(member, source),
            _ => Ok(()),
        }
    }

    fn archive(&mut self, source: Source<'data>, depth: usize) -> Result<(), Error> {
        self.enter(source)?;
        // `reading` is lent while headers are gone through, and needed again inside of the members.
        let mut members = Vec::new();
        archive::for_each(source, &mut self.reading, &mut |_, _, entry| {
            members.push((entry.name, entry.content));
        })?;
        for (name, content) in members {
            let name = String::from_utf8_lossy(name);
            let result = self.open(Some(&name), content, depth.saturating_add(1));
            self.keep_fault(Some(&name), result);
        }
        Ok(())
    }

    fn sections(&mut self, member: Option<&str>, source: Source<'data>) -> Result<(), Error> {
        self.enter(source)?;
        let mut sections = Vec::new();
        host::sections(source, &mut self.reading, &mut |reading, section| {
            if section.content.is_offloading() {
                // Each is kept until all are known, and many headers may name the same bytes.
                reading.count_strings(1)?;
                sections.push((section.is_loaded, section.source));
            }
            Ok(())
        })?;
        for (is_loaded, section) in sections {
            let result = self.sequence(member, is_loaded, section);
            self.keep_fault(member, result);
        }
        Ok(())
    }

    /// Goes through binaries that follow each other.
    fn sequence(
        &mut self,
        member: Option<&str>,
        is_loaded: bool,
        source: Source<'data>,
    ) -> Result<(), Error> {
        self.enter(source)?;
        let mut binaries = Sequence::new(source);
        while let Some(binary) = binaries.next(&mut self.reading)? {
            match binary {
                Binary::Plain(outline) => {
                    let visit = &mut self.visit;
                    outline.each_entry(&mut self.reading, |reading, entry| {
                        visit(FoundEntry {
                            member,
                            is_loaded,
                            entry: entry.decode(reading)?,
                        });
                        Ok(())
                    })?;
                }
                Binary::Compressed(compressed) => {
                    let whole = inflated(compressed.whole, self.reading.inflation_left());
                    let Some(whole) = self.reading.accept(whole)? else {
                        continue;
                    };
                    self.reading.count_inflated(whole.len() as u64);
                    self.owned(member, is_loaded, &whole)?;
                }
            }
        }
        Ok(())
    }

    /// The same for binaries that are not in the file as they are.
    fn owned(&mut self, member: Option<&str>, is_loaded: bool, bytes: &[u8]) -> Result<(), Error> {
        for found in read_all(Source::new(bytes), &mut self.reading)? {
            for entry in found.binary.entries {
                (self.visit)(FoundEntry {
                    member,
                    is_loaded,
                    entry: entry.into_owned(),
                });
            }
        }
        Ok(())
    }

    fn enter(&mut self, source: Source<'_>) -> Result<(), Error> {
        let counted = self.reading.count_entered(source.len());
        counted.map_err(|error| error.at(source.at(0)))
    }

    /// Keeps the first fault of all, saying in which member it is.
    fn keep_fault(&mut self, member: Option<&str>, result: Result<(), Error>) {
        let noted = self.reading.take_problems().into_iter();
        let first = noted.chain(result.err()).next();
        let first = first.map(|error| match member {
            Some(member) => error.within(member),
            None => error,
        });
        self.fault = self.fault.take().or(first);
    }
}
