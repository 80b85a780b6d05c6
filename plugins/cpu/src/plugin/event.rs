//! Events.

use offkit_pi::ffi::*;
use offkit_pi::plugin::{Error, Event, Result, StatusCallback};

use super::Cpu;
use super::queue::Task;
use crate::graph::{Failure, Node};

/// The progress of a command, or an event of the host's own.
pub(crate) type CpuEvent = Node<Task>;

impl Event<Cpu> for CpuEvent {
    fn status(&self) -> Result<pi_event_status> {
        Ok(Node::status(self))
    }

    fn failure(&self) -> Option<String> {
        Node::failure(self).map(|failure| failure.text.clone())
    }

    fn wait(&self) -> Result<()> {
        Node::wait(self);
        Ok(())
    }

    fn profiling(&self, name: pi_profiling_info) -> Result<u64> {
        let Some([queued, submitted, started, ended]) = self.times() else {
            let message = "the queue does not profile, or the command is not complete";
            return Err(Error::new(PI_PROFILING_INFO_NOT_AVAILABLE, message));
        };
        match name {
            PI_PROFILING_INFO_COMMAND_QUEUED => Ok(queued),
            PI_PROFILING_INFO_COMMAND_SUBMIT => Ok(submitted),
            PI_PROFILING_INFO_COMMAND_START => Ok(started),
            PI_PROFILING_INFO_COMMAND_END => Ok(ended),
            name => Err(Error::unknown_query(name)),
        }
    }

    fn set_status(&self, status: pi_event_status) -> Result<()> {
        // The interface has let through complete and failures alone. A failure set on a command's
        // event is how a host gives the command up.
        let (set, what) = if self.is_of_the_host() {
            let text = || format!("the host failed the event with {}", pi_result(status));
            let failed = (status < 0).then(|| Failure { status, text: text() });
            (self.set(failed.map_or(Ok(()), Err)), "has been set already")
        } else if status < 0 {
            (self.give_up(status), "is of a command that is over")
        } else {
            return Err(Error::new(PI_INVALID_EVENT, "the event is a command's"));
        };
        let error = || Error::new(PI_INVALID_OPERATION, format_args!("the event {what}"));
        if set { Ok(()) } else { Err(error()) }
    }

    fn on_status(&self, status: pi_event_status, callback: StatusCallback) -> Result<()> {
        Node::on_status(self, status, callback);
        Ok(())
    }
}
