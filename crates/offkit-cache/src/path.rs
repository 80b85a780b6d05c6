//! Paths in headers, which are JSON: as text where they are text, or else as an array of their bytes.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Deserializer, Serialize, Serializer};

#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum Written<'a> {
    Text(std::borrow::Cow<'a, str>),
    Bytes(Vec<u8>),
}

pub(crate) fn serialize<S: Serializer>(path: &Path, serializer: S) -> Result<S::Ok, S::Error> {
    let written = match path.to_str() {
        Some(text) => Written::Text(text.into()),
        None => Written::Bytes(path.as_os_str().as_encoded_bytes().to_vec()),
    };
    written.serialize(serializer)
}

pub(crate) fn deserialize<'d, D: Deserializer<'d>>(deserializer: D) -> Result<PathBuf, D::Error> {
    match Written::deserialize(deserializer)? {
        Written::Text(text) => Ok(text.into_owned().into()),
        Written::Bytes(bytes) => {
            of_bytes(&bytes).ok_or_else(|| serde::de::Error::custom("the path is none of this system's"))
        }
    }
}

/// The path that some bytes are; other systems have no such paths.
#[cfg(unix)]
pub(crate) fn of_bytes(bytes: &[u8]) -> Option<PathBuf> {
    use std::os::unix::ffi::OsStrExt as _;
    Some(std::ffi::OsStr::from_bytes(bytes).into())
}

/// The path that some bytes are, where they are text.
#[cfg(not(unix))]
pub(crate) fn of_bytes(bytes: &[u8]) -> Option<PathBuf> {
    Some(std::str::from_utf8(bytes).ok()?.into())
}

/// The path as a text that no other path has.
pub(crate) fn text(path: &Path) -> String {
    match path.to_str() {
        Some(text) => text.to_owned(),
        // No path has a zero in it.
        None => format!("\0{}", path.as_os_str().as_encoded_bytes().escape_ascii()),
    }
}
