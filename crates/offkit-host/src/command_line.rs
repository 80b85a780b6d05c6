//! Command lines as text: response files in, lines that can be typed out.

use std::ffi::{OsStr, OsString};
use std::path::Path;

/// How deep response files may name others.
const DEPTH: usize = 16;

/// The length of a command from which its arguments go through a file. Systems differ; this is less than
/// any of them allows.
pub const LONGEST_COMMAND: usize = 100_000;

/// Puts the content of response files in the place of the words `@FILE` that name them.
///
/// As clang does it, a word that names no file stays. So does one that names a file which is being put in place already,
/// for that would never end. `read` reads a file.
pub fn expand(words: Vec<OsString>, read: &dyn Fn(&Path) -> Option<String>) -> Vec<OsString> {
    let mut expanded = Vec::with_capacity(words.len());
    add(words, read, &mut Vec::new(), &mut expanded);
    expanded
}

fn add(
    words: Vec<OsString>,
    read: &dyn Fn(&Path) -> Option<String>,
    open: &mut Vec<String>,
    expanded: &mut Vec<OsString>,
) {
    for word in words {
        let content = match word.to_str().and_then(|text| text.strip_prefix('@')) {
            Some(name) if open.len() < DEPTH => read(Path::new(name)),
            _ => None,
        };
        // By what they say: a file has many names.
        match content.filter(|content| !open.contains(content)) {
            Some(content) => {
                let words = split(&content);
                open.push(content);
                add(words, read, open, expanded);
                open.pop();
            }
            None => expanded.push(word),
        }
    }
}

/// Cuts text into words as a response file's reader does: quotes of both kinds group, and a backslash takes
/// the next character as it is, in quotes of both kinds too, unlike in a shell.
pub fn split(text: &str) -> Vec<OsString> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    let mut letters = text.chars();
    while let Some(letter) = letters.next() {
        match (letter, quote) {
            ('\\', _) => word.get_or_insert_default().extend(letters.next()),
            (letter, Some(open)) if letter == open => quote = None,
            ('"' | '\'', None) => {
                quote = Some(letter);
                word.get_or_insert_default();
            }
            (letter, None) if letter.is_whitespace() => words.extend(word.take().map(OsString::from)),
            (letter, _) => word.get_or_insert_default().push(letter),
        }
    }
    words.extend(word.map(OsString::from));
    words
}

/// A response file's text for these words.
pub fn response_file(words: &[OsString]) -> String {
    words.iter().map(|word| quoted(word) + "\n").collect()
}

/// A command as clang's `-###` prints it: every word in quotes, for a shell to read.
pub fn line(words: impl IntoIterator<Item = impl AsRef<OsStr>>) -> String {
    words
        .into_iter()
        .map(|word| format!(" {}", quoted(word.as_ref())))
        .collect()
}

/// A word as it is typed: in quotes only where it needs them.
pub fn typed(word: &OsStr) -> String {
    let text = word.to_string_lossy();
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./=,:+@%".contains(c);
    match !text.is_empty() && text.chars().all(is_plain) {
        true => text.into_owned(),
        false => quoted(word),
    }
}

fn quoted(word: &OsStr) -> String {
    let mut quoted = String::from("\"");
    for letter in word.to_string_lossy().chars() {
        // What a shell looks at between double quotes. `split` takes a backslash off anything.
        if matches!(letter, '"' | '\\' | '$' | '`') {
            quoted.push('\\');
        }
        quoted.push(letter);
    }
    quoted.push('"');
    quoted
}

/// What follows a prefix of a word, with the bytes that it has; the whole word where it begins otherwise.
#[cfg(unix)]
#[must_use]
pub fn after(word: &OsStr, prefix: &str) -> OsString {
    use std::os::unix::ffi::OsStrExt;
    let bytes = word.as_bytes();
    OsStr::from_bytes(bytes.strip_prefix(prefix.as_bytes()).unwrap_or(bytes)).to_owned()
}

/// What follows a prefix of a word, with the bytes that it has; the whole word where it begins otherwise.
#[cfg(not(unix))]
#[must_use]
pub fn after(word: &OsStr, prefix: &str) -> OsString {
    let text = word.to_string_lossy();
    text.strip_prefix(prefix).unwrap_or(&text).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(words: &[&str]) -> Vec<OsString> {
        words.iter().map(OsString::from).collect()
    }

    #[test]
    fn response_files_are_read_as_clang_reads_them() {
        let files = |path: &Path| match path.to_str() {
            Some("all") => Some("-c 'a b.cpp'\n\t-DX=\\\"y\\\" \"-I\\\"q\" '-DI=\\'x' @more\n''".to_owned()),
            Some("more") => Some("-O2".to_owned()),
            Some("endless" | "./endless") => Some("x @./endless @endless".to_owned()),
            Some("ring") => Some("y @round @all-right @all-right".to_owned()),
            Some("round") => Some("@ring z".to_owned()),
            Some("all-right") => Some("-w".to_owned()),
            _ => None,
        };
        assert_eq!(
            expand(words(&["@all", "@missing", "-v"]), &files),
            words(&[
                "-c",
                "a b.cpp",
                "-DX=\"y\"",
                "-I\"q",
                "-DI='x",
                "-O2",
                "",
                "@missing",
                "-v"
            ])
        );
        // What is being read is not read again, by no name; what was read is.
        assert_eq!(
            expand(words(&["@endless"]), &files),
            words(&["x", "@./endless", "@endless"])
        );
        assert_eq!(
            expand(words(&["@ring"]), &files),
            words(&["y", "@ring", "z", "-w", "-w"])
        );
    }

    #[test]
    fn what_is_written_reads_the_same() {
        let original = words(&["a b", "", "quote\"d", "back\\slash", "$HOME `x`", "it's"]);
        assert_eq!(split(&response_file(&original)), original);
        assert_eq!(line(&original[..2]), r#" "a b" """#);
        assert_eq!(line(["$x"]), r#" "\$x""#);
        let typed: Vec<_> = original.iter().map(|word| typed(word)).collect();
        assert_eq!(split(&typed.join(" ")), original);
        assert_eq!(super::typed("--target=a,arch=b".as_ref()), "--target=a,arch=b");
    }
}
