//! What a module holds, read as a whole: uses, metadata, attributes of variables.

use std::collections::{BTreeSet, HashMap, HashSet};

use llvm_sys::core::*;
use llvm_sys::prelude::{LLVMTypeRef, LLVMValueRef};
use llvm_sys::{LLVMOpcode, LLVMTypeKind};
use offkit_llvm::{FunctionSummary, ModuleSummary, VariableSummary};

use crate::context::take_message;
use crate::metadata::{self, Kinds, Reader};
use crate::module::{Global, Module, text};

// SYCL's numbers of the device aspects that show in instructions.
const FP16: u32 = 5;
const FP64: u32 = 6;
const ATOMIC64: u32 = 27;

/// The attribute of functions that an indirect call may lead to.
const REFERENCED_INDIRECTLY: &str = "referenced-indirectly";

/// Describes a module that has all its bodies.
pub fn describe(module: &Module) -> ModuleSummary {
    let mut summary = module.summary();
    let (functions, variables): (Vec<_>, Vec<_>) = module
        .globals()
        .filter(|global| !global.is_function() || !global.is_intrinsic())
        .partition(Global::is_function);
    // As `ModuleSummary::symbol` counts: functions first, and intrinsics have no number.
    let numbers: HashMap<LLVMValueRef, u32> = (functions.iter().chain(&variables))
        .zip(0..)
        .map(|(global, number)| (global.as_raw(), number))
        .collect();
    let context = module.context_raw();
    let kinds = Kinds::of(context);
    let mut reader = Reader::new();
    for (global, function) in functions.iter().zip(&mut summary.functions) {
        // SAFETY: the functions are alive with their module, which lives in that context.
        function.metadata = unsafe { metadata::attached(context, global.as_raw(), &kinds, &mut reader) };
        if function.has_attribute(REFERENCED_INDIRECTLY) {
            // SAFETY: as above.
            function.function_type = unsafe { type_text(LLVMGlobalGetValueType(global.as_raw())) };
        }
        body(*global, &numbers, function);
    }
    for (global, variable) in variables.iter().zip(&mut summary.variables) {
        initializer(*global, &numbers, variable);
        variable.attributes = global.variable_attributes();
    }
    summary.named_metadata = metadata::named(module, &mut reader);
    summary
}

fn body(global: Global<'_>, numbers: &HashMap<LLVMValueRef, u32>, function: &mut FunctionSummary) {
    let mut uses = Uses::new(numbers);
    let mut indirect_calls = BTreeSet::new();
    let mut aspects = BTreeSet::new();
    // SAFETY: the function is alive with its module; blocks, instructions and operands are reached from
    // it, and each question is asked of a value of the kind it is for.
    unsafe {
        // A function's own operands: the personality for exceptions, prefix and prologue data.
        uses.add_operands(global.as_raw());
        let mut block = LLVMGetFirstBasicBlock(global.as_raw());
        while !block.is_null() {
            let mut instruction = LLVMGetFirstInstruction(block);
            while !instruction.is_null() {
                uses.add_operands(instruction);
                add_aspects(instruction, &mut aspects);
                if let Some(called) = indirect_call(instruction) {
                    indirect_calls.insert(called);
                }
                instruction = LLVMGetNextInstruction(instruction);
            }
            block = LLVMGetNextBasicBlock(block);
        }
    }
    function.uses = uses.found.into_iter().collect();
    function.indirect_calls = indirect_calls.into_iter().collect();
    function.aspects = aspects.into_iter().collect();
}

/// Adds the optional features of devices that an instruction needs.
///
/// # Safety
///
/// The instruction is alive.
unsafe fn add_aspects(instruction: LLVMValueRef, aspects: &mut BTreeSet<u32>) {
    // SAFETY: by this function's contract, and operands live as long as their user.
    unsafe {
        let opcode = LLVMGetInstructionOpcode(instruction);
        // Numbers may be moved and converted everywhere; where they are of 16 bits, that is not arithmetic.
        let is_moved = matches!(
            opcode,
            LLVMOpcode::LLVMLoad | LLVMOpcode::LLVMStore | LLVMOpcode::LLVMFPExt | LLVMOpcode::LLVMFPTrunc
        );
        let count = LLVMGetNumOperands(instruction).max(0).cast_unsigned();
        let operands = (0..count).map(|index| LLVMGetOperand(instruction, index));
        for value in operands.filter(|operand| !operand.is_null()).chain([instruction]) {
            match scalar_kind(LLVMTypeOf(value)) {
                LLVMTypeKind::LLVMHalfTypeKind if !is_moved => aspects.insert(FP16),
                LLVMTypeKind::LLVMDoubleTypeKind => aspects.insert(FP64),
                _ => false,
            };
        }
        // The operand with the new value, after the pointer and for an exchange what is expected.
        let changed = match opcode {
            LLVMOpcode::LLVMAtomicRMW => 1,
            LLVMOpcode::LLVMAtomicCmpXchg => 2,
            _ => return,
        };
        let changed = LLVMTypeOf(LLVMGetOperand(instruction, changed));
        if LLVMGetTypeKind(changed) == LLVMTypeKind::LLVMIntegerTypeKind && LLVMGetIntTypeWidth(changed) == 64
        {
            aspects.insert(ATOMIC64);
        }
    }
}

/// # Safety
///
/// The type is alive.
unsafe fn scalar_kind(described: LLVMTypeRef) -> LLVMTypeKind {
    // SAFETY: by this function's contract; a vector has an element type.
    unsafe {
        match LLVMGetTypeKind(described) {
            LLVMTypeKind::LLVMVectorTypeKind => LLVMGetTypeKind(LLVMGetElementType(described)),
            kind => kind,
        }
    }
}

/// Whether the initializer of a variable refers to functions, itself and not through other variables.
pub(crate) fn refers_to_functions(global: Global<'_>) -> bool {
    // SAFETY: the variable is alive with its module, and operands live as long as their user.
    unsafe {
        let mut seen = HashSet::new();
        let mut users = vec![global.as_raw()];
        while let Some(user) = users.pop() {
            for index in 0..LLVMGetNumOperands(user).max(0).cast_unsigned() {
                let operand = LLVMGetOperand(user, index);
                if operand.is_null() || LLVMIsAUser(operand).is_null() {
                    continue;
                }
                if !LLVMIsAFunction(operand).is_null() {
                    return true;
                }
                if LLVMIsAGlobalValue(operand).is_null() && seen.insert(operand) {
                    users.push(operand);
                }
            }
        }
    }
    false
}

/// The type of the function that an instruction calls through a pointer.
///
/// # Safety
///
/// The instruction is alive.
unsafe fn indirect_call(instruction: LLVMValueRef) -> Option<String> {
    // SAFETY: by this function's contract.
    unsafe {
        if LLVMIsACallInst(instruction).is_null() && LLVMIsAInvokeInst(instruction).is_null() {
            return None;
        }
        let called = LLVMGetCalledValue(instruction);
        let is_direct = !LLVMIsAConstant(called).is_null() || !LLVMIsAInlineAsm(called).is_null();
        (!is_direct).then(|| type_text(LLVMGetCalledFunctionType(instruction)))
    }
}

fn initializer(global: Global<'_>, numbers: &HashMap<LLVMValueRef, u32>, variable: &mut VariableSummary) {
    let mut uses = Uses::new(numbers);
    // SAFETY: the variable is alive with its module; only variables are asked for their type's name.
    unsafe {
        uses.add_operands(global.as_raw());
        if !LLVMIsAGlobalVariable(global.as_raw()).is_null() {
            let value_type = LLVMGlobalGetValueType(global.as_raw());
            if LLVMGetTypeKind(value_type) == LLVMTypeKind::LLVMStructTypeKind {
                variable.type_name = text(LLVMGetStructName(value_type));
            }
        }
    }
    variable.uses = uses.found.into_iter().collect();
}

/// The symbols that some code or initializer refers to, directly or within constants.
struct Uses<'a> {
    numbers: &'a HashMap<LLVMValueRef, u32>,
    found: BTreeSet<u32>,
    seen: HashSet<LLVMValueRef>,
}

impl<'a> Uses<'a> {
    fn new(numbers: &'a HashMap<LLVMValueRef, u32>) -> Self {
        Self {
            numbers,
            found: BTreeSet::new(),
            seen: HashSet::new(),
        }
    }

    /// # Safety
    ///
    /// `user` is alive, and has operands.
    unsafe fn add_operands(&mut self, user: LLVMValueRef) {
        let mut users = vec![user];
        while let Some(user) = users.pop() {
            // SAFETY: by this function's contract, and operands live as long as their user.
            let operands = unsafe {
                let count = LLVMGetNumOperands(user).max(0).cast_unsigned();
                (0..count).map(move |index| LLVMGetOperand(user, index))
            };
            for operand in operands {
                // SAFETY: as above; null where an operand has not been set.
                unsafe {
                    if operand.is_null() || LLVMIsAConstant(operand).is_null() {
                        continue;
                    }
                    if !LLVMIsAGlobalValue(operand).is_null() {
                        self.found.extend(self.numbers.get(&operand));
                    } else if !LLVMIsAUser(operand).is_null()
                        && LLVMGetNumOperands(operand) > 0
                        && self.seen.insert(operand)
                    {
                        users.push(operand);
                    }
                }
            }
        }
    }
}

/// # Safety
///
/// The type is alive.
unsafe fn type_text(described: LLVMTypeRef) -> String {
    // SAFETY: by this function's contract; the text is ours to free.
    unsafe { take_message(LLVMPrintTypeToString(described)) }
}
