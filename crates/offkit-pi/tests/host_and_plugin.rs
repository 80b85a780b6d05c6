//! Both sides of the interface against each other: a mock plugin, used through the safe host side.

mod mock;

use mock::ADDER;
use offkit_image::{DeviceImage, Target};
use offkit_pi::ffi::*;
use offkit_pi::host::*;
use offkit_pi::table::Function;

fn device() -> Device {
    let plugin = Plugin::built_in(&ADDER).unwrap();
    plugin.platforms().unwrap()[0]
        .devices(PI_DEVICE_TYPE_ALL)
        .unwrap()
        .remove(0)
}

fn program(context: &Context, names: &str) -> Program {
    context.program_with_il(names.as_bytes()).unwrap()
}

#[test]
fn a_kernel_runs() {
    let device = device();
    let context = Context::new(&[&device]).unwrap();
    let queue = context.queue(&device, QueueProperties::default()).unwrap();
    let program = program(&context, "add plus");
    program.build("-fast").unwrap();
    assert_eq!(program.kernel_names().unwrap(), ["add", "plus"]);
    assert_eq!(program.build_status(&device).unwrap(), BuildStatus::Success);

    let buffer = context.buffer_from(&[1, 2, 3, 4]).unwrap();
    let mut kernel = program.kernel("plus").unwrap();
    assert_eq!(
        (kernel.name().unwrap().as_str(), kernel.num_args().unwrap()),
        ("plus", 2)
    );
    assert_eq!(kernel.work_group_size(&device).unwrap(), 64);
    assert_eq!(kernel.compile_work_group_size(&device).unwrap(), None);
    kernel.set_argument(0, &buffer).unwrap();
    kernel.set_argument(1, Argument::bytes(&[10])).unwrap();
    let launch = queue.launch(&kernel, &NdRange::new([3]), &[]).unwrap();
    launch.wait().unwrap();
    assert_eq!(launch.status().unwrap(), CommandStatus::Complete);

    let mut out = [0; 4];
    queue.read_buffer(&buffer, 0, &mut out, &[&launch]).unwrap();
    assert_eq!(out, [11, 12, 13, 4]);
    queue
        .write_buffer_later(&buffer, 2, vec![7, 8], &[])
        .unwrap()
        .wait()
        .unwrap();
    assert_eq!(
        queue
            .read_buffer_later(&buffer, 1, 3, &[])
            .unwrap()
            .wait()
            .unwrap(),
        [12, 7, 8]
    );
    queue.finish().unwrap();
}

#[test]
fn errors_name_the_function_the_code_and_the_reason() {
    let device = device();
    let context = Context::new(&[&device]).unwrap();
    let queue = context.queue(&device, QueueProperties::default()).unwrap();
    let program = program(&context, "add");
    program.build("").unwrap();

    let error = program.kernel("sub").unwrap_err();
    assert_eq!(
        error.to_string(),
        "piKernelCreate: PI_INVALID_KERNEL_NAME (-46): no kernel sub"
    );
    assert_eq!(error.function(), Function::piKernelCreate);

    let mut kernel = program.kernel("add").unwrap();
    assert_eq!(
        kernel
            .set_argument(2, Argument::bytes(&[0]))
            .unwrap_err()
            .result(),
        PI_INVALID_ARG_INDEX
    );
    assert_eq!(
        kernel.set_argument(1, Argument::Local(4)).unwrap_err().result(),
        PI_INVALID_ARG_VALUE
    );
    let refused = queue.launch(&kernel, &NdRange::new([1]), &[]).unwrap_err();
    assert_eq!(refused.message(), Some("not all arguments are set"));

    // A command that fails while it runs fails its event, and the event knows why.
    kernel.set_argument(0, &context.buffer(4).unwrap()).unwrap();
    kernel.set_argument(1, Argument::bytes(&[0])).unwrap();
    let launch = queue.launch(&kernel, &NdRange::new([5]), &[]).unwrap();
    let failure = launch.wait().unwrap_err();
    assert_eq!(
        failure.to_string(),
        "piEventsWait: PI_COMMAND_EXECUTION_FAILURE (-997): work-item 4 is past the end"
    );
    assert_eq!(
        launch.status().unwrap(),
        CommandStatus::Failed(PI_COMMAND_EXECUTION_FAILURE)
    );

    for dimensions in [0, 4, u32::MAX] {
        let range = NdRange {
            dimensions,
            ..NdRange::new([1])
        };
        let refused = queue.launch(&kernel, &range, &[]).unwrap_err();
        assert_eq!(refused.result(), PI_INVALID_WORK_DIMENSION);
    }

    let error = device.info(0x7777).unwrap_err();
    assert_eq!(
        error.to_string(),
        "piDeviceGetInfo: PI_INVALID_VALUE (-30): unknown query 0x7777"
    );
}

#[test]
fn a_build_and_a_link_that_fail_show_their_logs() {
    let device = device();
    let context = Context::new(&[&device]).unwrap();
    let wrong = program(&context, "add!");
    assert_eq!(
        wrong.build("").unwrap_err().to_string(),
        "piProgramBuild: PI_BUILD_PROGRAM_FAILURE (-11): no ! in names"
    );
    assert_eq!(wrong.build_status(&device).unwrap(), BuildStatus::Error);

    let [add, sub] = ["add", "sub"].map(|name| program(&context, name));
    let linked = context.link(&[&add, &sub], "").unwrap();
    assert_eq!(linked.kernel_names().unwrap(), ["add", "sub"]);
    let error = context.link(&[&add, &sub, &add], "").unwrap_err();
    assert_eq!(
        error.to_string(),
        "piProgramLink: PI_LINK_PROGRAM_FAILURE (-17): kernel add is there twice"
    );
    assert_eq!(context.link(&[], "").unwrap_err().result(), PI_INVALID_VALUE);
}

#[test]
fn ranges_outside_buffers_and_allocations_are_refused() {
    let device = device();
    let context = Context::new(&[&device]).unwrap();
    let queue = context.queue(&device, QueueProperties::default()).unwrap();
    let buffer = context.buffer(8).unwrap();
    let mut out = [0; 5];
    let error = queue.read_buffer(&buffer, 4, &mut out, &[]).unwrap_err();
    assert_eq!(
        error.message(),
        Some("5 bytes at 4 are not within a buffer of 8 bytes")
    );
    assert!(queue.read_buffer(&buffer, usize::MAX, &mut out, &[]).is_err());
    assert_eq!(context.buffer(0).unwrap_err().result(), PI_INVALID_BUFFER_SIZE);
    assert!(
        queue
            .copy_buffer((&buffer, 0), (&buffer, 2), 4, &[])
            .unwrap_err()
            .result()
            == PI_MEM_COPY_OVERLAP
    );
    assert!(queue.fill_buffer(&buffer, &[1, 2, 3], 0, 6, &[]).is_err());

    let usm = context.usm(UsmKind::Host, &device, 16, 0).unwrap();
    let error = queue.write_usm(&usm, 15, &[1, 2], &[]).unwrap_err();
    assert_eq!(
        error.message(),
        Some("2 bytes at 15 are not within an allocation of 16 bytes")
    );
    let error = context.usm(UsmKind::Shared, &device, 16, 0).unwrap_err();
    assert_eq!(
        error.message(),
        Some("memory that is not the host's is not supported")
    );
}

#[test]
fn devices_are_the_same_each_time_and_selected_by_type() {
    let plugin = Plugin::built_in(&ADDER).unwrap();
    let platform = plugin.platforms().unwrap().remove(0);
    assert_eq!(platform.name().unwrap(), "Adders");
    let devices = platform.devices(PI_DEVICE_TYPE_ALL).unwrap();
    assert_eq!(devices.len(), 2);
    assert_eq!(
        devices,
        platform.devices(PI_DEVICE_TYPE_ACC | PI_DEVICE_TYPE_GPU).unwrap()
    );
    assert_eq!(platform.devices(PI_DEVICE_TYPE_CPU).unwrap(), []);
    assert_eq!(platform.devices(PI_DEVICE_TYPE_DEFAULT).unwrap().len(), 1);
    assert_eq!(devices[0].device_type().unwrap(), DeviceType::Accelerator);
    assert_eq!(devices[0].max_work_item_sizes().unwrap(), [3, 2, 1]);
}

#[test]
fn objects_outlive_what_they_were_made_from_in_the_hands_of_the_host() {
    let device = device();
    let (queue, kernel) = {
        let context = Context::new(&[&device]).unwrap();
        let program = program(&context, "add");
        program.build("").unwrap();
        let mut kernel = program.kernel("add").unwrap();
        kernel
            .set_argument(0, &context.buffer_from(&[5]).unwrap())
            .unwrap();
        kernel.set_argument(1, Argument::bytes(&[1])).unwrap();
        (
            context.queue(&device, QueueProperties::default()).unwrap(),
            kernel,
        )
    };
    queue
        .launch(&kernel, &NdRange::new([1]), &[])
        .unwrap()
        .wait()
        .unwrap();
}

#[test]
fn the_plugin_chooses_among_images() {
    let image = |target, code: &'static [u8]| {
        let mut image = DeviceImage::new(code);
        image.target = Target::of_sycl_name(target);
        image
    };
    let device = device();
    let images = [
        image("spir64", b"x"),
        image("adder", b""),
        image("adder", b"code"),
    ];
    let images = images.each_ref();
    assert_eq!(device.select_binary(&images).unwrap(), Some(2));
    assert_eq!(device.select_binary(&images[..2]).unwrap(), None);
    assert_eq!(device.select_binary(&[]).unwrap(), None);
}

#[test]
fn objects_are_used_from_several_threads_at_once() {
    let device = device();
    let context = Context::new(&[&device]).unwrap();
    let program = program(&context, "add");
    program.build("").unwrap();
    let buffer = context.buffer(1).unwrap();
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                let queue = context.queue(&device, QueueProperties::default()).unwrap();
                let mut kernel = program.kernel("add").unwrap();
                kernel.set_argument(0, &buffer).unwrap();
                kernel.set_argument(1, Argument::bytes(&[1])).unwrap();
                for _ in 0..20 {
                    queue
                        .launch(&kernel, &NdRange::new([1]), &[])
                        .unwrap()
                        .wait()
                        .unwrap();
                }
            });
        }
    });
    let queue = context.queue(&device, QueueProperties::default()).unwrap();
    let mut out = [0];
    queue.read_buffer(&buffer, 0, &mut out, &[]).unwrap();
    assert_eq!(out, [160]);
}
