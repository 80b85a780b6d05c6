//! The conformance tests of `../opencl`, on kernels as the compiler prepares them: the interpreter tells whether they still
//! do the same.

#[path = "../opencl/atomics.rs"]
mod atomics;
mod blocks;
#[path = "../opencl/cancel.rs"]
mod cancel;
#[path = "../opencl/case.rs"]
mod case;
#[path = "../opencl/clang.rs"]
mod clang;
#[path = "../opencl/common.rs"]
mod common;
#[path = "../opencl/conversions.rs"]
mod conversions;
#[path = "../opencl/declarations.rs"]
mod declarations;
#[path = "../opencl/device.rs"]
mod device;
#[path = "../opencl/element.rs"]
mod element;
#[path = "../opencl/groups.rs"]
mod groups;
#[path = "../opencl/integers.rs"]
mod integers;
#[path = "../opencl/language.rs"]
mod language;
#[path = "../opencl/limits.rs"]
mod limits;
#[path = "../opencl/mathematics.rs"]
mod mathematics;
#[path = "../opencl/memory.rs"]
mod memory;
#[path = "../opencl/printing.rs"]
mod printing;
mod random;
#[path = "../opencl/relational.rs"]
mod relational;
#[path = "../opencl/rounding.rs"]
mod rounding;
#[path = "../opencl/samples.rs"]
mod samples;
#[path = "../opencl/sub_groups.rs"]
mod sub_groups;
#[path = "../opencl/vectors.rs"]
mod vectors;
#[path = "../opencl/work_items.rs"]
mod work_items;
