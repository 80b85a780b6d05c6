//! Extensions of 32-bit numbers that compilers write as shifts and masks of 64-bit ones.
//!
//! LLVM makes `(x << 32) >> 30` of an index that is 32 bits wide and scaled by 4. As what it is, the extension of a
//! narrower number, the analysis of shapes can tell that it keeps its stride.

use std::collections::HashMap;

use offkit_kernel::builtins::Scalar;
use offkit_kernel::builtins::convert::Conversion;
use offkit_kernel::ir::{Attributes, Constant, Instruction, Operand, Operation, ValueId};
use offkit_spirv::grammar::Op;

use super::body::Body;

/// Writes them as conversions.
pub(super) fn recognise(body: &mut Body) {
    let (Some(narrow), Some(wide)) = (body.scalar_kind(Scalar::I32), body.scalar_kind(Scalar::I64)) else {
        return;
    };
    // What is shifted left by 32 bits.
    let mut raised: HashMap<ValueId, Operand> = HashMap::new();
    for index in 0..body.function.blocks.len() {
        let instructions = std::mem::take(&mut body.function.blocks[index].instructions);
        let mut written = Vec::with_capacity(instructions.len());
        for mut instruction in instructions {
            let found = instruction.result.and_then(|result| {
                let [left, right] = *instruction.operands.as_slice() else {
                    return None;
                };
                if body.value_kind(result) != wide {
                    return None;
                }
                let number = constant(body, right);
                match instruction.operation {
                    Operation::Elementwise(Op::ShiftLeftLogical) if number == Some(32) => {
                        raised.insert(result, left);
                        None
                    }
                    Operation::Elementwise(Op::ShiftRightArithmetic | Op::ShiftRightLogical) => {
                        let signed =
                            instruction.operation == Operation::Elementwise(Op::ShiftRightArithmetic);
                        let Operand::Value(value) = left else { return None };
                        // Shifted farther, it loses bits of the number itself.
                        let by = number.filter(|by| *by <= 32)?;
                        Some((*raised.get(&value)?, signed, 32 - by))
                    }
                    Operation::Elementwise(Op::BitwiseAnd) if number == Some(0xffff_ffff) => {
                        Some((left, false, 0))
                    }
                    _ => None,
                }
            });
            if let Some((number, signed, scale)) = found {
                let kind = if signed {
                    Conversion::Signed
                } else {
                    Conversion::Unsigned
                };
                let convert = |kind: Conversion| Operation::Convert {
                    kind,
                    saturate: false,
                    rounding: None,
                };
                let low = body.new_value(narrow);
                written.push(plain(
                    &instruction,
                    low,
                    convert(Conversion::Unsigned),
                    vec![number],
                ));
                if scale == 0 {
                    instruction.operation = convert(kind);
                    instruction.operands = vec![Operand::Value(low)];
                } else {
                    let extended = body.new_value(wide);
                    written.push(plain(
                        &instruction,
                        extended,
                        convert(kind),
                        vec![Operand::Value(low)],
                    ));
                    let scale = body.constant(Constant::plain(wide, vec![scale]));
                    instruction.operation = Operation::Elementwise(Op::ShiftLeftLogical);
                    instruction.operands = vec![Operand::Value(extended), scale];
                }
                // What was promised of the shift was so of other operands.
                instruction.attributes = Attributes::default();
            }
            written.push(instruction);
        }
        body.function.blocks[index].instructions = written;
    }
}

fn plain(like: &Instruction, result: ValueId, operation: Operation, operands: Vec<Operand>) -> Instruction {
    Instruction {
        result: Some(result),
        operation,
        operands,
        attributes: Attributes::default(),
        line: like.line,
    }
}

/// The word of a scalar constant.
fn constant(body: &Body, operand: Operand) -> Option<u64> {
    let Operand::Constant(id) = operand else {
        return None;
    };
    let constant = &body.module.constants[id.0 as usize];
    constant
        .relocations
        .is_empty()
        .then(|| constant.words.first().copied().unwrap_or(0))
}
