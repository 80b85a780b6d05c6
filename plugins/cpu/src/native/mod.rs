//! Kernels that are machine code: functions that run work-groups.
//!
//! This is what a compiler makes of a kernel. For benchmarks and tests beside it, a program can [register] functions
//! of its own by a name. A program made with the bytes `offkit-native:NAME` in the place
//! of SPIR-V (`piProgramCreate`) has them as its kernels. Nothing that such a function does is checked.
//!
//! ```
//! use offkit_plugin_cpu::native::{NativeKernel, NativeLaunch, register};
//!
//! unsafe extern "C" fn nothing(_: *const NativeLaunch, _first: u64, _end: u64, _local: *mut u8) {}
//!
//! // SAFETY: the function touches nothing.
//! let empty = unsafe { NativeKernel::new("empty", Vec::new(), nothing) };
//! register("example", [empty.bounded()]);
//! ```

#![expect(unsafe_code, reason = "machine code is called")]

pub(crate) mod bounds;
pub(crate) mod printing;
pub(crate) mod vectors;

use std::collections::HashMap;
use std::mem::offset_of;
use std::ptr::null_mut;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use offkit_compile::launch;
use offkit_spirv::Parameter;

use crate::kernel::{Claims, KernelCode, Pace, TakenBy, share_groups};
use crate::launch::access::Reachable;
use crate::launch::{Arguments, Geometry};
use crate::pool::{self, Arena, FloatMode, LOCAL_ALIGNMENT};
use crate::sync::{LazyLock, Mutex, PoisonError};
use crate::{KernelInfo, LaunchError, LaunchOptions, Program, sub_group_size};
use bounds::Bounds;
use printing::Printing;

/// What the bytes begin with that name a table in the place of a module.
pub const MAGIC: &str = "offkit-native:";

/// Runs the work-groups of a launch from a number up to another, not included, one after the other. Groups are
/// numbered with the first dimension running fastest. `local` is the local memory of the group that runs, at a
/// multiple of 128; there may be anything in it, and it is null where the kernel needs none.
///
/// Several threads call it at once, with different groups. It must return.
pub type GroupFunction =
    unsafe extern "C" fn(launch: *const NativeLaunch, first: u64, end: u64, local: *mut u8);

/// A launch as a [`GroupFunction`] sees it.
#[derive(Debug)]
#[repr(C)]
pub struct NativeLaunch {
    /// The arguments one after the other, each from a word of its own: a value as it lies in memory, an address, or
    /// for an argument in local memory its place there, in bytes.
    pub arguments: *const u64,
    /// Becomes other than 0 when the launch is to end. A function that takes long looks at it now and then.
    pub cancel: *const AtomicBool,
    /// Dimensions of the range.
    pub dimensions: u64,
    /// The first global id.
    pub offset: [u64; 3],
    /// Work-items.
    pub global: [u64; 3],
    /// Work-items of a group; those at the end of the range may have fewer.
    pub local: [u64; 3],
    /// Groups.
    pub groups: [u64; 3],
    /// Where the memory begins that the code has asked for beside local memory: so many bytes from `local`, at a multiple
    /// of 128.
    pub scratch: u64,
    /// The addresses of what the code needs from outside.
    pub externals: *const u64,
    /// What some of that has to know of the launch.
    pub(crate) printing: *const Printing<'static>,
    /// Becomes other than 0 when a work-item has failed.
    pub(crate) stop: *const AtomicBool,
    /// The groups that the kernel sees, where it sees others than there are.
    pub(crate) seen: SeenGroups,
}

/// Groups that a kernel sees and that lie in others.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub(crate) struct SeenGroups {
    /// Work-items of a group.
    local: [u64; 3],
    groups: [u64; 3],
    /// What divides by `local`: see [`launch::division`].
    factor: [u64; 3],
    shift: [u64; 3],
}

impl SeenGroups {
    /// Those of a range that was asked for.
    pub(crate) fn of(asked: &Geometry) -> SeenGroups {
        let divisions = asked.local.map(launch::division);
        SeenGroups {
            local: asked.local,
            groups: asked.groups,
            factor: divisions.map(|(factor, _)| factor),
            shift: divisions.map(|(_, shift)| shift),
        }
    }
}

// Compiled code reads it at these places.
const _: () = {
    assert!(offset_of!(NativeLaunch, arguments) as u64 == 8 * launch::ARGUMENTS);
    assert!(offset_of!(NativeLaunch, cancel) as u64 == 8 * launch::CANCEL);
    assert!(offset_of!(NativeLaunch, dimensions) as u64 == 8 * launch::DIMENSIONS);
    assert!(offset_of!(NativeLaunch, offset) as u64 == 8 * launch::OFFSET);
    assert!(offset_of!(NativeLaunch, global) as u64 == 8 * launch::GLOBAL);
    assert!(offset_of!(NativeLaunch, local) as u64 == 8 * launch::LOCAL);
    assert!(offset_of!(NativeLaunch, groups) as u64 == 8 * launch::GROUPS);
    assert!(offset_of!(NativeLaunch, scratch) as u64 == 8 * launch::SCRATCH);
    assert!(offset_of!(NativeLaunch, externals) as u64 == 8 * launch::EXTERNALS);
    assert!(offset_of!(NativeLaunch, stop) as u64 == 8 * launch::STOP);
    let seen = offset_of!(NativeLaunch, seen);
    assert!((seen + offset_of!(SeenGroups, local)) as u64 == 8 * launch::SEEN_LOCAL);
    assert!((seen + offset_of!(SeenGroups, groups)) as u64 == 8 * launch::SEEN_GROUPS);
    assert!((seen + offset_of!(SeenGroups, factor)) as u64 == 8 * launch::SEEN_FACTOR);
    assert!((seen + offset_of!(SeenGroups, shift)) as u64 == 8 * launch::SEEN_SHIFT);
};

/// A kernel that is a function.
#[derive(Debug)]
pub struct NativeKernel {
    info: KernelInfo,
    function: GroupFunction,
    bounded: bool,
    pace: Pace,
}

impl NativeKernel {
    /// A kernel that a function runs.
    ///
    /// # Safety
    /// With arguments for these parameters, the function must do no more than the kernel that it is may do, on any
    /// thread and on several at once. What addresses among the arguments point to is for who launches it.
    pub unsafe fn new(name: &str, parameters: Vec<Parameter>, function: GroupFunction) -> NativeKernel {
        NativeKernel {
            info: KernelInfo::new(name, parameters, sub_group_size()),
            function,
            bounded: false,
            pace: Pace::default(),
        }
    }

    /// The kernel, with so many bytes of local memory for variables, from the start of a group's.
    #[must_use]
    pub fn local_memory(mut self, size: u64) -> NativeKernel {
        self.info.local_memory = size;
        self
    }

    /// The kernel, of which it is known that a work-group takes less than a tenth of a microsecond.
    #[must_use]
    pub fn bounded(mut self) -> NativeKernel {
        self.bounded = true;
        self
    }
}

/// Work-groups of bounded kernels that take a few microseconds.
const MOST_SMALL_GROUPS: u64 = 64;

/// Chunks of work-groups for each thread: enough that none is left with much more than the others.
const CHUNKS: u64 = 8;

impl KernelCode for NativeKernel {
    fn info(&self) -> &KernelInfo {
        &self.info
    }

    fn run(
        &self,
        geometry: &Geometry,
        arguments: &Arguments,
        options: &LaunchOptions<'_>,
    ) -> Result<(), LaunchError> {
        let code = GroupCode {
            kernel: &self.info.name,
            function: self.function,
            scratch: 0,
            externals: &[],
            origin: None,
            pace: &self.pace,
            asked: geometry,
            seen: SeenGroups::default(),
        };
        // SAFETY: who made the kernel vouches for the function.
        unsafe { code.run(geometry, arguments, options, self.is_small(geometry)) }
    }

    fn is_small(&self, geometry: &Geometry) -> bool {
        self.bounded && geometry.group_count() <= MOST_SMALL_GROUPS
    }
}

/// Machine code for a launch.
pub(crate) struct GroupCode<'c> {
    /// The kernel's name.
    pub(crate) kernel: &'c str,
    pub(crate) function: GroupFunction,
    /// Bytes of memory that it needs for a group beside local memory.
    pub(crate) scratch: usize,
    /// The addresses of what it needs from outside.
    pub(crate) externals: &'c [u64],
    /// What it was compiled from.
    pub(crate) origin: Option<Origin<'c>>,
    pub(crate) pace: &'c Pace,
    /// The range in the groups that the caller knows, which errors name.
    pub(crate) asked: &'c Geometry,
    /// Those that the kernel sees, where they lie in others.
    pub(crate) seen: SeenGroups,
}

/// What code was compiled from.
pub(crate) struct Origin<'c> {
    pub(crate) program: &'c Program,
    /// Which of the program's kernels.
    pub(crate) kernel: usize,
    /// Whether the code checks its accesses.
    pub(crate) is_checked: bool,
}

impl GroupCode<'_> {
    /// Runs all work-groups, as [`KernelCode::run`] does; a small launch on this thread alone.
    ///
    /// # Safety
    /// With these arguments and externals, the function must do no more than the kernel that it is may do, on any thread
    /// and on several at once.
    pub(crate) unsafe fn run(
        &self,
        geometry: &Geometry,
        arguments: &Arguments,
        options: &LaunchOptions<'_>,
        is_small: bool,
    ) -> Result<(), LaunchError> {
        let (stop, never) = (AtomicBool::new(false), AtomicBool::new(false));
        // Scratch begins where local memory ends, and only needs the alignment where there is any.
        let scratch = match self.scratch {
            0 => arguments.local_size(),
            _ => arguments.local_size().next_multiple_of(LOCAL_ALIGNMENT),
        };
        let size = scratch.saturating_add(self.scratch);
        let checked = self.origin.as_ref().filter(|origin| origin.is_checked);
        let snapshot = checked.map(|origin| origin.program.memory().snapshot());
        let bounds = checked.zip(snapshot.as_ref()).map(|(origin, global)| {
            let module = origin.program.module();
            let kernel = &module.kernels[origin.kernel];
            Bounds {
                reachable: Reachable {
                    global,
                    arguments,
                    module,
                    addresses: origin.program.addresses(),
                },
                function: &module.functions[kernel.function.0 as usize],
                memory: size as u64,
            }
        });
        // The first work-group that fails is the one that counts, and so all before it are run.
        let taken_by = match bounds {
            Some(_) => TakenBy::Order,
            None => TakenBy::Thread,
        };
        let files = self
            .origin
            .as_ref()
            .map(|origin| &origin.program.module().files[..]);
        let printing = Printing::new(
            options.printer(),
            self.kernel,
            files.unwrap_or_default(),
            [geometry, self.asked],
            &stop,
            bounds,
            options.cancel.map(|_| Instant::now()),
        );
        let launch = NativeLaunch {
            arguments: arguments.words().as_ptr(),
            cancel: options.cancel.unwrap_or(&never),
            dimensions: geometry.dimensions.into(),
            offset: geometry.offset,
            global: geometry.global,
            local: geometry.local,
            groups: geometry.groups,
            scratch: scratch as u64,
            externals: self.externals.as_ptr(),
            printing: (&raw const printing).cast(),
            stop: &raw const stop,
            seen: self.seen,
        };
        let launch = Shared(&launch);
        let cancelled = |number, _| printing.cancelled(number);
        let no_memory = || LaunchError::Memory {
            kernel: self.kernel.to_owned(),
            needed: size as u64,
        };
        // SAFETY: the caller vouches for the function, and it gets what its type says.
        let run = |first, end, local| unsafe { (self.function)(launch.get(), first, end, local) };
        let count = geometry.group_count();
        // With a flag to look at it goes the other way, which looks before each chunk.
        if is_small && options.cancel.is_none() {
            let _mode = FloatMode::standard();
            // Others may be larger, or have more to do.
            let started = (count > MOST_SMALL_GROUPS).then(Instant::now);
            match size {
                0 => run(0, count, null_mut()),
                _ => Arena::with(|arena| {
                    arena
                        .local(size)
                        .map(|local| run(0, count, local))
                        .ok_or_else(no_memory)
                })?,
            }
            if let Some(started) = started {
                self.pace.note(count, started.elapsed());
            }
            return printing.outcome();
        }
        let work = |claims: &mut Claims<'_>| {
            Arena::with(|arena| {
                let Some(local) = arena.local(size) else {
                    return claims.fail(0, Some(no_memory()));
                };
                // Several groups in one call: what the code does once is done for all of them.
                while let Some(groups) = claims.next() {
                    run(groups.start, groups.end, local);
                }
            });
        };
        let chunk = count / (pool::threads() as u64 * CHUNKS);
        let outcome = share_groups(
            count,
            (chunk.max(1), taken_by, options.max_threads),
            self.pace,
            &stop,
            options.cancel,
            &cancelled,
            &work,
        );
        // What a work-item has failed with comes first: `share_groups` knows of missing memory and
        // of launches that are given up, and may have seen no more than that all were to stop.
        printing.outcome().and(outcome)
    }
}

/// The launch, which all threads read.
#[derive(Clone, Copy)]
struct Shared<'l>(&'l NativeLaunch);

// SAFETY: the pointers in it are to words that nobody writes during the launch, to two atomics, and to a `Printing`, which is
// `Sync` itself: `is_sync` below would not compile otherwise.
unsafe impl Sync for Shared<'_> {}

const fn is_sync<T: Sync>() {}
const _: () = is_sync::<Printing<'_>>();

impl Shared<'_> {
    fn get(&self) -> *const NativeLaunch {
        self.0
    }
}

/// Kernels of one name.
pub(crate) type Table = Arc<[Arc<NativeKernel>]>;

static TABLES: LazyLock<Mutex<HashMap<String, Table>>> = LazyLock::new(Mutex::default);

/// Has programs made with the bytes `offkit-native:NAME` consist of these kernels. A later table of the name takes
/// the place of the first; programs that were made keep theirs.
pub fn register(name: &str, kernels: impl IntoIterator<Item = NativeKernel>) {
    let table = kernels.into_iter().map(Arc::new).collect();
    let mut tables = TABLES.lock().unwrap_or_else(PoisonError::into_inner);
    tables.insert(name.to_owned(), table);
}

/// The table that bytes name, if they begin as such do.
pub(crate) fn named(bytes: &[u8]) -> Option<Result<Table, String>> {
    let name = bytes.strip_prefix(MAGIC.as_bytes())?;
    let name = String::from_utf8_lossy(name);
    let tables = TABLES.lock().unwrap_or_else(PoisonError::into_inner);
    let table = tables.get(name.trim_end_matches(['\0', '\n'])).cloned();
    Some(table.ok_or_else(|| format!("this process has registered no native kernels as `{name}`")))
}
