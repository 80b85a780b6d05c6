//! Kernels and what they declare.

use std::collections::HashMap;

use crate::dr::Operand;
use crate::grammar::{
    AccessQualifier, Decoration, Dim, ExecutionMode, FunctionParameterAttribute, Op, StorageClass,
};

use crate::call_graph::{self, CallGraph};
use crate::index::Index;
use crate::module::Module;
use crate::symbols::function_type;
use crate::types::{Scalar, Type, Types};

/// A kernel that a module offers.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Kernel {
    /// The name it is launched by.
    pub name: String,
    /// The parameters, in order.
    pub parameters: Vec<Parameter>,
    /// The only work-group size it may be launched with, in work-items.
    pub required_work_group_size: Option<[u32; 3]>,
    /// The work-group size it was tuned for.
    pub work_group_size_hint: Option<[u32; 3]>,
    /// The largest work-group size it may be launched with.
    pub max_work_group_size: Option<[u32; 3]>,
    /// The sub-group size it must run with.
    pub required_sub_group_size: Option<u32>,
    /// Bytes of local memory taken by variables of the kernel and of the functions it reaches. Local memory passed
    /// as an argument comes on top.
    pub local_memory: u64,
    /// Whether the kernel or a function it reaches waits at a barrier.
    pub uses_barrier: bool,
}

/// What a kernel declares for one of its arguments.
///
/// This is the only description of a parameter: runtimes and devices check what they are given against it. What is
/// *given* for a parameter is an argument, and belongs to whoever launches the kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Parameter {
    /// Its name in the source, if the compiler kept it.
    pub name: Option<String>,
    /// Its type in the source, such as `float4*`, if the compiler kept it: the Khronos translator can, LLVM's own
    /// back end does not.
    pub source_type: Option<String>,
    /// What is passed.
    pub kind: ParameterKind,
    /// The number of bytes passed for it, as `clSetKernelArg` takes it. For global and constant pointers, images and
    /// other handles this is the size of a pointer on the device. Zero for local memory, of which the caller chooses
    /// the amount, and for a type whose size is not known.
    pub size: u64,
    /// The kernel does not write through this pointer (`NoWrite`, or constant memory), or may only read the image.
    pub read_only: bool,
}

impl Parameter {
    /// A parameter of a kernel that is no SPIR-V: of a kind, and so many bytes.
    pub fn new(kind: ParameterKind, size: u64) -> Parameter {
        Parameter {
            name: None,
            source_type: None,
            kind,
            size,
            read_only: false,
        }
    }
}

/// The type of a parameter.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ParameterKind {
    /// A pointer to memory.
    Pointer {
        /// The kind of memory.
        storage: Storage,
        /// What it points to, as the compiler guessed from its uses: LLVM has forgotten the type in the source, and
        /// a pointer that is only passed on points to `i8`.
        pointee: Type,
    },
    /// A struct passed by value; the module sees a private copy of it.
    ByValue {
        /// The struct.
        value: Type,
    },
    /// A number.
    Scalar(Scalar),
    /// A vector of numbers.
    Vector {
        /// The type of each component.
        component: Scalar,
        /// The number of components: 2, 3, 4, 8 or 16. A vector of 3 is passed in the space of 4.
        count: u32,
    },
    /// An aggregate passed directly.
    Struct {
        /// The struct or array.
        value: Type,
    },
    /// An image.
    Image {
        /// The shape of the image.
        dimensions: ImageDimensions,
        /// Whether it is an array of images.
        array: bool,
        /// How the kernel uses it.
        access: Access,
    },
    /// A sampler.
    Sampler,
    /// A pipe.
    Pipe,
    /// An event of asynchronous copies.
    Event,
    /// An event of device-side enqueue.
    DeviceEvent,
    /// A device-side queue.
    Queue,
    /// Anything else; the readable form of its type.
    Other(String),
}

/// The memory a pointer points to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Storage {
    /// Memory of the device, shared by all work-items.
    Global,
    /// Memory of the device that kernels only read.
    Constant,
    /// Memory of one work-group; the caller gives its size.
    Local,
    /// Any of the others.
    Generic,
}

/// The shape of an image.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ImageDimensions {
    /// One dimension.
    One,
    /// Two dimensions.
    Two,
    /// Three dimensions.
    Three,
    /// One dimension, in a buffer.
    Buffer,
}

/// How a kernel uses an image.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Access {
    /// It only reads.
    Read,
    /// It only writes.
    Write,
    /// It reads and writes.
    ReadWrite,
}

/// The parameters of each kernel, in module order.
///
/// They are those of [`reflect`](crate::reflect), for who needs no more: nothing follows the kernels' calls, which takes
/// as long as all else that is done to build a large module.
pub fn kernel_parameters(module: &Module) -> Vec<Vec<Parameter>> {
    let index = Index::new(module.dr());
    let types = Types::new(&index);
    let source_types = source_types(&index);
    call_graph::kernels(&index)
        .map(|(name, id)| parameters(&index, &types, id, source_types.get(name)))
        .collect()
}

/// The kernels of a module, in module order.
pub(crate) fn kernels(index: &Index<'_>, types: &Types<'_, '_>, graph: &CallGraph) -> Vec<Kernel> {
    let modes = ExecutionModes::new(index);
    let source_types = source_types(index);
    call_graph::kernels(index)
        .map(|(name, id)| {
            let reached = graph.reach(id).order;
            Kernel {
                name: name.to_owned(),
                parameters: parameters(index, types, id, source_types.get(name)),
                required_work_group_size: modes
                    .size(id, ExecutionMode::LocalSize)
                    .or_else(|| modes.size_from_ids(index, id, ExecutionMode::LocalSizeId)),
                work_group_size_hint: modes
                    .size(id, ExecutionMode::LocalSizeHint)
                    .or_else(|| modes.size_from_ids(index, id, ExecutionMode::LocalSizeHintId)),
                max_work_group_size: modes.size(id, ExecutionMode::MaxWorkgroupSizeINTEL),
                required_sub_group_size: match modes.get(id, ExecutionMode::SubgroupSize) {
                    Some([Operand::LiteralBit32(size)]) => Some(*size),
                    _ => None,
                },
                local_memory: local_memory(index, types, &reached),
                uses_barrier: reached.iter().any(|&id| graph.has_barrier(id)),
            }
        })
        .collect()
}

/// The execution modes of all entry points.
struct ExecutionModes<'m> {
    modes: HashMap<(u32, ExecutionMode), &'m [Operand]>,
}

impl<'m> ExecutionModes<'m> {
    fn new(index: &Index<'m>) -> Self {
        let instructions = index.module().execution_modes.iter();
        let modes = instructions.filter_map(|mode| match mode.operands.as_slice() {
            [Operand::IdRef(id), Operand::ExecutionMode(mode), rest @ ..] => Some(((*id, *mode), rest)),
            _ => None,
        });
        Self {
            modes: modes.collect(),
        }
    }

    fn get(&self, id: u32, mode: ExecutionMode) -> Option<&'m [Operand]> {
        self.modes.get(&(id, mode)).copied()
    }

    fn size(&self, id: u32, mode: ExecutionMode) -> Option<[u32; 3]> {
        match self.get(id, mode)? {
            [
                Operand::LiteralBit32(x),
                Operand::LiteralBit32(y),
                Operand::LiteralBit32(z),
            ] => Some([*x, *y, *z]),
            _ => None,
        }
    }

    fn size_from_ids(&self, index: &Index<'_>, id: u32, mode: ExecutionMode) -> Option<[u32; 3]> {
        let value = |operand: &Operand| index.constant(operand.id_ref_any()?)?.try_into().ok();
        match self.get(id, mode)? {
            [x, y, z] => Some([value(x)?, value(y)?, value(z)?]),
            _ => None,
        }
    }
}

/// The parameter types that the Khronos translator keeps in strings: `kernel_arg_type.NAME.int*,float4,`.
fn source_types<'m>(index: &Index<'m>) -> HashMap<&'m str, Vec<&'m str>> {
    let strings = index.module().debug_string_source.iter();
    let texts = strings.filter_map(|string| match (string.opcode, string.operands.as_slice()) {
        (Op::String, [Operand::LiteralString(text)]) => Some(text),
        _ => None,
    });
    texts
        // The translator does this for OpenCL C, whose names have no dots.
        .filter_map(|text| text.strip_prefix("kernel_arg_type.")?.split_once('.'))
        .map(|(kernel, types)| (kernel, types.split_terminator(',').collect()))
        .collect()
}

/// The bytes that the variables in local memory take when laid out one after the other.
fn local_memory(index: &Index<'_>, types: &Types<'_, '_>, reached: &[u32]) -> u64 {
    let variables = reached.iter().filter_map(|&id| {
        let variable = index.global(id).filter(|i| i.opcode == Op::Variable)?;
        let (storage, pointee) = types.pointer(variable.result_type?)?;
        let layout = types
            .layout(pointee)
            .filter(|_| storage == StorageClass::Workgroup)?;
        let alignment = match index.decoration(id, Decoration::Alignment) {
            Some([Operand::LiteralBit32(alignment)]) => layout.alignment.max(u64::from(*alignment)),
            _ => layout.alignment,
        };
        Some((layout.size, alignment))
    });
    variables.fold(0u64, |end, (size, alignment)| {
        // There is no multiple of an alignment of 0, which a module may claim.
        end.checked_next_multiple_of(alignment)
            .unwrap_or(end)
            .saturating_add(size)
    })
}

fn parameters(
    index: &Index<'_>,
    types: &Types<'_, '_>,
    kernel: u32,
    source_types: Option<&Vec<&str>>,
) -> Vec<Parameter> {
    let Some(function) = index.function(kernel) else {
        return Vec::new();
    };
    let from_type = function_type(function).and_then(|id| index.global(id));
    let from_type = from_type.map_or(&[][..], |i| i.operands.get(1..).unwrap_or_default());
    let mut source_types = source_types.into_iter().flatten();
    let instructions = function.parameters.iter();
    instructions
        .zip(from_type.iter().filter_map(Operand::id_ref_any))
        .map(|(instruction, type_id)| {
            let id = instruction.result_id.unwrap_or(0);
            parameter(index, types, id, type_id, source_types.next().copied())
        })
        .collect()
}

fn parameter(
    index: &Index<'_>,
    types: &Types<'_, '_>,
    id: u32,
    type_id: u32,
    source_type: Option<&str>,
) -> Parameter {
    let kind = parameter_kind(index, types, id, type_id);
    let size = match &kind {
        ParameterKind::Pointer {
            storage: Storage::Local,
            ..
        } => 0,
        ParameterKind::ByValue { value } | ParameterKind::Struct { value } => {
            value.layout.map_or(0, |l| l.size)
        }
        ParameterKind::Scalar(_) | ParameterKind::Vector { .. } => {
            types.layout(type_id).map_or(0, |l| l.size)
        }
        ParameterKind::Other(_) => 0,
        _ => types.pointer_size(),
    };
    let read_only = match &kind {
        ParameterKind::Image { access, .. } => *access == Access::Read,
        ParameterKind::Pointer {
            storage: Storage::Constant,
            ..
        } => true,
        _ => index.has_attribute(id, FunctionParameterAttribute::NoWrite),
    };
    Parameter {
        name: index.name(id).map(str::to_owned),
        source_type: source_type.map(str::to_owned),
        kind,
        size,
        read_only,
    }
}

fn parameter_kind(index: &Index<'_>, types: &Types<'_, '_>, id: u32, type_id: u32) -> ParameterKind {
    let other = || ParameterKind::Other(types.describe(type_id));
    let Some(instruction) = index.global(type_id) else {
        return other();
    };
    match (instruction.opcode, instruction.operands.as_slice()) {
        (Op::TypeInt | Op::TypeFloat, _) => types.scalar(type_id).map_or_else(other, ParameterKind::Scalar),
        (Op::TypeVector, [Operand::IdRef(component), Operand::LiteralBit32(count)]) => {
            match types.scalar(*component) {
                Some(component) => ParameterKind::Vector {
                    component,
                    count: *count,
                },
                None => other(),
            }
        }
        (Op::TypeStruct | Op::TypeArray, _) => ParameterKind::Struct {
            value: types.get(type_id),
        },
        (Op::TypePointer, [Operand::StorageClass(storage), Operand::IdRef(pointee)]) => {
            let storage = match *storage {
                // Without the attribute this is a module that no launch can satisfy; it is shown for what it is.
                StorageClass::Function if index.has_attribute(id, FunctionParameterAttribute::ByVal) => {
                    return ParameterKind::ByValue {
                        value: types.get(*pointee),
                    };
                }
                StorageClass::CrossWorkgroup => Storage::Global,
                StorageClass::UniformConstant => Storage::Constant,
                StorageClass::Workgroup => Storage::Local,
                StorageClass::Generic => Storage::Generic,
                _ => return other(),
            };
            ParameterKind::Pointer {
                storage,
                pointee: types.get(*pointee),
            }
        }
        (Op::TypeImage, operands) => image(operands).unwrap_or_else(other),
        (Op::TypeSampler, _) => ParameterKind::Sampler,
        (Op::TypePipe, _) => ParameterKind::Pipe,
        (Op::TypeEvent, _) => ParameterKind::Event,
        (Op::TypeDeviceEvent, _) => ParameterKind::DeviceEvent,
        (Op::TypeQueue, _) => ParameterKind::Queue,
        _ => other(),
    }
}

fn image(operands: &[Operand]) -> Option<ParameterKind> {
    let [
        _sampled_type,
        Operand::Dim(dimensions),
        _depth,
        Operand::LiteralBit32(array),
        ..,
    ] = operands
    else {
        return None;
    };
    let dimensions = match *dimensions {
        Dim::Dim1D => ImageDimensions::One,
        Dim::Dim2D => ImageDimensions::Two,
        Dim::Dim3D => ImageDimensions::Three,
        Dim::Buffer => ImageDimensions::Buffer,
        _ => return None,
    };
    // The qualifier is optional, and only the last operand can be one.
    let access = match operands.last() {
        Some(Operand::AccessQualifier(AccessQualifier::WriteOnly)) => Access::Write,
        Some(Operand::AccessQualifier(AccessQualifier::ReadWrite)) => Access::ReadWrite,
        // What OpenCL C takes for an image without a qualifier.
        _ => Access::Read,
    };
    Some(ParameterKind::Image {
        dimensions,
        array: *array != 0,
        access,
    })
}
