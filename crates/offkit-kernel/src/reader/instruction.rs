//! Instructions that compute.

use offkit_spirv::dr::{self, Operand as Source};
use offkit_spirv::grammar::{Decoration, MemorySemantics, Op, OpenclStd100Op, Scope, Word};

use super::extended::{is_prefetch, rounding_mode};
use super::function::{Code, FunctionReader};
use super::imported::{self, Guarantee, Imported, Operands};
use super::{Reader, Result, id, literal, result_id};
use crate::builtins::Scalar;
use crate::builtins::convert::Conversion;
use crate::ir::{CollectiveKind, GroupScope, Operand, Operation, Order, Type, TypeId, arithmetic};

/// The conversion of an opcode, and whether it saturates by itself.
pub(super) fn conversion_of(op: Op) -> Option<(Conversion, bool)> {
    Some(match op {
        Op::ConvertFToU => (Conversion::FloatToUnsigned, false),
        Op::ConvertFToS => (Conversion::FloatToSigned, false),
        Op::ConvertSToF => (Conversion::SignedToFloat, false),
        Op::ConvertUToF => (Conversion::UnsignedToFloat, false),
        Op::UConvert => (Conversion::Unsigned, false),
        Op::SConvert => (Conversion::Signed, false),
        Op::FConvert => (Conversion::Float, false),
        Op::QuantizeToF16 => (Conversion::QuantizeToHalf, false),
        Op::SatConvertSToU => (Conversion::SaturateToUnsigned, true),
        Op::SatConvertUToS => (Conversion::SaturateToSigned, true),
        _ => return None,
    })
}

impl Reader<'_> {
    /// The type of a part of a composite type, and the first of its words.
    pub(super) fn member(&self, composite: TypeId, indices: &[Word]) -> Result<(TypeId, u32)> {
        let mut at = composite;
        let mut first = 0;
        for index in indices {
            let types = &self.module.types;
            // Vectors are made of scalars and not of types, so that `part` has no id to give for
            // them.
            let part = match types.get(at) {
                Type::Vector { component, count } if index < count => {
                    Some((self.scalar_type(*component)?, u64::from(*index)))
                }
                _ => types
                    .part(at, u64::from(*index))
                    .map(|(part, _, lane)| (part, lane)),
            };
            let (part, lane) = part.ok_or_else(|| malformed!("a composite has no part {index}"))?;
            at = part;
            first += lane;
        }
        let first = u32::try_from(first).map_err(|_| malformed!("a part beyond the composite"))?;
        Ok((at, first))
    }

    /// The id of a scalar type, which is added if the module has none.
    pub(super) fn scalar_type_or_new(&mut self, scalar: Scalar) -> Result<TypeId> {
        let added = self.module.types.find_or_push(Type::Scalar(scalar));
        added.ok_or_else(|| malformed!("too many types"))
    }
}

impl FunctionReader<'_, '_> {
    /// Reads an instruction that is neither a terminator nor bookkeeping.
    pub(super) fn instruction(&mut self, instruction: &dr::Instruction) -> Result<()> {
        let opcode = instruction.opcode;
        let only_describes = matches!(opcode, Op::LifetimeStart | Op::LifetimeStop);
        if only_describes || is_prefetch(instruction) {
            return Ok(());
        }
        self.push(instruction, |body| {
            let code = match body.computation(instruction)? {
                Some(code) => Some(code),
                None => match body.memory_operation(instruction)? {
                    Some(code) => Some(code),
                    None => body.group_operation(instruction)?,
                },
            };
            code.ok_or_else(|| unsupported!("Op{opcode}"))
        })
    }

    fn computation(&mut self, instruction: &dr::Instruction) -> Result<Option<Code>> {
        let opcode = instruction.opcode;
        if let Some((kind, saturate)) = conversion_of(opcode) {
            let word = result_id(instruction)?;
            let decorations = &self.reader.decorations;
            let rounding = decorations.rounding(word).map(rounding_mode).transpose()?;
            let saturate = saturate || decorations.has(word, Decoration::SaturatedConversion);
            let conversion = Operation::Convert {
                kind,
                saturate,
                rounding,
            };
            return Ok(Some((conversion, vec![self.operand_at(instruction, 0)?])));
        }
        // Those that take their operands as they stand.
        let (operation, count) = match opcode {
            // A part that begins at the first word and has as many as the whole is a copy.
            Op::CopyObject | Op::CopyLogical => (Operation::Extract(0), 1),
            Op::ExpectKHR => (Operation::Expect, 2),
            Op::AssumeTrueKHR => (Operation::Assume, 1),
            Op::Bitcast => (Operation::Reinterpret, 1),
            Op::Select => (Operation::Select, 3),
            Op::VectorExtractDynamic => (Operation::ExtractDynamic, 2),
            Op::VectorInsertDynamic => (Operation::InsertDynamic, 3),
            _ => return self.other_computation(instruction),
        };
        let operands = (0..count).map(|index| self.operand_at(instruction, index));
        Ok(Some((operation, operands.collect::<Result<_>>()?)))
    }

    fn other_computation(&mut self, instruction: &dr::Instruction) -> Result<Option<Code>> {
        let opcode = instruction.opcode;
        Ok(Some(match opcode {
            Op::Undef => {
                let kind = self.reader.result_type(instruction)?;
                let zero = self.reader.zero(kind);
                // What is undefined is zero, so that all who execute the form agree.
                let constant = self.reader.push_constant(result_id(instruction)?, zero)?;
                (Operation::Extract(0), vec![Operand::Constant(constant)])
            }
            Op::CompositeExtract => {
                let composite = self.operand_at(instruction, 0)?;
                let (_, first) = self
                    .reader
                    .member(self.type_of(composite), &literals(instruction, 1)?)?;
                (Operation::Extract(first), vec![composite])
            }
            Op::CompositeInsert => {
                let (object, composite) =
                    (self.operand_at(instruction, 0)?, self.operand_at(instruction, 1)?);
                let (_, first) = self
                    .reader
                    .member(self.type_of(composite), &literals(instruction, 2)?)?;
                (Operation::Insert(first), vec![composite, object])
            }
            Op::CompositeConstruct => (Operation::Construct, self.operands_from(instruction, 0)?),
            Op::VectorShuffle => {
                let lanes = literals(instruction, 2)?;
                let lanes = lanes
                    .into_iter()
                    // All ones say that any value will do.
                    .map(|lane| (lane != u32::MAX).then_some(lane))
                    .collect();
                let vectors = vec![self.operand_at(instruction, 0)?, self.operand_at(instruction, 1)?];
                (Operation::Shuffle(lanes), vectors)
            }
            Op::FunctionCall => {
                let callee = id(instruction, 0)?;
                let function = self.reader.function(callee)?;
                let arguments = self.operands_from(instruction, 1)?;
                // Names count only where the module has no body: one that it defines itself is called, whatever its
                // name.
                if self.reader.source.functions[function.0 as usize]
                    .blocks
                    .is_empty()
                    && let Some((name, _)) = self.reader.decorations.linkage(callee)
                    && let Some(imported) = imported::recognise(name)
                {
                    return self.imported(instruction, imported, &arguments).map(Some);
                }
                (Operation::Call(function), arguments)
            }
            Op::FunctionPointerCallINTEL => self.call_by_address(instruction)?,
            Op::ExtInst => return self.extended(instruction).map(Some),
            Op::Any | Op::All => {
                let op = if opcode == Op::Any {
                    Op::LogicalOr
                } else {
                    Op::LogicalAnd
                };
                let operand = self.operand_at(instruction, 0)?;
                (Operation::Fold(op), vec![self.truths(operand)?])
            }
            Op::VectorTimesScalar => {
                let vector = self.operand_at(instruction, 0)?;
                let scalar = self.operand_at(instruction, 1)?;
                let kind = self.type_of(vector);
                let lanes = self.types().lanes(kind) as usize;
                let splat = self.emit(kind, Operation::Construct, vec![scalar; lanes]);
                (Operation::Elementwise(Op::FMul), vec![vector, splat])
            }
            Op::Dot => {
                let operands = self.operands_from(instruction, 0)?;
                let [vector, _] = *operands else {
                    return Err(malformed!("OpDot without two operands"));
                };
                let kind = self.type_of(vector);
                let products = self.emit(kind, Operation::Elementwise(Op::FMul), operands);
                (Operation::Fold(Op::FAdd), vec![products])
            }
            Op::IAddCarry | Op::ISubBorrow | Op::UMulExtended | Op::SMulExtended => {
                // Their result is a struct of two; in the form the opcode itself stands for its upper half.
                let low = match opcode {
                    Op::IAddCarry => Op::IAdd,
                    Op::ISubBorrow => Op::ISub,
                    _ => Op::IMul,
                };
                let operands = self.operands_from(instruction, 0)?;
                let first = *operands.first().ok_or_else(|| malformed!("no operands"))?;
                let kind = self.type_of(first);
                let low = self.emit(kind, Operation::Elementwise(low), operands.clone());
                let high = self.emit(kind, Operation::Elementwise(opcode), operands);
                (Operation::Construct, vec![low, high])
            }
            Op::SDot | Op::UDot | Op::SUDot | Op::SDotAccSat | Op::UDotAccSat | Op::SUDotAccSat => {
                return self.integer_dot(instruction).map(Some);
            }
            opcode => return self.elementwise(opcode, instruction),
        }))
    }

    /// A vector of booleans. LLVM 22 gives `OpAny` and `OpAll` the integers of OpenCL C, where the highest
    /// bit is what counts.
    fn truths(&mut self, operand: Operand) -> Result<Operand> {
        let scalar = self.scalar_of(operand)?;
        if !scalar.is_integer() {
            return Ok(operand);
        }
        let kind = self.type_of(operand);
        let zero = self.zero(kind);
        let booleans = self.vector_type(Scalar::Bool, self.types().lanes(kind))?;
        let operands = vec![operand, zero];
        Ok(self.emit(booleans, Operation::Elementwise(Op::SLessThan), operands))
    }

    /// A call of a function that clang expects the device to have.
    fn imported(
        &mut self,
        instruction: &dr::Instruction,
        imported: Imported,
        arguments: &[Operand],
    ) -> Result<Code> {
        let missing = || malformed!("a call of a built-in function with too few arguments");
        let argument = |index: usize| arguments.get(index).copied().ok_or_else(missing);
        Ok(match imported {
            Imported::Fence => (Operation::Fence, Vec::new()),
            Imported::SubGroupBarrier => {
                let (kind, scope) = (CollectiveKind::Barrier, GroupScope::SubGroup);
                (Operation::collective(kind, scope, true), Vec::new())
            }
            Imported::Convert { kind, rounding } => {
                let saturate = false;
                (
                    Operation::Convert {
                        kind,
                        saturate,
                        rounding,
                    },
                    vec![argument(0)?],
                )
            }
            Imported::Cast(class) => (Operation::GenericCast(class), vec![argument(0)?]),
            Imported::FenceOf => {
                // The bits of memory semantics are the flags of OpenCL C, eight places up.
                let kind = self.reader.result_type(instruction)?;
                let semantics = self.emit(kind, Operation::PointerSemantics, vec![argument(0)?]);
                let places = self.new_constant(Scalar::I32, 8)?;
                (
                    Operation::Elementwise(Op::ShiftRightLogical),
                    vec![semantics, places],
                )
            }
            Imported::Atomic {
                operation,
                operands,
                guarantee,
            } => {
                let scalar = self.types().scalar(self.reader.result_type(instruction)?);
                let scalar = scalar.ok_or_else(missing)?;
                let value = match operands {
                    Operands::Value => argument(1)?,
                    Operands::One => self.new_constant(scalar, 1)?,
                };
                let of_device = |semantics: MemorySemantics| Order {
                    scope: Scope::Device,
                    semantics: semantics.0,
                };
                self.order_of_call = match guarantee {
                    Guarantee::Relaxed => Some(of_device(MemorySemantics::Relaxed)),
                    Guarantee::Sequential => Some(of_device(MemorySemantics::SequentiallyConsistent)),
                    // Behind the function, the pointer and the value.
                    Guarantee::Arguments => self.reader.order_of_arguments(instruction, 3),
                };
                (Operation::Atomic { operation, scalar }, vec![argument(0)?, value])
            }
        })
    }

    /// Arithmetic, for every opcode that has a function on the type of its first operand.
    fn elementwise(&mut self, op: Op, instruction: &dr::Instruction) -> Result<Option<Code>> {
        let all_ids = instruction
            .operands
            .iter()
            // The functions are told of operands alone: an instruction with a literal means more than they do.
            .all(|operand| matches!(operand, Source::IdRef(_)));
        if instruction.operands.is_empty() || !all_ids || instruction.result_type.is_none() {
            return Ok(None);
        }
        // No error yet: this is asked about every opcode that is none of the others here, and
        // readers behind it know some whose first operand is no value.
        let Ok(first) = self.operand_at(instruction, 0) else {
            return Ok(None);
        };
        let Some(scalar) = self.types().scalar(self.type_of(first)) else {
            return Ok(None);
        };
        match arithmetic::resolve(op, scalar) {
            Some(_) => Ok(Some((
                Operation::Elementwise(op),
                self.operands_from(instruction, 0)?,
            ))),
            None => Ok(None),
        }
    }

    /// Dot products of integers: the components become as wide as the result, and then it is products
    /// and sums.
    fn integer_dot(&mut self, instruction: &dr::Instruction) -> Result<Code> {
        let opcode = instruction.opcode;
        let wide = self.reader.result_type(instruction)?;
        let scalar = self.types().scalar(wide);
        let scalar = scalar.ok_or_else(|| malformed!("a dot product that is no scalar"))?;
        let signed = match opcode {
            Op::SDot | Op::SDotAccSat => [true, true],
            Op::UDot | Op::UDotAccSat => [false, false],
            _ => [true, false],
        };
        let mut factors = Vec::new();
        let mut vector = wide;
        for (index, signed) in signed.into_iter().enumerate() {
            let mut operand = self.operand_at(instruction, index)?;
            if !matches!(self.types().get(self.type_of(operand)), Type::Vector { .. }) {
                // Four bytes packed into a word.
                let packed = self.vector_type(Scalar::I8, 4)?;
                operand = self.emit(packed, Operation::Reinterpret, vec![operand]);
            }
            let kind = if signed {
                Conversion::Signed
            } else {
                Conversion::Unsigned
            };
            vector = self.vector_type(scalar, self.types().lanes(self.type_of(operand)))?;
            let convert = Operation::Convert {
                kind,
                saturate: false,
                rounding: None,
            };
            factors.push(self.emit(vector, convert, vec![operand]));
        }
        let products = self.emit(vector, Operation::Elementwise(Op::IMul), factors);
        let sum = (Operation::Fold(Op::IAdd), vec![products]);
        let saturating = match opcode {
            Op::SDotAccSat | Op::SUDotAccSat => OpenclStd100Op::s_add_sat,
            Op::UDotAccSat => OpenclStd100Op::u_add_sat,
            _ => return Ok(sum),
        };
        let sum = self.emit(wide, sum.0, sum.1);
        let accumulator = self.operand_at(instruction, 2)?;
        Ok((Operation::Extended(saturating), vec![sum, accumulator]))
    }

    /// The id of a vector type, which is added if the module has none.
    pub(super) fn vector_type(&mut self, component: Scalar, count: u32) -> Result<TypeId> {
        let added = self
            .reader
            .module
            .types
            .find_or_push(Type::Vector { component, count });
        added.ok_or_else(|| malformed!("too many types"))
    }
}

/// All operands from an index on, which must be literals.
fn literals(instruction: &dr::Instruction, from: usize) -> Result<Vec<u32>> {
    (from..instruction.operands.len())
        .map(|index| literal(instruction, index))
        .collect()
}
