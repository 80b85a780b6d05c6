//! `llvm-offload-binary`, which used to be `clang-offload-packager`: packs device images into offload binaries and
//! takes them out again.
//!
//! Compared with LLVM 22: what it crashes on is an error here, what lies between binaries hides none of them, and
//! a wish that nothing fits is said on standard error. Exit codes and files are the same.

use std::borrow::Cow;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use offkit_object::archive::{self, ArchiveKind, Member};
use offkit_object::{ImageKind, Limits, OffloadEntry, OffloadKind, offload_entries};

use crate::arguments::{self, Argument};
use crate::image_description::{self, Description};
use crate::{answers, say, show};
use offkit_host::files;

const OVERVIEW: &str = "\
OVERVIEW: A utility for bundling several object files into a single binary.
The output binary can then be embedded into the host section table
to create a fatbinary containing offloading code.
";

const GENERIC: &str = "\
Generic Options:

  --help                      - Display available options (--help-hidden for more)
  --help-list                 - Display list of available options (--help-list-hidden for more)
  --version                   - Display the version of this program

llvm-offload-binary options:

";

const OPTIONS: &str = "  --archive                   - Write extracted files to a static archive\n";
const HELP: &str = "  --help                      - Display available options (--help-hidden for more)\n";
const IMAGE: &str = "  --image=<<key>=<value>,...> - List of key and value arguments. Required keywords are 'file' and 'triple'.\n";
const OUTPUT: &str = "  -o <file>                   - Write output to <file>.\n";
const VERSION: &str = "  --version                   - Display the version of this program\n";

/// What the command line asks for.
#[derive(Default)]
struct Options {
    images: Vec<String>,
    output: Option<PathBuf>,
    input: Option<PathBuf>,
    archive: bool,
}

/// Runs as the tool, called by the name `called`.
pub(super) fn run(called: &str, args: Vec<OsString>) -> Result<(), String> {
    let Some(options) = parse(called, args)? else {
        return Ok(());
    };
    if called.contains("clang-offload-packager") {
        say("warning: 'clang-offload-packager' is deprecated. Use 'llvm-offload-binary' instead.");
    }
    let failed = |error: String| format!("llvm-offload-binary: error: {error}");
    match (&options.input, &options.output) {
        (None, None) => {
            show(&help(called, false));
            Ok(())
        }
        (Some(_), Some(_)) => Err(failed(
            "Packaging to an output file and extracting from an input file are mutually exclusive.".into(),
        )),
        (None, Some(output)) => bundle(&options, output).map_err(failed),
        (Some(input), None) => extract(&options, input).map_err(failed),
    }
}

fn help(called: &str, is_list: bool) -> String {
    let usage = format!("\nUSAGE: {called} [options] Extract from <file>.\n\nOPTIONS:\n");
    if is_list {
        format!("{OVERVIEW}{usage}{OPTIONS}{HELP}{IMAGE}{OUTPUT}{VERSION}")
    } else {
        format!("{OVERVIEW}{usage}\n{GENERIC}{OPTIONS}{IMAGE}{OUTPUT}")
    }
}

/// The options; `None` when something was asked that is answered at once.
fn parse(called: &str, args: Vec<OsString>) -> Result<Option<Options>, String> {
    let mut options = Options::default();
    let mut positional = Vec::new();
    let mut arguments = arguments::Arguments::new(called, args);
    while let Some(argument) = arguments.next() {
        match argument {
            Argument::Positional(path) => positional.push(path),
            Argument::Option { name, value } => match name.as_str() {
                "image" => options.images.push(arguments.value(&name, value)?),
                "o" => {
                    if options.output.is_some() {
                        return Err(format!(
                            "{called}: for the -o option: may only occur zero or one times!"
                        ));
                    }
                    options.output = Some(arguments.os_value(&name, value)?.into());
                }
                "archive" => options.archive = arguments.flag(&name, value)?,
                _ if answers(&name, &help(called, name.starts_with("help-list"))) => return Ok(None),
                _ => return Err(arguments.unknown(&name)),
            },
        }
    }
    if positional.len() > 1 {
        return Err(format!(
            "{called}: Too many positional arguments specified!\nCan specify at most 1 positional arguments: See: {called} --help"
        ));
    }
    options.input = positional.pop().map(PathBuf::from);
    Ok(Some(options))
}

/// The keys and values of an `--image`; of a repeated key, the values joined with commas.
fn values(image: &str) -> Vec<(String, String)> {
    let mut values: Vec<(String, String)> = Vec::new();
    for part in image.split(',').filter(|part| !part.is_empty()) {
        let (key, value) = part.split_once('=').unwrap_or((part, ""));
        match values.iter_mut().find(|(other, _)| other == key) {
            Some((_, old)) => {
                old.push(',');
                old.push_str(value);
            }
            None => values.push((key.to_owned(), value.to_owned())),
        }
    }
    values
}

fn value<'values>(values: &'values [(String, String)], key: &str) -> Option<&'values str> {
    let found = values.iter().find(|(other, _)| other == key);
    found.map(|(_, value)| value.as_str())
}

fn bundle(options: &Options, output: &Path) -> Result<(), String> {
    let mut descriptions = Vec::new();
    for image in &options.images {
        let values = values(image);
        let files = value(&values, "file").ok_or("'file' is a required image arguments")?;
        let kind = value(&values, "kind").unwrap_or("none");
        let offload_kind = image_description::offload_kind(kind).unwrap_or_else(|| {
            say(&format!(
                "llvm-offload-binary: warning: unknown kind '{kind}' is written as 'none'"
            ));
            OffloadKind::None
        });
        for file in files.split(',') {
            let strings = values
                .iter()
                .filter(|(key, _)| key != "file" && key != "kind")
                .cloned()
                .collect();
            descriptions.push(Description {
                file: file.into(),
                offload_kind,
                strings,
                ..Description::default()
            });
        }
    }
    let images = descriptions
        .iter()
        .map(|description| files::open(&description.file).map_err(|error| system_message(&error)))
        .collect::<Result<Vec<_>, _>>()?;
    let entries = descriptions
        .iter()
        .zip(&images)
        .map(|(description, image)| description.entry(image));
    let binary = offkit_object::OffloadBinary {
        entries: entries.collect(),
    };
    let chunks = binary
        .write_v1_sequence_chunks()
        .map_err(|error| error.to_string())?;
    crate::write(output, &chunks.slices()).map_err(|error| system_message(&error))
}

fn extract(options: &Options, input: &Path) -> Result<(), String> {
    let content =
        files::open(input).map_err(|error| format!("'{}': {}", input.display(), system_message(&error)))?;
    let name = input.display().to_string();
    let wishes: Vec<_> = options.images.iter().map(|image| values(image)).collect();
    // What is taken out borrows from the file, or owns what had to be decompressed.
    let mut matches: Vec<Vec<Match<'_>>> = wishes.iter().map(|_| Vec::new()).collect();
    let bytes: &[u8] = &content;
    let result = offload_entries(&name, bytes, &Limits::default(), &mut |from, entry| {
        for (wish, found) in wishes.iter().zip(&mut matches) {
            if fits(entry, wish) {
                found.push(Match::new(bytes, entry, from.to_owned()));
            }
        }
    });
    for ((wish, image), found) in wishes.iter().zip(&options.images).zip(matches) {
        if found.is_empty() {
            say(&format!(
                "llvm-offload-binary: warning: nothing in '{name}' matches --image={image}"
            ));
        }
        write_matches(options, input, value(wish, "file"), found)?;
    }
    result.map_err(|error| error.to_string())
}

/// An image to be written.
struct Match<'data> {
    image: Cow<'data, [u8]>,
    kind: ImageKind,
    triple: String,
    arch: String,
    /// The name of the file it comes from.
    from: String,
}

impl<'data> Match<'data> {
    fn new(file: &'data [u8], entry: &OffloadEntry<'_>, from: String) -> Self {
        let text = |key| entry.strings.get(key).unwrap_or_default().to_owned();
        let start = entry.image.as_ptr().addr().wrapping_sub(file.as_ptr().addr());
        let inside = start
            .checked_add(entry.image.len())
            .and_then(|end| file.get(start..end));
        Self {
            image: match inside {
                Some(image) => Cow::Borrowed(image),
                None => Cow::Owned(entry.image.to_vec()),
            },
            kind: entry.image_kind,
            triple: text("triple"),
            arch: text("arch"),
            from,
        }
    }
}

/// Whether an entry has all that is asked for. What it lacks counts as empty.
fn fits(entry: &OffloadEntry<'_>, wish: &[(String, String)]) -> bool {
    wish.iter().all(|(key, value)| match key.as_str() {
        "file" => true,
        "kind" => image_description::offload_kind(value).unwrap_or(OffloadKind::None) == entry.offload_kind,
        key => entry.strings.get_bytes(key).unwrap_or_default() == value.as_bytes(),
    })
}

fn write_matches(
    options: &Options,
    input: &Path,
    file: Option<&str>,
    found: Vec<Match<'_>>,
) -> Result<(), String> {
    let write =
        |path: &Path, slices: &[&[u8]]| crate::write(path, slices).map_err(|error| system_message(&error));
    if found.is_empty() {
        return Ok(());
    }
    if options.archive {
        let file = file.ok_or("Image must have a 'file' argument.")?;
        let members: Vec<_> = found
            .iter()
            .map(|found| Member::new(&found.from, &found.image))
            .collect();
        let archive = archive::write_chunks(&members, ArchiveKind::Gnu);
        let archive = archive.map_err(|error| error.to_string())?;
        return write(Path::new(file), &archive.slices());
    }
    if let Some(file) = file {
        if found.len() > 1 {
            say(&format!(
                "llvm-offload-binary: warning: Multiple inputs match to a single file, '{file}'"
            ));
        }
        let last = found.last().map(|last| &*last.image).unwrap_or_default();
        return write(Path::new(file), &[last]);
    }
    let stem = input.file_stem().unwrap_or_default().to_string_lossy();
    for (number, found) in found.iter().enumerate() {
        let extension = image_description::extension(found.kind);
        let name = format!("{stem}-{}-{}.{number}.{extension}", found.triple, found.arch);
        // A triple is no folder.
        if name.contains('/') {
            return Err(format!("'{name}': the names of the image hold a '/'"));
        }
        write(Path::new(&name), &[&found.image])?;
    }
    Ok(())
}

/// The system's message alone, as LLVM prints it.
fn system_message(error: &files::FileError) -> String {
    use std::error::Error as _;
    let Some(source) = error.source() else {
        return error.to_string();
    };
    let text = source.to_string();
    match text.split_once(" (os error") {
        Some((message, _)) => message.to_owned(),
        None => text,
    }
}
