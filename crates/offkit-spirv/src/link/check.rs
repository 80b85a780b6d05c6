//! Whether modules can be linked at all.

use std::collections::HashMap;

use crate::dr::{Instruction, Operand};
use crate::grammar::{AddressingModel, MemoryModel};

use super::{Input, LinkError};
use crate::reflect::specialization_constants;
use crate::types::Types;

/// Checks everything that can be known before symbols are looked at.
pub(super) fn check(inputs: &[Input<'_>]) -> Result<(), LinkError> {
    check_models(inputs)?;
    check_kernels(inputs)?;
    check_specialization_constants(inputs)?;
    check_instructions(inputs)
}

/// The addressing and memory models of a module.
fn models(input: &Input<'_>) -> Result<(AddressingModel, MemoryModel), LinkError> {
    let model = input
        .module
        .memory_model
        .as_ref()
        .map(|model| model.operands.as_slice());
    match model {
        Some([Operand::AddressingModel(addressing), Operand::MemoryModel(memory)]) => {
            Ok((*addressing, *memory))
        }
        _ => Err(LinkError::NoMemoryModel {
            module: input.label.to_owned(),
        }),
    }
}

/// All modules have the same models.
fn check_models(inputs: &[Input<'_>]) -> Result<(), LinkError> {
    let (first, rest) = inputs.split_first().ok_or(LinkError::NoModules)?;
    let (first_addressing, first_memory) = models(first)?;
    for second in rest {
        let (addressing, memory) = models(second)?;
        if addressing != first_addressing {
            return Err(LinkError::AddressingModel {
                first: first.label.to_owned(),
                first_model: first_addressing,
                second: second.label.to_owned(),
                second_model: addressing,
            });
        }
        if memory != first_memory {
            return Err(LinkError::MemoryModel {
                first: first.label.to_owned(),
                first_model: first_memory,
                second: second.label.to_owned(),
                second_model: memory,
            });
        }
    }
    Ok(())
}

/// No two kernels have the same name.
fn check_kernels(inputs: &[Input<'_>]) -> Result<(), LinkError> {
    let mut known = HashMap::new();
    for input in inputs {
        for entry_point in &input.module.entry_points {
            let [model, _, Operand::LiteralString(name), ..] = entry_point.operands.as_slice() else {
                continue;
            };
            // SPIR-V lets entry points of different models have one name.
            if let Some(first) = known.insert((model, name), input.label) {
                return Err(LinkError::DuplicateKernel {
                    kernel: name.clone(),
                    first: first.to_owned(),
                    second: input.label.to_owned(),
                });
            }
        }
    }
    Ok(())
}

/// Specialization constants of the same number have the same type.
fn check_specialization_constants(inputs: &[Input<'_>]) -> Result<(), LinkError> {
    let mut known = HashMap::new();
    for input in inputs {
        for constant in specialization_constants(&input.index, &Types::new(&input.index)) {
            // They are set together from now on, by one value of one size.
            let (first, first_type) = known
                .entry(constant.id)
                .or_insert((input.label, constant.type_name.clone()));
            if *first_type != constant.type_name {
                return Err(LinkError::SpecializationConstant {
                    id: constant.id,
                    first: (*first).to_owned(),
                    first_type: first_type.clone(),
                    second: input.label.to_owned(),
                    second_type: constant.type_name,
                });
            }
        }
    }
    Ok(())
}

/// Where ids are in all instructions is known, so that they can be renumbered.
fn check_instructions(inputs: &[Input<'_>]) -> Result<(), LinkError> {
    for input in inputs {
        // A number that is taken for an id would change its meaning, and an id that is left as it
        // is would be another module's: neither shows before the code runs.
        let mut instructions = input.module.all_inst_iter();
        if let Some(unknown) = instructions.find(|instruction| instruction.has_unknown()) {
            return Err(LinkError::UnknownInstruction {
                module: input.label.to_owned(),
                instruction: name(input, unknown),
            });
        }
    }
    Ok(())
}

/// What to call an instruction that is newer than the grammar.
fn name(input: &Input<'_>, instruction: &Instruction) -> String {
    match instruction.operands.as_slice() {
        [Operand::IdRef(set), Operand::LiteralExtInstInteger(number), ..] => {
            let mut imports = input.module.ext_inst_imports.iter();
            let import = imports.find(|import| import.result_id == Some(*set));
            match import.and_then(|import| import.operands.first()) {
                Some(Operand::LiteralString(name)) => format!("{number} of instruction set {name}"),
                _ => format!("{number} of instruction set %{set}"),
            }
        }
        _ => match instruction.opcode.name() {
            Some(name) => format!("Op{name}"),
            None => instruction.opcode.to_string(),
        },
    }
}
