//! What the module says about its ids beside their definitions: names and decorations.

use super::ids::IdMap;
use offkit_spirv::dr::{self, Operand};
use offkit_spirv::grammar::{BuiltIn, Decoration, FPRoundingMode, LinkageType, Op, Word};

/// `HostAccessINTEL` as SPV_INTEL_global_variable_decorations had it, which SYCL's compilers still write: how the host
/// accesses a variable, and by which name. The grammar knows what came after it alone.
const EARLIER_HOST_ACCESS: Decoration = Decoration(6147);

/// Names and decorations by id.
#[derive(Default)]
pub(super) struct Decorations<'a> {
    names: IdMap<&'a str>,
    kernels: IdMap<&'a str>,
    decorations: IdMap<Vec<(Decoration, &'a [Operand])>>,
    /// For each target the decoration groups applied to it. A group is looked up when its targets are: copies of
    /// it for all of them could take the square of the size of the module.
    groups: IdMap<Vec<Word>>,
}

impl<'a> Decorations<'a> {
    pub(super) fn collect(module: &'a dr::Module) -> Decorations<'a> {
        let mut all = Decorations::default();
        for instruction in &module.debug_names {
            if let (Op::Name, [Operand::IdRef(id), Operand::LiteralString(name)]) =
                (instruction.opcode, instruction.operands.as_slice())
            {
                all.names.insert(*id, name.as_str());
            }
        }
        for instruction in &module.entry_points {
            if let [_, Operand::IdRef(id), Operand::LiteralString(name), ..] = instruction.operands.as_slice()
            {
                all.kernels.insert(*id, name.as_str());
            }
        }
        for instruction in &module.annotations {
            match (instruction.opcode, instruction.operands.as_slice()) {
                (
                    Op::Decorate | Op::DecorateId | Op::DecorateString,
                    [Operand::IdRef(id), Operand::Decoration(decoration), rest @ ..],
                ) => {
                    all.decorations.entry(*id).or_default().push((*decoration, rest));
                }
                (Op::GroupDecorate, [Operand::IdRef(group), targets @ ..]) => {
                    for target in targets.iter().filter_map(Operand::id_ref_any) {
                        let groups = all.groups.entry(target).or_default();
                        // One instruction may name a target thousands of times, and its decorations
                        // would count as often.
                        if groups.last() != Some(group) {
                            groups.push(*group);
                        }
                    }
                }
                _ => {}
            }
        }
        all
    }

    /// The debug name, or the linkage name, or the kernel's name, or the number.
    pub(super) fn name(&self, id: Word) -> String {
        let debug = self.names.get(&id).copied().filter(|name| !name.is_empty());
        let linkage = || self.linkage(id).map(|(name, _)| name);
        let kernel = || self.kernels.get(&id).copied();
        let name = debug.or_else(linkage).or_else(kernel);
        name.map_or_else(|| id.to_string(), str::to_owned)
    }

    /// The decorations of an id, its own and those of its groups.
    pub(super) fn all(&self, id: Word) -> impl Iterator<Item = (Decoration, &'a [Operand])> {
        let groups = self.groups.get(&id).into_iter().flatten();
        let grouped = groups.filter_map(|group| self.decorations.get(group));
        let all = self.decorations.get(&id).into_iter().chain(grouped);
        all.flatten().copied()
    }

    fn find(&self, id: Word, wanted: Decoration) -> Option<&'a [Operand]> {
        let (_, operands) = self.all(id).find(|(decoration, _)| *decoration == wanted)?;
        Some(operands)
    }

    pub(super) fn has(&self, id: Word, decoration: Decoration) -> bool {
        self.find(id, decoration).is_some()
    }

    pub(super) fn literal(&self, id: Word, decoration: Decoration) -> Option<u32> {
        match self.find(id, decoration)? {
            [Operand::LiteralBit32(value), ..] => Some(*value),
            _ => None,
        }
    }

    /// The alignment in bytes that the module asks for.
    pub(super) fn alignment(&self, id: Word) -> Option<u32> {
        let alignment = self.literal(id, Decoration::Alignment)?;
        // The form promises powers of two to whoever rounds and masks by them. A module may have
        // any number here: another one counts as nothing said.
        alignment.is_power_of_two().then_some(alignment)
    }

    pub(super) fn built_in(&self, id: Word) -> Option<BuiltIn> {
        match self.find(id, Decoration::BuiltIn)? {
            [Operand::BuiltIn(built_in)] => Some(*built_in),
            _ => None,
        }
    }

    /// The name by which the host reads and writes a variable, where it has one of its own.
    pub(super) fn host_name(&self, id: Word) -> Option<String> {
        if let Some([_, Operand::LiteralString(name)]) = self.find(id, Decoration::HostAccessINTEL) {
            return Some(name.clone());
        }
        let [_, name @ ..] = self.find(id, EARLIER_HOST_ACCESS)? else {
            return None;
        };
        // The parser reads what it has no grammar for as words, so that the string is still to be
        // decoded: lowest byte first, up to a zero.
        let words = name.iter().map(|operand| match operand {
            Operand::LiteralBit32(word) => *word,
            _ => 0,
        });
        let mut bytes: Vec<u8> = words.flat_map(u32::to_le_bytes).collect();
        bytes.truncate(bytes.iter().position(|byte| *byte == 0)?);
        String::from_utf8(bytes).ok()
    }

    pub(super) fn rounding(&self, id: Word) -> Option<FPRoundingMode> {
        match self.find(id, Decoration::FPRoundingMode)? {
            [Operand::FPRoundingMode(mode)] => Some(*mode),
            _ => None,
        }
    }

    pub(super) fn linkage(&self, id: Word) -> Option<(&'a str, LinkageType)> {
        match self.find(id, Decoration::LinkageAttributes)? {
            [Operand::LiteralString(name), Operand::LinkageType(kind)] => Some((name, *kind)),
            _ => None,
        }
    }
}
