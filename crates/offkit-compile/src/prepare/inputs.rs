//! Loads from built-in variables that are addressed like memory.

use offkit_kernel::ir::{Attributes, GlobalId, Home, Instruction, Operand, Operation, TypeId, scalar_size};

use super::body::Body;
use super::emit::Emit;

/// Makes reads of built-in variables of them; whether there were any.
pub(super) fn read(body: &mut Body) -> bool {
    let mut changed = false;
    for index in 0..body.function.blocks.len() {
        let is_load = |instruction: &Instruction| {
            let from_constant = matches!(instruction.operands.first(), Some(Operand::Constant(_)));
            from_constant && matches!(instruction.operation, Operation::Load)
        };
        if !body.function.blocks[index].instructions.iter().any(is_load) {
            continue;
        }
        let instructions = std::mem::take(&mut body.function.blocks[index].instructions);
        let mut code = Vec::with_capacity(instructions.len() + 1);
        for instruction in instructions {
            let Some((global, first)) = component(body, &instruction) else {
                code.push(instruction);
                continue;
            };
            changed = true;
            let kind = body.module.globals[global.0 as usize].kind;
            let mut emit = Emit {
                body,
                code: &mut code,
                line: instruction.line,
            };
            let whole = emit.value(kind, Operation::Input(global), Vec::new());
            let part = Operation::Extract(first);
            emit.push(instruction.result, part, vec![whole], Attributes::default());
        }
        body.function.blocks[index].instructions = code;
    }
    changed
}

/// Which components a load is of: the variable and the first of them.
fn component(body: &Body, instruction: &Instruction) -> Option<(GlobalId, u32)> {
    let (Operation::Load, [Operand::Constant(pointer)]) =
        (&instruction.operation, instruction.operands.as_slice())
    else {
        return None;
    };
    let constant = &body.module.constants[pointer.0 as usize];
    let ([offset], [(_, global)]) = (constant.words.as_slice(), constant.relocations.as_slice()) else {
        return None;
    };
    let variable = &body.module.globals[global.0 as usize];
    let types = &body.module.types;
    let of = |kind: TypeId| Some((types.scalar(kind)?, types.layout(kind).lanes));
    let ((held, room), (loaded, lanes)) = (of(variable.kind)?, of(body.value_kind(instruction.result?))?);
    let size = scalar_size(held);
    let first = offset / size;
    // Whole components: half of an id, say, is nothing that can be extracted.
    let fits = held == loaded && offset.is_multiple_of(size) && first.checked_add(lanes)? <= room;
    (fits && matches!(variable.home, Home::Input(_))).then_some((*global, u32::try_from(first).ok()?))
}
