//! `offkit check`: which kernels run on which devices, and whether a package keeps to its policy.

mod device;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use clap::Args;
use offkit_host::files;
use offkit_inventory::check::{Check as Checked, Coverage, Subject, Wanted, check};
use offkit_inventory::diff::Snapshot;
use offkit_inventory::findings::{Finding, findings, waive};
use offkit_inventory::policy::{Level, Policy};
use offkit_inventory::{Depth, Inventory};
use offkit_object::target::{DriverVersion, Family, Run};
use serde_json::{Value, json};

use super::inventory::{Followed, add_needed, collect, warn};
use super::limits::LimitOptions;
use super::problem_json;
use super::table::Table;
use crate::failure::{ExitStatus, Failure};
use crate::terminal::{Terminal, columns, escape};

const EXAMPLES: &str = "\
Examples:
  offkit check libkernels.so --targets sm_75,sm_80+ptx,h100
  offkit check wheel.whl --targets sm_80 --driver 535.54
  offkit check wheel.whl --device auto
  offkit check wheel.whl --targets sm_80 --images
  offkit check a.whl --policy offkit.toml --baseline old.txt
  offkit check a.whl --targets gfx90a,gfx942:xnack+ --json";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Check {
    /// Files to look into, locations in them, or Triton's cache; with --recursive any folder
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Look into all files below folders; a file without device code is no error
    #[arg(short, long)]
    recursive: bool,
    /// Also check the shared libraries that the files need, and what those need
    #[arg(long)]
    needed: bool,
    /// Devices that every kernel needs code for: `sm_80`, `9.0`, `gfx90a:xnack+`, `intel_gpu_pvc`, `h100`; with `+ptx`,
    /// PTX too
    #[arg(long, value_name = "DEVICE", value_delimiter = ',')]
    targets: Vec<Wanted>,
    /// The same for a device of this machine: `auto` for NVIDIA's and AMD's GPUs and NVIDIA's driver; `opencl:0` for one
    /// that `offkit devices` lists, with the SPIR-V that it takes
    #[arg(long, value_name = "DEVICE")]
    device: Option<String>,
    /// The version of NVIDIA's driver, such as `535.54.03`, or any of the branch `535`
    #[arg(long, value_name = "VERSION")]
    driver: Option<DriverVersion>,
    /// The version of ROCm on AMD's devices, such as `6.2`
    #[arg(long, value_name = "VERSION")]
    rocm: Option<DriverVersion>,
    /// Count `probably` as no
    #[arg(long)]
    strict: bool,
    /// Check the rules in this file: an `offkit.toml`, or a `pyproject.toml` with `[tool.offkit]`
    #[arg(long, value_name = "FILE")]
    policy: Option<PathBuf>,
    /// Compare with an earlier --write-baseline, for the policy's rules on growth
    #[arg(long, value_name = "FILE")]
    baseline: Option<PathBuf>,
    /// Write what kernels use now, for --baseline and `offkit diff`
    #[arg(long, value_name = "FILE")]
    write_baseline: Option<PathBuf>,
    /// Print the verdict of every kernel
    #[arg(long)]
    kernels: bool,
    /// Read only headers: check that each fatbin, bundle or section has an image for the device. This unpacks nothing,
    /// and misses kernels that only other images have
    #[arg(long, conflicts_with_all = ["kernels", "policy", "baseline", "write_baseline"])]
    images: bool,
    /// How many kernels or containers without code to name for each device
    #[arg(long, value_name = "N", default_value = "5")]
    top: usize,
    /// Write one JSON object
    #[arg(long, conflicts_with = "markdown")]
    json: bool,
    /// Write Markdown, for a comment on a pull request
    #[arg(long)]
    markdown: bool,
    #[command(flatten)]
    limits: LimitOptions,
}

/// The number of the form of its JSON.
const SCHEMA: u32 = 1;

pub(crate) fn run(options: &Check, terminal: Terminal) -> Result<(), Failure> {
    let policy = match &options.policy {
        Some(path) => {
            let text = read(path)?;
            Policy::parse(&text).map_err(|error| Failure::input(format!("{}: {error}", path.display())))?
        }
        None => Policy::default(),
    };
    let wanted = wanted(options, &policy)?;
    let baseline = match &options.baseline {
        Some(path) => {
            let text = read(path)?;
            let parsed = Snapshot::parse(&text);
            Some(parsed.map_err(|error| {
                Failure::input(format!("{}: {error}", path.display()))
                    .hint("`offkit check --write-baseline` writes such a file")
            })?)
        }
        None => None,
    };
    let depth = match options.images {
        true => Depth::Headers,
        false => Depth::Kernels,
    };
    // With `--needed` a program may have no code itself, for all of it is in libraries; whether
    // there is any at all is asked once these were followed.
    let mut inventory = collect(
        &options.files,
        options.recursive,
        !options.needed,
        depth,
        &options.limits,
        terminal,
    )?;
    let mut followed = Followed::default();
    if options.needed {
        followed = add_needed(
            &mut inventory,
            &options.files,
            options.recursive,
            depth,
            &options.limits,
            terminal,
        )?;
        if inventory.images.is_empty() && inventory.problems.is_empty() {
            return Err(Failure::new(
                ExitStatus::No,
                "there is no device code in the files and in what they need",
            ));
        }
    }
    if let Some(path) = &options.write_baseline
        && inventory.problems.is_empty()
    {
        let text = Snapshot::of(&inventory).to_string();
        files::write(path, &[text.as_bytes()]).map_err(Failure::input)?;
        terminal.note(format_args!("wrote {}", path.display()));
    }
    let mut checked = check(&inventory, &wanted);
    // Before the findings: what the policy lets be is then no hole any more.
    let mut found = waive(&inventory, &mut checked, &wanted, &policy);
    found.extend(findings(
        &inventory,
        &checked,
        &wanted,
        &policy,
        baseline.as_ref(),
    ));
    if options.strict {
        found.extend(doubts(&inventory, &checked, &wanted));
    }
    let has_failed = found.iter().any(|finding| finding.level == Level::Error);
    let report = Report {
        options,
        inventory: &inventory,
        wanted: &wanted,
        checked: &checked,
        found: &found,
        followed: &followed,
        has_failed,
    };
    report.say(terminal)?;
    report.tell_needed(terminal);
    if warn(&inventory, terminal) {
        let failure = Failure::new(
            ExitStatus::Input,
            "not everything could be read: the verdict leaves that out",
        );
        return Err(match &options.write_baseline {
            // A baseline that was whole is worth more than one with holes.
            Some(path) => failure.hint(format!("{} was not written", path.display())),
            None => failure,
        });
    }
    match has_failed {
        true => {
            let broken = found
                .iter()
                .filter(|finding| finding.level == Level::Error)
                .count();
            Err(Failure::new(
                ExitStatus::No,
                match broken {
                    1 => "a rule is broken".to_owned(),
                    broken => format!("{broken} rules are broken"),
                },
            ))
        }
        false => Ok(()),
    }
}

fn read(path: &Path) -> Result<String, Failure> {
    std::fs::read_to_string(path)
        .map_err(|error| Failure::input(format!("cannot read {}: {error}", path.display())))
}

/// The devices of the options and of the policy.
fn wanted(options: &Check, policy: &Policy) -> Result<Vec<Wanted>, Failure> {
    let parse = |text: &String| text.parse::<Wanted>().map_err(Failure::input);
    let mut named = options.targets.clone();
    match options.device.as_deref() {
        Some("auto") => named.extend(device::of_this_machine()?.into_iter().map(Wanted::new)),
        Some(name) => match device::of_runtime(name) {
            Some(device) => named.push(Wanted::new(device?)),
            None => named.push(parse(&name.to_owned())?),
        },
        None => {}
    }
    for name in &policy.check.targets {
        named.push(parse(name)?);
    }
    for name in &policy.check.native {
        let mut native = parse(name)?;
        native.native_only = true;
        named.push(native);
    }
    // Who names a device twice asks for all that either asks for.
    let mut wanted = Vec::<Wanted>::new();
    for one in named {
        match wanted.iter_mut().find(|known| known.device == one.device) {
            Some(known) => {
                known.with_portable |= one.with_portable;
                known.native_only |= one.native_only;
            }
            None => wanted.push(one),
        }
    }
    // Rules on sizes and growth, and a baseline, are about no device.
    if wanted.is_empty() && options.policy.is_none() && options.write_baseline.is_none() {
        return Err(Failure::input("there is no device to check for")
            .hint("name some with `--targets sm_80,gfx90a`, or this machine's with `--device auto`"));
    }
    let version = |given: Option<DriverVersion>, named: Option<&String>| match (given, named) {
        (None, Some(text)) => text.parse().map(Some).map_err(Failure::input),
        (given, _) => Ok(given),
    };
    let driver = version(options.driver, policy.check.driver.as_ref())?;
    let rocm = version(options.rocm, policy.check.rocm.as_ref())?;
    if let Some(wrong) = driver.filter(|driver| driver.is_rocm()) {
        let failure = Failure::input(format!("{wrong} is no version of NVIDIA's driver"));
        return Err(failure.hint(
            "drivers have three digits before the first point, as 550.54.14; ROCm's version is `--rocm`",
        ));
    }
    if let Some(wrong) = rocm.filter(|rocm| !rocm.is_rocm()) {
        let failure = Failure::input(format!("{wrong} is no version of ROCm"));
        return Err(failure.hint("ROCm has versions such as 6.3; that of NVIDIA's driver is `--driver`"));
    }
    for wanted in &mut wanted {
        let told = match wanted.device.target.family() {
            Family::Amdgcn => rocm,
            family if family.is_nvptx() => driver,
            _ => None,
        };
        // What is typed counts more than what this machine's driver said of itself.
        wanted.device.driver = told.or(wanted.device.driver);
    }
    Ok(wanted)
}

/// What is only probable.
fn doubts(inventory: &Inventory, checked: &Checked, wanted: &[Wanted]) -> Vec<Finding> {
    let doubtful = checked
        .coverage
        .iter()
        .filter(|coverage| !coverage.doubts.is_empty());
    doubtful
        .map(|coverage| {
            let library = inventory.library_name(coverage.library).to_owned();
            let target = wanted[coverage.wanted].name();
            Finding::strict(library, target, coverage.doubts.join("; "))
        })
        .collect()
}

struct Report<'a> {
    options: &'a Check,
    inventory: &'a Inventory,
    wanted: &'a [Wanted],
    checked: &'a Checked,
    found: &'a [Finding],
    followed: &'a Followed,
    has_failed: bool,
}

impl Report<'_> {
    fn say(&self, terminal: Terminal) -> Result<(), Failure> {
        let mut output = terminal.output();
        if self.options.json {
            output.json(SCHEMA, &self.object())?;
            return output.finish();
        }
        let styles = output.styles();
        let waived: usize = self.checked.coverage.iter().map(|coverage| coverage.waived).sum();
        let has_holes = self
            .checked
            .coverage
            .iter()
            .any(|coverage| !coverage.holes.is_empty());
        let all = match self.options.images {
            true => "every container has an image that runs",
            false => "every kernel runs",
        };
        let verdict = match (self.has_failed, self.wanted) {
            (true, _) => "failed".to_owned(),
            // What could not be read may have kernels that run nowhere.
            (false, _) if !self.is_whole() => "undecided: not everything could be read".to_owned(),
            (false, _) if has_holes => "passed, but not every kernel runs on every device".to_owned(),
            (false, []) => "passed".to_owned(),
            (false, _) if waived > 0 => format!("passed, with {waived} waived by the policy"),
            (false, [device]) => format!("passed: {all} on {}", device.name()),
            (false, devices) => format!("passed: {all} on all {} devices", devices.len()),
        };
        output.line(match self.options.markdown {
            true => format!("**{verdict}**"),
            false => verdict,
        })?;
        let most = (columns() / 2).clamp(24, 100);
        for table in [self.coverage(), self.kernels(), self.holes(), self.findings()] {
            if table.is_empty() {
                continue;
            }
            output.lines("\n")?;
            output.lines(&match self.options.markdown {
                true => table.markdown(),
                false => table.text(styles, most),
            })?;
        }
        output.finish()
    }

    /// The libraries that are needed and were not looked into, each with one that needs it.
    fn not_looked_into(&self) -> Vec<(&str, &str)> {
        let needed = self.inventory.needed_elsewhere().into_iter();
        let needed = needed.filter(|(name, _)| !self.followed.names.contains(*name));
        let needed = needed.map(|(name, by)| (name, self.inventory.library_name(by)));
        let mut needed: BTreeMap<_, _> = needed.collect();
        for (name, by) in &self.followed.missing {
            needed.entry(name).or_insert(by);
        }
        needed.into_iter().collect()
    }

    fn tell_needed(&self, terminal: Terminal) {
        /// Enough to see what kind of libraries they are.
        const SHOWN: usize = 5;
        let needed = self.not_looked_into();
        let names: Vec<_> = needed.iter().take(SHOWN).map(|(name, _)| escape(name)).collect();
        let more = match needed.len().saturating_sub(SHOWN) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        match (names.as_slice(), self.options.needed) {
            ([], _) => {}
            (_, false) => terminal.note(format_args!(
                "libraries that are needed were not looked into: {}{more}; --needed follows those that the system finds",
                names.join(", ")
            )),
            (_, true) => terminal.warning(format_args!(
                "libraries that are needed were not found, and not looked into: {}{more}",
                names.join(", ")
            )),
        }
    }

    fn is_whole(&self) -> bool {
        self.inventory.problems.is_empty()
    }

    fn coverage(&self) -> Table {
        let subjects = match self.options.images {
            true => ">containers",
            false => ">kernels",
        };
        let mut table = Table::new(
            "Devices",
            &[
                "library", "device", "verdict", subjects, ">native", ">JIT", ">no code", "driver",
            ],
        );
        for coverage in &self.checked.coverage {
            table.row(vec![
                self.inventory.library_name(coverage.library).to_owned(),
                self.wanted[coverage.wanted].name(),
                verdict(coverage, &self.wanted[coverage.wanted]),
                coverage.subjects.to_string(),
                coverage.native.to_string(),
                coverage.compiled.to_string(),
                coverage.holes.len().to_string(),
                match coverage.least_driver {
                    // No driver helps where nothing runs.
                    _ if coverage.native + coverage.compiled == 0 => "-".to_owned(),
                    Some(least) => format!("{least} or later"),
                    None => "any".to_owned(),
                },
            ]);
        }
        for place in &self.checked.nothing_for {
            let name = self.wanted[*place].name();
            let mut row = vec!["all".to_owned(), name, "no code for devices like this".to_owned()];
            // Markdown needs a cell in each of the columns.
            row.resize(8, "-".to_owned());
            table.row(row);
        }
        let without = self.checked.without_kernels.len();
        if without > 0 {
            table.note = match without {
                1 => "1 image has no kernels, or none that can be read: no verdict is about it".to_owned(),
                _ => format!(
                    "{without} images have no kernels, or none that can be read: no verdict is about these"
                ),
            };
        }
        if self.options.images {
            "kernels were not looked into: one that only other images have would be missing"
                .clone_into(&mut table.note);
        }
        table
    }

    /// The verdict of every kernel, if that is asked for.
    fn kernels(&self) -> Table {
        let mut table = Table::new("Kernels", &["library", "device", "verdict", "kernel"]);
        for coverage in self.checked.coverage.iter().filter(|_| self.options.kernels) {
            for (subject, run) in &coverage.verdicts {
                table.row(vec![
                    self.inventory.library_name(coverage.library).to_owned(),
                    self.wanted[coverage.wanted].device.to_string(),
                    how(*run).to_owned(),
                    subject.readable(self.inventory).to_owned(),
                ]);
            }
        }
        table
    }

    fn holes(&self) -> Table {
        let (title, subject) = match self.options.images {
            true => ("Containers without code", "container"),
            false => ("Kernels without code", "kernel"),
        };
        let mut table = Table::new(title, &["library", "device", subject, "why"]);
        let mut more = 0;
        for coverage in &self.checked.coverage {
            more += coverage.holes.len().saturating_sub(self.options.top);
            for (subject, reason) in coverage.holes.iter().take(self.options.top) {
                table.row(vec![
                    self.inventory.library_name(coverage.library).to_owned(),
                    self.wanted[coverage.wanted].device.to_string(),
                    subject.readable(self.inventory).to_owned(),
                    reason.to_string(),
                ]);
            }
        }
        if more > 0 {
            table.note = format!("and {more} more: --top N shows N for each device, --json all");
        }
        table
    }

    fn findings(&self) -> Table {
        let mut table = Table::new("Rules", &["level", "rule", "library", "what"]);
        for finding in self.found {
            table.row(vec![
                level(finding.level).to_owned(),
                finding.rule.to_owned(),
                finding.library.clone().unwrap_or_else(|| "-".to_owned()),
                finding.message.clone(),
            ]);
        }
        table
    }

    /// The name of a kernel in the code.
    fn symbol(&self, subject: &Subject) -> Option<&str> {
        match subject {
            Subject::Kernel(name) => Some(self.inventory.names.symbol(*name)),
            _ => None,
        }
    }

    /// A number of kernels, or of containers.
    fn counts(&self, subjects: usize) -> [Option<usize>; 2] {
        match self.options.images {
            true => [None, Some(subjects)],
            false => [Some(subjects), None],
        }
    }

    fn object(&self) -> Value {
        let coverage = self.checked.coverage.iter().map(|coverage| {
            let holes = coverage.holes.iter().map(|(subject, reason)| {
                let kernel = self.symbol(subject);
                json!({
                    "kernel": kernel,
                    "readable": kernel.map(|_| subject.readable(self.inventory)),
                    "container": match subject {
                        Subject::Container(place) => Some(place.to_string()),
                        _ => None,
                    },
                    "reason": reason.to_string(),
                })
            });
            let verdicts = coverage
                .verdicts
                .iter()
                .map(|(subject, run)| json!({ "kernel": self.symbol(subject), "verdict": how(*run) }));
            let [kernels, containers] = self.counts(coverage.subjects);
            json!({
                "kernel_verdicts": self.options.kernels.then(|| verdicts.collect::<Vec<_>>()),
                "library": self.inventory.library_name(coverage.library),
                "location": self.inventory.libraries[coverage.library].location.to_string(),
                "target": self.wanted[coverage.wanted].name(),
                "verdict": verdict(coverage, &self.wanted[coverage.wanted]),
                "kernels": kernels,
                "containers": containers,
                "native": coverage.native,
                "jit": coverage.compiled,
                "native_archs": coverage.native_archs,
                "least_driver": coverage.least_driver.map(|least| least.to_string()),
                "doubts": coverage.doubts,
                "holes": holes.collect::<Vec<_>>(),
                "waived": coverage.waived,
            })
        });
        let findings = self.found.iter().map(|finding| {
            json!({
                "level": level(finding.level),
                "rule": finding.rule,
                "library": finding.library,
                "kernel": finding.kernel,
                "target": finding.target,
                "value": finding.value,
                "limit": finding.limit,
                "message": finding.message,
            })
        });
        let totals = self.wanted.iter().enumerate().map(|(place, wanted)| {
            let all = || {
                self.checked
                    .coverage
                    .iter()
                    .filter(|coverage| coverage.wanted == place)
            };
            let sum = |count: fn(&Coverage) -> usize| all().map(count).sum::<usize>();
            let [kernels, containers] = self.counts(sum(|coverage| coverage.subjects));
            json!({
                "target": wanted.name(),
                "libraries": all().count(),
                "kernels": kernels,
                "containers": containers,
                "native": sum(|coverage| coverage.native),
                "jit": sum(|coverage| coverage.compiled),
                "no_code": sum(|coverage| coverage.holes.len()),
                "waived": sum(|coverage| coverage.waived),
            })
        });
        json!({
            "totals": totals.collect::<Vec<_>>(),
            "passed": !self.has_failed && self.is_whole(),
            "targets": self.wanted.iter().map(Wanted::name).collect::<Vec<_>>(),
            "coverage": coverage.collect::<Vec<_>>(),
            "no_code_for": self.checked.nothing_for.iter().map(|place| self.wanted[*place].name()).collect::<Vec<_>>(),
            "findings": findings.collect::<Vec<_>>(),
            "not_looked_into": self.not_looked_into().iter().map(|(name, by)| json!({
                "library": name,
                "needed_by": by,
            })).collect::<Vec<_>>(),
            "images_without_kernels": self.checked.without_kernels.len(),
            "problems": self.inventory.problems.iter().map(problem_json).collect::<Vec<_>>(),
        })
    }
}

fn how(run: Option<Run>) -> &'static str {
    match run {
        Some(Run::Native) => "native",
        Some(Run::Compiled) => "JIT",
        None => "no code",
    }
}

fn level(level: Level) -> &'static str {
    match level {
        Level::Off => "off",
        Level::Warn => "warning",
        Level::Error => "error",
    }
}

/// What a device gets of a library, in words.
fn verdict(coverage: &Coverage, wanted: &Wanted) -> String {
    let probably = match coverage.doubts.is_empty() {
        true => "",
        false => "probably ",
    };
    let all = coverage.subjects;
    let own = wanted.device.target.arch.as_str();
    let compatible: Vec<_> = coverage
        .native_archs
        .iter()
        .filter(|arch| *arch != own)
        .map(String::as_str)
        .collect();
    let native = match compatible.is_empty() || coverage.native_archs.iter().any(|arch| arch == own) {
        true => format!("{probably}native"),
        false => format!("{probably}native ({} code)", compatible.join(", ")),
    };
    let waived = match coverage.waived {
        0 => String::new(),
        waived => format!(", {waived} waived"),
    };
    match coverage.holes.len() {
        holes if holes == all => "no code".to_owned(),
        0 if coverage.waived == all => format!("no code{waived}"),
        0 if coverage.compiled == 0 => native + &waived,
        0 if coverage.native == 0 => format!("{probably}JIT{waived}"),
        0 => format!("{native}, {} of {all} by JIT{waived}", coverage.compiled),
        holes => format!("no code for {holes} of {all}"),
    }
}
