//! The SSA form as text, for tests and messages.

use std::fmt::{self, Display, Formatter};

use super::{Function, Module, Operand, Operation, Terminator, Type, TypeId};

/// A type's or operand's text within its module.
struct In<'m, T>(&'m Module, T);

impl Display for In<'_, TypeId> {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        let In(module, id) = self;
        match module.types.get(*id) {
            Type::Void => formatter.write_str("void"),
            Type::Scalar(scalar) => write!(formatter, "{}", format!("{scalar:?}").to_lowercase()),
            Type::Vector { component, count } => {
                write!(formatter, "{}x{count}", format!("{component:?}").to_lowercase())
            }
            Type::Array { element, count } => write!(formatter, "[{count} {}]", In(module, *element)),
            Type::Struct { members, .. } => {
                formatter.write_str("{")?;
                for (index, member) in members.iter().enumerate() {
                    let separator = if index == 0 { "" } else { ", " };
                    write!(formatter, "{separator}{}", In(module, *member))?;
                }
                formatter.write_str("}")
            }
            Type::Pointer { class, .. } => write!(formatter, "ptr {class:?}"),
            Type::Event => formatter.write_str("event"),
            Type::Opaque => formatter.write_str("opaque"),
        }
    }
}

impl Display for In<'_, Operand> {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        match self.1 {
            Operand::Value(value) => write!(formatter, "%{}", value.0),
            Operand::Constant(constant) => {
                let constant = &self.0.constants[constant.0 as usize];
                if let [(_, global)] = constant.relocations.as_slice() {
                    return write!(
                        formatter,
                        "@{}+{}",
                        self.0.globals[global.0 as usize].name, constant.words[0]
                    );
                }
                match constant.words.as_slice() {
                    [] => formatter.write_str("0"),
                    [word] => write!(formatter, "{word}"),
                    words => write!(formatter, "{words:?}"),
                }
            }
        }
    }
}

impl Display for Module {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        self.functions
            .iter()
            .try_for_each(|function| self.write_function(function, formatter))
    }
}

impl Module {
    fn write_function(&self, function: &Function, formatter: &mut Formatter<'_>) -> fmt::Result {
        write!(
            formatter,
            "function {} {}(",
            In(self, function.result),
            function.name
        )?;
        for (index, parameter) in function.parameters.iter().enumerate() {
            let separator = if index == 0 { "" } else { ", " };
            write!(formatter, "{separator}%{index}: {}", In(self, parameter.kind))?;
        }
        writeln!(formatter, ")")?;
        for variable in &function.variables {
            writeln!(
                formatter,
                "  %{} = variable {}",
                variable.address.0,
                In(self, variable.kind)
            )?;
        }
        for (index, block) in function.blocks.iter().enumerate() {
            writeln!(formatter, "block {index}")?;
            for phi in &block.phis {
                write!(formatter, "  %{} = phi", phi.result.0)?;
                for (from, operand) in &phi.incoming {
                    write!(formatter, " [block {}: {}]", from.0, In(self, *operand))?;
                }
                writeln!(formatter)?;
            }
            for instruction in &block.instructions {
                formatter.write_str("  ")?;
                if let Some(result) = instruction.result {
                    let kind = function.values[result.0 as usize];
                    write!(formatter, "%{}: {} = ", result.0, In(self, kind))?;
                }
                formatter.write_str(&name(&instruction.operation))?;
                for operand in instruction.operation.operands() {
                    write!(formatter, " {}", In(self, operand))?;
                }
                writeln!(formatter)?;
            }
            match &block.terminator {
                Terminator::Jump(target) => writeln!(formatter, "  jump {}", target.0)?,
                Terminator::Branch {
                    condition,
                    accept,
                    reject,
                } => {
                    writeln!(
                        formatter,
                        "  branch {} {} {}",
                        In(self, *condition),
                        accept.0,
                        reject.0
                    )?;
                }
                Terminator::Switch {
                    selector,
                    cases,
                    default,
                } => {
                    write!(formatter, "  switch {}", In(self, *selector))?;
                    for (value, target) in cases {
                        write!(formatter, " {value}: {}", target.0)?;
                    }
                    writeln!(formatter, " else {}", default.0)?;
                }
                Terminator::Return(Some(value)) => writeln!(formatter, "  return {}", In(self, *value))?,
                Terminator::Return(None) => writeln!(formatter, "  return")?,
                Terminator::Unreachable => writeln!(formatter, "  unreachable")?,
            }
        }
        Ok(())
    }
}

/// What an operation is, without its operands.
fn name(operation: &Operation) -> String {
    match operation {
        Operation::Elementwise { op, .. } => format!("{op:?}"),
        Operation::Fold { op, .. } => format!("fold {op:?}"),
        Operation::Select { .. } => "select".into(),
        Operation::Convert {
            kind,
            saturate,
            rounding,
            ..
        } => {
            let saturate = if *saturate { " saturated" } else { "" };
            let rounding = rounding.map_or_else(String::new, |mode| format!(" {mode:?}"));
            format!("convert {kind:?}{saturate}{rounding}")
        }
        Operation::Reinterpret(_) => "reinterpret".into(),
        Operation::Extract { first, .. } => format!("extract {first}"),
        Operation::Insert { first, .. } => format!("insert {first}"),
        Operation::ExtractDynamic { .. } => "extract".into(),
        Operation::InsertDynamic { .. } => "insert".into(),
        Operation::Construct(_) => "construct".into(),
        Operation::Shuffle { lanes, .. } => format!("shuffle {lanes:?}"),
        Operation::Address { offset, terms, .. } => {
            let strides: Vec<u64> = terms.iter().map(|(_, stride)| *stride).collect();
            format!("address {offset} {strides:?}")
        }
        Operation::Input(global) => format!("input {}", global.0),
        Operation::Load { .. } => "load".into(),
        Operation::Store { .. } => "store".into(),
        Operation::Copy { .. } => "copy".into(),
        Operation::Atomic { operation, .. } => format!("atomic {operation:?}"),
        Operation::Fence => "fence".into(),
        Operation::GenericCast { class, .. } => format!("cast {class:?}"),
        Operation::PointerSemantics(_) => "semantics".into(),
        Operation::Call { function, .. } => format!("call {}", function.0),
        Operation::Extended { op, .. } => format!("{op:?}"),
        Operation::Memory { function, .. } => format!("{function:?}"),
        Operation::Print { .. } => "print".into(),
        Operation::Collective(collective) => format!("{:?} {:?}", collective.scope, collective.kind),
        Operation::Ballot { query, .. } => format!("ballot {query:?}"),
    }
}
