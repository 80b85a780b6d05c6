//! Files in and out: mapped when read, replaced as a whole when written.

use std::fs::File;
use std::io::{self, IoSlice, Read, Write};
use std::ops::{Deref, Range};
use std::path::{Path, PathBuf};

use memmap2::{Mmap, UncheckedAdvice};

use crate::temporary::Replacement;

/// The content of a file, mapped where it can be.
#[derive(Debug)]
pub enum Content {
    /// A mapping of the file, which only this module makes: [`release`](Self::release) relies on there being a file.
    #[non_exhaustive]
    Mapped(Mmap),
    /// A copy in memory.
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

impl Content {
    /// Tells the system that a part of the file is not needed in memory for now. It comes back when it is
    /// looked at.
    pub fn release(&self, part: Range<usize>) {
        let Self::Mapped(map) = self else { return };
        if part.end > map.len() {
            return;
        }
        // SAFETY: the mapping is of a file and read only, so nothing is lost: a page that is used again is
        // read from the file again.
        let released =
            unsafe { map.unchecked_advise_range(UncheckedAdvice::DontNeed, part.start, part.len()) };
        // It is but an advice.
        drop(released);
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
pub struct FileError {
    action: &'static str,
    path: PathBuf,
    source: io::Error,
}

impl FileError {
    /// Whether it is standard input or output that something is wrong with.
    pub fn is_of_standard_stream(&self) -> bool {
        is_standard_stream(&self.path)
    }

    /// The system's reason alone, as LLVM prints it: without the number of the error.
    pub fn reason(&self) -> String {
        let text = self.source.to_string();
        match text.split_once(" (os error") {
            Some((reason, _)) => reason.to_owned(),
            None => text,
        }
    }
}

/// Opens a file; `-` is standard input.
pub fn open(path: &Path) -> Result<Content, FileError> {
    let failed = |source| FileError {
        action: "read",
        path: path.to_owned(),
        source,
    };
    if is_standard_stream(path) {
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
    map(&file).map_err(failed)
}

/// Maps a regular file that is not empty.
pub fn map(file: &File) -> io::Result<Content> {
    // SAFETY: nothing in this process writes to the file while it is mapped: it is opened for reading, or it was
    // written before and is not written again, and outputs become new files that are renamed. Nobody can keep another
    // process from it: what that one writes in place is seen here, for the mapping is shared (in a private one too,
    // which promises nothing about pages that were not written to), and where it cuts the file short the next look at
    // what is gone ends this process with a bus error. The readers take every byte for hostile, check what they have
    // read and have no unsafe code, so that both cost this run its result and nothing else. A program of one command,
    // as a linker, may take that; libraries that live in others' processes map files for the moment in which they go
    // through them, and read what they need later (`offkit_runtime::ImageRegistry::open`).
    unsafe { Mmap::map(file) }.map(Content::Mapped)
}

/// Opens a file that another one names, which must not be a device or a pipe: reading it might never end.
pub fn open_regular(path: &Path) -> Result<Content, FileError> {
    let failed = |source| FileError {
        action: "read",
        path: path.to_owned(),
        source,
    };
    let metadata = path.metadata().map_err(failed)?;
    if !metadata.is_file() {
        return Err(failed(io::Error::other("not a regular file")));
    }
    open(path)
}

/// Writes the chunks, one after the other, as a file: a temporary file beside it takes its place once
/// all is written, so that nothing is lost or left half-written.
///
/// A symbolic link stays and what it points to is replaced. What is no regular file, such as a pipe, is
/// written to; `-` is standard output.
///
/// It is not waited until the disk has it, as compilers do not: what is written can be made again. [`replace()`] is for
/// what cannot.
pub fn write(path: &Path, chunks: &[&[u8]]) -> Result<(), FileError> {
    write_chunks(path, chunks, Durability::MadeAgain).map_err(|source| FileError {
        action: "write",
        path: path.to_owned(),
        source,
    })
}

/// The same for a file that may be all there is of its content: after a crash or a loss of power either the old or the
/// new content is there, and once this returns the new.
pub fn replace(path: &Path, chunks: &[&[u8]]) -> Result<(), FileError> {
    write_chunks(path, chunks, Durability::Kept).map_err(|source| FileError {
        action: "write",
        path: path.to_owned(),
        source,
    })
}

/// Whether it is waited until the disk has what is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Durability {
    /// It can be made again: see [`write()`].
    MadeAgain,
    /// It may be all there is of its content: see [`replace()`].
    Kept,
}

/// A file that is written and not yet in its place, so that it can be read back before.
#[derive(Debug)]
pub struct Staged {
    content: Content,
    /// The file beside the one whose place it takes; `None` where it is to be copied, as to standard output.
    beside: Option<(Replacement, PathBuf)>,
}

impl Staged {
    /// Writes the chunks, one after the other, beside the file `path`, or where there is none or it is written to and not
    /// replaced, as a temporary file. `passed` is told of bytes that were written.
    pub fn write(path: Option<&Path>, chunks: &[&[u8]], passed: &dyn Fn(&[u8])) -> Result<Self, FileError> {
        let failed = |source| FileError {
            action: "write",
            path: path.unwrap_or(Path::new("a temporary file")).to_owned(),
            source,
        };
        Self::write_to(path, chunks, passed).map_err(failed)
    }

    fn write_to(path: Option<&Path>, chunks: &[&[u8]], passed: &dyn Fn(&[u8])) -> io::Result<Self> {
        let path = path.filter(|path| !is_standard_stream(path));
        let target = path.map(replaced).transpose()?.flatten();
        let Some(target) = target else {
            let written = scratch().and_then(|mut file| {
                write_passing(&mut file, chunks, passed)?;
                map_any(&file)
            });
            return Ok(Self {
                // Where there is no room for temporary files, memory may do.
                content: written.unwrap_or_else(|_| Content::Read(chunks.concat())),
                beside: None,
            });
        };
        let mut file = beside(&target)?;
        write_passing(file.file(), chunks, passed)?;
        Ok(Self {
            content: map_any(file.file())?,
            beside: Some((file, target)),
        })
    }

    /// Puts the chunks together in memory, so that they can be read back where nothing is to be written.
    #[must_use]
    pub fn in_memory(chunks: &[&[u8]]) -> Self {
        Self {
            content: Content::Read(chunks.concat()),
            beside: None,
        }
    }

    /// What was written.
    #[must_use]
    pub fn content(&self) -> &Content {
        &self.content
    }

    /// Puts it in the place of the file `path`, which it was written for.
    pub fn put_in_place(self, path: &Path, durability: Durability) -> Result<(), FileError> {
        let put = || match self.beside {
            Some((file, target)) => persist(file, &target, durability),
            None => write_chunks(path, &[&self.content], durability),
        };
        put().map_err(|source| FileError {
            action: "write",
            path: path.to_owned(),
            source,
        })
    }
}

/// A file without a name, gone when nobody uses it any more. In many systems `/tmp` is memory, and `/var/tmp` is not.
pub fn scratch() -> io::Result<File> {
    match std::env::var_os("TMPDIR") {
        None => tempfile::tempfile_in("/var/tmp").or_else(|_| tempfile::tempfile()),
        Some(_) => tempfile::tempfile(),
    }
}

/// Whether it is waited until the disk has a file that is made of another: it can be made again as long as that one is
/// there, and takes nobody's place.
#[must_use]
pub fn durability(output: &Path, input: &Path) -> Durability {
    match output.exists() || is_standard_stream(input) {
        true => Durability::Kept,
        false => Durability::MadeAgain,
    }
}

/// Maps a regular file, which may be empty.
pub fn map_any(file: &File) -> io::Result<Content> {
    match file.metadata()?.len() {
        0 => Ok(Content::Read(Vec::new())),
        _ => map(file),
    }
}

/// An empty file beside another one whose place it is to take, with that one's permissions.
fn beside(target: &Path) -> io::Result<Replacement> {
    let mut file = Replacement::new(folder(target)).map_err(without_path)?;
    // Before there is any content: what its owner alone may read is not open to others meanwhile.
    if let Ok(metadata) = target.metadata() {
        file.file().set_permissions(metadata.permissions())?;
    }
    Ok(file)
}

/// Puts a file that is written in the place of another one.
fn persist(mut file: Replacement, target: &Path, durability: Durability) -> io::Result<()> {
    if durability == Durability::Kept {
        // Before the name: it must not stand for a file whose content never reached the disk.
        file.file().sync_all()?;
    }
    file.persist(target)?;
    #[cfg(unix)]
    if durability == Durability::Kept {
        // The name is part of the folder.
        File::open(folder(target))?.sync_all()?;
    }
    Ok(())
}

/// Writes the chunks, and tells of those that were written, so that their pages need not stay in memory.
fn write_passing(output: &mut File, chunks: &[&[u8]], passed: &dyn Fn(&[u8])) -> io::Result<()> {
    const TOGETHER: usize = 1 << 24;
    let mut batch = Vec::new();
    let mut size = 0;
    for piece in chunks.iter().flat_map(|chunk| chunk.chunks(TOGETHER)) {
        batch.push(piece);
        size += piece.len();
        if size >= TOGETHER {
            write_all(output, &batch)?;
            batch.drain(..).for_each(passed);
            size = 0;
        }
    }
    write_all(output, &batch)
}

fn write_chunks(path: &Path, chunks: &[&[u8]], durability: Durability) -> io::Result<()> {
    if is_standard_stream(path) {
        let mut output = io::stdout().lock();
        return match write_all(&mut output, chunks) {
            // The reader has seen enough.
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
            result => result,
        };
    }
    let Some(target) = replaced(path)? else {
        return write_all(&mut File::create(path)?, chunks);
    };
    let mut file = beside(&target)?;
    write_all(file.file(), chunks)?;
    persist(file, &target, durability)
}

fn write_all(output: &mut impl Write, chunks: &[&[u8]]) -> io::Result<()> {
    // No system takes more at once.
    const MOST: usize = 1024;
    for chunks in chunks.chunks(MOST) {
        let mut slices: Vec<IoSlice<'_>> = chunks.iter().map(|chunk| IoSlice::new(chunk)).collect();
        let mut left = slices.as_mut_slice();
        // Empty ones at the start would look like an output that takes no more.
        IoSlice::advance_slices(&mut left, 0);
        while !left.is_empty() {
            match output.write_vectored(left) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(count) => IoSlice::advance_slices(&mut left, count),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }
    output.flush()
}

/// Makes a folder, and those it is in, unless it is there.
pub fn create_folder(path: &Path) -> Result<(), FileError> {
    std::fs::create_dir_all(path).map_err(|source| FileError {
        action: "create the folder",
        path: path.to_owned(),
        source,
    })
}

/// Whether a name stands for standard input or output.
pub fn is_standard_stream(path: &Path) -> bool {
    path == Path::new("-")
}

/// Checks that a file can be written there: there is a folder, and no folder of that very name.
///
/// Says early what [`write()`] would say after all the work.
pub fn check_output(path: &Path) -> Result<(), FileError> {
    let check = || {
        if is_standard_stream(path) {
            return Ok(());
        }
        if path.is_dir() {
            return Err(io::ErrorKind::IsADirectory.into());
        }
        match replaced(path)? {
            Some(target) if !folder(&target).metadata()?.is_dir() => Err(io::ErrorKind::NotADirectory.into()),
            _ => Ok(()),
        }
    };
    check().map_err(|source| FileError {
        action: "write",
        path: path.to_owned(),
        source,
    })
}

/// Checks that writing the output does not replace an input.
pub fn check_inputs_stay<'a>(
    output: &Path,
    inputs: impl IntoIterator<Item = &'a PathBuf>,
) -> Result<(), ReplacedInput> {
    let mut inputs = inputs.into_iter();
    let replaced = inputs.find(|input| !is_standard_stream(input) && is_same(input, output));
    replaced.map_or(Ok(()), |input| Err(ReplacedInput(input.clone())))
}

/// An input that would be replaced.
#[derive(Debug, thiserror::Error)]
#[error("the output would replace the input `{}`", .0.display())]
pub struct ReplacedInput(PathBuf);

/// Whether two names are for the same file, so that writing one would replace the other.
pub fn is_same(a: &Path, b: &Path) -> bool {
    let whole = |path: &Path| {
        let target = replaced(path).ok()??;
        // The folder is resolved and not the file, which may be one that is yet to be written.
        Some(folder(&target).canonicalize().ok()?.join(target.file_name()?))
    };
    if is_standard_stream(a) || is_standard_stream(b) {
        return a == b;
    }
    matches!((whole(a), whole(b)), (Some(a), Some(b)) if a == b)
}

/// The file that is replaced by writing to `path`, behind all symbolic links; `None` if it is not to
/// be replaced but written to.
fn replaced(path: &Path) -> io::Result<Option<PathBuf>> {
    // A link to nothing is no error, as what it leads to can be made. A ring of links is one, so
    // that the loop below ends.
    match path.metadata() {
        Ok(metadata) if !metadata.is_file() => return Ok(None),
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let mut target = path.to_owned();
    loop {
        // An open file by its number may be a regular file, but its other users go on with it.
        if ["/proc", "/dev/fd"]
            .iter()
            .any(|folder| target.starts_with(folder))
        {
            return Ok(None);
        }
        let Ok(next) = target.read_link() else {
            return Ok(Some(target));
        };
        target = folder(&target).join(next);
    }
}

/// The folder that a file is in.
fn folder(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    }
}

/// The system's reason without the name of a temporary file, of which the user knows nothing.
fn without_path(error: io::Error) -> io::Error {
    match error.to_string().split_once(" at path ") {
        Some((reason, _)) => io::Error::new(error.kind(), reason),
        None => error,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn writing_replaces_the_file_and_leaves_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("out.bin");
        write(&path, &[b"old"]).unwrap();
        write(&path, &[b"ne", b"", b"w"]).unwrap();
        assert_eq!(&*open(&path).unwrap(), b"new");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_failed_write_keeps_what_was_there() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("missing/out.bin");
        let error = write(&path, &[b"new"]).unwrap_err();
        assert!(error.to_string().starts_with("cannot write `"), "{error}");
        assert!(!error.source.to_string().contains(".offkit"), "{}", error.source);
        assert!(check_output(&path).is_err());
        assert!(check_output(folder.path()).is_err());
        assert!(check_output(&folder.path().join("out.bin")).is_ok());
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    }

    #[test]
    fn what_is_staged_is_read_back_before_it_is_in_place() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("out.bin");
        write(&path, &[b"old"]).unwrap();
        let passed = std::cell::Cell::new(0);
        let large = vec![7; 40 << 20];
        let staged = Staged::write(Some(&path), &[b"new", &large, b""], &|piece| {
            passed.set(passed.get() + piece.len());
        })
        .unwrap();
        assert_eq!(**staged.content(), *[b"new".as_slice(), &large].concat());
        assert!(passed.get() >= 32 << 20);
        assert_eq!(*open(&path).unwrap(), *b"old");
        drop(staged);
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
        let staged = Staged::write(Some(&path), &[b"newer"], &|_| {}).unwrap();
        staged.put_in_place(&path, Durability::Kept).unwrap();
        assert_eq!(*open(&path).unwrap(), *b"newer");
        // One that is nowhere to be put, and one that is nothing.
        assert_eq!(
            **Staged::write(None, &[b"a", b"b"], &|_| {}).unwrap().content(),
            *b"ab"
        );
        assert!(
            Staged::write(Some(&path), &[], &|_| {})
                .unwrap()
                .content()
                .is_empty()
        );
        assert!(Staged::write(Some(&folder.path().join("no/out")), &[b"a"], &|_| {}).is_err());
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[cfg(unix)]
    #[test]
    fn links_and_permissions_stay() {
        use std::os::unix::fs::{PermissionsExt, symlink};
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        std::fs::write(path("target"), "old").unwrap();
        std::fs::set_permissions(path("target"), PermissionsExt::from_mode(0o640)).unwrap();
        symlink("target", path("near")).unwrap();
        symlink(path("near"), path("far")).unwrap();
        symlink("later", path("dangling")).unwrap();
        write(&path("far"), &[b"new"]).unwrap();
        write(&path("dangling"), &[b"made"]).unwrap();
        assert!(path("far").is_symlink() && path("near").is_symlink() && path("dangling").is_symlink());
        assert_eq!(std::fs::read(path("target")).unwrap(), b"new");
        assert_eq!(std::fs::read(path("later")).unwrap(), b"made");
        let mode = path("target").metadata().unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o640);

        assert!(is_same(&path("far"), &folder.path().join("./target")));
        assert!(is_same(&path("new"), &folder.path().join("./new")));
        assert!(!is_same(&path("far"), &path("later")));
        symlink("loop", path("loop")).unwrap();
        assert!(write(&path("loop"), &[b"new"]).is_err());
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn open_files_and_devices_are_written_to() {
        use std::os::fd::AsRawFd;
        use std::os::unix::fs::MetadataExt;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("out.bin");
        let file = File::create(&path).unwrap();
        let before = path.metadata().unwrap().ino();
        write(Path::new(&format!("/dev/fd/{}", file.as_raw_fd())), &[b"new"]).unwrap();
        assert_eq!(
            path.metadata().unwrap().ino(),
            before,
            "not another file in its place"
        );
        assert_eq!(std::fs::read(&path).unwrap(), b"new");
        write(Path::new("/dev/null"), &[b"new"]).unwrap();
        assert!(write(Path::new("/dev/full"), &[b"new"]).is_err());
        assert!(!is_same(Path::new("/dev/null"), Path::new("/dev/null")));
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
