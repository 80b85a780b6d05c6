//! Puts everything that a kernel calls into one function.

use std::collections::HashMap;

use offkit_kernel::builtins::Scalar;
use offkit_kernel::ir::{
    Attributes, Block, BlockId, Constant, Function, FunctionId, Instruction, Kernel, LARGEST_VALUE, Line,
    Module, Operand, Operation, Parameter, Phi, Terminator, Type, TypeId, ValueId, Variable,
};

use super::body::{Body, MOST_PARTS, rename_blocks, visit_end};
use crate::Refusal;

/// Kernels that become longer, in instructions and blocks, are refused.
const MOST_CODE: usize = 200_000;

/// A call that is still to be replaced by the code of what it calls.
struct Call<'m> {
    function: &'m Function,
    /// What each value of the function is here; parameters are arguments.
    values: Vec<Operand>,
    /// The number that its entry has here; its other blocks follow.
    first_block: u32,
    /// Where it returns to.
    after: Option<BlockId>,
}

/// The module with one function, that of the kernel.
pub(super) fn inline(module: &Module, kernel: usize) -> Result<Body, Refusal> {
    let missing = || Refusal(format!("there is no kernel {kernel}"));
    let kernel = module.kernels.get(kernel).ok_or_else(missing)?;
    check_calls(module, kernel.function)?;
    let source = &module.functions[kernel.function.0 as usize];
    let whole = Module {
        types: module.types.clone(),
        constants: module.constants.clone(),
        globals: module.globals.clone(),
        functions: Vec::new(),
        kernels: vec![Kernel {
            function: FunctionId(0),
            ..kernel.clone()
        }],
        files: module.files.clone(),
        scope_lists: module.scope_lists.clone(),
    };
    let function = Function {
        values: source.parameters.iter().map(|parameter| parameter.kind).collect(),
        parameters: source.parameters.clone(),
        name: source.name.clone(),
        variables: Vec::new(),
        // Nothing leads back to the entry, so that what is done once can be done there.
        blocks: vec![empty()],
        ..*source
    };
    let mut inliner = Inliner {
        module,
        body: Body::new(whole, function),
        left: Vec::new(),
        code: 0,
    };
    let arguments: Vec<Operand> = (0..source.parameters.len() as u32)
        .map(|index| Operand::Value(ValueId(index)))
        .collect();
    let entry = inliner.enter(source, &arguments, None, BlockId(0), None)?;
    inliner.body.function.blocks[0].terminator = Terminator::Jump(entry);
    while let Some(call) = inliner.left.pop() {
        inliner.expand(call)?;
    }
    inliner.body.unify_constants();
    Ok(inliner.body)
}

/// Makes sure that calls end and that all functions are there.
// `recursion` has replaced functions that call themselves: this is what keeps the inliner from going round if it
// missed one.
fn check_calls(module: &Module, kernel: FunctionId) -> Result<(), Refusal> {
    let callees = |function: FunctionId| -> Vec<FunctionId> {
        let blocks = module.functions[function.0 as usize].blocks.iter();
        let instructions = blocks.flat_map(|block| &block.instructions);
        instructions
            .filter_map(|instruction| match instruction.operation {
                Operation::Call(callee) => Some(callee),
                _ => None,
            })
            .collect()
    };
    let name = |function: FunctionId| &module.functions[function.0 as usize].name;
    let mut done: HashMap<FunctionId, bool> = HashMap::from([(kernel, false)]);
    let mut path = vec![(kernel, callees(kernel))];
    while let Some((function, left)) = path.last_mut() {
        let function = *function;
        if module.functions[function.0 as usize].blocks.is_empty() {
            return Err(Refusal(format!("function `{}` is only declared", name(function))));
        }
        let Some(next) = left.pop() else {
            done.insert(function, true);
            path.pop();
            continue;
        };
        match done.get(&next) {
            Some(true) => {}
            Some(false) => {
                let cycle = path.iter().map(|(function, _)| *function);
                let cycle = cycle.skip_while(|function| *function != next).chain([next]);
                let names: Vec<String> = cycle.map(|function| format!("`{}`", name(function))).collect();
                return Err(Refusal(format!("recursion: {}", names.join(" calls "))));
            }
            None => {
                done.insert(next, false);
                path.push((next, callees(next)));
            }
        }
    }
    Ok(())
}

fn empty() -> Block {
    Block {
        phis: Vec::new(),
        instructions: Vec::new(),
        merge: None,
        terminator: Terminator::Unreachable,
        line: None,
    }
}

struct Inliner<'m> {
    module: &'m Module,
    body: Body,
    left: Vec<Call<'m>>,
    /// How much there is by now.
    code: usize,
}

impl<'m> Inliner<'m> {
    /// Makes room for a function's code, and at the end of a block what has to be done before it. Gives its entry.
    fn enter(
        &mut self,
        function: &'m Function,
        arguments: &[Operand],
        after: Option<BlockId>,
        block: BlockId,
        line: Option<Line>,
    ) -> Result<BlockId, Refusal> {
        let blocks = function.blocks.iter();
        self.code += function.variables.len();
        self.code += blocks
            .map(|block| 1 + block.phis.len() + block.instructions.len())
            .sum::<usize>();
        // Before anything is written: where each of many functions calls the next one twice, the
        // code doubles with each of them.
        if self.code > MOST_CODE {
            return Err(Refusal(format!(
                "with all that it calls the kernel is longer than {MOST_CODE} instructions"
            )));
        }
        let mut values: Vec<Option<Operand>> = vec![None; function.values.len()];
        for (index, (parameter, argument)) in function.parameters.iter().zip(arguments).enumerate() {
            let mut argument = *argument;
            if !self.body.is_like(self.body.kind(argument), parameter.kind) {
                // Extracting all of a value is how it gets another name of its type, here and elsewhere.
                let operation = Operation::Extract(0);
                argument = self.emit(block, line, Some(parameter.kind), operation, vec![argument]);
            }
            // The kernel's own arguments are copied later, and only those that are written: see `arguments`.
            if parameter.by_value && after.is_some() {
                argument = self.copy_of(parameter, argument, block, line);
            }
            values[index] = Some(argument);
        }
        for variable in &function.variables {
            let kind = function.values[variable.address.0 as usize];
            let address = self.body.new_value(kind);
            values[variable.address.0 as usize] = Some(Operand::Value(address));
            let lanes = variable.initializer.map_or(0, |initializer| {
                let constant = &self.module.constants[initializer.0 as usize];
                self.module.types.layout(constant.kind).lanes
            });
            // Also where it is all zeros: each of them would be written by an instruction.
            if lanes > LARGEST_VALUE {
                let name = &function.name;
                return Err(Refusal(format!(
                    "function `{name}` has a table that is too large"
                )));
            }
            let stored = variable.initializer.filter(|_| {
                // The kernel is entered once, and a long table better copied.
                after.is_some() || lanes <= MOST_PARTS
            });
            self.body.function.variables.push(Variable {
                address,
                initializer: variable.initializer.filter(|_| stored.is_none()),
                ..variable.clone()
            });
            if let Some(initializer) = stored {
                let operands = vec![Operand::Value(address), Operand::Constant(initializer)];
                self.emit(block, line, None, Operation::Store, operands);
            }
        }
        let values = values.into_iter().zip(&function.values);
        let values =
            values.map(|(value, kind)| value.unwrap_or_else(|| Operand::Value(self.body.new_value(*kind))));
        let values = values.collect();
        let first_block = self.body.function.blocks.len() as u32;
        let blocks = function.blocks.iter().map(|_| empty());
        self.body.function.blocks.extend(blocks);
        self.left.push(Call {
            function,
            values,
            first_block,
            after,
        });
        Ok(BlockId(first_block))
    }

    /// The address of a copy of what an argument points to.
    fn copy_of(
        &mut self,
        parameter: &Parameter,
        argument: Operand,
        block: BlockId,
        line: Option<Line>,
    ) -> Operand {
        let Type::Pointer { pointee, .. } = *self.module.types.get(parameter.kind) else {
            return argument;
        };
        let address = self.body.new_value(parameter.kind);
        let layout = self.module.types.layout(pointee);
        let align = parameter.align.or_else(|| u32::try_from(layout.align).ok());
        self.body.function.variables.push(Variable {
            address,
            kind: pointee,
            align,
            initializer: None,
        });
        if layout.size > 0
            && let Some(kind) = self.body.scalar_kind(Scalar::I64)
        {
            let size = self.body.constant(Constant::plain(kind, vec![layout.size]));
            let operands = vec![Operand::Value(address), argument, size];
            self.emit(block, line, None, Operation::Copy, operands);
            let block = &mut self.body.function.blocks[block.0 as usize];
            if let Some(copy) = block.instructions.last_mut() {
                copy.attributes.align = align;
            }
        }
        Operand::Value(address)
    }

    /// Adds an instruction to a block; its result is zero where it has none.
    fn emit(
        &mut self,
        block: BlockId,
        line: Option<Line>,
        kind: Option<TypeId>,
        operation: Operation,
        operands: Vec<Operand>,
    ) -> Operand {
        let result = kind.map(|kind| self.body.new_value(kind));
        let block = &mut self.body.function.blocks[block.0 as usize];
        block.instructions.push(Instruction {
            result,
            operation,
            operands,
            attributes: Attributes::default(),
            line,
        });
        Operand::Value(result.unwrap_or(ValueId(0)))
    }

    /// Writes the code of a function where there is room for it.
    fn expand(&mut self, call: Call<'m>) -> Result<(), Refusal> {
        let value = |operand: Operand| match operand {
            Operand::Value(value) => call.values[value.0 as usize],
            Operand::Constant(_) => operand,
        };
        // Only parameters are constants here, and no instruction gives those.
        let result = |id: ValueId| match call.values[id.0 as usize] {
            Operand::Value(value) => value,
            Operand::Constant(_) => id,
        };
        let number = |BlockId(block): BlockId| Some(BlockId(call.first_block + block));
        // The last of the blocks that each of the function's became: calls cut them in pieces.
        let mut ends = Vec::new();
        for (index, source) in call.function.blocks.iter().enumerate() {
            let mut at = BlockId(call.first_block + index as u32);
            for instruction in &source.instructions {
                let operands: Vec<Operand> = instruction
                    .operands
                    .iter()
                    .map(|operand| value(*operand))
                    .collect();
                let Operation::Call(callee) = instruction.operation else {
                    let block = &mut self.body.function.blocks[at.0 as usize];
                    block.instructions.push(Instruction {
                        result: instruction.result.map(result),
                        operation: instruction.operation.clone(),
                        operands,
                        ..*instruction
                    });
                    continue;
                };
                let callee = &self.module.functions[callee.0 as usize];
                let after = BlockId(self.body.function.blocks.len() as u32);
                let phi = instruction.result.map(|id| Phi {
                    result: result(id),
                    incoming: Vec::new(),
                });
                self.body.function.blocks.push(Block {
                    phis: phi.into_iter().collect(),
                    ..empty()
                });
                // The callee's code is written later, from `left`, so that deep calls take no deep recursion here.
                let entry = self.enter(callee, &operands, Some(after), at, instruction.line)?;
                let block = &mut self.body.function.blocks[at.0 as usize];
                block.terminator = Terminator::Jump(entry);
                block.line = instruction.line;
                at = after;
            }
            ends.push(at);
            let mut end = Block {
                merge: source.merge,
                terminator: source.terminator.clone(),
                ..empty()
            };
            rename_blocks(&mut end, number);
            visit_end(&mut end.terminator, |operand| *operand = value(*operand));
            if let (Terminator::Return(given), Some(after)) = (&end.terminator, call.after) {
                let phi = self.body.function.blocks[after.0 as usize].phis.first_mut();
                if let (Some(phi), Some(given)) = (phi, given) {
                    phi.incoming.push((at, *given));
                }
                end.terminator = Terminator::Jump(after);
            }
            let block = &mut self.body.function.blocks[at.0 as usize];
            block.terminator = end.terminator;
            block.merge = end.merge;
            block.line = source.line;
        }
        // Only now is it known where each block ends, which is what phis name it by.
        for (index, source) in call.function.blocks.iter().enumerate() {
            let phis = source.phis.iter().map(|phi| Phi {
                result: result(phi.result),
                incoming: phi
                    .incoming
                    .iter()
                    .map(|(from, operand)| (ends[from.0 as usize], value(*operand)))
                    .collect(),
            });
            self.body.function.blocks[call.first_block as usize + index].phis = phis.collect();
        }
        Ok(())
    }
}
