//! Kernels to machine code: the worker's side of what `offkit-compile` plans.
//!
//! ```text
//!  SPIR-V ──read──▶ kernel ──prepare──▶ one function ──plan──▶ ──emit──▶ LLVM IR ──passes──▶ object
//! ```
//!
//! | module | does |
//! |---|---|
//! | `kernel` | the function: groups, regions, vectors of work-items, what is kept between regions |
//! | `control` | blocks and the ways between them, as branches or masks |
//! | `instruction` | instructions, as scalar or vector code |
//! | `values` | words of values: slots, constants, forms |
//! | `addresses` | addresses, strided or of each work-item |
//! | `memory` | loads, stores, copies |
//! | `side_by_side` | those whose addresses turn out to be side by side |
//! | `apart` | what is done for one work-item after the other |
//! | `bounds` | accesses that are checked before they are made |
//! | `cancel` | launches that are given up |
//! | `print` | what work-items tell the device |
//! | `spaces` | which memory addresses lead to |
//! | `ids` | built-in variables |
//! | `places` | where in their source instructions came from |
//! | `lanes` | what operations do to the lanes of values |
//! | `math` | mathematics on vectors |
//! | `builder` | LLVM's instructions |
//! | [`device`] | kernels for GPUs, one work-item a thread |
//! | [`warm`] | a code generator that is there before it is asked for |

mod addresses;
mod apart;
mod bounds;
mod builder;
mod cancel;
mod control;
pub mod device;
mod ids;
mod instruction;
mod kernel;
mod lanes;
mod math;
mod memory;
mod places;
mod print;
mod seen;
mod side_by_side;
mod spaces;
mod values;
mod vector_functions;
pub mod warm;

use std::collections::BTreeMap;

use offkit_compile::{Facts, Plan, Refusal, Variant, prepare};
use offkit_kernel::ir;
use offkit_llvm::{CompileRequest, Compiled, Effort, Forms};
use offkit_spirv::specialize;

use crate::Error;
use crate::beyond_c::{in_haste, lay_out};
use crate::codegen::TargetMachine;
use crate::context::Context;
use crate::module::Module;
use crate::passes;
use builder::Builder;
use lanes::{Lanes, Options};
use warm::Machine;

/// The name of the function that runs work-groups, as perf and gdb show it: no name that LLVM knows of a library.
fn symbol(kernel: &str) -> String {
    format!("offkit:{kernel}")
}

/// What LLVM does to a kernel's code at once: slots become values, what is computed twice is computed once. This needs no code
/// generator, which may still be in the making.
const LIGHT_BEGINNING: &str = "function(sroa,early-cse<memssa>)";

/// What it does then. With `gvn`, `dse`, and `instcombine` and `simplifycfg` in front of the loops as well, a first result takes
/// 0.7 ms longer, and the kernels of `./dev bench cpu` have as many instructions: 6,030 instead of 6,032.
const LIGHT: &str = "function(simplifycfg,jump-threading,loop-simplify,lcssa,loop-mssa(loop-rotate,licm),\
    instcombine<no-verify-fixpoint>,adce,simplifycfg)";

/// Bytes of memory that a vector has for itself where scalar code does as well: as much as is near a core.
const MOST_OWN_MEMORY: u64 = 1 << 20;

impl From<Refusal> for Error {
    fn from(refusal: Refusal) -> Error {
        Error::new(refusal.0)
    }
}

/// Compiles a kernel of a module: SPIR-V, or the text of `offkit-kernel`.
///
/// # Errors
///
/// The reason why it isn't compiled.
pub fn compile(module: &[u8], request: &CompileRequest) -> Result<Compiled, Error> {
    let mut written = Written::new(module, request)?;
    // First what needs no code generator: another thread may still be making that.
    written.begin(request)?;
    let machine = written.adopt(request)?;
    written.optimize(request.level, &machine)?;
    let object = generate(request.level, || machine.emit(&written.code))?;
    Ok(Compiled {
        symbol: symbol(&request.kernel),
        scratch: written.emitted.scratch,
        shared: written.emitted.shared,
        externals: written.emitted.externals,
        notes: written.notes,
        object: object.bytes().to_vec(),
    })
}

/// What a kernel of a module is on its way to the code that [`compile`] makes of it.
///
/// # Errors
///
/// The reason why it isn't compiled.
pub fn forms(module: &[u8], request: &CompileRequest) -> Result<Forms, Error> {
    let mut written = Written::new(module, request)?;
    let machine = written.adopt(request)?;
    let emitted = written.code.to_text();
    written.begin(request)?;
    written.optimize(request.level, &machine)?;
    let optimized = written.code.to_text();
    // Last: the code generator changes what it reads.
    let assembly = generate(request.level, || machine.assembly(&written.code))?;
    Ok(Forms {
        notes: written.notes,
        emitted,
        optimized,
        assembly: assembly.bytes().to_vec(),
    })
}

/// The beginning of a module as text.
const TEXT: &[u8] = b"offkit-kernel ";

/// A module of SPIR-V or of text, valid.
fn read(module: &[u8]) -> Result<ir::Module, Error> {
    read_specialized(module, &BTreeMap::new())
}

/// The same with values of SPIR-V's specialization constants, by their numbers.
fn read_specialized(module: &[u8], values: &BTreeMap<u32, u64>) -> Result<ir::Module, Error> {
    fn said(error: impl std::fmt::Display) -> Error {
        Error::new(error.to_string())
    }
    if module.starts_with(TEXT) {
        let text = std::str::from_utf8(module).map_err(said)?;
        return ir::Module::from_text(text).map_err(said);
    }
    let mut spirv = offkit_spirv::Module::from_bytes(module).map_err(said)?;
    // Before it is read, which computes constants and sizes of arrays from these values.
    if !values.is_empty() {
        specialize(&mut spirv, &values.clone().into_iter().collect());
    }
    let module = offkit_kernel::read(spirv.dr()).map_err(said)?;
    module.verify().map_err(said)?;
    Ok(module)
}

/// A kernel as LLVM IR for its processor.
struct Written {
    code: Module,
    emitted: kernel::Emitted,
    notes: Vec<String>,
}

impl Written {
    /// A kernel of a module. What can't be vector code becomes scalar code, unless a vector is a sub-group that the
    /// kernel sees.
    fn new(module: &[u8], request: &CompileRequest) -> Result<Written, Error> {
        let module = read(module)?;
        let kernel = module
            .kernels
            .iter()
            .position(|kernel| kernel.name == request.kernel);
        let kernel = kernel.ok_or_else(|| Error::new(format!("there is no kernel `{}`", request.kernel)))?;
        // What work-groups do together has become something of sub-groups then, which may have any size.
        let sees_sub_groups = Facts::of(&module, kernel).sub_groups;
        let module = &prepare(&module, kernel)?;
        let mut notes = Vec::new();
        let (context, variant) = (Context::new(), request.variant);
        let may_be_scalar = variant.width > 1 && !sees_sub_groups;
        let written = write(&context, module, variant, request, may_be_scalar);
        // Only what was written tells how much memory a vector needs.
        let written = written.and_then(|written| match written.1.own {
            MOST_OWN_MEMORY.. if may_be_scalar => Err(Refusal(
                "work-items have so much private memory that a vector's isn't near any more".to_owned(),
            )),
            _ => Ok(written),
        });
        let (code, emitted) = match written {
            Ok(written) => written,
            Err(refusal) if may_be_scalar => {
                let (code, mut emitted) = write(&context, module, variant.scalar(), request, false)?;
                // The memory is told for each of the vectors that were asked for: each work-item of one needs its own.
                emitted.scratch = emitted.scratch.saturating_mul(u64::from(variant.width));
                notes.push(format!("scalar code: {refusal}"));
                (code, emitted)
            }
            Err(refusal) => return Err(refusal.into()),
        };
        // A fault of what is written here becomes a refusal. Passes would end the process at it,
        // or make code of it that does something else.
        code.verify()?;
        Ok(Written { code, emitted, notes })
    }

    /// Has the code be for its processor, with the code generator for that.
    fn adopt(&mut self, request: &CompileRequest) -> Result<Machine, Error> {
        let machine = machine(request)?;
        machine.adopt(&mut self.code)?;
        Ok(machine)
    }

    /// The passes that need no code generator.
    fn begin(&mut self, request: &CompileRequest) -> Result<(), Error> {
        match request.level {
            Effort::Light => {
                lay_out(&mut self.code, &triple(request));
                passes::run(&mut self.code, LIGHT_BEGINNING)
            }
            Effort::Full => Ok(()),
        }
    }

    fn optimize(&mut self, effort: Effort, machine: &TargetMachine) -> Result<(), Error> {
        match effort {
            Effort::Light => machine.run(&mut self.code, LIGHT),
            Effort::Full => machine.optimize(&mut self.code, 2),
        }
    }
}

/// Generates code, in haste where somebody waits for it.
fn generate<T>(effort: Effort, generate: impl FnOnce() -> T) -> T {
    match effort {
        Effort::Light => in_haste(generate),
        Effort::Full => generate(),
    }
}

/// The kernel as LLVM IR.
fn write(
    context: &Context,
    module: &ir::Module,
    variant: Variant,
    request: &CompileRequest,
    may_be_scalar: bool,
) -> Result<(Module, kernel::Emitted), Refusal> {
    // What is prepared has one kernel, and one function for it.
    let plan = Plan::new(module, 0, variant)?;
    if plan.reads_rows && may_be_scalar {
        return Err(Refusal(
            "its work-items read rows of their own, which one after the other reads in order".to_owned(),
        ));
    }
    let code = Module::parse_text(context, "").map_err(|error| Refusal(error.to_string()))?;
    let emitted = {
        let builder = Builder::new(&code);
        let contract = variant.contract && !module.kernels[0].contraction_off;
        let options = Options {
            arithmetic: variant.arithmetic,
            ..Options::of(&request.triple, &request.processor, &request.features, contract)
        };
        kernel::emit(&builder, Lanes::new(&builder, options), module, &plan, request)?
    };
    Ok((code, emitted))
}

/// The processor that code is generated for.
fn machine(request: &CompileRequest) -> Result<Machine, Error> {
    let CompileRequest {
        triple: named,
        processor,
        features,
        ..
    } = request;
    // Also for other processors: in haste, LLVM's options change for the whole process.
    warm::wait();
    if named.is_empty() && processor.is_empty() {
        return match features.as_str() {
            "" => warm::host(),
            features => TargetMachine::host(features).map(Machine::from),
        };
    }
    TargetMachine::new(&triple(request), processor, features, 2).map(Machine::from)
}

/// The target triple that code is generated for.
fn triple(request: &CompileRequest) -> String {
    match request.triple.as_str() {
        "" => TargetMachine::host_triple(),
        triple => triple.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use offkit_compile::{Arithmetic, Cut};

    use super::*;

    #[test]
    #[cfg(target_arch = "x86_64")]
    fn features_are_heeded_on_the_processor_of_this_machine_too() {
        let request = CompileRequest {
            kernel: String::new(),
            variant: Variant {
                width: 1,
                rows: true,
                full: true,
                narrow_ids: true,
                contract: true,
                check_bounds: false,
                cut: Cut::AsSeen,
                arithmetic: Arithmetic::default(),
            },
            triple: String::new(),
            processor: String::new(),
            features: "-avx512f".to_owned(),
            vector_functions: Vec::new(),
            level: Effort::Light,
            lines: false,
        };
        let mut code = Module::parse_text(&Context::new(), "define void @function() { ret void }").unwrap();
        machine(&request).unwrap().adopt(&mut code).unwrap();
        let text = String::from_utf8(code.to_text()).unwrap();
        // Behind what is known of the machine: the last word counts.
        assert!(text.contains(",-avx512f\""), "{text}");
    }
}
