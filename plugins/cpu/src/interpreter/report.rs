//! Messages about faults: who did what, and where.

use super::launch::{Launch, Owner};
use super::machine::Frame;
use super::space::{Segments, Space, segment_of};
use crate::launch::access::{Meant, PRIVATE_VARIABLE, Reachable, local_argument, location};
use crate::launch::{Fault, KernelFault, LaunchError, Place};
use crate::memory::Violation;

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
        location: location_of(launch, frame),
        address,
    })))
}

fn location_of(launch: &Launch<'_>, frame: Option<Frame>) -> String {
    // There is no frame where the kernel itself has no room: then it is at its beginning.
    let (function, step) = frame.map_or((launch.function, 0), |frame| (frame.function, frame.step));
    let function = &launch.code.functions[function as usize];
    let line = function.lines.get(step as usize).copied().flatten();
    let line =
        line.and_then(|line| Some((launch.module.files.get(line.file.0 as usize)?.as_str(), line.line)));
    location(&function.name, line)
}

fn describe(launch: &Launch<'_>, violation: Violation, private: &Segments) -> String {
    let reachable = Reachable {
        global: launch.global,
        arguments: launch.arguments,
        module: launch.module,
        addresses: launch.addresses,
    };
    let (segment, offset) = segment_of(violation.address);
    let object = |name, length: u32| Meant::Object {
        name,
        offset,
        length: length.into(),
    };
    let meant = match Space::of(violation.address) {
        Space::Global => Meant::Global,
        Space::Private => match private.size_of(segment) {
            Some(length) => object(PRIVATE_VARIABLE.to_owned(), length),
            None => Meant::Gone,
        },
        Space::Local => match launch.segments().nth(segment) {
            Some((length, Owner::Variable(index))) => object(reachable.local_variable(index), length),
            Some((length, Owner::Argument(index))) => object(local_argument(index), length),
            None => object("local memory".to_owned(), 0),
        },
        Space::Input => Meant::BuiltIn,
    };
    reachable.describe(violation, meant)
}
