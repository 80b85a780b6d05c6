//! Compiling, linking and building programs.

use crate::binary::{Modules, Traces};
use crate::c::{Callback, In, Out};
use crate::context::{Context, chosen};
use crate::device::Device;
use crate::entry::Unmade;
use crate::failure::{Failure, Result, fail, require};
use crate::handle::{Handle, Handled, Object};
use crate::pi::{own, pi};
use crate::program::{Origin, Program, State, handles};
use crate::source::{self, Header, SourceError};
use crate::source_info::Compilation;
use cl::*;
use core::ffi::{c_char, c_void};
use offkit_pi::ffi::{pi_device, pi_program};
use offkit_pi::host::Owned;
use offkit_plugin_cpu::kernel_options;
use offkit_spirv::{Kernel, Module, reflect, specialize};
use offkit_sync::Arc;
use std::collections::HashMap;
use std::ffi::CString;

/// What goes wrong with code: an error, and the log's words.
struct BuildError {
    failure: Failure,
    log: String,
}

type BuildResult<T> = Result<T, BuildError>;

/// The SPIR-V of a program, and what its compiler had to say.
fn modules(
    program: &Program,
    options: &str,
    headers: &[Header],
    constants: &HashMap<u32, u64>,
    failure: cl_int,
) -> BuildResult<(Modules, String)> {
    let error = |failure, log| BuildError {
        failure: Failure(failure),
        log,
    };
    match &program.origin {
        Origin::Source(text) => match source::compile(text, options, headers) {
            Ok(compiled) => Ok((vec![compiled.spirv.into()], compiled.log)),
            Err(SourceError::NoCompiler(log)) => Err(error(CL_COMPILER_NOT_AVAILABLE, log)),
            Err(SourceError::Options(word)) => {
                let code = match failure {
                    CL_COMPILE_PROGRAM_FAILURE => CL_INVALID_COMPILER_OPTIONS,
                    _ => CL_INVALID_BUILD_OPTIONS,
                };
                Err(error(
                    code,
                    format!("`{word}` is no option of OpenCL's compilers"),
                ))
            }
            Err(SourceError::Source(log)) => Err(error(failure, log)),
        },
        Origin::Il(il) if constants.is_empty() => Ok((vec![Arc::clone(il)], String::new())),
        Origin::Il(il) => {
            let mut module = Module::from_bytes(il)
                .map_err(|problem| error(failure, format!("not valid SPIR-V: {problem}")))?;
            specialize(&mut module, constants);
            Ok((vec![module.to_bytes().into()], String::new()))
        }
        Origin::Binary(binary) => Ok((binary.modules.clone(), String::new())),
        Origin::Linked => {
            let log = "a program of other programs has nothing to compile".to_owned();
            Err(error(CL_INVALID_OPERATION, log))
        }
    }
}

/// The plugin's program for one module.
fn of_module(context: &Context, module: &[u8]) -> Result<Owned<pi_program>> {
    own(
        context.plugin(),
        |program| {
            let (start, length) = (module.as_ptr().cast(), module.len());
            pi!(
                context.plugin(),
                piProgramCreate(context.pi.raw(), start, length, program)
            )
        },
        core::ptr::null_mut(),
    )
}

/// The log of the plugin's program.
fn log_of(context: &Context, program: &Owned<pi_program>) -> String {
    const LOG: u32 = CL_PROGRAM_BUILD_LOG;
    // A context is not made without a device, and the plugin's program has one log for all of them.
    let device: pi_device = context.devices[0].object().pi.raw();
    let (plugin, raw) = (context.plugin(), program.raw());
    let mut size = 0;
    let none = core::ptr::null_mut();
    if pi!(
        plugin,
        piProgramGetBuildInfo(raw, device, LOG, 0, none, &raw mut size)
    )
    .is_err()
    {
        return String::new();
    }
    let mut text = vec![0_u8; size];
    let place = text.as_mut_ptr().cast();
    let asked = pi!(
        plugin,
        piProgramGetBuildInfo(raw, device, LOG, size, place, core::ptr::null_mut())
    );
    match asked {
        Ok(()) => String::from_utf8_lossy(&text).trim_end_matches('\0').to_owned(),
        Err(_) => String::new(),
    }
}

/// Compiles modules, and links them if they are to be run, or more than one.
fn make(
    context: &Context,
    modules: &Modules,
    options: &str,
    failure: cl_int,
) -> BuildResult<Owned<pi_program>> {
    // Options have no NUL within: they came as C text, or are this crate's own words.
    let options = CString::new(options).unwrap_or_default();
    let (plugin, none) = (context.plugin(), core::ptr::null_mut());
    let plain = |failure| BuildError {
        failure,
        log: String::new(),
    };
    let failed = |program: &Owned<pi_program>| BuildError {
        failure: Failure(failure),
        log: log_of(context, program),
    };
    if let [module] = &modules[..] {
        let program = of_module(context, module).map_err(plain)?;
        let (raw, devices) = (program.raw(), core::ptr::null());
        let built = pi!(
            plugin,
            piProgramBuild(raw, 0, devices, options.as_ptr(), None, none)
        );
        return match built {
            Ok(()) => Ok(program),
            Err(_) => Err(failed(&program)),
        };
    }
    let mut objects = Vec::new();
    for module in modules {
        objects.push(compile_module(context, module, failure)?);
    }
    let handles: Vec<pi_program> = objects.iter().map(Owned::raw).collect();
    let mut program = core::ptr::null_mut();
    let linked = pi!(
        plugin,
        piProgramLink(
            context.pi.raw(),
            0,
            core::ptr::null(),
            options.as_ptr(),
            handles.len() as u32,
            handles.as_ptr(),
            None,
            none,
            &raw mut program
        )
    );
    match linked {
        // A link that fails may leave a program with the log.
        Err(code) if program.is_null() => Err(plain(code)),
        linked => {
            // SAFETY: the plugin has made it for this call.
            let program = unsafe { Owned::new(plugin.clone(), program) };
            match linked {
                Ok(()) => Ok(program),
                Err(_) => Err(failed(&program)),
            }
        }
    }
}

/// Compiles one module.
fn compile_module(context: &Context, module: &[u8], failure: cl_int) -> BuildResult<Owned<pi_program>> {
    let plugin = context.plugin();
    let program = of_module(context, module).map_err(|failure| BuildError {
        failure,
        log: String::new(),
    })?;
    let compiled = pi!(
        plugin,
        piProgramCompile(
            program.raw(),
            0,
            core::ptr::null(),
            c"".as_ptr(),
            0,
            core::ptr::null(),
            core::ptr::null_mut(),
            None,
            core::ptr::null_mut()
        )
    );
    match compiled {
        Ok(()) => Ok(program),
        Err(_) => Err(BuildError {
            failure: Failure(failure),
            log: log_of(context, &program),
        }),
    }
}

/// What is known of the kernels in modules, and how many bytes of global memory the modules' variables take.
fn facts(modules: &Modules) -> (Arc<[Kernel]>, usize) {
    let of = |module: &Arc<[u8]>| Some(reflect(&Module::from_bytes(module).ok()?));
    let (mut kernels, mut size) = (Vec::new(), 0u64);
    for facts in modules.iter().filter_map(of) {
        kernels.extend(facts.kernels);
        size = size.saturating_add(facts.variables_size);
    }
    (kernels.into(), size as usize)
}

/// What options leave in a program that is compiled or built with them.
fn traces(program: &Program, options: &str) -> Traces {
    let (for_device, words) = (source::for_device(options), source::words(options));
    match &program.origin {
        Origin::Source(_) => Traces {
            for_device,
            is_uniform: source::is_uniform(options),
        },
        // What it was compiled with before stays with it.
        Origin::Binary(binary) => Traces {
            for_device: kernel_options(&for_device, &[&binary.traces.for_device]),
            is_uniform: binary.traces.is_uniform || source::has_uniform_option(&words),
        },
        _ => Traces {
            for_device,
            is_uniform: source::has_uniform_option(&words),
        },
    }
}

/// The source of a program that is compiled or built, if it has one.
fn sources(program: &Program, options: &str, headers: Vec<Header>) -> Vec<Arc<Compilation>> {
    match &program.origin {
        Origin::Source(text) => vec![Arc::new(Compilation {
            text: Arc::clone(text),
            options: options.to_owned(),
            headers,
        })],
        _ => Vec::new(),
    }
}

/// Notes how a compilation, a link or a build ended.
fn settle(
    state: &mut State,
    devices: &[Object<Device>],
    options: &str,
    traces: Traces,
    sources: Vec<Arc<Compilation>>,
    outcome: BuildResult<(Modules, String)>,
    binary_type: cl_program_binary_type,
) -> Result<()> {
    let targets = handles(devices);
    // A program that is built for one device after the other is the same code for all of them if nothing else is asked for.
    let goes_on = outcome.is_ok()
        && (state.status, state.binary_type) == (CL_BUILD_SUCCESS, binary_type)
        && state.options == options;
    let before = state
        .targets
        .iter()
        .filter(|known| goes_on && !targets.contains(*known));
    state.targets = targets.iter().chain(before).copied().collect();
    // Also of what fails: CL_PROGRAM_BUILD_OPTIONS answers with the options of the last attempt.
    state.options = options.to_owned();
    state.traces = traces;
    state.sources = sources;
    Program::forget_source_info(state);
    match outcome {
        Ok((modules, log)) => {
            state.status = CL_BUILD_SUCCESS;
            state.log = log;
            state.binary_type = binary_type;
            (state.facts, state.variables_size) = facts(&modules);
            state.modules = modules;
            Ok(())
        }
        Err(BuildError { failure, log }) => {
            state.status = CL_BUILD_ERROR;
            state.log = log;
            state.binary_type = CL_PROGRAM_BINARY_TYPE_NONE;
            // Nothing stays of what was there before.
            (state.facts, state.variables_size) = Default::default();
            state.modules = Modules::new();
            Err(failure)
        }
    }
}

/// The text of options.
fn text(options: In<c_char>) -> String {
    let text = options.text().map(|text| text.to_string_lossy().into_owned());
    text.unwrap_or_default()
}

/// Calls a function of the caller's when the work is done, which it is when the caller's call returns.
fn notify(program: Out<_cl_program>, function: ProgramNotify, data: Out<c_void>) {
    if let Some(callback) = Callback::new(function, data) {
        callback.call(program.raw());
    }
}

pub(crate) fn clBuildProgram(
    program: Out<_cl_program>,
    num_devices: cl_uint,
    device_list: In<cl_device_id>,
    options: In<c_char>,
    pfn_notify: ProgramNotify,
    user_data: Out<c_void>,
) -> Result<()> {
    let record = Program::of(program)?;
    let built = record.object();
    let context = built.context.object();
    let devices = chosen(&built.devices, num_devices, device_list)?;
    require(pfn_notify.is_some() || user_data.is_null(), CL_INVALID_VALUE)?;
    built.check_free()?;
    match &built.origin {
        Origin::Linked => return fail(CL_INVALID_OPERATION),
        // What is compiled, and a library, is to be linked.
        Origin::Binary(binary) => {
            let whole = [CL_PROGRAM_BINARY_TYPE_NONE, CL_PROGRAM_BINARY_TYPE_EXECUTABLE];
            require(whole.contains(&binary.binary_type), CL_INVALID_BINARY)?;
        }
        Origin::Source(_) | Origin::Il(_) => {}
    }
    let options = text(options);
    let traces = traces(built, &options);
    let mut state = built.building();
    // Whatever comes of it, no kernel is to be made of the code that was there before.
    state.executable = None;
    let made = modules(built, &options, &[], &state.constants, CL_BUILD_PROGRAM_FAILURE);
    let made = made.and_then(|(modules, log)| {
        let executable = make(context, &modules, &traces.for_device, CL_BUILD_PROGRAM_FAILURE)?;
        Ok((modules, log, executable))
    });
    let outcome = made.map(|(modules, log, executable)| {
        state.executable = Some(Arc::new(executable));
        (modules, log)
    });
    let executable = CL_PROGRAM_BINARY_TYPE_EXECUTABLE;
    let sources = sources(built, &options, Vec::new());
    let result = settle(
        &mut state, &devices, &options, traces, sources, outcome, executable,
    );
    // The caller's function may ask about the program.
    drop(state);
    notify(program, pfn_notify, user_data);
    result
}

pub(crate) fn clCompileProgram(
    program: Out<_cl_program>,
    num_devices: cl_uint,
    device_list: In<cl_device_id>,
    options: In<c_char>,
    num_input_headers: cl_uint,
    input_headers: In<cl_program>,
    header_include_names: Out<*const c_char>,
    pfn_notify: ProgramNotify,
    user_data: Out<c_void>,
) -> Result<()> {
    let record = Program::of(program)?;
    let compiled = record.object();
    let context = compiled.context.object();
    let devices = chosen(&compiled.devices, num_devices, device_list)?;
    require(pfn_notify.is_some() || user_data.is_null(), CL_INVALID_VALUE)?;
    let headers = headers(
        &compiled.context,
        num_input_headers,
        input_headers,
        header_include_names,
    )?;
    compiled.check_free()?;
    let compiles = matches!(compiled.origin, Origin::Source(_) | Origin::Il(_));
    require(compiles, CL_INVALID_OPERATION)?;
    let options = text(options);
    let mut state = compiled.building();
    state.executable = None;
    let failure = CL_COMPILE_PROGRAM_FAILURE;
    let outcome = modules(compiled, &options, &headers, &state.constants, failure);
    // What the device does not take is said now and not when it is linked.
    let outcome = outcome.and_then(|(modules, log)| {
        for module in &modules {
            compile_module(context, module, failure)?;
        }
        Ok((modules, log))
    });
    let result = settle(
        &mut state,
        &devices,
        &options,
        traces(compiled, &options),
        sources(compiled, &options, headers),
        outcome,
        CL_PROGRAM_BINARY_TYPE_COMPILED_OBJECT,
    );
    // As in a build.
    drop(state);
    notify(program, pfn_notify, user_data);
    result
}

/// Headers given as programs.
fn headers(
    context: &Object<Context>,
    count: cl_uint,
    programs: In<cl_program>,
    names: Out<*const c_char>,
) -> Result<Vec<Header>> {
    let programs = programs.list(count).ok_or(Failure(CL_INVALID_VALUE))?;
    let names = names.as_in();
    let names = names.list(count).ok_or(Failure(CL_INVALID_VALUE))?;
    let mut headers = Vec::new();
    for (program, name) in programs.iter().zip(names) {
        let program = Program::of(Out::from_pointer(*program))?;
        let name = In::from_pointer(*name);
        let name = name.text().ok_or(Failure(CL_INVALID_VALUE))?;
        require(program.object().context == *context, CL_INVALID_CONTEXT)?;
        let Origin::Source(text) = &program.object().origin else {
            return fail(CL_INVALID_OPERATION);
        };
        headers.push((name.to_string_lossy().into_owned(), text.to_vec()));
    }
    Ok(headers)
}

pub(crate) fn clLinkProgram(
    context: Out<_cl_context>,
    num_devices: cl_uint,
    device_list: In<cl_device_id>,
    options: In<c_char>,
    num_input_programs: cl_uint,
    input_programs: In<cl_program>,
    pfn_notify: ProgramNotify,
    user_data: Out<c_void>,
) -> Result<cl_program, Unmade<_cl_program>> {
    let record = Context::of(context)?;
    let context = record.object();
    let devices = context.chosen(num_devices, device_list)?;
    require(pfn_notify.is_some() || user_data.is_null(), CL_INVALID_VALUE)?;
    let inputs = input_programs
        .list(num_input_programs)
        .ok_or(Failure(CL_INVALID_VALUE))?;
    require(!inputs.is_empty(), CL_INVALID_VALUE)?;
    let options = text(options);
    let words = source::words(&options);
    require(source::are_for_linkers(&words), CL_INVALID_LINKER_OPTIONS)?;
    let library = words.iter().any(|word| word == source::CREATE_LIBRARY);
    let mut modules = Modules::new();
    let mut sources = Vec::new();
    let mut parts = Vec::new();
    let mut is_uniform = false;
    let mut compiled_for = vec![0; devices.len()];
    for input in inputs {
        let input = Program::of(Out::from_pointer(*input))?;
        require(input.object().context == record, CL_INVALID_CONTEXT)?;
        let state = input.object().state();
        let linkable = [
            CL_PROGRAM_BINARY_TYPE_COMPILED_OBJECT,
            CL_PROGRAM_BINARY_TYPE_LIBRARY,
        ];
        require(linkable.contains(&state.binary_type), CL_INVALID_OPERATION)?;
        for (device, count) in devices.iter().zip(&mut compiled_for) {
            *count += usize::from(state.is_for(device));
        }
        modules.extend(state.modules.iter().cloned());
        sources.extend(state.sources.iter().cloned());
        parts.push(state.traces.for_device.clone());
        // One that was not compiled for uneven ranges is a part of every kernel.
        is_uniform |= state.traces.is_uniform;
    }
    // A device that no part is compiled for is left out, and one that some are compiled for is an error.
    let whole = |count: &usize| *count == 0 || *count == inputs.len();
    require(compiled_for.iter().all(whole), CL_INVALID_OPERATION)?;
    let targets = devices.iter().zip(&compiled_for);
    let linked: Vec<_> = targets
        .filter(|(_, count)| **count > 0)
        .map(|(device, _)| device.clone())
        .collect();
    require(!linked.is_empty(), CL_INVALID_OPERATION)?;
    // The plugin sees modules alone: what the parts were compiled with reaches it as options of the
    // link.
    let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
    let traces = Traces {
        for_device: kernel_options(&source::for_device(&options), &parts),
        is_uniform,
    };
    let program: Object<Program> = Program::new(record.clone(), devices, Origin::Linked).insert()?;
    let mut state = program.object().building();
    let outcome = link(context, &modules, library, &traces.for_device).map(|executable| {
        state.executable = executable.map(Arc::new);
        (modules, String::new())
    });
    let binary_type = match library {
        true => CL_PROGRAM_BINARY_TYPE_LIBRARY,
        false => CL_PROGRAM_BINARY_TYPE_EXECUTABLE,
    };
    let result = settle(
        &mut state,
        &linked,
        &options,
        traces,
        sources,
        outcome,
        binary_type,
    );
    // As in a build.
    drop(state);
    let handle = program.give();
    notify(Out::from_pointer(handle), pfn_notify, user_data);
    // A program that could not be linked is there for its log.
    let unmade = |failure| Unmade {
        failure,
        left: handle,
    };
    result.map(|()| handle).map_err(unmade)
}

/// Links modules: into something to run, or, if they are to be a library, to see whether they fit each other.
fn link(
    context: &Context,
    modules: &Modules,
    library: bool,
    for_device: &str,
) -> BuildResult<Option<Owned<pi_program>>> {
    let options = if library {
        source::CREATE_LIBRARY
    } else {
        for_device
    };
    let linked = match &modules[..] {
        // A library of one module is that module.
        [_] if library => return Ok(None),
        _ => make(context, modules, options, CL_LINK_PROGRAM_FAILURE)?,
    };
    Ok((!library).then_some(linked))
}
