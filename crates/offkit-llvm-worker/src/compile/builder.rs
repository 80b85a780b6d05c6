//! Writes LLVM's instructions.

use std::cell::Cell;
use std::ffi::{CString, c_uint, c_ulonglong};
use std::marker::PhantomData;

use llvm_sys::core::*;
use llvm_sys::prelude::{
    LLVMBasicBlockRef, LLVMBuilderRef, LLVMContextRef, LLVMMetadataRef, LLVMModuleRef, LLVMTypeRef,
    LLVMValueRef,
};
use llvm_sys::{
    LLVMAttributeFunctionIndex, LLVMFastMathFlags, LLVMFastMathNone, LLVMIntPredicate as IntPredicate,
    LLVMLinkage, LLVMModuleFlagBehavior, LLVMOpcode as Opcode, LLVMRealPredicate as RealPredicate,
    LLVMTypeKind as Kind, LLVMUnnamedAddr, LLVMVisibility,
};
use offkit_kernel::builtins::Scalar;

use crate::module::Module;

/// A value of a module: only [`Builder`] makes them, so each is alive as long as the module is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Value<'m> {
    raw: LLVMValueRef,
    module: PhantomData<&'m Module>,
}

/// A type in a module's context: a scalar, or a vector of such, which is called a form of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Type<'m> {
    raw: LLVMTypeRef,
    module: PhantomData<&'m Module>,
}

/// A block of a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Block<'m> {
    raw: LLVMBasicBlockRef,
    module: PhantomData<&'m Module>,
}

/// What is accessed at once for every lane whose mask holds; see [`Builder::masked_load`] and its like.
pub(crate) type Alignment = u32;

impl<'m> Value<'m> {
    /// # Safety
    ///
    /// A value of the module, or a constant in its context.
    pub(crate) unsafe fn from_raw(raw: LLVMValueRef) -> Self {
        Self {
            raw,
            module: PhantomData,
        }
    }

    pub(crate) fn as_raw(self) -> LLVMValueRef {
        self.raw
    }

    pub(crate) fn ty(self) -> Type<'m> {
        // SAFETY: a value is alive as long as its module.
        unsafe { Type::from_raw(LLVMTypeOf(self.raw)) }
    }

    /// Whether it is known already.
    pub(crate) fn is_constant(self) -> bool {
        // SAFETY: as above.
        unsafe { LLVMIsConstant(self.raw) != 0 }
    }

    /// The constant integer that it is.
    pub(crate) fn as_integer(self) -> Option<u64> {
        // SAFETY: as above; only constant integers are asked for their value.
        unsafe { (!LLVMIsAConstantInt(self.raw).is_null()).then(|| LLVMConstIntGetZExtValue(self.raw)) }
    }

    /// The constant integers that its lanes are.
    pub(crate) fn as_integers(self) -> Option<Vec<u64>> {
        let width = self.ty().width()?;
        if !self.is_constant() {
            return None;
        }
        // Lane by lane: LLVM keeps zeros, poison and lists of numbers in forms of their own.
        let lanes = (0..width).map(|lane| {
            // SAFETY: a constant with that lane; a null pointer where LLVM does not know it.
            let lane = unsafe { LLVMGetAggregateElement(self.raw, lane) };
            // SAFETY: a constant.
            (!lane.is_null())
                .then(|| unsafe { Self::from_raw(lane) })?
                .as_integer()
        });
        lanes.collect()
    }
}

impl<'m> Type<'m> {
    /// # Safety
    ///
    /// A type in the module's context.
    pub(crate) unsafe fn from_raw(raw: LLVMTypeRef) -> Self {
        Self {
            raw,
            module: PhantomData,
        }
    }

    fn kind(self) -> Kind {
        // SAFETY: types are alive as long as their context, which the module keeps.
        unsafe { LLVMGetTypeKind(self.raw) }
    }

    /// How many lanes a vector has.
    pub(crate) fn width(self) -> Option<u32> {
        // SAFETY: as above; only vectors are asked for their size.
        (self.kind() == Kind::LLVMVectorTypeKind).then(|| unsafe { LLVMGetVectorSize(self.raw) })
    }

    /// The type of a vector's lanes, or the type itself.
    pub(crate) fn lane(self) -> Self {
        match self.width() {
            // SAFETY: as above; a vector has an element.
            Some(_) => unsafe { Self::from_raw(LLVMGetElementType(self.raw)) },
            None => self,
        }
    }

    /// A type of so many lanes, each of this scalar type; that itself for none.
    pub(crate) fn vector(self, width: Option<u32>) -> Self {
        match width {
            // SAFETY: as above; lanes are numbers or pointers.
            Some(width) => unsafe { Self::from_raw(LLVMVectorType(self.lane().raw, width)) },
            None => self.lane(),
        }
    }

    pub(crate) fn is_pointer(self) -> bool {
        self.lane().kind() == Kind::LLVMPointerTypeKind
    }

    /// What its lanes are; an address counts as a 64-bit integer, as in the words of values.
    ///
    /// # Panics
    ///
    /// Nothing that a lane can be.
    pub(crate) fn scalar(self) -> Scalar {
        let lane = self.lane();
        match lane.kind() {
            Kind::LLVMHalfTypeKind => Scalar::F16,
            Kind::LLVMFloatTypeKind => Scalar::F32,
            Kind::LLVMDoubleTypeKind => Scalar::F64,
            Kind::LLVMPointerTypeKind => Scalar::I64,
            Kind::LLVMIntegerTypeKind => match lane.bits() {
                1 => Scalar::Bool,
                8 => Scalar::I8,
                16 => Scalar::I16,
                32 => Scalar::I32,
                64 => Scalar::I64,
                bits => panic!("no lanes of {bits} bits"),
            },
            kind => panic!("no lanes of {kind:?}"),
        }
    }

    /// Bits of a lane.
    pub(crate) fn bits(self) -> u32 {
        let lane = self.lane();
        match lane.kind() {
            // SAFETY: as above; only integers are asked for their width.
            Kind::LLVMIntegerTypeKind => unsafe { LLVMGetIntTypeWidth(lane.raw) },
            _ => lane.scalar().bits(),
        }
    }

    pub(crate) fn is_float(self) -> bool {
        matches!(
            self.lane().kind(),
            Kind::LLVMHalfTypeKind | Kind::LLVMFloatTypeKind | Kind::LLVMDoubleTypeKind
        )
    }

    pub(crate) fn is_integer(self) -> bool {
        self.lane().kind() == Kind::LLVMIntegerTypeKind
    }
}

/// Writes instructions at the end of a block of a module.
///
/// What LLVM takes for granted, operands of one type above all, is checked here: LLVM is built without its own checks.
/// Instructions without operands that can overflow or trap are as LLVM has them: see each.
pub(crate) struct Builder<'m> {
    raw: LLVMBuilderRef,
    context: LLVMContextRef,
    module: &'m Module,
    /// Given to each floating-point instruction.
    flags: Cell<LLVMFastMathFlags>,
}

impl<'m> Builder<'m> {
    pub(crate) fn new(module: &'m Module) -> Self {
        let context = module.context_raw();
        Self {
            // SAFETY: the module keeps its context.
            raw: unsafe { LLVMCreateBuilderInContext(context) },
            context,
            module,
            flags: Cell::new(LLVMFastMathNone),
        }
    }

    pub(crate) fn as_raw(&self) -> LLVMBuilderRef {
        self.raw
    }

    pub(crate) fn module_raw(&self) -> LLVMModuleRef {
        self.module.as_raw()
    }

    pub(crate) fn context_raw(&self) -> LLVMContextRef {
        self.context
    }

    /// Has the instructions that follow be of a place in a source, or of none.
    ///
    /// # Safety
    ///
    /// A location in the function that is written.
    pub(crate) unsafe fn set_location(&self, location: Option<LLVMMetadataRef>) {
        // SAFETY: the builder is alive; the rest is the caller's.
        unsafe { LLVMSetCurrentDebugLocation2(self.raw, location.unwrap_or(std::ptr::null_mut())) };
    }

    /// What may be done to the floating-point instructions that follow; gives what it was.
    pub(crate) fn set_flags(&self, flags: LLVMFastMathFlags) -> LLVMFastMathFlags {
        self.flags.replace(flags)
    }

    fn value(&self, raw: LLVMValueRef) -> Value<'m> {
        assert!(!raw.is_null(), "LLVM makes a value");
        // SAFETY: the builder writes into its module only.
        unsafe { Value::from_raw(raw) }
    }

    /// A floating-point instruction gets the flags.
    fn float_value(&self, raw: LLVMValueRef) -> Value<'m> {
        let flags = self.flags.get();
        // SAFETY: what LLVM made just now; constants have no flags.
        unsafe {
            if flags != LLVMFastMathNone
                && !LLVMIsAInstruction(raw).is_null()
                && LLVMCanValueUseFastMathFlags(raw) != 0
            {
                LLVMSetFastMathFlags(raw, flags);
            }
        }
        self.value(raw)
    }
}

/// Types and constants.
impl<'m> Builder<'m> {
    fn scalar_type(&self, raw: LLVMTypeRef) -> Type<'m> {
        // SAFETY: made in the module's context.
        unsafe { Type::from_raw(raw) }
    }

    /// An integer of any width.
    pub(crate) fn int(&self, bits: u32) -> Type<'m> {
        // SAFETY: the context is alive.
        self.scalar_type(unsafe { LLVMIntTypeInContext(self.context, bits) })
    }

    pub(crate) fn pointer(&self) -> Type<'m> {
        // SAFETY: the context is alive.
        self.scalar_type(unsafe { LLVMPointerTypeInContext(self.context, 0) })
    }

    /// A pointer into an address space of the target's.
    pub(crate) fn pointer_in(&self, space: u32) -> Type<'m> {
        // SAFETY: the context is alive.
        self.scalar_type(unsafe { LLVMPointerTypeInContext(self.context, space) })
    }

    /// So many bytes, as what is in memory.
    pub(crate) fn bytes_type(&self, count: u64) -> Type<'m> {
        // SAFETY: the context is alive.
        self.scalar_type(unsafe { LLVMArrayType2(self.int(8).raw, count) })
    }

    pub(crate) fn void(&self) -> Type<'m> {
        // SAFETY: the context is alive.
        self.scalar_type(unsafe { LLVMVoidTypeInContext(self.context) })
    }

    /// The scalar type.
    pub(crate) fn scalar(&self, scalar: Scalar) -> Type<'m> {
        // SAFETY: the context is alive.
        self.scalar_type(unsafe {
            match scalar {
                Scalar::F16 => LLVMHalfTypeInContext(self.context),
                Scalar::F32 => LLVMFloatTypeInContext(self.context),
                Scalar::F64 => LLVMDoubleTypeInContext(self.context),
                _ => return self.int(scalar.bits()),
            }
        })
    }

    /// An integer in each lane, cut off at the width.
    pub(crate) fn integer(&self, ty: Type<'m>, value: u64) -> Value<'m> {
        assert!(ty.is_integer());
        // The widest integers are those of whole products: twice 64 bits.
        let words = [value, 0];
        let count = ty.bits().div_ceil(64);
        // SAFETY: an integer type, and as many words as it has.
        let lane = unsafe { LLVMConstIntOfArbitraryPrecision(ty.lane().raw, count, words.as_ptr()) };
        self.splat(lane, ty)
    }

    /// A signed integer in each lane.
    pub(crate) fn signed(&self, ty: Type<'m>, value: i64) -> Value<'m> {
        assert!(ty.is_integer());
        let words = [value as u64, (value >> 63) as u64];
        let count = ty.bits().div_ceil(64);
        // SAFETY: an integer type, and as many words as it has.
        let lane = unsafe { LLVMConstIntOfArbitraryPrecision(ty.lane().raw, count, words.as_ptr()) };
        self.splat(lane, ty)
    }

    /// A number in each lane, rounded to nearest.
    pub(crate) fn float(&self, ty: Type<'m>, value: f64) -> Value<'m> {
        assert!(ty.is_float());
        // SAFETY: a floating-point type.
        let lane = unsafe { LLVMConstReal(ty.lane().raw, value) };
        self.splat(lane, ty)
    }

    /// In each lane what a word of a value says: an integer, the bits of a number, or an address.
    pub(crate) fn word(&self, ty: Type<'m>, word: u64) -> Value<'m> {
        if ty.is_integer() {
            return self.integer(ty, word);
        }
        // Generic pointers, which values are, have 64 bits on all that there is code for.
        if ty.is_pointer() {
            let address = self.integer(self.int(64).vector(ty.width()), word);
            return self.cast(Opcode::LLVMIntToPtr, address, ty);
        }
        let bits = self.integer(self.int(ty.bits()).vector(ty.width()), word);
        self.bit_cast(bits, ty)
    }

    pub(crate) fn zero(&self, ty: Type<'m>) -> Value<'m> {
        // SAFETY: a type that values can have.
        self.value(unsafe { LLVMConstNull(ty.raw) })
    }

    pub(crate) fn poison(&self, ty: Type<'m>) -> Value<'m> {
        // SAFETY: a type that values can have.
        self.value(unsafe { LLVMGetPoison(ty.raw) })
    }

    /// A truth in each lane of a form.
    pub(crate) fn truth(&self, width: Option<u32>, holds: bool) -> Value<'m> {
        self.integer(self.int(1).vector(width), holds.into())
    }

    /// A vector of constants.
    pub(crate) fn constants(&self, lanes: &[Value<'m>]) -> Value<'m> {
        assert!(!lanes.is_empty() && lanes.iter().all(|lane| lane.is_constant()));
        assert!(lanes.iter().all(|lane| lane.ty() == lanes[0].ty()));
        let mut lanes: Vec<_> = lanes.iter().map(|lane| lane.raw).collect();
        // SAFETY: constants of one scalar type.
        self.value(unsafe { LLVMConstVector(lanes.as_mut_ptr(), lanes.len() as c_uint) })
    }

    fn splat(&self, lane: LLVMValueRef, ty: Type<'m>) -> Value<'m> {
        let Some(width) = ty.width() else {
            return self.value(lane);
        };
        let mut lanes = vec![lane; width as usize];
        // SAFETY: constants of one type.
        self.value(unsafe { LLVMConstVector(lanes.as_mut_ptr(), width) })
    }
}

/// Arithmetic.
impl<'m> Builder<'m> {
    /// Overflow wraps. A shift by the width or more is poison, a division by zero or one that overflows undefined
    /// behaviour.
    pub(crate) fn binary(&self, opcode: Opcode, left: Value<'m>, right: Value<'m>) -> Value<'m> {
        let of_floats = matches!(
            opcode,
            Opcode::LLVMFAdd | Opcode::LLVMFSub | Opcode::LLVMFMul | Opcode::LLVMFDiv | Opcode::LLVMFRem
        );
        assert_eq!(left.ty(), right.ty());
        assert!(if of_floats {
            left.ty().is_float()
        } else {
            left.ty().is_integer()
        });
        // SAFETY: two values of one type, which the operation is for.
        let raw = unsafe { LLVMBuildBinOp(self.raw, opcode, left.raw, right.raw, c"".as_ptr()) };
        self.float_value(raw)
    }

    pub(crate) fn fneg(&self, value: Value<'m>) -> Value<'m> {
        assert!(value.ty().is_float());
        // SAFETY: a number.
        self.value(unsafe { LLVMBuildFNeg(self.raw, value.raw, c"".as_ptr()) })
    }

    pub(crate) fn neg(&self, value: Value<'m>) -> Value<'m> {
        self.sub(self.zero(value.ty()), value)
    }

    pub(crate) fn not(&self, value: Value<'m>) -> Value<'m> {
        self.xor(value, self.signed(value.ty(), -1))
    }

    pub(crate) fn icmp(&self, predicate: IntPredicate, left: Value<'m>, right: Value<'m>) -> Value<'m> {
        assert_eq!(left.ty(), right.ty());
        assert!(left.ty().is_integer() || left.ty().is_pointer());
        // SAFETY: two integers or pointers of one type.
        self.value(unsafe { LLVMBuildICmp(self.raw, predicate, left.raw, right.raw, c"".as_ptr()) })
    }

    /// Never with flags: a comparison with NaN is a fact, not poison.
    pub(crate) fn fcmp(&self, predicate: RealPredicate, left: Value<'m>, right: Value<'m>) -> Value<'m> {
        assert_eq!(left.ty(), right.ty());
        assert!(left.ty().is_float());
        // SAFETY: two numbers of one type.
        self.value(unsafe { LLVMBuildFCmp(self.raw, predicate, left.raw, right.raw, c"".as_ptr()) })
    }

    /// The condition is one truth for each lane, or one for all.
    pub(crate) fn select(&self, condition: Value<'m>, accept: Value<'m>, reject: Value<'m>) -> Value<'m> {
        assert_eq!(accept.ty(), reject.ty());
        assert_eq!(condition.ty().lane(), self.int(1));
        assert!(
            condition
                .ty()
                .width()
                .is_none_or(|width| accept.ty().width() == Some(width))
        );
        // LLVM folds constants only where all operands are.
        if condition.is_constant() {
            match condition {
                _ if condition == self.truth(condition.ty().width(), true) => return accept,
                _ if condition == self.zero(condition.ty()) => return reject,
                _ => {}
            }
        }
        // SAFETY: two values of one type, and truths of their form.
        self.value(unsafe { LLVMBuildSelect(self.raw, condition.raw, accept.raw, reject.raw, c"".as_ptr()) })
    }

    /// Some value where it is poison, the same wherever it is used.
    pub(crate) fn freeze(&self, value: Value<'m>) -> Value<'m> {
        // SAFETY: a value.
        self.value(unsafe { LLVMBuildFreeze(self.raw, value.raw, c"".as_ptr()) })
    }

    /// A conversion; the value itself where its type is that already. Numbers out of range of an integer are poison.
    pub(crate) fn cast(&self, opcode: Opcode, value: Value<'m>, to: Type<'m>) -> Value<'m> {
        let from = value.ty();
        if from == to {
            return value;
        }
        assert_eq!(from.width(), to.width());
        let fits = match opcode {
            Opcode::LLVMTrunc => from.is_integer() && to.is_integer() && from.bits() > to.bits(),
            Opcode::LLVMZExt | Opcode::LLVMSExt => {
                from.is_integer() && to.is_integer() && from.bits() < to.bits()
            }
            Opcode::LLVMFPTrunc => from.is_float() && to.is_float() && from.bits() > to.bits(),
            Opcode::LLVMFPExt => from.is_float() && to.is_float() && from.bits() < to.bits(),
            Opcode::LLVMFPToUI | Opcode::LLVMFPToSI => from.is_float() && to.is_integer(),
            Opcode::LLVMUIToFP | Opcode::LLVMSIToFP => from.is_integer() && to.is_float(),
            Opcode::LLVMPtrToInt => from.is_pointer() && to.is_integer(),
            Opcode::LLVMIntToPtr => from.is_integer() && to.is_pointer(),
            _ => false,
        };
        assert!(fits, "{opcode:?} from {:?} to {:?}", from.kind(), to.kind());
        // SAFETY: a value, and a type that it can be converted to in this way.
        let raw = unsafe { LLVMBuildCast(self.raw, opcode, value.raw, to.raw, c"".as_ptr()) };
        self.float_value(raw)
    }

    /// The same place, as a pointer into another address space.
    pub(crate) fn space_cast(&self, pointer: Value<'m>, to: Type<'m>) -> Value<'m> {
        if pointer.ty() == to {
            return pointer;
        }
        assert!(pointer.ty().is_pointer() && to.is_pointer() && pointer.ty().width() == to.width());
        // SAFETY: a pointer and a type of pointers.
        self.value(unsafe { LLVMBuildAddrSpaceCast(self.raw, pointer.raw, to.raw, c"".as_ptr()) })
    }

    /// The same bits as another type.
    pub(crate) fn bit_cast(&self, value: Value<'m>, to: Type<'m>) -> Value<'m> {
        let from = value.ty();
        if from == to {
            return value;
        }
        assert!(!from.is_pointer() && !to.is_pointer());
        let bits = |ty: Type<'m>| ty.bits() * ty.width().unwrap_or(1);
        assert_eq!(bits(from), bits(to));
        // SAFETY: a value and a type of as many bits.
        self.value(unsafe { LLVMBuildBitCast(self.raw, value.raw, to.raw, c"".as_ptr()) })
    }

    /// An integer made as wide as that type says; what is new is zero.
    pub(crate) fn zext_or_trunc(&self, value: Value<'m>, to: Type<'m>) -> Value<'m> {
        let opcode = match value.ty().bits() > to.bits() {
            true => Opcode::LLVMTrunc,
            false => Opcode::LLVMZExt,
        };
        self.cast(opcode, value, to)
    }

    /// The same for a signed integer.
    pub(crate) fn sext_or_trunc(&self, value: Value<'m>, to: Type<'m>) -> Value<'m> {
        let opcode = match value.ty().bits() > to.bits() {
            true => Opcode::LLVMTrunc,
            false => Opcode::LLVMSExt,
        };
        self.cast(opcode, value, to)
    }

    /// Calls an intrinsic by its name without the types that it is overloaded on, which are given.
    pub(crate) fn intrinsic(&self, name: &str, overloads: &[Type<'m>], arguments: &[Value<'m>]) -> Value<'m> {
        let mut overloads: Vec<_> = overloads.iter().map(|ty| ty.raw).collect();
        // SAFETY: the name's length is given; the types are alive, and a declaration of a known intrinsic is made in
        // the module.
        unsafe {
            let id = LLVMLookupIntrinsicID(name.as_ptr().cast(), name.len());
            // A name that it doesn't know would be declared as a function like any other, which
            // nobody has.
            assert_ne!(id, 0, "LLVM knows {name}");
            let (module, count) = (self.module.as_raw(), overloads.len());
            let function = LLVMGetIntrinsicDeclaration(module, id, overloads.as_mut_ptr(), count);
            let ty = LLVMGlobalGetValueType(function);
            self.call_raw(ty, function, arguments)
        }
    }

    /// # Safety
    ///
    /// The type is a function's, and that of what is called.
    unsafe fn call_raw(&self, ty: LLVMTypeRef, function: LLVMValueRef, arguments: &[Value<'m>]) -> Value<'m> {
        // SAFETY: a function type, whose parameters are as many as it says.
        unsafe {
            let mut parameters = vec![std::ptr::null_mut(); LLVMCountParamTypes(ty) as usize];
            LLVMGetParamTypes(ty, parameters.as_mut_ptr());
            assert!(
                parameters
                    .iter()
                    .copied()
                    .eq(arguments.iter().map(|value| value.ty().raw))
            );
            let mut arguments: Vec<_> = arguments.iter().map(|value| value.raw).collect();
            let count = arguments.len() as c_uint;
            let raw = LLVMBuildCall2(
                self.raw,
                ty,
                function,
                arguments.as_mut_ptr(),
                count,
                c"".as_ptr(),
            );
            self.float_value(raw)
        }
    }
}

/// One short name for each of the operations on two operands.
macro_rules! binaries {
    ($($name:ident $opcode:ident;)+) => {
        impl<'m> Builder<'m> {
            $(
                pub(crate) fn $name(&self, left: Value<'m>, right: Value<'m>) -> Value<'m> {
                    self.binary(Opcode::$opcode, left, right)
                }
            )+
        }
    };
}

binaries! {
    add LLVMAdd;
    sub LLVMSub;
    mul LLVMMul;
    and LLVMAnd;
    or LLVMOr;
    xor LLVMXor;
    shl LLVMShl;
    lshr LLVMLShr;
    ashr LLVMAShr;
    fadd LLVMFAdd;
    fsub LLVMFSub;
    fmul LLVMFMul;
    fdiv LLVMFDiv;
}

/// Lanes.
impl<'m> Builder<'m> {
    fn place(&self, lane: u32) -> LLVMValueRef {
        // SAFETY: an integer type of the context.
        unsafe { LLVMConstInt(self.int(32).raw, c_ulonglong::from(lane), 0) }
    }

    /// The scalar in a lane.
    pub(crate) fn extract(&self, vector: Value<'m>, lane: u32) -> Value<'m> {
        assert!(vector.ty().width().is_some_and(|width| lane < width));
        // SAFETY: a vector with that lane.
        self.value(unsafe { LLVMBuildExtractElement(self.raw, vector.raw, self.place(lane), c"".as_ptr()) })
    }

    /// The vector with a scalar in a lane.
    pub(crate) fn insert(&self, vector: Value<'m>, scalar: Value<'m>, lane: u32) -> Value<'m> {
        assert!(vector.ty().width().is_some_and(|width| lane < width));
        assert_eq!(vector.ty().lane(), scalar.ty());
        // SAFETY: a vector with that lane, and a scalar of its type.
        self.value(unsafe {
            LLVMBuildInsertElement(self.raw, vector.raw, scalar.raw, self.place(lane), c"".as_ptr())
        })
    }

    /// The scalar in a lane that is not known yet; poison beyond the last.
    pub(crate) fn extract_at(&self, vector: Value<'m>, lane: Value<'m>) -> Value<'m> {
        assert!(vector.ty().width().is_some() && lane.ty().is_integer() && lane.ty().width().is_none());
        // SAFETY: a vector and an integer.
        self.value(unsafe { LLVMBuildExtractElement(self.raw, vector.raw, lane.raw, c"".as_ptr()) })
    }

    /// A scalar in every lane; itself for none.
    pub(crate) fn broadcast(&self, scalar: Value<'m>, width: Option<u32>) -> Value<'m> {
        let Some(count) = width else { return scalar };
        assert_eq!(scalar.ty().width(), None);
        if scalar.is_constant() {
            return self.splat(scalar.raw, scalar.ty().vector(width));
        }
        // The form that LLVM's passes and back ends know as one scalar in all lanes.
        let one = self.insert(self.poison(scalar.ty().vector(width)), scalar, 0);
        self.shuffle(one, one, &vec![Some(0); count as usize])
    }

    /// Lanes picked from two vectors laid one after the other; `None` is poison.
    pub(crate) fn shuffle(&self, left: Value<'m>, right: Value<'m>, lanes: &[Option<u32>]) -> Value<'m> {
        assert_eq!(left.ty(), right.ty());
        let width = left.ty().width().expect("a vector");
        assert!(lanes.iter().flatten().all(|lane| *lane < 2 * width));
        // SAFETY: the context is alive.
        let any = unsafe { LLVMGetPoison(self.int(32).raw) };
        let lanes = lanes.iter().map(|lane| lane.map_or(any, |lane| self.place(lane)));
        let mut lanes: Vec<_> = lanes.collect();
        // SAFETY: two vectors of one type, and a mask of constants that are lanes of theirs.
        self.value(unsafe {
            let mask = LLVMConstVector(lanes.as_mut_ptr(), lanes.len() as c_uint);
            LLVMBuildShuffleVector(self.raw, left.raw, right.raw, mask, c"".as_ptr())
        })
    }

    /// A vector cut in two.
    pub(crate) fn halves(&self, vector: Value<'m>) -> [Value<'m>; 2] {
        let half = vector.ty().width().expect("a vector") / 2;
        [0, half].map(|first| {
            let lanes: Vec<_> = (first..first + half).map(Some).collect();
            self.shuffle(vector, vector, &lanes)
        })
    }

    /// Two vectors, one behind the other.
    pub(crate) fn joined(&self, [low, high]: [Value<'m>; 2]) -> Value<'m> {
        let width = low.ty().width().expect("a vector");
        let lanes: Vec<_> = (0..2 * width).map(Some).collect();
        self.shuffle(low, high, &lanes)
    }

    /// The truths of a vector as the bits of an integer, the first as the lowest.
    pub(crate) fn mask_bits(&self, mask: Value<'m>) -> Value<'m> {
        match mask.ty().width() {
            // LLVM has it the other way round where lowest bytes come last: no processor here does.
            Some(width) => self.bit_cast(mask, self.int(width)),
            None => mask,
        }
    }
}

/// Memory. Pointers lead to what is alive and aligned where these are executed: that is up to the caller, as the
/// program that is written is not this one.
impl<'m> Builder<'m> {
    pub(crate) fn load(&self, ty: Type<'m>, pointer: Value<'m>, align: Alignment) -> Value<'m> {
        assert!(pointer.ty().is_pointer() && pointer.ty().width().is_none());
        // SAFETY: a pointer, and a type that values can have.
        unsafe {
            let raw = LLVMBuildLoad2(self.raw, ty.raw, pointer.raw, c"".as_ptr());
            LLVMSetAlignment(raw, align);
            self.value(raw)
        }
    }

    pub(crate) fn store(&self, value: Value<'m>, pointer: Value<'m>, align: Alignment) -> Value<'m> {
        assert!(pointer.ty().is_pointer() && pointer.ty().width().is_none());
        // SAFETY: a pointer and a value.
        unsafe {
            let raw = LLVMBuildStore(self.raw, value.raw, pointer.raw);
            LLVMSetAlignment(raw, align);
            self.value(raw)
        }
    }

    /// The address so many bytes behind a pointer, for pointers and offsets of any one form.
    pub(crate) fn offset(&self, pointer: Value<'m>, bytes: Value<'m>) -> Value<'m> {
        self.element(self.int(8), pointer, bytes)
    }

    /// The address of an element behind a pointer, by its signed index.
    pub(crate) fn element(&self, ty: Type<'m>, pointer: Value<'m>, index: Value<'m>) -> Value<'m> {
        assert!(pointer.ty().is_pointer() && index.ty().is_integer());
        let mut index = index.raw;
        // SAFETY: a pointer and an index.
        self.value(unsafe { LLVMBuildGEP2(self.raw, ty.raw, pointer.raw, &raw mut index, 1, c"".as_ptr()) })
    }

    /// Room in the stack for so many values, at the builder's place.
    pub(crate) fn alloca(&self, ty: Type<'m>, count: u64, align: Alignment) -> Value<'m> {
        // In 64 bits: the count of bytes of a private array may need them.
        let count = self.integer(self.int(64), count);
        // SAFETY: a type that values can have.
        unsafe {
            let raw = LLVMBuildArrayAlloca(self.raw, ty.raw, count.raw, c"".as_ptr());
            LLVMSetAlignment(raw, align);
            self.value(raw)
        }
    }

    /// Consecutive elements for the lanes whose mask holds, and for the others those of another value.
    pub(crate) fn masked_load(
        &self,
        pointer: Value<'m>,
        align: Alignment,
        mask: Value<'m>,
        otherwise: Value<'m>,
    ) -> Value<'m> {
        let overloads = [otherwise.ty(), pointer.ty()];
        self.masked(
            "llvm.masked.load",
            &overloads,
            &[pointer, mask, otherwise],
            0,
            align,
        )
    }

    /// Stores the lanes whose mask holds to consecutive elements.
    pub(crate) fn masked_store(
        &self,
        value: Value<'m>,
        pointer: Value<'m>,
        align: Alignment,
        mask: Value<'m>,
    ) {
        let overloads = [value.ty(), pointer.ty()];
        self.masked("llvm.masked.store", &overloads, &[value, pointer, mask], 1, align);
    }

    /// As [`Builder::masked_load`] from an address for each lane.
    pub(crate) fn gather(
        &self,
        pointers: Value<'m>,
        align: Alignment,
        mask: Value<'m>,
        otherwise: Value<'m>,
    ) -> Value<'m> {
        let overloads = [otherwise.ty(), pointers.ty()];
        self.masked(
            "llvm.masked.gather",
            &overloads,
            &[pointers, mask, otherwise],
            0,
            align,
        )
    }

    /// As [`Builder::masked_store`] to an address for each lane; the last lane of those with one address prevails.
    pub(crate) fn scatter(&self, value: Value<'m>, pointers: Value<'m>, align: Alignment, mask: Value<'m>) {
        let overloads = [value.ty(), pointers.ty()];
        self.masked(
            "llvm.masked.scatter",
            &overloads,
            &[value, pointers, mask],
            1,
            align,
        );
    }

    /// A masked access, with the alignment as an attribute of the pointer.
    fn masked(
        &self,
        name: &str,
        overloads: &[Type<'m>],
        arguments: &[Value<'m>],
        pointer: u32,
        align: Alignment,
    ) -> Value<'m> {
        let call = self.intrinsic(name, overloads, arguments);
        // SAFETY: a call with that parameter; the attribute's name is given with its length.
        unsafe {
            let kind = LLVMGetEnumAttributeKindForName(c"align".as_ptr(), 5);
            let attribute = LLVMCreateEnumAttribute(self.context, kind, align.into());
            // The place of attributes before the first parameter's is the result's.
            LLVMAddCallSiteAttribute(call.raw, pointer + 1, attribute);
        }
        call
    }
}

/// What code for devices says beyond that.
impl<'m> Builder<'m> {
    /// Copies bytes between places that don't overlap.
    pub(crate) fn copy(&self, to: (Value<'m>, Alignment), from: (Value<'m>, Alignment), size: Value<'m>) {
        assert!(to.0.ty().is_pointer() && from.0.ty().is_pointer() && size.ty().is_integer());
        // SAFETY: two pointers and a size.
        unsafe { LLVMBuildMemCpy(self.raw, to.0.raw, to.1, from.0.raw, from.1, size.raw) };
    }

    /// An access must happen as it stands.
    pub(crate) fn set_volatile(&self, access: Value<'m>) {
        // SAFETY: asked of instructions only.
        unsafe {
            if !LLVMIsAInstruction(access.raw).is_null() {
                LLVMSetVolatile(access.raw, 1);
            }
        }
    }

    /// What a load reads is never written.
    pub(crate) fn set_invariant(&self, load: Value<'m>) {
        const KIND: &str = "invariant.load";
        // SAFETY: asked of instructions only; the name's length is given, and the node is empty.
        unsafe {
            if LLVMIsAInstruction(load.raw).is_null() {
                return;
            }
            let kind = LLVMGetMDKindIDInContext(self.context, KIND.as_ptr().cast(), KIND.len() as c_uint);
            let node = LLVMMDNodeInContext2(self.context, std::ptr::null_mut(), 0);
            LLVMSetMetadata(load.raw, kind, LLVMMetadataAsValue(self.context, node));
        }
    }

    /// A scope of synchronisation by the target's name for it; none is everybody.
    pub(crate) fn sync_scope(&self, name: &str) -> c_uint {
        // SAFETY: the name's length is given.
        unsafe { LLVMGetSyncScopeID(self.context, name.as_ptr().cast(), name.len()) }
    }

    /// An attribute of a function (`None`), or of a parameter by its number.
    pub(crate) fn attribute(&self, function: Value<'m>, parameter: Option<u32>, name: &str, value: u64) {
        let place = parameter.map_or(LLVMAttributeFunctionIndex, |index| index + 1);
        // SAFETY: a function of the module, which this checks; the name's length is given.
        unsafe {
            assert!(!LLVMIsAFunction(function.raw).is_null());
            let kind = LLVMGetEnumAttributeKindForName(name.as_ptr().cast(), name.len());
            assert_ne!(kind, 0, "LLVM knows {name}");
            let attribute = LLVMCreateEnumAttribute(self.context, kind, value);
            LLVMAddAttributeAtIndex(function.raw, place, attribute);
        }
    }

    /// A parameter, by its number, is the address of such a value, which the caller has copied.
    pub(crate) fn attribute_of_type(&self, function: Value<'m>, parameter: u32, name: &str, ty: Type<'m>) {
        // SAFETY: as above; the type is of the context.
        unsafe {
            assert!(!LLVMIsAFunction(function.raw).is_null());
            let kind = LLVMGetEnumAttributeKindForName(name.as_ptr().cast(), name.len());
            let attribute = LLVMCreateTypeAttribute(self.context, kind, ty.raw);
            LLVMAddAttributeAtIndex(function.raw, parameter + 1, attribute);
        }
    }

    /// An attribute of a function that its target knows.
    pub(crate) fn text_attribute(&self, function: Value<'_>, name: &str, value: &str) {
        // SAFETY: as above; the texts' lengths are given.
        unsafe {
            assert!(!LLVMIsAFunction(function.raw).is_null());
            let attribute = LLVMCreateStringAttribute(
                self.context,
                name.as_ptr().cast(),
                name.len() as c_uint,
                value.as_ptr().cast(),
                value.len() as c_uint,
            );
            LLVMAddAttributeAtIndex(function.raw, LLVMAttributeFunctionIndex, attribute);
        }
    }

    /// How a function is called, by LLVM's number.
    pub(crate) fn set_convention(&self, function: Value<'m>, convention: u32) {
        // SAFETY: a function of the module, which this checks.
        unsafe {
            assert!(!LLVMIsAFunction(function.raw).is_null());
            LLVMSetFunctionCallConv(function.raw, convention);
        }
    }

    /// A variable of so many bytes in an address space, which nothing else sees; addresses are kept at those places in it,
    /// which are in ascending order. Nobody knows what it holds at first; see [`Builder::fill`].
    pub(crate) fn variable(
        &self,
        name: &str,
        size: u64,
        addresses: &[u64],
        (space, align): (u32, Alignment),
    ) -> Value<'m> {
        let mut fields = Vec::new();
        let mut at = 0;
        for place in addresses {
            assert!(*place >= at && place + ADDRESS <= size);
            fields.extend([self.bytes_type(place - at).raw, self.pointer().raw]);
            at = place + ADDRESS;
        }
        fields.push(self.bytes_type(size - at).raw);
        let name = CString::new(name).unwrap_or_default();
        // SAFETY: types of the context, for a variable of the module.
        unsafe {
            let count = fields.len() as c_uint;
            let ty = match addresses {
                [] => fields[0],
                // Packed, so that nothing but these fields decides where the addresses are.
                _ => LLVMStructTypeInContext(self.context, fields.as_mut_ptr(), count, 1),
            };
            let variable = LLVMAddGlobalInAddressSpace(self.module.as_raw(), ty, name.as_ptr(), space);
            // With a value, so that it is a definition. In local memory, which no image fills,
            // back ends take no other.
            LLVMSetInitializer(variable, LLVMGetPoison(ty));
            LLVMSetLinkage(variable, LLVMLinkage::LLVMInternalLinkage);
            LLVMSetAlignment(variable, align);
            self.value(variable)
        }
    }

    /// What a [`variable`](Self::variable) holds at first: these bytes, and addresses at their places.
    pub(crate) fn fill(&self, variable: Value<'m>, bytes: &[u8], addresses: &[(u64, Value<'m>)]) {
        // SAFETY: constants of the context.
        let plain = |bytes: &[u8]| unsafe {
            // 1: no NUL behind it.
            LLVMConstStringInContext2(self.context, bytes.as_ptr().cast(), bytes.len(), 1)
        };
        let mut fields = Vec::new();
        let mut at = 0;
        for (place, address) in addresses {
            assert!(address.is_constant() && address.ty() == self.pointer());
            fields.extend([plain(&bytes[at as usize..*place as usize]), address.raw]);
            at = place + ADDRESS;
        }
        fields.push(plain(&bytes[at as usize..]));
        // SAFETY: constants, for a variable of the module, which this checks, and of its type.
        unsafe {
            let count = fields.len() as c_uint;
            let content = match addresses {
                [] => fields[0],
                _ => LLVMConstStructInContext(self.context, fields.as_mut_ptr(), count, 1),
            };
            assert!(!LLVMIsAGlobalVariable(variable.raw).is_null());
            assert_eq!(LLVMTypeOf(content), LLVMGlobalGetValueType(variable.raw));
            LLVMSetInitializer(variable.raw, content);
        }
    }

    /// A [`variable`](Self::variable) holds zeros at first.
    pub(crate) fn clear(&self, variable: Value<'m>) {
        // SAFETY: a variable of the module, which this checks, and a constant of its type.
        unsafe {
            assert!(!LLVMIsAGlobalVariable(variable.raw).is_null());
            LLVMSetInitializer(variable.raw, LLVMConstNull(LLVMGlobalGetValueType(variable.raw)));
        }
    }

    /// A variable is only read.
    pub(crate) fn set_constant(&self, variable: Value<'m>) {
        // SAFETY: a variable of the module, which this checks.
        unsafe {
            assert!(!LLVMIsAGlobalVariable(variable.raw).is_null());
            LLVMSetGlobalConstant(variable.raw, 1);
        }
    }

    /// Others know a variable by its name.
    pub(crate) fn set_visible(&self, variable: Value<'m>) {
        // SAFETY: a variable of the module, which this checks.
        unsafe {
            assert!(!LLVMIsAGlobalVariable(variable.raw).is_null());
            LLVMSetLinkage(variable.raw, LLVMLinkage::LLVMExternalLinkage);
        }
    }

    /// Nobody else's function or variable takes the place of this one, which others see.
    pub(crate) fn set_protected(&self, symbol: Value<'m>) {
        // SAFETY: a function or variable of the module, which this checks.
        unsafe {
            assert!(!LLVMIsAGlobalValue(symbol.raw).is_null());
            LLVMSetVisibility(symbol.raw, LLVMVisibility::LLVMProtectedVisibility);
        }
    }

    /// A fact about the module that its target knows, which nobody else's may contradict.
    pub(crate) fn module_flag(&self, name: &str, value: u32) {
        let value = self.integer(self.int(32), value.into());
        // SAFETY: the name's length is given, and the value is a constant of the module's context.
        unsafe {
            LLVMAddModuleFlag(
                self.module.as_raw(),
                LLVMModuleFlagBehavior::LLVMModuleFlagBehaviorError,
                name.as_ptr().cast(),
                name.len(),
                LLVMValueAsMetadata(value.raw),
            );
        }
    }

    /// Numbers that a target knows of a function by a name.
    pub(crate) fn note_of_numbers(&self, function: Value<'_>, name: &str, numbers: &[u32]) {
        let number = |number: &u32| self.integer(self.int(32), (*number).into());
        // SAFETY: a function, which this checks, and constants of the module's context; the name's length is given.
        unsafe {
            assert!(!LLVMIsAFunction(function.raw).is_null());
            let mut numbers: Vec<_> = numbers
                .iter()
                .map(|it| LLVMValueAsMetadata(number(it).raw))
                .collect();
            let kind = LLVMGetMDKindIDInContext(self.context, name.as_ptr().cast(), name.len() as c_uint);
            let node = LLVMMDNodeInContext2(self.context, numbers.as_mut_ptr(), numbers.len());
            LLVMGlobalSetMetadata(function.raw, kind, node);
        }
    }

    /// A variable is somewhere else.
    pub(crate) fn leave_open(&self, variable: Value<'m>) {
        self.set_visible(variable);
        // SAFETY: as above.
        unsafe { LLVMSetInitializer(variable.raw, std::ptr::null_mut()) };
    }
}

/// Bytes of an address that is kept in a variable.
const ADDRESS: u64 = 8;

/// Control.
impl<'m> Builder<'m> {
    /// A new block at the end of the function that is written.
    pub(crate) fn block(&self, function: Value<'m>, name: &str) -> Block<'m> {
        let name = CString::new(name).unwrap_or_default();
        // SAFETY: asked of functions of the module only, which this checks.
        unsafe {
            assert!(!LLVMIsAFunction(function.raw).is_null());
            Block {
                raw: LLVMAppendBasicBlockInContext(self.context, function.raw, name.as_ptr()),
                module: PhantomData,
            }
        }
    }

    /// Writes at the end of a block from now on.
    pub(crate) fn at_end(&self, block: Block<'m>) {
        // SAFETY: a block of the module.
        unsafe { LLVMPositionBuilderAtEnd(self.raw, block.raw) }
    }

    /// Writes in front of the end of a block that has one.
    pub(crate) fn before_end(&self, block: Block<'m>) {
        // SAFETY: a block of the module, and its own terminator if it has one.
        unsafe {
            let end = LLVMGetBasicBlockTerminator(block.raw);
            match end.is_null() {
                true => LLVMPositionBuilderAtEnd(self.raw, block.raw),
                false => LLVMPositionBuilderBefore(self.raw, end),
            }
        }
    }

    /// Where it writes.
    pub(crate) fn current(&self) -> Block<'m> {
        Block {
            // SAFETY: the builder is alive; it is asked while it writes.
            raw: unsafe { LLVMGetInsertBlock(self.raw) },
            module: PhantomData,
        }
    }

    pub(crate) fn jump(&self, target: Block<'m>) {
        // SAFETY: a block of the same function.
        unsafe { LLVMBuildBr(self.raw, target.raw) };
    }

    pub(crate) fn branch(&self, condition: Value<'m>, accept: Block<'m>, reject: Block<'m>) {
        assert_eq!(condition.ty(), self.int(1));
        // SAFETY: a truth and blocks of the same function.
        unsafe { LLVMBuildCondBr(self.raw, condition.raw, accept.raw, reject.raw) };
    }

    pub(crate) fn switch(&self, selector: Value<'m>, default: Block<'m>, cases: &[(Value<'m>, Block<'m>)]) {
        assert!(selector.ty().is_integer() && selector.ty().width().is_none());
        // SAFETY: an integer, blocks of the same function, and constants of its type.
        unsafe {
            let raw = LLVMBuildSwitch(self.raw, selector.raw, default.raw, cases.len() as c_uint);
            for (value, block) in cases {
                assert!(value.is_constant() && value.ty() == selector.ty());
                LLVMAddCase(raw, value.raw, block.raw);
            }
        }
    }

    /// Returns a value for each type of a function that was made for several; see [`Builder::own_function`].
    pub(crate) fn return_all(&self, values: &[Value<'m>]) {
        let mut values: Vec<_> = values.iter().map(|value| value.raw).collect();
        // SAFETY: the builder is alive, and so are the values.
        unsafe { LLVMBuildAggregateRet(self.raw, values.as_mut_ptr(), values.len() as c_uint) };
    }

    pub(crate) fn return_void(&self) {
        // SAFETY: the builder is alive.
        unsafe { LLVMBuildRetVoid(self.raw) };
    }

    /// A value that depends on the block control came from; see [`Builder::incoming`].
    pub(crate) fn phi(&self, ty: Type<'m>) -> Value<'m> {
        // SAFETY: a type that values can have.
        self.value(unsafe { LLVMBuildPhi(self.raw, ty.raw, c"".as_ptr()) })
    }

    pub(crate) fn incoming(&self, phi: Value<'m>, value: Value<'m>, from: Block<'m>) {
        assert_eq!(phi.ty(), value.ty());
        let (mut value, mut from) = (value.raw, from.raw);
        // SAFETY: a phi, which this checks, and a value of its type.
        unsafe {
            assert!(!LLVMIsAPHINode(phi.raw).is_null());
            LLVMAddIncoming(phi.raw, &raw mut value, &raw mut from, 1);
        }
    }

    /// The type of a function.
    pub(crate) fn function_type(&self, result: Type<'m>, parameters: &[Type<'m>]) -> Type<'m> {
        let mut parameters: Vec<_> = parameters.iter().map(|ty| ty.raw).collect();
        let count = parameters.len() as c_uint;
        // SAFETY: types of the context.
        self.scalar_type(unsafe { LLVMFunctionType(result.raw, parameters.as_mut_ptr(), count, 0) })
    }

    /// Declares a function; with blocks it is defined.
    pub(crate) fn function(&self, name: &str, ty: Type<'m>) -> Value<'m> {
        assert_eq!(ty.kind(), Kind::LLVMFunctionTypeKind);
        let name = CString::new(name).unwrap_or_default();
        // SAFETY: a function type, and a module that is alive.
        self.value(unsafe { LLVMAddFunction(self.module.as_raw(), name.as_ptr(), ty.raw) })
    }

    /// A function that is somewhere else.
    pub(crate) fn declared(&self, name: &str, ty: Type<'m>) -> Value<'m> {
        self.known(name).unwrap_or_else(|| self.function(name, ty))
    }

    /// A function or variable of the module, by its name.
    pub(crate) fn known(&self, name: &str) -> Option<Value<'m>> {
        Some(self.value(self.module.global(name)?.as_raw()))
    }

    /// What a parameter is called, for people.
    pub(crate) fn name_parameter(&self, function: Value<'m>, index: u32, name: &str) {
        self.name(self.parameter(function, index), name);
    }

    /// What a value is called, for people.
    pub(crate) fn name(&self, value: Value<'m>, name: &str) {
        // SAFETY: a value, and a name whose length is given.
        unsafe { LLVMSetValueName2(value.raw, name.as_ptr().cast(), name.len()) };
    }

    pub(crate) fn parameter(&self, function: Value<'m>, index: u32) -> Value<'m> {
        // SAFETY: a function with that parameter, which this checks.
        unsafe {
            assert!(!LLVMIsAFunction(function.raw).is_null() && index < LLVMCountParams(function.raw));
            self.value(LLVMGetParam(function.raw, index))
        }
    }

    /// The module's own function of a name, whose results are a structure; `write` writes it the first time, from its
    /// parameters. It is compiled as that which is being written.
    pub(crate) fn own_function(
        &self,
        name: &str,
        results: &[Type<'m>],
        parameters: &[Type<'m>],
        write: impl FnOnce(Vec<Value<'m>>),
    ) -> (Type<'m>, Value<'m>) {
        let mut results: Vec<_> = results.iter().map(|ty| ty.raw).collect();
        let count = results.len() as c_uint;
        // SAFETY: types of the context.
        let result = unsafe { LLVMStructTypeInContext(self.context, results.as_mut_ptr(), count, 0) };
        let ty = self.function_type(self.scalar_type(result), parameters);
        if let Some(function) = self.module.global(name) {
            return (ty, self.value(function.as_raw()));
        }
        let function = self.function(name, ty);
        let back = self.current();
        // SAFETY: functions of the module; there are as many attributes as were counted.
        unsafe {
            LLVMSetLinkage(function.raw, LLVMLinkage::LLVMInternalLinkage);
            // `no-builtins` above all: a loop in here must not become a call of a C library either.
            let caller = LLVMGetBasicBlockParent(back.raw);
            let place = LLVMAttributeFunctionIndex;
            let mut attributes =
                vec![std::ptr::null_mut(); LLVMGetAttributeCountAtIndex(caller, place) as usize];
            LLVMGetAttributesAtIndex(caller, place, attributes.as_mut_ptr());
            for attribute in attributes {
                LLVMAddAttributeAtIndex(function.raw, place, attribute);
            }
        }
        self.at_end(self.block(function, "entry"));
        // SAFETY: the builder is alive; places of one function are none in another, which therefore has none.
        let place = unsafe {
            let place = LLVMGetCurrentDebugLocation2(self.raw);
            self.set_location(None);
            place
        };
        let indices = 0..parameters.len() as u32;
        write(indices.map(|index| self.parameter(function, index)).collect());
        self.at_end(back);
        // SAFETY: a location in this function, or none, as before.
        unsafe { self.set_location((!place.is_null()).then_some(place)) };
        (ty, function)
    }

    /// One of the values of a structure.
    pub(crate) fn member(&self, structure: Value<'m>, index: u32) -> Value<'m> {
        let ty = structure.ty();
        assert!(ty.kind() == Kind::LLVMStructTypeKind);
        // SAFETY: a structure, which has that member, as is checked.
        unsafe {
            assert!(index < LLVMCountStructElementTypes(ty.raw));
            self.value(LLVMBuildExtractValue(
                self.raw,
                structure.raw,
                index,
                c"".as_ptr(),
            ))
        }
    }

    /// The address of constant words.
    pub(crate) fn table(&self, words: &[u64]) -> Value<'m> {
        let word = self.int(64);
        let words = words.iter().map(|value| self.integer(word, *value).raw);
        let mut words: Vec<_> = words.collect();
        let count = words.len() as u64;
        // SAFETY: constants of one type, for a variable of the module of the type that an array of them has.
        unsafe {
            let content = LLVMConstArray2(word.raw, words.as_mut_ptr(), count);
            let table = LLVMAddGlobal(self.module.as_raw(), LLVMTypeOf(content), c"".as_ptr());
            LLVMSetInitializer(table, content);
            LLVMSetGlobalConstant(table, 1);
            LLVMSetLinkage(table, LLVMLinkage::LLVMPrivateLinkage);
            // Only the content counts, so that LLVM makes one of tables that are alike.
            LLVMSetUnnamedAddress(table, LLVMUnnamedAddr::LLVMGlobalUnnamedAddr);
            LLVMSetAlignment(table, 8);
            self.value(table)
        }
    }

    /// The function that is written.
    pub(crate) fn current_function(&self) -> Value<'m> {
        // SAFETY: blocks that are written are in functions.
        self.value(unsafe { LLVMGetBasicBlockParent(self.current().raw) })
    }

    /// Calls a function, or what is behind a pointer.
    pub(crate) fn call(&self, ty: Type<'m>, function: Value<'m>, arguments: &[Value<'m>]) -> Value<'m> {
        assert!(ty.kind() == Kind::LLVMFunctionTypeKind && function.ty() == self.pointer());
        // SAFETY: a function type, and a pointer, which leads to such a function: that is up to the caller, as above.
        unsafe { self.call_raw(ty.raw, function.raw, arguments) }
    }

    /// A call does nothing but compute its result.
    pub(crate) fn set_pure(&self, call: Value<'m>) {
        // `memory(none)` is the one of these with a value, which is zero.
        for name in ["memory", "nounwind", "willreturn"] {
            // SAFETY: a call, as is checked; the name's length is given.
            unsafe {
                assert!(!LLVMIsACallInst(call.raw).is_null());
                let kind = LLVMGetEnumAttributeKindForName(name.as_ptr().cast(), name.len());
                let attribute = LLVMCreateEnumAttribute(self.context, kind, 0);
                LLVMAddCallSiteAttribute(call.raw, LLVMAttributeFunctionIndex, attribute);
            }
        }
    }
}

impl Drop for Builder<'_> {
    fn drop(&mut self) {
        // SAFETY: the builder is ours.
        unsafe { LLVMDisposeBuilder(self.raw) }
    }
}
