//! What work-items do together, once those that take part have come.

use super::errors::shuffle;
use super::machine::WorkItem;
use super::memory_steps;
use super::space::View;
use super::step::CollectiveStep;
use crate::launch::{Fault, Group};
use offkit_kernel::ir::arithmetic;
use offkit_kernel::ir::{CollectiveKind as Kind, GroupScope, Reduction};

/// The work-items that have come.
pub(super) struct Meeting<'m> {
    /// All of the group.
    pub(super) items: &'m mut [WorkItem],
    /// Numbers of those that take part, in ascending order.
    pub(super) members: &'m [usize],
    pub(super) group: &'m Group,
    /// Work-items of a full sub-group, or of the group that meets as a whole.
    pub(super) size: usize,
    /// The number of the order that values are reduced in, where it isn't that of the members.
    pub(super) errors: Option<u64>,
}

impl Meeting<'_> {
    /// The words of an operand of a member.
    fn operand(&self, step: &CollectiveStep, index: usize, member: usize) -> &[u64] {
        let item = &self.items[member];
        let base = item.frames.last().map_or(0, |frame| frame.base);
        let operand = &step.operands[index];
        &item.registers[(base + operand.slot) as usize..][..operand.shape.lanes as usize]
    }

    fn scalar(&self, step: &CollectiveStep, index: usize, member: usize) -> u64 {
        self.operand(step, index, member).first().copied().unwrap_or(0)
    }

    fn set(&mut self, step: &CollectiveStep, member: usize, words: &[u64]) {
        let item = &mut self.items[member];
        let base = item.frames.last().map_or(0, |frame| frame.base);
        item.registers[(base + step.to) as usize..][..words.len()].copy_from_slice(words);
    }

    /// A member's number in its sub-group, or in the group.
    fn lane(&self, member: usize) -> u64 {
        (member % self.size) as u64
    }

    /// Who of those that have come has that number.
    fn at_lane(&self, lane: u64) -> Option<usize> {
        self.members
            .iter()
            .copied()
            .find(|member| self.lane(*member) == lane)
    }
}

/// Computes the results of all members.
pub(super) fn perform(
    step: &CollectiveStep,
    meeting: &mut Meeting<'_>,
    view: &mut View<'_>,
) -> Result<(), Fault> {
    let members = meeting.members;
    let first = members[0];
    match step.collective.kind {
        Kind::Barrier | Kind::WaitEvents => {}
        Kind::Reduce(reduction) => reduce(step, meeting, reduction, u64::MAX),
        Kind::ClusteredReduce(reduction, size) => reduce(step, meeting, reduction, size.into()),
        Kind::InclusiveScan(reduction) => scan(step, meeting, reduction, true),
        Kind::ExclusiveScan(reduction) => scan(step, meeting, reduction, false),
        Kind::All => {
            let all = members.iter().all(|member| meeting.scalar(step, 0, *member) != 0);
            for_all(step, meeting, &[u64::from(all)]);
        }
        Kind::Any => {
            let any = members.iter().any(|member| meeting.scalar(step, 0, *member) != 0);
            for_all(step, meeting, &[u64::from(any)]);
        }
        Kind::AllEqual => {
            let scalar = step.operands[0].shape.scalar;
            // As numbers and not as bits: both zeros are equal, and NaN is equal to nothing.
            let is_equal = arithmetic::resolve_binary(arithmetic::equality(scalar), scalar);
            let is_equal = is_equal.unwrap_or(|one, two| u64::from(one == two));
            let value = meeting.operand(step, 0, first);
            let equal = members.iter().all(|member| {
                let words = meeting.operand(step, 0, *member).iter().zip(value);
                words.into_iter().all(|(one, two)| is_equal(*one, *two) != 0)
            });
            for_all(step, meeting, &[u64::from(equal)]);
        }
        Kind::Elect => {
            for member in members {
                meeting.set(step, *member, &[u64::from(*member == first)]);
            }
        }
        Kind::Broadcast => {
            let source = broadcast_source(step, meeting)?;
            let words = meeting.operand(step, 0, source).to_vec();
            for_all(step, meeting, &words);
        }
        Kind::BroadcastFirst => {
            let words = meeting.operand(step, 0, first).to_vec();
            for_all(step, meeting, &words);
        }
        Kind::Ballot => {
            let mut bits = [0u64; 4];
            for member in members {
                let lane = meeting.lane(*member);
                if meeting.scalar(step, 0, *member) != 0 && lane < 128 {
                    bits[lane as usize / 32] |= 1 << (lane % 32);
                }
            }
            for_all(step, meeting, &bits);
        }
        Kind::Shuffle => exchange(step, meeting, |_, index| Some(index)),
        Kind::ShuffleXor => exchange(step, meeting, |lane, mask| Some(lane ^ mask)),
        Kind::ShuffleUp => exchange(step, meeting, |lane, delta| lane.checked_sub(delta)),
        Kind::ShuffleDown => exchange(step, meeting, |lane, delta| lane.checked_add(delta)),
        Kind::QuadBroadcast => exchange(step, meeting, |lane, index| Some(lane & !3 | index & 3)),
        Kind::QuadSwap(direction) => {
            let mask = [1, 2, 3][direction.min(2) as usize];
            exchange(step, meeting, |lane, _| Some(lane ^ mask));
        }
        Kind::Rotate(cluster) => {
            let size = if cluster == 0 {
                members.len() as u64
            } else {
                cluster.into()
            };
            exchange(step, meeting, |lane, delta| {
                let start = lane / size * size;
                Some(start + (lane - start).wrapping_add(delta) % size)
            });
        }
        Kind::ShuffleDownPair | Kind::ShuffleUpPair => shuffle_pair(step, meeting),
        Kind::BlockRead | Kind::BlockWrite => block_access(step, meeting, view)?,
        Kind::AsyncCopy { to_local, .. } => async_copy(step, meeting, view, to_local)?,
    }
    Ok(())
}

fn for_all(step: &CollectiveStep, meeting: &mut Meeting<'_>, words: &[u64]) {
    for member in meeting.members {
        meeting.set(step, *member, words);
    }
}

/// The function of a reduction. The verifier has checked that there is one.
fn combine(reduction: Reduction, a: &mut [u64], b: &[u64]) {
    if let Some(function) = arithmetic::resolve_binary(reduction.op, reduction.scalar) {
        a.iter_mut().zip(b).for_each(|(a, b)| *a = function(*a, *b));
    }
}

/// What the values of some members come to.
fn total(step: &CollectiveStep, meeting: &Meeting<'_>, reduction: Reduction, members: &[usize]) -> Vec<u64> {
    let mut members = members.to_vec();
    if let Some(seed) = meeting.errors {
        shuffle(seed, &mut members);
    }
    let mut values = members.iter().map(|member| meeting.operand(step, 0, *member));
    let mut total = values.next().unwrap_or_default().to_vec();
    for value in values {
        combine(reduction, &mut total, value);
    }
    total
}

/// Reduces over clusters of neighbouring numbers.
fn reduce(step: &CollectiveStep, meeting: &mut Meeting<'_>, reduction: Reduction, cluster: u64) {
    let members = meeting.members;
    let mut start = 0;
    while let Some(&first) = members.get(start) {
        let of = |member: usize| meeting.lane(member) / cluster;
        let same = |member: &&usize| cluster == u64::MAX || of(**member) == of(first);
        let length = members[start..].iter().take_while(same).count();
        let total = total(step, meeting, reduction, &members[start..start + length]);
        for member in &members[start..start + length] {
            meeting.set(step, *member, &total);
        }
        start += length;
    }
}

fn scan(step: &CollectiveStep, meeting: &mut Meeting<'_>, reduction: Reduction, inclusive: bool) {
    let identity = arithmetic::identity(reduction.op, reduction.scalar).unwrap_or(0);
    let mut sum: Option<Vec<u64>> = None;
    for (index, member) in meeting.members.iter().enumerate() {
        let value = meeting.operand(step, 0, *member).to_vec();
        let before = sum.take();
        let after = match &before {
            // All of them anew: in another order, a sum isn't the one before and one value more.
            Some(_) if meeting.errors.is_some() => {
                total(step, meeting, reduction, &meeting.members[..=index])
            }
            Some(before) => {
                let mut after = before.clone();
                combine(reduction, &mut after, &value);
                after
            }
            None => value,
        };
        let before = before.unwrap_or_else(|| vec![identity; after.len()]);
        meeting.set(step, *member, if inclusive { &after } else { &before });
        sum = Some(after);
    }
}

fn broadcast_source(step: &CollectiveStep, meeting: &Meeting<'_>) -> Result<usize, Fault> {
    // All must name the same one, so that anybody's index will do.
    let index = meeting.operand(step, 1, meeting.members[0]);
    let source = match step.collective.scope {
        GroupScope::SubGroup => meeting.at_lane(index[0]),
        GroupScope::WorkGroup => {
            let mut local_id = [0; 3];
            local_id[..index.len()].copy_from_slice(index);
            meeting.group.number(local_id).map(|number| number as usize)
        }
    };
    source.ok_or_else(|| {
        Fault::Undefined(format!(
            "a broadcast from work-item {index:?}, which does not take part"
        ))
    })
}

/// Gives every member the first operand of the one that `source` finds from its number and its second
/// operand; where that one does not take part, its own.
fn exchange(step: &CollectiveStep, meeting: &mut Meeting<'_>, source: impl Fn(u64, u64) -> Option<u64>) {
    let results: Vec<Vec<u64>> = meeting
        .members
        .iter()
        .map(|member| {
            // A quad swap has none.
            let argument = match step.operands.len() {
                ..2 => 0,
                _ => meeting.scalar(step, 1, *member),
            };
            let from = source(meeting.lane(*member), argument).and_then(|lane| meeting.at_lane(lane));
            meeting.operand(step, 0, from.unwrap_or(*member)).to_vec()
        })
        .collect();
    set_each(step, meeting, &results);
}

fn set_each(step: &CollectiveStep, meeting: &mut Meeting<'_>, results: &[Vec<u64>]) {
    for (member, words) in meeting.members.iter().zip(results) {
        meeting.set(step, *member, words);
    }
}

/// Shuffles over two values laid one after the other, each as long as the sub-group.
fn shuffle_pair(step: &CollectiveStep, meeting: &mut Meeting<'_>) {
    let size = meeting.size as u64;
    let down = step.collective.kind == Kind::ShuffleDownPair;
    let results: Vec<Vec<u64>> = meeting
        .members
        .iter()
        .map(|member| {
            let (lane, delta) = (meeting.lane(*member), meeting.scalar(step, 2, *member));
            // Counted from the first of the two values.
            let index = if down {
                lane.wrapping_add(delta)
            } else {
                (lane + size).wrapping_sub(delta)
            };
            let from = meeting.at_lane(index % size).unwrap_or(*member);
            meeting.operand(step, usize::from(index >= size), from).to_vec()
        })
        .collect();
    set_each(step, meeting, &results);
}

/// Component `c` of the member with number `n` is element `c · size + n` of the block.
fn block_access(step: &CollectiveStep, meeting: &mut Meeting<'_>, view: &mut View<'_>) -> Result<(), Fault> {
    let write = step.collective.kind == Kind::BlockWrite;
    let lanes = if write {
        step.operands[1].shape.lanes
    } else {
        step.lanes
    };
    let base = meeting.scalar(step, 0, meeting.members[0]);
    for member in meeting.members {
        let mut words = if write {
            meeting.operand(step, 1, *member).to_vec()
        } else {
            vec![0; lanes as usize]
        };
        for (component, word) in (0u64..).zip(&mut words) {
            let element = component * meeting.size as u64 + meeting.lane(*member);
            let address = base.wrapping_add(element * step.element);
            if write {
                view.store(address, step.element as usize, *word, 0)?;
            } else {
                *word = view.load(address, step.element as usize, 0)?;
            }
        }
        if !write {
            meeting.set(step, *member, &words);
        }
    }
    Ok(())
}

/// Copies elements between global and local memory, with a stride on the global side.
fn async_copy(
    step: &CollectiveStep,
    meeting: &mut Meeting<'_>,
    view: &mut View<'_>,
    to_local: bool,
) -> Result<(), Fault> {
    use crate::memory::AccessKind;
    let [destination, source, count, stride] =
        [0, 1, 2, 3].map(|index| meeting.scalar(step, index, meeting.members[0]));
    let size = step.element;
    // The dense side is checked as a whole, which also bounds the count.
    let dense = count.saturating_mul(size);
    if to_local {
        view.check(AccessKind::Store, destination, dense)?;
    } else {
        view.check(AccessKind::Load, source, dense)?;
    }
    // Elements without bytes are at one place, and their count is not bounded by any check.
    if stride == 1 || size == 0 {
        memory_steps::copy(view, destination, source, dense)?;
    } else {
        for index in 0..count {
            let (near, far) = (index * size, index.wrapping_mul(stride).wrapping_mul(size));
            let (to, from) = if to_local { (near, far) } else { (far, near) };
            memory_steps::copy(
                view,
                destination.wrapping_add(to),
                source.wrapping_add(from),
                size,
            )?;
        }
    }
    // The event that is to be waited for: the copy is done by now, so that any will do.
    for_all(step, meeting, &[0]);
    Ok(())
}
