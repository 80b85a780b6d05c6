//! Specialization constants of SYCL modules that become one.
//!
//! Each module numbers its constants (`SpecId`) from 0, and says in its property sets which number belongs to
//! which constant of the source and what the values are at first. Linked as they are, constants that have
//! nothing to do with each other would have one number, and would be set together. So numbers that are taken are
//! given anew, and a constant that both modules have, under one name, becomes one.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use offkit_object::property_set::names;
use offkit_object::{PropertySets, PropertyValue};
use offkit_spirv::Module;
use offkit_spirv::dr::Operand;
use offkit_spirv::grammar::Decoration;

use super::error::LinkError;

/// The key of the first values.
const ALL: &str = "all";

/// The number of what only fills up the end of a struct.
const PADDING: u32 = u32::MAX;

/// Most bytes of constants that have no first values, for which zeros hold the place: a few bytes of a file claim any
/// size.
const MOST_ZEROS: usize = 1 << 24;

/// The constants of the modules that were linked so far.
#[derive(Clone, Debug, Default)]
pub(super) struct Constants {
    /// The property sets that describe them all.
    descriptions: Vec<(String, Vec<Scalar>)>,
    /// The place of each among them, and where its values start.
    places: HashMap<String, (usize, usize)>,
    values: Vec<u8>,
    has_values: bool,
    /// Numbers that are taken.
    taken: BTreeSet<u32>,
    /// Those among them that belong to constants with names.
    named: HashSet<u32>,
    /// No number below is looked at again.
    gap: u32,
}

/// A scalar of a constant: its number, where it is in the constant, and its size, both in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Scalar {
    id: u32,
    offset: u32,
    size: u32,
}

impl Constants {
    /// Adds the constants of a module, and gives numbers in it anew where they are taken.
    ///
    /// `labels` are what messages call what was linked so far, and the module.
    pub(super) fn add(
        &mut self,
        sets: &PropertySets,
        module: &mut Module,
        labels: (&str, &str),
    ) -> Result<(), LinkError> {
        let differ = |property: &str| LinkError::Property {
            first: labels.0.to_owned(),
            second: labels.1.to_owned(),
            set: names::SPECIALIZATION_CONSTANTS.to_owned(),
            property: property.to_owned(),
        };
        let own = spec_ids(module);
        let values = sets
            .get(names::SPECIALIZATION_CONSTANT_DEFAULTS, ALL)
            .and_then(PropertyValue::as_bytes);
        self.has_values |= values.is_some();
        // A constant that nothing describes is set by its number: with others like it, it stays one under that
        // number, but it must not become one with a constant that has a name.
        let mut undescribed = own.clone();
        let mut renumbered = BTreeMap::new();
        // The set of first values is one run of bytes, constant after constant in the order of the other set. It has
        // no offsets: where each begins is known by the sizes of those before it.
        let mut at = 0_usize;
        let described = sets.set(names::SPECIALIZATION_CONSTANTS);
        for (name, value) in described.into_iter().flat_map(|set| set.iter()) {
            // Of a constant that was there before, the new module takes over the numbers; it must have the same
            // scalars at the same places. Others keep their numbers if these are free.
            let mut scalars = scalars(value).ok_or_else(|| differ(name))?;
            for scalar in &scalars {
                undescribed.remove(&scalar.id);
            }
            let size = size(&scalars);
            let value: Vec<u8> = match values {
                Some(values) => values
                    .get(at..at.saturating_add(size))
                    .ok_or_else(|| differ(name))?
                    .to_vec(),
                None if self.values.len().saturating_add(size) > MOST_ZEROS => {
                    return Err(LinkError::LargeConstants {
                        label: labels.1.to_owned(),
                        limit: MOST_ZEROS,
                    });
                }
                // Zeros hold the place, or the values of the next module would belong to the wrong constants.
                None => vec![0; size],
            };
            at = at.saturating_add(size);
            if let Some((old, old_value)) = self.find(name) {
                let places =
                    |scalars: &[Scalar]| scalars.iter().map(|s| (s.offset, s.size)).collect::<Vec<_>>();
                if places(old) != places(&scalars) || old_value != value {
                    return Err(differ(name));
                }
                let numbers = scalars.iter().zip(old).map(|(new, old)| (new.id, old.id));
                renumbered.extend(numbers.filter(|(new, old)| new != old));
                continue;
            }
            for scalar in scalars.iter_mut().filter(|scalar| scalar.id != PADDING) {
                if self.taken.contains(&scalar.id) {
                    let free = self.free(&own);
                    renumbered.insert(scalar.id, free);
                    scalar.id = free;
                }
                self.taken.insert(scalar.id);
            }
            self.named.extend(scalars.iter().map(|scalar| scalar.id));
            let place = (self.descriptions.len(), self.values.len());
            self.places.insert(name.to_owned(), place);
            self.descriptions.push((name.to_owned(), scalars));
            self.values.extend(value);
        }
        for id in undescribed {
            if !self.named.contains(&id) {
                continue;
            }
            let free = self.free(&own);
            self.taken.insert(free);
            renumbered.insert(id, free);
        }
        // All at once: the new number of one may be the old number of another.
        renumber(module, &renumbered);
        // Those that nothing describes are taken as well.
        self.taken.extend(spec_ids(module));
        Ok(())
    }

    /// A number that neither is taken nor one of `own`.
    fn free(&mut self, own: &BTreeSet<u32>) -> u32 {
        let most = self.taken.last().max(own.last());
        let free = most.map_or(Some(0), |most| most.checked_add(1));
        if let Some(free) = free.filter(|free| *free != PADDING) {
            return free;
        }
        // There are fewer constants than numbers.
        let mut numbers = self.gap..PADDING;
        let free = numbers.find(|number| !self.taken.contains(number) && !own.contains(number));
        self.gap = free.unwrap_or(PADDING);
        self.gap
    }

    fn find(&self, name: &str) -> Option<(&[Scalar], &[u8])> {
        let (place, at) = *self.places.get(name)?;
        let (_, scalars) = self.descriptions.get(place)?;
        Some((scalars, self.values.get(at..at.saturating_add(size(scalars)))?))
    }

    /// Writes the property sets.
    pub(super) fn describe(&self, sets: &mut PropertySets) {
        for (name, scalars) in &self.descriptions {
            let words: Vec<u32> = scalars
                .iter()
                .flat_map(|scalar| [scalar.id, scalar.offset, scalar.size])
                .collect();
            sets.insert(names::SPECIALIZATION_CONSTANTS, name.as_str(), words.as_slice());
        }
        if self.has_values {
            let values = self.values.as_slice();
            sets.insert(names::SPECIALIZATION_CONSTANT_DEFAULTS, ALL, values);
        }
    }
}

/// How many bytes a constant has among the first values.
fn size(scalars: &[Scalar]) -> usize {
    let ends = scalars
        .iter()
        .map(|scalar| scalar.offset.saturating_add(scalar.size));
    ends.max().unwrap_or_default() as usize
}

fn scalars(value: &PropertyValue) -> Option<Vec<Scalar>> {
    let words = value.as_u32s()?;
    let (triples, []) = words.as_chunks::<3>() else {
        return None;
    };
    let scalars = triples
        .iter()
        .map(|&[id, offset, size]| Scalar { id, offset, size });
    Some(scalars.collect())
}

/// The numbers of the constants of a module.
fn spec_ids(module: &Module) -> BTreeSet<u32> {
    let annotations = module.dr().annotations.iter();
    annotations
        .filter_map(|annotation| match annotation.operands.as_slice() {
            [
                _,
                Operand::Decoration(Decoration::SpecId),
                Operand::LiteralBit32(id),
            ] => Some(*id),
            _ => None,
        })
        .collect()
}

fn renumber(module: &mut Module, numbers: &BTreeMap<u32, u32>) {
    if numbers.is_empty() {
        return;
    }
    for annotation in &mut module.dr_mut().annotations {
        if let [
            _,
            Operand::Decoration(Decoration::SpecId),
            Operand::LiteralBit32(id),
        ] = annotation.operands.as_mut_slice()
            && let Some(new) = numbers.get(id)
        {
            *id = *new;
        }
    }
}

#[cfg(test)]
mod tests {
    use offkit_spirv::dr::{self, Instruction};
    use offkit_spirv::grammar::Op;

    use super::*;

    /// A module with constants of these numbers.
    fn module(ids: &[u32]) -> Module {
        let mut module = dr::Module::default();
        let int = vec![Operand::LiteralBit32(32), Operand::LiteralBit32(0)];
        let mut globals = vec![Instruction::new(Op::TypeInt, None, Some(1), int)];
        for (number, id) in ids.iter().zip(2..) {
            let zero = vec![Operand::LiteralBit32(0)];
            globals.push(Instruction::new(Op::SpecConstant, Some(1), Some(id), zero));
            let said = vec![
                Operand::IdRef(id),
                Operand::Decoration(Decoration::SpecId),
                Operand::LiteralBit32(*number),
            ];
            let decoration = Instruction::new(Op::Decorate, None, None, said);
            module.annotations.push(decoration);
        }
        module.types_global_values = globals;
        Module::from_dr(module)
    }

    fn sets(constants: &[(&str, &[u32])], values: &[u8]) -> PropertySets {
        let mut sets = PropertySets::new();
        for (name, words) in constants {
            sets.insert(names::SPECIALIZATION_CONSTANTS, *name, *words);
        }
        sets.insert(names::SPECIALIZATION_CONSTANT_DEFAULTS, ALL, values);
        sets
    }

    #[test]
    fn taken_numbers_are_given_anew_and_one_name_is_one_constant() {
        let mut constants = Constants::default();
        let (mut first, mut second) = (module(&[0, 1, 2]), module(&[0, 1, 7]));
        // `pair` has a byte, three bytes that nothing is in, and a word.
        let pair: &[u32] = &[0, 0, 1, 1, 4, 4];
        let labels = ("first", "second");
        constants
            .add(
                &sets(
                    &[("pair", pair), ("x", &[2, 0, 4])],
                    &[1, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0],
                ),
                &mut first,
                labels,
            )
            .unwrap();
        constants
            .add(
                &sets(
                    &[("y", &[0, 0, 1]), ("x", &[1, 0, 4]), ("z", &[7, 0, 1])],
                    &[9, 3, 0, 0, 0, 8],
                ),
                &mut second,
                labels,
            )
            .unwrap();
        assert_eq!(spec_ids(&first), BTreeSet::from([0, 1, 2]));
        // 0 was taken, 1 is `x` and was 2 in the first, 7 was free.
        assert_eq!(spec_ids(&second), BTreeSet::from([2, 7, 8]));
        let mut described = PropertySets::new();
        constants.describe(&mut described);
        let expected = sets(
            &[
                ("pair", pair),
                ("x", &[2, 0, 4]),
                ("y", &[8, 0, 1]),
                ("z", &[7, 0, 1]),
            ],
            &[1, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0, 9, 8],
        );
        assert_eq!(described, expected);
    }

    #[test]
    fn what_is_not_described_never_becomes_what_has_a_name() {
        let mut constants = Constants::default();
        let labels = ("first", "second");
        let (mut first, mut second, mut third) = (module(&[0, 1]), module(&[0, 1]), module(&[1]));
        constants
            .add(&sets(&[("x", &[0, 0, 4])], &[1, 0, 0, 0]), &mut first, labels)
            .unwrap();
        constants.add(&PropertySets::new(), &mut second, labels).unwrap();
        constants.add(&PropertySets::new(), &mut third, labels).unwrap();
        // 0 is `x`; 1 has no name in any of them.
        assert_eq!(spec_ids(&second), BTreeSet::from([1, 2]));
        assert_eq!(spec_ids(&third), BTreeSet::from([1]));
    }

    #[test]
    fn a_free_number_is_found_where_the_highest_is_in_use() {
        for highest in [u32::MAX, u32::MAX - 1] {
            let mut constants = Constants::default();
            let labels = ("first", "second");
            let (mut first, mut second) = (module(&[0, highest]), module(&[0, 1]));
            for (name, module) in [("x", &mut first), ("y", &mut second)] {
                constants
                    .add(&sets(&[(name, &[0, 0, 1])], &[1]), module, labels)
                    .unwrap();
            }
            assert_eq!(spec_ids(&second), BTreeSet::from([1, 2]));
        }
    }

    #[test]
    fn constants_without_values_take_no_memory_by_their_description() {
        let mut constants = Constants::default();
        let mut sets = PropertySets::new();
        let huge: &[u32] = &[0, u32::MAX - 1, 1];
        sets.insert(names::SPECIALIZATION_CONSTANTS, "x", huge);
        let error = constants
            .add(&sets, &mut module(&[0]), ("a", "b"))
            .expect_err("four gigabytes");
        assert!(matches!(error, LinkError::LargeConstants { .. }), "{error}");
        assert!(constants.values.is_empty());
    }

    #[test]
    fn one_name_with_two_values_is_an_error() {
        let mut constants = Constants::default();
        let x = |value: u8| sets(&[("x", &[0, 0, 1])], &[value]);
        let labels = ("a", "b");
        constants.add(&x(1), &mut module(&[0]), labels).unwrap();
        assert!(constants.add(&x(2), &mut module(&[0]), labels).is_err());
        assert!(constants.add(&x(1), &mut module(&[0]), labels).is_ok());
    }
}
