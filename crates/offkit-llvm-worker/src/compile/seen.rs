//! The groups that a kernel sees where they lie in others: all that it is told of them is computed from global ids.

use offkit_compile::{Cut, Shape};
use offkit_spirv::grammar::BuiltIn;

use super::builder::Value;
use super::kernel::{Emitter, Seen};

impl<'m> Emitter<'_, 'm> {
    /// The words of a built-in variable that tells of groups, in the form of their shapes. None where the groups that the
    /// kernel sees are those that there are, or the variable tells of something else.
    pub(super) fn seen(&self, built_in: BuiltIn) -> Option<Vec<Value<'m>>> {
        match (self.plan.variant.cut, &self.launch.as_ref()?.seen) {
            (Cut::AsSeen, _) => None,
            (Cut::Merged, Some(seen)) => self.merged(built_in, seen),
            (Cut::Single | Cut::Merged, _) => self.single(built_in),
        }
    }

    /// Of groups of one work-item each.
    fn single(&self, built_in: BuiltIn) -> Option<Vec<Value<'m>>> {
        let [zero, one] = [0, 1].map(|number| self.word(number));
        match built_in {
            BuiltIn::NumWorkgroups => Some(self.launch.as_ref()?.global.to_vec()),
            BuiltIn::WorkgroupSize | BuiltIn::EnqueuedWorkgroupSize => Some(vec![one; 3]),
            BuiltIn::WorkgroupId => Some(self.numbers()?.to_vec()),
            BuiltIn::LocalInvocationId => Some(vec![zero; 3]),
            BuiltIn::LocalInvocationIndex => Some(vec![zero]),
            _ => None,
        }
    }

    /// Of groups of one size.
    fn merged(&self, built_in: BuiltIn, seen: &Seen<'m>) -> Option<Vec<Value<'m>>> {
        let b = self.b;
        match built_in {
            BuiltIn::NumWorkgroups => Some(seen.groups.to_vec()),
            BuiltIn::WorkgroupSize | BuiltIn::EnqueuedWorkgroupSize => Some(seen.local.to_vec()),
            BuiltIn::WorkgroupId => Some(self.divided(seen)?.map(|(group, _)| group).to_vec()),
            BuiltIn::LocalInvocationId => Some(self.divided(seen)?.map(|(_, local)| local).to_vec()),
            BuiltIn::LocalInvocationIndex => {
                let local = self.divided(seen)?.map(|(_, local)| local);
                // Along rows only the first dimension differs between lanes: others are scalars.
                let form = local[0].ty().width();
                let spread = |word: Value<'m>| match (form, word.ty().width()) {
                    (Some(_), None) => b.broadcast(word, form),
                    _ => word,
                };
                let [x, y, z] = local.map(spread);
                let [columns, rows, _] = seen.local.map(spread);
                Some(vec![b.add(b.mul(b.add(b.mul(z, rows), y), columns), x)])
            }
            _ => None,
        }
    }

    /// The group and the place in it, in each dimension.
    fn divided(&self, seen: &Seen<'m>) -> Option<[(Value<'m>, Value<'m>); 3]> {
        let b = self.b;
        let shapes = Shape::of_input(BuiltIn::GlobalInvocationId, self.plan.variant);
        let numbers = self.numbers()?;
        // Both factors have less than 33 bits, which LLVM is to know.
        let low = |word: Value<'m>| {
            let half = b.zext_or_trunc(word, b.int(32).vector(word.ty().width()));
            b.zext_or_trunc(half, word.ty())
        };
        Some([0, 1, 2].map(|axis| {
            let number = match shapes[axis] {
                Shape::Uniform => numbers[axis],
                shape => self.spread(numbers[axis], shape),
            };
            let spread = |word: Value<'m>| match number.ty().width() {
                Some(_) => b.broadcast(word, self.width),
                None => word,
            };
            // As `launch::division` has it: a number below 2^31 by a factor below 2^32 fits.
            let product = b.mul(low(number), spread(low(seen.factor[axis])));
            let group = b.lshr(product, spread(seen.shift[axis]));
            (group, b.sub(number, b.mul(group, spread(seen.local[axis]))))
        }))
    }

    /// Global ids, counted from the first of the range.
    fn numbers(&self) -> Option<[Value<'m>; 3]> {
        let b = self.b;
        let (launch, group, current) = (
            self.launch.as_ref()?,
            self.group.as_ref()?,
            self.current.as_ref()?,
        );
        Some([0, 1, 2].map(|axis| {
            let base = b.mul(group.id[axis], launch.local[axis]);
            let id = current.local_id[axis];
            match id.ty().width() {
                Some(_) => b.add(b.broadcast(base, self.width), id),
                None => b.add(base, id),
            }
        }))
    }
}
