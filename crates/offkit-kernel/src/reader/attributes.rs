//! What the module tells about instructions, parameters and functions beside what they do.

use offkit_spirv::dr::{self, Operand as Source};
use offkit_spirv::grammar::{Decoration, FunctionParameterAttribute, MemorySemantics, Op, Scope, Word};

use super::function::FunctionReader;
use super::ids::IdMap;
use super::{Reader, Result, id, ids, literal, result_id};
use crate::ir::{
    Attributes, FastMath, FunctionControl, LoopControl, Merge, Order, Parameter, ScopeListId, TypeId,
};

/// Alias domains, scopes and lists of scopes by their ids.
#[derive(Default)]
pub(super) struct Alias {
    domains: IdMap<u32>,
    scopes: IdMap<(u32, u32)>,
    lists: IdMap<ScopeListId>,
}

pub(super) fn fast_math(mask: u32) -> FastMath {
    let has = |bit: u32| mask & bit != 0;
    FastMath {
        not_nan: has(1),
        not_infinite: has(2),
        no_signed_zero: has(4),
        allow_reciprocal: has(8),
        fast: has(0x10),
        // These came later, with SPV_KHR_float_controls2, and have bits of their own.
        allow_contract: has(0x1_0000),
        allow_reassociation: has(0x2_0000),
        allow_transform: has(0x4_0000),
    }
}

pub(super) fn function_control(definition: &dr::Instruction) -> FunctionControl {
    let mask = literal(definition, 0).unwrap_or(0);
    let has = |bit: u32| mask & bit != 0;
    FunctionControl {
        inline: has(1),
        dont_inline: has(2),
        is_pure: has(4),
        is_const: has(8),
        opt_none: has(0x1_0000),
    }
}

/// The hints of a mask and the numbers behind it. Those for FPGAs, whose bits come last, are left out.
fn loop_control(operands: &[Source]) -> LoopControl {
    let mut numbers = operands.iter().map_while(|operand| match operand {
        Source::LiteralBit32(number) => Some(*number),
        _ => None,
    });
    let mask = numbers.next().unwrap_or(0);
    // SPIR-V puts the numbers in the order of their bits: each is asked for in that order.
    let mut number = |bit: u32| if mask & bit != 0 { numbers.next() } else { None };
    LoopControl {
        unroll: mask & 1 != 0,
        dont_unroll: mask & 2 != 0,
        independent: mask & 4 != 0,
        dependency_length: number(8),
        min_iterations: number(0x10),
        max_iterations: number(0x20),
        iteration_multiple: number(0x40),
        peel_count: number(0x80),
        partial_count: number(0x100),
    }
}

impl Reader<'_> {
    /// Reads alias domains, scopes and lists, which come in any order: clang writes the lists first.
    pub(super) fn alias_declarations(&mut self) -> Result<()> {
        let source = self.source;
        let of = |opcode: Op| {
            let all = source.types_global_values.iter();
            all.filter(move |instruction| instruction.opcode == opcode)
        };
        let alias = &mut self.alias;
        for (number, instruction) in (0..).zip(of(Op::AliasDomainDeclINTEL)) {
            alias.domains.insert(result_id(instruction)?, number);
        }
        for (number, instruction) in (0..).zip(of(Op::AliasScopeDeclINTEL)) {
            let missing = || malformed!("an alias scope without a domain");
            let domain = *alias.domains.get(&id(instruction, 0)?).ok_or_else(missing)?;
            alias.scopes.insert(result_id(instruction)?, (domain, number));
        }
        for (number, instruction) in (0..).zip(of(Op::AliasScopeListDeclINTEL)) {
            let scope = |word| alias.scopes.get(&word).copied();
            let scopes = ids(instruction, 0)?.into_iter().map(scope).collect::<Option<_>>();
            let scopes =
                scopes.ok_or_else(|| malformed!("a list of alias scopes with something else in it"))?;
            alias.lists.insert(result_id(instruction)?, ScopeListId(number));
            self.module.scope_lists.push(scopes);
        }
        Ok(())
    }

    fn scope_list(&self, operand: Option<&Source>) -> Option<ScopeListId> {
        match operand? {
            Source::IdRef(list) => self.alias.lists.get(list).copied(),
            _ => None,
        }
    }

    pub(super) fn parameter(&self, word: Word, kind: TypeId) -> Parameter {
        use FunctionParameterAttribute as A;
        let decorations = || self.decorations.all(word);
        let is = |attribute| {
            let attribute = Source::FunctionParameterAttribute(attribute);
            decorations().any(|(decoration, operands)| {
                decoration == Decoration::FuncParamAttr && operands.contains(&attribute)
            })
        };
        let restrict = [Decoration::Restrict, Decoration::RestrictPointer];
        Parameter {
            kind,
            // A module may put the attribute on anything, and who makes the copy follows the
            // pointer.
            by_value: is(A::ByVal) && self.module.types.is_pointer(kind),
            zero_extended: is(A::Zext),
            sign_extended: is(A::Sext),
            is_result: is(A::Sret),
            no_alias: is(A::NoAlias) || decorations().any(|(decoration, _)| restrict.contains(&decoration)),
            no_capture: is(A::NoCapture),
            no_write: is(A::NoWrite) || self.decorations.has(word, Decoration::NonWritable),
            no_read_write: is(A::NoReadWrite),
            align: self.decorations.alignment(word),
            max_byte_offset: self.decorations.literal(word, Decoration::MaxByteOffset),
        }
    }

    /// The order that two operands ask for, where they are constants.
    pub(super) fn order(&self, instruction: &dr::Instruction, scope: usize) -> Option<Order> {
        // Scope and order may also be values of the program. Then nothing is told here, which
        // stands for the strictest order.
        let constant = |index| {
            let value = self.constant_integer(id(instruction, index).ok()?).ok()?;
            u32::try_from(value).ok()
        };
        let scope_of = Scope(constant(scope)?);
        scope_of.name()?;
        Some(Order {
            scope: scope_of,
            semantics: constant(scope + 1)?,
        })
    }

    /// The order that arguments of an atomic function of OpenCL C ask for, where they are constants. Without a scope it
    /// is for the device.
    pub(super) fn order_of_arguments(&self, instruction: &dr::Instruction, first: usize) -> Option<Order> {
        let constant = |index| self.constant_integer(id(instruction, index).ok()?).ok();
        // The numbers are those of clang's `memory_order` and `memory_scope`, and not SPIR-V's.
        let semantics = match constant(first)? {
            0 => MemorySemantics::Relaxed,
            2 => MemorySemantics::Acquire,
            3 => MemorySemantics::Release,
            4 => MemorySemantics::AcquireRelease,
            5 => MemorySemantics::SequentiallyConsistent,
            _ => return None,
        };
        let at = first.checked_add(1)?;
        let scope = match instruction.operands.get(at) {
            None => Scope::Device,
            Some(_) => match constant(at)? {
                0 => Scope::Invocation,
                1 => Scope::Workgroup,
                2 => Scope::Device,
                3 => Scope::CrossDevice,
                4 => Scope::Subgroup,
                _ => return None,
            },
        };
        Some(Order {
            scope,
            semantics: semantics.0,
        })
    }

    /// Adds what memory operands say. A copy may have two sets of them, one for each side.
    fn memory_operands(&self, attributes: &mut Attributes, mut operands: &[Source]) {
        let mut is_first = true;
        while let [Source::LiteralBit32(mask), rest @ ..] = operands {
            let mut rest = rest.iter();
            // Each bit's operand is taken in the order of bits, wanted or not, or the next would get it.
            let mut parameter = |bit: u32| if mask & bit != 0 { rest.next() } else { None };
            let align = match parameter(2) {
                Some(Source::LiteralBit32(align)) => Some(*align).filter(|align| align.is_power_of_two()),
                _ => None,
            };
            // The scopes that make an access available or visible to others.
            let _ = (parameter(8), parameter(0x10));
            let (scopes, no_alias) = (
                self.scope_list(parameter(0x1_0000)),
                self.scope_list(parameter(0x2_0000)),
            );
            let nontemporal = mask & 4 != 0;
            if is_first {
                (attributes.align, attributes.nontemporal) = (align, nontemporal);
                attributes.scopes = scopes.or(attributes.scopes);
                attributes.no_alias = no_alias.or(attributes.no_alias);
            } else {
                // Of two the smaller one. An unknown one is the least of all, as `Option` orders them.
                attributes.align = attributes.align.min(align);
                attributes.nontemporal &= nontemporal;
            }
            attributes.volatile |= mask & 1 != 0;
            is_first = false;
            operands = rest.as_slice();
        }
    }
}

impl FunctionReader<'_, '_> {
    pub(super) fn attributes(&self, instruction: &dr::Instruction) -> Result<Attributes> {
        let mut attributes = Attributes::default();
        let decorations = instruction
            .result_id
            .map(|word| self.reader.decorations.all(word));
        for (decoration, operands) in decorations.into_iter().flatten() {
            match (decoration, operands) {
                (Decoration::FPFastMathMode, [Source::LiteralBit32(mask)]) => {
                    attributes.math = fast_math(*mask)
                }
                (Decoration::NoContraction, _) => attributes.no_contraction = true,
                (Decoration::NoSignedWrap, _) => attributes.no_signed_wrap = true,
                (Decoration::NoUnsignedWrap, _) => attributes.no_unsigned_wrap = true,
                (Decoration::AliasScopeINTEL, [list]) => {
                    attributes.scopes = self.reader.scope_list(Some(list))
                }
                (Decoration::NoAliasINTEL, [list]) => {
                    attributes.no_alias = self.reader.scope_list(Some(list))
                }
                _ => {}
            }
        }
        let operands = |from: usize| instruction.operands.get(from..).unwrap_or_default();
        match instruction.opcode {
            Op::Load => self.reader.memory_operands(&mut attributes, operands(1)),
            Op::Store | Op::CopyMemory => self.reader.memory_operands(&mut attributes, operands(2)),
            Op::CopyMemorySized => self.reader.memory_operands(&mut attributes, operands(3)),
            Op::InBoundsAccessChain | Op::InBoundsPtrAccessChain => attributes.in_bounds = true,
            Op::MemoryBarrier => attributes.order = self.reader.order(instruction, 0),
            Op::ControlBarrier => attributes.order = self.reader.order(instruction, 1),
            _ => {}
        }
        Ok(attributes)
    }

    pub(super) fn merge(&self, instruction: &dr::Instruction) -> Result<Merge> {
        let operands = |from: usize| instruction.operands.get(from..).unwrap_or_default();
        Ok(match instruction.opcode {
            Op::LoopMerge => Merge::Loop {
                after: self.label(id(instruction, 0)?)?,
                again: self.label(id(instruction, 1)?)?,
                control: loop_control(operands(2)),
            },
            Op::LoopControlINTEL => Merge::Unstructured(loop_control(operands(0))),
            _ => {
                let mask = literal(instruction, 1)?;
                Merge::Selection {
                    after: self.label(id(instruction, 0)?)?,
                    flatten: mask & 1 != 0,
                    dont_flatten: mask & 2 != 0,
                }
            }
        })
    }
}
