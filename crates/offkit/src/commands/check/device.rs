//! Devices of this machine: NVIDIA's and AMD's GPUs as far as their drivers say what they are without being loaded, and
//! those that offkit's runtime finds, by their own words.

use std::fs;
use std::process::Command;

use offkit_object::Target;
use offkit_object::target::{Device, SpirvSupport, amd, triples};
use offkit_pi::host::PiError;
use offkit_runtime::Runtime;

use crate::failure::{ExitStatus, Failure};

/// Every kind of GPU that is here, with NVIDIA's driver.
pub(super) fn of_this_machine() -> Result<Vec<Device>, Failure> {
    let mut devices = nvidia();
    devices.extend(of_kfd());
    // A machine with eight equal GPUs is one kind of device to check for.
    devices.dedup();
    match devices.is_empty() {
        true => Err(Failure::new(
            ExitStatus::Machine,
            "no GPU of NVIDIA or AMD was found: nvidia-smi names none, and /sys/class/kfd neither",
        )
        .hint("Intel's GPUs are not looked for; name the devices with `--targets`; `offkit doctor` says what was looked for")),
        false => Ok(devices),
    }
}

/// A device that the runtime finds, as `offkit devices` lists it: `opencl:0`. `None` for words of another form.
pub(super) fn of_runtime(word: &str) -> Option<Result<Device, Failure>> {
    let (backend, number) = word.split_once(':')?;
    let number: u32 = number.parse().ok()?;
    let mut runtime = Runtime::discover(&[&offkit_plugin_cpu::plugin::BUILT_IN]);
    let mut found = runtime.found().iter();
    let found = found.find(|found| found.backend == backend && found.number == number);
    let Some(found) = found else {
        let failure = Failure::new(ExitStatus::Machine, format!("there is no device `{word}`"));
        return Some(Err(failure.hint("`offkit devices` lists those that there are")));
    };
    let failure = |error: PiError| Failure::new(ExitStatus::Machine, error);
    let ask = || {
        let extensions = found.device.extensions().map_err(failure)?;
        let il_version = found.device.il_version().map_err(failure)?;
        let mut device = Device::new(Target::new(triples::SPIRV64, ""));
        device.spirv = Some(SpirvSupport::new(&il_version, extensions));
        device.name = Some(word.to_owned());
        Ok(device)
    };
    Some(ask())
}

/// What nvidia-smi says: `9.0, 550.54.14` for each GPU.
fn nvidia() -> Vec<Device> {
    let output = Command::new("nvidia-smi")
        .args(["--query-gpu=compute_cap,driver_version", "--format=csv,noheader"])
        .output();
    // Where it fails, standard output has its reason.
    let text = output.ok().filter(|output| output.status.success());
    let text = text.map(|output| String::from_utf8_lossy(&output.stdout).into_owned());
    text.unwrap_or_default()
        .lines()
        .filter_map(device_of_line)
        .collect()
}

fn device_of_line(line: &str) -> Option<Device> {
    let (capability, driver) = line.split_once(',')?;
    let mut device = Device::named(capability.trim())?;
    device.driver = driver.trim().parse().ok();
    Some(device)
}

/// What Linux' driver for AMD's GPUs says: `gfx_target_version 90010` for gfx90a; 0 for the host's processor.
fn of_kfd() -> Vec<Device> {
    let nodes = fs::read_dir("/sys/class/kfd/kfd/topology/nodes");
    let nodes = nodes.into_iter().flatten().flatten();
    nodes
        .filter_map(|node| {
            let properties = fs::read_to_string(node.path().join("properties")).ok()?;
            let mut lines = properties.lines();
            let version = lines.find_map(|line| line.strip_prefix("gfx_target_version "))?;
            let version: u32 = version.trim().parse().ok().filter(|version| *version != 0)?;
            let name = amd::processor_of_version(version / 10_000, version / 100 % 100, version % 100);
            Device::named(&name)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nvidia_smi_is_understood() {
        let device = device_of_line("9.0, 570.86.15").unwrap();
        assert_eq!(device.to_string(), "sm_90");
        assert_eq!(device.driver.unwrap().to_string(), "570.86.15");
        assert_eq!(device_of_line("[N/A], 570"), None);
        assert_eq!(device_of_line("No devices were found"), None);
    }
}
