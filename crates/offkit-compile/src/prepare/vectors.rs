//! The vload and vstore families, told as address arithmetic, loads, stores and conversions.

use offkit_kernel::builtins::Scalar;
use offkit_kernel::builtins::convert::Conversion;
use offkit_kernel::ir::{Attributes, Instruction, MemoryFunction, Operand, Operation, TypeId, scalar_size};
use offkit_spirv::grammar::FPRoundingMode;

use super::body::Body;
use super::emit::Emit;

/// Rewrites all of them.
pub(super) fn lower(body: &mut Body) {
    for index in 0..body.function.blocks.len() {
        let instructions = std::mem::take(&mut body.function.blocks[index].instructions);
        let mut code = Vec::with_capacity(instructions.len());
        for instruction in instructions {
            if lower_one(body, &instruction, &mut code).is_none() {
                code.push(instruction);
            }
        }
        body.function.blocks[index].instructions = code;
    }
}

/// Writes what an instruction becomes; nothing where it is none of these.
fn lower_one(body: &mut Body, instruction: &Instruction, code: &mut Vec<Instruction>) -> Option<()> {
    let Operation::Memory(function) = instruction.operation else {
        return None;
    };
    let (stored, offset, pointer) = match *instruction.operands {
        [offset, pointer] => (None, offset, pointer),
        [value, offset, pointer] => (Some(value), offset, pointer),
        _ => return None,
    };
    let kind = match stored {
        Some(value) => body.kind(value),
        None => body.value_kind(instruction.result?),
    };
    let (lanes, scalar) = (body.module.types.lanes(kind), body.module.types.scalar(kind)?);
    let (is_aligned, rounding, in_memory) = match function {
        MemoryFunction::LoadVector | MemoryFunction::StoreVector => (false, None, scalar),
        MemoryFunction::LoadHalf { aligned } => (aligned, None, Scalar::F16),
        MemoryFunction::StoreHalf { aligned, rounding } => (aligned, Some(rounding), Scalar::F16),
    };
    let near = if in_memory == scalar {
        kind
    } else if lanes == 1 {
        body.scalar_kind(in_memory)?
    } else {
        body.vector_kind(in_memory, lanes)?
    };
    // The aligned forms keep three components in the room of four.
    let size = scalar_size(in_memory);
    let stride = size
        * u64::from(if is_aligned {
            lanes.next_power_of_two()
        } else {
            lanes
        });
    // `vload` and its like promise no more than the alignment of a component.
    let align = if is_aligned { stride } else { size };
    let attributes = Attributes {
        align: instruction.attributes.align.or(u32::try_from(align).ok()),
        ..instruction.attributes
    };
    let pointer_kind = body.kind(pointer);
    let mut emit = Emit {
        body,
        code,
        line: instruction.line,
    };
    let address = Operation::Address {
        offset: 0,
        strides: vec![stride],
    };
    let address = emit.value(pointer_kind, address, vec![pointer, offset]);
    match (stored, instruction.result) {
        (Some(value), _) => {
            let value = converted(&mut emit, value, near, rounding);
            emit.store(address, value, attributes);
        }
        (None, Some(result)) if near == kind => {
            emit.push(Some(result), Operation::Load, vec![address], attributes);
        }
        (None, result) => {
            let value = emit.load(address, near, attributes);
            emit.push(result, conversion(rounding), vec![value], Attributes::default());
        }
    }
    Some(())
}

fn conversion(rounding: Option<FPRoundingMode>) -> Operation {
    Operation::Convert {
        kind: Conversion::Float,
        saturate: false,
        rounding,
    }
}

fn converted(emit: &mut Emit<'_>, value: Operand, kind: TypeId, rounding: Option<FPRoundingMode>) -> Operand {
    if emit.body.is_like(emit.body.kind(value), kind) {
        return value;
    }
    emit.value(kind, conversion(rounding), vec![value])
}
