//! The function of a kernel: it runs work-groups, each of them region by region, each region vector by vector.
//!
//! ```text
//!  for each group ─▶ for each region ─▶ for each vector: read what earlier regions left, blocks, leave what later ones read
//! ```
//!
//! Values that are used in other blocks than their own go through slots in the stack, which LLVM makes values again. So
//! nothing here has to know which definitions reach a use once branches have become masks.

use std::collections::{HashMap, HashSet};

use offkit_compile::{Cut, Plan, Refusal, Region, Shape, launch, reads};
use offkit_kernel::ir::{self, BlockId, Home, Operand, Type as Kind, ValueId, Variable};
use offkit_llvm::{CompileRequest, Effort};
use offkit_spirv::grammar::StorageClass;

use llvm_sys::LLVMIntPredicate as IntPredicate;

use super::bounds::Checks;
use super::builder::{Block, Builder, Type, Value};
use super::cancel::Cancel;
use super::lanes::Lanes;
use super::memory::Access;
use super::places::Places;
use super::symbol;
use super::values::{alignment_of, size_of};

/// Scratch memory of a group and of its vectors begins at multiples of this.
const SCRATCH_ALIGNMENT: u64 = 64;

/// Bytes of private memory that a work-item may have, as when it is interpreted.
const MOST_PRIVATE: u64 = 64 << 20;

pub(super) type Result<T> = std::result::Result<T, Refusal>;

/// Makes room behind `end`, and returns where it begins.
fn room(end: &mut u64, align: u64, size: u64) -> Result<u64> {
    /// No machine has it, and sums of some do not overflow.
    const MOST: u64 = 1 << 56;
    let place = end.checked_next_multiple_of(align);
    let room = place.and_then(|place| Some((place, place.checked_add(size)?)));
    match room {
        Some((place, behind)) if behind <= MOST => {
            *end = behind;
            Ok(place)
        }
        _ => refuse("its variables need more memory than there is"),
    }
}

/// Why something is not compiled.
pub(super) fn refuse<T>(why: impl Into<String>) -> Result<T> {
    Err(Refusal(why.into()))
}

/// What is the same for all work-items of a launch.
pub(super) struct Launch<'m> {
    pub(super) dimensions: Value<'m>,
    pub(super) offset: [Value<'m>; 3],
    pub(super) global: [Value<'m>; 3],
    pub(super) local: [Value<'m>; 3],
    pub(super) groups: [Value<'m>; 3],
    pub(super) externals: Value<'m>,
    /// Where a flag is that the launch is given up.
    pub(super) cancel: Value<'m>,
    /// Where a flag is that a work-item has failed.
    pub(super) stop: Value<'m>,
    /// The groups that the kernel sees, where several of them lie in one.
    pub(super) seen: Option<Seen<'m>>,
}

/// Groups that lie in others.
pub(super) struct Seen<'m> {
    pub(super) groups: [Value<'m>; 3],
    /// Work-items of a group.
    pub(super) local: [Value<'m>; 3],
    /// What divides by that: a factor, and how many bits of the product go.
    pub(super) factor: [Value<'m>; 3],
    pub(super) shift: [Value<'m>; 3],
}

/// What is the same for all work-items of a group.
pub(super) struct Group<'m> {
    pub(super) id: [Value<'m>; 3],
    /// Work-items in each dimension.
    pub(super) size: [Value<'m>; 3],
    /// All work-items.
    pub(super) count: Value<'m>,
    /// Vectors.
    pub(super) vectors: Value<'m>,
    /// How far the local ids of one vector are from those of the one before, each modulo its size.
    pub(super) step: [Value<'m>; 3],
}

/// What is the same for the work-items of a vector, or strided.
pub(super) struct Current<'m> {
    /// The vector's number in its group.
    pub(super) number: Value<'m>,
    /// The number of the first work-item in its group.
    pub(super) first: Value<'m>,
    /// The local ids, in the form of their shapes.
    pub(super) local_id: [Value<'m>; 3],
    /// Memory of its own.
    pub(super) scratch: Value<'m>,
    /// The work-items that there are: none stands for all.
    pub(super) mask: Option<Value<'m>>,
}

pub(super) struct Emitter<'e, 'm> {
    pub(super) b: &'e Builder<'m>,
    pub(super) lanes: Lanes<'e, 'm>,
    pub(super) module: &'e ir::Module,
    pub(super) plan: &'e Plan,
    pub(super) code: &'e ir::Function,
    /// None for scalar code.
    pub(super) width: Option<u32>,
    pub(super) function: Value<'m>,
    pub(super) effort: Effort,
    /// The places of instructions, where they are asked for and told.
    pub(super) places: Option<Places<'e, 'm>>,
    /// Where slots are made: it ends with a jump to the start once all is emitted.
    entry: Block<'m>,
    pub(super) externals: Vec<String>,
    /// Functions of libmvec that are there, by their symbols.
    pub(super) vector_functions: &'e [String],
    pub(super) launch: Option<Launch<'m>>,
    pub(super) group: Option<Group<'m>>,
    pub(super) current: Option<Current<'m>>,
    /// Words of parameters, and in a region those of variables.
    pub(super) fixed: HashMap<ValueId, Vec<Value<'m>>>,
    pub(super) slots: HashMap<ValueId, Vec<Value<'m>>>,
    /// Slots that are made zero before a vector begins a region.
    fresh: Vec<(Value<'m>, Type<'m>)>,
    /// Words that the block has read or made.
    pub(super) words: HashMap<ValueId, Vec<Value<'m>>>,
    /// Values that other blocks than their own read.
    shared: HashSet<ValueId>,
    /// Where values are kept between regions, from the start of a vector's scratch memory.
    kept: HashMap<ValueId, Vec<u64>>,
    /// Where the mask of the vectors that begin a region is kept, for regions that not all work-items may come to.
    pub(super) partial: HashMap<usize, u64>,
    /// Private variables, from the start of a vector's scratch memory: work-item after work-item, then those that are
    /// interleaved.
    pub(super) variables: HashMap<ValueId, u64>,
    pub(super) private_size: u64,
    scratch: u64,
    /// Variables in local memory, from the start of a group's.
    pub(super) locals: HashMap<u32, u64>,
    pub(super) shared_size: u64,
    pub(super) group_scratch: Option<Value<'m>>,
    /// Whether the vector has handed over what it prints, where it is printed later.
    pub(super) printed: Option<Value<'m>>,
    /// The region to go on with.
    pub(super) next: Option<Value<'m>>,
    /// The masks of those that have come to barriers, by the region behind.
    pub(super) arrived: HashMap<usize, Value<'m>>,
    /// Where accesses are checked.
    pub(super) checks: Option<Checks<'m>>,
    /// How it is left before its work is done.
    pub(super) cancel: Option<Cancel<'m>>,
}

/// A kernel as LLVM has it, before it is optimised.
pub(super) struct Emitted {
    /// Bytes of memory for each vector of a group.
    pub(super) scratch: u64,
    /// Bytes of memory for each group.
    pub(super) shared: u64,
    /// Bytes of memory that a vector uses at a time.
    pub(super) own: u64,
    pub(super) externals: Vec<String>,
}

/// Writes the function of a planned kernel.
pub(super) fn emit<'m>(
    b: &Builder<'m>,
    lanes: Lanes<'_, 'm>,
    module: &ir::Module,
    plan: &Plan,
    request: &CompileRequest,
) -> Result<Emitted> {
    let pointer = b.pointer();
    let word = b.int(64);
    let ty = b.function_type(b.void(), &[pointer, word, word, pointer]);
    let function = b.function(&symbol(&request.kernel), ty);
    // Or else LLVM makes calls of `memset` and the like of loops, and there is no C library.
    b.text_attribute(function, "no-builtins", "");
    let places = request
        .lines
        .then(|| Places::new(b, function, module, &plan.function));
    let entry = b.block(function, "entry");
    let emitter = Emitter {
        b,
        lanes,
        module,
        plan,
        code: &plan.function,
        width: (plan.variant.width > 1).then_some(plan.variant.width),
        function,
        effort: request.level,
        places: places.flatten(),
        entry,
        externals: Vec::new(),
        vector_functions: &request.vector_functions,
        launch: None,
        group: None,
        current: None,
        fixed: HashMap::new(),
        slots: HashMap::new(),
        fresh: Vec::new(),
        words: HashMap::new(),
        shared: HashSet::new(),
        kept: HashMap::new(),
        partial: HashMap::new(),
        variables: HashMap::new(),
        private_size: 0,
        scratch: 0,
        locals: HashMap::new(),
        shared_size: 0,
        group_scratch: None,
        printed: None,
        next: None,
        arrived: HashMap::new(),
        checks: None,
        cancel: None,
    };
    emitter.emit()
}

impl<'m> Emitter<'_, 'm> {
    fn emit(mut self) -> Result<Emitted> {
        let b = self.b;
        self.find_shared();
        self.lay_out()?;
        let start = b.block(self.function, "start");
        b.at_end(start);
        if let Some(places) = &self.places {
            places.begin();
        }
        self.read_launch();
        self.read_arguments()?;
        self.begin_checks();
        if self.plan.regions.len() > 1 {
            self.next = Some(self.slot(b.int(32)));
        }

        self.come_from(None);
        // The loop over groups.
        let (head, body) = (
            b.block(self.function, "group"),
            b.block(self.function, "group.body"),
        );
        let done = b.block(self.function, "done");
        let (first, end) = (b.parameter(self.function, 1), b.parameter(self.function, 2));
        let first_id = self.group_id(first);
        let before = b.current();
        b.jump(head);
        b.at_end(head);
        let number = b.phi(b.int(64));
        let id = first_id.map(|id| {
            let phi = b.phi(b.int(64));
            b.incoming(phi, id, before);
            phi
        });
        b.incoming(number, first, before);
        b.branch(b.icmp(IntPredicate::LLVMIntULT, number, end), body, done);
        b.at_end(body);
        // Also where no loop is: a launch of many short groups is given up between two of them.
        self.begin_looks(number);
        self.begin_group(id);
        self.regions()?;
        let next = b.add(number, self.word(1));
        b.incoming(number, next, b.current());
        for (id, next) in id.into_iter().zip(self.next_group_id(id)) {
            b.incoming(id, next, b.current());
        }
        b.jump(head);
        self.end_looks();
        b.at_end(done);
        b.return_void();

        b.at_end(self.entry);
        b.jump(start);
        let own = self.scratch;
        // Where a vector is done before the next begins, one place does for all of them: it counts
        // as the group's, however many vectors that has.
        let (scratch, shared) = match self.has_memory_of_vectors() {
            true => (own, self.shared_size),
            false => (0, self.shared_size.saturating_add(own)),
        };
        Ok(Emitted {
            scratch,
            shared,
            own,
            externals: self.externals,
        })
    }

    /// Whether vectors keep something while others run; else one has the memory after the other.
    fn has_memory_of_vectors(&self) -> bool {
        self.plan.regions.len() > 1
    }

    /// Bytes from a vector's own memory to that of the next.
    fn vector_stride(&self) -> u64 {
        match self.has_memory_of_vectors() {
            true => self.scratch,
            false => 0,
        }
    }

    /// Bytes of the vectors' own memory.
    pub(super) fn vectors_size(&self, group: &Group<'m>) -> Value<'m> {
        match self.vector_stride() {
            0 => self.word(self.scratch),
            stride => self.b.mul(group.vectors, self.word(stride)),
        }
    }

    /// Has what is emitted from now on be of a place in the source, or of none.
    pub(super) fn come_from(&self, line: Option<ir::Line>) {
        if let Some(places) = &self.places {
            places.set(line);
        }
    }

    pub(super) fn word(&self, value: u64) -> Value<'m> {
        self.b.integer(self.b.int(64), value)
    }

    /// A slot in the stack.
    pub(super) fn slot(&self, ty: Type<'m>) -> Value<'m> {
        let here = self.b.current();
        self.b.at_end(self.entry);
        // In the entry: only the slots of that block are made values again by LLVM's `sroa`.
        let slot = self.b.alloca(ty, 1, alignment_of(ty));
        self.b.at_end(here);
        slot
    }

    /// So many words in the stack, which are zero when the function is called.
    pub(super) fn zeroed_slot(&self, words: u32) -> Value<'m> {
        let ty = self.b.int(64).vector(Some(words));
        let slot = self.slot(ty);
        let here = self.b.current();
        self.b.at_end(self.entry);
        self.b.store(self.b.zero(ty), slot, alignment_of(ty));
        self.b.at_end(here);
        slot
    }

    /// A slot that is zero when a vector begins a region.
    pub(super) fn fresh_slot(&mut self, ty: Type<'m>) -> Value<'m> {
        let slot = self.slot(ty);
        self.fresh.push((slot, ty));
        slot
    }

    fn read_launch(&mut self) {
        let b = self.b;
        let launch = b.parameter(self.function, 0);
        let pointer = |index: u64| b.load(b.pointer(), b.offset(launch, self.word(index * 8)), 8);
        let word = |index: u64| b.load(b.int(64), b.offset(launch, self.word(index * 8)), 8);
        let three = |index: u64| [0, 1, 2].map(|axis| word(index + axis));
        let local = b.parameter(self.function, 3);
        let scratch = b.offset(local, word(launch::SCRATCH));
        let found = Launch {
            dimensions: word(launch::DIMENSIONS),
            offset: three(launch::OFFSET),
            global: three(launch::GLOBAL),
            local: three(launch::LOCAL),
            groups: three(launch::GROUPS),
            externals: pointer(launch::EXTERNALS),
            cancel: pointer(launch::CANCEL),
            stop: pointer(launch::STOP),
            seen: (self.plan.variant.cut == Cut::Merged).then(|| Seen {
                groups: three(launch::SEEN_GROUPS),
                local: three(launch::SEEN_LOCAL),
                factor: three(launch::SEEN_FACTOR),
                shift: three(launch::SEEN_SHIFT),
            }),
        };
        self.group_scratch = Some(scratch);
        self.launch = Some(found);
    }

    fn read_arguments(&mut self) -> Result<()> {
        let b = self.b;
        let launch = b.parameter(self.function, 0);
        let arguments = b.load(b.pointer(), b.offset(launch, self.word(launch::ARGUMENTS * 8)), 8);
        let local = b.parameter(self.function, 3);
        let mut at = 0;
        for (index, parameter) in self.code.parameters.iter().enumerate() {
            let place = b.offset(arguments, self.word(at * 8));
            let (words, size) = match self.module.types.get(parameter.kind) {
                Kind::Pointer { pointee, .. } if parameter.by_value => {
                    (vec![place], self.module.types.layout(*pointee).size)
                }
                // A place in local memory and no address: each thread has its own.
                Kind::Pointer {
                    class: StorageClass::Workgroup,
                    ..
                } => (vec![b.offset(local, b.load(b.int(64), place, 8))], 8),
                Kind::Pointer { .. } => (vec![b.load(b.pointer(), place, 8)], 8),
                _ => {
                    let leaves = self.module.types.leaves(parameter.kind);
                    let words = leaves.iter().map(|leaf| {
                        let place = b.offset(place, self.word(leaf.offset));
                        self.load_scalar(leaf.scalar, place, 1)
                    });
                    (words.collect(), self.module.types.layout(parameter.kind).size)
                }
            };
            self.fixed.insert(ValueId(index as u32), words);
            // Each argument begins with a word of its own, as the device lays them out (`NativeLaunch::arguments`).
            at += size.div_ceil(8).max(1);
        }
        Ok(())
    }

    /// Which values other blocks read than the one that makes them.
    fn find_shared(&mut self) {
        for (number, block) in self.code.blocks.iter().enumerate() {
            // Phis are set by others, on the ways to their block.
            self.shared.extend(block.phis.iter().map(|phi| phi.result));
            let number = BlockId(number as u32);
            for operand in reads(self.code, number) {
                if let Operand::Value(value) = operand
                    && self.plan.home(value).is_some_and(|home| home != number)
                {
                    self.shared.insert(value);
                }
            }
        }
        // What addresses are computed from again, where they are used.
        for instruction in self.code.blocks.iter().flat_map(|block| &block.instructions) {
            if instruction
                .result
                .is_some_and(|result| self.plan.shapes.may_wrap(result))
            {
                for operand in &instruction.operands {
                    if let Operand::Value(value) = operand {
                        self.shared.insert(*value);
                    }
                }
            }
        }
        for region in &self.plan.regions {
            self.shared.extend(&region.reads);
            self.shared.extend(&region.writes);
        }
    }

    pub(super) fn is_shared(&self, value: ValueId) -> bool {
        self.shared.contains(&value)
    }

    /// Gives everything its place in scratch memory.
    fn lay_out(&mut self) -> Result<()> {
        for (number, global) in self.module.globals.iter().enumerate() {
            if global.home == Home::Local {
                let size = self.module.types.layout(global.kind).size;
                let at = room(&mut self.shared_size, global.align.clamp(1, 128), size)?;
                self.locals.insert(number as u32, at);
            }
        }
        // See `spaces`: an address just behind local memory must not be one of private memory.
        let gap = u64::from(self.tells_spaces_apart());
        self.shared_size = self.shared_size.saturating_add(gap);
        self.shared_size = self.shared_size.next_multiple_of(SCRATCH_ALIGNMENT);
        let mut size = 0u64;
        // Others lie work-item after work-item. Those that are interleaved come behind them, each with its parts of all
        // work-items side by side, so that a vector accesses them in one piece.
        let is_interleaved = |variable: &&Variable| {
            self.plan
                .interleaved
                .part(Operand::Value(variable.address))
                .is_some()
        };
        for variable in self
            .code
            .variables
            .iter()
            .filter(|variable| !is_interleaved(variable))
        {
            let layout = self.module.types.layout(variable.kind);
            let align = variable
                .align
                .map_or(1, u64::from)
                .max(layout.align)
                .clamp(1, 128);
            let at = room(&mut size, align, layout.size)?;
            self.variables.insert(variable.address, at);
        }
        self.private_size = size.next_multiple_of(16);
        let width = u64::from(self.plan.variant.width);
        let mut at = self.private_size.saturating_mul(width);
        for variable in self.code.variables.iter().filter(is_interleaved) {
            let size = self.module.types.layout(variable.kind).size;
            let place = room(&mut at, SCRATCH_ALIGNMENT, size.saturating_mul(width))?;
            self.variables.insert(variable.address, place);
        }
        at = at.next_multiple_of(SCRATCH_ALIGNMENT);
        // In the order of their numbers: several regions read the same, and a kernel's code is to
        // be the same each time, as the cache keeps it.
        let mut kept: Vec<ValueId> = self
            .plan
            .regions
            .iter()
            .flat_map(|region| region.reads.clone())
            .collect();
        kept.sort_unstable();
        kept.dedup();
        for value in kept {
            let types = self.types_of(value);
            let places = types.into_iter().map(|ty| {
                let align = u64::from(alignment_of(ty));
                let place = at.next_multiple_of(align);
                at = place + size_of(ty);
                place
            });
            self.kept.insert(value, places.collect());
        }
        for region in &self.plan.regions {
            for block in &region.order {
                let behind = self.plan.behind(*block);
                let is_own =
                    region.control[block.0 as usize].is_some_and(|control| control.mask != region.entry);
                if let Some(behind) = behind
                    && is_own
                    && self.width.is_some()
                    && !self.partial.contains_key(&behind)
                {
                    at = at.next_multiple_of(8);
                    self.partial.insert(behind, at);
                    at += 8;
                }
            }
        }
        // What is behind a region that not all work-items come to, not all come to either.
        let mut known = 0;
        while known != self.partial.len() {
            known = self.partial.len();
            for (index, region) in self.plan.regions.iter().enumerate() {
                if self.partial.contains_key(&index) {
                    for behind in region.order.iter().filter_map(|block| self.plan.behind(*block)) {
                        // There is one already, at a multiple of eight, with nothing but such words behind it.
                        self.partial.entry(behind).or_insert_with(|| {
                            at += 8;
                            at - 8
                        });
                    }
                }
            }
        }
        self.scratch = at.saturating_add(gap).next_multiple_of(SCRATCH_ALIGNMENT);
        // The interpreter, which runs what is refused, has the same limit.
        if self.scratch > MOST_PRIVATE.saturating_mul(self.plan.variant.width.into()) {
            return refuse(format!(
                "a work-item needs more than {MOST_PRIVATE} bytes of private memory"
            ));
        }
        Ok(())
    }

    fn begin_group(&mut self, id: [Value<'m>; 3]) {
        let b = self.b;
        let Some(launch) = &self.launch else { return };
        let size = [0, 1, 2].map(|axis| {
            // Groups at the end of the range may be smaller.
            let left = b.sub(launch.global[axis], b.mul(id[axis], launch.local[axis]));
            let is_less = b.icmp(IntPredicate::LLVMIntULT, left, launch.local[axis]);
            b.select(is_less, left, launch.local[axis])
        });
        let count = b.mul(b.mul(size[0], size[1]), size[2]);
        let width = u64::from(self.plan.variant.width);
        // A vector's width is a power of two.
        let vectors = match width {
            1 => count,
            _ => b.lshr(
                b.add(count, self.word(width - 1)),
                self.word(u64::from(width.trailing_zeros())),
            ),
        };
        // Once for a group: it has divisions, which each of its vectors is spared by the step.
        self.group = Some(Group {
            id,
            size,
            count,
            vectors,
            step: self.local_step(size),
        });
    }

    fn regions(&mut self) -> Result<()> {
        let b = self.b;
        let count = self.plan.regions.len();
        let heads: Vec<Block<'m>> = (0..count)
            .map(|index| b.block(self.function, &format!("region{index}")))
            .collect();
        let over = b.block(self.function, "group.end");
        b.jump(heads[0]);
        for index in 0..count {
            b.at_end(heads[index]);
            // A loop with a barrier goes round through the switch below, and not on a way back to
            // a head, where others look.
            if self.plan.may_repeat_forever(self.plan.regions[index].entry) {
                self.look_for_end();
            }
            self.region(index)?;
            match self.next {
                None => b.jump(over),
                Some(next) => {
                    let next = b.load(b.int(32), next, 4);
                    let case = |index: usize| b.integer(b.int(32), index as u64);
                    let behind = self.plan.regions[index]
                        .order
                        .iter()
                        .filter_map(|block| self.plan.behind(*block));
                    let mut behind: Vec<usize> = behind.collect();
                    behind.sort_unstable();
                    behind.dedup();
                    let cases: Vec<_> = behind.iter().map(|index| (case(*index), heads[*index])).collect();
                    // Where nobody has come to a barrier, `next` is no region's number, and the group is done.
                    b.switch(next, over, &cases);
                }
            }
        }
        b.at_end(over);
        Ok(())
    }

    /// Emits a region: a loop over the vectors of the group.
    fn region(&mut self, index: usize) -> Result<()> {
        let b = self.b;
        let region = &self.plan.regions[index];
        let first_local_id = self.first_local_id();
        let before = b.current();
        if let Some(next) = self.next {
            // No region has this number: it stays where all work-items end in this one.
            b.store(b.integer(b.int(32), u64::from(u32::MAX)), next, 4);
        }
        let head = b.block(self.function, "vector");
        // Written last, though it runs first: only the body tells which slots are to be zero.
        let fresh = b.block(self.function, "vector.fresh");
        let body = b.block(self.function, "vector.body");
        let end = b.block(self.function, "vector.end");
        let after = b.block(self.function, "region.end");
        b.jump(head);
        b.at_end(head);
        let Some(group) = &self.group else { return Ok(()) };
        let local_id = first_local_id.map(|id| {
            let phi = b.phi(id.ty());
            b.incoming(phi, id, before);
            phi
        });
        let number = b.phi(b.int(64));
        b.incoming(number, self.word(0), before);
        b.branch(
            b.icmp(IntPredicate::LLVMIntULT, number, group.vectors),
            fresh,
            after,
        );

        b.at_end(body);
        // Each region has slots of its own: what goes from one to the next is kept for each vector,
        // as all vectors come through this one first.
        self.slots.clear();
        self.words.clear();
        self.fresh.clear();
        self.begin_vector(number, local_id, index);
        if self.width.is_some() && self.prints() {
            self.printed = Some(self.fresh_slot(b.int(1)));
        }
        // Only where work-items begin: later regions find what the earlier ones have left.
        if index == 0 {
            self.initialize_variables()?;
        }
        self.restore(region);
        self.arrived.clear();
        for behind in region.order.iter().filter_map(|block| self.plan.behind(*block)) {
            if self.partial.contains_key(&behind) {
                let slot = self.fresh_slot(b.int(64));
                self.arrived.insert(behind, slot);
            }
        }
        self.blocks(region, end)?;

        b.at_end(fresh);
        for (slot, ty) in std::mem::take(&mut self.fresh) {
            b.store(b.zero(ty), slot, alignment_of(ty));
        }
        b.jump(body);

        b.at_end(end);
        self.keep(region);
        self.flush_printed();
        let next = b.add(number, self.word(1));
        let next_id = self.next_local_id(local_id);
        b.incoming(number, next, b.current());
        for (id, next) in local_id.into_iter().zip(next_id) {
            b.incoming(id, next, b.current());
        }
        b.jump(head);
        b.at_end(after);
        Ok(())
    }

    /// What is known of a vector's place, and its variables.
    fn begin_vector(&mut self, number: Value<'m>, local_id: [Value<'m>; 3], region: usize) {
        let b = self.b;
        let (Some(group), Some(base)) = (&self.group, self.group_scratch) else {
            return;
        };
        let width = u64::from(self.plan.variant.width);
        let first = b.mul(number, self.word(width));
        let local_id = local_id.map(|id| b.zext_or_trunc(id, b.int(64).vector(id.ty().width())));
        // Behind the group's variables in local memory, vector after vector; or one place for all of them.
        let at = b.add(
            b.mul(number, self.word(self.vector_stride())),
            self.word(self.shared_size),
        );
        let scratch = b.offset(base, at);
        let mut mask = None;
        // Scalar code has no vector that could be partly filled.
        if !self.plan.variant.full && self.width.is_some() {
            let left = b.sub(group.count, first);
            let lane = self.lane_numbers(b.int(64));
            mask = Some(b.icmp(IntPredicate::LLVMIntULT, lane, b.broadcast(left, self.width)));
        }
        if let (Some(at), Some(width)) = (self.partial.get(&region), self.width) {
            let bits = b.load(b.int(64), b.offset(scratch, self.word(*at)), 8);
            // In the place of the other mask: those who have come to the barrier are in the group.
            let bits = b.zext_or_trunc(bits, b.int(width));
            mask = Some(b.bit_cast(bits, b.int(1).vector(self.width)));
        }
        for variable in &self.code.variables {
            let at = self.variables.get(&variable.address).copied().unwrap_or(0);
            let place = b.offset(scratch, self.word(at));
            let place = match self.plan.shapes.word(variable.address, 0) {
                // Scalar code, or the first work-item's.
                Shape::Uniform | Shape::Strided(_) => place,
                Shape::Varying => {
                    let lane = self.lane_numbers(b.int(64));
                    let size = b.broadcast(self.word(self.private_size), self.width);
                    b.offset(place, b.mul(lane, size))
                }
            };
            self.fixed.insert(variable.address, vec![place]);
        }
        self.current = Some(Current {
            number,
            first,
            local_id,
            scratch,
            mask,
        });
        self.place_checks();
    }

    fn initialize_variables(&mut self) -> Result<()> {
        for variable in &self.code.variables {
            let Some(constant) = variable.initializer else {
                continue;
            };
            let words = self.constant(constant);
            let address = Operand::Value(variable.address);
            let leaves = self.laid_out(address, self.module.types.all_leaves(variable.kind));
            let access = Access {
                leaves: &leaves,
                place: self.fixed[&variable.address][0],
                shape: self.plan.shapes.word(variable.address, 0),
                align: self.plan.interleaved.part(address).unwrap_or(1),
                mask: self.current.as_ref().and_then(|current| current.mask),
            };
            for (leaf, word) in leaves.iter().zip(words) {
                self.store_word(access, leaf, word, Shape::Uniform);
            }
        }
        Ok(())
    }

    /// Reads what earlier regions left.
    fn restore(&mut self, region: &Region) {
        let b = self.b;
        for value in &region.reads {
            let (Some(places), Some(current)) = (self.kept.get(value), &self.current) else {
                continue;
            };
            let scratch = current.scratch;
            let types = self.types_of(*value);
            let places = places.clone();
            let slots = self.slots_of(*value);
            for ((place, ty), slot) in places.iter().zip(types).zip(slots) {
                let word = b.load(ty, b.offset(scratch, self.word(*place)), alignment_of(ty));
                b.store(word, slot, alignment_of(ty));
            }
        }
    }

    /// Leaves what later regions read.
    fn keep(&mut self, region: &Region) {
        let b = self.b;
        if let Some(current) = &self.current {
            for (behind, slot) in &self.arrived {
                let place = b.offset(current.scratch, self.word(self.partial[behind]));
                b.store(b.load(b.int(64), *slot, 8), place, 8);
            }
        }
        for value in &region.writes {
            let (Some(places), Some(current)) = (self.kept.get(value).cloned(), &self.current) else {
                continue;
            };
            let scratch = current.scratch;
            let types = self.types_of(*value);
            let Some(slots) = self.slots.get(value).cloned() else {
                continue;
            };
            for ((place, ty), slot) in places.iter().zip(types).zip(slots) {
                let word = b.load(ty, slot, alignment_of(ty));
                b.store(word, b.offset(scratch, self.word(*place)), alignment_of(ty));
            }
        }
    }
}
