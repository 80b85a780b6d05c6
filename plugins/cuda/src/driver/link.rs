//! The driver's linker.

use core::ptr::null_mut;
use offkit_image::ImageFormat;
use offkit_sync::Arc;
use std::ffi::CString;

use super::functions::*;
use super::module::{Jit, JitOptions};
use super::primary::unless_lost;
use super::{Primary, Result, call};

/// Something to link.
pub(crate) struct Input<'a> {
    /// What the linker calls it.
    pub(crate) name: CString,
    /// PTX, with a NUL behind it, a cubin, or for `nvJitLink` LTO-IR.
    pub(crate) format: ImageFormat,
    pub(crate) code: &'a [u8],
}

/// A link under way.
struct State<'a> {
    primary: &'a Primary,
    handle: CUlinkState,
}

impl Drop for State<'_> {
    fn drop(&mut self) {
        // SAFETY: the state is this value's, and the context current, as the link's function has made it.
        unless_lost(unsafe { call!(self.primary.driver(), cuLinkDestroy(self.handle)) });
    }
}

/// Links code to one cubin. What the driver said comes with either.
pub(crate) fn link(
    primary: &Arc<Primary>,
    inputs: &[Input<'_>],
    options: &JitOptions,
) -> (Result<Vec<u8>>, String) {
    let mut jit = Jit::new(options);
    let linked = complete(primary, inputs, &mut jit);
    (linked, jit.log())
}

fn complete(primary: &Primary, inputs: &[Input<'_>], jit: &mut Jit) -> Result<Vec<u8>> {
    let driver = primary.driver();
    // Declared before the state, and so dropped behind it: destroying the link needs the context.
    let _current = primary.enter()?;
    let mut state = State { primary, handle: 0 };
    // SAFETY: one place for the handle; the options' buffers are there until the state is destroyed.
    let created = unsafe {
        call!(
            driver,
            cuLinkCreate_v2(
                jit.count(),
                jit.names.as_mut_ptr(),
                jit.values.as_mut_ptr(),
                &raw mut state.handle
            )
        )
    };
    if let Err(error) = created {
        // There is nothing to destroy.
        std::mem::forget(state);
        return Err(error);
    }
    for input in inputs {
        let kind = if input.format == ImageFormat::Ptx {
            CU_JIT_INPUT_PTX
        } else {
            CU_JIT_INPUT_CUBIN
        };
        // SAFETY: so many bytes of code, which the driver only reads, without further options.
        unsafe {
            call!(
                driver,
                cuLinkAddData_v2(
                    state.handle,
                    kind,
                    input.code.as_ptr().cast_mut().cast(),
                    input.code.len(),
                    input.name.as_ptr(),
                    0,
                    null_mut(),
                    null_mut()
                )
            )?;
        }
    }
    let (mut cubin, mut size) = (null_mut(), 0);
    // SAFETY: two places for the answers. The cubin is the state's, which is there until it is copied.
    unsafe {
        call!(
            driver,
            cuLinkComplete(state.handle, &raw mut cubin, &raw mut size)
        )?;
        Ok(match cubin.is_null() {
            true => Vec::new(),
            false => std::slice::from_raw_parts(cubin.cast::<u8>(), size).to_vec(),
        })
    }
}
