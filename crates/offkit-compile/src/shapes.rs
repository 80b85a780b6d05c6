//! What the work-items of a vector agree on: the shape of each word of each value, and where control may part them.
//!
//! One fixpoint over the function. A word starts out unknown and only ever becomes less regular; a branch whose
//! condition becomes varying parts the work-items, so that values chosen where they meet again vary as well.

mod ids;
mod parting;
mod wrapping;

use std::collections::{BTreeMap, BTreeSet};

use offkit_kernel::builtins::Scalar;
use offkit_kernel::builtins::convert::Conversion;
use offkit_kernel::ir::{
    BallotQuery, Collective, CollectiveKind, Constant, Function, GroupScope, Home, Instruction, Module,
    Operand, Operation, Terminator, TypeId, ValueId,
};
use offkit_spirv::grammar::{BuiltIn, Op};

use crate::definitions::Definitions;
use crate::graph::{Graph, Rounds};
use crate::interleave::Interleaved;
use crate::{Cut, Refusal, Variant};

/// What a word is for the work-items of a vector.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// The same for all.
    Uniform,
    /// Each has that of the one before and this much more, as integers of the word's width.
    Strided(i64),
    /// Anything.
    Varying,
}

impl Shape {
    /// The shapes that the words of a built-in variable have where work-items read it. What a value is elsewhere may be less
    /// regular, since they may have read it at different times.
    pub fn of_input(built_in: BuiltIn, variant: Variant) -> [Shape; 4] {
        use Shape::{Strided, Uniform, Varying};
        match (built_in, variant.cut) {
            // Groups of one work-item: local ids are zero, and the number of a group is the global id of its
            // work-item.
            (BuiltIn::LocalInvocationId | BuiltIn::LocalInvocationIndex, Cut::Single) => return [Uniform; 4],
            // A vector may reach from one group that is seen into the next, where local ids begin again.
            (BuiltIn::LocalInvocationIndex, Cut::Merged) => return [Varying; 4],
            (BuiltIn::LocalInvocationId | BuiltIn::WorkgroupId, Cut::Merged) => {
                return match variant.rows {
                    true => [Varying, Uniform, Uniform, Uniform],
                    false => [Varying; 4],
                };
            }
            (BuiltIn::WorkgroupId, Cut::Single) => {
                return Shape::of_input(BuiltIn::GlobalInvocationId, variant);
            }
            _ => {}
        }
        match built_in {
            // Where a vector lies within a row, only the first dimension differs in it.
            BuiltIn::LocalInvocationId | BuiltIn::GlobalInvocationId if variant.rows => {
                [Strided(1), Uniform, Uniform, Uniform]
            }
            BuiltIn::GlobalLinearId if variant.rows => [Strided(1); 4],
            // Work-items of a vector follow each other by their numbers, whatever rows they are in.
            BuiltIn::LocalInvocationIndex | BuiltIn::SubgroupLocalInvocationId => [Strided(1); 4],
            BuiltIn::LocalInvocationId
            | BuiltIn::GlobalInvocationId
            | BuiltIn::GlobalLinearId
            | BuiltIn::SubgroupEqMask
            | BuiltIn::SubgroupGeMask
            | BuiltIn::SubgroupGtMask
            | BuiltIn::SubgroupLeMask
            | BuiltIn::SubgroupLtMask => [Varying; 4],
            _ => [Uniform; 4],
        }
    }
}

/// The shapes of all values of a function.
#[derive(Clone, Debug)]
pub struct Shapes {
    /// Where the words of each value begin, and behind the last.
    first: Vec<usize>,
    words: Vec<Option<Shape>>,
    may_wrap: Vec<bool>,
    from_ids: Vec<bool>,
    global_ids: BTreeMap<ValueId, u32>,
}

/// Words of all values together.
const MOST_WORDS: usize = 1 << 20;

impl Shapes {
    /// The shapes of a value's words.
    pub fn of(&self, value: ValueId) -> impl Iterator<Item = Shape> + '_ {
        let index = value.0 as usize;
        self.words[self.first[index]..self.first[index + 1]]
            .iter()
            .map(|shape| shape.unwrap_or(Shape::Uniform))
    }

    /// The shape of one word.
    pub fn word(&self, value: ValueId, word: usize) -> Shape {
        self.words[self.first[value.0 as usize] + word].unwrap_or(Shape::Uniform)
    }

    /// Whether all words of an operand are the same for all work-items.
    pub fn is_uniform(&self, operand: Operand) -> bool {
        match operand {
            Operand::Constant(_) => true,
            Operand::Value(value) => self.of(value).all(|shape| shape == Shape::Uniform),
        }
    }

    /// Whether a strided value is an address, or part of one, that is computed from 32-bit numbers which may wrap from one
    /// work-item to the next. In an access for some of them it has to be that of one of those.
    pub fn may_wrap(&self, value: ValueId) -> bool {
        self.may_wrap[value.0 as usize]
    }

    /// The dimension of which a value is the global id without the offset, computed from parts that vary. It is made anew,
    /// and not of them: what its first lane has of them it may have left behind when it took no part.
    pub fn global_id(&self, value: ValueId) -> Option<u32> {
        self.global_ids.get(&value).copied()
    }

    /// Whether a varying value is computed from ids alone, with integers: an address like that is often strided for all
    /// that can be seen when the code runs.
    pub fn is_from_ids(&self, value: ValueId) -> bool {
        self.from_ids[value.0 as usize]
    }

    /// Whether the work-items of a vector may leave a block by different ways.
    pub fn parts(&self, terminator: &Terminator) -> bool {
        match terminator {
            Terminator::Branch {
                condition,
                accept,
                reject,
                ..
            } => accept != reject && !self.is_uniform(*condition),
            Terminator::Switch { selector, .. } => !self.is_uniform(*selector),
            _ => false,
        }
    }
}

struct Analysis<'a> {
    module: &'a Module,
    function: &'a Function,
    variant: Variant,
    graph: &'a Graph,
    rounds: &'a Rounds,
    definitions: &'a Definitions,
    interleaved: &'a Interleaved,
    /// Values that are nothing but addresses, or parts of such.
    addresses: &'a [bool],
    shapes: Shapes,
    /// Blocks where work-items that were parted may meet: which of several values a phi has there differs.
    joins: Vec<bool>,
    changed: bool,
}

/// Finds the shapes of a function's values, some of which are known to vary, and some of which are nothing but addresses.
pub(crate) fn shapes(
    module: &Module,
    function: &Function,
    variant: Variant,
    (graph, rounds): (&Graph, &Rounds),
    (definitions, addresses): (&Definitions, &[bool]),
    (varying, interleaved): (&BTreeSet<ValueId>, &Interleaved),
) -> Result<Shapes, Refusal> {
    let mut first = Vec::with_capacity(function.values.len() + 1);
    let mut count = 0usize;
    for kind in &function.values {
        first.push(count);
        count = count.saturating_add(module.types.lanes(*kind) as usize);
        if count > MOST_WORDS {
            return Err(Refusal(format!("its values have more than {MOST_WORDS} words")));
        }
    }
    first.push(count);
    let mut analysis = Analysis {
        module,
        function,
        variant,
        graph,
        rounds,
        definitions,
        interleaved,
        addresses,
        shapes: Shapes {
            first,
            words: vec![None; count],
            may_wrap: vec![false; function.values.len()],
            from_ids: vec![false; function.values.len()],
            global_ids: BTreeMap::new(),
        },
        joins: vec![false; function.blocks.len()],
        changed: true,
    };
    for value in varying {
        analysis.set_all(*value, Shape::Varying);
    }
    analysis.run();
    // Shapes are final by now: these follow from them and need no rounds.
    analysis.find_global_ids();
    analysis.find_what_may_wrap();
    analysis.find_what_is_from_ids();
    Ok(analysis.shapes)
}

/// What two shapes have in common.
fn meet(a: Option<Shape>, b: Option<Shape>) -> Option<Shape> {
    match (a, b) {
        (None, other) | (other, None) => other,
        (Some(a), Some(b)) => Some(if a == b { a } else { Shape::Varying }),
    }
}

fn strided(by: i64) -> Shape {
    match by {
        0 => Shape::Uniform,
        by => Shape::Strided(by),
    }
}

impl Analysis<'_> {
    fn run(&mut self) {
        // Nobody is there to differ from: all stays unknown, which reads as uniform.
        if self.variant.width == 1 {
            return;
        }
        for index in 0..self.function.parameters.len() {
            self.set_all(ValueId(index as u32), Shape::Uniform);
        }
        for variable in &self.function.variables {
            // Each work-item has its own.
            let part = self.interleaved.part(Operand::Value(variable.address));
            let shape = part.map_or(Shape::Varying, |part| strided(part as i64));
            self.set_all(variable.address, shape);
        }
        while std::mem::take(&mut self.changed) {
            for block in &self.graph.order {
                self.block(*block);
            }
            self.part();
        }
    }

    fn words(&self, operand: Operand) -> Vec<Option<Shape>> {
        match operand {
            Operand::Constant(_) => {
                let lanes = self.module.operand_lanes(self.function, operand) as usize;
                vec![Some(Shape::Uniform); lanes]
            }
            Operand::Value(ValueId(index)) => {
                let index = index as usize;
                self.shapes.words[self.shapes.first[index]..self.shapes.first[index + 1]].to_vec()
            }
        }
    }

    /// The shape of a scalar operand.
    fn scalar(&self, operand: Operand) -> Option<Shape> {
        self.words(operand).first().copied().flatten()
    }

    /// What all words of all operands have in common, if each is the same for everybody; else varying.
    fn all(&self, operands: &[Operand]) -> Option<Shape> {
        let mut all = Some(Shape::Uniform);
        for operand in operands {
            for word in self.words(*operand) {
                match word {
                    None => all = if all == Some(Shape::Varying) { all } else { None },
                    Some(Shape::Uniform) => {}
                    Some(_) => return Some(Shape::Varying),
                }
            }
        }
        all
    }

    fn set(&mut self, value: ValueId, word: usize, shape: Option<Shape>) {
        let place = &mut self.shapes.words[self.shapes.first[value.0 as usize] + word];
        // With what it was: a word changes twice at most, and so the rounds come to an end.
        let new = meet(*place, shape);
        if *place != new {
            *place = new;
            self.changed = true;
        }
    }

    fn set_all(&mut self, value: ValueId, shape: Shape) {
        let index = value.0 as usize;
        for word in 0..self.shapes.first[index + 1] - self.shapes.first[index] {
            self.set(value, word, Some(shape));
        }
    }

    fn block(&mut self, block: usize) {
        let function = self.function;
        for phi in &function.blocks[block].phis {
            let mut words: Vec<Option<Shape>> = Vec::new();
            let mut same: Option<Operand> = None;
            let mut differ = false;
            for (from, operand) in &phi.incoming {
                if !self.graph.is_reachable(from.0 as usize) {
                    continue;
                }
                let incoming = self.words(*operand);
                words.resize(incoming.len(), None);
                for (word, shape) in words.iter_mut().zip(incoming) {
                    *word = meet(*word, shape);
                }
                // Of one and the same value by all ways there is nothing to choose, whoever meets.
                differ |= same.is_some_and(|other| other != *operand);
                same = Some(*operand);
            }
            for (index, shape) in words.into_iter().enumerate() {
                let shape = if self.joins[block] && differ {
                    Some(Shape::Varying)
                } else {
                    shape
                };
                self.set(phi.result, index, shape);
            }
        }
        for instruction in &function.blocks[block].instructions {
            if let Some(result) = instruction.result {
                let words = self.instruction(instruction, function.values[result.0 as usize]);
                let count = self.shapes.first[result.0 as usize + 1] - self.shapes.first[result.0 as usize];
                for index in 0..count {
                    let shape = match &words {
                        Words::Each(words) => words.get(index).copied().flatten(),
                        Words::All(shape) => *shape,
                    };
                    self.set(result, index, shape);
                }
            }
        }
    }

    fn instruction(&self, instruction: &Instruction, result: TypeId) -> Words {
        let operands = &instruction.operands;
        match &instruction.operation {
            Operation::Elementwise(op) => self.elementwise(*op, operands),
            Operation::Select => self.select(operands),
            Operation::Convert { kind, .. } => self.convert(*kind, operands, result, instruction.result),
            // A pointer and its number, and numbers of the same width, are the same.
            Operation::Reinterpret => {
                let [from, to] = [self.kind(operands[0]), result].map(|kind| self.module.types.scalar(kind));
                let is_float = |scalar: Option<Scalar>| scalar.is_some_and(Scalar::is_float);
                if from.map(Scalar::bits) == to.map(Scalar::bits) && !is_float(from) && !is_float(to) {
                    Words::Each(self.words(operands[0]))
                } else {
                    Words::All(self.all(operands))
                }
            }
            Operation::Extract(first) => Words::Each(
                self.words(operands[0])
                    .into_iter()
                    .skip(*first as usize)
                    .collect(),
            ),
            Operation::Insert(first) => {
                let mut words = self.words(operands[0]);
                for (index, shape) in self.words(operands[1]).into_iter().enumerate() {
                    if let Some(word) = words.get_mut(*first as usize + index) {
                        *word = shape;
                    }
                }
                Words::Each(words)
            }
            Operation::Construct => {
                Words::Each(operands.iter().flat_map(|operand| self.words(*operand)).collect())
            }
            Operation::Shuffle(lanes) => {
                let both: Vec<_> = operands.iter().flat_map(|operand| self.words(*operand)).collect();
                let pick = |lane: &Option<u32>| match lane {
                    Some(lane) => both.get(*lane as usize).copied().flatten(),
                    None => Some(Shape::Uniform),
                };
                Words::Each(lanes.iter().map(pick).collect())
            }
            Operation::Address { strides, .. } => {
                let mut sum = self.scalar(operands[0]);
                for (index, stride) in operands[1..].iter().zip(strides) {
                    // SPIR-V takes indices of addresses for signed.
                    let index = self.extended(*index, 64, true, instruction.result);
                    sum = add(sum, scale(index, *stride as i64));
                }
                Words::Each(vec![sum.map(|shape| self.near(shape))])
            }
            Operation::Input(global) => match self.module.globals[global.0 as usize].home {
                Home::Input(built_in) => {
                    Words::Each(Shape::of_input(built_in, self.variant).map(Some).to_vec())
                }
                _ => Words::All(Some(Shape::Varying)),
            },
            // From one address work-items read one value, as they do so at a time. Of volatile memory nothing is
            // taken for granted.
            Operation::Load if !instruction.attributes.volatile => Words::All(self.all(operands)),
            Operation::Collective(collective) => Words::All(self.collective(collective, operands)),
            Operation::Ballot(
                BallotQuery::Bit | BallotQuery::Count | BallotQuery::FindLow | BallotQuery::FindHigh,
            )
            | Operation::Fold(_)
            | Operation::ExtractDynamic
            | Operation::InsertDynamic
            | Operation::PointerSemantics
            | Operation::Extended(_) => Words::All(self.all(operands)),
            // Strides are lost: a pointer that leads elsewhere becomes null, and others don't.
            Operation::GenericCast(_) => Words::All(self.all(operands)),
            Operation::Expect => Words::Each(self.words(operands[0])),
            // That it succeeded.
            Operation::Print => Words::All(Some(Shape::Uniform)),
            _ => Words::All(Some(Shape::Varying)),
        }
    }

    fn kind(&self, operand: Operand) -> TypeId {
        self.module.operand_type(self.function, operand)
    }

    fn elementwise(&self, op: Op, operands: &[Operand]) -> Words {
        let all = self.all(operands);
        // Uniform, or not known yet. What is strided counts as varying here, and is looked at next.
        if all != Some(Shape::Varying) || operands.is_empty() {
            return Words::All(all);
        }
        if let Some(axis) = self.global_id(op, operands) {
            return Words::Each(vec![Some(
                Shape::of_input(BuiltIn::GlobalInvocationId, self.variant)[axis as usize],
            )]);
        }
        let lanes: Vec<Vec<Option<Shape>>> = operands.iter().map(|operand| self.words(*operand)).collect();
        let count = lanes.iter().map(Vec::len).max().unwrap_or(0);
        let at = |operand: usize, lane: usize| {
            let words = lanes.get(operand)?;
            let lane = if words.len() == 1 { 0 } else { lane };
            words.get(lane).copied().flatten()
        };
        let constant = |operand: usize, lane: usize| match operands.get(operand)? {
            Operand::Constant(id) => self.number(&self.module.constants[id.0 as usize], lane),
            Operand::Value(_) => None,
        };
        let lane = |lane: usize| {
            let (a, b) = (at(0, lane), at(1, lane));
            match op {
                Op::IAdd => add(a, b),
                Op::ISub => add(a, scale(b, -1)),
                Op::SNegate => scale(a, -1),
                Op::IMul => match (constant(0, lane), constant(1, lane)) {
                    (_, Some(by)) => scale(a, by),
                    (Some(by), _) => scale(b, by),
                    _ => uniform_or_varying(&[a, b]),
                },
                Op::ShiftLeftLogical => match constant(1, lane) {
                    // The factor has a sign, which 63 would set.
                    Some(by @ 0..=62) => scale(a, 1 << by),
                    _ => uniform_or_varying(&[a, b]),
                },
                _ => uniform_or_varying(
                    &(0..operands.len())
                        .map(|index| at(index, lane))
                        .collect::<Vec<_>>(),
                ),
            }
        };
        Words::Each((0..count).map(lane).collect())
    }

    fn select(&self, operands: &[Operand]) -> Words {
        let [condition, accept, reject] = [0, 1, 2].map(|index| self.words(operands[index]));
        let lane = |lane: usize| {
            let condition = condition
                .get(if condition.len() == 1 { 0 } else { lane })
                .copied()
                .flatten();
            let values = meet(
                accept.get(lane).copied().flatten(),
                reject.get(lane).copied().flatten(),
            );
            match condition {
                None => None,
                Some(Shape::Uniform) => values,
                Some(_) => Some(Shape::Varying),
            }
        };
        Words::Each((0..accept.len()).map(lane).collect())
    }

    fn convert(
        &self,
        kind: Conversion,
        operands: &[Operand],
        result: TypeId,
        value: Option<ValueId>,
    ) -> Words {
        let words = self.words(operands[0]);
        let (Some(from), Some(to)) = (
            self.module.types.scalar(self.kind(operands[0])),
            self.module.types.scalar(result),
        ) else {
            return Words::All(self.all(operands));
        };
        let signed = match kind {
            Conversion::Signed => true,
            Conversion::Unsigned => false,
            _ => return Words::All(self.all(operands)),
        };
        if !from.is_integer() || !to.is_integer() {
            return Words::All(self.all(operands));
        }
        // Strides are told modulo the width, and so are right for every narrower one.
        if to.bits() <= from.bits() {
            return Words::Each(words);
        }
        if words.len() == 1 {
            return Words::Each(vec![self.extended(operands[0], to.bits(), signed, value)]);
        }
        Words::All(self.all(operands))
    }

    /// Bits of a scalar.
    fn width(&self, operand: Operand) -> u32 {
        let scalar = self.module.types.scalar(self.kind(operand));
        scalar.map_or(64, Scalar::bits)
    }

    /// A lane of a constant, as a number with a sign; `None` of what is no number.
    fn number(&self, constant: &Constant, lane: usize) -> Option<i64> {
        let scalar = self.module.types.scalar(constant.kind)?;
        let lanes = self.module.types.lanes(constant.kind);
        let word = constant.words.get(if lanes == 1 { 0 } else { lane });
        let word = word.copied().unwrap_or(0);
        let is_number = constant.relocations.is_empty();
        is_number.then(|| offkit_kernel::builtins::sign_extend(scalar, word))
    }

    fn find_what_is_from_ids(&mut self) {
        let function = self.function;
        for block in &self.graph.order {
            for instruction in &function.blocks[*block].instructions {
                let Some(result) = instruction.result else {
                    continue;
                };
                let is_computed = match &instruction.operation {
                    Operation::Address { .. }
                    | Operation::Select
                    | Operation::Reinterpret
                    | Operation::Elementwise(_)
                    | Operation::Extract(_)
                    | Operation::Convert {
                        kind: Conversion::Signed | Conversion::Unsigned,
                        ..
                    } => true,
                    // Of work-items that lie in groups of others side by side.
                    Operation::Input(_) => self.variant.cut != Cut::AsSeen,
                    Operation::Extended(_) => {
                        let scalar = self.module.types.scalar(function.values[result.0 as usize]);
                        scalar.is_some_and(Scalar::is_integer)
                    }
                    _ => false,
                };
                let is_from_ids = |operand: &Operand| match operand {
                    Operand::Value(value) => {
                        let mut shapes = self.shapes.of(*value);
                        self.shapes.from_ids[value.0 as usize] || shapes.all(|shape| shape != Shape::Varying)
                    }
                    Operand::Constant(_) => true,
                };
                self.shapes.from_ids[result.0 as usize] =
                    is_computed && instruction.operands.iter().all(is_from_ids);
            }
        }
    }

    fn collective(&self, collective: &Collective, operands: &[Operand]) -> Option<Shape> {
        use CollectiveKind as K;
        // Where a kernel sees sub-groups, each of them is one vector.
        match (collective.scope, collective.kind) {
            (_, K::Reduce(_) | K::All | K::Any | K::AllEqual | K::BroadcastFirst) => Some(Shape::Uniform),
            (GroupScope::WorkGroup, K::Broadcast) => Some(Shape::Uniform),
            (GroupScope::SubGroup, K::Broadcast | K::Shuffle) => match self.scalar(*operands.get(1)?) {
                None => None,
                Some(Shape::Uniform) => Some(Shape::Uniform),
                Some(_) => Some(Shape::Varying),
            },
            (GroupScope::SubGroup, K::Ballot) => Some(Shape::Uniform),
            _ => Some(Shape::Varying),
        }
    }
}

/// The shapes of a result's words.
enum Words {
    Each(Vec<Option<Shape>>),
    All(Option<Shape>),
}

fn add(a: Option<Shape>, b: Option<Shape>) -> Option<Shape> {
    let stride = |shape| match shape {
        Shape::Uniform => Some(0),
        Shape::Strided(by) => Some(by),
        Shape::Varying => None,
    };
    match (stride(a?), stride(b?)) {
        // Modulo 2^64, and so modulo the width of every narrower integer.
        (Some(a), Some(b)) => Some(strided(a.wrapping_add(b))),
        _ => Some(Shape::Varying),
    }
}

fn scale(shape: Option<Shape>, by: i64) -> Option<Shape> {
    Some(match shape? {
        Shape::Uniform => Shape::Uniform,
        Shape::Strided(stride) => strided(stride.wrapping_mul(by)),
        Shape::Varying => Shape::Varying,
    })
}

fn uniform_or_varying(shapes: &[Option<Shape>]) -> Option<Shape> {
    let mut all = Some(Shape::Uniform);
    for shape in shapes {
        match shape {
            None => all = None,
            Some(Shape::Uniform) => {}
            Some(_) => return Some(Shape::Varying),
        }
    }
    all
}
