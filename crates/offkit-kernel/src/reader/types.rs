//! Types.

use offkit_spirv::dr::{self, Operand};
use offkit_spirv::grammar::{Op, StorageClass};

use super::{Reader, Result, id, ids, literal, result_id};
use crate::builtins::Scalar;
use crate::ir::{Type, TypeId};

impl Reader<'_> {
    /// Types may be pointed to before they are declared, so that they all get their numbers first: one
    /// for each declaration, in order.
    pub(super) fn number_types(&mut self) -> Result<()> {
        let mut next = 0;
        for instruction in &self.source.types_global_values {
            if instruction.opcode.is_type() && instruction.opcode != Op::TypeForwardPointer {
                self.types.insert(result_id(instruction)?, TypeId(next));
                next += 1;
            }
        }
        Ok(())
    }

    pub(super) fn type_instruction(&mut self, instruction: &dr::Instruction) -> Result<()> {
        let kind = self.type_of(instruction)?;
        let word = result_id(instruction)?;
        let pushed = self.module.types.push(kind);
        let too_large = || malformed!("type %{word} refers to later types or is too large");
        // `number_types` has counted ahead of this. Both counts agree as long as every type comes
        // here once and in order; an id that is declared twice has the number of the second
        // declaration.
        if self.type_id(word)? != pushed.ok_or_else(too_large)? {
            return Err(malformed!("type %{word} is declared twice"));
        }
        Ok(())
    }

    fn type_of(&mut self, instruction: &dr::Instruction) -> Result<Type> {
        let opcode = instruction.opcode;
        Ok(match opcode {
            Op::TypeVoid => Type::Void,
            Op::TypeBool => Type::Scalar(Scalar::Bool),
            Op::TypeInt => Type::Scalar(match literal(instruction, 0)? {
                8 => Scalar::I8,
                16 => Scalar::I16,
                32 => Scalar::I32,
                64 => Scalar::I64,
                width => {
                    return Err(unsupported!(
                        "integers of {width} bits (OpTypeInt with capability ArbitraryPrecisionIntegersALTERA)"
                    ));
                }
            }),
            // By its width alone a bfloat16 would become a number of half precision.
            Op::TypeFloat if instruction.operands.len() > 1 => {
                return Err(unsupported!(
                    "OpTypeFloat with encoding {:?}",
                    instruction.operands[1]
                ));
            }
            Op::TypeFloat => Type::Scalar(match literal(instruction, 0)? {
                16 => Scalar::F16,
                32 => Scalar::F32,
                64 => Scalar::F64,
                width => return Err(unsupported!("OpTypeFloat of {width} bits")),
            }),
            Op::TypeVector => {
                let component = self.type_id(id(instruction, 0)?)?;
                let count = literal(instruction, 1)?;
                match self.module.types.get(component) {
                    Type::Scalar(component) if (1..=16).contains(&count) => Type::Vector {
                        component: *component,
                        count,
                    },
                    other => return Err(unsupported!("OpTypeVector of {count} {other:?}")),
                }
            }
            Op::TypeArray => {
                let count = self.constant_integer(id(instruction, 1)?)?;
                Type::Array {
                    element: self.type_id(id(instruction, 0)?)?,
                    count,
                }
            }
            Op::TypeStruct => {
                let packed = self.decorations.has(
                    result_id(instruction)?,
                    offkit_spirv::grammar::Decoration::CPacked,
                );
                let members = ids(instruction, 0)?
                    .into_iter()
                    .map(|member| self.type_id(member));
                Type::Struct {
                    members: members.collect::<Result<_>>()?,
                    packed,
                }
            }
            Op::TypePointer => {
                let Some(Operand::StorageClass(class)) = instruction.operands.first() else {
                    return Err(malformed!("OpTypePointer without a storage class"));
                };
                use StorageClass as S;
                // `Input` has built-in variables alone, and `CodeSectionINTEL` is the class of
                // pointers to functions.
                match *class {
                    S::CrossWorkgroup
                    | S::UniformConstant
                    | S::Workgroup
                    | S::Function
                    | S::Generic
                    | S::CodeSectionINTEL
                    | S::Input => {}
                    class => return Err(unsupported!("storage class {class:?}")),
                }
                Type::Pointer {
                    class: *class,
                    pointee: self.type_id(id(instruction, 1)?)?,
                }
            }
            Op::TypeFunction => {
                let all = ids(instruction, 0)?.into_iter().map(|word| self.type_id(word));
                let all = all.collect::<Result<Vec<_>>>()?;
                let (result, parameters) = all
                    .split_first()
                    .ok_or_else(|| malformed!("OpTypeFunction without a result"))?;
                self.function_types
                    .insert(result_id(instruction)?, (*result, parameters.to_vec()));
                // No value is of it. It has a number all the same, for pointers to functions name
                // it.
                Type::Opaque
            }
            Op::TypeEvent => Type::Event,
            Op::TypeOpaque => Type::Opaque,
            _ => return Err(unsupported!("Op{}", instruction.opcode)),
        })
    }
}
