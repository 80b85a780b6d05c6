//! The modules of the corpus: files below some folders, identical ones once.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use offkit_cache::Digest;

use crate::random::number;

/// A module.
#[derive(Clone, Debug)]
pub(crate) struct Module {
    /// The digest of its bytes, which results are kept by.
    pub(crate) digest: String,
    /// A file that holds it.
    pub(crate) path: PathBuf,
}

/// All modules, and how many files hold them.
pub(crate) fn find(folders: &[PathBuf]) -> io::Result<(Vec<Module>, usize)> {
    let mut files = Vec::new();
    for folder in folders {
        collect(folder, &mut files)?;
    }
    files.sort();
    let mut modules = BTreeMap::new();
    for path in &files {
        modules.entry(digest(&fs::read(path)?)).or_insert(path);
    }
    let modules = modules.into_iter().map(|(digest, path)| Module {
        digest,
        path: path.clone(),
    });
    Ok((modules.collect(), files.len()))
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        match path.is_dir() {
            true => collect(&path, files)?,
            false if path.extension().is_some_and(|extension| extension == "spv") => files.push(path),
            false => {}
        }
    }
    Ok(())
}

/// The digest of some bytes, in hexadecimal digits.
pub(crate) fn digest(bytes: &[u8]) -> String {
    let bytes = Digest::of(bytes).bytes();
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Puts modules into the order of a seed, so that the first of them are a sample.
pub(crate) fn shuffle(modules: &mut [Module], seed: u64) {
    modules.sort_by_cached_key(|module| {
        let start = u64::from_str_radix(&module.digest[..16], 16).unwrap_or(0);
        number(seed, &[start])
    });
}
