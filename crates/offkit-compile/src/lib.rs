//! What compiling a kernel takes before code is generated: which work-items share a vector, what they agree on, and
//! in which order blocks are executed, so that a back end has nothing left to decide.
//!
//! ```text
//!  ir::Module ──prepare──▶ one function ──plan──▶ shapes, regions, masks ──▶ a back end
//! ```

#![forbid(unsafe_code)]

mod variant;

pub use variant::{Refusal, Variant};
