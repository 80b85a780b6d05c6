//! Functions of libmvec, called in the place of the algorithms of [`math`](super::math) where the request names them.

use offkit_compile::math::{Registers, VectorFunction};
use offkit_kernel::builtins::Shape;
use offkit_kernel::ir::{Instruction, Operation};

use super::builder::{Builder, Value};
use super::kernel::Emitter;

impl<'m> Emitter<'_, 'm> {
    /// The words of a function's result; `None` where libmvec doesn't compute it. Scalars go through the same function, so
    /// that a kernel's results don't depend on the width of its vectors.
    pub(super) fn vector_function(
        &mut self,
        instruction: &Instruction,
        operands: &[Vec<Value<'m>>],
        result: Shape,
        mask: Option<Value<'m>>,
    ) -> Option<Vec<Value<'m>>> {
        let Operation::Extended(op) = instruction.operation else {
            return None;
        };
        let (function, symbol) = Registers::ALL
            .into_iter()
            .filter_map(|registers| VectorFunction::of(op, result.scalar, registers))
            .map(|function| (function, function.symbol()))
            .find(|(_, symbol)| self.vector_functions.contains(symbol))?;
        let b = self.b;
        let lanes = function.lanes();
        let vector = b.scalar(result.scalar).vector(Some(lanes));
        let ty = b.function_type(vector, &vec![vector; function.operands()]);
        let address = self.external(&symbol);
        let call = |operands: &[Value<'m>]| {
            let call = b.call(ty, address, operands);
            b.set_pure(call);
            call
        };
        let component = |index: usize| {
            let words = operands.iter().map(|operand| {
                let word = *operand.get(index)?;
                // Of those who take no part the operand may be anything, and one seldom number has
                // the function leave its quick way for all lanes.
                Some(match mask {
                    Some(mask) if mask.ty().width() == word.ty().width() => {
                        b.select(mask, word, b.float(word.ty(), function.usual_operand()))
                    }
                    _ => word,
                })
            });
            Some(in_registers(b, lanes, &words.collect::<Option<Vec<_>>>()?, &call))
        };
        (0..result.lanes as usize).map(component).collect()
    }
}

/// What a function of vectors with so many lanes computes of others, or of scalars.
fn in_registers<'m>(
    b: &Builder<'m>,
    lanes: u32,
    operands: &[Value<'m>],
    call: &impl Fn(&[Value<'m>]) -> Value<'m>,
) -> Value<'m> {
    let width = operands.iter().find_map(|operand| operand.ty().width());
    let Some(width) = width else {
        let operands = operands.iter().map(|operand| b.broadcast(*operand, Some(lanes)));
        return b.extract(call(&operands.collect::<Vec<_>>()), 0);
    };
    if width < lanes {
        // The lanes that are too many compute the same.
        let repeated: Vec<_> = (0..lanes).map(|lane| Some(lane % width)).collect();
        let operands = operands
            .iter()
            .map(|operand| b.shuffle(*operand, *operand, &repeated));
        let all = call(&operands.collect::<Vec<_>>());
        let own: Vec<_> = (0..width).map(Some).collect();
        return b.shuffle(all, all, &own);
    }
    if width == lanes {
        return call(operands);
    }
    let (lows, highs): (Vec<_>, Vec<_>) = operands.iter().map(|operand| b.halves(*operand).into()).unzip();
    b.joined([lows, highs].map(|half| in_registers(b, lanes, &half, call)))
}
