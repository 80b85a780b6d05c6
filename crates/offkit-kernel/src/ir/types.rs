//! The types of a module, with their layout in memory and as values.

use std::collections::HashMap;

use offkit_spirv::grammar::StorageClass;

use super::text::described;
use crate::builtins::Scalar;

/// A type of a module: an index into its [`Types`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TypeId(pub u32);

described! {
    /// What a type is made of.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub enum Type {
        /// No value at all.
        Void = "void",
        /// One number or truth.
        Scalar(scalar: Scalar) = "scalar",
        /// Up to 16 of them.
        Vector {
            /// Of what.
            component: Scalar,
            /// How many.
            count: u32,
        } = "vector",
        /// Elements of one type.
        Array {
            /// Of which.
            element: TypeId,
            /// How many.
            count: u64,
        } = "array",
        /// Members of any types.
        Struct {
            /// Their types.
            members: Vec<TypeId>,
            /// Nothing is between them.
            packed: bool = "packed",
        } = "struct",
        /// An address.
        Pointer {
            /// In which memory.
            class: StorageClass,
            /// Of what; the only type that may come later than this one.
            pointee: TypeId,
        } = "pointer",
        /// An event: a word that nobody reads, since copies are done when they are asked for.
        Event = "event",
        /// Declared by the module, but no value of it may exist here.
        Opaque = "opaque",
    }
}

/// Size and shape of a type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    /// Bytes from one element of an array to the next.
    pub size: u64,
    /// In bytes, a power of two.
    pub align: u64,
    /// Words of a value.
    pub lanes: u64,
    /// How many composites are inside each other.
    depth: u32,
}

/// The layout of what has no values.
const NOTHING: Layout = Layout {
    size: 0,
    align: 1,
    lanes: 0,
    depth: 0,
};

/// One scalar inside a value: where it is in memory, and how wide.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Leaf {
    /// Bytes from the start of the value.
    pub offset: u64,
    /// What it is.
    pub scalar: Scalar,
}

/// Values of more words than this are refused; variables in memory may be larger.
pub const LARGEST_VALUE: u64 = 1 << 16;

/// Types are nested in each other at most so deep.
const DEEPEST_TYPE: u32 = 128;

/// All types of a module.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Types {
    types: Vec<(Type, Layout)>,
    /// The first of each scalar and vector type, by component and count; scalars have none.
    simple: HashMap<(Scalar, u32), TypeId>,
}

/// Bytes of one scalar in memory.
pub fn scalar_size(scalar: Scalar) -> u64 {
    match scalar {
        Scalar::Bool | Scalar::I8 => 1,
        Scalar::I16 | Scalar::F16 => 2,
        Scalar::I32 | Scalar::F32 => 4,
        Scalar::I64 | Scalar::F64 => 8,
    }
}

impl Types {
    /// Appends a type. `None` when it refers to a type that isn't there yet (other than as a pointee)
    /// its size is beyond 64 bits, or it is a vector of no or of more than 16
    /// components.
    pub fn push(&mut self, kind: Type) -> Option<TypeId> {
        // What looks into types calls itself for what is inside: how deep is not for a file to choose.
        let layout = self
            .layout_of(&kind)
            .filter(|layout| layout.depth <= DEEPEST_TYPE)?;
        let id = TypeId(u32::try_from(self.types.len()).ok()?);
        match kind {
            Type::Scalar(scalar) => _ = self.simple.entry((scalar, 0)).or_insert(id),
            Type::Vector { component, count } => _ = self.simple.entry((component, count)).or_insert(id),
            _ => {}
        }
        self.types.push((kind, layout));
        Some(id)
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.types.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.types.is_empty()
    }

    /// Each type in turn.
    pub fn iter(&self) -> impl Iterator<Item = &Type> {
        self.types.iter().map(|(kind, _)| kind)
    }

    /// Whether this is the first type of its kind, which it is found by, if it is a scalar or vector.
    pub(super) fn is_first(&self, id: TypeId) -> bool {
        match *self.get(id) {
            Type::Scalar(scalar) => self.find_scalar(scalar) == Some(id),
            Type::Vector { component, count } => self.find_vector(component, count) == Some(id),
            _ => false,
        }
    }

    /// The scalar or vector type, which is added if it isn't there.
    pub(crate) fn find_or_push(&mut self, kind: Type) -> Option<TypeId> {
        let found = match kind {
            Type::Scalar(scalar) => self.find_scalar(scalar),
            Type::Vector { component, count } => self.find_vector(component, count),
            _ => None,
        };
        found.or_else(|| self.push(kind))
    }

    /// A scalar type, if the module has it.
    pub fn find_scalar(&self, scalar: Scalar) -> Option<TypeId> {
        self.simple.get(&(scalar, 0)).copied()
    }

    /// A vector type, if the module has it.
    pub fn find_vector(&self, component: Scalar, count: u32) -> Option<TypeId> {
        self.simple.get(&(component, count)).copied()
    }

    fn layout_of(&self, kind: &Type) -> Option<Layout> {
        let plain = |size| Layout {
            size,
            align: size,
            lanes: 1,
            depth: 0,
        };
        Some(match kind {
            Type::Void | Type::Opaque => NOTHING,
            Type::Scalar(scalar) => plain(scalar_size(*scalar)),
            Type::Vector { count: 0 | 17.., .. } => return None,
            Type::Vector { component, count } => {
                let count = u64::from(*count);
                // Three components take the room of four.
                let size = scalar_size(*component)
                    .checked_mul(count)?
                    .checked_next_power_of_two()?;
                Layout {
                    size,
                    align: size,
                    lanes: count,
                    depth: 0,
                }
            }
            Type::Array { element, count } => {
                let element = self.try_layout(*element)?;
                Layout {
                    size: element.size.checked_mul(*count)?,
                    align: element.align,
                    lanes: element.lanes.checked_mul(*count)?,
                    // Not beyond 129: deeper elements were not let in.
                    depth: element.depth + 1,
                }
            }
            Type::Struct { members, packed } => {
                let mut whole = NOTHING;
                for member in members {
                    let layout = self.try_layout(*member)?;
                    let align = if *packed { 1 } else { layout.align };
                    whole.size = whole
                        .size
                        .checked_next_multiple_of(align)?
                        .checked_add(layout.size)?;
                    whole.align = whole.align.max(align);
                    whole.lanes = whole.lanes.checked_add(layout.lanes)?;
                    whole.depth = whole.depth.max(layout.depth + 1);
                }
                whole.size = whole.size.checked_next_multiple_of(whole.align)?;
                whole
            }
            // In every storage class: the only addressing model is Physical64.
            Type::Pointer { .. } | Type::Event => plain(8),
        })
    }

    fn try_layout(&self, id: TypeId) -> Option<Layout> {
        self.types.get(id.0 as usize).map(|(_, layout)| *layout)
    }

    /// What the type is made of; a type that isn't there is opaque.
    pub fn get(&self, id: TypeId) -> &Type {
        // Pointees may come later than their pointers. So numbers that lead nowhere are usual while
        // a module is read, and only `verify` refuses them.
        self.types
            .get(id.0 as usize)
            .map_or(&Type::Opaque, |(kind, _)| kind)
    }

    /// Its size and shape.
    pub fn layout(&self, id: TypeId) -> Layout {
        self.try_layout(id).unwrap_or(NOTHING)
    }

    /// Words of a value of the type; at most [`LARGEST_VALUE`] for values that the verifier accepts.
    pub fn lanes(&self, id: TypeId) -> u32 {
        u32::try_from(self.layout(id).lanes).unwrap_or(u32::MAX)
    }

    /// The scalar of a scalar or vector type; an address is a 64-bit integer.
    pub fn scalar(&self, id: TypeId) -> Option<Scalar> {
        match self.get(id) {
            Type::Scalar(scalar)
            | Type::Vector {
                component: scalar, ..
            } => Some(*scalar),
            Type::Pointer { .. } | Type::Event => Some(Scalar::I64),
            _ => None,
        }
    }

    /// Whether it is a pointer.
    pub fn is_pointer(&self, id: TypeId) -> bool {
        matches!(self.get(id), Type::Pointer { .. })
    }

    /// The type of a struct's or array's part, its first byte, and the first of its words.
    pub fn part(&self, id: TypeId, index: u64) -> Option<(TypeId, u64, u64)> {
        match self.get(id) {
            Type::Array { element, count } => {
                let layout = self.layout(*element);
                let inside = index < *count;
                // Inside, both products are smaller than those that `layout_of` has found to fit.
                inside.then(|| (*element, layout.size * index, layout.lanes * index))
            }
            Type::Struct { members, packed } => {
                self.members(members, *packed).nth(usize::try_from(index).ok()?)
            }
            _ => None,
        }
    }

    /// The type of each member of a struct, its first byte, and the first of its words.
    fn members<'t>(
        &'t self,
        members: &'t [TypeId],
        packed: bool,
    ) -> impl Iterator<Item = (TypeId, u64, u64)> + 't {
        // Unchecked sums, which `layout_of` has made once with checks before it let the struct in.
        let (mut offset, mut lane) = (0, 0);
        members.iter().map(move |member| {
            let layout = self.layout(*member);
            let start = u64::next_multiple_of(offset, if packed { 1 } else { layout.align });
            let part = (*member, start, lane);
            offset = start + layout.size;
            lane += layout.lanes;
            part
        })
    }

    /// Every scalar of a value of the type, in the order of its words.
    pub fn leaves(&self, id: TypeId) -> Vec<Leaf> {
        let mut leaves = Vec::new();
        if self.layout(id).lanes <= LARGEST_VALUE {
            self.collect_leaves(id, 0, &mut leaves);
        }
        leaves
    }

    /// As [`Types::leaves`], for constants, which may be larger than other values.
    pub fn all_leaves(&self, id: TypeId) -> Vec<Leaf> {
        let mut leaves = Vec::new();
        self.collect_leaves(id, 0, &mut leaves);
        leaves
    }

    fn collect_leaves(&self, id: TypeId, offset: u64, leaves: &mut Vec<Leaf>) {
        // An array of nothing may have any length, and structs of it twice as many parts at each level.
        if self.layout(id).lanes == 0 {
            return;
        }
        match self.get(id) {
            Type::Void | Type::Opaque => {}
            Type::Scalar(scalar) => leaves.push(Leaf {
                offset,
                scalar: *scalar,
            }),
            Type::Pointer { .. } | Type::Event => leaves.push(Leaf {
                offset,
                scalar: Scalar::I64,
            }),
            Type::Vector { component, count } => {
                let size = scalar_size(*component);
                let lanes = (0..u64::from(*count)).map(|lane| offset + lane * size);
                leaves.extend(lanes.map(|offset| Leaf {
                    offset,
                    scalar: *component,
                }));
            }
            Type::Array { element, count } => {
                let size = self.layout(*element).size;
                for index in 0..*count {
                    self.collect_leaves(*element, offset + index * size, leaves);
                }
            }
            Type::Struct { members, packed } => {
                for (member, start, _) in self.members(members, *packed) {
                    self.collect_leaves(member, offset + start, leaves);
                }
            }
        }
    }
}
