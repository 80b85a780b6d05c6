//! The plugins of `examples/`: built as their authors would build them, used by `offkit` and by a program in Rust, and
//! taken apart function by function.

use std::cell::Cell;
use std::collections::BTreeSet;
use std::env;
use std::ffi::{OsStr, c_void};
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use offkit_pi::BuiltIn;
use offkit_pi::ffi::*;
use offkit_pi::host::{Argument, CommandStatus, Context, NdRange, PiError, Plugin, QueueProperties};
use offkit_pi::table::{Api, Function, Layout, Slot};
use offkit_tests::{Folder, Outcome, need, npy_f32, offkit, root, shared_library, tool};

/// The example in C, built with the command that its first lines have.
fn c_example(folder: &Folder) -> PathBuf {
    let options = "-std=c99 -Wall -Wextra -Wno-unused-parameter -Werror -shared -fPIC -fvisibility=hidden -o libexample.so";
    let include = format!("-I{}", root().join("include").display());
    let source = root().join("examples/plugin-c/plugin.c").display().to_string();
    let options = options.split(' ').chain([include.as_str(), source.as_str()]);
    folder.run(tool("cc").unwrap(), options).ok();
    folder.path("libexample.so")
}

/// The example in Rust.
fn rust_example() -> PathBuf {
    shared_library("offkit_example_plugin")
}

/// Lists the device of a plugin.
fn list(plugin: &Plugin) -> Result<String, PiError> {
    let platform = plugin.platforms()?.remove(0);
    platform.devices(PI_DEVICE_TYPE_ALL)?.remove(0).name()
}

/// Runs saxpy as a small host does.
fn run(plugin: &Plugin) -> Result<Vec<f32>, PiError> {
    let platform = plugin.platforms()?.remove(0);
    let device = platform.devices(PI_DEVICE_TYPE_ALL)?.remove(0);
    let context = Context::new(&[&device])?;
    let queue = context.queue(&device, QueueProperties::default())?;
    let program = context.program_with_il(b"saxpy")?;
    program.build("")?;
    let mut kernel = program.kernel("saxpy")?;
    let bytes = |values: [f32; 3]| values.map(f32::to_ne_bytes).concat();
    let (x, y) = (
        context.buffer_from(&bytes([1., 2., 3.]))?,
        context.buffer_from(&bytes([10., 20., 30.]))?,
    );
    kernel.set_argument(0, 2.5_f32)?;
    kernel.set_argument(1, &x)?;
    kernel.set_argument(2, &y)?;
    queue
        .launch(&kernel, &NdRange::new([2]).with_offset([1]), &[])?
        .wait()?;
    let mut out = [0; 12];
    queue.read_buffer(&y, 0, &mut out, &[])?;
    Ok(read_f32_of(&out))
}

fn read_f32_of(bytes: &[u8]) -> Vec<f32> {
    bytes
        .as_chunks()
        .0
        .iter()
        .map(|bytes| f32::from_ne_bytes(*bytes))
        .collect()
}

#[test]
fn a_host_runs_a_kernel_on_both_examples() {
    need!("cc");
    let folder = Folder::new();
    for (path, name) in [
        (c_example(&folder), "Example in C"),
        (rust_example(), "Example in Rust"),
    ] {
        let plugin = Plugin::load(path).unwrap();
        assert_eq!(list(&plugin).unwrap(), name);
        assert_eq!(run(&plugin).unwrap(), [10., 25., 37.5]);

        let device = plugin.platforms().unwrap()[0]
            .devices(PI_DEVICE_TYPE_ALL)
            .unwrap()
            .remove(0);
        let context = Context::new(&[&device]).unwrap();
        let queue = context.queue(&device, QueueProperties::default()).unwrap();
        let program = context.program_with_il(b"daxpy").unwrap();
        assert_eq!(program.build("").unwrap_err().result(), PI_BUILD_PROGRAM_FAILURE);
        let program = context.program_with_il(b"saxpy").unwrap();
        assert_eq!(
            program.kernel("daxpy").unwrap_err().result(),
            PI_INVALID_KERNEL_NAME
        );
        let mut kernel = program.kernel("saxpy").unwrap();
        assert_eq!(
            kernel.set_argument(3, 1_f32).unwrap_err().result(),
            PI_INVALID_ARG_INDEX
        );
        let x = context.buffer(8).unwrap();
        for (index, argument) in [Argument::from(1_f32), (&x).into(), (&x).into()]
            .into_iter()
            .enumerate()
        {
            let early = queue.launch(&kernel, &NdRange::new([1]), &[]).unwrap_err();
            assert_eq!(early.result(), PI_INVALID_KERNEL_ARGS);
            kernel.set_argument(index as u32, argument).unwrap();
        }
        let far = queue.launch(&kernel, &NdRange::new([3]), &[]).unwrap_err();
        assert_eq!(far.result(), PI_INVALID_GLOBAL_WORK_SIZE);
        let launch = queue.launch(&kernel, &NdRange::new([2]), &[]).unwrap();
        assert_eq!(launch.status().unwrap(), CommandStatus::Complete);
        queue.finish().unwrap();
    }
}

/// Writes saxpy as SPIR-V, what it is given, and what comes out.
fn write_saxpy(folder: &Folder) {
    folder.spirv(
        "saxpy",
        "kernel void saxpy(float a, global const float *x, global float *y) {
           size_t i = get_global_id(0);
           y[i] += a * x[i];
         }",
    );
    folder.write("x.npy", npy_f32("(3,)", [1., 2., 3.]));
    folder.write("y.npy", npy_f32("(3,)", [10., 20., 30.]));
    folder.write("expected.npy", npy_f32("(3,)", [12.5, 25., 37.5]));
}

const SAXPY: &str =
    "run saxpy.spv saxpy --global 3 --arg f32:2.5 --arg x.npy --arg y.npy --check 2=expected.npy --device";

/// What `offkit` does where there are these plugins.
fn offkit_with(folder: &Folder, plugins: &OsStr, line: &str) -> Outcome {
    let mut command = Command::new(offkit());
    command
        .args(line.split(' '))
        .env("OFFKIT_PLUGINS", plugins)
        .env("XDG_CACHE_HOME", folder.path("cache"));
    folder.run_command(&mut command)
}

#[test]
fn offkit_lists_the_examples_and_runs_a_program_on_them() {
    need!("cc", "clang-22");
    let folder = Folder::new();
    write_saxpy(&folder);
    let plugins = env::join_paths([c_example(&folder), rust_example()]).unwrap();
    let run = |line: &str| offkit_with(&folder, &plugins, line);
    let devices = run("devices").ok();
    for name in ["Example in C", "Example in Rust"] {
        assert!(devices.contains(name), "{devices}");
    }
    let doctor = run("doctor").ok();
    assert!(doctor.contains("libexample.so"), "{doctor}");
    for device in ["example-in-c", "example-in-rust"] {
        run(&format!("{SAXPY} {device}")).ok();
    }
}

#[test]
fn a_hole_in_a_plugin_is_an_error_that_names_the_function() {
    need!("cc", "clang-22");
    let folder = Folder::new();
    let source = root().join("examples/plugin-c/plugin.c");
    folder.write(
        "hole.c",
        format!(
            "#define piPluginInit whole
             #include \"{}\"
             #undef piPluginInit
             OFFKIT_PI_EXPORT pi_result piPluginInit(void *record) {{
               pi_result result = whole(record);
               if (result == PI_SUCCESS) ((pi_plugin_2_3 *)record)->PiFunctionTable.piKernelCreate = NULL;
               return result;
             }}",
            source.display()
        ),
    );
    let include = format!("-I{}", root().join("include").display());
    let options = ["-shared", "-fPIC", "-o", "libhole.so", "hole.c", include.as_str()];
    folder.run(tool("cc").unwrap(), options).ok();
    let run = |line: &str| offkit_with(&folder, folder.path("libhole.so").as_os_str(), line);
    write_saxpy(&folder);
    assert!(run("devices").ok().contains("Example in C"));
    let refused = run(&format!("{SAXPY} example")).fails(2);
    assert!(
        refused.contains("piKernelCreate is not provided by plugin libhole.so"),
        "{refused}"
    );
    let doctor = run("doctor").stdout;
    assert!(
        doctor.contains("1 device; runs no kernels without piKernelCreate"),
        "{doctor}"
    );
}

thread_local! {
    /// The functions of the plugin below.
    static LEFT: Cell<Api> = const { Cell::new(Api::EMPTY) };
}

/// `piPluginInit` of a plugin that has [`LEFT`] alone, in PI 2.3.
unsafe extern "C" fn init(record: *mut c_void) -> pi_result {
    let (layout, record) = (Layout::V2_3, record.cast::<u8>());
    let version = layout.version.to_bytes_with_nul();
    let left = LEFT.get();
    // SAFETY: hosts offer this version first, in a record that has room for it.
    unsafe {
        record
            .add(layout.version_length)
            .copy_from_nonoverlapping(version.as_ptr(), version.len());
        let table = record.add(layout.table_offset()).cast::<Slot>();
        for (index, revision) in layout.functions.iter().enumerate() {
            table.add(index).write(left.slots()[*revision as usize]);
        }
    }
    PI_SUCCESS
}

/// A plugin with some of the functions of another.
fn part(of: &Plugin, keep: impl Fn(Function) -> bool) -> Plugin {
    let kept = |revision: &offkit_pi::table::Revision| {
        keep(revision.function())
            .then_some(of.api().slots()[*revision as usize])
            .flatten()
    };
    let slots: Vec<Slot> = Layout::V2_3.functions.iter().map(kept).collect();
    // SAFETY: the functions are where they were.
    LEFT.set(unsafe { Api::from_slots(&Layout::V2_3, &slots) });
    // SAFETY: it fills in the record with functions of the right types.
    const PART: BuiltIn = unsafe { BuiltIn::new("part", init, None) };
    Plugin::built_in(&PART).unwrap()
}

#[test]
fn the_minimum_is_enough_and_all_of_it_is_needed() {
    need!("cc");
    let folder = Folder::new();
    let whole = Plugin::load(c_example(&folder)).unwrap();
    let listing = |function: Function| Function::TO_LIST.contains(&function);
    let running = |function: Function| listing(function) || Function::TO_RUN.contains(&function);

    assert_eq!(list(&part(&whole, listing)).unwrap(), "Example in C");
    assert_eq!(run(&part(&whole, running)).unwrap(), [10., 25., 37.5]);
    for missing in Function::TO_LIST.iter().chain(Function::TO_RUN) {
        let plugin = part(&whole, |function| running(function) && function != *missing);
        let error = if listing(*missing) {
            list(&plugin).unwrap_err()
        } else {
            run(&plugin).unwrap_err()
        };
        assert_eq!(
            error.to_string(),
            format!("{missing} is not provided by plugin part")
        );
    }
}

#[test]
fn without_a_function_the_host_says_so_and_goes_on() {
    need!("cc");
    let folder = Folder::new();
    let whole = Plugin::load(c_example(&folder)).unwrap();
    let plugin = part(&whole, |function| {
        Function::TO_LIST.contains(&function) || Function::TO_RUN.contains(&function)
    });
    let platform = plugin.platforms().unwrap().remove(0);
    let device = platform.devices(PI_DEVICE_TYPE_ALL).unwrap().remove(0);
    let context = Context::new(&[&device]).unwrap();
    let queue = context.queue(&device, QueueProperties::default()).unwrap();
    let (buffer, other) = (context.buffer(8).unwrap(), context.buffer(8).unwrap());
    let program = context.program_with_il(b"saxpy").unwrap();
    let mut kernel = program.kernel("saxpy").unwrap();
    kernel.set_argument(0, 1_f32).unwrap();
    kernel.set_argument(1, &buffer).unwrap();
    kernel.set_argument(2, &other).unwrap();
    let launch = queue.launch(&kernel, &NdRange::new([1]), &[]).unwrap();
    let usm = |kind| context.usm(kind, &device, 8, 0).map(drop);
    use offkit_pi::host::UsmKind::{Device, Host, Shared};
    let refused = [
        platform.name().map(drop),
        platform.version().map(drop),
        device.timers().map(drop),
        context.program_with_source("").map(drop),
        context.program_with_binary(&device, b"saxpy").map(drop),
        context.link(&[&program], "").map(drop),
        context.user_event().map(drop),
        usm(Host),
        usm(Device),
        usm(Shared),
        buffer.part(0, 4).map(drop),
        program.compile(""),
        program.set_specialization_constant(0, &[0]),
        program.build_log(&device).map(drop),
        program.build_status(&device).map(drop),
        program.binary_type(&device).map(drop),
        program.kernel_names().map(drop),
        program.binaries().map(drop),
        kernel.name().map(drop),
        kernel.num_args().map(drop),
        kernel.work_group_size(&device).map(drop),
        kernel.local_memory_size(&device).map(drop),
        kernel.set_argument(1, Argument::Address(8)),
        kernel.set_indirect_access(true),
        launch.status().map(drop),
        launch.profile().map(drop),
        launch.wait_for(Duration::from_secs(1)).map(drop),
        launch.cancel(),
        launch.on_completion(|_| {}),
        launch.try_clone().map(drop),
        queue.finish(),
        queue.flush(),
        queue.write_buffer(&buffer, 0, &[1], &[]),
        queue.fill_buffer(&buffer, &[1], 0, 1, &[]).map(drop),
        queue.copy_buffer((&buffer, 0), (&other, 0), 4, &[]).map(drop),
    ];
    for (index, result) in refused.into_iter().enumerate() {
        match result {
            Err(PiError::NotProvided { .. } | PiError::NotInVersion { .. }) => {}
            other => panic!("{index}: {other:?}"),
        }
    }
    launch.wait().unwrap();
    // Images are chosen by the plugin; without that, the runtime's own rules for targets do.
    let image = offkit_image::DeviceImage::new(b"saxpy".as_slice());
    assert!(matches!(
        device.select_binary(&[&image]),
        Err(PiError::NotProvided { .. })
    ));
}

#[test]
fn the_guide_names_the_functions_of_the_minimum() {
    let guide = std::fs::read_to_string(root().join("docs/plugins.md")).unwrap();
    let rows = |heading: &str| -> BTreeSet<String> {
        let part = guide.split(heading).nth(1).unwrap_or_default();
        let table = part
            .lines()
            .skip_while(|line| !line.starts_with('|'))
            .take_while(|line| line.starts_with('|'));
        let names = table.filter_map(|line| line.split('`').nth(1));
        names.map(str::to_owned).collect()
    };
    let names = |functions: &[Function]| {
        functions
            .iter()
            .map(|function| function.name().to_owned())
            .collect()
    };
    assert_eq!(
        rows("to list its devices, a plugin needs:"),
        names(Function::TO_LIST)
    );
    assert_eq!(rows("To run a kernel on buffers"), names(Function::TO_RUN));
}
