//! From a library to a driver's platforms.

use super::platform::Driver;
use super::table::{self, Extensions};
use super::{Error, Result, answer, call, text};
use core::ffi::{CStr, c_void};
use core::ptr::{null, null_mut};
use offkit_opencl::*;
use offkit_pi::driver::{Library, open_resolved};
use std::path::Path;

/// Opens a driver's library, which stays mapped (drivers keep threads), and lists its platforms.
///
/// # Errors
///
/// Why it cannot be used, in words.
pub(crate) fn open(path: &Path) -> Result<Vec<&'static Driver>, String> {
    // SAFETY: opening a library runs its initialisers; whoever names it, in a folder of the system or a variable, trusts
    // it.
    let library = unsafe { open_resolved(path) }.map_err(|error| error.to_string())?;
    let library: &'static Library = Box::leak(Box::new(library));
    let exported = |name: &CStr| -> *const c_void {
        // SAFETY: nothing is done with the symbol here.
        let symbol = unsafe { library.get::<*const c_void>(name.to_bytes_with_nul()) };
        symbol.map_or(null(), |symbol| *symbol)
    };
    let drivers = if let Some(list) = installable(&exported) {
        platforms("clIcdGetPlatformIDsKHR", list)?
            .into_iter()
            // SAFETY: the driver lists its platforms.
            .map(|platform| unsafe { of_table(platform, &exported) })
            .collect::<Result<Vec<_>>>()
    } else {
        // SAFETY: a library with a function of that name is one with OpenCL's functions.
        let table = unsafe { table::from_names(&exported) };
        let Some(list) = table.clGetPlatformIDs else {
            return Err("it is no OpenCL driver: it has neither \
                `clGetExtensionFunctionAddress` nor `clGetPlatformIDs`"
                .to_owned());
        };
        platforms("clGetPlatformIDs", list)?
            .into_iter()
            // SAFETY: as above.
            .map(|platform| unsafe { of_exports(platform, &exported) })
            .collect()
    };
    drivers.map_err(|error| error.to_string())
}

/// The function by which an installable driver lists its platforms; `None` for a library that is none.
fn installable(exported: &dyn Fn(&CStr) -> *const c_void) -> Option<signature::clIcdGetPlatformIDsKHR> {
    const LIST: &CStr = c"clIcdGetPlatformIDsKHR";
    let ask = exported(c"clGetExtensionFunctionAddress");
    // SAFETY: null is no function, and what is not null has the type of that name.
    let ask = unsafe {
        core::mem::transmute::<*const c_void, Option<signature::clGetExtensionFunctionAddress>>(ask)
    };
    // SAFETY: it is given a name.
    let list = ask.map_or(null(), |ask| unsafe { ask(LIST.as_ptr()) }.cast_const());
    let list = if list.is_null() { exported(LIST) } else { list };
    // SAFETY: as above.
    unsafe { core::mem::transmute::<*const c_void, Option<signature::clIcdGetPlatformIDsKHR>>(list) }
}

/// The platforms that a function of this name lists.
fn platforms(
    function: &'static str,
    list: signature::clIcdGetPlatformIDsKHR,
) -> Result<Vec<cl_platform_id>, String> {
    let mut count = 0;
    // SAFETY: the count is asked for, and then so many places are there.
    let code = unsafe { list(0, null_mut(), &raw mut count) };
    let mut platforms = vec![null_mut(); count as usize];
    // A driver without a device may have no platform either, and that is no failure.
    if code == CL_PLATFORM_NOT_FOUND_KHR || code == CL_SUCCESS && count == 0 {
        return Ok(platforms);
    }
    let listed = Error::check(function, code).and_then(|()| {
        // SAFETY: as above.
        let code = unsafe { list(count, platforms.as_mut_ptr(), null_mut()) };
        Error::check(function, code)
    });
    listed.map_err(|error| error.to_string())?;
    platforms.retain(|platform| !platform.is_null());
    Ok(platforms)
}

/// A platform of an installable driver: its functions are those of the table that every handle begins with.
///
/// # Safety
///
/// The platform is one of a driver, whose library exports what is found there.
unsafe fn of_table(
    platform: cl_platform_id,
    exported: &dyn Fn(&CStr) -> *const c_void,
) -> Result<&'static Driver> {
    // SAFETY: every handle of an installable driver begins with the pointer to its table.
    let table = unsafe { (*platform).dispatch };
    if table.is_null() {
        return Err(Error::missing("the table of functions"));
    }
    // SAFETY: the first word of the table, which has more.
    if unsafe { table.cast::<usize>().read() } == CL_ICD2_TAG_KHR {
        type Find = unsafe extern "C" fn(cl_platform_id, *const core::ffi::c_char) -> *mut c_void;
        let ask = exported(c"clGetExtensionFunctionAddress");
        // SAFETY: the driver was found by this function, or exports what it has; null is no function.
        let find = unsafe {
            let ask =
                core::mem::transmute::<*const c_void, Option<signature::clGetExtensionFunctionAddress>>(ask);
            let name = c"clIcdGetFunctionAddressForPlatformKHR".as_ptr();
            let find = ask.map_or(null_mut(), |ask| ask(name));
            core::mem::transmute::<*mut c_void, Option<Find>>(find)
        };
        if let Some(find) = find {
            // SAFETY: the platform is the driver's, and what it finds are OpenCL's functions.
            return unsafe {
                let table = table::from_names(&|name| find(platform, name.as_ptr()).cast_const());
                Ok(driver(platform, table))
            };
        }
    }
    // A driver of version 2 that has no such function still has its table.
    // How long a table is only the version says: until that is known, the shortest one is read.
    // SAFETY: every table has the function in its second place, and the platform is the driver's.
    let version = unsafe {
        let first = table::copy(table, (1, 0));
        version_of(&first, platform)?
    };
    // SAFETY: the driver says that it is of this version.
    unsafe { Ok(driver(platform, table::copy(table, version))) }
}

/// A platform of a library that exports OpenCL's functions, and nothing to find them by.
///
/// # Safety
///
/// The platform is one of the library.
unsafe fn of_exports(
    platform: cl_platform_id,
    exported: &dyn Fn(&CStr) -> *const c_void,
) -> Result<&'static Driver> {
    // SAFETY: these are the names of OpenCL's functions.
    unsafe { Ok(driver(platform, table::from_names(exported))) }
}

/// # Safety
///
/// The platform and the table are of one driver.
unsafe fn driver(platform: cl_platform_id, mut table: Dispatch) -> &'static Driver {
    let find = |name: &CStr| -> *const c_void {
        // A library may have several platforms with functions of their own, which the older of the
        // two queries cannot tell apart.
        // SAFETY: the platform is the driver's.
        let found = unsafe {
            match (
                table.clGetExtensionFunctionAddressForPlatform,
                table.clGetExtensionFunctionAddress,
            ) {
                (Some(find), _) => find(platform, name.as_ptr()),
                (None, Some(find)) => find(name.as_ptr()),
                (None, None) => null_mut(),
            }
        };
        found.cast_const()
    };
    // SAFETY: these are the names of OpenCL's functions.
    let extensions = unsafe { Extensions::from_names(&find) };
    if table.clGetKernelSubGroupInfoKHR.is_none() {
        // Tables of OpenCL 2.0 end before it: there it is a function of an extension.
        let found = find(c"clGetKernelSubGroupInfoKHR");
        // SAFETY: null is no function, and what is not null has the type of that name.
        table.clGetKernelSubGroupInfoKHR = unsafe {
            core::mem::transmute::<*const c_void, Option<signature::clGetKernelSubGroupInfoKHR>>(found)
        };
    }
    // SAFETY: by the caller's promise.
    // One that does not say is not asked for what came with 2.0 and later.
    let version = unsafe { version_of(&table, platform) }.unwrap_or((1, 2));
    Box::leak(Box::new(Driver::new(platform, table, extensions, version)))
}

/// The version of a platform, from `OpenCL 3.0 and more`.
///
/// # Safety
///
/// The platform and the table are of one driver.
unsafe fn version_of(table: &Dispatch, platform: cl_platform_id) -> Result<(u32, u32)> {
    // SAFETY: by the caller's promise; `answer` passes a place of the size it says.
    let bytes = answer(|size, value, size_ret| unsafe {
        call!(
            table,
            clGetPlatformInfo(platform, CL_PLATFORM_VERSION, size, value, size_ret)
        )
    })?;
    Ok(parse_version(&text(bytes)))
}

/// The two numbers of `OpenCL 3.0 and more`; 1.0 where there are none.
pub(super) fn parse_version(text: &str) -> (u32, u32) {
    let number = text.split(' ').nth(1).unwrap_or_default();
    let (major, minor) = number.split_once('.').unwrap_or_default();
    match (major.parse(), minor.parse()) {
        (Ok(major), Ok(minor)) => (major, minor),
        // The version with the shortest table, so that nothing is read past its end.
        _ => (1, 0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::ffi::c_char;

    unsafe extern "C" fn info(
        _: cl_platform_id,
        _: cl_platform_info,
        size: usize,
        value: *mut c_void,
        size_ret: *mut usize,
    ) -> cl_int {
        let text = b"OpenCL 2.0 old\0";
        // SAFETY: null, or a place for a size; null, or a place of so many bytes.
        unsafe {
            if !size_ret.is_null() {
                size_ret.write(text.len());
            }
            if !value.is_null() {
                value
                    .cast::<u8>()
                    .copy_from_nonoverlapping(text.as_ptr(), size.min(text.len()));
            }
        }
        CL_SUCCESS
    }

    unsafe extern "C" fn by_name(name: *const c_char) -> *mut c_void {
        // SAFETY: it is a text.
        match unsafe { CStr::from_ptr(name) }.to_bytes() {
            b"clGetKernelSubGroupInfoKHR" => (info as *const ()).cast_mut().cast(),
            _ => null_mut(),
        }
    }

    #[test]
    fn the_function_of_sub_groups_of_a_driver_of_opencl_2_0_is_found_by_its_name() {
        // SAFETY: there is nothing in the table but these two.
        let driver = unsafe {
            let mut table = table::from_names(&|_| null());
            table.clGetPlatformInfo = Some(info);
            table.clGetExtensionFunctionAddress = Some(by_name);
            driver(null_mut(), table)
        };
        assert_eq!(driver.version, (2, 0));
        assert!(driver.table.clGetKernelSubGroupInfoKHR.is_some());
    }
}
