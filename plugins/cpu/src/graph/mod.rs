//! What waits for what: commands and events as a graph.
//!
//! A [`Node`] is a command with its event, or an event of the host's own. A command names what it waits for when
//! it is submitted, and whatever it can name is there already: so there are no circles, and nothing here looks
//! for any.
//!
//! ```text
//!              waiters                        waiters
//!   write  ───────────────▶  launch A  ───────────────▶  read        pending: 1 for each arrow that comes in,
//!   (running)        └─────▶  launch B  ────────┘                    and 1 while it is being submitted
//! ```
//!
//! - **Who completes a node tells those that wait for it.** Each node has a list of them ([`waiters`]), which its
//!   completion closes and takes in one step; what comes too late for the list sees that it is closed. So
//!   submission and completion need no lock, and neither has to wait for the other.
//! - **An arrow is kept by the node that waits**, in its own memory: submitting allocates nothing unless there are
//!   more than a few. While it is in another node's list it holds a reference to the node it is in. What is
//!   waited for is held by nobody but the host, its queue, and whoever runs it; an event that goes without ever
//!   having been completed fails what waits for it.
//! - **The last arrow makes a command ready.** Then it goes to the pool ([`Work::schedule`]). A thread that waits for
//!   just this command takes it from the pool's list.
//! - **What is small and need not wait is no node at all.** The thread that submits it takes its [turn](line::Turn) in
//!   the queue and runs it. If somebody wants its event, that is made afterwards, as one that is over.
//! - **Threads and callbacks wait in the same list.** A thread that waits parks; nothing is made for threads that
//!   never do. Callbacks are called last, when everything else that follows from a completion has been done.
//! - **Queues are arrows too** ([`line`]): in an in-order queue from each command to the next. Only an arrow from a
//!   wait list passes a failure on.

#![expect(unsafe_code, reason = "lists that run through the memory of their members")]

mod line;
mod node;
mod ready;
mod waiters;

#[cfg(all(test, loom))]
mod models;
#[cfg(all(test, not(loom)))]
mod tests;

use offkit_pi::plugin::Ref;

pub(crate) use line::{Line, Sort};
pub(crate) use node::{End, Node, QueueId, Work, now};
pub(crate) use ready::Ready;

/// Why a command failed.
#[derive(Debug)]
pub(crate) struct Failure {
    /// The status of its event: negative.
    pub(crate) status: i32,
    /// What happened.
    pub(crate) text: String,
}
