//! What compiling a kernel takes before code is generated: which work-items share a vector, what they agree on, and
//! in which order blocks are executed, so that a back end has nothing left to decide.
//!
//! ```text
//!  ir::Module ──prepare──▶ one function ──plan──▶ shapes, regions, masks ──▶ a back end
//! ```
//!
//! There is no LLVM in here, and nothing of a processor but the number of lanes: the worker emits code for CPUs from a
//! plan, and another back end can do the same for GPUs.
//!
//! # Steps
//!
//! [`prepare()`] leaves one function without calls: private variables are values where they can be, cycles have one entry,
//! and what work-groups do together is told as sub-groups, local memory and barriers. The result is a valid module of
//! `offkit-kernel`, which its interpreter can run: the tests compare both.
//!
//! [`Plan::new`] decides for one [`Variant`], the launches of one kind:
//!
//! - [`Shapes`]: of each word of each value, whether it is the same for the work-items of a vector, a fixed stride apart,
//!   or different. A branch on something that differs parts the work-items; what is chosen where they meet again
//!   differs as well, and so does what leaves a loop that they leave in different rounds.
//! - [`Region`]s: what is executed between barriers, for all vectors of a group before the next region begins. Blocks
//!   that several barriers lead to are in several regions.
//! - [`Control`]: in which order a region's blocks are laid out, which of them share a mask, and which are skipped
//!   together.
//!
//! What there is no plan for is a [`Refusal`] with its reason, and nothing is guessed. [`math`] has the functions that
//! processors don't, written once over a trait that plain numbers and vectors of a back end implement.
//!
//! # Example
//!
//! ```
//! use offkit_compile::{Arithmetic, Cut, Plan, Shape, Variant, prepare};
//! use offkit_kernel::ir::{Module, ValueId};
//!
//! let module = Module::from_text(
//!     r#"offkit-kernel 1
//! type #0 void
//! type #1 scalar f32
//! type #2 pointer CrossWorkgroup #1
//! type #3 scalar i64
//! type #4 vector i64 3
//! variable &0 "id" input GlobalInvocationId i64x3 32
//! kernel "twice" @0
//!
//! function @0 "twice" #0
//!   parameter %0 #2
//! block ^0
//!   %1 i64x3 = input &0 ()
//!   %2 i64 = extract 0 (%1)
//!   %3 #2 = address 0 [4] (%0 %2) in_bounds
//!   %4 f32 = load (%3) align 4
//!   %5 f32 = op FMul (%4 f32:2.0)
//!   store (%3 %5) align 4
//!   end return none
//! "#,
//! )?;
//! let variant = Variant {
//!     width: 8,
//!     rows: true,
//!     full: true,
//!     narrow_ids: true,
//!     contract: true,
//!     check_bounds: false,
//!     cut: Cut::AsSeen,
//!     arithmetic: Arithmetic::default(),
//! };
//! let plan = Plan::new(&prepare(&module, 0)?, 0, variant)?;
//!
//! // The argument is the same for all; addresses are four bytes apart, so that one access serves eight work-items.
//! assert_eq!(plan.shapes.word(ValueId(0), 0), Shape::Uniform);
//! assert_eq!(plan.shapes.word(ValueId(3), 0), Shape::Strided(4));
//! assert_eq!(plan.shapes.word(ValueId(4), 0), Shape::Varying);
//! // Without barriers there is one region; nobody parts from the others in it.
//! assert_eq!(plan.regions.len(), 1);
//! assert!(plan.regions[0].is_plain);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#![forbid(unsafe_code)]

mod addresses;
pub mod bounds;
mod counted;
mod definitions;
mod facts;
mod graph;
mod interleave;
pub mod launch;
mod listing;
pub mod math;
mod plan;
mod prepare;
mod regions;
mod rows;
mod shapes;
mod split_block;
mod variant;

pub use definitions::reads;
pub use facts::Facts;
pub use interleave::{Interleaved, MOST_PIECES};
pub use plan::Plan;
pub use prepare::{prepare, prepare_for};
pub use regions::{Control, Region, RegionLoop, ends_at_barrier};
pub use shapes::{Shape, Shapes};
pub use variant::{Arithmetic, Cut, Refusal, Variant};
