//! `offkit ls`: what device code is inside files.

pub(crate) mod describe;
pub(crate) mod json;
mod listing;
mod rows;
pub(crate) mod sums;
mod tree;

use super::filter::{Filter, Selection};
use super::limits::LimitOptions;
use clap::Args;
use std::path::Path;
use std::path::PathBuf;

use offkit_inventory::{Depth, Inventory, count};
use offkit_object::Item;

use super::Source;
use super::folder::{files_in, may_have_code};
use super::needed::libraries_of;
use super::triton;
use crate::failure::Failure;
use crate::terminal::{Styles, Terminal, escape, size};
use listing::{Form, Listing};
use sums::Sums;
use tree::Tree;

/// The number of the form of its JSON.
const SCHEMA: u32 = 1;

const EXAMPLES: &str = "\
Examples:
  offkit ls --kernels libkernels.so
  offkit ls --json --hash wheel.whl | jq -r .location
  offkit ls --json --totals wheel.whl | tail -1
  offkit ls --arch gfx90a --kernel saxpy lib.a";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Ls {
    /// Files or folders to look into, or locations in files, `FILE!0/ir/0`; `-` is standard input
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Also list the shared libraries that a program or a package's members need, and what those need
    #[arg(long)]
    needed: bool,
    /// Show the kernels of each image with their arguments, its imports and its exports
    #[arg(short, long)]
    kernels: bool,
    /// Show the property sets of each image
    #[arg(short, long)]
    properties: bool,
    /// Do not demangle names
    #[arg(long)]
    mangled: bool,
    /// Show all images of a file; a terminal without a pager shows 200 without this
    #[arg(short, long)]
    all: bool,
    /// Write one JSON object a line, one line an image
    #[arg(long)]
    json: bool,
    /// With --json, add the SHA-256 of each image as it is stored
    #[arg(long, requires = "json")]
    hash: bool,
    /// With --json, end with a line of sums over all files: by architecture and format, and in total
    #[arg(long, requires = "json")]
    totals: bool,
    #[command(flatten)]
    filter: Filter,
    #[command(flatten)]
    limits: LimitOptions,
}

pub(crate) fn run(options: &Ls, terminal: Terminal) -> Result<(), Failure> {
    let mut lister = Lister {
        options,
        terminal,
        selection: Selection::new(&options.filter),
        sums: Sums::default(),
        inside: Inventory::default(),
    };
    for path in &options.files {
        if path.is_dir() {
            lister.folder(path)?;
            continue;
        }
        match lister.file(path, false) {
            // The others are listed all the same.
            Err(failure) if options.files.len() > 1 => lister.selection.fail(&failure, terminal),
            result => drop(result?),
        }
        if options.needed {
            let inside = std::mem::take(&mut lister.inside);
            lister.needed(&[path], &inside);
        }
    }
    lister.totals()?;
    lister.selection.check()
}

/// Lists one file after the other.
struct Lister<'a> {
    options: &'a Ls,
    terminal: Terminal,
    selection: Selection<'a>,
    /// Of all files.
    sums: Sums,
    /// The libraries in the file that was listed last, where those that they need are wanted.
    inside: Inventory,
}

impl Lister<'_> {
    /// Ends the listing with what all of it comes to, and says how to see the names that it left out.
    fn totals(&mut self) -> Result<(), Failure> {
        let terminal = self.terminal;
        if self.options.totals {
            return terminal.json(SCHEMA, &self.sums.json());
        }
        if self.options.json || self.sums.images == 0 {
            return Ok(());
        }
        let mut output = terminal.output();
        let styles = output.styles();
        output.lines(&self.sums.text(styles))?;
        if !self.options.kernels {
            let Styles { faint, .. } = styles;
            output.line(format_args!(
                "{faint}--kernels shows the names of kernels, imports and exports{faint:#}"
            ))?;
        }
        output.finish()
    }

    /// Lists the libraries that programs, or the members of packages need, and that have device code inside.
    fn needed(&mut self, files: &[&Path], inside: &Inventory) {
        let libraries = libraries_of(files, inside);
        for path in &libraries.found {
            if let Err(failure) = self.file(path, true) {
                self.selection.fail(&failure, self.terminal);
            }
        }
        for (name, needed_by) in &libraries.missing {
            self.terminal.warning(format_args!(
                "{name} was not found, and not looked into: {needed_by} needs it"
            ));
        }
    }

    /// Lists the files of a folder that have device code inside.
    fn folder(&mut self, folder: &Path) -> Result<(), Failure> {
        let damaged = self.selection.damaged();
        let (files, failures) = files_in(folder);
        for failure in &failures {
            self.selection.fail(failure, self.terminal);
        }
        let mut images = 0;
        let mut last = None;
        // Those that may need others, and what is in them.
        let (mut needing, mut inside) = (Vec::new(), Inventory::default());
        for path in &files {
            self.tell_of_triton(path, &mut last)?;
            match self.file(path, true) {
                Ok(count) => images += count,
                Err(failure) => self.selection.fail(&failure, self.terminal),
            }
            if !self.inside.libraries.is_empty() {
                needing.push(path.as_path());
                inside.append(std::mem::take(&mut self.inside));
            }
        }
        if images == 0 && !self.options.json {
            let folder = escape(&folder.display().to_string()).into_owned();
            self.terminal.line(match self.selection.damaged() == damaged {
                true => format!("{folder}: no device code in {}", count(files.len(), "file")),
                false => format!("{folder}: no device code in what could be read"),
            })?;
        }
        if self.options.needed {
            self.needed(&needing, &inside);
        }
        Ok(())
    }

    /// Says which kernel of Triton's cache a file in a folder is a form of, once for all forms. `last` is what was said
    /// last.
    fn tell_of_triton(&self, path: &Path, last: &mut Option<PathBuf>) -> Result<(), Failure> {
        if self.options.json || !self.options.filter.accepts_all() {
            return Ok(());
        }
        let Some(kernel) = triton::Kernel::of(path).filter(|kernel| last.as_ref() != Some(&kernel.metadata))
        else {
            return Ok(());
        };
        self.terminal.line(format_args!(
            "{}  in Triton's cache: {}, as {}",
            escape(&kernel.metadata.display().to_string()),
            escape(&kernel.described()),
            kernel.forms().join(", ")
        ))?;
        *last = Some(kernel.metadata);
        Ok(())
    }

    /// Says what a file is that only Triton's compiler takes.
    fn triton_text(&self, form: &str, source: &Source) -> Result<(), Failure> {
        if self.options.json {
            return Ok(());
        }
        let kernel = triton::Kernel::of(&source.path);
        let described = kernel
            .as_ref()
            .map_or_else(String::new, triton::Kernel::described);
        let comma = if kernel.is_some() { ", " } else { "" };
        self.terminal.line(format_args!(
            "{}  {form}{comma}{}, {}",
            escape(source.place.file()),
            escape(&described),
            size(source.content.len() as u64)
        ))?;
        self.terminal.line(match triton::code_beside(&source.path) {
            None => "no device code inside".to_owned(),
            Some(files) => format!("no device code inside: that is in {}", escape(&files)),
        })
    }

    /// Lists one file, and says how many images it has. Of files in a folder, those without device code are left out.
    fn file(&mut self, path: &Path, is_in_folder: bool) -> Result<usize, Failure> {
        // Should this file fail, what was in the last one is not to be taken for its own.
        self.inside = Inventory::default();
        // Why a file cannot be read is said where it is opened.
        if is_in_folder && matches!(may_have_code(path), Ok(false)) {
            return Ok(0);
        }
        let source = Source::open(path)?;
        if let Some(form) =
            triton::text_form(&source.path, &source.content).filter(|_| source.place.is_file())
        {
            self.triton_text(form, &source)?;
            return Ok(0);
        }
        let (options, output) = (self.options, self.terminal.output());
        let form = match options.json {
            true => Form::Json(output),
            false => {
                let (file, size) = (source.place.file(), source.content.len());
                Form::Tree(Box::new(Tree::new(options, output, file, size)))
            }
        };
        let mut listing = Listing::new(options, &mut self.selection, &mut self.sums, &source, form);
        let progress = self.terminal.progress();
        let mut libraries = Inventory::default();
        let mut collector = libraries.collect(source.place.file(), &source.content, Depth::Headers, &());
        source.walk(&options.limits, &mut |item| {
            // Only who needs which libraries is to be known: images are listed and not collected.
            if options.needed && matches!(item, Item::Container(_)) {
                collector.add(item);
            }
            listing.add(item);
            progress.images(path, listing.images);
        });
        collector.finish();
        drop(progress);
        self.inside = libraries;
        let images = listing.images;
        let (form, problems) = listing.finish()?;
        // An image may be there without being wanted.
        if images == 0 && !source.place.is_file() {
            return Err(super::nothing_in(&source.place, &problems));
        }
        match form {
            Form::Tree(_) if is_in_folder && images == 0 && problems.is_empty() => {}
            Form::Json(mut output) => {
                for problem in &problems {
                    output.json(SCHEMA, &super::problem_json(problem))?;
                }
                output.finish()?;
            }
            Form::Tree(tree) => {
                let sums = tree.finish(images, !problems.is_empty())?;
                self.sums.add_all(sums);
            }
        }
        self.selection.warn(&problems, self.terminal);
        Ok(images)
    }
}
