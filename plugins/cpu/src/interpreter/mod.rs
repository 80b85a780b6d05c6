//! Executes the SSA form: work-groups on all cores, the work-items of a group on one.
//!
//! Work-items that never wait for each other run one after the other in the same state. Otherwise each
//! has its own, and is suspended at a barrier or another operation of the group until those that take
//! part have come; then the operation is done for all of them, and they go on.

mod advance;
mod collective;
mod decode;
mod errors;
mod launch;
mod library;
mod limits;
mod machine;
mod memory_steps;
mod operations;
mod program;
mod report;
mod space;
mod step;
mod worker;

pub use program::Program;
