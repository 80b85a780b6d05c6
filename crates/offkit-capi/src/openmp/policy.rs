//! What happens where a region cannot be offloaded, and whose a call is.

use std::ffi::{CStr, c_int, c_void};
use std::io::Write;
use std::panic::{AssertUnwindSafe, catch_unwind};

use offkit_sync::{LazyLock, OnceLock};

use super::abi::DEFAULT_DEVICE;
use super::device::{Device, devices};
use super::programs;
use crate::c::Result;
use crate::error::{Code, Failure};
use crate::object::{SharedObject, function_of};

/// What `OMP_TARGET_OFFLOAD` asks for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Policy {
    /// The host runs all regions.
    Disabled,
    /// The host runs what no device can.
    Default,
    /// A region that no device can run is an error.
    Mandatory,
}

static POLICY: LazyLock<Policy> = LazyLock::new(|| {
    let asked = std::env::var("OMP_TARGET_OFFLOAD").unwrap_or_default();
    match asked.trim().to_ascii_lowercase().as_str() {
        "disabled" => Policy::Disabled,
        "mandatory" => Policy::Mandatory,
        _ => Policy::Default,
    }
});

/// The devices that regions may run on.
pub(super) fn usable_devices() -> &'static [Device] {
    match *POLICY {
        Policy::Disabled => &[],
        _ => devices(),
    }
}

/// The number that means the host.
pub(super) fn host_number() -> c_int {
    c_int::try_from(usable_devices().len()).unwrap_or(c_int::MAX)
}

/// The device with a number; `None` is the host.
pub(super) fn device(number: i64) -> Option<&'static Device> {
    usable_devices().get(usize::try_from(meant(number)).ok()?)
}

/// The number of the device that a number means.
fn meant(number: i64) -> i64 {
    match number {
        DEFAULT_DEVICE => default_device(),
        number => number,
    }
}

/// The device for a construct; `None` where the host is to do it.
pub(super) fn offload_to(number: i64) -> Result<Option<&'static Device>> {
    let number = meant(number);
    let found = device(number);
    // Without devices the host has the number 0, which means the first device as well: nobody has
    // asked for the host by it.
    let is_host = number == i64::from(host_number()) && !usable_devices().is_empty();
    match found {
        None if *POLICY == Policy::Mandatory && !is_host => Err(Failure::new(
            Code::NoDevice,
            format!(
                "OMP_TARGET_OFFLOAD=MANDATORY, and of {} devices there is no number {number}",
                usable_devices().len()
            ),
        )),
        found => Ok(found),
    }
}

/// What a region that the device does not have is: the host's, or an error that says why.
pub(super) fn without_code(region: &str, why: &str) -> Result<()> {
    match *POLICY {
        Policy::Mandatory => Err(Failure::new(
            Code::Incompatible,
            format!("OMP_TARGET_OFFLOAD=MANDATORY, and `{region}` {why}"),
        )),
        _ => Ok(()),
    }
}

/// The device that the program has chosen, as LLVM's runtime for the host knows.
pub(super) fn default_device() -> i64 {
    type Ask = unsafe extern "C" fn() -> c_int;
    static ASK: LazyLock<Option<Ask>> = LazyLock::new(|| {
        // SAFETY: the name is a text.
        let found = unsafe { libc::dlsym(libc::RTLD_DEFAULT, c"omp_get_default_device".as_ptr()) };
        // SAFETY: a function of this name takes nothing and answers a number.
        (!found.is_null()).then(|| unsafe { std::mem::transmute::<*mut c_void, Ask>(found) })
    });
    // Asked each time: a program may choose another device at any time, and each thread its own.
    // SAFETY: see above.
    ASK.map_or(0, |ask| unsafe { ask() }.into())
}

/// Does something that must not fail: what was begun on a device cannot be taken back, and the host would go on with
/// data that is not up to date.
pub(super) fn must<T>(what: &str, work: impl FnOnce() -> Result<T>) -> T {
    let message = match catch_unwind(AssertUnwindSafe(work)) {
        Ok(Ok(done)) => return done,
        Ok(Err(failure)) => failure.message().to_owned(),
        Err(_) => "a defect of offkit".to_owned(),
    };
    // Nobody is there to be told if that fails.
    let _ = writeln!(std::io::stderr(), "offkit: OpenMP: {what}: {message}");
    std::process::abort()
}

/// LLVM's runtime, if something was registered that is meant for it.
static OTHER: OnceLock<String> = OnceLock::new();

/// Notes that a registration was passed on to another runtime, which is this library.
pub(crate) fn passed_on(library: &str) {
    let _ = OTHER.set(library.to_owned());
}

/// The function of another runtime that a call is meant for: the object that an address of the call's is in registered
/// its regions there.
pub(super) fn meant_for_other(within: *const c_void, function: &CStr) -> Option<*mut c_void> {
    // Mostly there is no other runtime. Then nobody goes through the list of objects at each call.
    OTHER.get()?;
    let object = SharedObject::at(within.addr());
    match programs::is_one(&object.path) {
        true => None,
        false => function_of(object.needs("libomptarget.so")?, function),
    }
}

/// The same for a call that does not tell where it comes from: it is for another runtime if nothing is registered here.
pub(super) fn other(function: &CStr) -> Option<*mut c_void> {
    match programs::are_any() {
        true => None,
        false => function_of_other(function),
    }
}

/// A function of the other runtime, if there is one.
pub(super) fn function_of_other(function: &CStr) -> Option<*mut c_void> {
    function_of(OTHER.get()?, function)
}
