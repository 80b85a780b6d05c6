//! Numbers, names and the numbers of things, as text.

use std::collections::HashMap;
use std::str::FromStr;

use offkit_spirv::grammar::{BuiltIn, FPRoundingMode, Op, OpenclStd100Op, Scope, StorageClass};

use super::{Input, Text, TextError, Writer};
use crate::builtins::Scalar;
use crate::builtins::convert::{Conversion, from_f64, to_f64};
use crate::ir::{
    BlockId, Constant, ConstantId, FileId, FunctionId, GlobalId, Operand, ScopeListId, Type, TypeId, ValueId,
};

type Result<T> = std::result::Result<T, TextError>;

/// The number of something else.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::ir) enum Reference {
    Type(u32),
    Constant(u32),
    Global(u32),
    Function(u32),
    Value(u32),
    Block(u32),
    File(u32),
    ScopeList(u32),
}

/// What stands before the number of something.
macro_rules! numbered {
    ($($kind:ident $reference:ident $sigil:literal $what:literal;)*) => {$(
        impl Text for $kind {
            fn write(&self, out: &mut Writer<'_>) {
                out.word(format_args!("{}{}", $sigil, self.0));
            }

            fn read(input: &mut Input<'_>) -> Result<Self> {
                input.parse($what, |word, _| Some($kind(word.strip_prefix($sigil)?.parse().ok()?)))
            }

            fn visit(&self, visitor: &mut dyn FnMut(Reference)) {
                visitor(Reference::$reference(self.0));
            }
        }
    )*};
}

numbered! {
    ValueId Value '%' "a value, as in %5";
    ConstantId Constant '$' "a constant, as in $5";
    GlobalId Global '&' "a variable, as in &5";
    FunctionId Function '@' "a function, as in @5";
    BlockId Block '^' "a block, as in ^5";
    FileId File '!' "a file, as in !5";
    ScopeListId ScopeList '*' "a list of alias scopes, as in *5";
}

/// Types with names of their own.
macro_rules! named {
    ($($kind:ident $what:literal;)*) => {$(
        impl Text for $kind {
            fn write(&self, out: &mut Writer<'_>) {
                out.word(self);
            }

            fn read(input: &mut Input<'_>) -> Result<Self> {
                input.parse($what, |word, _| $kind::from_name(word))
            }
        }
    )*};
}

named! {
    BuiltIn "a built-in variable of SPIR-V";
    FPRoundingMode "a rounding mode, as in RTE";
    Op "an opcode of SPIR-V, without Op";
    OpenclStd100Op "an instruction of OpenCL.std";
    Scope "a scope, as in Workgroup";
    StorageClass "a storage class, as in Function";
    Scalar "a scalar, as in i32";
    Conversion "a conversion";
}

macro_rules! numbers {
    ($($kind:ident)*) => {$(
        impl Text for $kind {
            fn write(&self, out: &mut Writer<'_>) {
                out.word(self);
            }

            fn read(input: &mut Input<'_>) -> Result<Self> {
                input.parse("a number", |word, _| $kind::from_str(word).ok())
            }
        }
    )*};
}

numbers!(u32 u64);

/// Its label says it all.
impl Text for bool {
    fn write(&self, _: &mut Writer<'_>) {}

    fn read(_: &mut Input<'_>) -> Result<Self> {
        Ok(true)
    }
}

impl Text for String {
    fn write(&self, out: &mut Writer<'_>) {
        let escaped = self
            .replace('\\', "\\\\")
            .replace('"', "\\\"")
            .replace('\n', "\\n");
        out.word(format_args!("\"{escaped}\""));
    }

    fn read(input: &mut Input<'_>) -> Result<Self> {
        input.string()
    }
}

impl<T: Text> Text for Option<T> {
    fn write(&self, out: &mut Writer<'_>) {
        match self {
            Some(value) => value.write(out),
            None => out.word("none"),
        }
    }

    fn read(input: &mut Input<'_>) -> Result<Self> {
        if input.take("none") {
            Ok(None)
        } else {
            T::read(input).map(Some)
        }
    }

    fn visit(&self, visitor: &mut dyn FnMut(Reference)) {
        self.iter().for_each(|value| value.visit(visitor));
    }
}

impl<T: Text> Text for Vec<T> {
    fn write(&self, out: &mut Writer<'_>) {
        out.open('[');
        self.iter().for_each(|value| value.write(out));
        out.close(']');
    }

    fn read(input: &mut Input<'_>) -> Result<Self> {
        input.bracket('[')?;
        input.until(']', T::read)
    }

    fn visit(&self, visitor: &mut dyn FnMut(Reference)) {
        self.iter().for_each(|value| value.visit(visitor));
    }
}

impl<A: Text, B: Text> Text for (A, B) {
    fn write(&self, out: &mut Writer<'_>) {
        self.0.write(out);
        self.1.write(out);
    }

    fn read(input: &mut Input<'_>) -> Result<Self> {
        Ok((A::read(input)?, B::read(input)?))
    }

    fn visit(&self, visitor: &mut dyn FnMut(Reference)) {
        self.0.visit(visitor);
        self.1.visit(visitor);
    }
}

impl Text for [u64; 3] {
    fn write(&self, out: &mut Writer<'_>) {
        self.iter().for_each(|number| number.write(out));
    }

    fn read(input: &mut Input<'_>) -> Result<Self> {
        Ok([u64::read(input)?, u64::read(input)?, u64::read(input)?])
    }
}

/// The first scalar or vector of its kind goes by that, as in `i32` and `f32x4`; other types by their numbers.
impl Text for TypeId {
    fn write(&self, out: &mut Writer<'_>) {
        let types = &out.module.types;
        // A module may declare a type twice, and by its name the second one would be read as the
        // first.
        match (out.names_types && types.is_first(*self), types.get(*self)) {
            (true, Type::Scalar(scalar)) => out.word(scalar),
            (true, Type::Vector { component, count }) => out.word(format_args!("{component}x{count}")),
            _ => out.word(format_args!("#{}", self.0)),
        }
    }

    fn read(input: &mut Input<'_>) -> Result<Self> {
        input.parse("a type, as in i32, f32x4 or #5", |word, input| {
            if let Some(number) = word.strip_prefix('#') {
                return number.parse().ok().map(TypeId);
            }
            let types = &mut input.module.types;
            match word.split_once('x') {
                None => types.find_or_push(Type::Scalar(Scalar::from_name(word)?)),
                Some((component, count)) => types.find_or_push(Type::Vector {
                    component: Scalar::from_name(component)?,
                    count: count.parse().ok()?,
                }),
            }
        })
    }

    fn visit(&self, visitor: &mut dyn FnMut(Reference)) {
        visitor(Reference::Type(self.0));
    }
}

/// The constants that are written as their values: the first of each scalar.
pub(in crate::ir) fn inline_constants(
    types: &crate::ir::Types,
    constants: &[Constant],
) -> HashMap<(TypeId, u64), ConstantId> {
    let mut inline = HashMap::new();
    for (index, constant) in constants.iter().enumerate() {
        if let Some(key) = inline_key(types, constant) {
            inline.entry(key).or_insert(ConstantId(index as u32));
        }
    }
    inline
}

pub(super) fn inline_key(types: &crate::ir::Types, constant: &Constant) -> Option<(TypeId, u64)> {
    let is_plain = constant.relocations.is_empty()
        && matches!(types.get(constant.kind), Type::Scalar(_))
        && types.is_first(constant.kind);
    match constant.words.as_slice() {
        [word] if is_plain => Some((constant.kind, *word)),
        _ => None,
    }
}

/// `%5`, `$5`, or a scalar as in `i32:5`, `f32:2.5` and `f32:0x7fc00000`.
impl Text for Operand {
    fn write(&self, out: &mut Writer<'_>) {
        let constant = match self {
            Operand::Value(value) => return value.write(out),
            Operand::Constant(constant) => *constant,
        };
        let module = out.module;
        let key = module.constants.get(constant.0 as usize);
        let key = key.and_then(|constant| inline_key(&module.types, constant));
        match key.filter(|key| out.inline.get(key) == Some(&constant)) {
            Some((kind, word)) => {
                let scalar = module.types.scalar(kind).unwrap_or(Scalar::I64);
                out.word(format_args!("{scalar}:{}", number(scalar, word)));
            }
            None => constant.write(out),
        }
    }

    fn read(input: &mut Input<'_>) -> Result<Self> {
        input.parse("an operand, as in %5, $5 or i32:5", |word, input| {
            if let Some(number) = word.strip_prefix('%') {
                return number.parse().ok().map(|id| Operand::Value(ValueId(id)));
            }
            if let Some(number) = word.strip_prefix('$') {
                return number.parse().ok().map(|id| Operand::Constant(ConstantId(id)));
            }
            let (scalar, value) = word.split_once(':')?;
            let scalar = Scalar::from_name(scalar)?;
            let word = word_of(scalar, value)?;
            let kind = input.module.types.find_or_push(Type::Scalar(scalar))?;
            let next = ConstantId(u32::try_from(input.module.constants.len()).ok()?);
            let constant = *input.inline.entry((kind, word)).or_insert(next);
            if constant == next {
                input.module.constants.push(Constant::plain(kind, vec![word]));
            }
            Some(Operand::Constant(constant))
        })
    }

    fn visit(&self, visitor: &mut dyn FnMut(Reference)) {
        match self {
            Operand::Value(value) => value.visit(visitor),
            Operand::Constant(constant) => constant.visit(visitor),
        }
    }
}

/// A word as a number of its type; what decimals can't say as bits.
fn number(scalar: Scalar, word: u64) -> String {
    let decimal = format!("{:?}", to_f64(scalar, word));
    match scalar.is_float() {
        true if word_of(scalar, &decimal) == Some(word) => decimal,
        true => format!("{word:#x}"),
        false => word.to_string(),
    }
}

fn word_of(scalar: Scalar, number: &str) -> Option<u64> {
    let bits = match number.strip_prefix("0x") {
        Some(bits) => u64::from_str_radix(bits, 16).ok()?,
        None if scalar.is_float() => {
            let value = number.parse::<f64>().ok().filter(|value| value.is_finite())?;
            from_f64(scalar, value, FPRoundingMode::RTE)
        }
        None => number.parse().ok()?,
    };
    // Every word has zeros above the width of its type: `i8:300` is an error, and not 44.
    (bits == crate::builtins::truncate(scalar, bits)).then_some(bits)
}
