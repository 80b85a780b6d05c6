//! What a kernel can see of how its range is cut.

use std::collections::BTreeSet;

use offkit_kernel::ir::{ConstantId, FunctionId, GroupScope, Home, Module, Operand, Operation};
use offkit_spirv::grammar::BuiltIn;

/// What a kernel can see of how its range is cut.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Facts {
    /// Work-groups, in whatever way.
    pub groups: bool,
    /// Sub-groups too: which work-items are in one is then not the compiler's to choose.
    pub sub_groups: bool,
    /// More of a group than ids and sizes: its work-items wait for each other, or their order is seen.
    pub together: bool,
}

impl Facts {
    /// What the kernel with this number and all that it calls can see; local memory aside.
    pub fn of(module: &Module, kernel: usize) -> Facts {
        let mut facts = Facts::default();
        let mut seen = BTreeSet::new();
        let mut left = vec![module.kernels[kernel].function];
        // Calls are followed, as nothing is inlined yet: the device asks before it compiles.
        while let Some(FunctionId(function)) = left.pop() {
            if !seen.insert(function) {
                continue;
            }
            let blocks = &module.functions[function as usize].blocks;
            for block in blocks {
                let incoming = block.phis.iter().flat_map(|phi| &phi.incoming);
                let incoming = incoming.map(|(_, operand)| *operand);
                facts.see_addresses(module, incoming.chain(block.terminator.operand()));
            }
            for instruction in blocks.iter().flat_map(|block| &block.instructions) {
                facts.see_addresses(module, instruction.operands.iter().copied());
                match &instruction.operation {
                    Operation::Input(global) => facts.see(module, global.0),
                    Operation::Collective(collective) => {
                        facts.groups = true;
                        facts.together = true;
                        facts.sub_groups |= collective.scope == GroupScope::SubGroup;
                    }
                    // The order of what is printed tells.
                    Operation::Print => (facts.groups, facts.together) = (true, true),
                    Operation::Ballot(_) => facts = Facts::ALL,
                    Operation::Call(function) => left.push(*function),
                    _ => {}
                }
            }
        }
        facts
    }

    const ALL: Facts = Facts {
        groups: true,
        sub_groups: true,
        together: true,
    };

    /// Whoever has the address of a built-in variable can read it.
    fn see_addresses(&mut self, module: &Module, operands: impl Iterator<Item = Operand>) {
        for operand in operands {
            let Operand::Constant(ConstantId(constant)) = operand else {
                continue;
            };
            for (_, global) in &module.constants[constant as usize].relocations {
                self.see(module, global.0);
            }
        }
    }

    fn see(&mut self, module: &Module, global: u32) {
        let Home::Input(built_in) = module.globals[global as usize].home else {
            return;
        };
        match built_in {
            BuiltIn::GlobalInvocationId
            | BuiltIn::GlobalSize
            | BuiltIn::GlobalOffset
            | BuiltIn::GlobalLinearId
            | BuiltIn::WorkDim => {}
            BuiltIn::NumWorkgroups
            | BuiltIn::WorkgroupSize
            | BuiltIn::EnqueuedWorkgroupSize
            | BuiltIn::WorkgroupId
            | BuiltIn::LocalInvocationId
            | BuiltIn::LocalInvocationIndex => self.groups = true,
            // All others are of sub-groups.
            _ => *self = Facts::ALL,
        }
    }
}
