//! What programs can be asked.

use crate::answer::Place;
use crate::binary;
use crate::c::Out;
use crate::failure::{Result, fail, require};
use crate::handle::{Handle, Handled};
use crate::program::{Origin, Program};
use cl::*;
use core::ffi::c_void;

pub(crate) fn clGetProgramInfo(
    program: Out<_cl_program>,
    param_name: cl_program_info,
    param_value_size: usize,
    param_value: Out<c_void>,
    param_value_size_ret: Out<usize>,
) -> Result<()> {
    let record = Program::of(program)?;
    let program = record.object();
    let place = Place::new(param_value_size, param_value, param_value_size_ret);
    let state = program.state();
    let count = program.devices.len();
    // Only where it is asked for: it copies all modules.
    let binary = || {
        if state.modules.is_empty() {
            return Vec::new();
        }
        binary::write(&state.modules, state.binary_type, &state.options, &state.traces)
    };
    let built = state.executable.is_some();
    match param_name {
        CL_PROGRAM_REFERENCE_COUNT => place.number(record.references()),
        CL_PROGRAM_CONTEXT => place.number(program.context.c()),
        CL_PROGRAM_NUM_DEVICES => place.number(count as cl_uint),
        CL_PROGRAM_DEVICES => {
            let handles: Vec<cl_device_id> = program.devices.iter().map(Handle::c).collect();
            place.numbers(&handles)
        }
        CL_PROGRAM_SOURCE => match &program.origin {
            Origin::Source(text) => place.text(text),
            _ => place.text(""),
        },
        CL_PROGRAM_IL => match &program.origin {
            Origin::Il(il) => place.bytes(il),
            _ => place.bytes(&[]),
        },
        CL_PROGRAM_BINARY_SIZES => {
            let size = binary().len();
            let sizes = program.devices.iter().map(|device| match state.is_for(device) {
                true => size,
                false => 0,
            });
            place.numbers(sizes)
        }
        CL_PROGRAM_BINARIES => {
            let size = count * size_of::<usize>();
            require(place.value.is_null() || place.size >= size, CL_INVALID_VALUE)?;
            place.size_ret.write(size);
            let bytes = binary();
            // The value is a list of where the binary for each device goes; null for one that is not wanted.
            let places = place.value.as_in().values::<*mut u8>(count);
            let built = |device| state.is_for(device);
            for (place, _) in places
                .into_iter()
                .zip(&program.devices)
                .filter(|(_, device)| built(device))
            {
                Out::from_pointer(place).fill(&bytes, bytes.len());
            }
            Ok(())
        }
        CL_PROGRAM_NUM_KERNELS => {
            require(built, CL_INVALID_PROGRAM_EXECUTABLE)?;
            place.number(state.facts.len())
        }
        CL_PROGRAM_KERNEL_NAMES => {
            require(built, CL_INVALID_PROGRAM_EXECUTABLE)?;
            let names: Vec<&str> = state.facts.iter().map(|kernel| &*kernel.name).collect();
            place.text(names.join(";"))
        }
        CL_PROGRAM_SCOPE_GLOBAL_CTORS_PRESENT | CL_PROGRAM_SCOPE_GLOBAL_DTORS_PRESENT => place.number(false),
        _ => fail(CL_INVALID_VALUE),
    }
}

pub(crate) fn clGetProgramBuildInfo(
    program: Out<_cl_program>,
    device: Out<_cl_device_id>,
    param_name: cl_program_build_info,
    param_value_size: usize,
    param_value: Out<c_void>,
    param_value_size_ret: Out<usize>,
) -> Result<()> {
    let record = Program::of(program)?;
    let program = record.object();
    let device = program.device(device)?;
    let place = Place::new(param_value_size, param_value, param_value_size_ret);
    if program.is_building() {
        return match param_name {
            CL_PROGRAM_BUILD_STATUS => place.number(CL_BUILD_IN_PROGRESS),
            _ => fail(CL_INVALID_OPERATION),
        };
    }
    let state = program.state();
    if !state.is_for(device) {
        return match param_name {
            CL_PROGRAM_BUILD_STATUS => place.number(CL_BUILD_NONE),
            CL_PROGRAM_BUILD_OPTIONS | CL_PROGRAM_BUILD_LOG => place.text(""),
            CL_PROGRAM_BINARY_TYPE => place.number(CL_PROGRAM_BINARY_TYPE_NONE),
            CL_PROGRAM_BUILD_GLOBAL_VARIABLE_TOTAL_SIZE => place.number(0_usize),
            _ => fail(CL_INVALID_VALUE),
        };
    }
    match param_name {
        CL_PROGRAM_BUILD_STATUS => place.number(state.status),
        CL_PROGRAM_BUILD_OPTIONS => place.text(&state.options),
        CL_PROGRAM_BUILD_LOG => place.text(&state.log),
        CL_PROGRAM_BINARY_TYPE => place.number(state.binary_type),
        CL_PROGRAM_BUILD_GLOBAL_VARIABLE_TOTAL_SIZE => place.number(state.variables_size),
        _ => fail(CL_INVALID_VALUE),
    }
}
