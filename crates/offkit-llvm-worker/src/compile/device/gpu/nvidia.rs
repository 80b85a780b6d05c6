//! NVIDIA's GPUs: LLVM's NVPTX.

use std::fmt;

use offkit_image::target::nvidia::Processor;
use offkit_kernel::ir::Kernel;
use offkit_spirv::grammar::{Scope, StorageClass};

use super::super::super::builder::{Builder, Value};
use super::super::kernel::Result;
use super::super::variables::DYNAMIC;
use super::{AXES, From, Gpu, Place, Space, Table};

/// A processor of so many tenths of a compute capability: 60 of `sm_60`.
pub(super) struct Nvidia {
    capability: u32,
    table: Table,
}

/// The oldest processor that there is code for.
const OLDEST: u32 = 60;

/// CUDA's function that prints.
const VPRINTF: &str = "vprintf";

impl Nvidia {
    pub(super) fn of(processor: &str) -> Option<Nvidia> {
        let processor = Processor::parse(processor).filter(|processor| processor.is_known())?;
        let capability = processor.number;
        Some(Nvidia {
            capability,
            table: Table {
                work_items: 1024,
                // What CUDA allows a block; static shared memory has 48 KiB on all of them.
                depth: 64,
                local_memory: 48 << 10,
                sub_group: 32,
                // `ptx_kernel`.
                convention: 71,
                // Also in constant memory, by generic addresses.
                bytes: ("byval", 0),
                owns_bytes: true,
                local_pointers: false,
                is_shared_object: false,
                // `ld.acquire` and its like came with the memory model of sm_70.
                ordered_accesses: capability >= 70,
                // LLVM 22 writes updates without their order, whatever the processor, and those of the system as those of
                // one GPU.
                ordered_updates: false,
                updates_of_all: false,
                ordered_barriers: true,
                has_nvidias_functions: true,
                vprintf: Some(VPRINTF),
                names: &[VPRINTF, DYNAMIC],
            },
        })
    }
}

impl fmt::Display for Nvidia {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("NVIDIA GPUs")
    }
}

impl Gpu for Nvidia {
    fn table(&self) -> &Table {
        &self.table
    }

    /// PTX as old as the processor and what is emitted here allow, so that older drivers take it.
    fn features(&self, asked: &str) -> Result<String> {
        let is_told = asked.split(',').any(|feature| feature.starts_with("+ptx"));
        // Which threads are active can be asked since PTX 6.2; 6.3 is what sm_75 began with.
        Ok(match asked {
            asked if self.capability >= 75 || is_told => asked.to_owned(),
            "" => "+ptx63".to_owned(),
            asked => format!("+ptx63,{asked}"),
        })
    }

    fn unsupported(&self) -> Option<String> {
        (self.capability < OLDEST).then(|| {
            let [own, oldest] = [self.capability, OLDEST].map(|number| f64::from(number) / 10.0);
            format!("compute capability {own:.1} is older than {oldest:.1}")
        })
    }

    fn space(&self, space: Space) -> u32 {
        match space {
            // Kernels are given constant memory as any other.
            Space::Global | Space::Constant => 1,
            Space::Local => 3,
            Space::Private => 5,
        }
    }

    fn sync_scope(&self, scope: Scope) -> &'static str {
        match scope {
            // LLVM has no instructions for less.
            Scope::Invocation | Scope::Subgroup | Scope::Workgroup => "block",
            Scope::Device => "device",
            _ => "",
        }
    }

    fn describe_module(&self, _: &Builder<'_>) {}

    fn describe(&self, b: &Builder<'_>, function: Value<'_>, kernel: &Kernel) {
        // The driver refuses launches of other sizes, and its assembler gives threads the registers
        // that this size leaves for each.
        if let Some([x, y, z]) = kernel.required_local_size {
            b.text_attribute(function, "nvvm.reqntid", &format!("{x},{y},{z}"));
        }
    }

    fn place<'m>(&self, b: &Builder<'m>, place: Place, axis: usize) -> Value<'m> {
        let register = match place {
            Place::Thread => "tid",
            Place::Threads => "ntid",
            Place::Group => "ctaid",
            Place::Groups => "nctaid",
        };
        let name = format!("llvm.nvvm.read.ptx.sreg.{register}.{}", AXES[axis]);
        b.intrinsic(&name, &[], &[])
    }

    fn begin<'m>(&self, _: &Builder<'m>, _: usize) -> Option<Value<'m>> {
        None
    }

    fn dimensions<'m>(&self, _: &Builder<'m>) -> Option<Value<'m>> {
        None
    }

    fn tells_launch(&self) -> bool {
        false
    }

    fn lane<'m>(&self, b: &Builder<'m>) -> Value<'m> {
        b.intrinsic("llvm.nvvm.read.ptx.sreg.laneid", &[], &[])
    }

    fn group_barrier(&self, b: &Builder<'_>) {
        // A block has 16 barriers, and a group's meet at one, as CUDA's `__syncthreads` does.
        let first = b.zero(b.int(32));
        b.intrinsic("llvm.nvvm.barrier.cta.sync.aligned.all", &[], &[first]);
    }

    fn sub_group_barrier<'m>(&self, b: &Builder<'m>, members: Value<'m>) {
        b.intrinsic("llvm.nvvm.bar.warp.sync", &[], &[members]);
    }

    fn active<'m>(&self, b: &Builder<'m>) -> Value<'m> {
        b.intrinsic("llvm.nvvm.activemask", &[], &[])
    }

    fn vote<'m>(&self, b: &Builder<'m>, members: Value<'m>, condition: Value<'m>) -> Value<'m> {
        b.intrinsic("llvm.nvvm.vote.ballot.sync", &[], &[members, condition])
    }

    fn exchange<'m>(
        &self,
        b: &Builder<'m>,
        members: Value<'m>,
        word: Value<'m>,
        from: From<'m>,
    ) -> Value<'m> {
        // Up to which lane others are, seen from the whole sub-group.
        let (mode, by, clamp) = match from {
            From::Lane(lane) | From::Same(lane) => ("idx", lane, 31),
            From::Xor(mask) => ("bfly", mask, 31),
            From::Above(delta) => ("down", delta, 31),
            From::Below(delta) => ("up", delta, 0),
        };
        let clamp = b.integer(b.int(32), clamp);
        let name = format!("llvm.nvvm.shfl.sync.{mode}.i32");
        b.intrinsic(&name, &[], &[members, word, by, clamp])
    }

    fn leads_to<'m>(&self, b: &Builder<'m>, pointer: Value<'m>, class: StorageClass) -> Value<'m> {
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
