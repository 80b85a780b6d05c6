//! Modules to be read, as the program that asks has them.

use std::borrow::Cow;
use std::path::{Path, PathBuf};
use std::{fs, io};

/// A module for the worker to read: bitcode or LLVM's text form.
#[derive(Clone, Debug)]
pub struct Source<'a> {
    /// What messages call it.
    pub name: String,
    /// Where it is.
    pub content: Content<'a>,
}

/// Where a module is.
#[derive(Clone, Debug)]
pub enum Content<'a> {
    /// In a file, of which the worker reads what it needs, when it needs it.
    File(PathBuf),
    /// In memory.
    Bytes(Cow<'a, [u8]>),
}

impl Source<'static> {
    /// A file, which messages call by its path.
    pub fn file(path: impl Into<PathBuf>) -> Self {
        let path = path.into();
        Self {
            name: path.display().to_string(),
            content: Content::File(path),
        }
    }
}

impl<'a> Source<'a> {
    /// A module in memory.
    pub fn bytes(name: impl Into<String>, bytes: impl Into<Cow<'a, [u8]>>) -> Self {
        Self {
            name: name.into(),
            content: Content::Bytes(bytes.into()),
        }
    }

    /// The module's bytes.
    ///
    /// # Errors
    ///
    /// The file cannot be read.
    pub fn read(&self) -> io::Result<Cow<'_, [u8]>> {
        match &self.content {
            Content::Bytes(bytes) => Ok(Cow::Borrowed(bytes)),
            Content::File(path) => fs::read(path).map(Cow::Owned),
        }
    }

    /// What the worker is given: a file as its path where that can travel, as text, and bytes otherwise.
    pub(crate) fn for_worker(&self) -> io::Result<Content<'_>> {
        match &self.content {
            Content::File(path) if is_text(path) => Ok(Content::File(path.clone())),
            Content::File(_) | Content::Bytes(_) => Ok(Content::Bytes(self.read()?)),
        }
    }
}

// Requests are JSON, whose texts are Unicode: names of files on Unix may be any bytes.
fn is_text(path: &Path) -> bool {
    path.to_str().is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_whose_name_is_no_text_is_read_here() {
        let is_file = |source: &Source<'_>| matches!(source.for_worker(), Ok(Content::File(_)));
        assert!(is_file(&Source::file("a.bc")));
        assert!(!is_file(&Source::bytes("a.bc", b"BC".as_slice())));
        #[cfg(unix)]
        {
            use std::os::unix::ffi::OsStrExt;
            let folder = tempfile::tempdir().unwrap();
            let named = folder.path().join(std::ffi::OsStr::from_bytes(b"\xff.bc"));
            fs::write(&named, "BC").unwrap();
            let source = Source::file(named);
            let Content::Bytes(bytes) = source.for_worker().unwrap() else {
                panic!("a path")
            };
            assert_eq!(*bytes, *b"BC");
        }
    }
}
