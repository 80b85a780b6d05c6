//! Whether there is a driver, and why not.

use offkit_host::nodes::{Node, nodes_of_nvidia};
use offkit_sync::LazyLock;
use std::env;

use crate::driver::{self, DeviceId, Missing, functions};

/// The variable by which the driver shows some of its devices.
const VISIBLE: &str = "CUDA_VISIBLE_DEVICES";

/// How many devices there are, or why there are none; 0 where nothing of NVIDIA's is to be seen.
///
/// # Errors
///
/// The reason, in words.
pub fn found() -> Result<usize, &'static str> {
    devices().map(<[DeviceId]>::len)
}

/// The driver's devices, for which it is opened at the first call.
pub(crate) fn devices() -> Result<&'static [DeviceId], &'static str> {
    // Failures are kept, too: hosts ask several times, and each is to get the same reason.
    static DEVICES: LazyLock<Result<Vec<DeviceId>, String>> = LazyLock::new(find);
    match &*DEVICES {
        Ok(devices) => Ok(devices),
        Err(words) => Err(words),
    }
}

fn find() -> Result<Vec<DeviceId>, String> {
    let nodes = nodes_of_nvidia();
    let visible = env::var(VISIBLE).ok();
    match driver::open() {
        Ok(driver) => match driver.devices().map_err(|error| error.to_string())? {
            none if none.is_empty() => Err(no_device(visible.as_deref(), &nodes)),
            devices => Ok(devices),
        },
        Err(missing) => match reason(&missing, visible.as_deref(), &nodes) {
            Some(words) => Err(words),
            None => Ok(Vec::new()),
        },
    }
}

/// Why there is no driver, where that is of interest: not on a machine that shows nothing of one.
fn reason(missing: &Missing, visible: Option<&str>, nodes: &[Node]) -> Option<String> {
    Some(match missing {
        Missing::Library(_) if nodes.is_empty() => return None,
        Missing::Library(words) => format!(
            "{} is there, and NVIDIA's driver library is not ({words}): in a container, start it with the driver's \
             libraries (`--gpus all`, NVIDIA_DRIVER_CAPABILITIES=compute,utility); elsewhere, install the driver's \
             package with libcuda.so.1",
            nodes[0].path.display()
        ),
        Missing::Unusable(words) => format!("NVIDIA's driver cannot be used: {words}"),
        Missing::Start { code, words } => match *code {
            functions::CUDA_ERROR_NO_DEVICE => no_device(visible, nodes),
            functions::CUDA_ERROR_STUB_LIBRARY => format!(
                "{words}: libcuda.so.1 is the stub that CUDA's toolkit has for linking; take its folder out of \
                 LD_LIBRARY_PATH"
            ),
            functions::CUDA_ERROR_SYSTEM_DRIVER_MISMATCH => format!(
                "{words}: libcuda.so.1 and the kernel's driver are of different versions; load the kernel's driver \
                 again, or start the machine again"
            ),
            functions::CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE => format!(
                "{words}: libcuda.so.1 is of a package for forward compatibility, which this GPU does not have; take its \
                 folder out of LD_LIBRARY_PATH"
            ),
            _ => match refused(nodes) {
                Some(refused) => format!("{words}; {refused}"),
                None => words.clone(),
            },
        },
    })
}

/// The first node that cannot be opened, in words.
fn refused(nodes: &[Node]) -> Option<String> {
    let refused = nodes.iter().find_map(|node| Some((node, node.refused.as_ref()?)));
    refused.map(|(node, reason)| {
        let path = node.path.display();
        let advice = node.advice.as_deref().unwrap_or("ask for the rights");
        format!("this user cannot open {path} ({reason}): {advice}")
    })
}

/// Why the driver shows no device.
fn no_device(visible: Option<&str>, nodes: &[Node]) -> String {
    const FOUND: &str = "NVIDIA's driver shows no device";
    if visible == Some("") {
        return format!("{FOUND}: {VISIBLE} is empty, which hides all; unset it");
    }
    // Before the variable, which names some devices: that it hides the others is only a guess.
    if let Some(refused) = refused(nodes) {
        return format!("{FOUND}: {refused}");
    }
    match visible {
        Some(value) if value.starts_with("MIG-") => format!(
            "{FOUND}: {VISIBLE}={value} names a MIG instance that is not there; `nvidia-smi -L` lists those that are"
        ),
        Some(value) => format!("{FOUND}: {VISIBLE}={value} may hide it; unset it to see them all"),
        None if nodes.is_empty() => {
            format!(
                "{FOUND}, and /dev has none: the kernel's driver is not loaded, or this is a container without devices"
            )
        }
        None => format!(
            "{FOUND}: a GPU in MIG mode has none until an instance is made (`nvidia-smi mig -cgi`); else see `dmesg`"
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(refused: Option<&str>) -> Vec<Node> {
        vec![Node::new(
            "/dev/nvidia0".into(),
            "NVIDIA's driver",
            refused.map(str::to_owned),
        )]
    }

    #[test]
    fn a_machine_without_anything_of_nvidias_has_nothing_to_say() {
        let missing = Missing::Library("libcuda.so.1: cannot open shared object file".to_owned());
        assert_eq!(reason(&missing, Some("0"), &[]), None);
        let words = reason(&missing, None, &node(None)).unwrap();
        assert!(
            words.contains("/dev/nvidia0 is there") && words.contains("--gpus all"),
            "{words}"
        );
    }

    #[test]
    fn the_reason_is_what_stands_in_the_way() {
        let start = |code| Missing::Start {
            code,
            words: "cuInit: said".to_owned(),
        };
        let says = |missing: &Missing, visible, nodes: &[Node], part: &str| {
            let words = reason(missing, visible, nodes).unwrap();
            assert!(words.contains(part), "{words}");
        };
        let none = start(functions::CUDA_ERROR_NO_DEVICE);
        says(&none, Some(""), &node(None), "CUDA_VISIBLE_DEVICES is empty");
        says(
            &none,
            Some("7"),
            &node(None),
            "CUDA_VISIBLE_DEVICES=7 may hide it",
        );
        says(&none, Some("MIG-1"), &node(None), "`nvidia-smi -L`");
        says(&none, None, &node(None), "MIG mode");
        says(&none, None, &[], "kernel's driver is not loaded");
        says(
            &none,
            None,
            &node(Some("Permission denied")),
            "cannot open /dev/nvidia0 (Permission denied)",
        );
        let unknown = start(functions::CUDA_ERROR_UNKNOWN);
        says(
            &unknown,
            None,
            &node(Some("Permission denied")),
            "cuInit: said; this user cannot open",
        );
        says(
            &start(functions::CUDA_ERROR_SYSTEM_DRIVER_MISMATCH),
            None,
            &[],
            "different versions",
        );
        says(&start(functions::CUDA_ERROR_STUB_LIBRARY), None, &[], "stub");
        says(
            &Missing::Unusable("too old".to_owned()),
            None,
            &[],
            "cannot be used: too old",
        );
    }
}
