//! `offkit size`: what takes how many bytes, and what could go.

mod json;
mod report;

use std::path::PathBuf;

use clap::Args;
use offkit_host::files;
use offkit_inventory::diff::Snapshot;
use offkit_inventory::totals::Key;
use offkit_inventory::{Depth, Inventory};

use super::inventory::{collect, warn};
use super::limits::LimitOptions;
use super::table::in_markdown;
use crate::failure::{ExitStatus, Failure};
use crate::terminal::{Terminal, columns, escape};

/// The number of the form of its JSON.
const SCHEMA: u32 = 1;

const EXAMPLES: &str = "\
Examples:
  offkit size libkernels.so
  offkit size --by arch wheel.whl
  offkit size --by library,arch --top 20 wheel.whl
  offkit size --html size.html wheel.whl
  offkit size --diff old.whl --markdown new.whl
  offkit size --recursive --by arch wheels";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Size {
    /// Files to look into, locations in them, or Triton's cache; with --recursive any folder; `-` is standard input
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Look into all files below folders; a file without device code is no error
    #[arg(short, long)]
    recursive: bool,
    /// Print one table, summed by these: library, arch, format, compression, family; only family unpacks images
    #[arg(long, value_name = "KEY", value_delimiter = ',')]
    by: Vec<Key>,
    /// Look into images for kernels, even if no table needs them
    #[arg(long)]
    kernels: bool,
    /// The most rows of a table
    #[arg(long, value_name = "N", default_value = "10")]
    top: usize,
    /// Compare with an older file: what is new, gone or changed
    #[arg(long, value_name = "OLD")]
    diff: Option<PathBuf>,
    /// Write one JSON object
    #[arg(long, conflicts_with = "markdown")]
    json: bool,
    /// Write Markdown, for a comment on a pull request
    #[arg(long)]
    markdown: bool,
    /// Write a page for a browser
    #[arg(long, value_name = "PAGE")]
    html: Option<PathBuf>,
    #[command(flatten)]
    limits: LimitOptions,
}

impl Size {
    fn depth(&self) -> Depth {
        let only_headers = !self.by.is_empty() && !self.by.contains(&Key::Family);
        match only_headers && !self.kernels && self.html.is_none() {
            true => Depth::Headers,
            false => Depth::Kernels,
        }
    }
}

pub(crate) fn run(options: &Size, terminal: Terminal) -> Result<(), Failure> {
    let collect = |files: &[PathBuf]| {
        collect(
            files,
            options.recursive,
            true,
            options.depth(),
            &options.limits,
            terminal,
        )
    };
    let old = match &options.diff {
        Some(old) => Some(collect(std::slice::from_ref(old))?),
        None => None,
    };
    let inventory = collect(&options.files)?;
    if let Some(page) = &options.html {
        let text = report::page(&inventory)?;
        files::write(page, &[text.as_bytes()]).map_err(Failure::input)?;
        terminal.note(format_args!("wrote {}", page.display()));
    }
    if options.json {
        let mut output = terminal.output();
        output.json(SCHEMA, &json::object(&inventory, options, old.as_ref()))?;
        output.finish()?;
    } else if options.html.is_none() {
        say(&inventory, options, old.as_ref(), terminal)?;
    }
    // Behind the tables, where warnings can still be read.
    let is_old_whole = old.as_ref().is_none_or(|old| !warn(old, terminal));
    let is_whole = !warn(&inventory, terminal);
    match !(is_whole && is_old_whole) {
        true => Err(Failure::new(
            ExitStatus::Input,
            "not everything could be read: the sums leave that out",
        )),
        false => Ok(()),
    }
}

fn say(
    inventory: &Inventory,
    options: &Size,
    old: Option<&Inventory>,
    terminal: Terminal,
) -> Result<(), Failure> {
    let mut tables = match options.by.is_empty() {
        true => report::tables(inventory, options.top),
        false => vec![report::sums(inventory, &options.by, options.top)],
    };
    if let Some(old) = old {
        let found = offkit_inventory::diff::diff(&Snapshot::of(old), &Snapshot::of(inventory));
        tables.insert(0, super::diff::images_table(&found, options.top));
    }
    // Names of files and libraries are among it.
    let summary = report::summary(inventory).into_iter();
    let mut output = terminal.output();
    let styles = output.styles();
    match options.markdown {
        true => {
            let lines: Vec<String> = summary.map(|line| in_markdown(&line)).collect();
            output.lines(&format!("{}\n", lines.join("  \n")))?;
        }
        false => {
            for line in summary {
                output.line(escape(&line))?;
            }
        }
    }
    // Half of a line is for the numbers.
    let most = (columns() / 2).clamp(24, 100);
    for table in tables.iter().filter(|table| !table.is_empty()) {
        output.lines("\n")?;
        output.lines(&match options.markdown {
            true => table.markdown(),
            false => table.text(styles, most),
        })?;
    }
    output.finish()
}
