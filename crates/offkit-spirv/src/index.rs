//! What a module says about each of its ids: definition, name, decorations, linkage.

use std::collections::HashMap;

use crate::dr::{self, Instruction, Operand};
use crate::grammar::{Decoration, LinkageType, Op};

/// Look-up tables over one module.
pub(crate) struct Index<'m> {
    module: &'m dr::Module,
    globals: HashMap<u32, &'m Instruction>,
    functions: HashMap<u32, &'m dr::Function>,
    names: HashMap<u32, &'m str>,
    /// For each target the operands of its decorations, starting with the decoration itself.
    decorations: HashMap<u32, Vec<&'m [Operand]>>,
    /// For each struct the operands of the decorations of its members, starting with the number of the member.
    member_decorations: HashMap<u32, Vec<&'m [Operand]>>,
    /// For each target the decoration groups applied to it. They are looked through on demand: applied ahead of
    /// time, a few instructions could make a number of decorations that is the square of the size of the module.
    groups: HashMap<u32, Vec<u32>>,
}

impl<'m> Index<'m> {
    pub(crate) fn new(module: &'m dr::Module) -> Self {
        let globals = module.types_global_values.iter();
        let mut index = Self {
            module,
            globals: globals.filter_map(|i| Some((i.result_id?, i))).collect(),
            functions: module
                .functions
                .iter()
                .filter_map(|f| Some((f.def_id()?, f)))
                .collect(),
            names: HashMap::new(),
            decorations: HashMap::new(),
            member_decorations: HashMap::new(),
            groups: HashMap::new(),
        };
        for instruction in &module.debug_names {
            if let (Op::Name, [Operand::IdRef(id), Operand::LiteralString(name)]) =
                (instruction.opcode, instruction.operands.as_slice())
            {
                index.names.insert(*id, name);
            }
        }
        for instruction in &module.annotations {
            index.annotate(instruction);
        }
        index
    }

    fn annotate(&mut self, instruction: &'m Instruction) {
        let Some((Operand::IdRef(target), rest)) = instruction.operands.split_first() else {
            return;
        };
        match instruction.opcode {
            Op::Decorate | Op::DecorateId | Op::DecorateString => {
                self.decorations.entry(*target).or_default().push(rest);
            }
            Op::MemberDecorate | Op::MemberDecorateIdEXT | Op::MemberDecorateString => {
                self.member_decorations.entry(*target).or_default().push(rest);
            }
            Op::GroupDecorate => {
                for decorated in rest.iter().filter_map(Operand::id_ref_any) {
                    let groups = self.groups.entry(decorated).or_default();
                    // One instruction may name a target thousands of times.
                    if groups.last() != Some(target) {
                        groups.push(*target);
                    }
                }
            }
            _ => {}
        }
    }

    /// The module looked at.
    pub(crate) fn module(&self) -> &'m dr::Module {
        self.module
    }

    /// The instruction outside functions that defines `id`: a type, constant or variable.
    pub(crate) fn global(&self, id: u32) -> Option<&'m Instruction> {
        self.globals.get(&id).copied()
    }

    /// The function `id`, defined or only declared.
    pub(crate) fn function(&self, id: u32) -> Option<&'m dr::Function> {
        self.functions.get(&id).copied()
    }

    /// The debug name of `id`; empty names count as none.
    pub(crate) fn name(&self, id: u32) -> Option<&'m str> {
        self.names.get(&id).copied().filter(|name| !name.is_empty())
    }

    /// The decorations of `id`, its own and those of its groups: each the decoration followed by its operands.
    pub(crate) fn decorations(&self, id: u32) -> impl Iterator<Item = &'m [Operand]> {
        let direct = self.decorations.get(&id).into_iter().flatten();
        let groups = self.groups.get(&id).into_iter().flatten();
        let grouped = groups.filter_map(|group| self.decorations.get(group)).flatten();
        // Its own first: of several linkage names the first one counts, as in an outline.
        direct.chain(grouped).copied()
    }

    /// The decorations of the members of struct `id`, without those of groups: each the number of the member, the
    /// decoration and its operands.
    pub(crate) fn member_decorations(&self, id: u32) -> impl Iterator<Item = &'m [Operand]> {
        self.member_decorations.get(&id).into_iter().flatten().copied()
    }

    /// The operands of decoration `wanted` on `id`.
    pub(crate) fn decoration(&self, id: u32, wanted: Decoration) -> Option<&'m [Operand]> {
        self.decorations(id)
            .find_map(|operands| match operands.split_first() {
                Some((Operand::Decoration(found), rest)) if *found == wanted => Some(rest),
                _ => None,
            })
    }

    /// Whether a function parameter has an attribute.
    pub(crate) fn has_attribute(&self, id: u32, wanted: crate::grammar::FunctionParameterAttribute) -> bool {
        let wanted = [
            Operand::Decoration(Decoration::FuncParamAttr),
            Operand::FunctionParameterAttribute(wanted),
        ];
        self.decorations(id).any(|operands| operands == wanted)
    }

    /// The name and direction under which `id` takes part in linking.
    pub(crate) fn linkage(&self, id: u32) -> Option<(&'m str, LinkageType)> {
        match self.decoration(id, Decoration::LinkageAttributes)? {
            [Operand::LiteralString(name), Operand::LinkageType(linkage)] => Some((name, *linkage)),
            _ => None,
        }
    }

    /// Whether `id` is a variable that the device fills in, such as the global invocation id.
    pub(crate) fn built_in(&self, id: u32) -> Option<crate::grammar::BuiltIn> {
        match self.decoration(id, Decoration::BuiltIn)? {
            [Operand::BuiltIn(built_in)] => Some(*built_in),
            _ => None,
        }
    }

    /// The value of an integer constant; for a specialization constant its default. Zero-extended.
    pub(crate) fn constant(&self, id: u32) -> Option<u64> {
        let instruction = self.global(id)?;
        match (instruction.opcode, instruction.operands.first()) {
            (Op::Constant | Op::SpecConstant, Some(Operand::LiteralBit32(value))) => Some(u64::from(*value)),
            (Op::Constant | Op::SpecConstant, Some(Operand::LiteralBit64(value))) => Some(*value),
            (Op::ConstantNull, _) => Some(0),
            _ => None,
        }
    }

    /// What to call `id` in a message: its linkage name, its debug name, or its number.
    pub(crate) fn label(&self, id: u32) -> String {
        let linkage = self.linkage(id).map(|(name, _)| name);
        linkage
            .or_else(|| self.name(id))
            .map_or_else(|| format!("%{id}"), str::to_owned)
    }
}
