//! What differs between GPUs.

mod amd;
mod nvidia;

use std::fmt;

use offkit_image::Family;
use offkit_kernel::ir::Kernel;
use offkit_llvm::DeviceRequest;
use offkit_spirv::grammar::{Scope, StorageClass};

use super::super::builder::{Builder, Value};
use super::super::kernel::refuse;
use super::kernel::Result;

/// The kind of GPU that is asked for; none for one that kernels aren't compiled for, or that LLVM doesn't know: it would take
/// it for an old one.
pub(super) fn of(request: &DeviceRequest) -> Option<Box<dyn Gpu>> {
    let family = Family::of(&request.triple);
    if !family.is_compiled_from_spirv() {
        return None;
    }
    match family.is_nvptx() {
        true => Some(Box::new(nvidia::Nvidia::of(&request.processor)?)),
        false => Some(Box::new(amd::Amd::of(&request.triple, &request.processor)?)),
    }
}

/// Memory of a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Space {
    /// What all can see.
    Global,
    /// What all can see, and nobody writes while kernels run.
    Constant,
    /// A group's own.
    Local,
    /// A work-item's own.
    Private,
}

/// What a kind of GPU is in numbers and names.
#[derive(Clone, Copy, Debug)]
pub(super) struct Table {
    /// Work-items of a group, at most.
    pub(super) work_items: u64,
    /// Work-items of a group in the third dimension, at most.
    pub(super) depth: u64,
    /// Bytes of local memory that variables of a kernel have, at most.
    pub(super) local_memory: u64,
    /// Work-items of a sub-group.
    pub(super) sub_group: u32,
    /// LLVM's number for the calling convention of kernels.
    pub(super) convention: u32,
    /// The attribute of a parameter that is bytes, and LLVM's number for the memory that these are in.
    pub(super) bytes: (&'static str, u32),
    /// Whether those bytes are the work-item's own, or shared by all.
    pub(super) owns_bytes: bool,
    /// Whether a pointer into local memory is given as one, or as a place in what the launch has.
    pub(super) local_pointers: bool,
    /// Whether symbols are found in a table that every one has to be shown in.
    pub(super) is_shared_object: bool,
    /// Whether loads, stores and exchanges by comparison can be ordered themselves, and not by fences alone.
    pub(super) ordered_accesses: bool,
    /// Whether LLVM orders other updates.
    pub(super) ordered_updates: bool,
    /// Whether LLVM has updates that all devices see.
    pub(super) updates_of_all: bool,
    /// Whether a barrier orders what those who meet at it do.
    pub(super) ordered_barriers: bool,
    /// Whether there are NVIDIA's instructions for functions of numbers.
    pub(super) has_nvidias_functions: bool,
    /// CUDA's function that prints.
    pub(super) vprintf: Option<&'static str>,
    /// Names of what the code itself needs.
    pub(super) names: &'static [&'static str],
}

/// A kind of GPU.
pub(super) trait Gpu: fmt::Display {
    /// What it is in numbers and names.
    fn table(&self) -> &Table;

    /// LLVM's features to be on or off.
    fn features(&self, asked: &str) -> Result<String>;

    /// Why there is no code for a processor like this one.
    fn unsupported(&self) -> Option<String>;

    /// Refuses what no launch could do.
    fn check(&self, kernel: &Kernel) -> Result<()> {
        let table = self.table();
        let own = table.sub_group;
        if let Some(reason) = self.unsupported() {
            return refuse(reason);
        }
        if let Some(size) = kernel.sub_group_size.filter(|size| *size != own) {
            return refuse(format!(
                "it needs sub-groups of {size} work-items, and those of {self} have {own}"
            ));
        }
        let needed = kernel.required_local_size;
        if let Some([x, y, z]) = needed.filter(|[x, y, z]| [x, y, z].contains(&&0) || *z > table.depth) {
            return refuse(format!(
                "it needs groups of {x} x {y} x {z} work-items, which {self} do not have"
            ));
        }
        // The module may demand anything: the product of three such sizes need not fit.
        let count = needed.map(|size| size.iter().fold(1, |all: u64, size| all.saturating_mul(*size)));
        match count.filter(|count| *count > table.work_items) {
            Some(count) => refuse(format!(
                "it needs groups of {count} work-items, and {self} take {}",
                table.work_items
            )),
            None => Ok(()),
        }
    }

    /// LLVM's number for a memory.
    fn space(&self, space: Space) -> u32;

    /// The memory that pointers of a class lead to, where that is one.
    fn space_of(&self, class: StorageClass) -> Option<Space> {
        match class {
            StorageClass::Workgroup => Some(Space::Local),
            StorageClass::CrossWorkgroup => Some(Space::Global),
            StorageClass::UniformConstant => Some(Space::Constant),
            // Unless what a kernel is given is elsewhere.
            StorageClass::Function => (!self.table().owns_bytes).then_some(Space::Private),
            _ => None,
        }
    }

    /// LLVM's name for those who see an access in order; none for everybody.
    fn sync_scope(&self, scope: Scope) -> &'static str;

    /// Tells the module what it needs for this device.
    fn describe_module(&self, b: &Builder<'_>);

    /// Tells a kernel's function what launches it; behind the functions that took over its attributes.
    fn describe(&self, b: &Builder<'_>, function: Value<'_>, kernel: &Kernel);

    /// A number that the device has for each of three dimensions, as 32 bits.
    fn place<'m>(&self, b: &Builder<'m>, place: Place, axis: usize) -> Value<'m>;

    /// Where ids begin in a dimension, as 64 bits, where the device tells.
    fn begin<'m>(&self, b: &Builder<'m>, axis: usize) -> Option<Value<'m>>;

    /// The number of dimensions, as 32 bits, where the device tells.
    fn dimensions<'m>(&self, b: &Builder<'m>) -> Option<Value<'m>>;

    /// Whether the device tells a kernel all about its launch, or arguments do.
    fn tells_launch(&self) -> bool;

    /// The number of the work-item in its sub-group, as 32 bits.
    fn lane<'m>(&self, b: &Builder<'m>) -> Value<'m>;

    /// Nobody of the group goes on before all have come.
    fn group_barrier(&self, b: &Builder<'_>);

    /// The same for those of a sub-group that a mask names.
    fn sub_group_barrier<'m>(&self, b: &Builder<'m>, members: Value<'m>);

    /// The work-items of the sub-group that are here now, a bit for each of a sub-group.
    fn active<'m>(&self, b: &Builder<'m>) -> Value<'m>;

    /// For whom of the members a condition holds, a bit for each of a sub-group.
    fn vote<'m>(&self, b: &Builder<'m>, members: Value<'m>, condition: Value<'m>) -> Value<'m>;

    /// The 32 bits of another member.
    fn exchange<'m>(&self, b: &Builder<'m>, members: Value<'m>, word: Value<'m>, from: From<'m>)
    -> Value<'m>;

    /// Whether a generic pointer leads to memory of a class.
    fn leads_to<'m>(&self, b: &Builder<'m>, pointer: Value<'m>, class: StorageClass) -> Value<'m>;
}

/// A number that a device has for each of three dimensions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// Of the work-item in its group.
    Thread,
    /// Of work-items in a group.
    Threads,
    /// Of the group.
    Group,
    /// Of groups.
    Groups,
}

const AXES: [&str; 3] = ["x", "y", "z"];

/// The member of a sub-group that is asked for its word, by 32 bits; who asks one that isn't there gets its own, or any.
#[derive(Clone, Copy, Debug)]
pub(super) enum From<'m> {
    Lane(Value<'m>),
    /// One that is the same for all members.
    Same(Value<'m>),
    Xor(Value<'m>),
    Above(Value<'m>),
    Below(Value<'m>),
}
