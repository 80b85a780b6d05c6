//! Response files: arguments in a file, for command lines that are too long.

use std::ffi::OsString;
use std::path::Path;

/// How deep files may name each other.
const DEEPEST: usize = 20;

/// The arguments with the content of `@FILE` in its place; where there is no such file, the word stays.
pub(super) fn expand(arguments: Vec<OsString>) -> Result<Vec<OsString>, String> {
    let mut expanded = Vec::with_capacity(arguments.len());
    for argument in arguments {
        add(argument, &mut expanded, 0)?;
    }
    Ok(expanded)
}

fn add(argument: OsString, expanded: &mut Vec<OsString>, depth: usize) -> Result<(), String> {
    let Some(file) = argument.to_str().and_then(|text| text.strip_prefix('@')) else {
        expanded.push(argument);
        return Ok(());
    };
    if depth > DEEPEST {
        return Err(format!("{file}: response files name each other"));
    }
    match std::fs::read_to_string(Path::new(file)) {
        Ok(text) => words(&text)
            .into_iter()
            .try_for_each(|word| add(word.into(), expanded, depth + 1)),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            expanded.push(argument);
            Ok(())
        }
        Err(error) => Err(format!("cannot read the response file {file}: {error}")),
    }
}

/// Words as GNU's tools have them: quotes keep blanks, a backslash keeps what follows it.
fn words(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    let mut characters = text.chars();
    while let Some(character) = characters.next() {
        match (character, quote) {
            ('\\', None | Some('"')) => word.get_or_insert_default().extend(characters.next()),
            ('"' | '\'', None) => {
                quote = Some(character);
                word.get_or_insert_default();
            }
            (character, Some(end)) if character == end => quote = None,
            (character, None) if character.is_whitespace() => words.extend(word.take()),
            (character, _) => word.get_or_insert_default().push(character),
        }
    }
    words.extend(word);
    words
}

/// A word as it must be written to be read as the same.
pub(super) fn quoted(word: &str) -> String {
    let mut out = String::from("\"");
    for character in word.chars() {
        if matches!(character, '"' | '\\') {
            out.push('\\');
        }
        out.push(character);
    }
    out.push('"');
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_have_quotes_and_backslashes() {
        assert_eq!(
            words("a 'b c' \"d \\\" e\"  f\\ g\n'' h'i'j"),
            ["a", "b c", "d \" e", "f g", "", "hij"]
        );
        for word in ["plain", "with \"quotes\" and \\", ""] {
            assert_eq!(words(&quoted(word)), [word]);
        }
    }

    #[test]
    fn files_are_expanded_where_there_are_any() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("arguments");
        std::fs::write(&file, "-o out\n'a b.o'").unwrap();
        let expanded = expand(vec![
            "x".into(),
            format!("@{}", file.display()).into(),
            "@missing".into(),
        ]);
        assert_eq!(
            expanded.unwrap(),
            ["x", "-o", "out", "a b.o", "@missing"].map(OsString::from)
        );
        std::fs::write(&file, format!("@{}", file.display())).unwrap();
        assert!(expand(vec![format!("@{}", file.display()).into()]).is_err());
    }
}
