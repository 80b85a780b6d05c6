//! The steps of the instructions of OpenCL.std.

use offkit_spirv::grammar::OpenclStd100Op;

use super::operations::Decoder;
use super::step::{MemoryAccess, Pure, Slot, Step, Typed};
use offkit_kernel::ReadError;
use offkit_kernel::builtins::{self, Scalar, Shape};
use offkit_kernel::ir::{MemoryFunction, Operand, TypeId, scalar_size};

impl Decoder<'_> {
    /// An instruction that computes.
    pub(super) fn pure(
        &mut self,
        op: OpenclStd100Op,
        operands: &[Operand],
        result: TypeId,
        to: Slot,
    ) -> Result<Step, ReadError> {
        // A pointer is where the second result goes.
        let is_pointer = |operand: &&Operand| self.module.types.is_pointer(self.kind(**operand));
        let out = operands.last().filter(is_pointer);
        let values = &operands[..operands.len() - usize::from(out.is_some())];
        let operands: Box<[Typed]> = values.iter().map(|operand| self.typed(*operand)).collect();
        let shapes: Vec<Shape> = operands.iter().map(|operand| operand.shape).collect();
        let result = self.shape(result);
        let unsupported = || ReadError::unsupported(format!("OpenCL.std {op:?} on these types"));
        let function =
            builtins::resolve(op, result, &shapes).filter(|_| operands.len() <= Pure::MOST_OPERANDS);
        let function = function.ok_or_else(unsupported)?;
        let second = match op {
            OpenclStd100Op::frexp | OpenclStd100Op::remquo | OpenclStd100Op::lgamma_r => Scalar::I32,
            _ => result.scalar,
        };
        let out = out.map(|pointer| (self.slot(*pointer), scalar_size(second) as u32));
        let site = self.site();
        Ok(Step::Pure(Box::new(Pure {
            function,
            result,
            operands,
            to,
            out,
            site,
        })))
    }

    /// An instruction that loads or stores.
    pub(super) fn memory(
        &mut self,
        function: MemoryFunction,
        operands: &[Operand],
        result: TypeId,
        to: Slot,
    ) -> Step {
        let (value, shape, rest) = match (function, operands) {
            (MemoryFunction::LoadVector | MemoryFunction::LoadHalf { .. }, rest) => {
                (to, self.shape(result), rest)
            }
            (_, [value, rest @ ..]) => (self.slot(*value), self.shape(self.kind(*value)), rest),
            (_, rest) => (
                to,
                Shape {
                    scalar: Scalar::I8,
                    lanes: 0,
                },
                rest,
            ),
        };
        let (offset, pointer) = (rest[0], rest[1]);
        let unused = 64 - self.scalar(offset).bits();
        let (offset, pointer, site) = (self.slot(offset), self.slot(pointer), self.site());
        Step::Memory(Box::new(MemoryAccess {
            function,
            value,
            shape,
            offset,
            unused,
            pointer,
            site,
        }))
    }
}
