//! Devices, and their memory.

use std::collections::{BTreeMap, HashMap};

use offkit_pi::ffi::PI_DEVICE_INFO_USM_DEVICE_SUPPORT;
use offkit_pi::host::{self, Context, Queue, QueueProperties, Usm, UsmKind};
use offkit_sync::{Arc, Mutex, MutexGuard, OnceLock};

use super::present::{Place, Present};
use super::programs::Loaded;
use crate::c::{Result, lock};
use crate::error::{Code, Failure};

/// A device as OpenMP counts them.
pub(super) struct Device {
    pub(super) device: host::Device,
    pub(super) context: Context,
    pub(super) queue: Queue,
    pub(super) state: Mutex<State>,
    /// Memory for launches that no launch uses.
    pub(super) spare: Mutex<Vec<Usm>>,
}

/// What changes about a device.
#[derive(Default)]
pub(super) struct State {
    pub(super) present: Present,
    /// By its device address. What begins at an address reaches to that of the next at most.
    pub(super) memory: BTreeMap<usize, Usm>,
    /// The programs that are built for it, by their numbers; for one that is not, why.
    pub(super) programs: HashMap<usize, std::result::Result<Arc<Loaded>, String>>,
}

/// All that regions can run on, in the order of offkit's list of devices.
pub(super) fn devices() -> &'static [Device] {
    static DEVICES: OnceLock<Vec<Device>> = OnceLock::new();
    DEVICES.get_or_init(|| {
        let mut runtime = offkit_runtime::Runtime::discover(&[&offkit_plugin_cpu::plugin::BUILT_IN]);
        let found: Vec<_> = runtime.devices().cloned().collect();
        let fit = found.into_iter().filter(takes_regions);
        fit.filter_map(Device::new).collect()
    })
}

/// Whether a device takes SPIR-V, and memory with addresses.
fn takes_regions(device: &host::Device) -> bool {
    let has_memory = device.info_integer(PI_DEVICE_INFO_USM_DEVICE_SUPPORT);
    device
        .il_version()
        .is_ok_and(|version| version.contains("SPIR-V"))
        && has_memory.is_ok_and(|has| has != 0)
}

impl Device {
    fn new(device: host::Device) -> Option<Self> {
        let open = || -> Result<Self> {
            let context = Context::new(&[&device])?;
            let queue = context.queue(&device, QueueProperties::default())?;
            Ok(Self {
                context,
                queue,
                device: device.clone(),
                state: Mutex::default(),
                spare: Mutex::default(),
            })
        };
        match open() {
            Ok(device) => Some(device),
            Err(failure) => {
                tracing::warn!(problem = failure.message(), "OpenMP cannot use a device");
                None
            }
        }
    }

    pub(super) fn state(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
    }

    /// New memory, whose address leaves the same remainder as `like` when it is divided by a power of two: what lies
    /// well on the host does so on the device.
    pub(super) fn allocate(
        &self,
        state: &mut State,
        kind: UsmKind,
        size: usize,
        like: usize,
    ) -> Result<usize> {
        let shift = like % ALIGNMENT as usize;
        // Drivers give no memory of no bytes, and what has no size is to have an address even so.
        let memory = self
            .context
            .usm(kind, &self.device, size.max(1).saturating_add(shift), ALIGNMENT)?;
        let address = memory.address();
        state.memory.insert(address, memory);
        Ok(address + shift)
    }

    /// Writes to the device what is at an address of the host.
    pub(super) fn write(&self, state: &State, place: &Place, offset: usize, data: &[u8]) -> Result<()> {
        match place {
            Place::Address(address) => {
                let (memory, start) = state.at(address.wrapping_add(offset))?;
                Ok(self.queue.write_usm(memory, start, data, &[])?)
            }
            Place::Variable { program, name } => {
                state.loaded(*program)?.write(&self.queue, name, offset, data)
            }
        }
    }

    /// Reads from the device.
    pub(super) fn read(&self, state: &State, place: &Place, offset: usize, out: &mut [u8]) -> Result<()> {
        match place {
            Place::Address(address) => {
                let (memory, start) = state.at(address.wrapping_add(offset))?;
                Ok(self.queue.read_usm(memory, start, out, &[])?)
            }
            Place::Variable { program, name } => state.loaded(*program)?.read(&self.queue, name, offset, out),
        }
    }
}

/// As much as any type of clang's wants.
const ALIGNMENT: u32 = 64;

impl State {
    /// The memory that an address of the device is in, and where in that.
    pub(super) fn at(&self, address: usize) -> Result<(&Usm, usize)> {
        let found = self.memory.range(..=address).next_back();
        let found = found.map(|(start, memory)| (memory, address - start));
        found
            // At its end begins what has no size.
            .filter(|(memory, start)| *start <= memory.size())
            .ok_or_else(|| {
                Failure::new(
                    Code::Invalid,
                    format!("{address:#x} is in no memory of the device"),
                )
            })
    }

    /// Frees the memory that an address is in; `false` if there is none.
    pub(super) fn free(&mut self, address: usize) -> bool {
        // The address need not be where the memory begins: `allocate` may have shifted it.
        let last = self.memory.range(..=address).next_back();
        let start = last.filter(|(start, memory)| address - **start < memory.size());
        let start = start.map(|(start, _)| *start);
        start.is_some_and(|start| self.free_at(start))
    }

    /// Frees the memory that begins at an address; `false` if none does.
    pub(super) fn free_at(&mut self, start: usize) -> bool {
        self.memory.remove(&start).is_some()
    }

    fn loaded(&self, program: usize) -> Result<&Loaded> {
        let loaded = self
            .programs
            .get(&program)
            .and_then(|loaded| loaded.as_deref().ok());
        loaded.ok_or_else(|| Failure::new(Code::Withdrawn, "the program of a variable was unloaded"))
    }
}
