//! What is remembered of a plugin or driver that hung: `hang SECONDS AT STAGE`, where it was waited for SECONDS, and AT is
//! in seconds since 1970.

use std::env;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use super::{Harm, MEMORY_OF_HANGS, PATIENCE, PATIENCE_VARIABLE};

const WORD: &str = "hang";

fn now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| since.as_secs())
}

/// What is kept of one that hangs now.
pub(super) fn record(stage: &str, after: Duration) -> String {
    format!("{WORD} {} {} {stage}", after.as_secs(), now())
}

/// The hang that was kept, if it need not be tried again.
pub(super) fn recent(kept: &[u8]) -> Option<Harm> {
    // Who sets how long to wait wants it tried.
    match env::var_os(PATIENCE_VARIABLE) {
        Some(_) => None,
        None => at(kept, now()),
    }
}

fn at(kept: &[u8], now: u64) -> Option<Harm> {
    // The stage comes last and takes the rest, for it is several words.
    let mut words = std::str::from_utf8(kept).ok()?.splitn(4, ' ');
    let (WORD, after, when, stage) = (words.next()?, words.next()?, words.next()?, words.next()?) else {
        return None;
    };
    let after = Duration::from_secs(after.parse().ok()?);
    // One from the future is of a clock that was set back.
    let ago = Duration::from_secs(now.checked_sub(when.parse().ok()?)?);
    // One that was not waited for as long may be slow and no more.
    (ago < MEMORY_OF_HANGS && after >= PATIENCE).then_some(Harm::Hang {
        stage: stage.to_owned(),
        after,
        ago: Some(ago),
    })
}

/// How long it was waited for.
pub(super) fn seconds(after: &Duration) -> String {
    match after.as_secs() {
        1 => "1 second".to_owned(),
        seconds => format!("{seconds} seconds"),
    }
}

/// How a message ends about one that was not tried this time.
pub(super) fn ago(ago: Option<&Duration>) -> String {
    let Some(ago) = ago else {
        return String::new();
    };
    let when = match ago.as_secs() / 60 {
        0 => "less than a minute".to_owned(),
        1 => "a minute".to_owned(),
        minutes => format!("{minutes} minutes"),
    };
    let whole = MEMORY_OF_HANGS.as_secs() / 60;
    format!(" ({when} ago; it is tried again after {whole} minutes, or with {PATIENCE_VARIABLE}=30)")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hang_counts_for_an_hour() {
        let kept = b"hang 30 5000 it is loaded";
        let hang = at(kept, 5130).expect("it is recent");
        assert_eq!(
            hang.to_string(),
            "it has not come back after 30 seconds, while it is loaded (2 minutes ago; it is tried again after 60 minutes, \
             or with OFFKIT_PROBE_SECONDS=30)"
        );
        let seconds = MEMORY_OF_HANGS.as_secs();
        assert!(at(kept, 5000 + seconds - 1).is_some());
        assert_eq!(at(kept, 5000 + seconds), None);
        assert_eq!(at(kept, 4999), None);
        // Somebody was not that patient.
        assert_eq!(at(b"hang 1 5000 it is loaded", 5130), None);
    }

    #[test]
    fn what_is_no_record_counts_for_nothing() {
        for kept in [
            "",
            "apart",
            "hang",
            "hang 30 5000",
            "hang x 5000 it is loaded",
            "hung 30 5000 it",
        ] {
            assert_eq!(at(kept.as_bytes(), 5001), None, "{kept}");
        }
        let kept = record("it lists its devices", PATIENCE);
        assert!(at(kept.as_bytes(), now()).is_some(), "{kept}");
    }
}
