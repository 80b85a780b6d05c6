//! The functions that clang's code calls: `__tgt_…`. Those that need not wait do, which OpenMP allows.

use std::ffi::{CStr, c_int, c_void};

use super::abi::{KernelArguments, Lists};
use super::device::{Device, State};
use super::items::{Arguments, Components, Item};
use super::launch::{Call, Ran};
use super::policy::{function_of_other, meant_for_other, must, offload_to, without_code};
use super::programs;
use crate::c::Result;

/// A region ran on a device.
const OFFLOADED: c_int = 0;
/// The host is to run it.
const NOT_OFFLOADED: c_int = !0;

type Pointers = *mut *mut c_void;
type Numbers = *mut i64;

/// What the `__tgt_target_data_…_mapper` functions are given.
type Map =
    unsafe extern "C" fn(*const c_void, i64, i32, Pointers, Pointers, Numbers, Numbers, Pointers, Pointers);

/// What a construct does to a device.
type Step = unsafe fn(&Device, &mut State, &[Item]) -> Result<Vec<(usize, usize)>>;

/// # Safety
///
/// As of [`Device::begin`].
unsafe fn begin(device: &Device, state: &mut State, items: &[Item]) -> Result<Vec<(usize, usize)>> {
    // SAFETY: by the caller's promise.
    unsafe { device.begin(state, items) }
}

/// # Safety
///
/// As of [`Device::end`].
unsafe fn end(device: &Device, state: &mut State, items: &[Item]) -> Result<Vec<(usize, usize)>> {
    // SAFETY: by the caller's promise.
    unsafe { device.end(state, items) }.map(|()| Vec::new())
}

/// # Safety
///
/// As of [`Device::update`].
unsafe fn update(device: &Device, state: &mut State, items: &[Item]) -> Result<Vec<(usize, usize)>> {
    // SAFETY: by the caller's promise.
    unsafe { device.update(state, items) }.map(|()| Vec::new())
}

/// # Safety
///
/// The arguments are what clang makes of a construct that maps.
unsafe fn map(what: &str, device: i64, arguments: Arguments, step: Step) {
    must(what, || {
        let Some(device) = offload_to(device)? else {
            return Ok(());
        };
        // SAFETY: by the caller's promise.
        let items = unsafe { arguments.items() };
        let mut state = device.state();
        // Variables of a program that came meanwhile are there from now on as well.
        device.load_programs(&mut state);
        // SAFETY: the program has what it maps.
        let returned = unsafe { step(device, &mut state, &items) }?;
        for (number, address) in returned {
            // SAFETY: it is the number of an argument.
            unsafe {
                *arguments.lists.bases.add(number) = std::ptr::with_exposed_provenance_mut(address);
            }
        }
        Ok(())
    });
}

macro_rules! maps {
    ($($what:literal $step:ident: $name:ident $nowait:ident $symbol:literal)*) => {$(
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name(
            place: *const c_void,
            device: i64,
            count: i32,
            bases: Pointers,
            begins: Pointers,
            sizes: Numbers,
            flags: Numbers,
            names: Pointers,
            mappers: Pointers,
        ) {
            if let Some(other) = meant_for_other(place, $symbol) {
                // SAFETY: a function of this name takes these arguments.
                return unsafe {
                    let other = std::mem::transmute::<*mut c_void, Map>(other);
                    other(place, device, count, bases, begins, sizes, flags, names, mappers)
                };
            }
            let count = usize::try_from(count).unwrap_or_default();
            let lists = Lists { bases, begins, sizes, flags, names, mappers };
            // SAFETY: clang calls this with what it makes of such a construct.
            unsafe { map($what, device, Arguments { count, lists }, $step) }
        }

        #[unsafe(no_mangle)]
        unsafe extern "C" fn $nowait(
            place: *const c_void,
            device: i64,
            count: i32,
            bases: Pointers,
            begins: Pointers,
            sizes: Numbers,
            flags: Numbers,
            names: Pointers,
            mappers: Pointers,
            _dependence_count: i32,
            _dependences: *mut c_void,
            _other_dependence_count: i32,
            _other_dependences: *mut c_void,
        ) {
            // SAFETY: the task that this is in was started when its dependences were met.
            unsafe { $name(place, device, count, bases, begins, sizes, flags, names, mappers) }
        }
    )*};
}

maps! {
    "map to the device" begin: __tgt_target_data_begin_mapper __tgt_target_data_begin_nowait_mapper
        c"__tgt_target_data_begin_mapper"
    "map from the device" end: __tgt_target_data_end_mapper __tgt_target_data_end_nowait_mapper
        c"__tgt_target_data_end_mapper"
    "update" update: __tgt_target_data_update_mapper __tgt_target_data_update_nowait_mapper
        c"__tgt_target_data_update_mapper"
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __tgt_target_kernel(
    place: *const c_void,
    device: i64,
    teams: i32,
    threads: i32,
    region: *const c_void,
    arguments: *mut KernelArguments,
) -> c_int {
    type Same =
        unsafe extern "C" fn(*const c_void, i64, i32, i32, *const c_void, *mut KernelArguments) -> c_int;
    const NAME: &CStr = c"__tgt_target_kernel";
    // A region's address is in the object that has registered it, wherever the call comes from.
    if let Some(other) = meant_for_other(region, NAME) {
        // SAFETY: a function of this name takes these arguments.
        return unsafe {
            let other = std::mem::transmute::<*mut c_void, Same>(other);
            other(place, device, teams, threads, region, arguments)
        };
    }
    must("region", || {
        let Some(device) = offload_to(device)? else {
            return Ok(NOT_OFFLOADED);
        };
        // A region that nobody has registered, as those of older compilers, is the host's to run.
        // SAFETY: clang passes arguments.
        let (Some(region), Some(arguments)) = (programs::region(region), unsafe { arguments.as_ref() })
        else {
            return Ok(NOT_OFFLOADED);
        };
        let call = Call {
            region: &region,
            teams,
            threads,
            arguments,
        };
        // SAFETY: clang calls this with what it makes of a region.
        match unsafe { device.run(&call) }? {
            Ran::Here => Ok(OFFLOADED),
            Ran::NotHere(why) => without_code(&region.name, &why).map(|()| NOT_OFFLOADED),
        }
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __tgt_target_kernel_nowait(
    place: *const c_void,
    device: i64,
    teams: i32,
    threads: i32,
    region: *const c_void,
    arguments: *mut KernelArguments,
    _dependence_count: i32,
    _dependences: *mut c_void,
    _other_dependence_count: i32,
    _other_dependences: *mut c_void,
) -> c_int {
    // SAFETY: the task that this is in was started when its dependences were met.
    unsafe { __tgt_target_kernel(place, device, teams, threads, region, arguments) }
}

/// How many components a mapper has pushed so far.
#[unsafe(no_mangle)]
unsafe extern "C" fn __tgt_mapper_num_components(components: *mut c_void) -> i64 {
    type Same = unsafe extern "C" fn(*mut c_void) -> i64;
    // SAFETY: mappers pass on what they were given.
    match unsafe { Components::of(components) } {
        Some(components) => i64::try_from(components.len()).unwrap_or(i64::MAX),
        None => function_of_other(c"__tgt_mapper_num_components").map_or(0, |other| {
            // SAFETY: a function of this name takes these arguments.
            unsafe { std::mem::transmute::<*mut c_void, Same>(other)(components) }
        }),
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __tgt_push_mapper_component(
    components: *mut c_void,
    base: *mut c_void,
    begin: *mut c_void,
    size: i64,
    flags: i64,
    name: *mut c_void,
) {
    type Same = unsafe extern "C" fn(*mut c_void, *mut c_void, *mut c_void, i64, i64, *mut c_void);
    // SAFETY: mappers pass on what they were given.
    if let Some(components) = unsafe { Components::of(components) } {
        components.push(base, begin, size, flags);
    } else if let Some(other) = function_of_other(c"__tgt_push_mapper_component") {
        // SAFETY: a function of this name takes these arguments.
        unsafe { std::mem::transmute::<*mut c_void, Same>(other)(components, base, begin, size, flags, name) }
    }
}

/// What is there to be prepared is when it is needed.
#[unsafe(no_mangle)]
extern "C" fn __tgt_init_all_rtls() {}

/// For LLVM's own reports.
#[unsafe(no_mangle)]
extern "C" fn __tgt_set_info_flag(_flags: u32) {}

/// `requires` clauses: nothing here depends on one but memory that host and devices share, of which there is none.
#[unsafe(no_mangle)]
extern "C" fn __tgt_register_requires(_flags: i64) {}

/// Nothing is under way any more: whoever started it has waited.
#[unsafe(no_mangle)]
extern "C" fn __tgt_target_nowait_query(_handle: *mut *mut c_void) {}
