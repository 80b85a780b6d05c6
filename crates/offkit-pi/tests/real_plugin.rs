//! The host side with a plugin somebody else made: the one that `OFFKIT_TEST_PLUGIN` is the path of, such as
//! `libpi_opencl.so` of the release 2021.2 on top of an OpenCL driver that takes SPIR-V. Skipped where the
//! variable is not set.

use offkit_pi::ffi::*;
use offkit_pi::host::*;
use std::io::Write;
use std::process::{Command, Stdio};

const SOURCE: &str =
    "kernel void saxpy(float a, global const float *x, global float *y, local float *scratch) {
    size_t i = get_local_id(0);
    scratch[i] = a * x[get_global_id(0)];
    barrier(CLK_LOCAL_MEM_FENCE);
    y[get_global_id(0)] += scratch[i];
}";

/// SPIR-V 1.1, which drivers from 2021 on take.
fn spirv() -> Vec<u8> {
    let arguments = ["--target=spirv64v1.1", "-O1", "-x", "cl", "-c", "-", "-o", "-"];
    let clang = Command::new("clang-22")
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn();
    let mut clang = clang.expect("clang-22");
    clang.stdin.take().unwrap().write_all(SOURCE.as_bytes()).unwrap();
    clang.wait_with_output().unwrap().stdout
}

fn bytes(value: f32) -> Vec<u8> {
    value.to_ne_bytes().repeat(64)
}

#[test]
#[expect(clippy::print_stderr, reason = "a test that is skipped says so")]
fn a_kernel_runs_through_a_real_plugin() {
    let Some(path) = std::env::var_os("OFFKIT_TEST_PLUGIN") else {
        eprintln!("SKIPPED: OFFKIT_TEST_PLUGIN is not set");
        return;
    };
    let plugin = Plugin::load(path).unwrap();
    let platform = plugin.platforms().unwrap().remove(0);
    let device = platform.devices(PI_DEVICE_TYPE_ALL).unwrap().remove(0);
    eprintln!(
        "{} / {} / {}",
        platform.name().unwrap(),
        device.name().unwrap(),
        device.driver_version().unwrap()
    );
    assert!(device.il_version().unwrap().contains("SPIR-V"));
    assert!(device.max_work_item_sizes().unwrap()[0] >= 32);
    device.extensions().unwrap();

    let context = Context::new(&[&device]).unwrap();
    let queue = context
        .queue(
            &device,
            QueueProperties {
                profiling: true,
                out_of_order: false,
            },
        )
        .unwrap();
    let program = context.program_with_il(&spirv()).unwrap();
    program.build("").unwrap();
    assert_eq!(program.build_status(&device).unwrap(), BuildStatus::Success);
    assert_eq!(program.kernel_names().unwrap(), ["saxpy"]);
    let error = program.kernel("taxpy").unwrap_err();
    assert_eq!(error.to_string(), "piKernelCreate: PI_INVALID_KERNEL_NAME (-46)");

    let mut kernel = program.kernel("saxpy").unwrap();
    assert_eq!(
        (kernel.name().unwrap().as_str(), kernel.num_args().unwrap()),
        ("saxpy", 4)
    );
    assert!(kernel.work_group_size(&device).unwrap() >= 16);
    let range = NdRange::new([64]).with_local([16]);
    kernel.set_arg_bytes(0, &2.0f32.to_ne_bytes()).unwrap();
    kernel.set_arg_local(3, 16 * 4).unwrap();

    // With buffers.
    let [x, y] = [3.0, 1.0].map(|value| context.buffer_from(&bytes(value)).unwrap());
    kernel.set_arg_buffer(1, &x).unwrap();
    kernel.set_arg_buffer(2, &y).unwrap();
    let launch = queue.launch(&kernel, &range, &[]).unwrap();
    let read = queue.read_buffer_later(&y, 0, 256, &[&launch]).unwrap();
    assert_eq!(read.wait().unwrap(), bytes(7.0));
    let profile = launch.profile().unwrap();
    assert!(profile.queued <= profile.started && profile.started <= profile.ended);

    // With unified shared memory.
    let [x, y] = [UsmKind::Device, UsmKind::Shared].map(|kind| context.usm(kind, &device, 256, 0).unwrap());
    queue.write_usm(&x, 0, &bytes(0.5), &[]).unwrap();
    queue.write_usm(&y, 0, &bytes(4.0), &[]).unwrap();
    kernel.set_arg_usm(1, &x, 0).unwrap();
    kernel.set_arg_usm(2, &y, 0).unwrap();
    kernel.set_indirect_access(true).unwrap();
    queue.launch(&kernel, &range, &[]).unwrap().wait().unwrap();
    let mut out = [0; 256];
    queue.read_usm(&y, 0, &mut out, &[]).unwrap();
    assert_eq!(out[..], bytes(5.0));
    queue.finish().unwrap();
}
