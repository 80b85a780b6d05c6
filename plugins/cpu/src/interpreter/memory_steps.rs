//! The steps on memory.

use offkit_spirv::grammar::{FPRoundingMode, MemorySemantics, StorageClass};

use super::operations::Decoder;
use super::space::{Space, View, sign_extended};
use super::step::{Slot, Step};
use crate::launch::Fault;
use offkit_kernel::builtins::Scalar;
use offkit_kernel::builtins::convert::{Conversion, convert_lane};
use offkit_kernel::ir::arithmetic::resolve_binary;
use offkit_kernel::ir::{
    AtomicOperation, Leaf, MemoryFunction, Operand, Operation, Type, TypeId, scalar_size,
};

/// Bytes that are copied at once.
const CHUNK: u64 = 1 << 16;

impl Decoder<'_> {
    /// The step of an operation that has to do with memory.
    pub(super) fn memory_operation(
        &mut self,
        operation: &Operation,
        operands: &[Operand],
        result: TypeId,
        to: Slot,
    ) -> Step {
        let at = |index: usize| operands.get(index).map_or(0, |operand| self.slot(*operand));
        let (first, second, third) = (at(0), at(1), at(2));
        match operation {
            Operation::Load => self.load(first, result, to),
            Operation::Store => self.store(first, second, self.kind(operands[1])),
            Operation::Copy => Step::other(move |r, _, view| {
                let [target, source, size] = [first, second, third].map(|slot| r[slot as usize]);
                copy(view, target, source, size)
            }),
            // Accesses of kernels are relaxed atomic ones here, which a fence of the host's orders.
            Operation::Fence => {
                Step::compute(|_| std::sync::atomic::fence(std::sync::atomic::Ordering::SeqCst))
            }
            Operation::Atomic { operation, scalar } => {
                self.atomic(*operation, *scalar, to, first, [second, third])
            }
            Operation::GenericCast(class) => {
                let space = match *class {
                    StorageClass::Function => Space::Private,
                    StorageClass::Workgroup => Space::Local,
                    _ => Space::Global,
                };
                // Null where the pointer leads elsewhere: so OpenCL's `to_global` has it.
                Step::compute(move |r| {
                    let address = r[first as usize];
                    r[to as usize] = if Space::of(address) == space { address } else { 0 };
                })
            }
            Operation::PointerSemantics => Step::compute(move |r| {
                r[to as usize] = match Space::of(r[first as usize]) {
                    Space::Global => MemorySemantics::CrossWorkgroupMemory.0.into(),
                    Space::Local => MemorySemantics::WorkgroupMemory.0.into(),
                    Space::Private | Space::Input => 0,
                };
            }),
            Operation::Memory(function) => self.library_access(*function, operands, result, to),
            _ => Step::other(|_, _, _| Err(Fault::Unreachable)),
        }
    }

    fn load(&mut self, pointer: Slot, kind: TypeId, to: Slot) -> Step {
        let site = self.site();
        if let Some(size) = self.size_of_one(kind) {
            return Step::Load {
                to,
                pointer,
                size,
                site,
            };
        }
        let leaves = self.module.types.leaves(kind);
        Step::other(move |r, _, view| {
            let base = r[pointer as usize];
            for (Leaf { offset, scalar }, to) in leaves.iter().zip(to as usize..) {
                let address = base.wrapping_add(*offset);
                let word = view.load(address, scalar_size(*scalar) as usize, site)?;
                // A byte in memory may be anything; operations take truths for 0 and 1.
                r[to] = if *scalar == Scalar::Bool {
                    u64::from(word != 0)
                } else {
                    word
                };
            }
            Ok(())
        })
    }

    fn store(&mut self, pointer: Slot, value: Slot, kind: TypeId) -> Step {
        let site = self.site();
        if let Some(size) = self.size_of_one(kind) {
            return Step::Store {
                pointer,
                value,
                size,
                site,
            };
        }
        let leaves = self.module.types.leaves(kind);
        Step::other(move |r, _, view| {
            let base = r[pointer as usize];
            for (Leaf { offset, scalar }, word) in leaves.iter().zip(&r[value as usize..]) {
                let address = base.wrapping_add(*offset);
                view.store(address, scalar_size(*scalar) as usize, *word, site)?;
            }
            Ok(())
        })
    }

    fn atomic(
        &mut self,
        operation: AtomicOperation,
        scalar: Scalar,
        to: Slot,
        pointer: Slot,
        operands: [Slot; 2],
    ) -> Step {
        let site = self.site();
        // Combines the old value and the operand.
        let function = match operation {
            AtomicOperation::Update(op) => resolve_binary(op, scalar),
            _ => None,
        };
        Step::other(move |r, _, view| {
            let operands = operands.map(|slot| r[slot as usize]);
            let mut update = |old: u64| match operation {
                AtomicOperation::Load => None,
                AtomicOperation::Store | AtomicOperation::Exchange => Some(operands[0]),
                AtomicOperation::CompareExchange => (old == operands[1]).then_some(operands[0]),
                AtomicOperation::Update(_) => function.map(|function| function(old, operands[0])),
                AtomicOperation::TestAndSet => Some(1),
                AtomicOperation::Clear => Some(0),
            };
            let size = scalar_size(scalar) as usize;
            let old = view.atomic(r[pointer as usize], size, site, &mut update)?;
            match operation {
                AtomicOperation::Store | AtomicOperation::Clear => {}
                AtomicOperation::TestAndSet => r[to as usize] = u64::from(old != 0),
                _ => r[to as usize] = old,
            }
            Ok(())
        })
    }

    /// The vload and vstore families.
    fn library_access(
        &mut self,
        function: MemoryFunction,
        operands: &[Operand],
        result: TypeId,
        to: Slot,
    ) -> Step {
        let (aligned, rounding) = match function {
            MemoryFunction::LoadVector | MemoryFunction::StoreVector => (false, FPRoundingMode::RTE),
            MemoryFunction::LoadHalf { aligned } => (aligned, FPRoundingMode::RTE),
            MemoryFunction::StoreHalf { aligned, rounding } => (aligned, rounding),
        };
        let stores = matches!(
            function,
            MemoryFunction::StoreVector | MemoryFunction::StoreHalf { .. }
        );
        // What is stored comes before the offset and the pointer.
        let (value, kind) = match stores {
            true => (self.slot(operands[0]), self.kind(operands[0])),
            false => (to, result),
        };
        let (offset, pointer) = (operands[usize::from(stores)], operands[1 + usize::from(stores)]);
        let unused = 64 - self.scalar(offset).bits();
        let (offset, pointer, site) = (self.slot(offset), self.slot(pointer), self.site());
        let shape = self.shape(kind);
        let memory = match function {
            MemoryFunction::LoadHalf { .. } | MemoryFunction::StoreHalf { .. } => Scalar::F16,
            _ => shape.scalar,
        };
        let size = scalar_size(memory);
        // The aligned forms keep three components in the room of four.
        let room = if aligned && shape.lanes == 3 {
            4
        } else {
            shape.lanes
        };
        let stride = size * u64::from(room);
        let convert = move |from, into, word| {
            if from == into {
                word
            } else {
                convert_lane(Conversion::Float, from, into, Some(rounding), false, word)
            }
        };
        Step::other(move |r, _, view| {
            let offset = sign_extended(r[offset as usize], unused);
            let mut address = r[pointer as usize].wrapping_add(offset.wrapping_mul(stride));
            for word in &mut r[value as usize..][..shape.lanes as usize] {
                if stores {
                    let converted = convert(shape.scalar, memory, *word);
                    view.store(address, size as usize, converted, site)?;
                } else {
                    *word = convert(memory, shape.scalar, view.load(address, size as usize, site)?);
                }
                address = address.wrapping_add(size);
            }
            Ok(())
        })
    }

    /// The size of a type whose values are one word in memory as well.
    fn size_of_one(&self, kind: TypeId) -> Option<u32> {
        match self.module.types.get(kind) {
            Type::Scalar(scalar) if *scalar != Scalar::Bool => Some(scalar_size(*scalar) as u32),
            Type::Pointer { .. } | Type::Event => Some(8),
            _ => None,
        }
    }
}

/// Copies bytes between ranges that do not overlap.
pub(super) fn copy(view: &mut View<'_>, destination: u64, source: u64, size: u64) -> Result<(), Fault> {
    use crate::memory::AccessKind;
    // The whole ranges first: an error names them rather than a chunk, and nothing has been copied yet.
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
