//! `sycl-ls`: the devices that offkit's runtime finds, as DPC++'s tool lists those of libsycl.

use std::env;
use std::ffi::OsString;
use std::fmt::Write;

use offkit_pi::ffi::*;
use offkit_pi::host::{Device, DeviceType, Partition};
use offkit_runtime::{FoundDevice, Runtime};

use crate::failure::Failure;

/// Its mistakes are all answered with this.
const USAGE: &str = "Usage: sycl-ls [--verbose] [--ignore-device-selectors]";

/// Runs as the tool.
pub(crate) fn run(arguments: Vec<OsString>) -> Result<String, Failure> {
    let (mut is_verbose, mut shows_all) = (false, false);
    for argument in arguments {
        match argument.to_str() {
            Some("--verbose") => is_verbose = true,
            Some("--ignore-device-selectors") => shows_all = true,
            _ => return Err(Failure::words(USAGE)),
        }
    }
    let discover = if shows_all {
        Runtime::discover_all
    } else {
        Runtime::discover
    };
    let mut runtime = discover(&[&offkit_plugin_cpu::plugin::BUILT_IN]);
    let mut is_filtered = false;
    if let Some((variable, value)) = &runtime.environment().variable {
        say!("INFO: Output filtered by {variable} environment variable, which is set to {value}.");
        say!("To see device ids, use the --ignore-device-selectors CLI option.\n");
        is_filtered = true;
    }
    for ignored in &runtime.environment().ignored {
        say!("WARNING: {ignored}");
    }
    for problem in &runtime.search().problems {
        say!("WARNING: {problem}");
    }
    let found = runtime.found().to_vec();
    if is_verbose || found.is_empty() {
        for failure in runtime.failures() {
            say!("WARNING: {}", offkit_host::chain(failure));
        }
        for left_out in runtime.left_out() {
            say!("WARNING: left out: {left_out}");
        }
    }
    let mut out = String::new();
    // Writing to a string cannot fail.
    let _ = list(&mut out, &found, is_filtered);
    if is_verbose {
        let _ = tell(&mut out, &found, is_filtered);
    }
    Ok(out)
}

/// A line for each device.
fn list(out: &mut String, found: &[FoundDevice], is_filtered: bool) -> std::fmt::Result {
    for FoundDevice {
        device,
        backend,
        number,
        ..
    } in found
    {
        write!(out, "[{backend}:{}]", kind(device))?;
        // Numbers are of all devices, and not of those that are left.
        if !is_filtered {
            write!(out, "[{backend}:{number}]")?;
        }
        writeln!(out, " {}", line(device))?;
    }
    Ok(())
}

/// A paragraph for each platform, and which devices programs choose.
fn tell(out: &mut String, found: &[FoundDevice], is_filtered: bool) -> std::fmt::Result {
    let platform = |found: &FoundDevice| {
        let (device, platform) = (&found.device, found.device.platform());
        (
            device.plugin().name().to_owned(),
            platform.version().unwrap_or_default(),
            platform.name().unwrap_or_default(),
            platform.vendor().unwrap_or_default(),
        )
    };
    let platforms: Vec<_> = found
        .chunk_by(|one, other| platform(one) == platform(other))
        .collect();
    writeln!(out, "\nPlatforms: {}", platforms.len())?;
    for (index, devices) in platforms.into_iter().enumerate() {
        let (_, version, name, vendor) = platform(&devices[0]);
        writeln!(out, "Platform [#{}]:", index + 1)?;
        writeln!(out, "    Version  : {version}")?;
        writeln!(out, "    Name     : {name}")?;
        writeln!(out, "    Vendor   : {vendor}")?;
        writeln!(out, "    Devices  : {}", devices.len())?;
        for FoundDevice { device, number, .. } in devices {
            if !is_filtered {
                writeln!(out, "        Device [#{number}]:")?;
            }
            describe(out, device)?;
        }
    }
    let of = |wanted: &str| found.iter().find(|found| kind(&found.device) == wanted);
    // SYCL leaves the default to the implementation, and DPC++'s takes a GPU before a CPU.
    let default = of("gpu").or_else(|| of("cpu")).or(found.first());
    for (selector, chosen) in [
        ("default_selector()", default),
        ("accelerator_selector()", of("fpga")),
        ("cpu_selector()", of("cpu")),
        ("gpu_selector()", of("gpu")),
        ("custom_selector(gpu)", of("gpu")),
        ("custom_selector(cpu)", of("cpu")),
        ("custom_selector(acc)", of("fpga")),
    ] {
        let chosen = chosen.map(|found| format!("{}, {}", kind(&found.device), line(&found.device)));
        let chosen = chosen.unwrap_or_else(|| "No device of requested type available.".to_owned());
        writeln!(out, "{selector:<24}: {chosen}")?;
    }
    Ok(())
}

/// What is known of a device.
fn describe(out: &mut String, device: &Device) -> std::fmt::Result {
    let text = |answer: Result<String, _>| {
        answer.unwrap_or_else(|error: offkit_pi::host::PiError| error.to_string())
    };
    let sizes = device
        .info(PI_DEVICE_INFO_SUB_GROUP_SIZES_INTEL)
        .unwrap_or_default();
    let sizes = sizes
        .as_chunks()
        .0
        .iter()
        .map(|size| usize::from_ne_bytes(*size).to_string());
    let parts = parts_of(device);
    let architecture = match kind(device) {
        "cpu" => env::consts::ARCH,
        _ => "unknown",
    };
    for (name, value) in [
        ("Type", kind(device).to_owned()),
        ("Version", version(device)),
        ("Name", text(device.name())),
        ("Vendor", text(device.vendor())),
        ("Driver", text(device.driver_version())),
        ("Num SubDevices", parts.len().to_string()),
        (
            "Num SubSubDevices",
            parts.first().map_or(0, |part| parts_of(part).len()).to_string(),
        ),
        ("Aspects", aspects(device).join(" ")),
    ] {
        writeln!(out, "        {name:<17} : {value}")?;
    }
    let sizes = sizes.collect::<Vec<_>>().join(" ");
    writeln!(out, "        info::device::sub_group_sizes: {sizes}")?;
    writeln!(out, "        Architecture: {architecture}")
}

/// The parts of a device, as selectors count them.
fn parts_of(device: &Device) -> Vec<Device> {
    device.partition(&Partition::NEXT).unwrap_or_default()
}

/// What SYCL calls the things that a device can do; of its long list, what PI has queries for.
fn aspects(device: &Device) -> Vec<&'static str> {
    let extensions = device.extensions().unwrap_or_default();
    let extension = |name: &str| extensions.iter().any(|extension| extension == name);
    let answer = |name| device.info_integer(name).unwrap_or_default() != 0;
    let has = [
        ("cpu", kind(device) == "cpu"),
        ("gpu", kind(device) == "gpu"),
        ("accelerator", kind(device) == "fpga"),
        ("fp16", extension("cl_khr_fp16")),
        ("fp64", extension("cl_khr_fp64")),
        ("online_compiler", answer(PI_DEVICE_INFO_COMPILER_AVAILABLE)),
        ("online_linker", answer(PI_DEVICE_INFO_LINKER_AVAILABLE)),
        (
            "usm_device_allocations",
            answer(PI_DEVICE_INFO_USM_DEVICE_SUPPORT),
        ),
        ("usm_host_allocations", answer(PI_DEVICE_INFO_USM_HOST_SUPPORT)),
        (
            "usm_shared_allocations",
            answer(PI_DEVICE_INFO_USM_SINGLE_SHARED_SUPPORT),
        ),
        (
            "usm_system_allocations",
            answer(PI_DEVICE_INFO_USM_SYSTEM_SHARED_SUPPORT),
        ),
        (
            "atomic64",
            extension("cl_khr_int64_base_atomics") && extension("cl_khr_int64_extended_atomics"),
        ),
    ];
    has.iter()
        .filter(|(_, has)| *has)
        .map(|(name, _)| *name)
        .collect()
}

/// A device in one line.
fn line(device: &Device) -> String {
    let [platform, name, driver] = [device.platform().name(), device.name(), device.driver_version()]
        .map(|answer| answer.unwrap_or_else(|error| error.to_string()));
    format!("{platform}, {name} {} [{driver}]", version(device))
}

fn version(device: &Device) -> String {
    let bytes = device.info(PI_DEVICE_INFO_VERSION).unwrap_or_default();
    String::from_utf8_lossy(&bytes).trim_end_matches('\0').to_owned()
}

/// The kinds as selectors spell them.
fn kind(device: &Device) -> &'static str {
    match device.device_type() {
        Ok(DeviceType::Cpu) => "cpu",
        Ok(DeviceType::Gpu) => "gpu",
        Ok(DeviceType::Accelerator) => "fpga",
        _ => "unknown",
    }
}
