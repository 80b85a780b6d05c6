//! Images in memory, where they are executed.

#![expect(unsafe_code, reason = "memory is mapped and made executable")]

use std::ptr::NonNull;

use super::announce::{self, Registered};
use super::{Function, Image, LoadError, Machine};

/// Code that can be called, until this is dropped.
#[derive(Debug)]
pub struct Loaded {
    start: NonNull<u8>,
    size: usize,
    functions: Vec<Function>,
    registered: Option<Registered>,
}

// SAFETY: the memory belongs to the value, and nobody writes to it.
unsafe impl Send for Loaded {}
// SAFETY: as above.
unsafe impl Sync for Loaded {}

impl Loaded {
    /// Loads an object made for this machine.
    ///
    /// # Errors
    /// [`LoadError`].
    pub fn of_object(object: &[u8]) -> Result<Loaded, LoadError> {
        let machine = Machine::HOST
            .ok_or_else(|| LoadError::Refused("code for this machine is not known".to_owned()))?;
        Loaded::new(Image::of_object(object, machine, page_size())?, object)
    }

    /// The address of a function.
    pub fn function(&self, name: &str) -> Option<NonNull<u8>> {
        let mut functions = self.functions.iter();
        let function = functions.find(|function| function.name == name)?;
        // SAFETY: an image's functions are in it.
        Some(unsafe { self.start.add(function.offset) })
    }
}

#[cfg(unix)]
impl Loaded {
    fn new(image: Image, object: &[u8]) -> Result<Loaded, LoadError> {
        let size = image.bytes().len();
        if size == 0 {
            return Err(LoadError::Damaged("there is no code in it".to_owned()));
        }
        // SAFETY: new memory, anywhere.
        let start = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                size,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
                -1,
                0,
            )
        };
        if start == libc::MAP_FAILED {
            return Err(LoadError::Memory(std::io::Error::last_os_error()));
        }
        let Some(start) = NonNull::new(start.cast::<u8>()) else {
            return Err(LoadError::Memory(std::io::ErrorKind::AddrNotAvailable.into()));
        };
        // SAFETY: so many bytes were mapped, and nobody else knows of them.
        unsafe { start.copy_from_nonoverlapping(NonNull::from(image.bytes()).cast(), size) };
        let code = image.code_size();
        // From here on it is unmapped on drop.
        let mut loaded = Loaded {
            start,
            size,
            functions: image.functions().to_vec(),
            registered: None,
        };
        flush_instructions(start, code);
        loaded.protect(0, code, libc::PROT_READ | libc::PROT_EXEC)?;
        // A stray pointer of a kernel's faults here, instead of changing what others compute.
        loaded.protect(code, size - code, libc::PROT_READ)?;
        announce::tell_perf(start, &loaded.functions);
        let object = || image.object_at(object, start.as_ptr() as u64);
        loaded.registered = Registered::new(object);
        Ok(loaded)
    }

    fn protect(&self, offset: usize, size: usize, protection: i32) -> Result<(), LoadError> {
        if size == 0 {
            return Ok(());
        }
        // SAFETY: pages of the mapping, which nobody has a reference to.
        let result = unsafe { libc::mprotect(self.start.add(offset).as_ptr().cast(), size, protection) };
        match result {
            0 => Ok(()),
            _ => Err(LoadError::Memory(std::io::Error::last_os_error())),
        }
    }
}

#[cfg(unix)]
impl Drop for Loaded {
    fn drop(&mut self) {
        // Before the code goes: debuggers read the object whose sections are there.
        self.registered = None;
        // SAFETY: mapped in `new` with this size, and who calls the code keeps the value.
        unsafe { libc::munmap(self.start.as_ptr().cast(), self.size) };
    }
}

#[cfg(unix)]
fn page_size() -> usize {
    // SAFETY: asks for a number.
    let size = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
    usize::try_from(size).unwrap_or(4096).max(4096)
}

/// What is not known how to load is interpreted.
#[cfg(not(unix))]
impl Loaded {
    fn new(_: Image, _: &[u8]) -> Result<Loaded, LoadError> {
        Err(LoadError::Refused(
            "code cannot be loaded on this system".to_owned(),
        ))
    }
}

#[cfg(not(unix))]
fn page_size() -> usize {
    4096
}

/// Has the processor see instructions that were written as data. On x86 it does by itself.
#[cfg(all(unix, not(target_arch = "aarch64")))]
fn flush_instructions(_: NonNull<u8>, _: usize) {}

/// Has the processor see instructions that were written as data.
#[cfg(all(unix, target_arch = "aarch64"))]
fn flush_instructions(start: NonNull<u8>, size: usize) {
    use std::arch::asm;

    let cache_type: u64;
    // SAFETY: reads a register that user code may read.
    unsafe { asm!("mrs {}, ctr_el0", out(reg) cache_type, options(nomem, nostack, preserves_flags)) };
    // The register has logarithms of the smallest lines' words: in its bits 16 to 19 that of data, in 0 to 3 that of
    // instructions.
    let line = |shift: u32| 4usize << (cache_type >> shift & 15);
    let (start, end) = (start.as_ptr() as usize, start.as_ptr() as usize + size);
    for address in (start & !(line(16) - 1)..end).step_by(line(16)) {
        // SAFETY: writes back a line of memory that is mapped.
        unsafe { asm!("dc cvau, {}", in(reg) address, options(nostack, preserves_flags)) };
    }
    // SAFETY: a barrier.
    unsafe { asm!("dsb ish", options(nostack, preserves_flags)) };
    for address in (start & !(line(0) - 1)..end).step_by(line(0)) {
        // SAFETY: forgets instructions at memory that is mapped.
        unsafe { asm!("ic ivau, {}", in(reg) address, options(nostack, preserves_flags)) };
    }
    // SAFETY: barriers.
    unsafe { asm!("dsb ish", "isb", options(nostack, preserves_flags)) };
}
