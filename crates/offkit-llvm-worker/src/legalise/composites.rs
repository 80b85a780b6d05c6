//! Constants of SPIR-V whose parts have other types than they should.
//!
//! Where a constant holds pointers to things of different types, such as to a number and to an array, the back end gives
//! each the type of what it points to, and all of them the type of the first: what consumes the module may refuse that.
//! Such pointers are converted here, in the module that the back end wrote. And of an address inside of a variable it
//! takes the distance in bytes for an index into the variable's own type: four bytes of an array of numbers become four
//! numbers. Here it is an index into bytes.

use std::collections::HashMap;

use super::words::{self, *};

/// The module with such constants; `None` if there are none.
pub(super) fn repaired(words: &[u32]) -> Option<Vec<u32>> {
    let mut repair = Repair {
        written: words.get(..HEADER_WORDS)?.to_vec(),
        next: *words.get(BOUND)?,
        ..Repair::default()
    };
    let mut length = HEADER_WORDS;
    // Behind the first function, there are no constants.
    for (opcode, instruction) in words::globals(words) {
        repair.global(opcode, instruction);
        length += instruction.len();
    }
    if repair.converted.is_empty() {
        return None;
    }
    repair.written.extend_from_slice(words.get(length..)?);
    *repair.written.get_mut(BOUND)? = repair.next;
    Some(repair.written)
}

#[derive(Default)]
struct Repair {
    written: Vec<u32>,
    next: u32,
    /// The operands of types, by id, behind opcode and id.
    types: HashMap<u32, (u32, Vec<u32>)>,
    /// The types of constants and variables, by id.
    type_of: HashMap<u32, u32>,
    /// The opcodes and operands of constants, by id.
    constants: HashMap<u32, (u32, Vec<u32>)>,
    /// What was made of a constant for a type.
    converted: HashMap<(u32, u32), u32>,
}

impl Repair {
    /// Takes over a type, a constant, a variable, or something else before the functions.
    fn global(&mut self, opcode: u32, instruction: &[u32]) {
        let mut instruction = instruction.to_vec();
        match (opcode, instruction.as_slice()) {
            (TYPE_VECTOR | TYPE_ARRAY | TYPE_STRUCT | TYPE_POINTER, [_, id, operands @ ..]) => {
                self.types.insert(*id, (opcode, operands.to_vec()));
            }
            (CONSTANT_COMPOSITE | SPEC_CONSTANT_COMPOSITE, [_, of, id, parts @ ..]) => {
                let (of, id) = (*of, *id);
                let parts = self.parts_for(of, parts);
                instruction.splice(3.., parts.iter().copied());
                self.add(opcode, of, id, &parts);
            }
            (VARIABLE, [_, of, id, _storage, initializer]) => {
                let (of, id, initializer) = (*of, *id, *initializer);
                self.add(opcode, of, id, &[]);
                let pointee = self.pointer(of).map(|(_, pointee)| pointee);
                if let (Some(pointee), Some(place)) = (pointee, instruction.last_mut()) {
                    *place = self.convert(initializer, pointee);
                }
            }
            (SPEC_CONSTANT_OP, &[_, of, id, IN_BOUNDS_PTR_ACCESS_CHAIN, base, _, distance])
                if self.is_mistyped(of, base) =>
            {
                let base = self.convert(base, of);
                let operands = [IN_BOUNDS_PTR_ACCESS_CHAIN, base, distance];
                // Six words, one index less: what the pointer is moved by is the number of bytes.
                instruction = vec![6 << 16 | SPEC_CONSTANT_OP, of, id];
                instruction.extend(operands);
                self.add(opcode, of, id, &operands);
            }
            // Everything else with a type and an id that can be part of a constant.
            (UNDEF | 41..=52 | VARIABLE, [_, of, id, operands @ ..]) => {
                self.add(opcode, *of, *id, operands);
            }
            _ => {}
        }
        self.written.extend_from_slice(&instruction);
    }

    fn add(&mut self, opcode: u32, of: u32, id: u32, operands: &[u32]) {
        self.type_of.insert(id, of);
        self.constants.insert(id, (opcode, operands.to_vec()));
    }

    /// The storage class and the pointee of a pointer's type.
    fn pointer(&self, of: u32) -> Option<(u32, u32)> {
        match self.types.get(&of) {
            Some((TYPE_POINTER, operands)) => Some((*operands.first()?, *operands.get(1)?)),
            _ => None,
        }
    }

    /// Whether an index into what a pointer points to does not give what that type points to.
    fn is_mistyped(&self, of: u32, base: u32) -> bool {
        let base = self.type_of.get(&base).and_then(|of| self.pointer(*of));
        let (Some((_, wanted)), Some((_, pointee))) = (self.pointer(of), base) else {
            return false;
        };
        match self.types.get(&pointee) {
            Some((TYPE_ARRAY | TYPE_VECTOR, operands)) => operands.first() != Some(&wanted),
            _ => true,
        }
    }

    /// The parts of a constant of that type.
    fn parts_for(&mut self, of: u32, parts: &[u32]) -> Vec<u32> {
        let Some((kind, operands)) = self.types.get(&of).cloned() else {
            return parts.to_vec();
        };
        let wanted = |index: usize| match kind {
            TYPE_STRUCT => operands.get(index).copied(),
            TYPE_ARRAY => operands.first().copied(),
            _ => None,
        };
        let parts = parts.iter().enumerate();
        let parts =
            parts.map(|(index, part)| wanted(index).map_or(*part, |wanted| self.convert(*part, wanted)));
        parts.collect()
    }

    /// The same constant with another type, as far as its pointers make the difference.
    fn convert(&mut self, constant: u32, wanted: u32) -> u32 {
        let Some(&of) = self.type_of.get(&constant) else {
            return constant;
        };
        if of == wanted {
            return constant;
        }
        if let Some(known) = self.converted.get(&(constant, wanted)) {
            return *known;
        }
        let (opcode, operands) = match self.constants.get(&constant) {
            Some((opcode @ (UNDEF | CONSTANT_NULL), _)) => (*opcode, Vec::new()),
            Some((opcode @ (CONSTANT_COMPOSITE | SPEC_CONSTANT_COMPOSITE), parts)) => {
                let (opcode, parts) = (*opcode, parts.clone());
                (opcode, self.parts_for(wanted, &parts))
            }
            // A bitcast can't lead into another storage class, so that such a part stays as it is.
            _ => match (self.pointer(of), self.pointer(wanted)) {
                (Some((from, _)), Some((to, _))) if from == to => (SPEC_CONSTANT_OP, vec![BITCAST, constant]),
                _ => return constant,
            },
        };
        let id = self.next;
        self.next = self.next.saturating_add(1);
        let length = u32::try_from(operands.len())
            .unwrap_or_default()
            .saturating_add(3);
        // In front of the instruction that uses it, which is written once all its parts are.
        self.written.extend([length << 16 | opcode, wanted, id]);
        self.written.extend_from_slice(&operands);
        self.add(opcode, wanted, id, &operands);
        self.converted.insert((constant, wanted), id);
        id
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pointers_get_the_type_of_the_first() {
        let mut words = vec![0x0723_0203, 0x0001_0200, 0, 20, 0];
        for instruction in [
            op(21, &[1, 32, 0]),                                                  // uint
            op(TYPE_POINTER, &[2, 0, 1]),                                         // to it
            op(43, &[1, 3, 2]),                                                   // 2
            op(TYPE_ARRAY, &[4, 1, 3]),                                           // uint[2]
            op(TYPE_POINTER, &[5, 0, 4]),                                         // to it
            op(VARIABLE, &[2, 6, 0, 3]),                                          // uint x = 2
            op(46, &[4, 7]),                                                      // {0, 0}
            op(VARIABLE, &[5, 8, 0, 7]),                                          // uint y[2] = {0, 0}
            op(TYPE_ARRAY, &[9, 2, 3]),                                           // uint *[2]
            op(CONSTANT_COMPOSITE, &[9, 10, 6, 8]),                               // {&x, &y}
            op(21, &[12, 8, 0]),                                                  // uchar
            op(TYPE_POINTER, &[13, 0, 12]),                                       // to it
            op(SPEC_CONSTANT_OP, &[13, 14, IN_BOUNDS_PTR_ACCESS_CHAIN, 8, 3, 3]), // y, two bytes further
            op(FUNCTION, &[1, 11, 0, 1]),
        ] {
            words.extend(instruction);
        }
        let repaired = repaired(&words).unwrap();
        assert_eq!(repaired[BOUND], 22);
        let text = |words: &[u32]| words.iter().map(|word| format!("{word:x} ")).collect::<String>();
        let bitcast = text(&op(SPEC_CONSTANT_OP, &[2, 20, BITCAST, 8]));
        let composite = text(&op(CONSTANT_COMPOSITE, &[9, 10, 6, 20]));
        assert!(
            text(&repaired).contains(&(bitcast + &composite)),
            "{}",
            text(&repaired)
        );
        let base = text(&op(SPEC_CONSTANT_OP, &[13, 21, BITCAST, 8]));
        let address = text(&op(
            SPEC_CONSTANT_OP,
            &[13, 14, IN_BOUNDS_PTR_ACCESS_CHAIN, 21, 3],
        ));
        assert!(
            text(&repaired).contains(&(base + &address)),
            "{}",
            text(&repaired)
        );
        assert_eq!(super::repaired(&repaired), None);
    }
}
