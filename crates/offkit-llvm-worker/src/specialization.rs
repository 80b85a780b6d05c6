//! Lowering of SYCL's specialization constants.
//!
//! The front end leaves calls of `__sycl_getScalar2020SpecConstantValue` and
//! `__sycl_getComposite2020SpecConstantValue`, of which the mangled names differ by type, and of `llvm.sycl.alloca`, whose
//! length is such a constant. Their arguments
//! are, behind the place for the result where that is a structure: the constant's symbolic name, the
//! variable that holds its default value, and a pointer to a buffer of values that the runtime may pass.
//! What they become follows `sycl-post-link` of intel/llvm, so that its back ends and runtimes understand it:
//!
//! * natively, calls of `__spirv_SpecConstant` with a number and the default value for each scalar, and of
//!   `__spirv_SpecConstantComposite` around them;
//! * emulated, loads from the buffer;
//! * or the default values themselves.

mod arguments;
mod types;

use std::collections::HashMap;
use std::ffi::{CString, c_uint};

use llvm_sys::LLVMTypeKind;
use llvm_sys::core::*;
use llvm_sys::prelude::{LLVMBuilderRef, LLVMContextRef, LLVMModuleRef, LLVMTypeRef, LLVMValueRef};
use llvm_sys::target::{
    LLVMABIAlignmentOfType, LLVMABISizeOfType, LLVMGetModuleDataLayout, LLVMOffsetOfElement,
    LLVMStoreSizeOfType, LLVMTargetDataRef,
};
use offkit_image::Family;
use offkit_llvm::{SpecializationConstant, SpecializationConstantMode};

use crate::Error;
use crate::module::{Module, SPIR_FUNCTION, value_name};
use arguments::{default_value, literal};
use types::{is_composite, is_integer, mangled};

/// What the names of the functions begin with.
const PREFIXES: [&str; 3] = [
    "_Z37__sycl_getScalar2020SpecConstantValue",
    "_Z40__sycl_getComposite2020SpecConstantValue",
    ALLOCATION,
];

/// Memory of a work item for as many elements as a constant says: `private_alloca`. The arguments are those of the
/// others, a value of the elements' type, and their alignment; the result is the memory.
const ALLOCATION: &str = "llvm.sycl.alloca.";

/// Named metadata with the places of all constants' values, and with their defaults.
const CONSTANTS: &str = "sycl.specialization-constants";
const DEFAULTS: &str = "sycl.specialization-constants-default-values";

/// What stands for a constant's number where there is only padding.
const PADDING: u32 = u32::MAX;

/// Scalars and composites that constants may be made of, and bytes that they may have, those of all calls together. No
/// program comes near, and numbers of places fit into 32 bits.
const MOST_PARTS: u32 = 1 << 20;
const MOST_BYTES: u64 = 1 << 26;

/// The constants that were met. With [`SpecializationConstantMode::Defaults`] there is nothing to tell of them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Lowered {
    /// In the order in which they were met.
    pub constants: Vec<SpecializationConstant>,
    /// Their default values one after the other.
    pub defaults: Vec<u8>,
}

/// The names of the functions that get values of specialization constants, in module order.
pub fn intrinsics(module: &Module) -> Vec<String> {
    (module.globals())
        .filter(|global| global.is_function() && global.is_declaration())
        .map(|global| global.name())
        .filter(|name| PREFIXES.iter().any(|prefix| name.starts_with(prefix)))
        .collect()
}

/// Replaces all calls of these functions; `None` if there are none.
///
/// # Errors
///
/// A call without a literal name, or without a default value.
pub fn lower(
    module: &Module,
    intrinsics: &[String],
    lowering: SpecializationConstantMode,
) -> Result<Option<Lowered>, Error> {
    let calls = calls(module, intrinsics);
    let found = !calls.is_empty();
    // SAFETY: module and context are alive; the builder is ours and freed below.
    unsafe {
        let context = module.context_raw();
        let mut pass = Pass {
            module: module.as_raw(),
            context,
            layout: LLVMGetModuleDataLayout(module.as_raw()),
            builder: LLVMCreateBuilderInContext(context),
            is_spir: Family::of(&module.triple()).is_written_as_spirv(),
            next_number: 0,
            next_offset: 0,
            parts_left: MOST_PARTS,
            bytes_left: MOST_BYTES,
            known: HashMap::new(),
            constants: Vec::new(),
            defaults: Vec::new(),
        };
        let lowered: Result<(), Error> = calls.into_iter().try_for_each(|call| pass.lower(call, lowering));
        LLVMDisposeBuilder(pass.builder);
        lowered?;
        if lowering != SpecializationConstantMode::Defaults {
            pass.record();
        }
        let mut defaults = Vec::new();
        for constant in &pass.defaults {
            pass.append_bytes(*constant, &mut defaults)?;
        }
        Ok(found.then_some(Lowered {
            constants: pass.constants,
            defaults,
        }))
    }
}

/// The calls in the order that numbers the constants: function by function as they are declared, for each
/// from the last call to the first. That is the order of LLVM's lists of uses.
fn calls(module: &Module, intrinsics: &[String]) -> Vec<LLVMValueRef> {
    let numbers: HashMap<&str, usize> = (intrinsics.iter().map(String::as_str)).zip(0..).collect();
    let functions: HashMap<LLVMValueRef, usize> = (module.globals())
        .filter_map(|global| Some((global.as_raw(), *numbers.get(global.name().as_str())?)))
        .collect();
    if functions.is_empty() {
        return Vec::new();
    }
    let mut calls = vec![Vec::new(); intrinsics.len()];
    for global in module.globals().filter(|global| global.is_function()) {
        // SAFETY: the function is alive with its module, and blocks and instructions with it.
        unsafe {
            let mut block = LLVMGetFirstBasicBlock(global.as_raw());
            while !block.is_null() {
                let mut instruction = LLVMGetFirstInstruction(block);
                while !instruction.is_null() {
                    if !LLVMIsACallInst(instruction).is_null()
                        && let Some(&number) = functions.get(&LLVMGetCalledValue(instruction))
                    {
                        calls[number].push(instruction);
                    }
                    instruction = LLVMGetNextInstruction(instruction);
                }
                block = LLVMGetNextBasicBlock(block);
            }
        }
    }
    calls
        .into_iter()
        .flat_map(|calls| calls.into_iter().rev())
        .collect()
}

/// The number of a scalar, and whether it stands for an element without a value.
#[derive(Clone, Copy)]
struct Number {
    number: u32,
    is_undefined: bool,
}

/// What is known of a constant that was met before.
enum Known {
    Numbers(Vec<Number>),
    Offset(u32),
}

struct Pass {
    module: LLVMModuleRef,
    context: LLVMContextRef,
    layout: LLVMTargetDataRef,
    builder: LLVMBuilderRef,
    is_spir: bool,
    next_number: u32,
    next_offset: u32,
    parts_left: u32,
    bytes_left: u64,
    known: HashMap<String, Known>,
    constants: Vec<SpecializationConstant>,
    defaults: Vec<LLVMValueRef>,
}

/// The elements of a composite type, each with its offset.
type Elements = Vec<(LLVMTypeRef, u32)>;

// SAFETY of the functions below: they are called by `lower` while module, context and builder are alive, with
// values and types of that module; each question is asked of a value or type of the kind it is for.
impl Pass {
    unsafe fn lower(
        &mut self,
        call: LLVMValueRef,
        lowering: SpecializationConstantMode,
    ) -> Result<(), Error> {
        // SAFETY: see the head of this block.
        unsafe {
            let function = LLVMGetCalledValue(call);
            let kind = LLVMGetEnumAttributeKindForName(c"sret".as_ptr(), 4);
            let result_attribute = LLVMGetEnumAttributeAtIndex(function, 1, kind);
            let has_result_argument = !result_attribute.is_null();
            let first = c_uint::from(has_result_argument);
            let failed = |what: &str| Error::new(format!("call of `{}`: {what}", value_name(function)));
            if LLVMGetNumArgOperands(call) < first + 3 {
                return Err(failed("too few arguments"));
            }
            let mut erased = vec![call];
            let name = literal(LLVMGetOperand(call, first), &mut erased)
                .ok_or_else(|| failed("the name is not a literal string"))?;
            let default = default_value(LLVMGetOperand(call, first + 1))
                .ok_or_else(|| failed(&format!("no default value of `{name}`")))?;
            // Pointers don't say what they lead to: of the place for a result, its attribute does.
            let value_type = if has_result_argument {
                LLVMGetTypeAttributeValue(result_attribute)
            } else {
                LLVMTypeOf(call)
            };
            let default_type = LLVMTypeOf(default);
            if lowering != SpecializationConstantMode::Defaults
                && !(self.take_room(value_type)
                    && (default_type == value_type || self.take_room(default_type)))
            {
                return Err(failed(&format!(
                    "`{name}` has no size or too large a one: all calls together may be for {MOST_BYTES} bytes in {MOST_PARTS} parts"
                )));
            }
            LLVMPositionBuilderBefore(self.builder, call);
            if value_name(function).starts_with(ALLOCATION) {
                if LLVMGetNumArgOperands(call) < 5 {
                    return Err(failed("too few arguments"));
                }
                let memory = self.allocation(call, name, default, lowering)?;
                LLVMReplaceAllUsesWith(call, memory);
                erased
                    .into_iter()
                    .for_each(|instruction| LLVMInstructionEraseFromParent(instruction));
                return Ok(());
            }
            let value = match lowering {
                SpecializationConstantMode::Native => self.native(name, value_type, default)?,
                SpecializationConstantMode::Emulation => {
                    let buffer = LLVMGetOperand(call, first + 2);
                    self.emulated(name, value_type, default, buffer)
                }
                // The variable has a truth value as it is in memory, as a byte.
                SpecializationConstantMode::Defaults
                    if is_integer(value_type, 1) && !is_integer(LLVMTypeOf(default), 1) =>
                {
                    LLVMBuildTrunc(self.builder, default, value_type, c"bool".as_ptr())
                }
                SpecializationConstantMode::Defaults => default,
            };
            if has_result_argument {
                LLVMBuildStore(self.builder, value, LLVMGetOperand(call, 0));
            } else {
                LLVMReplaceAllUsesWith(call, value);
            }
            for instruction in erased {
                LLVMInstructionEraseFromParent(instruction);
            }
        }
        Ok(())
    }

    /// Whether there is room for a value of a type, which is taken.
    unsafe fn take_room(&mut self, kind: LLVMTypeRef) -> bool {
        // SAFETY: see the head of this block. Parts are counted first: the size of too many need not fit into a number.
        unsafe {
            if LLVMTypeIsSized(kind) == 0 || !take_parts(kind, &mut self.parts_left) {
                return false;
            }
            // In the buffer there is padding before it, which is less than its alignment.
            let alignment = LLVMABIAlignmentOfType(self.layout, kind).into();
            let room = LLVMABISizeOfType(self.layout, kind).checked_add(alignment);
            let left = room.and_then(|room| self.bytes_left.checked_sub(room));
            self.bytes_left = left.unwrap_or(self.bytes_left);
            left.is_some()
        }
    }

    /// Memory for as many elements as a constant says, or by default, where constants are no part of the code.
    unsafe fn allocation(
        &mut self,
        call: LLVMValueRef,
        name: String,
        default: LLVMValueRef,
        lowering: SpecializationConstantMode,
    ) -> Result<LLVMValueRef, Error> {
        // SAFETY: see the head of this block.
        unsafe {
            let length_type = LLVMTypeOf(default);
            let length = match lowering {
                SpecializationConstantMode::Native => self.native(name, length_type, default)?,
                SpecializationConstantMode::Emulation => {
                    // The runtime is told of it, and yet its value would come too late for the size of memory.
                    self.offset_of(name, length_type, default);
                    default
                }
                SpecializationConstantMode::Defaults => default,
            };
            let element = LLVMTypeOf(LLVMGetOperand(call, 3));
            let memory = LLVMBuildArrayAlloca(self.builder, element, length, c"".as_ptr());
            let alignment = LLVMGetOperand(call, 4);
            if !LLVMIsAConstantInt(alignment).is_null() {
                let alignment = LLVMConstIntGetZExtValue(alignment);
                LLVMSetAlignment(memory, c_uint::try_from(alignment).unwrap_or(1).max(1));
            }
            Ok(match LLVMTypeOf(memory) == LLVMTypeOf(call) {
                true => memory,
                false => LLVMBuildAddrSpaceCast(self.builder, memory, LLVMTypeOf(call), c"".as_ptr()),
            })
        }
    }

    unsafe fn native(
        &mut self,
        name: String,
        value_type: LLVMTypeRef,
        default: LLVMValueRef,
    ) -> Result<LLVMValueRef, Error> {
        let known = match self.known.remove(&name) {
            Some(Known::Numbers(numbers)) => Some(numbers),
            _ => None,
        };
        let is_new = known.is_none();
        let mut numbers = known.unwrap_or_else(|| {
            vec![Number {
                number: self.next_number,
                is_undefined: false,
            }]
        });
        // SAFETY: see the head of this block.
        let value = unsafe {
            // By offset: the default's type need not be the constant's, as long as it has the same
            // scalars in the same places. Undefined ones have no entry.
            let mut defined = HashMap::new();
            self.collect_defined(default, 0, &mut defined);
            self.native_value(value_type, 0, &mut numbers, &mut 0, &defined)?
        };
        // Another call for the same constant gets its numbers, and is told of no second time.
        if is_new {
            self.next_number += numbers.len() as u32;
            let mut leaves = Vec::new();
            // SAFETY: see the head of this block.
            unsafe { self.collect_leaves(value_type, &mut 0, &mut numbers.iter(), &mut leaves) };
            self.constants.push(SpecializationConstant {
                name: name.clone(),
                leaves,
            });
            self.defaults.push(default);
        }
        self.known.insert(name, Known::Numbers(numbers));
        Ok(value)
    }

    /// The scalars of a default value by their offset, without undefined ones.
    unsafe fn collect_defined(
        &self,
        value: LLVMValueRef,
        offset: u32,
        defined: &mut HashMap<u32, LLVMValueRef>,
    ) {
        // SAFETY: see the head of this block.
        unsafe {
            if LLVMIsUndef(value) != 0 {
                return;
            }
            match self.elements(LLVMTypeOf(value)) {
                None => {
                    defined.insert(offset, value);
                }
                Some(elements) => {
                    for (index, (_, at)) in (0..).zip(elements) {
                        self.collect_defined(LLVMGetAggregateElement(value, index), offset + at, defined);
                    }
                }
            }
        }
    }

    unsafe fn native_value(
        &self,
        value_type: LLVMTypeRef,
        offset: u32,
        numbers: &mut Vec<Number>,
        next: &mut usize,
        defined: &HashMap<u32, LLVMValueRef>,
    ) -> Result<LLVMValueRef, Error> {
        // SAFETY: see the head of this block.
        unsafe {
            let Some(elements) = self.elements(value_type) else {
                let default = *defined.get(&offset).ok_or_else(|| {
                    Error::new(
                        "the default value of a specialization constant has another layout than the constant",
                    )
                })?;
                let number = take_number(numbers, next, false);
                let number = LLVMConstInt(LLVMInt32TypeInContext(self.context), number.into(), 0);
                return self.call("__spirv_SpecConstant", value_type, &mut [number, default]);
            };
            let mut values = Vec::with_capacity(elements.len());
            for (element, at) in elements {
                if defined.contains_key(&(offset + at)) {
                    values.push(self.native_value(element, offset + at, numbers, next, defined)?);
                } else {
                    take_number(numbers, next, true);
                    values.push(LLVMGetUndef(element));
                }
            }
            self.call("__spirv_SpecConstantComposite", value_type, &mut values)
        }
    }

    /// Calls a function that is declared by its name and the types of arguments and result.
    unsafe fn call(
        &self,
        name: &str,
        result: LLVMTypeRef,
        arguments: &mut [LLVMValueRef],
    ) -> Result<LLVMValueRef, Error> {
        // SAFETY: see the head of this block.
        unsafe {
            let mut types: Vec<_> = arguments.iter().map(|argument| LLVMTypeOf(*argument)).collect();
            let mut symbol = format!("_Z{}{name}", name.len());
            for argument in &types {
                symbol.push_str(&mangled(*argument)?);
            }
            if is_composite(result) {
                symbol.push_str("_R");
                symbol.push_str(&mangled(result)?);
            }
            // A truth value is an `i8` in memory; there is one function for both.
            let is_truth = is_integer(result, 1) && types.get(1).is_some_and(|second| is_integer(*second, 8));
            let returned = if is_truth {
                LLVMInt8TypeInContext(self.context)
            } else {
                result
            };
            let function_type = LLVMFunctionType(returned, types.as_mut_ptr(), types.len() as c_uint, 0);
            let symbol =
                CString::new(symbol).map_err(|_| Error::new("the name of a type holds a zero byte"))?;
            let mut function = LLVMGetNamedFunction(self.module, symbol.as_ptr());
            // Declared once: LLVM would give a second one a name that no back end knows.
            if function.is_null() {
                function = LLVMAddFunction(self.module, symbol.as_ptr(), function_type);
            }
            let (values, count) = (arguments.as_mut_ptr(), arguments.len() as c_uint);
            let call = LLVMBuildCall2(self.builder, function_type, function, values, count, c"".as_ptr());
            if self.is_spir {
                LLVMSetFunctionCallConv(function, SPIR_FUNCTION);
                LLVMSetInstructionCallConv(call, SPIR_FUNCTION);
            }
            Ok(if is_truth {
                LLVMBuildTrunc(self.builder, call, result, c"tobool".as_ptr())
            } else {
                call
            })
        }
    }

    /// Where the scalars of a value go, with the padding at the end of structures.
    unsafe fn collect_leaves(
        &self,
        value_type: LLVMTypeRef,
        offset: &mut u32,
        numbers: &mut std::slice::Iter<'_, Number>,
        leaves: &mut Vec<[u32; 3]>,
    ) {
        // An element without a value has a number, but no place that the runtime fills.
        if numbers
            .as_slice()
            .first()
            .is_none_or(|number| number.is_undefined)
        {
            numbers.next();
            return;
        }
        // SAFETY: see the head of this block.
        unsafe {
            if LLVMGetTypeKind(value_type) == LLVMTypeKind::LLVMStructTypeKind {
                let start = *offset;
                let end = start + LLVMABISizeOfType(self.layout, value_type) as u32;
                let mut at = start;
                for (element, element_offset) in self.elements(value_type).unwrap_or_default() {
                    at = start + element_offset;
                    self.collect_leaves(element, &mut at, numbers, leaves);
                }
                if end > at {
                    leaves.push([PADDING, at, end - at]);
                }
                *offset = end;
            } else if let Some(elements) = self.elements(value_type) {
                for (element, _) in elements {
                    self.collect_leaves(element, offset, numbers, leaves);
                }
            } else if let Some(number) = numbers.next() {
                let size = LLVMStoreSizeOfType(self.layout, value_type) as u32;
                leaves.push([number.number, *offset, size]);
                *offset += size;
            }
        }
    }

    /// Where the value of a constant is in the buffer.
    unsafe fn offset_of(&mut self, name: String, value_type: LLVMTypeRef, default: LLVMValueRef) -> u32 {
        // SAFETY: see the head of this block.
        unsafe {
            let byte = LLVMInt8TypeInContext(self.context);
            match self.known.get(&name) {
                Some(Known::Offset(offset)) => *offset,
                _ => {
                    let alignment = LLVMABIAlignmentOfType(self.layout, value_type).max(1);
                    let padding = self.next_offset.next_multiple_of(alignment) - self.next_offset;
                    if padding > 0 {
                        // The runtime knows of padding behind a constant only.
                        if let Some(last) = self.constants.last_mut() {
                            let size = last.leaves[0][2];
                            last.leaves.push([PADDING, size, padding]);
                        }
                        self.defaults
                            .push(LLVMConstNull(LLVMArrayType2(byte, padding.into())));
                    }
                    let offset = self.next_offset + padding;
                    let size = LLVMStoreSizeOfType(self.layout, LLVMTypeOf(default)) as u32;
                    self.constants.push(SpecializationConstant {
                        name: name.clone(),
                        leaves: vec![[self.next_number, 0, size]],
                    });
                    self.defaults.push(default);
                    self.next_number += 1;
                    self.next_offset = offset + LLVMStoreSizeOfType(self.layout, value_type) as u32;
                    self.known.insert(name, Known::Offset(offset));
                    offset
                }
            }
        }
    }

    unsafe fn emulated(
        &mut self,
        name: String,
        value_type: LLVMTypeRef,
        default: LLVMValueRef,
        buffer: LLVMValueRef,
    ) -> LLVMValueRef {
        // SAFETY: see the head of this block.
        unsafe {
            let byte = LLVMInt8TypeInContext(self.context);
            let offset = self.offset_of(name, value_type, default);
            let mut index = LLVMConstInt(LLVMInt32TypeInContext(self.context), offset.into(), 0);
            let place = LLVMBuildGEP2(self.builder, byte, buffer, &raw mut index, 1, c"gep".as_ptr());
            if is_integer(value_type, 1) {
                let value = LLVMBuildLoad2(self.builder, byte, place, c"load".as_ptr());
                LLVMBuildTrunc(self.builder, value, value_type, c"tobool".as_ptr())
            } else {
                LLVMBuildLoad2(self.builder, value_type, place, c"load".as_ptr())
            }
        }
    }

    /// Puts what was met into named metadata.
    unsafe fn record(&self) {
        // SAFETY: see the head of this block.
        unsafe {
            let add = |name: &str, mut operands: Vec<_>| {
                let name = CString::new(name).unwrap_or_default();
                let node = LLVMMDNodeInContext2(self.context, operands.as_mut_ptr(), operands.len());
                let node = LLVMMetadataAsValue(self.context, node);
                LLVMAddNamedMetadataOperand(self.module, name.as_ptr(), node);
            };
            for name in [CONSTANTS, DEFAULTS] {
                LLVMGetOrInsertNamedMetadata(self.module, name.as_ptr().cast(), name.len());
            }
            let word = LLVMInt32TypeInContext(self.context);
            for constant in &self.constants {
                let name = &constant.name;
                let mut operands = vec![LLVMMDStringInContext2(
                    self.context,
                    name.as_ptr().cast(),
                    name.len(),
                )];
                for value in constant.leaves.iter().flatten() {
                    operands.push(LLVMValueAsMetadata(LLVMConstInt(word, (*value).into(), 0)));
                }
                add(CONSTANTS, operands);
            }
            for default in &self.defaults {
                add(DEFAULTS, vec![LLVMValueAsMetadata(*default)]);
            }
        }
    }

    /// Appends the bytes that a constant has in the memory of the device, little-endian.
    unsafe fn append_bytes(&self, constant: LLVMValueRef, bytes: &mut Vec<u8>) -> Result<(), Error> {
        // SAFETY: see the head of this block.
        unsafe {
            let (constant_type, start) = (LLVMTypeOf(constant), bytes.len());
            let is_structure = LLVMGetTypeKind(constant_type) == LLVMTypeKind::LLVMStructTypeKind;
            // A structure comes with the padding at its end, which `collect_leaves` tells of.
            let size = if is_structure {
                LLVMABISizeOfType(self.layout, constant_type)
            } else {
                LLVMStoreSizeOfType(self.layout, constant_type)
            } as usize;
            if LLVMIsUndef(constant) == 0 && LLVMIsNull(constant) == 0 {
                if let Some(elements) = self.elements(constant_type) {
                    for (index, (_, offset)) in (0..).zip(elements) {
                        bytes.resize(start + offset as usize, 0);
                        self.append_bytes(LLVMGetAggregateElement(constant, index), bytes)?;
                    }
                } else {
                    bytes.extend(self.scalar_bits(constant)?.to_le_bytes().into_iter().take(size));
                }
            }
            bytes.resize(start + size, 0);
        }
        Ok(())
    }

    unsafe fn scalar_bits(&self, constant: LLVMValueRef) -> Result<u64, Error> {
        // SAFETY: see the head of this block.
        unsafe {
            let mut integer = constant;
            if !LLVMIsAConstantFP(constant).is_null() {
                let width = 8 * LLVMStoreSizeOfType(self.layout, LLVMTypeOf(constant)) as c_uint;
                integer = LLVMConstBitCast(constant, LLVMIntTypeInContext(self.context, width));
            }
            if LLVMIsAConstantInt(integer).is_null() || LLVMGetIntTypeWidth(LLVMTypeOf(integer)) > 64 {
                return Err(Error::new(
                    "the default value of a specialization constant is not a number of up to 64 bits",
                ));
            }
            Ok(LLVMConstIntGetZExtValue(integer))
        }
    }

    /// The elements of a composite type; `None` for a scalar.
    unsafe fn elements(&self, composite: LLVMTypeRef) -> Option<Elements> {
        // SAFETY: see the head of this block.
        unsafe {
            let count = match LLVMGetTypeKind(composite) {
                LLVMTypeKind::LLVMStructTypeKind => {
                    let count = LLVMCountStructElementTypes(composite);
                    let element = |index| {
                        let offset = LLVMOffsetOfElement(self.layout, composite, index);
                        (LLVMStructGetTypeAtIndex(composite, index), offset as u32)
                    };
                    return Some((0..count).map(element).collect());
                }
                LLVMTypeKind::LLVMArrayTypeKind => LLVMGetArrayLength2(composite) as u32,
                LLVMTypeKind::LLVMVectorTypeKind => LLVMGetVectorSize(composite),
                _ => return None,
            };
            let element = LLVMGetElementType(composite);
            let size = LLVMABISizeOfType(self.layout, element) as u32;
            Some((0..count).map(|index| (element, index * size)).collect())
        }
    }
}

/// Takes as many parts as there are in a value of a type, with itself; whether there were as many.
///
/// # Safety
///
/// The type is alive.
unsafe fn take_parts(kind: LLVMTypeRef, left: &mut u32) -> bool {
    let Some(fewer) = left.checked_sub(1) else {
        return false;
    };
    *left = fewer;
    // SAFETY: by this function's contract, and each question is asked of a type of the kind it is for.
    unsafe {
        match LLVMGetTypeKind(kind) {
            LLVMTypeKind::LLVMStructTypeKind => (0..LLVMCountStructElementTypes(kind))
                .all(|index| take_parts(LLVMStructGetTypeAtIndex(kind, index), left)),
            LLVMTypeKind::LLVMArrayTypeKind => {
                (0..LLVMGetArrayLength2(kind)).all(|_| take_parts(LLVMGetElementType(kind), left))
            }
            LLVMTypeKind::LLVMVectorTypeKind => {
                (0..LLVMGetVectorSize(kind)).all(|_| take_parts(LLVMGetElementType(kind), left))
            }
            _ => true,
        }
    }
}

/// The next number of a constant: one that it has from an earlier call, or a new one.
fn take_number(numbers: &mut Vec<Number>, next: &mut usize, is_undefined: bool) -> u32 {
    if *next >= numbers.len() {
        let number = numbers.last().map_or(0, |last| last.number + 1);
        numbers.push(Number { number, is_undefined });
    }
    *next += 1;
    numbers[*next - 1].number
}
