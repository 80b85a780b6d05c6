//! Code for parts of a module.

use std::path::{Path, PathBuf};

use llvm_sys::LLVMLinkage;
use llvm_sys::core::{
    LLVMAddFunction, LLVMAppendBasicBlockInContext, LLVMBuildRetVoid, LLVMCreateBuilderInContext,
    LLVMDisposeBuilder, LLVMFunctionType, LLVMPositionBuilderAtEnd, LLVMSetFunctionCallConv, LLVMSetLinkage,
    LLVMVoidTypeInContext,
};
use offkit_image::Family;
use offkit_llvm::{CallingConvention, EmitOptions, GeneratedPart, Linkage, Part, Reply};

use crate::Error;
use crate::codegen::{TargetMachine, register, set_options};
use crate::context::Context;
use crate::conversions;
use crate::link::Kept;
use crate::module::{Module, SPIR_FUNCTION};
use crate::processes;
use crate::split::take_part;

/// Generates the code of each part of a module, in a process each.
///
/// `reproducers`, if they are wanted, is the folder for the bitcode of a part whose process ended, and `keep`
/// that for the bitcode of every part.
///
/// # Errors
///
/// What LLVM reports of the first part that fails. That a process ended is not one: [`Reply::Crashed`] tells.
pub fn generate(
    kept: &mut Option<Kept>,
    parts: &[Part],
    options: &EmitOptions,
    reproducers: Option<&Path>,
    keep: Option<&Path>,
) -> Result<Reply, Error> {
    if options.as_it_is
        && let Some(linked) = kept
    {
        // Taking a part reads what the part needs; a code generator takes a body that was not read for none.
        linked.whole_module()?;
    }
    let mut work = |number: usize| {
        let part = (parts.get(number)).ok_or_else(|| "nothing to generate code for".to_owned())?;
        let kept_at = keep.map(|folder| folder.join(number.to_string()));
        let kept_at = kept_at.as_deref();
        // In the copy of the process that does this work; the module stays in the original.
        let kept = kept.take();
        let generated = match (options.as_it_is, kept) {
            (true, None) => Err(Error::new("nothing was linked")),
            (true, Some(kept)) => kept.with(|module| emit_as_it_is(module, part, options)),
            (false, kept) => with_part(kept, part, |module| emit(module, part, options, kept_at)),
        };
        generated.map_err(|error| error.to_string())
    };
    // Once, and not in each process.
    register(&options.triple);
    let outcomes = processes::each(parts.len(), &mut work)?;
    let mut generated = Vec::new();
    for (number, outcome) in outcomes.into_iter().enumerate() {
        match outcome {
            Ok(part) => generated.push(part.map_err(Error::new)?),
            Err(ended) => {
                let reproducer = reproducers.and_then(|folder| reproduce(kept, parts.get(number)?, folder));
                return Ok(Reply::Crashed {
                    part: number,
                    status: ended.status,
                    stderr: ended.stderr,
                    reproducer,
                });
            }
        }
    }
    Ok(Reply::Generated { parts: generated })
}

/// Does something with a part: one that is taken out of the module, or its own file.
fn with_part<T>(
    kept: Option<Kept>,
    part: &Part,
    act: impl for<'context> FnOnce(Module<'context>) -> Result<T, Error>,
) -> Result<T, Error> {
    let Some(input) = &part.input else {
        let kept = kept.ok_or_else(|| Error::new("nothing was linked"))?;
        return kept.with(|module| take_part(module, &part.roots, &part.left_out).and_then(act));
    };
    // Of its own, for types keep their names then.
    let context = Context::new();
    let module = Module::read(&context, input)?;
    for global in module.globals().filter(|global| !global.is_declaration()) {
        // What can be seen is wanted, whether or not it is used here.
        if matches!(global.linkage(), Linkage::Weak | Linkage::LinkOnce) {
            global.set_linkage(Linkage::External);
        }
    }
    act(module)
}

/// Generates the code of a part, in this process.
fn emit(
    mut module: Module<'_>,
    part: &Part,
    options: &EmitOptions,
    keep: Option<&Path>,
) -> Result<GeneratedPart, Error> {
    set_options(&options.spirv_extensions, &options.backend_options)?;
    if let Some(keep) = keep {
        module.write(&keep.with_extension("bc"))?;
    }
    module.verify()?;
    let family = Family::of(&options.triple);
    if family.is_spirv() {
        conversions::define(module.context(), &mut module)?;
    } else if family.is_device() || options.allow_imports {
        show(&module, options.allow_imports);
    }
    if !family.is_device() {
        // Back ends of hosts other than x86 do not have that of kernels.
        let functions = module.globals().filter(|global| global.is_function());
        functions
            .filter(|function| function.calling_convention() == CallingConvention::Kernel)
            .for_each(|kernel| kernel.set_c_convention());
    }
    module.set_triple(&options.triple);
    let machine = TargetMachine::new(
        &options.triple,
        &options.cpu,
        &options.features,
        options.optimization,
    )?;
    machine.optimize(&mut module, options.optimization)?;
    if let Some(keep) = keep {
        module.write(&keep.with_extension("opt.bc"))?;
    }
    if family.is_spirv() {
        keep_variables(&module);
    }
    let generated = symbols(&module);
    machine.emit(&module, &part.output)?;
    Ok(generated)
}

/// Generates the code of a whole module, in this process.
fn emit_as_it_is(mut module: Module<'_>, part: &Part, options: &EmitOptions) -> Result<GeneratedPart, Error> {
    if !options.backend_options.is_empty() || !options.spirv_extensions.is_empty() {
        set_options(&options.spirv_extensions, &options.backend_options)?;
    }
    module.set_triple(&options.triple);
    let machine = TargetMachine::new(&options.triple, "", "", options.optimization)?;
    machine.emit(&module, &part.output)?;
    Ok(symbols(&module))
}

/// Has variables of a module without functions generated: LLVM's SPIR-V back end looks at variables when it comes to
/// a function, so here is one, which nobody else sees.
fn keep_variables(module: &Module<'_>) {
    let mut globals = module.globals();
    if globals.any(|global| global.is_function() && !global.is_declaration()) {
        return;
    }
    let context = module.context_raw();
    // SAFETY: module and context are alive; the builder is ours and freed.
    unsafe {
        let nothing = LLVMVoidTypeInContext(context);
        let of_type = LLVMFunctionType(nothing, std::ptr::null_mut(), 0, 0);
        let function = LLVMAddFunction(module.as_raw(), c"__offkit_variables".as_ptr(), of_type);
        LLVMSetLinkage(function, LLVMLinkage::LLVMInternalLinkage);
        LLVMSetFunctionCallConv(function, SPIR_FUNCTION);
        let block = LLVMAppendBasicBlockInContext(context, function, c"".as_ptr());
        let builder = LLVMCreateBuilderInContext(context);
        LLVMPositionBuilderAtEnd(builder, block);
        LLVMBuildRetVoid(builder);
        LLVMDisposeBuilder(builder);
    }
}

/// What a module needs and offers.
fn symbols(module: &Module<'_>) -> GeneratedPart {
    let mut generated = GeneratedPart::default();
    for global in module.globals().filter(|global| !global.is_llvms()) {
        if global.is_declaration() {
            generated.imports.push(global.name());
        } else if global.linkage() != Linkage::Internal {
            generated.exports.push(global.name());
        }
    }
    generated
}

/// Lets a runtime see the definitions that are still external; compilers hide the functions of devices where they
/// take it that all code comes to one link. What other images are to supply must not be hidden either.
fn show(module: &Module<'_>, imports: bool) {
    for global in module.globals().filter(|global| !global.is_llvms()) {
        match global.is_declaration() {
            true if imports => global.set_visible(false),
            false if global.linkage() == Linkage::External => global.set_visible(true),
            _ => {}
        }
    }
}

/// Writes a part as bitcode, for people to look into; in a process of its own, for it may crash too.
fn reproduce(kept: &mut Option<Kept>, part: &Part, folder: &Path) -> Option<PathBuf> {
    let root: String = part.roots.first()?.chars().take(64).collect();
    let root = root.replace(|c: char| !c.is_ascii_alphanumeric(), "_");
    // Made here and now: in a folder that all can write to, a name that can be guessed may be another's link.
    let file = tempfile::Builder::new()
        .prefix(&format!("offkit-crash-{root}-"))
        .suffix(".bc")
        .tempfile_in(folder)
        .ok()?;
    let mut work = |_| with_part(kept.take(), part, |module| module.write(file.path())).is_ok();
    let written =
        processes::each(1, &mut work).is_ok_and(|outcomes| matches!(outcomes.as_slice(), [Ok(true)]));
    // Otherwise there is nothing in it, or something that is not whole, and it goes.
    if !written {
        return None;
    }
    file.keep().ok().map(|(_, path)| path)
}
