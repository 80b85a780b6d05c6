//! How far reading goes: its bounds, and where it looks, as options.

use std::str::FromStr;

use clap::Args;
use offkit_object::Limits;

// Options of every command that looks for images in files.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct LimitOptions {
    #[command(flatten)]
    bounds: Bounds,
    /// Also search host code byte by byte, outside of the sections for device code; images found so are at
    /// `scan/OFFSET`
    #[arg(long, help_heading = "Which images")]
    scan: bool,
}

// Those of commands for which nothing but sections and containers counts.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Limits")]
pub(crate) struct Bounds {
    /// Change a limit of the readers; may be repeated
    #[arg(
        long = "limit",
        value_name = "NAME=NUMBER",
        long_help = "Change a limit of the readers; may be repeated:\n  \
            images      images and entries of all containers together\n  \
            strings     names in archives and strings in offload binaries\n  \
            properties  properties and property sets\n  \
            nesting     containers within containers\n  \
            metadata    bytes of names, strings and properties\n  \
            inflation   bytes that come out of decompression for each byte of the file\n  \
            problems    problems that are reported"
    )]
    changes: Vec<Change>,
}

/// One limit, changed.
#[derive(Clone, Copy, Debug)]
struct Change {
    apply: fn(&mut Limits, u64),
    value: u64,
}

impl FromStr for Change {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        fn count(value: u64) -> usize {
            // What is beyond an address there can be no more of: the limit is none.
            usize::try_from(value).unwrap_or(usize::MAX)
        }
        let (name, number) = text.split_once('=').ok_or("expected NAME=NUMBER")?;
        let apply: fn(&mut Limits, u64) = match name {
            "images" => |limits, value| limits.max_images = count(value),
            "strings" => |limits, value| limits.max_strings = count(value),
            "properties" => |limits, value| limits.max_properties = count(value),
            "nesting" => |limits, value| limits.max_nesting = count(value),
            "metadata" => |limits, value| limits.max_metadata_bytes = value,
            "inflation" => |limits, value| limits.max_inflation = value,
            "problems" => |limits, value| limits.max_problems = count(value),
            _ => {
                return Err(format!(
                    "`{name}` is not a limit: expected images, strings, properties, nesting, metadata, inflation or problems"
                ));
            }
        };
        let value = number.parse().map_err(|error| format!("`{number}`: {error}"))?;
        Ok(Self { apply, value })
    }
}

impl LimitOptions {
    /// The limits that are in force.
    pub(crate) fn limits(&self) -> Limits {
        let mut limits = self.bounds.limits();
        limits.scan |= self.scan;
        limits
    }
}

impl Bounds {
    /// The limits that are in force.
    pub(crate) fn limits(&self) -> Limits {
        let mut limits = Limits::default();
        for Change { apply, value } in &self.changes {
            apply(&mut limits, *value);
        }
        limits
    }
}
