//! Types: how large they are in memory, and what to call them.

use std::cell::RefCell;
use std::collections::HashMap;

use crate::dr::{Instruction, Operand};
use crate::grammar::{AddressingModel, Decoration, Op, StorageClass};

use crate::index::Index;

/// How deep types are followed. Real ones nest a dozen levels; hostile ones contain themselves.
const MAX_DEPTH: u32 = 64;

/// How long a description may become before it is cut off.
const MAX_DESCRIPTION: usize = 400;

/// The space a value takes in memory, in bytes, by the rules of OpenCL C.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Layout {
    /// Size in bytes, padding included: a vector of three takes the space of four.
    pub size: u64,
    /// Alignment in bytes; a power of two.
    pub alignment: u64,
}

impl Layout {
    /// A value that is aligned to its own size.
    fn natural(size: u64) -> Option<Self> {
        size.is_power_of_two().then_some(Self {
            size,
            alignment: size,
        })
    }
}

/// A type as far as memory is concerned.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Type {
    /// Readable form: `i32`, `f32x4`, `i8[16]`, `global f32*`, `struct S {i32, f32}`. Integers carry no sign in
    /// SPIR-V for kernels.
    pub name: String,
    /// Size and alignment; none for what has no size, such as images and functions.
    pub layout: Option<Layout>,
}

/// A numeric type of one component.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Scalar {
    /// An integer. Compilers for kernels write every integer as unsigned, so the type says nothing of the sign.
    Int {
        /// Width in bits.
        width: u32,
    },
    /// An IEEE 754 number.
    Float {
        /// Width in bits.
        width: u32,
    },
}

impl std::fmt::Display for Scalar {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Int { width } => write!(f, "i{width}"),
            Self::Float { width } => write!(f, "f{width}"),
        }
    }
}

/// The types of one module.
pub(crate) struct Types<'a, 'm> {
    index: &'a Index<'m>,
    pointer_size: u64,
    /// Layouts found so far: without it, a type built of two of the type before, and so on, takes forever.
    layouts: RefCell<HashMap<u32, Option<Layout>>>,
}

impl<'a, 'm> Types<'a, 'm> {
    pub(crate) fn new(index: &'a Index<'m>) -> Self {
        let model = index.module().memory_model.as_ref();
        let pointer_size = match model.and_then(|model| model.operands.first()) {
            Some(Operand::AddressingModel(AddressingModel::Physical32)) => 4,
            _ => 8,
        };
        Self {
            index,
            pointer_size,
            layouts: RefCell::default(),
        }
    }

    /// Size of a pointer, and of a handle such as an image, in bytes.
    pub(crate) fn pointer_size(&self) -> u64 {
        self.pointer_size
    }

    pub(crate) fn get(&self, id: u32) -> Type {
        Type {
            name: self.describe(id),
            layout: self.layout(id),
        }
    }

    /// The scalar type `id`, if it is one.
    pub(crate) fn scalar(&self, id: u32) -> Option<Scalar> {
        let instruction = self.index.global(id)?;
        match (instruction.opcode, instruction.operands.as_slice()) {
            (Op::TypeInt, [Operand::LiteralBit32(width), ..]) => Some(Scalar::Int { width: *width }),
            (Op::TypeFloat, [Operand::LiteralBit32(width), ..]) => Some(Scalar::Float { width: *width }),
            _ => None,
        }
    }

    /// The storage class and pointee of a pointer type.
    pub(crate) fn pointer(&self, id: u32) -> Option<(StorageClass, u32)> {
        let instruction = self.index.global(id)?;
        match (instruction.opcode, instruction.operands.as_slice()) {
            (Op::TypePointer, [Operand::StorageClass(storage), Operand::IdRef(pointee)]) => {
                Some((*storage, *pointee))
            }
            _ => None,
        }
    }

    pub(crate) fn layout(&self, id: u32) -> Option<Layout> {
        self.layout_within(id, MAX_DEPTH)
    }

    fn layout_within(&self, id: u32, depth: u32) -> Option<Layout> {
        if let Some(known) = self.layouts.borrow().get(&id) {
            return *known;
        }
        let depth = depth.checked_sub(1)?;
        let layout = self
            .index
            .global(id)
            .and_then(|i| self.compute_layout(id, i, depth));
        // Also what is too deep, for good: asked again from nearer by it might have a layout, and
        // real types never come to that.
        self.layouts.borrow_mut().insert(id, layout);
        layout
    }

    fn compute_layout(&self, id: u32, instruction: &Instruction, depth: u32) -> Option<Layout> {
        match (instruction.opcode, instruction.operands.as_slice()) {
            (Op::TypeBool, _) => Layout::natural(1),
            (Op::TypeInt | Op::TypeFloat, [Operand::LiteralBit32(width), ..]) => {
                // LLVM gives an integer of 24 bits the room of 32, too.
                Layout::natural(u64::from(width.div_ceil(8)).next_power_of_two())
            }
            (Op::TypePointer | Op::TypeUntypedPointerKHR, _) => Layout::natural(self.pointer_size),
            (Op::TypeVector, [Operand::IdRef(component), Operand::LiteralBit32(count)]) => {
                let component = self.layout_within(*component, depth)?;
                Layout::natural(
                    component
                        .size
                        .checked_mul(u64::from(*count).next_power_of_two())?,
                )
            }
            (Op::TypeArray, [Operand::IdRef(element), Operand::IdRef(length)]) => {
                let element = self.layout_within(*element, depth)?;
                Some(Layout {
                    size: element.size.checked_mul(self.index.constant(*length)?)?,
                    alignment: element.alignment,
                })
            }
            (Op::TypeStruct, members) => {
                let packed = self.index.decoration(id, Decoration::CPacked).is_some();
                self.struct_layout(members, packed, depth)
            }
            _ => None,
        }
    }

    fn struct_layout(&self, members: &[Operand], packed: bool, depth: u32) -> Option<Layout> {
        let mut size = 0u64;
        let mut alignment = 1;
        for member in members.iter().filter_map(Operand::id_ref_any) {
            let member = self.layout_within(member, depth)?;
            if !packed {
                size = size.checked_next_multiple_of(member.alignment)?;
                alignment = alignment.max(member.alignment);
            }
            size = size.checked_add(member.size)?;
        }
        Some(Layout {
            size: size.checked_next_multiple_of(alignment)?,
            alignment,
        })
    }

    /// The members of a structure, each with its offset in bytes.
    pub(crate) fn members(&self, id: u32) -> Option<Vec<(u64, u32)>> {
        let structure = self.index.global(id).filter(|i| i.opcode == Op::TypeStruct)?;
        let packed = self.index.decoration(id, Decoration::CPacked).is_some();
        let mut end = 0u64;
        let members = structure.operands.iter().filter_map(Operand::id_ref_any);
        let places = members.map(|member| {
            let layout = self.layout(member)?;
            let alignment = if packed { 1 } else { layout.alignment };
            let offset = end.checked_next_multiple_of(alignment)?;
            end = offset.checked_add(layout.size)?;
            Some((offset, member))
        });
        places.collect()
    }

    /// A readable form of type `id`, of bounded length.
    pub(crate) fn describe(&self, id: u32) -> String {
        let mut text = String::new();
        self.write(id, MAX_DEPTH, &mut text);
        if text.len() > MAX_DESCRIPTION {
            text = text.chars().take(MAX_DESCRIPTION).collect();
            text.push('…');
        }
        text
    }

    fn write(&self, id: u32, depth: u32, text: &mut String) {
        let (Some(instruction), Some(depth)) = (self.index.global(id), depth.checked_sub(1)) else {
            text.push('?');
            return;
        };
        // At every step, and not at the end alone: a type of two of the type before, and so on, is
        // short to declare and endless to tell.
        if text.len() > MAX_DESCRIPTION {
            return;
        }
        match (instruction.opcode, instruction.operands.as_slice()) {
            (Op::TypeVoid, _) => text.push_str("void"),
            (Op::TypeBool, _) => text.push_str("bool"),
            (Op::TypeInt, [Operand::LiteralBit32(width), ..]) => text.push_str(&format!("i{width}")),
            (Op::TypeFloat, [Operand::LiteralBit32(width), ..]) => text.push_str(&format!("f{width}")),
            (Op::TypeVector, [Operand::IdRef(component), Operand::LiteralBit32(count)]) => {
                self.write(*component, depth, text);
                text.push_str(&format!("x{count}"));
            }
            (Op::TypeArray, [Operand::IdRef(element), Operand::IdRef(length)]) => {
                self.write(*element, depth, text);
                match self.index.constant(*length) {
                    Some(length) => text.push_str(&format!("[{length}]")),
                    None => text.push_str("[?]"),
                }
            }
            (Op::TypeRuntimeArray, [Operand::IdRef(element)]) => {
                self.write(*element, depth, text);
                text.push_str("[]");
            }
            (Op::TypePointer, [Operand::StorageClass(storage), Operand::IdRef(pointee)]) => {
                text.push_str(address_space(*storage));
                text.push(' ');
                self.write_pointee(*pointee, depth, text);
                text.push('*');
            }
            (Op::TypeUntypedPointerKHR, [Operand::StorageClass(storage)]) => {
                text.push_str(address_space(*storage));
                text.push_str(" void*");
            }
            (Op::TypeStruct, members) => {
                text.push_str("struct ");
                if let Some(name) = self.struct_name(id) {
                    text.push_str(name);
                    text.push(' ');
                }
                self.write_list('{', members, '}', depth, text);
            }
            (Op::TypeFunction, [Operand::IdRef(result), parameters @ ..]) => {
                self.write(*result, depth, text);
                self.write_list('(', parameters, ')', depth, text);
            }
            (op, _) => text.push_str(&format!("{op:?}").trim_start_matches("Type").to_lowercase()),
        }
    }

    /// What a pointer points to: a struct by its name alone, which also ends types that contain themselves.
    fn write_pointee(&self, id: u32, depth: u32, text: &mut String) {
        let is_struct = self.index.global(id).is_some_and(|i| i.opcode == Op::TypeStruct);
        match self.struct_name(id).filter(|_| is_struct) {
            Some(name) => text.push_str(&format!("struct {name}")),
            None => self.write(id, depth, text),
        }
    }

    fn write_list(&self, open: char, ids: &[Operand], close: char, depth: u32, text: &mut String) {
        text.push(open);
        for (number, id) in ids.iter().filter_map(Operand::id_ref_any).enumerate() {
            if number > 0 {
                text.push_str(", ");
            }
            if text.len() > MAX_DESCRIPTION {
                break;
            }
            self.write(id, depth, text);
        }
        text.push(close);
    }

    /// The name of a struct in the source: LLVM calls it `struct.S`.
    fn struct_name(&self, id: u32) -> Option<&'m str> {
        self.index
            .name(id)
            .map(|name| name.strip_prefix("struct.").unwrap_or(name))
    }
}

/// The name OpenCL C has for a storage class.
pub(crate) fn address_space(storage: StorageClass) -> &'static str {
    match storage {
        StorageClass::CrossWorkgroup => "global",
        StorageClass::UniformConstant => "constant",
        StorageClass::Workgroup => "local",
        StorageClass::Function => "private",
        StorageClass::Generic => "generic",
        StorageClass::Input => "input",
        StorageClass::CodeSectionINTEL => "code",
        StorageClass::DeviceOnlyALTERA => "device",
        StorageClass::HostOnlyALTERA => "host",
        _ => "other",
    }
}
