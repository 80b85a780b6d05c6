//! What a launch is given, how its range is cut into groups, and how it fails: for every kind of kernel.

pub(crate) mod access;
mod argument;
mod fault;
mod info;
pub(crate) mod printf;
mod range;

pub use argument::{Argument, ArgumentError};
pub use fault::{KernelFault, LaunchError};
pub use info::{KernelInfo, LaunchOptions, MAX_LOCAL_MEMORY};
pub use range::{
    MAX_WORK_GROUP_SIZE, PREFERRED_WORK_GROUP_SIZE, SUB_GROUP_SIZES, sub_group_size, suggested_local_size,
};

pub(crate) use argument::{Arguments, Given};
pub(crate) use fault::Fault;
pub(crate) use info::Print;
pub(crate) use range::{Geometry, Group, Place, fair_share, vector_lanes};
