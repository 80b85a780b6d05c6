//! `offkit devices`: the devices that kernels can run on, as they can be asked for.

use clap::Args;
use offkit_object::target::SpirvSupport;
use offkit_pi::host::{Device, Plugin};
use offkit_plugin_cpu::Compiler;
use offkit_plugin_cpu::plugin::CHECKED_NAME;
use offkit_runtime::filter::Kind;
use offkit_runtime::probe::{HELPER, Trust};
use offkit_runtime::{FoundDevice, Outcome, Runtime, described};
use serde_json::json;

use crate::failure::{ExitStatus, Failure};
use crate::terminal::{Terminal, escape, size};

/// The number of the form of its JSON.
const SCHEMA: u32 = 1;

const EXAMPLES: &str = "\
Examples:
  offkit devices
  offkit devices -v     # with plugins and drivers
  ONEAPI_DEVICE_SELECTOR='opencl:*' offkit devices --json";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Devices {
    /// Write one JSON object a line, one line a device
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(options: &Devices, is_verbose: bool, terminal: Terminal) -> Result<(), Failure> {
    let mut runtime = Runtime::discover(&[&offkit_plugin_cpu::plugin::BUILT_IN]);
    let found = runtime.found().to_vec();
    super::kernels::tell_left_out(&runtime, terminal);
    let mut output = terminal.output();
    let styles = output.styles();
    // It takes starting it to know whether it is there.
    let compiler = found.iter().any(|found| has_compiler(&found.device));
    let compiler = compiler.then(Compiler::find).flatten();
    let untried = untried(&runtime);
    for (number, found) in found.iter().enumerate() {
        let FoundDevice { device, .. } = found;
        let compiler = compiler.as_ref().filter(|_| has_compiler(device));
        match options.json {
            true => output.json(SCHEMA, &object(number, found, compiler, &untried))?,
            false => {
                let name = name(device);
                output.line(format_args!(
                    "{number}  {}{}{}  {found}",
                    styles.name.start,
                    escape(&name),
                    styles.name.end,
                ))?;
                output.line(format_args!(
                    "   {}",
                    facts(device, compiler, &untried).join(", ")
                ))?;
            }
        }
    }
    if is_verbose && !options.json {
        let mut looked_at = super::doctor::plugins(&runtime);
        looked_at.extend(super::below::findings(&runtime));
        output.line("")?;
        super::finding::print(&mut output, &looked_at)?;
    }
    output.finish()?;
    match found.is_empty() {
        false => Ok(()),
        true => Err(Failure::new(ExitStatus::Machine, runtime.no_devices())
            .hint("`offkit doctor` says what was looked for, and why it is not used")),
    }
}

/// The plugins that were loaded without being tried.
fn untried(runtime: &Runtime) -> Vec<Plugin> {
    let untried = runtime.considered().filter_map(|(_, outcome)| match outcome {
        Outcome::Loaded {
            plugin,
            trust: Trust::NotProbed,
            ..
        } => Some(plugin.clone()),
        _ => None,
    });
    untried.collect()
}

/// Whether a device's plugin was tried before it was loaded; null for one that is built in.
fn is_probed(device: &Device, untried: &[Plugin]) -> Option<bool> {
    let path = device.plugin().path()?;
    Some(!untried.iter().any(|plugin| plugin.path() == Some(path)))
}

fn name(device: &Device) -> String {
    device.name().unwrap_or_else(|error| format!("? ({error})"))
}

/// What kind of device it is, in one word.
pub(super) fn kind(device: &Device) -> &'static str {
    Kind::of(device).map_or("other", Kind::name)
}

/// The newest PTX that a device's driver takes, where it takes PTX and its version says so.
fn newest_ptx(device: &Device) -> Option<String> {
    let newest = described(device)?.driver?.newest_ptx()?;
    Some(newest.to_string())
}

/// Whether it is the device of this program that has kernels compiled by another program.
fn has_compiler(device: &Device) -> bool {
    // What has no file is built in, which the CPU device alone is; its checked twin interprets.
    let is_checked = device.name().is_ok_and(|name| name.starts_with(CHECKED_NAME));
    device.plugin().path().is_none() && !is_checked
}

/// What compiles a device's kernels, or why nothing does.
type CompilerOf<'c> = Option<&'c Result<Compiler, String>>;

/// What is known of a device, for people; what it does not say is left out.
fn facts(device: &Device, compiler: CompilerOf<'_>, untried: &[Plugin]) -> Vec<String> {
    let units = device
        .max_compute_units()
        .map(|units| format!("{units} compute units"));
    let memory = device.global_memory_size().map(size);
    let takes = device.il_version().ok();
    let spirv = takes.and_then(|versions| SpirvSupport::new(&versions, Vec::new()).newest);
    let described = described(device).map(|known| known.target.processor().to_owned());
    let processor = described.filter(|processor| !processor.is_empty());
    let driver = device.driver_version().ok().filter(|version| !version.is_empty());
    let version = driver.map(|version| format!("driver {}", escape(&version)));
    [
        Some(kind(device).to_owned()),
        processor,
        units.ok(),
        memory.ok(),
        spirv.map(|version| format!("takes SPIR-V {version}")),
        newest_ptx(device).map(|version| format!("takes PTX {version}")),
        version,
        compiler.map(|compiler| match compiler {
            Ok(Compiler { llvm, .. }) => format!("compiles with LLVM {llvm}"),
            Err(reason) => format!("interprets ({})", escape(reason)),
        }),
        Some(format!(
            "by {} (PI {})",
            device.plugin().name(),
            device.plugin().version()
        )),
        is_probed(device, untried)
            .filter(|is_probed| !is_probed)
            .map(|_| format!("not probed, as {HELPER} is missing")),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// A device as an object; null is what it does not say.
fn object(
    number: usize,
    found: &FoundDevice,
    compiler: CompilerOf<'_>,
    untried: &[Plugin],
) -> serde_json::Value {
    let FoundDevice {
        device,
        backend,
        number: of_backend,
        part,
        ..
    } = found;
    json!({
        "number": number,
        "name": device.name().ok(),
        "kind": kind(device),
        "backend": backend,
        "backend_number": of_backend,
        "part": part,
        "vendor": device.vendor().ok(),
        "platform": device.platform().name().ok(),
        "platform_version": device.platform().version().ok(),
        "driver_version": device.driver_version().ok(),
        "compute_units": device.max_compute_units().ok(),
        "max_work_group_size": device.max_work_group_size().ok(),
        "global_memory": device.global_memory_size().ok(),
        "local_memory": device.local_memory_size().ok(),
        "il_version": device.il_version().ok(),
        "newest_ptx": newest_ptx(device),
        "extensions": device.extensions().ok(),
        "compiler": compiler.and_then(|compiler| Some(format!("LLVM {}", compiler.as_ref().ok()?.llvm))),
        "interprets_because": compiler.and_then(|compiler| compiler.as_ref().err()),
        "plugin": device.plugin().name(),
        "plugin_path": device.plugin().path(),
        "plugin_version": device.plugin().version(),
        "plugin_probed": is_probed(device, untried),
    })
}
