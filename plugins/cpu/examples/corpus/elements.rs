//! What kernels have in the memory that their pointers lead to: what they load and store there, for compilers forget what
//! pointers point to, and a buffer of integers that were meant as numbers tells nothing.

use std::collections::HashMap;

use offkit_kernel::ir::{Function, Module, Operand, Operation, TypeId, ValueId};

/// A pointer that a kernel is given: which argument it is, or in which it is, and then where.
pub(crate) type Place = (usize, Option<u64>);

/// Where an address comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Origin {
    /// A pointer that the kernel is given.
    Pointer(Place),
    /// A place in an argument that is passed by value.
    Inside(usize, u64),
}

/// The types that a kernel, which has been made one function, accesses by each pointer.
pub(crate) fn accessed(module: &Module) -> HashMap<Place, Vec<TypeId>> {
    let mut accessed: HashMap<Place, Vec<TypeId>> = HashMap::new();
    let Some(kernel) = module.kernels.first() else {
        return accessed;
    };
    let function = &module.functions[kernel.function.0 as usize];
    let origins = origins(module, function);
    for instruction in function.blocks.iter().flat_map(|block| &block.instructions) {
        let Some(Operand::Value(address)) = instruction.operands.first() else {
            continue;
        };
        let Some(Origin::Pointer(place)) = origins.get(address) else {
            continue;
        };
        let kind = match (&instruction.operation, instruction.operands.get(1)) {
            (Operation::Load, _) => instruction.result.map(|value| function.values[value.0 as usize]),
            (Operation::Store, Some(value)) => Some(module.operand_type(function, *value)),
            (Operation::Atomic { scalar, .. }, _) => module.types.find_scalar(*scalar),
            _ => None,
        };
        accessed.entry(*place).or_default().extend(kind);
    }
    accessed
}

fn origins(module: &Module, function: &Function) -> HashMap<ValueId, Origin> {
    let mut origins = HashMap::new();
    for (index, parameter) in function.parameters.iter().enumerate() {
        if module.types.is_pointer(parameter.kind) {
            let origin = match parameter.by_value {
                true => Origin::Inside(index, 0),
                false => Origin::Pointer((index, None)),
            };
            origins.insert(ValueId(index as u32), origin);
        }
    }
    // Addresses go round in loops.
    loop {
        let before = origins.len();
        for block in &function.blocks {
            for phi in &block.phis {
                let found = phi
                    .incoming
                    .iter()
                    .find_map(|(_, operand)| origin(&origins, operand));
                found.map(|found| origins.entry(phi.result).or_insert(found));
            }
            for instruction in &block.instructions {
                let Some(result) = instruction.result else {
                    continue;
                };
                let is_pointer = module.types.is_pointer(function.values[result.0 as usize]);
                let mut operands = instruction.operands.iter();
                let found = match instruction.operation {
                    Operation::Address { .. } => operands.next().and_then(|base| origin(&origins, base)),
                    _ => operands.find_map(|operand| origin(&origins, operand)),
                };
                let found = match (&instruction.operation, found) {
                    (Operation::Address { offset, .. }, Some(Origin::Inside(index, start))) => {
                        Some(Origin::Inside(index, start.wrapping_add(*offset)))
                    }
                    // As an address, or as an integer that becomes one.
                    (Operation::Load, Some(Origin::Inside(index, at))) => {
                        Some(Origin::Pointer((index, Some(at))))
                    }
                    (Operation::Load, _) => None,
                    // On its way from one type of pointer to another it may be an integer.
                    (Operation::Reinterpret, found) => found,
                    (_, found) if is_pointer => found,
                    _ => None,
                };
                found.map(|found| origins.entry(result).or_insert(found));
            }
        }
        if origins.len() == before {
            return origins;
        }
    }
}

fn origin(origins: &HashMap<ValueId, Origin>, operand: &Operand) -> Option<Origin> {
    match operand {
        Operand::Value(value) => origins.get(value).copied(),
        Operand::Constant(_) => None,
    }
}
