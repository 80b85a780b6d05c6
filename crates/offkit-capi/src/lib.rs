//! The runtime for C and C++: `liboffkit.so`, as `include/offkit.h` declares it.
//!
//! Each function checks what C gave it, calls `offkit-runtime`, and makes an error object of what failed; a panic becomes
//! one, too. The types of parameters are those that C's pointers stand for ([`c`]): an object that C must not free is a
//! reference, one that it gives back is a box, and either may be null. What C promises about them is in the header.
//!
//! [`programs`] is for programs with wrapped device code: the functions that these call as they are loaded and unloaded.
//! [`openmp`] is for their `target` regions.

mod bundle;
mod c;
mod context;
mod device;
mod error;
mod event;
mod kernel;
mod loader;
mod memory;
mod object;
mod openmp;
mod programs;
mod registry;

/// The header promises that threads may share every object.
const _: () = {
    const fn may_be_shared<T: Send + Sync>() {}
    may_be_shared::<bundle::Bundle>();
    may_be_shared::<bundle::Bytes>();
    may_be_shared::<context::Context>();
    may_be_shared::<context::Queue>();
    may_be_shared::<device::Device>();
    may_be_shared::<device::Runtime>();
    may_be_shared::<error::Error>();
    may_be_shared::<event::Event>();
    may_be_shared::<kernel::Kernel>();
    may_be_shared::<memory::Buffer>();
    may_be_shared::<memory::Usm>();
    may_be_shared::<registry::Collection>();
    may_be_shared::<registry::Library>();
    may_be_shared::<registry::Registry>();
};
