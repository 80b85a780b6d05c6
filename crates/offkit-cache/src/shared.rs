//! A store that many machines share: what one has made, the others need not make.
//!
//! Whoever misses an entry says first that it makes it, by a claim beside the entry's place; others see the claim and
//! wait for the entry. Stores promise little, so a claim promises little too: the one that is written last counts, and
//! two that make the same do no harm. A machine that dies leaves a claim that does not change; whoever has waited for
//! [`PATIENCE`] makes the entry itself. What it has half written has another digest, and is a miss.

use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant, SystemTime};
use std::{process, thread};

use crate::entry::{BadEntry, Entry};
use crate::key::Digest;
use crate::signature::{Signer, Trust};
use crate::store::Store;

/// The environment variable that names the store, such as `redis://cache:6379`.
pub const REMOTE_VARIABLE: &str = "OFFKIT_CACHE_REMOTE";

/// The environment variable that names the file with public keys: entries of the store that none of them has signed are
/// refused.
pub const TRUST_VARIABLE: &str = "OFFKIT_CACHE_TRUST";

/// The environment variable that names the private key that entries for the store are signed with.
pub const SIGN_VARIABLE: &str = "OFFKIT_CACHE_SIGN";

/// How long a claim of somebody else is waited for.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// How long it takes until a claim that was written is seen by all.
const SETTLED: Duration = Duration::from_millis(50);

/// A store that many machines share.
#[derive(Debug)]
pub struct Shared {
    store: Box<dyn Store>,
    trust: Option<Trust>,
    signer: Option<Signer>,
    patience: Duration,
    /// It has failed, and is not asked again by this process.
    is_down: AtomicBool,
}

impl Shared {
    /// A store whose entries count if one of these keys has signed them, or, without keys, whoever has made them.
    pub fn new(store: Box<dyn Store>, trust: Option<Trust>, signer: Option<Signer>) -> Self {
        Self {
            store,
            trust,
            signer,
            patience: PATIENCE,
            is_down: AtomicBool::new(false),
        }
    }

    /// The same with another patience.
    #[must_use]
    pub fn patient_for(mut self, patience: Duration) -> Self {
        self.patience = patience;
        self
    }

    /// The result of a call, if the store works.
    fn ask<T>(&self, call: impl FnOnce(&dyn Store) -> io::Result<T>) -> Option<T> {
        if self.is_down.load(Ordering::Relaxed) {
            return None;
        }
        match call(&*self.store) {
            Ok(answer) => Some(answer),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => {
                tracing::warn!(%error, "the shared cache fails, and is left alone from now on");
                self.is_down.store(true, Ordering::Relaxed);
                None
            }
        }
    }

    /// The entry of that name, if it is good.
    pub(crate) fn fetch(&self, name: Digest) -> Option<Entry> {
        let bytes = self.ask(|store| store.read(&name.to_string()))?;
        let checked = Entry::read_for(name, bytes).and_then(|entry| {
            // Those that say something of the machine they were made on are never asked for.
            self.trust.as_ref().map_or(Ok(()), |trust| trust.check(&entry))?;
            Ok::<_, BadEntry>(entry)
        });
        match checked {
            Ok(entry) => Some(entry),
            Err(error) => {
                tracing::warn!(%error, %name, "a bad entry of the shared cache is left there");
                None
            }
        }
    }

    /// Gives an entry to all.
    pub(crate) fn give(&self, mut entry: Entry) {
        if let Some(signer) = &self.signer {
            signer.sign(&mut entry);
        }
        self.ask(|store| store.write(&entry.name().to_string(), entry.bytes()));
    }

    /// Waits for the entry if somebody else makes it, or else says that this process does.
    pub(crate) fn claim(&self, name: Digest) -> Result<Entry, Option<Claim<'_>>> {
        let place = format!("{name}.claim");
        let mut claimed = self.ask(|store| store.read(&place));
        let mut since = Instant::now();
        loop {
            let is_stale = since.elapsed() >= self.patience;
            if claimed.is_none() || is_stale {
                let token = token();
                if self.ask(|store| store.write(&place, &token)).is_none() {
                    return Err(None);
                }
                thread::sleep(SETTLED);
                let written = self.ask(|store| store.read(&place));
                if is_stale || written.as_ref().is_none_or(|written| *written == token) {
                    return match self.fetch(name) {
                        // Whoever made it was done a moment ago.
                        Some(entry) => {
                            self.ask(|store| store.remove(&place));
                            Ok(entry)
                        }
                        None => Err(Some(Claim {
                            shared: self,
                            place,
                            token,
                        })),
                    };
                }
                (claimed, since) = (written, Instant::now());
            }
            thread::sleep(SETTLED);
            if let Some(entry) = self.fetch(name) {
                return Ok(entry);
            }
            let now = self.ask(|store| store.read(&place));
            if now.is_none() {
                // Done a moment ago, or given up: what cannot be kept is not waited for in turn.
                return self.fetch(name).ok_or(None);
            }
            if now != claimed {
                (claimed, since) = (now, Instant::now());
            }
        }
    }
}

/// Something no other process says.
fn token() -> Vec<u8> {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let time = SystemTime::UNIX_EPOCH.elapsed().unwrap_or_default();
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    format!("{} {} {count}", process::id(), time.as_nanos()).into_bytes()
}

/// That this process makes an entry, until it has or gives up.
#[derive(Debug)]
pub(crate) struct Claim<'a> {
    shared: &'a Shared,
    place: String,
    token: Vec<u8>,
}

impl Drop for Claim<'_> {
    fn drop(&mut self) {
        let written = self.shared.ask(|store| store.read(&self.place));
        // Somebody who has lost patience may have claimed it since.
        if written.as_ref() == Some(&self.token) {
            self.shared.ask(|store| store.remove(&self.place));
        }
    }
}

/// The store that the environment names, if this was built to use one and its keys can be read.
pub(crate) fn from_environment() -> Option<Shared> {
    let named = |name| std::env::var_os(name).filter(|value| !value.is_empty());
    let address = named(REMOTE_VARIABLE)?;
    let opened = open(&address.to_string_lossy()).map_err(|error| error.to_string());
    let opened = opened.and_then(|store| {
        let trust = named(TRUST_VARIABLE).map(|path| Trust::read(path.as_ref()));
        let signer = named(SIGN_VARIABLE).map(|path| Signer::read(path.as_ref()));
        let keys = (trust.transpose(), signer.transpose());
        match keys {
            (Ok(trust), Ok(signer)) => Ok(Shared::new(store, trust, signer)),
            (Err(error), _) | (_, Err(error)) => Err(error.to_string()),
        }
    });
    match opened {
        Ok(shared) => Some(shared),
        Err(error) => {
            tracing::warn!(%error, "{REMOTE_VARIABLE} is ignored");
            None
        }
    }
}

#[cfg(feature = "remote")]
fn open(address: &str) -> io::Result<Box<dyn Store>> {
    crate::remote::open(address)
}

#[cfg(not(feature = "remote"))]
fn open(_: &str) -> io::Result<Box<dyn Store>> {
    Err(io::Error::other(
        "offkit was built without the feature `remote-cache`",
    ))
}
