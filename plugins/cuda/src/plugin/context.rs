//! Contexts: devices with their primary contexts, and the unified shared memory that is there.

use offkit_pi::ffi::*;
use offkit_pi::host::UsmKind;
use offkit_pi::plugin::{
    BufferRequest, Context, Error, NativeHandle, NativeMemory, Ref, Result, UsmAllocation,
};
use offkit_sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::collections::BTreeMap;
use std::sync::OnceLock;

use super::Cuda;
use super::clock::Anchor;
use super::code::Code;
use super::device::CudaDevice;
use super::event::CudaEvent;
use super::memory::CudaMemory;
use super::program::CudaProgram;
use super::queue::CudaQueue;
use crate::driver::{self, Allocation, Event, Module, Primary, Stream};

/// What the driver aligns all allocations to.
const ALIGNMENT: usize = 256;

/// A device in a context.
pub(super) struct Place {
    pub(super) device: Arc<CudaDevice>,
    pub(super) primary: Arc<Primary>,
    anchor: OnceLock<Anchor>,
}

impl Place {
    /// What its profiled commands are timed by.
    pub(super) fn anchor(&self) -> driver::Result<&Anchor> {
        if let Some(anchor) = self.anchor.get() {
            return Ok(anchor);
        }
        // A stream without commands, in which the event comes at once.
        let stream = Stream::new(&self.primary)?;
        let _current = self.primary.enter()?;
        let anchor = Anchor::new(&stream)?;
        // Where another thread was faster, its anchor counts for both.
        Ok(self.anchor.get_or_init(|| anchor))
    }
}

/// A context of one or several devices.
pub(crate) struct CudaContext {
    places: Vec<Arc<Place>>,
    /// Unified shared memory, by its addresses.
    usm: Mutex<BTreeMap<usize, Usm>>,
}

/// An allocation of unified shared memory.
struct Usm {
    kind: UsmKind,
    size: usize,
    /// The number of its device; none for memory of the host.
    place: Option<usize>,
    allocation: Allocation,
}

impl CudaContext {
    fn of(places: Vec<Arc<Place>>) -> CudaContext {
        CudaContext {
            places,
            usm: Mutex::default(),
        }
    }

    /// The only device, or the first.
    pub(super) fn first(&self) -> &Arc<Place> {
        &self.places[0]
    }

    pub(super) fn places(&self) -> &[Arc<Place>] {
        &self.places
    }

    pub(super) fn place(&self, device: &Arc<CudaDevice>) -> Result<&Arc<Place>> {
        let place = self
            .places
            .iter()
            .find(|place| Arc::ptr_eq(&place.device, device));
        place.ok_or_else(|| Error::new(PI_INVALID_DEVICE, "the device is none of the context's"))
    }

    fn usm(&self) -> MutexGuard<'_, BTreeMap<usize, Usm>> {
        self.usm.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What is known of the allocation that an address is in.
    fn usm_at<T>(&self, address: usize, tell: impl FnOnce(usize, &Usm) -> T) -> Option<T> {
        let usm = self.usm();
        // Allocations do not overlap: only the last one that begins at or before the address can
        // have it.
        let (base, known) = usm.range(..=address).next_back()?;
        (address - base < known.size).then(|| tell(*base, known))
    }

    /// The device whose memory an address is in.
    pub(super) fn device_of(&self, address: usize) -> Option<&Arc<Place>> {
        let is_device = |usm: &Usm| usm.kind == UsmKind::Device;
        // Memory that is shared or the host's is none of a single device's.
        let number = self.usm_at(address, |_, usm| usm.place.filter(|_| is_device(usm)))??;
        self.places.get(number)
    }

    /// Whether memory at an address moves between devices.
    pub(super) fn is_managed(&self, address: usize) -> bool {
        self.usm_at(address, |_, usm| usm.kind == UsmKind::Shared) == Some(true)
    }
}

impl Context<Cuda> for CudaContext {
    fn create(devices: &[Arc<CudaDevice>]) -> Result<CudaContext> {
        let place = |device: &Arc<CudaDevice>| {
            Ok(Arc::new(Place {
                primary: device.primary()?,
                device: Arc::clone(device),
                anchor: OnceLock::new(),
            }))
        };
        let places = devices.iter().map(place).collect::<Result<Vec<_>>>()?;
        for one in &places {
            for other in places.iter().filter(|other| !Arc::ptr_eq(one, other)) {
                one.primary.reach(&other.primary)?;
            }
        }
        Ok(CudaContext::of(places))
    }

    fn create_queue(
        context: &Ref<Self>,
        device: &Arc<CudaDevice>,
        properties: pi_queue_properties,
    ) -> Result<CudaQueue> {
        CudaQueue::new(context, context.place(device)?, properties)
    }

    fn create_buffer(context: &Ref<Self>, request: BufferRequest<'_>) -> Result<CudaMemory> {
        CudaMemory::new(context, request)
    }

    fn create_program(context: &Ref<Self>, il: &[u8]) -> Result<CudaProgram> {
        CudaProgram::of_spirv(context, il)
    }

    fn create_program_with_binary(
        context: &Ref<Self>,
        device: &Arc<CudaDevice>,
        binary: &[u8],
    ) -> Result<CudaProgram> {
        let place = context.place(device)?;
        let code = Code::for_device(binary, device)?;
        Ok(CudaProgram::new(context, place, code))
    }

    fn link(
        context: &Ref<Self>,
        _: &[Arc<CudaDevice>],
        programs: &[Ref<CudaProgram>],
        options: &str,
    ) -> Result<CudaProgram> {
        CudaProgram::link(context, programs, options)
    }

    fn allocate_usm(
        &self,
        kind: UsmKind,
        device: Option<&Arc<CudaDevice>>,
        size: usize,
        alignment: usize,
    ) -> Result<usize> {
        let place = match device {
            Some(device) => self.place(device)?,
            None => self.first(),
        };
        // More than the driver gives by itself is found in more than what is asked for.
        let spare = if alignment > ALIGNMENT { alignment } else { 0 };
        let whole = size.checked_add(spare).ok_or_else(|| {
            let message = format_args!("{size} bytes aligned to {alignment}");
            Error::new(PI_INVALID_BUFFER_SIZE, message)
        })?;
        let allocation = match kind {
            UsmKind::Device => Allocation::device(&place.primary, whole)?,
            UsmKind::Host => Allocation::pinned(&place.primary, whole)?,
            UsmKind::Shared if !place.device.has_managed_memory() => {
                return Err(Error::unsupported("memory that this device shares with the host"));
            }
            UsmKind::Shared => Allocation::managed(&place.primary, whole)?,
        };
        let address = allocation.address.next_multiple_of(alignment.max(1));
        let number = self.places.iter().position(|known| Arc::ptr_eq(known, place));
        let known = Usm {
            kind,
            size,
            place: number.filter(|_| kind != UsmKind::Host),
            allocation,
        };
        self.usm().insert(address, known);
        Ok(address)
    }

    fn free_usm(&self, address: usize) -> Result<()> {
        // Taken out before it is freed, so that nobody waits for the list as long as the driver
        // takes.
        let known = self.usm().remove(&address);
        // The driver waits for the commands that use it.
        known.map(|known| drop(known.allocation)).ok_or_else(|| {
            let message = format_args!("{address:#x} is not the start of a USM allocation");
            Error::new(PI_INVALID_VALUE, message)
        })
    }

    fn usm_allocation(&self, address: usize) -> Option<UsmAllocation<Cuda>> {
        self.usm_at(address, |base, known| UsmAllocation {
            kind: known.kind,
            base,
            size: known.size,
            device: known.place.map(|number| Arc::clone(&self.places[number].device)),
        })
    }

    fn native_handle(&self) -> Result<pi_native_handle> {
        Ok(self.first().primary.handle())
    }

    fn from_native(native: NativeHandle, devices: &[Arc<CudaDevice>]) -> Result<CudaContext> {
        let [device] = devices else {
            let message = "a context of the driver is one of one device";
            return Err(Error::new(PI_INVALID_VALUE, message));
        };
        let primary = Primary::of_host(device.id, handle(&native), native.is_owned())?;
        Ok(CudaContext::of(vec![Arc::new(Place {
            device: Arc::clone(device),
            primary,
            anchor: OnceLock::new(),
        })]))
    }

    fn queue_from_native(
        context: &Ref<Self>,
        device: &Arc<CudaDevice>,
        native: NativeHandle,
    ) -> Result<(CudaQueue, pi_queue_properties)> {
        let place = context.place(device)?;
        let stream = Stream::of_host(&place.primary, handle(&native), native.is_owned());
        // A stream keeps its order, and nobody has asked for the times of its commands.
        Ok((CudaQueue::of(context, place, stream), 0))
    }

    fn memory_from_native(context: &Ref<Self>, native: NativeHandle) -> Result<NativeMemory<Cuda>> {
        let primary = &context.first().primary;
        let (allocation, size) = Allocation::of_host(primary, handle(&native), native.is_owned())?;
        Ok(NativeMemory {
            flags: PI_MEM_FLAGS_ACCESS_RW,
            size,
            memory: CudaMemory::of(context, allocation, size),
        })
    }

    fn program_from_native(context: &Ref<Self>, native: NativeHandle) -> Result<CudaProgram> {
        let place = context.first();
        let module = Module::of_host(&place.primary, handle(&native), native.is_owned());
        Ok(CudaProgram::loaded(context, place, module))
    }

    fn event_from_native(context: &Ref<Self>, native: NativeHandle) -> Result<(CudaEvent, pi_command_type)> {
        let event = Event::of_host(&context.first().primary, handle(&native), native.is_owned());
        // CUDA's events are between commands, and of none.
        Ok((CudaEvent::of(Arc::new(event)), PI_COMMAND_TYPE_USER))
    }
}

/// The driver's handle, which is a pointer.
fn handle(native: &NativeHandle) -> usize {
    native.handle()
}
