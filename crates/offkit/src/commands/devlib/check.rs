//! `offkit devlib check`: which library supplies each undefined device symbol, by a link of which nothing is kept.

use std::path::PathBuf;

use clap::Args;
use offkit_link::device_link::{DeviceLink, Input, Llvm, SymbolCheck};
use offkit_object::ImageFormat;
use serde_json::json;

use super::find::SearchOptions;
use crate::commands::link::failure;
use crate::commands::shown_name;
use crate::failure::{ExitStatus, Failure};
use crate::terminal::{NAME, Terminal, escape};
use offkit_host::files::{self, Content};

/// The number of the form of its JSON.
const SCHEMA: u32 = 1;

const EXAMPLES: &str = "\
Examples:
  offkit devlib check app.o -L lib -lm -lphysics
  offkit devlib check app.bc -lm --json |
      jq -r 'select(.path == null) | .symbol'

Exit code 1: for some target, no library supplies a symbol.";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Check {
    /// Files with device code: objects, bitcode, archives. Of archives, only needed members count; if there is nothing
    /// else, all do
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// A library, as `-l` has it at a link: NAME or :FILE; may be repeated
    #[arg(short, long = "library", value_name = "NAME")]
    library: Vec<String>,
    #[command(flatten)]
    search: SearchOptions,
    /// Do not look in the libraries that come with offkit
    #[arg(long)]
    no_default_device_libs: bool,
    /// Do not demangle names
    #[arg(long)]
    mangled: bool,
    /// Write one JSON object a line, one line a symbol and target
    #[arg(long)]
    json: bool,
}

pub(super) fn run(options: &Check, terminal: Terminal) -> Result<(), Failure> {
    let opened = |path: &PathBuf| files::open(path).map_err(Failure::input);
    let contents: Vec<Content> = options.files.iter().map(opened).collect::<Result<_, _>>()?;
    let is_archive = |content: &Content| ImageFormat::detect(content) == ImageFormat::Archive;
    // With nothing to need them no member would be.
    let whole = contents.iter().all(is_archive);
    let files = options.files.iter().zip(&contents);
    let files = files.map(|(path, content)| Input::read_file(path, &**content).with_whole_archive(whole));
    let link = DeviceLink {
        inputs: files.chain(options.library.iter().map(Input::library)).collect(),
        search: options.search.search(),
        targets: options.search.targets(),
        default_libraries: !options.no_default_device_libs,
        ..DeviceLink::default()
    };
    let checked = link.check(&mut Llvm::default()).map_err(failure)?;
    for note in &checked.notes {
        terminal.warning(note);
    }
    let checks = checked.symbols;
    for check in &checks {
        match options.json {
            true => show_json(check, terminal)?,
            false => show(check, options.mangled, terminal)?,
        }
    }
    // A symbol that only some targets lack breaks the link of these as well.
    let open = |check: &&SymbolCheck| check.targets.iter().any(|(_, provider)| provider.is_none());
    match checks.iter().filter(open).count() {
        0 => Ok(()),
        1 => Err(Failure::new(
            ExitStatus::No,
            "for some target, no library supplies 1 symbol",
        )),
        open => Err(Failure::new(
            ExitStatus::No,
            format!("for some target, no library supplies {open} symbols"),
        )),
    }
}

fn show(check: &SymbolCheck, mangled: bool, terminal: Terminal) -> Result<(), Failure> {
    terminal.line(format_args!(
        "{NAME}{}{NAME:#}  needed by {}",
        shown_name(&check.symbol, mangled),
        escape(&check.needed_by.join(", "))
    ))?;
    for (target, provider) in &check.targets {
        let line = match provider {
            Some(provider) => format!("  {target}: {} (-l{})", provider.path.display(), provider.library),
            None => format!("  {target}: no library has it"),
        };
        terminal.line(escape(&line))?;
    }
    Ok(())
}

fn show_json(check: &SymbolCheck, terminal: Terminal) -> Result<(), Failure> {
    for (target, provider) in &check.targets {
        let line = json!({
            "symbol": check.symbol,
            "needed_by": check.needed_by,
            "triple": target.triple.as_str(),
            "arch": target.arch_with_features(),
            "library": provider.as_ref().map(|provider| &provider.library),
            "path": provider.as_ref().map(|provider| provider.path.display().to_string()),
        });
        terminal.json(SCHEMA, &line)?;
    }
    Ok(())
}
