//! What the device code in files costs, where it runs, and what differs between two builds.
//!
//! An [`Inventory`] has everything about the images of some files except their bytes: where they are, what they are
//! for, how many bytes they take and, on request, their kernels with registers and memory. It collects what a walk
//! through a file hands over, and answers three questions:
//!
//! * [`totals`], [`redundancy`] and [`portable`]: what takes the bytes, what could go at which price, and what devices to
//!   come can run;
//! * [`check`]: which kernels run on which devices, and whether that meets a [`policy`];
//! * [`diff`]: what is new, gone or changed from one inventory to another.
//!
//! ```
//! use std::ops::ControlFlow;
//! use offkit_inventory::{Depth, Inventory, totals::{Key, totals}};
//! use offkit_object::Limits;
//!
//! let ptx = b".version 8.4\n.target sm_80\n.address_size 64\n.visible .entry saxpy(.param .u64 x) { ret; }\n";
//! let mut inventory = Inventory::default();
//! let mut collector = inventory.collect("kernel.ptx", ptx, Depth::Kernels, &());
//! let _ = offkit_object::walk("kernel.ptx", ptx, None, &Limits::default(), &mut |item| {
//!     collector.add(&item);
//!     ControlFlow::Continue(())
//! });
//! collector.finish();
//!
//! let [total] = &totals(&inventory, &[Key::Arch])[..] else { panic!("one architecture") };
//! assert_eq!((total.keys[0].as_str(), total.images, total.kernels), ("sm_80", 1, 1));
//! ```

#![forbid(unsafe_code)]

pub mod check;
mod collect;
pub mod diff;
pub mod family;
pub mod findings;
mod inventory;
mod names;
pub mod policy;
pub mod portable;
pub mod redundancy;
pub mod totals;
mod words;

pub use collect::{Collector, Depth};
pub use inventory::{Inventory, Kernel, Library, Listed, is_of_runtime};
pub use names::{NameId, Names};
pub use words::count;
