//! Cycles that can be entered at several places become loops with one header: a block that all ways into the cycle lead
//! through, and that goes on where each of them led.

use std::collections::HashMap;

use offkit_kernel::builtins::Scalar;
use offkit_kernel::ir::{Block, BlockId, Constant, Operand, Phi, Terminator};

use super::body::{Body, visit_targets};
use crate::Refusal;

/// Cycles are searched within cycles; where more blocks and edges are looked at, the kernel is refused.
const MOST_STEPS: usize = 20_000_000;

/// Gives every cycle one header; whether one was missing.
pub(super) fn give_headers(body: &mut Body) -> Result<bool, Refusal> {
    let mut changed = false;
    let mut steps = 0;
    let mut graph = body.graph();
    let mut regions = vec![(0..graph.successors.len()).collect::<Vec<usize>>()];
    while let Some(region) = regions.pop() {
        let edges = |block: &usize| graph.successors[*block].len() + graph.predecessors[*block].len();
        steps += region.iter().map(|block| 1 + edges(block)).sum::<usize>();
        if steps > MOST_STEPS {
            return Err(Refusal("the kernel has too many loops in loops".to_owned()));
        }
        // Each cycle without its head is a region again, in which inner cycles are found. A new header is in none of
        // them: it takes the entries' place outside.
        for cycle in cycles(&graph.successors, &region) {
            let entries = entries(&graph.predecessors, &cycle);
            let mut inner = cycle;
            if let [header] = entries.as_slice() {
                inner.retain(|block| block != header);
            } else if entries.len() > 1 {
                dispatch(body, &entries)?;
                // Blocks were only added, so that the numbers of other cycles still hold.
                graph = body.graph();
                changed = true;
            }
            if !inner.is_empty() {
                regions.push(inner);
            }
        }
    }
    Ok(changed)
}

/// The blocks of a cycle that something outside leads to, in order.
fn entries(predecessors: &[Vec<usize>], cycle: &[usize]) -> Vec<usize> {
    let mut inside = vec![false; predecessors.len()];
    cycle.iter().for_each(|block| inside[*block] = true);
    let is_entry = |block: &usize| predecessors[*block].iter().any(|from| !inside[*from]);
    cycle.iter().copied().filter(is_entry).collect()
}

/// The strongly connected parts of a region that have a cycle: Tarjan's algorithm with a stack of its own.
pub(super) fn cycles(successors: &[Vec<usize>], region: &[usize]) -> Vec<Vec<usize>> {
    let mut inside = vec![false; successors.len()];
    region.iter().for_each(|block| inside[*block] = true);
    let mut index = vec![usize::MAX; successors.len()];
    let mut lowest = vec![usize::MAX; successors.len()];
    let mut on_stack = vec![false; successors.len()];
    let (mut next, mut stack, mut found) = (0, Vec::new(), Vec::new());
    for root in region {
        if index[*root] != usize::MAX {
            continue;
        }
        let mut path = vec![(*root, 0)];
        while let Some((block, at)) = path.last_mut() {
            let block = *block;
            if *at == 0 {
                (index[block], lowest[block]) = (next, next);
                next += 1;
                stack.push(block);
                on_stack[block] = true;
            }
            if let Some(target) = successors[block].get(*at).copied() {
                *at += 1;
                if !inside[target] {
                    continue;
                }
                if index[target] == usize::MAX {
                    path.push((target, 0));
                } else if on_stack[target] {
                    lowest[block] = lowest[block].min(index[target]);
                }
                continue;
            }
            path.pop();
            if let Some((above, _)) = path.last() {
                lowest[*above] = lowest[*above].min(lowest[block]);
            }
            if lowest[block] == index[block] {
                let start = stack.iter().rposition(|other| *other == block).unwrap_or(0);
                let mut part = stack.split_off(start);
                part.iter().for_each(|block| on_stack[*block] = false);
                if part.len() > 1 || successors[block].contains(&block) {
                    part.sort_unstable();
                    found.push(part);
                }
            }
        }
    }
    found
}

/// Lets all that leads to one of some blocks go through a new one.
fn dispatch(body: &mut Body, entries: &[usize]) -> Result<(), Refusal> {
    let too_many = || Refusal("too many types".to_owned());
    // Of two, a truth chooses: a branch is plainer than a switch to all that looks at it.
    let is_two = entries.len() == 2;
    let selector_scalar = if is_two { Scalar::Bool } else { Scalar::I32 };
    let selector_kind = body.scalar_kind(selector_scalar).ok_or_else(too_many)?;
    let selector = body.new_value(selector_kind);
    let graph = body.graph();
    let header = BlockId(body.function.blocks.len() as u32);
    let terminator = match entries {
        [one, other] => Terminator::Branch {
            condition: Operand::Value(selector),
            accept: BlockId(*other as u32),
            reject: BlockId(*one as u32),
            weights: None,
        },
        _ => Terminator::Switch {
            selector: Operand::Value(selector),
            cases: entries
                .iter()
                .zip(0..)
                .skip(1)
                .map(|(entry, number)| (number, BlockId(*entry as u32)))
                .collect(),
            default: BlockId(entries[0] as u32),
        },
    };
    // The blocks' own phis move there. What comes from a way to another block is never looked at.
    let mut moved: Vec<(usize, Phi)> = Vec::new();
    for entry in entries {
        let phis = std::mem::take(&mut body.function.blocks[*entry].phis);
        moved.extend(phis.into_iter().map(|phi| (*entry, phi)));
    }
    let given: Vec<HashMap<BlockId, Operand>> = moved
        .iter()
        .map(|(_, phi)| phi.incoming.iter().copied().collect())
        .collect();
    let unused: Vec<Operand> = moved
        .iter()
        .map(|(_, phi)| body.zero(body.value_kind(phi.result)))
        .collect();
    moved.iter_mut().for_each(|(_, phi)| phi.incoming.clear());
    let mut selected = Vec::new();
    body.function.blocks.push(Block {
        phis: Vec::new(),
        instructions: Vec::new(),
        merge: None,
        terminator,
        line: None,
    });
    for (entry, number) in entries.iter().zip(0..) {
        let number = body.constant(Constant::plain(selector_kind, vec![number]));
        for predecessor in &graph.predecessors[*entry] {
            // A block for each way: one predecessor may lead to several of the entries, and the phis of the header
            // tell ways apart by the block they come from.
            let way = BlockId(body.function.blocks.len() as u32);
            let from = &mut body.function.blocks[*predecessor];
            let line = from.line;
            visit_targets(&mut from.terminator, |target| {
                if target.0 as usize == *entry {
                    *target = way;
                }
            });
            body.function.blocks.push(Block {
                phis: Vec::new(),
                instructions: Vec::new(),
                merge: None,
                terminator: Terminator::Jump(header),
                line,
            });
            selected.push((way, number));
            let from = BlockId(*predecessor as u32);
            for (((of, phi), given), unused) in moved.iter_mut().zip(&given).zip(&unused) {
                let operand = match of == entry {
                    true => given.get(&from).copied().unwrap_or(*unused),
                    false => *unused,
                };
                phi.incoming.push((way, operand));
            }
        }
    }
    let selector = Phi {
        result: selector,
        incoming: selected,
    };
    let phis = moved.into_iter().map(|(_, phi)| phi).chain([selector]);
    body.function.blocks[header.0 as usize].phis = phis.collect();
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::fmt::Write;

    use offkit_kernel::ir::{Module, Terminator};

    use crate::graph::Graph;
    use crate::prepare;

    fn graph(module: &Module) -> Graph {
        let blocks = module.functions[0].blocks.iter().map(|block| {
            let successors = block.terminator.successors().into_iter();
            successors.map(|block| block.0 as usize).collect()
        });
        Graph::new(0, blocks.collect())
    }

    /// A kernel whose blocks have these successors; each counts how often control came there.
    fn kernel(successors: &[&[usize]]) -> Module {
        let mut text =
            "offkit-kernel 1\ntype #0 void\ntype #1 scalar i32\ntype #2 pointer CrossWorkgroup #1\n\
             kernel \"k\" @0\n\nfunction @0 \"k\" #0\n  parameter %0 #2\n"
                .to_owned();
        let mut value = 0;
        for (block, targets) in successors.iter().enumerate() {
            let first = value + 1;
            _ = writeln!(
                text,
                "block ^{block}\n  %{first} #2 = address {} [] (%0)\n  %{} i32 = load (%{first})\n  \
                 %{} i32 = op IAdd (%{} i32:1)\n  store (%{first} %{})",
                4 * block,
                first + 1,
                first + 2,
                first + 1,
                first + 2,
            );
            value += 3;
            _ = match targets {
                [] => writeln!(text, "  end return none"),
                [target] => writeln!(text, "  end jump ^{target}"),
                targets => {
                    let cases = targets.iter().enumerate().skip(1);
                    let cases: String = cases.map(|(case, target)| format!("{case} ^{target} ")).collect();
                    writeln!(
                        text,
                        "  end switch %{} [{}] ^{}",
                        first + 1,
                        cases.trim_end(),
                        targets[0]
                    )
                }
            };
        }
        Module::from_text(&text).unwrap_or_else(|error| panic!("{error}\n{text}"))
    }

    #[test]
    fn every_cycle_has_a_header() {
        let shapes: [&[&[usize]]; 5] = [
            // Two entries.
            &[&[1, 2], &[2], &[1, 3], &[]],
            // Three, and a cycle of one.
            &[&[1, 2, 3], &[2, 1], &[3], &[1, 4], &[]],
            // An irreducible cycle in a loop.
            &[&[1], &[2, 3], &[3], &[2, 4], &[1, 5], &[]],
            // One in another.
            &[&[1, 4], &[2, 3], &[3], &[2, 4], &[1, 5], &[]],
            // That never ends.
            &[&[1, 2], &[2], &[1]],
        ];
        for shape in shapes {
            let module = kernel(shape);
            assert_eq!(graph(&module).loops(), None, "{shape:?}");
            let prepared = prepare(&module, 0).unwrap_or_else(|refusal| panic!("{shape:?}: {refusal}"));
            assert!(graph(&prepared).loops().is_some(), "{prepared}");
        }
    }

    #[test]
    fn reducible_code_stays() {
        let module = kernel(&[&[1], &[2, 3], &[1], &[]]);
        let prepared = prepare(&module, 0).unwrap();
        assert_eq!(prepared.functions[0].blocks.len(), 4);
        let ends = prepared.functions[0].blocks.iter().map(|block| &block.terminator);
        assert_eq!(
            ends.filter(|end| matches!(end, Terminator::Switch { .. }))
                .count(),
            1
        );
    }
}
