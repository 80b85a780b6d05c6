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

/// What the grammar knows of an enumeration, sorted by number.
///
/// There is no address in it for each name. The loader writes addresses when it loads a library, and those of names and
/// operands were 5,100 of a driver's 17,500.
struct Known {
    numbers: &'static [u32],
    /// All names, one behind the other.
    names: &'static str,
    /// All operands, likewise.
    slots: &'static [Slot],
    /// Where the name of each ends, and where its operands do.
    ends: &'static [(u16, u16)],
}

impl Known {
    fn place(&self, number: u32) -> Option<usize> {
        self.numbers.binary_search(&number).ok()
    }

    fn name(&self, place: usize) -> Option<&'static str> {
        let (start, end) = (self.start(place)?.0, self.ends.get(place)?.0);
        self.names.get(start.into()..end.into())
    }

    fn operands(&self, place: usize) -> Option<&'static [Slot]> {
        let (start, end) = (self.start(place)?.1, self.ends.get(place)?.1);
        self.slots.get(start.into()..end.into())
    }

    fn start(&self, place: usize) -> Option<(u16, u16)> {
        match place.checked_sub(1) {
            Some(before) => self.ends.get(before).copied(),
            None => Some((0, 0)),
        }
    }
}

/// A name and the operands behind it, as the table writes them.
type Entry = (&'static str, &'static [Slot]);

// These count by hand, since constant functions have no iterators.
const fn slot_count(entries: &[Entry]) -> usize {
    let (mut count, mut place) = (0, 0);
    while place < entries.len() {
        count += entries[place].1.len();
        place += 1;
    }
    count
}

/// The operands of all.
const fn all_slots<const COUNT: usize>(entries: &[Entry]) -> [Slot; COUNT] {
    let mut all = [Slot::One(Kind::Id); COUNT];
    let (mut count, mut place) = (0, 0);
    while place < entries.len() {
        let slots = entries[place].1;
        let mut index = 0;
        while index < slots.len() {
            all[count] = slots[index];
            count += 1;
            index += 1;
        }
        place += 1;
    }
    all
}

/// Where the name of each ends in all names, and where its operands do.
const fn ends<const COUNT: usize>(entries: &[Entry]) -> [(u16, u16); COUNT] {
    let mut ends = [(0, 0); COUNT];
    let (mut name, mut slots, mut place) = (0, 0, 0);
    while place < COUNT {
        name += entries[place].0.len();
        slots += entries[place].1.len();
        assert!(
            name <= u16::MAX as usize && slots <= u16::MAX as usize,
            "they are counted in 16 bits"
        );
        ends[place] = (name as u16, slots as u16);
        place += 1;
    }
    ends
}

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
    // By hand: the published grammar has one class for all control flow, with phis, merges and
    // labels.
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
                Self::KNOWN.name(Self::KNOWN.place(self.0)?)
            }

            /// The value of that name.
            #[must_use]
            pub fn from_name(name: &str) -> Option<Self> {
                let place = Self::names().position(|known| known == name)?;
                Self::KNOWN.numbers.get(place).map(|number| Self(*number))
            }

            /// All names that the grammar has.
            pub fn names() -> impl Iterator<Item = &'static str> {
                (0..Self::KNOWN.numbers.len()).filter_map(|place| Self::KNOWN.name(place))
            }

            /// The operands that follow it; none for a number that the grammar does not know.
            #[allow(dead_code, reason = "few enumerants take operands")]
            pub(crate) fn operands(self) -> Option<&'static [Slot]> {
                Self::KNOWN.operands(Self::KNOWN.place(self.0)?)
            }

            const ENTRIES: &[super::Entry] = &[$((stringify!($name), slots!($($($slots)*)?))),*];

            const KNOWN: super::Known = super::Known {
                numbers: &[$($number),*],
                names: concat!($(stringify!($name)),*),
                slots: &super::all_slots::<{ super::slot_count(Self::ENTRIES) }>(Self::ENTRIES),
                ends: &super::ends::<{ Self::ENTRIES.len() }>(Self::ENTRIES),
            };
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_number_has_its_name_and_operands() {
        for name in Op::names() {
            assert_eq!(Op::from_name(name).and_then(Op::name), Some(name));
        }
        let kinds = |op: Op| Some(op.operands()?.iter().map(|slot| slot.kind()).collect::<Vec<_>>());
        // The first, one between, and the last but for those that vendors add.
        assert_eq!((Op(0).name(), kinds(Op(0))), (Some("Nop"), Some(Vec::new())));
        let sum = vec![Kind::ResultType, Kind::Result, Kind::Id, Kind::Id];
        assert_eq!((Op(129).name(), kinds(Op(129))), (Some("FAdd"), Some(sum)));
        let last = OpenclStd100Op::u_mad_hi;
        assert_eq!(
            (last.name(), last.operands().map(<[_]>::len)),
            (Some("u_mad_hi"), Some(3))
        );
        assert_eq!((Op(0xffff).name(), kinds(Op(0xffff))), (None, None));
    }
}
