//! The plugin over OpenCL drivers, on real ones: Intel's driver for CPUs, which takes SPIR-V and has unified shared
//! memory, and Debian's PoCL, which does neither.

use offkit_image::DeviceImage;
use offkit_opencl::Dispatch;
use offkit_pi::ffi::*;
use offkit_pi::host::{Context, Device, Event, NdRange, Plugin, Program, Queue, QueueProperties, UsmKind};
use offkit_plugin_opencl::Outcome;
use offkit_tests::drivers::{INSIDE, intel, is_inside, is_on, pocl, with_drivers};
use offkit_tests::{Folder, library, need, offkit, read_f32, spirv, tool};
use std::path::Path;
use std::process::Command;
use std::ptr::null_mut;

/// The plugin's library.
const PLUGIN: &str = "offkit_plugin_opencl";

/// The first device, with a context and a queue.
struct Machine {
    device: Device,
    context: Context,
    queue: Queue,
}

impl Machine {
    fn new() -> Machine {
        let plugin = Plugin::built_in(&offkit_plugin_opencl::BUILT_IN).unwrap();
        let platform = plugin.platforms().unwrap().remove(0);
        let device = platform.devices(PI_DEVICE_TYPE_ALL).unwrap().remove(0);
        let context = Context::new(&[&device]).unwrap();
        let properties = QueueProperties {
            profiling: true,
            out_of_order: false,
        };
        let queue = context.queue(&device, properties).unwrap();
        Machine {
            device,
            context,
            queue,
        }
    }

    /// Runs a kernel `k` that writes some numbers to its only argument.
    fn numbers<const N: usize>(&self, program: &Program) -> [i32; N] {
        let out = self.context.buffer(4 * N).unwrap();
        let mut kernel = program.kernel("k").unwrap();
        kernel.set_argument(0, &out).unwrap();
        self.launch(&kernel, 1).wait().unwrap();
        let mut bytes = vec![0; 4 * N];
        self.queue.read_buffer(&out, 0, &mut bytes, &[]).unwrap();
        let numbers = bytes.as_chunks().0.iter().map(|bytes| i32::from_ne_bytes(*bytes));
        numbers.collect::<Vec<_>>().try_into().unwrap()
    }

    fn launch(&self, kernel: &offkit_pi::host::Kernel, count: usize) -> Event {
        self.queue.launch(kernel, &NdRange::new([count]), &[]).unwrap()
    }
}

#[test]
fn the_example_runs_on_a_driver_that_is_found_at_run_time() {
    need!("clang-22", "llc");
    let Some(intel) = intel() else { return };
    let folder = Folder::new();
    folder.linked_example();
    let mut command = Command::new(offkit());
    let line = "run app.syclbin saxpy --link library.syclbin --global 64 --arg f32:2 --arg x.npy --arg y.npy \
                --out z.npy --device opencl";
    command
        .args(line.split_whitespace())
        .env("OFFKIT_PLUGINS", library(PLUGIN));
    folder
        .run_command(with_drivers(&mut command, &[("OCL_ICD_VENDORS", &intel)]))
        .ok();
    let expected: Vec<f32> = (0..64).map(|i| 2.0 * i as f32 + (64 - i) as f32).collect();
    assert_eq!(read_f32(&folder.read("z.npy")), expected);
}

#[test]
fn drivers_that_cannot_be_used_are_named_with_the_reason() {
    need!("clang-22", "llc");
    let folder = Folder::new();
    folder.syclbin("app", "kernel void k(global int *a) { a[0] = 1; }", "");
    folder.write("vendors.icd", "libnowhere.so.7\n");
    let options = ["-shared", "-x", "c", "/dev/null", "-o", "none.so"];
    folder.run(tool("clang-22").unwrap(), options).ok();
    let (file, other) = (folder.path("vendors.icd"), folder.path("none.so"));
    let mut command = Command::new(offkit());
    let line = "run app.syclbin k --global 1 --arg i32[1] --device opencl";
    command
        .args(line.split_whitespace())
        .env("OFFKIT_PLUGINS", library(PLUGIN));
    let variables = [("OCL_ICD_VENDORS", &*file), ("OCL_ICD_FILENAMES", &*other)];
    let said = folder
        .run_command(with_drivers(&mut command, &variables))
        .fails(3);
    for part in [
        "vendors.icd`): libnowhere.so.7: cannot open shared object file: No such file or directory",
        "none.so` (named by `OCL_ICD_FILENAMES`): it is no OpenCL driver",
    ] {
        assert!(said.contains(part), "{said}");
    }
}

/// A driver of one platform without devices, in C. Its handles begin with a table that ends after the functions of
/// OpenCL 1.2, of which it has the second, and the third.
const SMALL_DRIVER: &str = r#"
    #include <string.h>
    #define SIZED(text) (strlen(text) + 1)
    static int info(void *platform, unsigned name, unsigned long size, void *value, unsigned long *size_ret) {
        const char *text = name == 0x901 ? "OpenCL 1.2 small" : name == 0x920 ? SUFFIX : "Small";
        if (size_ret) *size_ret = SIZED(text);
        if (value) memcpy(value, text, SIZED(text) < size ? SIZED(text) : size);
        return 0;
    }
    static int no_devices(void *platform, unsigned long kind, unsigned room, void **places, unsigned *found) { return -1; }
    #ifdef LISTS_NONE
    static void *table[123] = { 0, (void *)info };
    #else
    static void *table[123] = { 0, (void *)info, (void *)no_devices };
    #endif
    static void *platform = table;
    static int platforms(unsigned count, void **places, unsigned *found) {
        if (found) *found = 1;
        if (places) *places = &platform;
        return 0;
    }
    #ifdef EXPORTS
    int clGetPlatformIDs(unsigned count, void **places, unsigned *found) { return platforms(count, places, found); }
    int clGetPlatformInfo(void *p, unsigned n, unsigned long s, void *v, unsigned long *r) { return info(p, n, s, v, r); }
    int clGetDeviceIDs(void *p, unsigned long k, unsigned r, void **d, unsigned *f) { return no_devices(p, k, r, d, f); }
    #else
    void *clGetExtensionFunctionAddress(const char *name) {
        return strcmp(name, "clIcdGetPlatformIDsKHR") ? 0 : (void *)platforms;
    }
    #endif
"#;

/// More of it: a device of as many units as parts of it are there, and another that is missing. The first can be divided,
/// but the second of three parts is missing.
const DEVICE: &str = r#"
    static void *device = table;
    static int units;
    static int devices(void *platform, unsigned long kind, unsigned room, void **places, unsigned *found) {
        if (found) *found = 2;
        if (places) places[0] = &device, places[1] = 0;
        return 0;
    }
    static int device_info(void *device, unsigned name, unsigned long size, void *value, unsigned long *size_ret) {
        if (name != 0x1002) return -30;
        if (size_ret) *size_ret = sizeof units;
        if (value) memcpy(value, &units, sizeof units);
        return 0;
    }
    static int divide(void *from, const long *how, unsigned room, void **places, unsigned *found) {
        if (found) *found = 3;
        if (places) {
            units += 2;
            places[0] = places[2] = &device;
            places[1] = 0;
        }
        return 0;
    }
    static int release(void *part) { units--; return 0; }
    __attribute__((constructor)) static void complete() {
        table[2] = (void *)devices;
        table[3] = (void *)device_info;
        table[DIVIDE] = (void *)divide;
        table[RELEASE] = (void *)release;
    }
"#;

/// Builds the small driver.
fn small_driver(folder: &Folder, name: &str, options: &str) -> String {
    folder.write("driver.c", SMALL_DRIVER);
    let options = format!("-shared -fPIC -w -o {name} driver.c {options}");
    folder.run(tool("cc").unwrap(), options.split_whitespace()).ok();
    folder.path(name).display().to_string()
}

#[test]
fn with_offkits_own_driver_alone_there_is_nothing_to_complain_of() {
    need!("cc");
    let test = "with_offkits_own_driver_alone_there_is_nothing_to_complain_of";
    let folder = Folder::new();
    let own = small_driver(&folder, "own.so", r#"-DSUFFIX="OFFKIT""#);
    if is_inside(test, &[("OCL_ICD_VENDORS", Path::new(&own))]) {
        let plugin = Plugin::built_in(&offkit_plugin_opencl::BUILT_IN).unwrap();
        assert_eq!(plugin.platforms().unwrap().len(), 0);
        assert_eq!(offkit_plugin_opencl::drivers().len(), 1);
    }
}

#[test]
fn drivers_are_used_by_their_tables_or_their_exports_but_offkits_own_is_not() {
    need!("cc");
    let test = "drivers_are_used_by_their_tables_or_their_exports_but_offkits_own_is_not";
    let folder = Folder::new();
    let drivers = if std::env::var_os(INSIDE).is_none() {
        [
            small_driver(&folder, "table.so", r#"-DSUFFIX="SMALL""#),
            small_driver(&folder, "exports.so", r#"-DEXPORTS -DSUFFIX="SMALL""#),
            small_driver(&folder, "lists_none.so", r#"-DLISTS_NONE -DSUFFIX="SMALL""#),
            small_driver(&folder, "own.so", r#"-DSUFFIX="OFFKIT""#),
        ]
        .join(":")
    } else {
        String::new()
    };
    let variables = [
        ("OCL_ICD_FILENAMES", Path::new(&drivers)),
        ("OCL_ICD_VENDORS", Path::new("/nowhere/")),
    ];
    if !is_inside(test, &variables) {
        return;
    }
    let [table, exports, lists_none, own] = offkit_plugin_opencl::drivers() else {
        panic!("{:?}", offkit_plugin_opencl::drivers());
    };
    for driver in [table, exports] {
        assert_eq!(
            driver.outcome,
            Outcome::Used(vec!["Small".to_owned()]),
            "{driver}"
        );
    }
    // It does not list its devices, which is its own affair.
    let reason = "clGetDeviceIDs: the driver does not have this function".to_owned();
    assert_eq!(lists_none.outcome, Outcome::Unusable(reason));
    assert!(own.to_string().contains("left out: it is offkit's own"), "{own}");
    let plugin = Plugin::built_in(&offkit_plugin_opencl::BUILT_IN).unwrap();
    let platforms = plugin.platforms().unwrap();
    assert_eq!(platforms.len(), 2);
    for platform in platforms {
        assert_eq!(platform.devices(PI_DEVICE_TYPE_ALL).unwrap().len(), 0);
    }
}

#[test]
fn threads_that_ask_at_once_find_the_same_devices() {
    let test = "threads_that_ask_at_once_find_the_same_devices";
    if !is_on(pocl(), test) {
        return;
    }
    let plugin = Plugin::built_in(&offkit_plugin_opencl::BUILT_IN).unwrap();
    let platform = plugin.platforms().unwrap().remove(0);
    let together = std::sync::Barrier::new(4);
    let count = || {
        together.wait();
        platform.devices(PI_DEVICE_TYPE_ALL).unwrap().len()
    };
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..4).map(|_| scope.spawn(count)).collect();
        for thread in threads {
            assert_eq!(thread.join().unwrap(), 1);
        }
    });
}

#[test]
fn a_device_or_a_part_of_one_that_is_missing_loses_no_other() {
    need!("cc");
    let test = "a_device_or_a_part_of_one_that_is_missing_loses_no_other";
    let folder = Folder::new();
    folder.write("driver.c", format!("{SMALL_DRIVER}{DEVICE}"));
    let index = |offset: usize| offset / size_of::<usize>();
    let divide = index(std::mem::offset_of!(Dispatch, clCreateSubDevices));
    let release = index(std::mem::offset_of!(Dispatch, clReleaseDevice));
    let line = format!(
        "-shared -fPIC -w -o driver.so driver.c -DDIVIDE={divide} -DRELEASE={release} -DSUFFIX=\"SMALL\""
    );
    folder.run(tool("cc").unwrap(), line.split_whitespace()).ok();
    let variables = [
        ("OCL_ICD_FILENAMES", &*folder.path("driver.so")),
        ("OCL_ICD_VENDORS", Path::new("/nowhere/")),
    ];
    if !is_inside(test, &variables) {
        return;
    }
    let plugin = Plugin::built_in(&offkit_plugin_opencl::BUILT_IN).unwrap();
    let devices = plugin.platforms().unwrap()[0]
        .devices(PI_DEVICE_TYPE_ALL)
        .unwrap();
    assert_eq!(devices.len(), 1, "the one that is there");
    let (mut platform, mut device) = (null_mut(), null_mut());
    let (api, equally) = (*plugin.api(), [PI_DEVICE_PARTITION_EQUALLY, 1, 0]);
    let mut parts = [null_mut(); 3];
    // SAFETY: places as large as they are said to be, and handles of the plugin.
    let results = unsafe {
        [
            api.piPlatformsGet.unwrap()(1, &raw mut platform, null_mut()),
            api.piDevicesGet.unwrap()(platform, PI_DEVICE_TYPE_ALL, 1, &raw mut device, null_mut()),
            api.piDevicePartition.unwrap()(device, equally.as_ptr(), 3, parts.as_mut_ptr(), null_mut()),
        ]
    };
    assert_eq!(results, [PI_SUCCESS, PI_SUCCESS, PI_OUT_OF_HOST_MEMORY]);
    let mut left = 7_u32;
    let to = (&raw mut left).cast();
    // SAFETY: as above.
    let asked =
        unsafe { api.piDeviceGetInfo.unwrap()(device, PI_DEVICE_INFO_MAX_COMPUTE_UNITS, 4, to, null_mut()) };
    assert_eq!((asked, left), (PI_SUCCESS, 0));
}

#[test]
fn a_driver_with_everything_is_used_for_everything() {
    need!("clang-22");
    let test = "a_driver_with_everything_is_used_for_everything";
    if !is_on(intel(), test) {
        return;
    }
    let [driver] = offkit_plugin_opencl::drivers() else {
        panic!("{:?}", offkit_plugin_opencl::drivers());
    };
    assert_eq!(driver.outcome, Outcome::Used(vec!["Intel(R) OpenCL".to_owned()]));
    let machine = Machine::new();
    let device = &machine.device;
    assert!(device.il_version().unwrap().contains("SPIR-V_1.1"));
    assert!(device.max_work_item_sizes().unwrap()[0] >= 32);
    let usm = device
        .info_integer(PI_DEVICE_INFO_USM_SINGLE_SHARED_SUPPORT)
        .unwrap();
    assert_ne!(usm & PI_USM_ACCESS, 0);
    let (before, _) = device.timers().unwrap();
    assert!(device.timers().unwrap().0 >= before);

    what_never_ran_is_not_read(&machine);
    programs_are_built(&machine);
}

/// Intel's driver says of a command behind one that has failed that it is complete. (PoCL 3.1 never ends it.)
fn what_never_ran_is_not_read(machine: &Machine) {
    let Machine { context, queue, .. } = machine;
    let buffer = context.buffer(4).unwrap();
    let gate = context.user_event().unwrap();
    let failed = gate.event().try_clone().unwrap();
    drop(gate);
    let mut out = [9; 4];
    queue.read_buffer(&buffer, 0, &mut out, &[&failed]).unwrap_err();
}

fn programs_are_built(machine: &Machine) {
    let Machine { context, .. } = machine;
    let il = spirv("kernel void k(global int *p) { p[0] = 11; }");
    let program = context.program_with_il(&il).unwrap();
    let error = program
        .set_specialization_constant(8, &1_i32.to_ne_bytes())
        .unwrap_err();
    assert!(error.to_string().contains("PI_INVALID_SPEC_ID"), "{error}");
    program.build("").unwrap();
    assert_eq!(program.kernel_names().unwrap(), ["k"]);
    assert_eq!(machine.numbers(&program), [11]);

    let source = context
        .program_with_source("kernel void k(global int *p) { p[0] = N; }")
        .unwrap();
    source.build("-DN=5").unwrap();
    assert_eq!(machine.numbers(&source), [5]);
    let error = context
        .program_with_source("kernel void k() { undeclared(); }")
        .unwrap();
    let error = error.build("").unwrap_err().to_string();
    assert!(
        error.contains("PI_BUILD_PROGRAM_FAILURE") && error.contains("undeclared"),
        "{error}"
    );
    let error = program.kernel("l").unwrap_err().to_string();
    assert!(
        error.contains("there is no kernel l; the program has k"),
        "{error}"
    );
    let mut kernel = program.kernel("k").unwrap();
    let error = kernel.set_argument(0, [0u8; 3]).unwrap_err().to_string();
    assert!(error.contains("argument 0 of kernel k"), "{error}");
}

#[test]
fn a_driver_without_spirv_and_usm_runs_what_it_can_and_says_what_it_cannot() {
    need!("clang-22", "llc");
    let Some(pocl) = pocl() else { return };
    let test = "a_driver_without_spirv_and_usm_runs_what_it_can_and_says_what_it_cannot";
    if std::env::var_os(INSIDE).is_none() {
        let folder = Folder::new();
        folder.syclbin("app", "kernel void k(global int *a) { a[0] = 1; }", "");
        let mut command = Command::new(offkit());
        let line = "run app.syclbin k --global 1 --arg i32[1] --device opencl";
        command
            .args(line.split_whitespace())
            .env("OFFKIT_PLUGINS", library(PLUGIN));
        let variables = [("OCL_ICD_VENDORS", &*pocl)];
        let said = folder
            .run_command(with_drivers(&mut command, &variables))
            .fails(3);
        assert!(said.contains("the device takes no SPIR-V"), "{said}");
    }
    if !is_inside(test, &[("OCL_ICD_VENDORS", &pocl)]) {
        return;
    }
    let machine = Machine::new();
    let Machine { context, device, .. } = &machine;
    assert_eq!(device.il_version().unwrap(), "");
    let program = context
        .program_with_source("kernel void k(global int *p) { p[0] = 5; }")
        .unwrap();
    program.build("").unwrap();
    assert_eq!(machine.numbers(&program), [5]);

    let il = spirv("kernel void k(global int *p) { p[0] = 5; }");
    let error = context.program_with_il(&il).unwrap_err().to_string();
    assert!(error.contains("the driver takes no SPIR-V"), "{error}");
    let image = DeviceImage::new(&il);
    assert_eq!(device.select_binary(&[&image]).unwrap(), None);
    let error = context
        .usm(UsmKind::Shared, device, 64, 0)
        .unwrap_err()
        .to_string();
    assert!(error.contains("no unified shared memory"), "{error}");
    let usm = device
        .info_integer(PI_DEVICE_INFO_USM_SINGLE_SHARED_SUPPORT)
        .unwrap();
    assert_eq!(usm, 0);
}

#[test]
fn devices_of_several_drivers_are_apart() {
    let (Some(intel), Some(pocl)) = (intel(), pocl()) else {
        return;
    };
    let test = "devices_of_several_drivers_are_apart";
    // One is named by a file, the other by a variable, and twice.
    let library = std::fs::read_to_string(intel.join("intel.icd")).unwrap();
    let twice = format!("{library}:{library}");
    if !is_inside(
        test,
        &[
            ("OCL_ICD_VENDORS", &*pocl),
            ("OCL_ICD_FILENAMES", Path::new(&twice)),
        ],
    ) {
        return;
    }
    let [first, second, third] = offkit_plugin_opencl::drivers() else {
        panic!("{:?}", offkit_plugin_opencl::drivers());
    };
    assert!(matches!(first.outcome, Outcome::Used(_)), "{first}");
    assert_eq!(second.outcome, Outcome::LeftOut("it is named twice"));
    assert!(matches!(third.outcome, Outcome::Used(_)), "{third}");
    let plugin = Plugin::built_in(&offkit_plugin_opencl::BUILT_IN).unwrap();
    let platforms = plugin.platforms().unwrap();
    let devices: Vec<Device> = platforms
        .iter()
        .map(|platform| platform.devices(PI_DEVICE_TYPE_ALL).unwrap().remove(0))
        .collect();
    assert_eq!(devices.len(), 2);
    let error = Context::new(&[&devices[0], &devices[1]]).unwrap_err().to_string();
    assert!(error.contains("several OpenCL platforms"), "{error}");
    let contexts = devices.iter().map(|device| Context::new(&[device]).unwrap());
    for (context, device) in contexts.zip(&devices) {
        let program = context
            .program_with_source("kernel void k(global int *p) { p[0] = 5; }")
            .unwrap();
        program.build("").unwrap();
        let queue = context.queue(device, QueueProperties::default()).unwrap();
        let machine = Machine {
            device: device.clone(),
            context,
            queue,
        };
        assert_eq!(machine.numbers(&program), [5]);
    }
}
