//! Programs and launches on the CPU device.

use std::sync::Arc;

use offkit_plugin_cpu::{AllocationKind, Argument, LaunchOptions, Memory, NdRange, Program, Specialization};

/// An argument of a kernel.
#[derive(Clone, Debug)]
pub(crate) enum Operand {
    /// A pointer to global or constant memory with these bytes.
    Buffer(Vec<u8>),
    /// That many bytes of local memory.
    Local(usize),
    /// A value passed as it is.
    Value(Vec<u8>),
}

/// What a kernel left behind.
#[derive(Debug)]
pub(crate) struct Outcome {
    /// The contents of the buffers, in the order of the arguments.
    pub(crate) buffers: Vec<Vec<u8>>,
    /// What it printed.
    pub(crate) printed: String,
}

/// A program on a device of its own.
pub(crate) struct Device {
    memory: Arc<Memory>,
    program: Program,
}

impl Device {
    pub(crate) fn new(spirv: &[u8]) -> Result<Device, String> {
        let memory = Memory::new();
        let program = Program::build(spirv, &Specialization::default(), Arc::clone(&memory))
            .map_err(|error| error.to_string())?;
        Ok(Device { memory, program })
    }

    pub(crate) fn run(
        &self,
        kernel: &str,
        global: &[u64],
        local: &[u64],
        operands: &[Operand],
    ) -> Result<Outcome, String> {
        todo!()
    }
}
