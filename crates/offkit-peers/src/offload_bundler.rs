//! `clang-offload-bundler`, as in LLVM 22.
//!
//! The options, the files written, the order of listings and the messages that scripts look for are those of
//! the original. It differs on purpose where the original is wrong: headers that do not fit are errors that
//! name offset and field, names of processors that clang does not know are kept, a text bundle that is cut off
//! is an error, and archives are listed. `-q FILE` answers what code a file has, in short.
//!
//! | module | holds |
//! |---|---|
//! | `options` | the command line and the environment |
//! | `error` | what goes wrong |
//! | `target` | the IDs of targets: which are allowed, and which fit together |
//! | `bundled` | bundled files of every type: reading and writing them |
//! | `order` | the order in which entries are listed |
//! | `query` | the answer to `-q` |

mod archive;
mod bundled;
mod compression;
mod error;
mod options;
mod order;
mod query;
mod target;

use std::ffi::OsString;
use std::path::Path;

use crate::failure::Failure;
use bundled::{Content, FileType};
pub(crate) use error::Error;
use error::Result;
use offkit_host::files;
use offkit_image::target::triples;
use offkit_object::{Bytes, Chunks};
use options::{COMMAND_LINE, Mode, Options};
use target::TargetId;

/// The name in messages.
const NAME: &str = "clang-offload-bundler";

/// Runs as the tool.
pub(crate) fn run(arguments: Vec<OsString>) -> std::result::Result<String, Failure> {
    COMMAND_LINE.run(arguments, Options::of_environment(), |mut options| {
        answer(&mut options).map_err(Failure::error)
    })
}

/// Does what is asked and returns what is to be printed.
fn answer(options: &mut Options) -> Result<String> {
    let conflict = options.take_old();
    let options = &*options;
    match options.mode(conflict)? {
        Mode::Query(file) => return query::query(file, &read(file)?),
        Mode::List(file) => return list(options, file),
        Mode::Unbundle(file) => {
            let targets = target::parse_all(&options.targets, false)?;
            if options.file_type() == "a" {
                archive::unbundle(options, &targets, file, &read(file)?)?;
            } else {
                unbundle(options, &targets, file)?;
            }
        }
        Mode::Bundle(output) => {
            let targets = target::parse_all(&options.targets, true)?;
            bundle(options, &targets, output)?;
        }
    }
    Ok(String::new())
}

fn list(options: &Options, file: &str) -> Result<String> {
    let bytes = read(file)?;
    let file_type = FileType::parse(options.file_type())?;
    let ids = if file_type.is_object() && archive::is_archive(&bytes) {
        archive::list(options, file, &bytes)?
    } else {
        let bytes = compression::unpack(options, file, &bytes)?;
        let entries = bundled::read(file_type, file, &bytes)?;
        bundled::ids(&entries)
    };
    Ok(ids.iter().map(|id| format!("{id}\n")).collect())
}

fn bundle(options: &Options, targets: &[TargetId], output: &str) -> Result<()> {
    let file_type = FileType::parse(options.file_type())?;
    let inputs = options.inputs.iter().map(|input| read(input));
    let inputs = inputs.collect::<Result<Vec<_>>>()?;
    let entries: Vec<(&TargetId, &[u8])> = targets.iter().zip(inputs.iter().map(|input| &**input)).collect();
    let host = targets.iter().position(TargetId::is_host);
    if options.print_commands
        && file_type.is_object()
        && let Some(host) = host
        && bundled::is_object_bundle(&entries, host)
    {
        say!("{}", bundled::add_command(targets, &options.inputs, host, output));
        return Ok(());
    }
    write(output, &bundled(options, file_type, &entries)?.slices())
}

/// The bundled file, compressed if need be.
fn bundled<'data>(
    options: &Options,
    file_type: FileType,
    entries: &[(&TargetId, &'data [u8])],
) -> Result<Chunks<'data>> {
    let chunks = bundled::write(file_type, entries, options.alignment)?;
    match options.compress {
        true => Ok(Bytes::from(compression::pack(options, &chunks.into_bytes())?).into()),
        false => Ok(chunks),
    }
}

/// A bundle as HIP's runtime takes it: the code of several processors, and an empty entry for the host.
pub(crate) struct HipBundle<'data> {
    /// The IDs of the entries and their code.
    pub(crate) entries: Vec<(String, &'data [u8])>,
    pub(crate) compress: bool,
    pub(crate) level: Option<i32>,
}

impl HipBundle<'_> {
    // As clang's own HIP tool chain has it: code objects begin at pages.
    const ALIGNMENT: u64 = 4096;

    /// The IDs of all entries.
    fn ids(&self) -> Vec<String> {
        let mut ids = vec![format!("host-{}", triples::X86_64_LINUX)];
        ids.extend(self.entries.iter().map(|(id, _)| id.clone()));
        ids
    }

    /// The arguments with which this tool makes the bundle of files with the code.
    pub(crate) fn command(&self, files: &[&Path], output: &Path) -> Vec<OsString> {
        let mut words = vec!["-type=o".to_owned(), format!("-bundle-align={}", Self::ALIGNMENT)];
        words.extend(self.compress.then(|| "-compress".to_owned()));
        words.extend(self.level.map(|level| format!("-compression-level={level}")));
        words.push(format!("-targets={}", self.ids().join(",")));
        let empty = Path::new(if cfg!(windows) { "NUL" } else { "/dev/null" });
        words.extend(
            [empty]
                .iter()
                .chain(files)
                .map(|file| format!("-input={}", file.display())),
        );
        words.push(format!("-output={}", output.display()));
        words.into_iter().map(OsString::from).collect()
    }
}

/// Makes the bundle; what the environment says holds here, too.
pub(crate) fn hip_bundle(bundle: &HipBundle<'_>) -> Result<Vec<u8>> {
    let mut options = Options::of_environment();
    options.alignment = HipBundle::ALIGNMENT;
    options.compress |= bundle.compress;
    options.level = bundle.level.or(options.level);
    let targets = target::parse_all(&bundle.ids(), true)?;
    let contents = [[].as_slice()]
        .into_iter()
        .chain(bundle.entries.iter().map(|(_, code)| *code));
    let entries: Vec<_> = targets.iter().zip(contents).collect();
    Ok(bundled(&options, FileType::Object, &entries)?.into_bytes())
}

fn unbundle(options: &Options, targets: &[TargetId], file: &str) -> Result<()> {
    let file_type = FileType::parse(options.file_type())?;
    let bytes = read(file)?;
    let bytes = compression::unpack(options, file, &bytes)?;
    let entries = bundled::read(file_type, file, &bytes)?;
    let known: Vec<&str> = entries.iter().map(|entry| &*entry.id).collect();
    let found: Vec<Option<usize>> = targets
        .iter()
        .map(|target| target.find_in(&known, options.hip_openmp_compatible))
        .collect();
    // Before any file is written: an error must not leave some of the outputs new and others old.
    let mut missing: Vec<String> = targets
        .iter()
        .zip(&found)
        .filter(|(_, found)| found.is_none())
        .map(|(target, _)| target.to_string())
        .collect();
    if !missing.is_empty() && !options.allow_missing {
        missing.sort();
        return Err(Error::NoBundles(missing));
    }
    // A file without any of the targets is taken for what the host has.
    let is_host_alone = found.iter().all(Option::is_none);
    // `Options::mode` has seen that there are as many outputs as targets.
    for ((target, found), output) in targets.iter().zip(found).zip(&options.outputs) {
        match found.and_then(|index| entries.get(index)) {
            Some(entry) => match &entry.content {
                Content::Bytes(bytes) => {
                    let same = entries.iter().filter(|other| other.id == entry.id).count();
                    if same > 1 {
                        say!(
                            "{NAME}: warning: '{file}' has {same} entries {}; the first is written",
                            entry.id
                        );
                    }
                    write(output, &[bytes])?;
                }
                Content::HostObject if options.print_commands => {
                    say!("{}", bundled::remove_command(file, output));
                }
                Content::HostObject => write(output, &[&bundled::host_object(file, &bytes)?])?,
            },
            None if is_host_alone && target.is_host() => write(output, &[&bytes])?,
            // A build goes on with all outputs, and `-allow-missing-bundles` promises empty ones.
            None => write(output, &[])?,
        }
    }
    Ok(())
}

fn read(file: &str) -> Result<files::Content> {
    files::open(Path::new(file)).map_err(|source| Error::File {
        file: file.to_owned(),
        source,
    })
}

fn write(file: &str, chunks: &[&[u8]]) -> Result<()> {
    files::write(Path::new(file), chunks).map_err(|source| Error::File {
        file: file.to_owned(),
        source,
    })
}
