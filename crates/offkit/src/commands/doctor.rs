//! `offkit doctor`: everything that was looked for to find devices, what came of it, and what to do.

use clap::Args;
use offkit_host::causes;
use offkit_inventory::count;
use offkit_llvm::{WORKER_PROGRAM, WORKER_VARIABLE};
use offkit_plugin_cpu::{COMPILE_VARIABLE, Compiler};
use offkit_runtime::advice::{advice, package_of};
use offkit_runtime::machine;
use offkit_runtime::probe::Trust;
use offkit_runtime::search::{Candidate, Place};
use offkit_runtime::{DiscoveryFailure, FoundDevice, Outcome, Runtime, described};

use super::below;
use super::finding::{Finding, object, print};
use crate::failure::{ExitStatus, Failure};
use crate::terminal::Terminal;

/// The number of the form of its JSON.
const SCHEMA: u32 = 1;

const EXAMPLES: &str = "\
Examples:
  offkit doctor
  offkit doctor --json";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Doctor {
    /// Write one JSON object a line, one line a finding
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(options: &Doctor, terminal: Terminal) -> Result<(), Failure> {
    let mut runtime = Runtime::discover(&[&offkit_plugin_cpu::plugin::BUILT_IN]);
    let devices = runtime.found().len();
    let mut findings = vec![Finding::new(
        "offkit",
        "info",
        format!("offkit {} on {}", env!("CARGO_PKG_VERSION"), system()),
    )];
    findings.extend(variables(&runtime));
    findings.extend(plugins(&runtime));
    findings.extend(runtime.found().iter().map(device));
    findings.extend(compiler());
    findings.extend(below::findings(&runtime));
    findings.extend(libraries());
    findings.extend(nodes());
    let mut output = terminal.output();
    match options.json {
        true => {
            for finding in &findings {
                output.json(SCHEMA, &object(finding))?;
            }
        }
        false => print(&mut output, &findings)?,
    }
    output.finish()?;
    // Problems alone are no failure: a machine may have plugins that nobody needs.
    match devices {
        0 => Err(Failure::new(ExitStatus::Machine, runtime.no_devices())),
        _ => Ok(()),
    }
}

fn system() -> String {
    // Linux alone has such a file; of other systems the name has to do.
    let release = std::fs::read_to_string("/etc/os-release").unwrap_or_default();
    let name = release.lines().find_map(|line| line.strip_prefix("PRETTY_NAME="));
    let name = name.map_or(std::env::consts::OS, |name| name.trim_matches('"'));
    format!("{name}, {}", std::env::consts::ARCH)
}

/// The variables that choose, and those that hide.
fn variables(runtime: &Runtime) -> Vec<Finding> {
    const ABOUT: &str = "Variables";
    let environment = runtime.environment();
    let mut findings = Vec::new();
    if let Some((name, value)) = &environment.variable {
        findings.push(Finding::new(
            ABOUT,
            "info",
            format!("{name}={value} says which devices are used"),
        ));
    }
    for ignored in &environment.ignored {
        findings.push(Finding::new(ABOUT, "problem", ignored.to_string()));
    }
    for name in machine::HIDING {
        if let Ok(value) = std::env::var(name) {
            let what = format!("{name}={value} hides devices from their driver");
            findings.push(
                Finding::new(ABOUT, "info", what).advised(Some(format!("Unset {name} to see them all."))),
            );
        }
    }
    findings
}

/// What came of each plugin that was looked for.
pub(super) fn plugins(runtime: &Runtime) -> Vec<Finding> {
    const ABOUT: &str = "Plugins";
    let search = runtime.search();
    let mut findings: Vec<_> = search
        .problems
        .iter()
        .map(|problem| Finding::new(ABOUT, "problem", problem.to_string()))
        .collect();
    let folders = search.folders.iter().map(|folder| folder.display().to_string());
    let folders = folders.collect::<Vec<_>>().join(", ");
    findings.push(Finding::new(ABOUT, "info", format!("looked for in {folders}")));
    if let Some(config) = &search.config {
        findings.push(Finding::new(
            ABOUT,
            "info",
            format!("configured by {}", config.display()),
        ));
    }
    let words = |failure: &DiscoveryFailure| {
        let words: Vec<_> = [failure.to_string()].into_iter().chain(causes(failure)).collect();
        words.join(": ")
    };
    for (candidate, outcome) in runtime.considered() {
        let name = format!("{} ({})", candidate.name(), candidate.origin);
        if let Outcome::Loaded { unlisted, .. } = outcome {
            findings.extend(unlisted.iter().map(|failure| {
                let finding = Finding::new(ABOUT, "problem", &name).because(words(failure));
                finding.advised(advice(failure))
            }));
        }
        findings.push(match outcome {
            Outcome::Loaded {
                plugin,
                devices,
                hidden,
                trust,
                noted,
                undivided,
                ..
            } => {
                let counted = match (devices, hidden) {
                    (0, 0) => "it found no device".to_owned(),
                    (shown, 0) => count(*shown, "device"),
                    (shown, hidden) => format!("{}, {hidden} hidden", count(*shown, "device")),
                };
                // Nothing is wrong with a plugin whose devices are in other machines.
                let state = if *devices > 0 { "ok" } else { "info" };
                let trust = match trust {
                    Trust::NotProbed => "; not probed, as offkit-probe is missing",
                    _ => "",
                };
                let lacks: Vec<_> = plugin.lacks().iter().map(|function| function.name()).collect();
                let lacks = match lacks.as_slice() {
                    [] => String::new(),
                    names => format!("; runs no kernels without {}", names.join(", ")),
                };
                let noted = noted
                    .as_ref()
                    .map(|versions| format!(" (its file's note says {versions})"));
                let noted = noted.unwrap_or_default();
                let why = format!("speaks PI {}{noted}; {counted}{lacks}{trust}", plugin.version());
                let hider = runtime.environment().variable.as_ref().filter(|_| *hidden > 0);
                let parts = match undivided.as_slice() {
                    [] => String::new(),
                    names => format!("asks for parts of {}, where there are none, and ", names.join(", ")),
                };
                let advice = hider.map(|(variable, _)| format!("{variable} {parts}hides the others."));
                Finding::new(ABOUT, state, name).because(why).advised(advice)
            }
            Outcome::Unwanted => {
                let variable = runtime.environment().variable.as_ref();
                let variable = variable.map_or("the filter", |(variable, _)| variable);
                Finding::new(ABOUT, "info", name)
                    .because(format!("not loaded: {variable} wants none of its devices"))
            }
            Outcome::NoDriver { library } => Finding::new(ABOUT, "info", name).because(format!(
                "not loaded: this machine has no {library}, and no node of a device in /dev that it would be for"
            )),
            // Each has a finding of its own, with its reason.
            Outcome::Failed(DiscoveryFailure::Devices { below, .. }) if !below.is_empty() => {
                let kind = candidate.below();
                let see = kind.map(|kind| format!("Why not, and what to do, is under {}.", below::heading(kind)));
                Finding::new(ABOUT, "problem", name)
                    .because("nothing that it finds below it can be used")
                    .advised(see)
            }
            Outcome::Failed(failure) => {
                let finding = Finding::new(ABOUT, "problem", name).because(words(failure));
                finding.advised(advice(failure).map(|text| text + &looked_in(candidate)))
            }
            _ => Finding::new(ABOUT, "info", name),
        });
    }
    findings
}

/// A device, and up to which PTX its driver takes code, if it is one that takes any.
fn device(found: &FoundDevice) -> Finding {
    let name = found.device.name().unwrap_or_else(|error| error.to_string());
    let what = format!("{found} {name}");
    let finding = Finding::new("Devices", "ok", what);
    let driver = described(&found.device).and_then(|known| known.driver);
    let Some((driver, newest)) = driver.and_then(|driver| Some((driver, driver.newest_ptx()?))) else {
        return finding;
    };
    finding.because(match driver.first_ptx_beyond() {
        Some((beyond, needs)) => format!(
            "driver {driver} takes PTX up to {newest}, and is too old for newer: PTX {beyond} needs driver {needs} or later"
        ),
        None => format!("driver {driver} takes PTX {newest}, the newest that is known of here"),
    })
}

/// The folders that a library was looked for in.
fn looked_in(candidate: &Candidate) -> String {
    match &candidate.place {
        Place::System { not_in, .. } if !not_in.is_empty() => {
            let folders: Vec<_> = not_in.iter().map(|folder| folder.display().to_string()).collect();
            format!(" It is in none of {} either.", folders.join(", "))
        }
        _ => String::new(),
    }
}

/// What compiles kernels for the CPU device.
fn compiler() -> Option<Finding> {
    const ABOUT: &str = "Devices";
    let Some(found) = Compiler::find() else {
        let why = match std::env::var_os(COMPILE_VARIABLE) {
            Some(asked) => format!("{COMPILE_VARIABLE} is {}", asked.display()),
            None => "only x86-64 and 64-bit Arm are compiled for".to_owned(),
        };
        return Some(Finding::new(ABOUT, "info", "offkit CPU interprets kernels").because(why));
    };
    Some(match found {
        Ok(Compiler {
            program,
            llvm,
            instead,
        }) => {
            let what = format!("offkit CPU compiles kernels with LLVM {llvm}");
            match instead {
                None => Finding::new(ABOUT, "ok", what).because(program.display().to_string()),
                Some(instead) => Finding::new(ABOUT, "problem", what).because(instead),
            }
        }
        Err(reason) => Finding::new(ABOUT, "problem", "offkit CPU interprets kernels")
            .because(reason)
            .advised(Some(format!(
                "Install `{WORKER_PROGRAM}`, or say with {WORKER_VARIABLE} where it is."
            ))),
    })
}

fn libraries() -> Vec<Finding> {
    const ABOUT: &str = "Libraries of drivers";
    let finding = |library: machine::DriverLibrary| {
        let what = format!("{}, which reaches {}", library.name, library.of);
        match library.path {
            Some(path) => Finding::new(ABOUT, "ok", what).because(path.display().to_string()),
            None => {
                let package = package_of(library.name);
                let package =
                    package.map(|package| format!("Where there is such a device, install {package}."));
                Finding::new(ABOUT, "info", what)
                    .because("not installed")
                    .advised(package)
            }
        }
    };
    machine::driver_libraries().into_iter().map(finding).collect()
}

/// The kernel's side: drivers and nodes.
fn nodes() -> Vec<Finding> {
    const ABOUT: &str = "Kernel";
    let drivers = machine::kernel_drivers().into_iter().map(|driver| {
        let version = driver
            .version
            .map(|version| format!(" {version}"))
            .unwrap_or_default();
        Finding::new(ABOUT, "ok", format!("driver {}{version}", driver.name))
    });
    let nodes = machine::nodes().into_iter().map(|node| {
        let what = format!("{}, of {}", node.path.display(), node.of);
        match node.refused {
            None => Finding::new(ABOUT, "ok", what),
            Some(reason) => Finding::new(ABOUT, "problem", what)
                .because(reason)
                .advised(node.advice),
        }
    });
    let mut findings: Vec<_> = drivers.chain(nodes).collect();
    if findings.is_empty() {
        findings.push(Finding::new(
            ABOUT,
            "info",
            "neither drivers nor nodes of GPUs or accelerators: there is none, or this is a container without them",
        ));
    }
    findings
}
