//! Contexts and memory.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use offkit_pi::ffi::*;
use offkit_pi::host::UsmKind;
use offkit_pi::plugin::{BufferRequest, Context, Error, Memory, Ref, Result, UsmAllocation};

use crate::Mock;
use crate::device::MockDevice;
use crate::program::MockProgram;
use crate::queue::{MockEvent, MockQueue};
use crate::stage::There;

/// A context, which has the unified shared memory.
pub(crate) struct MockContext {
    allocations: Mutex<Vec<Allocation>>,
    _there: There,
}

/// Unified shared memory. What commands do with it they do by its address.
struct Allocation {
    kind: UsmKind,
    device: Option<Arc<MockDevice>>,
    /// Words, for the alignment.
    words: Box<[u128]>,
    size: usize,
    _there: There,
}

/// A buffer, or a part of one: the bytes of the whole.
pub(crate) struct MockBuffer {
    bytes: Arc<Mutex<Vec<u8>>>,
    origin: usize,
    size: usize,
    _there: There,
}

impl Context<Mock> for MockContext {
    fn create(_: &[Arc<MockDevice>]) -> Result<MockContext> {
        Ok(MockContext {
            allocations: Mutex::default(),
            _there: There::new::<MockContext>(),
        })
    }

    fn create_queue(
        _: &Ref<Self>,
        _: &Arc<MockDevice>,
        properties: pi_queue_properties,
    ) -> Result<MockQueue> {
        Ok(MockQueue::new(properties))
    }

    fn create_buffer(_: &Ref<Self>, request: BufferRequest<'_>) -> Result<MockBuffer> {
        if request.storage.is_some() {
            return Err(Error::unsupported("a buffer in the host's memory"));
        }
        let bytes = request.copy.map_or_else(|| vec![0; request.size], <[u8]>::to_vec);
        Ok(MockBuffer::new(Arc::new(Mutex::new(bytes)), 0, request.size))
    }

    fn create_program(_: &Ref<Self>, _: &[u8]) -> Result<MockProgram> {
        Ok(MockProgram::new())
    }

    fn create_program_with_source(_: &Ref<Self>, _: &[u8]) -> Result<MockProgram> {
        Ok(MockProgram::new())
    }

    fn create_program_with_binary(_: &Ref<Self>, _: &Arc<MockDevice>, _: &[u8]) -> Result<MockProgram> {
        Ok(MockProgram::new())
    }

    fn link(
        _: &Ref<Self>,
        _: &[Arc<MockDevice>],
        _: &[Ref<MockProgram>],
        options: &str,
    ) -> Result<MockProgram> {
        let program = MockProgram::new();
        // A link that fails is a program as well, which says so.
        let _said = program.link(options);
        Ok(program)
    }

    fn create_user_event(_: &Ref<Self>) -> Result<MockEvent> {
        Ok(MockEvent::of_the_host())
    }

    fn allocate_usm(
        &self,
        kind: UsmKind,
        device: Option<&Arc<MockDevice>>,
        size: usize,
        alignment: usize,
    ) -> Result<usize> {
        if alignment > align_of::<u128>() {
            return Err(Error::unsupported(format_args!("an alignment of {alignment}")));
        }
        let words = vec![0; size.div_ceil(size_of::<u128>())].into_boxed_slice();
        let address = words.as_ptr().expose_provenance();
        self.allocations().push(Allocation {
            kind,
            device: device.cloned(),
            words,
            size,
            _there: There::new::<Allocation>(),
        });
        Ok(address)
    }

    fn free_usm(&self, address: usize) -> Result<()> {
        let mut allocations = self.allocations();
        let place = allocations
            .iter()
            .position(|allocation| allocation.base() == address);
        match place {
            Some(place) => drop(allocations.swap_remove(place)),
            None => return Err(Error::new(PI_INVALID_VALUE, "no allocation starts there")),
        }
        Ok(())
    }

    fn usm_allocation(&self, address: usize) -> Option<UsmAllocation<Mock>> {
        let allocations = self.allocations();
        // From an address before the base the difference wraps around, to more than any size.
        let holds = |allocation: &&Allocation| address.wrapping_sub(allocation.base()) < allocation.size;
        allocations.iter().find(holds).map(|allocation| UsmAllocation {
            kind: allocation.kind,
            base: allocation.base(),
            size: allocation.size,
            device: allocation.device.clone(),
        })
    }
}

impl MockContext {
    fn allocations(&self) -> MutexGuard<'_, Vec<Allocation>> {
        self.allocations.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Allocation {
    fn base(&self) -> usize {
        self.words.as_ptr().addr()
    }
}

impl MockBuffer {
    fn new(bytes: Arc<Mutex<Vec<u8>>>, origin: usize, size: usize) -> MockBuffer {
        MockBuffer {
            bytes,
            origin,
            size,
            _there: There::new::<MockBuffer>(),
        }
    }

    /// Calls a function with the bytes, from the one at `offset` on.
    pub(crate) fn with_bytes<R>(&self, offset: usize, body: impl FnOnce(&mut [u8]) -> R) -> R {
        let mut bytes = self.bytes.lock().unwrap_or_else(PoisonError::into_inner);
        body(&mut bytes[self.origin..][..self.size][offset..])
    }
}

impl Memory<Mock> for MockBuffer {
    fn part(buffer: &Ref<Self>, _: pi_mem_flags, origin: usize, size: usize) -> Result<MockBuffer> {
        Ok(MockBuffer::new(Arc::clone(&buffer.bytes), origin, size))
    }
}
