//! Programs: objects, and how they are made.

use crate::binary::{self, Binary, Modules, Traces};
use crate::c::{In, Out};
use crate::context::Context;
use crate::device::Device;
use crate::failure::{Failure, Result, fail, require};
use crate::handle::{Handled, Object};
use crate::source_info::{self, Compilation, SourceInfo};
use cl::*;
use core::ffi::{c_char, c_void};
use core::ops::{Deref, DerefMut};
use offkit_pi::ffi::pi_program;
use offkit_pi::host::Owned;
use offkit_spirv::{Kernel, Module, reflect};
use offkit_sync::{Arc, Mutex, MutexGuard, PoisonError};
use offkit_sync::{AtomicBool, AtomicU32, Ordering};
use std::collections::HashMap;

/// A program.
pub(crate) struct Program {
    pub(crate) context: Object<Context>,
    /// Those that it may be built for.
    pub(crate) devices: Vec<Object<Device>>,
    pub(crate) origin: Origin,
    state: Mutex<State>,
    /// Whether somebody compiles, links or builds it, and has the state locked for as long.
    is_building: AtomicBool,
    /// Kernels that there are of it.
    kernels: AtomicU32,
}

/// What a program was made from.
pub(crate) enum Origin {
    /// A source, without NULs and in whatever encoding.
    Source(Arc<[u8]>),
    Il(Arc<[u8]>),
    Binary(Binary),
    /// Other programs.
    Linked,
}

/// What has become of a program: the last compilation, link or build. It is the same for all devices that it was for.
#[derive(Default)]
pub(crate) struct State {
    /// The handles of these devices.
    pub(crate) targets: Arc<[usize]>,
    pub(crate) status: cl_build_status,
    pub(crate) options: String,
    pub(crate) log: String,
    pub(crate) traces: Traces,
    pub(crate) binary_type: cl_program_binary_type,
    /// The SPIR-V that it is made of, with specialization constants in place.
    pub(crate) modules: Modules,
    /// The plugin's program of a program that can be run.
    pub(crate) executable: Option<Arc<Owned<pi_program>>>,
    pub(crate) facts: Arc<[Kernel]>,
    /// How many bytes of global memory its variables take.
    pub(crate) variables_size: usize,
    /// The sources that it is made of, those of programs that it is linked from too. Binaries have none.
    pub(crate) sources: Vec<Arc<Compilation>>,
    /// What they say besides, once somebody has asked.
    source_info: Option<Arc<SourceInfo>>,
    /// Values for the next compilation or build, as bits, by number.
    pub(crate) constants: HashMap<u32, u64>,
}

/// What becomes of a program while it is compiled, linked or built.
pub(crate) struct Building<'a> {
    program: &'a Program,
    state: MutexGuard<'a, State>,
}

impl Deref for Building<'_> {
    type Target = State;

    fn deref(&self) -> &State {
        &self.state
    }
}

impl DerefMut for Building<'_> {
    fn deref_mut(&mut self) -> &mut State {
        &mut self.state
    }
}

impl Drop for Building<'_> {
    fn drop(&mut self) {
        // Before the state is unlocked: from then on it may be the next build's word.
        self.program.is_building.store(false, Ordering::Relaxed);
    }
}

impl Program {
    /// Whether it was made from SPIR-V.
    pub(crate) fn is_il(&self) -> bool {
        matches!(self.origin, Origin::Il(_))
    }

    pub(crate) fn new(context: Object<Context>, devices: Vec<Object<Device>>, origin: Origin) -> Program {
        let mut state = State {
            status: CL_BUILD_NONE,
            ..State::default()
        };
        if let Origin::Binary(binary) = &origin {
            state.targets = handles(&devices);
            state.options.clone_from(&binary.options);
            state.traces.clone_from(&binary.traces);
            state.binary_type = binary.binary_type;
            state.modules.clone_from(&binary.modules);
            // It was compiled when it was written, and can be linked without another compilation.
            if binary.binary_type != CL_PROGRAM_BINARY_TYPE_NONE {
                state.status = CL_BUILD_SUCCESS;
            }
        }
        Program {
            context,
            devices,
            origin,
            state: Mutex::new(state),
            is_building: AtomicBool::new(false),
            kernels: AtomicU32::new(0),
        }
    }

    /// One that may be built for all devices of its context.
    fn of_all(context: Object<Context>, origin: Origin) -> Program {
        let devices = context.object().devices.clone();
        Program::new(context, devices, origin)
    }

    /// The device of a handle, if the program may be built for it.
    pub(crate) fn device(&self, handle: Out<_cl_device_id>) -> Result<&Object<Device>> {
        Device::of(handle)?;
        let mut devices = self.devices.iter();
        let device = devices.find(|device| device.handle() == handle.addr());
        device.ok_or(Failure(CL_INVALID_DEVICE))
    }

    pub(crate) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The same for a compilation, a link or a build. Meanwhile a thread that asks for the status is told that it is in
    /// progress.
    pub(crate) fn building(&self) -> Building<'_> {
        let state = self.state();
        self.is_building.store(true, Ordering::Relaxed);
        Building { program: self, state }
    }

    pub(crate) fn is_building(&self) -> bool {
        self.is_building.load(Ordering::Relaxed)
    }

    /// Forgets what the source said when it was built before.
    pub(crate) fn forget_source_info(state: &mut State) {
        state.source_info = None;
    }

    /// Notes that there is one kernel more, or one less.
    pub(crate) fn count_kernel(&self, more: bool) {
        match more {
            true => self.kernels.fetch_add(1, Ordering::Relaxed),
            false => self.kernels.fetch_sub(1, Ordering::Relaxed),
        };
    }

    /// What the sources say of their kernels, as they were compiled last.
    pub(crate) fn source_info(&self) -> Arc<SourceInfo> {
        let State {
            sources, source_info, ..
        } = &mut *self.state();
        Arc::clone(source_info.get_or_insert_with(|| Arc::new(source_info::of(sources))))
    }

    /// Whether it was built for ranges that work-groups divide evenly.
    pub(crate) fn is_uniform(&self) -> bool {
        self.state().traces.is_uniform
    }

    /// Refuses to change the code below kernels.
    pub(crate) fn check_free(&self) -> Result<()> {
        require(self.kernels.load(Ordering::Relaxed) == 0, CL_INVALID_OPERATION)
    }
}

impl State {
    /// Whether it is what became of the program for a device.
    pub(crate) fn is_for(&self, device: &Object<Device>) -> bool {
        Device::is_among(device, &self.targets)
    }
}

pub(crate) fn handles(devices: &[Object<Device>]) -> Arc<[usize]> {
    devices.iter().map(Object::handle).collect()
}

pub(crate) fn clCreateProgramWithSource(
    context: Out<_cl_context>,
    count: cl_uint,
    strings: Out<*const c_char>,
    lengths: In<usize>,
) -> Result<cl_program> {
    let context = Context::of(context)?;
    let strings = strings.as_in();
    let strings = strings.list(count).ok_or(Failure(CL_INVALID_VALUE))?;
    let lengths = lengths.slice(strings.len());
    require(!strings.is_empty(), CL_INVALID_VALUE)?;
    let mut source = Vec::new();
    for (index, string) in strings.iter().enumerate() {
        let text = In::from_pointer(*string);
        require(!text.is_null(), CL_INVALID_VALUE)?;
        // Without a length, or with 0, it ends with a NUL.
        match lengths.map_or(0, |lengths| lengths[index]) {
            0 => source.extend_from_slice(text.text().unwrap_or_default().to_bytes()),
            length => source.extend_from_slice(text.as_bytes().slice(length).unwrap_or_default()),
        }
    }
    // Some count the NUL at the end of a string to its length. OpenCL has none of them in what is answered, and to the
    // compiler they are no part of the language.
    source.retain(|byte| *byte != 0);
    Program::of_all(context, Origin::Source(source.into())).create()
}

pub(crate) fn clCreateProgramWithIL(
    context: Out<_cl_context>,
    il: In<c_void>,
    length: usize,
) -> Result<cl_program> {
    let context = Context::of(context)?;
    let il = il.bytes(length).ok_or(Failure(CL_INVALID_VALUE))?;
    // Words, of which five are the header of a module.
    let whole = length >= 20 && length.is_multiple_of(4);
    require(whole && binary::is_spirv(il), CL_INVALID_VALUE)?;
    Program::of_all(context, Origin::Il(il.into())).create()
}

pub(crate) fn clCreateProgramWithILKHR(
    context: Out<_cl_context>,
    il: In<c_void>,
    length: usize,
) -> Result<cl_program> {
    clCreateProgramWithIL(context, il, length)
}

pub(crate) fn clCreateProgramWithBinary(
    context: Out<_cl_context>,
    num_devices: cl_uint,
    device_list: In<cl_device_id>,
    lengths: In<usize>,
    binaries: Out<*const u8>,
    binary_status: Out<cl_int>,
) -> Result<cl_program> {
    let context = Context::of(context)?;
    let devices = device_list.list(num_devices).ok_or(Failure(CL_INVALID_VALUE))?;
    require(!devices.is_empty(), CL_INVALID_VALUE)?;
    let chosen = context.object().chosen(num_devices, device_list)?;
    let count = devices.len();
    let binaries = binaries.as_in();
    let (Some(lengths), Some(binaries)) = (lengths.slice(count), binaries.slice(count)) else {
        return fail(CL_INVALID_VALUE);
    };
    // Each device has a status of its own, so that all binaries are read; the first is the program,
    // for a binary is good for every device.
    let mut status = vec![CL_SUCCESS; count];
    let mut read = None;
    for ((length, bytes), status) in lengths.iter().zip(binaries).zip(&mut status) {
        let bytes = In::from_pointer(*bytes);
        *status = match bytes.slice(*length).filter(|bytes| !bytes.is_empty()) {
            None => CL_INVALID_VALUE,
            Some(bytes) => match binary::read(bytes) {
                Ok(found) => {
                    read.get_or_insert(found);
                    CL_SUCCESS
                }
                Err(Failure(code)) => code,
            },
        };
    }
    binary_status.fill(&status, count);
    if let Some(failure) = status.iter().find(|status| **status != CL_SUCCESS) {
        return fail(*failure);
    }
    let binary = read.ok_or(Failure(CL_INVALID_BINARY))?;
    Program::new(context, chosen, Origin::Binary(binary)).create()
}

/// There are no kernels that are built in.
pub(crate) fn clCreateProgramWithBuiltInKernels(
    context: Out<_cl_context>,
    num_devices: cl_uint,
    device_list: In<cl_device_id>,
    _kernel_names: In<c_char>,
) -> Result<cl_program> {
    let context = Context::of(context)?;
    context.object().chosen(num_devices, device_list)?;
    fail(CL_INVALID_VALUE)
}

pub(crate) fn clRetainProgram(program: Out<_cl_program>) -> Result<()> {
    Program::retain(program)
}

pub(crate) fn clReleaseProgram(program: Out<_cl_program>) -> Result<()> {
    Program::release(program)
}

pub(crate) fn clSetProgramSpecializationConstant(
    program: Out<_cl_program>,
    spec_id: cl_uint,
    spec_size: usize,
    spec_value: In<c_void>,
) -> Result<()> {
    let program = Program::of(program)?;
    let program = program.object();
    let Origin::Il(il) = &program.origin else {
        return fail(CL_INVALID_PROGRAM);
    };
    let value = spec_value.bytes(spec_size).ok_or(Failure(CL_INVALID_VALUE))?;
    let module = Module::from_bytes(il).map_err(|_| Failure(CL_INVALID_PROGRAM))?;
    let constants = reflect(&module).specialization_constants;
    let mut constants = constants.iter();
    let constant = constants.find(|constant| constant.id == spec_id);
    let constant = constant.ok_or(Failure(CL_INVALID_SPEC_ID))?;
    require(constant.size == spec_size as u64, CL_INVALID_VALUE)?;
    // As many bytes as the constant has, 8 at most, with the lowest first in memory.
    let bytes = value.iter().rev();
    let bits = bytes.fold(0, |bits, byte| bits << 8 | u64::from(*byte));
    program.state().constants.insert(spec_id, bits);
    Ok(())
}
