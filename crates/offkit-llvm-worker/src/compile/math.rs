//! Mathematics in LLVM's instructions: the algorithms of [`offkit_compile::math`] on values of a module.

#[cfg(test)]
mod tests;

use std::ops::{Add, BitAnd, BitOr, BitXor, Div, Mul, Neg, Not, Sub};

use llvm_sys::{
    LLVMFastMathNone, LLVMIntPredicate as IntPredicate, LLVMOpcode as Opcode,
    LLVMRealPredicate as RealPredicate,
};
use offkit_compile::math::{Format, Function, Integer, Real, has_rare_path};
use offkit_kernel::builtins::Scalar;
use offkit_spirv::grammar::OpenclStd100Op as Op;

use super::builder::{Builder, Type, Value};

/// Instructions of the processor that are not everywhere.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Processor {
    /// A product and sum that rounds once.
    pub(crate) fma: bool,
    /// AVX-512 for vectors of 128 to 512 bits (AVX512F and AVX512VL).
    pub(crate) avx512: bool,
    /// What NVIDIA's GPUs have from `sm_53` on: approximate functions of single precision, and products and sums of half
    /// precision that round once.
    pub(crate) nvidia: bool,
}

/// The results of an instruction of OpenCL.std for one component of its operands, which all have one form; `None` if
/// there is no algorithm for it. Numbers have single or double precision.
///
/// Most functions are written in line; those with a seldom path are functions of the module, so that no block is made
/// here.
pub(crate) fn extended<'m>(
    builder: &Builder<'m>,
    processor: Processor,
    op: Op,
    operands: &[Value<'m>],
) -> Option<Vec<Value<'m>>> {
    let first = operands.first()?.ty();
    let context = Context { builder, processor };
    let function = Function::of(op, first.scalar())?;
    // The algorithms count on each step being rounded as it is written: contracted or in another
    // order, what they compute of rounding errors would be nothing.
    let flags = builder.set_flags(LLVMFastMathNone);
    let results = match has_rare_path(op) {
        false => context.write(function, operands),
        true => context.call(op, function, operands),
    };
    builder.set_flags(flags);
    Some(results)
}

/// Where instructions are written, and for what processor.
#[derive(Clone, Copy)]
struct Context<'b, 'm> {
    builder: &'b Builder<'m>,
    processor: Processor,
}

impl<'b, 'm> Context<'b, 'm> {
    /// Writes a function's instructions.
    fn write(self, function: Function<Lanes<'b, 'm>>, operands: &[Value<'m>]) -> Vec<Value<'m>> {
        let lanes = |index: usize| Lanes {
            context: self,
            value: operands[index],
        };
        match function {
            Function::Unary(function) => vec![function(lanes(0)).value],
            Function::Binary(function) => vec![function(lanes(0), lanes(1)).value],
            Function::WithInteger(function) => {
                let number = lanes(0);
                let bits = number.form(self.builder.int(number.ty().bits()));
                let integer = self.builder.sext_or_trunc(operands[1], bits);
                vec![function(number, number.with(integer)).value]
            }
            Function::Pair(function) => function(lanes(0)).map(|result| result.value).to_vec(),
        }
    }

    /// Calls a function of the module that does so.
    fn call(self, op: Op, function: Function<Lanes<'b, 'm>>, operands: &[Value<'m>]) -> Vec<Value<'m>> {
        let builder = self.builder;
        let ty = operands[0].ty();
        let results = match function {
            Function::Pair(_) => vec![ty; 2],
            _ => vec![ty],
        };
        let parameters = operands.iter().map(|operand| operand.ty()).collect::<Vec<_>>();
        let width = ty.width().unwrap_or(1);
        // One for all calls of the kind, by a name that no kernel has.
        let name = format!("offkit.{op:?}.{width}x{}", ty.scalar());
        let (ty, function) = builder.own_function(&name, &results, &parameters, |parameters| {
            builder.return_all(&self.write(function, &parameters));
        });
        let all = builder.call(ty, function, operands);
        (0..results.len() as u32)
            .map(|index| builder.member(all, index))
            .collect()
    }
}

/// A value: numbers, integers or truths.
#[derive(Clone, Copy)]
struct Lanes<'b, 'm> {
    context: Context<'b, 'm>,
    value: Value<'m>,
}

impl<'b, 'm> Lanes<'b, 'm> {
    fn builder(self) -> &'b Builder<'m> {
        self.context.builder
    }

    fn with(self, value: Value<'m>) -> Self {
        Self { value, ..self }
    }

    fn ty(self) -> Type<'m> {
        self.value.ty()
    }

    /// The type of the other lanes that are as many.
    fn form(self, lane: Type<'m>) -> Type<'m> {
        lane.vector(self.ty().width())
    }

    fn binary(self, other: Self, of_integers: Opcode, of_numbers: Opcode) -> Self {
        let opcode = if self.ty().is_float() {
            of_numbers
        } else {
            of_integers
        };
        self.with(self.builder().binary(opcode, self.value, other.value))
    }

    fn shift(self, opcode: Opcode, bits: u32) -> Self {
        let bits = self.builder().integer(self.ty(), bits.into());
        self.with(self.builder().binary(opcode, self.value, bits))
    }

    fn compare(self, predicate: RealPredicate, other: Self) -> Self {
        self.with(self.builder().fcmp(predicate, self.value, other.value))
    }

    /// An instruction of AVX-512 on numbers, after which come numbers to use instead where a mask does not hold (here
    /// none), the mask and for vectors of 512 bits how to round. `operands` are those after `self`.
    ///
    /// Vectors that are longer are cut in two; `None` if there is no such instruction.
    fn avx512(self, name: &str, operands: &[Value<'m>]) -> Option<Self> {
        let (builder, ty) = (self.builder(), self.ty());
        let width = ty.width().filter(|_| self.context.processor.avx512)?;
        let bits = ty.bits() * width;
        if bits > 512 {
            let halves = |value: Value<'m>| match value.ty() == ty {
                true => builder.halves(value),
                false => [value; 2],
            };
            let [low, high] = halves(self.value);
            let (lows, highs): (Vec<_>, Vec<_>) =
                operands.iter().map(|operand| halves(*operand).into()).unzip();
            let low = self.with(low).avx512(name, &lows)?;
            let high = self.with(high).avx512(name, &highs)?;
            return Some(self.with(builder.joined([low.value, high.value])));
        }
        if !matches!(bits, 128 | 256 | 512) {
            return None;
        }
        let kind = if ty.bits() == 32 { "ps" } else { "pd" };
        let mut arguments = vec![self.value];
        arguments.extend(operands);
        arguments.push(builder.zero(ty));
        // The intrinsics of two and four lanes take a mask of eight bits as well.
        arguments.push(builder.signed(builder.int(width.max(8)), -1));
        if bits == 512 {
            // `_MM_FROUND_CUR_DIRECTION` of Intel's headers.
            const CURRENT_ROUNDING: u64 = 4;
            arguments.push(builder.integer(builder.int(32), CURRENT_ROUNDING));
        }
        let name = format!("llvm.x86.avx512.mask.{name}.{kind}.{bits}");
        Some(self.with(builder.intrinsic(&name, &[], &arguments)))
    }

    fn intrinsic(self, name: &str) -> Self {
        self.with(self.builder().intrinsic(name, &[self.ty()], &[self.value]))
    }

    fn cast(self, opcode: Opcode, lane: Type<'m>) -> Self {
        self.with(self.builder().cast(opcode, self.value, self.form(lane)))
    }

    /// A double so large that its last place is a one, so that a sum with it has an integer in its low bits.
    fn integers_begin(self) -> Self {
        let double = self.builder().scalar(Scalar::F64);
        self.with(self.builder().float(self.form(double), 1.5 * 2f64.powi(52)))
    }

    fn select(mask: Self, yes: Self, no: Self) -> Self {
        yes.with(yes.builder().select(mask.value, yes.value, no.value))
    }
}

macro_rules! operators {
    ($($operator:ident $method:ident $of_integers:ident $of_numbers:ident;)+) => {
        $(
            impl $operator for Lanes<'_, '_> {
                type Output = Self;

                fn $method(self, other: Self) -> Self {
                    self.binary(other, Opcode::$of_integers, Opcode::$of_numbers)
                }
            }
        )+
    };
}

operators! {
    Add add LLVMAdd LLVMFAdd;
    Sub sub LLVMSub LLVMFSub;
    Mul mul LLVMMul LLVMFMul;
    Div div LLVMUDiv LLVMFDiv;
    BitAnd bitand LLVMAnd LLVMAnd;
    BitOr bitor LLVMOr LLVMOr;
    BitXor bitxor LLVMXor LLVMXor;
}

impl Neg for Lanes<'_, '_> {
    type Output = Self;

    fn neg(self) -> Self {
        self.with(self.builder().fneg(self.value))
    }
}

impl Not for Lanes<'_, '_> {
    type Output = Self;

    fn not(self) -> Self {
        self.with(self.builder().not(self.value))
    }
}

impl Integer for Lanes<'_, '_> {
    type Mask = Self;

    fn constant(self, value: i64) -> Self {
        self.with(self.builder().signed(self.ty(), value))
    }

    fn left(self, bits: u32) -> Self {
        self.shift(Opcode::LLVMShl, bits)
    }

    fn right(self, bits: u32) -> Self {
        self.shift(Opcode::LLVMAShr, bits)
    }

    fn right_unsigned(self, bits: u32) -> Self {
        self.shift(Opcode::LLVMLShr, bits)
    }

    fn left_by(self, bits: Self) -> Self {
        self.binary(bits, Opcode::LLVMShl, Opcode::LLVMShl)
    }

    fn right_unsigned_by(self, bits: Self) -> Self {
        self.binary(bits, Opcode::LLVMLShr, Opcode::LLVMLShr)
    }

    fn equals(self, other: Self) -> Self {
        self.with(
            self.builder()
                .icmp(IntPredicate::LLVMIntEQ, self.value, other.value),
        )
    }

    fn select(mask: Self, yes: Self, no: Self) -> Self {
        Lanes::select(mask, yes, no)
    }

    fn lookup(self, table: &'static [u64]) -> Self {
        let (builder, width) = (self.builder(), self.ty().width());
        let table = builder.broadcast(builder.table(table), width);
        let word = builder.int(64);
        let addresses = builder.element(word, table, self.value);
        let words = match width {
            None => builder.load(word, addresses, 8),
            Some(_) => builder.gather(
                addresses,
                8,
                builder.truth(width, true),
                builder.zero(self.form(word)),
            ),
        };
        self.with(builder.zext_or_trunc(words, self.ty()))
    }
}

impl Real for Lanes<'_, '_> {
    type Mask = Self;
    type Integer = Self;
    type Wide = Self;

    fn format(self) -> Format {
        match self.ty().scalar() {
            Scalar::F32 => Format::SINGLE,
            _ => Format::DOUBLE,
        }
    }

    fn constant(self, value: f64) -> Self {
        self.with(self.builder().float(self.ty(), value))
    }

    fn fma(self, factor: Self, addend: Self) -> Self {
        if self.context.processor.fma {
            let operands = [self.value, factor.value, addend.value];
            return self.with(self.builder().intrinsic("llvm.fma", &[self.ty()], &operands));
        }
        if self.format() == Format::SINGLE {
            // A double has the product.
            // The sum is rounded twice. OpenCL's own `fma` must not be, and is `lanes`'s.
            let sum = self.widen() * factor.widen() + addend.widen();
            return self.narrow(sum);
        }
        // The product in two parts, made of halves of the factors.
        let halves = |number: Self| {
            let bits = number.bits();
            let high = Self::from_bits(bits & Integer::constant(bits, -1 << 27));
            (high, number - high)
        };
        // Dekker's product and Knuth's sum: what each rounds off is a number itself.
        let product = self * factor;
        let ((a, b), (c, d)) = (halves(self), halves(factor));
        let error = ((a * c - product) + a * d + b * c) + b * d;
        // What the sum rounds off.
        let sum = product + addend;
        let other = sum - product;
        let lost = (product - (sum - other)) + (addend - other);
        let total = sum + (lost + error);
        // Of infinities and NaN there is no error.
        let finite = Real::constant(self, f64::MAX);
        let usual = !finite.less(sum.abs()) & !finite.less(error.abs());
        <Self as Real>::select(usual, total, sum)
    }

    fn mad(self, factor: Self, addend: Self) -> Self {
        match self.context.processor.fma {
            true => self.fma(factor, addend),
            false => self * factor + addend,
        }
    }

    fn sqrt(self) -> Self {
        self.intrinsic("llvm.sqrt")
    }

    fn rint(self) -> Self {
        self.intrinsic("llvm.roundeven")
    }

    fn trunc(self) -> Self {
        self.intrinsic("llvm.trunc")
    }

    fn abs(self) -> Self {
        self.intrinsic("llvm.fabs")
    }

    fn less(self, other: Self) -> Self {
        self.compare(RealPredicate::LLVMRealOLT, other)
    }

    fn equals(self, other: Self) -> Self {
        self.compare(RealPredicate::LLVMRealOEQ, other)
    }

    fn select(mask: Self, yes: Self, no: Self) -> Self {
        Lanes::select(mask, yes, no)
    }

    fn bits(self) -> Self {
        let word = self.form(self.builder().int(self.ty().bits()));
        self.with(self.builder().bit_cast(self.value, word))
    }

    fn from_bits(bits: Self) -> Self {
        let scalar = match bits.ty().bits() {
            32 => Scalar::F32,
            _ => Scalar::F64,
        };
        let number = bits.form(bits.builder().scalar(scalar));
        bits.with(bits.builder().bit_cast(bits.value, number))
    }

    fn from_integer(value: Self) -> Self {
        if value.ty().bits() == 32 {
            return value.cast(Opcode::LLVMSIToFP, value.builder().scalar(Scalar::F32));
        }
        // Most processors have no instruction for 64 bits.
        let begin = value.integers_begin();
        Self::from_bits(value + begin.bits()) - begin
    }

    fn to_integer(self) -> Self {
        if self.ty().bits() == 32 {
            let integer = self.cast(Opcode::LLVMFPToSI, self.builder().int(32));
            // Out of range, the conversion is poison, which would spread to what is chosen instead.
            return self.with(self.builder().freeze(integer.value));
        }
        let begin = self.integers_begin();
        (self + begin).bits() - begin.bits()
    }

    fn widen(self) -> Self {
        self.cast(Opcode::LLVMFPExt, self.builder().scalar(Scalar::F64))
    }

    fn widen_integer(value: Self) -> Self {
        match value.ty().bits() {
            32 => value.cast(Opcode::LLVMSIToFP, value.builder().scalar(Scalar::F64)),
            _ => Self::from_integer(value),
        }
    }

    fn narrow(self, wide: Self) -> Self {
        wide.cast(Opcode::LLVMFPTrunc, self.ty().lane())
    }

    fn scale(self, exponent: Self) -> Self {
        self.avx512("scalef", &[exponent.value])
            .unwrap_or_else(|| Format::scale(self, exponent))
    }

    fn split(self) -> (Self, Self) {
        // From 3/4 to 3/2, and no number for negative ones.
        const KIND: u64 = 0b1011;
        let kind = self.builder().integer(self.builder().int(32), KIND);
        let of_avx512 = || {
            let significand = self.avx512("getmant", &[kind])?;
            // One too little where the significand is below one.
            let exponent = self.avx512("getexp", &[])? - significand.avx512("getexp", &[])?;
            Some((significand, exponent))
        };
        of_avx512().unwrap_or_else(|| Format::split(self))
    }

    fn rarely<const N: usize>(mask: Self, values: [Self; N], other: impl FnOnce() -> [Self; N]) -> [Self; N] {
        let builder = mask.builder();
        let (function, before) = (builder.current_function(), builder.current());
        let (seldom, after) = (
            builder.block(function, "seldom"),
            builder.block(function, "after"),
        );
        let bits = builder.mask_bits(mask.value);
        let any = builder.icmp(IntPredicate::LLVMIntNE, bits, builder.zero(bits.ty()));
        builder.branch(any, seldom, after);
        builder.at_end(seldom);
        let others = other();
        let chosen =
            std::array::from_fn::<_, N, _>(|index| Lanes::select(mask, others[index], values[index]));
        // Not the block that was made above: `other` may have a seldom path itself.
        let seldom = builder.current();
        builder.jump(after);
        builder.at_end(after);
        std::array::from_fn(|index| {
            let phi = builder.phi(values[index].ty());
            builder.incoming(phi, values[index].value, before);
            builder.incoming(phi, chosen[index].value, seldom);
            mask.with(phi)
        })
    }
}
