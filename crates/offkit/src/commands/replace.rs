//! `offkit replace`: another image in the place of one, and nothing else changed.

use std::path::{Path, PathBuf};

use offkit_object::Location;

use super::Source;
use crate::cli::Replace;
use crate::failure::Failure;
use crate::files;
use crate::terminal::Terminal;

pub(crate) fn run(options: &Replace, terminal: Terminal) -> Result<(), Failure> {
    let source = Source::open(&options.file)?;
    let limits = options.limits.limits();
    let mut changed: Option<Vec<u8>> = None;
    for replacement in &options.replacements {
        let (location, path) = understand(replacement, &source.place)?;
        let new = files::open(&path).map_err(Failure::input)?;
        let old = changed.as_deref().unwrap_or(&source.content);
        let result = offkit_object::replace(old, &location, &new, &limits);
        changed = Some(result.map_err(|error| {
            Failure::input(format!("{location}: {error}"))
                .hint(format!("`offkit ls {}` lists the images", location.file()))
        })?);
    }
    let output = options.output.as_deref().unwrap_or(&options.file);
    let bytes = changed.as_deref().unwrap_or(&source.content);
    files::write(output, &[bytes]).map_err(Failure::input)?;
    terminal.note(format_args!(
        "{}: replaced {}",
        output.display(),
        match options.replacements.len() {
            1 => "one image".to_owned(),
            several => format!("{several} images"),
        }
    ));
    Ok(())
}

/// Takes `LOCATION=NEW` apart; the location may leave out the file.
fn understand(text: &str, file: &Location) -> Result<(Location, PathBuf), Failure> {
    // Both sides may have the sign in them: the one that leaves the name of a file that is there counts.
    let splits = || {
        text.match_indices('=')
            .map(|(at, _)| (&text[..at], &text[at + 1..]))
    };
    let (place, path) = splits()
        .find(|(_, path)| Path::new(path).exists())
        .or_else(|| splits().next())
        .ok_or_else(|| Failure::input(format!("`{text}`: expected LOCATION=FILE")))?;
    let location = if place.contains('!') {
        place.to_owned()
    } else {
        format!("{}!{place}", file.file())
    };
    let location: Location = location.parse().map_err(Failure::input)?;
    if location.file() != file.file() {
        return Err(Failure::input(format!(
            "`{location}` is not in `{}`: one file at a time is changed",
            file.file()
        )));
    }
    Ok((location, path.into()))
}
