//! `offkit diff`: what came, went and changed between two builds.

use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use offkit_inventory::diff::{Change, Diff as Found, HEADING, Images, Snapshot, diff};
use offkit_inventory::{Depth, Inventory};
use serde_json::{Value, json};

use super::inventory::{collect, warn};
use super::limits::LimitOptions;
use super::table::{Table, more};
use crate::failure::{ExitStatus, Failure};
use crate::terminal::{Terminal, columns, size};

/// The number of the form of its JSON.
const SCHEMA: u32 = 1;

const EXAMPLES: &str = "\
Examples:
  offkit diff old.whl new.whl
  offkit diff --kernels old.so new.so
  offkit diff --kernels --fail-on spills,gone old.txt new.so";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Diff {
    /// The older file, or its baseline from `offkit check --write-baseline`
    #[arg(value_name = "A")]
    old: PathBuf,
    /// The newer file
    #[arg(value_name = "B")]
    new: PathBuf,
    /// Also compare kernels: code, registers, spills and memory
    #[arg(long)]
    kernels: bool,
    /// Exit with 1 for these differences; all but `any` and `size` compare kernels
    #[arg(long, value_name = "WHAT", value_delimiter = ',')]
    fail_on: Vec<FailOn>,
    /// The most rows of a table
    #[arg(long, value_name = "N", default_value = "20")]
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

/// What may not be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum FailOn {
    /// Any difference
    Any,
    /// Images that take more bytes than before
    Size,
    /// Kernels that are gone, or gone for an architecture
    Gone,
    /// Kernels that are new, or new for an architecture
    New,
    /// Kernels that spill more
    Spills,
    /// Kernels that take more registers
    Registers,
    /// Kernels with more code
    Code,
    /// Kernels that take more shared memory
    Shared,
    /// Kernels that take more stack
    Stack,
}

impl FailOn {
    /// How often it is so.
    fn count(self, found: &Found) -> usize {
        match self {
            Self::Any => found.images.len() + found.kernels.len(),
            Self::Size => {
                let stored = |images: Option<Images>| images.map_or(0, |images| images.stored);
                let grown = found
                    .images
                    .iter()
                    .filter(|change| stored(change.new) > stored(change.old));
                grown.count()
            }
            Self::Gone => found.kernels.iter().filter(|change| change.new.is_none()).count(),
            Self::Spills => found.grown("spills").count(),
            Self::Registers => found.grown("registers").count(),
            Self::New => found.kernels.iter().filter(|change| change.old.is_none()).count(),
            Self::Code => found.grown("code").count(),
            Self::Shared => found.grown("shared").count(),
            Self::Stack => found.grown("stack").count(),
        }
    }

    fn needs_kernels(self) -> bool {
        !matches!(self, Self::Any | Self::Size)
    }

    fn words(self) -> &'static str {
        match self {
            Self::Any => "differences",
            Self::Size => "kinds of images that grew",
            Self::Gone => "kernels that are gone",
            Self::Spills => "kernels that spill more",
            Self::Registers => "kernels that take more registers",
            Self::New => "kernels that are new",
            Self::Code => "kernels with more code",
            Self::Shared => "kernels that take more shared memory",
            Self::Stack => "kernels that take more stack",
        }
    }
}

pub(crate) fn run(options: &Diff, terminal: Terminal) -> Result<(), Failure> {
    let kernels = options.kernels || options.fail_on.iter().any(|what| what.needs_kernels());
    let depth = match kernels {
        true => Depth::Kernels,
        false => Depth::Headers,
    };
    let mut is_whole = true;
    let mut snapshot = |path: &Path| -> Result<Snapshot, Failure> {
        let mut snapshot = match read_baseline(path)? {
            Some(snapshot) => snapshot,
            None => {
                let files = [path.to_owned()];
                let inventory: Inventory = collect(&files, false, true, depth, &options.limits, terminal)?;
                is_whole &= !warn(&inventory, terminal);
                Snapshot::of(&inventory)
            }
        };
        // A baseline has kernels in any case: beside a file that was not asked for its own, all of
        // them would be gone.
        if !kernels {
            snapshot.kernels.clear();
        }
        Ok(snapshot)
    };
    let (old, new) = (snapshot(&options.old)?, snapshot(&options.new)?);
    let found = diff(&old, &new);
    say(&found, options, kernels, terminal)?;
    // Before the answer: a kernel that is gone may be one that could not be read.
    if !is_whole {
        return Err(Failure::new(
            ExitStatus::Input,
            "not everything could be read: the differences leave that out",
        ));
    }
    let broken: Vec<String> = options
        .fail_on
        .iter()
        .map(|what| (what.count(&found), what.words()))
        .filter(|(count, _)| *count > 0)
        .map(|(count, words)| format!("{count} {words}"))
        .collect();
    match broken.is_empty() {
        true => Ok(()),
        false => Err(Failure::new(
            ExitStatus::No,
            format!("there are {}", broken.join(", ")),
        )),
    }
}

/// A baseline, if the file is one.
fn read_baseline(path: &Path) -> Result<Option<Snapshot>, Failure> {
    use std::io::Read;
    let failure = |error| Failure::input(format!("cannot read {}: {error}", path.display()));
    if !path.is_file() {
        return Ok(None);
    }
    // The head alone at first: what is no baseline may be a library of gigabytes.
    let mut head = vec![0; HEADING.len()];
    let mut file = std::fs::File::open(path).map_err(failure)?;
    if file.read_exact(&mut head).is_err() || head != HEADING.as_bytes() {
        return Ok(None);
    }
    let text = std::fs::read_to_string(path).map_err(failure)?;
    let parsed = Snapshot::parse(&text);
    parsed
        .map(Some)
        .map_err(|error| Failure::input(format!("{}: {error}", path.display())))
}

fn say(found: &Found, options: &Diff, kernels: bool, terminal: Terminal) -> Result<(), Failure> {
    let mut output = terminal.output();
    if options.json {
        output.json(SCHEMA, &object(found))?;
        return output.finish();
    }
    if found.is_empty() {
        output.line(match kernels {
            true => "no differences",
            false => "no differences in the number and the sizes of images: --kernels compares kernels too",
        })?;
        return output.finish();
    }
    let styles = output.styles();
    let most = (columns() / 2).clamp(24, 100);
    let tables = [
        images_table(found, options.top),
        kernels_table(found, options.top),
    ];
    for table in tables.iter().filter(|table| !table.is_empty()) {
        output.lines(&match options.markdown {
            true => table.markdown(),
            false => table.text(styles, most),
        })?;
    }
    output.finish()
}

/// What is different of images.
pub(super) fn images_table(found: &Found, top: usize) -> Table {
    let mut table = Table::new(
        "Images",
        &["", "library", "arch", "format", ">images", ">stored", ">change"],
    );
    for change in found.images.iter().take(top) {
        let [library, arch, format] = change.key.clone();
        let count = |images: Option<Images>| images.map_or(0, |images| images.count);
        let stored = |images: Option<Images>| images.map_or(0, |images| images.stored);
        table.row(vec![
            sign(change.old.is_some(), change.new.is_some()).to_owned(),
            library,
            arch,
            format,
            from_to(count(change.old), count(change.new)),
            size(stored(change.new)),
            signed(stored(change.old), stored(change.new)),
        ]);
    }
    table.note = more(top, found.images.len());
    table
}

fn kernels_table(found: &Found, top: usize) -> Table {
    let mut table = Table::new(
        "Kernels",
        &[
            "",
            "library",
            "arch",
            "kernel",
            ">code",
            ">registers",
            ">spills",
            ">shared",
            ">stack",
        ],
    );
    for change in found.kernels.iter().take(top) {
        let [library, arch, name] = change.key.clone();
        let mut row = vec![
            sign(change.old.is_some(), change.new.is_some()).to_owned(),
            library,
            arch,
            name,
        ];
        let (old, new) = (change.old.unwrap_or_default(), change.new.unwrap_or_default());
        let number = |number: Option<u64>| number.map_or_else(|| "-".to_owned(), |number| number.to_string());
        row.extend(
            old.named()
                .into_iter()
                .zip(new.named())
                .map(
                    |((_, old), (_, new))| match (change.old.is_some(), change.new.is_some()) {
                        (true, true) if old != new => format!("{} → {}", number(old), number(new)),
                        (_, true) => number(new),
                        _ => number(old),
                    },
                ),
        );
        table.row(row);
    }
    table.note = more(top, found.kernels.len());
    table
}

fn sign(was: bool, is: bool) -> &'static str {
    match (was, is) {
        (false, _) => "+",
        (_, false) => "-",
        _ => "~",
    }
}

fn from_to(old: u64, new: u64) -> String {
    match old == new {
        true => new.to_string(),
        false => format!("{old} → {new}"),
    }
}

fn signed(old: u64, new: u64) -> String {
    match new >= old {
        true => format!("+{}", size(new - old)),
        false => format!("-{}", size(old - new)),
    }
}

/// How much came, went and changed.
fn counts<T>(changes: &[Change<T>]) -> Value {
    let count = |was_there, is_there| {
        let found = changes
            .iter()
            .filter(|change| change.old.is_some() == was_there && change.new.is_some() == is_there);
        found.count()
    };
    json!({
        "added": count(false, true),
        "gone": count(true, false),
        "changed": count(true, true),
    })
}

/// What is different, as one object.
pub(super) fn object(found: &Found) -> Value {
    let images = found.images.iter().map(|change| {
        let [library, arch, format] = &change.key;
        let numbers = |images: Option<Images>| {
            images.map(
                |images| json!({ "images": images.count, "stored": images.stored, "unpacked": images.size }),
            )
        };
        json!({
            "library": library,
            "arch": arch,
            "format": format,
            "old": numbers(change.old),
            "new": numbers(change.new),
        })
    });
    let kernels = found.kernels.iter().map(|change| {
        let [library, arch, name] = &change.key;
        let numbers = |numbers: &Option<offkit_inventory::diff::Numbers>| {
            numbers.as_ref().map(|numbers| {
                let named = numbers.named().into_iter();
                named
                    .map(|(name, number)| (name.to_owned(), number.into()))
                    .collect::<serde_json::Map<_, Value>>()
            })
        };
        json!({
            "library": library,
            "arch": arch,
            "kernel": name,
            "old": numbers(&change.old),
            "new": numbers(&change.new),
        })
    });
    let stored = |side: fn(&Change<Images>) -> Option<Images>| -> u64 {
        let images = found.images.iter().filter_map(side);
        // From a baseline's text they may be any numbers.
        images.fold(0, |sum, images| sum.saturating_add(images.stored))
    };
    json!({
        "total": {
            "images": counts(&found.images),
            "kernels": counts(&found.kernels),
            "old_stored": stored(|change| change.old),
            "new_stored": stored(|change| change.new),
        },
        "images": images.collect::<Vec<_>>(),
        "kernels": kernels.collect::<Vec<_>>(),
    })
}
