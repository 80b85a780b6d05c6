//! Copies between memory of the context and memory of the host.

use offkit_pi::plugin::{BufferRect, HostSource, HostTarget};
use std::ptr::{with_exposed_provenance, with_exposed_provenance_mut};

use crate::{AllocationKind, Memory, MemoryError};

/// Bytes copied at a time, by way of memory that is neither the device's nor the host's: both may be written
/// by others at any moment, and so are not to be seen as slices.
const CHUNK: usize = 1 << 16;

/// Cuts `size` bytes into chunks, given as offset and bytes to use.
fn each_chunk<E>(size: usize, mut copy: impl FnMut(usize, &mut [u8]) -> Result<(), E>) -> Result<(), E> {
    let mut bytes = vec![0; size.min(CHUNK)];
    let mut done = 0;
    while done < size {
        let length = (size - done).min(CHUNK);
        copy(done, bytes.get_mut(..length).unwrap_or_default())?;
        done += length;
    }
    Ok(())
}

/// Copies from an address of the context to an offset in host memory.
#[expect(
    unsafe_code,
    reason = "the host vouches for its memory, through the interface"
)]
pub(super) fn read(
    memory: &Memory,
    from: u64,
    (target, to): (&mut HostTarget, usize),
    size: usize,
) -> Result<(), MemoryError> {
    check_host(target.size(), to, size);
    // SAFETY: within the target, which the interface has the host keep valid, and leave alone, until the command is
    // complete.
    unsafe { memory.copy_to_host(from, target.address() + to, size) }
}

/// Copies from an offset in host memory to an address of the context.
#[expect(
    unsafe_code,
    reason = "the host vouches for its memory, through the interface"
)]
pub(super) fn write(
    memory: &Memory,
    (source, from): (&HostSource, usize),
    to: u64,
    size: usize,
) -> Result<(), MemoryError> {
    check_host(source.size(), from, size);
    // SAFETY: as in `read`.
    unsafe { memory.copy_from_host(to, source.address() + from, size) }
}

fn check_host(whole: usize, offset: usize, size: usize) {
    let inside = offset.checked_add(size).is_some_and(|end| end <= whole);
    assert!(inside, "{size} bytes at {offset} of host memory of {whole} bytes");
}

/// Calls a function for each row of a box, with its offset on either side and its bytes.
pub(super) fn each_row(
    rect: &BufferRect,
    mut copy: impl FnMut(usize, usize, usize) -> Result<(), MemoryError>,
) -> Result<(), MemoryError> {
    rect.rows().try_for_each(|(from, to, size)| copy(from, to, size))
}

/// A copy whose ends are addresses, of the context or of the host.
pub(super) struct AddressCopy {
    source: Place,
    target: Place,
    size: usize,
}

/// Whose memory an address is of. That is settled when the command is submitted: what was the context's then,
/// and is freed before the command runs, must not be taken for the host's.
#[derive(Clone, Copy)]
enum Place {
    Context(u64),
    Host(usize),
}

impl Place {
    fn of(memory: &Memory, address: usize) -> Place {
        match memory.lookup(address as u64) {
            // A buffer may be over part of what is copied.
            Some(known) if known.kind != AllocationKind::HostPointer => Place::Context(address as u64),
            _ => Place::Host(address),
        }
    }
}

impl AddressCopy {
    /// A copy as it is submitted. What the context does not know is the host's.
    pub(super) fn new(memory: &Memory, source: usize, target: usize, size: usize) -> AddressCopy {
        AddressCopy {
            source: Place::of(memory, source),
            target: Place::of(memory, target),
            size,
        }
    }

    /// Bytes to copy.
    pub(super) fn size(&self) -> usize {
        self.size
    }

    #[expect(
        unsafe_code,
        reason = "the host vouches for its memory, through the interface"
    )]
    pub(super) fn run(self, memory: &Memory) -> Result<(), String> {
        let size = self.size;
        // SAFETY: only what the context did not know is read through this, and the interface has the host keep
        // that valid, and leave it alone, until the command is complete.
        let source = |address| unsafe { HostSource::new(with_exposed_provenance(address), size) };
        // SAFETY: as above, for writing.
        let target = |address| unsafe { HostTarget::new(with_exposed_provenance_mut(address), size) };
        let done = match (self.source, self.target) {
            _ if size == 0 => Ok(()),
            (Place::Context(from), Place::Context(to)) => memory.copy(to, from, size as u64),
            (Place::Context(from), Place::Host(to)) => read(memory, from, (&mut target(to), 0), size),
            (Place::Host(from), Place::Context(to)) => write(memory, (&source(from), 0), to, size),
            // OpenCL refuses it, too (`CL_MEM_COPY_OVERLAP`): of two chunks, the first would
            // overwrite what the second is to read.
            (Place::Host(from), Place::Host(to)) if from.abs_diff(to) < size => {
                return Err("source and target overlap".to_owned());
            }
            (Place::Host(from), Place::Host(to)) => {
                let (source, mut target) = (source(from), target(to));
                each_chunk(size, |offset, bytes| {
                    source.read(offset, bytes);
                    target.write(offset, bytes);
                    Ok(())
                })
            }
        };
        done.map_err(|error| error.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[expect(unsafe_code, reason = "host memory is registered")]
    fn memory_of_the_host_is_copied_whole_when_part_of_it_is_a_buffers() {
        let memory = Memory::new();
        let bytes = [7u8; 80];
        let address = bytes.as_ptr().expose_provenance();
        // SAFETY: the bytes outlive the registration, and nobody writes them.
        unsafe { memory.register_host(address as u64, 72).unwrap() };
        let target = memory.allocate(80, 1, AllocationKind::Device).unwrap();
        AddressCopy::new(&memory, address, target as usize, 80)
            .run(&memory)
            .unwrap();
        let mut out = [0; 80];
        memory.read(target, &mut out).unwrap();
        assert_eq!(out, bytes);
    }
}
