//! Kernels for GPUs: one work-item is one thread, and the device runs groups of them by itself.
//!
//! ```text
//!  SPIR-V ──read──▶ kernel ──prepare──▶ one function ──emit──▶ LLVM IR ──passes──▶ PTX or an object
//! ```
//!
//! Nothing has to be planned as for processors: a thread's values are scalars, a branch is a branch, and a barrier is an
//! instruction. So a function of [`prepare_for`] is written as it stands, block by block. What operations compute is
//! written by `Lanes`, as for processors, one lane wide.
//!
//! Every pointer is a generic one between its making and its use: where it leads is told again by an access's own type, and
//! LLVM's passes trace it to the same end. So null is null, whatever the memory, and pointers can be kept anywhere.
//!
//! | module | does |
//! |---|---|
//! | `gpu` | what differs between GPUs |
//! | `kernel` | the function: parameters, blocks, values |
//! | `instruction` | instructions |
//! | `memory` | loads, stores, copies, atomics, fences, generic pointers |
//! | `ids` | built-in variables |
//! | `sub_group` | what sub-groups do together |
//! | `print` | printf |
//! | `names` | names that others know |
//! | `variables` | program-scope variables, of the program and of groups |

mod gpu;
mod ids;
mod instruction;
mod kernel;
mod memory;
mod names;
mod print;
mod sub_group;
mod variables;

use std::collections::HashMap;

use offkit_compile::{Arithmetic, prepare_for};
use offkit_kernel::ir;
use offkit_llvm::{DeviceCode, DeviceRequest};
use offkit_spirv::reflect;

use super::builder::Builder;
use super::lanes::{Lanes, Options};
use super::math::Processor;
use crate::Error;
use crate::codegen::TargetMachine;
use crate::context::Context;
use crate::module::Module;
use gpu::Gpu;
use variables::Variables;

/// What makes pointers lead into the memory that they come from, as early as it pays.
const TRACE_POINTERS: &str = "function(sroa,infer-address-spaces)";

/// Compiles kernels of a module, SPIR-V or the text of `offkit-kernel`, for a GPU.
///
/// # Errors
///
/// The kernel that isn't compiled, and the reason why.
pub fn compile(module: &[u8], request: &DeviceRequest) -> Result<DeviceCode, Error> {
    let mut written = Written::new(module, request)?;
    let (machine, code) = (&written.machine, &mut written.code);
    machine.run(code, TRACE_POINTERS)?;
    match request.optimization {
        0 => machine.optimize(code, 0)?,
        level => {
            // Before loops are unrolled, and once more is known.
            machine.narrow(code)?;
            machine.optimize(code, level)?;
            machine.narrow(code)?;
        }
    }
    let text = match request.with_text {
        true => written.code.to_text(),
        false => Vec::new(),
    };
    Ok(DeviceCode {
        kernels: written.kernels,
        text,
        // Last: the code generator changes what it reads.
        code: written.machine.emit(&written.code)?.bytes().to_vec(),
    })
}

/// Kernels as LLVM IR for a GPU.
struct Written {
    code: Module,
    kernels: Vec<offkit_llvm::DeviceKernel>,
    machine: TargetMachine,
}

impl Written {
    fn new(source: &[u8], request: &DeviceRequest) -> Result<Written, Error> {
        let module = super::read_specialized(source, &request.specialization)?;
        let (triple, processor) = (&request.triple, &request.processor);
        let gpu = gpu::of(request).ok_or_else(|| {
            Error::new(format!(
                "kernels are not compiled for processor `{processor}` of `{triple}`"
            ))
        })?;
        let gpu = &*gpu;
        let features = gpu.features(&request.features)?;
        let machine = TargetMachine::new(triple, processor, &features, request.optimization)?;
        let mut code = Module::parse_text(&Context::new(), "")?;
        // The layout of the target's memory is what variables are made by.
        machine.adopt(&mut code)?;
        let mut kernels = Vec::new();
        {
            let builder = Builder::new(&code);
            gpu.describe_module(&builder);
            let mut variables = Variables::new(&builder, &module, gpu);
            // Code objects list arguments by name, for tools; in PTX parameters have numbers.
            let names = match gpu.table().is_shared_object {
                true => parameter_names(source),
                false => HashMap::new(),
            };
            for number in wanted(&module, &request.kernels)? {
                let kernel = &module.kernels[number];
                let names = names.get(&kernel.name).map_or(&[][..], Vec::as_slice);
                let written = write(&builder, &module, (number, names), gpu, &mut variables);
                let written = written.map_err(|refusal| {
                    let message = format!("kernel `{}` can't be compiled for {gpu}: {refusal}", kernel.name);
                    Error::new(message)
                })?;
                kernels.push(written);
            }
        }
        // Again, for the functions that there are now: each names its processor.
        machine.adopt(&mut code)?;
        code.verify()?;
        Ok(Written {
            code,
            kernels,
            machine,
        })
    }
}

/// The numbers of kernels by their names; all without any.
fn wanted(module: &ir::Module, names: &[String]) -> Result<Vec<usize>, Error> {
    if names.is_empty() {
        return Ok((0..module.kernels.len()).collect());
    }
    let find = |name: &String| {
        let found = module.kernels.iter().position(|kernel| kernel.name == *name);
        found.ok_or_else(|| Error::new(format!("there is no kernel `{name}`")))
    };
    names.iter().map(find).collect()
}

/// The names of kernels' parameters, as far as SPIR-V tells.
fn parameter_names(module: &[u8]) -> HashMap<String, Vec<Option<String>>> {
    let Ok(module) = offkit_spirv::Module::from_bytes(module) else {
        return HashMap::new();
    };
    let kernels = reflect(&module).kernels.into_iter();
    let names = kernels.map(|kernel| {
        let parameters = kernel.parameters.into_iter();
        (kernel.name, parameters.map(|parameter| parameter.name).collect())
    });
    names.collect()
}

/// Writes a kernel, and where it sees where ids begin or asks for the number of dimensions a second time, for launches that
/// begin elsewhere than at zero, and tell that number.
fn write<'m>(
    builder: &Builder<'m>,
    module: &ir::Module,
    (number, names): (usize, &[Option<String>]),
    gpu: &dyn Gpu,
    variables: &mut Variables<'_, 'm>,
) -> kernel::Result<offkit_llvm::DeviceKernel> {
    let name = module.kernels[number].name.clone();
    gpu.check(&module.kernels[number])?;
    let prepared = prepare_for(module, number, gpu.table().work_items)?;
    let lanes = || {
        let options = Options {
            contract: !prepared.kernels[0].contraction_off,
            arithmetic: Arithmetic::default(),
            half: true,
            half_fma: gpu.table().has_nvidias_functions,
            processor: Processor {
                fma: true,
                avx512: false,
                nvidia: gpu.table().has_nvidias_functions,
            },
        };
        Lanes::new(builder, options)
    };
    let facts = kernel::emit(builder, lanes(), &prepared, gpu, variables, (&name, false))?;
    if let Some(function) = builder.known(&name) {
        for (index, name) in (0..).zip(names) {
            builder.name_parameter(function, index, name.as_deref().unwrap_or_default());
        }
    }
    // A kernel of its own, and no branch in this one: launches from zero, which are nearly all,
    // add nothing to an id.
    if facts.offset || facts.dimensions {
        let with_offset = format!("{name}{}", offkit_llvm::WITH_OFFSET);
        kernel::emit(builder, lanes(), &prepared, gpu, variables, (&with_offset, true))?;
    }
    Ok(offkit_llvm::DeviceKernel {
        name,
        local: facts.local,
        sees_offset: facts.offset,
        sees_dimensions: facts.dimensions,
    })
}
