//! What the lanes of a sub-group get, one after the other, as the interpreter has it.

use offkit_kernel::ir::{BallotQuery, CollectiveKind as Kind, Operation, Reduction, arithmetic};

/// The words of each lane's result, by those of its operands; none where these are anything.
pub(super) fn together(operation: &Operation, lanes: &[Vec<Vec<u64>>]) -> Vec<Vec<u64>> {
    match operation {
        Operation::Collective(collective) => collected(collective.kind, lanes),
        Operation::Ballot(query) => {
            let size = lanes.len() as u32;
            let answer = |(lane, operands): (u32, &Vec<Vec<u64>>)| {
                vec![answered(*query, &operands[0], operands[1][0], lane, size)]
            };
            (0..).zip(lanes).map(answer).collect()
        }
        other => panic!("{other:?} is not done together"),
    }
}

fn answered(query: BallotQuery, words: &[u64], index: u64, lane: u32, size: u32) -> u64 {
    let bits = (0..).zip(words).fold(0u128, |bits, (place, word)| {
        bits | u128::from(*word) << (32 * place)
    });
    let members = bits & ((1 << size) - 1);
    let below = |end: u32| u64::from((members & ((1 << end) - 1)).count_ones());
    match query {
        BallotQuery::Inverse => (bits >> lane & 1) as u64,
        BallotQuery::Bit => (bits >> index.min(127) & 1) as u64,
        BallotQuery::Count => below(size),
        BallotQuery::CountInclusive => below(lane + 1),
        BallotQuery::CountExclusive => below(lane),
        BallotQuery::FindLow => members.trailing_zeros().min(127).into(),
        BallotQuery::FindHigh => members.checked_ilog2().unwrap_or(0).into(),
    }
}

/// The words of each lane's result, by those of its operands, the first of which tells whether it takes part; none for
/// lanes that do not.
fn collected(kind: Kind, lanes: &[Vec<Vec<u64>>]) -> Vec<Vec<u64>> {
    let members: Vec<usize> = (0..lanes.len()).filter(|lane| lanes[*lane][0][0] != 0).collect();
    let mut results = vec![Vec::new(); lanes.len()];
    let Some(&first) = members.first() else {
        return results;
    };
    let size = lanes.len() as u64;
    let value = |lane: usize| lanes[lane][1].clone();
    let argument = |lane: usize| lanes[lane].get(2).map_or(0, |operand| operand[0]);
    let member = |lane: u64| members.iter().copied().find(|member| *member as u64 == lane);
    let holds = |lane: &usize| value(*lane)[0] != 0;
    let all = |words: Vec<u64>| move |_: usize| words.clone();
    let taken = |source: &dyn Fn(u64, u64) -> Option<u64>, lane: usize| {
        let from = source(lane as u64, argument(lane)).and_then(member);
        value(from.unwrap_or(lane))
    };
    let combine = |reduction: Reduction, lanes: &mut dyn Iterator<Item = usize>| {
        let function = arithmetic::resolve_binary(reduction.op, reduction.scalar).expect("a reduction");
        lanes.map(|lane| value(lane)[0]).reduce(function)
    };
    let of_lane: Box<dyn Fn(usize) -> Vec<u64>> = match kind {
        Kind::Reduce(reduction) => {
            Box::new(move |_| vec![combine(reduction, &mut members_of(lanes)).unwrap_or(0)])
        }
        Kind::ClusteredReduce(reduction, size) => Box::new(move |lane| {
            let cluster = |lane: usize| lane / size as usize;
            let mut same = members_of(lanes).filter(|other| cluster(*other) == cluster(lane));
            vec![combine(reduction, &mut same).unwrap_or(0)]
        }),
        Kind::InclusiveScan(reduction) => Box::new(move |lane| {
            vec![combine(reduction, &mut members_of(lanes).filter(|other| *other <= lane)).unwrap_or(0)]
        }),
        Kind::ExclusiveScan(reduction) => Box::new(move |lane| {
            let identity = arithmetic::identity(reduction.op, reduction.scalar).expect("an identity");
            let before = combine(reduction, &mut members_of(lanes).filter(|other| *other < lane));
            vec![before.unwrap_or(identity)]
        }),
        Kind::All => Box::new(all(vec![members.iter().all(holds).into()])),
        Kind::Any => Box::new(all(vec![members.iter().any(holds).into()])),
        Kind::AllEqual => {
            let equal = members.iter().all(|lane| value(*lane) == value(first));
            Box::new(all(vec![equal.into()]))
        }
        Kind::Elect => Box::new(|lane| vec![(lane == first).into()]),
        Kind::BroadcastFirst => Box::new(all(value(first))),
        Kind::Ballot => {
            let bits: u64 = (members.iter().filter(|lane| holds(lane)).map(|lane| 1 << lane)).sum();
            Box::new(all(vec![bits & 0xffff_ffff, bits >> 32, 0, 0]))
        }
        Kind::Shuffle => Box::new(|lane| taken(&|_, index| Some(index), lane)),
        Kind::ShuffleXor => Box::new(|lane| taken(&|lane, mask| Some(lane ^ mask), lane)),
        Kind::ShuffleUp => Box::new(|lane| taken(&|lane, delta| lane.checked_sub(delta), lane)),
        Kind::ShuffleDown => Box::new(|lane| taken(&|lane, delta| lane.checked_add(delta), lane)),
        Kind::QuadBroadcast => Box::new(|lane| taken(&|lane, index| Some(lane & !3 | index & 3), lane)),
        Kind::QuadSwap(direction) => {
            let mask = [1, 2, 3][direction as usize];
            Box::new(move |lane| taken(&|lane, _| Some(lane ^ mask), lane))
        }
        Kind::Rotate(cluster) => {
            let size = match cluster {
                0 => members.len() as u64,
                size => size.into(),
            };
            let rotated = move |lane: u64, delta: u64| {
                let start = lane / size * size;
                Some(start + (lane - start).wrapping_add(delta) % size)
            };
            Box::new(move |lane| taken(&rotated, lane))
        }
        Kind::ShuffleDownPair | Kind::ShuffleUpPair => Box::new(|lane| {
            let delta = lanes[lane][3][0];
            let index = match kind {
                Kind::ShuffleDownPair => (lane as u64).wrapping_add(delta),
                _ => (lane as u64 + size).wrapping_sub(delta),
            };
            let from = member(index % size).unwrap_or(lane);
            lanes[from][1 + usize::from(index >= size)].clone()
        }),
        other => panic!("no reference for {other:?}"),
    };
    for lane in &members {
        results[*lane] = of_lane(*lane);
    }
    results
}

fn members_of(lanes: &[Vec<Vec<u64>>]) -> impl Iterator<Item = usize> + '_ {
    (0..lanes.len()).filter(|lane| lanes[*lane][0][0] != 0)
}
