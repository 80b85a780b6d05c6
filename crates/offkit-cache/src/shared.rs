//! A store that many machines share: what one has made, the others need not make.
//!
//! Whoever misses an entry creates a claim beside the entry's place, which one machine alone can
//! ([`Store::create`]); the others wait until the claim is gone, and take the entry. A machine that dies leaves its claim:
//! whoever has waited for [`PATIENCE`] creates the next one, which again one alone can, and so on. The entry is written
//! before the claims go, and looked for once more after one was created, so that nobody makes what is there. What a
//! machine has half written has another digest, and is a miss.

#[cfg(all(test, loom))]
mod models;

use std::io;
use std::time::{Duration, Instant};
use std::{process, thread};

use offkit_host::program::naming_variable;
use offkit_sync::{AtomicBool, Ordering};

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

/// How often a claim of somebody else is looked at: after that time at first, and less often the longer it lasts, for a
/// thousand machines may look.
const FIRST_PAUSE: Duration = Duration::from_millis(20);
const LONGEST_PAUSE: Duration = Duration::from_secs(1);

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
        // Relaxed, as nothing else hangs on it: whoever sees it late asks once more, and fails as well.
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
        // Not before: what stays in the user's own folder is trusted by whose folder that is.
        if let Some(signer) = &self.signer {
            signer.sign(&mut entry);
        }
        self.ask(|store| store.write(&entry.name().to_string(), entry.bytes()));
    }

    /// Waits for the entry if somebody else makes it, or else says that this process does. Without a claim the entry is to
    /// be made as well: the store fails, or whoever was to make the entry could not, and nobody waits in turn for what
    /// cannot be made or kept.
    pub(crate) fn claim(&self, name: Digest) -> Result<Entry, Option<Claim<'_>>> {
        let mut waiting = Waiting::default();
        loop {
            match self.turn(name, &mut waiting) {
                Turn::Take(entry) => return Ok(entry),
                Turn::Make(claim) => return Err(claim),
                Turn::Wait(pause) => thread::sleep(pause),
            }
        }
    }

    /// What whoever misses an entry does next. Never waits itself, so that the models can choose who comes when.
    fn turn(&self, name: Digest, waiting: &mut Waiting) -> Turn<'_> {
        loop {
            let place = place(name, waiting.turn);
            let Some((since, pause)) = waiting.since else {
                // Without a look whether one is there: two that look at once both find nothing.
                let owner = format!("process {}\n", process::id());
                match self.ask(|store| store.create(&place, owner.as_bytes())) {
                    None => return Turn::Make(None),
                    Some(true) => {
                        let claim = Claim {
                            shared: self,
                            name,
                            turn: waiting.turn,
                        };
                        // Whoever made it was done a moment ago.
                        return self.take_or_make(name, Some(claim));
                    }
                    Some(false) => waiting.since = Some((Instant::now(), FIRST_PAUSE)),
                }
                continue;
            };
            if self.ask(|store| store.read(&place)).is_none() {
                return self.take_or_make(name, None);
            }
            // By this machine's clock, from when it saw the claim first: clocks of machines
            // differ, so a time written into the claim would tell nothing.
            let left = self.patience.saturating_sub(since.elapsed());
            if left.is_zero() {
                *waiting = Waiting {
                    turn: waiting.turn.saturating_add(1),
                    since: None,
                };
                continue;
            }
            waiting.since = Some((since, pause.saturating_mul(2).min(LONGEST_PAUSE)));
            return Turn::Wait(pause.min(left));
        }
    }

    fn take_or_make<'a>(&'a self, name: Digest, claim: Option<Claim<'a>>) -> Turn<'a> {
        self.fetch(name).map_or_else(|| Turn::Make(claim), Turn::Take)
    }
}

/// How far somebody is who waits for what another one makes.
#[derive(Debug, Default)]
struct Waiting {
    /// How many claims were given up.
    turn: u32,
    /// Since when the claim of this turn is waited for, and how long the next pause is.
    since: Option<(Instant, Duration)>,
}

/// What is to be done next.
#[derive(Debug)]
enum Turn<'a> {
    /// The entry is there.
    Take(Entry),
    /// It is to be made.
    Make(Option<Claim<'a>>),
    /// Somebody else makes it: it is to be asked again after a while.
    Wait(Duration),
}

/// Where the claims of an entry are: the first one, the one after that was abandoned, and so on.
fn place(name: Digest, turn: u32) -> String {
    match turn {
        0 => format!("{name}.claim"),
        _ => format!("{name}.claim-{turn}"),
    }
}

/// That this process makes an entry, until it has or gives up.
#[derive(Debug)]
pub(crate) struct Claim<'a> {
    shared: &'a Shared,
    name: Digest,
    turn: u32,
}

impl Drop for Claim<'_> {
    fn drop(&mut self) {
        // With those before it, of machines that were given up.
        for turn in 0..=self.turn {
            self.shared.ask(|store| store.remove(&place(self.name, turn)));
        }
    }
}

/// The store that the environment names, if this was built to use one and its keys can be read.
pub(crate) fn from_environment() -> Option<Shared> {
    let named = |name| naming_variable(name).filter(|value| !value.is_empty());
    let address = named(REMOTE_VARIABLE)?;
    let opened = open(&address.to_string_lossy()).map_err(|error| error.to_string());
    let opened = opened.and_then(|store| {
        let trust = named(TRUST_VARIABLE).map(|path| Trust::read(path.as_ref()));
        let signer = named(SIGN_VARIABLE).map(|path| Signer::read(path.as_ref()));
        let keys = (trust.transpose(), signer.transpose());
        match keys {
            (Ok(trust), Ok(signer)) => Ok(Shared::new(store, trust, signer)),
            // Keys that cannot be read must not come to mean that everybody is trusted.
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
