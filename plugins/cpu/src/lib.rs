//! The embedded CPU device: SPIR-V modules of the OpenCL flavour, run on this machine's cores.
//!
//! [`Program::build`] takes a module in its binary form, [`Program::launch`] runs one of its kernels over
//! an [`NdRange`] of work-items, and [`Memory`] holds what kernels work on. There is nothing to install and
//! no driver to find, so that device code runs, and can be tested, wherever offkit does. Runtimes reach all
//! this through the plugin interface, in [`plugin`].
//!
//! # How a kernel runs
//!
//! ```text
//!  SPIR-V ──reader──▶ SSA form ──verifier──▶ steps ──interpreter──▶ results, or the work-item that failed
//! ```
//!
//! The *reader*, of crate `offkit-kernel`, takes every decision that SPIR-V leaves to decorations and types
//! and writes offkit's own SSA form: layouts, address arithmetic, the meaning of each operation. Whatever this device doesn't have
//! is refused here, by name, and nothing is guessed. The *verifier* makes sure of the shape of everything,
//! so that what comes after needs no checks of that kind. Then values get registers and operations get
//! functions, and the *interpreter* executes the result: work-groups are spread over all cores, the
//! work-items of a group share one and are suspended wherever they wait for each other.
//!
//! It is the device's reference: clear before fast. What it adds to results is certainty. Every load, store
//! and atomic access is checked against the allocation, local variable or private array that it belongs to;
//! a violation ends the launch with an error that names the kernel, the work-item, the address and what is
//! next to it. A barrier that some work-items miss, endless recursion, a null pointer or a write to
//! constant memory are errors as well. Operations that the standard leaves undefined have one defined
//! result: a division by zero gives all ones, its remainder is the dividend.
//!
//! # Compiled kernels
//!
//! The first device has kernels compiled to machine code when they are launched ([`Compiler`]) and checks nothing, unless
//! their program is built with [`CHECK_BOUNDS_OPTION`]; what cannot be compiled is interpreted. The second one interprets,
//! and has a platform of its own. Where `OFFKIT_CPU_COMPILE` is 0 it is the only one.
//!
//! # Limits
//!
//! The addressing model is Physical64. Images, pipes, device-side enqueue and integers of unusual width are
//! refused when a program is built. A work-group has up to [`MAX_WORK_GROUP_SIZE`] work-items and
//! [`MAX_LOCAL_MEMORY`] bytes of local memory; a sub-group has [`sub_group_size`] work-items unless the
//! kernel asks for another number, of [`SUB_GROUP_SIZES`] for example.
//!
//! # Example
//!
//! Modules come from a compiler; this one is made by hand to need none. Its kernel doubles each element.
//!
//! ```
//! use offkit_plugin_cpu::{AllocationKind, Argument, LaunchOptions, Memory, NdRange, Program};
//! use rspirv::binary::Assemble;
//! use rspirv::dr::{Builder, Operand};
//! use rspirv::spirv::*;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let mut module = Builder::new();
//! module.set_version(1, 2);
//! for capability in [Capability::Kernel, Capability::Addresses, Capability::Int64] {
//!     module.capability(capability);
//! }
//! module.memory_model(AddressingModel::Physical64, MemoryModel::OpenCL);
//! let (void, int, long) = (module.type_void(), module.type_int(32, 0), module.type_int(64, 0));
//! let ids = module.type_vector(long, 3);
//! let pointer = module.type_pointer(None, StorageClass::CrossWorkgroup, int);
//! let input = module.type_pointer(None, StorageClass::Input, ids);
//! let signature = module.type_function(void, [pointer]);
//! let global_id = module.variable(input, None, StorageClass::Input, None);
//! let built_in = Operand::BuiltIn(BuiltIn::GlobalInvocationId);
//! module.decorate(global_id, Decoration::BuiltIn, [built_in]);
//!
//! let kernel = module.begin_function(void, None, FunctionControl::NONE, signature)?;
//! let buffer = module.function_parameter(pointer)?;
//! module.begin_block(None)?;
//! let id = module.load(ids, None, global_id, None, [])?;
//! let x = module.composite_extract(long, None, id, [0])?;
//! let element = module.in_bounds_ptr_access_chain(pointer, None, buffer, x, [])?;
//! let value = module.load(int, None, element, None, [])?;
//! let twice = module.i_add(int, None, value, value)?;
//! module.store(element, twice, None, [])?;
//! module.ret()?;
//! module.end_function()?;
//! module.entry_point(ExecutionModel::Kernel, kernel, "double", [global_id]);
//! let spirv: Vec<u8> = module.module().assemble().iter().flat_map(|word| word.to_le_bytes()).collect();
//!
//! let memory = Memory::new();
//! let program = Program::build(&spirv, memory.clone())?;
//! let buffer = memory.allocate(16, 4, AllocationKind::Buffer)?;
//! memory.write(buffer, &[1, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0, 4, 0, 0, 0])?;
//! let (arguments, options) = ([Argument::Pointer(buffer)], LaunchOptions::default());
//! program.launch("double", &NdRange::new([4]), &arguments, &options)?;
//! let mut bytes = [0; 16];
//! memory.read(buffer, &mut bytes)?;
//! assert_eq!(bytes, [2, 0, 0, 0, 4, 0, 0, 0, 6, 0, 0, 0, 8, 0, 0, 0]);
//!
//! // One work-item more than there are elements.
//! let error = program.launch("double", &NdRange::new([5]), &arguments, &options).unwrap_err();
//! assert!(error.to_string().contains("4 bytes past the buffer of argument 0"));
//! # Ok(())
//! # }
//! ```

#![deny(unsafe_code)]

pub mod code;
mod compiled;
mod error;
mod graph;
mod interpreter;
mod kernel;
mod launch;
mod memory;
pub mod native;
pub mod plugin;
mod pool;
mod processor;

use offkit_sync as sync;

pub use code::{GDB_VARIABLE, PERF_VARIABLE};
pub use compiled::{
    CHECK_BOUNDS_OPTION, CHECK_BOUNDS_VARIABLE, COMPILE_VARIABLE, Compiler, Expected, LIBMVEC_VARIABLE,
    Processor, expected, kernel_options, time_waited, vector_functions,
};
#[doc(hidden)]
pub use compiled::{Trial, TrialOptions, compile_with, launch_compiled};
pub use error::BuildError;
pub use interpreter::Program;
pub use launch::{
    Argument, ArgumentError, KernelFault, KernelInfo, LaunchError, LaunchOptions, MAX_LOCAL_MEMORY,
    MAX_WORK_GROUP_SIZE, PREFERRED_WORK_GROUP_SIZE, SUB_GROUP_SIZES, sub_group_size, suggested_local_size,
};
pub use memory::{Allocation, AllocationKind, Memory, MemoryError};
pub use offkit_kernel::ReadError;
pub use offkit_pi::NdRange;
pub use pool::THREADS_VARIABLE;
pub use processor::PROCESSOR_VARIABLE;
