//! `offkit replace`: another image in the place of one, and nothing else changed.

use super::filter::{Filter, Selection};
use super::limits::LimitOptions;
use super::mapped::Mapped;
use super::written;
use clap::Args;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use offkit_object::{
    ContainerKind, DeviceImage, Error, ErrorKind, ImageFormat, Item, Location, decide, range_within,
    target_of,
};
use serde_json::{Value, json};

use super::Source;
use super::ls::json::Row;
use crate::failure::Failure;
use crate::terminal::Terminal;
use offkit_host::files::{self, Staged};

/// The number of the form of its JSON.
const SCHEMA: u32 = 1;

const EXAMPLES: &str = "\
Examples:
  offkit replace app.o .llvm.offloading/0=new.ptx
  offkit replace app.o =new.hsaco --arch gfx90a -o changed.o";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Replace {
    /// The file to change
    file: PathBuf,
    /// The location of an image, with or without its file, and the file with the new image; the filters below can select
    /// one image of a container or of the whole file
    #[arg(required = true, value_name = "LOCATION=NEW")]
    replacements: Vec<String>,
    /// Write the changed file here and keep the old one; `-` is standard output
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Replace even if the new image has another format or target
    #[arg(long)]
    force: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    filter: Filter,
    #[command(flatten)]
    limits: LimitOptions,
}

pub(crate) fn run(options: &Replace, terminal: Terminal) -> Result<(), Failure> {
    let source = Source::open(&options.file)?;
    let limits = options.limits.limits();
    let output = options.output.as_deref().unwrap_or(&source.path);
    written::keep_apart(options.json, output)?;
    let durability = files::durability(output, &source.path);
    let mut changed: Option<Staged> = None;
    let mut replaced = Vec::new();
    let progress = terminal.progress();
    for replacement in &options.replacements {
        let (place, path) = understand(replacement, &source.place)?;
        let location = choose(options, &source, place)?;
        let new = files::open(&path).map_err(Failure::input)?;
        if !options.force {
            check(&source, &location, options, &path, &new)?;
        }
        let failed = |error| failure(&source, &location, &error);
        progress.step("comparing");
        // Each replacement is made in what the one before has left.
        let old = changed.as_ref().map_or(&source.content, Staged::content);
        let draft = offkit_object::replace_draft(old, &location, &new, &limits, &Mapped(old));
        let draft = draft.map_err(failed)?;
        let passed = |piece: &[u8]| {
            if let Some(range) = range_within(old, piece) {
                old.release(range);
            }
        };
        progress.step("writing");
        let staged = Staged::write(Some(output), &draft.chunks.slices(), &passed).map_err(Failure::input)?;
        progress.step("reading back");
        let written = staged.content();
        let read_back = draft.check(written, &Mapped(written));
        read_back.map_err(failed)?;
        changed = Some(staged);
        replaced.push((location, path));
    }
    // Before the file is put in place, which takes the content that is read here.
    let said = match &changed {
        Some(staged) if options.json => Some(said(&source, &replaced, output, staged.content(), options)),
        _ => None,
    };
    if let Some(staged) = changed {
        staged.put_in_place(output, durability).map_err(Failure::input)?;
    }
    drop(progress);
    if let Some(said) = said {
        return terminal.json(SCHEMA, &said);
    }
    terminal.note(format_args!(
        "{}: replaced {}",
        output.display(),
        match options.replacements.len() {
            1 => "one image".to_owned(),
            several => format!("{several} images"),
        }
    ));
    Ok(())
}

/// What JSON says: each image before and after, and the file.
fn said(
    source: &Source,
    replaced: &[(Location, PathBuf)],
    output: &Path,
    new: &[u8],
    options: &Replace,
) -> Value {
    let images = replaced.iter().map(|(location, path)| {
        json!({
            "location": location.to_string(),
            "new": path.display().to_string(),
            "before": image_at(location, &source.content, options),
            "after": image_at(&Location::of_file(output.to_string_lossy()).join_inside(location), new, options),
        })
    });
    let (kind, version) = container(output, new, options);
    json!({
        "file": source.place.file(),
        "size_before": source.content.len(),
        "size_after": new.len(),
        "replaced": images.collect::<Vec<_>>(),
        "written": [written::file(output, new.len() as u64, kind, version)],
        "total": { "images": replaced.len() },
    })
}

/// The image at a place as JSON has it.
fn image_at(location: &Location, content: &[u8], options: &Replace) -> Option<Value> {
    let mut row = None;
    let limits = options.limits.limits();
    let _ = offkit_object::walk(
        location.file(),
        content,
        Some(location),
        &limits,
        &mut |item| match item {
            Item::Image(image) if image.location == *location => {
                row = Some(json!(Row::new(&image, false)));
                ControlFlow::Break(())
            }
            _ => ControlFlow::Continue(()),
        },
    );
    row
}

/// What a file is: that comes first in it.
fn container(path: &Path, content: &[u8], options: &Replace) -> (ContainerKind, Option<u32>) {
    let mut is = (ContainerKind::Image, None);
    let limits = options.limits.limits();
    let _ = offkit_object::walk(&path.to_string_lossy(), content, None, &limits, &mut |item| {
        if let Item::Container(container) = item {
            is = (container.kind, container.version);
        }
        ControlFlow::Break(())
    });
    is
}

/// Refuses what is no image of the same format for the same target.
fn check(
    source: &Source,
    location: &Location,
    options: &Replace,
    path: &Path,
    new: &[u8],
) -> Result<(), Failure> {
    let new = DeviceImage::new(new);
    let mut difference = None;
    source.walk_at(location, &options.limits, &mut |item| {
        let Item::Image(old) = item else { return };
        // Of bytes that nobody knows nothing is known that the new ones could contradict.
        if old.location != *location || old.format == ImageFormat::Unknown {
            return;
        }
        if new.format != old.format {
            difference = Some((old.format.to_string(), new.format.to_string()));
            return;
        }
        let new = target_of(&new);
        if decide(target_of(old).into_owned(), new.clone().into_owned())
            .contradicted
            .is_some()
        {
            difference = Some((target_of(old).to_string(), new.to_string()));
        }
    });
    match difference {
        None => Ok(()),
        Some((old, new)) => Err(Failure::input(format!(
            "{location}: the image is {old}, `{}` is {new}: nothing was changed",
            path.display()
        ))
        .hint("--force replaces it all the same")),
    }
}

/// The one image at a place that the options mean.
fn choose(options: &Replace, source: &Source, place: Location) -> Result<Location, Failure> {
    if options.filter.accepts_all() {
        return Ok(place);
    }
    let mut selection = Selection::new(&options.filter);
    let mut fitting = Vec::new();
    source.walk_at(&place, &options.limits, &mut |item| {
        if let Item::Image(image) = item
            && selection.takes(image)
        {
            fitting.push(image.location.clone());
        }
    });
    selection.check()?;
    match <[Location; 1]>::try_from(fitting) {
        Ok([only]) => Ok(only),
        Err(none) if none.is_empty() => Err(super::nothing_in(&place, &[])),
        Err(several) => Err(Failure::input(format!(
            "{place}: {} images match the options, only one can be replaced",
            several.len()
        ))
        .hint(format!("name the location of one, such as {}", several[0]))),
    }
}

fn failure(source: &Source, location: &Location, error: &Error) -> Failure {
    if let Some((member, rest)) = source.member_at(location) {
        let member = member.display();
        return Failure::input(format!(
            "{location}: members of a thin archive are files of their own"
        ))
        .hint(format!("offkit replace {member} {rest}=NEW"));
    }
    let failure = Failure::input(format!("{location}: {error}"));
    match error.kind() {
        ErrorKind::NotRecognized => failure.hint(format!("`offkit ls {}` lists the images", location.file())),
        _ => failure,
    }
}

/// Takes `LOCATION=NEW` apart; the location may leave out the file.
fn understand(text: &str, file: &Location) -> Result<(Location, PathBuf), Failure> {
    // Both sides may have the sign in them: the one that leaves the name of a file that is there counts.
    let splits = || {
        text.match_indices('=')
            .map(|(at, _)| (&text[..at], &text[at + 1..]))
    };
    let (place, path) = splits()
        .find(|(_, path)| Path::new(path).exists())
        .or_else(|| splits().next())
        .ok_or_else(|| Failure::input(format!("`{text}`: expected LOCATION=FILE")))?;
    let location: Result<Location, _> = match place {
        // A file that is itself an image.
        whole if whole == file.file() => Ok(Location::of_file(whole)),
        whole if whole.contains('!') => whole.parse(),
        part => format!("{}!{part}", file.file()).parse(),
    };
    let location = location.map_err(Failure::input)?;
    if location.file() != file.file() {
        return Err(Failure::input(format!(
            "`{location}` is not in `{}`: one file at a time is changed",
            file.file()
        )));
    }
    Ok((location, path.into()))
}
