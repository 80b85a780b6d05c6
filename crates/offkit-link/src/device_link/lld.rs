//! Images that a linker for objects makes: AMDGPU code objects, and code of a host's processor.

use std::env;
use std::ffi::OsString;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::error::LinkError;
use offkit_host::command_line::typed;
use offkit_host::command_line::{LONGEST_COMMAND, response_file};
use offkit_host::program;

/// The names that LLVM's linker for ELF goes by, in the order in which they are looked for.
// That of the worker's LLVM goes before whatever the system calls `ld.lld`.
const NAMES: [&str; 2] = ["ld.lld-22", "ld.lld"];

/// The environment variable that names the folder of LLVM's programs, beside those of `PATH`.
pub const FOLDER_VARIABLE: &str = "OFFKIT_LLVM_BIN";

/// Where Debian's packages keep them.
const FOLDER: &str = "/usr/lib/llvm-22/bin";

/// What the objects become.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// An object to be linked again.
    Relocatable,
    /// A shared object that a runtime loads; whether it may need symbols from elsewhere.
    Shared { allow_imports: bool },
}

/// Finds the linker.
pub(super) fn find() -> Option<PathBuf> {
    let folder = env::var_os(FOLDER_VARIABLE).map_or_else(|| FOLDER.into(), PathBuf::from);
    let after = [folder];
    NAMES.iter().find_map(|name| program::find(name, &[], &after))
}

/// The arguments that link objects; `more` come last.
pub(super) fn arguments(objects: &[PathBuf], output: &Path, kind: Kind, more: &[OsString]) -> Vec<OsString> {
    let mut arguments: Vec<OsString> = Vec::new();
    match kind {
        Kind::Relocatable => arguments.push("-r".into()),
        Kind::Shared { allow_imports } => {
            arguments.push("-shared".into());
            // By itself a shared object may leave symbols open, but loaders of AMDGPU code resolve
            // no functions: what misses one would fail when it is loaded.
            if !allow_imports {
                arguments.push("--no-undefined".into());
            }
        }
    }
    arguments.push("-o".into());
    arguments.push(output.into());
    arguments.extend(objects.iter().map(|object| object.as_os_str().to_owned()));
    arguments.extend_from_slice(more);
    arguments
}

/// A command line as it can be typed.
pub(super) fn shown(program: &Path, arguments: &[OsString]) -> String {
    let words = std::iter::once(program.as_os_str()).chain(arguments.iter().map(OsString::as_os_str));
    words.map(typed).collect::<Vec<_>>().join(" ")
}

/// Links objects for that triple.
pub(super) fn link(
    objects: &[PathBuf],
    output: &Path,
    kind: Kind,
    more: &[OsString],
    triple: &str,
) -> Result<(), LinkError> {
    let program = find().ok_or_else(|| LinkError::NoLinker {
        triple: triple.to_owned(),
    })?;
    let arguments = arguments(objects, output, kind, more);
    let command = shown(&program, &arguments);
    tracing::debug!(command, "linking objects");
    let mut linker = Command::new(&program);
    // Kept until the linker has ended.
    let mut file = None;
    if arguments.iter().map(|word| word.len() + 1).sum::<usize>() > LONGEST_COMMAND {
        let mut written = tempfile::Builder::new().suffix(".rsp").tempfile()?;
        written.write_all(response_file(&arguments).as_bytes())?;
        let mut word = OsString::from("@");
        word.push(written.path());
        linker.arg(word);
        file = Some(written);
    } else {
        linker.args(&arguments);
    }
    let result = linker.stdin(Stdio::null()).output();
    drop(file);
    let result = result?;
    if result.status.success() {
        return Ok(());
    }
    Err(LinkError::Linker {
        command,
        status: result.status.to_string(),
        stderr: String::from_utf8_lossy(&result.stderr).into_owned(),
    })
}
