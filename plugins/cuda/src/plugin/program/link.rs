//! Several programs become one.

use offkit_image::ImageFormat;
use offkit_pi::ffi::*;
use offkit_pi::plugin::{Error, Ref, Result};
use offkit_spirv::{LinkedPrograms, link_programs};
use offkit_sync::Arc;
use std::ffi::CString;

use super::super::code::Code;
use super::super::context::{CudaContext, Place};
use super::{CudaProgram, Options, Source, State, built, jit_options, lines};
use crate::driver::{Input, JitOptions, link};
use crate::jit_link;

/// Links code of which some is LTO-IR. What the linker said comes with either.
pub(super) fn link_lto(
    place: &Place,
    (inputs, special): (&[Input<'_>], Option<&str>),
    jit: &JitOptions,
) -> (Result<Vec<u8>, String>, String) {
    let device = &place.device;
    let processor = special.unwrap_or_else(|| device.target.target.processor());
    jit_link::link((device.id.driver().cuda.0, processor), inputs, jit)
}

impl CudaProgram {
    /// Links programs. One that fails is a program as well, with the words of who could not.
    pub(in crate::plugin) fn link(
        context: &Ref<CudaContext>,
        programs: &[Ref<CudaProgram>],
        options: &str,
    ) -> Result<CudaProgram> {
        let codes = programs.iter().filter_map(|program| match &program.source {
            Source::Code(code) => Some(Arc::clone(code)),
            _ => None,
        });
        let codes: Vec<_> = codes.collect();
        let objects = programs
            .iter()
            .filter_map(|program| program.state().object.clone());
        let objects: Vec<_> = objects.collect();
        match programs {
            [] => Err(Error::new(PI_INVALID_VALUE, "no program to link")),
            [first, ..] if codes.len() == programs.len() => {
                let place = &first.places[0];
                if !programs
                    .iter()
                    .all(|program| Arc::ptr_eq(&program.places[0], place))
                {
                    let message = "programs for different devices cannot be linked together";
                    return Err(Error::new(PI_INVALID_PROGRAM, message));
                }
                CudaProgram::link_code(context, place, &codes, options)
            }
            _ if objects.len() == programs.len() => CudaProgram::link_spirv(context, &objects, options),
            _ if programs.iter().any(|program| program.is_loaded_only()) => {
                let message = "a module that the host has loaded cannot be linked";
                Err(Error::new(PI_INVALID_PROGRAM, message))
            }
            _ if codes.is_empty() => {
                let message = "a program to link has not been compiled";
                Err(Error::new(PI_INVALID_OPERATION, message))
            }
            _ => {
                let message = "SPIR-V and code of NVIDIA's cannot be linked together: compile SPIR-V ahead of time, \
                    or ship all as SPIR-V";
                Err(Error::new(PI_INVALID_OPERATION, message))
            }
        }
    }

    /// Has the driver link code for one device.
    fn link_code(
        context: &Ref<CudaContext>,
        place: &Arc<Place>,
        codes: &[Arc<Code>],
        options: &str,
    ) -> Result<CudaProgram> {
        // The linker's messages name its inputs: with these names the host can tell which it means.
        let inputs = codes.iter().enumerate().map(|(number, code)| Input {
            name: CString::new(format!("program {number}")).unwrap_or_default(),
            format: code.format,
            code: &code.bytes,
        });
        let inputs: Vec<_> = inputs.collect();
        let Options { jit, note } = jit_options(options)?;
        let special = codes.iter().find_map(|code| code.special.as_deref());
        let is_lto = codes.iter().any(|code| code.format == ImageFormat::LtoIr);
        let (linked, log) = match is_lto {
            true => link_lto(place, (&inputs, special), &jit),
            false => {
                let (linked, log) = link(&place.primary, &inputs, &jit);
                match linked {
                    // No program with a log: nothing is wrong with the code.
                    Err(error) if error.is_lost() => return Err(error.into()),
                    linked => (linked.map_err(|error| error.to_string()), log),
                }
            }
        };
        match linked {
            Ok(cubin) => {
                let mut code = Code::new(ImageFormat::Cubin, &cubin);
                // The driver's linker may leave out what offkit reads.
                if code.kernels.is_empty() {
                    code.kernels = codes.iter().flat_map(|code| code.kernels.clone()).collect();
                }
                let program = CudaProgram::new(context, place, code);
                // The module's log comes behind the linker's.
                match program.build_with(options, &log) {
                    Err(error) if error.code != PI_BUILD_PROGRAM_FAILURE => Err(error),
                    _ => Ok(program),
                }
            }
            Err(words) => {
                let program = CudaProgram::of(
                    context,
                    std::slice::from_ref(place),
                    Source::Made,
                    State::default(),
                );
                program.fail(options, &lines([&lines([&log, &note]), &words]));
                Ok(program)
            }
        }
    }

    /// Links SPIR-V, and compiles it for all devices of the context.
    fn link_spirv(
        context: &Ref<CudaContext>,
        objects: &[Arc<offkit_spirv::Module>],
        options: &str,
    ) -> Result<CudaProgram> {
        let is_library = options
            .split_ascii_whitespace()
            .any(|option| option == "-create-library");
        let program = CudaProgram::of(context, context.places(), Source::Made, State::default());
        let linked = match link_programs(objects, is_library) {
            Ok(linked) => linked,
            Err(error) => {
                program.fail(options, &error.to_string());
                return Ok(program);
            }
        };
        if is_library {
            let build = built(options, PI_PROGRAM_BINARY_TYPE_LIBRARY, String::new());
            program.become_now(build, Some(Arc::new(linked.module)), Vec::new());
            return Ok(program);
        }
        let told = jit_options(options)?;
        match program.load_spirv(&linked.module, (options, &told), |words| {
            explained(&linked, words)
        }) {
            Err(error) if error.code != PI_BUILD_PROGRAM_FAILURE => Err(error),
            _ => Ok(program),
        }
    }
}

/// What is said about linked SPIR-V that is not compiled: of a symbol that nobody supplies, all that the linker knows.
fn explained(linked: &LinkedPrograms, words: &str) -> String {
    let named = linked.missing().find(|name| words.contains(&format!("`{name}`")));
    let known = named.and_then(|name| linked.unresolved(name));
    known.unwrap_or_else(|| words.to_owned())
}
