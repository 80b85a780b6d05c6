//! What to do about a plugin, driver or adapter that cannot be used.
//!
//! The loader says in words what it lacks; this reads glibc's words (2.28 to 2.41), those that
//! [`offkit_pi::driver`] has for what glibc does not see, and those of offkit's own plugins.

use offkit_pi::host::LoadError;

use crate::discover::DiscoveryFailure;
use crate::packages::library_with;
pub use crate::packages::package_of;
use crate::probe::Harm;

/// What to do about it, in a sentence.
pub fn advice(failure: &DiscoveryFailure) -> Option<String> {
    match failure {
        DiscoveryFailure::Load(LoadError::Open { path, reason }) => {
            let advice = opening(&path.to_string_lossy(), reason);
            let advice =
                advice.unwrap_or_else(|| "Try LD_DEBUG=libs to see what the loader does.".to_owned());
            Some(match path.is_dir() {
                true => {
                    advice
                        + " A folder of plugins is named by a line `folder PATH` of the configuration file."
                }
                false => advice,
            })
        }
        DiscoveryFailure::Load(LoadError::MissingSymbol { .. }) => {
            Some("It is a library of something else; take it off the list.".to_owned())
        }
        DiscoveryFailure::Load(LoadError::Version { offered, .. } | LoadError::Refused { offered, .. }) => {
            Some(format!("Use a plugin for PI {offered}, or a newer offkit."))
        }
        DiscoveryFailure::Version { known, .. } => {
            Some(format!("Use a plugin for PI {known}, or a newer offkit."))
        }
        DiscoveryFailure::Load(_) => None,
        DiscoveryFailure::Harm { harm, .. } => {
            const REMEDY: &str = "Take it off the list, or try its driver's own tools";
            Some(match harm {
                Harm::Untried { .. } => "Install offkit's programs again.".to_owned(),
                // It says itself when it is tried again.
                Harm::Hang { ago: Some(_), .. } => format!("{REMEDY}."),
                _ => format!("{REMEDY}; offkit tries it again whenever it starts."),
            })
        }
        // A plugin that says why knows better.
        DiscoveryFailure::Devices { source, .. } | DiscoveryFailure::Platform { source, .. }
            if source.message().is_some() =>
        {
            None
        }
        DiscoveryFailure::Devices { .. } | DiscoveryFailure::Platform { .. } => Some(
            "The plugin works, the driver below it does not: look at the driver's own tools and log."
                .to_owned(),
        ),
    }
}

/// What to do where a library cannot be opened, and the loader says that; nothing where its words are not known.
pub fn opening(library: &str, reason: &str) -> Option<String> {
    let missing = reason
        // glibc says `NAME: cannot open shared object file: WHY`, perhaps behind the names of others.
        .split(": ")
        .zip(reason.split(": ").skip(1))
        .find(|(_, words)| words.starts_with("cannot open shared object file"));
    let has = |words: &str| reason.contains(words);
    // The special words before the common ones: glibc says `cannot open shared object file` of a
    // file that may not be read, and of one for another architecture, as well.
    Some(match missing {
        _ if has("Permission denied") => format!("This user may not read it: chmod a+r {library}"),
        _ if has("Too many levels of symbolic links") => "Its links lead to each other: install it again.".to_owned(),
        _ if has("it is a folder, and no library") => {
            "Name the library in it.".to_owned()
        }
        _ if [
            ", and this program for ",
            "wrong ELF class",
            "cannot open shared object file: Exec format error",
        ]
        .into_iter()
        .any(has) =>
        {
            "It is for another architecture: take the one for this machine.".to_owned()
        }
        _ if has("invalid ELF header") || has("file too short") || has("not an ELF") => {
            "It is no library, or damaged: install it again.".to_owned()
        }
        Some((name, _)) if name == library && library.contains('/') => "There is no such file.".to_owned(),
        Some((name, _)) if name == library || library.is_empty() => {
            "It is nowhere that the system looks: name it with its folder, or put the folder into LD_LIBRARY_PATH.".to_owned()
        }
        Some((name, _)) => match package_of(name) {
            Some(package) => format!("It needs {name}: install {package}."),
            None => format!("It needs {name}, which is nowhere that the system looks."),
        },
        None => match reason.split_once("undefined symbol: ") {
            Some((_, symbol)) => {
                let symbol = symbol.split([',', ' ']).next().unwrap_or_default();
                let none = format!("A library that it needs is missing or another version: none has {symbol}");
                match library_with(symbol).and_then(|library| Some((library, package_of(library)?))) {
                    Some((library, package)) => {
                        format!("{none}, which is a function of {library}: install or update {package}.")
                    }
                    None => format!("{none}."),
                }
            }
            None if has("version `") => {
                "It was made for a newer system: take one made for this system's libraries.".to_owned()
            }
            None => return None,
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loaders_words_lead_to_advice() {
        let says = |reason, part: &str| {
            let advice = opening("/opt/libpi_level_zero.so", reason).unwrap_or_default();
            assert!(advice.contains(part), "{advice}");
        };
        says(
            "libze_loader.so.1: cannot open shared object file: No such file or directory",
            "needs libze_loader.so.1: install Debian's package libze1",
        );
        says(
            "/opt/libpi_level_zero.so: cannot open shared object file: No such file or directory",
            "There is no such file",
        );
        says(
            "/opt/libpi_level_zero.so: cannot open shared object file: Permission denied",
            "chmod a+r /opt/libpi_level_zero.so",
        );
        says(
            "/opt/libpi_level_zero.so: wrong ELF class: ELFCLASS32",
            "another architecture",
        );
        says("/opt/libpi_level_zero.so: invalid ELF header", "damaged");
        says(
            "/opt/libpi_level_zero.so: cannot open shared object file: Too many levels of symbolic links",
            "lead to each other",
        );
        says(
            "/opt/libpi_level_zero.so: undefined symbol: zeInit",
            "none has zeInit, which is a function of libze_loader.so.1: install or update Debian's package libze1",
        );
        says(
            "/opt/libpi_level_zero.so: undefined symbol: other",
            "none has other.",
        );
        says(
            "/opt/libpi_level_zero.so: it is for aarch64, and this program for x86_64",
            "another architecture",
        );
        says("/opt: it is a folder, and no library", "Name the library in it");
        assert_eq!(
            opening("/opt/liba.so", "clGetDeviceIDs: CL_OUT_OF_HOST_MEMORY (-6)"),
            None
        );
        says(
            "/lib/x86_64-linux-gnu/libc.so.6: version `GLIBC_2.99' not found (required by /opt/libpi_level_zero.so)",
            "newer system",
        );
    }
}
