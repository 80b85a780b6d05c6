//! What is below plugins, OpenCL's drivers and Unified Runtime's adapters: which there are, what became of each, and what to
//! do.

use std::path::Path;

use offkit_host::program::naming_variable;
use offkit_opencl::icd;
use offkit_pi::below::{Below, Kind, Outcome as Became};
use offkit_runtime::advice::{opening, package_of};
use offkit_runtime::probe::LeftOut;
use offkit_runtime::{DiscoveryFailure, Outcome, Runtime, machine};

use super::finding::Finding;

/// The heading that they stand under.
pub(super) fn heading(kind: Kind) -> &'static str {
    match kind {
        Kind::OpenCl => "OpenCL drivers",
        _ => "Unified Runtime",
    }
}

/// All of them.
pub(super) fn findings(runtime: &Runtime) -> Vec<Finding> {
    let mut findings = Vec::new();
    for kind in [Kind::OpenCl, Kind::UnifiedRuntime] {
        let of_kind = match told(runtime, kind) {
            Ok(below) => {
                let all = below.iter();
                all.map(|below| opened(kind, below, runtime)).collect()
            }
            Err(why) => listed(kind, &why),
        };
        match of_kind.is_empty() {
            true => findings.push(nowhere(kind)),
            false => findings.extend(of_kind),
        }
    }
    findings
}

/// What the plugin over them says.
///
/// # Errors
///
/// Why it says nothing.
fn told(runtime: &Runtime, kind: Kind) -> Result<Vec<Below>, String> {
    let library = match kind {
        Kind::UnifiedRuntime => "liboffkit_plugin_ur.so",
        _ => "liboffkit_plugin_opencl.so",
    };
    let mut why =
        format!("offkit's plugin for it, {library}, is in none of the folders of plugins (see Plugins)");
    for (candidate, outcome) in runtime.considered() {
        if candidate.below() != Some(kind) {
            continue;
        }
        match outcome {
            Outcome::Loaded { plugin, .. } => {
                if let Some(below) = plugin.below() {
                    return Ok(below);
                }
            }
            Outcome::Failed(DiscoveryFailure::Devices { below, .. }) if !below.is_empty() => {
                return Ok(below.clone());
            }
            Outcome::Unwanted => {
                let variable = runtime.environment().variable.as_ref();
                let variable = variable.map_or("the filter", |(variable, _)| variable);
                why = format!("{variable} wants none of its devices");
            }
            _ => why = "its plugin is not used (see Plugins)".to_owned(),
        }
    }
    Err(why)
}

fn name(library: &str, named_by: &str) -> String {
    match library {
        "" => named_by.to_owned(),
        library => format!("{library} ({named_by})"),
    }
}

/// One that a plugin has opened, or tried to.
fn opened(kind: Kind, below: &Below, runtime: &Runtime) -> Finding {
    let Below {
        library,
        named_by,
        outcome,
    } = below;
    let finding = |state| Finding::new(heading(kind), state, name(library, named_by));
    let is_harmful = |left_out: &&LeftOut| left_out.library.to_string_lossy() == library.as_str();
    if let Some(left_out) = runtime.left_out().find(is_harmful) {
        let advice = match left_out.drivers.is_empty() {
            true => format!(
                "Install it again, or {}; offkit tries it whenever it starts.",
                forget(named_by)
            ),
            false => {
                "See OpenCL drivers for what to do about that; offkit tries the adapter whenever it starts."
                    .to_owned()
            }
        };
        return finding("problem")
            .because(format!("left out: {}", left_out.harm()))
            .advised(Some(advice));
    }
    match outcome {
        Became::Used { what, devices: 0 } => finding(unless_in_folder(named_by))
            .because(format!("{what}; it sees no device"))
            .advised(Some(
                "Its device is not in this machine, is hidden, or may not be opened by this user: see Kernel.".to_owned(),
            )),
        Became::Used { what, devices } => {
            let devices = match devices {
                1 => "1 device".to_owned(),
                count => format!("{count} devices"),
            };
            finding("ok").because(format!("{what}; {devices}"))
        }
        Became::LeftOut(reason) => finding("info").because(format!("left out: {reason}")),
        Became::Unusable(reason) => finding(unless_in_folder(named_by))
            .because(reason)
            .advised(Some(unusable(library, named_by, reason))),
        _ => finding("info"),
    }
}

/// What lies in a folder of adapters may be there for other machines; what is named is wanted.
fn unless_in_folder(named_by: &str) -> &'static str {
    match named_by.starts_with("folder ") {
        true => "info",
        false => "problem",
    }
}

/// How to have it not looked at.
fn forget(named_by: &str) -> String {
    match named_by.strip_prefix("folder ") {
        Some(folder) => format!("take it out of {folder}"),
        None if named_by.contains('/') => format!("remove {named_by}"),
        None => format!("take it off {named_by}"),
    }
}

/// What to do about one that cannot be used.
fn unusable(library: &str, named_by: &str, reason: &str) -> String {
    let forget = forget(named_by);
    if library.is_empty() {
        return match reason.contains("Permission denied") {
            true => format!("This user may not read it: chmod a+r {named_by}"),
            false => format!("Write the path of the driver's library into it, or {forget}."),
        };
    }
    if reason.starts_with("it is no ") {
        return format!("It is a library of something else: {forget}.");
    }
    // The loader's message begins with the file that is missing, which may be one that the library
    // itself needs.
    let is_missing = reason.starts_with(library) && reason.contains("No such file");
    if is_missing && !Path::new(library).exists() {
        return missing(library, named_by);
    }
    opening(library, reason).unwrap_or_else(|| format!("Look at its own tools and log, or {forget}."))
}

/// What to do about one whose library is not there.
fn missing(library: &str, named_by: &str) -> String {
    let install = match package_of(library.rsplit('/').next().unwrap_or_default()) {
        Some(package) => format!("install {package}"),
        None => "install it again".to_owned(),
    };
    let forget = forget(named_by);
    format!("The library that it names is not there: {install}, or {forget}.")
}

/// Those that are listed, where nobody opens them.
fn listed(kind: Kind, why: &str) -> Vec<Finding> {
    let finding = |library: &str, named_by: &str, is_there: bool| {
        let finding = |state| Finding::new(heading(kind), state, name(library, named_by));
        match is_there {
            true => finding("info").because(format!("not opened: {why}")),
            false => finding("problem").advised(Some(missing(library, named_by))),
        }
    };
    match kind {
        Kind::OpenCl => machine::opencl_drivers()
            .iter()
            .map(|driver| {
                let listed_in = driver.listed_in.display().to_string();
                match &driver.problem {
                    None => finding(&driver.library, &listed_in, driver.path.is_some()),
                    Some(reason) => Finding::new(heading(kind), "problem", &*listed_in)
                        .because(reason)
                        .advised(Some(unusable("", &listed_in, reason))),
                }
            })
            .collect(),
        _ => machine::adapters()
            .iter()
            .map(|adapter| {
                let library = adapter.library.display().to_string();
                finding(&library, &adapter.named_by.to_string(), adapter.library.exists())
            })
            .collect(),
    }
}

/// Where they were looked for, where there is none.
fn nowhere(kind: Kind) -> Finding {
    match kind {
        Kind::OpenCl => {
            let vendors = icd::vendors();
            let folder = vendors.display();
            let by = match naming_variable(icd::VENDORS).is_some_and(|value| !value.is_empty()) {
                true => format!(" ({})", icd::VENDORS),
                false => String::new(),
            };
            let why = match vendors.is_dir() {
                true => format!("looked in {folder}{by}, which has no .icd file"),
                false => format!("looked in {folder}{by}, which is not there"),
            };
            Finding::new(heading(kind), "info", "no driver is listed")
                .because(format!("{why}, and for {}, which names none", icd::FILENAMES))
                .advised(Some(
                    "A driver's package brings its .icd file: install that of the device, such as intel-opencl-icd or pocl-opencl-icd of Debian.".to_owned(),
                ))
        }
        _ => {
            let finding = Finding::new(heading(kind), "info", "no adapter is there");
            match offkit_ur::looked_in() {
                Some(folders) => {
                    let folders: Vec<_> = folders
                        .iter()
                        .map(|folder| folder.display().to_string())
                        .collect();
                    finding.because(format!("looked in {}", folders.join(", ")))
                }
                None => finding.because(format!("{} names none", offkit_ur::FORCE_LOAD)),
            }
        }
    }
}
