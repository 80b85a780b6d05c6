//! Who has which reference to a driver's objects, on the first driver that is found: what the driver counts.

use offkit_opencl::*;
use offkit_pi::ffi::*;
use offkit_pi::host::Plugin;
use std::ptr::{null, null_mut, with_exposed_provenance_mut};

/// Calls a function of a table, which must succeed.
macro_rules! done {
    ($table:expr, $function:ident($($argument:expr),* $(,)?)) => {{
        let function = $table.$function.expect(stringify!($function));
        // SAFETY: handles as they are wanted, and memory as large as it is said to be.
        let result = unsafe { function($($argument),*) };
        assert_eq!(format!("{result:?}").trim_matches(|c: char| !c.is_ascii_digit()), "0", stringify!($function));
    }};
}

/// The six kinds of objects that are counted.
#[derive(Default, Clone, Copy)]
struct Objects {
    context: usize,
    queue: usize,
    memory: usize,
    program: usize,
    kernel: usize,
    event: usize,
}

/// The driver's own functions, and its objects below those of the plugin.
struct Native {
    table: &'static Dispatch,
    objects: Objects,
}

impl Native {
    /// What the driver counts for each of them.
    fn counts(&self) -> [u32; 6] {
        let Objects {
            context,
            queue,
            memory,
            program,
            kernel,
            event,
        } = self.objects;
        let mut counts = [0_u32; 6];
        macro_rules! ask {
            ($number:literal, $function:ident, $handle:expr, $name:ident) => {
                let to = (&raw mut counts[$number]).cast();
                done!(
                    self.table,
                    $function(
                        with_exposed_provenance_mut($handle),
                        $name,
                        4,
                        to,
                        null_mut()
                    )
                );
            };
        }
        ask!(0, clGetContextInfo, context, CL_CONTEXT_REFERENCE_COUNT);
        ask!(1, clGetCommandQueueInfo, queue, CL_QUEUE_REFERENCE_COUNT);
        ask!(2, clGetMemObjectInfo, memory, CL_MEM_REFERENCE_COUNT);
        ask!(3, clGetProgramInfo, program, CL_PROGRAM_REFERENCE_COUNT);
        ask!(4, clGetKernelInfo, kernel, CL_KERNEL_REFERENCE_COUNT);
        ask!(5, clGetEventInfo, event, CL_EVENT_REFERENCE_COUNT);
        counts
    }

    fn release_all(&self) {
        let Objects {
            context,
            queue,
            memory,
            program,
            kernel,
            event,
        } = self.objects;
        done!(self.table, clReleaseEvent(with_exposed_provenance_mut(event)));
        done!(self.table, clReleaseKernel(with_exposed_provenance_mut(kernel)));
        done!(self.table, clReleaseProgram(with_exposed_provenance_mut(program)));
        done!(
            self.table,
            clReleaseMemObject(with_exposed_provenance_mut(memory))
        );
        done!(
            self.table,
            clReleaseCommandQueue(with_exposed_provenance_mut(queue))
        );
        done!(self.table, clReleaseContext(with_exposed_provenance_mut(context)));
    }

    fn retain_all(&self) {
        let Objects {
            context,
            queue,
            memory,
            program,
            kernel,
            event,
        } = self.objects;
        done!(self.table, clRetainContext(with_exposed_provenance_mut(context)));
        done!(
            self.table,
            clRetainCommandQueue(with_exposed_provenance_mut(queue))
        );
        done!(self.table, clRetainMemObject(with_exposed_provenance_mut(memory)));
        done!(self.table, clRetainProgram(with_exposed_provenance_mut(program)));
        done!(self.table, clRetainKernel(with_exposed_provenance_mut(kernel)));
        done!(self.table, clRetainEvent(with_exposed_provenance_mut(event)));
    }
}

/// Where the kernel's count is.
const KERNEL: usize = 4;

/// How many more there are than before.
fn more(now: [u32; 6], before: [u32; 6]) -> [i64; 6] {
    std::array::from_fn(|index| i64::from(now[index]) - i64::from(before[index]))
}

/// The plugin, if it finds a driver.
#[expect(clippy::print_stderr, reason = "why nothing was tested")]
fn plugin() -> Option<Plugin> {
    let plugin = Plugin::built_in(&offkit_plugin_opencl::BUILT_IN).unwrap();
    if plugin.platforms().map_or(true, |platforms| platforms.is_empty()) {
        assert!(
            std::env::var_os("OFFKIT_REQUIRE_TOOLS").is_none_or(|required| required != "1"),
            "no OpenCL driver is installed"
        );
        eprintln!("skipped: no OpenCL driver is installed");
        return None;
    }
    Some(plugin)
}

#[test]
fn references_to_native_objects_are_those_of_the_interface() {
    let Some(plugin) = plugin() else { return };
    let api = *plugin.api();
    let (mut platform, mut device) = (null_mut(), null_mut());
    done!(api, piPlatformsGet(1, &raw mut platform, null_mut()));
    done!(
        api,
        piDevicesGet(platform, PI_DEVICE_TYPE_ALL, 1, &raw mut device, null_mut())
    );
    let (mut context, mut queue, mut memory) = (null_mut(), null_mut(), null_mut());
    let (mut program, mut kernel, mut event) = (null_mut(), null_mut(), null_mut());
    done!(
        api,
        piContextCreate(null(), 1, &raw const device, None, null_mut(), &raw mut context)
    );
    done!(api, piQueueCreate(context, device, 0, &raw mut queue));
    let access = PI_MEM_FLAGS_ACCESS_RW;
    done!(
        api,
        piMemBufferCreate(context, access, 64, null_mut(), &raw mut memory, null())
    );
    let source = "kernel void empty() {}";
    let (mut text, length) = (source.as_ptr().cast(), source.len());
    done!(
        api,
        piclProgramCreateWithSource(context, 1, &raw mut text, &raw const length, &raw mut program)
    );
    done!(api, piProgramBuild(program, 0, null(), null(), None, null_mut()));
    done!(api, piKernelCreate(program, c"empty".as_ptr(), &raw mut kernel));
    done!(api, piEventCreate(context, &raw mut event));

    let mut objects = Objects::default();
    done!(
        api,
        piextContextGetNativeHandle(context, &raw mut objects.context)
    );
    done!(api, piextQueueGetNativeHandle(queue, &raw mut objects.queue));
    done!(api, piextMemGetNativeHandle(memory, &raw mut objects.memory));
    done!(
        api,
        piextProgramGetNativeHandle(program, &raw mut objects.program)
    );
    done!(api, piextKernelGetNativeHandle(kernel, &raw mut objects.kernel));
    done!(api, piextEventGetNativeHandle(event, &raw mut objects.event));
    // SAFETY: every handle begins with a pointer to its driver's table, which is there for good.
    let table = unsafe { &*(*with_exposed_provenance_mut::<_cl_context>(objects.context)).dispatch };
    let native = Native { table, objects };
    let at_first = native.counts();

    // What the host has let go of and finds again by a query is counted as what it has been given.
    done!(api, piProgramRelease(program));
    let (name, size, to) = (
        PI_KERNEL_INFO_PROGRAM,
        size_of::<pi_program>(),
        (&raw mut program).cast(),
    );
    done!(api, piKernelGetInfo(kernel, name, size, to, null_mut()));
    for references in [0, 1] {
        done!(api, piProgramRetain(program));
        assert_eq!(more(native.counts(), at_first), [0, 0, 0, references, 0, 0]);
    }
    done!(api, piProgramRelease(program));
    assert_eq!(more(native.counts(), at_first), [0; 6]);

    // A runtime of SYCL retains the plugin's object and gives the native one to the user, who releases it.
    let retain_all = || {
        done!(api, piContextRetain(context));
        done!(api, piQueueRetain(queue));
        done!(api, piMemRetain(memory));
        done!(api, piProgramRetain(program));
        done!(api, piKernelRetain(kernel));
        done!(api, piEventRetain(event));
    };
    let release_all = || {
        done!(api, piEventRelease(event));
        done!(api, piKernelRelease(kernel));
        done!(api, piProgramRelease(program));
        done!(api, piMemRelease(memory));
        done!(api, piQueueRelease(queue));
        done!(api, piContextRelease(context));
    };
    retain_all();
    assert_eq!(more(native.counts(), at_first), [1; 6]);
    native.release_all();
    assert_eq!(more(native.counts(), at_first), [0; 6]);
    done!(api, piQueueFinish(queue));
    // And without a user, what was retained is released.
    retain_all();
    release_all();
    assert_eq!(more(native.counts(), at_first), [0; 6]);

    // Native objects are given away to a plugin of PI 2.3, and go with its own; but kernels, of which it is said.
    native.retain_all();
    let (before, n) = (native.counts(), native.objects);
    let (mut context, mut queue, mut program) = (null_mut(), null_mut(), null_mut());
    done!(
        api,
        piextContextCreateWithNativeHandle(n.context, 1, &raw const device, &raw mut context)
    );
    done!(
        api,
        piextQueueCreateWithNativeHandle(n.queue, context, &raw mut queue)
    );
    done!(
        api,
        piextProgramCreateWithNativeHandle(n.program, context, &raw mut program)
    );
    for is_given in [false, true] {
        let (mut kernel, owned) = (null_mut(), is_given.into());
        let taken = native.counts()[KERNEL];
        done!(
            api,
            piextKernelCreateWithNativeHandle(n.kernel, context, program, owned, &raw mut kernel)
        );
        assert_eq!(native.counts()[KERNEL] - taken, u32::from(!is_given));
        done!(api, piKernelRelease(kernel));
        assert_eq!(taken - native.counts()[KERNEL], u32::from(is_given));
    }
    assert_eq!(more(native.counts(), before), [0, 0, 0, 0, -1, 0]);
    done!(api, piProgramRelease(program));
    done!(api, piQueueRelease(queue));
    done!(api, piContextRelease(context));
    assert_eq!(more(native.counts(), before), [-1, -1, 0, -1, -1, 0]);
}

#[test]
fn references_to_a_native_part_of_a_device_are_those_of_the_interface() {
    let Some(plugin) = plugin() else { return };
    let api = *plugin.api();
    let (mut platform, mut device, mut part) = (null_mut(), null_mut(), null_mut());
    done!(api, piPlatformsGet(1, &raw mut platform, null_mut()));
    done!(
        api,
        piDevicesGet(platform, PI_DEVICE_TYPE_ALL, 1, &raw mut device, null_mut())
    );
    let properties = [
        PI_DEVICE_PARTITION_BY_COUNTS,
        1,
        PI_DEVICE_PARTITION_BY_COUNTS_LIST_END,
        0,
    ];
    done!(
        api,
        piDevicePartition(device, properties.as_ptr(), 1, &raw mut part, null_mut())
    );
    let mut native = 0;
    done!(api, piextDeviceGetNativeHandle(part, &raw mut native));
    let native: cl_device_id = with_exposed_provenance_mut(native);
    // SAFETY: every handle begins with a pointer to its driver's table, which is there for good.
    let table = unsafe { &*(*native).dispatch };
    let count = || {
        let mut count = 0_u32;
        let (name, to) = (CL_DEVICE_REFERENCE_COUNT, (&raw mut count).cast());
        done!(table, clGetDeviceInfo(native, name, 4, to, null_mut()));
        count
    };
    assert_eq!(count(), 1);
    // The user that is given the native part releases it.
    done!(api, piDeviceRetain(part));
    assert_eq!(count(), 2);
    done!(table, clReleaseDevice(native));
    assert_eq!(count(), 1);
    // And without a user, what was retained is released.
    done!(api, piDeviceRetain(part));
    done!(api, piDeviceRelease(part));
    assert_eq!(count(), 1);
    done!(api, piDeviceRelease(part));
}
