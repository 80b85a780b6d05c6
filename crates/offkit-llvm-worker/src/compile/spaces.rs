//! Generic pointers: which memory an address leads to. A group's own memory is one piece, so its place there tells.
//!
//! ```text
//!  local arguments │ local variables │ gap │ private variables of a vector, what it keeps │ gap │ of the next …
//! ```

use llvm_sys::LLVMIntPredicate as IntPredicate;
use offkit_kernel::ir::{self, Instruction, Operation, Type as Kind};
use offkit_spirv::grammar::{MemorySemantics, StorageClass};

use super::builder::Value;
use super::kernel::{Emitter, Result, refuse};

impl<'m> Emitter<'_, 'm> {
    /// Whether the kernel asks where addresses lead. Then there is a gap behind each piece of memory, so that an address
    /// behind the last of its bytes is none of the next.
    pub(super) fn tells_spaces_apart(&self) -> bool {
        let mut instructions = self.code.blocks.iter().flat_map(|block| &block.instructions);
        instructions.any(|instruction| {
            matches!(
                instruction.operation,
                Operation::GenericCast(_) | Operation::PointerSemantics
            )
        })
    }

    /// Pointer: itself if it leads to memory of a class, or else the null pointer.
    pub(super) fn generic_cast(
        &mut self,
        instruction: &Instruction,
        class: StorageClass,
    ) -> Result<Vec<Value<'m>>> {
        let b = self.b;
        let pointer = self.vectors(instruction.operands[0])[0];
        let pointer = self.coerce(pointer, b.pointer());
        let leads_there = match class {
            StorageClass::Workgroup => self.is_local(pointer),
            StorageClass::Function => self.is_private(pointer),
            // Whatever is no memory of the thread's own: buffers may be anywhere in the process.
            _ => self
                .is_local(pointer)
                .zip(self.is_private(pointer))
                .map(|(local, private)| b.not(b.or(local, private))),
        };
        match leads_there {
            Some(leads_there) => Ok(vec![b.select(leads_there, pointer, b.zero(pointer.ty()))]),
            None => refuse("it asks where a pointer leads outside of a kernel"),
        }
    }

    /// Pointer: the class of the memory that it leads to, as memory semantics.
    pub(super) fn pointer_semantics(&mut self, instruction: &Instruction) -> Result<Vec<Value<'m>>> {
        let b = self.b;
        let pointer = self.vectors(instruction.operands[0])[0];
        let pointer = self.coerce(pointer, b.pointer());
        let (Some(local), Some(private)) = (self.is_local(pointer), self.is_private(pointer)) else {
            return refuse("it asks where a pointer leads outside of a kernel");
        };
        let ty = b.int(32).vector(pointer.ty().width());
        let semantics = |semantics: MemorySemantics| b.integer(ty, semantics.0.into());
        let global = b.select(
            private,
            b.zero(ty),
            semantics(MemorySemantics::CrossWorkgroupMemory),
        );
        Ok(vec![b.select(
            local,
            semantics(MemorySemantics::WorkgroupMemory),
            global,
        )])
    }

    fn is_local(&self, pointer: Value<'m>) -> Option<Value<'m>> {
        let b = self.b;
        let start = b.parameter(self.function, 3);
        let size = b.add(
            self.distance(start, self.group_scratch?),
            self.word(self.shared_size),
        );
        Some(self.is_within(pointer, start, size))
    }

    fn is_private(&self, pointer: Value<'m>) -> Option<Value<'m>> {
        let b = self.b;
        let start = b.offset(self.group_scratch?, self.word(self.shared_size));
        let size = self.vectors_size(self.group.as_ref()?);
        let own = self.is_within(pointer, start, size);
        // Structs that are only read stay where the caller put them.
        let structs = self.code.parameters.iter().zip(0..);
        let structs = structs.filter(|(parameter, _)| parameter.by_value);
        Some(structs.fold(own, |own, (parameter, index)| {
            let place = self.fixed[&ir::ValueId(index)][0];
            let size = match self.module.types.get(parameter.kind) {
                Kind::Pointer { pointee, .. } => self.module.types.layout(*pointee).size,
                _ => 0,
            };
            b.or(own, self.is_within(pointer, place, self.word(size)))
        }))
    }

    fn is_within(&self, pointer: Value<'m>, start: Value<'m>, size: Value<'m>) -> Value<'m> {
        let b = self.b;
        let form = pointer.ty().width();
        let (start, size) = (b.broadcast(start, form), b.broadcast(size, form));
        // One comparison sees both ends: what lies before the start is a huge distance behind it.
        b.icmp(IntPredicate::LLVMIntULT, self.distance(start, pointer), size)
    }

    /// Bytes from one address to another.
    fn distance(&self, from: Value<'m>, to: Value<'m>) -> Value<'m> {
        let number = |pointer: Value<'m>| self.coerce(pointer, self.b.int(64));
        self.b.sub(number(to), number(from))
    }
}
