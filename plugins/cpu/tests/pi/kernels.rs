//! Kernels: arguments, launches, and what goes wrong in them.

use crate::support::{bytes, spirv, with_both, with_checked};
use offkit_pi::ffi::*;
use offkit_pi::host::{Argument, CommandStatus, DeviceType, NdRange};
use offkit_plugin_cpu::plugin::CHECKED_NAME;

const SAXPY: &str = "kernel void saxpy(float a, global const float *x, global float *y) {
    size_t i = get_global_id(0);
    y[i] += a * x[i];
}";

#[test]
fn the_device_describes_itself() {
    with_both(|machine| {
        let device = &machine.device;
        let (name, platform) = (device.name().unwrap(), device.platform().name().unwrap());
        assert!(
            ["offkit CPU", CHECKED_NAME].contains(&platform.as_str()),
            "{platform}"
        );
        assert!(
            name == platform || name.starts_with(&format!("{platform} on ")),
            "{name}"
        );
        assert_eq!(device.device_type().unwrap(), DeviceType::Cpu);
        assert_eq!(device.vendor().unwrap(), "offkit");
        assert!(device.max_compute_units().unwrap() >= 1);
        assert!(device.max_work_group_size().unwrap() >= 256);
        assert_eq!(
            device.max_work_item_sizes().unwrap()[0],
            device.max_work_group_size().unwrap()
        );
        assert!(device.global_memory_size().unwrap() > 1 << 20);
        assert!(device.local_memory_size().unwrap() >= 32 << 10);
        assert!(device.il_version().unwrap().contains("SPIR-V_1.4"));
        assert!(device.extensions().unwrap().contains(&"cl_khr_fp64".to_owned()));
        assert_eq!(device.info_integer(PI_DEVICE_INFO_PARENT_DEVICE).unwrap(), 0);
        // libsycl refuses a kernel that requires a size which is not among these.
        let sizes = device.info(PI_DEVICE_INFO_SUB_GROUP_SIZES_INTEL).unwrap();
        let sizes = sizes.chunks(size_of::<usize>());
        assert!(sizes.eq([4usize, 8, 16, 32, 64].map(usize::to_ne_bytes)));
        assert_eq!(
            device.info(PI_DEVICE_INFO_DRIVER_VERSION).unwrap().last(),
            Some(&0)
        );
    });
}

#[test]
fn an_access_out_of_bounds_fails_the_launch_and_says_where() {
    let spirv = spirv!(SAXPY);
    with_checked(|machine| {
        let mut kernel = machine.build(&spirv).kernel("saxpy").unwrap();
        let [x, y] = [16, 4096].map(|count| machine.context.buffer(count * 4).unwrap());
        kernel.set_argument(0, Argument::bytes(&[0; 4])).unwrap();
        kernel.set_argument(1, &x).unwrap();
        kernel.set_argument(2, &y).unwrap();
        let launch = machine.queue.launch(&kernel, &NdRange::new([17]), &[]).unwrap();
        let error = launch.wait().unwrap_err();
        assert_eq!(error.result(), PI_COMMAND_EXECUTION_FAILURE);
        let message = error.message().unwrap();
        for part in ["`saxpy`", "work-item [16, 0, 0]", "load", "4 bytes", "64 bytes"] {
            assert!(message.contains(part), "{part}: {message}");
        }
        assert_eq!(
            launch.status().unwrap(),
            CommandStatus::Failed(PI_COMMAND_EXECUTION_FAILURE)
        );
        // What waits for it is not run, and says why.
        let after = machine
            .queue
            .launch(&kernel, &NdRange::new([1]), &[&launch])
            .unwrap()
            .wait()
            .unwrap_err();
        assert_eq!(after.result(), PI_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST);
        assert!(after.message().unwrap().contains(message), "{after}");
        // The queue goes on.
        machine.run(&kernel, 16);
    });
}

#[test]
fn a_null_pointer_is_an_access_out_of_bounds() {
    let spirv = spirv!(SAXPY);
    with_checked(|machine| {
        let mut kernel = machine.build(&spirv).kernel("saxpy").unwrap();
        kernel.set_argument(0, Argument::bytes(&[0; 4])).unwrap();
        kernel.set_argument(1, Argument::Address(0)).unwrap();
        kernel.set_argument(2, Argument::Address(0)).unwrap();
        let error = machine
            .queue
            .launch(&kernel, &NdRange::new([1]), &[])
            .unwrap()
            .wait()
            .unwrap_err();
        assert_eq!(error.result(), PI_COMMAND_EXECUTION_FAILURE);
    });
}

#[test]
fn arguments_of_the_wrong_kind_or_size_are_refused() {
    let spirv = spirv!(
        "kernel void k(int n, global int *p, local int *l, float4 v) { l[0] = n; p[0] = l[0] + v.x; }"
    );
    with_both(|machine| {
        let mut kernel = machine.build(&spirv).kernel("k").unwrap();
        let buffer = machine.context.buffer(4).unwrap();
        let code = |result: offkit_pi::host::Result<()>| result.unwrap_err().result();
        assert_eq!(
            code(kernel.set_argument(4, Argument::bytes(&[0; 4]))),
            PI_INVALID_ARG_INDEX
        );
        assert_eq!(
            code(kernel.set_argument(0, Argument::bytes(&[0; 8]))),
            PI_INVALID_ARG_SIZE
        );
        assert_eq!(
            code(kernel.set_argument(3, Argument::bytes(&[0; 4]))),
            PI_INVALID_ARG_SIZE
        );
        assert_eq!(
            code(kernel.set_argument(0, Argument::Local(4))),
            PI_INVALID_ARG_VALUE
        );
        assert_eq!(
            code(kernel.set_argument(2, Argument::Local(0))),
            PI_INVALID_ARG_SIZE
        );
        assert_eq!(code(kernel.set_argument(2, &buffer)), PI_INVALID_ARG_VALUE);
        assert_eq!(code(kernel.set_argument(0, &buffer)), PI_INVALID_ARG_VALUE);
        // As many zeros as a handle has are a null handle, as OpenCL writes one.
        kernel.set_argument(1, Argument::bytes(&[0; 8])).unwrap();
        let error = kernel.set_argument(1, Argument::bytes(&[0; 4])).unwrap_err();
        assert_eq!(error.result(), PI_INVALID_ARG_VALUE);
        assert_eq!(
            error.message().unwrap(),
            "argument 1 of kernel `k` is global i32*: \
             it takes a pointer to global memory, given a value of 4 bytes"
        );

        let error = machine
            .queue
            .launch(&kernel, &NdRange::new([1]), &[])
            .unwrap_err();
        assert_eq!(error.result(), PI_INVALID_KERNEL_ARGS);
        assert_eq!(error.message(), Some("argument 0 of kernel `k` is not set"));
        kernel.set_argument(0, 2i32).unwrap();
        kernel.set_argument(1, &buffer).unwrap();
        kernel.set_argument(2, Argument::Local(4)).unwrap();
        kernel
            .set_argument(3, Argument::bytes(&bytes(&[1.0, 0.0, 0.0, 0.0])))
            .unwrap();
        machine.run(&kernel, 1);
        let mut out = [0; 4];
        machine.queue.read_buffer(&buffer, 0, &mut out, &[]).unwrap();
        assert_eq!(i32::from_ne_bytes(out), 3);
    });
}

#[test]
fn work_groups_have_local_memory_barriers_and_limits() {
    let spirv = spirv!(
        "kernel void sum(global const float *x, global float *out, local float *scratch) {
            size_t i = get_local_id(0);
            scratch[i] = x[get_global_id(0)];
            for (size_t step = get_local_size(0) / 2; step > 0; step /= 2) {
                barrier(CLK_LOCAL_MEM_FENCE);
                if (i < step) scratch[i] += scratch[i + step];
            }
            if (i == 0) out[get_group_id(0)] = scratch[0];
        }
        kernel __attribute__((reqd_work_group_size(4, 2, 1))) void fixed(global int *p) {
            local int count[6];
            count[get_local_id(0)] = 0;
            p[get_global_id(0)] = count[0];
        }
        kernel __attribute__((reqd_work_group_size(4294967295, 4294967295, 2))) void huge(global int *p) {}"
    );
    with_both(|machine| {
        let program = machine.build(&spirv);
        let huge = program.kernel("huge").unwrap();
        assert_eq!(huge.work_group_size(&machine.device).unwrap(), usize::MAX);
        let mut sum = program.kernel("sum").unwrap();
        assert_eq!(sum.compile_work_group_size(&machine.device).unwrap(), None);
        let out = machine.context.buffer(16).unwrap();
        sum.set_argument(0, &machine.context.buffer_from(&bytes(&[0.5; 128])).unwrap())
            .unwrap();
        sum.set_argument(1, &out).unwrap();
        sum.set_argument(2, Argument::Local(32 * 4)).unwrap();
        machine
            .queue
            .launch(&sum, &NdRange::new([128]).with_local([32]), &[])
            .unwrap()
            .wait()
            .unwrap();
        assert_eq!(machine.floats(&out), [16.0; 4]);

        let largest = machine.device.max_work_group_size().unwrap();
        let launch = |kernel: &_, range: NdRange| machine.queue.launch(kernel, &range, &[]);
        let error = launch(&sum, NdRange::new([largest * 2]).with_local([largest * 2])).unwrap_err();
        assert_eq!(error.result(), PI_INVALID_WORK_GROUP_SIZE);
        sum.set_argument(2, Argument::Local(1 << 30)).unwrap();
        assert_eq!(
            launch(&sum, NdRange::new([1])).unwrap_err().result(),
            PI_OUT_OF_RESOURCES
        );

        let mut fixed = program.kernel("fixed").unwrap();
        assert_eq!(
            fixed.compile_work_group_size(&machine.device).unwrap(),
            Some([4, 2, 1])
        );
        assert_eq!(fixed.work_group_size(&machine.device).unwrap(), 8);
        assert!(fixed.local_memory_size(&machine.device).unwrap() >= 24);
        fixed.set_argument(0, &out).unwrap();
        let error = launch(&fixed, NdRange::new([4, 2]).with_local([2, 2])).unwrap_err();
        assert_eq!(error.result(), PI_INVALID_WORK_GROUP_SIZE);
        assert!(error.message().unwrap().contains("[4, 2, 1]"), "{error}");
        launch(&fixed, NdRange::new([4, 2]).with_local([4, 2]))
            .unwrap()
            .wait()
            .unwrap();
    });
}
