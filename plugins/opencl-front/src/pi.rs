//! Calls into the plugin below.

/// Calls a function of a plugin's table. What goes into it are handles that objects of this crate keep, and pointers that
/// the caller vouches for: the plugin interface says of them what OpenCL says.
// A macro, as every function has other parameters; and by `call` instead of the pointer itself,
// so that traces see it.
macro_rules! pi {
    ($plugin:expr, $function:ident($($argument:expr),* $(,)?)) => {{
        let plugin: &offkit_pi::host::Plugin = $plugin;
        match plugin.api().$function {
            Some(function) => {
                // SAFETY: see above.
                let called = unsafe {
                    plugin.call(offkit_pi::table::Revision::$function, function, ($($argument,)*))
                };
                called.map_err($crate::failure::Failure::from)
            }
            None => {
                let error = plugin.not_provided(offkit_pi::table::Function::$function);
                Err($crate::failure::Failure::from(error))
            }
        }
    }};
}
pub(crate) use pi;

use crate::failure::Result;
use offkit_pi::host::{Handle, Owned, Plugin};

/// Takes over the handle that a call has made.
pub(crate) fn own<H: Handle>(
    plugin: &Plugin,
    make: impl FnOnce(&mut H) -> Result<()>,
    null: H,
) -> Result<Owned<H>> {
    let mut handle = null;
    make(&mut handle)?;
    // SAFETY: the plugin has made it for this call.
    Ok(unsafe { Owned::new(plugin.clone(), handle) })
}

/// A number that a query answers with.
pub(crate) fn number<N: Default>(ask: impl FnOnce(usize, *mut core::ffi::c_void) -> Result<()>) -> Result<N> {
    let mut number = N::default();
    ask(size_of::<N>(), (&raw mut number).cast())?;
    Ok(number)
}
