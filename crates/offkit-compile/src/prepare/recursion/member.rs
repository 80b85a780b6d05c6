//! What the functions are that call each other, and what each keeps in a frame.

use std::collections::HashMap;

use offkit_kernel::ir::{
    BlockId, Function, Instruction, Module, Operand, Operation, Parameter, Terminator, Type, TypeId, Types,
    ValueId,
};

use super::{ALIGNMENT, Result, STACK};
use crate::Refusal;
use crate::split_block::split_block;

/// A function that is one of those that call each other.
pub(super) struct Member {
    /// Its number in the module.
    pub(super) id: usize,
    /// Its code: calls of members end their blocks.
    pub(super) code: Function,
    /// Where the block of each value is.
    homes: HashMap<ValueId, usize>,
    /// Places in a frame: of values that other blocks need, of what phis are given, of variables.
    pub(super) kept: HashMap<ValueId, u64>,
    pub(super) given: HashMap<ValueId, u64>,
    pub(super) variables: HashMap<ValueId, u64>,
    /// Bytes of a frame.
    pub(super) size: u64,
    pub(super) first_block: u32,
    /// Calls of members, by the blocks behind them.
    pub(super) calls: HashMap<usize, Call>,
    /// Addresses of what a call gives, and of what it gets back.
    pub(super) parameters: Vec<ValueId>,
    pub(super) result: Option<ValueId>,
}

/// A call of a member.
#[derive(Clone, Copy)]
pub(super) struct Call {
    /// What the frame of who is called knows it by.
    pub(super) label: u64,
    /// The place of who is called among the members.
    pub(super) callee: usize,
    pub(super) result: Option<ValueId>,
}

impl Member {
    pub(super) fn kind(&self, value: ValueId) -> TypeId {
        self.code.values[value.0 as usize]
    }
}

impl Member {
    pub(super) fn new(module: &Module, id: usize, members: &[usize]) -> Result<Member> {
        let mut code = module.functions[id].clone();
        if code.blocks.is_empty() {
            return Err(Refusal(format!("function `{}` is only declared", code.name)));
        }
        // Calls of other functions stay calls, which are inlined later.
        let is_call = |instruction: &Instruction| matches!(instruction.operation, Operation::Call(callee) if members.contains(&(callee.0 as usize)));
        let mut index = 0;
        while let Some(block) = code.blocks.get(index) {
            if let Some(at) = block.instructions.iter().position(is_call) {
                split_block(&mut code, index, at + 1);
            }
            index += 1;
        }
        let mut homes = HashMap::new();
        let parameters = (0..code.parameters.len() as u32).map(ValueId);
        homes.extend(parameters.map(|value| (value, 0)));
        homes.extend(code.variables.iter().map(|variable| (variable.address, 0)));
        for (number, block) in code.blocks.iter().enumerate() {
            homes.extend(block.phis.iter().map(|phi| (phi.result, number)));
            for instruction in &block.instructions {
                let Some(result) = instruction.result else {
                    continue;
                };
                // What a call gives is there behind it.
                let home = match (is_call(instruction), &block.terminator) {
                    (true, Terminator::Jump(behind)) => behind.0 as usize,
                    _ => number,
                };
                homes.insert(result, home);
            }
        }
        Ok(Member {
            id,
            code,
            homes,
            kept: HashMap::new(),
            given: HashMap::new(),
            variables: HashMap::new(),
            size: 0,
            first_block: 0,
            calls: HashMap::new(),
            parameters: Vec::new(),
            result: None,
        })
    }

    /// The values that other blocks read than those that make them.
    fn outliving(&self) -> Vec<ValueId> {
        let mut found = Vec::new();
        for number in 0..self.code.blocks.len() {
            for operand in crate::reads(&self.code, BlockId(number as u32)) {
                // Those of phis are read where the way to them begins: see `reads`.
                if let Operand::Value(value) = operand
                    && self.homes.get(&value) != Some(&number)
                {
                    found.push(value);
                }
            }
        }
        found.sort_unstable();
        found.dedup();
        found
    }

    /// Gives what is in frames its places: first of all the label of who called. Tells how a frame has to be aligned.
    pub(super) fn lay_out(&mut self, types: &Types) -> Result<u64> {
        // The label comes first, at the same place in every frame: the dispatch reads it without knowing whose frame
        // it is.
        let (mut size, mut most) = (4u64, 16);
        let mut place = |kind: TypeId, align: Option<u32>| {
            let layout = types.layout(kind);
            let align = layout.align.max(align.map_or(1, u64::from)).clamp(1, ALIGNMENT);
            // Types may be of any size; what overflows is refused below as well.
            let at = size.checked_next_multiple_of(align).unwrap_or(u64::MAX);
            size = at.saturating_add(layout.size);
            most = most.max(align);
            at
        };
        let mut kept = HashMap::new();
        let mut given = HashMap::new();
        for value in self.outliving() {
            kept.insert(value, place(self.kind(value), None));
        }
        for phi in self.code.blocks.iter().flat_map(|block| &block.phis) {
            // Not the place where the value is kept: what a phi is given for the next time must not overwrite what it
            // is now, which other phis may be given.
            given.insert(phi.result, place(self.kind(phi.result), None));
        }
        let mut variables = HashMap::new();
        for variable in &self.code.variables {
            variables.insert(variable.address, place(variable.kind, variable.align));
        }
        for (parameter, index) in self.code.parameters.iter().zip(0..) {
            if let Some(pointee) = copied(types, parameter) {
                variables.insert(ValueId(index), place(pointee, parameter.align));
            }
        }
        if size > STACK / 2 {
            return Err(Refusal(format!(
                "recursion: function `{}` keeps {size} bytes for each call",
                self.code.name
            )));
        }
        (self.kept, self.given, self.variables, self.size) = (kept, given, variables, size);
        Ok(most)
    }
}

/// What a function copies of what a parameter leads to, if it does.
pub(super) fn copied(types: &Types, parameter: &Parameter) -> Option<TypeId> {
    match *types.get(parameter.kind) {
        Type::Pointer { pointee, .. } if parameter.by_value => Some(pointee),
        _ => None,
    }
}
