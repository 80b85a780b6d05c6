//! Code for parts of a module.

use std::collections::{HashMap, HashSet};
use std::io::Write;
use std::path::{Path, PathBuf};

use llvm_sys::LLVMLinkage;
use llvm_sys::core::*;
use offkit_image::Family;
use offkit_llvm::{
    CallingConvention, CodeOptions, EmittedPart, Linkage, Part, Place, Reply, SpirvLimits, SpirvNeed,
};

use crate::Error;
use crate::attempts::{Attempt, NEWEST, Next};
use crate::beyond_c::set_strength_reduction;
use crate::codegen::{TargetMachine, set_options};
use crate::diagnostics::AssemblyPlaces;
use crate::emit::{Emitted, Made, Origins, tell_ends};
use crate::extensions::KNOWN_EXTENSIONS;
use crate::kept::Kept;
use crate::legalise;
use crate::lines::Lines;
use crate::lists::DEVICE_GLOBAL;
use crate::module::{Module, SPIR_FUNCTION};
use crate::processes;
use crate::processor::newest_ptx;
use crate::targets::register;
use crate::unmet::{Called, called, keep_calls_of};

/// Makes each part of a module and generates its code, in a process each. The inner error is [`Reply::Crashed`] or
/// [`Reply::Unmet`].
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
    // Once, and not in each process.
    register(&options.triple);
    let mut work = Work {
        kept,
        origins,
        options,
        jobs,
    };
    let limits = options.spirv_limits.clone().unwrap_or_default();
    let mut generated = Vec::new();
    for (number, ended) in work.attempt(parts, &limits)?.into_iter().enumerate() {
        match ended {
            Ended::Done(emitted, _) => generated.push(*emitted),
            Ended::Limit(attempt) => {
                if let Some(need) = work.explain(&parts[number], number, &attempt, &limits)? {
                    return Ok(Err(Reply::Unmet(need)));
                }
                let stderr = String::from("LLVM ERROR: Unable to meet SPIR-V requirements for this target.");
                return Ok(Err(work.crashed(
                    &parts[number],
                    number,
                    "failed".to_owned(),
                    stderr,
                )));
            }
            Ended::Crash(ended) => {
                return Ok(Err(work.crashed(
                    &parts[number],
                    number,
                    ended.status,
                    ended.stderr,
                )));
            }
        }
    }
    Ok(Ok(generated))
}

/// Parts whose code is generated, in processes each.
struct Work<'a> {
    kept: &'a mut Kept,
    origins: &'a Origins,
    options: &'a CodeOptions,
    jobs: usize,
}

/// How it ended to generate the code of a part.
enum Ended {
    /// With code, and what it was generated with.
    Done(Box<Emitted>, Option<Attempt>),
    /// More of SPIR-V would be needed than this.
    Limit(Attempt),
    /// Its process ended.
    Crash(processes::Ended),
}

impl Work<'_> {
    /// Generates the code of each part, with as little of SPIR-V as it needs.
    fn attempt(&mut self, parts: &[Part], limits: &SpirvLimits) -> Result<Vec<Ended>, Error> {
        // In rounds: all open parts are generated in processes, several at a time, and those that failed go on to the
        // next with what their last words ask for. That ends: versions and extensions are few, and all are tried once.
        let first = Attempt::first(self.options);
        let mut ended: Vec<Option<Ended>> = parts.iter().map(|_| None).collect();
        let mut open: Vec<(usize, Option<Attempt>)> =
            (0..parts.len()).map(|number| (number, first.clone())).collect();
        while !open.is_empty() {
            let outcomes = self.once(parts, &open)?;
            let mut next = Vec::new();
            for ((number, attempt), outcome) in open.into_iter().zip(outcomes) {
                let (Some(attempt), Some(first)) = (attempt, &first) else {
                    ended[number] = Some(match outcome {
                        Ok((told, code)) => Ended::Done(Box::new((told.map_err(Error::new)?, code)), None),
                        Err(crash) => Ended::Crash(crash),
                    });
                    continue;
                };
                match outcome {
                    Ok((told, code)) => {
                        let told: EmittedPart = told.map_err(Error::new)?;
                        if attempt.has_all {
                            // Perhaps what it uses is enough.
                            next.push((number, Some(attempt.with_used(&code, first))));
                        }
                        ended[number] = Some(Ended::Done(Box::new((told, code)), Some(attempt)));
                    }
                    // What was generated before stays.
                    // The extensions that its code names were tried alone, and are too few.
                    Err(_) if ended[number].is_some() => {}
                    Err(crash) => match attempt.after(&crash.stderr, limits, first) {
                        Next::Again(attempt) => next.push((number, Some(attempt))),
                        Next::Limit => ended[number] = Some(Ended::Limit(attempt)),
                        Next::Crash => ended[number] = Some(Ended::Crash(crash)),
                    },
                }
            }
            open = next;
        }
        Ok(ended.into_iter().flatten().collect())
    }

    /// Generates the code of some parts, each with the version and the extensions of an attempt.
    fn once(
        &mut self,
        parts: &[Part],
        open: &[(usize, Option<Attempt>)],
    ) -> Result<Vec<processes::Outcome<Result<EmittedPart, String>>>, Error> {
        // In the copy of the process that does this work; the module stays in the original.
        let mut work = |place: usize| {
            let (number, attempt) = &open[place];
            let options = match attempt {
                Some(attempt) => &attempt.options(self.options),
                None => self.options,
            };
            let made = self.origins.make(*number, &parts[*number], self.kept);
            let code = made.and_then(|made| match options.as_it_is {
                true => code_as_it_is(made, options),
                false => code(made, *number, options),
            });
            match code {
                Ok((told, code)) => (Ok(told), code),
                Err(error) => (Err(error.to_string()), Vec::new()),
            }
        };
        processes::each(open.len(), self.jobs, &mut work)
    }

    /// What a part needs more than the limits allow, who needs it, and for what; `None` if not even all that there is
    /// is enough.
    fn explain(
        &mut self,
        part: &Part,
        number: usize,
        attempt: &Attempt,
        limits: &SpirvLimits,
    ) -> Result<Option<SpirvNeed>, Error> {
        // Generated with all that there is, the code tells what it uses. Then each root is tried alone, to tell which
        // of them need it, and last each call alone. This takes time, but only where code has failed.
        let origins = self.origins.alone(number);
        let mut work = Work {
            kept: &mut *self.kept,
            origins: &origins,
            options: self.options,
            jobs: self.jobs,
        };
        let everything = SpirvLimits {
            version: NEWEST,
            extensions: Some(KNOWN_EXTENSIONS.map(str::to_owned).to_vec()),
        };
        let enough = work.attempt(std::slice::from_ref(part), &everything)?.pop();
        let Some(Ended::Done(_, Some(enough))) = enough else {
            return Ok(None);
        };
        // What the last attempt had is allowed, and no reason why it failed.
        let has = |name: &String| attempt.extensions.contains(name);
        let mut need = SpirvNeed {
            roots: part.roots.clone(),
            version: Some(enough.version).filter(|version| *version > limits.version),
            extensions: (enough.extensions.into_iter())
                .filter(|name| !has(name))
                .collect(),
            called: String::new(),
            place: Place::default(),
        };
        // Each root alone.
        let alone: Vec<Part> = (part.roots.iter())
            .map(|root| Part {
                roots: vec![root.clone()],
                visible: Some(vec![root.clone()]),
                ..part.clone()
            })
            .collect();
        let mut roots = Vec::new();
        for (root, alone) in part.roots.iter().zip(&alone) {
            let ended = work.attempt(std::slice::from_ref(alone), limits)?.pop();
            if matches!(ended, Some(Ended::Limit(_))) {
                roots.push(root.clone());
            }
        }
        if !roots.is_empty() {
            need.roots = roots;
        }
        if let Some((called, place)) = work.culprit(part, attempt)? {
            need.called = offkit_image::demangle(&called)
                .split('(')
                .next()
                .unwrap_or_default()
                .to_owned();
            need.place = place;
        }
        Ok(Some(need))
    }

    /// The function that cannot be called with what an attempt allows.
    fn culprit(&mut self, part: &Part, attempt: &Attempt) -> Result<Option<Called>, Error> {
        let options = attempt.options(self.options);
        // In a process as well: to get a part ready sets LLVM's options, which last as long as it.
        let mut list = |_| match self
            .origins
            .make(0, part, self.kept)
            .and_then(|made| prepare(made, 0, &options))
        {
            Ok(prepared) => (called(&prepared.module), Vec::new()),
            Err(_) => (Vec::new(), Vec::new()),
        };
        let Some(Ok((candidates, _))) = processes::each(1, 1, &mut list)?.pop() else {
            return Ok(None);
        };
        let mut probe = |number: usize| {
            let candidate = candidates.get(number).map_or("", |(name, _): &Called| name);
            let made = self.origins.make(0, part, self.kept);
            if let Ok(prepared) = made.and_then(|made| prepare(made, 0, &options)) {
                keep_calls_of(&prepared.module, candidate);
                let _ = prepared.machine.emit(&prepared.module);
            }
            ((), Vec::new())
        };
        // The last one without any call: where that fails, too, it is about no call.
        let outcomes = processes::each(candidates.len() + 1, self.jobs, &mut probe)?;
        let ended = outcomes.iter().position(Result::is_err);
        Ok(match outcomes.last() {
            Some(Ok(_)) => ended.and_then(|number| candidates.get(number).cloned()),
            _ => None,
        })
    }

    fn crashed(&mut self, part: &Part, number: usize, status: String, stderr: String) -> Reply {
        let folder = self.options.reproducers.as_deref();
        Reply::Crashed {
            part: number,
            status,
            stderr,
            reproducer: folder.and_then(|folder| reproduce(self.kept, number, part, self.origins, folder)),
        }
    }
}

/// A part that is ready for the code generator.
struct Prepared {
    module: Module,
    told: EmittedPart,
    machine: TargetMachine,
    assembly: AssemblyPlaces,
}

/// Optimises a part and changes it for its target.
fn prepare(made: Made, number: usize, options: &CodeOptions) -> Result<Prepared, Error> {
    // Before the optimiser comes what it has to know (what stays visible, what others may write) and what it would
    // move (inline assembly); behind it what the back end gets wrong of its work; last the list of what is left.
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
        if options.inline_once
            && global.linkage() == Linkage::External
            && global.is_function()
            && global.calling_convention() != CallingConvention::Kernel
            // What clang says of functions that are declared `inline`.
            && global.has_attribute("inlinehint")
        {
            global.set_linkage(Linkage::LinkOnce);
        }
    }
    let device_globals = keep_from_folding(&module);
    set_options(&options.spirv_extensions, &options.backend_options)?;
    if let Some(keep) = &keep {
        // Before it is checked, so that one that isn't well formed can be looked at.
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
    let mut features = options.features.clone();
    // With the processor's oldest version, LLVM would end the process at an instruction that came
    // later and that a function was compiled for.
    if family.is_nvptx()
        && let Some(version) = newest_ptx(&module)
    {
        let before = if features.is_empty() { "" } else { "," };
        features = format!("+ptx{version}{before}{features}");
    }
    let machine = TargetMachine::new(&options.triple, &options.cpu, &features, options.optimization)?;
    machine.optimize(&mut module, options.optimization)?;
    // The host is told only of what is left.
    (told.variables).retain(|name| !device_globals.contains(name) || module.global(name).is_some());
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
    Ok(Prepared {
        module,
        told,
        machine,
        assembly,
    })
}

/// Generates the code of a part, in this process.
fn code(made: Made, number: usize, options: &CodeOptions) -> Result<Emitted, Error> {
    let Prepared {
        module,
        told,
        machine,
        assembly,
    } = prepare(made, number, options)?;
    let is_spirv = Family::of(&options.triple).is_spirv();
    let sizes = match is_spirv {
        true => legalise::local_sizes(&module),
        false => HashMap::new(),
    };
    // What it makes of loops is wrong in SPIR-V: a counter of 8 bits becomes one of 64 that is used as if it had 8. And it
    // would be done again, and better, where the processor is known.
    set_strength_reduction(!is_spirv);
    // LLVM's other back ends write debug information themselves.
    let lines = is_spirv.then(|| Lines::mark(&module)).flatten();
    let (told, mut code) = emit(&machine, &module, &assembly, told)?;
    if let Some(lines) = lines {
        code = lines.put(&code)?;
    }
    match is_spirv {
        true => Ok((told, legalise::after_back_end(code, &sizes))),
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
    // Before it is asked whether there is code: what was reported says more of why there is none.
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

/// Keeps the optimiser from taking the initial value of a device global for its value, for the host may write it. Returns
/// the names.
fn keep_from_folding(module: &Module) -> HashSet<String> {
    let device_globals =
        (module.globals()).filter(|global| global.variable_attributes().contains_key(DEVICE_GLOBAL));
    let kept = device_globals.map(|global| {
        // SAFETY: functions have no attributes of variables; the variable is alive with its module.
        unsafe { LLVMSetExternallyInitialized(global.as_raw(), 1) };
        global.name()
    });
    kept.collect()
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
    // All of them first: one that is deleted can't be asked for the next.
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
    // Mangled names of templates are longer than file systems let a name be.
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
