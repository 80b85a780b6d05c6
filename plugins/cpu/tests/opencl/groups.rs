//! Functions of a group as a whole: what work-groups and sub-groups have in common, and the former.

use rspirv::binary::Assemble;
use rspirv::dr;
use rspirv::spirv::{Op, Scope};

use crate::case::HEADER;
use crate::clang::{self, Options};
use crate::device::{Device, Operand};
use crate::element::Element::{self, *};
use crate::samples::Generator;

const ITEMS: usize = 96;
/// Not a power of two, so that a last sub-group may be smaller than the others.
const GROUP: usize = 24;

/// What every kernel tells of its items' places in their sub-groups.
struct Places {
    /// The items of each group that is looked at, in the order of their places.
    groups: Vec<Vec<usize>>,
}

impl Places {
    fn of_work_groups() -> Places {
        Places {
            groups: (0..ITEMS / GROUP)
                .map(|group| (group * GROUP..(group + 1) * GROUP).collect())
                .collect(),
        }
    }

    /// From the sub-group's number and the place in it, for each item.
    fn of_sub_groups(rows: &[(u64, u64)]) -> Places {
        let mut groups: Vec<Vec<usize>> = Vec::new();
        for work_group in 0..ITEMS / GROUP {
            let items = work_group * GROUP..(work_group + 1) * GROUP;
            let count = rows[items.clone()].iter().map(|row| row.0).max().unwrap_or(0) + 1;
            for sub_group in 0..count {
                let mut members: Vec<usize> =
                    items.clone().filter(|&item| rows[item].0 == sub_group).collect();
                members.sort_by_key(|&item| rows[item].1);
                let places: Vec<u64> = members.iter().map(|&item| rows[item].1).collect();
                assert_eq!(
                    places,
                    (0..members.len() as u64).collect::<Vec<_>>(),
                    "places in a sub-group"
                );
                groups.push(members);
            }
        }
        Places { groups }
    }
}

/// From the values of a group's items (in order) to the results of each.
type Expected = Box<dyn Fn(&[f64]) -> Vec<f64>>;

pub(crate) struct Test {
    /// An expression of `a`, the item's value, of the type `T`.
    expression: String,
    result: Element,
    operand: Element,
    /// Which items take part.
    condition: &'static str,
    takes_part: fn(usize) -> bool,
    expected: Expected,
}

impl Test {
    pub(crate) fn new(
        expression: &str,
        operand: Element,
        result: Element,
        expected: impl Fn(&[f64]) -> Vec<f64> + 'static,
    ) -> Test {
        Test {
            expression: expression.to_owned(),
            result,
            operand,
            condition: "true",
            takes_part: |_| true,
            expected: Box::new(expected),
        }
    }

    /// The same with a third of the items elsewhere.
    pub(crate) fn divergent(self) -> Test {
        Test {
            condition: "i % 3 != 1",
            takes_part: |item| item % 3 != 1,
            ..self
        }
    }
}

/// Small whole numbers, so that even sums and products in `half` are exact.
fn value(element: Element, item: usize) -> f64 {
    let mut generator = Generator::new(item as u64 + 77);
    let value = generator.below(9) as f64;
    if element.is_signed() { value - 4.0 } else { value }
}

pub(crate) fn check(tests: &[Test], sub_groups: bool, ways: &[Options]) {
    check_as(tests, sub_groups, ways, |spirv| spirv);
}

/// Checks functions of sub-groups on whole work-groups, which OpenCL C has no names for.
fn check_widened(tests: &[Test], ways: &[Options]) {
    check_as(tests, false, ways, widened);
}

/// A module in which work-groups do what sub-groups do in another.
fn widened(spirv: Vec<u8>) -> Vec<u8> {
    let mut module = rspirv::dr::load_bytes(spirv).expect("clang writes modules");
    let is_int = |found: &&dr::Instruction| {
        found.class.opcode == Op::TypeInt && found.operands.first() == Some(&dr::Operand::LiteralBit32(32))
    };
    let int = module.types_global_values.iter().find(is_int);
    let int = int.and_then(|int| int.result_id).expect("places are integers");
    let header = module.header.as_mut().expect("a module has a header");
    let scope = header.bound;
    header.bound += 1;
    let value = dr::Operand::LiteralBit32(Scope::Workgroup as u32);
    let constant = dr::Instruction::new(Op::Constant, Some(int), Some(scope), vec![value]);
    module.types_global_values.push(constant);
    let mut count = 0;
    for instruction in module.all_inst_iter_mut() {
        let opcode = instruction.class.opcode;
        let is_wide = format!("{opcode:?}").starts_with("GroupNonUniform")
            && !matches!(
                opcode,
                // Questions that work-items answer by themselves.
                Op::GroupNonUniformInverseBallot
                    | Op::GroupNonUniformBallotBitExtract
                    | Op::GroupNonUniformBallotBitCount
                    | Op::GroupNonUniformBallotFindLSB
                    | Op::GroupNonUniformBallotFindMSB
            );
        if is_wide {
            instruction.operands[0] = dr::Operand::IdScope(scope);
            count += 1;
        }
    }
    assert!(count > 0, "nothing to widen");
    module.assemble().into_iter().flat_map(u32::to_le_bytes).collect()
}

fn check_as(tests: &[Test], sub_groups: bool, ways: &[Options], change: fn(Vec<u8>) -> Vec<u8>) {
    if !clang::is_available() {
        return;
    }
    let mut source = HEADER.to_owned();
    for (index, test) in tests.iter().enumerate() {
        source += &format!(
            "kernel void k{index}(global {0} *out, global const {1} *in, global uint *places) {{
               int i = get_global_id(0);
               {1} a = in[i];
               if ({2}) out[i] = {3};
               {4}
             }}\n",
            test.result.name(),
            test.operand.name(),
            test.condition,
            test.expression,
            if sub_groups {
                "places[2 * i] = get_sub_group_id(); places[2 * i + 1] = get_sub_group_local_id();"
            } else {
                ""
            },
        );
    }
    let mut failures = Vec::new();
    for &options in ways {
        let spirv = clang::compile(&source, options).unwrap_or_else(|error| panic!("{options:?}: {error}"));
        let device = Device::new(&change(spirv));
        for (index, test) in tests.iter().enumerate() {
            let Err(error) = device
                .as_ref()
                .map_err(Clone::clone)
                .and_then(|device| test.run(device, index, sub_groups))
            else {
                continue;
            };
            failures.push(format!(
                "{} on {} {options:?}: {error}",
                test.expression,
                test.operand.name()
            ));
        }
    }
    assert!(
        failures.is_empty(),
        "{} failures\n{}",
        failures.len(),
        failures.join("\n")
    );
}

impl Test {
    fn run(&self, device: &Device, index: usize, sub_groups: bool) -> Result<(), String> {
        let words: Vec<u64> = (0..ITEMS)
            .map(|item| self.operand.word_of(value(self.operand, item)))
            .collect();
        let operands = [
            Operand::Buffer(vec![0; ITEMS * self.result.size()]),
            Operand::Buffer(self.operand.encode(&words, 1, 1)),
            Operand::Buffer(vec![0; ITEMS * 8]),
        ];
        let outcome = device.run(&format!("k{index}"), &[ITEMS], &[GROUP], &operands)?;
        let results = self.result.decode(&outcome.buffers[0], 1, 1);
        let places = if sub_groups {
            let rows: Vec<(u64, u64)> = Uint
                .decode(&outcome.buffers[2], 1, 1)
                .chunks(2)
                .map(|row| (row[0], row[1]))
                .collect();
            Places::of_sub_groups(&rows)
        } else {
            Places::of_work_groups()
        };
        let mut expected = vec![0; ITEMS];
        for members in places.groups {
            // Items that don't take part leave a hole: their value is marked, and what is expected of
            // them ignored.
            let values: Vec<f64> = members
                .iter()
                .map(|&item| {
                    if (self.takes_part)(item) {
                        self.operand.number(words[item])
                    } else {
                        f64::NAN
                    }
                })
                .collect();
            for (&item, value) in members.iter().zip((self.expected)(&values)) {
                expected[item] = if (self.takes_part)(item) {
                    self.result.word_of(value)
                } else {
                    0
                };
            }
        }
        let wrong = (0..ITEMS)
            .filter(|&item| self.result.distance(results[item], expected[item]) > 0)
            .collect::<Vec<_>>();
        if wrong.is_empty() {
            return Ok(());
        }
        let show = |words: &[u64]| {
            words[..GROUP]
                .iter()
                .map(|&word| self.result.number(word))
                .collect::<Vec<_>>()
        };
        Err(format!(
            "items {wrong:?}; of the first group {:?}, expected {:?}",
            show(&results),
            show(&expected)
        ))
    }
}

/// An operation with its neutral element, which is what an exclusive scan starts with.
pub(crate) struct Reduction {
    pub(crate) name: &'static str,
    combine: fn(f64, f64) -> f64,
    neutral: fn(Element) -> f64,
    integers_only: bool,
}

impl Reduction {
    pub(crate) fn suits(&self, element: Element) -> bool {
        !self.integers_only || !element.is_float()
    }

    /// What to combine: for products mostly ones, since all of a group must fit a char.
    pub(crate) fn argument(&self) -> (&'static str, fn(f64) -> f64) {
        match self.name {
            "mul" => ("a == 1 ? a + a : a - a + 1", |x| if x == 1.0 { 2.0 } else { 1.0 }),
            _ => ("a", |x| x),
        }
    }
}

fn least(element: Element) -> f64 {
    if element.is_float() {
        f64::NEG_INFINITY
    } else {
        element.least() as f64
    }
}

fn greatest(element: Element) -> f64 {
    // The greatest long rounds up as a double; the conversion back takes it for the greatest again.
    if element.is_float() {
        f64::INFINITY
    } else {
        element.greatest() as f64
    }
}

fn bitwise(x: f64, y: f64, combine: fn(i64, i64) -> i64) -> f64 {
    combine(x as i64, y as i64) as f64
}

pub(crate) static REDUCTIONS: [Reduction; 7] = [
    Reduction {
        name: "add",
        combine: |x, y| x + y,
        neutral: |_| 0.0,
        integers_only: false,
    },
    Reduction {
        name: "min",
        combine: f64::min,
        neutral: greatest,
        integers_only: false,
    },
    Reduction {
        name: "max",
        combine: f64::max,
        neutral: least,
        integers_only: false,
    },
    Reduction {
        name: "mul",
        combine: |x, y| x * y,
        neutral: |_| 1.0,
        integers_only: false,
    },
    Reduction {
        name: "and",
        combine: |x, y| bitwise(x, y, |x, y| x & y),
        neutral: all_ones,
        integers_only: true,
    },
    Reduction {
        name: "or",
        combine: |x, y| bitwise(x, y, |x, y| x | y),
        neutral: |_| 0.0,
        integers_only: true,
    },
    Reduction {
        name: "xor",
        combine: |x, y| bitwise(x, y, |x, y| x ^ y),
        neutral: |_| 0.0,
        integers_only: true,
    },
];

fn all_ones(element: Element) -> f64 {
    if element.is_signed() {
        -1.0
    } else {
        element.greatest() as f64
    }
}

/// Combines the values of the items that take part.
pub(crate) fn reduce(reduction: &Reduction, element: Element, values: &[f64]) -> f64 {
    let (_, argument) = reduction.argument();
    let taking_part = values.iter().filter(|value| !value.is_nan());
    taking_part.fold((reduction.neutral)(element), |sum, &value| {
        (reduction.combine)(sum, argument(value))
    })
}

/// Tests of a family of functions: `prefix` with reduction and both scans of each operation.
pub(crate) fn reductions(prefix: &str, count: usize, elements: &[Element]) -> Vec<Test> {
    let mut tests = Vec::new();
    for &element in elements {
        for reduction in REDUCTIONS[..count]
            .iter()
            .filter(|reduction| reduction.suits(element))
        {
            let call = |kind: &str| format!("{prefix}{kind}_{}({})", reduction.name, reduction.argument().0);
            let all = move |values: &[f64]| reduce(reduction, element, values);
            tests.push(Test::new(&call("reduce"), element, element, move |x| {
                vec![all(x); x.len()]
            }));
            tests.push(Test::new(&call("scan_inclusive"), element, element, move |x| {
                (0..x.len()).map(|at| all(&x[..=at])).collect()
            }));
            tests.push(Test::new(&call("scan_exclusive"), element, element, move |x| {
                (0..x.len()).map(|at| all(&x[..at])).collect()
            }));
        }
    }
    tests
}

pub(crate) const WIDE_TYPES: [Element; 7] = [Int, Uint, Long, Ulong, Half, Float, Double];

#[test]
fn work_group_functions() {
    let mut tests = reductions("work_group_", 3, &WIDE_TYPES);
    tests.push(Test::new("work_group_all(a > -4)", Int, Int, |x| {
        vec![f64::from(x.iter().all(|&x| x > -4.0)); x.len()]
    }));
    tests.push(Test::new("work_group_any(a == 4)", Int, Int, |x| {
        vec![f64::from(x.contains(&4.0)); x.len()]
    }));
    tests.push(Test::new("work_group_all(a < 100)", Int, Int, |x| {
        vec![1.0; x.len()]
    }));
    for element in WIDE_TYPES {
        tests.push(Test::new("work_group_broadcast(a, 5)", element, element, |x| {
            vec![x[5]; x.len()]
        }));
    }
    check(&tests, false, &Options::all());
}

#[test]
fn work_group_broadcast_in_more_dimensions() {
    if !clang::is_available() {
        return;
    }
    let source = "kernel void two(global int *out) {
        out[get_global_linear_id()] = work_group_broadcast((int)get_global_linear_id(), 1, 2);
    }
    kernel void three(global int *out) {
        out[get_global_linear_id()] = work_group_broadcast((int)get_global_linear_id(), 1, 0, 1);
    }";
    for options in Options::all() {
        let device = Device::new(&clang::compile(source, options).expect("compiles")).expect("builds");
        let buffer = [Operand::Buffer(vec![0; 4 * 48])];
        let two = device.run("two", &[8, 6], &[4, 3], &buffer).expect("runs");
        for (item, word) in Int.decode(&two.buffers[0], 1, 1).into_iter().enumerate() {
            let (x, y) = (item % 8 / 4 * 4 + 1, item / 8 / 3 * 3 + 2);
            assert_eq!(word, (x + 8 * y) as u64, "{options:?}");
        }
        let three = device
            .run("three", &[4, 3, 4], &[2, 3, 2], &buffer)
            .expect("runs");
        for (item, word) in Int.decode(&three.buffers[0], 1, 1).into_iter().enumerate() {
            let (x, z) = (item % 4 / 2 * 2 + 1, item / 12 / 2 * 2 + 1);
            assert_eq!(word, (x + 12 * z) as u64, "{options:?}");
        }
    }
}

#[test]
fn work_groups_do_what_sub_groups_do() {
    let mut tests = Vec::new();
    for element in [Char, Int, Long, Half, Float, Double] {
        tests.push(Test::new("sub_group_broadcast_first(a)", element, element, |x| {
            vec![x[0]; x.len()]
        }));
        tests.push(Test::new(
            "sub_group_shuffle(a, (i * 7 + 3) % 24)",
            element,
            element,
            |x| (0..x.len()).map(|at| x[(at * 7 + 3) % x.len()]).collect(),
        ));
        let sum = "sub_group_clustered_reduce_add(a, 16)";
        tests.push(Test::new(sum, element, element, |x| {
            let sums = x.chunks(16).map(|cluster| (cluster.iter().sum(), cluster.len()));
            sums.flat_map(|(sum, count)| vec![sum; count]).collect()
        }));
    }
    tests.push(Test::new("sub_group_elect()", Int, Int, |x| {
        (0..x.len()).map(|at| f64::from(at == 0)).collect()
    }));
    tests.push(Test::new("sub_group_non_uniform_all_equal(a)", Int, Int, |x| {
        vec![f64::from(x.iter().all(|other| *other == x[0])); x.len()]
    }));
    tests.push(Test::new(
        "sub_group_non_uniform_all_equal(i / 24 == 1 && i > 40 ? a : 3.0f)",
        Float,
        Int,
        |x| {
            // Of the second group some have another value.
            let is_second = x.iter().enumerate().all(|(at, x)| *x == value(Float, 24 + at));
            let others = is_second && (17..24).any(|at| x[at] != 3.0);
            vec![f64::from(!others); x.len()]
        },
    ));
    // By their values: zeros are equal, and no NaN is.
    for (equal, values) in [(1.0, "i % 2 ? 0.0f : -0.0f"), (0.0, "nan((uint)i)")] {
        let call = format!("sub_group_non_uniform_all_equal({values})");
        tests.push(Test::new(&call, Float, Int, move |x| vec![equal; x.len()]));
    }
    tests.push(Test::new(
        "sub_group_non_uniform_all_equal(i / 24)",
        Int,
        Int,
        |x| vec![1.0; x.len()],
    ));
    tests.push(Test::new("sub_group_ballot(a > 0).x", Int, Uint, |x| {
        let bits = x.iter().enumerate().filter(|(_, x)| **x > 0.0);
        vec![f64::from(bits.fold(0u32, |bits, (at, _)| bits | 1 << at)); x.len()]
    }));
    tests.push(Test::new("sub_group_ballot(a > 0).y", Int, Uint, |x| {
        vec![0.0; x.len()]
    }));
    tests.push(Test::new("sub_group_shuffle_xor(a, 9)", Int, Int, |x| {
        let other = |at: usize| x.get(at ^ 9).copied().unwrap_or(x[at]);
        (0..x.len()).map(other).collect()
    }));
    tests.push(Test::new("sub_group_shuffle_down(a, 11)", Int, Int, |x| {
        (0..x.len())
            .map(|at| x.get(at + 11).copied().unwrap_or(x[at]))
            .collect()
    }));
    tests.push(Test::new("sub_group_shuffle_up(a, 13)", Int, Int, |x| {
        (0..x.len())
            .map(|at| if at < 13 { x[at] } else { x[at - 13] })
            .collect()
    }));
    let ways = [Options::DEFAULT];
    check_widened(&tests, &ways);
    let rotations = [
        Test::new("sub_group_rotate(a, 5)", Int, Int, |x| {
            (0..x.len()).map(|at| x[(at + 5) % x.len()]).collect()
        }),
        Test::new("sub_group_clustered_rotate(a, 3, 8)", Int, Int, |x| {
            (0..x.len()).map(|at| x[at / 8 * 8 + (at + 3) % 8]).collect()
        }),
    ];
    check_widened(&rotations, &Options::extended("+SPV_KHR_subgroup_rotate"));
}
