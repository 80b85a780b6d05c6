//! Other names for what a module shares with others.

use crate::dr::{Instruction, Operand};
use crate::grammar::{Decoration, Op};
use crate::module::Module;
use crate::symbols::Linkage;

/// Gives imports and exports other names: `rename` says the new one, or `None` for what is to stay inside the module.
///
/// An import stays one whatever is said: its name is all that leads to its definition.
pub fn rename_linkage(module: &mut Module, rename: impl Fn(&str, Linkage) -> Option<String>) {
    let keeps = |annotation: &mut Instruction| {
        let (
            Op::Decorate,
            [
                _,
                Operand::Decoration(Decoration::LinkageAttributes),
                Operand::LiteralString(name),
                Operand::LinkageType(linkage),
            ],
        ) = (annotation.opcode, annotation.operands.as_mut_slice())
        else {
            return true;
        };
        let linkage = Linkage::from(*linkage);
        match rename(name, linkage) {
            Some(other) => *name = other,
            // Without the decoration a declaration would be a function that has no body anywhere.
            None => return linkage == Linkage::Import,
        }
        true
    };
    module.dr_mut().annotations.retain_mut(keeps);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dr;
    use crate::grammar::LinkageType;

    fn linkage(id: u32, name: &str, linkage: LinkageType) -> Instruction {
        let operands = vec![
            Operand::IdRef(id),
            Operand::Decoration(Decoration::LinkageAttributes),
            Operand::LiteralString(name.to_owned()),
            Operand::LinkageType(linkage),
        ];
        Instruction::new(Op::Decorate, None, None, operands)
    }

    #[test]
    fn symbols_get_other_names_or_stay_inside() {
        let annotations = vec![
            linkage(1, "f", LinkageType::Export),
            linkage(2, "g", LinkageType::Export),
            linkage(3, "h", LinkageType::Import),
            linkage(4, "i", LinkageType::Import),
        ];
        let mut module = Module::from_dr(dr::Module {
            annotations,
            ..dr::Module::default()
        });
        rename_linkage(&mut module, |name, _| match name {
            "f" => Some("f2".to_owned()),
            "i" => Some("i2".to_owned()),
            _ => None,
        });
        let expected = [
            linkage(1, "f2", LinkageType::Export),
            linkage(3, "h", LinkageType::Import),
            linkage(4, "i2", LinkageType::Import),
        ];
        assert_eq!(module.dr().annotations, expected);
    }
}
