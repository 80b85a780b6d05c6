//! The time that profiling goes by: nanoseconds since the plugin was first asked, on the host's clock.

use offkit_sync::LazyLock;
use std::time::Instant;

use crate::driver::{Error, Event, Stream};

static START: LazyLock<Instant> = LazyLock::new(Instant::now);

/// The time now.
pub(super) fn now() -> u64 {
    u64::try_from(START.elapsed().as_nanos()).unwrap_or(u64::MAX)
}

/// An event of a device of which the host's time is known: others are counted from it.
pub(super) struct Anchor {
    event: Event,
    time: u64,
}

impl Anchor {
    /// Waits for what is in the stream, which is a new one.
    pub(super) fn new(stream: &Stream) -> Result<Anchor, Error> {
        let event = stream.record(true)?;
        event.wait().clone()?;
        // As soon as it is known to have come: the driver does not tell the time of a single event.
        Ok(Anchor { event, time: now() })
    }

    /// When a command started and when it ended, by the events around it. The driver counts in floats of milliseconds, which
    /// lose digits over hours: how long the command took is asked for by itself.
    pub(super) fn times(&self, start: &Event, end: &Event) -> Result<(u64, u64), Error> {
        let nanoseconds = |milliseconds: f32| (f64::from(milliseconds.max(0.0)) * 1e6) as u64;
        let started = self
            .time
            .saturating_add(nanoseconds(start.milliseconds_since(&self.event)?));
        let took = nanoseconds(end.milliseconds_since(start)?);
        Ok((started, started.saturating_add(took)))
    }
}
