//! The execution of the steps of one function, up to a call, the end or a collective step.

use super::machine::Machine;
use super::space::View;
use super::step::{Edge, Function, Move, Slot, Step};
use super::{memory_steps, print};
use crate::launch::Fault;
use offkit_kernel::builtins::Shape;
use offkit_kernel::builtins::convert::convert_lane;
use offkit_kernel::ir::{BallotQuery, reinterpret};

/// Why straight execution of a function ended.
pub(super) enum Exit {
    Call { function: u32, to: Slot },
    Return { from: Slot, lanes: u32 },
    Suspend,
}

fn follow(edge: &Edge, registers: &mut [u64]) -> usize {
    if edge.parallel {
        let mut words = Vec::new();
        for Move { from, lanes, .. } in &edge.moves {
            words.extend_from_slice(&registers[*from as usize..][..*lanes as usize]);
        }
        let mut rest = words.as_slice();
        for Move { to, lanes, .. } in &edge.moves {
            let (words, left) = rest.split_at(*lanes as usize);
            registers[*to as usize..][..words.len()].copy_from_slice(words);
            rest = left;
        }
    } else {
        edge.moves.iter().for_each(|step| move_words(step, registers));
    }
    edge.target as usize
}

#[inline]
fn move_words(step: &Move, registers: &mut [u64]) {
    if step.lanes == 1 {
        registers[step.to as usize] = registers[step.from as usize];
    } else {
        let from = step.from as usize;
        registers.copy_within(from..from + step.lanes as usize, step.to as usize);
    }
}

/// Executes steps of one function, from step `at`, with its frame's registers `r`.
pub(super) fn advance(
    code: &Function,
    at: &mut usize,
    r: &mut [u64],
    machine: &mut Machine<'_>,
    view: &mut View<'_>,
) -> Result<Exit, Fault> {
    let spend = |fuel: &mut u64, cost: u32| -> Result<(), Fault> {
        while *fuel < u64::from(cost) {
            *fuel += machine.limits.refill()?;
        }
        *fuel -= u64::from(cost);
        Ok(())
    };
    loop {
        match &code.steps[*at] {
            Step::Binary { function, to, a, b } => {
                r[*to as usize] = function(r[*a as usize], r[*b as usize]);
            }
            Step::Load {
                to,
                pointer,
                size,
                site,
            } => {
                r[*to as usize] = view.load(r[*pointer as usize], *size as usize, *site)?;
            }
            Step::Store {
                pointer,
                value,
                size,
                site,
            } => {
                view.store(r[*pointer as usize], *size as usize, r[*value as usize], *site)?;
            }
            Step::Address {
                to,
                base,
                index,
                unused,
                stride,
                offset,
            } => {
                let index = ((r[*index as usize] << unused) as i64 >> unused) as u64;
                let address = r[*base as usize].wrapping_add(*offset);
                r[*to as usize] = address.wrapping_add(index.wrapping_mul(*stride));
            }
            Step::AddressOffset { to, base, offset } => {
                r[*to as usize] = r[*base as usize].wrapping_add(*offset)
            }
            Step::Move(step) => move_words(step, r),
            Step::Moves(moves) => moves.iter().for_each(|step| move_words(step, r)),
            Step::Truncate { to, a, lanes, mask } => {
                for lane in 0..*lanes {
                    r[(to + lane) as usize] = r[(a + lane) as usize] & mask;
                }
            }
            Step::Extend {
                to,
                a,
                lanes,
                unused,
                mask,
            } => {
                for lane in 0..*lanes {
                    let extended = (r[(a + lane) as usize] << unused) as i64 >> unused;
                    r[(to + lane) as usize] = extended as u64 & mask;
                }
            }
            Step::BinaryVector {
                function,
                to,
                a,
                b,
                lanes,
            } => {
                for lane in 0..*lanes {
                    r[(to + lane) as usize] = function(r[(a + lane) as usize], r[(b + lane) as usize]);
                }
            }
            Step::Elementwise {
                function,
                to,
                lanes,
                operands,
            } => {
                for lane in 0..*lanes {
                    let mut words = [0; 4];
                    for (word, (slot, stride)) in words.iter_mut().zip(operands) {
                        *word = r[(slot + lane * stride) as usize];
                    }
                    r[(to + lane) as usize] = function.apply(&words);
                }
            }
            Step::Fold {
                function,
                to,
                a,
                lanes,
            } => {
                let words = &r[*a as usize..][..*lanes as usize];
                r[*to as usize] = words.iter().copied().reduce(function).unwrap_or(0);
            }
            Step::Select {
                to,
                condition,
                stride,
                accept,
                reject,
                lanes,
            } => {
                for lane in 0..*lanes {
                    let holds = r[(condition + lane * stride) as usize] != 0;
                    let from = if holds { *accept } else { *reject };
                    r[(to + lane) as usize] = r[(from + lane) as usize];
                }
            }
            Step::Convert(step) => {
                for lane in 0..step.lanes {
                    let word = r[(step.a + lane) as usize];
                    let converted = convert_lane(
                        step.kind,
                        step.from,
                        step.into,
                        step.rounding,
                        step.saturate,
                        word,
                    );
                    r[(step.to + lane) as usize] = converted;
                }
            }
            Step::Reinterpret {
                to,
                a,
                lanes,
                from,
                into,
            } => {
                let words = reinterpret(&r[*a as usize..][..*lanes as usize], *from, *into);
                r[*to as usize..][..words.len()].copy_from_slice(&words);
            }
            Step::ExtractDynamic {
                to,
                vector,
                index,
                lanes,
            } => {
                // An index outside gives any component; here the last.
                let lane = r[*index as usize].min(u64::from(lanes - 1));
                r[*to as usize] = r[*vector as usize + lane as usize];
            }
            Step::InsertDynamic {
                to,
                vector,
                component,
                index,
                lanes,
            } => {
                let (component, index) = (r[*component as usize], r[*index as usize]);
                move_words(
                    &Move {
                        from: *vector,
                        to: *to,
                        lanes: *lanes,
                    },
                    r,
                );
                if index < u64::from(*lanes) {
                    r[*to as usize + index as usize] = component;
                }
            }
            Step::Input { to, global, lanes } => {
                let words = (machine.input)(*global);
                let lanes = *lanes as usize;
                r[*to as usize..][..lanes].copy_from_slice(&words[..lanes]);
            }
            Step::Pure(step) => {
                let none: (&[u64], Shape) = (&[], step.result);
                let mut arguments = [none; super::step::Pure::MOST_OPERANDS];
                for (argument, operand) in arguments.iter_mut().zip(&step.operands) {
                    *argument = (
                        &r[operand.slot as usize..][..operand.shape.lanes as usize],
                        operand.shape,
                    );
                }
                let (mut out, mut second) = ([0; 16], [0; 16]);
                let lanes = step.result.lanes as usize;
                let arguments = &arguments[..step.operands.len()];
                (step.function)(step.result, arguments, &mut out[..lanes], &mut second[..lanes]);
                r[step.to as usize..][..lanes].copy_from_slice(&out[..lanes]);
                if let Some((pointer, size)) = step.out {
                    let mut address = r[pointer as usize];
                    for word in &second[..lanes] {
                        view.store(address, size as usize, *word, step.site)?;
                        address = address.wrapping_add(u64::from(size));
                    }
                }
            }
            Step::Ballot {
                to,
                query,
                ballot,
                index,
            } => {
                let bits = &r[*ballot as usize..][..4];
                let index = r[*index as usize];
                r[*to as usize] = ballot_answer(*query, bits, index, machine.lane, machine.sub_group_size);
            }
            Step::Print { to, operands } => {
                let text = print::format(operands, r, view)?;
                (machine.print)(&text)
                    .map_err(|error| Fault::Undefined(format!("printf cannot write: {error}")))?;
                r[*to as usize] = 0;
            }
            Step::Call {
                function, to, cost, ..
            } => {
                spend(machine.fuel, *cost)?;
                return Ok(Exit::Call {
                    function: *function,
                    to: *to,
                });
            }
            Step::Collective(_) => return Ok(Exit::Suspend),
            Step::Jump { edge, cost } => {
                spend(machine.fuel, *cost)?;
                *at = follow(edge, r);
                continue;
            }
            Step::Branch {
                condition,
                edges,
                cost,
            } => {
                spend(machine.fuel, *cost)?;
                *at = follow(&edges[usize::from(r[*condition as usize] == 0)], r);
                continue;
            }
            Step::Switch {
                selector,
                cases,
                default,
                cost,
            } => {
                spend(machine.fuel, *cost)?;
                let selector = r[*selector as usize];
                let edge = cases
                    .iter()
                    .find(|(value, _)| *value == selector)
                    .map_or(&**default, |(_, edge)| edge);
                *at = follow(edge, r);
                continue;
            }
            Step::Return { from, lanes, cost } => {
                spend(machine.fuel, *cost)?;
                return Ok(Exit::Return {
                    from: *from,
                    lanes: *lanes,
                });
            }
            Step::Unreachable => return Err(Fault::Unreachable),
            step => memory_steps::execute(step, r, view)?,
        }
        *at += 1;
    }
}

/// Answers a question about a ballot for the work-item with a number in its sub-group.
fn ballot_answer(query: BallotQuery, words: &[u64], index: u64, lane: u64, size: u64) -> u64 {
    let bits = words
        .iter()
        .rev()
        .fold(0u128, |bits, word| bits << 32 | u128::from(*word & 0xffff_ffff));
    let below = |end: u64| if end >= 128 { u128::MAX } else { (1u128 << end) - 1 };
    let members = bits & below(size);
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
