//! The only place where an address becomes a pointer.
//!
//! Work-groups run on several threads and may race on global memory. A race is the kernel's mistake,
//! but it must not become undefined behaviour of this process, so that every access here is atomic:
//! relaxed ones for plain loads and stores, of the access's own size where it is aligned and a power
//! of two, else byte by byte. Copies and fills are the C library's; see [`MOVE`].

#![expect(unsafe_code, reason = "addresses become pointers here")]

use core::ffi::{c_int, c_void};
use std::ptr::{with_exposed_provenance, with_exposed_provenance_mut};
use std::sync::atomic::{AtomicU8, AtomicU16, AtomicU32, AtomicU64, Ordering};

macro_rules! at {
    ($atomic:ty, $address:expr) => {
        // SAFETY: the callers of this module's functions promise memory that is valid for the whole
        // access, and they check the alignment of the type before they choose it.
        unsafe { &*with_exposed_provenance::<$atomic>($address as usize) }
    };
}

fn is_aligned(address: u64, size: usize) -> bool {
    address.is_multiple_of(size as u64)
}

/// Reads up to eight bytes, little-endian, zero-extended.
///
/// # Safety
/// `size` bytes at `address` must be inside a live allocation; `size` is at most 8.
#[inline]
pub(super) unsafe fn load(address: u64, size: usize) -> u64 {
    match size {
        1 => at!(AtomicU8, address).load(Ordering::Relaxed).into(),
        2 if is_aligned(address, 2) => at!(AtomicU16, address).load(Ordering::Relaxed).to_le().into(),
        4 if is_aligned(address, 4) => at!(AtomicU32, address).load(Ordering::Relaxed).to_le().into(),
        8 if is_aligned(address, 8) => at!(AtomicU64, address).load(Ordering::Relaxed).to_le(),
        _ => {
            let mut bytes = [0; 8];
            for (offset, byte) in bytes.iter_mut().take(size).enumerate() {
                *byte = at!(AtomicU8, address + offset as u64).load(Ordering::Relaxed);
            }
            u64::from_le_bytes(bytes)
        }
    }
}

/// Writes the low `size` bytes of `value`, little-endian.
///
/// # Safety
/// As [`load`].
#[inline]
pub(super) unsafe fn store(address: u64, size: usize, value: u64) {
    match size {
        1 => at!(AtomicU8, address).store(value as u8, Ordering::Relaxed),
        2 if is_aligned(address, 2) => {
            at!(AtomicU16, address).store((value as u16).to_le(), Ordering::Relaxed);
        }
        4 if is_aligned(address, 4) => {
            at!(AtomicU32, address).store((value as u32).to_le(), Ordering::Relaxed);
        }
        8 if is_aligned(address, 8) => at!(AtomicU64, address).store(value.to_le(), Ordering::Relaxed),
        _ => {
            for (offset, byte) in value.to_le_bytes().into_iter().take(size).enumerate() {
                at!(AtomicU8, address + offset as u64).store(byte, Ordering::Relaxed);
            }
        }
    }
}

type Move = unsafe extern "C" fn(*mut c_void, *const c_void, usize) -> *mut c_void;
type Set = unsafe extern "C" fn(*mut c_void, c_int, usize) -> *mut c_void;

/// The C library's functions, which are as fast as the machine's memory. They are reached by way of a volatile
/// read so that the compiler takes them for code it knows nothing of. Called by name they would be operations of
/// Rust's own, with a rule against races; like this they are machine code that moves bytes, which does no more
/// harm under a race than relaxed atomic accesses to each byte do.
static MOVE: Move = libc::memmove;
static SET: Set = libc::memset;

/// Copies bytes from one address to another; the ranges may overlap.
///
/// # Safety
/// Both ranges must be valid for the whole copy: inside live allocations, or memory of the caller's.
pub(super) unsafe fn copy(target: u64, source: u64, size: usize) {
    let target = with_exposed_provenance_mut(target as usize);
    let source = with_exposed_provenance(source as usize);
    // SAFETY: a static is valid for reads, and the function gets what the caller promises.
    unsafe { (&raw const MOVE).read_volatile()(target, source, size) };
}

/// Sets bytes to a value.
///
/// # Safety
/// The range must be inside a live allocation.
pub(super) unsafe fn set(target: u64, value: u8, size: usize) {
    let target = with_exposed_provenance_mut(target as usize);
    // SAFETY: as for `copy`.
    unsafe { (&raw const SET).read_volatile()(target, value.into(), size) };
}

/// Reads `out.len()` bytes.
///
/// # Safety
/// They must be inside a live allocation.
pub(super) unsafe fn read(address: u64, out: &mut [u8]) {
    let target = out.as_mut_ptr().expose_provenance() as u64;
    // SAFETY: as the caller promises; `out` is the caller's own, and so apart from it.
    unsafe { copy(target, address, out.len()) }
}

/// Writes `data`.
///
/// # Safety
/// As [`read`].
pub(super) unsafe fn write(address: u64, data: &[u8]) {
    let source = data.as_ptr().expose_provenance() as u64;
    // SAFETY: as the caller promises; a slice that is lent for reading is apart from what is written.
    unsafe { copy(address, source, data.len()) }
}

/// Replaces a value by `update(old)` in one indivisible step and returns the old value; where `update`
/// gives nothing the value stays.
///
/// # Safety
/// As [`load`]; moreover `address` must be a multiple of `size`, which is 1, 2, 4 or 8.
pub(super) unsafe fn atomic_update(
    address: u64,
    size: usize,
    update: &mut dyn FnMut(u64) -> Option<u64>,
) -> u64 {
    // The strongest order is right for whatever a kernel asks for.
    const ORDER: Ordering = Ordering::SeqCst;
    macro_rules! update {
        ($atomic:ty, $integer:ty) => {{
            // SAFETY: valid and aligned, as this function's caller promises.
            let cell = unsafe { &*with_exposed_provenance_mut::<$atomic>(address as usize) };
            let change = |old: $integer| update(old.to_le().into()).map(|new| (new as $integer).to_le());
            let old = match cell.fetch_update(ORDER, ORDER, change) {
                Ok(old) | Err(old) => old,
            };
            old.to_le().into()
        }};
    }
    match size {
        1 => update!(AtomicU8, u8),
        2 => update!(AtomicU16, u16),
        4 => update!(AtomicU32, u32),
        _ => update!(AtomicU64, u64),
    }
}
