//! Platforms: one for each platform of a plugin.

use crate::answer::{Answers, Place, bytes_of};
use crate::c::{In, Out};
use crate::device::{Device, EXTENSIONS};
use crate::entry::address_of;
use crate::failure::{Failure, Result, require};
use crate::handle::{Handle, Handled, Object, set_loader_word};
use cl::*;
use core::ffi::{c_char, c_void};
use offkit_pi::host;
use offkit_sync::LazyLock;

/// Extensions of the platform itself; those of its devices come behind them.
const OWN_EXTENSIONS: [(&str, cl_version); 1] = [("cl_khr_icd", make_version(2, 0, 0))];

// The plugin over OpenCL drivers knows this driver by it, and leaves it out.
/// What functions of extensions end with.
const SUFFIX: &str = "OFFKIT";

/// A platform, and its answers.
pub(crate) struct Platform {
    answers: Answers,
}

impl Platform {
    fn new(pi: &host::Platform) -> Platform {
        let extensions = || OWN_EXTENSIONS.into_iter().chain(EXTENSIONS);
        let names: Vec<&str> = extensions().map(|(name, _)| name).collect();
        let mut answers = Answers::default();
        answers.text(CL_PLATFORM_PROFILE, "FULL_PROFILE");
        answers.text(
            CL_PLATFORM_VERSION,
            concat!("OpenCL 3.0 offkit ", env!("CARGO_PKG_VERSION")),
        );
        answers.number(CL_PLATFORM_NUMERIC_VERSION, make_version(3, 0, 0));
        answers.text(CL_PLATFORM_NAME, &pi.name().unwrap_or_default());
        answers.text(CL_PLATFORM_VENDOR, &pi.vendor().unwrap_or_default());
        answers.text(CL_PLATFORM_EXTENSIONS, &names.join(" "));
        answers.bytes(CL_PLATFORM_EXTENSIONS_WITH_VERSION, name_versions(extensions()));
        // The host's clock is read with the device's: in nanoseconds.
        answers.number(CL_PLATFORM_HOST_TIMER_RESOLUTION, 1_u64);
        answers.text(CL_PLATFORM_ICD_SUFFIX_KHR, SUFFIX);
        Platform { answers }
    }
}

/// A platform with its devices, which are there for good.
struct Known {
    platform: Object<Platform>,
    devices: Vec<Object<Device>>,
}

static PLATFORMS: LazyLock<Vec<Known>> = LazyLock::new(find);

/// The platforms of all plugins. What does not work is left out: a driver has to answer.
fn find() -> Vec<Known> {
    let mut found = Vec::new();
    let plugin = match host::Plugin::built_in(&offkit_plugin_cpu::plugin::BUILT_IN) {
        Ok(plugin) => plugin,
        Err(error) => {
            tracing::error!(%error, "the CPU device cannot be used");
            return found;
        }
    };
    for pi in plugin.platforms().unwrap_or_default() {
        let devices = pi.devices(offkit_pi::ffi::PI_DEVICE_TYPE_ALL);
        // Before its devices, which have its handle among their answers.
        let Ok(platform) = Platform::new(&pi).insert() else {
            continue;
        };
        // A reference that is never given back: platforms and devices are not counted.
        platform.clone().hand_out();
        let devices = devices.unwrap_or_default().into_iter().filter_map(|device| {
            let device = Device::new(device, &platform).insert().ok()?;
            device.clone().hand_out();
            Some(device)
        });
        let devices = devices.collect();
        found.push(Known { platform, devices });
    }
    found
}

/// Finds platforms and devices, if that has not been done.
fn known() -> &'static [Known] {
    &PLATFORMS
}

/// The devices of a platform.
pub(crate) fn devices_of(platform: &Object<Platform>) -> &'static [Object<Device>] {
    let known = known().iter().find(|known| known.platform == *platform);
    known.map_or(&[], |known| &known.devices)
}

/// The platform of a handle; of none the first, as loaders have it.
pub(crate) fn platform_or_default(handle: Out<_cl_platform_id>) -> Result<Object<Platform>> {
    match known() {
        [first, ..] if handle.is_null() => Ok(first.platform.clone()),
        _ => Platform::of(handle),
    }
}

pub(crate) fn clGetPlatformIDs(
    num_entries: cl_uint,
    platforms: Out<cl_platform_id>,
    num_platforms: Out<cl_uint>,
) -> Result<()> {
    // Without a list its length says nothing.
    require(platforms.is_null() || num_entries > 0, CL_INVALID_VALUE)?;
    require(
        !(platforms.is_null() && num_platforms.is_null()),
        CL_INVALID_VALUE,
    )?;
    let handles = known().iter().map(|known| known.platform.c());
    platforms.fill_with(handles, num_entries as usize);
    num_platforms.write(known().len() as cl_uint);
    Ok(())
}

pub(crate) fn clIcdGetPlatformIDsKHR(
    num_entries: cl_uint,
    platforms: Out<cl_platform_id>,
    num_platforms: Out<cl_uint>,
) -> Result<()> {
    clGetPlatformIDs(num_entries, platforms, num_platforms)
}

pub(crate) fn clIcdGetFunctionAddressForPlatformKHR(
    platform: Out<_cl_platform_id>,
    func_name: In<c_char>,
) -> *mut c_void {
    clGetExtensionFunctionAddressForPlatform(platform, func_name)
}

/// A loader may make one table for each platform. They have the same functions, so all handles lead to the last.
pub(crate) fn clIcdSetPlatformDispatchDataKHR(
    platform: Out<_cl_platform_id>,
    dispatch_data: Out<c_void>,
) -> Result<()> {
    Platform::of(platform)?;
    set_loader_word(dispatch_data.addr());
    Ok(())
}

/// Extensions, as the list with versions has them.
pub(crate) fn name_versions<'a>(names: impl IntoIterator<Item = (&'a str, cl_version)>) -> Vec<u8> {
    let mut bytes = Vec::new();
    for (name, version) in names {
        // As in `cl_name_version`: the version, and 64 bytes with the name and a NUL.
        let mut field = [0; 64];
        for (to, from) in field.iter_mut().take(63).zip(name.as_bytes()) {
            *to = *from;
        }
        bytes.extend(bytes_of(&[version]));
        bytes.extend(field);
    }
    bytes
}

pub(crate) fn clGetPlatformInfo(
    platform: Out<_cl_platform_id>,
    param_name: cl_platform_info,
    param_value_size: usize,
    param_value: Out<c_void>,
    param_value_size_ret: Out<usize>,
) -> Result<()> {
    let platform = platform_or_default(platform)?;
    let answer = platform.object().answers.get(param_name);
    Place::new(param_value_size, param_value, param_value_size_ret)
        .bytes(answer.ok_or(Failure(CL_INVALID_VALUE))?)
}

pub(crate) fn clGetDeviceIDs(
    platform: Out<_cl_platform_id>,
    device_type: cl_device_type,
    num_entries: cl_uint,
    devices: Out<cl_device_id>,
    num_devices: Out<cl_uint>,
) -> Result<()> {
    let platform = platform_or_default(platform)?;
    require(devices.is_null() || num_entries > 0, CL_INVALID_VALUE)?;
    require(!(devices.is_null() && num_devices.is_null()), CL_INVALID_VALUE)?;
    let found = || of_type(&platform, device_type);
    let count = found()?.count();
    num_devices.write(count as cl_uint);
    require(count > 0, CL_DEVICE_NOT_FOUND)?;
    devices.fill_with(found()?.map(Handle::c), num_entries as usize);
    Ok(())
}

/// The devices of a platform that are of a type.
pub(crate) fn of_type(
    platform: &Object<Platform>,
    wanted: cl_device_type,
) -> Result<impl Iterator<Item = &'static Object<Device>>> {
    let known = CL_DEVICE_TYPE_CPU
        | CL_DEVICE_TYPE_GPU
        | CL_DEVICE_TYPE_ACCELERATOR
        | CL_DEVICE_TYPE_CUSTOM
        | CL_DEVICE_TYPE_DEFAULT;
    // CL_DEVICE_TYPE_ALL has bits of no type, so that it is compared as a whole.
    let valid = wanted == CL_DEVICE_TYPE_ALL || (wanted != 0 && wanted & !known == 0);
    require(valid, CL_INVALID_DEVICE_TYPE)?;
    let devices = devices_of(platform).iter().enumerate();
    let fits = devices.filter(move |(index, device)| {
        wanted == CL_DEVICE_TYPE_ALL
            || device.object().device_type() & wanted != 0
            || (*index == 0 && wanted & CL_DEVICE_TYPE_DEFAULT != 0)
    });
    Ok(fits.map(|(_, device)| device))
}

pub(crate) fn clGetExtensionFunctionAddress(func_name: In<c_char>) -> *mut c_void {
    address_of(func_name)
}

pub(crate) fn clGetExtensionFunctionAddressForPlatform(
    platform: Out<_cl_platform_id>,
    func_name: In<c_char>,
) -> *mut c_void {
    match platform_or_default(platform) {
        Ok(_) => address_of(func_name),
        Err(_) => core::ptr::null_mut(),
    }
}

pub(crate) fn clUnloadCompiler() -> Result<()> {
    // A hint. clang and the worker are processes of their own, which end by themselves.
    Ok(())
}

pub(crate) fn clUnloadPlatformCompiler(platform: Out<_cl_platform_id>) -> Result<()> {
    Platform::of(platform).map(|_| ())
}
