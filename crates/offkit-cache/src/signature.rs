//! Signatures: digests tell that an entry is as it was made, a signature tells by whom.
//!
//! Keys and signatures are OpenSSH's, of Ed25519: `ssh-keygen -t ed25519 -N '' -f key` makes a pair.

use std::fs;
use std::path::Path;

use ssh_key::{Algorithm, HashAlg, PrivateKey, PublicKey, SshSig};

use crate::entry::{BadEntry, Entry};

/// What the signatures are for, so that none made for something else counts.
const NAMESPACE: &str = "offkit-cache";

/// A key cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("`{path}` {reason}")]
pub struct KeyError {
    path: String,
    reason: String,
}

impl KeyError {
    fn new(path: &Path, reason: impl ToString) -> Self {
        Self {
            path: path.display().to_string(),
            reason: reason.to_string(),
        }
    }
}

/// Signs entries.
#[derive(Debug)]
pub struct Signer(PrivateKey);

impl Signer {
    /// Reads a private key.
    ///
    /// # Errors
    ///
    /// The file cannot be read, or has no Ed25519 key without a passphrase.
    pub fn read(path: &Path) -> Result<Self, KeyError> {
        let text =
            fs::read(path).map_err(|error| KeyError::new(path, format_args!("cannot be read: {error}")))?;
        let key = PrivateKey::from_openssh(text)
            .map_err(|error| KeyError::new(path, format_args!("is no private key of OpenSSH: {error}")))?;
        if key.is_encrypted() {
            return Err(KeyError::new(
                path,
                "has a passphrase: expected a key without one",
            ));
        }
        match key.algorithm() {
            Algorithm::Ed25519 => Ok(Self(key)),
            other => Err(KeyError::new(
                path,
                format_args!("is a key of the kind {other}: expected ssh-ed25519"),
            )),
        }
    }

    /// Puts its signature in the place of what was there.
    pub fn sign(&self, entry: &mut Entry) {
        // SHA-512 is what `ssh-keygen -Y sign` takes unless it is told otherwise.
        let signature = self.0.sign(NAMESPACE, HashAlg::Sha512, entry.signed());
        let text = signature.and_then(|signature| signature.to_pem(ssh_key::LineEnding::LF));
        // A key that cannot sign leaves it without a signature, which whoever wants one sees.
        entry.set_signature(text.unwrap_or_default().as_bytes());
    }
}

/// Whose signatures count.
#[derive(Debug)]
pub struct Trust(Vec<PublicKey>);

impl Trust {
    /// Reads public keys, one a line, as `ssh-keygen` writes them to `key.pub`.
    ///
    /// # Errors
    ///
    /// The file cannot be read, or has a line that is no key of Ed25519.
    pub fn read(path: &Path) -> Result<Self, KeyError> {
        let text = fs::read_to_string(path)
            .map_err(|error| KeyError::new(path, format_args!("cannot be read: {error}")))?;
        let lines = text.lines().map(str::trim);
        let lines = lines.filter(|line| !line.is_empty() && !line.starts_with('#'));
        let keys = lines.map(|line| match PublicKey::from_openssh(line) {
            Ok(key) if key.algorithm() == Algorithm::Ed25519 => Ok(key),
            _ => Err(KeyError::new(
                path,
                "has a line that is no public key `ssh-ed25519 ...`",
            )),
        });
        let keys = keys.collect::<Result<Vec<_>, _>>()?;
        match keys.is_empty() {
            true => Err(KeyError::new(
                path,
                "has no public keys: nothing could be trusted",
            )),
            false => Ok(Self(keys)),
        }
    }

    /// Checks that one of the keys has signed the entry.
    ///
    /// # Errors
    ///
    /// [`BadEntry::Signature`].
    pub fn check(&self, entry: &Entry) -> Result<(), BadEntry> {
        let signature = SshSig::from_pem(entry.signature()).map_err(|_| BadEntry::Signature)?;
        let mut keys = self.0.iter();
        match keys.any(|key| key.verify(NAMESPACE, entry.signed(), &signature).is_ok()) {
            true => Ok(()),
            false => Err(BadEntry::Signature),
        }
    }
}
