//! How much a small file may cost: the bounds of reading as options.

use std::str::FromStr;

use clap::Args;
use offkit_object::Limits;

// Options of every command that reads containers.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Limits")]
pub(crate) struct LimitOptions {
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

/// One bound, changed.
#[derive(Clone, Copy, Debug)]
struct Change {
    bound: Bound,
    value: u64,
}

#[derive(Clone, Copy, Debug)]
enum Bound {
    Images,
    Strings,
    Properties,
    Nesting,
    Metadata,
    Inflation,
    Problems,
}

impl FromStr for Change {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (name, number) = text.split_once('=').ok_or("expected NAME=NUMBER")?;
        let bound = match name {
            "images" => Bound::Images,
            "strings" => Bound::Strings,
            "properties" => Bound::Properties,
            "nesting" => Bound::Nesting,
            "metadata" => Bound::Metadata,
            "inflation" => Bound::Inflation,
            "problems" => Bound::Problems,
            _ => {
                return Err(format!(
                    "`{name}` is not a limit: expected images, strings, properties, nesting, metadata, inflation or problems"
                ));
            }
        };
        let value = number.parse().map_err(|error| format!("`{number}`: {error}"))?;
        Ok(Self { bound, value })
    }
}

impl LimitOptions {
    /// The bounds that are in force.
    pub(crate) fn limits(&self) -> Limits {
        let mut limits = Limits::default();
        for Change { bound, value } in &self.changes {
            let count = usize::try_from(*value).unwrap_or(usize::MAX);
            match bound {
                Bound::Images => limits.max_images = count,
                Bound::Strings => limits.max_strings = count,
                Bound::Properties => limits.max_properties = count,
                Bound::Nesting => limits.max_nesting = count,
                Bound::Metadata => limits.max_metadata_bytes = *value,
                Bound::Inflation => limits.max_inflation = *value,
                Bound::Problems => limits.max_problems = count,
            }
        }
        limits
    }
}
