//! The function of a kernel: its parameters, its blocks, and the values in them.

use std::collections::HashMap;

use offkit_kernel::ir::{self, BlockId, Home, Operand, Terminator, Type as Kind, TypeId, ValueId, Variable};
use offkit_spirv::grammar::StorageClass;

use llvm_sys::LLVMOpcode as Opcode;

use super::super::builder::{Block, Builder, Type, Value};
use super::super::kernel::refuse;
use super::super::lanes::Lanes;
use super::gpu::{Gpu, Space};
use super::names;
use super::variables::{LARGEST_ALIGNMENT, Variables};

pub(super) use super::super::kernel::Result;

/// What is to be known of a kernel that was written.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Facts {
    /// Bytes of local memory that its variables have.
    pub(super) local: u64,
    /// Whether it sees where ids begin.
    pub(super) offset: bool,
    /// Whether it asks for the number of dimensions.
    pub(super) dimensions: bool,
}

/// Writes one kernel.
pub(super) struct Emitter<'e, 'v, 'm> {
    pub(super) b: &'e Builder<'m>,
    pub(super) lanes: Lanes<'e, 'm>,
    pub(super) module: &'e ir::Module,
    pub(super) code: &'e ir::Function,
    pub(super) gpu: &'e dyn Gpu,
    pub(super) variables: &'e mut Variables<'v, 'm>,
    pub(super) function: Value<'m>,
    /// Where slots are made: it ends with a jump to the start once all is emitted.
    entry: Block<'m>,
    words: HashMap<ValueId, Vec<Value<'m>>>,
    /// Variables of groups, by their numbers.
    locals: HashMap<u32, Value<'m>>,
    /// Where ids begin, if the kernel is told, and behind that the number of dimensions, if it asks for it.
    pub(super) offset: Option<Value<'m>>,
    pub(super) facts: Facts,
}

/// How a parameter of a kernel reaches it.
#[derive(Clone, Copy)]
enum Passing {
    /// In words.
    Value,
    /// As an address of global or constant memory.
    Address(Space),
    /// As a place in the launch's local memory.
    Local,
    /// As bytes that only this work-item sees.
    Bytes(TypeId),
}

/// Writes a kernel, or the entry of one for launches whose ids begin elsewhere than at zero.
pub(super) fn emit<'e, 'm>(
    b: &'e Builder<'m>,
    lanes: Lanes<'e, 'm>,
    module: &'e ir::Module,
    gpu: &'e dyn Gpu,
    variables: &'e mut Variables<'_, 'm>,
    (name, has_offset): (&str, bool),
) -> Result<Facts> {
    variables.names.take(name)?;
    let kernel = &module.kernels[0];
    let code = &module.functions[kernel.function.0 as usize];
    if code.blocks.is_empty() {
        return refuse("it has no code");
    }
    let table = gpu.table();
    let dimensions = !gpu.tells_launch() && asks_for_dimensions(module, code);
    let passings: Vec<Passing> = (code.parameters.iter())
        .map(|parameter| passing(module, parameter))
        .collect::<Result<_>>()?;
    let mut types: Vec<Type<'m>> = Vec::new();
    for (parameter, passing) in code.parameters.iter().zip(&passings) {
        types.push(match passing {
            Passing::Address(space) => b.pointer_in(gpu.space(*space)),
            Passing::Local if table.local_pointers => b.pointer_in(gpu.space(Space::Local)),
            Passing::Local => b.int(32),
            Passing::Bytes(_) => b.pointer_in(table.bytes.1),
            // As a vector, so that it has OpenCL's size and alignment among the arguments: three
            // components lie as four do.
            Passing::Value => match *module.types.get(parameter.kind) {
                Kind::Vector { component, count } => b.scalar(component).vector(Some(count)),
                Kind::Scalar(scalar) => b.scalar(scalar),
                _ => b.int(64),
            },
        });
    }
    let own = types.len() as u32;
    types.extend(has_offset.then(|| b.pointer()));
    let function = b.function(name, b.function_type(b.void(), &types));
    b.set_convention(function, table.convention);
    // LLVM asks of a function that has barriers and shuffles in it that it is convergent itself.
    for name in ["convergent", "nounwind"] {
        b.attribute(function, None, name, 0);
    }
    if table.is_shared_object {
        b.set_protected(function);
    }
    let entry = b.block(function, "entry");
    let mut emitter = Emitter {
        b,
        lanes,
        module,
        code,
        gpu,
        variables,
        function,
        entry,
        words: HashMap::new(),
        locals: HashMap::new(),
        offset: None,
        facts: Facts {
            dimensions,
            ..Facts::default()
        },
    };
    if has_offset {
        let words = if dimensions { 4 } else { 3 };
        b.attribute_of_type(function, own, "byval", b.bytes_type(words * 4));
        b.attribute(function, Some(own), "align", 4);
        emitter.offset = Some(b.parameter(function, own));
    }
    let start = b.block(function, "start");
    b.at_end(start);
    // In the start and not in the entry: slots are still being made there, and come first.
    for (index, passing) in (0..).zip(passings) {
        emitter.parameter(index, passing);
    }
    for variable in &code.variables {
        emitter.private(variable)?;
    }
    emitter.blocks()?;
    b.at_end(entry);
    b.jump(start);
    // Behind the functions that took over the kernel's attributes.
    gpu.describe(b, function, kernel);
    Ok(emitter.facts)
}

/// Whether a kernel reads the number of dimensions.
fn asks_for_dimensions(module: &ir::Module, code: &ir::Function) -> bool {
    let mut instructions = code.blocks.iter().flat_map(|block| &block.instructions);
    instructions.any(|instruction| match instruction.operation {
        ir::Operation::Input(global) => {
            let home = module.globals[global.0 as usize].home;
            home == Home::Input(offkit_spirv::grammar::BuiltIn::WorkDim)
        }
        _ => false,
    })
}

fn passing(module: &ir::Module, parameter: &ir::Parameter) -> Result<Passing> {
    Ok(match *module.types.get(parameter.kind) {
        Kind::Pointer { pointee, .. } if parameter.by_value => Passing::Bytes(pointee),
        Kind::Pointer { class, .. } => match class {
            StorageClass::Workgroup => Passing::Local,
            StorageClass::CrossWorkgroup => Passing::Address(Space::Global),
            StorageClass::UniformConstant => Passing::Address(Space::Constant),
            other => return refuse(format!("it is given a pointer to {other:?}")),
        },
        Kind::Scalar(_) | Kind::Vector { .. } => Passing::Value,
        Kind::Array { .. } | Kind::Struct { .. } => Passing::Bytes(parameter.kind),
        ref other => return refuse(format!("it is given a value of type {other:?}")),
    })
}

impl<'m> Emitter<'_, '_, 'm> {
    pub(super) fn word(&self, value: u64) -> Value<'m> {
        self.b.integer(self.b.int(64), value)
    }

    pub(super) fn short(&self, value: u64) -> Value<'m> {
        self.b.integer(self.b.int(32), value)
    }

    fn parameter(&mut self, index: u32, passing: Passing) {
        let b = self.b;
        let told = &self.code.parameters[index as usize];
        let given = b.parameter(self.function, index);
        let words = match passing {
            Passing::Value => match given.ty().width() {
                Some(count) => (0..count).map(|lane| b.extract(given, lane)).collect(),
                None => vec![given],
            },
            Passing::Address(_) => {
                if told.no_alias {
                    b.attribute(self.function, Some(index), "noalias", 0);
                }
                if let Some(align) = told.align.filter(|align| align.is_power_of_two()) {
                    b.attribute(self.function, Some(index), "align", align.into());
                }
                vec![b.space_cast(given, b.pointer())]
            }
            Passing::Local if self.gpu.table().local_pointers => {
                // Who launches the kernel places it by this, and what a pointer points to may be a guess: it suits all.
                b.attribute(self.function, Some(index), "align", LARGEST_ALIGNMENT.into());
                vec![b.space_cast(given, b.pointer())]
            }
            Passing::Local => {
                let wide = b.zext_or_trunc(given, b.int(64));
                vec![b.offset(self.variables.dynamic(), wide)]
            }
            Passing::Bytes(kind) => {
                let layout = self.module.types.layout(kind);
                let align = told
                    .align
                    .map_or(layout.align, |align| layout.align.max(align.into()));
                let (attribute, _) = self.gpu.table().bytes;
                b.attribute_of_type(self.function, index, attribute, b.bytes_type(layout.size));
                b.attribute(self.function, Some(index), "align", align);
                match self.module.types.is_pointer(told.kind) {
                    true if self.gpu.table().owns_bytes => vec![given],
                    // All work-items are given one place, and a kernel may write to its struct:
                    // each has a copy.
                    true => {
                        let align = u32::try_from(align).unwrap_or(1);
                        let own = self.room_of(layout.size.max(1), align);
                        b.copy((own, align), (given, align), self.word(layout.size));
                        vec![own]
                    }
                    false => {
                        let leaves = self.module.types.leaves(kind);
                        self.load_leaves(given, &leaves, layout.align, &|_| {})
                    }
                }
            }
        };
        self.words.insert(ValueId(index), words);
    }

    /// Makes a variable in private memory.
    fn private(&mut self, variable: &Variable) -> Result<()> {
        let layout = self.module.types.layout(variable.kind);
        let align = layout.align.max(variable.align.map_or(1, u64::from));
        let align = u32::try_from(align).unwrap_or(1);
        let pointer = self.room_of(layout.size.max(1), align);
        if let Some(initializer) = variable.initializer {
            let words = self.operand(Operand::Constant(initializer))?;
            let leaves = self.module.types.all_leaves(variable.kind);
            self.store_leaves(pointer, &leaves, &words, align.into(), &|_| {});
        }
        self.words.insert(variable.address, vec![pointer]);
        Ok(())
    }

    /// Private memory for words.
    pub(super) fn room(&self, size: u64) -> Value<'m> {
        self.room_of(size, 8)
    }

    fn room_of(&self, size: u64, align: u32) -> Value<'m> {
        let b = self.b;
        let here = b.current();
        // In the entry it is part of a frame of known size. In a loop it would be made each time.
        b.at_end(self.entry);
        let room = b.alloca(b.int(8), size, align);
        let pointer = b.space_cast(room, b.pointer());
        b.at_end(here);
        pointer
    }

    /// Writes all blocks that control comes to, each behind those that it can only be reached by.
    fn blocks(&mut self) -> Result<()> {
        let b = self.b;
        let order = self.reverse_post_order();
        let mut heads: HashMap<u32, Block<'m>> = HashMap::new();
        for number in &order {
            heads.insert(*number, b.block(self.function, &format!("b{number}")));
        }
        b.jump(heads[&0]);
        // Where each of them ends, and phis with what is to come in.
        let mut ends: HashMap<u32, Block<'m>> = HashMap::new();
        let mut phis: Vec<(ValueId, u32)> = Vec::new();
        for number in &order {
            let block = &self.code.blocks[*number as usize];
            b.at_end(heads[number]);
            for phi in &block.phis {
                let types = self.types_of(self.code.values[phi.result.0 as usize]);
                let words = types.into_iter().map(|ty| b.phi(ty)).collect();
                self.words.insert(phi.result, words);
                phis.push((phi.result, *number));
            }
            for instruction in &block.instructions {
                self.instruction(instruction)?;
            }
            self.terminator(&block.terminator, &heads)?;
            ends.insert(*number, b.current());
        }
        for (result, number) in phis {
            let block = &self.code.blocks[number as usize];
            let Some(phi) = block.phis.iter().find(|phi| phi.result == result) else {
                continue;
            };
            let own = self.words[&result].clone();
            for (from, operand) in &phi.incoming {
                // Nothing comes from where control never is.
                let Some(end) = ends.get(&from.0) else { continue };
                let words = self.operand_at(*operand, *end)?;
                // One for each way: a switch may have several.
                let successors = self.code.blocks[from.0 as usize].terminator.successors();
                for _ in successors.iter().filter(|successor| successor.0 == number) {
                    for (phi, word) in own.iter().zip(&words) {
                        b.incoming(*phi, *word, *end);
                    }
                }
            }
        }
        Ok(())
    }

    /// The blocks that control comes to, in that order.
    fn reverse_post_order(&self) -> Vec<u32> {
        let blocks = &self.code.blocks;
        let mut seen = vec![false; blocks.len()];
        let mut order = Vec::new();
        // No recursion: it would be as deep as a module's function has blocks.
        let mut stack = vec![(0u32, blocks[0].terminator.successors())];
        seen[0] = true;
        while let Some((number, left)) = stack.last_mut() {
            match left.pop() {
                Some(BlockId(next)) => {
                    if !std::mem::replace(&mut seen[next as usize], true) {
                        stack.push((next, blocks[next as usize].terminator.successors()));
                    }
                }
                None => {
                    order.push(*number);
                    stack.pop();
                }
            }
        }
        order.reverse();
        order
    }

    fn terminator(&mut self, terminator: &Terminator, heads: &HashMap<u32, Block<'m>>) -> Result<()> {
        let b = self.b;
        match terminator {
            Terminator::Jump(target) => b.jump(heads[&target.0]),
            Terminator::Branch {
                condition,
                accept,
                reject,
                ..
            } => {
                let condition = self.operand(*condition)?[0];
                b.branch(condition, heads[&accept.0], heads[&reject.0]);
            }
            Terminator::Switch {
                selector,
                cases,
                default,
            } => {
                let selector = self.operand(*selector)?[0];
                let cases = cases.iter();
                let cases = cases.map(|(value, target)| (b.integer(selector.ty(), *value), heads[&target.0]));
                b.switch(selector, heads[&default.0], &cases.collect::<Vec<_>>());
            }
            // Code that control never comes to does no harm: LLVM would take as never reached what leads there.
            Terminator::Return(_) | Terminator::Unreachable => b.return_void(),
        }
        Ok(())
    }

    /// The types of the words of a value of this type.
    pub(super) fn types_of(&self, kind: TypeId) -> Vec<Type<'m>> {
        if self.module.types.is_pointer(kind) {
            return vec![self.b.pointer()];
        }
        let leaves = self.module.types.leaves(kind);
        leaves.iter().map(|leaf| self.b.scalar(leaf.scalar)).collect()
    }

    pub(super) fn define(&mut self, result: ValueId, words: Vec<Value<'m>>) {
        self.words.insert(result, words);
    }

    /// The words of an operand.
    pub(super) fn operand(&mut self, operand: Operand) -> Result<Vec<Value<'m>>> {
        match operand {
            Operand::Constant(constant) => self.constant(constant),
            Operand::Value(value) => match self.words.get(&value) {
                Some(words) => Ok(words.clone()),
                None => refuse(format!("it uses %{} before it is made", value.0)),
            },
        }
    }

    /// The words of an operand, as they are at the end of a block that is written already.
    fn operand_at(&mut self, operand: Operand, end: Block<'m>) -> Result<Vec<Value<'m>>> {
        // A constant may take instructions to make, which a phi can't have before it.
        self.b.before_end(end);
        self.operand(operand)
    }

    fn constant(&mut self, constant: ir::ConstantId) -> Result<Vec<Value<'m>>> {
        let b = self.b;
        let constant = &self.module.constants[constant.0 as usize];
        let leaves = self.module.types.all_leaves(constant.kind);
        let mut words: Vec<Value<'m>> = leaves
            .iter()
            .enumerate()
            .map(|(index, leaf)| {
                let word = constant.words.get(index).copied().unwrap_or(0);
                b.word(b.scalar(leaf.scalar), word)
            })
            .collect();
        let is_pointer = self.module.types.is_pointer(constant.kind);
        for (index, global) in &constant.relocations {
            let base = self.global(global.0)?;
            let Some(word) = words.get_mut(*index as usize) else {
                continue;
            };
            let address = match word.as_integer() {
                Some(0) => base,
                _ => b.offset(base, *word),
            };
            *word = match is_pointer {
                true => address,
                false => self.coerce(address, b.int(64)),
            };
        }
        if is_pointer {
            for word in &mut words {
                *word = self.coerce(*word, b.pointer());
            }
        }
        Ok(words)
    }

    /// A generic pointer to a program-scope variable.
    fn global(&mut self, number: u32) -> Result<Value<'m>> {
        let b = self.b;
        let global = &self.module.globals[number as usize];
        match global.home {
            Home::Global | Home::Constant => self.variables.of_program(number),
            Home::Input(built_in) => refuse(format!("it takes the address of {built_in:?}")),
            Home::Local => {
                if let Some(known) = self.locals.get(&number) {
                    return Ok(*known);
                }
                let layout = self.module.types.layout(global.kind);
                let align = u32::try_from(global.align.max(layout.align)).unwrap_or(1);
                let space = self.gpu.space(Space::Local);
                let used = self.facts.local.checked_next_multiple_of(align.into());
                self.facts.local = used.unwrap_or(u64::MAX).saturating_add(layout.size);
                let (used, most) = (self.facts.local, self.gpu.table().local_memory);
                // Here with the kernel's name; the assembler or the driver would only say that
                // it is too much.
                if used > most {
                    return refuse(format!(
                        "its variables in local memory have {used} bytes, and {} have {most} for them",
                        self.gpu
                    ));
                }
                let name = names::own(&global.name);
                let variable = b.variable(&name, layout.size, &[], (space, align));
                let pointer = b.space_cast(variable, b.pointer());
                self.locals.insert(number, pointer);
                Ok(pointer)
            }
        }
    }

    /// A pointer as a number, or the other way round.
    pub(super) fn coerce(&self, value: Value<'m>, to: Type<'m>) -> Value<'m> {
        match (value.ty().is_pointer(), to.is_pointer()) {
            (true, false) => self.b.cast(Opcode::LLVMPtrToInt, value, to),
            (false, true) => self.b.cast(Opcode::LLVMIntToPtr, value, to),
            _ => value,
        }
    }
}
