//! Functions that call themselves, by way of others or not. All that call each other become one function: calls are jumps,
//! and what is needed behind them is kept in a stack in private memory.
//!
//! ```text
//!  entry ─▶ head of a function ─▶ … ─call─▶ next frame, head of a function
//!                                  └─return─▶ dispatch ─▶ behind the call that the frame names, or the end
//! ```

mod code;
mod member;

use std::borrow::Cow;
use std::collections::HashMap;

use offkit_kernel::builtins::Scalar;
use offkit_kernel::ir::{
    Block, BlockId, Constant, ConstantId, Function, FunctionId, Instruction, LARGEST_VALUE, Module, Operand,
    Operation, Phi, Terminator, Type, TypeId, ValueId, Variable,
};
use offkit_spirv::grammar::{Op, StorageClass};

use super::reducible::cycles;
use crate::Refusal;
use code::Code;
use member::{Call, Member, copied};

/// Bytes of a work-item's stack.
const STACK: u64 = 1 << 18;

/// Where frames and what is in them begin at multiples of, at most.
// That of OpenCL's largest type, a vector of sixteen doubles.
const ALIGNMENT: u64 = 128;

/// The module without functions that call themselves, as far as the kernel calls them.
pub(super) fn without(module: &Module, kernel: FunctionId) -> Result<Cow<'_, Module>> {
    let calls: Vec<Vec<usize>> = module.functions.iter().map(callees).collect();
    let start = kernel.0 as usize;
    let circles = cycles(&calls, &reached(&calls, start));
    if circles.is_empty() {
        return Ok(Cow::Borrowed(module));
    }
    let mut circle_of = vec![None; calls.len()];
    for (number, members) in circles.iter().enumerate() {
        for member in members {
            circle_of[*member] = Some(number);
        }
    }
    if circle_of[start].is_some() {
        let name = &module.functions[start].name;
        return Err(Refusal(format!("recursion: kernel `{name}` calls itself")));
    }
    // Only now: hardly any kernel comes here, and modules are large.
    let mut module = module.clone();
    // What stands in for a function where others call it.
    let mut machines: HashMap<usize, FunctionId> = HashMap::new();
    let mut left = vec![start];
    let mut seen = vec![false; calls.len()];
    while let Some(function) = left.pop() {
        for index in 0..module.functions[function].blocks.len() {
            for at in 0..module.functions[function].blocks[index].instructions.len() {
                let instruction = &module.functions[function].blocks[index].instructions[at];
                let Operation::Call(FunctionId(callee)) = instruction.operation else {
                    continue;
                };
                let callee = callee as usize;
                // Those beyond are machines, in which no call of a member is left.
                let Some(Some(circle)) = circle_of.get(callee).copied() else {
                    if callee < calls.len() && !std::mem::replace(&mut seen[callee], true) {
                        left.push(callee);
                    }
                    continue;
                };
                // A machine begins as one of its members. Where another one is called from outside too, it gets a
                // machine of its own with all of them again: what begins where is then never a question at run time.
                let machine = match machines.get(&callee) {
                    Some(machine) => *machine,
                    None => {
                        let members = circles[circle].clone();
                        let code = Machine::new(&mut module, members)?.write(callee)?;
                        let machine = FunctionId(module.functions.len() as u32);
                        module.functions.push(code);
                        machines.insert(callee, machine);
                        // Its members may call functions that call themselves apart from these.
                        left.push(machine.0 as usize);
                        machine
                    }
                };
                module.functions[function].blocks[index].instructions[at].operation =
                    Operation::Call(machine);
            }
        }
    }
    Ok(Cow::Owned(module))
}

fn callees(function: &Function) -> Vec<usize> {
    let instructions = function.blocks.iter().flat_map(|block| &block.instructions);
    let callees = instructions.filter_map(|instruction| match instruction.operation {
        Operation::Call(FunctionId(callee)) => Some(callee as usize),
        _ => None,
    });
    callees.collect()
}

/// A function, and what it calls, directly or by way of others.
fn reached(calls: &[Vec<usize>], from: usize) -> Vec<usize> {
    let mut is_reached = vec![false; calls.len()];
    let mut left = vec![from];
    while let Some(function) = left.pop() {
        if !std::mem::replace(&mut is_reached[function], true) {
            left.extend(&calls[function]);
        }
    }
    (0..calls.len())
        .filter(|function| is_reached[*function])
        .collect()
}

/// The types that stacks are handled with.
#[derive(Clone, Copy)]
struct Kinds {
    byte: TypeId,
    label: TypeId,
    size: TypeId,
    truth: TypeId,
}

/// The function that several become.
struct Machine<'m> {
    module: &'m mut Module,
    members: Vec<Member>,
    kinds: Kinds,
    function: Function,
    stack: ValueId,
    /// The address of the place of the innermost frame in the stack.
    top: ValueId,
    dispatch: BlockId,
}

type Result<T> = std::result::Result<T, Refusal>;

fn too_many() -> Refusal {
    Refusal("recursion: too many types".to_owned())
}

fn empty(terminator: Terminator) -> Block {
    Block {
        phis: Vec::new(),
        instructions: Vec::new(),
        merge: None,
        terminator,
        line: None,
    }
}

impl<'m> Machine<'m> {
    fn new(module: &'m mut Module, members: Vec<usize>) -> Result<Machine<'m>> {
        let mut scalar = |scalar: Scalar| {
            let types = &mut module.types;
            let found = types.find_scalar(scalar);
            found
                .or_else(|| types.push(Type::Scalar(scalar)))
                .ok_or_else(too_many)
        };
        let kinds = Kinds {
            byte: scalar(Scalar::I8)?,
            label: scalar(Scalar::I32)?,
            size: scalar(Scalar::I64)?,
            truth: scalar(Scalar::Bool)?,
        };
        let function = Function {
            name: String::new(),
            result: kinds.size,
            control: Default::default(),
            parameters: Vec::new(),
            values: Vec::new(),
            variables: Vec::new(),
            blocks: Vec::new(),
        };
        let mut machine = Machine {
            members: members
                .iter()
                .map(|id| Member::new(module, *id, &members))
                .collect::<Result<_>>()?,
            module,
            kinds,
            function,
            stack: ValueId(0),
            top: ValueId(0),
            dispatch: BlockId(1),
        };
        machine.find_calls();
        let mut align = 1;
        for index in 0..machine.members.len() {
            align = machine.members[index].lay_out(&machine.module.types)?.max(align);
        }
        for member in &mut machine.members {
            // Frames follow each other without gaps: sizes keep the next one aligned.
            member.size = member.size.next_multiple_of(align);
        }
        Ok(machine)
    }

    /// Numbers the calls of members, from 1 on.
    fn find_calls(&mut self) {
        let places: HashMap<usize, usize> = self.members.iter().map(|member| member.id).zip(0..).collect();
        // Zero is what the first frame has: behind it is the end.
        let mut label = 0;
        for member in &mut self.members {
            for block in &member.code.blocks {
                let (Some(last), Terminator::Jump(behind)) = (block.instructions.last(), &block.terminator)
                else {
                    continue;
                };
                let Operation::Call(callee) = last.operation else {
                    continue;
                };
                if let Some(callee) = places.get(&(callee.0 as usize)) {
                    label += 1;
                    let call = Call {
                        label,
                        callee: *callee,
                        result: last.result,
                    };
                    member.calls.insert(behind.0 as usize, call);
                }
            }
        }
    }

    fn value(&mut self, kind: TypeId) -> ValueId {
        self.function.values.push(kind);
        ValueId(self.function.values.len() as u32 - 1)
    }

    fn constant(&mut self, kind: TypeId, word: u64) -> Operand {
        // Equal ones may be there: `inline` makes one of them.
        self.module.constants.push(Constant::plain(kind, vec![word]));
        Operand::Constant(ConstantId(self.module.constants.len() as u32 - 1))
    }

    /// The type of an address of private memory.
    fn pointer(&mut self, pointee: TypeId) -> Result<TypeId> {
        let class = StorageClass::Function;
        let types = &mut self.module.types;
        let found = types
            .iter()
            .position(|kind| *kind == Type::Pointer { class, pointee });
        let found = found.map(|index| TypeId(index as u32));
        found
            .or_else(|| types.push(Type::Pointer { class, pointee }))
            .ok_or_else(too_many)
    }

    fn variable(&mut self, kind: TypeId, align: Option<u32>) -> Result<ValueId> {
        let pointer = self.pointer(kind)?;
        let address = self.value(pointer);
        self.function.variables.push(Variable {
            address,
            kind,
            align,
            initializer: None,
        });
        Ok(address)
    }

    /// The function that begins as that member does.
    fn write(mut self, entry: usize) -> Result<Function> {
        let Some(entry) = self.members.iter().position(|member| member.id == entry) else {
            return Err(Refusal("recursion of nothing".to_owned()));
        };
        let source = &self.members[entry].code;
        self.function = Function {
            values: source.parameters.iter().map(|parameter| parameter.kind).collect(),
            parameters: source.parameters.clone(),
            variables: Vec::new(),
            blocks: Vec::new(),
            ..source.clone()
        };
        for parameter in &mut self.function.parameters {
            // Members make copies of their own.
            parameter.by_value = false;
        }
        let array = Type::Array {
            element: self.kinds.byte,
            count: STACK,
        };
        let array = self.module.types.push(array).ok_or_else(too_many)?;
        self.stack = self.variable(array, Some(ALIGNMENT as u32))?;
        self.top = self.variable(self.kinds.size, None)?;
        for index in 0..self.members.len() {
            let kinds: Vec<_> = self.members[index]
                .code
                .parameters
                .iter()
                .map(|one| one.kind)
                .collect();
            // One place for all calls of a member: its head moves what it is given into the frame before anything
            // else is called, and who called takes the result before anything else returns.
            let parameters = kinds.into_iter().map(|kind| self.variable(kind, None));
            self.members[index].parameters = parameters.collect::<Result<_>>()?;
            let result = self.members[index].code.result;
            if *self.module.types.get(result) != Type::Void {
                self.members[index].result = Some(self.variable(result, None)?);
            }
        }
        // The entry, the dispatch, the end and where the stack has no room; then the members' blocks.
        let (end, overflow) = (BlockId(2), BlockId(3));
        let blocks = (0..4).map(|_| empty(Terminator::Unreachable));
        self.function.blocks.extend(blocks);
        // All get their numbers before any is written: calls and returns lead from one to another.
        for index in 0..self.members.len() {
            self.members[index].first_block = self.function.blocks.len() as u32;
            let blocks = self.members[index].code.blocks.iter();
            let blocks: Vec<_> = blocks.map(|_| empty(Terminator::Unreachable)).collect();
            self.function.blocks.extend(blocks);
        }
        for index in 0..self.members.len() {
            for block in 0..self.members[index].code.blocks.len() {
                self.block(index, block, overflow)?;
            }
        }

        let mut code = Code::new(None);
        for (parameter, address) in self.members[entry].parameters.clone().into_iter().zip(0..) {
            code.store(Operand::Value(parameter), Operand::Value(ValueId(address)));
        }
        let (zero, none) = (
            self.constant(self.kinds.size, 0),
            self.constant(self.kinds.label, 0),
        );
        code.store(Operand::Value(self.top), zero);
        let label = self.place(&mut code, zero, 0, self.kinds.label)?;
        code.store(label, none);
        let head = BlockId(self.members[entry].first_block);
        self.close(BlockId(0), code, Terminator::Jump(head));

        let mut code = Code::new(None);
        let top = self.load(&mut code, Operand::Value(self.top), self.kinds.size);
        let label = self.place(&mut code, top, 0, self.kinds.label)?;
        let selector = self.load(&mut code, label, self.kinds.label);
        let calls = self.members.iter().flat_map(|member| {
            let behind = |number: &usize| BlockId(member.first_block + *number as u32);
            member
                .calls
                .iter()
                .map(move |(number, call)| (call.label, behind(number)))
        });
        let mut cases: Vec<_> = calls.collect();
        cases.sort_unstable_by_key(|(label, _)| *label);
        let dispatch = Terminator::Switch {
            selector,
            cases,
            default: end,
        };
        self.close(self.dispatch, code, dispatch);

        let mut code = Code::new(None);
        let result = self.members[entry].result;
        let kind = self.members[entry].code.result;
        let result = result.map(|result| self.load(&mut code, Operand::Value(result), kind));
        self.close(end, code, Terminator::Return(result));

        let mut code = Code::new(None);
        code.push(None, Operation::Overflow, Vec::new());
        self.close(overflow, code, Terminator::Unreachable);
        Ok(self.function)
    }

    fn close(&mut self, block: BlockId, code: Code, terminator: Terminator) {
        self.function.blocks[block.0 as usize] = Block {
            instructions: code.instructions,
            line: code.line,
            ..empty(terminator)
        };
    }

    fn load(&mut self, code: &mut Code, address: Operand, kind: TypeId) -> Operand {
        let result = self.value(kind);
        code.push(Some(result), Operation::Load, vec![address])
    }

    /// The address of something in a frame.
    fn place(&mut self, code: &mut Code, frame: Operand, offset: u64, kind: TypeId) -> Result<Operand> {
        let pointer = self.pointer(kind)?;
        let result = self.value(pointer);
        let address = Operation::Address {
            offset,
            strides: vec![1],
        };
        Ok(code.push(Some(result), address, vec![Operand::Value(self.stack), frame]))
    }

    /// The address of something in the frame of the function that a block is of.
    fn own_place(&mut self, code: &mut Code, offset: u64, kind: TypeId) -> Result<Operand> {
        let frame = match code.frame {
            Some(frame) => frame,
            // Once in a block: calls end theirs, so that the frame is the same throughout.
            None => {
                let top = self.load(code, Operand::Value(self.top), self.kinds.size);
                *code.frame.insert(top)
            }
        };
        self.place(code, frame, offset, kind)
    }

    /// What an operand of a member is in a block.
    fn operand(&mut self, index: usize, code: &mut Code, operand: Operand) -> Result<Operand> {
        let Operand::Value(value) = operand else {
            return Ok(operand);
        };
        // Values are known within a block alone. What another block made is in the frame: any call may lie between
        // them, and behind the dispatch no block comes before another.
        if let Some(known) = code.known.get(&value) {
            return Ok(*known);
        }
        let member = &self.members[index];
        let (kind, place) = (member.kind(value), member.kept.get(&value).copied());
        let Some(place) = place else {
            return Err(Refusal(format!(
                "recursion: function `{}` reads what it hasn't made",
                member.code.name
            )));
        };
        let address = self.own_place(code, place, kind)?;
        let loaded = self.load(code, address, kind);
        code.known.insert(value, loaded);
        Ok(loaded)
    }

    /// Notes what a value of a member is, and keeps it if other blocks need it.
    fn define(&mut self, index: usize, code: &mut Code, value: ValueId, is: Operand) -> Result<()> {
        code.known.insert(value, is);
        let member = &self.members[index];
        if let Some(place) = member.kept.get(&value).copied() {
            let address = self.own_place(code, place, member.kind(value))?;
            code.store(address, is);
        }
        Ok(())
    }

    /// What a call puts into a frame before anything else.
    fn head(&mut self, index: usize, code: &mut Code) -> Result<()> {
        let parameters = self.members[index].code.parameters.clone();
        for (at, parameter) in parameters.iter().enumerate() {
            let value = ValueId(at as u32);
            let address = Operand::Value(self.members[index].parameters[at]);
            let mut given = self.load(code, address, parameter.kind);
            if let Some(pointee) = copied(&self.module.types, parameter) {
                let size = self.module.types.layout(pointee).size;
                let place = self.members[index].variables[&value];
                let own = self.own_place(code, place, pointee)?;
                let size = self.constant(self.kinds.size, size);
                code.push(None, Operation::Copy, vec![own, given, size]);
                given = own;
            }
            self.define(index, code, value, given)?;
        }
        for variable in self.members[index].code.variables.clone() {
            let place = self.members[index].variables[&variable.address];
            let address = self.own_place(code, place, variable.kind)?;
            // Each time, as each call has the variable anew.
            if let Some(initializer) = variable.initializer {
                if self.module.types.layout(variable.kind).lanes > LARGEST_VALUE {
                    let name = &self.members[index].code.name;
                    return Err(Refusal(format!(
                        "function `{name}` has a table that is too large"
                    )));
                }
                code.store(address, Operand::Constant(initializer));
            }
            self.define(index, code, variable.address, address)?;
        }
        Ok(())
    }

    fn block(&mut self, index: usize, number: usize, overflow: BlockId) -> Result<()> {
        let first = self.members[index].first_block;
        let source = self.members[index].code.blocks[number].clone();
        let mut code = Code::new(source.line);
        if number == 0 {
            self.head(index, &mut code)?;
        }
        // Behind a call: the caller's frame is the innermost again.
        if let Some(call) = self.members[index].calls.get(&number).copied() {
            let size = self.members[index].size;
            let top = self.load(&mut code, Operand::Value(self.top), self.kinds.size);
            let size = self.constant(self.kinds.size, size);
            let result = self.value(self.kinds.size);
            let own = code.push(Some(result), Operation::Elementwise(Op::ISub), vec![top, size]);
            code.store(Operand::Value(self.top), own);
            code.frame = Some(own);
            if let (Some(value), Some(address)) = (call.result, self.members[call.callee].result) {
                let kind = self.members[call.callee].code.result;
                let given = self.load(&mut code, Operand::Value(address), kind);
                self.define(index, &mut code, value, given)?;
            }
        }
        for phi in &source.phis {
            let kind = self.members[index].kind(phi.result);
            let place = self.members[index].given[&phi.result];
            let address = self.own_place(&mut code, place, kind)?;
            let given = self.load(&mut code, address, kind);
            self.define(index, &mut code, phi.result, given)?;
        }
        let behind = match source.terminator {
            Terminator::Jump(BlockId(behind)) => self.members[index].calls.get(&(behind as usize)).copied(),
            _ => None,
        };
        for (at, instruction) in source.instructions.iter().enumerate() {
            let mut operands = Vec::with_capacity(instruction.operands.len());
            for operand in &instruction.operands {
                operands.push(self.operand(index, &mut code, *operand)?);
            }
            if let Some(call) = behind.filter(|_| at + 1 == source.instructions.len()) {
                return self.call(index, number, call, code, operands, overflow);
            }
            let result = instruction.result.map(|value| {
                let kind = self.members[index].kind(value);
                self.value(kind)
            });
            code.instructions.push(Instruction {
                result,
                operands,
                ..instruction.clone()
            });
            if let (Some(value), Some(result)) = (instruction.result, result) {
                self.define(index, &mut code, value, Operand::Value(result))?;
            }
        }
        self.give_phis(index, number, &source.terminator, &mut code)?;
        let shifted = |BlockId(block): BlockId| BlockId(first + block);
        let terminator = match source.terminator {
            Terminator::Return(value) => {
                if let (Some(value), Some(address)) = (value, self.members[index].result) {
                    let value = self.operand(index, &mut code, value)?;
                    code.store(Operand::Value(address), value);
                }
                Terminator::Jump(self.dispatch)
            }
            Terminator::Jump(to) => Terminator::Jump(shifted(to)),
            Terminator::Branch {
                condition,
                accept,
                reject,
                weights,
            } => Terminator::Branch {
                condition: self.operand(index, &mut code, condition)?,
                accept: shifted(accept),
                reject: shifted(reject),
                weights,
            },
            Terminator::Switch {
                selector,
                cases,
                default,
            } => Terminator::Switch {
                selector: self.operand(index, &mut code, selector)?,
                cases: cases
                    .into_iter()
                    .map(|(value, to)| (value, shifted(to)))
                    .collect(),
                default: shifted(default),
            },
            Terminator::Unreachable => Terminator::Unreachable,
        };
        self.close(shifted(BlockId(number as u32)), code, terminator);
        Ok(())
    }

    /// Leaves what the phis of the following blocks are given.
    fn give_phis(&mut self, index: usize, number: usize, end: &Terminator, code: &mut Code) -> Result<()> {
        for BlockId(next) in end.successors() {
            let phis: Vec<Phi> = self.members[index].code.blocks[next as usize].phis.clone();
            for phi in phis {
                let incoming = phi.incoming.iter().find(|(from, _)| from.0 as usize == number);
                let Some((_, given)) = incoming else { continue };
                let given = self.operand(index, code, *given)?;
                let kind = self.members[index].kind(phi.result);
                let place = self.members[index].given[&phi.result];
                let address = self.own_place(code, place, kind)?;
                code.store(address, given);
            }
        }
        Ok(())
    }

    /// Goes to the head of a function, with a frame of its own.
    fn call(
        &mut self,
        index: usize,
        number: usize,
        Call { label, callee, .. }: Call,
        mut code: Code,
        arguments: Vec<Operand>,
        overflow: BlockId,
    ) -> Result<()> {
        let block = BlockId(self.members[index].first_block + number as u32);
        let (size, needed) = (self.members[index].size, self.members[callee].size);
        let top = match code.frame {
            Some(frame) => frame,
            None => self.load(&mut code, Operand::Value(self.top), self.kinds.size),
        };
        let size = self.constant(self.kinds.size, size);
        let (next, fits) = (self.value(self.kinds.size), self.value(self.kinds.truth));
        let next = code.push(Some(next), Operation::Elementwise(Op::IAdd), vec![top, size]);
        // No frame is larger than half of the stack (see `lay_out`), but for the rounding to an alignment.
        let most = self.constant(self.kinds.size, STACK - needed);
        let condition = Operation::Elementwise(Op::ULessThanEqual);
        let condition = code.push(Some(fits), condition, vec![next, most]);
        let line = code.line;
        let inside = BlockId(self.function.blocks.len() as u32);
        self.function.blocks.push(empty(Terminator::Unreachable));
        let branch = Terminator::Branch {
            condition,
            accept: inside,
            reject: overflow,
            weights: None,
        };
        self.close(block, code, branch);

        let mut code = Code::new(line);
        let parameters = self.members[callee].code.parameters.clone();
        for (at, (argument, parameter)) in arguments.into_iter().zip(parameters).enumerate() {
            let address = Operand::Value(self.members[callee].parameters[at]);
            // The same words, perhaps by another name of their type.
            let result = self.value(parameter.kind);
            let given = code.push(Some(result), Operation::Extract(0), vec![argument]);
            code.store(address, given);
        }
        code.store(Operand::Value(self.top), next);
        let label = self.constant(self.kinds.label, label);
        let address = self.place(&mut code, next, 0, self.kinds.label)?;
        code.store(address, label);
        let head = BlockId(self.members[callee].first_block);
        self.close(inside, code, Terminator::Jump(head));
        Ok(())
    }
}
