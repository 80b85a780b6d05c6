//! Where commands end. The driver's event for it is made when somebody asks, so that a command which nobody asks for costs
//! no call but its own.

use offkit_sync::Arc;
use std::sync::OnceLock;

use crate::driver::{Event, Result, Stream};

/// The end of a command.
///
/// Until its event is recorded the command has to be the last one of its stream: whoever submits another asks for the event
/// before, unless nobody else has the end.
pub(crate) struct End {
    event: OnceLock<Result<Arc<Event>>>,
    /// Where it is recorded; none for one that was recorded from the start.
    stream: Option<Arc<Stream>>,
    /// How the command ended, where that is known without an event.
    known: OnceLock<Result<()>>,
}

impl End {
    pub(super) fn of(event: Arc<Event>) -> End {
        End {
            event: OnceLock::from(Ok(event)),
            stream: None,
            known: OnceLock::new(),
        }
    }

    /// That of the last command of a stream.
    pub(super) fn behind(stream: &Arc<Stream>) -> End {
        End {
            event: OnceLock::new(),
            stream: Some(Arc::clone(stream)),
            known: OnceLock::new(),
        }
    }

    /// The driver's event, recorded now if it was not before.
    pub(super) fn event(&self) -> &Result<Arc<Event>> {
        self.event.get_or_init(|| match &self.stream {
            Some(stream) => stream.record_from_outside().map(Arc::new),
            None => unreachable!("it has an event from the start"),
        })
    }

    /// The driver's event, if it was recorded.
    pub(super) fn recorded(&self) -> Option<Arc<Event>> {
        self.event.get()?.as_ref().ok().cloned()
    }

    /// How the command ended, if it has.
    pub(super) fn outcome(&self) -> Option<&Result<()>> {
        if let Some(known) = self.known.get() {
            return Some(known);
        }
        match self.event() {
            Ok(event) => event.outcome(),
            Err(error) => Some(self.without_event(error)),
        }
    }

    pub(super) fn wait(&self) -> &Result<()> {
        if let Some(known) = self.known.get() {
            return known;
        }
        match self.event() {
            Ok(event) => event.wait(),
            Err(error) => self.without_event(error),
        }
    }

    /// Says that the command is done.
    pub(super) fn complete(&self) {
        // Only what is known first counts: a failure that somebody was told of stays one.
        self.known.get_or_init(|| Ok(()));
    }

    /// Where there is no event the whole stream is waited for: what a command uses is not to be given back before.
    fn without_event(&self, error: &crate::driver::Error) -> &Result<()> {
        self.known.get_or_init(|| match &self.stream {
            Some(stream) => stream.finish(),
            None => Err(error.clone()),
        })
    }
}
