//! The steps of each operation.

use super::decode::{Registers, mask, part_of};
use super::space::sign_extended;
use super::step::{CollectiveStep, Move, Site, Slot, Step, Typed};
use crate::launch::{Fault, printf};
use offkit_kernel::ReadError;
use offkit_kernel::builtins::convert::{Conversion, convert_lane};
use offkit_kernel::builtins::{Scalar, Shape};
use offkit_kernel::ir::arithmetic::{self, Elementwise};
use offkit_kernel::ir::{
    self, BallotQuery, CollectiveKind, Instruction, Operand, Operation, TypeId, reinterpret, scalar_size,
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
        // Its registers are among those of what it is a part of, so there is nothing to do.
        if part_of(self.module, self.function, instruction).is_some() {
            return Ok(());
        }
        let step = match operation {
            Operation::Assume => return Ok(()),
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
                        let (a, b) = (at(0), at(1));
                        Step::compute(move |r| {
                            for lane in 0..lanes {
                                let words = (r[(a + lane) as usize], r[(b + lane) as usize]);
                                r[(to + lane) as usize] = function(words.0, words.1);
                            }
                        })
                    }
                    function => {
                        let stride = |operand| u32::from(self.lanes(operand) != 1);
                        let strides = operands.iter().map(|operand| stride(*operand));
                        // Operands of one lane count for all.
                        let operands: Box<[(Slot, u32)]> = slots.iter().copied().zip(strides).collect();
                        Step::compute(move |r| {
                            for lane in 0..lanes {
                                let mut words = [0; 4];
                                for (word, (slot, stride)) in words.iter_mut().zip(&operands) {
                                    *word = r[(slot + lane * stride) as usize];
                                }
                                r[(to + lane) as usize] = function.apply(&words);
                            }
                        })
                    }
                }
            }
            Operation::Fold(op) => {
                let missing = || ReadError::unsupported(format!("Op{op:?} of {from}"));
                let function = arithmetic::resolve_binary(*op, from).ok_or_else(missing)?;
                let (a, lanes) = (at(0) as usize, self.lanes(operands[0]) as usize);
                Step::compute(move |r| {
                    let words = r[a..][..lanes].iter().copied();
                    r[to as usize] = words.reduce(function).unwrap_or(0);
                })
            }
            Operation::Select => {
                // One condition for all lanes, or one for each.
                let stride = u32::from(self.lanes(operands[0]) > 1);
                let (condition, accept, reject) = (at(0), at(1), at(2));
                Step::compute(move |r| {
                    for lane in 0..lanes {
                        let holds = r[(condition + lane * stride) as usize] != 0;
                        let from = if holds { accept } else { reject };
                        r[(to + lane) as usize] = r[(from + lane) as usize];
                    }
                })
            }
            Operation::Convert {
                kind,
                saturate,
                rounding,
            } => {
                let (kind, saturate, rounding) = (*kind, *saturate, *rounding);
                let (unused, mask) = (64 - from.bits(), mask(into));
                match kind {
                    // Cuts off at a width.
                    Conversion::Unsigned if !saturate => map(to, at(0), lanes, move |word| word & mask),
                    // Sign-extends from a width and cuts off at another.
                    Conversion::Signed if !saturate => {
                        map(to, at(0), lanes, move |word| sign_extended(word, unused) & mask)
                    }
                    _ => map(to, at(0), lanes, move |word| {
                        convert_lane(kind, from, into, rounding, saturate, word)
                    }),
                }
            }
            Operation::Reinterpret => {
                let (a, lanes) = (at(0) as usize, self.lanes(operands[0]) as usize);
                Step::compute(move |r| {
                    let words = reinterpret(&r[a..][..lanes], from, into);
                    r[to as usize..][..words.len()].copy_from_slice(&words);
                })
            }
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
                moves([whole, part])
            }
            Operation::ExtractDynamic => {
                let (vector, index, last) = (at(0), at(1), self.lanes(operands[0]) - 1);
                Step::compute(move |r| {
                    // An index outside gives any component; here the last.
                    let lane = r[index as usize].min(u64::from(last));
                    r[to as usize] = r[vector as usize + lane as usize];
                })
            }
            Operation::InsertDynamic => {
                let (from, component, index) = (at(0), at(1), at(2));
                Step::compute(move |r| {
                    let (component, index) = (r[component as usize], r[index as usize]);
                    Move { from, to, lanes }.apply(r);
                    if index < u64::from(lanes) {
                        r[to as usize + index as usize] = component;
                    }
                })
            }
            Operation::Construct => {
                let mut next = to;
                moves(operands.iter().zip(&slots).map(|(part, from)| {
                    let (from, to, lanes) = (*from, next, self.lanes(*part));
                    next += lanes;
                    Move { from, to, lanes }
                }))
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
                moves(picked.iter().zip(to..).filter_map(|(lane, to)| {
                    lane.map(|lane| Move {
                        from: source(lane),
                        to,
                        lanes: 1,
                    })
                }))
            }
            Operation::Address { offset, strides } => {
                self.address(to, at(0), *offset, &operands[1..], strides);
                return Ok(());
            }
            Operation::Input(global) => {
                // Four words at most: the verifier knows the types of built-in variables.
                let (global, to, lanes) = (global.0, to as usize, lanes as usize);
                Step::other(move |r, machine, _| {
                    r[to..][..lanes].copy_from_slice(&(machine.input)(global)[..lanes]);
                    Ok(())
                })
            }
            Operation::Call(function) => Step::Call {
                function: function.0,
                arguments: slots.into(),
                to,
                // A function that only calls itself never comes to the end of a block, which costs.
                cost: 1,
            },
            Operation::Overflow => Step::other(|_, _, _| Err(Fault::overflow())),
            Operation::Nowhere => Step::other(|_, _, _| Err(Fault::nowhere())),
            Operation::NoFunction => Step::other(|_, _, _| Err(Fault::no_function())),
            Operation::Extended(op) => self.pure(*op, operands, kind, to)?,
            Operation::Print => {
                let operands: Box<[Typed]> = operands.iter().map(|operand| self.typed(*operand)).collect();
                Step::other(move |r, machine, view| {
                    let words = |operand: &Typed| {
                        let lanes = operand.shape.lanes as usize;
                        (&r[operand.slot as usize..][..lanes], operand.shape)
                    };
                    let given: Vec<_> = operands.iter().map(words).collect();
                    let mut read = |address| Ok(view.load(address, 1, 0)? as u8);
                    let text = printf::format(&given, &mut read)?;
                    (machine.print)(&text).map_err(Fault::of_print)?;
                    // OpenCL's printf gives 0 where it has printed, and not a count as C's does.
                    r[to as usize] = 0;
                    Ok(())
                })
            }
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
            Operation::Ballot(query) => {
                let (query, ballot, index) = (*query, at(0), at(1));
                Step::other(move |r, machine, _| {
                    let bits = &r[ballot as usize..][..4];
                    let (lane, size) = (machine.lane, machine.sub_group_max_size);
                    r[to as usize] = ballot_answer(query, bits, r[index as usize], lane, size);
                    Ok(())
                })
            }
            _ => self.memory_operation(operation, operands, kind, to),
        };
        self.steps.push(step);
        Ok(())
    }

    /// Adds one step for each index; the first takes the constant part along.
    fn address(&mut self, to: Slot, mut base: Slot, mut offset: u64, indices: &[Operand], strides: &[u64]) {
        if indices.is_empty() {
            let step = Step::compute(move |r| r[to as usize] = r[base as usize].wrapping_add(offset));
            self.steps.push(step);
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
}

/// A step that sets each lane by the lane of an operand.
fn map(to: Slot, a: Slot, lanes: u32, function: impl Fn(u64) -> u64 + Send + Sync + 'static) -> Step {
    Step::compute(move |r| {
        for lane in 0..lanes {
            r[(to + lane) as usize] = function(r[(a + lane) as usize]);
        }
    })
}

/// Moves that do not overlap.
fn moves(moves: impl IntoIterator<Item = Move>) -> Step {
    let moves: Box<[Move]> = moves.into_iter().collect();
    Step::compute(move |r| moves.iter().for_each(|step| step.apply(r)))
}

/// Answers a question about a ballot for the work-item with a number in its sub-group. Of a ballot's bits those of the
/// largest sub-group count, also in one that is smaller.
fn ballot_answer(query: BallotQuery, words: &[u64], index: u64, lane: u64, size: u64) -> u64 {
    let bits = words
        .iter()
        .rev()
        .fold(0u128, |bits, word| bits << 32 | u128::from(*word & 0xffff_ffff));
    let below = |end: u64| if end >= 128 { u128::MAX } else { (1u128 << end) - 1 };
    let members = bits & below(size);
    // Where there is no such bit SPIR-V leaves the result open; shifts must stay within the word.
    match query {
        BallotQuery::Inverse => (bits >> lane.min(127) & 1) as u64,
        BallotQuery::Bit => (bits >> index.min(127) & 1) as u64,
        BallotQuery::Count => members.count_ones().into(),
        BallotQuery::CountInclusive => (members & below(lane + 1)).count_ones().into(),
        BallotQuery::CountExclusive => (members & below(lane)).count_ones().into(),
        BallotQuery::FindLow => members.trailing_zeros().min(127).into(),
        BallotQuery::FindHigh => 127u64.saturating_sub(members.leading_zeros().into()),
    }
}
