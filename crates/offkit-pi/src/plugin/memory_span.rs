//! Host memory that commands read and write.

/// Host memory a command reads from.
///
/// The interface promises plugins that it stays valid and unchanged until the command's event is complete; so
/// a plugin must not touch it later.
#[derive(Debug)]
pub struct HostSource {
    start: *const u8,
    size: usize,
}

/// Host memory a command writes to.
///
/// The interface promises plugins that it stays valid and otherwise unused until the command's event is
/// complete; so a plugin must not touch it later.
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
    /// `start` must be valid for reading `size` bytes for as long as the value is used.
    pub unsafe fn new(start: *const u8, size: usize) -> HostSource {
        HostSource { start, size }
    }

    /// Address of the first byte.
    pub fn address(&self) -> usize {
        self.start.addr()
    }

    /// Size in bytes.
    pub fn size(&self) -> usize {
        self.size
    }

    /// The bytes.
    pub fn bytes(&self) -> &[u8] {
        if self.size == 0 {
            return &[];
        }
        // SAFETY: valid by the promise made to `new`.
        unsafe { core::slice::from_raw_parts(self.start, self.size) }
    }
}

impl HostTarget {
    /// Memory of the host by address.
    ///
    /// # Safety
    ///
    /// `start` must be valid for reading and writing `size` bytes for as long as the value is used, and
    /// nobody else use them.
    pub unsafe fn new(start: *mut u8, size: usize) -> HostTarget {
        HostTarget { start, size }
    }

    /// Address of the first byte.
    pub fn address(&self) -> usize {
        self.start.addr()
    }

    /// Size in bytes.
    pub fn size(&self) -> usize {
        self.size
    }

    /// The bytes.
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        if self.size == 0 {
            return &mut [];
        }
        // SAFETY: valid, and used by nobody else, by the promise made to `new`.
        unsafe { core::slice::from_raw_parts_mut(self.start, self.size) }
    }
}
