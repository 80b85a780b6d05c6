//! A warm cache as a file: entries one after the other.

use std::io::{self, Write};

use crate::entry::{BadEntry, Entry};
use crate::key::Digest;
use crate::signature::{Signer, Trust};
use crate::{Cache, Found};

/// What came of a file.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct Imported {
    /// Entries that are new here.
    pub added: Vec<Digest>,
    /// How many were here already; these stay as they are.
    pub known: usize,
    /// Entries that were refused, by what they say they are, and why.
    pub refused: Vec<(String, Refused)>,
}

/// Why an entry of a file is refused.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Refused {
    /// It is bad.
    #[error(transparent)]
    Bad(#[from] BadEntry),
    /// It means nothing here.
    #[error("it says something of the machine it was made on")]
    Local,
    /// It cannot be written.
    #[error("it cannot be written: {0}")]
    Write(#[from] io::Error),
}

impl Cache {
    /// Writes entries that mean something on other machines, signed if there is a signer; how many.
    ///
    /// # Errors
    ///
    /// The output cannot be written.
    pub fn export<'a>(
        &self,
        entries: impl IntoIterator<Item = &'a Found>,
        signer: Option<&Signer>,
        output: &mut dyn Write,
    ) -> io::Result<usize> {
        let mut count = 0_usize;
        for found in entries {
            // What is gone or bad by now is not there to be written.
            let Some(mut entry) = self.read(found.name) else {
                continue;
            };
            if !entry.header.key.kind.travels() {
                continue;
            }
            if let Some(signer) = signer {
                signer.sign(&mut entry);
            }
            output.write_all(entry.bytes())?;
            count = count.saturating_add(1);
        }
        Ok(count)
    }

    /// Adds the entries of a file that are good, and signed by a key that is trusted if there is [`Trust`].
    pub fn import(&self, mut bytes: &[u8], trust: Option<&Trust>) -> Imported {
        let mut imported = Imported::default();
        while !bytes.is_empty() {
            let (own, rest) = match Entry::split(bytes) {
                Ok(split) => split,
                Err(error) => {
                    // Where the next one begins is not known.
                    imported
                        .refused
                        .push(("the rest of the file".into(), error.into()));
                    break;
                }
            };
            bytes = rest;
            let entry = match Entry::read(own.to_vec()) {
                Ok(entry) => entry,
                Err(error) => {
                    imported.refused.push(("an entry".into(), error.into()));
                    continue;
                }
            };
            match self.take(&entry, trust) {
                Ok(true) => imported.added.push(entry.name()),
                Ok(false) => imported.known = imported.known.saturating_add(1),
                Err(why) => imported.refused.push((entry.header.key.subject.clone(), why)),
            }
        }
        imported
    }

    /// Adds an entry of elsewhere, unless there is one of that name; whether there was not.
    fn take(&self, entry: &Entry, trust: Option<&Trust>) -> Result<bool, Refused> {
        // Otherwise a file could say that a plugin was tried here and does no harm.
        if !entry.header.key.kind.travels() {
            return Err(Refused::Local);
        }
        trust.map_or(Ok(()), |trust| trust.check(entry))?;
        if self.read(entry.name()).is_some() {
            return Ok(false);
        }
        self.store(entry)?;
        Ok(true)
    }
}
