//! The end of the standard library's `Arc` as the thread sanitizer can see it.
//!
//! Who gives up an `Arc` lowers its count with release, and the last one has a fence before it drops what is in it. The
//! sanitizer knows no fences, and would report every such end. So what is compiled for it calls this in the place of its
//! own function (`./dev race` has the linker do so): one that also acquires. That the last one has a fence is believed of
//! the standard library. Of other counts that are lowered with release `./dev loom` checks those that its models have.

// They are those of C's `memory_order`, which begins with relaxed as 0 and ends with 5.
/// The sanitizer's numbers of orders.
const RELEASE: i32 = 3;
const ACQUIRE_AND_RELEASE: i32 = 4;

unsafe extern "C" {
    /// The sanitizer's own.
    fn __real___tsan_atomic64_fetch_sub(place: *mut u64, value: u64, order: i32) -> u64;
}

/// # Safety
///
/// As the sanitizer's own: `place` is that of an atomic number.
#[unsafe(no_mangle)]
unsafe extern "C" fn __wrap___tsan_atomic64_fetch_sub(place: *mut u64, value: u64, order: i32) -> u64 {
    let order = match order {
        RELEASE => ACQUIRE_AND_RELEASE,
        other => other,
    };
    // SAFETY: by the caller's promise.
    unsafe { __real___tsan_atomic64_fetch_sub(place, value, order) }
}
