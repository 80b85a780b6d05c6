//! What differs between GPUs.

use std::fmt;

use offkit_image::Family;
use offkit_image::target::nvidia::Processor;
use offkit_kernel::ir::Kernel;
use offkit_spirv::grammar::{Scope, StorageClass};

use super::super::builder::{Builder, Value};
use super::super::kernel::refuse;
use super::kernel::Result;
use super::print::VPRINTF;
use super::variables::DYNAMIC;

/// A kind of GPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Gpu {
    /// NVIDIA's, of so many tenths of a compute capability: 60 of `sm_60`.
    Nvidia { capability: u32 },
}

impl fmt::Display for Gpu {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Gpu::Nvidia { .. } => "NVIDIA GPUs",
        })
    }
}

/// The oldest of NVIDIA's processors that there is code for.
const OLDEST_NVIDIA: u32 = 60;

/// Work-items of a group of NVIDIA's GPUs in the third dimension, at most.
const DEEPEST_NVIDIA: u64 = 64;

/// Memory of a device, and LLVM's number for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Space {
    /// What all can see.
    Global,
    /// A group's own.
    Local,
}

impl Gpu {
    /// The kind that a processor of a family is of; none for one that kernels aren't compiled for, or that LLVM doesn't know:
    /// it would take it for an old one.
    pub(super) fn of(family: Family, processor: &str) -> Option<Gpu> {
        let compiled = family.is_compiled_from_spirv() && family.is_nvptx();
        let processor = Processor::parse(processor).filter(|processor| compiled && processor.is_known())?;
        Some(Gpu::Nvidia {
            capability: processor.number,
        })
    }

    /// Features to be on: PTX as old as the processor and what is emitted here allow, so that older drivers take it.
    pub(super) fn features(self, asked: &str) -> String {
        let is_told = asked.split(',').any(|feature| feature.starts_with("+ptx"));
        match self {
            // Which threads are active can be asked since PTX 6.2; 6.3 is what sm_75 began with.
            Gpu::Nvidia { capability } if capability < 75 && !is_told => match asked {
                "" => "+ptx63".to_owned(),
                asked => format!("+ptx63,{asked}"),
            },
            Gpu::Nvidia { .. } => asked.to_owned(),
        }
    }

    /// Whether loads and stores can be ordered themselves, and not by fences alone.
    pub(super) fn has_ordered_accesses(self) -> bool {
        match self {
            Gpu::Nvidia { capability } => capability >= 70,
        }
    }

    /// Work-items that a group has at most.
    pub(super) fn most_work_items(self) -> u64 {
        match self {
            Gpu::Nvidia { .. } => 1024,
        }
    }

    /// Bytes of local memory that variables of a kernel have at most.
    pub(super) fn most_local_memory(self) -> u64 {
        match self {
            Gpu::Nvidia { .. } => 48 << 10,
        }
    }

    /// Names of what the code itself needs.
    pub(super) fn own_names(self) -> &'static [&'static str] {
        match self {
            Gpu::Nvidia { .. } => &[VPRINTF, DYNAMIC],
        }
    }

    /// Work-items of a sub-group.
    pub(super) fn sub_group_size(self) -> u32 {
        match self {
            Gpu::Nvidia { .. } => 32,
        }
    }

    /// Whether a kernel that sees where ids begin has an entry of its own for launches that begin elsewhere than at zero.
    pub(super) fn has_two_entries(self) -> bool {
        match self {
            Gpu::Nvidia { .. } => true,
        }
    }

    /// Refuses what no launch could do.
    pub(super) fn check(self, kernel: &Kernel) -> Result<()> {
        let own = self.sub_group_size();
        match self {
            Gpu::Nvidia { capability } if capability < OLDEST_NVIDIA => {
                let [own, oldest] = [capability, OLDEST_NVIDIA].map(|number| f64::from(number) / 10.0);
                return refuse(format!("compute capability {own:.1} is older than {oldest:.1}"));
            }
            Gpu::Nvidia { .. } => {}
        }
        if let Some(size) = kernel.sub_group_size.filter(|size| *size != own) {
            return refuse(format!(
                "it needs sub-groups of {size} work-items, and those of {self} have {own}"
            ));
        }
        let most = self.most_work_items();
        let needed = kernel.required_local_size;
        if let Some([x, y, z]) = needed.filter(|[x, y, z]| [x, y, z].contains(&&0) || *z > DEEPEST_NVIDIA) {
            return refuse(format!(
                "it needs groups of {x} x {y} x {z} work-items, which {self} do not have"
            ));
        }
        let count = needed.map(|size| size.iter().fold(1, |all: u64, size| all.saturating_mul(*size)));
        match count.filter(|count| *count > most) {
            Some(count) => refuse(format!(
                "it needs groups of {count} work-items, and {self} take {most}"
            )),
            None => Ok(()),
        }
    }

    /// LLVM's number for the calling convention of kernels.
    pub(super) fn kernel_convention(self) -> u32 {
        match self {
            Gpu::Nvidia { .. } => 71,
        }
    }

    pub(super) fn space(self, space: Space) -> u32 {
        match (self, space) {
            (Gpu::Nvidia { .. }, Space::Global) => 1,
            (Gpu::Nvidia { .. }, Space::Local) => 3,
        }
    }

    /// The memory that pointers of a class lead to, where that is one. Private memory is not: structs that a kernel is given
    /// are elsewhere.
    pub(super) fn space_of(self, class: StorageClass) -> Option<Space> {
        match class {
            StorageClass::Workgroup => Some(Space::Local),
            // Kernels are given constant memory as any other.
            StorageClass::CrossWorkgroup | StorageClass::UniformConstant => Some(Space::Global),
            _ => None,
        }
    }

    /// LLVM's name for those who see an access in order; none for everybody.
    pub(super) fn sync_scope(self, scope: Scope) -> &'static str {
        match (self, scope) {
            // LLVM has no instructions for less.
            (Gpu::Nvidia { .. }, Scope::Invocation | Scope::Subgroup | Scope::Workgroup) => "block",
            (Gpu::Nvidia { .. }, Scope::Device) => "device",
            (Gpu::Nvidia { .. }, _) => "",
        }
    }

    /// A number that the device has for each of three dimensions, as 32 bits.
    pub(super) fn place<'m>(self, b: &Builder<'m>, place: Place, axis: usize) -> Value<'m> {
        let axis = ["x", "y", "z"][axis];
        match self {
            Gpu::Nvidia { .. } => {
                let register = match place {
                    Place::Thread => "tid",
                    Place::Threads => "ntid",
                    Place::Group => "ctaid",
                    Place::Groups => "nctaid",
                };
                b.intrinsic(&format!("llvm.nvvm.read.ptx.sreg.{register}.{axis}"), &[], &[])
            }
        }
    }

    /// The number of the work-item in its sub-group, as 32 bits.
    pub(super) fn lane<'m>(self, b: &Builder<'m>) -> Value<'m> {
        match self {
            Gpu::Nvidia { .. } => b.intrinsic("llvm.nvvm.read.ptx.sreg.laneid", &[], &[]),
        }
    }

    /// Nobody of the group goes on before all have come.
    pub(super) fn group_barrier(self, b: &Builder<'_>) {
        match self {
            Gpu::Nvidia { .. } => {
                let first = b.zero(b.int(32));
                b.intrinsic("llvm.nvvm.barrier.cta.sync.aligned.all", &[], &[first]);
            }
        }
    }

    /// The same for those of a sub-group that a mask names, which see what others have written.
    pub(super) fn sub_group_barrier<'m>(self, b: &Builder<'m>, members: Value<'m>) {
        match self {
            Gpu::Nvidia { .. } => _ = b.intrinsic("llvm.nvvm.bar.warp.sync", &[], &[members]),
        }
    }

    /// The work-items of the sub-group that are here now, a bit for each.
    pub(super) fn active<'m>(self, b: &Builder<'m>) -> Value<'m> {
        match self {
            Gpu::Nvidia { .. } => b.intrinsic("llvm.nvvm.activemask", &[], &[]),
        }
    }

    /// For whom of the members a condition holds, a bit for each.
    pub(super) fn vote<'m>(self, b: &Builder<'m>, members: Value<'m>, condition: Value<'m>) -> Value<'m> {
        match self {
            Gpu::Nvidia { .. } => b.intrinsic("llvm.nvvm.vote.ballot.sync", &[], &[members, condition]),
        }
    }

    /// The 32 bits of another member.
    pub(super) fn exchange<'m>(
        self,
        b: &Builder<'m>,
        members: Value<'m>,
        word: Value<'m>,
        from: From<'m>,
    ) -> Value<'m> {
        match self {
            Gpu::Nvidia { .. } => {
                // Up to which lane others are, seen from the whole sub-group.
                let (mode, by, clamp) = match from {
                    From::Lane(lane) => ("idx", lane, 31),
                    From::Xor(mask) => ("bfly", mask, 31),
                    From::Above(delta) => ("down", delta, 31),
                    From::Below(delta) => ("up", delta, 0),
                };
                let clamp = b.integer(b.int(32), clamp);
                let name = format!("llvm.nvvm.shfl.sync.{mode}.i32");
                b.intrinsic(&name, &[], &[members, word, by, clamp])
            }
        }
    }

    /// Whether a generic pointer leads to memory of a class.
    pub(super) fn leads_to<'m>(self, b: &Builder<'m>, pointer: Value<'m>, class: StorageClass) -> Value<'m> {
        match self {
            Gpu::Nvidia { .. } => {
                let ask = |space: &str| {
                    let name = format!("llvm.nvvm.isspacep.{space}");
                    b.intrinsic(&name, &[], &[pointer])
                };
                match class {
                    StorageClass::Workgroup => ask("shared"),
                    // What a kernel is given by value may be in constant memory, and is private.
                    StorageClass::Function => b.not(b.or(ask("shared"), ask("global"))),
                    _ => ask("global"),
                }
            }
        }
    }

    /// The launch fails.
    pub(super) fn fail(self, b: &Builder<'_>) {
        b.intrinsic("llvm.trap", &[], &[]);
    }
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

/// The member of a sub-group that is asked for its word, by 32 bits; who asks one that isn't there gets its own, or any.
#[derive(Clone, Copy, Debug)]
pub(super) enum From<'m> {
    Lane(Value<'m>),
    Xor(Value<'m>),
    Above(Value<'m>),
    Below(Value<'m>),
}
