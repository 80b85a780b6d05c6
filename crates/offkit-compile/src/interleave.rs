//! Private arrays with the parts of a vector's work-items side by side: what all work-items have at one index is one access.
//!
//! ```text
//!  work-item after work-item   a0 a1 a2 …  b0 b1 b2 …  c0 c1 c2 …
//!  interleaved                 a0 b0 c0 …  a1 b1 c1 …  a2 b2 c2 …
//! ```
//!
//! A byte that was so far from the start of a variable is then as many times farther as there are work-items. So it is
//! the offsets and strides of address computations that change, where a variable's address is used for nothing else, and
//! everything that is accessed there has one size.

use std::collections::{BTreeMap, BTreeSet};

use offkit_kernel::builtins::Scalar;
use offkit_kernel::builtins::convert::Conversion;
use offkit_kernel::ir::{
    ConstantId, Function, Instruction, Module, Operand, Operation, Type, TypeId, ValueId, scalar_size,
};
use offkit_spirv::grammar::Op;

use crate::definitions::{Definition, Definitions};

/// Accesses that a copy of known size is made of at most.
pub const MOST_PIECES: u64 = 256;

/// What is asked of values to see what an index is.
struct Seen {
    /// Of which values, and how many of their lowest bits have to be zero.
    asked: BTreeSet<(ValueId, u32)>,
    /// How many questions are left.
    left: u32,
}

/// Questions that are asked of one index.
const MOST_QUESTIONS: u32 = 64;

/// The addresses of what is interleaved, each with the bytes of a work-item's part.
#[derive(Clone, Debug, Default)]
pub struct Interleaved(BTreeMap<ValueId, u64>);

impl Interleaved {
    /// The bytes that the work-items of a vector are from each other at an address, if it is one of interleaved memory.
    pub fn part(&self, address: Operand) -> Option<u64> {
        match address {
            Operand::Value(value) => self.0.get(&value).copied(),
            Operand::Constant(_) => None,
        }
    }
}

/// Interleaves the variables of a function that can be, for vectors of so many work-items.
pub(crate) fn interleave(module: &Module, function: &mut Function, width: u32) -> Interleaved {
    if width == 1 || function.variables.is_empty() {
        return Interleaved::default();
    }
    let mut uses = Uses::new(module, function);
    uses.find_addresses();
    uses.find_parts();
    let variables = uses.variables;
    let parts: Vec<Option<u64>> = (0..variables.same.len())
        .map(|variable| variables.part(variable))
        .collect();
    let addresses = uses.addresses.into_iter();
    let found = addresses.filter_map(|(value, variable)| Some((value, parts[variable]?)));
    let interleaved = Interleaved(found.collect());
    for instruction in function
        .blocks
        .iter_mut()
        .flat_map(|block| &mut block.instructions)
    {
        let of = instruction.operands.first().copied();
        if let Operation::Address { offset, strides } = &mut instruction.operation
            && of.is_some_and(|base| interleaved.part(base).is_some())
        {
            for bytes in std::iter::once(offset).chain(strides) {
                // Negative ones are there too, as what is left of them modulo 2^64.
                *bytes = bytes.wrapping_mul(width.into());
            }
            // What was told was so of a work-item's own array.
            instruction.attributes.align = None;
        }
    }
    interleaved
}

/// What is known of variables; those that one address may be of are one.
struct Variables {
    /// Another that is the same, or itself.
    same: Vec<usize>,
    /// The bytes of all parts; none where that isn't known yet.
    parts: Vec<Option<u64>>,
    is_spoiled: Vec<bool>,
}

impl Variables {
    fn first(&self, mut variable: usize) -> usize {
        while self.same[variable] != variable {
            variable = self.same[variable];
        }
        variable
    }

    fn unite(&mut self, left: usize, right: usize) -> bool {
        let (left, right) = (self.first(left), self.first(right));
        self.same[left] = right;
        left != right
    }

    fn spoil(&mut self, variable: usize) {
        let first = self.first(variable);
        self.is_spoiled[first] = true;
    }

    /// Notes that bytes of this size are accessed at once.
    fn access(&mut self, variable: usize, size: u64) {
        let first = self.first(variable);
        match self.parts[first].replace(size) {
            Some(other) if other != size => self.is_spoiled[first] = true,
            _ => {}
        }
    }

    fn part(&self, variable: usize) -> Option<u64> {
        let first = self.first(variable);
        self.parts[first].filter(|_| !self.is_spoiled[first])
    }

    /// Notes that bytes are skipped, as far as it is known of how many at a time.
    fn skip(&mut self, variable: usize, bytes: u64) {
        if self
            .part(variable)
            .is_some_and(|part| !bytes.is_multiple_of(part))
        {
            self.spoil(variable);
        }
    }
}

struct Uses<'f> {
    module: &'f Module,
    function: &'f Function,
    definitions: Definitions,
    variables: Variables,
    /// The variable that each address is of.
    addresses: BTreeMap<ValueId, usize>,
    /// Variables that hold something at first, and of which there are only copies.
    tables: BTreeSet<usize>,
}

impl Uses<'_> {
    fn new<'f>(module: &'f Module, function: &'f Function) -> Uses<'f> {
        let count = function.variables.len();
        let addresses = function.variables.iter().map(|variable| variable.address);
        Uses {
            module,
            function,
            definitions: Definitions::new(function),
            variables: Variables {
                same: (0..count).collect(),
                parts: vec![None; count],
                is_spoiled: vec![false; count],
            },
            addresses: addresses.zip(0..).collect(),
            tables: BTreeSet::new(),
        }
    }

    fn variable(&self, operand: Operand) -> Option<usize> {
        match operand {
            Operand::Value(value) => self.addresses.get(&value).copied(),
            Operand::Constant(_) => None,
        }
    }

    /// Follows addresses through what is computed from them, as far as they stay addresses.
    fn find_addresses(&mut self) {
        let function = self.function;
        let mut changed = true;
        // Phis of loops have operands that come later: again until nothing is new.
        while std::mem::take(&mut changed) {
            for block in &function.blocks {
                let phis = block
                    .phis
                    .iter()
                    .flat_map(|phi| phi.incoming.iter().map(|(_, operand)| (phi.result, *operand)));
                let instructions = block.instructions.iter().filter_map(|instruction| {
                    let leads_on = matches!(
                        instruction.operation,
                        Operation::Address { .. } | Operation::Reinterpret
                    );
                    let result = instruction.result.filter(|_| leads_on)?;
                    Some((result, *instruction.operands.first()?))
                });
                for (result, from) in phis.chain(instructions) {
                    let kind = function.values[result.0 as usize];
                    let Some(variable) = self.variable(from) else {
                        continue;
                    };
                    // As a number it could go anywhere: `uses` finds that, and spoils the variable.
                    if !self.module.types.is_pointer(kind) {
                        continue;
                    }
                    changed |= match self.addresses.insert(result, variable) {
                        None => true,
                        Some(other) => self.variables.unite(other, variable),
                    };
                }
            }
        }
    }

    /// Looks at all that is done with addresses.
    fn find_parts(&mut self) {
        let function = self.function;
        // Sizes of accesses first: what is skipped has to be whole parts.
        for block in &function.blocks {
            for phi in &block.phis {
                // Another may be of no variable.
                if let Some(variable) = self.variable(Operand::Value(phi.result))
                    && !phi
                        .incoming
                        .iter()
                        .all(|(_, operand)| self.variable(*operand).is_some())
                {
                    self.variables.spoil(variable);
                }
            }
            if let Some(operand) = block.terminator.operand() {
                self.spoil(operand);
            }
            for instruction in &block.instructions {
                self.uses(instruction);
            }
        }
        let initialized = |variable: &usize| function.variables[*variable].initializer.is_some();
        for variable in (0..function.variables.len()).filter(initialized) {
            let first = self.variables.first(variable);
            if self.variables.parts[first].is_none() {
                self.tables.insert(first);
            }
        }
        for variable in (0..function.variables.len()).filter(initialized) {
            self.access(variable, function.variables[variable].kind);
        }
        for variable in 0..function.variables.len() {
            let size = self.module.types.layout(function.variables[variable].kind).size;
            self.variables.skip(variable, size);
        }
        for instruction in function.blocks.iter().flat_map(|block| &block.instructions) {
            match (&instruction.operation, &instruction.operands[..]) {
                (Operation::Address { offset, strides }, [base, indices @ ..]) => {
                    if let Some(variable) = self.variable(*base) {
                        self.variables.skip(variable, *offset);
                        for (index, stride) in indices.iter().zip(strides) {
                            self.skip(variable, *index, *stride);
                        }
                    }
                }
                (Operation::Copy, [to, from, size]) => self.copy([*to, *from], *size),
                _ => {}
            }
        }
    }

    /// So many times some bytes are skipped.
    fn skip(&mut self, variable: usize, index: Operand, stride: u64) {
        let Some(part) = self.variables.part(variable) else {
            return;
        };
        // Parts are scalars, whose sizes are powers of two: what is skipped is whole parts if as many of its low bits
        // are zero. The stride has some of these zeros, the index must have the rest.
        let missing = part.trailing_zeros().saturating_sub(stride.trailing_zeros());
        let seen = &mut Seen {
            asked: BTreeSet::new(),
            left: MOST_QUESTIONS,
        };
        if !self.has_zeros(index, missing, seen) {
            self.variables.spoil(variable);
        }
    }

    /// Whether so many of the lowest bits of an integer are zero as far as it can be seen; of those that are looked at already
    /// it is taken for granted.
    fn has_zeros(&self, operand: Operand, count: u32, seen: &mut Seen) -> bool {
        if count == 0 {
            return true;
        }
        let value = match operand {
            Operand::Constant(ConstantId(constant)) => {
                let constant = &self.module.constants[constant as usize];
                let zeros = constant
                    .words
                    .first()
                    .map_or(u64::BITS, |word| word.trailing_zeros());
                return constant.relocations.is_empty() && zeros >= count;
            }
            Operand::Value(value) => value,
        };
        if !seen.asked.insert((value, count)) {
            return true;
        }
        let Some(left) = seen.left.checked_sub(1) else {
            return false;
        };
        seen.left = left;
        let have = |operands: &[Operand], seen: &mut Seen| {
            operands
                .iter()
                .all(|operand| self.has_zeros(*operand, count, seen))
        };
        let instruction = match self.definitions.of(value) {
            Definition::Phi(block) => {
                let mut phis = self.function.blocks[block].phis.iter();
                let incoming = phis.find(|phi| phi.result == value).map(|phi| &phi.incoming);
                let incoming = incoming.into_iter().flatten().map(|(_, operand)| *operand);
                return have(&incoming.collect::<Vec<_>>(), seen);
            }
            Definition::Instruction(block, index) => &self.function.blocks[block].instructions[index],
            Definition::Entry => return false,
        };
        let operands = &instruction.operands;
        match &instruction.operation {
            Operation::Elementwise(Op::IAdd | Op::ISub | Op::BitwiseOr | Op::BitwiseXor | Op::SNegate) => {
                have(operands, seen)
            }
            Operation::Elementwise(Op::IMul | Op::BitwiseAnd) => {
                // What was granted to one in vain is not granted to the other.
                let before = seen.asked.clone();
                self.has_zeros(operands[0], count, seen) || {
                    seen.asked = before;
                    self.has_zeros(operands[1], count, seen)
                }
            }
            Operation::Elementwise(Op::ShiftLeftLogical) => {
                let by = match operands[1] {
                    Operand::Constant(ConstantId(by)) => self.module.constants[by as usize].words.first(),
                    Operand::Value(_) => None,
                };
                // Shifted by its width or more, a number is zero, and so has zeros enough.
                let by = by.map_or(0, |by| u32::try_from(*by).unwrap_or(0));
                self.has_zeros(operands[0], count.saturating_sub(by), seen)
            }
            Operation::Select => have(&operands[1..], seen),
            // What saturates becomes the largest number, whose lowest bits are ones.
            Operation::Convert {
                kind: Conversion::Signed | Conversion::Unsigned,
                saturate: false,
                ..
            } => self.is_integer(operands[0]) && have(operands, seen),
            _ => false,
        }
    }

    fn is_integer(&self, operand: Operand) -> bool {
        let kind = self.module.operand_type(self.function, operand);
        let scalar = self.module.types.scalar(kind);
        scalar.is_some_and(|scalar| scalar.is_integer() && scalar != Scalar::Bool)
    }

    /// What an instruction does with addresses, copies aside.
    fn uses(&mut self, instruction: &Instruction) {
        let operands = &instruction.operands;
        let result = instruction.result.map(Operand::Value);
        let leads_on = result.and_then(|result| self.variable(result)).is_some();
        let rest = match (&instruction.operation, &operands[..]) {
            (Operation::Load, [place]) => {
                if let (Some(variable), Some(Operand::Value(value))) = (self.variable(*place), result) {
                    self.access(variable, self.function.values[value.0 as usize]);
                }
                1
            }
            (Operation::Store, [place, value]) => {
                if let Some(variable) = self.variable(*place) {
                    self.access(variable, self.module.operand_type(self.function, *value));
                }
                1
            }
            (Operation::Address { .. } | Operation::Reinterpret, _) if leads_on => 1,
            (Operation::Copy, [_, _, Operand::Constant(_)]) => 3,
            _ => 0,
        };
        for operand in operands.iter().skip(rest) {
            self.spoil(*operand);
        }
    }

    fn spoil(&mut self, operand: Operand) {
        if let Some(variable) = self.variable(operand) {
            self.variables.spoil(variable);
        }
    }

    /// An access to a value of a type.
    fn access(&mut self, variable: usize, kind: TypeId) {
        let types = &self.module.types;
        let leaves = match types.get(kind) {
            Type::Pointer { .. } => {
                let size = types.layout(kind).size;
                return self.variables.access(variable, size);
            }
            _ => types.all_leaves(kind),
        };
        let Some(first) = leaves.first() else {
            return self.variables.spoil(variable);
        };
        let size = scalar_size(first.scalar);
        let is_whole = leaves
            .iter()
            .all(|leaf| scalar_size(leaf.scalar) == size && leaf.offset.is_multiple_of(size));
        match is_whole {
            true => self.variables.access(variable, size),
            false => self.variables.spoil(variable),
        }
    }

    /// A copy is made part by part.
    fn copy(&mut self, ends: [Operand; 2], size: Operand) {
        let size = match size {
            Operand::Constant(ConstantId(constant)) => {
                self.module.constants[constant as usize].words.first().copied()
            }
            Operand::Value(_) => None,
        };
        let part_of = |uses: &Self, end| {
            let variable = uses.variable(end)?;
            uses.variables.part(variable)
        };
        let mut parts = ends.map(|end| part_of(self, end));
        if let [Some(to), Some(from)] = parts
            && to != from
        {
            // The bytes of a table don't tell what they are of: it stays as it is, for the sake of what is made of it.
            for end in ends {
                let first = self.variable(end).map(|variable| self.variables.first(variable));
                if first.is_some_and(|first| self.tables.contains(&first)) {
                    self.spoil(end);
                }
            }
            parts = ends.map(|end| part_of(self, end));
        }
        let part = parts[0].or(parts[1]);
        let is_one_size = parts[0].is_none() || parts[1].is_none() || parts[0] == parts[1];
        let fits = match (part, size) {
            (None, _) => true,
            (Some(part), Some(size)) => {
                is_one_size && size.is_multiple_of(part) && size / part <= MOST_PIECES
            }
            (Some(_), None) => false,
        };
        if !fits {
            for end in ends {
                self.spoil(end);
            }
        }
    }
}
