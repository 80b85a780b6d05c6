//! Code for parts of a module.

use std::io::Write;
use std::path::{Path, PathBuf};

use llvm_sys::LLVMLinkage;
use llvm_sys::core::{
    LLVMAddFunction, LLVMAppendBasicBlockInContext, LLVMBuildRetVoid, LLVMConstNull,
    LLVMCreateBuilderInContext, LLVMDeleteFunction, LLVMDeleteGlobal, LLVMDisposeBuilder, LLVMFunctionType,
    LLVMPositionBuilderAtEnd, LLVMReplaceAllUsesWith, LLVMSetFunctionCallConv, LLVMSetLinkage, LLVMTypeOf,
    LLVMVoidTypeInContext,
};
use offkit_image::Family;
use offkit_llvm::{CallingConvention, CodeOptions, EmittedPart, Linkage, Part, Reply};

use crate::Error;
use crate::codegen::{TargetMachine, register, set_options};
use crate::diagnostics::AssemblyPlaces;
use crate::emit::{Emitted, Made, Origins, tell_ends};
use crate::kept::Kept;
use crate::legalise;
use crate::lines::Lines;
use crate::module::{Module, SPIR_FUNCTION};
use crate::processes;

/// Makes each part of a module and generates its code, in a process each. The inner error is [`Reply::Crashed`].
///
/// # Errors
///
/// What LLVM reports of the first part that fails.
pub(crate) fn generate(
    kept: &mut Kept,
    parts: &[Part],
    origins: &Origins,
    options: &CodeOptions,
    jobs: usize,
) -> Result<Result<Vec<Emitted>, Reply>, Error> {
    // In the copy of the process that does this work; the module stays in the original.
    let mut work = |number: usize| {
        let made = origins.make(number, &parts[number], kept);
        let code = made.and_then(|made| match options.as_it_is {
            true => code_as_it_is(made, options),
            false => code(made, number, options),
        });
        match code {
            Ok((told, code)) => (Ok(told), code),
            Err(error) => (Err(error.to_string()), Vec::new()),
        }
    };
    // Once, and not in each process.
    register(&options.triple);
    let outcomes = processes::each(parts.len(), jobs, &mut work)?;
    let mut generated = Vec::new();
    for (number, outcome) in outcomes.into_iter().enumerate() {
        match outcome {
            Ok((told, code)) => {
                let told: Result<EmittedPart, String> = told;
                generated.push((told.map_err(Error::new)?, code));
            }
            Err(ended) => {
                let folder = options.reproducers.as_deref();
                return Ok(Err(Reply::Crashed {
                    part: number,
                    status: ended.status,
                    stderr: ended.stderr,
                    reproducer: folder
                        .and_then(|folder| reproduce(kept, number, &parts[number], origins, folder)),
                }));
            }
        }
    }
    Ok(Ok(generated))
}

/// Generates the code of a part, in this process.
fn code(made: Made, number: usize, options: &CodeOptions) -> Result<Emitted, Error> {
    let Made { mut module, mut told } = made;
    let keep = options
        .keep
        .as_ref()
        .map(|folder| folder.join(number.to_string()));
    for global in module.globals().filter(|global| !global.is_declaration()) {
        // What can be seen is wanted, whether or not it is used here.
        if matches!(global.linkage(), Linkage::Weak | Linkage::LinkOnce) {
            global.set_linkage(Linkage::External);
        }
    }
    set_options(&options.spirv_extensions, &options.backend_options)?;
    if let Some(keep) = &keep {
        module.write(&keep.with_extension("bc"))?;
    }
    module.verify()?;
    if options.is_closed {
        forget_weak_declarations(&module);
    }
    let assembly = AssemblyPlaces::number(&module);
    let family = Family::of(&options.triple);
    if family.is_spirv() {
        legalise::before_optimisation(&mut module)?;
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
    if family.is_spirv() {
        legalise::after_optimisation(&mut module)?;
    }
    if let Some(keep) = &keep {
        module.write(&keep.with_extension("opt.bc"))?;
    }
    if family.is_spirv() {
        keep_variables(&module);
    }
    tell_ends(&module, &mut told);
    // LLVM's other back ends write debug information themselves.
    let lines = family.is_spirv().then(|| Lines::mark(&module)).flatten();
    let (told, mut code) = emit(&machine, &module, &assembly, told)?;
    if let Some(lines) = lines {
        code = lines.put(&code)?;
    }
    match family.is_spirv() {
        true => Ok((told, legalise::composites::repair(code))),
        false => Ok((told, code)),
    }
}

/// Generates code of a module that is ready for it. LLVM tells of errors, and calls what it wrote nonetheless success.
fn emit(
    machine: &TargetMachine,
    module: &Module,
    assembly: &AssemblyPlaces,
    mut told: EmittedPart,
) -> Result<Emitted, Error> {
    let code = machine.emit(module);
    told.diagnostics = assembly.diagnostics(module, machine.is_portable())?;
    Ok((told, code?.bytes().to_vec()))
}

/// Generates the code of a part that is not changed, in this process.
fn code_as_it_is(made: Made, options: &CodeOptions) -> Result<Emitted, Error> {
    let Made { mut module, mut told } = made;
    if !options.backend_options.is_empty() || !options.spirv_extensions.is_empty() {
        set_options(&options.spirv_extensions, &options.backend_options)?;
    }
    module.set_triple(&options.triple);
    let machine = TargetMachine::new(&options.triple, "", "", options.optimization)?;
    tell_ends(&module, &mut told);
    emit(&machine, &module, &AssemblyPlaces::default(), told)
}

/// Has variables of a module without functions generated: LLVM's SPIR-V back end looks at variables when it comes to
/// a function, so here is one, which nobody else sees.
fn keep_variables(module: &Module) {
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

/// Replaces what is declared weak, and defined nowhere, by null: so a program can ask whether it is there.
fn forget_weak_declarations(module: &Module) {
    let globals: Vec<_> = module.globals().collect();
    for global in globals {
        if global.raw_linkage() != LLVMLinkage::LLVMExternalWeakLinkage {
            continue;
        }
        let (raw, is_function) = (global.as_raw(), global.is_function());
        // SAFETY: a declaration that is alive with its module, not used any more when it is deleted, and not again after.
        unsafe {
            LLVMReplaceAllUsesWith(raw, LLVMConstNull(LLVMTypeOf(raw)));
            match is_function {
                true => LLVMDeleteFunction(raw),
                false => LLVMDeleteGlobal(raw),
            }
        }
    }
}

/// Lets a runtime see the definitions that are still external; compilers hide the functions of devices where they
/// take it that all code comes to one link. What other images are to supply must not be hidden either.
fn show(module: &Module, imports: bool) {
    for global in module.globals().filter(|global| !global.is_llvms()) {
        match global.is_declaration() {
            true if imports => global.set_visible(false),
            false if global.linkage() == Linkage::External => global.set_visible(true),
            _ => {}
        }
    }
}

/// Writes a part as bitcode, for people to look into; made in a process of its own, for that may crash too.
fn reproduce(
    kept: &mut Kept,
    number: usize,
    part: &Part,
    origins: &Origins,
    folder: &Path,
) -> Option<PathBuf> {
    let mut work = |_| match origins.make(number, part, kept) {
        Ok(made) => (true, made.module.to_bitcode().bytes().to_vec()),
        Err(_) => (false, Vec::new()),
    };
    let outcomes = processes::each(1, 1, &mut work).ok()?;
    let [Ok((true, bitcode))] = outcomes.as_slice() else {
        return None;
    };
    let root: String = part.roots.first()?.chars().take(64).collect();
    let root = root.replace(|c: char| !c.is_ascii_alphanumeric(), "_");
    // Made here and now: in a folder that all can write to, a name that can be guessed may be another's link.
    let mut file = tempfile::Builder::new()
        .prefix(&format!("offkit-crash-{root}-"))
        .suffix(".bc")
        .tempfile_in(folder)
        .ok()?;
    file.write_all(bitcode).ok()?;
    file.keep().ok().map(|(_, path)| path)
}
