//! What is known of a kernel, and how a launch of it may be limited.

use std::io::{self, Write as _};
use std::num::NonZero;
use std::sync::atomic::AtomicBool;

use offkit_pi::NdRange;
use offkit_spirv::Parameter;

use super::fault::LaunchError;
use super::range::Geometry;

/// Bytes of local memory that a work-group has.
pub const MAX_LOCAL_MEMORY: u64 = 1 << 20;

/// Takes the text of a printf; an error ends the launch.
pub(crate) type Print<'a> = dyn Fn(&str) -> io::Result<()> + Sync + 'a;

/// A kernel of a program.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct KernelInfo {
    /// Its name.
    pub name: String,
    /// What it takes, as the module declares it.
    pub parameters: Vec<Parameter>,
    /// The only work-group size it may be launched with.
    pub required_local_size: Option<[u64; 3]>,
    /// The work-group size that its author recommends.
    pub local_size_hint: Option<[u64; 3]>,
    /// Work-items of a full sub-group.
    pub sub_group_size: u32,
    /// Bytes of local memory in its variables, arguments not counted.
    pub local_memory: u64,
    /// Bytes of private memory in the variables of the kernel and the functions it calls.
    pub private_memory: u64,
}

impl KernelInfo {
    /// A kernel of which nothing more is known.
    pub(crate) fn new(name: &str, parameters: Vec<Parameter>, sub_group_size: u32) -> KernelInfo {
        KernelInfo {
            name: name.to_owned(),
            parameters,
            required_local_size: None,
            local_size_hint: None,
            sub_group_size,
            local_memory: 0,
            private_memory: 0,
        }
    }

    /// How a range of work-items is cut into groups.
    ///
    /// # Errors
    /// [`LaunchError::Range`].
    pub(crate) fn geometry(&self, range: &NdRange) -> Result<Geometry, LaunchError> {
        let geometry = Geometry::new(
            range,
            self.required_local_size,
            self.local_size_hint,
            self.sub_group_size,
        );
        geometry.map_err(|reason| LaunchError::Range {
            kernel: self.name.clone(),
            reason,
        })
    }
}

/// How a launch may be limited and where it prints.
#[derive(Clone, Copy, Default)]
pub struct LaunchOptions<'o> {
    /// Fail after about so many instructions of all work-items together.
    pub max_instructions: Option<u64>,
    /// Fail soon after this becomes true.
    pub cancel: Option<&'o AtomicBool>,
    /// Threads that run its work-groups at most, the caller's included.
    pub max_threads: Option<NonZero<usize>>,
    /// Takes the text of each printf, from any thread. Without it, that goes to standard output.
    pub print: Option<&'o Print<'o>>,
    /// The interpreter does otherwise what the standard leaves open: it takes work-groups, and the work-items of
    /// each, from the last to the first, on one thread, and local and private memory begins with other bytes than
    /// zeros. A kernel that has other results then has work-items that meet in memory without order, or reads what
    /// nobody wrote. Compiled code doesn't heed it.
    pub contrary: bool,
    /// The interpreter makes errors, in one of many ways by this number: results of functions of which the standard allows it
    /// ([`may_err`](offkit_kernel::builtins::may_err)) are up to two units in the last place off, and numbers of
    /// work-items are summed up in any order. Compiled code doesn't heed it.
    pub errors: Option<u64>,
}

impl<'o> LaunchOptions<'o> {
    /// Takes the text of each printf.
    pub(crate) fn printer(&self) -> &'o Print<'o> {
        self.print.unwrap_or(&write_to_stdout)
    }
}

impl std::fmt::Debug for LaunchOptions<'_> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let LaunchOptions {
            max_instructions,
            cancel,
            max_threads,
            print,
            contrary,
            errors,
        } = self;
        formatter
            .debug_struct("LaunchOptions")
            .field("max_instructions", max_instructions)
            .field("cancel", cancel)
            .field("max_threads", max_threads)
            // A closure has nothing to show, which is why this isn't derived.
            .field("print", &print.is_some())
            .field("contrary", contrary)
            .field("errors", errors)
            .finish()
    }
}

/// Where printf goes by default. A reader that has seen enough is no error; a full disk is.
fn write_to_stdout(text: &str) -> io::Result<()> {
    match io::stdout().lock().write_all(text.as_bytes()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        result => result,
    }
}
