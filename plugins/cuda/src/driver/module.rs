//! Modules: code that the driver has loaded, its functions and its variables.

use core::ffi::{c_int, c_uint, c_void};
use core::ptr::without_provenance_mut;
use offkit_sync::Arc;
use std::ffi::CStr;

use super::functions::*;
use super::primary::unless_lost;
use super::{Error, Primary, Result, call, call_newer};

/// Bytes of the driver's log that are kept.
const LOG: usize = 16 << 10;

/// What the driver's compiler and linker are told, besides where their words go.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct JitOptions {
    pub(crate) level: Option<u32>,
    pub(crate) registers: Option<u32>,
    pub(crate) is_verbose: bool,
    pub(crate) has_lines: bool,
    pub(crate) has_debug: bool,
}

/// Options as the driver takes them, and its words when it is done.
pub(super) struct Jit {
    pub(super) names: Vec<CUjit_option>,
    pub(super) values: Vec<*mut c_void>,
    errors: Box<[u8; LOG]>,
    infos: Box<[u8; LOG]>,
}

impl Jit {
    pub(super) fn new(options: &JitOptions) -> Jit {
        // On the heap: the driver has their addresses, and this value moves.
        let (mut errors, mut infos) = (Box::new([0; LOG]), Box::new([0; LOG]));
        // Numbers stand where pointers to them might.
        let number = |number: u32| without_provenance_mut::<c_void>(number as usize);
        // One less: the last byte stays 0.
        let size = number(LOG as u32 - 1);
        let mut pairs = vec![
            (CU_JIT_ERROR_LOG_BUFFER, errors.as_mut_ptr().cast()),
            (CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES, size),
            (CU_JIT_INFO_LOG_BUFFER, infos.as_mut_ptr().cast()),
            (CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES, size),
        ];
        let wanted = [
            (CU_JIT_OPTIMIZATION_LEVEL, options.level),
            (CU_JIT_MAX_REGISTERS, options.registers),
            (CU_JIT_LOG_VERBOSE, options.is_verbose.then_some(1)),
            (CU_JIT_GENERATE_LINE_INFO, options.has_lines.then_some(1)),
            (CU_JIT_GENERATE_DEBUG_INFO, options.has_debug.then_some(1)),
        ];
        pairs.extend(
            wanted
                .into_iter()
                .filter_map(|(name, value)| Some((name, number(value?)))),
        );
        let (names, values) = pairs.into_iter().unzip();
        Jit {
            names,
            values,
            errors,
            infos,
        }
    }

    pub(super) fn count(&self) -> c_uint {
        self.names.len() as c_uint
    }

    /// What the driver said: what is wrong first.
    pub(super) fn log(&self) -> String {
        let text = |bytes: &[u8; LOG]| {
            let text = CStr::from_bytes_until_nul(bytes).unwrap_or_default();
            text.to_string_lossy().trim().to_owned()
        };
        let both = [text(&self.errors), text(&self.infos)];
        let said: Vec<String> = both.into_iter().filter(|text| !text.is_empty()).collect();
        said.join("\n")
    }
}

/// Code that is loaded in a context.
pub(crate) struct Module {
    primary: Arc<Primary>,
    handle: CUmodule,
    is_owned: bool,
}

/// A function of a module, which must be there for as long as it is used.
#[derive(Clone, Copy)]
pub(crate) struct Function(CUfunction);

impl Function {
    pub(crate) fn handle(self) -> CUfunction {
        self.0
    }
}

impl Module {
    /// Loads code: PTX with a NUL behind it, or a cubin. What the driver said comes with either.
    pub(crate) fn load(
        primary: &Arc<Primary>,
        code: &[u8],
        options: &JitOptions,
    ) -> (Result<Module>, String) {
        let mut jit = Jit::new(options);
        let mut handle: CUmodule = 0;
        let load = |_current| {
            // SAFETY: the code is a whole image; as many options as are said, with buffers that are there.
            unsafe {
                call!(
                    primary.driver(),
                    cuModuleLoadDataEx(
                        &raw mut handle,
                        code.as_ptr().cast(),
                        jit.count(),
                        jit.names.as_mut_ptr(),
                        jit.values.as_mut_ptr()
                    )
                )
            }
        };
        let loaded = primary.enter().and_then(load);
        // Also where it has failed: the driver's compiler says here what is wrong with PTX.
        let log = jit.log();
        (loaded.map(|()| Module::of_host(primary, handle, true)), log)
    }

    /// One that a host gives.
    pub(crate) fn of_host(primary: &Arc<Primary>, handle: CUmodule, is_owned: bool) -> Module {
        Module {
            primary: Arc::clone(primary),
            handle,
            is_owned,
        }
    }

    pub(crate) fn handle(&self) -> CUmodule {
        self.handle
    }

    /// A kernel; `None` if there is none of that name.
    pub(crate) fn function(&self, name: &CStr) -> Result<Option<Function>> {
        let _current = self.primary.enter()?;
        let mut handle: CUfunction = 0;
        // SAFETY: one place for the handle.
        let found = unsafe {
            call!(
                self.primary.driver(),
                cuModuleGetFunction(&raw mut handle, self.handle, name.as_ptr())
            )
        };
        if_found(found.map(|()| Function(handle)))
    }

    /// A variable: its address and its size; `None` if there is none of that name.
    pub(crate) fn global(&self, name: &CStr) -> Result<Option<(CUdeviceptr, usize)>> {
        let _current = self.primary.enter()?;
        let (mut address, mut size) = (0, 0);
        // SAFETY: two places for the answers.
        let found = unsafe {
            call!(
                self.primary.driver(),
                cuModuleGetGlobal_v2(&raw mut address, &raw mut size, self.handle, name.as_ptr())
            )
        };
        if_found(found.map(|()| (address, size)))
    }

    /// A number about a function.
    pub(crate) fn attribute(&self, function: Function, attribute: CUfunction_attribute) -> Result<u32> {
        let _current = self.primary.enter()?;
        let mut value: c_int = 0;
        // SAFETY: one place for the number.
        unsafe {
            call!(
                self.primary.driver(),
                cuFuncGetAttribute(&raw mut value, attribute, function.0)
            )?;
        }
        Ok(value.unsigned_abs())
    }

    /// Lets a function have more shared memory than launches get unasked.
    pub(crate) fn allow_shared(&self, function: Function, size: u32) -> Result<()> {
        let _current = self.primary.enter()?;
        let attribute = CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
        // SAFETY: the function is there.
        unsafe {
            call!(
                self.primary.driver(),
                cuFuncSetAttribute(function.0, attribute, size.cast_signed())
            )
        }
    }

    /// The sizes of a kernel's arguments in bytes; `None` where the driver is too old to tell.
    pub(crate) fn argument_sizes(&self, function: Function) -> Result<Option<Vec<usize>>> {
        let driver = self.primary.driver();
        if driver.functions.cuFuncGetParamInfo.is_none() {
            return Ok(None);
        }
        let _current = self.primary.enter()?;
        let mut sizes = Vec::new();
        loop {
            let (mut offset, mut size) = (0, 0);
            // SAFETY: two places for numbers.
            let asked = unsafe {
                call_newer!(
                    driver,
                    cuFuncGetParamInfo(function.0, sizes.len(), &raw mut offset, &raw mut size)
                )
            };
            match asked {
                Ok(()) => sizes.push(size),
                // There are no more.
                Err(error) if error.is(CUDA_ERROR_INVALID_VALUE) => return Ok(Some(sizes)),
                Err(error) => return Err(error),
            }
        }
    }
}

fn if_found<T>(found: Result<T, Error>) -> Result<Option<T>> {
    match found {
        Ok(found) => Ok(Some(found)),
        Err(error) if error.is(CUDA_ERROR_NOT_FOUND) => Ok(None),
        Err(error) => Err(error),
    }
}

impl Drop for Module {
    fn drop(&mut self) {
        if !self.is_owned {
            return;
        }
        let unload = |_current| {
            // SAFETY: the module is this value's, and no command uses it: those keep their kernels, and these programs.
            unsafe { call!(self.primary.driver(), cuModuleUnload(self.handle)) }
        };
        unless_lost(self.primary.enter().and_then(unload));
    }
}
