//! Programs of this machine.

use std::env;
use std::path::{Path, PathBuf};

/// Finds a program: in those folders, on the path, in others. The first that can be run is taken.
pub fn find(name: impl AsRef<Path>, before: &[PathBuf], after: &[PathBuf]) -> Option<PathBuf> {
    let path = env::var_os("PATH").unwrap_or_default();
    let on_path: Vec<_> = env::split_paths(&path).collect();
    let folders = before.iter().chain(&on_path).chain(after);
    let mut programs = folders.map(|folder| folder.join(&name));
    programs.find(|program| is_program(program))
}

#[cfg(unix)]
fn is_program(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    path.metadata()
        .is_ok_and(|metadata| metadata.is_file() && metadata.permissions().mode() & 0o111 != 0)
}

#[cfg(not(unix))]
fn is_program(path: &Path) -> bool {
    path.is_file()
}

#[cfg(all(test, unix))]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn folders_are_looked_into_in_order() {
        let folder = tempfile::tempdir().unwrap();
        let [first, second] = ["first", "second"].map(|name| folder.path().join(name));
        for (place, mode) in [(&first, 0o644), (&second, 0o755)] {
            fs::create_dir(place).unwrap();
            // A name that the path has, too.
            fs::write(place.join("sh"), "").unwrap();
            fs::set_permissions(place.join("sh"), fs::Permissions::from_mode(mode)).unwrap();
        }
        // What cannot be run is passed over.
        let places = [first, second.clone()];
        assert_eq!(find("sh", &places, &[]), Some(second.join("sh")));
        let elsewhere = find("sh", &[], &places);
        assert!(elsewhere.is_some_and(|program| !program.starts_with(folder.path())));
        assert_eq!(find("no-such-program", &places, &places), None);
    }
}
