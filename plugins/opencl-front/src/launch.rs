//! Launches.

use crate::c::{In, Out};
use crate::failure::{Failure, Result, require};
use crate::handle::{Handled, Object};
use crate::kernel::Kernel;
use crate::pi::pi;
use crate::queue::{Queue, Submission, submit};
use cl::*;
use offkit_plugin_cpu::suggested_local_size;

/// Sizes of as many dimensions as there are, the rest filled up.
fn sizes(place: In<usize>, dimensions: usize, rest: usize) -> Option<[usize; 3]> {
    let given = place.slice(dimensions)?;
    let mut sizes = [rest; 3];
    for (size, given) in sizes.iter_mut().zip(given) {
        *size = *given;
    }
    Some(sizes)
}

/// Launches a kernel.
fn launch(
    queue: &Object<Queue>,
    kernel: &Kernel,
    command: cl_command_type,
    dimensions: cl_uint,
    [offset, global]: [[usize; 3]; 2],
    local: Option<[usize; 3]>,
    to: Submission,
) -> Result<()> {
    require(
        kernel.is_for(&queue.object().device),
        CL_INVALID_PROGRAM_EXECUTABLE,
    )?;
    for (offset, size) in offset.iter().zip(global) {
        require(offset.checked_add(size).is_some(), CL_INVALID_GLOBAL_OFFSET)?;
    }
    // Without sizes the device chooses.
    let local = local.as_ref().map_or(core::ptr::null(), |local| local.as_ptr());
    submit(queue, command, to, |plugin, raw, count, list, event| {
        pi!(
            plugin,
            piEnqueueKernelLaunch(
                raw,
                kernel.raw(),
                dimensions,
                offset.as_ptr(),
                global.as_ptr(),
                local,
                count,
                list,
                event
            )
        )
    })
}

pub(crate) fn clEnqueueNDRangeKernel(
    command_queue: Out<_cl_command_queue>,
    kernel: Out<_cl_kernel>,
    work_dim: cl_uint,
    global_work_offset: In<usize>,
    global_work_size: In<usize>,
    local_work_size: In<usize>,
    count: cl_uint,
    list: In<cl_event>,
    event: Out<cl_event>,
) -> Result<()> {
    let queue = Queue::of(command_queue)?;
    let kernel = Kernel::of(kernel)?;
    let kernel = kernel.object();
    queue.object().check_context(&kernel.program.object().context)?;
    require((1..=3).contains(&work_dim), CL_INVALID_WORK_DIMENSION)?;
    let dimensions = work_dim as usize;
    let offset = sizes(global_work_offset, dimensions, 0).unwrap_or([0; 3]);
    // No sizes are sizes of 0.
    let global = sizes(global_work_size, dimensions, 1).unwrap_or([0; 3]);
    let local = sizes(local_work_size, dimensions, 1);
    if let Some(local) = local {
        let device = queue.object().device.object();
        let most: [usize; 3] = device.sizes(CL_DEVICE_MAX_WORK_ITEM_SIZES);
        require(!local.contains(&0), CL_INVALID_WORK_GROUP_SIZE)?;
        let fits = local.iter().zip(&most).all(|(size, most)| size <= most);
        require(fits, CL_INVALID_WORK_ITEM_SIZE)?;
        let even = || {
            global
                .iter()
                .zip(&local)
                .all(|(size, group)| size.is_multiple_of(*group))
        };
        // Of other kernels the last groups of a range may be smaller, as OpenCL 2.0 has it.
        require(!kernel.is_uniform || even(), CL_INVALID_WORK_GROUP_SIZE)?;
    }
    let to = Submission { count, list, event };
    let command = CL_COMMAND_NDRANGE_KERNEL;
    launch(&queue, kernel, command, work_dim, [offset, global], local, to)
}

pub(crate) fn clEnqueueTask(
    command_queue: Out<_cl_command_queue>,
    kernel: Out<_cl_kernel>,
    count: cl_uint,
    list: In<cl_event>,
    event: Out<cl_event>,
) -> Result<()> {
    let queue = Queue::of(command_queue)?;
    let kernel = Kernel::of(kernel)?;
    let kernel = kernel.object();
    queue.object().check_context(&kernel.program.object().context)?;
    let to = Submission { count, list, event };
    // OpenCL defines a task as the launch of a single work-item, in a work-group of its own.
    let one = [1; 3];
    launch(&queue, kernel, CL_COMMAND_TASK, 1, [[0; 3], one], Some(one), to)
}

pub(crate) fn clGetKernelSuggestedLocalWorkSize(
    command_queue: Out<_cl_command_queue>,
    kernel: Out<_cl_kernel>,
    work_dim: cl_uint,
    global_work_offset: In<usize>,
    global_work_size: In<usize>,
    suggested_local_work_size: Out<usize>,
) -> Result<()> {
    let queue = Queue::of(command_queue)?;
    let kernel = Kernel::of(kernel)?;
    let kernel = kernel.object();
    queue.object().check_context(&kernel.program.object().context)?;
    require(
        kernel.is_for(&queue.object().device),
        CL_INVALID_PROGRAM_EXECUTABLE,
    )?;
    require(kernel.is_ready(), CL_INVALID_KERNEL_ARGS)?;
    require((1..=3).contains(&work_dim), CL_INVALID_WORK_DIMENSION)?;
    require(!suggested_local_work_size.is_null(), CL_INVALID_VALUE)?;
    let dimensions = work_dim as usize;
    let global = sizes(global_work_size, dimensions, 1).ok_or(Failure(CL_INVALID_GLOBAL_WORK_SIZE))?;
    require(!global.contains(&0), CL_INVALID_GLOBAL_WORK_SIZE)?;
    let offset = sizes(global_work_offset, dimensions, 0).unwrap_or([0; 3]);
    for (offset, size) in offset.iter().zip(global) {
        require(offset.checked_add(size).is_some(), CL_INVALID_GLOBAL_OFFSET)?;
    }
    // What the kernel requires, what it hints at if that divides the range, or else a size of the device's own.
    let required = kernel.facts().required_work_group_size;
    let hint = kernel
        .facts()
        .work_group_size_hint
        .map(|size| size.map(|size| size as usize));
    let divides = |group: &[usize; 3]| {
        let mut pairs = global.iter().zip(group);
        pairs.all(|(size, group)| *group != 0 && size.is_multiple_of(*group))
    };
    let suggested = match required {
        Some(required) => required.map(|size| size as usize),
        None => hint.filter(divides).unwrap_or_else(|| {
            suggested_local_size(global.map(|size| size as u64)).map(|size| size as usize)
        }),
    };
    suggested_local_work_size.fill(&suggested, dimensions);
    Ok(())
}

pub(crate) fn clGetKernelSuggestedLocalWorkSizeKHR(
    command_queue: Out<_cl_command_queue>,
    kernel: Out<_cl_kernel>,
    work_dim: cl_uint,
    global_work_offset: In<usize>,
    global_work_size: In<usize>,
    suggested_local_work_size: Out<usize>,
) -> Result<()> {
    clGetKernelSuggestedLocalWorkSize(
        command_queue,
        kernel,
        work_dim,
        global_work_offset,
        global_work_size,
        suggested_local_work_size,
    )
}
