//! What a launch costs by itself: an empty kernel, launched and finished, beside Intel's OpenCL runtime in the same run.
//!
//! `./dev bench launch`. Ours goes through the table of the plugin interface, Intel's through OpenCL's loader, where
//! `OCL_ICD_FILENAMES` names its driver. Measured in turn, so that what else the machine does hits both alike. Exits
//! with 1 if a goal is missed.

use offkit_pi::ffi::*;
use offkit_pi::host::{
    Argument, Context, Device, Kernel, NdRange, Plugin, Queue as SafeQueue, QueueProperties, Usm, UsmKind,
};
use offkit_pi::table::Api;
use offkit_plugin_cpu::native::{NativeKernel, NativeLaunch, register};
use offkit_spirv::{Parameter, ParameterKind, Storage, Type};
use std::ffi::c_void;
use std::ptr::{null, null_mut};
use std::time::{Duration, Instant};

/// Where commands go.
trait Queue {
    fn launch(&self, items: usize);
    fn finish(&self);
    fn name(&self) -> &'static str;
}

/// The CPU device by its table of functions.
struct Offkit {
    api: Api,
    context: pi_context,
    device: pi_device,
    queue: pi_queue,
    kernel: pi_kernel,
    name: &'static str,
    /// Asks for each launch's event, and releases it.
    events: bool,
}

unsafe extern "C" fn empty(_: *const NativeLaunch, _first: u64, _end: u64, _local: *mut u8) {}

/// A pointer to global memory.
fn pointer() -> Parameter {
    let pointee = Type {
        name: "i64".to_owned(),
        layout: None,
    };
    let storage = Storage::Global;
    Parameter::new(ParameterKind::Pointer { storage, pointee }, 8)
}

macro_rules! pi {
    ($api:expr, $function:ident($($argument:expr),* $(,)?)) => {{
        let function = $api.$function.unwrap();
        // SAFETY: handles as they are wanted, and memory as large as it is said to be.
        let result = unsafe { function($($argument),*) };
        assert_eq!(result, PI_SUCCESS, stringify!($function));
    }};
}

impl Offkit {
    fn new(name: &'static str, properties: pi_queue_properties, events: bool) -> Offkit {
        let plugin = Plugin::built_in(&offkit_plugin_cpu::plugin::BUILT_IN).unwrap();
        let api = *plugin.api();
        let (mut platform, mut device) = (null_mut(), null_mut());
        pi!(api, piPlatformsGet(1, &raw mut platform, null_mut()));
        pi!(
            api,
            piDevicesGet(platform, PI_DEVICE_TYPE_ALL, 1, &raw mut device, null_mut())
        );
        let (mut context, mut queue) = (null_mut(), null_mut());
        pi!(
            api,
            piContextCreate(null(), 1, &raw const device, None, null_mut(), &raw mut context)
        );
        pi!(api, piQueueCreate(context, device, properties, &raw mut queue));
        let il = b"offkit-native:bench";
        let (mut program, mut kernel) = (null_mut(), null_mut());
        pi!(
            api,
            piProgramCreate(context, il.as_ptr().cast(), il.len(), &raw mut program)
        );
        pi!(
            api,
            piProgramBuild(program, 1, &raw const device, null(), None, null_mut())
        );
        pi!(api, piKernelCreate(program, c"empty".as_ptr(), &raw mut kernel));
        Offkit {
            api,
            context,
            device,
            queue,
            kernel,
            name,
            events,
        }
    }

    fn allocate(&self, count: usize) -> Vec<*mut c_void> {
        let allocate = |_| {
            let mut pointer = null_mut();
            pi!(
                self.api,
                piextUSMDeviceAlloc(&raw mut pointer, self.context, self.device, null_mut(), 64, 0)
            );
            pointer
        };
        (0..count).map(allocate).collect()
    }

    fn free(&self, allocations: Vec<*mut c_void>) {
        for pointer in allocations {
            pi!(self.api, piextUSMFree(self.context, pointer));
        }
    }
}

impl Queue for Offkit {
    fn launch(&self, items: usize) {
        let (local, mut event) = (items.min(64), null_mut());
        let place = if self.events { &raw mut event } else { null_mut() };
        pi!(
            self.api,
            piEnqueueKernelLaunch(
                self.queue,
                self.kernel,
                1,
                null(),
                &raw const items,
                &raw const local,
                0,
                null(),
                place
            )
        );
        if self.events {
            pi!(self.api, piEventRelease(event));
        }
    }

    fn finish(&self) {
        pi!(self.api, piQueueFinish(self.queue));
    }

    fn name(&self) -> &'static str {
        self.name
    }
}

/// A device of OpenCL's loader, with as little of OpenCL as it takes.
struct OpenCl {
    enqueue: Enqueue,
    finish: unsafe extern "C" fn(*mut c_void) -> i32,
    queue: *mut c_void,
    kernel: *mut c_void,
}

type Enqueue = unsafe extern "C" fn(
    *mut c_void,
    *mut c_void,
    u32,
    *const usize,
    *const usize,
    *const usize,
    u32,
    *const c_void,
    *mut c_void,
) -> i32;

impl OpenCl {
    fn new() -> Result<OpenCl, String> {
        // SAFETY: the functions are declared as OpenCL 1.2 does, and get what it says. The library stays.
        unsafe {
            let library = libloading::Library::new("libOpenCL.so.1").map_err(|error| error.to_string())?;
            let library: &'static libloading::Library = Box::leak(Box::new(library));
            macro_rules! function {
                ($name:literal as $type:ty) => {
                    *library
                        .get::<$type>($name)
                        .map_err(|error| error.to_string())?
                };
            }
            let check = |what: &str, code: i32| match code {
                0 => Ok(()),
                code => Err(format!("{what}: {code}")),
            };
            type Get = unsafe extern "C" fn(u32, *mut *mut c_void, *mut u32) -> i32;
            type GetDevices = unsafe extern "C" fn(*mut c_void, u64, u32, *mut *mut c_void, *mut u32) -> i32;
            type Context = unsafe extern "C" fn(
                *const c_void,
                u32,
                *const *mut c_void,
                *const c_void,
                *const c_void,
                *mut i32,
            ) -> *mut c_void;
            type Make = unsafe extern "C" fn(*mut c_void, *mut c_void, u64, *mut i32) -> *mut c_void;
            type Source = unsafe extern "C" fn(
                *mut c_void,
                u32,
                *const *const i8,
                *const usize,
                *mut i32,
            ) -> *mut c_void;
            type Build = unsafe extern "C" fn(
                *mut c_void,
                u32,
                *const *mut c_void,
                *const i8,
                *const c_void,
                *const c_void,
            ) -> i32;
            type Kernel = unsafe extern "C" fn(*mut c_void, *const i8, *mut i32) -> *mut c_void;
            let (mut platform, mut device, mut code) = (null_mut(), null_mut(), 0);
            check(
                "clGetPlatformIDs",
                function!("clGetPlatformIDs" as Get)(1, &raw mut platform, null_mut()),
            )?;
            check(
                "clGetDeviceIDs",
                function!("clGetDeviceIDs" as GetDevices)(
                    platform,
                    0xffff_ffff,
                    1,
                    &raw mut device,
                    null_mut(),
                ),
            )?;
            let context = function!("clCreateContext" as Context)(
                null(),
                1,
                &raw const device,
                null(),
                null(),
                &raw mut code,
            );
            check("clCreateContext", code)?;
            let queue = function!("clCreateCommandQueue" as Make)(context, device, 0, &raw mut code);
            check("clCreateCommandQueue", code)?;
            let source = c"kernel void empty() {}".as_ptr();
            let program = function!("clCreateProgramWithSource" as Source)(
                context,
                1,
                &raw const source,
                null(),
                &raw mut code,
            );
            check("clCreateProgramWithSource", code)?;
            check(
                "clBuildProgram",
                function!("clBuildProgram" as Build)(program, 0, null(), null(), null(), null()),
            )?;
            let kernel = function!("clCreateKernel" as Kernel)(program, c"empty".as_ptr(), &raw mut code);
            check("clCreateKernel", code)?;
            Ok(OpenCl {
                enqueue: function!("clEnqueueNDRangeKernel" as Enqueue),
                finish: function!("clFinish" as unsafe extern "C" fn(*mut c_void) -> i32),
                queue,
                kernel,
            })
        }
    }
}

impl Queue for OpenCl {
    fn launch(&self, items: usize) {
        let local = items.min(64);
        // SAFETY: as for making them.
        let code = unsafe {
            (self.enqueue)(
                self.queue,
                self.kernel,
                1,
                null(),
                &raw const items,
                &raw const local,
                0,
                null(),
                null_mut(),
            )
        };
        assert_eq!(code, 0);
    }

    fn finish(&self) {
        // SAFETY: as above.
        assert_eq!(unsafe { (self.finish)(self.queue) }, 0);
    }

    fn name(&self) -> &'static str {
        "Intel OpenCL"
    }
}

/// The CPU device by the objects of the host's side, and a kernel with a plain address, which may use any allocation.
struct PlainAddress {
    context: Context,
    device: Device,
    queue: SafeQueue,
    kernel: Kernel,
    _usm: Usm,
}

impl PlainAddress {
    fn new() -> PlainAddress {
        let plugin = Plugin::built_in(&offkit_plugin_cpu::plugin::BUILT_IN).unwrap();
        let platform = plugin.platforms().unwrap().remove(0);
        let device = platform.devices(PI_DEVICE_TYPE_ALL).unwrap().remove(0);
        let context = Context::new(&[&device]).unwrap();
        let queue = context.queue(&device, QueueProperties::default()).unwrap();
        let program = context.program_with_il(b"offkit-native:bench").unwrap();
        program.build("").unwrap();
        let mut kernel = program.kernel("pointer").unwrap();
        let usm = context.usm(UsmKind::Device, &device, 64, 0).unwrap();
        kernel.set_argument(0, Argument::Address(usm.address())).unwrap();
        PlainAddress {
            context,
            device,
            queue,
            kernel,
            _usm: usm,
        }
    }

    fn allocate(&self, count: usize) -> Vec<Usm> {
        let allocate = |_| self.context.usm(UsmKind::Device, &self.device, 64, 0).unwrap();
        (0..count).map(allocate).collect()
    }

    /// The median time of a launch, in microseconds: `launches` before a finish, and behind an event if they are `held`
    /// up until all are submitted.
    fn median(&self, launches: usize, held: bool) -> f64 {
        let one = NdRange::new([1]);
        let mut times: Vec<f64> = (0..20_001 / launches)
            .map(|_| {
                let gate = held.then(|| self.context.user_event().unwrap());
                let wait: Vec<_> = gate.iter().map(|gate| gate.event()).collect();
                let start = Instant::now();
                for _ in 0..launches {
                    self.queue.launch(&self.kernel, &one, &wait).unwrap();
                }
                if let Some(gate) = gate {
                    gate.complete().unwrap();
                }
                self.queue.finish().unwrap();
                start.elapsed().as_secs_f64() * 1e6 / launches as f64
            })
            .collect();
        times.sort_by(f64::total_cmp);
        times[times.len() / 2]
    }
}

/// What a launch with a plain address costs with one allocation and with very many; whether that is alike.
#[expect(clippy::print_stdout, reason = "a program")]
fn plain_addresses() -> bool {
    let (few, many) = (PlainAddress::new(), PlainAddress::new());
    let _allocations = many.allocate(100_000);
    let mut alike = true;
    println!(
        "{:52}{:>14}{:>14}   goal",
        "a plain address, allocations", "1", "100,000"
    );
    for (what, launches, held) in [
        ("1 item, launched and finished", 1, false),
        ("1 item, each of 500 before a finish", 500, false),
        ("1 item, each of 500 behind an event", 500, true),
    ] {
        let mut rounds = [Vec::new(), Vec::new()];
        for _ in 0..ROUNDS {
            for (device, medians) in [&few, &many].into_iter().zip(&mut rounds) {
                medians.push(device.median(launches, held));
            }
        }
        let [few, many] = rounds.map(|mut medians: Vec<f64>| {
            medians.sort_by(f64::total_cmp);
            medians[ROUNDS / 2]
        });
        let met = many <= few * 1.2;
        alike &= met;
        let verdict = if met { "met" } else { "MISSED" };
        println!("{what:52}{few:>14.3}{many:>14.3}   alike {verdict}");
    }
    alike
}

/// What is done once.
#[derive(Clone, Copy)]
struct Case {
    what: &'static str,
    items: usize,
    /// Launches before it is finished; the time is for each.
    launches: usize,
    /// In microseconds.
    goal: f64,
}

const CASES: [Case; 3] = [
    Case {
        what: "1 item, launched and finished",
        items: 1,
        launches: 1,
        goal: 1.5,
    },
    Case {
        what: "4096 items, launched and finished",
        items: 4096,
        launches: 1,
        goal: 5.0,
    },
    Case {
        what: "1 item, each of 500 before a finish",
        items: 1,
        launches: 500,
        goal: 0.3,
    },
];

/// The median time of a launch, in microseconds.
fn median(queue: &dyn Queue, case: Case, count: usize, idle: Option<Duration>) -> f64 {
    let mut times: Vec<f64> = (0..count)
        .map(|_| {
            if let Some(idle) = idle {
                std::thread::sleep(idle);
            }
            let start = Instant::now();
            for _ in 0..case.launches {
                queue.launch(case.items);
            }
            queue.finish();
            start.elapsed().as_secs_f64() * 1e6 / case.launches as f64
        })
        .collect();
    times.sort_by(f64::total_cmp);
    times[count / 2]
}

/// Rounds of measurement, all queues in each.
const ROUNDS: usize = 5;

/// The median of the rounds, for each queue.
fn in_turn(queues: &[&dyn Queue], case: Case, idle: bool) -> Vec<f64> {
    let mut rounds = vec![Vec::new(); queues.len()];
    let count = if idle { 21 } else { 20_001 / case.launches };
    for _ in 0..ROUNDS {
        for (queue, medians) in queues.iter().zip(&mut rounds) {
            // Warms up after the others.
            median(*queue, case, 20, None);
            medians.push(median(
                *queue,
                case,
                count,
                idle.then_some(Duration::from_millis(10)),
            ));
        }
    }
    let middle = |mut medians: Vec<f64>| {
        medians.sort_by(f64::total_cmp);
        medians[ROUNDS / 2]
    };
    rounds.into_iter().map(middle).collect()
}

#[expect(clippy::print_stdout, reason = "a program")]
fn main() -> std::process::ExitCode {
    // SAFETY: the function touches nothing.
    register(
        "bench",
        [
            unsafe { NativeKernel::new("empty", Vec::new(), empty) }.bounded(),
            // SAFETY: as above.
            unsafe { NativeKernel::new("pointer", vec![pointer()], empty) }.bounded(),
        ],
    );
    let in_order = Offkit::new("offkit", 0, false);
    let with_events = Offkit::new("with events", 0, true);
    let out_of_order = Offkit::new("out of order", PI_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE, true);
    let opencl = OpenCl::new();
    let mut queues: Vec<&dyn Queue> = vec![&in_order, &with_events, &out_of_order];
    match &opencl {
        Ok(opencl) => queues.push(opencl),
        Err(reason) => println!("Intel's runtime is not here: {reason}"),
    }
    print!("{:52}", "microseconds, median");
    queues.iter().for_each(|queue| print!("{:>14}", queue.name()));
    println!("   goal");
    let mut missed = false;
    for case in CASES {
        for (state, idle, live) in [
            ("hot", false, 0),
            ("hot, 100,000 allocations", false, 100_000),
            ("after 10 ms idle", true, 0),
        ] {
            let allocations: Vec<_> = [&in_order, &with_events, &out_of_order]
                .map(|queue| (queue, queue.allocate(live)))
                .into();
            let times = in_turn(&queues, case, idle);
            for (queue, allocations) in allocations {
                queue.free(allocations);
            }
            print!("{:52}", format!("{} ({state})", case.what));
            times.iter().for_each(|time| print!("{time:>14.3}"));
            // What the first use after a rest costs is the processor's: the other one's figure is beside it.
            let met = idle || times[0] <= case.goal;
            missed |= !met;
            let verdict = match (idle, met) {
                (true, _) => "none",
                (false, true) => "met",
                (false, false) => "MISSED",
            };
            println!(
                "   {} {verdict}",
                if idle {
                    String::new()
                } else {
                    case.goal.to_string()
                }
            );
        }
    }
    missed |= !plain_addresses();
    u8::from(missed).into()
}
