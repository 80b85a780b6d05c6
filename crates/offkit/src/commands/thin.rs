//! `offkit thin`: a file without the device code for some targets.

use std::collections::{BTreeMap, BTreeSet};
use std::panic::resume_unwind;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use clap::{ArgGroup, Args};
use offkit_inventory::count;
use offkit_object::target::{DriverVersion, Family};
use offkit_object::{
    DeviceImage, ImageFormat, Item, Losses, Problem, Target, ThinDraft, Thinning, images,
    least_driver_to_unpack, range_within,
};
use serde_json::{Value, json};

use super::Source;
use super::filter::has_triple;
use super::limits::LimitOptions;
use super::mapped::Mapped;
use super::written::keep_apart;
use crate::failure::{ExitStatus, Failure};
use crate::terminal::{Terminal, escape, size};
use offkit_host::files::{self, Staged};

/// The number of the form of its JSON.
const SCHEMA: u32 = 1;

const HELP: &str = "\
A name is an architecture (`sm_90`, `gfx90a`, `gfx90a:xnack+`), the code that a driver compiles or links for \
one (`compute_90`, `lto_90`), all code of such a format (`ptx`, `spirv`, `lto-ir`), or a target triple or its first \
parts (`spir64_gen`). `gfx90a` includes `gfx90a:xnack+`, and `--keep sm_90` keeps `sm_90a`. `--keep` leaves the code \
of other vendors alone. Code that a driver still compiles or links goes only when you name it.

If no image matches a name of `--drop`, a note says so; if nothing else goes, the result is a copy of the file. If no \
image matches any name of `--keep`, offkit writes nothing and exits with 1, because everything would go. A file without \
device code is bad input. A file whose containers are all empty is copied.

Addresses, symbols, host code and all other images stay as they are. Libraries shrink by whole pages. With \
`--in-place`, or where pages cannot leave, zeros replace what goes.

Examples:
  offkit thin app.so --drop sm_86 -o thin/app.so
  offkit thin app.o --keep gfx90a,gfx942 --dry-run
  offkit thin x-1.0-py3-none-any.whl --keep sm_90 \\
    --local-version sm90 -o x-1.0+sm90-py3-none-any.whl";

#[derive(Debug, Args)]
#[command(after_help = HELP)]
#[command(group = ArgGroup::new("choice").args(["keep", "drop", "recompress"]).required(true).multiple(true))]
pub(crate) struct Thin {
    /// An object, archive, library, program, package or container of images
    file: PathBuf,
    /// Keep images for these targets, and no others of the same vendors
    #[arg(long, value_name = "NAME[,NAME…]", value_delimiter = ',')]
    keep: Vec<String>,
    /// Leave out images for these targets
    #[arg(long, value_name = "NAME[,NAME…]", value_delimiter = ',')]
    drop: Vec<String>,
    /// Compress CUDA's images and HIP's compressed bundles again, as small as zstd can, on all cores, for minutes; keep
    /// what is smaller. NVIDIA's drivers read zstd from 550.54.14 on
    #[arg(long, value_name = "METHOD", value_parser = ["zstd"])]
    recompress: Option<String>,
    /// Write the thinned file here; `-` is standard output
    #[arg(short, long, value_name = "FILE", required_unless_present = "dry_run")]
    output: Option<PathBuf>,
    /// Print what would go and what that saves, and write nothing
    #[arg(long)]
    dry_run: bool,
    /// Keep the size of programs and libraries: zeros replace what goes, and nothing moves
    #[arg(long)]
    in_place: bool,
    /// Add a label to the version of a wheel, as in `2.9.0+sm80`, to tell it from the whole one
    #[arg(long, value_name = "LABEL")]
    local_version: Option<String>,
    /// Continue even if kernels lose all their code, and list them
    #[arg(long)]
    allow_lost_kernels: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    limits: LimitOptions,
}

pub(crate) fn run(options: &Thin, terminal: Terminal) -> Result<(), Failure> {
    let source = Source::open(&options.file)?;
    check_output(options, &source)?;
    let whole = source.place.clone();
    if !whole.is_file() {
        return Err(Failure::input(format!(
            "{whole}: `offkit thin` takes whole files, not parts of them"
        )));
    }
    let limits = options.limits.limits();
    let progress = terminal.progress();
    progress.step("reading");
    let failed = |error: offkit_object::Error| Failure::input(format!("{whole}: {error}"));
    let found = images(whole.file(), &source.content, &limits);
    source.passed(&source.content);
    let (found, problems): (Vec<_>, Vec<_>) = found.into_iter().partition(Result::is_ok);
    let problems: Vec<Problem> = problems.into_iter().filter_map(Result::err).collect();
    // Bundles have an empty entry for the host, and objects bundles with its code: none of that is ours.
    let found = found.into_iter().filter_map(Result::ok);
    let found: Vec<DeviceImage<'_>> = found.filter(|image| !image.target.family().is_host()).collect();
    // A file that was thinned to nothing before may come again, as builds repeat their steps: its
    // empty containers tell it from one that never had any code.
    if found.is_empty() && !(problems.is_empty() && has_containers(&source, options)) {
        return Err(super::nothing_in(&whole, &problems));
    }
    let choice = Choice::of(options);
    choice.check(&found, terminal)?;
    // Before all the work: the name follows from the metadata and the label alone.
    if let Some(label) = &options.local_version {
        let name = offkit_object::zip::with_local_version_name(&source.content, label);
        check_name(options, &name.map_err(failed)?)?;
    }
    let goes = |image: &DeviceImage<'_>| !choice.keeps(image);
    let dropped: Vec<_> = found
        .iter()
        .filter(|image| goes(image))
        .map(|image| image.location.clone())
        .collect();
    let thinning = Thinning::default()
        .in_place(options.in_place)
        .recompress(options.recompress.is_some());
    let output = options.output.as_deref().filter(|_| !options.dry_run);
    // With another version it is not yet what is to be there.
    let beside = output.filter(|_| options.local_version.is_none());
    // Nobody needs the bytes that a dry run would write, unless it says how images are compressed.
    let is_counted = options.dry_run && !thinning.recompress && options.local_version.is_none();
    let compare = || {
        let losses = Losses::of(&found, goes, &limits);
        source.passed(&source.content);
        losses
    };
    let make = || {
        let done = AtomicU64::new(0);
        let tell = |bytes: u64| {
            let done = done.fetch_add(bytes, Ordering::Relaxed) + bytes;
            progress.step(format!("compressing, {} done", size(done)));
        };
        let draft =
            offkit_object::thin_draft(whole.file(), &source.content, &dropped, thinning, &limits, &tell);
        let draft = draft.map_err(failed)?;
        if is_counted {
            return Ok((draft, None));
        }
        if options.dry_run {
            let staged = Staged::in_memory(&draft.chunks.slices());
            return Ok((draft, Some(staged)));
        }
        progress.step("writing");
        let staged = Staged::write(beside, &draft.chunks.slices(), &|piece| source.passed(piece));
        Ok((draft, Some(staged.map_err(Failure::input)?)))
    };
    progress.step("comparing kernels");
    // To write what is to be thrown away where kernels would be lost costs nothing beside comparing them, unless it is
    // compressed anew: then that is waited for.
    let is_copied = !thinning.recompress
        && found
            .iter()
            .all(|image| range_within(&source.content, image.stored_bytes()).is_some());
    let (losses, made) = match is_copied {
        true => std::thread::scope(|scope| {
            let losses = scope.spawn(compare);
            let made = make();
            let losses = losses.join().unwrap_or_else(|panic| resume_unwind(panic));
            (losses, Some(made))
        }),
        false => (compare(), None),
    };
    let is_allowed = check_losses(options, &losses);
    // A dry run shows what it is about before it fails.
    let is_allowed = match options.dry_run {
        true => is_allowed,
        false => Ok(is_allowed?),
    };
    progress.step("thinning");
    let made: Result<(ThinDraft<'_>, Option<Staged>), Failure> = made.unwrap_or_else(make);
    let (draft, staged) = match (made, is_allowed.as_ref()) {
        (Err(error), Ok(())) => return Err(error),
        // Of two reasons the one that would be told without a dry run.
        (Err(_), Err(_)) => return is_allowed,
        (Ok(made), _) => made,
    };
    let mut thinned = Thinned {
        size: draft.chunks.len(),
        least_driver: None,
        kept_size: &draft.kept_size,
        not_recompressed: &draft.not_recompressed,
    };
    match staged {
        None => {
            let staying = found.iter().filter(|image| !goes(image));
            thinned.least_driver = staying.filter_map(least_driver_to_unpack).max();
        }
        Some(staged) => {
            progress.step("reading back");
            let new = staged.content();
            let least_driver = draft.check(new, &Mapped(&source.content), &Mapped(new));
            thinned.least_driver = least_driver.map_err(failed)?;
            if let Some(label) = &options.local_version {
                let versioned = offkit_object::zip::with_local_version(new, label, &limits);
                let (bytes, _) = versioned.map_err(failed)?;
                // Only the wheel with its label was made of it: it need not take disk any longer.
                drop(staged);
                if let Some(output) = output {
                    files::replace(output, &[&bytes]).map_err(Failure::input)?;
                }
                thinned.size = bytes.len() as u64;
            } else if let Some(output) = output {
                let placed = staged.put_in_place(output, files::durability(output, &source.path));
                placed.map_err(Failure::input)?;
            }
        }
    }
    drop(progress);
    if let Some(output) = output {
        keep_mode(&source.path, output)?;
    }
    let report = Report {
        options,
        before: source.content.len() as u64,
        rows: rows(&found, &choice),
        losses: &losses,
        thinned: &thinned,
        problems: &problems,
    };
    match options.json {
        true => terminal.json(SCHEMA, &report.json())?,
        false => report.show(terminal)?,
    }
    for problem in &problems {
        terminal.warning(problem);
    }
    is_allowed?;
    match problems.is_empty() {
        true => Ok(()),
        false => Err(Failure::input(format!(
            "{whole}: offkit could not read everything, and left the rest as it is"
        ))),
    }
}

/// What came of it.
struct Thinned<'d> {
    size: u64,
    least_driver: Option<DriverVersion>,
    kept_size: &'d [Problem],
    not_recompressed: &'d [Problem],
}

/// Whether a file has containers of device code, which may all be empty: what is left when everything was taken out.
fn has_containers(source: &Source, options: &Thin) -> bool {
    let mut has = false;
    source.walk(&options.limits, &mut |item| {
        has |= matches!(item, Item::Container(container) if !container.kind.is_host());
    });
    has
}

/// Says early where the output cannot go.
fn check_output(options: &Thin, source: &Source) -> Result<(), Failure> {
    let Some(output) = options.output.as_deref().filter(|_| !options.dry_run) else {
        return Ok(());
    };
    keep_apart(options.json, output)?;
    files::check_output(output).map_err(Failure::input)?;
    files::check_inputs_stay(output, [&source.path]).map_err(Failure::input)
}

/// What is thinned stays executable. Devices such as `/dev/null` are left alone.
pub(super) fn keep_mode(from: &Path, to: &Path) -> Result<(), Failure> {
    if files::is_standard_stream(from) || !to.is_file() {
        return Ok(());
    }
    let copied = std::fs::metadata(from).and_then(|old| std::fs::set_permissions(to, old.permissions()));
    copied.map_err(|error| Failure::input(format!("{}: {error}", to.display())))
}

/// Installers refuse a wheel whose file's name says another version than its metadata.
fn check_name(options: &Thin, name: &str) -> Result<(), Failure> {
    let Some(output) = options
        .output
        .as_deref()
        .filter(|output| !files::is_standard_stream(output))
    else {
        return Ok(());
    };
    let file = output.file_name().unwrap_or_default().to_string_lossy();
    match file.starts_with(&format!("{name}-")) {
        true => Ok(()),
        false => Err(Failure::input(format!(
            "{}: the name of this wheel begins with {name}-",
            output.display()
        ))),
    }
}

fn check_losses(options: &Thin, losses: &Losses) -> Result<(), Failure> {
    const SHOWN: usize = 3;
    if options.allow_lost_kernels || losses.kernels.is_empty() && losses.empty.is_empty() {
        return Ok(());
    }
    let message = match losses.kernels.as_slice() {
        [] => format!(
            "{} would be left without any image",
            count(losses.empty.len(), "container")
        ),
        kernels => format!(
            "{} would be left without any code",
            count(kernels.len(), "kernel")
        ),
    };
    let mut failure = Failure::new(ExitStatus::No, format!("{}: {message}", options.file.display()));
    for (place, name) in losses.kernels.iter().take(SHOWN) {
        failure = failure.hint(format!("{} in {place}", super::shown_name(name, false)));
    }
    Err(failure.hint("--allow-lost-kernels leaves them out anyway"))
}

/// How names of PTX and of LTO-IR begin, before the number of the architecture.
const PTX: &str = "compute_";
const LTO_IR: &str = "lto_";

/// Which images stay.
struct Choice {
    keep: Vec<Name>,
    drop: Vec<Name>,
}

/// What a word means.
#[derive(Debug)]
struct Name {
    word: String,
    meant: Meant,
}

#[derive(Debug)]
enum Meant {
    /// Code of a format, whatever its target.
    Format(ImageFormat),
    /// Code of a format for an architecture: PTX, LTO-IR.
    FormatFor(ImageFormat, Target),
    /// Machine code of an architecture.
    Processor(Target),
    /// Code of a triple that is so, or has these first parts.
    Triple,
}

impl Name {
    fn of(word: &str) -> Self {
        let meant = match word {
            "ptx" => Meant::Format(ImageFormat::Ptx),
            "spirv" => Meant::Format(ImageFormat::Spirv),
            "lto-ir" => Meant::Format(ImageFormat::LtoIr),
            _ if word.starts_with(PTX) => Meant::FormatFor(ImageFormat::Ptx, Target::named(word)),
            _ if word.starts_with(LTO_IR) => {
                let target = Target::named(&word.replacen(LTO_IR, PTX, 1));
                Meant::FormatFor(ImageFormat::LtoIr, target)
            }
            _ if !Target::named(word).processor().is_empty() => Meant::Processor(Target::named(word)),
            _ => Meant::Triple,
        };
        Self {
            word: word.to_owned(),
            meant,
        }
    }

    /// Whether an image is meant; `widely`, with the variants of an architecture too.
    fn means(&self, image: &DeviceImage<'_>, widely: bool) -> bool {
        match &self.meant {
            Meant::Format(format) => image.format == *format,
            Meant::FormatFor(format, target) => {
                // By number: PTX for `compute_90` has `sm_90` as its architecture.
                image.format == *format && image.target.processor_number() == target.processor_number()
            }
            Meant::Processor(target) => {
                let (named, is) = (target.processor_number(), image.target.processor_number());
                let variant = is.strip_prefix(named).unwrap_or(is);
                // Devices of 9.0 run `sm_90a` too: who keeps code for them keeps that. To drop it,
                // its own name is asked for.
                let is_variant = widely && target.family().is_nvptx() && matches!(variant, "a" | "f");
                let has = |feature| image.target.features.contains(feature);
                is_machine_code(image)
                    && target.family() == image.target.family()
                    && (named == is || is_variant)
                    && target.features.iter().all(has)
            }
            Meant::Triple => has_triple(&image.target, &self.word),
        }
    }

    /// Whether it is neither the name of anything known nor what one of the images is for.
    fn is_unknown(&self, images: &[DeviceImage<'_>]) -> bool {
        matches!(self.meant, Meant::Triple)
            && Family::of(&self.word) == Family::Other
            && !images.iter().any(|image| self.means(image, true))
    }

    /// Whether it says anything about images like this one: about those of its vendor, or of its format.
    fn concerns(&self, image: &DeviceImage<'_>) -> bool {
        match &self.meant {
            Meant::Format(format) | Meant::FormatFor(format, _) => image.format == *format,
            Meant::Processor(target) => is_machine_code(image) && target.family() == image.target.family(),
            Meant::Triple => {
                let is_of_family = Family::of(&self.word) == image.target.family();
                self.means(image, true) || is_machine_code(image) && is_of_family
            }
        }
    }
}

/// Whether nothing is left to be compiled or linked before a device runs it.
pub(super) fn is_machine_code(image: &DeviceImage<'_>) -> bool {
    !image.format.is_portable() && image.format != ImageFormat::LtoIr
}

impl Choice {
    fn of(options: &Thin) -> Self {
        let names = |words: &[String]| words.iter().map(|word| Name::of(word)).collect();
        Self {
            keep: names(&options.keep),
            drop: names(&options.drop),
        }
    }

    fn keeps(&self, image: &DeviceImage<'_>) -> bool {
        let is_dropped = self.drop.iter().any(|name| name.means(image, false));
        // What no name is about stays: `--keep sm_90` says nothing of AMD's code or of PTX.
        let mut concerning = self.keep.iter().filter(|name| name.concerns(image)).peekable();
        let is_kept = concerning.peek().is_none() || concerning.any(|name| name.means(image, true));
        is_kept && !is_dropped
    }

    /// Says which names mean nothing; fails where all that is to be kept means nothing, for then everything would go.
    fn check(&self, images: &[DeviceImage<'_>], terminal: Terminal) -> Result<(), Failure> {
        if let Some(name) = self
            .keep
            .iter()
            .chain(&self.drop)
            .find(|name| name.is_unknown(images))
        {
            let failure = Failure::input(format!(
                "`{}` is not a known architecture, format or target triple",
                name.word
            ));
            return Err(failure.hint(format!("there are: {}", labels(images))));
        }
        // As `keeps` does it: `--keep` takes variants of an architecture along, `--drop` does not.
        let is_there = |name: &&Name, widely| images.iter().any(|image| name.means(image, widely));
        let missing: Vec<&Name> = self.keep.iter().filter(|name| !is_there(name, true)).collect();
        // Where there is no image at all, nothing can go.
        if !images.is_empty() && !self.keep.is_empty() && missing.len() == self.keep.len() {
            let failure = Failure::new(ExitStatus::No, "no image matches --keep: everything would go");
            return Err(failure.hint(format!("there are: {}", labels(images))));
        }
        let unused = self.drop.iter().filter(|name| !is_there(name, false));
        for name in missing.into_iter().chain(unused) {
            terminal.note(format_args!("no image for {}", name.word));
        }
        Ok(())
    }
}

/// What an image is for, as the options name it.
pub(super) fn label(image: &DeviceImage<'_>) -> String {
    let arch = image.target.arch_with_features();
    match image.format {
        ImageFormat::Ptx => format!("{PTX}{}", image.target.processor_number()),
        ImageFormat::LtoIr => format!("{LTO_IR}{}", image.target.processor_number()),
        _ if arch.is_empty() => image.target.triple.to_string(),
        _ => arch,
    }
}

/// What there is, once each.
fn labels(images: &[DeviceImage<'_>]) -> String {
    let there: BTreeSet<String> = images.iter().map(label).collect();
    let there: Vec<String> = there.into_iter().collect();
    there.join(", ")
}

/// The images for one target.
#[derive(Default)]
struct Row {
    images: usize,
    stored: u64,
    goes: bool,
}

fn rows(images: &[DeviceImage<'_>], choice: &Choice) -> BTreeMap<String, Row> {
    let mut rows: BTreeMap<String, Row> = BTreeMap::new();
    for image in images {
        let row = rows.entry(label(image)).or_default();
        row.images += 1;
        row.stored += image.stored_size().unwrap_or(image.size());
        row.goes |= !choice.keeps(image);
    }
    rows
}

struct Report<'r> {
    options: &'r Thin,
    before: u64,
    rows: BTreeMap<String, Row>,
    losses: &'r Losses,
    thinned: &'r Thinned<'r>,
    problems: &'r [Problem],
}

impl Report<'_> {
    fn show(&self, terminal: Terminal) -> Result<(), Failure> {
        let output = self.options.output.as_deref();
        // Standard output has the file itself.
        if !self.options.dry_run && output.is_some_and(files::is_standard_stream) {
            return Ok(());
        }
        let targets: Vec<_> = self.rows.keys().map(|target| escape(target)).collect();
        let width = targets
            .iter()
            .map(|target| target.len())
            .max()
            .unwrap_or_default();
        for (target, row) in targets.iter().zip(self.rows.values()) {
            let fate = if row.goes { "goes" } else { "stays" };
            let images = count(row.images, "image");
            terminal.line(format_args!(
                "{target:width$}  {images:>12}  {:>10}  {fate}",
                size(row.stored)
            ))?;
        }
        if self.rows.is_empty() {
            terminal.line("all containers are empty: nothing to leave out")?;
        }
        for line in self.consequences() {
            terminal.line(escape(&line))?;
        }
        for problem in self.thinned.kept_size {
            let line = format!("{} keeps its size: {}", problem.location, problem.error);
            terminal.line(escape(&line))?;
        }
        for problem in self.thinned.not_recompressed {
            let (place, error) = (&problem.location, &problem.error);
            let line = format!("{place} stays as compressed as it was: {error}");
            terminal.line(escape(&line))?;
        }
        if let Some(driver) = self
            .thinned
            .least_driver
            .filter(|_| self.options.recompress.is_some())
        {
            terminal.line(format_args!(
                "needs driver {driver} or later to unpack the images"
            ))?;
        }
        let (before, after) = (self.before, self.thinned.size);
        if before == after && self.rows.values().any(|row| row.goes) {
            terminal.line("zeros replace what goes: packages shrink, the file does not")?;
        }
        terminal.line(format_args!(
            "{} {} to {}, {} less",
            if self.options.dry_run {
                "would go from"
            } else {
                "went from"
            },
            size(before),
            size(after),
            size(before.saturating_sub(after))
        ))
    }

    /// What devices lose, a line each.
    fn consequences(&self) -> Vec<String> {
        let mut lines = Vec::new();
        for (target, loss) in &self.losses.devices {
            let device = target.arch_with_features();
            if loss.compiled > 0 {
                let driver = match loss.least_driver {
                    Some(least) => format!(" (driver {least} or later)"),
                    None => String::new(),
                };
                lines.push(format!(
                    "{device}: the driver compiles the code in {}, which was native{driver}",
                    count(loss.compiled, "container")
                ));
            }
            if loss.none > 0 {
                lines.push(format!("{device}: no code in {}", count(loss.none, "container")));
            }
            if loss.native > 0 {
                let containers = count(loss.native, "container");
                lines.push(format!("{device}: other native code in {containers}"));
            }
        }
        if self.losses.without_portable > 0 {
            let containers = count(self.losses.without_portable, "container");
            lines.push(format!("later devices: no code in {containers}"));
        }
        // Without the option they are in the error.
        if self.options.allow_lost_kernels {
            lines.extend(self.lost_kernels());
        }
        lines
    }

    /// The kernels that no image has any more.
    fn lost_kernels(&self) -> Vec<String> {
        const SHOWN: usize = 16;
        let kernels = &self.losses.kernels;
        let shown = kernels.iter().take(SHOWN);
        let mut lines: Vec<String> = shown
            .map(|(place, name)| format!("no code for {} in {place}", super::shown_name(name, false)))
            .collect();
        if let Some(more) = kernels.len().checked_sub(SHOWN).filter(|more| *more > 0) {
            lines.push(format!(
                "no code for {} more; --json names all",
                count(more, "kernel")
            ));
        }
        lines
    }

    fn json(&self) -> Value {
        let targets = self.rows.iter().map(|(target, row)| {
            json!({ "target": target, "images": row.images, "stored": row.stored, "goes": row.goes })
        });
        let devices = self.losses.devices.iter().map(|(target, loss)| {
            json!({
                "device": target.arch_with_features(),
                "native": loss.native,
                "compiled": loss.compiled,
                "least_driver": loss.least_driver.map(|least| least.to_string()),
                "none": loss.none,
            })
        });
        let kernels = self
            .losses
            .kernels
            .iter()
            .map(|(place, name)| json!({ "location": place.to_string(), "kernel": name }));
        let sum = |of: fn(&Row) -> u64, only_gone: bool| -> u64 {
            let rows = self.rows.values().filter(|row| row.goes || !only_gone);
            rows.map(of).sum()
        };
        let (images, stored) = (|row: &Row| row.images as u64, |row: &Row| row.stored);
        json!({
            "total": {
                "images": sum(images, false),
                "images_gone": sum(images, true),
                "stored": sum(stored, false),
                "stored_gone": sum(stored, true),
                "saved": self.before.saturating_sub(self.thinned.size),
            },
            "file": self.options.file.to_string_lossy(),
            "size_before": self.before,
            "size_after": self.thinned.size,
            "least_driver": self.thinned.least_driver.map(|least| least.to_string()),
            "written": !self.options.dry_run,
            "targets": targets.collect::<Vec<_>>(),
            "devices": devices.collect::<Vec<_>>(),
            "lost_kernels": kernels.collect::<Vec<_>>(),
            "without_portable": self.losses.without_portable,
            "problems": self.problems.iter().map(super::problem_json).collect::<Vec<_>>(),
            "kept_size": self.thinned.kept_size.iter().map(super::problem_json).collect::<Vec<_>>(),
            "not_recompressed": self.thinned.not_recompressed.iter().map(super::problem_json).collect::<Vec<_>>(),
        })
    }
}
