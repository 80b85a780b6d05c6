//! Integers of other widths than 8, 16, 32 and 64 bits, which the optimiser makes: of three bytes that are loaded
//! together, and of the sum of a loop's numbers (33 bits).
//!
//! The back end makes the next wider type of them and changes nothing else: a load of 24 bits becomes one of 32, a store
//! overwrites a neighbour, and what overflows 24 bits stays. Here each such value gets a counterpart in the next wider
//! type, with zeros above its own bits.

use std::collections::HashMap;
use std::ffi::c_uint;

use llvm_sys::core::*;
use llvm_sys::prelude::{LLVMTypeRef, LLVMValueRef};
use llvm_sys::{LLVMIntPredicate, LLVMOpcode as Op, LLVMTypeKind};

use super::builder::{Builder, alignment_at, components, scalar, width, with_scalar};
use crate::module::Module;

/// Gives every such integer its counterpart, and everything that uses it that.
///
/// Integers of more than 64 bits stay.
pub(super) fn widen(module: &Module) {
    for function in module.globals().filter(|global| global.is_function()) {
        let instructions: Vec<LLVMValueRef> = function.instructions().collect();
        // SAFETY: instructions that are alive with their module.
        let concerned = unsafe { instructions.iter().any(|instruction| concerns(*instruction)) };
        if concerned {
            let mut pass = Pass {
                builder: Builder::new(module),
                wide: HashMap::new(),
                phis: Vec::new(),
                finished: Vec::new(),
            };
            // SAFETY: as above.
            unsafe {
                pass.widen_parameters(function.as_raw(), instructions[0]);
                pass.run(&instructions);
            }
        }
    }
}

/// Whether values of a type need a counterpart.
unsafe fn is_odd(of: LLVMTypeRef) -> bool {
    // SAFETY: a type that is alive.
    unsafe { matches!(width(of), 2..=63) && !matches!(width(of), 8 | 16 | 32) }
}

unsafe fn concerns(instruction: LLVMValueRef) -> bool {
    // SAFETY: an instruction that is alive, and its operands with it.
    unsafe {
        is_odd(LLVMTypeOf(instruction)) || operands(instruction).any(|operand| is_odd(LLVMTypeOf(operand)))
    }
}

unsafe fn operands(instruction: LLVMValueRef) -> impl Iterator<Item = LLVMValueRef> {
    // SAFETY: an instruction that is alive.
    unsafe {
        let count = LLVMGetNumOperands(instruction).max(0).cast_unsigned();
        (0..count).map(move |index| LLVMGetOperand(instruction, index))
    }
}

struct Pass {
    builder: Builder,
    /// The counterparts.
    wide: HashMap<LLVMValueRef, LLVMValueRef>,
    /// Those whose values are to be filled in.
    phis: Vec<(LLVMValueRef, LLVMValueRef)>,
    /// Loads that were replaced.
    finished: Vec<LLVMValueRef>,
}

// SAFETY of the functions below: all values and types are those of one function, which is alive and which nothing
// else changes; each question is asked of a value of the kind it is for, which the opcode tells.
impl Pass {
    unsafe fn widen_parameters(&mut self, function: LLVMValueRef, first: LLVMValueRef) {
        // SAFETY: see above.
        unsafe {
            self.builder.before(first);
            for index in 0..LLVMCountParams(function) {
                let parameter = LLVMGetParam(function, index);
                if is_odd(LLVMTypeOf(parameter)) {
                    let wide = self.wide(parameter);
                    self.wide.insert(parameter, wide);
                }
            }
        }
    }

    unsafe fn run(&mut self, instructions: &[LLVMValueRef]) {
        // SAFETY: see above.
        unsafe {
            // All counterparts first: a replacement removes its instruction, and reads what its
            // operands have become.
            for &instruction in instructions {
                if is_odd(LLVMTypeOf(instruction)) {
                    self.wide(instruction);
                }
            }
            // What comes in from further down has its counterpart by now.
            for (old, new) in std::mem::take(&mut self.phis) {
                for index in 0..LLVMCountIncoming(old) {
                    let mut value = self.wide(LLVMGetIncomingValue(old, index));
                    let mut block = LLVMGetIncomingBlock(old, index);
                    LLVMAddIncoming(new, &raw mut value, &raw mut block, 1);
                }
            }
            for &instruction in instructions {
                if !is_odd(LLVMTypeOf(instruction)) && concerns(instruction) {
                    self.replace(instruction);
                }
            }
            // Only now: `instructions` has them, and is gone through until here.
            for load in std::mem::take(&mut self.finished) {
                LLVMInstructionEraseFromParent(load);
            }
        }
    }

    unsafe fn wide_type(&self, of: LLVMTypeRef) -> LLVMTypeRef {
        // SAFETY: see above.
        unsafe { with_scalar(of, self.builder.integer(width(of).next_power_of_two().max(8))) }
    }

    /// The counterpart of a value: with zeros above its own bits.
    unsafe fn wide(&mut self, value: LLVMValueRef) -> LLVMValueRef {
        // SAFETY: see above.
        unsafe {
            if !is_odd(LLVMTypeOf(value)) {
                return value;
            }
            if let Some(known) = self.wide.get(&value) {
                return *known;
            }
            let wide = match LLVMIsAInstruction(value).is_null() {
                // Of a constant it is one.
                true => {
                    let to = self.wide_type(LLVMTypeOf(value));
                    return LLVMBuildZExt(self.builder.raw, value, to, c"".as_ptr());
                }
                false => self.counterpart(value),
            };
            self.wide.insert(value, wide);
            wide
        }
    }

    /// The value with its sign in the bits above.
    unsafe fn signed(&mut self, value: LLVMValueRef) -> LLVMValueRef {
        // SAFETY: see above.
        unsafe {
            let wide = self.wide(value);
            let to = LLVMTypeOf(wide);
            if !is_odd(LLVMTypeOf(value)) {
                return wide;
            }
            let distance = self.number(to, u64::from(width(to) - width(LLVMTypeOf(value))));
            let moved = LLVMBuildShl(self.builder.raw, wide, distance, c"".as_ptr());
            LLVMBuildAShr(self.builder.raw, moved, distance, c"".as_ptr())
        }
    }

    /// A constant, in every component of a vector.
    unsafe fn number(&self, of: LLVMTypeRef, number: u64) -> LLVMValueRef {
        // SAFETY: see above.
        unsafe {
            let constant = LLVMConstInt(scalar(of), number, 0);
            let Some(count) = components(of) else {
                return constant;
            };
            (0..count).fold(LLVMGetUndef(of), |vector, index| {
                self.builder.insert(vector, constant, index)
            })
        }
    }

    /// The value without what is above its own bits.
    unsafe fn masked(&self, wide: LLVMValueRef, bits: c_uint) -> LLVMValueRef {
        // SAFETY: see above.
        unsafe {
            let mask = self.number(LLVMTypeOf(wide), (1 << bits) - 1);
            LLVMBuildAnd(self.builder.raw, wide, mask, c"".as_ptr())
        }
    }

    /// Writes the counterpart of an instruction.
    unsafe fn counterpart(&mut self, value: LLVMValueRef) -> LLVMValueRef {
        // SAFETY: see above.
        unsafe {
            let of = LLVMTypeOf(value);
            let (bits, to) = (width(of), self.wide_type(of));
            let opcode = LLVMGetInstructionOpcode(value);
            let operand = |index| LLVMGetOperand(value, index);
            // What it needs comes first: where it is written, the builder stands elsewhere.
            if opcode != Op::LLVMPHI {
                for needed in operands(value) {
                    if !LLVMIsAInstruction(needed).is_null() {
                        self.wide(needed);
                    }
                }
            }
            self.builder.before(value);
            let raw = self.builder.raw;
            let name = c"".as_ptr();
            match opcode {
                Op::LLVMAdd | Op::LLVMSub | Op::LLVMMul | Op::LLVMShl => {
                    let (left, right) = (self.wide(operand(0)), self.wide(operand(1)));
                    self.masked(self.builder.binary(opcode, left, right), bits)
                }
                Op::LLVMAnd | Op::LLVMOr | Op::LLVMXor | Op::LLVMLShr | Op::LLVMUDiv | Op::LLVMURem => {
                    let (left, right) = (self.wide(operand(0)), self.wide(operand(1)));
                    self.builder.binary(opcode, left, right)
                }
                Op::LLVMAShr => {
                    let (left, right) = (self.signed(operand(0)), self.wide(operand(1)));
                    self.masked(self.builder.binary(opcode, left, right), bits)
                }
                Op::LLVMSDiv | Op::LLVMSRem => {
                    let (left, right) = (self.signed(operand(0)), self.signed(operand(1)));
                    self.masked(self.builder.binary(opcode, left, right), bits)
                }
                Op::LLVMZExt => {
                    let value = self.wide(operand(0));
                    self.builder.resize(value, to)
                }
                Op::LLVMTrunc => {
                    let value = self.wide(operand(0));
                    let value = match width(LLVMTypeOf(value)) > width(to) {
                        true => self.builder.resize(value, to),
                        false => value,
                    };
                    self.masked(value, bits)
                }
                Op::LLVMSExt => {
                    let value = self.signed(operand(0));
                    self.masked(self.builder.cast(Op::LLVMSExt, value, to), bits)
                }
                Op::LLVMFPToUI | Op::LLVMFPToSI | Op::LLVMPtrToInt => {
                    self.masked(self.builder.cast(opcode, operand(0), to), bits)
                }
                Op::LLVMSelect => {
                    let (yes, no) = (self.wide(operand(1)), self.wide(operand(2)));
                    LLVMBuildSelect(raw, operand(0), yes, no, name)
                }
                Op::LLVMFreeze => {
                    let value = self.wide(operand(0));
                    LLVMBuildFreeze(raw, value, name)
                }
                Op::LLVMPHI => {
                    let phi = LLVMBuildPhi(raw, to, name);
                    self.phis.push((value, phi));
                    phi
                }
                Op::LLVMExtractElement => {
                    let vector = self.wide(operand(0));
                    LLVMBuildExtractElement(raw, vector, operand(1), name)
                }
                Op::LLVMInsertElement => {
                    let (vector, element) = (self.wide(operand(0)), self.wide(operand(1)));
                    LLVMBuildInsertElement(raw, vector, element, operand(2), name)
                }
                Op::LLVMBitCast if components(of).is_none() => match self.joined(operand(0), to) {
                    Some(joined) => joined,
                    None => {
                        self.builder.before(LLVMGetNextInstruction(value));
                        self.builder.resize(value, to)
                    }
                },
                Op::LLVMLoad if components(of).is_none() => {
                    let loaded = self.load(value, to);
                    // Loaded once, though somebody may go on using the narrow value.
                    let narrow = self.builder.cast(Op::LLVMTrunc, loaded, of);
                    self.wide.insert(narrow, loaded);
                    LLVMReplaceAllUsesWith(value, narrow);
                    self.finished.push(value);
                    loaded
                }
                _ => {
                    // Such as a call; what it needs and gives stays as it is.
                    let next = LLVMGetNextInstruction(value);
                    self.builder.before(next);
                    LLVMBuildZExt(raw, value, to, name)
                }
            }
        }
    }

    /// The components of a vector one above the other.
    unsafe fn joined(&self, vector: LLVMValueRef, to: LLVMTypeRef) -> Option<LLVMValueRef> {
        // SAFETY: see above.
        unsafe {
            let count = components(LLVMTypeOf(vector))?;
            let bits = element_bits(LLVMTypeOf(vector))?;
            let mut all = LLVMConstInt(to, 0, 0);
            for index in 0..count {
                let element = self.builder.extract(vector, index);
                let element = self
                    .builder
                    .cast(Op::LLVMBitCast, element, self.builder.integer(bits));
                let element = self.builder.resize(element, to);
                let distance = LLVMConstInt(to, u64::from(index * bits), 0);
                let element = LLVMBuildShl(self.builder.raw, element, distance, c"".as_ptr());
                all = LLVMBuildOr(self.builder.raw, all, element, c"".as_ptr());
            }
            Some(all)
        }
    }

    unsafe fn load(&self, load: LLVMValueRef, to: LLVMTypeRef) -> LLVMValueRef {
        // SAFETY: see above.
        unsafe {
            let pointer = LLVMGetOperand(load, 0);
            let mut all = LLVMConstInt(to, 0, 0);
            for (offset, bytes) in pieces(width(LLVMTypeOf(load)), LLVMGetAlignment(load)) {
                let of = self.builder.integer(8 * bytes);
                let piece = self.builder.load_piece(load, pointer, offset, of);
                let piece = self.builder.resize(piece, to);
                let distance = LLVMConstInt(to, u64::from(8 * offset), 0);
                let piece = LLVMBuildShl(self.builder.raw, piece, distance, c"".as_ptr());
                all = LLVMBuildOr(self.builder.raw, all, piece, c"".as_ptr());
            }
            all
        }
    }

    /// Replaces an instruction that uses such values and gives another.
    unsafe fn replace(&mut self, instruction: LLVMValueRef) {
        // SAFETY: see above.
        unsafe {
            self.builder.before(instruction);
            let of = LLVMTypeOf(instruction);
            let operand = |index| LLVMGetOperand(instruction, index);
            let raw = self.builder.raw;
            let opcode = LLVMGetInstructionOpcode(instruction);
            let replacement = match opcode {
                Op::LLVMICmp => {
                    let predicate = LLVMGetICmpPredicate(instruction);
                    let is_signed = matches!(
                        predicate,
                        LLVMIntPredicate::LLVMIntSGT
                            | LLVMIntPredicate::LLVMIntSGE
                            | LLVMIntPredicate::LLVMIntSLT
                            | LLVMIntPredicate::LLVMIntSLE
                    );
                    let (left, right) = match is_signed {
                        true => (self.signed(operand(0)), self.signed(operand(1))),
                        false => (self.wide(operand(0)), self.wide(operand(1))),
                    };
                    LLVMBuildICmp(raw, predicate, left, right, c"".as_ptr())
                }
                Op::LLVMZExt | Op::LLVMTrunc => {
                    let value = self.wide(operand(0));
                    match width(of) {
                        // Of a truth value, the lowest bit counts.
                        1 => {
                            let bit = self.masked(value, 1);
                            let none = self.number(LLVMTypeOf(bit), 0);
                            LLVMBuildICmp(raw, LLVMIntPredicate::LLVMIntNE, bit, none, c"".as_ptr())
                        }
                        _ => self.builder.resize(value, of),
                    }
                }
                Op::LLVMSExt => {
                    let value = self.signed(operand(0));
                    self.builder.cast(Op::LLVMSExt, value, of)
                }
                Op::LLVMUIToFP | Op::LLVMIntToPtr => {
                    let value = self.wide(operand(0));
                    self.builder.cast(opcode, value, of)
                }
                Op::LLVMSIToFP => {
                    let value = self.signed(operand(0));
                    self.builder.cast(opcode, value, of)
                }
                Op::LLVMExtractElement if !is_odd(LLVMTypeOf(operand(0))) => {
                    let index = self.wide(operand(1));
                    LLVMBuildExtractElement(raw, operand(0), index, c"".as_ptr())
                }
                Op::LLVMBitCast => match self.parted(operand(0), of) {
                    Some(parted) => parted,
                    None => return,
                },
                Op::LLVMStore if components(LLVMTypeOf(operand(0))).is_none() => {
                    self.store(instruction);
                    LLVMInstructionEraseFromParent(instruction);
                    return;
                }
                Op::LLVMSwitch => {
                    let value = self.wide(operand(0));
                    LLVMSetOperand(instruction, 0, value);
                    // The first successor is where every other value leads.
                    for place in 1..LLVMGetNumSuccessors(instruction) {
                        let case = self.wide(LLVMGetSwitchCaseValue(instruction, place));
                        LLVMSetSwitchCaseValue(instruction, place, case);
                    }
                    return;
                }
                _ => return,
            };
            LLVMReplaceAllUsesWith(instruction, replacement);
            LLVMInstructionEraseFromParent(instruction);
        }
    }

    /// A vector of the bits of an integer.
    unsafe fn parted(&mut self, value: LLVMValueRef, to: LLVMTypeRef) -> Option<LLVMValueRef> {
        // SAFETY: see above.
        unsafe {
            let count = components(to)?;
            let bits = element_bits(to)?;
            let wide = self.wide(value);
            let mut vector = LLVMGetUndef(to);
            for index in 0..count {
                let distance = LLVMConstInt(LLVMTypeOf(wide), u64::from(index * bits), 0);
                let part = LLVMBuildLShr(self.builder.raw, wide, distance, c"".as_ptr());
                let part = self.builder.resize(part, self.builder.integer(bits));
                let part = self.builder.cast(Op::LLVMBitCast, part, LLVMGetElementType(to));
                vector = self.builder.insert(vector, part, index);
            }
            Some(vector)
        }
    }

    unsafe fn store(&mut self, store: LLVMValueRef) {
        // SAFETY: see above.
        unsafe {
            let (value, pointer) = (LLVMGetOperand(store, 0), LLVMGetOperand(store, 1));
            let wide = self.wide(value);
            for (offset, bytes) in pieces(width(LLVMTypeOf(value)), LLVMGetAlignment(store)) {
                let distance = LLVMConstInt(LLVMTypeOf(wide), u64::from(8 * offset), 0);
                let piece = LLVMBuildLShr(self.builder.raw, wide, distance, c"".as_ptr());
                let piece = self.builder.resize(piece, self.builder.integer(8 * bytes));
                self.builder.store_piece(store, pointer, offset, piece);
            }
        }
    }
}

/// How many bits a component of a vector has, of a kind that SPIR-V has.
unsafe fn element_bits(vector: LLVMTypeRef) -> Option<c_uint> {
    // SAFETY: a vector's type.
    unsafe {
        match LLVMGetTypeKind(scalar(vector)) {
            LLVMTypeKind::LLVMHalfTypeKind => Some(16),
            LLVMTypeKind::LLVMFloatTypeKind => Some(32),
            _ => Some(width(vector)).filter(|bits| matches!(bits, 1 | 8 | 16 | 32)),
        }
    }
}

/// The pieces that so many bits are accessed in, none less aligned than it is large: offsets and sizes in bytes.
fn pieces(bits: c_uint, alignment: c_uint) -> Vec<(u32, u32)> {
    let bytes = bits.div_ceil(8);
    let mut pieces = Vec::new();
    let mut offset = 0;
    while offset < bytes {
        let left = bytes - offset;
        let most = 1 << left.ilog2();
        let size = alignment_at(alignment.max(1), offset).min(most);
        pieces.push((offset, size));
        offset += size;
    }
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::context::Context;

    /// The function with what is needed of such a module.
    fn widened(body: &str) -> String {
        let text = format!("define i32 @f(i32 %x, i32 %y, ptr %p, ptr %q) {{\n{body}\n}}");
        let mut module = Module::parse_text(&Context::new(), &text).unwrap();
        widen(&module);
        crate::passes::run(&mut module, "function(instsimplify,adce)").unwrap();
        module.verify().unwrap();
        String::from_utf8(module.to_text()).unwrap()
    }

    #[test]
    fn nothing_of_another_width_is_left() {
        let text = widened(
            "entry:
               %a = load i24, ptr %p, align 2
               %n = trunc i32 %x to i24
               br label %loop
             loop:
               %i = phi i24 [ %a, %entry ], [ %j, %loop ]
               %j = add i24 %i, -5
               %v = bitcast i24 %j to <3 x i8>
               %w = shufflevector <3 x i8> %v, <3 x i8> poison, <3 x i32> <i32 2, i32 1, i32 0>
               %b = bitcast <3 x i8> %w to i24
               %c = icmp slt i24 %b, %n
               br i1 %c, label %loop, label %end
             end:
               switch i24 %b, label %last [ i24 -1, label %other ]
             last:
               store i24 %j, ptr %q, align 1
               %z = zext i32 %x to i33
               %m = mul i33 %z, %z
               %h = lshr i33 %m, 1
               %t = trunc i33 %h to i32
               ret i32 %t
             other:
               %s = ashr i24 %b, 3
               %e = sext i24 %s to i32
               ret i32 %e",
        );
        for width in ["i24", "i33"] {
            assert!(!text.contains(width), "{text}");
        }
        assert!(text.contains("load i16") && text.contains("load i8"), "{text}");
        assert_eq!(text.matches("store i8").count(), 3, "{text}");
    }

    /// As LLVM makes it of a loop that compares bytes.
    #[test]
    fn truth_values_are_joined() {
        let text = widened(
            "  %v = insertelement <4 x i32> poison, i32 %x, i64 0
               %c = icmp eq <4 x i32> %v, zeroinitializer
               %b = bitcast <4 x i1> %c to i4
               %any = icmp ne i4 %b, 0
               %r = zext i1 %any to i32
               ret i32 %r",
        );
        assert!(!text.contains("i4 "), "{text}");
        assert_eq!(text.matches("extractelement <4 x i1>").count(), 4, "{text}");
    }

    #[test]
    fn pieces_are_aligned() {
        assert_eq!(pieces(24, 1), [(0, 1), (1, 1), (2, 1)]);
        assert_eq!(pieces(24, 4), [(0, 2), (2, 1)]);
        assert_eq!(pieces(33, 8), [(0, 4), (4, 1)]);
        assert_eq!(pieces(48, 2), [(0, 2), (2, 2), (4, 2)]);
    }
}
