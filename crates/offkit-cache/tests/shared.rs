//! A store that many machines share: one makes, all take, and nobody is believed.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Barrier, Mutex};
use std::time::Duration;
use std::{io, thread};

use offkit_cache::{Cache, Key, Kind, Limits, Shared, Signer, Store, Trust};

/// What all machines see.
#[derive(Clone, Debug, Default)]
struct Memory {
    files: Arc<Mutex<HashMap<String, Vec<u8>>>>,
    asked: Arc<AtomicUsize>,
    fails: bool,
}

impl Memory {
    fn set(&self, name: impl ToString, bytes: &[u8]) {
        self.files
            .lock()
            .unwrap()
            .insert(name.to_string(), bytes.to_vec());
    }

    fn names(&self) -> Vec<String> {
        self.files.lock().unwrap().keys().cloned().collect()
    }

    fn asked(&self) -> io::Result<()> {
        self.asked.fetch_add(1, Ordering::Relaxed);
        match self.fails {
            true => Err(io::Error::other("the network is down")),
            false => Ok(()),
        }
    }
}

impl Store for Memory {
    fn read(&self, name: &str) -> io::Result<Vec<u8>> {
        self.asked()?;
        let found = self.files.lock().unwrap().get(name).cloned();
        found.ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    fn write(&self, name: &str, bytes: &[u8]) -> io::Result<()> {
        self.asked()?;
        self.set(name, bytes);
        Ok(())
    }

    fn create(&self, name: &str, bytes: &[u8]) -> io::Result<bool> {
        self.asked()?;
        let mut files = self.files.lock().unwrap();
        let is_new = !files.contains_key(name);
        files.entry(name.to_owned()).or_insert_with(|| bytes.to_vec());
        Ok(is_new)
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        self.asked()?;
        self.files.lock().unwrap().remove(name);
        Ok(())
    }
}

fn key(source: &str) -> Key {
    Key::new(Kind::Program, source).bytes("image 1", source.as_bytes())
}

/// The cache of a machine.
fn machine(folder: &Path, name: &str, shared: Shared) -> Cache {
    Cache::at(folder.join(name), Limits::default()).with_shared(shared)
}

fn unsigned(store: &Memory) -> Shared {
    Shared::new(Box::new(store.clone()), None, None).patient_for(Duration::from_millis(600))
}

#[test]
fn what_one_machine_makes_the_others_take() {
    let (folder, store) = (tempfile::tempdir().unwrap(), Memory::default());
    let one = machine(folder.path(), "one", unsigned(&store));
    one.put(&key("a"), &[], b"built");
    let other = machine(folder.path(), "other", unsigned(&store));
    assert_eq!(&*other.get(&key("a")).unwrap(), b"built");
    // It is here now.
    store.files.lock().unwrap().clear();
    assert!(other.get(&key("a")).is_some());
    // What says something of this machine alone goes nowhere.
    one.put(&Key::new(Kind::Plugin, "plugin"), &[], b"");
    assert!(store.names().is_empty());
}

/// Has many machines ask for an entry at once; how many of them have made it.
fn start(folder: &Path, machines: usize, shared: impl Fn() -> Shared) -> usize {
    let (made, start) = (AtomicUsize::new(0), Barrier::new(machines));
    thread::scope(|scope| {
        for number in 0..machines {
            let cache = machine(folder, &number.to_string(), shared());
            let (made, start) = (&made, &start);
            scope.spawn(move || {
                start.wait();
                match cache.get_or_claim(&key("a")) {
                    Ok(entry) => assert_eq!(&*entry, b"built"),
                    Err(missing) => {
                        made.fetch_add(1, Ordering::Relaxed);
                        missing.put(&[], b"built");
                    }
                }
            });
        }
    });
    made.into_inner()
}

#[test]
fn a_thousand_machines_that_start_at_once_make_it_once() {
    let (folder, store) = (tempfile::tempdir().unwrap(), Memory::default());
    let shared = || Shared::new(Box::new(store.clone()), None, None);
    assert_eq!(start(folder.path(), 1000, shared), 1);
    assert_eq!(store.names(), [key("a").digest().to_string()], "no claim is left");
}

#[test]
fn one_of_many_machines_takes_over_from_those_that_died() {
    let (folder, store) = (tempfile::tempdir().unwrap(), Memory::default());
    let name = key("a").digest();
    // One that was to make the entry, and the one that took over.
    for claim in ["claim", "claim-1"] {
        store.set(format!("{name}.{claim}"), b"a machine that died");
    }
    let shared = || unsigned(&store).patient_for(Duration::from_secs(2));
    assert_eq!(start(folder.path(), 300, shared), 1);
    assert_eq!(store.names(), [name.to_string()], "no claim is left");
}

#[test]
fn whoever_was_thought_dead_harms_nobody() {
    let (folder, store) = (tempfile::tempdir().unwrap(), Memory::default());
    let patient_for = |time| unsigned(&store).patient_for(Duration::from_millis(time));
    let slow = machine(folder.path(), "slow", patient_for(10));
    let next = machine(folder.path(), "next", patient_for(10));
    let key = key("a");
    let slow = slow.get_or_claim(&key).expect_err("nobody has made it");
    let quick = next.get_or_claim(&key).expect_err("it takes too long");
    slow.put(&[], b"built");
    // The other one's claim is still there.
    assert_eq!(store.names().len(), 2, "{:?}", store.names());
    quick.put(&[], b"built");
    assert_eq!(store.names(), [key.digest().to_string()], "no claim is left");
}

#[test]
fn a_machine_that_dies_while_writing_harms_nobody() {
    let (folder, store) = (tempfile::tempdir().unwrap(), Memory::default());
    let whole = Memory::default();
    machine(folder.path(), "whole", unsigned(&whole)).put(&key("a"), &[], b"built");
    let name = key("a").digest().to_string();
    let whole = whole.files.lock().unwrap()[&name].clone();
    // It has said that it makes the entry, and written half of it.
    store.set(format!("{name}.claim"), b"a machine that died");
    store.set(&name, &whole[..whole.len() / 2]);
    let next = machine(folder.path(), "next", unsigned(&store));
    match next.get_or_claim(&key("a")) {
        Ok(_) => panic!("half of an entry was taken"),
        Err(missing) => missing.put(&[], b"built"),
    }
    // The others have what they need at once.
    let third = machine(folder.path(), "third", unsigned(&store));
    assert_eq!(&*third.get_or_claim(&key("a")).unwrap(), b"built");
}

#[test]
fn a_machine_that_cannot_make_it_lets_the_others() {
    let (folder, store) = (tempfile::tempdir().unwrap(), Memory::default());
    let one = machine(folder.path(), "one", unsigned(&store));
    drop(one.get_or_claim(&key("a")).expect_err("nobody has made it"));
    assert!(store.names().is_empty());
}

#[test]
fn a_store_that_fails_is_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let store = Memory {
        fails: true,
        ..Memory::default()
    };
    let cache = machine(folder.path(), "one", unsigned(&store));
    for name in ["a", "b", "c"] {
        let name = key(name);
        cache
            .get_or_claim(&name)
            .expect_err("nothing is there")
            .put(&[], b"built");
        assert!(cache.get(&name).is_some());
    }
    assert_eq!(store.asked.load(Ordering::Relaxed), 1);
}

/// A pair of keys, as users make it.
fn keys(folder: &Path, name: &str) -> (PathBuf, PathBuf) {
    let path = folder.join(name);
    let mut command = Command::new("ssh-keygen");
    command.args(["-q", "-t", "ed25519", "-N", "", "-f"]).arg(&path);
    assert!(command.status().expect("OpenSSH is installed").success());
    let public = path.with_extension("pub");
    (path, public)
}

#[test]
fn a_hostile_store_gets_nothing_into_a_cache() {
    let (folder, store) = (tempfile::tempdir().unwrap(), Memory::default());
    let (ours, public) = keys(folder.path(), "ours");
    let (theirs, _) = keys(folder.path(), "theirs");
    let signed = |by: Option<&Path>| {
        let signer = by.map(|path| Signer::read(path).unwrap());
        let trust = Trust::read(&public).unwrap();
        Shared::new(Box::new(store.clone()), Some(trust), signer).patient_for(Duration::from_millis(100))
    };
    let mut number = 0;
    let mut taken = || {
        number += 1;
        let cache = machine(folder.path(), &format!("reader {number}"), signed(None));
        cache.get(&key("a")).map(|entry| entry.to_vec())
    };
    machine(folder.path(), "ours", signed(Some(&ours))).put(&key("a"), &[], b"built");
    assert_eq!(taken().as_deref(), Some(&b"built"[..]));
    let name = key("a").digest();
    let good = store.files.lock().unwrap()[&name.to_string()].clone();
    for at in (0..good.len()).step_by(3) {
        let mut bad = good.clone();
        bad[at] ^= 1;
        store.set(name, &bad);
        // A letter of the signature's text may say the same.
        if let Some(content) = taken() {
            assert_eq!(content, b"built", "byte {at}");
        }
    }
    // Right by all its digests: not signed, or by somebody else.
    for by in [None, Some(&*theirs)] {
        machine(folder.path(), "hostile", signed(by)).put(&key("a"), &[], b"hostile code");
        assert_eq!(taken(), None);
    }
    // Signed by us, for something else.
    machine(folder.path(), "ours", signed(Some(&ours))).put(&key("b"), &[], b"other");
    let other = store.files.lock().unwrap()[&key("b").digest().to_string()].clone();
    store.set(name, &other);
    assert_eq!(taken(), None);
    store.set(name, &vec![0; 1 << 20]);
    assert_eq!(taken(), None);
}
