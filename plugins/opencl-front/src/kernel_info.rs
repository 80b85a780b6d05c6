//! What kernels can be asked.

use crate::answer::Place;
use crate::c::{In, Out};
use crate::device::Device;
use crate::failure::{Failure, Result, fail, require};
use crate::handle::{Handle, Handled, Object};
use crate::kernel::{Kernel, program_of};
use crate::pi::{number, pi};
use cl::*;
use core::ffi::c_void;
use offkit_pi::ffi::{PI_KERNEL_MAX_SUB_GROUP_SIZE, pi_kernel_group_info};
use offkit_spirv::{ParameterKind, Storage};

pub(crate) fn clGetKernelInfo(
    kernel: Out<_cl_kernel>,
    param_name: cl_kernel_info,
    param_value_size: usize,
    param_value: Out<c_void>,
    param_value_size_ret: Out<usize>,
) -> Result<()> {
    let record = Kernel::of(kernel)?;
    let kernel = record.object();
    let place = Place::new(param_value_size, param_value, param_value_size_ret);
    match param_name {
        CL_KERNEL_FUNCTION_NAME => place.text(&kernel.facts().name),
        CL_KERNEL_NUM_ARGS => place.number(kernel.facts().parameters.len() as cl_uint),
        CL_KERNEL_REFERENCE_COUNT => place.number(record.references()),
        CL_KERNEL_CONTEXT => place.number(kernel.program.object().context.c()),
        CL_KERNEL_PROGRAM => place.number(program_of(kernel)),
        // They are of sources alone.
        CL_KERNEL_ATTRIBUTES if kernel.program.object().is_il() => place.text(""),
        CL_KERNEL_ATTRIBUTES => place.text(attributes(kernel)),
        _ => fail(CL_INVALID_VALUE),
    }
}

/// The attributes of a kernel as its source has them.
fn attributes(kernel: &Kernel) -> String {
    let facts = kernel.facts();
    let sizes = |name: &str, [x, y, z]: [u32; 3]| format!("{name}({x},{y},{z})");
    let required = facts.required_work_group_size;
    let hint = facts.work_group_size_hint;
    let sub_group = facts.required_sub_group_size;
    let found = [
        required.map(|size| sizes("reqd_work_group_size", size)),
        hint.map(|size| sizes("work_group_size_hint", size)),
        sub_group.map(|size| format!("intel_reqd_sub_group_size({size})")),
    ];
    let info = kernel.program.object().source_info();
    let others = info
        .get(&facts.name)
        .into_iter()
        .flat_map(|kernel| kernel.attributes.iter().cloned());
    found
        .into_iter()
        .flatten()
        .chain(others)
        .collect::<Vec<_>>()
        .join(" ")
}

pub(crate) fn clGetKernelArgInfo(
    kernel: Out<_cl_kernel>,
    arg_index: cl_uint,
    param_name: cl_kernel_arg_info,
    param_value_size: usize,
    param_value: Out<c_void>,
    param_value_size_ret: Out<usize>,
) -> Result<()> {
    let kernel = Kernel::of(kernel)?;
    let info = kernel.object().program.object().source_info();
    let info = info.get(&kernel.object().facts().name);
    let source = info.and_then(|kernel| kernel.arguments.get(arg_index as usize));
    let parameter = kernel.object().facts().parameters.get(arg_index as usize);
    let parameter = parameter.ok_or(Failure(CL_INVALID_ARG_INDEX))?;
    let place = Place::new(param_value_size, param_value, param_value_size_ret);
    let unknown = Failure(CL_KERNEL_ARG_INFO_NOT_AVAILABLE);
    match param_name {
        CL_KERNEL_ARG_ADDRESS_QUALIFIER => place.number(match &parameter.kind {
            ParameterKind::Pointer { storage, .. } => match storage {
                Storage::Local => CL_KERNEL_ARG_ADDRESS_LOCAL,
                Storage::Constant => CL_KERNEL_ARG_ADDRESS_CONSTANT,
                // OpenCL has no number for generic pointers, which callers give buffers for, too.
                Storage::Global | Storage::Generic => CL_KERNEL_ARG_ADDRESS_GLOBAL,
            },
            _ => CL_KERNEL_ARG_ADDRESS_PRIVATE,
        }),
        // Only images and pipes have one, and the devices have neither.
        CL_KERNEL_ARG_ACCESS_QUALIFIER => place.number(CL_KERNEL_ARG_ACCESS_NONE),
        // SPIR-V has no signs of integers and no names of pointers' targets: nothing is better than what can be guessed.
        CL_KERNEL_ARG_TYPE_NAME => {
            let kept = source.map(|source| &source.type_name);
            place.text(kept.or(parameter.source_type.as_ref()).ok_or(unknown)?)
        }
        CL_KERNEL_ARG_TYPE_QUALIFIER => place.number(source.ok_or(unknown)?.qualifiers),
        CL_KERNEL_ARG_NAME => {
            let kept = source.map(|source| &source.name);
            place.text(kept.or(parameter.name.as_ref()).ok_or(unknown)?)
        }
        _ => fail(CL_INVALID_VALUE),
    }
}

/// What several sizes make; none if that is more than there can be.
fn product(sizes: impl IntoIterator<Item = usize>) -> Option<usize> {
    sizes.into_iter().try_fold(1, usize::checked_mul)
}

/// The device that a query is about: null stands for the only one.
fn device_of(kernel: &Kernel, device: Out<_cl_device_id>) -> Result<Object<Device>> {
    let program = kernel.program.object();
    match &program.devices[..] {
        [only] if device.is_null() => Ok(only.clone()),
        _ => program.device(device).cloned(),
    }
}

pub(crate) fn group_info<N: Default>(
    kernel: &Kernel,
    device: &Device,
    name: pi_kernel_group_info,
) -> Result<N> {
    number(|size, value| {
        let (raw, device, none) = (kernel.raw(), device.pi.raw(), core::ptr::null_mut());
        pi!(
            kernel.plugin(),
            piKernelGetGroupInfo(raw, device, name, size, value, none)
        )
    })
}

pub(crate) fn clGetKernelWorkGroupInfo(
    kernel: Out<_cl_kernel>,
    device: Out<_cl_device_id>,
    param_name: cl_kernel_work_group_info,
    param_value_size: usize,
    param_value: Out<c_void>,
    param_value_size_ret: Out<usize>,
) -> Result<()> {
    let kernel = Kernel::of(kernel)?;
    let kernel = kernel.object();
    let device = device_of(kernel, device)?;
    let device = device.object();
    let place = Place::new(param_value_size, param_value, param_value_size_ret);
    match param_name {
        CL_KERNEL_WORK_GROUP_SIZE | CL_KERNEL_PREFERRED_WORK_GROUP_SIZE_MULTIPLE => {
            place.number(group_info::<usize>(kernel, device, param_name)?)
        }
        CL_KERNEL_COMPILE_WORK_GROUP_SIZE => {
            // Asked before every launch by programs of SYCL.
            let required = kernel.facts().required_work_group_size;
            place.numbers(required.unwrap_or_default().map(|size| size as usize))
        }
        CL_KERNEL_LOCAL_MEM_SIZE => {
            // The plugin knows of the kernel's variables alone.
            let variables = group_info::<u64>(kernel, device, param_name)?;
            place.number(variables.saturating_add(kernel.local_arguments() as u64))
        }
        CL_KERNEL_PRIVATE_MEM_SIZE => place.number(group_info::<u64>(kernel, device, param_name)?),
        CL_KERNEL_SPILL_MEM_SIZE_INTEL => place.number(0_u64),
        // Asked of built-in kernels and custom devices alone.
        CL_KERNEL_GLOBAL_WORK_SIZE => fail(CL_INVALID_VALUE),
        _ => fail(CL_INVALID_VALUE),
    }
}

pub(crate) fn clGetKernelSubGroupInfo(
    kernel: Out<_cl_kernel>,
    device: Out<_cl_device_id>,
    param_name: cl_kernel_sub_group_info,
    input_value_size: usize,
    input_value: In<c_void>,
    param_value_size: usize,
    param_value: Out<c_void>,
    param_value_size_ret: Out<usize>,
) -> Result<()> {
    let kernel = Kernel::of(kernel)?;
    let kernel = kernel.object();
    let device = device_of(kernel, device)?;
    let device = device.object();
    let place = Place::new(param_value_size, param_value, param_value_size_ret);
    let size: u32 = number(|size, value| {
        let (raw, device, none) = (kernel.raw(), device.pi.raw(), core::ptr::null_mut());
        let (name, input) = (PI_KERNEL_MAX_SUB_GROUP_SIZE, core::ptr::null());
        pi!(
            kernel.plugin(),
            piKernelGetSubGroupInfo(raw, device, name, 0, input, size, value, none)
        )
    })?;
    // It divides below, and is whatever the plugin says.
    let size = (size as usize).max(1);
    // Work-items of a work-group.
    let items = || -> Result<usize> {
        let dimensions = input_value_size / size_of::<usize>();
        let whole = input_value_size.is_multiple_of(size_of::<usize>());
        require(whole && (1..=3).contains(&dimensions), CL_INVALID_VALUE)?;
        let sizes = input_value.values::<usize>(dimensions);
        require(sizes.len() == dimensions, CL_INVALID_VALUE)?;
        product(sizes).ok_or(Failure(CL_INVALID_VALUE))
    };
    let group: usize = group_info(kernel, device, CL_KERNEL_WORK_GROUP_SIZE)?;
    match param_name {
        CL_KERNEL_MAX_SUB_GROUP_SIZE_FOR_NDRANGE => place.number(size.min(items()?.max(1))),
        CL_KERNEL_SUB_GROUP_COUNT_FOR_NDRANGE => place.number(items()?.div_ceil(size)),
        CL_KERNEL_LOCAL_SIZE_FOR_SUB_GROUP_COUNT => {
            require(input_value_size == size_of::<usize>(), CL_INVALID_VALUE)?;
            let count = input_value.value::<usize>().ok_or(Failure(CL_INVALID_VALUE))?;
            let dimensions = param_value_size / size_of::<usize>();
            let items = count.checked_mul(size).filter(|items| *items <= group);
            let required = kernel.facts().required_work_group_size;
            let fits = required.is_none_or(|size| product(size.map(|size| size as usize)) == items);
            let mut sizes = [1; 3];
            sizes[0] = items.unwrap_or(0);
            match items.filter(|_| fits) {
                Some(_) => place.numbers(&sizes[..dimensions.clamp(1, 3)]),
                // OpenCL's answer where no work-group has that many: no error, but zeros.
                None => place.numbers(&[0_usize; 3][..dimensions.clamp(1, 3)]),
            }
        }
        CL_KERNEL_MAX_NUM_SUB_GROUPS => place.number(group.div_ceil(size)),
        CL_KERNEL_COMPILE_NUM_SUB_GROUPS => place.number(0_usize),
        CL_KERNEL_COMPILE_SUB_GROUP_SIZE_INTEL => {
            place.number(kernel.facts().required_sub_group_size.unwrap_or(0) as usize)
        }
        _ => fail(CL_INVALID_VALUE),
    }
}

pub(crate) fn clGetKernelSubGroupInfoKHR(
    kernel: Out<_cl_kernel>,
    device: Out<_cl_device_id>,
    param_name: cl_kernel_sub_group_info,
    input_value_size: usize,
    input_value: In<c_void>,
    param_value_size: usize,
    param_value: Out<c_void>,
    param_value_size_ret: Out<usize>,
) -> Result<()> {
    clGetKernelSubGroupInfo(
        kernel,
        device,
        param_name,
        input_value_size,
        input_value,
        param_value_size,
        param_value,
        param_value_size_ret,
    )
}
