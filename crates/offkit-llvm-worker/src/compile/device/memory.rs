//! Memory: accesses by the memory that their pointers' types tell, atomics, fences, generic pointers.

use llvm_sys::core::{
    LLVMBuildAtomicCmpXchgSyncScope, LLVMBuildAtomicRMWSyncScope, LLVMBuildExtractValue,
    LLVMBuildFenceSyncScope, LLVMSetAtomicSyncScopeID, LLVMSetOrdering,
};
use llvm_sys::{LLVMAtomicOrdering as Ordering, LLVMIntPredicate as IntPredicate};
use offkit_kernel::builtins::Scalar;
use offkit_kernel::ir::{
    AtomicOperation, Attributes, Instruction, Leaf, Operand, Type as Kind, TypeId, ValueId, scalar_size,
};
use offkit_spirv::grammar::{MemorySemantics, Scope, StorageClass};

use super::super::apart::update_of;
use super::super::builder::{Type, Value};
use super::super::kernel::refuse;
use super::kernel::{Emitter, Result};

/// How much is known of an address `offset` bytes behind one that is aligned.
fn alignment(align: u64, offset: u64) -> u32 {
    let at = match offset {
        0 => align,
        offset => align.min(1 << offset.trailing_zeros().min(12)),
    };
    u32::try_from(at.clamp(1, 4096)).unwrap_or(1)
}

/// What an access guarantees, as LLVM has it.
fn ordering(semantics: u32) -> Ordering {
    let semantics = MemorySemantics(semantics);
    let has = |bit: MemorySemantics| semantics.0 & bit.0 != 0;
    if has(MemorySemantics::SequentiallyConsistent) {
        return Ordering::LLVMAtomicOrderingSequentiallyConsistent;
    }
    let both = has(MemorySemantics::AcquireRelease);
    match (
        both || has(MemorySemantics::Acquire),
        both || has(MemorySemantics::Release),
    ) {
        (true, true) => Ordering::LLVMAtomicOrderingAcquireRelease,
        (true, false) => Ordering::LLVMAtomicOrderingAcquire,
        (false, true) => Ordering::LLVMAtomicOrderingRelease,
        (false, false) => Ordering::LLVMAtomicOrderingMonotonic,
    }
}

impl<'m> Emitter<'_, '_, 'm> {
    /// The class of the memory that an operand leads to.
    pub(super) fn class_of(&self, pointer: Operand) -> Option<StorageClass> {
        match *self
            .module
            .types
            .get(self.module.operand_type(self.code, pointer))
        {
            Kind::Pointer { class, .. } => Some(class),
            _ => None,
        }
    }

    /// The address that an operand is, in the memory that its type tells.
    fn place(&mut self, pointer: Operand) -> Result<Value<'m>> {
        let b = self.b;
        let place = self.operand(pointer)?[0];
        let place = self.coerce(place, b.pointer());
        let space = self.class_of(pointer).and_then(|class| self.gpu.space_of(class));
        Ok(match space {
            Some(space) => b.space_cast(place, b.pointer_in(self.gpu.space(space))),
            None => place,
        })
    }

    fn align_of(&self, instruction: &Instruction, kind: TypeId) -> u64 {
        // What the module doesn't tell is the alignment that OpenCL demands of the type.
        let told = instruction.attributes.align.map(u64::from);
        told.unwrap_or_else(|| self.module.types.layout(kind).align)
    }

    fn memory_type(&self, scalar: Scalar) -> Type<'m> {
        match scalar {
            Scalar::Bool => self.b.int(8),
            scalar => self.b.scalar(scalar),
        }
    }

    pub(super) fn load(&mut self, instruction: &Instruction, result: ValueId) -> Result<Vec<Value<'m>>> {
        let b = self.b;
        let kind = self.code.values[result.0 as usize];
        let pointer = instruction.operands[0];
        let place = self.place(pointer)?;
        let align = self.align_of(instruction, kind);
        let is_constant = self.class_of(pointer) == Some(StorageClass::UniformConstant);
        let mark = |access: Value<'m>| {
            // What is invariant may be loaded early, and once: a volatile access may not.
            if instruction.attributes.volatile {
                b.set_volatile(access);
            } else if is_constant {
                b.set_invariant(access);
            }
        };
        let leaves = self.module.types.leaves(kind);
        let words = self.load_leaves(place, &leaves, align, &mark);
        let types = self.types_of(kind);
        let words = words.into_iter().zip(types);
        Ok(words.map(|(word, ty)| self.coerce(word, ty)).collect())
    }

    pub(super) fn store(&mut self, instruction: &Instruction) -> Result<()> {
        let b = self.b;
        let [pointer, value] = instruction.operands[..] else {
            return refuse("it stores nothing");
        };
        let kind = self.module.operand_type(self.code, value);
        let place = self.place(pointer)?;
        let words = self.operand(value)?;
        let align = self.align_of(instruction, kind);
        let mark = |access: Value<'m>| {
            if instruction.attributes.volatile {
                b.set_volatile(access);
            }
        };
        let leaves = self.module.types.leaves(kind);
        self.store_leaves(place, &leaves, &words, align, &mark);
        Ok(())
    }

    /// The second result of a function, where its pointer leads; modules with untyped pointers don't say to what.
    pub(super) fn store_second(&mut self, pointer: Operand, words: &[Value<'m>]) -> Result<()> {
        let kind = self.module.operand_type(self.code, pointer);
        let Kind::Pointer { pointee, .. } = *self.module.types.get(kind) else {
            return refuse("its second result goes nowhere");
        };
        let place = self.place(pointer)?;
        let align = self.module.types.layout(pointee).align;
        let mut offset = 0;
        let mut leaves = Vec::new();
        for word in words {
            let scalar = word.ty().scalar();
            leaves.push(Leaf { offset, scalar });
            offset += scalar_size(scalar);
        }
        self.store_leaves(place, &leaves, words, align, &|_| {});
        Ok(())
    }

    /// How many scalars of one kind, all that there are, are accessed at once.
    fn wide(&self, leaves: &[Leaf], align: u64) -> Option<Type<'m>> {
        let first = leaves.first()?;
        let (size, count) = (scalar_size(first.scalar), leaves.len() as u64);
        let places = (0..count).map(|index| index * size);
        let is_dense = (leaves.iter().zip(places))
            .all(|(leaf, place)| leaf.scalar == first.scalar && leaf.offset == place);
        // Aligned as a whole: NVIDIA's GPUs take a vector from no other place, and LLVM would load
        // it in pieces of whatever is aligned.
        let fits = (2..=16).contains(&count) && count.is_power_of_two() && align >= size * count;
        (is_dense && fits && first.scalar != Scalar::Bool)
            .then(|| self.b.scalar(first.scalar).vector(Some(count as u32)))
    }

    pub(super) fn load_leaves(
        &self,
        place: Value<'m>,
        leaves: &[Leaf],
        align: u64,
        mark: &dyn Fn(Value<'m>),
    ) -> Vec<Value<'m>> {
        let b = self.b;
        if let Some(ty) = self.wide(leaves, align) {
            let all = b.load(ty, place, alignment(align, 0));
            mark(all);
            return (0..leaves.len() as u32)
                .map(|lane| b.extract(all, lane))
                .collect();
        }
        let load = |leaf: &Leaf| {
            let at = self.at(place, leaf.offset);
            // A truth is a byte in memory, any of whose bits may be set by who wrote it.
            let value = b.load(self.memory_type(leaf.scalar), at, alignment(align, leaf.offset));
            mark(value);
            match leaf.scalar {
                Scalar::Bool => b.icmp(IntPredicate::LLVMIntNE, value, b.zero(value.ty())),
                _ => value,
            }
        };
        leaves.iter().map(load).collect()
    }

    pub(super) fn store_leaves(
        &self,
        place: Value<'m>,
        leaves: &[Leaf],
        words: &[Value<'m>],
        align: u64,
        mark: &dyn Fn(Value<'m>),
    ) {
        let b = self.b;
        if let Some(ty) = self.wide(leaves, align) {
            let put =
                |all, (lane, word): (u32, &Value<'m>)| b.insert(all, self.coerce(*word, ty.lane()), lane);
            let all = (0..).zip(words).fold(b.poison(ty), put);
            mark(b.store(all, place, alignment(align, 0)));
            return;
        }
        for (leaf, word) in leaves.iter().zip(words) {
            let ty = self.memory_type(leaf.scalar);
            let value = match leaf.scalar {
                Scalar::Bool => b.zext_or_trunc(*word, ty),
                _ => self.coerce(*word, ty),
            };
            mark(b.store(value, self.at(place, leaf.offset), alignment(align, leaf.offset)));
        }
    }

    fn at(&self, place: Value<'m>, offset: u64) -> Value<'m> {
        match offset {
            0 => place,
            offset => self.b.offset(place, self.word(offset)),
        }
    }

    /// Base, indices: the base and so many bytes.
    pub(super) fn address(
        &mut self,
        instruction: &Instruction,
        offset: u64,
        strides: &[u64],
    ) -> Result<Vec<Value<'m>>> {
        let b = self.b;
        let operands = &instruction.operands;
        let base = self.operand(operands[0])?[0];
        let mut place = self.coerce(base, b.pointer());
        place = self.at(place, offset);
        for (index, stride) in operands[1..].iter().zip(strides) {
            let index = self.operand(*index)?[0];
            let wide = b.sext_or_trunc(self.coerce(index, b.int(64)), b.int(64));
            let bytes = b.mul(wide, self.word(*stride));
            if bytes.as_integer() != Some(0) {
                place = b.offset(place, bytes);
            }
        }
        Ok(vec![place])
    }

    /// Destination, source, size in bytes.
    pub(super) fn copy(&mut self, instruction: &Instruction) -> Result<()> {
        let [to, from, size] = instruction.operands[..] else {
            return refuse("it copies nothing");
        };
        let size = self.operand(size)?[0];
        let size = self.b.zext_or_trunc(size, self.b.int(64));
        let align = instruction.attributes.align.unwrap_or(1);
        let (to, from) = (self.place(to)?, self.place(from)?);
        self.b.copy((to, align), (from, align), size);
        Ok(())
    }

    /// Who sees an access in order, and in what order.
    fn order(&self, attributes: &Attributes) -> (Ordering, u32) {
        match attributes.order {
            Some(order) => {
                let scope = self.b.sync_scope(self.gpu.sync_scope(order.scope));
                (ordering(order.semantics), scope)
            }
            None => (
                Ordering::LLVMAtomicOrderingSequentiallyConsistent,
                self.b.sync_scope(""),
            ),
        }
    }

    pub(super) fn fence(&self, attributes: &Attributes) {
        let (ordering, scope) = self.order(attributes);
        self.fence_of(ordering, scope);
    }

    /// Lets those of a scope, or of a wider one that is asked for, see at a meeting what the others have done before.
    pub(super) fn meet(&self, attributes: &Attributes, own: Scope, meet: impl FnOnce()) {
        let wider = attributes.order.map(|order| order.scope);
        let wider = wider.filter(|scope| match *scope {
            Scope::Device | Scope::CrossDevice => true,
            Scope::Workgroup => own == Scope::Subgroup,
            _ => false,
        });
        // Such a barrier orders for its own group; whoever else is asked for needs the fence.
        if self.gpu.table().ordered_barriers {
            if wider.is_some() {
                self.fence(attributes);
            }
            return meet();
        }
        let scope = self.b.sync_scope(self.gpu.sync_scope(wider.unwrap_or(own)));
        self.fence_of(Ordering::LLVMAtomicOrderingRelease, scope);
        meet();
        self.fence_of(Ordering::LLVMAtomicOrderingAcquire, scope);
    }

    fn fence_of(&self, ordering: Ordering, scope: u32) {
        if ordering != Ordering::LLVMAtomicOrderingMonotonic {
            // SAFETY: the builder writes at the end of a block; the order is one that a fence can have.
            unsafe { LLVMBuildFenceSyncScope(self.b.as_raw(), ordering, scope, c"".as_ptr()) };
        }
    }

    /// An access without an order of its own that gets one by fences.
    fn between_fences(
        &self,
        ordering: Ordering,
        scope: u32,
        access: impl FnOnce() -> Value<'m>,
    ) -> Value<'m> {
        if ordering != Ordering::LLVMAtomicOrderingAcquire {
            self.fence_of(ordering, scope);
        }
        let old = access();
        if ordering != Ordering::LLVMAtomicOrderingRelease {
            self.fence_of(ordering, scope);
        }
        old
    }

    pub(super) fn atomic(
        &mut self,
        instruction: &Instruction,
        operation: AtomicOperation,
        scalar: Scalar,
    ) -> Result<Vec<Value<'m>>> {
        use Ordering as O;
        let b = self.b;
        let place = self.place(instruction.operands[0])?;
        let (ordering, scope) = self.order(&instruction.attributes);
        let ty = b.scalar(scalar);
        let align = scalar_size(scalar) as u32;
        let mut operands = Vec::new();
        for operand in &instruction.operands[1..] {
            let word = self.operand(*operand)?[0];
            operands.push(self.coerce(word, ty));
        }
        let operand = |index: usize| match operands.get(index) {
            Some(word) if word.ty() == ty => Ok(*word),
            _ => refuse(format!("the atomic operation {operation:?} has other operands")),
        };
        let set_order = |access: Value<'m>, ordering: O| {
            // SAFETY: asked of loads and stores only, with an order that they can have.
            unsafe {
                LLVMSetOrdering(access.as_raw(), ordering);
                LLVMSetAtomicSyncScopeID(access.as_raw(), scope);
            }
        };
        let old = match operation {
            AtomicOperation::Load => {
                // LLVM has no load that releases.
                let ordering = match ordering {
                    O::LLVMAtomicOrderingAcquireRelease => O::LLVMAtomicOrderingAcquire,
                    O::LLVMAtomicOrderingRelease => O::LLVMAtomicOrderingMonotonic,
                    ordering => ordering,
                };
                if self.gpu.table().ordered_accesses {
                    let loaded = b.load(ty, place, align);
                    set_order(loaded, ordering);
                    loaded
                } else {
                    if ordering == O::LLVMAtomicOrderingSequentiallyConsistent {
                        self.fence_of(ordering, scope);
                    }
                    let loaded = b.load(ty, place, align);
                    set_order(loaded, O::LLVMAtomicOrderingMonotonic);
                    self.fence_of(ordering, scope);
                    loaded
                }
            }
            AtomicOperation::Store | AtomicOperation::Clear => {
                let value = match operation {
                    AtomicOperation::Store => operand(0)?,
                    _ => b.zero(ty),
                };
                // Nor a store that acquires.
                let ordering = match ordering {
                    O::LLVMAtomicOrderingAcquireRelease => O::LLVMAtomicOrderingRelease,
                    O::LLVMAtomicOrderingAcquire => O::LLVMAtomicOrderingMonotonic,
                    ordering => ordering,
                };
                if self.gpu.table().ordered_accesses {
                    set_order(b.store(value, place, align), ordering);
                } else {
                    self.fence_of(ordering, scope);
                    set_order(b.store(value, place, align), O::LLVMAtomicOrderingMonotonic);
                    if ordering == O::LLVMAtomicOrderingSequentiallyConsistent {
                        self.fence_of(ordering, scope);
                    }
                }
                return Ok(Vec::new());
            }
            AtomicOperation::CompareExchange => {
                // Floating-point numbers are compared by their bits.
                let bits = b.int(ty.bits());
                let (new, expected) = (b.bit_cast(operand(0)?, bits), b.bit_cast(operand(1)?, bits));
                // An exchange that fails is a load.
                let failed = match ordering {
                    O::LLVMAtomicOrderingAcquireRelease => O::LLVMAtomicOrderingAcquire,
                    O::LLVMAtomicOrderingRelease => O::LLVMAtomicOrderingMonotonic,
                    ordering => ordering,
                };
                let exchange = |ordering, failed| {
                    // SAFETY: a pointer and two integers of one type.
                    unsafe {
                        let pair = LLVMBuildAtomicCmpXchgSyncScope(
                            b.as_raw(),
                            place.as_raw(),
                            expected.as_raw(),
                            new.as_raw(),
                            ordering,
                            failed,
                            scope,
                        );
                        Value::from_raw(LLVMBuildExtractValue(b.as_raw(), pair, 0, c"".as_ptr()))
                    }
                };
                let old = match self.gpu.table().ordered_accesses {
                    true => exchange(ordering, failed),
                    false => self.between_fences(ordering, scope, || {
                        exchange(O::LLVMAtomicOrderingMonotonic, O::LLVMAtomicOrderingMonotonic)
                    }),
                };
                b.bit_cast(old, ty)
            }
            AtomicOperation::Exchange | AtomicOperation::TestAndSet | AtomicOperation::Update(_) => {
                let value = match operation {
                    AtomicOperation::TestAndSet => b.integer(ty, 1),
                    _ => operand(0)?,
                };
                let Some(update) = update_of(operation) else {
                    return refuse(format!("the atomic operation {operation:?}"));
                };
                let order = instruction.attributes.order;
                let table = self.gpu.table();
                // LLVM would take it without a word and write one that the other devices don't see.
                if !table.updates_of_all && order.is_some_and(|order| order.scope == Scope::CrossDevice) {
                    return refuse("an atomic update among all devices (`memory_scope_all_svm_devices`)");
                }
                let updated = |ordering| {
                    // SAFETY: a pointer and a value of the type that is updated.
                    unsafe {
                        Value::from_raw(LLVMBuildAtomicRMWSyncScope(
                            b.as_raw(),
                            update,
                            place.as_raw(),
                            value.as_raw(),
                            ordering,
                            scope,
                        ))
                    }
                };
                match table.ordered_updates {
                    true => updated(ordering),
                    false => self.between_fences(ordering, scope, || updated(O::LLVMAtomicOrderingMonotonic)),
                }
            }
        };
        Ok(vec![match operation {
            // Whether the flag was set.
            AtomicOperation::TestAndSet => b.icmp(IntPredicate::LLVMIntNE, old, b.zero(ty)),
            _ => old,
        }])
    }

    /// Pointer: itself if it leads to memory of a class, or else the null pointer.
    pub(super) fn generic_cast(
        &mut self,
        instruction: &Instruction,
        class: StorageClass,
    ) -> Result<Vec<Value<'m>>> {
        let b = self.b;
        let pointer = self.operand(instruction.operands[0])?[0];
        let pointer = self.coerce(pointer, b.pointer());
        let leads_there = self.gpu.leads_to(b, pointer, class);
        Ok(vec![b.select(leads_there, pointer, b.zero(pointer.ty()))])
    }

    /// Pointer: the class of the memory that it leads to, as memory semantics.
    pub(super) fn pointer_semantics(&mut self, instruction: &Instruction) -> Result<Vec<Value<'m>>> {
        let b = self.b;
        let pointer = self.operand(instruction.operands[0])?[0];
        let pointer = self.coerce(pointer, b.pointer());
        let semantics = |semantics: MemorySemantics| self.short(semantics.0.into());
        let is = |class| self.gpu.leads_to(b, pointer, class);
        let global = semantics(MemorySemantics::CrossWorkgroupMemory);
        let global = b.select(is(StorageClass::CrossWorkgroup), global, self.short(0));
        let local = semantics(MemorySemantics::WorkgroupMemory);
        Ok(vec![b.select(is(StorageClass::Workgroup), local, global)])
    }
}
