//! A folder that is there once all of it is written.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use offkit_host::temporary::remove_when_stopped;
use tempfile::TempDir;

use super::manifest::inner;
use crate::failure::Failure;

/// A folder to be. What is in it comes to its place together.
pub(crate) struct NewFolder {
    work: TempDir,
    target: PathBuf,
}

/// Says early that a folder has something in it already.
pub(crate) fn check(target: &Path) -> Result<(), Failure> {
    let failed = |error: &dyn std::fmt::Display| Failure::input(format!("{}: {error}", target.display()));
    match fs::read_dir(target) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(failed(&error)),
        Ok(mut entries) => match entries.next() {
            None => Ok(()),
            Some(_) => Err(failed(&"the folder is not empty").hint("name a new folder, or remove this one")),
        },
    }
}

impl NewFolder {
    pub(crate) fn new(target: &Path) -> Result<Self, Failure> {
        check(target)?;
        let failed = |error: io::Error| Failure::input(format!("{}: {error}", target.display()));
        // In the file system of the target, so that one rename puts all of it in place.
        let beside = match target.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => parent,
            _ => Path::new("."),
        };
        fs::create_dir_all(beside).map_err(failed)?;
        let mut builder = tempfile::Builder::new();
        builder.prefix(".offkit-");
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            // As any new folder: less what the user's mask takes.
            builder.permissions(fs::Permissions::from_mode(0o777));
        }
        let work = builder.tempdir_in(beside).map_err(failed)?;
        remove_when_stopped(work.path());
        Ok(Self {
            work,
            target: target.to_owned(),
        })
    }

    /// Writes a file, which is executable if `like` is. Its path is that of a manifest, with `/` between folders.
    pub(crate) fn write(&self, path: &str, content: &[u8], like: Option<&Path>) -> Result<(), Failure> {
        let path = inner(path)?;
        let full = self.work.path().join(&path);
        let failed =
            |error: io::Error| Failure::input(format!("{}: {error}", self.target.join(&path).display()));
        if let Some(folder) = full.parent() {
            fs::create_dir_all(folder).map_err(failed)?;
        }
        // Not over another file of this folder, which two names may mean where case does not count.
        let file = File::create_new(&full);
        file.and_then(|mut file| file.write_all(content))
            .map_err(failed)?;
        if let Some(like) = like {
            let mode = fs::metadata(like).map_err(failed)?.permissions();
            fs::set_permissions(&full, mode).map_err(failed)?;
        }
        Ok(())
    }

    /// Puts the folder where it belongs.
    pub(crate) fn finish(self) -> Result<(), Failure> {
        let failed = |error: io::Error| Failure::input(format!("{}: {error}", self.target.display()));
        // Not every system renames over a folder, even an empty one. One that is no longer empty
        // cannot be removed so, which is the error that is wanted.
        match fs::remove_dir(&self.target) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(failed(error)),
            _ => {}
        }
        fs::rename(self.work.path(), &self.target).map_err(failed)?;
        // It is no longer there to be removed.
        let _ = self.work.keep();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_stay_in_the_folder_and_none_replaces_another() {
        let around = tempfile::tempdir().unwrap();
        let folder = NewFolder::new(&around.path().join("new")).unwrap();
        for outside in ["../out", "/out", "a/../../out", ""] {
            assert!(folder.write(outside, b"", None).is_err(), "{outside}");
        }
        folder.write("a/in", b"first", None).unwrap();
        assert!(folder.write("a/in", b"second", None).is_err());
        folder.finish().unwrap();
        assert_eq!(fs::read(around.path().join("new/a/in")).unwrap(), b"first");
        assert!(!around.path().join("out").exists());
    }
}
