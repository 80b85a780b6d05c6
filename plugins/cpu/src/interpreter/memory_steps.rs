//! The steps on memory that are rarer than plain loads and stores of scalars.

use offkit_spirv::grammar::{FPRoundingMode, MemorySemantics, StorageClass};

use super::space::{Space, View};
use super::step::{Atomic, MemoryAccess, Step};
use crate::launch::Fault;
use offkit_kernel::builtins::Scalar;
use offkit_kernel::builtins::convert::{Conversion, convert_lane};
use offkit_kernel::ir::{AtomicOperation, Leaf, MemoryFunction, scalar_size};

/// Bytes that are copied at once.
const CHUNK: u64 = 1 << 16;

/// Executes a step of this file's kind on the registers of a frame.
pub(super) fn execute(step: &Step, r: &mut [u64], view: &mut View<'_>) -> Result<(), Fault> {
    match step {
        Step::LoadComposite {
            to,
            pointer,
            leaves,
            site,
        } => {
            let base = r[*pointer as usize];
            for (leaf, to) in leaves.iter().zip(*to as usize..) {
                let word = view.load(
                    base.wrapping_add(leaf.offset),
                    scalar_size(leaf.scalar) as usize,
                    *site,
                )?;
                r[to] = if leaf.scalar == Scalar::Bool {
                    u64::from(word != 0)
                } else {
                    word
                };
            }
        }
        Step::StoreComposite {
            pointer,
            value,
            leaves,
            site,
        } => {
            let base = r[*pointer as usize];
            for (Leaf { offset, scalar }, word) in leaves.iter().zip(&r[*value as usize..]) {
                view.store(
                    base.wrapping_add(*offset),
                    scalar_size(*scalar) as usize,
                    *word,
                    *site,
                )?;
            }
        }
        Step::Copy {
            destination,
            source,
            size,
        } => {
            copy(
                view,
                r[*destination as usize],
                r[*source as usize],
                r[*size as usize],
            )?;
        }
        Step::Fence => std::sync::atomic::fence(std::sync::atomic::Ordering::SeqCst),
        Step::Atomic(step) => atomic(step, r, view)?,
        Step::GenericCast { to, pointer, class } => {
            let address = r[*pointer as usize];
            let fits = match *class {
                StorageClass::Function => Space::of(address) == Space::Private,
                StorageClass::Workgroup => Space::of(address) == Space::Local,
                _ => Space::of(address) == Space::Global,
            };
            r[*to as usize] = if fits { address } else { 0 };
        }
        Step::PointerSemantics { to, pointer } => {
            r[*to as usize] = match Space::of(r[*pointer as usize]) {
                Space::Global => MemorySemantics::CrossWorkgroupMemory.0.into(),
                Space::Local => MemorySemantics::WorkgroupMemory.0.into(),
                Space::Private | Space::Input => 0,
            };
        }
        Step::Memory(step) => library_access(step, r, view)?,
        _ => return Err(Fault::Unreachable),
    }
    Ok(())
}

/// Copies bytes between ranges that do not overlap.
pub(super) fn copy(view: &mut View<'_>, destination: u64, source: u64, size: u64) -> Result<(), Fault> {
    use crate::memory::AccessKind;
    view.check(AccessKind::Load, source, size)?;
    view.check(AccessKind::Store, destination, size)?;
    let mut bytes = vec![0; size.min(CHUNK) as usize];
    let mut done = 0;
    while done < size {
        let length = (size - done).min(CHUNK) as usize;
        view.read(source.wrapping_add(done), &mut bytes[..length])?;
        view.write(destination.wrapping_add(done), &bytes[..length])?;
        done += length as u64;
    }
    Ok(())
}

fn atomic(step: &Atomic, r: &mut [u64], view: &mut View<'_>) -> Result<(), Fault> {
    let operands = step.operands.map(|slot| r[slot as usize]);
    let mut update = |old: u64| match step.operation {
        AtomicOperation::Load => None,
        AtomicOperation::Store | AtomicOperation::Exchange => Some(operands[0]),
        AtomicOperation::CompareExchange => (old == operands[1]).then_some(operands[0]),
        AtomicOperation::Update(_) => step.function.map(|function| function(old, operands[0])),
        AtomicOperation::TestAndSet => Some(1),
        AtomicOperation::Clear => Some(0),
    };
    let old = view.atomic(
        r[step.pointer as usize],
        step.size as usize,
        step.site,
        &mut update,
    )?;
    match step.operation {
        AtomicOperation::Store | AtomicOperation::Clear => {}
        AtomicOperation::TestAndSet => r[step.to as usize] = u64::from(old != 0),
        _ => r[step.to as usize] = old,
    }
    Ok(())
}

/// The vload and vstore families.
fn library_access(step: &MemoryAccess, r: &mut [u64], view: &mut View<'_>) -> Result<(), Fault> {
    let lanes = u64::from(step.shape.lanes);
    let scalar = step.shape.scalar;
    let (memory, aligned, rounding) = match step.function {
        MemoryFunction::LoadVector | MemoryFunction::StoreVector => (scalar, false, FPRoundingMode::RTE),
        MemoryFunction::LoadHalf { aligned } => (Scalar::F16, aligned, FPRoundingMode::RTE),
        MemoryFunction::StoreHalf { aligned, rounding } => (Scalar::F16, aligned, rounding),
    };
    let stored = matches!(
        step.function,
        MemoryFunction::StoreVector | MemoryFunction::StoreHalf { .. }
    );
    let size = scalar_size(memory);
    // The aligned forms keep three components in the room of four.
    let stride = size * if aligned && lanes == 3 { 4 } else { lanes };
    let offset = ((r[step.offset as usize] << step.unused) as i64 >> step.unused) as u64;
    let mut address = r[step.pointer as usize].wrapping_add(offset.wrapping_mul(stride));
    let convert = |from, into, word| {
        if from == into {
            word
        } else {
            convert_lane(Conversion::Float, from, into, Some(rounding), false, word)
        }
    };
    for slot in (step.value as usize..).take(lanes as usize) {
        if stored {
            view.store(
                address,
                size as usize,
                convert(scalar, memory, r[slot]),
                step.site,
            )?;
        } else {
            r[slot] = convert(memory, scalar, view.load(address, size as usize, step.site)?);
        }
        address = address.wrapping_add(size);
    }
    Ok(())
}
