//! The steps of the instructions of OpenCL.std that compute.

use offkit_spirv::grammar::OpenclStd100Op;

use super::errors::disturb;
use super::operations::Decoder;
use super::step::{Slot, Step, Typed};
use offkit_kernel::ReadError;
use offkit_kernel::builtins::{self, Scalar, Shape};
use offkit_kernel::ir::{Operand, TypeId, scalar_size};

/// Operands of a function of OpenCL.std, without a pointer.
const MOST_OPERANDS: usize = 4;

impl Decoder<'_> {
    /// The step of one.
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
        let function = builtins::resolve(op, result, &shapes).filter(|_| operands.len() <= MOST_OPERANDS);
        let function = function.ok_or_else(unsupported)?;
        let second_scalar = match op {
            OpenclStd100Op::frexp | OpenclStd100Op::remquo | OpenclStd100Op::lgamma_r => Scalar::I32,
            _ => result.scalar,
        };
        let out = out.map(|pointer| (self.slot(*pointer), scalar_size(second_scalar) as u32));
        let site = self.site();
        let none: (&[u64], Shape) = (&[], result);
        let lanes = result.lanes as usize;
        let may_err = builtins::may_err(op);
        // Sets the result and gives the second one.
        let evaluate = move |r: &mut [u64], errors: Option<u64>| {
            let mut arguments = [none; MOST_OPERANDS];
            for (argument, Typed { slot, shape }) in arguments.iter_mut().zip(&operands) {
                *argument = (&r[*slot as usize..][..shape.lanes as usize], *shape);
            }
            // OpenCL's longest vectors, and there is no type of a longer one.
            let (mut first, mut second) = ([0; 16], [0; 16]);
            let arguments = &arguments[..operands.len()];
            function(result, arguments, &mut first[..lanes], &mut second[..lanes]);
            if let Some(seed) = errors {
                disturb(seed, op.0, result.scalar, &mut first[..lanes]);
                // Exponents, quotients and signs are integers, which have no last place to err in.
                if result.scalar == second_scalar {
                    disturb(seed, op.0, result.scalar, &mut second[..lanes]);
                }
            }
            r[to as usize..][..lanes].copy_from_slice(&first[..lanes]);
            second
        };
        Ok(match out {
            None if may_err => Step::other(move |r, machine, _| {
                evaluate(r, machine.errors);
                Ok(())
            }),
            None => Step::compute(move |r| _ = evaluate(r, None)),
            Some((pointer, size)) => Step::other(move |r, machine, view| {
                let mut address = r[pointer as usize];
                for word in &evaluate(r, machine.errors.filter(|_| may_err))[..lanes] {
                    view.store(address, size as usize, *word, site)?;
                    address = address.wrapping_add(u64::from(size));
                }
                Ok(())
            }),
        })
    }
}
