//! Messages about faults: who did what, where, and what was nearest.

use super::launch::{Launch, Owner};
use super::machine::Frame;
use super::space::{Segments, Space, segment_of};
use crate::launch::{Fault, KernelFault, LaunchError, Place};
use crate::memory::{Reason, Violation};

/// Addresses up to here are taken for members of a null pointer.
const NULL_PAGE: u64 = 4096;

/// The error for a fault, or none when another work-item's comes first.
pub(super) fn error(
    launch: &Launch<'_>,
    fault: Fault,
    place: &Place<'_>,
    frame: Option<Frame>,
    private: &Segments,
) -> Option<LaunchError> {
    let kernel = launch.kernel.to_owned();
    let mut address = None;
    let what = match fault {
        Fault::Stopped => return None,
        Fault::Cancelled => return Some(launch.limits.cancelled(launch.kernel, place.group.id)),
        Fault::InstructionLimit(limit) => return Some(LaunchError::InstructionLimit { kernel, limit }),
        Fault::Divergence(what) => {
            return Some(LaunchError::Divergence {
                kernel,
                group: place.group.id,
                what,
            });
        }
        Fault::Access(violation) => {
            address = Some(violation.address);
            describe(launch, violation, private)
        }
        Fault::Unreachable => "code was reached that the compiler declared unreachable".to_owned(),
        Fault::CallDepth(depth) => format!("stack overflow: {depth} calls are open"),
        Fault::PrivateMemory(limit) => {
            format!("stack overflow: private variables need more than {limit} bytes")
        }
        Fault::Undefined(what) => what,
    };
    Some(LaunchError::Kernel(Box::new(KernelFault {
        kernel,
        what,
        global_id: place.global_id(),
        local_id: place.local_id,
        group_id: place.group.id,
        location: location(launch, frame),
        address,
    })))
}

fn location(launch: &Launch<'_>, frame: Option<Frame>) -> String {
    let (function, step) = frame.map_or((launch.function, 0), |frame| (frame.function, frame.step));
    let function = &launch.code.functions[function as usize];
    let line = function.lines.get(step as usize).copied().flatten();
    match line.and_then(|line| Some((launch.module.files.get(line.file.0 as usize)?, line.line))) {
        Some((file, line)) => format!("in function `{}` at {file}:{line}", function.name),
        None => format!("in function `{}`", function.name),
    }
}

fn describe(launch: &Launch<'_>, violation: Violation, private: &Segments) -> String {
    let Violation {
        kind,
        address,
        size,
        reason,
    } = violation;
    let access = format!("{kind} of {size} bytes at {address:#x}");
    match reason {
        Reason::ReadOnly => format!("{access}: {} is read-only", nearest_global(launch, address)),
        Reason::Misaligned => format!("{access}: the address is not a multiple of {size}"),
        Reason::OutOfBounds if address < NULL_PAGE => format!("{access}: null pointer"),
        Reason::OutOfBounds => match Space::of(address) {
            Space::Global => format!(
                "{access} is out of bounds: {}",
                distance_global(launch, address, size)
            ),
            Space::Private => {
                let (segment, offset) = segment_of(address);
                match private.size_of(segment) {
                    Some(length) => {
                        format!(
                            "{access} is out of bounds: {}",
                            outside(offset, size, length.into(), "a private variable")
                        )
                    }
                    None => format!("{access}: the private variable is gone"),
                }
            }
            Space::Local => {
                let (segment, offset) = segment_of(address);
                let found = launch.segments().nth(segment);
                let length = found.map_or(0, |(length, _)| length);
                let name = match found {
                    Some((_, Owner::Variable(index))) => {
                        format!("local variable `{}`", launch.module.globals[index].name)
                    }
                    Some((_, Owner::Argument(index))) => format!("local argument {index}"),
                    None => "local memory".to_owned(),
                };
                format!(
                    "{access} is out of bounds: {}",
                    outside(offset, size, length.into(), &name)
                )
            }
            Space::Input => format!("{access}: built-in variables cannot be accessed so"),
        },
    }
}

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

fn nearest_global(launch: &Launch<'_>, address: u64) -> String {
    let Some(allocation) = launch.global.nearest(address) else {
        return "nothing".to_owned();
    };
    let inside = |pointer: u64| pointer.wrapping_sub(allocation.base) < allocation.size;
    match launch.arguments.pointers().find(|(_, pointer)| inside(*pointer)) {
        Some((index, _)) => format!("the {} of argument {index}", allocation.kind),
        None => match launch.variable_at(allocation.base) {
            Some(name) => format!("the {} `{name}`", allocation.kind),
            None => format!("a {}", allocation.kind),
        },
    }
}

fn distance_global(launch: &Launch<'_>, address: u64, size: u64) -> String {
    match launch.global.nearest(address) {
        Some(allocation) => {
            let offset = i128::from(address) - i128::from(allocation.base);
            let offset = i64::try_from(offset).unwrap_or(if offset < 0 { i64::MIN } else { i64::MAX });
            outside(offset, size, allocation.size, &nearest_global(launch, address))
        }
        None => "there are no live allocations".to_owned(),
    }
}
