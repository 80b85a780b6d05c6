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
        let Instruction {
            operation, operands, ..
        } = instruction;
        let result = instruction
            .result
            .map(|value| self.function.values[value.0 as usize]);
        let kind = result.unwrap_or(TypeId(0));
        let lanes = result.map_or(0, |kind| self.module.types.lanes(kind));
        let to = instruction
            .result
            .map_or(0, |value| self.slot(Operand::Value(value)));
        // Where each operand is; the verifier has seen to it that they are there.
        let slots: Vec<Slot> = operands.iter().map(|operand| self.slot(*operand)).collect();
        let at = |index: usize| slots.get(index).copied().unwrap_or(0);
        let from = operands
            .first()
            .map_or(Scalar::I64, |operand| self.scalar(*operand));
        let into = self.shape(kind).scalar;
        let step = match operation {
            Operation::Extract(_) | Operation::Expect | Operation::Assume => return Ok(()),
            Operation::Fence => Step::Fence,
            Operation::Elementwise(op) => {
                let missing = || ReadError::unsupported(format!("Op{op:?} of {from}"));
                match arithmetic::resolve(*op, from).ok_or_else(missing)? {
                    Elementwise::Binary(function) if lanes == 1 => Step::Binary {
                        function,
                        to,
                        a: at(0),
                        b: at(1),
                    },
                    Elementwise::Binary(function)
                        if operands.iter().all(|operand| self.lanes(*operand) == lanes) =>
                    {
                        Step::BinaryVector {
                            function,
                            to,
                            a: at(0),
                            b: at(1),
                            lanes,
                        }
                    }
                    function => {
                        let stride = |operand| u32::from(self.lanes(operand) != 1);
                        let strides = operands.iter().map(|operand| stride(*operand));
                        Step::Elementwise {
                            function,
                            to,
                            lanes,
                            operands: slots.iter().copied().zip(strides).collect(),
                        }
                    }
                }
            }
            Operation::Fold(op) => {
                let missing = || ReadError::unsupported(format!("Op{op:?} of {from}"));
                Step::Fold {
                    function: arithmetic::resolve_binary(*op, from).ok_or_else(missing)?,
                    to,
                    a: at(0),
                    lanes: self.lanes(operands[0]),
                }
            }
            Operation::Select => Step::Select {
                to,
                stride: u32::from(self.lanes(operands[0]) > 1),
                condition: at(0),
                accept: at(1),
                reject: at(2),
                lanes,
            },
            Operation::Convert {
                kind,
                saturate,
                rounding,
            } => match kind {
                Conversion::Unsigned if !saturate => Step::Truncate {
                    to,
                    a: at(0),
                    lanes,
                    mask: mask(into),
                },
                Conversion::Signed if !saturate => Step::Extend {
                    to,
                    a: at(0),
                    lanes,
                    unused: 64 - from.bits(),
                    mask: mask(into),
                },
                _ => Step::Convert(Box::new(Convert {
                    kind: *kind,
                    from,
                    into,
                    rounding: *rounding,
                    saturate: *saturate,
                    to,
                    a: at(0),
                    lanes,
                })),
            },
            Operation::Reinterpret if scalar_size(from) == scalar_size(into) => Step::Move(Move {
                from: at(0),
                to,
                lanes,
            }),
            Operation::Reinterpret => Step::Reinterpret {
                to,
                a: at(0),
                lanes: self.lanes(operands[0]),
                from,
                into,
            },
            Operation::Insert(first) => {
                let whole = Move {
                    from: at(0),
                    to,
                    lanes,
                };
                let part = Move {
                    from: at(1),
                    to: to + first,
                    lanes: self.lanes(operands[1]),
                };
                Step::Moves([whole, part].into())
            }
            Operation::ExtractDynamic => Step::ExtractDynamic {
                to,
                vector: at(0),
                index: at(1),
                lanes: self.lanes(operands[0]),
            },
            Operation::InsertDynamic => Step::InsertDynamic {
                to,
                vector: at(0),
                component: at(1),
                index: at(2),
                lanes,
            },
            Operation::Construct => {
                let mut next = to;
                let moves = operands.iter().zip(&slots).map(|(part, from)| {
                    let lanes = self.lanes(*part);
                    next += lanes;
                    Move {
                        from: *from,
                        to: next - lanes,
                        lanes,
                    }
                });
                Step::Moves(moves.collect())
            }
            Operation::Shuffle(picked) => {
                let split = self.lanes(operands[0]);
                let source = |lane: u32| {
                    if lane < split {
                        at(0) + lane
                    } else {
                        at(1) + (lane - split)
                    }
                };
                let moves = picked.iter().zip(to..).filter_map(|(lane, to)| {
                    lane.map(|lane| Move {
                        from: source(lane),
                        to,
                        lanes: 1,
                    })
                });
                Step::Moves(moves.collect())
            }
            Operation::Address { offset, strides } => {
                self.address(to, at(0), *offset, &operands[1..], strides);
                return Ok(());
            }
            Operation::Input(global) => Step::Input {
                to,
                global: global.0,
                lanes,
            },
            Operation::Load => {
                let (pointer, site) = (at(0), self.site());
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
            Operation::Store => {
                let (pointer, value, kind) = (at(0), at(1), self.kind(operands[1]));
                let site = self.site();
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
            Operation::Copy => Step::Copy {
                destination: at(0),
                source: at(1),
                size: at(2),
            },
            Operation::Atomic { operation, scalar } => {
                let function = match operation {
                    ir::AtomicOperation::Update(op) => arithmetic::resolve_binary(*op, *scalar),
                    _ => None,
                };
                Step::Atomic(Box::new(Atomic {
                    operation: *operation,
                    function,
                    size: scalar_size(*scalar) as u32,
                    to,
                    pointer: at(0),
                    operands: [at(1), at(2)],
                    site: self.site(),
                }))
            }
            Operation::GenericCast(class) => Step::GenericCast {
                to,
                pointer: at(0),
                class: *class,
            },
            Operation::PointerSemantics => Step::PointerSemantics { to, pointer: at(0) },
            Operation::Call(function) => {
                let moves = operands.iter().zip(&slots).map(|(argument, from)| Move {
                    from: *from,
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
            Operation::Extended(op) => self.pure(*op, operands, kind, to)?,
            Operation::Memory(function) => self.memory(*function, operands, kind, to),
            Operation::Print => Step::Print {
                to,
                operands: operands.iter().map(|operand| self.typed(*operand)).collect(),
            },
            Operation::Collective(collective) => {
                let operands: Box<[Typed]> = operands.iter().map(|operand| self.typed(*operand)).collect();
                let element = match collective.kind {
                    CollectiveKind::AsyncCopy { element, .. } => self.module.types.layout(element).size,
                    CollectiveKind::BlockRead => scalar_size(into),
                    CollectiveKind::BlockWrite => scalar_size(operands[1].shape.scalar),
                    _ => 0,
                };
                Step::Collective(Box::new(CollectiveStep {
                    collective: *collective,
                    operands,
                    to,
                    lanes,
                    element,
                }))
            }
            Operation::Ballot(query) => Step::Ballot {
                to,
                query: *query,
                ballot: at(0),
                index: at(1),
            },
        };
        self.steps.push(step);
        Ok(())
    }

    /// Adds one step for each index; the first takes the constant part along.
    fn address(&mut self, to: Slot, mut base: Slot, mut offset: u64, indices: &[Operand], strides: &[u64]) {
        if indices.is_empty() {
            self.steps.push(Step::AddressOffset { to, base, offset });
        }
        for (index, stride) in indices.iter().zip(strides) {
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
