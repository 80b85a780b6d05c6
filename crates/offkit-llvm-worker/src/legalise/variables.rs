//! Variables in local memory that are as large as they should be.
//!
//! Where a loop goes over an array in local memory, the optimiser has a pointer walk through it; and where nothing else
//! tells what that points to, the back end takes the variable for one element of the array, or one byte of it. The code is
//! right, and what has the memory made makes too little. In the module that the back end wrote, such a variable is an array
//! again, and its name stands for a pointer to the first element.

use std::collections::HashMap;

use llvm_sys::core::{LLVMGetPointerAddressSpace, LLVMGlobalGetValueType, LLVMTypeOf};
use llvm_sys::target::{LLVMABISizeOfType, LLVMGetModuleDataLayout};

use super::words::{self, *};
use crate::module::Module;

/// LLVM's number of local memory, and SPIR-V's.
const LOCAL: u32 = 3;
const WORKGROUP: u32 = 4;

const PHYSICAL_32: u32 = 1;
const CPACKED: u32 = 10;

/// How many bytes the variables in local memory have, by name.
pub(crate) fn local_sizes(module: &Module) -> HashMap<String, u64> {
    let variables = module.globals().filter(|global| !global.is_function());
    // SAFETY: module and variables are alive, and each is asked what it is for.
    let sizes = variables.filter_map(|global| unsafe {
        let layout = LLVMGetModuleDataLayout(module.as_raw());
        let raw = global.as_raw();
        let is_local = LLVMGetPointerAddressSpace(LLVMTypeOf(raw)) == LOCAL;
        is_local.then(|| {
            (
                global.name(),
                LLVMABISizeOfType(layout, LLVMGlobalGetValueType(raw)),
            )
        })
    });
    sizes.collect()
}

/// The module with such variables as large as these sizes say; `None` if none is too small.
pub(super) fn repaired(words: &[u32], sizes: &HashMap<String, u64>) -> Option<Vec<u32>> {
    if sizes.is_empty() {
        return None;
    }
    let mut known = Known::default();
    let mut next = *words.get(BOUND)?;
    let mut short = HashMap::new();
    for (opcode, instruction) in words::globals(words) {
        known.add(opcode, instruction);
        if let (VARIABLE, [_, of, id, WORKGROUP]) = (opcode, instruction)
            && let Some(count) = known.missing(*of, *id, sizes)
        {
            let [array, pointer, length, variable] = [0, 1, 2, 3].map(|place| next.saturating_add(place));
            next = variable.saturating_add(1);
            short.insert(
                *id,
                Short {
                    count,
                    array,
                    pointer,
                    length,
                    variable,
                },
            );
        }
    }
    if short.is_empty() {
        return None;
    }
    let (number, is_new) = match known.number {
        Some(number) => (number, false),
        None => (next, true),
    };
    next = next.saturating_add(u32::from(is_new));
    let mut written = words.get(..HEADER_WORDS)?.to_vec();
    *written.get_mut(BOUND)? = next;
    let mut has_number = false;
    let mut length = HEADER_WORDS;
    for (opcode, instruction) in words::globals(words) {
        length += instruction.len();
        // It has been moved in front of the first that needs it.
        if has_number && !is_new && instruction == [4 << 16 | TYPE_INT, number, 32, 0] {
            continue;
        }
        has_number |= instruction == [4 << 16 | TYPE_INT, number, 32, 0];
        let variable = |id: &u32| short.get(id).map_or(*id, |short| short.variable);
        match (opcode, instruction) {
            (NAME | DECORATE, [first, id, rest @ ..]) => {
                written.extend([*first, variable(id)]);
                written.extend_from_slice(rest);
            }
            (ENTRY_POINT, _) => {
                let (head, interface) = words::entry_point(instruction)?;
                written.extend_from_slice(head);
                written.extend(interface.iter().map(variable));
            }
            (VARIABLE, [_, of, id, storage]) if short.contains_key(id) => {
                if !has_number {
                    written.extend([4 << 16 | TYPE_INT, number, 32, 0]);
                    has_number = true;
                }
                let short = short.get(id)?;
                let element = *known.pointees.get(of)?;
                written.extend([4 << 16 | CONSTANT, number, short.length, short.count]);
                written.extend([4 << 16 | TYPE_ARRAY, short.array, element, short.length]);
                written.extend([4 << 16 | TYPE_POINTER, short.pointer, *storage, short.array]);
                written.extend([4 << 16 | VARIABLE, short.pointer, short.variable, *storage]);
                written.extend([5 << 16 | SPEC_CONSTANT_OP, *of, *id, BITCAST, short.variable]);
            }
            _ => written.extend_from_slice(instruction),
        }
    }
    written.extend_from_slice(words.get(length..)?);
    Some(written)
}

/// A variable that is too small, and the ids of what takes its place.
struct Short {
    /// How many elements it has.
    count: u32,
    array: u32,
    pointer: u32,
    length: u32,
    variable: u32,
}

/// What types and names there are.
#[derive(Default)]
struct Known {
    names: HashMap<u32, String>,
    /// Size and alignment of types, in bytes, as far as they have any.
    types: HashMap<u32, (u64, u64)>,
    packed: Vec<u32>,
    /// What pointers to local memory point to.
    pointees: HashMap<u32, u32>,
    constants: HashMap<u32, u64>,
    /// The type of numbers of 32 bits without sign.
    number: Option<u32>,
    address: u64,
}

impl Known {
    fn add(&mut self, opcode: u32, instruction: &[u32]) {
        let layout = match (opcode, instruction) {
            (MEMORY_MODEL, [_, addressing, ..]) => {
                self.address = if *addressing == PHYSICAL_32 { 4 } else { 8 };
                return;
            }
            (NAME, [_, id, name @ ..]) => {
                self.names.insert(*id, words::text(name));
                return;
            }
            (DECORATE, [_, id, CPACKED]) => {
                self.packed.push(*id);
                return;
            }
            (CONSTANT, [_, _, id, low, high @ ..]) => {
                let high = high.first().copied().unwrap_or_default();
                self.constants
                    .insert(*id, u64::from(high) << 32 | u64::from(*low));
                return;
            }
            (TYPE_INT, [_, id, width, sign]) => {
                if (*width, *sign) == (32, 0) {
                    self.number = Some(*id);
                }
                Some(of_number(*width))
            }
            (TYPE_FLOAT, [_, _, width, ..]) => Some(of_number(*width)),
            (TYPE_VECTOR, [_, _, element, count]) => self.types.get(element).map(|(size, _)| {
                // Three take the room of four.
                let size = size.saturating_mul(u64::from(count.next_power_of_two()));
                (size, size)
            }),
            (TYPE_ARRAY, [_, _, element, count]) => (|| {
                let (size, alignment) = *self.types.get(element)?;
                Some((size.saturating_mul(*self.constants.get(count)?), alignment))
            })(),
            (TYPE_STRUCT, [_, id, members @ ..]) => self.of_struct(*id, members),
            (TYPE_POINTER, [_, id, storage, pointee]) => {
                if *storage == WORKGROUP {
                    self.pointees.insert(*id, *pointee);
                }
                Some((self.address, self.address))
            }
            _ => return,
        };
        if let (Some(layout), Some(id)) = (layout, instruction.get(1)) {
            self.types.insert(*id, layout);
        }
    }

    fn of_struct(&self, id: u32, members: &[u32]) -> Option<(u64, u64)> {
        let is_packed = self.packed.contains(&id);
        let (mut end, mut largest) = (0_u64, 1);
        for member in members {
            let (size, alignment) = *self.types.get(member)?;
            let alignment = if is_packed { 1 } else { alignment };
            largest = largest.max(alignment);
            end = end.checked_next_multiple_of(alignment)?.saturating_add(size);
        }
        Some((end.checked_next_multiple_of(largest)?, largest))
    }

    /// How many elements a variable of that type should have, where it is one that is too small.
    fn missing(&self, of: u32, id: u32, sizes: &HashMap<String, u64>) -> Option<u32> {
        let wanted = *sizes.get(self.names.get(&id)?)?;
        let (size, _) = *self.types.get(self.pointees.get(&of)?)?;
        let count = wanted.div_ceil(size.max(1));
        (size > 0 && count > 1).then(|| u32::try_from(count).ok())?
    }
}

/// Size and alignment of a number with so many bits.
fn of_number(bits: u32) -> (u64, u64) {
    let size = u64::from(bits).div_ceil(8).next_power_of_two();
    (size, size)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_variable_gets_the_elements_that_it_lacks() {
        let name = |text: [u8; 4]| u32::from_le_bytes(text);
        let module = |variable: &[Vec<u32>], interface: u32, bound: u32| -> Vec<u32> {
            let before = [
                op(MEMORY_MODEL, &[2, 2]),
                op(ENTRY_POINT, &[6, 9, name(*b"k\0\0\0"), interface]),
                op(NAME, &[interface, name(*b"t\0\0\0")]),
                op(TYPE_INT, &[1, 8, 0]),
                op(TYPE_POINTER, &[2, WORKGROUP, 1]),
            ];
            let behind = [op(TYPE_INT, &[3, 64, 0]), op(FUNCTION, &[1, 9, 0, 1])];
            let parts = before.iter().chain(variable).chain(&behind);
            [0x0723_0203, 0x0001_0200, 0, bound, 0]
                .into_iter()
                .chain(parts.flatten().copied())
                .collect()
        };
        let code = module(&[op(VARIABLE, &[2, 5, WORKGROUP])], 5, 10);
        let sizes = |size| HashMap::from([("t".to_owned(), size)]);
        let expected = [
            op(TYPE_INT, &[14, 32, 0]),
            op(CONSTANT, &[14, 12, 300]),
            op(TYPE_ARRAY, &[10, 1, 12]),
            op(TYPE_POINTER, &[11, WORKGROUP, 10]),
            op(VARIABLE, &[11, 13, WORKGROUP]),
            op(SPEC_CONSTANT_OP, &[2, 5, BITCAST, 13]),
        ];
        let repaired_code = repaired(&code, &sizes(300)).unwrap();
        assert_eq!(repaired_code, module(&expected, 13, 15));
        assert_eq!(repaired(&repaired_code, &sizes(300)), None);
        assert_eq!(repaired(&code, &sizes(1)), None);
        assert_eq!(repaired(&code, &HashMap::new()), None);
    }
}
