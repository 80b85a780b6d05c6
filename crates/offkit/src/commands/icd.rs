//! `offkit icd`: lets OpenCL's loaders find offkit's driver.
//!
//! Loaders (`libOpenCL.so.1`) look for drivers in one folder of the system's, and know no folders of users. Without the
//! right to write there, a folder of the user's takes its place for programs that are started with a variable; it links
//! to the drivers of the system, for nobody wants to lose those.

use std::env;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use offkit_host::folders;
use offkit_opencl::icd::{FOLDER, VENDORS};
use offkit_runtime::machine::opencl_drivers;
use serde_json::json;

use crate::failure::{ExitStatus, Failure};
use crate::terminal::Terminal;

/// The file that names the driver.
const FILE: &str = "offkit.icd";

/// The driver's library.
const LIBRARY: &str = "liboffkit_opencl.so";

/// The number of the form of its JSON.
const SCHEMA: u32 = 1;

const INSTALL_EXAMPLES: &str = "\
Examples:
  sudo offkit icd install
  offkit icd install --library ./liboffkit_opencl.so
  offkit icd install --folder package/vendors";

const STATUS_EXAMPLES: &str = "\
Examples:
  offkit icd status
  OCL_ICD_VENDORS=~/vendors offkit icd status

Exit code 1: no loader sees the driver.";

const REMOVE_EXAMPLES: &str = "\
Examples:
  sudo offkit icd remove
  offkit icd remove --folder package/vendors";

/// What to do with the driver.
#[derive(Debug, Subcommand)]
pub(crate) enum Icd {
    /// Let OpenCL's loaders find offkit's driver, for all users or for you alone
    Install(Install),
    /// Show which loaders see offkit's driver now, and through which file
    Status(Status),
    /// Hide offkit's driver from OpenCL's loaders
    Remove(Remove),
}

#[derive(Debug, Args)]
#[command(after_help = INSTALL_EXAMPLES)]
pub(crate) struct Install {
    /// The driver's library; without this, liboffkit_opencl.so beside offkit or in the lib folder next to it
    #[arg(long, value_name = "FILE")]
    library: Option<PathBuf>,
    /// The folder to put the driver's file into, instead of the system's or the user's
    #[arg(long, value_name = "DIR")]
    folder: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Args)]
#[command(after_help = STATUS_EXAMPLES)]
pub(crate) struct Status {
    /// Write one JSON object a line, one line a loader
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Args)]
#[command(after_help = REMOVE_EXAMPLES)]
pub(crate) struct Remove {
    /// The folder to remove the driver's file from, instead of the system's and the user's
    #[arg(long, value_name = "DIR")]
    folder: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(icd: &Icd, terminal: Terminal) -> Result<(), Failure> {
    match icd {
        Icd::Install(options) => install(options, terminal),
        Icd::Status(options) => status(options, terminal),
        Icd::Remove(options) => remove(options, terminal),
    }
}

/// The folder of the user's.
fn user_folder() -> Option<PathBuf> {
    folders::data().map(|folder| folder.join("offkit/OpenCL/vendors"))
}

/// The driver's library: the one that is named, or the one that came with this program.
fn library(named: Option<&Path>) -> Result<PathBuf, Failure> {
    if let Some(named) = named {
        let missing = |error| Failure::input(format!("{}: {error}", named.display()));
        return named.canonicalize().map_err(missing);
    }
    // Behind all links: what came with the program is beside the file and not beside its link.
    let program = env::current_exe().and_then(|program| program.canonicalize());
    let program = program.unwrap_or_default();
    let beside = program.parent().unwrap_or(Path::new("/"));
    let places = [
        beside.to_owned(),
        beside.join("../lib"),
        beside.join("../lib/offkit"),
    ];
    let found = places
        .iter()
        .find_map(|folder| folder.join(LIBRARY).canonicalize().ok());
    found.ok_or_else(|| {
        let message = format!("there is no {LIBRARY} beside offkit, nor in the lib folder next to it");
        Failure::new(ExitStatus::Machine, message)
            .hint("`cargo build --release -p offkit-opencl-front` makes it; `--library` names one elsewhere")
    })
}

/// Writes the file that names the driver.
fn write(folder: &Path, library: &Path) -> io::Result<PathBuf> {
    fs::create_dir_all(folder)?;
    let file = folder.join(FILE);
    fs::write(&file, format!("{}\n", library.display()))?;
    Ok(file)
}

fn install(options: &Install, terminal: Terminal) -> Result<(), Failure> {
    let library = library(options.library.as_deref())?;
    let cannot = |folder: &Path, error: io::Error| {
        Failure::new(
            ExitStatus::Machine,
            format!("cannot write to {}: {error}", folder.display()),
        )
    };
    let shown = |path: &Path| path.display().to_string();
    // A folder of the user's has to be named to loaders.
    let tell = |file: &Path, named: Option<&Path>| {
        if options.json {
            let variable = named.map(|folder| json!({ "name": VENDORS, "value": shown(folder) }));
            let said = json!({ "file": shown(file), "library": shown(&library), "variable": variable });
            return terminal.json(SCHEMA, &said);
        }
        terminal.line(format_args!("{} names {}", file.display(), library.display()))?;
        let Some(folder) = named else { return Ok(()) };
        terminal
            .line("Loaders know no folders of users. This shows them the driver, and those of the system:")?;
        terminal.line(format_args!("  export {VENDORS}={}", folder.display()))
    };
    if let Some(folder) = &options.folder {
        let file = write(folder, &library).map_err(|error| cannot(folder, error))?;
        return tell(&file, None);
    }
    let system = Path::new(FOLDER);
    let error = match write(system, &library) {
        Ok(file) => return tell(&file, None),
        Err(error) => error,
    };
    let Some(user) = user_folder() else {
        return Err(cannot(system, error).hint("run it as root, or name a folder with `--folder`"));
    };
    terminal.note(format_args!(
        "cannot write to {FOLDER}: {error}; using a folder of your own"
    ));
    let file = write(&user, &library).map_err(|error| cannot(&user, error))?;
    link_others(system, &user).map_err(|error| cannot(&user, error))?;
    tell(&file, Some(&user))
}

/// Links to the drivers of the system, and takes away links to drivers that are gone.
fn link_others(system: &Path, user: &Path) -> io::Result<()> {
    for entry in fs::read_dir(user)?.flatten() {
        let path = entry.path();
        if path.is_symlink() && !path.exists() {
            fs::remove_file(path)?;
        }
    }
    for entry in fs::read_dir(system).into_iter().flatten().flatten() {
        let path = entry.path();
        let is_driver = path.extension().is_some_and(|extension| extension == "icd");
        let link = user.join(entry.file_name());
        // The user's folder names offkit's driver itself, which may be another build than the system's.
        if is_driver && entry.file_name() != FILE && !link.exists() {
            #[cfg(unix)]
            std::os::unix::fs::symlink(&path, link)?;
            #[cfg(not(unix))]
            fs::copy(&path, link)?;
        }
    }
    Ok(())
}

/// A loader, and where it looks besides the folder of drivers.
const LOADERS: [(&str, bool); 2] = [("Khronos' loader", true), ("ocl-icd", false)];

fn status(options: &Status, terminal: Terminal) -> Result<(), Failure> {
    let own = |library: &str| Path::new(library).file_name().is_some_and(|name| name == LIBRARY);
    let drivers = opencl_drivers();
    let mut is_seen = false;
    for (loader, reads_filenames) in LOADERS {
        let listed = drivers.iter().filter(|driver| own(&driver.library));
        // A driver that a variable names stands in no `.icd` file, and the other loader is blind to
        // it.
        let is_file = |path: &Path| path.extension().is_some_and(|extension| extension == "icd");
        let mut listed = listed.filter(|driver| reads_filenames || is_file(&driver.listed_in));
        let found = listed.next();
        let library = found.and_then(|driver| driver.path.clone());
        is_seen |= library.is_some();
        if options.json {
            let line = json!({
                "loader": loader,
                "sees": library.is_some(),
                "listed_in": found.map(|driver| driver.listed_in.display().to_string()),
                "library": found.map(|driver| driver.library.clone()),
            });
            terminal.json(SCHEMA, &line)?;
            continue;
        }
        match (found, library) {
            (Some(driver), Some(library)) => terminal.line(format_args!(
                "{loader} sees {}, by {}",
                library.display(),
                driver.listed_in.display()
            ))?,
            (Some(driver), None) => terminal.line(format_args!(
                "{loader} does not: {} names {}, which is not there",
                driver.listed_in.display(),
                driver.library
            ))?,
            (None, _) => terminal.line(format_args!("{loader} does not: no file names the driver"))?,
        }
    }
    if is_seen {
        return Ok(());
    }
    let failure = Failure::new(ExitStatus::No, "no loader sees offkit's OpenCL driver");
    Err(match user_folder().filter(|folder| folder.join(FILE).is_file()) {
        Some(folder) => failure.hint(format!(
            "it is installed for you: `export {VENDORS}={}`",
            folder.display()
        )),
        None => failure.hint("`offkit icd install` shows it to them"),
    })
}

fn remove(options: &Remove, terminal: Terminal) -> Result<(), Failure> {
    let folders = match &options.folder {
        Some(folder) => vec![folder.clone()],
        None => [Some(PathBuf::from(FOLDER)), user_folder()]
            .into_iter()
            .flatten()
            .collect(),
    };
    let mut removed = Vec::new();
    for folder in folders {
        let file = folder.join(FILE);
        match fs::remove_file(&file) {
            Ok(()) => {
                if !options.json {
                    terminal.line(format_args!("{} is removed", file.display()))?;
                }
                removed.push(file.display().to_string());
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            Err(error) => {
                let message = format!("cannot remove {}: {error}", file.display());
                return Err(Failure::new(ExitStatus::Machine, message).hint("run it as root"));
            }
        }
        // A folder of the user's with nothing but links to the system's drivers has no use.
        let entries = || fs::read_dir(&folder).into_iter().flatten().flatten();
        if Some(&folder) == user_folder().as_ref() && entries().all(|entry| entry.path().is_symlink()) {
            for entry in entries() {
                // What stays does no harm.
                let _ = fs::remove_file(entry.path());
            }
            let _ = fs::remove_dir(&folder);
        }
    }
    if options.json {
        terminal.json(SCHEMA, &json!({ "removed": removed }))?;
    }
    match removed.is_empty() {
        false => Ok(()),
        true => Err(Failure::new(
            ExitStatus::No,
            "offkit's OpenCL driver is not installed",
        )),
    }
}
