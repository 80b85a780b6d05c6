//! Instructions that compute.

use offkit_spirv::dr::{self, Operand as Source};
use offkit_spirv::grammar::{Decoration, Op, OpenclStd100Op, Word};

use super::extended::{is_prefetch, rounding_mode};
use super::function::FunctionReader;
use super::imported::{self, Imported, Operands};
use super::{Reader, Result, id, literal, result_id};
use crate::builtins::Scalar;
use crate::builtins::convert::Conversion;
use crate::ir::{CollectiveKind, Constant, GroupScope, Operand, Operation, Type, TypeId, arithmetic};

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
        self.scalar_type(scalar)
            .or_else(|error| self.module.types.push(Type::Scalar(scalar)).ok_or(error))
    }
}

impl FunctionReader<'_, '_> {
    /// Reads an instruction that is neither a terminator nor bookkeeping.
    pub(super) fn instruction(&mut self, instruction: &dr::Instruction) -> Result<()> {
        let opcode = instruction.opcode;
        let only_describes = matches!(
            opcode,
            Op::LoopMerge | Op::SelectionMerge | Op::LifetimeStart | Op::LifetimeStop | Op::AssumeTrueKHR
        );
        if only_describes || is_prefetch(instruction) {
            return Ok(());
        }
        let operation = match self.computation(instruction)? {
            Some(operation) => Some(operation),
            None => match self.memory_operation(instruction)? {
                Some(operation) => Some(operation),
                None => self.group_operation(instruction)?,
            },
        };
        match operation {
            Some(operation) => self.push(instruction, operation),
            None => Err(unsupported!("Op{}", instruction.opcode)),
        }
    }

    fn computation(&mut self, instruction: &dr::Instruction) -> Result<Option<Operation>> {
        let opcode = instruction.opcode;
        if let Some((kind, saturate)) = conversion_of(opcode) {
            let word = result_id(instruction)?;
            let decorations = &self.reader.decorations;
            let rounding = decorations.rounding(word).map(rounding_mode).transpose()?;
            let saturate = saturate || decorations.has(word, Decoration::SaturatedConversion);
            let operand = self.operand_at(instruction, 0)?;
            return Ok(Some(Operation::Convert {
                kind,
                saturate,
                rounding,
                operand,
            }));
        }
        Ok(Some(match opcode {
            Op::Undef => {
                let kind = self.reader.result_type(instruction)?;
                let zero = Constant::plain(kind, Vec::new());
                let constant = self.reader.push_constant(result_id(instruction)?, zero);
                Operation::Extract {
                    composite: Operand::Constant(constant),
                    first: 0,
                }
            }
            Op::CopyObject | Op::CopyLogical | Op::ExpectKHR => Operation::Extract {
                composite: self.operand_at(instruction, 0)?,
                first: 0,
            },
            Op::Bitcast => Operation::Reinterpret(self.operand_at(instruction, 0)?),
            Op::Select => Operation::Select {
                condition: self.operand_at(instruction, 0)?,
                accept: self.operand_at(instruction, 1)?,
                reject: self.operand_at(instruction, 2)?,
            },
            Op::CompositeExtract => {
                let composite = self.operand_at(instruction, 0)?;
                let (_, first) = self
                    .reader
                    .member(self.type_of(composite), &literals(instruction, 1)?)?;
                Operation::Extract { composite, first }
            }
            Op::CompositeInsert => {
                let (object, composite) =
                    (self.operand_at(instruction, 0)?, self.operand_at(instruction, 1)?);
                let (_, first) = self
                    .reader
                    .member(self.type_of(composite), &literals(instruction, 2)?)?;
                Operation::Insert {
                    composite,
                    object,
                    first,
                }
            }
            Op::CompositeConstruct => Operation::Construct(self.operands_from(instruction, 0)?),
            Op::VectorExtractDynamic => Operation::ExtractDynamic {
                vector: self.operand_at(instruction, 0)?,
                index: self.operand_at(instruction, 1)?,
            },
            Op::VectorInsertDynamic => Operation::InsertDynamic {
                vector: self.operand_at(instruction, 0)?,
                component: self.operand_at(instruction, 1)?,
                index: self.operand_at(instruction, 2)?,
            },
            Op::VectorShuffle => {
                let lanes = literals(instruction, 2)?;
                let lanes = lanes
                    .into_iter()
                    .map(|lane| (lane != u32::MAX).then_some(lane))
                    .collect();
                let (first, second) = (self.operand_at(instruction, 0)?, self.operand_at(instruction, 1)?);
                Operation::Shuffle { first, second, lanes }
            }
            Op::FunctionCall => {
                let callee = id(instruction, 0)?;
                let function = self.reader.functions.get(&callee).copied();
                let function = function.ok_or_else(|| malformed!("%{callee} is not a function"))?;
                let arguments = self.operands_from(instruction, 1)?;
                if self.reader.source.functions[function.0 as usize]
                    .blocks
                    .is_empty()
                    && let Some((name, _)) = self.reader.decorations.linkage(callee)
                    && let Some(imported) = imported::recognise(name)
                {
                    return self.imported(instruction, imported, &arguments).map(Some);
                }
                Operation::Call { function, arguments }
            }
            Op::ExtInst => return self.extended(instruction).map(Some),
            Op::Any | Op::All => {
                let op = if opcode == Op::Any {
                    Op::LogicalOr
                } else {
                    Op::LogicalAnd
                };
                let operand = self.operand_at(instruction, 0)?;
                Operation::Fold {
                    op,
                    scalar: Scalar::Bool,
                    operand: self.truths(operand)?,
                }
            }
            Op::VectorTimesScalar => {
                let vector = self.operand_at(instruction, 0)?;
                let scalar = self.operand_at(instruction, 1)?;
                let kind = self.type_of(vector);
                let lanes = self.types().lanes(kind) as usize;
                let splat = self.emit(kind, Operation::Construct(vec![scalar; lanes]));
                let scalar = self.scalar_of(vector)?;
                Operation::elementwise(Op::FMul, scalar, vec![vector, splat])
            }
            Op::Dot => {
                let operands = self.operands_from(instruction, 0)?;
                let [vector, _] = *operands else {
                    return Err(malformed!("OpDot without two operands"));
                };
                let (kind, scalar) = (self.type_of(vector), self.scalar_of(vector)?);
                let operand = self.emit(kind, Operation::elementwise(Op::FMul, scalar, operands));
                Operation::Fold {
                    op: Op::FAdd,
                    scalar,
                    operand,
                }
            }
            Op::IAddCarry | Op::ISubBorrow | Op::UMulExtended | Op::SMulExtended => {
                let low = match opcode {
                    Op::IAddCarry => Op::IAdd,
                    Op::ISubBorrow => Op::ISub,
                    _ => Op::IMul,
                };
                let operands = self.operands_from(instruction, 0)?;
                let first = *operands.first().ok_or_else(|| malformed!("no operands"))?;
                let (kind, scalar) = (self.type_of(first), self.scalar_of(first)?);
                let low = self.emit(kind, Operation::elementwise(low, scalar, operands.clone()));
                let high = self.emit(kind, Operation::elementwise(opcode, scalar, operands));
                Operation::Construct(vec![low, high])
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
        Ok(self.emit(booleans, Operation::elementwise(Op::SLessThan, scalar, operands)))
    }

    /// A call of a function that clang expects the device to have.
    fn imported(
        &mut self,
        instruction: &dr::Instruction,
        imported: Imported,
        arguments: &[Operand],
    ) -> Result<Operation> {
        let missing = || malformed!("a call of a built-in function with too few arguments");
        let argument = |index: usize| arguments.get(index).copied().ok_or_else(missing);
        Ok(match imported {
            Imported::Fence => Operation::Fence,
            Imported::SubGroupBarrier => {
                let (kind, scope) = (CollectiveKind::Barrier, GroupScope::SubGroup);
                Operation::collective(kind, scope, true, Vec::new())
            }
            Imported::Convert { kind, rounding } => Operation::Convert {
                kind,
                saturate: false,
                rounding,
                operand: argument(0)?,
            },
            Imported::Cast(class) => Operation::GenericCast {
                pointer: argument(0)?,
                class,
            },
            Imported::FenceOf => {
                // The bits of memory semantics are the flags of OpenCL C, eight places up.
                let kind = self.reader.result_type(instruction)?;
                let semantics = self.emit(kind, Operation::PointerSemantics(argument(0)?));
                let places = self.new_constant(Scalar::I32, 8)?;
                let (op, scalar) = (Op::ShiftRightLogical, self.scalar_of(semantics)?);
                Operation::elementwise(op, scalar, vec![semantics, places])
            }
            Imported::Atomic { operation, operands } => {
                let scalar = self.types().scalar(self.reader.result_type(instruction)?);
                let scalar = scalar.ok_or_else(missing)?;
                let value = match operands {
                    Operands::Value => argument(1)?,
                    Operands::One => self.new_constant(scalar, 1)?,
                };
                Operation::Atomic {
                    operation,
                    scalar,
                    pointer: argument(0)?,
                    operands: vec![value],
                }
            }
        })
    }

    /// Arithmetic, for every opcode that has a function on the type of its first operand.
    fn elementwise(&mut self, op: Op, instruction: &dr::Instruction) -> Result<Option<Operation>> {
        let all_ids = instruction
            .operands
            .iter()
            .all(|operand| matches!(operand, Source::IdRef(_)));
        if instruction.operands.is_empty() || !all_ids || instruction.result_type.is_none() {
            return Ok(None);
        }
        let Ok(first) = self.operand_at(instruction, 0) else {
            return Ok(None);
        };
        let Some(scalar) = self.types().scalar(self.type_of(first)) else {
            return Ok(None);
        };
        match arithmetic::resolve(op, scalar) {
            Some(_) => Ok(Some(Operation::elementwise(
                op,
                scalar,
                self.operands_from(instruction, 0)?,
            ))),
            None => Ok(None),
        }
    }

    /// Dot products of integers: the components become as wide as the result, and then it is products
    /// and sums.
    fn integer_dot(&mut self, instruction: &dr::Instruction) -> Result<Operation> {
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
                operand = self.emit(packed, Operation::Reinterpret(operand));
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
                operand,
            };
            factors.push(self.emit(vector, convert));
        }
        let products = Operation::elementwise(Op::IMul, scalar, factors);
        let operand = self.emit(vector, products);
        let sum = Operation::Fold {
            op: Op::IAdd,
            scalar,
            operand,
        };
        let saturating = match opcode {
            Op::SDotAccSat | Op::SUDotAccSat => OpenclStd100Op::s_add_sat,
            Op::UDotAccSat => OpenclStd100Op::u_add_sat,
            _ => return Ok(sum),
        };
        let sum = self.emit(wide, sum);
        let accumulator = self.operand_at(instruction, 2)?;
        Ok(Operation::Extended {
            op: saturating,
            operands: vec![sum, accumulator],
            out: None,
        })
    }

    /// The id of a vector type, which is added if the module has none.
    pub(super) fn vector_type(&mut self, component: Scalar, count: u32) -> Result<TypeId> {
        let types = &mut self.reader.module.types;
        let known = types.find_vector(component, count);
        let error = || malformed!("too many types");
        known
            .or_else(|| types.push(Type::Vector { component, count }))
            .ok_or_else(error)
    }
}

/// All operands from an index on, which must be literals.
fn literals(instruction: &dr::Instruction, from: usize) -> Result<Vec<u32>> {
    (from..instruction.operands.len())
        .map(|index| literal(instruction, index))
        .collect()
}
