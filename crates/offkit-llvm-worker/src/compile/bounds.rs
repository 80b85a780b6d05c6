//! Accesses that are checked before they are made, where that is asked for.
//!
//! Of some addresses it is plain which variable or argument they are computed from. They are to stay in that one. Others may
//! lead into anything that the launch knows. A look at the memory that was found last decides for most accesses, once for a
//! vector whose addresses are the same or a stride apart. Where it doesn't, the device is asked for one work-item after the
//! other. If one of them would leave its memory, the device notes that and the function returns at once.

use std::collections::HashSet;

use llvm_sys::LLVMIntPredicate as IntPredicate;
use offkit_compile::{Shape, bounds};
use offkit_kernel::ir::{Instruction, Leaf, Line, Operand, Operation, Type as Kind, ValueId, scalar_size};
use offkit_spirv::grammar::StorageClass;

use super::builder::{Block, Value};
use super::kernel::{Emitter, Result};
use super::memory::Access;

/// What checks need in the whole function.
pub(super) struct Checks<'m> {
    /// Where the vector is: what [`bounds`] has the places of.
    place: Value<'m>,
    /// Leaves the function.
    abandoned: Block<'m>,
}

/// An access to check.
pub(super) struct Checked<'m> {
    /// What it does, as a number of [`bounds`].
    pub(super) kind: u64,
    pub(super) pointer: Operand,
    pub(super) line: Option<Line>,
    /// The addresses, which are of the shape.
    pub(super) place: Value<'m>,
    pub(super) shape: Shape,
    pub(super) mask: Option<Value<'m>>,
    /// What is accessed there: offsets and sizes in bytes.
    pub(super) pieces: Vec<(u64, u64)>,
}

impl<'m> Checked<'m> {
    pub(super) fn new(
        kind: u64,
        pointer: Operand,
        instruction: &Instruction,
        access: Access<'_, 'm>,
    ) -> Checked<'m> {
        let piece = |leaf: &Leaf| (leaf.offset, scalar_size(leaf.scalar));
        Checked {
            kind,
            pointer,
            line: instruction.line,
            place: access.place,
            shape: access.shape,
            mask: access.mask,
            pieces: access.leaves.iter().map(piece).collect(),
        }
    }
}

/// What an address is computed from.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Object {
    Unknown,
    /// A variable in local memory, by its number.
    Local(u32),
    /// An argument in local memory, by its number.
    Argument(u32),
    /// A struct that is passed by value, by its number among the arguments.
    Struct(u32),
    /// A variable of a work-item.
    Private(ValueId),
}

impl<'m> Emitter<'_, 'm> {
    /// Has accesses checked from now on, if they are to be.
    pub(super) fn begin_checks(&mut self) {
        if !self.plan.variant.check_bounds {
            return;
        }
        let b = self.b;
        let abandoned = b.block(self.function, "abandoned");
        let here = b.current();
        b.at_end(abandoned);
        b.return_void();
        b.at_end(here);
        self.checks = Some(Checks {
            place: self.slot(b.int(64).vector(Some(bounds::PLACE_WORDS))),
            abandoned,
        });
    }

    /// Notes where the vector is.
    pub(super) fn place_checks(&mut self) {
        let (b, number) = (self.b, self.group_number());
        let (Some(checks), Some(current), Some(shared), Some(group)) =
            (&self.checks, &self.current, self.group_scratch, number)
        else {
            return;
        };
        let layout = b.table(&self.layout());
        let address = |pointer: Value<'m>| self.coerce(pointer, b.int(64));
        let words = [
            (bounds::LOCAL, address(b.parameter(self.function, 3))),
            (bounds::SHARED, address(shared)),
            (bounds::OWN, address(current.scratch)),
            (bounds::GROUP, group),
            (bounds::FIRST, current.first),
            (bounds::LAYOUT, address(layout)),
        ];
        for (index, word) in words {
            b.store(word, b.offset(checks.place, self.word(index * 8)), 8);
        }
    }

    /// Where variables are in a group's memory, for addresses of which nothing is known.
    fn layout(&self) -> Vec<u64> {
        let size = |kind| self.module.types.layout(kind).size;
        let mut words = vec![
            self.private_size,
            self.locals.len() as u64,
            self.code.variables.len() as u64,
        ];
        // In order: the table is part of the code, and the same kernel is to give the same code.
        let mut locals: Vec<_> = self.locals.iter().collect();
        locals.sort_unstable();
        for (number, at) in locals {
            let kind = self.module.globals[*number as usize].kind;
            words.extend([u64::from(*number), *at, size(kind)]);
        }
        for variable in &self.code.variables {
            let at = self.variables.get(&variable.address).copied().unwrap_or(0);
            words.extend([0, at, size(variable.kind)]);
        }
        words
    }

    /// What an address is computed from, if that is plain to see.
    fn object(&self, pointer: Operand) -> Object {
        self.origin(pointer, &mut HashSet::new())
            .unwrap_or(Object::Unknown)
    }

    /// The same; none if it leads back to what is seen already, and adds nothing.
    fn origin(&self, pointer: Operand, seen: &mut HashSet<ValueId>) -> Option<Object> {
        let value = match pointer {
            Operand::Value(value) => value,
            Operand::Constant(constant) => {
                let constant = &self.module.constants[constant.0 as usize];
                return Some(match constant.relocations[..] {
                    [(_, global)] if self.locals.contains_key(&global.0) => Object::Local(global.0),
                    _ => Object::Unknown,
                });
            }
        };
        // Phis of a loop lead back to themselves.
        if !seen.insert(value) {
            return None;
        }
        if let Some(parameter) = self.code.parameters.get(value.0 as usize) {
            return Some(match self.module.types.get(parameter.kind) {
                _ if parameter.by_value => Object::Struct(value.0),
                Kind::Pointer {
                    class: StorageClass::Workgroup,
                    ..
                } => Object::Argument(value.0),
                _ => Object::Unknown,
            });
        }
        if self.variables.contains_key(&value) {
            return Some(Object::Private(value));
        }
        // Through all that computes an address from another: by how much it moves is what checks look at.
        let sources: Vec<Operand> = match self.plan.definition(value) {
            Some(instruction) => match instruction.operation {
                Operation::Address { .. } | Operation::Reinterpret | Operation::Expect => {
                    vec![instruction.operands[0]]
                }
                Operation::Select => instruction.operands[1..].to_vec(),
                _ => return Some(Object::Unknown),
            },
            None => {
                let mut phis = self.code.blocks.iter().flat_map(|block| &block.phis);
                let phi = phis.find(|phi| phi.result == value)?;
                phi.incoming.iter().map(|(_, operand)| *operand).collect()
            }
        };
        // What a loop's phi gets from its own round adds nothing: all other ways must agree.
        let mut found = None;
        for source in sources {
            match (found, self.origin(source, seen)) {
                (_, None) => {}
                (None, other) => found = other,
                (Some(one), Some(other)) if one == other => {}
                _ => return Some(Object::Unknown),
            }
        }
        found
    }

    /// The constants that tell the device of an access.
    fn site(&self, checked: &Checked<'m>, object: Object) -> Vec<u64> {
        let line = checked.line;
        let size = |kind| self.module.types.layout(kind).size;
        let [kind, number, at, length] = match object {
            Object::Unknown => [bounds::ANY, 0, 0, 0],
            Object::Local(number) => {
                let kind = self.module.globals[number as usize].kind;
                [bounds::VARIABLE, number.into(), self.locals[&number], size(kind)]
            }
            Object::Argument(number) => [bounds::ARGUMENT, number.into(), 0, 0],
            Object::Struct(number) => {
                let size = match self.module.types.get(self.code.parameters[number as usize].kind) {
                    Kind::Pointer { pointee, .. } => size(*pointee),
                    _ => 0,
                };
                [bounds::STRUCT, number.into(), 0, size]
            }
            Object::Private(value) => {
                let variable = self.code.variables.iter().find(|other| other.address == value);
                let size = variable.map_or(0, |variable| size(variable.kind));
                [bounds::PRIVATE, 0, self.variables[&value], size]
            }
        };
        let mut words = vec![
            checked.kind,
            // Files count from 1 there: 0 is none.
            line.map_or(0, |line| u64::from(line.file.0) + 1),
            line.map_or(0, |line| line.line.into()),
            kind,
            number,
            at,
            length,
            checked.pieces.len() as u64,
        ];
        words.extend(checked.pieces.iter().flat_map(|(offset, size)| [*offset, *size]));
        words
    }

    /// Checks an access that is about to be made.
    pub(super) fn check(&mut self, checked: &Checked<'m>) -> Result<()> {
        let low = checked.pieces.iter().map(|(offset, _)| *offset).min();
        let (Some(checks), Some(low)) = (&self.checks, low) else {
            return Ok(());
        };
        let (b, word) = (self.b, self.b.int(64));
        let (at, abandoned) = (checks.place, checks.abandoned);
        let Checked {
            place, shape, mask, ..
        } = *checked;
        let end = checked.pieces.iter().map(|(offset, size)| offset + size).max();
        let span = end.unwrap_or(low) - low;
        // What a pointer comes from is asked of the program, and not of the address: one that has
        // left its variable may lie in another.
        let object = self.object(checked.pointer);
        let site = self.site(checked, object);
        let length = site[bounds::SITE_LENGTH];

        // What is accessed in one piece: from an address on, so many bytes.
        let one = match (self.width, shape) {
            (None, _) => Some((0, span)),
            // Each work-item is to stay in its own copy, which what the vector accesses in one piece doesn't tell.
            (Some(_), _) if matches!(object, Object::Private(_)) => None,
            (Some(_), Shape::Uniform) => Some((0, span)),
            // With a mask, the addresses of those who don't take part may be anywhere.
            // A negative stride has the last work-item's address first.
            (Some(width), Shape::Strided(by)) if mask.is_none() => {
                let way = by.wrapping_mul(i64::from(width) - 1);
                Some((way.min(0), way.unsigned_abs() + span))
            }
            _ => None,
        };
        let addresses = self.coerce(self.spread(place, shape), word);
        let (first, size) = match one {
            Some((before, size)) => {
                let first = self.coerce(place, word);
                (
                    b.add(first, b.signed(word, before.wrapping_add(low as i64))),
                    size,
                )
            }
            None => {
                let addresses = match addresses.ty().width() {
                    Some(_) => addresses,
                    None => b.broadcast(addresses, self.width),
                };
                (b.add(addresses, b.integer(addresses.ty(), low)), span)
            }
        };
        let ty = first.ty();
        let form = |word: Value<'m>| match word.ty().width() {
            Some(_) => word,
            None => b.broadcast(word, ty.width()),
        };
        // The memory that it is to be in, or in which one was before.
        let known = |start: Value<'m>| (form(self.coerce(start, word)), b.integer(ty, length));
        let (hint, (start, room)) = match object {
            Object::Private(value) => (None, known(self.fixed[&value][0])),
            Object::Struct(number) => (None, known(self.fixed[&ValueId(number)][0])),
            Object::Local(_) => {
                let shared = self.group_scratch.unwrap_or(at);
                let start = b.offset(shared, self.word(site[bounds::SITE_AT]));
                (None, known(start))
            }
            Object::Unknown | Object::Argument(_) => {
                // Nothing is inside of no bytes, so the first access always asks the device, which fills this in.
                let hint = self.zeroed_slot(2);
                let part = |index: u64| form(b.load(word, b.offset(hint, self.word(index * 8)), 8));
                (Some(hint), (part(0), part(1)))
            }
        };
        // One comparison for both ends: what is before the start is a huge unsigned offset. The room behind the
        // offset doesn't wrap where `begins` holds, and is not looked at elsewhere.
        let offset = b.sub(first, start);
        let begins = b.icmp(IntPredicate::LLVMIntULT, offset, room);
        let ends = b.icmp(IntPredicate::LLVMIntUGE, b.sub(room, offset), b.integer(ty, size));
        let mut is_inside = b.and(begins, ends);
        if checked.kind == bounds::ATOMIC {
            // A scalar's size is a power of two. Of an access that isn't aligned the device says what is wrong.
            let rest = b.and(first, b.integer(ty, span - 1));
            is_inside = b.and(is_inside, b.icmp(IntPredicate::LLVMIntEQ, rest, b.zero(ty)));
        }
        let mut is_open = b.not(is_inside);
        if let (Some(mask), Some(_)) = (mask, is_open.ty().width()) {
            // Chosen, so that an address that is nothing counts only where a work-item takes part.
            is_open = b.select(mask, is_open, b.truth(is_open.ty().width(), false));
        }
        // To branch on poison is undefined behaviour; frozen, it goes one way or the other.
        let is_open = b.freeze(self.any(is_open));
        let (asked, made) = (
            b.block(self.function, "bounds"),
            b.block(self.function, "bounds.checked"),
        );
        b.branch(is_open, asked, made);

        b.at_end(asked);
        let site = b.table(&site);
        let hint = hint.unwrap_or_else(|| b.zero(b.pointer()));
        let addresses = self.apart(addresses);
        let function = self.external("bounds");
        let pointer = b.pointer();
        let ty = b.function_type(word, &[pointer, pointer, pointer, pointer, word, word]);
        self.each(mask, &mut |emitter, lane| {
            let launch = b.parameter(emitter.function, 0);
            let address = emitter.word_of_lane(addresses, lane);
            let answer = b.call(ty, function, &[launch, site, at, hint, address, lane]);
            emitter.go_on_if(answer, abandoned);
            Ok(())
        })?;
        b.jump(made);
        b.at_end(made);
        Ok(())
    }

    /// Has the device check an access of a number of bytes that is known when the code runs, for one work-item.
    pub(super) fn check_range(
        &mut self,
        kind: u64,
        pointer: Operand,
        line: Option<Line>,
        [address, size, lane]: [Value<'m>; 3],
    ) {
        let Some(checks) = &self.checks else { return };
        let (b, word) = (self.b, self.b.int(64));
        let (at, abandoned) = (checks.place, checks.abandoned);
        let checked = Checked {
            kind,
            pointer,
            line,
            place: address,
            shape: Shape::Uniform,
            mask: None,
            pieces: Vec::new(),
        };
        let site = b.table(&self.site(&checked, self.object(pointer)));
        let function = self.external("bounds_of_range");
        let ty = b.function_type(word, &[b.pointer(), b.pointer(), b.pointer(), word, word, word]);
        let launch = b.parameter(self.function, 0);
        let address = self.coerce(address, word);
        let answer = b.call(ty, function, &[launch, site, at, address, size, lane]);
        self.go_on_if(answer, abandoned);
    }

    /// Goes on here if the answer is not zero.
    fn go_on_if(&self, answer: Value<'m>, abandoned: Block<'m>) {
        let b = self.b;
        let next = b.block(self.function, "bounds.next");
        // Left at once: the access, and all that follows from it, must not happen.
        let is_good = b.icmp(IntPredicate::LLVMIntNE, answer, b.zero(answer.ty()));
        b.branch(is_good, next, abandoned);
        b.at_end(next);
    }
}
