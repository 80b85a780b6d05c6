//! Instructions on memory: variables, access chains, loads and stores, atomics.

use offkit_spirv::dr::{self, Operand as Source};
use offkit_spirv::grammar::{Op, StorageClass, Word};

use super::function::{Code, FunctionReader};
use super::{Reader, Result, ids, result_id};
use crate::builtins::Scalar;
use crate::builtins::convert::Conversion;
use crate::ir::{AtomicOperation, Constant, Home, Operand, Operation, Type, TypeId, Variable, scalar_size};

/// An index of an access chain.
#[derive(Clone, Copy)]
pub(super) enum Index {
    Known(i64),
    Computed(Operand),
}

/// Where an access chain leads.
pub(super) struct Path {
    pub(super) offset: u64,
    pub(super) terms: Vec<(Operand, u64)>,
    pub(super) pointee: TypeId,
}

impl Reader<'_> {
    pub(super) fn pointee(&self, pointer: TypeId) -> Result<TypeId> {
        match self.module.types.get(pointer) {
            Type::Pointer { pointee, .. } => Ok(*pointee),
            _ => Err(malformed!("the operand is not a pointer")),
        }
    }

    /// Follows the indices of an access chain from a pointer of a type.
    pub(super) fn walk(&self, op: Op, base: TypeId, indices: &[Index]) -> Result<Path> {
        let types = &self.module.types;
        let mut path = Path {
            offset: 0,
            terms: Vec::new(),
            pointee: self.pointee(base)?,
        };
        // Wrapping, since indices may be negative: an offset of all ones is one byte down.
        let add = |index: Index, stride: u64, path: &mut Path| match index {
            Index::Known(index) => {
                path.offset = path.offset.wrapping_add((index as u64).wrapping_mul(stride))
            }
            Index::Computed(operand) => path.terms.push((operand, stride)),
        };
        let mut indices = indices.iter();
        if matches!(op, Op::PtrAccessChain | Op::InBoundsPtrAccessChain) {
            let element = *indices
                .next()
                .ok_or_else(|| malformed!("an access chain without an element"))?;
            add(element, types.layout(path.pointee).size, &mut path);
        }
        for index in indices {
            match (types.get(path.pointee), *index) {
                (Type::Struct { .. }, Index::Known(member)) => {
                    let part = u64::try_from(member)
                        .ok()
                        .and_then(|member| types.part(path.pointee, member));
                    let (part, offset, _) =
                        part.ok_or_else(|| malformed!("a struct has no member {member}"))?;
                    path.offset = path.offset.wrapping_add(offset);
                    path.pointee = part;
                }
                (Type::Struct { .. }, Index::Computed(_)) => {
                    return Err(malformed!("a struct member whose index is not constant"));
                }
                (Type::Array { element, .. }, index) => {
                    add(index, types.layout(*element).size, &mut path);
                    path.pointee = *element;
                }
                (Type::Vector { component, .. }, index) => {
                    add(index, scalar_size(*component), &mut path);
                    path.pointee = self.scalar_type(*component)?;
                }
                _ => return Err(malformed!("an access chain into a type without parts")),
            }
        }
        Ok(path)
    }

    /// The id of a scalar type, which a vector of it proves to be there.
    pub(super) fn scalar_type(&self, scalar: Scalar) -> Result<TypeId> {
        let missing = || malformed!("the type of a component is not declared");
        self.module.types.find_scalar(scalar).ok_or_else(missing)
    }
}

impl FunctionReader<'_, '_> {
    pub(super) fn variable(&mut self, instruction: &dr::Instruction) -> Result<()> {
        let word = result_id(instruction)?;
        let address = self.value(word)?;
        let pointer = self.reader.result_type(instruction)?;
        let Type::Pointer {
            class: StorageClass::Function,
            pointee,
        } = *self.types().get(pointer)
        else {
            return Err(malformed!(
                "variable %{word} of a function is in another storage class"
            ));
        };
        let initializer = match instruction.operands.get(1) {
            Some(Source::IdRef(value)) => Some(self.reader.constant(*value)?),
            _ => None,
        };
        // Every segment of private memory is aligned as much as any type needs.
        self.variables.push(Variable {
            address,
            kind: pointee,
            align: self.reader.decorations.alignment(word),
            initializer,
        });
        Ok(())
    }

    fn index(&mut self, word: Word) -> Result<Index> {
        if self.reader.constants.contains_key(&word)
            // Of the address of a variable no number is known yet: it is added when the code runs.
            && let Ok(value) = self.reader.constant_index(word)
        {
            return Ok(Index::Known(value));
        }
        Ok(Index::Computed(self.operand(word)?))
    }

    /// An instruction on memory, or `None` when it is another kind.
    pub(super) fn memory_operation(&mut self, instruction: &dr::Instruction) -> Result<Option<Code>> {
        let opcode = instruction.opcode;
        Ok(Some(match opcode {
            Op::AccessChain | Op::InBoundsAccessChain | Op::PtrAccessChain | Op::InBoundsPtrAccessChain => {
                let base = self.operand_at(instruction, 0)?;
                let indices = ids(instruction, 1)?.into_iter().map(|word| self.index(word));
                let indices = indices.collect::<Result<Vec<_>>>()?;
                let path = self.reader.walk(opcode, self.type_of(base), &indices)?;
                let (indices, strides): (Vec<_>, _) = path.terms.into_iter().unzip();
                let address = Operation::Address {
                    offset: path.offset,
                    strides,
                };
                (address, [base].into_iter().chain(indices).collect())
            }
            Op::PtrDiff => return self.pointer_difference(instruction).map(Some),
            Op::Load => {
                let pointer = self.operand_at(instruction, 0)?;
                // A built-in variable that is read whole needs no memory; where only its address is taken, or a part
                // is read, it is addressed like others.
                match self.input_variable(pointer) {
                    Some(global)
                        if self.reader.module.globals[global.0 as usize].kind
                            == self.reader.result_type(instruction)? =>
                    {
                        (Operation::Input(global), Vec::new())
                    }
                    _ => (Operation::Load, vec![pointer]),
                }
            }
            Op::Store => (
                Operation::Store,
                vec![self.operand_at(instruction, 0)?, self.operand_at(instruction, 1)?],
            ),
            Op::CopyMemory | Op::CopyMemorySized => {
                let (destination, source) =
                    (self.operand_at(instruction, 0)?, self.operand_at(instruction, 1)?);
                let size = if opcode == Op::CopyMemory {
                    let pointee = self.reader.pointee(self.type_of(destination))?;
                    self.new_constant(Scalar::I64, self.types().layout(pointee).size)?
                } else {
                    self.operand_at(instruction, 2)?
                };
                (Operation::Copy, vec![destination, source, size])
            }
            Op::PtrCastToGeneric | Op::GenericCastToPtr | Op::ConvertPtrToU | Op::ConvertUToPtr => {
                return self.address_cast(instruction).map(Some);
            }
            Op::GenericCastToPtrExplicit => match instruction.operands.get(1) {
                Some(Source::StorageClass(class)) => (
                    Operation::GenericCast(*class),
                    vec![self.operand_at(instruction, 0)?],
                ),
                _ => {
                    return Err(malformed!("OpGenericCastToPtrExplicit without a storage class"));
                }
            },
            Op::GenericPtrMemSemantics => (
                Operation::PointerSemantics,
                vec![self.operand_at(instruction, 0)?],
            ),
            Op::MemoryBarrier => (Operation::Fence, Vec::new()),
            _ => return self.atomic(instruction),
        }))
    }

    /// The built-in variable that a constant pointer is the address of.
    fn input_variable(&self, pointer: Operand) -> Option<crate::ir::GlobalId> {
        let Operand::Constant(constant) = pointer else {
            return None;
        };
        match &self.reader.module.constants[constant.0 as usize] {
            Constant {
                words, relocations, ..
            } if words == &[0] => {
                let [(0, global)] = relocations.as_slice() else {
                    return None;
                };
                let home = self.reader.module.globals[global.0 as usize].home;
                matches!(home, Home::Input(_)).then_some(*global)
            }
            _ => None,
        }
    }

    /// A pointer as another pointer or as an integer: the same word, or its low part.
    fn address_cast(&mut self, instruction: &dr::Instruction) -> Result<Code> {
        let operand = self.operand_at(instruction, 0)?;
        let scalar = |kind| self.types().scalar(kind);
        let (from, to) = (
            scalar(self.type_of(operand)),
            scalar(self.reader.result_type(instruction)?),
        );
        if from == to {
            return Ok((Operation::Extract(0), vec![operand]));
        }
        let conversion = Operation::Convert {
            kind: Conversion::Unsigned,
            saturate: false,
            rounding: None,
        };
        Ok((conversion, vec![operand]))
    }

    /// The number of elements between two pointers.
    fn pointer_difference(&mut self, instruction: &dr::Instruction) -> Result<Code> {
        let (a, b) = (self.operand_at(instruction, 0)?, self.operand_at(instruction, 1)?);
        let pointee = self.reader.pointee(self.type_of(a))?;
        // Types without values have no size to divide by.
        let size = self.types().layout(pointee).size.max(1);
        let word = self.reader.scalar_type_or_new(Scalar::I64)?;
        let bytes = self.emit(word, Operation::Elementwise(Op::ISub), vec![a, b]);
        let size = self.new_constant(Scalar::I64, size)?;
        // With the sign: the second pointer may be the higher one.
        let (division, operands) = (Operation::Elementwise(Op::SDiv), vec![bytes, size]);
        if self.types().scalar(self.reader.result_type(instruction)?) == Some(Scalar::I64) {
            return Ok((division, operands));
        }
        let conversion = Operation::Convert {
            kind: Conversion::Signed,
            saturate: false,
            rounding: None,
        };
        Ok((conversion, vec![self.emit(word, division, operands)]))
    }

    fn atomic(&mut self, instruction: &dr::Instruction) -> Result<Option<Code>> {
        use AtomicOperation as A;
        let opcode = instruction.opcode;
        // Operand numbers of what the operation needs beside the pointer.
        // The scope is 1 and the order 2; a compare-exchange has an order for when it fails at 3.
        let (operation, needs): (A, &[usize]) = match opcode {
            Op::AtomicLoad => (A::Load, &[]),
            Op::AtomicStore => (A::Store, &[3]),
            Op::AtomicExchange => (A::Exchange, &[3]),
            Op::AtomicCompareExchange | Op::AtomicCompareExchangeWeak => (A::CompareExchange, &[4, 5]),
            Op::AtomicIIncrement => (A::Update(Op::IAdd), &[]),
            Op::AtomicIDecrement => (A::Update(Op::ISub), &[]),
            Op::AtomicIAdd => (A::Update(Op::IAdd), &[3]),
            Op::AtomicISub => (A::Update(Op::ISub), &[3]),
            Op::AtomicSMin => (A::Update(Op::GroupSMin), &[3]),
            Op::AtomicUMin => (A::Update(Op::GroupUMin), &[3]),
            Op::AtomicSMax => (A::Update(Op::GroupSMax), &[3]),
            Op::AtomicUMax => (A::Update(Op::GroupUMax), &[3]),
            Op::AtomicAnd => (A::Update(Op::BitwiseAnd), &[3]),
            Op::AtomicOr => (A::Update(Op::BitwiseOr), &[3]),
            Op::AtomicXor => (A::Update(Op::BitwiseXor), &[3]),
            Op::AtomicFAddEXT => (A::Update(Op::FAdd), &[3]),
            Op::AtomicFMinEXT => (A::Update(Op::GroupFMin), &[3]),
            Op::AtomicFMaxEXT => (A::Update(Op::GroupFMax), &[3]),
            Op::AtomicFlagTestAndSet => (A::TestAndSet, &[]),
            Op::AtomicFlagClear => (A::Clear, &[]),
            _ => return Ok(None),
        };
        let pointer = self.operand_at(instruction, 0)?;
        let mut operands = vec![pointer];
        for index in needs {
            operands.push(self.operand_at(instruction, *index)?);
        }
        let flag = matches!(operation, A::TestAndSet | A::Clear);
        let types = &self.reader.module.types;
        // A flag is a 32-bit integer by SPIR-V's rules. The result of a test is a boolean, whose
        // type says nothing of the memory.
        let scalar = if flag {
            Some(Scalar::I32)
        } else if opcode == Op::AtomicStore {
            types.scalar(self.type_of(operands[1]))
        } else {
            types.scalar(self.reader.result_type(instruction)?)
        };
        let scalar = scalar.ok_or_else(|| malformed!("an atomic access to a composite"))?;
        if matches!(opcode, Op::AtomicIIncrement | Op::AtomicIDecrement) {
            operands.push(self.new_constant(scalar, 1)?);
        }
        Ok(Some((Operation::Atomic { operation, scalar }, operands)))
    }
}
