//! The functions about devices that programs call: `omp_…`.

use std::ffi::{c_int, c_void};

use offkit_pi::host::UsmKind;

use super::device::Device;
use super::policy::{device, host_number, must, other};
use super::present::{Count, Found, Place};
use crate::c::Result;
use crate::error::{Code, Failure};

/// What the functions return that say whether something went well.
const WELL: c_int = 0;
const NOT_WELL: c_int = !0;

/// Asks another runtime, if this call is meant for that.
macro_rules! passed {
    ($name:literal, ($($type:ty),*) -> $answer:ty, ($($argument:expr),*)) => {
        if let Some(other) = other($name) {
            type Same = unsafe extern "C" fn($($type),*) -> $answer;
            // SAFETY: a function of this name takes these arguments.
            return unsafe { std::mem::transmute::<*mut c_void, Same>(other)($($argument),*) };
        }
    };
}

#[unsafe(no_mangle)]
extern "C" fn omp_get_num_devices() -> c_int {
    passed!(c"omp_get_num_devices", () -> c_int, ());
    host_number()
}

#[unsafe(no_mangle)]
extern "C" fn omp_get_initial_device() -> c_int {
    passed!(c"omp_get_initial_device", () -> c_int, ());
    host_number()
}

/// On the host.
#[unsafe(no_mangle)]
extern "C" fn omp_get_device_num() -> c_int {
    passed!(c"omp_get_device_num", () -> c_int, ());
    host_number()
}

fn allocate(size: usize, number: c_int, kind: UsmKind) -> *mut c_void {
    if size == 0 {
        return std::ptr::null_mut();
    }
    let allocated = match known(number) {
        // SAFETY: asked for so many bytes.
        Ok(None) => return unsafe { libc::malloc(size) },
        Ok(Some(device)) => device.allocate(&mut device.state(), kind, size, 0),
        Err(unknown) => Err(unknown),
    };
    // Programs are told by a null pointer, and go on.
    allocated
        .ok()
        .map_or(std::ptr::null_mut(), std::ptr::with_exposed_provenance_mut)
}

fn is_host(number: c_int) -> bool {
    /// `omp_initial_device`.
    const INITIAL: c_int = -1;
    number == host_number() || number == INITIAL
}

/// As [`device`], but the number that means the default device elsewhere means the host.
fn named(number: c_int) -> Option<&'static Device> {
    match is_host(number) {
        true => None,
        false => device(number.into()),
    }
}

/// The same; an error if the number is neither a device's nor the host's.
fn known(number: c_int) -> Result<Option<&'static Device>> {
    match named(number) {
        None if !is_host(number) => {
            let host = host_number();
            let message = format!("there is no device {number}: the host is {host}, devices are before that");
            Err(Failure::new(Code::NoDevice, message))
        }
        found => Ok(found),
    }
}

macro_rules! allocates {
    ($($name:ident $symbol:literal $kind:ident)*) => {$(
        #[unsafe(no_mangle)]
        extern "C" fn $name(size: usize, number: c_int) -> *mut c_void {
            passed!($symbol, (usize, c_int) -> *mut c_void, (size, number));
            allocate(size, number, UsmKind::$kind)
        }
    )*};
}

allocates! {
    omp_target_alloc c"omp_target_alloc" Device
    llvm_omp_target_alloc_device c"llvm_omp_target_alloc_device" Device
    llvm_omp_target_alloc_host c"llvm_omp_target_alloc_host" Host
    llvm_omp_target_alloc_shared c"llvm_omp_target_alloc_shared" Shared
}

/// # Safety
///
/// Memory of the host must come from one of the functions above.
unsafe fn free(memory: *mut c_void, number: c_int) {
    must("omp_target_free", || {
        match known(number)? {
            Some(device) => {
                if !device.state().free_at(memory.addr()) {
                    tracing::warn!(?memory, "OpenMP cannot free what does not begin there");
                }
            }
            // SAFETY: by the caller's promise.
            None => unsafe { libc::free(memory) },
        }
        Ok(())
    });
}

macro_rules! frees {
    ($($name:ident $symbol:literal)*) => {$(
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name(memory: *mut c_void, number: c_int) {
            passed!($symbol, (*mut c_void, c_int) -> (), (memory, number));
            if !memory.is_null() {
                // SAFETY: the program says where it has it from.
                unsafe { free(memory, number) }
            }
        }
    )*};
}

frees! {
    omp_target_free c"omp_target_free"
    llvm_omp_target_free_device c"llvm_omp_target_free_device"
    llvm_omp_target_free_host c"llvm_omp_target_free_host"
    llvm_omp_target_free_shared c"llvm_omp_target_free_shared"
}

#[unsafe(no_mangle)]
extern "C" fn omp_target_is_present(memory: *const c_void, number: c_int) -> c_int {
    passed!(c"omp_target_is_present", (*const c_void, c_int) -> c_int, (memory, number));
    if memory.is_null() || is_host(number) {
        return c_int::from(!memory.is_null());
    }
    let Some(device) = named(number) else { return 0 };
    matches!(device.state().present.find(memory.addr(), 0), Found::All(_)).into()
}

/// Whether a region may use the host's memory: never here.
#[unsafe(no_mangle)]
extern "C" fn omp_target_is_accessible(memory: *const c_void, size: usize, number: c_int) -> c_int {
    passed!(
        c"omp_target_is_accessible",
        (*const c_void, usize, c_int) -> c_int,
        (memory, size, number)
    );
    (!memory.is_null() && is_host(number)).into()
}

#[unsafe(no_mangle)]
extern "C" fn omp_get_mapped_ptr(memory: *const c_void, number: c_int) -> *mut c_void {
    passed!(
        c"omp_get_mapped_ptr",
        (*const c_void, c_int) -> *mut c_void,
        (memory, number)
    );
    if is_host(number) {
        return memory.cast_mut();
    }
    // Null where it is not known, too: nobody can be told more.
    let found = named(number).map(|device| device.state().address_of(memory.addr(), 0));
    let address = found.and_then(|found| found.ok().flatten());
    std::ptr::with_exposed_provenance_mut(address.unwrap_or_default())
}

#[unsafe(no_mangle)]
extern "C" fn omp_target_associate_ptr(
    memory: *const c_void,
    on_device: *const c_void,
    size: usize,
    offset: usize,
    number: c_int,
) -> c_int {
    passed!(
        c"omp_target_associate_ptr",
        (*const c_void, *const c_void, usize, usize, c_int) -> c_int,
        (memory, on_device, size, offset, number)
    );
    let Some(device) = named(number).filter(|_| size > 0 && !memory.is_null() && !on_device.is_null()) else {
        return NOT_WELL;
    };
    let place = Place::Address(on_device.addr().wrapping_add(offset));
    let begin = memory.expose_provenance();
    if begin.checked_add(size).is_none() {
        return NOT_WELL;
    }
    let mut state = device.state();
    match state.present.find(begin, size) {
        // To say the same once more is no error, to say another thing of the same memory is.
        Found::All(known) if known.begin == begin && known.place == place => return WELL,
        Found::Nothing => {}
        _ => return NOT_WELL,
    }
    state.present.add(begin, size, place, Count::Forever);
    WELL
}

#[unsafe(no_mangle)]
extern "C" fn omp_target_disassociate_ptr(memory: *const c_void, number: c_int) -> c_int {
    passed!(
        c"omp_target_disassociate_ptr",
        (*const c_void, c_int) -> c_int,
        (memory, number)
    );
    let Some(device) = named(number) else {
        return NOT_WELL;
    };
    let mut state = device.state();
    // Variables stay for ever as well, but are at no address; what a construct maps is counted.
    let is_associated = match state.present.find(memory.addr(), 0) {
        Found::All(known) => {
            known.begin == memory.addr()
                && known.count == Count::Forever
                && matches!(known.place, Place::Address(_))
        }
        _ => false,
    };
    if is_associated {
        state.present.remove(memory.addr());
        return WELL;
    }
    NOT_WELL
}

/// Copies between host and devices, or on one of them.
///
/// # Safety
///
/// Both must have so many bytes there.
unsafe fn copy(
    to: *mut c_void,
    from: *const c_void,
    size: usize,
    to_number: c_int,
    from_number: c_int,
) -> Result<()> {
    let (to_device, from_device) = (known(to_number)?, known(from_number)?);
    // From device to device, also on one, it goes by way of the host.
    let mut between = Vec::new();
    let source: &[u8] = match from_device {
        // Before slices are made of the pointers, which may be null for no bytes.
        _ if size == 0 => return Ok(()),
        // SAFETY: by the caller's promise.
        None => unsafe { std::slice::from_raw_parts(from.cast(), size) },
        Some(device) => {
            between.resize(size, 0);
            device.read(&device.state(), &Place::Address(from.addr()), 0, &mut between)?;
            &between
        }
    };
    match to_device {
        Some(device) => device.write(&device.state(), &Place::Address(to.addr()), 0, source),
        None => {
            // SAFETY: by the caller's promise; both may be the same memory.
            unsafe { std::ptr::copy(source.as_ptr(), to.cast(), size) };
            Ok(())
        }
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn omp_target_memcpy(
    to: *mut c_void,
    from: *const c_void,
    size: usize,
    to_offset: usize,
    from_offset: usize,
    to_number: c_int,
    from_number: c_int,
) -> c_int {
    passed!(
        c"omp_target_memcpy",
        (*mut c_void, *const c_void, usize, usize, usize, c_int, c_int) -> c_int,
        (to, from, size, to_offset, from_offset, to_number, from_number)
    );
    let (to, from) = (
        to.wrapping_byte_add(to_offset),
        from.wrapping_byte_add(from_offset),
    );
    // SAFETY: the program says what it has there.
    well(unsafe { copy(to, from, size, to_number, from_number) })
}

/// Copies a part of an array.
#[unsafe(no_mangle)]
unsafe extern "C" fn omp_target_memcpy_rect(
    to: *mut c_void,
    from: *const c_void,
    element: usize,
    dimensions: c_int,
    volume: *const usize,
    to_offsets: *const usize,
    from_offsets: *const usize,
    to_dimensions: *const usize,
    from_dimensions: *const usize,
    to_number: c_int,
    from_number: c_int,
) -> c_int {
    passed!(
        c"omp_target_memcpy_rect",
        (
            *mut c_void, *const c_void, usize, c_int, *const usize, *const usize, *const usize, *const usize,
            *const usize, c_int, c_int
        ) -> c_int,
        (
            to, from, element, dimensions, volume, to_offsets, from_offsets, to_dimensions, from_dimensions,
            to_number, from_number
        )
    );
    if to.is_null() && from.is_null() {
        // So a program asks how many dimensions it may have.
        return c_int::MAX;
    }
    let lists = [volume, to_offsets, from_offsets, to_dimensions, from_dimensions];
    let count = usize::try_from(dimensions).unwrap_or_default();
    if count == 0 || lists.iter().any(|list| list.is_null()) {
        return NOT_WELL;
    }
    // SAFETY: the program says that there are so many.
    let [volume, to_offsets, from_offsets, to_dimensions, from_dimensions] =
        lists.map(|list| unsafe { std::slice::from_raw_parts(list, count) });
    let row = volume.last().copied().unwrap_or_default();
    // What the last dimension names lies together, and is copied at once.
    let mut outer = volume.iter().take(count - 1);
    let rows = outer.try_fold(1_usize, |rows, length| rows.checked_mul(*length));
    let (Some(rows), Some(size)) = (rows, row.checked_mul(element)) else {
        return NOT_WELL;
    };
    // Where a row begins, in bytes; none if no memory has so many.
    let place = |number: usize, offsets: &[usize], dimensions: &[usize]| -> Option<usize> {
        let mut rest = number;
        let (mut at, mut stride) = (0_usize, 1_usize);
        for dimension in (0..count).rev() {
            let within = match dimension + 1 == count {
                true => 0,
                false => {
                    stride = stride.checked_mul(dimensions[dimension + 1])?;
                    let within = rest % volume[dimension].max(1);
                    rest /= volume[dimension].max(1);
                    within
                }
            };
            let elements = offsets[dimension].checked_add(within)?.checked_mul(stride)?;
            at = at.checked_add(elements)?;
        }
        at.checked_mul(element)
    };
    for number in 0..rows {
        let places = (
            place(number, to_offsets, to_dimensions),
            place(number, from_offsets, from_dimensions),
        );
        let (Some(to_place), Some(from_place)) = places else {
            return NOT_WELL;
        };
        let (to, from) = (to.wrapping_byte_add(to_place), from.wrapping_byte_add(from_place));
        // SAFETY: the program says what it has there.
        if unsafe { copy(to, from, size, to_number, from_number) }.is_err() {
            return NOT_WELL;
        }
    }
    WELL
}

#[unsafe(no_mangle)]
unsafe extern "C" fn omp_target_memset(
    memory: *mut c_void,
    value: c_int,
    size: usize,
    number: c_int,
) -> *mut c_void {
    passed!(
        c"omp_target_memset",
        (*mut c_void, c_int, usize, c_int) -> *mut c_void,
        (memory, value, size, number)
    );
    must("omp_target_memset", || match known(number)? {
        Some(device) => {
            let byte = value.to_le_bytes()[0];
            device.write(
                &device.state(),
                &Place::Address(memory.addr()),
                0,
                &vec![byte; size],
            )
        }
        None => {
            // SAFETY: the program says what it has there.
            unsafe { libc::memset(memory, value, size) };
            Ok(())
        }
    });
    memory
}

fn well(done: Result<()>) -> c_int {
    match done {
        Ok(()) => WELL,
        Err(failure) => {
            tracing::warn!(problem = failure.message(), "OpenMP cannot copy");
            NOT_WELL
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_of_arrays_that_no_memory_has_room_for_are_not_copied() {
        let mut memory = [0_u8; 8];
        let pointer = memory.as_mut_ptr().cast::<c_void>();
        let copy = |element, volume: [usize; 3], offsets: [usize; 3], dimensions: [usize; 3]| {
            let lists = [volume, offsets, offsets, dimensions, dimensions];
            let [volume, to_offsets, from_offsets, to_dimensions, from_dimensions] =
                lists.each_ref().map(|list| list.as_ptr());
            // SAFETY: the lists have three numbers, and nothing is copied.
            unsafe {
                omp_target_memcpy_rect(
                    pointer,
                    pointer,
                    element,
                    3,
                    volume,
                    to_offsets,
                    from_offsets,
                    to_dimensions,
                    from_dimensions,
                    -1,
                    -1,
                )
            }
        };
        const HALF: usize = 1 << (usize::BITS - 1);
        for (element, volume, offsets, dimensions) in [
            // Rows, bytes of a row, the start of the first row in elements and in bytes.
            (1, [HALF, 2, 1], [0; 3], [2; 3]),
            (2, [1, 1, HALF], [0; 3], [2; 3]),
            (1, [1, 1, 1], [1, 0, 0], [2, HALF, 2]),
            (1, [1, 1, 1], [HALF, 0, 0], [2; 3]),
            (2, [1, 1, 1], [0, 0, HALF], [2; 3]),
        ] {
            let outcome = copy(element, volume, offsets, dimensions);
            assert_eq!(outcome, NOT_WELL, "{volume:?} at {offsets:?} of {dimensions:?}");
        }
    }
}
