//! Which drivers there are: the rules of `cl_khr_icd`, and of the two loaders in use. Nothing is opened.

use std::env;
use std::ffi::OsString;
use std::fmt;
use std::path::{Path, PathBuf};

use offkit_host::program::naming_variable;

/// Where drivers are named for all programs, in files that end with `.icd`.
pub const FOLDER: &str = "/etc/OpenCL/vendors";

/// Names another folder, one file with the name of a driver, or a driver.
pub const VENDORS: &str = "OCL_ICD_VENDORS";

/// Names drivers, besides those of the folder, separated like the folders of `PATH`.
pub const FILENAMES: &str = "OCL_ICD_FILENAMES";

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

/// A driver's library, as it is named, and what names it; the reason where a file names none.
pub type Candidate = (Names, Result<PathBuf, String>);

/// The libraries of drivers that are named on this machine, in the order in which loaders look at them.
pub fn candidates() -> Vec<Candidate> {
    named(naming_variable, Path::new(FOLDER))
}

/// The folder of the files that name drivers, or what [`VENDORS`] names instead.
pub fn vendors() -> PathBuf {
    let vendors = naming_variable(VENDORS).filter(|value| !value.is_empty());
    vendors.map_or_else(|| PathBuf::from(FOLDER), PathBuf::from)
}

fn named(variable: impl Fn(&str) -> Option<OsString>, folder: &Path) -> Vec<Candidate> {
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
    // A name that ends with a slash is that of a folder, which is not there.
    } else if vendors.is_file() || !vendors.to_string_lossy().ends_with('/') {
        found.push((Names::Variable(VENDORS), Ok(vendors)));
    }
    found
}

/// What the files of a folder name, by the names of the files.
fn in_folder(folder: &Path) -> Vec<Candidate> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut files: Vec<PathBuf> = entries
        .map(|entry| entry.path())
        .filter(|path| is_vendor_file(path))
        .collect();
    // Folders list their files in any order, and that of platforms and devices is to stay.
    files.sort();
    files.into_iter().map(named_in).collect()
}

fn is_vendor_file(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "icd")
}

/// The library that a vendor's file names in its first line.
fn named_in(file: PathBuf) -> Candidate {
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
    fn shown(variables: &[(&str, &str)], folder: &Path) -> Vec<String> {
        let variables: HashMap<&str, &str> = variables.iter().copied().collect();
        let found = named(|name| variables.get(name).map(OsString::from), folder);
        let text = |(named_by, library): Candidate| {
            let named_by = named_by.to_string();
            let named_by = named_by.rsplit('/').next().unwrap_or_default();
            let library = library.map_or_else(|error| error, |library| library.display().to_string());
            format!("{named_by}: {library}")
        };
        found.into_iter().map(text).collect()
    }

    #[test]
    fn drivers_are_named_by_files_and_variables() {
        let folder = std::env::temp_dir().join(format!("offkit-icd-{}", std::process::id()));
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
        assert_eq!(shown(&[], &folder), all);
        assert_eq!(shown(&[(VENDORS, ""), (FILENAMES, "")], &folder), all);
        let text = other.display().to_string();
        assert_eq!(shown(&[(VENDORS, &text)], &folder), ["c.icd: libc.so"]);
        assert_eq!(
            shown(&[(VENDORS, &format!("{text}/c.icd"))], &folder),
            ["c.icd: libc.so"]
        );
        assert_eq!(shown(&[(VENDORS, "b.icd")], &folder), ["b.icd: libb.so.1"]);
        assert_eq!(
            shown(
                &[(VENDORS, "/opt/libx.so"), (FILENAMES, "/l/y.so::/l/z.so")],
                &folder
            ),
            [
                "OCL_ICD_FILENAMES: /l/y.so",
                "OCL_ICD_FILENAMES: /l/z.so",
                "OCL_ICD_VENDORS: /opt/libx.so"
            ]
        );
        let gone = shown(&[(VENDORS, &format!("{text}/gone.icd"))], &folder);
        assert!(
            gone[0].starts_with("gone.icd: the file cannot be read: No such file"),
            "{gone:?}"
        );
        assert_eq!(shown(&[(VENDORS, "/gone/")], &folder), [""; 0]);
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
