//! What operations on constants give, exactly as a device computes it.

use offkit_kernel::builtins::convert::convert_lane;
use offkit_kernel::builtins::{self, Scalar, Shape, truncate};
use offkit_kernel::ir::{
    Constant, ConstantId, GlobalId, Home, Operand, Operation, Type, TypeId, Types, arithmetic, reinterpret,
    scalar_size,
};

use super::body::{Body, MOST_PARTS};

/// A word of a constant: an integer, and the variable whose address is added to it.
type Word = (u64, Option<GlobalId>);

/// The constant that an operation gives, if all its operands are constants.
pub(super) fn evaluate(
    body: &mut Body,
    operation: &Operation,
    operands: &[Operand],
    kind: TypeId,
) -> Option<Operand> {
    let constants = operands.iter().map(|operand| match operand {
        Operand::Constant(id) => Some(*id),
        Operand::Value(_) => None,
    });
    let constants: Vec<ConstantId> = constants.collect::<Option<_>>()?;
    let types = &body.module.types;
    let lanes = types.layout(kind).lanes;
    if lanes > MOST_PARTS {
        return None;
    }
    let values: Vec<Vec<Word>> = constants
        .iter()
        .map(|id| words_of(body, *id))
        .collect::<Option<_>>()?;
    let words = compute(body, operation, &constants, &values, kind)?;
    let fits = |(scalar, (word, _)): (Scalar, &Word)| truncate(scalar, *word) == *word;
    let leaves = types.leaves(kind).into_iter().map(|leaf| leaf.scalar);
    // No constant has a word that is too wide for its scalar: the verifier refuses it.
    if words.len() as u64 != lanes || !leaves.zip(&words).all(fits) {
        return None;
    }
    let relocations = words.iter().zip(0..);
    let relocations = relocations.filter_map(|((_, global), index)| Some((index, (*global)?)));
    let constant = Constant {
        kind,
        relocations: relocations.collect(),
        words: words.iter().map(|(word, _)| *word).collect(),
    };
    Some(body.constant(constant))
}

/// What is at a constant address, if it is in constant memory.
pub(super) fn load(body: &mut Body, pointer: Operand, kind: TypeId) -> Option<Operand> {
    let Operand::Constant(pointer) = pointer else {
        return None;
    };
    let Constant {
        words, relocations, ..
    } = &body.module.constants[pointer.0 as usize];
    let ([offset], [(_, global)]) = (words.as_slice(), relocations.as_slice()) else {
        return None;
    };
    let (offset, global) = (*offset, &body.module.globals[global.0 as usize]);
    let types = &body.module.types;
    // Other variables may have been written since, by this kernel or an earlier one.
    if global.home != Home::Constant || types.layout(kind).lanes > MOST_PARTS {
        return None;
    }
    let table = &body.module.constants[global.initializer?.0 as usize];
    let mut found = Constant::plain(kind, Vec::new());
    for (leaf, place) in types.leaves(kind).into_iter().zip(0..) {
        let word = word_at(types, table.kind, offset.checked_add(leaf.offset)?, leaf.scalar)?;
        let at = usize::try_from(word).ok()?;
        // A constant without words is zero throughout.
        found.words.push(match table.words.is_empty() {
            true => 0,
            false => *table.words.get(at)?,
        });
        // They ascend, or the verifier would have refused the module.
        let relocation = table
            .relocations
            .binary_search_by_key(&word, |(word, _)| u64::from(*word));
        if let Ok(relocation) = relocation {
            found.relocations.push((place, table.relocations[relocation].1));
        }
    }
    Some(body.constant(found))
}

/// Which word of a value has the scalar at an offset in memory.
fn word_at(types: &Types, mut kind: TypeId, mut offset: u64, scalar: Scalar) -> Option<u64> {
    let mut word = 0;
    loop {
        let (part, start, first) = match types.get(kind) {
            Type::Array { element, .. } => {
                types.part(kind, offset.checked_div(types.layout(*element).size)?)?
            }
            Type::Struct { members, .. } if members.len() as u64 <= MOST_PARTS => {
                let parts = (0..members.len() as u64)
                    .rev()
                    .map_while(|index| types.part(kind, index));
                // From the last member on, the first that begins no later than the place holds it: but for members
                // without bytes, which begin where others do.
                let mut parts = parts.filter(|(part, ..)| types.layout(*part).size > 0);
                parts.find(|(_, start, _)| *start <= offset)?
            }
            _ => break,
        };
        (kind, offset, word) = (part, offset - start, word + first);
    }
    let size = scalar_size(types.scalar(kind).filter(|found| *found == scalar)?);
    let lane = offset / size;
    (offset.is_multiple_of(size) && lane < types.layout(kind).lanes).then_some(word + lane)
}

/// The one word of a constant that is no address.
pub(super) fn plain_word(body: &Body, operand: Operand) -> Option<u64> {
    let Operand::Constant(id) = operand else {
        return None;
    };
    let constant = &body.module.constants[id.0 as usize];
    let plain = constant.relocations.is_empty() && body.module.types.layout(constant.kind).lanes == 1;
    plain.then(|| constant.words.first().copied().unwrap_or(0))
}

fn words_of(body: &Body, id: ConstantId) -> Option<Vec<Word>> {
    let constant = &body.module.constants[id.0 as usize];
    let lanes = body.module.types.layout(constant.kind).lanes;
    if lanes > MOST_PARTS {
        return None;
    }
    let mut words: Vec<Word> = constant.words.iter().map(|word| (*word, None)).collect();
    words.resize(usize::try_from(lanes).ok()?, (0, None));
    for (word, global) in &constant.relocations {
        words.get_mut(*word as usize)?.1 = Some(*global);
    }
    Some(words)
}

// Nothing can be computed with an address: what it is, is only known when the program is loaded.
fn plain(words: &[Word]) -> Option<Vec<u64>> {
    let plain = words
        .iter()
        .map(|(word, global)| global.is_none().then_some(*word));
    plain.collect()
}

fn compute(
    body: &Body,
    operation: &Operation,
    constants: &[ConstantId],
    values: &[Vec<Word>],
    kind: TypeId,
) -> Option<Vec<Word>> {
    let types = &body.module.types;
    let kind_at = |index: usize| Some(body.module.constants[constants.get(index)?.0 as usize].kind);
    let scalar_at = |index: usize| types.scalar(kind_at(index)?);
    let lanes = types.lanes(kind) as usize;
    let words = |words: Vec<u64>| Some(words.into_iter().map(|word| (word, None)).collect());
    match operation {
        Operation::Elementwise(op) => {
            let function = arithmetic::resolve(*op, scalar_at(0)?)?;
            let operands: Vec<Vec<u64>> = values.iter().map(|value| plain(value)).collect::<Option<_>>()?;
            let lane = |lane: usize| -> Option<u64> {
                // Operands of one lane count for all.
                let words = operands
                    .iter()
                    .map(|words| words.get(if words.len() == 1 { 0 } else { lane }));
                Some(function.apply(&words.map(Option::<&u64>::copied).collect::<Option<Vec<_>>>()?))
            };
            words((0..lanes).map(lane).collect::<Option<_>>()?)
        }
        Operation::Fold(op) => {
            let function = arithmetic::resolve_binary(*op, scalar_at(0)?)?;
            words(vec![plain(values.first()?)?.into_iter().reduce(function)?])
        }
        Operation::Convert {
            kind: conversion,
            saturate,
            rounding,
        } => {
            let (from, to) = (scalar_at(0)?, types.scalar(kind)?);
            let convert = |word| convert_lane(*conversion, from, to, *rounding, *saturate, word);
            words(plain(values.first()?)?.into_iter().map(convert).collect())
        }
        Operation::Extended(op) => {
            let shape = |kind| {
                Some(Shape {
                    scalar: types.scalar(kind)?,
                    lanes: types.lanes(kind),
                })
            };
            let shapes: Vec<Shape> = (0..constants.len())
                .map(|index| shape(kind_at(index)?))
                .collect::<Option<_>>()?;
            // With a pointer it stores something.
            if (0..constants.len()).any(|index| kind_at(index).is_some_and(|kind| types.is_pointer(kind))) {
                return None;
            }
            let operands: Vec<Vec<u64>> = values.iter().map(|value| plain(value)).collect::<Option<_>>()?;
            let arguments: Vec<(&[u64], Shape)> = operands
                .iter()
                .map(Vec::as_slice)
                .zip(shapes.iter().copied())
                .collect();
            let function = builtins::resolve(*op, shape(kind)?, &shapes)?;
            let (mut first, mut second) = (vec![0; lanes], vec![0; lanes]);
            function(shape(kind)?, &arguments, &mut first, &mut second);
            words(first)
        }
        Operation::Select => {
            let condition = plain(values.first()?)?;
            let lane = |lane: usize| {
                let holds = *condition.get(if condition.len() == 1 { 0 } else { lane })? != 0;
                values.get(if holds { 1 } else { 2 })?.get(lane).copied()
            };
            (0..lanes).map(lane).collect()
        }
        Operation::Reinterpret => {
            let (from, to) = (scalar_at(0)?, types.scalar(kind)?);
            if from.bits() == to.bits() {
                return values.first().cloned();
            }
            words(reinterpret(&plain(values.first()?)?, from, to))
        }
        Operation::Extract(first) => {
            let rest = values.first()?.get(*first as usize..)?;
            Some(rest.get(..lanes)?.to_vec())
        }
        Operation::Insert(first) => {
            let [composite, object] = values else {
                return None;
            };
            let mut whole = composite.clone();
            let part = whole.get_mut(*first as usize..)?.get_mut(..object.len())?;
            part.copy_from_slice(object);
            Some(whole)
        }
        Operation::Construct => Some(values.concat()),
        Operation::Shuffle(picked) => {
            let pool = values.concat();
            let word = |lane: &Option<u32>| match lane {
                Some(lane) => pool.get(*lane as usize).copied(),
                None => Some((0, None)),
            };
            picked.iter().map(word).collect()
        }
        Operation::Address { offset, strides } => {
            let mut word = *values.first()?.first()?;
            word.0 = word.0.wrapping_add(*offset);
            for (index, stride) in (1..).zip(strides) {
                let place = *plain(values.get(index)?)?.first()?;
                let place = builtins::sign_extend(scalar_at(index)?, place) as u64;
                word.0 = word.0.wrapping_add(place.wrapping_mul(*stride));
            }
            Some(vec![word])
        }
        _ => None,
    }
}
