//! The grammar of SPIR-V: what its numbers are called and what operands they take.
//!
//! Every enumeration is open: a number that the grammar does not know is a value like any other, and shows as a
//! number. The facts are in `table`, which `./dev grammar` writes from the grammar that Khronos publishes.

#[rustfmt::skip]
mod table;

pub use table::*;

/// The first word of every module.
pub const MAGIC_NUMBER: u32 = 0x0723_0203;

/// One of the 32-bit units that modules are made of.
pub type Word = u32;

/// What an operand is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    ResultType,
    Result,
    Id,
    /// A number of one word, or an enumerant that nobody asks for by name.
    Word,
    Text,
    /// A number as wide as the type of the result.
    Number,
    /// The number of an extended instruction, which says what comes behind it.
    Extended,
    /// The opcode of an instruction, which says what comes behind it.
    Operation,
    /// A number as wide as what is switched on, and an id.
    Case,
    IdAndWord,
    IdAndId,
    AccessQualifier,
    AddressingModel,
    BuiltIn,
    Capability,
    Decoration,
    Dim,
    ExecutionMode,
    ExecutionModel,
    FPRoundingMode,
    FunctionParameterAttribute,
    GroupOperation,
    LinkageType,
    MemoryModel,
    SourceLanguage,
    StorageClass,
    ImageOperands,
    LoopControl,
    MemoryAccess,
    TensorAddressingOperands,
    TensorOperands,
}

impl Kind {
    /// Whether each bit means something of its own.
    pub(crate) fn is_mask(self) -> bool {
        matches!(
            self,
            Self::ImageOperands
                | Self::LoopControl
                | Self::MemoryAccess
                | Self::TensorAddressingOperands
                | Self::TensorOperands
        )
    }
}

/// How often an operand occurs.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Slot {
    One(Kind),
    Maybe(Kind),
    Many(Kind),
}

impl Slot {
    pub(crate) fn kind(self) -> Kind {
        match self {
            Self::One(kind) | Self::Maybe(kind) | Self::Many(kind) => kind,
        }
    }
}

/// Numbers with the operands that each takes, sorted.
type Operands = [(u32, &'static [Slot])];

/// The operands of `number` by its table; none when the table does not have it.
fn find(table: &'static Operands, number: u32) -> Option<&'static [Slot]> {
    let place = table.binary_search_by_key(&number, |(number, _)| *number).ok()?;
    table.get(place).map(|(_, slots)| *slots)
}

/// The operands that follow an enumerant, which of a mask has one bit; `None` when the enumerant is not known.
pub(crate) fn parameters(kind: Kind, enumerant: u32) -> Option<&'static [Slot]> {
    match kind {
        Kind::Decoration => Decoration(enumerant).operands(),
        Kind::ExecutionMode => ExecutionMode(enumerant).operands(),
        Kind::ImageOperands => find(IMAGE_OPERANDS, enumerant),
        Kind::LoopControl => find(LOOP_CONTROL, enumerant),
        Kind::MemoryAccess => find(MEMORY_ACCESS, enumerant),
        Kind::TensorAddressingOperands => find(TENSOR_ADDRESSING_OPERANDS, enumerant),
        Kind::TensorOperands => find(TENSOR_OPERANDS, enumerant),
        _ => Some(&[]),
    }
}

/// The operands of the instructions of a set, by number; none for a number that the set does not have.
pub(crate) type InstructionSet = fn(u32) -> Option<&'static [Slot]>;

/// The set of extended instructions that modules import by this name, if it is known.
pub(crate) fn extended(set: &str) -> Option<InstructionSet> {
    const IDS: &[Slot] = &[Slot::Many(Kind::Id)];
    Some(match set {
        "OpenCL.std" => |number| OpenclStd100Op(number).operands(),
        "OpenCL.DebugInfo.100" => |number| find(OPENCL_DEBUG_INFO_100, number),
        "DebugInfo" => |number| find(DEBUG_INFO, number),
        // By the rules of these sets, all operands are ids.
        "GLSL.std.450" => |_| Some(IDS),
        _ if set.starts_with("NonSemantic.") => |_| Some(IDS),
        _ => return None,
    })
}

impl Op {
    /// Whether it ends a block.
    #[must_use]
    pub fn is_terminator(self) -> bool {
        matches!(
            self,
            Self::Branch
                | Self::BranchConditional
                | Self::Switch
                | Self::Return
                | Self::ReturnValue
                | Self::Kill
                | Self::Unreachable
                | Self::TerminateInvocation
                | Self::IgnoreIntersectionKHR
                | Self::TerminateRayKHR
                | Self::EmitMeshTasksEXT
                | Self::AbortKHR
        )
    }
}

/// Operands as the table writes them: those that must be there, (one that may), and {any number of one kind}. `Typed`
/// is a result behind its type.
macro_rules! slots {
    (Typed $($one:ident)* $(($maybe:ident))* $({$many:ident})?) => {
        slots!(ResultType Result $($one)* $(($maybe))* $({$many})?)
    };
    ($($one:ident)* $(($maybe:ident))* $({$many:ident})?) => {
        &[$(Slot::One(Kind::$one),)* $(Slot::Maybe(Kind::$maybe),)* $(Slot::Many(Kind::$many),)?]
    };
}

/// An open enumeration: a number, its names, and the operands that follow each.
macro_rules! enumeration {
    ($type:ident $($name:ident = $number:literal $([$($slots:tt)*])?;)*) => {
        #[doc = concat!("A value of SPIR-V's `", stringify!($type), "`; it shows by its name, or its number if it has none.")]
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $type(pub u32);

        #[allow(missing_docs, non_upper_case_globals, reason = "the names are SPIR-V's")]
        impl $type {
            $(pub const $name: Self = Self($number);)*
        }

        impl $type {
            /// Its name; none for a number that the grammar does not know.
            #[must_use]
            pub fn name(self) -> Option<&'static str> {
                let place = Self::KNOWN.binary_search_by_key(&self.0, |(number, ..)| *number).ok()?;
                Self::KNOWN.get(place).map(|(_, name, _)| *name)
            }

            /// The value of that name.
            #[must_use]
            pub fn from_name(name: &str) -> Option<Self> {
                let known = Self::KNOWN.iter().find(|(_, known, _)| *known == name);
                known.map(|(number, ..)| Self(*number))
            }

            /// All names that the grammar has.
            pub fn names() -> impl Iterator<Item = &'static str> {
                Self::KNOWN.iter().map(|(_, name, _)| *name)
            }

            /// The operands that follow it; none for a number that the grammar does not know.
            #[allow(dead_code, reason = "few enumerants take operands")]
            pub(crate) fn operands(self) -> Option<&'static [Slot]> {
                let place = Self::KNOWN.binary_search_by_key(&self.0, |(number, ..)| *number).ok()?;
                Self::KNOWN.get(place).map(|(.., slots)| *slots)
            }

            /// Number, name and operands, sorted.
            const KNOWN: &[(u32, &'static str, &'static [Slot])] =
                &[$(($number, stringify!($name), slots!($($($slots)*)?))),*];
        }

        impl std::fmt::Display for $type {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                match self.name() {
                    Some(name) => f.pad(name),
                    None => std::fmt::Display::fmt(&self.0, f),
                }
            }
        }

        impl std::fmt::Debug for $type {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                std::fmt::Display::fmt(self, f)
            }
        }
    };
}

/// The operands of what nobody asks for by name.
macro_rules! operands {
    ($table:ident $($number:literal $([$($slots:tt)*])?;)*) => {
        pub(super) const $table: &super::Operands = &[$(($number, slots!($($($slots)*)?))),*];
    };
}

/// A question about an opcode that the grammar answers.
macro_rules! class {
    ($name:ident $doc:literal $($op:ident)*) => {
        impl Op {
            #[doc = $doc]
            #[must_use]
            pub fn $name(self) -> bool {
                matches!(self, $(Self::$op)|*)
            }
        }
    };
}

use {class, enumeration, operands, slots};
