//! Inputs for kernels of which nothing is known but what they declare.
//!
//! Every pointer gets a buffer with room on both sides of where it points; numbers that may be sizes, strides and indices
//! are small, and get smaller from draw to draw.

use std::collections::HashMap;
use std::sync::Arc;

use offkit_kernel::builtins::Scalar;
use offkit_kernel::ir::{self, Operand, Operation, Type, TypeId, scalar_size};
use offkit_pi::NdRange;
use offkit_plugin_cpu::{AllocationKind, Argument, KernelInfo, Memory, MemoryError};
use offkit_spirv::{ParameterKind, Storage};

use crate::elements::{Place, accessed};
use crate::random::{number, pick};

/// How many draws there are.
pub(crate) const DRAWS: u64 = 14;

/// Bytes of the largest side of a buffer.
const LARGEST: u64 = 8 << 20;

/// Parts of the largest element that are told apart.
const MOST_FIELDS: usize = 4096;

/// A scalar somewhere in a value or an element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Field {
    pub(crate) offset: u64,
    /// None for a pointer.
    pub(crate) scalar: Option<Scalar>,
    /// What a pointer points to, as far as it is declared.
    pointee: TypeId,
}

/// What a value or an element of a buffer consists of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Shape {
    pub(crate) size: u64,
    pub(crate) fields: Vec<Field>,
}

/// What a kernel takes.
#[derive(Clone, Debug)]
enum Taken {
    Buffer(Shape),
    Local,
    Value(Shape),
}

/// What all kernels of a module are given.
#[derive(Clone, Debug)]
pub(crate) struct Signature {
    taken: Vec<Taken>,
    /// Pointers in values, and what they lead to.
    inner: Vec<(Place, Shape)>,
    required_local_size: Option<[u64; 3]>,
    dimensions: u32,
}

/// The bytes of a buffer before and behind the address that the kernel is given; or those of local memory.
#[derive(Clone, Copy, Debug)]
struct Room {
    before: u64,
    after: u64,
}

/// Inputs that are not made yet.
#[derive(Clone, Debug)]
pub(crate) struct Draw {
    seed: u64,
    /// From 0, the most telling; the larger, the smaller all numbers.
    level: u64,
    /// For each argument, and one for what pointers in memory lead to.
    rooms: Vec<Room>,
}

/// A buffer in device memory.
#[derive(Debug)]
pub(crate) struct Buffer {
    base: u64,
    room: Room,
    /// Which of the rooms it has.
    index: usize,
    pub(crate) shape: Shape,
    pub(crate) content: Vec<u8>,
}

/// What a kernel is launched with.
#[derive(Debug)]
pub(crate) struct Inputs {
    pub(crate) range: NdRange,
    pub(crate) arguments: Vec<Argument>,
    pub(crate) buffers: Vec<Buffer>,
    memory: Arc<Memory>,
}

impl Drop for Inputs {
    fn drop(&mut self) {
        for buffer in &self.buffers {
            _ = self.memory.free(buffer.base);
        }
    }
}

impl Signature {
    /// What a kernel takes.
    pub(crate) fn of(module: &ir::Module, kernel: usize, info: &KernelInfo) -> Signature {
        let types = &module.types;
        let function = &module.functions[module.kernels[kernel].function.0 as usize];
        // Whatever it is, it is compiled, or there would be nothing to run.
        let prepared = offkit_compile::prepare(module, kernel).unwrap_or_default();
        let accessed = accessed(&prepared);
        let element = |place, pointee| {
            let declared = Shape::of_element(module, pointee);
            let accesses = accessed.get(&place).map_or(&[][..], Vec::as_slice);
            declared.or_accessed(&prepared, accesses)
        };
        let mut inner = Vec::new();
        let taken = info.parameters.iter().zip(&function.parameters).enumerate();
        let taken = taken.map(
            |(index, (parameter, code))| match (&parameter.kind, types.get(code.kind)) {
                (
                    ParameterKind::Pointer {
                        storage: Storage::Local,
                        ..
                    },
                    _,
                ) => Taken::Local,
                (ParameterKind::Pointer { .. }, Type::Pointer { pointee, .. }) => {
                    Taken::Buffer(element((index, None), *pointee))
                }
                (_, kind) => {
                    let kind = match kind {
                        Type::Pointer { pointee, .. } => *pointee,
                        _ => code.kind,
                    };
                    let shape = Shape::of(module, kind, parameter.size);
                    let pointers = shape.fields.iter().filter(|field| field.scalar.is_none());
                    inner.extend(pointers.map(|field| {
                        let place = (index, Some(field.offset));
                        (place, element(place, field.pointee))
                    }));
                    Taken::Value(shape)
                }
            },
        );
        let taken = taken.collect();
        Signature {
            taken,
            inner,
            required_local_size: info.required_local_size,
            dimensions: dimensions(module),
        }
    }
}

/// How many dimensions of built-in variables a module looks at, at least.
fn dimensions(module: &ir::Module) -> u32 {
    let mut most = 1;
    for function in &module.functions {
        let mut inputs = Vec::new();
        for instruction in function.blocks.iter().flat_map(|block| &block.instructions) {
            match (&instruction.operation, instruction.operands.as_slice()) {
                (Operation::Input(_), _) => inputs.extend(instruction.result),
                (Operation::Extract(first), [Operand::Value(value)]) if inputs.contains(value) => {
                    most = most.max(first + 1);
                }
                _ => {}
            }
        }
    }
    most.min(3)
}

impl Shape {
    fn of(module: &ir::Module, kind: TypeId, size: u64) -> Shape {
        let mut fields = Vec::new();
        collect(module, kind, 0, &mut fields);
        Shape { size, fields }
    }

    /// The shape of what a pointer points to; bytes if that is not known.
    fn of_element(module: &ir::Module, kind: TypeId) -> Shape {
        let size = module.types.layout(kind).size;
        let shape = Shape::of(module, kind, size);
        match size == 0 || shape.fields.is_empty() {
            true => Shape {
                size: 1,
                fields: vec![Field {
                    offset: 0,
                    scalar: Some(Scalar::I8),
                    pointee: kind,
                }],
            },
            false => shape,
        }
    }

    fn of_scalar(scalar: Scalar) -> Shape {
        Shape {
            size: scalar_size(scalar),
            fields: vec![Field {
                offset: 0,
                scalar: Some(scalar),
                pointee: TypeId(0),
            }],
        }
    }

    /// What is accessed if all of it is of one type, or else what is declared. Numbers may be copied as integers.
    fn or_accessed(self, module: &ir::Module, accesses: &[TypeId]) -> Shape {
        let scalars = accesses.iter().map(|kind| module.types.scalar(*kind));
        let mut scalars: Vec<_> = scalars.collect();
        scalars.sort_by_key(|scalar| scalar.map(|scalar| scalar as u8));
        scalars.dedup();
        let is_float = |scalar: Scalar| matches!(scalar, Scalar::F16 | Scalar::F32 | Scalar::F64);
        let scalar = match scalars.as_slice() {
            [Some(scalar)] => *scalar,
            [Some(integer), Some(float)] if is_float(*float) && !is_float(*integer) => *float,
            _ => return self,
        };
        match accesses.iter().any(|kind| module.types.is_pointer(*kind)) {
            true => self,
            false => Shape::of_scalar(scalar),
        }
    }
}

/// All scalars of a type.
fn collect(module: &ir::Module, kind: TypeId, start: u64, fields: &mut Vec<Field>) {
    let types = &module.types;
    if fields.len() >= MOST_FIELDS {
        return;
    }
    match types.get(kind) {
        Type::Pointer { pointee, .. } => fields.push(Field {
            offset: start,
            scalar: None,
            pointee: *pointee,
        }),
        Type::Array { .. } | Type::Struct { .. } => {
            for index in 0.. {
                match types.part(kind, index) {
                    Some((part, offset, _)) if fields.len() < MOST_FIELDS => {
                        collect(module, part, start + offset, fields);
                    }
                    _ => break,
                }
            }
        }
        _ => fields.extend(types.leaves(kind).iter().map(|leaf| Field {
            offset: start + leaf.offset,
            scalar: Some(leaf.scalar),
            pointee: kind,
        })),
    }
}

impl Draw {
    /// The draw with a number, for a kernel.
    pub(crate) fn new(signature: &Signature, seed: u64, draw: u64) -> Draw {
        let rooms = signature.taken.iter().map(|taken| match taken {
            Taken::Local => Room {
                before: 0,
                after: 8 << 10,
            },
            _ => Room {
                before: 2 << 10,
                after: 16 << 10,
            },
        });
        let beyond = Room {
            before: 2 << 10,
            after: 64 << 10,
        };
        let inner = signature.inner.iter().map(|_| beyond);
        Draw {
            seed: number(seed, &[draw]),
            level: draw / 2,
            rooms: rooms.chain(inner).chain([beyond]).collect(),
        }
    }

    fn range(&self, signature: &Signature) -> NdRange {
        let number = |place| number(self.seed, &[1, place]);
        let local = match signature.required_local_size {
            Some(size) => size.map(|size| size as usize),
            None => match signature.dimensions {
                1 => [pick(number(0), &[64, 64, 32, 128, 16, 256]), 1, 1],
                2 => pick(number(0), &[[16, 4, 1], [8, 8, 1], [32, 2, 1], [4, 8, 1]]),
                _ => pick(number(0), &[[8, 4, 2], [4, 4, 4], [16, 2, 2]]),
            },
        };
        let groups = [
            pick(number(1), if self.level < 3 { &[2, 3, 4] } else { &[1, 2] }),
            if signature.dimensions > 1 {
                pick(number(2), &[1, 2, 3])
            } else {
                1
            },
            if signature.dimensions > 2 {
                pick(number(3), &[1, 2])
            } else {
                1
            },
        ];
        NdRange {
            dimensions: 3,
            offset: [0; 3],
            global: [0, 1, 2].map(|index| local[index] * groups[index]),
            local: Some(local),
        }
    }

    /// Allocates the inputs.
    pub(crate) fn make(&self, signature: &Signature, memory: &Arc<Memory>) -> Result<Inputs, MemoryError> {
        let mut inputs = Inputs {
            range: self.range(signature),
            arguments: Vec::new(),
            buffers: Vec::new(),
            memory: Arc::clone(memory),
        };
        let beyond = self.allocate(&mut inputs, self.rooms.len() - 1, Shape::of_scalar(Scalar::I64))?;
        let mut inner = HashMap::new();
        for (index, (place, shape)) in signature.inner.iter().enumerate() {
            let address = self.allocate(&mut inputs, signature.taken.len() + index, shape.clone())?;
            inner.insert(*place, address);
        }
        for (index, taken) in signature.taken.iter().enumerate() {
            let argument = match taken {
                Taken::Local => Argument::Local(self.rooms[index].after as usize),
                Taken::Value(shape) => {
                    let mut bytes = vec![0; shape.size as usize];
                    let pointer = |offset| inner.get(&(index, Some(offset))).copied().unwrap_or(beyond);
                    self.fill(&mut bytes, shape, index as u64, 0, &pointer, true);
                    Argument::Bytes(bytes)
                }
                Taken::Buffer(shape) => {
                    Argument::Pointer(self.allocate(&mut inputs, index, shape.clone())?)
                }
            };
            inputs.arguments.push(argument);
        }
        for buffer in &mut inputs.buffers {
            let Buffer {
                room,
                index,
                shape,
                content,
                ..
            } = buffer;
            let start = room.before % shape.size;
            let first = -((room.before / shape.size) as i64);
            self.fill(
                &mut content[start as usize..],
                shape,
                *index as u64,
                first,
                &|_| beyond,
                false,
            );
        }
        Ok(inputs)
    }

    fn allocate(&self, inputs: &mut Inputs, index: usize, shape: Shape) -> Result<u64, MemoryError> {
        let room = self.rooms[index];
        let size = (room.before + room.after) as usize;
        let base = inputs.memory.allocate(size, 4096, AllocationKind::Buffer)?;
        inputs.buffers.push(Buffer {
            base,
            room,
            index,
            shape,
            content: vec![0; size],
        });
        Ok(base + room.before)
    }

    /// Fills whole elements, of which the first has a number.
    fn fill(
        &self,
        bytes: &mut [u8],
        shape: &Shape,
        place: u64,
        first: i64,
        pointer: &dyn Fn(u64) -> u64,
        is_argument: bool,
    ) {
        for (index, element) in bytes.chunks_exact_mut(shape.size as usize).enumerate() {
            let index = first + index as i64;
            for (field, Field { offset, scalar, .. }) in shape.fields.iter().enumerate() {
                let number = number(self.seed, &[2, place, index as u64, field as u64]);
                let (value, size) = match scalar {
                    None => (pointer(*offset), 8),
                    Some(scalar) => {
                        let value = if is_argument {
                            self.argument(*scalar, number)
                        } else {
                            self.datum(*scalar, number)
                        };
                        (value, scalar_size(*scalar))
                    }
                };
                let (offset, size) = (*offset as usize, size as usize);
                if let Some(target) = element.get_mut(offset..offset + size) {
                    target.copy_from_slice(&value.to_le_bytes()[..size]);
                }
            }
        }
    }

    /// A number passed by value: often a size, a stride or a count.
    fn argument(&self, scalar: Scalar, number: u64) -> u64 {
        let integer = match self.level {
            0 => pick(number, &[1, 2, 3, 5, 8, 16, 31, 64, 100, 256, 500, 1000]),
            1 => pick(number, &[1, 2, 3, 4, 7, 16, 33, 64]),
            2 => pick(number, &[1, 2, 3, 4, 8]),
            3 => pick(number, &[1, 1, 2]),
            4 => pick(number, &[0, 1, 2]),
            5 => 1,
            _ => 0,
        };
        match scalar {
            Scalar::Bool => number >> 60 & 1,
            Scalar::I8 | Scalar::I16 | Scalar::I32 | Scalar::I64 => integer,
            _ => self.float(scalar, number),
        }
    }

    /// A number in memory.
    fn datum(&self, scalar: Scalar, number: u64) -> u64 {
        let any = number >> 32;
        match (scalar, self.level) {
            (Scalar::Bool, _) => any & 1,
            (Scalar::F16 | Scalar::F32 | Scalar::F64, _) => self.float(scalar, number),
            (Scalar::I8 | Scalar::I16, 0) => number,
            (Scalar::I32, 0) if number & 3 == 0 => number,
            (Scalar::I64, 0) if number & 15 == 0 => number,
            (_, 0) => any % 64,
            (_, 1) => any % 16,
            (_, 2) => any % 5,
            (_, 3) => any % 3,
            (_, 4) => any % 2,
            (_, 5) => 1,
            _ => 0,
        }
    }

    fn float(&self, scalar: Scalar, number: u64) -> u64 {
        let special = [0.0, -0.0, 1.0, -1.0, f64::INFINITY, f64::NAN, 1e-30, -1e6];
        let value = match number % 64 {
            0 if self.level == 0 => pick(number, &special),
            // With few digits, so that sums are exact.
            1..=23 => ((number >> 16) % 256) as f64 / 16.0 - 8.0,
            24..=47 => (number >> 11) as f64 / (1u64 << 53) as f64,
            _ => ((number >> 11) as f64 / (1u64 << 53) as f64 - 0.5) * 20.0,
        };
        match scalar {
            Scalar::F16 => u64::from(half::f16::from_f64(value).to_bits()),
            Scalar::F32 => u64::from((value as f32).to_bits()),
            _ => value.to_bits(),
        }
    }

    /// Gives a buffer more room, so that it holds an address that an access was refused at. Whether that was possible.
    pub(crate) fn grow_to(&mut self, inputs: &Inputs, address: u64) -> bool {
        let distance = |buffer: &&Buffer| {
            let end = buffer.base + buffer.content.len() as u64;
            buffer
                .base
                .saturating_sub(address)
                .max(address.saturating_sub(end))
        };
        let Some(nearest) = inputs.buffers.iter().min_by_key(distance) else {
            return false;
        };
        let missing = distance(&nearest) + 64;
        let room = &mut self.rooms[nearest.index];
        let side = if address < nearest.base {
            &mut room.before
        } else {
            &mut room.after
        };
        let wanted = (*side + missing).next_multiple_of(4096).max(*side * 2);
        let grown = wanted <= LARGEST;
        if grown {
            *side = wanted;
        }
        grown
    }

    /// Gives an argument in local memory more room. Whether that was possible.
    pub(crate) fn grow_local(&mut self, index: usize) -> bool {
        let room = self.rooms.get_mut(index).filter(|room| room.after < 256 << 10);
        room.map(|room| room.after *= 2).is_some()
    }
}

impl Inputs {
    /// Gives all buffers their contents.
    pub(crate) fn restore(&self) -> Result<(), MemoryError> {
        let mut buffers = self.buffers.iter();
        buffers.try_for_each(|buffer| self.memory.write(buffer.base, &buffer.content))
    }

    /// What all buffers have become.
    pub(crate) fn read(&self) -> Result<Vec<Vec<u8>>, MemoryError> {
        let buffers = self.buffers.iter().map(|buffer| {
            let mut bytes = vec![0; buffer.content.len()];
            self.memory.read(buffer.base, &mut bytes).map(|()| bytes)
        });
        buffers.collect()
    }
}

impl Buffer {
    /// The bytes in front of the first whole element.
    pub(crate) fn start(&self) -> usize {
        (self.room.before % self.shape.size) as usize
    }

    /// What messages call it.
    pub(crate) fn label(&self, offset: usize) -> String {
        format!(
            "argument {} at byte {}",
            self.index,
            offset as i64 - self.room.before as i64
        )
    }
}
