//! Variables of the program, which all kernels share, and of work-groups.

use std::collections::HashMap;

use offkit_kernel::builtins::Scalar;
use offkit_kernel::ir::{self, Constant, Home, scalar_size};

use super::super::builder::{Builder, Value};
use super::super::kernel::refuse;
use super::gpu::{Gpu, Space};
use super::kernel::Result;
use super::names::{self, Names, is_symbol};

/// What the launch has of local memory, beside variables, for arguments that point there.
pub(super) const DYNAMIC: &str = "offkit_local_memory";

/// Arguments in local memory are as far apart as the largest alignment of OpenCL's types.
pub(super) const LARGEST_ALIGNMENT: u32 = 128;

/// Bytes of a variable that are written down one by one, at most.
const MOST_WRITTEN: u64 = 256 << 20;

/// The variables of the program that have been met.
pub(super) struct Variables<'b, 'm> {
    b: &'b Builder<'m>,
    module: &'b ir::Module,
    gpu: &'b dyn Gpu,
    known: HashMap<u32, Value<'m>>,
    dynamic: Option<Value<'m>>,
    /// What is seen of the code.
    pub(super) names: Names,
}

impl<'b, 'm> Variables<'b, 'm> {
    pub(super) fn new(b: &'b Builder<'m>, module: &'b ir::Module, gpu: &'b dyn Gpu) -> Self {
        Self {
            b,
            module,
            gpu,
            known: HashMap::new(),
            dynamic: None,
            names: Names::new(gpu.table().names),
        }
    }

    /// A generic pointer to a variable of the program, by its number.
    pub(super) fn of_program(&mut self, number: u32) -> Result<Value<'m>> {
        let b = self.b;
        if let Some(known) = self.known.get(&number) {
            return Ok(*known);
        }
        let Some(global) = self.module.globals.get(number as usize) else {
            return refuse("it uses a variable that the module doesn't have");
        };
        let size = self.module.types.layout(global.kind).size;
        let name = global.host_name.as_ref().unwrap_or(&global.name);
        // A host can write only what isn't constant, and finds only what the device's tools
        // let be a symbol.
        let is_seen = global.home != Home::Constant && is_symbol(name);
        if is_seen {
            self.names.take(name)?;
        }
        let align = u32::try_from(global.align).unwrap_or(1).max(1);
        let initializer = global.initializer.map(|id| &self.module.constants[id.0 as usize]);
        // Zeros are written by nobody.
        let initializer = initializer.filter(|constant| !constant.words.is_empty());
        if initializer.is_some() && size > MOST_WRITTEN {
            return refuse(format!(
                "variable `{name}` has {size} bytes that are not all zero, and {MOST_WRITTEN} are the most"
            ));
        }
        let relocations = initializer.map_or(&[][..], |constant| &constant.relocations);
        let leaves = match initializer {
            Some(_) => self.module.types.all_leaves(global.kind),
            None => Vec::new(),
        };
        let places: Vec<u64> = relocations
            .iter()
            .filter_map(|(word, _)| leaves.get(*word as usize))
            .map(|leaf| leaf.offset)
            .collect();
        let space = self.gpu.space(match global.home {
            Home::Constant => Space::Constant,
            _ => Space::Global,
        });
        let variable = match is_seen {
            true => b.variable(name, size, &places, (space, align)),
            false => b.variable(&names::own(name), size, &places, (space, align)),
        };
        let pointer = b.space_cast(variable, b.pointer());
        // Known before it is filled: variables may lead to each other.
        self.known.insert(number, pointer);
        if let Some(constant) = initializer {
            let mut bytes = vec![0; usize::try_from(size).unwrap_or(0)];
            let mut addresses = Vec::new();
            write_words(constant, &leaves, &mut bytes);
            for ((word, other), place) in relocations.iter().zip(&places) {
                let offset = constant.words.get(*word as usize).copied().unwrap_or(0);
                let other = self.of_program(other.0)?;
                let address = match offset {
                    0 => other,
                    offset => b.offset(other, b.integer(b.int(64), offset)),
                };
                addresses.push((*place, address));
            }
            b.fill(variable, &bytes, &addresses);
        } else {
            b.clear(variable);
        }
        if global.home == Home::Constant {
            b.set_constant(variable);
        }
        if is_seen {
            b.set_visible(variable);
            if self.gpu.table().is_shared_object {
                b.set_protected(variable);
            }
        }
        Ok(pointer)
    }

    /// A generic pointer to the local memory that the launch has for arguments.
    pub(super) fn dynamic(&mut self) -> Value<'m> {
        let b = self.b;
        *self.dynamic.get_or_insert_with(|| {
            let space = self.gpu.space(Space::Local);
            let variable = b.variable(DYNAMIC, 0, &[], (space, LARGEST_ALIGNMENT));
            // As CUDA's `extern __shared__`: without a size, it is as large as the launch says.
            b.leave_open(variable);
            b.space_cast(variable, b.pointer())
        })
    }
}

/// Writes the plain words of a constant as they are in memory.
fn write_words(constant: &Constant, leaves: &[ir::Leaf], bytes: &mut [u8]) {
    for (index, leaf) in leaves.iter().enumerate() {
        let word = constant.words.get(index).copied().unwrap_or(0);
        let is_address = constant
            .relocations
            .iter()
            .any(|(other, _)| *other as usize == index);
        if is_address {
            continue;
        }
        let word = match leaf.scalar {
            Scalar::Bool => u64::from(word != 0),
            _ => word,
        };
        let (start, size) = (leaf.offset as usize, scalar_size(leaf.scalar) as usize);
        if let Some(place) = bytes.get_mut(start..start + size) {
            place.copy_from_slice(&word.to_le_bytes()[..size]);
        }
    }
}
