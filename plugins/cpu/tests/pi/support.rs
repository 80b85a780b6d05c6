//! Device code from the real compiler, and both forms of the plugin.

use offkit_cache::SWITCH_VARIABLE;
use offkit_llvm::WORKER_VARIABLE;
use offkit_pi::ffi::PI_DEVICE_TYPE_ALL;
use offkit_pi::host::{Context, Device, Event, Kernel, NdRange, Plugin, Program, Queue, QueueProperties};
use offkit_plugin_cpu::plugin::CHECKED_NAME;
use std::env::consts::{DLL_PREFIX, DLL_SUFFIX};
use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::Once;

/// Runs a test with the built-in plugin and with the loaded one, on the device that compiles and on the one that checks.
pub(crate) fn with_both(test: impl Fn(&Machine)) {
    for checks in [false, true] {
        with_device(checks, &test);
    }
}

/// The same on the device that checks every access alone.
pub(crate) fn with_checked(test: impl Fn(&Machine)) {
    with_device(true, &test);
}

fn with_device(checks: bool, test: &impl Fn(&Machine)) {
    for plugin in [built_in(), Plugin::load(library()).unwrap()] {
        test(&Machine::new(plugin, checks));
    }
}

/// Has kernels compiled by the worker that was built with this program, if it was, and nothing kept. Tests are in another
/// folder.
#[expect(unsafe_code, reason = "the loaded plugin finds the worker by the environment")]
fn name_worker() {
    static NAMED: Once = Once::new();
    NAMED.call_once(|| {
        let worker = std::env::current_exe()
            .unwrap()
            .with_file_name("../offkit-cpu-worker");
        if std::env::var_os(WORKER_VARIABLE).is_none() && worker.is_file() {
            // SAFETY: every test begins here, and no plugin is there yet that could read it.
            unsafe {
                std::env::set_var(WORKER_VARIABLE, worker);
                std::env::set_var(SWITCH_VARIABLE, "off");
            }
        }
    });
}

/// The plugin as it is linked into this program.
pub(crate) fn built_in() -> Plugin {
    name_worker();
    Plugin::built_in(&offkit_plugin_cpu::plugin::BUILT_IN).unwrap()
}

/// The shared library of the plugin, which cargo builds beside this program.
pub(crate) fn library() -> PathBuf {
    let name = format!("{DLL_PREFIX}offkit_plugin_cpu{DLL_SUFFIX}");
    std::env::current_exe().unwrap().with_file_name(name)
}

/// The device, with a context and a queue.
pub(crate) struct Machine {
    pub(crate) device: Device,
    pub(crate) context: Context,
    pub(crate) queue: Queue,
}

impl Machine {
    pub(crate) fn new(plugin: Plugin, checks: bool) -> Machine {
        let platforms = plugin.platforms().unwrap().into_iter();
        let mut devices = platforms.flat_map(|platform| platform.devices(PI_DEVICE_TYPE_ALL).unwrap());
        let is_it = |device: &Device| device.name().unwrap().starts_with(CHECKED_NAME) == checks;
        let device = devices.find(is_it).unwrap();
        let context = Context::new(&[&device]).unwrap();
        let queue = context
            .queue(
                &device,
                QueueProperties {
                    profiling: true,
                    ..QueueProperties::default()
                },
            )
            .unwrap();
        Machine {
            device,
            context,
            queue,
        }
    }

    /// A program of OpenCL C, built.
    pub(crate) fn build(&self, spirv: &[u8]) -> Program {
        let program = self.context.program_with_il(spirv).unwrap();
        program.build("").unwrap();
        program
    }

    /// A program of OpenCL C, compiled and yet to be linked.
    pub(crate) fn compile(&self, spirv: &[u8]) -> Program {
        let program = self.context.program_with_il(spirv).unwrap();
        program.compile("").unwrap();
        program
    }

    /// Launches a kernel over a number of work-items, and waits for it.
    pub(crate) fn run(&self, kernel: &Kernel, count: usize) -> Event {
        let event = self.queue.launch(kernel, &NdRange::new([count]), &[]).unwrap();
        event.wait().unwrap();
        event
    }

    /// The contents of a buffer of floats.
    pub(crate) fn floats(&self, buffer: &offkit_pi::host::Buffer) -> Vec<f32> {
        let mut bytes = vec![0; buffer.size()];
        self.queue.read_buffer(buffer, 0, &mut bytes, &[]).unwrap();
        bytes
            .as_chunks()
            .0
            .iter()
            .map(|bytes| f32::from_ne_bytes(*bytes))
            .collect()
    }
}

/// Floats as they lie in memory.
pub(crate) fn bytes(values: &[f32]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_ne_bytes()).collect()
}

/// Compiles OpenCL C with clang. `None` where there is none, unless the environment says that there must be.
#[expect(clippy::print_stderr, reason = "a test that is skipped says so")]
pub(crate) fn compile(source: &str) -> Option<Vec<u8>> {
    let arguments = [
        "--target=spirv64",
        "-cl-std=CL3.0",
        "-O1",
        "-x",
        "cl",
        "-c",
        "-",
        "-o",
        "-",
    ];
    let clang = Command::new("clang-22")
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn();
    let mut clang = match clang {
        Ok(clang) => clang,
        Err(error) => {
            let required = std::env::var_os("OFFKIT_REQUIRE_TOOLS").is_some_and(|value| value == "1");
            assert!(!required, "clang-22: {error}");
            eprintln!("SKIPPED: clang-22: {error}");
            return None;
        }
    };
    clang.stdin.take().unwrap().write_all(source.as_bytes()).unwrap();
    let output = clang.wait_with_output().unwrap();
    assert!(output.status.success(), "clang-22 refuses the test's source");
    Some(output.stdout)
}

/// Compiles OpenCL C, or ends the test where there is no compiler.
macro_rules! spirv {
    ($source:expr) => {
        match $crate::support::compile($source) {
            Some(spirv) => spirv,
            None => return,
        }
    };
}
pub(crate) use spirv;
