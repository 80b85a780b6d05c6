//! What goes wrong, in the words of the original.

use offkit_host::files::FileError;

pub(super) type Result<T> = std::result::Result<T, Error>;

#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    #[error("-inputs and -input cannot be used together, use only -input instead")]
    BothInputs,
    #[error("-outputs and -output cannot be used together, use only -output instead")]
    BothOutputs,
    #[error("-unbundle and -list cannot be used together")]
    UnbundleAndList,
    #[error("-targets option is invalid for -list")]
    TargetsOfList,
    #[error("-outputs option is invalid for -list")]
    OutputsOfList,
    #[error("only one input file supported for -list")]
    OneInputOfList,
    #[error("no output file specified!")]
    NoOutput,
    #[error("for the --targets option: must be specified at least once!")]
    NoTargets,
    #[error("number of output files and targets should match in unbundling mode")]
    UnbundledOutputs,
    #[error("only one input file supported in unbundling mode")]
    OneUnbundledInput,
    #[error("Archive files are only supported for unbundling")]
    BundledArchive,
    #[error("number of input files and targets should match in bundling mode")]
    BundledInputs,
    #[error("only one output file supported in bundling mode")]
    OneBundledOutput,
    #[error("'{name}': invalid file type specified")]
    FileType { name: String },
    #[error(
        "Targets need to follow the format '<offload kind>-<target triple>', where '<target triple>' follows the \
         format '<kind>-<arch>-<vendor>-<os>-<env>[-<target id>[:target features]]'."
    )]
    TargetFormat,
    #[error(
        "invalid target '{target}'{}{}",
        .kind.as_ref().map(|kind| format!(", unknown offloading kind '{kind}'")).unwrap_or_default(),
        .triple.as_ref().map(|triple| format!(", unknown target triple '{triple}'")).unwrap_or_default()
    )]
    Target {
        target: String,
        /// Its offload kind, if that is not known.
        kind: Option<String>,
        /// Its triple, if that is not known.
        triple: Option<String>,
    },
    #[error("Duplicate targets are not allowed")]
    RepeatedTarget,
    #[error("expecting exactly one host target but got {0}")]
    Hosts(usize),
    #[error("Cannot bundle inputs with conflicting targets: '{one}' and '{other}'")]
    Conflict { one: String, other: String },
    #[error("conflicting TargetIDs '{one}' and '{other}' in {place}")]
    ConflictInArchive {
        one: String,
        other: String,
        place: String,
    },
    #[error("Can't find bundles for {}", enumerate(.0))]
    NoBundles(Vec<String>),
    #[error(
        "no compatible code object found for the target '{target}' in heterogeneous archive library: {file}"
    )]
    NoCompatible { target: String, file: String },
    #[error("file too small to be an archive")]
    NoArchive,
    #[error("Failed to decompress input: {0}")]
    Decompression(offkit_object::Error),
    /// What is wrong with the content of a file.
    #[error(transparent)]
    Content(#[from] offkit_object::Error),
    #[error("{0}")]
    Problem(Box<offkit_object::Problem>),
    /// What is wrong with a file as a whole, in the system's words alone.
    #[error("'{file}': {}", .source.reason())]
    File { file: String, source: FileError },
}

impl Error {
    /// What is wrong with the content of a file.
    pub(super) fn of_content(file: &str, error: offkit_object::Error) -> Self {
        Self::Content(error.with_file(file))
    }
}

/// `A`, `A and B`, `A, B, and C`.
fn enumerate(names: &[String]) -> String {
    match names {
        [] => String::new(),
        [one] => one.clone(),
        [one, two] => format!("{one} and {two}"),
        [most @ .., last] => format!("{}, and {last}", most.join(", ")),
    }
}
