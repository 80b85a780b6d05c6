//! What is said of an access that was refused: what it was, and what it was near. The interpreter and compiled code that
//! checks say it alike.

use offkit_kernel::ir;

use super::argument::Arguments;
use crate::memory::{Reason, Snapshot, Violation};

/// Addresses up to here are taken for members of a null pointer.
pub(crate) const NULL_PAGE: u64 = 4096;

/// What a launch can reach, and by what names.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reachable<'l> {
    /// Global memory.
    pub(crate) global: &'l Snapshot,
    pub(crate) arguments: &'l Arguments,
    pub(crate) module: &'l ir::Module,
    /// Of the program-scope variables.
    pub(crate) addresses: &'l [u64],
}

/// What an access should have stayed in.
pub(crate) enum Meant {
    /// One of the allocations in global memory.
    Global,
    /// Something of a length that it is so far from the first byte of.
    Object { name: String, offset: i64, length: u64 },
    /// A private variable of a function that has returned.
    Gone,
    /// A built-in variable.
    BuiltIn,
}

impl Reachable<'_> {
    /// What is said of a refused access.
    pub(crate) fn describe(&self, violation: Violation, meant: Meant) -> String {
        let Violation {
            kind,
            address,
            size,
            reason,
        } = violation;
        let access = format!("{kind} of {size} bytes at {address:#x}");
        match (reason, meant) {
            (Reason::ReadOnly, _) => format!("{access}: {} is read-only", self.nearest(address)),
            (Reason::Misaligned, _) => format!("{access}: the address is not a multiple of {size}"),
            // Whatever it was meant for: the nearest allocation would only lead people astray.
            (Reason::OutOfBounds, _) if address < NULL_PAGE => format!("{access}: null pointer"),
            (Reason::OutOfBounds, Meant::Global) => {
                format!("{access} is out of bounds: {}", self.distance(address, size))
            }
            (Reason::OutOfBounds, Meant::Object { name, offset, length }) => {
                format!(
                    "{access} is out of bounds: {}",
                    outside(offset, size, length, &name)
                )
            }
            (Reason::OutOfBounds, Meant::Gone) => format!("{access}: the private variable is gone"),
            (Reason::OutOfBounds, Meant::BuiltIn) => {
                format!("{access}: built-in variables cannot be accessed so")
            }
        }
    }

    /// How messages name a variable in local memory.
    pub(crate) fn local_variable(&self, number: usize) -> String {
        match self.module.globals.get(number) {
            Some(global) => format!("local variable `{}`", global.name),
            None => "local memory".to_owned(),
        }
    }

    /// The name of the program-scope variable at an address.
    fn variable_at(&self, address: u64) -> Option<&str> {
        let index = self.addresses.iter().position(|other| *other == address)?;
        self.module.globals.get(index).map(|global| global.name.as_str())
    }

    fn nearest(&self, address: u64) -> String {
        let Some(allocation) = self.global.nearest(address) else {
            return "nothing".to_owned();
        };
        let inside = |pointer: u64| pointer.wrapping_sub(allocation.base) < allocation.size;
        match self.arguments.pointers().find(|(_, pointer)| inside(*pointer)) {
            Some((index, _)) => format!("the {} of argument {index}", allocation.kind),
            None => match self.variable_at(allocation.base) {
                Some(name) => format!("the {} `{name}`", allocation.kind),
                None => format!("a {}", allocation.kind),
            },
        }
    }

    fn distance(&self, address: u64, size: u64) -> String {
        match self.global.nearest(address) {
            Some(allocation) => {
                // Kernels make any addresses: they may be farther apart than `i64` can tell.
                let offset = i128::from(address) - i128::from(allocation.base);
                let offset = i64::try_from(offset).unwrap_or(if offset < 0 { i64::MIN } else { i64::MAX });
                outside(offset, size, allocation.size, &self.nearest(address))
            }
            None => "there are no live allocations".to_owned(),
        }
    }
}

/// How messages name an argument in memory of the group's own.
pub(crate) fn local_argument(index: usize) -> String {
    format!("local argument {index}")
}

/// How messages name variables in private memory.
pub(crate) const PRIVATE_VARIABLE: &str = "a private variable";

/// Where an access lies relative to what it should have been in.
fn outside(offset: i64, size: u64, length: u64, name: &str) -> String {
    let end = i128::from(offset) + i128::from(size);
    if offset < 0 {
        format!(
            "it starts {} bytes before {name} of {length} bytes",
            offset.unsigned_abs()
        )
    } else {
        format!(
            "it ends {} bytes past {name} of {length} bytes",
            end - i128::from(length)
        )
    }
}

/// Where in the source something happened, as far as that is known: a function, a file and a line there.
pub(crate) fn location(function: &str, line: Option<(&str, u32)>) -> String {
    match line {
        Some((file, line)) => format!("in function `{function}` at {file}:{line}"),
        None => format!("in function `{function}`"),
    }
}
