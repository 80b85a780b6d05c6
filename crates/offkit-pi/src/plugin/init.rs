//! `piPluginInit`, and the table it fills in.

use super::error::guard;
use super::info::answer;
use super::shim::{give, non_null};
use super::state::Registered;
use super::{Error, Plugin, Result};
use super::{context::*, device::*, enqueue::*, event::*, kernel::*, memory::*, program::*, queue::*};
use super::{rect::*, state::*, usm::*};
use crate::ffi::*;
use crate::functions::for_each_function;
use crate::table::{Api, Function, Layout, PluginRecordV2_3, version_text};
use core::ffi::{c_char, c_void};

/// Calls what does the work of a function, and hands over what it returns.
macro_rules! perform {
    ($name:ident($($argument:ident)*)) => {
        super::$name::<P>($($argument),*)
    };
    ($name:ident($($argument:ident)*) answers($size:ident $value:ident $size_ret:ident)) => {
        answer(super::$name::<P>($($argument),*)?, $size, $value, $size_ret)
    };
    ($name:ident($($argument:ident)*) creates($target:ident)) => {{
        non_null($target, stringify!($target))?;
        give($target, &super::$name::<P>($($argument),*)?);
        Ok(())
    }};
    ($name:ident($($argument:ident)*) submits($wait_count:ident $wait_list:ident $event:ident)) => {
        super::$name::<P>($($argument),*)?.submit($wait_count, $wait_list, $event)
    };
    ($name:ident($($argument:ident)*) unsupported()) => {{
        $(let _ = $argument;)*
        unsupported::<P>(Function::$name)
    }};
}

macro_rules! define_table {
    ($($name:ident($($parameter:ident: $type:ty),*) $($how:ident($($last:ident: $last_type:ty),*))?;)*) => {
        /// The functions as C calls them, one for each slot.
        mod exported {
            use super::*;
            $(
                pub(super) unsafe extern "C" fn $name<P: Registered>(
                    $($parameter: $type,)*
                    $($($last: $last_type,)*)?
                ) -> pi_result {
                    guard(Function::$name, || {
                        // SAFETY: the host passes arguments as the interface says.
                        #[allow(unused_unsafe, reason = "some functions are safe")]
                        unsafe { perform!($name($($parameter)*) $($how($($last)*))?) }
                    })
                }
            )*
        }

        /// The functions of a plugin.
        fn api<P: Registered>() -> Api {
            Api { $($name: Some(exported::$name::<P>),)* }
        }
    };
}

for_each_function!(define_table);

fn unsupported<P: Plugin>(function: Function) -> Result<()> {
    let message = format!("{function} is not supported by plugin {}", P::NAME);
    Err(Error::new(PI_INVALID_OPERATION, message))
}

#[expect(non_snake_case, reason = "the name in the C interface")]
fn piTearDown<P: Plugin>(_: *mut c_void) -> Result<()> {
    P::tear_down()
}

/// `piPluginInit` of a plugin: takes a record of the one version there is a layout for, fills in its own
/// version and the table, and refuses all others with [`PI_INVALID_OPERATION`]. (Real plugins take hosts
/// newer than themselves, by comparing versions as text, although their tables differ; a host that then calls
/// a function calls another one.)
///
/// # Safety
///
/// `record` must be null, or point to the plugin record of the version that its first bytes name.
pub unsafe extern "C" fn initialise<P: Registered>(record: *mut c_void) -> pi_result {
    let fill = || -> Result<()> {
        let layout = Layout::V2_3;
        if record.is_null() {
            return Err(Error::null("the plugin record"));
        }
        // SAFETY: the record of every version starts with at least as many bytes of version text.
        let offered = unsafe { record.cast::<[u8; 4]>().read() };
        if offered.as_slice() != layout.version.to_bytes_with_nul() {
            let message = format!(
                "plugin {} speaks PI {}, the host offers {:?}",
                P::NAME,
                layout.version.to_string_lossy(),
                version_text(&offered)
            );
            return Err(Error::new(PI_INVALID_OPERATION, message));
        }
        // SAFETY: the record names this version, so it is a record of this version.
        let record = unsafe { &mut *record.cast::<PluginRecordV2_3>() };
        record.plugin_version = offered;
        record.functions = *api::<P>().slots();
        Ok(())
    };
    guard("piPluginInit", fill)
}
