//! The runtime and its devices.

use std::ffi::{c_char, c_int};

use offkit_pi::host::{self, DeviceType, Partition, PiError};
use offkit_sync::Mutex;

use crate::c::{
    Array, In, New, Out, Owned, Result, Status, Text, Texts, answer, free, given, lock, make, tell,
};
use crate::error::{Code, Failure};
use crate::registry::Registry;

/// `offkit_runtime`.
pub(crate) struct Runtime {
    runtime: Mutex<offkit_runtime::Runtime>,
    texts: Texts,
}

/// `offkit_device`.
pub(crate) struct Device {
    pub(crate) device: host::Device,
    texts: Texts,
}

impl From<host::Device> for Device {
    fn from(device: host::Device) -> Self {
        Self {
            device,
            texts: Texts::default(),
        }
    }
}

#[unsafe(no_mangle)]
extern "C" fn offkit_runtime_create(runtime: New<'_, Runtime>) -> Status {
    make(runtime, || {
        let runtime = offkit_runtime::Runtime::discover(&[&offkit_plugin_cpu::plugin::BUILT_IN]);
        Ok(Runtime {
            runtime: Mutex::new(runtime),
            texts: Texts::default(),
        })
    })
}

#[unsafe(no_mangle)]
extern "C" fn offkit_runtime_device_count(runtime: In<'_, Runtime>, count: Out<'_, usize>) -> Status {
    answer(count, || {
        Ok(lock(&given(runtime, "the runtime")?.runtime).devices().count())
    })
}

#[unsafe(no_mangle)]
extern "C" fn offkit_runtime_device(
    runtime: In<'_, Runtime>,
    number: usize,
    device: New<'_, Device>,
) -> Status {
    make(device, || {
        let mut runtime = lock(&given(runtime, "the runtime")?.runtime);
        let device = runtime.devices().nth(number).cloned();
        let device = device.ok_or_else(|| {
            let count = runtime.devices().count();
            Failure::new(Code::NoDevice, format!("no device {number}: there are {count}"))
        })?;
        Ok(device.into())
    })
}

#[unsafe(no_mangle)]
extern "C" fn offkit_runtime_select(
    runtime: In<'_, Runtime>,
    selector: Text<'_>,
    device: New<'_, Device>,
) -> Status {
    make(device, || {
        let mut runtime = lock(&given(runtime, "the runtime")?.runtime);
        Ok(runtime.device(selector.if_given("the selector")?)?.into())
    })
}

#[unsafe(no_mangle)]
extern "C" fn offkit_runtime_choose(
    runtime: In<'_, Runtime>,
    selector: Text<'_>,
    registry: In<'_, Registry>,
    kernel: Text<'_>,
    device: New<'_, Device>,
) -> Status {
    make(device, || {
        let runtime = given(runtime, "the runtime")?;
        let registry = given(registry, "the registry")?.images();
        let found = registry.find_kernel(kernel.get("the kernel's name")?, |_| true)?;
        let selector = selector.if_given("the selector")?;
        // The image is not kept: collecting selects it again, for the device that C passes then.
        let (device, _) = lock(&runtime.runtime).choose(selector, registry, &found)?;
        Ok(device.into())
    })
}

#[unsafe(no_mangle)]
extern "C" fn offkit_runtime_failures(runtime: In<'_, Runtime>, failures: Out<'_, *const c_char>) -> Status {
    answer(failures, || {
        let runtime = given(runtime, "the runtime")?;
        // As far as plugins were looked at: asking what failed loads none.
        let runtime_of = lock(&runtime.runtime);
        let left_out = runtime_of.left_out().map(ToString::to_string);
        let failures: Vec<_> = runtime_of
            .failures()
            .map(ToString::to_string)
            .chain(left_out)
            .collect();
        Ok(runtime.texts.keep(&failures.join("\n")))
    })
}

#[unsafe(no_mangle)]
extern "C" fn offkit_runtime_free(runtime: Owned<Runtime>) {
    free(runtime);
}

/// Answers a question about a device.
fn ask<T>(
    device: In<'_, Device>,
    out: Out<'_, T>,
    question: impl FnOnce(&host::Device) -> Result<T, PiError>,
) -> Status {
    answer(out, || Ok(question(&given(device, "the device")?.device)?))
}

fn ask_for_text(
    device: In<'_, Device>,
    out: Out<'_, *const c_char>,
    question: impl FnOnce(&host::Device) -> Result<String, PiError>,
) -> Status {
    answer(out, || {
        let device = given(device, "the device")?;
        Ok(device.texts.keep(&question(&device.device)?))
    })
}

#[unsafe(no_mangle)]
extern "C" fn offkit_device_name(device: In<'_, Device>, name: Out<'_, *const c_char>) -> Status {
    ask_for_text(device, name, host::Device::name)
}

#[unsafe(no_mangle)]
extern "C" fn offkit_device_vendor(device: In<'_, Device>, vendor: Out<'_, *const c_char>) -> Status {
    ask_for_text(device, vendor, host::Device::vendor)
}

#[unsafe(no_mangle)]
extern "C" fn offkit_device_version(device: In<'_, Device>, version: Out<'_, *const c_char>) -> Status {
    ask_for_text(device, version, host::Device::driver_version)
}

#[unsafe(no_mangle)]
extern "C" fn offkit_device_get_type(device: In<'_, Device>, device_type: Out<'_, c_int>) -> Status {
    ask(device, device_type, |device| {
        Ok(match device.device_type()? {
            DeviceType::Cpu => 1,
            DeviceType::Gpu => 2,
            DeviceType::Accelerator => 3,
            _ => 0,
        })
    })
}

#[unsafe(no_mangle)]
extern "C" fn offkit_device_max_group_size(device: In<'_, Device>, size: Out<'_, usize>) -> Status {
    ask(device, size, host::Device::max_work_group_size)
}

#[unsafe(no_mangle)]
extern "C" fn offkit_device_compute_units(device: In<'_, Device>, count: Out<'_, u32>) -> Status {
    ask(device, count, host::Device::max_compute_units)
}

#[unsafe(no_mangle)]
extern "C" fn offkit_device_memory_size(device: In<'_, Device>, size: Out<'_, u64>) -> Status {
    ask(device, size, host::Device::global_memory_size)
}

#[unsafe(no_mangle)]
extern "C" fn offkit_device_is_same(
    device: In<'_, Device>,
    other: In<'_, Device>,
    same: Out<'_, bool>,
) -> Status {
    answer(same, || {
        Ok(given(device, "the device")?.device == given(other, "the other device")?.device)
    })
}

/// `offkit_parts`.
pub(crate) struct Parts(Vec<host::Device>);

/// The division that `offkit_partition` and its numbers mean.
fn partition(how: c_int, numbers: &[usize]) -> Result<Partition> {
    match (how, numbers) {
        (1, [units]) => Ok(Partition::Equally(*units)),
        (2, [_, ..]) => Ok(Partition::ByCounts(numbers.to_vec())),
        (3, [domain]) => Ok(Partition::ByAffinityDomain(*domain as u64)),
        (1..=3, _) => Err(Failure::invalid(format!(
            "{} numbers: expected one, or one for each part with OFFKIT_PARTITION_BY_COUNTS",
            numbers.len()
        ))),
        _ => Err(Failure::invalid(format!(
            "{how} is no way to divide a device: expected one of OFFKIT_PARTITION_*"
        ))),
    }
}

#[unsafe(no_mangle)]
extern "C" fn offkit_device_partition(
    device: In<'_, Device>,
    how: c_int,
    numbers: Array<'_, usize>,
    count: usize,
    parts: New<'_, Parts>,
) -> Status {
    make(parts, || {
        let device = &given(device, "the device")?.device;
        // SAFETY: the caller says how many there are.
        let numbers = unsafe { numbers.get(count, "the numbers") }?;
        Ok(Parts(device.partition(&partition(how, numbers)?)?))
    })
}

#[unsafe(no_mangle)]
extern "C" fn offkit_parts_count(parts: In<'_, Parts>) -> usize {
    tell(parts, 0, |parts| parts.0.len())
}

#[unsafe(no_mangle)]
extern "C" fn offkit_parts_device(parts: In<'_, Parts>, number: usize, device: New<'_, Device>) -> Status {
    make(device, || {
        let parts = &given(parts, "the parts")?.0;
        let part = parts.get(number).cloned().ok_or_else(|| {
            Failure::new(
                Code::NoDevice,
                format!("no part {number}: there are {}", parts.len()),
            )
        })?;
        Ok(part.into())
    })
}

#[unsafe(no_mangle)]
extern "C" fn offkit_parts_free(parts: Owned<Parts>) {
    free(parts);
}

#[unsafe(no_mangle)]
extern "C" fn offkit_device_free(device: Owned<Device>) {
    free(device);
}
