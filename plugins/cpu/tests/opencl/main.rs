//! Conformance of the CPU device with OpenCL C: programs compiled by clang 22, run, and compared.
//!
//! Most of the language's built-in functions are elementwise, so most tests are tables of
//! [`case::Case`]: the statement to test, operands, and the results to expect, computed here from the
//! definition of the function or taken from tables of correctly rounded values. One kernel is generated
//! for each case and vector width. The sources in `language/` are about the language itself; what to
//! expect of them is found out by compiling the same file for the host. The rest are kernels with
//! handwritten expectations.
//!
//! Every source is compiled at -O0 and -O2, for the SPIR-V version that clang writes by default and for
//! 1.2: a function that the optimiser turns into other instructions is tested both ways.

mod case;
mod clang;
mod device;
mod element;
mod rounding;
mod samples;

mod atomics;
mod cancel;
mod common;
mod conversions;
mod declarations;
mod groups;
mod integers;
mod language;
mod limits;
mod mathematics;
mod memory;
mod printing;
mod relational;
mod sub_groups;
mod vectors;
mod work_items;
