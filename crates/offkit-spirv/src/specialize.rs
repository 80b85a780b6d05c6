//! Giving specialization constants their values.

use std::collections::HashMap;

use crate::dr::{Instruction, Operand};
use crate::grammar::{Decoration, Op};

use crate::index::Index;
use crate::module::Module;

/// Makes every specialization constant an ordinary one: those in `values` with the value given there, all others with
/// their default.
///
/// Values are looked up by the number of the constant (`SpecId`) and are the bits of the value; what is too much for
/// the type is cut off, and a boolean is true unless the value is zero. Numbers that the module does not have are
/// ignored. Modules that are to be linked are specialized before, since each numbers its constants for itself.
/// Computations on constants (`OpSpecConstantOp`) are left to whoever compiles the module.
pub fn specialize(module: &mut Module, values: &HashMap<u32, u64>) {
    each_constant(module, values, set);
    // SPIR-V allows the number on specialization constants alone, and who lists what can be set
    // would still offer these.
    let spec_id = Operand::Decoration(Decoration::SpecId);
    module
        .dr_mut()
        .annotations
        .retain(|annotation| annotation.operands.get(1) != Some(&spec_id));
}

/// Gives specialization constants other defaults, as [`specialize`] gives them values; they can have others still.
pub fn set_defaults(module: &mut Module, values: &HashMap<u32, u64>) {
    each_constant(module, values, |constant, value, width| {
        if value.is_none() {
            return;
        }
        let opcode = constant.opcode;
        set(constant, value, width);
        // For booleans the opcode is the value: the new one stays, but as a default.
        constant.opcode = match constant.opcode {
            Op::ConstantTrue => Op::SpecConstantTrue,
            Op::ConstantFalse => Op::SpecConstantFalse,
            _ => opcode,
        };
    });
}

/// Calls a function with every declaration of the module, the value that it is to have if it is a constant that has one,
/// and the bits of its type.
fn each_constant(
    module: &mut Module,
    values: &HashMap<u32, u64>,
    change: impl Fn(&mut Instruction, Option<u64>, u32),
) {
    let index = Index::new(module.dr());
    let globals = module.dr().types_global_values.iter();
    let given: HashMap<u32, u64> = globals
        .filter_map(|constant| {
            let id = constant.result_id?;
            match index.decoration(id, Decoration::SpecId)? {
                [Operand::LiteralBit32(number)] => Some((id, *values.get(number)?)),
                _ => None,
            }
        })
        .collect();
    let module = module.dr_mut();
    // A type of 8 or 16 bits keeps its value in 32, with nothing above it.
    let mut narrow = HashMap::new();
    // One pass for both, as a type stands before every constant that has it.
    for instruction in &mut module.types_global_values {
        if let (Op::TypeInt | Op::TypeFloat, Some(id), Some(Operand::LiteralBit32(width @ ..32))) = (
            instruction.opcode,
            instruction.result_id,
            instruction.operands.first(),
        ) {
            narrow.insert(id, *width);
        }
        let value = instruction.result_id.and_then(|id| given.get(&id)).copied();
        let width = instruction.result_type.and_then(|id| narrow.get(&id)).copied();
        change(instruction, value, width.unwrap_or(32));
    }
}

/// Turns a specialization constant into an ordinary one.
fn set(constant: &mut Instruction, value: Option<u64>, width: u32) {
    let op = match (constant.opcode, value) {
        (Op::SpecConstantTrue, None) | (Op::SpecConstantTrue | Op::SpecConstantFalse, Some(1..)) => {
            Op::ConstantTrue
        }
        (Op::SpecConstantFalse, None) | (Op::SpecConstantTrue | Op::SpecConstantFalse, Some(0)) => {
            Op::ConstantFalse
        }
        (Op::SpecConstant, _) => Op::Constant,
        (Op::SpecConstantComposite, _) => Op::ConstantComposite,
        (Op::SpecConstantCompositeContinuedINTEL, _) => Op::ConstantCompositeContinuedINTEL,
        _ => return,
    };
    constant.opcode = op;
    match (constant.operands.first_mut(), value) {
        (Some(Operand::LiteralBit32(bits)), Some(value)) => {
            let kept = u32::MAX.checked_shr(32u32.saturating_sub(width)).unwrap_or(0);
            *bits = value as u32 & kept;
        }
        (Some(Operand::LiteralBit64(bits)), Some(value)) => *bits = value,
        _ => {}
    }
}
