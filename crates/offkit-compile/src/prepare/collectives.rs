//! What the work-items of a group do together, but for waiting, told as what sub-groups do, local memory and barriers;
//! and the blocks of memory that a sub-group reads and writes, as loads and stores of each work-item.

mod exchange;

use offkit_kernel::builtins::Scalar;
use offkit_kernel::builtins::convert::Conversion;
use offkit_kernel::ir::{
    Attributes, Block, BlockId, Collective, CollectiveKind, Constant, Global, GlobalId, GroupScope, Home,
    Instruction, Line, Operand, Operation, Phi, Reduction, Terminator, Type, TypeId, ValueId, scalar_size,
};
use offkit_spirv::grammar::{BuiltIn, Op, StorageClass};

use crate::split_block::split_block;

use super::body::Body;
use super::emit::Emit;

/// Rewrites what groups do; whether there was anything. Where the kernel doesn't say how many work-items they have there are
/// so many at most; a sub-group may have only one.
pub(super) fn lower(body: &mut Body, most_work_items: u64) -> bool {
    let mut changed = false;
    let mut index = 0;
    while index < body.function.blocks.len() {
        let instructions = body.function.blocks[index].instructions.iter();
        let mut found =
            instructions
                .enumerate()
                .filter_map(|(at, instruction)| match instruction.operation {
                    Operation::Collective(collective) if is_lowered(collective) => {
                        Some((at, collective.kind))
                    }
                    _ => None,
                });
        if let Some((at, kind)) = found.next() {
            changed = true;
            let behind = split_block(&mut body.function, index, at + 1);
            if let Some(instruction) = body.function.blocks[index].instructions.pop()
                && Lowering::new(body, index, behind, &instruction, most_work_items)
                    .lower(kind, &instruction)
                    .is_none()
            {
                // There is no room for one more type; whoever generates the code may know what to do.
                body.function.blocks[index].instructions.push(instruction);
                body.function.blocks[index].terminator = Terminator::Jump(behind);
            }
        }
        // The rest of this block is one of those that were added, and is looked at when its turn comes.
        index += 1;
    }
    changed
}

fn is_lowered(collective: Collective) -> bool {
    use CollectiveKind as K;
    let is_block = matches!(collective.kind, K::BlockRead | K::BlockWrite);
    is_block
        || collective.scope == GroupScope::WorkGroup
            && matches!(
                collective.kind,
                K::Reduce(_)
                    | K::InclusiveScan(_)
                    | K::ExclusiveScan(_)
                    | K::All
                    | K::Any
                    | K::AllEqual
                    | K::Elect
                    | K::Ballot
                    | K::Broadcast
                    | K::BroadcastFirst
                    | K::ClusteredReduce(..)
                    | K::Shuffle
                    | K::ShuffleXor
                    | K::ShuffleUp
                    | K::ShuffleDown
                    | K::Rotate(_)
                    | K::QuadBroadcast
                    | K::QuadSwap(_)
                    | K::AsyncCopy { .. }
                    | K::WaitEvents
            )
}

/// The code that replaces an instruction, between two blocks.
struct Lowering<'b> {
    body: &'b mut Body,
    /// Of a group.
    most_work_items: u64,
    /// The block that is being written.
    at: usize,
    behind: BlockId,
    code: Vec<Instruction>,
    line: Option<Line>,
    /// Of the instruction.
    attributes: Attributes,
}

impl<'b> Lowering<'b> {
    fn new(
        body: &'b mut Body,
        block: usize,
        behind: BlockId,
        instruction: &Instruction,
        most_work_items: u64,
    ) -> Lowering<'b> {
        Lowering {
            body,
            most_work_items,
            at: block,
            behind,
            code: Vec::new(),
            line: instruction.line,
            attributes: instruction.attributes,
        }
    }

    fn lower(&mut self, kind: CollectiveKind, instruction: &Instruction) -> Option<()> {
        use CollectiveKind as K;
        let operands = instruction.operands.as_slice();
        let result = match (kind, operands) {
            // All work-items take part in each copy, so that waiting for each other is waiting for the copies.
            (K::WaitEvents, _) => {
                self.barrier();
                None
            }
            (K::AsyncCopy { element, to_local }, [to, from, count, stride]) => {
                let kind = self.body.value_kind(instruction.result?);
                self.copy(element, to_local, [*to, *from], [*count, *stride])?;
                Some(self.body.zero(kind))
            }
            (K::BlockRead, [base]) => {
                let kind = self.body.value_kind(instruction.result?);
                Some(self.read_block(*base, kind)?)
            }
            (K::BlockWrite, [base, value]) => {
                self.write_block(*base, *value)?;
                None
            }
            (K::Broadcast, [value, index]) => Some(self.broadcast(*value, *index)?),
            (K::BroadcastFirst, [value]) => {
                let is_first = self.elect()?;
                Some(self.broadcast_from(*value, is_first)?)
            }
            (K::Elect, _) => Some(self.elect()?),
            (K::AllEqual, [value]) => Some(self.all_equal(*value)?),
            (K::Ballot, [predicate]) => Some(self.ballot(*predicate)?),
            (K::ClusteredReduce(reduction, size), [value]) => {
                Some(self.reduce_clusters(reduction, size, *value)?)
            }
            (K::Reduce(reduction), [value]) => Some(self.reduce(kind, reduction.op, *value)?),
            (K::All, [value]) => Some(self.reduce(kind, Op::LogicalAnd, *value)?),
            (K::Any, [value]) => Some(self.reduce(kind, Op::LogicalOr, *value)?),
            (K::InclusiveScan(reduction) | K::ExclusiveScan(reduction), [value]) => {
                Some(self.scan(kind, reduction, *value)?)
            }
            (_, [value]) => Some(self.exchange(kind, *value, None)?),
            (_, [value, argument]) => Some(self.exchange(kind, *value, Some(*argument))?),
            _ => return None,
        };
        // The result keeps its number, so that nothing that reads it has to be changed.
        if let (Some(id), Some(result)) = (instruction.result, result) {
            self.emit().push(
                Some(id),
                Operation::Extract(0),
                vec![result],
                Attributes::default(),
            );
        }
        self.close(Terminator::Jump(self.behind));
        Some(())
    }

    fn emit(&mut self) -> Emit<'_> {
        Emit {
            body: self.body,
            code: &mut self.code,
            line: self.line,
        }
    }

    /// Ends the block that is being written.
    fn close(&mut self, terminator: Terminator) {
        let block = &mut self.body.function.blocks[self.at];
        block.instructions.append(&mut self.code);
        block.terminator = terminator;
        block.line = self.line;
    }

    /// Makes a block, to be written next or later.
    fn block(&mut self, phis: Vec<Phi>) -> BlockId {
        self.body.function.blocks.push(Block {
            phis,
            instructions: Vec::new(),
            merge: None,
            terminator: Terminator::Unreachable,
            line: self.line,
        });
        BlockId(self.body.function.blocks.len() as u32 - 1)
    }

    fn barrier(&mut self) {
        let barrier = Operation::collective(CollectiveKind::Barrier, GroupScope::WorkGroup, true);
        // What the instruction promises of memory is for the barrier to keep.
        let attributes = Attributes {
            order: self.attributes.order,
            ..Attributes::default()
        };
        self.emit().push(None, barrier, Vec::new(), attributes);
    }

    fn in_sub_group(&mut self, kind: CollectiveKind, value: Operand) -> Operand {
        let result = self.body.kind(value);
        let operation = Operation::collective(kind, GroupScope::SubGroup, true);
        self.emit().value(result, operation, vec![value])
    }

    fn number(&mut self, kind: TypeId, number: u64) -> Operand {
        self.body.constant(Constant::plain(kind, vec![number]))
    }

    fn elementwise(&mut self, kind: TypeId, op: Op, operands: Vec<Operand>) -> Operand {
        let result = self.body.new_value(kind);
        let attributes = Attributes {
            math: self.attributes.math,
            ..Attributes::default()
        };
        self.emit()
            .push(Some(result), Operation::Elementwise(op), operands, attributes);
        Operand::Value(result)
    }

    fn wide(&mut self) -> Option<TypeId> {
        self.body.scalar_kind(Scalar::I64)
    }

    fn truth(&mut self) -> Option<TypeId> {
        self.body.scalar_kind(Scalar::Bool)
    }

    /// Work-items of the group.
    fn group_size(&mut self) -> Option<Operand> {
        let wide = self.wide()?;
        // Of this one: groups at the end of a range may be smaller than what was asked for.
        let sizes = self.input(BuiltIn::WorkgroupSize, 3)?;
        let mut count = self.emit().value(wide, Operation::Extract(0), vec![sizes]);
        for dimension in 1..3 {
            let size = self
                .emit()
                .value(wide, Operation::Extract(dimension), vec![sizes]);
            count = self.elementwise(wide, Op::IMul, vec![count, size]);
        }
        Some(count)
    }

    /// A scalar integer as 64 bits.
    fn widened(&mut self, value: Operand, kind: Conversion) -> Option<Operand> {
        let wide = self.body.scalar_kind(Scalar::I64)?;
        if self.body.module.types.scalar(self.body.kind(value)) == Some(Scalar::I64) {
            return Some(value);
        }
        let operation = Operation::Convert {
            kind,
            saturate: false,
            rounding: None,
        };
        Some(self.emit().value(wide, operation, vec![value]))
    }

    /// A built-in variable of 64-bit integers; the module gets it if it has none.
    fn input(&mut self, built_in: BuiltIn, count: u32) -> Option<Operand> {
        let kind = match count {
            1 => self.body.scalar_kind(Scalar::I64)?,
            count => self.body.vector_kind(Scalar::I64, count)?,
        };
        let globals = &mut self.body.module.globals;
        let home = Home::Input(built_in);
        let found = globals
            .iter()
            .position(|global| (global.home, global.kind) == (home, kind));
        let index = found.unwrap_or_else(|| {
            globals.push(Global {
                name: format!("{built_in:?}"),
                home,
                kind,
                align: 8,
                initializer: None,
                host_name: None,
            });
            globals.len() - 1
        });
        let operation = Operation::Input(GlobalId(index as u32));
        Some(self.emit().value(kind, operation, Vec::new()))
    }

    /// Local memory for a value of each sub-group: its address, and the bytes from one value to the next.
    fn room(&mut self, kind: TypeId) -> Option<(Operand, u64)> {
        const NAME: &str = "shared by sub-groups";
        let module = &mut self.body.module;
        let is_room = |global: &Global| {
            let fits =
                matches!(module.types.get(global.kind), Type::Array { element, .. } if *element == kind);
            fits && global.home == Home::Local && global.name == NAME
        };
        // One array serves all uses of a type: each begins with a barrier, behind which nobody reads what the last
        // one left.
        let found = module.globals.iter().position(is_room);
        let layout = module.types.layout(kind);
        let index = match found {
            Some(index) => index,
            None => {
                let required = module
                    .kernels
                    .first()
                    .and_then(|kernel| kernel.required_local_size);
                let count =
                    required.map(|sizes| sizes.iter().fold(1, |all: u64, size| all.saturating_mul(*size)));
                // As many places as work-items: which vectors are made of them is decided later, and exchanges need
                // one each.
                let count = count.unwrap_or(self.most_work_items).min(self.most_work_items);
                let array = module.types.push(Type::Array { element: kind, count })?;
                module.globals.push(Global {
                    name: NAME.to_owned(),
                    home: Home::Local,
                    kind: array,
                    align: layout.align,
                    initializer: None,
                    host_name: None,
                });
                module.globals.len() - 1
            }
        };
        let class = StorageClass::Workgroup;
        let is_pointer = |found: &Type| *found == Type::Pointer { class, pointee: kind };
        let found = module.types.iter().position(is_pointer);
        let pointer = match found {
            Some(index) => TypeId(index as u32),
            None => module.types.push(Type::Pointer { class, pointee: kind })?,
        };
        let address = Constant {
            kind: pointer,
            words: vec![0],
            relocations: vec![(0, GlobalId(index as u32))],
        };
        Some((self.body.constant(address), layout.size))
    }

    fn place(&mut self, base: Operand, index: Operand, stride: u64) -> Operand {
        let kind = self.body.kind(base);
        let address = Operation::Address {
            offset: 0,
            strides: vec![stride],
        };
        self.emit().value(kind, address, vec![base, index])
    }

    /// A loop that counts: `number`, from a first one, below a last one, in steps. The block that is written next is its
    /// body, which `next` ends.
    fn count(&mut self, first: Operand, last: Operand, more: Option<(Operand, TypeId)>) -> Option<Loop> {
        let (wide, bool) = (
            self.body.scalar_kind(Scalar::I64)?,
            self.body.scalar_kind(Scalar::Bool)?,
        );
        // A head that tests, a body, and a block behind: all loops here have this form, which the analysis of loops
        // knows.
        let number = self.body.new_value(wide);
        let before = BlockId(self.at as u32);
        let mut phis = vec![Phi {
            result: number,
            incoming: vec![(before, first)],
        }];
        // Behind the number's, and `next` gives both in this order.
        let carried = more.map(|(initial, kind)| {
            let result = self.body.new_value(kind);
            phis.push(Phi {
                result,
                incoming: vec![(before, initial)],
            });
            result
        });
        let header = self.block(phis);
        let (inside, after) = (self.block(Vec::new()), self.block(Vec::new()));
        self.close(Terminator::Jump(header));
        self.at = header.0 as usize;
        let condition = self.elementwise(bool, Op::ULessThan, vec![Operand::Value(number), last]);
        self.close(Terminator::Branch {
            condition,
            accept: inside,
            reject: after,
            weights: None,
        });
        self.at = inside.0 as usize;
        Some(Loop {
            header,
            after,
            number,
            carried,
        })
    }

    fn next(&mut self, repeated: &Loop, step: Operand, carried: Option<Operand>) {
        let wide = self.body.value_kind(repeated.number);
        let number = self.elementwise(wide, Op::IAdd, vec![Operand::Value(repeated.number), step]);
        let from = BlockId(self.at as u32);
        self.close(Terminator::Jump(repeated.header));
        let phis = self.body.function.blocks[repeated.header.0 as usize]
            .phis
            .iter_mut();
        for (phi, operand) in phis.zip([Some(number), carried]) {
            phi.incoming.extend(operand.map(|operand| (from, operand)));
        }
        self.at = repeated.after.0 as usize;
    }

    /// Everybody learns the values of the sub-groups: those before a certain one are combined. There must be one.
    fn combined(&mut self, op: Op, value: Operand, end: Option<Operand>) -> Option<Operand> {
        let kind = self.body.kind(value);
        let (room, stride) = self.room(kind)?;
        let own = self.input(BuiltIn::SubgroupId, 1)?;
        // Values of the last time may still be read.
        self.barrier();
        let address = self.place(room, own, stride);
        self.emit().store(address, value, Attributes::default());
        self.barrier();
        let first = self.emit().load(room, kind, Attributes::default());
        let end = match end {
            Some(end) => end,
            None => self.input(BuiltIn::NumSubgroups, 1)?,
        };
        let wide = self.wide()?;
        let one = self.number(wide, 1);
        self.combine_up_to(op, (room, stride), [one, end], first)
    }

    /// Combines a value with those that were left in local memory, from a number up to another.
    fn combine_up_to(
        &mut self,
        op: Op,
        (room, stride): (Operand, u64),
        [from, end]: [Operand; 2],
        first: Operand,
    ) -> Option<Operand> {
        let (wide, kind) = (self.wide()?, self.body.kind(first));
        let one = self.number(wide, 1);
        let repeated = self.count(from, end, Some((first, kind)))?;
        let address = self.place(room, Operand::Value(repeated.number), stride);
        let other = self.emit().load(address, kind, Attributes::default());
        let sum = Operand::Value(repeated.carried?);
        let sum_after = self.elementwise(kind, op, vec![sum, other]);
        self.next(&repeated, one, Some(sum_after));
        Some(sum)
    }

    fn reduce(&mut self, kind: CollectiveKind, op: Op, value: Operand) -> Option<Operand> {
        // Within sub-groups first: by way of memory goes one value of each, and not of all.
        let value = self.in_sub_group(kind, value);
        self.combined(op, value, None)
    }

    fn scan(&mut self, kind: CollectiveKind, reduction: Reduction, value: Operand) -> Option<Operand> {
        let result = self.body.kind(value);
        let (wide, bool) = (
            self.body.scalar_kind(Scalar::I64)?,
            self.body.scalar_kind(Scalar::Bool)?,
        );
        let inside = self.in_sub_group(kind, value);
        let total = self.in_sub_group(CollectiveKind::Reduce(reduction), value);
        let own = self.input(BuiltIn::SubgroupId, 1)?;
        // Before the first sub-group there is nothing: what it combines here is its own total, and not used.
        let before = self.combined(reduction.op, total, Some(own))?;
        let zero = self.number(wide, 0);
        let is_first = self.elementwise(bool, Op::IEqual, vec![own, zero]);
        let both = self.elementwise(result, reduction.op, vec![before, inside]);
        Some(
            self.emit()
                .value(result, Operation::Select, vec![is_first, inside, both]),
        )
    }

    fn broadcast(&mut self, value: Operand, index: Operand) -> Option<Operand> {
        let (wide, bool) = (
            self.body.scalar_kind(Scalar::I64)?,
            self.body.scalar_kind(Scalar::Bool)?,
        );
        let own = self.input(BuiltIn::LocalInvocationId, 3)?;
        let scalar = self.body.module.types.scalar(self.body.kind(index))?;
        let part = self.body.scalar_kind(scalar)?;
        let mut condition: Option<Operand> = None;
        for dimension in 0..3 {
            let own = self.emit().value(wide, Operation::Extract(dimension), vec![own]);
            let wanted = if dimension < self.body.lanes(index) {
                let wanted = self
                    .emit()
                    .value(part, Operation::Extract(dimension), vec![index]);
                self.widened(wanted, Conversion::Unsigned)?
            } else {
                // What the index has no coordinate for is one work-item wide.
                self.number(wide, 0)
            };
            let same = self.elementwise(bool, Op::IEqual, vec![own, wanted]);
            condition = Some(match condition {
                Some(before) => self.elementwise(bool, Op::LogicalAnd, vec![before, same]),
                None => same,
            });
        }
        self.broadcast_from(value, condition?)
    }

    /// The value of the work-item for which a condition holds.
    fn broadcast_from(&mut self, value: Operand, condition: Operand) -> Option<Operand> {
        let kind = self.body.kind(value);
        let (room, _) = self.room(kind)?;
        // The value of the last time may still be read.
        self.barrier();
        let (source, after) = (self.block(Vec::new()), self.block(Vec::new()));
        self.close(Terminator::Branch {
            condition,
            accept: source,
            reject: after,
            weights: None,
        });
        self.at = source.0 as usize;
        self.emit().store(room, value, Attributes::default());
        self.close(Terminator::Jump(after));
        self.at = after.0 as usize;
        self.barrier();
        Some(self.emit().load(room, kind, Attributes::default()))
    }

    /// Each work-item's places in a block of memory: one for each component, and all of a sub-group's beside each other.
    fn block_places(&mut self, base: Operand, kind: TypeId) -> Option<Vec<Operand>> {
        let wide = self.body.scalar_kind(Scalar::I64)?;
        let stride = scalar_size(self.body.module.types.scalar(kind)?);
        // Not the size of this one: components lie as far apart where a sub-group isn't full.
        let size = self.input(BuiltIn::SubgroupMaxSize, 1)?;
        let mut index = self.input(BuiltIn::SubgroupLocalInvocationId, 1)?;
        let mut places = vec![self.place(base, index, stride)];
        for _ in 1..self.body.module.types.lanes(kind) {
            index = self.elementwise(wide, Op::IAdd, vec![index, size]);
            places.push(self.place(base, index, stride));
        }
        Some(places)
    }

    fn read_block(&mut self, base: Operand, kind: TypeId) -> Option<Operand> {
        let part = self.body.scalar_kind(self.body.module.types.scalar(kind)?)?;
        let places = self.block_places(base, kind)?;
        let attributes = self.attributes;
        let loads = places
            .into_iter()
            .map(|place| self.emit().load(place, part, attributes));
        let loads = loads.collect();
        Some(self.emit().value(kind, Operation::Construct, loads))
    }

    fn write_block(&mut self, base: Operand, value: Operand) -> Option<()> {
        let kind = self.body.kind(value);
        let part = self.body.scalar_kind(self.body.module.types.scalar(kind)?)?;
        let attributes = self.attributes;
        for (place, word) in self.block_places(base, kind)?.into_iter().zip(0..) {
            let component = self.emit().value(part, Operation::Extract(word), vec![value]);
            self.emit().store(place, component, attributes);
        }
        Some(())
    }

    /// Work-items copy an element each, as often as it takes.
    fn copy(
        &mut self,
        element: TypeId,
        to_local: bool,
        [to, from]: [Operand; 2],
        [count, stride]: [Operand; 2],
    ) -> Option<()> {
        let wide = self.body.scalar_kind(Scalar::I64)?;
        // OpenCL has both as `size_t`.
        let count = self.widened(count, Conversion::Unsigned)?;
        let stride = self.widened(stride, Conversion::Unsigned)?;
        let first = self.input(BuiltIn::LocalInvocationIndex, 1)?;
        let step = self.group_size()?;
        let repeated = self.count(first, count, None)?;
        let number = Operand::Value(repeated.number);
        let far = self.elementwise(wide, Op::IMul, vec![number, stride]);
        let (to_index, from_index) = if to_local { (number, far) } else { (far, number) };
        let size = self.body.module.types.layout(element).size;
        let source = self.place(from, from_index, size);
        let value = self.emit().load(source, element, Attributes::default());
        let target = self.place(to, to_index, size);
        self.emit().store(target, value, Attributes::default());
        self.next(&repeated, step, None);
        Some(())
    }
}

/// A loop that is being written.
struct Loop {
    header: BlockId,
    after: BlockId,
    number: ValueId,
    carried: Option<ValueId>,
}
