//! What the plugin adds to a launch: an empty kernel, launched and waited for, by the driver's own table of functions, by
//! the plugin's, and by the safe host side, on the first driver that is found. In turn, so that what else the machine does
//! hits all alike.
//!
//! `cargo bench -p offkit-plugin-opencl`. Exits with 1 if the goal is missed: 1.15 times the driver's own calls.

use offkit_opencl::*;
use offkit_pi::ffi::*;
use offkit_pi::host::{Context, NdRange, Plugin, QueueProperties};
use std::process::ExitCode;
use std::ptr::{null, null_mut, with_exposed_provenance_mut};
use std::time::Instant;

/// What the safe host side may take, in times of the driver's own calls.
const GOAL: f64 = 1.15;

/// Calls a function of a table, which must succeed.
macro_rules! done {
    ($table:expr, $function:ident($($argument:expr),* $(,)?)) => {{
        let function = $table.$function.expect(stringify!($function));
        // SAFETY: handles as they are wanted, and memory as large as it is said to be.
        let result = unsafe { function($($argument),*) };
        assert_eq!(i32::from(Code::from(result)), 0, stringify!($function));
    }};
}

/// A result of either interface.
struct Code(i32);

impl From<i32> for Code {
    fn from(code: i32) -> Code {
        Code(code)
    }
}

impl From<pi_result> for Code {
    fn from(pi_result(code): pi_result) -> Code {
        Code(code)
    }
}

impl From<Code> for i32 {
    fn from(Code(code): Code) -> i32 {
        code
    }
}

/// What is measured, and its name.
type Call<'c> = (&'static str, Box<dyn FnMut() + 'c>);

/// The shortest and the median time of many calls, in nanoseconds.
fn measure(calls: &mut [Call<'_>]) -> Vec<(String, u128, u128)> {
    let mut times = vec![Vec::new(); calls.len()];
    for _ in 0..200 {
        for ((_, call), times) in calls.iter_mut().zip(&mut times) {
            for _ in 0..50 {
                let start = Instant::now();
                call();
                times.push(start.elapsed().as_nanos());
            }
        }
    }
    let summary = |((name, _), times): (&Call<'_>, &mut Vec<u128>)| {
        times.sort_unstable();
        ((*name).to_owned(), times[0], times[times.len() / 2])
    };
    calls.iter().zip(&mut times).map(summary).collect()
}

#[expect(clippy::print_stdout, reason = "the result")]
fn main() -> ExitCode {
    let plugin = Plugin::built_in(&offkit_plugin_opencl::BUILT_IN).expect("the plugin");
    let platforms = plugin.platforms().expect("a driver");
    let Some(platform) = platforms.first() else {
        println!("no OpenCL driver is here");
        return ExitCode::SUCCESS;
    };
    let device = platform.devices(PI_DEVICE_TYPE_ALL).expect("devices").remove(0);
    println!("{}", device.name().unwrap_or_default());
    let source = "kernel void empty() {}";

    // By the host side.
    let context = Context::new(&[&device]).expect("a context");
    let queue = context
        .queue(&device, QueueProperties::default())
        .expect("a queue");
    let program = context.program_with_source(source).expect("a program");
    program.build("").expect("a build");
    let kernel = program.kernel("empty").expect("a kernel");
    let range = NdRange::new([1]);

    // By the plugin's table.
    let api = *plugin.api();
    let (mut pi_platform, mut pi_device, mut pi_context) = (null_mut(), null_mut(), null_mut());
    done!(api, piPlatformsGet(1, &raw mut pi_platform, null_mut()));
    done!(
        api,
        piDevicesGet(pi_platform, PI_DEVICE_TYPE_ALL, 1, &raw mut pi_device, null_mut())
    );
    done!(
        api,
        piContextCreate(
            null(),
            1,
            &raw const pi_device,
            None,
            null_mut(),
            &raw mut pi_context
        )
    );
    let (mut pi_queue, mut pi_program, mut pi_kernel) = (null_mut(), null_mut(), null_mut());
    done!(api, piQueueCreate(pi_context, pi_device, 0, &raw mut pi_queue));
    let mut text = source.as_ptr().cast();
    let length = source.len();
    done!(
        api,
        piclProgramCreateWithSource(
            pi_context,
            1,
            &raw mut text,
            &raw const length,
            &raw mut pi_program
        )
    );
    done!(
        api,
        piProgramBuild(pi_program, 0, null(), null(), None, null_mut())
    );
    done!(
        api,
        piKernelCreate(pi_program, c"empty".as_ptr(), &raw mut pi_kernel)
    );

    // By the driver's own.
    let native = |get: &dyn Fn(*mut pi_native_handle)| {
        let mut handle = 0;
        get(&raw mut handle);
        handle
    };
    let cl_context = native(&|to| done!(api, piextContextGetNativeHandle(pi_context, to)));
    let cl_context: cl_context = with_exposed_provenance_mut(cl_context);
    let cl_queue = native(&|to| done!(api, piextQueueGetNativeHandle(pi_queue, to)));
    let cl_queue: cl_command_queue = with_exposed_provenance_mut(cl_queue);
    let cl_program = native(&|to| done!(api, piextProgramGetNativeHandle(pi_program, to)));
    let cl_program: cl_program = with_exposed_provenance_mut(cl_program);
    // SAFETY: every handle begins with a pointer to its driver's table, and the program is built.
    let (table, cl_kernel) = unsafe {
        let table = &*(*cl_context).dispatch;
        let create = table.clCreateKernel.expect("clCreateKernel");
        (table, create(cl_program, c"empty".as_ptr(), null_mut()))
    };
    let one = [1_usize];
    let mut calls: [Call<'_>; 5] = [
        (
            "driver, finish",
            Box::new(|| {
                done!(
                    table,
                    clEnqueueNDRangeKernel(
                        cl_queue,
                        cl_kernel,
                        1,
                        null(),
                        one.as_ptr(),
                        null(),
                        0,
                        null(),
                        null_mut()
                    )
                );
                done!(table, clFinish(cl_queue));
            }),
        ),
        (
            "plugin, finish",
            Box::new(|| {
                done!(
                    api,
                    piEnqueueKernelLaunch(
                        pi_queue,
                        pi_kernel,
                        1,
                        null(),
                        one.as_ptr(),
                        null(),
                        0,
                        null(),
                        null_mut()
                    )
                );
                done!(api, piQueueFinish(pi_queue));
            }),
        ),
        (
            "driver, event",
            Box::new(|| {
                let mut event = null_mut();
                done!(
                    table,
                    clEnqueueNDRangeKernel(
                        cl_queue,
                        cl_kernel,
                        1,
                        null(),
                        one.as_ptr(),
                        null(),
                        0,
                        null(),
                        &raw mut event
                    )
                );
                done!(table, clWaitForEvents(1, &raw const event));
                done!(table, clReleaseEvent(event));
            }),
        ),
        (
            "plugin, event",
            Box::new(|| {
                let mut event = null_mut();
                done!(
                    api,
                    piEnqueueKernelLaunch(
                        pi_queue,
                        pi_kernel,
                        1,
                        null(),
                        one.as_ptr(),
                        null(),
                        0,
                        null(),
                        &raw mut event
                    )
                );
                done!(api, piEventsWait(1, &raw const event));
                done!(api, piEventRelease(event));
            }),
        ),
        (
            "host side",
            Box::new(|| {
                let event = queue.launch(&kernel, &range, &[]).expect("a launch");
                event.wait().expect("a kernel that ends");
            }),
        ),
    ];
    let times = measure(&mut calls);
    for (name, least, median) in &times {
        println!("{name:15} least {least:6} ns, median {median:6} ns");
    }
    let ratio = times[4].2 as f64 / times[2].2 as f64;
    println!("host side / driver, event: {ratio:.2}, goal {GOAL}");
    if ratio <= GOAL {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}
