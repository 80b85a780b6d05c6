//! What compiled code that checks its accesses tells the CPU device of them: words of eight bytes, in the order of these
//! numbers.
//!
//! A *site* is an access in the code: what it does, the number of its source file from 1 on and the line there, or zeros,
//! what its addresses are computed from, and which pieces it accesses. Behind that comes for each piece its offset and its
//! size in bytes.
//!
//! The *layout* has where variables are: the bytes of private memory of a work-item, the number of variables in local memory,
//! and that of variables of a work-item. Then for each of the first and for each of the second its number in the module (or
//! zero), its offset and its size in bytes.

/// A site's access: it reads.
pub const LOAD: u64 = 0;
/// A site's access: it writes.
pub const STORE: u64 = 1;
/// A site's access: it is indivisible.
pub const ATOMIC: u64 = 2;

/// Addresses are of anything that the launch knows.
pub const ANY: u64 = 0;
/// Addresses are of a variable in local memory.
pub const VARIABLE: u64 = 1;
/// Addresses are of an argument in local memory.
pub const ARGUMENT: u64 = 2;
/// Addresses are of a struct that is passed by value.
pub const STRUCT: u64 = 3;
/// Addresses are of a variable of the work-item.
pub const PRIVATE: u64 = 4;

/// In a site: what it does.
pub const SITE_KIND: usize = 0;
/// In a site: the source file.
pub const SITE_FILE: usize = 1;
/// In a site: the line.
pub const SITE_LINE: usize = 2;
/// In a site: what addresses are computed from.
pub const SITE_OBJECT: usize = 3;
/// In a site: the number of that, of a variable in the module, of an argument among the arguments.
pub const SITE_NUMBER: usize = 4;
/// In a site: where a variable is, in local memory or in the memory of a work-item.
pub const SITE_AT: usize = 5;
/// In a site: the size of that variable, or of a struct.
pub const SITE_LENGTH: usize = 6;
/// In a site: how many pieces follow.
pub const SITE_PIECES: usize = 7;
/// Words of a site before its pieces.
pub const SITE_WORDS: usize = 8;

/// In a place: the address of the group's local memory.
pub const LOCAL: u64 = 0;
/// In a place: the address of variables in local memory.
pub const SHARED: u64 = 1;
/// In a place: the address of the vector's own memory.
pub const OWN: u64 = 2;
/// In a place: the group's number.
pub const GROUP: u64 = 3;
/// In a place: the number in its group of the vector's first work-item.
pub const FIRST: u64 = 4;
/// In a place: the address of the layout.
pub const LAYOUT: u64 = 5;
/// Words of a place.
pub const PLACE_WORDS: u32 = 6;

/// Words of a layout before its variables.
pub const LAYOUT_WORDS: usize = 3;
