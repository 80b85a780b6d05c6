//! Compiled kernels that check their accesses: the conformance tests of `../opencl` that have most to do with memory, and what
//! is said of accesses out of bounds.

#[path = "../opencl/atomics.rs"]
mod atomics;
#[path = "../opencl/cancel.rs"]
mod cancel;
#[path = "../opencl/case.rs"]
mod case;
#[path = "../opencl/clang.rs"]
mod clang;
#[path = "../opencl/device.rs"]
mod device;
#[path = "../opencl/element.rs"]
#[expect(dead_code, reason = "other tests need more of it")]
mod element;
mod faults;
#[path = "../opencl/groups.rs"]
mod groups;
#[path = "../opencl/language.rs"]
mod language;
#[path = "../opencl/memory.rs"]
mod memory;
#[path = "../opencl/printing.rs"]
mod printing;
#[path = "../opencl/rounding.rs"]
#[expect(dead_code, reason = "other tests need more of it")]
mod rounding;
#[path = "../opencl/samples.rs"]
mod samples;
#[path = "../opencl/sub_groups.rs"]
mod sub_groups;
#[path = "../opencl/work_items.rs"]
mod work_items;
