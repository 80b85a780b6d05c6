//! From the SSA form to steps: values get registers, operations get functions.

use std::collections::{BTreeSet, HashMap};

use super::operations::Decoder;
use super::space::LARGEST_SEGMENT;
use super::step::{Edge, Function, Move, PrivateVariable, Slot, Step};
use crate::launch::Fault;
use offkit_kernel::ReadError;
use offkit_kernel::builtins::Scalar;
use offkit_kernel::ir::{self, BlockId, Home, Instruction, Operand, Operation, Terminator, scalar_size};

/// Frames of more words are refused.
const LARGEST_FRAME: u64 = 1 << 20;

/// Everything a launch executes.
pub(super) struct Code {
    pub(super) functions: Vec<Function>,
    /// How many memory accesses there are.
    pub(super) sites: u32,
}

/// Makes a verified module executable. `addresses` are those of the program-scope variables.
pub(super) fn decode(module: &ir::Module, addresses: &[u64]) -> Result<Code, ReadError> {
    // The first is for what has none of its own: the strings of printf, and blocks of sub-groups.
    let mut sites = 1;
    let functions = module.functions.iter().map(|function| {
        decode_function(module, function, addresses, &mut sites)
            .map_err(|error| error.in_function(&function.name))
    });
    Ok(Code {
        functions: functions.collect::<Result<_, _>>()?,
        sites,
    })
}

fn decode_function(
    module: &ir::Module,
    function: &ir::Function,
    addresses: &[u64],
    sites: &mut u32,
) -> Result<Function, ReadError> {
    let reachable = function.reachable();
    let mut registers = Registers::assign(module, function, addresses, &reachable)?;
    let parameters: Vec<(Slot, u32)> = (0..function.parameters.len() as u32)
        .map(|index| {
            (
                registers.values[index as usize],
                module.types.lanes(function.values[index as usize]),
            )
        })
        .collect();
    let pointee_size = |kind| match module.types.get(kind) {
        ir::Type::Pointer { pointee, .. } => private_size(module.types.layout(*pointee).size),
        _ => Ok(0),
    };
    let mut copies = Vec::new();
    for (parameter, (slot, _)) in function.parameters.iter().zip(&parameters) {
        if parameter.by_value {
            copies.push((*slot, pointee_size(parameter.kind)?));
        }
    }
    let mut variables = Vec::new();
    for variable in &function.variables {
        let size = private_size(module.types.layout(variable.kind).size)?;
        let initializer = match variable.initializer {
            Some(constant) => Some(constant_bytes(module, constant, addresses)?.into()),
            None => None,
        };
        variables.push(PrivateVariable {
            address: registers.values[variable.address.0 as usize],
            size,
            initializer,
        });
    }

    let mut decoder = Decoder {
        module,
        function,
        registers: &mut registers,
        sites,
        steps: Vec::new(),
    };
    let mut lines = Vec::new();
    let mut starts = vec![0; function.blocks.len()];
    let mut calls = BTreeSet::new();
    let mut has_collectives = false;
    for (index, block) in function
        .blocks
        .iter()
        .enumerate()
        .filter(|(index, _)| reachable[*index])
    {
        starts[index] = decoder.steps.len() as u32;
        for instruction in &block.instructions {
            match &instruction.operation {
                Operation::Call(function) => _ = calls.insert(function.0),
                Operation::Collective(_) => has_collectives = true,
                _ => {}
            }
            decoder.operation(instruction)?;
            // An instruction becomes no step, or one, or several.
            lines.resize(decoder.steps.len(), instruction.line);
        }
        // Paid at the end of a block for all its steps, so that straight code looks at no limit.
        let cost = decoder.steps.len() as u32 - starts[index] + 1;
        let end = terminator(&mut decoder, BlockId(index as u32), &block.terminator, cost);
        decoder.steps.push(end);
        lines.push(block.line);
    }
    let mut steps = decoder.steps;
    for step in &mut steps {
        // Until here targets were blocks.
        for edge in edges(step) {
            edge.target = starts[edge.target as usize];
        }
    }
    let successors = function.blocks.iter().map(|block| {
        block
            .terminator
            .successors()
            .into_iter()
            .map(|BlockId(successor)| successor)
            .collect()
    });
    let successors = successors.collect();
    Ok(Function {
        name: function.name.clone(),
        imported: function.blocks.is_empty(),
        steps,
        lines,
        starts,
        successors,
        constants: registers.constants,
        registers: registers.next,
        parameters,
        copies,
        variables,
        calls: calls.into_iter().collect(),
        has_collectives,
        locals: registers.locals.into_iter().collect(),
    })
}

fn private_size(size: u64) -> Result<u32, ReadError> {
    let fits = u32::try_from(size)
        .ok()
        .filter(|size| u64::from(*size) <= LARGEST_SEGMENT);
    fits.ok_or_else(|| ReadError::unsupported(format!("private variables of {size} bytes")))
}

/// The bytes of a constant in memory, with the addresses of variables filled in.
pub(super) fn constant_bytes(
    module: &ir::Module,
    constant: ir::ConstantId,
    addresses: &[u64],
) -> Result<Vec<u8>, ReadError> {
    let constant = &module.constants[constant.0 as usize];
    let size = module.types.layout(constant.kind).size;
    let size = usize::try_from(size)
        .ok()
        .filter(|size| *size as u64 <= LARGEST_SEGMENT);
    let size = size.ok_or_else(|| ReadError::unsupported("constants of more than a gigabyte"))?;
    let mut bytes = vec![0; size];
    // It is zero throughout. Such a table may be large, and its scalars need not be listed.
    if constant.words.is_empty() {
        return Ok(bytes);
    }
    let mut words = constant.words.clone();
    for (word, global) in &constant.relocations {
        if let Some(word) = words.get_mut(*word as usize) {
            *word = word.wrapping_add(addresses[global.0 as usize]);
        }
    }
    for (leaf, word) in module.types.all_leaves(constant.kind).into_iter().zip(words) {
        let size = scalar_size(leaf.scalar) as usize;
        let start = usize::try_from(leaf.offset).unwrap_or(usize::MAX);
        if let Some(target) = bytes.get_mut(start..).and_then(|rest| rest.get_mut(..size)) {
            target.copy_from_slice(&word.to_le_bytes()[..size]);
        }
    }
    Ok(bytes)
}

/// What an instruction gives words of without a change, and the first of them.
pub(super) fn part_of(
    module: &ir::Module,
    function: &ir::Function,
    instruction: &Instruction,
) -> Option<(Operand, u32)> {
    let operand = *instruction.operands.first()?;
    let size = |kind| scalar_size(module.types.scalar(kind).unwrap_or(Scalar::I64));
    match instruction.operation {
        Operation::Extract(first) => Some((operand, first)),
        Operation::Expect => Some((operand, 0)),
        Operation::Reinterpret => {
            let from = module.operand_type(function, operand);
            let into = function.values[instruction.result?.0 as usize];
            (size(from) == size(into)).then_some((operand, 0))
        }
        _ => None,
    }
}

/// Which registers hold which values. A part of other values needs none of its own.
pub(super) struct Registers {
    values: Vec<Slot>,
    constant_slots: HashMap<ir::ConstantId, Slot>,
    constants: Vec<u64>,
    locals: BTreeSet<u32>,
    next: u32,
}

impl Registers {
    fn assign(
        module: &ir::Module,
        function: &ir::Function,
        addresses: &[u64],
        reachable: &[bool],
    ) -> Result<Registers, ReadError> {
        let mut registers = Registers {
            values: vec![0; function.values.len()],
            constant_slots: HashMap::new(),
            constants: Vec::new(),
            locals: BTreeSet::new(),
            next: 0,
        };
        let mut views = HashMap::new();
        let blocks = || {
            function
                .blocks
                .iter()
                .zip(reachable)
                .filter(|(_, reachable)| **reachable)
                .map(|(block, _)| block)
        };
        for block in blocks() {
            let operands = block
                .instructions
                .iter()
                .flat_map(|instruction| instruction.operands.iter().copied());
            let phis = block
                .phis
                .iter()
                .flat_map(|phi| phi.incoming.iter().map(|(_, operand)| *operand));
            for operand in operands.chain(phis).chain(block.terminator.operand()) {
                registers.constant(module, operand, addresses)?;
            }
            for instruction in &block.instructions {
                if let (Some(result), Some(part)) =
                    (instruction.result, part_of(module, function, instruction))
                {
                    views.insert(result, part);
                }
            }
        }
        // Constants come first in a frame: a call writes all of them by one copy.
        let mut next = registers.constants.len() as u64;
        for (index, kind) in function.values.iter().enumerate() {
            if !views.contains_key(&ir::ValueId(index as u32)) {
                registers.values[index] = next as u32;
                next += module.types.layout(*kind).lanes;
                if next > LARGEST_FRAME {
                    return Err(ReadError::unsupported(format!(
                        "functions with more than {LARGEST_FRAME} words of values"
                    )));
                }
            }
        }
        registers.next = next as u32;
        let mut chain = Vec::new();
        for index in 0..function.values.len() as u32 {
            // Chains of parts end, since a definition comes before its uses. Each link is followed once: what is taken
            // out has its register.
            let mut operand = Operand::Value(ir::ValueId(index));
            while let Operand::Value(at) = operand
                && let Some((composite, first)) = views.remove(&at)
            {
                chain.push((at, first));
                operand = composite;
            }
            let mut slot = registers.slot(operand);
            while let Some((value, first)) = chain.pop() {
                slot += first;
                registers.values[value.0 as usize] = slot;
            }
        }
        Ok(registers)
    }

    fn constant(
        &mut self,
        module: &ir::Module,
        operand: Operand,
        addresses: &[u64],
    ) -> Result<(), ReadError> {
        let Operand::Constant(id) = operand else {
            return Ok(());
        };
        if self.constant_slots.contains_key(&id) {
            return Ok(());
        }
        let constant = &module.constants[id.0 as usize];
        let start = self.constants.len();
        let lanes = module.types.lanes(constant.kind) as usize;
        if (start + lanes) as u64 > LARGEST_FRAME {
            return Err(ReadError::unsupported(format!(
                "functions with more than {LARGEST_FRAME} words of values"
            )));
        }
        self.constants.extend_from_slice(&constant.words);
        self.constants.resize(start + lanes, 0);
        for (word, global) in &constant.relocations {
            let word = &mut self.constants[start + *word as usize];
            *word = word.wrapping_add(addresses[global.0 as usize]);
            // Only what a kernel names is in its local memory: a module may have more than fits.
            if module.globals[global.0 as usize].home == Home::Local {
                self.locals.insert(global.0);
            }
        }
        self.constant_slots.insert(id, start as u32);
        Ok(())
    }

    /// The first register of an operand.
    pub(super) fn slot(&self, operand: Operand) -> Slot {
        match operand {
            Operand::Value(value) => self.values[value.0 as usize],
            Operand::Constant(constant) => self.constant_slots.get(&constant).copied().unwrap_or(0),
        }
    }
}

fn terminator(decoder: &mut Decoder<'_>, from: BlockId, terminator: &Terminator, cost: u32) -> Step {
    let edge = |target: BlockId| decoder.edge(from, target);
    match terminator {
        Terminator::Jump(target) => Step::Jump {
            edge: edge(*target),
            cost,
        },
        Terminator::Branch {
            condition,
            accept,
            reject,
            ..
        } => {
            let edges = Box::new([edge(*accept), edge(*reject)]);
            Step::Branch {
                condition: decoder.slot(*condition),
                edges,
                cost,
            }
        }
        Terminator::Switch {
            selector,
            cases,
            default,
        } => {
            let default = Box::new(edge(*default));
            let cases = cases
                .iter()
                .map(|(value, target)| (*value, edge(*target)))
                .collect();
            Step::Switch {
                selector: decoder.slot(*selector),
                cases,
                default,
                cost,
            }
        }
        Terminator::Return(value) => {
            let (from, lanes) = value.map_or((0, 0), |value| (decoder.slot(value), decoder.lanes(value)));
            Step::Return { from, lanes, cost }
        }
        Terminator::Unreachable => Step::other(|_, _, _| Err(Fault::Unreachable)),
    }
}

fn edges(step: &mut Step) -> Vec<&mut Edge> {
    match step {
        Step::Jump { edge, .. } => vec![edge],
        Step::Branch { edges, .. } => edges.iter_mut().collect(),
        Step::Switch { cases, default, .. } => cases
            .iter_mut()
            .map(|(_, edge)| edge)
            .chain([default.as_mut()])
            .collect(),
        _ => Vec::new(),
    }
}

impl Decoder<'_> {
    /// The way between two blocks. Its target is the block until all steps are known.
    fn edge(&self, from: BlockId, target: BlockId) -> Edge {
        let mut moves: Vec<Move> = Vec::new();
        for phi in &self.function.blocks[target.0 as usize].phis {
            if let Some((_, operand)) = phi.incoming.iter().find(|(block, _)| *block == from) {
                let to = self.slot(Operand::Value(phi.result));
                moves.push(Move {
                    from: self.slot(*operand),
                    to,
                    lanes: self.lanes(*operand),
                });
            }
        }
        // What stays in its place would count as an overlap below, and make all moves slow ones.
        moves.retain(|step| step.from != step.to);
        // Phis have registers of their own: no two of these overlap, and they end in the order in which they begin.
        let mut written: Vec<(Slot, Slot, usize)> = moves
            .iter()
            .enumerate()
            .map(|(index, step)| (step.to, step.to + step.lanes, index))
            .filter(|(start, end, _)| start < end)
            .collect();
        written.sort_unstable();
        // Phis change at once: where a move reads what one before it has written, all are read first.
        let parallel = moves.iter().enumerate().any(|(index, read)| {
            let first = written.partition_point(|(_, end, _)| *end <= read.from);
            written[first..]
                .iter()
                .take_while(|(start, ..)| *start < read.from + read.lanes)
                .any(|(_, _, before)| *before < index)
        });
        Edge {
            target: target.0,
            moves: moves.into(),
            parallel,
        }
    }
}

/// The mask of the bits that an integer has.
pub(super) fn mask(scalar: Scalar) -> u64 {
    u64::MAX >> (64 - scalar.bits())
}
