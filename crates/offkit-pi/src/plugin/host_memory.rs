//! Host memory that commands read and write.

/// Host memory a command reads from.
///
/// The interface promises plugins that it stays valid, and what the command reads unchanged, until the command's
/// event is complete; so a plugin must not touch it later. What lies between the rows of a box is still the
/// host's.
#[derive(Debug)]
pub struct HostSource {
    start: *const u8,
    size: usize,
}

/// Host memory a command writes to.
///
/// The interface promises plugins that it stays valid, and what the command writes otherwise unused, until the
/// command's event is complete; so a plugin must not touch it later. What lies between the rows of a box is
/// still the host's.
#[derive(Debug)]
pub struct HostTarget {
    start: *mut u8,
    size: usize,
}

// SAFETY: the host gives the memory to the command, whichever thread runs it.
unsafe impl Send for HostSource {}
// SAFETY: as above; sharing gives read access only.
unsafe impl Sync for HostSource {}
// SAFETY: as above.
unsafe impl Send for HostTarget {}
// SAFETY: as above; sharing gives read access only.
unsafe impl Sync for HostTarget {}

impl HostSource {
    /// Memory of the host by address.
    ///
    /// # Safety
    ///
    /// `start` must be valid for reading `size` bytes for as long as the value is used, and what is read through
    /// it not be written meanwhile.
    pub unsafe fn new(start: *const u8, size: usize) -> HostSource {
        HostSource { start, size }
    }

    /// Address of the first byte, for whoever copies by address.
    pub fn address(&self) -> usize {
        self.start.expose_provenance()
    }

    /// Size in bytes.
    pub fn size(&self) -> usize {
        self.size
    }

    /// Copies the bytes at `offset` to `out`.
    ///
    /// # Panics
    ///
    /// If the range is not within the memory.
    pub fn read(&self, offset: usize, out: &mut [u8]) {
        check(self.size, offset, out.len());
        // SAFETY: within the memory, which is valid by the promise made to `new`, and apart from `out`, which
        // nothing else refers to.
        unsafe { core::ptr::copy_nonoverlapping(self.start.add(offset), out.as_mut_ptr(), out.len()) }
    }
}

impl HostTarget {
    /// Memory of the host by address.
    ///
    /// # Safety
    ///
    /// `start` must be valid for reading and writing `size` bytes for as long as the value is used, and nobody
    /// else use what is written through it.
    pub unsafe fn new(start: *mut u8, size: usize) -> HostTarget {
        HostTarget { start, size }
    }

    /// Address of the first byte, for whoever copies by address.
    pub fn address(&self) -> usize {
        self.start.expose_provenance()
    }

    /// Size in bytes.
    pub fn size(&self) -> usize {
        self.size
    }

    /// Copies `data` to the bytes at `offset`.
    ///
    /// # Panics
    ///
    /// If the range is not within the memory.
    pub fn write(&mut self, offset: usize, data: &[u8]) {
        check(self.size, offset, data.len());
        // SAFETY: within the memory, which is valid by the promise made to `new`; `data` is apart from it, as
        // the bytes that a command writes are used by nobody else.
        unsafe { core::ptr::copy_nonoverlapping(data.as_ptr(), self.start.add(offset), data.len()) }
    }
}

fn check(size: usize, offset: usize, length: usize) {
    // A panic and no error: the host's range was checked before, so that this one is the plugin's
    // mistake. In a call of the host's, a panic is caught.
    let inside = offset.checked_add(length).is_some_and(|end| end <= size);
    assert!(
        inside,
        "{length} bytes at {offset} of host memory of {size} bytes"
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn host_memory_is_copied_from_and_to_within_its_bounds() {
        let mut bytes = [1, 2, 3, 4];
        // SAFETY: the array is valid for as long as these are used, and only used through them.
        let (source, mut target) = unsafe {
            let start = bytes.as_mut_ptr();
            (HostSource::new(start, 4), HostTarget::new(start, 4))
        };
        target.write(3, &[9]);
        let mut out = [0; 3];
        source.read(1, &mut out);
        assert_eq!(out, [2, 3, 9]);
        for offset in [2, usize::MAX] {
            let outside = || source.read(offset, &mut [0; 3]);
            assert!(std::panic::catch_unwind(outside).is_err());
        }
    }
}
