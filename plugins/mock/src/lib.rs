//! A plugin for tests: it answers, fails, waits and crashes as a script says.
//!
//! The script is a text. As a library, `libpi_mock.so`, the plugin reads the file that [`SCRIPT_VARIABLE`] names; a test that
//! links it in [plays](play) one, and can ask what was called and what was left behind. A line of a script is one of these;
//! words with spaces are quoted, and a `#` begins a comment:
//!
//! ```text
//! platform "Mock"                  a platform; the devices below it are its own
//! backend LEVEL_ZERO              what the platform above is on: OPENCL, CUDA, ...
//! device gpu "Mock GPU"            a device: cpu, gpu or acc, and its name
//! takes spir64 sm_80               the targets of images that the device above takes
//! parts 2 3                        it has 2 parts by affinity, and each of them 3; by counts it has any
//! info IL_VERSION "SPIR-V_1.2"     what the device above answers: a text, a number of 32 bits, or 7u64
//! kernel fill 1 0 7                a kernel, how many arguments it has, which buffer it fills, with which byte
//! variable counter 16              a variable of every program, and its size in bytes
//! unresolved helper                no program is built or linked: the symbol is missing
//! missing piEventSetCallback       the table has no such function
//! fail piProgramBuild PI_OUT_OF_RESOURCES "out of luck"
//! fail piProgramBuild#2 PI_OUT_OF_RESOURCES      the second call of it
//! fail any#17 PI_OUT_OF_RESOURCES                the call number 17
//! delay piEventsWait 20            milliseconds
//! hang piDevicesGet                until the play is over
//! crash piTearDown
//! exit piPluginInit 7
//! eat piPluginInit                 memory, until there is none
//! ```
//!
//! What goes wrong is named by a function; by `any` for all of them; or by `launch`, for the launched kernel itself: it
//! fails, completes late, or runs until the host sets its event to a failure. A function that fails has done nothing, except
//! for those that release something: these have.
//!
//! Without a script there is no platform; with one that has no device, there is one device that takes SPIR-V. Without a
//! `kernel`, a program has whatever kernel it is asked for. Kernels do nothing but what their line says. Memory is the host's.

#![deny(unsafe_code)]

mod device;
mod memory;
mod program;
mod queue;
mod script;
mod stage;

use std::sync::Arc;

use offkit_pi::plugin::{Plugin, Result, Unsupported};
use offkit_pi::table::Function;

pub use script::ScriptError;
pub use stage::{Called, Play, SCRIPT_VARIABLE, play};

/// The plugin.
struct Mock;

impl Plugin for Mock {
    type Platform = device::MockPlatform;
    type Device = device::MockDevice;
    type Context = memory::MockContext;
    type Queue = queue::MockQueue;
    type Memory = memory::MockBuffer;
    type Sampler = Unsupported;
    type Program = program::MockProgram;
    type Kernel = program::MockKernel;
    type Event = queue::MockEvent;

    const NAME: &'static str = "mock";

    fn platforms() -> Result<Vec<Arc<device::MockPlatform>>> {
        Ok(stage::now().platforms.clone())
    }

    fn set_up() -> Result<()> {
        stage::now().set_up()
    }

    fn provides(function: Function) -> bool {
        !stage::now().script.missing.contains(&function)
    }

    fn call(function: Function, body: impl FnOnce() -> Result<()>) -> Result<()> {
        stage::now().call(function, body)
    }
}

offkit_pi::define_plugin! {
    /// The plugin, for programs that link it in: `offkit_pi::host::Plugin::built_in(&BUILT_IN)`.
    pub const BUILT_IN: Mock;
}

/// The symbols that make a shared library of this crate a plugin.
mod exports {
    offkit_pi::export_plugin!(super::Mock);
}
