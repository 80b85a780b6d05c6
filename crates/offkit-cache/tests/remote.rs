//! Stores that OpenDAL talks to: a shared folder, and a Redis server that the test starts.
#![cfg(feature = "remote")]

use std::io::ErrorKind;
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Barrier, mpsc};
use std::time::{Duration, Instant};
use std::{env, fs, thread};

use offkit_cache::{Cache, Key, Kind, Limits, Shared, open_remote};

fn key(source: &str) -> Key {
    Key::new(Kind::Program, source).bytes("image 1", source.as_bytes())
}

/// The cache of a machine, with the store of that address.
fn machine(folder: &Path, name: &str, address: &str) -> Cache {
    let store = open_remote(address).expect("the address is right");
    let shared = Shared::new(store, None, None).patient_for(Duration::from_millis(600));
    Cache::at(folder.join(name), Limits::default()).with_shared(shared)
}

/// What is expected of every store.
fn check(address: &str) {
    let folder = tempfile::tempdir().unwrap();
    let one = machine(folder.path(), "one", address);
    let key = key("a");
    assert!(one.get(&key).is_none());
    let content = vec![7; 3 << 20];
    one.get_or_claim(&key)
        .expect_err("nothing is there")
        .put(&[], &content);
    let other = machine(folder.path(), "other", address);
    assert!(*other.get_or_claim(&key).unwrap() == content[..]);
    // A claim of a machine that died, and half an entry.
    let store = open_remote(address).unwrap();
    let name = key.digest().to_string();
    assert!(store.read(&format!("{name}.claim")).is_err(), "a claim is left");
    let whole = store.read(&name).unwrap();
    store.write(&name, &whole[..whole.len() / 2]).unwrap();
    store
        .write(&format!("{name}.claim"), b"a machine that died")
        .unwrap();
    let third = machine(folder.path(), "third", address);
    third
        .get_or_claim(&key)
        .expect_err("half of an entry")
        .put(&[], &content);
    let fourth = machine(folder.path(), "fourth", address);
    assert!(fourth.get_or_claim(&key).is_ok());
    store.remove(&name).unwrap();
    store.remove(&name).unwrap();
    one_of_many_makes_it(address);
}

/// Whoever creates something where nothing was is alone, and so whoever makes an entry.
fn one_of_many_makes_it(address: &str) {
    const MACHINES: usize = 200;
    let folder = tempfile::tempdir().unwrap();
    let (created, made, start) = (AtomicUsize::new(0), AtomicUsize::new(0), Barrier::new(MACHINES));
    let key = key("of many");
    thread::scope(|scope| {
        for number in 0..MACHINES {
            let (folder, key) = (folder.path(), &key);
            let (created, made, start) = (&created, &made, &start);
            scope.spawn(move || {
                let store = open_remote(address).unwrap();
                let shared = Shared::new(open_remote(address).unwrap(), None, None);
                let cache = Cache::at(folder.join(number.to_string()), Limits::default()).with_shared(shared);
                start.wait();
                let is_ours = store.create("of one", number.to_string().as_bytes()).unwrap();
                created.fetch_add(is_ours.into(), Ordering::Relaxed);
                match cache.get_or_claim(key) {
                    Ok(entry) => assert_eq!(&*entry, b"built"),
                    Err(missing) => {
                        made.fetch_add(1, Ordering::Relaxed);
                        missing.put(&[], b"built");
                    }
                }
            });
        }
    });
    assert_eq!((created.into_inner(), made.into_inner()), (1, 1));
    let store = open_remote(address).unwrap();
    let winner = String::from_utf8(store.read("of one").unwrap()).unwrap();
    assert!(
        winner.parse::<usize>().is_ok_and(|winner| winner < MACHINES),
        "{winner}"
    );
    store.remove("of one").unwrap();
    assert!(store.create("of one", b"again").unwrap());
    let claim = format!("{}.claim", key.digest());
    assert!(store.read(&claim).is_err(), "a claim is left");
}

#[test]
fn a_folder_is_shared() {
    let folder = tempfile::tempdir().unwrap();
    let shared = folder.path().join("shared");
    fs::create_dir(&shared).unwrap();
    check(&format!("fs://{}", shared.display()));
}

#[cfg(unix)]
#[test]
fn a_process_that_is_forked_off_does_not_wait_for_the_store() {
    use std::os::unix::process::CommandExt as _;

    let folder = tempfile::tempdir().unwrap();
    let store = open_remote(&format!("fs://{}", folder.path().display())).unwrap();
    store.write("entry", b"built").unwrap();
    let (answer, answered) = mpsc::channel();
    thread::spawn(move || {
        let mut program = Command::new("true");
        let read = move || match store.read("entry") {
            // The store counts as one that fails, and is not asked again.
            Err(error) if error.kind() == ErrorKind::Other => Ok(()),
            _ => Err(ErrorKind::InvalidData.into()),
        };
        // SAFETY: this runs in a process that was forked off, as a user's may, and takes no lock that another thread has.
        unsafe { program.pre_exec(read) };
        answer.send(program.status())
    });
    let status = answered.recv_timeout(Duration::from_secs(30)).unwrap();
    assert!(status.unwrap().success());
}

/// A Redis server, which ends with the test.
struct Redis {
    child: Child,
    address: String,
    _folder: tempfile::TempDir,
}

impl Redis {
    fn start() -> Option<Self> {
        let folder = tempfile::tempdir().unwrap();
        let port = TcpListener::bind("127.0.0.1:0")
            .unwrap()
            .local_addr()
            .unwrap()
            .port();
        let child = Command::new("redis-server")
            .args([
                "--port",
                &port.to_string(),
                "--bind",
                "127.0.0.1",
                "--save",
                "",
                "--dir",
            ])
            .arg(folder.path())
            .stdout(Stdio::null())
            .spawn();
        let child = match child {
            Ok(child) => child,
            Err(error) => {
                let is_required = env::var_os("OFFKIT_REQUIRE_TOOLS").is_some();
                assert!(!is_required, "redis-server: {error}");
                return None;
            }
        };
        let server = Self {
            child,
            address: format!("redis://127.0.0.1:{port}"),
            _folder: folder,
        };
        let start = Instant::now();
        while TcpStream::connect(("127.0.0.1", port)).is_err() {
            assert!(
                start.elapsed() < Duration::from_secs(30),
                "the server does not start"
            );
            thread::sleep(Duration::from_millis(20));
        }
        Some(server)
    }
}

impl Drop for Redis {
    fn drop(&mut self) {
        let _gone = self.child.kill().and_then(|()| self.child.wait());
    }
}

#[test]
fn redis_is_shared() {
    let Some(server) = Redis::start() else { return };
    check(&server.address);
    // In a database and a folder of its own, each told in either way.
    check(&format!("{}/3/offkit/cache", server.address));
    check(&format!("{}/offkit?db=4", server.address));
}

#[test]
fn a_server_that_goes_away_costs_time_alone() {
    let Some(server) = Redis::start() else { return };
    let folder = tempfile::tempdir().unwrap();
    let cache = machine(folder.path(), "one", &server.address);
    cache.put(&key("a"), &[], b"built");
    drop(server);
    assert!(cache.get(&key("b")).is_none());
    cache.put(&key("b"), &[], b"built");
    assert!(cache.get(&key("a")).is_some() && cache.get(&key("b")).is_some());
}

#[test]
fn an_object_store_has_an_address_too() {
    open_remote("s3://bucket/offkit?region=eu-central-1&access_key_id=a&secret_access_key=b").unwrap();
    for wrong in ["nowhere", "ftp://host/folder", "s3://"] {
        assert!(open_remote(wrong).is_err(), "{wrong}");
    }
}
