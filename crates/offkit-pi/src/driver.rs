//! What hosts of plugins, and plugins over somebody's driver, have in common: opening a library, and reading answers
//! whose size is asked for first, as OpenCL and Unified Runtime give them.

use core::ffi::c_void;
use offkit_image::target::HostCpu;
use offkit_image::target::host::elf_machine_name;
use std::error::Error;
use std::io::Read;
use std::path::Path;

#[cfg(not(unix))]
pub use libloading::Library;
#[cfg(unix)]
pub use libloading::os::unix::Library;

/// Why a library cannot be opened: the words of the system's loader, or better ones.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct OpenError(String);

/// Opens a library with all its symbols resolved, so that what is missing shows now and not in the middle of a
/// launch, and keeps its symbols to itself.
///
/// # Errors
///
/// The system's, if the library or a symbol that it needs is missing; that it is a folder, or for another machine.
///
/// # Safety
///
/// The library's initialisers must be sound.
pub unsafe fn open_resolved(path: &Path) -> Result<Library, OpenError> {
    // SAFETY: by the caller's promise.
    #[cfg(unix)]
    let opened = unsafe {
        use libloading::os::unix::{RTLD_LOCAL, RTLD_NOW};
        Library::open(Some(path), RTLD_NOW | RTLD_LOCAL)
    };
    // SAFETY: by the caller's promise.
    #[cfg(not(unix))]
    let opened = unsafe { Library::new(path) };
    opened.map_err(|error| {
        // The error itself says which function failed; the loader's own words are its source.
        let words = || {
            error
                .source()
                .map_or_else(|| error.to_string(), ToString::to_string)
        };
        OpenError(unfit(path).unwrap_or_else(words))
    })
}

/// What is wrong with a file, where it shows without being loaded: glibc says "No such file or directory" of a library
/// for another machine.
fn unfit(path: &Path) -> Option<String> {
    // A name alone is looked for elsewhere.
    if path.components().count() < 2 {
        return None;
    }
    let name = path.display();
    if path.is_dir() {
        return Some(format!("{name}: it is a folder, and no library"));
    }
    let ours = HostCpu::of(std::env::consts::ARCH)?
        .in_order(cfg!(target_endian = "big"))
        .name();
    let theirs = machine(path).filter(|theirs| theirs != ours)?;
    Some(format!("{name}: it is for {theirs}, and this program for {ours}"))
}

/// The machine that an ELF file is for.
fn machine(path: &Path) -> Option<String> {
    const LITTLE_ENDIAN: u8 = 1;
    let mut header = [0; 20];
    let is_regular = path.metadata().is_ok_and(|file| file.is_file());
    let mut file = std::fs::File::open(path).ok().filter(|_| is_regular)?;
    file.read_exact(&mut header).ok()?;
    // The machine comes behind 16 bytes that identify the file and 2 of its type, in either class.
    let [0x7f, b'E', b'L', b'F', class, order, .., low, high] = header else {
        return None;
    };
    let is_big_endian = order != LITTLE_ENDIAN;
    let machine = match is_big_endian {
        false => u16::from_le_bytes([low, high]),
        true => u16::from_be_bytes([low, high]),
    };
    let known = HostCpu::of_elf(machine, class == 2, is_big_endian).map(HostCpu::name);
    let name = known.or_else(|| elf_machine_name(machine));
    Some(name.map_or_else(|| format!("machine {machine}"), str::to_owned))
}

/// The bytes of an answer: `query` is called for their number, and then for so many. It takes a size in bytes, where to
/// write, and where the number goes.
///
/// # Errors
///
/// Those of `query`.
pub fn answer<E>(query: impl Fn(usize, *mut c_void, *mut usize) -> Result<(), E>) -> Result<Vec<u8>, E> {
    let mut size = 0;
    query(0, core::ptr::null_mut(), &raw mut size)?;
    let mut bytes = vec![0u8; size];
    if size > 0 {
        query(size, bytes.as_mut_ptr().cast(), core::ptr::null_mut())?;
    }
    Ok(bytes)
}

/// The text of an answer, up to its first NUL.
#[must_use]
pub fn text(mut bytes: Vec<u8>) -> String {
    bytes.truncate(bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len()));
    String::from_utf8_lossy(&bytes).into_owned()
}

/// The first words of an answer as numbers; what is left at the end is left out.
pub fn words<const N: usize>(bytes: &[u8]) -> impl Iterator<Item = [u8; N]> {
    bytes.as_chunks().0.iter().copied()
}
