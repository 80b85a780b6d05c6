//! Objects that are dropped while commands use them, and objects that do not belong together.

use crate::support::{library, spirv, with_both};
use offkit_pi::ffi::*;
use offkit_pi::host::{Argument, Context, Device, NdRange, Plugin, QueueProperties, Result, UsmKind};
use std::sync::mpsc::channel;
use std::time::Duration;

/// Long enough for a test that would otherwise hang.
const LIMIT: Duration = Duration::from_secs(60);

const FILL: &str = "kernel void fill(global uchar *p) { p[get_global_id(0)] = 7; }
kernel void fill_indirect(global uchar *global *p) { (*p)[get_global_id(0)] = 7; }";

#[test]
fn a_launch_keeps_the_memory_of_its_arguments() {
    let spirv = spirv!(FILL);
    with_both(|machine| {
        let (context, device) = (&machine.context, &machine.device);
        let program = machine.build(&spirv);
        let gate = context.user_event().unwrap();
        let usm = || context.usm(UsmKind::Shared, device, 64, 0).unwrap();

        let mut kernel = program.kernel("fill").unwrap();
        kernel.set_argument(0, &usm()).unwrap();
        let direct = machine
            .queue
            .launch(&kernel, &NdRange::new([64]), &[gate.event()])
            .unwrap();
        let by_address = usm();
        kernel
            .set_argument(0, Argument::Address(by_address.address()))
            .unwrap();
        let address = machine
            .queue
            .launch(&kernel, &NdRange::new([64]), &[gate.event()])
            .unwrap();
        drop((kernel, by_address));

        let mut kernel = program.kernel("fill_indirect").unwrap();
        let pointed_to = usm();
        let pointer = context.buffer_from(&pointed_to.address().to_ne_bytes()).unwrap();
        kernel.set_argument(0, &pointer).unwrap();
        kernel.set_indirect_access(true).unwrap();
        let indirect = machine
            .queue
            .launch(&kernel, &NdRange::new([64]), &[gate.event()])
            .unwrap();
        drop((kernel, pointer, pointed_to));

        gate.complete().unwrap();
        for launch in [direct, address, indirect] {
            launch.wait().unwrap();
        }
    });
}

#[test]
fn a_callback_may_drop_what_its_command_used() {
    with_both(|machine| {
        let usm = machine
            .context
            .usm(UsmKind::Shared, &machine.device, 64, 0)
            .unwrap();
        let gate = machine.context.user_event().unwrap();
        let queue = machine
            .context
            .queue(&machine.device, QueueProperties::default())
            .unwrap();
        let set = queue.set_usm(&usm, 0, 1, 64, &[gate.event()]).unwrap();
        let (sender, called) = channel();
        set.on_completion(move |_| {
            drop((usm, queue));
            sender.send(()).unwrap();
        })
        .unwrap();
        gate.complete().unwrap();
        called.recv_timeout(LIMIT).expect("the callback ends");
    });
}

#[test]
fn objects_of_another_context_are_refused() {
    let spirv = spirv!(FILL);
    with_both(|machine| {
        let (queue, device) = (&machine.queue, &machine.device);
        let other = Context::new(&[device]).unwrap();
        let usm = other.usm(UsmKind::Shared, device, 64, 0).unwrap();
        let own = machine.context.usm(UsmKind::Shared, device, 64, 0).unwrap();
        let (buffer, own_buffer) = (other.buffer(64).unwrap(), machine.context.buffer(64).unwrap());
        let program = other.program_with_il(&spirv).unwrap();
        program.build("").unwrap();
        let mut kernel = program.kernel("fill").unwrap();
        kernel.set_argument(0, &usm).unwrap();
        let mut own_kernel = machine.build(&spirv).kernel("fill").unwrap();
        let foreign: [(&str, Result<()>); 10] = [
            (
                "copy from",
                queue.copy_usm((&usm, 0), (&own, 0), 1, &[]).map(drop),
            ),
            ("copy to", queue.copy_usm((&own, 0), (&usm, 0), 1, &[]).map(drop)),
            ("set", queue.set_usm(&usm, 0, 1, 1, &[]).map(drop)),
            ("write USM", queue.write_usm(&usm, 0, &[1], &[])),
            ("read", queue.read_buffer(&buffer, 0, &mut [0], &[])),
            ("write", queue.write_buffer(&buffer, 0, &[0], &[])),
            (
                "copy buffers",
                queue
                    .copy_buffer((&own_buffer, 0), (&buffer, 0), 1, &[])
                    .map(drop),
            ),
            ("launch", queue.launch(&kernel, &NdRange::new([1]), &[]).map(drop)),
            ("buffer argument", own_kernel.set_argument(0, &buffer)),
            ("USM argument", own_kernel.set_argument(0, &usm)),
        ];
        for (what, result) in foreign {
            assert_eq!(result.unwrap_err().result(), PI_INVALID_CONTEXT, "{what}");
        }
        let compiled = other.program_with_il(&spirv).unwrap();
        compiled.compile("").unwrap();
        let linked = machine.context.link(&[&compiled], "");
        assert_eq!(linked.unwrap_err().result(), PI_INVALID_CONTEXT);
    });
}

#[test]
fn the_built_in_plugin_and_the_loaded_one_do_not_mix() {
    let device = |plugin: Plugin| -> Device {
        let platform = plugin.platforms().unwrap().remove(0);
        platform.devices(PI_DEVICE_TYPE_ALL).unwrap().remove(0)
    };
    let built_in = device(Plugin::built_in(&offkit_plugin_cpu::plugin::BUILT_IN).unwrap());
    let [loaded, again] = [(); 2].map(|()| device(Plugin::load(library()).unwrap()));
    assert_eq!(loaded, again);
    assert_ne!(built_in, loaded);

    let code = |result: Result<()>| result.unwrap_err().result();
    let mixed = Context::new(&[&built_in, &loaded]);
    assert_eq!(code(mixed.map(drop)), PI_INVALID_DEVICE);
    let [context, foreign] = [&built_in, &loaded].map(|device| Context::new(&[device]).unwrap());
    let queue_of_it = context.queue(&loaded, QueueProperties::default());
    assert_eq!(code(queue_of_it.map(drop)), PI_INVALID_DEVICE);
    // Handles are numbers that both count up: the same one may be known to both.
    let queue = context.queue(&built_in, QueueProperties::default()).unwrap();
    let buffers = [&context, &foreign].map(|context| context.buffer(16).unwrap());
    assert_eq!(
        code(queue.read_buffer(&buffers[1], 0, &mut [0; 16], &[])),
        PI_INVALID_CONTEXT
    );
    queue.read_buffer(&buffers[0], 0, &mut [0; 16], &[]).unwrap();
}
