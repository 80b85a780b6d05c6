//! What work-items tell the device, one after the other: what they print, which it does when it is the vector's turn, and that
//! they can't go on.

use offkit_kernel::builtins::Scalar;
use offkit_kernel::ir::{Instruction, Operation};

use super::builder::Value;
use super::kernel::{Emitter, Result};

impl<'m> Emitter<'_, 'm> {
    /// Whether the kernel prints.
    pub(super) fn prints(&self) -> bool {
        let mut instructions = self.code.blocks.iter().flat_map(|block| &block.instructions);
        instructions.any(|instruction| instruction.operation == Operation::Print)
    }

    /// Format, values. The result is that of success.
    pub(super) fn print(
        &mut self,
        instruction: &Instruction,
        mask: Option<Value<'m>>,
    ) -> Result<Vec<Value<'m>>> {
        let b = self.b;
        let (file, line) = instruction
            .line
            .map_or((0, 0), |line| (u64::from(line.file.0) + 1, u64::from(line.line)));
        let mut call = vec![file, line, instruction.operands.len() as u64];
        let mut words = Vec::new();
        for operand in &instruction.operands {
            let kind = self.module.operand_type(self.code, *operand);
            let scalar = self.module.types.scalar(kind).unwrap_or(Scalar::I64);
            let given = self.vectors(*operand);
            call.push(scalar as u64 | (given.len() as u64) << 32);
            words.extend(given);
        }
        // What is the same for all is a constant; each work-item only fills in its words.
        let call = b.table(&call);
        let words: Vec<_> = words.into_iter().map(|word| self.apart(word)).collect();
        let word = b.int(64);
        let room = self.slot(word.vector(Some(words.len().max(1) as u32)));
        let function = self.external("print");
        let group = self.group_number();
        let pointer = b.pointer();
        let ty = b.function_type(b.void(), &[pointer, pointer, pointer, word, word]);
        self.each(mask, &mut |emitter, lane| {
            for (index, operand) in words.iter().enumerate() {
                let bits = emitter.word_of_lane(*operand, lane);
                b.store(bits, b.offset(room, emitter.word(index as u64 * 8)), 8);
            }
            if let (Some(group), Some(current)) = (group, &emitter.current) {
                let launch = b.parameter(emitter.function, 0);
                let item = b.add(current.first, lane);
                b.call(ty, function, &[launch, call, room, group, item]);
            }
            Ok(())
        })?;
        match self.printed {
            Some(printed) => _ = b.store(b.truth(None, true), printed, 1),
            // Nobody else comes in between.
            None => self.call_printed(),
        }
        let success = instruction.result.map(|result| {
            let types = self.types_of(result);
            types.into_iter().map(|ty| b.zero(ty)).collect()
        });
        Ok(success.unwrap_or_default())
    }

    /// The launch fails, as the function of that name tells.
    pub(super) fn fail(&mut self, name: &str, mask: Option<Value<'m>>) -> Result<Vec<Value<'m>>> {
        let b = self.b;
        let function = self.external(name);
        let group = self.group_number();
        let ty = b.function_type(b.void(), &[b.pointer(), b.int(64), b.int(64)]);
        self.each(mask, &mut |emitter, lane| {
            if let (Some(group), Some(current)) = (group, &emitter.current) {
                let launch = b.parameter(emitter.function, 0);
                b.call(ty, function, &[launch, group, b.add(current.first, lane)]);
            }
            Ok(())
        })?;
        Ok(Vec::new())
    }

    /// The group's number in the launch.
    pub(super) fn group_number(&self) -> Option<Value<'m>> {
        let (b, [x, y, z]) = (self.b, self.group.as_ref()?.id);
        let [columns, rows, _] = self.launch.as_ref()?.groups;
        Some(b.add(b.mul(b.add(b.mul(z, rows), y), columns), x))
    }

    /// Has the device print what the vector has handed over, if it has.
    pub(super) fn flush_printed(&mut self) {
        let b = self.b;
        let Some(printed) = self.printed else { return };
        let (flush, after) = (
            b.block(self.function, "print"),
            b.block(self.function, "print.done"),
        );
        b.branch(b.load(b.int(1), printed, 1), flush, after);
        b.at_end(flush);
        self.call_printed();
        // Or it would be handed over again, empty, at each place that looks.
        b.store(b.truth(None, false), printed, 1);
        b.jump(after);
        b.at_end(after);
    }

    fn call_printed(&mut self) {
        let b = self.b;
        let function = self.external("printed");
        let ty = b.function_type(b.void(), &[b.pointer()]);
        b.call(ty, function, &[b.parameter(self.function, 0)]);
    }
}
