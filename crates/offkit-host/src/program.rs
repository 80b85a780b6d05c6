//! Programs of this machine.

use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use offkit_sync::OnceLock;

/// Finds a program: in those folders, on the path, in others. The first that can be run is taken.
pub fn find(name: impl AsRef<Path>, before: &[PathBuf], after: &[PathBuf]) -> Option<PathBuf> {
    let path = env::var_os("PATH").unwrap_or_default();
    let on_path: Vec<_> = env::split_paths(&path).collect();
    let folders = before.iter().chain(&on_path).chain(after);
    let mut programs = folders.map(|folder| folder.join(&name));
    programs.find(|program| is_program(program))
}

/// The folder of the programs that were installed with this code: that of the library or program that it is in, or `bin`
/// beside it. A library is not beside the program that has loaded it. None where neither has that program.
pub fn own_folder(name: &str) -> Option<PathBuf> {
    let folder = own_file()?.parent()?;
    let bin = folder.parent().map(|root| root.join("bin"));
    let places = [Some(folder.to_owned()), bin];
    let mut places = places.into_iter().flatten();
    places.find(|place| is_program(&place.join(name)))
}

/// The folders with libraries that were installed with this code: those of the library and of the program that it is in, and
/// `lib/offkit` beside either.
pub fn library_folders() -> Vec<PathBuf> {
    let program = env::current_exe().ok();
    let files = [own_file(), program.as_deref()].into_iter().flatten();
    let mut folders: Vec<PathBuf> = Vec::new();
    for folder in files.filter_map(Path::parent) {
        let installed = folder.parent().map(|prefix| prefix.join("lib/offkit"));
        for folder in [Some(folder.to_owned()), installed].into_iter().flatten() {
            if !folders.contains(&folder) {
                folders.push(folder);
            }
        }
    }
    folders
}

/// The library or program that this code is in.
fn own_file() -> Option<&'static Path> {
    static FILE: OnceLock<Option<PathBuf>> = OnceLock::new();
    let file = FILE.get_or_init(|| loaded().or_else(|| env::current_exe().ok()));
    file.as_deref()
}

/// The library that this code is in, by the name that it was loaded by; in a program, that program or nothing.
#[cfg(unix)]
#[expect(unsafe_code, reason = "the loader is asked")]
fn loaded() -> Option<PathBuf> {
    use std::ffi::{CStr, OsStr};
    use std::mem::MaybeUninit;
    use std::os::unix::ffi::OsStrExt;

    let mut found = MaybeUninit::<libc::Dl_info>::uninit();
    let here = (loaded as fn() -> Option<PathBuf> as *const ()).cast();
    // SAFETY: the place is there, and is written to if the function says so; the name stays for as long as this code does.
    let name = unsafe {
        if libc::dladdr(here, found.as_mut_ptr()) == 0 {
            return None;
        }
        let name = found.assume_init().dli_fname;
        if name.is_null() {
            return None;
        }
        CStr::from_ptr(name)
    };
    // A program goes by the word that it was started by, which is no path where it was searched for.
    let is_path = name.to_bytes().contains(&b'/');
    let file = std::path::absolute(OsStr::from_bytes(name.to_bytes())).ok()?;
    (is_path && file.is_file()).then_some(file)
}

#[cfg(not(unix))]
fn loaded() -> Option<PathBuf> {
    None
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

/// Has the system end this process when the one that has started it ends. Called before anything else is done.
#[cfg(target_os = "linux")]
#[expect(unsafe_code, reason = "the kernel is told")]
pub fn end_with_parent() {
    // SAFETY: no pointer is passed.
    unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) };
}

#[cfg(not(target_os = "linux"))]
pub fn end_with_parent() {}

/// Ends what is left of a group of processes, by the process that it began with.
#[cfg(unix)]
#[expect(unsafe_code, reason = "the kernel is told")]
pub fn end_group(first: u32) {
    if let Ok(first) = libc::pid_t::try_from(first) {
        // SAFETY: no pointer is passed.
        unsafe { libc::killpg(first, libc::SIGKILL) };
    }
}

#[cfg(not(unix))]
pub fn end_group(_: u32) {}

/// Whether this process has rights that who has started it has not: then nothing is started that is found by variables or
/// in folders.
#[cfg(target_os = "linux")]
#[expect(unsafe_code, reason = "the C library is asked")]
pub fn is_privileged() -> bool {
    // SAFETY: it reads a word that the kernel has left at the start.
    unsafe { libc::getauxval(libc::AT_SECURE) != 0 }
}

#[cfg(not(target_os = "linux"))]
pub fn is_privileged() -> bool {
    false
}

/// The value of a variable that names what is loaded or run: none where the process [is privileged](is_privileged).
pub fn naming_variable(name: &str) -> Option<OsString> {
    env::var_os(name).filter(|_| !is_privileged())
}

#[cfg(all(test, unix))]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn programs_are_beside_the_one_that_asks() {
        let own = env::current_exe().unwrap();
        let name = own.file_name().unwrap().to_str().unwrap();
        assert_eq!(own_folder(name).as_deref(), own.parent());
        assert_eq!(own_folder("no-such-program"), None);
        assert_eq!(library_folders().first().map(PathBuf::as_path), own.parent());
    }

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
