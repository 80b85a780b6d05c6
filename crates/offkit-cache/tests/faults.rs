//! What can go wrong with a cache costs speed only.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};
use std::{fs, io, thread};

use offkit_cache::{BadEntry, Cache, Entry, File, FileId, Key, Kind, Limits, Why, mapped_by};
use proptest::prelude::*;

fn key(source: &str) -> Key {
    Key::new(Kind::Program, "saxpy")
        .bytes("image 1", source.as_bytes())
        .text("options", "-O2")
        .text("device", "cpu")
}

/// A cache in a folder of a test, and the folder.
fn cache() -> (tempfile::TempDir, Cache) {
    let folder = tempfile::tempdir().unwrap();
    let cache = Cache::at(folder.path().join("cache"), Limits::default());
    (folder, cache)
}

/// The files of the entries.
fn entries(cache: &Cache) -> Vec<PathBuf> {
    let files = fs::read_dir(cache.path().join("entries")).into_iter().flatten();
    files.map(|file| file.unwrap().path()).collect()
}

#[test]
fn what_is_put_comes_back_for_the_same_inputs_alone() {
    let (_folder, cache) = cache();
    cache.put(&key("a"), &[], b"built a");
    assert_eq!(&*cache.get(&key("a")).unwrap(), b"built a");
    assert!(cache.get(&key("b")).is_none());
    assert!(cache.get(&key("a").text("constant 1", "7")).is_none());
    let other_kind = Key {
        kind: Kind::OpenclC,
        ..key("a")
    };
    assert!(cache.get(&other_kind).is_none());
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(cache.path()), 0o700);
    assert_eq!(mode(&cache.path().join("entries")), 0o700);
}

#[test]
fn a_damaged_entry_is_a_miss_and_goes() {
    let (_folder, cache) = cache();
    cache.put(&key("a"), &[], b"built a");
    let file = entries(&cache).remove(0);
    let good = fs::read(&file).unwrap();
    for at in 0..good.len() {
        let mut bad = good.clone();
        bad[at] ^= 0x10;
        fs::write(&file, &bad).unwrap();
        assert!(cache.get(&key("a")).is_none(), "byte {at}");
        assert!(!file.exists(), "byte {at}");
    }
    for length in [0, 7, 55, 56, good.len() - 1] {
        fs::write(&file, &good[..length]).unwrap();
        assert!(cache.get(&key("a")).is_none(), "{length} bytes");
    }
    fs::write(&file, [&good[..], b"more"].concat()).unwrap();
    assert!(cache.get(&key("a")).is_none());
    cache.put(&key("a"), &[], b"built a");
    assert_eq!(&*cache.get(&key("a")).unwrap(), b"built a");
}

#[test]
fn an_entry_in_the_place_of_another_is_a_miss() {
    let (_folder, cache) = cache();
    cache.put(&key("a"), &[], b"built a");
    let a = entries(&cache).remove(0);
    cache.put(&key("b"), &[], b"built b");
    let b = entries(&cache).into_iter().find(|file| *file != a).unwrap();
    fs::copy(&a, &b).unwrap();
    assert!(matches!(cache.why(&key("b")), Why::Bad(BadEntry::Key)));
    assert!(cache.get(&key("b")).is_none());
    assert!(cache.get(&key("a")).is_some());
}

#[test]
fn an_entry_goes_with_the_files_that_it_was_made_with() {
    let (folder, cache) = cache();
    let library = folder.path().join("libdriver.so");
    fs::write(&library, "driver 1").unwrap();
    let there = FileId::of(&library).unwrap();
    cache.put(&key("a"), std::slice::from_ref(&there), b"built a");
    assert!(cache.get(&key("a")).is_some());
    let before = FileId {
        identity: "build 00".into(),
        ..there
    };
    cache.put(&key("a"), &[before], b"built by another driver");
    assert!(cache.get(&key("a")).is_none());
    let why = cache.why(&key("a")).to_string();
    assert!(
        why.starts_with("driver library `") && why.ends_with("libdriver.so` changed"),
        "{why}"
    );
}

#[test]
fn a_miss_is_explained_by_what_is_nearest() {
    let (_folder, cache) = cache();
    assert!(matches!(cache.why(&key("a")), Why::Never));
    let of_driver = |driver: &str, options: &str| {
        Key::new(Kind::Program, "saxpy")
            .bytes("image 1", b"code")
            .text("options", options)
            .text("driver", driver)
    };
    cache.put(&of_driver("1.0", "-g"), &[], b"far");
    cache.put(&of_driver("1.0", "-O2"), &[], b"near");
    let why = cache.why(&of_driver("2.0", "-O2"));
    assert_eq!(why.to_string(), "driver changed: it was `1.0` and is `2.0`");
}

#[test]
fn a_folder_that_others_can_write_to_is_not_used() {
    let (_folder, cache) = cache();
    cache.put(&key("a"), &[], b"built a");
    for folder in [cache.path().to_owned(), cache.path().join("entries")] {
        fs::set_permissions(&folder, fs::Permissions::from_mode(0o777)).unwrap();
        assert!(cache.get(&key("a")).is_none());
        cache.put(&key("b"), &[], b"built b");
        assert!(cache.get(&key("b")).is_none());
        fs::set_permissions(&folder, fs::Permissions::from_mode(0o700)).unwrap();
        assert!(cache.get(&key("a")).is_some());
    }
    // Another's folder behind a link.
    let elsewhere = tempfile::tempdir().unwrap();
    fs::rename(cache.path(), elsewhere.path().join("cache")).unwrap();
    std::os::unix::fs::symlink(elsewhere.path().join("cache"), cache.path()).unwrap();
    assert!(cache.get(&key("a")).is_none());
}

#[test]
fn nothing_goes_from_a_folder_that_is_not_the_caches() {
    let (_folder, cache) = cache();
    let elsewhere = tempfile::tempdir().unwrap();
    let letter = elsewhere.path().join("letter");
    fs::write(&letter, "written long ago").unwrap();
    let long_ago = SystemTime::now() - Duration::from_secs(31 * 24 * 3600);
    fs::File::open(&letter).unwrap().set_modified(long_ago).unwrap();
    fs::create_dir(cache.path()).unwrap();
    for name in ["entries", "unpacked"] {
        let link = cache.path().join(name);
        std::os::unix::fs::symlink(elsewhere.path(), &link).unwrap();
        // The first thing that a cache puts somewhere makes it tidy up.
        Cache::at(cache.path().to_owned(), Limits::default()).put(&key("a"), &[], b"built a");
        assert!(letter.exists(), "{name}");
        fs::remove_file(link).unwrap();
    }
}

#[test]
fn a_place_that_cannot_be_written_costs_speed_only() {
    let folder = tempfile::tempdir().unwrap();
    // A file where the folder should be.
    let file = folder.path().join("file");
    fs::write(&file, "").unwrap();
    // Whoever may write everywhere finds no place here either.
    for place in [file.join("cache"), file, PathBuf::from("/proc/offkit/cache")] {
        let cache = Cache::at(place, Limits::default());
        cache.put(&key("a"), &[], b"built a");
        assert!(cache.get(&key("a")).is_none());
        assert!(cache.entries().is_empty());
        let made = cache.folder(&key("a"), || {
            io::Result::Ok(vec![("lib/a.bc".into(), File::Content(b"library".into()))])
        });
        let made = made.expect("temporary files do");
        assert_eq!(fs::read(made.join("lib/a.bc")).unwrap(), b"library");
        fs::remove_dir_all(made).unwrap();
    }
}

#[test]
fn a_folder_deleted_at_any_time_is_made_again() {
    let (_folder, cache) = cache();
    cache.put(&key("a"), &[], b"built a");
    fs::remove_dir_all(cache.path()).unwrap();
    assert!(cache.get(&key("a")).is_none());
    cache.put(&key("a"), &[], b"built a");
    assert!(cache.get(&key("a")).is_some());
}

#[test]
fn files_for_other_programs_are_put_right() {
    let (_folder, cache) = cache();
    let mut times = 0;
    let key = Key {
        kind: Kind::Driver,
        ..key("a")
    };
    let mut made = || {
        let folder = cache.folder(&key, || {
            times += 1;
            io::Result::Ok(vec![
                ("lib/a.bc".into(), File::Content(b"library".into())),
                ("bin/clang".into(), File::Link("/usr/bin/clang".into())),
            ])
        });
        folder.unwrap()
    };
    let first = made();
    assert_eq!(fs::read(first.join("lib/a.bc")).unwrap(), b"library");
    assert_eq!(
        fs::read_link(first.join("bin/clang")).unwrap(),
        Path::new("/usr/bin/clang")
    );
    fs::write(first.join("lib/a.bc"), "damaged").unwrap();
    fs::remove_file(first.join("bin/clang")).unwrap();
    let name = key.digest();
    assert_eq!(cache.verify(name), Err(BadEntry::Content));
    assert_eq!(made(), first);
    assert_eq!(fs::read(first.join("lib/a.bc")).unwrap(), b"library");
    assert_eq!(cache.verify(name), Ok(()));
    assert_eq!(times, 1);
}

#[test]
fn what_was_used_longest_ago_makes_room() {
    let folder = tempfile::tempdir().unwrap();
    let limits = Limits {
        bytes: 100_000,
        ..Limits::default()
    };
    let place = folder.path().join("cache");
    let put = |name: &str| Cache::at(place.clone(), limits).put(&key(name), &[], &[7; 10_000]);
    let names: Vec<String> = (0..20).map(|number| number.to_string()).collect();
    let cache = Cache::at(place.clone(), limits);
    for name in &names {
        put(name);
        // Used again and again, while the clock goes on.
        assert!(cache.get(&key("0")).is_some(), "{name}");
        thread::sleep(Duration::from_millis(2));
    }
    let size: u64 = cache.entries().iter().map(|entry| entry.size).sum();
    assert!(size <= limits.bytes, "{size}");
    assert!(cache.get(&key("1")).is_none());
    assert!(cache.get(&key("19")).is_some());
    // Too large for any room.
    cache.put(&key("large"), &[], &[7; 90_000]);
    assert!(cache.get(&key("large")).is_none());
    assert!(cache.get(&key("0")).is_some());
}

#[test]
fn what_nobody_uses_goes_and_so_does_what_a_process_left() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().join("cache");
    let cache = Cache::at(place.clone(), Limits::default());
    cache.put(&key("old"), &[], b"built");
    let long_ago = SystemTime::now() - Duration::from_secs(31 * 24 * 3600);
    let age = |path: &Path| fs::File::open(path).unwrap().set_modified(long_ago).unwrap();
    age(&entries(&cache)[0]);
    let left = place.join("entries/.new-left");
    fs::write(&left, "half of an ent").unwrap();
    age(&left);
    let fresh = place.join("entries/.new-fresh");
    fs::write(&fresh, "another process writes this").unwrap();
    Cache::at(place, Limits::default()).put(&key("new"), &[], b"built");
    assert!(cache.get(&key("old")).is_none());
    assert!(cache.get(&key("new")).is_some());
    assert!(!left.exists() && fresh.exists());
}

#[test]
fn many_at_once_see_whole_entries_alone() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().join("cache");
    let content = |number: usize, by: usize| [format!("{number} by {by}").as_bytes(), &[7; 3000]].concat();
    thread::scope(|scope| {
        for by in 0..8 {
            let place = place.clone();
            scope.spawn(move || {
                let limits = Limits {
                    bytes: 40_000,
                    ..Limits::default()
                };
                for round in 0..100 {
                    // A cache of its own is what another process has.
                    let cache = Cache::at(place.clone(), limits);
                    let number = (round * 7 + by) % 20;
                    let key = key(&number.to_string());
                    match cache.get(&key) {
                        Some(found) => {
                            let of_any = (0..8).any(|by| *found == content(number, by)[..]);
                            assert!(of_any, "{number}");
                        }
                        None => cache.put(&key, &[], &content(number, by)),
                    }
                    if round % 10 == 0 {
                        let made = cache.folder(&self::key("folder"), || {
                            io::Result::Ok(vec![("a".into(), File::Content(vec![1; 100]))])
                        });
                        assert_eq!(fs::read(made.unwrap().join("a")).unwrap(), [1; 100]);
                    }
                }
            });
        }
    });
    let cache = Cache::at(place, Limits::default());
    for entry in cache.entries() {
        assert_eq!(cache.verify(entry.name), Ok(()));
    }
}

#[test]
fn files_of_an_entry_stay_in_their_folder() {
    let (_folder, cache) = cache();
    for path in ["../out", "/tmp/out", "a/../../out", ""] {
        let made = cache.folder(&key(path), || {
            io::Result::Ok(vec![(path.into(), File::Content(b"x".into()))])
        });
        assert!(made.is_err(), "{path}");
        assert_eq!(cache.verify(key(path).digest()), Err(BadEntry::Header), "{path}");
    }
}

proptest! {
    #[test]
    fn no_bytes_do_harm(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        prop_assert!(Entry::read(bytes.clone()).is_err());
        let begun = [b"offkitC1", &bytes[..]].concat();
        prop_assert!(Entry::read(begun).is_err());
    }
}

/// Paths are bytes: a driver may lie where no text can say.
#[test]
fn libraries_whose_paths_are_no_text_are_told_apart() {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;

    let (folder, cache) = cache();
    let [driver, other] =
        [b"driver-\xff.so", b"driver-\xfe.so"].map(|name| folder.path().join(OsStr::from_bytes(name)));
    fs::write(&driver, b"a driver").unwrap();
    let used = FileId::of(&driver).unwrap();
    cache.put(&key("a"), std::slice::from_ref(&used), b"built a");
    let entry = cache.get(&key("a")).unwrap();
    assert_eq!(entry.header.files, [used]);
    let again = Entry::read(entry.bytes().to_vec()).unwrap();
    assert_eq!(again.header, entry.header);

    // Another one looks alike where it is printed, and is not there.
    let gone = FileId {
        path: other.clone(),
        identity: entry.header.files[0].identity.clone(),
    };
    cache.put(&key("b"), &[gone], b"built b");
    assert!(cache.get(&key("b")).is_none());
    let why = cache.why(&key("b"));
    assert!(
        matches!(&why, Why::OtherFiles(files) if *files == [other]),
        "{why}"
    );
    assert!(why.to_string().contains("driver-\u{fffd}.so` changed"), "{why}");
}

/// What a process has mapped is known by the bytes of its path as well.
#[cfg(target_os = "linux")]
#[test]
fn programs_whose_paths_are_no_text_are_found() {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;

    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join(OsStr::from_bytes(b"slee\xffp"));
    fs::copy("/bin/sleep", &program).unwrap();
    let mut child = std::process::Command::new(&program).arg("60").spawn().unwrap();
    // Until the child is the program.
    let found = loop {
        let found = mapped_by(child.id());
        if found.iter().flatten().any(|file| file.path == program) || child.try_wait().unwrap().is_some() {
            break found;
        }
        thread::sleep(Duration::from_millis(1));
    };
    child.kill().unwrap();
    child.wait().unwrap();
    let found = found.expect("all that it has mapped is there");
    assert!(found.iter().any(|file| file.path == program), "{found:?}");
}
