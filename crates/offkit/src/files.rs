//! Files in and out: mapped when read, replaced as a whole when written.

use std::fs::File;
use std::io::{self, Read, Write};
use std::ops::Deref;
use std::path::{Path, PathBuf};

use memmap2::Mmap;

use crate::array::{Array, npy};

/// The content of a file, mapped where it can be.
#[derive(Debug)]
pub(crate) enum Content {
    Mapped(Mmap),
    Read(Vec<u8>),
}

impl Deref for Content {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            Self::Mapped(map) => map,
            Self::Read(bytes) => bytes,
        }
    }
}

impl AsRef<[u8]> for Content {
    fn as_ref(&self) -> &[u8] {
        self
    }
}

/// Something went wrong with a file as a whole.
#[derive(Debug, thiserror::Error)]
#[error("cannot {action} `{}`", .path.display())]
pub(crate) struct FileError {
    action: &'static str,
    path: PathBuf,
    source: io::Error,
}

/// Opens a file; `-` is standard input.
pub(crate) fn open(path: &Path) -> Result<Content, FileError> {
    let failed = |source| FileError {
        action: "read",
        path: path.to_owned(),
        source,
    };
    if path == Path::new("-") {
        let mut bytes = Vec::new();
        io::stdin().lock().read_to_end(&mut bytes).map_err(failed)?;
        return Ok(Content::Read(bytes));
    }
    let mut file = File::open(path).map_err(failed)?;
    let metadata = file.metadata().map_err(failed)?;
    if metadata.is_dir() {
        return Err(failed(io::ErrorKind::IsADirectory.into()));
    }
    // Pipes and the like have no length to map, and an empty mapping is an error.
    if !metadata.is_file() || metadata.len() == 0 {
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes).map_err(failed)?;
        return Ok(Content::Read(bytes));
    }
    // SAFETY: the mapping is private and read only. Another process that cuts the file short while
    // it is mapped would end this one with a bus error, as it would any program that maps its input;
    // no memory of this process can be changed that way.
    let map = unsafe { Mmap::map(&file) }.map_err(failed)?;
    Ok(Content::Mapped(map))
}

/// Why a `.npy` file cannot be used.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ArrayError {
    #[error(transparent)]
    File(#[from] FileError),
    #[error("{}: {message}", .path.display())]
    Content { path: PathBuf, message: String },
}

/// Reads an array from a `.npy` file.
pub(crate) fn read_array(path: &Path) -> Result<Array, ArrayError> {
    let content = open(path)?;
    npy::parse(&content).map_err(|message| ArrayError::Content {
        path: path.to_owned(),
        message,
    })
}

/// Writes a file as a whole: a temporary file beside it takes its place once all is written, so that
/// nothing is lost or left half-written. `-` is standard output.
pub(crate) fn write(path: &Path, bytes: &[u8]) -> Result<(), FileError> {
    let failed = |source| FileError {
        action: "write",
        path: path.to_owned(),
        source,
    };
    if path == Path::new("-") {
        let mut output = io::stdout().lock();
        return output
            .write_all(bytes)
            .and_then(|()| output.flush())
            .map_err(failed);
    }
    // A device or a pipe is written to, not replaced.
    if path.metadata().is_ok_and(|metadata| !metadata.is_file()) {
        return std::fs::write(path, bytes).map_err(failed);
    }
    let folder = match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    let mut builder = tempfile::Builder::new();
    builder.prefix(".offkit-");
    // Temporary files are private by default; what is made here is an ordinary file.
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    let mut file = builder.tempfile_in(folder).map_err(failed)?;
    file.write_all(bytes).map_err(failed)?;
    file.persist(path).map_err(|error| failed(error.error))?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn writing_replaces_the_file_and_leaves_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("out.bin");
        write(&path, b"old").unwrap();
        write(&path, b"new").unwrap();
        assert_eq!(&*open(&path).unwrap(), b"new");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_failed_write_keeps_what_was_there() {
        let folder = tempfile::tempdir().unwrap();
        let error = write(&folder.path().join("missing/out.bin"), b"new").unwrap_err();
        assert!(error.to_string().starts_with("cannot write `"), "{error}");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    }

    #[test]
    fn empty_files_and_folders_are_told_apart() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("empty");
        std::fs::write(&path, b"").unwrap();
        assert!(open(&path).unwrap().is_empty());
        assert!(open(folder.path()).is_err());
    }
}
