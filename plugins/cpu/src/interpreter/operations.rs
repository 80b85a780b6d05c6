//! The steps of each operation.

use super::decode::{Registers, mask};
use super::step::{Atomic, CollectiveStep, Convert, Move, Site, Slot, Step, Typed};
use offkit_kernel::ReadError;
use offkit_kernel::builtins::convert::Conversion;
use offkit_kernel::builtins::{Scalar, Shape};
use offkit_kernel::ir::arithmetic::{self, Elementwise};
use offkit_kernel::ir::{
    self, CollectiveKind, Instruction, Leaf, Operand, Operation, Type, TypeId, scalar_size,
};

/// A function being made executable.
pub(super) struct Decoder<'d> {
    pub(super) module: &'d ir::Module,
    pub(super) function: &'d ir::Function,
    pub(super) registers: &'d mut Registers,
    pub(super) sites: &'d mut u32,
    pub(super) steps: Vec<Step>,
}

impl Decoder<'_> {
    pub(super) fn slot(&self, operand: Operand) -> Slot {
        self.registers.slot(operand)
    }

    pub(super) fn lanes(&self, operand: Operand) -> u32 {
        self.module.operand_lanes(self.function, operand)
    }

    pub(super) fn kind(&self, operand: Operand) -> TypeId {
        self.module.operand_type(self.function, operand)
    }

    pub(super) fn scalar(&self, operand: Operand) -> Scalar {
        self.module
            .types
            .scalar(self.kind(operand))
            .unwrap_or(Scalar::I64)
    }

    pub(super) fn typed(&self, operand: Operand) -> Typed {
        Typed {
            slot: self.slot(operand),
            shape: self.shape(self.kind(operand)),
        }
    }

    pub(super) fn shape(&self, kind: TypeId) -> Shape {
        let scalar = self.module.types.scalar(kind).unwrap_or(Scalar::I64);
        Shape {
            scalar,
            lanes: self.module.types.lanes(kind),
        }
    }

    pub(super) fn site(&mut self) -> Site {
        *self.sites += 1;
        *self.sites - 1
    }

    fn leaves(&self, kind: TypeId) -> Box<[Leaf]> {
        self.module.types.leaves(kind).into()
    }

    /// Adds the steps of an instruction.
    pub(super) fn operation(&mut self, instruction: &Instruction) -> Result<(), ReadError> {
        let result = instruction
            .result
            .map(|value| self.function.values[value.0 as usize]);
        let lanes = result.map_or(0, |kind| self.module.types.lanes(kind));
        let to = instruction
            .result
            .map_or(0, |value| self.slot(Operand::Value(value)));
        let step = match &instruction.operation {
            Operation::Extract { .. } => return Ok(()),
            Operation::Fence => Step::Fence,
            Operation::Elementwise { op, scalar, operands } => {
                let slots: Vec<Slot> = operands.iter().map(|operand| self.slot(*operand)).collect();
                let missing = || ReadError::unsupported(format!("Op{op:?} of {scalar:?}"));
                match (
                    arithmetic::resolve(*op, *scalar).ok_or_else(missing)?,
                    slots.as_slice(),
                ) {
                    (Elementwise::Binary(function), [a, b]) if lanes == 1 => Step::Binary {
                        function,
                        to,
                        a: *a,
                        b: *b,
                    },
                    (Elementwise::Binary(function), [a, b]) => Step::BinaryVector {
                        function,
                        to,
                        a: *a,
                        b: *b,
                        lanes,
                    },
                    (function, _) => {
                        let stride = |operand| u32::from(self.lanes(operand) != 1);
                        let operands = operands
                            .iter()
                            .map(|operand| (self.slot(*operand), stride(*operand)));
                        Step::Elementwise {
                            function,
                            to,
                            lanes,
                            operands: operands.collect(),
                        }
                    }
                }
            }
            Operation::Fold { op, scalar, operand } => {
                let missing = || ReadError::unsupported(format!("Op{op:?} of {scalar:?}"));
                let function = arithmetic::resolve_binary(*op, *scalar).ok_or_else(missing)?;
                Step::Fold {
                    function,
                    to,
                    a: self.slot(*operand),
                    lanes: self.lanes(*operand),
                }
            }
            Operation::Select {
                condition,
                accept,
                reject,
            } => Step::Select {
                to,
                stride: u32::from(self.lanes(*condition) > 1),
                condition: self.slot(*condition),
                accept: self.slot(*accept),
                reject: self.slot(*reject),
                lanes,
            },
            Operation::Convert {
                kind,
                saturate,
                rounding,
                operand,
            } => {
                let (from, a) = (self.scalar(*operand), self.slot(*operand));
                let into = result
                    .and_then(|kind| self.module.types.scalar(kind))
                    .unwrap_or(Scalar::I64);
                match kind {
                    Conversion::Unsigned if !saturate => Step::Truncate {
                        to,
                        a,
                        lanes,
                        mask: mask(into),
                    },
                    Conversion::Signed if !saturate => Step::Extend {
                        to,
                        a,
                        lanes,
                        unused: 64 - from.bits(),
                        mask: mask(into),
                    },
                    _ => {
                        let (kind, rounding, saturate) = (*kind, *rounding, *saturate);
                        Step::Convert(Box::new(Convert {
                            kind,
                            from,
                            into,
                            rounding,
                            saturate,
                            to,
                            a,
                            lanes,
                        }))
                    }
                }
            }
            Operation::Reinterpret(operand) => {
                let from = self.scalar(*operand);
                let into = result
                    .and_then(|kind| self.module.types.scalar(kind))
                    .unwrap_or(Scalar::I64);
                let a = self.slot(*operand);
                if scalar_size(from) == scalar_size(into) {
                    Step::Move(Move { from: a, to, lanes })
                } else {
                    Step::Reinterpret {
                        to,
                        a,
                        lanes: self.lanes(*operand),
                        from,
                        into,
                    }
                }
            }
            Operation::Insert {
                composite,
                object,
                first,
            } => Step::Moves(
                [
                    Move {
                        from: self.slot(*composite),
                        to,
                        lanes,
                    },
                    Move {
                        from: self.slot(*object),
                        to: to + first,
                        lanes: self.lanes(*object),
                    },
                ]
                .into(),
            ),
            Operation::ExtractDynamic { vector, index } => Step::ExtractDynamic {
                to,
                vector: self.slot(*vector),
                index: self.slot(*index),
                lanes: self.lanes(*vector),
            },
            Operation::InsertDynamic {
                vector,
                component,
                index,
            } => Step::InsertDynamic {
                to,
                vector: self.slot(*vector),
                component: self.slot(*component),
                index: self.slot(*index),
                lanes,
            },
            Operation::Construct(parts) => {
                let mut next = to;
                let moves = parts.iter().map(|part| {
                    let lanes = self.lanes(*part);
                    next += lanes;
                    Move {
                        from: self.slot(*part),
                        to: next - lanes,
                        lanes,
                    }
                });
                Step::Moves(moves.collect())
            }
            Operation::Shuffle { first, second, lanes } => {
                let split = self.lanes(*first);
                let source = |lane: u32| {
                    if lane < split {
                        self.slot(*first) + lane
                    } else {
                        self.slot(*second) + (lane - split)
                    }
                };
                let moves = lanes.iter().zip(to..).filter_map(|(lane, to)| {
                    lane.map(|lane| Move {
                        from: source(lane),
                        to,
                        lanes: 1,
                    })
                });
                Step::Moves(moves.collect())
            }
            Operation::Address { base, offset, terms } => {
                self.address(to, self.slot(*base), *offset, terms);
                return Ok(());
            }
            Operation::Input(global) => Step::Input {
                to,
                global: global.0,
                lanes,
            },
            Operation::Load { pointer } => {
                let (pointer, site) = (self.slot(*pointer), self.site());
                let kind = result.unwrap_or(TypeId(0));
                match self.size_of_one(kind) {
                    Some(size) => Step::Load {
                        to,
                        pointer,
                        size,
                        site,
                    },
                    None => Step::LoadComposite {
                        to,
                        pointer,
                        leaves: self.leaves(kind),
                        site,
                    },
                }
            }
            Operation::Store { pointer, value } => {
                let (pointer, site, kind) = (self.slot(*pointer), self.site(), self.kind(*value));
                let value = self.slot(*value);
                match self.size_of_one(kind) {
                    Some(size) => Step::Store {
                        pointer,
                        value,
                        size,
                        site,
                    },
                    None => Step::StoreComposite {
                        pointer,
                        value,
                        leaves: self.leaves(kind),
                        site,
                    },
                }
            }
            Operation::Copy {
                destination,
                source,
                size,
            } => Step::Copy {
                destination: self.slot(*destination),
                source: self.slot(*source),
                size: self.slot(*size),
            },
            Operation::Atomic {
                operation,
                scalar,
                pointer,
                operands,
            } => {
                let slot = |index: usize| operands.get(index).map_or(0, |operand| self.slot(*operand));
                let function = match operation {
                    ir::AtomicOperation::Update(op) => arithmetic::resolve_binary(*op, *scalar),
                    _ => None,
                };
                let operands = [slot(0), slot(1)];
                let (pointer, site) = (self.slot(*pointer), self.site());
                let size = scalar_size(*scalar) as u32;
                Step::Atomic(Box::new(Atomic {
                    operation: *operation,
                    function,
                    size,
                    to,
                    pointer,
                    operands,
                    site,
                }))
            }
            Operation::GenericCast { pointer, class } => Step::GenericCast {
                to,
                pointer: self.slot(*pointer),
                class: *class,
            },
            Operation::PointerSemantics(pointer) => Step::PointerSemantics {
                to,
                pointer: self.slot(*pointer),
            },
            Operation::Call { function, arguments } => {
                let moves = arguments.iter().map(|argument| Move {
                    from: self.slot(*argument),
                    to: 0,
                    lanes: self.lanes(*argument),
                });
                Step::Call {
                    function: function.0,
                    arguments: moves.collect(),
                    to,
                    cost: 1,
                }
            }
            Operation::Extended { op, operands, out } => self.pure(*op, operands, *out, result, to)?,
            Operation::Memory { function, operands } => self.memory(*function, operands, result, to),
            Operation::Print { operands } => Step::Print {
                to,
                operands: operands.iter().map(|operand| self.typed(*operand)).collect(),
            },
            Operation::Collective(collective) => {
                let operands: Box<[Typed]> = collective
                    .operands
                    .iter()
                    .map(|operand| self.typed(*operand))
                    .collect();
                let element = match collective.kind {
                    CollectiveKind::AsyncCopy { element, .. } => self.module.types.layout(element).size,
                    CollectiveKind::BlockRead => {
                        result.map_or(1, |kind| scalar_size(self.shape(kind).scalar))
                    }
                    CollectiveKind::BlockWrite => scalar_size(operands[1].shape.scalar),
                    _ => 0,
                };
                let collective = collective.clone();
                Step::Collective(Box::new(CollectiveStep {
                    collective,
                    operands,
                    to,
                    lanes,
                    element,
                }))
            }
            Operation::Ballot { query, operands } => Step::Ballot {
                to,
                query: *query,
                ballot: self.slot(operands[0]),
                index: operands.get(1).map_or(0, |index| self.slot(*index)),
            },
        };
        self.steps.push(step);
        Ok(())
    }

    /// Adds one step for each index; the first takes the constant part along.
    fn address(&mut self, to: Slot, mut base: Slot, mut offset: u64, terms: &[(Operand, u64)]) {
        if terms.is_empty() {
            self.steps.push(Step::AddressOffset { to, base, offset });
        }
        for (index, stride) in terms {
            let unused = 64 - self.scalar(*index).bits();
            let index = self.slot(*index);
            self.steps.push(Step::Address {
                to,
                base,
                index,
                unused,
                stride: *stride,
                offset,
            });
            (base, offset) = (to, 0);
        }
    }

    /// The size of a type whose values are one word in memory as well.
    fn size_of_one(&self, kind: TypeId) -> Option<u32> {
        match self.module.types.get(kind) {
            Type::Scalar(scalar) if *scalar != Scalar::Bool => Some(scalar_size(*scalar) as u32),
            Type::Pointer { .. } | Type::Event => Some(8),
            _ => None,
        }
    }
}
