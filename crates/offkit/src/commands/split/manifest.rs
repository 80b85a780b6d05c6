//! `split.json`: what a folder has that `offkit split` wrote.

use std::path::{Component, Path, PathBuf};

use offkit_host::files;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::commands::ls::json::hex;
use crate::failure::Failure;

/// What the manifest is called.
pub(crate) const MANIFEST: &str = "split.json";
/// The version of its form.
pub(crate) const SCHEMA: u32 = 1;

/// How packs are stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Layout {
    /// Tar files of images, which `offkit join` puts back
    Offkit,
    /// AMD's archives, which its HIP runtime finds beside the library
    Kpack,
    /// A whole copy of the file for each group of architectures: nothing loads packs for CUDA
    Copies,
}

#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Manifest {
    pub(crate) schema: u32,
    pub(crate) layout: Layout,
    pub(crate) name: String,
    pub(crate) recipes: Option<Stored>,
    pub(crate) files: Vec<SplitFile>,
    pub(crate) packs: Vec<Pack>,
}

/// A file in the folder.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Stored {
    /// Where it is, from the folder on, with `/` between folders.
    pub(crate) file: String,
    pub(crate) size: u64,
    pub(crate) sha256: String,
}

/// A file that was split.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct SplitFile {
    /// Where it was, with `/` between folders.
    pub(crate) path: String,
    pub(crate) size: u64,
    pub(crate) sha256: String,
    /// What is left of it.
    pub(crate) host: Stored,
    /// How many images the packs have of it.
    pub(crate) images: usize,
    /// Whether it becomes the same bytes again, and not only the same content compressed anew.
    pub(crate) exact: bool,
}

/// The images for one architecture, or for a group.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Pack {
    /// As `offkit thin` names it.
    pub(crate) arch: String,
    pub(crate) images: usize,
    /// One file, or for copies one for each file that was split.
    pub(crate) files: Vec<Stored>,
}

impl Stored {
    pub(crate) fn of(file: impl Into<String>, content: &[u8]) -> Self {
        Self {
            file: file.into(),
            size: content.len() as u64,
            sha256: digest(content),
        }
    }

    /// Where it is in the folder.
    pub(crate) fn path(&self, folder: &Path) -> Result<PathBuf, Failure> {
        Ok(folder.join(inner(&self.file)?))
    }

    /// Its content, if that is what was written.
    pub(crate) fn read(&self, folder: &Path) -> Result<files::Content, Failure> {
        let path = self.path(folder)?;
        let content = files::open_regular(&path).map_err(Failure::input)?;
        // Of a file with another size nothing has to be read.
        match content.len() as u64 == self.size && digest(&content) == self.sha256 {
            true => Ok(content),
            false => Err(Failure::input(format!(
                "{}: not the file that `offkit split` wrote",
                path.display()
            ))),
        }
    }
}

/// A path of a manifest, which must not lead out of the folder.
pub(crate) fn inner(path: &str) -> Result<PathBuf, Failure> {
    let path = PathBuf::from(path);
    let is_inside = path.components().all(|part| matches!(part, Component::Normal(_)));
    match is_inside && !path.as_os_str().is_empty() {
        true => Ok(path),
        false => Err(Failure::input(format!(
            "`{}` in {MANIFEST} is no file in the folder",
            path.display()
        ))),
    }
}

pub(crate) fn digest(content: &[u8]) -> String {
    hex(&Sha256::digest(content))
}

impl Manifest {
    pub(crate) fn read(folder: &Path) -> Result<Self, Failure> {
        let path = folder.join(MANIFEST);
        let text = files::open_regular(&path).map_err(|error| {
            Failure::input(error).hint("`offkit join` takes the folder that `offkit split` wrote")
        })?;
        let wrong = |error: &dyn std::fmt::Display| Failure::input(format!("{}: {error}", path.display()));
        // Of a later version more may be different.
        let whole: serde_json::Value = serde_json::from_slice(&text).map_err(|error| wrong(&error))?;
        let schema = whole.get("schema").and_then(serde_json::Value::as_u64);
        if schema != Some(SCHEMA.into()) {
            return Err(
                wrong(&format!("expected schema {SCHEMA}")).hint("a newer offkit may have written it")
            );
        }
        serde_json::from_value(whole).map_err(|error| wrong(&error))
    }
}
