//! `llvm-offload-binary`, which used to be `clang-offload-packager`: packs device images into offload binaries and
//! takes them out again.
//!
//! Compared with LLVM 22: what it crashes on is an error here, what lies between binaries hides none of them, and
//! a wish that nothing fits is said on standard error. Exit codes and files are the same.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use offkit_host::files::{self, FileError};
use offkit_object::archive::{self, ArchiveKind, Member};
use offkit_object::offload_binary::packaged;
use offkit_object::{
    BundleState, Bytes, ImageKind, Limits, OffloadBinaryVersion, OffloadEntry, OffloadKind, OutputFormat,
    Producer, offload_entries,
};

use crate::failure::Failure;
use crate::options::{CommandLine, Once};

const COMMAND_LINE: CommandLine<Options> = CommandLine {
    tool: "llvm-offload-binary",
    overview: "A utility for bundling several object files into a single binary.
The output binary can then be embedded into the host section table
to create a fatbinary containing offloading code.",
    usage: "[options] Extract from <file>.",
    options: options![o: Options;
        "archive" => o.archive, "Write extracted files to a static archive";
        "image" = "<<key>=<value>,...>" => o.images, "List of key and value arguments. Required keywords are 'file' and 'triple'.";
        "o" = "<file>" => o.output, "Write output to <file>.";
    ],
    positional: |options, file| options.input = Some(file.into()),
    positionals: 0..=1,
    missing: |_| None,
};

/// What the command line asks for.
#[derive(Default)]
struct Options {
    images: Vec<String>,
    output: Once<PathBuf>,
    input: Option<PathBuf>,
    archive: bool,
}

/// What goes wrong, said under the tool's newer name whatever it is called by.
#[derive(Debug, thiserror::Error)]
#[error("llvm-offload-binary: error: {0}")]
struct Error(#[source] Problem);

#[derive(Debug, thiserror::Error)]
enum Problem {
    #[error("Packaging to an output file and extracting from an input file are mutually exclusive.")]
    InputAndOutput,
    #[error("'file' is a required image arguments")]
    NoFile,
    #[error("Image must have a 'file' argument.")]
    NoArchive,
    #[error("'{}': {}", .input.display(), .error.reason())]
    Input { input: PathBuf, error: FileError },
    #[error("{}", .0.reason())]
    File(#[from] FileError),
    #[error("'{name}': the names of the image hold a '/'")]
    Name { name: String },
    #[error(transparent)]
    Object(#[from] offkit_object::Error),
}

/// Runs as `clang-offload-packager`.
pub(crate) fn run_packager(arguments: Vec<OsString>) -> Result<String, Failure> {
    const OLD: CommandLine<Options> = CommandLine {
        tool: "clang-offload-packager",
        ..COMMAND_LINE
    };
    let warning = "warning: 'clang-offload-packager' is deprecated. Use 'llvm-offload-binary' instead.";
    run_as(&OLD, arguments, || say!("{warning}"))
}

/// Runs as `llvm-offload-binary`.
pub(crate) fn run(arguments: Vec<OsString>) -> Result<String, Failure> {
    run_as(&COMMAND_LINE, arguments, || {})
}

fn run_as(
    line: &CommandLine<Options>,
    arguments: Vec<OsString>,
    warn: impl FnOnce(),
) -> Result<String, Failure> {
    line.run(arguments, Options::default(), |options| {
        warn();
        let done = match (&options.input, &options.output.0) {
            (None, None) => return Ok(line.help(false)),
            (Some(_), Some(_)) => Err(Problem::InputAndOutput),
            (None, Some(output)) => pack(&options, output),
            (Some(input), None) => extract(&options, input),
        };
        done.map_err(|problem| Failure::words(Error(problem)))?;
        Ok(String::new())
    })
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

fn pack(options: &Options, output: &Path) -> Result<(), Problem> {
    let mut described = Vec::new();
    for image in &options.images {
        let mut strings = values(image);
        let files = value(&strings, "file").ok_or(Problem::NoFile)?.to_owned();
        let kind = value(&strings, "kind").unwrap_or("none");
        let producer = Producer::from_clang_name(kind).unwrap_or_else(|| {
            say!("llvm-offload-binary: warning: unknown kind '{kind}' is written as 'none'");
            Producer::None
        });
        strings.retain(|(key, _)| key != "file" && key != "kind");
        for file in files.split(',').map(PathBuf::from) {
            let content = files::open(&file)?;
            described.push((file, producer, strings.clone(), content));
        }
    }
    let images = described
        .iter()
        .map(|(file, producer, strings, content)| packaged(file, *producer, strings, content));
    let format = OutputFormat::OffloadBinary(OffloadBinaryVersion::V1);
    let packed = offkit_object::pack(images, format, BundleState::Object)?;
    Ok(files::write(output, &packed.content.slices())?)
}

fn extract(options: &Options, input: &Path) -> Result<(), Problem> {
    let content = files::open(input).map_err(|error| Problem::Input {
        input: input.to_owned(),
        error,
    })?;
    let name = input.display().to_string();
    let wishes: Vec<_> = options.images.iter().map(|image| values(image)).collect();
    let mut matches: Vec<Vec<Match<'_>>> = wishes.iter().map(|_| Vec::new()).collect();
    let result = offload_entries(&content, &Limits::default(), &mut |found| {
        let from = found.member.unwrap_or(&name);
        for (wish, matching) in wishes.iter().zip(&mut matches) {
            if fits(&found.entry, wish) {
                matching.push(Match::new(&found.entry, from.to_owned()));
            }
        }
    });
    // What stands before damage is written before that is told: the rest of the file may be of no
    // interest.
    for ((wish, image), found) in wishes.iter().zip(&options.images).zip(matches) {
        if found.is_empty() {
            say!("llvm-offload-binary: warning: nothing in '{name}' matches --image={image}");
        }
        write_matches(options, input, value(wish, "file"), &found)?;
    }
    Ok(result?)
}

/// An image to be written.
struct Match<'data> {
    image: Bytes<'data>,
    kind: ImageKind,
    triple: String,
    arch: String,
    /// The name of the file it comes from.
    from: String,
}

impl<'data> Match<'data> {
    fn new(entry: &OffloadEntry<'data>, from: String) -> Self {
        let text = |key| entry.strings.get(key).unwrap_or_default().to_owned();
        Self {
            image: entry.image.clone(),
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
        "kind" => {
            OffloadKind::of(Producer::from_clang_name(value).unwrap_or(Producer::None))
                == Some(entry.offload_kind)
        }
        key => entry.strings.get_bytes(key).unwrap_or_default() == value.as_bytes(),
    })
}

fn write_matches(
    options: &Options,
    input: &Path,
    file: Option<&str>,
    found: &[Match<'_>],
) -> Result<(), Problem> {
    let Some(last) = found.last() else { return Ok(()) };
    if options.archive {
        let file = file.ok_or(Problem::NoArchive)?;
        let members: Vec<_> = found
            .iter()
            .map(|found| Member::new(&found.from, &found.image))
            .collect();
        let archive = archive::write_chunks(&members, ArchiveKind::Gnu)?;
        return Ok(files::write(Path::new(file), &archive.slices())?);
    }
    if let Some(file) = file {
        if found.len() > 1 {
            say!("llvm-offload-binary: warning: Multiple inputs match to a single file, '{file}'");
        }
        // The last one, as with the original.
        return Ok(files::write(Path::new(file), &[&last.image])?);
    }
    let stem = input.file_stem().unwrap_or_default().to_string_lossy();
    for (number, found) in found.iter().enumerate() {
        let (triple, arch, extension) = (&found.triple, &found.arch, found.kind.extension());
        let name = format!("{stem}-{triple}-{arch}.{number}.{extension}");
        // A triple is no folder.
        if name.contains('/') {
            return Err(Problem::Name { name });
        }
        files::write(Path::new(&name), &[&found.image])?;
    }
    Ok(())
}
