//! Private structs and arrays of which every part is accessed at a known place: each part becomes a variable of its own.

use std::collections::{BTreeSet, HashMap};

use offkit_kernel::builtins::Scalar;
use offkit_kernel::ir::{
    Attributes, Instruction, Operand, Operation, Type, TypeId, ValueId, Variable, scalar_size,
};
use offkit_spirv::grammar::OpenclStd100Op;

use super::body::{Body, MOST_PARTS};
use super::emit::Emit;
use super::evaluate::plain_word;

/// Splits the variables that it can; whether there were any.
pub(super) fn split(body: &mut Body) -> bool {
    if body.function.variables.is_empty() {
        return false;
    }
    // First copies become loads and stores, which is only worth it for variables that are understood with the copies
    // in them; then all is looked at anew, as only what the copies became tells which parts are accessed.
    let places = Places::of(body, true);
    let copied = expand_copies(body, &places);
    let places = Places::of(body, false);
    let plans: Vec<Option<Plan>> = (0..body.function.variables.len())
        .map(|variable| plan(body, &places, variable))
        .collect();
    if plans.iter().all(Option::is_none) {
        return copied;
    }
    rewrite(body, &places, &plans);
    true
}

/// Which addresses are of which place in which variable.
struct Places {
    of: HashMap<ValueId, (usize, u64)>,
    /// Variables that something else may be done with than is understood here.
    escaped: Vec<bool>,
    /// What is accessed of each variable.
    accesses: Vec<Vec<Access>>,
}

/// An access of a variable.
#[derive(Clone, Copy)]
struct Access {
    offset: u64,
    what: What,
}

#[derive(Clone, Copy)]
enum What {
    /// A load or store of a value of a type.
    Value(TypeId),
    /// Something that needs these bytes in memory.
    Bytes(u64),
}

/// What an instruction does with a variable.
#[derive(Clone, Copy)]
struct Use {
    variable: usize,
    /// Which operand has the address.
    operand: usize,
    access: Access,
}

impl Places {
    /// The copies that are left are understood only if they are yet to be expanded.
    fn of(body: &Body, has_copies: bool) -> Places {
        let variables = &body.function.variables;
        let mut places = Places {
            of: HashMap::new(),
            escaped: variables
                .iter()
                // Only long tables still have one: `inline` has made stores of the others.
                .map(|variable| variable.initializer.is_some())
                .collect(),
            accesses: vec![Vec::new(); variables.len()],
        };
        for (index, variable) in variables.iter().enumerate() {
            places.of.insert(variable.address, (index, 0));
        }
        // Blocks are in reverse post-order, so that addresses are made before they are used.
        for instruction in body.function.blocks.iter().flat_map(|block| &block.instructions) {
            if let (Some(result), Operation::Address { offset, strides }) =
                (instruction.result, &instruction.operation)
                && let Some((variable, start)) = places.place(instruction.operands[0])
                && strides.is_empty()
            {
                // With an index that isn't known yet, the address leads anywhere: it escapes below.
                places.of.insert(result, (variable, start.wrapping_add(*offset)));
            }
        }
        for block in &body.function.blocks {
            for phi in &block.phis {
                phi.incoming
                    .iter()
                    .for_each(|(_, operand)| places.escape(*operand));
            }
            for instruction in &block.instructions {
                if instruction
                    .result
                    .is_some_and(|result| places.of.contains_key(&result))
                {
                    continue;
                }
                let used = places.used(body, instruction);
                let is_copy = has_copies && constant_copy(body, instruction).is_some();
                for (at, operand) in instruction.operands.iter().enumerate() {
                    if used.is_none_or(|used| used.operand != at) && !is_copy {
                        places.escape(*operand);
                    }
                }
                if let Some(used) = used {
                    places.accesses[used.variable].push(used.access);
                }
            }
            if let Some(operand) = block.terminator.operand() {
                places.escape(operand);
            }
        }
        places
    }

    fn place(&self, operand: Operand) -> Option<(usize, u64)> {
        match operand {
            Operand::Value(value) => self.of.get(&value).copied(),
            Operand::Constant(_) => None,
        }
    }

    /// The place, if all is known of the variable.
    fn known(&self, operand: Operand) -> Option<(usize, u64)> {
        self.place(operand)
            .filter(|(variable, _)| !self.escaped[*variable])
    }

    fn escape(&mut self, operand: Operand) {
        if let Some((variable, _)) = self.place(operand) {
            self.escaped[variable] = true;
        }
    }

    /// What an instruction accesses, where that is understood.
    fn used(&self, body: &Body, instruction: &Instruction) -> Option<Use> {
        let Instruction {
            operation, operands, ..
        } = instruction;
        let types = &body.module.types;
        let result = instruction.result.map(|result| body.value_kind(result));
        let volatile = instruction.attributes.volatile;
        let (operand, what) = match operation {
            Operation::Load => (0, What::Value(result?)),
            Operation::Store => (0, What::Value(body.kind(*operands.get(1)?))),
            // It keeps its bytes in memory, and no others.
            Operation::Atomic { scalar, .. } => (0, What::Bytes(scalar_size(*scalar))),
            Operation::Extended(op) => {
                let scalar = match *op {
                    // What these store through their pointer is an exponent, a quotient or a sign; of others the
                    // second result is like the first.
                    OpenclStd100Op::frexp | OpenclStd100Op::remquo | OpenclStd100Op::lgamma_r => Scalar::I32,
                    _ => types.scalar(result?)?,
                };
                let size = scalar_size(scalar) * u64::from(types.lanes(result?));
                (operands.len().checked_sub(1)?, What::Bytes(size))
            }
            _ => return None,
        };
        let (variable, offset) = self.place(*operands.get(operand)?)?;
        let what = match what {
            What::Value(kind) if volatile || atoms(body, kind).is_none() => {
                What::Bytes(types.layout(kind).size)
            }
            what => what,
        };
        let size = match what {
            // Without padding at the end, as of a vector of three: nobody reads or writes that.
            What::Value(kind) => types.layout(kind).size.min(extent(body, kind)),
            What::Bytes(size) => size,
        };
        // What reaches beyond the variable is an error that the device may find.
        let room = types.layout(body.function.variables[variable].kind).size;
        let inside = offset.checked_add(size).is_some_and(|end| end <= room);
        inside.then_some(Use {
            variable,
            operand,
            access: Access { offset, what },
        })
    }
}

/// Bytes from the first to behind the last scalar of a value.
fn extent(body: &Body, kind: TypeId) -> u64 {
    let leaves = body.module.types.leaves(kind);
    leaves
        .last()
        .map_or(0, |leaf| leaf.offset + scalar_size(leaf.scalar))
}

/// The size of a copy that may be done in parts.
fn constant_copy(body: &Body, instruction: &Instruction) -> Option<u64> {
    let is_copy = matches!(instruction.operation, Operation::Copy) && !instruction.attributes.volatile;
    is_copy
        .then(|| plain_word(body, *instruction.operands.get(2)?))
        .flatten()
}

/// A scalar or vector inside a value.
#[derive(Clone, Copy)]
struct Atom {
    /// Bytes from the start of the value.
    offset: u64,
    kind: TypeId,
    /// The first of its words.
    word: u32,
}

/// The scalars, vectors and pointers of a value; none where there are too many.
fn atoms(body: &Body, kind: TypeId) -> Option<Vec<Atom>> {
    let types = &body.module.types;
    if types.layout(kind).lanes > MOST_PARTS {
        return None;
    }
    let mut atoms = Vec::new();
    let mut left = vec![Atom {
        offset: 0,
        kind,
        word: 0,
    }];
    while let Some(atom) = left.pop() {
        let parts = match types.get(atom.kind) {
            // Of nothing there may be any number: longer arrays, and twice as many parts at each level of structs.
            _ if types.layout(atom.kind).lanes == 0 => continue,
            Type::Array { count, .. } => *count,
            Type::Struct { members, .. } if members.len() as u64 > MOST_PARTS => return None,
            Type::Struct { members, .. } => members.len() as u64,
            _ if types.scalar(atom.kind).is_some() => {
                atoms.push(atom);
                continue;
            }
            _ => continue,
        };
        // The last one first, so that they come off the stack in the order of their words.
        for index in (0..parts).rev() {
            let (kind, offset, word) = types.part(atom.kind, index)?;
            left.push(Atom {
                offset: atom.offset + offset,
                kind,
                word: atom.word + word as u32,
            });
        }
    }
    Some(atoms)
}

/// Makes loads and stores of copies to or from variables that may be split.
fn expand_copies(body: &mut Body, places: &Places) -> bool {
    let mut changed = false;
    for index in 0..body.function.blocks.len() {
        let is_copy = |instruction: &Instruction| matches!(instruction.operation, Operation::Copy);
        if !body.function.blocks[index].instructions.iter().any(is_copy) {
            continue;
        }
        let instructions = std::mem::take(&mut body.function.blocks[index].instructions);
        let mut code = Vec::with_capacity(instructions.len());
        for instruction in instructions {
            let Some(pieces) = copied_pieces(body, places, &instruction) else {
                code.push(instruction);
                continue;
            };
            changed = true;
            let (target, source) = (instruction.operands[0], instruction.operands[1]);
            let aligned = |offset: u64| Attributes {
                align: Some(align_at(instruction.attributes.align.unwrap_or(1), offset)),
                ..instruction.attributes
            };
            let mut values = Vec::new();
            let mut emit = Emit {
                body,
                code: &mut code,
                line: instruction.line,
            };
            // All are loaded before any is stored: both sides may be of one variable.
            for (offset, kind) in &pieces {
                let address = emit.address(source, *offset);
                values.push(emit.load(address, *kind, aligned(*offset)));
            }
            for ((offset, _), value) in pieces.iter().zip(values) {
                let address = emit.address(target, *offset);
                emit.store(address, value, aligned(*offset));
            }
        }
        body.function.blocks[index].instructions = code;
    }
    changed
}

fn align_at(align: u32, offset: u64) -> u32 {
    match offset {
        0 => align,
        // 4096 is more than any alignment, and the shift stays within 32 bits.
        _ => align.min(1 << offset.trailing_zeros().min(12)),
    }
}

/// The parts of a copy, as the variable on one side of it has them. That is the side with fewer, as bytes don't tell what
/// they are of: the zeros for an array of vectors may come from an array of bytes.
fn copied_pieces(body: &mut Body, places: &Places, instruction: &Instruction) -> Option<Vec<(u64, TypeId)>> {
    let size = constant_copy(body, instruction)?;
    let sides = [instruction.operands[0], instruction.operands[1]];
    if sides.iter().all(|side| places.known(*side).is_none()) {
        return None;
    }
    let mut found: Vec<(bool, Vec<(u64, TypeId)>)> = Vec::new();
    for side in sides {
        let Some((variable, start)) = places.place(side) else {
            continue;
        };
        let kind = body.function.variables[variable].kind;
        let end = start.checked_add(size)?;
        // A copy that reaches beyond the variable is left as it is, for the device to find.
        if end > body.module.types.layout(kind).size {
            return None;
        }
        if let Some(pieces) = pieces_of_range(body, kind, start, end) {
            found.push((places.known(side).is_none(), pieces));
        }
    }
    // Of as many on both sides those of the one that may be split, and of the target if both may be.
    let found = found.into_iter();
    let (_, pieces) = found.min_by_key(|(is_unknown, pieces)| (pieces.len(), *is_unknown))?;
    Some(pieces)
}

/// The scalars and vectors in a range of a variable of this type, from its start, and bytes of the gaps between them.
fn pieces_of_range(body: &mut Body, kind: TypeId, start: u64, end: u64) -> Option<Vec<(u64, TypeId)>> {
    let mut members = Vec::new();
    let mut left = vec![(0, kind)];
    while let Some((offset, kind)) = left.pop() {
        let types = &body.module.types;
        let size = types.layout(kind).size;
        if size == 0 || offset >= end || offset + size <= start {
            continue;
        }
        match types.get(kind) {
            Type::Array { element, count } => {
                let step = types.layout(*element).size;
                let first = start.saturating_sub(offset) / step;
                let last = (end - offset).div_ceil(step).min(*count);
                if last.saturating_sub(first) > MOST_PARTS {
                    return None;
                }
                left.extend((first..last).rev().map(|index| (offset + index * step, *element)));
            }
            Type::Struct { members, .. } if members.len() as u64 <= MOST_PARTS => {
                for index in (0..members.len() as u64).rev() {
                    let (kind, inside, _) = types.part(kind, index)?;
                    left.push((offset + inside, kind));
                }
            }
            _ => {
                let size = extent(body, kind);
                if types.scalar(kind).is_none() || offset < start || offset + size > end {
                    return None;
                }
                members.push((offset, size, kind));
            }
        }
        // The walk is bounded as well: arrays in arrays have many parts before they have pieces.
        if (members.len() + left.len()) as u64 > 4 * MOST_PARTS {
            return None;
        }
    }
    members.sort_unstable_by_key(|(offset, ..)| *offset);
    // Bytes between the members belong to nobody, but the copy has them.
    let mut pieces = Vec::new();
    let mut at = start;
    for (offset, size, kind) in members {
        gap(body, at, offset, &mut pieces)?;
        pieces.push((offset, kind));
        at = offset + size;
    }
    gap(body, at, end, &mut pieces)?;
    pieces.iter_mut().for_each(|(offset, _)| *offset -= start);
    (pieces.len() as u64 <= MOST_PARTS).then_some(pieces)
}

/// Covers bytes with integers.
fn gap(body: &mut Body, mut at: u64, end: u64, pieces: &mut Vec<(u64, TypeId)>) -> Option<()> {
    while at < end && pieces.len() as u64 <= MOST_PARTS {
        let fits = |size: &u64| at.is_multiple_of(*size) && at + size <= end;
        let size = [8, 4, 2].into_iter().find(fits).unwrap_or(1);
        pieces.push((at, body.scalar_kind(integer(size)?)?));
        at += size;
    }
    Some(())
}

fn integer(size: u64) -> Option<Scalar> {
    Some(match size {
        1 => Scalar::I8,
        2 => Scalar::I16,
        4 => Scalar::I32,
        8 => Scalar::I64,
        _ => return None,
    })
}

/// What a variable is split into: for each range of it that is accessed as one.
struct Plan {
    ranges: Vec<Range>,
}

struct Range {
    start: u64,
    end: u64,
    split: Split,
}

enum Split {
    /// It stays in memory.
    Not,
    /// All accesses are of all of it.
    Whole { address: ValueId },
    /// One variable for each of its scalars, with their first bytes and sizes.
    Scalars(Vec<Part>),
}

struct Part {
    offset: u64,
    size: u64,
    address: ValueId,
}

/// What is accessed as one scalar or vector: the first byte, the byte behind it, and the type; none where it must stay.
type Bytes = (u64, u64, Option<TypeId>);

/// A scalar that is accessed.
#[derive(Clone, Copy)]
struct Piece {
    offset: u64,
    size: u64,
    /// Its own type, where it isn't a component of a vector.
    kind: Option<TypeId>,
    scalar: Scalar,
}

/// How to split a variable, if that changes anything.
fn plan(body: &mut Body, places: &Places, variable: usize) -> Option<Plan> {
    if places.escaped[variable] || places.accesses[variable].is_empty() {
        return None;
    }
    // All accesses, taken apart into scalars and vectors and sorted, fall into ranges that don't overlap. Each range
    // is split by itself, so that one odd access keeps only what it touches in memory.
    let mut atoms_of: Vec<Bytes> = Vec::new();
    for access in &places.accesses[variable] {
        match access.what {
            What::Bytes(size) => atoms_of.push((access.offset, access.offset + size, None)),
            What::Value(kind) => {
                for atom in atoms(body, kind)? {
                    let start = access.offset + atom.offset;
                    atoms_of.push((start, start + extent(body, atom.kind), Some(atom.kind)));
                }
            }
        }
    }
    atoms_of.sort_unstable_by_key(|(start, end, kind)| (*start, *end, *kind));
    atoms_of.dedup();
    let mut ranges: Vec<(u64, u64, Vec<Bytes>)> = Vec::new();
    for atom in atoms_of {
        match ranges.last_mut() {
            Some((_, end, atoms)) if atom.0 < *end => {
                *end = (*end).max(atom.1);
                atoms.push(atom);
            }
            _ => ranges.push((atom.0, atom.1, vec![atom])),
        }
    }
    let is_whole = |access: &Access| matches!(access.what, What::Value(kind) if body.module.types.scalar(kind).is_some());
    if let [(0, _, atoms)] = ranges.as_slice()
        && places.accesses[variable].iter().all(is_whole)
        && atoms
            .iter()
            .all(|atom| (atom.0, atom.1) == (atoms[0].0, atoms[0].1))
    {
        // It is one value already.
        return None;
    }
    let pointer = body.value_kind(body.function.variables[variable].address);
    let ranges: Vec<Range> = ranges
        .into_iter()
        .map(|(start, end, atoms)| Range {
            start,
            end,
            split: split_range(body, pointer, start, end, &atoms),
        })
        .collect();
    let useful = ranges.iter().any(|range| !matches!(range.split, Split::Not));
    useful.then_some(Plan { ranges })
}

fn split_range(body: &mut Body, pointer: TypeId, start: u64, end: u64, atoms: &[Bytes]) -> Split {
    let kinds: Option<Vec<TypeId>> = atoms.iter().map(|(.., kind)| *kind).collect();
    let Some(kinds) = kinds else {
        return Split::Not;
    };
    let is_whole = |(index, atom): (usize, &(u64, u64, _))| {
        let alike = body.is_like(kinds[index], kinds[0]);
        (atom.0, atom.1) == (start, end) && (alike || bits(body, kinds[index]) && bits(body, kinds[0]))
    };
    if atoms.iter().enumerate().all(is_whole) {
        return Split::Whole {
            address: part_variable(body, pointer, kinds[0]),
        };
    }
    let mut pieces = Vec::new();
    for ((offset, ..), kind) in atoms.iter().zip(&kinds) {
        pieces.extend(pieces_of(body, *offset, *kind));
    }
    let bounds: BTreeSet<u64> = pieces
        .iter()
        .flat_map(|piece| [piece.offset, piece.offset + piece.size])
        .collect();
    for piece in &pieces {
        let inside: Vec<u64> = bounds
            .range(piece.offset..=piece.offset + piece.size)
            .copied()
            .collect();
        // A scalar that has several parts is put together from a vector of them (see `load_parts`): they must be of
        // one size. Truths have no bytes that others could share.
        let mut sizes = inside.windows(2).map(|pair| pair[1] - pair[0]);
        let first = sizes.next().unwrap_or(0);
        let truths = pieces.iter().filter(|other| other.offset == piece.offset);
        let mixed = truths
            .into_iter()
            .any(|other| (other.scalar == Scalar::Bool) != (piece.scalar == Scalar::Bool));
        if integer(first).is_none() || sizes.any(|size| size != first) || mixed {
            return Split::Not;
        }
    }
    let bounds: Vec<u64> = bounds.into_iter().collect();
    let mut parts = Vec::new();
    for pair in bounds.windows(2) {
        let (offset, size) = (pair[0], pair[1] - pair[0]);
        let exact = pieces
            .iter()
            .find(|piece| (piece.offset, piece.size) == (offset, size));
        let kind = match exact {
            Some(Piece { kind: Some(kind), .. }) => Some(*kind),
            Some(piece) => body.scalar_kind(piece.scalar),
            None => integer(size).and_then(|scalar| body.scalar_kind(scalar)),
        };
        let Some(kind) = kind else {
            return Split::Not;
        };
        parts.push(Part {
            offset,
            size,
            address: part_variable(body, pointer, kind),
        });
    }
    Split::Scalars(parts)
}

/// Whether any bytes are a value of the type.
fn bits(body: &Body, kind: TypeId) -> bool {
    body.bits_size(kind).is_some()
}

/// The scalars of a scalar, vector or pointer.
fn pieces_of(body: &Body, offset: u64, kind: TypeId) -> Vec<Piece> {
    let types = &body.module.types;
    let is_vector = matches!(types.get(kind), Type::Vector { .. });
    let leaves = types.leaves(kind).into_iter();
    leaves
        .map(|leaf| Piece {
            offset: offset + leaf.offset,
            size: scalar_size(leaf.scalar),
            kind: (!is_vector).then_some(kind),
            scalar: leaf.scalar,
        })
        .collect()
}

/// A variable for a part. It is promoted right away, so that the type of its address says little.
fn part_variable(body: &mut Body, pointer: TypeId, kind: TypeId) -> ValueId {
    let address = body.new_value(pointer);
    body.function.variables.push(Variable {
        address,
        kind,
        align: None,
        initializer: None,
    });
    address
}

impl Emit<'_> {
    /// A part of a value.
    fn part(&mut self, value: Operand, word: u32, kind: TypeId) -> Operand {
        if word == 0 && self.body.is_like(self.body.kind(value), kind) {
            return value;
        }
        self.value(kind, Operation::Extract(word), vec![value])
    }

    fn whole(&mut self, mut values: Vec<Operand>, kind: TypeId) -> Operand {
        match values.pop() {
            Some(only) if values.is_empty() && self.body.is_like(self.body.kind(only), kind) => only,
            last => {
                values.extend(last);
                self.value(kind, Operation::Construct, values)
            }
        }
    }

    /// Loads a scalar from the parts that it has.
    fn load_parts(&mut self, parts: &[Part], kind: TypeId) -> Option<Operand> {
        if let [part] = parts {
            return Some(self.load(Operand::Value(part.address), kind, Attributes::default()));
        }
        let (count, scalar) = (parts.len() as u32, integer(parts.first()?.size)?);
        let (small, vector) = (
            self.body.scalar_kind(scalar)?,
            self.body.vector_kind(scalar, count)?,
        );
        let loads = parts.iter().map(|part| {
            let address = Operand::Value(part.address);
            self.load(address, small, Attributes::default())
        });
        let loads = loads.collect();
        let vector = self.value(vector, Operation::Construct, loads);
        Some(self.value(kind, Operation::Reinterpret, vec![vector]))
    }

    /// Stores a scalar to the parts that it has.
    fn store_parts(&mut self, parts: &[Part], value: Operand) -> Option<()> {
        if let [part] = parts {
            self.store(Operand::Value(part.address), value, Attributes::default());
            return Some(());
        }
        let (count, scalar) = (parts.len() as u32, integer(parts.first()?.size)?);
        let (small, vector) = (
            self.body.scalar_kind(scalar)?,
            self.body.vector_kind(scalar, count)?,
        );
        let vector = self.value(vector, Operation::Reinterpret, vec![value]);
        for (part, word) in parts.iter().zip(0..) {
            let value = self.value(small, Operation::Extract(word), vec![vector]);
            self.store(Operand::Value(part.address), value, Attributes::default());
        }
        Some(())
    }
}

/// Makes accesses of parts of the accesses of variables that are split.
fn rewrite(body: &mut Body, places: &Places, plans: &[Option<Plan>]) {
    for index in 0..body.function.blocks.len() {
        let instructions = std::mem::take(&mut body.function.blocks[index].instructions);
        let mut code = Vec::with_capacity(instructions.len());
        for instruction in instructions {
            if rewrite_access(body, places, plans, &instruction, &mut code).is_none() {
                code.push(instruction);
            }
        }
        body.function.blocks[index].instructions = code;
    }
}

/// Writes what an access becomes; nothing where it stays.
fn rewrite_access(
    body: &mut Body,
    places: &Places,
    plans: &[Option<Plan>],
    instruction: &Instruction,
    code: &mut Vec<Instruction>,
) -> Option<()> {
    let used = places.used(body, instruction)?;
    let plan = plans.get(used.variable)?.as_ref()?;
    let What::Value(kind) = used.access.what else {
        return None;
    };
    let start = used.access.offset;
    let atoms = atoms(body, kind)?;
    let range_of = |atom: &Atom| {
        let at = start + atom.offset;
        plan.ranges
            .iter()
            .find(|range| range.start <= at && at < range.end)
    };
    let stays = |atom: &Atom| range_of(atom).is_none_or(|range| matches!(range.split, Split::Not));
    if atoms.iter().all(stays) {
        return None;
    }
    let stored = match instruction.operation {
        Operation::Store => Some(instruction.operands[1]),
        _ => None,
    };
    let base = instruction.attributes.align;
    let base = base.unwrap_or(u32::try_from(body.module.types.layout(kind).align).unwrap_or(1));
    let mut emit = Emit {
        body,
        code,
        line: instruction.line,
    };
    let mut values = Vec::new();
    for atom in &atoms {
        let at = start + atom.offset;
        let value = stored.map(|stored| emit.part(stored, atom.word, atom.kind));
        match range_of(atom).map(|range| &range.split) {
            Some(Split::Whole { address }) => match value {
                Some(value) => emit.store(Operand::Value(*address), value, Attributes::default()),
                None => values.push(emit.load(Operand::Value(*address), atom.kind, Attributes::default())),
            },
            Some(Split::Scalars(parts)) => {
                let mut words = Vec::new();
                for (piece, word) in pieces_of(emit.body, at, atom.kind).into_iter().zip(0..) {
                    let kind = match piece.kind {
                        Some(kind) => kind,
                        None => emit.body.scalar_kind(piece.scalar)?,
                    };
                    let first = parts.partition_point(|part| part.offset < piece.offset);
                    let end = parts.partition_point(|part| part.offset < piece.offset + piece.size);
                    match value {
                        Some(value) => {
                            let value = emit.part(value, word, kind);
                            emit.store_parts(&parts[first..end], value)?;
                        }
                        None => words.push(emit.load_parts(&parts[first..end], kind)?),
                    }
                }
                if value.is_none() {
                    values.push(emit.whole(words, atom.kind));
                }
            }
            _ => {
                let variable = Operand::Value(emit.body.function.variables[used.variable].address);
                let address = emit.address(variable, at);
                // What was known of the whole value's place says less of a part in its middle.
                let attributes = Attributes {
                    align: Some(align_at(base, atom.offset)),
                    ..instruction.attributes
                };
                match value {
                    Some(value) => emit.store(address, value, attributes),
                    None => values.push(emit.load(address, atom.kind, attributes)),
                }
            }
        }
    }
    if let Some(result) = instruction.result {
        // The value keeps its number; a copy of it is forwarded later.
        let operation = Operation::Construct;
        emit.push(Some(result), operation, values, Attributes::default());
    }
    Some(())
}
