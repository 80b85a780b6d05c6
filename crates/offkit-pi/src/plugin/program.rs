//! Programs.

use super::context::device_of;
use super::info::answer;
use super::shim::{array, give, non_null, options};
use super::slab::Ref;
use super::state::{self, ContextRecord, DeviceRecord, ProgramDetails, ProgramRecord, Registered};
use super::{Context, Error, GlobalVariable, Info, Plugin, Result};
use crate::ffi::*;
use core::ffi::{CStr, c_char, c_void};
use std::sync::Arc;

/// How the last compile, link or build of a program went.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Build {
    /// How far it got.
    pub status: pi_program_build_status,
    /// State of the code.
    pub binary_type: pi_program_binary_type,
    /// The options it was given.
    pub options: String,
    /// What it had to say.
    pub log: String,
}

impl Default for Build {
    /// Nothing has been asked for yet.
    fn default() -> Build {
        Build {
            status: PI_PROGRAM_BUILD_STATUS_NONE,
            binary_type: PI_PROGRAM_BINARY_TYPE_NONE,
            options: String::new(),
            log: String::new(),
        }
    }
}

/// Device code on its way to kernels.
#[expect(
    unused_variables,
    reason = "what is left out takes the arguments that are documented"
)]
pub trait Program<P: Plugin>: Sized + Send + Sync + 'static {
    /// Sets a specialization constant, for the next compile or build.
    ///
    /// # Errors
    ///
    /// [`Error`] if there is no such constant ([`PI_INVALID_SPEC_ID`]), or the value has another size
    /// ([`PI_INVALID_VALUE`]).
    fn set_specialization_constant(&self, id: u32, value: &[u8]) -> Result<()> {
        Err(Error::unsupported("a specialization constant"))
    }

    /// Compiles the program, to be linked, for some of its devices, or without any for all. Plugins that do not compile
    /// for one without the others need not tell.
    ///
    /// # Errors
    ///
    /// [`Error`] if it does not compile ([`PI_COMPILE_PROGRAM_FAILURE`]); [`build_info`](Self::build_info)
    /// has the details.
    fn compile(&self, devices: &[Arc<P::Device>], options: &str) -> Result<()> {
        Err(Error::unsupported("compiling without linking"))
    }

    /// Compiles and links the program, for some devices as [`compile`](Self::compile) does.
    ///
    /// # Errors
    ///
    /// [`Error`] if it does not build ([`PI_BUILD_PROGRAM_FAILURE`]); [`build_info`](Self::build_info) has
    /// the details.
    fn build(&self, devices: &[Arc<P::Device>], options: &str) -> Result<()>;

    /// How the last compile, link or build went for one of the program's devices.
    fn build_info(&self, device: &Arc<P::Device>) -> Build {
        Build::default()
    }

    /// The source text it was made from; empty for a program that was not made from any, such as one in
    /// intermediate language.
    fn source(&self) -> String {
        String::new()
    }

    /// The kernels.
    ///
    /// # Errors
    ///
    /// [`Error`] if the program is not built ([`PI_INVALID_PROGRAM_EXECUTABLE`]).
    fn kernel_names(&self) -> Result<Vec<String>>;

    /// A kernel by name.
    ///
    /// # Errors
    ///
    /// [`Error`] if there is none of that name ([`PI_INVALID_KERNEL_NAME`]), or the program is not built
    /// ([`PI_INVALID_PROGRAM_EXECUTABLE`]).
    fn create_kernel(program: &Ref<Self>, name: &str) -> Result<P::Kernel>;

    /// Where a device has a program-scope variable of a built or linked program, by the name that it is exported by.
    ///
    /// # Errors
    ///
    /// [`Error`] if there is none of that name ([`PI_INVALID_VALUE`]), or the program is not built
    /// ([`PI_INVALID_PROGRAM_EXECUTABLE`]).
    fn global_variable(&self, device: &Arc<P::Device>, name: &str) -> Result<GlobalVariable> {
        Err(Error::unsupported("access to the variables of a program"))
    }

    /// The machine code for each of the program's devices, in their order; empty for one that the program is not built for.
    ///
    /// # Errors
    ///
    /// [`Error`] if it cannot be had.
    fn binaries(&self) -> Result<Vec<Vec<u8>>> {
        Err(Error::unsupported("a program's machine code"))
    }

    /// The handle of the driver's own object, for hosts that talk to the driver as well. It stays the plugin's.
    ///
    /// # Errors
    ///
    /// [`Error`] if there is no driver below the plugin, or the host is not to know.
    fn native_handle(&self) -> Result<pi_native_handle> {
        Err(Error::unsupported("a native handle"))
    }
}

/// A program for all devices of its context.
fn insert<P: Registered>(context: ContextRecord<P>, program: P::Program) -> Result<ProgramRecord<P>> {
    let details = ProgramDetails::new(context);
    state::insert(&P::state().programs, program, details)
}

pub(super) unsafe fn piProgramCreate<P: Registered>(
    context: pi_context,
    il: *const c_void,
    length: usize,
) -> Result<ProgramRecord<P>> {
    non_null(il.cast_mut(), "il")?;
    let context = state::context::<P>(context)?;
    // SAFETY: the host passes `length` bytes.
    let il = unsafe { array(il.cast::<u8>(), length, "il") }?;
    let program = P::Context::create_program(context.object(), il)?;
    insert(context, program)
}

pub(super) unsafe fn piclProgramCreateWithSource<P: Registered>(
    context: pi_context,
    count: pi_uint32,
    strings: *mut *const c_char,
    lengths: *const usize,
) -> Result<ProgramRecord<P>> {
    let context = state::context::<P>(context)?;
    if count == 0 {
        return Err(Error::new(PI_INVALID_VALUE, "a program of no texts"));
    }
    let mut source = Vec::new();
    // SAFETY: the host passes `count` texts, and as many lengths or null. A text without a length, or of length 0, ends
    // with a NUL.
    unsafe {
        let texts = array(strings.cast_const(), count as usize, "strings")?;
        for (index, text) in texts.iter().enumerate() {
            non_null(text.cast_mut(), "a text")?;
            let length = match lengths.is_null() {
                true => 0,
                false => *lengths.add(index),
            };
            source.extend_from_slice(match length {
                0 => CStr::from_ptr(*text).to_bytes(),
                length => array(text.cast::<u8>(), length, "a text")?,
            });
        }
    }
    let program = P::Context::create_program_with_source(context.object(), &source)?;
    insert(context, program)
}

pub(super) unsafe fn piProgramCreateWithBinary<P: Registered>(
    context: pi_context,
    num_devices: pi_uint32,
    device_list: *const pi_device,
    lengths: *const usize,
    binaries: *mut *const u8,
    binary_status: *mut pi_int32,
) -> Result<ProgramRecord<P>> {
    let context = state::context::<P>(context)?;
    let count = num_devices as usize;
    // SAFETY: the host passes `num_devices` devices, lengths and pointers, each to as many bytes as its
    // length says.
    let (device, binary) = unsafe {
        match (
            array(device_list, count, "device_list")?,
            array(lengths, count, "lengths")?,
            array(binaries, count, "binaries")?,
        ) {
            ([device], [length], [binary]) => (*device, array(*binary, *length, "binary")?),
            _ => return Err(Error::unsupported("a program for several devices at once")),
        }
    };
    let device = device_of(&context, device)?;
    let program = P::Context::create_program_with_binary(context.object(), device.object(), binary);
    // Also where there is no program, which is when a host looks at the status.
    if !binary_status.is_null() {
        let status = program.as_ref().err().map_or(PI_SUCCESS, |error| error.code);
        // SAFETY: not null, and there is one status for each device.
        unsafe { binary_status.write(status.0) };
    }
    let details = ProgramDetails {
        context,
        devices: vec![device],
    };
    state::insert(&P::state().programs, program?, details)
}

/// Which of some devices a handle is of, or of a part of which: what is compiled for a device is for its parts.
fn device_among<P: Registered>(devices: &[DeviceRecord<P>], device: pi_device) -> Result<DeviceRecord<P>> {
    let device = state::device::<P>(device)?;
    let whole = |device: &DeviceRecord<P>| device.details().parent.clone();
    let mut wholes = core::iter::successors(Some(device), whole);
    let none = || Error::new(PI_INVALID_DEVICE, "the device is none of the program's");
    wholes.find(|device| devices.contains(device)).ok_or_else(none)
}

/// The devices to compile or link for, which must be among some; none means all.
///
/// # Safety
///
/// `list` must be null or have `count` handles.
unsafe fn devices_among<P: Registered>(
    devices: &[DeviceRecord<P>],
    count: pi_uint32,
    list: *const pi_device,
) -> Result<Vec<DeviceRecord<P>>> {
    // SAFETY: by the caller's promise.
    let list = unsafe { array(list, count as usize, "device_list") }?;
    list.iter().map(|device| device_among(devices, *device)).collect()
}

/// As plugins want them.
fn objects<P: Registered>(devices: &[DeviceRecord<P>]) -> Vec<Arc<P::Device>> {
    devices.iter().map(|device| Arc::clone(device.object())).collect()
}

/// Tells the host that a compile, link or build is over. They are done before their functions return, so this
/// is at once.
///
/// # Safety
///
/// `callback` must be none, or a function to be called with these arguments.
unsafe fn notify(callback: pi_program_notify, program: pi_program, user_data: *mut c_void) {
    if let Some(callback) = callback {
        // SAFETY: by the caller's promise.
        unsafe { callback(program, user_data) };
    }
}

pub(super) unsafe fn piProgramCompile<P: Registered>(
    program: pi_program,
    num_devices: pi_uint32,
    device_list: *const pi_device,
    compile_options: *const c_char,
    num_input_headers: pi_uint32,
    _input_headers: *const pi_program,
    _header_include_names: *mut *const c_char,
    pfn_notify: pi_program_notify,
    user_data: *mut c_void,
) -> Result<()> {
    let record = state::program::<P>(program)?;
    if num_input_headers != 0 {
        return Err(Error::unsupported("compiling with headers"));
    }
    // SAFETY: the host passes as many devices as it says, and options that are null or NUL-terminated.
    let compiled = unsafe {
        let devices = devices_among(&record.details().devices, num_devices, device_list)?;
        let devices = objects::<P>(&devices);
        record.object().compile(&devices, options(compile_options)?)
    };
    // Also where it has failed: a host that passes a function waits until it is called.
    // SAFETY: the host's own function and data.
    unsafe { notify(pfn_notify, program, user_data) };
    compiled
}

pub(super) unsafe fn piProgramBuild<P: Registered>(
    program: pi_program,
    num_devices: pi_uint32,
    device_list: *const pi_device,
    build_options: *const c_char,
    pfn_notify: pi_program_notify,
    user_data: *mut c_void,
) -> Result<()> {
    let record = state::program::<P>(program)?;
    // SAFETY: the host passes as many devices as it says, and options that are null or NUL-terminated.
    let built = unsafe {
        let devices = devices_among(&record.details().devices, num_devices, device_list)?;
        let devices = objects::<P>(&devices);
        record.object().build(&devices, options(build_options)?)
    };
    // SAFETY: the host's own function and data.
    unsafe { notify(pfn_notify, program, user_data) };
    built
}

pub(super) unsafe fn piProgramLink<P: Registered>(
    context: pi_context,
    num_devices: pi_uint32,
    device_list: *const pi_device,
    link_options: *const c_char,
    num_input_programs: pi_uint32,
    input_programs: *const pi_program,
    pfn_notify: pi_program_notify,
    user_data: *mut c_void,
    ret_program: *mut pi_program,
) -> Result<()> {
    non_null(ret_program, "ret_program")?;
    // SAFETY: not null, so valid for writing. There is no program unless linking begins.
    unsafe { ret_program.write(core::ptr::null_mut()) };
    let context = state::context::<P>(context)?;
    // SAFETY: the host passes as many devices and programs as it says, and options that are null or
    // NUL-terminated.
    let (devices, handles, options) = unsafe {
        (
            devices_among(&context.details().devices, num_devices, device_list)?,
            array(input_programs, num_input_programs as usize, "input_programs")?,
            options(link_options)?,
        )
    };
    if handles.is_empty() {
        return Err(Error::new(PI_INVALID_VALUE, "a link needs a program"));
    }
    let of_the_context = |handle: &pi_program| {
        let record = state::program::<P>(*handle)?;
        if record.details().context == context {
            Ok(record.into_object())
        } else {
            Err(Error::new(PI_INVALID_CONTEXT, "a program is of another context"))
        }
    };
    let programs: Vec<Ref<P::Program>> = handles.iter().map(of_the_context).collect::<Result<_>>()?;
    let program = P::Context::link(context.object(), &objects::<P>(&devices), &programs, options)?;
    let details = match devices.is_empty() {
        true => ProgramDetails::new(context),
        false => ProgramDetails { context, devices },
    };
    let record = state::insert(&P::state().programs, program, details)?;
    // Also after a link that has failed: its log is asked of the program.
    // SAFETY: not null, so valid for writing, and written before it is read; the callback is the host's own.
    unsafe {
        give(ret_program, record.clone());
        notify(pfn_notify, ret_program.read(), user_data);
    }
    let devices = record.details().devices.iter();
    let mut builds = devices.map(|device| record.object().build_info(device.object()));
    match builds.find(|build| build.status == PI_PROGRAM_BUILD_STATUS_ERROR) {
        Some(Build { log, .. }) => Err(Error::new(PI_LINK_PROGRAM_FAILURE, log)),
        None => Ok(()),
    }
}

pub(super) fn piProgramGetBuildInfo<P: Registered>(
    program: pi_program,
    device: pi_device,
    name: pi_program_build_info,
) -> Result<Info> {
    let program = state::program::<P>(program)?;
    let device = device_among(&program.details().devices, device)?;
    let build = program.object().build_info(device.object());
    Ok(match name {
        PI_PROGRAM_BUILD_INFO_STATUS => build.status.into(),
        PI_PROGRAM_BUILD_INFO_OPTIONS => build.options.into(),
        PI_PROGRAM_BUILD_INFO_LOG => build.log.into(),
        PI_PROGRAM_BUILD_INFO_BINARY_TYPE => build.binary_type.into(),
        name => return Err(Error::unknown_query(name)),
    })
}

pub(super) unsafe fn piProgramGetInfo<P: Registered>(
    program: pi_program,
    name: pi_program_info,
    size: usize,
    value: *mut c_void,
    size_ret: *mut usize,
) -> Result<()> {
    let program = state::program::<P>(program)?;
    // SAFETY: the host passes room for the answer, or null, and with the query for machine code room for that.
    unsafe {
        match name {
            PI_PROGRAM_INFO_BINARIES => give_binaries(&program, size, value.cast(), size_ret),
            name => answer(info(&program, name)?, size, value, size_ret),
        }
    }
}

/// Writes the machine code for each device to where the host has a pointer for it; null for one that it does not want.
///
/// # Safety
///
/// `places` is null, or has `size` bytes of pointers, each null or to as many bytes as the machine code has.
unsafe fn give_binaries<P: Registered>(
    program: &ProgramRecord<P>,
    size: usize,
    places: *const *mut u8,
    size_ret: *mut usize,
) -> Result<()> {
    let binaries = program.object().binaries()?;
    let needed = size_of::<*mut u8>() * binaries.len();
    if !places.is_null() {
        if size < needed {
            let message = format!(
                "there are {} devices, and {size} bytes of pointers",
                binaries.len()
            );
            return Err(Error::new(PI_INVALID_VALUE, message));
        }
        // SAFETY: not null, and as many pointers as there are devices.
        let places = unsafe { array(places, binaries.len(), "param_value") }?;
        for (binary, place) in binaries.iter().zip(places) {
            if !place.is_null() {
                // SAFETY: not null, so there is room for as many bytes, by the caller's promise.
                unsafe { place.copy_from_nonoverlapping(binary.as_ptr(), binary.len()) };
            }
        }
    }
    if !size_ret.is_null() {
        // SAFETY: not null, so valid for writing.
        unsafe { size_ret.write(needed) };
    }
    Ok(())
}

fn info<P: Registered>(program: &ProgramRecord<P>, name: pi_program_info) -> Result<Info> {
    let devices = &program.details().devices;
    Ok(match name {
        PI_PROGRAM_INFO_REFERENCE_COUNT => program.references().into(),
        PI_PROGRAM_INFO_CONTEXT => program.details().context.handle().into(),
        PI_PROGRAM_INFO_NUM_DEVICES => (devices.len() as u32).into(),
        PI_PROGRAM_INFO_DEVICES => {
            let handles: Vec<usize> = devices.iter().map(|device| device.handle()).collect();
            handles.as_slice().into()
        }
        PI_PROGRAM_INFO_SOURCE => program.object().source().into(),
        PI_PROGRAM_INFO_BINARY_SIZES => {
            let sizes: Vec<usize> = program.object().binaries()?.iter().map(Vec::len).collect();
            sizes.as_slice().into()
        }
        PI_PROGRAM_INFO_NUM_KERNELS => program.object().kernel_names()?.len().into(),
        PI_PROGRAM_INFO_KERNEL_NAMES => program.object().kernel_names()?.join(";").into(),
        name => return Err(Error::unknown_query(name)),
    })
}

pub(super) unsafe fn piextProgramSetSpecializationConstant<P: Registered>(
    program: pi_program,
    id: pi_uint32,
    size: usize,
    value: *const c_void,
) -> Result<()> {
    let program = state::program::<P>(program)?;
    // SAFETY: the host passes `size` bytes.
    let value = unsafe { array(value.cast::<u8>(), size, "spec_value") }?;
    program.object().set_specialization_constant(id, value)
}
