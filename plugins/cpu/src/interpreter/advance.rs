//! The execution of the steps of one function, up to a call, the end or a collective step.

use super::machine::Machine;
use super::space::{View, sign_extended};
use super::step::{Edge, Function, Move, Slot, Step};
use crate::launch::Fault;

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
        edge.moves.iter().for_each(|step| step.apply(registers));
    }
    edge.target as usize
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
        // More than once, as a long block may cost more than is handed out at a time.
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
                let index = sign_extended(r[*index as usize], *unused);
                let address = r[*base as usize].wrapping_add(*offset);
                r[*to as usize] = address.wrapping_add(index.wrapping_mul(*stride));
            }
            Step::Compute(effect) => effect(r),
            Step::Other(effect) => effect(r, machine, view)?,
            Step::Call {
                function, to, cost, ..
            } => {
                spend(machine.fuel, *cost)?;
                return Ok(Exit::Call {
                    function: *function,
                    to: *to,
                });
            }
            // `at` stays here: it tells where the work-item waits, and whoever does the step for
            // all that have come moves them on.
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
        }
        *at += 1;
    }
}
