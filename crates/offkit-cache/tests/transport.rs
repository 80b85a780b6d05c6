//! Entries that come from elsewhere are believed no more than their digests and signatures.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{fs, io};

use offkit_cache::{BadEntry, Cache, File, Key, Kind, Limits, Refused, Signer, Trust};

fn key(source: &str) -> Key {
    Key::new(Kind::Program, source).bytes("image 1", source.as_bytes())
}

/// A cache in a folder of a test.
fn cache(folder: &Path, name: &str) -> Cache {
    Cache::at(folder.join(name), Limits::default())
}

/// A pair of keys, as users make it.
fn keys(folder: &Path, name: &str) -> (Signer, PathBuf) {
    let path = folder.join(name);
    let mut command = Command::new("ssh-keygen");
    command.args(["-q", "-t", "ed25519", "-N", "", "-f"]).arg(&path);
    assert!(command.status().expect("OpenSSH is installed").success());
    (Signer::read(&path).unwrap(), path.with_extension("pub"))
}

fn export(cache: &Cache, signer: Option<&Signer>) -> Vec<u8> {
    let mut bytes = Vec::new();
    cache.export(&cache.entries(), signer, &mut bytes).unwrap();
    bytes
}

#[test]
fn a_warm_cache_is_a_file() {
    let folder = tempfile::tempdir().unwrap();
    let (from, to) = (cache(folder.path(), "from"), cache(folder.path(), "to"));
    for name in ["a", "b"] {
        from.put(&key(name), &[], name.as_bytes());
    }
    // What was found out about this machine stays here.
    let local = Key::new(Kind::Plugin, "plugin");
    from.put(&local, &[], b"");
    let file = export(&from, None);
    let imported = to.import(&file, None);
    assert_eq!(
        (imported.added.len(), imported.known, imported.refused.len()),
        (2, 0, 0)
    );
    assert_eq!(&*to.get(&key("a")).unwrap(), b"a");
    assert_eq!(to.import(&file, None).known, 2);
    assert!(to.get(&local).is_none());
}

#[test]
fn signatures_count_by_keys_that_are_trusted_alone() {
    let folder = tempfile::tempdir().unwrap();
    let (ours, our_key) = keys(folder.path(), "ours");
    let (theirs, _) = keys(folder.path(), "theirs");
    let trust = Trust::read(&our_key).unwrap();
    let from = cache(folder.path(), "from");
    from.put(&key("a"), &[], b"native code");
    let refused = |file: &[u8]| {
        let to = Cache::at(tempfile::tempdir().unwrap().keep().join("to"), Limits::default());
        let imported = to.import(file, Some(&trust));
        fs::remove_dir_all(to.path().parent().unwrap()).unwrap();
        imported
            .refused
            .into_iter()
            .map(|(_, why)| why.to_string())
            .collect::<Vec<_>>()
    };
    assert!(refused(&export(&from, Some(&ours))).is_empty());
    let unsigned = [BadEntry::Signature.to_string()];
    assert_eq!(refused(&export(&from, None)), unsigned);
    assert_eq!(refused(&export(&from, Some(&theirs))), unsigned);
    // A signature of another entry, and every damage to this one.
    let signed = export(&from, Some(&ours));
    let other = cache(folder.path(), "other");
    other.put(&key("b"), &[], b"hostile code");
    let hostile = export(&other, None);
    let signature = signed.windows(10).position(|part| part == b"-----BEGIN").unwrap();
    let mut moved = [&hostile[..], &signed[signature..]].concat();
    moved[12..16].copy_from_slice(&signed[12..16]);
    assert_eq!(refused(&moved), unsigned);
    for at in 0..signature {
        let mut bad = signed.clone();
        bad[at] ^= 1;
        assert!(!refused(&bad).is_empty(), "byte {at}");
    }
    for length in 1..signed.len() {
        assert!(!refused(&signed[..length]).is_empty(), "{length} bytes");
    }
}

#[test]
fn what_is_here_stays_and_what_means_harm_does_not_come() {
    let folder = tempfile::tempdir().unwrap();
    let (from, to) = (cache(folder.path(), "from"), cache(folder.path(), "to"));
    to.put(&key("a"), &[], b"made here");
    from.put(&key("a"), &[], b"made elsewhere");
    assert_eq!(to.import(&export(&from, None), None).known, 1);
    assert_eq!(&*to.get(&key("a")).unwrap(), b"made here");

    // Files of `offkit cc`, among them links to programs, and a plugin that is said to do no harm.
    let driver = Key::new(Kind::Driver, "offkit");
    from.folder(&driver, || {
        io::Result::Ok(vec![("bin/clang".into(), File::Link("/tmp/hostile".into()))])
    })
    .unwrap();
    let raw = fs::read(from.path().join("entries").join(driver.digest().to_string())).unwrap();
    let imported = to.import(&raw, None);
    assert!(matches!(imported.refused[..], [(_, Refused::Local)]));
    assert!(to.import(b"no entries at all", None).added.is_empty());
}

#[test]
fn keys_that_cannot_be_used_say_why() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("key");
    let message = |result: Result<Signer, offkit_cache::KeyError>| result.unwrap_err().to_string();
    assert!(message(Signer::read(&path)).contains("cannot be read"));
    fs::write(&path, "no key").unwrap();
    assert!(message(Signer::read(&path)).contains("is no private key"));
    assert!(
        Trust::read(&path)
            .unwrap_err()
            .to_string()
            .contains("ssh-ed25519")
    );
    fs::write(&path, "# nobody\n").unwrap();
    assert!(
        Trust::read(&path)
            .unwrap_err()
            .to_string()
            .contains("no public keys")
    );
}
