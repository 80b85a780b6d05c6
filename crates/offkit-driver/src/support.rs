//! What the driver brings along: headers, the runtime for programs, and itself under the name that clang calls.

use std::io;
use std::path::{Path, PathBuf};

use offkit_cache::{Cache, File, Key, Kind};

macro_rules! headers {
    ($($file:literal)*) => { &[$(($file, include_str!(concat!("../../../include/", $file)))),*] };
}

/// The headers, for where they are not installed.
const HEADERS: &[(&str, &str)] = headers!(
    "offkit.h" "offkit.hpp" "offkit/device.h" "offkit/parallel.hpp" "offkit/parallel/atomic.hpp"
    "offkit/parallel/functions.hpp" "offkit/parallel/group.hpp" "offkit/parallel/index.hpp"
    "offkit/parallel/kernel.hpp" "offkit/parallel/memory.hpp" "offkit/parallel/queue.hpp"
    "offkit/parallel/reduction.hpp");

/// The runtime that programs are linked with.
const RUNTIME: &str = "liboffkit.so";

/// The tool that clang starts to link a program with device code.
const LINKER_WRAPPER: &str = "clang-linker-wrapper";

/// What that tool looks for beside itself.
const CLANG: &str = "clang";

/// Where things are.
#[derive(Clone, Debug)]
pub(crate) struct Support {
    /// The folder that holds `offkit.h`, `offkit/device.h` and the others.
    pub(crate) include: PathBuf,
    /// The folder that holds `liboffkit.so`, if it is installed, or built, with the program.
    pub(crate) runtime: Option<PathBuf>,
    /// The folder that holds what clang starts, and what that starts in turn.
    pub(crate) tools: PathBuf,
}

impl Support {
    /// Finds everything, and writes what is not installed to the user's cache: the same place every time, so that the
    /// same command line leads to the same commands.
    pub(crate) fn find(program: &Path, clang: &Path) -> io::Result<Self> {
        // A link to a relative path would lead on from the cache's folder.
        let clang = std::path::absolute(clang).unwrap_or_else(|_| clang.to_owned());
        let key = key(program, &clang, HEADERS);
        let folder = Cache::user().folder(&key, || {
            let suffix = std::env::consts::EXE_SUFFIX;
            let tool = |name: &str| PathBuf::from(format!("bin/{name}{suffix}"));
            let header = |(name, text): &(&str, &str)| {
                let path = Path::new("include").join(name);
                (path, File::Content(text.as_bytes().into()))
            };
            let mut files: Vec<_> = HEADERS.iter().map(header).collect();
            files.push((tool(LINKER_WRAPPER), File::Link(program.to_owned())));
            files.push((tool(CLANG), File::Link(clang.clone())));
            io::Result::Ok(files)
        })?;
        let root = program.parent().and_then(Path::parent);
        let installed = root.map(|root| root.join("include"));
        // The folder may well be there without them: a program in `/usr/bin` comes to
        // `/usr/include`.
        let has_all = |include: &PathBuf| HEADERS.iter().all(|(name, _)| include.join(name).is_file());
        let beside = program.parent().map(Path::to_owned);
        let mut libraries = root.map(|root| root.join("lib")).into_iter().chain(beside);
        Ok(Self {
            include: installed
                .filter(has_all)
                .unwrap_or_else(|| folder.join("include")),
            runtime: libraries.find(|folder| folder.join(RUNTIME).is_file()),
            tools: folder.join("bin"),
        })
    }
}

/// All that the files are made of. Links lead to programs, whatever these are by now.
fn key(program: &Path, clang: &Path, headers: &[(&str, &str)]) -> Key {
    let mut key = Key::new(Kind::Driver, program.display().to_string())
        .text("offkit", env!("CARGO_PKG_VERSION"))
        .text("program", program.display())
        .text("clang", clang.display());
    for &(name, text) in headers {
        key = key.bytes(name, text.as_bytes());
    }
    key
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::fs;

    use super::*;

    #[test]
    fn whatever_the_files_are_made_of_makes_another_key() {
        let (program, clang) = (Path::new("/usr/bin/offkit"), Path::new("/usr/bin/clang-22"));
        let headers = [("a.h", "a"), ("b.h", "b")];
        let other = Path::new("/usr/local/bin/other");
        let keys = [
            key(program, clang, &headers),
            key(other, clang, &headers),
            key(program, other, &headers),
            key(other, program, &headers),
            key(program, clang, &headers[..1]),
            key(program, clang, &[("a.h", "a"), ("b.h", "c")]),
            key(program, clang, &[("a.h", "a"), ("c.h", "b")]),
            key(program, clang, &[("b.h", "b"), ("a.h", "a")]),
        ];
        let digests: BTreeSet<_> = keys.iter().map(Key::digest).collect();
        assert_eq!(digests.len(), keys.len());
    }

    #[test]
    fn every_header_comes_along() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../include");
        let mut missing = Vec::new();
        for folder in ["offkit", "offkit/parallel"] {
            for entry in fs::read_dir(root.join(folder)).expect("a folder") {
                let name = entry
                    .expect("an entry")
                    .file_name()
                    .into_string()
                    .expect("a name");
                let name = format!("{folder}/{name}");
                let is_known = HEADERS.iter().any(|(known, _)| *known == name);
                if root.join(&name).is_file() && !is_known {
                    missing.push(name);
                }
            }
        }
        assert_eq!(missing, Vec::<String>::new());
    }
}
