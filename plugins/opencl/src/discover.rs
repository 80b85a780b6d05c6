//! Which drivers there are: the rules of `cl_khr_icd`, and of the two loaders in use.

use crate::cl;
use offkit_opencl::{CL_PLATFORM_ICD_SUFFIX_KHR, CL_PLATFORM_NAME};
use std::collections::HashSet;
use std::env;
use std::ffi::OsString;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

/// Where drivers are named for all programs, in files that end with `.icd`.
const FOLDER: &str = "/etc/OpenCL/vendors";

/// Names another folder, one file with the name of a driver, or a driver.
const VENDORS: &str = "OCL_ICD_VENDORS";

/// Names drivers, besides those of the folder, separated like the folders of `PATH`.
const FILENAMES: &str = "OCL_ICD_FILENAMES";

/// The suffix of offkit's own driver, by which its devices are there for programs of OpenCL.
const OWN_SUFFIX: &str = "OFFKIT";

/// What names a driver.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Names {
    /// A file of a vendor.
    File(PathBuf),
    /// An environment variable.
    Variable(&'static str),
}

impl fmt::Display for Names {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Names::File(path) => path.display().fmt(formatter),
            Names::Variable(name) => formatter.write_str(name),
        }
    }
}

/// A driver that is named somewhere, and what became of it.
#[derive(Debug)]
pub struct Driver {
    /// Its library, as it is named; none where a file has no name in it.
    pub library: Option<PathBuf>,
    /// What names it.
    pub named_by: Names,
    /// The names of the platforms that it gives; why it gives none, where it cannot be used.
    pub platforms: Result<Vec<String>, String>,
}

impl fmt::Display for Driver {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let named_by = &self.named_by;
        match &self.library {
            Some(library) => write!(
                formatter,
                "OpenCL driver `{}` (named by `{named_by}`): ",
                library.display()
            ),
            None => write!(formatter, "OpenCL driver of `{named_by}`: "),
        }?;
        match &self.platforms {
            Ok(platforms) if platforms.is_empty() => formatter.write_str("no platform"),
            Ok(platforms) => formatter.write_str(&platforms.join(", ")),
            Err(reason) => formatter.write_str(reason),
        }
    }
}

/// The drivers of this machine, which are opened at the first call.
pub fn drivers() -> &'static [Driver] {
    &FOUND.0
}

/// The platforms of the drivers that are used.
pub(crate) fn platforms() -> &'static [&'static cl::Driver] {
    &FOUND.1
}

static FOUND: LazyLock<(Vec<Driver>, Vec<&'static cl::Driver>)> = LazyLock::new(|| {
    let (mut drivers, mut used) = (Vec::new(), Vec::new());
    let mut known = HashSet::new();
    for (named_by, library) in candidates(|name| env::var_os(name), Path::new(FOLDER)) {
        let opened = library.clone().and_then(|library| cl::open(&library));
        let platforms = opened.and_then(|platforms| accepted(&platforms, &mut known));
        let driver = Driver {
            library: library.ok(),
            named_by,
            platforms: platforms.map(|platforms| {
                used.extend_from_slice(&platforms);
                let names = platforms.iter().map(|platform| platform.text(CL_PLATFORM_NAME));
                names.collect()
            }),
        };
        tracing::debug!(%driver, "a driver");
        drivers.push(driver);
    }
    (drivers, used)
});

/// The platforms of a driver that are to be used: those that are new, and not this project's own.
fn accepted(
    platforms: &[&'static cl::Driver],
    known: &mut HashSet<usize>,
) -> Result<Vec<&'static cl::Driver>, String> {
    let is_own = |platform: &cl::Driver| platform.text(CL_PLATFORM_ICD_SUFFIX_KHR) == OWN_SUFFIX;
    let (mut accepted, mut refused) = (Vec::new(), None);
    for platform in platforms {
        if is_own(platform) {
            refused = Some("left out: it is offkit's own, and its devices are there already");
        } else if known.insert(platform.native()) {
            accepted.push(*platform);
        } else {
            refused = Some("left out: it is named twice");
        }
    }
    match refused {
        Some(reason) if accepted.is_empty() => Err(reason.to_owned()),
        _ => Ok(accepted),
    }
}

/// The libraries that are named, in the order in which they are looked at, and what names each; the reason where a file
/// names none.
fn candidates(
    variable: impl Fn(&str) -> Option<OsString>,
    folder: &Path,
) -> Vec<(Names, Result<PathBuf, String>)> {
    let variable = |name| variable(name).filter(|value| !value.is_empty());
    let mut found: Vec<_> = variable(FILENAMES)
        .iter()
        .flat_map(env::split_paths)
        .filter(|path| !path.as_os_str().is_empty())
        .map(|path| (Names::Variable(FILENAMES), Ok(path)))
        .collect();
    let Some(vendors) = variable(VENDORS).map(PathBuf::from) else {
        found.extend(in_folder(folder));
        return found;
    };
    if vendors.is_dir() {
        found.extend(in_folder(&vendors));
    } else if is_vendor_file(&vendors) {
        // A name alone is one of the folder's files, unless there is one here.
        let is_bare = vendors.components().count() == 1 && !vendors.is_file();
        let file = if is_bare { folder.join(vendors) } else { vendors };
        found.push(named_in(file));
    } else if vendors.is_file() || !vendors.to_string_lossy().ends_with('/') {
        found.push((Names::Variable(VENDORS), Ok(vendors)));
    }
    found
}

/// What the files of a folder name, by the names of the files.
fn in_folder(folder: &Path) -> Vec<(Names, Result<PathBuf, String>)> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut files: Vec<PathBuf> = entries
        .map(|entry| entry.path())
        .filter(|path| is_vendor_file(path))
        .collect();
    files.sort();
    files.into_iter().map(named_in).collect()
}

fn is_vendor_file(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "icd")
}

/// The library that a vendor's file names in its first line.
fn named_in(file: PathBuf) -> (Names, Result<PathBuf, String>) {
    let library = match std::fs::read_to_string(&file) {
        Ok(text) => match text.lines().next().map(str::trim) {
            None | Some("") => Err("the file names no library".to_owned()),
            Some(name) => Ok(PathBuf::from(name)),
        },
        Err(error) => Err(format!("the file cannot be read: {error}")),
    };
    (Names::File(file), library)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashMap;

    /// What is named where, as `who: what`.
    fn named(variables: &[(&str, &str)], folder: &Path) -> Vec<String> {
        let variables: HashMap<&str, &str> = variables.iter().copied().collect();
        let found = candidates(|name| variables.get(name).map(OsString::from), folder);
        let text = |(named_by, library): (Names, Result<PathBuf, String>)| {
            let named_by = named_by.to_string();
            let named_by = named_by.rsplit('/').next().unwrap_or_default();
            let library = library.map_or_else(|error| error, |library| library.display().to_string());
            format!("{named_by}: {library}")
        };
        found.into_iter().map(text).collect()
    }

    #[test]
    fn drivers_are_named_by_files_and_variables() {
        let folder = std::env::temp_dir().join(format!("offkit-opencl-{}", std::process::id()));
        let other = folder.join("other");
        std::fs::create_dir_all(&other).unwrap();
        for (file, text) in [
            ("b.icd", "libb.so.1\nand more\n"),
            ("a.icd", "  /opt/a/liba.so \n"),
            ("empty.icd", ""),
            ("notes.txt", "libnot.so"),
            ("other/c.icd", "libc.so"),
        ] {
            std::fs::write(folder.join(file), text).unwrap();
        }
        let all = [
            "a.icd: /opt/a/liba.so",
            "b.icd: libb.so.1",
            "empty.icd: the file names no library",
        ];
        assert_eq!(named(&[], &folder), all);
        assert_eq!(named(&[(VENDORS, ""), (FILENAMES, "")], &folder), all);
        let text = other.display().to_string();
        assert_eq!(named(&[(VENDORS, &text)], &folder), ["c.icd: libc.so"]);
        assert_eq!(
            named(&[(VENDORS, &format!("{text}/c.icd"))], &folder),
            ["c.icd: libc.so"]
        );
        assert_eq!(named(&[(VENDORS, "b.icd")], &folder), ["b.icd: libb.so.1"]);
        assert_eq!(
            named(
                &[(VENDORS, "/opt/libx.so"), (FILENAMES, "/l/y.so::/l/z.so")],
                &folder
            ),
            [
                "OCL_ICD_FILENAMES: /l/y.so",
                "OCL_ICD_FILENAMES: /l/z.so",
                "OCL_ICD_VENDORS: /opt/libx.so"
            ]
        );
        let gone = named(&[(VENDORS, &format!("{text}/gone.icd"))], &folder);
        assert!(
            gone[0].starts_with("gone.icd: the file cannot be read: No such file"),
            "{gone:?}"
        );
        assert_eq!(named(&[(VENDORS, "/gone/")], &folder), [""; 0]);
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
