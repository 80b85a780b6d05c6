//! The host's link, with the objects that register images.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use super::commands::Commands;
use super::error::{Error, Result};
use super::options::{Meaning, Options};

/// The section in which compilers put the entries of the host.
const ENTRIES: &str = "llvm_offload_entries";

/// Runs the linker; `objects` come right behind the output, before the libraries that they need.
pub(super) fn run(
    options: &Options,
    commands: &Commands,
    executable: &str,
    host: &str,
    objects: Vec<PathBuf>,
) -> Result<()> {
    let linker = options
        .linker_path
        .as_deref()
        .map(Path::as_os_str)
        .filter(|path| !path.is_empty())
        .ok_or(Error::NoLinker)?;
    let keeps_entries = !objects.is_empty() && drops_sections(linker, options);
    let mut objects = Some(objects.into_iter().map(PathBuf::into_os_string));
    let mut arguments: Vec<OsString> = Vec::new();
    let names = |name: &str| Meaning::Library(name.to_owned());
    let has_offkit = options
        .linker
        .iter()
        .any(|argument| argument.meaning == names("offkit"));
    for argument in &options.linker {
        // clang asks for LLVM's runtime. A program that asks for offkit's takes its place, and LLVM's need not be there.
        if has_offkit && argument.meaning == names("omptarget") {
            continue;
        }
        arguments.extend(argument.words.iter().cloned());
        if argument.meaning == Meaning::Output {
            arguments.extend(objects.take().into_iter().flatten());
        }
    }
    // Behind everything where no argument names the output.
    arguments.extend(objects.into_iter().flatten());
    if keeps_entries {
        arguments.extend(["-z", "nostart-stop-gc"].map(OsString::from));
    }
    commands.run(linker, &arguments)?;
    if options.relocatable {
        hide_entries(commands, executable, host)?;
    }
    Ok(())
}

/// Whether the linker would drop the host's entries, to which nothing refers but the symbols around them: LLVM's
/// does when it drops what is not referred to. The original fails then.
fn drops_sections(linker: &OsStr, options: &Options) -> bool {
    let is_lld = Path::new(linker)
        .file_name()
        .is_some_and(|name| name.to_string_lossy().contains("ld.lld"));
    let has = |wanted: &str| {
        let mut words = options.linker.iter().flat_map(|argument| &argument.words);
        words.any(|word| word == wanted)
    };
    is_lld && has("--gc-sections") && !has("start-stop-gc") && !has("nostart-stop-gc")
}

/// Gives the section of entries in a linked object a name of its own, so that the next link does not see them, and
/// removes the code that is linked.
fn hide_entries(commands: &Commands, executable: &str, host: &str) -> Result<()> {
    if host.contains("windows") {
        return Err(Error::RelocatableCoff);
    }
    let objcopy = commands.find("llvm-objcopy", &[])?;
    let content = commands.read(Path::new(executable))?;
    // By what is in it, so that several such objects in one link keep their entries apart.
    let suffix = format!("_{:x}", twox_hash::XxHash3_64::oneshot(&content));
    let arguments = [
        executable.to_owned(),
        "--remove-section".into(),
        ".llvm.offloading".into(),
        "--rename-section".into(),
        format!("{ENTRIES}={ENTRIES}{suffix}"),
        "--redefine-sym".into(),
        format!("__start_{ENTRIES}=__start_{ENTRIES}{suffix}"),
        "--redefine-sym".into(),
        format!("__stop_{ENTRIES}=__stop_{ENTRIES}{suffix}"),
    ];
    commands.run(&objcopy, &arguments.map(OsString::from))
}
