//! What compiling a kernel takes before code is generated: which work-items share a vector, what they agree on, and
//! in which order blocks are executed, so that a back end has nothing left to decide.
//!
//! ```text
//!  ir::Module ──prepare──▶ one function ──plan──▶ shapes, regions, masks ──▶ a back end
//! ```

#![forbid(unsafe_code)]

mod definitions;
mod graph;
pub mod math;
mod plan;
mod prepare;
mod regions;
mod shapes;
mod variant;

pub use plan::Plan;
pub use prepare::prepare;
pub use regions::{Control, Region, RegionLoop, ends_at_barrier};
pub use shapes::{Shape, Shapes};
pub use variant::{Refusal, Variant};
