//! AMD's GPUs: LLVM's AMDGPU with what the HSA runtime tells kernels, as code object v5 has it.

use std::fmt;

use llvm_sys::LLVMIntPredicate as IntPredicate;
use offkit_image::target::amd::{generation, is_generic, is_processor, wavefront_size};
use offkit_image::target::{System, Target, Triple};
use offkit_kernel::ir::Kernel;
use offkit_spirv::grammar::{Scope, StorageClass};

use super::super::super::builder::{Builder, Value};
use super::super::super::kernel::refuse;
use super::super::kernel::Result;
use super::{AXES, From, Gpu, Place, Space, Table};

/// A processor by LLVM's name, `gfx90a`.
pub(super) struct Amd {
    processor: String,
    table: Table,
}

/// The first generation that there is code for: older ones know local memory's generic addresses from somewhere else.
const OLDEST: u32 = 9;

/// LLVM's number of the version of code objects that older ROCm takes, too: from 5 on.
const CODE_OBJECT: u32 = 500;

/// The first that knows generic processors.
const CODE_OBJECT_OF_GENERIC: u32 = 600;

/// Where the HSA runtime tells of a launch, in bytes behind a kernel's arguments: [LLVM's
/// table](https://llvm.org/docs/AMDGPUUsage.html#code-object-v5-metadata). The number of groups in each dimension, 32 bits.
const GROUPS: u64 = 0;
/// Work-items of a group, 16 bits.
const GROUP_SIZES: u64 = 12;
/// Where ids begin, 64 bits.
const OFFSETS: u64 = 40;
/// The number of dimensions, 16 bits.
const DIMENSIONS: u64 = 64;

impl Amd {
    pub(super) fn of(triple: &str, processor: &str) -> Option<Amd> {
        if Triple::new(triple).system() != System::AmdHsa || !is_processor(processor) {
            return None;
        }
        Some(Amd {
            processor: processor.to_owned(),
            table: Table {
                work_items: 1024,
                depth: 1024,
                local_memory: 64 << 10,
                sub_group: wavefront_size(&Target::new(triple, processor)),
                // `amdgpu_kernel`, whose arguments by reference are in constant memory.
                convention: 91,
                bytes: ("byref", 4),
                owns_bytes: false,
                local_pointers: true,
                is_shared_object: true,
                ordered_accesses: true,
                ordered_updates: true,
                updates_of_all: true,
                ordered_barriers: false,
                has_nvidias_functions: false,
                vprintf: None,
                names: &[],
            },
        })
    }

    /// A number that the runtime tells.
    fn told<'m>(&self, b: &Builder<'m>, place: u64, bits: u32) -> Value<'m> {
        let all = b.intrinsic("llvm.amdgcn.implicitarg.ptr", &[], &[]);
        let at = b.offset(all, b.integer(b.int(64), place));
        let number = b.load(b.int(bits), at, bits / 8);
        b.set_invariant(number);
        number
    }

    /// The integer with a bit for each work-item of a sub-group.
    fn ballot<'m>(&self, b: &Builder<'m>, condition: Value<'m>) -> Value<'m> {
        b.intrinsic("llvm.amdgcn.ballot", &[b.int(self.table.sub_group)], &[condition])
    }
}

impl fmt::Display for Amd {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "AMD's {}", self.processor)
    }
}

impl Gpu for Amd {
    fn table(&self) -> &Table {
        &self.table
    }

    fn features(&self, asked: &str) -> Result<String> {
        let own = format!("wavefrontsize{}", self.table.sub_group);
        let of_waves = |feature: &&str| feature.contains("wavefrontsize");
        for feature in asked.split(',').filter(of_waves) {
            let other = match feature.strip_prefix('-') {
                Some(feature) => feature == own,
                None => feature.trim_start_matches('+') != own,
            };
            if other {
                return refuse(format!(
                    "{feature} is asked for, and sub-groups of {self} have {} work-items",
                    self.table.sub_group
                ));
            }
        }
        Ok(asked.to_owned())
    }

    fn unsupported(&self) -> Option<String> {
        let number = generation(&self.processor).filter(|number| *number < OLDEST);
        number.map(|_| format!("{} is older than gfx900", self.processor))
    }

    fn space(&self, space: Space) -> u32 {
        match space {
            Space::Global => 1,
            Space::Local => 3,
            Space::Constant => 4,
            Space::Private => 5,
        }
    }

    fn sync_scope(&self, scope: Scope) -> &'static str {
        match scope {
            Scope::Invocation => "singlethread",
            Scope::Subgroup => "wavefront",
            Scope::Workgroup => "workgroup",
            Scope::Device => "agent",
            _ => "",
        }
    }

    fn describe_module(&self, b: &Builder<'_>) {
        let version = match is_generic(&self.processor) {
            true => CODE_OBJECT_OF_GENERIC,
            false => CODE_OBJECT,
        };
        b.module_flag("amdhsa_code_object_version", version);
    }

    fn describe(&self, b: &Builder<'_>, function: Value<'_>, kernel: &Kernel) {
        let (least, most) = match kernel.required_local_size {
            Some(size) => {
                let count = size.iter().product::<u64>();
                let size = size.map(|size| u32::try_from(size).unwrap_or(u32::MAX));
                b.note_of_numbers(function, "reqd_work_group_size", &size);
                (count, count)
            }
            None => (1, self.table.work_items),
        };
        b.text_attribute(
            function,
            "amdgpu-flat-work-group-size",
            &format!("{least},{most}"),
        );
        // Launches have no smaller groups at their end: the runtime tells one size for all of them.
        b.text_attribute(function, "uniform-work-group-size", "true");
    }

    fn place<'m>(&self, b: &Builder<'m>, place: Place, axis: usize) -> Value<'m> {
        let number = |what: &str| {
            let name = format!("llvm.amdgcn.{what}.id.{}", AXES[axis]);
            b.intrinsic(&name, &[], &[])
        };
        let at = axis as u64;
        match place {
            Place::Thread => number("workitem"),
            Place::Group => number("workgroup"),
            Place::Threads => b.zext_or_trunc(self.told(b, GROUP_SIZES + 2 * at, 16), b.int(32)),
            Place::Groups => self.told(b, GROUPS + 4 * at, 32),
        }
    }

    fn begin<'m>(&self, b: &Builder<'m>, axis: usize) -> Option<Value<'m>> {
        Some(self.told(b, OFFSETS + 8 * axis as u64, 64))
    }

    fn dimensions<'m>(&self, b: &Builder<'m>) -> Option<Value<'m>> {
        Some(b.zext_or_trunc(self.told(b, DIMENSIONS, 16), b.int(32)))
    }

    fn tells_launch(&self) -> bool {
        true
    }

    fn lane<'m>(&self, b: &Builder<'m>) -> Value<'m> {
        // No register has it: it is how many bits of a full mask are below one's own, half by half.
        let (all, none) = (b.signed(b.int(32), -1), b.zero(b.int(32)));
        let low = b.intrinsic("llvm.amdgcn.mbcnt.lo", &[], &[all, none]);
        match self.table.sub_group {
            64 => b.intrinsic("llvm.amdgcn.mbcnt.hi", &[], &[all, low]),
            _ => low,
        }
    }

    fn group_barrier(&self, b: &Builder<'_>) {
        b.intrinsic("llvm.amdgcn.s.barrier", &[], &[]);
    }

    fn sub_group_barrier<'m>(&self, b: &Builder<'m>, _: Value<'m>) {
        b.intrinsic("llvm.amdgcn.wave.barrier", &[], &[]);
    }

    fn active<'m>(&self, b: &Builder<'m>) -> Value<'m> {
        self.ballot(b, b.truth(None, true))
    }

    fn vote<'m>(&self, b: &Builder<'m>, members: Value<'m>, condition: Value<'m>) -> Value<'m> {
        b.and(self.ballot(b, condition), members)
    }

    fn exchange<'m>(&self, b: &Builder<'m>, _: Value<'m>, word: Value<'m>, from: From<'m>) -> Value<'m> {
        let lane = match from {
            // One lane for all is read into a scalar register; others go through the hardware of
            // local memory.
            From::Same(lane) => return b.intrinsic("llvm.amdgcn.readlane", &[word.ty()], &[word, lane]),
            From::Lane(lane) => lane,
            From::Xor(mask) => b.xor(self.lane(b), mask),
            From::Above(delta) => b.add(self.lane(b), delta),
            From::Below(delta) => b.sub(self.lane(b), delta),
        };
        // What is beyond the last begins again with the first.
        // The instruction takes lanes as words in memory, four bytes each.
        let place = b.shl(lane, b.integer(b.int(32), 2));
        b.intrinsic("llvm.amdgcn.ds.bpermute", &[], &[place, word])
    }

    fn leads_to<'m>(&self, b: &Builder<'m>, pointer: Value<'m>, class: StorageClass) -> Value<'m> {
        let ask = |space: &str| b.intrinsic(&format!("llvm.amdgcn.is.{space}"), &[], &[pointer]);
        match class {
            StorageClass::Workgroup => ask("shared"),
            StorageClass::Function => ask("private"),
            // Null leads nowhere.
            _ => {
                let leads = b.icmp(IntPredicate::LLVMIntNE, pointer, b.zero(pointer.ty()));
                b.and(leads, b.not(b.or(ask("shared"), ask("private"))))
            }
        }
    }
}
