//! `offkit verify`: every rule of every format, and SPIR-V by its own validator.

use super::filter::{Filter, Selection};
use super::limits::LimitOptions;
use clap::Args;
use std::path::Path;
use std::path::PathBuf;

use offkit_object::{DeviceImage, ImageFormat, Inspect, Item, Location};
use offkit_spirv::{VALIDATOR, Verdict, validate};
use serde_json::json;

use super::Source;
use crate::failure::{ExitStatus, Failure};
use crate::terminal::{Terminal, escape};

/// The number of the form of its JSON.
const SCHEMA: u32 = 1;

const EXAMPLES: &str = "\
Examples:
  offkit verify app.o app.syclbin
  offkit verify --json --no-spirv wheel.whl";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Verify {
    /// Files to check, or locations in them; `-` is standard input
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Write one JSON object a line, one line a problem
    #[arg(long)]
    json: bool,
    /// Do not run spirv-val on SPIR-V images
    #[arg(long)]
    no_spirv: bool,
    #[command(flatten)]
    filter: Filter,
    #[command(flatten)]
    limits: LimitOptions,
}

/// How often it is said that the validator may not know what it refuses.
const DOUBTS_SHOWN: usize = 3;

/// A problem of a file.
struct Finding {
    location: Location,
    offset: Option<u64>,
    message: String,
}

pub(crate) fn run(options: &Verify, terminal: Terminal) -> Result<(), Failure> {
    let mut problems = 0_usize;
    let mut selection = Selection::new(&options.filter);
    let mut unreadable = None;
    let mut validator = Validator::default();
    for path in &options.files {
        match verify(options, terminal, path, &mut validator, &mut selection) {
            Ok(findings) => {
                problems += findings.len();
                report(options, terminal, path, &findings)?;
            }
            // The others are verified all the same.
            Err(failure) if options.files.len() > 1 => {
                terminal.failure(&failure);
                unreadable = Some(failure);
            }
            Err(failure) => return Err(failure),
        }
    }
    if validator.is_missing {
        terminal.note(format_args!(
            "note: SPIR-V was not validated, as {VALIDATOR} is not installed"
        ));
    }
    if validator.doubtful > DOUBTS_SHOWN {
        terminal.note(format_args!(
            "note: {VALIDATOR} refused {} images with extensions of vendors that it may not know",
            validator.doubtful
        ));
    }
    // Before the problems: how many there are is not known where a file was not read.
    if unreadable.is_some() {
        return Err(Failure::input("a file could not be read"));
    }
    let failure = match problems {
        0 => return selection.check(),
        1 => Failure::new(ExitStatus::No, "one problem"),
        several => Failure::new(ExitStatus::No, format!("{several} problems")),
    };
    Err(if validator.has_refused {
        failure.hint(format!(
            "an old {VALIDATOR} knows no newer extensions; --no-spirv leaves it out"
        ))
    } else {
        failure
    })
}

fn verify(
    options: &Verify,
    terminal: Terminal,
    path: &Path,
    validator: &mut Validator,
    selection: &mut Selection<'_>,
) -> Result<Vec<Finding>, Failure> {
    let source = Source::open(path)?;
    let progress = terminal.progress();
    progress.step(format!("{}: containers", path.display()));
    let mut findings: Vec<Finding> = source
        .verify(&options.limits)
        .into_iter()
        .map(|problem| Finding {
            offset: problem.error.offset(),
            message: problem.error.to_string(),
            location: problem.location,
        })
        .collect();
    let is_filtered = !options.filter.accepts_all();
    let is_whole = source.place.is_file();
    // The walk below is for what only images tell; without need of it the file is read once.
    if options.no_spirv && !is_filtered && is_whole {
        return Ok(findings);
    }
    let mut meant = Vec::new();
    let mut is_there = is_whole;
    let mut images = 0_usize;
    source.walk(&options.limits, &mut |item| {
        if let Item::Container(container) = item {
            is_there |= container.location.is_within(&source.place);
        }
        let Item::Image(image) = item else { return };
        is_there = true;
        images += 1;
        progress.images(path, images);
        if !selection.takes(image) {
            return;
        }
        if !options.no_spirv
            && image.format == ImageFormat::Spirv
            && let Some(message) = validator.check(image)
        {
            let extensions = vendor_extensions(image);
            if extensions.is_empty() {
                findings.push(Finding {
                    location: image.location.clone(),
                    offset: image.offset,
                    message,
                });
            } else {
                validator.doubtful += 1;
                if validator.doubtful <= DOUBTS_SHOWN {
                    terminal.warning(format_args!(
                        "{}: {message} (it may not know {extensions}, so this does not count)",
                        image.location
                    ));
                }
            }
        }
        if is_filtered {
            meant.push(image.location.clone());
        }
    });
    if !is_there && findings.is_empty() {
        return Err(super::nothing_in(&source.place, &[]));
    }
    if is_filtered {
        // What an image is in concerns it too.
        findings.retain(|Finding { location, .. }| {
            let concerns = |image: &Location| image.is_within(location) || location.is_within(image);
            meant.iter().any(concerns)
        });
    }
    Ok(findings)
}

fn report(options: &Verify, terminal: Terminal, path: &Path, findings: &[Finding]) -> Result<(), Failure> {
    let mut output = terminal.output();
    for Finding {
        location,
        offset,
        message,
    } in findings
    {
        if options.json {
            let problem = json!({
                "file": location.file(),
                "location": location.to_string(),
                "offset": offset,
                "problem": message,
            });
            output.json(SCHEMA, &problem)?;
        } else {
            // Names from files may hold anything.
            output.line(escape(&format!("{location}: {message}")))?;
        }
    }
    if findings.is_empty() && !options.json && !terminal.quiet {
        output.line(escape(&format!("{}: no problems", path.display())))?;
    }
    output.finish()
}

/// The extensions of vendors that a module uses: releases of the validator are years behind these.
fn vendor_extensions(image: &DeviceImage<'_>) -> String {
    let inspection = image.inspect(&super::limits());
    let extensions = inspection
        .details
        .iter()
        .find(|detail| detail.name == "extensions");
    let extensions = extensions
        .map(|detail| detail.value.to_string())
        .unwrap_or_default();
    let is_vendors = |name: &&str| !name.starts_with("SPV_KHR_") && !name.starts_with("SPV_EXT_");
    let vendors: Vec<_> = extensions
        .split(", ")
        .filter(|name| !name.is_empty())
        .filter(is_vendors)
        .collect();
    vendors.join(", ")
}

/// The validator of SPIR-V, if it is installed.
#[derive(Default)]
struct Validator {
    is_missing: bool,
    /// Whether there was an image that it does not accept.
    has_refused: bool,
    /// How many of these use what it may not know.
    doubtful: usize,
}

impl Validator {
    /// What it says of an image that it does not accept.
    fn check(&mut self, image: &DeviceImage<'_>) -> Option<String> {
        if self.is_missing {
            return None;
        }
        // Of bytes that cannot be unpacked the container's own problem tells.
        let bytes = image.bytes().ok()?;
        match validate(bytes, None) {
            Ok(None) => {
                self.is_missing = true;
                None
            }
            Ok(Some(Verdict::Valid | Verdict::Unknown { .. })) => None,
            Ok(Some(Verdict::Invalid { message })) => {
                self.has_refused = true;
                let mut lines = message.lines().map(str::trim);
                let first = lines.find(|line| !line.is_empty()).unwrap_or("refused");
                Some(format!("{VALIDATOR}: {first}"))
            }
            Err(error) => Some(format!("{VALIDATOR} cannot be run: {error}")),
        }
    }
}

#[cfg(test)]
mod tests {
    use offkit_object::{Code, Compression, Error};

    use super::*;

    #[test]
    fn the_validator_says_nothing_of_code_that_cannot_be_unpacked() {
        let damaged = Code::compressed(b"", Compression::Zstd, 20, |_, _, _| {
            Err(Error::malformed("damaged"))
        });
        let image = DeviceImage::of_format(damaged, ImageFormat::Spirv);
        let mut validator = Validator::default();
        assert_eq!(validator.check(&image), None);
        assert!(!validator.has_refused);
    }
}
