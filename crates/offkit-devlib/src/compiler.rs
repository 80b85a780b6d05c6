//! Compilers as inputs of what is kept: the program with the libraries that it is made of.
//!
//! Distributions' clang is a small program, and what compiles is in `libclang-cpp` and `libLLVM`, which come in packages of
//! their own. To ask the compiler for its version takes as long as a link, so these are looked up as the loader would, which
//! takes microseconds.

use std::collections::VecDeque;
use std::env;
use std::ffi::OsString;
use std::fs::File;
use std::iter;
use std::path::{Path, PathBuf};

use offkit_cache::{FileId, Key};
use offkit_host::{files::map, folders};
use offkit_object::host::needed;

/// What names of compilers' libraries begin with.
const LIBRARIES: [&str; 2] = ["libclang", LAST];

/// The one that the others need.
const LAST: &str = "libLLVM";

/// No compiler has more of them.
const MOST: usize = 16;

/// Variables that change what clang reads or does.
const VARIABLES: [&str; 4] = [
    "CPATH",
    "C_INCLUDE_PATH",
    "CPLUS_INCLUDE_PATH",
    "CCC_OVERRIDE_OPTIONS",
];

/// Variables that change what clang reads or does, each with its value: empty where it is not set, which is the same.
pub(crate) fn compiler_variables() -> [(&'static str, OsString); 4] {
    VARIABLES.map(|name| (name, env::var_os(name).unwrap_or_default()))
}

/// Adds a compiler to what something is made of: where it is, its size and time, and which of LLVM's and clang's libraries it
/// has, by their builds.
#[must_use]
pub fn with_compiler(key: Key, name: &str, program: &Path) -> Key {
    let key = key.file(name, program);
    let libraries = libraries(program);
    libraries.into_iter().fold(key, |key, library| {
        let Library { name: file, path } = library;
        let identity = path
            .and_then(|path| FileId::of(&path))
            .map(|found| found.identity);
        key.text(
            format!("{name}'s {file}"),
            identity.as_deref().unwrap_or("not found"),
        )
    })
}

/// A library that a compiler needs.
struct Library {
    name: String,
    path: Option<PathBuf>,
}

/// The libraries of a compiler, and those that these need in turn.
fn libraries(program: &Path) -> Vec<Library> {
    // Where the loader says that the program is: links lead to it.
    let Ok(program) = program.canonicalize() else {
        return Vec::new();
    };
    let mut found: Vec<Library> = Vec::new();
    let mut files = VecDeque::from([program]);
    while let Some(file) = files.pop_front() {
        let needed = File::open(&file)
            .ok()
            .and_then(|file| map(&file).ok())
            .map(|bytes| needed(&bytes))
            .unwrap_or_default();
        for name in needed.libraries {
            // A name with a slash is a path already: the loader looks for it nowhere.
            let is_ours = LIBRARIES.iter().any(|begin| name.starts_with(begin)) && !name.contains('/');
            if is_ours && found.len() < MOST && found.iter().all(|library| library.name != name) {
                let path = place(&name, &file, &needed.folders, &needed.folders_behind);
                files.extend(path.clone());
                found.push(Library { name, path });
            }
        }
        // Everything is built on this one, so there is nothing below it.
        if found.iter().any(|library| library.name.starts_with(LAST)) {
            break;
        }
    }
    found
}

/// Where the loader finds a library that a file needs, which may say where to look: before the variable, and behind it.
fn place(name: &str, file: &Path, before: &[String], behind: &[String]) -> Option<PathBuf> {
    let origin = file.parent().unwrap_or(Path::new("/"));
    let named = |folder: &String| {
        let rest = ["$ORIGIN", "${ORIGIN}"]
            .iter()
            .find_map(|begin| folder.strip_prefix(begin));
        rest.map_or_else(
            || PathBuf::from(folder),
            |rest| origin.join(rest.trim_start_matches('/')),
        )
    };
    (before.iter().map(named))
        .chain(folders::of_variable())
        .chain(behind.iter().map(named))
        // Which has to be read, and is seldom needed.
        .chain(iter::once_with(folders::of_system).flatten())
        .map(|folder| folder.join(name))
        .find(|path| path.is_file())
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::fs;
    use std::process::Command;

    use offkit_cache::{Cache, Kind, Limits};

    use super::*;

    fn key(clang: &Path) -> Key {
        with_compiler(Key::new(Kind::DeviceLibrary, "m"), "clang", clang)
    }

    /// Makes a program or library of nothing; whether there is a linker.
    fn link(folder: &Path, words: &str) -> bool {
        let mut command = Command::new("cc");
        command
            .current_dir(folder)
            .args(["-x", "c", "/dev/null", "-x", "none"]);
        let made = command.args(words.split(' ')).status();
        made.is_ok_and(|status| status.success())
    }

    #[test]
    fn a_new_library_of_the_compiler_is_a_miss_that_names_it() {
        let folder = tempfile::tempdir().unwrap();
        for part in ["bin", "lib", "new"] {
            fs::create_dir(folder.path().join(part)).unwrap();
        }
        let library = |name: &str, words: &str| {
            let line = format!("-shared -nostdlib -o {name} -Wl,-soname,libclang-cpp.so.22 {words}");
            assert!(link(folder.path(), &line));
        };
        let llvm = "-shared -nostdlib -Wl,-soname,libLLVM.so.22 -Wl,--build-id=0x01 -o lib/libLLVM.so.22";
        if !link(folder.path(), llvm) {
            return;
        }
        let needs = "-Wl,--no-as-needed,-rpath,$ORIGIN/../lib";
        // clang itself needs this one alone.
        let own = format!("{needs} lib/libLLVM.so.22");
        library("lib/libclang-cpp.so.22", &format!("-Wl,--build-id=0x01 {own}"));
        library("new/libclang-cpp.so.22", &format!("-Wl,--build-id=0x02 {own}"));
        let clang = format!("-shared -nostdlib -o bin/clang {needs} lib/libclang-cpp.so.22");
        assert!(link(folder.path(), &clang));

        let clang = folder.path().join("bin/clang");
        let names: Vec<_> = libraries(&clang)
            .into_iter()
            .map(|library| library.name)
            .collect();
        assert_eq!(names, ["libclang-cpp.so.22", "libLLVM.so.22"]);
        let before = key(&clang);
        let cache = Cache::at(folder.path().join("cache"), Limits::default());
        cache.put(&before, &[], b"library");
        // This process knows the old one for good, others have the new one.
        let other = folder.path().join("other");
        fs::create_dir(&other).unwrap();
        for part in ["bin", "lib"] {
            fs::rename(folder.path().join(part), other.join(part)).unwrap();
        }
        fs::rename(
            folder.path().join("new/libclang-cpp.so.22"),
            other.join("lib/libclang-cpp.so.22"),
        )
        .unwrap();
        let mut after = key(&other.join("bin/clang"));
        assert_eq!(after.inputs.len(), before.inputs.len());
        // The program is the same one, where it was.
        after.inputs[0] = before.inputs[0].clone();
        assert_eq!(
            cache.why(&after).to_string(),
            "clang's libclang-cpp.so.22 changed: it was `build 01` and is `build 02`"
        );
        fs::remove_file(other.join("lib/libLLVM.so.22")).unwrap();
        let other = other.join("bin/clang");
        let gone = key(&other).inputs.into_iter().next_back().unwrap();
        assert_eq!(gone.value, "not found");
    }

    #[test]
    fn a_program_that_is_no_elf_file_is_known_by_itself() {
        let folder = tempfile::tempdir().unwrap();
        let script = folder.path().join("clang");
        fs::write(&script, "#!/bin/sh\nexec clang-22 \"$@\"\n").unwrap();
        assert_eq!(key(&script).inputs.len(), 1);
        assert_eq!(key(Path::new("/nowhere/clang")).inputs.len(), 1);
    }
}
