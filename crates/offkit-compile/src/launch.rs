//! Where compiled code finds what a launch is: places in `NativeLaunch` of the CPU device, in words of eight bytes.

/// The address of the arguments' words.
pub const ARGUMENTS: u64 = 0;
/// The address of a byte that becomes other than zero when the launch is given up.
pub const CANCEL: u64 = 1;
/// Dimensions of the range.
pub const DIMENSIONS: u64 = 2;
/// The first global id: three words.
pub const OFFSET: u64 = 3;
/// Work-items: three words.
pub const GLOBAL: u64 = 6;
/// Work-items of a group: three words.
pub const LOCAL: u64 = 9;
/// Groups: three words.
pub const GROUPS: u64 = 12;
/// Where scratch memory begins behind local memory, in bytes.
pub const SCRATCH: u64 = 15;
/// The address of the addresses of what the code needs from outside.
pub const EXTERNALS: u64 = 16;
/// The address of a byte that becomes other than zero when a work-item has failed.
pub const STOP: u64 = 18;
