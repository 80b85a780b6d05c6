//! Values that are constants, or other values.

use std::collections::HashMap;
use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};

use offkit_kernel::builtins::sign_extend;
use offkit_kernel::ir::{Attributes, Instruction, Operand, Operation, Phi, Type, TypeId, ValueId};
use offkit_spirv::grammar::{MemorySemantics, StorageClass};

use super::body::{Body, Replaced};
use super::evaluate::{evaluate, load, plain_word};
use super::sweep::is_pure;
use crate::graph::Graph;

/// How many steps a part of a value is followed back.
const FARTHEST: usize = 64;

/// Computes what can be computed, forwards what is only passed on, and computes the same only once where one place
/// comes before the other; whether anything changed.
pub(super) fn simplify(body: &mut Body) -> bool {
    let graph = body.graph();
    let mut simplifier = Simplifier {
        intervals: intervals(&graph),
        made: vec![None; body.function.values.len()],
        seen: HashMap::new(),
        replaced: Replaced::new(),
        changed: false,
        body,
    };
    // Definitions come before uses in this order, but for phis.
    for index in &graph.order {
        simplifier.block(*index);
    }
    let Simplifier {
        replaced,
        changed,
        body,
        ..
    } = simplifier;
    body.substitute(&replaced);
    changed || !replaced.is_empty()
}

/// Numbers blocks so that what a block dominates has the numbers from its own to its end.
fn intervals(graph: &Graph) -> Vec<(usize, usize)> {
    let mut children = vec![Vec::new(); graph.successors.len()];
    for block in &graph.order {
        if let Some(above) = graph.immediate_dominator(*block) {
            children[above].push(*block);
        }
    }
    let mut intervals = vec![(0, 0); graph.successors.len()];
    let mut next = 0;
    // A stack of its own: the tree may be as deep as the function has blocks, and the thread's stack is not.
    let mut stack: Vec<(usize, bool)> = graph
        .order
        .first()
        .map(|entry| (*entry, false))
        .into_iter()
        .collect();
    while let Some((block, done)) = stack.pop() {
        if done {
            intervals[block].1 = next;
            continue;
        }
        intervals[block].0 = next;
        next += 1;
        stack.push((block, true));
        stack.extend(children[block].iter().map(|child| (*child, false)));
    }
    intervals
}

/// An instruction that has been kept, and where.
struct Seen {
    block: usize,
    result: ValueId,
    kind: TypeId,
    operation: Operation,
    operands: Vec<Operand>,
    attributes: Attributes,
}

struct Simplifier<'b> {
    body: &'b mut Body,
    intervals: Vec<(usize, usize)>,
    /// How values are made that others are parts of.
    made: Vec<Option<(Operation, Vec<Operand>, bool)>>,
    seen: HashMap<u64, Vec<Seen>>,
    replaced: Replaced,
    changed: bool,
}

/// What becomes of an instruction.
enum Becomes {
    /// It is another value.
    Known(Operand),
    /// It may have been changed.
    Kept,
}

impl Simplifier<'_> {
    fn block(&mut self, index: usize) {
        let mut phis = std::mem::take(&mut self.body.function.blocks[index].phis);
        phis.retain(|phi| match self.only_value(phi) {
            Some(operand) => {
                self.replaced.insert(phi.result, operand);
                false
            }
            None => true,
        });
        self.body.function.blocks[index].phis = phis;
        let mut instructions = std::mem::take(&mut self.body.function.blocks[index].instructions);
        instructions.retain_mut(|instruction| {
            for operand in &mut instruction.operands {
                *operand = self.replaced.resolve(*operand);
            }
            let Some(result) = instruction.result else {
                return true;
            };
            let kind = self.body.value_kind(result);
            let known = match self.instruction(instruction, kind) {
                Becomes::Known(operand) => Some(operand),
                Becomes::Kept => self.same_as(index, instruction, result, kind),
            };
            // Where types are not alike the instruction stays: it is what gives the value its type.
            if let Some(operand) = known
                && self.body.is_like(self.body.kind(operand), kind)
            {
                self.replaced.insert(result, operand);
                return false;
            }
            let is_composed = matches!(
                instruction.operation,
                Operation::Extract(_)
                    | Operation::Insert(_)
                    | Operation::Construct
                    | Operation::Shuffle(_)
                    | Operation::Address { .. }
                    | Operation::Reinterpret
            );
            if is_composed {
                let Instruction {
                    operation, operands, ..
                } = &*instruction;
                let in_bounds = instruction.attributes.in_bounds;
                self.made[result.0 as usize] = Some((operation.clone(), operands.clone(), in_bounds));
            }
            true
        });
        self.body.function.blocks[index].instructions = instructions;
    }

    /// What a phi always is.
    fn only_value(&mut self, phi: &Phi) -> Option<Operand> {
        let itself = Operand::Value(phi.result);
        let kind = self.body.value_kind(phi.result);
        let mut only = None;
        for (_, operand) in &phi.incoming {
            let operand = self.replaced.resolve(*operand);
            if operand == itself || only == Some(operand) {
                continue;
            }
            if only.is_some() {
                return None;
            }
            only = Some(operand);
        }
        // What comes only of itself never gets a value, so that any will do.
        let only = only.unwrap_or_else(|| self.body.zero(kind));
        self.body.is_like(self.body.kind(only), kind).then_some(only)
    }

    /// An instruction that did the same before.
    fn same_as(
        &mut self,
        block: usize,
        instruction: &Instruction,
        result: ValueId,
        kind: TypeId,
    ) -> Option<Operand> {
        // Loads are not: something may have been stored since.
        if !is_pure(self.body, instruction) {
            return None;
        }
        let Instruction {
            operation,
            operands,
            attributes,
            ..
        } = instruction;
        let mut hasher = DefaultHasher::new();
        // Not all fields of operations are in the hash: it has to tell most apart, and the comparison below decides.
        (std::mem::discriminant(operation), operands, kind).hash(&mut hasher);
        match operation {
            Operation::Elementwise(op) | Operation::Fold(op) => op.hash(&mut hasher),
            Operation::Extended(op) => op.hash(&mut hasher),
            Operation::Extract(first) | Operation::Insert(first) => first.hash(&mut hasher),
            Operation::Address { offset, strides } => (offset, strides).hash(&mut hasher),
            Operation::Input(global) => global.hash(&mut hasher),
            Operation::Shuffle(picked) => picked.hash(&mut hasher),
            _ => {}
        }
        let seen = self.seen.entry(hasher.finish()).or_default();
        let (at, _) = self.intervals[block];
        let found = seen.iter().find(|seen| {
            let (start, end) = self.intervals[seen.block];
            // Only where the earlier one is executed whenever this one is; and alike in what it promises, as not to
            // wrap.
            (start..end).contains(&at)
                && (&seen.operation, &seen.operands) == (operation, operands)
                && (seen.kind, &seen.attributes) == (kind, attributes)
        });
        if let Some(found) = found {
            return Some(Operand::Value(found.result));
        }
        seen.push(Seen {
            block,
            result,
            kind,
            operation: operation.clone(),
            operands: operands.clone(),
            attributes: *attributes,
        });
        None
    }

    fn instruction(&mut self, instruction: &mut Instruction, kind: TypeId) -> Becomes {
        let Instruction {
            operation,
            operands,
            attributes,
            ..
        } = instruction;
        if let Some(constant) = evaluate(self.body, operation, operands, kind) {
            return Becomes::Known(constant);
        }
        match (&*operation, operands.as_slice()) {
            (Operation::Load, [pointer]) if !attributes.volatile => {
                if let Some(constant) = load(self.body, *pointer, kind) {
                    return Becomes::Known(constant);
                }
            }
            (Operation::Expect, [value, ..]) => return Becomes::Known(*value),
            (Operation::Select, [condition, accept, reject]) => {
                if accept == reject {
                    return Becomes::Known(*accept);
                }
                match plain_word(self.body, *condition) {
                    Some(0) => return Becomes::Known(*reject),
                    Some(_) => return Becomes::Known(*accept),
                    None => {}
                }
            }
            (Operation::Reinterpret, [from]) => {
                if self.body.is_like(self.body.kind(*from), kind) {
                    return Becomes::Known(*from);
                }
                // Both keep all bits, so that what is in between makes no difference.
                if let Some((Operation::Reinterpret, before, _)) = self.made_by(*from) {
                    let before = before.clone();
                    self.changed = true;
                    *operands = before;
                    if self.body.is_like(self.body.kind(operands[0]), kind) {
                        return Becomes::Known(operands[0]);
                    }
                }
            }
            (Operation::Construct, [part]) => return Becomes::Known(*part),
            (Operation::ExtractDynamic, [vector, index]) => {
                if let Some(index) = plain_word(self.body, *index) {
                    // An index outside gives the last component.
                    let last = u64::from(self.body.lanes(*vector).saturating_sub(1));
                    let (vector, first) = (*vector, index.min(last) as u32);
                    *operation = Operation::Extract(first);
                    *operands = vec![vector];
                    self.changed = true;
                }
            }
            (Operation::InsertDynamic, [vector, component, index]) => {
                if let Some(index) = plain_word(self.body, *index) {
                    // As the interpreter has it, though SPIR-V leaves it open.
                    if index >= u64::from(self.body.lanes(*vector)) {
                        return Becomes::Known(*vector);
                    }
                    let parts = vec![*vector, *component];
                    *operation = Operation::Insert(index as u32);
                    *operands = parts;
                    self.changed = true;
                }
            }
            (Operation::GenericCast(class), [pointer]) => {
                if let (Some(wanted), Some(found)) = (Place::of(*class), self.place(*pointer)) {
                    // A cast to a memory that the pointer does not point into gives null.
                    return Becomes::Known(if wanted == found {
                        *pointer
                    } else {
                        self.body.zero(kind)
                    });
                }
            }
            (Operation::PointerSemantics, [pointer]) => {
                let semantics = match self.place(*pointer) {
                    Some(Place::Global) => MemorySemantics::CrossWorkgroupMemory.0,
                    Some(Place::Local) => MemorySemantics::WorkgroupMemory.0,
                    Some(Place::Private) => 0,
                    None => return Becomes::Kept,
                };
                let words = vec![semantics.into()];
                let constant = offkit_kernel::ir::Constant::plain(kind, words);
                return Becomes::Known(self.body.constant(constant));
            }
            _ => {}
        }
        match operation {
            Operation::Extract(_) => self.extract(operation, operands, kind),
            Operation::Address { .. } => self.address(operation, operands, attributes),
            _ => Becomes::Kept,
        }
    }

    fn made_by(&self, operand: Operand) -> Option<&(Operation, Vec<Operand>, bool)> {
        match operand {
            Operand::Value(value) => self.made.get(value.0 as usize)?.as_ref(),
            Operand::Constant(_) => None,
        }
    }

    /// Follows a part of a value to where it was put in.
    fn extract(&mut self, operation: &mut Operation, operands: &mut Vec<Operand>, kind: TypeId) -> Becomes {
        let (Operation::Extract(first), [from]) = (&mut *operation, operands.as_mut_slice()) else {
            return Becomes::Kept;
        };
        let lanes = self.body.module.types.lanes(kind);
        // Not to the end of any chain: each part of a long one would walk all of it.
        for _ in 0..FARTHEST {
            let Some((made, parts, _)) = self.made_by(*from) else {
                break;
            };
            let found = match (made, parts.as_slice()) {
                (Operation::Extract(start), [whole]) => Some((*whole, start + *first)),
                (Operation::Insert(start), [whole, part]) => {
                    let end = start + self.body.lanes(*part);
                    if *first >= *start && *first + lanes <= end {
                        Some((*part, *first - start))
                    } else if *first + lanes <= *start || *first >= end {
                        Some((*whole, *first))
                    } else {
                        None
                    }
                }
                (Operation::Construct, parts) => {
                    let mut start = 0;
                    parts.iter().find_map(|part| {
                        let (from, end) = (start, start + self.body.lanes(*part));
                        start = end;
                        (*first >= from && *first + lanes <= end).then(|| (*part, *first - from))
                    })
                }
                // Of several lanes some might come from one vector and some from the other.
                (Operation::Shuffle(picked), [one, other]) if lanes == 1 => {
                    let split = self.body.lanes(*one);
                    match picked.get(*first as usize) {
                        Some(Some(lane)) if *lane < split => Some((*one, *lane)),
                        Some(Some(lane)) => Some((*other, *lane - split)),
                        _ => None,
                    }
                }
                _ => None,
            };
            let Some(found) = found else {
                break;
            };
            (*from, *first) = found;
            self.changed = true;
        }
        if *first == 0 && self.body.is_like(self.body.kind(*from), kind) {
            return Becomes::Known(*from);
        }
        match evaluate(self.body, operation, operands, kind) {
            Some(constant) => Becomes::Known(constant),
            None => Becomes::Kept,
        }
    }

    /// Takes constant indices, and constant steps before this one, into the offset.
    fn address(
        &mut self,
        operation: &mut Operation,
        operands: &mut Vec<Operand>,
        attributes: &mut Attributes,
    ) -> Becomes {
        let Operation::Address { offset, strides } = operation else {
            return Becomes::Kept;
        };
        let mut at = 0;
        while at < strides.len() {
            let index = operands[at + 1];
            let scalar = self.body.module.types.scalar(self.body.kind(index));
            let (Some(word), Some(scalar)) = (plain_word(self.body, index), scalar) else {
                at += 1;
                continue;
            };
            let place = sign_extend(scalar, word) as u64;
            *offset = offset.wrapping_add(place.wrapping_mul(strides[at]));
            strides.remove(at);
            operands.remove(at + 1);
            self.changed = true;
        }
        if let Some((
            Operation::Address {
                offset: before,
                strides,
            },
            base,
            in_bounds,
        )) = self.made_by(operands[0])
            && strides.is_empty()
        {
            let (before, base, in_bounds) = (*before, base[0], *in_bounds);
            *offset = offset.wrapping_add(before);
            operands[0] = base;
            // Two steps that both stay inside make one that does; one alone promises nothing of the sum.
            attributes.in_bounds &= in_bounds;
            self.changed = true;
        }
        if *offset == 0 && strides.is_empty() {
            return Becomes::Known(operands[0]);
        }
        Becomes::Kept
    }

    /// Where a pointer points to, by its type.
    fn place(&self, pointer: Operand) -> Option<Place> {
        match *self.body.module.types.get(self.body.kind(pointer)) {
            Type::Pointer { class, .. } => Place::of(class),
            _ => None,
        }
    }
}

/// What a generic pointer may point into.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Private,
    Local,
    Global,
}

impl Place {
    fn of(class: StorageClass) -> Option<Place> {
        match class {
            StorageClass::Function => Some(Place::Private),
            StorageClass::Workgroup => Some(Place::Local),
            StorageClass::CrossWorkgroup | StorageClass::UniformConstant => Some(Place::Global),
            _ => None,
        }
    }
}
