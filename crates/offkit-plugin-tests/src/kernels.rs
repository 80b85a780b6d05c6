//! Programs and kernels.

use offkit_pi::ffi::*;
use offkit_pi::host::{Argument, BinaryType, NdRange, PiError, Program, QueueProperties, UsmKind};

use crate::events::in_threads;
use crate::machine::{Machine, bytes, refused, words};

type Result = core::result::Result<(), PiError>;

pub(crate) fn a_kernel_runs_with_buffers(machine: &Machine<'_>) -> Result {
    let mut kernel = machine.kernels()?.kernel("saxpy")?;
    let x: Vec<f32> = (0..1000).map(|i| i as f32).collect();
    let (x, y) = (
        machine.context.buffer_from(&bytes(&x))?,
        machine.context.buffer_from(&bytes(&[1.0; 1000]))?,
    );
    kernel.set_argument(0, 2.0_f32)?;
    kernel.set_argument(1, &x)?;
    kernel.set_argument(2, &y)?;
    let launch = machine.queue.launch(&kernel, &NdRange::new([1000]), &[])?;
    launch.wait()?;
    let expected: Vec<f32> = (0..1000).map(|i| 1.0 + 2.0 * i as f32).collect();
    assert_eq!(machine.read(&y)?, bytes(&expected));
    Ok(())
}

pub(crate) fn a_kernel_runs_with_unified_shared_memory(machine: &Machine<'_>) -> Result {
    let mut kernel = machine.kernels()?.kernel("saxpy")?;
    for kind in [UsmKind::Host, UsmKind::Device, UsmKind::Shared] {
        let usm = || machine.context.usm(kind, &machine.device, 256, 64);
        let (x, y) = (usm()?, usm()?);
        assert_eq!(x.address() % 64, 0);
        machine.queue.write_usm(&x, 0, &bytes(&[3.0; 64]), &[])?;
        machine.queue.set_usm(&y, 0, 0, 256, &[])?.wait()?;
        kernel.set_argument(0, 1.5_f32)?;
        kernel.set_argument(1, &x)?;
        // The second half of it.
        kernel.set_argument(2, y.at(128))?;
        machine.queue.launch(&kernel, &NdRange::new([32]), &[])?.wait()?;
        let mut out = [0; 256];
        machine.queue.read_usm(&y, 0, &mut out, &[])?;
        assert_eq!(out[..128], [0; 128]);
        assert_eq!(out[128..], bytes(&[4.5; 32]));
    }
    Ok(())
}

pub(crate) fn a_kernel_follows_addresses_in_memory(machine: &Machine<'_>) -> Result {
    let mut kernel = machine.kernels()?.kernel("follow")?;
    let usm = || machine.context.usm(UsmKind::Shared, &machine.device, 64, 0);
    let (list, number) = (usm()?, usm()?);
    machine
        .queue
        .write_usm(&list, 0, &number.address().to_ne_bytes(), &[])?;
    machine.queue.set_usm(&number, 0, 7, 4, &[])?.wait()?;
    kernel.set_argument(0, &list)?;
    // No argument points to the number: without this a driver may leave its memory out.
    kernel.set_indirect_access(true)?;
    machine.queue.launch(&kernel, &NdRange::new([1]), &[])?.wait()?;
    let mut out = [0; 4];
    machine.queue.read_usm(&number, 0, &mut out, &[])?;
    assert_eq!(out, [8, 7, 7, 7]);
    Ok(())
}

pub(crate) fn an_in_order_queue_keeps_the_order(machine: &Machine<'_>) -> Result {
    let buffer = machine.context.buffer_from(&[0; 64])?;
    let mut kernel = machine.kernels()?.kernel("add")?;
    kernel.set_argument(1, &buffer)?;
    for n in 0..50_i32 {
        kernel.set_argument(0, n)?;
        machine.queue.launch(&kernel, &NdRange::new([16]), &[])?;
        // It clears what the launch before it has added: in another order something would stay.
        machine.queue.fill_buffer(&buffer, &[0; 4], 0, 4, &[])?;
    }
    let values = words(&machine.read(&buffer)?);
    assert_eq!(values[0], 0);
    assert_eq!(values[1..], [49 * 50 / 2; 15]);
    Ok(())
}

pub(crate) fn a_launch_uses_the_arguments_of_its_moment(machine: &Machine<'_>) -> Result {
    let mut kernel = machine.kernels()?.kernel("put")?;
    // It holds all launches back until the arguments of the last one are set.
    let gate = machine.context.user_event()?;
    let buffer = |_| machine.context.buffer(4);
    let buffers: Vec<_> = (0..3).map(buffer).collect::<core::result::Result<_, _>>()?;
    for (n, buffer) in (0..).zip(&buffers) {
        kernel.set_argument(0, n)?;
        kernel.set_argument(1, buffer)?;
        machine
            .queue
            .launch(&kernel, &NdRange::new([1]), &[gate.event()])?;
    }
    drop(kernel);
    gate.complete()?;
    for (n, buffer) in (0..).zip(&buffers) {
        assert_eq!(words(&machine.read(buffer)?), [n]);
    }
    Ok(())
}

pub(crate) fn ranges_have_offsets_and_three_dimensions(machine: &Machine<'_>) -> Result {
    let mut kernel = machine.kernels()?.kernel("ids")?;
    let out = machine.context.buffer_from(&[0; 256])?;
    kernel.set_argument(0, &out)?;
    let range = NdRange::new([2, 2, 1])
        .with_offset([1, 2, 3])
        .with_local([1, 2, 1]);
    machine.queue.launch(&kernel, &range, &[])?.wait()?;
    let found: Vec<_> = words(&machine.read(&out)?)
        .into_iter()
        .enumerate()
        .filter(|(_, value)| *value != 0)
        .collect();
    // Where: 16 z + 4 y + x. What: 100 for each dimension, 10 for each local y, 1 + the group.
    assert_eq!(found, [(57, 301), (58, 302), (61, 311), (62, 312)]);
    Ok(())
}

pub(crate) fn work_groups_have_local_memory_and_barriers(machine: &Machine<'_>) -> Result {
    let mut kernel = machine.kernels()?.kernel("sum")?;
    let (x, out) = (
        machine.context.buffer_from(&bytes(&[0.5; 128]))?,
        machine.context.buffer(16)?,
    );
    kernel.set_argument(0, &x)?;
    kernel.set_argument(1, &out)?;
    kernel.set_argument(2, Argument::Local(32 * 4))?;
    let launch = |range: NdRange| machine.queue.launch(&kernel, &range, &[]);
    launch(NdRange::new([128]).with_local([32]))?.wait()?;
    assert_eq!(machine.read(&out)?, bytes(&[16.0; 4]));

    let largest = machine.device.max_work_group_size()?;
    let range = NdRange::new([largest * 2]).with_local([largest * 2]);
    refused(
        "a work-group larger than the largest",
        launch(range),
        PI_INVALID_WORK_GROUP_SIZE,
    )
}

pub(crate) fn several_threads_use_one_context(machine: &Machine<'_>) -> Result {
    let program = machine.kernels()?;
    in_threads(6, |thread| {
        let queue = machine
            .context
            .queue(&machine.device, QueueProperties::default())?;
        let mut kernel = program.kernel("add")?;
        let buffer = machine.context.buffer_from(&[0; 400])?;
        kernel.set_argument(0, i32::from(thread))?;
        kernel.set_argument(1, &buffer)?;
        for _ in 0..20 {
            queue.launch(&kernel, &NdRange::new([100]), &[])?;
        }
        let mut out = [0; 400];
        queue.read_buffer(&buffer, 0, &mut out, &[])?;
        assert_eq!(words(&out), [i32::from(thread) * 20; 100]);
        Ok(())
    })
}

pub(crate) fn several_threads_launch_one_kernel(machine: &Machine<'_>) -> Result {
    let buffer = machine.context.buffer_from(&[0; 4 * 32])?;
    let mut kernel = machine.kernels()?.kernel("add")?;
    kernel.set_argument(0, 1_i32)?;
    kernel.set_argument(1, &buffer)?;
    in_threads(4, |thread| {
        let queue = machine
            .context
            .queue(&machine.device, QueueProperties::default())?;
        // Each has a part of the buffer.
        let range = NdRange::new([8]).with_offset([8 * usize::from(thread)]);
        for _ in 0..500 {
            let launched = queue.launch(&kernel, &range, &[]);
            // Not even with the error of what is unsupported.
            launched.unwrap_or_else(|error| panic!("a launch beside others failed: {error}"));
        }
        queue.finish()
    })?;
    assert_eq!(words(&machine.read(&buffer)?), [500; 32]);
    Ok(())
}

/// What the kernel `number` of a program writes.
fn constant(machine: &Machine<'_>, program: &Program) -> core::result::Result<i32, PiError> {
    let out = machine.context.buffer(4)?;
    let mut kernel = program.kernel("number")?;
    kernel.set_argument(0, &out)?;
    machine.queue.launch(&kernel, &NdRange::new([1]), &[])?.wait()?;
    Ok(words(&machine.read(&out)?)[0])
}

pub(crate) fn specialization_constants_have_their_values(machine: &Machine<'_>) -> Result {
    let program = machine.context.program_with_il(&machine.code().constant)?;
    program.build("")?;
    assert_eq!(constant(machine, &program)?, 11, "the value in the module");
    let program = machine.context.program_with_il(&machine.code().constant)?;
    program.set_specialization_constant(7, &42_i32.to_ne_bytes())?;
    program.build("")?;
    assert_eq!(constant(machine, &program)?, 42, "the value that was set");
    Ok(())
}

pub(crate) fn machine_code_is_a_program_of_its_own(machine: &Machine<'_>) -> Result {
    let program = machine.context.program_with_il(&machine.code().constant)?;
    program.set_specialization_constant(7, &42_i32.to_ne_bytes())?;
    program.build("")?;
    let binaries = program.binaries()?;
    assert_eq!(binaries.len(), 1, "one device");
    let reloaded = machine
        .context
        .program_with_binary(&machine.device, &binaries[0])?;
    reloaded.build("")?;
    assert_eq!(constant(machine, &reloaded)?, 42);
    Ok(())
}

pub(crate) fn two_modules_compiled_and_linked_run(machine: &Machine<'_>) -> Result {
    let (context, device) = (&machine.context, &machine.device);
    let app = context.program_with_il(&machine.code().app)?;
    let library = context.program_with_il(&machine.code().library)?;
    app.compile("")?;
    library.compile("")?;
    assert_eq!(app.binary_type(device)?, BinaryType::Object);
    let program = context.link(&[&app, &library], "")?;
    assert_eq!(program.binary_type(device)?, BinaryType::Executable);
    assert_eq!(program.kernel_names()?, ["saxpy"]);
    let mut kernel = program.kernel("saxpy")?;
    assert_eq!(kernel.num_args()?, 3);
    let (x, y) = (
        context.buffer_from(&bytes(&[2.0; 8]))?,
        context.buffer_from(&bytes(&[1.0; 8]))?,
    );
    kernel.set_argument(0, 3.0_f32)?;
    kernel.set_argument(1, &x)?;
    kernel.set_argument(2, &y)?;
    machine.queue.launch(&kernel, &NdRange::new([8]), &[])?.wait()?;
    assert_eq!(machine.read(&y)?, bytes(&[7.0; 8]));
    Ok(())
}

pub(crate) fn a_missing_function_fails_the_link(machine: &Machine<'_>) -> Result {
    let app = machine.context.program_with_il(&machine.code().app)?;
    app.compile("")?;
    let linked = machine.context.link(&[&app], "");
    let log = linked.as_ref().err().map(ToString::to_string);
    refused(
        "a link without what a kernel calls",
        linked,
        PI_LINK_PROGRAM_FAILURE,
    )?;
    let log = log.unwrap_or_default();
    assert!(log.contains("scale"), "the log does not name the function: {log}");
    Ok(())
}

pub(crate) fn what_is_not_there_is_refused(machine: &Machine<'_>) -> Result {
    let program = machine.kernels()?;
    let nothing = program.kernel("nothing");
    refused("a kernel that is not there", nothing, PI_INVALID_KERNEL_NAME)?;
    let mut kernel = program.kernel("add")?;
    let third = kernel.set_argument(2, 1_i32);
    refused("an argument that is not there", third, PI_INVALID_ARG_INDEX)?;
    let wide = kernel.set_argument(0, Argument::bytes(&[0; 8]));
    refused("an argument of another size", wide, PI_INVALID_ARG_SIZE)?;
    // The value above was refused, so that the kernel still has no argument at all.
    let launched = machine.queue.launch(&kernel, &NdRange::new([1]), &[]);
    refused("a launch without arguments", launched, PI_INVALID_KERNEL_ARGS)
}
