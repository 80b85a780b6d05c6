//! Python's wheels: zip files that list the hash and size of each of their members.
//!
//! `NAME-VERSION.dist-info/RECORD` has a line of comma-separated values for each member: its path, `sha256=` with the
//! digest in the URL's form of base64 without padding, and its size ("Binary distribution format" of the Python
//! Packaging User Guide). Installers do not check it; `wheel unpack` does.

use offkit_image::{Error, ErrorKind, Limits};
use sha2::{Digest, Sha256};

use super::edit::Archive;
use crate::source::Source;

/// What the folder of a wheel's own files is called behind name and version.
const INFO: &str = ".dist-info";
/// What the folder is called of files that go elsewhere than to the libraries.
const DATA: &str = ".data";

/// A wheel's own files among the members of a zip file.
struct Wheel {
    names: Vec<String>,
    /// The number of its list of members.
    record: usize,
    /// The name and the version, as the folder has them: `torch-2.9.0`.
    name: String,
}

impl Wheel {
    /// `None` for another zip file.
    fn of(archive: &Archive<'_>) -> Result<Option<Self>, Error> {
        let names = archive
            .names()
            .map(|name| String::from_utf8_lossy(name).into_owned());
        let names: Vec<String> = names.collect();
        let found = names.iter().enumerate().find_map(|(number, name)| {
            let name = name.strip_suffix("/RECORD")?.strip_suffix(INFO)?;
            // A wheel may have others in it as files, whose lists are not its own.
            (!name.contains('/')).then(|| (number, name.to_owned()))
        });
        let Some((record, name)) = found else {
            return Ok(None);
        };
        // The two kinds that PEP 427 knows.
        let is_signature = |other: &&String| {
            [".jws", ".p7s"]
                .iter()
                .any(|end| **other == format!("{name}{INFO}/RECORD{end}"))
        };
        match names.iter().find(is_signature) {
            Some(signature) => Err(
                Error::unsupported("the wheel is signed, and a changed one would not be").finding(signature),
            ),
            None => Ok(Some(Self { names, record, name })),
        }
    }

    /// Fails where it is none.
    fn to_label(archive: &Archive<'_>) -> Result<Self, Error> {
        Self::of(archive)?.ok_or_else(|| Error::new(ErrorKind::NotRecognized, "not a wheel"))
    }

    /// What stands before a label: a version may have one already.
    fn separator(&self) -> char {
        if self.name.contains('+') { '.' } else { '+' }
    }

    /// Its name and version with a label behind them.
    fn labelled(&self, label: &str) -> Result<String, Error> {
        let is_part = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_alphanumeric());
        match label.split('.').all(is_part) {
            true => Ok(format!("{}{}{label}", self.name, self.separator())),
            false => Err(Error::new(ErrorKind::Malformed, "not a label of a local version")
                .expecting("letters and digits, with single dots between them")
                .finding(label)),
        }
    }

    /// Writes the list anew: with other paths, and with the hashes of the members that changed.
    fn write_record(
        &self,
        archive: &mut Archive<'_>,
        changed: &[usize],
        renamed: &dyn Fn(&str) -> Option<String>,
        limits: &Limits,
    ) -> Result<(), Error> {
        let old = archive.content(self.record, limits.max_metadata_bytes)?;
        let old = str::from_utf8(&old)
            .map_err(|error| Error::malformed("the wheel's RECORD is not UTF-8").finding(error))?;
        let mut rows = Vec::new();
        // The list itself is never among them: it has neither hash nor size in its own line.
        for number in changed {
            let content = archive.content(*number, u64::MAX)?;
            let name = self.names.get(*number).map(String::as_str).unwrap_or_default();
            rows.push((name, digest(&content), content.len()));
        }
        let mut new = String::with_capacity(old.len());
        for line in old.split_inclusive('\n') {
            let (field, rest) = line.split_at_checked(field_length(line)).unwrap_or((line, ""));
            let path = unquoted(field);
            match renamed(&path) {
                Some(path) => new.push_str(&quoted(&path)),
                None => new.push_str(field),
            }
            match rows.iter().find(|(name, ..)| *name == path) {
                Some((_, digest, size)) => {
                    new.push_str(&format!(",sha256={digest},{size}"));
                    // Of the old values only the end of the line is left.
                    new.push_str(rest.trim_start_matches(|character| !matches!(character, '\r' | '\n')));
                }
                None => new.push_str(rest),
            }
        }
        archive.replace(self.record, new.into_bytes());
        Ok(())
    }
}

/// Makes a changed wheel true again: the members with these numbers have new contents. Other zip files stay as they are.
pub(super) fn update_record(
    archive: &mut Archive<'_>,
    changed: &[usize],
    limits: &Limits,
) -> Result<(), Error> {
    match Wheel::of(archive)? {
        Some(wheel) => wheel.write_record(archive, changed, &|_| None, limits),
        None => Ok(()),
    }
}

/// The beginning of the file's name, name and version, that a wheel has with a local label behind its version: what
/// [`with_local_version`] returns, without its work.
///
/// # Errors
///
/// A file that is no wheel; a label that is none; a signed wheel.
pub fn with_local_version_name(wheel: &[u8], label: &str) -> Result<String, Error> {
    Wheel::to_label(&Archive::read(Source::new(wheel))?)?.labelled(label)
}

/// The wheel with a local label behind its version, `2.9.0+sm80`: in its metadata, in the names of its folders and in
/// its list of members. Returns the wheel, and the beginning of its file's name, name and version.
///
/// Pip takes a wheel with a local version for newer than one without, and pins to hashes are not broken by a file of
/// the same name. Public indexes refuse such versions.
///
/// # Errors
///
/// A file that is no wheel; a label of other than letters and digits with single dots between them; a damaged or signed
/// wheel.
pub fn with_local_version(wheel: &[u8], label: &str, limits: &Limits) -> Result<(Vec<u8>, String), Error> {
    let mut archive = Archive::read(Source::new(wheel))?;
    let found = Wheel::to_label(&archive)?;
    let separator = found.separator();
    let new_name = found.labelled(label)?;
    let renamed = |path: &str| {
        let rest = path.strip_prefix(found.name.as_str())?;
        let is_own = [INFO, DATA].iter().any(|folder| {
            rest.strip_prefix(folder)
                .is_some_and(|rest| rest.starts_with('/'))
        });
        is_own.then(|| format!("{new_name}{rest}"))
    };
    let metadata_name = format!("{}{INFO}/METADATA", found.name);
    let metadata = found.names.iter().position(|name| *name == metadata_name);
    let metadata = metadata.ok_or_else(|| Error::malformed("the wheel has no METADATA"))?;
    let text = archive.content(metadata, limits.max_metadata_bytes)?;
    // Before the list, which gets the hash of the new text.
    archive.replace(metadata, with_version(&text, separator, label)?);
    found.write_record(&mut archive, &[metadata], &renamed, limits)?;
    for (number, name) in found.names.iter().enumerate() {
        if let Some(name) = renamed(name) {
            archive.rename(number, name.into_bytes());
        }
    }
    Ok((archive.write()?, new_name))
}

/// The metadata with a label behind the version.
fn with_version(metadata: &[u8], separator: char, label: &str) -> Result<Vec<u8>, Error> {
    let text = str::from_utf8(metadata)
        .map_err(|error| Error::malformed("the wheel's METADATA is not UTF-8").finding(error))?;
    let mut new = String::with_capacity(text.len());
    let mut is_done = false;
    for line in text.split_inclusive('\n') {
        // The end of the line stays as it is, whether it is of Unix or of Windows.
        let end = line.trim_end().len();
        let (content, end) = line.split_at_checked(end).unwrap_or((line, ""));
        new.push_str(content);
        if !is_done && content.starts_with("Version:") {
            new.push(separator);
            new.push_str(label);
            is_done = true;
        }
        new.push_str(end);
    }
    match is_done {
        true => Ok(new.into_bytes()),
        false => Err(Error::malformed("the wheel's METADATA has no version")),
    }
}

/// SHA-256 in the URL's form of base64, without padding.
fn digest(content: &[u8]) -> String {
    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    let digest = Sha256::digest(content);
    let mut text = String::new();
    for chunk in digest.chunks(3) {
        let mut group = [0; 4];
        for (slot, byte) in group.iter_mut().skip(1).zip(chunk) {
            *slot = *byte;
        }
        let bits = u32::from_be_bytes(group);
        for character in 0..=chunk.len() {
            let shift = 18_usize.saturating_sub(character.saturating_mul(6));
            let value = (bits >> shift & 63) as usize;
            text.push(char::from(ALPHABET.get(value).copied().unwrap_or_default()));
        }
    }
    text
}

/// Where the first value of a line ends.
fn field_length(line: &str) -> usize {
    let mut is_quoted = false;
    let end = line.bytes().position(|byte| {
        // A doubled quote within a value turns it off and on again.
        is_quoted ^= byte == b'"';
        !is_quoted && matches!(byte, b',' | b'\r' | b'\n')
    });
    end.unwrap_or(line.len())
}

/// A value without the quotes that stand around one with a comma in it.
fn unquoted(field: &str) -> String {
    let inner = field.strip_prefix('"').and_then(|field| field.strip_suffix('"'));
    inner.map_or_else(|| field.to_owned(), |inner| inner.replace("\"\"", "\""))
}

fn quoted(value: &str) -> String {
    match value.contains([',', '"']) {
        true => format!("\"{}\"", value.replace('"', "\"\"")),
        false => value.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digests_are_those_of_the_format() {
        // `printf "" | sha256sum`, by Python's urlsafe_b64encode.
        assert_eq!(digest(b""), "47DEQpj8HBSa-_TImW-5JCeuQeRkm5NMpJWZG3hSuFU");
    }

    #[test]
    fn names_with_commas_are_quoted() {
        let line = "\"a, \"\"b\"\".so\",sha256=x,1\r\n";
        let field = &line[..field_length(line)];
        assert_eq!(unquoted(field), "a, \"b\".so");
        assert_eq!(quoted(&unquoted(field)), field);
    }

    #[test]
    fn labels_are_joined_by_single_dots() {
        let wheel = |name: &str| Wheel {
            names: Vec::new(),
            record: 0,
            name: name.to_owned(),
        };
        assert_eq!(wheel("x-1.0").labelled("sm80.2").unwrap(), "x-1.0+sm80.2");
        assert_eq!(wheel("x-1.0+cu130").labelled("sm80").unwrap(), "x-1.0+cu130.sm80");
        for label in ["", ".", "a..b", "a.", ".a", "a-b"] {
            assert!(wheel("x-1.0").labelled(label).is_err(), "{label}");
        }
    }

    #[test]
    fn only_the_first_version_of_the_metadata_changes() {
        let old = b"Metadata-Version: 2.1\r\nName: x\r\nVersion: 1.0\r\n\r\nVersion: no\r\n";
        let new = with_version(old, '+', "sm80").unwrap();
        assert_eq!(
            new,
            b"Metadata-Version: 2.1\r\nName: x\r\nVersion: 1.0+sm80\r\n\r\nVersion: no\r\n"
        );
    }
}
