//! Evaluation of `OpSpecConstantOp`, which is also how constant expressions on addresses are written.

use offkit_spirv::grammar::{Op, Word};

use super::instruction::conversion_of;
use super::memory::Index;
use super::{Reader, Result};
use crate::builtins::convert::convert_lane;
use crate::builtins::{Scalar, sign_extend};
use crate::ir::{self, Constant, ConstantId, GlobalId, TypeId, arithmetic};

impl Reader<'_> {
    /// The value of an operation on constants. `operands` are ids and literals as they stand.
    pub(super) fn fold(&self, op: Op, kind: TypeId, operands: &[Word]) -> Result<Constant> {
        let missing = || malformed!("OpSpecConstantOp {op:?} with {} operands", operands.len());
        let operand = |index: usize| self.constant(*operands.get(index).ok_or_else(missing)?);
        match op {
            Op::AccessChain | Op::InBoundsAccessChain | Op::PtrAccessChain | Op::InBoundsPtrAccessChain => {
                return self.fold_address(op, kind, operands);
            }
            Op::CopyObject
            | Op::PtrCastToGeneric
            | Op::GenericCastToPtr
            | Op::ConvertPtrToU
            | Op::ConvertUToPtr => {
                // With its relocations: which number the address of a variable is, nobody knows yet.
                return self.retyped(operand(0)?, kind);
            }
            Op::Bitcast => return self.fold_bitcast(operand(0)?, kind),
            // By one truth a whole constant is chosen, which may be an address: that is why this is not left to the
            // components below.
            Op::Select if self.plain(operand(0)?)?.1.len() == 1 => {
                let accept = self.plain(operand(0)?)?.1[0] != 0;
                return self.retyped(operand(if accept { 1 } else { 2 })?, kind);
            }
            // LLVM's constant expressions count on addresses as integers: a pointer cast to a
            // number, a sum, and back. The sum has to keep the variable that it is an offset from.
            Op::IAdd | Op::ISub => {
                if let Some(address) = self.fold_address_sum(op, kind, operand(0)?, operand(1)?)? {
                    return Ok(address);
                }
            }
            _ => {}
        }
        let words = match op {
            Op::CompositeExtract => {
                let (composite, words) = self.plain(operand(0)?)?;
                let (part, first) = self.member(composite, operands.get(1..).unwrap_or_default())?;
                let lanes = self.module.types.lanes(part) as usize;
                words
                    .get(first as usize..)
                    .and_then(|rest| rest.get(..lanes))
                    .ok_or_else(missing)?
                    .to_vec()
            }
            Op::CompositeInsert => {
                let (_, object) = self.plain(operand(0)?)?;
                let (composite, mut words) = self.plain(operand(1)?)?;
                let (_, first) = self.member(composite, operands.get(2..).unwrap_or_default())?;
                let rest = words
                    .get_mut(first as usize..)
                    .and_then(|rest| rest.get_mut(..object.len()));
                rest.ok_or_else(missing)?.copy_from_slice(&object);
                words
            }
            Op::VectorShuffle => {
                let mut pool = self.plain(operand(0)?)?.1;
                pool.extend(self.plain(operand(1)?)?.1);
                let lanes = operands.iter().skip(2);
                lanes
                    // All ones say that any value will do.
                    .map(|lane| pool.get(*lane as usize).copied().unwrap_or(0))
                    .collect()
            }
            Op::Select => {
                let (_, condition) = self.plain(operand(0)?)?;
                let (accept, reject) = (self.plain(operand(1)?)?.1, self.plain(operand(2)?)?.1);
                let pairs = accept.iter().zip(&reject).zip(&condition);
                pairs
                    .map(|((accept, reject), condition)| if *condition != 0 { *accept } else { *reject })
                    .collect()
            }
            _ => self.fold_elementwise(op, kind, operands)?,
        };
        // Operands are not compared with the type one by one. What does not fit gives another
        // number of words, which nobody behind this expects.
        if words.len() as u64 != self.module.types.layout(kind).lanes {
            return Err(missing());
        }
        Ok(Constant::plain(kind, words))
    }

    /// The type and words of a constant without addresses.
    fn plain(&self, constant: ConstantId) -> Result<(TypeId, Vec<u64>)> {
        let Constant {
            kind, relocations, ..
        } = &self.module.constants[constant.0 as usize];
        if !relocations.is_empty() {
            return Err(unsupported!("constant arithmetic on the address of a variable"));
        }
        Ok((*kind, self.constant_words(constant)?))
    }

    fn retyped(&self, constant: ConstantId, kind: TypeId) -> Result<Constant> {
        let from = &self.module.constants[constant.0 as usize];
        if self.module.types.layout(from.kind).lanes != self.module.types.layout(kind).lanes {
            return Err(malformed!("a constant cast between types of different shape"));
        }
        Ok(Constant { kind, ..from.clone() })
    }

    fn fold_bitcast(&self, operand: ConstantId, kind: TypeId) -> Result<Constant> {
        let types = &self.module.types;
        let from = self.module.constants[operand.0 as usize].kind;
        if types.is_pointer(from) || types.is_pointer(kind) {
            return self.retyped(operand, kind);
        }
        let (Some(from), Some(to)) = (types.scalar(from), types.scalar(kind)) else {
            return Err(malformed!("a constant OpBitcast of a composite"));
        };
        let words = ir::reinterpret(&self.plain(operand)?.1, from, to);
        Ok(Constant::plain(kind, words))
    }

    /// The address of a part of a variable.
    fn fold_address(&self, op: Op, kind: TypeId, operands: &[Word]) -> Result<Constant> {
        let (base, indices) = operands
            .split_first()
            .ok_or_else(|| malformed!("an empty access chain"))?;
        let base = &self.module.constants[self.constant(*base)?.0 as usize];
        let indices = indices
            .iter()
            .map(|index| self.constant_index(*index))
            .collect::<Result<Vec<_>>>()?;
        let steps: Vec<Index> = indices.iter().map(|index| Index::Known(*index)).collect();
        let wanted = self.pointee(kind)?;
        let walked = self
            .walk(op, base.kind, &steps)
            .ok()
            .filter(|path| self.same_layout(path.pointee, wanted));
        let offset = match (walked, indices.as_slice()) {
            (Some(path), _) => path.offset,
            // LLVM 22 writes an offset in bytes as if the base were a pointer to bytes, without casting it.
            (None, [0, bytes]) if self.module.types.scalar(wanted) == Some(Scalar::I8) => *bytes as u64,
            _ => {
                return Err(malformed!("a constant access chain that doesn't fit its type"));
            }
        };
        let address = base.words.first().copied().unwrap_or(0).wrapping_add(offset);
        Ok(Constant {
            kind,
            words: vec![address],
            relocations: base.relocations.clone(),
        })
    }

    fn same_layout(&self, a: TypeId, b: TypeId) -> bool {
        let types = &self.module.types;
        a == b || types.get(a) == types.get(b) || (types.is_pointer(a) && types.is_pointer(b))
    }

    pub(super) fn constant_index(&self, word: Word) -> Result<i64> {
        let value = self.constant_integer(word)?;
        let kind = self.module.constants[self.constant(word)?.0 as usize].kind;
        Ok(sign_extend(
            self.module.types.scalar(kind).unwrap_or(Scalar::I64),
            value,
        ))
    }

    /// A sum or difference where the first or, for sums, either operand is an address.
    fn fold_address_sum(
        &self,
        op: Op,
        kind: TypeId,
        a: ConstantId,
        b: ConstantId,
    ) -> Result<Option<Constant>> {
        let get = |id: ConstantId| {
            let constant = &self.module.constants[id.0 as usize];
            (
                constant.words.first().copied().unwrap_or(0),
                constant.relocations.first().map(|(_, global)| *global),
            )
        };
        let ((a, in_a), (b, in_b)) = (get(a), get(b));
        let (word, global): (u64, GlobalId) = match (op, in_a, in_b) {
            (Op::IAdd, Some(global), None) | (Op::IAdd, None, Some(global)) => (a.wrapping_add(b), global),
            (Op::ISub, Some(global), None) => (a.wrapping_sub(b), global),
            // Between two places in one variable is a number that is known, wherever the variable
            // is.
            (Op::ISub, Some(one), Some(other)) if one == other => {
                return Ok(Some(Constant::plain(kind, vec![a.wrapping_sub(b)])));
            }
            _ => return Ok(None),
        };
        Ok(Some(Constant {
            kind,
            words: vec![word],
            relocations: vec![(0, global)],
        }))
    }

    fn fold_elementwise(&self, op: Op, kind: TypeId, operands: &[Word]) -> Result<Vec<u64>> {
        let unsupported = || unsupported!("OpSpecConstantOp {op:?}");
        let types = &self.module.types;
        let operands = operands
            .iter()
            .map(|word| self.plain(self.constant(*word)?))
            .collect::<Result<Vec<_>>>()?;
        let (first, _) = operands.first().ok_or_else(unsupported)?;
        let (from, to) = (
            types.scalar(*first).ok_or_else(unsupported)?,
            types.scalar(kind).ok_or_else(unsupported)?,
        );
        let lane = |lane: usize| -> Vec<u64> {
            operands
                .iter()
                .map(|(_, words)| words.get(lane).copied().unwrap_or(0))
                .collect()
        };
        let lanes = 0..types.lanes(kind) as usize;
        if let Some((conversion, saturate)) = conversion_of(op) {
            if !conversion.accepts(from, to) {
                return Err(unsupported());
            }
            let convert = |index| convert_lane(conversion, from, to, None, saturate, lane(index)[0]);
            return Ok(lanes.map(convert).collect());
        }
        // By the type of the operands and not of the result, which is a boolean for comparisons.
        let function = arithmetic::resolve(op, from).filter(|function| function.arity() == operands.len());
        let function = function.ok_or_else(unsupported)?;
        Ok(lanes.map(|index| function.apply(&lane(index))).collect())
    }
}
