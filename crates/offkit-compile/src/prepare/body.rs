//! The function that is being prepared, and what its parts share.

use std::collections::HashMap;

use offkit_kernel::builtins::Scalar;
use offkit_kernel::ir::{
    Attributes, Block, BlockId, Constant, ConstantId, Function, GlobalId, Instruction, Merge, Module,
    Operand, Operation, Phi, Terminator, Type, TypeId, ValueId, scalar_size,
};

use crate::graph::{Graph, successors};

/// Composites of more scalars are left as they are.
pub(super) const MOST_PARTS: u64 = 64;

/// What an interned constant is found by.
type ConstantKey = (TypeId, Vec<u64>, Vec<(u32, GlobalId)>);

/// A module whose functions are all in one.
pub(super) struct Body {
    /// Without functions.
    pub(super) module: Module,
    pub(super) function: Function,
    interned: HashMap<ConstantKey, ConstantId>,
}

impl Body {
    pub(super) fn new(module: Module, function: Function) -> Body {
        Body {
            module,
            function,
            interned: HashMap::new(),
        }
    }

    /// Lets operands be the same constant if they are of the same value.
    pub(super) fn unify_constants(&mut self) {
        let mut first = HashMap::new();
        for (constant, id) in self.module.constants.iter().zip(0..) {
            // What is found by a key is in it once more, which is too much of a long table.
            if constant.words.len() as u64 <= MOST_PARTS {
                let key = self.key(constant.clone());
                let same = *self.interned.entry(key).or_insert(ConstantId(id));
                first.insert(ConstantId(id), same);
            }
        }
        for block in &mut self.function.blocks {
            visit_operands(block, |operand| {
                if let Operand::Constant(id) = operand {
                    *id = first.get(id).copied().unwrap_or(*id);
                }
            });
        }
    }

    /// Zeros are written in one way: a scalar with a word, as others of its type, and all else without.
    fn key(&self, constant: Constant) -> ConstantKey {
        let Constant {
            kind,
            mut words,
            relocations,
        } = constant;
        if relocations.is_empty() && words.iter().all(|word| *word == 0) {
            words.clear();
            if matches!(self.module.types.get(kind), Type::Scalar(_)) {
                words.push(0);
            }
        }
        (kind, words, relocations)
    }

    pub(super) fn kind(&self, operand: Operand) -> TypeId {
        self.module.operand_type(&self.function, operand)
    }

    pub(super) fn value_kind(&self, value: ValueId) -> TypeId {
        self.function.values[value.0 as usize]
    }

    pub(super) fn lanes(&self, operand: Operand) -> u32 {
        self.module.operand_lanes(&self.function, operand)
    }

    pub(super) fn new_value(&mut self, kind: TypeId) -> ValueId {
        self.function.values.push(kind);
        ValueId(self.function.values.len() as u32 - 1)
    }

    /// The number of a constant, which is added if it isn't there.
    pub(super) fn constant(&mut self, constant: Constant) -> Operand {
        let key = self.key(constant);
        let next = ConstantId(self.module.constants.len() as u32);
        let (kind, words, relocations) = key.clone();
        let id = *self.interned.entry(key).or_insert(next);
        if id == next {
            self.module.constants.push(Constant {
                kind,
                words,
                relocations,
            });
        }
        Operand::Constant(id)
    }

    /// A value of zeros.
    pub(super) fn zero(&mut self, kind: TypeId) -> Operand {
        self.constant(Constant::plain(kind, Vec::new()))
    }

    /// A scalar type, which is added if it isn't there.
    pub(super) fn scalar_kind(&mut self, scalar: Scalar) -> Option<TypeId> {
        let types = &mut self.module.types;
        types
            .find_scalar(scalar)
            .or_else(|| types.push(Type::Scalar(scalar)))
    }

    /// A vector type, which is added if it isn't there.
    pub(super) fn vector_kind(&mut self, component: Scalar, count: u32) -> Option<TypeId> {
        let types = &mut self.module.types;
        types
            .find_vector(component, count)
            .or_else(|| types.push(Type::Vector { component, count }))
    }

    /// Whether a value of one type can be used as if it were of the other.
    pub(super) fn is_like(&self, a: TypeId, b: TypeId) -> bool {
        let types = &self.module.types;
        if a == b {
            return true;
        }
        if types.lanes(a) != types.lanes(b) || types.is_pointer(a) != types.is_pointer(b) {
            return false;
        }
        match (types.scalar(a), types.scalar(b)) {
            (Some(one), Some(other)) => one == other,
            (None, None) => {
                types.layout(a).lanes <= MOST_PARTS
                    && types.layout(a).size == types.layout(b).size
                    && types.leaves(a) == types.leaves(b)
            }
            _ => false,
        }
    }

    /// Bytes of a value of a scalar, vector or pointer type, where any bytes are one.
    pub(super) fn bits_size(&self, kind: TypeId) -> Option<u64> {
        let types = &self.module.types;
        let scalar = types.scalar(kind).filter(|scalar| *scalar != Scalar::Bool)?;
        Some(scalar_size(scalar) * types.layout(kind).lanes)
    }

    /// Lets an operand stand for a value, or at the end of a block a copy of it where its type is another.
    pub(super) fn stand_in(
        &mut self,
        block: usize,
        value: ValueId,
        operand: Operand,
        replaced: &mut Replaced,
    ) {
        if self.is_like(self.kind(operand), self.value_kind(value)) {
            replaced.insert(value, operand);
        } else {
            self.function.blocks[block].instructions.push(Instruction {
                result: Some(value),
                operation: Operation::Extract(0),
                operands: vec![operand],
                attributes: Attributes::default(),
                line: None,
            });
        }
    }

    pub(super) fn graph(&self) -> Graph {
        Graph::forward(0, successors(&self.function, |_| false))
    }

    /// Replaces values everywhere.
    pub(super) fn substitute(&mut self, replaced: &Replaced) {
        if !replaced.is_empty() {
            for block in &mut self.function.blocks {
                visit_operands(block, |operand| *operand = replaced.resolve(*operand));
            }
        }
    }

    /// Leaves only some blocks, in an order; jumps lead to none of the others.
    pub(super) fn retain_blocks(&mut self, order: &[usize]) {
        let mut numbers = vec![None; self.function.blocks.len()];
        for (number, block) in order.iter().enumerate() {
            numbers[*block] = Some(BlockId(number as u32));
        }
        let mut left: Vec<Option<Block>> = self.function.blocks.drain(..).map(Some).collect();
        for index in order {
            let Some(mut block) = left[*index].take() else {
                continue;
            };
            rename_blocks(&mut block, |BlockId(old)| numbers[old as usize]);
            self.function.blocks.push(block);
        }
    }

    /// Numbers values in the order in which they are made, and gives the module back.
    pub(super) fn finish(mut self) -> Module {
        let order = self.graph().order;
        self.retain_blocks(&order);
        let function = &mut self.function;
        // In two walks: a phi of a loop reads values that get their numbers behind it.
        let mut numbers = vec![None; function.values.len()];
        let mut kinds = Vec::new();
        let mut define = |value: &mut ValueId| {
            kinds.push(function.values[value.0 as usize]);
            let number = ValueId(kinds.len() as u32 - 1);
            numbers[value.0 as usize] = Some(number);
            *value = number;
        };
        for index in 0..function.parameters.len() {
            define(&mut ValueId(index as u32));
        }
        for variable in &mut function.variables {
            define(&mut variable.address);
        }
        for block in &mut function.blocks {
            for Phi { result, .. } in &mut block.phis {
                define(result);
            }
            for Instruction { result, .. } in &mut block.instructions {
                if let Some(result) = result {
                    define(result);
                }
            }
        }
        for block in &mut function.blocks {
            visit_operands(block, |operand| {
                if let Operand::Value(value) = operand
                    && let Some(number) = numbers[value.0 as usize]
                {
                    *value = number;
                }
            });
        }
        function.values = kinds;
        let mut module = self.module;
        module.functions.push(self.function);
        module
    }
}

/// Values that others stand for.
pub(super) struct Replaced {
    by: HashMap<ValueId, Operand>,
}

impl Replaced {
    pub(super) fn new() -> Replaced {
        Replaced { by: HashMap::new() }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.by.is_empty()
    }

    /// `operand` is resolved, and not the value itself.
    pub(super) fn insert(&mut self, value: ValueId, operand: Operand) {
        self.by.insert(value, operand);
    }

    pub(super) fn resolve(&self, mut operand: Operand) -> Operand {
        while let Operand::Value(value) = operand
            && let Some(next) = self.by.get(&value)
        {
            operand = *next;
        }
        operand
    }
}

/// Shows everything that is read in a block.
pub(super) fn visit_operands(block: &mut Block, mut visit: impl FnMut(&mut Operand)) {
    for phi in &mut block.phis {
        phi.incoming.iter_mut().for_each(|(_, operand)| visit(operand));
    }
    for instruction in &mut block.instructions {
        instruction.operands.iter_mut().for_each(&mut visit);
    }
    visit_end(&mut block.terminator, visit);
}

/// Shows what a terminator reads.
pub(super) fn visit_end(terminator: &mut Terminator, mut visit: impl FnMut(&mut Operand)) {
    match terminator {
        Terminator::Branch { condition, .. } => visit(condition),
        Terminator::Switch { selector, .. } => visit(selector),
        Terminator::Return(Some(value)) => visit(value),
        Terminator::Return(None) | Terminator::Jump(_) | Terminator::Unreachable => {}
    }
}

/// Shows where a terminator leads.
pub(super) fn visit_targets(terminator: &mut Terminator, mut visit: impl FnMut(&mut BlockId)) {
    match terminator {
        Terminator::Jump(target) => visit(target),
        Terminator::Branch { accept, reject, .. } => {
            visit(accept);
            visit(reject);
        }
        Terminator::Switch { cases, default, .. } => {
            cases.iter_mut().for_each(|(_, target)| visit(target));
            visit(default);
        }
        Terminator::Return(_) | Terminator::Unreachable => {}
    }
}

/// Gives the blocks that a block refers to other numbers. Phis forget those that are gone, and so do hints.
pub(super) fn rename_blocks(block: &mut Block, number: impl Fn(BlockId) -> Option<BlockId>) {
    for phi in &mut block.phis {
        let incoming = phi.incoming.drain(..);
        let kept = incoming.filter_map(|(from, operand)| Some((number(from)?, operand)));
        phi.incoming = kept.collect();
    }
    visit_targets(&mut block.terminator, |target| {
        if let Some(new) = number(*target) {
            *target = new;
        }
    });
    block.merge = block.merge.and_then(|merge| match merge {
        Merge::Loop {
            after,
            again,
            control,
        } => Some(match (number(after), number(again)) {
            (Some(after), Some(again)) => Merge::Loop {
                after,
                again,
                control,
            },
            // What is said of the loop, as how often to unroll it, is worth keeping by itself.
            _ => Merge::Unstructured(control),
        }),
        Merge::Unstructured(_) => Some(merge),
        Merge::Selection {
            after,
            flatten,
            dont_flatten,
        } => number(after).map(|after| Merge::Selection {
            after,
            flatten,
            dont_flatten,
        }),
    });
}
