//! The event of a command that is done already.

use super::{Event, Plugin, Result};
use crate::ffi::*;

/// The event of plugins that do each command before they return from submitting it: always complete.
#[derive(Debug, Clone, Copy, Default)]
pub struct Done;

impl<P: Plugin> Event<P> for Done {
    fn status(&self) -> Result<pi_event_status> {
        Ok(PI_EVENT_COMPLETE)
    }

    fn wait(&self) -> Result<()> {
        Ok(())
    }
}
